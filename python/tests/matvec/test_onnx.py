# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""ONNX import: what is taken computes what ONNX says, everything else is refused by name.

The oracle is ONNX's own reference evaluator. What skl2onnx writes is in test_skl2onnx.py.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import Error
from ringforge.errors import FormatError, MemoryLimitError, ParameterError, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import (
    EncryptedClassifier,
    EncryptedRegressor,
    Linear,
    Polynomial,
    Sequential,
    Square,
    approximations,
    onnx_graph,
)
from ringforge.matvec.onnx_import import from_onnx, load_onnx, save_onnx

onnx = pytest.importorskip("onnx")
ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
helper = onnx.helper
FLOAT, DOUBLE, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64
RNG = np.random.default_rng(99)


def node(op: str, inputs: list[str], output: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs, [output], name=f"the_{op.lower()}", **attributes)


def model(
    nodes: list[Any],
    constants: dict[str, np.ndarray],
    shape: tuple[Any, ...] = ("batch", 6),
    kind: int = FLOAT,
    output: str = "y",
) -> Any:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, list(shape))],
        [helper.make_tensor_value_info(output, kind, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def load(tmp_path: Path, proto: Any) -> Sequential:
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return load_onnx(path)


def f32(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def check(tmp_path: Path, proto: Any, shape: tuple[int, ...] = (5, 6)) -> Sequential:
    """Imports, and compares with ONNX's own reference evaluator."""
    loaded = load(tmp_path, proto)
    dtype = np.float64 if proto.graph.input[0].type.tensor_type.elem_type == DOUBLE else np.float32
    x = RNG.uniform(-1, 1, shape).astype(dtype)
    expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    got = loaded(x.reshape(len(x), -1))
    np.testing.assert_allclose(got, expected.reshape(len(x), -1), rtol=2e-5, atol=2e-5)
    return loaded


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("bias", [None, (4,), (1, 4), (1,), ()])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, -2.0)])
def test_gemm(tmp_path: Path, trans: int, bias: tuple[int, ...] | None, alpha: float, beta: float) -> None:
    w = f32(4, 6) if trans else f32(6, 4)
    constants = {"w": w} if bias is None else {"w": w, "b": np.asarray(f32(*bias), dtype=np.float32)}
    proto = model([node("Gemm", ["x", *constants], "y", transB=trans, alpha=alpha, beta=beta)], constants)
    loaded = check(tmp_path, proto)
    # And against numpy, exactly in float64.
    x = RNG.uniform(-1, 1, 6)
    matrix = w.astype(float).T if not trans else w.astype(float)
    addend = 0.0 if bias is None else beta * constants["b"].astype(float).reshape(-1)
    np.testing.assert_allclose(loaded(x), alpha * matrix @ x + addend, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_matmul_and_add(tmp_path: Path, swapped: bool, kind: type) -> None:
    nodes = [node("MatMul", ["x", "w"], "h"), node("Add", ["b", "h"] if swapped else ["h", "b"], "y")]
    constants = {"w": f32(6, 4).astype(kind), "b": f32(4).astype(kind)}
    loaded = check(tmp_path, model(nodes, constants, kind=DOUBLE if kind is np.float64 else FLOAT))
    assert [type(layer) for layer in loaded.layers] == [Linear]


def test_gemm_without_bias_takes_the_add_that_follows(tmp_path: Path) -> None:
    nodes = [node("Gemm", ["x", "w"], "h"), node("Add", ["h", "b"], "y")]
    assert len(check(tmp_path, model(nodes, {"w": f32(6, 4), "b": f32(4)})).layers) == 1


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("flat", ["Flatten", "Reshape", "ReshapeZero"])
def test_convnet_shaped_input_and_squares(tmp_path: Path, power: bool, flat: str) -> None:
    constants = {
        "w1": f32(6, 5),
        "b1": f32(5),
        "w2": f32(3, 5),
        "two": np.array(2.0, dtype=np.float32),
        "flat": np.array([-1, 6], dtype=np.int64) if flat == "Reshape" else np.array([0, -1], dtype=np.int64),
    }
    first = node("Flatten", ["x"], "f") if flat == "Flatten" else node("Reshape", ["x", "flat"], "f")
    nodes = [
        first,
        node("MatMul", ["f", "w1"], "m"),
        node("Add", ["m", "b1"], "h"),
        node("Pow", ["h", "two"], "s") if power else node("Mul", ["h", "h"], "s"),
        node("Identity", ["s"], "i"),
        node("Gemm", ["i", "w2"], "y", transB=1),
    ]
    loaded = check(tmp_path, model(nodes, constants, ("batch", 1, 2, 3)), (5, 1, 2, 3))
    assert [type(layer) for layer in loaded.layers] == [Linear, Square, Linear]


def test_constants_may_be_nodes(tmp_path: Path) -> None:
    weights = helper.make_node("Constant", [], ["w"], value=onnx.numpy_helper.from_array(f32(6, 4)))
    two = helper.make_node("Constant", [], ["two"], value_float=2.0)
    nodes = [weights, two, node("MatMul", ["x", "w"], "h"), node("Pow", ["h", "two"], "y")]
    check(tmp_path, model(nodes, {}))


def test_weights_listed_as_inputs_are_constants(tmp_path: Path) -> None:
    """Old exporters repeat initialisers among the inputs."""
    proto = model([node("MatMul", ["x", "w"], "y")], {"w": f32(6, 4)})
    proto.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [6, 4]))
    assert load(tmp_path, proto).outputs == 4


