# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The database of a board: tables, connections, and what its errors mean.

SQLite in a file, or PostgreSQL; one database holds one board. Entries are only added: triggers refuse everything else,
also to who uses the database past this program.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql

from ringforge.errors import ParameterError, StorageError
from ringforge.serving.clock import CARRIED, Clock, Mark, carries

VERSION = 1

#: Seconds to wait for another process that writes.
BUSY_SECONDS = 5.0

#: Bytes of a page of SQLite, and pages after which the log is copied back into the file: 64 MiB.
_PAGE = 16_384
_CHECKPOINT = 4096

#: Seconds.
DAY = 86_400

#: Hashes that are looked for at once.
_LOOK = 400

#: A number of PostgreSQL's advisory locks, for making tables.
_LOCK = 0x52474F4D52

#: 64 bits; in SQLite what makes a column the table's own order.
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")

metadata = sa.MetaData()

board = sa.Table(
    "board",
    metadata,
    sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("set_name", sa.String, nullable=False),
    sa.Column("set_hash", sa.LargeBinary, nullable=False),
    sa.Column("names_key", sa.LargeBinary, nullable=False),
    sa.Column("created", _Number, nullable=False),
)

bulletins = sa.Table(
    "bulletins",
    metadata,
    sa.Column("number", _Number, primary_key=True, autoincrement=False),
    sa.Column("entries", sa.Integer, nullable=False),  # pads not included
    sa.Column("start", sa.LargeBinary, nullable=False),
    sa.Column("chain", sa.LargeBinary, nullable=False),  # after the entries; pads not included
    sa.Column("digest", sa.LargeBinary),  # pads included, once it is sealed
    sa.Column("sealed", _Number),
)

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("number", _Number, primary_key=True, autoincrement=False),
    sa.Column("signal", sa.LargeBinary, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("signal_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("payload_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("poster", sa.LargeBinary, nullable=False),
    sa.Column("posted", _Number, nullable=False),
    postgresql_with={"toast_tuple_target": 8160},
)

posters = sa.Table(
    "posters",
    metadata,
    sa.Column("poster", sa.LargeBinary, primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("posts", _Number, nullable=False),
)

encodings = sa.Table(
    "encodings",
    metadata,
    sa.Column("bulletin", _Number, primary_key=True, autoincrement=False),
    sa.Column("encoder", sa.String, primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("blob", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.LargeBinary, nullable=False),
)

#: The board's time (`clock.Mark`), for each boot of a machine; boards of earlier releases get it when they are opened.
clocks = sa.Table(
    "clocks",
    sa.MetaData(),
    sa.Column("boot", sa.String, primary_key=True),
    sa.Column("offset", sa.Double, nullable=False),
    sa.Column("seen", sa.Double, nullable=False),
)

_REFUSALS = {
    "sqlite": [
        "CREATE TRIGGER entries_{what} BEFORE {what} ON entries BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
        "CREATE TRIGGER bulletins_{what} BEFORE {what} ON bulletins WHEN OLD.sealed IS NOT NULL "
        "BEGIN SELECT RAISE(ABORT, 'sealed bulletins stay'); END",
    ],
    "postgresql": [
        "CREATE TRIGGER entries_{what} BEFORE {what} ON entries FOR EACH ROW EXECUTE FUNCTION ringforge_stay()",
        "CREATE TRIGGER bulletins_{what} BEFORE {what} ON bulletins FOR EACH ROW WHEN (OLD.sealed IS NOT NULL) "
        "EXECUTE FUNCTION ringforge_stay()",
    ],
}
_FUNCTION = (
    "CREATE OR REPLACE FUNCTION ringforge_stay() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'what is on the board stays'; END $$"
)


def create_tables(connection: sa.Connection) -> None:
    """Makes all tables, within the connection's transaction."""
    dialect = connection.dialect.name
    metadata.create_all(connection)
    if dialect == "postgresql":
        connection.exec_driver_sql(_FUNCTION)
        for column in ("signal", "payload"):  # random bytes: compressing them takes time and saves nothing
            connection.exec_driver_sql(f"ALTER TABLE entries ALTER COLUMN {column} SET STORAGE EXTERNAL")
        connection.exec_driver_sql("ALTER TABLE encodings ALTER COLUMN blob SET STORAGE EXTERNAL")
    for statement in _REFUSALS[dialect]:
        for what in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(statement.format(what=what))


def has_tables(connection: sa.Connection) -> bool | None:
    """Whether a board's tables are there; None: those of something else."""
    names = set(sa.inspect(connection).get_table_names())
    return True if names >= set(metadata.tables) else None if names else False


def lock_schema(connection: sa.Connection) -> None:
    """Holds up others that would make tables at the same time; SQLite does so by itself."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def resume_clock(connection: sa.Connection, clock: Clock) -> None:
    """Goes on with the board's time: setting the wall clock gives posters no second quota (`serving.quota`)."""
    clocks.create(connection, checkfirst=True)
    marks = [Mark(row.boot, row.offset, row.seen) for row in connection.execute(sa.select(clocks))]
    last = connection.execute(sa.select(sa.func.max(posters.c.day))).scalar_one()
    found = max((m for m in marks if m.boot != CARRIED), key=lambda m: (m.boot == clock.boot, m.seen), default=None)
    if found is None and last is not None:
        found = Mark("", 0.0, float(last) * DAY)
    known = clock.resume(found, believe_wall=True)
    today = int(clock()) // DAY
    if not known and last is not None and last != today:
        connection.execute(sa.delete(posters).where(posters.c.day != last))
        if carries(marks, last, today):
            connection.execute(sa.update(posters).values(day=today))
            connection.execute(sa.delete(clocks).where(clocks.c.boot == CARRIED))
            connection.execute(sa.insert(clocks), asdict(Mark.of_carried(today)))
        else:
            connection.execute(sa.delete(posters))
    if found is None or not known:
        see(connection, clock)


def see(connection: sa.Connection, clock: Clock) -> None:
    """Writes the board's time down."""
    connection.execute(sa.delete(clocks).where(clocks.c.boot == clock.boot))
    connection.execute(sa.insert(clocks), asdict(clock.mark()))


def insert_entries(connection: sa.Connection, rows: list[tuple[Any, ...]]) -> None:
    """Adds entries, each a value for every column; to PostgreSQL as one array for each column, since pg8000 sends rows
    one by one. Neither goes through SQLAlchemy's types, which would take as long as the database.
    """
    names = ", ".join(c.name for c in entries.columns)
    if connection.dialect.name != "postgresql":
        places = ", ".join("?" * len(entries.columns))
        connection.exec_driver_sql(f"INSERT INTO entries ({names}) VALUES ({places})", rows)
        return
    kinds = ["bytea[]" if isinstance(c.type, sa.LargeBinary) else "bigint[]" for c in entries.columns]
    arrays = ", ".join(f"CAST(%s AS {kind})" for kind in kinds)
    connection.exec_driver_sql(
        f"INSERT INTO entries ({names}) SELECT * FROM unnest({arrays})",
        tuple(list(column) for column in zip(*rows, strict=True)),
    )


def numbers_of(connection: sa.Connection, column: str, hashes: list[bytes]) -> dict[bytes, int]:
    """Those of entries that have one of these hashes as `signal_hash` or `payload_hash`; no other entries."""
    found: dict[bytes, int] = {}
    values: tuple[Any, ...]
    for at in range(0, len(hashes), _LOOK):
        part = hashes[at : at + _LOOK]
        if connection.dialect.name == "postgresql":
            where, values = "= ANY(CAST(%s AS bytea[]))", (part,)
        else:
            where, values = f"IN ({', '.join('?' * len(part))})", tuple(part)
        rows = connection.exec_driver_sql(f"SELECT {column}, number FROM entries WHERE {column} {where}", values)
        found.update((bytes(h), n) for h, n in rows)
    return found


def insert_new(dialect: str, table: sa.Table) -> Any:
    """INSERT that leaves rows as they are which are there already."""
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table).on_conflict_do_nothing()


# ---- connections ---------------------------------------------------------------------------------


def parse(url: str | Path) -> sa.URL:
    """A connection string, or the name of a SQLite file.

    Raises:
        ParameterError: another database, or none.
    """
    if isinstance(url, Path) or "://" not in url:
        return _file(str(url))
    try:
        found = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):  # its message may hold a password
        raise ParameterError(f"the board's connection string cannot be read: {_FORMS}") from None
    try:
        name = found.get_backend_name()
    except sa.exc.SQLAlchemyError:
        name = ""
    if name in ("postgresql", "sqlite"):
        unknown = sorted(set(found.query) - (_OPTIONS if name == "postgresql" else set()))
        if unknown:
            raise ParameterError(
                f"the board's connection string has the option {unknown[0][:40]!r}, which is none here: {_FORMS}"
            )
    if name == "postgresql":
        if not found.username:
            raise ParameterError(f"the board's connection string names no user of PostgreSQL: {_FORMS}")
        return found.set(drivername="postgresql+pg8000")
    if name == "sqlite" and found.database not in (None, "", ":memory:"):
        return _file(str(found.database))
    raise ParameterError(f"a board lives in a file of SQLite or in PostgreSQL, not in {found.drivername}: {_FORMS}")


#: What may follow the `?` of a connection string of PostgreSQL.
_OPTIONS = {"unix_sock", "application_name"}


def _file(name: str) -> sa.URL:
    """The URL of a SQLite file.

    Raises:
        ParameterError: no file has that name.
    """
    if not name or name == ":memory:" or "\0" in name:
        raise ParameterError(f"a board lives in a file, and {name[:40]!r} names none: {_FORMS}")
    return sa.URL.create("sqlite", database=name)


_FORMS = (
    "write a file's name, or postgresql+pg8000://USER@HOST/DATABASE, or "
    "postgresql+pg8000://USER@/DATABASE?unix_sock=/run/postgresql/.s.PGSQL.5432"
)


def named(url: sa.URL) -> str:
    """What errors and logs call the database: nothing of its path, user or password."""
    return Path(url.database or "").name or url.get_backend_name()


def connect(url: sa.URL) -> sa.Engine:
    """An engine whose transactions begin at once in SQLite where they will write (execution option `writing`)."""
    if url.get_backend_name() == "postgresql":
        engine = sa.create_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=24, connect_args={"timeout": 30})
        event.listen(engine, "connect", _wait_for_disk)
        return engine
    engine = sa.create_engine(url, pool_size=8, max_overflow=24, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def opened(connection: Any, record: Any) -> None:
        del record
        connection.isolation_level = None  # transactions are begun below
        for pragma in (
            f"page_size = {_PAGE}",
            "journal_mode = WAL",
            "synchronous = FULL",
            f"wal_autocheckpoint = {_CHECKPOINT}",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begun(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _wait_for_disk(connection: Any, record: Any) -> None:
    """Have PostgreSQL say that something is committed when it is on the disk, whatever the database's default is."""
    del record
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("SELECT current_setting('synchronous_commit')")
        if cursor.fetchone()[0] == "off":
            cursor.execute("SET synchronous_commit = on")
    connection.commit()


@contextlib.contextmanager
def transaction(engine: sa.Engine, *, writing: bool = False) -> Iterator[sa.Connection]:
    """A transaction, committed and on disk after the block.

    Raises:
        StorageError: the database is locked, full, read-only, broken, gone.
    """
    try:
        with engine.connect().execution_options(writing=writing) as connection, connection.begin():
            yield connection
    except (sa.exc.SQLAlchemyError, OSError, struct.error) as e:
        raise StorageError(_trouble(e, engine.url)) from None


def _trouble(error: Exception, url: sa.URL) -> str:
    """One line without values of parameters."""
    original: Any = getattr(error, "orig", None) or error
    code, text = "", str(original)
    if original.args and isinstance(original.args[0], dict):  # of PostgreSQL
        code, text = original.args[0].get("C", ""), original.args[0].get("M", "")
    elif isinstance(error, sa.exc.SQLAlchemyError) and not isinstance(error, sa.exc.DBAPIError):
        text = "no connection is free" if isinstance(error, sa.exc.TimeoutError) else "it is not usable now"
    elif url.get_backend_name() == "postgresql":  # words of the driver
        text = "nobody answers there" if "create a connection" in text else "the connection broke"
    text = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text)).strip()[:200]
    remedy = "see to the database; what was not acknowledged is not lost by posting it again"
    if "locked" in text or "busy" in text:
        remedy = "another program holds it: try again"
    elif "full" in text or "I/O" in text or code.startswith("53") or "No space" in text:
        remedy = "free space on its disk, then try again"
    elif "not a database" in text or "malformed" in text:
        remedy = "name another file, or a copy of this one from before"
    elif "readonly" in text or "read-only" in text or "unable to open" in text:
        remedy = "see to the rights on the file and its directory"
    elif url.get_backend_name() == "postgresql" and not code:
        remedy = "see that PostgreSQL runs and that the connection string is right, then try again"
    return f"the board cannot use its database {named(url)} ({text}): {remedy}"


def private_file(url: sa.URL) -> None:
    """Makes the file of a new board, for its owner alone: it holds the key of posters' names."""
    if url.get_backend_name() != "sqlite":
        return
    path = Path(str(url.database))
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
