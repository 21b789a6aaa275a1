# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Message retrieval on whole boards of the test set: what is found, what is noticed, and results that are wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench import omr_boards
from ringforge.omr.keys import ReceiverSecret
from ringforge.omr.sets import named
from ringforge.runs import Record
from tests.answers import results_of

SET = named("test", "a test")
WORDS = ["bench", "omr", "--boards", "test", "--insecure", "a test", "--threads", "1", "--capacity", "5"]


def test_a_board_has_the_messages_where_it_says() -> None:
    secret = ReceiverSecret.make(SET)
    rng = np.random.default_rng(1)
    board = omr_boards.MadeBoard.make(SET, secret.signal.public(), secret.box.public(), 9, rng, 1)
    found = set(np.flatnonzero(secret.signal.pertinent(board.signals)).tolist())
    assert set(board.texts) <= found
    assert {e: secret.box.open(board.payloads[e].tobytes()) for e in board.texts} == board.texts
    assert len({text[:20] for text in board.texts.values()}) == 9
    # Strangers' signals: all different, and none of them this receiver's but by chance.
    assert len(np.unique(board.signals.a[:, :4], axis=0)) == SET.entries
    assert len(found) <= 9 + 2
    other = omr_boards.MadeBoard.make(SET, secret.signal.public(), secret.box.public(), 9, rng, 1)
    assert other.digest != board.digest


def test_boards_with_none_some_and_too_many(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One command: 0, 5 and 11 messages, digests for 5. Too many are noticed, and had in both ways."""
    numbers = [word for n in (0, 5, 11) for word in ("--pertinent", str(n))]
    assert main([*WORDS, *numbers, "--json", "--save", str(tmp_path)]) == 0
    records = [Record.from_json(json.dumps(r)) for r in results_of(capsys.readouterr().out)]
    (saved,) = tmp_path.glob("omr-boards-test-*.jsonl")
    assert len(saved.read_text().splitlines()) == len(records) == 5
    rows = [(r.extra["pertinent"], r.extra["way"], r.extra["noticed"], r.extra["right"]) for r in records]
    assert rows == [
        (0, "once", False, 0),
        (5, "once", False, 5),
        (11, "once", True, 0),
        (11, "larger", False, 11),
        (11, "windows", False, 11),
    ]
    assert all(r.extra["good"] and not r.extra["wrong"] for r in records)
    assert all(r.extra["count"] == r.extra["in_range"] >= r.extra["pertinent"] for r in records)
    assert records[3].extra["digests"] == 2
    assert records[4].extra["digests"] > 3
    assert all(min(r.extra["budget_bits"].values()) > 0 for r in records)
    first, larger = records[2].extra["stage_seconds"], records[3].extra["stage_seconds"]
    assert set(first) == {"affine", "combination", "range check", "compression", "digest", "decode"}
    assert set(larger) == {"compression", "digest", "decode"}, "what came before is not computed again"
    table = omr_boards.verdict(records)
    assert table.row_count == 5
    omr_boards.require_good(records)
    bad = replace(records[1], extra={**records[1].extra, "good": False})
    with pytest.raises(Error, match="1 of 2 results are not"):
        omr_boards.require_good([records[0], bad])


def test_a_payload_that_is_not_what_was_posted_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    make = omr_boards.MadeBoard.make

    def other(*words: object) -> omr_boards.MadeBoard:
        board = make(*words)  # type: ignore[arg-type]
        entry = min(board.texts)
        return replace(board, texts=board.texts | {entry: b"another text"})

    monkeypatch.setattr(omr_boards.MadeBoard, "make", other)
    (record,) = omr_boards.boards(SET, (2,), 5, 1)
    assert (record.extra["right"], record.extra["wrong"], record.extra["good"]) == (1, 1, False)


def test_what_cannot_be_run() -> None:
    for pertinent, capacity, words in (((1,), 255, "hold 1 to 254"), ((1,), 0, "hold 1"), ((4097,), 5, "0 to 4096")):
        with pytest.raises(ParameterError, match=words):
            list(omr_boards.boards(SET, pertinent, capacity))
    assert main([*WORDS, "--stages", "test"]) != 0
    assert main([*WORDS, "--threads", "2"]) != 0