@settings(max_examples=15)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.sampled_from([np.float32, np.float64]))
def test_export_and_import_agree(tmp_path_factory: Any, widths: list[int], dtype: Any) -> None:
    layers: list[Linear | Square] = []
    for rows, cols in zip(widths[1:], widths[:-1], strict=True):
        weights = RNG.normal(size=(rows, cols)).astype(dtype)
        layers += [Linear(weights, RNG.normal(size=rows).astype(dtype) if rows % 2 else None), Square()]
    net = Sequential(layers)
    path = tmp_path_factory.mktemp("onnx") / "net.onnx"
    save_onnx(path, net, dtype)
    onnx.checker.check_model(onnx.load(str(path)))
    again = load_onnx(path)
    x = RNG.uniform(-1, 1, (3, widths[0]))
    np.testing.assert_array_equal(net(x), again(x))


# ---- affine steps, polynomials ----

POOL: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
IMAGE = ("batch", 2, 6, 5)
AFFINE: dict[str, tuple[list[Any], dict[str, Any], tuple[Any, ...]]] = {
    "add first": ([node("Add", ["x", "b"], "y")], {"b": f32(6)}, ("batch", 6)),
    "two adds": (
        [node("Add", ["x", "b"], "h"), node("Sub", ["h", "c"], "y")],
        {"b": f32(1, 6), "c": f32(1)},
        ("batch", 6),
    ),
    "constant minus value": ([node("Sub", ["b", "x"], "y")], {"b": f32(6)}, ("batch", 6)),
    "number minus value": ([node("Sub", ["b", "x"], "y")], {"b": np.float32(1)}, ("batch", 6)),
    "products by constants": (
        [node("Mul", ["b", "x"], "h"), node("Div", ["h", "c"], "i"), node("Neg", ["i"], "y")],
        {"b": f32(6), "c": np.float32(0.7)},
        ("batch", 6),
    ),
    "twice": ([node("Add", ["x", "x"], "y")], {}, ("batch", 6)),
    "residual": (
        [node("MatMul", ["x", "w"], "h"), node("Add", ["h", "x"], "r"), node("Sub", ["r", "h"], "s"),
         node("Add", ["h", "s"], "y")],
        {"w": f32(6, 6)},
        ("batch", 6),
    ),
    "joined": (
        [node("MatMul", ["x", "w"], "h"), node("Concat", ["h", "x", "h"], "y", axis=-1)],
        {"w": f32(6, 3)},
        ("batch", 6),
    ),
    "picked": ([node("Gather", ["x", "i"], "y", axis=1)], {"i": np.array([5, 0, -2])}, ("batch", 6)),
    "constants of constants": (
        [node("Sqrt", ["v"], "d"), node("Mul", ["d", "d"], "e"), node("Div", ["x", "e"], "y")],
        {"v": np.abs(f32(6)) + 1},
        ("batch", 6),
    ),
    "dropout, cast": (
        [node("Dropout", ["x"], "h"), node("Cast", ["h"], "i", to=1), node("Mul", ["i", "b"], "y")],
        {"b": f32(6)},
        ("batch", 6),
    ),
    "convolution": ([node("Conv", ["x", "w", "b"], "y")], {"w": f32(3, 2, 3, 2), "b": f32(3)}, IMAGE),
    "padded, strided, dilated": (
        [node("Conv", ["x", "w"], "y", pads=[2, 1, 0, 3], strides=[2, 1], dilations=[1, 2], kernel_shape=[3, 2])],
        {"w": f32(3, 2, 3, 2)},
        IMAGE,
    ),
    "groups": ([node("Conv", ["x", "w"], "y", group=2)], {"w": f32(4, 1, 3, 3)}, IMAGE),
    "same upper": (
        [node("Conv", ["x", "w"], "y", auto_pad="SAME_UPPER", strides=[2, 2])], {"w": f32(1, 2, 3, 2)}, IMAGE
    ),
    "same lower": ([node("Conv", ["x", "w"], "y", auto_pad="SAME_LOWER")], {"w": f32(1, 2, 2, 2)}, IMAGE),
    "one axis": ([node("Conv", ["x", "w"], "y", pads=[1, 1])], {"w": f32(3, 2, 3)}, ("batch", 2, 7)),
    "three axes": ([node("Conv", ["x", "w"], "y")], {"w": f32(2, 1, 2, 2, 2)}, ("batch", 1, 3, 4, 3)),
    "normalised": (
        [node("BatchNormalization", ["x", "s", "b", "m", "v"], "y", epsilon=0.01)],
        {"s": f32(2), "b": f32(2), "m": f32(2), "v": np.abs(f32(2))},
        IMAGE,
    ),
    "pools": ([node("AveragePool", ["x"], "h", **POOL), node("GlobalAveragePool", ["h"], "y")], {}, IMAGE),
    "padded pool": ([node("AveragePool", ["x"], "y", **POOL, pads=[1, 1, 1, 1])], {}, IMAGE),
    "padding counts": ([node("AveragePool", ["x"], "y", **POOL, pads=[1, 1, 1, 1], count_include_pad=1)], {}, IMAGE),
    "sums": ([node("ReduceSum", ["x", "a"], "y", keepdims=0)], {"a": np.array([-1])}, IMAGE),
    "means": ([node("ReduceMean", ["x"], "y", axes=[2, 3])], {}, IMAGE),
    "zeros around": (
        [node("Pad", ["x", "p"], "y")],
        {"p": np.array([0, 0, 1, 0, 0, 0, 2, 1])},
        IMAGE,
    ),
    "shapes": (
        [node("Transpose", ["x"], "t", perm=[0, 3, 1, 2]), node("Reshape", ["t", "s"], "r"),
         node("Mul", ["r", "b"], "y")],
        {"s": np.array([0, 5, -1]), "b": f32(5, 1)},
        IMAGE,
    ),
}  # fmt: skip


