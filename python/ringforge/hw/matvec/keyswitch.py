# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Key switching and rotations of one group.

Limb i of a polynomial is on element i mod p. A key switch of l limbs takes l rounds. In round i digit i, the
polynomial's limb i in coefficients, has been broadcast by its owner; every element transforms its centred lift
modulo its own primes and adds the products with the key, which streams from memory. Digits stay as they are where
they come from (the digit modulo its own prime is the limb itself), so the owner has nothing to transform and does
the special prime's transform instead, unless an element with fewer limbs than others is there to do all of those.

What runs beside the transforms: the broadcast of the next digit, the products of the last one, the key's arrival.

The Galois keys of this library switch first and map afterwards: u = sum of digit_i * key_i, divided by P, then
X -> X^g.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringforge.hw.matvec.drop import Placed, drop
from ringforge.hw.matvec.ir import KEEP, GroupCode, Limbs, Value
from ringforge.hw.matvec.layout import KeyRegion


@dataclass(frozen=True)
class Extended:
    """A pair of polynomials over Q and P: limbs of Q, and the limb modulo P with the element that has it."""

    parts: tuple[Limbs, Limbs]
    special: tuple[Placed, Placed]


@dataclass(frozen=True)
class SpecialHomes:
    """Who works modulo the special prime, for a number of limbs.

    Attributes:
        accumulate: the elements that hold part 0 and part 1 of sums.
        light: those of them that have fewer limbs than others and transform every digit themselves; when there are
            none, the owner of each digit does.
    """

    accumulate: tuple[int, int]
    light: frozenset[int]

    @classmethod
    def of(cls, limbs: int, pes: int) -> SpecialHomes:
        rest = limbs % pes
        if rest == 0:
            return cls((pes - 1, (pes - 2) % pes), frozenset())
        if rest == pes - 1:
            return cls((rest, rest), frozenset({rest}))
        return cls((rest, rest + 1), frozenset({rest, rest + 1}))

    def makers(self, owner: int) -> frozenset[int]:
        """Elements that transform a digit modulo the special prime."""
        return self.light or frozenset({owner})


class _Round:
    """Order of the transforms of one key switch: who transforms what in each round, and in which bank.

    Consecutive transforms of an element use banks 0 and 1 in turn. A digit is received in the bank where the last
    transform that needs it will run, which then overwrites it.
    """

    def __init__(self, g: GroupCode, limbs: int) -> None:
        self.homes = SpecialHomes.of(limbs, g.pes)
        #: tasks[i][pe]: limbs to transform digit i for; None is the special prime.
        self.tasks: list[list[list[int | None]]] = []
        for i in range(limbs):
            row: list[list[int | None]] = []
            for pe in range(g.pes):
                mine: list[int | None] = [j for j in g.limbs_of(pe, limbs) if j != i]
                if pe in self.homes.makers(g.owner(i)):
                    mine.append(None)
                row.append(mine)
            self.tasks.append(row)
        self._before = [[0] * g.pes]
        for row in self.tasks:
            self._before.append([n + len(t) for n, t in zip(self._before[-1], row, strict=True)])

    def bank(self, digit: int, pe: int, task: int) -> int:
        """Bank in which a transform runs."""
        return (self._before[digit][pe] + task) % 2

    def digit_bank(self, digit: int, pe: int) -> int:
        """Bank in which an element receives a digit."""
        return self.bank(digit, pe, max(0, len(self.tasks[digit][pe]) - 1))


