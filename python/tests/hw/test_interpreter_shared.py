# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The interpreter's operations of elements with shared ALUs, against Python integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ringforge._native import kernels
from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.memory import ElementMemory
from ringforge.hw.vector import constants
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, encode, slot

i = Instruction
LOG_N = 8
N = 1 << LOG_N
CONFIG = FameConfig.named("fame-small")
ROWS = CONFIG.rows(LOG_N)
PRIMES = kernels.primes_below(50, 3, 1 << 18)
#: Entries of the modulus table that the primes have here, one of them beyond 31.
ENTRIES = (0, 7, 45)
SIZE = CONFIG.polynomial_bytes(LOG_N)
TABLE, DATA, OUT, FAR = 1 << 16, 1 << 17, 1 << 18, 1 << 12


def s(bank: int, place: int = 0) -> int:
    return slot(bank, place * ROWS)


def setup(config: FameConfig = CONFIG) -> list[Instruction]:
    shift = config.shift(50)
    table = zip(ENTRIES, PRIMES, strict=True)
    return [
        i.conf(LOG_N, shift),
        *(i.modulus(e, q << shift, constants.multiplier_constant(config, q)) for e, q in table),
    ]


def memory(config: FameConfig = CONFIG) -> ElementMemory:
    m, rng = ElementMemory(config), np.random.default_rng(17)
    for k, q in enumerate(PRIMES):
        m.near[0].put(TABLE + k * SIZE, constants.twiddles(config, q, LOG_N))
        m.near[0].put(DATA + k * SIZE, rng.integers(0, q, N, dtype=np.uint64))
    return m


def run(body: Sequence[Instruction], m: ElementMemory | None = None) -> ElementMemory:
    m = m or memory()
    programs = [[*setup(m.config), *body, i.end()], *[[i.end()]] * (m.config.pes - 1)]
    Interpreter(m.config, m).run([encode(p) for p in programs])
    return m


def words(m: ElementMemory, address: int) -> list[int]:
    return [int(x) for x in m.near[0].get(address, N)]


def centred(x: int, p: int) -> int:
    return x - p if x > p // 2 else x


@pytest.mark.parametrize("name", ["fame-small", "fame-small-montgomery"])
def test_a_mac_lifts_its_operand_or_what_it_subtracts(name: str) -> None:
    config = FameConfig.named(name)
    p, q = PRIMES[2], PRIMES[1]
    m = run(
        [
            i.load(s(0), DATA + 2 * SIZE),
            i.load(s(1), DATA + SIZE),
            i.mac(s(2), s(0), 7, imm=constants.scalar(config, 1234, q), c=s(1), post_add=True, lift_from=45),
            i.mac(s(3), s(1), 7, imm=constants.scalar(config, 99, q), c=s(0), pre_sub=True, lift_from=45),
            i.store(s(2), OUT),
            i.store(s(3), OUT + SIZE),
        ],
        memory(config),
    )
    x, y = words(m, DATA + 2 * SIZE), words(m, DATA + SIZE)
    assert words(m, OUT) == [(b + centred(a, p) * 1234) % q for a, b in zip(x, y, strict=True)]
    assert words(m, OUT + SIZE) == [(b - centred(a, p)) * 99 % q for a, b in zip(x, y, strict=True)]


def test_a_pair_of_transforms_is_two_transforms() -> None:
    loads = [i.load(s(0), DATA), i.load(s(7), TABLE), i.load(s(7, 1), TABLE + 2 * SIZE)]
    one, two = i.ntt(s(1), s(0), s(7), 0, lift_from=0), i.ntt(s(2), s(0), s(7, 1), 45, lift_from=0)
    back = i.intt(s(1), s(1), s(7), 0).beside(i.intt(s(2), s(2), s(7, 1), 45))
    stores = [i.store(s(1), OUT), i.store(s(2), OUT + SIZE)]
    pair = run([*loads, one.beside(two), *stores])
    single = run([*loads, one, two, *stores])
    for address in (OUT, OUT + SIZE):
        assert words(pair, address) == words(single, address)
    both = run([*loads, one.beside(two), back, *stores])
    assert words(both, OUT) == words(both, DATA)
    assert words(both, OUT + SIZE) == [centred(x, PRIMES[0]) % PRIMES[2] for x in words(both, DATA)]


def test_copies_come_from_far_memory_by_the_next_sync() -> None:
    m = memory()
    m.far[0].put(FAR, m.near[0].get(DATA, N))
    run([i.copy(OUT + SIZE, FAR), i.sync(0), i.load(s(0), OUT + SIZE), i.store(s(0), OUT)], m)
    assert words(m, OUT) == words(m, DATA)
    m.far[0].put(FAR, m.near[0].get(DATA, N))
    for early in ([i.load(s(0), OUT)], [i.stream(OUT)], [i.load(s(0), DATA), i.store(s(0), OUT)], [i.copy(OUT, FAR)]):
        with pytest.raises(IllegalInstructionError, match=r"SYNC since|COPY to this address"):
            run([i.copy(OUT, FAR), *early], m)
    with pytest.raises(IllegalInstructionError, match="far memory 0 holds no polynomial"):
        run([i.copy(OUT, FAR + SIZE)], m)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (i.mac(s(2), s(0), 7, imm=1, c=s(1), pre_sub=True, post_add=True), "either subtract c or add"),
        (i.mac(s(2), s(0), 44, imm=1), "entry 44"),
        (i.ntt(s(1), s(0), s(7), 0).beside(i.ntt(s(1), s(0), s(7), 0)), "must differ"),
        (i.ntt(s(1), s(0), s(7), 0).beside(i.ntt(s(2), s(1), s(7), 0)), "other's source"),
        (i.reduce(s(1), s(0), 0), "no reduction"),
        (i.load(s(0), DATA + 64), "no multiple of 128"),
    ],
)
def test_what_the_element_does_not_do_is_refused(bad: Instruction, why: str) -> None:
    with pytest.raises(IllegalInstructionError, match=why):
        run([i.load(s(0), DATA), i.load(s(1), DATA + SIZE), i.load(s(7), TABLE), bad])


def test_transforms_of_different_kinds_are_no_pair() -> None:
    one = i.ntt(s(1), s(0), s(7), 0)
    for other in (i.intt(s(2), s(0), s(7), 0), i.ntt(s(2), s(0), s(7), 0, lift_from=7), i.auto(s(2), s(0), 5)):
        with pytest.raises(IllegalInstructionError, match="no pair"):
            one.beside(other)


def test_polynomials_of_a_memory_replace_what_they_lie_over() -> None:
    m = ElementMemory(CONFIG)
    part, data = m.near[1], np.arange(N, dtype=np.uint64)
    part.put(0, data)
    part.put(SIZE, data)
    part.put(CONFIG.line_bytes, data + 1)
    assert [address for address, _ in part.items()] == [CONFIG.line_bytes]
    for address in (64, CONFIG.element_bytes - CONFIG.line_bytes, -CONFIG.line_bytes):
        with pytest.raises(ParameterError, match="takes polynomials at"):
            part.put(address, data)
    with pytest.raises(ParameterError, match="holds no polynomial"):
        part.get(CONFIG.line_bytes, 2 * N)
