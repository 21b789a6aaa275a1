# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Types that hold secrets: neither pickled nor copied nor shown, in Python and in the native module."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any, ClassVar, NoReturn

from ringforge.native_types import types_of


def _refuse(self: Any, *_: object) -> NoReturn:
    """Refuse what pickles and copies are made by.

    Raises:
        TypeError: always; it says how to save the secret, where that can be done.
    """
    kind = type(self)
    raise TypeError(f"{kind.__name__} holds a secret and can be neither copied nor pickled: {kind.saved_by}")


def _shown(self: Any) -> str:
    """Return the type's name and no more."""
    return f"<{type(self).__name__}, secret>"


class Secret:
    """Mixin of types that hold a secret: it is neither shown, nor copied, nor pickled."""

    #: How it is saved, or had by others, instead; for the message.
    saved_by: ClassVar[str] = "it is of this process only"

    __repr__ = _shown
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse


class RawSecret(Secret):
    """Mixin of types that hold the bytes of a secret themselves: `vars` shows nothing either."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """Return nothing: attributes are kept elsewhere."""
        return {}


#: Names of native types that hold secrets.
_NATIVE = re.compile(r"Secret|Blind|^ClientKey$|^ServerKey$|^Client$")

_SAVED_BY = {
    "SecretKey": "`ringforge.parties.save_secret_key(path, context, key)` writes it to a file",
    "fhew.SecretKey": "`ringforge.gates.save_secret_key(path, key)` writes it to a file",
    "Client": "it holds a source of randomness: make another one, with the secret key where that is saved",
    "ServerKey": "ringforge.psi.oprf.ServerKey.save writes it to a file",
    "SignalSecret": "ringforge.omr.keys.ReceiverSecret.save writes it to a file",
    "CompressionSecret": "ringforge.omr.keys.ReceiverSecret.save writes it to a file",
}


def guard(module: ModuleType) -> None:
    """Have the types of a native module that hold secrets refuse what `Secret` refuses."""
    for found in types_of(module):
        if _NATIVE.search(found.__name__) and "saved_by" not in vars(found):
            where = found.__module__.rpartition(".")[2]
            saved_by = _SAVED_BY.get(f"{where}.{found.__name__}") or _SAVED_BY.get(found.__name__, Secret.saved_by)
            refused = ("__reduce__", "__reduce_ex__", "__getstate__", "__copy__", "__deepcopy__")
            for name, value in {"saved_by": saved_by, "__repr__": _shown, **dict.fromkeys(refused, _refuse)}.items():
                setattr(found, name, value)
