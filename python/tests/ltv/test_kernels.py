# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What accelerators of LTV take and give, against schoolbook products in Python integers; keys in files and their
memory. Kernels themselves: devices/test_conformance.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ringforge import ltv
from ringforge.devices import KeySet, open_device
from ringforge.devices.conformance import Case
from ringforge.errors import (
    LevelError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ShapeError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.ltv.cases import cases


def _product(a: Any, b: Any, length: int) -> Any:
    """Below X^length, in Python integers."""
    whole = np.zeros(length, object)
    whole[: 2 * len(a) - 1] = np.convolve(a.astype(object), b.astype(object))
    return whole


def _same(case: Case, got: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        assert np.array_equal(a.words, b.words)
        assert case.facts(a) == case.facts(b)


@pytest.mark.parametrize("case", cases(ltv.ProductSumsKernel), ids=lambda c: c.name)
def test_products_of_operands_make_the_results(case: Case) -> None:
    k, inputs = case.kernel, case.given.inputs()
    p = k.context.params
    operands = k.operands(inputs, 2)
    words = np.zeros((len(k.outputs), p.limbs(k.level), p.transform_length), np.uint32)
    for o, terms in enumerate(k.outputs):
        for i, q in enumerate(p.q[: p.limbs(k.level)]):
            words[o, i] = sum(_product(operands[a, i], operands[b, i], p.transform_length) for a, b in terms) % q
    _same(case, k.assemble(inputs, words, 2), k.run(inputs))
    assert k.terms == sum(map(len, k.outputs))
    with pytest.raises(ShapeError, match="is needed"):
        k.assemble(inputs, words[:, :, :-1])
    with pytest.raises(ShapeError):
        k.assemble(inputs, words[:, :-1])
    words[-1, -1, -1] = p.q[p.limbs(k.level) - 1]
    with pytest.raises(RingforgeValueError, match="no residue"):
        k.assemble(inputs, words)


@pytest.mark.parametrize("case", cases(ltv.RelinearizeKernel), ids=lambda c: c.name)
def test_sums_of_digits_and_key_make_the_results(case: Case) -> None:
    k, inputs = case.kernel, case.given.inputs()
    p, key = k.context.params, k.key(case.given.keys)
    parts = k.parts(key, 2)
    assert (parts.level, parts.lag, parts.key_id, parts.offset) == (k.level, k.lag, key.key_id, 1 << (p.window - 1))
    rows = [key.coefficients(d) for d in range(key.digits)]
    made = []
    for c in inputs:
        digits = parts.digits(c, 2)
        assert digits.dtype == np.uint16
        assert np.array_equal(digits, ltv.digits(k.context, c))
        sums = np.zeros((c.limbs, p.transform_length), np.uint32)
        for i in range(c.limbs):
            products = (_product(d, row[i], p.transform_length) for d, row in zip(digits, rows, strict=True))
            sums[i] = sum(products) % p.q[i]
        made.append(parts.assemble(c, sums, 2))
    relinearizer = ltv.Relinearizer(k.context)
    relinearizer.load(key)
    _same(case, made, relinearizer.relinearize(inputs))
    with pytest.raises(ShapeError):
        parts.assemble(inputs[0], sums[:-1])
    with pytest.raises(RingforgeValueError, match="no residue"):
        parts.assemble(inputs[0], np.full_like(sums, 0xFFFFFFFF))
    with pytest.raises(LevelError):
        parts.digits(relinearizer.relinearize(inputs)[0])


def test_digits_are_those_of_the_integers() -> None:
    """Balanced windows, lowest first, put together again: the centred integer."""
    case = cases(ltv.RelinearizeKernel)[0]
    context, c = case.kernel.context, case.given.inputs()[0]
    q = [int(x) for x in context.params.q[: c.limbs]]
    digits = ltv.digits(context, c).astype(object) - (1 << 15)
    values = sum(row << (16 * d) for d, row in enumerate(digits))
    whole = np.prod(np.array(q, object))
    assert (abs(values) <= whole // 2).all()
    for i, modulus in enumerate(q):
        assert np.array_equal((values % modulus).astype(np.uint32), c.words[i])


def test_words_of_keys_are_values_at_powers_of_roots() -> None:
    case = cases(ltv.RelinearizeKernel)[0]
    key, p = case.kernel.key(case.given.keys), case.kernel.context.params
    length = p.transform_length
    bits = length.bit_length() - 1
    for i, root in enumerate(case.kernel.context.roots[:2]):
        q = p.q[i]
        assert pow(root, length // 2, q) == q - 1
        x = [int(v) for v in key.coefficients(1)[i]]
        for j in (0, 1, 2, 77, length - 1):
            at = pow(root, int(format(j, f"0{bits}b")[::-1], 2), q)
            assert sum(v * pow(at, t, q) for t, v in enumerate(x)) % q == key.digit(1)[i, j]


def test_views_are_read_only_and_outlive_their_names() -> None:
    case = cases(ltv.RelinearizeKernel)[0]
    words = case.given.inputs()[0].words  # of an object that nobody else holds
    assert words.shape == (4, 128)
    assert not words.flags.writeable
    assert int(words.max()) < 1 << 31
    key = case.kernel.key(case.given.keys)
    assert not key.digit(0).flags.writeable
    for wrong in (lambda: key.digit(99), lambda: key.coefficients(99)):
        with pytest.raises(IndexError):
            wrong()


def test_what_16_bits_do_not_hold_is_refused() -> None:
    q = ltv.Parameters.named("ltv-test-aes", insecure="tests").q[:3]
    wide = ltv.Parameters(255, q, insecure="tests", gadget="rns", window=31)
    for params in (wide, ltv.Parameters.named("ltv-test-tensor", insecure="tests")):
        context = ltv.Context(params)
        client = ltv.Client(context)
        secret, public = client.keys()
        key, c = client.eval_key(secret, public, 1), client.encrypt(np.ones(1, np.uint8), public)
        with pytest.raises(ParameterError, match="compute on cpu"):
            ltv.KeyParts(context, key)
        with pytest.raises(ParameterError, match="compute on cpu"):
            ltv.digits(context, c)
        if params.ring != "padded":
            with pytest.raises(ParameterError, match="padded ring"):
                ltv.BatchEvaluator(context).operands([c], [[0]], [[(0, 0)]])


def test_digits_are_of_a_level_with_its_primes() -> None:
    own = cases(ltv.RelinearizeKernel)[0]
    c = own.given.inputs()[2]
    with pytest.raises(LevelError):
        ltv.digits(own.kernel.context, ltv.BatchEvaluator(own.kernel.context).carry([c], 1)[0])


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> ltv.KeyDirectory:
    case = cases(ltv.RelinearizeKernel)[0]
    context = case.kernel.context
    client = ltv.Client(context)
    secret, public = client.keys()
    keys = ltv.KeyDirectory(tmp_path_factory.mktemp("keys"), context)
    keys.write(client, secret, public, [1, 2], lags={2: 1})
    return keys


def test_keys_in_files(stored: ltv.KeyDirectory) -> None:
    device, context = open_device("cpu"), stored.context

    def prepare(level: int, lag: int, key: ltv.StoredKey) -> Any:
        return device.prepare(ltv.RelinearizeKernel(context, level, lag), KeySet(own=(key,)))

    prepare(1, 0, stored.stored(1))
    prepare(2, 1, stored.stored(2, 1))
    assert stored.stored(2, 1).load().lag == 1
    assert KeySet(own=(stored.stored(1),)).bytes == 0
    wrong: list[tuple[type[Exception], Callable[[], Any]]] = [
        (LevelError, lambda: prepare(1, 0, stored.stored(2, 1))),
        (MismatchError, lambda: prepare(2, 1, stored.stored(2))),
        (MismatchError, lambda: prepare(2, 0, stored.stored(2))),  # of the file
        (MismatchError, lambda: stored.stored(2).load()),
        (MissingKeyError, lambda: prepare(3, 0, stored.stored(3))),
        (LevelError, lambda: prepare(9, 0, stored.stored(9))),
    ]
    for error, call in wrong:
        with pytest.raises(error):
            call()


def test_memory_of_a_key_goes_to_the_next(stored: ltv.KeyDirectory) -> None:
    room, device = ltv.Room(), open_device("cpu")
    kernel = ltv.RelinearizeKernel(stored.context, 1)
    keys = KeySet(own=(stored.stored(1, room=room),))
    first, second = device.prepare(kernel, keys), device.prepare(kernel, keys)
    used = first.state.relinearizer
    assert used is not second.state.relinearizer, "two keys at a time have memory of their own"
    del first
    third = device.prepare(kernel, keys)
    assert third.state.relinearizer is used
    del third
    assert device.prepare(kernel, keys, threads=2).state.relinearizer is not used, "made for another number of threads"


def test_a_collection_may_give_back_in_the_middle_of_a_take() -> None:
    """A finalizer runs in whichever thread collects: one that is in `take` must not wait for itself."""
    room, context = ltv.Room(), cases(ltv.RelinearizeKernel)[0].kernel.context
    made = room.take(context, 1)

    class _Busy:
        """A lock in whose possession a collection runs."""

        def __init__(self, lock: Any) -> None:
            self._lock = lock

        def __enter__(self) -> None:
            self._lock.acquire()
            room._lock = self._lock
            room.give_back(context, 1, made)

        def __exit__(self, *_: object) -> None:
            self._lock.release()

    given: list[Any] = []
    room._lock = _Busy(room._lock)  # type: ignore[assignment]
    thread = threading.Thread(target=lambda: given.append(room.take(context, 1)), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert given[-1] is made


def test_threads_share_parts() -> None:
    case = cases(ltv.RelinearizeKernel)[0]
    parts, inputs = case.kernel.parts(case.kernel.key(case.given.keys)), case.given.inputs()
    wanted = [parts.digits(c) for c in inputs]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            wrong.extend(k for k, c in enumerate(inputs) if not np.array_equal(parts.digits(c, 2), wanted[k]))

    all_ = [threading.Thread(target=work) for _ in range(4)]
    for t in all_:
        t.start()
    for t in all_:
        t.join()
    assert not wrong
