# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits of exclusive sums and products of bits, as data, for schemes whose products cost levels.

A value is a bit of each of many computations side by side. Values are numbers: the inputs come first; then those of
level 0, 1, ...: first its sums, then its results. A product takes two values of a level; a result is a sum of products
and of values of that level, relinearised once however many they are, and belongs to the next level. A value that is
used further down than where it arose is carried down: one modulus switch from where it was used before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError, ShapeError

Bits = npt.NDArray[np.uint8]
V = TypeVar("V")
P = TypeVar("P")


@dataclass(frozen=True)
class Sum:
    """The exclusive sum of values, each at most once, and of a constant.

    Args:
        terms: numbers of values, ascending.
        constant: 0 or 1.
    """

    terms: tuple[int, ...]
    constant: int = 0


@dataclass(frozen=True)
class Result:
    """The exclusive sum of products and values of a level, relinearised to the next.

    Args:
        products: places in the level's list of products.
        values: numbers of values.
    """

    products: tuple[int, ...]
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Level:
    """What happens between two relinearisations.

    Args:
        sums: new values of this level. They may use sums before them.
        products: pairs of values.
        results: values of the next level.
    """

    sums: tuple[Sum, ...]
    products: tuple[tuple[int, int], ...]
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Counts:
    """What a circuit takes.

    Attributes:
        depth: levels of products.
        products: products.
        relinearizations: results.
        switches: modulus switches: of each result, and of each value that is carried down to each level where it is
            used.
        switches_added_after: the same when a result's values are added after its switch and not before it, so that
            they have to be carried down to where it goes.
        switches_by_prime: the same as `switches`, when a switch drops one prime and those over several levels count as
            several.
        additions: exclusive sums of two, the sums of products among them.
    """

    depth: int
    products: int
    relinearizations: int
    switches: int
    switches_added_after: int
    switches_by_prime: int
    additions: int


@dataclass(frozen=True)
class Summands:
    """How many fresh values, inputs or results, the operands of a level's products are sums of: how noise grows.

    Attributes:
        largest: the greatest number.
        rms: root mean square over operands.
        largest_product: the greatest product of the numbers of two operands.
        largest_result: the greatest number of products in a result.
    """

    largest: int
    rms: float
    largest_product: int
    largest_result: int


class Backend(Protocol, Generic[V, P]):
    """What runs circuits: V are values, P products before relinearisation."""

    def add(self, values: Sequence[V], constant: int) -> V:
        """The exclusive sum of one or more values of one level, and of the constant."""

    def multiply(self, a: V, b: V) -> P:
        """A product, not relinearised."""

    def relinearize(self, products: Sequence[P], values: Sequence[V]) -> V:
        """The exclusive sum of products and values of one level, as a value of the next."""

    def carry(self, value: V, levels: int) -> V:
        """The same value, that many levels further down."""


@dataclass(frozen=True)
class Carry:
    """A value that is brought down: from the level where it is, to that where it is used next."""

    value: int
    start: int
    end: int


