# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of the vector family's primitives from counts: no program, no events.

With R = N/c rows, log N = n, w(x) the cycles of x rows through the memory, and one group of p elements that hold
m = ceil(l/p) of l limbs each, an instruction keeps its unit for

    T = n R + 30, and 27 (n - 1) more if R < 108   NTT, INTT
    A = R + 11                                      AUTO
    M = max(R, w(R)) + 20                           MAC, w for a streamed operand
    X = R + 11                                      SEND and RECV, SEND and REDUCE alike
    L = max(R + latency, w(R)) + 8                  LOAD: one at a time, so it shows its latency

which are the figures of the instruction table in hw/matvec/README.md. A port gives a row per cycle to the elements
that it serves, and all ports together what the memory moves; the slower of both makes w: of e elements to a port,
g p elements at work in g groups, and a memory of b rows per cycle

    w(x) = x max(e, g p / b).

A *key product* (digits of c_1 times a key) is m inverse transforms, a broadcast, m l rounds, and the products modulo
P of the last digit, which nothing hides. In a round every element transforms one digit while it multiplies the one
before with two polynomials of the key (an element that keeps a sum modulo P with one or two more), and while the bus
carries the next digit and the one modulo P:

    K = m T + X + m l max(T, h M, 2 X) + X' + M
    h = 2 + sums modulo P on one element; X' = X if digits modulo P are made by their owners and given away.

A *division* by a prime (rescaling, or P at the end of a key switch) is one inverse transform, on two elements at once,
a broadcast, and the transforms of both parts, the products beside them but for the last:

    D = X'' + T + X + 2 m T + M
    X'' = X if both limbs that go are on one element and one has to be given away first.

A *rotation* is a key product, a division and 2 m automorphisms. What the formulas leave out: issue that waits for
instructions, slots that run out (values then go through memory), collisions on the bus, and which bank an operand is
in. Machines built on these primitives say what their schedules take (`ringforge.hw.machines.matvec.closed_form`),
`ringforge hw validate` holds the sums against RTL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ringforge.hw.core.memory import Timing
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.keyswitch import SpecialHomes

#: Rounds of a key product that elements with less to do save in all. Fitted.
_AHEAD: Final = 0.5


@dataclass(frozen=True)
class Primitives:
    """Cycles of the primitives on one group.

    Attributes:
        config: the machine, with its memory.
        log_n: log2 of the degree.
        active: groups that work at the same time.
    """

    config: VectorConfig
    log_n: int
    active: int = 1

    # ---- instructions ----

    @cached_property
    def rows(self) -> int:
        """R: rows of a polynomial."""
        return self.config.rows(self.log_n)

    def memory(self, polynomials: float, elements: int | None = None) -> float:
        """w: cycles in which a group moves so many polynomials, shared by so many of its elements (all by default)."""
        config = self.config
        working = config.pes if elements is None else min(elements, config.pes)
        ports = min(config.group_ports, working)
        per_port = -(-working // ports) / working  # share of the port with most
        timing = Timing.of(config)
        rate = config.dram_bytes_per_cycle / config.row_bytes if timing is None else timing.rate
        whole = self.active / rate
        return polynomials * self.rows * max(per_port, whole)

    @cached_property
    def transform(self) -> int:
        """T: an NTT or INTT."""
        short = 27 * (self.log_n - 1) if self.rows < 108 else 0
        return self.log_n * self.rows + 30 + short

    @property
    def automorphism(self) -> int:
        """A."""
        return self.rows + 11

    @property
    def product(self) -> int:
        """M, its operands on chip or there in time."""
        return self.rows + 20

    @property
    def transfer(self) -> int:
        """X: a broadcast."""
        return self.rows + 13

    def load(self, elements: int) -> float:
        """L: a polynomial on each of the elements."""
        return max(self.rows + self.config.dram_latency, self.memory(elements, elements)) + 8

    def spilled(self, limbs: int, beside: int = 0, most: int | None = None) -> float:
        """Cycles for what finds no slot in a key product and is stored and loaded.

        A key product keeps both parts, the sums, the digits as they came, and three that move.

        Args:
            limbs: of the product.
            beside: values that are kept for later.
            most: values that one product has to bring back at most.
        """
        kept = 3 * self.held(limbs) + self.sums(limbs) + 3 + beside
        missing = max(0, kept - self.config.slots(self.log_n))
        return (missing if most is None else min(missing, most)) * (2 * self.rows + self.config.dram_latency)

    # ---- primitives of several instructions; `limbs` is l ----

    def held(self, limbs: int) -> int:
        """m: limbs of an element."""
        return -(-limbs // self.config.pes)

    def homes(self, limbs: int) -> SpecialHomes:
        """Who keeps the sums modulo P."""
        return SpecialHomes.of(limbs, self.config.pes)

    def sums(self, limbs: int) -> int:
        """Sums over Q and P that one element keeps, at most."""
        config, homes = self.config, self.homes(limbs).accumulate
        return max(2 * len(range(pe, limbs, config.pes)) + homes.count(pe) for pe in range(config.pes))

    def working(self, limbs: int) -> int:
        """Elements of a group that have a limb."""
        return min(limbs, self.config.pes)

    def rounds(self, limbs: int) -> float:
        """Rounds of a key product: digits, once for every limb of an element."""
        m = self.held(limbs)
        # In rounds where some elements have nothing to transform, others run ahead.
        return m * limbs - (_AHEAD if m > 1 and self.homes(limbs).light else 0)

    def keys(self, limbs: int) -> tuple[float, float]:
        """Cycles in which the keys of one product come, and those of them that a division may run beside."""
        working = self.working(limbs)
        polynomials = 2 * limbs * (limbs + 1)
        late = self.memory(2 * working, working)
        return max(self.memory(polynomials, working), limbs * self.sums(limbs) * self.product), late

    def key_product(self, limbs: int) -> float:
        """K, from the polynomial in place to the sums modulo P."""
        m, homes = self.held(limbs), self.homes(limbs)
        keys, late = self.keys(limbs)
        handed = 0 if homes.light else self.transfer
        rounds = max(self.rounds(limbs) * self.transform, keys - late)
        return m * self.transform + self.transfer + rounds + handed + self.product

    def division(self, limbs: int, *, apart: bool, late: float = 0) -> float:
        """D: of the limbs that stay.

        Args:
            limbs: how many.
            apart: the limbs that go are on two elements, or on one that has nothing else.
            late: cycles of products that run beside its begin.
        """
        m = self.held(limbs)
        given = 0 if apart or self.config.pes == 1 else self.transfer
        begin = max(2 * self.transform + self.transfer, late)
        return given + begin + (2 * m - 1) * self.transform + self.product

    def switched(self, limbs: int, late: float = 0) -> float:
        """Division by P."""
        homes = self.homes(limbs).accumulate
        return self.division(limbs, apart=homes[0] != homes[1] or limbs < self.config.pes, late=late)

    def rotation(self, limbs: int, beside: int = 0) -> float:
        """A key switch and an automorphism, with so many values kept for later."""
        turns = self.held(limbs) * self.automorphism
        late = self.keys(limbs)[1]
        # The first part turns beside the last product.
        return (
            self.spilled(limbs)
            + self.key_product(limbs)
            + self.switched(limbs, late)
            - self.product
            + turns
            + max(turns, self.product)
        )
