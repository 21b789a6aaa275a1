# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client's side: its set, its secret key, its queries. Nothing here talks to a network.

Order of calls: `blinded` → `finish_prf` (mode oprf only), `keys`, then `next_request` / `accept` until
`next_request` returns None, then `result`. How many requests there are is fixed before the first is sent.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, MismatchError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi import engine
from ringforge.psi.build import check_elements
from ringforge.psi.hashing import (
    FULLEST_LOG,
    LOAD,
    U32,
    Bytes,
    fullest_bin,
    place_all,
    placement_failure,
    planned_queries,
)
from ringforge.psi.info import TableInfo
from ringforge.psi.server import to_list, to_rows
from ringforge.psi.table import Shape, check_integers, unpack, unpad_label

Element = bytes | int


@dataclass(frozen=True)
class Probabilities:
    """Chances that something went wrong, for the whole run; each an upper bound.

    Args:
        false_positive: some element is reported though the table has it not (0 in mode direct).
        placement: the elements did not fit into the fewest possible queries (costs a query, never an answer).
        decryption: the words of some element's cell decrypt to others.
    """

    false_positive: float
    placement: float
    decryption: float


@dataclass(frozen=True)
class Result:
    """What the client learned.

    Args:
        matches: the elements found, with their labels (b"" without).
        elements: different elements asked for.
        queries: requests sent.
        anomalies: values that an honest server's reply has only if decryption failed (words other than 0 and 1 in
            mode direct, labels with wrong padding): do not trust the result then, and do not tell the server.
    """

    matches: dict[Element, bytes]
    elements: int
    queries: int
    probabilities: Probabilities
    anomalies: int = 0


