# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection end to end with its affine transform on the omr machine: the set `test`, N = 4,096, 24 + 12 primes."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge.errors import ParameterError
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.omr import sets
from ringforge.omr.detector import Detector
from ringforge.omr.engine import Engine, encode_diagonals
from ringforge.omr.kernels import AffineKernel
from ringforge.omr.plan import Plan
from tests.hw import omr_devices
from tests.omr.test_engine import SET, bulletin, engine, slots


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


def test_a_detector_refuses_a_device_when_it_starts():
    """Not when the first receiver's key is opened: a ring that it does not hold, diagonals of too many steps."""
    with pytest.raises(ParameterError, match="takes ring degree up to 4096"):
        Detector(sets.named("ringforge"), None, device="rtl:omr-small")  # type: ignore[arg-type]
    device = omr_devices.InterpretedDevice("omr-small")
    plan = Plan.make(SET)
    device.check(AffineKernel(plan.shape, 0, plan.giants))

    def refused(size: int, shards: int) -> str:
        device.config = OmrConfig.named("omr-small").model_copy(update={"dram_bytes": size << 20})
        try:
            Detector(SET, None, device=device, shards=shards)  # type: ignore[arg-type]
        except ParameterError as e:
            return str(e)
        return ""

    least = next(size for size in range(16, 1 << 14, 16) if not refused(size, plan.giants))
    assert "compute fewer giant steps at a time (more --shards)" in refused(least, 1)
    assert not refused(1 << 14, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", omr_devices.NAMES)
def test_a_bulletin_in_the_interpreter(name):
    detected(f"omrisa:{name}")


@pytest.mark.long
def test_a_bulletin_in_rtl():
    """Some minutes: 17 million cycles."""
    detected("rtl:omr-small-wide")
