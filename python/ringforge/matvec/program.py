# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs: what client and server agree on before any data moves.

A program is public. It names the parameters, the shapes and plans of the layers, the levels and scales, and
bounds on sizes; it holds no weights and no secrets. The server compiles it from its model and hands it to the
client, who makes just the keys it needs and packs inputs as it says.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ringforge import _native, bundles
from ringforge import params as parameter_sets
from ringforge._native import (
    Algorithm,
    Context,
    Matvec,
    MatvecSums,
    Metadata,
    MetadataRules,
    Packing,
    Parameters,
    Plan,
    Span,
)
from ringforge.errors import FormatError, LevelError, ParameterError, PrecisionWarning, ShapeError
from ringforge.files import writing
from ringforge.matvec.kernels import MatvecKernel, SquareKernel
from ringforge.matvec.model import Linear, Model, Polynomial, as_sequential
from ringforge.matvec.planner import Choice, choose
from ringforge.programs import Frozen, ParameterSpec, read_program
from ringforge.shown import ShownGroup, ShownTable

Backend = Literal["ckks", "clear"]

#: Scales below this lose results in noise; the compiler takes a higher level instead.
MIN_LOG_SCALE = 30.0

#: Plaintext products of one step; a file that asks for more is refused before anything is built.
MAX_TERMS = 1 << 18

#: Results that may err by more than this part of their largest size are warned of.
MAX_RELATIVE_ERROR = 1 / 16

Sum = Annotated[float, Field(ge=0)]


class LinearStep(Frozen):
    """A matrix product of a program. Level and scale are the input's; bounds are powers of 2^(1/4).

    The last four fields are what the errors of results follow from, rounded up likewise: a bound of the results, the
    largest sum of squared entries over the diagonals of one slot, and squares of operator norms (docs/matvec.md).
    Programs of version 1 do not have them.
    """

    kind: Literal["linear"] = "linear"
    rows: Annotated[int, Field(ge=1, le=1 << 20)]
    cols: Annotated[int, Field(ge=1, le=1 << 20)]
    span: Literal["spread", "compact"]
    input_period: Annotated[int, Field(ge=0, le=1 << 16)]
    algorithm: Literal["bsgs", "diagonal", "horner"]
    baby: Annotated[int, Field(ge=1, le=1 << 16)]
    level: Annotated[int, Field(ge=1, le=63)]
    log_input_scale: Annotated[float, Field(ge=1, le=120)]
    log_output_scale: Annotated[float, Field(ge=1, le=120)]
    input_bound: Annotated[float, Field(gt=0)]
    output_bound: Annotated[float, Field(gt=0)] | None = None
    square: Sum | None = None
    norm: Sum | None = None
    rotated_norm: Sum | None = None

    @property
    def sums(self) -> MatvecSums | None:
        """What predictions of errors need, if the program says it."""
        known = (self.output_bound, self.square, self.norm, self.rotated_norm)
        return None if None in known else MatvecSums(*known)  # type: ignore[arg-type]


class SquareStep(Frozen):
    """A squaring of a program."""

    kind: Literal["square"] = "square"
    level: Annotated[int, Field(ge=1, le=63)]


Step = LinearStep | SquareStep


