# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of detection: rotations of a signal key, and a bulletin's affine transform under them.

`cpu` runs them on BFV ciphertexts, `clear` on the slots themselves.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import GaloisKeys
from ringforge._native.bfv import Ciphertext, Context
from ringforge._native.omr import Affine, AffineLayout, Babies
from ringforge.devices import Execution, Implementation, Needs, Preparation, Report, register, register_cases
from ringforge.errors import MismatchError, ShapeError

__all__ = ["AffineKernel", "AffineShape", "BabiesKernel"]

Bytes = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AffineShape:
    """What both kernels depend on.

    Attributes:
        context: BFV parameters; N slots modulo t.
        columns: n, words of a signal. outputs: its clues. babies: B, baby steps.
        method: "ringforge" or "paper".
        limbs: of the encrypted key.
    """

    context: Context
    columns: int
    outputs: int
    babies: int
    method: str
    limbs: int

    @property
    def layout(self) -> AffineLayout:
        """Where words lie in diagonals."""
        return _layout(self)

    @property
    def native(self) -> Affine:
        """The library's object."""
        return _affine(self)

    def needs(self) -> Needs:
        """What it asks of a device."""
        p = self.context.params
        return Needs(p.degree, self.limbs, max(q.bit_length() for q in (*p.q, *p.p)))


@cache
def _layout(s: AffineShape) -> AffineLayout:
    p = s.context.params
    return AffineLayout(p.log_n, p.t, s.columns, s.outputs, s.babies, s.method)


@cache
def _affine(s: AffineShape) -> Affine:
    return Affine(s.context, _layout(s), s.limbs)


@dataclass(frozen=True)
class BabiesKernel:
    """Rotations of a signal key by 0, 1, 2 ... slots, each from the one before.

    Keys: the Galois key of one step. The input is the encrypted key of signals, the result `Babies`, for any number of
    bulletins.
    """

    shape: AffineShape

    def needs(self) -> Needs:
        """What it asks of a device."""
        return self.shape.needs()


@dataclass(frozen=True)
class AffineKernel:
    """The affine transform of the giant steps [first, first + count) of a bulletin (SophOMR, Algorithm 1).

    Operands are the packed diagonals of each of these giant steps, as `AffineLayout.encode` gives them; keys the Galois
    key of B steps, when there are two or more of them. The input is a result of a :class:`BabiesKernel` of the same
    shape, the results are one ciphertext for each output. A progress that returns False cancels: Error "cancelled".
    """

    shape: AffineShape
    first: int
    count: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return self.shape.needs()

    def checked(self, operands: Any) -> list[Bytes]:
        """The diagonals.

        Raises:
            ShapeError: they are not those of these giant steps.
        """
        given = list(operands) if operands is not None else []
        sizes = [self.shape.layout.bytes(g) for g in range(self.first, self.first + self.count)]
        if [getattr(d, "nbytes", -1) for d in given] != sizes:
            raise ShapeError(
                f"the operands are no diagonals of giant steps {self.first} ... {self.first + self.count - 1} of this "
                "layout: encode them with it"
            )
        return given


# ---- cpu -----------------------------------------------------------------------------------------


def _one(inputs: Sequence[Any], kind: type, what: str) -> Any:
    if len(inputs) != 1:
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes {what}")
    if not isinstance(inputs[0], kind):
        raise MismatchError(f"the kernel takes {what}, not {type(inputs[0]).__name__}")
    return inputs[0]


def _operations(counts: _native.OpCounts) -> dict[str, int]:
    names = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul")
    return {name: int(getattr(counts, name)) for name in names}


class _CpuBabies(Implementation):
    def prepare(self, p: Preparation[BabiesKernel]) -> GaloisKeys:
        return p.keys.galois

    def run(self, r: Execution[BabiesKernel, GaloisKeys]) -> tuple[list[Any], Report]:
        key = _one(r.inputs, Ciphertext, "one encrypted key of signals")
        start = time.perf_counter()
        with _native.counting() as did:
            made = r.kernel.shape.native.babies(key, r.state, r.threads, r.progress)
        counts = did.operations
        traffic = {"keys": int(counts.key_bytes)}
        return [made], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=_operations(counts))


