# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random calls on encrypted matrices: operators, functions of numpy, subscripts, on operands in any container."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ringforge import matmul
from tests.calls.containers import FLAT, NUMBERS, ORDERS, REFUSED, SQUARE, contained, numbers, ordered
from tests.calls.outcome import Call, Refused

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "@": operator.matmul, "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "np.matmul": np.matmul, "np.add": np.add, "np.subtract": np.subtract, "np.multiply": np.multiply, "np.dot": np.dot,
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge, "in": operator.contains,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_, "np.maximum": np.maximum,
    "np.equal": np.equal, "np.array_equal": np.array_equal, "np.allclose": np.allclose,
}  # fmt: skip
_UNARY: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "-A": (operator.neg, True), "A.T": (lambda a: a.T, True), "A.sum()": (lambda a: a.sum(), True),
    "A.sum(0)": (lambda a: a.sum(0), True), "A.mean(-1)": (lambda a: a.mean(-1), True), "np.sum": (np.sum, True),
    "np.mean(0)": (lambda a: np.mean(a, 0), True), "np.transpose": (np.transpose, True), "len": (len, True),
    "np.negative": (np.negative, True), "shape": (np.shape, True), "A.sum(7)": (lambda a: a.sum(7), True),
    "list": (list, True), "first": (lambda a: next(iter(a)), True), "reversed": (lambda a: list(reversed(a)), True),
    "unpacked": (lambda a: [*a], True), "zip": (lambda a: [x for x, _ in zip(a, range(99), strict=False)], True),
    "bool": (bool, False), "float": (float, False), "int": (int, False), "abs": (abs, False), "np.abs": (np.abs, False),
    "np.exp": (np.exp, False), "np.asarray": (np.asarray, False), "sorted": (sorted, False), "max": (max, False),
    "np.max": (np.max, False), "if": (lambda a: 1 if a else 0, False), "round": (round, False), "any": (any, False),
    "np.concatenate": (lambda a: np.concatenate([a, a]), False), "np.sort": (np.sort, False),
}  # fmt: skip
#: Functions that compare nothing where there is one entry.
_OF_ONE = ("sorted", "max")
_KEYS: tuple[Any, ...] = (
    0, -1, 1, 9, slice(None), slice(1, None), slice(None, None, -1), slice(0, 0), (0, 0), (slice(None), 1), ..., None,
    [0, 0], [0, -1], np.array([0]), np.array([True, False]), (slice(None), [0]), 1.0, "a", (0, 0, 0), True, np.int8(0),
)  # fmt: skip


def _decrypted(x: Any) -> Any:
    if isinstance(x, list):
        return np.array([_decrypted(y) for y in x])
    return x.decrypt() if hasattr(x, "decrypt") else x


class Matrices:
    """Draws calls on matrices of one session, which keeps what it encrypted."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.session = rng, matmul.Session("matmul-a-128")
        self.kept = {}
        for shape in ((3, 4), (4, 2), (1, 4), (3, 1), (1, 1), (3,), (4,), (1,)):
            a = rng.uniform(-1, 1, shape)
            self.kept[shape] = a, self.session.encrypt(a)

    def _pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def draw(self) -> Call:
        a, encrypted = self._pick(list(self.kept.values()))
        kind = self._pick((self._operator, self._operator, self._operator, self._compared, self._unary, self._key,
                           self._encrypt))  # fmt: skip
        return kind(a, encrypted)  # type: ignore[no-any-return]

    def operand(self, shape: tuple[int, ...]) -> tuple[str, Any, Any]:
        """Text, operand, and the same as an array of numbers or `Refused`."""
        kind = self._pick(NUMBERS) if self.rng.random() < 0.8 else self._pick(REFUSED)
        order = self._pick(ORDERS)
        container = self._pick(FLAT if len(shape) == 1 else SQUARE) if shape else "array"
        a = numbers(self.rng, shape, kind) if shape else numbers(self.rng, (1,), kind)[0]
        try:
            x = contained(ordered(a, order), container, self.rng) if shape else a
        except Exception:  # the container does not take such entries
            container, x = "array", a
        refused = np.size(a) > 0 and (kind in REFUSED or container == "masked")
        # Lists of no rows have no columns either.
        values = a if np.size(a) or container not in ("list", "tuple") else np.asarray(x)
        plain = Refused() if refused else np.zeros(values.shape) if kind in REFUSED else np.asarray(values, np.float64)
        return f"{container} of {kind}, {order}, {shape}", x, plain

    def _shape(self, a: Any, name: str) -> tuple[int, ...]:
        r = self.rng.random()
        if r < 0.15:
            return ()
        if name in ("@", "np.matmul", "np.dot"):
            options: list[tuple[int, ...]] = [(a.shape[-1],), (a.shape[-1], 2), (2, a.shape[0]), (a.shape[0],)]
        else:
            options = [a.shape, a.shape[-1:], (a.shape[0], 1), (1,), (1, 1), (1, a.shape[-1])]
        return self._pick([*options, (2, 3), (5,), (0,), (0, 3)]) if r < 0.35 else self._pick(options)  # type: ignore[no-any-return]

    def _operator(self, a: Any, encrypted: Any) -> Call:
        name = self._pick(list(_BINARY))
        text, x, plain = self.operand(self._shape(a, name))
        f, left = _BINARY[name], self.rng.random() < 0.5
        if name == "/" and isinstance(plain, np.ndarray | np.float64) and not left and (np.asarray(plain) == 0).any():
            plain = Refused()  # numpy gives infinities
        if self.rng.random() < 0.15 and name != "/" and np.shape(plain) in self.kept:
            b, other = self.kept[np.shape(plain)]
            text, x, plain = f"encrypted {b.shape}", other, b

        def want() -> Any:
            if isinstance(plain, Refused):
                return plain
            return f(plain, a) if left else f(a, plain)

        ours = (lambda: _decrypted(f(x, encrypted))) if left else (lambda: _decrypted(f(encrypted, x)))
        return Call(f"{text} {name} A{a.shape}" if left else f"A{a.shape} {name} {text}", ours, want)

    def _compared(self, a: Any, encrypted: Any) -> Call:
        name = self._pick(list(_COMPARED))
        text, x, _ = self.operand(self._pick([a.shape, ()]))
        f, left = _COMPARED[name], self.rng.random() < 0.5 and name not in ("in", "%")
        return Call(
            f"{text} {name} A{a.shape}" if left else f"A{a.shape} {name} {text}",
            lambda: f(x, encrypted) if left else f(encrypted, x),
            Refused,
        )

    def _unary(self, a: Any, encrypted: Any) -> Call:
        name = self._pick([n for n in _UNARY if len(a) > 1 or n not in _OF_ONE])
        f, works = _UNARY[name]
        plain: Callable[[], Any] = (lambda: np.array(f(a))) if works else Refused
        return Call(f"{name} of A{a.shape}", lambda: _decrypted(f(encrypted)), plain)

    def _key(self, a: Any, encrypted: Any) -> Call:
        key = self._pick(_KEYS)
        return Call(f"A{a.shape}[{key!r}]", lambda: _decrypted(encrypted[key]), lambda: np.asarray(a[key]))

    def _encrypt(self, a: Any, _: Any) -> Call:
        shape = self._pick([a.shape, (0,), (0, 3), (2, 2, 2), (2, 5)])
        if len(shape) == 3:
            return Call("encrypt 3 axes", lambda: self.session.encrypt(np.zeros(shape)).decrypt(), Refused)
        text, x, plain = self.operand(shape)
        return Call(f"encrypt {text}", lambda: self.session.encrypt(x, bound=4).decrypt(), lambda: plain)
