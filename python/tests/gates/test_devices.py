# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels over small rings: a gate made of device calls alone is the fused gate; substitutions map messages."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from ringforge import _native, devices
from ringforge.devices import KeySet
from ringforge.errors import MismatchError, MissingKeyError, ShapeError
from ringforge.gates.clear import ClearKey
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.gates.kinds import GateKind
from ringforge.psi.kernels import SubstitutionKernel
from tests.concurrency.lock import let_go
from tests.gates.measured import Bench
from tests.gates.toy import multiply

Ints = npt.NDArray[np.int64]

#: Weights of the inputs, and the half circle of eighths that means 1.
DECISIONS = {GateKind.NAND: ((1, 1), 7), GateKind.XOR: ((2, -2), 2), GateKind.OR: ((1, 1), 1)}

needs_extract = pytest.mark.skipif(not hasattr(_native.fhew, "extract"), reason="the native module has no extract")
needs_substitution = pytest.mark.skipif(
    not hasattr(_native.fhew, "SubstitutionKey"), reason="the native module has no substitution keys"
)


@dataclass(frozen=True)
class Chain:
    """What an accelerator is given for gates of one kind: start polynomials, indices; and the gates' inputs."""

    accumulators: npt.NDArray[np.uint32]
    indices: npt.NDArray[np.uint32]
    pairs: npt.NDArray[np.uint32]


@pytest.fixture(scope="module")
def bench() -> Bench:
    """The smallest of the published sets; q divides 2N there, so that nothing is rounded before the rotation."""
    return Bench("paper-medium", "ap")


