# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The cases on which the replica is held against RTL.

`ringforge hw validate matvec` runs them in RTL (about ten minutes) and keeps the cycles; the replica's side is computed
anew whenever it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge.hw.machines.matvec import Options, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.layers import LayerRun, layer_kernel, run_layer
from ringforge.hw.vector.replica import ReplicaReport, run
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


def measure(case: Case, say: Callable[[str], None], cycles: Callable[[int], None]) -> LayerRun:
    """The case in RTL, its result checked."""
    return run_layer(
        case.config,
        parameter_sets.named(case.params),
        case.rows,
        case.cols,
        case.algorithm,
        level=case.level,
        options=case.options,
        say=say,
        cycles=cycles,
    )


def predict(case: Case) -> ReplicaReport:
    """The case by the replica."""
    compiled = compile_matvec(case.config, case.kernel(), has_bias=True, options=case.options)
    return run(case.config, compiled.programs, entity_of=compiled.job.layout.entity)
