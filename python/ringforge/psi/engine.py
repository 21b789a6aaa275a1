# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The native modules behind private set intersection, in one place so that protocol tests can put others there."""

from __future__ import annotations

from typing import Any

from ringforge import _native
from ringforge.errors import Error

_used: dict[str, Any] = {}


def use(name: str, module: Any | None) -> None:
    """Puts `module` in the place of the native module `name` ("psi" or "oprf"); None takes it away again."""
    if module is None:
        _used.pop(name, None)
    else:
        _used[name] = module


def psi() -> Any:
    """Plans, keys, tables and the evaluation.

    Raises:
        Error: the native module was built without it.
    """
    return _find("psi", getattr(_native, "psi", None))


def cut() -> Any:
    """The class of gadgets, which gates and private set intersection share."""
    return getattr(psi(), "Cut", None) or _native.fhew.Cut


def oprf() -> Any:
    """The oblivious pseudo-random function: `ringforge.psi.oprf`.

    Raises:
        Error: the native module was built without it.
    """
    if "oprf" in _used:
        return _used["oprf"]
    if not hasattr(_native, "oprf"):
        return _find("oprf", None)
    from ringforge.psi import oprf as module

    return module


def _find(name: str, module: Any | None) -> Any:
    found = _used.get(name, module)
    if found is None:
        raise Error(f"this build of ringforge has no native module {name}: build it again with `make`")
    return found
