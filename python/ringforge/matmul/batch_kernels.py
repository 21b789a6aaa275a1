# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel of many products of batches of matrices, and how `cpu` runs it (docs/matmul-batch.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ringforge import _native
from ringforge._native import BatchMatmul, Context, GaloisKeys, MatrixBatch, RelinKey
from ringforge._native import frozen as native
from ringforge.devices import Execution, Implementation, KeySet, Needs, Preparation, Report, register, register_cases
from ringforge.devices.cpu import counted
from ringforge.errors import LevelError, MismatchError, MissingKeyError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matmul.blocks import Counter, Pair

Lines = Literal["columns", "rows"]

_LINES: dict[Lines, _native.Lines] = {"columns": _native.Lines.columns, "rows": _native.Lines.rows}


def native_lines(by: Lines) -> _native.Lines:
    """The library's name of a form.

    Raises:
        ringforge.ValueError: there is no such form.
    """
    if by not in _LINES:
        raise RingforgeValueError(f'matrices are kept by "columns" or by "rows", not by {by!r}')
    return _LINES[by]


def lines_of(batch: MatrixBatch) -> Lines:
    """Which lines of a batch are ciphertexts of their own."""
    return "columns" if batch.by == _native.Lines.columns else "rows"


@dataclass(frozen=True, eq=False)
class BatchKernel:
    """Products of batches of encrypted d x d matrices: many batches, each product that of two of them.

    Inputs are `MatrixBatch`, all of one level; results the products, in the order of `pairs`, one level lower. Keys:
    the d - 1 Galois keys of `native().required_keys`, and the relinearisation key.

    Attributes:
        context: parameters.
        dim: d.
        level: of the inputs, at least 1.
        forms: of each input, by which lines it is. A left operand by rows, or a right one by columns, is converted in
            each of its products.
        pairs: of each product the numbers of its left and of its right operand.
        by: form of the results.
    """

    context: Context
    dim: int
    level: int
    forms: tuple[Lines, ...]
    pairs: tuple[Pair, ...]
    by: Lines = "columns"

    def __post_init__(self) -> None:
        for form in (*self.forms, self.by):
            native_lines(form)
        count = len(self.forms)
        if not self.pairs or not all(0 <= k < count for pair in self.pairs for k in pair):
            raise ShapeError(
                f"{len(self.pairs)} products of {count} batches: give one pair at least, with numbers of batches that "
                "there are"
            )
        if self.level < 1:
            raise LevelError("a product of batches needs operands of level 1 at least (it is rescaled once), not 0")

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)

    def native(self) -> BatchMatmul:
        """The library's object.

        Raises:
            ShapeError: there are no products of such matrices.
        """
        return BatchMatmul(self.context, self.dim)

    def conversions(self, pair: Pair) -> int:
        """Operands of a product that are converted first."""
        left, right = pair
        return (self.forms[left] != "columns") + (self.forms[right] != "rows")


def check_inputs(kernel: BatchKernel, known: BatchMatmul, inputs: Sequence[Any], key_id: int) -> None:
    """Refuses inputs that are none of the kernel's, before anything is computed or sent.

    Args:
        known: the kernel's native object. key_id: of the evaluation keys.

    Raises:
        ShapeError: another number of batches, or of lines in one. MismatchError: no batches, of other parameters or
        another form, or under another secret key. LevelError: of another level. ScaleError: the scales of
        a batch's lines differ.
    """
    if len(inputs) != len(kernel.forms):
        raise ShapeError(f"{len(inputs)} batches, where the kernel takes {len(kernel.forms)}")
    for k, (batch, form) in enumerate(zip(inputs, kernel.forms, strict=True), 1):
        if not isinstance(batch, MatrixBatch):
            raise MismatchError(f"the kernel takes batches of matrices, not {type(batch).__name__}")
        # Predictions hold a batch against context and dimension, and its lines against each other.
        known.error_bound(batch)
        if batch.line(0).key_id != key_id:
            raise MismatchError(
                f"batch {k} was made under another secret key than the evaluation keys: use keys made together"
            )
        if lines_of(batch) != form:
            raise MismatchError(f"batch {k} is by {lines_of(batch)}; the kernel was made for one by {form}")
        if batch.level != kernel.level:
            raise LevelError(
                f"levels differ: batch {k} has level {batch.level}, others {kernel.level}; drop the higher ones with "
                "drop_to_level"
            )


def check_keys(kernel: BatchKernel, known: BatchMatmul, keys: KeySet) -> RelinKey:
    """Refuses keys that do not do for a kernel, before they are put or used; the relinearisation key.

    Args:
        known: the kernel's native object.

    Raises:
        MissingKeyError: a key is missing. LevelError: one was made for a lower level. MismatchError: they belong to
        other parameters, or to different secret keys.
    """
    relin = keys.required_relin()
    native.check(kernel.context, relin)
    native.check(kernel.context, keys.galois)
    if relin.level < kernel.level:
        raise LevelError(
            f"the relinearisation key was made for level {relin.level}, the batches have {kernel.level}: make keys for "
            "a higher level, or drop the batches to the keys' with drop_to_level"
        )
    for element in known.required_keys:
        if element not in keys.galois:
            raise MissingKeyError(
                f"matrices of {kernel.dim} x {kernel.dim} need the {kernel.dim - 1} Galois keys of required_keys; that "
                f"of element {element} is missing"
            )
        if keys.galois.level(element) < kernel.level:
            raise LevelError(
                f"the Galois key of element {element} was made for level {keys.galois.level(element)}, the batches "
                f"have {kernel.level}: make keys for a higher level, or drop the batches to the keys' with "
                "drop_to_level"
            )
        if keys.galois.key_id(element) != relin.key_id:
            raise MismatchError(
                "Galois and relinearisation keys belong to different secret keys: use keys made together"
            )
    return relin


@dataclass(frozen=True)
class Ready:
    """A kernel with what computes its products."""

    kernel: BatchKernel
    native: BatchMatmul
    galois: GaloisKeys
    relin: RelinKey

    def product(self, left: MatrixBatch, right: MatrixBatch, threads: int) -> MatrixBatch:
        """One product; raises as `BatchProduct.multiply`."""
        made, _ = self.native.multiply(left, right, self.galois, self.relin, native_lines(self.kernel.by), threads)
        return made


class _Cpu(Implementation):
    def prepare(self, p: Preparation[BatchKernel]) -> Ready:
        known = p.kernel.native()
        relin = check_keys(p.kernel, known, p.keys)
        return Ready(p.kernel, known, p.keys.galois, relin)

    def run(self, r: Execution[BatchKernel, Ready]) -> tuple[list[Any], Report]:
        kernel, state = r.kernel, r.state
        check_inputs(kernel, state.native, r.inputs, state.relin.key_id)
        done = Counter(r.progress, len(kernel.pairs))

        def compute() -> list[Any]:
            out = []
            for left, right in kernel.pairs:
                out.append(state.product(r.inputs[left], r.inputs[right], r.threads))
                done()
            return out

        return counted(kernel.context, r.inputs, compute, kernel.dim)


register(BatchKernel, "cpu", _Cpu())
register_cases(BatchKernel, "ringforge.matmul.batch_cases")
