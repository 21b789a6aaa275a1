# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client's side: its set, its secret key, its queries. Nothing here talks to a network.

Order of calls: `blinded` → `finish_prf` (mode oprf only), `keys`, then `next_request` / `accept` until
`next_request` returns None, then `result`, after the session is closed: only there replies are decrypted, so that a
server cannot measure what they hold. How many evaluations and requests there are depends on the class of the set's size
alone (`ringforge.psi.hashing.size_class`), never on its elements.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ringforge.errors import Error, FormatError, MismatchError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi import oprf, poly
from ringforge.psi.askers import asker
from ringforge.psi.build import check_elements
from ringforge.psi.hashing import (
    FEW_BITS,
    FULLEST_LOG,
    PLACEMENT_LOG2,
    U32,
    fullest_bin,
    place_all,
    placement_failure,
    room,
    size_class,
)
from ringforge.psi.info import AskedMode, TableInfo
from ringforge.psi.normalise import normalised
from ringforge.psi.server import to_list, to_rows
from ringforge.psi.table import check_integers
from ringforge.secrecy import RawSecret

Element = bytes | int

#: Bytes of evaluation keys or of a request that a client sends, unless it is told to send more.
REQUEST_BYTES = 1 << 30

#: log2 of the probability, at most, that a run decrypts some element's cell wrongly.
DECRYPTION_LOG2 = -20.0

#: log2 of the probability, at most, that a run with a polynomial table reports an element that the server has not.
FALSE_POSITIVE_LOG2 = -20.0

#: Probability, at most, that a reply of a polynomial table decrypts wrongly: its plan has a noise budget for that.
POLY_DECRYPTION = 2.0**-40

#: A query with a bin for each element that it takes is one in so many bins at least.
_MOST_BINS_EACH = 64

#: Bytes of all replies of a run, which are kept until the last is there, as a multiple of `request_bytes`.
_KEPT = 4

#: Bytes of the random elements that fill up a size class.
_FILLER = 32


@dataclass(frozen=True)
class Probabilities:
    """Chances that something went wrong, for the whole run; each an upper bound.

    Args:
        false_positive: some element is reported though the table has it not (0 in mode direct).
        placement: some element finds no place in the planned queries, so that the run ends without a result.
        decryption: the words of some element's cell decrypt to others.
    """

    false_positive: float
    placement: float
    decryption: float


@dataclass(frozen=True)
class Result:
    """What the client learned.

    Args:
        matches: the elements found, as they were given, with their labels (b"" without).
        elements: different elements asked for, normalised.
        queries: requests sent, those that hide the size of the set too.
        anomalies: values that an honest server's reply has only if decryption failed (words other than 0 and 1 in
            mode direct, labels with wrong padding): do not trust the result then, and do not tell the server.
        unasked: elements of which nothing is known, because some query has no answer (`Client.partial`).
    """

    matches: dict[Element, bytes]
    elements: int
    queries: int
    probabilities: Probabilities
    anomalies: int = 0
    unasked: tuple[Element, ...] = ()


