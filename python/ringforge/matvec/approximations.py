# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials instead of activations that encryption cannot compute, with the largest error on an interval.

>>> from ringforge.matvec import approximations
>>> relu = approximations.relu(degree=7, interval=(-4, 4))
>>> relu.polynomial
Polynomial(degree 7 on [-4, 4])
>>> 0.05 < relu.error < 0.2
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError
from ringforge.matvec import functions
from ringforge.matvec.polynomial import MAX_DEGREE, Polynomial, checked_interval, series_bound

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

#: Points that errors are measured at.
_GRID = 1 << 14

#: Points that Remez's exchange looks at, per degree.
_DENSE = 64


@dataclass(frozen=True)
class Approximation:
    """A polynomial for a function on an interval.

    Attributes:
        name: of the function.
        parameters: numbers that the function is chosen by, with their names: (("alpha", 0.01),) of a leaky ReLU.
        polynomial: the layer; with inputs outside the interval it is no approximation.
        interval: where it is one.
        error: largest |function - polynomial| on the whole interval, derived: measured, and what it can grow to between
            two points.
        measured: largest of those at 16,384 points.
    """

    name: str
    polynomial: Polynomial
    interval: tuple[float, float]
    error: float
    measured: float
    parameters: tuple[tuple[str, float], ...] = ()

    @property
    def degree(self) -> int:
        return self.polynomial.degree

    def __repr__(self) -> str:
        low, high = self.interval
        of = described(self.name, self.parameters)
        return f"Approximation({of}, degree {self.degree} on [{low:g}, {high:g}], error {self.error:.3g})"


def relu(degree: int, interval: tuple[float, float] = (-1.0, 1.0)) -> Approximation:
    """max(x, 0). The error falls as 1/degree: about 0.14 · (length / 2) / degree on an interval around 0."""
    return _approximate("relu", functions.relu, 0.0, (0.0,), degree, interval)


def sigmoid(degree: int, interval: tuple[float, float] = (-4.0, 4.0)) -> Approximation:
    """1/(1 + exp(-x)). Even degrees are no better than the odd one below on an interval around 0."""
    # |f''| is largest where f = (3 ± sqrt 3)/6: sqrt(3)/18.
    return _approximate("sigmoid", functions.sigmoid, math.sqrt(3) / 18, (), degree, interval)


def tanh(degree: int, interval: tuple[float, float] = (-2.0, 2.0)) -> Approximation:
    """The hyperbolic tangent."""
    return _approximate("tanh", np.tanh, 4 / math.sqrt(27), (), degree, interval)


def gelu(degree: int, interval: tuple[float, float] = (-4.0, 4.0), *, approximate: str = "none") -> Approximation:
    """x·Φ(x), Φ the distribution function of the normal distribution, or with `approximate` "tanh" the form that has
    a tanh in its place, which differs by up to 0.0005.

    Raises:
        ParameterError: `approximate` is neither "none" nor "tanh".
    """
    if approximate not in ("none", "tanh"):
        raise ParameterError(f'approximate is "none" or "tanh", as ONNX and PyTorch have it, not {approximate!r}')
    # f'' = (2 - x²)·φ(x), largest at 0.
    if approximate == "none":
        return _approximate("gelu", functions.gelu, 0.798, (), degree, interval)
    return _approximate("gelu_tanh", functions.gelu_tanh, 0.798, (), degree, interval)


def erf(degree: int, interval: tuple[float, float] = (-2.0, 2.0)) -> Approximation:
    """The error function. GELU has it inside: where an exporter writes one as Div, Erf, Add, Mul, take `gelu`."""
    # f'' = -4x/sqrt(pi) exp(-x²), largest at 1/sqrt(2).
    return _approximate("erf", functions.erf, 0.968, (), degree, interval)


def leaky_relu(degree: int, interval: tuple[float, float] = (-1.0, 1.0), *, alpha: float = 0.01) -> Approximation:
    """x, times alpha below 0. The error is 1 - alpha times that of `relu`."""
    a = _number(alpha, "alpha")
    return _approximate("leaky_relu", functions.leaky_relu(a), 0.0, (0.0,), degree, interval, alpha=a)


def elu(degree: int, interval: tuple[float, float] = (-4.0, 4.0), *, alpha: float = 1.0) -> Approximation:
    """x, below 0 alpha·(exp(x) - 1)."""
    a = _number(alpha, "alpha")
    return _approximate("elu", functions.elu(a), abs(a), (0.0,), degree, interval, alpha=a)


