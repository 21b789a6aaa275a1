# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_sum against Python integers, on memory that stalls at random and on one that keeps up.

Instructions of all sorts follow each other: one term, fewer terms than groups, counts that are multiples of the groups
or not, fewer rows than the grid has, strides that go backwards, both ends of the range of degrees. Nothing is written
that was not asked for, and where memory keeps up a pass takes a cycle a row.
"""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import BARRETT, MONTGOMERY, Modulus, moduli, parameter
from runner import run

MASK = (1 << 48) - 1


def packed(row: list[int]) -> int:
    return sum(x << (64 * lane) for lane, x in enumerate(row))


class Bench:
    """Memory with a queue of rows for each stream, a table of moduli, and the instruction at hand."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        self.width, self.lanes, kind = parameter("W", 54), parameter("Lanes", 4), parameter("Kind", 0)
        self.rows, self.cols, self.groups = (parameter(n, 1) for n in ("Rows", "Cols", "Groups"))
        self.low, self.high = parameter("MinLogN", 5), parameter("MaxLogN", 7)
        self.streams = self.groups * (self.rows + self.cols)
        self.bits, self.bytes = 64 * self.lanes, 8 * self.lanes
        self.table: list[Modulus] = list(moduli(self.width, kind))
        self.asked = [deque() for _ in range(self.streams)]  # rows that are to come
        self.offered = [0] * self.streams
        self.sinks: list[list[int] | None] = [None] * self.rows  # address of the next row, rows to come, clocks to wait
        self.taken: dict[int, list[int]] = {}
        self.cycles = 0

    async def restart(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 2, "ns").start(start_high=False)
        dut.rst_ni.value, dut.cmd_valid_i.value, dut.rd_ready_i.value, dut.row_valid_i.value = 0, 0, 0, 0
        dut.wr_ready_i.value, dut.wr_row_ready_i.value, dut.wr_acked_i.value = 0, 0, 0
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    def part(self, value, index: int, width: int) -> int:
        return int(value) >> (width * index) & ((1 << width) - 1)

    async def sums(self, log_n: int, src: int, count: int, p: tuple[float, float, float], latency: int) -> int:
        """One instruction; gives its cycles. `p`: how often memory takes requests, has rows, and takes rows."""
        dut, rng = self.dut, self.rng
        entry = rng.randrange(len(self.table))
        modulus = self.table[entry]
        n = 1 << log_n
        limb = 8 * n
        # Operands lie in arrays of whatever order; backwards ones begin at their end.
        shape = {"ct": (self.cols, count), "diag": (src, count), "out": (src, self.cols)}
        base, strides = {}, {}
        for i, (name, (outer, inner)) in enumerate(shape.items()):
            steps = [limb, limb * inner] if rng.random() < 0.5 else [limb * outer, limb]
            if rng.random() < 0.3:
                steps = [-s for s in steps]
            area = (i + 1) << 40
            base[name] = area if steps[0] > 0 else area + limb * (outer * inner - 1)
            strides[name] = (steps[1], steps[0])
        place = {
            name: {(o, i): base[name] + o * strides[name][0] + i * strides[name][1] for o in range(a) for i in range(b)}
            for name, (a, b) in shape.items()
        }
        memory: dict[int, int] = {}
        values: dict[str, dict[tuple[int, int], list[int]]] = {}
        for name in ("ct", "diag"):
            values[name] = {}
            for key, address in place[name].items():
                words = [modulus.operand(rng) for _ in range(n)]
                values[name][key] = words
                for r in range(n // self.lanes):
                    row = words[r * self.lanes : (r + 1) * self.lanes]
                    memory[address + r * self.bytes] = packed(row)
        factor = modulus.radix_inverse
        expected = {}
        for (r, c), address in place["out"].items():
            for i in range(n // self.lanes):
                at = slice(i * self.lanes, (i + 1) * self.lanes)
                row = [0] * self.lanes
                for b in range(count):
                    pairs = zip(values["diag"][r, b][at], values["ct"][c, b][at], strict=True)
                    row = [(s + x * y * factor) % modulus.q for s, (x, y) in zip(row, pairs, strict=True)]
                expected[address + i * self.bytes] = packed(row)
        # Rows and columns of the register names: ct by column and term, diag by row and term, out by row and column.
        dut.log_n_i.value, dut.src_i.value, dut.mod_i.value, dut.count_i.value = log_n, src, entry, count
        for name in shape:
            getattr(dut, f"{name}_i").value = base[name] & MASK
        for name, (outer, inner) in (("ct", ("col", "term")), ("diag", ("row", "term")), ("out", ("row", "col"))):
            for word, stride in zip((outer, inner), strides[name], strict=True):
                # Only the lower 48 bits count.
                getattr(dut, f"{name}_{word}_i").value = stride & MASK | rng.getrandbits(16) << 48
        self.taken, requests, done, started, start = {}, 0, False, False, self.cycles
        row_bits = (1 << self.bits) - 1
        while not done:
            dut.cmd_valid_i.value = int(not started)
            ask = sum((rng.random() < p[0]) << s for s in range(self.streams))
            offer = rows = 0
            for s, queue in enumerate(self.asked):
                self.offered[s] |= bool(queue) and queue[0][1] <= self.cycles and rng.random() < p[1]
                offer |= self.offered[s] << s
                rows |= (memory[queue[0][0]] if self.offered[s] else rng.getrandbits(self.bits)) << (self.bits * s)
            take = sum((rng.random() < p[2]) << r for r in range(self.rows))
            acked = 0
            for r, sink in enumerate(self.sinks):
                if sink and not sink[1]:
                    sink[2] -= 1
                    acked |= (sink[2] == 0) << r
            dut.rd_ready_i.value, dut.row_valid_i.value, dut.row_i.value = ask, offer, rows
            dut.wr_ready_i.value = sum((sink is None and rng.random() < p[0]) << r for r, sink in enumerate(self.sinks))
            dut.wr_row_ready_i.value, dut.wr_acked_i.value = take, acked
            for r in range(self.rows):
                if acked >> r & 1:
                    self.sinks[r] = None
            index = int(dut.modulus_index_o.value)
            await ReadOnly()
            started = started or bool(dut.cmd_ready_o.value)
            done = bool(dut.done_o.value)
            valid, ready = int(dut.rd_valid_o.value) & ask, int(dut.row_ready_o.value) & offer
            assert int(dut.row_ready_o.value) & ~offer == 0, "a row is taken that is not there"
            for s in range(self.streams):
                if ready >> s & 1:
                    self.asked[s].popleft()
                    self.offered[s] = 0
                if valid >> s & 1:
                    first = self.part(dut.rd_addr_o.value, s, 48)
                    length = self.part(dut.rd_rows_o.value, s, self.high + 1)
                    assert length == n // self.lanes
                    requests += 1
                    due = self.cycles + latency
                    self.asked[s].extend((first + k * self.bytes, due + k) for k in range(length))
            sent = int(dut.wr_row_valid_o.value) & take
            wanted = int(dut.wr_valid_o.value) & int(dut.wr_ready_i.value)
            for r in range(self.rows):
                if sent >> r & 1:
                    sink = self.sinks[r]
                    assert sink, "a row without a request"
                    assert sink[1], "more rows than were asked for"
                    assert sink[0] not in self.taken
                    self.taken[sink[0]] = self.part(dut.wr_row_o.value, r, self.bits) & row_bits
                    sink[0] += self.bytes
                    sink[1] -= 1
                if wanted >> r & 1:
                    self.sinks[r] = [self.part(dut.wr_addr_o.value, r, 48), n // self.lanes, latency]
            await FallingEdge(dut.clk_i)
            # The table answers in the clock after the index.
            held = self.table[index % len(self.table)]
            dut.modulus_q_i.value, dut.modulus_k_i.value, dut.modulus_shift_i.value = held.shifted, held.k, held.shift
            self.cycles += 1
            assert self.cycles - start < 200 * (count + 4) * n // self.lanes + 1000, "the unit stands still"
        # The command has come and gone; rows are asked for once, a term's of a group that has one.
        assert requests == count * (src + self.cols)
        assert self.taken == expected
        assert not any(self.asked)
        assert self.sinks == [None] * self.rows
        return self.cycles - start


def counts(groups: int) -> list[int]:
    """Numbers of terms on both sides of what a pass takes."""
    return sorted({1, groups - 1, groups, groups + 1, 2 * groups, 3 * groups - 1} - {0})


@cocotb.test()
async def stalls(dut):
    bench = Bench(dut, 3)
    await bench.restart()
    for p in ((0.3, 0.6, 0.4), (1.0, 1.0, 0.5), (0.5, 0.8, 1.0)):
        for count in counts(bench.groups):
            log_n = bench.rng.choice((bench.low, bench.high))
            await bench.sums(log_n, bench.rng.randint(1, bench.rows), count, p, bench.rng.randint(1, 12))


@cocotb.test()
async def rate(dut):
    """Memory that keeps up, with 12 clocks to an answer: passes follow each other without a gap."""
    bench = Bench(dut, 4)
    await bench.restart()
    rows = (1 << bench.high) // bench.lanes
    for count in counts(bench.groups):
        cycles = await bench.sums(bench.high, bench.rows, count, (1.0, 1.0, 1.0), 12)
        passes = -(-count // bench.groups)
        setup = max(bench.rows, bench.cols) + bench.groups + 2
        levels = (bench.groups - 1).bit_length()
        most = setup + 13 + passes * rows + 12 + levels + 6 + 13 + (bench.cols - 1) * (rows + levels + 12 + 6 + 15)
        dut._log.info("%d terms: %d cycles, at most %d", count, cycles, most)
        assert cycles <= most


@pytest.mark.parametrize(
    ("rows", "cols", "groups", "kind", "width", "twin"),
    [
        (1, 1, 2, BARRETT, 60, 0),
        (2, 2, 2, MONTGOMERY, 54, 0),
        pytest.param(1, 1, 1, BARRETT, 54, 0, marks=pytest.mark.long),
        pytest.param(3, 2, 3, BARRETT, 54, 1, marks=pytest.mark.long),
        pytest.param(4, 2, 5, MONTGOMERY, 54, 1, marks=pytest.mark.long),
    ],
)
def test_omr_sum(rows, cols, groups, kind, width, twin):
    run(
        "sum_bench",
        {"Rows": rows, "Cols": cols, "Groups": groups, "Kind": kind, "W": width, "Twin": twin},
        __file__,
        build_args=["--no-public-flat-rw", "--public-depth", "1"],
    )
