# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_butterfly computes both butterflies, at the stated latency, for all kinds of multiplier."""

import random

import cocotb
import pytest
from modular import BARRETT, BUTTERFLY_LATENCY, MONTGOMERY, check_pipeline, moduli, parameter, start_clock
from runner import run


@cocotb.test()
async def butterflies(dut):
    width, lanes, kind, word = (parameter(*p) for p in (("W", 54), ("Lanes", 1), ("Kind", 0), ("Word", 18)))
    top = (1 << parameter("ShiftWidth", 3)) - 1
    rng = random.Random(1)
    start_clock(dut)
    for modulus in moduli(width, kind, word, (0, top, 3)):
        q = modulus.shifted

        def forward(modulus=modulus, q=q):
            rows = [(modulus.residue(rng), modulus.residue(rng), modulus.operand(rng)) for _ in range(lanes)]
            products = [modulus.multiply(x1, w) for _, x1, w in rows]
            inputs = dict(zip(("x0_i", "x1_i", "w_i"), map(list, zip(*rows, strict=True)), strict=True))
            return inputs, {
                "y0_o": [(x0 + p) % q for (x0, _, _), p in zip(rows, products, strict=True)],
                "y1_o": [(x0 - p) % q for (x0, _, _), p in zip(rows, products, strict=True)],
            }

        def inverse(modulus=modulus, q=q):
            rows = [(modulus.residue(rng), modulus.residue(rng), modulus.operand(rng)) for _ in range(lanes)]
            inputs = dict(zip(("x0_i", "x1_i", "w_i"), map(list, zip(*rows, strict=True)), strict=True))
            half = (modulus.q + 1) // 2
            return inputs, {
                "y0_o": [(x0 + x1) * half % q for x0, x1, _ in rows],
                "y1_o": [modulus.multiply((x1 - x0) * half % q, w) for x0, x1, w in rows],
            }

        for sample, flag in ((forward, 0), (inverse, 1)):
            constants = {"q_i": q, "k_i": modulus.k, "shift_i": modulus.shift, "inverse_i": flag}
            await check_pipeline(dut, rng, constants, 40, BUTTERFLY_LATENCY, sample)


@pytest.mark.parametrize(
    ("kind", "twin"), [(BARRETT, 0), pytest.param(BARRETT, 1, marks=pytest.mark.long), (MONTGOMERY, 1)]
)
def test_rf_butterfly(kind, twin):
    run("rf_butterfly", {"W": 54, "Lanes": 2 if twin else 1, "Kind": kind, "Twin": twin}, __file__)


@pytest.mark.long
@pytest.mark.parametrize("twin", [0, 1])
@pytest.mark.parametrize(("kind", "word", "shift_width"), [(BARRETT, 18, 4), (MONTGOMERY, 11, 3)])
def test_wider_shifts_and_short_words(kind, word, shift_width, twin):
    """As the FHEW accelerator has them."""
    parameters = {"W": 27, "Lanes": 2, "Kind": kind, "Word": word, "ShiftWidth": shift_width, "Twin": twin}
    run("rf_butterfly", parameters, __file__)
