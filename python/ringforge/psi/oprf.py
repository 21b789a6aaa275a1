# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Oblivious pseudo-random function: RFC 9497, suite ristretto255-SHA512, mode OPRF.

The client gets F(key, input), 64 bytes, for inputs of its own under a key that only the server has; the server
learns how many there were and nothing else.

>>> key = ServerKey.random()
>>> request = Request([b"alice", b"bob"])            # client
>>> answer = key.evaluate(request.elements)          # server
>>> values = request.finalize(answer)                # client
>>> bool((values == key.prf([b"alice", b"bob"])).all())
True

Inputs are byte strings of 0 to 65535 bytes. The mode proves nothing about the key: a server may use another one for
each request. Whoever may ask often can guess inputs of few possibilities, so a server limits the number of requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringforge._native import io
from ringforge._native import oprf as native
from ringforge.errors import FormatError, MismatchError, ShapeError
from ringforge.files import naming, writing
from ringforge.parties import Progress
from ringforge.secrecy import RawSecret, Secret

__all__ = ["ELEMENT_BYTES", "MAX_INPUT_BYTES", "OUTPUT_BYTES", "Request", "ServerKey"]

ByteRows = npt.NDArray[np.uint8]

ELEMENT_BYTES: int = native.ELEMENT_BYTES  #: of an element on its way
OUTPUT_BYTES: int = native.OUTPUT_BYTES  #: of a pseudo-random value
MAX_INPUT_BYTES: int = native.MAX_INPUT_BYTES

#: Keys from before records: magic and version 1, the scalar's 32 bytes, little-endian, then the first 8 bytes of the
#: value at the empty string, which tell a damaged key.
_OLD_HEADER = b"RGOPRF\x00\x01"
_OLD_CHECK_BYTES = 8
_OLD_FILE_BYTES = len(_OLD_HEADER) + native.SCALAR_BYTES + _OLD_CHECK_BYTES

#: Longer than any key's file.
_MAX_FILE_BYTES = 256

#: Keys belong to no parameters.
_NO_PARAMETERS = bytes(32)


def _rows(elements: npt.ArrayLike) -> ByteRows:
    """Elements as a contiguous (count, 32) array of bytes.

    Raises:
        ShapeError: another shape or type.
    """
    array = np.asarray(elements)
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != ELEMENT_BYTES:
        raise ShapeError(
            f"elements of shape {array.shape} and type {array.dtype}; (count, {ELEMENT_BYTES}) of uint8 is needed"
        )
    return np.ascontiguousarray(array)


def _old_key(data: bytes) -> native.ServerKey:
    if len(data) != _OLD_FILE_BYTES:
        raise FormatError(f"is not {_OLD_FILE_BYTES} bytes long: it is damaged, use a copy")
    key = native.ServerKey.from_bytes(data[len(_OLD_HEADER) : -_OLD_CHECK_BYTES])
    if key.prf(b"")[:_OLD_CHECK_BYTES] != data[-_OLD_CHECK_BYTES:]:
        raise FormatError("holds a key that does not match its check value: it is damaged, use a copy")
    return key


class ServerKey(Secret):
    """The server's secret key. Make one with `random`, `derive` or `load`."""

    saved_by = "its `save` writes it to a file"

    def __init__(self, native_key: native.ServerKey) -> None:
        self._key = native_key

    @classmethod
    def random(cls) -> ServerKey:
        """A new key, from the operating system's generator."""
        return cls(native.ServerKey.random())

    @classmethod
    def derive(cls, seed: bytes, info: bytes = b"") -> ServerKey:
        """The key of a seed (RFC 9497, section 3.2.1).

        Args:
            seed: 32 random bytes, as secret as the key.
            info: public, up to 65535 bytes: what the key is for.

        Raises:
            ShapeError: the seed has another length. ringforge.ValueError: the info is too long.
        """
        return cls(native.ServerKey.derive(seed, info))

    @classmethod
    def load(cls, path: str | Path) -> ServerKey:
        """Reads a file written by `save`.

        Raises:
            FormatError: not such a file, of another version, or damaged.
        """
        path = Path(path)
        with path.open("rb") as f:
            data = f.read(_MAX_FILE_BYTES + 1)
        with naming(path):
            if data.startswith(_OLD_HEADER):
                return cls(_old_key(data))
            if not data.startswith(io.MAGIC):
                raise FormatError("is no key of an OPRF server: name the file that the server's key was saved to")
            _, _, scalar = io.unseal(data, io.OPRF_KEY)
            if len(scalar) != native.SCALAR_BYTES:
                raise FormatError(f"holds a scalar of {len(scalar)} bytes, {native.SCALAR_BYTES} are needed")
            return cls(native.ServerKey.from_bytes(scalar))

    def save(self, path: str | Path) -> int:
        """Writes the key, not encrypted, to a file that its owner alone can read (mode 0600); returns bytes."""
        with writing(path, secret=True) as f:
            return f.write(io.seal(io.OPRF_KEY, _NO_PARAMETERS, self._key.secret_bytes()))

    def evaluate(self, elements: npt.ArrayLike, threads: int = 1, progress: Progress | None = None) -> ByteRows:
        """Answers a client's request.

        Args:
            elements: (count, 32) bytes, `Request.elements`.
            threads: any number gives the same answer.
            progress: called with the fraction done; an exception it raises ends the call.

        Returns:
            (count, 32) bytes, for `Request.finalize`.

        Raises:
            ShapeError: another shape or type. FormatError: a row is no element, or the identity; it names the
            first such, and nothing is answered.
        """
        return self._key.evaluate_batch(_rows(elements), threads, progress)

    def prf(self, inputs: Sequence[bytes], threads: int = 1, progress: Progress | None = None) -> ByteRows:
        """The function itself, for the server's own set: (count, 64) bytes.

        Raises:
            ringforge.ValueError: an input beyond 65535 bytes. TypeError: an input is not bytes.
        """
        return self._key.prf_batch(list(inputs), threads, progress)


class Request(RawSecret):
    """A client's inputs, their blinds, and what goes to the server.

    It keeps the inputs and blinds, which are secret, until `finalize`, which works once: the blinds are gone then.

    Raises:
        ringforge.ValueError: an input beyond 65535 bytes. TypeError: an input is not bytes.
    """

    def __init__(self, inputs: Sequence[bytes], threads: int = 1, progress: Progress | None = None) -> None:
        self._inputs: list[bytes] = list(inputs)
        self._blinds: native.Blinds | None
        self._blinds, elements = native.blind_batch(self._inputs, threads, progress)
        elements.flags.writeable = False
        self._elements = elements

    def __len__(self) -> int:
        return len(self._elements)

    @property
    def elements(self) -> ByteRows:
        """For the server: (count, 32) bytes, uniform whatever the inputs are."""
        return self._elements

    def finalize(self, answer: npt.ArrayLike, threads: int = 1, progress: Progress | None = None) -> ByteRows:
        """The values at the inputs, in their order: (count, 64) bytes.

        Args:
            answer: (count, 32) bytes from `ServerKey.evaluate`.
            threads: any number gives the same values.
            progress: called with the fraction done; an exception it raises ends the call.

        Raises:
            ShapeError: another shape, type or number of rows. FormatError: a row is no element, or the identity.
            After either, another answer may be tried. MismatchError: the request is finished already.
        """
        if self._blinds is None:
            raise MismatchError("this request is finished: make a new one for new values")
        values = native.finalize_batch(self._inputs, self._blinds, _rows(answer), threads, progress)
        self._blinds, self._inputs = None, []
        return values
