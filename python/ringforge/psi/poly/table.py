# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Compiles a server's set into the arrays that polynomials are evaluated from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.errors import Error, ParameterError, ShapeError
from ringforge.psi.hashing import U16, U32, U64, Bytes
from ringforge.psi.poly.plan import HASHES, PlanFields, felts, outputs, places, seal, to_words
from ringforge.psi.table import Allocate, in_memory

Progress = Callable[[float], Any]

#: Elements that are put into sub-bins between two reports of progress.
CHUNK = 1 << 15

#: Share of the time of compiling that goes into sub-bins.
_INSERTING = 0.2

ARRAYS = ("counts", "roots", "labels", "plain")

#: Bytes of the random number that every state of a table with labels seals by.
NONCE_BYTES = 8


@dataclass(frozen=True)
class Arrays:
    """A compiled table; `shapes` has the forms.

    Args:
        counts: elements of each sub-bin (columns, bundles, column bins).
        roots: their residues (columns, bundles, column bins, degree, felts).
        labels: their sealed label words (columns, bundles, column bins, degree, label words, felts).
        plain: coefficients (columns, bundles, 1 + label words, limbs, blocks, degree + 1, 256), in Eval form.
    """

    counts: U16 = field(repr=False)
    roots: U32 = field(repr=False)
    labels: U32 = field(repr=False)
    plain: U64 = field(repr=False)

    @property
    def bytes(self) -> int:
        return self.counts.nbytes + self.roots.nbytes + self.labels.nbytes + self.plain.nbytes

    def all(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS}


