# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 under BGV on 16 slots: against a library's AES, noise against the plan, transciphering, computations."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ringforge.aes import byte_numbers as numbers
from ringforge.aes import clear
from ringforge.aes.bgv_engine import BgvClient, BgvServer, EvaluationKeys
from ringforge.aes.engine import FRESH, ROUNDS, Blocks, Direction, State
from ringforge.aes.ledger import Ledger
from ringforge.aes.transcipher import StreamKey, Transcipher, check_block, checked, decrypt, encrypt
from ringforge.bgv import Client, Context, Parameters
from ringforge.errors import MismatchError, NoiseError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

KEY = bytes.fromhex("000102030405060708090a0b0c0d0e0f")


class World:
    """Both sides of a set."""

    def __init__(self, name: str) -> None:
        self.context = Context(Parameters.named(name, insecure="tests"))
        made = Client(self.context)
        self.secret = made.secret_key()
        self.client = BgvClient(self.context, self.secret)
        self.server = BgvServer(self.context, self.client.evaluation_keys())
        self._round_keys: dict[tuple[bytes, int, Direction], list[object]] = {}

    def round_key(self, i: int, key: bytes = KEY, direction: Direction = "encrypt") -> list[object]:
        place = key, i, direction
        if place not in self._round_keys:
            self._round_keys[place] = list(self.client.encrypt_round_key(i, key, direction))
        return self._round_keys[place]

    def run(self, state: State, rounds: int = ROUNDS) -> State:
        """Rounds 1 and on, noise held against the plan after each, and measured noise against it."""
        plan = self.server.plan(state.direction)
        for i in range(state.round + 1, rounds + 1):
            state = self.server.round(state, i, self.round_key(i, direction=state.direction))
            assert max(c.noise.log_bound for c in state.ciphertexts) <= plan.noise(i).log_bound + 1e-6
            assert self.server.predicted_budget(state) >= plan.budget(i) - 1e-6
            assert self.client.measured_budget(state) >= self.server.predicted_budget(state)
        return state

    @cached_property
    def blocks(self) -> Blocks:
        made = np.random.default_rng(5).integers(0, 256, (self.client.slots - 3, 16), dtype=np.uint8)
        made[0] = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), np.uint8)
        return made


@pytest.fixture(scope="module")
def world() -> World:
    return World("bgv-test")


@pytest.fixture
def keys(world: World) -> KeysOf:
    return KeysOf(world, KEY)


class KeysOf:
    """Round keys in memory."""

    def __init__(self, world: World, key: bytes) -> None:
        self._world, self._key = world, key

    def round(self, i: int) -> list[object]:
        return self._world.round_key(i, self._key)


def library(key: bytes, blocks: Blocks) -> Blocks:
    ecb = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return np.frombuffer(ecb.update(blocks.tobytes()), np.uint8).reshape(-1, 16)


def test_aes_both_ways_is_a_library_s(world: World) -> None:
    there = library(KEY, world.blocks)
    assert there[0].tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"  # FIPS-197, appendix C.1
    for direction, given, expected in (("encrypt", world.blocks, there), ("decrypt", there, world.blocks)):
        fresh = world.client.encrypt_blocks(given, direction)  # type: ignore[arg-type]
        assert fresh.round == FRESH
        state = world.server.start(fresh, world.round_key(0, direction=direction))  # type: ignore[arg-type]
        assert np.array_equal(world.client.decrypt_blocks(world.run(state)), expected)
        assert len(fresh.ciphertexts) == 16


def test_states_between_rounds_are_those_of_aes(world: World) -> None:
    state = world.server.start(world.client.encrypt_blocks(world.blocks), world.round_key(0))
    states = clear.encryption_states(KEY, world.blocks)
    for i in range(3):
        state = world.run(state, i)
        assert np.array_equal(world.client.decrypt_blocks(state), states[i])


def test_progress_counts_bytes_and_may_stop_a_round(world: World) -> None:
    state = world.server.start(world.client.encrypt_blocks(world.blocks), world.round_key(0))
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 3 and total == 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.server.round(state, 1, world.round_key(1), stop)
    assert seen == [(n, 16) for n in range(4)]
    seen.clear()
    after = world.server.round(state, 1, world.round_key(1), lambda *at: seen.append(at))
    assert seen == [(n, 16) for n in range(17)]
    assert np.array_equal(world.client.decrypt_blocks(after), clear.encryption_states(KEY, world.blocks)[1])


def test_ciphertexts_of_a_state_as_bytes(world: World) -> None:
    state = world.client.encrypt_blocks(world.blocks)
    records = [world.client.to_bytes(c) for c in state.ciphertexts]
    assert max(map(len, records)) <= world.server.max_record_bytes
    back = replace(state, ciphertexts=[world.server.from_bytes(r) for r in records])
    assert np.array_equal(world.client.decrypt_blocks(back), world.blocks)
    started = world.server.start(back, world.round_key(0))
    again = [world.server.from_bytes(world.server.to_bytes(c)) for c in started.ciphertexts]
    added = world.blocks ^ np.frombuffer(KEY, np.uint8)
    assert np.array_equal(world.client.decrypt_blocks(replace(started, ciphertexts=again)), added)


