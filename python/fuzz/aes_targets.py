# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fuzz targets of transciphering: streams, ledgers of counters."""

from __future__ import annotations

from pathlib import Path

from registry import room, stored, target, written

from ringforge.aes.ledger import Ledger
from ringforge.aes.transcipher import Stream


def _streams() -> list[bytes]:
    return [Stream(bytes(range(16)), counter, data, bytes(32)).to_bytes() for counter, data in ((0, b""), (7, b"data"))]


@target("aes.transcipher.Stream.from_bytes", seeds=_streams)
def aes_stream(data: bytes) -> None:
    assert Stream.from_bytes(data).to_bytes() == data


def _ledgers() -> list[bytes]:
    def make(path: Path) -> None:
        made = Ledger(path)
        made.claim(b"key", 5, 3, b"stream")
        made.claim(b"key", (1 << 128) - 2, 4, b"another")

    return [written("ledger.sqlite", make)]


@target("aes.ledger.Ledger._begun", seeds=_ledgers)
def aes_ledger(data: bytes) -> None:
    for old in room().glob("l.sqlite*"):
        old.unlink()
    opened = Ledger(stored("l.sqlite", data))
    opened.claim(b"key", 100, 3, b"third")
    opened.claim(b"key", 6, 1, b"fourth")
