# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Values that leave the interval of an approximation: warned of or refused, wherever somebody would use the results."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import matvec
from ringforge.cli import main
from ringforge.errors import FormatError, IntervalWarning, ParameterError, PrecisionWarning
from ringforge.matvec import approximations
from ringforge.matvec.accuracy import measure_accuracy
from ringforge.matvec.calibration import find_bounds
from ringforge.matvec.intervals import departures
from ringforge.matvec.rule import Rule
from tests.answers import result_of

TANH = approximations.tanh(7, (-2, 2)).polynomial


def network(factor: float, layer: Any = TANH, inputs: int = 1) -> matvec.Sequential:
    return matvec.Sequential([matvec.Linear(np.eye(inputs) * factor), layer, matvec.Linear(np.eye(inputs))])


def said(call: Any) -> list[str]:
    """Warnings of ours about intervals, and of no other kind."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in found if issubclass(w.category, IntervalWarning)]


def beyond(net: matvec.Sequential, **options: Any) -> list[Any]:
    return departures(net, find_bounds(net, options.pop("input_bound", None), **options))


# ---- what is found ----


@pytest.mark.parametrize(
    ("factor", "interval", "leaves"),
    [
        (1.9, (-2.0, 2.0), False),
        (2.0, (-2.0, 2.0), False),
        (2.1, (-2.0, 2.0), True),
        (1.0, (0.0, 4.0), True),  # |x| stays below 4, and x below 0 is outside
        (1.0, (-4.0, 0.5), True),
        (-1.5, (-2.0, 1.0), True),
    ],
)
def test_both_ends_of_an_interval_count(factor: float, interval: tuple[float, float], leaves: bool) -> None:
    net = network(factor, approximations.sigmoid(3, interval).polynomial)
    assert bool(beyond(net)) is leaves


def test_ranges_are_those_of_each_value_and_not_rounded_up() -> None:
    """Bounds of programs are rounded up, to 2.38 here; what may really be reached is 2."""
    bias = matvec.Sequential([matvec.Linear([[0.5]], [1.5]), TANH, matvec.Linear([[1.0]])])
    assert not beyond(bias)
    squares = matvec.Sequential([matvec.Linear([[1.4]]), matvec.Square(), matvec.Linear([[1.0]]), TANH])
    assert not beyond(squares)
    deep = matvec.Sequential([*network(1.5).layers, TANH, matvec.Linear([[3.0]]), TANH])
    (found,) = beyond(deep)
    assert found.layer == 5
    assert found.interval == (-2.0, 2.0)


def test_an_activation_first_counts_too() -> None:
    net = matvec.Sequential([TANH, matvec.Linear([[1.0]])])
    assert not beyond(net, input_bound=2.0)
    assert beyond(net, input_bound=2.5)
    samples = np.array([[1.9], [-0.3]])
    assert find_bounds(net, None, samples).used[0] == 2.0  # and not twice the sample
    assert not beyond(net, samples=samples)


def test_samples_that_stay_and_promises_that_do_say_nothing() -> None:
    net = network(5.0)
    assert beyond(net)
    assert not beyond(net, samples=[[0.3], [-0.39]])
    assert not beyond(net, promised=[2.0, None])
    assert beyond(net, promised=[3.0, None])
    assert beyond(net, samples=[[0.0]])  # nothing is learnt of them


def test_intervals_that_nothing_leaves_leave_no_trace(tmp_path: Path) -> None:
    inside = matvec.compile_model(network(1.5)).program
    assert not inside.leaves_intervals
    inside.save(tmp_path / "p.json")
    assert '"interval"' not in (tmp_path / "p.json").read_text()


# ---- where it is said ----


def test_planning_and_decrypting_warn() -> None:
    net = network(5.0)
    compiled: list[Any] = []
    (text,) = said(lambda: compiled.append(matvec.compile_model(net)))
    assert "layer 1 may reach -5 ... 5" in text
    assert "samples=" in text
    program = compiled[0].program
    assert any("may reach -5 ... 5" in note for note in compiled[0].notes)
    client = matvec.Client(program)
    server = matvec.Server(net, program, client.evaluation_keys())
    result = server.evaluate(client.encrypt([0.9]))[0]
    values: list[Any] = []
    (text,) = said(lambda: values.append(client.decrypt(result)[0, 0]))
    assert "wrong by any amount" in text
    assert abs(values[0] - np.tanh(4.5)) > 1  # so it must be said
    quiet = matvec.compile_model(net, samples=[[0.39], [-0.39]]).program
    client = matvec.Client(quiet)
    server = matvec.Server(net, quiet, client.evaluation_keys())
    result = server.evaluate(client.encrypt([0.3]))[0]
    assert not said(lambda: client.decrypt(result))
    assert client.decrypt(result)[0, 0] == pytest.approx(np.tanh(1.5), abs=0.01)


def test_models_of_which_most_values_are_outside_are_refused() -> None:
    net = network(50.0)
    with pytest.raises(ParameterError, match=r"95 % of them lie outside.*above 75 %.*samples="):
        matvec.compile_model(net)
    with pytest.raises(ParameterError, match="outside the interval"):  # samples that leave are refused as ever
        matvec.compile_model(net, samples=[[0.9]])
    assert not said(lambda: matvec.compile_model(net, samples=[[0.03]]))
    assert not said(lambda: matvec.compile_model(net, bounds=[2.0, None]))
    # The worst case alone refuses nothing: of many inputs, few sums come near it.
    wide = np.random.default_rng(0).normal(0, 0.05, (8, 256))
    (text,) = said(
        lambda: matvec.compile_model(matvec.Sequential([matvec.Linear(wide), TANH, matvec.Linear(np.eye(8))]))
    )
    assert "0 % of them" in text


def test_a_program_says_it_in_its_file(tmp_path: Path) -> None:
    with pytest.warns(IntervalWarning):
        program = matvec.compile_model(network(5.0)).program
    program.save(tmp_path / "p.json")
    again = matvec.Program.load(tmp_path / "p.json")
    assert again.leaves_intervals
    assert again.digest == program.digest
    assert not again.inside_intervals().leaves_intervals
    assert again.inside_intervals().digest != program.digest
    document = json.loads((tmp_path / "p.json").read_text())
    document["steps"][1]["interval"] = [2.0, -2.0]
    (tmp_path / "q.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match="interval"):
        matvec.Program.load(tmp_path / "q.json")


def test_estimators_look_at_the_rows_that_they_compute() -> None:
    rule = Rule.of(inputs=1, outputs=1, kind="values")
    model = matvec.EncryptedRegressor(network(5.0), rule)
    values: list[Any] = []
    assert not said(lambda: values.append(model.predict([[0.3], [-0.2]])))
    assert values[0] == pytest.approx(np.tanh([1.5, -1.0]), abs=0.01)
    (text,) = said(lambda: model.predict([[0.9], [0.1]]))
    assert "1 of 2 rows leave the interval -2 ... 2 of the polynomial in layer 1" in text
    (text,) = said(lambda: model.prepare())
    assert "may reach -5 ... 5" in text
    assert not said(lambda: model.predict([[0.3]]))
    (text,) = said(lambda: model.compile())
    assert "may reach -5 ... 5" in text


def test_accuracy_is_that_of_the_polynomial_and_says_so() -> None:
    net = network(5.0)
    program = matvec.compile_model(net, samples=[[0.3]]).program
    with pytest.warns(IntervalWarning, match="1 of 1 samples leave"):
        found = measure_accuracy(net, program, [[0.6]])
    assert "1 of 1 samples leave" in found.as_json()["warnings"][0]
    assert "warnings" not in measure_accuracy(net, program, [[0.3]]).as_json()


def test_commands_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.array([[0.3]]))
    matvec.save_model("m.npz", network(5.0))

    def run(line: str, code: int = 0) -> str:
        assert main(["matvec", *line.split()]) == code
        return capsys.readouterr().err

    assert "warning: values before layer 1 may reach" in run("plan --model m.npz --out p.json")
    run("keygen --program p.json --secret s.key --eval-keys e.keys")
    run("encrypt --program p.json --secret s.key --in x.npy --out x.ct")
    words = "evaluate --program p.json --model m.npz --keys e.keys --in x.ct --out y.ct --json"
    assert main(["matvec", *words.split()]) == 0
    printed = capsys.readouterr()
    assert "warning: inputs may leave the interval" in printed.err
    assert "may leave the interval" in result_of(printed.out)["warnings"][0]
    assert "warning: inputs may leave the interval" in run(
        "decrypt --program p.json --secret s.key --in y.ct --out y.npy"
    )
    assert main(["info", "p.json"]) == 0
    assert "inputs may leave the interval" in capsys.readouterr().err
    assert "warning" not in run("plan --model m.npz --samples x.npy --out quiet.json")
    matvec.save_model("h.npz", network(50.0))
    assert "error: values before layer 1" in run("plan --model h.npz --out h.json", 1)


def test_it_is_a_kind_of_precision_warning() -> None:
    """Filters that let these through, or stop at them, hold for it too."""
    assert issubclass(IntervalWarning, PrecisionWarning)
