# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Exact schemes answer no decryption that may have failed, however operands depend on each other (IND-CPA-D).

The attacks of Cheon, Choe, Passelègue, Stehlé and Suvanto (2024) and of Checri, Sirdey, Boudguiga and Bultel (2024)
choose circuits of which a noise estimate says less than is true, a ciphertext added to itself above all, and learn the
key from decryptions that come out wrong. Here every decryption that the library answers is held against the exact
result, and every prediction against the noise that the key measures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from ringforge import bfv, bgv, params
from ringforge._native import kernels
from ringforge.errors import LevelError, NoiseError

T = 12289
BFV_SEED, BGV_SEED = bfv.TestSeed(bytes(range(32))), bgv.TestSeed(bytes(range(32)))

BfvStep = Callable[[bfv.Evaluator, bfv.Ciphertext], bfv.Ciphertext]


@cache
def bfv_session() -> bfv.Session:
    primes = kernels.primes_below(50, 5, 1 << 18)
    p = bfv.Parameters("", 10, T, primes[1:], primes[:1], 1, "tests of failures")
    s = bfv.Session(p, fixed_seed_for_tests=BFV_SEED)
    s.add_rotation_keys([1, 2, 4])
    return s


@cache
def bgv_session() -> bgv.Session:
    s = bgv.Session(params.named_bgv("bgv-test", "tests of failures"), fixed_seed_for_tests=BGV_SEED)
    s.add_frobenius_keys([1, 2])
    return s


def chosen_plaintext(s: bfv.Session, limbs: int) -> bfv.Plaintext:
    """The plaintext whose rounding (Q/t)*p is nearest to 1/2 in every coefficient: the most that a plaintext can do."""
    q = int(np.prod([int(x) for x in s.params.q[:limbs]], dtype=object))
    value = max(range(T), key=lambda m: min(q * m % T, T - q * m % T))
    return s.context.encode_coefficients(np.full(s.params.degree, value))


def held(s: bfv.Session, c: bfv.Ciphertext) -> float:
    """The measured budget, which no prediction may be above."""
    measured = s.noise_budget(c)
    assert s.predicted_budget(c) <= measured
    return measured


# ---- BFV -----------------------------------------------------------------------------------------


def test_adding_a_bfv_ciphertext_to_itself_is_refused_before_it_fails() -> None:
    """The published attack, on the parts that a deployment uses: no wrong number is ever answered."""
    s = bfv_session()
    values = np.arange(s.params.degree) % T
    c, exact, answered = s.encrypt(values, packing="coefficients", limbs=1), values.copy(), 0
    while s.predicted_budget(c) > 0:
        got = s.client.decrypt(c, s.secret_key)
        assert np.array_equal(bfv.decode(s.context, got, "coefficients", signed=False), exact)
        answered += 1
        c, exact = s.evaluator.add(c, c), exact * 2 % T
    assert answered > 20
    with pytest.raises(LevelError, match="predicted noise budget is -"):
        s.client.decrypt(c, s.secret_key)
    with pytest.raises(NoiseError):
        s.decrypt(c, packing="coefficients")
    # It would have been right a few times more, and is wrong then: what an adversary asks for.
    wrong = 0
    for _ in range(12):
        try:
            got = s.client.decrypt(c, s.secret_key, anyway=True)
        except LevelError:
            break
        wrong += not np.array_equal(bfv.decode(s.context, got, "coefficients", signed=False), exact)
        c, exact = s.evaluator.add(c, c), exact * 2 % T
    assert wrong


def test_plaintexts_chosen_for_their_rounding_are_charged_in_full() -> None:
    """The same plaintext rounds alike each time: a thousand of them add a thousand halves, not the root of that."""
    s = bfv_session()
    p = chosen_plaintext(s, 1)
    c = s.encrypt(np.zeros(1, np.int64), packing="coefficients", limbs=1)
    for _ in range(1000):
        c = s.evaluator.add_plain(c, p)
    held(s, c)
    # Amplified up to the edge: what is answered there is right.
    exact = 1000 * bfv.decode(s.context, p, "coefficients", signed=False) % T
    while s.predicted_budget(s.evaluator.add(c, c)) > 0:
        c, exact = s.evaluator.add(c, c), exact * 2 % T
        held(s, c)
    got = s.client.decrypt(c, s.secret_key)
    assert np.array_equal(bfv.decode(s.context, got, "coefficients", signed=False), exact)


def test_constants_are_charged_in_full() -> None:
    s = bfv_session()
    q = int(s.params.q[0])
    value = max(range(T), key=lambda m: min(q * m % T, T - q * m % T))
    c = s.encrypt(np.zeros(1, np.int64), packing="coefficients", limbs=1)
    for _ in range(1000):
        c = s.evaluator.add_constant(c, value)
    held(s, c)


