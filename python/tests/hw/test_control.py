# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Run control of the simulated machine: runs that are ended, refused, watched, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ringforge.errors import HardwareError
from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register, field
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, Scope, encode
from tests.hw.machine import PROGRAMS, Bench
from tests.hw.random_programs import RandomPrograms

BUSY, DONE, ERROR, ABORTED = (field("STATUS", n).mask for n in ("BUSY", "DONE", "ERROR", "ABORTED"))
RESET, ABORT = (field("COMMAND", n).mask for n in ("RESET", "ABORT"))
START, AP_DONE, AP_IDLE, AP_READY = (field("CTRL", n).mask for n in ("START", "DONE", "IDLE", "READY"))


class Job:
    """Random programs of all elements, with everything that they do together, and what they must leave in memory."""

    def __init__(self, sim: Simulation, seed: int) -> None:
        self.sim, self.case = sim, RandomPrograms(sim.config, seed)
        self.image, self.stride = place_programs(self.case.encoded())
        expected = self.case.memory()
        Interpreter(sim.config, expected).run(self.case.encoded())
        self.expected = self.case.results(expected)
        self.cycles = self.run()

    def start(self) -> None:
        self.memory = self.case.memory()
        self.sim.unmap_all()
        self.sim.map_dram(self.memory)
        self.sim.map(PROGRAMS, self.image)
        self.sim.start(PROGRAMS, self.stride)

    def finish(self) -> int:
        assert self.sim.advance(2_000_000)
        assert self.sim.read(Register.STATUS) == DONE
        assert np.array_equal(self.case.results(self.memory), self.expected)
        return self.sim.read(Register.CYCLES)

    def run(self) -> int:
        self.start()
        return self.finish()


@pytest.fixture
def sim(machines: Callable[[str], Simulation]) -> Simulation:
    """The small machine, freshly reset."""
    sim = machines("matvec-small")
    sim.reset()
    return sim


def end(sim: Simulation, command: int) -> None:
    """Ends the run that is on, and holds that it has ended as aborted."""
    sim.write(Register.COMMAND, command)
    assert sim.advance(20_000), "an abort ends"
    assert sim.read(Register.STATUS) == DONE | ERROR | ABORTED
    assert field("ERROR", "CODE").of(sim.read(Register.ERROR)) == 8
    with pytest.raises(HardwareError, match="aborted by the host"):
        sim.check()


@pytest.mark.parametrize("seed", [3, 11])
def test_abort_at_any_moment(sim: Simulation, seed: int) -> None:
    """The next run gives the same bits in the same cycles, without any reset from outside."""
    job = Job(sim, seed)
    rng = np.random.default_rng(seed)
    for at in [*range(1, 12, 2), *rng.integers(1, job.cycles - 20, 12)]:
        job.start()
        assert not sim.advance(int(at))
        end(sim, [ABORT, RESET, ABORT | RESET][int(at) % 3])
        assert job.run() == job.cycles


