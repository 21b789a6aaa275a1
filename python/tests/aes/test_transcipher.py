# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Transciphering, on an engine that encrypts nothing: lengths, counters, keys, damage. Under BGV: test_bgv_engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringforge.aes.engine import State
from ringforge.aes.ledger import COUNTERS, CounterReuseError, Ledger
from ringforge.aes.transcipher import (
    Checked,
    Stream,
    StreamKey,
    TagKey,
    Transcipher,
    batches,
    check_block,
    checked,
    decrypt,
    encrypt,
    library_ctr,
)
from ringforge.errors import FormatError, MismatchError, ParameterError, ShapeError
from tests.aes.clear_engine import ClearClient, ClearServer

SLOTS = ClearServer.slots


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


class Keys:
    """Round keys in memory."""

    def __init__(self, key: bytes, client: ClearClient) -> None:
        self._keys = [client.encrypt_round_key(i, key) for i in range(11)]

    def round(self, i: int) -> list[object]:
        return list(self._keys[i])


class World:
    """A client and a server."""

    def __init__(self, where: Path, counter: int | None = None) -> None:
        self.key, self.client, self.counter = StreamKey.new(), ClearClient(), counter
        self.mine, self.theirs = Ledger(where / "mine"), Ledger(where / "theirs")
        self.server = self.with_key(self.key.aes)

    def with_key(self, aes: bytes) -> Transcipher:
        return Transcipher(ClearServer(), Keys(aes, self.client), self.key.tags, self.theirs)

    def back(self, stream: Stream, server: Transcipher | None = None) -> bytes:
        return decrypt(self.key, stream, self.client, list((server or self.server).run(stream)))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 16 * (SLOTS - 1), 16 * (SLOTS - 1) + 1, 16 * SLOTS * 2 + 5])
def test_data_of_any_length_comes_back(world: World, rng: np.random.Generator, size: int) -> None:
    data = rng.bytes(size)
    stream = encrypt(world.key, data, world.mine)
    assert stream.data == library_ctr(world.key.aes, stream.counter, data) != data
    assert len(stream.data) == size
    assert world.back(stream) == data


def test_nothing_is_no_batch(world: World) -> None:
    stream = encrypt(world.key, b"", world.mine)
    assert list(world.server.run(stream)) == []
    assert world.back(stream) == b""


@pytest.mark.parametrize("before", [1, 3, SLOTS - 1, SLOTS])
def test_counters_wrap_within_and_between_batches(tmp_path: Path, rng: np.random.Generator, before: int) -> None:
    world, data = World(tmp_path), rng.bytes(16 * 70 + 3)
    stream = encrypt(world.key, data, world.mine, COUNTERS - before)
    assert world.back(stream) == data
    with pytest.raises(CounterReuseError):
        encrypt(world.key, b"x", world.mine, 0)


def test_reuse_of_counters_is_refused_by_both(world: World) -> None:
    first = encrypt(world.key, b"a" * 100, world.mine, 1000)
    assert world.server.accept(first)
    assert not world.server.accept(first)  # again after a crash
    with pytest.raises(CounterReuseError, match="sum of their plaintexts"):
        encrypt(world.key, b"b", world.mine, 1006)
    fresh = Ledger(Path(world.mine._path).with_name("lost"))
    second = encrypt(world.key, b"b", fresh, 1006)
    with pytest.raises(CounterReuseError):
        list(world.server.run(second))
    assert world.server.accept(encrypt(world.key, b"b", world.mine, 1007))


def test_random_counters_leave_room(world: World) -> None:
    counters = {encrypt(world.key, b"x", world.mine).counter for _ in range(20)}
    assert len(counters) == 20
    assert all(c % (1 << 32) == 0 for c in counters)


def test_a_wrong_key_is_said(world: World) -> None:
    stream = encrypt(world.key, bytes(100), world.mine)
    states = list(world.with_key(bytes(16)).run(stream))
    with pytest.raises(MismatchError, match="another AES key"):
        decrypt(world.key, stream, world.client, states)


def test_wrong_counters_are_said(world: World) -> None:
    stream = encrypt(world.key, bytes(16 * 40), world.mine, 500)
    other = encrypt(world.key, bytes(16 * 40), world.mine, 700)
    states = list(world.server.run(other))
    with pytest.raises(MismatchError, match="counters"):
        decrypt(world.key, stream, world.client, states)
    good = list(world.server.run(stream))
    with pytest.raises(ShapeError, match="2 batches"):
        decrypt(world.key, stream, world.client, good[:1])
    with pytest.raises(ShapeError):
        decrypt(world.key, stream, world.client, good[::-1])