class Program(Frozen):
    """Everything both sides must agree on."""

    format: Literal["ringforge-matvec-program"] = "ringforge-matvec-program"
    version: Literal[1, 2] = 2
    backend: Backend
    parameters: ParameterSpec
    batch: Annotated[int, Field(ge=1, le=1 << 16)]
    input_bound: Annotated[float, Field(gt=0)]
    steps: Annotated[list[Annotated[Step, Field(discriminator="kind")]], Field(min_length=1, max_length=64)]

    # ---- derived ----

    @cached_property
    def context(self) -> Context:
        return Context(self.parameters.parameters())

    @property
    def linear_steps(self) -> list[LinearStep]:
        return [s for s in self.steps if isinstance(s, LinearStep)]

    @property
    def inputs(self) -> int:
        """Length of an input vector."""
        return self.linear_steps[0].cols

    @property
    def outputs(self) -> int:
        """Length of a result vector."""
        return self.linear_steps[-1].rows

    @property
    def input_level(self) -> int:
        return self.steps[0].level

    @property
    def output_level(self) -> int:
        return self.steps[-1].level - 1

    @cached_property
    def digest(self) -> str:
        """What files of ciphertexts name the program by."""
        return bundles.digest(self)

    @cached_property
    def foreseen(self) -> Metadata | None:
        """Scale, bound and errors of the results, whatever a server says of them; None for programs of version 1.

        They follow from the program alone, for inputs encrypted with the secret key.
        """
        rules, first = MetadataRules(self.context), self.linear_steps[0]
        known = rules.encrypted(2.0**first.log_input_scale, self.input_bound, False)
        for step, kernel in zip(self.steps, self.kernels, strict=True):
            if isinstance(kernel, SquareKernel):
                known = rules.squared(known, kernel.level + 1)
                continue
            assert isinstance(step, LinearStep)
            if step.sums is None:
                return None
            known = Matvec.describe(
                self.context,
                kernel.plan,
                kernel.level,
                kernel.input_scale,
                kernel.output_scale,
                kernel.input_bound,
                kernel.fresh_inputs,
                step.sums,
                known,
            )
        return known

    @property
    def error_bound(self) -> float | None:
        """Predicted largest error of results (probability of more: 2^-40); None for programs of version 1."""
        if self.foreseen is None:
            return None
        return float(_native.error_bound(self.foreseen, self.context.params.degree))

    @cached_property
    def plans(self) -> list[Plan]:
        """The plan of each linear step."""
        slots = self.context.params.slots // self.batch
        out = []
        for s in self.linear_steps:
            packing = Packing(s.rows, s.cols, slots, getattr(Span, s.span), s.input_period)
            terms = packing.row_blocks * sum(b.diagonals for b in packing.blocks)
            if terms > MAX_TERMS:
                raise FormatError(
                    f"a {s.rows} x {s.cols} matrix takes {terms} products; programs have at most {MAX_TERMS}"
                )
            out.append(Plan(packing, getattr(Algorithm, s.algorithm), s.baby))
        return out

    @cached_property
    def kernels(self) -> list[MatvecKernel | SquareKernel]:
        """The device kernels, in order."""
        plans = iter(self.plans)
        out: list[MatvecKernel | SquareKernel] = []
        for s in self.steps:
            if isinstance(s, SquareStep):
                out.append(SquareKernel(self.context, s.level))
            else:
                out.append(
                    MatvecKernel(
                        self.context,
                        next(plans),
                        s.level,
                        self.batch,
                        2.0**s.log_input_scale,
                        2.0**s.log_output_scale,
                        s.input_bound,
                        s.input_period == 0,
                    )
                )
        return out

    @cached_property
    def key_levels(self) -> dict[int, int]:
        """Galois elements needed, each with the highest level it is used at."""
        need: dict[int, int] = {}
        for kernel in self.kernels:
            if isinstance(kernel, MatvecKernel):
                for step, stage in kernel.plan.keys:
                    element = int(self.context.rotation_element(step * self.batch))
                    need[element] = max(need.get(element, 0), kernel.level - stage)
        return need

    @property
    def relin_level(self) -> int | None:
        """Level of the relinearisation key, or None when nothing is squared."""
        levels = [s.level for s in self.steps if isinstance(s, SquareStep)]
        return max(levels, default=None)

    # ---- files ----

    def save(self, path: str | Path) -> None:
        """Writes the program as JSON."""
        with writing(path) as f:
            f.write(self.model_dump_json(indent=2, exclude_none=True).encode())

    @classmethod
    def load(cls, path: str | Path) -> Program:
        """Reads and checks a program.

        Raises:
            FormatError: the file is no valid program. ParameterError: its parameters are refused.
        """
        program = read_program(cls, path)
        program.check()
        return program

    def check(self) -> None:
        """Holds the parts against each other: levels, scales, shapes.

        Raises:
            FormatError, ParameterError, ShapeError: they do not fit together.
        """
        ctx = self.context
        if self.batch & (self.batch - 1) or self.batch > ctx.params.slots:
            raise FormatError(f"a batch of {self.batch} is not a power of two up to {ctx.params.slots}")
        if not isinstance(self.steps[0], LinearStep):
            raise FormatError("a program starts with a linear step")
        level, width = self.input_level, self.inputs
        if level > ctx.params.max_level:
            raise FormatError(f"the program starts at level {level}, the parameters end at {ctx.params.max_level}")
        for i, s in enumerate(self.steps):
            if s.level != level:
                raise FormatError(f"step {i} is at level {s.level}, the one before leaves level {level}")
            level -= 1
            if isinstance(s, LinearStep):
                if s.cols != width:
                    raise FormatError(f"step {i} takes {s.cols} values, the one before gives {width}")
                width = s.rows
                if (s.sums is None) != (self.version == 1):
                    raise FormatError(f"step {i} of a program of version {self.version} has the fields of another one")
        _ = self.plans

    # ---- for people ----

    def summary(self) -> ShownTable:
        """Steps, levels and scales as a table."""
        table = ShownTable(title=f"program for {self.parameters.name}, batch {self.batch}, backend {self.backend}")
        for name in ("step", "shape", "algorithm", "level", "scale in → out", "keys"):
            table.add_column(name)
        plans = iter(self.plans)
        for s in self.steps:
            if isinstance(s, SquareStep):
                table.add_row("square", "", "product, relinearise, rescale", f"{s.level} → {s.level - 1}", "", "")
                continue
            plan = next(plans)
            how = f"bsgs {plan.baby} x {plan.giants}" if s.algorithm == "bsgs" else s.algorithm
            table.add_row(
                "linear",
                f"{s.rows} x {s.cols}",
                f"{how}, {s.span}",
                f"{s.level} → {s.level - 1}",
                f"2^{s.log_input_scale:.1f} → 2^{s.log_output_scale:.1f}",
                str(len(plan.keys)),
            )
        return table


