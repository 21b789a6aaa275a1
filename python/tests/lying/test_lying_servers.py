# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Servers that lie, adaptively, over many runs: what a client does then tells nothing of what it has decrypted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringforge.errors import Error
from ringforge.files import overwriting
from ringforge.omr.detector_client import Connection
from ringforge.omr.reading import SecretReader
from ringforge.omr.steps import Request
from tests.lying import omr, psi, results
from tests.lying.command import built_once
from tests.lying.liar import HEADING, Row, attack

#: Runs of each protocol in the ordinary suite, and in the long one.
RUNS, MANY = 12, 1000

PROTOCOLS: dict[str, Callable[..., contextlib.AbstractContextManager[Any]]] = {
    **dict.fromkeys(omr.WAYS, omr.retrieving),
    **dict.fromkeys(psi.WAYS, psi.asking),
    **results.WAYS,
}


def attacked(name: str, folder: Path, runs: int) -> Row:
    with pytest.MonkeyPatch.context() as patch, overwriting(), PROTOCOLS[name](name, folder, patch) as protocol:
        built_once(patch)
        return attack(protocol, runs)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_server_sees_the_same_whatever_it_lies(name: str, tmp_path: Path) -> None:
    """One transcript for two clients with other secrets and for all lies; the client itself sees many outcomes."""
    row = attacked(name, tmp_path, RUNS)
    assert (row.transcripts, row.bits) == (1, 0)
    assert row.outcomes > 2, "the lies are none"


def test_a_client_that_asks_by_what_it_has_read_gives_bits_away(tmp_path: Path) -> None:
    """The same liar, against a receiver that reads each digest before it asks for the next: these tests can fail."""
    decode = SecretReader.decode

    def run(me: omr.Receiver) -> Any:
        assert protocol.tap is not None
        reader = SecretReader.load(me.secret_file)
        with Connection(protocol.tap.address) as connection:
            for number, digest in connection.info().bulletins.items():
                request = Request(me.name, number, digest, "messages", 50, 0, omr.SMALL.entries)
                job = connection.submit(request)
                connection.watch(job)
                try:
                    decode(reader, connection.fetch(job), request)
                except Error as e:
                    return str(e)
        return ""

    with pytest.MonkeyPatch.context() as patch, omr.retrieving("omr", tmp_path, patch) as protocol:
        protocol.run = run
        row = attack(protocol, RUNS, early=False)
    assert row.transcripts > 1
    assert row.bits >= RUNS


@pytest.mark.long
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_thousand_runs_give_no_bit(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = attacked(name, tmp_path, MANY)
    with capsys.disabled():
        print("", HEADING, row, sep="\n")
    assert (row.runs, row.transcripts, row.bits) == (MANY, 1, 0)
    assert row.outcomes > 2
