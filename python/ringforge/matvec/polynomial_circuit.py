# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials on ciphertexts: Paterson and Stockmeyer's method on Chebyshev polynomials, of the least depth.

One circuit, run by whatever has the operations: the native library's evaluator, its rules of noise, and a count.
docs/ckks.md has the method, its levels and scales.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ringforge import _native
from ringforge._native import Context, Metadata, MetadataRules, RelinKey
from ringforge.matvec.polynomial import series_bound


def depth(degree: int) -> int:
    """Levels that a polynomial takes: ceil(log2(degree + 1)), the least there is with plain coefficients."""
    return degree.bit_length()


class Operations(Protocol):
    """What the circuit needs; values have `level` and `scale`."""

    def drop(self, x: Any, level: int) -> Any:
        """At a lower level."""

    def add(self, x: Any, y: Any) -> Any:
        """Sum at one scale."""

    def sub(self, x: Any, y: Any) -> Any:
        """Difference at one scale."""

    def add_number(self, x: Any, value: float) -> Any:
        """Plus a constant."""

    def times_number(self, x: Any, value: float, scale: float) -> Any:
        """Times a constant encoded at a scale."""

    def multiply(self, x: Any, y: Any) -> Any:
        """Product, of three parts."""

    def rescale(self, x: Any, bound: float) -> Any:
        """Relinearised if it has three parts, divided by the last prime, known to be at most `bound`."""

    def read_as(self, x: Any, scale: float, bound: float) -> Any:
        """The same at another scale and bound."""


@dataclass(frozen=True)
class Circuit:
    """How a polynomial is evaluated.

    Attributes:
        series: Chebyshev coefficients on [-input_bound, input_bound].
        level: of the input; the result is `depth` lower.
        baby: a power of two; series of a lower degree are sums of multiples of T_1 ... T_{baby - 1}, where levels
            allow.
        input_scale, output_scale: of values.
        input_bound: of values.
    """

    series: tuple[float, ...]
    level: int
    baby: int
    input_scale: float
    output_scale: float
    input_bound: float

    @property
    def depth(self) -> int:
        return depth(len(self.series) - 1)

    def run(self, ops: Operations, x: Any, primes: Sequence[int]) -> Any:
        """The polynomial of a value, by these operations."""
        # x at scale D is u = x/B at scale D·B: the same polynomials, nothing is computed.
        start = ops.read_as(x, self.input_scale * self.input_bound, 1.0)
        out = _Run(self, ops, primes, {1: start}).block(
            np.array(self.series), self.level - self.depth, self.output_scale
        )
        return ops.read_as(out, self.output_scale, series_bound(self.series))


class _Run:
    """One evaluation; keeps the Chebyshev polynomials that it has made."""

    def __init__(self, circuit: Circuit, ops: Operations, primes: Sequence[int], made: dict[int, Any]) -> None:
        self.circuit, self.ops, self.primes, self.made = circuit, ops, primes, made

    def block(self, series: Any, level: int, scale: float) -> Any:
        """The series at a level and scale: one prime is dropped."""
        total = self.raw(series, level + 1, scale * self.primes[level + 1])
        return self.ops.rescale(total, series_bound(series))

    def raw(self, series: Any, level: int, scale: float) -> Any:
        """The series before its rescale; its last coefficient is not zero, and of degree 1 at least."""
        degree = len(series) - 1
        used = [k for k in range(1, degree + 1) if series[k]]
        if degree < self.circuit.baby and all(self.level_of(k) >= level for k in used):
            return self.combined(series, used, level, scale)
        step = 1 << (degree.bit_length() - 1)  # the largest power of two up to the degree
        quotient, rest = divided(series, step)
        giant = self.chebyshev(step)
        if len(quotient) == 1:
            term = self.ops.times_number(self.ops.drop(giant, level), float(quotient[0]), scale / giant.scale)
        else:
            term = self.ops.multiply(self.block(quotient, level, scale / giant.scale), self.ops.drop(giant, level))
        other = self.raw(rest, level, scale) if rest[1:].any() else None
        if other is not None:
            return self.ops.add(term, other)
        return self.ops.add_number(term, float(rest[0])) if rest[0] else term

    def combined(self, series: Any, used: Sequence[int], level: int, scale: float) -> Any:
        """A sum of multiples of Chebyshev polynomials."""
        total = None
        for k in used:
            x = self.chebyshev(k)
            term = self.ops.times_number(self.ops.drop(x, level), float(series[k]), scale / x.scale)
            total = term if total is None else self.ops.add(total, term)
        return self.ops.add_number(total, float(series[0])) if series[0] else total

    def level_of(self, k: int) -> int:
        """Level of T_k: as many products one after the other as log2 k, rounded up."""
        return self.circuit.level - (k - 1).bit_length()

    def chebyshev(self, k: int) -> Any:
        """T_k(u): T_{a+b} = 2·T_a·T_b - T_{a-b}, a the largest power of two below k."""
        if k not in self.made:
            a = 1 << ((k - 1).bit_length() - 1)
            b = k - a
            x, y, level = self.chebyshev(a), self.chebyshev(b), self.level_of(k) + 1
            product = self.ops.multiply(self.ops.drop(x, level), self.ops.drop(y, level))
            product = self.ops.add(product, product)
            if a == b:
                product = self.ops.add_number(product, -1.0)
            else:
                less = self.chebyshev(a - b)
                less = self.ops.times_number(self.ops.drop(less, level), 1.0, product.scale / less.scale)
                product = self.ops.sub(product, less)
            self.made[k] = self.ops.rescale(product, 1.0)
        return self.made[k]


