# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published engine and the unit that reverses bits: transforms, products, sums and scalings against definitions, of
all lengths that an engine takes; commands back to back; resets in the middle; cycles."""

from itertools import pairwise

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from modular import parameter
from paper import MUL, NTT, PRIMES, REVS, REVX, SCALE, K, Machine, S, X
from runner import run

BUILD = ["--no-public-flat-rw", "--public-depth", "1"]


def geometry() -> tuple[int, int]:
    return parameter("Lanes", 16), parameter("Starts", 4)


def transform_cycles(log_n: int) -> int:
    """The header's formula, for 32 rows and more."""
    lanes, starts = geometry()
    rows, groups = (1 << log_n) // lanes, lanes // starts
    low = lanes.bit_length() - 2  # levels within a row that multiply
    work = low * max(groups / 2, 1) + (log_n - 1 - low) * groups / 2 + log_n
    return int(rows * work) + 20 * (log_n - 1) + 9


def passes(log_n: int, level: int) -> tuple[int, int]:
    """Cycles of a level's multiplications and of its additions: their reads, and the wait for the next pass. The last
    level's wait is not in them: all levels of a transform and 9 cycles (with the command, and until the last write) are
    `transform_cycles`."""
    lanes, starts = geometry()
    rows, groups = (1 << log_n) // lanes, lanes // starts
    within = level < lanes.bit_length()
    multiply = rows * max(groups // 2, 1) if within else rows * groups // 2
    return (0 if level == 1 else multiply + 20), rows


class Reads:
    """The cycles in which the engine reads rows of X, in runs without a gap between them."""

    def __init__(self, dut):
        self.dut, self.runs, self.cycle = dut, [], 0
        self.task = cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        last = None
        while True:
            await FallingEdge(self.dut.clk_i)
            if int(self.dut.reads_o.value) & 1:
                if last != self.cycle - 1:
                    self.runs.append([self.cycle, self.cycle])
                self.runs[-1][1] = last = self.cycle
            self.cycle += 1

    def check(self, log_n: int, took: int) -> None:
        """Additions go over into the multiplications behind them without a gap; between these and the next additions is
        the wait."""
        self.task.cancel()
        levels = [passes(log_n, m) for m in range(1, log_n + 1)]
        wanted = [levels[i][1] + (levels[i + 1][0] - 20 if i + 1 < log_n else 0) for i in range(log_n)]
        assert [b - a + 1 for a, b in self.runs] == wanted
        assert [after[0] - before[1] - 1 for before, after in pairwise(self.runs)] == [20] * (log_n - 1)
        assert sum(map(sum, levels)) + 9 == took == transform_cycles(log_n)


async def machine(dut, log_n: int, seed: int, sets: tuple[int, ...] = PRIMES[:2]) -> Machine:
    m = Machine(dut, log_n, seed)
    await m.begin()
    for which, q in enumerate(sets):
        await m.tables(which, q)
    return m


@cocotb.test()
async def transforms(dut):
    """Both directions of both sets, of random, extreme and largest words; back to the polynomial."""
    log_n = parameter("LogN", 7)
    m = await machine(dut, log_n, log_n)
    for which, kind in ((0, "random"), (1, "extreme"), (1, "top")):
        q = m.sets[which][0]
        await m.put(X, 0, m.words(q, m.n, kind))
        await m.put(S, 1, m.words(q, m.n // 2, kind))
        there = {"op": NTT, "dst": 2, "which": which}
        back = [
            {"op": REVX, "dst": 1, "src": 2},
            {"op": NTT, "dst": 1, "which": which, "inverse": 1},
            {"op": SCALE, "dst": 3, "src": 1, "which": which},
        ]
        cycles = await m.run({"op": REVX, "dst": 2, "src": 0}, there, *back)
        assert (m.x[3] == m.x[0]).all()
        await m.check()
        rows = m.n // geometry()[0]
        if rows >= 32:
            assert cycles[1] == cycles[3] == transform_cycles(log_n)
        assert cycles[0] == m.n // 8 + 13
        await m.run({"op": REVS, "dst": 0, "src": 1}, {"op": NTT, "dst": 0, "which": which, "inverse": 1})
        await m.check(0)


@cocotb.test()
async def words(dut):
    """Products, sums of products and scalings with operands from everywhere, back to back."""
    log_n = parameter("LogN", 7)
    lanes, starts = geometry()
    m = await machine(dut, log_n, 50 + log_n)
    for which, kind in ((0, "random"), (1, "extreme"), (0, "top")):
        q = m.sets[which][0]
        for b in range(4):
            await m.put(X, b, m.words(q, m.n, kind))
        for k in range(2):
            await m.put(K, k, m.words(q, m.n, kind))
        places = [(3, 0, 1), (3, 0, 0), (3, 3, 0), (3, 0, 3), (3, 3, 3)]
        commands = [
            {"op": MUL, "dst": d, "src": a, "src2": b % 2 if key else b, "init": init, "key": key, "which": which}
            for key in (0, 1)
            for init in (1, 0)
            for d, a, b in places
        ]
        commands += [
            {"op": SCALE, "dst": 2, "src": 3, "which": which},
            {"op": SCALE, "dst": 2, "src": 2, "which": which},
        ]
        m.draw.shuffle(commands)
        cycles = await m.run(*commands)
        await m.check()
        for command, took in zip(commands, cycles, strict=True):
            places = {command["dst"], command["src"], command.get("src2", 0)}
            three = command["op"] == MUL and not command["init"] and not command["key"] and len(places) == 3
            assert took == m.n // lanes * max(lanes // starts, 1 + three) + 29


@cocotb.test()
async def resets(dut):
    """A reset at any moment leaves an engine that works."""
    m = await machine(dut, parameter("LogN", 7), 90)
    q = m.sets[0][0]
    for stop in [1, 2, 12, *(m.draw.randrange(3, 300) for _ in range(6))]:
        await m.run({"op": NTT, "dst": 0}, {"op": MUL, "dst": 1, "src": 1, "init": 1}, stop=stop)
        for b in range(2):
            await m.put(X, b, m.words(q, m.n))
        await m.run({"op": REVX, "dst": 2, "src": 0}, {"op": NTT, "dst": 2}, {"op": MUL, "dst": 1, "src": 2, "init": 0})
        await m.check(0, 1, 2)


@cocotb.test()
async def large(dut):
    """One product of padded polynomials: all words of each transform, and its cycles."""
    log_n = parameter("MaxLogN", 16)
    m = await machine(dut, log_n, 7, PRIMES[1:2])
    q = m.sets[0][0]
    lanes, starts = geometry()
    for slot, kind in ((0, "random"), (1, "extreme")):
        await m.put(S, slot, m.words(q, m.n // 2, kind))
    forward = [c for i in range(2) for c in ({"op": REVS, "dst": i, "src": i}, {"op": NTT, "dst": i})]
    cycles = await m.run(*forward[:3])
    reads = Reads(dut)
    cycles += await m.run(forward[3])
    reads.check(log_n, cycles[3])
    await m.check(0, 1)
    cycles += await m.run(
        {"op": MUL, "dst": 2, "src": 0, "src2": 1, "init": 1},
        {"op": REVX, "dst": 3, "src": 2},
        {"op": NTT, "dst": 3, "inverse": 1},
        {"op": SCALE, "dst": 0, "src": 3},
    )
    await m.check(0, 2, 3)
    assert cycles[1] == cycles[3] == cycles[6] == transform_cycles(log_n)
    assert cycles[4] == cycles[7] == m.n // starts + 29
    print("cycles from command to done", dict(zip(("reverse", "transform", "multiply"), cycles[2:5], strict=True)))
    if lanes == 256:
        assert cycles[1] <= 12_720, "what the paper states for 256 multipliers"
        assert max(sum(passes(log_n, level)) for level in range(1, log_n + 1)) <= 795


def parameters(lanes: int, starts: int, log_n: int) -> dict[str, int]:
    return {"Lanes": lanes, "Starts": starts, "MaxLogN": log_n, "MinLogN": max(6, lanes.bit_length())}


def check(lanes: int, starts: int, max_log_n: int, log_n: int, testcase: str) -> None:
    run(
        "paper_bench",
        parameters(lanes, starts, max_log_n),
        __file__,
        build_args=BUILD,
        optimise="-O1",
        testcase=testcase,
        env={"PARAM_LogN": str(log_n)},
    )


@pytest.mark.parametrize(
    ("lanes", "starts", "log_n"),
    [(16, 4, 6), (16, 4, 9), (8, 8, 6), (8, 8, 8)]
    + [pytest.param(*c, marks=pytest.mark.long) for c in [(16, 4, 7), (16, 4, 8), (8, 8, 7), (8, 8, 9)]],
)
def test_transforms(lanes, starts, log_n):
    check(lanes, starts, 9, log_n, "transforms")


@pytest.mark.parametrize(
    ("lanes", "starts", "log_n"), [(16, 4, 6), (8, 8, 7), pytest.param(16, 4, 9, marks=pytest.mark.long)]
)
def test_words(lanes, starts, log_n):
    check(lanes, starts, 9, log_n, "words")


@pytest.mark.parametrize(("lanes", "starts"), [(16, 4), pytest.param(8, 8, marks=pytest.mark.long)])
def test_resets(lanes, starts):
    check(lanes, starts, 9, 7, "resets")


@pytest.mark.long
@pytest.mark.parametrize(("lanes", "starts"), [(32, 32), (32, 8), (64, 8), (32, 4)])
def test_other_shapes(lanes, starts):
    check(lanes, starts, 10, 10, "transforms")
    check(lanes, starts, 10, 8, "transforms")
    check(lanes, starts, 10, 8, "words")


@pytest.mark.long
@pytest.mark.parametrize("lanes", [256, 64])
def test_full_size(lanes):
    run("paper_bench", parameters(lanes, 64, 16), __file__, build_args=BUILD, optimise="-O2", testcase="large")
