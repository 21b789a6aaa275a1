# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_pcmul against Python integers: all its sizes, moduli that change between rows, a whole ciphertext."""

import cocotb
import pytest
from modular import BARRETT, MONTGOMERY, Modulus, parameter
from operators import check_full, check_stalls, primes_of
from runner import run


@cocotb.test()
async def stalls(dut):
    await check_stalls(dut, Modulus.multiply)


@cocotb.test(skip=parameter("Lanes", 16) != 16)
async def ciphertext(dut):
    primes = primes_of(60, 19, 1 << 17)
    await check_full(dut, Modulus.multiply, [Modulus(q, 60, 0, BARRETT) for q in primes], 16)


@pytest.mark.parametrize(
    ("lanes", "width", "kind"),
    [
        (2, 60, BARRETT),
        (2, 54, MONTGOMERY),
        *(pytest.param(lanes, 60, BARRETT, marks=pytest.mark.long) for lanes in (4, 8, 32)),
        pytest.param(4, 60, MONTGOMERY, marks=pytest.mark.long),
        pytest.param(16, 54, MONTGOMERY, marks=pytest.mark.long),
    ],
)
def test_omr_pcmul(lanes, width, kind):
    run("operator_bench", {"Lanes": lanes, "W": width, "Kind": kind}, __file__, testcase="stalls")


@pytest.mark.long
def test_pcmul_of_a_ciphertext():
    """2 x 19 limbs of 65,536 words of 60 bits through 16 lanes: 155,648 cycles and at most 200."""
    run("operator_bench", {"Lanes": 16, "W": 60, "Kind": BARRETT}, __file__, optimise="-O2")
