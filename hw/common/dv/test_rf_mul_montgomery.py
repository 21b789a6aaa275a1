# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mul_montgomery, and its twin where that exists, agree with plain division, at the stated latency.

A million random and extreme products at 54 bits, fewer at other widths and with the short part in LUTs; at 8 bits and
words of 3 all products of all moduli.
"""

import cocotb
import pytest
from modular import MONTGOMERY, run_bench
from runner import run

CASES = {(54, 0): 1_000_000, (54, 1): 50_000, (27, 0): 50_000, (60, 0): 50_000, (64, 0): 50_000}


@cocotb.test()
async def products(dut):
    await run_bench(dut)


@pytest.mark.parametrize(("width", "short_in_luts"), CASES)
def test_rf_mul_montgomery(width, short_in_luts):
    products = CASES[width, short_in_luts]
    parameters = {"W": width, "Kind": MONTGOMERY, "Products": products, "ShortInLuts": short_in_luts}
    run("mul_bench", parameters, __file__, optimise="-O1")


def test_rf_mul_montgomery_all():
    parameters = {"W": 8, "Kind": MONTGOMERY, "All": 1, "Word": 3, "TileA": 4, "TileB": 2, "LutBits": 1}
    run("mul_bench", parameters, __file__, optimise="-O1")
