# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A receiver's run: asks a detector for digests, reads them, asks again where they were too small, opens the boxes.

What the detector sees of a run: the key, the bulletins, modes, capacities and windows asked for. The first request
about a bulletin never depends on what is found. A second one, after more messages than the digest could hold, does:
that there were more than `capacity` is what it tells; which, or how many exactly, it does not, except that windows of
a bulletin asked for again tell that those had too many, too. `capacity` at the most from the beginning, and
`auto=False`, avoid it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ringforge.errors import MismatchError, ParameterError, TooManyMessagesError
from ringforge.omr.detector_client import Connection, Info, key_name
from ringforge.omr.steps import Request
from ringforge.serving.jobs import Progress

#: Told what is going on: the step, the fraction done, requests before this one, seconds left or -1.
Report = Callable[[str, float, int, float], None]

#: How payloads are fetched from a board after a digest of positions: the entries themselves, which tells the board
#: where the messages are; whole blocks of `BLOCK` entries around them, which tells it so roughly; or the whole
#: bulletin, which tells it nothing but that somebody reads it.
FETCHES = ("entries", "blocks", "bulletin")
BLOCK = 1024


class Retrieved(Protocol):
    """What a digest says: positions in ascending order, and their payloads, or none for digests of positions."""

    @property
    def indices(self) -> Sequence[int]: ...

    @property
    def payloads(self) -> Sequence[bytes] | None: ...


class Reader(Protocol):
    """What a receiver's secret does with a digest. `reading.SecretReader` is one."""

    def decode(self, digest: bytes, request: Request) -> Retrieved:
        """Positions, and payloads where the digest has them.

        Raises:
            TooManyMessagesError: more than the digest holds. FormatError: it is none.
        """

    def open(self, payload: bytes) -> bytes | None:
        """A text, or None where the payload is not this receiver's."""


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
        requests: digests asked for. seconds: from the first request to the last box.
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
    """A run: the messages in the order of the board, and what it took."""

    messages: list[Message] = field(default_factory=list)
    bulletins: list[Bulletin] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


#: A board, as far as it gives payloads: bulletin, first entry, last entry, not included.
Payloads = Callable[[int, int, int], Sequence[bytes]]


@dataclass(frozen=True)
class Wanted:
    """What a run asks for.

    Attributes:
        mode: "messages", or "positions": then payloads come from `payloads`.
        capacity: messages that a digest holds; 0 is the most that the key is for.
        auto: whether to ask again when there are more.
        fetch: of `FETCHES`, for mode "positions".

    Raises:
        ParameterError: no such mode or fetch.
    """

    mode: str = "messages"
    capacity: int = 0
    auto: bool = False
    fetch: str = "bulletin"

    def __post_init__(self) -> None:
        if self.fetch not in FETCHES:
            raise ParameterError(f'"{self.fetch}" is no way to fetch payloads: {", ".join(FETCHES)}')
        if self.capacity < 0:
            raise ParameterError(f"a capacity of {self.capacity} messages: 1 is the least, 0 the most that is possible")


