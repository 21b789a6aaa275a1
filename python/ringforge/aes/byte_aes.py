# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 as circuits over bytes: rounds of encryption and decryption, and the round keys that they want.

The S-box is an inversion, x^254, and an affine map. x^254 takes 4 products in depth 3 and 3 Frobenius maps:
x^3 = x x^2, x^15 = (x^3)^4 x^3, x^14 = (x^3)^4 x^2, x^254 = (x^15)^16 x^14. The affine map's linear part is a sum of
Frobenius maps times constants, and its multiple by 2 another such sum of the same maps; with both, MixColumns is
additions. ShiftRows is a renaming. Constants go to the round keys.

Decryption keeps its state multiplied by the inverse L^-1 of that linear part: inversions first, then one linear map for
each coefficient of InvMixColumns, which also does L^-1 of the next round. Round 1 has to begin with L^-1 alone, round
10 ends with the inversion.

Values of a round: 16 bytes of the state, then the 16 of the round key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from ringforge.aes import clear
from ringforge.aes.byte_circuit import Circuit, LinearMap, Maps, Power, Product, Step, Sum, linear_map
from ringforge.aes.clear import Bytes
from ringforge.aes.engine import ROUNDS, Direction
from ringforge.errors import ParameterError

#: What the affine map adds.
AFFINE_CONSTANT: Final = 0x63


def _linear(x: Bytes) -> Bytes:
    return clear.affine(x) ^ np.uint8(AFFINE_CONSTANT)


_LINEAR_INVERSE: Final = np.argsort(_linear(np.arange(256, dtype=np.uint8))).astype(np.uint8)


def _unlinear(x: Bytes) -> Bytes:
    return _LINEAR_INVERSE[x]


def _multiple(function: Callable[[Bytes], Bytes], factor: int) -> LinearMap:
    return linear_map(lambda x: clear.multiply(function(x), factor))


def _unmixed(factor: int) -> Callable[[Bytes], Bytes]:
    return lambda x: _unlinear(clear.multiply(x, factor))


#: The linear part of the affine map: its multiples by 1 and 2; its inverse.
SUBSTITUTE: Final = {f: _multiple(_linear, f) for f in (1, 2)}
UNLINEAR: Final = linear_map(_unlinear)
#: L^-1 of the multiples that InvMixColumns takes.
UNMIX: Final = {f: linear_map(_unmixed(f)) for f in clear.INVERSE_MIX}

#: Stages of a round: three products deep, and one of linear maps; one more before them in round 1 of decryption.
INVERSION_STAGES: Final = 3


class Builder:
    """Numbers values while steps are written down."""

    def __init__(self, inputs: int) -> None:
        self.steps: list[Step] = []
        self._next = inputs

    def add(self, step: Step) -> int:
        """The number of its result, or of the first."""
        self.steps.append(step)
        number = self._next
        self._next += len(step.maps) if isinstance(step, Maps) else 1
        return number

    def inverse(self, x: int, stage: int) -> int:
        """x^254, at stage + 2."""
        x2 = self.add(Power(stage, x, 1))
        x3 = self.add(Product(stage, x, x2))
        x12 = self.add(Power(stage + 1, x3, 2))
        x15 = self.add(Product(stage + 1, x12, x3))
        x14 = self.add(Product(stage + 1, x12, x2))
        x240 = self.add(Power(stage + 2, x15, 4))
        return self.add(Product(stage + 2, x240, x14))


def inversion() -> Circuit:
    """x^254 of one byte."""
    b = Builder(1)
    y = b.inverse(0, 0)
    return Circuit("inversion", 1, INVERSION_STAGES, tuple(b.steps), (y,))


def substitution() -> Circuit:
    """The S-box of one byte, alone."""
    b = Builder(1)
    (y,) = (b.inverse(0, 0),)
    s = b.add(Maps(INVERSION_STAGES, y, (SUBSTITUTE[1],)))
    out = b.add(Sum(INVERSION_STAGES, ((s, 1),), AFFINE_CONSTANT))
    return Circuit("S-box", 1, INVERSION_STAGES + 1, tuple(b.steps), (out,))


def check_round(i: int, direction: Direction) -> None:
    """Raises ParameterError unless 1 <= i <= 10 and the direction is one."""
    if not 1 <= i <= ROUNDS or direction not in ("encrypt", "decrypt"):
        raise ParameterError(f'round {i} of "{direction}": rounds 1 to {ROUNDS} of encrypt or decrypt are possible')


@dataclass(frozen=True)
class _Round:
    """What a round does.

    Attributes:
        maps: linear maps of each inverse, by the coefficient of MixColumns that they are for; none: the inverse as it
            is. mix: coefficients. rows: which byte comes to each place.
        before: stages before the inversion. stage, end: of the maps, of results.
    """

    maps: dict[int, LinearMap]
    mix: tuple[int, ...]
    rows: tuple[int, ...]
    before: int
    last: bool

    @property
    def stage(self) -> int:
        return self.before + INVERSION_STAGES

    @property
    def end(self) -> int:
        return self.stage + (1 if self.maps else 0)

    def substituted(self, b: Builder, j: int) -> dict[int, int]:
        """Values of what byte j becomes before MixColumns, by coefficient."""
        x = b.add(Maps(0, j, (UNLINEAR,))) if self.before else j
        y = b.inverse(x, self.before)
        first = b.add(Maps(self.stage, y, tuple(self.maps.values()))) if self.maps else y
        return {f: first + n for n, f in enumerate(self.maps or (1,))}

    def sums(self, b: Builder, mapped: list[dict[int, int]], key: int) -> tuple[int, ...]:
        """MixColumns and AddRoundKey; the round key's bytes are values from `key` on."""
        outputs = []
        for j in range(len(mapped)):
            one = mapped[j][1] if self.last else b.add(Sum(self.stage, _mixed(mapped, j, self.mix)))
            outputs.append(b.add(Sum(self.end, ((one, 1), (key + j, 1)))))
        return tuple(outputs)


