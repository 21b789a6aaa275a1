# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys, requests and replies without encryption, for the clear device.

They are records of the same types and lengths as the real ones, and say in their bodies that they are none and whose
they are, so that everything around them behaves as with real ones.
"""

from __future__ import annotations

import itertools
import os
from typing import Any, NoReturn

import numpy as np

from ringforge._native import io
from ringforge.errors import FormatError, MismatchError, ShapeError
from ringforge.psi.hashing import U16, U32

KEYS, REQUEST, REPLY = io.PSI_KEYS, io.PSI_REQUEST, io.PSI_REPLY
_MARK = b"NOT ENCRYPTED: of the clear device\n"
_NUMBER_BYTES = 8
_numbers = itertools.count(int.from_bytes(os.urandom(6), "little"))


class StandIn:
    """Stands for a client's secret: NO ENCRYPTION. For tests, with `device="clear"`.

    Args:
        plan: the native plan.
    """

    #: Record type of the evaluation keys.
    keys: int

    def __init__(self, plan: Any) -> None:
        self._plan, self._number = plan, next(_numbers)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, hides nothing>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client's key is of one run: make a new one")

    def evaluation_keys(self, threads: int = 1) -> bytes:  # noqa: ARG002
        """What stands for the keys: the plan's `key_bytes`."""
        return wrap(self.keys, self._plan, self._number, b"", self._plan.key_bytes)


class ClearKey(StandIn):
    """The client's secret of a look-up."""

    keys = KEYS

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


def wrap(kind: int, plan: Any, number: int, body: bytes, size: int) -> bytes:
    """A message of `size` bytes."""
    whole = _MARK + number.to_bytes(_NUMBER_BYTES, "little") + body
    return bytes(io.seal(kind, plan.hash, whole.ljust(size - io.FRAME_BYTES, b"\0")))


def unwrap(kind: int, plan: Any, data: bytes, size: int) -> tuple[int, bytes]:
    """Number of the client, and body, of a message of `size` bytes.

    Raises:
        FormatError: no such message, or damaged. MismatchError: for another plan.
    """
    if len(data) != size:
        raise FormatError(f"a message of {len(data)} bytes, this plan's have {size}")
    _, plan_hash, body = io.unseal(data, kind)
    if plan_hash != plan.hash:
        raise MismatchError("the message is for another plan")
    if not body.startswith(_MARK):
        raise FormatError("an encrypted message, where the clear device takes only its own")
    at = len(_MARK) + _NUMBER_BYTES
    return int.from_bytes(body[len(_MARK) : at], "little"), body[at:]
