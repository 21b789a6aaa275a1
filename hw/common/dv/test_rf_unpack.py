# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_unpack lays rows end to end and cuts words from them: rows of 128 and 256 lanes over ports of 256 and 512 bits."""

import cocotb
import pytest
from modular import parameter
from runner import run
from stream import check_streams
from test_rf_pack import WIDTHS


@cocotb.test()
async def words(dut):
    word, row = parameter("WordW", 512), parameter("RowW", 864)
    await check_streams(dut, row, word, pad=True, rows=[4, 1, 3, 2, 1, 1, 5])


@pytest.mark.parametrize("widths", [WIDTHS[0], *(pytest.param(w, marks=pytest.mark.long) for w in WIDTHS[1:])])
def test_rf_unpack(widths):
    run("rf_unpack", {"WordW": widths[0], "RowW": widths[1]}, __file__)