class _Product:
    """Sums of products of digits and key, while they are made."""

    def __init__(self, g: GroupCode, key: KeyRegion, limbs: int) -> None:
        self.g, self.key = g, key
        self.homes = SpecialHomes.of(limbs, g.pes)
        self.parts: tuple[Limbs, Limbs] = ({}, {})
        self.special: dict[int, Value] = {}

    def add(self, digit: int, limb: int, value: Value) -> None:
        """Both parts of one digit's product at one limb."""
        element = self.g.at(limb)
        for part in (0, 1):
            sums = self.parts[part]
            sums[limb] = element.stream(value, self.key.at(part, digit, limb), limb, sums.get(limb), bank=KEEP)

    def add_special(self, digit: int, part: int, value: Value) -> None:
        """One part of one digit's product modulo the special prime."""
        element, special = self.g.elements[self.homes.accumulate[part]], self.g.target.special
        address = self.key.at(part, digit, None)
        self.special[part] = element.stream(value, address, special, self.special.get(part), bank=KEEP)

    def result(self) -> Extended:
        homes = self.homes.accumulate
        return Extended(self.parts, ((homes[0], self.special[0]), (homes[1], self.special[1])))


def lifted_base(g: GroupCode, base: Limbs) -> Limbs:
    """base * P: added to a product before P is divided out, it is the base."""
    special = g.target.special
    return {i: g.at(i).scale(v, i, g.target.prime_factor(special, i), bank=KEEP) for i, v in base.items()}


def key_product(g: GroupCode, c1: Limbs, key: KeyRegion, base: Limbs | None = None) -> Extended:
    """Digits of c1 times a key over Q and P, plus base * P in part 0.

    Args:
        g: the group.
        c1: the polynomial to switch, limbs 0 ... l-1, in evaluation form.
        key: addresses of the key.
        base: added to part 0, limbs as c1.
    """
    limbs, special = len(c1), g.target.special
    plan, product = _Round(g, limbs), _Product(g, key, limbs)
    homes = plan.homes
    raw: dict[int, Value] = {}
    for pe in range(g.pes):
        for i in g.limbs_of(pe, limbs):
            raw[i] = g.elements[pe].intt(c1[i], i, bank=0)
            # The digit modulo its own prime; these products run beside the transform.
            if base is not None:
                product.parts[0][i] = lifted_base(g, {i: base[i]})[i]
            product.add(i, i, c1[i])

    waiting: list[list[Callable[[], None]]] = [[] for _ in range(g.pes)]

    def settle(pe: int) -> None:
        for write in waiting[pe]:
            write()
        waiting[pe].clear()

    def broadcast(i: int) -> dict[int, Value]:
        banks = {pe: plan.digit_bank(i, pe) for pe in range(g.pes) if plan.tasks[i][pe]}
        here = g.send(g.owner(i), raw[i], banks)
        here[g.owner(i)] = raw[i]
        return here

    def special_digit(i: int, pe: int, value: Value) -> None:
        """Gives digit i modulo P, made by element pe, to the elements that accumulate it."""
        mine = [part for part in (0, 1) if homes.accumulate[part] == pe]
        others = {
            home: 1 - plan.bank(i + 1, home, 0) if i + 1 < limbs else 0
            for home in homes.accumulate
            if home != pe and home not in homes.light
        }
        received = g.send(pe, value, others)
        for part in mine:
            waiting[pe].append(_bind(product.add_special, i, part, value))
        for part in (0, 1):
            home = homes.accumulate[part]
            if home in received:
                waiting[home].append(_bind(product.add_special, i, part, received[home]))

    here = broadcast(0)
    made: list[tuple[int, int, Value]] = []  # special digits of the round before: digit, element, value
    for i in range(limbs):
        following: dict[int, Value] = {}
        new: list[tuple[int, int, Value]] = []

        def task(pe: int, number: int, here: dict[int, Value], i: int, new: list[tuple[int, int, Value]]) -> None:
            limb = plan.tasks[i][pe][number]
            mod = special if limb is None else limb
            value = g.elements[pe].ntt(here[pe], mod, lift_from=i, bank=plan.bank(i, pe, number))
            if number > 0:
                settle(pe)
            if limb is None:
                new.append((i, pe, value))
            else:
                waiting[pe].append(_bind(product.add, i, limb, value))

        busy = [pe for pe in range(g.pes) if plan.tasks[i][pe]]
        late: list[list[Callable[[], None]]] = [list(w) for w in waiting]
        for w in waiting:
            w.clear()
        for pe in busy:
            task(pe, 0, here, i, new)
        if i + 1 < limbs:
            following = broadcast(i + 1)
        first = [list(w) for w in waiting]
        for pe, w in enumerate(waiting):
            w[:] = late[pe]
        for digit, pe, value in made:
            special_digit(digit, pe, value)
        for pe in range(g.pes):
            settle(pe)
            waiting[pe] = first[pe]
            for number in range(1, len(plan.tasks[i][pe])):
                task(pe, number, here, i, new)
        here, made = following, new
    for digit, pe, value in made:
        special_digit(digit, pe, value)
    for pe in sorted(range(g.pes), key=lambda pe: pe not in homes.accumulate):
        settle(pe)
    return product.result()


