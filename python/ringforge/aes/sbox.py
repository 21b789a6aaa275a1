# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES's S-box and its rounds as circuits of four levels, for levelled schemes (Doröz, Hu, Sunar 2014: 18
relinearisations and 36 products an S-box, depth 40 for ten rounds).

With x = a b0 + b b1 over GF(2^4) the inverse of x is x^16 / x^17:

    level 0   9 products a * b    ->  4 bits of n = x^17 in GF(2^4)
    level 1   3 products          ->  2 bits of n^5 in GF(2^2), whose inverse is its square
    level 2   6 products          ->  4 bits of 1/n
    level 3   18 products         ->  8 bits of 1/x, or of any linear map of it

All that is linear in between goes into the sums before a level's products, which are taken straight from values that
were switched last: between two rounds ShiftRows, MixColumns, the affine map and both changes of basis are one map. What
is kept between rounds is 1/x of each byte in a basis that makes these sums short, with the round key added in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ringforge.aes import clear
from ringforge.aes.circuit import Bits, Circuit, Level, Result, Sum, shared
from ringforge.aes.tower import (
    FORMS,
    SMALL_FORMS,
    Tower,
    combination,
    dual,
    functional_table,
    parity,
    powers,
)
from ringforge.errors import ParameterError

Direction = Literal["encrypt", "decrypt"]

_UNITS = tuple(1 << i for i in range(8))


def linear(x: npt.ArrayLike) -> clear.Bytes:
    """The S-box's affine map without its constant."""
    return clear.affine(x) ^ np.uint8(0x63)


_LINEAR_INVERSE: clear.Bytes = np.argsort(linear(np.arange(256, dtype=np.uint8))).astype(np.uint8)


def linear_inverse(x: npt.ArrayLike) -> clear.Bytes:
    """The inverse of `linear`."""
    return _LINEAR_INVERSE[np.asarray(x, np.uint8)]


@dataclass(frozen=True)
class Affine:
    """A map from bits to a byte: the exclusive sum of a column for each bit that is 1, and of a constant."""

    columns: tuple[int, ...]
    constant: int = 0

    def sum_of(self, functional: int) -> Sum:
        """A functional of the byte, as a sum of the bits."""
        return Sum(
            tuple(i for i, c in enumerate(self.columns) if parity(functional, c)), parity(functional, self.constant)
        )


def inversion(name: str, tower: Tower, into: Affine, functionals: Sequence[int], outputs: Sequence[Sum]) -> Circuit:
    """A circuit for functionals of 1/x, where x is an affine map of the inputs.

    Args:
        name: of the circuit.
        tower: bases.
        into: from the inputs to x.
        functionals: the results of level 3: masks of bits of 1/x.
        outputs: sums of these, by their places.
    """
    inputs = len(into.columns)
    # Level 0. Operands are the forms of both coordinates a and b of x; single coordinates are among them.
    sums = shared([into.sum_of(f) for f in tower.operands], inputs)
    first = inputs + len(sums) - 18
    place = {functional: first + i for i, functional in enumerate(tower.operands)}
    coordinates = [place[f] for f in tower.coordinates]
    tables = {v: functional_table(f, lambda x: x) for f, v in place.items()}
    pairs = [(first + t, first + 9 + t) for t in range(9)]
    norm = tower.small_coordinates(lambda x: powers(x, 17))
    results, tables, at = _results(norm, pairs, coordinates, tables, first + 18)
    levels = [Level(tuple(sums), tuple(pairs), results)]
    n = list(range(at - 4, at))

    # Level 1.
    sums, forms, at = _forms(SMALL_FORMS, n[:2], tables, at)
    more, others, at = _forms(SMALL_FORMS, n[2:], tables, at)
    pairs = list(zip(forms, others, strict=True))
    square = tower.smallest_coordinates(lambda x: powers(x, 170))  # (x^85)^2 = 1/x^85
    results, tables, at = _results(square, pairs, n, tables, at)
    levels.append(Level((*sums, *more), tuple(pairs), results))
    m = list(range(at - 2, at))

    # Level 2.
    sums, small, at = _forms(SMALL_FORMS, m, tables, at)
    pairs = []
    for half in (n[:2], n[2:]):
        more, forms, at = _forms(SMALL_FORMS, half, tables, at)
        sums += more
        pairs += list(zip(forms, small, strict=True))
    quotient = tower.small_coordinates(lambda x: powers(x, 238))  # 1/x^17
    results, tables, at = _results(quotient, pairs, (), tables, at)
    levels.append(Level(tuple(sums), tuple(pairs), results))
    q = list(range(at - 4, at))

    # Level 3.
    sums, small, at = _forms(FORMS, q, tables, at)
    pairs = []
    for half in (coordinates[:4], coordinates[4:]):
        more, forms, at = _forms(FORMS, half, tables, at)
        sums += more
        pairs += list(zip(forms, small, strict=True))
    wanted = [functional_table(f, clear.inverse) for f in functionals]
    results, tables, at = _results(wanted, pairs, (), tables, at)
    levels.append(Level(tuple(sums), tuple(pairs), results))
    last = at - len(results)
    return Circuit(
        name,
        inputs,
        tuple(levels),
        tuple(Sum(tuple(last + t for t in s.terms), s.constant) for s in outputs),
    )


