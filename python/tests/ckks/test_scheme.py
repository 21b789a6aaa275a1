# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""CKKS from Python: shipped and suggested sets, kernel-set independence, byte strings."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ringforge as rf
from ringforge import _native, ckks
from ringforge import params as parameter_sets

SEED = ckks.TestSeed(bytes(range(32)))


def slots(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.uniform(-0.7, 0.7, n) + 1j * rng.uniform(-0.7, 0.7, n)).astype(complex)


@pytest.mark.parametrize("name", ["set-a", "set-b"])
def test_session(name: str) -> None:
    s = ckks.Session(parameter_sets.named(name), threads=2, fixed_seed_for_tests=SEED)
    x, y = slots(s.params.slots, 1), slots(s.params.slots, 2)
    a, b = s.encrypt(x), s.encrypt(y, public=True)
    s.add_rotation_keys([1, -7])
    s.add_conjugation_key()
    ev = s.evaluator
    product = ev.rescale(ev.relinearize(ev.mul(a, b), s.relin_key))
    for got, exact in [
        (product, x * y),
        (ev.rotate(a, 1, s.galois_keys), np.roll(x, -1)),
        (ev.rotate(a, -7, s.galois_keys), np.roll(x, 7)),
        (ev.conjugate(a, s.galois_keys), x.conj()),
        (ev.rescale(ev.mul_scalar(a, -0.5)), x * -0.5),
    ]:
        p = ckks.precision(exact, s.decrypt(got))
        assert p.max_error <= got.error_bound
        assert p.max_error >= got.error_bound / 256
        assert str(p).startswith("at least")


def test_bounds_are_declared_not_read_off_the_data() -> None:
    s = ckks.Session(parameter_sets.named("set-a"), fixed_seed_for_tests=SEED)
    assert s.encrypt([0.1, 0.2]).bound == 1.0
    assert s.encrypt([3.0], bound=4).bound == 4.0
    with pytest.raises(rf.ValueError, match="declared bound 1"):
        s.encrypt([1.5])


@pytest.mark.parametrize("depth", [1, 2, 4, 6])
def test_suggested_sets_keep_their_promise(depth: int) -> None:
    """`depth` multiplications in a chain leave at least the promised precision."""
    suggestion = parameter_sets.suggest(depth, 16, 512)
    p = suggestion.parameters
    assert p.secure
    assert p.max_level == depth
    assert "128 bits" in suggestion.why
    s = ckks.Session(p, fixed_seed_for_tests=SEED)
    x = slots(p.slots, depth)
    c, exact = s.encrypt(x), x
    first = c
    for _ in range(depth):
        first = s.evaluator.drop_to_level(first, c.level)
        c = s.evaluator.rescale(s.evaluator.relinearize(s.evaluator.mul(c, first), s.relin_key))
        exact = exact * x
    assert ckks.precision(exact, s.decrypt(c)).min_bits >= 16


@pytest.mark.parametrize(
    ("depth", "precision", "headroom"), [(1, 30, 9), (1, 36, 9), (1, 44, 1), (3, 40, 2), (2, 20, 25), (2, 20, 0)]
)
def test_suggestions_reach_as_far_as_primes_do(depth: int, precision: float, headroom: int) -> None:
    """Precise results and large ones: sets with primes up to 61 bits are found, and keep what they promise."""
    p = parameter_sets.suggest(depth, precision, 4096, headroom).parameters
    assert p.secure
    assert p.log_n <= 14
    s = ckks.Session(p, fixed_seed_for_tests=SEED)
    x = slots(p.slots, depth)
    c, exact = s.encrypt(x), x
    for _ in range(depth):
        factor = s.encrypt(x, scale=c.scale, level=c.level)
        c = s.evaluator.rescale(s.evaluator.relinearize(s.evaluator.mul(c, factor), s.relin_key))
        exact = exact * x
    assert ckks.precision(exact, s.decrypt(c)).min_bits >= precision
    # The largest results that were asked for fit at level 0.
    largest = np.full(p.slots, 0.95 * 2.0**headroom)
    low = s.encrypt(largest, level=0, bound=2.0**headroom)
    assert ckks.precision(largest, s.decrypt(low)).max_error <= low.error_bound


