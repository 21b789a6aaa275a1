# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_issue: random programs on units that take random time.

Every instruction reaches its unit once, whole and in order, and starts only after what it waits for; nothing stands
still for ever; an instruction in error is named, and nothing behind it starts; a run that is aborted leaves nothing.
"""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from instructions import AUTO, COMMAND, FIELDS, KMAC, UNIT, UNITS, Sizes, command, encoded, error
from modular import parameter
from runner import run

PROGRAM = 0x3000
SIZES = Sizes(ways=2, rows=2, buffers=8, banks=48, log_n=8)
WIDTH = sum(FIELDS[name][1] for name in COMMAND)


def drawn(rng: random.Random) -> dict[str, int]:
    """An instruction, most often one that is taken."""
    op = rng.randrange(1, 14)
    fields = {"op": op, "dst": rng.randrange(4), "src": rng.randrange(1, 3), "mod": rng.randrange(64)}
    fields |= {"k": rng.randrange(64), "bank": rng.randrange(2), "part": rng.randrange(2), "ways": rng.randrange(1, 4)}
    fields |= {"count": rng.randrange(1, 40), "element": rng.randrange(1, 512, 2)}
    fields |= {name: rng.randrange(2) for name in ("init", "from_memory", "to_x", "add")}
    fields |= {name: rng.getrandbits(48) for name in ("addr0", "addr1", "stride0", "stride1")}
    if UNIT[op] == 0 and op > 2:
        fields["src"] = rng.randrange(2)
    if op == 2:
        fields["dst"] = rng.randrange(2)
    if op == 4:
        fields["mod"], fields["count"] = rng.randrange(32), rng.randrange(1, 33)
    if op == AUTO:
        fields["dst"] = rng.randrange(3, 8)
    if op == KMAC:
        fields["dst"] = rng.choice([0, 3])
    return fields


def spoilt(rng: random.Random) -> dict[str, int]:
    """An instruction that is refused."""
    while True:
        fields = drawn(rng)
        name = rng.choice(["op", "dst", "src", "mod", "k", "bank", "part", "ways", "count", "element"])
        width = FIELDS[name][1]
        near = [0, 1, 2, 3, 4, 7, 8, 9, 47, 48, 49, 63, 64, 511, 512, 2046, 2047, 2048]
        fields[name] = rng.choice([*(n for n in near if n >> width == 0), rng.getrandbits(width)])
        if error(fields, SIZES):
            return fields


class Bench:
    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        self.row_bits = 64 * parameter("Lanes", 4)
        dut.log_n_i.value = SIZES.log_n
        dut.program_i.value = PROGRAM

    async def reset(self):
        for name in ("start_i", "halt_i", "req_ready_i", "row_valid_i", "row_i", "cmd_ready_i", "done_i"):
            getattr(self.dut, name).value = 0
        for level in (0, 1):
            self.dut.rst_ni.value = level
            await FallingEdge(self.dut.clk_i)

    def program(self, length: int, waits: float) -> list[tuple[dict[str, int], dict[int, int]]]:
        """Instructions, each with counts that instructions before it make true."""
        rng, made = self.rng, [0] * UNITS
        program = []
        for _ in range(length):
            fields = drawn(rng)
            needs = {u: rng.randrange(max(made[u] - 6, 0), made[u] + 1) for u in range(UNITS) if rng.random() < waits}
            program.append((fields, needs))
            made[UNIT[fields["op"]]] += 1
        return program

    async def run(self, program, *, ready=0.5, longest=20, rows=0.7, abort=None, limit=60_000) -> int:
        """Runs it and checks what starts when; the cycles that it took, or the error with which it ended."""
        dut, rng = self.dut, self.rng
        text = sum(encoded(*instruction) << (512 * i) for i, instruction in enumerate(program))
        total = -(-512 * len(program) // self.row_bits)
        bad = next((i for i, (fields, _) in enumerate(program) if error(fields, SIZES)), None)
        queues = [deque(i for i, (f, _) in enumerate(program[:bad]) if UNIT[f["op"]] == u) for u in range(UNITS)]
        under_way: list[int | None] = [None] * UNITS  # cycles that a unit's instruction still takes
        completed, sent, asked, started = [0] * UNITS, 0, False, 0
        dut.instructions_i.value = len(program)
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        for cycle in range(limit):
            halted = abort is not None and cycle >= abort
            dut.halt_i.value = halted
            takes = [under_way[u] is None and rng.random() < ready for u in range(UNITS)]
            ends = [under_way[u] is not None and under_way[u] <= 0 for u in range(UNITS)]
            dut.cmd_ready_i.value = sum(t << u for u, t in enumerate(takes))
            dut.done_i.value = sum(e << u for u, e in enumerate(ends))
            dut.req_ready_i.value = grants = not asked and rng.random() < 0.5
            gives = asked and sent < total and rng.random() < rows
            dut.row_valid_i.value = gives
            # Beyond the program there is whatever memory holds.
            dut.row_i.value = text >> (sent * self.row_bits) & ((1 << self.row_bits) - 1)
            await ReadOnly()
            valid, commands = int(dut.cmd_valid_o.value), [int(c.value) for c in dut.cmd_o]
            assert not (halted and valid)
            if grants and int(dut.req_valid_o.value):
                asked = True
                assert (int(dut.req_addr_o.value), int(dut.req_rows_o.value)) == (PROGRAM, total)
            sent += gives and int(dut.row_ready_o.value)
            for u in range(UNITS):
                if valid >> u & 1 and takes[u]:
                    index = queues[u].popleft()
                    fields, needs = program[index]
                    assert commands[u] == command(fields), f"instruction {index}"
                    assert all(completed[n] >= count for n, count in needs.items()), f"instruction {index} starts early"
                    under_way[u] = rng.randrange(longest)
                    started += 1
                elif under_way[u] is not None:
                    under_way[u] -= 1
                    if ends[u]:
                        under_way[u] = None
                        completed[u] += 1
            idle, code, pc = int(dut.idle_o.value), int(dut.error_o.value), int(dut.pc_o.value)
            await FallingEdge(dut.clk_i)
            if halted and cycle > abort + 3:
                dut.halt_i.value = 0
                return cycle
            if code:
                assert (code, pc) == (error(program[bad][0], SIZES), bad)
                if cycle % 7 == 0:  # it stays so
                    return code
            elif idle:
                assert bad is None
                assert started == len(program) == pc
                assert not any(queues)
                # Nothing asks, starts or ends by itself.
                dut.cmd_ready_i.value, dut.done_i.value, dut.row_valid_i.value = 255, 0, 0
                for _ in range(5):
                    await FallingEdge(dut.clk_i)
                    assert int(dut.cmd_valid_o.value) == 0
                    assert int(dut.idle_o.value) == 1
                return cycle
        raise AssertionError(f"it stands still after {started} instructions")


@cocotb.test()
async def programs(dut):
    assert len(dut.cmd_o[0]) == WIDTH
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 1)
    await bench.reset()
    for length, waits, options in (
        (0, 0, {}),
        (1, 0, {}),
        (3, 1, {}),
        (120, 0.5, {}),
        (120, 0.1, {"longest": 60, "ready": 1.0, "rows": 1.0}),
        (150, 0.9, {"longest": 1, "ready": 1.0, "rows": 1.0}),
        (100, 0.2, {"longest": 2, "ready": 0.2, "rows": 0.1}),
    ):
        # Runs follow each other without a reset.
        await bench.run(bench.program(length, waits), **options)


@cocotb.test()
async def errors(dut):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 2)
    for _ in range(60):
        await bench.reset()
        program = bench.program(bench.rng.randrange(1, 12), 0.3)
        program.insert(bench.rng.randrange(len(program) + 1), (spoilt(bench.rng), {}))
        assert await bench.run(program) in (1, 2, 3)
    for part in range(2):
        await bench.reset()
        sums = {"op": KMAC, "dst": 3, "src": 3, "ways": 1, "bank": part, "to_x": 1}
        assert await bench.run([(sums | {"from_memory": 1}, {}), (sums | {"src": 4}, {}), (sums, {})]) == 2


@cocotb.test()
async def aborts(dut):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 3)
    for _ in range(12):
        await bench.reset()
        await bench.run(bench.program(60, 0.4), abort=bench.rng.randrange(200))
        await bench.reset()
        await bench.run(bench.program(10, 0.4))


@pytest.mark.parametrize("lanes", [2, 8, 16])
def test_omr_issue(lanes: int) -> None:
    run("omr_issue", {"Lanes": lanes, "Ways": 2, "Rows": 2, "Buffers": 8, "Banks": 48, "MaxLogN": 12}, __file__)
