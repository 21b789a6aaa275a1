# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The whole machine through its pins: a public AXI4-Lite master as the host, a public AXI4 memory behind both ports.

The models are not ours, so they also hold the ports against another reading of the AXI specification. Every channel
stalls at random. What the machine stores must be what the interpreter computes, and nothing else may change.
"""

import itertools
import random
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRamRead, AxiRamWrite
from cocotbext.axi.sparse_memory import SparseMemory
from modular import parameter
from runner import run

from ringforge._native import kernels
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import place_programs
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import constants
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, Scope, encode, slot

PORTS, BANK_ROWS, TWIDDLE_ROWS, MIN_LOG_N, MAX_LOG_N, STREAM_ROWS = 2, 32, 32, 6, 7, 32
INPUTS, OUTPUTS, PROGRAMS, NOWHERE = 0x10000, 0x40000, 0x80000, 0x100000
SIZE = NOWHERE
LOG_N, BITS = 6, 50
LOG = {"COCOTB_LOG_LEVEL": "WARNING", "PYTHONWARNINGS": "ignore"}
# cocotb makes every signal visible, which costs compile time; the ports are enough here.
PORTS_ONLY = ["--no-public-flat-rw", "--public-depth", "1"]


def machine() -> MatvecConfig:
    """The configuration of the build under test, for the interpreter."""
    return MatvecConfig.model_validate(
        MatvecConfig.named("matvec-small").model_dump()
        | {"name": "tiny", "multiplier": "montgomery" if parameter("Kind", 0) else "barrett"}
        | {"groups": parameter("Groups", 1), "pes": parameter("Pes", 2), "lanes": parameter("Lanes", 8), "ports": PORTS}
        | {"bank_rows": BANK_ROWS, "twiddle_rows": TWIDDLE_ROWS, "stream_rows": STREAM_ROWS}
        | {"min_log_n": MIN_LOG_N, "max_log_n": MAX_LOG_N}
    )


def page(base: int, index: int) -> int:
    return base + 4096 * index


class Job:
    """Programs for all elements, their inputs, and what must be in memory afterwards."""

    def __init__(self, config: MatvecConfig):
        self.config, self.rows = config, config.rows(LOG_N)
        q = kernels.primes_below(BITS, 1, 1 << 18)[0]
        rng = np.random.default_rng(1)
        n = 1 << LOG_N
        self.inputs = [constants.twiddles(config, q, LOG_N).copy()]
        for _ in range(config.elements):
            data, key = (rng.integers(0, q, n, dtype=np.uint64) for _ in range(2))
            self.inputs += [data, constants.multiplier(config, key, q).copy()]
        self.programs = [encode(self.program(e, q)) for e in range(config.elements)]
        self.dram = Dram(SIZE)
        for k, words in enumerate(self.inputs):
            self.dram.map(page(INPUTS, k), words.copy())
        self.dram.reserve(OUTPUTS, 4096 * 4 * config.elements)

    def program(self, element: int, q: int) -> list[Instruction]:
        """LOAD, NTT, MAC with a streamed multiplier, an exchange over the bus, REDUCE, INTT, and a STORE of each."""
        i, shift, s = Instruction, self.config.shift(BITS), lambda b, k: slot(b, k * self.rows)
        # Every element sends to the next one of its group; the first sends first.
        pe, pes = element % self.config.pes, self.config.pes
        send, recv = i.send(s(2, 0), 1 << (pe + 1) % pes), i.recv(s(1, 1), (pe - 1) % pes)
        table, out = slot(7, 0), lambda k: page(OUTPUTS, 4 * element + k)
        return [
            i.conf(LOG_N, shift),
            i.modulus(3, q << shift, constants.multiplier_constant(self.config, q)),
            i.stream(page(INPUTS, 2 + 2 * element)),
            i.load(table, page(INPUTS, 0)),
            i.load(s(0, 0), page(INPUTS, 1 + 2 * element)),
            i.ntt(s(1, 0), s(0, 0), table, 3),
            i.store(s(1, 0), out(0)),
            i.mac(s(2, 0), s(1, 0), 3, stream=True, c=s(0, 0), post_add=True),
            i.store(s(2, 0), out(1)),
            *([send, recv] if pe == 0 else [recv, send]),
            i.reduce(s(0, 1), s(1, 1), 3),
            i.store(s(0, 1), out(2)),
            i.intt(s(0, 1), s(0, 1), table, 3),
            i.store(s(0, 1), out(3)),
            i.sync(Scope.MACHINE),
            i.end(),
        ]

    def expected(self) -> bytes:
        """Memory from OUTPUTS on, as the interpreter leaves it."""
        Interpreter(self.config, self.dram).run(self.programs)
        return next(x for x in self.dram if x.address == OUTPUTS).words.tobytes()


class Reads(AxiRamRead):
    """A memory that answers with an error where there is none."""

    async def _read(self, address, length):
        if address >= SIZE:
            raise ValueError(f"no memory at {address:#x}")
        return await super()._read(address, length)


class Writes(AxiRamWrite):
    """The same for writes."""

    async def _write(self, address, data):
        if address >= SIZE:
            raise ValueError(f"no memory at {address:#x}")
        await super()._write(address, data)


class Bench:
    """The machine with its clock, the host's master and one memory behind both ports."""

    def __init__(self, dut):
        self.dut = dut
        Clock(dut.clk_i, 4, "ns").start()
        self.memory = SparseMemory(SIZE)
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, **reset)
        buses = [AxiBus.from_prefix(dut, f"m{n}_axi") for n in range(PORTS)]
        self.reads = [Reads(b.read, dut.clk_i, size=SIZE, mem=self.memory, **reset) for b in buses]
        self.writes = [Writes(b.write, dut.clk_i, size=SIZE, mem=self.memory, **reset) for b in buses]

    async def reset(self):
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def stall(self, share: float):
        """Every channel of memory and host pauses in this share of the cycles."""
        seeds = itertools.count(1)

        def pauses(seed: int):
            rng = random.Random(seed)
            while True:
                yield rng.random() < share

        for side in (*self.reads, self.host.read_if):
            for channel in (side.ar_channel, side.r_channel):
                channel.set_pause_generator(pauses(next(seeds)))
        for side in (*self.writes, self.host.write_if):
            for channel in (side.aw_channel, side.w_channel, side.b_channel):
                channel.set_pause_generator(pauses(next(seeds)))

    async def read(self, register: Register) -> int:
        return await self.host.read_dword(int(register))

    async def write(self, register: Register, value: int):
        await self.host.write_dword(int(register), value)

    def place(self, programs: list) -> int:
        """Puts programs into memory and returns their distance."""
        words, stride = place_programs(programs)
        self.memory.write(PROGRAMS, words.tobytes())
        return stride

    async def start(self, stride: int):
        """Starts the programs; the interrupt line tells when they have ended."""
        await self.write(Register.GIE, 1)
        await self.write(Register.IER, 1)
        await self.write(Register.PROGRAM, PROGRAMS)
        await self.write(Register.PROGRAM_HIGH, 0)
        await self.write(Register.STRIDE, stride // 4096)
        await self.write(Register.ISR, 1)
        await self.write(Register.CTRL, 1)

    async def run(self, stride: int) -> int:
        """Runs the programs and returns the status register."""
        await self.start(stride)
        return await self.end()

    async def end(self) -> int:
        """The status register, once the programs have ended."""
        if not int(self.dut.irq_o.value):
            await with_timeout(RisingEdge(self.dut.irq_o), 400, "us")
        return await self.read(Register.STATUS)


@cocotb.test()
async def program_through_the_pins(dut):
    bench, config = Bench(dut), machine()
    job = Job(config)
    expected = job.expected()
    await bench.reset()
    assert await bench.read(Register.ID) == int.from_bytes(b"RFMV", "little")
    shape = config.groups | config.pes << 8 | config.lanes << 16 | config.word_bits << 24
    assert await bench.read(Register.SHAPE) == shape
    for k, words in enumerate(job.inputs):
        bench.memory.write(page(INPUTS, k), words.tobytes())
    stride = bench.place(job.programs)
    cycles = []
    for share in (0.0, 0.3, 0.8):
        bench.memory.write(OUTPUTS, bytes(len(expected)))
        bench.stall(share)
        assert await bench.run(stride) == 2, "done, not busy, no error"
        assert bench.memory.read(OUTPUTS, len(expected)) == expected
        cycles.append(await bench.read(Register.CYCLES))
    assert cycles[0] < cycles[1] < cycles[2]
    for k, words in enumerate(job.inputs):
        assert bench.memory.read(page(INPUTS, k), words.nbytes) == words.tobytes(), "inputs stay as they were"


@cocotb.test()
async def memory_that_is_not_there(dut):
    """A bus error ends the run with its code; the next program runs as if nothing had been."""
    bench, config = Bench(dut), machine()
    job = Job(config)
    expected = job.expected()
    await bench.reset()
    bench.stall(0.2)
    for k, words in enumerate(job.inputs):
        bench.memory.write(page(INPUTS, k), words.tobytes())
    end = encode([Instruction.end()])
    conf = Instruction.conf(LOG_N, config.shift(BITS))
    load, store = Instruction.load(slot(0, 0), NOWHERE), Instruction.store(slot(0, 0), NOWHERE)
    for at, step in itertools.product(range(config.elements), (load, store)):
        bad = encode([conf, step, Instruction.end()])
        programs = [bad if k == at else end for k in range(config.elements)]
        assert await bench.run(bench.place(programs)) == 6, "done with an error"
        assert await bench.read(Register.ERROR) & 15 == 6
    assert await bench.run(bench.place(job.programs)) == 2
    assert bench.memory.read(OUTPUTS, len(expected)) == expected


@cocotb.test()
async def aborts_under_stalls(dut):
    """An abort in the middle of anything ends with nothing outstanding; the next run is right."""
    bench, config = Bench(dut), machine()
    job = Job(config)
    expected = job.expected()
    await bench.reset()
    for k, words in enumerate(job.inputs):
        bench.memory.write(page(INPUTS, k), words.tobytes())
    stride = bench.place(job.programs)
    bench.stall(0.5)
    rng = random.Random(6)
    for _ in range(12):
        await bench.start(stride)
        await ClockCycles(dut.clk_i, rng.randrange(1, 4000 // parameter("Lanes", 8)))  # a wide machine is done earlier
        await bench.write(Register.COMMAND, 2)
        assert await bench.end() == 14, "done, error, aborted"
        assert await bench.read(Register.ERROR) & 255 == 8
        written = bench.memory.read(OUTPUTS, len(expected))
        await ClockCycles(dut.clk_i, 100)
        assert bench.memory.read(OUTPUTS, len(expected)) == written
    bench.memory.write(OUTPUTS, bytes(len(expected)))
    assert await bench.run(stride) == 2
    assert bench.memory.read(OUTPUTS, len(expected)) == expected


# The real multipliers of one kind, the twins of the other; one group and two; two widths of the ports.
@pytest.mark.parametrize(
    ("kind", "twin", "groups", "lanes"), [(0, 0, 1, 4), pytest.param(1, 1, 2, 8, marks=pytest.mark.long)]
)
def test_matvec_top(kind, twin, groups, lanes):
    here = Path(__file__).parent
    files = [here / "matvec_axi.sv"]
    shape = {"Groups": groups, "Pes": 2, "Lanes": lanes, "BankRows": BANK_ROWS, "TwiddleRows": TWIDDLE_ROWS}
    limits = {"MinLogN": MIN_LOG_N, "MaxLogN": MAX_LOG_N, "StreamRows": STREAM_ROWS}
    run("matvec_axi", {**shape, **limits, "Kind": kind, "Twin": twin}, __file__, files, build_args=PORTS_ONLY, env=LOG)
