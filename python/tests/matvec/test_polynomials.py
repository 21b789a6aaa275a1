# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomial layers: in the clear against fractions, on ciphertexts against both, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from ringforge import _native, ckks, matvec
from ringforge.devices import KeySet, open_device
from ringforge.errors import (
    FormatError,
    LevelError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ScaleError,
    ShapeError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import approximations
from ringforge.matvec.kernels import PolynomialKernel
from ringforge.matvec.polynomial import Polynomial, series_bound
from ringforge.matvec.polynomial_circuit import Circuit, Symbol, SymbolOperations, best_baby, depth, products

DEGREES = (1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 33, 63)
WHY = "test"


def seed(number: int) -> ckks.TestSeed:
    return ckks.TestSeed(number.to_bytes(32, "little"))


def toy(limbs: int, bits: int = 50) -> _native.Parameters:
    primes = _native.kernels.primes_below(bits, limbs + 1, 1 << 18)
    return _native.Parameters("toy", 10, primes[:limbs], primes[limbs:], 1, 40.0, WHY)


# ---- in the clear ----


@pytest.mark.parametrize("degree", DEGREES)
def test_changes_of_basis_are_exact(degree: int) -> None:
    rng = np.random.default_rng(degree)
    powers = Polynomial(rng.uniform(-1, 1, degree + 1))
    series = Polynomial.chebyshev(rng.uniform(-1, 1, degree + 1), (-1.5, 2.25))
    for p in (powers, series):
        for low, high in ((-1.0, 1.0), (-0.5, 1.25), (-1.5, 2.25)):
            on = p.on(low, high)
            for x in np.linspace(low, high, 7):
                u = (2 * Fraction(float(x)) - Fraction(low) - Fraction(high)) / (Fraction(high) - Fraction(low))
                # T_k by its recurrence, in fractions: independent of numpy and of Horner's rule.
                t, value = [Fraction(1), u], Fraction(0)
                while len(t) <= degree:
                    t.append(2 * u * t[-1] - t[-2])
                value = sum((Fraction(float(c)) * y for c, y in zip(on, t, strict=False)), Fraction(0))
                exact = p.exact(float(x))
                assert abs(value - exact) <= 2.0**-50 * np.abs(on).sum()
                assert abs(float(exact) - p(float(x))) <= 2.0**-44 * (degree + 1) * max(1.0, np.abs(on).sum())


@pytest.mark.parametrize("degree", DEGREES)
def test_bounds_hold_everywhere_and_are_tight(degree: int) -> None:
    rng = np.random.default_rng(100 + degree)
    c = rng.normal(size=degree + 1)
    most = np.abs(np.polynomial.chebyshev.chebval(np.linspace(-1, 1, 100001), c)).max()
    assert most <= series_bound(c) <= most * 1.003 + 1e-12


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "gelu"])
@pytest.mark.parametrize("degree", [1, 2, 3, 7, 15, 31])
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-4.0, 4.0), (-1.0, 5.0)])
def test_approximations_err_no_more_than_they_say(name: str, degree: int, interval: tuple[float, float]) -> None:
    exact = {
        "relu": lambda x: max(x, 0.0),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
        "gelu": lambda x: x * (1 + _erf(x / np.sqrt(2))) / 2,
    }[name]
    a = getattr(approximations, name)(degree, interval)
    points = np.random.default_rng(degree).uniform(*interval, 4001)
    worst = np.abs(a.polynomial(points) - np.vectorize(exact)(points)).max()
    assert worst <= a.error
    assert a.measured <= a.error
    assert a.error <= 1.1 * worst + 1e-6  # no empty promise
    assert a.interval == interval == a.polynomial.interval


def _erf(x: float) -> float:
    return math.erf(x)


def test_approximations_get_better_and_know_their_limits() -> None:
    errors = [approximations.relu(d, (-1, 1)).error for d in (2, 4, 8, 16, 32)]
    assert all(b < 0.6 * a for a, b in itertools.pairwise(errors))
    assert errors[0] == pytest.approx(1 / 16, rel=1e-3)  # |x|/2 by a parabola: 1/16, as Chebyshev knew
    assert approximations.relu(7, (1, 2)).error < 1e-12
    for degree in (0, 64, 2.5, True):
        with pytest.raises(ParameterError, match="degree"):
            approximations.relu(degree)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="interval"):
        approximations.tanh(3, (1, 1))
    with pytest.raises(ParameterError, match="constant"):
        approximations.relu(3, (-2, -1))


