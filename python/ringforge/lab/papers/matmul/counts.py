# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Diagonals, rotations and operations of FAME's Algorithm 2: by its Equations 12 to 16 and Table I, and exactly.

The exact diagonals are those of :mod:`ringforge.matmul.methods.maps`. In S slots a diagonal z is a rotation by
z mod S: diagonals that agree modulo S need one rotation, and one mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from ringforge.errors import ShapeError
from ringforge.matmul.methods import maps

from .parameters import Shape


@dataclass(frozen=True, slots=True)
class EquationCounts:
    """Equations 12 to 15 and the sums of Table I, as the paper counts."""

    sigma: int
    tau: int
    epsilon: int
    omega: int
    phi: int
    zeta: int

    @property
    def total(self) -> int:
        """phi + zeta: the paper's rotations (and plaintext products) of a whole product."""
        return self.phi + self.zeta


def equation_counts(shape: Shape) -> EquationCounts:
    """Equations 12 to 15 as printed; epsilon and omega are for one k."""
    m, l, n = shape.m, shape.l, shape.n  # noqa: E741
    sigma, tau = maps.equation_12(m, l), maps.equation_13(l, n)
    epsilon, omega = maps.equation_14(l, n), maps.equation_15(m, l, n)
    return EquationCounts(sigma, tau, epsilon, omega, sigma + tau, l * (epsilon + omega))


@dataclass(frozen=True, slots=True)
class Operations:
    """One row of Table I."""

    add: int
    mult: int
    cmult: int
    rot: int
    depth: int


def table_i(shape: Shape) -> tuple[Operations, Operations, Operations]:
    """Table I for a shape: step 1, step 2, both."""
    c = equation_counts(shape)
    first = Operations(c.phi, 0, c.phi, c.phi, 1)
    second = Operations(c.zeta + shape.l, shape.l, c.zeta, c.zeta, 2)
    return first, second, Operations(c.total + shape.l, shape.l, c.total, c.total, 3)


def transforms(shape: Shape) -> int:
    """Homomorphic linear transforms of Algorithm 2: 2·(l + 1)."""
    return 2 * (shape.l + 1)


def equation_degree(shape: Shape) -> int:
    """Equation 16: a degree that holds A and B; it forgets the product."""
    return _power(2 * max(shape.m * shape.l, shape.n * shape.l))


def least_degree(shape: Shape) -> int:
    """The least degree whose N / 2 slots hold A, B and A·B."""
    return _power(2 * shape.largest)


def _power(x: int) -> int:
    return 1 << (x - 1).bit_length()


@dataclass(frozen=True)
class ProductCounts:
    """What Algorithm 2 needs for a shape in so many slots, from the exact diagonals.

    Raises:
        ShapeError: a matrix has more entries than there are slots.
    """

    shape: Shape
    slots: int

    def __post_init__(self) -> None:
        if self.shape.largest > self.slots:
            raise ShapeError(
                f"{self.shape} needs {self.shape.largest} slots, there are {self.slots}: "
                f"take N = {least_degree(self.shape)} or more"
            )

    @cached_property
    def step1(self) -> tuple[frozenset[int], frozenset[int]]:
        """Diagonals of sigma and tau."""
        m, l, n = self.shape.m, self.shape.l, self.shape.n  # noqa: E741
        return frozenset(maps.sigma_diagonals(m, l)), frozenset(maps.tau_diagonals(l, n))

    @cached_property
    def step2(self) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
        """Diagonals of epsilon^k and omega^k for each k."""
        m, l, n = self.shape.m, self.shape.l, self.shape.n  # noqa: E741
        return tuple(
            (frozenset(maps.epsilon_diagonals(m, l, n, k)), frozenset(maps.omega_diagonals(m, l, n, k)))
            for k in range(l)
        )

    @property
    def _every(self) -> list[frozenset[int]]:
        return [*self.step1, *(d for pair in self.step2 for d in pair)]

    def steps(self, diagonals: frozenset[int]) -> frozenset[int]:
        """Distinct rotations of a transform, in 1 ... slots - 1."""
        return frozenset(d % self.slots for d in diagonals) - {0}

    @cached_property
    def diagonals(self) -> int:
        """Non-zero diagonals of all transforms, each transform by itself: plaintext products of Algorithm 2."""
        return sum(map(len, self._every))

    @cached_property
    def masks(self) -> int:
        """The same with diagonals that agree modulo the slots merged: plaintexts that have to be encoded."""
        return sum(len({d % self.slots for d in one}) for one in self._every)

    @cached_property
    def step1_rotations(self) -> int:
        """Distinct non-zero rotations of sigma and tau."""
        return sum(len(self.steps(d)) for d in self.step1)

    @cached_property
    def step2_rotations(self) -> int:
        """Distinct non-zero rotations of all epsilon^k and omega^k, each transform by itself."""
        return sum(len(self.steps(d)) for pair in self.step2 for d in pair)

    @property
    def rotations(self) -> int:
        """Both."""
        return self.step1_rotations + self.step2_rotations

    @cached_property
    def step1_masks(self) -> int:
        """Plaintexts of sigma and tau, merged modulo the slots."""
        return sum(len({d % self.slots for d in one}) for one in self.step1)

    @cached_property
    def keys(self) -> int:
        """Distinct rotation keys of the whole product, one for each rotation amount."""
        return len(frozenset().union(*(self.steps(d) for d in self._every)))

    @property
    def epsilon_range(self) -> tuple[int, int]:
        """Least and most diagonals of an epsilon^k."""
        sizes = [len(e) for e, _ in self.step2]
        return min(sizes), max(sizes)

    @property
    def omega_range(self) -> tuple[int, int]:
        """Least and most diagonals of an omega^k."""
        sizes = [len(o) for _, o in self.step2]
        return min(sizes), max(sizes)


@lru_cache(maxsize=64)
def product_counts(shape: Shape, slots: int) -> ProductCounts:
    """Exact counts of a shape in `slots` slots, kept for the next caller.

    Raises:
        ShapeError: a matrix has more entries than there are slots.
    """
    return ProductCounts(shape, slots)
