# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The board: what is posted is there, in order, once; on SQLite and on PostgreSQL."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from ringforge.errors import DuplicateError, Error, FormatError, MismatchError, ParameterError, StorageError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.omr import board_page
from ringforge.omr import board_schema as schema
from ringforge.omr.board import Board
from ringforge.omr.sets import named
from ringforge.omr.signal import Signals
from ringforge.serving.quota import QuotaError
from tests.omr.boards import SET, Counting, chain, fresh, one_line, packed, secret, start_of_first
from tests.omr.postgres import Postgres, programs
from tests.psi.loopback import wait_for

N = SET.entries


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip("Debian's package postgresql is not installed: apt-get install postgresql")
    made = Postgres()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a board that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "board.sqlite")
    server: Postgres = request.getfixturevalue("server")
    return server.make("b" + hashlib.sha256(request.node.name.encode()).hexdigest()[:12])


@pytest.fixture
def board(url: str) -> Iterator[Board]:
    with Board.open(url, SET) as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Board]:
    """On SQLite alone."""
    with Board.open(tmp_path / "small.sqlite", SET) as opened:
        yield opened


# ---- entries and bulletins -----------------------------------------------------------------------


def test_what_is_posted_is_read_and_stays(url: str) -> None:
    one, two = fresh(5), fresh(300)
    with Board.open(url, SET) as board:
        first, second = board.post(*one), board.post(*two)
        assert first.places(SET) == [(0, i) for i in range(5)]
        assert (second.number, second.count) == (5, 300)
        assert first.chain == chain(start_of_first(), map(bytes, one[0]), map(bytes, one[1]))
        assert second.chain == chain(first.chain, map(bytes, two[0]), map(bytes, two[1]))
    with Board.open(url, SET, create=False) as board:
        (found,) = board.bulletins()
        assert (found.entries, found.sealed, found.digest) == (305, False, second.chain)
        signals = board.signals(0)
        assert (signals.pack() == np.concatenate([one[0], two[0]])).all()
        assert (board.payloads(0) == np.concatenate([one[1], two[1]])).all()
        assert (board.payloads(0, 4, 7) == np.concatenate([one[1][4:], two[1][:2]])).all()
        assert len(board.signals(0, 305, 305)) == 0
        assert secret().pertinent(signals).all()
        assert board.verify(0) == found
        for start, stop in ((0, 306), (-1, 3), (4, 3), (306, None)):
            with pytest.raises(ParameterError, match="there are none"):
                board.payloads(0, start, stop)
        with pytest.raises(ParameterError, match="no bulletin 1"):
            board.signals(1)


def test_full_bulletins_are_sealed_and_chained(board: Board) -> None:
    signals, payloads = fresh(N + 10)
    receipts = list(board.posting(signals[: N - 3], payloads[: N - 3]))
    crossing = board.post(signals[N - 3 :], payloads[N - 3 :])
    assert [r.count for r in receipts] == [N - 3]
    assert crossing.places(SET)[2:4] == [(0, N - 1), (1, 0)]
    zero, one = board.bulletins()
    assert (zero.entries, zero.pads, zero.sealed) == (N, 0, True)
    assert (one.entries, one.sealed) == (10, False)
    assert zero.digest == chain(start_of_first(), map(bytes, signals[:N]), map(bytes, payloads[:N]))
    start = hashlib.sha256(b"next" + zero.digest).digest()
    assert one.digest == crossing.chain == chain(start, map(bytes, signals[N:]), map(bytes, payloads[N:]))
    assert (board.payloads(0) == payloads[:N]).all()
    assert (board.payloads(1) == payloads[N:]).all()
    assert board.verify(0) == zero
    assert board.verify(1) == one
    assert board.bulletins(1, 5) == [one]


