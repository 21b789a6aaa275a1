# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a client's run does differently for each algorithm: keys, where elements go, requests, and reading replies."""

from __future__ import annotations

import secrets
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.psi import poly
from ringforge.psi.clear import ClearKey
from ringforge.psi.hashing import U16, U32
from ringforge.psi.info import TableInfo
from ringforge.psi.table import Shape, label_lengths, unpack
from ringforge.secrecy import Secret

Rows = npt.NDArray[Any]
Index = npt.NDArray[np.int64]

#: Which of some elements match, their labels, and how many values an honest server cannot have sent.
Opened = tuple[npt.NDArray[np.bool_], list[bytes], int]


class Asker(Protocol):
    """One client's key and table.

    Elements are rows of outputs of the PRF, (n, 64) bytes, or integers (n,) in mode direct. `bins` are those that they
    were placed in, `choice` the hash functions that they were placed by, both (n,).
    """

    def keys(self, threads: int) -> bytes:
        """Evaluation keys."""

    def places(self, elements: Rows) -> U32:
        """Bins (n, h) that each element may be placed in."""

    def request(self, elements: Rows, bins: U32, choice: Index, threads: int) -> bytes:
        """A request for the elements of one query, and for nothing anybody knows in all other bins."""

    def open(self, reply: bytes, elements: Rows, bins: U32, choice: Index) -> Opened:
        """What a reply says of the elements of its request. Every row is compared and unsealed, whether it matches or
        not.

        Raises:
            FormatError, MismatchError: the reply is damaged, or of another plan.
        """


class LookupAsker(Secret):
    """Asks for a cell of every bin."""

    def __init__(self, info: TableInfo, plan: Any, device: Literal["cpu", "clear"]) -> None:
        self._info, self._shape = info, Shape.of(info)
        self._key: Any = ClearKey(plan) if device == "clear" else _native.psi.ClientKey(plan)

    def keys(self, threads: int) -> bytes:
        return bytes(self._key.evaluation_keys(threads))

    def places(self, elements: Rows) -> U32:
        if self._info.mode == "direct":
            return self._shape.direct().places(elements)[0]
        hashing = self._shape.prf()
        return hashing.bins(hashing.words(elements)[0])

    def request(self, elements: Rows, bins: U32, choice: Index, threads: int) -> bytes:
        # Every bin is asked for a cell: who has no element, for any one.
        dummies = np.frombuffer(secrets.token_bytes(4 * self._shape.bins), dtype=np.uint32)
        cells = dummies & np.uint32((1 << self._shape.cell_bits) - 1)
        cells[bins] = self._cells(elements, bins, choice)
        request: bytes = self._key.query(cells, threads)
        return request

    def _cells(self, elements: Rows, bins: U32, choice: Index) -> U32:
        if self._info.mode == "direct":
            return self._shape.direct().places(elements)[1][np.arange(len(elements)), choice]
        hashing = self._shape.prf()
        return hashing.cells(hashing.words(elements)[1], choice, self._info.salt_array[bins])

    def open(self, reply: bytes, elements: Rows, bins: U32, choice: Index) -> Opened:
        each = len(reply) // self._info.parts
        parts = [np.asarray(self._key.decode(reply[i : i + each]))[bins] for i in range(0, len(reply), each)]
        words: U16 = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if self._info.mode == "direct":
            hit = words[:, 0] == 1
            return hit, [b""] * int(hit.sum()), int((words[:, 0] > 1).sum())
        hashing = self._shape.prf()
        tags, labels = unpack(words, self._shape)
        hit = tags == hashing.tags(hashing.words(elements)[2], choice)
        if not self._shape.label_bytes:
            return hit, [b""] * int(hit.sum()), 0
        labels = hashing.seal(labels, elements, choice, self._info.salt_array[bins])
        lengths = label_lengths(labels)
        good = hit & (lengths >= 0)
        opened = [labels[i, : lengths[i]].tobytes() for i in np.flatnonzero(good).tolist()]
        return good, opened, int((hit & (lengths < 0)).sum())


class PolyAsker(Secret):
    """Asks for the values of a bin's polynomials at an element."""

    def __init__(self, info: TableInfo, plan: Any, device: Literal["cpu", "clear"]) -> None:
        self._info, self._plan = info, plan
        self._key: Any = poly.ClearKey(plan) if device == "clear" else poly.ClientKey(plan)

    def keys(self, threads: int) -> bytes:
        return bytes(self._key.evaluation_keys(threads))

    def places(self, elements: Rows) -> U32:
        return poly.places(self._plan, elements)

    def request(self, elements: Rows, bins: U32, choice: Index, threads: int) -> bytes:  # noqa: ARG002
        # Every bin is asked for an element: who has none, for random residues.
        random = secrets.token_bytes(4 * self._plan.bins * self._plan.felts)
        asked = poly.fill(self._plan, poly.felts(self._plan, elements), bins, random)
        return bytes(self._key.query(asked, threads))

    def open(self, reply: bytes, elements: Rows, bins: U32, choice: Index) -> Opened:  # noqa: ARG002
        nonce, size = bytes.fromhex(self._info.nonce), self._info.label_bytes
        found = poly.open_values(self._plan, self._key.decode(reply), elements, bins, nonce, size)
        hit = np.flatnonzero(found.found)
        if not size:
            return found.found, [b""] * len(hit), found.anomalies
        rows = found.labels[hit]
        lengths = label_lengths(rows)
        return found.found, [row[:n].tobytes() for row, n in zip(rows, lengths, strict=True)], found.anomalies


def asker(info: TableInfo, plan: Any, device: Literal["cpu", "clear"]) -> Asker:
    """That of the table's algorithm, with a fresh key."""
    return (PolyAsker if info.plan.algorithm == "poly" else LookupAsker)(info, plan, device)
