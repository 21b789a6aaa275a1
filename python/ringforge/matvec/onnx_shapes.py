# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""ONNX operators that change shapes, of values, of sizes of values, and of constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, ShapeError, UnsupportedModelError
from ringforge.files import first_line
from ringforge.matvec.affine import Affine, Value, check_entries
from ringforge.matvec.onnx_graph import Node, Open, Operand, Sizes, Tail

Array = npt.NDArray[np.float64]

#: Ends of slices that stand for all there is.
_ALL = 1 << 31

# ---- shapes --------------------------------------------------------------------------------------


def _identity(node: Node) -> Operand:
    node.attributes()
    node.operands(1, 1)
    return node.operand()


def _dropout(node: Node) -> Operand:
    node.attributes(seed=0, ratio=0.5)
    if node.has(2) and (not node.constant(2) or node.array(2, labels=True).any()):
        raise UnsupportedModelError(f"{node.where}: Dropout in training mode is not supported")
    return node.operand()


def _cast(node: Node) -> Operand:
    types = node.graph.onnx.TensorProto
    to = node.attributes(to=int, saturate=1, round_mode="up")["to"]
    if to not in (types.FLOAT, types.DOUBLE):
        raise UnsupportedModelError(f"{node.where}: Cast to {node.graph.type(to or 0)} is not supported, only to float")
    return node.operand()


def _flatten(node: Node) -> Operand:
    axis = node.attributes(axis=1)["axis"]
    node.operands(1, 1)
    operand = node.operand()
    dims = len(operand.dims) if isinstance(operand, Open) else len(node.value().shape)
    if axis not in (1, -dims):
        raise UnsupportedModelError(f"{node.where}: Flatten with axis={axis}; only axis=1, all values of an input")
    if isinstance(operand, Open):
        return operand.flattened()
    line = node.line()
    return node.value() if len(line.shape) == 1 else Value(line.reshaped((line.size,)))


def _reshape(node: Node) -> Operand:
    zeros = node.attributes(allowzero=0)["allowzero"]
    node.operands(2, 2)
    if node.constant(0):
        raise UnsupportedModelError(f"{node.where}: Reshape needs a constant shape, or one made from sizes of values")
    shape, operand = _target(node), node.operand()
    refused = UnsupportedModelError(
        f"{node.where}: Reshape to {['batch' if d is None else d for d in shape]} is not supported; only to (batch, "
        "...)"
    )
    if zeros and 0 in shape:
        raise refused
    if isinstance(operand, Open):
        if len(shape) == 2 and shape[0] in (0, -1, None) and (shape[1] == -1) != (shape[0] == -1):
            flat = operand.flattened()
            return flat if shape[1] in (-1, None) else node.graph.width(flat, shape[1])
        raise refused
    line = node.line()
    batch = node.graph.batch
    if shape == [-1] and line.size == 1:
        shape = [0, 1]
    if not shape or shape[0] not in {0, -1, None, *([] if batch is None else [batch])} or None in shape[1:]:
        raise refused
    if shape.count(-1) > 1:
        raise refused
    after = [line.shape[i] if d == 0 and i < len(line.shape) else int(d or 0) for i, d in enumerate(shape[1:])]
    if -1 in after:
        known = math.prod(d for d in after if d != -1)
        after[after.index(-1)] = line.size // known if known > 0 else 0
    if math.prod(after) != line.size or any(d < 1 for d in after):
        raise refused
    return node.value() if tuple(after) == line.shape else Value(line.reshaped(tuple(after)))


def _target(node: Node) -> list[int | None]:
    """The shape that values are to have; None is the batch."""
    if node.constant(1):
        return list(node.integers(1))
    sizes = node.graph.values.get(node.inputs[1])
    if not isinstance(sizes, Sizes):
        raise UnsupportedModelError(f"{node.where}: Reshape needs a constant shape, or one made from sizes of values")
    return list(sizes.entries)


