# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Stands for `ringforge.psi.oprf` in tests of large sets: the same calls on hashes, fast, and neither oblivious nor
secure."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ringforge.errors import FormatError, MismatchError
from ringforge.files import writing

Rows = np.ndarray[Any, np.dtype[np.uint8]]
_MAGIC = b"FAKEKEY\x01"


def _rows(values: list[bytes], width: int) -> Rows:
    return np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, width)


class ServerKey:
    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def random(cls) -> ServerKey:
        return cls(os.urandom(32))

    @classmethod
    def load(cls, path: str | Path) -> ServerKey:
        data = Path(path).read_bytes()
        if len(data) != 40 or not data.startswith(_MAGIC):
            raise FormatError("is no key")
        return cls(data[8:])

    def save(self, path: str | Path) -> int:
        with writing(path, secret=True) as f:
            return f.write(_MAGIC + self._secret)

    def _one(self, element: bytes) -> bytes:
        return hmac.digest(self._secret, element, "sha256")

    def evaluate(self, elements: Any, threads: int = 1, progress: Callable[[float], None] | None = None) -> Rows:
        assert threads >= 1
        assert elements.shape[1] == 32
        if not elements.any(axis=1).all():
            raise FormatError("element 0 is the identity")
        if progress:
            progress(1.0)
        return _rows([self._one(e.tobytes()) for e in elements], 32)

    def prf(self, inputs: Sequence[bytes], threads: int = 1, progress: Callable[[float], None] | None = None) -> Rows:
        assert threads >= 1
        if progress:
            progress(1.0)
        return _rows([_finish(x, self._one(hashlib.sha256(x).digest())) for x in inputs], 64)


def _finish(x: bytes, evaluated: bytes) -> bytes:
    return hashlib.sha512(evaluated + x).digest()


class Request:
    def __init__(self, inputs: Sequence[bytes], threads: int = 1) -> None:
        assert threads >= 1
        self._inputs: list[bytes] | None = list(inputs)
        self.elements = _rows([hashlib.sha256(x).digest() for x in inputs], 32)

    def finalize(self, answer: Any, threads: int = 1) -> Rows:
        assert threads >= 1
        if self._inputs is None:
            raise MismatchError("finished already")
        out = _rows([_finish(x, e.tobytes()) for x, e in zip(self._inputs, answer, strict=True)], 64)
        self._inputs = None
        return out
