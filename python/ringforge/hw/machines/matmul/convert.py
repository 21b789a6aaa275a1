# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Conversion between bases by mixed radix with centred digits (Garner's algorithm), in multiply-accumulates.

Let x be a residue modulo Q = q_0 ... q_(a-1), given by x_i = x mod q_i, and lift(y) the representative of y that is
closest to 0. The digits are

    d_0 = x_0,    d_i = (...((x_i - lift(d_0)) / q_0 - lift(d_1)) / q_1 ... - lift(d_(i-1))) / q_(i-1)  mod q_i

and X = lift(d_0) + lift(d_1) q_0 + lift(d_2) q_0 q_1 + ... is congruent to x modulo each q_i. Each |lift(d_i)| is at
most (q_i - 1) / 2, so |X| <= sum_i (q_i - 1)/2 * q_0 ... q_(i-1) = (Q - 1) / 2: X is the centred representative of x,
with no quotient to guess. Its residue modulo any p is a sum of a products, since lifts of digits are small integers and
the q_0 ... q_(i-1) are constants:

    X mod p = sum_i lift(d_i) * (q_0 ... q_(i-1) mod p).

The library converts the same X (by the Chinese remainder theorem, with the quotient in floating point), so results
agree in every bit.

In instructions: the digits take a(a-1)/2 multiply-accumulates (a - lift(c)) * b, each target a multiply-accumulates
c + lift(a) * b. A multiply-accumulate reads its slots from different banks, so a digit that shares the bank of
limbs which are still to be reduced by it is copied first: at most a - 1 copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ringforge.hw.machines.matmul.target import SECOND, TURNED
from ringforge.hw.vector.ir import ElementCode, Value
from ringforge.hw.vector.target import Target

#: A limb in coefficient form, or a digit of its mixed radix, with its entry of the modulus table.
Limb = tuple[int, Value]

_COPIES: Final = (TURNED, SECOND)
#: Limbs that come back from memory, if they are there, before the first of them is used.
_FETCHED: Final = 3


def mixed_digits(e: ElementCode, target: Target, limbs: Sequence[Limb]) -> list[Limb]:
    """The mixed-radix digits of a polynomial's limbs, each in the bank of its limb.

    Args:
        e: the element's code; banks of the limbs are orders.
        target: machine and numbers.
        limbs: coefficients; the first is the lowest digit.
    """
    entries = [entry for entry, _ in limbs]
    values = [value for _, value in limbs]
    for value in values[:_FETCHED]:
        e.fetch(value)
    for j, low in enumerate(values):
        copy: Value | None = None
        for i in range(j + 1, len(values)):
            if j == 0 and i + 1 >= _FETCHED and i + 1 < len(values):
                e.fetch(values[i + 1])
            digit = low
            if values[i].bank == low.bank:
                if copy is None:
                    bank = next(b for b in _COPIES if b != low.bank)
                    copy = e.scale(low, entries[j], target.one(entries[j]), bank=bank)
                digit = copy
            factor = target.prime_inverse(entries[j], entries[i])
            values[i] = e.sub_scale(values[i], digit, entries[i], factor, bank=values[i].bank, lift_from=entries[j])
    return list(zip(entries, values, strict=True))


def converted(e: ElementCode, target: Target, digits: Sequence[Limb], mod: int, bank: int) -> Value:
    """The centred value of mixed-radix digits modulo another entry: coefficients, in a bank that no digit is in."""
    total: Value | None = None
    for n, (entry, digit) in enumerate(digits):
        factor = target.product(tuple(i for i, _ in digits[:n]), mod)
        if total is None:
            total = e.scale(digit, mod, factor, bank=bank, lift_from=entry)
        else:
            total = e.scale_add(digit, total, mod, factor, bank=bank, lift_from=entry)
    assert total is not None
    return total


def transformed(
    e: ElementCode, target: Target, digits: Sequence[Limb], mod: int, bank: int, to: int | None = None
) -> Value:
    """The same in evaluation form, summed in `bank` and transformed to bank `to`, which is `bank` by default.

    A single digit is lifted by the transform itself.
    """
    to = bank if to is None else to
    if len(digits) == 1:
        ((entry, digit),) = digits
        return e.ntt(digit, mod, lift_from=entry, bank=to)
    return e.ntt(converted(e, target, digits, mod, bank), mod, bank=to)


def conversion_count(limbs: int, targets: int) -> int:
    """Multiply-accumulates that convert `limbs` limbs to `targets` other primes, copies left out."""
    return 0 if limbs == 1 else limbs * (limbs - 1) // 2 + limbs * targets
