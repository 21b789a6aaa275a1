# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_card: register accesses reach the machine and the ports' bases, resets overlap, the interrupt comes across.

Host and machine are public AXI4-Lite models at clocks of their own. The data path has benches of its own; here one
read and one write show that the bases count.
"""

import itertools
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge, Timer, with_timeout
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiLiteRamRead,
    AxiLiteRamWrite,
    AxiResp,
)
from cocotbext.axi.sparse_memory import SparseMemory
from modular import parameter
from runner import run

MISSING = 0x800  # the machine has no registers from here on
BASES = 0x1000
LOG = {"COCOTB_LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
PORTS_ONLY = ["--no-public-flat-rw", "--public-depth", "1"]
CLOCKS = [(3334, 5556), (2222, 5556), (9998, 5556), (5556, 5556)]


class Reads(AxiLiteRamRead):
    async def _read(self, address, length):
        if address >= MISSING:
            raise ValueError("no register")
        return await super()._read(address, length)


class Writes(AxiLiteRamWrite):
    async def _write(self, address, data):
        if address >= MISSING:
            raise ValueError("no register")
        await super()._write(address, data)


class Bench:
    def __init__(self, dut):
        self.dut, self.ports, self.clocks = dut, parameter("Ports", 2), []
        self.registers = SparseMemory(4096)
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            getattr(dut, f"m_axi_{name}").value = 0
        for name in ("arvalid", "rready", "awvalid", "wvalid", "bready"):
            getattr(dut, f"s_axi_{name}").value = 0
        dut.core_irq_i.value = 0
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, False)
        bus, machine = AxiLiteBus.from_prefix(dut, "m_axil"), {"size": 4096, "mem": self.registers}
        self.reads = Reads(bus.read, dut.core_clk_i, dut.core_rst_no, False, **machine)
        self.writes = Writes(bus.write, dut.core_clk_i, dut.core_rst_no, False, **machine)

    async def start(self, periods: tuple[int, int], reset_cycles: int = 3):
        dut = self.dut
        for clock in self.clocks:
            clock.stop()
        await Timer(1, "ps")
        self.clocks = [Clock(c, p, "ps") for c, p in zip((dut.clk_i, dut.core_clk_i), periods, strict=True)]
        for clock in self.clocks:
            clock.start()
        await self.reset(reset_cycles)

    async def reset(self, cycles: int):
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, cycles)
        self.dut.rst_ni.value = 1
        for level in (0, 1):
            while int(self.dut.core_rst_no.value) != level:
                await RisingEdge(self.dut.core_clk_i)
        await ClockCycles(self.dut.core_clk_i, 2)

    def stall(self, share: float):
        seeds = itertools.count(1)

        def pauses(seed: int):
            rng = random.Random(seed)
            while True:
                yield rng.random() < share

        for side in (self.reads, self.host.read_if):
            for channel in (side.ar_channel, side.r_channel):
                channel.set_pause_generator(pauses(next(seeds)))
        for side in (self.writes, self.host.write_if):
            for channel in (side.aw_channel, side.w_channel, side.b_channel):
                channel.set_pause_generator(pauses(next(seeds)))


@cocotb.test()
async def registers(dut):
    """Words written are read back, at both ends; bytes pass to the machine; errors come back."""
    bench, rng = Bench(dut), random.Random(1)
    for periods, share in zip(CLOCKS, (0.0, 0.3, 0.0, 0.6), strict=True):
        await bench.start(periods)
        bench.stall(share)
        for _ in range(12):
            address, value = 4 * rng.randrange(MISSING // 4), rng.getrandbits(32)
            await bench.host.write_dword(address, value)
            assert bench.registers.read(address, 4) == value.to_bytes(4, "little")
            assert await bench.host.read_dword(address) == value
        answer = await bench.host.write(0x103, b"\x5a")
        assert answer.resp == AxiResp.OKAY
        assert bench.registers.read(0x103, 1) == b"\x5a"
        assert (await bench.host.read(MISSING, 4)).resp == AxiResp.SLVERR
        assert (await bench.host.write(MISSING, bytes(4))).resp == AxiResp.SLVERR
        # A read beside a write: both are answered.
        write = cocotb.start_soon(bench.host.write(0x40, b"abcd"))
        assert (await bench.host.read(0x40, 4)).resp == AxiResp.OKAY
        assert (await write).resp == AxiResp.OKAY


@cocotb.test()
async def bases(dut):
    bench, rng = Bench(dut), random.Random(2)
    await bench.start(CLOCKS[0])
    values = [rng.getrandbits(64) for _ in range(bench.ports)]
    for n in range(bench.ports):
        assert await bench.host.read_qword(BASES + 8 * n) == 0
    for n, value in enumerate(values):
        await bench.host.write_qword(BASES + 8 * n, value)
    for n, value in enumerate(values):
        assert await bench.host.read_qword(BASES + 8 * n) == value & ~0xFFF
    # A part of a word, and a place behind the last port: refused, and nothing changes.
    for address, data in ((BASES + 1, b"x"), (BASES + 8 * bench.ports, bytes(4)), (0x1FFC, bytes(4))):
        assert (await bench.host.write(address, data)).resp == AxiResp.SLVERR
    assert (await bench.host.read(BASES + 8 * bench.ports, 4)).resp == AxiResp.SLVERR
    assert await bench.host.read_qword(BASES) == values[0] & ~0xFFF
    # The base counts: what the machine asks for at 0x40 is asked for there.
    for channel in ("ar", "aw"):
        await FallingEdge(dut.core_clk_i)
        getattr(dut, f"s_axi_{channel}addr").value = 0x40
        getattr(dut, f"s_axi_{channel}len").value = 0
        getattr(dut, f"s_axi_{channel}valid").value = 1
        await FallingEdge(dut.core_clk_i)
        getattr(dut, f"s_axi_{channel}valid").value = 0
        valid = getattr(dut, f"m_axi_{channel}valid")
        while not int(valid.value) & 1:
            await RisingEdge(dut.clk_i)
        assert int(getattr(dut, f"m_axi_{channel}addr").value) & (1 << 64) - 1 == (values[0] & ~0xFFF) + 0x40
    assert int(valid.value) == 1, "no other port asks"


@cocotb.test()
async def resets(dut):
    """Whatever the clocks, and however short the kernel's reset: both sides are low together, then all works."""
    bench, rng = Bench(dut), random.Random(3)
    for periods in CLOCKS:
        await bench.start(periods)
        for _ in range(3):
            await bench.host.write_qword(BASES, 0x1000)
            pending = cocotb.start_soon(bench.host.write_dword(8, rng.getrandbits(32)))
            await ClockCycles(dut.clk_i, rng.randint(1, 30))
            low = 0

            async def watch():
                nonlocal low
                while True:
                    await FallingEdge(dut.core_clk_i)
                    await ReadOnly()
                    low += not int(dut.core_rst_no.value)

            watching = cocotb.start_soon(watch())
            await bench.reset(1)
            watching.cancel()
            pending.cancel()
            assert low >= 8, "the core's side stays in reset for some of its cycles"
            # An access right after the kernel's reset waits until both sides are out of theirs.
            dut.rst_ni.value = 0
            await ClockCycles(dut.clk_i, 2)
            dut.rst_ni.value = 1
            await with_timeout(bench.host.write_dword(12, 34), 10, "us")
            assert bench.registers.read(12, 1) == b"\x22"
            assert await bench.host.read_qword(BASES) == 0
            value = rng.getrandbits(32)
            await bench.host.write_dword(4, value)
            assert await bench.host.read_dword(4) == value


@cocotb.test()
async def interrupt(dut):
    bench = Bench(dut)
    await bench.start(CLOCKS[1])
    for level in (1, 0, 1):
        await FallingEdge(dut.core_clk_i)
        dut.core_irq_i.value = level
        await with_timeout(ClockCycles(dut.clk_i, 8), 1, "us")
        assert int(dut.irq_o.value) == level


@pytest.mark.parametrize("ports", [3])
def test_rf_card(ports):
    shape = {"Ports": ports, "RowW": 128, "PortW": 64, "Rows": 8, "Slices": 0}
    run("rf_card", shape, __file__, build_args=PORTS_ONLY, env=LOG)
