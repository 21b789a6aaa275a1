# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Client and server together: exact intersections, numbers and sizes of messages, refusals."""

from __future__ import annotations

import json
import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge import psi
from ringforge.errors import Error, FormatError, MismatchError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi import Limits, Server, Store, TableInfo, clear
from ringforge.psi.clear import ClearKey
from ringforge.psi.client import probabilities

from .running import Client, build, encrypted, run


def random_elements(rng: random.Random, count: int) -> list[bytes]:
    """Elements of many lengths, among them the empty one, long ones and ones that differ in the last byte."""
    out = [b"", b"\0", b"\0\0", b"x" * 65535, b"x" * 65534 + b"y"]
    while len(out) < count:
        out.append(rng.randbytes(rng.choice([1, 2, 3, 8, 20, 64, 300])))
    rng.shuffle(out)
    return out[:count]


# ---- exactness ----

#: Bins for so many hash functions: with one, more than 2^6 are refused, since a query takes one element.
BINS_OF = {1: 6, 2: 7, 3: 7}


@pytest.mark.parametrize("hashes", [1, 2, 3])
@pytest.mark.parametrize("labelled", [False, True])
def test_byte_strings_intersect_like_sets(hashes, labelled):
    for seed in range(4):
        rng = random.Random(seed)
        server_set = random_elements(rng, rng.choice([1, 40, 900]))
        client_set = random_elements(rng, rng.choice([1, 30, 120])) + rng.sample(server_set, len(server_set) // 10)
        labels = {x: rng.randbytes(rng.randrange(12)) for x in server_set}
        server = build(labels if labelled else server_set * 2, log_bins=BINS_OF[hashes], hashes=hashes)
        result = run(server, client_set + client_set[:5])
        common = set(server_set) & set(client_set)
        assert result.matches == {x: labels[x] if labelled else b"" for x in common}
        assert result.elements == len(set(client_set))
        assert result.anomalies == 0


@pytest.mark.parametrize("hashes", [1, 2, 3])
@pytest.mark.parametrize("bits", [8, 20, 31])
def test_integers_intersect_like_sets(hashes, bits):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        server_set = rng.integers(0, 1 << bits, rng.choice([1, 50, 3000])).tolist()
        client_set = rng.integers(0, 1 << bits, 150).tolist() + server_set[:30] + [0, (1 << bits) - 1]
        server = build(server_set, mode="direct", bits=bits, log_bins=BINS_OF[hashes], hashes=hashes)
        assert set(run(server, client_set).matches) == set(server_set) & set(client_set)


@given(st.sets(st.binary(max_size=3), max_size=60), st.sets(st.binary(max_size=3), max_size=60), st.integers(0, 5))
def test_any_sets(server_set, client_set, log_bins):
    server = build(server_set, log_bins=log_bins)
    assert set(run(server, client_set).matches) == server_set & client_set


@given(
    st.sets(st.integers(0, 255), max_size=60),
    st.sets(st.integers(0, 255), max_size=60),
    st.integers(0, 8),
    st.integers(1, 3),
)
def test_any_integers(server_set, client_set, log_bins, hashes):
    log_bins = min(log_bins, BINS_OF[hashes])
    server = build(server_set, mode="direct", bits=8, log_bins=log_bins, hashes=hashes)
    assert set(run(server, client_set).matches) == server_set & client_set


def test_empty_sets():
    assert run(build([], log_bins=4), [b"a"]).matches == {}
    result = run(build([b"a"], log_bins=4), [])
    assert (result.matches, result.queries) == ({}, 0)
    assert run(build([], mode="direct", bits=8, log_bins=4), [1]).matches == {}


@pytest.mark.parametrize(("hashes", "labelled"), [(1, False), (2, True), (3, True), (3, False)])
def test_encrypted_byte_strings_intersect_like_sets(hashes, labelled):
    rng = random.Random(hashes)
    server_set = random_elements(rng, 400)
    few = 25 if hashes == 3 else 2  # a query takes one or two with fewer functions
    client_set = random_elements(rng, few) + server_set[:few]
    labels = {x: rng.randbytes(4) for x in server_set}
    server = Server.build(labels if labelled else server_set, log_bins=7 if hashes == 3 else 4, hashes=hashes)
    result = encrypted(server, client_set)
    assert result.matches == {x: labels[x] if labelled else b"" for x in set(server_set) & set(client_set)}
    assert result.anomalies == 0
    assert result.probabilities.decryption < 2**-40


@pytest.mark.parametrize("hashes", [1, 2, 3])
def test_encrypted_integers_intersect_like_sets(hashes):
    count = 60 if hashes == 3 else 9
    server = Server.build(range(0, 5000, 7), mode="direct", bits=16, log_bins=7 if hashes == 3 else 4, hashes=hashes)
    result = encrypted(server, range(count))
    assert set(result.matches) == set(range(0, count, 7))
    assert result.anomalies == 0


def test_encrypted_messages_that_are_damaged_are_refused():
    server = Server.build([b"a", b"b"], log_bins=5)
    client = psi.Client(server.info, [b"a"])
    client.finish_prf(server.evaluate_prf(client.blinded()))
    keys, request = client.keys(), client.next_request()
    for bad in (b"", keys[:-1], keys + b"\0", bytes(len(keys)), b"\xff" * len(keys)):
        with pytest.raises((FormatError, MismatchError)):
            server.open(bad)
    session = server.open(keys)
    for bad in (b"", request[:-1], bytes(len(request)), b"\xff" * len(request)):
        with pytest.raises((FormatError, MismatchError)):
            server.answer(session, bad)
    with pytest.raises(Error, match="cancel"):
        server.answer(session, request, lambda _: False)
    reply = server.answer(session, request, lambda _: True)
    for bad in (b"", reply[:-1], reply + b"\0"):
        with pytest.raises(FormatError, match="a reply of"):
            client.accept(bad)
    client.accept(reply)
    assert set(client.result().matches) == {b"a"}
    for bad in (bytes(len(reply)), b"\xff" * len(reply)):
        client = psi.Client(server.info, [b"a"])
        client.finish_prf(server.evaluate_prf(client.blinded()))
        client.next_request()
        client.accept(bad)
        with pytest.raises((FormatError, MismatchError)):
            client.result()


def test_encrypted_answers_follow_updates(tmp_path):
    made = Store.build(tmp_path / "t", {b"a": b"1", b"b": b"2"}, log_bins=5, capacity=16)
    server = Server(tmp_path / "t")
    assert encrypted(server, [b"a", b"b", b"c"]).matches == {b"a": b"1", b"b": b"2"}
    made.update({b"c": b"3", b"b": b"4"}, [b"a"])
    assert server.reload()
    assert encrypted(server, [b"a", b"b", b"c"]).matches == {b"b": b"4", b"c": b"3"}


# ---- what messages show ----


def test_numbers_and_sizes_do_not_depend_on_matches():
    """The same elements against tables with all and none of them; and other elements of the same number."""
    mine = [b"%d" % i for i in range(40)]
    shapes = []
    for server_set, asked in ((mine, mine), ([b"other"], mine), (mine, [b"y%d" % i for i in range(40)])):
        server = build(server_set, log_bins=7, capacity=64)
        client = Client(server.info, asked)
        shape = [len(b) for b in client.blinded()]
        client.finish_prf(server.evaluate_prf(client.blinded()))
        session = server.open(client.keys())
        shape += [client.queries, len(client.keys())]
        while (request := client.next_request()) is not None:
            shape.append(len(request))
            client.accept(server.answer(session, request))
        shapes.append(shape)
    assert shapes[0] == shapes[1] == shapes[2]


def test_every_bin_is_asked_and_dummies_are_uniform(monkeypatch):
    asked = []
    query = ClearKey.query
    monkeypatch.setattr(
        ClearKey, "query", lambda self, cells, threads: asked.append(cells) or query(self, cells, threads)
    )
    server = build([b"a"], log_bins=12)
    for _ in range(4):
        client = Client(server.info, [b"a"])
        client.finish_prf(server.evaluate_prf(client.blinded()))
        client.next_request()
    cells = np.concatenate(asked)
    width = server.plan.cells
    assert len(cells) == 4 << 12
    counts = np.bincount(cells, minlength=width)
    mean = len(cells) / width
    assert ((counts - mean) ** 2 / mean).sum() < width + 6 * np.sqrt(2 * width)


def test_all_requests_are_planned_before_the_first():
    server = build([b"%d" % i for i in range(100)], log_bins=6)
    client = Client(server.info, [b"%d" % i for i in range(70)])
    with pytest.raises(MismatchError, match="finish_prf"):
        client.next_request()
    client.finish_prf(server.evaluate_prf(client.blinded()))
    planned = client.queries
    assert planned >= 3
    requests = []
    while (request := client.next_request()) is not None:
        requests.append(request)
    assert len(requests) == planned
    with pytest.raises(MismatchError, match="missing"):
        client.result()
    session = server.open(client.keys())
    for request in requests:
        client.accept(server.answer(session, request))
    assert len(client.result().matches) == 70


def test_clients_and_sessions_show_no_secrets():
    server = build([b"secret element"], log_bins=4)
    client = Client(server.info, [b"secret element"])
    client.finish_prf(server.evaluate_prf(client.blinded()))
    assert "secret element" not in repr(client)
    assert "keys=" not in repr(server.open(client.keys()))
    with pytest.raises(TypeError):
        pickle.dumps(client)


# ---- probabilities ----


def test_probabilities_are_bounds_of_the_run():
    server = build([b"a"], log_bins=10, capacity=1 << 10)
    p = run(server, [b"%d" % i for i in range(512)]).probabilities
    assert 512 * 2**-40 <= p.false_positive < 513 * 2**-40
    assert p.placement < 2**-32
    direct = build([1], mode="direct", bits=16, log_bins=10)
    assert run(direct, range(100)).probabilities.false_positive == 0
    assert 0 < p.decryption < 2**-50
    assert probabilities(server.info, 0, server.plan).placement == 0


def test_short_tags_give_false_positives_as_often_as_said():
    """Tags are cut to 6 bits behind the checks; a full table makes every cell that is asked for occupied."""
    from ringforge.psi.hashing import PrfHash

    rng = np.random.default_rng(5)
    h = PrfHash(bytes(32), 8, 3, 10, 6)
    a, b = (h.words(rng.integers(0, 256, (1 << 16, 64), dtype=np.uint8))[2] for _ in range(2))
    equal = (h.tags(a, np.zeros(len(a), dtype=np.uint8)) == h.tags(b, np.full(len(b), 2))).mean()
    expected = 2**-6 + 2 ** (1 - 12)
    assert abs(equal - expected) < 6 * np.sqrt(expected / len(a))


# ---- refusals ----


def test_wrong_elements_are_refused():
    server = build([b"a"], log_bins=4)
    with pytest.raises(RingforgeValueError, match="byte"):
        Client(server.info, [bytearray(b"a")])
    for bad in ("text", 5, b"x" * 65536):
        with pytest.raises(RingforgeValueError, match="byte"):
            Client(server.info, [bad])
        with pytest.raises(RingforgeValueError, match="byte"):
            build([b"ok", bad], log_bins=4)
    direct = build([1], mode="direct", bits=8, log_bins=4)
    for bad in (b"1", 256, -1, 1.5, "1"):
        with pytest.raises(RingforgeValueError, match="integers"):
            Client(direct.info, [bad])
    with pytest.raises(RingforgeValueError, match="labels"):
        build({b"a": "text"}, log_bins=4)


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "other"},
        {"log_bins": 21},
        {"log_bins": -1},
        {"hashes": 4},
        {"hashes": 0},
        {"tag_bits": 24},
        {"tag_bits": 41},
        {"capacity": 1},
        {"mode": "direct", "bits": 65},
        {"mode": "direct", "bits": 3, "log_bins": 4},
        {"mode": "direct", "label_bytes": 2},
    ],
)
def test_wrong_numbers_are_refused(arguments):
    elements = [1, 2, 3] if arguments.get("mode") == "direct" else [b"1", b"2", b"3"]
    with pytest.raises(ParameterError):
        build(elements, **{"log_bins": 4, **arguments})
    with pytest.raises(ParameterError, match="label"):
        build({b"a": b"long label"}, log_bins=4, label_bytes=3)


