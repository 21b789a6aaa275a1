# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A foreign ONNX graph while it is walked: checked constants and attributes, values computed so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import FormatError, MemoryLimitError, ParameterError, ShapeError, UnsupportedModelError
from ringforge.matvec.affine import MAX_DEGREE, Affine, Builder, Value
from ringforge.matvec.approximations import Approximation, described
from ringforge.matvec.model import MAX_SIDE, Square
from ringforge.matvec.onnx_data import stored
from ringforge.matvec.onnx_formula import (
    KNOWN,
    REPLACEABLE,
    Formula,
    Parameters,
    Replacement,
    advice,
    operator_name,
    other_function,
)
from ringforge.matvec.polynomial import Polynomial

Array = npt.NDArray[np.float64]

#: Entries of all matrices that come to be while a graph is walked: minutes of work.
MAX_MADE = 1 << 30


@dataclass(frozen=True)
class Tail:
    """What follows the last layer, a function of scores that the client computes. `stage` names it."""

    stage: str
    value: Value
    classes: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Choice:
    """The place of the largest score, or the class there."""

    source: Value | Tail
    classes: tuple[Any, ...] | None = None


class Open:
    """Inputs whose dimensions the file leaves open, so far."""

    def __init__(self, dims: list[int | None]) -> None:
        self.dims = dims

    def flattened(self) -> Open:
        known = [d for d in self.dims if d is not None]
        return Open([math.prod(known) if len(known) == len(self.dims) else None])


class Sizes:
    """Sizes of values, as Shape gives them, of which one is the batch's.

    Attributes:
        entries: whole numbers, None for the batch.
        scalar: whether it is one number, and no list of them.
    """

    def __init__(self, entries: Sequence[int | None], scalar: bool = False) -> None:
        self.entries, self.scalar = list(entries), scalar


Operand = Value | Formula | Tail | Choice | Open | Sizes


def _memory(operand: Operand | None) -> Array | None:
    """The array that holds an operand's matrix, if it has one."""
    found = operand.root.full if isinstance(operand, Value) else None
    while found is not None and isinstance(found.base, np.ndarray):
        found = found.base
    return found


