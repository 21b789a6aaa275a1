# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Latency of whole layers by the replica, from a few of their steps.

A compiled layer is a long repetition: diagonals (or giant steps) that differ in their keys and plaintexts only. The
replica runs the compiler's own programs for a shortened plan, in which every segment of equal steps keeps just enough
of them to reach a steady state, and once more for each segment with as many steps again. Cycles, traffic and
attribution grow linearly in between:

    T = T_0 + sum over segments s of (n_s - k_s) * (T_s - T_0) / extra

where n_s steps of segment s were shortened to k_s in the run that took T_0, and T_s took `extra` steps more. What
happens once is therefore simulated in full: baby steps, the reduction over groups, rotate-and-sum, bias. k_s is
chosen so that n_s - k_s is a multiple of the schedule's period (groups, and giant steps of one tile).

Against replicas of all steps the result is within 0.05 %: 512 x 1344 with Set-B (47,952,412 cycles from 18 diagonals,
47,952,481 from 512, as in RTL), 256 x 9216 with Set-B, where two segments differ in their input ciphertexts (0.04 %),
256 x 25088 with Set-A (seven ciphertexts), 64 x 1344 with Set-C, which spills (0.03 %).

Layers that need more memory than the card has are priced all the same, marked, and priced again in Horner's form,
which needs one key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ringforge import _native
from ringforge._native import Algorithm, Plan
from ringforge.errors import ParameterError
from ringforge.hw.core.simulator import Traffic
from ringforge.hw.machines.matvec import Options, compile_matvec
from ringforge.hw.machines.matvec.bsgs import tile_size_of
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.job import Job
from ringforge.hw.machines.matvec.layers import layer_kernel
from ringforge.hw.machines.matvec.published import Layer
from ringforge.hw.vector import replica
from ringforge.hw.vector.config import INSTRUCTION_BYTES
from ringforge.hw.vector.replica_primitives import PRIMITIVES, attribute
from ringforge.matvec.kernels import MatvecKernel

SCHEDULES: Final = ("diagonal", "bsgs", "horner")
#: Steps per group that a shortened segment keeps, and as many more for its slope.
STEADY: Final = 4
#: Larger than any plan: sizes are reported, not refused.
_ANY_SIZE: Final = 1 << 47

Progress = Callable[[str], None]


@dataclass(frozen=True)
class LayerLatency:
    """A layer on a machine.

    Attributes:
        rows, cols: the matrix.
        params, level, schedule, baby: how it is computed.
        machine: on which machine.
        cycles: from start to done.
        traffic: bytes by entity.
        primitives: cycles by primitive, mean over all elements, in the order of `PRIMITIVES`.
        busy: cycles by unit, summed over elements.
        rotations: steps that rotate, and rotate-and-sum.
        simulated: steps of the longest run.
        steps: steps of the layer.
        memory: bytes of DRAM.
        horner: the same in Horner's form, when the memory is more than the card has.
    """

    rows: int
    cols: int
    params: str
    level: int
    schedule: str
    baby: int
    machine: MatvecConfig
    cycles: float
    traffic: Mapping[str, Traffic]
    primitives: Mapping[str, float]
    busy: Mapping[str, float]
    rotations: int
    simulated: int
    steps: int
    memory: int
    horner: LayerLatency | None = None

    @property
    def seconds(self) -> float:
        """At the machine's clock."""
        return self.cycles / self.machine.clock_hz

    @property
    def fits(self) -> bool:
        """The card's memory holds keys, matrix and all else."""
        return self.memory <= self.machine.dram_bytes

    @property
    def extrapolated(self) -> bool:
        """Not all steps were simulated."""
        return self.simulated < self.steps

    @property
    def shares(self) -> dict[str, float]:
        """Share of the time by primitive."""
        total = sum(self.primitives.values())
        return {name: cycles / total for name, cycles in self.primitives.items()}

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        out = {k: v for k, v in self.__dict__.items() if k not in {"machine", "traffic", "horner"}}
        return {
            **out,
            "machine": self.machine.name,
            "seconds": self.seconds,
            "fits": self.fits,
            "extrapolated": self.extrapolated,
            "traffic": {e: {"read": t.read, "written": t.written} for e, t in self.traffic.items()},
            "primitives": dict(self.primitives),
            "busy": dict(self.busy),
            "horner": None if self.horner is None else self.horner.as_dict(),
        }


