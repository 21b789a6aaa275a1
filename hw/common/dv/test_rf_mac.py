# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mac computes its four functions, at the stated latency, for all kinds of multiplier."""

import random
from itertools import product

import cocotb
import pytest
from modular import BARRETT, MAC_LATENCY, MONTGOMERY, check_pipeline, moduli, parameter, start_clock
from runner import run


@cocotb.test()
async def functions(dut):
    width, lanes, kind, word = (parameter(*p) for p in (("W", 54), ("Lanes", 1), ("Kind", 0), ("Word", 18)))
    rng = random.Random(1)
    start_clock(dut)
    for modulus, pre_sub, post_add in product(moduli(width, kind, word), (0, 1), (0, 1)):
        q = modulus.shifted

        def sample(modulus=modulus, pre_sub=pre_sub, post_add=post_add, q=q):
            rows = [(modulus.residue(rng), modulus.operand(rng), modulus.residue(rng)) for _ in range(lanes)]
            inputs = dict(zip(("a_i", "b_i", "c_i"), map(list, zip(*rows, strict=True)), strict=True))
            return inputs, {
                "r_o": [(modulus.multiply((a - pre_sub * c) % q, b) + post_add * c) % q for a, b, c in rows]
            }

        constants = {"q_i": q, "k_i": modulus.k, "pre_sub_i": pre_sub, "post_add_i": post_add}
        await check_pipeline(dut, rng, constants, 30, MAC_LATENCY, sample)


@pytest.mark.parametrize(("kind", "twin"), [(BARRETT, 1), (MONTGOMERY, 0)])
def test_rf_mac(kind, twin):
    run("rf_mac", {"W": 54, "Lanes": 2 if twin else 1, "Kind": kind, "Twin": twin}, __file__)


@pytest.mark.long
@pytest.mark.parametrize("twin", [0, 1])
def test_short_words(twin):
    run("rf_mac", {"W": 27, "Lanes": 2, "Kind": MONTGOMERY, "Word": 11, "Twin": twin}, __file__)
