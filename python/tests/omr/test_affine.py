# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The affine transform against exact arithmetic modulo t: both methods, shards, counts, noise, refusals."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import GaloisKeys, TestSeed
from ringforge._native.bfv import Client, Context, NoiseRules, Parameters
from ringforge._native.kernels import primes_below
from ringforge.errors import Error, LevelError, MismatchError, MissingKeyError, ShapeError, ValueError
from ringforge.omr.kernels import AffineShape

T = 786_433


@functools.cache
def context(log_n: int) -> Context:
    q = [int(x) for x in primes_below(49, 3, 1 << 18)]
    p = [int(x) for x in primes_below(50, 2, 1 << 18)]
    return Context(Parameters("small", log_n, T, q, p, 2, "tests"))


class World:
    """A key of signals, a bulletin of random signals, and all that is needed to search it."""

    def __init__(self, method: str, log_n: int = 10, columns: int = 32, outputs: int = 2, babies: int = 7) -> None:
        rng = np.random.default_rng(log_n * columns + outputs)
        self.context = context(log_n)
        self.shape = AffineShape(self.context, columns, outputs, babies, method, 3)
        self.layout, self.native = self.shape.layout, self.shape.native
        self.client = Client(self.context, TestSeed(bytes([7]) * 32))
        self.secret = self.client.secret_key()
        self.galois = GaloisKeys()
        for element in {self.native.baby_element, self.native.giant_element}:
            self.galois.insert(self.client.galois_key(self.secret, element))
        self.key = rng.integers(0, T, columns).astype(np.uint32)
        self.signals = rng.integers(0, T, (1 << log_n, columns)).astype(np.uint32)
        self.signals[3] = 0
        slots = np.asarray(self.layout.key_slots(self.key)).astype(np.int64)
        self.encrypted = self.client.encrypt(self.context.encode(slots), self.secret)

    @functools.cached_property
    def diagonals(self) -> list[Any]:
        return [self.layout.encode(self.signals, g) for g in range(self.layout.giants)]

    @functools.cached_property
    def babies(self) -> Any:
        return self.native.babies(self.encrypted, self.galois)

    @functools.cached_property
    def expected(self) -> list[list[int]]:
        """(a_m * key)_l modulo X^n + 1, in Python's integers."""
        n, key = self.shape.columns, [int(x) for x in self.key]
        out = []
        for clue in range(self.shape.outputs):
            values = []
            for a in self.signals.tolist():
                low = sum(a[clue - c] * key[c] for c in range(clue + 1))
                high = sum(a[n + clue - c] * key[c] for c in range(clue + 1, n))
                values.append((low - high) % T)
            out.append(values)
        return out

    def decrypted(self, outputs: list[Any]) -> list[list[int]]:
        return [self.context.decode(self.client.decrypt(c, self.secret)).tolist() for c in outputs]


world = functools.cache(World)
BOTH = pytest.mark.parametrize("method", ["ringforge", "paper"])


@BOTH
def test_is_the_product_modulo_the_cyclotomic_polynomial(method: str) -> None:
    w = world(method)
    assert w.decrypted(w.native.run(w.babies, 0, w.diagonals, w.galois)) == w.expected


@pytest.mark.parametrize(("columns", "outputs", "babies"), [(16, 1, 16), (16, 3, 1), (64, 5, 9), (256, 2, 46)])
@BOTH
def test_other_shapes(method: str, columns: int, outputs: int, babies: int) -> None:
    w = World(method, 10, columns, outputs, babies)
    assert w.decrypted(w.native.run(w.babies, 0, w.diagonals, w.galois)) == w.expected


@BOTH
def test_rings_of_several_tiles_and_sums_in_several_groups(method: str) -> None:
    # Eleven giant steps, the last with two diagonals; tiles are of 1,024 words.
    w = World(method, 12, 32, 2, 3)
    assert w.shape.layout.giants == 11
    assert w.decrypted(w.native.run(w.babies, 0, w.diagonals, w.galois, 2)) == w.expected


