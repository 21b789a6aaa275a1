# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""ONNX operators as affine maps and polynomials of the values so far. Each takes a node and gives its results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, ShapeError, UnsupportedModelError
from ringforge.matvec import functions
from ringforge.matvec.affine import MAX_DEGREE, Affine, Value, check_entries
from ringforge.matvec.onnx_formula import KNOWN, REPLACEABLE, Formula, Parameters
from ringforge.matvec.onnx_graph import Node, Open, Operand
from ringforge.matvec.onnx_shapes import SHAPES

Array = npt.NDArray[np.float64]

#: Places that one window of a convolution or a pool may have.
MAX_WINDOW = 1 << 16


# ---- products ------------------------------------------------------------------------------------


def _gemm(node: Node) -> Operand:
    found = node.attributes(transA=0, transB=0, alpha=1.0, beta=1.0)
    if found["transA"]:
        raise UnsupportedModelError(f"{node.where}: Gemm with transA=1 is not supported; export with transA=0")
    node.operands(2, 3)
    weights = _weights(node)
    if found["transB"]:
        weights = weights.T
    line = _product(node, found["alpha"] * weights)
    if node.has(2):
        line = line.shifted(found["beta"] * _bias(node, 2, weights.shape[1]))
    return Value(line)


def _matmul(node: Node) -> Operand:
    node.attributes()
    node.operands(2, 2)
    if node.constant(0) and not node.constant(1):
        return _matmul_from_left(node)
    if node.constant(0) or not node.constant(1):
        raise UnsupportedModelError(
            f"{node.where}: MatMul of two values is not supported: it needs the value first and constant weights second"
        )
    w = node.array(1)
    if w.ndim < 2:
        raise UnsupportedModelError(f"{node.where}: weights have shape {w.shape}; a matrix is needed")
    if not w.size:
        raise ShapeError(f"{node.where}: weights have shape {w.shape}")
    line = node.line(0, w.shape[-2])
    if w.ndim == 2:
        return Value(line.product(w))
    # A stack of matrices: over the axes between the batch and the last two, never over the batch.
    if len(line.shape) < 2 or w.ndim > len(line.shape) + 1 or (w.ndim == len(line.shape) + 1 and w.shape[0] != 1):
        raise UnsupportedModelError(
            f"{node.where}: weights of shape {w.shape} for values of shape {line.shape} besides the batch"
        )
    return Value(_mapped(node, line, lambda stack: stack @ w, w))


def _matmul_from_left(node: Node) -> Operand:
    """A constant times values: of matrices besides the batch."""
    w, line = node.array(0), node.line(1)
    if w.ndim < 2 or len(line.shape) < 2 or w.ndim > len(line.shape) + (w.shape[0] == 1) or not w.size:
        raise UnsupportedModelError(
            f"{node.where}: MatMul of constant weights of shape {w.shape} and values of shape {line.shape} besides the "
            "batch; it needs the value first and constant weights second, or matrices of values"
        )
    return Value(_mapped(node, line, lambda stack: w @ stack, w))


def _mapped(node: Node, line: Affine, function: Callable[[Array], Array], weights: Array) -> Affine:
    """A linear function whose results have the shape that numpy gives."""
    try:
        shape = function(np.zeros((1, *line.shape))).shape[1:]
    except ValueError:
        raise ShapeError(
            f"{node.where}: weights of shape {weights.shape} do not fit values of shape {line.shape} besides the batch"
        ) from None
    return line.mapped(function, shape)


def _weights(node: Node) -> Array:
    if node.constant(0) or not node.constant(1):
        raise UnsupportedModelError(f"{node.where}: {node.operator} needs the value first and constant weights second")
    w = node.array(1)
    if w.ndim != 2:
        raise UnsupportedModelError(f"{node.where}: weights have shape {w.shape}; a matrix is needed")
    return w


def _product(node: Node, weights: Array) -> Affine:
    line = node.line(0, weights.shape[0])
    if len(line.shape) != 1:
        raise UnsupportedModelError(
            f"{node.where}: {len(line.shape)} dimensions of values besides the batch; put a Flatten before it"
        )
    if not weights.size:
        raise ShapeError(f"{node.where}: weights have shape {weights.shape}")
    return line.product(weights)


