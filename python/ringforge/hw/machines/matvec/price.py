# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What baby-step giant-step plans cost on the machine: an estimate in closed form, for choosing among them.

It counts what fills the time of each step as `bsgs` writes it: transforms, which an element makes one after the other,
or polynomials that cross the memory ports.
"""

from __future__ import annotations

from ringforge._native import Plan
from ringforge.hw.machines.matvec.bsgs import tile_size_of
from ringforge.hw.machines.matvec.config import MatvecConfig


def price(config: MatvecConfig, log_n: int, limbs: int, plan: Plan) -> float:
    """Cycles of a plan, roughly.

    Args:
        config: the machine.
        log_n: log2 of the degree.
        limbs: of the inputs.
        plan: by baby-step giant-step.
    """
    packing, groups = plan.packing, config.groups
    rows = config.rows(log_n)
    transform = log_n * rows + 30
    # A polynomial at the ports, when all groups want as much.
    move = rows * max(config.row_bytes / config.dram_bytes_per_cycle, 1 / config.ports)
    passes = -(-limbs // config.pes)
    key = 2 * limbs * (limbs + 1)

    def shared(steps: int) -> int:
        """Steps of the group that has most."""
        return -(-steps // groups)

    digits = (1 + passes * limbs) * transform
    babies = [min(plan.baby, block.diagonals) for block in packing.blocks]
    # Beside the key, both parts of the result, and what no longer fits on chip.
    baby = move * groups * (key + 4 * limbs) + transform
    cycles = sum((digits + shared(b - 1) * baby for b in babies if b > 1), 0.0)
    tile = tile_size_of(config, log_n)
    tiles = groups * -(-shared(plan.giants) // tile)
    operands = len(plan.terms) + packing.row_blocks * tiles * 2 * sum(babies)
    giants = packing.row_blocks * shared(plan.giants - 1)
    cycles += move * limbs * operands + giants * (digits + 10 * rows)
    # Division by P and by the last prime, then rotate-and-sum.
    fold = (2 + shared(passes * limbs) + 3 * passes) * transform
    return cycles + packing.row_blocks * (6 * passes * transform + len(packing.folds) * fold)