class Graph:
    """Constants and values by name; the layers so far.

    Args:
        onnx: the package.
        proto: the graph.
        activations: what operators are replaced by.
        folder: where the file lies, beside which weights may be.
    """

    def __init__(self, onnx: Any, proto: Any, activations: Mapping[str, Replacement], folder: Path) -> None:
        self.onnx, self.proto, self.folder = onnx, proto, folder
        for name, replacement in activations.items():
            if name not in REPLACEABLE:
                raise ParameterError(f'activations names "{name}"; it may name {", ".join(REPLACEABLE)}')
            if not isinstance(replacement, Replacement):
                raise ParameterError(
                    f"activations[{name!r}] is {replacement!r}; one of matvec.approximations, a matvec.Polynomial or "
                    "matvec.Square() is needed"
                )
            other = other_function(replacement, name, None)
            if other:
                raise ParameterError(
                    f"activations[{name!r}] approximates {other}, not {KNOWN[name].approximation}: "
                    f"{advice(name, KNOWN[name].defaults)}"
                )
        self.activations = activations
        self.replaced: set[str] = set()
        self.model = Builder(Polynomial)
        self.constants: dict[str, Any] = {}
        self.values: dict[str, Operand] = {}
        #: Names of values that nothing reads any more.
        self.forgotten: set[str] = set()
        self._made = 0
        self._begun: dict[tuple[str, int], Formula] = {}
        self._input: Value | None = None
        if proto.sparse_initializer:
            raise UnsupportedModelError("sparse initialisers are not supported; store weights as dense tensors")
        for tensor in proto.initializer:
            self.define(tensor.name, tensor)
        given = [v for v in proto.input if v.name not in self.constants]
        if len(given) != 1:
            raise UnsupportedModelError(
                f"the model has {len(given)} inputs and {len(proto.output)} outputs; one input is supported: export "
                "columns as one tensor"
            )
        self.batch: int | None = None
        dims = self._input_dims(given[0])
        known = [d for d in dims if d is not None]
        self.values[given[0].name] = self._start(tuple(known)) if len(known) == len(dims) else Open(dims)

    def define(self, name: str, constant: Any) -> None:
        """A new constant: a tensor of the file, or an array."""
        if not name or name in self.constants:
            raise FormatError(f'two constants are named "{name}"' if name else "a constant has no name")
        self.constants[name] = constant

    def forget(self, name: str) -> None:
        """Frees a value that nothing reads any more."""
        del self.values[name]
        self.forgotten.add(name)

    def count(self, node: Node, results: Sequence[Operand]) -> None:
        """Counts the entries of new matrices.

        Raises:
            MemoryLimitError: more than `MAX_MADE`.
        """
        given = [_memory(self.values.get(name)) for name in node.inputs]
        for made in map(_memory, results):
            if made is not None and not any(made is g for g in given):
                self._made += made.size
        if self._made > MAX_MADE:
            raise MemoryLimitError(
                f"{node.where}: the matrices of the steps so far have {self._made} entries, at most {MAX_MADE} are "
                "built: export a smaller model, or one with fewer steps between activations"
            )

    def _input_dims(self, value: Any) -> list[int | None]:
        """Dimensions after the batch; None where the file leaves them open."""
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            raise UnsupportedModelError(f'input "{value.name}" is not a tensor')
        if tensor.elem_type not in (self.onnx.TensorProto.FLOAT, self.onnx.TensorProto.DOUBLE):
            raise UnsupportedModelError(f'input "{value.name}" is of type {self.type(tensor.elem_type)}, not float')
        if not tensor.HasField("shape"):
            return [None]
        dims = [int(d.dim_value) if d.HasField("dim_value") else None for d in tensor.shape.dim]
        if any(d is not None and d < 0 for d in dims):
            raise FormatError(f'input "{value.name}" has a negative dimension: {dims}')
        if len(dims) < 2:
            raise UnsupportedModelError(f'input "{value.name}" has {len(dims)} dimensions; (batch, values) is needed')
        self.batch = dims[0]
        return dims[1:]

    def _start(self, shape: tuple[int, ...]) -> Value:
        width = math.prod(shape)
        if not 1 <= width <= MAX_SIDE:
            raise ShapeError(f"inputs of shape {shape} have {width} values; models take 1 ... {MAX_SIDE}")
        if self._input is None:
            self._input = Value(Affine.identity(0, shape))
        elif math.prod(self._input.shape) != width:
            raise ShapeError(f"inputs have {math.prod(self._input.shape)} values in one place and {width} in another")
        return self._input

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one input, without the batch."""
        return () if self._input is None else self._input.shape

    def width(self, operand: Operand, width: int) -> Value:
        """An operand whose number of values an operator fixes."""
        if isinstance(operand, Open):
            if len(operand.dims) != 1:
                raise UnsupportedModelError(f"inputs have open dimensions {operand.dims}: export with fixed ones")
            return self._start((width,))
        return self.value(operand)

    def value(self, operand: Operand) -> Value:
        """An operand that layers compute with."""
        if isinstance(operand, Open):
            raise UnsupportedModelError(f"inputs have open dimensions {operand.dims}: export with fixed ones")
        if isinstance(operand, Formula):
            return self._resolved(operand)
        if isinstance(operand, Sizes):
            raise UnsupportedModelError(
                "sizes of values are supported where they give the shape of others, not as values"
            )
        if isinstance(operand, Tail):
            formula = self.formula(operand)
            if formula is not None:
                return self._resolved(formula)
            if "clip" in operand.stage:
                raise UnsupportedModelError(
                    "Clip is not supported but at the end of a classifier of two classes: of more, it makes scores "
                    "equal that are not; matvec.from_sklearn takes the estimator itself"
                )
            name = {"softmax": "Softmax", "log-softmax": "LogSoftmax", "exp": "Exp"}.get(operand.stage, operand.stage)
            raise UnsupportedModelError(
                f"{name} is not supported inside a model, only at its end, where the client computes it from decrypted "
                "scores"
            )
        if isinstance(operand, Choice):
            raise UnsupportedModelError("the place of a largest value is not supported inside a model, only at its end")
        return operand

    def formula(self, operand: Operand) -> Formula | None:
        """An operand as a function of one value, if it is one that can go on being computed with."""
        if isinstance(operand, Tail) and operand.stage in ("sigmoid", "clip"):
            key = (operand.stage, id(operand.value))
            if key not in self._begun:
                clip = (("low", -1.0), ("high", 1.0))
                name, parameters = ("Sigmoid", ()) if operand.stage == "sigmoid" else ("Clip", clip)
                self._begun[key] = Formula.atom(name, parameters, operand.value)
            return self._begun[key]
        if isinstance(operand, Value):
            return None if operand.layer is not None else Formula.of(operand)
        return operand if isinstance(operand, Formula) else None

    def _resolved(self, formula: Formula) -> Value:
        """A function of one value as the polynomial that `activations` says.

        Raises:
            UnsupportedModelError: it says nothing of it. ParameterError: it says something of another function.
        """
        if formula.resolved is None:
            formula.resolved = self._resolve(formula)
        return formula.resolved

    def _resolve(self, formula: Formula) -> Value:
        if formula.simple is not None:
            atom, (factor, shift) = formula.atoms[0], formula.simple
            assert atom.argument is not None
            value = self._activated(atom.name, atom.parameters, atom.argument)
            return value if (factor, shift) == (1.0, 0.0) else Value(value.line(self.model)).times(factor).plus(shift)
        found = formula.matched()
        missing = formula.missing(list(self.activations))
        if found is not None and (missing or operator_name(found[0]) in self.activations):
            name, parameters, argument, factor = found
            spelled = ", ".join(dict.fromkeys(operator_name(a.name) for a in formula.atoms))
            value = self._activated(name, parameters, argument, f" (written with {spelled})")
            return value if factor == 1.0 else Value(value.line(self.model)).times(factor)
        if missing:
            made_of = ", ".join(dict.fromkeys(operator_name(a.name) for a in formula.atoms))
            raise UnsupportedModelError(
                f"a function of one value, made of {made_of}, is none that is known and no polynomial: name "
                f"an approximation of each: {advice(missing[0].name, missing[0].parameters)}"
            )
        if formula.polynomial is None:
            raise UnsupportedModelError("Div by a value is not supported: it is no polynomial")
        layers: dict[str, Polynomial] = {}
        for a in formula.atoms:
            layer = self._replacement(a.name, a.parameters)
            layers[operator_name(a.name)] = layer if isinstance(layer, Polynomial) else Polynomial([0.0, 0.0, 1.0])
        powers, interval = formula.composed(layers)
        if not 2 <= len(powers) <= MAX_DEGREE + 1:
            raise UnsupportedModelError(
                f"a function of one value becomes a polynomial of degree {len(powers) - 1}, at most {MAX_DEGREE} are "
                "supported: take approximations of lower degrees"
            )
        made = Polynomial(powers)
        if interval is not None:
            made = Polynomial.chebyshev(made.on(*interval), interval)
        return Value(formula.root, powers, made)

    def _replacement(self, name: str, parameters: Parameters, spelled: str = "") -> Polynomial | Square:
        """What `activations` names for an operator.

        Raises:
            UnsupportedModelError: nothing. ParameterError: another function.
        """
        operator = operator_name(name)
        replacement = self.activations.get(operator)
        if replacement is None:
            raise UnsupportedModelError(
                f"{operator}{spelled} is not supported inside a model, for it is no polynomial: train with a square, "
                f"or name what to compute instead on a stated interval: {advice(name, parameters)}"
            )
        other = other_function(replacement, name, parameters)
        if other:
            raise ParameterError(
                f"activations[{operator!r}] approximates {other}, and the model's {operator}{spelled} is "
                f"{described(KNOWN[name].approximation, parameters)}: {advice(name, parameters)}"
            )
        self.replaced.add(operator)
        return replacement.polynomial if isinstance(replacement, Approximation) else replacement

    def _activated(self, name: str, parameters: Parameters, value: Value, spelled: str = "") -> Value:
        """An activation of a value, replaced."""
        layer = self._replacement(name, parameters, spelled)
        powers = (0.0, 0.0, 1.0) if isinstance(layer, Square) else tuple(layer.coefficients.tolist())
        return Value(value.line(self.model), powers, layer)

    def array(self, name: str, where: str, *, integers: bool = False, labels: bool = False) -> npt.NDArray[Any]:
        """A constant: as float64, or as labels of classes, whatever their type."""
        tensor = self.constants[name]
        if isinstance(tensor, np.ndarray):
            found = tensor
            if not labels and found.dtype.kind not in ("fiu" if integers else "f"):
                raise UnsupportedModelError(f'{where}: "{name}" is of type {found.dtype}, not float32 or float64')
        else:
            found = self._stored(tensor, name, where, integers, labels)
        return found if labels else real_numbers(found, f'entries of "{name}"')

    def _stored(self, tensor: Any, name: str, where: str, integers: bool, labels: bool) -> npt.NDArray[Any]:
        types = self.onnx.TensorProto
        allowed = {types.FLOAT, types.DOUBLE}
        if integers or labels:
            allowed |= {types.INT64, types.INT32}
        if labels:
            allowed |= {types.STRING, types.BOOL}
        if tensor.data_type not in allowed:
            raise UnsupportedModelError(
                f'{where}: "{name}" is of type {self.type(tensor.data_type)}, not float32 or float64'
            )
        return stored(self.onnx, tensor, self.folder, f'{where}: "{name}"')

    def type(self, code: int) -> str:
        """A type's name."""
        try:
            return str(self.onnx.TensorProto.DataType.Name(code)).lower()
        except ValueError:
            return f"number {code}"


