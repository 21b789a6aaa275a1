# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_issue: random programs on units that take random time.

Every instruction reaches its unit once, whole and in order, and starts only after what it waits for, however far counts
run on meanwhile; nothing stands still for ever; an instruction in error is named, and nothing behind it starts; a run
that is aborted leaves nothing.
"""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run

UNITS, LOG_N = 4, 8
LOADS, LOADX, LOADK, LOADT, LOADC, REVS, REVX, NTT, MUL, SCALE, STORE = range(1, 12)
UNIT = dict.fromkeys(range(1, 6), 0) | {REVS: 1, REVX: 1, NTT: 2, MUL: 2, SCALE: 2, STORE: 3}
#: First bit in memory and width of a field; what a unit is told has them in this order, the first one on top.
FIELDS = {
    "op": (0, 4), "dst": (4, 4), "src": (8, 4), "src2": (12, 4), "set": (16, 1), "init": (17, 1), "half": (18, 1),
    "key": (19, 1), "inverse": (20, 1), "port": (21, 1), "addr": (64, 48), "rows": (192, 32),
}  # fmt: skip

Fields = dict[str, int]


def encoded(fields: Fields, needs: dict[int, int]) -> int:
    code = sum(fields[name] << first for name, (first, _) in FIELDS.items())
    code |= sum(1 << 24 + u | count % (1 << 16) << 128 + 16 * u for u, count in needs.items())
    return code


def command(fields: Fields) -> int:
    told = 0
    for name, (_, width) in FIELDS.items():
        told = told << width | fields[name]
    return told


def error(f: Fields, fast: bool, ports: int) -> int:
    """The code of an instruction, 0 if it is taken: a second opinion on the table of README.md."""
    op, place = f["op"], True
    if not 1 <= op <= 11 or (fast and op in (REVS, REVX)):
        return 1
    if op in (LOADS, LOADX, LOADK, LOADT, LOADC, STORE) and f["port"] >= ports:
        place = False
    if op in (LOADS, LOADX, REVS, REVX, NTT, MUL, SCALE) and f["dst"] > 3:
        place = False
    if op == LOADK and f["dst"] > 1:
        place = False
    if op in (REVS, REVX, NTT, MUL, SCALE, STORE) and f["src"] > 3:
        place = False
    if op == REVX and f["dst"] == f["src"]:
        place = False
    if op == NTT and not fast and (f["half"] or f["dst"] != f["src"]):
        place = False
    if op == MUL:
        place &= f["src2"] <= (1 if f["key"] else 3)
        if not f["init"]:
            place &= f["dst"] != f["src"] and (bool(f["key"]) or f["dst"] != f["src2"])
    if not place:
        return 2
    return 3 if op == LOADT and not 1 <= f["rows"] <= (1 << LOG_N) // 16 else 0


class Bench:
    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        self.fast, self.ports = bool(parameter("Engine", 1)), parameter("Ports", 2)
        dut.log_n_i.value = LOG_N
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    def any(self) -> Fields:
        rng = self.rng
        fields = {name: rng.getrandbits(width) for name, (_, width) in FIELDS.items()}
        fields |= {name: rng.choice([*range(4), *range(4), rng.randrange(16)]) for name in ("dst", "src", "src2")}
        return fields | {"rows": rng.choice([0, 1, 16, 17, rng.randrange(17), rng.getrandbits(32)])}

    def drawn(self, refused: bool) -> Fields:
        while bool(error(fields := self.any(), self.fast, self.ports)) != refused:
            pass
        return fields

    async def reset(self):
        for name in ("start_i", "halt_i", "req_ready_i", "row_valid_i", "row_i", "cmd_ready_i", "done_i"):
            getattr(self.dut, name).value = 0
        for level in (0, 1):
            self.dut.rst_ni.value = level
            await FallingEdge(self.dut.clk_i)

    def program(self, length: int, waits: float) -> list[tuple[Fields, dict[int, int]]]:
        """Instructions, each with counts that instructions before it make true."""
        rng, made = self.rng, [0] * UNITS
        program = []
        for _ in range(length):
            fields = self.drawn(False)
            needs = {u: rng.randrange(max(made[u] - 6, 0), made[u] + 1) for u in range(UNITS) if rng.random() < waits}
            program.append((fields, needs))
            made[UNIT[fields["op"]]] += 1
        return program

    async def run(self, program, *, ready=0.5, longest=20, rows=0.7, abort=None, limit=60_000) -> int:
        """Runs it and checks what starts when; the cycles that it took, or the error with which it ended."""
        dut, rng = self.dut, self.rng
        text = [encoded(*instruction) for instruction in program]
        codes = [error(fields, self.fast, self.ports) for fields, _ in program]
        bad = next((i for i, code in enumerate(codes) if code), None)
        queues = [deque(i for i, (f, _) in enumerate(program[:bad]) if UNIT[f["op"]] == u) for u in range(UNITS)]
        # Cycles that the instructions of a unit still take: LOAD takes several at a time.
        under_way: list[deque[int]] = [deque() for _ in range(UNITS)]
        completed, sent, asked, started = [0] * UNITS, 0, False, 0
        dut.instructions_i.value = len(program)
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        for cycle in range(limit):
            halted = abort is not None and cycle >= abort
            dut.halt_i.value = halted
            takes = [len(under_way[u]) < (8 if u == 0 else 1) and rng.random() < ready for u in range(UNITS)]
            ends = [bool(under_way[u]) and under_way[u][0] <= 0 for u in range(UNITS)]
            dut.cmd_ready_i.value = sum(t << u for u, t in enumerate(takes))
            dut.done_i.value = sum(e << u for u, e in enumerate(ends))
            grants = not asked and rng.random() < 0.5
            dut.req_ready_i.value = grants
            gives = asked and sent < len(program) and rng.random() < rows
            dut.row_valid_i.value = gives
            dut.row_i.value = text[sent] if gives else rng.getrandbits(256)
            await ReadOnly()
            valid, commands = int(dut.cmd_valid_o.value), [int(c.value) for c in dut.cmd_o]
            assert not (halted and valid)
            asked |= bool(grants and int(dut.req_valid_o.value))
            sent += bool(gives and int(dut.row_ready_o.value))
            for u in range(UNITS):
                under_way[u] = deque(left - 1 for left in under_way[u])
                if ends[u]:
                    under_way[u].popleft()
                if valid >> u & 1 and takes[u]:
                    index = queues[u].popleft()
                    fields, needs = program[index]
                    assert commands[u] == command(fields), f"instruction {index}"
                    assert all(completed[n] >= count for n, count in needs.items()), f"instruction {index} starts early"
                    under_way[u].append(rng.randrange(longest))
                    started += 1
                completed[u] += ends[u]
            idle, code, pc = int(dut.idle_o.value), int(dut.error_o.value), int(dut.pc_o.value)
            await FallingEdge(dut.clk_i)
            if halted and cycle > abort + 3:
                dut.halt_i.value = 0
                return cycle
            if code:
                assert (code, pc) == (codes[bad], bad)
                if cycle % 7 == 0:  # it stays so
                    return code
            elif idle:
                assert bad is None
                assert started == len(program) == pc
                # Nothing asks, starts or ends by itself.
                dut.cmd_ready_i.value, dut.done_i.value, dut.row_valid_i.value = 15, 0, 0
                for _ in range(5):
                    await FallingEdge(dut.clk_i)
                    assert int(dut.cmd_valid_o.value) == 0
                    assert int(dut.idle_o.value) == 1
                return cycle
        raise AssertionError("it stands still")


@cocotb.test()
async def instructions_start_in_order_after_what_they_wait_for(dut):
    bench = Bench(dut, 1)
    await bench.reset()
    for length, waits in ((0, 0), (1, 0), (40, 0), (150, 0.3), (150, 0.8)):
        await bench.run(bench.program(length, waits))
    # Units at rest take an instruction a cycle.
    fast = await bench.run(bench.program(100, 0), ready=1, longest=1, rows=1)
    assert fast < 220
    for _ in range(4):
        await bench.run(bench.program(60, 0.4), ready=bench.rng.random() + 0.05, longest=bench.rng.choice([1, 5, 60]))


@cocotb.test()
async def instructions_in_error_are_named(dut):
    bench = Bench(dut, 2)
    for _ in range(120):
        await bench.reset()
        program = bench.program(bench.rng.randrange(6), 0.2)
        program += [(bench.drawn(True), {}), *bench.program(3, 0)]
        assert await bench.run(program, longest=4)


@cocotb.test()
async def aborts_leave_nothing(dut):
    bench = Bench(dut, 3)
    for _ in range(20):
        await bench.reset()
        await bench.run(bench.program(40, 0.3), abort=bench.rng.randrange(150))
        await bench.reset()
        await bench.run(bench.program(10, 0.3))


@cocotb.test()
async def what_was_reached_stays_reached(dut):
    """A STORE behind another that never ends waits for one LOADX, while 2^15 + 100 complete."""
    bench = Bench(dut, 4)
    await bench.reset()
    zero = dict.fromkeys(FIELDS, 0)
    store, load = zero | {"op": STORE}, zero | {"op": LOADX}
    total = (1 << 15) + 100
    text = [encoded(store, {}), encoded(load, {}), encoded(store, {0: 1}), encoded(load, {})]
    dut.instructions_i.value, dut.start_i.value = total, 1
    await FallingEdge(dut.clk_i)
    dut.start_i.value, dut.req_ready_i.value, dut.row_valid_i.value = 0, 1, 1
    # LOADs are done in the cycle after the one that takes them; the first STORE is taken, and not done.
    sent = loads = stores = 0
    ending = 0
    while loads < total - 3:
        dut.row_i.value = text[min(sent, 3)]
        dut.row_valid_i.value = sent < total
        dut.cmd_ready_i.value = 0b0001 | (stores == 0) << 3
        dut.done_i.value = ending
        await ReadOnly()
        sent += int(dut.row_ready_o.value) and sent < total
        valid = int(dut.cmd_valid_o.value)
        ending = valid & 1
        loads += valid & 1
        stores += stores == 0 and valid >> 3 & 1
        await FallingEdge(dut.clk_i)
    dut.done_i.value, dut.cmd_ready_i.value = ending, 0
    for _ in range(4):
        await FallingEdge(dut.clk_i)
        dut.done_i.value = 0
    assert int(dut.cmd_valid_o.value) >> 3 & 1, "the count has passed what it waits for by half its range"


@pytest.mark.parametrize(("engine", "ports"), [(0, 1), (1, 2)])
def test_aes_issue(engine, ports):
    run("aes_issue", {"Engine": engine, "Ports": ports}, __file__)
