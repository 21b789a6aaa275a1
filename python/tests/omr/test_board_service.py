# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The board's service over TCP: posting, reading, encodings, and what hostile clients hear."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from ringforge.errors import DuplicateError, Error, FormatError, MismatchError, ParameterError, StorageError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.omr import board_schema as schema
from ringforge.omr import board_wire as wire
from ringforge.omr.board import Board, Encoder
from ringforge.omr.board_client import RemoteBoard
from ringforge.omr.board_service import Service
from ringforge.omr.proto import board_pb2 as pb
from ringforge.omr.sets import named
from ringforge.serving import framing
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running
from ringforge.serving.quota import QuotaError
from tests.omr.boards import SET, Counting, fresh, one_line
from tests.psi.loopback import wait_for

TOKENS = ("token-of-poster-one", "token-of-poster-two")
HEADER = pb.PostRequest(header=pb.PostHeader(set_hash=SET.hash)).SerializeToString()


@dataclass
class Served:
    board: Board
    service: Service
    port: int
    log: io.StringIO

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def connect(self, **options: Any) -> RemoteBoard:
        return RemoteBoard(self.address, SET, timeout=60, **options)

    def events(self, name: str) -> list[dict[str, Any]]:
        return [e for e in map(json.loads, self.log.getvalue().splitlines()) if e["event"] == name]


@contextlib.contextmanager
def serving(
    folder: Path,
    *,
    posts: int = 1 << 20,
    encoder: Encoder | None = None,
    tokens: bool = False,
    limits: Limits | None = None,
) -> Iterator[Served]:
    log = io.StringIO()
    with Board.open(folder / "board.sqlite", SET) as board:
        known = Tokens(TOKENS) if tokens else None
        service = Service(board, limits or Limits(grace_seconds=0), posts, encoder, known, Log(log))
        running = Running(service, "127.0.0.1:0")
        try:
            yield Served(board, service, running.port, log)
        finally:
            running.stop(0)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as made:
        yield made


def status(served: Served, method: str, messages: list[bytes], metadata: Any = ()) -> tuple[grpc.StatusCode, str]:
    """What the service says to raw messages."""
    with grpc.insecure_channel(served.address) as channel:
        call = channel.stream_stream(f"/{wire.SERVICE}/{method}", None, None)
        try:
            list(call(iter(messages), timeout=30, metadata=metadata))
        except grpc.RpcError as e:
            return e.code(), e.details()
    return grpc.StatusCode.OK, ""


def test_posting_and_reading(served: Served) -> None:
    """More than a batch, and more than a chunk."""
    signals, payloads = fresh(SET.entries + 9)
    with served.connect() as board:
        before = board.info()
        receipts = list(board.posting(signals, payloads))
        assert sum(r.count for r in receipts) == len(signals)
        assert {r.count for r in receipts[:-1]} == {wire.batch(SET)}
        assert receipts[-1].places(SET)[-1] == (1, 8)
        after = board.info()
        assert (before.bulletins, after.bulletins) == (1, 2)
        assert before.posts_left - after.posts_left == len(signals)
        found = board.bulletins()
        assert found == served.board.bulletins()
        assert found[1].digest == receipts[-1].chain
        assert (board.signals(0).pack() == signals[: SET.entries]).all()
        assert (board.payloads(0) == payloads[: SET.entries]).all()
        assert (board.payloads(1, 2, 5) == payloads[SET.entries + 2 : SET.entries + 5]).all()
        assert len(board.signals(0, 7, 7)) == 0
        assert (board.signals(0, 3000, 3001).pack() == signals[3000:3001]).all()
    assert board.traffic.received["payloads"] > SET.entries * SET.payload_bytes
    wait_for(lambda: len(served.events("Signals")) == 3)
    assert [e["posted"] for e in served.events("Post")] == [len(signals)]
    text = served.log.getvalue()
    assert signals[0].tobytes().hex() not in text
    assert "127.0.0.1" not in text


def test_many_post_at_once(served: Served) -> None:
    entries = [fresh(40) for _ in range(8)]

    def post(e: Any) -> int:
        with served.connect() as board:
            return sum(r.count for r in board.posting(*e))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(post, entries)) == [40] * 8
    found = served.board.verify(0)
    assert found.entries == 320
    stored = {row.tobytes() for row in served.board.payloads(0)}
    assert stored == {row.tobytes() for _, payloads in entries for row in payloads}


