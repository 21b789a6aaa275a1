# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mod_lift keeps the signed number between two moduli of one bit length, and passes through when not enabled."""

import random
from itertools import product

import cocotb
from modular import check_combinational, moduli, parameter
from runner import run


@cocotb.test()
async def lifts(dut):
    width, lanes = parameter("W", 54), parameter("Lanes", 1)
    rng = random.Random(1)
    vectors = []
    for p, q in product(moduli(width), repeat=2):
        if p.shift != q.shift:
            continue
        for enable in (1, 1, 1, 0):
            x = [p.operand(rng) for _ in range(lanes)]
            inputs = {"p_i": p.shifted, "q_i": q.shifted, "en_i": enable, "x_i": [v << p.shift for v in x]}
            signed = [v - p.q if v > p.q // 2 else v for v in x]
            lifted = [v % q.q << p.shift for v in signed]
            vectors.append((inputs, {"r_o": lifted if enable else inputs["x_i"]}))
    await check_combinational(dut, vectors)


def test_rf_mod_lift():
    run("rf_mod_lift", {"W": 54, "Lanes": 8}, __file__)
