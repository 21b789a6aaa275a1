# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mul_tiled gives complete and half products; what an upper half leaves out stays within the stated bound."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from modular import compare, parameter, start_clock
from runner import run


@cocotb.test()
async def products(dut):
    wa, wb, lo, hi = (parameter(name, 0) for name in ("WA", "WB", "Lo", "Hi"))
    subtract, lanes = parameter("Subtract", 0), parameter("Lanes", 1)
    slices_a, slices_b = -(-wa // 26), -(-wb // 17)
    loss = slices_a * slices_b + slices_a + slices_b - 1 if lo else 0
    span = 1 << (hi - lo)
    rng = random.Random(1)
    start_clock(dut)
    dut.en_i.value = 1
    for _ in range(300):
        a, b, c = (
            [rng.choice([0, 1, (1 << w) - 1, rng.getrandbits(w), rng.getrandbits(w)]) for _ in range(lanes)]
            for w in (wa, wb, hi - lo)
        )
        # Held for as long as the latency, so that c is there when it is taken.
        dut.a_i.value, dut.b_i.value, dut.c_i.value = a, b, c
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        for x, y, z, got in zip(a, b, c, (int(p) for p in dut.p_o.value), strict=True):
            exact = (x * y >> lo) % span
            part = (z - got if subtract else got - z) % span
            assert (exact - part) % span <= loss, (hex(x), hex(y), hex(z), hex(got))
    # One operand every clock, with c at rest.
    dut.c_i.value = [0] * lanes
    waiting = []
    for _ in range(50 if lo == 0 else 0):
        a, b = ([rng.getrandbits(w) for _ in range(lanes)] for w in (wa, wb))
        dut.a_i.value, dut.b_i.value = a, b
        waiting.append([(-x * y if subtract else x * y) % span for x, y in zip(a, b, strict=True)])
        await FallingEdge(dut.clk_i)
        if len(waiting) == 3:
            compare(dut, {"p_o": waiting.pop(0)}, "")


@pytest.mark.parametrize(
    ("wa", "wb", "lo", "hi", "from_top", "subtract"),
    [
        pytest.param(54, 54, 0, 108, 0, 0, id="full"),
        pytest.param(56, 54, 50, 110, 1, 0, id="upper", marks=pytest.mark.long),
        pytest.param(54, 54, 0, 56, 0, 1, id="lower", marks=pytest.mark.long),
    ],
)
def test_rf_mul_tiled(wa, wb, lo, hi, from_top, subtract):
    parameters = {"WA": wa, "WB": wb, "Lo": lo, "Hi": hi, "FromTop": from_top, "Subtract": subtract, "Lanes": 2}
    run("rf_mul_tiled", parameters, __file__)
