# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_shell_control alone: registers, runs, aborts, watchdog, interrupts, counters, before a model of a machine.

The host is a public AXI4-Lite master. The model ends, fails or waits for ever as a test wants, and says whether its
ports are idle.
"""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from modular import parameter
from runner import run

from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register

BUSY, DONE, ERROR, ABORTED, DRAINING = (f.mask for f in registers.table()["STATUS"].fields)
START, AP_DONE, AP_IDLE, AP_READY = (f.mask for f in registers.table()["CTRL"].fields)
RESET, ABORT = (f.mask for f in registers.table()["COMMAND"].fields)
FOREVER = 1 << 40


class Machine:
    """Elements that end or fail after so many cycles, ports that are idle again so many cycles after a halt."""

    def __init__(self, dut):
        self.dut = dut
        self.elements, self.ports = parameter("Elements", 5), parameter("Ports", 3)
        self.plan: list[tuple[int, int]] = [(0, 0)] * self.elements  # cycles to run; error code, or 0
        self.drain = 0  # cycles; FOREVER for a memory that does not answer
        self.bus_error = -1  # port that reports an error from the start on
        self.programs: list[int] = []
        self.starts = self.resets = self.halted = 0
        self.left: list[int] | None = None
        self.shown: tuple[int, list[int], int, int] | None = None
        for e in range(self.elements):
            dut.pc_i[e].value = 100 + e
        cocotb.start_soon(self.live())

    def idle(self) -> bool:
        return self.left is None or (self.halted >= self.drain and self.halted > 0)

    async def live(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            # What the cycle that ends now brings, then what the next one shows.
            if not int(dut.element_rst_no.value):
                if int(dut.rst_ni.value):
                    self.resets += 1
                    assert self.idle(), "reset with transfers outstanding"
                self.left = None
            elif int(dut.start_o.value):
                self.starts += 1
                self.programs = [int(dut.program_o[e].value) for e in range(self.elements)]
                self.left = [cycles for cycles, _ in self.plan]
                self.halted = 0
            elif self.left is not None:
                self.halted += int(dut.halt_o.value)
                if not self.halted:
                    self.left = [max(0, n - 1) for n in self.left]
                if not any(self.left) and not any(code for _, code in self.plan) and self.bus_error < 0:
                    self.halted = max(self.halted, self.drain, 1)  # what has ended has no transfers
            self.show()

    def show(self):
        left = self.left
        ended = [left is not None and left[e] == 0 for e in range(self.elements)]
        done = sum(1 << e for e in range(self.elements) if ended[e] and self.plan[e][1] == 0)
        errors = [self.plan[e][1] if ended[e] else 0 for e in range(self.elements)]
        idle = (1 << self.ports) - 1 if self.idle() else self.halted % 3
        bus_error = 1 << self.bus_error if left is not None and self.bus_error >= 0 else 0
        if (done, errors, idle, bus_error) != self.shown:
            self.shown = (done, errors, idle, bus_error)
            self.dut.done_i.value, self.dut.idle_i.value, self.dut.bus_error_i.value = done, idle, bus_error
            for e in range(self.elements):
                self.dut.error_i[e].value = errors[e]


class Bench:
    def __init__(self, dut):
        self.dut = dut
        Clock(dut.clk_i, 2, "ns").start(start_high=False)
        for name in ("rd_beat_i", "wr_beat_i", "rd_wait_i", "wr_wait_i", "own_wr_known_i", "own_rd_known_i"):
            getattr(dut, name).value = 0
        dut.own_rd_data_i.value = 0
        for k in range(2):
            dut.amount_i[k].value = 0
        dut.shape_i.value, dut.range_i.value = 0x36080202, 0x00030B07
        bus = AxiLiteBus.from_prefix(dut, "s_axil")
        self.host = AxiLiteMaster(bus, dut.clk_i, dut.rst_ni, reset_active_level=False)
        self.machine = Machine(dut)

    async def reset(self):
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 3)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    async def read(self, register: int) -> int:
        answer = await with_timeout(self.host.read(register, 4), 1, "us")
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def write(self, register: int, value: int):
        answer = await with_timeout(self.host.write(register, value.to_bytes(4, "little")), 1, "us")
        assert answer.resp == AxiResp.OKAY

    async def wait(self, limit: int = 2000) -> int:
        """Status once the machine is not busy."""
        for _ in range(limit):
            status = await self.read(Register.STATUS)
            if not status & BUSY:
                return status
        raise AssertionError("busy for ever")

    async def good_run(self):
        self.machine.plan, self.machine.drain, self.machine.bus_error = [(7, 0)] * self.machine.elements, 0, -1
        starts = self.machine.starts
        await self.write(Register.CTRL, START)
        assert await self.wait() == DONE
        assert self.machine.starts == starts + 1
        assert await self.read(Register.ERROR) == 0
        # The start cycle, 7 cycles of the elements.
        assert await self.read(Register.CYCLES) == 8


@cocotb.test()
async def every_register(dut):
    """What resets to what, which bytes and bits of which registers hold what is written, and what there is not."""
    bench = Bench(dut)
    await bench.reset()
    constant = {
        Register.ID: 0x54534554,
        Register.VERSION: 2,
        Register.SHAPE: 0x36080202,
        Register.RANGE: 0x00030B07,
        Register.PORTS: 0x020603,
    }
    kept = {
        Register.GIE: 1,
        Register.IER: 3,
        Register.PROGRAM: 0xFFFFF000,
        Register.PROGRAM_HIGH: 0xFFFF,
        Register.STRIDE: 0xFFFF,
    }
    kept |= {Register.WATCHDOG: 0xFFFFFFFF, Register.WATCHDOG_HIGH: 0xFFFF}
    for register in Register:
        assert await bench.read(register) == constant.get(register, AP_IDLE if register == Register.CTRL else 0)
    rng = random.Random(1)
    for register, mask in kept.items():
        value = 0
        for offset, length in [(0, 4), (1, 1), (3, 1), (0, 2), (2, 2), (0, 3), (0, 4)]:
            data = rng.randbytes(length)
            answer = await bench.host.write(register + offset, data)
            assert answer.resp == AxiResp.OKAY
            new = bytearray(value.to_bytes(4, "little"))
            new[offset : offset + length] = data
            value = int.from_bytes(new, "little") & mask
            assert await bench.read(register) == value
        await bench.write(register, 0)
    access = {e.address: e.access for e in registers.table().values()}
    for address in range(0, 0x200, 4):
        counter = 0xC0 <= address < 0xD0
        readable = address in access or counter
        answer = await bench.host.read(address, 4)
        assert answer.resp == (AxiResp.OKAY if readable else AxiResp.SLVERR), hex(address)
        if access.get(address) in ("rw", "wo"):
            continue
        for length in (4, 1):
            assert (await bench.host.write(address, bytes([255] * length))).resp == AxiResp.SLVERR, hex(address)
    for register, value in constant.items():
        assert await bench.read(register) == value
    # A command is in its byte only.
    for offset in (1, 2, 3):
        await bench.host.write(Register.CTRL + offset, b"\xff")
        await bench.host.write(Register.COMMAND + offset, b"\xff")
    assert (bench.machine.starts, bench.machine.resets) == (0, 0)


@cocotb.test()
async def own_registers(dut):
    """From 0x100 on the machine answers."""
    bench = Bench(dut)
    await bench.reset()
    dut.own_rd_known_i.value, dut.own_wr_known_i.value, dut.own_rd_data_i.value = 1, 1, 0xABCD
    assert await bench.read(0x104) == 0xABCD
    seen = []

    async def watch():
        while True:
            await FallingEdge(dut.clk_i)
            if int(dut.own_wr_valid_o.value):
                ports = (dut.own_wr_addr_o, dut.own_wr_data_o, dut.own_wr_strb_o)
                seen.append(tuple(int(p.value) for p in ports))

    cocotb.start_soon(watch())
    await bench.write(0x108, 0x12345678)
    await bench.write(Register.STRIDE, 1)
    assert seen == [(0x108, 0x12345678, 15)]


@cocotb.test()
async def programs_start_where_they_should(dut):
    """Element e's program is at PROGRAM + e * STRIDE, even when the start comes right behind the last of them."""
    bench = Bench(dut)
    await bench.reset()
    rng = random.Random(2)
    order = [Register.PROGRAM, Register.PROGRAM_HIGH, Register.STRIDE]
    for trial in range(40):
        program, stride = rng.getrandbits(48) & ~0xFFF, rng.choice([0, 1, 0xFFFF, rng.getrandbits(16)])
        values = {Register.PROGRAM: program & 0xFFFFFFFF, Register.PROGRAM_HIGH: program >> 32, Register.STRIDE: stride}
        rng.shuffle(order)
        writes = [bench.host.init_write(r, values[r].to_bytes(4, "little")) for r in order]
        writes.append(bench.host.init_write(Register.CTRL, (1).to_bytes(4, "little")))
        for write in writes:
            await with_timeout(write.wait(), 1, "us")
        assert await bench.wait() == DONE
        expected = [(program + e * (stride << 12)) % (1 << 48) for e in range(bench.machine.elements)]
        assert bench.machine.programs == expected
        assert bench.machine.starts == trial + 1


