# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The multipliers and their twin agree with plain division on a million random and extreme products of each kind."""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import Timer
from modular import BARRETT, MONTGOMERY, parameter
from runner import run


@cocotb.test()
async def million(dut):
    lanes = parameter("Lanes", 1)
    products = parameter("Products", 1_000_000)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    # 88 of the 100 rows of a modulus are compared, and 7 clocks of 8 are enabled.
    await Timer(2 * int(products / lanes / 0.88 * 8 / 7 * 1.02), "ns")
    assert int(dut.count_o.value) >= products


@pytest.mark.parametrize(("width", "kind", "short_in_luts"), [(54, BARRETT, 0), (54, MONTGOMERY, 0)])
def test_rf_mod_mul(width, kind, short_in_luts):
    parameters = {"W": width, "Lanes": 4, "Kind": kind, "ShortInLuts": short_in_luts}
    run("mul_bench", parameters, __file__, optimise="-O1")
