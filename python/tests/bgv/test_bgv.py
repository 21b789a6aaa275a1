# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""BGV from Python: results against fields and polynomials over GF(2), noise against predictions, users' mistakes."""

from __future__ import annotations

import doctest
import itertools
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import ringforge as rf
from ringforge import _native, bgv, params
from ringforge._native import io
from ringforge.cli import main
from tests.answers import printed

SEED = bgv.TestSeed(bytes(range(32)))
WHY = "tests of BGV"

Bytes = npt.NDArray[np.uint8]


@cache
def session() -> bgv.Session:
    s = bgv.Session(params.named_bgv("bgv-test", WHY), threads=2, fixed_seed_for_tests=SEED)
    s.add_frobenius_keys(range(1, 8))
    return s


def aes_product(a: npt.ArrayLike, b: npt.ArrayLike) -> Bytes:
    """FIPS 197, section 4.2."""
    x, y = np.asarray(a, np.int64), np.asarray(b, np.int64)
    r = np.zeros_like(x)
    for i in range(8):
        r ^= (x << i) * (y >> i & 1)
    for i in range(14, 7, -1):
        r ^= (0x11B << (i - 8)) * (r >> i & 1)
    return r.astype(np.uint8)


def aes_power(a: Bytes, k: int) -> Bytes:
    """a^(2^k)."""
    for _ in range(k):
        a = aes_product(a, a)
    return a


def some(what: int, size: int | None = None) -> Bytes:
    return np.random.default_rng(what).integers(0, 256, session().slots.size if size is None else size, dtype=np.uint8)


def check(s: bgv.Session, c: bgv.Ciphertext, exact: npt.ArrayLike, within: float = 12) -> None:
    """The bytes are right; values at roots, coefficients and budget are within their bounds, by at most that."""
    assert np.array_equal(s.decrypt(c, packing="bytes"), exact)
    largest, value = s.client.measure(c, s.secret_key)
    rules = s.context.rules
    assert value <= c.log_bound <= value + within
    assert largest <= rules.bound_bits(c.noise)
    assert largest <= value + np.log2(rules.coefficient_factor) + 1e-6
    assert s.predicted_budget(c) <= s.noise_budget(c)


def test_every_operation_is_right_and_its_noise_bounded() -> None:
    s, ev = session(), session().evaluator
    x, y = some(1), some(2)
    a, b = s.encrypt(x, packing="bytes"), s.encrypt(y, packing="bytes", public=True)
    plain, bits = s.multiplier(y, packing="bytes"), s.slots.encode_bytes(y)
    product, xy = ev.mul(a, b), aes_product(x, y)
    switched = ev.relinearize(product, s.relin_key)
    two = s.context.frobenius_element(1)
    for c, exact in [
        (a, x),
        (b, y),
        (ev.add(a, b), x ^ y),
        (ev.add(a, a), x ^ x),
        (ev.add_plain(a, plain), x ^ y),
        (ev.add_plain(b, bits), y ^ y),
        (ev.add_one(a), x ^ 1),
        (ev.mul_plain(a, plain), xy),
        (ev.mul_plain(a, bits), xy),
        (product, xy),
        (switched, xy),
        (ev.square(a), aes_product(x, x)),
        (ev.mul(a, a), aes_product(x, x)),
        (ev.add(product, a), xy ^ x),
        (ev.relinearize(ev.add(product, ev.square(b)), s.relin_key), xy ^ aes_product(y, y)),
        (ev.mul_plain(product, plain), aes_product(xy, y)),
        (ev.multiply(a, b, s.relin_key), xy),
        (ev.multiply(a, b, s.relin_key, 1), xy),
        (ev.multiply(a, b, s.relin_key, 3), xy),
        (s.multiply(a, b), xy),
        (ev.relinearize(a, s.relin_key, 1), x),
        (ev.mod_switch_to(product, 3), xy),
        (ev.mod_switch_to(switched, 1), xy),
        (ev.drop_to(b, 2), y),
        (ev.apply_galois(a, two, s.galois_keys), aes_power(x, 1)),
        (ev.apply_galois(switched, s.context.frobenius_element(-3), s.galois_keys), aes_power(xy, 5)),
        (ev.apply_galois(a, 1, s.galois_keys), x),
    ]:
        check(s, c, exact)
    elements = [s.context.frobenius_element(k) for k in (3, 0, 7)]
    for k, c in zip((3, 0, 7), ev.apply_hoisted(b, elements, s.galois_keys), strict=True):
        check(s, c, aes_power(y, k))
    # Without a public key or two parts, not even the bound is the same.
    assert a.log_bound < b.log_bound