AFFINE |= {
    "rows times a matrix": ([node("MatMul", ["x", "w"], "y")], {"w": f32(5, 4)}, IMAGE),
    "rows times matrices": ([node("MatMul", ["x", "w"], "y")], {"w": f32(2, 5, 4)}, IMAGE),
    "a matrix times columns": ([node("MatMul", ["w", "x"], "y")], {"w": f32(4, 6)}, IMAGE),
    "matrices times columns": ([node("MatMul", ["w", "x"], "y")], {"w": f32(1, 2, 4, 6)}, IMAGE),
    "means of values": ([node("Mean", ["x", "x", "b"], "y")], {"b": f32(6)}, ("batch", 6)),
    "less its mean": (
        [node("ReduceMean", ["x"], "m", axes=[2]), node("Sub", ["x", "m"], "y")], {}, IMAGE
    ),
    "cut": (
        [node("Slice", ["x", "s", "e", "a", "t"], "y")],
        {"s": np.array([0, -1, 1]), "e": np.array([2**63 - 1, -100, 4]), "a": np.array([0, -1, 2]),
         "t": np.array([1, -2, 2])},
        IMAGE,
    ),
    "one place": ([node("Gather", ["x", "i"], "y", axis=2)], {"i": np.array(-2)}, IMAGE),
    "axes more and less": (
        [node("Unsqueeze", ["x", "a"], "u"), node("Squeeze", ["u", "b"], "s"), node("Neg", ["s"], "y")],
        {"a": np.array([1, -1]), "b": np.array([1])},
        IMAGE,
    ),
    "sizes from the values": (
        [node("Shape", ["x"], "s"), node("Slice", ["s", "zero", "one"], "b"), node("Slice", ["s", "one", "three"], "d"),
         node("Concat", ["b", "d", "less"], "t", axis=0), node("Reshape", ["x", "t"], "r"), node("Neg", ["r"], "y")],
        {"zero": np.array([0]), "one": np.array([1]), "three": np.array([3]), "less": np.array([-1])},
        IMAGE,
    ),
    "weights that are turned": (
        [node("Transpose", ["w"], "v", perm=[1, 0]), node("Cast", ["v"], "u", to=1), node("MatMul", ["x", "u"], "y")],
        {"w": f32(4, 6)},
        ("batch", 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", AFFINE)
def test_affine_steps_become_one_layer(tmp_path: Path, case: str) -> None:
    nodes, constants, shape = AFFINE[case]
    loaded = check(tmp_path, model(nodes, constants, shape), (5, *shape[1:]))
    assert [type(layer) for layer in loaded.layers] == [Linear]


def constant(**numbers: float) -> dict[str, np.ndarray]:
    return {name: np.asarray(number, dtype=np.float32) for name, number in numbers.items()}


POLYNOMIAL: dict[str, tuple[list[Any], dict[str, Any], list[type]]] = {
    "square first": ([node("Mul", ["x", "x"], "y")], {}, [Linear, Square]),
    "cube": ([node("Pow", ["x", "p"], "y")], constant(p=3.0), [Linear, Polynomial]),
    "powers": (
        [node("Mul", ["a", "x"], "t"), node("Pow", ["x", "p"], "q"), node("Mul", ["q", "b"], "r"),
         node("Sub", ["t", "r"], "s"), node("Add", ["s", "c"], "y")],
        constant(a=0.2, b=0.004, c=0.5, p=3.0),
        [Linear, Polynomial],
    ),
    "Horner's rule": (
        [node("Mul", ["x", "a"], "t"), node("Add", ["t", "b"], "u"), node("Mul", ["u", "x"], "v"),
         node("Add", ["v", "c"], "y")],
        constant(a=0.2, b=-0.7, c=0.5),
        [Linear, Polynomial],
    ),
    "branch": ([node("Mul", ["x", "x"], "s"), node("Add", ["s", "x"], "y")], {}, [Linear, Polynomial]),
    "what a square is multiplied by": (
        [node("Mul", ["x", "x"], "s"), node("Mul", ["s", "a"], "t"), node("Add", ["t", "b"], "u"),
         node("MatMul", ["u", "w"], "y")],
        {**constant(a=0.3, b=1.0), "w": f32(6, 2)},
        [Linear, Square, Linear],
    ),
    "two layers": (
        [node("Mul", ["x", "x"], "s"), node("MatMul", ["s", "w"], "t"), node("Pow", ["t", "p"], "u"),
         node("Add", ["u", "t"], "v"), node("MatMul", ["v", "v_w"], "y")],
        {"w": f32(6, 3), "v_w": f32(3, 2), **constant(p=4.0)},
        [Linear, Square, Linear, Polynomial, Linear],
    ),
    "residual on both sides of a square": (
        [node("Mul", ["x", "x"], "s"), node("MatMul", ["s", "w"], "t"), node("Add", ["t", "s"], "y")],
        {"w": f32(6, 6)},
        [Linear, Square, Linear],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", POLYNOMIAL)
def test_powers_products_and_sums_become_polynomials(tmp_path: Path, case: str) -> None:
    nodes, constants, kinds = POLYNOMIAL[case]
    loaded = check(tmp_path, model(nodes, constants))
    assert [type(layer) for layer in loaded.layers] == kinds


def test_a_convolutional_network(tmp_path: Path) -> None:
    """Convolution, normalisation, square, pool, residual sum, product: as ONNX computes it, in five layers."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], "c1"),
        node("BatchNormalization", ["c1", "s", "b", "m", "v"], "n1"),
        node("Mul", ["n1", "n1"], "q1"),
        node("AveragePool", ["q1"], "p1", **POOL),
        node("Conv", ["p1", "w2"], "c2", pads=[1, 1, 1, 1]),
        node("Add", ["c2", "p1"], "r2"),
        node("Relu", ["r2"], "a2"),
        node("GlobalAveragePool", ["a2"], "g"),
        node("Flatten", ["g"], "f"),
        node("Gemm", ["f", "w3"], "y", transB=1),
    ]
    constants = {
        "w1": f32(3, 1, 3, 3) * np.float32(0.3), "b1": f32(3), "s": f32(3), "b": f32(3), "m": f32(3),
        "v": np.abs(f32(3)) + 1, "w2": f32(3, 3, 3, 3) * np.float32(0.1), "w3": f32(4, 3),
    }  # fmt: skip
    proto = model(nodes, constants, ("batch", 1, 8, 8))
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    relu = approximations.relu(6, (-40, 40))
    loaded = load_onnx(path, activations={"Relu": relu})
    assert [type(layer) for layer in loaded.layers] == [Linear, Square, Linear, Polynomial, Linear]
    assert loaded.layers[3] is relu.polynomial
    x = RNG.uniform(-1, 1, (7, 1, 8, 8)).astype(np.float32)
    # The oracle: ONNX computes up to the activation and after it, numpy the polynomial between.
    before = ReferenceEvaluator(model(nodes[:6], constants, ("batch", 1, 8, 8), output="r2")).run(None, {"x": x})[0]
    assert np.abs(before).max() < 40
    between = relu.polynomial(before.astype(np.float64)).mean(axis=(2, 3))
    np.testing.assert_allclose(loaded(x.reshape(7, -1)), between @ constants["w3"].T, rtol=2e-5, atol=2e-5)
    # And the replacement is as near to the network with ReLU as its error says.
    exact = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    assert (
        np.abs(loaded(x.reshape(7, -1)) - exact).max() <= relu.error * np.abs(constants["w3"]).sum(axis=1).max() + 1e-3
    )


def test_a_convolutional_network_on_ciphertexts(tmp_path: Path) -> None:
    """Convolution, square, pool, residual sum, cube, labels: encrypted, within the predicted error."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], "c", pads=[1, 1, 1, 1]),
        node("Mul", ["c", "c"], "q"),
        node("AveragePool", ["q"], "p", **POOL),
        node("Conv", ["p", "w2"], "d", pads=[1, 1, 1, 1]),
        node("Add", ["d", "p"], "r"),
        node("Flatten", ["r"], "f"),
        node("Gemm", ["f", "w3"], "g", transB=1),
        node("Pow", ["g", "three"], "h"),
        node("Sub", ["g", "h"], "s"),
        node("ArgMax", ["s"], "y", axis=1, keepdims=0),
    ]
    constants = {
        "w1": f32(2, 1, 3, 3) * np.float32(0.2), "b1": f32(2) * np.float32(0.1),
        "w2": f32(2, 2, 3, 3) * np.float32(0.1), "w3": f32(3, 18) * np.float32(0.1), **constant(three=3.0),
    }  # fmt: skip
    proto = model(nodes, constants, ("batch", 1, 6, 6), output="y")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    found = from_onnx(path)
    assert isinstance(found, EncryptedClassifier)
    assert [type(layer) for layer in found.model.layers] == [Linear, Square, Linear, Polynomial]
    x = RNG.uniform(-1, 1, (6, 1, 6, 6)).astype(np.float32)
    rows = x.reshape(6, -1)
    client, result = found.evaluate(rows)
    error = client.error_bound(result)
    assert np.abs(client.decision_function(result) - found.scores_in_clear(rows)).max() <= error
    expected, close = ReferenceEvaluator(proto).run(None, {"x": x})[0], client.uncertain(result)
    assert (found.rule.labels(client.client.decrypt(result)) == expected)[~close].all()


@pytest.mark.parametrize(("operator", "link"), [("Softmax", "softmax"), ("Sigmoid", "sigmoid")])
def test_probabilities_at_the_end_are_computed_by_clients(tmp_path: Path, operator: str, link: str) -> None:
    proto = model([node("MatMul", ["x", "w"], "h"), node(operator, ["h"], "y")], {"w": f32(6, 4)})
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    found = from_onnx(path)
    assert isinstance(found, EncryptedRegressor)
    assert found.rule.link == link
    x = RNG.uniform(-1, 1, (5, 6)).astype(np.float32)
    expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    np.testing.assert_allclose(found.rule.probabilities(found.scores_in_clear(x)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("labels", [np.array([7, -2, 5, 1]), np.array([b"d", b"a", b"c", b"b"], dtype=object), None])
def test_labels_at_the_end_are_the_clients(tmp_path: Path, labels: Any) -> None:
    nodes = [node("MatMul", ["x", "w"], "h"), node("ArgMax", ["h"], "i", axis=-1)]
    if labels is not None:
        nodes.append(helper.make_node("ArrayFeatureExtractor", ["labels", "i"], ["y"], domain="ai.onnx.ml"))
    constants = {"w": f32(6, 4)} if labels is None else {"w": f32(6, 4), "labels": labels}
    proto = model(nodes, constants, output="i" if labels is None else "y")
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    found = from_onnx(path)
    assert isinstance(found, EncryptedClassifier)
    x = RNG.uniform(-1, 1, (9, 6)).astype(np.float32)
    expected = np.asarray(ReferenceEvaluator(proto).run(None, {"x": x})[0]).reshape(-1)
    got = found.rule.labels(found.scores_in_clear(x))
    assert got.tolist() == [e.decode() if isinstance(e, bytes) else e for e in expected.tolist()]


def test_polynomials_are_written_as_horners_rule(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    net = Sequential([Polynomial([0.1, 0.0, 0.3]), Linear(f32(3, 6)), approximations.tanh(5).polynomial])
    save_onnx(path, net, np.float64)
    onnx.checker.check_model(onnx.load(str(path)))
    x = RNG.uniform(-1, 1, (4, 6))
    np.testing.assert_allclose(ReferenceEvaluator(str(path)).run(None, {"x": x})[0], net(x), rtol=1e-9)
    np.testing.assert_allclose(load_onnx(path)(x), net(x), rtol=1e-9)
    with pytest.raises(UnsupportedModelError, match="degree at most 15"):
        save_onnx(path, Sequential([Linear(f32(3, 6)), approximations.tanh(17).polynomial]))


# ---- refusals ----

W = {"w": f32(6, 4)}
MATMUL = node("MatMul", ["x", "w"], "h")
REFUSED = {
    "means of all axes": ([node("ReduceMean", ["x"], "y")], {}, "over axes []"),
    "sums of no axes": ([node("ReduceSum", ["x"], "y", noop_with_empty_axes=1)], {}, "over axes []"),
    "Relu": (
        [MATMUL, node("Relu", ["h"], "y")],
        W,
        'activations={"Relu": matvec.approximations.relu(degree, interval)}',
    ),
    "Tanh": ([MATMUL, node("Tanh", ["h"], "y")], W, "matvec.approximations.tanh(degree"),
    "Gelu": ([MATMUL, node("Gelu", ["h"], "y")], W, "matvec.approximations.gelu(degree"),
    "LeakyRelu": ([MATMUL, node("LeakyRelu", ["h"], "y", alpha=0.1)], W, "leaky_relu(degree, interval, alpha=0.1)"),
    "Sigmoid inside": (
        [MATMUL, node("Sigmoid", ["h"], "s"), node("MatMul", ["s", "v"], "y")],
        {**W, "v": f32(4, 2)},
        "matvec.approximations.sigmoid(degree",
    ),
    "Softmax inside": (
        [MATMUL, node("Softmax", ["h"], "s"), node("MatMul", ["s", "v"], "y")],
        {**W, "v": f32(4, 2)},
        "Softmax is not supported inside",
    ),
    "Softmax over another axis": ([MATMUL, node("Softmax", ["h"], "y", axis=0)], W, "Softmax over axis 0"),
    "MaxPool": ([node("MaxPool", ["x"], "y", kernel_shape=[2])], {}, "use AveragePool"),
    "LayerNormalization": ([node("LayerNormalization", ["x", "s"], "y")], {"s": f32(6)}, "use BatchNormalization"),
    "ConvTranspose": (
        [node("ConvTranspose", ["x", "w"], "y")],
        W,
        "ConvTranspose is not supported; it is linear, and not read: use Conv",
    ),
    "exponential": ([MATMUL, node("Exp", ["h"], "y")], W, "Exp is not supported inside"),
    "largest place alone, then more": (
        [MATMUL, node("ArgMax", ["h"], "i", axis=1), node("Neg", ["i"], "y")],
        W,
        "Neg of labels is not supported",
    ),
    "foreign domain": (
        [helper.make_node("MatMul", ["x", "w"], ["y"], domain="com.example")],
        W,
        "com.example.MatMul is not supported",
    ),
    "transA": ([node("Gemm", ["x", "w"], "y", transA=1)], W, "transA=1"),
    "weights first": ([node("MatMul", ["w", "x"], "y")], W, "constant weights second"),
    "value x value": ([node("MatMul", ["x", "x"], "y")], W, "constant weights second"),
    "3-d weights": ([node("MatMul", ["x", "t"], "y")], {"t": f32(1, 6, 4)}, "(1, 6, 4)"),
    "root": ([MATMUL, node("Pow", ["h", "p"], "y")], {**W, "p": np.array(0.5, np.float32)}, "exponent 0.5"),
    "product of two values": (
        [MATMUL, node("MatMul", ["x", "v"], "i"), node("Mul", ["h", "i"], "y")],
        {**W, "v": f32(6, 4)},
        "product of two different values",
    ),
    "quotient": ([MATMUL, node("Div", ["h", "h"], "y")], W, "Div by a value"),
    "constant by value": ([MATMUL, node("Div", ["one", "h"], "y")], {**W, "one": f32(1)}, "Div by a value"),
    "residual around an activation": (
        [
            MATMUL,
            node("Mul", ["h", "h"], "s"),
            node("MatMul", ["s", "v"], "t"),
            node("Add", ["t", "h"], "y"),
        ],
        {**W, "v": f32(4, 4)},
        "before and after an activation",
    ),
    "two activations beside each other": (
        [
            MATMUL,
            node("MatMul", ["x", "v"], "i"),
            node("Mul", ["h", "h"], "s"),
            node("Mul", ["i", "i"], "t"),
            node("Concat", ["s", "t"], "y", axis=1),
        ],
        {**W, "v": f32(6, 4)},
        "chains of layers",
    ),
    "an activation in vain": (
        [MATMUL, node("Mul", ["h", "h"], "s"), node("Concat", ["s", "s"], "t", axis=1), node("Neg", ["h"], "y")],
        W,
        "do not depend on the last activation",
    ),
    "average of padding": (
        [
            node("AveragePool", ["x"], "y", kernel_shape=[1], pads=[1, 1]),
        ],
        {},
        "a window of 1 axes",
    ),
    "flatten axis": ([node("Flatten", ["x"], "f", axis=0), node("MatMul", ["f", "w"], "y")], W, "axis=0"),
    "reshape": (
        [node("Reshape", ["x", "s"], "f"), node("MatMul", ["f", "w"], "y")],
        {**W, "s": np.array([2, -1], np.int64)},
        "Reshape to [2, -1]",
    ),
    "reshape of a whole batch": (
        [node("Reshape", ["x", "s"], "f"), node("MatMul", ["f", "w"], "y")],
        {**W, "s": np.array([1, -1], np.int64)},
        "Reshape to [1, -1]",
    ),
    "half precision": ([node("MatMul", ["x", "w"], "y")], {"w": f32(6, 4).astype(np.float16)}, "float16"),
    "nothing": ([node("Identity", ["x"], "y")], {}, "no linear layer"),
    "unknown attribute": ([node("MatMul", ["x", "w"], "y", speed=1)], W, '"speed"'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(tmp_path: Path, case: str) -> None:
    nodes, constants, words = REFUSED[case]
    with pytest.raises((UnsupportedModelError, ShapeError)) as caught:
        load(tmp_path, model(nodes, constants))
    assert words in str(caught.value)
    assert "m.onnx" in str(caught.value)


def test_outputs_must_depend_on_the_input(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match='output "w" does not depend'):
        load(tmp_path, model([MATMUL], W, output="w"))


def test_what_no_output_needs_is_left_out(tmp_path: Path) -> None:
    loaded = check(tmp_path, model([MATMUL, node("Mul", ["h", "h"], "y")], W, output="h"))
    assert [type(layer) for layer in loaded.layers] == [Linear]


@pytest.mark.parametrize(
    ("activations", "words"),
    [
        ({"ReLU": Square()}, '"ReLU"; it may name Relu'),
        ({"Relu": approximations.tanh(3)}, "approximates tanh, not relu"),
        ({"Relu": "relu"}, "one of matvec.approximations"),
        ({"Tanh": approximations.tanh(3)}, "not inside the model"),
    ],
)
def test_replacements_that_cannot_be(tmp_path: Path, activations: dict[str, Any], words: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model([MATMUL, node("Neg", ["h"], "y")], W).SerializeToString())
    with pytest.raises((ParameterError, UnsupportedModelError), match=re.escape(words)):
        load_onnx(path, activations=activations)


def test_matrices_that_would_fill_memory_are_refused(tmp_path: Path) -> None:
    """A convolution over large images, and a first layer that is an activation."""
    shape = ("batch", 3, 128, 128)
    with pytest.raises(MemoryLimitError, match="smaller inputs"):
        load(tmp_path, model([node("Conv", ["x", "w"], "y")], {"w": f32(8, 3, 3, 3)}, shape))
    with pytest.raises(MemoryLimitError, match="at most"):
        load(tmp_path, model([node("Mul", ["x", "x"], "y")], {}, ("batch", 1 << 18)))
    with pytest.raises(ShapeError, match="models take 1"):
        load(tmp_path, model([node("Mul", ["x", "x"], "y")], {}, ("batch", 1 << 40)))


def test_long_chains_of_steps_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nothing reads any more is freed, and the entries of all steps are limited."""
    steps, shape = 24, ("batch", 1, 512, 2)
    names = ["x", *(f"h{i}" for i in range(1, steps)), "y"]
    pools = [node("AveragePool", [a], b, kernel_shape=[1, 1]) for a, b in itertools.pairwise(names)]
    tracemalloc.start()
    load(tmp_path, model(pools, {}, shape))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10 * 8 * 1024**2
    monkeypatch.setattr(onnx_graph, "MAX_MADE", 20 * 1024**2)
    with pytest.raises(MemoryLimitError, match="fewer steps"):
        load(tmp_path, model(pools, {}, shape))


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=r"the weights take 6 values, there are 7"):
        load(tmp_path, model([node("MatMul", ["x", "w"], "y")], W, ("batch", 7)))
    with pytest.raises(ShapeError, match=r"\(3,\), 4 results need"):
        load(tmp_path, model([node("Gemm", ["x", "w", "b"], "y")], {**W, "b": f32(3)}))
    with pytest.raises(ShapeError, match=r"shape \(4, 1\)"):  # would broadcast over the batch
        load(tmp_path, model([node("Gemm", ["x", "w", "b"], "y")], {**W, "b": f32(4, 1)}))
    with pytest.raises(UnsupportedModelError, match="put a Flatten before it"):
        load(tmp_path, model([node("Gemm", ["x", "w"], "y")], W, ("batch", 2, 6)))
    with pytest.raises(ShapeError, match="do not fit values of shape"):
        load(tmp_path, model([node("MatMul", ["x", "t"], "y")], {"t": f32(1, 7, 4)}, ("batch", 2, 6)))


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    w = f32(6, 4)
    w[2, 1] = np.nan
    with pytest.raises(RingforgeValueError, match="NaN"):
        load(tmp_path, model([node("MatMul", ["x", "w"], "y")], {"w": w}))


def test_weights_in_other_folders_are_not_opened(tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], "y")], W)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"
    with pytest.raises(UnsupportedModelError, match="outside of the model's folder"):
        load(tmp_path, proto)


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x08\x08", bytes(100), b"\xff" * 64])
def test_files_that_are_no_models(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"m\.onnx is not an ONNX model"):
        load_onnx(path)


def test_tensor_that_claims_more_than_it_holds(tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], "y")], W)
    proto.graph.initializer[0].dims[0] = 1 << 40
    with pytest.raises(FormatError, match="damaged"):
        load(tmp_path, proto)


@settings(max_examples=300)
@given(st.data())
def test_damaged_files_give_errors_of_ours(tmp_path_factory: Any, data: st.DataObject) -> None:
    """Truncated or altered anywhere: a model, or an exception of ours, never another one."""
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.unlink(missing_ok=True)
    save_onnx(path, Sequential([Linear(np.ones((2, 3)), [1.0, 2.0]), Square(), Linear(np.ones((1, 2)))]))
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    with contextlib.suppress(Error):
        assert isinstance(load_onnx(path), Sequential)