def _bind(function: Callable[..., None], *arguments: object) -> Callable[[], None]:
    return lambda: function(*arguments)


@dataclass(frozen=True)
class Digits:
    """Digits of a polynomial over Q and P, for several key products.

    Attributes:
        limbs: number of digits.
        at: (digit, limb) -> value, on the limb's element.
        special: part -> values per digit, on the element that accumulates the part.
    """

    limbs: int
    at: dict[tuple[int, int], Value]
    special: tuple[list[Value], list[Value]]


def make_digits(g: GroupCode, c1: Limbs) -> Digits:
    """All digits of c1: what the rotations of one polynomial share."""
    limbs, special = len(c1), g.target.special
    plan = _Round(g, limbs)
    homes = plan.homes
    raw = {i: g.at(i).intt(v, i, bank=0) for i, v in c1.items()}
    at = {(i, i): v for i, v in c1.items()}
    digits = Digits(limbs, at, ([], []))
    for i in range(limbs):
        busy = [pe for pe in range(g.pes) if plan.tasks[i][pe]]
        here = g.send(g.owner(i), raw[i], {pe: plan.digit_bank(i, pe) for pe in busy})
        here[g.owner(i)] = raw[i]
        made: dict[int, Value] = {}
        for pe in busy:
            for number, limb in enumerate(plan.tasks[i][pe]):
                bank = plan.bank(i, pe, number)
                mod = special if limb is None else limb
                value = g.elements[pe].ntt(here[pe], mod, lift_from=i, bank=bank)
                if limb is None:
                    made[pe] = value
                else:
                    at[i, limb] = value
        for pe, value in list(made.items()):
            missing = {h: None for h in homes.accumulate if h not in made}
            made |= g.send(pe, value, missing)
        for part in (0, 1):
            digits.special[part].append(made[homes.accumulate[part]])
    return digits


def digit_product(g: GroupCode, digits: Digits, key: KeyRegion, base: Limbs | None = None) -> Extended:
    """As `key_product`, from digits made before."""
    product = _Product(g, key, digits.limbs)
    for pe in range(g.pes):
        for j in g.limbs_of(pe, digits.limbs):
            if base is not None:
                product.parts[0][j] = lifted_base(g, {j: base[j]})[j]
            for i in range(digits.limbs):
                product.add(i, j, digits.at[i, j])
    for i in range(digits.limbs):
        for part in (0, 1):
            product.add_special(i, part, digits.special[part][i])
    return product.result()


def switched(g: GroupCode, extended: Extended) -> tuple[Limbs, Limbs]:
    """Divides by P: the end of a key switch."""
    return drop(g, extended.parts, extended.special, g.target.special)


def turn(g: GroupCode, parts: Sequence[Limbs], element: int) -> tuple[Limbs, Limbs]:
    """Both parts under X -> X^element; each goes to the other's bank, next to a sum in its own or in KEEP."""
    out: list[Limbs] = []
    for part, limbs in enumerate(parts):
        out.append({i: g.at(i).auto(v, element, bank=1 - part) for i, v in limbs.items()})
    return out[0], out[1]
