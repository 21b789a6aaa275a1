# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_spn_map routes every odd affine map of the lanes through one network."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from modular import parameter, start_clock
from permutation import first_network, reverse_bits
from runner import run


@cocotb.test()
async def every_map(dut):
    lanes = parameter("Lanes", 16)
    bits = lanes.bit_length() - 1
    rng = random.Random(lanes)
    start_clock(dut)
    dut.en_i.value = 1
    # All maps of few lanes; of many, extreme and drawn ones.
    elements = range(1, lanes, 2) if lanes <= 16 else [1, 3, lanes - 1, *(rng.randrange(lanes) | 1 for _ in range(4))]
    for g in elements:
        offsets = range(lanes) if lanes <= 64 else [0, 1, lanes - 1, *(rng.randrange(lanes) for _ in range(20))]
        for offset in offsets:
            dut.g_i.value, dut.offset_i.value = g, offset
            await FallingEdge(dut.clk_i)
            # Lane l holds k = l reversed; the result's k' comes from k = g*k' + offset.
            out = first_network(range(lanes), [int(x) for x in dut.swap_o.value])
            for lane in range(lanes):
                source = (g * reverse_bits(lane, bits) + offset) % lanes
                assert out[lane] == reverse_bits(source, bits), (g, offset, lane)


@pytest.mark.parametrize(
    ("lanes", "register"),
    [
        (8, 1),
        *(pytest.param(lanes, r, marks=pytest.mark.long) for lanes in (16, 32, 64, 128) for r in (0, 1)),
        (256, 1),
    ],
)
def test_rf_spn_map(lanes, register):
    run("rf_spn_map", {"Lanes": lanes, "Register": register}, __file__)
