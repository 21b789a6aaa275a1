# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What gates take on workers, without keys and wires (`ringforge explain gates`)."""

from __future__ import annotations

from functools import partial

import numpy as np

from ringforge import _native
from ringforge.devices.scaling import Stage, Workload
from ringforge.errors import ParameterError
from ringforge.gates import shards
from ringforge.gates.kinds import GateKind
from ringforge.gates.sets import GateSet, named

_DEFAULT, _GATES, _MOST = "gates-128", 4096, 1 << 20
_WHY = "what it takes is shown, nothing is encrypted"
_GATE = f"{shards.__name__}.{shards._gates.__qualname__}"


def _stages(s: GateSet, count: int, workers: int) -> list[Stage]:
    params = _native.fhew.parameters(s.name, _WHY)
    kinds = np.full(count, int(GateKind.NAND), np.uint8)
    sources = np.full((count, 3), -1, np.int32)
    sources[:, :2] = np.arange(2 * count, dtype=np.int32).reshape(-1, 2)
    costs = shards.level_costs(params, "ginx", kinds, sources, workers)
    return [Stage("gates", tuple(costs), shards.key_bytes(params), function=_GATE)]


def workload(name: str, size: int) -> Workload:
    """One level of gates of two inputs, none of which has an input of another.

    Args:
        name: of a set; "" takes the default. size: gates; 0 takes 4,096.

    Raises:
        ParameterError: there is no such set, or there are more gates than are costed at a time.
    """
    if size > _MOST:
        raise ParameterError(f"a level of {size:,} gates: {_MOST:,} are the most, of which larger ones are multiples")
    s, count = named(name or _DEFAULT, _WHY), size or _GATES
    return Workload(f"a level of {count:,} NAND gates; set {s.name}", partial(_stages, s, count))