def test_what_is_no_polynomial_is_refused() -> None:
    for bad in ([1.0], [0.0, 0.0], np.ones(65), np.ones((2, 2)), []):
        with pytest.raises(ShapeError):
            Polynomial(bad)
    for bad in ([1.0, np.nan], [1.0, np.inf], [1.0, 1j], ["a", "b"], [1.7e308, 1.7e308]):
        with pytest.raises(RingforgeValueError):
            Polynomial(bad)
    assert Polynomial([1.0, 2.0, 0.0]).degree == 1
    with pytest.raises(ShapeError, match="Linear"):
        matvec.Sequential([Polynomial([0.0, 1.0])])
    with pytest.raises(ShapeError, match="layers are"):
        matvec.Sequential([matvec.Linear([[1.0]]), "relu"])  # type: ignore[list-item]


# ---- the circuit ----


@pytest.mark.parametrize("degree", range(1, 64))
def test_depth_is_the_least_and_products_are_few(degree: int) -> None:
    series = tuple(np.random.default_rng(degree).uniform(0.1, 1, degree + 1).tolist())
    baby = best_baby(series)
    assert depth(degree) == int(np.ceil(np.log2(degree + 1)))
    # Paterson and Stockmeyer: about sqrt(2 d) + log2 d products, and some for the least depth.
    assert products(series, baby) <= np.sqrt(2 * degree) + 2 * np.log2(degree) + 1


@pytest.mark.parametrize("degree", DEGREES)
def test_results_are_right_within_the_predicted_error(degree: int) -> None:
    params = toy(depth(degree) + 2)
    context, top = _native.Context(params), depth(degree) + 1
    scale = float(params.q[top]) / 2
    for number in range(3):
        rng = np.random.default_rng(1000 * degree + number)
        # Values at the very bounds, where Chebyshev polynomials are steepest, and anywhere else.
        x = rng.uniform(-2, 2, params.slots)
        x[:4] = 2, -2, 0, 2
        poly = Polynomial.chebyshev(rng.normal(size=degree + 1), (-2, 2))
        series = tuple(poly.series.tolist())
        client = _native.Client(context, seed(number))
        secret = client.secret_key()
        keys = KeySet(relin=client.relin_key(secret, top))
        kernel = PolynomialKernel(context, top, series, best_baby(series), scale, 2.0**45, 2.0)
        given = client.encrypt(context.encode(x.astype(complex), scale, top), secret, 2.0)
        device = open_device("cpu")
        (out,), report = device.run(device.prepare(kernel, keys), [given])
        got = np.real(np.asarray(context.decode(client.decrypt(out, secret))))
        exact = np.array([float(poly.exact(float(v))) for v in x[:64]])
        known, ops = kernel.described(given)
        predicted = _native.error_bound(known, params.degree)
        assert np.abs(got[:64] - exact).max() <= predicted
        assert np.abs(got - poly(x)).max() <= predicted < 1e-3
        assert out.level == top - depth(degree)
        assert out.scale == pytest.approx(2.0**45, rel=2**-40)
        assert (out.variance, out.bound) == (known.variance, known.bound)
        assert ops.least > 0
        # Products that meet in one sum are relinearised together.
        assert report.operations["key_switch"] == len(ops.switches) <= products(series, kernel.baby)
        assert len(ops.products) == products(series, kernel.baby)
        assert report.operations["mod_down"] >= len(ops.rescales)


@pytest.mark.parametrize("baby", [2, 4, 8, 16, 32])
def test_every_number_of_baby_steps_gives_the_same(baby: int) -> None:
    series, params = tuple(np.random.default_rng(3).normal(size=32).tolist()), toy(7)
    context = _native.Context(params)
    client = _native.Client(context, seed(1))
    secret, scale = client.secret_key(), float(params.q[6])
    x = np.random.default_rng(4).uniform(-1, 1, params.slots)
    kernel = PolynomialKernel(context, 6, series, baby, scale, 2.0**45, 1.0)
    device = open_device("cpu")
    handle = device.prepare(kernel, KeySet(relin=client.relin_key(secret, 6)))
    (out,), _ = device.run(handle, [client.encrypt(context.encode(x.astype(complex), scale, 6), secret, 1.0)])
    got = np.real(np.asarray(context.decode(client.decrypt(out, secret))))
    assert np.abs(got - np.polynomial.chebyshev.chebval(x, series)).max() <= out.error_bound < 1e-6


