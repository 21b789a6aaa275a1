# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Values as they travel: a pickle, and the arrays beside it, which are shared where they lie."""

from __future__ import annotations

import hashlib
import io
import pickle
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ringforge


@dataclass(frozen=True)
class Packed:
    """A value.

    Attributes:
        data: its pickle. buffers: of its arrays, without copies.
    """

    data: Any
    buffers: tuple[Any, ...]

    @property
    def bytes(self) -> int:
        """Of both."""
        return memoryview(self.data).nbytes + sum(memoryview(b).nbytes for b in self.buffers)


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, name_of: Callable[[Any], str | None], buffers: list[Any]) -> None:
        super().__init__(out, protocol=5, buffer_callback=buffers.append)
        self._name_of = name_of

    def persistent_id(self, value: Any) -> str | None:
        return self._name_of(value)


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: Packed, named: Callable[[str], Any]) -> None:
        super().__init__(io.BytesIO(packed.data), buffers=packed.buffers)
        self._named = named

    def persistent_load(self, name: str) -> Any:
        return self._named(name)


def pack(value: Any, name_of: Callable[[Any], str | None] = lambda _: None) -> Packed:
    """A value for another process.

    Args:
        name_of: the name of a value that does not travel, or None.
    """
    out, buffers = io.BytesIO(), list[Any]()
    _Pickler(out, name_of, buffers).dump(value)
    # The pickle goes beside, too: it may be long (records of ciphertexts are bytes), and what is beside is not copied.
    return Packed(pickle.PickleBuffer(out.getbuffer()), tuple(buffers))


def unpack(packed: Packed, named: Callable[[str], Any] | None = None) -> Any:
    """The value. Its arrays are those of the buffers."""

    def none(name: str) -> Any:
        raise pickle.UnpicklingError(f"{name} is stored nowhere")

    return _Unpickler(packed, named or none).load()


@cache
def installation() -> tuple[str, str, str]:
    """What must be the same on all nodes: the versions of Ringforge and Python, and a digest of Ringforge's modules."""
    root = Path(ringforge.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return ringforge.__version__, platform.python_version(), digest.hexdigest()[:16]
