# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted values in places where Python and numpy want a value: they refuse, and say who can decrypt.

Without this an object compares by identity, is true, and becomes an array of one object: answers that are wrong without
a word.
"""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any, ClassVar, NoReturn


def _kind(self: Any) -> str:
    return f"{'an' if type(self).__name__[0] in 'AEIOU' else 'a'} {type(self).__name__}"


def _no_value(self: Any, *_: object) -> NoReturn:
    """Refuse to be a truth value or a number.

    Raises:
        TypeError: always; it says who can decrypt.
    """
    raise TypeError(f"{_kind(self)} {self.state} and has no value here: {self.revealed_by}")


def _no_comparison(self: Any, _: object) -> NoReturn:
    """Refuse to be compared.

    Raises:
        TypeError: always; it says how to compare what is inside.
    """
    raise TypeError(
        f"{_kind(self)} {self.state} and cannot be compared: {self.revealed_by}, and those can be compared; `is` tells "
        "whether two names are of one object"
    )


def _no_items(self: Any, *_: object) -> NoReturn:
    """Refuse to be a sequence.

    Raises:
        TypeError: always; it says how to get at the numbers.
    """
    raise TypeError(f"{_kind(self)} {self.state} and has neither length nor items here: {self.revealed_by}")


def _no_array(self: Any, *_: object, **__: object) -> NoReturn:
    """Refuse to become an array.

    Raises:
        TypeError: always; it says how to get an array.
    """
    raise TypeError(f"{_kind(self)} {self.state} and is no array for numpy: {self.revealed_by}")


_VALUES = ("__bool__", "__int__", "__float__", "__complex__", "__index__")
_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_ARRAYS = ("__array__", "__array_ufunc__", "__array_function__")
_ITEMS = ("__len__", "__iter__", "__contains__")


class Hidden:
    """Mixin of encrypted values: no truth value, number, comparison or array stands in for what is inside.

    Dataclasses with it say `eq=False`.
    """

    #: Why nobody here knows the numbers, and the way to them; for messages.
    state: ClassVar[str] = "is encrypted"
    revealed_by: ClassVar[str] = "decrypt it with the secret key"

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _no_value
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_comparison
    __hash__ = object.__hash__
    __array__ = __array_ufunc__ = __array_function__ = _no_array


class HiddenWhole(Hidden):
    """The same for types without items."""

    __len__ = __iter__ = __contains__ = _no_items


#: Native types of encrypted values, and of encoded ones.
_NATIVE = re.compile(r"^(Ciphertext|MatrixBatch|Plaintext|Multiplier)$")

_ENCODED = {
    "Plaintext": "its context's decode gives the numbers",
    "Multiplier": "keep the numbers that it was made of",
}


def guard(module: ModuleType) -> None:
    """Have a native module's types of encrypted and encoded values refuse what `HiddenWhole` refuses."""
    for found in vars(module).values():
        if inspect.ismodule(found) and found.__name__.startswith(f"{module.__name__}."):
            guard(found)
        elif inspect.isclass(found) and _NATIVE.search(found.__name__) and "revealed_by" not in vars(found):
            setattr(found, "state", "is encoded" if found.__name__ in _ENCODED else Hidden.state)  # noqa: B010
            setattr(found, "revealed_by", _ENCODED.get(found.__name__, Hidden.revealed_by))  # noqa: B010
            refused = dict.fromkeys(_VALUES, _no_value) | dict.fromkeys(_COMPARISONS, _no_comparison)
            refused |= dict.fromkeys(_ARRAYS, _no_array) | dict.fromkeys(_ITEMS, _no_items)
            for name, value in refused.items():
                if name not in vars(found) or name in _COMPARISONS:
                    setattr(found, name, value)