def test_damaged_messages_are_refused_and_the_server_goes_on():
    server = build([b"a", b"b"], log_bins=4)
    client = Client(server.info, [b"a"])
    with pytest.raises(FormatError, match="31 bytes"):
        server.evaluate_prf([bytes(31)])
    with pytest.raises(FormatError):
        server.evaluate_prf([bytes(32)])
    assert server.evaluate_prf([]) == []
    client.blinded()
    for wrong in ([], [b"1" * 32] * 2, [b"1" * 31]):
        with pytest.raises(FormatError):
            client.finish_prf(wrong)
    client.finish_prf(server.evaluate_prf(client.blinded()))
    keys = client.keys()
    assert client.keys() is keys
    for bad in (b"", keys[:-1], keys + b"\0", bytes(len(keys)), keys[:100] + bytes([keys[100] ^ 1]) + keys[101:]):
        with pytest.raises(FormatError):
            server.open(bad)
    session = server.open(keys)
    assert session.bytes > 0
    request = client.next_request()
    for bad in (b"", request[:-1], bytes(len(request)), request[:100] + bytes([request[100] ^ 1]) + request[101:]):
        with pytest.raises(FormatError):
            server.answer(session, bad)
    reply = server.answer(session, request)
    for bad in (b"", reply[:-1], reply + b"\0"):
        with pytest.raises(FormatError, match="a reply of"):
            client.accept(bad)
    client.accept(reply)
    with pytest.raises(MismatchError, match="waiting"):
        client.accept(reply)
    assert set(client.result().matches) == {b"a"}
    with pytest.raises(MismatchError, match="new client"):
        client.blinded()


