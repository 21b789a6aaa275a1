# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An engine that encrypts nothing: what drives engines is tested with it, in no time. For tests only.

Its AES is its own: S-box from inverses found by trying, MixColumns from the definition.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.aes.byte_circuit import Circuit, Clear, run
from ringforge.aes.engine import (
    FRESH,
    ROUNDS,
    Blocks,
    Direction,
    Progress,
    State,
    as_blocks,
    as_direction,
    as_key,
)
from ringforge.errors import FormatError, MismatchError, NoiseError, ParameterError, ShapeError

#: Stands for the hash of parameters.
PARAMETERS = bytes(range(32))

#: Bits of budget of a fresh ciphertext, and what a round takes.
FULL, EACH = 100.0, 9.0


def _times(a: int, b: int) -> int:
    out = 0
    for i in range(8):
        if b >> i & 1:
            out ^= a << i
    for i in range(14, 7, -1):
        if out >> i & 1:
            out ^= 0x11B << (i - 8)
    return out


def _sbox() -> Blocks:
    products = {(a, b): _times(a, b) for a in range(1, 256) for b in range(1, 256)}
    inverse = [0] * 256
    for (a, b), c in products.items():
        if c == 1:
            inverse[a] = b
    turn = [[v << k & 255 | v >> (8 - k) for k in range(5)] for v in inverse]
    return np.array([t[0] ^ t[1] ^ t[2] ^ t[3] ^ t[4] ^ 0x63 for t in turn], np.uint8)


