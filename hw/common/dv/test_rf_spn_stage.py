# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_spn_stage brings the partners of every stride together, and the same setting puts them back."""

import cocotb
import pytest
from cocotb.triggers import Timer
from modular import parameter
from permutation import exchange, first_network, second_network, stage_outputs
from runner import run


@cocotb.test()
async def every_stride(dut):
    lanes = parameter("Lanes", 16)
    for log_stride in range(12):
        stride = 1 << log_stride
        count = 2 if stride >= lanes else 1
        rows = [[(row, lane) for lane in range(lanes)] for row in range(count)]
        settings = []
        for odd in range(count):
            dut.log_stride_i.value, dut.odd_i.value = log_stride, odd
            await Timer(1, "ns")
            assert int(dut.pair_o.value) == (count == 2)
            settings.append(([int(x) for x in dut.swap_in_o.value], [int(x) for x in dut.swap_out_o.value]))

        def network(group, settings=settings, count=count):
            middle = [first_network(row, s[0]) for row, s in zip(group, settings, strict=True)]
            if count == 2:
                middle = list(exchange(*middle))
            return [second_network(row, s[1]) for row, s in zip(middle, settings, strict=True)]

        there = network(rows)
        assert there == stage_outputs(rows, stride), f"stride {stride}"
        assert network(there) == rows, f"stride {stride} is no involution"


@pytest.mark.parametrize("lanes", [8, *(pytest.param(n, marks=pytest.mark.long) for n in (64, 128, 256))])
def test_rf_spn_stage(lanes):
    run("rf_spn_stage", {"Lanes": lanes}, __file__)