def _forms(
    forms: Sequence[tuple[int, ...]], values: Sequence[int], tables: dict[int, int], at: int
) -> tuple[list[Sum], list[int], int]:
    """Sums for the forms that are no single value, the value of each form, and the next free number."""
    sums, found = [], []
    for form in forms:
        terms = tuple(sorted(values[i] for i in form))
        if len(terms) == 1:
            found.append(terms[0])
            continue
        tables[at] = 0
        for v in terms:
            tables[at] ^= tables[v]
        sums.append(Sum(terms))
        found.append(at)
        at += 1
    return sums, found, at


def _results(
    targets: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    values: Sequence[int],
    tables: dict[int, int],
    at: int,
) -> tuple[tuple[Result, ...], dict[int, int], int]:
    """Results with the target's truth tables; tables with theirs; and the next free number."""
    candidates = [tables[a] & tables[b] for a, b in pairs] + [tables[v] for v in values]
    found = []
    for i, target in enumerate(targets):
        chosen = combination(target, candidates)
        found.append(
            Result(
                tuple(c for c in chosen if c < len(pairs)),
                tuple(sorted(values[c - len(pairs)] for c in chosen if c >= len(pairs))),
            )
        )
        tables[at + i] = target
    return tuple(found), tables, at + len(targets)


@dataclass(frozen=True)
class Choice:
    """The bases for a direction, found by :func:`ringforge.aes.bases.search`.

    Args:
        tower: for inversion.
        between: eight functionals of 1/x: the bits of a byte that are kept between rounds.
    """

    tower: Tower
    between: tuple[int, ...]


#: The best that was found; what they are held against is in :mod:`ringforge.aes.bases`.
CHOICES: dict[Direction, Choice] = {
    "encrypt": Choice(Tower((17, 76), (1, 80), (1, 0xBC)), (145, 170, 35, 85, 221, 22, 12, 83)),
    "decrypt": Choice(Tower((20, 181), (1, 12), (1, 0xBC)), (118, 165, 12, 60, 255, 65, 160, 240)),
}


def _transposed(columns: clear.Bytes) -> tuple[int, ...]:
    """The rows of a matrix of bits whose columns are given, as masks."""
    return tuple(sum((int(c) >> i & 1) << k for k, c in enumerate(columns)) for i in range(8))


#: What ends a direction: the functionals of 1/x, and the outputs as sums of them.
_AFTER: dict[Direction, tuple[tuple[int, ...], list[Sum]]] = {
    "encrypt": (_transposed(linear(_UNITS)), [Sum((i,), 0x63 >> i & 1) for i in range(8)]),
    "decrypt": (_UNITS, [Sum((i,)) for i in range(8)]),
}


def sbox(choice: Choice | None = None) -> Circuit:
    """The S-box alone: 8 bits to 8 bits."""
    return inversion("S-box", (choice or CHOICES["encrypt"]).tower, Affine(_UNITS), *_AFTER["encrypt"])


