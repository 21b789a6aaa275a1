# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Networks as PyTorch's exporters write them, and activations by name: right, or refused with what to write instead.

The oracle is ONNX's own reference evaluator.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.cli import main
from ringforge.errors import (
    Error,
    FormatError,
    IntervalWarning,
    ParameterError,
    ShapeError,
    UnsupportedModelError,
)
from ringforge.matvec import approximations, from_onnx, onnx_table
from ringforge.matvec.intervals import rows_outside
from ringforge.matvec.onnx_formula import REPLACEABLE
from ringforge.matvec.onnx_operators import OPERATORS
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.rule import Rule
from tests.answers import result_of

onnx = pytest.importorskip("onnx")
ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
graphs = pytest.importorskip("tests.matvec.torch_graphs")
helper = onnx.helper


def expected(path: Path, x: np.ndarray) -> np.ndarray:
    """What the reference evaluator says, row by row: the batch may be fixed at 1."""
    proto = onnx.load(str(path))
    run = ReferenceEvaluator(proto)
    name = proto.graph.input[0].name
    rows = [run.run(None, {name: row[None].astype(np.float32)})[0].reshape(-1) for row in x]
    return np.asarray(rows, dtype=np.float64)


@pytest.mark.parametrize("name", graphs.NETWORKS)
def test_networks_compute_what_they_say(tmp_path: Path, name: str) -> None:
    network = graphs.NETWORKS[name](tmp_path / "model.onnx")
    found = from_onnx(network.path, activations=network.activations)
    x = np.random.default_rng(1).uniform(-1, 1, (12, *network.shape))
    right = expected(network.path, x)
    rows = x.reshape(len(x), -1)
    got = found.rule.probabilities(found.scores_in_clear(rows))
    assert rows_outside(found.model, rows) == (0, "")
    assert np.abs(got - right).max() <= network.tolerance
    assert np.ptp(right) > 10 * network.tolerance  # what is compared is larger than the tolerance


#: Networks whose levels fit parameters that take seconds.
LONG = ("view_mlp", "gelu_operator", "pieces", "tokens", "mish_mlp", "relu6", "normalised", "silu_cnn")


@pytest.mark.parametrize("name", ["gelu_mlp", *(pytest.param(n, marks=pytest.mark.long) for n in LONG)])
def test_networks_are_right_on_ciphertexts(tmp_path: Path, name: str) -> None:
    network = graphs.NETWORKS[name](tmp_path / "model.onnx")
    found = from_onnx(network.path, activations=network.activations)
    x = np.random.default_rng(2).uniform(-1, 1, (2, *network.shape))
    rows = x.reshape(len(x), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IntervalWarning)
        found.prepare(samples=np.random.default_rng(3).uniform(-1, 1, (64, rows.shape[1])), input_bound=1.0)
        got = found.predict(rows)
    assert np.abs(got - expected(network.path, x)).max() <= network.tolerance + 1e-3


def test_images_are_taken_as_such_or_as_rows(tmp_path: Path) -> None:
    network = graphs.NETWORKS["lenet"](tmp_path / "model.onnx")
    found = from_onnx(network.path, activations=network.activations)
    x = np.random.default_rng(9).uniform(-1, 1, (3, *network.shape))
    right = found.scores_in_clear(x.reshape(3, -1))
    np.testing.assert_array_equal(found.scores_in_clear(x), right)
    np.testing.assert_allclose(found.scores_in_clear(x[0]), right[:1], rtol=1e-12)
    with pytest.raises(ShapeError, match=re.escape("rows of 64 features, or arrays of shape (k, 1, 8, 8), are needed")):
        found.scores_in_clear(x.reshape(3, 8, 8, 1))
    found.rule.save(tmp_path / "rule.json")
    np.testing.assert_array_equal(Rule.load(tmp_path / "rule.json").encode(x), x.reshape(3, -1))


# ---- activations by name ----


def chain(path: Path, *nodes: tuple[str, list[str], dict[str, Any]], constants: dict[str, Any] | None = None) -> Path:
    """x times a matrix, the nodes (the last gives "e"), times another matrix."""
    weights = {"w": np.eye(4, dtype=np.float32) * 1.5, **(constants or {})}
    made = [helper.make_node("MatMul", ["x", "w"], ["a"])]
    made += [
        helper.make_node(op, inputs, ["e" if i + 1 == len(nodes) else f"n{i}"], **attributes)
        for i, (op, inputs, attributes) in enumerate(nodes)
    ]
    made.append(helper.make_node("MatMul", ["e", "w"], ["y"]))
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4])],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), str(path))
    return path


