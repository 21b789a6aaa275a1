# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""ONNX in and out.

Taken: affine operators (products, sums, convolutions, averages, normalisation, changes of shape), polynomials of one
value, and ends of classifiers, which become the client's rule. Everything else is refused by name, so that no model
is computed differently from what its file says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.bytes_form import File, write
from ringforge.errors import Error, FormatError, UnsupportedModelError
from ringforge.files import first_line
from ringforge.matvec import onnx_rules, onnx_shapes
from ringforge.matvec.estimators import Estimator, estimator
from ringforge.matvec.model import Linear, Model, Sequential, as_sequential
from ringforge.matvec.model_arguments import file_first
from ringforge.matvec.onnx_formula import Replacement
from ringforge.matvec.onnx_graph import Graph, Node, Operand, Sizes
from ringforge.matvec.onnx_operators import OPERATORS
from ringforge.matvec.onnx_table import reason
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.rule import Rule

#: Larger files are refused; weights of that size have no plan that fits a machine.
MAX_BYTES = 1 << 31


def load_onnx(path: str | Path, *, activations: Mapping[str, Replacement] | None = None) -> Sequential:
    """Reads the layers of a model. The results of a classifier are its scores; `from_onnx` gives classes too.

    Args:
        path: an .onnx file, float32 or float64; its weights may lie in other files of its folder.
        activations: what to compute in place of operators that are no polynomials, by name:
            {"Relu": matvec.approximations.relu(degree, interval)}.

    Raises:
        FormatError: the file is no ONNX model, or contradicts itself.
        UnsupportedModelError: it uses something that has no counterpart; the message names it, and what to use.
        ParameterError: `activations` names an operator that the model does not have inside.
        ShapeError, ringforge.ValueError: shapes that do not chain, weights that are not finite.
        MemoryLimitError: a layer's matrix would have too many entries.
    """
    return _read(path, activations)[0]


def from_onnx(path: str | Path, *, activations: Mapping[str, Replacement] | None = None) -> Estimator:
    """Reads a model with what its results mean: an EncryptedClassifier where it ends in labels or in probabilities of
    named classes, else an EncryptedRegressor.

    Softmax, logistic function and the choice of a label at the end are computed by clients. Arguments and errors are
    those of `load_onnx`.
    """
    return estimator(*_read(path, activations))


def _read(path: str | Path, activations: Mapping[str, Replacement] | None) -> tuple[Sequential, Rule]:
    onnx = _onnx()
    path = Path(path)
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"{path.name} has {path.stat().st_size} bytes; models have at most {MAX_BYTES}")
    data = path.read_bytes()
    try:
        proto = onnx.ModelProto.FromString(data)
    except Exception as e:  # protobuf's errors share no public base
        raise FormatError(f"{path.name} is not an ONNX model: {e}") from None
    if not proto.graph.node:
        raise FormatError(f"{path.name} is not an ONNX model: it has no graph, or an empty one")
    try:
        if proto.functions:  # of the newer exporter of PyTorch, where it was told not to optimise
            proto = onnx.inliner.inline_local_functions(proto)
        with np.errstate(all="ignore"):
            return _walked(Graph(onnx, proto.graph, activations or {}, path.parent))
    except Error as e:
        raise type(e)(f"{path.name}: {e}") from None
    except Exception as e:
        # Texts that are no UTF-8 come as bytes, and onnx's helpers raise what numpy does.
        raise FormatError(f"{path.name} is a damaged ONNX model: {first_line(e)}") from None


def _walked(graph: Graph) -> tuple[Sequential, Rule]:
    names = [output.name for output in graph.proto.output]
    last = {name: i for i, proto in enumerate(graph.proto.node) for name in proto.input}
    for i, proto in enumerate(graph.proto.node):
        node = Node(graph, proto)
        if node.operator == "Constant":
            _constant(node)
        elif all(name in graph.constants for name in node.inputs if name):
            onnx_shapes.fold(node)
        else:
            _compute(node)
        # Matrices go when nothing reads them any more.
        for name in (*proto.input, *proto.output):
            if name in graph.values and last.get(name, i) == i and name not in names:
                graph.forget(name)
    for name in names:
        if name not in graph.values:
            raise UnsupportedModelError(f'the output "{name}" does not depend on the input')
    value, fields = onnx_rules.conclusion(graph, names)
    never = set(graph.activations) - graph.replaced
    if never:
        raise UnsupportedModelError(f"activations replaces {', '.join(sorted(never))}, which is not inside the model")
    if graph.model.base == 0 and value.degree == 1 and value.line(graph.model).is_identity:
        raise UnsupportedModelError("the model computes nothing: it has no linear layer")
    model = graph.model.model(value)
    shape = graph.input_shape
    rule = Rule.of(inputs=model.inputs, outputs=model.outputs, shape=list(shape) if len(shape) > 1 else None, **fields)
    return model, rule


def _compute(node: Node) -> None:
    """Adds the results of a node that depends on the inputs."""
    graph, outputs = node.graph, [name for name in node.proto.output if name]
    for name in node.inputs:
        if name and name not in graph.constants and name not in graph.values:
            raise FormatError(f'{node.where}: {node.operator} uses "{name}", which nothing before it gives')
    results: tuple[Operand, ...]
    if node.operator == "LinearClassifier":
        results = onnx_rules.linear_classifier(node)
    elif _sized(node):
        results = (onnx_shapes.sized(node),)
    else:
        result = onnx_rules.step(node) or _handled(node)
        results = tuple(result) if isinstance(result, list) else (result,)
    # Dropout's mask is of no use without training.
    if len(results) < len(outputs) and node.operator != "Dropout":
        raise FormatError(f"{node.where}: {node.operator} has {len(outputs)} outputs, not {len(results)}")
    graph.count(node, results)
    for name, result in zip(outputs, results, strict=False):
        _name(graph, name, result, node.where)