def shapes(plan: PlanFields | Any) -> dict[str, tuple[tuple[int, ...], npt.DTypeLike]]:
    """Forms and types of the arrays; all that a table's size depends on is its plan."""
    bins = (plan.columns, plan.bundles, (1 << plan.log_n) // plan.felts)
    members = (*bins, plan.degree)
    block = _native.psi_poly.BLOCK
    plain = (1 + plan.label_words, plan.plain_limbs, (1 << plan.log_n) // block, plan.degree + 1, block)
    return {
        "counts": (bins, np.uint16),
        "roots": ((*members, plan.felts), np.uint32),
        "labels": ((*members, plan.label_words, plan.felts), np.uint32),
        "plain": ((plan.columns, plan.bundles, *plain), np.uint64),
    }


def check_arrays(plan: Any, arrays: Arrays) -> None:
    """Holds forms and types against the plan.

    Raises:
        ShapeError: an array is none of a table of the plan.
    """
    for name, (shape, dtype) in shapes(plan).items():
        array = getattr(arrays, name)
        if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
            raise ShapeError(
                f"{name} of a table by polynomials are {array.shape} of {array.dtype}, the plan has {shape} of "
                f"{np.dtype(dtype).name}"
            )


def table(plan: Any, arrays: Arrays) -> Any:
    """The native table, which shares the arrays.

    Raises:
        ShapeError: the arrays are none of a table of the plan. FormatError: a sub-bin has too many elements.
    """
    check_arrays(plan, arrays)
    return _native.psi_poly.Table(plan, arrays.counts.reshape(-1), arrays.plain.reshape(-1))


def compile_table(
    fields: PlanFields,
    prf: Bytes,
    labels: Bytes | None = None,
    *,
    nonce: bytes = b"",
    threads: int = 1,
    allocate: Allocate = in_memory,
    progress: Progress | None = None,
) -> Arrays:
    """The table of PRF outputs.

    Args:
        prf: different outputs (n, 64): one that comes twice is there twice.
        labels: padded rows (n, L) (`psi.table.pad_labels`), where the plan has labels.
        nonce: 8 bytes, random for each state of a table with labels.
        allocate: as for `psi.table.compile_prf`. progress: told the fraction done; False cancels.

    Raises:
        ParameterError: a bin is full, which chance does with 2^-40 at the plan's capacity.
        ShapeError: arrays of another form. Error: "cancelled".
    """
    plan = fields.native()
    new = {name: allocate(name, shape, dtype) for name, (shape, dtype) in shapes(plan).items()}
    arrays = Arrays(**new)
    for name in ("counts", "roots", "labels"):
        new[name][...] = 0
    _change(
        plan, arrays, outputs(prf), labels, nonce, np.ones(plan.columns * plan.bundles, np.uint8), threads, progress
    )
    return arrays


def update_table(
    fields: PlanFields,
    old: Arrays,
    *,
    removed: Bytes,
    added: Bytes,
    threads: int = 1,
    allocate: Allocate = in_memory,
    progress: Progress | None = None,
) -> Arrays:
    """An earlier table with elements taken out and put in: only bundles of theirs are made again.

    Args:
        old: stays as it is.
        removed, added: different outputs (n, 64); those removed are in the table, those added are not; what is
            put in twice is there until it is removed twice.

    Raises:
        ParameterError: the plan has labels, which every state of a table seals anew (`compile_table`); an element to
            remove is not there; a bin is full. Error: "cancelled".
    """
    plan = fields.native()
    if plan.label_words:
        raise ParameterError("a table with labels is compiled anew: every state seals its labels by a nonce of its own")
    check_arrays(plan, old)
    arrays = Arrays(**{name: allocate(name, a.shape, a.dtype) for name, a in old.all().items()})
    for name, a in old.all().items():
        getattr(arrays, name)[...] = a
    touched = np.zeros(plan.columns * plan.bundles, np.uint8)
    gone = outputs(removed)
    bins, rows = _entries(plan, gone)
    counts, roots, no_labels = (getattr(arrays, x).reshape(-1) for x in ("counts", "roots", "labels"))
    found = _native.psi_poly.remove(plan, counts, roots, no_labels, bins, felts(plan, gone)[rows], touched)
    if found != len(bins):
        raise ParameterError("an element to remove is not in the table")
    _change(plan, arrays, outputs(added), None, b"", touched, threads, progress)
    return arrays


def _entries(plan: Any, prf: Bytes) -> tuple[U32, npt.NDArray[np.intp]]:
    """Bins of all elements' choices, and whose they are."""
    return places(plan, prf).reshape(-1), np.repeat(np.arange(len(prf)), HASHES)


def _change(
    plan: Any,
    arrays: Arrays,
    prf: Bytes,
    labels: Bytes | None,
    nonce: bytes,
    touched: npt.NDArray[np.uint8],
    threads: int,
    progress: Progress | None,
) -> None:
    """Puts elements in, and makes the coefficients of touched bundles."""
    flat = {name: a.reshape(-1) for name, a in arrays.all().items()}
    if labels is not None and plan.label_words:
        if labels.shape[0] != len(prf):
            raise ShapeError(f"{len(labels)} labels for {len(prf)} elements")
        if len(nonce) != NONCE_BYTES:
            raise ParameterError(f"a table with labels needs a nonce of {NONCE_BYTES} bytes")
    elif plan.label_words or (labels is not None and labels.shape[1]):
        raise ShapeError("labels belong to a plan with label_words, and to every element of its table")
    for first in range(0, len(prf), CHUNK):
        part = prf[first : first + CHUNK]
        bins, rows = _entries(plan, part)
        words = np.zeros((len(part), 0), np.uint32)
        if plan.label_words:
            assert labels is not None
            words = to_words(plan, seal(labels[first : first + CHUNK], part, nonce))
        _native.psi_poly.insert(
            plan, flat["counts"], flat["roots"], flat["labels"], bins, felts(plan, part)[rows], words[rows], touched
        )
        _tell(progress, _INSERTING * min(1.0, (first + CHUNK) / len(prf)))
    later = None if progress is None else lambda done: progress(_INSERTING + (1 - _INSERTING) * done)
    _native.psi_poly.interpolate(
        plan, flat["counts"], flat["roots"], flat["labels"], touched, flat["plain"], threads, later
    )
    _tell(progress, 1.0)


def _tell(progress: Progress | None, fraction: float) -> None:
    if progress is not None and progress(fraction) is False:
        raise Error("cancelled")