def test_sums_of_frobenius_maps_are_linear_maps_of_bytes() -> None:
    """Against the field, at several levels, with and without the identity, with a prime dropped; one map used twice."""
    s = session()
    x = some(3)
    factors = [[some(100 + 8 * i + k) for k in range(8)] for i in range(3)]
    exact = [np.bitwise_xor.reduce([aes_product(aes_power(x, k), f) for k, f in enumerate(fs)]) for fs in factors]
    maps = [[s.multiplier(f, packing="bytes") for f in fs] for fs in factors]
    top = s.encrypt(x, packing="bytes")
    for limbs in (20, 6, 2):
        c = s.evaluator.drop_to(top, limbs)
        for drop in (0, 1):
            for got, want in zip(s.linear_maps(c, maps, drop), exact, strict=True):
                assert got.limbs == limbs - drop
                check(s, got, want)
    one, four = 1, s.context.frobenius_element(2)
    sums = [[(four, maps[0][0]), (four, maps[0][1])], [(one, maps[0][2])]]
    first, second = s.evaluator.frobenius_sums(top, sums, s.galois_keys)
    check(s, first, aes_product(aes_power(x, 2), factors[0][0] ^ factors[0][1]))
    check(s, second, aes_product(x, factors[0][2]))
    (alone,) = s.evaluator.frobenius_sums(top, sums[1:], bgv.GaloisKeys())  # the identity needs no key
    check(s, alone, aes_product(x, factors[0][2]))


def test_one_division_for_a_sum_has_the_noise_of_one() -> None:
    """Noise of a hoisted sum against the sum of products of maps, each switched by itself."""
    s, ev = session(), session().evaluator
    c = s.encrypt(some(4), packing="bytes")
    multipliers = [s.multiplier(some(200 + k), packing="bytes") for k in range(8)]
    (fused,) = s.linear_maps(c, [multipliers])
    apart = ev.mul_plain(c, multipliers[0])
    for k in range(1, 8):
        mapped = ev.apply_galois(c, s.context.frobenius_element(k), s.galois_keys)
        apart = ev.add(apart, ev.mul_plain(mapped, multipliers[k]))
    assert np.array_equal(s.decrypt(fused), s.decrypt(apart))
    assert fused.log_bound < apart.log_bound
    bound = s.context.rules.hoisted_sum(c.noise, [m.log_peak for m in multipliers], c.limbs)
    assert bound == fused.noise


def test_chains_of_dependent_products_stay_within_their_bounds() -> None:
    """Squares, a factor used again and again, sums of a result with itself, down to the last limb."""
    s, ev = session(), session().evaluator
    x = some(5)
    c, exact = s.encrypt(x, packing="bytes"), x
    fresh = c
    while c.limbs > 2:
        other = ev.drop_to(fresh, c.limbs)
        c = ev.add(ev.mul(c, c), ev.mul(c, other))
        c = ev.relinearize(c, s.relin_key, 1)
        exact = aes_product(exact, exact) ^ aes_product(exact, x)
        check(s, c, exact)
    assert s.predicted_budget(c) > 70


