# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_fifo follows a queue, cycle by cycle: contents, count, latency and full throughput, with stalls and resets."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run


@cocotb.test()
async def follows_a_queue(dut):
    depth, width = parameter("Depth", 16), parameter("Width", 32)
    latency = 1 if depth < 128 else 3
    rng = random.Random(depth)
    # Fill, drain, stream without a stall, stall at random; each phase long enough to wrap a few times.
    phases = [(1.0, 0.1), (0.1, 1.0), (1.0, 1.0), (0.5, 0.5), (0.9, 0.7), (1.0, 0.0), (0.0, 1.0), (0.3, 0.9)]
    cycles = max(120, 3 * depth)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)

    queue: deque[tuple[int, int]] = deque()  # word and the cycle that accepted it
    now = full = streamed = 0
    for p_valid, p_ready in phases * 2:
        for _ in range(cycles):
            await FallingEdge(dut.clk_i)
            now += 1
            reset = now == 1 or rng.random() < 1 / (2 * cycles)
            valid, ready = rng.random() < p_valid, rng.random() < p_ready
            data = rng.getrandbits(width)
            dut.rst_ni.value = not reset
            dut.valid_i.value = valid
            dut.ready_i.value = ready
            dut.data_i.value = data
            await ReadOnly()
            if now > 1:
                shown = bool(queue) and now - queue[0][1] >= latency
                assert int(dut.count_o.value) == len(queue)
                assert bool(dut.ready_o.value) == (len(queue) < depth)
                assert bool(dut.valid_o.value) == shown
                if shown:
                    assert int(dut.data_o.value) == queue[0][0]
                full += len(queue) == depth
                accepted = valid and len(queue) < depth
                if shown and ready:
                    queue.popleft()
                    streamed += accepted
                if accepted:
                    queue.append((data, now))
            if reset:
                queue.clear()
    assert full > 0
    assert streamed > cycles


@pytest.mark.parametrize(("width", "depth"), [(9, 5), (70, 131)])
def test_rf_fifo(width, depth):
    run("rf_fifo", {"Width": width, "Depth": depth}, __file__)
