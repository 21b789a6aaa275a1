# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_butterfly_pair computes both butterflies and the functions of single lanes, at the stated latency."""

import random

import cocotb
import pytest
from modular import BARRETT, BUTTERFLY_LATENCY, MONTGOMERY, check_pipeline, moduli, parameter, start_clock
from runner import run


@cocotb.test()
async def functions(dut):
    width, lanes, kind = parameter("W", 54), parameter("Lanes", 2), parameter("Kind", 0)
    rng = random.Random(1)
    start_clock(dut)
    for modulus in moduli(width, kind):
        q, half = modulus.shifted, (modulus.q + 1) // 2
        for mode, subtract in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)):

            def sample(modulus=modulus, q=q, half=half, mode=mode, subtract=subtract):
                a, c = ([modulus.residue(rng) for _ in range(lanes)] for _ in range(2))
                b = [modulus.operand(rng) for _ in range(lanes)]
                expected = []
                for i in range(0, lanes, 2):
                    x0, x1, w = a[i], a[i + 1], b[i + 1]
                    if mode == 1:
                        p = modulus.multiply(x1, w)
                        expected += [(x0 + p) % q, (x0 - p) % q]
                    elif mode == 2:
                        expected += [(x0 + x1) * half % q, modulus.multiply((x1 - x0) * half % q, w)]
                    else:
                        sign = -1 if subtract else 1
                        expected += [(c[j] + sign * modulus.multiply(a[j], b[j])) % q for j in (i, i + 1)]
                return {"a_i": a, "b_i": b, "c_i": c}, {"r_o": expected}

            constants = {"q_i": q, "k_i": modulus.k, "shift_i": modulus.shift, "mode_i": mode, "subtract_i": subtract}
            await check_pipeline(dut, rng, constants, 20, BUTTERFLY_LATENCY, sample)


@pytest.mark.parametrize(("kind", "twin"), [(BARRETT, 0), pytest.param(MONTGOMERY, 1, marks=pytest.mark.long)])
def test_rf_butterfly_pair(kind, twin):
    run("rf_butterfly_pair", {"W": 54, "Lanes": 4 if twin else 2, "Kind": kind, "Twin": twin}, __file__)
