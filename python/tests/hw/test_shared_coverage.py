# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random programs of elements with shared ALUs meet every class of the instruction set, and are reproducible."""

from __future__ import annotations

import numpy as np

from ringforge.hw.machines.matmul.config import FameConfig
from tests.hw import shared_coverage
from tests.hw.shared_programs import SharedPrograms


def test_every_class_is_met() -> None:
    config = FameConfig.named("fame-small")
    found, classes = shared_coverage.count(config), shared_coverage.expected(config)
    assert [c for c in classes if not found[c]] == [], "no program meets these"


def test_a_seed_gives_the_same_programs() -> None:
    config = FameConfig.named("fame-small")
    one, two, other = (SharedPrograms(config, seed).encoded() for seed in (7, 7, 8))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
