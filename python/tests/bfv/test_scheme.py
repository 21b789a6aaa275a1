# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""BFV from Python: results against exact integers, noise against its predictions, what users get wrong, records."""

from __future__ import annotations

import doctest
import itertools
import os
import re
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ringforge as rf
from ringforge import _native, bfv, params
from ringforge._native import io, kernels

SEED = bfv.TestSeed(bytes(range(32)))
T = 65537

Ints = npt.NDArray[np.int64]


def parameters(log_n: int = 12, t: int = T, limbs: int = 6, special: int = 2) -> bfv.Parameters:
    primes = kernels.primes_below(50, limbs + special, 1 << 18)
    return bfv.Parameters("", log_n, t, primes[special:], primes[:special], special, "tests")


@cache
def session() -> bfv.Session:
    s = bfv.Session(parameters(), threads=2, fixed_seed_for_tests=SEED)
    s.add_rotation_keys([1, 3, -7])
    s.add_row_swap_key()
    return s


def numbers(what: int, size: int | None = None, t: int = T) -> Ints:
    size = session().params.degree if size is None else size
    return np.random.default_rng(what).integers(-(t // 2), t // 2 + 1, size)


def centred(values: npt.ArrayLike, t: int = T) -> Ints:
    """Exact integers modulo t, in [-t/2, t/2)."""
    r = np.asarray([int(v) % t for v in np.asarray(values, object).reshape(-1)], np.int64)
    return np.where(r >= (t + 1) // 2, r - t, r)


def check(s: bfv.Session, c: bfv.Ciphertext, exact: npt.ArrayLike, within: float = 8) -> None:
    """The numbers are right, and the noise is below its bound, by at most `within` bits."""
    assert np.array_equal(s.decrypt(c), centred(exact, s.params.t))
    measured, predicted = s.noise_budget(c), s.predicted_budget(c)
    assert predicted <= measured <= predicted + within, (predicted, measured)


def test_every_operation_is_exact_and_its_noise_predicted() -> None:
    s, ev = session(), session().evaluator
    x, y = numbers(1), numbers(2)
    a, b = s.encrypt(x), s.encrypt(y, public=True)
    wide, two = x.astype(object), y.astype(object)
    half = len(x) // 2

    def rolled(v: Any, step: int) -> Any:
        return np.concatenate([np.roll(v[:half], -step), np.roll(v[half:], -step)])

    plain = bfv.encode(s.context, y)
    product = ev.mul(a, b)
    switched = ev.relinearize(product, s.relin_key)
    for c, exact in [
        (a, x),
        (b, y),
        (ev.add(a, b), x + y),
        (ev.sub(a, b), x - y),
        (ev.add(a, a), 2 * x),
        (ev.negate(a), -x),
        (ev.add_plain(a, plain), x + y),
        (ev.sub_plain(a, plain), x - y),
        (ev.add_constant(a, -12345), x - 12345),
        (ev.mul_plain(a, plain), wide * two),
        (ev.mul_plain(a, s.context.multiplier(plain)), wide * two),
        (ev.mul_constant(a, -3), -3 * x),
        (ev.combine([a, b, a], [2, -5, 7]), 9 * x - 5 * y),
        (product, wide * two),
        (switched, wide * two),
        (ev.square(a), wide**2),
        (ev.relinearize(ev.add(product, ev.square(b)), s.relin_key), wide * two + two**2),
        (ev.rotate_rows(a, 1, s.galois_keys), rolled(x, 1)),
        (ev.rotate_rows(switched, -7, s.galois_keys), rolled(wide * two, -7)),
        (ev.swap_rows(b, s.galois_keys), np.concatenate([y[half:], y[:half]])),
        (ev.mod_switch_to(switched, 2), wide * two),
        (ev.apply_galois(a, s.context.swap_element, s.galois_keys), np.concatenate([x[half:], x[:half]])),
    ]:
        check(s, c, exact)
    for step, c in zip([3, 1], ev.rotate_hoisted(a, [3, 1], s.galois_keys), strict=True):
        check(s, c, rolled(x, step))


def test_chains_of_dependent_products_are_predicted() -> None:
    """Powers of one ciphertext, and products by one and the same factor: noise whose slots hold powers of s."""
    s, ev = session(), session().evaluator
    x = numbers(3)
    first = s.encrypt(x)
    power, factor, exact, other = first, first, x.astype(object), x.astype(object)
    for _ in range(3):
        power = ev.relinearize(ev.square(power), s.relin_key)
        exact = exact**2 % T
        check(s, power, exact)
        factor = ev.relinearize(ev.mul(factor, first), s.relin_key)
        other = other * x % T
        check(s, factor, other)


def test_rows_and_coefficients() -> None:
    s, p = session(), session().params
    rows = numbers(4, p.degree).reshape(2, -1)
    assert np.array_equal(s.decrypt(s.encrypt(rows)).reshape(2, -1), rows)
    few = s.decrypt(s.encrypt([[1, -2], [3, T - 1]]))
    assert few[:3].tolist() == [1, -2, 0]
    assert few[p.row : p.row + 3].tolist() == [3, -1, 0]
    assert s.decrypt(s.encrypt([-1, T - 2]), signed=False)[:2].tolist() == [T - 1, T - 2]
    # Polynomials: X^(N-1) * X = -1.
    a = s.encrypt([0] * (p.degree - 1) + [5], packing="coefficients")
    b = s.encrypt([0, 3], packing="coefficients")
    got = s.decrypt(s.evaluator.mul(a, b), packing="coefficients")
    assert got[0] == -15
    assert not got[1:].any()
    assert s.decrypt(s.encrypt(7))[:2].tolist() == [7, 0]
    assert not s.decrypt(s.encrypt([])).any()


def test_a_modulus_without_slots() -> None:
    s = bfv.Session(parameters(t=1 << 20, limbs=3), fixed_seed_for_tests=SEED)
    assert not s.params.batching
    with pytest.raises(rf.ParameterError, match=r"prime that is 1 mod 8192, such as t = 1073153") as caught:
        s.encrypt([1, 2])
    assert parameters(t=int(str(caught.value).split("such as t = ")[1].split(";")[0])).batching
    c = s.encrypt([-(1 << 19), 1], packing="coefficients")
    assert s.decrypt(c, packing="coefficients")[:3].tolist() == [-(1 << 19), 1, 0]
    doubled = s.evaluator.add_constant(s.evaluator.mul_constant(c, 3), 5)
    assert s.decrypt(doubled, packing="coefficients")[:2].tolist() == [5 - (1 << 19), 3]


@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ([0.5], rf.ValueError, "float64.*integers modulo t"),
        ([T], rf.ValueError, r"65537 is outside -32768 \.\.\. 65536.*larger t"),
        ([-32769], rf.ValueError, "-32769 is outside"),
        ([1 << 70], rf.ValueError, "is outside"),
        (["a"], rf.ValueError, "integers"),
        ([[1], [2, 3]], rf.ValueError, "no array"),
        ([True, 1j], rf.ValueError, "complex"),
        (np.zeros((3, 4), int), rf.ShapeError, r"\(3, 4\).*2 rows of 2048 slots"),
        (np.zeros((2, 2049), int), rf.ShapeError, "rows"),
        (np.zeros(4097, int), rf.ShapeError, "several ciphertexts"),
    ],
)
def test_values_that_would_come_back_as_others_are_refused(values: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        session().encrypt(values)


def test_more_noise_than_predicted_room_is_refused() -> None:
    s = bfv.Session(parameters(limbs=2, special=1), fixed_seed_for_tests=SEED)
    c = s.encrypt(numbers(5))
    products = 0
    while s.predicted_budget(c) > 0:
        check(s, c, s.decrypt(c))
        c = s.evaluator.relinearize(s.evaluator.square(c), s.relin_key)
        products += 1
    assert products >= 1
    with pytest.raises(rf.errors.NoiseError, match=r"predicted noise budget is -.*suggest_bfv"):
        s.decrypt(c)
    for _ in range(2):
        c = s.evaluator.square(s.evaluator.relinearize(c, s.relin_key))
    assert s.noise_budget(c) == pytest.approx(0, abs=0.01)
    with pytest.raises(rf.LevelError):
        s.decrypt(c, anyway=True)


@pytest.mark.parametrize(("depth", "t"), [(1, T), (3, T), (2, 786433), (6, T), (1, 40961)])
def test_suggested_sets_keep_their_promise(depth: int, t: int) -> None:
    suggestion = params.suggest_bfv(depth, t)
    p = suggestion.parameters
    assert p.secure
    assert p.batching
    assert f"depth {depth} modulo {t}" in suggestion.why
    s = bfv.Session(p, threads=2, fixed_seed_for_tests=SEED)
    s.add_rotation_keys([1])
    ev, x = s.evaluator, numbers(depth, p.degree, t)
    c, exact = s.encrypt(x, public=True), x.astype(object)
    for _ in range(depth):
        c = ev.rotate_rows(ev.relinearize(ev.square(c), s.relin_key), 1, s.galois_keys)
        c = ev.add(c, c)
        rows = (exact**2).reshape(2, -1)
        exact = 2 * np.roll(rows, -1, axis=1).reshape(-1) % t
    # Tails of products of many factors are heavy: the bound of one key in 2^40 is far above what most keys see.
    check(s, c, exact, within=8 if depth < 3 else 18)


def test_what_cannot_be_suggested_says_why() -> None:
    with pytest.raises(rf.ParameterError, match="65537"):
        params.suggest_bfv(2, 1000)
    assert not params.suggest_bfv(1, 1000, batching=False).parameters.batching
    with pytest.raises(rf.ParameterError, match="depth"):
        params.suggest_bfv(60, T)


def test_sets_are_taken_by_name() -> None:
    secure = [n for n in params.names_bfv() if params.named_bfv(n, "tests").secure]
    assert "omr" in secure
    named = params.named_bfv(secure[0])
    assert bfv.Context(secure[0]).params == named == params.resolve_bfv(named) == params.resolve_bfv(secure[0])
    assert params.describe_bfv(named)["t"] == str(named.t)
    for make in (bfv.Session, bfv.Context, params.describe_bfv):
        with pytest.raises(rf.ParameterError, match="the sets are"):
            make("bfv-x")
        with pytest.raises(rf.ParameterError, match=r'insecure="why"'):
            make("omr-test")


def test_shipped_sets_are_pinned() -> None:
    """Parameter hashes are part of every file: changing one breaks users' data."""
    found = {n: params.named_bfv(n, "pinning the hash").hash.hex()[:16] for n in params.names_bfv()}
    assert found == PINNED
    omr = params.named_bfv("omr")
    assert (len(omr.q), len(omr.p), omr.limbs_per_digit) == (23, 12, 12)
    assert omr.log_q == pytest.approx(1140, abs=0.2)
    assert omr.log_qp <= 1747
    assert all(q % (1 << 18) == 1 for q in (*omr.q, *omr.p))


PINNED = {
    "bfv-13": "42e73b3a3c225b5a",
    "bfv-14": "90863d2094dac15a",
    "bfv-15": "410bc2df1dc0aa41",
    "bfv-16": "7da3d2012146dad8",
    "omr": "cd599c0ed7bccbd2",
    "omr-24": "c5896be2a5a1ae47",
    "omr-test": "ff26a5753b04d33b",
}


def test_sharing_adds_noise_and_decrypts_right() -> None:
    s = session()
    c = s.encrypt(numbers(6))
    for bits in (10, 40):
        assert np.array_equal(s.decrypt(c, share_bits=bits, queries=4), s.decrypt(c))
    low = s.encrypt(numbers(6), limbs=1)
    with pytest.raises(rf.LevelError):
        s.decrypt(low, share_bits=60)


def test_records_travel_as_bytes() -> None:
    s, ctx = session(), session().context
    c = s.encrypt(numbers(7))
    data, both = io.to_bytes(ctx, c), io.to_bytes(ctx, s.evaluator.negate(c))
    assert len(data) < 0.52 * len(both), "fresh ciphertexts store their uniform half as a seed"
    again = io.ciphertext_from_bytes(data, ctx)
    assert np.array_equal(s.decrypt(again), s.decrypt(c))
    assert again.noise == c.noise
    plain = bfv.encode(ctx, numbers(8))
    back = io.plaintext_from_bytes(io.to_bytes(ctx, plain), ctx)
    assert np.array_equal(bfv.decode(ctx, back), numbers(8))
    for key in (s.relin_key, s.public_key, s.secret_key, s.client.galois_key(s.secret_key, 5)):
        name = {"RelinKey": "relin_key", "PublicKey": "public_key", "SecretKey": "secret_key"}.get(
            type(key).__name__, "galois_key"
        )
        saved = io.to_bytes(ctx, key)
        assert io.to_bytes(ctx, getattr(io, f"{name}_from_bytes")(saved, ctx)) == saved
        assert io.peek(saved).type.startswith("BFV ")
    with pytest.raises(rf.FormatError):
        io.ciphertext_from_bytes(data[:-1], ctx)
    with pytest.raises(rf.FormatError):
        io.secret_key_from_bytes(data, ctx)
    with pytest.raises(rf.MismatchError):
        io.ciphertext_from_bytes(data, bfv.Context(parameters(11)))
    with pytest.raises(rf.FormatError):
        io.ciphertext_from_bytes(data, _native.Context("set-a"))


def test_threads_share_a_session() -> None:
    s, x = session(), numbers(9)
    c, wrong = s.encrypt(x), []

    def work(step: int) -> None:
        got = s.evaluator.rotate_rows(s.evaluator.relinearize(s.evaluator.square(c), s.relin_key), step, s.galois_keys)
        exact = np.roll((x.astype(object) ** 2).reshape(2, -1), -step, axis=1)
        wrong.extend(() if np.array_equal(s.decrypt(got), centred(exact)) else (step,))

    threads = [threading.Thread(target=work, args=(step,)) for step in (1, 3, -7, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_page_and_the_docstring_print_what_they_show() -> None:
    page = (Path(__file__).parents[3] / "docs" / "bfv.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for text in (*blocks, bfv.__doc__ or ""):
        test = doctest.DocTestParser().get_doctest(text, {}, "bfv", None, 0)
        failed, tried = doctest.DocTestRunner().run(test)
        assert tried > 3
        assert not failed


DIGEST = """
import hashlib, numpy as np
from ringforge import _native, bfv
from ringforge._native import kernels
primes = kernels.primes_below(50, 5, 1 << 18)
p = bfv.Parameters("", 11, 12289, primes[2:], primes[:2], 2, "tests")
s = bfv.Session(p, threads={threads}, fixed_seed_for_tests=bfv.TestSeed(bytes(range(32))))
a = s.encrypt(np.random.default_rng(5).integers(0, 12289, p.degree))
s.add_rotation_keys([3])
ev = s.evaluator
r = ev.mod_switch_to(ev.rotate_rows(ev.relinearize(ev.mul(a, a), s.relin_key), 3, s.galois_keys), 2)
h = hashlib.sha256(_native.io.to_bytes(s.context, a) + _native.io.to_bytes(s.context, r))
h.update(s.decrypt(r).tobytes())
print(kernels.active(), h.hexdigest())
"""


def test_same_bits_on_every_kernel_set_and_thread_count() -> None:
    digests = set()
    for name, threads in itertools.product(kernels.available(), (1, 2)):
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


def test_predictions_need_no_ciphertext() -> None:
    s = session()
    rules, limbs = s.context.rules, len(s.params.q)
    a = s.encrypt(numbers(10))
    ev = s.evaluator
    product = ev.relinearize(ev.mul(a, a), s.relin_key)
    noise = rules.multiplied(rules.encrypted(False), rules.encrypted(False), limbs)
    assert product.noise == noise
    assert s.predicted_budget(product) == pytest.approx(rules.budget(noise, limbs))
    low = rules.fewest_limbs(noise, limbs)
    assert ev.mod_switch_to(product, low).noise == rules.mod_switched(noise, limbs, low)
    assert rules.security == 40
    typical = bfv.NoiseRules(s.params, bfv.NoiseRules.TYPICAL)
    usual = typical.multiplied(typical.encrypted(False), typical.encrypted(False), limbs)
    assert usual.log_deviation < noise.log_deviation < usual.log_deviation + 4
    for security in (0, 513):
        with pytest.raises(rf.errors.ParameterError, match="confidence"):
            bfv.NoiseRules(s.params, security)
