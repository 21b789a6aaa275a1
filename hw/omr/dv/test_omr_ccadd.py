# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_ccadd against Python integers: all its sizes, moduli that change between rows, a whole ciphertext."""

import cocotb
import pytest
from modular import BARRETT, Modulus, parameter
from operators import check_full, check_stalls, primes_of
from runner import run


def add(modulus: Modulus, a: int, b: int) -> int:
    return (a + b) % modulus.shifted


@cocotb.test()
async def stalls(dut):
    await check_stalls(dut, add)


@cocotb.test(skip=parameter("Lanes", 16) != 16)
async def ciphertext(dut):
    primes = primes_of(60, 19, 1 << 17)
    await check_full(dut, add, [Modulus(q, 60, 0, BARRETT) for q in primes], 16)


@pytest.mark.parametrize("lanes", [2, *(pytest.param(n, marks=pytest.mark.long) for n in (4, 8, 32))])
def test_omr_ccadd(lanes):
    run("operator_bench", {"Lanes": lanes, "W": 60, "Add": 1}, __file__, testcase="stalls")


@pytest.mark.long
def test_ccadd_of_a_ciphertext():
    """2 x 19 limbs of 65,536 words of 60 bits through 16 lanes: 155,648 cycles and at most 200."""
    run("operator_bench", {"Lanes": 16, "W": 60, "Add": 1}, __file__, optimise="-O2")