@pytest.mark.parametrize("cuts", [(0, 1, 5), (0, 2, 4, 5), (0, 1, 2, 3, 4, 5)])
@BOTH
def test_any_partition_decrypts_alike(method: str, cuts: tuple[int, ...]) -> None:
    w = world(method)
    assert w.layout.giants == 5
    parts = [(a, b - a, w.native.run(w.babies, a, w.diagonals[a:b], w.galois)) for a, b in itertools.pairwise(cuts)]
    result = parts[-1][2]
    for _, count, lower in reversed(parts[:-1]):
        with _native.counting() as did:
            result = w.native.combine(lower, count, result, w.galois)
        assert did.operations == w.native.combine_counts(count)
    assert w.decrypted(result) == w.expected
    whole = w.native.run(w.babies, 0, w.diagonals, w.galois)
    for a, b in zip(result, whole, strict=True):
        # What the plan adds for partitions covers them.
        assert abs(a.log_deviation - b.log_deviation) < 0.05


@BOTH
def test_threads_give_the_same_bits(method: str) -> None:
    w = world(method)
    once = w.native.run(w.babies, 0, w.diagonals, w.galois)
    for threads in (2, 3):
        again = w.native.run(w.native.babies(w.encrypted, w.galois, threads), 0, w.diagonals, w.galois, threads)
        for a, b in zip(once, again, strict=True):
            assert all(np.array_equal(a.limb(p, i), b.limb(p, i)) for p in (0, 1) for i in range(3))
        assert all(np.array_equal(w.layout.encode(w.signals, g, threads), w.diagonals[g]) for g in range(5))


def test_counts_are_those_of_the_plan() -> None:
    """Algorithm 1: B - 1 + G - 1 rotations for each product of a matrix, n products; with one set of diagonals half of
    the transforms and one rotation more."""
    seen = {}
    for method in ("paper", "ringforge"):
        w = world(method)
        with _native.counting() as babies:
            made = w.native.babies(w.encrypted, w.galois)
        with _native.counting() as run:
            w.native.run(made, 0, w.diagonals, w.galois)
        assert babies.operations == w.native.baby_counts()
        assert run.operations == w.native.run_counts(0, 5)
        assert run.operations.plain_mul == 2 * 32
        assert run.operations.rotation == 2 * 4
        seen[method] = babies.operations.rotation, run.operations.ntt
    assert seen["paper"][0] == 6
    assert seen["ringforge"][0] == 7
    assert seen["paper"][1] - seen["ringforge"][1] == 3 * 32


def test_counts_of_the_shipped_sets_are_the_papers() -> None:
    context = Context(Parameters.named("omr"))
    paper = AffineShape(context, 1024, 2, 46, "paper", 23)
    ours = AffineShape(context, 1024, 2, 46, "ringforge", 23)
    assert paper.layout.giants == 23
    assert paper.native.baby_counts().rotation + paper.native.run_counts(0, 23).rotation // 2 == 67
    assert paper.native.run_counts(0, 23).plain_mul == 2 * 1024
    assert paper.layout.terms(22) == 12
    assert ours.native.run_counts(0, 23).plain_mul == 2 * 1024
    assert ours.native.baby_counts().rotation == 46
    assert sum(ours.layout.bytes(g) for g in range(23)) == 1024 * 65536 * 20 // 8
    assert ours.native.baby_bytes + ours.native.run_bytes(0, 23, 2) < 4 << 30


@BOTH
def test_predicted_noise_covers_the_measured(method: str) -> None:
    w = world(method)
    noise = w.native.baby_noise(w.encrypted)
    out = w.native.run(w.babies, 0, w.diagonals, w.galois)
    for i, c in enumerate(out):
        assert c.noise == w.native.run_noise(noise, 0, 5, i)
        largest, deviation = w.client.measure(c, w.secret)
        assert deviation < c.log_deviation < deviation + 8
        assert largest < w.context.rules.bound_bits(c)


