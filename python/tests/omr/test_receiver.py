# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A receiver's run, against a detector whose digests are lists: what is asked for, what comes out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ringforge.errors import Error, MismatchError, ParameterError, TooManyMessagesError
from ringforge.omr.detector_client import Info
from ringforge.omr.receiver import BLOCK, FETCHES, Outcome, Run, Wanted, ranges, split
from ringforge.omr.steps import Request
from ringforge.serving.jobs import Progress

ENTRIES = 4096
DIGEST = hashlib.sha256(b"bulletin").hexdigest()


@dataclass
class Detector:
    """Knows where the messages are, which a real one does not."""

    found: dict[int, list[int]]
    most: dict[str, int] = field(default_factory=lambda: {"messages": 65, "positions": 2000})
    asked: list[Request] = field(default_factory=list)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    uploads: int = 0
    cancelled: list[str] = field(default_factory=list)
    interrupt: bool = False

    def info(self) -> Info:
        return Info({"capacity": self.most}, dict.fromkeys(self.found, DIGEST), self.keys, [], {"bulletins": 9})

    def put_key(self, path: Path, progress: Any) -> str:
        progress(1.0)
        self.uploads += 1
        self.keys[hashlib.sha256(path.read_bytes()).hexdigest()] = {}
        return ""

    def submit(self, request: Request) -> str:
        self.asked.append(request)
        return str(len(self.asked) - 1)

    def watch(self, job: str, report: Any) -> None:
        assert job == str(len(self.asked) - 1)
        report(Progress("running", stage="affine"))
        if self.interrupt:
            raise KeyboardInterrupt

    def fetch(self, job: str) -> bytes:
        r = self.asked[int(job)]
        return json.dumps([e for e in self.found[r.bulletin] if r.first <= e < r.last]).encode()

    def cancel(self, job: str) -> bool:
        self.cancelled.append(job)
        return True


@dataclass
class Retrieved:
    count: int
    indices: Sequence[int]
    payloads: Sequence[bytes] | None


class Reader:
    """Opens payloads whose entry is not 13."""

    def decode(self, digest: bytes, request: Request) -> Any:
        entries = json.loads(digest)
        if len(entries) > request.capacity:
            raise TooManyMessagesError("too many", len(entries))
        payloads = [payload(e) for e in entries] if request.mode == "messages" else None
        return Retrieved(len(entries), entries, payloads)

    def open(self, payload: bytes) -> bytes | None:
        return None if payload == b"entry 13" else b"text of " + payload


def payload(entry: int) -> bytes:
    return b"entry %d" % entry


def run(detector: Detector, folder: Path, bulletins: Sequence[int] | None = None, **wanted: Any) -> Outcome:
    key = folder / "key"
    key.write_bytes(b"key")
    fetched: list[tuple[int, int]] = []

    def payloads(bulletin: int, first: int, last: int) -> Sequence[bytes]:
        assert bulletin in detector.found
        fetched.append((first, last))
        return [payload(e) for e in range(first, last)]

    board = payloads if wanted.get("mode") == "positions" else None
    made = Run(detector, Reader(), key, ENTRIES, Wanted(**wanted), board)  # type: ignore[arg-type]
    try:
        return made(bulletins)
    finally:
        made.outcome.fetched = fetched  # type: ignore[attr-defined]


def test_messages_in_the_order_of_the_board(tmp_path: Path) -> None:
    detector = Detector({0: [7, 4000], 1: [], 2: [5]})
    outcome = run(detector, tmp_path)
    assert [(m.bulletin, m.entry, m.text) for m in outcome.messages] == [
        (b, e, b"text of " + payload(e)) for b, e in [(0, 7), (0, 4000), (2, 5)]
    ]
    assert [(b.number, b.count, b.dropped, b.requests) for b in outcome.bulletins] == [
        (0, 2, 0, 1),
        (1, 0, 0, 1),
        (2, 1, 0, 1),
    ]
    assert detector.uploads == 1
    assert run(detector, tmp_path, [2]).messages[0].entry == 5
    assert detector.uploads == 1, "the key is there"


def test_first_requests_do_not_depend_on_what_is_found(tmp_path: Path) -> None:
    asked = []
    for found in ([], [1], list(range(50))):
        detector = Detector({0: found, 1: found})
        run(detector, tmp_path, auto=True)
        asked.append(detector.asked)
    assert asked[0] == asked[1] == asked[2]


