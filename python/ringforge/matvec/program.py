# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs: what client and server agree on before any data moves.

A program is public. It names the parameters, the shapes and plans of the layers, the levels and scales, and
bounds on sizes; it holds no weights and no secrets, but the coefficients of polynomials between layers. The server
compiles it from its model (:mod:`.compiler`) and hands it to the client, who makes just the keys it needs and packs
inputs as it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, StrictStr

from ringforge import _native, bundles
from ringforge._native import Algorithm, Context, Matvec, Metadata, MetadataRules, Packing, Plan, Span
from ringforge.bytes_form import File, Shared, write
from ringforge.errors import FormatError, LevelError, ScaleError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.kernels import MatvecKernel, PolynomialKernel, SquareKernel, check_input
from ringforge.matvec.polynomial_circuit import products
from ringforge.matvec.steps import LinearStep, PolynomialStep, SquareStep, Step
from ringforge.programs import Frozen, ParameterSpec, read_program
from ringforge.shown import ShownTable

Backend = Literal["ckks", "clear"]

#: Names of the columns of inputs, one each, in their order.
FeatureNames = Annotated[list[Annotated[StrictStr, Field(max_length=1024)]], Field(min_length=1, max_length=1 << 20)]

#: Plaintext products of one step; a file that asks for more is refused before anything is built.
MAX_TERMS = 1 << 18


