# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A receiver's run, against a detector whose digests are lists: what is asked for, and when; what comes out."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.errors import Error, FormatError, MismatchError, ParameterError, TooManyMessagesError
from ringforge.omr.detector_client import Info
from ringforge.omr.receiver import MAX_REQUESTS, MAX_WINDOWS, Outcome, Run, Wanted, enough_room, requests_about
from ringforge.omr.steps import Request
from ringforge.serving.jobs import Progress

ENTRIES = 4096
SIZE = 65_536
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
    forged: bytes | None = None
    events: list[str] = field(default_factory=list)

    def info(self) -> Info:
        return Info({"capacity": self.most}, dict.fromkeys(self.found, DIGEST), self.keys, [], {"bulletins": 9})

    def put_key(self, path: Path, progress: Any) -> str:
        progress(1.0)
        self.uploads += 1
        self.keys[hashlib.sha256(path.read_bytes()).hexdigest()] = {}
        return ""

    def submit(self, request: Request) -> str:
        assert "close" not in self.events
        self.asked.append(request)
        self.events.append("digest")
        return str(len(self.asked) - 1)

    def watch(self, job: str, report: Any) -> None:
        assert job == str(len(self.asked) - 1)
        report(Progress("running", stage="affine"))
        if self.interrupt:
            raise KeyboardInterrupt

    def fetch(self, job: str) -> bytes:
        r = self.asked[int(job)]
        if self.forged is not None:
            return self.forged
        return json.dumps([e for e in self.found[r.bulletin] if r.first <= e < r.last]).encode().ljust(SIZE)

    def cancel(self, job: str) -> bool:
        self.cancelled.append(job)
        return True

    def close(self) -> None:
        if self.events[-1:] != ["close"]:
            self.events.append("close")


@dataclass
class Retrieved:
    count: int
    indices: Sequence[int]
    payloads: Sequence[bytes] | None


@dataclass
class Reader:
    """Opens payloads whose entry is not 13; writes down when it reads."""

    events: list[str]

    def digest_bytes(self, request: Request) -> int:
        del request
        return SIZE

    def decode(self, digest: bytes, request: Request) -> Any:
        self.events.append("decode")
        try:
            entries = json.loads(digest)
        except ValueError:
            raise FormatError("no digest") from None
        if len(entries) > request.capacity:
            raise TooManyMessagesError("too many", len(entries))
        payloads = [payload(e) for e in entries] if request.mode == "messages" else None
        return Retrieved(len(entries), entries, payloads)

    def open(self, payload: bytes) -> bytes | None:
        payload = payload.rstrip()
        return None if payload == b"entry 13" else b"text of " + payload


@dataclass
class Board:
    """Payloads of any bulletin."""

    events: list[str]

    def payloads(self, number: int, first: int = 0, last: int | None = None) -> Any:
        self.events.append(f"payloads of {number}: {first} to {last}")
        assert last is not None
        rows = [np.frombuffer(payload(e).ljust(16), np.uint8) for e in range(first, last)]
        return np.stack(rows)

    def close(self) -> None:
        self.events.append("close board")


def payload(entry: int) -> bytes:
    return b"entry %d" % entry


def prepared(detector: Detector, folder: Path, **wanted: Any) -> Run:
    key = folder / "key"
    key.write_bytes(b"key")
    board = Board(detector.events) if wanted.get("mode") == "positions" else None
    return Run(detector, Reader(detector.events), key, ENTRIES, Wanted(**wanted), board)  # type: ignore[arg-type]


def run(detector: Detector, folder: Path, bulletins: Sequence[int] | None = None, **wanted: Any) -> Outcome:
    detector.events.clear()
    return prepared(detector, folder, **wanted)(bulletins)


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


@pytest.mark.parametrize("wanted", [{}, {"auto": True}, {"auto": True, "capacity": 200}, {"mode": "positions"}])
def test_first_requests_do_not_depend_on_what_is_found(tmp_path: Path, wanted: dict[str, Any]) -> None:
    """Nor do any others: all of them are made, and the connections closed, before the first digest is read."""
    seen = []
    for found in ([], [1], list(range(50)), list(range(0, 4000, 5))):
        for forged in (None, b"no digest", b"[1, 1]", b"[0]"):
            detector = Detector({0: found, 1: found}, forged=None if forged is None else forged.ljust(SIZE))
            prepared(detector, tmp_path, **wanted).fetch()
            assert "decode" not in detector.events
            detector.events.clear()
            with contextlib.suppress(Error):
                run(detector, tmp_path, **wanted)
            assert detector.events.index("close") < detector.events.index("decode")
            assert not {"digest", "close"} & set(detector.events[detector.events.index("decode") :])
            seen.append((detector.asked, [e for e in detector.events if e != "decode"]))
    assert all(s == seen[0] for s in seen)


def test_a_false_positive_is_dropped(tmp_path: Path) -> None:
    outcome = run(Detector({0: [12, 13, 14]}), tmp_path)
    assert [m.entry for m in outcome.messages] == [12, 14]
    assert (outcome.bulletins[0].count, outcome.bulletins[0].dropped) == (3, 1)