SINGLE: dict[str, tuple[dict[str, Any], Any]] = {
    "Relu": ({}, approximations.relu(24, (-2, 2))),
    "Sigmoid": ({}, approximations.sigmoid(15, (-2, 2))),
    "Tanh": ({}, approximations.tanh(15, (-2, 2))),
    "Erf": ({}, approximations.erf(15, (-2, 2))),
    "Gelu": ({"approximate": "tanh"}, approximations.gelu(15, (-2, 2), approximate="tanh")),
    "LeakyRelu": ({"alpha": 0.2}, approximations.leaky_relu(24, (-2, 2), alpha=0.2)),
    "Elu": ({"alpha": 0.7}, approximations.elu(24, (-2, 2), alpha=0.7)),
    "Selu": ({}, approximations.selu(24, (-2, 2))),
    "Celu": ({"alpha": 2.0}, approximations.celu(24, (-2, 2), alpha=2.0)),
    "Softplus": ({}, approximations.softplus(15, (-2, 2))),
    "Softsign": ({}, approximations.softsign(24, (-2, 2))),
    "Mish": ({}, approximations.mish(15, (-2, 2))),
    "HardSigmoid": ({"alpha": 0.4, "beta": 0.3}, approximations.hard_sigmoid(24, (-2, 2), alpha=0.4, beta=0.3)),
    "HardSwish": ({}, approximations.hard_swish(24, (-2, 2))),
}


@pytest.mark.parametrize("operator", SINGLE)
def test_each_activation_has_an_approximation(tmp_path: Path, operator: str) -> None:
    attributes, stated = SINGLE[operator]
    path = chain(tmp_path / "m.onnx", (operator, ["a"], attributes))
    x = np.random.default_rng(4).uniform(-1, 1, (20, 4))
    got = from_onnx(path, activations={operator: stated}).scores_in_clear(x)
    # What the approximation errs by, times the last layer's factor, and the reference's float32.
    assert np.abs(got - expected(path, x)).max() <= 1.5 * stated.error + 1e-5


@pytest.mark.parametrize("operator", SINGLE)
def test_the_advice_is_what_works(tmp_path: Path, operator: str) -> None:
    """The message's own words, with a degree and an interval, give a network that is right."""
    path = chain(tmp_path / "m.onnx", (operator, ["a"], SINGLE[operator][0]))
    with pytest.raises(UnsupportedModelError) as caught:
        from_onnx(path)
    words = re.search(r"activations=(\{.*\})", str(caught.value))
    assert words is not None
    code = words[1].replace("matvec.", "").replace("degree, interval", "24, (-2, 2)")
    stated = eval(code, {"approximations": approximations})
    x = np.random.default_rng(5).uniform(-1, 1, (20, 4))
    got = from_onnx(path, activations=stated).scores_in_clear(x)
    assert np.abs(got - expected(path, x)).max() <= 1.5 * stated[operator].error + 1e-5


@pytest.mark.parametrize("layer", [False, True])
@pytest.mark.parametrize(
    ("operator", "attributes", "other"),
    [
        ("Erf", {}, approximations.relu(7, (-1, 1))),
        ("Erf", {}, approximations.gelu(7, (-1, 1))),
        ("Softplus", {}, approximations.relu(7, (-1, 1))),
        ("Gelu", {"approximate": "tanh"}, approximations.gelu(7, (-1, 1))),
        ("Gelu", {}, approximations.gelu(7, (-1, 1), approximate="tanh")),
        ("LeakyRelu", {"alpha": 0.2}, approximations.leaky_relu(7, (-1, 1))),
        ("HardSigmoid", {}, approximations.hard_sigmoid(7, (-4, 4), alpha=1 / 6)),
        ("Elu", {"alpha": 0.5}, approximations.elu(7, (-1, 1))),
    ],
)
def test_approximations_of_other_functions_are_refused(
    tmp_path: Path, operator: str, attributes: dict[str, Any], other: Any, layer: bool
) -> None:
    path = chain(tmp_path / "m.onnx", (operator, ["a"], attributes))
    with pytest.raises(ParameterError, match=r"approximates .*matvec\.approximations\."):
        from_onnx(path, activations={operator: other.polynomial if layer else other})
    # A polynomial of somebody's own is taken: networks are trained with such.
    assert from_onnx(path, activations={operator: Polynomial([0.0, 0.5, 0.25])})


