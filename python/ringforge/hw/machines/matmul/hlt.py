# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A linear transform of one ciphertext, memory-optimised: the FAME paper's Algorithm 3, on one element.

Galois keys of this library switch first and map afterwards, so for limb i and rotation t with diagonal d_t

    (u, v) = (P * a, 0) + sum_j b_j * evk_j,        (s0, s1) += d_t * (psi_t(u), psi_t(v)),

with b_j the digits of the ciphertext's second part, raised to all primes, and a its first part. Step 0 is
d * P * (a, b), and nothing modulo special primes. The limb is the outer loop, the rotation the inner one. A limb of
each digit is made when it is needed, from the digits' mixed radix (`convert`), which stays on chip. Limbs that division
drops (the special primes and the last prime of Q, in one division that is ModDown and rescaling) come first: what
remains of their sums, in coefficients, is needed by all others.

A rotation takes (2 beta + 2) R cycles of the ALUs; the permutations run beside them. The order that keeps both busy,
with the banks that are read and written (K0, K1: products with the key; D0, D1: with the diagonal):

    K0(t)    0, 1 -> 1                 D1(t-1)  3, 0, 2 -> 2     psi(u)  1 -> 3  beside D1(t-1), K1(t)
    K1(t)    0, 2 -> 2                 D0(t)    3, 0, 1 -> 1     psi(v)  2 -> 3  beside D0(t), K0(t+1)

A diagonal's limb is loaded once and used twice, one diagonal ahead where bank 0 has room. Multipliers of keys stream.

When everything fits, digits and remains are kept on chip, and a limb's quotient is made with the limb. Else the
subtrahends of all limbs' quotients are made at once; what does not fit goes to memory and comes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ringforge.hw.machines.matmul.convert import Limb, converted, mixed_digits
from ringforge.hw.machines.matmul.layout import KeyRegion, LimbRegion
from ringforge.hw.machines.matmul.target import DIGITS, FIRST, PAIR_ROWS, SECOND, TURNED, limit, work
from ringforge.hw.vector.ir import ElementCode, Value
from ringforge.hw.vector.target import Target

#: Limbs of the input on their way when one is transformed, that one included.
LOADS_AHEAD: Final = 4
#: Takes a limb of a part of the result: part, entry of the modulus table, value.
Emit = Callable[[int, int, Value], None]


@dataclass(frozen=True)
class Diagonal:
    """A diagonal of a linear transform.

    Attributes:
        element: Galois element of its rotation; 1 for step 0.
        mask: where its encoded limbs are.
        key: the rotation's key; None for step 0.
    """

    element: int
    mask: LimbRegion
    key: KeyRegion | None


class Places:
    """Banks for what is kept while rotations run: as many polynomials as are left beside what they work with."""

    def __init__(self, target: Target, digits: int, masks: int) -> None:
        config, log_n = target.config, target.log_n
        self.room = [config.bank_slots(log_n, b) - w for b, w in enumerate(work(digits))]
        self.room[DIGITS] -= masks - 1
        self._turn = 0

    def take(self, first: Sequence[int], then: Sequence[int]) -> int:
        """A bank of `first` with room, the emptiest; else one of `then`; else one of either, in turn."""
        for banks in (first, then):
            best = max(banks, key=lambda b: self.room[b])
            if self.room[best] > 0:
                self.room[best] -= 1
                return best
        self._turn += 1
        banks = (*first, *then)
        return banks[self._turn % len(banks)]

    def give(self, values: Sequence[Value]) -> None:
        """The places of values are free again."""
        for v in values:
            assert v.bank is not None
            self.room[v.bank] += 1