def test_transciphering_and_computing_on_the_result(world: World, keys: KeysOf, tmp_path: Path) -> None:
    stream_key = StreamKey(KEY, StreamKey.new().tags)
    slots = world.client.slots
    data = bytes(np.random.default_rng(7).integers(0, 256, 16 * (slots - 1) + 20, dtype=np.uint8))
    stream = encrypt(stream_key, data, Ledger(tmp_path / "client"), (1 << 128) - 4)
    server = Transcipher(world.server, keys, stream_key.tags, Ledger(tmp_path / "server"))
    states = list(server.run(stream))
    assert decrypt(stream_key, stream, world.client, states) == data

    # Computations on bytes 0 and 1 of every block, the check seen through them.
    expected = np.frombuffer(data[: 16 * (slots - 1)], np.uint8).reshape(-1, 16)
    check = np.frombuffer(check_block(stream_key, stream, slots, 0), np.uint8)
    columns = np.vstack([expected, check]).astype(int)
    x, y = columns[:, 0], columns[:, 1]
    a, b = states[0].ciphertexts[:2]
    for circuit, inputs, oracle in (
        (numbers.less_than(), [a, b], [x < y]),
        (numbers.less_than_constant(100), [a], [x < 100]),
        (numbers.equal(), [a, b], [x == y]),
        (numbers.equal(), [a, a], [x == x]),
        (numbers.add(), [a, b], [(x + y) % 256, (x + y) >> 8]),
    ):
        plan = world.server.plan_circuit(circuit, inputs)
        results = world.server.compute(circuit, inputs)
        for result, right in zip(results, oracle, strict=True):
            values = world.client.decrypt_bytes(result, slots)
            assert np.array_equal(checked(values, [int(right[-1])]), right[:-1])
            assert result.noise.log_bound <= plan.noises[0].log_bound + 1e-6


def test_five_products_are_left(world: World, keys: KeysOf) -> None:
    state = world.server.start_clear(world.blocks, keys.round(0))
    for i in range(1, ROUNDS + 1):
        state = world.server.round(state, i, keys.round(i))
    plan, evaluator, c = world.server.plan("encrypt"), world.server.evaluator, state.ciphertexts[3]
    expected = library(KEY, world.blocks)[:, 3]
    for n in range(5):
        limbs = plan.limbs(ROUNDS + 1 + n)
        assert c.limbs == limbs[0]
        c = evaluator.multiply(c, c, world.server.keys.relin, limbs[0] - limbs[1])
        expected = clear.multiply(expected, expected)
    assert np.array_equal(world.client.decrypt_bytes(c, len(expected)), expected)
    with pytest.raises(ParameterError, match="fewer levels"):
        world.server.compute(numbers.less_than(), [c, c])


def test_what_does_not_belong_together_is_refused(world: World) -> None:
    fresh = world.client.encrypt_blocks(world.blocks)
    started = world.server.start(fresh, world.round_key(0))
    with pytest.raises(MismatchError, match="fresh"):
        world.server.start(started, world.round_key(0))
    with pytest.raises(MismatchError, match="comes after"):
        world.server.round(started, 2, world.round_key(2))
    with pytest.raises(MismatchError, match="round key 1"):
        world.server.round(started, 1, world.round_key(9))
    with pytest.raises(MismatchError, match="state before round 3"):
        world.server.round(replace(started, round=2), 3, world.round_key(3))
    with pytest.raises(MismatchError, match="engine of its scheme"):
        world.server.start(replace(fresh, scheme="ltv"), world.round_key(0))
    with pytest.raises(ShapeError):
        world.server.start(replace(fresh, ciphertexts=fresh.ciphertexts[:15]), world.round_key(0))
    with pytest.raises(ShapeError):
        world.server.round(started, 1, world.round_key(1)[:3])
    with pytest.raises(ShapeError):
        world.server.add_clear(started, world.blocks[:2])
    with pytest.raises(ParameterError, match="rounds 1 to 10"):
        world.server.round(started, 11, world.round_key(10))
    with pytest.raises(ShapeError):
        world.client.encrypt_blocks(np.zeros((world.client.slots + 1, 16), np.uint8))
    with pytest.raises(RingforgeValueError):
        world.client.encrypt_blocks(np.full((1, 16), 256))
    with pytest.raises(ParameterError):
        world.client.encrypt_round_key(11, KEY)
    with pytest.raises(ShapeError) as e:
        world.client.encrypt_round_key(1, b"a secret of 17 B.")
    assert "secret" not in str(e.value)


def test_noise_beyond_the_plan_is_refused(world: World) -> None:
    state = world.server.start(world.client.encrypt_blocks(world.blocks), world.round_key(0))
    more = [c if n else world.server.evaluator.add(c, c) for n, c in enumerate(state.ciphertexts)]
    with pytest.raises(NoiseError, match="planned"):
        world.server.round(replace(state, ciphertexts=more), 1, world.round_key(1))


def test_keys_of_another_client_decrypt_nothing(world: World) -> None:
    other = BgvClient(world.context, Client(world.context).secret_key())
    with pytest.raises(MismatchError):
        other.decrypt_blocks(world.client.encrypt_blocks(world.blocks))
    foreign = EvaluationKeys.make(world.context, Client(world.context), Client(world.context).secret_key())
    server = BgvServer(world.context, foreign)
    state = server.start(world.client.encrypt_blocks(world.blocks), world.round_key(0))
    with pytest.raises(MismatchError):
        server.round(state, 1, world.round_key(1))