@cocotb.test()
async def interrupts(dut):
    """The line is high while an enabled cause waits; causes come only where enabled, and go where a 1 is written."""
    bench = Bench(dut)
    await bench.reset()
    for gie in (0, 1):
        for ier in range(4):
            await bench.write(Register.GIE, gie)
            await bench.write(Register.IER, ier)
            await bench.good_run()
            assert await bench.read(Register.ISR) == ier
            assert int(dut.irq_o.value) == (gie and ier != 0)
            await bench.write(Register.IER, 0)
            assert int(dut.irq_o.value) == 0
            await bench.write(Register.IER, 3)
            assert int(dut.irq_o.value) == (gie and ier != 0)
            await bench.write(Register.ISR, 1)
            assert await bench.read(Register.ISR) == ier & 2
            await bench.write(Register.ISR, 0)
            assert await bench.read(Register.ISR) == ier & 2
            await bench.write(Register.ISR, 3)
            assert (await bench.read(Register.ISR), int(dut.irq_o.value)) == (0, 0)
    # The end of a run that fails interrupts too.
    bench.machine.plan = [(FOREVER, 0)] * bench.machine.elements
    await bench.write(Register.CTRL, START)
    await bench.write(Register.COMMAND, ABORT)
    await bench.wait()
    assert int(dut.irq_o.value) == 1


