# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a server sees of a client beside ciphertexts: how often it asks, and what it does between two messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge.errors import Error, MismatchError, ParameterError
from ringforge.psi import Limits, Server, hashing, remote, runs
from ringforge.psi.clear import ClearKey
from ringforge.psi.client import asked, check_table
from ringforge.psi.estimate import estimate
from ringforge.psi.hashing import DirectHash, PrfHash, room, size_class
from ringforge.psi.info import TableInfo

from .running import Client, build, run


class Wire:
    """A connection to a server in this process that writes down what happens."""

    def __init__(self, server: Server, events: list[str]) -> None:
        self._server, self._events, self.traffic = server, events, None

    def info(self) -> tuple[TableInfo, dict[str, int]]:
        return self._server.info, {"prf": 1 << 30, "bins": 1 << 30}

    def evaluate_prf(self, _table: bytes, blinded: list[bytes], _progress: Any) -> list[bytes]:
        self._events.append(f"evaluate {len(blinded)}")
        return self._server.evaluate_prf(blinded)

    def open_session(self, _table: bytes, keys: bytes, _progress: Any) -> Any:
        self._events.append("open")
        return self._server.open(keys)

    def query(self, _table: bytes, session: Any, request: bytes, _size: int, _progress: Any) -> bytes:
        self._events.append("query")
        return self._server.answer(session, request)

    def close_session(self, _session: Any) -> None:
        self._events.append("close")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened, in order: messages, decryptions, and how many rows were unsealed."""
    found: list[str] = []
    monkeypatch.setattr(runs, "Client", Client)
    decode, seal = ClearKey.decode, PrfHash.seal
    monkeypatch.setattr(ClearKey, "decode", lambda self, reply: found.append("decode") or decode(self, reply))

    def sealing(self: PrfHash, labels: Any, *rest: Any) -> Any:
        found.append(f"unseal {len(labels)}")
        return seal(self, labels, *rest)

    monkeypatch.setattr(PrfHash, "seal", sealing)
    return found


# ---- times ----


@pytest.mark.parametrize("matching", [0, 1, 300])
def test_replies_are_decrypted_after_the_session_is_closed_and_every_row_is_unsealed(
    events: list[str], matching: int
) -> None:
    """What a client does between messages, and how much, is the same whether all elements match or none does."""
    elements = [b"%d" % i for i in range(300)]
    others = [b"other %d" % i for i in range(300)]
    server = build(dict.fromkeys(elements[:matching] + others[matching:], b"label"), log_bins=8)
    events.clear()
    outcome = remote.intersect(Wire(server, events), elements)  # type: ignore[arg-type]
    assert outcome.result.matches == dict.fromkeys(elements[:matching], b"label")
    assert events == [
        "evaluate 386", "open", "query", "query", "close", "decode", "unseal 150", "decode", "unseal 150"
    ]  # fmt: skip


# ---- numbers ----


def test_size_classes() -> None:
    each = 1000
    numbers = {
        0: (0, 0), 1: (1, 64), 64: (1, 64), 65: (1, 128), 513: (1, 1000), 1000: (1, 1000), 1001: (2, 2000),
        2001: (3, 3000), 3001: (4, 4000), 4001: (6, 6000), 6000: (6, 6000), 6001: (8, 8000), 8001: (12, 12000),
        12001: (16, 16000),
    }  # fmt: skip
    for number, wanted in numbers.items():
        assert size_class(number, each) == wanted, number
    assert size_class(1, 20) == (1, 20)
    for number in range(1, 20 * each, 7):
        queries, evaluations = size_class(number, each)
        assert number <= evaluations <= queries * each
        assert evaluations <= max(64, 2 * number)
        assert size_class(number, each, exact=True) == (-(-number // each), number)


def test_sets_of_one_class_ask_alike() -> None:
    server = build([b"a"], log_bins=8)
    assert room(256, 3) == 193
    for sizes in ((1, 64), (65, 128), (129, 193), (194, 386), (387, 579), (773, 1158)):
        seen = set()
        for count in sizes:
            client = Client(server.info, [b"%d" % i for i in range(count)])
            blinded = client.blinded()
            assert len(set(blinded)) == len(blinded)
            client.finish_prf(server.evaluate_prf(blinded))
            requests = 0
            while client.next_request() is not None:
                requests += 1
            seen.add((len(blinded), requests))
            assert requests == client.queries
        assert len(seen) == 1, sizes
    assert len(Client(server.info, [b"a"], exact_sizes=True).blinded()) == 1


def test_the_number_of_requests_does_not_depend_on_the_elements() -> None:
    """A server that knows the elements and chooses the hash functions: all of them have the same three bins."""
    server = build([1], mode="direct", bits=24, log_bins=5)
    hashes = DirectHash(server.info.seed_bytes, 24, 5, 3)
    everything = np.arange(1 << 20, dtype=np.uint64)
    bins, _ = hashes.places(everything)
    order = np.sort(bins, axis=1).astype(np.uint64)
    key = order[:, 0] << np.uint64(16) | order[:, 1] << np.uint64(8) | order[:, 2]
    fullest = np.bincount(key.astype(np.int64)).argmax()
    crowded, others = everything[key == fullest][:6].tolist(), everything[:6].tolist()
    assert len(crowded) == room(32, 3) == 6
    for elements in (others, crowded):
        client = Client(server.info, elements)
        session, sent = server.open(client.keys()), 0
        while (request := client.next_request()) is not None:
            client.accept(server.answer(session, request))
            sent += 1
        assert sent == client.queries == 1
    with pytest.raises(Error, match="3 of 6 elements found no place in 1 queries"):
        client.result()


def test_integers_of_few_more_bits_than_bins_always_find_a_place() -> None:
    rng = np.random.default_rng(1)
    for bits, queries in ((7, 1), (8, 2), (11, 16)):
        server = build(range(0, 1 << bits, 3), mode="direct", bits=bits, log_bins=7)
        for count in (1, 100, 1 << bits):
            elements = rng.permutation(1 << bits)[: min(count, 1 << bits)].tolist()
            result = run(server, elements)
            assert set(result.matches) == {x for x in elements if x % 3 == 0}
            assert (result.queries, result.probabilities.placement) == (queries, 0)


def test_estimates_say_what_a_run_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringforge.psi.planner.estimate", lambda *_: 2.5)
    info = build([b"a"], log_bins=8).info
    for count in (1, 100, 193, 194, 3000):
        said = estimate(info, count)
        client = Client(info, [b"%d" % i for i in range(count)])
        assert (said.queries, said.evaluations) == (client.queries, len(client.blinded())) == asked(info, count)
        assert said.seconds_per_query == 2.5
        assert said.seconds == 2.5 * said.queries
        assert said.as_dict()["seconds"] == said.seconds
    assert estimate(info, 3000).queries == 16
    assert estimate(info, 3000).seconds == 40.0


# ---- tables that a client does not ask ----


def test_tables_that_take_too_few_elements_are_refused() -> None:
    server = build([b"a"], log_bins=7, hashes=1)
    with pytest.raises(ParameterError, match=r"placement: .* three hash functions"):
        Client(server.info, [b"a", b"b"])
    with pytest.raises(ParameterError, match="placement"):
        estimate(server.info, 2)
    for count, hashes in ((64, 1), (256, 2), (256, 3), (1 << 14, 2), (1 << 14, 3)):
        each = room(count, hashes)
        assert hashing.placement_failure(each, count, hashes) <= 2**-20


def test_large_requests_are_refused() -> None:
    server = build([b"a"], log_bins=8)
    size = max(server.plan.request_bytes, server.plan.key_bytes)
    Client(server.info, [b"a"], request_bytes=size)
    with pytest.raises(ParameterError, match=f"up to {size} bytes, this client sends {size - 1} at most"):
        Client(server.info, [b"a"], request_bytes=size - 1)
    less = Limits(request_bytes=server.plan.request_bytes - _native.io.FRAME_BYTES - 1)
    with pytest.raises(ParameterError, match="its own limit is"):
        Client(server.info.with_limits(less), [b"a"])
    with pytest.raises(ParameterError, match="the limit is"):
        build([b"a"], log_bins=8, limits=less)


def test_tables_that_decrypt_wrongly_too_often_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    server = build([b"a"], log_bins=8)
    check_table(server.info, 1000)
    plan = server.info.native()

    class Weak:
        """The plan, which is said to fail often."""

        def __getattr__(self, name: str) -> Any:
            return getattr(plan, name)

        def failure_log2(self, _entries: int) -> float:
            return -29.0

    monkeypatch.setattr(TableInfo, "native", lambda _: Weak())
    check_table(server.info, 500)
    with pytest.raises(ParameterError, match=r"decryption: .* this client allows 2"):
        check_table(server.info, 1000)


def test_the_mode_can_be_insisted_on() -> None:
    info = build([1], mode="direct", bits=16, log_bins=7).info
    Client(info, [1], mode="direct")
    with pytest.raises(ParameterError, match="of mode direct, not oprf"):
        Client(info, [1], mode="oprf")


def test_replies_that_are_missing_or_too_many_are_refused() -> None:
    server = build([b"a"], log_bins=5)
    client = Client(server.info, [b"a"])
    with pytest.raises(MismatchError, match="waiting"):
        client.accept(b"")