def test_a_false_positive_is_dropped(tmp_path: Path) -> None:
    outcome = run(Detector({0: [12, 13, 14]}), tmp_path)
    assert [m.entry for m in outcome.messages] == [12, 14]
    assert (outcome.bulletins[0].count, outcome.bulletins[0].dropped) == (3, 1)


def test_too_many_without_auto_is_an_error_and_no_second_request(tmp_path: Path) -> None:
    detector = Detector({0: list(range(51))})
    with pytest.raises(TooManyMessagesError):
        run(detector, tmp_path)
    assert len(detector.asked) == 1


@pytest.mark.parametrize("count", [51, 65, 66, 200, 1000])
def test_auto_asks_again_until_all_are_there(tmp_path: Path, count: int) -> None:
    entries = [e * 3 for e in range(count)]  # close together: some windows are too full once more
    detector = Detector({0: entries})
    outcome = run(detector, tmp_path, auto=True, capacity=50)
    assert [m.entry for m in outcome.messages] == [e for e in entries if e != 13]
    assert outcome.bulletins[0].requests == len(detector.asked)
    assert all(r.capacity <= 65 for r in detector.asked)
    if count <= 65:
        assert len(detector.asked) == 2
        assert (detector.asked[1].first, detector.asked[1].last) == (0, ENTRIES)


def test_windows_cover_everything_once() -> None:
    request = Request("0" * 64, 0, DIGEST, "messages", 50, 100, 1101)
    for count in (66, 200, 5000):
        parts = split(request, count, 65)
        assert [p.first for p in parts] == [100, *(p.last for p in parts[:-1])]
        assert parts[-1].last == 1101
        assert all(p.capacity == 65 for p in parts)


@pytest.mark.parametrize("fetch", FETCHES)
def test_positions_fetch_payloads_from_the_board(tmp_path: Path, fetch: str) -> None:
    detector = Detector({0: [5, 6, 1030], 1: []})
    outcome: Any = run(detector, tmp_path, mode="positions", fetch=fetch)
    assert [m.entry for m in outcome.messages] == [5, 6, 1030]
    assert outcome.messages[2].text == b"text of entry 1030"
    assert {r.mode for r in detector.asked} == {"positions"}
    expected = {
        "entries": [(5, 7), (1030, 1031)],
        "blocks": [(0, 2 * BLOCK)],
        "bulletin": [(0, ENTRIES), (0, ENTRIES)],  # of the second one too, in which nothing is
    }
    assert outcome.fetched == expected[fetch]


def test_ranges_hold_their_entries() -> None:
    assert ranges([], "entries", 10) == []
    assert ranges([4095], "blocks", 4096) == [(3072, 4096)]
    assert ranges([1, 2, 4], "entries", 10) == [(1, 3), (4, 5)]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no sealed bulletin 4: they go from 0 to 1"):
        run(Detector({0: [], 1: []}), tmp_path, [4])
    with pytest.raises(ParameterError, match="none is sealed"):
        run(Detector({}), tmp_path, [0])
    with pytest.raises(ParameterError, match="digests of messages hold 65 at the most"):
        run(Detector({0: []}), tmp_path, capacity=66)
    with pytest.raises(MismatchError, match="no digests of positions"):
        run(Detector({0: []}, most={"messages": 65}), tmp_path, mode="positions")
    with pytest.raises(ParameterError, match="give --board"):
        Run(None, None, tmp_path, ENTRIES, Wanted("positions"))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no way to fetch"):
        Wanted(fetch="all")
    assert run(Detector({}), tmp_path).messages == []


def test_an_interrupt_cancels_the_job(tmp_path: Path) -> None:
    detector = Detector({0: []}, interrupt=True)
    with pytest.raises(KeyboardInterrupt):
        run(detector, tmp_path)
    assert detector.cancelled == ["0"]


def test_reports(tmp_path: Path) -> None:
    told: list[str] = []
    key = tmp_path / "key"
    key.write_bytes(b"key")
    Run(Detector({0: []}), Reader(), key, ENTRIES, Wanted(), None, lambda step, *_: told.append(step))()  # type: ignore[arg-type]
    assert told == ["sending the detection key", "sending the detection key", "bulletin 0: affine"]
    assert issubclass(TooManyMessagesError, Error)
