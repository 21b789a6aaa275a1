# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mul_montgomery, and its twin up to 62 bits, agree with plain division, at the stated latency.

A million random and extreme products at 54 bits with 12 and with 9 DSP slices, and 50,000 at seven others; at 7 bits
all products of all moduli, cut into as many tiles and words as at full width.
"""

import pytest
from modular import MONTGOMERY
from runner import run_bench


@pytest.mark.parametrize("luts", [0, 1])
def test_rf_mul_montgomery(luts):
    run_bench("mul_bench", {"W": 54, "Kind": MONTGOMERY, "ShortInLuts": luts, "Products": 1_000_000}, __file__)


@pytest.mark.long
def test_rf_mul_montgomery_widths():
    run_bench("mul_widths", {"Kind": MONTGOMERY}, __file__, build_args=["--output-split", "0"])