COMPOUND: dict[str, tuple[list[tuple[str, list[str], dict[str, Any]]], str]] = {
    "half first": ([("Mul", ["half", "a"], {}), ("Mul", ["a", "root"], {}), ("Erf", ["n1"], {}),
                    ("Add", ["one", "n2"], {}), ("Mul", ["n3", "n0"], {})], "Gelu"),
    "shifted, without the half": ([("Add", ["a", "half"], {}), ("Mul", ["n0", "root"], {}), ("Erf", ["n1"], {}),
                                   ("Add", ["one", "n2"], {}), ("Mul", ["n3", "n0"], {})], "Gelu"),
    "SiLU": ([("Sigmoid", ["a"], {}), ("Mul", ["n0", "a"], {})], "Swish"),
    "hard swish of old": ([("HardSigmoid", ["a"], {"alpha": 1 / 6}), ("Mul", ["a", "n0"], {})], "HardSwish"),
    "hard swish of ReLU6": ([("Add", ["a", "three"], {}), ("Clip", ["n0", "zero", "six"], {}), ("Mul", ["a", "n1"], {}),
                             ("Div", ["n2", "six"], {})], "HardSwish"),
    "Mish": ([("Softplus", ["a"], {}), ("Tanh", ["n0"], {}), ("Mul", ["a", "n1"], {})], "Mish"),
}  # fmt: skip
NUMBERS = {
    k: np.float32(v) for k, v in {"half": 0.5, "root": 0.5**0.5, "one": 1, "zero": 0, "three": 3, "six": 6}.items()
}


@pytest.mark.parametrize("case", COMPOUND)
def test_functions_written_with_several_operators_are_known(tmp_path: Path, case: str) -> None:
    nodes, operator = COMPOUND[case]
    path = chain(tmp_path / "m.onnx", *nodes, constants=NUMBERS)
    with pytest.raises(UnsupportedModelError, match=rf'written with .*activations=\{{"{operator}"'):
        from_onnx(path)
    makers = {"Gelu": "gelu", "Swish": "swish", "HardSwish": "hard_swish", "Mish": "mish"}
    stated = getattr(approximations, makers[operator])(24, (-2, 2))
    found = from_onnx(path, activations={operator: stated})
    assert found.model.layers[1] is stated.polynomial
    x = np.random.default_rng(6).uniform(-1, 1, (20, 4))
    assert np.abs(found.scores_in_clear(x) - expected(path, x)).max() <= 1.5 * stated.error + 1e-5


def test_functions_of_stated_parts_are_computed_too(tmp_path: Path) -> None:
    """GELU with an approximation of erf, and x - tanh(x), which has no name: products and sums of polynomials."""
    nodes, _ = COMPOUND["half first"]
    path = chain(tmp_path / "m.onnx", *nodes, constants=NUMBERS)
    x = np.random.default_rng(7).uniform(-1, 1, (20, 4))
    found = from_onnx(path, activations={"Erf": approximations.erf(15, (-2, 2))})
    assert np.abs(found.scores_in_clear(x) - expected(path, x)).max() < 1e-4
    layer = found.model.layers[1]
    assert isinstance(layer, Polynomial)
    assert layer.interval == pytest.approx((-(2**1.5), 2**1.5))  # where erf's own argument is within -2 ... 2
    shrink = chain(tmp_path / "s.onnx", ("Tanh", ["a"], {}), ("Sub", ["a", "n0"], {}))
    with pytest.raises(UnsupportedModelError, match=r'made of Tanh.*activations=\{"Tanh"'):
        from_onnx(shrink)
    found = from_onnx(shrink, activations={"Tanh": approximations.tanh(15, (-2, 2))})
    assert np.abs(found.scores_in_clear(x) - expected(shrink, x)).max() < 1e-4


# ---- weights beside the model ----


def stored_outside(folder: Path) -> tuple[Path, Any, dict[str, Any]]:
    """A model with its weights in a file beside it; the proto, and the entries that say where."""
    path = folder / "m.onnx"
    chain(folder / "all.onnx", ("Identity", ["a"], {}))
    onnx.save(
        onnx.load(str(folder / "all.onnx")), str(path), save_as_external_data=True, location="m.data", size_threshold=1
    )
    proto = onnx.load(str(path), load_external_data=False)
    return path, proto, {e.key: e for e in proto.graph.initializer[0].external_data}


