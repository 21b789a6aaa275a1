# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What detection takes on workers, without keys and bulletins (`ringforge explain omr`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ringforge.devices.scaling import Stage, Workload
from ringforge.devices.sharding import Cost, cut
from ringforge.omr import check_shards, sets, shards
from ringforge.omr.check_kernels import CompressionKernel, RangeCheckKernel
from ringforge.omr.compress import compression_plan
from ringforge.omr.kernels import AffineKernel, BabiesKernel
from ringforge.omr.plan import Plan

#: Messages that a digest has room for.
_CAPACITY = 62

_WHY = "what it takes is shown, nothing is encrypted"

_SUMS, _HORNER, _PIECE, _PART, _BABIES = (
    f"{module.__name__}.{function.__qualname__}"
    for module, function in (
        (shards, shards._sums), (shards, shards._horner), (check_shards, check_shards._piece),
        (check_shards, check_shards._part), (shards, shards._babies),
    )
)  # fmt: skip


def _first(plan: Plan, workers: int) -> list[Stage]:
    """Once for a receiver: keys on every node, rotations of its key, and each worker's limbs of them."""
    ((cost,),) = shards.costs(BabiesKernel(plan.shape))
    keys, limbs = _key_bytes(plan), plan.shape.limbs
    row = int(plan.shape.native.baby_bytes) // limbs
    return [
        Stage("keys into the store", (Cost(stored=keys),) * workers, keys),
        Stage("rotations of a key", (_without(cost, keys),), kept=keys, function=_BABIES),
        Stage("rotations into the store", tuple(Cost(stored=len(x) * row) for x in cut(limbs, workers)), kept=keys),
    ]


def _key_bytes(plan: Plan) -> int:
    """Of the Galois keys of one step and of many, and of the relinearisation key."""
    context = plan.shape.context
    return 3 * int(context.gadget.key_bytes(context.params.max_limbs))


def _stages(plan: Plan, workers: int) -> list[Stage]:
    context, size = plan.shape.context, plan.set
    affine, *rest = shards.costs(AffineKernel(plan.shape, 0, plan.giants), workers)
    babies, keys = int(plan.shape.native.baby_bytes), _key_bytes(plan)
    kept, one = babies + keys, keys // 3
    diagonals = plan.diagonal_bytes
    # Rotations of the key are in the store from before; of a shard's part, each reads its own limbs.
    sums = tuple(_without(c, c.stored - diagonals) for c in affine)
    found = [Stage("affine: sums", sums, diagonals, kept=kept, function=_SUMS)]
    # While outputs are put, the sums that they are made of are still there.
    both = kept + sum(c.result for c in sums)
    for horner in rest:
        found.append(Stage("affine: outputs", tuple(_without(c, 2 * one) for c in horner), 0, 0.0, both, _HORNER))
    checks = check_shards.costs(RangeCheckKernel(context, plan.program))
    for name, costs in zip(["range check: clues", "range check: rest"][-len(checks) :], checks, strict=True):
        found.append(Stage(name, tuple(_without(c, one) for c in costs), 0, 0.0, kept, _PIECE))
    digest = compression_plan(size, _CAPACITY, 1 + size.payload_words)
    (parts,) = check_shards.costs(CompressionKernel(context, digest, 0, digest.units), workers)
    found.append(Stage("compression", tuple(parts), parts[0].stored, 0.0, kept, _PART))
    return found


def _without(cost: Cost, count: int) -> Cost:
    """A cost whose shard finds so many of the bytes that it reads."""
    return replace(cost, stored=max(0, cost.stored - count))


def workload(name: str, size: int) -> Workload:
    """Bulletins for one receiver, whose keys are in the store.

    Args:
        name: of a set; "" takes the default. size: bulletins, 0 takes one.

    Raises:
        ParameterError: there is no such set.
    """
    s = sets.named(name or "ringforge", _WHY)
    plan, count = Plan.make(s), size or 1
    what = f"{count:,} bulletins of {s.entries:,} messages, searched for one receiver; set {s.name}"
    return Workload(what, partial(_stages, plan), count, partial(_first, plan))
