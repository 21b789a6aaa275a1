# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel that `ringforge hw package` writes, through its pins: two clocks, narrow ports, a buffer somewhere.

As test_matvec_top.py, whose programs it runs: what the machine stores must be what the interpreter computes, and
nothing else may change. Host and memory are public AXI models.
"""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRamRead, AxiRamWrite
from cocotbext.axi.sparse_memory import SparseMemory
from runner import BUILD, run
from test_matvec_top import (
    BANK_ROWS,
    BITS,
    INPUTS,
    LOG,
    LOG_N,
    NOWHERE,
    OUTPUTS,
    PORTS,
    PORTS_ONLY,
    PROGRAMS,
    SIZE,
    STREAM_ROWS,
    TWIDDLE_ROWS,
    Bench,
    Job,
    machine,
    page,
)

from ringforge.hw.core import package
from ringforge.hw.core.machine import machine as descriptor
from ringforge.hw.core.registers import Register, field
from ringforge.hw.vector.isa import Instruction, encode, slot

BASE = 0x12_3456_7000  # of the buffer in the card's memory
#: Clocks of memory and machine, in picoseconds: 300 and 450 MHz beside 180 MHz, and a slow memory.
CLOCKS = ((3334, 5556), (2222, 5556), (9998, 5556))


class Reads(AxiRamRead):
    async def _read(self, address, length):
        if not BASE <= address < BASE + SIZE:
            raise ValueError(f"no memory at {address:#x}")
        return await super()._read(address - BASE, length)


class Writes(AxiRamWrite):
    async def _write(self, address, data):
        if not BASE <= address < BASE + SIZE:
            raise ValueError(f"no memory at {address:#x}")
        await super()._write(address - BASE, data)


class Kernel(Bench):
    """The kernel with its clocks, the host's master and one memory behind all ports."""

    def __init__(self, dut):
        self.dut, self.clocks = dut, []
        self.memory = SparseMemory(SIZE)
        reset = {"reset": dut.ap_rst_n, "reset_active_level": False}
        ram = {**reset, "size": SIZE, "mem": self.memory}
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.ap_clk, **reset)
        buses = [AxiBus.from_prefix(dut, f"m{n:02d}_axi") for n in range(PORTS)]
        self.reads = [Reads(b.read, dut.ap_clk, **ram) for b in buses]
        self.writes = [Writes(b.write, dut.ap_clk, **ram) for b in buses]

    async def start(self, clocks: tuple[int, int]):
        """New clocks, a reset, and what the host writes once."""
        for clock in self.clocks:
            clock.stop()
        await Timer(1, "ps")
        dut = self.dut
        self.clocks = [Clock(c, p, "ps") for c, p in zip((dut.ap_clk, dut.ap_clk_2), clocks, strict=True)]
        for clock in self.clocks:
            clock.start()
        dut.ap_rst_n.value = 0
        await ClockCycles(dut.ap_clk, 5)
        dut.ap_rst_n.value = 1
        for n in range(PORTS):
            await self.host.write_qword(package.BASES + 8 * n, BASE)
        await self.write(Register.GIE, 1)
        await self.write(Register.IER, 1)

    async def begin(self, stride: int):
        await self.write(Register.PROGRAM, PROGRAMS)
        await self.write(Register.PROGRAM_HIGH, 0)
        await self.write(Register.STRIDE, stride // 4096)
        await self.write(Register.ISR, 1)
        while int(self.dut.interrupt.value):  # its fall has a clock to cross
            await RisingEdge(self.dut.ap_clk)
        await self.write(Register.CTRL, 1)

    async def run(self, stride: int) -> int:
        await self.begin(stride)
        if not int(self.dut.interrupt.value):
            await with_timeout(RisingEdge(self.dut.interrupt), 800, "us")
        return await self.read(Register.STATUS)


@cocotb.test()
async def program_through_the_pins(dut):
    bench, config = Kernel(dut), machine()
    job = Job(config)
    expected = job.expected()
    for clocks, share in zip(CLOCKS, (0.0, 0.4, 0.0), strict=True):
        await bench.start(clocks)
        bench.stall(share)
        assert await bench.read(Register.ID) == descriptor("matvec").identity
        for k, words in enumerate(job.inputs):
            bench.memory.write(page(INPUTS, k), words.tobytes())
        bench.memory.write(OUTPUTS, bytes(len(expected)))
        stride = bench.place(job.programs)
        assert await bench.run(stride) == 2, "done, not busy, no error"
        assert bench.memory.read(OUTPUTS, len(expected)) == expected
        for k, words in enumerate(job.inputs):
            assert bench.memory.read(page(INPUTS, k), words.nbytes) == words.tobytes(), "inputs stay as they were"


@cocotb.test()
async def errors_and_abort(dut):
    """A bus error comes through, so does an abort of programs that wait; the next program runs as if nothing was."""
    bench, config = Kernel(dut), machine()
    job = Job(config)
    expected = job.expected()
    await bench.start(CLOCKS[0])
    bench.stall(0.2)
    for k, words in enumerate(job.inputs):
        bench.memory.write(page(INPUTS, k), words.tobytes())
    end, conf = encode([Instruction.end()]), Instruction.conf(LOG_N, config.shift(BITS))
    others = [end] * (config.elements - 1)
    for step in (Instruction.load(slot(0, 0), NOWHERE), Instruction.store(slot(0, 0), NOWHERE)):
        assert await bench.run(bench.place([encode([conf, step, Instruction.end()]), *others])) == 6
        assert field("ERROR", "CODE").of(await bench.read(Register.ERROR)) == 6
    waits = encode([conf, Instruction.recv(slot(0, 0), 1), Instruction.end()])
    await bench.begin(bench.place([waits, *others]))
    await ClockCycles(dut.ap_clk, 2000)
    assert await bench.read(Register.STATUS) == field("STATUS", "BUSY").mask
    await bench.write(Register.COMMAND, field("COMMAND", "ABORT").mask)
    if not int(dut.interrupt.value):
        await with_timeout(RisingEdge(dut.interrupt), 20, "us")
    assert await bench.read(Register.STATUS) & field("STATUS", "ABORTED").mask
    assert await bench.run(bench.place(job.programs)) == 2
    assert bench.memory.read(OUTPUTS, len(expected)) == expected


# Rows of 512 bits over ports of 256 and 512.
@pytest.mark.long
@pytest.mark.parametrize("port_bits", [256, 512])
def test_matvec_kernel(port_bits):
    shape = {"Groups": 1, "Pes": 2, "Lanes": 8}
    values = {f"PARAM_{key}": str(value) for key, value in shape.items()}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in values.items():
            patch.setenv(key, value)
        config = machine()
    assert (config.bank_rows, config.twiddle_rows, config.stream_rows) == (BANK_ROWS, TWIDDLE_ROWS, STREAM_ROWS)
    card = package.Card(port_bits=port_bits)
    name = f"{package.kernel_name(config)}_{port_bits}"
    top = BUILD / f"{name}.v"
    top.parent.mkdir(parents=True, exist_ok=True)
    text = package.top(descriptor("matvec"), config, card, twin=True)
    top.write_text(text.replace(f"module {package.kernel_name(config)} (", f"module {name} ("))
    run(name, {}, __file__, [top], build_args=PORTS_ONLY, env={**LOG, **values})
