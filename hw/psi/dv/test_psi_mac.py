# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_mac: sums of products with key rows that come at random, results taken at random; resets in the middle."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from psi_reference import Ring, primes
from runner import run
from stage_bench import Upstream

BANK_LATENCY = 2


@cocotb.test()
async def sums(dut):
    width, log_n = parameter("W", 27), parameter("LogN", 8)
    montgomery = parameter("Kind", 0) * parameter("Word", 11)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    cases = ((1, 0.5, 0.4, None), (0, 1.0, 1.0, None), (0, 0.7, 1.0, 400), (0, 1.0, 0.1, None), (0, 1.0, 1.0, 150))
    for long, keys_come, taken, stop in (*cases, (0, 0.9, 0.9, None)):
        bits = width if montgomery else width - 5 * long
        ring = Ring(primes(bits, max(2 << log_n, 1 << montgomery))[0], log_n - 1 + long, width, montgomery)
        n, q, shift = ring.n, ring.q, ring.shift
        for name in ("rst_ni", "up_avail_i", "key_valid_i", "out_ready_i"):
            getattr(dut, name).value = 0
        dut.long_i.value, dut.shift_i.value, dut.q_i.value, dut.k_i.value = long, shift, ring.shifted, ring.k
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

        polys, keys, want = [], deque(), deque()
        for _ in range(6):
            loop, substitution, count = rng.getrandbits(1), rng.getrandbits(1), rng.randrange(1, 5)
            a, b = [0] * n, [0] * n
            for i in range(count):
                digit, row = ring.random(rng), (ring.random(rng), ring.random(rng))
                last = not substitution and i == count - 1
                polys.append((digit, loop << 4 | substitution << 3 | (i == 0) << 1 | last))
                keys.extend(
                    [x * ring.factor % q for x in [*row[0][g : g + 4], *row[1][g : g + 4]]] for g in range(0, n, 4)
                )
                sign = -1 if substitution else 1
                a = [(s + sign * x * y) % q for s, x, y in zip(a, digit, row[0], strict=True)]
                b = [(s + sign * x * y) % q for s, x, y in zip(b, digit, row[1], strict=True)]
            if substitution:
                passed = ring.random(rng)
                polys.append((passed, loop << 4 | 1 << 3 | 1 << 2 | 1))
                b = [(s + x) % q for s, x in zip(b, passed, strict=True)]
            want.extend(([*a[g : g + 4], *b[g : g + 4]], loop, g == n - 4) for g in range(0, n, 4))

        def groups(poly, lines, shift=shift):
            return [poly[2 * line + w] << shift for line in lines for w in range(2)]

        count, key, cycles = len(polys), False, 0
        up = Upstream(dut, rng, BANK_LATENCY, polys, groups)
        while want and cycles != stop:
            up.drive(1.0 if taken == 1.0 else 0.1)
            key = bool(keys) and (key or rng.random() < keys_come)
            dut.key_valid_i.value = int(key)
            dut.key_i.value = keys[0] if key else [rng.getrandbits(8) for _ in range(8)]
            ready = rng.random() < taken
            dut.out_ready_i.value = int(ready)
            await ReadOnly()
            up.sample(lambda: [int(x) for x in dut.up_line_o.value])
            if key and int(dut.key_ready_o.value):
                keys.popleft()
                key = False
            if ready and int(dut.out_valid_o.value):
                got = [int(x) for x in dut.out_o.value], int(dut.out_loop_o.value), bool(int(dut.out_last_o.value))
                assert got == want.popleft()
            await FallingEdge(dut.clk_i)
            cycles += 1
            assert cycles < 200 * n * count, "the sums stand still"
        if stop is None:
            assert not keys
            assert int(dut.busy_o.value) == 0
            if keys_come == taken == 1.0:
                # A polynomial in N/4 cycles, and the last result's way out.
                assert cycles <= (count + 1) * n // 4 + 30


@pytest.mark.long
@pytest.mark.parametrize(("width", "kind", "word", "twin"), [(27, 0, 18, 1), (27, 1, 11, 0), (54, 0, 18, 1)])
def test_psi_mac(width, kind, word, twin):
    run("psi_mac", {"W": width, "LogN": 8, "Kind": kind, "Word": word, "Twin": twin}, __file__, optimise="-O1")