def selu(degree: int, interval: tuple[float, float] = (-4.0, 4.0)) -> Approximation:
    """The scaled ELU with the constants of its authors, 1.0507 and 1.6733."""
    return _approximate("selu", functions.selu, 1.7581, (0.0,), degree, interval)


def celu(degree: int, interval: tuple[float, float] = (-4.0, 4.0), *, alpha: float = 1.0) -> Approximation:
    """x, below 0 alpha·(exp(x/alpha) - 1); alpha is above 0."""
    a = _number(alpha, "alpha", positive=True)
    return _approximate("celu", functions.celu(a), 1 / a, (0.0,), degree, interval, alpha=a)


def softplus(degree: int, interval: tuple[float, float] = (-4.0, 4.0)) -> Approximation:
    """log(1 + exp(x))."""
    return _approximate("softplus", functions.softplus, 0.25, (), degree, interval)


def softsign(degree: int, interval: tuple[float, float] = (-4.0, 4.0)) -> Approximation:
    """x/(1 + |x|)."""
    return _approximate("softsign", functions.softsign, 2.0, (0.0,), degree, interval)


def hard_sigmoid(
    degree: int, interval: tuple[float, float] = (-4.0, 4.0), *, alpha: float = 0.2, beta: float = 0.5
) -> Approximation:
    """alpha·x + beta, cut off below 0 and above 1. PyTorch's alpha is 1/6."""
    a, b = _number(alpha, "alpha", nonzero=True), _number(beta, "beta")
    kinks = (-b / a, (1 - b) / a)
    return _approximate("hard_sigmoid", functions.hard_sigmoid(a, b), 0.0, kinks, degree, interval, alpha=a, beta=b)


def hard_swish(degree: int, interval: tuple[float, float] = (-4.0, 4.0)) -> Approximation:
    """x times (x/6 + 1/2, cut off below 0 and above 1)."""
    return _approximate("hard_swish", functions.hard_swish, 1 / 3, (-3.0, 3.0), degree, interval)


def swish(degree: int, interval: tuple[float, float] = (-4.0, 4.0), *, alpha: float = 1.0) -> Approximation:
    """x/(1 + exp(-alpha·x)); with alpha 1 also known as SiLU."""
    a = _number(alpha, "alpha", nonzero=True)
    # |f''| is largest at 0.
    return _approximate("swish", functions.swish(a), abs(a) * 0.5001, (), degree, interval, alpha=a)


def mish(degree: int, interval: tuple[float, float] = (-4.0, 4.0)) -> Approximation:
    """x·tanh(log(1 + exp(x)))."""
    return _approximate("mish", functions.mish, 0.6443, (), degree, interval)


def clip(
    degree: int, interval: tuple[float, float] = (-4.0, 4.0), *, low: float = -1.0, high: float = 1.0
) -> Approximation:
    """x, cut off below `low` and above `high`: ReLU6 with 0 and 6, Hardtanh with -1 and 1.

    Raises:
        ParameterError: `low` is not below `high`.
    """
    a, b = _number(low, "low"), _number(high, "high")
    if a >= b:
        raise ParameterError(f"low must be below high, not {a:g} and {b:g}")
    return _approximate("clip", functions.clip(a, b), 0.0, (a, b), degree, interval, low=a, high=b)


def described(name: str, parameters: Sequence[tuple[str, float]]) -> str:
    """A function as messages name it: leaky_relu with alpha 0.01."""
    return name + "".join(f"{', ' if i else ' with '}{key} {v:g}" for i, (key, v) in enumerate(parameters))


def _number(value: float, name: str, *, positive: bool = False, nonzero: bool = False) -> float:
    number = real_numbers(value, name)
    if number.shape != () or not np.isfinite(number) or (positive and number <= 0) or (nonzero and number == 0):
        raise ParameterError(
            f"{name} is a finite number{' above 0' if positive else ' other than 0' if nonzero else ''}, not {value!r}"
        )
    return float(number)


