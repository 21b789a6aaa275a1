# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The engine that other tests stand on does what AES does, as a library has it."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ringforge.aes.engine import AesClient, AesServer, Direction
from ringforge.errors import MismatchError, ShapeError
from tests.aes.clear_engine import ClearClient, ClearServer


def library(key: bytes, blocks: np.ndarray, direction: str) -> np.ndarray:
    """AES of a library."""
    cipher = Cipher(algorithms.AES(key), modes.ECB())
    made = cipher.encryptor() if direction == "encrypt" else cipher.decryptor()
    return np.frombuffer(made.update(blocks.tobytes()) + made.finalize(), np.uint8).reshape(-1, 16)


def through(client: AesClient, server: AesServer, key: bytes, blocks: np.ndarray, direction: Direction) -> np.ndarray:
    """All rounds, one after the other."""
    state = server.start(client.encrypt_blocks(blocks, direction), client.encrypt_round_key(0, key, direction))
    for i in range(1, 11):
        state = server.round(state, i, client.encrypt_round_key(i, key, direction))
    return client.decrypt_blocks(state)


@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
def test_is_aes(direction: Direction) -> None:
    rng = np.random.default_rng(5)
    key, blocks = rng.bytes(16), rng.integers(0, 256, (20, 16), dtype=np.uint8)
    assert np.array_equal(
        through(ClearClient(), ClearServer(), key, blocks, direction), library(key, blocks, direction)
    )


def test_clear_inputs() -> None:
    rng = np.random.default_rng(6)
    key, counters, stream = rng.bytes(16), *(rng.integers(0, 256, (3, 16), dtype=np.uint8) for _ in range(2))
    client, server = ClearClient(), ClearServer()
    state = server.start_clear(counters, client.encrypt_round_key(0, key))
    for i in range(1, 11):
        state = server.round(state, i, client.encrypt_round_key(i, key))
    expected = library(key, counters, "encrypt") ^ stream
    assert np.array_equal(client.decrypt_blocks(server.add_clear(state, stream)), expected)
    with pytest.raises(ShapeError):
        server.add_clear(state, stream[:2])
    with pytest.raises(MismatchError, match="after round 10"):
        server.round(state, 3, client.encrypt_round_key(3, key))