@dataclass(frozen=True)
class Circuit:
    """A circuit.

    Args:
        name: for people.
        inputs: how many.
        levels: the first begins with the inputs.
        outputs: sums of values at the level after the last.
        input_level: for each input the level at which it is given; 0 for all when it is empty.

    Raises:
        ParameterError: a number of a value or product that does not exist there, values twice or out of order, a sum
        of none.
    """

    name: str
    inputs: int
    levels: tuple[Level, ...]
    outputs: tuple[Sum, ...]
    input_level: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.input_level and len(self.input_level) != self.inputs:
            raise ParameterError(f"{self.name} has {self.inputs} inputs and levels for {len(self.input_level)}")
        known = self.inputs
        for at, level in enumerate(self.levels):
            for s in level.sums:
                if not s.terms:
                    raise ParameterError(f"{self.name}: a sum of level {at} is a sum of nothing")
                self._check_terms(s.terms, known, at)
                known += 1
            for pair in level.products:
                self._check_terms(pair, known, at, ordered=False)
            for r in level.results:
                self._check_terms(r.values, known, at)
                if not r.products and not r.values:
                    raise ParameterError(f"{self.name}: a result of level {at} is a sum of nothing")
                if any(not 0 <= p < len(level.products) for p in r.products):
                    raise ParameterError(f"{self.name}: a result of level {at} sums products that level does not have")
            known += len(level.results)
        for s in self.outputs:
            if not s.terms:
                raise ParameterError(f"{self.name}: an output is a sum of nothing")
            self._check_terms(s.terms, known, self.depth)

    def _check_terms(self, terms: Sequence[int], known: int, at: int, ordered: bool = True) -> None:
        for v in terms:
            if not 0 <= v < known or (v < len(self.input_level) and self.input_level[v] > at):
                raise ParameterError(f"{self.name}: value {v} is used at level {at}, where it is not yet known")
        if ordered and any(a >= b for a, b in pairwise(terms)):
            raise ParameterError(f"{self.name}: values {tuple(terms)} are to be ascending, each once")

    @property
    def depth(self) -> int:
        """Levels of products."""
        return len(self.levels)

    @cached_property
    def value_levels(self) -> tuple[int, ...]:
        """The level of each value when it arises."""
        found = list(self.input_level or (0,) * self.inputs)
        for at, level in enumerate(self.levels):
            found += [at] * len(level.sums) + [at + 1] * len(level.results)
        return tuple(found)

    def _uses(self, added_after: bool = False) -> list[tuple[int, int]]:
        """(value, level) for each use, in order of levels."""
        found: list[tuple[int, int]] = []
        for at, level in enumerate(self.levels):
            found += [(v, at) for s in level.sums for v in s.terms]
            found += [(v, at) for pair in level.products for v in pair]
            found += [(v, at + added_after) for r in level.results for v in r.values]
        found += [(v, self.depth) for s in self.outputs for v in s.terms]
        return sorted(found, key=lambda use: use[1])

    def carries(self, added_after: bool = False) -> tuple[Carry, ...]:
        """Values that are carried down, in the order of the levels they come to.

        Args:
            added_after: a result's values are added at the level it goes to.
        """
        now, found = list(self.value_levels), []
        for value, level in self._uses(added_after):
            if now[value] < level:
                found.append(Carry(value, now[value], level))
                now[value] = level
        return tuple(found)

    def counts(self) -> Counts:
        """What the circuit takes."""
        carries = self.carries()
        results = sum(len(lv.results) for lv in self.levels)
        sums = [s for lv in self.levels for s in lv.sums] + list(self.outputs)
        return Counts(
            depth=self.depth,
            products=sum(len(lv.products) for lv in self.levels),
            relinearizations=results,
            switches=results + len(carries),
            switches_added_after=results + len(self.carries(added_after=True)),
            switches_by_prime=results + sum(c.end - c.start for c in carries),
            additions=sum(max(0, len(s.terms) - 1) for s in sums)
            + sum(len(r.products) + len(r.values) - 1 for lv in self.levels for r in lv.results),
        )

    @cached_property
    def summands(self) -> tuple[Summands, ...]:
        """How many fresh values the operands of each level are sums of, each as often as it is added.

        A carried value counts as one: its switch took the noise of its summands down.
        """
        found, first = [], self.inputs
        for level in self.levels:
            fresh: dict[int, int] = {}
            for number, s in enumerate(level.sums, first):
                fresh[number] = sum(fresh.get(v, 1) for v in s.terms)
            size = [[fresh.get(v, 1) for v in pair] for pair in level.products]
            squares = [fresh.get(v, 1) ** 2 for v in {v for pair in level.products for v in pair}]
            found.append(
                Summands(
                    largest=max((max(pair) for pair in size), default=0),
                    rms=float(np.sqrt(np.mean(squares))) if squares else 0.0,
                    largest_product=max((a * b for a, b in size), default=0),
                    largest_result=max((len(r.products) for r in level.results), default=0),
                )
            )
            first += len(level.sums) + len(level.results)
        return tuple(found)

    def explain(self) -> str:
        """Levels, their products and relinearisations, and what is carried, as a table."""
        lines = [
            f"{self.name}: {self.inputs} inputs, {len(self.outputs)} outputs, depth {self.depth}",
            "level  sums  products  relinearisations  carried here  summands: most   rms  products summed: most",
        ]
        carries = self.carries()
        for at, (level, s) in enumerate(zip(self.levels, self.summands, strict=True)):
            lines.append(
                f"{at:>5}  {len(level.sums):>4}  {len(level.products):>8}  {len(level.results):>16}  "
                f"{sum(c.end == at for c in carries):>12}  {s.largest:>14}  {s.rms:>4.1f}  {s.largest_result:>21}"
            )
        c = self.counts()
        lines += [
            f"{c.products:,} products, {c.relinearizations:,} relinearisations, {c.additions:,} additions",
            f"{c.switches:,} modulus switches; {c.switches_added_after:,} if a result's values are added after its "
            f"switch; {c.switches_by_prime:,} if each drops one prime",
        ]
        return "\n".join(lines)

    # ---- running ----

    def run(
        self, backend: Backend[V, P], inputs: Sequence[V], progress: Callable[[int, int], None] | None = None
    ) -> list[V]:
        """The outputs, computed by a backend.

        A value is kept for as long as it is needed.

        Args:
            backend: what computes.
            inputs: values, at their levels.
            progress: called as progress(done, total) after each result.

        Raises:
            ShapeError: not as many inputs.
        """
        if len(inputs) != self.inputs:
            raise ShapeError(f"{self.name} takes {self.inputs} inputs, not {len(inputs)}")
        last = dict.fromkeys(range(self.inputs), -1)
        last.update(self._uses())  # the last use wins
        values: dict[int, V] = dict(enumerate(inputs))
        now = list(self.value_levels)
        number, done, total = self.inputs, 0, sum(len(lv.results) for lv in self.levels)

        def at_level(v: int, level: int) -> V:
            if now[v] < level:
                values[v] = backend.carry(values[v], level - now[v])
                now[v] = level
            return values[v]

        def summed(s: Sum, level: int) -> V:
            terms = [at_level(v, level) for v in s.terms]
            return terms[0] if len(terms) == 1 and not s.constant else backend.add(terms, s.constant)

        for at, level in enumerate(self.levels):
            for s in level.sums:
                values[number] = summed(s, at)
                number += 1
            products = [backend.multiply(at_level(a, at), at_level(b, at)) for a, b in level.products]
            for r in level.results:
                values[number] = backend.relinearize(
                    [products[p] for p in r.products], [at_level(v, at) for v in r.values]
                )
                number, done = number + 1, done + 1
                if progress:
                    progress(done, total)
            del products
            for v in [v for v in values if last.get(v, -1) <= at]:
                del values[v]
        return [summed(s, self.depth) for s in self.outputs]

    def clear(self, bits: Bits) -> Bits:
        """The outputs (outputs, ...) for inputs (inputs, ...) in the clear: the oracle for encrypted runs."""
        return np.array(self.run(_Clear(), list(np.asarray(bits, np.uint8))), np.uint8)