def _sized(node: Node) -> bool:
    """Whether a node computes with sizes of values; the shape of a Reshape is none of them."""
    inputs = node.inputs[:1] if node.operator == "Reshape" else node.inputs
    return any(isinstance(node.graph.values.get(name), Sizes) for name in inputs)


def _handled(node: Node) -> Operand | list[Operand]:
    handler = OPERATORS.get(node.operator)
    if handler is None:
        raise UnsupportedModelError(f"{node.where}: {node.operator} is not supported; {_instead(node)}")
    return handler(node)


def _instead(node: Node) -> str:
    return reason(node.operator) or f"supported are {', '.join(sorted(OPERATORS))}, and ends of classifiers"


def _name(graph: Graph, name: str, result: Operand, where: str) -> None:
    if name in graph.constants or name in graph.values or name in graph.forgotten:
        raise FormatError(f'{where}: the name "{name}" is given twice')
    if isinstance(result, Sizes) and None not in result.entries:
        graph.define(name, np.array(result.entries[0] if result.scalar else result.entries, dtype=np.int64))
    else:
        graph.values[name] = result


def _constant(node: Node) -> None:
    graph, proto = node.graph, node.proto
    values = [
        a for a in proto.attribute if a.name in {"value", "value_float", "value_floats", "value_int", "value_ints"}
    ]
    if len(values) != 1 or len(proto.attribute) != 1 or len(proto.output) != 1:
        names = ", ".join(a.name for a in proto.attribute) or "nothing"
        raise UnsupportedModelError(f"{node.where}: Constant given by {names}; dense numbers are supported")
    a = values[0]
    if a.name == "value":
        tensor = a.t
    else:
        number = graph.onnx.helper.get_attribute_value(a)
        kind = np.float32 if "float" in a.name else np.int64
        tensor = graph.onnx.numpy_helper.from_array(np.asarray(number, dtype=kind))
    graph.define(proto.output[0], tensor)


# ---- out -----------------------------------------------------------------------------------------

#: Largest degree of a Chebyshev series that is written as powers of x.
MAX_WRITTEN_DEGREE = 15


def save_onnx(path: File, model: Model, dtype: type[np.float32] | type[np.float64] = np.float32) -> None:
    """Write a model as Gemm, Mul and Add nodes, for `load_onnx` or any ONNX runtime.

    The first two arguments the other way round, as of earlier releases, work still.

    Raises:
        ParameterError: no model, or no file's name.
        UnsupportedModelError: a polynomial of high degree on an interval, whose powers of x would cancel.
    """
    path, model = file_first(path, model, "save_onnx")
    onnx = _onnx()
    helper = onnx.helper
    kind = onnx.TensorProto.FLOAT if dtype is np.float32 else onnx.TensorProto.DOUBLE
    seq = as_sequential(model)
    nodes: list[Any] = []
    weights: list[Any] = []
    current = "x"

    def stored(name: str, numbers: npt.ArrayLike) -> str:
        weights.append(onnx.numpy_helper.from_array(np.asarray(numbers).astype(dtype), name))
        return name

    for i, layer in enumerate(seq.layers):
        name = "y" if i + 1 == len(seq.layers) else f"h{i}"
        if isinstance(layer, Linear):
            inputs = [current, stored(f"weights{i}", layer.weights)]
            if layer.bias.size:
                inputs.append(stored(f"bias{i}", layer.bias))
            nodes.append(helper.make_node("Gemm", inputs, [name], name=f"linear{i}", transB=1))
        elif isinstance(layer, Polynomial):
            if layer.interval is not None and layer.degree > MAX_WRITTEN_DEGREE:
                raise UnsupportedModelError(
                    f"{layer!r} cannot be written as ONNX, whose polynomials are powers of x: degree at most "
                    f"{MAX_WRITTEN_DEGREE}, or save_model to .npz"
                )
            c = layer.coefficients
            nodes.append(helper.make_node("Mul", [current, stored(f"c{i}.{layer.degree}", c[-1])], [f"p{i}"]))
            last = f"p{i}"
            for k in range(layer.degree - 1, -1, -1):
                if k < layer.degree - 1:
                    nodes.append(helper.make_node("Mul", [last, current], [f"m{i}.{k}"]))
                    last = f"m{i}.{k}"
                after = name if k == 0 else f"a{i}.{k}"
                nodes.append(helper.make_node("Add", [last, stored(f"c{i}.{k}", c[k])], [after]))
                last = after
        else:
            nodes.append(helper.make_node("Mul", [current, current], [name], name=f"square{i}"))
        current = name
    graph = helper.make_graph(
        nodes,
        "ringforge",
        [helper.make_tensor_value_info("x", kind, ["batch", seq.inputs])],
        [helper.make_tensor_value_info("y", kind, ["batch", seq.outputs])],
        weights,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    write(path, [proto.SerializeToString()])


def _onnx() -> Any:
    try:
        import onnx
        import onnx.helper
        import onnx.inliner
        import onnx.numpy_helper
    except ImportError:
        raise UnsupportedModelError("reading ONNX needs the package onnx: pip install onnx") from None
    return onnx