def test_noise_covers_diagonals_of_one_will() -> None:
    """Senders may agree: all diagonals of the largest norm, alike, flat or with all of it at one root of unity."""
    degree = 1 << 10
    for seed, turns in enumerate([1, 5, 77, 1001, 0, 0]):
        w = World("ringforge", 10)
        client = Client(w.context, TestSeed(bytes([seed]) * 32))
        secret = client.secret_key()
        keys = GaloisKeys()
        for element in {w.native.baby_element, w.native.giant_element}:
            keys.insert(client.galois_key(secret, element))
        encrypted = client.encrypt(w.context.encode(np.zeros(degree, np.int64)), secret)
        angle = np.pi * turns * np.arange(degree) / degree
        signs = np.cos(angle) if turns else np.random.default_rng(seed).standard_normal(degree)
        words = np.where(signs < 0, T - T // 2, T // 2)
        bits = ((words[:, None] >> np.arange(20)) & 1).astype(np.uint8).reshape(-1)
        one = np.packbits(bits, bitorder="little")
        diagonals = [np.tile(one, len(d) // len(one)) for d in w.diagonals]
        for c in w.native.run(w.native.babies(encrypted, keys), 0, diagonals, keys):
            largest, deviation = client.measure(c, secret)
            assert deviation < c.log_deviation < deviation + 8
            assert largest < w.context.rules.bound_bits(c)


def test_rules_of_other_securities_and_parameters() -> None:
    w = world("ringforge")
    noise = w.native.baby_noise(w.encrypted)
    sure = NoiseRules(w.context.params, 128)
    more = w.native.baby_noise(sure.encrypted(False), sure)
    assert w.native.run_noise(noise, 0, 5, 0).log_deviation < w.native.run_noise(more, 0, 5, 0, sure).log_deviation
    foreign = NoiseRules(context(11).params)
    with pytest.raises(MismatchError, match="other parameters"):
        w.native.baby_noise(w.encrypted, foreign)
    with pytest.raises(MismatchError, match="other parameters"):
        w.native.run_noise(noise, 0, 5, 0, foreign)


def test_a_progress_grows_and_cancels() -> None:
    w = world("ringforge")
    seen: list[float] = []
    w.native.babies(w.encrypted, w.galois, 1, seen.append)
    w.native.run(w.babies, 0, w.diagonals, w.galois, 2, seen.append)
    assert seen[:7] == sorted(seen[:7])
    assert seen[7:] == sorted(seen[7:])
    assert seen[-1] == 1
    with pytest.raises(Error, match="cancelled"):
        w.native.run(w.babies, 0, w.diagonals, w.galois, 1, lambda done: done < 0.5)
    assert w.decrypted(w.native.run(w.babies, 0, w.diagonals, w.galois)) == w.expected


def test_checks_refuse_what_runs_would() -> None:
    """For devices that compute elsewhere; and what comes back from there has to have the right shape."""
    w, other = world("ringforge"), World("ringforge", 11)
    w.native.check_babies(w.encrypted, w.galois)
    w.native.check_run(w.babies, 0, 5, w.galois)
    stranger = Client(w.context, TestSeed(bytes([8]) * 32))
    foreign, mixed = GaloisKeys(), GaloisKeys()
    secret = stranger.secret_key()
    for element in (w.native.baby_element, w.native.giant_element):
        foreign.insert(stranger.galois_key(secret, element))
    mixed.insert(w.client.galois_key(w.secret, w.native.baby_element))
    mixed.insert(stranger.galois_key(secret, w.native.giant_element))
    for keys in (foreign, other.galois):
        with pytest.raises(MismatchError):
            w.native.check_babies(w.encrypted, keys)
    for keys in (foreign, mixed, other.galois):
        with pytest.raises(MismatchError):
            w.native.check_run(w.babies, 0, 2, keys)
        with pytest.raises(MismatchError):
            w.native.run(w.babies, 0, w.diagonals[:2], keys)
    with pytest.raises(MismatchError):
        w.native.check_babies(other.encrypted, w.galois)
    for keys in (GaloisKeys(),):
        with pytest.raises(MissingKeyError):
            w.native.check_babies(w.encrypted, keys)
        with pytest.raises(MissingKeyError):
            w.native.check_run(w.babies, 0, 2, keys)
    w.native.check_run(w.babies, 0, 1, GaloisKeys())  # one giant step is not rotated
    with pytest.raises(Error):
        w.native.check_run(other.babies, 0, 5, w.galois)

    limbs = w.shape.limbs
    made = [
        [[np.asarray(w.babies.limb(at, part, i)) for i in range(limbs)] for part in (0, 1)]
        for at in range(1, len(w.babies))
    ]
    again = w.native.assemble_babies(w.encrypted, made)
    out = w.native.run(w.babies, 0, w.diagonals, w.galois)
    parts = [[[np.asarray(c.limb(part, i)) for i in range(limbs)] for part in (0, 1)] for c in out]
    same = w.native.assemble(again, 0, 5, parts)
    assert w.decrypted(same) == w.decrypted(out) == w.expected
    assert [c.noise for c in same] == [c.noise for c in out]
    for wrong in (made[:-1], [*made[:-1], made[-1][:1]], [*made[:-1], [m[:-1] for m in made[-1]]]):
        with pytest.raises(Error):
            w.native.assemble_babies(w.encrypted, wrong)
    for wrong in (parts[:-1], [*parts[:-1], parts[-1][:1]], [*parts[:-1], [[x[:-1] for x in p] for p in parts[-1]]]):
        with pytest.raises(Error):
            w.native.assemble(again, 0, 5, wrong)
    with pytest.raises(Error):
        w.native.assemble_babies(other.encrypted, made)
    with pytest.raises(Error):
        w.native.assemble(other.babies, 0, 5, parts)


def test_what_does_not_fit_is_refused() -> None:
    w, other = world("ringforge"), World("ringforge", 11)
    run, d = w.native.run, w.diagonals
    with pytest.raises(LevelError, match="there are 5"):
        run(w.babies, 1, d, w.galois)
    with pytest.raises(LevelError):
        run(w.babies, 0, [], w.galois)
    with pytest.raises(ShapeError, match="giant step 1 has diagonals"):
        run(w.babies, 0, [d[0], d[1][:-1]], w.galois)
    with pytest.raises(ShapeError, match="rotations of the key"):
        run(world("paper").babies, 0, d, w.galois)
    with pytest.raises(MissingKeyError):
        run(w.babies, 0, d, GaloisKeys())
    with pytest.raises(MissingKeyError):
        w.native.babies(w.encrypted, GaloisKeys())
    with pytest.raises(MismatchError):
        run(w.babies, 0, d, other.galois)
    with pytest.raises(MismatchError):
        w.native.babies(other.encrypted, w.galois)
    with pytest.raises(LevelError):
        w.native.babies(w.client.encrypt(w.context.constant(1), w.secret, 2), w.galois)
    with pytest.raises(MismatchError):
        _native.omr.Affine(w.context, other.layout, 3)
    with pytest.raises(LevelError):
        _native.omr.Affine(w.context, w.layout, 4)
    out = run(w.babies, 0, d, w.galois)
    with pytest.raises(ShapeError):
        w.native.combine(out[:1], 1, out, w.galois)
    for count in (0, 5):
        with pytest.raises(LevelError):
            w.native.combine(out, count, out, w.galois)
    with pytest.raises(LevelError):
        w.layout.encode(w.signals, 5)
    with pytest.raises(ShapeError):
        w.layout.encode(w.signals[:-1], 0)
    with pytest.raises(ShapeError):
        w.layout.encode(w.signals[:, :-1].copy(), 0)
    wrong = w.signals.copy()
    wrong[17, 31] = T
    # The word is in one diagonal.
    refused = 0
    for g in range(5):
        try:
            w.layout.encode(wrong, g)
        except ValueError:
            refused += 1
    assert refused == 1
    with pytest.raises(ValueError, match="is not below"):
        w.layout.key_slots(np.full(32, T, np.uint32))
    for wrong_shape in (
        (10, T, 24, 2, 7),
        (10, T, 512, 2, 7),
        (10, T, 32, 0, 7),
        (10, T, 32, 2, 33),
        (10, T, 32, 9, 7),
    ):
        with pytest.raises(Error):
            _native.omr.AffineLayout(*wrong_shape)
    with pytest.raises(Error, match="unknown method"):
        _native.omr.AffineLayout(10, T, 32, 2, 7, "hasty")