class Node:
    """A node with its graph: operands and attributes, checked."""

    def __init__(self, graph: Graph, proto: Any) -> None:
        self.graph, self.proto = graph, proto
        self.where = f'node "{proto.name or ", ".join(proto.output) or proto.op_type}"'
        domain = proto.domain or "ai.onnx"
        self.operator = proto.op_type if domain in ("ai.onnx", "ai.onnx.ml") else f"{domain}.{proto.op_type}"
        self.inputs = list(proto.input)

    def operands(self, least: int, most: int) -> None:
        """Refuses another number of inputs."""
        if not least <= len(self.inputs) <= most or not all(self.inputs[:least]):
            raise FormatError(f"{self.where}: {self.operator} has {len(self.inputs)} inputs")

    def attributes(self, **known: Any) -> dict[str, Any]:
        """The attributes over their defaults, whose types are theirs; unknown ones are refused. A type as default
        stands for none: the attribute is None where it is missing."""
        kinds = self.graph.onnx.AttributeProto
        wanted = {int: kinds.INT, float: kinds.FLOAT, str: kinds.STRING}
        lists = {int: kinds.INTS, float: kinds.FLOATS, str: kinds.STRINGS}
        out = {name: None if isinstance(v, type | tuple) else v for name, v in known.items()}
        for a in self.proto.attribute:
            if a.name not in known:
                raise UnsupportedModelError(f'{self.where}: attribute "{a.name}" of {self.operator} is not supported')
            default = known[a.name]
            # (int,) stands for a list of integers.
            kind = (
                lists[default[0]]
                if isinstance(default, tuple)
                else wanted[default if isinstance(default, type) else type(default)]
            )
            if a.type != kind:
                raise FormatError(f'{self.where}: attribute "{a.name}" is of the wrong type')
            value = self.graph.onnx.helper.get_attribute_value(a)
            if isinstance(value, bytes):
                value = value.decode()
            elif not isinstance(value, int | float):
                value = [v.decode() if isinstance(v, bytes) else v for v in value]
            out[a.name] = value
        return out

    def has(self, i: int) -> bool:
        """Whether there is an input i."""
        return i < len(self.inputs) and bool(self.inputs[i])

    def constant(self, i: int) -> bool:
        """Whether input i is a constant."""
        return self.has(i) and self.inputs[i] in self.graph.constants

    def array(self, i: int, *, integers: bool = False, labels: bool = False) -> npt.NDArray[Any]:
        """Constant input i."""
        if not self.constant(i):
            raise UnsupportedModelError(f"{self.where}: input {i} of {self.operator} must be a constant")
        return self.graph.array(self.inputs[i], self.where, integers=integers, labels=labels)

    def integers(self, i: int) -> list[int]:
        """Constant input i, a list of whole numbers."""
        numbers = self.array(i, integers=True).reshape(-1)
        if len(numbers) > 1 << 16 or not np.isfinite(numbers).all() or (numbers % 1).any():
            raise FormatError(f"{self.where}: {self.operator} needs whole numbers")
        return [int(v) for v in numbers]

    def operand(self, i: int = 0) -> Operand:
        """Input i, which is no constant."""
        if self.constant(i) or not self.has(i):
            raise UnsupportedModelError(f"{self.where}: {self.operator} needs the value first and constants second")
        return self.graph.values[self.inputs[i]]

    def value(self, i: int = 0, width: int | None = None) -> Value:
        """Input i as a value to compute with; `width` where the operator fixes how many there are."""
        operand = self.operand(i)
        return self.graph.value(operand) if width is None else self.graph.width(operand, width)

    def line(self, i: int = 0, width: int | None = None) -> Affine:
        """Input i as an affine function."""
        return self.value(i, width).line(self.graph.model)
