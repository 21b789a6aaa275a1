# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What both algorithms share: inputs, sums over groups, rotate-and-sum, bias, results."""

from __future__ import annotations

from ringforge.hw.machines.matvec.job import Job
from ringforge.hw.vector.drop import READY
from ringforge.hw.vector.ir import GroupCode, Limbs, Value
from ringforge.hw.vector.keyswitch import rotate

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


def finish(job: Job, g: GroupCode, row_block: int, pair: Pair) -> None:
    """Rotate-and-sum, bias, and the result to memory."""
    for step in job.folds:
        turned = rotate(g, pair, job.element(step), job.key(step), banks=(0, 0))
        sums = [
            {i: g.at(i).add(v, pair[p][i], i, g.target.one(i), bank=READY[p]) for i, v in turned[p].items()}
            for p in (0, 1)
        ]
        pair = sums[0], sums[1]
        g.primitive(*pair)
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
