# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Linear maps of slots, stored sparsely, diagonal by diagonal; and diagonals split into baby and giant steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import baby_steps
from ringforge.errors import ShapeError

Indices = npt.NDArray[np.uint32]
Values = npt.NDArray[np.complex128]


class SlotMatrix:
    """A sparse slots x slots matrix of complex numbers.

    Entries lie sorted by diagonal (source - target) mod slots, then by target. Diagonal z multiplies the
    input rotated left by z: (U x)[s] = sum over z of U[s, s + z] * x[(s + z) mod slots].

    Args:
        slots: size, a power of two.
        target, source: row and column of each entry, 0 ... slots - 1. Entries of one place are added up.
        value: the entries; those that are (or add up to) zero are dropped.

    Raises:
        ShapeError: indices outside the slots, arrays of different lengths, slots no power of two.
    """

    __slots__ = ("__weakref__", "offsets", "slots", "source", "steps", "target", "value")

    def __init__(self, slots: int, target: npt.ArrayLike, source: npt.ArrayLike, value: npt.ArrayLike) -> None:
        t = np.asarray(target, dtype=np.int64).ravel()
        s = np.asarray(source, dtype=np.int64).ravel()
        v = np.asarray(value, dtype=np.complex128).ravel()
        if slots < 1 or slots & (slots - 1):
            raise ShapeError(f"a map has a power of two of slots, not {slots}")
        if not len(t) == len(s) == len(v):
            raise ShapeError(f"{len(t)} targets, {len(s)} sources and {len(v)} values: one of each makes an entry")
        if len(t) and (min(t.min(), s.min()) < 0 or max(t.max(), s.max()) >= slots):
            raise ShapeError(f"an entry lies outside slots 0 ... {slots - 1}")
        key = ((s - t) % slots) * slots + t
        places, where = np.unique(key, return_inverse=True)
        total = np.zeros(len(places), dtype=np.complex128)
        np.add.at(total, where, v)
        kept = total != 0
        places, total = places[kept], total[kept]
        z, at = places // slots, places % slots
        first = np.flatnonzero(np.diff(z, prepend=-1))
        self.slots = slots
        #: Row and column of each entry, uint32.
        self.target: Indices = at.astype(np.uint32)
        self.source: Indices = ((at + z) % slots).astype(np.uint32)
        #: The entries.
        self.value: Values = total
        #: Distinct diagonals, ascending, in [0, slots).
        self.steps: Indices = z[first].astype(np.uint32)
        #: Entries of diagonal steps[d] are offsets[d] ... offsets[d + 1] - 1.
        self.offsets: npt.NDArray[np.int64] = np.append(first, len(z)).astype(np.int64)

    @classmethod
    def from_map(
        cls,
        slots: int,
        source_map: npt.ArrayLike,
        imaginary_map: npt.ArrayLike | None = None,
        imaginary: complex = 1j,
    ) -> SlotMatrix:
        """The map that fills slot s from slot source_map[s], plus `imaginary` times slot imaginary_map[s].

        Args:
            slots: size.
            source_map, imaginary_map: (slots,) integers; -1 adds nothing.
            imaginary: factor of the second map's values.
        """
        maps = [(np.asarray(source_map, dtype=np.int64), 1 + 0j)]
        if imaginary_map is not None:
            maps.append((np.asarray(imaginary_map, dtype=np.int64), imaginary))
        targets, sources, values = [], [], []
        for m, factor in maps:
            if m.shape != (slots,):
                raise ShapeError(f"a map of {slots} slots lists {slots} sources, not {m.shape}")
            used = np.flatnonzero(m >= 0)
            targets.append(used)
            sources.append(m[used])
            values.append(np.full(len(used), factor))
        return cls(slots, np.concatenate(targets), np.concatenate(sources), np.concatenate(values))

    @property
    def diagonals(self) -> int:
        """Number of diagonals with an entry."""
        return len(self.steps)

    @property
    def real(self) -> bool:
        """No entry has an imaginary part."""
        return bool((self.value.imag == 0).all())

    def diagonal(self, index: int) -> tuple[Indices, Values]:
        """Slots and entries of diagonal number `index` of `steps`."""
        part = slice(int(self.offsets[index]), int(self.offsets[index + 1]))
        return self.target[part], self.value[part]

    def apply(self, x: npt.NDArray[Any]) -> Values:
        """The matrix times a vector in the clear, (slots,)."""
        out = np.zeros(self.slots, dtype=np.complex128)
        np.add.at(out, self.target, self.value * x[self.source])
        return out

    def __matmul__(self, other: SlotMatrix) -> SlotMatrix:
        """The map that applies `other` first; for tests and for merging two stages into one."""
        order = np.argsort(other.target, kind="stable")
        rows = other.target[order]
        low, high = np.searchsorted(rows, self.source, "left"), np.searchsorted(rows, self.source, "right")
        count = high - low
        mine = np.repeat(np.arange(len(self.source)), count)
        within = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
        theirs = order[np.repeat(low, count) + within]
        return SlotMatrix(self.slots, self.target[mine], other.source[theirs], self.value[mine] * other.value[theirs])

    def __repr__(self) -> str:
        return f"SlotMatrix({self.slots} slots, {len(self.value)} entries on {self.diagonals} diagonals)"


def period(slots: int, support: npt.NDArray[Any], value: npt.NDArray[Any] | None = None) -> int:
    """The least power of two p so that a vector with these values at these ascending slots repeats after p slots."""
    p, n = slots, len(support)
    while p > 1 and n % 2 == 0:
        half = n // 2
        if n and not (
            np.array_equal(support[half:n], support[:half] + p // 2)
            and (value is None or np.array_equal(value[half:n], value[:half]))
        ):
            break
        p, n = p // 2, half
    return p


# ---- baby and giant steps ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """Diagonals as sums of a baby and a giant step, modulo the slots.

    Args:
        babies, giants: distinct steps, ascending.
        baby_of: baby step of each diagonal, in the order they were given; the giant step is the rest.
    """

    babies: tuple[int, ...]
    giants: tuple[int, ...]
    baby_of: Indices


def split(
    steps: Sequence[int] | npt.NDArray[Any],
    slots: int,
    generators: Sequence[tuple[int, int]] = (),
    baby_cost: float = 1.0,
    giant_cost: float = 1.0,
) -> Split:
    """Splits diagonals so that baby and giant steps other than 0 cost least.

    The search is the library's (`ringforge/linear/baby_steps.hpp` says what it tries).

    Args:
        steps: the diagonals, distinct, in [0, slots).
        generators: as of :class:`ringforge.matmul.plan.Transform`; an offset common to all diagonals is found here.
        baby_cost, giant_cost: of each step that is not 0.
    """
    z = np.ascontiguousarray(steps, dtype=np.uint32)
    kept = tuple((int(s), int(c)) for s, c in generators)
    return _split(z.tobytes(), slots, kept, round(giant_cost / baby_cost, 1))


@lru_cache(maxsize=4096)
def _split(steps: bytes, slots: int, generators: tuple[tuple[int, int], ...], giant_cost: float) -> Split:
    z = np.frombuffer(steps, dtype=np.uint32)
    baby = baby_steps(z, slots, list(generators), giant_cost)
    giant = (z - baby) % np.uint32(slots)
    return Split(tuple(np.unique(baby).tolist()), tuple(np.unique(giant).tolist()), baby)
