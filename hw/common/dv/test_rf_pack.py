# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_pack lays words end to end and cuts rows from them: rows of 128 and 256 lanes from ports of 256 and 512 bits."""

import cocotb
import pytest
from modular import parameter
from runner import run
from stream import check_streams


@cocotb.test()
async def rows(dut):
    word, row = parameter("WordW", 512), parameter("RowW", 864)
    await check_streams(dut, word, row, pad=False, rows=[4, 1, 3, 2, 1, 1, 5])


WIDTHS = [(512, 128 * 54), (512, 256 * 54), (256, 128 * 64), (256, 256 * 64), (512, 216), (37, 11), (11, 37), (64, 64)]


@pytest.mark.parametrize("widths", [WIDTHS[0], *(pytest.param(w, marks=pytest.mark.long) for w in WIDTHS[1:])])
def test_rf_pack(widths):
    run("rf_pack", {"WordW": widths[0], "RowW": widths[1]}, __file__)
