# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which tower and which bits between rounds make for the shortest sums: how `sbox.CHOICES` was found.

What a product adds to the noise goes with the product of the numbers of fresh values that its operands are sums of,
S_a and S_b. The search minimises the sum of (S_a S_b)^2 over the nine products of level 0, and then the greatest S. All
other levels have sums of at most four, whatever the bases.

A tower counts by its 18 operands alone. For given bits between rounds all 192,852 towers that differ in them are
looked at; for a given tower each of the eight bits is exchanged for any of 255. This is repeated until nothing helps,
from many random beginnings.

    python -m ringforge.aes.bases encrypt --restarts 300
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from ringforge.aes import clear
from ringforge.aes.sbox import CHOICES, Choice, Direction, before_inversion
from ringforge.aes.tower import FORMS, Tower, power, product, subfield

Masks = npt.NDArray[np.uint8]
Sizes = npt.NDArray[np.int64]

_ALL: Masks = np.arange(256, dtype=np.uint8)
_WEIGHT = np.bitwise_count(_ALL).astype(np.int64)


def _trace_functionals() -> Masks:
    """For each element the functional x -> trace of element * x."""
    conjugates = [_ALL]
    while len(conjugates) < 8:
        conjugates.append(clear.multiply(conjugates[-1], conjugates[-1]))
    trace = np.bitwise_xor.reduce(conjugates) & 1
    units = clear.multiply(_ALL[:, None], (1 << np.arange(8)).astype(np.uint8))
    return np.packbits(trace[units], axis=1, bitorder="little")[:, 0]


@dataclass(frozen=True)
class Towers:
    """All towers, one of those with equal operands.

    Attributes:
        bases: (n, 3): both elements of GF(2^8), and the second of GF(2^4), whose first is 1.
        operands: (n, 18) functionals.
    """

    bases: Masks
    operands: Masks

    def tower(self, i: int) -> Tower:
        """One of them."""
        first, second, middle = (int(x) for x in self.bases[i])
        return Tower((first, second), (1, middle), (1, subfield(2)[2]))


@cache
def towers() -> Towers:
    """All towers: operands do not depend on the basis of GF(2^2), nor on a common factor in it."""
    quarter = [x for x in subfield(2) if x]
    firsts, left = [], set(range(1, 256))
    while left:
        firsts.append(min(left))
        left -= {product(firsts[-1], x) for x in quarter}
    middles = [x for x in subfield(4) if x not in subfield(2)]
    grid = np.array([(a, b, g) for g in middles for a in firsts for b in range(a, 256)], np.uint8)
    a, b = grid[:, 0], grid[:, 1]
    conjugate = np.array([power(x, 16) for x in range(256)], np.uint8)
    mixed = clear.multiply(a, conjugate[b])
    independent = mixed != conjugate[mixed]  # a / b is not in GF(2^4)
    grid, a, b, mixed = grid[independent], a[independent], b[independent], mixed[independent]
    # Coordinates are traces with the elements of the dual basis, in each step of the tower.
    unit = clear.inverse(mixed ^ conjugate[mixed])
    outer = [clear.multiply(conjugate[b], unit), clear.multiply(conjugate[a], unit)]
    fourth = np.array([power(x, 4) for x in range(256)], np.uint8)
    g = grid[:, 2]
    unit = clear.inverse(g ^ fourth[g])
    middle = [clear.multiply(fourth[g], unit), unit]
    w = subfield(2)[2]
    unit = clear.inverse(w ^ power(w, 2))
    inner = [clear.multiply(power(w, 2), unit), unit]
    functional = _trace_functionals()
    operands = []
    for h in outer:
        coordinates = [functional[clear.multiply(clear.multiply(h, m), i)] for m in middle for i in inner]
        operands += [np.bitwise_xor.reduce([coordinates[k] for k in form]) for form in FORMS]
    return Towers(grid, np.stack(operands, axis=1))


def sizes(direction: Direction, between: tuple[int, ...]) -> Sizes | None:
    """For each functional of the byte that the next S-box inverts, of how many bits between rounds it is a sum; (256,).
    None if the bits are dependent."""
    weight = np.full(256, -1, np.int64)
    spanned = np.zeros(1, np.uint8)
    for functional in between:
        spanned = np.concatenate([spanned, spanned ^ np.uint8(functional)])
    weight[spanned] = _WEIGHT
    if (weight < 0).any():
        return None
    first, *others = (weight[adjoint] for adjoint in _adjoints(direction))
    return sum(others, first)


@cache
def _adjoints(direction: Direction) -> tuple[Masks, ...]:
    """For each of four bytes that MixColumns mixes: of each functional of the result that of the byte's 1/x."""
    columns = before_inversion(direction, [1 << i for i in range(8)]).columns
    found = []
    for k in range(4):
        bits = np.stack([np.bitwise_count(_ALL & np.uint8(c)) & 1 for c in columns[8 * k : 8 * k + 8]], axis=1)
        found.append(np.packbits(bits, axis=1, bitorder="little")[:, 0])
    return tuple(found)


def costs(size: Sizes, operands: Masks) -> Sizes:
    """What is minimised, for operands (..., 18): one number, the greatest sum below the rest."""
    s = size[operands]
    pairs = s[..., :9] * s[..., 9:]
    found: Sizes = (pairs * pairs).sum(axis=-1) * 256 + s.max(axis=-1)
    return found


def cost_of(direction: Direction, choice: Choice) -> int:
    """What is minimised, of a choice."""
    size = sizes(direction, choice.between)
    assert size is not None
    return int(costs(size, np.array(choice.tower.operands, np.uint8)))


def improved(direction: Direction, choice: Choice) -> Choice:
    """The choice after all single steps that help: another tower, or one bit exchanged, until none does."""
    known = towers()
    while True:
        size = sizes(direction, choice.between)
        assert size is not None
        every = costs(size, known.operands)
        if every.min() < cost_of(direction, choice):
            choice = Choice(known.tower(int(every.argmin())), choice.between)
        start = cost_of(direction, choice)
        operands = np.array(choice.tower.operands, np.uint8)
        best, between = start, choice.between
        for place in range(8):
            kept = between
            for functional in range(1, 256):
                tried = (*kept[:place], functional, *kept[place + 1 :])
                size = sizes(direction, tried)
                if size is not None and (cost := int(costs(size, operands))) < best:
                    best, between = cost, tried
        if best == start:
            return choice
        choice = Choice(choice.tower, between)


def search(direction: Direction, restarts: int, seed: int = 1) -> Choice:
    """The best of many random beginnings."""
    rng = np.random.default_rng(seed)
    found = CHOICES[direction]
    for _ in range(restarts):
        while True:
            between = tuple(int(x) for x in rng.integers(1, 256, 8))
            if sizes(direction, between) is not None:
                break
        found = min(found, improved(direction, Choice(found.tower, between)), key=lambda c: cost_of(direction, c))
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Bases with short sums for the S-box's circuit.")
    parser.add_argument("direction", choices=tuple(CHOICES))
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = search(options.direction, options.restarts, options.seed)
    print(found, cost_of(options.direction, found))


if __name__ == "__main__":
    main()