def shared(sums: Sequence[Sum], first: int) -> list[Sum]:
    """Sums over values below `first` with parts in common computed once (Paar, ISIT 1997).

    Nothing cancels, so every sum is still one of the same values, each once, and noise is what it was.

    Args:
        sums: over values below `first`.
        first: the number of the first sum in the result.

    Returns:
        Sums of two that are used below, then the given ones, in their order.
    """
    left = [set(s.terms) for s in sums]
    parts: list[Sum] = []
    while True:
        pairs = Counter(pair for terms in left for pair in combinations(sorted(terms), 2))
        pair, count = max(pairs.items(), key=lambda found: (found[1], found[0]), default=((0, 0), 0))
        if count < 2:
            return [*parts, *(Sum(tuple(sorted(terms)), s.constant) for terms, s in zip(left, sums, strict=True))]
        for terms in left:
            if terms.issuperset(pair):
                terms.difference_update(pair)
                terms.add(first + len(parts))
        parts.append(Sum(pair))


class _Clear:
    """Bits without encryption."""

    def add(self, values: Sequence[Bits], constant: int) -> Bits:
        result: Bits = np.bitwise_xor.reduce(np.array(values), axis=0) ^ np.uint8(constant)
        return result

    def multiply(self, a: Bits, b: Bits) -> Bits:
        return a & b

    def relinearize(self, products: Sequence[Bits], values: Sequence[Bits]) -> Bits:
        return self.add([*products, *values], 0)

    def carry(self, value: Bits, levels: int) -> Bits:  # noqa: ARG002 - the same bits at every level
        return value
