# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Quotas: charged before, counted exactly, and never gone without."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi.quota import Quota, QuotaError
from ringforge.psi.remote import Connection
from tests.psi import loopback
from tests.psi.loopback import (
    KEY_BYTES,
    REPLY_BYTES,
    Loop,
    keys,
    request,
    wait_for,
)

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
