# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How long a query of private set intersection takes on a pipeline, and which unit it waits for.

Work is counted from the plan of the query (`Plan.counts()`), unit by unit, in cycles of the machine. Two machines:

* :class:`Streaming`, which keeps everything in Eval form, transforms L coefficients a cycle forward and L/2 backward,
  and takes the algorithm `ringforge`;
* :class:`Chain`, the published pipeline: one substitution or external product after another, everything else on the
  host.

Units work beside each other, so the busiest one gives a bound: what a program that never waits takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ringforge.errors import ParameterError

#: Bytes of a beat of a memory port.
BEAT_BYTES: Final = 64

#: What computes leaves of the tree: rows through the machine's own transform, through a second transform with
#: multipliers of its own, or a product of a selector and a power of X for every cell that is set.
Leaves = Literal["rows", "row unit", "monomials"]


@dataclass(frozen=True, slots=True)
class Work:
    """Operations of a query by the algorithm `ringforge`, with everything that rests in Eval form.

    Attributes:
        log_n, bins: of the plan.
        expansion, rebuilt, packing: substitutions, key switches that rebuild rows, substitutions of the packing.
        expansion_digits, rebuilt_digits, packing_digits: digits that they transform, summed.
        products, product_digits: external products, and digits that they transform.
        rows: plain rows.
        leaves: of all trees.
        entries: cells set in a bin, at most.
        outputs: ciphertexts expanded for a bin.
        cell_words: monomials of a cell.
    """

    log_n: int
    bins: int
    expansion: int
    expansion_digits: int
    rebuilt: int
    rebuilt_digits: int
    products: int
    product_digits: int
    packing: int
    packing_digits: int
    rows: int
    leaves: int
    entries: int
    outputs: int
    cell_words: int

    @classmethod
    def of(cls, plan: Any, entries: int) -> Work:
        """From a native plan by `ringforge`, whose counts these are.

        Args:
            plan: `PlanFields.native()`.
            entries: cells set in a bin, at most.

        Raises:
            ParameterError: the plan is of the algorithm `paper`.
        """
        if plan.algorithm != "ringforge":
            raise ParameterError(f"the plan is of algorithm {plan.algorithm}: take one of ringforge")
        counts, bins = plan.counts(), int(plan.bins)
        stages = min(int(plan.log_bins), int(plan.log_n))
        expansion = [(int(plan.groups) << s) * int(plan.outputs) for s in range(stages)]
        digits = [int(c.count) for c in plan.expansion]
        pack_stages = min(stages, int(plan.rotation_bits))
        packing = [int(plan.replies) << p if p < pack_stages else bins for p in range(int(plan.rotation_bits))]
        rebuilt = int(counts.reconstruction)
        work = cls(
            log_n=int(plan.log_n),
            bins=bins,
            expansion=sum(expansion),
            expansion_digits=sum(n * d for n, d in zip(expansion, digits, strict=False)),
            rebuilt=rebuilt,
            rebuilt_digits=rebuilt * int(plan.reconstruction.count),
            products=int(counts.external_product),
            product_digits=int(counts.external_product) * 2 * int(plan.gadget.count),
            packing=sum(packing),
            packing_digits=sum(n * d for n, d in zip(packing, digits, strict=False)),
            rows=int(counts.row),
            leaves=bins << int(plan.tree_bits),
            entries=entries,
            outputs=int(plan.outputs),
            cell_words=int(plan.cell_words),
        )
        if work.expansion + work.packing != counts.substitution:
            raise AssertionError("substitutions differ from the plan's count")
        if work.forward + work.rows + int(plan.replies) != counts.ntt:
            raise AssertionError("transforms differ from the plan's count")
        return work

    @property
    def forward(self) -> int:
        """Forward transforms of digits; plain rows apart."""
        return self.expansion_digits + self.rebuilt_digits + self.product_digits + self.packing_digits

    @property
    def inverse(self) -> int:
        """Inverse transforms: one of a for a switch, both of a product."""
        return self.expansion + self.rebuilt + 2 * self.products + self.packing

    @property
    def monomials(self) -> int:
        """Products of a selector and a power of X, every bin filled up to the same number."""
        return self.bins * self.entries * self.cell_words


