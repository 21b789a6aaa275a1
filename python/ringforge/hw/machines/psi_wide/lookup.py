# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection by our algorithm on the streaming accelerator: expansion, rows, look-up, packing.

The order is the library's: depth first through the expansion, one bin at a time (docs/psi-algorithm.md). Nodes of the
expansion and results lie in memory; a bin's selectors and RGSW ciphertexts are key rows. The host opens requests, puts
the table's cells into plain rows, and masks the packed results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ringforge import _native
from ringforge.errors import ParameterError
from ringforge.hw.core.small_ring import Gadget, Ring
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup, Words, ciphertexts, image, plain
from ringforge.hw.machines.psi_wide.program import Beside, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, load_tables

if TYPE_CHECKING:
    from ringforge._native.fhew import Cut
    from ringforge._native.psi import Plan, SessionKeys
    from ringforge.psi.table import Arrays

#: Slots that the expansion goes through in turns: two for each ciphertext on its way.
_EXPANDING = 12


@dataclass(frozen=True)
class Places:
    """Key rows and slots of a plan.

    Attributes:
        stage, rebuilding, selectors, bits: first key rows of a stage's key, of RLWE'(z^2), of the selectors, of the
            RGSW ciphertexts. rows: how many in all.
        tree: first slot of the finished left halves. current: slot of what is being made. slots: how many in all.
    """

    plan: Plan
    stage: int = 0
    rebuilding: int = field(init=False)
    selectors: int = field(init=False)
    bits: int = field(init=False)
    rows: int = field(init=False)
    tree: int = field(init=False)
    current: int = field(init=False)
    slots: int = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        found = {"rebuilding": max(c.count for c in plan.expansion)}
        found["selectors"] = found["rebuilding"] + plan.reconstruction.count
        found["bits"] = found["selectors"] + (1 << plan.log_onehot)
        found["rows"] = found["bits"] + 2 * plan.gadget.count * plan.rgsw_bits
        found |= {"tree": _EXPANDING, "current": _EXPANDING + plan.tree_bits}
        found["slots"] = found["current"] + 2
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def rgsw(self, bit: int) -> int:
        """First row of a bit's RGSW ciphertext."""
        return self.bits + bit * 2 * self.plan.gadget.count


class LookupMachine:
    """A client's session on a machine.

    Args:
        config: the machine.
        keys: the session's keys.
        executor: what runs programs.

    Raises:
        ParameterError: the machine does not take the plan's ring or gadgets, holds too few ciphertexts or rows, or the
            plan is one of the paper's algorithm.
    """

    def __init__(self, config: WideConfig, keys: SessionKeys, executor: Executor) -> None:
        plan = keys.plan
        if plan.algorithm != "ringforge":
            raise ParameterError(f"{config.name} runs plans of the algorithm ringforge, not of {plan.algorithm}")
        self.config, self.plan, self.keys, self.executor = config, plan, keys, executor
        self.ring = Ring.of(plan.modulus, plan.log_n)
        gadgets = [_gadget(c) for c in (plan.gadget, plan.reconstruction, *plan.expansion)]
        self.setup = Setup(self.ring, gadgets, pow(1 << plan.rotation_bits, -1, plan.modulus))
        self.setup.check(config)
        self.places = Places(plan)
        for what, have, need in (
            ("slots", config.slots, self.places.slots),
            ("key rows", config.key_rows, self.places.rows),
        ):
            if have < need:
                raise ParameterError(
                    f"{config.name} has {have} {what}, and the plan needs {need}: take another configuration, "
                    "or a plan with fewer selectors"
                )
        #: Cycles of the last answer; None where nothing counts them.
        self.cycles: int | None = None

    def results(self, request: bytes, table: Arrays) -> Words:
        """The packed results (replies, 2, N), coefficients, that `psi.seal_reply` masks.

        Raises:
            HardwareError: the machine stops with an error.
        """
        opened = _native.psi.open_request(self.plan, request)
        maker = Maker(self.config, self.plan, self.keys, self.setup, self.places, opened, table)
        maker.make()
        self.cycles = self.executor.run(self.setup, maker.program, maker.memory)
        return self.ring.inverse(ciphertexts(self.config, maker.replies, self.plan.log_n))


