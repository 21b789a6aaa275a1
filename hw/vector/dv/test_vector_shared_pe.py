# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An element with shared ALUs: programs of every operation against the interpreter, and how long they take."""

import random
from collections.abc import Iterator, Sequence

import pytest
from shared_element import ENTRIES, PRIMES, Element, Program

from ringforge.hw.vector import constants
from ringforge.hw.vector.isa import Instruction

I = Instruction
#: Cycles from a row's read to its result's write.
MAC_LENGTH = 18


def arithmetic(e: Element, log_n: int) -> list[Instruction]:
    """MACs of every kind, each with another modulus than the one before, results over sources."""

    def s(bank: int, place: int = 0) -> int:
        return e.s(log_n, bank, place)

    def scalar(value: int, prime: int) -> int:
        return constants.scalar(e.config, value, PRIMES[prime])

    out: list[Instruction] = []
    for prime, entry in enumerate(ENTRIES):
        lift = ENTRIES[(prime + 1) % 4]
        x = [e.data(log_n, prime, k) for k in range(4)]
        y = e.data(log_n, (prime + 1) % 4, 0)
        out += [I.load(s(0), x[0]), I.load(s(1), x[1]), I.load(s(2), x[2]), I.load(s(3), y), I.stream(x[3])]
        results = [
            I.mac(s(0, 1), s(0), entry, imm=scalar(12345, prime)),
            I.mac(s(1, 1), s(0), entry, stream=True, c=s(1), post_add=True),
            I.mac(s(2, 1), s(0), entry, b=s(1), c=s(2), post_add=True),
            I.mac(s(3, 1), s(1), entry, b=s(2)),
            I.mac(s(3, 2), s(3), entry, imm=scalar(99, prime), c=s(2), post_add=True, lift_from=lift),
            I.mac(s(2, 2), s(0), entry, imm=scalar(77, prime), c=s(3), pre_sub=True, lift_from=lift),
            I.mac(s(1, 2), s(2), entry, b=s(0), c=s(1), pre_sub=True),
            I.mac(s(0, 2), s(0), entry, b=s(0), c=s(1), pre_sub=True),
            I.mac(s(1), s(1), entry, imm=scalar(5, prime), c=s(2), post_add=True),
            I.mac(s(1), s(1), entry, imm=scalar(7, prime), c=s(2), post_add=True),
            I.mac(s(1), s(0), entry, imm=scalar(9, prime), c=s(1), post_add=True),
        ]
        out += results
        out += [I.store(dst, e.place(log_n)) for dst in dict.fromkeys(r.dst for r in results)]
    return out


def transforms(e: Element, log_n: int) -> list[Instruction]:
    """Both directions, in place, with a lift, an automorphism; MACs and loads beside them."""

    def s(bank: int, place: int = 0) -> int:
        return e.s(log_n, bank, place)

    a, b = ENTRIES[1], ENTRIES[2]
    return [
        I.load(s(7, 0), e.table(log_n, 1)),
        I.load(s(7, 1), e.table(log_n, 2)),
        I.load(s(0), e.data(log_n, 1, 0)),
        I.load(s(2), e.data(log_n, 3, 1)),
        I.load(s(3), e.data(log_n, 3, 2)),
        I.ntt(s(1), s(0), s(7, 0), a),
        *[I.mac(s(3), s(2), ENTRIES[3], imm=17, c=s(3), post_add=True)] * 5,
        I.load(s(3, 1), e.data(log_n, 0, 3)),
        I.auto(s(2, 1), s(1), 5),
        *[I.mac(s(3), s(0), ENTRIES[3], imm=1 << 20, lift_from=a)] * 2,
        I.intt(s(2, 1), s(2, 1), s(7, 0), a),
        I.ntt(s(1, 1), s(0), s(7, 1), b, lift_from=a),
        I.auto(s(3, 2), s(1, 1), (2 << log_n) - 1),
        *[I.store(x, e.place(log_n)) for x in (s(1), s(2, 1), s(3), s(1, 1), s(3, 2), s(3, 1))],
        I.copy(k := e.place(log_n), e.far(log_n)),
        I.sync(0),
        I.load(s(0), k),
        I.store(s(0), e.place(log_n)),
    ]


def small() -> Iterator[Element]:
    e = Element("fame-small", (7, 8, 11), seed=3)
    for log_n in e.log_ns:
        e.add(log_n, arithmetic(e, log_n))
        e.add(log_n, transforms(e, log_n))
        e.add(log_n, transforms(e, log_n), quiet=200)
    e.run("small")
    yield e


def test_small() -> None:
    for e in small():
        print([(p.cycles, p.error) for p in e.programs])
        assert not any(p.error for p in e.programs)
