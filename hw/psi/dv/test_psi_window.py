# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_window with public AXI models: memory as it is, FIFOs by whole beats in order, refusals, and closing."""

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiMaster, AxiRam, AxiResp
from runner import run

IN, OUT = 1 << 34, (1 << 34) + (1 << 15)
SIZE = 1 << 16


class Bench:
    """A window between a host, a memory and two FIFOs that stall at random."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        Clock(dut.clk_i, 10, "ns").start(start_high=False)
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.host = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, **reset)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, size=SIZE, **reset)
        self.came: list[int] = []
        self.going: list[int] = []
        dut.open_i.value = 1
        for side in (self.host, self.memory):
            for part in (side.read_if, side.write_if):
                part.log.setLevel("WARNING")
        cocotb.start_soon(self.fifos())

    async def reset(self) -> None:
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 4)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def stall(self, share: float) -> None:
        def pauses(seed: int):
            rng = random.Random(seed)
            while True:
                yield rng.random() < share

        seeds = itertools.count(1)
        for side in (self.host, self.memory):
            for channel in (
                side.read_if.ar_channel, side.read_if.r_channel, side.write_if.aw_channel, side.write_if.w_channel,
                side.write_if.b_channel,
            ):  # fmt: skip
                channel.set_pause_generator(pauses(next(seeds)))

    async def fifos(self) -> None:
        """Takes what comes and offers what goes: inputs change at falling edges, outputs are read later."""
        dut, offered = self.dut, False
        while True:
            await FallingEdge(dut.clk_i)
            dut.in_ready_i.value = ready = self.rng.random() < 0.6
            # What is offered stays until it is taken.
            offered = bool(self.going) and (offered or self.rng.random() < 0.6)
            dut.out_valid_i.value = offered
            dut.out_i.value = self.going[0] if offered else 0
            await Timer(4, "ns")
            if int(dut.rst_ni.value):
                if ready and int(dut.in_valid_o.value):
                    self.came.append(int(dut.in_o.value))
                if offered and int(dut.out_ready_o.value):
                    self.going.pop(0)
                    offered = False

    def beats(self, count: int) -> tuple[list[int], bytes]:
        words = [self.rng.getrandbits(512) for _ in range(count)]
        return words, b"".join(w.to_bytes(64, "little") for w in words)


async def begin(dut, seed: int) -> Bench:
    bench = Bench(dut, seed)
    await bench.reset()
    return bench


@cocotb.test()
async def memory_and_fifos(dut):
    bench = await begin(dut, 1)
    for share in (0.0, 0.4):
        bench.stall(share)
        for index in range(12):
            count = bench.rng.choice([1, 5, 64, 100])
            words, data = bench.beats(count)
            where = index % 3
            if where == 0:  # any bytes of memory, also parts of beats
                address, length = bench.rng.randrange(SIZE // 2), len(data) - bench.rng.randrange(60)
                assert (await bench.host.write(address, data[:length])).resp == AxiResp.OKAY
                assert bench.memory.read(address, length) == data[:length]
                assert (await bench.host.read(address, length)).data == data[:length]
            elif where == 1:
                bench.came.clear()
                assert (await bench.host.write(IN, data)).resp == AxiResp.OKAY
                assert bench.came == words
            else:
                bench.going = list(words)
                answer = await bench.host.read(OUT, len(data))
                assert (answer.resp, answer.data) == (AxiResp.OKAY, data)
                assert not bench.going
    await ClockCycles(dut.clk_i, 2)
    assert int(dut.fifo_idle_o.value)


@cocotb.test()
async def refusals(dut):
    bench = await begin(dut, 2)
    bench.stall(0.2)
    _, data = bench.beats(3)
    for address in (OUT, OUT + (1 << 15), 1 << 35, 1 << 47):
        assert (await bench.host.write(address, data)).resp == AxiResp.DECERR
    for address in (IN, OUT + (1 << 15), 1 << 35, 1 << 47):
        assert (await bench.host.read(address, 192)).resp == AxiResp.DECERR
    assert (await bench.host.write(IN + 32, data)).resp == AxiResp.SLVERR  # its first and last beat are parts
    assert len(bench.came) == 2
    assert (await bench.host.read(OUT, 32, size=5)).resp == AxiResp.SLVERR
    bench.came.clear()
    dut.open_i.value = 0
    assert (await bench.host.write(IN, data)).resp == AxiResp.SLVERR
    assert (await bench.host.read(OUT, 192)).resp == AxiResp.SLVERR
    assert not bench.came


@cocotb.test()
async def closing(dut):
    """Accesses that wait for a FIFO end soon after it closes, and the next ones are right."""
    bench = await begin(dut, 3)
    for index in range(10):
        words, data = bench.beats(40)
        bench.stall(0.3 * (index % 2))
        bench.going, bench.came = words[: bench.rng.randrange(40)], []
        access = cocotb.start_soon(bench.host.read(OUT, len(data)) if index % 3 else bench.host.write(IN, data))
        await ClockCycles(dut.clk_i, bench.rng.randrange(3, 60))
        dut.open_i.value = 0
        answer = await with_timeout(access, 20, "us")
        assert answer.resp in (AxiResp.SLVERR, AxiResp.OKAY)
        assert bench.came == words[: len(bench.came)]
        await ClockCycles(dut.clk_i, 2)
        assert int(dut.fifo_idle_o.value)
        dut.open_i.value = 1
        bench.going, bench.came = list(words), []
        assert (await bench.host.read(OUT, len(data))).data == data
        assert (await bench.host.write(IN, data)).resp == AxiResp.OKAY
        assert bench.came == words


def test_psi_window():
    run("psi_window", {}, __file__, build_args=["-Wno-UNUSEDPARAM"])
