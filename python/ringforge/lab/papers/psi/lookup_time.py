# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How long a query of private set intersection takes on our machines, with what has to move, and what it waits for.

Work is counted from the plan of the query (`Plan.counts()`). Units and links work beside each other, so the busiest one
gives a bound: what a program that never waits takes. Two machines:

* :class:`Streaming`: the streaming accelerator takes all of the algorithm `ringforge`, its memory what does not rest on
  chip; unit by unit.
* :class:`Chain`: the published pipeline takes substitutions and products of the algorithm `paper`, one after another;
  sums, and what lies between, are the host's, and every ciphertext crosses the link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ringforge.errors import ParameterError
from ringforge.hw.machines.psi.closed_form import Timing
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi_wide.config import PORT_BYTES, WideConfig
from ringforge.hw.machines.psi_wide.leaves import monomials

#: Bytes a second that a card's link moves each way: PCIe 3.0 x16, of whose 15.75 GB/s DMA gets about three quarters.
LINK_BYTES: Final = 12e9
#: DSP slices of a modular multiplier by bits of a word: Barrett in tiles, as Yosys maps it (`ringforge hw report psi`).
DSP_PER_MULTIPLIER: Final = {27: 6, 54: 17}


@dataclass(frozen=True, slots=True)
class Work:
    """Operations of a query by the algorithm `ringforge`, when everything rests in Eval form.

    Attributes:
        log_n, bins: of the plan.
        expansion, rebuilt, packing: substitutions, key switches that rebuild rows, substitutions of the packing.
        expansion_digits, rebuilt_digits, packing_digits: digits that they transform, summed.
        last, near: substitutions of the expansion's last stage, and of the one before it.
        stage_rows: rows of keys that the nodes of the expansion and the packing need, summed.
        products, product_digits: external products, and digits that they transform.
        rows, leaves: plain rows, and leaves of all trees. rebuilding_rows: rows of the key that rebuilds.
        outputs: ciphertexts expanded for a bin. replies: packed ones.
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
    last: int
    near: int
    stage_rows: int
    rows: int
    leaves: int
    rebuilding_rows: int
    outputs: int
    replies: int

    @classmethod
    def of(cls, plan: Any) -> Work:
        """From a native plan, whose counts these are.

        Raises:
            ParameterError: the plan is of the algorithm `paper`.
        """
        if plan.algorithm != "ringforge":
            raise ParameterError(f"the plan is of algorithm {plan.algorithm}: take one of ringforge")
        counts, bins, turns = plan.counts(), int(plan.bins), int(plan.rotation_bits)
        digits = [int(c.count) for c in plan.expansion]
        stages = min(int(plan.log_bins), int(plan.log_n))
        nodes = [int(plan.groups) << s for s in range(stages)]
        joins = [int(plan.replies) << p if p < min(stages, turns) else bins for p in range(turns)]
        expansion = [n * int(plan.outputs) for n in nodes]
        rebuilt, products = int(counts.reconstruction), int(counts.external_product)
        work = cls(
            log_n=int(plan.log_n),
            bins=bins,
            expansion=sum(expansion),
            expansion_digits=sum(n * d for n, d in zip(expansion, digits, strict=False)),
            rebuilt=rebuilt,
            rebuilt_digits=rebuilt * int(plan.reconstruction.count),
            products=products,
            product_digits=products * 2 * int(plan.gadget.count),
            packing=sum(joins),
            packing_digits=sum(n * d for n, d in zip(joins, digits, strict=False)),
            last=expansion[-1],
            near=expansion[-2],
            stage_rows=sum(n * d for work in (nodes, joins) for n, d in zip(work, digits, strict=False)),
            rows=int(counts.row),
            leaves=bins << int(plan.tree_bits),
            rebuilding_rows=int(plan.reconstruction.count),
            outputs=int(plan.outputs),
            replies=int(plan.replies),
        )
        # The replies' masks are the host's.
        assert work.expansion + work.packing == counts.substitution
        assert work.forward + work.rows + int(plan.replies) == counts.ntt
        return work

    @property
    def forward(self) -> int:
        """Forward transforms of digits; plain rows apart."""
        return self.expansion_digits + self.rebuilt_digits + self.product_digits + self.packing_digits

    @property
    def inverse(self) -> int:
        """Inverse transforms: of a for a switch, of both polynomials for a product."""
        return self.expansion + self.rebuilt + 2 * self.products + self.packing

    @property
    def linear(self) -> int:
        """Passes that only add, turn, scale or copy: the second child of a node, a bin's ciphertexts as rows of keys,
        one that scales a bin, two of a join."""
        return self.expansion + self.bins * self.outputs + self.bins + 2 * (self.bins - self.replies)

    @property
    def loads(self) -> int:
        """Ciphertexts and rows of keys from memory: nodes of the expansion, but for first children that the last stage
        goes on with; keys of stages and of what is rebuilt. Tables of few cells have a row of zeros besides."""
        return self.expansion - self.near + self.stage_rows + self.rebuilding_rows

    @property
    def stores(self) -> int:
        """Ciphertexts to memory: children, but for those of the last stage and first ones of the stage before, which
        stay on chip; replies."""
        return 2 * (self.expansion - self.last) - self.near + self.replies


@dataclass(frozen=True, slots=True)
class Streaming:
    """The streaming accelerator.

    Attributes:
        config: which one.
        cells: monomials of a bin, if leaves are summed of these, each a power of X times a selector: in every leaf as
            many as a whole bin has cells at most; 0: leaves are sums of plain rows. The machine does both.
        row_unit: with a second forward transform and multipliers of its own for plain rows, which it does not have.
    """

    config: WideConfig
    cells: int = 0
    row_unit: bool = False

    @classmethod
    def of(cls, config: WideConfig, plan: Any, entries: int) -> Streaming:
        """Takes a plan as the machine does, for tables whose bins have `entries` cells at most."""
        return cls(config, monomials(plan, entries) << int(plan.tree_bits))

    def multipliers(self, log_n: int) -> int:
        """Modular multipliers; a unit for rows only selects in its first stage."""
        more = (log_n - 1) * self.config.lanes // 2 + 2 * self.config.lanes if self.row_unit else 0
        return self.config.multipliers + more

    def dsp(self, log_n: int) -> int:
        """DSP slices of its multipliers."""
        return self.multipliers(log_n) * DSP_PER_MULTIPLIER[self.config.word_bits]

    def cycles(self, work: Work) -> dict[str, int]:
        """Cycles of each unit in a query: 2 lines of the gather unit for a polynomial, 4 for two, 2 for a linear pass.

        Plain rows have 16 bits a coefficient in memory; cells of a leaf take the place of one of them.
        """
        config, n = self.config, 1 << work.log_n
        line = config.lines(work.log_n)
        ciphertext = config.rlwe_bytes(work.log_n) // PORT_BYTES
        plain = 0 if self.cells or self.row_unit else work.rows
        table = (work.leaves if self.cells else work.rows) * n * 2 // PORT_BYTES
        units = {
            "forward transform": (work.forward + plain) * line,
            "inverse transform": work.inverse * 2 * line,
            "gather": (2 * (work.expansion + work.rebuilt + work.packing + work.linear) + 4 * work.products) * line,
            "products and sums": (work.forward + plain + work.bins * self.cells) * line,
            "memory reads": (work.loads + bool(self.cells)) * ciphertext + table,
            "memory writes": work.stores * ciphertext,
        }
        return units | {"unit for rows": work.rows * line} if self.row_unit else units

    def seconds(self, work: Work) -> tuple[str, float]:
        """The unit that a query waits for, and how long it takes."""
        units = self.cycles(work)
        name = max(units, key=lambda unit: units[unit])
        return name, units[name] / self.config.clock_hz

    def link_bytes(self, plan: Any) -> tuple[int, int]:
        """Bytes to the card and back in a query: the request, whole, and replies; the table is there already."""
        size = self.config.rlwe_bytes(int(plan.log_n))
        return int(plan.groups) * int(plan.outputs) * size, int(plan.replies) * size

    def table_bytes(self, work: Work) -> int:
        """Bytes of the table in the card's memory, put there once."""
        return (work.leaves if self.cells else work.rows) * (2 << work.log_n)