def _bias(node: Node, i: int, rows: int) -> Array:
    c = node.array(i)
    if c.size not in (1, rows) or (c.ndim and c.shape[-1] != c.size) or c.ndim > 2:
        raise ShapeError(
            f"{node.where}: the bias has shape {c.shape}, {rows} results need ({rows},) or a single number"
        )
    return np.broadcast_to(c.reshape(-1), (rows,))


def _linear_regressor(node: Node) -> Operand:
    found = node.attributes(coefficients=(float,), intercepts=(float,), targets=1, post_transform="NONE")
    node.operands(1, 1)
    if found["post_transform"] != "NONE":
        raise UnsupportedModelError(f"{node.where}: post_transform {found['post_transform']} is not supported")
    weights, targets = np.asarray(found["coefficients"] or [], dtype=np.float64), found["targets"]
    if targets < 1 or not weights.size or weights.size % targets:
        raise FormatError(f"{node.where}: {weights.size} coefficients for {targets} targets")
    matrix = weights.reshape(targets, -1).T
    line = node.line(0, len(matrix)).product(matrix)
    if found["intercepts"]:
        line = line.shifted(np.asarray(found["intercepts"], dtype=np.float64))
    return Value(line)


# ---- value by value ------------------------------------------------------------------------------


def _polynomial(node: Node, operand: Value) -> Value:
    """A value that is still to be multiplied out: not one that a stated activation computes as it is."""
    return operand if operand.layer is None else Value(operand.line(node.graph.model))


def _pair(node: Node) -> tuple[Value, Array] | tuple[Value, Value]:
    """The operands of a sum or product: a value and a constant (in this order), or two values."""
    node.attributes()
    node.operands(2, 2)
    places = [i for i in (0, 1) if node.constant(i)]
    if places:
        c = node.array(places[0])
        width = int(c.shape[-1]) if c.ndim else None
        return _polynomial(node, node.value(1 - places[0], width)), c
    return node.value(0), node.value(1)


def _by_formula(node: Node, what: str) -> Operand | None:
    """Sum, difference, product or quotient as a function of one value, where an activation is part of it."""
    node.attributes()
    node.operands(2, 2)
    graph = node.graph
    places = [i for i in (0, 1) if node.constant(i)]
    operands = [node.graph.values[node.inputs[i]] for i in (0, 1) if i not in places]
    if all(isinstance(o, Value | Open) for o in operands):
        return None
    formulas = [graph.formula(o) for o in operands]
    first = formulas[0]
    if first is None or None in formulas:
        return None
    if not places:
        second = formulas[1]
        assert second is not None
        return first.combined(second, what) if first.root is second.root else None
    c = node.array(places[0])
    if c.size != 1 or c.ndim > len(first.shape) + 1:
        return None
    number, constant_first = float(c.reshape(-1)[0]), places[0] == 0
    if what == "/" and constant_first:
        return Formula.of(Value(first.root, (number, 0.0))).combined(first, "/")
    if what in ("*", "/"):
        return first.scaled(number if what == "*" else 1 / number)
    return first.scaled(
        -1.0 if constant_first and what == "-" else 1.0, number if constant_first or what == "+" else -number
    )


def _sum(node: Node, sign: float) -> Operand:
    made = _by_formula(node, "+" if sign > 0 else "-")
    if made is not None:
        return made
    first, second = _pair(node)
    if isinstance(second, Value):
        what = np.polynomial.polynomial.polyadd if sign > 0 else np.polynomial.polynomial.polysub
        both = first.combined(second, what)
        if both is not None:
            return both
        model = node.graph.model
        left, right = _alike(first.line(model), second.line(model))
        return Value(left.plus(right.scaled(sign) if sign < 0 else right))
    if sign < 0 and node.constant(0):
        first, sign = first.times(-1.0), 1.0
    if second.size == 1 and second.ndim <= len(first.shape) + 1:
        return first.plus(sign * float(second.reshape(-1)[0]))
    return Value(first.line(node.graph.model).shifted(sign * second))


def _alike(first: Affine, second: Affine) -> tuple[Affine, Affine]:
    """Two functions of as many axes, with axes of length 1 repeated as the other's need."""
    if first.shape == second.shape or len(first.shape) != len(second.shape):
        return first, second
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return first, second
    return _repeated(first, shape), _repeated(second, shape)


def _repeated(line: Affine, shape: tuple[int, ...]) -> Affine:
    if line.shape == shape:
        return line
    return line.mapped(lambda stack: np.broadcast_to(stack, (len(stack), *shape)), shape)


