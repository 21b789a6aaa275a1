# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random programs of all elements: the simulated machine and the interpreter leave the same memory.

A thousand of them in the long tests, some of those in the ordinary ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import decode
from tests.hw.directed_programs import directed
from tests.hw.random_programs import RandomPrograms

PROGRAMS = 0x40000000


@pytest.mark.parametrize(
    ("machine", "first", "count"),
    [
        ("matvec-small", 0, 80),
        ("matvec-small-montgomery", 700, 40),
        pytest.param("matvec-small", 0, 700, marks=pytest.mark.long),
        pytest.param("matvec-small-montgomery", 700, 300, marks=pytest.mark.long),
    ],
)
def test_random_programs(machines: Callable[[str], Simulation], machine: str, first: int, count: int) -> None:
    sim = machines(machine)
    sim.reset()
    hold(sim, (RandomPrograms(sim.config, seed) for seed in range(first, first + count)))


def test_directed_programs(small: Simulation) -> None:
    """They go where random ones seldom come; `coverage.py` counts what they meet."""
    hold(small, directed(small.config))


@pytest.mark.long
@pytest.mark.parametrize("machine", ["matvec-small", "matvec-small-montgomery"])
def test_random_programs_with_real_multipliers(machine: str) -> None:
    """The tiled multipliers that are synthesised, not their twins: 8 lanes, N = 2^10, each of 300 instructions."""
    with Simulation(MatvecConfig.named(machine), twin=False) as sim:
        hold(sim, (RandomPrograms(sim.config, seed, length=300, log_n=10) for seed in range(2000, 2020)))
        sim.reset()
        hold(sim, directed(sim.config))


def hold(sim: Simulation, cases: Iterable[RandomPrograms]) -> None:
    """Runs programs on the simulated machine and by the interpreter, and compares what is stored."""
    seen: set[str] = set()
    for number, case in enumerate(cases):
        programs = case.encoded()
        expected = case.memory()
        Interpreter(sim.config, expected).run(programs)
        memory = case.memory()
        image, stride = place_programs(programs)
        sim.unmap_all()
        sim.map_dram(memory)
        sim.map(PROGRAMS, image)
        sim.run(PROGRAMS, stride, limit=2_000_000)
        assert np.array_equal(case.results(memory), case.results(expected)), f"programs number {number} differ"
        seen |= {i.op.name for p in programs[:1] for i in decode(p)}
    assert seen >= {"LOAD", "STORE", "STREAM", "SEND", "RECV", "REDUCE", "SYNC", "NTT", "INTT", "AUTO", "MAC"}
