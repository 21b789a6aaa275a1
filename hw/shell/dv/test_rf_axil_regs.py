# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_axil_regs turns every whole write into one register write and every read into one lookup, under random stalls."""

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


class Registers:
    """256 registers behind the ports; keeps what was written and checks that an answer waits unchanged."""

    def __init__(self, dut):
        self.dut = dut
        self.values = [(i * 0x9E3779B1) & 0xFFFFFFFF for i in range(256)]
        self.values[COUNTER] = 0
        self.writes: list[tuple[int, int]] = []
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
                self.values[address >> 2] = data
                self.writes.append((address, data))

    async def answer_reads(self):
        # Combinational: the data follow the address within the same cycle.
        while True:
            self.dut.rd_data_i.value = self.values[int(self.dut.rd_addr_o.value) >> 2]
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
    sent = []
    model = list(registers.values)

    async def write(count):
        for _ in range(count):
            # Up to three at once, so that the next address waits behind the one in work.
            started = []
            for _ in range(rng.randint(1, 3)):
                # The lower half is written, the upper half only read.
                address, data = 4 * rng.randrange(128), rng.getrandbits(32)
                if rng.random() < 0.2:
                    offset, length = rng.choice([(0, 1), (1, 2), (2, 2), (3, 1), (0, 3)])
                    started.append(master.init_write(address + offset, bytes(length)))
                else:
                    started.append(master.init_write(address, data.to_bytes(4, "little")))
                    sent.append((address, data))
                    model[address >> 2] = data
            for write in started:
                await write.wait()
                assert write.data.resp == AxiResp.OKAY

    async def read(count):
        for _ in range(count):
            addresses = [4 * rng.choice([COUNTER, rng.randrange(128, 255)]) for _ in range(rng.randint(1, 3))]
            started = [master.init_read(address, 4) for address in addresses]
            for address, read in zip(addresses, started, strict=True):
                await read.wait()
                assert read.data.resp == AxiResp.OKAY
                if address >> 2 != COUNTER:
                    assert int.from_bytes(read.data.data, "little") == model[address >> 2]

    for share in (0.0, 0.3, 0.7):
        for seed, channel in enumerate(channels):
            channel.set_pause_generator(stalls(seed, share))
        tasks = [cocotb.start_soon(write(40)), cocotb.start_soon(read(40))]
        for task in tasks:
            await with_timeout(task, 10, "us")
        assert registers.writes == sent
        for index in range(0, 128, 8):
            response = await with_timeout(master.read(4 * index, 4), 1, "us")
            assert int.from_bytes(response.data, "little") == model[index]


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
        assert registers.writes == [(0x40, gap)]


def test_rf_axil_regs():
    run("rf_axil_regs", {"AddrW": 10}, __file__)
