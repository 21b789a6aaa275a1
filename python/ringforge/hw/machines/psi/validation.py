# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the published pipeline held against RTL on drawn cases (`draws`).

`ringforge hw validate psi` runs them in RTL and keeps the cycles.
"""

from __future__ import annotations

import time

from ringforge import runs
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.draws import Draw, simulate
from ringforge.hw.machines.psi.replica import run


def validate_draw(draw: Draw) -> tuple[Validated, runs.Record]:
    """A drawn case, on a simulated machine of its own memory."""
    library(draw.config, optimise="-O1")
    start = time.process_time()
    with Simulation[PsiConfig](draw.config, optimise="-O1") as sim:
        cycles, traffic = simulate(sim, draw.job)
    spent = time.process_time() - start
    report = run(draw.job)
    entry = Validated(
        number=draw.number,
        name=draw.name,
        machine=draw.machine,
        memory=draw.memory_name,
        cycles=cycles,
        replica=report.cycles,
        closed_form=draw.closed_form(),
        traffic_equal=traffic["keys"].read == report.key_bytes
        and traffic["program"].read + traffic["input"].read == report.read_bytes
        and traffic["output"].written == report.written_bytes,
        fitted=draw.fitted,
        seconds=spent,
    )
    return entry, entry.record("drawn", draw.kind, 0, draw.config.clock_hz)