def test_sealed_with_pads_that_everybody_can_make_again(url: str) -> None:
    signals, payloads = fresh(70)
    with Board.open(url, SET) as board:
        with pytest.raises(ParameterError, match="nothing to seal"):
            board.seal(pad=True)
        before = board.post(signals, payloads).chain
        with pytest.raises(ParameterError, match="70 of 4096 entries"):
            board.seal()
        sealed = board.seal(pad=True)
        assert (sealed.entries, sealed.pads, sealed.sealed) == (N, N - 70, True)
        after = board.post(*fresh(1))
        assert after.places(SET) == [(1, 0)]
    with Board.open(url, SET) as board:
        assert board.bulletin(0) == board.verify(0) == sealed
        found, rows = board.signals(0), board.payloads(0)
        assert (found.pack()[:70] == signals).all()
        assert (rows[:70] == payloads).all()
        assert secret().pertinent(found).sum() == 70
        # Position 130 is the third pad of the block from 128 on: expanded here by Python's integers.
        words = 64 * (SET.n + SET.clues)
        stream = hashlib.shake_128(b"pad" + before + (2).to_bytes(4, "little")).digest(200_000)
        drawn = [int.from_bytes(stream[i : i + 3], "little") for i in range(64 * SET.payload_bytes, len(stream) - 2, 3)]
        kept = [d % SET.t for d in drawn if d < 21 * SET.t][:words]
        own = np.array(kept).reshape(64, -1)[2]
        assert (np.concatenate([found.a[130], found.b[130]]) == own).all()
        assert rows[130].tobytes() == stream[2 * SET.payload_bytes : 3 * SET.payload_bytes]
        assert (board.signals(0, 100, 140).a == found.a[100:140]).all()
        assert (board.payloads(0, 60, 140) == rows[60:140]).all()
        assert chain(before, map(bytes, found.pack()[70:]), map(bytes, rows[70:])) == sealed.digest
        # Uniform: 4026 * 130 words in 16 cells; chi squared with 15 degrees stays below 61.3 but for 2^-20.
        cells = np.bincount((found.a[70:].astype(np.int64) * 16 // SET.t).ravel(), minlength=16)
        expected = cells.sum() / 16
        assert ((cells - expected) ** 2 / expected).sum() < 61.3


# ---- what is refused -----------------------------------------------------------------------------


def test_duplicates_and_replays(url: str) -> None:
    signals, payloads = fresh(3)
    others = fresh(3)
    with Board.open(url, SET) as board:
        board.post(signals, payloads)
        with pytest.raises(DuplicateError, match=r"signal of entry 2 is .* at position 1 of bulletin 0"):
            board.post(np.concatenate([others[0][:2], signals[1:2]]), others[1])
        with pytest.raises(DuplicateError, match="payload of entry 0"):
            board.post(others[0], payloads)
        with pytest.raises(DuplicateError, match="two of these entries have one signal"):
            board.post(others[0][[0, 1, 0]], others[1])
        with pytest.raises(DuplicateError, match="two of these entries have one payload"):
            board.post(others[0], others[1][[0, 1, 1]])
        assert board.bulletin(0).entries == 3, "nothing of what is refused stays"
        board.seal(pad=True)
        with pytest.raises(DuplicateError, match="position 0 of bulletin 0"):
            board.post(signals, payloads)
    with Board.open(url, SET) as board:
        with pytest.raises(DuplicateError):
            board.post(signals[2:], others[1][:1])
        board.post(*others)


def test_fifty_one_copies_fill_nobodys_digest(board: Board) -> None:
    """Copies of somebody's signal with payloads of one's own; and signals that match everybody."""
    signals, payloads = fresh(1)
    junk = fresh(51)[1]
    board.post(signals, payloads)
    for i in range(51):
        with pytest.raises(DuplicateError):
            board.post(signals, junk[i : i + 1])
    zeros = np.zeros((51, SET.signal_bytes), np.uint8)
    with pytest.raises(RingforgeValueError, match="signal 0 of these is degenerate"):
        board.post(zeros, junk)
    near = np.zeros((51, SET.n + SET.clues), np.int64)
    near[np.arange(51), np.arange(51)] = 1
    near[:, -1] = np.arange(51) % 7
    with pytest.raises(RingforgeValueError, match="degenerate"):
        board.post(packed(near), junk)
    sound = fresh(2, receiver=1)
    with pytest.raises(RingforgeValueError, match="signal 1 of these"):
        board.post(np.concatenate([sound[0][:1], zeros[:1]]), sound[1])
    for receiver in range(3):
        assert secret(receiver).pertinent(board.signals(0)).sum() == (receiver == 0)


def test_near_copies_remain(small: Board) -> None:
    """What the board cannot tell: signals near somebody's match the same receiver. Quotas bound them."""
    signals, payloads = fresh(1)
    small.post(signals, payloads)
    original = small.signals(0)
    near = np.concatenate([np.repeat(original.a, 51, axis=0), np.repeat(original.b, 51, axis=0)], axis=1).astype(int)
    near[np.arange(51), np.arange(51)] = (near[np.arange(51), np.arange(51)] + 1) % SET.t
    junk = fresh(51)[1]
    with pytest.raises(QuotaError, match="51 posts are asked for, 10 of 10"):
        small.post(packed(near), junk, poster=b"somebody", posts_per_day=10)
    small.post(packed(near), junk, poster=b"somebody", posts_per_day=51)
    assert secret().pertinent(small.signals(0)).sum() == 52


def test_sizes_and_words(small: Board) -> None:
    signals, payloads = fresh(2)
    above = np.full((1, SET.n + SET.clues), 5, np.int64)
    above[0, 17] = SET.t
    with pytest.raises(FormatError, match=str(SET.t)):
        small.post(packed(above), payloads[:1])
    with pytest.raises(FormatError, match=r"signals of 324 bytes.*have 325"):
        small.post(signals[:, :-1], payloads)
    with pytest.raises(FormatError, match=r"payloads of 320 bytes.*have 160"):
        small.post(signals[:1], payloads.reshape(1, -1))
    for wrong in ((signals, payloads[:1]), (signals[:0], payloads[:0])):
        with pytest.raises(ParameterError, match="1 to 4096 are posted together"):
            small.post(*wrong)
    with pytest.raises(ParameterError, match="rows of bytes"):
        small.post(signals.astype(np.int32), payloads)  # type: ignore[arg-type]
    assert small.bulletin(0).entries == 0


def test_quotas_are_exact_and_last(url: str) -> None:
    now = [86_400.0 * 100 + 80_000]
    with Board.open(url, SET, clock=lambda: now[0]) as board:
        one, two = board.client("token:one"), board.client("token:two")
        assert one != two
        assert b"one" not in one
        refused = []

        def post(_: int) -> None:
            try:
                board.post(*fresh(7), poster=one, posts_per_day=100)
            except QuotaError:
                refused.append(1)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(post, range(30)))
        assert len(refused) == 30 - 100 // 7
        assert board.posted_today(one) == board.bulletin(0).entries == 98
        with pytest.raises(QuotaError, match=r"3 posts are asked for, 2 of 100 a day are left .* wait 1\.8 hours"):
            board.post(*fresh(3), poster=one, posts_per_day=100)
        board.post(*fresh(3), poster=two, posts_per_day=100)
    with Board.open(url, SET, clock=lambda: now[0]) as board:
        assert board.client("token:one") == one
        board.post(*fresh(2), poster=one, posts_per_day=100)
        with pytest.raises(QuotaError, match="0 of 100"):
            board.post(*fresh(1), poster=one, posts_per_day=100)
        now[0] += 6_400
        board.post(*fresh(1), poster=one, posts_per_day=100)
        assert board.posted_today(one) == 1


# ---- the database --------------------------------------------------------------------------------


def test_entries_stay_whoever_asks(board: Board) -> None:
    board.post(*fresh(3))
    board.seal(pad=True)
    before = board.bulletin(0)
    for statement in (
        "UPDATE entries SET poster = payload",
        "DELETE FROM entries",
        "UPDATE bulletins SET entries = 2 WHERE number = 0",
        "DELETE FROM bulletins",
    ):
        with pytest.raises(StorageError, match="stay"), schema.transaction(board._engine, writing=True) as c:
            c.exec_driver_sql(statement)
    assert board.verify(0) == before


def test_damage_is_seen(small: Board) -> None:
    small.post(*fresh(10))
    with schema.transaction(small._engine, writing=True) as c:
        c.exec_driver_sql("DROP TRIGGER entries_UPDATE")
        c.exec_driver_sql("UPDATE entries SET payload = zeroblob(160) WHERE number = 4")
    with pytest.raises(StorageError, match="not what its digest says"):
        small.verify(0)
    with schema.transaction(small._engine, writing=True) as c:
        c.exec_driver_sql("UPDATE entries SET payload = x'00' WHERE number = 4")
    with pytest.raises(StorageError, match="damaged"):
        small.payloads(0)


def test_boards_of_others(url: str, tmp_path: Path) -> None:
    Board.open(url, SET).close()
    with pytest.raises(MismatchError, match="of parameter set 'test', not 'ringforge'"):
        Board.open(url, named("ringforge"))
    with schema.transaction(schema.connect(schema.parse(tmp_path / "other")), writing=True) as c:
        c.exec_driver_sql("CREATE TABLE x (y INT)")
    with pytest.raises(FormatError, match="something else"):
        Board.open(tmp_path / "other", SET)
    (tmp_path / "text").write_text("this is no database " * 1000)
    with pytest.raises(StorageError, match="not a database"):
        Board.open(tmp_path / "text", SET)
    with pytest.raises(ParameterError, match="there is no board"):
        Board.open(tmp_path / "none", SET, create=False)
    assert not (tmp_path / "none").exists()
    for wrong in (
        "mysql://root:geheim@h/d",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql+pg8000://u:geheim@h:port/d",
    ):
        with pytest.raises(ParameterError) as caught:
            Board.open(wrong, SET)
        assert "geheim" not in str(caught.value)
    with pytest.raises(StorageError, match="PostgreSQL runs") as caught_late:
        Board.open(f"postgresql+pg8000://u:geheim@/d?unix_sock={tmp_path}/none", SET)
    assert "geheim" not in str(caught_late.value)
    one_line(caught_late.value)


def test_the_file_is_for_its_owner(tmp_path: Path) -> None:
    with Board.open(tmp_path / "b", SET) as board:
        board.post(*fresh(1))
        assert {p.stat().st_mode & 0o077 for p in tmp_path.iterdir()} == {0}


def test_posts_that_come_together_share_a_transaction(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is refused does not harm the others; what is acknowledged is committed."""
    commits: list[int] = []
    sa.event.listen(board._engine, "commit", lambda _: commits.append(1))
    writing, together = threading.Event(), threading.Event()
    write = board_page.Page.write

    def held(page: board_page.Page) -> None:
        writing.set()
        together.wait(60)
        write(page)

    monkeypatch.setattr(board_page.Page, "write", held)
    known = fresh(2)
    entries = [fresh(2) for _ in range(24)]
    with ThreadPoolExecutor(26) as pool:
        first = pool.submit(board.post, *known)  # holds the writer until all others have come
        assert writing.wait(60)
        later = [pool.submit(board.post, *e) for e in entries[:12]]
        again = pool.submit(board.post, known[0], fresh(2)[1])
        later += [pool.submit(board.post, *e) for e in entries[12:]]
        wait_for(lambda: board._jobs.qsize() == 25)
        together.set()
        receipts = [f.result() for f in [first, *later]]
        with pytest.raises(DuplicateError):
            again.result()
    assert sorted(r.number for r in receipts) == list(range(0, 50, 2))
    assert len(commits) == 2
    assert board.verify(0).entries == 50


def test_two_boards_on_one_database(url: str) -> None:
    """As two services have it: one order, one chain."""
    with Board.open(url, SET) as one, Board.open(url, SET) as two, ThreadPoolExecutor(4) as pool:
        entries = [fresh(5) for _ in range(40)]
        boards = [one, two]
        receipts = list(pool.map(lambda i: boards[i % 2].post(*entries[i]), range(40)))
        assert sorted(r.number for r in receipts) == list(range(0, 200, 5))
        rows = one.payloads(0)
        for r, (_, payloads) in zip(receipts, entries, strict=True):
            assert (rows[r.number : r.number + 5] == payloads).all()
        assert one.verify(0) == two.verify(0)
        with pytest.raises(DuplicateError):
            two.post(entries[0][0], fresh(5)[1])


def test_postgresql_stops_fails_and_starts(server: Postgres) -> None:
    with Board.open(server.make("stopped"), SET) as board:
        one, two = fresh(3), fresh(3)
        first = board.post(*one)
        for mode in ("fast", "immediate"):
            server.stop(mode)
            with pytest.raises(StorageError, match="board cannot use its database stopped") as caught:
                board.post(*two)
            one_line(caught.value)
            with pytest.raises(StorageError):
                board.bulletins()
            server.start()
            assert board.verify(0).digest == first.chain
        assert board.post(*two).number == 3
        with pytest.raises(DuplicateError):
            board.post(*one)


# ---- encodings -----------------------------------------------------------------------------------


def test_encodings_are_made_once(url: str) -> None:
    signals, payloads = fresh(20)
    counting = Counting()
    with Board.open(url, SET) as board:
        board.post(signals, payloads)
        with pytest.raises(ParameterError, match="not sealed yet"):
            board.encodings(0, counting.encoder)
        board.seal(pad=True)
        with pytest.raises(ParameterError, match="0 to 2"):
            board.encodings(0, counting.encoder, [3])
        every = Signals.unpack(board.signals(0).pack(), SET)
        expected = {step: Counting.expected(every, step) for step in range(3)}
        assert dict(board.encodings(0, counting.encoder, [1])) == {1: expected[1]}
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: dict(board.encodings(0, counting.encoder)), range(4)))
        assert all(f == expected for f in found)
        assert sorted(counting.calls) == [0, 1, 2]
        assert board.encoded(0, counting.encoder) == [0, 1, 2]
    with Board.open(url, SET) as board:
        assert dict(board.encodings(0, counting.encoder)) == expected
        assert len(counting.calls) == 3
        with schema.transaction(board._engine, writing=True) as c:
            c.exec_driver_sql("UPDATE encodings SET step = 7 WHERE step = 2")
            c.exec_driver_sql("UPDATE encodings SET step = 2 WHERE step = 1")
        assert dict(board.encodings(0, counting.encoder)) == expected, "damaged and misplaced ones are made again"
        assert sorted(counting.calls) == [0, 1, 1, 2, 2]
        other = Counting(name="counting 2")
        assert dict(board.encodings(0, other.encoder)) == expected
        assert sorted(other.calls) == [0, 1, 2]


def test_a_failing_encoder_leaves_nothing(small: Board) -> None:
    small.post(*fresh(1))
    small.seal(pad=True)
    counting = Counting()

    def stop(_: float) -> None:
        raise Error("nobody wants it")

    with pytest.raises(Error, match="nobody"):
        list(small.encodings(0, counting.encoder, progress=stop))
    assert counting.calls == []
    assert small.encoded(0, counting.encoder) == []
    assert len(list(small.encodings(0, counting.encoder))) == 3


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "names none"),
        (":memory:", "names none"),
        ("a\0b", "names none"),
        ("sqlite:///a\0b", "names none"),
        ("sqlite:///a?mode=ro", "the option 'mode'"),
        ("nosuch+driver://x", "not in nosuch"),
        ("postgresql://", "no user"),
        ("postgresql://u@127.0.0.1:1/db?foo=1", "the option 'foo'"),
        ("postgresql://u:secret@127.0.0.1:x/db", "cannot be read"),
    ],
)
def test_names_of_no_database(name: str, why: str) -> None:
    """No word of SQLAlchemy or a driver, and no password."""
    with pytest.raises(ParameterError, match=why) as caught:
        Board.open(name, SET)
    assert "postgresql+pg8000://USER@HOST/DATABASE" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_nobody_answers() -> None:
    with pytest.raises(StorageError, match=r"\(nobody answers there\): see that PostgreSQL runs") as caught:
        Board.open("postgresql://u:secret@127.0.0.1:1/db", SET)
    assert "secret" not in str(caught.value)
