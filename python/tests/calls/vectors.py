# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random calls that encrypt vectors under CKKS, BFV, BGV and as bits, and compare or iterate what came out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ringforge import bfv, bgv, ckks, gates
from tests.calls.containers import FLAT, NUMBERS, ORDERS, REFUSED, contained, numbers, ordered
from tests.calls.outcome import Call, Refused

_WHOLE = ("i8", "i4", "i1", "u1", "u8", "?")


class Vectors:
    """Draws calls on sessions of each scheme."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.ckks, self.bfv = ckks.Session("set-a"), bfv.Session("bfv-13")
        self.bgv = bgv.Session(bgv.Parameters.named("bgv-test", insecure="a test"))
        self.secret, key = gates.keygen("gates-128")
        self.gates = gates.Evaluator(key)
        self.made = [self.ckks.encrypt([0.5]), self.bfv.encrypt([1]), self.bgv.encrypt(b"a", packing="bytes"),
                     gates.encrypt(self.secret, [0, 1])]  # fmt: skip

    def _pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def draw(self) -> Call:
        return self._pick((self._ckks, self._bfv, self._bgv, self._bits, self._asked))()  # type: ignore[no-any-return]

    def _vector(self, good: tuple[str, ...]) -> tuple[str, Any, Any, bool]:
        kind = self._pick(good) if self.rng.random() < 0.7 else self._pick(REFUSED)
        shape = self._pick(((5,), (1,), (0,), (5,), (7,), (2, 3)))
        a = numbers(self.rng, shape, kind)
        container, order = self._pick(FLAT) if len(shape) == 1 else "array", self._pick(ORDERS)
        try:
            x = contained(ordered(a, order), container, self.rng)
        except Exception:  # the container does not take such entries
            container, x = "array", a
        right = (kind in good or a.size == 0) and not (container == "masked" and a.size)
        return f"{container} of {kind}, {order}, {shape}", x, a, right

    def _ckks(self) -> Call:
        text, x, a, right = self._vector((*NUMBERS, "complex"))

        def want() -> Any:
            return np.asarray(a, complex) if right and a.ndim == 1 else Refused()

        return Call(f"ckks {text}", lambda: self.ckks.decrypt(self.ckks.encrypt(x, bound=8))[: len(a)], want)

    def _bfv(self) -> Call:
        text, x, a, right = self._vector(_WHOLE)

        def want() -> Any:
            return np.asarray(a, int) if right and a.ndim == 1 else Refused()

        def call() -> Any:
            got = self.bfv.decrypt(self.bfv.encrypt(x))
            if a.ndim == 2:
                return got.reshape(2, -1)[:, :3]
            return got[: len(a)]

        return Call(f"bfv {text}", call, (lambda: np.asarray(a, int)) if right and a.ndim == 2 else want)

    def _bgv(self) -> Call:
        raw = self.rng.integers(0, 256, int(self._pick((1, 2, 16)))).astype("u1")
        forms: dict[str, Callable[[], Any]] = {
            "bytes": raw.tobytes, "bytearray": lambda: bytearray(raw), "memoryview": lambda: memoryview(raw.tobytes()),
            "array": lambda: raw, "list": raw.tolist, "i8": lambda: raw.astype("i8"),
            "reversed": lambda: raw[::-1].copy()[::-1],
            "text": lambda: "text", "float": lambda: raw + 0.5, "negative": lambda: -1 - raw.astype(int),
            "large": lambda: raw.astype(int) + 256, "masked": lambda: np.ma.MaskedArray(raw, raw == raw[0]),
        }  # fmt: skip
        form = self._pick(list(forms))
        right = form not in ("text", "float", "negative", "large", "masked")

        def call() -> Any:
            got = self.bgv.decrypt(self.bgv.encrypt(forms[form](), packing="bytes"), packing="bytes")
            return np.asarray(bytearray(got))[: len(raw)]

        return Call(f"bgv bytes of {form}, {len(raw)}", call, lambda: raw if right else Refused())

    def _bits(self) -> Call:
        text, x, a, right = self._vector(("?", "u1", "i8"))
        binary = right and a.size and bool(np.isin(a, (0, 1)).all())

        def want() -> Any:
            return np.asarray(a, bool) if binary or (right and not a.size) else Refused()

        return Call(f"bits {text}", lambda: gates.decrypt(self.secret, gates.encrypt(self.secret, x)), want)

    def _asked(self) -> Call:
        c = self._pick(self.made)
        questions: dict[str, Callable[[Any], Any]] = {
            "== 1": lambda c: c == 1, "!= c": lambda c: c != c, "bool": bool, "if": lambda c: 1 if c else 0,
            "< 2": lambda c: c < 2, "float": float, "int": int, "== [..]": lambda c: c == np.array([1.0]),
            "in": lambda c: 1 in c,
            "np.asarray": np.asarray, "np.exp": np.exp, "array == ": lambda c: np.array([1, 2]) == c,
        }  # fmt: skip
        name = self._pick(list(questions))
        return Call(f"{type(c).__module__}.{type(c).__name__}: {name}", lambda: questions[name](c), Refused)
