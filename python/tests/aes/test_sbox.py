# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The circuits of AES are AES, with the counts they are said to have; bad circuits are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge.aes import bases, clear, sbox, tower
from ringforge.aes.circuit import Circuit, Counts, Level, Result, Sum, shared
from ringforge.errors import ParameterError, ShapeError

DIRECTIONS: tuple[sbox.Direction, ...] = get_args(sbox.Direction)
KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
ALL = np.arange(256, dtype=np.uint8)


def byte_bits(values: clear.Bytes) -> clear.Bytes:
    return values[None] >> np.arange(8, dtype=np.uint8)[:, None] & np.uint8(1)


def random_blocks(count: int) -> clear.Bytes:
    return np.random.default_rng(count).integers(0, 256, (count, 16), dtype=np.uint8)


def library(direction: sbox.Direction, key: bytes, blocks: clear.Bytes) -> clear.Bytes:
    whole = Cipher(algorithms.AES(key), modes.ECB())
    context = whole.encryptor() if direction == "encrypt" else whole.decryptor()
    return np.frombuffer(context.update(blocks.tobytes()), np.uint8).reshape(-1, 16)


# ---- the S-box ----


@pytest.mark.parametrize(
    ("circuit", "table"), [(sbox.sbox(), clear.SBOX), (sbox.inverse_sbox(), clear.INVERSE_SBOX)], ids=["S", "inverse"]
)
def test_the_s_box_is_right_everywhere_in_36_products(circuit: Circuit, table: clear.Bytes) -> None:
    assert np.array_equal(circuit.clear(byte_bits(ALL)), byte_bits(table))
    c = circuit.counts()
    assert (c.depth, c.products, c.relinearizations, c.switches_added_after) == (4, 36, 18, 38)
    assert (c.switches, c.switches_by_prime) == (30, 46)
    assert [len(level.products) for level in circuit.levels] == [9, 3, 6, 18]
    assert [len(level.results) for level in circuit.levels] == [4, 2, 4, 8]
    text = circuit.explain()
    assert "36 products, 18 relinearisations" in text
    assert "30 modulus switches; 38 if" in text
    # Its operands are carried: eight bits to the last level, four of the norm by one.
    carried = [(c.start, c.end) for c in circuit.carries()]
    assert sorted(carried) == [(0, 3)] * 8 + [(1, 2)] * 4


def test_any_tower_gives_the_s_box() -> None:
    rng = np.random.default_rng(5)
    known = bases.towers()
    for i in rng.integers(0, len(known.bases), 5):
        found = known.tower(int(i))
        assert found.operands == tuple(known.operands[i].tolist())
        circuit = sbox.sbox(sbox.Choice(found, sbox.CHOICES["encrypt"].between))
        assert np.array_equal(circuit.clear(byte_bits(ALL)), byte_bits(clear.SBOX))
        assert circuit.counts().relinearizations == 18


def test_what_is_no_tower_is_refused() -> None:
    with pytest.raises(ParameterError, match="is no basis"):
        tower.Tower((1, 0x0C), (1, 0x50), (1, 0xBC))  # both of GF(2^4)
    with pytest.raises(ParameterError, match="outside"):
        tower.Tower((1, 2), (1, 2), (1, 0xBC))


# ---- the cipher ----


@settings(max_examples=6, deadline=None, derandomize=True)
@given(
    direction=st.sampled_from(DIRECTIONS),
    key=st.binary(min_size=16, max_size=16),
    data=st.binary(min_size=16, max_size=64),
)
def test_rounds_are_aes(direction: sbox.Direction, key: bytes, data: bytes) -> None:
    blocks = np.frombuffer(data[: len(data) // 16 * 16], np.uint8).reshape(-1, 16)
    assert np.array_equal(sbox.cipher(direction).run(blocks, key), library(direction, key, blocks))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_states_between_rounds_are_those_of_the_clear(direction: sbox.Direction) -> None:
    cipher, blocks = sbox.cipher(direction), random_blocks(7)
    states = (clear.encryption_states if direction == "encrypt" else clear.decryption_states)(KEY, blocks)
    bits = clear.bits_of(blocks) ^ cipher.key_bits(KEY, 0)[:, None]
    assert np.array_equal(cipher.state_bytes(bits, 0), states[0])
    for i, step in enumerate(cipher.rounds, 1):
        bits = np.concatenate([step.box.clear(bits[list(r)]) for r in step.reads]) ^ cipher.key_bits(KEY, i)[:, None]
        assert np.array_equal(cipher.state_bytes(bits, i), states[i]), i


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_all_rounds_are_one_circuit_with_the_paper_s_counts(direction: sbox.Direction) -> None:
    cipher, blocks = sbox.cipher(direction), random_blocks(20)
    keys = np.concatenate([cipher.key_bits(KEY, i) for i in range(11)])
    bits = np.concatenate([clear.bits_of(blocks), np.repeat(keys[:, None], 20, axis=1)])
    assert np.array_equal(clear.bytes_of(cipher.circuit.clear(bits)), library(direction, KEY, blocks))
    c = cipher.circuit.counts()
    assert (c.depth, c.products, c.relinearizations, c.switches_added_after) == (40, 5760, 2880, 6080)


def test_a_round_in_the_middle_has_short_sums() -> None:
    for direction, largest in (("encrypt", 15), ("decrypt", 16)):
        first, *others = sbox.cipher(direction).rounds[4].box.summands
        assert first.largest == largest
        assert [s.largest for s in others] == [2, 2, 4]
        choice = sbox.CHOICES[direction]
        assert bases.improved(direction, choice) == choice
    # The bases that come first to mind are worse.
    plain = sbox.Choice(tower.Tower((1, 0x10), (1, 0x0C), (1, 0xBC)), tuple(1 << i for i in range(8)))
    assert sbox.cipher("encrypt", plain).rounds[4].box.summands[0].largest == 22


@pytest.mark.long
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_search_finds_nothing_better(direction: sbox.Direction) -> None:
    found = bases.search(direction, restarts=30)
    assert bases.cost_of(direction, found) == bases.cost_of(direction, sbox.CHOICES[direction])


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match='"sideways" is neither'):
        sbox.cipher("sideways")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="rounds are 0 to 10"):
        sbox.cipher().key_bits(KEY, 11)
    with pytest.raises(ShapeError, match="15 bytes"):
        sbox.cipher().key_bits(KEY[:15], 1)


