# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Activations of ONNX graphs, and functions of one value that are made of them: GELU as exporters write it.

x·(1 + erf(x/√2))/2 is a product of two values that both depend on x. It is kept as a function until a layer needs its
values, and then recognised by its numbers, however the file spells it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ringforge.matvec import functions
from ringforge.matvec.affine import Affine, Value
from ringforge.matvec.approximations import Approximation, described
from ringforge.matvec.model import Square
from ringforge.matvec.polynomial import Polynomial

Array = npt.NDArray[np.float64]
Replacement = Approximation | Polynomial | Square
Parameters = tuple[tuple[str, float], ...]

#: Functions count as equal if their values differ by no more than this part of the largest: float32 constants.
_EQUAL = 1e-5

#: Where functions are compared.
_POINTS = np.linspace(-8.0, 8.0, 321)


@dataclass(frozen=True)
class Known:
    """An activation: the approximation that stands for it, and its values.

    Attributes:
        approximation: function of `matvec.approximations`.
        make: its values in the clear, of its parameters.
        defaults: parameters with ONNX's defaults.
    """

    approximation: str
    make: Callable[..., functions.Function]
    defaults: Parameters = ()


def _plain(function: functions.Function) -> Callable[[], functions.Function]:
    return lambda: function


#: Operators that `activations=` may replace.
KNOWN: dict[str, Known] = {
    "Relu": Known("relu", _plain(functions.relu)),
    "Sigmoid": Known("sigmoid", _plain(functions.sigmoid)),
    "Tanh": Known("tanh", _plain(functions.tanh)),
    "Gelu": Known("gelu", _plain(functions.gelu)),
    "GeluTanh": Known("gelu_tanh", _plain(functions.gelu_tanh)),
    "Erf": Known("erf", _plain(functions.erf)),
    "LeakyRelu": Known("leaky_relu", functions.leaky_relu, (("alpha", 0.01),)),
    "PRelu": Known("leaky_relu", functions.leaky_relu, (("alpha", 0.25),)),
    "Elu": Known("elu", functions.elu, (("alpha", 1.0),)),
    "Selu": Known("selu", _plain(functions.selu)),
    "Celu": Known("celu", functions.celu, (("alpha", 1.0),)),
    "Softplus": Known("softplus", _plain(functions.softplus)),
    "Softsign": Known("softsign", _plain(functions.softsign)),
    "Mish": Known("mish", _plain(functions.mish)),
    "HardSigmoid": Known("hard_sigmoid", functions.hard_sigmoid, (("alpha", 0.2), ("beta", 0.5))),
    "HardSwish": Known("hard_swish", _plain(functions.hard_swish)),
    "Swish": Known("swish", functions.swish, (("alpha", 1.0),)),
    "Clip": Known("clip", functions.clip, (("low", -1.0), ("high", 1.0))),
}

#: Names that `activations=` takes. The tanh form of GELU goes by the operator's name.
REPLACEABLE = tuple(name for name in KNOWN if name != "GeluTanh")

#: Functions that exporters write as several operators.
_COMPOUND: tuple[tuple[str, Parameters], ...] = (
    ("Gelu", ()),
    ("GeluTanh", ()),
    ("Swish", (("alpha", 1.0),)),
    ("HardSwish", ()),
    ("Mish", ()),
    ("Softsign", ()),
    ("Selu", ()),
)


def operator_name(name: str) -> str:
    """The name that `activations=` takes for an entry of `KNOWN`."""
    return "Gelu" if name == "GeluTanh" else name


def advice(name: str, parameters: Parameters) -> str:
    """What to write to have an activation replaced."""
    call = KNOWN[name].approximation
    words = [f"{key}={float(f'{v:.7g}'):g}" for key, v in parameters]
    if call == "gelu_tanh":
        call, words = "gelu", ['approximate="tanh"']
    return (
        f'activations={{"{operator_name(name)}": '
        f"matvec.approximations.{call}({', '.join(['degree', 'interval', *words])})}}"
    )


def other_function(replacement: Replacement, name: str, parameters: Parameters | None) -> str:
    """What a replacement approximates, if that is another function than an operator's; else nothing.

    Squares and polynomials that were not made as approximations are what somebody has trained with.

    Args:
        parameters: None where they are not known yet.
    """
    layer = replacement.polynomial if isinstance(replacement, Approximation) else replacement
    stands_for = layer.stands_for if isinstance(layer, Polynomial) else ""
    known = KNOWN[name]
    if not stands_for:
        return ""
    if parameters is None:
        names = {known.approximation, *({"gelu_tanh"} if name == "Gelu" else ())}
        return "" if stands_for.split(" with ")[0] in names else stands_for
    rounded = tuple((key, float(f"{v:.6g}")) for key, v in parameters)
    return "" if stands_for == described(known.approximation, rounded) else stands_for


@dataclass(frozen=True)
class Atom:
    """One activation inside a formula.

    Attributes:
        argument: the value that it is of, if that is no formula itself.
    """

    name: str
    parameters: Parameters
    argument: Value | None


