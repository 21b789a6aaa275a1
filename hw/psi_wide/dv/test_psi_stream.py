# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_stream_ntt and psi_stream_intt against the definition: every order of lines, both lengths, pauses, holds.

Polynomials follow each other at once or after random pauses; the clocks from one that follows at once to the next are
N / Lanes exactly, and the latency is the one of the header.
"""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import BUTTERFLY_LATENCY, parameter
from negacyclic import forward, prime, root, tables
from runner import run


class Direction:
    """One of the transforms: what it is given, and what must come out."""

    def __init__(self, dut, number: int, lanes: int):
        self.dut, self.number, self.lanes = dut, number, lanes
        self.name = ("forward", "inverse")[number]

    def lines(self, poly: list[int], eval_form: bool) -> list[list[int]]:
        n, half = len(poly), self.lanes // 2
        if eval_form:
            return [poly[i : i + self.lanes] for i in range(0, n, self.lanes)]
        return [poly[i : i + half] + poly[n // 2 + i : n // 2 + i + half] for i in range(0, n // 2, half)]

    async def feed(self, polys, gaps, rng, hold: float, latency: int):
        """Gives polynomials and compares what comes; bits of the enables and starts are ours alone."""
        enable, start = self.dut.en_i, self.dut.start_i
        bit = 1 << self.number
        given, wanted, clock, due = [], [], 0, []
        for (source, result), gap in zip(polys, gaps, strict=True):
            given += [(0, None)] * gap
            due.append(len(given) + latency)
            given += [(k == 0, line) for k, line in enumerate(self.lines(source, self.number == 1))]
            wanted.append(self.lines(result, self.number == 0))
        given += [(0, None)] * (latency + len(wanted[-1]))
        out = getattr(self.dut, f"{self.name}_o")
        taken: dict[int, list[int]] = {}
        starts = []
        while clock < len(given):
            held = rng.random() < hold
            enable.value = 0 if held else bit
            first, line = given[clock]
            start.value = bit if first else 0
            getattr(self.dut, f"{self.name}_i").value = line or [rng.randrange(1 << 20) for _ in range(self.lanes)]
            # What is shown before the edge belongs to the clock that this edge ends.
            await FallingEdge(self.dut.clk_i)
            if held:
                continue
            clock += 1
            if int(self.dut.start_o.value) & bit:
                starts.append(clock)
            taken[clock] = [int(x) for x in out.value]
        assert starts == due, f"{self.name}: first lines after clocks {starts}, not {due}"
        for at, lines in zip(due, wanted, strict=True):
            for k, line in enumerate(lines):
                assert taken[at + k] == line, f"{self.name}: line {k} of the polynomial at clock {at}"


@cocotb.test()
async def transforms(dut):
    lanes, max_log_n, width = parameter("Lanes", 4), parameter("MaxLogN", 6), parameter("W", 27)
    rng = random.Random(7)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.en_i.value, dut.start_i.value, dut.tw_we_i.value = 3, 0, 0
    for log_n, shift in ((max_log_n, 1), (max_log_n - 1, 0)):
        n = 1 << log_n
        q = prime(width - shift, max_log_n)
        psi = root(q, log_n)
        dut.rst_ni.value = 0
        dut.short_i.value = log_n < max_log_n
        dut.shift_i.value, dut.q_i.value = shift, q << shift
        dut.k_i.value = (1 << 2 * width) // (q << shift)
        for which, table in enumerate(tables(q, psi, log_n)):
            for i in range(1, n):
                dut.tw_we_i.value, dut.tw_addr_i.value, dut.tw_data_i.value = 1 << which, i, table[i]
                await FallingEdge(dut.clk_i)
        dut.tw_we_i.value = 0
        dut.rst_ni.value = 1
        polys = [[rng.choice((0, q - 1, rng.randrange(q))) for _ in range(n)] for _ in range(7)]
        pairs = [([c << shift for c in x], [v << shift for v in forward(x, q, psi)]) for x in polys]
        latency = (1 + BUTTERFLY_LATENCY) * log_n + n // lanes - 1
        for number in (0, 1):
            given = pairs if number == 0 else [(v, x) for x, v in pairs]
            gaps = [0, 0, 0, 1, 0, rng.randrange(2, n // lanes), n // lanes]
            for hold in (0.0, 0.2):
                await Direction(dut, number, lanes).feed(given, gaps, rng, hold, latency)


@pytest.mark.parametrize(
    ("lanes", "max_log_n", "width", "twin"),
    [
        (4, 5, 27, 0),
        pytest.param(8, 7, 27, 0, marks=pytest.mark.long),
        pytest.param(16, 8, 27, 1, marks=pytest.mark.long),
        pytest.param(16, 8, 54, 1, marks=pytest.mark.long),
        pytest.param(2, 5, 27, 1, marks=pytest.mark.long),
    ],
)
def test_psi_stream(lanes, max_log_n, width, twin):
    run(
        "stream_bench",
        {"Lanes": lanes, "MaxLogN": max_log_n, "W": width, "Twin": twin},
        __file__,
        build_args=["--no-public-flat-rw", "--public-depth", "1", "-Wno-UNUSEDPARAM"],
    )