class MemoryOptimised:
    """Writes the operations of one linear transform.

    Args:
        e: the element's code; banks are orders in it.
        target: machine and numbers.
        parts: where the limbs of the input's two parts are.
        limbs: of the input; results have one less.
        diagonals: at least one with a key.
        emit: takes the limbs of the result, part 0 before part 1.
    """

    def __init__(
        self,
        e: ElementCode,
        target: Target,
        parts: tuple[LimbRegion, LimbRegion],
        limbs: int,
        diagonals: Sequence[Diagonal],
        emit: Emit,
    ) -> None:
        self.e, self.target, self.parts, self.limbs, self.emit = e, target, parts, limbs, emit
        self.diagonals = sorted(diagonals, key=lambda d: d.key is not None)  # step 0 starts the sums
        self.groups = target.digits(limbs)
        self.kept = range(limbs - 1)
        self.gone = (*target.specials, limbs - 1)
        digits, config = len(self.groups), target.config
        self.paired = config.rows(target.log_n) < PAIR_ROWS
        self.masks_ahead = config.bank_slots(target.log_n, DIGITS) - work(digits)[DIGITS] > 0
        self.places = Places(target, digits, 1 + self.masks_ahead)
        #: The digits' mixed radix, for each digit that is converted.
        self.radix: list[list[Limb]] = []
        #: What remains of the sums modulo primes that go, by part.
        self.remains: tuple[list[Limb], list[Limb]] = ([], [])
        #: What is subtracted from the sums of the others, by part and entry, unless it is made with them.
        self.subtrahends: dict[tuple[int, int], Value] = {}
        self.ahead: dict[tuple[int, int], Value] = {}
        #: The second part of the last limb of the result.
        self._late: tuple[int, Value] | None = None
        #: A digit modulo the next special prime, made with the last one.
        self.raised: dict[int, Value] = {}
        self._masks = deque((d.mask.at(m), d.mask.far) for m in (*self.gone, *self.kept) for d in self._active(m))
        self._loaded: deque[Value] = deque()

    @property
    def fits(self) -> bool:
        """Digits and remains stay on chip for all limbs."""
        digits = len(self.groups)
        kept = (self.limbs if digits > 1 else 0) + 2 * len(self.gone)
        room = sum(self.places.room)
        return kept <= room and kept + digits + 5 <= limit(self.limbs, digits)

    def write(self) -> None:
        """Writes everything, from the input in memory to the result's limbs."""
        fits = self.fits
        self._decompose(fits)
        order = (*self.gone, *self.kept)
        for entry, following in zip(order, (*order[1:], None), strict=True):
            if entry in self.gone:
                self._set_aside(entry, self._sums(entry, following))
                if entry == self.gone[-1]:
                    self.remains = self._digits(self.remains[0]), self._digits(self.remains[1])
                    if not fits:
                        self._subtract_early()
            else:
                self._divide(entry, following)
        self._emit_late()

    def _digits(self, limbs: list[Limb]) -> list[Limb]:
        return mixed_digits(self.e, self.target, limbs)

    # ---- the input ----------------------------------------------------------------------------------

    def _decompose(self, fits: bool) -> None:
        """Brings the second part to coefficients, and to the digits' mixed radix."""
        e = self.e
        # Digits outside bank 3 let sums be made there; what remains later on cannot be there.
        inner, room = (FIRST, SECOND), self.places.room
        tight = fits and self.limbs + 2 * len(self.gone) > sum(room) - room[TURNED]
        first, then = ((TURNED,), inner) if tight else (inner, (TURNED,))
        banks = [self.places.take(first, then) for _ in range(self.limbs)]
        loaded: list[Value] = []
        made: list[Value] = []
        for i in range(self.limbs):
            for j in range(len(loaded), min(i - i % 2 + LOADS_AHEAD, self.limbs)):
                # No transform writes to this bank now, so that they do not wait for each other.
                loaded.append(e.load(self.parts[1].at(j), bank=DIGITS))
            made.append(e.intt(loaded[i], i, bank=banks[i]))
            if self.paired and i % 2:
                e.pair()
        self.radix = [self._digits([(i, made[i]) for i in group]) for group in self.groups]
        if len(self.groups) == 1:
            # They are given up when the special limbs have been made.
            self.places.give([v for _, v in self.radix[0]])

    def _load(self, part: int, entry: int) -> Value:
        value = self.ahead.pop((part, entry), None)
        if value is None:
            value = self.e.load(self.parts[part].at(entry), bank=FIRST if part == 0 else DIGITS)
        return value

    # ---- sums of one limb -----------------------------------------------------------------------------

    def _active(self, entry: int) -> list[Diagonal]:
        """The diagonals that give something modulo an entry: P * c is 0 modulo special primes."""
        return [d for d in self.diagonals if d.key is not None or entry < self.limbs]

    def _fetch_mask(self) -> None:
        if self._masks:
            address, far = self._masks.popleft()
            self._loaded.append(self.e.load(address, bank=DIGITS, counted=False, far=far))

    def _mask(self) -> Value:
        """The next diagonal's limb; one more is loaded ahead where there is room."""
        if not self._loaded:
            self._fetch_mask()
        value = self._loaded.popleft()
        if self.masks_ahead and not self._loaded:
            self._fetch_mask()
        return value

    def _raise(self, entry: int) -> tuple[list[Value], Value | None]:
        """One limb of each digit, and of P times the first part."""
        own = entry // self.target.limbs_per_digit if entry < self.limbs else -1
        raw = self._load(0, entry) if own >= 0 else None
        out: dict[int, Value] = {}
        if own >= 0:
            out[own] = self._load(1, entry)
        if entry in self.raised:
            out[0] = self.raised.pop(entry)
        missing = [(d, entry) for d in range(len(self.radix)) if d not in out]
        if self.paired and missing == [(0, entry)] and len(self.radix) == 1 and entry + 1 in self.target.specials:
            missing.append((0, entry + 1))
        for (d, at), value in zip(missing, self._transformed(missing), strict=True):
            if at == entry:
                out[d] = value
            else:
                self.raised[at] = value
        self._emit_late()
        # After the transforms, since it can run while the last of them ends.
        raise_by = self.target.product(tuple(self.target.specials), entry)
        base = None if raw is None else self.e.scale(raw, entry, raise_by, bank=FIRST)
        return [out[d] for d in range(len(self.radix))], base

    def _transformed(self, wanted: Sequence[tuple[int, int]]) -> list[Value]:
        """Digits modulo entries, in evaluation form."""
        return self._all_transformed([(self.radix[d], at, TURNED, DIGITS) for d, at in wanted])

    def _all_transformed(self, wanted: Sequence[tuple[list[Limb], int, int, int]]) -> list[Value]:
        """Converted polynomials in evaluation form, two at a time where that is quicker.

        A sum is not made in the bank where transforms write, so that it can be begun while one ends; unless digits are
        there already.

        Args:
            wanted: mixed radix, entry, bank of the sum, bank of the transform of each.
        """
        out: list[Value] = []
        rest = deque(
            (digits, at, to if any(v.bank == bank for _, v in digits) else bank, to) for digits, at, bank, to in wanted
        )
        while rest:
            two = [rest.popleft() for _ in range(min(2, len(rest)))]
            if not self.paired or len(two) < 2 or min(len(digits) for digits, *_ in two) < 2:
                for digits, at, bank, to in two:
                    single = len(digits) == 1
                    total = digits[0][1] if single else converted(self.e, self.target, digits, at, bank)
                    self._emit_late()
                    out.append(self.e.ntt(total, at, lift_from=digits[0][0] if single else None, bank=to))
                continue
            sums = [converted(self.e, self.target, d, at, bank) for d, at, bank, _ in two]
            self._emit_late()
            out += [self.e.ntt(v, at, bank=to) for v, (_, at, _, to) in zip(sums, two, strict=True)]
            self.e.pair()
        return out

    def _sums(self, entry: int, following: int | None, beside: Callable[[], None] | None = None) -> tuple[Value, Value]:
        """Both sums of one limb over all diagonals.

        Args:
            entry: of the modulus table.
            following: entry of the limb that comes next, whose input is loaded ahead.
            beside: writes operations that may wait for no sum, while the last permutation runs.
        """
        e, target = self.e, self.target
        x, base = self._raise(entry)
        sums: list[Value | None] = [None, None]
        turned: tuple[Value, Value] | None = None  # psi(v) of the last rotation, and its diagonal
        active = self._active(entry)

        def add(part: int, value: Value, mask: Value) -> None:
            sums[part] = e.multiply(value, mask, entry, sums[part], bank=(FIRST, SECOND)[part])

        for diagonal in active:
            if diagonal is active[-1]:
                for part in (0, 1):
                    if (part, entry) in self.subtrahends:
                        e.fetch(self.subtrahends[part, entry])
            key = diagonal.key
            if key is None:
                assert base is not None
                mask = self._mask()
                raised = e.scale(
                    x[entry // target.limbs_per_digit],
                    entry,
                    target.product(tuple(target.specials), entry),
                    bank=TURNED,
                )
                add(0, base, mask)
                add(1, raised, mask)
                continue
            u = base
            for j, digit in enumerate(x):
                u = e.stream(digit, key.of(0, j, entry), entry, u, bank=FIRST, far=key.far)
            assert u is not None
            if turned is not None:
                add(1, *turned)
            first = e.auto(u, diagonal.element, bank=TURNED)
            v = e.stream(x[0], key.of(1, 0, entry), entry, bank=SECOND, far=key.far)
            mask = self._mask()
            for j, digit in enumerate(x[1:], 1):
                v = e.stream(digit, key.of(1, j, entry), entry, v, bank=SECOND, far=key.far)
            add(0, first, mask)
            turned = e.auto(v, diagonal.element, bank=TURNED), mask
        if beside is not None:
            beside()
        if following is not None and following < self.limbs:
            for part in (0, 1):
                self.ahead[part, following] = self._load(part, following)
        if turned is not None:
            add(1, *turned)
        assert sums[0] is not None
        assert sums[1] is not None
        return sums[0], sums[1]

    # ---- division -----------------------------------------------------------------------------------

    def _set_aside(self, entry: int, sums: tuple[Value, Value]) -> None:
        """What remains of the sums modulo a prime that goes, as coefficients."""
        for part, value in enumerate(sums):
            bank = self.places.take((DIGITS,), (FIRST, SECOND))
            self.remains[part].append((entry, self.e.intt(value, entry, bank=bank)))
        if self.paired:
            self.e.pair()

    def _subtract_early(self) -> None:
        """Makes the subtrahends of all limbs, so that what remains is not needed any more."""
        for part in (0, 1):
            self.places.give([v for _, v in self.remains[part]])
            # Not in the bank of the sum that they are subtracted from.
            banks = [self.places.take((TURNED, DIGITS), ((SECOND,), (FIRST,))[part]) for _ in self.kept]
            made = self._all_transformed(
                [(self.remains[part], entry, TURNED, to) for entry, to in zip(self.kept, banks, strict=True)]
            )
            self.subtrahends.update({(part, entry): v for entry, v in zip(self.kept, made, strict=True)})
        self.remains = ([], [])

    def _subtrahends(self, entry: int, parts: Sequence[int]) -> list[Value]:
        if (0, entry) in self.subtrahends or (1, entry) in self.subtrahends:
            made = [self.subtrahends.pop((part, entry)) for part in parts]
            self.places.give(made)
            return made
        return self._all_transformed([(self.remains[part], entry, DIGITS, TURNED) for part in parts])

    def _divide(self, entry: int, following: int | None) -> None:
        """One limb of the result. The first part's subtrahend is made while the last permutation runs, if alone."""
        e, factor = self.e, self.target.inverse(tuple(self.gone), entry)
        early = () if self.paired else (0,)
        made: list[Value] = []
        sums = self._sums(entry, following, lambda: made.extend(self._subtrahends(entry, early)))
        for part in (0, 1):
            if part == len(made):
                made += self._subtrahends(entry, range(part, 2))
            result = e.sub_scale(sums[part], made[part], entry, factor, bank=TURNED)
            if part == 0:
                self.emit(part, entry, result)
            else:
                self._late = entry, result

    def _emit_late(self) -> None:
        """Gives away the second part of the last limb: at once it would wait for the first part to be stored."""
        if self._late is not None:
            entry, value = self._late
            self._late = None
            self.emit(1, entry, value)
