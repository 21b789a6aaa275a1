# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mod_add gives the sum modulo q for random and extreme operands."""

import random

import cocotb
import pytest
from modular import check_combinational, moduli, parameter
from runner import run


@cocotb.test()
async def sums(dut):
    width, lanes = parameter("W", 54), parameter("Lanes", 1)
    rng = random.Random(1)
    vectors = []
    for modulus in moduli(width):
        q = modulus.shifted
        for _ in range(100):
            a, b = ([modulus.residue(rng) for _ in range(lanes)] for _ in range(2))
            expected = [(x + y) % q for x, y in zip(a, b, strict=True)]
            vectors.append(({"q_i": q, "a_i": a, "b_i": b}, {"r_o": expected}))
    await check_combinational(dut, vectors)


@pytest.mark.parametrize("width", [54, pytest.param(64, marks=pytest.mark.long)])
def test_rf_mod_add(width):
    run("rf_mod_add", {"W": width, "Lanes": 3}, __file__)