def test_noise_grows_until_it_is_said() -> None:
    s, ev = session(), session().evaluator
    c = s.encrypt(some(6), packing="bytes", limbs=2)
    refused = 0
    for _ in range(7):
        c = ev.multiply(c, c, s.relin_key)
        if s.predicted_budget(c) > 0:
            s.decrypt(c, packing="bytes")
            continue
        refused += 1
        with pytest.raises(rf.errors.NoiseError, match="noise_budget"):
            s.decrypt(c)
    assert refused
    with pytest.raises(rf.LevelError, match="nothing of the plaintext is left"):
        s.decrypt(c, anyway=True)
    assert s.noise_budget(c) == pytest.approx(0, abs=0.2)


@pytest.mark.parametrize("m", [255, 257, 1285, 3855])
def test_polynomials_over_gf2_of_every_ring(m: int) -> None:
    """Sums and products of coefficients, against polynomials modulo (2, Phi_m); rings without Galois maps too."""
    step = bgv.Parameters.named("bgv-test-16", WHY).prime_step * 17 * 17
    primes = _native.kernels.primes_below(49, 4, step)
    p = bgv.Parameters("", m, primes[:3], primes[3:], 1, WHY)
    s = bgv.Session(p, fixed_seed_for_tests=SEED)
    rng = np.random.default_rng(m)
    x, y = rng.integers(0, 2, (2, p.degree), dtype=np.uint8)
    a, b = s.encrypt(x, packing="coefficients"), s.encrypt(y, packing="coefficients", public=True)
    assert np.array_equal(s.decrypt(a, packing="coefficients"), x)
    assert np.array_equal(s.decrypt(s.evaluator.add(a, b), packing="coefficients"), x ^ y)
    product = np.convolve(x.astype(np.int64), y.astype(np.int64)) % 2
    phi = cyclotomic(m)
    for i in range(len(product) - 1, p.degree - 1, -1):
        product[i - p.degree : i + 1] ^= product[i] * phi
    got = s.evaluator.multiply(a, b, s.relin_key, 1)
    assert np.array_equal(s.decrypt(got, packing="coefficients"), product[: p.degree])
    largest, value = s.client.measure(got, s.secret_key)
    assert value <= got.log_bound
    assert largest <= s.context.rules.bound_bits(got.noise)


def cyclotomic(m: int) -> npt.NDArray[np.int64]:
    """Phi_m modulo 2: X^m + 1 divided by Phi_d of all divisors d of m below m."""
    rest = np.zeros(m + 1, np.int64)
    rest[[0, m]] = 1
    for d in (d for d in range(1, m) if m % d == 0):
        divisor = cyclotomic(d)
        quotient = np.zeros(len(rest) - len(divisor) + 1, np.int64)
        for i in range(len(quotient) - 1, -1, -1):
            quotient[i] = rest[i + len(divisor) - 1]
            rest[i : i + len(divisor)] ^= quotient[i] * divisor
        rest = quotient
    return rest


def test_bounds_of_coefficients_are_exact() -> None:
    """(2/p) cot(pi/2p) against the dual basis in numpy, for the tensor basis of 15 = 3 * 5."""
    for p in (3, 5, 17, 257):
        a, zeta = 1, np.exp(2j * np.pi * np.arange(1, p) / p)
        assert np.abs(zeta**-a - 1).sum() / p == pytest.approx(2 / p / np.tan(np.pi / 2 / p))
    rules = session().context.rules
    assert rules.coefficient_factor == pytest.approx(np.prod([2 / p / np.tan(np.pi / 2 / p) for p in (3, 5, 17)]))


def test_peaks_are_values_at_roots_of_unity() -> None:
    """Against numpy: of powers of X, of two of them with either sign, of all."""
    s = session()
    m = s.params.m
    one = s.context.multiplier(np.array([1], np.uint8))
    assert one.log_peak == pytest.approx(0, abs=1e-8)
    power = np.zeros(s.params.degree, np.uint8)
    power[77] = 1
    assert s.context.multiplier(power).log_peak == pytest.approx(0, abs=1e-8)
    pair = np.zeros(s.params.degree, np.uint8)
    pair[[0, 1]] = 1
    units = [k for k in range(m) if np.gcd(k, m) == 1]
    sums = [max(abs(1 + sign * np.exp(2j * np.pi * k / m)) for k in units) for sign in (1, -1)]
    got = s.context.multiplier(pair).log_peak
    assert any(got == pytest.approx(np.log2(v), abs=1e-8) for v in sums)
    assert s.context.multiplier(np.zeros(0, np.uint8)).log_peak == 0
    dense = s.context.multiplier(np.ones(s.params.degree, np.uint8)).log_peak
    assert 3 < dense < s.context.rules.largest_peak


