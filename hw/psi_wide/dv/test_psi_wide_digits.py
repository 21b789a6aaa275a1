# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_digits: digits by rounding, division and carries, one after the other; plain rows; signs; every shift."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from modular import parameter
from wide_bench import Ring, begin, run

LATENCY = 3


def balanced(x: int, q: int, log_base: int, count: int, drop: int) -> list[int]:
    """Digits of centred x, rounded to a multiple of 2^drop, cut from below; the last one keeps the rest."""
    x = x - q if 2 * x > q else x
    x = (x + (1 << drop >> 1)) >> drop
    digits, base = [], 1 << log_base
    for _ in range(count - 1):
        digit = x % base
        digit -= base if digit >= base // 2 else 0
        digits.append(digit)
        x = (x - digit) // base
    return [*digits, x]


def plain(x: int, log_base: int, count: int) -> list[int]:
    digits = []
    for _ in range(count - 1):
        x, digit = divmod(x, 1 << log_base)
        digits.append(digit)
    return [*digits, x]


@cocotb.test()
async def digits(dut):
    lanes, width = parameter("Lanes", 4), parameter("W", 27)
    rng = random.Random(5)
    await begin(dut)
    waiting: deque[tuple[list[int], str]] = deque()
    for shift in (0, 3, 7):
        ring = Ring(width, 8, 8, shift)
        ring.apply(dut)
        bits = width - shift
        for _ in range(500):
            kind, negate = rng.choice(("rows", "plain", "balanced")), rng.getrandbits(1)
            log_base = rng.randrange(2, min(28, bits // 2) + 1)
            count = -(-bits // log_base) + (bits % log_base == 0)
            drop, which = 0, rng.randrange(count)
            xs = ring.random(rng, lanes)
            offset = 0
            if kind == "rows":
                xs = [rng.choice((0, 65535, rng.randrange(65536))) for _ in xs]
                want, negate, given = [x % ring.q for x in xs], 0, xs
            elif kind == "plain":
                given = ring.shifted(xs)
                want = [plain(x, log_base, count)[which] for x in xs]
            else:
                given = ring.shifted(xs)
                # As many digits as fit into the offset's bits, or fewer with low bits left out.
                count = rng.randrange(1, min(count, (width + 1) // log_base) + 1)
                which = rng.randrange(count)
                drop = max(0, bits - log_base * count)
                offset = (1 << drop >> 1) + sum((1 << log_base >> 1) << (log_base * j + drop) for j in range(count))
                want = [balanced(x, ring.q, log_base, count, drop)[which] for x in xs]
            # A single digit of the whole number may be as large as the prime: the ranges leave that out.
            if any(abs(d) >= min(ring.q, 1 << 30) for d in want):
                continue
            want = [(-d if negate else d) % ring.q for d in want]
            inputs = {
                "plain_i": kind == "rows", "balanced_i": kind == "balanced", "last_i": which == count - 1,
                "negate_i": negate, "offset_i": offset, "right_i": drop + log_base * which, "log_base_i": log_base,
            }  # fmt: skip
            for name, value in inputs.items():
                getattr(dut, name).value = int(value)
            dut.x_i.value = given
            waiting.append((ring.shifted(want), f"{kind} {inputs} of {xs}"))
            await FallingEdge(dut.clk_i)
            if len(waiting) == LATENCY:
                line, what = waiting.popleft()
                assert [int(y) for y in dut.y_o.value] == line, what
        waiting.clear()


@pytest.mark.parametrize(("lanes", "width"), [(4, 27), pytest.param(2, 54, marks=pytest.mark.long)])
def test_psi_wide_digits(lanes, width):
    run("psi_wide_digits", {"Lanes": lanes, "W": width}, __file__)