class Run:
    """One receiver's dealings with one detector.

    Args:
        connection: to the detector. reader: reads digests and boxes. key: file of the detection key.
        entries: of a bulletin. wanted: what to ask for.
        payloads: the board, for mode "positions".
        report: told what is going on.
    """

    def __init__(
        self,
        connection: Connection,
        reader: Reader,
        key: Path,
        entries: int,
        wanted: Wanted,
        payloads: Payloads | None = None,
        report: Report | None = None,
    ) -> None:
        if wanted.mode == "positions" and payloads is None:
            raise ParameterError("digests of positions need a board to fetch the payloads from: give --board")
        self._connection, self._reader, self._key, self._entries = connection, reader, key, entries
        self._wanted, self._payloads = wanted, payloads
        self._report = report or (lambda *_: None)
        self._job: str | None = None
        self.outcome = Outcome()

    def __call__(self, bulletins: Iterable[int] | None = None) -> Outcome:
        """Retrieves from bulletins of these numbers, or from all that are sealed.

        Raises:
            TooManyMessagesError: a digest was too small, and `auto` is off. ParameterError: no such bulletin.
            MismatchError: the key is for other parameters than the detector's.
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
            name = self._upload(info)
            for number in numbers:
                self._bulletin(info, name, number)
            return self.outcome
        except KeyboardInterrupt:
            if self._job is not None:
                self._connection.cancel(self._job)
            raise

    def _upload(self, info: Info) -> str:
        name = key_name(self._key)
        if name not in info.keys:
            start = time.perf_counter()
            self._report("sending the detection key", 0.0, 0, -1.0)
            self._connection.put_key(self._key, lambda f: self._report("sending the detection key", f, 0, -1.0))
            self._took("detection key", start)
        return name

    def _took(self, what: str, start: float) -> None:
        seconds = self.outcome.seconds
        seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - start

    def _most(self, info: Info) -> int:
        """The capacity that the detector offers in this mode."""
        most = info.detector.get("capacity", {}).get(self._wanted.mode)
        if not isinstance(most, int) or not 1 <= most <= self._entries:
            raise MismatchError(f"the detector offers no digests of {self._wanted.mode}")
        return most

    def _bulletin(self, info: Info, key: str, number: int) -> None:
        start = time.perf_counter()
        most = self._most(info)
        found = Bulletin(number)
        self.outcome.bulletins.append(found)
        capacity = min(self._wanted.capacity or DEFAULT_CAPACITY, most)
        if self._wanted.capacity > most:
            raise ParameterError(
                f"a capacity of {self._wanted.capacity} messages: digests of {self._wanted.mode} hold {most} at the "
                "most"
            )
        request = Request(key, number, info.bulletins[number], self._wanted.mode, capacity, 0, self._entries)
        positions: dict[int, bytes | None] = {}
        self._ask(found, request, most, positions)
        found.count = len(positions)
        if self._wanted.mode == "positions":
            positions = dict(self._fetched(found, sorted(positions)))
        for entry in sorted(positions):
            payload = positions[entry]
            text = None if payload is None else self._reader.open(payload)
            if text is None:
                found.dropped += 1
            else:
                self.outcome.messages.append(Message(number, entry, text))
        found.seconds = time.perf_counter() - start

    def _ask(self, found: Bulletin, request: Request, most: int, into: dict[int, bytes | None]) -> None:
        """One digest; more of them if it was too small."""
        digest = self._digest(found, request)
        start = time.perf_counter()
        try:
            retrieved = self._reader.decode(digest, request)
        except TooManyMessagesError as e:
            if not self._wanted.auto:
                raise
            count = e.count
        else:
            self._took("decode", start)
            carried = retrieved.payloads
            payloads: Sequence[bytes | None] = [None] * len(retrieved.indices) if carried is None else carried
            into.update(zip(map(int, retrieved.indices), payloads, strict=True))
            return
        self._took("decode", start)
        for again in split(request, count, most):
            self._ask(found, again, most, into)

    def _digest(self, found: Bulletin, request: Request) -> bytes:
        start = time.perf_counter()
        what = f"bulletin {request.bulletin}"
        if found.requests:
            what += f", entries {request.first} to {request.last}, up to {request.capacity}"
        self._job = self._connection.submit(request)

        def told(p: Progress) -> None:
            step = f"{what}: {p.stage}" if p.stage else what
            self._report(step, p.fraction, p.waiting, p.seconds_left)

        self._connection.watch(self._job, told)
        digest = self._connection.fetch(self._job)
        self._job = None
        found.requests += 1
        found.bytes += len(digest)
        self._took("digests", start)
        return digest

    def _fetched(self, found: Bulletin, entries: Sequence[int]) -> Mapping[int, bytes]:
        """Payloads of these entries, from the board."""
        assert self._payloads is not None
        start = time.perf_counter()
        payloads: dict[int, bytes] = {}
        for first, last in ranges(entries, self._wanted.fetch, self._entries):
            got = self._payloads(found.number, first, last)
            found.fetched += len(got)
            payloads.update({e: bytes(got[e - first]) for e in entries if first <= e < last})
        self._took("payloads from the board", start)
        return payloads


#: Messages that a digest holds unless something else is asked for.
DEFAULT_CAPACITY = 50


def split(request: Request, count: int, most: int) -> list[Request]:
    """What to ask for after a digest that was too small: a larger capacity where that is possible, else windows.

    Args:
        count: pertinent entries in the request's window. most: the largest capacity.
    """
    if count <= most and request.capacity < most:
        capacity = request.capacity
        while capacity < count:  # the capacity tells how many there are, roughly
            capacity *= 2
        return [replace(request, capacity=min(most, capacity))]
    size = request.last - request.first
    parts = 2
    while parts * most < 2 * count and parts < size:
        parts *= 2
    step = -(-size // parts)
    return [
        replace(request, capacity=most, first=first, last=min(first + step, request.last))
        for first in range(request.first, request.last, step)
    ]


def ranges(entries: Sequence[int], fetch: str, size: int) -> list[tuple[int, int]]:
    """Ranges of entries to fetch from a board of `size` entries a bulletin, so that all of these are in them."""
    if fetch == "bulletin":  # without messages too: else the board could tell
        return [(0, size)]
    block = BLOCK if fetch == "blocks" else 1
    blocks = sorted({e // block for e in entries})
    found: list[tuple[int, int]] = []
    for b in blocks:
        first, last = b * block, min((b + 1) * block, size)
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
