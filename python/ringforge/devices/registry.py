# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which devices there are: opened by name, found in installed packages.

A device's module registers how devices of its kind are opened when it is imported. An installed package names
the modules of its devices as entry points of the group `ringforge.devices`, under
their kinds: they are imported when such a device is asked for (:mod:`ringforge.registered`). Modules with kernels are
entry points of the group `ringforge.kernels`, for those who list all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ringforge.devices.base import Device
from ringforge.errors import ParameterError
from ringforge.registered import load, registered

_DEVICES, _KERNELS = "ringforge.devices", "ringforge.kernels"


@dataclass(frozen=True)
class _Kind:
    """How devices of a kind are opened."""

    open: Callable[..., Device]
    names: Callable[[], Sequence[str]]
    options: frozenset[str]
    files: tuple[str, ...]
    addresses: tuple[str, ...]
    about: Callable[[], str]


_KINDS: dict[str, _Kind] = {}
_CASES: dict[type, str] = {}


def register_cases(kernel: type, module: str) -> None:
    """Names the module whose function `cases` gives :class:`ringforge.devices.conformance.Case` of the room's kernels,
    those of this type among them; it is imported when the suite runs."""
    _CASES[kernel] = module


def cases_of(kernel: type) -> str | None:
    """The module with cases of a type of kernels."""
    return _CASES.get(kernel)


def import_kernels() -> None:
    """Imports all kernels there are, so that devices can say what they run.

    Raises:
        Error: a package's kernels cannot be imported.
    """
    for entry in registered(_KERNELS).values():
        load(entry)


def register_device(
    kind: str,
    open: Callable[..., Device],
    names: Callable[[], Sequence[str]] | None = None,
    options: Sequence[str] = (),
    files: Sequence[str] = (),
    addresses: Sequence[str] = (),
    about: Callable[[], str] = lambda: "joined when it is opened",
) -> None:
    """Adds a kind of devices to those that `open_device` finds.

    Args:
        kind: without a colon.
        open: called with what follows "KIND:" in the name, or without arguments where nothing does, and with options as
            keywords.
        names: full names of the devices there are; by default the kind alone.
        options: keywords that `open` takes.
        files: how names of files end that describe further devices: "KIND:FILE" is one of them.
        addresses: how names look of devices that are elsewhere: whatever follows "KIND:" is an address. They are not
            opened to be listed.
        about: says of them what they are, or what is missing to open one.

    Raises:
        ParameterError: the kind has a colon, or there is such a kind.
    """
    if not kind or ":" in kind:
        raise ParameterError(f'"{kind}" is no kind of devices: take a word without a colon')
    if kind in _KINDS:
        raise ParameterError(f'there is a kind of devices "{kind}" already: take another name')
    _KINDS[kind] = _Kind(open, names or (lambda: [kind]), frozenset(options), tuple(files), tuple(addresses), about)


def names() -> list[str]:
    """Names that `open_device` takes.

    Raises:
        Error: a package's devices cannot be imported.
    """
    for kind in registered(_DEVICES):
        _find(kind)
    return [name for kind in _KINDS.values() for name in kind.names()]


def addresses() -> dict[str, tuple[str, ...]]:
    """How names look that `open_device` takes as addresses, by kind.

    Raises:
        Error: a package's devices cannot be imported.
    """
    for kind in registered(_DEVICES):
        _find(kind)
    return {kind: known.addresses for kind, known in _KINDS.items() if known.addresses}


def about(kind: str) -> str:
    """What devices of a kind are that are elsewhere, or what is missing to open one."""
    return _KINDS[kind].about()


def open_device(name: str = "cpu", **options: Any) -> Device:
    """A device by name.

    Args:
        options: of the device's kind; `waves=FILE` for `rtl`.

    Raises:
        ParameterError: there is no such device, and the message lists those there are; or it has no such option.
        Error: its package cannot be imported.
    """
    word, _, which = name.partition(":")
    kind = _find(word)
    if kind is None or not (kind.addresses or which.endswith(kind.files or ("\0",)) or name in kind.names()):
        there = [*names(), *(form for forms in addresses().values() for form in forms)]
        raise ParameterError(f'there is no device "{name}"; the devices are {", ".join(there)}')
    for option in options:
        if option not in kind.options:
            raise ParameterError(f"device {name} has no option {option}")
    return kind.open(*([which] if which else []), **options)


def _find(kind: str) -> _Kind | None:
    """The kind, from an installed package if need be."""
    if kind not in _KINDS and kind in registered(_DEVICES):
        load(registered(_DEVICES)[kind])
    return _KINDS.get(kind)
