# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Key switching and rotations of one group.

Limb i of a polynomial is on element i mod p. A key switch of l limbs takes ceil(l/p) passes of l rounds. In round i
digit i, the polynomial's limb i in coefficients, has been broadcast by its owner; every element transforms its
centred lift modulo one of its primes and adds the products with the key, which streams from memory. Digits stay as
they are where they come from (the digit modulo its own prime is the limb itself), so the owner has nothing to
transform and does the special prime's transform instead, unless an element with fewer limbs than others is there to
do all of those.

What runs beside the transforms: the broadcast of the next digit, the products of the last one, the key's arrival.

The Galois keys of this library switch first and map afterwards: u = sum of digit_i * key_i, divided by P, then
X -> X^g.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ringforge.hw.vector.drop import READY, Piece, Placed, drop
from ringforge.hw.vector.ir import KEEP, GroupCode, Limbs, Value
from ringforge.hw.vector.layout import KeyRegion


@dataclass(frozen=True)
class Extended:
    """A pair of polynomials over Q and P.

    Attributes:
        parts: limbs of Q.
        special: the limb modulo P of each part, with the element that has it.
        late: per element, operations that finish `parts`, to be written at the best time (`complete` does it now).
        free: per element, which of banks 0 and 1 those operations do not use.
    """

    parts: tuple[Limbs, Limbs]
    special: tuple[Placed, Placed]
    late: tuple[list[Callable[[], None]], ...] = ()
    free: tuple[int, ...] = ()

    def complete(self) -> Extended:
        """Writes what is late."""
        for writes in self.late:
            for write in writes:
                write()
            writes.clear()
        return self


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
        """The elements for so many limbs on so many elements."""
        rest = limbs % pes
        if rest == 0:
            return cls((pes - 1, (pes - 2) % pes), frozenset())
        if rest == pes - 1:
            return cls((rest, rest), frozenset({rest}))
        return cls((rest, rest + 1), frozenset({rest, rest + 1}))


#: A task of a round: the transform modulo the special prime instead of that of a limb.
_SPECIAL: Final = -1


