# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Labels that no cell has room for: several answers to one request hold their parts."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from ringforge import psi
from ringforge.errors import FormatError, ParameterError
from ringforge.psi import choice, planner, remote
from ringforge.psi.build import BuildSpec
from ringforge.psi.client import Client
from ringforge.psi.info import TableInfo
from ringforge.psi.server import Server
from ringforge.psi.store import Store
from ringforge.psi.table import LONGEST_LABEL
from tests.psi.serving import real


def ask(server: Server, elements: list[bytes], device: Literal["cpu", "clear"] = "cpu") -> dict[Any, bytes]:
    client = Client(server.info, elements, device=device)
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session = server.open(client.keys())
    while (request := client.next_request()) is not None:
        steps: list[float] = []
        client.accept(server.answer(session, request, lambda done, steps=steps: steps.append(done) or True))
        assert sorted(steps) == steps
        assert steps[-1] == 1.0
    result = client.result()
    assert result.anomalies == 0
    return result.matches


def labelled(*lengths: int) -> dict[bytes, bytes]:
    return {b"%d" % n: secrets.token_bytes(n) for n in lengths}


@pytest.mark.parametrize("longest", [42, 43, 90, 1024, 2000])
def test_labels_of_a_look_up(longest: int) -> None:
    elements = labelled(0, 1, longest)
    server = Server.build(elements, log_bins=2)
    assert server.info.parts > 1 or longest < 2000
    assert ask(server, [*elements, b"another"]) == elements


def test_the_longest_label_without_encryption() -> None:
    """All parts, of many bins: what is packed, sealed and put together."""
    elements = labelled(0, 5, 40_000, LONGEST_LABEL)
    server = Server.build(elements, log_bins=6, device="clear")
    assert server.info.label_bytes == LONGEST_LABEL + 1
    assert server.info.parts > 30
    assert ask(server, [*elements, b"another"], "clear") == elements


@pytest.mark.long
def test_the_longest_label() -> None:
    elements = labelled(3, LONGEST_LABEL)
    assert ask(Server.build(elements, log_bins=2), [*elements, b"another"]) == elements


@pytest.mark.long
def test_the_longest_label_by_polynomials() -> None:
    elements = labelled(3, 4095)
    assert ask(Server.build(elements, algorithm="poly", client_size=16), [*elements, b"another"]) == elements


def test_labels_of_the_published_look_up() -> None:
    elements = labelled(0, 60)
    assert (
        ask(Server.build(elements, log_bins=1, algorithm="paper", insecure="a test"), [*elements, b"another"])
        == elements
    )


def test_longer_ones_are_refused() -> None:
    with pytest.raises(ParameterError, match="labels of 65,537 bytes: 65,536 are the most"):
        Server.build({b"a": bytes(65537)}, log_bins=2)
    with pytest.raises(ParameterError, match=r"4,095 are the most by polynomials.*--algorithm ringforge"):
        Server.build({b"a": bytes(4096)}, algorithm="poly")


def test_what_a_server_learns_is_the_size_class() -> None:
    """Every message has the length that the info and the number of elements say, whatever the labels are."""
    sizes = set()
    for lengths, mine in (((3, 2000), [b"3"]), ((2, 1900), [b"5"]), ((2, 2000), [b"2000"])):
        server = Server.build(labelled(*lengths), log_bins=2, device="clear")
        client = Client(server.info, mine, device="clear")
        blinded = client.blinded()
        client.finish_prf(server.evaluate_prf(blinded))
        session, request = server.open(client.keys()), client.next_request()
        assert request is not None
        reply = server.answer(session, request)
        assert len(reply) == server.info.reply_bytes(server.plan) == client.reply_bytes
        sizes.add((len(blinded), len(request), len(reply), server.info.label_bytes))
    assert len(sizes) == 1


def test_damaged_parts_are_refused() -> None:
    server = Server.build(labelled(2000), log_bins=1)
    client = Client(server.info, [b"2000"])
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session, request = server.open(client.keys()), client.next_request()
    assert request is not None
    reply = server.answer(session, request)
    with pytest.raises(FormatError, match="a reply of"):
        client.accept(reply[: server.plan.reply_bytes])
    client.accept(reply[:-1] + bytes([reply[-1] ^ 1]))
    with pytest.raises(FormatError):
        client.result()


def test_tables_on_disk_and_their_updates(tmp_path: Path) -> None:
    elements = labelled(10, 2000)
    store = Store.build(tmp_path / "t", elements, BuildSpec(log_bins=1, capacity=8))
    assert store.arrays.words.ndim == 3
    more = {b"new": secrets.token_bytes(1800), b"10": b"another"}
    store.update(more)
    with pytest.raises(ParameterError, match="--label-bytes 4000"):
        store.update({b"x": bytes(4000)})
    assert ask(Server(Store(tmp_path / "t")), [b"10", b"2000", b"new"]) == {**elements, **more}


def test_a_service_answers_with_long_labels(tmp_path: Path) -> None:
    elements = labelled(0, 2000)
    server = Server.build(elements, log_bins=1)
    with real(server, tmp_path) as served, remote.Connection(served.address, timeout=120) as connection:
        outcome = remote.intersect(connection, [*elements, b"x"])
    assert outcome.result.matches == elements
    assert outcome.traffic.received["requests"] > server.info.reply_bytes(server.plan)


def test_what_is_predicted_counts_all_parts() -> None:
    short, long = (choice.lookup(20, 1, label_bytes=n, log_bins=2, each=0.0) for n in (40, 2000))
    parts = planner.parts(long.plan, 40, 2001)
    assert parts > 1
    assert long.received - short.received > (parts - 1) * long.plan.native().reply_bytes
    assert long.disk > short.disk + 20 * 3 * 1900


def test_old_tables_have_one_part() -> None:
    """Plans of labels that a cell has room for are as before."""
    info = Server.build({b"a": bytes(42)}, log_bins=4).info
    assert isinstance(info.plan, psi.info.PlanFields)
    assert (info.parts, info.plan.log_t, info.plan.log_cell, info.label_bytes) == (1, 6, 6, 43)
    again = TableInfo.from_json(info.to_json())
    assert again.digest() == info.digest()
    assert np.array_equal(again.salt_array, info.salt_array)