def inverse_sbox(choice: Choice | None = None) -> Circuit:
    """The inverse S-box alone: 8 bits to 8 bits."""
    return inversion("inverse S-box", (choice or CHOICES["decrypt"]).tower, _undone_affine(_UNITS), *_AFTER["decrypt"])


def _undone_affine(columns: Sequence[int]) -> Affine:
    """The inverse S-box's affine map after a linear one."""
    return Affine(tuple(int(c) for c in linear_inverse(columns)), int(linear_inverse(0x63)))


@dataclass(frozen=True)
class Round:
    """A round: sixteen runs of one circuit, then exclusive sums with the round key.

    Bit 8 j + i of a state is bit i of its byte j.

    Args:
        box: gives eight bits of the new state.
        reads: for each byte of the new state the bits of the old one that the circuit takes, in order.
    """

    box: Circuit
    reads: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Cipher:
    """AES-128 in one direction, as ten rounds of circuits.

    The state goes in as the block's bits with round key 0 of this direction added, and comes out as the result's bits.
    In between (after rounds 1 to 9) byte j is kept as the eight bits `choice.between` of 1/x, where x is what its S-box
    inverts, with a key added: `key_bits` says which bits to encrypt for it, and `state_bytes` what such a state is.

    Args:
        direction: "encrypt" or "decrypt".
        choice: bases.
        rounds: the ten rounds.
    """

    direction: Direction
    choice: Choice
    rounds: tuple[Round, ...]

    @property
    def name(self) -> str:
        """For people."""
        return f"AES-128, {self.direction}ion"

    def key_bits(self, key: bytes, i: int) -> Bits:
        """The bits (128,) that are added to the state at the end of round i, and for i = 0 before round 1.

        They are the round key's own in the order of use (of decryption the last comes first) for i = 0 and 10, and
        its image in the basis between rounds for others.

        Args:
            key: the AES key, 16 bytes.
            i: 0 to 10.

        Raises:
            ShapeError: not 16 bytes. ParameterError: no such round.
        """
        if not 0 <= i <= clear.ROUNDS:
            raise ParameterError(f"there is no round {i}: rounds are 0 to {clear.ROUNDS}")
        keys = clear.expand_key(key)
        chosen = keys[i] if self.direction == "encrypt" else keys[clear.ROUNDS - i]
        if i in (0, clear.ROUNDS):
            return clear.bits_of(chosen[None])[:, 0]
        if self.direction == "encrypt":
            chosen = linear_inverse(clear.mix_columns(chosen[None], clear.INVERSE_MIX)[0])
        return clear.bits_of(_kept(chosen, self.choice.between)[None])[:, 0]

    def state_bytes(self, bits: Bits, i: int) -> clear.Bytes:
        """The blocks (n, 16) after AddRoundKey of round i, as :func:`clear.encryption_states` has them and
        :func:`clear.decryption_states`, of the bits (128, n) of a state after round i."""
        found = clear.bytes_of(bits)
        if i in (0, clear.ROUNDS):
            return found
        back = np.zeros(256, np.uint8)
        everything = np.arange(256, dtype=np.uint8)
        back[_kept(everything, self.choice.between)] = everything
        if self.direction == "encrypt":
            return clear.mix_columns(linear(back[found]) ^ np.uint8(0x63))
        return clear.mix_columns(back[found], clear.INVERSE_MIX)

    def run(self, blocks: npt.ArrayLike, key: bytes) -> clear.Bytes:
        """Blocks (n, 16) through the circuits, in the clear."""
        state = clear.bits_of(clear.blocks_of(blocks)) ^ self.key_bits(key, 0)[:, None]
        for i, step in enumerate(self.rounds, 1):
            state = np.concatenate([step.box.clear(state[list(r)]) for r in step.reads])
            state ^= self.key_bits(key, i)[:, None]
        return clear.bytes_of(state)

    @cached_property
    def circuit(self) -> Circuit:
        """All ten rounds as one circuit of depth 40.

        Its inputs are the block's 128 bits, then those of round keys 0 to 10, each at the level where it is used.
        """
        blocks = 1 + clear.ROUNDS
        inputs = 128 * (1 + blocks)
        levels: list[Level] = []
        state = [Sum((v, 128 + v)) for v in range(128)]
        at = inputs
        for i, step in enumerate(self.rounds, 1):
            # Sums of the state come first: a state with its key is one value.
            sums, begin = tuple(state), at
            at += 128
            box, joined = step.box, []
            # Where values of each box are: its inputs are bits of the state.
            maps = [[begin + v for v in r] for r in step.reads]
            for number, level in enumerate(box.levels):
                merged: list[Sum] = list(sums) if number == 0 else []
                products: list[tuple[int, int]] = []
                results: list[Result] = []
                for m in maps:
                    for s in level.sums:
                        merged.append(Sum(tuple(sorted(m[v] for v in s.terms)), s.constant))
                        m.append(at)
                        at += 1
                for m in maps:
                    start = len(products)
                    products += [(m[a], m[b]) for a, b in level.products]
                    for r in level.results:
                        values = tuple(sorted(m[v] for v in r.values))
                        results.append(Result(tuple(start + p for p in r.products), values))
                        m.append(at)
                        at += 1
                joined.append(Level(tuple(merged), tuple(products), tuple(results)))
            levels += joined
            state = []
            for j, m in enumerate(maps):
                for k, s in enumerate(box.outputs):
                    terms = (128 * (1 + i) + 8 * j + k, *(m[v] for v in s.terms))
                    state.append(Sum(tuple(sorted(terms)), s.constant))
        depths = np.cumsum([0] + [r.box.depth for r in self.rounds])
        given = (0,) * 128 + tuple(int(d) for d in depths for _ in range(128))
        return Circuit(self.name, inputs, tuple(levels), tuple(state), given)


