# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials of one variable as layers: exact changes of basis, bounds that hold between points."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

Array = npt.NDArray[np.float64]

#: Largest degree of a polynomial layer.
MAX_DEGREE = 63

#: Points of the grid that bounds of a polynomial are taken from, per degree.
_POINTS = 32


class Polynomial:
    """y = c_0 + c_1 x + ... + c_d x^d, slot by slot: an activation that encryption computes.

    Args:
        coefficients: c_0 ... c_d, the lowest first; degree 1 ... 63 after zeros at the end are dropped.

    Raises:
        ShapeError, ringforge.ValueError: no vector of finite numbers; degree 0 or above 63; a number so large that
        the polynomial has no finite value at 1.

    Attributes:
        series: the numbers that define it: coefficients of powers, or, with an interval, of Chebyshev polynomials.
        interval: None, or the interval that Chebyshev polynomials of a `chebyshev` layer belong to, and that its
            inputs are meant to lie in.
        stands_for: the function that it approximates, where it was made as an approximation: "leaky_relu with alpha
            0.01". Files do not keep it.
    """

    def __init__(self, coefficients: npt.ArrayLike) -> None:
        self.series: Array = _series(coefficients)
        self.interval: tuple[float, float] | None = None
        self.stands_for = ""

    @classmethod
    def chebyshev(cls, coefficients: npt.ArrayLike, interval: tuple[float, float]) -> Polynomial:
        """y = sum of c_k T_k(u), u running over [-1, 1] as x does over the interval.

        High degrees need this form: the same polynomial's coefficients of powers are huge and cancel.

        Raises:
            as Polynomial; ParameterError: the interval is empty or not finite.
        """
        made = cls(coefficients)
        made.interval = checked_interval(interval)
        return made

    @property
    def degree(self) -> int:
        return len(self.series) - 1

    @cached_property
    def coefficients(self) -> Array:
        """c_0 ... c_d of powers of x, rounded from the exact ones."""
        if self.interval is None:
            return self.series
        try:
            return np.array([float(c) for c in self._powers])
        except OverflowError:
            low, high = self.interval
            raise RingforgeValueError(
                f"as powers of x the series on [{low:g}, {high:g}] has coefficients above 2^1024: take a wider interval"
            ) from None

    @cached_property
    def _powers(self) -> list[Fraction]:
        """Exact coefficients of powers of x."""
        given = [Fraction(float(c)) for c in self.series]
        if self.interval is None:
            return given
        low, high = map(Fraction, self.interval)
        slope, shift = 2 / (high - low), -(high + low) / (high - low)
        total = [Fraction(0)] * len(given)
        before, now = [Fraction(0)], [Fraction(1)]
        for k, c in enumerate(given):
            for i, a in enumerate(now):
                total[i] += c * a
            doubled = 1 if k == 0 else 2
            after = [Fraction(0)] * (len(now) + 1)
            for i, a in enumerate(now):
                after[i] += doubled * shift * a
                after[i + 1] += doubled * slope * a
            for i, a in enumerate(before):
                after[i] -= a if k else 0
            before, now = now, after
        return total

    def exact(self, x: float | Fraction) -> Fraction:
        """The value at a point, in fractions: what results are held against."""
        value = Fraction(0)
        for c in reversed(self._powers):
            value = value * Fraction(x) + c
        return value

    def on(self, low: float, high: float) -> Array:
        """Its Chebyshev coefficients on an interval: exact ones, each rounded to a double once."""
        if self.interval == (low, high):
            return self.series
        middle, half = (Fraction(high) + Fraction(low)) / 2, (Fraction(high) - Fraction(low)) / 2
        value: list[Fraction] = [Fraction(0)]
        for c in reversed(self._powers):  # Horner's rule on series: times x = middle + half * u, plus c
            grown = [Fraction(0)] * (len(value) + 1)
            for i, a in enumerate(value):
                grown[i] += middle * a
                grown[i + 1] += half * a * (1 if i == 0 else Fraction(1, 2))
                if i:
                    grown[i - 1] += half * a / 2
            grown[0] += c
            value = grown
        try:
            out = np.array([float(c) for c in value[: len(self.series)]])
        except OverflowError:
            raise RingforgeValueError(
                f"the polynomial of degree {self.degree} exceeds 2^1024 on [{low:g}, {high:g}]: bound its inputs"
            ) from None
        return out

    def __call__(self, x: npt.ArrayLike) -> Array:
        """Its values in the clear: Horner's rule on powers, Clenshaw's on Chebyshev polynomials."""
        at = real_numbers(x, "inputs")
        if self.interval is None:
            return np.asarray(np.polynomial.polynomial.polyval(at, self.series), dtype=np.float64)
        low, high = self.interval
        u = (2 * at - (low + high)) / (high - low)
        return np.asarray(np.polynomial.chebyshev.chebval(u, self.series), dtype=np.float64)

    def output_bound(self, input_bound: float) -> float:
        """Largest |y| for inputs of size at most `input_bound`, or a little more."""
        return series_bound(self.on(-input_bound, input_bound))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Polynomial)
            and self.interval == other.interval
            and bool(np.array_equal(self.series, other.series))
        )

    def __hash__(self) -> int:
        return hash((self.interval, self.series.tobytes()))

    def __repr__(self) -> str:
        where = "" if self.interval is None else f" on [{self.interval[0]:g}, {self.interval[1]:g}]"
        return f"Polynomial(degree {self.degree}{where})"


def checked_interval(interval: tuple[float, float]) -> tuple[float, float]:
    """An interval as two doubles.

    Raises:
        ParameterError: it is empty, not finite, or no pair.
    """
    ends = real_numbers(interval, "the interval's ends")
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise ParameterError(f"an interval is a pair of finite numbers, the smaller first, not {interval!r}")
    return float(ends[0]), float(ends[1])


def _series(coefficients: npt.ArrayLike) -> Array:
    c = real_numbers(coefficients, "coefficients")
    if c.ndim != 1:
        raise ShapeError(f"coefficients must be a vector, the lowest first, not of shape {c.shape}")
    with np.errstate(over="ignore"):
        total = np.abs(c).sum()
    if not np.isfinite(total):
        raise RingforgeValueError("coefficients must be finite numbers, and so their sum")
    used = np.flatnonzero(c)
    degree = int(used[-1]) if used.size else 0
    if not 1 <= degree <= MAX_DEGREE:
        raise ShapeError(
            f"a polynomial layer has a degree of 1 ... {MAX_DEGREE}, this one {degree}"
            + ("; a constant needs no encryption" if degree == 0 else ": take an approximation of a lower degree")
        )
    return np.ascontiguousarray(c[: degree + 1])


def series_bound(series: npt.ArrayLike) -> float:
    """Largest |sum of c_k T_k| on [-1, 1], at most 0.2 % too large.

    A polynomial of degree d is at most 1/cos(pi d/(2M)) times its largest value at cos(pi j/M), j = 0 ... M (Ehlich and
    Zeller, 1964).
    """
    c = np.asarray(series, dtype=np.float64)
    degree = max(len(c) - 1, 1)
    count = _POINTS * degree
    points = np.cos(np.pi * np.arange(count + 1) / count)
    most = float(np.abs(np.polynomial.chebyshev.chebval(points, c)).max())
    # What doubles do in Clenshaw's rule is below (2d + 2) units for each coefficient.
    rounding = (2 * degree + 2) * 2.0**-52 * float(np.abs(c).sum())
    return min(float(np.abs(c).sum()), most / float(np.cos(np.pi * degree / (2 * count))) + rounding)