def test_keys_for_another_plan_are_refused():
    server, other = build([b"a"], log_bins=4), build([b"a"], log_bins=5)
    keys = clear.wrap(clear.KEYS, other.plan, 1, b"", server.plan.key_bytes)
    with pytest.raises(MismatchError, match="another plan"):
        server.open(keys)
    with pytest.raises(FormatError, match="for another plan"):
        server.open(Client(other.info, []).keys())
    with pytest.raises(MismatchError, match="ask again"):
        server.open(Client(server.info, []).keys(), other.info.digest())


def test_mode_direct_evaluates_no_function():
    server = build([1], mode="direct", bits=16, log_bins=4)
    with pytest.raises(MismatchError, match="direct"):
        server.evaluate_prf([bytes(32)])
    client = Client(server.info, [1])
    assert client.blinded() == []
    client.finish_prf([])
    assert client.queries == 1


def test_cancelled_answers_end_with_an_error():
    server = build([b"a"], log_bins=4)
    client = Client(server.info, [b"a"])
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session, request = server.open(client.keys()), client.next_request()
    seen: list[float] = []
    with pytest.raises(Error, match="cancelled"):
        server.answer(session, request, lambda f: bool(seen.append(f)))
    assert seen == [0.0]
    client.accept(server.answer(session, request))
    assert set(client.result().matches) == {b"a"}


