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
    """

    residues: Residues
    whole: Residues
    multiply: float
    reduce: float


def product(index: int, primes: Sequence[int], a: Residues, b: Residues) -> Product:
    """a * b modulo Phi_index and each prime; rows of residues in, rows out. Conversions are not timed."""
    flint = load()
    cyclotomic = flint.fmpz_poly.cyclotomic(index)
    out, products = np.zeros_like(a), np.zeros((a.shape[0], 2 * a.shape[1] - 1), a.dtype)
    multiply = reduce = 0.0
    for i, prime in enumerate(primes):
        modulus = flint.nmod_poly([int(c) % prime for c in cyclotomic.coeffs()], prime)
        x, y = flint.nmod_poly(a[i].tolist(), prime), flint.nmod_poly(b[i].tolist(), prime)
        begin = time.process_time()
        whole = x * y
        middle = time.process_time()
        rest = whole % modulus
        reduce += time.process_time() - middle
        multiply += middle - begin
        for row, polynomial in ((out[i], rest), (products[i], whole)):
            coefficients = [int(c) for c in polynomial.coeffs()]
            row[: len(coefficients)] = coefficients
    return Product(out, products, multiply, reduce)