@dataclass(frozen=True)
class Compiled:
    """A program and the reasons for its choices."""

    program: Program
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]

    def explain(self) -> ShownGroup:
        """What was considered and why it was chosen, for a terminal or `print`."""
        return ShownGroup(self.program.summary(), *(c.explain() for c in self.choices), *self.notes)


def _resolve(
    parameters: Parameters | str | None, layers: Sequence[object], slots: int, bounds: list[float], notes: list[str]
) -> Parameters:
    if parameters is not None:
        return parameter_sets.resolve(parameters)
    slots, depth = min(slots, 1 << 14), len(layers)
    headroom = max(9, math.ceil(math.log2(bounds[-1])) + 2)
    found: list[tuple[bool, parameter_sets.Suggestion]] = []
    for spare in range(63 - depth):  # results too large for one prime end at a higher level
        try:
            suggestion = parameter_sets.suggest(depth + spare, 18, slots, 9 if spare else headroom)
        except ParameterError:
            if spare == 0:  # no prime is so large
                continue
            if not found:
                raise
            break
        fits = _lowest_level(layers, bounds, suggestion.parameters, depth) is not None
        found.append((fits, suggestion))
        if fits and not _wide(suggestion.parameters):
            break
    # The smallest ring, then primes of the fast size, then the fewest; if nothing fits, the error says what is short.
    suggestion = min(
        (s for fits, s in found if fits or not any(f for f, _ in found)),
        key=lambda s: (s.parameters.log_n, _wide(s.parameters), len(s.parameters.q)),
    )
    notes.append(suggestion.why)
    return suggestion.parameters


def _wide(p: Parameters) -> bool:
    """Whether primes are beyond the 50 bits that kernels are fastest for."""
    return max(p.q).bit_length() > 50


