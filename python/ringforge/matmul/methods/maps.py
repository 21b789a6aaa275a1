# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The index maps of the element-wise method and their diagonals.

A B = sum over k < l of eps^k(sigma(A)) * omega^k(tau(B)), entry by entry, with A (m x l) and B (l x n):

    sigma(A)[i, j] = A[i, i + j mod l]        eps^k(X)[i, j] = X[i, j + k mod l]    (m x l to m x n)
    tau(B)[i, j]   = B[i + j mod l, j]        omega^k(Y)[i, j] = Y[i + k mod l, j]  (l x n to m x n)

Matrices are column-major without gaps. A map is an array: entry t is the place that target t is copied from.
Diagonal numbers here are integers, source - target; in a ciphertext they count modulo the number of slots.

The maps are those of Gao et al., "Secure and efficient general matrix multiplication on cloud using homomorphic
encryption" (2024), which the FAME paper uses; its Eq. 8 takes an index modulo m where it must be m * l.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Map = npt.NDArray[np.int64]


def sigma(m: int, l: int) -> Map:  # noqa: E741
    """Sources of sigma, (m * l,)."""
    i, j = _cells(m, l)
    return i + (i + j) % l * m


def tau(l: int, n: int) -> Map:  # noqa: E741
    """Sources of tau, (l * n,)."""
    i, j = _cells(l, n)
    return (i + j) % l + j * l


def epsilon(m: int, l: int, n: int, k: int) -> Map:  # noqa: E741
    """Sources of eps^k, (m * n,)."""
    t = np.arange(m * n, dtype=np.int64)
    return (k * m + t) % (m * l)


def omega(m: int, l: int, n: int, k: int) -> Map:  # noqa: E741
    """Sources of omega^k, (m * n,)."""
    i, j = _cells(m, n)
    return (k + i) % l + j * l


def _cells(rows: int, cols: int) -> tuple[Map, Map]:
    t = np.arange(rows * cols, dtype=np.int64)
    return t % rows, t // rows


def diagonals(source: Map) -> tuple[int, ...]:
    """Diagonals of a map with an entry, ascending."""
    return tuple(int(z) for z in np.unique(source - np.arange(len(source))))


def sigma_diagonals(m: int, l: int) -> tuple[int, ...]:  # noqa: E741
    """Closed form: 0, and p m, (p - l) m for 1 <= p < min(m, l). Ascending."""
    found = {0}
    for p in range(1, min(m, l)):
        found |= {p * m, (p - l) * m}
    return tuple(sorted(found))


def tau_diagonals(l: int, n: int) -> tuple[int, ...]:  # noqa: E741
    """Closed form: 0, and p, p - l for 1 <= p < min(n, l). Ascending."""
    found = {0}
    for p in range(1, min(n, l)):
        found |= {p, p - l}
    return tuple(sorted(found))


def epsilon_diagonals(m: int, l: int, n: int, k: int) -> tuple[int, ...]:  # noqa: E741
    """Closed form, k < l: k m - w m l for 0 <= w <= (k + n - 1) div l. Ascending."""
    return tuple(sorted(k * m - w * m * l for w in range((k + n - 1) // l + 1)))


def omega_diagonals(m: int, l: int, n: int, k: int) -> tuple[int, ...]:  # noqa: E741
    """Closed form, k < l: k - w l + j (l - m) for j < n, 0 <= w <= (k + m - 1) div l. Ascending."""
    return tuple(sorted({k - w * l + j * (l - m) for j in range(n) for w in range((k + m - 1) // l + 1)}))


def equation_12(m: int, l: int) -> int:  # noqa: E741
    """The FAME paper's count of the diagonals of sigma; exact."""
    return 2 * min(m, l) - 1


def equation_13(l: int, n: int) -> int:  # noqa: E741
    """The FAME paper's count of the diagonals of tau; exact."""
    return 2 * min(n, l) - 1


def equation_14(l: int, n: int) -> int:  # noqa: E741
    """The FAME paper's count for each eps^k; too small for some k: see :func:`epsilon_diagonals`."""
    return n // l + 1


def equation_15(m: int, l: int, n: int) -> int:  # noqa: E741
    """The FAME paper's count for each omega^k; far too large for most shapes: see :func:`omega_diagonals`."""
    return 2 if m == l else n * (m // l + 2)
