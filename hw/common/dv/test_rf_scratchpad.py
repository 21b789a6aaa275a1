# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_scratchpad: every bank reads and writes in every cycle, and none disturbs another."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run


@cocotb.test()
async def banks_are_independent(dut):
    lanes, most, width, banks = (parameter(name, 0) for name in ("Lanes", "Rows", "W", "Banks"))
    rows = [parameter(f"Rows{b}", most) for b in range(banks)]
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.re_i.value = 0

    tables: list[list[list[int]]] = [[[]] * n for n in rows]
    pipes: list[list[list[int] | None]] = [[None, None] for _ in range(banks)]
    shown: list[list[int] | None] = [None] * banks
    for cycle in range(400):
        await FallingEdge(dut.clk_i)
        re = we = 0
        writes = []
        for b in range(banks):
            write = cycle < rows[b] or rng.random() < 0.8
            read = cycle >= rows[b] and rng.random() < 0.8
            waddr = cycle if cycle < rows[b] else rng.randrange(rows[b])
            raddr = rng.randrange(rows[b])
            if write and raddr == waddr:
                raddr = (raddr + 1) % rows[b]
            row = [rng.getrandbits(width) for _ in range(lanes)]
            re |= read << b
            we |= write << b
            dut.raddr_i[b].value = raddr
            dut.waddr_i[b].value = waddr
            for lane, x in enumerate(row):
                dut.wdata_i[b][lane].value = x
            pipes[b].append(tables[b][raddr] if read else None)
            if write:
                writes.append((b, waddr, row))
        dut.re_i.value = re
        dut.we_i.value = we
        await ReadOnly()
        for b in range(banks):
            shown[b] = pipes[b].pop(0) or shown[b]
            if shown[b] is not None:
                assert [int(dut.rdata_o[b][lane].value) for lane in range(lanes)] == shown[b]
        for b, waddr, row in writes:
            tables[b][waddr] = row


def test_rf_scratchpad():
    run("rf_scratchpad", {"W": 54, "Lanes": 2, "Rows": 16, "Banks": 3}, __file__)


def test_rf_scratchpad_of_unequal_banks():
    sizes = {"Rows": 16, "Rows0": 5, "Rows1": 16, "Rows2": 2}
    run("scratchpad_rows", {"W": 54, "Lanes": 2, "Banks": 3, **sizes}, __file__)
