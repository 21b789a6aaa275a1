# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""FLINT through python-flint, in this process and on one thread: products of polynomials modulo Phi_m."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import Error

Residues = npt.NDArray[np.uint32]


def load() -> Any:
    """The module.

    Raises:
        Error: it is not installed.
    """
    try:
        module = importlib.import_module("flint")
    except ImportError:
        raise Error("FLINT is not installed: pip install python-flint, or leave the peer out by --peer none") from None
    return module


def version() -> str:
    """Of FLINT itself."""
    return str(load().__FLINT_VERSION__)


@dataclass(frozen=True)
class Product:
    """A product modulo each prime.

    Attributes:
        residues: a row for each prime, reduced modulo Phi_m.
        whole: the same before the reduction.
        multiply, reduce: processor seconds of all primes' products, and of their remainders.
        multiply_wall, reduce_wall: wall seconds of the same.
    """

    residues: Residues
    whole: Residues
    multiply: float
    reduce: float
    multiply_wall: float
    reduce_wall: float


def product(index: int, primes: Sequence[int], a: Residues, b: Residues) -> Product:
    """a * b modulo Phi_index and each prime; rows of residues in, rows out. Conversions are not timed."""
    flint = load()
    cyclotomic = flint.fmpz_poly.cyclotomic(index)
    out, products = np.zeros_like(a), np.zeros((a.shape[0], 2 * a.shape[1] - 1), a.dtype)
    taken = np.zeros((2, 2))
    for i, prime in enumerate(primes):
        modulus = flint.nmod_poly([int(c) % prime for c in cyclotomic.coeffs()], prime)
        x, y = flint.nmod_poly(a[i].tolist(), prime), flint.nmod_poly(b[i].tolist(), prime)
        marks = [_clocks()]
        whole = x * y
        marks.append(_clocks())
        rest = whole % modulus
        marks.append(_clocks())
        taken += np.diff(marks, axis=0)
        for row, polynomial in ((out[i], rest), (products[i], whole)):
            coefficients = [int(c) for c in polynomial.coeffs()]
            row[: len(coefficients)] = coefficients
    (multiply, multiply_wall), (reduce, reduce_wall) = taken.tolist()
    return Product(out, products, multiply, reduce, multiply_wall, reduce_wall)


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()
