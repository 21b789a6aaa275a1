# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What detection takes on workers, without keys and bulletins (`ringforge explain omr`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ringforge._native.omr import CompressionKeys
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

_WHOLE, _SUMS, _HORNER, _PIECE, _PART, _BABIES = (
    f"{module.__name__}.{function.__qualname__}"
    for module, function in (
        (shards, shards._whole), (shards, shards._sums), (shards, shards._horner), (check_shards, check_shards._piece),
        (check_shards, check_shards._part), (shards, shards._babies),
    )
)  # fmt: skip


def _share(workers: int, count: int) -> int:
    """Workers for each of so many bulletins, as many of which as there are workers for are searched at a time."""
    return max(1, workers // count)


def _first(plan: Plan, count: int, workers: int) -> list[Stage]:
    """Once for a receiver: keys on every node, and rotations of its key: in the store by limbs, or at each worker."""
    share, limbs = _share(workers, count), plan.shape.limbs
    keys = _key_bytes(plan, share)
    put = Stage("keys into the store", (Cost(stored=keys),) * workers, keys, stays=True)
    ((cost,),) = shards.costs(BabiesKernel(plan.shape), 2)
    if share == 1:
        once = min(workers, count)
        return [put, Stage("rotations of a key", (Cost(cost.seconds, memory=cost.result),) * once, kept=keys)]
    row = int(plan.shape.native.baby_bytes) // limbs
    return [
        put,
        Stage("rotations of a key", (_without(cost, 2 * _one_key(plan)),), kept=keys, function=_BABIES),
        Stage(
            "rotations into the store",
            tuple(Cost(stored=len(x) * row) for x in cut(limbs, workers)),
            kept=keys,
            stays=True,
        ),
    ]


def _one_key(plan: Plan) -> int:
    """Bytes of a Galois key, of one step or of many, or of the relinearisation key."""
    context = plan.shape.context
    return int(context.gadget.key_bytes(context.params.max_limbs))


def _digest_keys(plan: Plan) -> int:
    """Bytes of the keys of compression."""
    return CompressionKeys.saved_bytes(check_shards.compression_context(shards.numbers(plan.shape.context)))


def _signal_key(plan: Plan) -> int:
    """Bytes of the encrypted key of signals."""
    return 2 * plan.shape.limbs * plan.shape.context.params.degree * 8


def _key_bytes(plan: Plan, share: int) -> int:
    """Of what stays as long as a receiver's bulletins are searched: two Galois keys, those of relinearisation and of
    compression; and its encrypted key, where workers keep rotations by that."""
    return 3 * _one_key(plan) + _digest_keys(plan) + (_signal_key(plan) if share == 1 else 0)


def _stages(plan: Plan, bulletins: int, workers: int) -> list[Stage]:
    """Of as many bulletins as are searched at a time."""
    count = min(bulletins, workers)
    context, size, share = plan.shape.context, plan.set, _share(workers, count)
    affine, *rest = shards.costs(AffineKernel(plan.shape, 0, plan.giants), share)
    keys, diagonals = _key_bytes(plan, share), plan.diagonal_bytes
    kept, one, digests = keys, _one_key(plan), _digest_keys(plan)
    if share == 1:
        ((rotations,),) = shards.costs(BabiesKernel(plan.shape), 2)
        there = 2 * one + _signal_key(plan)
        whole = [replace(_without(c, there), seconds=c.seconds - rotations.seconds) for c in affine]
        found = [Stage("affine transform", tuple(whole * count), 0, kept=keys, function=_WHOLE)]
    else:
        # Rotations of the key are in the store from before; of a shard's part, each reads its own limbs.
        kept += int(plan.shape.native.baby_bytes)
        sums = [_without(c, c.stored - diagonals) for c in affine]
        found = [Stage("affine: sums", tuple(sums * count), 0 if count > 1 else diagonals, kept=kept, function=_SUMS)]
    for horner in rest:
        outputs = [_without(c, 2 * one) for c in horner]
        found.append(Stage("affine: outputs", tuple(outputs * count), 0, 0.0, kept, _HORNER))
    checks = check_shards.costs(RangeCheckKernel(context, plan.program), share)
    names = ["range check"] if len(checks) == 1 else ["range check: clues", "range check: rest"]
    for name, costs in zip(names, checks, strict=True):
        found.append(Stage(name, tuple([_without(c, one) for c in costs] * count), 0, 0.0, kept, _PIECE))
    digest = compression_plan(size, _CAPACITY, 1 + size.payload_words)
    (parts,) = check_shards.costs(CompressionKernel(context, digest, 0, digest.units), share)
    parts = [_without(c, digests) for c in parts]
    shared = parts[0].stored if count == 1 else 0
    found.append(Stage("compression", tuple(parts * count), shared, 0.0, kept, _PART))
    return [replace(s, chains=count) for s in found]


def _without(cost: Cost, count: int) -> Cost:
    """A cost whose shard finds so many of the bytes that it reads."""
    return replace(cost, stored=max(0, cost.stored - count))


def workload(name: str, size: int) -> Workload:
    """Bulletins for one receiver, as many at a time as there are workers.

    Args:
        name: of a set; "" takes the default. size: bulletins, 0 takes one.

    Raises:
        ParameterError: there is no such set.
    """
    s = sets.named(name or "ringforge", _WHY)
    plan, count = Plan.make(s), size or 1
    what = f"{count:,} bulletins of {s.entries:,} messages, searched for one receiver; set {s.name}"
    return Workload(
        what, partial(_stages, plan, count), lambda workers: -(-count // workers), partial(_first, plan, count)
    )