def test_a_rescale_below_the_noise_is_refused() -> None:
    s = ckks.Session("set-b", fixed_seed_for_tests=SEED)
    ev = s.evaluator

    def squared(c: ckks.Ciphertext) -> ckks.Ciphertext:
        return ev.rescale(ev.relinearize(ev.mul(c, c), s.relin_key))

    x = slots(s.params.slots)
    once = squared(s.encrypt(x))
    assert ckks.precision(x * x, s.decrypt(once)).max_error <= once.error_bound < 2**-13
    with pytest.raises(rf.ScaleError, match=r"2\^10\.0.*nothing of them would be left"):
        squared(once)
    # Both remedies of the message.
    raised = squared(ev.rescale(ev.mul_scalar(once, 1.0, 2.0**67)))
    assert ckks.precision(x**4, s.decrypt(raised)).max_error <= raised.error_bound < 2**-10
    c, exact = s.encrypt(x, scale=2.0**49.5), x
    for _ in range(4):
        c, exact = squared(c), exact * exact
    assert ckks.precision(exact, s.decrypt(c)).max_error <= c.error_bound < 2**-20


def test_sets_are_taken_by_name() -> None:
    named = parameter_sets.named("set-a")
    assert ckks.Session("set-a").params == named == ckks.Context("set-a").params
    assert parameter_sets.resolve("set-a") == parameter_sets.resolve(named) == named
    assert parameter_sets.describe("set-a") == parameter_sets.describe(named)
    for make in (ckks.Session, ckks.Context, parameter_sets.describe):
        with pytest.raises(rf.ParameterError, match="the sets are"):
            make("set-x")
        with pytest.raises(rf.ParameterError, match=r'named\("set-b-54", insecure="why"\)'):
            make("set-b-54")


def test_keys_are_shared_not_moved() -> None:
    """A key stays whole after it was inserted, and an erased one serves whoever holds it."""
    s = ckks.Session("set-a", fixed_seed_for_tests=SEED)
    element = s.context.rotation_element(1)
    key = s.client.galois_key(s.secret_key, element)
    size = key.bytes
    keys, others = ckks.GaloisKeys(), ckks.GaloisKeys()
    keys.insert(key)
    others.insert(key)
    assert key.bytes == keys.bytes == others.bytes == size > 0
    keys.erase(element)
    assert element not in keys
    x = slots(s.params.slots)
    assert np.abs(s.decrypt(s.evaluator.rotate(s.encrypt(x), 1, others)) - np.roll(x, -1)).max() < 2**-20


def test_key_sets_may_change_while_others_evaluate() -> None:
    """Four threads rotate while one erases and inserts what they rotate by: right results or a missing key."""
    s = ckks.Session("set-a", fixed_seed_for_tests=SEED)
    s.add_rotation_keys([1, 2])
    elements = [s.context.rotation_element(k) for k in (1, 2)]
    made = {e: s.client.galois_key(s.secret_key, e) for e in elements}
    c, x = s.encrypt(slots(s.params.slots)), slots(s.params.slots)
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            for e in elements:
                s.galois_keys.erase(e)
                assert s.galois_keys.bytes >= 0
                s.galois_keys.insert(made[e])

    def rotate(step: int) -> int:
        right = 0
        for _ in range(10):
            try:
                got = s.evaluator.rotate_hoisted(c, [step, 3 - step], s.galois_keys)
            except rf.MissingKeyError:
                continue
            assert np.abs(s.decrypt(got[0]) - np.roll(x, -step)).max() < 2**-20
            right += 1
        return right

    with ThreadPoolExecutor(5) as pool:
        changing = pool.submit(change)
        counts = [f.result() for f in [pool.submit(rotate, k) for k in (1, 2, 1, 2)]]
        done.set()
        changing.result()
    assert len(counts) == 4
    assert s.evaluator.rotate_hoisted(c, [1, 2], s.galois_keys)


def test_sharing_adds_noise_of_the_stated_size() -> None:
    s = ckks.Session(parameter_sets.named("set-a"), fixed_seed_for_tests=SEED)
    c = s.encrypt(slots(s.params.slots))
    sigma = ckks.flood_deviation(c.variance, s.params.degree, 20) / c.scale
    spread = np.std(s.decrypt(c, share_bits=20) - s.decrypt(c))
    assert spread == pytest.approx(sigma * math.sqrt(s.params.degree), rel=0.1)


