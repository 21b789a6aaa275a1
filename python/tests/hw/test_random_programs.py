# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random programs of all elements: the simulated machine and the interpreter leave the same memory.

A thousand of them in the long tests, some of those in the ordinary ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import decode
from tests.hw.random_programs import RandomPrograms

PROGRAMS = 0x40000000


@pytest.mark.parametrize(
    ("machine", "first", "count"),
    [
        ("matvec-small", 0, 250),
        ("matvec-small-montgomery", 700, 100),
        pytest.param("matvec-small", 0, 700, marks=pytest.mark.long),
        pytest.param("matvec-small-montgomery", 700, 300, marks=pytest.mark.long),
    ],
)
def test_random_programs(machines: Callable[[str], Simulation], machine: str, first: int, count: int) -> None:
    sim = machines(machine)
    sim.reset()
    seen: set[str] = set()
    for seed in range(first, first + count):
        case = RandomPrograms(sim.config, seed)
        programs = case.encoded()
        expected = case.memory()
        Interpreter(sim.config, expected).run(programs)
        memory = case.memory()
        image, stride = place_programs(programs)
        sim.unmap_all()
        sim.map_dram(memory)
        sim.map(PROGRAMS, image)
        sim.run(PROGRAMS, stride, limit=2_000_000)
        assert np.array_equal(case.results(memory), case.results(expected)), f"programs of seed {seed} differ"
        seen |= {i.op.name for p in programs[:1] for i in decode(p)}
    assert seen >= {"LOAD", "STORE", "STREAM", "SEND", "RECV", "REDUCE", "SYNC", "NTT", "INTT", "AUTO", "MAC"}
