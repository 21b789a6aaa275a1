# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Digests and what a receiver makes of their sums, against sums of Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ringforge import _native
from ringforge._native import TestSeed
from ringforge._native.bfv import Client, Context, Parameters
from ringforge._native.omr import CompressionKeys, CompressionPlan, CompressionSecret, digest_head
from ringforge.errors import Error, FormatError, MismatchError, ParameterError, ShapeError, TooManyMessagesError
from ringforge.omr.compress import compression_context, compression_plan, explain
from ringforge.omr.decode import decode
from ringforge.omr.sets import Set, named

T = 786_433
Ints = npt.NDArray[np.int64]


def sums_of(found: list[int], words: Ints, k: int, t: int = T) -> Ints:
    """S[i][v], by the definition."""
    values = words.shape[1] + 1
    rows = [[1, *map(int, words[number])] for number in range(len(found))]
    out = [
        [sum(pow(j + 1, i, t) * row[v] for j, row in zip(found, rows, strict=True)) % t for v in range(values)]
        for i in range(k + 1)
    ]
    return np.array(out, np.int64).reshape(k + 1, values)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 50])
def test_entries_and_words_come_from_sums(count: int) -> None:
    rng = np.random.default_rng(count)
    found = sorted(int(j) for j in rng.choice(65_536, count, replace=False))
    if count > 1:
        found[0], found[-1] = 0, 65_535
    words = rng.integers(0, T, (count, 5))
    entries, got = decode(sums_of(found, words, 50), 65_536, T)
    assert entries.tolist() == found
    assert (got == words).all()


def test_a_large_capacity_without_payloads() -> None:
    found = list(range(100, 65_000, 64))[:1000]
    entries, words = decode(sums_of(found, np.zeros((1000, 0), np.int64), 1000), 65_536, T)
    assert entries.tolist() == found
    assert words.shape == (1000, 0)


@pytest.mark.parametrize("count", [4, 5, 200])
def test_more_than_the_capacity_is_noticed_exactly(count: int) -> None:
    found = list(range(0, 3 * count, 3))
    sums = sums_of(found, np.ones((count, 2), np.int64), 3)
    with pytest.raises(TooManyMessagesError, match=rf"^{count} entries .* holds 3: .*at least {count}.* windows") as e:
        decode(sums, 4096, T)
    assert e.value.count == count


def test_sums_of_no_entries_are_refused() -> None:
    rng = np.random.default_rng(3)
    good = sums_of([5, 9, 4000], rng.integers(0, T, (3, 2)), 6)
    assert decode(good, 4096, T)[0].tolist() == [5, 9, 4000]
    for i in range(good.shape[0]):
        for v in range(good.shape[1]):
            bad = good.copy()
            bad[i, v] = (bad[i, v] + 1) % T
            with pytest.raises(FormatError, match="no set of entries"):
                decode(bad, 4096, T)
    # An entry twice, one beyond the bulletin, and bits that are none.
    for bad in (
        sums_of([5, 5, 9], np.ones((3, 2), np.int64), 6),
        sums_of([5, 4096], np.ones((2, 2), np.int64), 6),
        3 * sums_of([5], np.ones((1, 2), np.int64), 6) % T,
        np.full((7, 3), T - 1, np.int64),
    ):
        with pytest.raises(FormatError, match="no set of entries"):
            decode(bad, 4096, T)
    with pytest.raises(ShapeError):
        decode(np.zeros(7, np.int64), 4096, T)


