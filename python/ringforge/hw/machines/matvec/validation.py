# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form held against RTL: on drawn cases (`draws`), and on products of the paper's sets.

`ringforge hw validate matvec` runs them in RTL and keeps the cycles.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ringforge import _native, runs
from ringforge import params as parameter_sets
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import Simulation, Traffic
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.matvec import Options, closed_form, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.draws import Draw, simulate
from ringforge.hw.machines.matvec.layers import layer_kernel, run_layer
from ringforge.hw.vector.replica import run
from ringforge.matvec.kernels import MatvecKernel


@dataclass(frozen=True)
class Case:
    """A product to time.

    Attributes:
        machine, params, rows, cols, algorithm: what runs where.
        level: of the input; None: all limbs.
        bandwidth: of memory in GB/s; None: the card's.
        fusion, tiling: compiler passes.
        about: why it is in the list.
    """

    machine: str
    params: str
    rows: int
    cols: int
    algorithm: str
    level: int | None = None
    bandwidth: float | None = None
    fusion: bool = True
    tiling: bool = True
    about: str = ""

    @property
    def name(self) -> str:
        """What the case is called in results."""
        extra = "" if self.bandwidth is None else f" at {self.bandwidth:g} GB/s"
        extra += "" if self.fusion else " without fusion"
        extra += "" if self.tiling else " without tiling"
        return f"{self.rows}x{self.cols}{extra}"

    @property
    def config(self) -> MatvecConfig:
        config = MatvecConfig.named(self.machine)
        if self.bandwidth is None:
            return config
        return config.model_copy(update={"dram_bytes_per_second": 1e9 * self.bandwidth})

    @property
    def options(self) -> Options:
        return Options(fusion=self.fusion, tiling=self.tiling)

    def kernel(self) -> MatvecKernel:
        params = parameter_sets.named(self.params)
        level = params.max_level if self.level is None else self.level
        return layer_kernel(
            _native.Context(params),
            self.rows,
            self.cols,
            level,
            self.algorithm,
            machine=MatvecConfig.named(self.machine),
        )[0]


CASES: tuple[Case, ...] = (
    Case("matvec-a", "set-a", 64, 100, "bsgs", about="Set-A machine"),
    Case("matvec-a", "set-a", 32, 32, "diagonal", about="Set-A machine, the paper's schedule"),
    Case("matvec-a", "set-a", 256, 256, "bsgs"),
    Case("matvec-a", "set-a", 16, 16, "horner", about="one key"),
    Case("matvec-b", "set-a", 64, 100, "bsgs", about="fewer limbs than elements"),
    Case("matvec-b", "set-b", 8, 16, "diagonal", about="N = 2^14, l = 7"),
    Case("matvec-b", "set-b", 64, 128, "bsgs", about="N = 2^14, l = 7"),
    Case("matvec-b", "set-b", 512, 1344, "bsgs", about="N = 2^14, l = 7: rnnt-fc0"),
    Case("matvec-b", "set-b", 512, 1344, "bsgs", level=2, about="rnnt-fc0 three limbs high"),
    Case("matvec-b", "set-b", 64, 128, "bsgs", bandwidth=8.0, about="bound by DRAM"),
    Case("matvec-b", "set-b", 8, 16, "diagonal", fusion=False, tiling=False, about="passes off"),
    Case("matvec-b", "set-b", 8, 16, "horner", about="one key, one group"),
    Case("matvec-b", "set-c", 4, 8, "diagonal", about="N = 2^15, l = 14: spills"),
    Case("matvec-b", "set-c", 4, 8, "bsgs", level=4, about="N = 2^15"),
    Case("matvec-b", "set-b", 512, 1344, "diagonal", about="rnnt-fc0, the paper's schedule: 15 minutes in RTL"),
)


def validate_draw(draw: Draw, sim: Simulation[MatvecConfig] | None = None) -> tuple[Validated, runs.Record]:
    """A drawn case, on a simulated machine of its configuration or a new one."""
    compiled = draw.compile()
    start = time.process_time()
    if sim is None:
        library(draw.config, optimise="-O1")
        start = time.process_time()
        with Simulation(draw.config, optimise="-O1") as opened:
            cycles, traffic = simulate(opened, compiled)
    else:
        cycles, traffic = simulate(sim, compiled)
    spent = time.process_time() - start
    report = run(
        draw.config,
        compiled.programs,
        entity_of=compiled.job.layout.entity,
        base=compiled.base,
        stride=compiled.stride,
    )
    entry = Validated(
        number=draw.number,
        name=draw.name,
        machine=draw.machine,
        memory=draw.memory_name,
        cycles=cycles,
        replica=report.cycles,
        closed_form=closed_form.cycles(draw.config, draw.kernel()),
        traffic_equal=all(report.traffic.get(e, Traffic(0, 0)) == t for e, t in traffic.items()),
        fitted=draw.fitted,
        seconds=spent,
    )
    return entry, entry.record("drawn", draw.algorithm, draw.limbs - 1, draw.config.clock_hz)


def validate_layer(
    case: Case, number: int, change: Callable[[MatvecConfig], MatvecConfig], cycles: Callable[[int], None]
) -> tuple[Validated, runs.Record]:
    """One of `CASES`, its result checked; `change`: of the configuration."""
    config, kernel = change(case.config), case.kernel()
    measured = run_layer(
        config,
        parameter_sets.named(case.params),
        case.rows,
        case.cols,
        case.algorithm,
        level=case.level,
        options=case.options,
        cycles=cycles,
    )
    compiled = compile_matvec(config, kernel, has_bias=True, options=case.options)
    report = run(
        config, compiled.programs, entity_of=compiled.job.layout.entity, base=compiled.base, stride=compiled.stride
    )
    moved = {e: t.read + t.written for e, t in report.traffic.items()}
    entry = Validated(
        number=number,
        name=f"{case.params} {case.name} {case.algorithm}",
        machine=case.machine,
        memory=config.memory,
        cycles=measured.cycles,
        replica=report.cycles,
        closed_form=closed_form.cycles(config, kernel),
        traffic_equal=all(moved.get(e, 0) == n for e, n in measured.bytes.items()),
        fitted=True,
        seconds=measured.simulation_seconds,
    )
    extra = {"about": case.about, "exact": measured.exact, "bytes": dict(measured.bytes)}
    return entry, entry.record(case.params, case.algorithm, measured.level, config.clock_hz, **extra)