def _total(node: Node) -> Operand:
    """Sum and Mean of any number of values and constants."""
    node.attributes()
    constants = [i for i in range(len(node.inputs)) if node.constant(i)]
    lines = [node.line(i) for i in range(len(node.inputs)) if i not in constants]
    total = lines[0]
    for line in lines[1:]:
        left, right = _alike(total, line)
        total = left.plus(right)
    for i in constants:
        total = total.shifted(node.array(i))
    return Value(total.scaled(1 / len(node.inputs)) if node.operator == "Mean" else total)


def _add(node: Node) -> Operand:
    return _sum(node, 1.0)


def _sub(node: Node) -> Operand:
    return _sum(node, -1.0)


def _mul(node: Node) -> Operand:
    made = _by_formula(node, "*")
    if made is not None:
        return made
    first, second = _pair(node)
    if not isinstance(second, Value):
        return _scaled(node, first, second)
    if node.inputs[0] == node.inputs[1] and (2 * first.degree > MAX_DEGREE or first.layer is not None):
        first = second = Value(first.line(node.graph.model))
    product = first.combined(second, np.polynomial.polynomial.polymul)
    if product is None:
        raise UnsupportedModelError(
            f"{node.where}: the product of two different values is not supported, only of a value and a constant, or "
            "of polynomials of one value"
        )
    return _checked(node, product)


def _checked(node: Node, value: Value) -> Value:
    if value.degree > MAX_DEGREE:
        raise UnsupportedModelError(f"{node.where}: polynomials have a degree up to {MAX_DEGREE}, not {value.degree}")
    return value


def _scaled(node: Node, value: Value, factor: Array) -> Operand:
    if factor.size == 1 and factor.ndim <= len(value.shape) + 1:
        return value.times(float(factor.reshape(-1)[0]))
    return Value(value.line(node.graph.model).scaled(factor))


def _div(node: Node) -> Operand:
    made = _by_formula(node, "/")
    if made is not None:
        return made
    if node.constant(0):
        raise UnsupportedModelError(f"{node.where}: Div by a value is not supported: it is no polynomial")
    first, second = _pair(node)
    if isinstance(second, Value):
        raise UnsupportedModelError(f"{node.where}: Div by a value is not supported: it is no polynomial")
    return _scaled(node, first, 1 / second)


def _neg(node: Node) -> Operand:
    node.attributes()
    formula = None if isinstance(node.operand(), Value | Open) else node.graph.formula(node.operand())
    if formula is not None:
        return formula.scaled(-1.0)
    return _polynomial(node, node.value()).times(-1.0)


def _pow(node: Node) -> Operand:
    node.attributes()
    node.operands(2, 2)
    if node.constant(0) or not node.constant(1):
        raise UnsupportedModelError(f"{node.where}: Pow needs a constant exponent")
    exponent = node.array(1, integers=True)
    number = float(exponent.reshape(-1)[0]) if exponent.size == 1 else math.nan
    if not 1 <= number <= MAX_DEGREE or number % 1:
        raise UnsupportedModelError(
            f"{node.where}: Pow with exponent {number if exponent.size == 1 else exponent.shape}; whole numbers 1 ... "
            f"{MAX_DEGREE} are supported"
        )
    value = _polynomial(node, node.value())
    if value.degree * number > MAX_DEGREE:
        value = Value(value.line(node.graph.model))
    return value.power(int(number))


def _batch_normalization(node: Node) -> Operand:
    found = node.attributes(epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1)
    node.operands(5, 5)
    if found["training_mode"] or found["spatial"] != 1:
        raise UnsupportedModelError(
            f"{node.where}: BatchNormalization is supported for inference, one mean per channel"
        )
    scale, bias, mean, variance = (node.array(i).reshape(-1) for i in range(1, 5))
    line = node.line(0, len(mean))
    factor = scale / np.sqrt(variance + found["epsilon"])
    shape = (-1, *[1] * (len(line.shape) - 1))
    if not len(scale) == len(bias) == len(mean) == len(variance) == line.shape[0]:
        raise ShapeError(f"{node.where}: {len(scale)} channels are normalised, there are {line.shape[0]}")
    return Value(line.scaled(factor.reshape(shape)).shifted((bias - mean * factor).reshape(shape)))


def _scaler(node: Node) -> Operand:
    found = node.attributes(offset=(float,), scale=(float,))
    node.operands(1, 1)
    offset, scale = (
        np.asarray(found[k] if found[k] is not None else d) for k, d in (("offset", [0.0]), ("scale", [1.0]))
    )
    return Value(node.line(0, max(len(offset), len(scale))).shifted(-offset).scaled(scale))


