# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_intt: inverse transforms of RLWEs that come with stalls, and their cycles; resets in the middle."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from psi_reference import Ring, primes
from runner import run


async def reset(dut) -> None:
    for name in ("rst_ni", "load_i", "in_valid_i", "release_i", "tw_we_i"):
        getattr(dut, name).value = 0
    for _ in range(2):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


async def transform(dut, ring: Ring, rlwe, rng: random.Random, chance: float, stop: int | None = None):
    """One RLWE in and out; gives (words a, words b, cycles from load to done, cycles from release to the last)."""
    n, cycle, begin = ring.n, 0, 0
    assert int(dut.idle_o.value)
    dut.load_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.load_i.value = 0
    words, at = [[*rlwe[0][4 * g : 4 * g + 4], *rlwe[1][4 * g : 4 * g + 4]] for g in range(n // 4)], 0
    offered = False
    groups, released, done_at = [], None, None
    while len(groups) < n // 2:
        if stop is not None and cycle == stop:
            return None
        offered = at < len(words) and (offered or rng.random() < chance)
        dut.in_valid_i.value = int(offered)
        dut.in_i.value = words[at] if offered else [rng.getrandbits(8) for _ in range(8)]
        done = int(dut.done_o.value)
        if done and done_at is None:
            done_at = cycle
        release = bool(done) and rng.random() < chance
        dut.release_i.value = int(release)
        await ReadOnly()
        at += offered and int(dut.in_ready_o.value)
        offered = offered and not int(dut.in_ready_o.value)
        if release:
            released = cycle
        if int(dut.valid_o.value):
            assert released is not None
            groups.append([int(x) for x in dut.x_o.value])
        await FallingEdge(dut.clk_i)
        cycle += 1
        assert cycle < 60 * n, "the transform stands still"
    dut.release_i.value = 0
    polys = []
    for part in (groups[: n // 4], groups[n // 4 :]):
        poly = [0] * n
        for c, four in enumerate(part):
            for place, x in zip((2 * c, 2 * c + 1, 2 * c + n // 2, 2 * c + 1 + n // 2), four, strict=True):
                poly[place] = x
        polys.append(poly)
    return *polys, done_at - begin, cycle - released


@cocotb.test()
async def inverses(dut):
    width, log_n = parameter("W", 27), parameter("LogN", 8)
    montgomery = parameter("Kind", 0) * parameter("Word", 11)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for long in (1, 0):
        bits = width if montgomery else width - 13 * long
        ring = Ring(primes(bits, max(2 << log_n, 1 << montgomery))[0], log_n - 1 + long, width, montgomery)
        n = ring.n
        dut.long_i.value, dut.shift_i.value, dut.q_i.value, dut.k_i.value = long, ring.shift, ring.shifted, ring.k
        await reset(dut)
        for i in range(1, n):
            dut.tw_we_i.value, dut.tw_addr_i.value, dut.tw_data_i.value = 1, i, ring.table[i] * ring.factor % ring.q
            await FallingEdge(dut.clk_i)
        dut.tw_we_i.value = 0
        for chance in (1.0, 0.2, 1.0):
            rlwe = ring.random(rng), ring.random(rng)
            a, b, loaded, last = await transform(dut, ring, rlwe, rng, chance)
            assert a == [x << ring.shift for x in ring.inverse(rlwe[0])]
            assert b == [x << ring.shift for x in ring.inverse(rlwe[1])]
            if chance == 1.0:
                assert loaded == n // 4 + (ring.log_n - 1) * n // 2
                assert last == n // 2 + 18
                # What is dropped leaves no trace.
                other = ring.random(rng), ring.random(rng)
                await transform(dut, ring, other, rng, 0.9, rng.randrange(4 * n))
                await reset(dut)


@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "log_n", "kind", "word", "twin"), [(27, 8, 0, 18, 0), (27, 8, 1, 11, 1), (54, 11, 0, 18, 1)]
)
def test_psi_intt(width, log_n, kind, word, twin):
    parameters = {"W": width, "LogN": log_n, "Kind": kind, "Word": word, "Twin": twin}
    run("psi_intt", parameters, __file__, optimise="-O1")