def test_records_travel_as_bytes() -> None:
    s = ckks.Session(parameter_sets.named("set-a"), fixed_seed_for_tests=SEED)
    ctx, io = s.context, _native.io
    c = s.encrypt(slots(s.params.slots))
    data = io.to_bytes(ctx, c)
    both = io.to_bytes(ctx, s.evaluator.negate(c))
    assert len(data) < 0.52 * len(both), "fresh ciphertexts store their uniform half as a seed"
    again = io.ciphertext_from_bytes(data, ctx)
    assert np.array_equal(s.decrypt(again), s.decrypt(c))
    with pytest.raises(rf.FormatError):
        io.ciphertext_from_bytes(data[:-1], ctx)
    with pytest.raises(rf.FormatError):
        io.secret_key_from_bytes(data, ctx)
    with pytest.raises(rf.MismatchError):
        io.ciphertext_from_bytes(data, ckks.Context(parameter_sets.named("set-b")))


DIGEST = """
import hashlib, numpy as np
from ringforge import _native, ckks, params
s = ckks.Session(params.named("set-a"), threads={threads}, fixed_seed_for_tests=ckks.TestSeed(bytes(range(32))))
x = np.random.default_rng(5).uniform(-0.7, 0.7, s.params.slots)
a = s.encrypt(x)
s.add_rotation_keys([3])
ev = s.evaluator
r = ev.rotate(ev.rescale(ev.relinearize(ev.mul(a, a), s.relin_key)), 3, s.galois_keys)
h = hashlib.sha256(_native.io.to_bytes(s.context, a) + _native.io.to_bytes(s.context, r))
h.update(np.ascontiguousarray(s.decrypt(r)).tobytes())
print(_native.kernels.active(), h.hexdigest())
"""


def test_same_bits_on_every_kernel_set_and_thread_count() -> None:
    digests = set()
    for name in _native.kernels.available():
        for threads in (1, 2):
            out = subprocess.run(
                [sys.executable, "-c", DIGEST.format(threads=threads)],
                env={**os.environ, "RINGFORGE_KERNELS": name},
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            assert out[0] == name
            digests.add(out[1])
    assert len(digests) == 1


def test_unknown_kernel_set_is_refused() -> None:
    out = subprocess.run(
        [sys.executable, "-c", "from ringforge import _native; _native.kernels.active()"],
        env={**os.environ, "RINGFORGE_KERNELS": "sse9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.returncode != 0
    assert "sse9 is not a kernel set" in out.stderr


def test_shipped_sets_are_pinned() -> None:
    """Parameter hashes are part of every file: changing one breaks users' data."""
    digest = hashlib.sha256()
    pinned = {
        "set-b-54": "dd7a4c0993e49e1d",
        "matmul-c-128": "2553c2cf84379093",
        "set-small": "62b8fb07df89f5f4",
        "fame-small-3": "466cc28155b2caae",
    }
    fame = {"fame-a", "fame-b", "fame-c", "fame-small", "fame-small-3"}
    insecure = {"set-b-54", "set-small", "matmul-a", "matmul-b", "matmul-c", *fame}
    for name in parameter_sets.names():
        p = parameter_sets.named(name, insecure="pinning the hash")
        digest.update(p.hash)
        assert p.secure == (name not in insecure)
        assert name not in fame or len({q.bit_length() for q in (*p.q, *p.p)}) == 1
        if name in pinned:
            assert digest.hexdigest()[:16] == pinned[name], name
    assert name == list(pinned)[-1], "a new set is pinned too"
    assert parameter_sets.named("set-a").log_qp == pytest.approx(200, abs=0.1)
    assert parameter_sets.named("set-b").log_qp == pytest.approx(400, abs=0.1)
    assert parameter_sets.named("set-c").log_qp == pytest.approx(750, abs=0.1)
    for name, bits in (("matmul-a", 218), ("matmul-b", 855), ("matmul-c", 1693)):
        assert parameter_sets.named(name, insecure="log Q").log_q == pytest.approx(bits, abs=0.1)
    with pytest.raises(rf.ParameterError, match="insecure="):
        parameter_sets.named("set-b-54")
    with pytest.raises(rf.ParameterError, match="set-a, set-b"):
        parameter_sets.named("set-z")