@cocotb.test()
async def start_and_done_as_tools_of_cards_do(dut):
    """START reads 1 until the run has ended; DONE and READY are seen once; a start clears what was not read."""
    bench = Bench(dut)
    await bench.reset()
    bench.machine.plan = [(60, 0)] * bench.machine.elements
    await bench.write(Register.CTRL, START)
    assert await bench.read(Register.CTRL) == START
    await bench.wait()
    assert await bench.read(Register.CTRL) == AP_DONE | AP_IDLE | AP_READY
    assert await bench.read(Register.CTRL) == AP_IDLE
    await bench.good_run()
    bench.machine.plan = [(60, 0)] * bench.machine.elements
    await bench.write(Register.CTRL, START)
    assert await bench.read(Register.CTRL) == START
    # A second start while busy is ignored.
    await bench.write(Register.CTRL, START)
    await bench.wait()
    await ClockCycles(dut.clk_i, 20)
    assert (bench.machine.starts, await bench.read(Register.CTRL)) == (3, AP_DONE | AP_IDLE | AP_READY)
    assert await bench.read(Register.STATUS) == DONE


@cocotb.test()
async def runs_that_end_otherwise(dut):
    """Errors of elements and ports, watchdog, abort and reset, with memory that takes its time: all end, with their
    code, the element or port to blame, and its instructions; and the next run is as if nothing had been."""
    bench = Bench(dut)
    await bench.reset()
    machine, rng = bench.machine, random.Random(3)
    for trial in range(60):
        cause = ["element", "bus", "watchdog", "abort", "reset", "both"][trial % 6]
        machine.drain = rng.choice([0, 1, 30, rng.randrange(100)])
        machine.plan = [(rng.choice([0, 3, FOREVER]), 0) for _ in range(machine.elements)]
        who = rng.randrange(machine.elements)
        machine.plan[who] = (FOREVER, 0)
        code, blame = 0, min(e for e in range(machine.elements) if machine.plan[e][0] == FOREVER)
        if cause == "element":
            machine.plan[who], code, blame = (rng.randrange(20), rng.randint(1, 5)), None, who
            code = machine.plan[who][1]
        elif cause == "bus":
            machine.bus_error = blame = rng.randrange(machine.ports)
            code = 6
        elif cause == "watchdog":
            await bench.write(Register.WATCHDOG, limit := rng.randint(1, 80))
            code = 7
        else:
            code = 8
        resets = machine.resets
        await bench.write(Register.CTRL, START)
        if code == 8:
            await ClockCycles(dut.clk_i, rng.randrange(20))
            await bench.write(Register.COMMAND, {"abort": ABORT, "reset": RESET, "both": ABORT | RESET}[cause])
        status = await bench.wait()
        assert status == DONE | ERROR | (ABORTED if code == 8 else 0), cause
        assert await bench.read(Register.ERROR) == code | blame << 8, cause
        assert await bench.read(Register.PC) == (0 if code == 6 else 100 + blame)
        assert machine.resets == resets + 1
        if code == 7:
            assert limit + 2 <= await bench.read(Register.CYCLES) <= limit + 2 + machine.drain + machine.elements + 3
            await bench.write(Register.WATCHDOG, 0)
        await bench.good_run()
        assert machine.resets == resets + 1