def _lowest_level(layers: Sequence[object], bounds: list[float], p: Parameters, lowest: int) -> int | None:
    log_q = [math.log2(q) for q in p.q]
    levels = range(lowest, p.max_level + 1)
    return next((top for top in levels if _scales(layers, bounds, log_q, p.log_scale, top) is not None), None)


def compile_model(
    model: Model,
    parameters: Parameters | str | None = None,
    *,
    batch: int = 1,
    level: int | None = None,
    algorithm: str = "auto",
    memory: int | None = None,
    input_bound: float = 1.0,
    backend: Backend = "ckks",
) -> Compiled:
    """Plans the encrypted evaluation of a model.

    Args:
        model: a Linear layer or a Sequential.
        parameters: a set, the name of one, or None to have the smallest suitable one suggested.
        batch: input vectors per ciphertext, a power of two; more throughput for the same latency.
        level: level of the inputs; the default is the lowest at which all results fit.
        algorithm: "auto", "bsgs", "diagonal" or "horner".
        memory: bytes the server may use for keys, encoded matrices and temporaries.
        input_bound: largest |input|; public, and enforced when encrypting.
        backend: "ckks", or "clear" for tests without encryption.

    Raises:
        LevelError: the parameters have too few levels; the message says how many are needed.
        ParameterError, ShapeError, MemoryLimitError: as the arguments deserve.
    """
    seq = as_sequential(model)
    if not isinstance(seq.layers[0], Linear) or any(isinstance(layer, Polynomial) for layer in seq.layers):
        raise ParameterError("programs start with a Linear layer and have no Polynomial layers yet: use Square")
    notes: list[str] = []
    depth = len(seq.layers)
    widths = [x for layer in seq.layers if isinstance(layer, Linear) for x in (layer.rows, layer.cols)]
    if not (input_bound > 0 and math.isfinite(input_bound)):
        raise ParameterError(f"input_bound must be positive and finite, not {input_bound}")
    bounds = _bounds(seq.layers, input_bound)
    chosen = _resolve(parameters, seq.layers, (1 << (max(widths) - 1).bit_length()) * batch, bounds, notes)
    if batch < 1 or batch & (batch - 1) or batch > chosen.slots:
        raise ParameterError(f"batch must be a power of two up to {chosen.slots}, not {batch}")
    if depth > chosen.max_level:
        raise LevelError(
            f"the model rescales {depth} times and {chosen.name} has levels 0 ... {chosen.max_level}: choose "
            f"parameters with at least {depth + 1} primes (params=None suggests some)"
        )
    if level is not None and not depth <= level <= chosen.max_level:
        raise LevelError(f"level {level} is outside {depth} ... {chosen.max_level} for this model")
    log_q = [math.log2(q) for q in chosen.q]
    starts = [level] if level is not None else range(depth, chosen.max_level + 1)
    scales: list[float] | None = None
    top = depth
    for top in starts:
        scales = _scales(seq.layers, bounds, log_q, chosen.log_scale, top)
        if scales is not None:
            break
    if scales is None:
        raise LevelError(
            f"results may reach 2^{math.log2(max(bounds)):.1f}, which does not fit {chosen.name} at "
            f"{'any level' if level is None else f'level {level}'} with 2^{MIN_LOG_SCALE:.0f} of scale: scale "
            "weights or inputs down, or choose larger first primes or a higher level"
        )
    notes.append(
        f"inputs enter at level {top}: the lowest of {depth} ... {chosen.max_level} that holds every result"
        if level is None
        else f"inputs enter at level {top}, as asked"
    )

    context = Context(chosen)
    steps: list[Step] = []
    choices: list[Choice] = []
    period = 0
    for i, layer in enumerate(seq.layers):
        at = top - i
        if isinstance(layer, Linear):
            choice = choose(
                context,
                layer.rows,
                layer.cols,
                at,
                batch=batch,
                input_period=period,
                algorithm=algorithm,
                memory=memory,
            )
            choices.append(choice)
            plan = choice.chosen.plan
            sums = Matvec.sums(plan, layer.weights, layer.bias, bounds[i])
            steps.append(
                LinearStep(
                    rows=layer.rows,
                    cols=layer.cols,
                    span="spread" if choice.chosen.span == "spread" else "compact",
                    input_period=period,
                    algorithm=choice.chosen.algorithm,  # type: ignore[arg-type]
                    baby=plan.baby,
                    level=at,
                    log_input_scale=scales[i],
                    log_output_scale=scales[i + 1],
                    input_bound=bounds[i],
                    output_bound=bounds[i + 1],
                    square=sums.square,
                    norm=sums.norm,
                    rotated_norm=sums.rotated_norm,
                )
            )
            period = plan.packing.row_period
        else:
            steps.append(SquareStep(level=at))
    program = Program(
        backend=backend,
        parameters=ParameterSpec.of(chosen),
        batch=batch,
        input_bound=input_bound,
        steps=steps,
    )
    program.__dict__["context"] = context
    program.check()
    doubt = _doubt(program)
    if doubt:
        warnings.warn(doubt, PrecisionWarning, stacklevel=2)
    return Compiled(program, tuple(choices), tuple(notes))


