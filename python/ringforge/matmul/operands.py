# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Plain operands of encrypted matrices, in the containers that people have them in; and what numpy asks of matrices.

numpy hands its functions over (`__array_ufunc__`, `__array_function__`). pandas and polars have no such protocol for
all operators: see `leave_operators`.
"""

from __future__ import annotations

import array
import datetime
import functools
import math
import numbers
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from ringforge.errors import ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.hidden import Hidden

_CONTAINERS = (np.ndarray, np.generic, list, tuple, range, array.array, memoryview, bytes, bytearray, str)
_SCALARS = (numbers.Number, Decimal, datetime.date, datetime.time, datetime.timedelta, type(None))
#: What data frames, columns, tables, tensors and sparse matrices have.
_PROTOCOLS = ("__array__", "__arrow_c_stream__", "__arrow_c_array__", "__dataframe__", "toarray")

REVEALED = "decrypt() gives the numbers to whoever has the key"


def is_plain(x: Any) -> bool:
    """Return whether x is meant as numbers in the clear, so that it is taken or refused here and by nobody else."""
    return isinstance(x, (*_CONTAINERS, *_SCALARS)) or any(hasattr(type(x), name) for name in _PROTOCOLS)


def is_number(x: Any) -> bool:
    """Return whether x is one real number, numpy's included; a span of time is none."""
    return isinstance(x, numbers.Real) and not isinstance(x, np.timedelta64)


def finite(number: Any, what: str) -> float:
    """Return a number as a double.

    Raises:
        ringforge.ValueError: NaN, infinity, or more than a double holds.
    """
    try:
        found = float(number)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise RingforgeValueError(f"{what} can be multiplied and divided by finite numbers only")
    return found


def check_entrywise(x: Any) -> None:
    """Refuse types whose * is the matrix product, which ours is not.

    Raises:
        ringforge.ValueError: a numpy.matrix, or one of scipy's sparse matrices of old (`csr_matrix`, ...).
    """
    sparse = sys.modules.get("scipy.sparse")
    if isinstance(x, np.matrix) or (sparse is not None and isinstance(x, sparse.spmatrix)):
        raise RingforgeValueError(
            f"* with a {type(x).__name__} means the matrix product, and with encrypted matrices the product entry by "
            "entry: write @, or give it as an array (numpy.asarray, toarray())"
        )


# ---- numpy -----------------------------------------------------------------------------------------


def _no_operator(self: Any, *_: object) -> Any:
    """Refuse an operator that encrypted matrices do not have.

    Raises:
        TypeError: always; it says which they have.
    """
    raise TypeError(
        f"{type(self).__name__} has the operators @, +, -, * and / by plain numbers, and no others: {REVEALED}"
    )


class NotAnArray(Hidden):
    """Mixin of matrices that are none of numpy's own: its functions are carried out by their operators, or refused.

    Without this, numpy would make arrays of objects of them.
    """

    revealed_by = REVEALED

    #: Data frames and columns of pandas leave + - * / to these; `leave_operators` sees to @.
    __pandas_priority__ = 5000

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _no_operator
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __abs__ = __round__ = _no_operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __floor__ = __ceil__ = __trunc__ = _no_operator

    def __array_ufunc__(self, *given: Any, **kwargs: Any) -> Any:
        if given[:2] == (np.add, "reduce"):
            return _sum(*given[2:], **{"axis": 0, **kwargs})
        return super().__array_ufunc__(*given, **kwargs)

    def __array_function__(self, *given: Any, **_: Any) -> Any:
        function, _types, args, kwargs = given
        known = _FUNCTIONS.get(function)
        if known is None:
            raise ParameterError(_refusal(function.__name__))
        return known(*args, **kwargs)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        leave_operators()
        raise ParameterError(
            "an encrypted matrix is no array: decrypt() gives one to whoever has the key; its operators @ + - * / and "
            "numpy.matmul, add, subtract, multiply take plain operands on either side"
        )


def _refusal(name: str) -> str:
    return (
        f"numpy.{name} does not work on encrypted matrices: they have @, +, -, *, / by plain numbers, .T, [...], sum "
        "and mean; numpy.matmul, add, subtract, multiply, divide, negative, dot, sum, mean, transpose, shape, ndim and "
        "size do"
    )


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        raise ParameterError("numpy.dot of encrypted matrices makes a new one: leave out= away")
    return a * b if () in (_shape(a), _shape(b)) else a @ b


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, NotAnArray) else np.shape(x)  # type: ignore[attr-defined]


def _transpose(a: Any, axes: Any = None) -> Any:
    if axes is not None and tuple(int(x) % a.ndim for x in axes) != tuple(range(a.ndim))[::-1]:
        raise ShapeError(f"axes {axes} do not transpose a matrix: leave them away")
    return a.T


def _sum(a: Any, axis: Any = None, *, keepdims: bool = False, **more: Any) -> Any:
    _no_more("sum", more)
    return a.sum(axis, keepdims=keepdims)


def _mean(a: Any, axis: Any = None, *, keepdims: bool = False, **more: Any) -> Any:
    _no_more("mean", more)
    return a.mean(axis, keepdims=keepdims)


def _no_more(name: str, given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise ParameterError(
                f"numpy.{name} of encrypted matrices takes axis and keepdims only: leave {option}= away"
            )


#: What numpy's functions do with encrypted matrices; any other is refused.
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.dot: _dot,
    np.sum: _sum,
    np.mean: _mean,
    np.transpose: _transpose,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: len(a.shape),
    np.size: lambda a: math.prod(a.shape),
}


# ---- other libraries' operators --------------------------------------------------------------------

#: Types of other libraries whose operators, with a matrix of ours on the right, ask it for an array or fail, where
#: Python's protocol has them return NotImplemented; by module.
_ARITHMETIC = ("add", "sub", "mul", "truediv")
_OTHERS = ("floordiv", "mod", "pow", "and", "or", "xor")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_OPERATORS: dict[str, dict[str, tuple[str, ...]]] = {
    "numpy.ma": {"MaskedArray": _ARITHMETIC},
    "pandas": {"DataFrame": ("matmul",), "Series": ("matmul",)},
    "polars": {
        "DataFrame": (*_ARITHMETIC, *_OTHERS, *_COMPARISONS),
        "Series": (*_ARITHMETIC, *_OTHERS, *_COMPARISONS, "matmul", "array_ufunc"),
    },
    "scipy.sparse": {
        f"{form}_{kind}": ("matmul", "mul", "truediv", "pow")
        for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
        for kind in ("array", "matrix")
    },
}


def leave_operators() -> None:
    """Have the data frames and columns of libraries that are imported leave operators with our matrices to these.

    pandas computes `frame @ other` with `numpy.asarray(other)` and asks nobody, so its method is given a first line
    that does what Python's protocol asks for. Called whenever a matrix is made; costs a look-up after the first time.
    """
    for module, types in _OPERATORS.items():
        loaded = sys.modules.get(module)
        if loaded is None or module in _left:
            continue
        if not all(hasattr(loaded, name) for name in types):
            continue  # it is being imported now
        _left.add(module)
        for name, operators in types.items():
            for operator in operators:
                _leave(getattr(loaded, name), f"__{operator}__")


_left: set[str] = set()


def _leave(cls: Any, name: str) -> None:
    original = getattr(cls, name, None)
    if original is None:  # of another release
        return

    @functools.wraps(original)
    def operator(self: Any, *given: Any, **options: Any) -> Any:
        ours = any(isinstance(x, NotAnArray) for x in given)
        return NotImplemented if ours else original(self, *given, **options)

    setattr(cls, name, operator)
