# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The streams of operator_bench: rows of words with a modulus each, in with stalls or without, out against integers."""

import random
from collections.abc import Callable
from itertools import islice

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import Modulus, moduli, parameter

#: What a lane must give.
Law = Callable[[Modulus, int, int], int]


def row_of(words: list[int]) -> int:
    return int.from_bytes(np.array(words, dtype="<u8").tobytes(), "little")


def words_of(row: int, lanes: int) -> list[int]:
    return np.frombuffer(row.to_bytes(8 * lanes, "little"), dtype="<u8").tolist()


def primes_of(bits: int, count: int, step: int) -> list[int]:
    """The largest primes of so many bits that are 1 modulo step (Miller-Rabin; these bases are enough for 64 bits)."""

    def prime(q: int) -> bool:
        odd = (q - 1) >> (twos := ((q - 1) & (1 - q)).bit_length() - 1)
        return all(
            pow(a, odd, q) == 1 or any(pow(a, odd << i, q) == q - 1 for i in range(twos))
            for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
        )

    candidates = range((((1 << bits) - 1) // step - 1) * step + 1, 1 << (bits - 1), -step)
    return list(islice(filter(prime, candidates), count))


async def reset(dut) -> None:
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.rst_ni.value, dut.a_valid_i.value, dut.b_valid_i.value, dut.r_ready_i.value = 0, 0, 0, 0
    for _ in range(2):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


async def check_stalls(dut, law: Law, count: int = 300) -> None:
    """Rows of all moduli in turn, each stream with stalls of its own: none lost, none doubled, in order."""
    lanes, kind = parameter("Lanes", 16), parameter("Kind", 0)
    rng = random.Random(lanes)
    choice = list(moduli(parameter("W", 60), kind))
    await reset(dut)
    for p_a, p_b, p_r in ((0.5, 0.5, 0.5), (1.0, 1.0, 0.4), (0.6, 1.0, 1.0), (1.0, 1.0, 1.0)):
        rows, at = [], 0
        while len(rows) < count:
            modulus = rng.choice(choice)
            for _ in range(rng.randint(1, 4)):
                a = [modulus.residue(rng) for _ in range(lanes)]
                b = [modulus.residue(rng) if parameter("Add", 0) else modulus.operand(rng) for _ in range(lanes)]
                rows.append((modulus, a, b, [law(modulus, x, y) for x, y in zip(a, b, strict=True)]))
        got: list[list[int]] = []
        a_on = b_on = False
        cycles = 0
        while len(got) < len(rows):
            a_on = at < len(rows) and (a_on or rng.random() < p_a)
            b_on = at < len(rows) and (b_on or rng.random() < p_b)
            modulus, a, b, _ = rows[min(at, len(rows) - 1)]
            rubbish = rng.getrandbits(64 * lanes)
            dut.a_valid_i.value, dut.a_i.value = int(a_on), row_of(a) if a_on else rubbish
            dut.b_valid_i.value, dut.b_i.value = int(b_on), row_of(b) if b_on else rubbish
            dut.q_i.value, dut.k_i.value = modulus.shifted, modulus.k
            ready = rng.random() < p_r
            dut.r_ready_i.value = int(ready)
            await ReadOnly()
            a_taken, b_taken = a_on and bool(dut.a_ready_o.value), b_on and bool(dut.b_ready_o.value)
            assert a_taken == b_taken, "a row of one stream was taken without the other's"
            if ready and bool(dut.r_valid_o.value):
                got.append(words_of(int(dut.r_o.value), lanes))
            if a_taken:
                at += 1
                a_on = b_on = False
            await FallingEdge(dut.clk_i)
            cycles += 1
            assert cycles < 20 * len(rows), "the streams stand still"
        assert got == [r for *_, r in rows]
        if p_a == p_b == p_r == 1.0:
            assert cycles <= len(rows) + 13, "a change of modulus costs cycles"


async def check_full(dut, law: Law, primes: list[Modulus], log_n: int, slack: int = 200) -> None:
    """A ciphertext of two parts of so many limbs, words at random, with no stalls: every word, and the cycles."""
    lanes, add = parameter("Lanes", 16), bool(parameter("Add", 0))
    rng = np.random.default_rng(60)
    n = 1 << log_n
    limbs = []
    for modulus in [*primes, *primes]:
        x, y = (rng.integers(0, modulus.q, n, dtype="u8") for _ in range(2))
        x[:2], y[:2] = modulus.q - 1, (modulus.q - 1, 1)
        limbs.append((modulus, x << np.uint64(modulus.shift), y << np.uint64(modulus.shift if add else 0)))
    await reset(dut)
    dut.r_ready_i.value = 1
    size, cycles, got = 8 * lanes, 0, []
    for modulus, x, y in limbs:
        dut.q_i.value, dut.k_i.value = modulus.shifted, modulus.k
        a, b = x.tobytes(), y.tobytes()
        for i in range(0, len(a), size):
            dut.a_i.value = int.from_bytes(a[i : i + size], "little")
            dut.b_i.value = int.from_bytes(b[i : i + size], "little")
            dut.a_valid_i.value = dut.b_valid_i.value = 1
            await FallingEdge(dut.clk_i)
            cycles += 1
            if dut.r_valid_o.value:
                got.append(int(dut.r_o.value))
    dut.a_valid_i.value = dut.b_valid_i.value = 0
    rows = len(limbs) * n // lanes
    while len(got) < rows:
        await FallingEdge(dut.clk_i)
        cycles += 1
        got.append(int(dut.r_o.value))
        assert dut.r_valid_o.value
    data = b"".join(row.to_bytes(size, "little") for row in got)
    for i, (modulus, x, y) in enumerate(limbs):
        expected = [law(modulus, a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        assert np.frombuffer(data, "<u8", n, 8 * n * i).tolist() == expected, f"limb {i}"
    dut._log.info("%d rows of %d words in %d cycles", rows, lanes, cycles)
    assert cycles <= rows + slack
