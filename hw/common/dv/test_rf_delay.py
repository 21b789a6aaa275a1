# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_delay delays by exactly Depth enabled clocks."""

import random

import cocotb
from modular import check_pipeline, parameter, start_clock
from runner import run


@cocotb.test()
async def delays(dut):
    width, lanes, depth = parameter("W", 54), parameter("Lanes", 1), parameter("Depth", 2)
    rng = random.Random(1)
    start_clock(dut)

    def sample():
        x = [rng.getrandbits(width) for _ in range(lanes)]
        return {"x_i": x}, {"x_o": x}

    await check_pipeline(dut, rng, {}, 100, depth, sample)


def test_rf_delay():
    run("rf_delay", {"W": 54, "Lanes": 2, "Depth": 5}, __file__)
