# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_bank keeps its rows, reads them two cycles later, and holds the last row read; both layouts behave alike."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run


@cocotb.test()
async def follows_a_table(dut):
    lanes, rows, width = parameter("Lanes", 16), parameter("Rows", 4096), parameter("W", 54)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.re_i.value = 0

    table: list[list[int]] = [[]] * rows
    pipe: list[list[int] | None] = [None, None]  # what the next two edges bring, None for nothing new
    shown: list[int] | None = None
    reads = 0
    for cycle in range(1000):
        await FallingEdge(dut.clk_i)
        # The first pass writes every row. A row is never read in the cycle that writes it.
        write = cycle < rows or rng.random() < 0.7
        read = cycle >= rows and rng.random() < 0.7
        waddr = cycle if cycle < rows else rng.randrange(rows)
        raddr = rng.randrange(rows)
        if write and raddr == waddr:
            raddr = (raddr + 1) % rows
        row = [rng.getrandbits(width) for _ in range(lanes)]
        dut.we_i.value = write
        dut.waddr_i.value = waddr
        dut.wdata_i.value = row
        dut.re_i.value = read
        dut.raddr_i.value = raddr
        await ReadOnly()
        shown = pipe.pop(0) or shown
        if shown is not None:
            assert [int(x) for x in dut.rdata_o.value] == shown
        pipe.append(table[raddr] if read else None)
        reads += read
        if write:
            table[waddr] = row
    assert reads > 500


@pytest.mark.parametrize("packed", [1, 0])
def test_rf_bank(packed):
    run("rf_bank", {"W": 54, "Lanes": 3, "Rows": 40, "Packed": packed}, __file__)
