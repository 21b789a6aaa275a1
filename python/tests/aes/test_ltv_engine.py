# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES under LTV in a ring of 16 slots, at the depth of the real set, against AES in the clear and FIPS-197."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ringforge import ltv
from ringforge.aes import clear
from ringforge.aes.engine import DIRECTIONS, Direction, State
from ringforge.aes.ltv_engine import LEVELS, LtvClient, LtvServer, lags, plan
from ringforge.aes.ltv_noise import budgets
from ringforge.aes.sbox import cipher
from ringforge.errors import MismatchError, MissingKeyError, NoiseError, ParameterError, ShapeError

#: FIPS-197, appendix B and C.1: key, plaintext, ciphertext.
FIPS = [
    ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
]


class Told:
    """What a progress function is told; it gives up after as many bytes."""

    def __init__(self, most: int = 16) -> None:
        self.calls: list[tuple[int, int]] = []
        self._most = most

    def __call__(self, done: int, total: int) -> None:
        self.calls.append((done, total))
        if done > self._most:
            raise InterruptedError


@dataclass
class World:
    client: LtvClient
    server: LtvServer
    keys: ltv.KeyDirectory

    def run(self, blocks: clear.Bytes, key: bytes, direction: Direction = "encrypt", rounds: int = 10) -> State:
        state = self.server.start(
            self.client.encrypt_blocks(blocks, direction), self.client.encrypt_round_key(0, key, direction)
        )
        for i in range(1, rounds + 1):
            state = self.server.round(state, i, self.client.encrypt_round_key(i, key, direction))
        return state


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    directory = tmp_path_factory.mktemp("keys")
    context = ltv.Context(ltv.Parameters.named("ltv-test-aes", insecure="tests of AES"))
    client = ltv.Client(context)
    secret, public = client.keys()
    keys = ltv.KeyDirectory(directory, context)
    keys.write_public(public)
    keys.write(client, secret, public, lags=lags())
    return World(LtvClient(context, secret, public), LtvServer(context, keys), keys)


def _rows(*texts: str) -> clear.Bytes:
    return np.array([list(bytes.fromhex(t)) for t in texts], np.uint8)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_whole_aes_and_noise_at_each_round(world: World, direction: Direction) -> None:
    rng = np.random.default_rng(3)
    key, plain, secret = FIPS[0]
    first = _rows(plain if direction == "encrypt" else secret)
    blocks = np.concatenate([first, rng.integers(0, 256, (15, 16), np.uint8)])
    key_bytes = bytes.fromhex(key)
    states = clear.encryption_states if direction == "encrypt" else clear.decryption_states
    expected = states(key_bytes, blocks)
    noise = budgets(world.keys.context.params, direction, "independent")
    split = budgets(world.keys.context.params, direction)
    state = world.client.encrypt_blocks(blocks, direction)
    assert np.array_equal(world.client.decrypt_blocks(state), blocks)
    state = world.server.start(state, world.client.encrypt_round_key(0, key_bytes, direction))
    for i in range(1, 11):
        assert np.array_equal(world.client.decrypt_blocks(state), expected[i - 1])
        told = Told()
        state = world.server.round(state, i, world.client.encrypt_round_key(i, key_bytes, direction), told)
        assert (told.calls[0], told.calls[-1]) == ((0, 16), (16, 16))
        assert told.calls == sorted(told.calls)
        predicted, measured = world.server.predicted_budget(state), world.client.measured_budget(state)
        assert 0 < predicted <= measured, (i, predicted, measured)
        assert abs(predicted - noise[i]) < 1e-6, "as it is predicted without ciphertexts"
        assert predicted - 2 < split[i] <= measured
    assert np.array_equal(world.client.decrypt_blocks(state), expected[10])
    assert state.round == 10
    assert bytes(world.client.decrypt_blocks(state)[0]).hex() == (secret if direction == "encrypt" else plain)


def test_fewer_blocks_than_slots_and_clear_blocks(world: World) -> None:
    key, plain, secret = FIPS[1]
    key_bytes = bytes.fromhex(key)
    round_keys = [world.client.encrypt_round_key(i, key_bytes) for i in range(11)]
    state = world.server.start_clear(_rows(plain), round_keys[0])
    for i in range(1, 11):
        state = world.server.round(state, i, round_keys[i])
    assert world.client.decrypt_blocks(state).tobytes().hex() == secret
    mask = _rows("ff00" * 8)
    added = world.server.add_clear(state, mask)
    assert np.array_equal(world.client.decrypt_blocks(added), _rows(secret) ^ mask)


