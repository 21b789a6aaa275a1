# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Gate sets keep their promises; the noise model agrees with simulations and with exact sums."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge import params, security
from ringforge.errors import ParameterError
from ringforge.gates import noise, search, sets
from ringforge.gates.sets import Gadget, GateSet, KeySwitch
from tests.gates.toy import Toy, centred, digits

FILE = Path(__file__).parents[3] / "params" / "fhew.json"
OURS = ("gates-128", "gates-128-f128")

#: Table 1 of the third-generation paper: n, q, N, log2 Q, B_ks, B_G, B_r, digits.
TABLE_1 = {
    "paper-medium": (256, 512, 1024, 27, 25, 2**9, 23, 3),
    "paper-std128-ap": (512, 512, 1024, 27, 25, 2**9, 23, 3),
    "paper-std192": (512, 512, 2048, 37, 25, 2**13, 23, 3),
    "paper-std256": (1024, 1024, 2048, 29, 25, 2**10, 32, 3),
    "paper-std192q": (1024, 1024, 2048, 35, 25, 2**12, 32, 3),
    "paper-std256q": (1024, 1024, 2048, 27, 25, 2**7, 32, 4),
}


def shipped(name: str) -> GateSet:
    return sets.named(name, "a test of the model")


# ---- sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_our_sets_are_secure(name: str) -> None:
    s = sets.named(name)
    for what, instance in s.instances().items():
        assert security.estimate(instance).secure, what
    assert s.log_modulus <= params.max_log_qp(s.log_n)


@pytest.mark.parametrize("name", OURS)
def test_our_sets_fail_as_rarely_as_promised(name: str) -> None:
    """Whatever gates feed them, three MUX outputs into MAJ3 and XOR3 included."""
    s = sets.named(name)
    assert s.failure < 0
    for gate in noise.GATES:
        for inputs in ("fresh", "gate", "mux"):
            assert noise.log2_failure(s, gate, inputs) <= s.failure, (gate, inputs)


