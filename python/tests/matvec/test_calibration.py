# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bounds from samples and promises, precision, devices, and where accuracy is lost."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from ringforge import ckks, matvec, params
from ringforge.cli import main
from ringforge.errors import IntervalWarning, LevelError, ParameterError, PrecisionWarning, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import approximations
from ringforge.matvec.accuracy import measure_accuracy
from ringforge.matvec.calibration import find_bounds
from tests.answers import result_of

SEED = ckks.TestSeed(bytes(range(32)))


def deep(layers: int = 5, width: int = 16, seed: int = 1) -> matvec.Sequential:
    """Linear layers whose worst case grows by ten each, and whose results do not."""
    rng = np.random.default_rng(seed)
    found: list[matvec.model.Layer] = []
    for i in range(layers):
        found.append(matvec.Linear(rng.normal(size=(width, width)) / np.sqrt(width), rng.normal(size=width) / 8))
        if i + 1 < layers:
            found.append(approximations.tanh(3, (-4, 4)).polynomial if i % 2 else matvec.Square())
    return matvec.Sequential(found)


def samples(count: int = 64, width: int = 16, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.4, 0.4, (count, width))


def evaluated(net, program, x, seed=SEED):
    client = matvec.Client(program, accept_insecure="test", fixed_seed_for_tests=seed)
    server = matvec.Server(net, program, client.evaluation_keys())
    result, _ = server.evaluate(client.encrypt(x))
    return client, result


