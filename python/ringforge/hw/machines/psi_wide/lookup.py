# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection by our algorithm on the streaming accelerator: expansion, rows, look-up, packing.

The order is the library's: depth first through the expansion, one bin after the other (docs/psi-algorithm.md). Upper
nodes of the expansion lie in memory, the last stage's children in slots; a bin's selectors and RGSW ciphertexts are key
rows. The host opens requests, masks the packed results, and has put the table's cells into plain rows before.

Sums of plain rows fill the forward transform, or sums of monomials take their place (leaves.py). Between them go, a few
instructions at a time, what prepares the next bin (expansion, rows) and what finishes the ones before it (tree,
rotation, packing: chains, each step of which needs the one before), so that no instruction waits long for another.

Instructions, with their addresses, are a function of the plan and of the table's public bound alone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ringforge import _native
from ringforge.devices import Progress
from ringforge.errors import Error, ParameterError
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup, Words, ciphertexts, image
from ringforge.hw.machines.psi_wide.leaves import Leaves, zero_first
from ringforge.hw.machines.psi_wide.program import Beside, Op, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, load_tables

if TYPE_CHECKING:
    from ringforge._native.psi import Plan, SessionKeys

#: Ciphertexts that are on their way through a stage of the expansion, and how many more are loaded ahead.
_EXPANDING, _FETCHED = 6, 4
#: Bins whose RGSW ciphertexts are held at a time, at most and at least.
_BINS, _FEWEST = 4, 2
#: Chains that are taken on by a step after each sum of rows.
_CHAINS = 2


@dataclass(frozen=True)
class Places:
    """Key rows and slots of a plan.

    Slots are the first children of the last stage, the second ones, and a pool. Key rows are the key of the stage that
    is expanded, of the one that is packed, RLWE'(z^2), selectors of two bins, a row of zeros between them, RGSW
    ciphertexts of some bins.

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
        bits = selectors + 2 * (1 << plan.log_onehot) + 1
        pool = 2 * max(plan.outputs, 2 * _EXPANDING)
        found = {
            "packing": packing, "rebuilding": rebuilding, "selectors": selectors, "bits": bits, "pool": pool,
            "bins": min(_BINS, (self.key_rows - bits) // self._of_bin), "rows": bits + _FEWEST * self._of_bin,
            "slots": pool + min(plan.log_bins, plan.log_n) + plan.tree_bits + 2 * _CHAINS + 4,
        }  # fmt: skip
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def _of_bin(self) -> int:
        return 2 * self.plan.gadget.count * self.plan.rgsw_bits

    def selector(self, number: int) -> int:
        """First row of a bin's selectors; bins are numbered in the order in which they are looked up."""
        return self.selectors + number % 2 * ((1 << self.plan.log_onehot) + 1)

    @property
    def zeros(self) -> int:
        """The row of zeros: behind the selectors of even bins, before those of odd ones."""
        return self.selectors + (1 << self.plan.log_onehot)

    def rgsw(self, number: int, bit: int) -> int:
        """First row of the RGSW ciphertext of a bit of a bin."""
        return self.bits + number % self.bins * self._of_bin + bit * 2 * self.plan.gadget.count


def checked(config: WideConfig, plan: Plan) -> tuple[Setup, Places]:
    """What a plan takes of a machine.

    Raises:
        ParameterError: the machine does not take the plan's ring or gadgets, holds too few ciphertexts or rows, or the
            plan is one of the paper's algorithm.
    """
    if plan.algorithm != "ringforge":
        raise ParameterError(
            f"{config.name} answers queries by the algorithm ringforge, not {plan.algorithm}: compile the table with "
            "--algorithm ringforge, or take device cpu"
        )
    gadgets = [Gadget.of(c) for c in (plan.gadget, plan.reconstruction, *plan.expansion)]
    ring = config.check_ring(plan.modulus, plan.log_n)
    setup = Setup(ring, gadgets, pow(1 << plan.rotation_bits, -1, plan.modulus))
    setup.check(config)
    places = Places(plan, config.key_rows)
    for what, have, need in (
        ("slots", config.slots, places.slots),
        ("key rows", config.key_rows, places.rows),
    ):
        if have < need:
            raise ParameterError(
                f"{config.name} has {have} {what}, and the plan needs {need}: take a plan with fewer selectors or "
                "digits, or device cpu"
            )
    return setup, places


