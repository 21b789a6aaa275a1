# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycle model of the primitives and of the key switch.

Table VI of the HE matrix-vector FPGA paper fixes the primitives: a transform takes
``log2(N) * (N / c + 23)`` cycles (each stage streams N / c words through an NTT
core of 19 cycles, plus 4), everything else one pass of N / c cycles.

The key switch follows Algorithm 2 with a plain schedule for one PE group, counted
in *waves*: in one wave every PE of the group does at most one transform.  With
r = ceil(l / p) limbs per PE the waves are

* r for the inverse transforms of the input limbs,
* r for each of the l broadcast rounds (one fewer if a single PE owns every limb,
  because the limb that is its own source needs no transform),
* ceil(l / p) for the l transforms of the special prime, spread over the PEs,
* ceil(2 / p) inverse and 2r forward transforms for the closing rescale.

Multiply-accumulates and the broadcast use other units and hide behind the
transforms.  Set-B on 7 PEs gives 12 waves.  The bounds next to it assume that no
butterfly is ever idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from .errors import PaperModelError
from .parameters import (
    AcceleratorConfig,
    ParameterSet,
    require_positive,
    require_power_of_two,
)
from .traffic import Workload

STAGE_OVERHEAD_CYCLES: Final = 23
"""Cycles that each transform stage adds to N / c: 19 of the NTT core and 4 more."""


class Primitive(Enum):
    """Operations of Figure 9; the value is the name in reports."""

    KEY_SWITCH = "key switch"
    RESCALE = "rescale"
    PT_CT_MULT = "pt-ct multiply"
    AUTOMORPHISM = "automorphism"
    REDUCTION = "partial-sum reduction"


def elementwise_cycles(degree: int, lanes: int) -> int:
    """Cycles of one element-wise operation on one polynomial: N / c (Table VI)."""
    require_power_of_two("degree", degree)
    require_power_of_two("lanes", lanes)
    if lanes > degree:
        raise PaperModelError(f"lanes is {lanes}; it must not exceed the degree {degree}")
    return degree // lanes


def automorphism_cycles(degree: int, lanes: int) -> int:
    """Cycles of one automorphism of one polynomial: N / c (Table VI)."""
    return elementwise_cycles(degree, lanes)


def ntt_cycles(degree: int, lanes: int) -> int:
    """Cycles of one NTT or INTT of one polynomial: log2(N) * (N / c + 23) (Table VI)."""
    stages = degree.bit_length() - 1
    return stages * (elementwise_cycles(degree, lanes) + STAGE_OVERHEAD_CYCLES)


@dataclass(frozen=True, slots=True)
class TransformCount:
    """Transforms in one key switch by Algorithm 2.

    Attributes:
        inverse: INTTs of the input limbs, l.
        forward: NTTs to other limbs and to the special prime, l * (l - 1) + l.
        rescale_inverse: INTTs of the closing rescale, 2.
        rescale_forward: NTTs of the closing rescale, 2 * l.
    """

    inverse: int
    forward: int
    rescale_inverse: int
    rescale_forward: int

    @property
    def without_rescale(self) -> int:
        """Transforms before the closing rescale."""
        return self.inverse + self.forward

    @property
    def total(self) -> int:
        """All transforms."""
        return self.without_rescale + self.rescale_inverse + self.rescale_forward


def key_switch_transforms(limbs: int) -> TransformCount:
    """Count the transforms of Algorithm 2 for l = ``limbs`` (72 for l = 7)."""
    require_positive("limbs", limbs)
    return TransformCount(limbs, limbs * (limbs - 1) + limbs, 2, 2 * limbs)


@dataclass(frozen=True, slots=True)
class KeySwitchSchedule:
    """Waves of the plain key-switch schedule on one PE group.

    Attributes:
        inverse: waves of INTTs of the input limbs.
        rounds: waves of NTTs over all broadcast rounds.
        special: waves of NTTs for the special prime.
        rescale_inverse: waves of INTTs of the closing rescale.
        rescale_forward: waves of NTTs of the closing rescale.
    """

    inverse: int
    rounds: int
    special: int
    rescale_inverse: int
    rescale_forward: int

    @property
    def waves(self) -> int:
        """All waves, in transform times."""
        return self.inverse + self.rounds + self.special + self.rescale_inverse + self.rescale_forward


