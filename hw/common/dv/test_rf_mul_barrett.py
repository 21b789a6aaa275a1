# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mul_barrett, and its twin where that exists, agree with plain division, at the stated latency.

A million random and extreme products at 54 bits, fewer at other widths; at 7 bits all products of all moduli, with
tiles cut so small that there are as many as at full width.
"""

import cocotb
import pytest
from modular import BARRETT, run_bench
from runner import run

WIDTHS = {54: 1_000_000, 27: 50_000, 62: 50_000, 64: 50_000}


@cocotb.test()
async def products(dut):
    await run_bench(dut)


@pytest.mark.parametrize("width", WIDTHS)
def test_rf_mul_barrett(width):
    parameters = {"W": width, "Kind": BARRETT, "Products": WIDTHS[width]}
    run("mul_bench", parameters, __file__, optimise="-O1")


def test_rf_mul_barrett_all():
    parameters = {"W": 7, "Kind": BARRETT, "All": 1, "TileA": 4, "TileB": 2, "LutBits": 1}
    run("mul_bench", parameters, __file__, optimise="-O1")