def test_what_is_refused_by_name(served: Served) -> None:
    signals, payloads = fresh(3)
    with served.connect() as board:
        list(board.posting(signals, payloads))
        with pytest.raises(DuplicateError, match="position 0 of bulletin 0"):
            list(board.posting(signals, payloads))
        zeros = np.zeros((51, SET.signal_bytes), np.uint8)
        with pytest.raises(RingforgeValueError, match="degenerate"):
            list(board.posting(zeros, fresh(51)[1]))
        above = np.full((1, SET.signal_bytes), 255, np.uint8)
        with pytest.raises(FormatError, match=str(SET.t)):
            list(board.posting(above, payloads[:1]))
        with pytest.raises(ParameterError, match="no bulletin 7"):
            board.signals(7, 0, 1)
        with pytest.raises(ParameterError, match="which has 3"):
            board.payloads(0, 0, 4)
        with pytest.raises(ParameterError, match="a bulletin has 4096"):
            board.payloads(0, 0, 5000)
        with pytest.raises(ParameterError, match="each has one"):
            list(board.posting(signals, payloads[:2]))
    with RemoteBoard(served.address, named("ringforge"), timeout=60) as other:
        with pytest.raises(MismatchError, match='of parameter set "test"'):
            other.info()
        with pytest.raises(MismatchError, match="another parameter set than this board's"):
            list(other.posting(np.zeros((1, other.set.signal_bytes), np.uint8), np.zeros((1, 612), np.uint8)))
    assert served.board.bulletin(0).entries == 3


def _batch(signals: bytes, payloads: bytes) -> bytes:
    return bytes(pb.PostRequest(batch=pb.Batch(signals=signals, payloads=payloads)).SerializeToString())


