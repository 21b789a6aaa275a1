# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_gather: sums, maps and factors of random slots, instructions at once or after pauses, both degrees."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from modular import MUL_LATENCY, parameter
from wide_bench import Reader, Ring, begin, run

SLOTS = 5
ONE, SUM, DIFFERENCE, REFLECTION = range(4)
POWER, POWER_LESS, SCALAR = range(3)


class Instruction:
    """A random one, and what must come of it: half lines, lines of b, lines of a linear one."""

    def __init__(self, rng, ring, slots, scalar, lanes):
        n, q, half = ring.n, ring.q, lanes // 2
        self.linear = rng.random() < 0.3
        self.both = not self.linear and rng.random() < 0.4
        self.beside = not self.linear and not self.both and rng.random() < 0.6
        self.take, self.times = rng.randrange(4), rng.randrange(3)
        self.s1, self.s2 = rng.randrange(SLOTS), rng.randrange(SLOTS)
        self.element = rng.choice((1, 2 * n - 1, 2 * rng.randrange(n) + 1))
        self.power = rng.choice((0, 1, n, 2 * n - 1, rng.randrange(2 * n)))
        one, other = slots[self.s1], slots[self.s2]
        scale = {ONE: (1, 0), SUM: (1, 1), DIFFERENCE: (1, -1), REFLECTION: (2, -1)}[self.take]
        found = [
            [(scale[0] * x + scale[1] * y) % q for x, y in zip(u, v, strict=True)]
            for u, v in zip(one, other, strict=True)
        ]
        a, b = (ring.mapped(x, self.element) for x in found)
        factors = [scalar if self.times == SCALAR else ring.factor(p, self.power) for p in range(n)]
        if self.times == POWER_LESS:
            factors = [f - 1 for f in factors]
        products = [[x * f % q << ring.shift for x, f in zip(part, factors, strict=True)] for part in (a, b)]
        starts = range(0, n, lanes)
        self.lines = [products[0][i : i + lanes] + products[1][i : i + lanes] for i in starts] if self.linear else []
        self.beside_lines = [ring.shifted(b[i : i + lanes]) for i in starts] if self.beside else []
        parts = [] if self.linear else products[: 1 + self.both]
        self.halves = [part[i : i + half] for part in parts for i in range(0, n, half)]

    def drive(self, dut):
        for name in ("linear", "both", "beside", "take", "times", "s1", "s2", "element", "power"):
            getattr(dut, f"{name}_i").value = int(getattr(self, name))


@cocotb.test()
async def gathers(dut):
    lanes, max_log_n, width = parameter("Lanes", 8), parameter("MaxLogN", 7), parameter("W", 27)
    rng = random.Random(11)
    await begin(dut, go_i=0, table_we_i=0)
    for log_n, shift, eager in ((max_log_n, 0, 1.0), (max_log_n - 1, 4, 1.0), (max_log_n, 7, 0.1)):
        ring = Ring(width, max_log_n, log_n, shift)
        ring.apply(dut)
        await ring.load_powers(dut)
        scalar = rng.randrange(ring.q)
        dut.scalar_i.value = scalar
        slots = [[ring.random(rng), ring.random(rng)] for _ in range(SLOTS)]
        held = [[ring.shifted(part) for part in slot] for slot in slots]
        given = [Instruction(rng, ring, slots, scalar, lanes) for _ in range(8)]
        halves = [(h, k) for i in given for k, h in enumerate(i.halves)]
        besides = [(k, line) for i in given for k, line in enumerate(i.beside_lines)]
        lines = [line for i in given for line in i.lines]
        port = Reader(dut, "line_i", [0] * 2 * lanes)
        waiting, began, left, clock, busy_until = list(given), [], 0, 0, 0
        per_pass = 2 * ring.n // lanes
        while halves or besides or lines:
            assert clock < 300 + 60 * len(given) * per_pass, "it stands still"
            # It is ready when all passes have been walked, and no sooner.
            ready = int(dut.ready_o.value)
            assert ready == (clock >= busy_until), f"ready_o is {ready} in clock {clock}, {busy_until}"
            go = bool(waiting) and bool(ready) and rng.random() < eager
            dut.go_i.value = int(go)
            if go:
                instruction = waiting.pop(0)
                instruction.drive(dut)
                if instruction.halves:
                    began += [clock + 10 + MUL_LATENCY + k * per_pass for k in range(1 + instruction.both)]
                busy_until = clock + per_pass * (1 + instruction.both)
            await ReadOnly()
            read = None
            if int(dut.read_o.value):
                slot, line = int(dut.slot_o.value), int(dut.line_o.value)
                read = [part[line * lanes + lane] for part in held[slot] for lane in range(lanes)]
            port.step(read)
            if int(dut.start_o.value):
                assert began.pop(0) == clock, "the first half line's clock"
                assert left == 0
                left = per_pass
            if left:
                want, k = halves.pop(0)
                assert [int(x) for x in dut.half_o.value] == want, f"half line {k}"
                left -= 1
            if int(dut.beside_valid_o.value):
                k, want = besides.pop(0)
                assert int(dut.beside_line_o.value) == k
                assert [int(x) for x in dut.beside_o.value] == want, f"line {k} of b"
            if int(dut.linear_valid_o.value):
                assert [int(x) for x in dut.linear_o.value] == lines.pop(0)
            await FallingEdge(dut.clk_i)
            port.show()
            clock += 1
        dut.go_i.value = 0
        for _ in range(2 * per_pass + 30):
            await FallingEdge(dut.clk_i)
            assert not any(int(getattr(dut, name).value) for name in ("start_o", "beside_valid_o", "linear_valid_o"))


@pytest.mark.parametrize(("lanes", "max_log_n", "width"), [(4, 6, 27), pytest.param(8, 7, 54, marks=pytest.mark.long)])
def test_psi_wide_gather(lanes, max_log_n, width):
    run("psi_wide_gather", {"Lanes": lanes, "MaxLogN": max_log_n, "W": width}, __file__)
