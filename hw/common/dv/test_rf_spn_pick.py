# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_spn_pick gives every butterfly the twiddle of its block, for all strides and all groups of a row."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from modular import check_pipeline, parameter, start_clock
from permutation import stage_outputs
from runner import run


@cocotb.test()
async def every_group(dut):
    lanes = parameter("Lanes", 8)
    rng = random.Random(1)
    cases = []
    for log_stride in range(lanes.bit_length() + 2):
        blocks = max(1, lanes >> (log_stride + 1))
        cases += [(log_stride, first, turn) for first in range(0, lanes, blocks) for turn in (0, 1)]
    rng.shuffle(cases)
    start_clock(dut)
    await FallingEdge(dut.clk_i)

    def sample():
        log_stride, first, mirrored = cases[sample.next % len(cases)]
        sample.next += 1
        data = [rng.getrandbits(54) for _ in range(lanes)]
        blocks = max(1, lanes >> (log_stride + 1))
        # Which words the butterflies see says which blocks they work on.
        words = stage_outputs([list(range(lanes))], min(1 << log_stride, lanes // 2))[0][: lanes // 2]
        wanted = [word // (2 << log_stride) for word in words]
        expected = [data[first + (blocks - 1 - b if mirrored else b)] for b in wanted]
        settings = {"log_stride_i": log_stride, "first_i": first, "mirrored_i": mirrored}
        return {**settings, "data_i": data}, {"w_o": expected}

    sample.next = 0
    await check_pipeline(dut, rng, {}, len(cases), 2, sample)


@pytest.mark.parametrize("lanes", [8, *(pytest.param(n, marks=pytest.mark.long) for n in (4, 128, 256))])
def test_rf_spn_pick(lanes):
    run("rf_spn_pick", {"Lanes": lanes}, __file__)