def test_noise_is_predicted_where_all_slots_err_alike() -> None:
    """All slots hold one value: errors of powers depend on each other, and sums meet in step."""
    params = toy(6)
    context = _native.Context(params)
    for number, value in enumerate((1.0, -1.0, np.cos(np.pi / 15))):
        client = _native.Client(context, seed(50 + number))
        secret, scale = client.secret_key(), float(params.q[5])
        x = np.full(params.slots, value)
        series = (0.0,) * 15 + (1.0,)
        kernel = PolynomialKernel(context, 5, series, best_baby(series), scale, 2.0**48, 1.0)
        device = open_device("cpu")
        handle = device.prepare(kernel, KeySet(relin=client.relin_key(secret, 5)))
        (out,), _ = device.run(handle, [client.encrypt(context.encode(x.astype(complex), scale, 5), secret, 1.0)])
        got = np.real(np.asarray(context.decode(client.decrypt(out, secret))))
        error = np.abs(got - np.polynomial.chebyshev.chebval(value, series)).max()
        assert error <= out.error_bound <= 2.0**14 * max(error, 2.0**-40)


def test_the_kernel_refuses_what_it_is_not_for() -> None:
    params = toy(4)
    context = _native.Context(params)
    client = _native.Client(context, seed(2))
    secret, scale = client.secret_key(), float(params.q[3])
    keys = KeySet(relin=client.relin_key(secret, 3))
    device = open_device("cpu")

    def kernel(level: int = 3, series: tuple[float, ...] = (0.0, 1.0, 1.0), baby: int = 2) -> PolynomialKernel:
        return PolynomialKernel(context, level, series, baby, scale, 2.0**40, 1.0)

    for wrong, error in (
        (kernel(1), LevelError),
        (kernel(4), LevelError),
        (kernel(series=(1.0,)), ShapeError),
        (kernel(series=(1.0, 0.0)), ShapeError),
        (kernel(series=(1.0, np.nan)), ShapeError),
        (kernel(baby=3), ParameterError),
    ):
        with pytest.raises(error):
            device.prepare(wrong, keys)
    with pytest.raises(MissingKeyError):
        device.prepare(kernel(), KeySet())
    handle = device.prepare(kernel(), keys)

    def given(bound: float = 1.0, at: float = scale, level: int = 3) -> _native.Ciphertext:
        return client.encrypt(context.encode(np.full(4, 0.5, complex), at, level), secret, bound)

    for wrong_input, error in (
        (given(2.0), RingforgeValueError),
        (given(at=scale / 2), ScaleError),
        (given(level=2), LevelError),
    ):
        with pytest.raises(error):
            device.run(handle, [wrong_input])
    stranger = _native.Client(context, seed(3))
    other = stranger.encrypt(context.encode(np.full(4, 0.5, complex), scale, 3), stranger.secret_key(), 1.0)
    with pytest.raises(MismatchError):
        device.run(handle, [other])
    with pytest.raises(ParameterError, match="cpu"):
        open_device("rtl:matvec-b").check(kernel())


# ---- models ----


def model(*activations: matvec.Polynomial | matvec.Square, width: int = 12) -> matvec.Sequential:
    rng = np.random.default_rng(width)
    layers: list[matvec.model.Layer] = [
        matvec.Linear(rng.uniform(-1, 1, (width, 8)) / 8, rng.uniform(-1, 1, width) / 4)
    ]
    for a in activations:
        layers += [a, matvec.Linear(rng.uniform(-1, 1, (width, width)) / width, rng.uniform(-1, 1, width) / 4)]
    return matvec.Sequential(layers)


def parties(net: matvec.Sequential, **options):
    program = matvec.compile_model(net, **options).program
    client = matvec.Client(program, accept_insecure=WHY, fixed_seed_for_tests=seed(7))
    server = matvec.Server(net, program, client.evaluation_keys())
    return program, client, server


