# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What products of square matrices take on workers, without keys and data (`ringforge explain matmul`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ringforge import params
from ringforge._native import Context
from ringforge.devices.scaling import Stage, Workload
from ringforge.devices.sharding import Cost
from ringforge.errors import ParameterError
from ringforge.matmul import batch_shards, shards
from ringforge.matmul.batch_shards import BatchKernel
from ringforge.matmul.forecast import forecast
from ringforge.matmul.program import Input, Program, trace

_DEFAULT, _SIZE, _MOST = "matmul-b-128", 512, 1 << 18
#: Of batches: set, products, and the most; d, and the level at which one product is cheapest.
_BATCH, _BATCH_SET, _PRODUCTS, _MOST_PRODUCTS, _DIM, _LEVEL = "batch", "matmul-a-128", 1 << 12, 1 << 24, 64, 1
_WHY = "what it takes is shown, nothing is encrypted"


def _first(program: Program, workers: int) -> list[Stage]:
    keys = forecast(program, workers).keys
    return [Stage("keys into the store", (Cost(stored=keys),) * workers, keys, stays=True)]


def _stages(program: Program, workers: int) -> list[Stage]:
    found = forecast(program, workers)
    stages = []
    for run in found.runs:
        function = shards.operands if "operand" in run.what else shards.products
        # What is encoded is kept by each worker, beside what a shard needs.
        costs = tuple(replace(c, memory=c.memory + run.encoded) for c in run.costs)
        name = f"{function.__module__}.{function.__qualname__}"
        stages.append(Stage(run.what, costs, 0, 0.0, found.keys, name, run.read))
    return stages


def _batch_keys(kernel: BatchKernel, workers: int) -> list[Stage]:
    keys = batch_shards.key_bytes(kernel)
    return [Stage("keys into the store", (Cost(stored=keys),) * workers, keys)]


def _batch_stages(kernel: BatchKernel, workers: int) -> list[Stage]:
    costs = tuple(batch_shards.shard_costs(kernel, shards.EACH * workers))
    function = f"{batch_shards.__name__}.{batch_shards.products.__qualname__}"
    return [Stage("products of batches", costs, 0, 0.0, batch_shards.key_bytes(kernel), function)]


def _batches(name: str, size: int) -> Workload:
    """Many products of d x d matrices, each of the two batches of a product a new one."""
    chosen, count = name or _BATCH_SET, size or _PRODUCTS
    if count > _MOST_PRODUCTS:
        raise ParameterError(f"{count:,} products in batches: at most {_MOST_PRODUCTS:,} are counted at a time")
    context = Context(params.named(chosen, _WHY))
    each = context.params.slots // _DIM
    pairs = tuple((2 * k, 2 * k + 1) for k in range(-(-count // each)))
    kernel = BatchKernel(context, _DIM, _LEVEL, ("columns", "rows") * len(pairs), pairs)
    return Workload(
        f"{count:,} products of {_DIM} x {_DIM} matrices, {each} in a batch; set {chosen}",
        partial(_batch_stages, kernel),
        first=partial(_batch_keys, kernel),
    )


def workload(name: str, size: int) -> Workload:
    """A product of two encrypted square matrices, or many products in batches.

    Args:
        name: of a set; "" takes the default. "batch", or "batch:SET": products of 64 x 64 matrices in batches
            (docs/matmul-batch.md). size: rows of each matrix, or products in batches; 0 takes 512, or 4,096.

    Raises:
        ParameterError: there is no such set, or there are more rows than a program may have, or too many products.
    """
    mode, _, chosen = name.partition(":")
    if mode == _BATCH:
        return _batches(chosen, size)
    p, n = params.named(name or _DEFAULT, _WHY), size or _SIZE
    if n > _MOST:
        raise ParameterError(f"matrices of {n:,} rows: a program has at most {_MOST:,}")
    program = trace(p, lambda A, B: A @ B, {"A": Input(shape=(n, n)), "B": Input(shape=(n, n))})
    return Workload(
        f"{n} x {n} times {n} x {n}; set {name or _DEFAULT}", partial(_stages, program), first=partial(_first, program)
    )