@pytest.mark.parametrize("name", OURS)
def test_promises_hold_over_all_keys_too(name: str) -> None:
    """Longer keys than four deviations are rare enough: their failures, times their probability, are in the promise.

    A secret's squared length is a sum of n coefficients in [0, 1] that exceeds its mean by x with exp(-2 x^2 / n)
    (Hoeffding).
    """
    s = sets.named(name)
    usual = noise.secret_square("binary", s.n), noise.secret_square("ternary", s.ring_degree)
    total = 2 ** noise.worst_gate(s)[1]
    for lwe in range(0, s.n // 2 + 1, 4):
        for ring in range(0, s.ring_degree // 3 + 1, 8):
            longer = noise.KeyLengths(s.n / 2 + lwe + 4, s.ring_degree * 2 / 3 + ring + 8)
            if longer.lwe > usual[0] or longer.ring > usual[1]:
                reached = math.exp(-2 * lwe**2 / s.n - 2 * ring**2 / s.ring_degree)
                worst = max(noise.log2_failure(s, gate, "mux", key=longer) for gate in ("MAJ3", "XOR3", "MUX"))
                total += reached * 2**worst
    assert math.log2(total) <= s.failure


def test_a_promise_leads_to_a_set() -> None:
    assert [noise.set_for(f) for f in (-40, -64, -65, -128)] == ["gates-128"] * 2 + ["gates-128-f128"] * 2
    assert noise.set_for(-128, "automorphism") == "gates-128-f128"
    with pytest.raises(ParameterError, match=r"below 2\^-128 by ap.*gates-128-f128 2\^-116: take ginx$"):
        noise.set_for(-128, "ap")
    for failure, method in ((-129, "ginx"), (-200, "ginx"), (-200, "ap")):
        none = rf"below 2\^{failure} by {method}.*no other method reaches it either; the least .* is 2\^-128 by ginx$"
        with pytest.raises(ParameterError, match=none):
            noise.set_for(failure, method)
    with pytest.raises(ParameterError, match="promises nothing"):
        noise.set_for(0)


def test_degraded_set_fails_once_in_256() -> None:
    assert noise.log2_failure(shipped("gates-degraded"), "NAND", "gate") == pytest.approx(-8, abs=0.5)


@pytest.mark.parametrize(("name", "row"), TABLE_1.items())
def test_paper_sets_are_table_1(name: str, row: tuple[int, ...]) -> None:
    s = shipped(name)
    n, q, degree, bits, switch_base, base, ap_base, count = row
    assert (s.n, 1 << s.log_q, s.ring_degree, s.modulus.bit_length()) == (n, q, degree, bits)
    assert (s.key_switch.base, s.key_switch.modulus, s.ap_base, s.ap_digits) == (switch_base, "Q", ap_base, 2)
    assert s.gadget_a == s.gadget_b == Gadget(base.bit_length() - 1, count, 0)
    assert s.modulus == search.largest_prime(bits, s.log_n)
    assert s.lwe_secret == "ternary"
    assert not s.balanced


@pytest.mark.parametrize("name", TABLE_1)
def test_paper_sets_are_refused_for_the_reason_the_estimator_finds(name: str) -> None:
    with pytest.raises(ParameterError, match="insecure"):
        sets.named(name)
    s = shipped(name)
    bits = security.estimate(s.instances()["key-switching key"]).bits
    assert bits < 128
    assert f"{bits:.0f} bits of security" in s.insecure
    assert noise.log2_failure(s, "NAND", "gate", "ap") > -128


def test_paper_sets_at_q_512_fail_often() -> None:
    """Rounding to q = 512 alone leaves a NAND no better than 2^-51 at n = 512."""
    for name in ("paper-medium", "paper-std128-ap", "paper-std192"):
        assert -51 < noise.log2_failure(shipped(name), "NAND", "gate", "ap") < -10


def test_records_come_back() -> None:
    records = json.loads(FILE.read_text())["sets"]
    assert [r["name"] for r in records] == sets.names()
    for record in records:
        assert sets.to_record(sets.from_record(record)) == record


def test_broken_records_are_refused() -> None:
    record = sets.to_record(sets.named("gates-128"))
    for change, message in (
        ({"modulus": 67104771}, "not 1 modulo 2N"),
        ({"lwe_secret": "sparse"}, 'unknown secret "sparse"'),
        ({"log_q": 40}, "log_q = 40"),
        ({"ap_base": 1}, "ap_base 1"),
        ({"automorphism": {"log_base": 4, "count": 2, "drop": 3}}, "covers 11 bits"),
        ({"key_switch": {"modulus": "q", "base": 4, "count": 2, "drop": 3, "balanced": True}}, "do not cover"),
        ({"gadget": {}}, "lacks a field"),
        ({"extra": 1}, "one too many"),
    ):
        with pytest.raises(ParameterError, match=message):
            sets.from_record({**record, **change})
    with pytest.raises(ParameterError, match="take one of gates-128"):
        sets.named("gates-64")


# ---- search ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_search_finds_the_shipped_sets(name: str) -> None:
    s = sets.named(name)
    best = search.search(failure=s.failure)[0]
    assert search.CostModel().microseconds(s) <= 1.05 * best.microseconds
    same = ("n", "log_q", "lwe_secret", "modulus", "gadget_a", "gadget_b", "key_switch")
    assert [getattr(best.gate_set, field) for field in same] == [getattr(s, field) for field in same]


def test_search_refuses_insecure_rings_and_hopeless_promises() -> None:
    with pytest.raises(ParameterError, match="take a smaller modulus or a larger ring"):
        search.search(failure=-64, modulus_bits=28)
    with pytest.raises(ParameterError, match="take a larger ring"):
        search.search(failure=-5000, log_qs=(15,), secrets=("binary",))


@pytest.mark.parametrize("name", OURS)
def test_key_switch_digits_reach_every_residue(name: str) -> None:
    """Also where the base is no power of two: what is rounded lies in -2^(k-1) ... 2^(k-1)."""
    switch = sets.named(name).key_switch
    reach = sum((switch.base // 2) * switch.base**j for j in range(switch.count))
    assert 2 * reach >= 1 << (sets.named(name).log_q - switch.drop)


# ---- model -----------------------------------------------------------------------------------------


def test_log2_tail_does_not_underflow() -> None:
    for z in (0.0, 1.0, 9.16, 19.99, 20.01, 30.0, 37.0):
        assert noise.log2_tail(z) == pytest.approx(math.log2(math.erfc(z / math.sqrt(2)) / 2), rel=1e-6)
    assert noise.log2_tail(0.0) == -1
    assert noise.log2_tail(200.0) == pytest.approx(-(200**2) / 2 / math.log(2), rel=1e-3)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("gadget", [Gadget(8, 2, 10), Gadget(9, 3, 0), Gadget(7, 3, 5), Gadget(6, 2, 14)])
def test_digits_have_the_mean_square_of_the_model(gadget: Gadget, balanced: bool) -> None:
    q = 67104769 if gadget.covered == 26 else 134215681
    values = np.random.default_rng(7).integers(0, q, 200_000)
    cut = digits(values, gadget, q, balanced)
    measured = sum(float(np.mean(d.astype(float) ** 2)) for d in cut)
    # The top balanced digit of 26 bits carries one step; at two digits of 2^6 that is half a percent.
    assert noise.digit_square(gadget, math.log2(q), balanced) == pytest.approx(measured, rel=0.02)
    value = sum(d << (gadget.drop + gadget.log_base * j) for j, d in enumerate(cut))
    assert np.abs(centred(value - values, q)).max() <= (1 << gadget.drop) // 2


def toy_set(secret: str, drop: int, balanced: bool, n: int = 24) -> GateSet:
    gadget = Gadget((26 - drop) // 2, 2, drop)
    return GateSet(
        name="toy", n=n, log_q=14, lwe_secret=secret, log_n=8, modulus=search.largest_prime(26, 8),
        error_variance=10.5, key_switch=KeySwitch("q", 129, 2, 0, True), gadget_a=gadget, gadget_b=gadget,
        balanced=balanced, automorphism=gadget, ap_base=23, insecure="", about="", failure=0,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["ginx", "ap"])
@pytest.mark.parametrize("secret", ["binary", "ternary"])
@pytest.mark.parametrize("drop", [10, 14])
def test_blind_rotations_have_the_variance_of_the_model(
    method: str, secret: str, drop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digits or dropped bits dominate; 24 steps at N = 256, 4096 samples: within 12 %."""
    monkeypatch.setattr(noise, "KEY_DEVIATIONS", 0.0)
    s, rng = toy_set(secret, drop, True), np.random.default_rng(11)
    errors = np.concatenate([Toy(s, rng).blind_rotation(method) for _ in range(16)])
    assert np.var(errors) == pytest.approx(noise.accumulator_variance(s, method), rel=0.12)


@pytest.mark.parametrize("method", ["ginx", "ap"])
def test_unsigned_digits_have_the_variance_of_the_model(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their mean, B/2, makes coefficients of one result depend on each other: about three count as independent."""
    monkeypatch.setattr(noise, "KEY_DEVIATIONS", 0.0)
    s, rng = toy_set("ternary", 0, False, n=3), np.random.default_rng(12)
    errors = np.concatenate([Toy(s, rng).blind_rotation(method) for _ in range(240)])
    assert np.var(errors) == pytest.approx(noise.accumulator_variance(s, method), rel=0.2)


@pytest.mark.parametrize("drop", [10, 14])
def test_substitutions_have_the_variance_of_the_model(drop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "KEY_DEVIATIONS", 0.0)
    s, rng, errors = toy_set("binary", drop, True), np.random.default_rng(13), []
    for _ in range(40):
        toy = Toy(s, rng)
        a, message = rng.integers(0, s.modulus, (2, 256))
        out = toy.substitute(a, message, 5)
        # The phase of the input is b - a s; X^5 takes it to where its coefficients belong.
        from_phase = toy.phase_error(a, message, np.zeros(256, dtype=np.int64))
        index = np.arange(256) * 5 % 512
        image = np.zeros(256, dtype=np.int64)
        image[index % 256] = from_phase * np.where(index < 256, 1, -1)
        errors.append(toy.phase_error(*out, image))
    assert np.var(errors) == pytest.approx(noise.substitution_variance(s), rel=0.12)


def test_expected_substitutions() -> None:
    """Counted on random masks: classes in order, one step for each gap of at most the window."""
    s, rng, counts = sets.named("gates-128"), np.random.default_rng(17), []
    for _ in range(200):
        hit = np.unique(rng.integers(0, s.ring_degree, s.n))
        gaps = np.diff(np.concatenate([hit, hit[:1] + s.ring_degree]))
        counts.append(int(np.ceil(gaps / noise.WINDOW).sum()))
    assert noise.substitutions(s) == pytest.approx(np.mean(counts) + 2, rel=0.01)


@pytest.mark.parametrize("name", OURS)
def test_rounding_has_the_variance_of_the_model(name: str) -> None:
    """Rounding to the rotation modulus with half the mask's errors taken from the body."""
    s, rng = sets.named(name), np.random.default_rng(19)
    step = (1 << s.log_q) // s.rotation_modulus
    secret = rng.permutation(np.repeat([0, 1], [s.n - s.n // 2, s.n // 2]))
    a = rng.integers(0, 1 << s.log_q, (20_000, s.n))
    b = rng.integers(0, 1 << s.log_q, 20_000)
    rounded = (a + step // 2) // step
    rest = a - rounded * step
    body = np.floor((b - rest.sum(1) / 2) / step + 0.5)
    error = body - rounded @ secret - (b - a @ secret) / step
    assert np.var(error) == pytest.approx(noise.rounding(s), rel=0.04)
    # Without the correction the mean error is half the least bit of every coefficient: n/4/step units.
    assert abs(np.mean(error)) < 0.1
    plain = np.floor(b / step + 0.5) - rounded @ secret - (b - a @ secret) / step
    assert np.var(plain) > 1.8 * noise.rounding(s)


@pytest.mark.parametrize("name", OURS)
def test_key_switch_has_the_variance_of_the_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of errors alone, with the digits of random masks."""
    monkeypatch.setattr(noise, "KEY_DEVIATIONS", 0.0)
    s, rng = sets.named(name), np.random.default_rng(23)
    switch, degree, trials = s.key_switch, s.ring_degree, 1000
    third = degree // 3
    ring = rng.permutation(np.repeat([-1, 0, 1], [third, degree - 2 * third, third]))
    table = rng.binomial(42, 0.5, (degree, switch.count, switch.rows + 1)) - 21
    table[..., 0] = 0
    errors = np.zeros(trials)
    for t in range(trials):
        a = rng.integers(0, 1 << s.log_q, degree)
        value = (centred(a, 1 << s.log_q) + ((1 << switch.drop) >> 1)) >> switch.drop
        errors[t] = ((value << switch.drop) - centred(a, 1 << s.log_q)) @ ring
        for j in range(switch.count):
            digit = (value + switch.base // 2) % switch.base - switch.base // 2
            value = (value - digit) // switch.base
            errors[t] += (np.sign(digit) * table[np.arange(degree), j, np.abs(digit)]).sum()
        assert not value.any()
    unit = (s.rotation_modulus / 2.0**s.log_q) ** 2
    assert np.var(errors) * unit == pytest.approx(noise.stages(s).key_switch, rel=0.15)


@given(st.sampled_from(OURS), st.sampled_from(sorted(noise.GATES)), st.sampled_from(noise.METHODS))
def test_noisier_inputs_fail_more(name: str, gate: str, method: str) -> None:
    s = sets.named(name)
    chances = [noise.log2_failure(s, gate, inputs, method) for inputs in ("fresh", "gate", "mux")]
    assert chances == sorted(chances)


@given(st.integers(1, 3), st.integers(4, 9), st.sampled_from(noise.METHODS))
def test_more_digits_fail_less(count: int, log_base: int, method: str) -> None:
    s = sets.named("gates-128")
    few = replace(s, gadget_a=Gadget(log_base, count, max(0, 26 - log_base * count)))
    many = replace(s, gadget_a=Gadget(log_base, count + 1, max(0, 26 - log_base * (count + 1))))
    if few.gadget_a.drop < log_base:
        return
    assert noise.product_rounding(many) < noise.product_rounding(few)
    assert noise.product_variance(many) > noise.product_variance(few)
    assert noise.accumulator_variance(replace(s, n=s.n + 1), method) > noise.accumulator_variance(s, method)


def test_dependent_inputs_add_up_before_they_are_squared() -> None:
    """By hand: NAND(a, a) adds one noise twice, XOR3(a, a, a) one six times; complements have it negated."""
    for weights, wiring, square in (
        ((1, 1), "", 2),
        ((1, 1), "ab", 2),
        ((1, 1), "aa", 4),
        ((1, 1), "aA", 0),
        ((2, -2), "aa", 0),
        ((2, -2), "aA", 16),
        ((1, 1, 1), "aab", 5),
        ((2, 2, 2), "aaa", 36),
        ((2, 2, 2), "aAb", 4),
        ((1, 1), "a0", 1),
    ):
        assert noise.weight_square(weights, wiring) == square
    for wiring in ("a", "a-", "aaa", "aé"):
        with pytest.raises(ParameterError, match="wiring"):
            noise.weight_square((1, 1), wiring)
    s = sets.named("gates-128")
    assert -52 < noise.log2_failure(s, "NAND", wiring="aa") < -40
    assert -26 < noise.log2_failure(s, "XOR3", wiring="aaa") < -20
    assert noise.log2_failure(s, "NAND", wiring="ab") == noise.log2_failure(s, "NAND") < -64


def test_circuits_add_their_gates() -> None:
    s = sets.named("gates-128")
    one = noise.log2_failure(s, "NAND")
    assert noise.circuit_failure(s, {"NAND": 1024}) == pytest.approx(one + 10)
    assert noise.circuit_failure(s, {"NAND": 1024, "XOR": 0}) == pytest.approx(one + 10)
    assert noise.circuit_failure(s, {}) == -math.inf
    assert noise.circuit_failure(shipped("gates-degraded"), {"NAND": 10**6}) == 0
    with pytest.raises(ParameterError, match="negative"):
        noise.circuit_failure(s, {"NAND": -1})


def test_unknown_names_are_refused() -> None:
    s = sets.named("gates-128")
    for call, message in (
        (lambda: noise.log2_failure(s, "IMPLIES"), "unknown gate"),
        (lambda: noise.log2_failure(s, "NAND", "stale"), "unknown kind of input"),
        (lambda: noise.accumulator_variance(s, "magic"), "unknown accumulator"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()
