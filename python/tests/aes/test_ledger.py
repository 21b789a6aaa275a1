# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ledgers of counters: no counter twice, whatever wraps, whoever asks meanwhile, whatever becomes of the file."""

from __future__ import annotations

import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from ringforge.aes.ledger import COUNTERS, CounterReuseError, Ledger
from ringforge.errors import FormatError, ParameterError, ShapeError, StorageError


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


def test_ranges_do_not_overlap(ledger: Ledger) -> None:
    assert ledger.claim(b"k", 100, 10, b"one")
    for first, blocks in ((100, 1), (109, 1), (91, 10), (95, 100), (104, 2), (100, 11)):
        with pytest.raises(CounterReuseError, match="overlap"):
            ledger.claim(b"k", first, blocks, b"two")
    assert ledger.claim(b"k", 110, 5, b"two")
    assert ledger.claim(b"k", 90, 10, b"three")
    assert ledger.claim(b"other", 100, 10, b"two")
    assert ledger.claim(b"k", 105, 0, b"nothing")


def test_the_same_stream_may_come_again(ledger: Ledger) -> None:
    assert ledger.claim(b"k", COUNTERS - 2, 5, b"one")
    assert not ledger.claim(b"k", COUNTERS - 2, 5, b"one")
    with pytest.raises(CounterReuseError):
        ledger.claim(b"k", COUNTERS - 2, 4, b"one")


def test_counters_wrap(ledger: Ledger) -> None:
    assert ledger.claim(b"k", COUNTERS - 3, 8, b"one")
    for first in (COUNTERS - 1, 0, 4):
        with pytest.raises(CounterReuseError):
            ledger.claim(b"k", first, 1, b"two")
    assert ledger.claim(b"k", 5, 1, b"two")
    assert ledger.claim(b"k", COUNTERS - 4, 1, b"three")
    assert ledger.claim(b"all", 7, COUNTERS, b"everything")
    with pytest.raises(CounterReuseError):
        ledger.claim(b"all", 6, 1, b"more")


def test_the_message_names_a_counter_that_is_free(ledger: Ledger) -> None:
    ledger.claim(b"k", 16, 16, b"one")
    with pytest.raises(CounterReuseError, match=r"0x20,") as e:
        ledger.claim(b"k", 20, 1, b"two")
    assert "new key" in str(e.value)


def test_arguments(ledger: Ledger) -> None:
    for first, blocks in ((-1, 1), (COUNTERS, 1), (0, -1), (0, COUNTERS + 1)):
        with pytest.raises(ParameterError):
            ledger.claim(b"k", first, blocks, b"s")
    for key, stream in ((b"", b"s"), (b"k", b"")):
        with pytest.raises(ShapeError):
            ledger.claim(key, 0, 1, stream)


def test_it_is_on_disk(tmp_path: Path) -> None:
    Ledger(tmp_path / "l").claim(b"k", 0, 10, b"one")
    with pytest.raises(CounterReuseError):
        Ledger(tmp_path / "l").claim(b"k", 5, 1, b"two")


def _claim(path: Path, name: bytes, into: list[bool] | multiprocessing.Queue[bool]) -> None:
    try:
        got = Ledger(path).claim(b"k", 0, 3, name)
    except CounterReuseError:
        got = False
    if isinstance(into, list):
        into.append(got)
    else:
        into.put(got)


def test_one_of_many_threads_and_processes_gets_a_counter(tmp_path: Path) -> None:
    path = tmp_path / "l"
    Ledger(path)
    got: list[bool] = []
    threads = [threading.Thread(target=_claim, args=(path, bytes([n + 1]), got)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(got) == [False] * 7 + [True]
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[bool] = context.Queue()
    children = [context.Process(target=_claim, args=(tmp_path / "m", bytes([n + 1]), queue)) for n in range(3)]
    for c in children:
        c.start()
    answers = sorted(queue.get(timeout=30) for _ in children)
    for c in children:
        c.join()
    assert answers == [False, False, True]


def test_other_files_are_refused_and_stay(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"a secret of somebody" * 100)
    with pytest.raises(FormatError, match="no ledger"):
        Ledger(text)
    assert text.read_bytes() == b"a secret of somebody" * 100
    import sqlite3

    other = tmp_path / "other"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE t (a)")
    db.commit()
    db.close()
    with pytest.raises(FormatError, match="no ledger"):
        Ledger(other)
    damaged = tmp_path / "damaged"
    Ledger(damaged).claim(b"k", 0, 1, b"s")
    damaged.write_bytes(damaged.read_bytes()[:5000])
    with pytest.raises((FormatError, StorageError)):
        Ledger(damaged).claim(b"k", 1, 1, b"t")


def test_what_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="none is used"):
        Ledger(tmp_path / "none" / "l")
    ledger = Ledger(tmp_path / "l")
    if os.geteuid() != 0:
        (tmp_path / "l").chmod(0o400)
        with pytest.raises(StorageError):
            ledger.claim(b"k", 0, 1, b"s")