@dataclass(frozen=True, slots=True)
class Streaming:
    """A machine with `lanes` coefficients a cycle forward and half as many backward.

    Attributes:
        name: of the machine.
        lanes: L.
        dsp: slices of a modular multiplier.
        clock_hz: its clock.
        ports: of 512 bits to memory.
    """

    name: str
    lanes: int
    dsp: int
    clock_hz: float = 125e6
    ports: int = 2

    def multipliers(self, log_n: int, leaves: Leaves = "rows") -> dict[str, int]:
        """Modular multipliers by unit. A unit for rows has a transform whose first stage only selects, and a MAC."""
        half = self.lanes // 2
        units = {
            "forward transform": log_n * half,
            "inverse transform": log_n * half // 2,
            "MAC": 2 * self.lanes,
            "rotation": 2 * self.lanes,
        }
        if leaves == "row unit":
            units["row unit"] = (log_n - 1) * half + 2 * self.lanes
        return units

    def dsp_slices(self, log_n: int, leaves: Leaves = "rows") -> int:
        """Slices of all multipliers."""
        return self.dsp * sum(self.multipliers(log_n, leaves).values())

    def cycles(self, work: Work, leaves: Leaves = "rows") -> dict[str, int]:
        """Cycles of each unit in a query.

        The slot file has one read port: a substitution of the expansion reads its ciphertext for the inverse transform,
        once more with the image of b for the sums, and twice for the second child; a product reads two slots, and one
        to add to; packing reads four, and writes its sum and difference; a rebuilt row is read twice.
        """
        line = (1 << work.log_n) // self.lanes
        forward, mac = work.forward, work.forward
        row_unit = 0
        if leaves == "rows":
            forward, mac = forward + work.rows, mac + work.rows
        elif leaves == "row unit":
            row_unit = work.rows
        else:
            mac += work.monomials
        units = {
            "forward transform": forward * line,
            "inverse transform": work.inverse * 2 * line,
            "MAC": mac * line,
            "slot reads": (5 * work.expansion + 2 * work.rebuilt + 3 * work.products + 6 * work.packing) * line,
            "slot writes": (2 * work.expansion + work.products + 3 * work.packing + work.leaves) * line,
        }
        return units | {"row unit": row_unit * line} if row_unit else units

    def beats(self, work: Work, leaves: Leaves = "rows", row_bits: int = 1) -> dict[str, int]:
        """Beats of 64 bytes of a query by what moves.

        Subtrees of the expansion stay on chip, each bin's ciphertexts are written once and read once; rows come with
        `row_bits` bits a coefficient, monomials as 32 bits.
        """
        ciphertext = (2 << work.log_n) * 8 // BEAT_BYTES
        nodes = work.bins * work.outputs * ciphertext
        if leaves == "monomials":
            table = -(-work.monomials * 4 // BEAT_BYTES)
        else:
            table = work.rows * -(-(row_bits << work.log_n) // (8 * BEAT_BYTES))
        return {"ciphertexts written": nodes, "ciphertexts read": nodes, "table": table}

    def bound(self, work: Work, leaves: Leaves = "rows") -> tuple[str, float]:
        """The busiest unit, and its seconds."""
        units = self.cycles(work, leaves)
        beats = self.beats(work, leaves)
        units["memory reads"] = (beats["ciphertexts read"] + beats["table"]) // self.ports
        units["memory writes"] = beats["ciphertexts written"] // self.ports
        name = max(units, key=lambda unit: units[unit])
        return name, units[name] / self.clock_hz


@dataclass(frozen=True, slots=True)
class Chain:
    """The published pipeline: a polynomial every `interval` cycles.

    Attributes:
        name: of the machine.
        interval: cycles between two polynomials.
        clock_hz: its clock.
    """

    name: str
    interval: int
    clock_hz: float = 125e6

    def cycles(self, plan: Any) -> Mapping[str, int]:
        """Cycles of a query by operation, of a native plan by `paper`; b passes through a substitution."""
        counts, digits = plan.counts(), int(plan.gadget.count)
        return {
            "substitutions": int(counts.substitution) * (digits + 1) * self.interval,
            "products": int(counts.external_product) * 2 * digits * self.interval,
        }

    def seconds(self, plan: Any) -> float:
        """Of a query, when the pipeline never waits."""
        return sum(self.cycles(plan).values()) / self.clock_hz
