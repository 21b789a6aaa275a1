# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Servers that lie, adaptively, over many runs: what a client does then tells nothing of what it has decrypted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lying import omr
from tests.lying.liar import HEADING, Row, attack

#: Runs of each protocol in the ordinary suite, and in the long one.
RUNS, MANY = 30, 1000

PROTOCOLS: dict[str, Callable[..., contextlib.AbstractContextManager[Any]]] = {
    **dict.fromkeys(omr.WAYS, omr.retrieving),
}


def attacked(name: str, folder: Path, runs: int) -> Row:
    with pytest.MonkeyPatch.context() as patch, PROTOCOLS[name](name, folder, patch) as protocol:
        return attack(protocol, runs)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_server_sees_the_same_whatever_it_lies(name: str, tmp_path: Path) -> None:
    """One transcript for two clients with other secrets and for all lies; the client itself sees many outcomes."""
    row = attacked(name, tmp_path, RUNS)
    assert (row.transcripts, row.bits) == (1, 0)
    assert row.outcomes > 2, "the lies are none"


@pytest.mark.long
def test_a_thousand_runs_give_no_bit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for name in PROTOCOLS:
        (tmp_path / name).mkdir()
        rows.append(attacked(name, tmp_path / name, MANY))
        with capsys.disabled():
            print("", HEADING, *rows, sep="\n")
    assert all((row.runs, row.transcripts, row.bits) == (MANY, 1, 0) for row in rows)
