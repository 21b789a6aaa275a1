# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Division by a prime: rescaling, and what ends a key switch.

Of a pair of polynomials over q_0 ... q_k and a prime r, the limbs modulo r are transformed back, one on each of two
elements, and broadcast; every element transforms their centred lifts modulo its own primes, subtracts and multiplies
by 1/r. Dropping P first and the last prime of Q afterwards is the same, bit for bit, as dropping both at once: the
centred representative modulo P*q that the two steps subtract together is the only one of its size.
"""

from __future__ import annotations

from collections.abc import Callable

from ringforge.hw.matvec.ir import KEEP, GroupCode, Limbs, Value

#: A value and the element that holds it.
Placed = tuple[int, Value]


def drop(
    g: GroupCode,
    parts: tuple[Limbs, Limbs],
    tails: tuple[Placed, Placed],
    gone: int,
    between: Callable[[], None] | None = None,
) -> tuple[Limbs, Limbs]:
    """Divides a pair of polynomials by a prime.

    Args:
        g: the group.
        parts: limbs that stay, the same ones in both parts.
        tails: the limb modulo the prime that goes, of each part.
        gone: modulus-table entry of that prime.
        between: writes operations that may run beside the first transforms.

    Returns:
        The quotients; part 0 would like to be in bank 0, part 1 in bank 1.
    """
    target = g.target
    sources = [pe for pe, _ in tails]
    values = [v for _, v in tails]
    if sources[0] == sources[1] and g.pes > 1:
        # The second limb goes to a neighbour, so that both transforms run at once.
        sources[1] = (sources[0] + 1) % g.pes
        values[1] = g.send(sources[0], values[1], {sources[1]: 1})[sources[1]]
    raw = [
        g.elements[pe].intt(v, gone, bank=part) for part, (pe, v) in enumerate(zip(sources, values, strict=True))
    ]
    if between is not None:
        between()
    holders = [pe for pe in range(g.pes) if any(g.owner(i) == pe for i in parts[0])]
    out: tuple[Limbs, Limbs] = ({}, {})
    waiting: dict[int, Callable[[], None]] = {}

    def finish(pe: int, part: int, limb: int, lifted: Value) -> None:
        quotient = g.elements[pe].sub_scale(
            parts[part][limb], lifted, limb, target.prime_inverse(gone, limb), bank=part
        )
        out[part][limb] = quotient

    def deferred(pe: int, part: int, limb: int, lifted: Value) -> Callable[[], None]:
        return lambda: finish(pe, part, limb, lifted)

    def transform(pe: int, part: int, limb: int, coefficients: Value) -> None:
        lifted = g.elements[pe].ntt(coefficients, limb, lift_from=gone, bank=part)
        if pe in waiting:
            waiting.pop(pe)()
        waiting[pe] = deferred(pe, part, limb, lifted)

    here: list[dict[int, Value]] = [{}, {}]
    for part in (0, 1):
        # The second broadcast comes after the first transforms have been issued and runs beside them.
        here[part] = g.send(sources[part], raw[part], dict.fromkeys(holders, part))
        if sources[part] in holders:
            here[part][sources[part]] = raw[part]
        if part == 0:
            for pe in holders:
                transform(pe, 0, min(i for i in parts[0] if g.owner(i) == pe), here[0][pe])
    for pe in holders:
        mine = sorted(i for i in parts[0] if g.owner(i) == pe)
        for limb in mine[1:]:
            transform(pe, 0, limb, here[0][pe])
        for limb in mine:
            transform(pe, 1, limb, here[1][pe])
        waiting.pop(pe)()
    return out


def rescale(g: GroupCode, parts: tuple[Limbs, Limbs]) -> tuple[Limbs, Limbs]:
    """Divides a pair of polynomials by their last prime, which goes."""
    last = max(parts[0])
    tails = ((g.owner(last), parts[0][last]), (g.owner(last), parts[1][last]))
    kept = tuple({i: v for i, v in part.items() if i != last} for part in parts)
    return drop(g, (kept[0], kept[1]), tails, last)


def accumulate(g: GroupCode, total: Limbs | None, more: Limbs, bank: int = KEEP) -> Limbs:
    """total + more, limb by limb; `more` itself when there is no total."""
    if total is None:
        return more
    out: Limbs = {}
    for i, value in more.items():
        out[i] = g.at(i).add(value, total[i], i, g.target.one(i), bank=bank)
    return out
