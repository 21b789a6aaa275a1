# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mod_mul selects the multiplier asked for."""

import random

import cocotb
import pytest
from modular import BARRETT, MONTGOMERY, MUL_LATENCY, check_pipeline, moduli, parameter, start_clock
from runner import run


@cocotb.test()
async def products(dut):
    width, lanes, kind = parameter("W", 54), parameter("Lanes", 1), parameter("Kind", 0)
    rng = random.Random(1)
    start_clock(dut)
    for modulus in moduli(width, kind):

        def sample(modulus=modulus):
            a = [modulus.residue(rng) for _ in range(lanes)]
            b = [modulus.operand(rng) for _ in range(lanes)]
            return {"a_i": a, "b_i": b}, {"r_o": [modulus.multiply(x, y) for x, y in zip(a, b, strict=True)]}

        await check_pipeline(dut, rng, {"q_i": modulus.shifted, "k_i": modulus.k}, 40, MUL_LATENCY, sample)


@pytest.mark.parametrize(("kind", "twin"), [(BARRETT, 0), pytest.param(MONTGOMERY, 1, marks=pytest.mark.long)])
def test_rf_mod_mul(kind, twin):
    run("rf_mod_mul", {"W": 54, "Lanes": 1, "Kind": kind, "Twin": twin}, __file__)
