# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Sizes and DRAM read traffic of an encrypted matrix-vector product.

Implements Equations 1 to 12 of the HE matrix-vector FPGA paper for any matrix
shape, ring degree, number of limbs and storage width.  The paper derives
Equations 7 to 12 for one input ciphertext.  With several, the outer loop runs
over the input ciphertexts, every one of them produces m partial sums, and the
rotation keys are read again for each; :class:`Counts` says so in numbers
and lets another loop order be priced.

Only reads are counted, as in the paper.  All results are in bytes and exact
integers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ringforge.hw.machines.matvec.published import Layer

from .parameters import ParameterSet, require_positive, require_power_of_two


class Entity(Enum):
    """A data entity of the cost model; the value is its name in reports."""

    NTT_TWIDDLES = "NTT twiddle factors"
    INTT_TWIDDLES = "INTT twiddle factors"
    INPUT = "input vector ciphertext"
    PARTIAL_SUM = "partial-sum ciphertext"
    MATRIX = "matrix plaintexts"
    KEYS = "key-switch keys"


REUSE_ORDER: Final = (
    Entity.NTT_TWIDDLES,
    Entity.INTT_TWIDDLES,
    Entity.PARTIAL_SUM,
    Entity.INPUT,
)
"""The order in which Figure 3 moves entities from DRAM to on-chip memory."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A matrix-vector product under given HE parameters.

    Attributes:
        m: rows of the matrix.
        n: columns of the matrix.
        degree: ring degree N.
        limbs: l, residue polynomials per ciphertext component.
        bytes_per_coefficient: bytes that one stored coefficient takes.
    """

    m: int
    n: int
    degree: int
    limbs: int
    bytes_per_coefficient: int = 8

    def __post_init__(self) -> None:
        require_positive("m", self.m)
        require_positive("n", self.n)
        require_power_of_two("degree", self.degree)
        require_positive("limbs", self.limbs)
        require_positive("bytes_per_coefficient", self.bytes_per_coefficient)

    @classmethod
    def of(cls, layer: Layer, parameters: ParameterSet, bytes_per_coefficient: int = 8) -> Workload:
        """The workload of a benchmark ``layer`` under ``parameters``."""
        return cls(layer.m, layer.n, parameters.degree, parameters.limbs, bytes_per_coefficient)

    @property
    def polynomial_bytes(self) -> int:
        """One residue polynomial: N coefficients."""
        return self.degree * self.bytes_per_coefficient

    @property
    def ciphertext_bytes(self) -> int:
        """Equation 1: 2 * l polynomials."""
        return 2 * self.limbs * self.polynomial_bytes

    @property
    def input_ciphertexts(self) -> int:
        """Ciphertexts that carry the vector, ceil(2n / N)."""
        return -(-2 * self.n // self.degree)

    @property
    def input_bytes(self) -> int:
        """Equation 2: all ciphertexts of the input vector."""
        return self.input_ciphertexts * self.ciphertext_bytes

    @property
    def plaintext_bytes(self) -> int:
        """Equation 3: one encoded plaintext, l polynomials."""
        return self.limbs * self.polynomial_bytes

    @property
    def matrix_plaintexts(self) -> int:
        """Plaintexts that carry the matrix, m * ceil(2n / N)."""
        return self.m * self.input_ciphertexts

    @property
    def matrix_bytes(self) -> int:
        """Equation 4: the whole encoded matrix."""
        return self.matrix_plaintexts * self.plaintext_bytes

    @property
    def twiddle_bytes(self) -> int:
        """Equation 5: one full set of NTT (or of INTT) twiddle factors."""
        return self.limbs * self.polynomial_bytes

    @property
    def half_key_bytes(self) -> int:
        """Equation 6: one of the two halves of a key-switch key, l * (l + 1) polynomials."""
        return self.limbs * (self.limbs + 1) * self.polynomial_bytes

    @property
    def key_bytes(self) -> int:
        """Both halves of the key-switch key of one rotation (Equation 6, twice)."""
        return 2 * self.half_key_bytes

    @property
    def chunks(self) -> int:
        """k, chunks of partial sums per ciphertext: 1 if m > n, else floor(N / 2m).

        At least 1: for m > N / 2 the paper's expression would give 0.
        """
        if self.m > self.n:
            return 1
        return max(1, self.degree // (2 * self.m))

    @property
    def fold_rotations(self) -> int:
        """ceil(log2 k), rotations that add up the k chunks (rotate-and-sum)."""
        return (self.chunks - 1).bit_length()

    @property
    def distinct_keys(self) -> int:
        """Rotation keys stored in the paper's method: m for alignment, ceil(log2 k) to fold."""
        return self.m + self.fold_rotations

    @property
    def alignment_key_volume_bytes(self) -> int:
        """Bytes of the m alignment keys alone."""
        return self.m * self.key_bytes

    @property
    def key_volume_bytes(self) -> int:
        """Bytes of all distinct rotation keys, fold keys included."""
        return self.distinct_keys * self.key_bytes


@dataclass(frozen=True, slots=True)
class Counts:
    """How often a loop order repeats each piece of work.

    Attributes:
        partial_sums: partial-sum ciphertexts that are rescaled and key switched.
        products: plaintext-ciphertext products.
        key_reads: times that a full rotation key is read from DRAM.
        resident_inputs: input ciphertexts that must be on chip together to reuse them.
    """

    partial_sums: int
    products: int
    key_reads: int
    resident_inputs: int = 1


def paper_counts(workload: Workload) -> Counts:
    """Counts of the paper's loop: input ciphertexts outside, rotations inside."""
    products = workload.matrix_plaintexts
    return Counts(
        partial_sums=products,
        products=products,
        key_reads=products + workload.fold_rotations,
        resident_inputs=1,
    )


def resident_bytes(workload: Workload, entity: Entity, counts: Counts | None = None) -> int:
    """On-chip bytes needed to keep the whole of ``entity`` (Equations 1 to 6)."""
    counts = counts or paper_counts(workload)
    match entity:
        case Entity.NTT_TWIDDLES | Entity.INTT_TWIDDLES:
            return workload.twiddle_bytes
        case Entity.INPUT:
            return counts.resident_inputs * workload.ciphertext_bytes
        case Entity.PARTIAL_SUM:
            return workload.ciphertext_bytes
        case Entity.MATRIX:
            return workload.matrix_bytes
        case Entity.KEYS:
            return workload.key_volume_bytes


def dram_cost(workload: Workload, entity: Entity, counts: Counts | None = None) -> int:
    """DRAM bytes read for ``entity`` when none of it is on chip (Equations 7 to 12).

    * Equation 7, NTT twiddles: (l + 4) full sets per partial sum, l in the key
      switch and 2 in each of two rescalings.
    * Equation 8, INTT twiddles: (1 + 2 / l) sets per partial sum.
    * Equation 9, input: one ciphertext per product.
    * Equation 10, partial sum: l reads of a ciphertext per partial sum.
    * Equation 11, matrix: each plaintext once.
    * Equation 12, keys: one key per alignment and per distinct fold rotation.
    """
    counts = counts or paper_counts(workload)
    limbs = workload.limbs
    match entity:
        case Entity.NTT_TWIDDLES:
            return counts.partial_sums * workload.twiddle_bytes * (limbs + 4)
        case Entity.INTT_TWIDDLES:
            return counts.partial_sums * workload.polynomial_bytes * (limbs + 2)
        case Entity.INPUT:
            return counts.products * workload.ciphertext_bytes
        case Entity.PARTIAL_SUM:
            return counts.partial_sums * workload.ciphertext_bytes * limbs
        case Entity.MATRIX:
            return counts.products * workload.plaintext_bytes
        case Entity.KEYS:
            return counts.key_reads * workload.key_bytes


def dram_costs(workload: Workload, counts: Counts | None = None) -> dict[Entity, int]:
    """Equations 7 to 12 for every entity, in bytes."""
    return {entity: dram_cost(workload, entity, counts) for entity in Entity}


def total_traffic(workload: Workload, kept: Collection[Entity] = (), counts: Counts | None = None) -> int:
    """DRAM bytes read when the entities in ``kept`` stay on chip.

    As in Figure 3, the one-time load of a kept entity is not counted; see
    :func:`compulsory_bytes`.
    """
    costs = dram_costs(workload, counts)
    return sum(cost for entity, cost in costs.items() if entity not in kept)


def compulsory_bytes(workload: Workload, kept: Collection[Entity]) -> int:
    """Bytes read once to bring the ``kept`` entities on chip.

    A partial sum is produced on chip and has no such load.
    """
    once = {
        Entity.NTT_TWIDDLES: workload.twiddle_bytes,
        Entity.INTT_TWIDDLES: workload.twiddle_bytes,
        Entity.INPUT: workload.input_bytes,
        Entity.PARTIAL_SUM: 0,
        Entity.MATRIX: workload.matrix_bytes,
        Entity.KEYS: workload.key_volume_bytes,
    }
    return sum(once[entity] for entity in set(kept))


def breakdown(costs: Mapping[Entity, int]) -> dict[Entity, float]:
    """Share of each entity in the total, between 0 and 1 (data of Figure 1)."""
    total = sum(costs.values())
    return {entity: cost / total for entity, cost in costs.items()}


@dataclass(frozen=True, slots=True)
class ReuseStep:
    """One bar of Figure 3.

    Attributes:
        label: what was added on chip by this step.
        kept: all entities on chip at this step.
        costs: remaining DRAM reads by entity, in bytes (zero for kept ones).
        traffic_bytes: their sum.
        sram_bytes: smallest on-chip memory that holds the kept entities.
    """

    label: str
    kept: tuple[Entity, ...]
    costs: Mapping[Entity, int]
    traffic_bytes: int
    sram_bytes: int


def reuse_series(
    workload: Workload,
    order: tuple[Entity, ...] = REUSE_ORDER,
    counts: Counts | None = None,
) -> tuple[ReuseStep, ...]:
    """Cost and minimal SRAM as the entities of ``order`` move on chip one by one.

    The first step keeps nothing; step i keeps the first i entities of ``order``.
    With the default order and a 1024 x 1024 matrix under Set-B this is Figure 3.
    """
    full = dram_costs(workload, counts)
    steps: list[ReuseStep] = []
    for length in range(len(order) + 1):
        kept = order[:length]
        costs = {entity: 0 if entity in kept else cost for entity, cost in full.items()}
        steps.append(
            ReuseStep(
                label=f"+ {order[length - 1].value}" if length else "nothing kept",
                kept=kept,
                costs=costs,
                traffic_bytes=sum(costs.values()),
                sram_bytes=sum(resident_bytes(workload, e, counts) for e in set(kept)),
            )
        )
    return tuple(steps)
