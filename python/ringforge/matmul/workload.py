# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a product of square matrices takes on workers, without keys and data (`ringforge explain matmul`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ringforge import params
from ringforge.devices.scaling import Stage, Workload
from ringforge.devices.sharding import Cost
from ringforge.errors import ParameterError
from ringforge.matmul import shards
from ringforge.matmul.forecast import forecast
from ringforge.matmul.program import Input, Program, trace

_DEFAULT, _SIZE, _MOST = "matmul-b-128", 512, 1 << 18
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


def workload(name: str, size: int) -> Workload:
    """A product of two encrypted square matrices.

    Args:
        name: of a set; "" takes the default. size: rows of each; 0 takes 512.

    Raises:
        ParameterError: there is no such set, or there are more rows than a program may have.
    """
    p, n = params.named(name or _DEFAULT, _WHY), size or _SIZE
    if n > _MOST:
        raise ParameterError(f"matrices of {n:,} rows: a program has at most {_MOST:,}")
    program = trace(p, lambda A, B: A @ B, {"A": Input(shape=(n, n)), "B": Input(shape=(n, n))})
    return Workload(
        f"{n} x {n} times {n} x {n}; set {name or _DEFAULT}", partial(_stages, program), first=partial(_first, program)
    )
