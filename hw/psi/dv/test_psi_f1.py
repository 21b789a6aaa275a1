# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The machine with the published interfaces and public AXI models: keys and RLWEs through windows, a polling host."""

import itertools
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiMaster,
    AxiResp,
    AxiSlave,
    SparseMemoryRegion,
)
from psi_reference import Gadget, Ring, Rlwe, primes
from runner import run

from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register
from ringforge.hw.machines.psi.config import PsiConfig

ENTRIES = {e.name: e for e in registers.own(PsiConfig.room / "registers.json").entries}
AT = {name: e.address for name, e in ENTRIES.items()}
STATE = {f.name: f.mask for f in ENTRIES["FIFO_STATE"].fields}
IN, OUT = 1 << 34, (1 << 34) + (1 << 15)
STEP, SUBSTITUTE, INIT, PRODUCT = (op << 30 for op in range(4))
LAST = 1 << 29
KEYS, UNIT, LWE, BOUND = 0x1_0000_0000, 16384, 6, 24
CUT = Gadget(9, 3)


class Bench:
    """A machine, its host and its memory."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng, self.ring = dut, random.Random(seed), Ring(primes(27, 256)[0], 7, 27)
        Clock(dut.clk_i, 8, "ns").start()
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, **reset)
        self.host = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, **reset)
        self.memory = SparseMemoryRegion(1 << 34)
        self.ports = [
            AxiSlave(AxiBus.from_prefix(dut, f"p{p}_axi"), dut.clk_i, target=self.memory, **reset) for p in range(2)
        ]
        self.rows = [self.rlwe() for _ in range(12)]

    async def reset(self) -> None:
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def stall(self, share: float) -> None:
        """Every channel pauses in this share of the cycles."""

        def pauses(seed: int):
            rng = random.Random(seed)
            while True:
                yield rng.random() < share

        sides = [self.host, *self.ports]
        channels = [
            channel
            for side in sides
            for channel in (
                side.read_if.ar_channel, side.read_if.r_channel, side.write_if.aw_channel, side.write_if.w_channel,
                side.write_if.b_channel,
            )
        ]  # fmt: skip
        for seed, channel in zip(itertools.count(1), channels, strict=False):
            channel.set_pause_generator(pauses(seed))

    def rlwe(self) -> Rlwe:
        return self.ring.random(self.rng), self.ring.random(self.rng)

    def bytes(self, rlwe: Rlwe) -> bytes:
        return b"".join(beat.to_bytes(64, "little") for beat in self.ring.beats(rlwe))

    # ---- host ----

    async def set(self, **values: int) -> None:
        for name, value in values.items():
            await self.lite.write_dword(AT[name], value & 0xFFFFFFFF)

    async def state(self, name: str) -> bool:
        return bool(await self.lite.read_dword(AT["FIFO_STATE"]) & STATE[name])

    async def prepare(self, *, bootstrap: bool) -> None:
        """Keys through the window, settings and twiddles by registers; starts a run."""
        ring = self.ring
        for key in range(4):
            rows = self.rows[key : key + 2 * CUT.count]
            data = b"".join(map(self.bytes, rows))
            assert (await self.host.write(KEYS + key * UNIT, data)).resp == AxiResp.OKAY
            assert (await self.host.read(KEYS + key * UNIT, len(data))).data == data
        cut = CUT.log_base | CUT.count << 8
        await self.set(
            MODE=int(bootstrap), LOG_N=ring.log_n, Q=ring.q, Q_HIGH=0, BARRETT=ring.k, BARRETT_HIGH=ring.k >> 32,
            SHIFT=ring.shift, LWE=LWE, KEY_BASE=KEYS, KEY_BASE_HIGH=KEYS >> 32, GADGET_A=cut, GADGET_B=cut,
            GADGET_S=cut, BOUND_NAND=BOUND, SUBST_2=(ring.n // 4 + 1) | 3 << 12, TWIDDLE_INDEX=1,
        )  # fmt: skip
        for word in ring.table[1:]:
            await self.set(TWIDDLE=word, TWIDDLE_HIGH=0)
        await self.lite.write_dword(Register.CTRL, 1)

    async def give(self, rlwe: Rlwe) -> None:
        assert (await self.host.write(IN, self.bytes(rlwe))).resp == AxiResp.OKAY

    async def do(self, instruction: int) -> None:
        while await self.state("COMMAND"):
            pass
        await self.set(INSTRUCTION=instruction)

    async def take(self) -> bytes:
        while await self.state("OUTPUT_EMPTY"):
            pass
        answer = await self.host.read(OUT, 16 * self.ring.n)
        assert answer.resp == AxiResp.OKAY
        return answer.data

    async def end(self) -> int:
        """The error that the run ended with."""
        while await self.lite.read_dword(Register.STATUS) & 1:
            pass
        return await self.lite.read_dword(Register.ERROR) & 255

    # ---- reference ----

    def inverse(self, rlwe: Rlwe) -> Rlwe:
        return self.ring.inverse(rlwe[0]), self.ring.inverse(rlwe[1])

    def product(self, rlwe: Rlwe, key: int) -> Rlwe:
        return self.ring.product(self.inverse(rlwe), self.rows[key : key + 2 * CUT.count], CUT, CUT)


@cocotb.test()
async def rlwe_mode(dut):
    bench = Bench(dut, 1)
    await bench.reset()
    bench.stall(0.2)
    await bench.prepare(bootstrap=False)
    x, y = bench.rlwe(), bench.rlwe()
    for rlwe, instruction in ((x, PRODUCT | 1), (y, SUBSTITUTE | 2 << 26)):
        await bench.give(rlwe)
        await bench.do(instruction)
    assert await bench.take() == bench.bytes(bench.product(x, 1))
    switched = bench.ring.substitution(bench.inverse(y), bench.ring.n // 4 + 1, bench.rows[3 : 3 + CUT.count], CUT)
    assert await bench.take() == bench.bytes(switched)
    await bench.set(FINISH=0)
    assert await bench.end() == 0


@cocotb.test()
async def bootstrap_mode(dut):
    bench = Bench(dut, 2)
    await bench.reset()
    await bench.prepare(bootstrap=True)
    numbers = [5, 60, 33]
    for b in numbers:
        await bench.do(INIT | 3 << 27 | b << 17 | 2)
    for _ in numbers:
        await bench.do(STEP | LAST | 1)
    await bench.set(FINISH=0)  # waits until all results have been read
    for b in numbers:
        first = bench.ring.accumulator((b - BOUND) % (1 << LWE), LWE)
        once = bench.ring.product(first, bench.rows[2 : 2 + 2 * CUT.count], CUT, CUT)
        assert await bench.take() == bench.bytes(bench.product(once, 1))
    assert await bench.end() == 0


@cocotb.test()
async def refusals(dut):
    bench = Bench(dut, 3)
    await bench.reset()
    whole = bytes(64)
    # Without a run the FIFOs' windows are closed.
    assert (await bench.host.write(IN, whole)).resp == AxiResp.SLVERR
    assert (await bench.host.read(OUT, 256)).resp == AxiResp.SLVERR
    await bench.prepare(bootstrap=False)
    for address in (OUT, IN + (1 << 16), 1 << 35):
        assert (await bench.host.write(address, whole)).resp == AxiResp.DECERR
    for address in (IN, OUT + (1 << 15), 1 << 40):
        assert (await bench.host.read(address, 64)).resp == AxiResp.DECERR
    # Parts of a beat are dropped: the RLWE that follows is whole.
    assert (await bench.host.write(IN + 64, whole[:32])).resp == AxiResp.SLVERR
    x = bench.rlwe()
    await bench.give(x)
    await bench.do(PRODUCT)
    assert await bench.take() == bench.bytes(bench.product(x, 0))
    # A read that waits for a result ends with the run.
    reading = cocotb.start_soon(bench.host.read(OUT, 16 * bench.ring.n))
    await ClockCycles(dut.clk_i, 50)
    assert not reading.done()
    await bench.lite.write_dword(Register.COMMAND, 2)
    answer = await with_timeout(reading, 50, "us")
    assert answer.resp == AxiResp.SLVERR
    assert await bench.end() == 8
    # Nor is there a command for what windows do.
    await bench.lite.write_dword(Register.CTRL, 1)
    await bench.set(INPUT=5)
    assert await bench.end() == 3
    await bench.lite.write_dword(Register.CTRL, 1)
    await bench.give(x)
    await bench.do(PRODUCT)
    assert await bench.take() == bench.bytes(bench.product(x, 0))
    await bench.set(FINISH=0)
    assert await bench.end() == 0


@pytest.mark.long
def test_psi_f1():
    run("psi_f1_bench", {}, __file__, build_args=["-Wno-UNUSEDPARAM"], optimise="-O1")
