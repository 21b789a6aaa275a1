# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Expressions over named matrices as text, as `ringforge matmul --expr` takes them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ringforge.errors import ParameterError

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.MatMult: operator.matmul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


_OF_SUMS = {"axis", "keepdims"}


def _option(node: ast.expr) -> Any:
    """An axis, None, True or False.

    Raises:
        ParameterError: something else.
    """
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        found = ...
    if not isinstance(found, int | None):
        raise ParameterError(f'"{ast.unparse(node)}" is no axis of a sum: write 0, 1 or None')
    return found


def expression(text: str) -> Callable[..., Any]:
    """A function of named matrices from text such as "X.T @ (X @ w - y)".

    Raises:
        ParameterError: the text is no such expression, or names a matrix that there is not.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise ParameterError(f'"{text}" is no expression: write it as in Python, "A @ B - C.T"') from None

    def value(node: ast.AST | None, names: Mapping[str, Any]) -> Any:
        match node:
            case ast.Name(id=name):
                if name not in names:
                    raise ParameterError(f'the expression uses "{name}"; the inputs are {", ".join(names)}')
                return names[name]
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return number
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                try:
                    return _BINARY[type(op)](value(left, names), value(right, names))
                except TypeError:
                    raise ParameterError(
                        f'"{ast.unparse(node)}" cannot be computed: @ takes two matrices, +, - and * matrices that '
                        "broadcast or numbers, / a matrix and a plain divisor"
                    ) from None
                except ZeroDivisionError as e:
                    raise ParameterError(f'"{ast.unparse(node)}" cannot be computed: {e}') from None
            case ast.UnaryOp(ast.USub(), operand):
                return -value(operand, names)
            case ast.Attribute(inner, "T"):
                return value(inner, names).T
            case ast.Call(func=ast.Attribute(inner, ("sum" | "mean") as name), args=args, keywords=keywords):
                given = [_option(a) for a in args]
                named = {k.arg: _option(k.value) for k in keywords if k.arg in _OF_SUMS}
                of = value(inner, names)
                if len(given) > 1 or len(named) < len(keywords) or not hasattr(of, name) or (given and "axis" in named):
                    raise ParameterError(
                        f'"{ast.unparse(node)}" is not understood: sums and means are of matrices, as A.sum(), '
                        "A.sum(0), A.mean(axis=1, keepdims=True)"
                    )
                return getattr(of, name)(*given, **named)
            case ast.Subscript(inner, index):
                return value(inner, names)[value(index, names)]
            case ast.Tuple(elts):
                return tuple(value(e, names) for e in elts)
            case ast.Slice(lower, upper, step):
                return slice(*(None if x is None else value(x, names) for x in (lower, upper, step)))
        raise ParameterError(
            f'"{ast.unparse(node) if node else text}" is not understood: expressions have names, numbers, '
            "@ + - * /, .T, [a:b, c:d], .sum(axis) and .mean(axis)"
        )

    return lambda **names: value(tree, names)


__all__ = ["expression"]
