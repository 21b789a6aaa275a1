# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits of integer operations, as graphs that fold constants while they are built.

Bits are literals of :class:`ringforge.gates.optimise.Graph`, the least first; constants are the literals 0 and 1, which
vanish where they meet a gate. Full adders are a majority and an XOR of three, so that sums may be free
(:mod:`ringforge.gates.sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringforge.gates.netlist import Netlist, Port
from ringforge.gates.optimise import FALSE, TRUE, Graph, to_netlist

Word = list[int]


def constant(value: int, width: int) -> Word:
    """A known number's bits, two's complement."""
    return [value >> i & 1 for i in range(width)]


def extended(word: Word, width: int, signed: bool) -> Word:
    """The same number in another width; the upper bits go where it is narrower."""
    top = word[-1] if signed else FALSE
    return (word + [top] * (width - len(word)))[:width]


def inverted(word: Word) -> Word:
    """~word."""
    return [x ^ 1 for x in word]


def add(g: Graph, a: Word, b: Word, carry: int = FALSE) -> Word:
    """a + b + carry modulo 2^width."""
    total = []
    for x, y in zip(a, b, strict=True):
        total.append(g.xor(x, y, carry))
        carry = g.maj(x, y, carry)
    return total


def subtract(g: Graph, a: Word, b: Word) -> Word:
    """a - b modulo 2^width."""
    return add(g, a, inverted(b), TRUE)


def negate(g: Graph, a: Word) -> Word:
    """-a modulo 2^width."""
    return add(g, inverted(a), constant(0, len(a)), TRUE)


def less(g: Graph, a: Word, b: Word, signed: bool) -> int:
    """a < b."""
    borrow = FALSE
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if signed and i == len(a) - 1:
            x, y = y, x
        borrow = g.maj(x ^ 1, y, borrow)
    return borrow


def equal(g: Graph, a: Word, b: Word) -> int:
    """a == b, as a tree."""
    return every(g, [g.xor(x, y) ^ 1 for x, y in zip(a, b, strict=True)])


def every(g: Graph, bits: Word) -> int:
    """Whether all are 1."""
    bits = bits or [TRUE]
    while len(bits) > 1:
        pairs = [g.and_(x, y) for x, y in zip(bits[::2], bits[1::2], strict=False)]
        bits = pairs + bits[len(bits) & ~1 :]
    return bits[0]


def some(g: Graph, bits: Word) -> int:
    """Whether any is 1."""
    return every(g, inverted(bits)) ^ 1


def choose(g: Graph, select: int, one: Word, zero: Word) -> Word:
    """`one` where select is 1, else `zero`."""
    return [g.mux(select, x, y) for x, y in zip(one, zero, strict=True)]


def smaller(g: Graph, a: Word, b: Word, signed: bool) -> Word:
    """min(a, b)."""
    return choose(g, less(g, b, a, signed), b, a)


def larger(g: Graph, a: Word, b: Word, signed: bool) -> Word:
    """max(a, b)."""
    return choose(g, less(g, a, b, signed), b, a)


def magnitude(g: Graph, a: Word) -> Word:
    """|a| of a signed number, modulo 2^width."""
    sign = a[-1]
    return add(g, [g.xor(x, sign) for x in a], constant(0, len(a)), sign)


def multiply(g: Graph, a: Word, b: Word) -> Word:
    """a * b modulo 2^width: products of bits, column by column through full adders."""
    width = len(a)
    columns: list[Word] = [[] for _ in range(width)]
    for i, x in enumerate(a):
        for j in range(width - i):
            product = g.and_(x, b[j])
            if product != FALSE:
                columns[i + j].append(product)
    return _compressed(g, columns)


def _compressed(g: Graph, columns: list[Word]) -> Word:
    """The sum of columns of bits. The oldest bits are added first; in the last column carries are not made."""
    total = []
    for i, column in enumerate(columns):
        waiting = list(column)
        last = i == len(columns) - 1
        while len(waiting) > 1:
            three = waiting[:3]
            waiting = waiting[3:]
            if not last:
                carry = g.maj(*three) if len(three) == 3 else g.and_(*three)
                if carry != FALSE:
                    columns[i + 1].append(carry)
            bit = g.xor(*three)
            if bit != FALSE:
                waiting.append(bit)
        total.append(waiting[0] if waiting else FALSE)
    return total


def multiply_by(g: Graph, a: Word, value: int) -> Word:
    """a * value modulo 2^width, a sum of shifts, with few digits: value in non-adjacent form."""
    width = len(a)
    value %= 1 << width
    total: Word | None = None
    place = 0
    while value and place < width:
        if value & 1:
            digit = 2 - (value & 3)
            value -= digit
            row = ([FALSE] * place + a)[:width]
            if total is None:
                total = row if digit > 0 else negate(g, row)
            else:
                total = add(g, total, row) if digit > 0 else subtract(g, total, row)
        value >>= 1
        place += 1
    return total or constant(0, width)


def shift_left(word: Word, by: int) -> Word:
    """word << by; beyond the width nothing is left."""
    by = min(by, len(word))
    return [FALSE] * by + word[: len(word) - by]


def shift_right(word: Word, by: int, signed: bool) -> Word:
    """word >> by; signed numbers keep their sign."""
    by = min(by, len(word))
    return word[by:] + [word[-1] if signed else FALSE] * by


def rotate(word: Word, by: int) -> Word:
    """Rotated to the left by any number of places."""
    by %= len(word)
    return word[len(word) - by :] + word[: len(word) - by]


def shift_by(g: Graph, word: Word, amount: Word, step: Callable[[Word, int], Word]) -> Word:
    """`step` by an encrypted amount: a choice for each of its bits. Places beyond the width are one choice."""
    far = [x for k, x in enumerate(amount) if 1 << k >= len(word)]
    for k, x in enumerate(amount):
        if 1 << k < len(word):
            word = choose(g, x, step(word, 1 << k), word)
    return choose(g, some(g, far), step(word, len(word)), word) if far else word


def rotate_by(g: Graph, word: Word, amount: Word, left: bool) -> Word:
    """Rotated by an encrypted amount, modulo the width."""
    for k, x in enumerate(amount):
        places = pow(2, k, len(word))
        word = choose(g, x, rotate(word, places if left else -places), word)
    return word


def divide(g: Graph, a: Word, b: Word) -> tuple[Word, Word]:
    """Quotient and remainder, unsigned, by restoring division; by 0 all ones, and a."""
    width = len(a)
    rest: Word = [FALSE] * width
    quotient: Word = []
    wide = [*b, FALSE]
    for bit in reversed(a):
        tried = [bit, *rest]
        fits = less(g, tried, wide, False) ^ 1
        rest = choose(g, fits, subtract(g, tried, wide), tried)[:width]
        quotient.insert(0, fits)
    return quotient, rest


def divide_signed(g: Graph, a: Word, b: Word) -> tuple[Word, Word]:
    """Quotient rounded down, and remainder with the divisor's sign, as Python has them; by 0 -1, or 0 of negative
    numbers, and a."""
    width, zero = len(a), constant(0, len(a))
    quotient, rest = divide(g, magnitude(g, a), magnitude(g, b))
    differ = g.xor(a[-1], b[-1])
    uneven = some(g, rest)
    # -q, and -q - 1 = ~q where something is left.
    flipped = [g.xor(x, differ) for x in quotient]
    quotient = add(g, flipped, zero, g.and_(differ, uneven ^ 1))
    # Something is left on the other side: |b| - r.
    rest = choose(g, g.and_(differ, uneven), subtract(g, magnitude(g, b), rest), rest)
    rest = add(g, [g.xor(x, b[-1]) for x in rest], zero, b[-1])
    return quotient[:width], rest[:width]


def build(name: str, widths: Sequence[int], make: Callable[[Graph, list[Word]], dict[str, Word]]) -> Netlist:
    """A netlist of input ports a, b, c, ... of these widths, and the output ports that `make` names."""
    g = Graph()
    words = [[g.node("in") for _ in range(width)] for width in widths]
    found = make(g, words)
    g.outputs = [x for word in found.values() for x in word]
    start, ports = 0, []
    for label, width in zip("abcdefgh", widths, strict=False):
        ports.append(Port(label, tuple(range(start, start + width))))
        start += width
    shape = Netlist(name, tuple(ports), tuple(Port(n, (0,) * len(w)) for n, w in found.items()), ())
    return to_netlist(g, shape)