class Program(Shared, Frozen):
    """Everything both sides must agree on."""

    format: Literal["ringforge-matvec-program"] = "ringforge-matvec-program"
    #: 3 where a step is a polynomial, or comes first without being linear, or promises a bound.
    version: Literal[1, 2, 3] = 2
    backend: Backend
    parameters: ParameterSpec
    batch: Annotated[int, Field(ge=1, le=1 << 16)]
    input_bound: Annotated[float, Field(gt=0)]
    steps: Annotated[list[Annotated[Step, Field(discriminator="kind")]], Field(min_length=1, max_length=64)]
    features: FeatureNames | None = None

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
        return self.steps[-1].level - self.steps[-1].depth

    @property
    def log_input_scale(self) -> float:
        """log2 of the scale that inputs are encrypted at."""
        found = self.steps[0].log_input_scale
        assert found is not None  # `check`
        return found

    @property
    def promises(self) -> bool:
        """Whether bounds hold for the inputs that it was planned for only."""
        return any(s.promised is not None for s in self.linear_steps)

    @property
    def leaves_intervals(self) -> bool:
        """Whether inputs may leave the interval of a polynomial, which no error that is foreseen counts."""
        return any(isinstance(s, PolynomialStep) and s.interval is not None for s in self.steps)

    def inside_intervals(self) -> Program:
        """The same program for inputs that are known to stay in all intervals."""
        if not self.leaves_intervals:
            return self
        steps = [s.model_copy(update={"interval": None}) if isinstance(s, PolynomialStep) else s for s in self.steps]
        made = self.model_copy(update={"steps": steps})
        made.__dict__.pop("digest", None)
        return made

    @cached_property
    def digest(self) -> str:
        """What files of ciphertexts name the program by."""
        return bundles.digest(self)

    @cached_property
    def foreseen(self) -> Metadata | None:
        """Scale, bound and errors of the results, whatever a server says of them; None for programs of version 1.

        They follow from the program alone, for inputs encrypted with the secret key.
        """
        fresh = MetadataRules(self.context).encrypted(2.0**self.log_input_scale, self.input_bound, False)
        return list(self._descriptions(fresh))[-1]

    def descriptions(self) -> list[tuple[Metadata, int, float]]:
        """Metadata, level and predicted largest error of the inputs and after each step, not for version 1."""
        fresh = MetadataRules(self.context).encrypted(2.0**self.log_input_scale, self.input_bound, False)
        levels = [self.input_level, *(s.level - s.depth for s in self.steps)]
        degree = self.context.params.degree
        known = [fresh, *(m for m in self._descriptions(fresh) if m is not None)]
        return [(m, at, float(_native.error_bound(m, degree))) for m, at in zip(known, levels, strict=True)]

    def _descriptions(self, known: Metadata) -> Iterator[Metadata | None]:
        """Metadata after each step; None and the end where a step does not say enough."""
        rules = MetadataRules(self.context)
        for step, kernel in zip(self.steps, self.kernels, strict=True):
            if isinstance(kernel, SquareKernel):
                known = rules.squared(known, kernel.level + 1)
            elif isinstance(kernel, PolynomialKernel):
                known, ops = kernel.described(known)
                if ops.least < 0:
                    raise FormatError(
                        f"values of the polynomial of degree {len(kernel.series) - 1} at level {kernel.level} exceed "
                        f"half the modulus by {-ops.least:.1f} bits"
                    )
            else:
                assert isinstance(step, LinearStep)
                if step.sums is None:
                    yield None
                    return
                if self.version == 3:
                    check_input(kernel, kernel.level, known.scale, known.bound)
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
                    kernel.promised,
                )
            yield known

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
    def kernels(self) -> list[MatvecKernel | SquareKernel | PolynomialKernel]:
        """The device kernels, in order."""
        plans = iter(self.plans)
        out: list[MatvecKernel | SquareKernel | PolynomialKernel] = []
        for i, s in enumerate(self.steps):
            if isinstance(s, SquareStep):
                out.append(SquareKernel(self.context, s.level))
            elif isinstance(s, PolynomialStep):
                out.append(
                    PolynomialKernel(
                        self.context,
                        s.level,
                        tuple(s.coefficients),
                        s.baby,
                        2.0**s.log_input_scale,
                        2.0**s.log_output_scale,
                        s.input_bound,
                    )
                )
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
                        i == 0 and s.input_period == 0,
                        s.promised,
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
        """Level of the relinearisation key, or None when nothing is multiplied with itself."""
        levels = [s.level for s in self.steps if not isinstance(s, LinearStep)]
        return max(levels, default=None)

    # ---- files ----

    def save(self, path: File) -> None:
        """Write the program as JSON to a file's name or to an open binary file; `to_bytes` gives the same in memory."""
        write(path, [self.model_dump_json(indent=2, exclude_none=True).encode()])

    @classmethod
    def load(cls, path: File) -> Self:
        """Read and check a program, from a file's name or an open binary file; `from_bytes` takes bytes.

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
        if not self.linear_steps:
            raise FormatError("a program needs a linear step, which says how many values it takes")
        if self.features is not None and len(self.features) != self.inputs:
            raise FormatError(f"{len(self.features)} names for {self.inputs} inputs; one name for each is needed")
        new = any(isinstance(s, PolynomialStep) for s in self.steps) or self.promises
        new = new or not isinstance(self.steps[0], LinearStep)
        if new != (self.version == 3):
            raise FormatError(
                f"a program of version {self.version} {'has' if new else 'lacks'} polynomials, promised bounds or a "
                "first step that is not linear, which make version 3"
            )
        if self.steps[0].log_input_scale is None:
            raise FormatError("the first step of a program needs the scale of inputs")
        level, width = self.input_level, self.inputs
        if level > ctx.params.max_level:
            raise FormatError(f"the program starts at level {level}, the parameters end at {ctx.params.max_level}")
        for i, s in enumerate(self.steps):
            if s.level != level:
                raise FormatError(f"step {i} is at level {s.level}, the one before leaves level {level}")
            level -= s.depth
            if level < 0:
                raise FormatError(f"step {i} takes {s.depth} levels, and only {s.level} are left")
            if isinstance(s, LinearStep):
                if s.cols != width:
                    raise FormatError(f"step {i} takes {s.cols} values, the one before gives {width}")
                width = s.rows
                if (s.sums is None) != (self.version == 1):
                    raise FormatError(f"step {i} of a program of version {self.version} has the fields of another one")
            elif isinstance(s, PolynomialStep) and (s.baby & (s.baby - 1) or not s.coefficients[-1]):
                raise FormatError(f"step {i}: baby steps are a power of two, and the last coefficient is not 0")
            elif isinstance(s, PolynomialStep) and s.interval is not None and s.interval[0] >= s.interval[1]:
                raise FormatError(f"step {i}: an interval ends above its beginning")
            elif isinstance(s, SquareStep) and (s.log_input_scale is None) != (i > 0):
                raise FormatError(f"step {i}: a square has a scale where it is the first step, and nowhere else")
        _ = self.plans
        if self.version == 3:
            try:
                known = self.error_bound
            except (LevelError, ScaleError, RingforgeValueError) as e:
                raise FormatError(f"the program's numbers do not fit together: {e}") from None
            if known is None or not math.isfinite(known):
                raise FormatError("the program's numbers do not fit together: no error of results can be foreseen")

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
            if isinstance(s, PolynomialStep):
                table.add_row(
                    "polynomial",
                    f"degree {s.degree}",
                    f"{products(tuple(s.coefficients), s.baby)} products, Paterson-Stockmeyer",
                    f"{s.level} → {s.level - s.depth}",
                    f"2^{s.log_input_scale:.1f} → 2^{s.log_output_scale:.1f}",
                    "",
                )
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