class LookupMachine:
    """A client's session on a machine.

    Args:
        config: the machine.
        keys: the session's keys.
        executor: what runs programs.

    Raises:
        ParameterError: as `checked`.
    """

    def __init__(self, config: WideConfig, keys: SessionKeys, executor: Executor) -> None:
        self.config, self.plan, self.keys, self.executor = config, keys.plan, keys, executor
        self.setup, self.places = checked(config, keys.plan)
        self.ring = self.setup.ring
        #: Cycles of the last answer; None where nothing counts them.
        self.cycles: int | None = None
        #: Operations of the last answer, as `Plan.counts` counts them, and instructions; bytes that it moved.
        self.operations: dict[str, int] = {}
        self.bytes: dict[str, int] = {}

    def results(self, request: bytes, leaves: Leaves, progress: Progress | None = None) -> Words:
        """The packed results (replies, 2, N), coefficients, that `psi.seal_reply` masks.

        Args:
            leaves: of a table of the plan, laid out for the configuration.
            progress: called with the fraction done, 0 while the program is written; False cancels.

        Raises:
            FormatError, MismatchError: the request is none of the plan.
            ParameterError: the machine's memory is too small.
            Error: "cancelled". HardwareError: the machine stops with an error.
        """
        maker = _Maker(self, _native.psi.open_request(self.plan, request), leaves)
        maker.make(progress)
        self.operations = operations(maker.program)
        self.cycles = self.executor.run(self.setup, maker.program, maker.memory, progress)
        self.bytes = dict(maker.memory.moved)
        return self.ring.inverse(ciphertexts(self.config, maker.replies, self.plan.log_n))