@dataclass(frozen=True)
class _Term:
    row_block: int
    giant: int
    block: int
    baby: int


@dataclass(frozen=True)
class _Packing:
    """What the compiler reads of a packing."""

    row_blocks: int
    diagonals: int
    blocks: Sequence[Any]
    folds: Sequence[int]


@dataclass(frozen=True)
class _ShortPlan:
    """What the compiler reads of a plan, with fewer steps."""

    algorithm: Algorithm
    baby: int
    giants: int
    terms: Sequence[_Term]
    keys: Sequence[tuple[int, int]]
    packing: _Packing


@dataclass(frozen=True)
class _Segment:
    """Neighbouring steps with the same products."""

    first: int
    count: int
    keep: int


@dataclass
class _Run:
    """What one run of the replica gave, as numbers that grow linearly."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def of(cls, report: replica.ReplicaReport, instructions: int) -> _Run:
        run = cls({("cycles", ""): float(report.cycles), ("instructions", ""): float(instructions)})
        for name, t in report.traffic.items():
            run.values["read", name], run.values["written", name] = float(t.read), float(t.written)
        run.values.update({("primitives", p): c for p, c in report.primitives.items()})
        run.values.update({("busy", u): float(c) for u, c in report.busy.items()})
        return run

    def extended(self, steps: float, longer: _Run, extra: int) -> _Run:
        """With so many steps more, of the kind of which `longer` has `extra` more."""
        return self.plus(longer.minus(self), steps / extra)

    def plus(self, other: _Run, sign: float = 1.0) -> _Run:
        keys = {**self.values, **other.values}
        return _Run({k: self.values.get(k, 0.0) + sign * other.values.get(k, 0.0) for k in keys})

    def minus(self, other: _Run) -> _Run:
        return self.plus(other, -1.0)

    def of_kind(self, kind: str) -> dict[str, float]:
        return {name: v for (k, name), v in self.values.items() if k == kind}


class _Extrapolation:
    """One layer: segments, shortened plans, runs."""

    def __init__(self, kernel: MatvecKernel, config: MatvecConfig, options: Options, steady: int) -> None:
        self.kernel, self.options = kernel, options
        self.config = config.model_copy(update={"dram_bytes": _ANY_SIZE})
        plan = kernel.plan
        bsgs = plan.algorithm == Algorithm.bsgs
        self.steps = int(plan.giants if bsgs else plan.packing.diagonals)
        groups = config.groups if options.tiling else 1
        if plan.algorithm == Algorithm.horner:
            groups = 1
        tile = tile_size_of(config, kernel.context.params.log_n) if bsgs and options.tiling else 1
        period = groups * tile
        self.extra = -(-steady // tile) * period
        self.terms: dict[int, list[_Term]] = {}
        for t in plan.terms:
            self.terms.setdefault(t.giant, []).append(_Term(t.row_block, t.giant, t.block, t.baby))
        self.segments: list[_Segment] = []
        kinds = [
            "first" if step == 0 else str(sorted((t.row_block, t.block, t.baby) for t in self.terms.get(step, [])))
            for step in range(self.steps)
        ]
        first = 0
        for step in range(1, self.steps + 1):
            if step == self.steps or kinds[step] != kinds[first]:
                count = step - first
                keep = self.extra + count % period
                self.segments.append(_Segment(first, count, min(count, keep) if count > 2 * keep else count))
                first = step

    def shortened(self, longer: _Segment | None = None) -> MatvecKernel:
        """The kernel with `keep` steps of each segment, and `extra` more of one."""
        plan = self.kernel.plan
        chosen = [
            step
            for s in self.segments
            for step in range(s.first, s.first + s.keep + (self.extra if s is longer else 0))
        ]
        terms = [
            _Term(t.row_block, at, t.block, t.baby) for at, step in enumerate(chosen) for t in self.terms.get(step, [])
        ]
        folds = list(plan.packing.folds)
        if plan.algorithm == Algorithm.bsgs:
            used = {g * plan.baby for g in range(len(chosen))} | set(range(plan.baby)) | set(folds)
        else:
            used = set(range(len(chosen))) | {1} | set(folds)
        packing = _Packing(
            plan.packing.row_blocks,
            plan.packing.diagonals if plan.algorithm == Algorithm.bsgs else len(chosen),
            list(plan.packing.blocks),
            folds,
        )
        short = _ShortPlan(
            plan.algorithm,
            plan.baby,
            len(chosen),
            terms,
            [(step, stage) for step, stage in plan.keys if step in used],
            packing,
        )
        k = self.kernel
        return MatvecKernel(
            k.context, cast(Plan, short), k.level, k.batch, k.input_scale, k.output_scale, k.input_bound, k.fresh_inputs
        )

    def run(self, longer: _Segment | None = None) -> _Run:
        compiled = compile_matvec(self.config, self.shortened(longer), has_bias=True, options=self.options)
        entity_of = compiled.job.layout.entity
        tags = attribute(self.config, compiled.programs, compiled.job.target.special, entity_of)
        report = replica.run(self.config, compiled.programs, entity_of=entity_of, tags=tags, primitives=PRIMITIVES)
        return _Run.of(report, sum(p.shape[0] for p in compiled.programs))

    def result(self, say: Progress) -> tuple[_Run, int]:
        """All steps' numbers, and the steps of the longest run."""
        kept = sum(s.keep for s in self.segments)
        say(f"{kept} of {self.steps} steps")
        base = total = self.run()
        longest = kept
        for s in self.segments:
            if s.keep < s.count:
                say(f"{kept + self.extra} of {self.steps} steps")
                longer = self.run(s)
                slope = base.extended(s.count - s.keep, longer, self.extra)
                total = total.plus(slope).minus(base)
                longest = kept + self.extra
        return total, longest


