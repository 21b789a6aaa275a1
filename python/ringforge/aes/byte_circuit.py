# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits over AES's field GF(2^8), as data, for schemes whose slots hold bytes.

Values are numbered: the inputs first, then the results of steps in order. A step has a *stage*: all that is computed in
a stage is computed modulo the same primes, and between stages primes may go (`byte_plan` says how many). Where a value
is used does not go back in stages.

`run` gives steps to a machine: in the clear (`Clear`), on noise (`byte_plan`), on ciphertexts (`bgv_engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol, TypeVar

import numpy as np

from ringforge.aes import clear
from ringforge.aes.clear import Bytes
from ringforge.errors import ParameterError, ShapeError

V = TypeVar("V")

#: Coefficients c_0 ... c_7 of a map x -> sum of c_k x^(2^k): every GF(2)-linear map of bytes is one.
LinearMap = tuple[int, ...]

#: Bits of a byte, and Frobenius maps of its field.
BITS: Final = 8


@dataclass(frozen=True)
class Power:
    """source^(2^k), a Frobenius map. k from 1 to 7."""

    stage: int
    source: int
    k: int


@dataclass(frozen=True)
class Product:
    """A product of two values."""

    stage: int
    left: int
    right: int


@dataclass(frozen=True)
class Maps:
    """Several GF(2)-linear maps of one value, a result for each. Their Frobenius maps are shared."""

    stage: int
    source: int
    maps: tuple[LinearMap, ...]


@dataclass(frozen=True)
class Sum:
    """The sum of factor * value over `terms`, and of a constant. Factors and the constant are bytes; a value may come
    more than once."""

    stage: int
    terms: tuple[tuple[int, int], ...]
    constant: int = 0


Step = Power | Product | Maps | Sum


def operands(step: Step) -> tuple[int, ...]:
    """Numbers of the values that a step takes."""
    if isinstance(step, Product):
        return (step.left, step.right)
    if isinstance(step, Sum):
        return tuple(v for v, _ in step.terms)
    return (step.source,)


@dataclass(frozen=True)
class Counts:
    """What a circuit takes.

    Attributes:
        depth: the most products one after another. plain_depth: the most steps with plaintext factors.
        products: of two values, each relinearised.
        key_switches: relinearisations and automorphisms, each for itself.
        mod_ups, mod_downs: of them as they are computed, Frobenius maps of one value sharing a ModUp, each linear map
            summed before its division by P.
        plain_products: with constants.
    """

    depth: int
    plain_depth: int
    products: int
    key_switches: int
    mod_ups: int
    mod_downs: int
    plain_products: int

    def times(self, n: int) -> Counts:
        """Of n circuits side by side."""
        return Counts(
            self.depth,
            self.plain_depth,
            *(n * c for c in (self.products, self.key_switches, self.mod_ups, self.mod_downs, self.plain_products)),
        )


@dataclass(frozen=True)
class Circuit:
    """Steps in order.

    Args:
        name: for people. inputs: how many. stages: results belong to stage `stages`, after all steps' but for sums that
            are computed there.
        outputs: numbers of values.

    Raises:
        ParameterError: a value is used before it is made, or in a stage before one where it was used; no map of 8
            bytes; a stage beyond `stages`.
    """

    name: str
    inputs: int
    stages: int
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        seen = [0] * self.inputs
        for step in self.steps:
            if not 0 <= step.stage <= self.stages:
                raise ParameterError(f"{self.name}: stage {step.stage} of {self.stages}")
            for v in operands(step):
                if not 0 <= v < len(seen) or seen[v] > step.stage:
                    raise ParameterError(f"{self.name}: value {v} is not there, or gone to a later stage: {step}")
                seen[v] = step.stage
            if isinstance(step, Maps) and any(len(m) != BITS for m in step.maps):
                raise ParameterError(f"{self.name}: a linear map has {BITS} coefficients: {step}")
            seen += [step.stage] * (len(step.maps) if isinstance(step, Maps) else 1)
        if not all(0 <= v < len(seen) for v in self.outputs):
            raise ParameterError(f"{self.name}: outputs {self.outputs} of {len(seen)} values")

    @cached_property
    def first_use(self) -> tuple[int, ...]:
        """The stage in which each value is used first; `stages` of results and of what nobody uses."""
        first = [self.stages] * self.values
        for step in reversed(self.steps):
            for v in operands(step):
                first[v] = step.stage
        return tuple(first)

    @cached_property
    def values(self) -> int:
        return self.inputs + sum(len(s.maps) if isinstance(s, Maps) else 1 for s in self.steps)

    @cached_property
    def last_use(self) -> tuple[int, ...]:
        """The step after which nobody needs a value; the number of steps for results."""
        last = [-1] * self.values
        for i, step in enumerate(self.steps):
            for v in operands(step):
                last[v] = i
        for v in self.outputs:
            last[v] = len(self.steps)
        return tuple(last)

    @cached_property
    def constants(self) -> frozenset[int]:
        """All bytes that are multiplied by or added, as plaintexts: of linear maps 1 too."""
        found: set[int] = set()
        for s in self.steps:
            if isinstance(s, Maps):
                found.update(c for m in s.maps for c in m)
            elif isinstance(s, Sum):
                found.update(f for _, f in s.terms if f != 1)
                found.add(s.constant)
        return frozenset(found - {0})

    @cached_property
    def powers(self) -> frozenset[int]:
        """All k for which x^(2^k) is taken, k > 0."""
        found = {s.k for s in self.steps if isinstance(s, Power)}
        for s in self.steps:
            if isinstance(s, Maps):
                found.update(k for k in range(1, BITS) if any(m[k] for m in s.maps))
        return frozenset(found)

    def counts(self) -> Counts:
        """What it takes."""
        depth, plain = [0] * self.inputs, [0] * self.inputs
        products = switches = ups = downs = plains = 0
        for s in self.steps:
            d, p = max((depth[v] for v in operands(s)), default=0), max((plain[v] for v in operands(s)), default=0)
            results = 1
            if isinstance(s, Product):
                products, switches, ups, downs, d = products + 1, switches + 1, ups + 1, downs + 1, d + 1
            elif isinstance(s, Power):
                switches, ups, downs = switches + 1, ups + 1, downs + 1
            elif isinstance(s, Maps):
                results = len(s.maps)
                switches += sum(any(m[k] for m in s.maps) for k in range(1, BITS))
                ups, downs = ups + 1, downs + results
                plains, p = plains + sum(c != 0 for m in s.maps for c in m), p + 1
            else:
                many = sum(f not in (0, 1) for _, f in s.terms)
                plains, p = plains + many, p + (many > 0)
            depth += [d] * results
            plain += [p] * results
        return Counts(max(depth), max(plain), products, switches, ups, downs, plains)

    def explain(self) -> str:
        """Counts, and the steps of each stage."""
        c = self.counts()
        lines = [
            f"{self.name}: {self.inputs} inputs, {len(self.outputs)} results, {self.stages} stages",
            f"  depth {c.depth} of products, {c.plain_depth} of plaintext factors",
            f"  {c.products} products, {c.key_switches} key switches in {c.mod_ups} ModUps and {c.mod_downs} ModDowns, "
            f"{c.plain_products} products with constants",
        ]
        for stage in range(self.stages + 1):
            here = [s for s in self.steps if s.stage == stage]
            if here:
                kinds = [type(s).__name__ for s in here]
                what = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
                lines.append(f"  stage {stage}: {what}")
        return "\n".join(lines)


class Machine(Protocol[V]):
    """What runs a circuit. `then` is the stage in which a result is used first."""

    def at(self, a: V, stage: int) -> V:
        """A value brought to a stage."""

    def power(self, a: V, k: int, then: int) -> V:
        """a^(2^k)."""

    def product(self, a: V, b: V, then: int) -> V:
        """a * b."""

    def maps(self, a: V, maps: tuple[LinearMap, ...], then: int) -> list[V]:
        """Linear maps of a."""

    def sum(self, terms: Sequence[tuple[V, int]], constant: int, then: int) -> V:
        """The sum of factor * value, and of a constant."""


def run(
    circuit: Circuit,
    machine: Machine[V],
    inputs: Sequence[V],
    done: Callable[[int], None] | None = None,
) -> list[V]:
    """The circuit's results. Values are let go after their last use.

    Args:
        inputs: each is brought to the stage where it is used. done: told the number of steps that are done after each;
            what it raises ends the run.

    Raises:
        ShapeError: another number of inputs. Whatever the machine raises.
    """
    if len(inputs) != circuit.inputs:
        raise ShapeError(f"{circuit.name} takes {circuit.inputs} inputs, not {len(inputs)}")
    values: list[V | None] = list(inputs)

    def take(v: int, stage: int) -> V:
        value = values[v]
        assert value is not None
        values[v] = value = machine.at(value, stage)
        return value

    for i, s in enumerate(circuit.steps):
        then = circuit.first_use[len(values)]
        if isinstance(s, Power):
            values.append(machine.power(take(s.source, s.stage), s.k, then))
        elif isinstance(s, Product):
            values.append(machine.product(take(s.left, s.stage), take(s.right, s.stage), then))
        elif isinstance(s, Maps):
            first = min(circuit.first_use[len(values) : len(values) + len(s.maps)])
            values += machine.maps(take(s.source, s.stage), s.maps, first)
        else:
            values.append(machine.sum([(take(v, s.stage), f) for v, f in s.terms], s.constant, then))
        for v in operands(s):
            if circuit.last_use[v] <= i:
                values[v] = None
        if done is not None:
            done(i + 1)
    return [take(v, circuit.stages) for v in circuit.outputs]


class Clear:
    """Runs circuits on bytes, uint8 arrays of any one shape."""

    def at(self, a: Bytes, stage: int) -> Bytes:  # noqa: ARG002
        return a

    def power(self, a: Bytes, k: int, then: int) -> Bytes:  # noqa: ARG002
        for _ in range(k):
            a = clear.multiply(a, a)
        return a

    def product(self, a: Bytes, b: Bytes, then: int) -> Bytes:  # noqa: ARG002
        return clear.multiply(a, b)

    def maps(self, a: Bytes, maps: tuple[LinearMap, ...], then: int) -> list[Bytes]:  # noqa: ARG002
        return [apply(m, a) for m in maps]

    def sum(self, terms: Sequence[tuple[Bytes, int]], constant: int, then: int) -> Bytes:  # noqa: ARG002
        out = np.asarray(np.uint8(constant))
        for a, factor in terms:
            out = out ^ clear.multiply(a, factor)
        return np.asarray(out, np.uint8)


# ---- linear maps ---------------------------------------------------------------------------------


def apply(m: LinearMap, x: Bytes) -> Bytes:
    """The map's values, by its coefficients."""
    power, out = np.asarray(x, np.uint8), np.zeros_like(x, np.uint8)
    for c in m:
        out = out ^ clear.multiply(power, c)
        power = clear.multiply(power, power)
    return out


def _trace(x: Bytes) -> Bytes:
    return apply((1,) * BITS, x)


def _dual_basis() -> tuple[int, ...]:
    """b_j with Tr(b_j 2^i) = 1 where i = j and else 0."""
    everything = np.arange(256, dtype=np.uint8)
    traces = np.stack([_trace(clear.multiply(everything, 1 << i)) for i in range(BITS)])
    wanted = np.eye(BITS, dtype=np.uint8)
    return tuple(int(np.flatnonzero((traces == wanted[:, j : j + 1]).all(axis=0))[0]) for j in range(BITS))


#: Dual to the bits of a byte.
DUAL_BASIS: Final = _dual_basis()


def linear_map(function: Callable[[Bytes], Bytes]) -> LinearMap:
    """The coefficients of a GF(2)-linear map of bytes, given as a function: c_k is the sum over bits j of
    (b_j)^(2^k) times the image of 2^j, b the dual basis.

    Raises:
        ParameterError: the function is not linear.
    """
    images = function(np.array([1 << j for j in range(BITS)], np.uint8))
    dual = np.array(DUAL_BASIS, np.uint8)
    found = []
    for _ in range(BITS):
        found.append(int(np.bitwise_xor.reduce(clear.multiply(dual, images))))
        dual = clear.multiply(dual, dual)
    everything = np.arange(256, dtype=np.uint8)
    if not np.array_equal(apply(tuple(found), everything), function(everything)):
        raise ParameterError("the function is no GF(2)-linear map of bytes")
    return tuple(found)


def _bit(i: int) -> Callable[[Bytes], Bytes]:
    return lambda x: (x >> i & 1).astype(np.uint8)


#: BIT_MAPS[i] takes a byte to its bit i, 0 or 1.
BIT_MAPS: Final = tuple(linear_map(_bit(i)) for i in range(BITS))