def operations(program: Program) -> dict[str, int]:
    """Operations of a program, by the planner's names: those that it has."""
    found = Counter(instruction=len(program.instructions))
    for i in program.instructions:
        if i.op == Op.PRODUCT:
            found["external_product" if i.both else "reconstruction" if i.beside == Beside.A else "substitution"] += 1
        elif i.op in (Op.PLAIN, Op.CELLS):
            found["row" if i.op == Op.PLAIN else "monomial"] += i.s1
    return dict(found)


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
    """A step of a chain: `write` writes its instructions when all of `inputs` are there.

    Attributes:
        key: it loads a key for the chain's next step, and waits until no other chain's is in its place.
    """

    inputs: list[_Value]
    write: Callable[[], None]
    key: bool = False


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
        prepare: writes what comes before its sums of rows; None: what follows waits for loads.
        result: its cell.
    """

    number: int
    index: int
    prepare: list[Callable[[], None] | None]
    result: _Value = field(default_factory=_Value)


class _Maker:
    """The program of one answer.

    Args:
        opened: the request's ciphertexts, (groups, outputs, 2, N), in Eval order.
    """

    def __init__(self, machine: LookupMachine, opened: Words, leaves: Leaves) -> None:
        config, plan = machine.config, machine.plan
        self.config, self.plan, self.places, self.leaves = config, plan, machine.places, leaves
        self.memory, self.program = Memory(config), Program()
        self.size = config.rlwe_bytes(plan.log_n)
        self.order = 2 << plan.log_n
        load_tables(self.program, self.memory, machine.setup)
        keys = [machine.keys.substitution_rows(s) for s in range(len(plan.expansion))]
        self.stage_keys = [self.memory.put(image(config, rows), "keys") for rows in keys]
        self.rebuilding = self.memory.put(image(config, machine.keys.reconstruction_rows()), "keys")
        # The first child of a node takes its place.
        self.roots = [self.memory.put(image(config, group), "input", writable=True) for group in opened]
        self.depth = min(plan.log_bins, plan.log_n)
        self.nodes = [self.memory.reserve(plan.outputs * self.size) for _ in range(self.depth)]
        self.replies = np.zeros(plan.replies * self.size // 8, np.uint64)
        self.target = self.memory.put(self.replies, "output", writable=True)
        self.pack_stages = min(self.depth, plan.rotation_bits)
        self.free = deque(range(self.places.pool, config.slots))
        self.chains: list[_Chain] = []
        self.begun = 0  # bins
        self.waiting: list[Callable[[], None] | None] = []  # what has to be written before the next bin
        self.digits = [gadget.count for gadget in machine.setup.gadgets]
        self.settled = len(self.program.instructions)  # whose order stays
        self.keyed: _Chain | None = None  # whose key lies in the rows for packing

    def make(self, progress: Progress | None = None) -> None:
        """Writes it.

        Raises:
            Error: "cancelled".
        """
        count = self.plan.reconstruction.count
        self.program.load(self.rebuilding, first=self.places.rebuilding, count=count, to_row=True)
        if self.leaves.monomials:
            nothing = self.memory.put(np.zeros(self.size // 8, np.uint64))
            self.program.load(nothing, first=self.places.zeros, to_row=True)
        bins = self._bins()
        this = next(bins, None)
        for write in this.prepare if this else ():
            if write is not None:
                write()
        while this is not None:
            if progress is not None and progress(0.0) is False:
                raise Error("cancelled")
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
                raise ParameterError(f"{self.config.name} has too few slots for this plan: take device cpu")
        return self.free.popleft()

    def _give(self, *values: _Value) -> None:
        self.free.extend(value.at for value in values)

    def _advance(self, count: int) -> bool:
        """Writes the next step of the first `count` chains that have one to write; whether there was any."""
        written = 0
        for chain in list(self.chains):
            if written == count:
                break
            # A step that looks for a slot comes here again, after the last one of its chain too.
            if chain.steps and self._ready(chain):
                step = chain.steps.popleft()
                step.write()
                self.keyed = chain if step.key else None if self.keyed is chain else self.keyed
                written += 1
            if not chain.steps and chain in self.chains:
                self.chains.remove(chain)
        return written > 0

    def _ready(self, chain: _Chain) -> bool:
        step = chain.steps[0]
        return all(value.slot is not None for value in step.inputs) and not (step.key and self.keyed is not None)

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

    def _expand(self, node: int, child: int, stage: int) -> list[Callable[[], None] | None]:
        """Both children of a node. Those of the last stage stay in slots, so does the first one of the stage before it,
        which is expanded next; others go to memory, the first child in the node's place.
        """
        half, last, near = self.places.pool // 2, stage + 1 == self.depth, stage + 2 == self.depth
        # The node itself: in slots if it is such a first child.
        here = last and stage > 0 and node != self.nodes[stage - 1]
        steps: list[Callable[[], None] | None] = [partial(self._key, stage, 0, fence=not here)]

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
            if output == 0:
                steps.append(None)
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

    def _look_up(self, this: _Bin, beside: list[Callable[[], None] | None]) -> None:
        """A bin's sums of rows, and between them `beside` and steps of chains, its own too."""
        leaves = 1 << self.plan.tree_bits
        values = [_Value() for _ in range(leaves)]
        self.chains.append(self._chain(this, values))
        memory = self.leaves.words(this.index)
        written = before = 0
        for leaf, words in enumerate(memory):
            slot = self._take()
            # A load waits for the rows of the sum before it, and what follows for the load: products go first.
            self.program.loads_late(self.settled, self.digits, self.size, self.config.polys)
            self._leaf(this, words, slot)
            self.settled = len(self.program.instructions)
            # A sum takes long: what needs it comes after the next one, beside which it then waits.
            if leaf:
                values[leaf - 1].slot = before
            before = slot
            self._advance(_CHAINS)
            for write in beside[written : len(beside) * (leaf + 1) // leaves]:
                written += 1
                if write is None:
                    break
                write()
        for write in beside[written:]:
            if write is not None:
                write()
        values[-1].slot = before

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
            self._substitute(here.at, stage, row=self.places.packing, init=here.at, target=slot)
            self._give(here)
            here.slot = slot

        def end() -> None:
            p.linear(here.at, times=Times.SCALAR, target=here.at)

        def name() -> None:
            this.result.slot = here.slot

        steps: list[Callable[[], None]] = [partial(rotate, bit) for bit in range(plan.rotation_bits)]
        chain.steps += [_Step([here], write) for write in (*steps, end)]
        for stage in reversed(range(self.pack_stages, plan.rotation_bits)):
            chain.steps.append(_Step([here], partial(self._key, stage, self.places.packing), key=True))
            chain.steps.append(_Step([here], partial(trace, stage)))
        chain.steps.append(_Step([here], name))
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
            self._substitute(
                r0.at, stage, s2=r1.at, take=Take.DIFFERENCE, row=self.places.packing, init=total.at, target=slot
            )
            self._give(r0, r1, total)
            out.slot = slot

        chain = _Chain(self.begun - 1)
        key = _Step([total], partial(self._key, stage, self.places.packing), key=True)
        chain.steps += [_Step([r0, r1], shift), _Step([r0, r1], add), key, _Step([total], join)]
        self.chains.append(chain)
        return out

    def _reply(self, number: int, result: _Value) -> None:
        """Stores a packed result."""

        def store() -> None:
            self.program.store(self.target + number * self.size, first=result.at)
            self._give(result)

        self.chains.append(_Chain(self.begun - 1, deque([_Step([result], store)])))

    # ---- leaves ----

    def _leaf(self, this: _Bin, words: Words, slot: int) -> None:
        """Writes a leaf's sum."""
        address, selectors = self.memory.put(words, "table"), 1 << self.plan.log_onehot
        first = self.places.selector(this.number)
        assert (this.number % 2 == 1) == zero_first(self.plan, this.index)
        if self.leaves.monomials:
            self.program.cells(
                address, count=self.leaves.monomials, row=self.places.zeros if this.number % 2 else first,
                rows=selectors + 1, target=slot,
            )  # fmt: skip
        else:
            self.program.plain(address, count=selectors, row=first, target=slot)
