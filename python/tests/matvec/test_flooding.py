# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Noise for sharing and bounds of errors follow from the program, whatever a server says of its ciphertexts."""

from __future__ import annotations

import hashlib
import math
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from ringforge import _native, ckks, matvec
from ringforge._native import Parameters
from ringforge.errors import FormatError, MismatchError, PrecisionWarning, ScaleError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.params import named

REASON = {"accept_insecure": "tests"}
RNG = np.random.default_rng(11)

#: Where a record of a ciphertext has its scale and variance.
SCALE, VARIANCE = 52 + 24, 52 + 32


def wide() -> Parameters:
    """Room for noise: large primes, a large scale."""
    p = named("set-c")
    return Parameters("wide", 11, p.q[:3], p.p, 1, 47.0, "tests")


def edited(path: Path, place: int, value: float, to: Path) -> Path:
    """The file with one number of its ciphertext replaced, and a right checksum."""
    data = bytearray(path.read_bytes())
    start = _native.io.peek(bytes(data)).bytes  # behind the label
    record = data[start:-32]
    struct.pack_into("<d", record, place, value)
    to.write_bytes(bytes(data[:start]) + bytes(record) + hashlib.sha256(record).digest())
    return to


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory):
    room = tmp_path_factory.mktemp("exchange")
    model = matvec.Linear(RNG.uniform(-1, 1, (8, 16)), RNG.uniform(-1, 1, 8))
    program = matvec.compile_model(model, wide()).program
    client = matvec.Client(program, **REASON)
    x = RNG.uniform(-1, 1, (1, 16))
    result, _ = matvec.Server(model, program, client.evaluation_keys()).evaluate(client.encrypt(x))
    result.save(room / "y.ct", program)
    return client, room / "y.ct", model(x), result


@pytest.mark.parametrize("said", [0.0, 1e-300, 1e40, 1e300])
def test_noise_is_the_programs_whatever_a_ciphertext_says(exchange, tmp_path: Path, said: float) -> None:
    client, path, exact, _ = exchange
    program = client.program
    lying = matvec.EncryptedVectors.load(edited(path, VARIANCE, said, tmp_path / "y.ct"), program, "output")
    assert lying.groups[0][0].variance == said
    degree, bits = program.context.params.degree, 10
    sigma = ckks.flood_deviation(program.foreseen.variance, degree, bits, 1)
    draws = np.array([client.decrypt(lying, share_bits=bits) for _ in range(40)]) - exact
    # A slot sums N coefficients: real parts have half of their variance. 320 draws: the deviation is known to 4 %.
    expected = sigma * math.sqrt(degree / 2) / program.foreseen.scale
    assert 0.8 < draws.std() / expected < 1.2
    assert np.abs(draws).max() <= client.error_bound(lying, bits)
    assert client.error_bound(lying, bits) == client.error_bound(exchange[3], bits)


def test_what_is_no_number_is_refused(exchange, tmp_path: Path) -> None:
    client, path, _, _ = exchange
    for said in (math.nan, math.inf, -1.0):
        with pytest.raises(FormatError, match="variance"):
            matvec.EncryptedVectors.load(edited(path, VARIANCE, said, tmp_path / "y.ct"), client.program, "output")
    scaled = matvec.EncryptedVectors.load(edited(path, SCALE, 2.0**40, tmp_path / "y.ct"), client.program, "output")
    with pytest.raises(ScaleError, match="results have scale"):
        client.decrypt(scaled)


def test_the_library_refuses_variances_that_are_no_numbers() -> None:
    s = ckks.Session(wide())
    c = s.encrypt(np.ones(4) / 2)
    for variance in (math.nan, math.inf, -1.0):
        with pytest.raises(_native.ParameterError, match="variance"):
            s.client.decrypt_to_share(c, s.secret_key, 4, 1, variance)