def key_switch_schedule(limbs: int, pes_per_group: int) -> KeySwitchSchedule:
    """The plain schedule for l = ``limbs`` on p = ``pes_per_group`` PEs."""
    require_positive("limbs", limbs)
    require_positive("pes_per_group", pes_per_group)
    per_pe = -(-limbs // pes_per_group)
    per_round = per_pe if pes_per_group > 1 else per_pe - 1
    return KeySwitchSchedule(
        inverse=per_pe,
        rounds=limbs * per_round,
        special=-(-limbs // pes_per_group),
        rescale_inverse=-(-2 // pes_per_group),
        rescale_forward=2 * per_pe,
    )


def key_switch_cycles(parameters: ParameterSet, config: AcceleratorConfig) -> int:
    """Cycles of one key switch on one PE group (175,896 for Set-B)."""
    schedule = key_switch_schedule(parameters.limbs, config.pes_per_group)
    return schedule.waves * ntt_cycles(parameters.degree, config.lanes)


def key_switches_per_second(parameters: ParameterSet, config: AcceleratorConfig) -> float:
    """Key switches per second with all groups busy and keys always at hand."""
    return config.groups * config.clock_hz / key_switch_cycles(parameters, config)


@dataclass(frozen=True, slots=True)
class KeySwitchBounds:
    """Upper bounds on key switches per second.

    The butterfly bounds keep every NTT core busy in every cycle; the Table VI bounds
    keep every PE busy with transforms of the printed length; the memory bound reads
    one full key from DRAM per switch.

    Attributes:
        butterfly: all transforms of Algorithm 2, ideal cores.
        butterfly_without_rescale: the same without the closing rescale.
        table_vi: all transforms at :func:`ntt_cycles` each.
        table_vi_without_rescale: the same without the closing rescale.
        key_stream: DRAM bandwidth over the size of a key.
    """

    butterfly: float
    butterfly_without_rescale: float
    table_vi: float
    table_vi_without_rescale: float
    key_stream: float


def key_switch_bounds(
    parameters: ParameterSet, config: AcceleratorConfig, dram_bytes_per_second: float
) -> KeySwitchBounds:
    """Bounds for ``parameters`` on ``config`` with the given memory bandwidth."""
    counts = key_switch_transforms(parameters.limbs)
    stages = parameters.degree.bit_length() - 1
    butterflies = parameters.degree // 2 * stages
    cores = config.pes * config.lanes // 2
    ideal = config.clock_hz * cores / butterflies
    table = config.clock_hz * config.pes / ntt_cycles(parameters.degree, config.lanes)
    key = Workload(1, 1, parameters.degree, parameters.limbs).key_bytes
    return KeySwitchBounds(
        butterfly=ideal / counts.total,
        butterfly_without_rescale=ideal / counts.without_rescale,
        table_vi=table / counts.total,
        table_vi_without_rescale=table / counts.without_rescale,
        key_stream=dram_bytes_per_second / key,
    )


@dataclass(frozen=True, slots=True)
class PrimitiveCycles:
    """Cycles of each ciphertext operation on one PE group.

    Attributes:
        pt_ct_mult: plaintext times both components.
        rescale: Algorithm 1 for both components.
        automorphism: both components.
        key_switch: Algorithm 2.
        reduction: adding one ciphertext to the accumulator.
    """

    pt_ct_mult: int
    rescale: int
    automorphism: int
    key_switch: int
    reduction: int


def primitive_cycles(parameters: ParameterSet, config: AcceleratorConfig) -> PrimitiveCycles:
    """Cycles of the ciphertext operations of ``parameters`` on one group of ``config``.

    All run at l limbs, as the paper's cost model charges them.  Rescaling takes
    ceil(2 / p) inverse and 2 * ceil((l - 1) / p) forward transforms; its
    element-wise steps hide behind them.
    """
    limbs, pes = parameters.limbs, config.pes_per_group
    per_pe = -(-limbs // pes)
    transform = ntt_cycles(parameters.degree, config.lanes)
    both = 2 * per_pe * elementwise_cycles(parameters.degree, config.lanes)
    return PrimitiveCycles(
        pt_ct_mult=both,
        rescale=(-(-2 // pes) + 2 * -(-(limbs - 1) // pes)) * transform,
        automorphism=2 * per_pe * automorphism_cycles(parameters.degree, config.lanes),
        key_switch=key_switch_cycles(parameters, config),
        reduction=both,
    )
