# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""ONNX in and out: chains of linear layers and squares.

Taken: Gemm (with transB, alpha, beta), MatMul by a constant with or without Add of one, Flatten, Reshape to a
flat vector, Identity, Mul(x, x), Pow(x, 2). Everything else is refused by name, so that no model is computed
differently from what its file says.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import Error, FormatError, ShapeError, UnsupportedModelError
from ringforge.files import first_line, writing
from ringforge.matvec.model import Layer, Linear, Model, Sequential, Square, as_sequential

Array = npt.NDArray[np.float64]

#: Larger files are refused; weights of that size have no plan that fits a machine.
MAX_BYTES = 1 << 31

_TAKEN = "Gemm, MatMul, Add, Flatten, Reshape, Identity, Mul(x, x), Pow(x, 2)"


def load_onnx(path: str | Path) -> Sequential:
    """Reads a model.

    Args:
        path: an .onnx file with all its weights inside, float32 or float64.

    Raises:
        FormatError: the file is no ONNX model, or contradicts itself.
        UnsupportedModelError: it uses something else than linear layers and squares; the message names it.
        ShapeError, ringforge.ValueError: shapes that do not chain, weights that are not finite.
    """
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
        return _Importer(onnx, proto.graph).run()
    except Error as e:
        raise type(e)(f"{path.name}: {e}") from None
    except Exception as e:
        # Texts that are no UTF-8 come as bytes, and onnx's helpers raise what numpy does.
        raise FormatError(f"{path.name} is a damaged ONNX model: {first_line(e)}") from None


