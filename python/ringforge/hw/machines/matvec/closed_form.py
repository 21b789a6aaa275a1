# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of a matrix-vector product from its plan, in closed form: nothing is compiled or simulated.

>>> from ringforge.hw.machines.matvec.closed_form import cycles
>>> cycles(MatvecConfig.named("matvec-b"), kernel)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringforge._native import Algorithm
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.closed_form import Primitives

if TYPE_CHECKING:
    from ringforge.matvec.kernels import MatvecKernel


@dataclass(frozen=True)
class _Product:
    """A product's counts, and the costs of primitives while all groups work and while one does."""

    config: MatvecConfig
    kernel: MatvecKernel

    @property
    def limbs(self) -> int:
        return self.kernel.level + 1

    def primitives(self, active: int) -> Primitives:
        return Primitives(self.config, self.kernel.context.params.log_n, active)

    def begin(self) -> float:
        """First instructions, constants, and what the first operation waits for: a table and an operand."""
        c = self.primitives(self.config.groups)
        return self.config.dram_latency + 20 + self.limbs + 2 * c.load(self.config.pes)

    def finish(self) -> float:
        """Rotate-and-sum, bias, results: the work of one group."""
        c, limbs = self.primitives(1), self.limbs - 1
        m = c.held(limbs)
        folds = len(list(self.kernel.plan.packing.folds))
        stores = 2 * m * max(c.rows + 7, c.memory(c.working(limbs), c.working(limbs))) + self.config.dram_latency
        return folds * (c.rotation(limbs) + m * c.product) + m * (c.load(c.working(limbs)) + c.product) + stores

    def reduction(self, polynomials: int) -> float:
        """Sums over groups: one polynomial after the other."""
        groups = self.config.groups
        c = self.primitives(groups)
        return (
            0.0
            if groups == 1 or polynomials == 0
            else polynomials * (c.rows + 7 + (groups - 1).bit_length()) + c.transfer
        )


def _rescaled(product: _Product, c: Primitives) -> float:
    """A product with a plaintext, divided by the last prime."""
    m = c.held(product.limbs)
    return (m + 1) * c.product + c.division(product.limbs - 1, apart=False)


def _diagonal(product: _Product) -> dict[str, float]:
    config, plan = product.config, product.kernel.plan
    c = product.primitives(config.groups)
    limbs = product.limbs - 1
    rows = plan.packing.row_blocks
    share = -(-plan.packing.diagonals // config.groups)  # of the group with most
    terms = len(plan.terms) / (rows * plan.packing.diagonals)
    # Group 0 has the diagonal that is not rotated.
    rotated = share if (plan.packing.diagonals - 1) % config.groups else share - 1
    if config.groups > 1 and plan.packing.diagonals > 1:
        rotated = max(-(-(plan.packing.diagonals - k) // config.groups) - (k == 0) for k in range(config.groups))
    products = share * terms * _rescaled(product, c)
    rotations = rotated * c.rotation(limbs)
    sums = share * c.held(limbs) * c.product
    return {
        "products": rows * products,
        "rotations": rows * (rotations + sums),
        "reduction": rows * product.reduction(2 * limbs),
        "finish": rows * product.finish(),
    }


def _horner(product: _Product) -> dict[str, float]:
    config, plan = product.config, product.kernel.plan
    share = -(-plan.packing.row_blocks // config.groups)
    c = product.primitives(min(config.groups, plan.packing.row_blocks))
    limbs, diagonals = product.limbs - 1, plan.packing.diagonals
    terms = len(plan.terms) / (plan.packing.row_blocks * diagonals)
    return {
        "products": share * diagonals * terms * _rescaled(product, c),
        "rotations": share * (diagonals - 1) * (c.rotation(limbs) + 2 * c.held(limbs) * c.product),
        "finish": share * product.finish(),
    }


def _extra(c: Primitives, limbs: int) -> list[int]:
    """Digits modulo P that each working element of a group keeps."""
    homes = set(c.homes(limbs).accumulate)
    return [limbs if pe in homes else 0 for pe in range(c.config.pes) if pe < limbs or pe in homes]


def _bsgs(product: _Product) -> dict[str, float]:
    config, plan = product.config, product.kernel.plan
    groups, limbs = config.groups, product.limbs
    c, alone = product.primitives(groups), product.primitives(1)
    m, rows = c.held(limbs), plan.packing.row_blocks
    specials = c.specials(limbs)

    # Baby steps: digits once, then products, a division, automorphisms and stores for each.
    digits = babies = 0.0
    for block in plan.packing.blocks:
        count = min(plan.baby, block.diagonals)
        mine = max(-(-(count - k) // groups) - (k == 0) for k in range(groups)) if count > 1 else 0
        if mine == 0:
            continue
        digits += c.load(c.working(limbs)) + m * c.transform + c.transfer + m * limbs * max(c.transform, 2 * c.transfer)
        products = (2 * m + specials) * limbs * c.product + m * c.product
        # Digits that find no slot beside the sums are loaded again for each baby step.
        kept = config.slots(c.log_n) - 2 * m - specials - 2
        again = sum(max(0, m * limbs + extra - kept) for extra in _extra(c, limbs))
        moved = c.memory(2 * limbs * (limbs + 1) + limbs + again, c.working(limbs))
        stores = c.memory(2 * limbs, c.working(limbs))
        babies += mine * (max(products, moved) + c.switched(limbs) + 2 * m * c.automorphism + stores)
    if babies:
        babies += config.dram_latency + c.rows

    # Inner sums: rotated inputs are loaded once for the giant steps of a tile, plaintexts once for both parts.
    giants = plan.giants
    mine = [len(range(k, giants, groups)) for k in range(groups)]
    tile = max(1, config.bank_slots(c.log_n) // 2)
    per_giant = len(plan.terms) / (rows * giants)
    steps = min(per_giant, sum(min(plan.baby, b.diagonals) for b in plan.packing.blocks))
    inner = 0.0
    for at in range(0, mine[0], tile):
        size = min(tile, mine[0] - at)
        inner += m * steps * max((2 + size) * c.load(c.working(limbs)), 2 * size * c.product)
    rotated = max(n - (k == 0) for k, n in enumerate(mine))
    turned = (2 * m + specials) * c.automorphism
    added = (2 * m + specials) * c.product
    switching = rotated * (c.key_product(limbs) + 2 * m * c.product + turned + added)

    # A single giant step is not switched: what group 0 has is the sum.
    after, sums = alone.division(limbs - 1, apart=False), 0
    if giants > 1:
        after, sums = after + 2 * m * alone.product + alone.switched(limbs), 2 * limbs + 2
    return {
        "digits": digits,
        "baby steps": babies,
        "inner sums": rows * inner,
        "giant steps": rows * switching,
        "reduction": rows * product.reduction(sums),
        "divisions": rows * after,
        "finish": rows * product.finish(),
    }


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
