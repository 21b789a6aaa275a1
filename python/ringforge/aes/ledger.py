# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which counters of AES-CTR were used under a key, so that none is used twice.

Two streams under one key with a counter in common are the end of secrecy: their sum is the sum of the two plaintexts,
for everybody who sees both. A client's ledger keeps it from making the second one. A server's is a second line, for
clients that lost theirs (a restored backup, two devices with one key): the server refuses to work on the second stream,
and says so, but the bytes have been sent by then, and whoever saw them on the way has both.

A ledger is a SQLite file of key ids, ranges and hashes of streams. Nothing in it is secret.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ringforge.errors import Error, FormatError, ParameterError, ShapeError, StorageError

#: Counters are modulo 2^128.
COUNTERS: Final = 1 << 128

_VERSION: Final = 1
#: "RGCT", so that other databases are not taken for ledgers.
_APPLICATION: Final = 0x52474354
_BUSY_SECONDS: Final = 5.0


class CounterReuseError(Error):
    """A counter would be used twice under one key; the message says from where on another may begin."""


def _ranges(first: int, blocks: int) -> list[tuple[bytes, bytes]]:
    """First and last counter, as 16 bytes that compare as numbers; two ranges where counters wrap."""
    last = first + blocks - 1
    pairs = [(first, last)] if last < COUNTERS else [(first, COUNTERS - 1), (0, last - COUNTERS)]
    return [(a.to_bytes(16, "big"), b.to_bytes(16, "big")) for a, b in pairs]


class Ledger:
    """Used counters. Threads and processes may share the file; each claim is on disk before it returns.

    Args:
        path: of the file; made if there is none.

    Raises:
        FormatError: the file is no ledger. StorageError: it cannot be used.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        with self._begun() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            application = db.execute("PRAGMA application_id").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not version:
                db.execute(
                    "CREATE TABLE used (key BLOB NOT NULL, first BLOB NOT NULL, last BLOB NOT NULL, "
                    "stream BLOB NOT NULL)"
                )
                db.execute("CREATE INDEX used_first ON used (key, first)")
                db.execute(f"PRAGMA user_version = {_VERSION}")
                db.execute(f"PRAGMA application_id = {_APPLICATION}")
            elif version != _VERSION or application != _APPLICATION:
                raise FormatError(
                    f"{self._path.name} is no ledger of counters that this version reads: name another file. A ledger "
                    "must not be thrown away while its keys are in use"
                )

    @contextlib.contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        """A transaction of its own connection, which forks and threads never share."""
        try:
            with contextlib.closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:  # SQLite ends it by itself when the disk is full
                        db.execute("ROLLBACK")
                    raise
        except sqlite3.OperationalError as e:
            raise StorageError(
                f"{self._path.name}: counters cannot be written down ({e}), so none is used: see to the file, its "
                "directory and the disk"
            ) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as e:
            raise FormatError(f"{self._path.name} is no ledger of counters: {e}") from None

    def claim(self, key_id: bytes, first: int, blocks: int, stream: bytes) -> bool:
        """Counters first, first + 1, ... modulo 2^128, for one stream.

        Args:
            blocks: how many, 0 and up. stream: its hash or tag: the same stream may come again, since it tells nothing
                new.

        Returns:
            Whether the stream is new.

        Raises:
            CounterReuseError: another stream has one of them; nothing is written. ParameterError: no such counters.
            ShapeError: empty key_id or stream. StorageError: the claim cannot be written.
        """
        if not 0 <= first < COUNTERS or not 0 <= blocks <= COUNTERS:
            raise ParameterError(f"{blocks} counters from {first} on: they are from 0 to 2^128 - 1")
        if not key_id or not stream:
            raise ShapeError("a claim names a key and a stream")
        if not blocks:
            return True
        ranges = _ranges(first, blocks)
        with self._begun() as db:
            taken = [
                row
                for a, b in ranges
                for row in db.execute(
                    "SELECT first, last, stream FROM used WHERE key = ? AND first <= ? AND last >= ?", (key_id, b, a)
                )
            ]
            if not all(isinstance(value, bytes) for row in taken for value in row):
                raise FormatError(f"{self._path.name} is damaged: it has counters that are no bytes")
            if sorted((a, b) for a, b, _ in taken) == sorted(ranges) and all(s == stream for _, _, s in taken):
                return False
            if taken:
                highest = max(int.from_bytes(b, "big") for _, b, _ in taken)
                raise CounterReuseError(
                    f"counters from {first:#x} on ({blocks:,} blocks) overlap with what this key was used for already: "
                    "anybody who sees both streams learns the sum of their plaintexts. Encrypt again from another "
                    f"counter, such as a random one or {(highest + 1) % COUNTERS:#x}, or under a new key"
                )
            db.executemany("INSERT INTO used VALUES (?, ?, ?, ?)", [(key_id, a, b, stream) for a, b in ranges])
        return True
