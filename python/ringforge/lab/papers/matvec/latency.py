# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Latency of a whole layer: compute cycles against DRAM reads.

A layer's latency is the larger of its compute time (:mod:`.cycles`) and the time to read
from DRAM what the allocator (:mod:`.sram`) could not keep on chip, as if the two
overlapped perfectly.  The time to stream the rotation keys alone is reported next
to it: no schedule of the paper's method can beat that.

Two forms of the product are priced.

* ``DISTINCT_KEYS``, the paper's: every partial sum is rotated by its own distance,
  so m keys lie in DRAM and every one is read for every input ciphertext.
* ``HORNER``: the sum is evaluated as ``acc = P_d + rotate(acc)`` from the last
  diagonal to the first, always by the same step.  One chain needs one key; g
  interleaved chains, one per PE group, need the step g and the step 1 to join them.
  The chains run in lockstep and share each key read.

The model ignores DRAM writes, pipeline fill between primitives and the padding of
m and n to powers of two that a correct rotate-and-sum needs.  Equations 7 to 12 charge
one key switch per partial sum; with ``Fold.PER_PARTIAL_SUM`` the extra switches add
compute and key reads, but no further reads of entities that did not fit on chip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from ringforge.hw.machines.matvec.published import LAYERS, U200, Layer, Platform

from .cycles import Primitive, primitive_cycles
from .errors import PaperModelError
from .parameters import AcceleratorConfig, ParameterSet, accelerator_config, parameter_set
from .sram import Allocation, allocate_best, default_fusion
from .traffic import Counts, Workload


class Form(Enum):
    """How the rotations are organised."""

    DISTINCT_KEYS = "m distinct keys"
    HORNER = "Horner"


class Fold(Enum):
    """When the k chunks of a ciphertext are added up by rotate-and-sum."""

    ONCE = "once, on the accumulated sum"
    PER_PARTIAL_SUM = "in every partial sum"


@dataclass(frozen=True, slots=True)
class LayerLatency:
    """Modelled cost of one layer.

    Attributes:
        layer: the layer.
        parameters: the HE parameters.
        config: the accelerator.
        form: organisation of the rotations.
        fold: when rotate-and-sum runs.
        cycles: compute cycles of one group by primitive (groups run side by side).
        key_switches: key switches over all groups.
        compute_seconds: compute cycles over the clock.
        key_stream_seconds: reading the keys alone at full DRAM bandwidth.
        dram_seconds: reading everything that is not on chip.
        stored_keys: distinct keys in DRAM.
        key_volume_bytes: their bytes.
        card_bytes: keys, matrix and input together, held in the card's DRAM.
        fits_card: whether that is within the card's DRAM.
        allocation: what the allocator kept in one group's scratchpads.
    """

    layer: Layer
    parameters: ParameterSet
    config: AcceleratorConfig
    form: Form
    fold: Fold
    cycles: Mapping[Primitive, int]
    key_switches: int
    compute_seconds: float
    key_stream_seconds: float
    dram_seconds: float
    stored_keys: int
    key_volume_bytes: int
    card_bytes: int
    fits_card: bool
    allocation: Allocation

    @property
    def seconds(self) -> float:
        """The layer's latency: the larger of compute and DRAM time."""
        return max(self.compute_seconds, self.dram_seconds)

    @property
    def bound(self) -> str:
        """``"compute"`` or ``"DRAM"``, whichever sets the latency."""
        return "compute" if self.compute_seconds >= self.dram_seconds else "DRAM"

    @property
    def shares(self) -> dict[Primitive, float]:
        """Share of each primitive in the compute cycles, between 0 and 1."""
        total = sum(self.cycles.values())
        return {primitive: count / total for primitive, count in self.cycles.items()}


@dataclass(frozen=True, slots=True)
class _Work:
    """Operations: per group in sequence, and totals for the memory side."""

    products: int
    rescales: int
    rotations: int
    reductions: int
    key_switches: int
    stored_keys: int
    counts: Counts


