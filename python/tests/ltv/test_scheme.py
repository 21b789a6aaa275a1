# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""LTV: chains against the clear, directories of keys, refusals, the moments that predictions stand on."""

from __future__ import annotations

import doctest
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import ringforge as rf
from ringforge import ltv
from ringforge.errors import NoiseError
from ringforge.ltv.__main__ import main
from ringforge.ltv.chain import chain
from ringforge.ltv.keys import load_secret, open_or_make

WHY = "tests of LTV"

Ints = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def session() -> ltv.Session:
    return ltv.Session(ltv.Parameters.named("ltv-test", WHY), fixed_seed_for_tests=ltv.TestSeed(bytes(32)))


def cyclotomic(m: int) -> Ints:
    """Phi_m, lowest coefficient first: X^m - 1 divided by all others."""
    rest = np.array([-1, *[0] * (m - 1), 1])
    for d in (d for d in range(1, m) if m % d == 0):
        divisor = cyclotomic(d)
        quotient = np.zeros(len(rest) - len(divisor) + 1, np.int64)
        for i in range(len(quotient) - 1, -1, -1):
            quotient[i] = rest[i + len(divisor) - 1]
            rest[i : i + len(divisor)] -= quotient[i] * divisor
        rest = quotient
    return rest


def slow_product(a: Ints, b: Ints, phi: Ints) -> Ints:
    """Of whole polynomials modulo Phi_m, by the definition."""
    n = len(phi) - 1
    r = np.convolve(a, b)
    for i in range(len(r) - 1, n - 1, -1):
        r[i - n : i + 1] -= r[i] * phi
    return r[:n]


@pytest.mark.parametrize("m", [15, 105, 255])
def test_products_in_the_clear_are_those_modulo_phi(m: int) -> None:
    ring, rng, phi = ltv.BitRing(m), np.random.default_rng(m), cyclotomic(m)
    for _ in range(5):
        a, b = rng.integers(0, 2, (2, ring.degree))
        expected = slow_product(a, b, phi) % 2
        assert np.array_equal(ring.multiply(a.astype(np.uint8), b.astype(np.uint8)), expected)


def test_phi_65535_has_its_degree_and_divides() -> None:
    ring = ltv.BitRing(65535)
    assert ring.degree == 32768
    assert ring.phi.bit_length() == 32769
    # X^(2^16) is X, since Phi divides X^65535 + 1.
    x = np.zeros(32768, np.uint8)
    x[1] = 1
    power = x
    for _ in range(16):
        power = ring.multiply(power, power)
    assert np.array_equal(power, x)


@pytest.mark.parametrize("name", ["ltv-test", "ltv-test-digit", "ltv-test-bits", "ltv-test-tensor"])
def test_chain_is_right_and_within_its_bounds(name: str) -> None:
    steps = list(chain(ltv.Parameters.named(name, WHY), threads=2, seed=3))
    assert [s.level for s in steps] == list(range(steps[-1].level + 1))
    assert all(s.holds for s in steps)
    assert steps[-1].predicted >= 10
    for s in steps:
        assert s.predicted <= s.measured <= s.predicted + 14


def test_two_levels_of_the_published_set() -> None:
    """At its bottom, with three of its primes."""
    primes = ltv.Parameters.named("ltv-paper", WHY).q[:2]
    p = ltv.Parameters(65535, primes, insecure=WHY)
    steps = list(chain(p, threads=2, seed=5))
    assert len(steps) == 2
    assert all(s.holds for s in steps)
    assert steps[-1].predicted >= 10
    assert steps[-1].measured <= steps[-1].predicted + 10


def test_two_levels_of_the_tensor_ring() -> None:
    """Index 65,535 again: the basis gives a coefficient less of the same noise."""
    primes = ltv.Parameters.named("ltv-tensor", WHY).q[:2]
    p = ltv.Parameters(65535, primes, insecure=WHY, gadget="rns", ring="tensor")
    steps = list(chain(p, threads=2, seed=5))
    assert len(steps) == 2
    assert all(s.holds for s in steps)
    assert steps[-1].predicted >= 15
    assert steps[-1].measured <= steps[-1].predicted + 10


