# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The parts of the units that only compute, beside plain division, and twins beside what they stand for."""

import pytest
from modular import BARRETT, MONTGOMERY
from runner import run_bench


def check(width: int, kind: int, extra: int, sources: int, rows: int) -> None:
    parameters = {"W": width, "Kind": kind, "Extra": extra, "Sources": sources, "Rows": rows}
    run_bench("arithmetic_bench", parameters, __file__)


def test_omr_arithmetic():
    check(54, MONTGOMERY, 6, 3, 2000)


@pytest.mark.long
@pytest.mark.parametrize("kind", [BARRETT, MONTGOMERY])
@pytest.mark.parametrize("width", [27, 54, 60, 62])
def test_many_operands(width, kind):
    check(width, kind, 6, 6 if width == 54 else 1, 50_000)
