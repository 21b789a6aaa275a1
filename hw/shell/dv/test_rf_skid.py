# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_skid is a queue of two words, one word per cycle, and no output depends on an input within a cycle."""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from runner import run


def outputs(dut):
    return int(dut.valid_o.value), int(dut.ready_o.value), int(dut.data_o.value)


@cocotb.test()
async def follows_a_queue(dut):
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.rst_ni.value = 0
    dut.valid_i.value = 0
    await FallingEdge(dut.clk_i)

    queue: deque[int] = deque()
    for p_valid, p_ready in [(1.0, 1.0), (0.5, 0.5), (1.0, 0.5), (0.5, 1.0), (0.8, 0.8)]:
        for _ in range(300):
            await FallingEdge(dut.clk_i)
            before = outputs(dut)
            reset = rng.random() < 0.005
            valid, ready = rng.random() < p_valid, rng.random() < p_ready
            data = rng.getrandbits(40)
            dut.rst_ni.value = not reset
            dut.valid_i.value = valid
            dut.ready_i.value = ready
            dut.data_i.value = data
            await ReadOnly()
            assert outputs(dut) == before
            assert before[:2] == (len(queue) > 0, len(queue) < 2)
            if queue:
                assert before[2] == queue[0]
            accepted = valid and len(queue) < 2
            if queue and ready:
                queue.popleft()
            if accepted:
                queue.append(data)
            if reset:
                queue.clear()
            if p_valid == p_ready == 1.0 and not reset:
                assert len(queue) == 1


def test_rf_skid():
    run("rf_skid", {"Width": 40}, __file__)