def test_roundings_may_be_multiplied_by_what_is_chosen_too() -> None:
    """A thousand roundings, then a plaintext of their pattern, then a ciphertext."""
    s = bfv_session()
    p = chosen_plaintext(s, 4)
    c = s.encrypt(np.zeros(1, np.int64), packing="coefficients")
    for _ in range(200):
        c = s.evaluator.add_plain(c, p)
    pattern = s.context.encode_coefficients(np.full(s.params.degree, T // 2))
    held(s, s.evaluator.mul_plain(c, pattern))
    held(s, s.evaluator.mul_plain(s.evaluator.mul_plain(c, pattern), pattern))
    held(s, s.evaluator.mul(c, s.encrypt([1])))


def _rotations(ev: bfv.Evaluator, c: bfv.Ciphertext) -> bfv.Ciphertext:
    """A sum of rotations of one ciphertext, by doubling."""
    for step in (1, 2, 4):
        c = ev.add(c, ev.rotate_rows(c, step, bfv_session().galois_keys))
    return c


def _power(ev: bfv.Evaluator, c: bfv.Ciphertext) -> bfv.Ciphertext:
    relin = bfv_session().relin_key
    square = ev.relinearize(ev.square(c), relin)
    return ev.relinearize(ev.mul(square, c), relin)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(_rotations, id="sum of rotations"),
        pytest.param(_power, id="c * c * c"),
        pytest.param(lambda ev, c: ev.mul(c, ev.add(c, c)), id="c * (c + c)"),
        pytest.param(lambda ev, c: ev.combine([c] * 8, [T // 2] * 8), id="the same 8 times"),
        pytest.param(lambda ev, c: ev.sub(ev.negate(c), c), id="-c - c"),
    ],
)
@pytest.mark.parametrize("public", [False, True])
def test_operands_that_depend_on_each_other_stay_below_the_bound(step: BfvStep, public: bool) -> None:
    s = bfv_session()
    c = s.encrypt(np.full(s.params.degree, T // 2), public=public)
    held(s, step(s.evaluator, c))
    held(s, step(s.evaluator, s.evaluator.add(c, c)))


@pytest.mark.parametrize("products", [0, 1, 3])
def test_bfv_is_had_at_two_to_the_minus_128(products: int) -> None:
    """For results that others see fail. It costs a few bits, and refuses that many earlier."""
    s = bfv.Session(bfv_session().params, fixed_seed_for_tests=BFV_SEED, security=128)
    assert s.context.rules.security == 128
    c = s.encrypt([1, 2, 3], public=True)
    for _ in range(products):
        c = s.evaluator.relinearize(s.evaluator.square(c), s.relin_key)
    usual = bfv.NoiseRules(s.params).encrypted(True)
    for _ in range(products):
        usual = bfv.NoiseRules(s.params).multiplied(usual, usual, c.limbs)
    assert 1 < bfv.NoiseRules(s.params).budget(usual, c.limbs) - s.predicted_budget(c) < 9
    held(s, c)


# ---- BGV -----------------------------------------------------------------------------------------


def test_adding_a_bgv_ciphertext_to_itself_is_refused_before_it_fails() -> None:
    """c + c is 0 modulo 2; noise doubles all the same, and what is answered is 0."""
    s = bgv_session()
    fresh, answered = s.encrypt([3, 5, 7], packing="bytes", limbs=1), 0
    c = s.evaluator.add(fresh, fresh)
    while s.predicted_budget(c) > 0:
        assert not np.asarray(s.client.decrypt(c, s.secret_key)).any()
        answered += 1
        c = s.evaluator.add(c, c)
    assert answered > 10
    with pytest.raises(LevelError, match="predicted noise budget is -"):
        s.client.decrypt(c, s.secret_key)


def test_bgv_operands_that_depend_on_each_other_stay_below_the_bound() -> None:
    s, ev = bgv_session(), bgv_session().evaluator
    c = s.encrypt([3, 5, 7], packing="bytes")
    plain = s.multiplier([255] * s.slots.size, packing="bytes", special=False)
    repeated = c
    for _ in range(300):
        repeated = ev.add_plain(repeated, plain)
    images = [ev.apply_galois(c, s.context.frobenius_element(k), s.galois_keys) for k in (1, 2)]
    found = [
        repeated,
        ev.add(ev.add(images[0], images[0]), images[1]),
        ev.multiply(c, ev.add(c, c), s.relin_key),
        ev.multiply(ev.multiply(c, c, s.relin_key), c, s.relin_key),
        ev.mul_plain(repeated, plain),
    ]
    for x in found:
        assert s.predicted_budget(x) <= s.noise_budget(x)


def test_bgv_is_had_at_two_to_the_minus_128() -> None:
    s = bgv.Session(bgv_session().params, fixed_seed_for_tests=BGV_SEED, security=128)
    assert s.context.rules.security == 128
    c, usual = s.encrypt([3, 5, 7], packing="bytes"), bgv_session().encrypt([3, 5, 7], packing="bytes")
    assert 0.5 < bgv_session().predicted_budget(usual) - s.predicted_budget(c) < 2
    assert s.predicted_budget(c) <= s.noise_budget(c)
