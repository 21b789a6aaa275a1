# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection by our algorithm on the streaming accelerator: expansion, rows, look-up, packing.

The order is the library's: depth first through the expansion, one bin after the other (docs/psi-algorithm.md). Upper
nodes of the expansion lie in memory, the last stage's children in slots; a bin's selectors and RGSW ciphertexts are key
rows. The host opens requests, puts the table's cells into plain rows, and masks the packed results.

Sums of plain rows fill the forward transform; in tables whose bins have fewer cells than rows, sums of monomials take
their place, X^i times a selector for each cell, as many for every bin. Between them go, a few instructions at a time,
what prepares the next bin (expansion, rows) and what finishes the ones before it (tree, rotation, packing: chains, each
step of which needs the one before), so that no instruction has to wait long for another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.errors import ParameterError
from ringforge.hw.core.small_ring import Gadget, Ring
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup, Words, cells, ciphertexts, image, plain
from ringforge.hw.machines.psi_wide.program import Beside, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, load_tables

if TYPE_CHECKING:
    from ringforge._native.psi import Plan, SessionKeys
    from ringforge.psi.table import Arrays

#: Ciphertexts that are on their way through a stage of the expansion, and how many more are loaded ahead.
_EXPANDING, _FETCHED = 6, 4
#: Bins whose RGSW ciphertexts are held at a time, at most and at least.
_BINS, _FEWEST = 4, 2
#: Monomials of an instruction.
_MOST_MONOMIALS = 255
#: Chains that are taken on by a step after each sum of rows.
_CHAINS = 2


