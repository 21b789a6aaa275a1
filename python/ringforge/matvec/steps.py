# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Steps of programs: what a file says of each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ringforge._native import MatvecSums
from ringforge.matvec.polynomial import MAX_DEGREE
from ringforge.matvec.polynomial_circuit import depth
from ringforge.programs import Frozen

Sum = Annotated[float, Field(ge=0)]
LogScale = Annotated[float, Field(ge=1, le=120)]
Coefficient = Annotated[float, Field(ge=-(2.0**100), le=2.0**100)]


class LinearStep(Frozen):
    """A matrix product of a program. Level and scale are the input's; bounds are powers of 2^(1/4).

    The last four fields are what the errors of results follow from, rounded up likewise: a bound of the results, the
    largest sum of squared entries over the diagonals of one slot, and squares of operator norms
    (docs/matvec-algorithms.md). Programs of version 1 do not have them. `promised`, of version 3, bounds the
    results of inputs that whoever planned the program knows, samples of which were computed in the clear; it is
    below what any inputs could give.
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
    promised: Annotated[float, Field(gt=0)] | None = None

    @property
    def depth(self) -> int:
        """Levels that it takes."""
        return 1

    @property
    def bound(self) -> float | None:
        """Of the results, the promise counted."""
        known = [b for b in (self.output_bound, self.promised) if b is not None]
        return min(known, default=None)

    @property
    def sums(self) -> MatvecSums | None:
        """What predictions of errors need, if the program says it."""
        known = (self.output_bound, self.square, self.norm, self.rotated_norm)
        return None if None in known else MatvecSums(*known)  # type: ignore[arg-type]


class SquareStep(Frozen):
    """A squaring of a program."""

    kind: Literal["square"] = "square"
    level: Annotated[int, Field(ge=1, le=63)]
    log_input_scale: LogScale | None = None

    @property
    def depth(self) -> int:
        """Levels that it takes."""
        return 1


class PolynomialStep(Frozen):
    """A polynomial of every slot, of programs of version 3.

    The coefficients are of Chebyshev polynomials on [-input_bound, input_bound]. They are public, as all of a program.
    `interval` is where the polynomial stands for another function, of steps whose inputs may leave it; others lack it.
    """

    kind: Literal["polynomial"] = "polynomial"
    level: Annotated[int, Field(ge=1, le=63)]
    coefficients: Annotated[list[Coefficient], Field(min_length=2, max_length=MAX_DEGREE + 1)]
    baby: Annotated[int, Field(ge=2, le=64)]
    log_input_scale: LogScale
    log_output_scale: LogScale
    input_bound: Annotated[float, Field(gt=0, le=2.0**100)]
    interval: tuple[float, float] | None = None

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    @property
    def depth(self) -> int:
        """Levels that it takes."""
        return depth(self.degree)


Step = LinearStep | SquareStep | PolynomialStep