@pytest.mark.long
def test_forty_levels_of_the_published_set_with_five_keys() -> None:
    for key in range(5):
        steps = list(chain(ltv.Parameters.named("ltv-paper", WHY), threads=2, seed=key))
        assert [s.level for s in steps] == list(range(41))
        assert all(s.holds for s in steps)
        assert min(steps[-1].predicted, steps[-1].measured) >= 10


def test_predictions_of_all_forty_levels() -> None:
    p = ltv.Parameters.named("ltv-paper", WHY)
    rules = ltv.NoiseRules(p)
    c = rules.encrypted()
    for level in range(1, 41):
        product = rules.relinearized(rules.product(c, rules.encrypted()), level)
        c = rules.switched(product, p.limbs(level - 1))
    assert 10 < rules.budget(c, 1) < 14
    assert p.levels == 40
    assert sum(p.key_bytes(i) for i in range(1, 41)) == pytest.approx(12.2e9, rel=0.01)
    assert p.key_bytes(1) == 80 * 41 * 65536 * 4


def test_growth_of_a_product_in_both_bases() -> None:
    """Against products of random polynomials, reduced by numpy; the figures of Phi_65535 as computed from Phi."""
    assert ltv.ternary_product_deviation(65535) == pytest.approx(4148.8, rel=0.001)
    assert ltv.ternary_product_deviation(65535, "tensor") == pytest.approx(326.3, rel=0.001)
    phi = cyclotomic(15)
    rng, squares, count = np.random.default_rng(1), 0.0, 4000
    for _ in range(count):
        r = slow_product(*rng.integers(-1, 2, (2, 8)), phi)
        squares += float(r @ r)
    # The variance of a mean of squares over 4,000 products is well below 1 %: five deviations are below 5 %.
    assert ltv.ternary_product_deviation(15) ** 2 == pytest.approx(squares / count / 8, rel=0.05)


def test_the_same_ciphertext_in_every_factor(session: ltv.Session) -> None:
    ring = ltv.BitRing(255)
    bits = np.random.default_rng(2).integers(0, 2, 128, dtype=np.uint8)
    c, clear = session.encrypt(bits), bits
    for _ in range(3):
        c = session.evaluator.add(session.multiply(c, c), session.down(c))
        clear = ring.multiply(clear, clear) ^ clear
        largest = session.client.measure(c, session.secret_key)[0]
        assert largest <= session.context.rules.coefficient_bits(c.noise)
    assert np.array_equal(session.decrypt(c), clear)


def test_no_set_without_a_reason() -> None:
    with pytest.raises(rf.ParameterError, match="not secure"):
        ltv.Parameters.named("ltv-paper", "")
    with pytest.raises(rf.ParameterError, match="overstretched"):
        ltv.Parameters(255, [2147352577], insecure="")
    for name in ltv.Parameters.names():
        assert ltv.Parameters.named(name, WHY).insecure == WHY
    assert "broken" in ltv.WARNING
    for thing in (ltv, ltv.Parameters, ltv.Client, ltv.Session):
        assert "broken" in (thing.__doc__ or "").lower() or "broken" in (sys.modules[thing.__module__].__doc__ or "")


def test_refusals(session: ltv.Session) -> None:
    c = session.encrypt([1])
    with pytest.raises(rf.ShapeError):
        session.encrypt(np.zeros(129, np.uint8))
    with pytest.raises(rf.ValueError):
        session.encrypt([2])
    with pytest.raises(rf.ValueError):
        session.encrypt([0.5])
    with pytest.raises(rf.LevelError, match=r"0 \.\.\. 3"):
        session.encrypt([1], level=4)
    with pytest.raises(rf.LevelError, match=r"1 \.\.\. 3"):
        session.eval_key(4)
    with pytest.raises(rf.LevelError, match="relinearize"):
        session.evaluator.mod_switch(c)
    with pytest.raises(rf.LevelError, match="needs the evaluation key of level 1"):
        session.evaluator.relinearize(c, session.eval_key(2))
    low = session.encrypt([1], level=3)
    for _ in range(25):
        low = session.evaluator.add(low, low)
    with pytest.raises(NoiseError):
        session.decrypt(low)


