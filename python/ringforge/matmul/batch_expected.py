# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What is known beforehand of a product of batches: the formulas of docs/matmul-batch.md, without ciphertexts.

The library has them beside its products; tests hold these against what its products have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ringforge._native import Context, Metadata, MetadataRules
from ringforge.matmul.expected import Facts


@dataclass(frozen=True)
class Known:
    """Of a batch, or of a line.

    Attributes:
        scale, variance, spread, float_error: of the lines, the largest but for the scale.
        bound: of a batch that of its entries, of a line that of its slots.
    """

    scale: float
    bound: float
    variance: float
    spread: float
    float_error: float


def known_of(lines: Sequence[Facts], bound: float) -> Known:
    """Of a batch with these lines and this bound of its entries."""
    return Known(
        lines[0].scale,
        bound,
        max(c.variance for c in lines),
        max(1.0, *(c.spread for c in lines)),
        max(c.float_error for c in lines),
    )


class BatchRules:
    """What products and conversions make of batches.

    Args:
        context: parameters. dim: d. level: of the operands, at least 1.
    """

    def __init__(self, context: Context, dim: int, level: int) -> None:
        degree = context.params.degree
        self._n, self._d, self._prime = float(degree), float(dim), float(context.params.q[level])
        rules = MetadataRules(context)
        fresh: Metadata = rules.encrypted(1.0, 1.0, False)
        self._rounding = rules.rescaled(fresh, level + 1).variance - fresh.variance / self._prime**2
        # What a key switch adds, its rounding left out.
        self._switch = rules.switched(fresh, level + 1).variance - fresh.variance - self._rounding

    def converted(self, x: Known) -> Known:
        """The same matrices by other lines."""
        added = (self._d - 1) * self._switch + self._rounding
        spread = (x.variance * x.spread + added) / (x.variance + added)
        return replace(x, variance=x.variance + added, spread=spread)

    def product(self, a: Known, b: Known) -> Known:
        """left * right of operands in the forms that a product takes, one level lower."""
        n, d, k, squared = self._n, self._d, self._switch, self._prime**2
        secret = 2 * n / 3
        deviation = math.sqrt(a.variance * a.spread) * b.bound * b.scale
        deviation += math.sqrt(b.variance * b.spread) * a.bound * a.scale
        both = n * a.variance * b.variance
        added = ((d - 1) * (k * (1 + secret) + secret**2 / 12) + d * k) / squared + self._rounding
        own = (d * deviation**2 + both) / squared + added
        peak = ((d * deviation) ** 2 + d * both) / squared + added
        lost = d * (a.float_error * b.bound + b.float_error * a.bound + a.float_error * b.float_error)
        return Known(a.scale * b.scale / self._prime, d * a.bound * b.bound, own, max(1.0, peak / own), lost)

    def line(self, x: Known) -> Known:
        """Of each line of a batch: a slot is the sum of d entries with factors of absolute value 1."""
        return replace(x, bound=x.bound * self._d)
