# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_mac: products with key rows and monomials, summed up from slots and lines beside, at once or with pauses."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from modular import MAC_LATENCY, parameter
from wide_bench import Reader, Ring, begin, pack, run

ROWS, SLOTS = 6, 4
#: From a line to its result.
LATENCY = 5 + MAC_LATENCY
#: Transforms between a pass and its first line, at most.
IN_FLIGHT = 16


class Sum:
    """A random one: its passes with their lines, its lines beside, its result."""

    def __init__(self, rng, ring, lanes, rows, slots, number):
        n, q = ring.n, ring.q
        has_init, init, beside = rng.getrandbits(1), rng.randrange(SLOTS), rng.randrange(3)
        self.id, self.to_row, self.target = number % 16, rng.getrandbits(1), rng.randrange(256)
        total = [list(part) for part in slots[init]] if has_init else [[0] * n, [0] * n]
        added = ring.random(rng) if beside else []
        starts = range(0, n, lanes)
        self.beside = [ring.shifted(added[i : i + lanes]) for i in starts] if beside else []
        if beside:
            part = 0 if beside == 2 else 1
            total[part] = [(x + y) % q for x, y in zip(total[part], added, strict=True)]
        self.passes, count = [], rng.randrange(1, 5)
        for k in range(count):
            row, monomial, power = rng.randrange(ROWS), rng.getrandbits(1), rng.randrange(2 * n)
            line = ring.random(rng)
            factors = [ring.factor(p, power) for p in range(n)] if monomial else line
            for part in range(2):
                total[part] = [
                    (s + f * x) % q for s, f, x in zip(total[part], factors, rows[row][part], strict=True)
                ]  # fmt: skip
            word = pack(
                "pass_t", id=self.id, first=k == 0, last=k == count - 1, monomial=monomial, power=power, row=row,
                has_init=has_init, init=init, beside=beside, to_row=self.to_row, target=self.target,
            )  # fmt: skip
            shown = [ring.shifted(line[i : i + lanes]) for i in starts]
            self.passes.append((word, shown, k == count - 1, bool(beside) and k == 0))
        self.lines = [ring.shifted(total[0][i : i + lanes] + total[1][i : i + lanes]) for i in starts]


@cocotb.test()
async def sums(dut):
    lanes, max_log_n, width, polys = (parameter(name, 0) for name in ("Lanes", "MaxLogN", "W", "Polys"))
    rng = random.Random(13)
    await begin(dut, pass_valid_i=0, start_i=0, beside_we_i=0, table_we_i=0)
    for log_n, shift, eager in ((max_log_n, 0, 1.0), (max_log_n - 1, 7, 1.0), (max_log_n - 1, 2, 0.1)):
        ring = Ring(width, max_log_n, log_n, shift)
        ring.apply(dut)
        await ring.load_powers(dut)
        rows, slots = ([[ring.random(rng), ring.random(rng)] for _ in range(count)] for count in (ROWS, SLOTS))
        given = [Sum(rng, ring, lanes, rows, slots, number) for number in range(10)]
        # A line of b comes well before its sum begins: they stand in the order of sums.
        besides = deque((k, line) for s in given for k, line in enumerate(s.beside))
        passes = deque(p for s in given for p in s.passes)
        results = deque((s, k) for s in given for k in range(len(s.lines)))
        flying: deque[list] = deque()
        going: deque[list[int]] = deque()
        ports = {name: Reader(dut, name, [0] * 2 * lanes) for name in ("row_i", "slot_i")}
        per, room, whole, clock, due = ring.n // lanes, polys, 0, 0, deque()
        while results:
            assert clock < 400 * per * len(given), "it stands still"
            write = bool(besides) and (room > 0 or besides[0][0] > 0) and rng.random() < 0.7
            dut.beside_we_i.value = int(write)
            if write:
                k, line = besides.popleft()
                dut.beside_line_i.value, dut.beside_i.value = k, line
                room -= k == 0
                whole += k == per - 1
            # The transform takes what there is, and gives it later.
            enter = bool(passes) and len(flying) < IN_FLIGHT and rng.random() < 0.5
            dut.pass_valid_i.value = int(enter)
            leaves = bool(flying) and not going and rng.random() < eager and (not flying[0][2] or whole > 0)
            dut.start_i.value = int(leaves)
            if leaves:
                lines, last, takes_beside = flying.popleft()
                whole -= takes_beside
                going.extend(lines)
                if last:
                    due.extend(clock + k + LATENCY for k in range(per))
            dut.line_i.value = going.popleft() if going else [rng.randrange(1 << 20) for _ in range(lanes)]
            if enter:
                word, *later = passes.popleft()
                dut.pass_i.value = word
                flying.append(later)
            await ReadOnly()
            line = int(dut.line_o.value)
            for name, read, which, held in (
                ("row_i", dut.row_read_o, dut.row_o, rows), ("slot_i", dut.slot_read_o, dut.slot_o, slots),
            ):  # fmt: skip
                found = None
                if int(read.value):
                    found = [p[line * lanes + lane] for p in held[int(which.value)] for lane in range(lanes)]
                    found = ring.shifted(found) if held is slots else found
                ports[name].step(found)
            room += int(dut.beside_free_o.value)
            assert room <= polys
            valid = int(dut.result_valid_o.value)
            assert bool(valid) == bool(due and due[0] == clock), "a result's clock"
            done = 0
            if valid:
                due.popleft()
                wanted, k = results.popleft()
                done = k == per - 1
                assert int(dut.result_line_o.value) == k
                assert [int(x) for x in dut.result_o.value] == wanted.lines[k], f"line {k} of a sum"
                places = dut.result_to_row_o, dut.result_place_o, dut.done_id_o
                assert [int(x.value) for x in places] == [wanted.to_row, wanted.target, wanted.id]
            assert int(dut.done_o.value) == done
            await FallingEdge(dut.clk_i)
            for port in ports.values():
                port.show()
            clock += 1
        dut.pass_valid_i.value = dut.start_i.value = dut.beside_we_i.value = 0
        assert room == polys


@pytest.mark.parametrize(("lanes", "max_log_n", "width"), [(4, 8, 27), pytest.param(8, 9, 54, marks=pytest.mark.long)])
def test_psi_wide_mac(lanes, max_log_n, width):
    run("psi_wide_mac", {"Lanes": lanes, "MaxLogN": max_log_n, "W": width, "Polys": 4}, __file__)
