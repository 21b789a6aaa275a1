# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Integers of users as plaintexts and back: what is taken, what is refused, where it goes."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ringforge._native.bfv import Context, Plaintext
from ringforge.arrays import whole_numbers
from ringforge.errors import ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

Ints = npt.NDArray[np.int64]

#: Slots: products act on each number alone. Coefficients: products are those of polynomials.
Packing = Literal["slots", "coefficients"]


def integers(values: npt.ArrayLike, t: int, what: str = "values") -> Ints:
    """An array of integers that stand for themselves modulo t: from -⌊t/2⌋ to t - 1.

    Raises:
        ringforge.ValueError: numbers that are not integers, or outside the range: they would come back as others.
    """
    a = whole_numbers(values, what)
    if a.size:
        least, largest = int(a.min()), int(a.max())
        if least < -(t // 2) or largest >= t:
            wrong = least if least < -(t // 2) else largest
            raise RingforgeValueError(
                f"{what}: {wrong} is outside {-(t // 2)} ... {t - 1}, the integers modulo t = {t}: "
                "take a set with a larger t, or reduce modulo t first where that is meant"
            )
    return np.ascontiguousarray(a, np.int64)


def arranged(values: npt.ArrayLike, context: Context) -> Ints:
    """Values in the flat order of slots, row 0 then row 1.

    Args:
        values: shape (n,) with n <= N, in flat order, or (2, n) with n <= N/2, the two rows.

    Raises:
        ShapeError: another shape, or too many. ringforge.ValueError: as `integers`.
    """
    p = context.params
    a = integers(values, p.t)
    if a.ndim == 0:
        a = a.reshape(1)
    half = p.degree // 2
    if a.ndim == 1 and a.size <= p.degree:
        return a
    if a.ndim == 2 and a.shape[0] == 2 and a.shape[1] <= half:
        flat = np.zeros(p.degree, np.int64)
        flat[: a.shape[1]], flat[half : half + a.shape[1]] = a
        return flat
    raise ShapeError(
        f"values of shape {a.shape}: one ciphertext has 2 rows of {half} slots, so the shape is (n,) with n up to "
        f"{p.degree}, or (2, n) with n up to {half}; spread more values over several ciphertexts"
    )


def _check_packing(packing: str) -> None:
    if packing not in get_args(Packing):
        raise ParameterError(f"there is no packing {packing!r}: choose one of {', '.join(get_args(Packing))}")


def encode(context: Context, values: npt.ArrayLike, packing: Packing = "slots") -> Plaintext:
    """A plaintext of integers modulo t, negative ones included; what is not given is 0.

    Args:
        values: for slots as `arranged`; for coefficients (n,), n <= N, of 1, X, X^2, ...
        packing: where they go. Slots need a prime t = 1 mod 2N.

    Raises:
        ParameterError: slots where t has none; the message names a t that has.
        ShapeError, ringforge.ValueError: as `arranged`.
    """
    _check_packing(packing)
    if packing == "slots":
        return context.encode(arranged(values, context))
    a = integers(values, context.params.t, "coefficients")
    if a.ndim != 1 or a.size > context.params.degree:
        raise ShapeError(f"coefficients of shape {a.shape}: (n,) is needed, with n up to N = {context.params.degree}")
    return context.encode_coefficients(a)


def decode(context: Context, plaintext: Plaintext, packing: Packing = "slots", *, signed: bool = True) -> Ints:
    """All N integers of a plaintext, in the order of `encode`.

    Args:
        signed: in [-t/2, t/2), so that small negative numbers come back as such; else in [0, t).
    """
    _check_packing(packing)
    found = context.decode(plaintext) if packing == "slots" else plaintext.coefficients
    values = np.asarray(found).astype(np.int64)
    t = context.params.t
    if signed:
        values[values >= (t + 1) // 2] -= t
    return values
