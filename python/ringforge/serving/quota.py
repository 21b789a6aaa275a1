# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What each client may ask for in a day. The counts are in a SQLite file, so a restart forgets nothing.

Everything is charged before any work is done, and is not given back when the work is cancelled.

Days are those of a `clock.Clock`, whose mark is in the file too: setting the wall clock refills nothing, neither while
a service runs nor when it is started again. After another boot of the machine the days between are not known: what
was used on the last day that was counted is then still used today, and a new day begins at the next midnight.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from pathlib import Path

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.secrecy import RawSecret
from ringforge.serving.clock import CARRIED, Clock, Mark, carries

#: Seconds to wait for another process that writes, or for another thread.
_BUSY_SECONDS = 5.0

_VERSION = 1
_DAY = 86_400
_KEY_BYTES = 32


class QuotaError(Error):
    """A client asks for more than its daily quota leaves; the message says how much is left and until when."""


class QuotaFileError(Error):
    """What a client asks for cannot be counted, so it is not done; the message says why."""


class Quota(RawSecret):
    """Counts per client and UTC day.

    The file holds keyed hashes of clients, not their tokens or addresses; the key is in the same file, which is
    created with mode 0600. Several servers may share the file: what they do is counted together.

    Args:
        path: of the file; made if there is none.
        limits: for each kind, how much one client may ask for in a day.
        words: what messages call a kind, where that is not its name.
        clock: for tests; a function stands for a wall clock and an uptime that agree.

    Raises:
        ParameterError: a limit below 0. FormatError: the file is no quota file. QuotaFileError: it cannot be written.
    """

    saved_by = "its file holds it"

    def __init__(
        self,
        path: str | Path,
        limits: Mapping[str, int],
        clock: Clock | Callable[[], float] | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        for kind, limit in limits.items():
            if limit < 0:
                raise ParameterError(f"a daily quota of {limit} for {kind}: 0 is the least, and lets nobody ask")
        self.limits = {kind: min(limit, (1 << 63) - 1) for kind, limit in limits.items()}
        self._words = dict(words or {})
        self._clock = Clock() if clock is None else clock if isinstance(clock, Clock) else Clock(clock, clock)
        self._lock = threading.Lock()
        path = Path(path)
        self._name = path.name
        try:
            if not path.exists():
                with contextlib.suppress(FileExistsError):
                    path.touch(mode=0o600, exist_ok=False)
            self._database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._key = self._open()
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")  # what was counted is on the disk before it is said
            self._database.execute(
                "SELECT count(*) FROM secret"
            ).fetchone()  # makes the log's index while there is room
        except (sqlite3.OperationalError, OSError) as e:
            why = e.strerror if isinstance(e, OSError) else e
            raise QuotaFileError(
                f"{path.name} cannot be used for counting ({why}): see to the file, its directory and the disk, or "
                "name another with --quota-file"
            ) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError, FormatError) as e:
            raise FormatError(
                f"{path.name} is no quota file that this version reads ({e}): name another with --quota-file, or move "
                "it away to start counting anew"
            ) from None

    def _open(self) -> bytes:
        with self._begun() as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise FormatError("it is a database of something else")
                db.execute("CREATE TABLE secret (value BLOB NOT NULL)")
                db.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(_KEY_BYTES),))
                db.execute(
                    "CREATE TABLE used (client BLOB, day INTEGER, kind TEXT, count INTEGER NOT NULL, "
                    "PRIMARY KEY (client, day, kind))"
                )
                db.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise FormatError(f"it has version {version}, not {_VERSION}")
            rows = db.execute("SELECT value FROM secret").fetchall()
            if [type(value) for row in rows for value in row] != [bytes] or len(rows[0][0]) != _KEY_BYTES:
                raise FormatError("its key is damaged")
            self._resume(db)
            return bytes(rows[0][0])

    def _resume(self, db: sqlite3.Connection) -> None:
        """Goes on with the file's time. Earlier releases wrote none, and let this table be."""
        db.execute("CREATE TABLE IF NOT EXISTS clock (boot TEXT PRIMARY KEY, offset REAL NOT NULL, seen REAL NOT NULL)")
        marks = [Mark.checked(*row) for row in db.execute("SELECT boot, offset, seen FROM clock")]
        (last,) = db.execute("SELECT max(day) FROM used").fetchone()
        if None in marks or not isinstance(last, int | None) or not -1 < (last or 0) < 1e12 / _DAY:
            raise FormatError("its days are damaged")
        past = [m for m in marks if m is not None]
        found = max((m for m in past if m.boot != CARRIED), key=lambda m: m.seen, default=None)
        if found is None and last is not None:  # of an earlier release
            found = Mark("", 0.0, float(last * _DAY))
        known, today = self._clock.resume(found, believe_wall=True), self._today()
        if not known and last is not None and last != today:
            db.execute("DELETE FROM used WHERE day != ?", (last,))
            if carries(past, last, today):
                db.execute("UPDATE used SET day = ?", (today,))
                db.execute("INSERT OR REPLACE INTO clock VALUES (?, ?, ?)", astuple(Mark.of_carried(today)))
            else:
                db.execute("DELETE FROM used")
        if found is None or not known:
            db.execute("DELETE FROM clock WHERE boot != ?", (CARRIED,))
            self._seen(db)

    def _seen(self, db: sqlite3.Connection) -> None:
        m = self._clock.mark()
        db.execute("INSERT OR REPLACE INTO clock VALUES (?, ?, ?)", (m.boot, m.offset, m.seen))

    @contextlib.contextmanager
    def _working(self) -> Iterator[sqlite3.Connection]:
        """The database, for one thread at a time.

        Raises:
            QuotaFileError: it is locked, full, read-only or broken.
        """
        if not self._lock.acquire(timeout=_BUSY_SECONDS):
            raise QuotaFileError(self._trouble("busy"))
        try:
            yield self._database
        except sqlite3.Error as e:
            raise QuotaFileError(self._trouble(str(e))) from None
        finally:
            self._lock.release()

    def _trouble(self, why: str) -> str:
        return (
            f"the server cannot count what is asked for in {self._name} ({why}), so it does nothing: try again later; "
            "its operator sees to the file, its directory and the disk, or names another with --quota-file"
        )

    @contextlib.contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        """A transaction; for who works already."""
        db = self._database
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # SQLite ends it by itself when the disk is full
                db.execute("ROLLBACK")
            raise

    def client(self, identity: str) -> bytes:
        """The 16 bytes that stand for a client here and in logs: a keyed hash of its token or address."""
        return hmac.digest(self._key, identity.encode(), hashlib.sha256)[:16]

    def left(self, client: bytes) -> dict[str, int]:
        """What the client may still ask for today."""
        with self._working() as db:
            rows = db.execute(
                "SELECT kind, count FROM used WHERE client = ? AND day = ?", (client, self._today())
            ).fetchall()
        used = dict(rows)
        return {kind: max(0, limit - used.get(kind, 0)) for kind, limit in self.limits.items()}

    def used(self) -> dict[str, tuple[int, int]]:
        """What all clients together have asked for today, and how many these are, by kind.

        Raises:
            QuotaFileError: it cannot be read.
        """
        with self._working() as db:
            rows = db.execute(
                "SELECT kind, sum(count), count(*) FROM used WHERE day = ? GROUP BY kind", (self._today(),)
            ).fetchall()
        return {str(kind): (min(int(total), (1 << 63) - 1), int(clients)) for kind, total, clients in rows}

    def check(self) -> None:
        """See whether anything can be counted now, without counting.

        Raises:
            QuotaFileError: it cannot.
        """
        with self._working(), self._begun():
            pass

    def charge(self, client: bytes, kind: str, count: int) -> None:
        """Counts what is about to be done.

        Raises:
            QuotaError: it is more than what is left. QuotaFileError: it cannot be counted. Nothing is counted then.
        """
        today, limit = self._today(), self.limits[kind]
        with self._working(), self._begun() as db:
            db.execute("DELETE FROM used WHERE day < ?", (today - 1,))
            row = db.execute(
                "SELECT count FROM used WHERE client = ? AND day = ? AND kind = ?", (client, today, kind)
            ).fetchone()
            used = int(row[0]) if row else 0
            if used + count > limit:
                name = self._words.get(kind, kind)
                hours = (today + 1) * 24 - self._clock() / 3600
                raise QuotaError(
                    f"{count} {name} are asked for, {max(0, limit - used)} of {limit} a day are left for this client: "
                    f"ask for less, wait {hours:.1f} hours (until midnight UTC), or agree on a larger quota with the "
                    "server's operator"
                )
            db.execute(
                "INSERT INTO used VALUES (?, ?, ?, ?) "
                "ON CONFLICT (client, day, kind) DO UPDATE SET count = count + excluded.count",
                (client, today, kind, count),
            )
            self._seen(db)

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._database.close()

    def _today(self) -> int:
        return int(self._clock() // _DAY)
