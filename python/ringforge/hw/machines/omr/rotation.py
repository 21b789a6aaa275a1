# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rotations: a hybrid key switch of a ciphertext's second part, then the automorphism of both.

A rotation has three stages. In front, c1's limbs are transformed back and become sources of its digits. In the middle,
digits are converted to P's primes and multiplied with the key, and the sums become sources as well. In the back, limb
by limb of Q, the products with the key are made, P's part is converted, subtracted and divided out, and the map is
applied. The front of the next rotation runs beside the back of the one before: digits are worked on last to first, so
that the first limbs to be stored are the first to be needed, and take the banks that the back has done with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ringforge.errors import HardwareError
from ringforge.hw.core.dram import ALIGNMENT
from ringforge.hw.machines.omr.config import ACCUMULATORS, QUOTIENTS, TWIDDLES
from ringforge.hw.machines.omr.layout import Group, Key, Limbs, Memory, Pair, Tables, Target, padded, twiddles
from ringforge.hw.machines.omr.program import Builder, Op

_NO_ROOM: Final = "the compiler asks for more buffers than the machine has"


class Pool:
    """Numbers of buffers, given out in the order in which they came back."""

    def __init__(self, count: int) -> None:
        self._free = deque(range(count))

    def take(self, below: int | None = None) -> int:
        """One, of the lower ones if `below` is given.

        Raises:
            HardwareError: there is none.
        """
        for number in self._free:
            if below is None or number < below:
                self._free.remove(number)
                return number
        raise HardwareError(_NO_ROOM)

    def run(self, count: int, first: int) -> list[int]:
        """As many as follow each other.

        Raises:
            HardwareError: one is taken.
        """
        numbers = list(range(first, first + count))
        if not set(numbers) <= set(self._free):
            raise HardwareError(_NO_ROOM)
        for number in numbers:
            self._free.remove(number)
        return numbers

    def give(self, *numbers: int) -> None:
        """Back."""
        self._free.extend(numbers)


@dataclass
class Sources:
    """Source banks and an accumulator of quotients, of a digit or of a part modulo P.

    Attributes:
        bank: first of `size` banks. quotient: the accumulator.
    """

    bank: int
    size: int
    quotient: int


class Banks:
    """Source banks: runs of a region, each placed at that end of a gap which leaves the rest in one piece."""

    def __init__(self, first: int, size: int) -> None:
        self._first, self._end = first, first + size
        self._taken: list[tuple[int, int]] = []

    def take(self, size: int) -> int | None:
        """First bank of a run; None if there is none."""
        at = self._first
        for first, end in [*sorted(self._taken), (self._end, self._end)]:
            if first - at >= size:
                place = at if at == self._first else first - size
                self._taken.append((place, place + size))
                return place
            at = end
        return None

    def give(self, first: int, size: int) -> None:
        """Back."""
        self._taken.remove((first, first + size))


@dataclass(frozen=True)
class Rotation:
    """What to rotate.

    Attributes:
        source, target: ciphertexts in memory; not the same limbs. key: of the map. element: X -> X^element.
        add: a ciphertext that is added to the result.
    """

    source: Pair
    target: Pair
    key: Key
    element: int
    add: Pair | None = None