class _CpuAffine(Implementation):
    def prepare(self, p: Preparation[AffineKernel]) -> tuple[list[Bytes], GaloisKeys]:
        return p.kernel.checked(p.operands), p.keys.galois

    def run(self, r: Execution[AffineKernel, tuple[list[Bytes], GaloisKeys]]) -> tuple[list[Any], Report]:
        babies = _one(r.inputs, Babies, "rotations of a key")
        diagonals, galois = r.state
        start = time.perf_counter()
        with _native.counting() as did:
            made = r.kernel.shape.native.run(babies, r.kernel.first, diagonals, galois, r.threads, r.progress)
        counts = did.operations
        traffic = {"keys": int(counts.key_bytes), "matrix": int(counts.plaintext_bytes)}
        return list(made), Report("cpu", time.perf_counter() - start, bytes=traffic, operations=_operations(counts))

    def storage(self, state: tuple[list[Bytes], GaloisKeys]) -> int:
        return sum(d.nbytes for d in state[0])


# ---- clear ---------------------------------------------------------------------------------------


def rotated(slots: Slots, step: int) -> Slots:
    """Both rows to the left."""
    return np.roll(slots.reshape(2, -1), -step, axis=1).reshape(-1)


class _ClearBabies(Implementation):
    def run(self, r: Execution[BabiesKernel, None]) -> tuple[list[Any], Report]:
        start, shape = time.perf_counter(), r.kernel.shape
        slots = np.asarray(_one(r.inputs, np.ndarray, "the slots of a key of signals"), np.int64)
        if slots.shape != (shape.context.params.degree,):
            raise ShapeError(f"slots of shape {slots.shape}; ({shape.context.params.degree},) is needed")
        made = np.stack([rotated(slots, b) for b in range(shape.layout.rotations)])
        report = Report(r.device.name, time.perf_counter() - start, operations={"rotation": shape.layout.rotations - 1})
        return [made], report


class _ClearAffine(Implementation):
    def prepare(self, p: Preparation[AffineKernel]) -> list[Bytes]:
        return p.kernel.checked(p.operands)

    def run(self, r: Execution[AffineKernel, list[Bytes]]) -> tuple[list[Any], Report]:
        start, shape = time.perf_counter(), r.kernel.shape
        babies = _one(r.inputs, np.ndarray, "rotations of a key")
        context, layout = shape.context, shape.layout
        t, degree = context.params.t, context.params.degree
        if babies.shape != (layout.rotations, degree):
            raise ShapeError(f"rotations of shape {babies.shape}; ({layout.rotations}, {degree}) is needed")
        out = [np.zeros(degree, np.int64) for _ in range(shape.outputs)]
        for i in reversed(range(r.kernel.count)):
            terms = layout.terms(r.kernel.first + i)
            diagonals = _slots(context, r.state[i], layout.matrices * terms)
            for clue in range(shape.outputs):
                first = clue * terms if layout.matrices > 1 else 0
                offset = 0 if layout.matrices > 1 else clue
                total = rotated(out[clue], shape.babies)
                for b in range(terms):
                    total = (total + diagonals[first + b] * babies[offset + b]) % t
                out[clue] = total
        products = shape.outputs * sum(layout.terms(r.kernel.first + i) for i in range(r.kernel.count))
        operations = {"plain_mul": products, "rotation": shape.outputs * (r.kernel.count - 1)}
        return list(out), Report(r.device.name, time.perf_counter() - start, operations=operations)

    def storage(self, state: list[Bytes]) -> int:
        return sum(d.nbytes for d in state)


def _slots(context: Context, packed: Bytes, count: int) -> list[Slots]:
    """Slots of packed polynomials."""
    bits, degree = context.params.t.bit_length(), context.params.degree
    words = np.unpackbits(packed, bitorder="little").reshape(count, degree, bits).astype(np.int64)
    coefficients = words @ (1 << np.arange(bits, dtype=np.int64))
    return [
        np.asarray(context.decode(context.encode_coefficients(np.ascontiguousarray(row)))).astype(np.int64)
        for row in coefficients
    ]


register(BabiesKernel, "cpu", _CpuBabies())
register(AffineKernel, "cpu", _CpuAffine())
register(BabiesKernel, "clear", _ClearBabies())
register(AffineKernel, "clear", _ClearAffine())
register_cases(BabiesKernel, "ringforge.omr.cases")
register_cases(AffineKernel, "ringforge.omr.cases")