class _Rounds:
    """Who transforms which digit when, and in which bank.

    With more limbs than elements there are several passes, each for one limb of every element and all digits: then
    only two sums grow at a time, which fit on chip. In every round an element has one transform at most.

    Consecutive transforms of an element use banks 0 and 1 in turn. A digit is received in the bank where it will be
    transformed, and overwritten. In each pass the same digits use the same banks, since owners keep them.

    `digits` are those that the group works on.
    """

    def __init__(self, g: GroupCode, limbs: int, digits: Sequence[int]) -> None:
        self.limbs, self.pes, self.digits = limbs, g.pes, digits
        self.homes = SpecialHomes.of(limbs, g.pes)
        self.passes = -(-limbs // g.pes)

    def task(self, number: int, digit: int, pe: int) -> int | None:
        """What an element transforms a digit to in pass `number`: a limb, the special prime, or nothing."""
        limb = number * self.pes + pe
        if limb == digit:
            return None if self.homes.light else _SPECIAL
        if limb < self.limbs:
            return limb
        return _SPECIAL if pe in self.homes.light else None

    def bank(self, number: int, digit: int, pe: int) -> int:
        """Bank in which an element transforms a digit."""
        return sum(self.task(number, d, pe) is not None for d in self.digits if d < digit) % 2

    def last_bank(self, number: int, digit: int, pe: int) -> int:
        """Bank of an element's last transform up to a round; 1 when there was none."""
        return (sum(self.task(number, d, pe) is not None for d in self.digits if d <= digit) - 1) % 2


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

    def result(self, late: Sequence[list[Callable[[], None]]] = (), free: Sequence[int] = ()) -> Extended:
        homes = self.homes.accumulate
        special = ((homes[0], self.special[0]), (homes[1], self.special[1]))
        return Extended(self.parts, special, tuple(late), tuple(free))


def lifted_base(g: GroupCode, base: Limbs) -> Limbs:
    """base * P: added to a product before P is divided out, it is the base."""
    special = g.target.special
    return {i: g.at(i).scale(v, i, g.target.prime_factor(special, i), bank=KEEP) for i, v in base.items()}


class _KeySwitch:
    """Writes the rounds of one key product.

    `waiting` holds, per element, operations that become possible when its last transform is done: they are written
    after the next transform, so that they run beside it.
    """

    def __init__(self, g: GroupCode, c1: Limbs, key: KeyRegion, digits: Sequence[int]) -> None:
        self.g, self.c1, self.limbs, self.digits = g, c1, len(c1), digits
        self.rounds = _Rounds(g, self.limbs, digits)
        self.homes = self.rounds.homes
        self.product = _Product(g, key, self.limbs)
        self.raw: Limbs = {}
        self.waiting: list[list[Callable[[], None]]] = [[] for _ in range(g.pes)]
        #: Digits modulo P that have been made and not given away: digit, element, value.
        self.made: list[tuple[int, int, Value]] = []

    def write(self, base: Limbs | None) -> Extended:
        g, limbs, digits = self.g, self.limbs, self.digits
        for i in digits:
            self.raw[i] = g.at(i).intt(self.c1[i], i, bank=self.rounds.bank(0, i, g.owner(i)))
        order = [(number, i) for number in range(self.rounds.passes) for i in digits]
        here = self.broadcast(*order[0])
        for at, (number, i) in enumerate(order):
            if i == digits[0]:
                for limb in range(number * g.pes, min(limbs, (number + 1) * g.pes)):
                    self.waiting[g.owner(limb)].append(self._own(limb, None if base is None else base[limb]))
            made, self.made = self.made, []
            fresh = [self.transform(number, i, pe, value) for pe, value in here.items()]
            following = self.broadcast(*order[at + 1]) if at + 1 < len(order) else {}
            for digit, pe, value in made:
                self.hand_over(digit, pe, value, order[at])
            for pe in range(g.pes):
                self.settle(pe)
            for pe, write in fresh:
                self.waiting[pe].append(write)
            here = following
        # The sums modulo P come first: the division by P starts with them, and the others have time until then.
        late, self.waiting = self.waiting, [[] for _ in range(g.pes)]
        for digit, pe, value in self.made:
            self.hand_over(digit, pe, value, None)
        for pe in range(g.pes):
            self.settle(pe)
        last = self.rounds.passes - 1, digits[-1]
        return self.product.result(late, [1 - self.rounds.last_bank(*last, pe) for pe in range(g.pes)])

    def settle(self, pe: int) -> None:
        for write in self.waiting[pe]:
            write()
        self.waiting[pe] = []

    def broadcast(self, number: int, digit: int) -> dict[int, Value]:
        """Gives a digit to everybody who transforms it."""
        users = [pe for pe in range(self.g.pes) if self.rounds.task(number, digit, pe) is not None]
        owner, raw = self.g.owner(digit), self.raw[digit]
        here = self.g.send(owner, raw, {pe: self.rounds.bank(number, digit, pe) for pe in users})
        if owner in users:
            here[owner] = raw
        return here

    def transform(self, number: int, digit: int, pe: int, coefficients: Value) -> tuple[int, Callable[[], None]]:
        """Transforms a digit; the products that follow, with their element."""
        limb = self.rounds.task(number, digit, pe)
        assert limb is not None
        mod = self.g.target.special if limb == _SPECIAL else limb
        bank = self.rounds.bank(number, digit, pe)
        value = self.g.elements[pe].ntt(coefficients, mod, lift_from=digit, bank=bank)
        if limb == _SPECIAL:
            self.made.append((digit, pe, value))
            return pe, lambda: None
        return pe, lambda: self.product.add(digit, limb, value)

    def hand_over(self, digit: int, pe: int, value: Value, during: tuple[int, int] | None) -> None:
        """Gives a digit modulo P, made by an element, to those that accumulate it and do not make it themselves.

        Args:
            digit, pe, value: what was made where.
            during: the round that runs meanwhile, which closes one bank of each element.
        """
        accumulate = self.homes.accumulate
        banks = {
            home: 0 if during is None else 1 - self.rounds.bank(*during, home)
            for home in accumulate
            if home != pe and home not in self.homes.light
        }
        if during is None and accumulate[0] == pe:
            self.product.add_special(digit, 0, value)
        holders = {pe: value, **self.g.send(pe, value, banks)}
        for part in (0, 1):
            home = accumulate[part]
            if home in holders and not (during is None and home == pe and part == 0):
                self.waiting[home].append(self._special(digit, part, holders[home]))

    def _own(self, digit: int, base: Value | None) -> Callable[[], None]:
        """Starts the sums at a limb: the base, and the digit modulo its own prime."""

        def write() -> None:
            if base is not None:
                self.product.parts[0][digit] = lifted_base(self.g, {digit: base})[digit]
            if digit in self.digits:
                self.product.add(digit, digit, self.c1[digit])

        return write

    def _special(self, digit: int, part: int, value: Value) -> Callable[[], None]:
        return lambda: self.product.add_special(digit, part, value)


def key_product(
    g: GroupCode, c1: Limbs, key: KeyRegion, base: Limbs | None = None, digits: Sequence[int] | None = None
) -> Extended:
    """Digits of c1 times a key over Q and P, plus base * P in part 0.

    Args:
        g: the group.
        c1: the polynomial to switch, limbs 0 ... l-1, in evaluation form.
        key: addresses of the key.
        base: added to part 0, limbs as c1.
        digits: which of them; all by default, one at least.
    """
    return _KeySwitch(g, c1, key, range(len(c1)) if digits is None else digits).write(base)


@dataclass(frozen=True)
class Digits:
    """Digits of a polynomial over Q and P, for several key products.

    Attributes:
        limbs: number of digits.
        at: (digit, limb) -> value, on the limb's element.
        special: (part, digit) -> value, on the element that accumulates the part.
    """

    limbs: int
    at: dict[tuple[int, int], Value]
    special: tuple[dict[int, Value], dict[int, Value]]


def make_digits(g: GroupCode, c1: Limbs, beside: Callable[[Digits, int], None]) -> Digits:
    """All digits of c1: what the rotations of one polynomial share.

    Args:
        g: the group.
        c1: limbs 0 ... l-1, in evaluation form.
        beside: told the digits so far, and which one has become complete; may write operations with it, which then run
            beside the next one's transforms.
    """
    limbs, special = len(c1), g.target.special
    rounds = _Rounds(g, limbs, range(limbs))
    homes = rounds.homes
    raw = {i: g.at(i).intt(v, i, bank=rounds.bank(0, i, g.owner(i))) for i, v in c1.items()}
    at = {(i, i): v for i, v in c1.items()}
    specials: tuple[dict[int, Value], dict[int, Value]] = ({}, {})
    out = Digits(limbs, at, specials)
    last = rounds.passes - 1
    for number in range(rounds.passes):
        for i in range(limbs):
            owner, made = g.owner(i), dict[int, Value]()
            banks = {pe: rounds.bank(number, i, pe) for pe in range(g.pes) if rounds.task(number, i, pe) is not None}
            here = g.send(owner, raw[i], banks)
            here[owner] = raw[i]
            for pe, bank in banks.items():
                limb = rounds.task(number, i, pe)
                assert limb is not None
                mod = special if limb == _SPECIAL else limb
                value = g.elements[pe].ntt(here[pe], mod, lift_from=i, bank=bank)
                if limb == _SPECIAL:
                    made[pe] = value
                else:
                    at[i, limb] = value
            for pe, value in list(made.items()):
                made |= g.send(pe, value, {h: None for h in homes.accumulate if h not in made})
            for part in (0, 1):
                if made:
                    specials[part][i] = made[homes.accumulate[part]]
            if number == last and i:
                beside(out, i - 1)
    beside(out, limbs - 1)
    return out


class DigitProduct:
    """As `key_product`, from digits made before, in pieces that may be written beside something else.

    Args:
        g, key, base: as for `key_product`.
        limbs: of the polynomial.

    Attributes:
        pieces: per element, what is still to be written.
    """

    def __init__(self, g: GroupCode, limbs: int, key: KeyRegion, base: Limbs | None = None) -> None:
        self.pieces: list[list[Piece]] = [[] for _ in range(g.pes)]
        self._g, self._limbs, self._base = g, limbs, base
        self._product = _Product(g, key, limbs)
        self._begun = False

    def add(self, digits: Digits, digit: int) -> None:
        """Adds the pieces of one digit; sums begin with the first one that is added."""
        g, limbs, product = self._g, self._limbs, self._product
        rounds = _Rounds(g, limbs, range(limbs))

        def begin(limb: int, value: Value) -> Callable[[], None]:
            return lambda: product.parts[0].update(lifted_base(g, {limb: value}))

        for pe, pieces in enumerate(self.pieces):
            for j in g.limbs_of(pe, limbs):
                if self._base is not None and not self._begun:
                    pieces.append(Piece(None, begin(j, self._base[j])))
                bank = None if digit == j else rounds.bank(j // g.pes, digit, pe)
                pieces.append(Piece(bank, partial(product.add, digit, j, digits.at[digit, j])))
        for part in (0, 1):
            home = product.homes.accumulate[part]
            value = digits.special[part][digit]
            self.pieces[home].append(Piece(None, partial(product.add_special, digit, part, value)))
        self._begun = True

    def write(self) -> None:
        """Writes what is left of what was added."""
        for pieces in self.pieces:
            for piece in pieces:
                piece.write()
            pieces.clear()

    def complete(self) -> Extended:
        """Writes what is left; the product, once all digits have been added."""
        self.write()
        return self._product.result()


def switched(g: GroupCode, extended: Extended, background: Sequence[list[Piece]] = ()) -> tuple[Limbs, Limbs]:
    """Divides by P: the end of a key switch; `background` as in `drop`."""
    special = g.target.special
    return drop(
        g, extended.parts, extended.special, special, beside=extended.late, first=extended.free, background=background
    )


def turn(g: GroupCode, parts: tuple[Limbs, Limbs], element: int, banks: tuple[int, int] = READY) -> tuple[Limbs, Limbs]:
    """Both parts under X -> X^element, into these banks."""
    turned = [
        {i: g.at(i).auto(v, element, bank=bank) for i, v in limbs.items()}
        for bank, limbs in zip(banks, parts, strict=True)
    ]
    return turned[0], turned[1]


def turn_extended(g: GroupCode, pair: Extended, element: int) -> Extended:
    """A pair over Q and P under X -> X^element."""
    special = [(pe, g.elements[pe].auto(v, element, bank=part)) for part, (pe, v) in enumerate(pair.special)]
    return Extended(turn(g, pair.parts, element), (special[0], special[1]))


def rotate(
    g: GroupCode,
    parts: tuple[Limbs, Limbs],
    element: int,
    key: KeyRegion,
    before_turn: Callable[[], None] | None = None,
    banks: tuple[int, int] = READY,
) -> tuple[Limbs, Limbs]:
    """A ciphertext under X -> X^element, under its old key.

    Args:
        g, parts, element, key: the group, the ciphertext, the automorphism and its key.
        before_turn: writes operations that may run beside the automorphisms.
        banks: where the results should be.
    """
    pair = key_product(g, parts[1], key, base=parts[0])
    if not g.fusion:
        g.primitive(*pair.complete().parts)
    quotient = switched(g, pair)
    g.primitive(*quotient)
    if before_turn is not None:
        before_turn()
    out = turn(g, quotient, element, banks)
    g.primitive(*out)
    return out
