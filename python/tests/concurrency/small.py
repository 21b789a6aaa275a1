# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Objects of every system, as small as they come: for tests that care who runs, not what comes out."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from ringforge import _native, bfv, ckks
from ringforge._native import fhew, kernels, psi

WHY = "a test of threads"


@cache
def parameters() -> _native.Parameters:
    primes = kernels.primes_below(50, 4, 1 << 18)
    return _native.Parameters("test", 10, primes[1:], primes[:1], 1, 40.0, WHY)


@cache
def session() -> ckks.Session:
    return ckks.Session(parameters(), threads=2)


@cache
def integer_session() -> bfv.Session:
    primes = kernels.primes_below(50, 4, 1 << 18)
    return bfv.Session(bfv.Parameters("test", 10, 12289, primes[1:], primes[:1], 1, WHY), threads=2)


@cache
def psi_plan() -> psi.Plan:
    """N = 1024 over 50 bits, eight bins of 16 cells of 64 one-bit words."""
    cut = fhew.Cut(8, 4, 18, True)
    modulus = kernels.primes_below(50, 1, 2048)[0]
    return psi.Plan("ringforge", 10, modulus, 3, 4, 6, 1, 0, cut, [cut] * 10, cut, 12, WHY)


@cache
def psi_words() -> npt.NDArray[np.uint16]:
    """Of every cell of every bin: (bins, cells, words)."""
    plan = psi_plan()
    shape = (plan.bins, plan.cells, plan.cell_words)
    return np.random.default_rng(1).integers(0, 2, shape).astype(np.uint16)


def psi_part(
    first: int = 0, count: int = 0
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.uint16]]:
    """Offsets, cells and words of some bins, or of those of a group."""
    plan = psi_plan()
    bins = count or plan.bins // plan.groups
    cells = np.tile(np.arange(plan.cells, dtype=np.uint32), bins)
    offsets = np.arange(bins + 1, dtype=np.uint64) * np.uint64(plan.cells)
    return offsets, cells, psi_words()[first : first + bins].reshape(len(cells), -1)


@cache
def psi_table() -> psi.Table:
    return psi.Table(psi_plan(), *psi_part(0, psi_plan().bins))


def psi_cells(first: int = 0) -> npt.NDArray[np.uint32]:
    """A cell for each bin."""
    plan = psi_plan()
    return (np.arange(first, first + plan.bins) % plan.cells).astype(np.uint32)


@cache
def gate_key() -> fhew.SecretKey:
    return fhew.SecretKey(fhew.parameters("gates-degraded", WHY))


@cache
def evaluation_key() -> fhew.EvaluationKey:
    return fhew.EvaluationKey.make(gate_key(), fhew.Method.GINX, 2)