def test_too_many_without_auto_is_an_error_and_no_second_request(tmp_path: Path) -> None:
    """The other bulletins' messages are there all the same."""
    detector = Detector({0: list(range(51)), 1: [7]})
    made = prepared(detector, tmp_path)
    with pytest.raises(
        TooManyMessagesError, match=r"^bulletin 0, entries 0 to 4096: 51 entries .* --capacity 51, "
    ) as e:
        made()
    assert e.value.count == 51
    assert len(detector.asked) == 2
    assert [(m.bulletin, m.entry) for m in made.outcome.messages] == [(1, 7)]


@pytest.mark.parametrize("count", [51, 65, 66, 200, 1000])
def test_auto_asks_by_windows_and_counts(tmp_path: Path, count: int) -> None:
    """So many requests as the capacity says, whether there is nothing, enough or too much."""
    entries = [e * ENTRIES // count for e in range(count)]
    asked = []
    for found in (entries, [], list(range(ENTRIES))):
        detector = Detector({0: found})
        with contextlib.suppress(TooManyMessagesError):
            outcome = run(detector, tmp_path, auto=True, capacity=count)
        asked.append(detector.asked)
        if found is entries:
            assert [m.entry for m in outcome.messages] == [e for e in entries if e != 13]
            assert outcome.bulletins[0].requests == len(detector.asked)
    assert asked[0] == asked[1] == asked[2]
    assert len(asked[0]) == {51: 1, 65: 1, 66: 4, 200: 8, 1000: 32}[count]
    assert {r.capacity for r in asked[0]} == {65}


def test_a_detector_that_says_yes_to_everything_is_asked_so_often_and_no_more(tmp_path: Path) -> None:
    """Every window of every bulletin is said to be full, over and over."""
    most = {"messages": 40}
    detector = Detector({n: list(range(ENTRIES)) for n in range(7)}, most)
    made = prepared(detector, tmp_path, auto=True, capacity=MAX_WINDOWS * 40 // 2)
    with pytest.raises(TooManyMessagesError):
        made()
    assert len(detector.asked) == len(made.outcome.failures) == 7 * MAX_WINDOWS
    many = Detector({key: [] for key in range(MAX_REQUESTS // MAX_WINDOWS + 1)})
    with pytest.raises(ParameterError, match=f"a run asks for {MAX_REQUESTS} at the most"):
        run(many, tmp_path, auto=True, capacity=MAX_WINDOWS * 65 // 2)
    with pytest.raises(ParameterError, match="a run keeps those of 1024 at the most"):
        run(Detector({key: [] for key in range(1025)}), tmp_path, mode="positions")
    assert many.asked == []
    assert many.uploads == 0


def test_digests_of_another_size_end_the_run(tmp_path: Path) -> None:
    detector = Detector({0: [], 1: []}, forged=b"[]")
    with pytest.raises(FormatError, match="2 bytes, where this request's have 65536"):
        run(detector, tmp_path)
    assert detector.events == ["digest", "close"]


def test_windows_cover_everything_once() -> None:
    whole = Request("0" * 64, 0, DIGEST, "messages", 65, 100, 1124)
    for count, windows in ((65, 1), (66, 4), (200, 8), (2080, 64)):
        parts = requests_about(whole, Wanted(capacity=count, auto=True))
        assert len(parts) == windows
        assert [p.first for p in parts] == [100, *(p.last for p in parts[:-1])]
        assert parts[-1].last == 1124
        assert all(p.capacity == 65 for p in parts)
    assert requests_about(whole, Wanted())[0].capacity == 50
    for refused, auto, words in ((66, False, "hold 65 at the most; --auto"), (2081, True, "takes 128 digests of 65")):
        with pytest.raises(ParameterError, match=words):
            requests_about(whole, Wanted(capacity=refused, auto=auto))


def test_the_capacity_that_is_advised_makes_windows_small_enough() -> None:
    whole = Request("0" * 64, 0, DIGEST, "messages", 65, 0, ENTRIES)
    for windows, count in ((2, 66), (4, 66), (4, 131), (8, 300)):
        room = enough_room(count, 65, windows)
        parts = requests_about(whole, Wanted(capacity=room, auto=True))
        assert len(parts) * 65 >= windows * count
        assert len(parts) > windows
    assert enough_room(51, 50, 1) == 51


def test_positions_fetch_payloads_from_the_board(tmp_path: Path) -> None:
    """All of them, also of a bulletin in which nothing is."""
    detector = Detector({0: [5, 6, 1030], 1: []})
    outcome = run(detector, tmp_path, mode="positions")
    assert [m.entry for m in outcome.messages] == [5, 6, 1030]
    assert outcome.messages[2].text == b"text of entry 1030"
    assert {r.mode for r in detector.asked} == {"positions"}
    whole = [f"payloads of {n}: 0 to {ENTRIES}" for n in (0, 1)]
    assert detector.events == ["digest", whole[0], "digest", whole[1], "close", "close board", "decode", "decode"]


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
    with pytest.raises(ParameterError, match="1 is the least"):
        Wanted(capacity=-1)
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
    Run(Detector({0: []}), Reader([]), key, ENTRIES, Wanted(), None, lambda step, *_: told.append(step))()  # type: ignore[arg-type]
    assert told == ["sending the detection key", "sending the detection key", "bulletin 0: affine"]
    assert issubclass(TooManyMessagesError, Error)