@pytest.mark.parametrize("backend", ["ckks", "clear"])
@pytest.mark.parametrize(
    "net",
    [
        model(approximations.tanh(5, (-1, 1)).polynomial),
        model(approximations.relu(2, (-2, 2)).polynomial, matvec.Square()),
        matvec.Sequential([Polynomial([0.5, 1, -1, 0.25]), matvec.Linear(np.eye(5)[:3] / 2, np.ones(3) / 8)]),
        matvec.Sequential([matvec.Square(), matvec.Linear(np.eye(4) / 2), Polynomial([0.25, 1])]),
        matvec.Sequential(
            [matvec.Linear(np.eye(4) / 2), Polynomial([0, 1, 1]), Polynomial([0.5, 0.5, 0.5]), matvec.Square()]
        ),
    ],
    ids=["tanh", "relu and square", "polynomial first", "square first", "one after the other"],
)
@pytest.mark.parametrize("batch", [1, 4])
def test_models_with_polynomials(net: matvec.Sequential, backend: str, batch: int) -> None:
    program, client, server = parties(net, backend=backend, batch=batch)
    assert program.version == 3
    x = np.random.default_rng(5).uniform(-1, 1, (batch + 1, net.inputs))
    x[0] = 1.0
    result, _ = server.evaluate(client.encrypt(x))
    error = np.abs(client.decrypt(result) - net(x)).max()
    assert error <= (client.error_bound(result) if backend == "ckks" else 1e-9) < 0.1
    if backend == "ckks":
        for c in result.groups[0]:
            assert c.error_bound <= program.error_bound * (1 + 1e-6)


def test_files_of_programs_with_polynomials(tmp_path) -> None:
    net = model(approximations.tanh(3, (-1, 1)).polynomial)
    program, client, _ = parties(net)
    program.save(tmp_path / "p.json")
    again = matvec.Program.load(tmp_path / "p.json")
    assert again.digest == program.digest
    assert again.error_bound == program.error_bound
    sound = json.loads((tmp_path / "p.json").read_text())

    def broken(change) -> None:
        wrong = json.loads(json.dumps(sound))
        change(wrong)
        (tmp_path / "w.json").write_text(json.dumps(wrong))
        with pytest.raises((FormatError, LevelError, ScaleError)):
            matvec.Program.load(tmp_path / "w.json")

    broken(lambda p: p.update(version=2))
    broken(lambda p: p["steps"][1].update(baby=3))
    broken(lambda p: p["steps"][1].update(coefficients=[1.0]))
    broken(lambda p: p["steps"][1].update(coefficients=[1.0, 1.0, 0.0]))
    broken(lambda p: p["steps"][1].update(coefficients=[1e300] * 4))
    broken(lambda p: p["steps"][1].update(coefficients=[1e29] * 4))
    broken(lambda p: p["steps"][1].update(level=5))
    broken(lambda p: p["steps"][1].update(log_output_scale=119.0))
    broken(lambda p: p["steps"][1].update(log_input_scale=1.0))
    broken(lambda p: p["steps"][1].update(input_bound=0.0))
    broken(lambda p: p["steps"][1].update(coefficients=[0.1] * 64))
    broken(lambda p: p["steps"][2].update(log_input_scale=30.0))
    broken(lambda p: p["steps"][2].update(input_bound=1e-3))
    broken(lambda p: p["steps"][1].update(input_bound=1e-3))
    broken(lambda p: p["steps"][0].update(kind="polynomial"))
    broken(lambda p: p["steps"][-1].update(square=1e308, norm=1e308, rotated_norm=1e308))
    assert client.program.digest == program.digest


def test_powers_that_vanish_or_grow_beyond_doubles() -> None:
    net = matvec.Sequential([matvec.Linear(np.eye(4)), Polynomial([0, 1, 0, 0, 0, 1e-300])])
    with pytest.raises(RingforgeValueError, match="lower degree"):
        matvec.compile_model(net, input_bound=1e-10)
    with pytest.raises(RingforgeValueError, match="wider interval"):
        _ = Polynomial.chebyshev([0] * 40 + [1], (1e-300, 2e-300)).coefficients