@dataclass
class Formula:
    """A function, value by value, of an affine function.

    Attributes:
        root: the affine function.
        values: the function's values in the clear.
        polynomial: what it is with given polynomials in place of its atoms; None where a quotient makes it none.
        atoms: the activations inside, in the order of computation.
        lines: the affine functions of the root that it is made of: (constant, slope).
        simple: factor and shift, where it is nothing but its one atom times a number plus another.
        resolved: the value that it has become.
    """

    root: Affine
    values: Callable[[Array], Array]
    polynomial: Callable[[Mapping[str, Polynomial]], np.polynomial.Polynomial] | None
    atoms: tuple[Atom, ...] = ()
    lines: frozenset[tuple[float, float]] = frozenset()
    simple: tuple[float, float] | None = None
    resolved: Value | None = field(default=None, compare=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.root.shape

    @classmethod
    def of(cls, value: Value) -> Formula:
        """A polynomial of the root."""
        made = np.polynomial.Polynomial(np.asarray(value.coefficients))
        c = value.coefficients
        lines = frozenset({(c[0], c[1])} if len(c) == 2 and c[1] else ())
        return cls(value.root, lambda u: np.asarray(made(u)), lambda _: made, (), lines)

    @classmethod
    def atom(cls, name: str, parameters: Parameters, argument: Value | Formula) -> Formula:
        """An activation of a value or of another formula."""
        inner = argument if isinstance(argument, Formula) else cls.of(argument)
        function = KNOWN[name].make(*(v for _, v in parameters))
        before = inner.polynomial

        def polynomial(layers: Mapping[str, Polynomial]) -> np.polynomial.Polynomial:
            assert before is not None
            made = np.polynomial.Polynomial(layers[operator_name(name)].coefficients)
            return made(before(layers))

        alone = isinstance(argument, Value)
        return cls(
            inner.root,
            lambda u: function(inner.values(u)),
            None if before is None else polynomial,
            (*inner.atoms, Atom(name, parameters, argument if isinstance(argument, Value) else None)),
            inner.lines,
            (1.0, 0.0) if alone else None,
        )

    def scaled(self, factor: float, shift: float = 0.0) -> Formula:
        """The function times a number, plus another."""
        before = self.polynomial
        return Formula(
            self.root,
            lambda u: self.values(u) * factor + shift,
            None if before is None else lambda layers: before(layers) * factor + shift,
            self.atoms,
            self.lines,
            None if self.simple is None else (self.simple[0] * factor, self.simple[1] * factor + shift),
        )

    def combined(self, other: Formula, what: str) -> Formula:
        """Sum, difference, product or quotient ("+", "-", "*", "/") of two functions of the same root."""
        first, second = self.polynomial, other.polynomial
        on_arrays = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[what]

        def polynomial(layers: Mapping[str, Polynomial]) -> np.polynomial.Polynomial:
            assert first is not None
            assert second is not None
            a, b = first(layers), second(layers)
            return a + b if what == "+" else a - b if what == "-" else a * b

        return Formula(
            self.root,
            lambda u: np.asarray(on_arrays(self.values(u), other.values(u))),
            None if first is None or second is None or what == "/" else polynomial,
            (*self.atoms, *(a for a in other.atoms if a not in self.atoms)),
            self.lines | other.lines,
        )

    def matched(self) -> tuple[str, Parameters, Value, float] | None:
        """The activation that it is, of which value, and times what; None if it is none that is known."""
        own = [(a.name, a.parameters) for a in self.atoms]
        for constant, slope in self._arguments():
            at = (_POINTS - constant) / slope
            with np.errstate(all="ignore"):
                mine = self.values(at)
            if not np.isfinite(mine).all() or not mine.any():
                continue
            for name, parameters in (*_COMPOUND, *own):
                theirs = KNOWN[name].make(*(v for _, v in parameters))(_POINTS)
                factor = float(mine @ theirs / (theirs @ theirs)) if theirs.any() else 0.0
                if factor and np.abs(mine - factor * theirs).max() <= _EQUAL * np.abs(mine).max():
                    # Exporters' constants are rounded to float32.
                    factor = round(factor) if abs(factor - round(factor)) < _EQUAL else factor
                    return name, parameters, Value(self.root, (constant, slope)), float(factor)
        return None

    def _arguments(self) -> list[tuple[float, float]]:
        """Affine functions of the root that a known function may be of: the root, those that occur, and these times
        the square root of 2, for GELU has x divided by it inside."""
        occurring = sorted(self.lines)
        scaled = [(c * math.sqrt(2), s * math.sqrt(2)) for c, s in occurring]
        return list(dict.fromkeys([(0.0, 1.0), *occurring, *scaled]))

    def composed(self, layers: Mapping[str, Polynomial]) -> tuple[tuple[float, ...], tuple[float, float] | None]:
        """Its coefficients with approximations in place of all atoms, and the interval of the root where these hold."""
        assert self.polynomial is not None
        c = np.trim_zeros(self.polynomial(layers).coef, "b")
        ends: list[tuple[float, float]] = []
        for a in self.atoms:
            interval = layers[operator_name(a.name)].interval
            if interval is None or a.argument is None or a.argument.degree != 1 or not a.argument.coefficients[1]:
                return tuple(c.tolist()), None
            constant, slope = a.argument.coefficients
            first, last = sorted((end - constant) / slope for end in interval)
            ends.append((first, last))
        low, high = max(e[0] for e in ends), min(e[1] for e in ends)
        return tuple(c.tolist()), (low, high) if low < high and math.isfinite(high - low) else None

    def missing(self, given: Sequence[str]) -> list[Atom]:
        """Atoms whose operators are not among the given."""
        return [a for a in self.atoms if operator_name(a.name) not in given]


__all__ = ["KNOWN", "REPLACEABLE", "Formula", "Known", "Replacement", "advice", "operator_name", "other_function"]
