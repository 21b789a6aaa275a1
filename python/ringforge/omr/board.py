# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The board: entries in a database, in the order they came, in bulletins of N.

A post is acknowledged when it is on disk. Posts that arrive within a few milliseconds share a transaction; within it
each is held against what is on the board, and refused without harm to the others.

>>> board = Board.open("board.sqlite", named("ringforge"))
>>> receipt = board.post(key.signals(1).pack(), payloads)
>>> bulletin = board.seal(pad=True)
>>> board.signals(bulletin.number).a.shape
(65536, 1024)
"""

from __future__ import annotations

import hashlib
import hmac
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from ringforge.bytes_form import Remade
from ringforge.errors import Error, FormatError, MismatchError, ParameterError, StorageError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.omr import board_schema as schema
from ringforge.omr.board_page import Page, Post, Seal, check_quota, new_bulletin
from ringforge.omr.board_screen import Screen
from ringforge.omr.bulletin import Bulletin, Receipt, extend, first_start, hashes, next_start, pads
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals
from ringforge.serving.clock import Clock

Bytes = npt.NDArray[np.uint8]

#: Entries that are posted together at most.
MAX_POST = 4096

#: Entries in one transaction, about, and seconds that the first of them waits for others.
_GROUP = 4096
_LINGER = 0.002

#: Entries that are read at once.
_READ = 256

#: Seconds after which the time of the last commit is written down again.
_SEEN = 60.0

_DAY = schema.DAY
_LARGEST = (1 << 63) - 1
_CLOSED = "this board is closed: open it anew"


@dataclass(frozen=True)
class Encoder:
    """What makes encodings of a bulletin's diagonals, one blob for each giant step.

    Attributes:
        name: and version; encodings of another are none.
        steps: how many there are. blob_bytes: of one of them, at most.
        encode: makes the one of a step; equal signals give equal bytes.
    """

    name: str
    steps: int
    blob_bytes: int
    encode: Callable[[Signals, int], bytes]


class Board(Remade):
    """A board in a database. Threads may share it; a forked child opens its own.

    Args:
        engine: to the database. s: the parameter set.
        threads: for checking signals.
        clock: for tests; a function stands for a wall clock and an uptime that agree.
    """

    remade_by = "its database keeps it: Board.open(...) opens it again, in another process too"

    def __init__(
        self, engine: sa.Engine, s: Set, threads: int = 1, clock: Clock | Callable[[], float] | None = None
    ) -> None:
        self.set = s
        self._engine, self._threads, self._pid = engine, threads, os.getpid()
        self._clock = Clock() if clock is None else clock if isinstance(clock, Clock) else Clock(clock, clock)
        self._seen = 0.0
        self._names_key = self._prepare()
        self._screen = Screen(threads)
        self._jobs: queue.SimpleQueue[Post | Seal | None] = queue.SimpleQueue()
        self._closing = threading.Lock()  # nothing is queued after the end
        self._closed = False
        self._encoding = threading.Lock()
        self._writer = threading.Thread(target=self._write, name="board", daemon=True)
        self._writer.start()

    @classmethod
    def open(
        cls,
        url: str | Path,
        s: Set,
        *,
        create: bool = True,
        threads: int = 1,
        clock: Clock | Callable[[], float] | None = None,
    ) -> Board:
        """Opens a board, or makes one.

        Args:
            url: name of a SQLite file, or a connection string of SQLite or PostgreSQL.
            create: whether to make one where there is none.

        Raises:
            ParameterError: no such database is supported, or there is no board and none is to be made.
            MismatchError: the board is of another parameter set. FormatError: the database holds something else.
            StorageError: the database cannot be used.
        """
        parsed = schema.parse(url)
        if create:
            schema.private_file(parsed)
        elif parsed.get_backend_name() == "sqlite" and not Path(str(parsed.database)).is_file():
            raise ParameterError(f"there is no board {schema.named(parsed)}: `ringforge omr board serve` makes one")
        engine = schema.connect(parsed)
        try:
            return cls(engine, s, threads, clock)
        except BaseException:
            engine.dispose()
            raise

    def _prepare(self) -> bytes:
        """Makes the tables where there are none; returns the key of posters' names."""
        name = schema.named(self._engine.url)
        with self._begun(writing=True) as c:
            schema.lock_schema(c)
            there = schema.has_tables(c)
            if there is None:
                raise FormatError(f"the database {name} holds something else than a board: name another")
            if not there:
                schema.create_tables(c)
                board = {
                    "id": 1,
                    "version": schema.VERSION,
                    "set_name": self.set.name,
                    "set_hash": self.set.hash,
                    "names_key": secrets.token_bytes(32),
                    "created": int(self._clock()),
                }
                c.execute(sa.insert(schema.board), board)
                new_bulletin(c, 0, first_start(self.set))
            row = c.execute(sa.select(schema.board)).one_or_none()
            if row is None or row.version != schema.VERSION:
                version = "no version" if row is None else f"version {row.version}"
                raise FormatError(f"the board {name} has {version}, this release reads {schema.VERSION}")
            if row.set_hash != self.set.hash:
                raise MismatchError(
                    f"the board {name} is of parameter set {row.set_name[:64]!r}, not {self.set.name!r}: name its own "
                    "set, or another board"
                )
            schema.resume_clock(c, self._clock)
            return bytes(row.names_key)

    def close(self) -> None:
        """Writes what is queued, then closes the database."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        if self._pid == os.getpid():
            self._writer.join()
            self._engine.dispose()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_own(self) -> None:
        if self._pid != os.getpid():
            raise StorageError("this board was opened by a process that this one was forked from: open it anew here")

    def _begun(self, *, writing: bool = False) -> Any:
        self._require_own()
        return schema.transaction(self._engine, writing=writing)

    def client(self, identity: str) -> bytes:
        """The 16 bytes that stand for a poster: a keyed hash of its token or address, as `serving.calls` asks for."""
        return hmac.digest(self._names_key, identity.encode(), hashlib.sha256)[:16]

    # ---- posting -----------------------------------------------------------------------------------

    def post(
        self, signals: Bytes, payloads: Bytes, *, poster: bytes = b"", posts_per_day: int | None = None
    ) -> Receipt:
        """Puts entries on the board, all of them or none, and returns when they are on disk.

        Args:
            signals: packed, uint8[count, signal_bytes], 1 to `MAX_POST` of them.
            payloads: uint8[count, payload_bytes].
            poster: who posts; counted by UTC day. posts_per_day: the most it may; None: any number.

        Raises:
            ParameterError, FormatError: another number or size, words that are not below t.
            ringforge.ValueError: a degenerate signal. DuplicateError: a signal or payload is on the board already.
            QuotaError: more than the poster may. StorageError: it could not be written; unless the database ended while
            it was committing, nothing of it is on the board, and in any case it can be posted again.
        """
        receipt: Receipt = self._submitted(self._checked(signals, payloads, poster, posts_per_day))
        return receipt

    def posting(self, signals: Bytes, payloads: Bytes) -> Iterator[Receipt]:
        """Posts any number of entries, `MAX_POST` at a time; each receipt says that so many more are on disk.

        Raises:
            as `post`, after the receipts of what stays.
        """
        for at in range(0, len(signals), MAX_POST):
            yield self.post(signals[at : at + MAX_POST], payloads[at : at + MAX_POST])

    def seal(self, pad: bool = False) -> Bulletin:
        """Seals the bulletin that is open now, filled up with pads; those that are full are sealed already.

        Raises:
            ParameterError: it has no entry, or has room and is not to be padded. StorageError: as for `post`.
        """
        bulletin: Bulletin = self._submitted(Seal(pad))
        return bulletin

    def _submitted(self, job: Post | Seal) -> Any:
        self._require_own()
        with self._closing:
            if self._closed:
                raise StorageError(_CLOSED)
            self._jobs.put(job)
        return job.done.result()

    def _checked(self, signals: Bytes, payloads: Bytes, poster: bytes, most: int | None) -> Post:
        self._require_own()  # the lock of the screen may be held by nobody here
        s = self.set
        if signals.dtype != np.uint8 or payloads.dtype != np.uint8 or signals.ndim != 2 or payloads.ndim != 2:
            raise ParameterError("signals and payloads are rows of bytes: uint8[count, size]")
        if signals.shape[1] != s.signal_bytes:
            raise FormatError(
                f"signals of {signals.shape[1]} bytes: those of parameter set {s.name} have {s.signal_bytes}"
            )
        if payloads.shape[1] != s.payload_bytes:
            raise FormatError(
                f"payloads of {payloads.shape[1]} bytes: those of parameter set {s.name} have {s.payload_bytes}, sealed"
            )
        if len(signals) != len(payloads) or not 1 <= len(signals) <= MAX_POST:
            raise ParameterError(
                f"{len(signals)} signals with {len(payloads)} payloads: 1 to {MAX_POST} are posted together, each "
                "with its payload"
            )
        if most is not None:  # before the work that posters can cause
            check_quota(self.posted_today(poster), len(signals), most, self._clock())
        found = np.flatnonzero(self._screen.degenerate(Signals.unpack(signals, s, self._threads)))
        if found.size:
            raise RingforgeValueError(
                f"signal {found[0]} of these is degenerate: many receivers would take it for theirs; make signals with "
                "a receiver's address"
            )
        return Post(signals, payloads, hashes(signals), hashes(payloads), poster, most)

    # ---- writing -----------------------------------------------------------------------------------

    def _write(self) -> None:
        """The writer's thread: takes what has come, commits it, tells who waits."""
        ending = False
        while not ending:
            job = self._jobs.get()
            if job is None:
                return
            jobs, count, until = [job], _size(job), time.monotonic() + _LINGER
            while count < _GROUP:
                try:
                    more = self._jobs.get(timeout=max(0.0, until - time.monotonic()))
                except queue.Empty:
                    break
                if more is None:
                    ending = True
                    break
                jobs.append(more)
                count += _size(more)
            self._commit(jobs)

    def _commit(self, jobs: list[Post | Seal]) -> None:
        results: list[Any] = []
        try:
            with self._begun(writing=True) as c:
                page = Page(c, self.set, int(self._clock()))
                for job in jobs:
                    try:
                        results.append(page.post(job) if isinstance(job, Post) else page.seal(job.pad))
                    except Error as e:
                        results.append(e)
                page.write()
                if self._clock() - self._seen > _SEEN:
                    self._seen = self._clock()
                    schema.see(c, self._clock)
        except StorageError as e:
            results = [StorageError(str(e)) for _ in jobs]
        except BaseException as e:  # a fault of ours must not leave anybody waiting
            results = [StorageError(f"the board failed ({type(e).__name__}): tell its operator") for _ in jobs]
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, Error):
                job.done.set_exception(result)
            else:
                job.done.set_result(result)

    # ---- reading -----------------------------------------------------------------------------------

    def bulletins(self, start: int = 0, count: int | None = None) -> list[Bulletin]:
        """Bulletins from a number on; the last one is open."""
        query = sa.select(schema.bulletins).where(schema.bulletins.c.number >= min(start, _LARGEST))
        with self._begun() as c:
            rows = c.execute(query.order_by(schema.bulletins.c.number).limit(count)).all()
        return [self._bulletin(row) for row in rows]

    def bulletin(self, number: int) -> Bulletin:
        """One bulletin.

        Raises:
            ParameterError: there is no such bulletin.
        """
        return self._bulletin(self._row(number))

    def open_bulletin(self) -> Bulletin:
        """The one that entries are added to now."""
        t = schema.bulletins
        with self._begun() as c:
            return self._bulletin(c.execute(sa.select(t).where(t.c.sealed.is_(None))).one())

    def posted_today(self, poster: bytes) -> int:
        """Entries that a poster has posted since midnight UTC."""
        t = schema.posters
        query = sa.select(t.c.posts).where(t.c.poster == poster, t.c.day == int(self._clock()) // _DAY)
        with self._begun() as c:
            return c.execute(query).scalar_one_or_none() or 0

    def posted_by_all_today(self) -> tuple[int, int]:
        """Entries that all posters together have posted since midnight UTC, and how many posters these are."""
        t = schema.posters
        query = sa.select(sa.func.coalesce(sa.func.sum(t.c.posts), 0), sa.func.count()).where(
            t.c.day == int(self._clock()) // _DAY
        )
        with self._begun() as c:
            posts, posters = c.execute(query).one()
        return int(posts), int(posters)

    def _row(self, number: int) -> Any:
        with self._begun() as c:
            row = c.execute(
                sa.select(schema.bulletins).where(schema.bulletins.c.number == min(number, _LARGEST))
            ).one_or_none()
        if row is None:
            raise ParameterError(f"there is no bulletin {number} on this board")
        return row

    def _bulletin(self, row: Any) -> Bulletin:
        sealed, size = row.sealed is not None, self.set.entries
        return Bulletin(
            row.number,
            size if sealed else row.entries,
            size - row.entries if sealed else 0,
            sealed,
            row.digest if sealed else row.chain,
        )

    def signals(self, number: int, start: int = 0, stop: int | None = None) -> Signals:
        """Signals of a bulletin's entries start to stop, stop not included; None: to the last one.

        Raises:
            ParameterError: there are no such entries. StorageError: they cannot be read.
        """
        rows = self._array("signal", number, start, stop)
        return Signals.unpack(rows, self.set, self._threads)

    def payloads(self, number: int, start: int = 0, stop: int | None = None) -> Bytes:
        """Payloads of a bulletin's entries: uint8[stop - start, payload_bytes]. As `signals`."""
        return self._array("payload", number, start, stop)

    def _array(self, column: str, number: int, start: int, stop: int | None) -> Bytes:
        count, pieces = self.pieces(column, number, start, stop)
        size = self.set.signal_bytes if column == "signal" else self.set.payload_bytes
        out = np.empty((count, size), np.uint8)
        at = 0
        for piece in pieces:
            rows = np.frombuffer(piece, np.uint8).reshape(-1, size)
            out[at : at + len(rows)] = rows
            at += len(rows)
        return out

    def pieces(self, column: str, number: int, start: int, stop: int | None) -> tuple[int, Iterator[bytes]]:
        """Packed signals (column "signal") or payloads ("payload"): how many there are, and their bytes in pieces."""
        row = self._row(number)
        have = self._bulletin(row).entries
        stop = have if stop is None else stop
        if not 0 <= start <= stop <= have:
            raise ParameterError(f"entries {start} to {stop} of bulletin {number}, which has {have}: there are none")
        return stop - start, self._pieces(column, row, start, stop)

    def _pieces(self, column: str, row: Any, start: int, stop: int) -> Iterator[bytes]:
        base, table, written = row.number * self.set.entries, schema.entries, min(stop, row.entries)
        for at in range(start, written, _READ):
            end = min(at + _READ, written)
            query = sa.select(table.c[column]).where(table.c.number >= base + at, table.c.number < base + end)
            with self._begun() as c:
                values = [bytes(v) for v in c.execute(query.order_by(table.c.number)).scalars()]
            size = self.set.signal_bytes if column == "signal" else self.set.payload_bytes
            if len(values) != end - at or any(len(v) != size for v in values):
                raise StorageError(f"entries of bulletin {row.number} are damaged: restore the database of a copy")
            yield b"".join(values)
        if stop > row.entries:
            for signals, payloads in pads(self.set, row.chain, max(start, row.entries), stop):
                yield (signals if column == "signal" else payloads).tobytes()

    def verify(self, number: int) -> Bulletin:
        """Makes a bulletin's digest anew of all its entries, and compares.

        Raises:
            StorageError: it is another one: the database was changed or damaged.
        """
        row = self._row(number)
        found = self._bulletin(row)
        start = first_start(self.set) if number == 0 else next_start(self.bulletin(number - 1).digest)
        chain, s = start, self.set
        signals, payloads = (self._pieces(column, row, 0, found.entries) for column in ("signal", "payload"))
        for signal, payload in zip(signals, payloads, strict=True):
            chain = extend(
                chain,
                hashes(np.frombuffer(signal, np.uint8).reshape(-1, s.signal_bytes)),
                hashes(np.frombuffer(payload, np.uint8).reshape(-1, s.payload_bytes)),
            )
        if chain != found.digest:
            raise StorageError(f"bulletin {number} is not what its digest says: restore the database of a copy")
        return found

    # ---- encodings ---------------------------------------------------------------------------------

    def encodings(
        self,
        number: int,
        encoder: Encoder,
        steps: Iterable[int] | None = None,
        progress: Callable[[float], object] = lambda _: None,
    ) -> Iterator[tuple[int, bytes]]:
        """Encodings of a sealed bulletin's diagonals, giant step by giant step; made and stored where they are missing.

        Args:
            encoder: makes them. steps: which; None: all of them.
            progress: called before each step is made with the fraction done; may raise to stop.

        Raises:
            ParameterError: the bulletin is not sealed, or there is no such step.
        """
        found = self.bulletin(number)
        wanted = range(encoder.steps) if steps is None else list(steps)
        if not found.sealed:
            raise ParameterError(
                f"bulletin {number} is not sealed yet: only sealed ones are encoded; seal it with pads"
            )
        if any(not 0 <= step < encoder.steps for step in wanted):
            raise ParameterError(f"giant steps are 0 to {encoder.steps - 1}")
        return self._encodings(found, encoder, wanted, progress)

    def encoded(self, number: int, encoder: Encoder) -> list[int]:
        """The giant steps whose encodings are stored."""
        t = schema.encodings
        with self._begun() as c:
            query = sa.select(t.c.step).where(t.c.bulletin == number, t.c.encoder == encoder.name)
            return sorted(c.execute(query).scalars())

    def _encodings(
        self, found: Bulletin, encoder: Encoder, steps: Sequence[int], progress: Callable[[float], object]
    ) -> Iterator[tuple[int, bytes]]:
        signals: Signals | None = None
        for done, step in enumerate(steps):
            blob = self._encoding_of(found, encoder, step)
            if blob is None:
                progress(done / len(steps))
                with self._encoding:  # who waited finds what the other has made
                    blob = self._encoding_of(found, encoder, step)
                    if blob is None:
                        signals = signals or self.signals(found.number)
                        blob = encoder.encode(signals, step)
                        self._keep(found, encoder, step, blob)
            yield step, blob

    def _encoding_of(self, found: Bulletin, encoder: Encoder, step: int) -> bytes | None:
        """None too for one that is damaged, or of something else."""
        t = schema.encodings
        where = (t.c.bulletin == found.number, t.c.encoder == encoder.name, t.c.step == step)
        with self._begun() as c:
            row = c.execute(sa.select(t.c.blob, t.c.checksum).where(*where)).one_or_none()
        if row is None:
            return None
        blob = bytes(row.blob)
        return blob if row.checksum == _checksum(found, encoder, step, blob) else None

    def _keep(self, found: Bulletin, encoder: Encoder, step: int, blob: bytes) -> None:
        key = {"bulletin": found.number, "encoder": encoder.name, "step": step}
        t = schema.encodings
        with self._begun(writing=True) as c:
            c.execute(sa.delete(t).where(*(t.c[name] == value for name, value in key.items())))
            row = {**key, "blob": blob, "checksum": _checksum(found, encoder, step, blob)}
            c.execute(schema.insert_new(c.dialect.name, t), row)


def _checksum(found: Bulletin, encoder: Encoder, step: int, blob: bytes) -> bytes:
    head = b"".join((found.digest, encoder.name.encode(), b"\0", step.to_bytes(4, "little")))
    return hashlib.sha256(head + hashlib.sha256(blob).digest()).digest()


def _size(job: Post | Seal) -> int:
    return len(job.signals) if isinstance(job, Post) else _GROUP
