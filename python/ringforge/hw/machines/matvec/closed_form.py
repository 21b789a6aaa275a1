# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of a matrix-vector product from its plan, in closed form: nothing is compiled or simulated.

>>> from ringforge.hw.machines.matvec.closed_form import cycles
>>> cycles(MatvecConfig.named("matvec-b"), kernel)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ringforge._native import Algorithm
from ringforge.hw.machines.matvec.bsgs import tile_size_of
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.closed_form import Primitives

if TYPE_CHECKING:
    from ringforge.matvec.kernels import MatvecKernel

#: Share of a transform that runs beside the end of the rotation before, where its element has nothing else to do.
#: Fitted.
_HIDDEN: Final = 0.5

#: Transfers for which groups wait when they add their shares of a rotation. Fitted.
_MEET: Final = 3
#: Transforms by which the products of the first baby step delay the digits, where the digits' owners make those modulo
#: P. Fitted.
_FIRST: Final = 3


@dataclass(frozen=True)
class _Product:
    """A product's counts, and the costs of primitives while all groups work and while one does."""

    config: MatvecConfig
    kernel: MatvecKernel

    @property
    def limbs(self) -> int:
        return self.kernel.level + 1

    @property
    def log_n(self) -> int:
        return int(self.kernel.context.params.log_n)

    def primitives(self, active: int) -> Primitives:
        return Primitives(self.config, self.log_n, active)

    def begin(self) -> float:
        """First instructions, constants, and what the first operation waits for: a table and an operand."""
        c = self.primitives(self.config.groups)
        return self.config.dram_latency + 20 + self.limbs + 2 * c.load(self.config.pes)

    def finish(self, together: bool) -> float:
        """Rotate-and-sum, of whose digits every group that has the sum takes a share; bias, results."""
        c, limbs = self.primitives(1), self.limbs - 1
        m = c.held(limbs)
        folds = len(list(self.kernel.plan.packing.folds))
        rotation = c.rotation(limbs, 2 * m)
        if together:
            mine = -(-limbs // self.config.groups)
            reduced = self.reduction(2) + max(0.0, self.reduction(2 * limbs) - c.transform)
            rotation += reduced + _MEET * c.transfer - m * (limbs - mine) * c.transform
        stores = 2 * m * max(c.rows + 7, c.memory(c.working(limbs), c.working(limbs))) + self.config.dram_latency
        return folds * (rotation + m * c.product) + m * (c.load(c.working(limbs)) + c.product) + stores

    def reduction(self, polynomials: int) -> float:
        """Sums over groups: one polynomial after the other."""
        groups = self.config.groups
        c = self.primitives(groups)
        if groups == 1 or polynomials == 0:
            return 0.0
        return polynomials * (c.rows + 7 + (groups - 1).bit_length()) + c.transfer


def _rescaled(product: _Product, c: Primitives) -> float:
    """A product with a plaintext, divided by the last prime, after a rotation."""
    m, alone = c.held(product.limbs), product.limbs <= c.config.pes
    # An element that has nothing but the limb that goes begins while the others end the rotation.
    hidden = _HIDDEN * c.transform if alone else 0
    # The plaintext comes beside the automorphisms.
    exposed = max(0.0, m * c.load(c.working(product.limbs)) - 2 * c.held(product.limbs - 1) * c.automorphism)
    return exposed + (m + 1) * c.product + c.division(product.limbs - 1, apart=alone) - hidden


def _shares(first: int, count: int, groups: int) -> list[int]:
    """How many of the steps first <= i < count each group works on: those equal to it modulo the groups."""
    return [len(range(k + groups * (k < first), count, groups)) for k in range(groups)]


def _diagonal(product: _Product) -> dict[str, float]:
    config, plan = product.config, product.kernel.plan
    c, limbs = product.primitives(config.groups), product.limbs - 1
    rows, diagonals = plan.packing.row_blocks, plan.packing.diagonals
    share = max(_shares(0, diagonals, config.groups))
    rotated = max(_shares(1, diagonals, config.groups))
    terms = len(plan.terms) / (rows * diagonals)
    return {
        "products": rows * share * terms * _rescaled(product, c),
        "rotations": rows * (rotated * c.rotation(limbs, 2 * c.held(limbs)) + share * c.held(limbs) * c.product),
        "reduction": rows * product.reduction(2 * limbs),
        "finish": rows * product.finish(config.groups > 1),
    }


def _horner(product: _Product) -> dict[str, float]:
    config, plan = product.config, product.kernel.plan
    share = -(-plan.packing.row_blocks // config.groups)
    c = product.primitives(min(config.groups, plan.packing.row_blocks))
    limbs, diagonals = product.limbs - 1, plan.packing.diagonals
    terms = len(plan.terms) / (plan.packing.row_blocks * diagonals)
    return {
        "products": share * diagonals * terms * _rescaled(product, c),
        "rotations": share * (diagonals - 1) * (c.rotation(limbs, 2 * c.held(limbs)) + 2 * c.held(limbs) * c.product),
        "finish": share * product.finish(False),
    }


def _bsgs(product: _Product) -> dict[str, float]:
    plan, limbs = product.kernel.plan, product.limbs
    alone, rows = product.primitives(1), plan.packing.row_blocks
    digits = babies = 0.0
    for block in plan.packing.blocks:
        shares = _shares(1, min(plan.baby, block.diagonals), product.config.groups)
        if max(shares):
            made, each = _babies(product, shares)
            digits, babies = digits + made, babies + each
    if babies:
        babies += product.config.dram_latency + alone.rows

    inner, switching = _giants(product)
    # A single giant step is not switched: what group 0 has is the sum.
    after, reduced = alone.division(limbs - 1, apart=limbs <= product.config.pes), 0
    if plan.giants > 1:
        after, reduced = after + 2 * alone.held(limbs) * alone.product + alone.switched(limbs), 2 * limbs + 2
    return {
        "digits": digits,
        "baby steps": babies,
        "inner sums": rows * inner,
        "giant steps": rows * switching,
        "reduction": rows * product.reduction(reduced),
        "divisions": rows * after,
        "finish": rows * product.finish(product.config.groups > 1 and plan.giants > 1),
    }


def _babies(product: _Product, shares: Sequence[int]) -> tuple[float, float]:
    """Digits of one input, then products, a division and automorphisms for each baby step of the busiest group."""
    limbs, config = product.limbs, product.config
    c = product.primitives(sum(n > 0 for n in shares))
    m, sums, working = c.held(limbs), c.sums(limbs), c.working(limbs)
    # An element with fewer limbs, which makes all digits modulo P, has fewer to transform back.
    inverse = 0 if m > 1 and c.homes(limbs).light else m
    digits = c.load(working) + c.transfer + (inverse + m * limbs) * c.transform
    # Digits that find no slot beside the sums, and those of the next baby step, are loaded again.
    kept = config.slots(c.log_n) - 2 * sums - 2
    again = sum(max(0, m * limbs + extra - kept) for extra in _extra(c, limbs))
    # The first key comes beside the digits, every other one, and stores, beside the division before it. So does the
    # work of elements that keep sums modulo P and fewer limbs.
    light = bool(c.homes(limbs).light)
    heavy = limbs % config.pes if light else working
    keys = 2 * limbs * m * heavy if light else 2 * limbs * (limbs + 1)
    products = ((2 * m if light else sums) * limbs + m) * c.product
    moved = c.memory(keys + m * heavy + again, heavy)
    stores = c.memory(2 * limbs, working)
    ahead = limbs < config.pes
    beside = max(moved + stores + c.transform, c.switched(limbs) + products - ahead * c.transform)
    last = c.switched(limbs) + 2 * m * c.automorphism + stores
    first = (0 if light else _FIRST) * c.transform + max(0.0, max(products, moved) - digits)
    return digits + first, (max(shares) - 1) * (beside + 2 * m * c.automorphism) + last


def _extra(c: Primitives, limbs: int) -> list[int]:
    """Digits modulo P that each working element of a group keeps."""
    homes = set(c.homes(limbs).accumulate)
    return [limbs if pe in homes else 0 for pe in range(c.config.pes) if pe < limbs or pe in homes]


def _giants(product: _Product) -> tuple[float, float]:
    """Inner sums and key products of the busiest group, for one row block."""
    config, plan, limbs = product.config, product.kernel.plan, product.limbs
    shares = _shares(0, plan.giants, config.groups)
    c = product.primitives(min(config.groups, plan.giants))
    m, sums = c.held(limbs), c.sums(limbs)
    # Rotated inputs are loaded once for the giant steps of a tile, plaintexts once for both parts.
    tile = tile_size_of(config, c.log_n)
    per_giant = len(plan.terms) / (plan.packing.row_blocks * plan.giants)
    steps = min(per_giant, sum(min(plan.baby, b.diagonals) for b in plan.packing.blocks))
    inner = 0.0
    for at in range(0, shares[0], tile):
        size = min(tile, shares[0] - at)
        inner += m * steps * max((2 + size) * c.load(c.working(limbs)), 2 * size * c.product)
    # Beside its own, a giant step keeps the other sums of its tile, and the total.
    spilled = c.spilled(limbs, 2 * m * (min(tile, shares[0]) - 1) + sums, 2 * m + 1)
    once = c.key_product(limbs) + 2 * m * c.product + sums * (c.automorphism + c.product) + spilled
    rotated = max(_shares(1, plan.giants, config.groups))
    # One element without limbs that keeps both sums modulo P falls behind, and the others go ahead.
    return inner, rotated * once - max(0, rotated - 1) * (limbs == config.pes - 1) * c.transform


def parts(config: MatvecConfig, kernel: MatvecKernel) -> Mapping[str, float]:
    """Cycles by part of the schedule, in order; with all passes of the compiler."""
    product = _Product(config, kernel)
    schedule = {Algorithm.diagonal: _diagonal, Algorithm.horner: _horner, Algorithm.bsgs: _bsgs}
    return {"begin": product.begin(), **schedule[kernel.plan.algorithm](product)}


def cycles(config: MatvecConfig, kernel: MatvecKernel) -> float:
    """Cycles from start to done of a compiled product with a bias, within a few percent.

    Args:
        config: the machine, with its memory.
        kernel: the product.
    """
    return sum(parts(config, kernel).values())
