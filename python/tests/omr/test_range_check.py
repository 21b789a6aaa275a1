# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The range check: its algebra in Python's integers, its program on ciphertexts, its noise at every step."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ringforge._native import TestSeed
from ringforge._native.bfv import Ciphertext, Client, Context, Evaluator, Noise, NoiseRules, Parameters
from ringforge.errors import Error, NoiseError, ParameterError
from ringforge.omr import range_check
from ringforge.omr.range_check import METHODS, Method, Reg, in_clear, polynomial, trace

T = 786_433
RULES = NoiseRules(Parameters.named("omr"))
#: Of the affine transform at the full size.
INPUT = Noise(39.9, 1, 1)


def program(r: int, method: Method, inputs: int = 2) -> range_check.Program:
    return trace(RULES, T, [(INPUT, 23)] * inputs, r, method)


@pytest.mark.parametrize("r", [1, 2, 7, 39, 49])
def test_the_polynomial_vanishes_on_the_range_and_nowhere_else(r: int) -> None:
    p = polynomial(r, T)
    assert len(p) == r + 2
    for x in [*range(-60, 61), *random.Random(r).sample(range(T), 200)]:
        y, value = x * x % T, 0
        for c in reversed(p):
            value = (value * y + c) % T
        assert (value == 0) == (abs(x) <= r or T - x <= r)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("r", [1, 3, 7, 8, 15, 16, 39, 49, 63])
def test_the_program_tells_the_range(r: int, method: Method) -> None:
    made = program(r, method)
    rng = random.Random(r)
    cases = [(a, b) for a in (0, r, -r, r + 1, -r - 1, rng.randrange(T)) for b in (0, r, -r - 1, rng.randrange(T))]
    for a, b in cases:

        def centred(x: int) -> int:
            return (x + T // 2) % T - T // 2

        expected = int(abs(centred(a)) <= r and abs(centred(b)) <= r)
        assert in_clear(made, [a, b], T) == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inputs", [1, 3])
def test_other_numbers_of_clues(inputs: int, method: Method) -> None:
    made = program(5, method, inputs) if inputs == 1 else trace(RULES, T, [(Noise(20.0, 1, 1), 23)] * 3, 5, method)
    for wrong in range(inputs):
        assert in_clear(made, [5 if i != wrong else 6 for i in range(inputs)], T) == 0
    assert in_clear(made, [-5] * inputs, T) == 1


def test_the_norm_form_is_anisotropic() -> None:
    """a^2 + ab - b^2 = 0 with b != 0 needs a root of X^2 + X - 1: there is none."""
    assert range_check.form(T) == 1
    assert not any((x * x + x - 1) % T == 0 for x in range(T))


def test_counts() -> None:
    """Degree 50 takes 15 products with 8 baby powers, degree 40 takes 13; a power of t - 1 = 3 * 2^18 takes 20."""
    assert [range_check.split(d) for d in (40, 50)] == [8, 8]
    for r, method, products in (
        (49, "ringforge", 2 * (1 + 15) + 2 + 20),
        (49, "paper", 2 * (1 + 15) + 2 * 20 + 1),
        (39, "ringforge", 2 * (1 + 13) + 2 + 20),
        (39, "paper", 2 * (1 + 13) + 2 * 20 + 1),
    ):
        counts = program(r, method).counts()  # type: ignore[arg-type]
        assert counts["square"] + counts["mul"] == products
        # Sums of products wait for one relinearisation: three of a polynomial's six, and the norm's.
        assert counts["relinearize"] < products


@pytest.mark.parametrize("method", METHODS)
def test_it_ends_at_two_limbs_with_room_for_compression(method: Method) -> None:
    made = program(49, method)
    assert made.result.limbs == 2
    assert RULES.budget(made.result.noise, 2) > 36
    limbs = [op.limbs for op in made.ops]
    assert limbs[0] == 23
    # Limbs go as noise allows.
    assert max(limbs[-len(limbs) // 6 :]) < 14


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(NoiseError, match=r"does not suffice|would end"):
        trace(RULES, T, [(INPUT, 20)] * 2, 49, "ringforge")
    for r in (0, 886):
        with pytest.raises(ParameterError, match="range"):
            trace(RULES, T, [(INPUT, 23)], r, "ringforge")
    with pytest.raises(ParameterError, match="input"):
        trace(RULES, T, [], 49, "ringforge")


@pytest.mark.parametrize("method", METHODS)
def test_on_ciphertexts(method: Method) -> None:
    context = Context(Parameters.named("omr-test", "tests"))
    client = Client(context, TestSeed(bytes([3]) * 32))
    secret = client.secret_key()
    rng, degree, r = np.random.default_rng(3), context.params.degree, 49
    values = rng.integers(-2 * r, 2 * r + 1, (2, degree))
    values[:, -1000:] = rng.integers(0, T, (2, 1000))
    inputs = [client.encrypt(context.encode(v), secret) for v in values]
    made = trace(context.rules, T, [(c.noise, c.limbs) for c in inputs], r, method)
    rules, typical = context.rules, NoiseRules(context.params, NoiseRules.TYPICAL)
    usual = made.noises(typical, [typical.encrypted(False)] * 2)
    assert made.noises(rules, [c.noise for c in inputs])[-1] == made.ops[-1].out.noise
    loosest = 0.0

    def watch(reg: Reg, c: Ciphertext) -> None:
        """What was predicted of every register is what its ciphertext says, and covers what the key holder measures.

        Products of many factors have heavy tails: the bound is above nearly all keys, what half of them have is near.
        """
        nonlocal loosest
        assert c.noise == reg.noise
        assert (c.limbs, c.size) == (reg.limbs, reg.parts)
        largest, deviation = client.measure(c, secret)
        assert deviation < reg.noise.log_deviation
        assert largest < rules.bound_bits(reg.noise)
        loosest = max(loosest, usual[reg.index].log_deviation - deviation)

    keys = client.relin_key(secret)
    seen: list[float] = []
    result = made.run(Evaluator(context), keys, inputs, seen.append, watch)
    centred = (values + T // 2) % T - T // 2
    expected = (np.abs(centred) <= r).all(axis=0).astype(int).tolist()
    assert 0 < sum(expected) < degree
    assert context.decode(client.decrypt(result, secret)).tolist() == expected
    assert loosest < 8
    assert seen == sorted(seen)
    assert seen[-1] == 1
    with pytest.raises(Error, match="cancelled"):
        made.run(Evaluator(context), keys, inputs, lambda done: done < 0.01)
    noisy = trace(context.rules, T, [(Noise(0.0), 23)] * 2, r, method)
    with pytest.raises(NoiseError, match="planned for"):
        noisy.run(Evaluator(context), keys, inputs)
