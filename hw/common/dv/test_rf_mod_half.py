# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mod_half gives the residue that doubles to its operand, at all shifts."""

import random

import cocotb
import pytest
from modular import check_combinational, moduli, parameter
from runner import run


@cocotb.test()
async def halves(dut):
    width, lanes = parameter("W", 54), parameter("Lanes", 1)
    rng = random.Random(1)
    vectors = []
    top = (1 << parameter("ShiftWidth", 3)) - 1
    for modulus in moduli(width, shifts=(0, top, 3)):
        q = modulus.shifted
        half = (modulus.q + 1) // 2
        for _ in range(100):
            x = [modulus.residue(rng) for _ in range(lanes)]
            expected = [value * half % q for value in x]
            vectors.append(({"q_i": q, "shift_i": modulus.shift, "x_i": x}, {"r_o": expected}))
    await check_combinational(dut, vectors)


def test_rf_mod_half():
    run("rf_mod_half", {"W": 64, "Lanes": 3}, __file__)


@pytest.mark.long
def test_wider_shifts():
    run("rf_mod_half", {"W": 27, "Lanes": 2, "ShiftWidth": 4}, __file__)