DIGEST = """
import hashlib, numpy as np
from ringforge import _native, bgv
p = bgv.Parameters.named("bgv-test-16", "tests")
s = bgv.Session(p, threads={threads}, fixed_seed_for_tests=bgv.TestSeed(bytes(range(32))))
s.add_frobenius_keys([1, 5])
numbers = np.random.default_rng(5).integers(0, 1 << 16, (9, 128))
a, multipliers = s.encrypt(numbers[0]), [s.multiplier(n) for n in numbers[1:]]
e = [s.context.frobenius_element(k) for k in (0, 1, 5)]
sums = [[(e[i % 3], m) for i, m in enumerate(multipliers[:4])], [(e[1], multipliers[5])]]
ev = s.evaluator
results = [a, *ev.frobenius_sums(a, sums, s.galois_keys), *ev.frobenius_sums(a, sums, s.galois_keys, 1)]
results += [ev.multiply(a, a, s.relin_key), ev.multiply(a, results[1], s.relin_key, 2), ev.add_plain(a, multipliers[0])]
h = hashlib.sha256(b"".join(_native.io.to_bytes(s.context, r) for r in results))
h.update(s.decrypt(results[-1]).tobytes())
print(_native.kernels.active(), h.hexdigest())
"""


def test_same_bits_on_every_kernel_set_and_thread_count() -> None:
    digests = set()
    for name, threads in itertools.product(_native.kernels.available(), (1, 3)):
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


def test_sharing_results_hides_the_noise() -> None:
    s = session()
    x = some(8)
    c = s.encrypt(x, packing="bytes")
    assert np.array_equal(s.decrypt(c, packing="bytes", share_bits=40, queries=1000), x)
    with pytest.raises(rf.LevelError, match="share_bits"):
        s.decrypt(s.evaluator.drop_to(c, 1), share_bits=128, queries=1 << 40)
    for bits, queries in ((-1, 1), (129, 1), (40, 0)):
        with pytest.raises(rf.ParameterError):
            s.client.decrypt_to_share(c, s.secret_key, bits, queries)
    with pytest.raises(rf.ParameterError, match="finite"):
        s.client.decrypt_to_share(c, s.secret_key, 40, 1, bgv.Noise(float("nan")))


def test_packings() -> None:
    s = session()
    assert s.decrypt(s.encrypt([1, 0, 1], packing="bits"), packing="bits")[:4].tolist() == [1, 0, 1, 0]
    assert s.decrypt(s.encrypt([200]))[:2].tolist() == [200, 0]
    assert s.decrypt(s.encrypt([True, False, True], packing="coefficients"), packing="coefficients")[:3].tolist() == [
        1,
        0,
        1,
    ]
    assert not s.decrypt(s.encrypt([])).any()
    for values, packing in (([256], "bytes"), ([2], "bits"), ([2], "coefficients"), ([-1], "coefficients")):
        with pytest.raises(rf.ValueError):
            s.encrypt(values, packing=packing)  # type: ignore[arg-type]
    with pytest.raises(rf.ValueError, match="float"):
        s.encrypt([0.5])
    with pytest.raises(rf.ShapeError):
        s.encrypt([[1]])
    with pytest.raises(rf.ShapeError, match="up to 16"):
        s.encrypt([0] * 17, packing="bytes")
    with pytest.raises(rf.ParameterError, match="packing"):
        s.encrypt([1], packing="words")  # type: ignore[arg-type]
    with pytest.raises(rf.ValueError):
        s.client.encrypt(np.array([2], np.uint8), s.secret_key)
    with pytest.raises(rf.ValueError, match="at most 128"):
        s.client.encrypt(np.zeros(129, np.uint8), s.public_key)