@pytest.mark.parametrize("algorithm", ["bsgs", "diagonal", "horner"])
def test_the_program_foresees_what_the_kernel_states(algorithm: str) -> None:
    """Two layers and a square: program and server predict alike, the program never less."""
    net = matvec.Sequential(
        [
            matvec.Linear(RNG.normal(0, 0.3, (16, 30)), RNG.normal(size=16)),
            matvec.Square(),
            matvec.Linear(RNG.normal(0, 0.3, (5, 16))),
        ]
    )
    program = matvec.compile_model(net, "set-b", algorithm=algorithm).program
    client = matvec.Client(program)
    result, _ = matvec.Server(net, program, client.evaluation_keys()).evaluate(client.encrypt(np.zeros(30)))
    (c,) = result.groups[0]
    known = program.foreseen
    assert known.scale == pytest.approx(c.scale, rel=1e-12)
    assert c.bound <= known.bound
    assert c.variance <= known.variance <= 4 * c.variance


def test_a_server_keeps_to_what_the_program_says_of_its_weights() -> None:
    model = matvec.Linear(RNG.uniform(-1, 1, (8, 16)))
    program = matvec.compile_model(model, wide()).program
    keys = matvec.Client(program, **REASON).evaluation_keys()
    matvec.Server(matvec.Linear(-model.weights), program, keys)
    with pytest.raises(MismatchError, match="larger than those that the program was planned for"):
        matvec.Server(matvec.Linear(2 * model.weights), program, keys)


def test_bounds_hold_where_double_precision_is_what_errs() -> None:
    """A bias of 1e12 leaves 2.4e-4 of double rounding, far more than the noise."""
    model = matvec.Linear(RNG.uniform(-1, 1, (8, 16)), np.full(8, 1e12))
    for batch in (1, 4):
        program = matvec.compile_model(model, "set-b", batch=batch, level=3).program
        client = matvec.Client(program)
        x = RNG.uniform(-1, 1, (batch, 16))
        result, _ = matvec.Server(model, program, client.evaluation_keys()).evaluate(client.encrypt(x))
        error = np.abs(client.decrypt(result) - model(x)).max()
        noise = _native.slot_error_bound(program.foreseen.variance, program.context.params.degree)
        assert noise / program.foreseen.scale < error <= client.error_bound(result)
        assert error <= result.groups[0][0].error_bound


def test_encoders_err_less_than_they_say() -> None:
    """There and back at a scale where nothing else errs: constants, one slot, signs, random values."""
    p = named("set-c")
    context = _native.Context(Parameters("coarse", 11, p.q[:5], p.p, 1, 47.0, "tests"))
    slots = context.params.slots
    most = _native.encoding_error(2 * slots) + _native.decoding_error(2 * slots)
    one = np.zeros(slots)
    one[5] = 1
    for z in (np.ones(slots), one, np.sign(RNG.normal(size=slots)), RNG.uniform(-1, 1, slots), 1e12 * np.ones(slots)):
        values = z.astype(np.complex128) * (1 + 0.5j) / 1.2
        got = np.asarray(context.decode(context.encode(values, 2.0**150, 4)))
        assert np.abs(got - values).max() <= most * np.abs(values).max()


def test_plans_whose_results_drown_are_warned_of() -> None:
    with pytest.warns(PrecisionWarning, match=r"may err by .*: scale the weights up"):
        matvec.compile_model(matvec.Linear(np.full((4, 4), 1e-12)), "set-b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matvec.compile_model(matvec.Linear(RNG.uniform(-1, 1, (4, 4))), "set-b")


def test_numbers_with_imaginary_parts_are_refused() -> None:
    z = np.ones((2, 2)) + 1j
    for make in (
        lambda: matvec.Linear(z),
        lambda: matvec.Linear(np.ones((2, 2)), np.array([1j, 0])),
        lambda: matvec.Linear([["a", "b"]]),
        lambda: matvec.Sequential([matvec.Linear(np.ones((2, 2)))])(z),
        lambda: matvec.Client(matvec.compile_model(matvec.Linear(np.ones((2, 2))), wide()).program, **REASON).encrypt(
            z
        ),
    ):
        with pytest.raises(RingforgeValueError, match="real numbers are needed"):
            make()


def test_explanations_can_be_printed() -> None:
    compiled = matvec.compile_model(matvec.Linear(np.ones((4, 4))), "set-a")
    for text in (str(compiled.explain()), str(compiled.program.summary()), str(compiled.choices[0].explain())):
        assert "object at 0x" not in text
        assert "4 x 4" in text