@dataclass(frozen=True)
class Places:
    """Key rows and slots of a plan.

    Slots are the first children of the last stage, the second ones, and a pool. Key rows are the key of the stage that
    is expanded, of the one that is packed, RLWE'(z^2), selectors of two bins, RGSW ciphertexts of some bins.

    Attributes:
        plan: the plan.
        key_rows: of the machine.
        packing, rebuilding, selectors, bits: first rows. bins: how many bins' RGSW ciphertexts there are.
        rows, slots: how many are needed at least.
        pool: first slot of the pool.
    """

    plan: Plan
    key_rows: int
    packing: int = field(init=False)
    rebuilding: int = field(init=False)
    selectors: int = field(init=False)
    bits: int = field(init=False)
    bins: int = field(init=False)
    rows: int = field(init=False)
    slots: int = field(init=False)
    pool: int = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        packing = max(c.count for c in plan.expansion)
        rebuilding = 2 * packing
        selectors = rebuilding + plan.reconstruction.count
        bits = selectors + 2 * (1 << plan.log_onehot)
        pool = 2 * max(plan.outputs, 2 * _EXPANDING)
        found = {
            "packing": packing, "rebuilding": rebuilding, "selectors": selectors, "bits": bits, "pool": pool,
            "bins": min(_BINS, (self.key_rows - bits) // self._of_bin), "rows": bits + _FEWEST * self._of_bin,
            "slots": pool + min(plan.log_bins, plan.log_n) + plan.tree_bits + 2 * _CHAINS + 5,
        }  # fmt: skip
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def _of_bin(self) -> int:
        return 2 * self.plan.gadget.count * self.plan.rgsw_bits

    def selector(self, number: int) -> int:
        """First row of a bin's selectors; bins are numbered in the order in which they are looked up."""
        return self.selectors + number % 2 * (1 << self.plan.log_onehot)

    def rgsw(self, number: int, bit: int) -> int:
        """First row of the RGSW ciphertext of a bit of a bin."""
        return self.bits + number % self.bins * self._of_bin + bit * 2 * self.plan.gadget.count


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
        gadgets = [Gadget.of(c) for c in (plan.gadget, plan.reconstruction, *plan.expansion)]
        self.setup = Setup(self.ring, gadgets, pow(1 << plan.rotation_bits, -1, plan.modulus))
        self.setup.check(config)
        self.places = Places(plan, config.key_rows)
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
        maker = _Maker(self, _native.psi.open_request(self.plan, request), table)
        maker.make()
        self.cycles = self.executor.run(self.setup, maker.program, maker.memory)
        return self.ring.inverse(ciphertexts(self.config, maker.replies, self.plan.log_n))


@dataclass(eq=False)
class _Value:
    """A ciphertext that a chain makes.

    Attributes:
        slot: where it is, once the instruction that makes it has been written.
    """

    slot: int | None = None

    @property
    def at(self) -> int:
        """The slot."""
        assert self.slot is not None
        return self.slot


@dataclass
class _Step:
    """A step of a chain: `write` writes its instructions when all of `inputs` are there."""

    inputs: list[_Value]
    write: Callable[[], None]


@dataclass
class _Chain:
    """Steps in order.

    Attributes:
        number: of the bin that it finishes, in the order of the look-ups.
    """

    number: int
    steps: deque[_Step] = field(default_factory=deque)


@dataclass
class _Bin:
    """A bin to be looked up.

    Attributes:
        number: in the order of the look-ups. index: of the table.
        prepare: writes what comes before its sums of rows.
        result: its cell.
    """

    number: int
    index: int
    prepare: list[Callable[[], None]]
    result: _Value = field(default_factory=_Value)


class _Maker:
    """The program of one answer.

    Args:
        opened: the request's ciphertexts, (groups, outputs, 2, N), in Eval order.
    """

    def __init__(self, machine: LookupMachine, opened: Words, table: Arrays) -> None:
        config, plan = machine.config, machine.plan
        self.config, self.plan, self.places, self.table = config, plan, machine.places, table
        self.memory, self.program = Memory(config), Program()
        self.size = config.rlwe_bytes(plan.log_n)
        self.order = 2 << plan.log_n
        load_tables(self.program, self.memory, machine.setup)
        keys = [machine.keys.substitution_rows(s) for s in range(len(plan.expansion))]
        self.stage_keys = [self.memory.put(image(config, rows)) for rows in keys]
        self.rebuilding = self.memory.put(image(config, machine.keys.reconstruction_rows()))
        # The first child of a node takes its place.
        self.roots = [self.memory.put(image(config, group), writable=True) for group in opened]
        self.depth = min(plan.log_bins, plan.log_n)
        self.nodes = [self.memory.reserve(plan.outputs * self.size) for _ in range(self.depth)]
        self.replies = np.zeros(plan.replies * self.size // 8, np.uint64)
        self.target = self.memory.put(self.replies, writable=True)
        self.pack_stages = min(self.depth, plan.rotation_bits)
        # Sums that only take time go to a slot of their own.
        self.spare = self.places.pool
        self.free = deque(range(self.places.pool + 1, config.slots))
        self.chains: list[_Chain] = []
        self.begun = 0  # bins
        self.cells = self._most_cells()
        self.waiting: list[Callable[[], None]] = []  # what has to be written before the next bin

    def make(self) -> None:
        """Writes it."""
        count = self.plan.reconstruction.count
        self.program.load(self.rebuilding, first=self.places.rebuilding, count=count, to_row=True)
        self.program.load(self.roots[0], first=self.spare)
        bins = self._bins()
        this = next(bins, None)
        for write in this.prepare if this else ():
            write()
        while this is not None:
            following = next(bins, None)
            # Its rows take the place of those of a bin some turns ago.
            self._finish(self.begun - 1 - self.places.bins)
            self._look_up(this, following.prepare if following else [])
            this = following
        self._finish(self.begun)

    # ---- slots and chains ----

    def _take(self) -> int:
        """A slot of the pool."""
        while not self.free:
            if not self._advance(len(self.chains)):
                raise ParameterError(f"{self.config.name} has too few slots for this plan: take more bins, or another")
        return self.free.popleft()

    def _give(self, *values: _Value) -> None:
        self.free.extend(value.at for value in values)

    def _advance(self, count: int) -> bool:
        """Writes the next step of the first `count` chains that have one to write; whether there was any."""
        written = 0
        for chain in list(self.chains):
            if written == count:
                break
            if all(value.slot is not None for value in chain.steps[0].inputs):
                chain.steps.popleft().write()
                written += 1
            if not chain.steps:
                self.chains.remove(chain)
        return written > 0

    def _finish(self, number: int) -> None:
        """Writes all chains of bins up to a number."""
        while any(chain.number <= number for chain in self.chains):
            if not self._advance(len(self.chains)):
                raise AssertionError("chains wait for each other")

    # ---- the expansion ----

    def _bins(self) -> Iterator[_Bin]:
        for group, node in enumerate(self.roots):
            result = yield from self._below(node, 0, 0, group)
            if self.pack_stages == self.depth:
                self._reply(group, result)

    def _below(self, node: int, stage: int, prefix: int, group: int) -> Generator[_Bin, None, _Value]:
        """The bins below a node in order; gives the value of their packed result."""
        if stage == self.depth:
            index = (group << self.depth) + prefix
            slots = None
            if stage > 0:
                # Children of a node that was in slots itself have changed places.
                second = prefix >> (stage - 1) == 1
                swapped = stage > 1 and prefix >> (stage - 2) & 1 == 0
                slots = self.places.pool // 2 if second != swapped else 0
            prepare, self.waiting = [*self.waiting, *self._rows(self.begun, node, slots)], []
            found = _Bin(self.begun, index, prepare)
            self.begun += 1
            yield found
            return found.result
        skipped = self.depth - self.pack_stages
        child = self.nodes[stage]
        self.waiting += self._expand(node, child, stage)
        results = []
        for which, below in enumerate((node, child)):
            number = prefix | which << stage
            result = yield from self._below(below, stage + 1, number, group)
            results.append(result)
            if stage + 1 == skipped:
                self._reply((group << skipped) + number, result)
        return self._pack(results[0], results[1], stage - skipped) if stage >= skipped else results[0]

    def _key(self, stage: int, row: int, *, fence: bool = False) -> None:
        count = self.plan.expansion[stage].count
        self.program.load(self.stage_keys[stage], first=row, count=count, to_row=True, fence=fence)

    def _substitute(
        self, s1: int, stage: int, *, row: int, init: int, target: int, s2: int = 0, take: Take = Take.ONE
    ) -> None:
        """target = init + the image of what is taken under X -> X^(N/2^stage + 1)."""
        element = ((1 << self.plan.log_n) >> stage) + 1
        self.program.product(
            s1, s2=s2, take=take, element=element, row=row, gadgets=(2 + stage,), beside=Beside.B, negate=True,
            init=init, target=target,
        )  # fmt: skip

    def _expand(self, node: int, child: int, stage: int) -> list[Callable[[], None]]:
        """Both children of a node. Those of the last stage stay in slots, so does the first one of the stage before it,
        which is expanded next; others go to memory, the first child in the node's place.
        """
        half, last, near = self.places.pool // 2, stage + 1 == self.depth, stage + 2 == self.depth
        # The node itself: in slots if it is such a first child.
        here = last and stage > 0 and node != self.nodes[stage - 1]
        steps: list[Callable[[], None]] = [partial(self._key, stage, 0, fence=not here)]

        def places(output: int) -> tuple[int, int]:
            """Slots of the node's ciphertext, which becomes the second child, and of the first child."""
            if here:
                return output, half + output
            turn = output % (2 * _EXPANDING)
            return half + (output if last else turn), output if last or near else turn

        def fetch(output: int) -> None:
            if not here:
                self.program.load(node + output * self.size, first=places(output)[0])

        def begin(output: int) -> None:
            parent, first = places(output)
            self._substitute(parent, stage, row=0, init=parent, target=first)

        def finish(output: int) -> None:
            second, first = places(output)
            self.program.linear(second, s2=first, take=Take.REFLECTION, power=self.order - (1 << stage), target=second)
            if not last:
                self.program.store(child + output * self.size, first=second)
                if not near:
                    self.program.store(node + output * self.size, first=first)

        # Nothing waits for what comes before it: ciphertexts are loaded and first children made some products earlier.
        for output in range(-_FETCHED, self.plan.outputs + _EXPANDING):
            for step, at in ((finish, output - _EXPANDING), (fetch, output + _FETCHED), (begin, output)):
                if 0 <= at < self.plan.outputs:
                    steps.append(partial(step, at))
        return steps

    def _rows(self, number: int, node: int, slots: int | None) -> list[Callable[[], None]]:
        """A bin's RGSW ciphertexts and selectors, of ciphertexts in slots from a first one on, or of a node."""
        plan, p, d = self.plan, self.program, self.plan.gadget.count
        selectors = 1 << plan.log_onehot

        def copy(output: int, row: int) -> None:
            if slots is None:
                p.load(node + output * self.size, first=row, to_row=True)
            else:
                p.linear(slots + output, target=row, to_row=True)

        def rebuild(output: int, row: int) -> None:
            slot = output % (2 * _EXPANDING) if slots is None else slots + output
            if slots is None:
                p.load(node + output * self.size, first=slot)
            p.product(slot, row=self.places.rebuilding, gadgets=(1,), beside=Beside.A, target=row, to_row=True)

        steps: list[Callable[[], None]] = []
        for bit in range(plan.rgsw_bits):
            for j in range(d):
                row = self.places.rgsw(number, bit) + j
                steps += [partial(f, selectors + bit * d + j, r) for f, r in ((rebuild, row), (copy, row + d))]
        return steps + [partial(copy, i, self.places.selector(number) + i) for i in range(selectors)]

    # ---- a bin ----

    def _look_up(self, this: _Bin, beside: list[Callable[[], None]]) -> None:
        """A bin's sums of rows, and between them `beside` and steps of chains, its own too."""
        leaves = 1 << self.plan.tree_bits
        values = [_Value() for _ in range(leaves)]
        self.chains.append(self._chain(this, values))
        write_leaf = self._cells_of(this) if self.cells else self._rows_of(this)
        written = 0
        for leaf, value in enumerate(values):
            slot = self._take()
            write_leaf(leaf, slot)
            value.slot = slot
            self._advance(_CHAINS)
            upto = len(beside) * (leaf + 1) // leaves
            for write in beside[written:upto]:
                write()
            written = upto

    def _chain(self, this: _Bin, leaves: list[_Value]) -> _Chain:
        """From the leaves to the bin's cell, scaled for packing."""
        plan, p, chain = self.plan, self.program, _Chain(this.number)

        def cmux(left: _Value, right: _Value, out: _Value, row: int) -> None:
            slot = self._take()
            p.product(right.at, s2=left.at, take=Take.DIFFERENCE, row=row, gadgets=(0, 0), init=left.at, target=slot)
            self._give(left, right)
            out.slot = slot

        def tree(first: int, height: int) -> _Value:
            if height == 0:
                return leaves[first]
            left, right = (tree(first + half, height - 1) for half in (0, 1 << (height - 1)))
            out = _Value()
            row = self.places.rgsw(this.number, height - 1)
            chain.steps.append(_Step([left, right], partial(cmux, left, right, out, row)))
            return out

        here = tree(0, plan.tree_bits)

        def rotate(bit: int) -> None:
            row = self.places.rgsw(this.number, plan.tree_bits + bit)
            p.product(
                here.at, power=self.order - (1 << bit), times=Times.POWER_LESS, row=row, gadgets=(0, 0), init=here.at,
                target=here.at,
            )  # fmt: skip

        def trace(stage: int) -> None:
            slot = self._take()
            self._key(stage, self.places.packing)
            self._substitute(here.at, stage, row=self.places.packing, init=here.at, target=slot)
            self._give(here)
            here.slot = slot

        def end() -> None:
            p.linear(here.at, times=Times.SCALAR, target=here.at)

        def name() -> None:
            this.result.slot = here.slot

        steps: list[Callable[[], None]] = [partial(rotate, bit) for bit in range(plan.rotation_bits)]
        traces: list[Callable[[], None]] = [
            partial(trace, stage) for stage in reversed(range(self.pack_stages, plan.rotation_bits))
        ]
        chain.steps += [_Step([here], write) for write in (*steps, end, *traces, name)]
        return chain

    def _pack(self, r0: _Value, r1: _Value, stage: int) -> _Value:
        """Joins two halves of a reply: r0 + X^(2^stage) r1, and the image of r0 - X^(2^stage) r1."""
        p, out, total = self.program, _Value(), _Value()

        def shift() -> None:
            p.linear(r1.at, power=1 << stage, target=r1.at)

        def add() -> None:
            total.slot = self._take()
            p.linear(r0.at, s2=r1.at, take=Take.SUM, target=total.at)

        def join() -> None:
            slot = self._take()
            self._key(stage, self.places.packing)
            self._substitute(
                r0.at, stage, s2=r1.at, take=Take.DIFFERENCE, row=self.places.packing, init=total.at, target=slot
            )
            self._give(r0, r1, total)
            out.slot = slot

        chain = _Chain(self.begun - 1)
        chain.steps += [_Step([r0, r1], shift), _Step([r0, r1], add), _Step([total], join)]
        self.chains.append(chain)
        return out

    def _reply(self, number: int, result: _Value) -> None:
        """Stores a packed result."""

        def store() -> None:
            self.program.store(self.target + number * self.size, first=result.at)
            self._give(result)

        self.chains.append(_Chain(self.begun - 1, deque([_Step([result], store)])))

    # ---- leaves ----

    def _most_cells(self) -> int:
        """Monomials of the fullest bin, which all bins are filled up to; 0: rows are fewer."""
        offsets = self.table.offsets.astype(np.int64)
        words = np.ones(int(offsets[-1]), np.int64) if self.table.words is None else self.table.words.sum(1, np.int64)
        sums = np.concatenate([[0], np.cumsum(words)])
        most = int((sums[offsets[1:]] - sums[offsets[:-1]]).max(initial=0))
        return max(most, 1) if max(most, 1) < 1 << self.plan.row_bits else 0

    def _rows_of(self, this: _Bin) -> Callable[[int, int], None]:
        """Writes sums of rows to slots, by leaf."""
        rows, leaves = self._plain(this.index), 1 << self.plan.tree_bits

        def write(leaf: int, slot: int) -> None:
            address = self.memory.put(plain(self.config, rows[leaf::leaves]))
            count = 1 << self.plan.log_onehot
            self.program.plain(address, count=count, row=self.places.selector(this.number), target=slot)

        return write

    def _cells_of(self, this: _Bin) -> Callable[[int, int], None]:
        """Writes sums of monomials to slots, by leaf; the last leaf is followed by what fills the bin up."""
        rows, leaves = self._plain(this.index), 1 << self.plan.tree_bits
        row, at = np.nonzero(rows)
        repeated = rows[row, at].astype(np.intp)
        row, at = np.repeat(row, repeated), np.repeat(at, repeated)
        rest = self.cells - len(row)

        def add(powers: npt.NDArray[np.intp], selectors: npt.NDArray[np.intp], slot: int) -> None:
            each = min(_MOST_MONOMIALS, 1 << self.plan.log_n >> 1)
            for first in range(0, len(powers), each):
                some = slice(first, first + each)
                words = cells(self.plan.log_n, powers[some].tolist(), selectors[some].tolist())
                self.program.cells(
                    self.memory.put(words), count=len(powers[some]), row=self.places.selector(this.number),
                    rows=1 << self.plan.log_onehot, target=slot, init=slot if first else None,
                )  # fmt: skip

        def write(leaf: int, slot: int) -> None:
            mine = row % leaves == leaf
            if mine.any():
                add(at[mine], row[mine] // leaves, slot)
            else:
                # Nothing: a ciphertext less itself.
                self.program.linear(self.spare, s2=self.spare, take=Take.DIFFERENCE, target=slot)
            if leaf + 1 == leaves and rest:
                nothing = np.zeros(rest, np.intp)
                add(nothing, nothing, self.spare)

        return write

    def _plain(self, index: int) -> Words:
        """A bin's rows, (rows, N)."""
        plan, table = self.plan, self.table
        stride = 1 << plan.rotation_bits
        first, last = int(table.offsets[index]), int(table.offsets[index + 1])
        cells = np.asarray(table.cells[first:last], np.int64)
        rows = np.zeros((1 << plan.row_bits, 1 << plan.log_n), np.uint64)
        for word in range(plan.cell_words):
            values = 1 if table.words is None else table.words[first:last, word]
            rows[cells // stride, cells % stride + word * stride] = values
        return rows