class Maker:
    """The program of one answer.

    Args:
        opened: the request's ciphertexts, (groups, outputs, 2, N), in Eval order.
    """

    def __init__(
        self, config: WideConfig, plan: Plan, keys: SessionKeys, setup: Setup, places: Places, opened: Words,
        table: Arrays,
    ) -> None:  # fmt: skip
        self.config, self.plan, self.places, self.table = config, plan, places, table
        self.memory, self.program = Memory(config), Program()
        self.size = config.rlwe_bytes(plan.log_n)
        self.stages = len(plan.expansion)
        load_tables(self.program, self.memory, setup)
        self.stage_keys = [self.memory.put(image(config, keys.substitution_rows(s))) for s in range(self.stages)]
        self.rebuilding = self.memory.put(image(config, keys.reconstruction_rows()))
        # The first child of a node takes its place.
        self.roots = [self.memory.put(image(config, group), writable=True) for group in opened]
        self.depth = min(plan.log_bins, plan.log_n)
        self.nodes = [self.memory.reserve(plan.outputs * self.size) for _ in range(self.depth)]
        self.halves = [self.memory.reserve(2 * self.size) for _ in range(self.depth + 1)]
        self.replies = np.zeros(plan.replies * self.size // 8, np.uint64)
        self.target = self.memory.put(self.replies, writable=True)
        self.pack_stages = min(self.depth, plan.rotation_bits)

    def make(self) -> None:
        """Writes all of it."""
        self.begin()
        for group, node in enumerate(self.roots):
            self._descend(node, 0, 0, group)
            if self.pack_stages == self.depth:
                self._reply(group)

    def begin(self) -> None:
        """Loads the key that all bins use."""
        count = self.plan.reconstruction.count
        self.program.load(self.rebuilding, first=self.places.rebuilding, count=count, to_row=True)

    def _reply(self, number: int) -> None:
        """Stores what is current as a reply."""
        self.program.store(self.target + number * self.size, first=self.places.current)

    def _descend(self, node: int, stage: int, prefix: int, group: int) -> None:
        """Answers all bins below a node; their packed result is current afterwards."""
        if stage == self.depth:
            self.lookup(node, (group << self.depth) + prefix)
            return
        skipped = self.depth - self.pack_stages
        child = self.nodes[stage]
        self.expand(node, child, stage)
        for which, below in enumerate((node, child)):
            number = prefix | which << stage
            self._descend(below, stage + 1, number, group)
            if stage >= skipped:
                self.program.store(self.halves[stage] + which * self.size, first=self.places.current)
            elif stage + 1 == skipped:
                self._reply((group << skipped) + number)
        if stage >= skipped:
            self.pack(self.halves[stage], stage - skipped)

    def _key(self, stage: int, *, fence: bool = False) -> None:
        count = self.plan.expansion[stage].count
        self.program.load(self.stage_keys[stage], first=self.places.stage, count=count, to_row=True, fence=fence)

    def _substitute(self, s1: int, stage: int, *, init: int, target: int, s2: int = 0, take: Take = Take.ONE) -> None:
        """target = init + the image of what is taken under X -> X^(N/2^stage + 1)."""
        element = ((1 << self.plan.log_n) >> stage) + 1
        self.program.product(
            s1, s2=s2, take=take, element=element, row=self.places.stage, gadgets=(2 + stage,), beside=Beside.B,
            negate=True, init=init, target=target,
        )  # fmt: skip

    def expand(self, node: int, child: int, stage: int) -> None:
        """Both children of a node, the first in its place."""
        p, order = self.program, 2 << self.plan.log_n
        self._key(stage, fence=True)
        # A second child needs the first one: it is made some products later, so that nothing waits for it.
        late: list[tuple[int, int]] = []

        def finish(output: int, slot: int) -> None:
            p.linear(slot, s2=slot + 1, take=Take.REFLECTION, power=order - (1 << stage), target=slot)
            p.store(node + output * self.size, first=slot + 1)
            p.store(child + output * self.size, first=slot)

        for output in range(self.plan.outputs):
            slot = 2 * output % _EXPANDING
            if len(late) == _EXPANDING // 2:
                finish(*late.pop(0))
            p.load(node + output * self.size, first=slot)
            self._substitute(slot, stage, init=slot, target=slot + 1)
            late.append((output, slot))
        for entry in late:
            finish(*entry)

    def pack(self, halves: int, stage: int) -> None:
        """Joins two halves of a reply, in the current slot."""
        p, here = self.program, self.places.current
        p.load(halves, first=0, count=2, fence=True)
        self._key(stage)
        p.linear(1, power=1 << stage, target=1)
        p.linear(0, s2=1, take=Take.SUM, target=2)
        self._substitute(0, stage, s2=1, take=Take.DIFFERENCE, init=2, target=here)

    def lookup(self, node: int, bin_number: int) -> None:
        """The bin's cell, scaled for packing, in the current slot."""
        plan, p, places = self.plan, self.program, self.places
        selectors, d, here = 1 << plan.log_onehot, plan.gadget.count, places.current
        p.load(node, first=places.selectors, count=selectors, to_row=True, fence=True)
        for bit in range(plan.rgsw_bits):
            from_ = node + (selectors + bit * d) * self.size
            p.load(from_, first=places.rgsw(bit) + d, count=d, to_row=True)
            for j in range(d):
                slot = (bit * d + j) % _EXPANDING
                p.load(from_ + j * self.size, first=slot)
                p.product(
                    slot, row=places.rebuilding, gadgets=(1,), beside=Beside.A, target=places.rgsw(bit) + j,
                    to_row=True,
                )  # fmt: skip
        self._tree(bin_number)
        order = 2 << plan.log_n
        for bit in range(plan.rotation_bits):
            p.product(
                here, power=order - (1 << bit), times=Times.POWER_LESS, row=places.rgsw(plan.tree_bits + bit),
                gadgets=(0, 0), init=here, target=here,
            )  # fmt: skip
        p.linear(here, times=Times.SCALAR, target=here)
        for stage in reversed(range(self.pack_stages, plan.rotation_bits)):
            self._key(stage)
            self._substitute(here, stage, init=here, target=here + 1)
            p.linear(here + 1, target=here)

    def _tree(self, bin_number: int) -> None:
        """The leaf that the tree's bits name, leaf by leaf, as soon as both halves are there."""
        plan, p, places = self.plan, self.program, self.places
        here, selectors = places.current, 1 << plan.log_onehot
        rows = self._rows(bin_number)
        for leaf in range(1 << plan.tree_bits):
            is_left = leaf % 2 == 0 and plan.tree_bits > 0
            chosen = plain(self.config, rows[leaf :: 1 << plan.tree_bits])
            p.plain(
                self.memory.put(chosen), count=selectors, row=places.selectors, target=places.tree if is_left else here
            )
            level, path = 0, leaf
            while level < plan.tree_bits and path & 1:
                left = places.tree + level
                is_left = (path >> 1) & 1 == 0 and level + 1 < plan.tree_bits
                p.product(
                    here, s2=left, take=Take.DIFFERENCE, row=places.rgsw(level), gadgets=(0, 0), init=left,
                    target=left + 1 if is_left else here,
                )  # fmt: skip
                path, level = path >> 1, level + 1

    def _rows(self, bin_number: int) -> Words:
        """The bin's rows, (rows, N)."""
        plan, table = self.plan, self.table
        stride = 1 << plan.rotation_bits
        first, last = int(table.offsets[bin_number]), int(table.offsets[bin_number + 1])
        cells = np.asarray(table.cells[first:last], np.int64)
        rows = np.zeros((1 << plan.row_bits, 1 << plan.log_n), np.uint64)
        for word in range(plan.cell_words):
            values = 1 if table.words is None else table.words[first:last, word]
            rows[cells // stride, cells % stride + word * stride] = values
        return rows


def _gadget(cut: Cut) -> Gadget:
    return Gadget(cut.log_base, cut.count, cut.drop, cut.balanced)