class Client(RawSecret):
    """One run of the protocol, with a fresh secret key. For one thread: replies belong to requests by their order.

    Args:
        info: what the server said of its table.
        elements: byte strings of up to 65535 bytes (mode oprf) or integers below 2^bits (mode direct);
            duplicates are asked for once. They are normalised as the table says.
        threads: for blinding and unblinding.
        mode: refuses a table of the other mode; "poly" one that is not of the polynomial protocol.
        request_bytes: refuses a table whose keys or requests are larger.
        exact_sizes: asks for as many evaluations and queries as the set needs. It takes less, and tells the server the
            number of elements; without it, the number's class (`hashing.size_class`).
        device: "cpu", or "clear" for tests with a server on that device: nothing is encrypted.

    Raises:
        ringforge.ValueError: an element of the wrong type, too long or too large.
        MismatchError, ParameterError: the plan cannot be built here.
        ParameterError: the table is one that this client does not ask (`check_table`).
    """

    saved_by = "it is for one run, and what it sends are bytes; make a new one with the same elements"

    def __init__(
        self,
        info: TableInfo,
        elements: Iterable[Element],
        *,
        threads: int = 1,
        mode: AskedMode | None = None,
        request_bytes: int = REQUEST_BYTES,
        exact_sizes: bool = False,
        device: Literal["cpu", "clear"] = "cpu",
    ) -> None:
        self.info, self._threads = info, threads
        try:
            given = list(dict.fromkeys(elements))
        except TypeError:
            raise RingforgeValueError("elements are byte strings (bytes) or integers") from None
        self._written: list[Element] = list(normalised(given, info.normalise, info.columns, info.forms))
        self._given, self._elements = given, list(dict.fromkeys(self._written))
        if info.mode == "oprf":
            for _ in check_elements(self._elements):
                pass
        else:
            check_integers([x for x in self._elements if isinstance(x, int)], info.element_bits)
            if not all(isinstance(x, int) for x in self._elements):
                raise RingforgeValueError("elements are integers in mode direct")
        self._plan = check_table(info, len(self._elements), mode=mode, request_bytes=request_bytes)
        self._planned, self._evaluations = asked(info, len(self._elements), exact=exact_sizes)
        self._asker = asker(info, self._plan, device)
        self._keys: bytes | None = None
        self._blinding: Any = None
        #: What elements are to the asker: outputs of the PRF, or integers.
        self._values: npt.NDArray[Any] = np.zeros((0, 64), dtype=np.uint8)
        self._placed: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] | None = None
        self._bins: U32 = np.zeros((0, info.hashes), dtype=np.uint32)
        self._left = 0
        self._sent = 0
        self._replies: list[bytes] = []
        self._result: Result | None = None
        if info.mode == "direct":
            values = self._values = np.array(self._elements, dtype=np.uint64)
            self._bins = self._asker.places(values)
            if _few_values(info):
                groups = [np.flatnonzero(values // info.bins == v) for v in range(self._planned)]
                self._placed = [(some, np.zeros(len(some), dtype=np.int64)) for some in groups]
            else:
                self._place()

    def __repr__(self) -> str:
        return f"<Client, {len(self._elements)} elements, secret>"

    @property
    def plan(self) -> Any:
        """The native plan: exact sizes of keys, requests and replies."""
        return self._plan

    @property
    def reply_bytes(self) -> int:
        """Bytes of each reply."""
        return self.info.reply_bytes(self._plan)

    @property
    def queries(self) -> int:
        """Number of requests of this run."""
        return self._planned

    # ---- oblivious PRF ----

    def blinded(self) -> list[bytes]:
        """Blinded elements for the server, 32 bytes each, uniform whatever the elements are; empty in mode direct.

        Random elements fill them up to the size class.
        """
        if self.info.mode == "direct" or not self._elements:
            return []
        if self._blinding is None and self._placed is None:
            fill = self._evaluations - len(self._elements)
            inputs: list[Any] = [*self._elements, *(secrets.token_bytes(_FILLER) for _ in range(fill))]
            self._blinding = oprf.Request(inputs, self._threads)
        if self._blinding is None:
            raise MismatchError("the PRF values are there already: make a new client for a new run")
        return to_list(self._blinding.elements)

    def finish_prf(self, evaluated: Sequence[bytes]) -> None:
        """Takes the server's evaluations, in the order of `blinded`, and places all elements.

        Raises:
            FormatError: wrong number or length, or no valid encoding. MismatchError: called before `blinded`.
        """
        wanted = 0 if self.info.mode == "direct" else self._evaluations
        if len(evaluated) != wanted:
            raise FormatError(f"{len(evaluated)} evaluated elements, where {wanted} were asked for")
        if self._placed is not None:
            if wanted:
                raise MismatchError("the PRF values are there already: make a new client for a new run")
            return
        if wanted:
            if self._blinding is None:
                raise MismatchError("nothing was blinded yet: call blinded() first")
            values = self._blinding.finalize(to_rows(evaluated), self._threads)
            self._values = values[: len(self._elements)].copy()
            self._blinding = None
        self._bins = self._asker.places(self._values)
        self._place()

    def _place(self) -> None:
        self._placed, left = place_all(self._bins, self.info.bins, self._planned)
        self._left = len(left)

    # ---- queries ----

    def keys(self) -> bytes:
        """Evaluation keys for the server: `plan.key_bytes` bytes; the same bytes at every call."""
        if self._keys is None:
            self._keys = self._asker.keys(self._threads)
        return self._keys

    def next_request(self) -> bytes | None:
        """The next encrypted request (`plan.request_bytes` bytes), or None when all have been made.

        Raises:
            MismatchError: in mode oprf, before `finish_prf`.
        """
        if self._sent == len(self._queries()):
            return None
        self._sent += 1
        return self.request(self._sent - 1)

    def request(self, query: int) -> bytes:
        """The encrypted request of one query, 0 to `queries` - 1, with fresh randomness. It changes nothing here: who
        gives one up makes another, and no reply is taken for that of another query.

        Raises:
            MismatchError: in mode oprf, before `finish_prf`; or there is no such query.
        """
        queries = self._queries()
        if not 0 <= query < len(queries):
            raise MismatchError(f"query {query} of a run that has {len(queries)}")
        some, choice = queries[query]
        return self._asker.request(self._values[some], self._bins[some, choice], choice, self._threads)

    def accept(self, reply: bytes, query: int | None = None) -> None:
        """Takes the reply to the oldest request without one, and keeps it for `result`.

        Args:
            query: that whose request (`request`) it answers; it must be number `answered`.

        Raises:
            FormatError: it has the wrong length. MismatchError: no request is waiting, or another query's reply.
        """
        if query is None and len(self._replies) == self._sent:
            raise MismatchError("no request is waiting for a reply")
        if query is not None and query != len(self._replies):
            raise MismatchError(f"a reply to query {query}, where that to query {len(self._replies)} is next")
        if len(reply) != self.reply_bytes:
            raise FormatError(f"a reply of {len(reply)} bytes, where the plan has {self.reply_bytes}")
        self._replies.append(reply)
        self._sent = max(self._sent, len(self._replies))

    @property
    def answered(self) -> int:
        """Number of requests whose replies are here."""
        return len(self._replies)

    def again(self) -> None:
        """Lets `next_request` make the requests without a reply once more, with fresh randomness: after a connection
        that broke. Which these are says nothing of the elements, nor of what replies hold."""
        self._sent = len(self._replies)

    def result(self) -> Result:
        """The intersection, when all replies are there: decrypts them. Close the session first.

        Raises:
            MismatchError: replies are missing. FormatError: a reply is damaged.
            Error: some element found no place (`Probabilities.placement`), so that the answer would not be whole:
            `partial` has the others.
        """
        if self._result is not None:
            return self._result
        missing = self._planned - len(self._replies)
        if missing:
            raise MismatchError(f"{missing} of {self.queries} replies are missing: partial() has what is known")
        if self._left:
            raise Error(
                f"{self._left} of {len(self._elements)} elements found no place in {self.queries} queries, which is "
                "rare: ask for the set in two parts"
            )
        self._result = self._decrypt()
        return self._result

    def partial(self) -> Result:
        """What the replies that are there say: decrypts them. Close the session first.

        Raises:
            FormatError: all replies are damaged; one among others leaves its elements unasked.
        """
        return self._decrypt(damaged=True)

    def _decrypt(self, *, damaged: bool = False) -> Result:
        matches: dict[Element, bytes] = {}
        anomalies = refused = 0
        known = np.zeros(len(self._elements), dtype=bool)
        for (some, choice), reply in zip(self._placed or [], self._replies, strict=False):
            try:
                hit, labels, wrong = self._asker.open(reply, self._values[some], self._bins[some, choice], choice)
            except (FormatError, MismatchError):
                refused += 1
                if not damaged or refused == len(self._replies):
                    raise
                continue
            anomalies += wrong
            known[some] = True
            matches.update((self._elements[i], label) for i, label in zip(some[hit].tolist(), labels, strict=True))
        answered = {x for x, there in zip(self._elements, known.tolist(), strict=True) if there}
        pairs = list(zip(self._given, self._written, strict=True))
        return Result(
            {x: matches[y] for x, y in pairs if y in matches},
            len(self._elements),
            self.answered - refused,
            self.probabilities(),
            anomalies,
            tuple(x for x, y in pairs if y not in answered),
        )

    def probabilities(self) -> Probabilities:
        """Bounds for this run; nothing of them depends on the elements but their number."""
        return probabilities(self.info, len(self._elements), self._plan, self._planned)

    def _queries(self) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        if self._placed is None:
            raise MismatchError("the PRF values are missing: call finish_prf() first")
        return self._placed


def check_table(
    info: TableInfo, elements: int, *, mode: AskedMode | None = None, request_bytes: int = REQUEST_BYTES
) -> Any:
    """The plan of a table that a client with so many elements may ask.

    The server chooses its table's parameters. Some would make the run long, large, or wrong; they are refused before
    anything but the question for the table's description has been sent.

    Args:
        mode, request_bytes: as for `Client`.

    Raises:
        ParameterError: the other mode; keys, requests or a reply above `request_bytes`, requests above the table's own
        limit, all replies above four times `request_bytes`; elements that find a place, decrypt, or are told from
        others by polynomials, with less than 1 - 2^-20 (PLACEMENT_LOG2, DECRYPTION_LOG2, FALSE_POSITIVE_LOG2).
        MismatchError, ParameterError: the plan cannot be built here.
    """
    plan = info.native()
    if mode == "poly" and info.plan.algorithm != "poly":
        raise ParameterError(
            f"the table is of the algorithm {info.plan.algorithm}, not poly: ask for another table, or leave mode away"
        )
    if mode is not None and info.mode != mode and mode != "poly":
        raise ParameterError(f"the table is of mode {info.mode}, not {mode}: ask for another table")
    largest = max(plan.key_bytes, plan.request_bytes)
    if largest > request_bytes:
        raise ParameterError(
            f"keys and requests of this table take up to {largest} bytes, this client sends {request_bytes} at most: "
            "allow more with request_bytes (psi query --request-limit), or ask for a table with fewer bins"
        )
    if info.reply_bytes(plan) > request_bytes:
        raise ParameterError(
            f"replies of this table have {info.reply_bytes(plan)} bytes, this client takes {request_bytes} at most: "
            "allow more with request_bytes (psi query --request-limit), or ask for a table with fewer bins"
        )
    if not info.limits.allow(plan.request_bytes):
        raise ParameterError(
            f"a request to this table has {plan.request_bytes} bytes, its own limit is {info.limits.request_bytes}: "
            "its operator must raise it, or build with fewer bins"
        )
    each = room_of(info)
    if each * _MOST_BINS_EACH < info.bins and elements > 0 and not _few_values(info):
        raise ParameterError(
            f"placement: a query of {info.bins} bins with hashes={info.hashes} takes {each} or fewer elements if it is "
            f"to fail with at most 2^{PLACEMENT_LOG2:.0f}: ask for a table with three hash functions"
        )
    queries = asked(info, elements)[0]
    kept = queries * info.reply_bytes(plan)
    if kept > _KEPT * request_bytes:
        raise ParameterError(
            f"{queries} replies for {elements} elements take {kept} bytes, which are kept until the last one is there; "
            f"this client keeps {_KEPT * request_bytes} at most: ask for fewer elements at once, or allow more with "
            "request_bytes (psi query --request-limit)"
        )
    chances = probabilities(info, elements, plan, queries)
    if info.plan.algorithm == "poly" and chances.false_positive > 2.0**FALSE_POSITIVE_LOG2:
        raise ParameterError(
            f"false positives: this table reports some of {elements} elements wrongly with a probability up to "
            f"{chances.false_positive:.2g}, this client allows 2^{FALSE_POSITIVE_LOG2:.0f}: ask for a table with more "
            "residues (felts), or with a larger t"
        )
    wrong = chances.decryption
    if wrong > 2.0**DECRYPTION_LOG2:
        raise ParameterError(
            f"decryption: replies of this table are read wrongly with a probability up to {wrong:.2g} for {elements} "
            f"elements, this client allows 2^{DECRYPTION_LOG2:.0f}: ask for a table with another plan"
        )
    return plan


def asked(info: TableInfo, elements: int, *, exact: bool = False) -> tuple[int, int]:
    """Queries, and evaluations of the PRF, of a client with so many elements (`hashing.size_class`)."""
    if _few_values(info):
        return ((1 << info.element_bits) // info.bins) * (elements > 0), 0
    queries, evaluations = size_class(elements, room_of(info), exact=exact)
    return queries, evaluations if info.mode == "oprf" else 0


def room_of(info: TableInfo) -> int:
    """Elements that a query takes: placed with at most 2^-20 of a failure, in a polynomial table 2^-40."""
    return poly.room(info.bins) if info.plan.algorithm == "poly" else room(info.bins, info.hashes)


def _few_values(info: TableInfo) -> bool:
    """Whether each value of the bits above a bin's gets a query of its own."""
    return info.mode == "direct" and info.element_bits - info.bins.bit_length() + 1 <= FEW_BITS


def probabilities(info: TableInfo, elements: int, plan: Any, queries: int | None = None) -> Probabilities:
    """What may go wrong when `elements` elements are asked for in `queries` queries, by default as many as their class
    has (docs/psi-protocol.md)."""
    if queries is None:
        queries = asked(info, elements)[0]
    false = elements * (2.0**-info.tag_bits + 2.0 ** (1 - 2 * info.tag_bits)) if info.mode == "oprf" else 0.0
    share = -(-elements // max(queries, 1))
    if info.plan.algorithm == "poly":
        each = 2.0 ** poly.placement_log2(share, info.bins)
        false = min(1.0, 2.0 ** float(plan.false_positive_log2(elements))) if elements else 0.0
        return Probabilities(false, min(1.0, queries * each), min(1.0, queries * POLY_DECRYPTION))
    each = placement_failure(share, info.bins, info.hashes) if not _few_values(info) else 0.0
    entries = min(fullest_bin(info.capacity, info.bins, info.hashes), plan.cells)
    decryption = elements * (info.parts * 2.0 ** float(plan.failure_log2(entries)) + 2.0**-FULLEST_LOG)
    return Probabilities(min(1.0, false), min(1.0, queries * each), min(1.0, decryption))