@cache
def _round(i: int, direction: Direction) -> _Round:
    check_round(i, direction)
    encrypt, last = direction == "encrypt", i == ROUNDS
    if encrypt:
        maps, mix, rows = {f: SUBSTITUTE[f] for f in ((1,) if last else (1, 2))}, clear.MIX, clear.SHIFT_ROWS
    else:
        maps, mix, rows = {} if last else UNMIX, clear.INVERSE_MIX, clear.INVERSE_SHIFT_ROWS
    return _Round(maps, mix, tuple(int(j) for j in rows), int(not encrypt and i == 1), last)


@cache
def round_circuit(i: int, direction: Direction = "encrypt", size: int = 16) -> Circuit:
    """Round i, 1 to 10: inputs are the state's bytes and the round key's; as many results as bytes.

    Args:
        size: 16; or 1, for plans: a round in which all bytes are the same one. Its noise, which is bounded for operands
            that have anything in common, is that of the round.

    Raises:
        ParameterError: no such round, direction or size.
    """
    found = _round(i, direction)
    if size not in (1, 16):
        raise ParameterError(f"a round of {size} bytes: 16 are possible, or 1")
    b = Builder(2 * size)
    mapped = [found.substituted(b, j) for j in found.rows[:size]]
    outputs = found.sums(b, mapped, size)
    name = f"AES {'' if direction == 'encrypt' else 'inverse '}round {i}{'' if size == 16 else ', one byte'}"
    return Circuit(name, 2 * size, found.end, tuple(b.steps), outputs)


@dataclass(frozen=True)
class Halves:
    """A round in two: what becomes of each byte by itself, and the sums of it all.

    Attributes:
        rows: which byte comes to each place.
        byte: of one byte; a result for each multiple that MixColumns takes.
        sums: inputs are those results, place by place, then the round key's bytes.
    """

    rows: tuple[int, ...]
    byte: Circuit
    sums: Circuit


@cache
def halves(i: int, direction: Direction = "encrypt") -> Halves:
    """`round_circuit` cut in two; stages are the same.

    Raises:
        ParameterError: no such round or direction.
    """
    found = _round(i, direction)
    b = Builder(1)
    values = tuple(found.substituted(b, 0).values())
    # Results belong to the stage where sums use them first.
    used = found.end if found.last else found.stage
    byte = Circuit(f"a byte of round {i}", 1, used, tuple(b.steps), values)
    each = len(values)
    c = Builder(16 * (each + 1))
    factors = tuple(found.maps or (1,))
    mapped = [{f: each * place + n for n, f in enumerate(factors)} for place in range(16)]
    outputs = found.sums(c, mapped, 16 * each)
    return Halves(found.rows, byte, Circuit(f"sums of round {i}", 16 * (each + 1), found.end, tuple(c.steps), outputs))


@cache
def added_key(size: int = 16) -> Circuit:
    """AddRoundKey 0: inputs are a state's bytes and the round key's."""
    sums = tuple(Sum(0, ((j, 1), (size + j, 1))) for j in range(size))
    return Circuit("AES round 0", 2 * size, 0, sums, tuple(range(2 * size, 3 * size)))


def _mixed(mapped: list[dict[int, int]], j: int, mix: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Byte j of MixColumns: the sum over k of mix[k] times the byte k rows below; 3 is 1 + 2."""
    terms: list[tuple[int, int]] = []
    for k, factor in enumerate(mix):
        values = mapped[(j // 4 * 4 + (j + k) % 4) % len(mapped)]
        terms += [(values[f], 1) for f in ((1, 2) if factor == 3 else (factor,))]
    return tuple(terms)


def round_key(i: int, key: bytes, direction: Direction = "encrypt") -> Bytes:
    """What round i adds, 16 bytes, in order of use: constants of the affine maps are in it.

    Args:
        i: 0 to 10. key: of AES, 16 bytes.

    Raises:
        ParameterError: no such round or direction. ShapeError: not 16 bytes.
    """
    if i:
        check_round(i, direction)
    keys: Bytes = clear.expand_key(key)
    constant = np.uint8(AFFINE_CONSTANT)
    if direction == "encrypt":
        added: Bytes = keys[i] ^ constant if i else keys[0]
        return added
    one: Bytes = keys[ROUNDS - i]
    if i == ROUNDS:
        return one
    if i == 0:
        return np.bitwise_xor(one, constant)
    mixed: Bytes = clear.mix_columns(one[None], clear.INVERSE_MIX)[0]
    return _unlinear(np.bitwise_xor(mixed, constant))