# ---- circuits ----


class Named:
    """Writes down what is computed, and refuses values of two levels in one operation."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def add(self, values: Sequence[int], constant: int) -> int:
        assert len(set(values)) == 1
        self.calls.append(f"add {len(values)} {constant}")
        return values[0]

    def multiply(self, a: int, b: int) -> int:
        assert a == b
        self.calls.append("multiply")
        return a

    def relinearize(self, products: Sequence[int], values: Sequence[int]) -> int:
        assert len({*products, *values}) == 1
        self.calls.append(f"relinearize {len(products)} {len(values)}")
        return products[0] + 1

    def carry(self, value: int, levels: int) -> int:
        self.calls.append(f"carry {levels}")
        return value + levels


def test_a_backend_is_given_values_of_one_level_and_as_many_operations_as_counted() -> None:
    circuit, backend, seen = sbox.cipher().rounds[4].box, Named(), []
    assert circuit.run(backend, [0] * 32, lambda done, total: seen.append((done, total))) == [4] * 8
    assert seen == [(i, 18) for i in range(1, 19)]
    c = circuit.counts()
    kinds = [call.split()[0] for call in backend.calls]
    assert kinds.count("multiply") == c.products
    assert kinds.count("relinearize") == c.relinearizations
    assert kinds.count("relinearize") + kinds.count("carry") == c.switches
    assert (
        sum(int(call.split()[1]) - 1 for call in backend.calls if call.startswith("add"))
        + sum(
            int(call.split()[1]) + int(call.split()[2]) - 1 for call in backend.calls if call.startswith("relinearize")
        )
        == c.additions
    )


def test_a_value_goes_down_once_for_each_level_where_it_is_used() -> None:
    levels = (
        Level((), ((0, 1),), (Result((0,), (0,)),)),  # 2: at level 1
        Level((Sum((0, 2)),), ((2, 3),), (Result((0,)),)),  # 3: at level 1, 4: at level 2
        Level((), ((0, 4),), (Result((0,)),)),  # 5
    )
    circuit = Circuit("three levels", 2, levels, (Sum((1, 5), 1),))
    assert [(c.value, c.start, c.end) for c in circuit.carries()] == [(0, 0, 1), (0, 1, 2), (1, 0, 3)]
    assert circuit.counts() == Counts(3, 3, 3, switches=6, switches_added_after=6, switches_by_prime=8, additions=3)
    a, b = byte_bits(np.arange(4, dtype=np.uint8))[:2]
    c = a & b ^ a
    assert np.array_equal(circuit.clear(np.array([a, b]))[0], (a & (c & (a ^ c))) ^ b ^ 1)


@pytest.mark.parametrize(
    ("levels", "outputs", "said"),
    [
        ((), (Sum((2,)),), "not yet known"),
        ((), (Sum(()),), "output is a sum of nothing"),
        ((), (Sum((1, 0)),), "ascending"),
        ((Level((Sum(()),), (), ()),), (Sum((0,)),), "sum of nothing"),
        ((Level((Sum((2,)),), (), ()),), (Sum((0,)),), "not yet known"),
        ((Level((), ((0, 3),), ()),), (Sum((0,)),), "not yet known"),
        ((Level((), ((0, 1),), (Result((1,)),)),), (Sum((0,)),), "products that level does not have"),
        ((Level((), (), (Result(()),)),), (Sum((0,)),), "sum of nothing"),
    ],
)
def test_bad_circuits_are_refused(levels: tuple[Level, ...], outputs: tuple[Sum, ...], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Circuit("bad", 2, levels, outputs)


def test_inputs_are_counted_and_come_at_their_levels() -> None:
    with pytest.raises(ShapeError, match="takes 8 inputs, not 7"):
        sbox.sbox().clear(np.zeros((7, 3), np.uint8))
    with pytest.raises(ParameterError, match="levels for 1"):
        Circuit("bad", 2, (), (Sum((0,)),), (0,))
    with pytest.raises(ParameterError, match="not yet known"):
        Circuit("bad", 2, (), (Sum((0,)),), (1, 0))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=8))
def test_sharing_keeps_sums_and_adds_no_value_twice(sums: list[set[int]]) -> None:
    found = shared([Sum(tuple(sorted(s))) for s in sums], 10)
    values = [[v] for v in range(10)]
    for s in found:
        values.append([x for v in s.terms for x in values[v]])
    assert [sorted(v) for v in values[len(values) - len(sums) :]] == [sorted(s) for s in sums]
    assert sum(len(s.terms) - 1 for s in found) <= sum(len(s) - 1 for s in sums)
