# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted integers and arrays of them, with operators."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ringforge.arrays import refuse_masked
from ringforge.bytes_form import File, write
from ringforge.errors import MismatchError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates.bits import Bits, check_same, to_bits
from ringforge.gates.integers.execution import evaluator_of, run
from ringforge.gates.integers.operations import Operation
from ringforge.gates.integers.provenance import Noise, levels, sources_of
from ringforge.gates.integers.records import read, to_bytes
from ringforge.gates.integers.types import IntType, boolean, common_type, int_type
from ringforge.gates.integers.values import EncryptedValue
from ringforge.gates.noise import METHODS

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters

_HIDDEN = "an encrypted integer has no value here; integers.decrypt(secret_key, x) gives it to the key's holder"


class EncryptedArray(EncryptedValue):
    """An array of encrypted integers of one type, of any shape; a single one is an :class:`EncryptedInt`.

    `+ - * // % << >> & | ^ ~ < <= > >= == !=` work element by element, and broadcast, with other arrays, with integers
    and arrays of integers in the clear. Results wrap around as in two's complement. Both operands are of one sign and
    the result has the wider type. Comparisons give arrays of `bool`. Indexing, iteration and `reshape` are numpy's.

    The operators need an evaluator: `evaluator.bind(x)`, or an operand that came from one. Objects never change.
    Made by :func:`ringforge.gates.integers.encrypt`, `from_bytes` and `of_bits`.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single encrypted integer has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> EncryptedArray:
        bits, noise = self._state
        index = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in [i for i in index if not isinstance(i, np.ndarray)]:
            index = (*index, Ellipsis)
        if any(isinstance(i, EncryptedArray) for i in index):
            raise ParameterError("indices are known numbers; integers.select chooses by encrypted ones")
        try:
            found = bits[(*index, slice(None))]
            return made(found, self.dtype, noise.part(index))
        except (IndexError, ShapeError):
            raise IndexError(f"index {index[:-1]} does not fit integers of shape {self.shape}") from None

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError("encrypted arrays do not change: integers.stack and concatenate make new ones")

    def __iter__(self) -> Iterator[EncryptedArray]:
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: Any) -> EncryptedArray:
        """The same integers in another shape, lengths or a tuple of them; one may be -1."""
        bits, noise = self._state
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        try:
            found = np.empty(self.shape, dtype=np.bool_).reshape(lengths).shape
        except (ValueError, TypeError):
            raise ShapeError(f"{self.size} integers do not fit shape {shape}") from None
        sources = None if noise.sources is None else noise.sources.reshape(*found, noise.sources.shape[-1])
        return made(bits.reshape(*found, self.dtype.width), self.dtype, Noise(noise.variance, sources))

    def to_bytes(self) -> bytes:
        """For another process; :func:`ringforge.gates.integers.from_bytes` reads it."""
        return to_bytes(self)

    def save(self, path: File) -> int:
        """Write what `to_bytes` gives to a file's name or to an open binary file; return the number of bytes."""
        return write(path, [self.to_bytes()])

    def __reduce__(self) -> Any:
        # Without the evaluator: who gets them binds them to one of its own.
        return _restored, (self.to_bytes(), self.params)

    def __copy__(self) -> EncryptedArray:
        return self

    def __deepcopy__(self, memo: Any) -> EncryptedArray:
        return self

    def __bool__(self) -> NoReturn:
        raise TypeError(_HIDDEN + "; integers.select chooses by an encrypted comparison")

    def __int__(self) -> NoReturn:
        raise TypeError(_HIDDEN)

    __index__ = __float__ = __int__

    def __repr__(self) -> str:
        shape = f", shape={self.shape}" if self.shape else ""
        return f"{type(self).__name__}({self.dtype}{shape}, {self.params.name}, encrypted)"

    # ---- operators ----

    def __add__(self, other: Any) -> EncryptedArray:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Any) -> EncryptedArray:
        return _arithmetic("add", self, other)

    def __sub__(self, other: Any) -> EncryptedArray:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> EncryptedArray:
        return _arithmetic("sub", self, other, swapped=True)

    def __mul__(self, other: Any) -> EncryptedArray:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> EncryptedArray:
        return _arithmetic("mul", self, other)

    def __floordiv__(self, other: Any) -> EncryptedArray:
        return _divided("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> EncryptedArray:
        return _arithmetic("floordiv", self, other, swapped=True)

    def __mod__(self, other: Any) -> EncryptedArray:
        return _divided("mod", self, other)

    def __rmod__(self, other: Any) -> EncryptedArray:
        return _arithmetic("mod", self, other, swapped=True)

    def __divmod__(self, other: Any) -> tuple[EncryptedArray, EncryptedArray]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[EncryptedArray, EncryptedArray]:
        return other // self, other % self

    def __truediv__(self, other: Any) -> NoReturn:
        raise ParameterError("integers have no / here: a // b rounds down, a % b is what is left")

    __rtruediv__ = __truediv__

    def __and__(self, other: Any) -> EncryptedArray:
        return _bitwise("and", self, other)

    def __or__(self, other: Any) -> EncryptedArray:
        return _bitwise("or", self, other)

    def __xor__(self, other: Any) -> EncryptedArray:
        return _bitwise("xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> EncryptedArray:
        return _unary("not", self, self.dtype)

    def __neg__(self) -> EncryptedArray:
        return _unary("neg", _number(self, "-x"), self.dtype)

    def __pos__(self) -> EncryptedArray:
        return self

    def __abs__(self) -> EncryptedArray:
        return _unary("abs", self, self.dtype) if self.dtype.signed else self

    def __lt__(self, other: Any) -> EncryptedArray:
        return _compared("lt", self, other)

    def __le__(self, other: Any) -> EncryptedArray:
        return _compared("le", self, other)

    def __gt__(self, other: Any) -> EncryptedArray:
        return _compared("gt", self, other)

    def __ge__(self, other: Any) -> EncryptedArray:
        return _compared("ge", self, other)

    def __eq__(self, other: object) -> EncryptedArray:  # type: ignore[override]
        return _compared("eq", self, other)

    def __ne__(self, other: object) -> EncryptedArray:  # type: ignore[override]
        return _compared("ne", self, other)

    def __lshift__(self, by: Any) -> EncryptedArray:
        return _shifted("lshift", self, by)

    def __rshift__(self, by: Any) -> EncryptedArray:
        return _shifted("rshift", self, by)

    def __rlshift__(self, word: Any) -> EncryptedArray:
        return _shifted_plain("lshift", word, self)

    def __rrshift__(self, word: Any) -> EncryptedArray:
        return _shifted_plain("rshift", word, self)

    def rotate_left(self, by: Any) -> EncryptedArray:
        """Bits rotated towards the upper end, by a known or encrypted unsigned number of places, modulo the width."""
        return _shifted("rotate_left", self, by)

    def rotate_right(self, by: Any) -> EncryptedArray:
        """Bits rotated towards the lower end."""
        return _shifted("rotate_right", self, by)

    def if_then_else(self, one: Any, zero: Any) -> EncryptedArray:
        """`one` where this, encrypted truth values, is true, else `zero`: :func:`select`."""
        return select(self, one, zero)

    select = cmux = if_then_else

    # ---- conversions and reductions ----

    def astype(self, dtype: Any) -> EncryptedArray:
        """In another type: upper bits go, or are made as the sign asks; to bool, whether a number is not 0.

        Only the conversion to bool takes bootstraps.
        """
        to = int_type(dtype)
        if to == self.dtype:
            return self
        if to.boolean:
            return _unary("some", self, boolean)
        bits, noise = self._state
        width, words = bits.shape[-1], bits.words
        if to.width > width:
            lines = words[..., -1:, :] if self.dtype.signed else np.zeros_like(words[..., -1:, :])
            words = np.concatenate([words, np.repeat(lines, to.width - width, axis=-2)], axis=-2)
        return made(bits._like(np.ascontiguousarray(words[..., : to.width, :])), to, noise)

    cast = astype

    def sum(self, axis: Any = None, dtype: Any = None) -> EncryptedArray:
        """The sum along an axis or several, or of all, in this type or in `dtype`, which it wraps around in."""
        start = _number(self, "sum") if dtype is None else _number(self, "sum").astype(dtype)
        return _folded(start, axis, lambda a, b: a + b)

    def min(self, other: Any = None, *, axis: Any = None) -> EncryptedArray:
        """The least along an axis or several, or of all; of two operands, tfhe-rs' `x.min(y)`, :func:`minimum`.

        Args:
            other: the other operand, encrypted or an array; a number or a tuple of them is an axis, as with numpy.
            axis: what to go along.
        """
        return _least(self, other, axis, minimum)

    def max(self, other: Any = None, *, axis: Any = None) -> EncryptedArray:
        """The largest along an axis or several, or of all; of two operands, tfhe-rs' `x.max(y)`, :func:`maximum`.

        Args:
            other: the other operand, encrypted or an array; a number or a tuple of them is an axis, as with numpy.
            axis: what to go along.
        """
        return _least(self, other, axis, maximum)

    def transpose(self) -> EncryptedArray:
        """The same integers with the axes in reverse order."""
        return _moved(self, tuple(reversed(range(self.ndim))))

    T = property(transpose)

    def dot(self, other: Any) -> EncryptedArray:
        """Products of vectors and matrices, encrypted or plain, as `x @ other`.

        Raises:
            ShapeError: the inner axes differ in length, or there is a stack of matrices, for which `@` is.
        """
        shape = _shape_of(other)
        if self.ndim > 1 and len(shape) > 2:
            raise ShapeError(f"dot of shapes {self.shape} and {shape}: @ multiplies stacks of matrices")
        return _products(self, other)

    def __matmul__(self, other: Any) -> EncryptedArray:
        return _products(self, other)

    def __rmatmul__(self, other: Any) -> EncryptedArray:
        return _products(other, self)


class EncryptedInt(EncryptedArray):
    """One encrypted integer: an :class:`EncryptedArray` of shape ()."""

    __slots__ = ()

    def to_bits(self) -> Bits:
        """Its bits, the least first."""
        return self.bits


def _restored(data: bytes, params: GateParameters) -> EncryptedArray:
    """Return the integers of a pickle."""
    return made(*read(data, params))


def made(bits: Bits, dtype: IntType, noise: Noise) -> EncryptedArray:
    """An integer, or an array."""
    return (EncryptedInt if bits.ndim == 1 else EncryptedArray)(bits, dtype, noise)


def of_bits(bits: Bits, dtype: Any) -> EncryptedArray:
    """Integers of bits along the last axis, the least first: fresh ones, or those of gates and circuits.

    Bits say nothing of their noise. Bound ones count as their evaluator's gates leave them, others as the noisiest
    method's do, which most evaluators refresh first: `evaluator.bind(bits)` saves it.

    Raises:
        ShapeError: the last axis is no number of this type.
    """
    if not isinstance(bits, Bits):
        raise ParameterError(f"{type(bits).__name__} where encrypted bits are needed: integers.encrypt makes integers")
    methods = METHODS if bits._evaluator is None else (bits._evaluator.method,)
    return made(bits, int_type(dtype), Noise(max(levels(bits.params.name, m).gate.variance for m in methods)))


# ---- operations ----------------------------------------------------------------------------------


def _number(x: EncryptedArray, what: str) -> EncryptedArray:
    if x.dtype.boolean:
        raise MismatchError(f'{what} of bool: convert it first, x.astype("uint8")')
    return x


def _is_plain(other: Any) -> bool:
    return isinstance(other, int | np.integer | np.bool_) and not isinstance(other, np.timedelta64)


def _array_of(other: Any, like: EncryptedArray, dtype: IntType) -> EncryptedArray:
    """Numbers in the clear as integers that anybody can read, for operations with arrays of different ones."""
    refuse_masked(other, "operands")
    if not isinstance(other, list | tuple | np.ndarray):
        raise ParameterError(
            f"{type(other).__name__} is no operand of encrypted integers: take encrypted ones, ints or arrays of ints"
        )
    values = np.asarray(other, dtype=object)
    flat = [dtype.check(v) for v in values.reshape(-1)]
    bits = to_bits(np.array(flat, dtype=object).reshape(values.shape), dtype.width)
    return made(evaluator_of([like]).constant(bits), dtype, Noise(0.0))


def _run(op: Operation, operands: Sequence[EncryptedArray], dtype: IntType) -> EncryptedArray:
    return run(op, operands, dtype, made)


def _operated(
    name: str, a: EncryptedArray, other: Any, dtype: IntType | None, *, swapped: bool = False
) -> EncryptedArray:
    """A binary operation; `dtype` of the result, or None for the operands' common one."""
    if _is_plain(other):
        value = a.dtype.check(int(other))
        op = Operation(name, (a.dtype.width,), a.dtype.signed, a.dtype.width, value, swapped)
        return _run(op, [a], dtype or a.dtype)
    if not isinstance(other, EncryptedArray):
        grouped = _by_value(name, a, other, dtype, swapped)
        if grouped is not None:
            return grouped
        other = _array_of(other, a, a.dtype)
    common = common_type(a.dtype, other.dtype)
    first, second = (other, a) if swapped else (a, other)
    op = Operation(name, (first.dtype.width, second.dtype.width), common.signed, common.width)
    return _run(op, [first, second], dtype or common)


#: Different numbers of a plain array up to which each is a circuit of its own.
_GROUPS = 16


def _by_value(name: str, a: EncryptedArray, other: Any, dtype: IntType | None, swapped: bool) -> EncryptedArray | None:
    """With an array of few different plain numbers: elements of one number together, by its circuit."""
    if not isinstance(other, list | tuple | np.ndarray):
        return None
    values = np.asarray(other, dtype=object)
    different = set(values.reshape(-1).tolist())
    try:
        shape = np.broadcast_shapes(a.shape, values.shape)
    except ValueError:
        raise ShapeError(f"integers of shapes {a.shape} and {values.shape} do not broadcast") from None
    if not 0 < len(different) <= _GROUPS or not all(_is_plain(v) for v in different):
        return None
    spread = np.broadcast_to(values, shape).reshape(-1)
    flat = broadcast(a, shape).reshape(-1)
    parts, places = [], []
    for value in sorted(different):
        where = np.flatnonzero(spread == value)
        places.append(where)
        parts.append(_operated(name, flat[where], int(value), dtype, swapped=swapped))
    order = np.argsort(np.concatenate(places))
    return concatenate(parts)[order].reshape(*shape)


def _arithmetic(name: str, a: EncryptedArray, other: Any, *, swapped: bool = False) -> EncryptedArray:
    _number(a, "arithmetic")
    if name == "mul" and _is_plain(other) and int(other) > 0 and not int(other) & (int(other) - 1):
        return a << (a.dtype.check(int(other)).bit_length() - 1)
    return _operated(name, a, other, None, swapped=swapped)


def _divided(name: str, a: EncryptedArray, other: Any) -> EncryptedArray:
    if not isinstance(other, EncryptedArray):
        if 0 in np.asarray(other, dtype=object).reshape(-1).tolist():
            raise RingforgeValueError("division by the known number 0: divide by something else")
        value = int(other) if _is_plain(other) else 0
        if value > 0 and not value & (value - 1):
            a.dtype.check(value)
            places = value.bit_length() - 1
            return a >> places if name == "floordiv" else a & (value - 1)
    return _arithmetic(name, a, other)


def _bitwise(name: str, a: EncryptedArray, other: Any) -> EncryptedArray:
    return _operated(name, a, other, None)


def _compared(name: str, a: EncryptedArray, other: Any) -> EncryptedArray:
    if _is_plain(other) and not a.dtype.min <= int(other) <= a.dtype.max:
        raise RingforgeValueError(
            f"a number outside {a.dtype}, {a.dtype.min} ... {a.dtype.max}: the comparison is known without decrypting"
        )
    return _operated(name, a, other, boolean)


def _unary(name: str, a: EncryptedArray, dtype: IntType) -> EncryptedArray:
    return _run(Operation(name, (a.dtype.width,), a.dtype.signed, a.dtype.width), [a], dtype)


def _shifted(name: str, a: EncryptedArray, by: Any) -> EncryptedArray:
    _number(a, "shifts and rotations")
    if isinstance(by, EncryptedArray):
        if by.dtype.signed:
            raise MismatchError(f'a number of places of type {by.dtype}: convert it first, by.astype("uint8")')
        op = Operation(name, (a.dtype.width, by.dtype.width), a.dtype.signed, a.dtype.width)
        return _run(op, [a, by], a.dtype)
    if not _is_plain(by):
        raise ParameterError(
            f"{type(by).__name__} is no number of places: take an int or an encrypted unsigned integer"
        )
    if by < 0:
        raise RingforgeValueError(f"{by} places: take 0 or more, or the other direction")
    width, by = a.dtype.width, int(by)
    places = np.arange(width)
    if name.startswith("rotate"):
        source = (places - by if name.endswith("left") else places + by) % width
    else:
        by = min(by, width)
        source = places - by if name == "lshift" else places + by
        if name == "rshift" and a.dtype.signed:
            source = np.minimum(source, width - 1)
    if (source == places).all():
        return a
    bits, noise = a._state
    words = bits.words[..., np.clip(source, 0, width - 1), :]
    words[..., (source < 0) | (source >= width), :] = 0
    return made(bits._like(words), a.dtype, noise)


def _shifted_plain(name: str, word: Any, by: EncryptedArray) -> EncryptedArray:
    """A known number of the type of the places, which are unsigned."""
    if not _is_plain(word):
        raise ParameterError(f"{type(word).__name__} is no number to shift by encrypted places: take an int")
    if _number(by, "shifts").dtype.signed:
        raise MismatchError(f'a number of places of type {by.dtype}: convert it first, by.astype("uint8")')
    op = Operation(name, (by.dtype.width,), False, by.dtype.width, by.dtype.check(int(word)), True)
    return _run(op, [by], by.dtype)


def select(condition: Any, one: Any, zero: Any) -> EncryptedArray:
    """`one` where an encrypted truth value is true, else `zero`; either may be a plain int. Two bootstraps a bit.

    Raises:
        ParameterError: the condition is no encrypted truth value, or neither choice is encrypted.
    """
    if not isinstance(condition, EncryptedArray) or not condition.dtype.boolean:
        what = condition.dtype if isinstance(condition, EncryptedArray) else type(condition).__name__
        raise ParameterError(f"{what} is no encrypted truth value: take a comparison, or x.astype(bool)")
    chosen = [x for x in (one, zero) if isinstance(x, EncryptedArray)]
    if not chosen:
        raise ParameterError('both choices are known: condition.astype("uint8") * one makes a number of them')
    if len(chosen) == 1:
        other, first = (one, True) if chosen[0] is zero else (zero, False)
        dtype = chosen[0].dtype
        if _is_plain(other):
            op = Operation("select", (1, dtype.width), dtype.signed, dtype.width, dtype.check(int(other)), first)
            return _run(op, [condition, chosen[0]], dtype)
        known = _array_of(other, chosen[0], dtype)
        one, zero = (known, zero) if first else (one, known)
    dtype = common_type(one.dtype, zero.dtype)
    op = Operation("select", (1, one.dtype.width, zero.dtype.width), dtype.signed, dtype.width)
    return _run(op, [condition, one, zero], dtype)


where = if_then_else = select


def minimum(a: Any, b: Any) -> EncryptedArray:
    """The smaller of two, element by element; one may be plain."""
    return _either("min", a, b)


def maximum(a: Any, b: Any) -> EncryptedArray:
    """The larger of two, element by element; one may be plain."""
    return _either("max", a, b)


def _either(name: str, a: Any, b: Any) -> EncryptedArray:
    a, b = (a, b) if isinstance(a, EncryptedArray) else (b, a)
    if not isinstance(a, EncryptedArray):
        raise ParameterError("neither operand is an encrypted integer: integers.encrypt makes them")
    return _operated(name, _number(a, name), b, None)


# ---- shapes --------------------------------------------------------------------------------------


def broadcast(x: EncryptedArray, shape: tuple[int, ...]) -> EncryptedArray:
    """The same integers, repeated to a shape as numpy does it."""
    try:
        index = np.broadcast_to(np.arange(x.size).reshape(x.shape), shape)
    except ValueError:
        raise ShapeError(f"integers of shape {x.shape} do not broadcast to {shape}") from None
    return x if x.shape == shape else x.reshape(-1)[index.reshape(-1)].reshape(*shape)


def concatenate(items: Sequence[EncryptedArray], axis: int = 0) -> EncryptedArray:
    """Arrays of one type one after the other along an axis."""
    return _joined(items, axis, np.concatenate)


def stack(items: Sequence[EncryptedArray], axis: int = 0) -> EncryptedArray:
    """Integers or arrays of one type and shape side by side along a new axis."""
    return _joined(items, axis, np.stack)


def _joined(items: Sequence[EncryptedArray], axis: int, how: Any) -> EncryptedArray:
    if not items or not all(isinstance(x, EncryptedArray) for x in items):
        raise ParameterError("take a sequence of encrypted integers, at least one: integers.encrypt makes them")
    first = items[0]
    for x in items[1:]:
        check_same(first, x)
        if x.dtype != first.dtype:
            raise MismatchError(f"{first.dtype} and {x.dtype} in one array: convert one first, x.astype(...)")
    # The bits' own axis comes last in all that is joined, and is none of the integers'.
    axes = first.ndim + (how is np.stack)
    if not -axes <= axis < axes:
        advice = f"take {-axes} ... {axes - 1}" if axes else "integers.stack joins single ones"
        raise ShapeError(f"axis {axis} of integers of shape {first.shape}: {advice}")
    at = axis % axes
    states = [x._state for x in items]
    try:
        words = how([b.words for b, _ in states], axis=at)
        sources = None
        if any(n.is_sum for _, n in states):
            rows = [sources_of(b, n) for b, n in states]
            longest = max(r.shape[-1] for r in rows)
            # Repeats of the first number fill up: sources are a set.
            filled = [np.concatenate([r, np.repeat(r[..., :1], longest - r.shape[-1], axis=-1)], axis=-1) for r in rows]
            sources = how(filled, axis=at)
    except ValueError:
        raise ShapeError(f"integers of shapes {[x.shape for x in items]} cannot be joined along axis {axis}") from None
    evaluator = next((x.evaluator for x in items if x.evaluator is not None), None)
    bits = states[0][0]._like(words).bound(evaluator)
    return made(bits, first.dtype, Noise(max(n.variance for _, n in states), sources))


def _shape_of(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, EncryptedArray) else np.asarray(x, dtype=object).shape


def _moved(x: EncryptedArray, order: Sequence[int]) -> EncryptedArray:
    """The axes in another order."""
    return x.reshape(-1)[np.arange(x.size).reshape(x.shape).transpose(order)] if x.ndim > 1 else x


def _products(a: Any, b: Any) -> EncryptedArray:
    """a @ b, as numpy has it: of vectors, matrices and stacks of them; one may be plain."""
    left, right = _shape_of(a), _shape_of(b)
    if not left or not right or left[-1] != right[-2:][0]:
        raise ShapeError(f"{left} @ {right}: the left one's rows are as long as the right one's columns")
    a = a if isinstance(a, EncryptedArray) else np.asarray(a, dtype=object)
    b = b if isinstance(b, EncryptedArray) else np.asarray(b, dtype=object)
    if len(right) > 1:
        order = (*range(len(right) - 2), len(right) - 1, len(right) - 2)
        b = _moved(b, order) if isinstance(b, EncryptedArray) else b.transpose(order)
        # (..., rows, 1, k) and (..., 1, columns, k).
        b = b.reshape(*b.shape[:-2], *(() if len(left) == 1 else (1,)), *b.shape[-2:])
        a = a if len(left) == 1 else a.reshape(*left[:-1], 1, left[-1])
    products: EncryptedArray = a * b
    return products.sum(axis=-1)


def _least(x: EncryptedArray, other: Any, axis: Any, step: Any) -> EncryptedArray:
    if isinstance(other, int | np.integer | tuple):
        other, axis = None, other
    return _folded(x, axis, step) if other is None else step(x, other)


def _axes(x: EncryptedArray, axis: Any) -> tuple[int, ...]:
    """The axes named, each once, from 0."""
    named = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(i, int | np.integer) for i in named):
        raise ParameterError(f"an axis of type {type(axis).__name__}: take an int, a tuple of them, or None for all")
    found = tuple(int(i) % x.ndim for i in named if -x.ndim <= i < x.ndim)
    if len(set(found)) < len(named):
        raise ShapeError(f"axis {axis} of integers of shape {x.shape}")
    return found


def _folded(x: EncryptedArray, axis: Any, step: Any) -> EncryptedArray:
    """Pairs of halves, until one is left: as few levels as there can be, and all of a level together."""
    if not x.ndim:
        raise ShapeError("a single integer has no axis to go along: take an array of them")
    chosen = _axes(x, axis)
    if len(chosen) == 1:
        axis = chosen[0]
    else:
        kept = [i for i in range(x.ndim) if i not in chosen]
        shape = [x.shape[i] for i in kept]
        x = _moved(x, (*kept, *chosen)).reshape(*shape, math.prod(x.shape[i] for i in chosen))
        axis = len(kept)
    before = (slice(None),) * axis
    if not x.shape[axis]:
        raise ShapeError(f"nothing along axis {axis} of shape {x.shape}: take at least one")
    while (length := x.shape[axis]) > 1:
        half = length // 2
        pairs = step(x[(*before, slice(0, half))], x[(*before, slice(half, 2 * half))])
        x = concatenate([pairs, x[(*before, slice(2 * half, None))]], axis) if length % 2 else pairs
    return x[(*before, 0)]
