# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_roots: the powers of every step of every level, of all lengths, from four tables of random words."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run

LATENCY = 4


@cocotb.test()
async def every_power(dut):
    starts, top, most = parameter("Starts", 8), parameter("MaxLogN", 9), parameter("Steps", 10_000)
    rng = random.Random(11)
    tables = {(s, d): [rng.getrandbits(32) for _ in range(1 << top - 1)] for s in (0, 1) for d in (0, 1)}
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for name in ("t_we_i", "re_i", "set_i", "inverse_i", "first_i"):
        getattr(dut, name).value = 0
    dut.log_n_i.value = dut.level_i.value = 2
    await FallingEdge(dut.clk_i)
    dut.t_we_i.value = 1
    for (which, inverse), table in tables.items():
        dut.t_set_i.value, dut.t_inverse_i.value = which, inverse
        for row in range(len(table) // 8):
            dut.t_index_i.value, dut.t_wdata_i.value = row, table[8 * row : 8 * row + 8]
            await FallingEdge(dut.clk_i)
    dut.t_we_i.value = 0
    # Steps of Starts odd words, and of half as many.
    steps = [
        (log_n, level, part, first)
        for log_n in range(top, 5, -1)
        for level in range(2, log_n + 1)
        for part in (starts, starts // 2)
        for first in range(0, 1 << log_n - 1, part)
    ]
    if len(steps) > most:
        steps = rng.sample(steps, most)
    due: list = []
    for step in [*steps, *[None] * LATENCY]:
        dut.re_i.value = step is not None
        if step:
            log_n, level, part, first = step
            which, inverse = rng.randrange(2), rng.randrange(2)
            dut.set_i.value, dut.inverse_i.value = which, inverse
            dut.log_n_i.value, dut.level_i.value, dut.first_i.value = log_n, level, first
            table, mask = tables[which, inverse], (1 << level - 1) - 1
            due.append([table[(first + s & mask) << log_n - level] for s in range(part)])
        else:
            due.append(None)
        await ReadOnly()
        if len(due) > LATENCY and (wanted := due.pop(0)):
            assert [int(w) for w in dut.w_o.value][: len(wanted)] == wanted
        await FallingEdge(dut.clk_i)


@pytest.mark.parametrize(("starts", "log_n"), [(8, 8), (4, 7), pytest.param(64, 16, marks=pytest.mark.long)])
def test_aes_roots(starts, log_n):
    run("aes_roots", {"Starts": starts, "MaxLogN": log_n}, __file__)
