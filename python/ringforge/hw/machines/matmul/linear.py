# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Linear transforms by baby steps and giant steps: arithmetic as of the CPU's (`circuits/linear_transform.cpp`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ringforge.hw.machines.matmul.circuit import FRONT, PASSING, Circuit, Limbs, Pair, Source
from ringforge.hw.machines.matmul.layout import KeyRegion
from ringforge.hw.machines.matmul.multiply import Sink
from ringforge.hw.vector.ir import Value

#: Galois element of a rotation, and where its key is; element 1 has none.
Turn = tuple[int, KeyRegion | None]


@dataclass(frozen=True)
class Term:
    """A diagonal.

    Attributes:
        baby: rotation of the input that it multiplies.
        giant: rotation of the products that it belongs to.
        mask: address of its limb at an entry.
    """

    baby: int
    giant: int
    mask: Callable[[int], int]


def giant_steps(
    c: Circuit, source: Source, limbs: int, terms: Sequence[Term], turns: Mapping[int, Turn], sink: Sink
) -> None:
    """Baby steps share the input's digits; sums over Q and P of each giant step are rotated and added.

    Args:
        source: the input.
        limbs: of the input.
        terms: the diagonals.
        turns: by baby and giant step.
        sink: takes the result, one limb less.
    """
    code = c.code
    digits = c.decompose(limbs, lambda i: source(1, i))
    groups: dict[int, list[Term]] = {}
    for term in sorted(terms, key=lambda t: t.giant):
        groups.setdefault(term.giant, []).append(term)
    inner: dict[int, Pair] = {giant: ({}, {}) for giant in groups}
    babies = list(dict.fromkeys(t.baby for t in terms))
    for mod in (*c.target.specials, *range(limbs)):
        values = [c.digit(digits, d, mod) for d in range(len(digits.mixed))]
        raised = c.raised(source(0, mod), mod) if mod < limbs else None
        made: dict[int, tuple[Value, Value]] = {}
        for baby in babies:
            element, key = turns[baby]
            if key is not None:
                u, v = c.key_product(values, key, mod, (raised, None))
                made[baby] = code.auto(u, element, bank=PASSING), code.auto(v, element, bank=PASSING)
            elif raised is not None:
                made[baby] = raised, c.raised(source(1, mod), mod)
        for giant, group in groups.items():
            for term in group:
                if term.baby not in made:  # P * c is 0 modulo P's primes
                    continue
                mask = code.load(term.mask(mod), FRONT)
                for part in (0, 1):
                    sums = inner[giant][part]
                    sums[mod] = code.multiply(made[term.baby][part], mask, mod, sums.get(mod), bank=1 + part)
    parts: Pair = inner.get(0, ({}, {}))
    for giant, summed in inner.items():
        if giant == 0:
            continue
        element, key = turns[giant]
        assert key is not None
        lower = c.down(summed[1], limbs) if c.target.special in summed[1] else _divided(c, summed[1])
        switched = c.switched(c.decompose(limbs, lower.__getitem__), key, (summed[0], {}))
        parts = _sum(c, parts, c.mapped(switched, element))
    _emit(c, parts, limbs, sink)


def _divided(c: Circuit, limbs: Limbs) -> Limbs:
    """limbs / P, where P divides them: sums of babies that are not rotated."""
    special = tuple(c.target.specials)
    return {i: c.code.scale(v, i, c.target.inverse(special, i), bank=2) for i, v in limbs.items()}


def _sum(c: Circuit, a: Pair, b: Pair) -> Pair:
    """a + b, where a may lack limbs."""
    out: Pair = ({}, {})
    for part in (0, 1):
        for mod, value in b[part].items():
            have = a[part].get(mod)
            out[part][mod] = value if have is None else c.add(value, have, mod, bank=1 + part)
    return out


def _emit(c: Circuit, total: Pair, limbs: int, sink: Sink) -> None:
    for part in (0, 1):
        for i, value in c.down(total[part], limbs - 1).items():
            sink(part, i, value)
