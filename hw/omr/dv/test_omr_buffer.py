# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_buffer and omr_sources: random reads and writes of all kinds against lists of words."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import parameter
from runner import run

LATENCY = 2


async def begin(dut, names: str):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for name in names.split():
        getattr(dut, name).value = 0
    await FallingEdge(dut.clk_i)


@cocotb.test()
async def wide_and_narrow(dut):
    """A read in each of nearly all cycles; data hold in the others. The row that is written is not read."""
    lanes, wide, width = parameter("Lanes", 2), parameter("Wide", 8), parameter("W", 54)
    rng = random.Random(5)
    await begin(dut, "wide_re_i wide_raddr_i wide_we_i wide_waddr_i re_i raddr_i we_i waddr_i")
    count = 1 << parameter("MaxLogN", 6)
    words = [0] * count
    draw = lambda n: [rng.randrange(1 << width) for _ in range(n)]  # noqa: E731
    dut.wide_we_i.value = 1
    for row in range(count // wide):
        words[row * wide : (row + 1) * wide] = data = draw(wide)
        dut.wide_waddr_i.value, dut.wide_wdata_i.value = row, data
        await FallingEdge(dut.clk_i)
    due: list = []
    shown = None
    for _ in range(600):
        write, read = rng.choice(("wide", "narrow", None)), rng.choice(("wide", "narrow", "narrow", None))
        size = {"wide": wide, "narrow": lanes}
        at = rng.randrange(count // size[write]) if write else 0
        written = range(at * size[write], (at + 1) * size[write]) if write else range(0)
        dut.wide_we_i.value, dut.we_i.value = write == "wide", write == "narrow"
        if write:
            data = draw(size[write])
            (dut.wide_waddr_i if write == "wide" else dut.waddr_i).value = at
            (dut.wide_wdata_i if write == "wide" else dut.wdata_i).value = data
        place = rng.randrange(count // size[read]) if read else 0
        if read and {i // wide for i in written} & {place * size[read] // wide}:
            read = None
        dut.wide_re_i.value, dut.re_i.value = read == "wide", read == "narrow"
        if read:
            (dut.wide_raddr_i if read == "wide" else dut.raddr_i).value = place
        due.append((read, words[place * size[read] : (place + 1) * size[read]]) if read else None)
        for i, word in zip(written, data if write else [], strict=True):
            words[i] = word
        await FallingEdge(dut.clk_i)
        if len(due) == LATENCY:
            shown = due.pop(0) or shown
            if shown:
                port = dut.wide_rdata_o if shown[0] == "wide" else dut.rdata_o
                assert [int(x) for x in port.value] == shown[1]


@cocotb.test()
async def runs_of_banks(dut):
    """Every first bank, with as many sources as there are behind it; writes of both ways."""
    sources, banks, lanes = parameter("Sources", 3), parameter("Banks", 8), parameter("Lanes", 2)
    rows, ways = parameter("Rows", 8), parameter("Ways", 2)
    rng = random.Random(7)
    await begin(dut, "re_i rbank_i raddr_i we_i wbank_i waddr_i")
    dut.rst_ni.value = 1
    held = {}
    for bank in range(0, banks, ways):
        for row in range(rows):
            mask = (1 << min(ways, banks - bank)) - 1
            data = [[rng.randrange(1 << 54) for _ in range(lanes)] for _ in range(ways)]
            held |= {(bank + v, row): data[v] for v in range(ways)}
            dut.we_i.value, dut.wbank_i.value, dut.waddr_i.value, dut.wdata_i.value = mask, bank, row, data
            await FallingEdge(dut.clk_i)
    dut.we_i.value = 0
    due = []
    for first in [*range(banks), *(rng.randrange(banks) for _ in range(60))]:
        there, row = min(sources, banks - first), rng.randrange(rows)
        dut.re_i.value, dut.rbank_i.value, dut.raddr_i.value = (1 << there) - 1, first, row
        due.append([held[first + s, row] for s in range(there)])
        await FallingEdge(dut.clk_i)
        if len(due) == LATENCY:
            wanted = due.pop(0)
            got = [[int(x) for x in source] for source in dut.rdata_o.value]
            assert got[: len(wanted)] == wanted


@pytest.mark.parametrize("lanes", [2, pytest.param(8, marks=pytest.mark.long)])
def test_omr_buffer(lanes):
    run("omr_buffer", {"W": 54, "Lanes": lanes, "Wide": 8, "MaxLogN": 6}, __file__, testcase="wide_and_narrow")


@pytest.mark.parametrize("sources", [3, pytest.param(1, marks=pytest.mark.long)])
def test_omr_sources(sources):
    parameters = {"W": 54, "Lanes": 2, "Rows": 8, "Banks": 8, "Sources": sources, "Ways": 2}
    run("omr_sources", parameters, __file__, testcase="runs_of_banks")
