# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of every instruction, as the table in hw/matvec/README.md states them.

An instruction's cycles run from its issue to the issue of one that waits for it. They are the most frequent difference
between a program and the same with one more instruction: every fourth or so waits for the instruction fetch.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable

import numpy as np
import pytest

from ringforge._native import kernels
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.vector import constants
from ringforge.hw.vector.isa import Instruction, Scope, encode, slot

INPUT, OUTPUT, PROGRAM = 0x10000000, 0x20000000, 0x40000000

#: R + this many cycles for instructions that go over a polynomial once; LOAD also waits for the memory, and REDUCE
#: needs one more for each doubling of groups.
ONCE = {"AUTO": 11, "MAC": 20, "LOAD": 7, "STORE": 7, "SEND": 11, "REDUCE": 12}
#: log2 N * R + this many for transforms, and what a stage needs more where rows are few.
TRANSFORM, STAGE, FEW = 30, 27, 108


def program(sim: Simulation, log_n: int, name: str, element: int) -> list[Instruction]:
    """What an element does: one instruction, its part in an exchange, or nothing."""
    i, pes = Instruction, sim.config.pes

    def s(bank: int) -> int:
        return slot(bank, sim.config.rows(log_n))

    if name == "SEND":
        return [i.send(s(0), 2)] if element == 0 else [i.recv(s(1), 0)] if element == 1 else []
    if name == "REDUCE":
        return [i.reduce(s(1), s(0), 0)] if element % pes == 0 else []
    if element:
        return []
    return {
        "NTT": [i.ntt(s(0), s(0), slot(7, 0), 0)],
        "INTT": [i.intt(s(1), s(0), slot(7, 0), 0)],
        "AUTO": [i.auto(s(1), s(0), 5)],
        "MAC": [i.mac(s(2), s(1), 0, imm=3, c=s(2), post_add=True)],
        "LOAD": [i.load(s(0), INPUT)],
        "STORE": [i.store(s(0), OUTPUT)],
        "SYNC": [i.sync(Scope.ELEMENT)],
        "CONF": [],
    }[name]


def cycles(sim: Simulation, log_n: int, name: str) -> int:
    """What one more instruction adds to a program."""
    config, i = sim.config, Instruction
    q = kernels.primes_below(50, 1, 1 << 18)[0]
    shift, rows = config.shift(50), config.rows(log_n)
    table, out = constants.twiddles(config, q, log_n).copy(), np.zeros(1 << log_n, np.uint64)
    setup = [
        i.conf(log_n, shift),
        i.modulus(0, q << shift, constants.multiplier_constant(config, q)),
        i.load(slot(7, 0), INPUT),
        *(i.load(slot(bank, rows), INPUT) for bank in range(3)),
    ]
    idle = i.conf(log_n, shift)  # waits for every unit

    def run(count: int) -> int:
        programs = []
        for element in range(config.elements):
            step = program(sim, log_n, name, element)
            busy = bool(step) or (name == "CONF" and element == 0)
            programs.append(encode([*(setup if busy else []), *([idle, *step] * count if busy else []), i.end()]))
        words, stride = place_programs(programs)
        sim.unmap_all()
        sim.map(INPUT, table)
        sim.map(OUTPUT, out)
        sim.map(PROGRAM, words)
        return sim.run(PROGRAM, stride, limit=1_000_000)

    times = [run(count) for count in range(1, 10)]
    return statistics.mode(after - before for before, after in itertools.pairwise(times))


@pytest.mark.parametrize("log_n", [8, 11])
@pytest.mark.parametrize("name", ["NTT", "INTT", *ONCE])
def test_cycles_of_an_instruction(machines: Callable[[str], Simulation], name: str, log_n: int) -> None:
    sim = machines("matvec-small")
    sim.reset()
    config = sim.config
    rows = config.rows(log_n)
    idle = cycles(sim, log_n, "CONF")
    if name in ONCE:
        expected = rows + ONCE[name]
        expected += config.dram_latency if name == "LOAD" else 0
        expected += (config.groups - 1).bit_length() if name == "REDUCE" else 0
    else:
        expected = log_n * rows + TRANSFORM + (STAGE * (log_n - 1) if rows < FEW else 0)
    assert cycles(sim, log_n, name) - idle == expected
