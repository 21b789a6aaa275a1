# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What lattice reduction reaches, and what it costs.

Quality: BKZ with block size beta gives b_1 = delta^d vol^(1/d) (Chen, thesis 2013) and a basis whose Gram-Schmidt
lengths fall geometrically (GSA). Cost: three models, by name.

`matzov`: gates of list-decoding sieves (Albrecht et al., ASIACRYPT 2020, corrected in MATZOV, "Report on the security
of LWE", 2022) with dimensions for free (Ducas, EUROCRYPT 2018) and C (d - beta) progressive calls; the default, and
what the 2024 guideline's tables were made with. `bdgl16`: 0.292 beta + 16.4 + log2(8 d), as in 2018's HE standard.
`core-svp`: 0.292 beta, one call, a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError

Array = npt.NDArray[np.float64]

#: Block sizes below this are no asymptotics: Chen's formula is not monotone there.
MIN_BETA = 50

#: Work of all blocks up to beta, relative to the last: progressive sieving and BKZ (Kyber, round 3, section 5.2).
PROGRESSIVE = 5.46


def log_delta(beta: Array) -> Array:
    """ln of the root-Hermite factor that BKZ-beta reaches; beta at least 50."""
    return np.asarray(np.log(beta / (2 * np.pi * np.e) * (np.pi * beta) ** (1 / beta)) / (2 * (beta - 1)))


def _free_dimensions(beta: Array) -> Array:
    return np.asarray(beta * np.log(4 / 3) / np.log(beta / (2 * np.pi * np.e)))


def log2_sum(*terms: Array | float) -> Array:
    """log2 of a sum of numbers that are given by their log2."""
    total = np.asarray(terms[0], dtype=np.float64)
    for term in terms[1:]:
        total = np.logaddexp2(total, term)
    return total


@dataclass(frozen=True, slots=True)
class CostModel:
    """log2 of operations for sieves and for BKZ.

    Attributes:
        name: as in :data:`MODELS`.
        slope, offset: a sieve in dimension k costs 2^(slope k + offset).
        progressive: factor of progressive sieving and of progressive BKZ.
        free: the sieve runs in beta less its dimensions for free.
        tours: SVP calls of BKZ: "progressive" C (d - beta), "eight" 8 d, "one".
    """

    name: str
    slope: float
    offset: float
    progressive: float
    free: bool
    tours: str

    def sieve_dimension(self, beta: Array) -> Array:
        """Dimension in which an SVP call of block size beta sieves."""
        return beta - _free_dimensions(beta) if self.free else beta

    def sieve(self, dimension: Array) -> Array:
        """log2 operations of one sieve in a dimension."""
        return np.asarray(np.log2(self.progressive) + self.slope * dimension + self.offset)

    def bkz(self, beta: Array, d: Array) -> Array:
        """log2 operations of BKZ-beta in dimension d (at least beta)."""
        one = self.sieve(self.sieve_dimension(beta))
        if self.tours == "one":
            return one
        calls = 8 * d if self.tours == "eight" else PROGRESSIVE * np.maximum(d - beta, 1)
        return log2_sum(np.where(d > beta, one + np.log2(calls), one), 3 * np.log2(d))

    def second_sieve_dimension(self, beta: Array, d: Array) -> Array:
        """Dimension whose sieve costs as much as BKZ-beta did: short vectors in bulk (Guo, Johansson, 2021)."""
        if self.tours == "one":
            return self.sieve_dimension(beta)
        bonus = np.log2(PROGRESSIVE * np.maximum(d - beta, 1)) / self.slope
        return np.minimum(d, np.floor(self.sieve_dimension(beta) + bonus))


MODELS = {
    "matzov": CostModel("matzov", 0.29613500308205365, 20.387885985467914, PROGRESSIVE, True, "progressive"),
    "bdgl16": CostModel("bdgl16", 0.292, 16.4, 1.0, False, "eight"),
    "core-svp": CostModel("core-svp", 0.292, 0.0, 1.0, False, "one"),
}


def model(name: str) -> CostModel:
    """A cost model by name.

    Raises:
        ParameterError: unknown name.
    """
    if name not in MODELS:
        raise ParameterError(f'unknown cost model "{name}": take one of {", ".join(MODELS)}')
    return MODELS[name]
