# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Baby-step giant-step.

1. Baby steps: the input's digits are made once per group; the rotations b = k mod g are made by group k and stored.
   All groups meet.
2. Giant steps t = k mod g are group k's. Their inner sums of plaintexts times rotated inputs are made several at a
   time, limb by limb: a rotated input is loaded once for all giant steps of a tile, a plaintext once for both parts.
3. Each inner sum is switched and rotated without dividing by P; sums over Q and P are kept, and added over the groups
   at the end.
4. Group 0 divides by P and by the last prime, one after the other, which is bit for bit what dividing by both at once
   gives (see `drop`), then folds and adds the bias.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringforge.hw.machines.matvec.finish import Pair, extended_zeros, finish, inputs, reduce_extended
from ringforge.hw.machines.matvec.job import Job
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.drop import Placed, rescale
from ringforge.hw.vector.ir import KEEP, GroupCode, Limbs, Value
from ringforge.hw.vector.isa import Scope
from ringforge.hw.vector.keyswitch import (
    DigitProduct,
    Digits,
    Extended,
    key_product,
    make_digits,
    switched,
    turn,
    turn_extended,
)


def write(job: Job, g: GroupCode, group: int) -> None:
    """Writes one group's operations."""
    if group >= job.groups:
        return
    _write_babies(job, g, group)
    for row_block in range(job.row_blocks):
        _write_giants(job, g, group, row_block)


def _write_babies(job: Job, g: GroupCode, group: int) -> None:
    if max(job.babies) == 1:
        return
    for block, x in enumerate(inputs(job)):
        mine = [b for b in job.mine(group, 0, job.babies[block]) if b > 0]
        if not mine:
            continue
        products = [DigitProduct(g, job.limbs, job.key(b), base=x[0]) for b in mine]

        def beside(digits: Digits, digit: int, products: list[DigitProduct] = products) -> None:
            for product in products:
                product.add(digits, digit)
            products[0].write()

        make_digits(g, x[1], beside)
        for at, b in enumerate(mine):
            pair = products[at].complete()
            g.primitive(*pair.parts)
            # The next key arrives beside the transforms.
            ahead = job.options.tiling and at + 1 < len(mine)
            quotient = switched(g, pair, products[at + 1].pieces if ahead else ())
            g.primitive(*quotient)
            for part, limbs in enumerate(turn(g, quotient, job.element(b))):
                for i, value in limbs.items():
                    g.at(i).store(value, job.baby(block, b, part, i))
    g.sync(Scope.MACHINE if job.groups > 1 else Scope.ELEMENT)


# ---- inner sums ---------------------------------------------------------------------------------------


def tile_size_of(config: VectorConfig, log_n: int) -> int:
    """Giant steps for which two banks have room for a sum of each and a rotated input."""
    return max(1, config.bank_slots(log_n) - 1)


def tile_size(job: Job) -> int:
    """Giant steps whose sums stay on chip while a rotated input is used for all of them.

    Two banks hold a sum of each and leave room for a rotated input, a third one holds the plaintexts.
    """
    if not job.options.tiling:
        return 1
    return tile_size_of(job.target.config, job.target.log_n)


def _inner_sums(job: Job, g: GroupCode, row_block: int, tile: Sequence[int]) -> list[Pair]:
    """For each giant step of a tile, the sum of its plaintexts times rotated inputs."""
    out: list[Pair] = [({}, {}) for _ in tile]
    #: (input, baby step) -> (place in the tile, term) of the products with it.
    steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for place, giant in enumerate(tile):
        for term, block, baby in job.terms[row_block, giant]:
            steps.setdefault((block, baby), []).append((place, term))
    # A product's three operands are in three banks: the sums of a part where the rotated input's other part is.
    banks = (KEEP, 0)
    for limb in range(job.limbs):
        element = g.at(limb)

        def load(step: tuple[int, int], limb: int = limb) -> tuple[list[Value], list[Value]]:
            element = g.at(limb)
            x = [element.load(job.baby(*step, part, limb), bank=banks[1 - part]) for part in (0, 1)]
            return x, [element.load(job.matrix(term, limb), bank=1) for _, term in steps[step]]

        for step in steps:
            x, plain = load(step)
            for part in (0, 1):
                for (place, _), p in zip(steps[step], plain, strict=True):
                    sums = out[place][part]
                    sums[limb] = element.multiply(x[part], p, limb, sums.get(limb), bank=banks[part])
    for pair in out:
        g.primitive(*pair)
    return out


# ---- giant steps --------------------------------------------------------------------------------------


def _add_special(g: GroupCode, total: Placed | None, more: Placed) -> Placed:
    if total is None:
        return more
    special = g.target.special
    pe, value = more
    return pe, g.elements[pe].add(value, total[1], special, g.target.one(special), bank=KEEP)


def _add_extended(g: GroupCode, total: Extended | None, more: Extended) -> Extended:
    if total is None:
        return more
    parts = g.accumulate(total.parts[0], more.parts[0]), g.accumulate(total.parts[1], more.parts[1])
    special = [_add_special(g, t, m) for t, m in zip(total.special, more.special, strict=True)]
    return Extended(parts, (special[0], special[1]))


def _write_giants(job: Job, g: GroupCode, group: int, row_block: int) -> None:
    mine, limbs = job.mine(group, 0, job.giants), job.limbs
    size = tile_size(job)
    total: Extended | None = None
    unturned: Pair | None = None
    for at in range(0, len(mine), size):
        tile = mine[at : at + size]
        for giant, pair in zip(tile, _inner_sums(job, g, row_block, tile), strict=True):
            if giant == 0:
                unturned = pair
                continue
            step = giant * job.kernel.plan.baby
            switching = key_product(g, pair[1], job.key(step), base=pair[0]).complete()
            g.primitive(*switching.parts)
            turned = turn_extended(g, switching, job.element(step))
            g.primitive(*turned.parts)
            total = _add_extended(g, total, turned)
            if not job.options.tiling:
                g.flush(*total.parts)
    if job.giants == 1:
        if unturned is not None:
            result = rescale(g, unturned)
            g.primitive(*result)
            finish(job, g, row_block, result)
        return
    if total is None:
        total = extended_zeros(job, g, limbs)
    if unturned is not None:
        total = Extended(_add_times_p(g, total.parts, unturned), total.special)
    if job.groups > 1:
        total = reduce_extended(g, total)
    quotient = switched(g, total)
    g.primitive(*quotient)
    result = rescale(g, quotient)
    g.primitive(*result)
    finish(job, g, row_block, result, group if job.groups > 1 else None)


def _add_times_p(g: GroupCode, total: Pair, more: Pair) -> Pair:
    """total + P * more: brings what was not switched to the factor P of what was."""
    special = g.target.special
    out: list[Limbs] = [
        {
            i: g.at(i).scale_add(v, total[part][i], i, g.target.prime_factor(special, i), bank=KEEP)
            for i, v in more[part].items()
        }
        for part in (0, 1)
    ]
    return out[0], out[1]
