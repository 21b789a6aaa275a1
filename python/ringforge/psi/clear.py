# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys, requests and replies without encryption, for the clear device.

They have the lengths that the plan gives the real ones, and a header that tells other kinds, other plans, other clients
and damage, so that everything around them behaves as with real ones.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from typing import Any, NoReturn

import numpy as np

from ringforge.errors import FormatError, MismatchError, ShapeError
from ringforge.psi.hashing import U16, U32

KEYS, REQUEST, REPLY = b"CLEARKEY", b"CLEARASK", b"CLEARSAY"
_HEADER = 8 + 32 + 8 + 32
_numbers = itertools.count(int.from_bytes(os.urandom(6), "little"))


class ClearKey:
    """Stands for a client's secret: NO ENCRYPTION. For tests, with `device="clear"`.

    Args:
        plan: the native plan.
    """

    def __init__(self, plan: Any) -> None:
        self._plan, self._number = plan, next(_numbers)

    def __repr__(self) -> str:
        return "<ClearKey, hides nothing>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client's key is of one run: make a new one")

    def evaluation_keys(self, threads: int = 1) -> bytes:  # noqa: ARG002
        """What stands for the keys: the plan's `key_bytes`."""
        return wrap(KEYS, self._plan, self._number, b"", self._plan.key_bytes)

    def query(self, cells: U32, threads: int = 1) -> bytes:  # noqa: ARG002
        """The cells (bins,) themselves: the plan's `request_bytes`.

        Raises:
            ShapeError: another number of cells, or one that is none.
        """
        if cells.shape != (self._plan.bins,) or int(cells.max(initial=0)) >= self._plan.cells:
            raise ShapeError(f"{len(cells)} cells for {self._plan.bins} bins of {self._plan.cells}")
        return wrap(REQUEST, self._plan, self._number, cells.astype("<u4").tobytes(), self._plan.request_bytes)

    def decode(self, reply: bytes) -> U16:
        """Words of every bin, (bins, s).

        Raises:
            FormatError, MismatchError: damaged, or of another plan or client.
        """
        number, body = unwrap(REPLY, self._plan, reply, self._plan.reply_bytes)
        if number != self._number:
            raise MismatchError("the reply is for another client's request")
        shape = (self._plan.bins, self._plan.cell_words)
        return np.frombuffer(body, word(self._plan), shape[0] * shape[1]).reshape(shape).astype(np.uint16)


def word(plan: Any) -> np.dtype[Any]:
    """How a reply writes a word."""
    return np.dtype("u1" if plan.log_t <= 8 else "<u2")


def wrap(kind: bytes, plan: Any, number: int, body: bytes, size: int) -> bytes:
    """A message of `size` bytes."""
    head: bytes = kind + plan.hash + number.to_bytes(8, "little")
    body = body.ljust(size - _HEADER, b"\0")
    return head + hashlib.sha256(head + body).digest() + body


def unwrap(kind: bytes, plan: Any, data: bytes, size: int) -> tuple[int, bytes]:
    """Number of the client, and body, of a message of `size` bytes.

    Raises:
        FormatError: no such message, or damaged. MismatchError: for another plan.
    """
    head, checksum, body = data[: _HEADER - 32], data[_HEADER - 32 : _HEADER], data[_HEADER:]
    if len(data) != size or head[:8] != kind:
        raise FormatError(f"these {len(data)} bytes are no {kind.decode()} of the clear device")
    if head[8:40] != plan.hash:
        raise MismatchError(f"this {kind.decode()} is for another plan")
    if hashlib.sha256(head + body).digest() != checksum:
        raise FormatError(f"this {kind.decode()} is damaged: its checksum is wrong")
    return int.from_bytes(head[40:], "little"), body