def test_words_that_cannot_be_are_counted():
    server = build([1, 2], mode="direct", bits=8, log_bins=4)
    server._state.table.arrays.words[:] = 3
    result = run(server, [1, 2, 77])
    assert result.matches == {}
    assert result.anomalies == 2


# ---- the info ----


def changed(info: TableInfo, path: str, value: object) -> bytes:
    tree = json.loads(info.to_json())
    node = tree
    *parents, last = path.split(".")
    for name in parents:
        node = node[name]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return json.dumps(tree).encode()


def test_info_comes_back_the_same():
    for server in (build({b"a": b"l"}, log_bins=6), build([1], mode="direct", bits=16, log_bins=6)):
        info = TableInfo.from_json(server.info.to_json())
        assert info == server.info
        assert info.digest() == server.info.digest()
        assert (info.salt_array == server._state.table.arrays.salts).all()
    limits = Limits(request_bytes=1 << 20, prf_per_day=6, bins_per_day=7)
    other = build([b"a"], log_bins=4, limits=limits)
    assert other.info.limits == limits
    assert other.info.with_limits(Limits()).digest() == other.info.digest()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", "other"),
        ("version", 3),
        ("version", 10**30),
        ("nonce", "00" * 8),
        ("mode", "direct"),
        ("capacity", 3),
        ("capacity", 0),
        ("hashes", 4),
        ("tag_bits", 0),
        ("tag_bits", 33),
        ("label_bytes", 100),
        ("seed", "00"),
        ("seed", None),
        ("salts", ""),
        ("salts", "****"),
        ("salts", "AAAA"),
        ("element_bits", 3),
        ("plan.log_bins", 5),
        ("plan.cell_bits", 40),
        ("plan.log_cell", 0),
        ("plan.gadget", None),
        ("plan.modulus", -1),
        ("plan_hash", "0" * 63),
        ("limits.prf_per_day", -1),
        ("surplus", 1),
    ],
)
def test_wrong_infos_are_refused(path, value):
    info = build([b"a"], log_bins=4).info
    with pytest.raises(FormatError, match="not the description of a table"):
        TableInfo.from_json(changed(info, path, value))


def test_infos_of_other_releases_and_endless_ones_are_refused():
    info = build([b"a"], log_bins=4).info
    with pytest.raises(MismatchError, match="same release"):
        Client(TableInfo.from_json(changed(info, "plan_hash", "0" * 64)), [b"a"])
    with pytest.raises(FormatError, match="at most"):
        TableInfo.from_json(b" " * (1 << 22) + info.to_json())


@given(st.binary(max_size=200))
def test_garbage_is_no_info(data):
    with pytest.raises(FormatError):
        TableInfo.from_json(data)