def test_mistakes_are_named() -> None:
    s, ev = session(), session().evaluator
    a = s.encrypt([1])
    three, low = ev.mul(a, a), ev.drop_to(a, 2)
    few = s.context.multiplier(np.array([1], np.uint8), 2, special=True)
    plain = s.context.multiplier(np.array([1], np.uint8))
    keys, two = s.galois_keys, s.context.frobenius_element(1)
    for expected, words, call in [
        (rf.LevelError, "levels differ", lambda: ev.add(a, low)),
        (rf.ShapeError, "relinearize first", lambda: ev.mul(three, a)),
        (rf.ShapeError, "relinearize first", lambda: ev.apply_galois(three, two, keys)),
        (rf.ShapeError, "relinearize first", lambda: ev.frobenius_sums(three, [[(1, few)]], keys)),
        (rf.LevelError, "make it for as many", lambda: ev.mul_plain(a, few)),
        (rf.LevelError, "make it for as many", lambda: ev.add_plain(a, few)),
        (rf.LevelError, "make it for as many", lambda: ev.frobenius_sums(a, [[(1, few)]], keys)),
        (rf.ParameterError, "special", lambda: ev.frobenius_sums(a, [[(1, plain)]], keys)),
        (rf.ShapeError, "one sum", lambda: ev.frobenius_sums(a, [], keys)),
        (rf.ShapeError, "one term", lambda: ev.frobenius_sums(a, [[]], keys)),
        (rf.LevelError, "drop one prime or none", lambda: ev.frobenius_sums(low, [[(1, few)]], keys, 2)),
        (rf.MissingKeyError, "254", lambda: ev.frobenius_sums(low, [[(254, few)]], keys)),
        (rf.MissingKeyError, "254", lambda: ev.apply_galois(a, 254, keys)),
        (rf.LevelError, "one must stay", lambda: ev.multiply(low, low, s.relin_key, 2)),
        (rf.LevelError, "cannot be brought", lambda: ev.mod_switch_to(low, 3)),
        (rf.LevelError, "cannot be brought", lambda: ev.drop_to(low, 0)),
        (rf.LevelError, "1 ... 20", lambda: s.encrypt([1], limbs=21)),
        (rf.ParameterError, "no factor in common", lambda: s.client.galois_key(s.secret_key, 15)),
        (rf.ParameterError, "no factor in common", lambda: s.client.galois_key(s.secret_key, 1)),
    ]:
        with pytest.raises(expected, match=words):
            call()
    other = bgv.Session(params.named_bgv("bgv-test", WHY), fixed_seed_for_tests=bgv.TestSeed(bytes(32)))
    with pytest.raises(rf.MismatchError, match="another secret key"):
        ev.frobenius_sums(a, [[(two, s.multiplier([1]))]], galois_of(other, two))
    with pytest.raises(rf.MismatchError):
        other.decrypt(a)


def galois_of(s: bgv.Session, element: int) -> bgv.GaloisKeys:
    s.add_galois_keys([element])
    return s.galois_keys


def test_sets_are_pinned_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = {n: params.named_bgv(n, WHY).hash.hex()[:16] for n in params.names_bgv()}
    pinned = {
        "bgv-aes": "a17ee5ee1e61f5e3",
        "bgv-65535": "65a40bdceee008a1",
        "bgv-test": "89e34386fc3b96d4",
        "bgv-test-16": "4c45cf51fff937ac",
    }
    assert found == found | pinned
    assert main(["params", "list"]) == 0
    listed = printed(capsys)
    for name in params.names_bgv():
        assert name in listed
        text = bgv.explain(params.named_bgv(name, WHY))
        assert "slots of GF(2^" in text
        assert "fresh" in text
    assert main(["params", "show", "bgv-test"]) == 1
    assert main(["params", "show", "bgv-65535"]) == 0
    assert "2048 of GF(2^16)" in printed(capsys)
    for secure in (n for n in params.names_bgv() if not n.startswith("bgv-test")):
        p = params.named_bgv(secure)
        assert p.secure
        assert p.log_qp <= params.max_log_qp(p.log_n)
    for make in (bgv.Session, bgv.Context, params.describe_bgv, bgv.explain):
        with pytest.raises(rf.ParameterError, match="insecure"):
            make("bgv-test")