@dataclass(frozen=True, slots=True)
class Moved:
    """Seconds of a query on the published pipeline, each for itself.

    Attributes:
        substitutions, products: of the pipeline.
        to_card, from_card: of the link: operands and RGSW ciphertexts; results.
        card_memory: of the port of RLWEs, both ways together.
    """

    substitutions: float
    products: float
    to_card: float
    from_card: float
    card_memory: float

    @property
    def overlapped(self) -> float:
        """When the queue hides what moves behind what is computed."""
        return max(self.substitutions + self.products, self.to_card, self.from_card, self.card_memory)

    @property
    def in_turns(self) -> float:
        """When nothing is hidden."""
        return self.substitutions + self.products + self.to_card + self.from_card


@dataclass(frozen=True, slots=True)
class Chain:
    """The published pipeline: a configuration of ours."""

    config: PsiConfig

    def operation(self, plan: Any) -> tuple[float, float, float]:
        """Cycles of a substitution, through which b passes, of a product, and of one of the tree's first level: plain
        numbers have one digit."""
        timing, digits = Timing(self.config, int(plan.log_n)), int(plan.gadget.count)
        return timing.operation(digits + 1, digits), timing.operation(2 * digits, 2 * digits), timing.operation(2, 2)

    def moved(self, plan: Any) -> Moved:
        """A query by a plan of the algorithm `paper`: every operand and result crosses link and memory, in words of 64
        bits, and every RGSW ciphertext goes to the card once, both halves."""
        counts, clock = plan.counts(), self.config.clock_hz
        substitution, product, leaf = self.operation(plan)
        first = first_level(plan)
        operations = int(counts.substitution + counts.external_product)
        size = self.config.rlwe_bytes(int(plan.log_n))
        rebuilt = int(plan.bins) * int(plan.rgsw_bits) * int(plan.gadget.count)
        to_card = operations * size + rebuilt * 2 * size
        return Moved(
            substitutions=int(counts.substitution) * substitution / clock,
            products=((int(counts.external_product) - first) * product + first * leaf) / clock,
            to_card=to_card / LINK_BYTES,
            from_card=operations * size / LINK_BYTES,
            card_memory=operations * size / (self.config.port_bytes * clock),
        )

    @property
    def multipliers(self) -> int:
        """Two butterflies in each inverse transform and each stage, eight for a row of a key."""
        return 2 * self.config.intts + 2 * self.config.max_log_n + 8

    @property
    def dsp(self) -> int:
        """DSP slices of its multipliers."""
        return self.multipliers * DSP_PER_MULTIPLIER[self.config.word_bits]

    def key_rate(self, log_n: int) -> float:
        """Bytes a second of keys in a full stream of products."""
        timing = Timing(self.config, log_n)
        return self.config.rlwe_bytes(log_n) * self.config.clock_hz / max(timing.interval, timing.row)


def first_level(plan: Any) -> int:
    """Products of a query by `paper` whose operands are differences of plain rows."""
    return int(plan.bins) << int(plan.tree_bits) >> 1


def passes(plan: Any) -> int:
    """Passes over N words that a query of the algorithm `paper` leaves to the host: sums and differences.

    Expansion: two sums, two differences, two products with a power of X. CMUX: two differences before, two sums after;
    the rotation's takes two products with a power of X more. Packing: two sums, two differences, two turns, two sums.
    """
    counts, bins = plan.counts(), int(plan.bins)
    turns = int(plan.rotation_bits)
    stages = min(int(plan.log_bins), int(plan.log_n))
    expansion = sum(int(plan.groups) << s for s in range(stages)) * int(plan.outputs)
    rebuilt = bins * int(plan.rgsw_bits) * int(plan.gadget.count)
    products = int(counts.external_product) - rebuilt
    return 6 * expansion + 4 * products + 2 * bins * turns + 8 * (int(counts.substitution) - expansion)
