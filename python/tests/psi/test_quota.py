# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Quotas: charged before, counted exactly, and never gone without."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi.remote import Connection
from ringforge.serving.quota import Quota, QuotaError, QuotaFileError
from tests.psi import loopback
from tests.psi.loopback import KEY_BYTES, REPLY_BYTES, Loop, keys, reply_to, request, wait_for

TOKEN, OTHER = "token-of-client-one", "token-of-client-two"


# ---- quotas --------------------------------------------------------------------------------------


def test_quota_is_charged_before_and_survives(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, prf=100, bins=loopback.BINS) as loop, Connection(loop.address, timeout=60) as c:
        with pytest.raises(QuotaError, match=r"101 evaluations .* 100 of 100 a day are left"):
            c.evaluate_prf(loop.table, [b"a" * 32] * 101)
        c.evaluate_prf(loop.table, [b"a" * 32] * 60)
        session = c.open_session(loop.table, keys())
        c.query(loop.table, session, request(), REPLY_BYTES)
        with pytest.raises(QuotaError, match="0 of 256 a day are left"):
            c.query(loop.table, session, request(), REPLY_BYTES)
        assert len(loop.server.order) == 1, "what is over the quota is not computed"
        wait_for(lambda: loop.service.memory.used == KEY_BYTES)
    with loopback.loop(tmp_path, prf=100, bins=loopback.BINS) as loop, Connection(loop.address, timeout=60) as c:
        with pytest.raises(QuotaError, match="40 of 100 a day are left"):
            c.evaluate_prf(loop.table, [b"a" * 32] * 41)
        c.evaluate_prf(loop.table, [b"a" * 32] * 40)


def test_a_cancelled_query_is_charged(running: Loop) -> None:
    before = running.quota.left(running.quota.client("address:127.0.0.1"))["bins"]
    running.server.gate.clear()
    with Connection(running.address, timeout=60) as c:
        session = c.open_session(running.table, keys())
        with Connection(running.address, timeout=0.5) as hurried, pytest.raises(Error, match="--timeout"):
            hurried.query(running.table, session, request(), REPLY_BYTES)
    wait_for(lambda: running.server.cancelled == 1)
    after = running.quota.left(running.quota.client("address:127.0.0.1"))["bins"]
    assert before - after == loopback.BINS


def test_quota_counts_exactly(tmp_path: Path) -> None:
    now = [86_400.0 * 100 + 80_000]
    quota = Quota(tmp_path / "q", {"prf": 1000, "bins": 10}, lambda: now[0])
    one, two = quota.client("one"), quota.client("two")
    assert one != two
    refused = []

    def spend(_: int) -> None:
        try:
            quota.charge(one, "prf", 7)
        except QuotaError:
            refused.append(1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(200)))
    assert len(refused) == 200 - 1000 // 7
    assert quota.left(one) == {"prf": 1000 % 7, "bins": 10}
    assert quota.left(two) == {"prf": 1000, "bins": 10}
    quota.charge(one, "prf", 1000 % 7)
    with pytest.raises(QuotaError, match=r"1\.8 hours"):
        quota.charge(one, "prf", 1)
    now[0] += 6_400
    assert quota.left(one)["prf"] == 1000, "a new day"
    quota.charge(one, "prf", 1000)
    quota.close()


def test_quota_file_holds_no_client(tmp_path: Path) -> None:
    path = tmp_path / "q"
    quota = Quota(path, {"prf": 10, "bins": 10})
    quota.charge(quota.client(f"token:{TOKEN}"), "prf", 1)
    quota.charge(quota.client("address:192.0.2.77"), "prf", 1)
    quota.close()
    data = path.read_bytes()
    assert TOKEN.encode() not in data
    assert b"192.0.2.77" not in data
    assert path.stat().st_mode & 0o077 == 0


def test_no_quota_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database " * 100)
    with pytest.raises(FormatError, match="no quota file"):
        Quota(tmp_path / "text", {"prf": 1, "bins": 1})
    other = sqlite3.connect(tmp_path / "newer")
    other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(FormatError, match="version 7"):
        Quota(tmp_path / "newer", {"prf": 1, "bins": 1})
    with pytest.raises(ParameterError, match="0 is the least"):
        Quota(tmp_path / "x", {"prf": -1, "bins": 1})


def test_two_servers_of_one_file_count_together(tmp_path: Path) -> None:
    limits = {"prf": 100, "bins": 1000}
    quotas = [Quota(tmp_path / "q", limits) for _ in range(2)]
    names = [q.client("one") for q in quotas]
    assert names[0] == names[1]
    refused = []

    def spend(i: int) -> None:
        try:
            quotas[i % 2].charge(names[0], "prf", 3)
        except QuotaError:
            refused.append(i)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(100)))
    assert len(refused) == 100 - 100 // 3
    assert [q.left(names[0])["prf"] for q in quotas] == [100 % 3] * 2
    for quota in quotas:
        quota.close()


def locked(path: Path, quota: Quota) -> Callable[[], None]:
    del quota
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other.close


def read_only(path: Path, quota: Quota) -> Callable[[], None]:
    del path
    quota._database.execute("PRAGMA query_only = ON")
    return lambda: quota._database.execute("PRAGMA query_only = OFF") and None


def full(path: Path, quota: Quota) -> Callable[[], None]:
    """As many pages as there are, and a client for whom there is no room in them."""
    del path
    (most,) = quota._database.execute("PRAGMA max_page_count").fetchone()
    quota._database.execute("PRAGMA max_page_count = 1")
    for i in range(1000):
        try:
            quota.charge(quota.client(str(i)), "prf", 0)
        except QuotaFileError:
            return lambda: quota._database.execute(f"PRAGMA max_page_count = {most}") and None
    raise AssertionError("there is room for all of them")


def busy(path: Path, quota: Quota) -> Callable[[], None]:
    """Another thread of the service has it."""
    del path
    quota._lock.acquire()
    return quota._lock.release


@pytest.mark.parametrize(
    ("trouble", "words"), [(locked, "locked"), (read_only, "readonly"), (full, "full"), (busy, "busy")]
)
def test_what_cannot_be_counted_is_not_done(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Path, Quota], Callable[[], None]],
    words: str,
) -> None:
    """The client is told in one line; nothing is computed; the service goes on, and counts again when it can."""
    monkeypatch.setattr("ringforge.serving.quota._BUSY_SECONDS", 0.1)
    with loopback.loop(tmp_path) as loop, Connection(loop.address, timeout=60) as c:
        session = c.open_session(loop.table, keys())
        name = loop.quota.client("address:127.0.0.1")
        before = loop.quota.left(name)
        over = trouble(tmp_path / "quota.sqlite", loop.quota)
        for call in (
            lambda: c.evaluate_prf(loop.table, [b"a" * 32]),
            lambda: c.query(loop.table, session, request(), REPLY_BYTES),
        ):
            with pytest.raises(QuotaFileError, match=rf"cannot count what is asked for in quota\.sqlite \(.*{words}"):
                call()
        assert loop.server.order == []
        wait_for(lambda: loop.service.memory.used == KEY_BYTES)
        over()
        assert loop.quota.left(name) == before
        c.evaluate_prf(loop.table, [b"a" * 32])
        assert c.query(loop.table, session, request(), REPLY_BYTES) == reply_to(keys(), request())
        assert "fault" not in loop.log.getvalue()


def test_a_quota_file_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(QuotaFileError, match=r"folder cannot be used for counting .*--quota-file"):
        Quota(tmp_path / "folder", {"prf": 1, "bins": 1})
