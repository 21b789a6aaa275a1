# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_powers: values of X^r, X^r - 1 and scalars at every position, both degrees, with pauses."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import check_pipeline, parameter
from negacyclic import reverse
from wide_bench import Ring, run

LATENCY = 4


@cocotb.test()
async def factors(dut):
    lanes, max_log_n, width = parameter("Lanes", 4), parameter("MaxLogN", 7), parameter("W", 27)
    rng = random.Random(3)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.en_i.value, dut.we_i.value = 0, 0
    for log_n, shift in ((max_log_n, 0), (max_log_n - 1, 5), (max_log_n, 2)):
        ring = Ring(width, max_log_n, log_n, shift)
        await FallingEdge(dut.clk_i)
        await ring.load_powers(dut)
        scalar = rng.randrange(ring.q)
        bits = (ring.n // (2 * lanes)).bit_length() - 1

        def sample(ring=ring, scalar=scalar, bits=bits):
            line, upper, times = rng.randrange(1 << bits), rng.getrandbits(1), rng.randrange(3)
            power = rng.choice((0, 1, ring.n, 2 * ring.n - 1, rng.randrange(2 * ring.n)))
            first = (2 * line + upper) * lanes
            values = [ring.factor(first + lane, power) for lane in range(lanes)]
            values = [values, [(v - 1) % ring.q for v in values], [scalar] * lanes][times]
            inputs = {"line_i": reverse(line, bits), "upper_i": upper, "times_i": times, "power_i": power}
            return inputs, {"factor_o": values}

        constants = {"short_i": ring.short, "q_i": ring.q, "scalar_i": scalar}
        await check_pipeline(dut, rng, constants, 400, LATENCY, sample)
        dut.en_i.value = 0


@pytest.mark.parametrize(("lanes", "max_log_n", "width"), [(4, 7, 27), pytest.param(2, 6, 54, marks=pytest.mark.long)])
def test_psi_wide_powers(lanes, max_log_n, width):
    run("psi_wide_powers", {"Lanes": lanes, "MaxLogN": max_log_n, "W": width}, __file__)