@dataclass
class Core:
    """Emits the rotation core's instructions.

    Attributes:
        builder: takes them. target: ring and primes. tables: that were loaded. twiddles: tables of all primes.
    """

    builder: Builder
    target: Target
    tables: Tables
    twiddles: Limbs
    _x: Pool = field(init=False)
    _tw: Pool = field(init=False)
    _acc: Pool = field(init=False)
    _quotients: Pool = field(init=False)
    _digits: Banks = field(init=False)
    _parts: Banks = field(init=False)

    def __post_init__(self) -> None:
        t = self.target
        self._x, self._tw = Pool(t.config.buffers), Pool(TWIDDLES)
        self._acc, self._quotients = Pool(ACCUMULATORS), Pool(QUOTIENTS)
        self._digits, self._parts = Banks(0, t.limbs), Banks(t.limbs, 2 * len(t.p))

    @classmethod
    def begin(cls, builder: Builder, target: Target, memory: Memory) -> Core:
        """With tables placed in memory, and instructions that load them."""
        tables, config = Tables.of(target), target.config
        for way in range(config.ways):
            words = tables.constants[way]
            address = memory.put("tables", padded(config, words))
            builder.add(Op.LOADC, src=way, addr0=address, count=len(words))
            words = tables.moduli[way]
            address = memory.put("tables", padded(config, words))
            builder.add(Op.LOADM, src=way, addr0=address, count=len(words) // 4)
        size = len(target.ext) * target.limb_bytes
        align = max(target.limb_bytes, ALIGNMENT)
        at = memory.put("tables", twiddles(target), align) if memory.backed else memory.reserve("tables", size, align)
        return cls(builder, target, tables, Limbs(at, target.limb_bytes))

    # ---- pieces ----

    def _add(self, op: Op, group: Group, **given: int) -> None:
        self.builder.add(op, mod=group.entry, ways=group.ways, **given)

    def _where(self, limbs: Limbs, group: Group) -> dict[str, int]:
        return {"addr0": limbs.at(group.first), "stride0": limbs.stride}

    def table(self, group: Group) -> int:
        """Loads twiddles of a group's primes."""
        at = self._tw.take()
        self._add(Op.LOADT, group, dst=at, **self._where(self.twiddles, group))
        return at

    def source(self, group: Group, x: int, bank: int, to: Sources, *, init: bool) -> None:
        """Transforms X[x] back to a source in banks from `bank` on, and gives X[x] back."""
        self._add(Op.INTT, group, dst=x, src=x, bank=bank)
        k = self.tables.scale[group]
        first = to.bank + group.first - self._run_of(group).start
        self._add(Op.SCALE, group, dst=to.quotient, src=x, bank=first, k=k, init=init)
        self._x.give(x)

    def _run_of(self, group: Group) -> range:
        return next(run for run in self.target.runs if group.first in run)

    def converted(self, group: Group, run: int, of: Sources, bank: int, below: int | None = None) -> int:
        """The digit or part of `run` modulo a group's primes, in Eval form; in one of the lower buffers if asked."""
        x = self._x.take(below)
        k = self.tables.convert[run, group]
        self._add(Op.CONV, group, dst=x, src=of.quotient, bank=of.bank, k=k, count=of.size)
        self._add(Op.NTT, group, dst=x, src=x, bank=bank)
        return x

    def loaded(self, group: Group, limbs: Limbs) -> int:
        """A buffer with limbs of memory."""
        x = self._x.take()
        self._add(Op.LOADX, group, dst=x, **self._where(limbs, group))
        return x

    def product(
        self,
        group: Group,
        key: Key,
        digit: int,
        acc: int,
        *,
        init: bool,
        x: int | None = None,
        keep: int | None = None,
        of: Limbs | None = None,
        to_x: int | None = None,
    ) -> None:
        """Adds a digit's product with a key: of X[x], which comes back, of X[keep], or of limbs in memory.

        Args:
            to_x: the first of two buffers for the sums; None: they stay in accumulators.
        """
        held = x if x is not None else keep
        where = self._where(of, group) if of is not None else {"src": held or 0}
        self._add(
            Op.KMAC, group, bank=acc, init=init, from_memory=of is not None, addr1=key.at(digit, group.first),
            stride1=2 * key.limb_bytes, to_x=to_x is not None, dst=to_x or 0, **where,
        )  # fmt: skip
        if x is not None:
            self._x.give(x)

    def plus(self, group: Group, acc: int, part: int, of: Limbs, *, init: bool) -> None:
        """Adds limbs in memory to one part of an accumulator."""
        where = self._where(of, group)
        self._add(Op.KMAC, group, bank=acc, part=part, init=init, from_memory=True, add=True, **where)

    def final(self, group: Group, x: int, acc: int, part: int, add: Limbs | None = None) -> int:
        """(accumulator - X[x]) / P, plus limbs in memory: in X[x]."""
        more = {**self._where(add, group), "add": True} if add is not None else {}
        k = self.tables.divide[group]
        self._add(Op.FINAL, group, dst=x, src=x, bank=acc, part=part, k=k, **more)
        return x

    def mapped(self, group: Group, x: int, element: int) -> int:
        """X[x], which comes back, under X -> X^element: in another buffer."""
        y = self._x.take()
        self._add(Op.AUTO, group, dst=y, src=x, element=element)
        self._x.give(x)
        return y

    # ---- what is given out and comes back ----

    def take_acc(self) -> int:
        """A pair of accumulators."""
        return self._acc.take()

    def give_acc(self, acc: int) -> None:
        """Back."""
        self._acc.give(acc)

    def give_table(self, bank: int) -> None:
        """A table of twiddles."""
        self._tw.give(bank)

    def take_x(self, count: int, first: int) -> list[int]:
        """Buffers that follow each other, from `first` on.

        Raises:
            HardwareError: there are none.
        """
        return self._x.run(count, first)

    def give_x(self, *numbers: int) -> None:
        """Back."""
        self._x.give(*numbers)

    def take_part(self) -> Sources:
        """Banks for a part modulo P.

        Raises:
            HardwareError: there are none.
        """
        size = len(self.target.p)
        bank = self._parts.take(size)
        if bank is None:
            raise HardwareError(_NO_ROOM)
        return Sources(bank, size, self._quotients.take())

    def give_part(self, s: Sources) -> None:
        """Back."""
        self._parts.give(s.bank, s.size)
        self._quotients.give(s.quotient)

    # ---- the three stages ----

    def take_digit(self, size: int) -> Sources | None:
        """Banks for a digit; None while there are none."""
        bank = self._digits.take(size)
        return None if bank is None else Sources(bank, size, self._quotients.take())

    def give_digit(self, s: Sources) -> None:
        """Back."""
        self._digits.give(s.bank, s.size)
        self._quotients.give(s.quotient)

    def front(self, c1: Limbs, digits: dict[int, Sources]) -> Iterator[None]:
        """A step for each group of each digit, the last digit first; a None that does nothing while banks are busy."""
        for d in reversed(range(len(self.target.digits))):
            while (taken := self.take_digit(len(self.target.digits[d]))) is None:
                yield
            digits[d] = taken
            for number, group in enumerate(self.target.groups[d]):
                bank = self.table(group)
                self.source(group, self.loaded(group, c1), bank, taken, init=number == 0)
                self._tw.give(bank)
                yield

    def middle(self, key: Key, digits: dict[int, Sources]) -> tuple[Sources, Sources]:
        """P's part of the products, as sources for both parts."""
        parts = self.take_part(), self.take_part()
        groups = self.target.groups[-1]
        order = list(reversed(range(len(self.target.digits))))
        # Two pairs of buffers are for sums, the others for digits: two groups are under way.
        below = self.target.config.buffers - 4
        for at in range(0, len(groups), 2):
            held = []
            for number, group in enumerate(groups[at : at + 2]):
                bank, acc = self.table(group), self._acc.take()
                pair = 0
                for d in order:
                    x = self.converted(group, d, digits[d], bank, below)
                    last = d == order[-1]
                    pair = self._x.run(2, below + 2 * number)[0] if last else 0
                    self.product(group, key, d, acc, init=d == order[0], x=x, to_x=pair if last else None)
                self._acc.give(acc)
                held.append((group, bank, pair))
            for group, bank, pair in held:
                for part in range(2):
                    self.source(group, pair + part, bank, parts[part], init=group is groups[0])
                self._tw.give(bank)
        return parts[0], parts[1]

    def back(self, r: Rotation, digits: dict[int, Sources], parts: tuple[Sources, Sources]) -> Iterator[None]:
        """A step for each group of Q, the last digit's first; digits are given back when the last one has read them."""
        count = len(self.target.digits)
        for d in reversed(range(count)):
            for group in self.target.groups[d]:
                self._limbs(r, group, d, digits, parts)
                yield
            # What digits 0 ... count - 1 but d read is needed until the last of them has passed.
            for other in range(count):
                readers = [x for x in range(count) if x != other] or [other]
                if d == min(readers):
                    self.give_digit(digits[other])
        for part in parts:
            self.give_part(part)

    def _limbs(
        self, r: Rotation, group: Group, own: int, digits: dict[int, Sources], parts: tuple[Sources, Sources]
    ) -> None:
        bank, acc = self.table(group), self._acc.take()
        self.product(group, r.key, own, acc, init=True, of=r.source.parts[1])
        for d, sources in digits.items():
            if d != own:
                self.product(group, r.key, d, acc, init=False, x=self.converted(group, d, sources, bank))
        for part in range(2):
            x = self.converted(group, len(self.target.digits), parts[part], bank)
            x = self.final(group, x, acc, part, r.source.parts[0] if part == 0 else None)
            y = self.mapped(group, x, r.element)
            self.store(group, y, r.target.parts[part], r.add.parts[part] if r.add is not None else None)
        self._tw.give(bank)
        self._acc.give(acc)

    def store(self, group: Group, x: int, to: Limbs, add: Limbs | None = None) -> None:
        """Stores X[x], plus limbs that lie in memory, and gives it back."""
        more = {"addr1": add.at(group.first), "stride1": add.stride, "add": 1} if add is not None else {}
        self._add(Op.STORE, group, src=x, **self._where(to, group), **more)
        self._x.give(x)


def rotate(core: Core, rotations: Iterable[Rotation]) -> None:
    """Rotations, one after the other: the front of each is written between the limbs of the one before."""
    back: Iterator[None] = iter(())
    for r in rotations:
        digits: dict[int, Sources] = {}
        front = core.front(r.source.parts[1], digits)
        for _ in back:
            next(front, None)
        for _ in front:
            pass
        back = core.back(r, digits, core.middle(r.key, digits))
    for _ in back:
        pass