def test_abort_and_reset_under_stalls(sim: Simulation) -> None:
    """The same with a memory that withholds every second handshake, and with the reset line in turn."""
    with Simulation(sim.config, optimise="-O1", stall_percent=50, seed=7) as slow:
        job = Job(slow, 5)
        rng = np.random.default_rng(7)
        for k, at in enumerate(rng.integers(1, job.cycles // 2, 16)):
            job.start()
            assert not slow.advance(int(at))
            if k % 4 == 3:
                slow.reset()
            else:
                end(slow, ABORT)
            job.run()


def waiting(sim: Simulation) -> dict[str, Sequence[list[Instruction]]]:
    """Programs of all elements that wait for ever: for a partner, for the others, for data."""
    i, b = Instruction, Bench(sim.config, 8, 50)
    others = sim.config.elements - 2
    setup = b.setup()
    idle = [[i.end()]] * others
    return {
        "receive": [[*setup, i.recv(b.slot(0, 0), 1), i.end()], [i.end()], *idle],
        "send": [[*setup, i.send(b.slot(0, 0), 2), i.end()], [i.end()], *idle],
        "sync": [[*setup, i.sync(Scope.GROUP), i.end()], [i.end()], *idle],
        "machine": [[*setup, i.sync(Scope.MACHINE), i.end()], [i.sync(Scope.MACHINE), i.end()], *idle],
        "reduce": [[*setup, i.reduce(b.slot(0, 0), b.slot(0, 0), 0), i.end()], [i.end()], *idle],
        "stream": [[*setup, i.mac(b.slot(0, 0), b.slot(0, 0), 0, stream=True), i.end()], [i.end()], *idle],
    }


@pytest.mark.parametrize("what", ["receive", "send", "sync", "machine", "reduce", "stream"])
def test_programs_that_wait_for_ever_are_ended(sim: Simulation, what: str) -> None:
    """By the watchdog, which names the element and how far it came, and by the host."""
    bench = Bench(sim.config, 8, 50)
    words, stride = place_programs([encode(p) for p in waiting(sim)[what]])
    sim.unmap_all()
    sim.map_dram(bench.memory())
    sim.map(PROGRAMS, words)
    sim.write(Register.WATCHDOG, 5000)
    came = 8 if what in ("send", "receive", "reduce", "stream") else 7
    with pytest.raises(HardwareError, match=f"element 0, after {came} instructions: not done within the watchdog"):
        sim.run(PROGRAMS, stride, limit=50_000)
    assert sim.read(Register.STATUS) == DONE | ERROR
    assert 5000 < sim.read(Register.CYCLES) < 5100
    sim.write(Register.WATCHDOG, 0)
    sim.start(PROGRAMS, stride)
    assert not sim.advance(20_000)
    assert sim.read(Register.STATUS) == BUSY
    end(sim, ABORT)
    program = bench.everything()
    out, _ = bench.simulated(sim, program)
    assert np.array_equal(out, bench.expected(program))


def test_a_start_while_busy_is_ignored(sim: Simulation) -> None:
    job = Job(sim, 2)
    sim.reset()  # whose turn it is at a port is kept from run to run
    job.start()
    for _ in range(3):
        sim.write(Register.CTRL, START)
        assert not sim.advance(20)
        assert sim.read(Register.CTRL) == START
    assert job.finish() == job.cycles
    assert sim.read(Register.CTRL) == AP_DONE | AP_IDLE | AP_READY
    assert sim.read(Register.CTRL) == AP_IDLE


def test_every_combination_of_commands(sim: Simulation) -> None:
    """Whatever is written to CTRL and COMMAND, in whatever order, the machine comes to rest and runs again."""
    job = Job(sim, 4)
    rng = np.random.default_rng(4)
    for _ in range(16):
        job.start()
        for _ in range(int(rng.integers(1, 6))):
            sim.write([Register.CTRL, Register.COMMAND][int(rng.integers(2))], int(rng.integers(16)))
            sim.advance(int(rng.integers(0, 30)))
        while sim.read(Register.STATUS) & BUSY or not sim.advance(1000):
            sim.advance(1000)
        status = sim.read(Register.STATUS)
        assert status in (DONE, DONE | ERROR | ABORTED)
        assert job.run() == job.cycles or status == DONE


def test_counters_agree_with_memory(sim: Simulation) -> None:
    """Beats are what the simulated memory moved; elements' cycles lie between the longest program and all together."""
    job = Job(sim, 6)
    sim.clear_traffic()
    cycles = job.run()
    traffic = sim.traffic({"all": 0})["all"]
    config = sim.config
    assert sim.read(Register.PORTS) == config.ports | (config.port_bytes.bit_length() - 1) << 8 | 2 << 16
    assert sim.read(Register.READ_BEATS) * config.port_bytes == traffic.read > 0
    assert sim.read(Register.WRITE_BEATS) * config.port_bytes == traffic.written > 0
    assert sim.read(Register.READ_WAITS) >= config.dram_latency
    assert sim.read(Register.READ_BEATS) + sim.read(Register.READ_WAITS) <= cycles * config.ports
    own = registers.own(config.room / "registers.json").counters
    elements = sim.read(registers.counter(list(own).index("ELEMENT_CYCLES")))
    assert cycles - 5 <= elements <= cycles * config.elements
    assert 0 <= sim.read(registers.counter(list(own).index("BARRIER_CYCLES"))) <= cycles * config.groups
    job.start()
    end(sim, ABORT)
    assert sim.read(Register.READ_BEATS) * config.port_bytes < traffic.read


def test_nothing_is_written_after_an_abort(sim: Simulation) -> None:
    """When the run has ended, no transfer is on its way any more: memory stays as it is."""
    job = Job(sim, 8)
    for at in range(20, job.cycles - 20, max(1, job.cycles // 12)):
        job.start()
        assert not sim.advance(at)
        end(sim, ABORT)
        sim.clear_traffic()
        before = job.case.results(job.memory).copy()
        sim.write(Register.ISR, 1)
        assert not sim.advance(3000)
        traffic = sim.traffic({"all": 0})["all"]
        assert (traffic.read, traffic.written) == (0, 0)
        assert np.array_equal(job.case.results(job.memory), before)


def test_interrupts_come_where_they_are_enabled(sim: Simulation) -> None:
    bench = Bench(sim.config, 7, 50)
    _, stride = bench.load(sim, [Instruction.end()])
    for gie, ier in ((0, 1), (1, 0), (0, 0), (1, 2), (1, 1)):
        sim.write(Register.GIE, gie)
        sim.write(Register.IER, ier)
        sim.write(Register.ISR, 3)
        sim.write(Register.PROGRAM, PROGRAMS)
        sim.write(Register.STRIDE, stride // 4096)
        sim.write(Register.CTRL, START)
        assert sim.advance(5000) == bool(gie and ier)
        assert sim.read(Register.STATUS) == DONE
        assert sim.read(Register.ISR) == ier
