# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The set that a table on disk is made of: a database of PRF outputs or integers, and labels."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError
from ringforge.psi.build import Members
from ringforge.psi.info import TableInfo

_FETCH = 1 << 14


def write_members(directory: Path, members: Members) -> None:
    """Writes a new database: every member's bytes (64 of the PRF, or 8 of an integer, big-endian), and its label."""
    rows = _rows(members, 8 if members.values.ndim == 1 else 64)
    with contextlib.closing(sqlite3.connect(directory / "elements.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")  # the files are synchronised together, before they become current
        db.execute("CREATE TABLE members (value BLOB PRIMARY KEY, label BLOB NOT NULL) WITHOUT ROWID")
        labels = members.labels
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO members VALUES (?, ?)",
            ((value, labels[i] if labels else b"") for i, value in enumerate(rows)),
        )
        db.execute("COMMIT")


def read_members(directory: Path, info: TableInfo) -> Members:
    width = 8 if info.mode == "direct" else 64
    values: list[npt.NDArray[np.uint8]] = []
    labels: list[bytes] = []
    uri = f"{(directory / 'elements.sqlite').absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as db:
            rows = db.execute("SELECT value, label FROM members ORDER BY value")
            while some := rows.fetchmany(_FETCH):
                block = b"".join(value for value, _ in some)
                if len(block) != width * len(some):
                    raise FormatError("elements.sqlite is damaged: an entry has another length")
                values.append(np.frombuffer(block, dtype=np.uint8).reshape(len(some), width))
                if info.label_bytes:
                    labels.extend(label for _, label in some)
        if not all(isinstance(label, bytes) for label in labels):
            raise FormatError("elements.sqlite is damaged: a label is not bytes")
    except (sqlite3.Error, TypeError, UnicodeDecodeError) as e:
        raise FormatError(f"elements.sqlite is damaged: {e}") from None
    stacked = np.concatenate(values) if values else np.zeros((0, width), dtype=np.uint8)
    if info.mode == "direct":
        return Members(stacked.view(">u8")[:, 0].astype(np.uint64), labels)
    return Members(stacked, labels)


@dataclass(frozen=True)
class Changed:
    """Members that are not as before, their bytes one a row: all, those that came, those that went."""

    rows: npt.NDArray[np.uint8] = field(repr=False)
    added: npt.NDArray[np.uint8] = field(repr=False)
    removed: npt.NDArray[np.uint8] = field(repr=False)


def change_members(directory: Path, gone: Members, new: Members) -> tuple[Changed, tuple[int, int, int]]:
    """Changes the database of a state that is not current yet.

    Returns:
        what is not as before; and how many were added, removed and labelled anew.
    """
    width = 8 if new.values.ndim == 1 else 64
    before: dict[bytes, bytes | None] = {}
    after: dict[bytes, bytes | None] = {}
    with contextlib.closing(sqlite3.connect(directory / "elements.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")

        def label(value: bytes) -> bytes | None:
            row = db.execute("SELECT label FROM members WHERE value = ?", (value,)).fetchone()
            return None if row is None else bytes(row[0])

        db.execute("BEGIN")
        for value in _rows(gone, width):
            before.setdefault(value, label(value))
            db.execute("DELETE FROM members WHERE value = ?", (value,))
            after[value] = None
        for i, value in enumerate(_rows(new, width)):
            there = label(value)
            before.setdefault(value, there)
            # Who is there already, and comes without a label, keeps what it has.
            after[value] = new.labels[i] if new.labels else there or b""
            db.execute("INSERT OR REPLACE INTO members VALUES (?, ?)", (value, after[value]))
        db.execute("COMMIT")
    touched = [v for v, was in before.items() if was != after[v]]
    added = [v for v in touched if before[v] is None]
    removed = [v for v in touched if after[v] is None]

    def rows(values: list[bytes]) -> npt.NDArray[np.uint8]:
        return np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, width)

    counts = len(added), len(removed), len(touched) - len(added) - len(removed)
    return Changed(rows(touched), rows(added), rows(removed)), counts


def _rows(members: Members, width: int) -> Iterator[bytes]:
    """The bytes of each member, as the database has them."""
    for first in range(0, len(members), _FETCH):
        values = members.values[first : first + _FETCH]
        raw = (values.astype(">u8") if values.ndim == 1 else values).tobytes()
        yield from (raw[i : i + width] for i in range(0, len(raw), width))
