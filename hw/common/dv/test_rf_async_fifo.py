# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_async_fifo passes words in order between clocks of any ratio and phase, at full rate, with resets.

Its counts bound what is inside, and its Gray pointers change one bit at a time.
"""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer
from modular import parameter
from runner import run


class Fifo:
    """The device and the words in it."""

    def __init__(self, dut, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.width, self.depth = parameter("Width", 9), parameter("Depth", 16)
        self.inside: list[int] = []
        self.p_write = self.p_read = 0.0
        self.written = self.read = self.full = 0
        self.running = False

    async def write(self) -> None:
        dut = self.dut
        await FallingEdge(dut.wclk_i)
        gray = int(dut.wgray_q.value)
        while self.running:
            word = self.rng.getrandbits(self.width)
            dut.valid_i.value, dut.data_i.value = int(self.rng.random() < self.p_write), word
            await ReadOnly()
            assert int(dut.wcount_o.value) <= self.depth
            # Words inside, but for one that may be on the output and is counted no more.
            assert int(dut.wcount_o.value) >= len(self.inside) - 1
            change = gray ^ int(dut.wgray_q.value)
            assert change & (change - 1) == 0, "two bits of a pointer changed at once"
            gray ^= change
            ready = int(dut.ready_o.value)
            self.full += not ready
            if int(dut.valid_i.value) and ready:
                # Visible to the reader only after the edge that ends this cycle.
                self.inside.append(word)
                self.written += 1
                assert len(self.inside) <= self.depth + 1
            await FallingEdge(dut.wclk_i)
        dut.valid_i.value = 0

    async def take(self) -> None:
        dut = self.dut
        await FallingEdge(dut.rclk_i)
        while self.running:
            dut.ready_i.value = int(self.rng.random() < self.p_read)
            await ReadOnly()
            assert int(dut.rcount_o.value) <= len(self.inside)
            assert int(dut.rcount_o.value) >= int(dut.valid_o.value)
            if int(dut.valid_o.value):
                assert int(dut.data_o.value) == self.inside[0]
                if int(dut.ready_i.value):
                    self.inside.pop(0)
                    self.read += 1
            await FallingEdge(dut.rclk_i)
        dut.ready_i.value = 0

    async def reset(self, first: str) -> None:
        """Both sides, of which `first` comes out before the other."""
        dut = self.dut
        dut.wrst_ni.value = dut.rrst_ni.value = 0
        dut.valid_i.value = dut.ready_i.value = 0
        for _ in range(4):
            await FallingEdge(dut.wclk_i)
        for _ in range(4):
            await FallingEdge(dut.rclk_i)
        getattr(dut, f"{first}rst_ni").value = 1
        await Timer(self.rng.randrange(1, 40), "ns")
        dut.wrst_ni.value = dut.rrst_ni.value = 1
        self.inside.clear()

    async def phase(self, p_write: float, p_read: float, time: int) -> None:
        self.p_write, self.p_read, self.running = p_write, p_read, True
        self.written = self.read = 0
        tasks = [cocotb.start_soon(self.write()), cocotb.start_soon(self.take())]
        await Timer(time, "ns")
        self.running = False
        for task in tasks:
            await task


@cocotb.test()
async def passes_words(dut):
    rng = random.Random(5)
    fifo = Fifo(dut, rng)
    for wclk, rclk in ((10, 10), (10, 6), (6, 26), (14, 10), (10, 102)):
        clocks = [Clock(dut.wclk_i, wclk, "ns"), Clock(dut.rclk_i, rclk, "ns")]
        clocks[0].start(start_high=False)
        await Timer(rng.randrange(1, rclk), "ns")
        clocks[1].start(start_high=False)
        await fifo.reset("w" if wclk < rclk else "r")
        slow = max(wclk, rclk)
        await fifo.phase(1.0, 0.0, (fifo.depth + 8) * slow)
        assert len(fifo.inside) == fifo.depth + 1, "a FIFO that nobody reads holds Depth words and one on its output"
        await fifo.phase(0.0, 1.0, (fifo.depth + 8) * slow)
        assert not fifo.inside
        await fifo.phase(1.0, 1.0, 200 * slow)
        if fifo.depth >= 8:
            assert min(fifo.written, fifo.read) >= 190, "one word per edge of the slower clock"
        await fifo.phase(0.6, 0.5, 200 * slow)
        await fifo.phase(0.3, 0.9, 100 * slow)
        await FallingEdge(dut.wclk_i)
        for clock in clocks:
            clock.stop()
    assert fifo.full > 0


@pytest.mark.parametrize(
    ("width", "depth"),
    [(9, 8), pytest.param(5, 2, marks=pytest.mark.long), pytest.param(70, 256, marks=pytest.mark.long)],
)
def test_rf_async_fifo(width, depth):
    run("rf_async_fifo", {"Width": width, "Depth": depth}, __file__)
