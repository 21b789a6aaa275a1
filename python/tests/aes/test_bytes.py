# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits over bytes in the clear: AES against a library, comparisons and sums against numpy; their counts."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ringforge.aes import byte_numbers as numbers
from ringforge.aes import clear
from ringforge.aes.byte_aes import SUBSTITUTE, added_key, inversion, round_circuit, round_key, substitution
from ringforge.aes.byte_circuit import (
    BIT_MAPS,
    Circuit,
    Clear,
    Maps,
    Power,
    Product,
    Sum,
    apply,
    linear_map,
    operands,
    run,
)
from ringforge.aes.clear import Bytes
from ringforge.aes.engine import ROUNDS, Direction
from ringforge.errors import ParameterError, ShapeError

ALL = np.arange(256, dtype=np.uint8)
X, Y = np.repeat(ALL, 256), np.tile(ALL, 256)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def once(circuit: Circuit, *inputs: Bytes) -> list[Bytes]:
    return run(circuit, Clear(), list(inputs))


def aes(key: bytes, blocks: Bytes, direction: Direction) -> Bytes:
    """AES as the circuits have it."""

    def columns(i: int) -> list[Bytes]:
        return [np.full(len(blocks), b, np.uint8) for b in round_key(i, key, direction)]

    state = once(added_key(), *blocks.T, *columns(0))
    for i in range(1, ROUNDS + 1):
        state = once(round_circuit(i, direction), *state, *columns(i))
    return np.stack(state, axis=1)


def test_aes_is_a_library_s(rng: np.random.Generator) -> None:
    for _ in range(3):
        key, blocks = rng.bytes(16), rng.integers(0, 256, (40, 16), dtype=np.uint8)
        ecb = Cipher(algorithms.AES(key), modes.ECB())
        there = np.frombuffer(ecb.encryptor().update(blocks.tobytes()), np.uint8).reshape(-1, 16)
        assert np.array_equal(aes(key, blocks, "encrypt"), there)
        assert np.array_equal(aes(key, there, "decrypt"), blocks)


def test_substitution_is_the_s_box_of_all_bytes() -> None:
    assert np.array_equal(once(substitution(), ALL)[0], clear.SBOX)
    assert np.array_equal(once(inversion(), ALL)[0], clear.inverse(ALL))


def test_coefficients_of_the_affine_map_are_the_published_ones() -> None:
    # Daemen and Rijmen, "AES proposal: Rijndael" (1999).
    assert SUBSTITUTE[1] == (0x05, 0x09, 0xF9, 0x25, 0xF4, 0x01, 0xB5, 0x8F)


def test_counts_of_aes_are_those_planned() -> None:
    for direction, downs, plains in (("encrypt", 1424, 2432), ("decrypt", 1712, 4736)):
        counts = [round_circuit(i, direction).counts() for i in range(1, ROUNDS + 1)]  # type: ignore[arg-type]
        assert sum(c.depth for c in counts) == 30
        assert sum(c.plain_depth for c in counts) == 10
        totals = [sum(column) for column in zip(*map(astuple, counts), strict=True)]
        # Planned: 160 S-boxes of 4 products, 3 + 7 Frobenius maps, 4 relinearisations.
        assert totals[2:] == [640, 2240, 1280, downs, plains]
    one = substitution().counts()
    assert (one.products, one.key_switches, one.mod_ups, one.mod_downs) == (4, 14, 8, 8)
    assert one.times(160).products == 640
    text = round_circuit(1).explain()
    assert "64 products, 224 key switches in 128 ModUps and 144 ModDowns" in text
    assert "stage 3: 16 Maps, 16 Sum" in text


def test_round_of_one_byte_has_steps_of_one_of_sixteen() -> None:
    for direction in ("encrypt", "decrypt"):
        for i in range(1, ROUNDS + 1):
            whole, one = round_circuit(i, direction), round_circuit(i, direction, 1)  # type: ignore[arg-type]
            assert one.counts().times(16) == whole.counts()
            assert one.stages == whole.stages


def test_linear_maps() -> None:
    for i in range(8):
        assert np.array_equal(apply(BIT_MAPS[i], ALL), ALL >> i & 1)
    swap = linear_map(lambda x: (x << 4 | x >> 4).astype(np.uint8))
    assert np.array_equal(apply(swap, ALL), (ALL << 4 | ALL >> 4).astype(np.uint8))
    with pytest.raises(ParameterError, match="linear"):
        linear_map(clear.inverse)


def test_comparisons_of_all_pairs() -> None:
    assert np.array_equal(once(numbers.less_than(), X, Y)[0], X < Y)
    assert np.array_equal(once(numbers.equal(), X, Y)[0], X == Y)
    for limit in range(1, 256):
        assert np.array_equal(once(numbers.less_than_constant(limit), ALL)[0], limit > ALL)
    for bad in (0, 256, -1):
        with pytest.raises(ParameterError, match="limit"):
            numbers.less_than_constant(bad)


def test_sums_of_all_pairs() -> None:
    total, carry = once(numbers.add(), X, Y)
    exact = X.astype(int) + Y
    assert np.array_equal(total, exact % 256)
    assert np.array_equal(carry, exact >> 8)


def test_depths_fit_five_levels() -> None:
    for circuit, depth in (
        (numbers.less_than(), 4),
        (numbers.less_than_constant(77), 3),
        (numbers.equal(), 3),
        (numbers.add(), 4),
    ):
        assert circuit.counts().depth == depth


def test_values_are_let_go_after_their_last_use() -> None:
    circuit = round_circuit(1)
    alive, most = 32, 0

    def done(steps: int) -> None:
        nonlocal most
        made = 32 + sum(len(s.maps) if isinstance(s, Maps) else 1 for s in circuit.steps[:steps])
        most = max(most, sum(circuit.last_use[v] >= steps for v in range(made)))

    run(circuit, Clear(), [ALL] * 32, done)
    # 16 bytes of the key; of every byte the two maps, or it; and of the byte at work what an inversion needs.
    assert alive < most <= 16 + 2 * 16 + 4


def test_circuits_are_checked() -> None:
    with pytest.raises(ParameterError, match="later stage"):
        Circuit("bad", 1, 1, (Product(1, 0, 0), Power(0, 0, 1)), (2,))
    with pytest.raises(ParameterError, match="not there"):
        Circuit("bad", 1, 1, (Sum(0, ((1, 1),)),), (1,))
    with pytest.raises(ParameterError, match="coefficients"):
        Circuit("bad", 1, 1, (Maps(0, 0, ((1, 2),)),), (1,))
    with pytest.raises(ParameterError, match="stage"):
        Circuit("bad", 1, 1, (Power(2, 0, 1),), (1,))
    with pytest.raises(ParameterError, match="outputs"):
        Circuit("bad", 1, 1, (Power(0, 0, 1),), (2,))
    with pytest.raises(ShapeError, match="takes 1 inputs"):
        once(inversion(), ALL, ALL)
    for i in (0, 11):
        with pytest.raises(ParameterError, match="rounds 1 to 10"):
            round_circuit(i)
    with pytest.raises(ParameterError, match="round"):
        round_key(11, bytes(16))


def test_operands_come_before_results() -> None:
    circuit = numbers.add()
    made = circuit.inputs
    for s in circuit.steps:
        assert all(v < made for v in operands(s))
        made += len(s.maps) if isinstance(s, Maps) else 1
