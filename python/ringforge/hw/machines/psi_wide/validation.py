# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the streaming accelerator held against RTL on drawn cases (`draws`).

`ringforge hw validate psi_wide` runs them in RTL and keeps the cycles.
"""

from __future__ import annotations

import time

from ringforge import runs
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import MAX_ENTITIES, Simulation
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.draws import SMALL, Draw
from ringforge.hw.machines.psi_wide.replica import run
from ringforge.hw.machines.psi_wide.runner import Simulated


def validate_draw(draw: Draw) -> tuple[Validated, runs.Record]:
    """A drawn case, on a simulated machine of its own memory."""
    made = draw.made()
    # Large machines as `hw cycles` builds them.
    optimise = "-O1" if draw.machine == SMALL else "-O3"
    library(draw.config, optimise=optimise)
    start = time.process_time()
    with Simulation[WideConfig](draw.config, optimise=optimise) as sim:
        sim.clear_traffic()
        cycles = Simulated(sim).run(made.setup, made.program, made.memory) or 0
        moved = sim.traffic({str(n): n for n in range(MAX_ENTITIES)}).values()
    spent = time.process_time() - start
    report = run(draw.config, draw.log_n, [g.count for g in made.setup.gadgets], made.program)
    entry = Validated(
        number=draw.number,
        name=draw.name,
        machine=draw.machine,
        memory=f"{draw.latency} cycles",
        cycles=cycles,
        replica=report.cycles,
        closed_form=draw.closed_form(),
        traffic_equal=sum(t.read for t in moved) == report.read_bytes
        and sum(t.written for t in moved) == report.written_bytes,
        fitted=draw.fitted,
        seconds=spent,
    )
    return entry, entry.record("drawn", draw.kind, 0, draw.config.clock_hz)
