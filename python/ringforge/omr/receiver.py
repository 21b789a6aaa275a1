# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A receiver's run: asks a detector for all digests, hangs up, and only then reads them and opens the boxes.

A detector sees of a run: the key, the bulletins, modes, capacities and windows asked for. All of them follow from what
the receiver wants and from what the detector said of itself before the first request, never from what a digest holds. A
detector that forges digests can see nowhere whether one of them could be read (docs/security.md): the connection is
closed before the first is decrypted, and nothing is kept that a later run would ask by.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ringforge.errors import Error, FormatError, MismatchError, ParameterError, TooManyMessagesError
from ringforge.omr.detector_client import Connection, Info, key_name
from ringforge.omr.steps import Request
from ringforge.serving.jobs import Progress

#: Told what is going on: the step, the fraction done, requests before this one, seconds left or -1.
Report = Callable[[str, float, int, float], None]

#: Messages of a bulletin that there is room for unless something else is asked for.
DEFAULT_CAPACITY = 50

#: Digests asked for about one bulletin, and in one run, at the most.
MAX_WINDOWS = 64
MAX_REQUESTS = 4096

#: Payloads read from a board in one run, at the most: they are on the disk until the run is over.
MAX_PAYLOADS = 1 << 22


class Retrieved(Protocol):
    """What a digest says: positions in ascending order, and their payloads, or none for digests of positions."""

    @property
    def indices(self) -> Sequence[int]: ...

    @property
    def payloads(self) -> Sequence[bytes] | None: ...


class Reader(Protocol):
    """What a receiver's secret does with a digest. `reading.SecretReader` is one."""

    def digest_bytes(self, request: Request) -> int:
        """Bytes of the answer to a request; nothing secret is in that."""

    def decode(self, digest: bytes, request: Request) -> Retrieved:
        """Positions, and payloads where the digest has them.

        Raises:
            TooManyMessagesError: more than the digest holds. FormatError: it is none.
        """

    def open(self, payload: bytes) -> bytes | None:
        """A text, or None where the payload is not this receiver's."""


class Payloads(Protocol):
    """A board, as far as it gives payloads. `bulletins.Source` is one."""

    def payloads(self, number: int, first: int = 0, last: int | None = None) -> npt.NDArray[np.uint8]:
        """Payloads of entries first to last of a bulletin, last not included, one a row."""

    def close(self) -> None:
        """Lets go of the board."""


@dataclass(frozen=True)
class Message:
    """A text, and where on the board it was: bulletin and entry."""

    bulletin: int
    entry: int
    text: bytes


@dataclass
class Bulletin:
    """What was found in one bulletin.

    Attributes:
        number: of the bulletin. count: pertinent entries, as digests say.
        dropped: entries that looked pertinent, whose boxes are not this receiver's.
        requests: digests asked for. seconds: for asking and for reading.
        bytes: of its digests. fetched: payloads fetched from the board, in mode "positions".
    """

    number: int
    count: int = 0
    dropped: int = 0
    requests: int = 0
    seconds: float = 0.0
    bytes: int = 0
    fetched: int = 0


@dataclass
class Outcome:
    """A run: the messages in the order of the board, what it took, and why digests could not be read."""

    messages: list[Message] = field(default_factory=list)
    bulletins: list[Bulletin] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[Error] = field(default_factory=list)


@dataclass(frozen=True)
class Wanted:
    """What a run asks for.

    Attributes:
        mode: "messages", or "positions": then all payloads of each bulletin are read from a board.
        capacity: messages of a bulletin that there is to be room for; 0 is `DEFAULT_CAPACITY`.
        auto: whether to ask by the largest digests, and by windows where one of them is too small for `capacity`
            messages (`requests_about`).

    Raises:
        ParameterError: a capacity below 0.
    """

    mode: str = "messages"
    capacity: int = 0
    auto: bool = False

    def __post_init__(self) -> None:
        if self.capacity < 0:
            raise ParameterError(f"a capacity of {self.capacity} messages: 1 is the least, 0 stands for the default")


@dataclass
class _Fetched:
    """One bulletin's answers, as they came: nothing of them has been decrypted."""

    found: Bulletin
    answers: list[tuple[Request, bytes]]
    payloads: Any = None
    payload_bytes: int = 0

    def payload(self, entry: int) -> bytes:
        return os.pread(self.payloads.fileno(), self.payload_bytes, entry * self.payload_bytes)