SBOX = _sbox()
INVERSE_SBOX = np.argsort(SBOX).astype(np.uint8)
#: Where byte j of a state comes from in ShiftRows.
SHIFT = np.array([4 * ((j // 4 + j % 4) % 4) + j % 4 for j in range(16)])
_BY = {c: np.array([_times(v, c) for v in range(256)], np.uint8) for c in (1, 2, 3, 9, 11, 13, 14)}


def expand(key: bytes) -> list[Blocks]:
    """The 11 round keys of FIPS-197, 16 bytes each."""
    words = [list(key[4 * i : 4 * i + 4]) for i in range(4)]
    constant = 1
    for i in range(4, 44):
        w = list(words[-1])
        if i % 4 == 0:
            w = [int(SBOX[b]) for b in [*w[1:], w[0]]]
            w[0] ^= constant
            constant = _times(constant, 2)
        words.append([a ^ b for a, b in zip(words[i - 4], w, strict=True)])
    return [np.array(words[4 * i : 4 * i + 4], np.uint8).reshape(16) for i in range(11)]


def _mix(state: Blocks, row: tuple[int, ...]) -> Blocks:
    columns = state.reshape(-1, 4, 4)
    out = np.zeros_like(columns)
    for r in range(4):
        for k in range(4):
            out[:, :, r] ^= _BY[row[k]][columns[:, :, (r + k) % 4]]
    return out.reshape(state.shape)


@dataclass(frozen=True)
class Ciphertext:
    """A byte of every slot, in the clear, and a budget."""

    values: Blocks
    budget: float


class _Codec:
    scheme, slots, ciphertexts, parameter_hash, max_record_bytes = "clear", 32, 16, PARAMETERS, 1 << 10

    def to_bytes(self, c: Ciphertext) -> bytes:
        body = np.float64(c.budget).tobytes() + c.values.tobytes()
        return bytes(_native.io.seal(_native.io.LABEL, PARAMETERS, body))

    def from_bytes(self, record: bytes) -> Ciphertext:
        _, parameters, body = _native.io.unseal(record, _native.io.LABEL)
        if parameters != PARAMETERS:
            raise MismatchError("of other parameters")
        if len(body) != 8 + self.slots:
            raise FormatError("no ciphertext")
        return Ciphertext(np.frombuffer(body[8:], np.uint8), float(np.frombuffer(body[:8])[0]))


def _wide(blocks: Blocks, slots: int) -> Blocks:
    out = np.zeros((slots, 16), np.uint8)
    out[: len(blocks)] = blocks
    return out


def _split(state: Blocks, budget: float) -> list[Ciphertext]:
    return [Ciphertext(np.ascontiguousarray(state[:, j]), budget) for j in range(16)]


def _joined(ciphertexts: Sequence[Any]) -> Blocks:
    if len(ciphertexts) != 16 or not all(isinstance(c, Ciphertext) for c in ciphertexts):
        raise ShapeError("16 ciphertexts are needed")
    return np.stack([c.values for c in ciphertexts], axis=1)


class ClearClient(_Codec):
    """Encrypts nothing."""

    def encrypt_blocks(self, blocks: Blocks, direction: Direction = "encrypt") -> State:
        good = as_blocks(blocks, self.slots)
        return State("clear", len(good), FRESH, as_direction(direction), _split(_wide(good, self.slots), FULL))

    def encrypt_round_key(self, i: int, key: bytes, direction: Direction = "encrypt") -> list[Ciphertext]:
        keys = expand(as_key(key))
        if not 0 <= i <= ROUNDS:
            raise ParameterError(f"round {i}: 0 to {ROUNDS} are possible")
        one = keys[i if as_direction(direction) == "encrypt" else ROUNDS - i]
        return _split(np.repeat(one[None], self.slots, axis=0), FULL)

    def decrypt_blocks(self, state: State) -> Blocks:
        if self.measured_budget(state) <= 0:
            raise NoiseError("nothing is left of the budget")
        return _joined(state.ciphertexts)[: state.blocks]

    def measured_budget(self, state: State) -> float:
        return min(c.budget for c in state.ciphertexts) + 1.5


class ClearServer(_Codec):
    """Computes in the clear.

    Args:
        seconds: that each round takes.
    """

    shares = (2.0, *(1.0,) * (ROUNDS - 1))

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    def start(self, state: State, key: list[Any]) -> State:
        if state.scheme != self.scheme or state.round != FRESH:
            raise MismatchError(f"a state of {state.scheme} after round {state.round}; a fresh one is needed")
        return self._added(state.blocks, state.direction, 0, _joined(state.ciphertexts), key, FULL)

    def start_clear(self, blocks: Blocks, key: list[Any], direction: Direction = "encrypt") -> State:
        good = as_blocks(blocks, self.slots)
        return self._added(len(good), as_direction(direction), 0, _wide(good, self.slots), key, FULL)

    def round(self, state: State, i: int, key: list[Any], progress: Progress | None = None) -> State:
        if state.scheme != self.scheme or state.round != i - 1 or not 1 <= i <= ROUNDS:
            raise MismatchError(f"round {i} on a state of {state.scheme} after round {state.round}")
        x = _joined(state.ciphertexts)
        budget = min(c.budget for c in state.ciphertexts) - EACH
        for done in range(17):
            if progress is not None:
                progress(done, 16)
            time.sleep(self._seconds / 17)
        if state.direction == "encrypt":
            x = SBOX[x][:, SHIFT]
            if i < ROUNDS:
                x = _mix(x, (2, 3, 1, 1))
            return self._added(state.blocks, state.direction, i, x, key, budget)
        x = INVERSE_SBOX[x[:, np.argsort(SHIFT)]] ^ _joined(key)
        if i < ROUNDS:
            x = _mix(x, (14, 11, 13, 9))
        return State("clear", state.blocks, i, state.direction, _split(x, budget))

    def add_clear(self, state: State, blocks: Blocks) -> State:
        good = as_blocks(blocks, self.slots)
        if len(good) != state.blocks:
            raise ShapeError(f"{len(good)} blocks for a state of {state.blocks}")
        x = _joined(state.ciphertexts) ^ _wide(good, self.slots)
        return State("clear", state.blocks, state.round, state.direction, _split(x, self.predicted_budget(state)))

    def compute(self, circuit: Circuit, inputs: Sequence[Any]) -> list[Ciphertext]:
        made = run(circuit, Clear(), [c.values for c in inputs])
        return [Ciphertext(y, min(c.budget for c in inputs)) for y in made]

    def predicted_budget(self, state: State) -> float:
        return float(min(c.budget for c in state.ciphertexts))

    def _added(self, blocks: int, direction: Direction, i: int, x: Blocks, key: list[Any], budget: float) -> State:
        return State("clear", blocks, i, direction, _split(x ^ _joined(key), budget))
