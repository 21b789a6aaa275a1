# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whether what a party should not have is in its files: a search for texts and keys, however they are written."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

_CHUNK = 1 << 22


def _forms(raw: bytes) -> Iterator[bytes]:
    """Bytes as they might be written: raw, in hexadecimal, in base64 at each of its three places."""
    yield raw
    yield raw.hex().encode()
    for shift in range(3):
        # Digits that hold bits of the bytes around are left out.
        digits = base64.b64encode(bytes(shift) + raw).rstrip(b"=")
        whole = (shift + len(raw)) * 8 // 6
        yield digits[-(-shift * 8 // 6) : whole]


T = TypeVar("T", str, bytes)


class Search(Generic[T]):
    """Looks for texts or bytes in files of any size.

    Args:
        texts: each of at least 8 bytes.
    """

    def __init__(self, texts: Sequence[T]) -> None:
        self._by_start: dict[bytes, list[tuple[bytes, T]]] = {}
        self._first = np.zeros(1 << 16, dtype=bool)
        self._second = np.zeros(1 << 16, dtype=bool)
        self._longest = 0
        for text in texts:
            for form in _forms(text.encode() if isinstance(text, str) else text):
                self._by_start.setdefault(form[:4], []).append((form, text))
                self._first[int.from_bytes(form[:2], "little")] = True
                self._second[int.from_bytes(form[2:4], "little")] = True
                self._longest = max(self._longest, len(form))

    def data(self, data: bytes) -> set[T]:
        """The texts that the data hold."""
        found: set[T] = set()
        octets = np.frombuffer(data, dtype=np.uint8).astype(np.uint16)
        if len(octets) < 4:
            return found
        pairs = octets[:-1] | (octets[1:] << 8)
        for at in np.nonzero(self._first[pairs[:-2]] & self._second[pairs[2:]])[0].tolist():
            for form, text in self._by_start.get(data[at : at + 4], ()):
                if data.startswith(form, at):
                    found.add(text)
        return found

    def file(self, path: Path) -> set[T]:
        """The texts that a file holds."""
        found: set[T] = set()
        rest = b""
        with path.open("rb") as f:
            while some := f.read(_CHUNK):
                found |= self.data(rest + some)
                rest = (rest + some)[-self._longest :]
        return found