def _distinct_work(workload: Workload, groups: int, fold: Fold) -> _Work:
    """Operations of the paper's form with ``groups`` partial sums at a time."""
    sums = workload.matrix_plaintexts
    rounds = -(-sums // groups)
    folds = workload.fold_rotations
    folded = folds if fold is Fold.ONCE else folds * rounds
    all_folds = folds if fold is Fold.ONCE else folds * sums
    return _Work(
        products=rounds,
        rescales=rounds,
        rotations=rounds + folded,
        reductions=rounds + folded,
        key_switches=sums + all_folds,
        stored_keys=workload.distinct_keys,
        counts=Counts(
            partial_sums=sums,
            products=sums,
            key_reads=sums + folded,
            resident_inputs=1,
        ),
    )


def _horner_work(workload: Workload, chains: int, fold: Fold) -> _Work:
    """Operations of the Horner form in ``chains`` lockstep chains."""
    steps = -(-workload.m // chains)
    inputs = workload.input_ciphertexts
    folds = workload.fold_rotations
    folded = folds if fold is Fold.ONCE else folds * steps
    joins = chains - 1
    rotations = steps - 1 + joins + folded
    all_folds = folds if fold is Fold.ONCE else folds * workload.m
    return _Work(
        products=steps * inputs,
        rescales=steps,
        rotations=rotations,
        reductions=steps * (inputs - 1) + rotations,
        # (m - chains) inside the chains and (chains - 1) joins
        key_switches=workload.m - 1 + all_folds,
        stored_keys=min(chains, 2) + folds,
        counts=Counts(
            partial_sums=workload.m,
            products=workload.matrix_plaintexts,
            key_reads=rotations,
            resident_inputs=inputs,
        ),
    )


def layer_latency(
    layer: Layer,
    parameters: ParameterSet,
    config: AcceleratorConfig,
    *,
    platform: Platform = U200,
    form: Form = Form.DISTINCT_KEYS,
    fold: Fold = Fold.ONCE,
    chains: int | None = None,
    bytes_per_coefficient: int = 8,
) -> LayerLatency:
    """Price one layer.

    Args:
        layer: the matrix shape.
        parameters: the HE parameters.
        config: the accelerator.
        platform: gives the DRAM's size and bandwidth.
        form: the paper's distinct keys or the Horner form.
        fold: rotate-and-sum once or per partial sum.
        chains: Horner chains, 1 to g; by default one per PE group.
        bytes_per_coefficient: storage of one coefficient in DRAM and SRAM.

    Returns:
        The modelled times in seconds and volumes in bytes.
    """
    workload = Workload.of(layer, parameters, bytes_per_coefficient)
    if form is Form.HORNER:
        limit = min(config.groups, layer.m)
        used = limit if chains is None else chains
        if not 1 <= used <= limit:
            raise PaperModelError(f"chains is {used}; give 1 to {limit} (PE groups, rows)")
        work = _horner_work(workload, used, fold)
    elif chains is not None:
        raise PaperModelError("chains applies to the Horner form only; leave it out")
    else:
        work = _distinct_work(workload, config.groups, fold)

    unit = primitive_cycles(parameters, config)
    cycles = {
        Primitive.KEY_SWITCH: work.rotations * unit.key_switch,
        Primitive.RESCALE: work.rescales * unit.rescale,
        Primitive.PT_CT_MULT: work.products * unit.pt_ct_mult,
        Primitive.AUTOMORPHISM: work.rotations * unit.automorphism,
        Primitive.REDUCTION: work.reductions * unit.reduction,
    }
    counts = work.counts
    allocation = allocate_best(
        workload,
        config.group_sram_bytes,
        default_fusion(workload, config.pes_per_group, counts),
        counts,
    )
    bandwidth = platform.dram_bytes_per_second
    volume = work.stored_keys * workload.key_bytes
    card = volume + workload.matrix_bytes + workload.input_bytes
    return LayerLatency(
        layer=layer,
        parameters=parameters,
        config=config,
        form=form,
        fold=fold,
        cycles=MappingProxyType(cycles),
        key_switches=work.key_switches,
        compute_seconds=sum(cycles.values()) / config.clock_hz,
        key_stream_seconds=counts.key_reads * workload.key_bytes / bandwidth,
        dram_seconds=(allocation.traffic_bytes + allocation.compulsory_bytes) / bandwidth,
        stored_keys=work.stored_keys,
        key_volume_bytes=volume,
        card_bytes=card,
        fits_card=card <= platform.dram_bytes,
        allocation=allocation,
    )


def minimum_key_stream_seconds(layer: Layer, parameters: ParameterSet, dram_bytes_per_second: float) -> float:
    """Time to read one full alignment key per partial sum, nothing else, in seconds."""
    workload = Workload.of(layer, parameters)
    reads = workload.matrix_plaintexts
    return reads * workload.key_bytes / dram_bytes_per_second


def paper_layers(set_name: str, *, form: Form = Form.DISTINCT_KEYS, fold: Fold = Fold.ONCE) -> tuple[LayerLatency, ...]:
    """The seven benchmark layers under a set of Table II on its Table III design."""
    parameters, config = parameter_set(set_name), accelerator_config(set_name)
    return tuple(layer_latency(entry, parameters, config, form=form, fold=fold) for entry in LAYERS)


__all__ = [
    "Fold",
    "Form",
    "LayerLatency",
    "layer_latency",
    "minimum_key_stream_seconds",
    "paper_layers",
]
