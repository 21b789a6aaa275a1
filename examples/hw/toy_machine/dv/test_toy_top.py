# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The toy machine through its pins: public AXI models, random stalls; sums are Python's, and no more is written."""

import itertools
import json
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from modular import parameter
from runner import run

from ringforge.hw.core.registers import Register

ROOM = Path(__file__).parents[1]
OWN = {r["name"]: int(r["address"], 16) for r in json.loads((ROOM / "registers.json").read_text())["registers"]}
LEFT, RIGHT, RESULT, SIZE = 0x1000, 0x4000, 0x8000, 0x10000
MODULUS = (1 << 50) - 27


class Bench:
    """The machine with its clock, a host and a memory."""

    def __init__(self, dut):
        self.dut = dut
        Clock(dut.clk_i, 4, "ns").start()
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, **reset)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, size=SIZE, **reset)

    async def reset(self):
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)
        await self.host.write_dword(Register.GIE, 1)
        await self.host.write_dword(Register.IER, 1)

    def stall(self, share: float):
        """Every channel of the memory pauses in this share of the cycles."""

        def pauses(seed: int):
            rng = random.Random(seed)
            while True:
                yield rng.random() < share

        reads, writes = self.memory.read_if, self.memory.write_if
        channels = (reads.ar_channel, reads.r_channel, writes.aw_channel, writes.w_channel, writes.b_channel)
        for seed, channel in zip(itertools.count(1), channels, strict=False):
            channel.set_pause_generator(pauses(seed))

    async def add(self, beats: int) -> int:
        """Runs once and returns the status."""
        for name, value in (("LEFT", LEFT), ("RIGHT", RIGHT), ("RESULT", RESULT), ("MODULUS", MODULUS)):
            await self.host.write_dword(OWN[name], value & 0xFFFFFFFF)
            await self.host.write_dword(OWN[name] + 4, value >> 32)
        await self.host.write_dword(OWN["BEATS"], beats)
        await self.host.write_dword(Register.ISR, 1)
        await self.host.write_dword(Register.CTRL, 1)
        if not int(self.dut.irq_o.value):
            await with_timeout(RisingEdge(self.dut.irq_o), 100, "us")
        return await self.host.read_dword(Register.STATUS)


@cocotb.test()
async def sums(dut):
    bench, lanes, rng = Bench(dut), parameter("Lanes", 8), random.Random(1)
    await bench.reset()
    for beats, stall in ((1, 0.0), (31, 0.3), (32, 0.6), (64, 0.0), (77, 0.2)):
        bench.stall(stall)
        left, right = ([rng.randrange(MODULUS) for _ in range(beats * lanes)] for _ in range(2))
        for address, values in ((LEFT, left), (RIGHT, right)):
            bench.memory.write(address, b"".join(v.to_bytes(8, "little") for v in values))
        bench.memory.write(RESULT, b"\xee" * (SIZE - RESULT))
        assert await bench.add(beats) == 0b10
        expected = b"".join(((a + b) % MODULUS).to_bytes(8, "little") for a, b in zip(left, right, strict=True))
        assert bench.memory.read(RESULT, len(expected)) == expected
        rest = SIZE - RESULT - len(expected)
        assert bench.memory.read(RESULT + len(expected), rest) == b"\xee" * rest


@cocotb.test()
async def refusals(dut):
    bench = Bench(dut)
    await bench.reset()
    assert await bench.host.read_dword(Register.ID) == int.from_bytes(b"RFTY", "little")
    assert await bench.add(0) == 0b110
    assert await bench.host.read_dword(Register.ERROR) & 255 == 1
    assert await bench.add(2) == 0b10
    # Registers of its own take whole words only.
    answer = await bench.host.write(OWN["BEATS"], b"\x05")
    assert int(answer.resp) == 2
    assert await bench.host.read_dword(OWN["BEATS"]) == 2


def test_toy_top():
    # The runner gives every bench the packages of all libraries, of which this machine uses the shell's.
    arguments = ["-Wno-UNUSEDPARAM", "--no-public-flat-rw", "--public-depth", "1"]
    run("toy_top", {"Lanes": 8, "BurstBeats": 32}, __file__, build_args=arguments)
