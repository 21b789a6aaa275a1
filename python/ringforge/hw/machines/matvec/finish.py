# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What both algorithms share: inputs, sums over groups, rotate-and-sum, bias, results."""

from __future__ import annotations

from ringforge.hw.machines.matvec.job import Job
from ringforge.hw.vector.drop import READY
from ringforge.hw.vector.ir import GroupCode, Limbs, Value
from ringforge.hw.vector.keyswitch import Extended, SpecialHomes, key_product, rotate, switched, turn

#: A ciphertext: two parts.
Pair = tuple[Limbs, Limbs]


def pair_at(address: list[list[int]]) -> Pair:
    """A ciphertext that memory holds, from the addresses [part][limb]; it is loaded when it is used."""
    parts = [{i: Value(part, a) for i, a in enumerate(row)} for part, row in enumerate(address)]
    return parts[0], parts[1]


def inputs(job: Job) -> list[Pair]:
    """The input ciphertexts."""
    return [
        pair_at([[job.input(c, part, i) for i in range(job.limbs)] for part in (0, 1)])
        for c in range(job.column_blocks)
    ]


def zeros(job: Job, limbs: int) -> Pair:
    """A ciphertext of zeros."""
    return pair_at([[job.zero] * limbs] * 2)


def add_pairs(g: GroupCode, total: Pair | None, more: Pair) -> Pair:
    """total + more; `more` itself when there is no total."""
    if total is None:
        return more
    out = g.accumulate(total[0], more[0]), g.accumulate(total[1], more[1])
    g.primitive(*out)
    return out


def reduce_pair(g: GroupCode, pair: Pair) -> Pair:
    """Sums of a pair over all groups."""
    out = [{i: g.at(i).reduce(v, i, bank=READY[part]) for i, v in limbs.items()} for part, limbs in enumerate(pair)]
    return out[0], out[1]


def extended_zeros(job: Job, g: GroupCode, limbs: int) -> Extended:
    """A pair over Q and P of zeros."""
    homes = SpecialHomes.of(limbs, g.pes).accumulate
    return Extended(zeros(job, limbs), ((homes[0], Value(None, job.zero)), (homes[1], Value(None, job.zero))))


def reduce_extended(g: GroupCode, pair: Extended) -> Extended:
    """Sums of a pair over Q and P over all groups; modulo P first, since the division by P starts with that."""
    special = [
        (pe, g.elements[pe].reduce(value, g.target.special, bank=part)) for part, (pe, value) in enumerate(pair.special)
    ]
    return Extended(reduce_pair(g, pair.complete().parts), (special[0], special[1]))


def _rotate_together(job: Job, g: GroupCode, group: int, pair: Pair, step: int) -> Pair:
    """A rotation of a ciphertext that every group has: each makes the product of some of the digits with the key.

    All groups divide the sum by P, which takes them no longer than one.
    """
    digits = range(group, len(pair[1]), job.groups)
    base = pair[0] if group == 0 else None
    mine = key_product(g, pair[1], job.key(step), base, digits) if digits else extended_zeros(job, g, len(pair[1]))
    quotient = switched(g, reduce_extended(g, mine))
    return turn(g, quotient, job.element(step), (0, 0))


def finish(job: Job, g: GroupCode, row_block: int, pair: Pair, group: int | None = None) -> None:
    """Rotate-and-sum, bias, and the result to memory.

    Args:
        job, g, row_block, pair: the sum over diagonals.
        group: number of this group when all groups have the sum: they work on it together, and the first stores the
            result. Else this group works alone.
    """
    for step in job.folds:
        if group is None:
            turned = rotate(g, pair, job.element(step), job.key(step), banks=(0, 0))
        else:
            turned = _rotate_together(job, g, group, pair, step)
        sums = [
            {i: g.at(i).add(v, pair[p][i], i, g.target.one(i), bank=READY[p]) for i, v in turned[p].items()}
            for p in (0, 1)
        ]
        pair = sums[0], sums[1]
        g.primitive(*pair)
    if group:
        return
    if job.has_bias:
        pair = (
            {
                i: g.at(i).add(v, g.at(i).load(job.bias(row_block, i), bank=1), i, g.target.one(i), bank=0)
                for i, v in pair[0].items()
            },
            pair[1],
        )
    for part, limbs in enumerate(pair):
        for i, value in limbs.items():
            g.at(i).store(value, job.output(row_block, part, i))