def divided(series: Any, step: int) -> tuple[Any, Any]:
    """Quotient and remainder of a series of degree below 2·step by T_step, the remainder without zeros at its end.

    T_{step+i} = 2·T_step·T_i - T_{step-i}.
    """
    quotient, rest = np.array(series[step:], dtype=np.float64), np.array(series[:step], dtype=np.float64)
    for i in range(1, len(quotient)):
        rest[step - i] -= quotient[i]
        quotient[i] *= 2
    used = np.flatnonzero(rest)
    return quotient, rest[: int(used[-1]) + 1] if used.size else rest[:1]


# ---- who runs it ----


class NativeOperations:
    """On ciphertexts."""

    def __init__(self, context: Context, relin: RelinKey, threads: int) -> None:
        self.ev, self.relin = _native.Evaluator(context, threads), relin

    def drop(self, x: Any, level: int) -> Any:
        return x if x.level == level else self.ev.drop_to_level(x, level)

    def add(self, x: Any, y: Any) -> Any:
        return self.ev.add(x, y)

    def sub(self, x: Any, y: Any) -> Any:
        return self.ev.sub(x, y)

    def add_number(self, x: Any, value: float) -> Any:
        return self.ev.add_scalar(x, value)

    def times_number(self, x: Any, value: float, scale: float) -> Any:
        return self.ev.mul_scalar(x, value, scale)

    def multiply(self, x: Any, y: Any) -> Any:
        return self.ev.mul(x, y)

    def rescale(self, x: Any, bound: float) -> Any:
        y = self.ev.rescale(self.ev.relinearize(x, self.relin) if x.size == 3 else x)
        return self.ev.read_as(y, y.scale, bound)

    def read_as(self, x: Any, scale: float, bound: float) -> Any:
        return self.ev.read_as(x, scale, bound)


@dataclass(frozen=True)
class Symbol:
    """What stands for a ciphertext: level, metadata, parts."""

    level: int
    known: Metadata
    parts: int = 2

    @property
    def scale(self) -> float:
        return float(self.known.scale)


@dataclass
class SymbolOperations:
    """On metadata: predicted noise, by the rules that operations follow, and what is done at which level.

    Attributes:
        products: levels of products of ciphertexts, each with a relinearisation later on.
        switches, rescales: levels of relinearisations and rescales.
        least: smallest distance in bits, over all rescales, between the largest value and half the modulus.
    """

    context: Context
    products: list[int] = field(default_factory=list)
    switches: list[int] = field(default_factory=list)
    rescales: list[int] = field(default_factory=list)
    least: float = float("inf")

    def __post_init__(self) -> None:
        self.rules = MetadataRules(self.context)
        self.log_q = np.cumsum([np.log2(float(q)) for q in self.context.params.q])

    def drop(self, x: Symbol, level: int) -> Symbol:
        return replace(x, level=level)

    def add(self, x: Symbol, y: Symbol) -> Symbol:
        return Symbol(x.level, self.rules.sum(x.known, y.known), max(x.parts, y.parts))

    sub = add

    def add_number(self, x: Symbol, value: float) -> Symbol:
        return replace(x, known=self.rules.number_sum(x.known, value))

    def times_number(self, x: Symbol, value: float, scale: float) -> Symbol:
        return replace(x, known=self.rules.number_product(x.known, value, scale))

    def multiply(self, x: Symbol, y: Symbol) -> Symbol:
        self.products.append(x.level)
        return Symbol(x.level, self.rules.product(x.known, y.known), 3)

    def rescale(self, x: Symbol, bound: float) -> Symbol:
        known = x.known
        if x.parts == 3:
            self.switches.append(x.level)
            known = self.rules.switched(known, x.level + 1)
        self.rescales.append(x.level)
        known = self.rules.rescaled(known, x.level + 1)
        known = self.rules.read_as(known, known.scale, bound)
        # The largest value, at the level that it is used at.
        room = float(self.log_q[x.level - 1]) - 1 - np.log2(known.scale * bound)
        self.least = min(self.least, float(room))
        return Symbol(x.level - 1, known)

    def read_as(self, x: Symbol, scale: float, bound: float) -> Symbol:
        return replace(x, known=self.rules.read_as(x.known, scale, bound))


@functools.lru_cache(maxsize=256)
def best_baby(series: tuple[float, ...]) -> int:
    """The number of baby steps, a power of two, with the fewest products; the smallest of equally good ones."""
    babies = [1 << k for k in range(1, depth(len(series) - 1) + 1)]
    return min(babies, key=lambda baby: (products(series, baby), baby))


@functools.lru_cache(maxsize=256)
def products(series: tuple[float, ...], baby: int) -> int:
    """Products of ciphertexts, each with a relinearisation."""
    top, count = depth(len(series) - 1), _Count()
    Circuit(series, top, baby, 1.0, 1.0, 1.0).run(count, _Counted(top), [1] * (top + 1))
    return count.products


@dataclass(frozen=True)
class _Counted:
    level: int
    scale: float = 1.0


class _Count:
    """Counts products; values are levels."""

    def __init__(self) -> None:
        self.products = 0

    def drop(self, x: _Counted, level: int) -> _Counted:
        assert x.level >= level
        return _Counted(level)

    def add(self, x: _Counted, y: _Counted) -> _Counted:
        assert x.level == y.level
        return x

    sub = add

    def add_number(self, x: _Counted, value: float) -> _Counted:  # noqa: ARG002
        return x

    def times_number(self, x: _Counted, value: float, scale: float) -> _Counted:  # noqa: ARG002
        return x

    def multiply(self, x: _Counted, y: _Counted) -> _Counted:
        self.products += 1
        return self.add(x, y)

    def rescale(self, x: _Counted, bound: float) -> _Counted:  # noqa: ARG002
        return _Counted(x.level - 1)

    def read_as(self, x: _Counted, scale: float, bound: float) -> _Counted:  # noqa: ARG002
        return x
