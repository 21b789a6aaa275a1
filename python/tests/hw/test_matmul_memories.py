# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Near and far memory of the simulated matmul machine: bytes by entity, rates of their own, kinds of memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import Simulation, Traffic
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.machine import MACHINE
from ringforge.hw.machines.matmul.ports import PortMemory
from ringforge.hw.vector.isa import Instruction, encode, slot

Machines = Callable[[str], Simulation[FameConfig]]
SMALL = FameConfig.named("fame-small")
LOG_N = 11
SIZE, ROWS = SMALL.polynomial_bytes(LOG_N), SMALL.rows(LOG_N)
INPUTS, OUTPUTS, PROGRAMS = 0, 0x100000, 0x200000
ENTITIES = {"input": 1, "output": 2, "far": 3, "program": 4}


class Case:
    """Memory with inputs near and far for every element, and room for outputs."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(7)
        self.data = rng.integers(0, 1 << 50, (2, SMALL.pes, count, 1 << LOG_N), np.uint64)
        self.memory = PortMemory(SMALL)
        for element in range(SMALL.pes):
            self.memory.put(element, INPUTS, self.data[0, element], entity=ENTITIES["input"])
            self.memory.put(element, INPUTS, self.data[1, element], far=True, entity=ENTITIES["far"])
            self.memory.reserve(element, OUTPUTS, count * SIZE, entity=ENTITIES["output"])

    def run(self, sim: Simulation[FameConfig], bodies: list[list[Instruction]]) -> int:
        i = Instruction
        programs = [encode([i.conf(LOG_N, SMALL.shift(50)), *body, i.sync(0), i.end()]) for body in bodies]
        self.memory.put_programs(PROGRAMS, programs, entity=ENTITIES["program"])
        sim.unmap_all()
        sim.clear_traffic()
        self.memory.map(sim)
        return sim.run(PROGRAMS, 0, limit=1_000_000)


def loads(count: int) -> list[Instruction]:
    return [Instruction.load(slot(n % 4, 0), INPUTS + n * SIZE) for n in range(count)]


def copies(count: int) -> list[Instruction]:
    return [Instruction.copy(OUTPUTS + n * SIZE, INPUTS + n * SIZE) for n in range(count)]


def test_bytes_by_entity(machines: Machines) -> None:
    sim = machines("fame-small")
    case = Case(3)
    stores = [Instruction.store(slot(n, 0), OUTPUTS + n * SIZE) for n in range(3)]
    case.run(sim, [[*loads(3), *stores], copies(2)])
    traffic = sim.traffic(ENTITIES)
    read = traffic.pop("program").read
    assert traffic == {"input": Traffic(3 * SIZE, 0), "output": Traffic(0, 5 * SIZE), "far": Traffic(2 * SIZE, 0)}
    beats = sim.read(Register.READ_BEATS)
    assert beats * 64 == 5 * SIZE + read
    assert sim.read(Register.WRITE_BEATS) * 64 == 5 * SIZE
    for n in range(3):
        assert (case.memory.get(0, OUTPUTS + n * SIZE, LOG_N) == case.data[0, 0, n]).all()
    for n in range(2):
        assert (case.memory.get(1, OUTPUTS + n * SIZE, LOG_N) == case.data[1, 1, n]).all()


def test_every_near_port_has_a_rate_of_its_own(machines: Machines) -> None:
    """Elements do not wait for each other, and each is served at the rate of its ports."""
    sim = machines("fame-small")
    count = 30
    one, both = (Case(count).run(sim, bodies) for bodies in ([loads(count), []], [loads(count), loads(count)]))
    rate = SMALL.dram_bytes_per_second / SMALL.clock_hz / SMALL.pes  # bytes per cycle of an element
    assert 0.95 < count * SIZE / rate / one <= 1
    assert abs(both - one) <= 2


def test_far_ports_share_theirs(machines: Machines) -> None:
    sim = machines("fame-small")
    count = 24
    one, both = (Case(count).run(sim, bodies) for bodies in ([copies(count), []], [copies(count), copies(count)]))
    rate = SMALL.far_bytes_per_second / SMALL.clock_hz
    assert 0.9 < 2 * count * SIZE / rate / both <= 1
    assert 0.9 < count * SIZE / 64 / one <= 1, "a port moves 64 bytes per cycle, more than half of what all may"
    names = list(registers.own(MACHINE.room / "registers.json").counters)
    copying = sim.read(registers.counter(names.index("COPY_CYCLES")))
    assert 1.8 * both < copying <= 2 * both


def test_copies_beside_loads_and_stores(machines: Machines) -> None:
    """Nothing is lost between them, and loads wait for little more than what copies write."""
    sim = machines("fame-small")
    count = 8
    mixed = [x for pair in zip(copies(count), loads(count), strict=True) for x in pair]
    case = Case(count)
    stores = [Instruction.store(slot(n, 0), 0x180000 + n * SIZE) for n in range(4)]
    for element in range(SMALL.pes):
        case.memory.reserve(element, 0x180000, 4 * SIZE)
    case.run(sim, [[*mixed, *stores], mixed])
    for element in range(SMALL.pes):
        for n in range(count):
            assert (case.memory.get(element, OUTPUTS + n * SIZE, LOG_N) == case.data[1, element, n]).all()
    for n in range(4):
        assert (case.memory.get(0, 0x180000 + n * SIZE, LOG_N) == case.data[0, 0, count - 4 + n]).all()


@pytest.mark.parametrize("kind", ["hbm2"])
def test_near_memory_with_banks(kind: str) -> None:
    """A channel behind each port: rows that are open make bursts follow each other; refreshes cost some per cent."""
    config = SMALL.model_copy(update={"memory": kind})
    count = 30
    with Simulation(config, optimise="-O1") as sim:
        cycles = Case(count).run(sim, [loads(count), loads(count)])
    rate = SMALL.dram_bytes_per_second / SMALL.clock_hz / SMALL.pes
    assert 0.8 < count * SIZE / rate / cycles <= 1