class Client:
    """One run of the protocol, with a fresh secret key.

    Args:
        info: what the server said of its table.
        elements: byte strings of up to 65535 bytes (mode oprf) or integers below 2^bits (mode direct);
            duplicates are asked for once.
        threads: for blinding and unblinding.

    Raises:
        ringforge.ValueError: an element of the wrong type, too long or too large.
        MismatchError, ParameterError: the plan cannot be built here.
    """

    def __init__(self, info: TableInfo, elements: Iterable[Element], *, threads: int = 1) -> None:
        self.info, self._threads = info, threads
        self._shape = Shape.of(info)
        try:
            self._elements = list(dict.fromkeys(elements))
        except TypeError:
            raise RingforgeValueError("elements are byte strings (bytes) or integers") from None
        if info.mode == "oprf":
            for _ in check_elements(self._elements):
                pass
        else:
            check_integers([x for x in self._elements if isinstance(x, int)], info.element_bits)
            if not all(isinstance(x, int) for x in self._elements):
                raise RingforgeValueError("elements are integers in mode direct")
        self._plan = info.native()
        self._key = engine.psi().ClientKey(self._plan)
        self._keys: bytes | None = None
        self._blinding: Any = None
        self._prf: Bytes = np.zeros((0, 64), dtype=np.uint8)
        self._cells: U32 | None = None
        self._placed: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] | None = None
        self._bins: U32 = np.zeros((0, info.hashes), dtype=np.uint32)
        self._sent = self._accepted = 0
        self._matches: dict[Element, bytes] = {}
        self._anomalies = 0
        if info.mode == "direct":
            self._bins, self._cells = self._shape.direct().places(np.array(self._elements, dtype=np.uint64))
            self._place()

    def __repr__(self) -> str:
        return f"<Client, {len(self._elements)} elements, secret>"

    @property
    def plan(self) -> Any:
        """The native plan: exact sizes of keys, requests and replies."""
        return self._plan

    @property
    def queries(self) -> int:
        """Number of requests of this run; known once placement is done (after `finish_prf` in mode oprf)."""
        return len(self._queries())

    # ---- oblivious PRF ----

    def blinded(self) -> list[bytes]:
        """Blinded elements for the server, 32 bytes each, uniform whatever the elements are; empty in mode direct."""
        if self.info.mode == "direct" or not self._elements:
            return []
        if self._blinding is None and self._placed is None:
            self._blinding = engine.oprf().Request(self._elements, self._threads)
        if self._blinding is None:
            raise MismatchError("the PRF values are there already: make a new client for a new run")
        return to_list(self._blinding.elements)

    def finish_prf(self, evaluated: Sequence[bytes]) -> None:
        """Takes the server's evaluations, in the order of `blinded`, and places all elements.

        Raises:
            FormatError: wrong number or length, or no valid encoding. MismatchError: called before `blinded`.
        """
        wanted = 0 if self.info.mode == "direct" else len(self._elements)
        if len(evaluated) != wanted:
            raise FormatError(f"{len(evaluated)} evaluated elements, where {wanted} were asked for")
        if self._placed is not None:
            if wanted:
                raise MismatchError("the PRF values are there already: make a new client for a new run")
            return
        if wanted:
            if self._blinding is None:
                raise MismatchError("nothing was blinded yet: call blinded() first")
            self._prf = self._blinding.finalize(to_rows(evaluated), self._threads)
            self._blinding = None
        hashing = self._shape.prf()
        self._bins = hashing.bins(hashing.words(self._prf)[0])
        self._place()

    def _place(self) -> None:
        self._placed = place_all(self._bins, self._shape.bins, LOAD[self._shape.hashes])

    # ---- queries ----

    def keys(self) -> bytes:
        """Evaluation keys for the server: `plan.key_bytes` bytes; the same bytes at every call."""
        if self._keys is None:
            self._keys = self._key.evaluation_keys(self._threads)
        return self._keys

    def next_request(self) -> bytes | None:
        """The next encrypted request (`plan.request_bytes` bytes), or None when all have been made.

        Raises:
            MismatchError: in mode oprf, before `finish_prf`.
        """
        queries = self._queries()
        if self._sent == len(queries):
            return None
        some, choice = queries[self._sent]
        self._sent += 1
        # Every bin is asked for a cell: who has no element, for any one.
        dummies = np.frombuffer(secrets.token_bytes(4 * self._shape.bins), dtype=np.uint32)
        cells = dummies & np.uint32((1 << self._shape.cell_bits) - 1)
        cells[self._bins[some, choice]] = self._cells_of(some, choice)
        request: bytes = self._key.query(cells, self._threads)
        return request

    def accept(self, reply: bytes) -> None:
        """Takes the reply to the oldest request without one.

        Raises:
            FormatError: damaged, or of the wrong length. MismatchError: no request is waiting.
        """
        if self._accepted == self._sent:
            raise MismatchError("no request is waiting for a reply")
        if len(reply) != self._plan.reply_bytes:
            raise FormatError(f"a reply of {len(reply)} bytes, where the plan has {self._plan.reply_bytes}")
        words = np.asarray(self._key.decode(reply))
        some, choice = self._queries()[self._accepted]
        self._accepted += 1
        words = words[self._bins[some, choice]]
        if self.info.mode == "direct":
            self._anomalies += int((words[:, 0] > 1).sum())
            for i in some[words[:, 0] == 1].tolist():
                self._matches[self._elements[i]] = b""
            return
        hashing = self._shape.prf()
        tags, labels = unpack(words, self._shape)
        hit = tags == hashing.tags(hashing.words(self._prf[some])[2], choice)
        if not hit.any():
            return
        some, choice, labels = some[hit], choice[hit], labels[hit]
        if self._shape.label_bytes:
            salt = self.info.salt_array[self._bins[some, choice]]
            labels = hashing.seal(labels, self._prf[some], choice, salt)
        for i, row in zip(some.tolist(), labels, strict=True):
            try:
                self._matches[self._elements[i]] = unpad_label(row.tobytes()) if self._shape.label_bytes else b""
            except FormatError:
                self._anomalies += 1

    def result(self) -> Result:
        """The intersection, when all replies are there.

        Raises:
            MismatchError: replies are missing.
        """
        missing = len(self._queries()) - self._accepted
        if missing:
            raise MismatchError(f"{missing} of {self.queries} replies are missing: the result is not known yet")
        matches = {x: self._matches[x] for x in self._elements if x in self._matches}
        return Result(matches, len(self._elements), self.queries, self.probabilities(), self._anomalies)

    def probabilities(self) -> Probabilities:
        """Bounds for this run; nothing of them depends on the elements but their number."""
        return probabilities(self.info, len(self._elements), self._plan)

    def _queries(self) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        if self._placed is None:
            raise MismatchError("the PRF values are missing: call finish_prf() first")
        return self._placed

    def _cells_of(self, some: npt.NDArray[np.int64], choice: npt.NDArray[np.int64]) -> U32:
        if self._cells is not None:
            return self._cells[some, choice]
        hashing = self._shape.prf()
        word = hashing.words(self._prf[some])[1]
        return hashing.cells(word, choice, self.info.salt_array[self._bins[some, choice]])


def probabilities(info: TableInfo, elements: int, plan: Any) -> Probabilities:
    """What may go wrong when `elements` elements are asked for (docs/psi-protocol.md)."""
    queries = planned_queries(elements, info.bins, LOAD[info.hashes])
    false = elements * (2.0**-info.tag_bits + 2.0 ** (1 - 2 * info.tag_bits)) if info.mode == "oprf" else 0.0
    each = placement_failure(-(-elements // max(queries, 1)), info.bins, info.hashes)
    entries = min(fullest_bin(info.capacity, info.bins, info.hashes), plan.cells)
    decryption = elements * (2.0 ** float(plan.failure_log2(entries)) + 2.0**-FULLEST_LOG)
    return Probabilities(min(1.0, false), min(1.0, queries * each), min(1.0, decryption))