class Run:
    """One receiver's dealings with one detector: `fetch` asks for everything and hangs up, `read` decrypts.

    Args:
        connection: to the detector; `fetch` closes it. reader: reads digests and boxes.
        key: file of the detection key.
        entries: of a bulletin. wanted: what to ask for.
        board: for mode "positions"; `fetch` closes it.
        report: told what is going on.
    """

    def __init__(
        self,
        connection: Connection,
        reader: Reader,
        key: Path,
        entries: int,
        wanted: Wanted,
        board: Payloads | None = None,
        report: Report | None = None,
    ) -> None:
        if wanted.mode == "positions" and board is None:
            raise ParameterError("digests of positions need a board to fetch the payloads from: give --board")
        self._connection, self._reader, self._key, self._entries = connection, reader, key, entries
        self._wanted, self._board = wanted, board
        self._report = report or (lambda *_: None)
        self._job: str | None = None
        self._fetched: list[_Fetched] = []
        self.outcome = Outcome()

    def __call__(self, bulletins: Iterable[int] | None = None) -> Outcome:
        """Retrieves from bulletins of these numbers, or from all that are sealed: `fetch`, then `read`.

        Raises:
            Error: as `fetch`; or the first of the outcome's failures, and `outcome` has what could be read.
        """
        self.fetch(bulletins)
        outcome = self.read()
        if outcome.failures:
            raise outcome.failures[0]
        return outcome

    # ---- towards the servers -----------------------------------------------------------------------

    def fetch(self, bulletins: Iterable[int] | None = None) -> None:
        """Asks for all digests, and in mode "positions" for all payloads, of bulletins of these numbers, or of all that
        are sealed; then closes the connections. Nothing is decrypted.

        Raises:
            ParameterError: no such bulletin, more requests than a run makes, or a capacity that digests cannot have.
            MismatchError: the key is for other parameters than the detector's. FormatError: an answer has the wrong
            size. Error: the detector or the board cannot be reached, refuses or fails.
        """
        try:
            info = self._connection.info()
            numbers = sorted(info.bulletins) if bulletins is None else list(bulletins)
            missing = [n for n in numbers if n not in info.bulletins]
            if missing:
                last = max(info.bulletins, default=-1)
                raise ParameterError(
                    f"the detector knows no sealed bulletin {missing[0]}: "
                    + (f"they go from {min(info.bulletins)} to {last}" if last >= 0 else "none is sealed yet")
                )
            planned = self._planned(info, numbers)
            self._upload(info)
            for requests in planned:
                self._ask(requests)
        except KeyboardInterrupt:
            if self._job is not None:
                self._connection.cancel(self._job)
            raise
        finally:
            self._connection.close()
            if self._board is not None:
                self._board.close()

    def _planned(self, info: Info, numbers: Sequence[int]) -> list[list[Request]]:
        """Plan all requests of the run, bulletin by bulletin, before the first is made."""
        if not numbers:
            return []
        most = info.detector.get("capacity", {}).get(self._wanted.mode)
        if not isinstance(most, int) or not 1 <= most <= self._entries:
            raise MismatchError(f"the detector offers no digests of {self._wanted.mode}")
        key = key_name(self._key)
        whole = Request(
            key, numbers[0], info.bulletins[numbers[0]], self._wanted.mode, most, 0, self._entries
        )  # of which the others are copies
        each = requests_about(whole, self._wanted)
        for request in each:
            self._reader.digest_bytes(request)  # refuses capacities that no digest has
        if len(numbers) * len(each) > MAX_REQUESTS:
            raise ParameterError(
                f"{len(each)} digests of each of {len(numbers)} bulletins: a run asks for {MAX_REQUESTS} at the most; "
                "ask for fewer bulletins at once (--bulletins FIRST..LAST)"
            )
        if self._board is not None and self._wanted.mode == "positions" and len(numbers) * self._entries > MAX_PAYLOADS:
            raise ParameterError(
                f"payloads of {len(numbers)} bulletins: a run keeps those of {MAX_PAYLOADS // self._entries} at the "
                "most; ask for fewer bulletins at once (--bulletins FIRST..LAST)"
            )
        return [[replace(r, bulletin=n, digest=info.bulletins[n]) for r in each] for n in numbers]

    def _upload(self, info: Info) -> None:
        if key_name(self._key) in info.keys:
            return
        start = time.perf_counter()
        self._report("sending the detection key", 0.0, 0, -1.0)
        self._connection.put_key(self._key, lambda f: self._report("sending the detection key", f, 0, -1.0))
        self._took("detection key", start)

    def _took(self, what: str, start: float) -> None:
        seconds = self.outcome.seconds
        seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - start

    def _ask(self, requests: Sequence[Request]) -> None:
        """Get one bulletin's digests, and its payloads."""
        start = time.perf_counter()
        found = Bulletin(requests[0].bulletin)
        got = _Fetched(found, [])
        self.outcome.bulletins.append(found)
        self._fetched.append(got)
        for request in requests:
            got.answers.append((request, self._digest(found, request)))
        if self._wanted.mode == "positions":
            self._payloads(got)
        found.seconds = time.perf_counter() - start

    def _digest(self, found: Bulletin, request: Request) -> bytes:
        start = time.perf_counter()
        what = f"bulletin {request.bulletin}"
        if (request.first, request.last) != (0, self._entries):
            what += f", entries {request.first} to {request.last}"
        self._job = self._connection.submit(request)

        def told(p: Progress) -> None:
            step = f"{what}: {p.stage}" if p.stage else what
            self._report(step, p.fraction, p.waiting, p.seconds_left)

        self._connection.watch(self._job, told)
        digest = self._connection.fetch(self._job)
        self._job = None
        if len(digest) != self._reader.digest_bytes(request):
            raise FormatError(
                f"the detector's digest has {len(digest)} bytes, where this request's have "
                f"{self._reader.digest_bytes(request)}: it is of another version, or another program"
            )
        found.requests += 1
        found.bytes += len(digest)
        self._took("digests", start)
        return digest

    def _payloads(self, got: _Fetched) -> None:
        """Store all payloads of a bulletin in a file without a name, also where nothing was found."""
        assert self._board is not None
        start = time.perf_counter()
        rows = self._board.payloads(got.found.number, 0, self._entries)
        got.payloads, got.payload_bytes = tempfile.TemporaryFile(), rows.shape[1]  # noqa: SIM115, read and closed later
        got.payloads.write(np.ascontiguousarray(rows).data)
        got.payloads.flush()
        got.found.fetched = len(rows)
        self._took("payloads from the board", start)

    # ---- on this side ------------------------------------------------------------------------------

    def read(self) -> Outcome:
        """Decrypts what `fetch` got. Digests that cannot be read are the outcome's failures; the others count."""
        for got in self._fetched:
            start = time.perf_counter()
            positions: dict[int, bytes | None] = {}
            for request, digest in got.answers:
                try:
                    self._decode(digest, request, positions)
                except Error as e:
                    self.outcome.failures.append(self._failure(e, request, len(got.answers)))
            self._took("decode", start)
            got.found.count = len(positions)
            for entry in sorted(positions):
                payload = positions[entry] if got.payloads is None else got.payload(entry)
                text = None if payload is None else self._reader.open(payload)
                if text is None:
                    got.found.dropped += 1
                else:
                    self.outcome.messages.append(Message(got.found.number, entry, text))
            if got.payloads is not None:
                got.payloads.close()
            got.found.seconds += time.perf_counter() - start
        self._fetched = []
        return self.outcome

    def _decode(self, digest: bytes, request: Request, into: dict[int, bytes | None]) -> None:
        retrieved = self._reader.decode(digest, request)
        carried = retrieved.payloads
        payloads: Sequence[bytes | None] = [None] * len(retrieved.indices) if carried is None else carried
        into.update(zip(map(int, retrieved.indices), payloads, strict=True))

    def _failure(self, e: Error, request: Request, windows: int) -> Error:
        """The error of one digest, with where it was, and what to do."""
        where = f"bulletin {request.bulletin}, entries {request.first} to {request.last}"
        if not isinstance(e, TooManyMessagesError):
            with contextlib.suppress(TypeError):
                return type(e)(f"{where}: {e}")
            return e
        room = enough_room(e.count, request.capacity, windows)
        return TooManyMessagesError(
            f"{where}: {e.count} entries are pertinent, the digest holds {request.capacity}: ask for this bulletin "
            f"again with --auto --capacity {room}, which tells the detector that there were more",
            e.count,
        )


