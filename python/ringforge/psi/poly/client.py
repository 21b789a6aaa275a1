# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client's side of the polynomial protocol, after the PRF: placing, requests, replies."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.errors import Error, FormatError, MismatchError, ParameterError
from ringforge.psi.hashing import U32, Bytes, place_all, size_class
from ringforge.psi.poly.clear import ClearKey
from ringforge.psi.poly.plan import PlanFields, felts, fill, from_words, outputs, placement_log2, places, room, seal
from ringforge.psi.poly.table import NONCE_BYTES
from ringforge.psi.table import label_lengths
from ringforge.secrecy import RawSecret

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Opened:
    """What the replies to one query say of its elements.

    Args:
        found: (n,): whether the server has the element.
        labels: padded rows (n, L), sealed no more; those of elements that were not found say nothing.
        anomalies: what an honest server's table does not give: elements found whose label nobody can have padded,
            elements found in more than one bundle, and random residues found, in bins without an element. Decryption
            failed, or the server cheats; by chance it is as rare as a false positive.
    """

    found: npt.NDArray[np.bool_]
    labels: Bytes
    anomalies: int


def open_values(plan: Any, values: U32, prf: Bytes, bins: npt.NDArray[Any], nonce: bytes, label_bytes: int) -> Opened:
    """What decoded values (bundles, 1 + label words, bins, felts) say of elements (n, 64) that were asked for in `bins`
    (n,). Every row is compared and unsealed, whether it matches or not."""
    everywhere = (values[:, 0] == 0).all(axis=2)
    match = everywhere[:, bins]
    found: npt.NDArray[np.bool_] = np.asarray(match.any(axis=0))
    # Replies that say yes to all would say so of what nobody asked for, too.
    others = everywhere.any(axis=0)
    others[bins] = False
    wrong = int(others.sum()) + int((match.sum(axis=0) > 1).sum())
    if not plan.label_words:
        return Opened(found, np.zeros((len(prf), 0), np.uint8), wrong)
    words = values[match.argmax(axis=0), 1:, bins].reshape(len(prf), -1)
    labels = seal(from_words(plan, words, label_bytes), prf, nonce)
    unpadded = found & (label_lengths(labels) < 0)
    return Opened(found & ~unpadded, labels, wrong + int(unpadded.sum()))


@dataclass(frozen=True)
class Result:
    """What a run found.

    Args:
        found: positions of the elements that the server has, ascending.
        labels: their padded labels (k, L). anomalies: as in `Opened`, of all queries.
    """

    found: Ints
    labels: Bytes
    anomalies: int


class Client(RawSecret):
    """One run in memory, with a fresh secret key.

    Args:
        fields: the plan. prf: outputs (n, 64) of different elements.
        nonce, label_bytes: of the table, where the plan has labels: bytes of a padded label.
        exact_sizes: as many queries as needed; without it, as many as the class of n has (`hashing.size_class`).
        device: "cpu", or "clear" for tests: nothing is encrypted.

    Raises:
        ParameterError: the plan is refused, or labels and nonce do not fit it.
    """

    saved_by = "it is for one run, and what it sends are bytes; make a new one with the same elements"

    def __init__(
        self,
        fields: PlanFields,
        prf: Bytes,
        *,
        nonce: bytes = b"",
        label_bytes: int = 0,
        threads: int = 1,
        exact_sizes: bool = False,
        device: Literal["cpu", "clear"] = "cpu",
    ) -> None:
        self._plan, self._threads = fields.native(), threads
        if not 0 <= label_bytes <= self._plan.label_bytes:
            raise ParameterError(f"labels of {label_bytes} bytes, the plan has room for {self._plan.label_bytes}")
        if self._plan.label_words and (len(nonce) != NONCE_BYTES or label_bytes < 1):
            raise ParameterError(f"labels need their length and the table's nonce of {NONCE_BYTES} bytes")
        self._prf, self._nonce, self._label_bytes = outputs(prf), nonce, label_bytes
        self._places = places(self._plan, self._prf)
        each = room(self._plan.bins)
        self._planned = size_class(len(self._prf), each, exact=exact_sizes)[0]
        self._placed, self._left = place_all(self._places, self._plan.bins, self._planned)
        self._key: Any = ClearKey(self._plan) if device == "clear" else _native.psi_poly.ClientKey(self._plan)
        self._keys: bytes | None = None
        self._sent = 0
        self._replies: list[bytes] = []

    def __repr__(self) -> str:
        return f"<Client, {len(self._prf)} elements, secret>"

    @property
    def plan(self) -> Any:
        """The native plan."""
        return self._plan

    @property
    def queries(self) -> int:
        """Requests of this run."""
        return self._planned

    def placement_failure(self) -> float:
        """The probability, at most, that some element finds no place, so that the run has no result."""
        each = placement_log2(-(-len(self._prf) // max(self._planned, 1)), self._plan.bins)
        return min(1.0, self._planned * math.exp2(each))

    def keys(self) -> bytes:
        """The evaluation key for the server: `plan.key_bytes` bytes; the same bytes at every call."""
        if self._keys is None:
            self._keys = self._key.evaluation_keys(self._threads)
        return self._keys

    def next_request(self) -> bytes | None:
        """The next encrypted request (`plan.request_bytes` bytes), or None when all have been made."""
        if self._sent == self._planned:
            return None
        some, choice = self._placed[self._sent]
        self._sent += 1
        random = secrets.token_bytes(4 * self._plan.bins * self._plan.felts)
        asked = fill(self._plan, felts(self._plan, self._prf[some]), self._places[some, choice], random)
        request: bytes = self._key.query(asked, self._threads)
        return request

    def accept(self, reply: bytes) -> None:
        """Takes the reply to the oldest request without one.

        Raises:
            FormatError: it has the wrong length. MismatchError: no request is waiting.
        """
        if len(self._replies) == self._sent:
            raise MismatchError("no request is waiting for a reply")
        if len(reply) != self._plan.reply_bytes:
            raise FormatError(f"a reply of {len(reply)} bytes, where the plan has {self._plan.reply_bytes}")
        self._replies.append(reply)

    def result(self) -> Result:
        """What was found, when all replies are there: decrypts them. Close the session first, so that a server cannot
        measure what they hold.

        Raises:
            MismatchError: replies are missing, or are another client's. FormatError: a reply is damaged.
            Error: some element found no place.
        """
        if missing := self._planned - len(self._replies):
            raise MismatchError(f"{missing} of {self._planned} replies are missing: the result is not known yet")
        if len(self._left):
            raise Error(f"{len(self._left)} elements found no place, which is rare: ask for the set in two parts")
        found, labels, anomalies = [np.zeros(0, np.int64)], [np.zeros((0, self._label_bytes), np.uint8)], 0
        for (some, choice), reply in zip(self._placed, self._replies, strict=True):
            values = self._key.decode(reply, self._threads)
            at = self._places[some, choice]
            opened = open_values(self._plan, values, self._prf[some], at, self._nonce, self._label_bytes)
            found.append(some[opened.found])
            labels.append(opened.labels[opened.found])
            anomalies += opened.anomalies
        every = np.concatenate(found)
        order = np.argsort(every)
        return Result(every[order], np.concatenate(labels)[order], anomalies)