# ---- directories of keys -------------------------------------------------------------------------


def test_keys_as_files(tmp_path: Path, session: ltv.Session) -> None:
    keys = ltv.KeyDirectory(tmp_path, session.context)
    keys.write_public(session.public_key)
    seen: list[int] = []
    written = keys.write(session.client, session.secret_key, session.public_key, [1, 3], 1, lambda i, _: seen.append(i))
    assert seen == keys.levels() == [1, 3]
    assert written == session.params.key_bytes(1) + session.params.key_bytes(3)
    again = ltv.KeyDirectory(tmp_path)  # the server: from files alone
    assert again.context.params == session.params
    assert again.context.params.insecure == WHY
    with pytest.raises(rf.MissingKeyError, match=r"level 2 .* --levels 2"):
        again.level(2)
    evaluator = ltv.Evaluator(again.context)
    c = session.encrypt([1, 1])
    down = evaluator.mod_switch(evaluator.relinearize(evaluator.mul(c, c), again.level(1)))
    assert session.decrypt(down)[:4].tolist() == [1, 0, 1, 0]
    # What is missing is made, what is there stays.
    before = keys.path(1).stat().st_mtime_ns
    keys.write(session.client, session.secret_key, session.public_key)
    assert keys.levels() == [1, 2, 3]
    assert keys.path(1).stat().st_mtime_ns == before
    other = ltv.Session(session.params)
    with pytest.raises(rf.MismatchError, match="another secret key"):
        keys.write(other.client, other.secret_key, other.public_key)
    os.replace(keys.path(3), keys.path(2))
    with pytest.raises(rf.MismatchError, match="exchanged"):
        keys.level(2)
    whole = keys.path(1).read_bytes()
    keys.path(1).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(rf.FormatError, match=r"level-01\.rgfg"):
        keys.level(1)
    damaged = bytearray(whole)
    damaged[-40] ^= 1
    keys.path(1).write_bytes(damaged)
    with pytest.raises(rf.FormatError):
        keys.level(1)


def test_a_full_disk_leaves_no_half_key(tmp_path: Path, session: ltv.Session) -> None:
    keys = ltv.KeyDirectory(tmp_path, session.context)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (session.params.key_bytes(1) // 2, hard))
    try:
        with pytest.raises(OSError, match="make room"):
            keys.write(session.client, session.secret_key, session.public_key, [1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret, folder = tmp_path / "secret.rgfg", tmp_path / "keys"
    folder.mkdir()
    make = ["keys", str(secret), str(folder)]
    assert main(make) == 2
    assert "--set" in capsys.readouterr().err
    assert main([*make, "--set", "ltv-test", "--insecure", WHY, "--levels", "2-3"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "level  2: 18,432 bytes"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert main(make) == 0  # goes on with what is missing
    keys, _, secret_key, _ = open_or_make(secret, folder, None)
    assert keys.levels() == [1, 2, 3]
    assert load_secret(secret, keys.context).id == secret_key.id == keys.level(1).key_id
    assert main(["explain", "--set", "ltv-test"]) == 2
    assert main(["explain", "--set", "ltv-paper", "--insecure", WHY]) == 0
    shown = capsys.readouterr().out
    for text in ("859.8 MB", "12.2 GB", "expansion 34.4", "broken"):
        assert text in shown
    assert main(["chain", "--set", "ltv-test", "--insecure", WHY, "--seed", "1", "--keys", "2"]) == 0
    assert "every bound holds" in capsys.readouterr().out


def test_the_example_of_the_package() -> None:
    assert doctest.testmod(ltv).failed == 0


def test_a_forked_child_computes() -> None:
    code = (
        "import os\nfrom ringforge import ltv\n"
        "s = ltv.Session(ltv.Parameters.named('ltv-test', 'tests'), threads=2)\n"
        "c = s.encrypt([1, 1])\npid = os.fork()\nr = s.decrypt(s.multiply(c, c))[:3].tolist()\n"
        "if pid == 0: os._exit(0 if r == [1, 0, 1] else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and r == [1, 0, 1]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
