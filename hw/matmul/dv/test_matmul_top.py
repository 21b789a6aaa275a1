# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The whole machine through its pins: a public AXI4-Lite master as the host, a public AXI4 memory behind every port.

The models are not ours, so they also hold the ports against another reading of the AXI specification; they refuse
bursts over a border of 4 KiB. Every channel of every port stalls by itself, so beats of a line come at different times.
What random programs leave in memory must be what the interpreter computes, and nothing else may change.
"""

import itertools
import random
import sys
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRamRead, AxiRamWrite
from cocotbext.axi.sparse_memory import SparseMemory
from modular import parameter
from runner import ROOT, run

from ringforge.hw.core.registers import Register
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Opcode, decode

sys.path.append(str(ROOT / "python"))  # at the end: the package itself may be another one
from tests.hw.local_bench import STRIDE, program_pieces
from tests.hw.shared_programs import SharedPrograms

SHAPE = {
    "Pes": 2, "Lanes": 8, "BankRows0": 64, "BankRows1": 16, "BankRows2": 48, "BankRows3": 32, "TwiddleRows": 32,
    "MinLogN": 6, "MaxLogN": 7, "StreamRows": 32, "NearPorts": 1, "FarPorts": 1, "SegmentLog": 20, "FarSegmentLog": 16,
}  # fmt: skip
#: Shapes of other builds.
WIDE = {**SHAPE, "Lanes": 16, "NearPorts": 2, "FarPorts": 2, "MinLogN": 7, "MaxLogN": 8}
PROGRAMS = 0x40000
LOG = {"COCOTB_LOG_LEVEL": "WARNING", "PYTHONWARNINGS": "ignore"}
# cocotb makes every signal visible, which costs compile time; the ports are enough here.
PORTS_ONLY = ["--no-public-flat-rw", "--public-depth", "1"]
DONE, ERROR, ABORTED = 2, 4, 8
BUS, WATCHDOG, ABORT = 6, 7, 8


def machine() -> FameConfig:
    """The configuration of the build under test."""
    p = {name: parameter(name, value) for name, value in SHAPE.items()}
    near, far = p["Pes"] * p["NearPorts"], p["Pes"] * p["FarPorts"]
    return FameConfig.model_validate(
        FameConfig.named("fame-small").model_dump()
        | {"name": "tiny", "multiplier": "montgomery" if parameter("Kind", 0) else "barrett"}
        | {"pes": p["Pes"], "lanes": p["Lanes"], "bank_rows": [p[f"BankRows{k}"] for k in range(4)]}
        | {"twiddle_rows": p["TwiddleRows"], "min_log_n": p["MinLogN"], "max_log_n": p["MaxLogN"]}
        | {"stream_rows": p["StreamRows"], "near_ports": p["NearPorts"], "far_ports": p["FarPorts"]}
        | {"segment_bytes": 1 << p["SegmentLog"], "far_segment_bytes": 1 << p["FarSegmentLog"]}
        | {"ports": near + far, "dram_bytes": near << p["SegmentLog"]}
    )


class Job:
    """Random programs of all elements, and what memory is before and after them."""

    def __init__(self, config: FameConfig, seed: int, length: int = 50):
        case = SharedPrograms(config, seed, length)
        self.programs = case.encoded()
        self.before, self.after = case.image(), case.image()
        Interpreter(config, self.after).run(self.programs)
        self.pieces = list(program_pieces(config, self.programs, PROGRAMS))

    @classmethod
    def with_copies(cls, config: FameConfig, seed: int) -> "Job":
        """The first one from a seed on in which all elements read far memory, so that every port has bursts."""
        jobs = (cls(config, n) for n in itertools.count(seed))
        return next(j for j in jobs if all(any(i.op is Opcode.COPY for i in decode(p)) for p in j.programs))


class Port:
    """What one port may reach, and the failure that waits for it."""

    def __init__(self, first: int, size: int):
        self.first, self.size = first, size
        self.fail_after = -1  # beats

    def check(self, address: int, length: int):
        assert address - self.first in range(self.size - length + 1), f"{address:#x} is another port's"
        self.fail_after -= self.fail_after >= 0
        if self.fail_after == 0:
            raise ValueError("no answer from here")


class Reads(AxiRamRead):
    """Memory behind a port's read channels."""

    port: Port

    async def _read(self, address, length):
        self.port.check(address, length)
        return await super()._read(address, length)