class World:
    """A receiver's keys and a bulletin of the small set."""

    def __init__(self) -> None:
        self.set: Set = named("test", "tests")
        parameters = Parameters.named(self.set.bfv, "tests")
        self.context = Context(parameters)
        self.client = Client(self.context, TestSeed(bytes(32)))
        self.bfv = self.client.secret_key()
        self.secret = CompressionSecret(compression_context(self.set), TestSeed(bytes([1]) * 32))
        self.keys = CompressionKeys(self.bfv, self.secret, TestSeed(bytes([2]) * 32))

    def encrypted(self, found: list[int]) -> Any:
        u = np.zeros(self.set.entries, np.int64)
        u[found] = 1
        return self.client.encrypt(self.context.encode(u), self.bfv, 2)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_a_digest_gives_back_what_is_pertinent(world: World) -> None:
    s, words, k = world.set, 9, 20
    plan = compression_plan(s, k, words)
    payloads = np.random.default_rng(1).integers(0, T, (s.entries, words)).astype(np.uint32)
    found = [0, 17, 2047, 2048, 4095]
    u = world.encrypted(found)
    with _native.counting() as did:
        whole = plan.part(world.keys, u, payloads, 0, plan.units)
    assert did.operations == plan.part_counts(0, plan.units)
    with _native.counting() as did:
        digest = plan.digest(world.keys, [whole], 77)
    assert did.operations == plan.digest_counts()
    assert len(digest) == plan.digest_bytes
    assert digest_head(digest)[0] == 77
    assert digest_head(digest)[2:] == (k, words)
    sums = np.asarray(plan.open(digest, world.secret)).astype(np.int64).reshape(k + 1, words + 1)
    entries, got = decode(sums, s.entries, s.t)
    assert entries.tolist() == found
    assert (got == payloads[found]).all()
    margin, squares = plan.margin(digest, world.secret)
    assert margin < 0.5
    assert squares < 2 * plan.noise(20.0).digest
    # Keys and the secret as records; parts in any order and number.
    context = compression_context(s)
    keys = CompressionKeys.from_bytes(world.keys.to_bytes(), context)
    secret = CompressionSecret.from_bytes(world.secret.to_bytes(), context)
    parts = [plan.part(keys, u, payloads, *plan.shard(i, plan.units), 2) for i in reversed(range(plan.units))]
    assert plan.digest(keys, parts, 77) == digest
    assert (np.asarray(plan.open(digest, secret)).reshape(sums.shape) == sums).all()


def test_more_messages_than_asked_for_are_counted(world: World) -> None:
    plan = compression_plan(world.set, 3, 0)
    u = world.encrypted(list(range(0, 4000, 20)))
    part = plan.part(world.keys, u, np.zeros((world.set.entries, 0), np.uint32), 0, plan.units)
    sums = np.asarray(plan.open(plan.digest(world.keys, [part], 0), world.secret)).astype(np.int64)
    with pytest.raises(TooManyMessagesError, match=r"^200 entries"):
        decode(sums.reshape(4, 1), world.set.entries, T)


def test_what_does_not_belong_is_refused(world: World) -> None:
    s = world.set
    plan = compression_plan(s, 3, 1)
    payloads = np.zeros((s.entries, 1), np.uint32)
    u = world.encrypted([4])
    with pytest.raises(ShapeError, match="the plan has"):
        plan.part(world.keys, u, payloads[:-1], 0, 1)
    with pytest.raises(Error, match="cancelled"):
        plan.part(world.keys, u, payloads, 0, 1, 1, lambda _: False)
    part = plan.part(world.keys, u, payloads, 0, 1)
    with pytest.raises(MismatchError):
        compression_plan(s, 4, 1).digest(world.keys, [part], 0)
    with pytest.raises(FormatError):
        plan.digest(world.keys, [part + b"\0"], 0)
    with pytest.raises(ShapeError):
        plan.digest(world.keys, [], 0)
    digest = plan.digest(world.keys, [part], 0)
    other = CompressionSecret(compression_context(s), TestSeed(bytes([5]) * 32))
    with pytest.raises(MismatchError, match="another receiver"):
        plan.open(digest, other)
    with pytest.raises(FormatError):
        plan.open(digest[:-1], world.secret)
    with pytest.raises(ParameterError, match=r"1 \.\.\. 254"):
        CompressionPlan(compression_context(s), 255, 1)


def test_a_plan_at_full_size_says_what_it_costs() -> None:
    s = named("ringforge")
    plan = compression_plan(s, 50, s.payload_words)
    assert (plan.outputs, plan.period, plan.values) == (1, 64, 253)
    assert plan.digest_bytes < 263_000
    assert CompressionKeys.saved_bytes(compression_context(s)) < 25_000_000
    noise = plan.noise(4.0**6.2)
    assert noise.failure_log2 < -64
    text = explain(plan, 6.2)
    assert f"{plan.digest_bytes:,} bytes" in text
    assert f"2^{noise.failure_log2:.0f}" in text
    with pytest.raises(ParameterError, match=r"1 \.\.\. 1022"):
        compression_plan(s, 1023, 0)
    for k in (1, 20, 200, 1022):
        assert compression_plan(s, k, s.payload_words).noise(4.0**6.2).failure_log2 < -60
