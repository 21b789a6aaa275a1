# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""PSI by polynomials in memory: polynomials against Python integers, intersections against plain sets."""

from __future__ import annotations

import hashlib
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import _native
from ringforge.devices import KeySet, open_device
from ringforge.errors import Error, FormatError, MismatchError, ParameterError, ShapeError
from ringforge.psi import oprf, poly
from ringforge.psi.poly.cases import small
from ringforge.psi.poly.plan import FAILURE_LOG2, fullest, placement_log2, room
from ringforge.psi.poly.search import BASES
from ringforge.psi.table import label_lengths, pad_labels

NONCE = bytes(range(8))


def outputs(count: int, seed: int = 1) -> Any:
    """Random PRF outputs."""
    return np.random.default_rng(seed).integers(0, 256, (count, 64), np.uint8)


def answers(client: poly.Client, arrays: poly.Arrays, threads: int = 1) -> poly.Result:
    """A run in memory."""
    session = poly.SessionKeys(client.plan, client.keys())
    table = poly.table(client.plan, arrays)
    while (request := client.next_request()) is not None:
        assert len(request) == client.plan.request_bytes
        client.accept(poly.evaluate(session, request, table, threads))
    return client.result()


def members(arrays: poly.Arrays, c: int, b: int, bin_: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Residues and label words of the elements of a sub-bin."""
    count = int(arrays.counts[c, b, bin_])
    return [
        (tuple(arrays.roots[c, b, bin_, k].tolist()), tuple(arrays.labels[c, b, bin_, k].reshape(-1).tolist()))
        for k in range(count)
    ]


# ---- polynomials ---------------------------------------------------------------------------------


def value(points: list[tuple[int, int]], roots: list[int], x: int, t: int) -> int:
    """The polynomial of least degree that takes y at each (x, y) and is 0 at the other roots, by Python integers."""
    total = 0
    for i, (xi, yi) in enumerate(points):
        others = [p for j, p in enumerate([p for p, _ in points] + roots) if j != i]
        top, bottom = yi, 1
        for o in others:
            top, bottom = top * (x - o) % t, bottom * (xi - o) % t
        total = (total + top * pow(bottom, -1, t)) % t
    return total


def smallest_free(roots: list[int]) -> int:
    return next(v for v in range(len(roots) + 1) if v not in roots)


@pytest.mark.parametrize("words", [0, 2])
def test_values_are_those_of_the_polynomials(words: int) -> None:
    fields = small(words)
    plan, prf, rng = fields.native(), outputs(700), np.random.default_rng(3)
    labels = rng.integers(0, 256, (700, plan.label_bytes), np.uint8) if words else None
    arrays = poly.compile_table(fields, prf, labels, nonce=NONCE if words else b"")
    query = rng.integers(0, plan.t, (plan.bins, plan.felts), np.uint32)
    some = rng.choice(plan.bins, 200, replace=False)
    for bin_ in some.tolist():  # ask some bins for what they have
        c, at = divmod(bin_, plan.column_bins)
        if arrays.counts[c, 0, at]:
            query[bin_] = arrays.roots[c, 0, at, 0]
    client = poly.ClientKey(plan)
    session = poly.SessionKeys(plan, client.evaluation_keys())
    got = client.decode(poly.evaluate(session, client.query(query), poly.table(plan, arrays)))
    for bin_ in [*some[:40].tolist(), 0, plan.bins - 1]:
        c, at = divmod(bin_, plan.column_bins)
        for b in range(plan.bundles):
            most = int(arrays.counts[c, b].max())
            inside = members(arrays, c, b, at)
            for j in range(plan.felts):
                own = [r[j] for r, _ in inside]
                filled = own + [smallest_free(own)] * (most - len(own))
                x = int(query[bin_, j])
                assert got[b, 0, bin_, j] == math.prod(x - r for r in filled) % plan.t
                for w in range(words):
                    points = [(r[j], label[w * plan.felts + j]) for r, label in inside]
                    assert got[b, 1 + w, bin_, j] == value(points, filled[len(own) :], x, plan.t)


def test_bits_do_not_depend_on_threads_or_kernels() -> None:
    fields = small(1)
    plan, prf = fields.native(), outputs(500)
    labels = pad_labels([b"ab"] * 500, plan.label_bytes)
    one, many = (poly.compile_table(fields, prf, labels, nonce=NONCE, threads=n) for n in (1, 3))
    for name in poly.ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(many, name))
    seed = _native.TestSeed(bytes(32))
    client = poly.ClientKey(plan, seed)
    session = poly.SessionKeys(plan, client.evaluation_keys())
    request = client.query(np.zeros((plan.bins, plan.felts), np.uint32))
    replies = {poly.evaluate(session, request, poly.table(plan, one), threads) for threads in (1, 2, 5)}
    assert len(replies) == 1


@pytest.mark.parametrize(("depth", "reach"), [(d, r) for d, bases in BASES.items() for r in bases])
def test_sources_reach_what_is_said(depth: int, reach: int) -> None:
    sums = {0}
    for _ in range(1 << depth):
        sums |= {a + b for a in sums for b in BASES[depth][reach]}
    assert set(range(1, reach + 1)) <= sums


def test_powers_are_made_of_what_is_there() -> None:
    plan = small(sources=[1, 3, 11], degree=30, q=small().q, plain_limbs=3, felts=1).native()
    there: dict[int, int] = {}
    for power, left, right, depth in plan.steps:
        assert depth == 0 if power in plan.sources else left + right == power
        if depth:
            assert depth == 1 + max(there[left], there[right])
        there[power] = depth
    assert sorted(there) == list(range(1, 31))


# ---- intersections -------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    server=st.integers(0, 500),
    client=st.integers(0, 700),
    common=st.integers(0, 700),
    labels=st.booleans(),
    seed=st.integers(0, 1 << 16),
)
def test_the_intersection_is_exact(server: int, client: int, common: int, labels: bool, seed: int) -> None:
    fields = small(2 if labels else 0)
    plan, size = fields.native(), 6 if labels else 0
    prf = outputs(server, seed)
    common = min(common, server, client)
    mine = np.concatenate([outputs(client - common, seed + 1), prf[server - common :]])
    mine = mine[np.random.default_rng(seed).permutation(client)]
    texts = [b"%x" % (i % 4096) for i in range(server)]
    arrays = poly.compile_table(
        fields, prf, pad_labels(texts, size) if labels else None, nonce=NONCE if labels else b""
    )
    result = answers(poly.Client(fields, mine, nonce=NONCE if labels else b"", label_bytes=size), arrays)
    rank = {prf[i].tobytes(): i for i in range(server)}
    assert result.found.tolist() == [i for i in range(client) if mine[i].tobytes() in rank]
    assert result.anomalies == 0
    if labels:
        lengths = label_lengths(result.labels) if len(result.labels) else []
        opened = [result.labels[i, :n].tobytes() for i, n in enumerate(lengths)]
        assert opened == [texts[rank[mine[i].tobytes()]] for i in result.found.tolist()]
    assert plan.budget > 0


def test_with_a_real_function_and_a_suggested_plan() -> None:
    key = oprf.ServerKey.random()
    plan = poly.suggest(300, 20, label_bytes=9).fields
    names = [b"name%d" % i for i in range(300)]
    arrays = poly.compile_table(plan, key.prf(names), pad_labels(names, 9), nonce=NONCE)
    mine = [b"name7", b"nobody", b"name299"]
    request = oprf.Request(mine)
    values = request.finalize(key.evaluate(request.elements))
    result = answers(poly.Client(plan, values, nonce=NONCE, label_bytes=9), arrays)
    assert result.found.tolist() == [0, 2]
    assert [r.tobytes().split(b"\x80")[0] for r in result.labels] == [b"name7", b"name299"]


def test_noise_stays_below_its_bound() -> None:
    """The bound holds for all keys but 2^-40, and is not far above what is measured."""
    fields = poly.suggest(4000, 100).fields
    plan = fields.native()
    arrays = poly.compile_table(fields, outputs(4000))
    table, most = poly.table(plan, arrays), 0.0
    for _ in range(3):
        client = poly.ClientKey(plan)
        session = poly.SessionKeys(plan, client.evaluation_keys())
        query = np.random.default_rng(5).integers(0, plan.t, (plan.bins, plan.felts), np.uint32)
        most = max(most, client.margin(poly.evaluate(session, client.query(query), table)))
    left = -1 - math.log2(most)
    assert plan.budget <= left <= plan.budget + 14


# ---- updates -------------------------------------------------------------------------------------


def test_an_update_is_what_a_new_table_holds() -> None:
    fields, prf = small(), outputs(500)
    plan = fields.native()
    old = poly.compile_table(fields, prf[:400])
    before = {name: getattr(old, name).copy() for name in poly.ARRAYS}
    new = poly.update_table(fields, old, removed=prf[:50], added=prf[400:])
    for name in poly.ARRAYS:
        assert np.array_equal(getattr(old, name), before[name])
    result = answers(poly.Client(fields, prf), new)
    assert result.found.tolist() == list(range(50, 500))
    one = poly.update_table(fields, old, removed=prf[:1], added=prf[:0])
    touched = {(b // plan.column_bins) for b in poly.places(plan, prf[:1])[0].tolist()}
    for c in range(plan.columns):
        for b in range(plan.bundles):
            if not np.array_equal(one.counts[c, b], old.counts[c, b]):
                assert c in touched
            else:
                assert np.array_equal(one.plain[c, b], old.plain[c, b])
    with pytest.raises(ParameterError, match="not in the table"):
        poly.update_table(fields, new, removed=prf[:1], added=prf[:0])


def test_a_full_bin_is_refused_and_residues_are_kept_apart() -> None:
    fields = small(1, felts=2, degree=2, bundles=2, columns=1, sources=[1])
    plan = fields.native()
    words = np.zeros((3, 2), np.uint32)
    arrays = {name: np.zeros(shape, dtype) for name, (shape, dtype) in poly.shapes(fields).items()}
    flat = [arrays[x].reshape(-1) for x in ("counts", "roots", "labels")]
    touched = np.zeros(plan.columns * plan.bundles, np.uint8)

    def insert(*felts: tuple[int, int]) -> None:
        rows = np.array(felts, np.uint32)
        _native.psi_poly.insert(plan, *flat, np.zeros(len(rows), np.uint32), rows, words[: len(rows)], touched)

    insert((1, 2), (1, 3), (4, 5))  # the second shares a residue with the first
    assert arrays["roots"][0, 0, 0].tolist() == [[1, 2], [4, 5]]
    assert arrays["roots"][0, 1, 0, 0].tolist() == [1, 3]
    insert((9, 3))  # fits only where somebody else makes room
    for b in range(2):
        here = arrays["roots"][0, b, 0, :2]
        assert len(set(here[:, 0].tolist())) == len(set(here[:, 1].tolist())) == 2
    with pytest.raises(ParameterError, match="larger capacity"):
        insert((7, 7))
    with pytest.raises(_native.ValueError, match="below t"):
        insert((plan.t, 1))


def test_labels_demand_what_belongs_to_them() -> None:
    fields, prf = small(1), outputs(3)
    room_for = fields.native().label_bytes
    with pytest.raises(ShapeError, match="every element"):
        poly.compile_table(fields, prf)
    with pytest.raises(ParameterError, match="nonce"):
        poly.compile_table(fields, prf, pad_labels([b""] * 3, room_for))
    with pytest.raises(ShapeError, match="room"):
        poly.compile_table(fields, prf, pad_labels([b""] * 3, room_for + 1), nonce=NONCE)
    with pytest.raises(ShapeError, match="2 labels for 3"):
        poly.compile_table(fields, prf, pad_labels([b""] * 2, room_for), nonce=NONCE)
    old = poly.compile_table(fields, prf, pad_labels([b""] * 3, room_for), nonce=NONCE)
    with pytest.raises(ParameterError, match="anew"):
        poly.update_table(fields, old, removed=prf[:1], added=prf[:0])
    with pytest.raises(ParameterError, match="room"):
        poly.Client(fields, prf, nonce=NONCE, label_bytes=room_for + 1)


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"log_n": 12}, "1 mod"),
        ({"t": 65537 * 4 + 1}, "prime"),
        ({"sources": [1, 6]}, "ascending"),
        ({"sources": [2, 3]}, "ascending"),
        ({"degree": 200, "sources": [1]}, "add sources"),
        ({"plain_limbs": 4}, "plain_limbs"),
        ({"plain_limbs": 1}, "noise leaves"),
        ({"reply_bits": 40}, "reply_bits"),
        ({"reply_bits": 18}, "noise leaves"),
        ({"q": [small().q[0], int(_native.kernels.primes_below(30, 1, 2048)[0]), small().q[1]][1:]}, "reply_bits"),
        ({"insecure": ""}, "128 bits"),
        ({"bundles": 0}, "bundles"),
    ],
)
def test_plans_that_are_none_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        small(**changes).native()


def test_messages_of_others_are_refused() -> None:
    fields, other = small(), small(bundles=3)
    plan = fields.native()
    table = poly.table(plan, poly.compile_table(fields, outputs(10)))
    mine, theirs = poly.ClientKey(plan), poly.ClientKey(plan)
    keys = mine.evaluation_keys()
    session = poly.SessionKeys(plan, keys)
    query = np.zeros((plan.bins, plan.felts), np.uint32)
    request = mine.query(query)
    reply = poly.evaluate(session, request, table)
    with pytest.raises(MismatchError, match="other keys"):
        poly.evaluate(session, theirs.query(query), table)
    with pytest.raises(MismatchError, match="another client"):
        theirs.decode(reply)
    with pytest.raises(MismatchError, match="other parameters"):
        poly.SessionKeys(other.native(), keys)
    with pytest.raises(MismatchError, match="different plans"):
        poly.evaluate(session, request, poly.table(other.native(), poly.compile_table(other, outputs(1))))
    readers: list[tuple[bytes, Any]] = [
        (keys, lambda x: poly.SessionKeys(plan, x)),
        (request, lambda x: poly.evaluate(session, x, table)),
        (reply, mine.decode),
    ]
    for data, reader in readers:
        for damaged in (b"", data[:-1], data + b"\0", data[:100] + bytes([data[100] ^ 1]) + data[101:]):
            with pytest.raises(FormatError):
                reader(damaged)
    with pytest.raises(ShapeError):
        mine.query(query[1:])
    with pytest.raises(_native.ValueError, match="below t"):
        mine.query(query + np.uint32(plan.t))


def test_tables_of_another_shape_are_refused() -> None:
    fields = small()
    arrays = poly.compile_table(fields, outputs(10))
    with pytest.raises(ShapeError, match="roots"):
        poly.check_arrays(fields, poly.Arrays(arrays.counts, arrays.roots[:1], arrays.labels, arrays.plain))
    counts = arrays.counts.copy()
    counts[0, 0, 0] = fields.degree + 1
    with pytest.raises(FormatError, match="sub-bin"):
        poly.table(fields.native(), poly.Arrays(counts, arrays.roots, arrays.labels, arrays.plain))
    with pytest.raises(ShapeError, match="uint8"):
        poly.compile_table(fields, np.zeros((3, 32), np.uint8))


def test_progress_grows_and_cancels() -> None:
    fields = small()
    told: list[float] = []
    arrays = poly.compile_table(fields, outputs(100), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    with pytest.raises(Error, match="cancelled"):
        poly.compile_table(fields, outputs(100), progress=lambda done: done < 0.5)
    client = poly.Client(fields, outputs(5))
    session, table = poly.SessionKeys(client.plan, client.keys()), poly.table(client.plan, arrays)
    request, told = client.next_request(), []
    assert request is not None
    poly.evaluate(session, request, table, 1, told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    with pytest.raises(Error, match="cancelled"):
        poly.evaluate(session, request, table, 1, lambda done: done < 0.3)


def test_devices_agree() -> None:
    fields, prf = small(), outputs(300)
    arrays = poly.compile_table(fields, prf[:200])
    for device in ("cpu", "clear"):
        client = poly.Client(fields, prf[100:], device=device)
        machine = open_device(device)
        handle = machine.prepare(
            poly.PolyKernel(client.plan),
            KeySet(own=(poly.PolyKeys(client.keys()),)),
            poly.PolyTable(client.plan, arrays),
        )
        while (request := client.next_request()) is not None:
            ((reply,), report) = machine.run(handle, [request])
            client.accept(reply)
            if device == "cpu":
                counts = client.plan.counts()
                assert report.operations["product"] == counts.product
        assert client.result().found.tolist() == list(range(100))


# ---- chances -------------------------------------------------------------------------------------


def test_placement_bound_is_above_what_is_seen() -> None:
    """At small sizes failures are frequent enough to be counted; the bound may not be below."""
    rng, fails, tries, elements, bins = np.random.default_rng(2), 0, 3000, 6, 6
    from ringforge.psi.hashing import place

    for _ in range(tries):
        rows = np.array([rng.permutation(bins)[:3] for _ in range(elements)], np.uint32)
        fails += bool((place(rows, bins) < 0).any())
    assert fails / tries <= 2.0 ** placement_log2(elements, bins)
    assert placement_log2(room(2048), 2048) <= FAILURE_LOG2 < placement_log2(room(2048) + 1, 2048)


def test_bins_are_three_and_residues_are_below_t() -> None:
    plan, prf = small().native(), outputs(5000)
    bins = poly.places(plan, prf)
    assert (bins < plan.bins).all()
    assert (np.sort(bins, axis=1)[:, 1:] > np.sort(bins, axis=1)[:, :-1]).all()
    # Uniform: 15,000 choices among 682 bins; the sum of squares of deviations is within 6 of its own.
    counts = np.bincount(bins.reshape(-1), minlength=plan.bins)
    chi = ((counts - 22.0) ** 2 / 22.0).sum()
    assert abs(chi - plan.bins) < 6 * math.sqrt(2 * plan.bins)
    assert (poly.felts(plan, prf) < plan.t).all()


def test_fullest_bin_is_seldom_exceeded() -> None:
    rng = np.random.default_rng(1)
    loads = [np.bincount(rng.integers(0, 100, 3000), minlength=100).max() for _ in range(200)]
    assert max(loads) <= fullest(1000, 100) <= 3 * max(loads)
    assert fullest(1, 100) == 1
    assert fullest(0, 100) == 0


@pytest.mark.parametrize(
    ("server", "client", "label"),
    [(1, 1, 0), (2, 1, 17), (1000, 10, 33), (262144, 1024, 0), (262144, 1024, 17), (1 << 20, 4096, 0), (1 << 24, 1, 0)],
)
def test_suggestions_hold_their_promises(server: int, client: int, label: int) -> None:
    found = poly.suggest(server, client, label_bytes=label)
    plan, costs = found.native, found.estimate
    assert plan.budget > 0
    assert plan.false_positive_log2(room(plan.bins)) <= FAILURE_LOG2
    assert plan.bundles * plan.degree >= fullest(server, plan.bins)
    assert plan.label_bytes >= label
    assert costs.total_bytes == plan.key_bytes + costs.queries * (plan.request_bytes + plan.reply_bytes)
    if (server, client) == (262144, 1024):
        assert costs.total_bytes < (6_000_000 if label else 3_000_000)
    arrays = poly.shapes(found.fields)
    assert costs.table_bytes == sum(math.prod(s) * np.dtype(d).itemsize for s, d in arrays.values())


def test_estimates_are_about_what_is_measured() -> None:
    """Another query than the pace is taken from, on whatever machine this is."""
    found = poly.suggest(1 << 14, 256)
    client = poly.Client(found.fields, outputs(200))
    session = poly.SessionKeys(client.plan, client.keys())
    table = poly.table(client.plan, poly.compile_table(found.fields, outputs(1 << 14)))
    request = client.next_request()
    assert request is not None
    seconds = []
    for _ in range(4):
        pace, start = poly.pace(), time.perf_counter()
        poly.evaluate(session, request, table)
        seconds.append((time.perf_counter() - start) / (pace * found.estimate.online_seconds))
    assert 0.5 < min(seconds) < 2


def test_seconds_of_the_function_are_those_of_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {}
    for kernels in ("avx512", "avx2", "scalar"):
        monkeypatch.setattr(_native.kernels, "active", lambda kernels=kernels: kernels)
        costs[kernels] = poly.estimate(small(), 1000, 64)
    assert costs["avx2"] == costs["scalar"]
    assert costs["avx512"].prf_seconds == pytest.approx(6.4e-3)
    assert costs["avx2"].prf_seconds == pytest.approx(63.3e-3)
    assert costs["avx2"].client_seconds - costs["avx512"].client_seconds == pytest.approx(64 * 102e-6)
    assert costs["avx2"].online_seconds == costs["avx512"].online_seconds


def test_more_replies_need_a_larger_budget() -> None:
    """One of them is decrypted wrongly with 2^-40, not each."""
    few, many = (small(bundles=b).native().budget for b in (1, 512))
    assert 0 < few - many < 0.3


def test_sizes_that_are_none_are_refused() -> None:
    for sizes in ((0, 1), (1, 0), (1 << 33, 1)):
        with pytest.raises(ParameterError, match="elements"):
            poly.suggest(*sizes)
    with pytest.raises(ParameterError, match="labels"):
        poly.suggest(1, 1, label_bytes=5000)


# ---- word lists ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["passwords", "surnames", "english_wikipedia"])
def test_word_lists_give_the_plain_intersection(name: str) -> None:
    """Real words, for whose outputs of the PRF those of a hash function stand."""
    lists = pytest.importorskip("zxcvbn.frequency_lists").FREQUENCY_LISTS
    server = [str(word) for word in lists[name]]
    client = sorted({str(word) for words in lists.values() for word in words})[::40]

    def prf(words: list[str]) -> Any:
        return np.array([list(hashlib.sha512(word.encode()).digest()) for word in words], np.uint8)

    found = poly.suggest(len(server), len(client))
    arrays = poly.compile_table(found.fields, prf(server))
    result = answers(poly.Client(found.fields, prf(client)), arrays)
    both = set(server) & set(client)
    assert len(both) > 200
    assert {client[i] for i in result.found} == both
    assert len(result.found) == len(both)
