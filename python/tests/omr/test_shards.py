# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection cut for several workers: words of `cpu`, results that are wrong, what travels."""

from __future__ import annotations

import pytest

from ringforge.devices import conformance
from ringforge.omr import check_shards, shards  # noqa: F401
from tests.scale.local import device

_KERNELS = ("BabiesKernel", "AffineKernel", "RangeCheckKernel", "CompressionKernel")


@pytest.mark.parametrize("workers", [1, 2, 3, 40])
def test_the_suite_of_devices(workers: int) -> None:
    names = []
    for name, check in conformance.checks(device(workers=workers)):
        if name.startswith(_KERNELS):
            check()
            names.append(name)
    assert len(names) > 40