def _squeeze(node: Node) -> Operand:
    line = node.line()
    axes = _axes(node, len(line.shape))
    if any(line.shape[a - 1] != 1 for a in axes):
        raise ShapeError(f"{node.where}: Squeeze of axes {axes} of values of shape {line.shape} besides the batch")
    return Value(line.reshaped(tuple(d for i, d in enumerate(line.shape) if i + 1 not in axes)))


def _unsqueeze(node: Node) -> Operand:
    line = node.line()
    axes = node.attributes(axes=(int,))["axes"] or (node.integers(1) if node.has(1) else [])
    rank = len(line.shape) + 1 + len(axes)
    places = [a + rank if a < 0 else a for a in axes]
    if not axes or len(set(places)) < len(places) or any(not 1 <= a < rank for a in places):
        raise UnsupportedModelError(f"{node.where}: Unsqueeze at axes {axes}; the batch must stay first")
    rest = iter(line.shape)
    return Value(line.reshaped(tuple(1 if i in places else next(rest) for i in range(1, rank))))


def _cuts(node: Node, rank: int) -> dict[int, slice]:
    """What Slice takes of each axis, the batch counted as 0."""
    found = node.attributes(starts=(int,), ends=(int,), axes=(int,))
    if found["starts"] is not None and found["ends"] is not None:
        starts, ends, axes, steps = found["starts"], found["ends"], found["axes"], None
    else:
        node.operands(3, 5)
        starts, ends = node.integers(1), node.integers(2)
        axes = node.integers(3) if node.has(3) else None
        steps = node.integers(4) if node.has(4) else None
    axes = list(range(len(starts))) if axes is None else [a + rank if a < 0 else a for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or any(not 0 <= a < rank for a in axes):
        raise FormatError(f"{node.where}: Slice from {starts} to {ends} of axes {axes}, of {rank}")
    if len(set(axes)) < len(axes) or 0 in steps:
        raise FormatError(f"{node.where}: Slice of axes {axes} in steps of {steps}")
    return {a: slice(start, end, step) for a, start, end, step in zip(axes, starts, ends, steps, strict=True)}


def _slice(node: Node) -> Operand:
    line = node.line()
    cuts = _cuts(node, len(line.shape) + 1)
    whole = cuts.pop(0, slice(0, _ALL, 1))
    if whole.start != 0 or whole.stop < _ALL or whole.step != 1:
        raise UnsupportedModelError(f"{node.where}: Slice of the batch is not supported: all inputs are computed alike")
    places: tuple[slice, ...] = tuple(cuts.get(i, slice(None)) for i in range(len(line.shape) + 1))
    shape = np.empty((1, *line.shape), dtype=np.bool_)[places].shape[1:]
    if 0 in shape:
        raise ShapeError(f"{node.where}: Slice leaves no values of shape {line.shape}")
    return Value(line.mapped(lambda stack: stack[places], shape))


def _split(node: Node) -> list[Operand]:
    found = node.attributes(axis=0, split=(int,), num_outputs=int)
    line, count = node.line(), len(node.proto.output)
    rank = len(line.shape) + 1
    axis = found["axis"] + rank if found["axis"] < 0 else found["axis"]
    if not 1 <= axis < rank:
        raise UnsupportedModelError(f"{node.where}: Split along axis {found['axis']}; the batch cannot be split")
    length = line.shape[axis - 1]
    sizes = found["split"] if found["split"] is not None else node.integers(1) if node.has(1) else None
    if sizes is None:
        each = -(-length // count)
        sizes = [min(each, length - i * each) for i in range(count)]
    if len(sizes) != count or sum(sizes) != length or any(d < 1 for d in sizes):
        raise ShapeError(f"{node.where}: Split of {length} values into {count} parts of sizes {sizes}")
    parts: list[Operand] = []
    for first, size in zip(np.cumsum([0, *sizes[:-1]]).tolist(), sizes, strict=True):
        places = (slice(None),) * axis + (slice(first, first + size),)
        shape = (*line.shape[: axis - 1], size, *line.shape[axis:])
        parts.append(Value(line.mapped(lambda stack, places=places: stack[places], shape)))  # type: ignore[misc]
    return parts


def _axes(node: Node, dims: int) -> list[int]:
    """Axes after the batch, counted from 1, of an attribute or the second input.

    Without axes, or with none, ONNX takes all, the batch too, or nothing at all.
    """
    found = node.attributes(axes=(int,), keepdims=1, noop_with_empty_axes=0)["axes"]
    axes = found if found is not None else node.integers(1) if node.has(1) else []
    out = [a + dims + 1 if a < 0 else a for a in axes]
    if any(not 1 <= a <= dims for a in out) or len(set(out)) < len(out) or not out:
        raise UnsupportedModelError(f"{node.where}: {node.operator} over axes {axes} of {dims} besides the batch")
    return sorted(out)


def _reduced(node: Node) -> Operand:
    """ReduceMean and ReduceSum."""
    keep = node.attributes(axes=(int,), keepdims=1, noop_with_empty_axes=0)["keepdims"]
    line = node.line()
    axes = tuple(_axes(node, len(line.shape)))
    before = [1 if i + 1 in axes else d for i, d in enumerate(line.shape)]
    after = before if keep else [d for i, d in enumerate(line.shape) if i + 1 not in axes]
    function = np.mean if node.operator == "ReduceMean" else np.sum
    shape = tuple(after)
    return Value(line.mapped(lambda stack: np.asarray(function(stack, axis=axes)).reshape(len(stack), *shape), shape))


def _transpose(node: Node) -> Operand:
    node.operands(1, 1)
    line = node.line()
    perm = node.attributes(perm=(int,))["perm"]
    if perm is None or sorted(perm) != list(range(len(line.shape) + 1)) or perm[0] != 0:
        raise UnsupportedModelError(f"{node.where}: Transpose of axes {perm}; the batch must stay first")
    shape = tuple(line.shape[p - 1] for p in perm[1:])
    return Value(line.mapped(lambda stack: stack.transpose(perm), shape))


def _concat(node: Node) -> Operand:
    axis = node.attributes(axis=int)["axis"]
    lines = [node.line(i) for i in range(len(node.inputs))]
    dims = len(lines[0].shape) + 1
    if axis is None or not 1 <= (axis + dims if axis < 0 else axis) < dims:
        raise UnsupportedModelError(f"{node.where}: Concat along axis {axis}; the batch cannot be joined")
    return Value(Affine.joined(lines, (axis + dims if axis < 0 else axis) - 1))


def _picked(node: Node) -> Operand:
    """ArrayFeatureExtractor and Gather: values at constant places."""
    line = node.line()
    dims = len(line.shape) + 1
    axis = node.attributes(axis=0)["axis"] if node.operator == "Gather" else -1
    axis = axis + dims if axis < 0 else axis
    if not 1 <= axis < dims:
        raise UnsupportedModelError(f"{node.where}: {node.operator} along axis {axis}")
    node.operands(2, 2)
    places, length = node.integers(1), line.shape[axis - 1]
    given = node.array(1, integers=True)
    if node.operator == "Gather" and given.ndim > 1:
        raise UnsupportedModelError(f"{node.where}: Gather of {given.ndim}-dimensional places")
    if not places or any(not -length <= p < length for p in places):
        raise ShapeError(f"{node.where}: places {places[:8]} of {length} values")
    if node.operator == "Gather" and given.ndim == 0:  # one place, and an axis less
        shape = (*line.shape[: axis - 1], *line.shape[axis:])
        return Value(line.mapped(lambda stack: np.take(stack, places[0], axis=axis), shape))
    shape = (*line.shape[: axis - 1], len(places), *line.shape[axis:])
    return Value(line.mapped(lambda stack: np.take(stack, places, axis=axis), shape))


def _pad(node: Node) -> Operand:
    mode = node.attributes(mode="constant")["mode"]
    line = node.line()
    pads, dims = node.integers(1), len(line.shape) + 1
    value = node.array(2).reshape(-1) if node.has(2) else np.zeros(1)
    if mode != "constant" or value.any() or node.has(3) or len(pads) != 2 * dims or pads[0] or pads[dims]:
        raise UnsupportedModelError(f"{node.where}: Pad is supported with zeros, all axes named but the batch's")
    around = list(zip(pads[1:dims], pads[dims + 1 :], strict=True))
    return Value(_padded(line, around))


def _padded(line: Affine, around: Sequence[tuple[int, int]]) -> Affine:
    if any(p < 0 for pair in around for p in pair):
        raise UnsupportedModelError("negative padding is not supported")
    if not any(p for pair in around for p in pair):
        return line
    shape = tuple(d + a + b for d, (a, b) in zip(line.shape, around, strict=True))
    return line.mapped(lambda stack: np.pad(stack, [(0, 0), *around]), shape)


# ---- sizes of values -----------------------------------------------------------------------------


def shape_of(node: Node) -> Sizes:
    """Shape: sizes, of which the first is the batch's."""
    found = node.attributes(start=0, end=int)
    operand = node.operand()
    if isinstance(operand, Open):
        sizes: list[int | None] = [None, *operand.dims]
        start, end = found["start"], found["end"]
        if None in operand.dims and (start, end) != (0, 1):
            raise UnsupportedModelError(
                f"{node.where}: inputs have open dimensions {operand.dims}: export with fixed ones"
            )
    else:
        value = operand.value if isinstance(operand, Tail) else node.value()
        sizes = [None, *value.shape]
    return Sizes(sizes[found["start"] : found["end"]])


def sized(node: Node) -> Sizes:
    """A step with sizes of values, the batch's among them.

    Raises:
        UnsupportedModelError: one that is no choice among them: what a batch times a number is, nobody knows.
    """
    operator = node.operator
    parts = [_entries(node, i) for i in range(len(node.inputs)) if node.has(i)]
    first = parts[0]
    if operator == "Concat":
        node.attributes(axis=int)
        return Sizes([e for part in parts for e in part.entries])
    if operator == "Gather" and len(parts) == 2:
        node.attributes(axis=0)
        places = [int(p) for p in parts[1].entries if p is not None]
        if len(places) == len(parts[1].entries) and all(-len(first.entries) <= p < len(first.entries) for p in places):
            return Sizes([first.entries[p] for p in places], parts[1].scalar)
    if operator == "Slice":
        cut = _cuts(node, 1).get(0, slice(None))
        return Sizes(first.entries[cut])
    if operator in ("Unsqueeze", "Squeeze", "Reshape") and len(first.entries) == 1:
        return Sizes(first.entries, operator == "Squeeze")
    if operator in ("Cast", "Identity"):
        return first
    raise UnsupportedModelError(
        f"{node.where}: {operator} of sizes that have the batch's among them is not supported: export with a shape "
        "whose dimensions are fixed, apart from the batch"
    )


def _entries(node: Node, i: int) -> Sizes:
    name = node.inputs[i]
    if node.constant(i):
        return Sizes([int(v) for v in node.integers(i)], node.array(i, integers=True).ndim == 0)
    operand = node.graph.values[name]
    if not isinstance(operand, Sizes):
        raise UnsupportedModelError(f"{node.where}: {node.operator} of values and sizes of values is not supported")
    return operand


# ---- constants -----------------------------------------------------------------------------------

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda a, b: np.trunc(np.divide(a, b)).astype(a.dtype) if a.dtype.kind == "i" else np.divide(a, b),
    "Sqrt": np.sqrt,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Pow": np.power,
    "MatMul": np.matmul,
    "Identity": np.array,
}

#: Operators on constants alone.
FOLDED = (*_ARITHMETIC, "Cast", "Concat", "ConstantOfShape", "Gather", "Reshape", "Shape", "Slice", "Squeeze",
          "Transpose", "Unsqueeze")  # fmt: skip


def fold(node: Node) -> None:
    """Computes a constant from constants.

    Raises:
        UnsupportedModelError: an operator that is not among `FOLDED`. FormatError: operands that do not fit.
    """
    if node.operator not in FOLDED or not node.inputs or len(node.proto.output) != 1:
        raise UnsupportedModelError(
            f"{node.where}: {node.operator} of constants only; fold constants before the export"
        )
    found = [_exact(node, i) for i in range(len(node.inputs)) if node.has(i)]
    try:
        made = _folded(node, found)
    except (TypeError, ValueError, IndexError) as e:
        raise FormatError(f"{node.where}: {node.operator} of constants: {first_line(e)}") from None
    node.graph.define(node.proto.output[0], made)


def _exact(node: Node, i: int) -> npt.NDArray[Any]:
    """A constant: whole numbers as int64, others as float64."""
    a = node.array(i, labels=True)
    if a.dtype.kind not in "fiub":
        raise UnsupportedModelError(f"{node.where}: {node.operator} of constants of type {a.dtype} is not supported")
    return a.astype(np.float64 if a.dtype.kind == "f" else np.int64)


def _folded(node: Node, found: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    operator, first = node.operator, found[0]
    if operator in _ARITHMETIC:
        node.attributes()
        if operator != "MatMul":
            check_entries(math.prod(np.broadcast_shapes(*(a.shape for a in found))), 1, "a constant")
        elif len(found) == 2 and first.ndim == found[1].ndim == 2:
            check_entries(first.shape[0], found[1].shape[1], "a constant")
        else:
            raise UnsupportedModelError(f"{node.where}: MatMul of constants is supported for matrices")
        return np.asarray(_ARITHMETIC[operator](*found))
    if operator == "Cast":
        types = node.graph.onnx.TensorProto
        to = node.attributes(to=int, saturate=1, round_mode="up")["to"]
        kinds = {types.FLOAT: np.float32, types.DOUBLE: np.float64, types.INT64: np.int64, types.INT32: np.int64}
        if to not in kinds:
            raise UnsupportedModelError(
                f"{node.where}: Cast of a constant to {node.graph.type(to or 0)} is not supported"
            )
        return first.astype(kinds[to])
    if operator == "Concat":
        return np.concatenate(list(found), node.attributes(axis=int)["axis"])
    if operator == "ConstantOfShape":
        given = [a for a in node.proto.attribute if a.name == "value"]
        filling = node.graph.onnx.numpy_helper.to_array(given[0].t).reshape(-1) if given else np.zeros(1, np.float32)
        shape = tuple(int(d) for d in first.reshape(-1))
        if len(filling) != 1 or filling.dtype.kind not in "fi" or any(d < 0 for d in shape):
            raise FormatError(f"{node.where}: ConstantOfShape {shape} of {len(filling)} numbers")
        check_entries(math.prod(shape), 1, "a constant")
        return np.full(shape, filling[0], np.float64 if filling.dtype.kind == "f" else np.int64)
    if operator == "Gather":
        return np.take(first, found[1].astype(np.int64), axis=node.attributes(axis=0)["axis"])
    if operator == "Reshape":
        node.attributes(allowzero=0)
        shape = tuple(first.shape[i] if d == 0 else int(d) for i, d in enumerate(found[1].reshape(-1)))
        return first.reshape(shape)
    if operator == "Shape":
        ends = node.attributes(start=0, end=int)
        return np.array(first.shape[ends["start"] : ends["end"]], dtype=np.int64)
    if operator == "Slice":
        cuts = _cuts(node, first.ndim)
        return first[tuple(cuts.get(i, slice(None)) for i in range(first.ndim))]
    if operator == "Transpose":
        perm = node.attributes(perm=(int,))["perm"]
        return first.transpose(perm)
    axes = node.attributes(axes=(int,))["axes"]
    axes = axes if axes is not None else [int(a) for a in found[1].reshape(-1)] if len(found) > 1 else None
    if operator == "Unsqueeze":
        return np.expand_dims(first, tuple(axes or ()))
    return np.squeeze(first, None if axes is None else tuple(axes))


SHAPES: dict[str, Callable[[Node], Operand | list[Operand]]] = {
    "ReduceMean": _reduced,
    "ReduceSum": _reduced,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Split": _split,
    "Shape": shape_of,
    "Transpose": _transpose,
    "Concat": _concat,
    "Pad": _pad,
    "Gather": _picked,
    "ArrayFeatureExtractor": _picked,
    "Cast": _cast,
    "Identity": _identity,
    "Dropout": _dropout,
}

__all__ = ["FOLDED", "SHAPES", "fold", "sized"]
