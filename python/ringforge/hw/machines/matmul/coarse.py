# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A linear transform of one ciphertext, operation after operation: the FAME paper's Algorithm 1 and its baseline.

Every sub-operation (Decomp, ModUp, product with the key, ModDown, automorphism, product with the diagonal, sum) takes
its limbs from memory and gives them back there. `naive` is a full rotation for each diagonal; `hoisted` shares ModUp,
sums over Q*P and divides once. Results are those of the library's schedules of these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringforge.hw.machines.matmul.convert import Limb, mixed_digits, transformed
from ringforge.hw.machines.matmul.hlt import Diagonal, Emit
from ringforge.hw.machines.matmul.layout import KeyRegion, LimbRegion
from ringforge.hw.machines.matmul.target import DIGITS, FIRST, SECOND, TURNED
from ringforge.hw.vector.ir import ElementCode, Limbs, Value
from ringforge.hw.vector.target import Target

#: Two parts.
Pair = tuple[Limbs, Limbs]

_SIDES = (FIRST, SECOND)


class Coarse:
    """Writes the operations of one linear transform.

    Args:
        e: the element's code; banks are orders in it.
        target: machine and numbers.
        parts: where the limbs of the input's two parts are.
        limbs: of the input; results have one less.
        diagonals: at least one.
        emit: takes the limbs of the result.
        through_memory: results of sub-operations go to memory; else only what the scratchpad cannot hold.
    """

    def __init__(
        self,
        e: ElementCode,
        target: Target,
        parts: tuple[LimbRegion, LimbRegion],
        limbs: int,
        diagonals: Sequence[Diagonal],
        emit: Emit,
        through_memory: bool = True,
    ) -> None:
        self.e, self.target, self.limbs, self.diagonals, self.emit = e, target, limbs, diagonals, emit
        self.through_memory = through_memory
        self.extended = (*range(limbs), *target.specials)
        first, second = (
            {i: Value(bank, region.at(i), fixed=True) for i in range(limbs)}
            for bank, region in zip(_SIDES, parts, strict=True)
        )
        self.input: Pair = (first, second)

    def naive(self) -> None:
        """Rotates, multiplies and adds one diagonal after another; rescales at the end."""
        total: Pair | None = None
        for diagonal in self.diagonals:
            rotated = self.input
            if diagonal.key is not None:
                products = self._key_product(self._mod_up(self._decompose(self.input[1])), diagonal.key)
                quotient = self._divide(products, tuple(self.target.specials))
                first = {i: self._add(v, self.input[0][i], i, TURNED) for i, v in quotient[0].items()}
                self._end(first.values(), self.input[0].values(), quotient[0].values())
                rotated = self._turn((first, quotient[1]), diagonal.element)
            total = self._accumulate(total, rotated, diagonal.mask)
        assert total is not None
        self._emit(self._divide(total, (self.limbs - 1,)))

    def hoisted(self) -> None:
        """One ModUp for all rotations, sums over Q*P, one division by P and the last prime."""
        e, specials = self.e, tuple(self.target.specials)
        raised = {i: e.scale(v, i, self.target.product(specials, i), bank=FIRST) for i, v in self.input[0].items()}
        self._end(raised.values(), self.input[0].values())
        digits = self._mod_up(self._decompose(self.input[1]))
        total: Pair | None = None
        for diagonal in self.diagonals:
            if diagonal.key is None:
                second = {
                    i: e.scale(v, i, self.target.product(specials, i), bank=SECOND) for i, v in self.input[1].items()
                }
                self._end(second.values(), self.input[1].values())
                rotated: Pair = (raised, second)
            else:
                u, v = self._key_product(digits, diagonal.key)
                first = {i: self._add(x, raised[i], i, TURNED) if i in raised else x for i, x in u.items()}
                self._end(first.values(), raised.values())
                rotated = self._turn((first, v), diagonal.element)
            total = self._accumulate(total, rotated, diagonal.mask)
        assert total is not None
        self._emit(self._divide(total, (*specials, self.limbs - 1)))

    # ---- sub-operations -------------------------------------------------------------------------------

    def _end(self, *values: Iterable[Value]) -> None:
        """Ends a sub-operation: what it made goes to memory, what it read leaves the scratchpad."""
        if self.through_memory:
            for some in values:
                for v in some:
                    self.e.flush(v)

    def _decompose(self, part: Limbs) -> Limbs:
        """Coefficients, in the banks where their digits do not meet their sums."""
        out = {}
        for i, v in part.items():
            out[i] = self.e.intt(v, i, bank=(FIRST, SECOND, TURNED)[i % 3])
            self._end([v, out[i]])
        return out

    def _mod_up(self, coefficients: Limbs) -> list[Limbs]:
        """The digits of the input's second part over all primes; a digit's own limbs are the input's."""
        out = []
        for group in self.target.digits(self.limbs):
            digits = mixed_digits(self.e, self.target, [(i, coefficients[i]) for i in group])
            raised: Limbs = {}
            for entry in self.extended:
                if entry in group:
                    raised[entry] = self.input[1][entry]
                else:
                    raised[entry] = transformed(self.e, self.target, digits, entry, bank=DIGITS)
                    self._end([raised[entry]])
            self._end(coefficients[i] for i in group)
            out.append(raised)
        return out

    def _key_product(self, digits: list[Limbs], key: KeyRegion) -> Pair:
        out: Pair = ({}, {})
        for entry in self.extended:
            for part in (0, 1):
                total: Value | None = None
                for j, digit in enumerate(digits):
                    total = self.e.stream(digit[entry], key.of(part, j, entry), entry, total, bank=TURNED, far=key.far)
                assert total is not None
                out[part][entry] = total
            self._end((d[entry] for d in digits), (p[entry] for p in out))
        return out

    def _add(self, a: Value, c: Value, entry: int, bank: int) -> Value:
        return self.e.add(a, c, entry, self.target.one(entry), bank=bank)

    def _turn(self, pair: Pair, element: int) -> Pair:
        out: Pair = ({}, {})
        for part, limbs in enumerate(pair):
            for i, v in limbs.items():
                out[part][i] = self.e.auto(v, element, bank=_SIDES[part])
                self._end([v, out[part][i]])
        return out

    def _accumulate(self, total: Pair | None, pair: Pair, mask: LimbRegion) -> Pair:
        """total + mask * pair: a product of both parts, then a sum of both."""
        e = self.e
        product: Pair = ({}, {})
        for i in pair[0]:
            diagonal = e.load(mask.at(i), bank=DIGITS, counted=False, far=mask.far)
            for part in (0, 1):
                bank = _SIDES[part] if total is None else TURNED
                product[part][i] = e.multiply(pair[part][i], diagonal, i, bank=bank)
            self._end(p[i] for p in (*pair, *product))
        if total is None:
            return product
        out: Pair = ({}, {})
        for i in total[0]:
            for part in (0, 1):
                if i not in product[part]:
                    out[part][i] = total[part][i]
                    continue
                out[part][i] = self._add(product[part][i], total[part][i], i, _SIDES[part])
                self._end([product[part][i], total[part][i], out[part][i]])
        for part in (0, 1):
            out[part].update({i: v for i, v in product[part].items() if i not in out[part]})
        return out

    def _divide(self, pair: Pair, gone: tuple[int, ...]) -> Pair:
        """A pair divided by the primes of some entries, which go."""
        e = self.e
        out: Pair = ({}, {})
        for part, limbs in enumerate(pair):
            remains: list[Limb] = []
            for n, entry in enumerate(gone):
                remains.append((entry, e.intt(limbs[entry], entry, bank=(DIGITS, FIRST, SECOND)[n % 3])))
                self._end([limbs[entry], remains[-1][1]])
            remains = mixed_digits(e, self.target, remains)
            for entry, v in limbs.items():
                if entry in gone:
                    continue
                to = DIGITS if v.bank == TURNED else TURNED
                made = transformed(e, self.target, remains, entry, bank=TURNED, to=to)
                out[part][entry] = e.sub_scale(v, made, entry, self.target.inverse(gone, entry), bank=TURNED)
                self._end([v, out[part][entry]])
        return out

    def _emit(self, pair: Pair) -> None:
        for part, limbs in enumerate(pair):
            for entry, value in limbs.items():
                self.emit(part, entry, value)