def requests_about(whole: Request, wanted: Wanted) -> list[Request]:
    """Plan what a run asks about a bulletin. It follows from what is wanted alone, never from what is found.

    Without `auto` it is one digest. With it, digests are the largest; where one is too small for `capacity` messages,
    windows of equal size have twice the room for them, because messages do not lie evenly.

    Args:
        whole: about the whole bulletin, by the largest digest.

    Raises:
        ParameterError: more messages than one digest holds, without `auto`; or than `MAX_WINDOWS` hold.
    """
    most, capacity = whole.capacity, wanted.capacity or min(DEFAULT_CAPACITY, whole.capacity)
    if not wanted.auto:
        if capacity > most:
            raise ParameterError(
                f"a capacity of {capacity} messages: digests of {whole.mode} hold {most} at the most; --auto asks for "
                "several of them"
            )
        return [replace(whole, capacity=capacity)]
    windows, size = 1, whole.last - whole.first
    while capacity > most and windows * most < 2 * capacity:
        windows *= 2
    if windows > min(MAX_WINDOWS, size):
        raise ParameterError(
            f"a capacity of {capacity} messages takes {windows} digests of {most}: {min(MAX_WINDOWS, size)} are asked "
            "for about a bulletin at the most; take a smaller --capacity"
        )
    step = -(-size // windows)
    return [
        replace(whole, first=first, last=min(first + step, whole.last))
        for first in range(whole.first, whole.last, step)
    ]


def enough_room(count: int, most: int, windows: int) -> int:
    """Return the capacity to ask for after a digest of `most` messages, one of so many windows, had `count` to hold.

    With it, windows are so small that the fullest of these fits if its messages lie evenly.
    """
    if windows == 1:
        return count
    while count > most:
        count, windows = -(-count // 2), 2 * windows
    return windows * most // 2