class Writes(AxiRamWrite):
    """The same for writes."""

    port: Port

    async def _write(self, address, data):
        self.port.check(address, len(data))
        await super()._write(address, data)


class Bench:
    """The machine with its clock, the host's master and memory behind all ports."""

    def __init__(self, dut):
        self.dut, self.config = dut, machine()
        c = self.config
        Clock(dut.clk_i, 4, "ns").start()
        near, far = c.pes * c.near_ports, c.pes * c.far_ports
        size = near * c.segment_bytes + far * c.far_segment_bytes
        self.memory = SparseMemory(size)
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, **reset)
        buses = [AxiBus.from_entity(dut.g_port[n]) for n in range(c.ports)]
        self.reads = [Reads(b.read, dut.clk_i, size=size, mem=self.memory, **reset) for b in buses]
        self.writes = [Writes(b.write, dut.clk_i, size=size, mem=self.memory, **reset) for b in buses]
        for n in range(c.ports):
            own = c.segment_bytes if n < near else c.far_segment_bytes
            first = n * own if n < near else near * c.segment_bytes + (n - near) * own
            self.reads[n].port = Port(first, own)
            self.writes[n].port = Port(first, own if n < near else 0)

    async def reset(self):
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def stall(self, share: float, seed: int = 1):
        """Every channel pauses in a share of the cycles, some in more than this and some in less; the host's too."""
        seeds = itertools.count(1000 * seed)
        rates = random.Random(seed)

        def pauses():
            rng, rate = random.Random(next(seeds)), share * rates.choice((0.3, 1.0, 1.2))
            while True:
                # A long silence now and then.
                for _ in range(60 if share and rng.random() < 0.005 else 0):
                    yield True
                yield rng.random() < rate

        for side in (*self.reads, self.host.read_if):
            for channel in (side.ar_channel, side.r_channel):
                channel.set_pause_generator(pauses())
        for side in (*self.writes, self.host.write_if):
            for channel in (side.aw_channel, side.w_channel, side.b_channel):
                channel.set_pause_generator(pauses())

    async def read(self, register: Register) -> int:
        return await self.host.read_dword(int(register))

    async def write(self, register: Register, value: int):
        await self.host.write_dword(int(register), value)

    def put(self, job: Job):
        """Memory as it is before the job."""
        for address, data in (*((a, d.tobytes()) for a, d in job.before.segments()), *job.pieces):
            self.memory.write(address, data)

    def hold(self, job: Job):
        """Memory is as it must be after the job."""
        for address, data in (*((a, d.tobytes()) for a, d in job.after.segments()), *job.pieces):
            assert self.memory.read(address, len(data)) == data, f"memory at {address:#x} differs"

    async def start(self):
        """Starts the programs; the interrupt line tells when they have ended."""
        await self.write(Register.GIE, 1)
        await self.write(Register.IER, 1)
        await self.write(Register.PROGRAM, PROGRAMS)
        await self.write(Register.PROGRAM_HIGH, 0)
        await self.write(Register.STRIDE, STRIDE // 4096)
        await self.write(Register.ISR, 1)
        await self.write(Register.CTRL, 1)

    async def end(self) -> int:
        """The status register, once the programs have ended."""
        if not int(self.dut.irq_o.value):
            await with_timeout(RisingEdge(self.dut.irq_o), 800, "us")
        return await self.read(Register.STATUS)

    async def run(self, job: Job) -> int:
        """Runs a job, which must go well; its cycles."""
        self.put(job)
        await self.start()
        assert await self.end() == DONE, f"error {await self.read(Register.ERROR):#x}"
        self.hold(job)
        return await self.read(Register.CYCLES)


@cocotb.test()
async def programs_through_the_pins(dut):
    """The same programs under no, some and many stalls; then others."""
    bench = Bench(dut)
    await bench.reset()
    assert await bench.read(Register.ID) == int.from_bytes(b"RFMM", "little")
    job, cycles = Job(bench.config, 1), []
    for share in (0.0, 0.3, 0.7):
        bench.stall(share)
        cycles.append(await bench.run(job))
    assert cycles[0] < cycles[1] < cycles[2]
    for seed in range(2, parameter("Seeds", 2)):
        bench.stall(0.1 * (seed % 6), seed)
        await bench.run(Job(bench.config, seed))


@cocotb.test()
async def errors_of_every_port(dut):
    """One burst that is answered with an error, at any port at any time, ends the run with its code."""
    bench = Bench(dut)
    await bench.reset()
    rng = random.Random(3)
    job = Job.with_copies(bench.config, 11)
    bench.stall(0.2)
    await bench.run(job)
    near = bench.config.pes * bench.config.near_ports
    for n, side in enumerate(side for side in (*bench.reads, *bench.writes) if side.port.size):
        bench.put(job)
        side.port.fail_after = rng.randrange(1, 8 if side in bench.reads[near:] else 30)
        await bench.start()
        assert await bench.end() == DONE | ERROR, f"port {n}"
        assert await bench.read(Register.ERROR) & 255 == BUS
        side.port.fail_after = -1
        if n % 3 == 0:
            await bench.run(job)
    await bench.run(job)


@cocotb.test()
async def ends_at_any_moment(dut):
    """Aborts, watchdogs and resets in the middle of anything leave nothing outstanding; the next run is right."""
    bench = Bench(dut)
    await bench.reset()
    job = Job(bench.config, 12)
    bench.stall(0.4)
    cycles = await bench.run(job)
    rng = random.Random(6)
    for n in range(parameter("Ends", 3)):
        bench.put(job)
        at = rng.randrange(1, cycles * 3 // 4)
        if n % 3 == 1:
            await bench.write(Register.WATCHDOG, at)
        await bench.start()
        if n % 3 == 0:
            await ClockCycles(dut.clk_i, at)
            await bench.write(Register.COMMAND, 2)
            assert await bench.end() == DONE | ERROR | ABORTED
            assert await bench.read(Register.ERROR) & 255 == ABORT
        elif n % 3 == 1:
            assert await bench.end() == DONE | ERROR
            assert await bench.read(Register.ERROR) & 255 == WATCHDOG
            await bench.write(Register.WATCHDOG, 0)
        else:
            await ClockCycles(dut.clk_i, at)
            await bench.reset()
        near = [bench.memory.read(a, d.size) for a, d in job.after.segments()]
        await ClockCycles(dut.clk_i, 200)
        assert near == [bench.memory.read(a, d.size) for a, d in job.after.segments()], "written after the end"
        if n % 2:
            await bench.run(job)
    await bench.run(job)


@pytest.mark.parametrize(
    ("kind", "twin", "shape", "more"),
    [
        (0, 1, SHAPE, {}),
        pytest.param(0, 0, SHAPE, {"Seeds": 40, "Ends": 60}, marks=pytest.mark.long),
        pytest.param(1, 0, SHAPE, {"Seeds": 30, "Ends": 30}, marks=pytest.mark.long),
        pytest.param(1, 1, WIDE, {"Seeds": 30, "Ends": 30}, marks=pytest.mark.long),
    ],
)
def test_matmul_top(kind, twin, shape, more):
    files = [Path(__file__).parent / "matmul_axi.sv"]
    counts = {f"PARAM_{name}": str(value) for name, value in more.items()}
    run("matmul_axi", {**shape, "Kind": kind, "Twin": twin}, __file__, files, build_args=PORTS_ONLY, env=LOG | counts)
