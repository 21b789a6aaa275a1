# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Types of encrypted integers: widths, signs, ranges, and what two of them make together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringforge.errors import MismatchError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError

#: Bits that an integer may have.
MAX_WIDTH = 256

_NAME = re.compile(r"(u?)int([1-9][0-9]{0,2})\Z")


@dataclass(frozen=True, eq=False)
class IntType:
    """A type of encrypted integers: `uint8`, `int32`, any width from 1 to 256; `bool` is one bit by itself.

    Args:
        width: bits.
        signed: two's complement.
        boolean: truth values: gates and selection, no arithmetic.

    Raises:
        ParameterError: no such type.
    """

    width: int
    signed: bool = False
    boolean: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.width, bool) or not isinstance(self.width, int) or not 1 <= self.width <= MAX_WIDTH:
            raise ParameterError(f"integers of {self.width!r} bits: take a width of 1 to {MAX_WIDTH}")
        if self.boolean and (self.width != 1 or self.signed):
            raise ParameterError("bool has one bit and no sign: take integers.FheBool")

    @property
    def name(self) -> str:
        """`uint8`, `int32`, `bool`."""
        return "bool" if self.boolean else f"{'' if self.signed else 'u'}int{self.width}"

    @property
    def min(self) -> int:
        """The least value."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        """The largest value."""
        return (1 << (self.width - self.signed)) - 1

    def check(self, value: Any) -> int:
        """The value as an int.

        Raises:
            ringforge.ValueError: it is no whole number, or out of range. The message does not name it.
        """
        if isinstance(value, bool | np.bool_):
            value = int(value)
        if not isinstance(value, int | np.integer):
            raise RingforgeValueError(f"{type(value).__name__} is no whole number: {self.name} takes whole numbers")
        if not self.min <= value <= self.max:
            raise RingforgeValueError(
                f"a number does not fit {self.name}, {self.min} ... {self.max}: take a wider type, x.astype(...)"
            )
        return int(value)

    def __eq__(self, other: object) -> bool:
        """Types are what they are of: one that encrypts, `FheUint8`, equals that of its name."""
        return isinstance(other, IntType) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, bool, bool]:
        return self.width, self.signed, self.boolean

    def __str__(self) -> str:
        return self.name


boolean = IntType(1, boolean=True)


def int_type(dtype: Any) -> IntType:
    """A type by its name ("uint8", "int12", "bool"), as an :class:`IntType`, or as numpy has it (np.uint8, bool).

    Raises:
        ParameterError: it is none.
    """
    if isinstance(dtype, IntType):
        return dtype
    if dtype is bool:
        return boolean
    name = dtype
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.integer | np.bool_)):
        name = np.dtype(dtype).name
    if isinstance(name, str):
        if name == "bool":
            return boolean
        found = _NAME.match(name)
        if found and int(found[2]) <= MAX_WIDTH:
            return IntType(int(found[2]), not found[1])
    what = f'"{dtype}"' if isinstance(dtype, str) else type(dtype).__name__ if not isinstance(dtype, type) else dtype
    raise ParameterError(
        f"{what} is no type of integers: take a name like uint8, int32 or bool, or integers.FheUint8 and its like"
    )


def common_type(a: IntType, b: IntType) -> IntType:
    """The type of an operation's result: the wider one of two of the same sign.

    Raises:
        MismatchError: signs differ, or one is bool.
    """
    if a == b:
        return a
    if a.boolean or b.boolean or a.signed != b.signed:
        wide = IntType(min(MAX_WIDTH, max(a.width, b.width) + 1), True)
        raise MismatchError(
            f'{a} and {b} do not go together: convert one first, x.astype(integers.int_type("{wide}")) for example'
        )
    return a if a.width >= b.width else b