def test_malformed_messages(served: Served) -> None:
    (signals, payloads), invalid = fresh(1), grpc.StatusCode.INVALID_ARGUMENT
    one, two = signals.tobytes(), payloads.tobytes()
    batch = wire.batch(SET)
    for method, messages, said in (
        ("Post", [], "no header"),
        ("Post", [b"\xff\xff\xff"], "no header"),
        ("Post", [_batch(one, two)], "no header"),
        ("Post", [HEADER, HEADER], "no batch"),
        ("Post", [HEADER, b"\xff"], "no batch"),
        ("Post", [HEADER, _batch(b"", b"")], "0 bytes of signals"),
        ("Post", [HEADER, _batch(one[:-1], two)], "324 bytes of signals"),
        ("Post", [HEADER, _batch(one * (batch + 1), two * (batch + 1))], f"1 to {batch} of 325 bytes"),
        ("Post", [HEADER, _batch(one, two + b"x")], "161 bytes of payloads for 1 signals"),
        ("Post", [HEADER, _batch(one, two * 4000)], "each has exactly 160"),
        ("Info", [b"\xff"], "no InfoRequest"),
        ("Bulletins", [], "no BulletinsRequest"),
        ("Signals", [b"\xff"], "no RangeRequest"),
        ("Payloads", [pb.RangeRequest(bulletin=2**64 - 1).SerializeToString()], "no bulletin"),
        ("Payloads", [pb.RangeRequest(start=2**64 - 1, stop=2**64 - 1).SerializeToString()], "there are none"),
        ("Signals", [pb.RangeRequest(start=1, stop=0).SerializeToString()], "there are none"),
        ("Encoding", [b"\xff"], "no EncodingRequest"),
        ("Encoding", [b""], "no encodings of that kind"),
    ):
        code, text = status(served, method, messages)
        assert (code, said in text) == (invalid, True), (method, said, code, text)
    assert (
        status(served, "Bulletins", [pb.BulletinsRequest(start=2**64 - 1).SerializeToString()])[0] is grpc.StatusCode.OK
    )
    huge = HEADER, _batch(b"", bytes(framing.MAX_MESSAGE))
    assert status(served, "Post", list(huge))[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert status(served, "Seal", [b""])[0] is grpc.StatusCode.UNIMPLEMENTED, "nobody seals from afar"
    assert served.board.bulletin(0).entries == 0
    with served.connect() as board:
        assert len(list(board.posting(signals, payloads))) == 1


def test_tokens_have_quotas(tmp_path: Path) -> None:
    with serving(tmp_path, tokens=True, posts=10) as served:
        with served.connect() as board, pytest.raises(Error, match="with a token it knows"):
            board.info()
        with served.connect(token="token-of-nobody-here") as board, pytest.raises(Error, match="refused this client"):
            list(board.posting(*fresh(1)))
        with served.connect(token=TOKENS[0]) as board:
            list(board.posting(*fresh(8)))
            assert board.info().posts_left == 2
            with pytest.raises(QuotaError, match="3 posts are asked for, 2 of 10 a day are left"):
                list(board.posting(*fresh(3)))
        with served.connect(token=TOKENS[1]) as board:
            list(board.posting(*fresh(10)))
    with serving(tmp_path, tokens=True, posts=10) as served, served.connect(token=TOKENS[0]) as board:
        assert board.info().posts_left == 2, "a restart forgets nothing"
        assert served.board.bulletin(0).entries == 18


def test_encodings_travel_and_are_made_once(tmp_path: Path) -> None:
    counting = Counting()
    big = Encoder("big 1", 2, 3_000_000, lambda signals, step: bytes([step]) * 2_500_000 + signals.a[0].tobytes())
    with serving(tmp_path, encoder=counting.encoder) as served, served.connect() as board:
        list(board.posting(*fresh(5)))
        info = board.info()
        assert (info.encoder, info.steps) == ("counting 1", 3)
        with pytest.raises(ParameterError, match="not sealed yet"):
            list(board.encodings(0, info))
        served.board.seal(pad=True)
        expected = [(step, Counting.expected(served.board.signals(0), step)) for step in range(3)]
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(lambda _: list(board.encodings(0, info)), range(3))) == [expected] * 3
        assert sorted(counting.calls) == [0, 1, 2]
        wait_for(lambda: served.service.memory.used == 0)
    with serving(tmp_path, encoder=big) as served, served.connect() as board:
        first = served.board.signals(0).a[0].tobytes()
        got = dict(board.encodings(0, board.info(), [1]))
        assert got == {1: bytes([1]) * 2_500_000 + first}
        with pytest.raises(ParameterError, match="no encodings of that kind"):
            list(board.encodings(0, info))
    small = Limits(grace_seconds=0, memory=1000)
    full = pytest.raises(Error, match="do not fit into the server's memory now")
    with serving(tmp_path, encoder=big, limits=small) as served, served.connect() as board, full:
        list(board.encodings(0, board.info()))


def test_a_database_in_trouble(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = fresh(2)
    with served.connect() as board:
        with monkeypatch.context() as patched:

            def broken(*_: Any, **__: Any) -> Any:
                raise StorageError("the board cannot use its database board.sqlite (disk is full): free space")

            patched.setattr(schema, "transaction", broken)
            with pytest.raises(StorageError, match="refused: the board cannot use its database") as caught:
                list(board.posting(*entries))
            one_line(caught.value)
        assert [r.number for r in board.posting(*entries)] == [0]
    wait_for(lambda: len(served.events("Post")) == 2)
    assert [e["result"] for e in served.events("Post")] == ["StorageError", "ok"]


def test_who_sends_too_slowly_or_goes_away(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(grace_seconds=0, stall_seconds=0.3)) as served:
        signals, payloads = fresh(2)
        parts = [HEADER, _batch(signals[:1].tobytes(), payloads[:1].tobytes())]
        with grpc.insecure_channel(served.address) as channel:
            call = channel.stream_stream(f"/{wire.SERVICE}/Post", None, None)

            def slow() -> Iterator[bytes]:
                yield from parts
                wait_for(lambda: bool(served.events("Post")))

            with pytest.raises(grpc.RpcError):
                list(call(slow(), timeout=30))
        wait_for(lambda: bool(served.events("Post")))  # which the server writes after it has ended the call
        assert served.events("Post")[0]["result"] == "stalled"
        assert served.events("Post")[0]["posted"] == 1, "what was acknowledged stays"
        with served.connect() as board:
            replies = board.posting(*fresh(1000))
            assert next(replies).count == 1000
            replies.close()  # type: ignore[attr-defined]
            assert board.bulletins()[0].entries == 1001