def save_onnx(model: Model, path: str | Path, dtype: type[np.float32] | type[np.float64] = np.float32) -> None:
    """Writes a model as Gemm and Mul(x, x) nodes, for `load_onnx` or any ONNX runtime."""
    onnx = _onnx()
    helper = onnx.helper
    kind = onnx.TensorProto.FLOAT if dtype is np.float32 else onnx.TensorProto.DOUBLE
    seq = as_sequential(model)
    nodes, weights, current = [], [], "x"
    for i, layer in enumerate(seq.layers):
        name = "y" if i + 1 == len(seq.layers) else f"h{i}"
        if isinstance(layer, Linear):
            inputs = [current, f"weights{i}"]
            weights.append(onnx.numpy_helper.from_array(layer.weights.astype(dtype), f"weights{i}"))
            if layer.bias.size:
                inputs.append(f"bias{i}")
                weights.append(onnx.numpy_helper.from_array(layer.bias.astype(dtype), f"bias{i}"))
            nodes.append(helper.make_node("Gemm", inputs, [name], name=f"linear{i}", transB=1))
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
    with writing(path) as f:
        f.write(proto.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise UnsupportedModelError("reading ONNX needs the package onnx: pip install onnx") from None
    return onnx


class _Importer:
    """Walks a graph that must be a chain, keeping the name and shape of the value computed so far."""

    def __init__(self, onnx: Any, graph: Any) -> None:
        self.onnx = onnx
        self.graph = graph
        self.layers: list[Layer] = []
        #: True while an Add may still go into the bias of the last layer.
        self.open_bias = False
        self.constants: dict[str, Any] = {}
        if graph.sparse_initializer:
            raise UnsupportedModelError("sparse initialisers are not supported; store weights as dense tensors")
        for tensor in graph.initializer:
            self._define(tensor.name, tensor)
        given = [v for v in graph.input if v.name not in self.constants]
        if len(given) != 1 or len(graph.output) != 1:
            raise UnsupportedModelError(
                f"the model has {len(given)} inputs and {len(graph.output)} outputs; one of each is supported"
            )
        self.current = given[0].name
        self.batch: int | None = None
        self.dims = self._input_dims(given[0])

    def _define(self, name: str, tensor: Any) -> None:
        if not name or name in self.constants:
            raise FormatError(f'two constants are named "{name}"' if name else "a constant has no name")
        self.constants[name] = tensor

    def _input_dims(self, value: Any) -> list[int | None]:
        """Dimensions after the batch; None where the file leaves them open."""
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            raise UnsupportedModelError(f'input "{value.name}" is not a tensor')
        if tensor.elem_type not in (self.onnx.TensorProto.FLOAT, self.onnx.TensorProto.DOUBLE):
            raise UnsupportedModelError(f'input "{value.name}" is of type {self._type(tensor.elem_type)}, not float')
        if not tensor.HasField("shape"):
            return [None]
        dims = [int(d.dim_value) if d.HasField("dim_value") else None for d in tensor.shape.dim]
        if any(d is not None and d < 0 for d in dims):
            raise FormatError(f'input "{value.name}" has a negative dimension: {dims}')
        if len(dims) < 2:
            raise UnsupportedModelError(f'input "{value.name}" has {len(dims)} dimensions; (batch, values) is needed')
        self.batch = dims[0]
        return dims[1:]

    def run(self) -> Sequential:
        for node in self.graph.node:
            self._node(node)
        if self.graph.output[0].name != self.current:
            raise UnsupportedModelError(
                f'the output is "{self.graph.output[0].name}", the last value computed "{self.current}"'
            )
        if not self.layers:
            raise UnsupportedModelError("the model computes nothing: it has no linear layer")
        if not isinstance(self.layers[0], Linear):
            raise UnsupportedModelError("the model starts with a square; it must start with a linear layer")
        return Sequential(self.layers)

    def _node(self, node: Any) -> None:
        where = self._where(node)
        domain = node.domain or "ai.onnx"
        operator = node.op_type if domain == "ai.onnx" else f"{domain}.{node.op_type}"
        if operator == "Constant":
            self._constant(node, where)
            return
        handler = {
            "Gemm": self._gemm,
            "MatMul": self._matmul,
            "Add": self._add,
            "Flatten": self._flatten,
            "Reshape": self._reshape,
            "Identity": self._identity,
            "Mul": self._mul,
            "Pow": self._pow,
        }.get(operator)
        if handler is None:
            raise UnsupportedModelError(f"{where}: {operator} is not supported; supported are {_TAKEN}")
        if len(node.output) != 1 or not node.output[0]:
            raise FormatError(f"{where}: {operator} has {len(node.output)} outputs, not one")
        for name in node.input:
            if name and name != self.current and name not in self.constants:
                raise UnsupportedModelError(
                    f'{where}: {operator} uses "{name}", which is not the value just computed '
                    f'("{self.current}"): only chains of layers are supported, without branches'
                )
        if self.current not in node.input:
            raise UnsupportedModelError(f"{where}: {operator} of constants only; fold constants before the export")
        handler(node, where)
        if node.output[0] in self.constants or node.output[0] == self.current:
            raise FormatError(f'{where}: the name "{node.output[0]}" is given twice')
        self.current = node.output[0]

    # ---- nodes ----

    def _gemm(self, node: Any, where: str) -> None:
        attributes = self._attributes(node, where, {"transA": 0, "transB": 0, "alpha": 1.0, "beta": 1.0})
        if attributes["transA"]:
            raise UnsupportedModelError(f"{where}: Gemm with transA=1 is not supported; export with transA=0")
        self._operands(node, where, 2, 3)
        weights = self._weights(node, where, transposed=bool(attributes["transB"]))
        bias = None
        if len(node.input) == 3 and node.input[2]:
            bias = attributes["beta"] * self._bias(self._tensor(node.input[2], where), weights.shape[0], where)
        self._linear(attributes["alpha"] * weights, bias, where)
        self.open_bias = bias is None

    def _matmul(self, node: Any, where: str) -> None:
        self._attributes(node, where, {})
        self._operands(node, where, 2, 2)
        self._linear(self._weights(node, where, transposed=False), None, where)
        self.open_bias = True

    def _weights(self, node: Any, where: str, *, transposed: bool) -> Array:
        """The matrix (outputs, inputs) of a product whose first operand is the current value."""
        if node.input[0] != self.current or node.input[1] == self.current:
            raise UnsupportedModelError(f"{where}: {node.op_type} needs the value first and constant weights second")
        w = self._tensor(node.input[1], where)
        if w.ndim != 2:
            raise UnsupportedModelError(f"{where}: weights have shape {w.shape}; a matrix is needed")
        return w if transposed else w.T

    def _linear(self, weights: Array, bias: Array | None, where: str) -> None:
        if len(self.dims) != 1:
            raise UnsupportedModelError(
                f"{where}: {len(self.dims)} dimensions of values besides the batch; put a Flatten before it"
            )
        if self.dims[0] is not None and self.dims[0] != weights.shape[1]:
            raise ShapeError(f"{where}: the weights take {weights.shape[1]} values, there are {self.dims[0]}")
        self.layers.append(Linear(weights, bias))
        self.dims = [weights.shape[0]]

    def _add(self, node: Any, where: str) -> None:
        self._attributes(node, where, {})
        self._operands(node, where, 2, 2)
        others = [name for name in node.input if name != self.current]
        if len(others) != 1:
            raise UnsupportedModelError(f"{where}: Add of a value to itself is not supported")
        last = self.layers[-1] if self.layers else None
        if not isinstance(last, Linear) or not self.open_bias:
            raise UnsupportedModelError(f"{where}: Add is supported as the bias that follows a MatMul or Gemm")
        bias = self._bias(self._tensor(others[0], where), last.rows, where)
        self.layers[-1] = Linear(last.weights, bias)
        self.open_bias = False

    def _bias(self, c: Array, rows: int, where: str) -> Array:
        if c.size not in (1, rows) or (c.ndim and c.shape[-1] != c.size) or c.ndim > 2:
            raise ShapeError(f"{where}: the bias has shape {c.shape}, {rows} results need ({rows},) or a single number")
        return np.broadcast_to(c.reshape(-1), (rows,))

    def _flatten(self, node: Any, where: str) -> None:
        axis = self._attributes(node, where, {"axis": 1})["axis"]
        self._operands(node, where, 1, 1)
        if axis not in (1, -len(self.dims)):
            raise UnsupportedModelError(f"{where}: Flatten with axis={axis}; only axis=1, all values of an input")
        self._flat()

    def _reshape(self, node: Any, where: str) -> None:
        self._attributes(node, where, {"allowzero": 0})
        self._operands(node, where, 2, 2)
        if node.input[0] != self.current or node.input[1] == self.current:
            raise UnsupportedModelError(f"{where}: Reshape needs a constant shape")
        shape = self._tensor(node.input[1], where, integers=True).reshape(-1).astype(np.int64).tolist()
        width = None if None in self.dims else math.prod(d for d in self.dims if d is not None)
        first = {0, -1} if self.batch is None else {0, -1, self.batch}
        fits = len(shape) == 2 and shape[0] in first and (shape[1] == -1 or (width is not None and shape[1] == width))
        if not fits or shape == [-1, -1]:
            raise UnsupportedModelError(f"{where}: Reshape to {shape} is not supported; only to (batch, all values)")
        self._flat()

    def _identity(self, node: Any, where: str) -> None:
        self._attributes(node, where, {})
        self._operands(node, where, 1, 1)

    def _mul(self, node: Any, where: str) -> None:
        self._attributes(node, where, {})
        self._operands(node, where, 2, 2)
        if list(node.input) != [self.current, self.current]:
            raise UnsupportedModelError(
                f"{where}: Mul by a constant is not supported, only Mul(x, x); fold it into the weights"
            )
        self._square()

    def _pow(self, node: Any, where: str) -> None:
        self._attributes(node, where, {})
        self._operands(node, where, 2, 2)
        if node.input[0] != self.current or node.input[1] == self.current:
            raise UnsupportedModelError(f"{where}: Pow needs a constant exponent")
        exponent = self._tensor(node.input[1], where, integers=True)
        if exponent.size != 1 or float(exponent.reshape(-1)[0]) != 2.0:
            raise UnsupportedModelError(f"{where}: Pow with exponent {exponent.tolist()}; only 2 is supported")
        self._square()

    def _square(self) -> None:
        self.layers.append(Square())
        self.open_bias = False

    def _flat(self) -> None:
        known = [d for d in self.dims if d is not None]
        self.dims = [math.prod(known) if len(known) == len(self.dims) else None]

    # ---- parts of nodes ----

    def _constant(self, node: Any, where: str) -> None:
        values = [
            a for a in node.attribute if a.name in {"value", "value_float", "value_floats", "value_int", "value_ints"}
        ]
        if len(values) != 1 or len(node.attribute) != 1 or len(node.output) != 1:
            names = ", ".join(a.name for a in node.attribute) or "nothing"
            raise UnsupportedModelError(f"{where}: Constant given by {names}; dense numbers are supported")
        a = values[0]
        if a.name == "value":
            tensor = a.t
        else:
            number = self.onnx.helper.get_attribute_value(a)
            kind = np.float32 if "float" in a.name else np.int64
            tensor = self.onnx.numpy_helper.from_array(np.asarray(number, dtype=kind))
        self._define(node.output[0], tensor)

    def _attributes(self, node: Any, where: str, known: dict[str, Any]) -> dict[str, Any]:
        """The node's attributes over their defaults; unknown ones are refused."""
        out = dict(known)
        for a in node.attribute:
            if a.name not in known:
                raise UnsupportedModelError(f'{where}: attribute "{a.name}" of {node.op_type} is not supported')
            wanted = self.onnx.AttributeProto.INT if isinstance(known[a.name], int) else self.onnx.AttributeProto.FLOAT
            if a.type != wanted:
                raise FormatError(f'{where}: attribute "{a.name}" is of the wrong type')
            out[a.name] = self.onnx.helper.get_attribute_value(a)
        return out

    def _operands(self, node: Any, where: str, least: int, most: int) -> None:
        if not least <= len(node.input) <= most or not all(node.input[:least]):
            raise FormatError(f"{where}: {node.op_type} has {len(node.input)} inputs")

    def _tensor(self, name: str, where: str, *, integers: bool = False) -> Array:
        """A constant as float64."""
        tensor = self.constants[name]
        types = self.onnx.TensorProto
        allowed = {types.FLOAT, types.DOUBLE} | ({types.INT64, types.INT32} if integers else set())
        if tensor.data_type not in allowed:
            raise UnsupportedModelError(
                f'{where}: "{name}" is of type {self._type(tensor.data_type)}, not float32 or float64'
            )
        if tensor.data_location == types.EXTERNAL or tensor.external_data:
            raise UnsupportedModelError(f'{where}: "{name}" is stored in another file; save the model in one file')
        if any(d < 0 for d in tensor.dims):
            raise FormatError(f'{where}: "{name}" has a negative dimension: {list(tensor.dims)}')
        try:
            return real_numbers(self.onnx.numpy_helper.to_array(tensor), f'entries of "{name}"')
        except Exception as e:  # whatever numpy says about counts and sizes that disagree
            raise FormatError(f'{where}: "{name}" is damaged: {e}') from None

    def _type(self, code: int) -> str:
        try:
            return str(self.onnx.TensorProto.DataType.Name(code)).lower()
        except ValueError:
            return f"number {code}"

    @staticmethod
    def _where(node: Any) -> str:
        return f'node "{node.name or ", ".join(node.output) or node.op_type}"'
