# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels behind the affine transform: range check and compression.

`cpu` runs both on ciphertexts, `clear` the range check on the slots themselves.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import RelinKey
from ringforge._native.bfv import Ciphertext, Context, Evaluator
from ringforge._native.omr import CompressionKeys, CompressionPlan
from ringforge.devices import Execution, Implementation, Needs, Preparation, Report, register, register_cases
from ringforge.devices.cpu import operation_counts
from ringforge.errors import LevelError, MismatchError, MissingKeyError, ShapeError
from ringforge.omr.range_check import Program, in_clear

__all__ = ["CompressionKernel", "RangeCheckKernel"]


@dataclass(frozen=True)
class RangeCheckKernel:
    """1 in the slots of entries all of whose errors are in range, 0 in all others.

    Keys: the relinearisation key. The inputs are errors of signals, one ciphertext for each clue, the result is one
    ciphertext of the program's limbs. A progress that returns False cancels: Error "cancelled".

    Attributes:
        context: BFV parameters. program: of the range check, planned for the inputs' noise.
    """

    context: Context
    program: Program

    def needs(self) -> Needs:
        """What it asks of a device."""
        return _needs(self.context, max(reg.limbs for reg in self.program.inputs))

    def relin(self, key: RelinKey | None) -> RelinKey:
        """The key, if it is one of this context with enough limbs.

        Raises:
            MissingKeyError: there is none.
        """
        if key is None:
            raise MissingKeyError("the range check needs a relinearisation key, which this key set lacks")
        return key

    def checked(self, inputs: Sequence[Any], kind: type) -> list[Any]:
        """The inputs.

        Raises:
            ShapeError: another number. MismatchError: of another kind.
        """
        count = len(self.program.inputs)
        if len(inputs) != count:
            raise ShapeError(f"{len(inputs)} inputs, where the range check takes errors of {count} clues")
        for x in inputs:
            if not isinstance(x, kind):
                raise MismatchError(f"the range check takes {kind.__name__}, not {type(x).__name__}")
        return list(inputs)


@dataclass(frozen=True)
class CompressionKernel:
    """The part of a digest of the units [first, first + count): its result is a record, `bytes`.

    Keys: `CompressionKeys` among the key set's own. Operands are the words that entries are weighted with, uint32[N,
    plan.words] below t. The input is the result of a range check over two limbs. Whatever the units are cut into, the
    digest is the same. A progress that returns False cancels: Error "cancelled".

    Attributes:
        context: BFV parameters of the range check. plan: of the digest.
    """

    context: Context
    plan: CompressionPlan
    first: int
    count: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return _needs(self.context, 2)

    def checked(self, operands: Any) -> npt.NDArray[np.uint32]:
        """The words.

        Raises:
            ShapeError: of another shape or type.
        """
        shape = (self.context.params.degree, self.plan.words)
        if not isinstance(operands, np.ndarray) or operands.shape != shape or operands.dtype != np.uint32:
            raise ShapeError(f"the operands are no words of entries: uint32{shape} is needed")
        return np.ascontiguousarray(operands)

    def input(self, inputs: Sequence[Any]) -> Ciphertext:
        """The input.

        Raises:
            ShapeError: there is not one. MismatchError: no ciphertext. LevelError: it has other than two limbs.
        """
        if len(inputs) != 1:
            raise ShapeError(f"{len(inputs)} inputs, where compression takes the result of a range check")
        if not isinstance(inputs[0], Ciphertext):
            raise MismatchError(f"compression takes the result of a range check, not {type(inputs[0]).__name__}")
        if inputs[0].limbs != 2:
            raise LevelError(f"compression takes a ciphertext of two limbs, this one has {inputs[0].limbs}")
        return inputs[0]


def _needs(context: Context, limbs: int) -> Needs:
    p = context.params
    return Needs(p.degree, limbs, max(q.bit_length() for q in (*p.q, *p.p)))


def compression_keys(p: Preparation[CompressionKernel]) -> CompressionKeys:
    """The keys of a key set.

    Raises:
        MissingKeyError: it has none.
    """
    found = p.keys.of(CompressionKeys)
    if found is None:
        raise MissingKeyError("compression needs keys of compression, which this key set lacks")
    return found


class _CpuRangeCheck(Implementation):
    def prepare(self, p: Preparation[RangeCheckKernel]) -> RelinKey:
        return p.kernel.relin(p.keys.relin)

    def run(self, r: Execution[RangeCheckKernel, RelinKey]) -> tuple[list[Any], Report]:
        inputs = r.kernel.checked(r.inputs, Ciphertext)
        start = time.perf_counter()
        with _native.counting() as did:
            made = r.kernel.program.run(Evaluator(r.kernel.context, r.threads), r.state, inputs, r.progress)
        counts = did.operations
        traffic = {"keys": int(counts.key_bytes)}
        return [made], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operation_counts(counts))


class _CpuCompression(Implementation):
    def prepare(self, p: Preparation[CompressionKernel]) -> tuple[CompressionKeys, npt.NDArray[np.uint32]]:
        return compression_keys(p), p.kernel.checked(p.operands)

    def run(
        self, r: Execution[CompressionKernel, tuple[CompressionKeys, npt.NDArray[np.uint32]]]
    ) -> tuple[list[Any], Report]:
        kernel, (keys, words) = r.kernel, r.state
        u = kernel.input(r.inputs)
        start = time.perf_counter()
        with _native.counting() as did:
            made = bytes(kernel.plan.part(keys, u, words, kernel.first, kernel.count, r.threads, r.progress))
        counts = did.operations
        traffic = {"keys": int(counts.key_bytes)}
        return [made], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operation_counts(counts))

    def storage(self, state: tuple[CompressionKeys, npt.NDArray[np.uint32]]) -> int:
        return state[1].nbytes


class _ClearRangeCheck(Implementation):
    def run(self, r: Execution[RangeCheckKernel, None]) -> tuple[list[Any], Report]:
        start, context = time.perf_counter(), r.kernel.context
        slots = [np.asarray(x, np.int64) for x in r.kernel.checked(r.inputs, np.ndarray)]
        if any(x.shape != (context.params.degree,) for x in slots):
            raise ShapeError(f"slots of shape {slots[0].shape}; ({context.params.degree},) is needed")
        rows = zip(*(x.tolist() for x in slots), strict=True)
        made = np.array([in_clear(r.kernel.program, row, context.params.t) for row in rows])
        return [made], Report(r.device.name, time.perf_counter() - start)


register(RangeCheckKernel, "cpu", _CpuRangeCheck())
register(CompressionKernel, "cpu", _CpuCompression())
register(RangeCheckKernel, "clear", _ClearRangeCheck())
register_cases(RangeCheckKernel, "ringforge.omr.check_cases")
register_cases(CompressionKernel, "ringforge.omr.check_cases")
