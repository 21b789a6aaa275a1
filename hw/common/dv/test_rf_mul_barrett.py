# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mul_barrett, and its twin up to 62 bits, agree with plain division, at the stated latency.

A million random and extreme products at 54 bits, and 50,000 at seven others; at 7 bits all products of all moduli, cut
into as many tiles as at full width.
"""

import pytest
from modular import BARRETT
from runner import run_bench


def test_rf_mul_barrett():
    run_bench("mul_bench", {"W": 54, "Kind": BARRETT, "Products": 1_000_000}, __file__)


@pytest.mark.long
def test_rf_mul_barrett_widths():
    run_bench("mul_widths", {"Kind": BARRETT}, __file__, build_args=["--output-split", "0"])
