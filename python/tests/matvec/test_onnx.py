# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""ONNX import: what is taken computes what ONNX says, everything else is refused by name."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import Error
from ringforge.errors import FormatError, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import Linear, Sequential, Square
from ringforge.matvec.onnx_import import load_onnx, save_onnx

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
    save_onnx(net, path, dtype)
    onnx.checker.check_model(onnx.load(str(path)))
    again = load_onnx(path)
    x = RNG.uniform(-1, 1, (3, widths[0]))
    np.testing.assert_array_equal(net(x), again(x))


# ---- refusals ----

W = {"w": f32(6, 4)}
MATMUL = node("MatMul", ["x", "w"], "h")
REFUSED = {
    "Relu": ([MATMUL, node("Relu", ["h"], "y")], W, "Relu is not supported"),
    "Conv": ([node("Conv", ["x", "w"], "y")], W, "Conv is not supported"),
    "Softmax": ([MATMUL, node("Softmax", ["h"], "y")], W, "Softmax is not supported"),
    "foreign domain": (
        [helper.make_node("MatMul", ["x", "w"], ["y"], domain="com.example")],
        W,
        "com.example.MatMul is not supported",
    ),
    "transA": ([node("Gemm", ["x", "w"], "y", transA=1)], W, "transA=1"),
    "weights first": ([node("MatMul", ["w", "x"], "y")], W, "constant weights second"),
    "value x value": ([node("MatMul", ["x", "x"], "y")], W, "constant weights second"),
    "3-d weights": ([node("MatMul", ["x", "t"], "y")], {"t": f32(1, 6, 4)}, "(1, 6, 4)"),
    "add of values": ([MATMUL, node("Add", ["h", "h"], "y")], W, "Add of a value to itself"),
    "add first": ([node("Add", ["x", "b"], "y")], {"b": f32(6)}, "bias that follows"),
    "second add": (
        [MATMUL, node("Add", ["h", "b"], "i"), node("Add", ["i", "b"], "y")],
        {**W, "b": f32(4)},
        "bias that follows",
    ),
    "mul by constant": ([MATMUL, node("Mul", ["h", "b"], "y")], {**W, "b": f32(4)}, "Mul by a constant"),
    "cube": ([MATMUL, node("Pow", ["h", "p"], "y")], {**W, "p": np.array(3.0, np.float32)}, "exponent 3.0"),
    "branch": (
        [MATMUL, node("Mul", ["h", "h"], "s"), node("Add", ["s", "h"], "y")],
        W,
        "without branches",
    ),
    "skip": ([MATMUL, node("Mul", ["x", "x"], "y")], W, "without branches"),
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
    "square first": ([node("Mul", ["x", "x"], "y")], {}, "starts with a square"),
    "nothing": ([node("Identity", ["x"], "y")], {}, "no linear layer"),
    "unknown attribute": ([node("MatMul", ["x", "w"], "y", speed=1)], W, '"speed"'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(tmp_path: Path, case: str) -> None:
    nodes, constants, words = REFUSED[case]
    with pytest.raises(UnsupportedModelError) as caught:
        load(tmp_path, model(nodes, constants))
    assert words in str(caught.value)
    assert "m.onnx" in str(caught.value)


def test_output_must_be_the_end_of_the_chain(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match='output is "h"'):
        load(tmp_path, model([MATMUL, node("Mul", ["h", "h"], "y")], W, output="h"))


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=r"the weights take 6 values, there are 7"):
        load(tmp_path, model([node("MatMul", ["x", "w"], "y")], W, ("batch", 7)))
    with pytest.raises(ShapeError, match=r"\(3,\), 4 results need"):
        load(tmp_path, model([node("Gemm", ["x", "w", "b"], "y")], {**W, "b": f32(3)}))
    with pytest.raises(ShapeError, match=r"shape \(4, 1\)"):  # would broadcast over the batch
        load(tmp_path, model([node("Gemm", ["x", "w", "b"], "y")], {**W, "b": f32(4, 1)}))
    with pytest.raises(UnsupportedModelError, match="put a Flatten before it"):
        load(tmp_path, model([node("MatMul", ["x", "w"], "y")], W, ("batch", 2, 6)))


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    w = f32(6, 4)
    w[2, 1] = np.nan
    with pytest.raises(RingforgeValueError, match="NaN"):
        load(tmp_path, model([node("MatMul", ["x", "w"], "y")], {"w": w}))


def test_weights_in_other_files_are_not_opened(tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], "y")], W)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"
    with pytest.raises(UnsupportedModelError, match="another file"):
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
    save_onnx(Sequential([Linear(np.ones((2, 3)), [1.0, 2.0]), Square(), Linear(np.ones((1, 2)))]), path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content))
    with contextlib.suppress(Error):
        assert isinstance(load_onnx(path), Sequential)