def _doubt(program: Program) -> str:
    """What to say of a program whose results may be lost in errors; nothing if they are not."""
    known, error = program.foreseen, program.error_bound
    if known is None or error is None or program.backend == "clear" or error <= MAX_RELATIVE_ERROR * known.bound:
        return ""
    return (
        f"results of size up to {known.bound:.3g} may err by {error:.3g}, so little or nothing is left of them: scale "
        "the weights up and divide the decrypted results, or choose parameters with larger primes and a larger "
        "default scale"
    )


def _bounds(layers: Sequence[object], input_bound: float) -> list[float]:
    """Bound before each layer and after the last; powers of 2^(1/4) after the first, as devices report them."""
    out = [input_bound]
    for layer in layers:
        b = layer.output_bound(out[-1]) if isinstance(layer, Linear) else out[-1] * out[-1]
        if not math.isfinite(b):
            raise LevelError("results may reach 2^1024, which fits no parameters: scale weights or inputs down")
        out.append(2.0 ** (math.ceil(4 * math.log2(b) - 1e-9) / 4) if b > 0 else 1.0)
    return out


def _scales(
    layers: Sequence[object], bounds: list[float], log_q: list[float], log_scale: float, top: int
) -> list[float] | None:
    """log2 of the scale before each layer and after the last, or None when some result would not fit.

    The working scale is lowered until every result fits its level; inputs take a larger one. A square maps
    scale s to s^2/q, so the layer before it is asked for the s that returns to the working scale.
    """
    working = log_scale
    for _ in range(2):
        scales = [working]
        for i, layer in enumerate(layers):
            after = top - i - 1  # level of the result
            if isinstance(layer, Linear):
                squares = i + 1 < len(layers) and not isinstance(layers[i + 1], Linear)
                scales.append((working + log_q[after]) / 2 if squares else working)
            else:
                scales.append(2 * scales[-1] - log_q[after + 1])
        slack = min(sum(log_q[: top - i]) - 1.5 - scales[i + 1] - math.log2(bounds[i + 1]) for i in range(len(layers)))
        if slack >= 0:
            if working < MIN_LOG_SCALE:
                return None
            # Fresh inputs may have a larger scale than results. Rotations add about 2^9 of error to them, which
            # the matrix multiplies; its own rounding is 1/2. With 3 bits more on the input's side both count alike.
            room = sum(log_q[: top + 1]) - 1.5 - math.log2(bounds[0])
            scales[0] = max(scales[0], min((log_q[top] + scales[1]) / 2 + 3, room))
            return scales
        working += 2 * slack if any(not isinstance(x, Linear) for x in layers) else slack
    return None


__all__ = ["Compiled", "LinearStep", "Program", "ShapeError", "SquareStep", "compile_model"]