def test_refused_parameters_say_why() -> None:
    good = params.named_bgv("bgv-test", WHY)
    for m, q, p, digit, reason, words in [
        (21, good.q, good.p, 5, WHY, "must be a product"),
        (85, [*good.q[:1], good.q[1] + 2], good.p, 1, WHY, "1 mod"),
        (51, good.q, good.p, 5, WHY, "64 at least"),
        (255, [], good.p, 1, WHY, "primes in Q"),
        (255, good.q, good.p[:1], 5, WHY, "special primes"),
        (255, good.q, good.p, 21, WHY, "limbs per digit"),
        (255, good.q, good.p, 5, "", "128 bits"),
    ]:
        with pytest.raises(rf.ParameterError, match=words):
            bgv.Parameters("", m, q, p, digit, reason)


def test_records_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    s = session()
    path = str(tmp_path / "things")
    c = s.encrypt(some(9), packing="bytes")
    product = s.evaluator.mul(c, c)
    galois = s.client.galois_key(s.secret_key, 2, 3)
    writer = io.Writer(path)
    writer.write(s.params)
    for thing in (c, product, s.relin_key, galois, s.public_key):
        writer.write(s.context, thing)
    writer.close()
    reader = io.Reader(path)
    read = reader.next_bgv_parameters()
    assert read == s.params
    ctx = bgv.Context(read)
    for thing in (c, product):
        back = reader.next_ciphertext(ctx)
        assert back is not None
        assert back.noise == thing.noise
        assert io.to_bytes(ctx, back) == io.to_bytes(s.context, thing)
        assert np.array_equal(s.client.decrypt(back, s.secret_key), s.client.decrypt(thing, s.secret_key))
    relin, key = reader.next_relin_key(ctx), reader.next_galois_key(ctx)
    assert relin is not None
    assert key is not None
    assert io.to_bytes(ctx, relin) == io.to_bytes(s.context, s.relin_key)
    assert io.to_bytes(ctx, key) == io.to_bytes(s.context, galois)
    assert reader.next_bgv_parameters is not None
    secret = io.secret_key_from_bytes(io.to_bytes(s.context, s.secret_key), ctx)
    assert np.array_equal(s.client.decrypt(c, secret), s.slots.encode_bytes(some(9)))
    assert main(["info", path]) == 0
    text = printed(capsys)
    for words in ("BGV parameter set", "BGV ciphertext", "half as seed", f"2^{c.log_bound:.4g}", "BGV Galois key"):
        assert words in text


@pytest.mark.long
def test_at_the_index_65535() -> None:
    s = bgv.Session("bgv-65535", threads=2)
    s.add_frobenius_keys(range(1, 8), 4)
    x, y = some(10, 2048), some(11, 2048)
    a, b = s.encrypt(x, packing="bytes"), s.encrypt(y, packing="bytes", public=True)
    check(s, s.multiply(a, b), aes_product(x, y))
    low = s.evaluator.drop_to(a, 4)
    factors = [some(400 + k, 2048) for k in range(8)]
    (got,) = s.linear_maps(low, [[s.multiplier(f, packing="bytes") for f in factors]], 1)
    check(s, got, np.bitwise_xor.reduce([aes_product(aes_power(x, k), f) for k, f in enumerate(factors)]))


def test_the_page_and_the_docstring_print_what_they_show() -> None:
    page = (Path(__file__).parents[3] / "docs" / "bgv.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for text in (*blocks, bgv.__doc__ or ""):
        test = doctest.DocTestParser().get_doctest(text, {}, "bgv", None, 0)
        failed, tried = doctest.DocTestRunner().run(test)
        assert tried > 3
        assert not failed