def layer_latency(
    layer: Layer | tuple[int, int],
    params: _native.Parameters,
    machine: MatvecConfig,
    schedule: str,
    *,
    level: int | None = None,
    options: Options | None = None,
    steady: int = STEADY,
    say: Progress = lambda _: None,
) -> LayerLatency:
    """Cycles, traffic and breakdown of a layer.

    Args:
        layer: one of the paper's, or (rows, columns).
        params: parameter set.
        machine: configuration.
        schedule: diagonal (the paper's), bsgs (with the planner's split), or horner.
        level: of the input; default: all limbs.
        options: compiler passes.
        steady: steps per group that shortened segments keep; layers of few steps are simulated whole, and so are all
            with a large enough number.
        say: told what happens.

    Raises:
        ParameterError: unknown schedule, or the machine cannot run it whatever its memory.
    """
    if schedule not in SCHEDULES:
        raise ParameterError(f'the schedule is {", ".join(SCHEDULES)}, not "{schedule}"')
    rows, cols = (layer.m, layer.n) if isinstance(layer, Layer) else layer
    level = params.max_level if level is None else level
    options = options or Options()
    kernel, _ = layer_kernel(_native.Context(params), rows, cols, level, schedule, machine=machine)
    extrapolation = _Extrapolation(kernel, machine, options, steady)
    run, simulated = extrapolation.result(say)
    instructions = run.of_kind("instructions")[""]
    memory = Job(extrapolation.config, kernel, True, options).layout.used + round(instructions * INSTRUCTION_BYTES)
    horner = None
    if memory > machine.dram_bytes and schedule != "horner":
        say("more memory than the card has: once more in Horner's form")
        horner = layer_latency(
            (rows, cols), params, machine, "horner", level=level, options=options, steady=steady, say=say
        )
    read, written = run.of_kind("read"), run.of_kind("written")
    folds = len(list(kernel.plan.packing.folds))
    babies = sum(b - 1 for b in Job(extrapolation.config, kernel, True, options).babies) if schedule == "bsgs" else 0
    return LayerLatency(
        rows=rows,
        cols=cols,
        params=params.name,
        level=level,
        schedule=schedule,
        baby=int(kernel.plan.baby),
        machine=machine,
        cycles=run.of_kind("cycles")[""],
        traffic={e: Traffic(round(read[e]), round(written[e])) for e in read},
        primitives={p: run.of_kind("primitives").get(p, 0.0) for p in PRIMITIVES},
        busy=run.of_kind("busy"),
        rotations=extrapolation.steps - 1 + babies + folds,
        simulated=simulated,
        steps=extrapolation.steps,
        memory=memory,
        horner=horner,
    )