@cocotb.test()
async def a_reset_while_nothing_runs(dut):
    """The elements are reset once; neither it nor an abort ends a run that there is not."""
    bench = Bench(dut)
    await bench.reset()
    for command, resets in ((ABORT, 0), (RESET, 1), (RESET | ABORT, 1)):
        before = bench.machine.resets
        await bench.write(Register.COMMAND, command)
        assert await bench.wait() == 0
        await ClockCycles(dut.clk_i, 5)
        assert bench.machine.resets == before + resets
        assert await bench.read(Register.CTRL) == AP_IDLE
    # Start right behind a reset: no run is lost, none hangs.
    for _ in range(5):
        starts = bench.machine.starts
        reset = bench.host.init_write(Register.COMMAND, bytes([RESET, 0, 0, 0]))
        start = bench.host.init_write(Register.CTRL, bytes([START, 0, 0, 0]))
        await reset.wait()
        await start.wait()
        assert await bench.wait() == DONE
        assert bench.machine.starts == starts + 1


@cocotb.test()
async def a_memory_that_never_answers(dut):
    """Then the machine drains for ever, says so, and only the reset line ends it."""
    bench = Bench(dut)
    await bench.reset()
    bench.machine.plan, bench.machine.drain = [(FOREVER, 0)] * bench.machine.elements, FOREVER
    await bench.write(Register.CTRL, START)
    assert await bench.read(Register.STATUS) == BUSY
    await bench.write(Register.COMMAND, ABORT)
    for value in (0, START, 0):
        await bench.write(Register.CTRL, value)
        await bench.write(Register.COMMAND, RESET)
        await ClockCycles(dut.clk_i, 50)
        assert await bench.read(Register.STATUS) == BUSY | ERROR | ABORTED | DRAINING
    assert (bench.machine.starts, bench.machine.resets, int(dut.halt_o.value)) == (1, 0, 1)
    await bench.reset()
    assert await bench.read(Register.STATUS) == 0
    await bench.good_run()


