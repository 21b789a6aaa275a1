# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_mul33 and aes_barrett agree with plain products and remainders, at the stated latency."""

import pytest
from runner import run_bench


def test_aes_barrett():
    run_bench("paper_mul_bench", {"Products": 200_000}, __file__)


@pytest.mark.long
def test_aes_barrett_many():
    run_bench("paper_mul_bench", {"Products": 5_000_000}, __file__, optimise="-O2")