def test_weights_beside_the_model_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _, _ = stored_outside(tmp_path)
    x = np.random.default_rng(8).uniform(-1, 1, (3, 4))
    np.testing.assert_allclose(from_onnx(path).scores_in_clear(x), 2.25 * x, rtol=1e-6)
    monkeypatch.chdir(tmp_path)
    np.testing.assert_allclose(from_onnx("m.onnx").scores_in_clear(x), 2.25 * x, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"location": "../secret"}, "outside of the model's folder"),
        ({"location": "/etc/passwd"}, "outside of the model's folder"),
        ({"location": "a/../../secret"}, "outside of the model's folder"),
        ({"location": "..\\secret"}, "outside of the model's folder"),
        ({"location": "c:secret"}, "outside of the model's folder"),
        ({"location": "link"}, "outside of the model's folder"),
        ({"location": ""}, "outside of the model's folder"),
        ({"location": "."}, "outside of the model's folder"),
        ({"location": "folder"}, "is no file"),
        ({"location": "gone"}, "keep both together"),
        ({"offset": "1000000"}, "another model's, or was cut off"),
        ({"offset": "-8"}, "no whole number"),
        ({"offset": "9" * 40}, "no whole number"),
        ({"length": "60"}, "64 bytes"),
        ({"length": "9" * 17}, "64 bytes"),
    ],
)
def test_places_outside_and_sizes_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, str], words: str
) -> None:
    (tmp_path / "secret").write_bytes(bytes(1024))
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "folder").mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    path, proto, entries = stored_outside(folder)
    for key, value in changes.items():
        entry = entries.get(key)
        if entry is None:
            entry = proto.graph.initializer[0].external_data.add()
            entry.key = key
        entry.value = value
    path.write_bytes(proto.SerializeToString())
    with pytest.raises((UnsupportedModelError, FormatError), match=re.escape(words)):
        from_onnx(path)


def test_shapes_that_ask_for_more_than_there_is_are_refused(tmp_path: Path) -> None:
    path, proto, _ = stored_outside(tmp_path)
    proto.graph.initializer[0].dims[0] = 1 << 50
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(Error):
        from_onnx(path)


# ---- sizes of values ----


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([("Shape", ["a"], {}), ("Gather", ["n0", "zero_place"], {"axis": 0}), ("Mul", ["n1", "two"], {}),
          ("Reshape", ["a", "n2"], {})], "Mul of sizes that have the batch's among them"),
        ([("Shape", ["a"], {}), ("Add", ["a", "n0"], {})], "Add of values and sizes of values"),
        ([("Slice", ["a", "two", "three_i", "zero_place"], {})], "Slice of the batch"),
        ([("Unsqueeze", ["a", "zero_place"], {})], "the batch must stay first"),
        ([("Reshape", ["a", "flat"], {"allowzero": 1})], "Reshape to [0, 4]"),
        ([("Max", ["a", "a"], {})], "it compares or selects values"),
        ([("GRU", ["a", "a", "a"], {"hidden_size": 2})], "models are chains of layers"),
    ],
)  # fmt: skip
def test_what_is_not_taken_says_why(tmp_path: Path, nodes: list[Any], words: str) -> None:
    constants = {k: np.array(v, dtype=np.int64) for k, v in
                 {"zero_place": [0], "two": [2], "three_i": [3], "flat": [0, 4]}.items()}  # fmt: skip
    path = chain(tmp_path / "m.onnx", *nodes, constants=constants)
    with pytest.raises(UnsupportedModelError, match=re.escape(words)):
        from_onnx(path)


# ---- the list ----


def test_every_operator_of_onnx_is_in_the_list_once() -> None:
    known = {name for _, names, _ in onnx_table.rows() for name in names}
    assert known >= {schema.name for schema in onnx.defs.get_all_schemas()}
    for taken, names, what in onnx_table.rows():
        assert what
        for name in names:
            assert taken or name not in OPERATORS


def test_the_list_in_the_docs_is_current() -> None:
    page = (Path(__file__).parents[3] / "docs" / "matvec.md").read_text()
    mark = "<!-- ringforge matvec operators --markdown: {} -->\n"
    listed = page.split(mark.format("begin"))[1].split(mark.format("end"))[0]
    assert listed == onnx_table.markdown(), "run `ringforge matvec operators --markdown` and put it into docs/matvec.md"


def test_errors_of_approximations_in_the_docs_are_current() -> None:
    page = (Path(__file__).parents[3] / "docs" / "matvec.md").read_text()
    rows = re.findall(r"^\| ([A-Za-z, ]+) \| `(\w+)\(degree, interval.*\)` \| (\S+) \|$", page, re.MULTILINE)
    assert {name.strip() for names, _, _ in rows for name in names.split(",")} == set(REPLACEABLE)
    for _, function, error in rows:
        assert f"{getattr(approximations, function)(15, (-4, 4)).error:.2g}" == error, function


def test_the_command_prints_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matvec", "operators", "--markdown"]) == 0
    assert capsys.readouterr().out == onnx_table.markdown()
    assert main(["matvec", "operators", "--json"]) == 0
    rows = result_of(capsys.readouterr().out)["rows"]
    assert len(rows) == len(onnx_table.rows())
    assert any(not row["taken"] and "MaxPool" in row["names"] for row in rows)
