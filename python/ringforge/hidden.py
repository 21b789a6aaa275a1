# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted values in places where Python and numpy want a value: they refuse, and say who can decrypt.

Without this an object compares by identity, is true, and becomes an array of one object: answers that are wrong without
a word.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any, ClassVar

from ringforge.native_types import types_of


def _kind(self: Any) -> str:
    return f"{'an' if type(self).__name__[0] in 'AEIOU' else 'a'} {type(self).__name__}"


def _no_value(self: Any) -> Any:
    """Refuse to be a truth value or a number.

    Raises:
        TypeError: always; it says who can decrypt.
    """
    raise TypeError(f"{_kind(self)} {self.state} and has no value here: {self.revealed_by}")


def _no_comparison(self: Any, other: object) -> Any:  # noqa: ARG001
    """Refuse to be compared.

    Raises:
        TypeError: always; it says how to compare what is inside.
    """
    raise TypeError(
        f"{_kind(self)} {self.state} and cannot be compared: {self.revealed_by}, and those can be compared; `is` tells "
        "whether two names are of one object"
    )


def _no_items(self: Any, *_: object) -> Any:
    """Refuse to be a sequence.

    Raises:
        TypeError: always; it says how to get at the numbers.
    """
    raise TypeError(f"{_kind(self)} {self.state} and has neither length nor items here: {self.revealed_by}")


def _no_array(self: Any, *_: object, **__: object) -> Any:
    """Refuse to become an array.

    Raises:
        TypeError: always; it says how to get an array.
    """
    raise TypeError(f"{_kind(self)} {self.state} and is no array for numpy: {self.revealed_by}")


#: numpy's functions of pairs of entries that are Python's operators, by the operator's name.
_OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "true_divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "matmul": "matmul",
    "left_shift": "lshift",
    "right_shift": "rshift",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "invert": "invert",
    "bitwise_invert": "invert",
    "negative": "neg",
    "positive": "pos",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}
#: Comparisons seen from the other side.
_TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _by_operator(self: Any, *given: Any, **options: Any) -> Any:
    """Return what Python's operators make of numpy's function of that meaning.

    Raises:
        TypeError: there is no such operator, or a place for the result is given.
    """
    ufunc, method, *inputs = given
    name, refused = ufunc.__name__, f"numpy.{ufunc.__name__} does not work on {_kind(self)}"
    if method != "__call__" or name not in _OPERATORS:
        raise TypeError(f"{refused}, which {self.state}: {self.revealed_by}")
    if options.get("out") is not None:
        raise TypeError(
            f"{refused} with out=, as no array can hold what is encrypted: leave it away, and write x = x + y in place "
            "of x += y"
        )
    if options:
        raise TypeError(f"{refused} with {next(iter(options))}=: leave it away")
    operator = _OPERATORS[name]
    first, *rest = inputs
    result = NotImplemented
    if hasattr(first, "revealed_by") and hasattr(first, f"__{operator}__"):
        result = getattr(first, f"__{operator}__")(*rest)
    if result is NotImplemented and rest and hasattr(rest[0], "revealed_by"):
        found = getattr(rest[0], f"__{_TURNED.get(operator, 'r' + operator)}__", None)
        result = NotImplemented if found is None else found(first)
    if result is NotImplemented:
        raise TypeError(f"{refused} with {' and '.join(type(x).__name__ for x in inputs)}: there is no such operator")
    return result


_VALUES = ("__bool__", "__int__", "__float__", "__complex__", "__index__")
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_ARRAYS = ("__array__", "__array_function__")
_ITEMS = ("__len__", "__iter__", "__contains__")


class Hidden:
    """Mixin of encrypted values: no truth value, number, comparison or array stands in for what is inside.

    Dataclasses with it say `eq=False`. numpy's functions that are operators use those that the type has.
    """

    __slots__ = ()

    #: Why nobody here knows the numbers, and the way to them; for messages.
    state: ClassVar[str] = "is encrypted"
    revealed_by: ClassVar[str] = "decrypt it where its key is"

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _no_value
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_comparison
    __hash__ = object.__hash__
    __array__ = __array_function__ = _no_array
    __array_ufunc__ = _by_operator


class HiddenWhole(Hidden):
    """The same for types without items."""

    __slots__ = ()

    __len__ = __iter__ = __contains__ = _no_items


#: Native types of encrypted values, and of encoded ones.
_NATIVE = re.compile(r"^(Ciphertext|MatrixBatch|Plaintext|Multiplier)$")

_ENCODED = {
    "Plaintext": "its context's decode gives the numbers",
    "Multiplier": "keep the numbers that it was made of",
}


def guard(module: ModuleType) -> None:
    """Have a native module's types of encrypted and encoded values refuse what `HiddenWhole` refuses."""
    for found in types_of(module):
        if _NATIVE.search(found.__name__) and "revealed_by" not in vars(found):
            found.state = "is encoded" if found.__name__ in _ENCODED else Hidden.state
            found.revealed_by = _ENCODED.get(found.__name__, Hidden.revealed_by)
            refused = dict.fromkeys(_VALUES, _no_value) | dict.fromkeys(_COMPARISONS, _no_comparison)
            refused |= (
                dict.fromkeys(_ARRAYS, _no_array) | {"__array_ufunc__": _by_operator} | dict.fromkeys(_ITEMS, _no_items)
            )
            for name, value in refused.items():
                if name not in vars(found) or name in _COMPARISONS:
                    setattr(found, name, value)