def _replaced(node: Node) -> Operand:
    """An activation that is no polynomial."""
    name, parameters = _activation(node)
    operand = node.operand()
    formula = None if isinstance(operand, Value | Open) else node.graph.formula(operand)
    return Formula.atom(name, parameters, formula or _polynomial(node, node.value()))


def _activation(node: Node) -> tuple[str, Parameters]:
    """The activation of a node, an entry of `KNOWN`, with its parameters."""
    operator = node.operator
    if operator == "Gelu":
        form = node.attributes(approximate="none")["approximate"]
        if form not in ("none", "tanh"):
            raise FormatError(f"{node.where}: Gelu with approximate={form}")
        return ("Gelu" if form == "none" else "GeluTanh"), ()
    if operator == "Selu":
        found = node.attributes(alpha=functions.SELU_ALPHA, gamma=functions.SELU_GAMMA)
        same = math.isclose(found["alpha"], functions.SELU_ALPHA, rel_tol=1e-5)
        if not same or not math.isclose(found["gamma"], functions.SELU_GAMMA, rel_tol=1e-5):
            raise UnsupportedModelError(f"{node.where}: Selu is supported with the constants of its authors alone")
        return operator, ()
    if operator == "PRelu":
        node.attributes()
        node.operands(2, 2)
        slopes = node.array(1).reshape(-1)
        if not len(slopes) or (slopes != slopes[0]).any():
            raise UnsupportedModelError(
                f"{node.where}: PRelu is supported with one slope for all values, not one a channel"
            )
        return operator, (("alpha", float(slopes[0])),)
    node.operands(1, 1)
    found = node.attributes(**dict(KNOWN[operator].defaults))
    return operator, tuple((key, float(found[key])) for key, _ in KNOWN[operator].defaults)


# ---- windows -------------------------------------------------------------------------------------