@cocotb.test()
async def the_first_cause_counts(dut):
    """An end and an abort in one cycle: the run has ended. What comes while draining changes no code."""
    bench = Bench(dut)
    await bench.reset()
    machine = bench.machine
    ends = set()
    for cycles in range(1, 30):
        machine.plan, machine.drain = [(cycles, 0)] * machine.elements, 0
        await bench.write(Register.CTRL, START)
        await bench.write(Register.COMMAND, ABORT)
        status = await bench.wait()
        assert status in (DONE, DONE | ERROR | ABORTED)
        assert await bench.read(Register.ERROR) & 255 == (8 if status & ERROR else 0)
        ends.add(status)
    assert len(ends) == 2
    machine.plan, machine.drain = [(3, 2), *[(FOREVER, 0)] * (machine.elements - 1)], 100
    await bench.write(Register.WATCHDOG, 20)
    await bench.write(Register.CTRL, START)
    await ClockCycles(dut.clk_i, 10)
    await bench.write(Register.COMMAND, ABORT)
    assert await bench.wait() == DONE | ERROR
    assert await bench.read(Register.ERROR) == 2
    await bench.write(Register.WATCHDOG, 0)
    await bench.good_run()


@cocotb.test()
async def resets_at_any_moment(dut):
    """The reset line in any state, and in the middle of an access: the next run is right."""
    bench = Bench(dut)
    await bench.reset()
    rng = random.Random(4)
    for trial in range(25):
        bench.machine.plan = [(rng.choice([5, FOREVER]), rng.choice([0, 0, 3])) for _ in range(bench.machine.elements)]
        bench.machine.drain = rng.randrange(40)
        bench.host.init_write(Register.WATCHDOG, bytes([9, 0, 0, 0]))
        bench.host.init_write(Register.CTRL, bytes([START, 0, 0, 0]))
        if trial % 2:
            bench.host.init_write(Register.COMMAND, bytes([ABORT, 0, 0, 0]))
        await ClockCycles(dut.clk_i, rng.randrange(1, 40))
        await bench.reset()
        assert await bench.read(Register.STATUS) == 0
        assert await bench.read(Register.WATCHDOG) == 0
        await bench.good_run()


@cocotb.test()
async def counters(dut):
    """Ones of all ports and the machine's numbers are summed during runs, and cleared by a start."""
    bench = Bench(dut)
    await bench.reset()
    machine, rng = bench.machine, random.Random(5)
    names = ("rd_beat_i", "wr_beat_i", "rd_wait_i", "wr_wait_i")
    sums = [0] * 6
    on = False

    async def events():
        running = False
        while True:
            await FallingEdge(dut.clk_i)
            # Nothing happens in the cycle of the start.
            running, busy = machine.left is not None and any(machine.left), running
            busy = busy and running
            for k, name in enumerate(names):
                value = rng.getrandbits(machine.ports) if on and busy else 0
                getattr(dut, name).value = value
                sums[k] += value.bit_count()
            for k in range(2):
                value = rng.randrange(256) if on and busy else 0
                dut.amount_i[k].value = value
                sums[4 + k] += value

    cocotb.start_soon(events())
    addresses = [
        Register.READ_BEATS,
        Register.WRITE_BEATS,
        Register.READ_WAITS,
        Register.WRITE_WAITS,
        registers.counter(0),
        registers.counter(1),
    ]
    for cycles in (50, 300):
        machine.plan, on = [(cycles, 0)] * machine.elements, True
        sums[:] = [0] * 6
        await bench.write(Register.CTRL, START)
        assert await bench.wait() == DONE
        on = False
        await ClockCycles(dut.clk_i, 5)
        assert min(sums) > cycles
        for address, total in zip(addresses, sums, strict=True):
            assert await bench.read(address) == total
            assert await bench.read(address + 4) == 0
    await bench.good_run()
    for address in addresses:
        assert await bench.read(address) == 0


def test_rf_shell_control():
    parameters = {"Id": 0x54534554, "Elements": 11, "Ports": 3, "PortBytes": 64, "Counters": 2, "AddrW": 48}
    run("rf_shell_control", parameters, __file__, build_args=["--public-depth", "1", "--no-public-flat-rw"])
