# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Division by a prime: rescaling, and what ends a key switch.

Of a pair of polynomials over q_0 ... q_k and a prime r, the limbs modulo r are transformed back, one on each of two
elements, and broadcast; every element transforms their centred lifts modulo its own primes, subtracts and multiplies
by 1/r. Dropping P first and the last prime of Q afterwards is the same, bit for bit, as dropping both at once: the
centred representative modulo P*q that the two steps subtract together is the only one of its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ringforge.hw.vector.ir import KEEP, GroupCode, Limbs, Value

#: A value and the element that holds it.
Placed = tuple[int, Value]


@dataclass(frozen=True)
class Piece:
    """A part of other work that may be written beside transforms: the bank it reads, if that is known."""

    bank: int | None
    write: Callable[[], None]


def _write_some(pieces: list[Piece], closed: int, share: int) -> None:
    """Writes one part in `share` of what is left, of that which does not need a closed bank; all if share is 1."""
    count = -(-len(pieces) // share)
    chosen = [piece for piece in pieces if share == 1 or piece.bank != closed][:count]
    for piece in chosen:
        pieces.remove(piece)
        piece.write()


#: Where the parts of a ciphertext should be for the key switch that follows: not where its first transforms run.
READY: Final = (KEEP, 1)


def drop(
    g: GroupCode,
    parts: tuple[Limbs, Limbs],
    tails: tuple[Placed, Placed],
    gone: int,
    *,
    beside: Sequence[Sequence[Callable[[], None]]] = (),
    first: Sequence[int] = (),
    banks: tuple[int, int] | None = None,
    background: Sequence[list[Piece]] = (),
) -> tuple[Limbs, Limbs]:
    """Divides a pair of polynomials by a prime.

    Args:
        g: the group.
        parts: limbs that stay, the same ones in both parts.
        tails: the limb modulo the prime that goes, of each part.
        gone: modulus-table entry of that prime.
        beside: per element, writes operations that may run beside its first transform; `parts` may depend on them.
        first: per element, the bank of its first transform; 0 by default.
        banks: where the quotients should be; by default where the lifted values are.
        background: per element, pieces of other work, all of which are written beside the transforms.
    """
    target = g.target
    limbs = {pe: sorted(i for i in parts[0] if g.owner(i) == pe) for pe in range(g.pes)}
    holders = [pe for pe in range(g.pes) if limbs[pe]]

    def raw_bank(pe: int, part: int) -> int:
        """Transforms use banks 0 and 1 in turn; the last one of a part is in place."""
        return bank_of(pe, (part + 1) * len(limbs[pe]) - 1) if limbs[pe] else part

    def bank_of(pe: int, number: int) -> int:
        """Bank of a transform."""
        return (number + (first[pe] if first else 0)) % 2

    sources = [pe for pe, _ in tails]
    values = [v for _, v in tails]
    if sources[0] == sources[1] and sources[0] in holders and g.pes > 1:
        # The second limb goes to a neighbour, so that both transforms run at once. An element without limbs that
        # stay needs no help: it does the second one while the others work with the first.
        sources[1] = (sources[0] + 1) % g.pes
        values[1] = g.send(sources[0], values[1], {sources[1]: 1})[sources[1]]
    raw = [g.elements[pe].intt(values[part], gone, bank=raw_bank(pe, part)) for part, pe in enumerate(sources)]

    pieces = background or [[] for _ in range(g.pes)]
    for pe in range(g.pes):
        _write_some(pieces[pe], raw_bank(pe, sources.index(pe) if pe in sources else 0), 2 * len(limbs[pe]) + 1)

    out: tuple[Limbs, Limbs] = ({}, {})
    waiting: list[list[Callable[[], None]]] = [list(writes) for writes in beside] or [[] for _ in range(g.pes)]

    def quotient(pe: int, part: int, limb: int, lifted: Value) -> Callable[[], None]:
        def write() -> None:
            factor = target.prime_inverse(gone, limb)
            bank = None if banks is None else banks[part]
            out[part][limb] = g.elements[pe].sub_scale(parts[part][limb], lifted, limb, factor, bank=bank)

        return write

    def settle(pe: int) -> None:
        for write in waiting[pe]:
            write()
        waiting[pe] = []

    def transform(pe: int, part: int, place: int, coefficients: Value) -> None:
        limb, bank = limbs[pe][place], bank_of(pe, part * len(limbs[pe]) + place)
        lifted = g.elements[pe].ntt(coefficients, limb, lift_from=gone, bank=bank)
        settle(pe)
        waiting[pe].append(quotient(pe, part, limb, lifted))
        _write_some(pieces[pe], bank, 2 * len(limbs[pe]) - part * len(limbs[pe]) - place)

    for pe in range(g.pes):
        if pe not in holders:
            settle(pe)
    here: list[dict[int, Value]] = [{}, {}]
    for part in (0, 1):
        # The second broadcast comes after the first transforms have been issued and runs beside them.
        here[part] = g.send(sources[part], raw[part], {pe: raw_bank(pe, part) for pe in holders})
        if sources[part] in holders:
            here[part][sources[part]] = raw[part]
        if part == 0:
            for pe in holders:
                transform(pe, 0, 0, here[0][pe])
    for pe in holders:
        for place in range(1, len(limbs[pe])):
            transform(pe, 0, place, here[0][pe])
        for place in range(len(limbs[pe])):
            transform(pe, 1, place, here[1][pe])
        settle(pe)
    return out


def rescale(
    g: GroupCode, parts: tuple[Limbs, Limbs], beside: Sequence[Sequence[Callable[[], None]]] = ()
) -> tuple[Limbs, Limbs]:
    """Divides a pair of polynomials by their last prime, which goes; `beside` as in `drop`."""
    last = max(parts[0])
    tails = ((g.owner(last), parts[0][last]), (g.owner(last), parts[1][last]))
    kept = tuple({i: v for i, v in part.items() if i != last} for part in parts)
    return drop(g, (kept[0], kept[1]), tails, last, beside=beside, banks=READY)