def test_batches_in_another_order_are_said(world: World) -> None:
    stream = encrypt(world.key, bytes(16 * 2 * (SLOTS - 1)), world.mine)
    with pytest.raises(MismatchError):
        decrypt(world.key, stream, world.client, list(world.server.run(stream))[::-1])


def test_damage_is_said(world: World, rng: np.random.Generator) -> None:
    stream = encrypt(world.key, rng.bytes(100), world.mine)
    whole = stream.to_bytes()
    assert Stream.from_bytes(whole) == stream
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        with pytest.raises((FormatError, MismatchError)):
            world.server.accept(Stream.from_bytes(bytes(damaged)))
    for end in range(len(whole)):
        with pytest.raises(FormatError):
            Stream.from_bytes(whole[:end])
    with pytest.raises(FormatError):
        Stream.from_bytes(whole + b"x")
    assert world.server.accept(stream)


def test_another_client_s_stream_is_refused(world: World) -> None:
    other = StreamKey(world.key.aes, TagKey(bytes(32)))
    with pytest.raises(MismatchError, match="send the round keys"):
        world.server.accept(encrypt(other, b"data", world.mine))
    forged = replace(encrypt(other, b"data", world.mine), key_id=world.key.tags.key_id)
    with pytest.raises(FormatError, match="tag"):
        world.server.accept(forged)


def test_the_check_is_seen_through_computations(world: World) -> None:
    stream = encrypt(world.key, bytes(range(48)), world.mine, 9)
    (state,) = world.server.run(stream)
    blocks = world.client.decrypt_blocks(replace(state, ciphertexts=state.ciphertexts))
    expected = check_block(world.key, stream, SLOTS, 0)
    assert expected == library_ctr(world.key.aes, 12, bytes(16))
    small = (blocks[:, 0] < 20).astype(np.uint8)  # as a server would compute it
    assert list(checked(small, [expected[0] < 20])) == [1, 1, 0]
    with pytest.raises(MismatchError):
        checked(small, [expected[0] >= 20])


def test_as_a_source_of_runs(world: World) -> None:
    stream = encrypt(world.key, bytes(16 * (2 * (SLOTS - 1) + 3)), world.mine)
    source = Checked(stream, SLOTS)
    server, keys = ClearServer(), Keys(world.key.aes, world.client)
    assert source.blocks == stream.blocks + 3
    assert source.digest != Checked(replace(stream, counter=5), SLOTS).digest
    sizes = [source.start(server, n, keys.round(0)).blocks for n in range(3)]
    assert sizes == [min(SLOTS, source.blocks - n * SLOTS) for n in range(3)]
    with pytest.raises(ParameterError, match="batch 3"):
        source.start(server, 3, keys.round(0))


def test_progress_may_stop_it(world: World) -> None:
    stream = encrypt(world.key, bytes(16), world.mine)
    seen: list[tuple[int, int, int]] = []

    def progress(*at: int) -> None:
        seen.append(at)  # type: ignore[arg-type]
        if at[0] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.server.batch(stream, 0, progress)
    assert seen[0] == (1, 0, 16)
    assert seen[-1][0] == 3
    assert isinstance(world.server.batch(stream, 0), State)


def test_secrets_are_not_shown(world: World) -> None:
    text = repr(world.key) + repr(world.key.tags) + repr(encrypt(world.key, b"data", world.mine))
    assert world.key.aes.hex() not in text
    assert repr(world.key.aes) not in text
    assert repr(world.key.tags.value) not in text


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda w: StreamKey(b"short", w.key.tags), ShapeError),
        (lambda _: TagKey(b"short"), ShapeError),
        (lambda w: encrypt(w.key, b"x", w.mine, COUNTERS), ParameterError),
        (lambda w: encrypt(w.key, b"x", w.mine, -1), ParameterError),
        (lambda w: batches(encrypt(w.key, b"x", w.mine), 1), ParameterError),
        (lambda w: w.server.batch(encrypt(w.key, b"x", w.mine), 1), ParameterError),
    ],
)
def test_arguments(world: World, wrong: Callable[[World], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong(world)