def chain(bench: Bench, kind: GateKind, count: int) -> Chain:
    """Start polynomials and key indices of `count` gates on fresh bits (Ducas, Micciancio, 2015, section 5)."""
    s = bench.gate_set
    n, r, degree = s.n, s.rotation_modulus, s.ring_degree
    pairs = bench.fresh(2 * count)[0].reshape(count, 2, n + 1)
    weights, half_circle = DECISIONS[kind]
    sums = (weights[0] * pairs[:, 0].astype(np.int64) + weights[1] * pairs[:, 1].astype(np.int64)) % r

    accumulators = np.zeros((count, 2, degree), np.uint32)
    i = np.arange(r // 2)
    one = s.modulus // 8 + 1
    inside = (sums[:, n:] - i - half_circle * r // 8) % r < r // 2
    accumulators[:, 1, i * (2 * degree // r)] = np.where(inside, one, s.modulus - one)

    left, places = -sums[:, :n] % r, []
    for j in range(s.ap_digits):
        places.append((np.arange(n) * s.ap_digits + j) * s.ap_base + left % s.ap_base)
        left //= s.ap_base
    indices = np.stack(places, axis=2).reshape(count, n * s.ap_digits)
    return Chain(accumulators, indices.astype(np.uint32), pairs)


def run_chain(bench: Bench, c: Chain, threads: int = 1) -> tuple[npt.NDArray[np.uint32], devices.Report]:
    device = devices.open_device("cpu")
    kernel = AccumulateKernel(bench.secret.params, len(c.indices), c.indices.shape[1])
    device.check(kernel)
    handle = device.prepare(kernel, KeySet(own=(bench.key,)))
    (out,), report = device.run(handle, [c.accumulators, c.indices], threads=threads)
    return out, report


def rotation_errors(bench: Bench, accumulators: npt.NDArray[np.uint32], bits: npt.NDArray[np.uint8]) -> list[int]:
    """Phases of the constant coefficients, Q/8 added, less what each bit should give: centred modulo Q."""
    s = bench.gate_set
    file = np.frombuffer(bench.secret.save(), np.uint8)
    secret = file[60 + s.n : -32].astype(np.int64) - 1
    a, b = accumulators[:, 0].astype(np.int64), accumulators[:, 1, 0].astype(np.int64)
    # The constant coefficient of a s modulo X^N + 1.
    product = (a[:, 0] * secret[0] - a[:, :0:-1] @ secret[1:]) % s.modulus
    step = s.modulus // 8 + 1
    phase = (b + step - product - 2 * step * bits.astype(np.int64)) % s.modulus
    return [int(p) - s.modulus if p > s.modulus // 2 else int(p) for p in phase]


@pytest.mark.parametrize("kind", DECISIONS, ids=lambda k: k.name)
def test_accumulated_phase_is_the_fused_one(bench: Bench, kind: GateKind) -> None:
    """To the last unit: `trace` reports the phase after the fused blind rotation."""
    c = chain(bench, kind, 3)
    out, report = run_chain(bench, c, threads=2)
    bits = bench.secret.decrypt(c.pairs.reshape(6, -1)).reshape(3, 2)
    results = np.array([kind.of([int(x), int(y)]) for x, y in bits], np.uint8)
    fused = [_native.fhew.trace(bench.key, bench.secret, int(kind), pair)[1] for pair in c.pairs]
    assert rotation_errors(bench, out, results) == fused

    products = int(np.count_nonzero(c.indices % bench.gate_set.ap_base))
    assert report.operations == {"external_product": products, "ntt": 6 * products, "intt": 2 * products}
    assert report.bytes["keys"] == products * 6 * 2 * 1024 * 4
    assert report.bytes["output"] == 3 * 2 * 1024 * 4
    assert report.bytes["input"] == report.bytes["output"] + c.indices.nbytes
    assert 0.9 < products / c.indices.size < 1


@needs_extract
@pytest.mark.parametrize("kind", DECISIONS, ids=lambda k: k.name)
def test_gate_of_device_calls_is_the_fused_gate(bench: Bench, kind: GateKind) -> None:
    c = chain(bench, kind, 4)
    out, _ = run_chain(bench, c)
    wires = c.pairs.reshape(8, -1)
    inputs = np.stack([np.arange(0, 8, 2), np.arange(1, 8, 2), np.full(4, -1)], axis=1).astype(np.int32)
    fused = bench.level(np.full(4, kind, np.uint8), wires, inputs)
    assert np.array_equal(_native.fhew.extract(bench.key, out), fused)


def test_the_chain_lets_other_threads_run(bench: Bench) -> None:
    c = chain(bench, GateKind.NAND, 1)
    room = np.zeros(c.accumulators.size + 16, np.uint32)
    start = -room.ctypes.data % 64 // 4
    accumulators = room[start : start + c.accumulators.size].reshape(c.accumulators.shape)
    assert let_go(functools.partial(_native.fhew.accumulate, bench.key, accumulators, c.indices, 2))


def test_inputs_stay_and_wrong_ones_are_refused(bench: Bench) -> None:
    c = chain(bench, GateKind.NAND, 1)
    before = c.accumulators.copy()
    run_chain(bench, c)
    assert np.array_equal(c.accumulators, before)

    device, params = devices.open_device("cpu"), bench.secret.params
    kernel = AccumulateKernel(params, 1, c.indices.shape[1])
    handle = device.prepare(kernel, KeySet(own=(bench.key,)))
    for inputs in (
        [c.accumulators.astype(np.uint64), c.indices],
        [c.accumulators[:, :1], c.indices],
        [c.accumulators + np.uint32(bench.gate_set.modulus), c.indices],
        [c.accumulators, c.indices[:, 1:]],
        [c.accumulators, c.indices + np.uint32(c.indices.size * bench.gate_set.ap_base)],
    ):
        with pytest.raises(ShapeError):
            device.run(handle, inputs)
    with pytest.raises(MissingKeyError, match="method ap"):
        device.prepare(kernel, KeySet())
    with pytest.raises(MismatchError, match="the kernel to gates-128"):
        device.prepare(AccumulateKernel(_native.fhew.parameters("gates-128"), 1, 1374), KeySet(own=(bench.key,)))
    with pytest.raises(MissingKeyError, match="element 5"):
        device.prepare(SubstitutionKernel(10, 67104769, 5, params.a, 1), KeySet())
    with pytest.raises(MissingKeyError, match=r"gates\.ClearKey"):
        devices.open_device("clear").prepare(kernel, KeySet(own=(bench.key,)))


def test_clear_chains_are_the_rotation_that_the_keys_encrypt(bench: Bench) -> None:
    """A chain on `cpu` turns the message by what the clear device turns it by, given the LWE secret."""
    s, params = bench.gate_set, bench.secret.params
    rng, step = np.random.default_rng(9), s.modulus // 8
    messages = (rng.integers(0, 8, (2, s.ring_degree)) * step).astype(np.uint32)
    accumulators = np.stack([np.zeros_like(messages), messages], axis=1)
    indices = rng.integers(0, s.n * s.ap_digits * s.ap_base, (2, 60)).astype(np.uint32)
    kernel = AccumulateKernel(params, 2, 60)
    encrypted, _ = devices.open_device("cpu").run(
        devices.open_device("cpu").prepare(kernel, KeySet(own=(bench.key,))), [accumulators, indices]
    )
    file = np.frombuffer(bench.secret.save(), np.uint8)
    lwe, ring = (file[a:b].astype(np.int64) - 1 for a, b in ((60, 60 + s.n), (60 + s.n, -32)))
    key, clear = ClearKey(params, secret=lwe), devices.open_device("clear")
    (turned,), report = clear.run(clear.prepare(kernel, KeySet(own=(key,))), [accumulators, indices])
    assert report.operations == {"external_product": np.count_nonzero(indices % s.ap_base)}
    for row, want in zip(encrypted[0].astype(np.int64), turned[:, 1].astype(np.int64), strict=True):
        product = multiply(ring, row[0], s.modulus)
        assert np.abs(_off(row[1] - product, want, s.modulus)).max() < step // 2
    assert not np.array_equal(turned, accumulators)


def test_a_level_of_gates_is_the_fused_call(bench: Bench) -> None:
    """The wires are taken over, and come back with the outputs in them."""
    bits = bench.fresh(4)[0]
    wires = np.zeros((6, bits.shape[1]), np.uint32)
    wires[:4] = bits
    kinds, sources = np.array([GateKind.XOR, GateKind.NOT], np.uint8), np.array([[0, 1, -1], [2, -1, -1]], np.int32)
    before, device = wires.copy(), devices.open_device("cpu")
    handle = device.prepare(GateLevelKernel(bench.secret.params), KeySet(own=(bench.key,)))
    (out,), report = device.run(handle, [kinds, sources, wires, np.array([4, 5], np.int32)], threads=2)
    assert out is wires
    assert report.operations == {"bootstrap": 1}
    _native.fhew.evaluate(bench.key, kinds, sources, before, np.array([4, 5], np.int32))
    assert np.array_equal(out, before)


@needs_substitution
@pytest.mark.parametrize(
    ("log_n", "modulus", "cut"),
    [(10, 67104769, (6, 3, 8, True)), (11, 0x3FFFFFFFFED001, (9, 6, 0, False))],
    ids=["26 bits", "54 bits"],
)
def test_substitution_maps_messages(log_n: int, modulus: int, cut: tuple[int, int, int, bool]) -> None:
    native = _native.fhew
    n, gadget = 1 << log_n, native.Cut(*cut)
    secret = native.RingSecret(modulus, log_n, _native.TestSeed(bytes(32)))
    dtype = np.uint32 if modulus < 1 << 31 else np.uint64
    rng = np.random.default_rng(1)
    messages = rng.integers(0, modulus, (3, n)).astype(dtype)
    ciphertexts = secret.encrypt(messages)
    assert np.abs(_off(secret.phase(ciphertexts), messages.astype(np.int64), modulus)).max() <= 21
    device = devices.open_device("cpu")
    for element in (n + 1, 5, 2 * n - 1):
        key = native.SubstitutionKey.make(secret, element, gadget)
        kernel = SubstitutionKernel(log_n, modulus, element, gadget, 3)
        device.check(kernel)
        (out,), report = device.run(device.prepare(kernel, KeySet(own=(key,))), [ciphertexts], threads=2)
        index = np.arange(n) * element % (2 * n)
        image = np.zeros_like(messages, dtype=np.int64)
        image[:, index % n] = np.where(index < n, 1, -1) * messages.astype(np.int64)
        # The key switch adds some thousands at 26 bits, some 2^17 at 54; what is wrong is uniform modulo Q.
        assert np.abs(_off(secret.phase(out), image, modulus)).max() < modulus >> 10
        assert report.operations == {"substitution": 3, "ntt": 3 * gadget.count, "intt": 6}
        assert report.bytes["keys"] == 3 * key.bytes
        other = SubstitutionKernel(log_n, modulus, element - 2, gadget, 3)
        with pytest.raises(MismatchError, match="the kernel needs"):
            device.prepare(other, KeySet(own=(key,)))


def _off(phase: Ints, exact: Ints, modulus: int) -> Ints:
    """Differences, centred modulo Q."""
    return (phase - exact + modulus // 2) % modulus - modulus // 2
