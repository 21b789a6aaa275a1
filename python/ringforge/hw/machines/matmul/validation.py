# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the matmul machine held against RTL on drawn cases (`draws`).

`ringforge hw validate matmul` runs them in RTL and keeps the cycles.
"""

from __future__ import annotations

import time

from ringforge import runs
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import Simulation, Traffic
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.matmul.closed_form import Gadget, Primitives
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.draws import Draw, simulate
from ringforge.hw.machines.matmul.replica import run


def closed_form(draw: Draw) -> float:
    """Cycles of a case in closed form: of the element that takes longest."""
    p = Primitives(draw.config, Gadget.of(draw.parameters))
    if not draw.rotations:
        return p.product(draw.limbs, draw.special).total + p.start
    return max(p.transform_of(draw.limbs, r, draw.still).total for r in draw.rotations) + p.start


def validate_draw(draw: Draw, sim: Simulation[FameConfig] | None = None) -> tuple[Validated, runs.Record]:
    """A drawn case, on a simulated machine of its configuration or a new one."""
    compiled = draw.compile()
    start = time.process_time()
    if sim is None:
        library(draw.config, optimise="-O1")
        start = time.process_time()
        with Simulation(draw.config, optimise="-O1") as opened:
            cycles, traffic = simulate(opened, draw.config, compiled)
    else:
        cycles, traffic = simulate(sim, draw.config, compiled)
    spent = time.process_time() - start
    report = run(
        draw.config, [c.program for c in compiled], entity_of=lambda e, address: compiled[e].layout.entity(address)
    )
    entry = Validated(
        number=draw.number,
        name=draw.name,
        machine=draw.machine,
        memory=draw.memory_name,
        cycles=cycles,
        replica=report.cycles,
        closed_form=closed_form(draw),
        traffic_equal=all(report.traffic.get(e, Traffic(0, 0)) == t for e, t in traffic.items()),
        fitted=draw.fitted,
        seconds=spent,
    )
    return entry, entry.record("drawn", "mo" if draw.rotations else "product", draw.limbs - 1, draw.config.clock_hz)