class _Windows:
    """Where the windows of a convolution or a pool lie. Kernels, strides and pads are per axis after the channels."""

    def __init__(self, node: Node, line: Affine, kernel: Sequence[int], found: dict[str, Any]) -> None:
        axes = len(kernel)
        if len(line.shape) != axes + 1 or axes < 1:
            raise ShapeError(f"{node.where}: a window of {axes} axes over values of shape {line.shape}")
        strides, dilations = found["strides"] or [1] * axes, found["dilations"] or [1] * axes
        if any(len(v) != axes or any(not 1 <= n <= 1 << 20 for n in v) for v in (kernel, strides, dilations)):
            raise FormatError(f"{node.where}: kernel {kernel}, strides {strides}, dilations {dilations}")
        if math.prod(kernel) > MAX_WINDOW:
            raise UnsupportedModelError(f"{node.where}: windows have at most {MAX_WINDOW} places, not {kernel}")
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        auto = found["auto_pad"]
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            self.pads = []
            for size, r, s in zip(line.shape[1:], reach, strides, strict=True):
                total = max(0, (-(-size // s) - 1) * s + r - size)
                less = total // 2
                self.pads.append((less, total - less) if auto == "SAME_UPPER" else (total - less, less))
        elif auto in ("NOTSET", "VALID"):
            given = found["pads"] if auto == "NOTSET" and found["pads"] else [0] * (2 * axes)
            if len(given) != 2 * axes or any(not 0 <= p <= 1 << 20 for p in given):
                raise FormatError(f"{node.where}: pads {given} for {axes} axes")
            self.pads = list(zip(given[:axes], given[axes:], strict=True))
        else:
            raise FormatError(f"{node.where}: auto_pad {auto}")
        self.before, self.kernel, self.strides, self.dilations = line.shape[1:], list(kernel), strides, dilations
        self.after = tuple(
            (size + a + b - r) // s + 1
            for size, (a, b), r, s in zip(line.shape[1:], self.pads, reach, strides, strict=True)
        )
        if any(n < 1 for n in self.after):
            raise ShapeError(
                f"{node.where}: a window of {reach} does not fit values of shape {line.shape} with {self.pads}"
            )
        check_entries(
            line.shape[0] * math.prod(s + a + b for s, (a, b) in zip(self.before, self.pads, strict=True)), line.width
        )

    def places(self) -> list[tuple[int, ...]]:
        """Places of a window."""
        return list(itertools.product(*map(range, self.kernel)))

    def at(self, stack: Array, place: tuple[int, ...]) -> Array:
        """What lies at one place of all windows, in a padded stack (..., *axes)."""
        cut = [
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, self.dilations, self.after, self.strides, strict=True)
        ]
        axes: tuple[Any, ...] = (Ellipsis, *cut)
        return np.asarray(stack[axes])

    def padded(self, stack: Array) -> Array:
        return np.pad(stack, [(0, 0), (0, 0), *self.pads])


_WINDOW = {"strides": (int,), "dilations": (int,), "pads": (int,), "kernel_shape": (int,), "auto_pad": "NOTSET"}


def _conv(node: Node) -> Operand:
    found = node.attributes(group=1, **_WINDOW)
    node.operands(2, 3)
    if node.constant(0) or not node.constant(1):
        raise UnsupportedModelError(f"{node.where}: Conv needs the value first and constant weights second")
    weights, line, groups = node.array(1), node.line(), found["group"]
    if weights.ndim < 3 or not weights.size or found["kernel_shape"] not in (None, list(weights.shape[2:])):
        raise FormatError(f"{node.where}: weights of shape {weights.shape} with kernel_shape {found['kernel_shape']}")
    windows = _Windows(node, line, weights.shape[2:], found)
    channels, made = line.shape[0], weights.shape[0]
    if groups < 1 or channels != weights.shape[1] * groups or made % groups:
        raise ShapeError(f"{node.where}: weights of shape {weights.shape} in {groups} groups over {channels} channels")

    def convolve(stack: Array) -> Array:
        grouped = windows.padded(stack)
        grouped = grouped.reshape(len(stack), groups, channels // groups, *grouped.shape[2:])
        kernels = weights.reshape(groups, made // groups, *weights.shape[1:])
        out = np.zeros((len(stack), groups, made // groups, *windows.after))
        for place in windows.places():
            part = windows.at(grouped, place)
            for g in range(groups):
                kernel = np.moveaxis(kernels[g], (0, 1), (-2, -1))[place]
                out[:, g] += np.moveaxis(np.tensordot(kernel, part[:, g], (1, 1)), 0, 1)
        return out.reshape(len(stack), made, *windows.after)

    result = line.mapped(convolve, (made, *windows.after))
    if node.has(2):
        result = result.shifted(_bias(node, 2, made).reshape(-1, *[1] * len(windows.after)))
    return Value(result)


def _average_pool(node: Node) -> Operand:
    found = node.attributes(ceil_mode=0, count_include_pad=0, **_WINDOW)
    node.operands(1, 1)
    if found["ceil_mode"]:
        raise UnsupportedModelError(f"{node.where}: AveragePool with ceil_mode=1 is not supported")
    line = node.line()
    windows = _Windows(node, line, found["kernel_shape"] or [], found)

    def summed(stack: Array) -> Array:
        around = windows.padded(stack)
        total = np.zeros((*stack.shape[:2], *windows.after))
        for place in windows.places():
            total += windows.at(around, place)
        return total

    # How many values of a window are no padding; the file says whether padding counts.
    inside = summed(np.ones((1, 1, *windows.before)))[0, 0]
    counts = np.full(inside.shape, float(math.prod(windows.kernel))) if found["count_include_pad"] else inside
    if not inside.all():
        raise UnsupportedModelError(f"{node.where}: AveragePool of windows that hold nothing but padding")
    shape = (line.shape[0], *windows.after)
    return Value(line.mapped(summed, shape).scaled(1 / counts))


def _global_average_pool(node: Node) -> Operand:
    node.attributes()
    line = node.line()
    axes = tuple(range(2, len(line.shape) + 1))
    shape = (line.shape[0], *[1] * len(axes))
    return Value(line.mapped(lambda stack: stack.mean(axis=axes, keepdims=True), shape))


Operator = Callable[[Node], Operand | list[Operand]]

OPERATORS: dict[str, Operator] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "LinearRegressor": _linear_regressor,
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Neg": _neg,
    "Pow": _pow,
    "Sum": _total,
    "Mean": _total,
    "Scaler": _scaler,
    "BatchNormalization": _batch_normalization,
    "Conv": _conv,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
    **SHAPES,
    # Of these two, the end of a classifier is read first (`onnx_rules`).
    **dict.fromkeys((name for name in REPLACEABLE if name not in ("Sigmoid", "Clip")), _replaced),
}