def _kept(values: clear.Bytes, functionals: Sequence[int]) -> clear.Bytes:
    """Bytes of the bits that functionals have at bytes."""
    bits = [np.bitwise_count(values & np.uint8(f)) & 1 for f in functionals]
    return np.packbits(np.stack(bits, axis=-1), axis=-1, bitorder="little")[..., 0]


def _bits_of_bytes(places: Sequence[int]) -> tuple[int, ...]:
    return tuple(8 * j + i for j in places for i in range(8))


def before_inversion(direction: Direction, functionals: Sequence[int]) -> Affine:
    """From four bytes as they are kept between rounds, those that MixColumns mixes to a byte, to what the next S-box
    inverts."""
    elements = np.array(dual(functionals), np.uint8)
    if direction == "encrypt":
        return Affine(tuple(int(c) for k in clear.MIX for c in clear.multiply(linear(elements), k)), 0x63)
    return _undone_affine([int(c) for k in clear.INVERSE_MIX for c in clear.multiply(elements, k)])


def cipher(direction: Direction = "encrypt", choice: Choice | None = None) -> Cipher:
    """AES-128 as circuits.

    Args:
        direction: "encrypt" or "decrypt".
        choice: other bases.

    Raises:
        ParameterError: another direction.
    """
    if direction not in CHOICES:
        raise ParameterError(f'direction "{direction}" is neither "encrypt" nor "decrypt"')
    choice = choice or CHOICES[direction]
    forward = direction == "encrypt"
    moved = clear.SHIFT_ROWS if forward else clear.INVERSE_SHIFT_ROWS
    into = Affine(_UNITS) if forward else _undone_affine(_UNITS)
    identity = [Sum((i,)) for i in range(8)]
    column = [[4 * (p // 4) + (p % 4 + k) % 4 for k in range(4)] for p in moved.tolist()]
    spread = tuple(_bits_of_bytes(places) for places in column)
    middle = before_inversion(direction, choice.between)
    rounds = [
        Round(
            inversion("first round", choice.tower, into, choice.between, identity),
            tuple(_bits_of_bytes([p]) for p in moved.tolist()),
        ),
        *[Round(inversion("round", choice.tower, middle, choice.between, identity), spread)] * (clear.ROUNDS - 2),
    ]
    wanted, outputs = _AFTER[direction]
    rounds.append(Round(inversion("last round", choice.tower, middle, wanted, outputs), spread))
    return Cipher(direction, choice, tuple(rounds))