def test_bounds_of_samples_are_below_the_worst_case_and_hold() -> None:
    net, x = deep(3), samples()
    found = find_bounds(net, None, x)
    assert found.used[0] == pytest.approx(2 * np.abs(x).max())
    assert len(found.used) == len(found.worst) == len(found.measured) == len(net.layers) + 1
    y = x
    for layer, measured, used, worst in zip(
        net.layers, found.measured[1:], found.used[1:], found.worst[1:], strict=True
    ):
        y = layer(y)
        assert measured == pytest.approx(np.abs(y).max())
        assert measured <= used <= worst * (1 + 1e-9)
        if isinstance(layer, matvec.Linear):
            assert used <= 2 * measured * 2**0.25 or used == worst
    wide = find_bounds(net, None, x, safety=4.0)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(found.used, wide.used, strict=True))


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in (1, 2))])
def test_deep_models_fit_with_samples(seed: int) -> None:
    net, x = deep(5, seed=seed), samples(seed=10 + seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        compiled = matvec.compile_model(net, samples=x)
    assert compiled.program.promises
    assert compiled.program.version == 3
    assert any("measured on 64 samples, times 2" in note for note in compiled.notes)
    fresh = samples(1, seed=100 + seed)
    client, result = evaluated(net, compiled.program, fresh)
    error = np.abs(client.decrypt(result) - net(fresh)).max()
    assert error <= client.error_bound(result)
    assert error < 0.01


def test_a_program_of_promises_survives_its_file(tmp_path: Path) -> None:
    net = deep(3)
    program = matvec.compile_model(net, samples=samples()).program
    program.save(tmp_path / "p.json")
    again = matvec.Program.load(tmp_path / "p.json")
    assert (again.digest, again.error_bound, again.promises) == (program.digest, program.error_bound, True)


def test_promised_bounds_do_the_same() -> None:
    net, x = deep(3), samples()
    measured = find_bounds(net, None, x)
    linear = [2.0 * measured.measured[i + 1] for i, x in enumerate(net.layers) if isinstance(x, matvec.Linear)]
    program = matvec.compile_model(net, bounds=linear, input_bound=float(measured.used[0])).program
    client, result = evaluated(net, program, x[:1])
    assert np.abs(client.decrypt(result) - net(x[:1])).max() <= client.error_bound(result)
    some = matvec.compile_model(net, bounds=[None, *linear[1:]], input_bound=1.0)
    assert some.bounds.promised[0] is None
    for bad in ([1.0], [1.0, 2.0, -1.0], [1.0, 2.0, np.inf]):
        with pytest.raises(ParameterError):
            matvec.compile_model(net, bounds=bad)
    with pytest.raises(ParameterError, match="not both"):
        matvec.compile_model(net, bounds=linear, samples=x)


def test_a_broken_promise_is_seen_where_results_exceed_it() -> None:
    net = matvec.Linear(np.eye(4))
    program = matvec.compile_model(net, bounds=[0.25], input_bound=1.0).program
    client, result = evaluated(net, program, [[0.2, 0.1, -0.2, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.decrypt(result)
    client, result = evaluated(net, program, [[0.2, 0.9, -0.2, 0.0]])
    with pytest.warns(PrecisionWarning, match="1 of 1 results exceed 0.25"):
        client.decrypt(result)
    with pytest.raises(RingforgeValueError, match="bound"):  # inputs are held to theirs in any case
        client.encrypt([[2.0, 0, 0, 0]])


def test_samples_are_checked() -> None:
    net = deep(3)
    with pytest.raises(ShapeError, match="length 16"):
        matvec.compile_model(net, samples=np.zeros((3, 5)))
    with pytest.raises(RingforgeValueError, match="finite"):
        matvec.compile_model(net, samples=np.full((3, 16), np.nan))
    with pytest.raises(ParameterError, match="above the input bound"):
        matvec.compile_model(net, samples=np.ones((3, 16)), input_bound=0.5)
    with pytest.raises(ParameterError, match="safety"):
        matvec.compile_model(net, samples=samples(), safety=0.5)
    narrow = matvec.Sequential([matvec.Linear(np.eye(4) * 3), approximations.relu(3, (-1, 1)).polynomial])
    with pytest.raises(ParameterError, match="outside the interval"):
        matvec.compile_model(narrow, samples=np.ones((2, 4)))
    with pytest.warns(IntervalWarning, match=r"may reach -3 \.\.\. 3"):
        matvec.compile_model(narrow)
    # All samples zero: nothing is learnt of bounds, and the worst case stays.
    zeros = find_bounds(matvec.Sequential([matvec.Linear(np.eye(2))]), None, np.zeros((1, 2)))
    assert zeros.used == zeros.worst


@pytest.mark.parametrize(("precision", "layers"), [(10, 2), (30, 2), (40, 1)])
def test_precision_is_kept(precision: int, layers: int) -> None:
    net, x = deep(layers, 8), samples(16, 8) / 4
    program = matvec.compile_model(net, samples=x, precision=precision).program
    assert program.error_bound <= 2.0**-precision
    client, result = evaluated(net, program, x[:1])
    assert np.abs(client.decrypt(result) - net(x[:1])).max() <= 2.0**-precision


def test_precision_counts_noise_for_sharing() -> None:
    net = matvec.Linear(np.eye(8) / 2)
    program = matvec.compile_model(net, precision=12, share_bits=20).program
    x = samples(1, 8)
    client, result = evaluated(net, program, x)
    assert client.error_bound(result, 20) <= 2.0**-12
    assert np.abs(client.decrypt(result, share_bits=20) - net(x)).max() <= 2.0**-12
    with pytest.raises(ParameterError, match="precision"):
        matvec.compile_model(net, share_bits=20)
    with pytest.raises(ParameterError, match="a precision is 1"):
        matvec.compile_model(net, precision=41)
    with pytest.raises(LevelError, match="ask for fewer"):
        matvec.compile_model(net, precision=40, share_bits=40)
    with pytest.raises(LevelError, match="bits after the point"):
        matvec.compile_model(net, "set-a", precision=40)


def test_parameters_for_a_machine() -> None:
    net = matvec.Linear(np.random.default_rng(1).uniform(-1, 1, (16, 32)))
    program = matvec.compile_model(net, device="rtl:matvec-b").program
    p = program.context.params
    assert p.secure
    assert max(q.bit_length() for q in (*p.q, *p.p)) <= 54
    with pytest.raises(ParameterError, match="Device cpu runs"):
        matvec.compile_model(deep(2), device="rtl:matvec-b")
    with pytest.raises(ParameterError, match="set-small --insecure"):
        matvec.compile_model(net, device="rtl:matvec-small")
    small = matvec.compile_model(net, params.named("set-small", "test"), device="rtl:matvec-small").program
    assert small.parameters.log_n == 11
    with pytest.raises(ParameterError, match="2048"):
        matvec.compile_model(net, "set-b", device="rtl:matvec-small")
    with pytest.raises(ParameterError, match="there is no device"):
        matvec.compile_model(net, device="abacus")


def test_accuracy_layer_by_layer() -> None:
    net, x = deep(3), samples()
    program = matvec.compile_model(net, samples=x, batch=4).program
    found = measure_accuracy(net, program, x)
    assert [layer.name for layer in found.layers][:3] == ["encryption", "linear 16 x 16", "square"]
    assert found.samples == 4
    for layer in found.layers:
        assert 0 < layer.measured <= layer.predicted
        assert layer.largest <= layer.bound
    assert found.layers[-1].predicted == pytest.approx(program.error_bound)
    assert found.worst.lost == max(layer.lost for layer in found.layers[1:])
    # A model that begins with an activation, in the packing of inputs.
    first = matvec.Sequential([matvec.Square(), matvec.Linear(np.eye(16) / 4)])
    assert measure_accuracy(first, matvec.compile_model(first).program, x).layers[1].measured < 1e-4


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    net, x = deep(3), samples()
    matvec.save_model("m.npz", net)
    np.savetxt("x.csv", x, delimiter=",")

    def run(words: str) -> int:
        return main(["matvec", *words.split()])

    assert run("plan --model m.npz --samples x.csv --precision 12 --out p.json") == 0
    shown = capsys.readouterr()
    assert "promised" in shown.out + shown.err
    assert "measured on 64 samples" in shown.out + shown.err
    assert run("explain --model m.npz --samples x.csv --program p.json --html r.html --json") == 0
    told = result_of(capsys.readouterr().out)
    assert len(told["layers"]) == len(net.layers) + 1
    assert "Where accuracy is lost" in Path("r.html").read_text()
    assert run("explain --model m.npz --samples x.csv") == 0
    assert "most is lost in" in "".join(capsys.readouterr())
    assert run("plan --model m.npz --bounds 1,2,x --out q.json") != 0
    assert "with commas between" in capsys.readouterr().err
    assert run("plan --model m.npz --bounds 8,-,8 --out q.json") == 0
    assert main(["info", "p.json"]) == 0
    assert "promised" in "".join(capsys.readouterr())
