# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection end to end with its affine transform on the omr machine: the set `test`, N = 4,096, 24 + 12 primes."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge.omr.engine import Engine, encode_diagonals
from tests.hw import omr_devices
from tests.omr.test_engine import bulletin, engine, slots


def detected(device: str) -> None:
    """Holds detection on a device against the receiver's own look, and its result against the CPU's, bit by bit."""
    cpu = engine()
    a, b, expected = bulletin(20)
    diagonals = encode_diagonals(cpu.plan, a)
    outputs = Engine(cpu.plan, cpu.key, device=device).affine(diagonals)
    for got, want in zip(outputs, cpu.affine(diagonals), strict=True):
        for part in (0, 1):
            for i in range(want.limbs):
                np.testing.assert_array_equal(got.limb(part, i), want.limb(part, i))
        assert got.log_deviation == want.log_deviation
    assert slots(cpu.range_check(cpu.subtract_b(outputs, b))) == expected


@pytest.mark.long
@pytest.mark.parametrize("name", omr_devices.NAMES)
def test_a_bulletin_in_the_interpreter(name):
    detected(f"omrisa:{name}")


@pytest.mark.long
def test_a_bulletin_in_rtl():
    """Some minutes: 17 million cycles."""
    detected("rtl:omr-small-wide")
