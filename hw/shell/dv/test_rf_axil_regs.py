# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_axil_regs turns every write into one register write, byte by byte, every read into one lookup, under stalls."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from runner import run


def stalls(seed: int, share: float):
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


COUNTER = 255  # this register counts clocks
UNKNOWN = range(100, 110)  # there are none here


def merged(old: int, data: int, strobes: int) -> int:
    mask = sum(0xFF << 8 * b for b in range(4) if strobes >> b & 1)
    return old & ~mask | data & mask


class Registers:
    """256 registers behind the ports; keeps what was written and checks that an answer waits unchanged."""

    def __init__(self, dut):
        self.dut = dut
        self.values = [(i * 0x9E3779B1) & 0xFFFFFFFF for i in range(256)]
        self.values[COUNTER] = 0
        self.writes: list[tuple[int, int, int]] = []
        self.reads: list[int] = []
        cocotb.start_soon(self.take_writes())
        cocotb.start_soon(self.answer_reads())

    async def take_writes(self):
        held = None
        while True:
            await FallingEdge(self.dut.clk_i)
            self.values[COUNTER] += 1
            if held is not None and int(self.dut.rst_ni.value):
                assert int(self.dut.s_axil_rvalid.value)
                assert int(self.dut.s_axil_rdata.value) == held
            waits = int(self.dut.s_axil_rvalid.value) and not int(self.dut.s_axil_rready.value)
            held = int(self.dut.s_axil_rdata.value) if waits else None
            if int(self.dut.rst_ni.value) and int(self.dut.wr_valid_o.value):
                address, data = int(self.dut.wr_addr_o.value), int(self.dut.wr_data_o.value)
                strobes = int(self.dut.wr_strb_o.value)
                if address >> 2 not in UNKNOWN:
                    self.values[address >> 2] = merged(self.values[address >> 2], data, strobes)
                self.writes.append((address, data, strobes))
            if int(self.dut.rst_ni.value) and int(self.dut.rd_valid_o.value):
                self.reads.append(int(self.dut.rd_addr_o.value))

    async def answer_reads(self):
        # Combinational: the data follow the address within the same cycle.
        while True:
            self.dut.rd_data_i.value = self.values[int(self.dut.rd_addr_o.value) >> 2]
            self.dut.rd_known_i.value = int(self.dut.rd_addr_o.value) >> 2 not in UNKNOWN
            self.dut.wr_known_i.value = int(self.dut.wr_addr_o.value) >> 2 not in UNKNOWN
            await Timer(100, "ps")


async def start(dut):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.rst_ni.value = 0
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await ClockCycles(dut.clk_i, 3)
    dut.rst_ni.value = 1
    await ClockCycles(dut.clk_i, 2)
    return master, Registers(dut)


@cocotb.test()
async def reads_and_writes(dut):
    master, registers = await start(dut)
    channels = [
        master.write_if.aw_channel,
        master.write_if.w_channel,
        master.write_if.b_channel,
        master.read_if.ar_channel,
        master.read_if.r_channel,
    ]
    rng = random.Random(1)
    sent, asked = [], []
    model = list(registers.values)

    def answer(index: int) -> AxiResp:
        return AxiResp.SLVERR if index in UNKNOWN else AxiResp.OKAY

    async def write(count):
        for _ in range(count):
            # Up to three at once, so that the next address waits behind the one in work.
            started = []
            for _ in range(rng.randint(1, 3)):
                # The lower half is written, the upper half only read.
                index, data = rng.choice([rng.randrange(128), rng.choice(UNKNOWN)]), rng.getrandbits(32)
                offset, length = rng.choice([(0, 4), (0, 4), (0, 1), (1, 2), (2, 2), (3, 1), (0, 3)])
                strobes = ((1 << length) - 1) << offset
                content = data.to_bytes(4, "little")[offset : offset + length]
                started.append((index, master.init_write(4 * index + offset, content)))
                sent.append((4 * index, data & merged(0, 0xFFFFFFFF, strobes), strobes))
                if index not in UNKNOWN:
                    model[index] = merged(model[index], data, strobes)
            for index, write in started:
                await write.wait()
                assert write.data.resp == answer(index)

    async def read(count):
        for _ in range(count):
            choices = [COUNTER, rng.randrange(128, 255), rng.choice(UNKNOWN)]
            indices = [rng.choice(choices) for _ in range(rng.randint(1, 3))]
            started = [master.init_read(4 * index + rng.choice([0, 0, 2]), 2) for index in indices]
            asked.extend(4 * index for index in indices)
            for index, read in zip(indices, started, strict=True):
                await read.wait()
                assert read.data.resp == answer(index)
                if index in UNKNOWN:
                    assert read.data.data == bytes(2)
                elif index != COUNTER:
                    at = read.data.address % 4
                    assert read.data.data == model[index].to_bytes(4, "little")[at : at + 2]

    for share in (0.0, 0.3, 0.7):
        for seed, channel in enumerate(channels):
            channel.set_pause_generator(stalls(seed, share))
        tasks = [cocotb.start_soon(write(40)), cocotb.start_soon(read(40))]
        for task in tasks:
            await with_timeout(task, 10, "us")
        # What bytes without a strobe carry means nothing.
        assert [(a, d & merged(0, 0xFFFFFFFF, s), s) for a, d, s in registers.writes] == sent
        assert registers.reads == asked
        for index in range(0, 100, 8):
            response = await with_timeout(master.read(4 * index, 4), 1, "us")
            assert int.from_bytes(response.data, "little") == model[index]
        registers.reads.clear()
        asked.clear()


@cocotb.test()
async def reset_in_the_middle(dut):
    """An access cut off by a reset leaves nothing behind: the next ones are answered, in order."""
    master, registers = await start(dut)
    for gap in range(1, 8):
        master.init_write(0x10, bytes(4))
        master.init_read(0x20, 4)
        await ClockCycles(dut.clk_i, gap)
        dut.rst_ni.value = 0
        await ClockCycles(dut.clk_i, 2)
        dut.rst_ni.value = 1
        await ClockCycles(dut.clk_i, 2)
        registers.writes.clear()
        await with_timeout(master.write_dword(0x40, gap), 1, "us")
        assert await with_timeout(master.read_dword(0x40), 1, "us") == gap
        assert registers.writes == [(0x40, gap, 15)]


def test_rf_axil_regs():
    run("rf_axil_regs", {"AddrW": 10}, __file__)