def _approximate(
    name: str,
    f: Function,
    curvature: float,
    kinks: tuple[float, ...],
    degree: int,
    interval: tuple[float, float],
    **parameters: float,
) -> Approximation:
    """The best polynomial that Remez's exchange finds, or Chebyshev's interpolant where that is better.

    Args:
        curvature: largest |f''| between kinks.
        kinks: where f has no derivative; grids have points there.
    """
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not 1 <= degree <= MAX_DEGREE:
        raise ParameterError(f"the degree of an approximation is a whole number 1 ... {MAX_DEGREE}, not {degree!r}")
    low, high = checked_interval(interval)
    half, middle = (high - low) / 2, (high + low) / 2
    bends = np.array([(k - middle) / half for k in kinks if low < k < high])

    def g(u: Array) -> Array:
        return f(middle + half * u)

    best: Approximation | None = None
    for series in (_interpolant(g, int(degree)), _remez(g, int(degree), bends)):
        series = np.where(np.abs(series) < 2.0**-60 * np.abs(series).max(), 0.0, series)
        if not np.isfinite(series).all() or not series[1:].any():
            continue
        measured, error = _errors(g, series, curvature * half * half, bends)
        if best is None or error < best.error:
            layer = Polynomial.chebyshev(series, (low, high))
            layer.stands_for = described(name, tuple(parameters.items()))
            best = Approximation(name, layer, (low, high), error, measured, tuple(parameters.items()))
    if best is None:
        raise ParameterError(
            f"{described(name, tuple(parameters.items()))} on [{low:g}, {high:g}] is a constant for degree {degree}: "
            "take a higher degree or another interval"
        )
    return best


def _interpolant(g: Function, degree: int) -> Array:
    """The polynomial that meets g at the zeros of the next Chebyshev polynomial."""
    points = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    basis = np.polynomial.chebyshev.chebvander(points, degree)
    found = 2 / (degree + 1) * (basis.T @ g(points))
    found[0] /= 2
    return np.asarray(found, dtype=np.float64)


def _remez(g: Function, degree: int, bends: Array) -> Array:
    """Remez's exchange on a dense grid: the series of least largest error found in 40 rounds."""
    count = _DENSE * (degree + 2)
    points = np.union1d(-np.cos(np.pi * np.arange(count + 1) / count), bends)
    values = g(points)
    basis = np.polynomial.chebyshev.chebvander(points, degree)
    chosen = np.searchsorted(points, -np.cos(np.pi * np.arange(degree + 2) / (degree + 1)))
    best, least = _interpolant(g, degree), math.inf
    for _ in range(40):
        system = np.hstack([basis[chosen], ((-1.0) ** np.arange(degree + 2))[:, None]])
        try:
            found = np.linalg.solve(system, values[chosen])
        except np.linalg.LinAlgError:
            break
        error = values - basis @ found[:-1]
        largest = float(np.abs(error).max())
        if largest < least:
            best, least = found[:-1], largest
        if largest <= abs(found[-1]) * (1 + 1e-6):
            break
        # The largest error of each run of one sign; of these, neighbours so that the largest are kept.
        starts = np.flatnonzero(np.diff(np.sign(error))) + 1
        runs = np.split(np.arange(len(points)), starts)
        peaks = [int(run[np.abs(error[run]).argmax()]) for run in runs]
        while len(peaks) > degree + 2:
            if len(peaks) - (degree + 2) == 1:
                peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
            else:
                least_pair = min(
                    range(len(peaks) - 1), key=lambda i: max(abs(error[peaks[i]]), abs(error[peaks[i + 1]]))
                )
                del peaks[least_pair : least_pair + 2]
        if len(peaks) < degree + 2:
            break
        chosen = np.array(peaks)
    return np.asarray(best, dtype=np.float64)


def _errors(g: Function, series: Array, curvature: float, bends: Array) -> tuple[float, float]:
    """Largest error at the grid's points, and a bound of it everywhere on [-1, 1].

    Between points at distance h a function with |e''| <= c is at most c·h²/8 above the larger of its two ends.
    """
    points = np.union1d(np.linspace(-1, 1, _GRID), bends)
    measured = float(np.abs(g(points) - np.polynomial.chebyshev.chebval(points, series)).max())
    second = np.polynomial.chebyshev.chebder(series, 2) if len(series) > 2 else np.zeros(1)
    step = float(np.diff(points).max())
    between = step * step / 8 * (curvature + series_bound(second))
    rounding = 2.0**-50 * (float(np.abs(series).sum()) * len(series) + 1)
    return measured, measured + between + rounding


__all__ = [
    "Approximation",
    "celu",
    "clip",
    "elu",
    "erf",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "mish",
    "relu",
    "selu",
    "sigmoid",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]