def test_another_polynomial_is_refused() -> None:
    net = model(approximations.tanh(3, (-1, 1)).polynomial)
    program, client, _ = parties(net)
    keys = client.evaluation_keys()
    for other in (Polynomial([0.0, 1.0, 0.0, -0.3]), Polynomial([0.0, 1.0]), matvec.Square()):
        with pytest.raises((MismatchError, ShapeError)):
            matvec.Server(model(other), program, keys)
    squares = matvec.compile_model(model(matvec.Square())).program
    with pytest.raises((MismatchError, ShapeError)):
        matvec.Server(net, squares, keys)


def test_keys_and_results_of_another_program_are_refused() -> None:
    net = model(approximations.tanh(3, (-1, 1)).polynomial)
    program, client, server = parties(net)
    other = matvec.Client(program, fixed_seed_for_tests=seed(8))
    with pytest.raises(MismatchError):
        server.evaluate(other.encrypt(np.zeros((1, 8))))
    _, _, elsewhere = parties(model(approximations.tanh(3, (-1, 1)).polynomial), batch=2)
    with pytest.raises(MismatchError):
        elsewhere.evaluate(client.encrypt(np.zeros((1, 8))))


def test_two_threads_on_one_server() -> None:
    net = model(approximations.relu(4, (-1, 1)).polynomial)
    _, client, server = parties(net)
    inputs = [np.random.default_rng(i).uniform(-1, 1, (2, 8)) for i in range(4)]
    found: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        result, _ = server.evaluate(client.encrypt(inputs[i]))
        found[i] = client.decrypt(result)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, x in enumerate(inputs):
        assert np.abs(found[i] - net(x)).max() < 1e-3


def test_symbols_and_ciphertexts_go_the_same_way() -> None:
    """The circuit asks operations in one order, whoever runs it."""
    params = toy(5)
    context = _native.Context(params)
    series = tuple(np.random.default_rng(9).normal(size=10).tolist())
    circuit = Circuit(series, 4, best_baby(series), float(params.q[4]), 2.0**40, 1.0)
    ops = SymbolOperations(context)
    known = _native.MetadataRules(context).encrypted(float(params.q[4]), 1.0, False)
    out = circuit.run(ops, Symbol(4, known), params.q)
    assert out.level == 0
    assert len(ops.products) == products(series, circuit.baby)


def test_reading_at_another_scale_multiplies_and_declares() -> None:
    params = toy(2)
    context = _native.Context(params)
    client, ev = _native.Client(context, seed(4)), _native.Evaluator(context)
    secret = client.secret_key()
    given = client.encrypt(context.encode(np.full(4, 0.5, complex), 2.0**40, 1), secret, 1.0)
    read = ev.read_as(given, 2.0**42, 0.25)
    value = np.real(np.asarray(context.decode(client.decrypt(read, secret))))[:4]
    assert np.abs(value - 0.125).max() <= read.error_bound
    assert (read.scale, read.bound, read.variance) == (2.0**42, 0.25, given.variance)
    for scale, bound, error in (
        (0.5, 1.0, ScaleError),
        (2.0**250, 1.0, ScaleError),
        (2.0**40, 0.0, RingforgeValueError),
    ):
        with pytest.raises(error):
            ev.read_as(given, scale, bound)
    with pytest.raises(RingforgeValueError):
        ev.read_as(given, 2.0**40, np.inf)


def test_a_promise_lets_a_matrix_be_encoded_that_any_inputs_would_overflow() -> None:
    context = _native.Context(toy(2))
    plan = _native.Plan(_native.Packing(4, 4, 512, _native.Span.compact), _native.Algorithm.bsgs, 2)
    made = _native.Matvec(context, plan, 1)
    matrix, none = np.full((4, 4), 1000.0), np.zeros(0)
    with pytest.raises(RingforgeValueError, match="do not fit"):
        made.encode(matrix, none, 2.0**40, 2.0**44, 1.0, True)
    made.encode(matrix, none, 2.0**40, 2.0**44, 1.0, True, promised=8.0)
    sums = _native.Matvec.sums(plan, matrix, none, 1.0)
    known = _native.MetadataRules(context).encrypted(2.0**40, 1.0, False)
    described = _native.Matvec.describe(context, plan, 1, 2.0**40, 2.0**44, 1.0, True, sums, known, promised=8.0)
    assert described.bound == 8.0
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(RingforgeValueError):
            made.encode(matrix, none, 2.0**40, 2.0**44, 1.0, True, promised=wrong)
