# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_spn_map routes every odd affine map of the lanes through one network."""

import cocotb
import pytest
from cocotb.triggers import Timer
from modular import parameter
from permutation import first_network, reverse_bits
from runner import run


@cocotb.test()
async def every_map(dut):
    lanes = parameter("Lanes", 16)
    bits = lanes.bit_length() - 1
    for g in range(1, lanes, 2 if lanes <= 16 else 6):
        for offset in range(lanes):
            dut.g_i.value, dut.offset_i.value = g, offset
            await Timer(1, "ns")
            # Lane l holds k = l reversed; the result's k' comes from k = g*k' + offset.
            out = first_network(range(lanes), [int(x) for x in dut.swap_o.value])
            for lane in range(lanes):
                source = (g * reverse_bits(lane, bits) + offset) % lanes
                assert out[lane] == reverse_bits(source, bits), (g, offset, lane)


@pytest.mark.parametrize("lanes", [8, pytest.param(64, marks=pytest.mark.long)])
def test_rf_spn_map(lanes):
    run("rf_spn_map", {"Lanes": lanes}, __file__)
