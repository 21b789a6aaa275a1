# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Greedy on-chip memory allocation with primitive fusion.

The HE matrix-vector FPGA paper places whole data entities, the one with the
highest DRAM cost first, after setting aside the buffers that fused primitives pass
their results through.  :func:`allocate` does exactly this for one PE group;
:func:`allocate_best` also tries to leave some fusion buffers out, which is better
when memory is so short that a buffer crowds out an entity with more traffic
(Set-C on the paper's design).

An entity that is read only once gains nothing from being kept; it is streamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, pairwise

from .errors import PaperModelError
from .parameters import require_positive
from .traffic import (
    Counts,
    Entity,
    Workload,
    compulsory_bytes,
    dram_cost,
    paper_counts,
    resident_bytes,
)


class Place(Enum):
    """Where an entity or a buffer lives."""

    SRAM = "on chip"
    DRAM = "DRAM"
    STREAM = "DRAM, streamed once"


@dataclass(frozen=True, slots=True)
class FusionBuffer:
    """An intermediate result that fused primitives hand over on chip.

    Consecutive primitives work in place, so a chain of links needs one buffer.

    Attributes:
        name: what the buffer holds.
        links: (producer, consumer) pairs that use it.
        size_bytes: its size for one PE group.
        spill_bytes: DRAM reads over the whole product if it is not kept on chip.
    """

    name: str
    links: tuple[tuple[str, str], ...]
    size_bytes: int
    spill_bytes: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one data entity was put.

    Attributes:
        entity: the data entity.
        place: its place.
        size_bytes: bytes of the whole entity.
        cost_bytes: DRAM reads without on-chip storage (Equations 7 to 12).
    """

    entity: Entity
    place: Place
    size_bytes: int
    cost_bytes: int


@dataclass(frozen=True, slots=True)
class BufferPlacement:
    """Where one fusion buffer was put."""

    buffer: FusionBuffer
    place: Place


@dataclass(frozen=True, slots=True)
class Allocation:
    """Result of the allocator.

    Attributes:
        capacity_bytes: memory that was available.
        placements: one per data entity, highest cost first.
        buffers: one per fusion buffer.
        used_bytes: memory taken by entities and buffers.
        traffic_bytes: DRAM reads left, spilled buffers included.
        compulsory_bytes: one-time loads of the entities kept on chip (not part of
            ``traffic_bytes``, as in Figure 3).
    """

    capacity_bytes: int
    placements: tuple[Placement, ...]
    buffers: tuple[BufferPlacement, ...]
    used_bytes: int
    traffic_bytes: int
    compulsory_bytes: int

    @property
    def kept(self) -> tuple[Entity, ...]:
        """Entities on chip, highest cost first."""
        return tuple(p.entity for p in self.placements if p.place is Place.SRAM)

    @property
    def spills(self) -> bool:
        """True if an entity worth keeping, or a fusion buffer, did not fit.

        The key set is left out: it never fits and the design streams it.
        """
        lost = any(p.place is Place.DRAM and p.entity is not Entity.KEYS for p in self.placements)
        return lost or any(b.place is not Place.SRAM for b in self.buffers)

    def place_of(self, entity: Entity) -> Place:
        """The place of ``entity``."""
        return next(p.place for p in self.placements if p.entity is entity)


def default_fusion(workload: Workload, pes_per_group: int, counts: Counts | None = None) -> tuple[FusionBuffer, ...]:
    """The producer-consumer buffers of one PE group.

    * One ciphertext travels in place from the product through rescaling and
      automorphism to the key switch and the reduction: four links.
    * One polynomial per PE holds the limb that is broadcast in a key-switch round,
      from INTT through NTT to the multiply-accumulate.

    ``spill_bytes`` counts one read per link and partial sum for the first, and one
    read of the broadcast limb for each of the l * l limb pairs for the second.
    """
    require_positive("pes_per_group", pes_per_group)
    counts = counts or paper_counts(workload)
    chain = ("pt-ct multiply", "rescale", "automorphism", "key switch", "reduction")
    links = tuple(pairwise(chain))
    limb = workload.polynomial_bytes
    return (
        FusionBuffer(
            name="intermediate ciphertext",
            links=links,
            size_bytes=workload.ciphertext_bytes,
            spill_bytes=counts.partial_sums * len(links) * workload.ciphertext_bytes,
        ),
        FusionBuffer(
            name="broadcast limb",
            links=(("INTT", "NTT"), ("NTT", "multiply-accumulate")),
            size_bytes=pes_per_group * limb,
            spill_bytes=counts.partial_sums * workload.limbs**2 * limb,
        ),
    )


def allocate(
    workload: Workload,
    capacity_bytes: int,
    fusion: Sequence[FusionBuffer] = (),
    counts: Counts | None = None,
    spilled: Sequence[FusionBuffer] = (),
) -> Allocation:
    """Place buffers first, then entities by falling DRAM cost, each only as a whole.

    Args:
        workload: the matrix-vector product.
        capacity_bytes: memory of one PE group, in bytes; zero is allowed.
        fusion: buffers to reserve; one that does not fit goes to DRAM.
        counts: loop order; the paper's by default.
        spilled: buffers deliberately left in DRAM.

    Returns:
        An :class:`Allocation`; its ``used_bytes`` never exceed the capacity.
    """
    if capacity_bytes < 0:
        raise PaperModelError(f"capacity_bytes is {capacity_bytes}; give 0 or more")
    counts = counts or paper_counts(workload)
    used = 0
    traffic = 0
    buffers: list[BufferPlacement] = []
    for buffer in fusion:
        fits = used + buffer.size_bytes <= capacity_bytes
        used += buffer.size_bytes if fits else 0
        traffic += 0 if fits else buffer.spill_bytes
        buffers.append(BufferPlacement(buffer, Place.SRAM if fits else Place.DRAM))
    for buffer in spilled:
        traffic += buffer.spill_bytes
        buffers.append(BufferPlacement(buffer, Place.DRAM))

    by_cost = sorted(Entity, key=lambda e: dram_cost(workload, e, counts), reverse=True)
    placements: list[Placement] = []
    for entity in by_cost:
        size = resident_bytes(workload, entity, counts)
        cost = dram_cost(workload, entity, counts)
        if cost <= size:
            place = Place.STREAM
        elif used + size <= capacity_bytes:
            place = Place.SRAM
            used += size
        else:
            place = Place.DRAM
        traffic += 0 if place is Place.SRAM else cost
        placements.append(Placement(entity, place, size, cost))
    kept = [p.entity for p in placements if p.place is Place.SRAM]
    return Allocation(
        capacity_bytes=capacity_bytes,
        placements=tuple(placements),
        buffers=tuple(buffers),
        used_bytes=used,
        traffic_bytes=traffic,
        compulsory_bytes=compulsory_bytes(workload, kept),
    )


def allocate_best(
    workload: Workload,
    capacity_bytes: int,
    fusion: Sequence[FusionBuffer] = (),
    counts: Counts | None = None,
) -> Allocation:
    """The allocation with the least DRAM traffic over all subsets of ``fusion``.

    Ties go to the subset with more fusion.
    """
    best: Allocation | None = None
    for length in range(len(fusion), -1, -1):
        for chosen in combinations(range(len(fusion)), length):
            fused = [fusion[i] for i in chosen]
            left = [buffer for i, buffer in enumerate(fusion) if i not in chosen]
            trial = allocate(workload, capacity_bytes, fused, counts, spilled=left)
            if best is None or trial.traffic_bytes < best.traffic_bytes:
                best = trial
    assert best is not None  # the empty subset is always tried
    return best
