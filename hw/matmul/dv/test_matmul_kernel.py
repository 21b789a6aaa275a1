# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel that `ringforge hw package` writes, through its pins: two clocks, ports of 256 bits, buffers somewhere.

As test_matmul_top.py, whose programs it runs: what the machine stores must be what the interpreter computes, and
nothing else may change. Near and far memory are buffers of their own, at addresses of their own.
"""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRamRead, AxiRamWrite
from cocotbext.axi.sparse_memory import SparseMemory
from runner import BUILD, run
from test_matmul_top import ABORTED, BUS, DONE, ERROR, LOG, PORTS_ONLY, SHAPE, Bench, Job, Port, machine

from ringforge.hw.core import package
from ringforge.hw.core.machine import machine as descriptor
from ringforge.hw.core.registers import Register, field

#: Where the buffers of near and of far memory are on the card.
NEAR, FAR = 0x12_3456_7000, 0x800_0000_1000
#: Clocks of memory and machine, in picoseconds: 450 and 300 MHz beside 350 MHz, and a slow memory.
CLOCKS = ((2222, 2858), (3334, 2858), (9998, 2858))


class Reads(AxiRamRead):
    """Memory behind a port's read channels, `base` further up than the machine has it."""

    port: Port
    base: int

    async def _read(self, address, length):
        self.port.check(address - self.base, length)
        return await super()._read(address - self.base, length)


class Writes(AxiRamWrite):
    port: Port
    base: int

    async def _write(self, address, data):
        self.port.check(address - self.base, len(data))
        await super()._write(address - self.base, data)


class Kernel(Bench):
    """The kernel with its clocks, the host's master and memory behind all ports."""

    def __init__(self, dut):
        self.dut, self.config, self.clocks = dut, machine(), []
        c = self.config
        near, size = c.pes * c.near_ports, c.far_base + c.far_bytes
        self.memory = SparseMemory(size)
        reset = {"reset": dut.ap_rst_n, "reset_active_level": False}
        ram = {**reset, "size": size, "mem": self.memory}
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.ap_clk, **reset)
        buses = [AxiBus.from_prefix(dut, name) for name in package.masters(c)]
        self.reads = [Reads(b.read, dut.ap_clk, **ram) for b in buses]
        self.writes = [Writes(b.write, dut.ap_clk, **ram) for b in buses]
        self.bases = [NEAR] * near + [FAR - c.far_base] * c.ports_to_far
        for n, base in enumerate(self.bases):
            own = c.segment_bytes if n < near else c.far_segment_bytes
            first = n * own if n < near else c.far_base + (n - near) * own
            self.reads[n].port, self.writes[n].port = Port(first, own), Port(first, own if n < near else 0)
            self.reads[n].base = self.writes[n].base = base

    async def restart(self, clocks: tuple[int, int]):
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
        for n, base in enumerate(self.bases):
            await self.host.write_qword(package.BASES + 8 * n, base % (1 << 64))

    async def start(self):
        if int(self.dut.interrupt.value):
            await self.write(Register.ISR, 1)
        while int(self.dut.interrupt.value):  # its fall has a clock to cross
            await RisingEdge(self.dut.ap_clk)
        await super().start()

    async def end(self) -> int:
        if not int(self.dut.interrupt.value):
            await with_timeout(RisingEdge(self.dut.interrupt), 800, "us")
        return await self.read(Register.STATUS)


@cocotb.test()
async def programs_through_the_pins(dut):
    bench = Kernel(dut)
    for seed, (clocks, share) in enumerate(zip(CLOCKS, (0.0, 0.4, 0.0), strict=True)):
        await bench.restart(clocks)
        bench.stall(share)
        assert await bench.read(Register.ID) == descriptor("matmul").identity
        await bench.run(Job(bench.config, 20 + seed))


@cocotb.test()
async def errors_and_abort(dut):
    """A bus error of any port comes through, so does an abort; the next program runs as if nothing was."""
    bench = Kernel(dut)
    await bench.restart(CLOCKS[0])
    bench.stall(0.2)
    job = Job(bench.config, 23)
    cycles = await bench.run(job)
    for side in (side for side in (*bench.reads, *bench.writes) if side.port.size):
        bench.put(job)
        side.port.fail_after = 1
        await bench.start()
        assert await bench.end() == DONE | ERROR
        assert field("ERROR", "CODE").of(await bench.read(Register.ERROR)) == BUS
        side.port.fail_after = -1
    bench.put(job)
    await bench.start()
    await ClockCycles(dut.ap_clk_2, cycles // 2)
    await bench.write(Register.COMMAND, field("COMMAND", "ABORT").mask)
    assert await bench.end() == DONE | ERROR | ABORTED
    await bench.run(job)


# Beats of 512 bits over ports of 256.
@pytest.mark.long
def test_matmul_kernel():
    config = machine()
    card = package.Card(port_bits=256, memory_hz=450e6, memory="HBM[0:31]", longest=16)
    name = package.kernel_name(config)
    top = BUILD / f"matmul_{name}.v"
    top.parent.mkdir(parents=True, exist_ok=True)
    text = package.top(descriptor("matmul"), config, card, twin=True)
    top.write_text(text.replace(f"module {name} (", f"module matmul_{name} ("))
    shape = {f"PARAM_{key}": str(value) for key, value in SHAPE.items()}
    run(f"matmul_{name}", {}, __file__, [top], build_args=PORTS_ONLY, env={**LOG, **shape})