def test_counts_are_the_papers() -> None:
    for direction in DIRECTIONS:
        levels = [level for step in cipher(direction).rounds for level in plan(step.box)]
        assert len(levels) == LEVELS
        assert 16 * sum(len(level.results) for level in levels) == 2880
        products = [level.products for step in cipher(direction).rounds for level in step.box.levels]
        assert 16 * sum(len(p) for p in products) == 5760
    assert [lags()[i] for i in range(1, 9)] == [0, 0, 1, 3, 0, 0, 1, 3]


def test_states_between_rounds_are_bytes_and_back(world: World) -> None:
    state = world.run(_rows(FIPS[0][1]), bytes.fromhex(FIPS[0][0]), rounds=1)
    again = [world.server.from_bytes(world.server.to_bytes(c)) for c in state.ciphertexts]
    assert all(len(world.server.to_bytes(c)) <= world.server.max_record_bytes for c in state.ciphertexts)
    back = State(state.scheme, state.blocks, state.round, state.direction, again)
    assert np.array_equal(world.client.decrypt_blocks(back), world.client.decrypt_blocks(state))


def _refusals(world: World, tmp_path: Path) -> Iterator[tuple[type[Exception], object]]:
    key = bytes(16)
    fresh = world.client.encrypt_blocks(_rows(FIPS[0][1]))
    zero, one = world.client.encrypt_round_key(0, key), world.client.encrypt_round_key(1, key)
    started = world.server.start(fresh, zero)
    server = world.server
    yield MismatchError, lambda: server.start(started, zero)
    yield MismatchError, lambda: server.start(fresh, one)
    yield MismatchError, lambda: server.round(fresh, 1, one)
    yield MismatchError, lambda: server.round(started, 2, one)
    yield MismatchError, lambda: server.round(started, 1, zero)
    yield ShapeError, lambda: server.round(started, 1, one[:-1])
    yield ShapeError, lambda: server.start(State("ltv", 1, -1, "encrypt", zero[:-1]), zero)
    yield MismatchError, lambda: server.start(State("bgv", 1, -1, "encrypt", zero), zero)
    yield ShapeError, lambda: server.add_clear(started, np.zeros((2, 16), np.uint8))
    yield ShapeError, lambda: world.client.encrypt_blocks(np.zeros((17, 16), np.uint8))
    yield ShapeError, lambda: world.client.encrypt_round_key(0, bytes(15))
    yield ParameterError, lambda: world.client.encrypt_round_key(11, key)
    other = LtvServer(world.keys.context, ltv.KeyDirectory(tmp_path, world.keys.context))
    yield MissingKeyError, lambda: other.round(started, 1, one)
    small = ltv.Context(ltv.Parameters.named("ltv-test", insecure="tests"))
    yield ParameterError, lambda: LtvServer(small, world.keys)
    foreign = ltv.Client(world.keys.context)
    _, public = foreign.keys()
    strange = [foreign.encrypt(np.zeros(1, np.uint8), public) for _ in range(128)]
    yield MismatchError, lambda: server.start(fresh, strange)


def test_refusals(world: World, tmp_path: Path) -> None:
    for error, call in _refusals(world, tmp_path):
        with pytest.raises(error):
            call()  # type: ignore[operator]


def test_a_round_that_is_given_up_leaves_the_server_usable(world: World) -> None:
    key = bytes(16)
    started = world.server.start(world.client.encrypt_blocks(_rows(FIPS[0][1])), world.client.encrypt_round_key(0, key))

    one = world.client.encrypt_round_key(1, key)
    with pytest.raises(InterruptedError):
        world.server.round(started, 1, one, Told(5))
    done = world.server.round(started, 1, one)
    assert np.array_equal(world.client.decrypt_blocks(done), clear.encryption_states(key, _rows(FIPS[0][1]))[1])


def test_keys_of_another_lag_are_refused(world: World, tmp_path: Path) -> None:
    context = world.keys.context
    client = ltv.Client(context)
    secret, public = client.keys()
    keys = ltv.KeyDirectory(tmp_path, context)
    keys.write(client, secret, public, levels=[4])
    with pytest.raises(MismatchError, match="lag"):
        keys.read_into(ltv.Relinearizer(context), 4, 3)
    with pytest.raises(MismatchError):
        keys.write(client, secret, public, levels=[4], lags=lags())


def test_what_may_be_wrong_is_not_decrypted(world: World) -> None:
    batch = ltv.BatchEvaluator(world.keys.context)
    c = batch.carry([world.client.encrypt_blocks(_rows(FIPS[0][1])).ciphertexts[0]], LEVELS)[0]
    for _ in range(24):
        c = batch.sums([c, c], [[0, 1]])[0]
    with pytest.raises(NoiseError):
        world.client.decrypt_blocks(State("ltv", 1, -1, "encrypt", [c] * 128))
