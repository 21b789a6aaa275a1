# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_stage and psi_ntt: transforms of polynomials that come and are read at random, and their cycles."""

import random
from itertools import pairwise

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from psi_reference import Ring, primes
from runner import run
from stage_bench import Downstream, Upstream

BANK_LATENCY, SOURCE_LATENCY = 2, 6


async def start(dut, ring: Ring, long: int, drain: int) -> None:
    for name in ("rst_ni", "up_avail_i", "start_i", "re_i", "done_i", "tw_we_i"):
        getattr(dut, name).value = 0
    dut.long_i.value, dut.drain_i.value, dut.shift_i.value = long, drain, ring.shift
    dut.q_i.value, dut.k_i.value = ring.shifted, ring.k
    for _ in range(2):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for i in range(1, ring.n):
        dut.tw_we_i.value, dut.tw_addr_i.value, dut.tw_data_i.value = 1, i, ring.table[i] * ring.factor % ring.q
        await FallingEdge(dut.clk_i)
    dut.tw_we_i.value = 0


async def check(dut, up: Upstream, down: Downstream, count: int, chances: tuple[float, float], at) -> None:
    for _ in range(60 * count * down.groups):
        up.drive(chances[0])
        down.drive(chances[1])
        await ReadOnly()
        up.sample(at)
        down.sample()
        await FallingEdge(dut.clk_i)
        if len(down.polys()) == count:
            break
    assert len(down.polys()) == count, "the stage stands still"
    assert int(dut.busy_o.value) == 0


def lines_of(log_t: int):
    """The lines that a stage with this distance of words reads in cycle c."""
    apart = max(log_t - 1, 0)

    def lines(c: int) -> list[int]:
        first = (c >> apart << (apart + 1)) | (c & ((1 << apart) - 1))
        return [first, first | 1 << apart]

    return lines


def whole(words: list[list[int]], lines, n: int) -> list[int]:
    """A polynomial from the pairs of lines that were read."""
    poly = [0] * n
    for c, four in enumerate(words):
        for line, pair in zip(lines(c), (four[:2], four[2:]), strict=True):
            poly[2 * line : 2 * line + 2] = pair
    return poly


@cocotb.test(skip=parameter("LogT", -1) < 0)
async def stage(dut):
    """One stage alone, at both lengths: its butterflies, its table, its two places."""
    width, log_n, log_t = parameter("W", 27), parameter("LogN", 8), parameter("LogT", 0)
    latency = parameter("ReadLatency", BANK_LATENCY)
    rng = random.Random(log_t)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for long in (1, 0):
        ring = Ring(primes(width - 3 * long, 2 << log_n)[0], log_n - 1 + long, width)
        if log_t >= ring.log_n:
            continue
        n, t, m = ring.n, 1 << log_t, ring.n >> (log_t + 1)
        for drain, chances in ((0, (1.0, 1.0)), (13, (0.3, 0.1)), (13, (1.0, 1.0))):
            await start(dut, ring, long, drain)
            polys = [ring.random(rng) for _ in range(5)]
            told = [rng.getrandbits(5) for _ in polys]
            read, lines = lines_of(log_t), lines_of(max(log_t - 1, 0))

            def groups(poly, at, ring=ring):
                return [poly[2 * line + w] << ring.shift for line in at for w in range(2)]

            up = Upstream(dut, rng, latency, list(zip(polys, told, strict=True)), groups)
            down = Downstream(dut, rng, BANK_LATENCY, n // 4, lines)
            await check(dut, up, down, len(polys), chances, lambda: [int(x) for x in dut.up_line_o.value])
            for poly, number, (said, words) in zip(polys, told, down.polys(), strict=True):
                want = list(poly)
                for i in range(m):
                    for j in range(2 * i * t, 2 * i * t + t):
                        u, v = poly[j], poly[j + t] * ring.table[m + i]
                        want[j], want[j + t] = (u + v) % ring.q, (u - v) % ring.q
                assert whole(words, lines, n) == [x << ring.shift for x in want]
                assert said == number
            if chances == (1.0, 1.0):
                assert {y - x for x, y in pairwise(down.starts)} == {n // 4 + drain}
            assert read(1)[1] - read(1)[0] == max(t // 2, 1)


@cocotb.test(skip=parameter("LogT", -1) >= 0)
async def transforms(dut):
    """All stages: N and N/2, polynomials stalled and in a full stream."""
    width, log_n = parameter("W", 27), parameter("LogN", 8)
    montgomery = parameter("Kind", 0) * parameter("Word", 11)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for long in (1, 0):
        ring = Ring(primes(width, max(2 << log_n, 1 << montgomery))[0], log_n - 1 + long, width, montgomery)
        n = ring.n
        for drain, chances in ((0, (1.0, 1.0)), (0, (0.05, 0.05)), (13, (1.0, 1.0))):
            await start(dut, ring, long, drain)
            polys = [ring.random(rng) for _ in range(6)]
            told = [rng.getrandbits(8) for _ in polys]

            def groups(poly, r, ring=ring, n=n):
                return [poly[i] << ring.shift for i in (2 * r, 2 * r + 1, 2 * r + n // 2, 2 * r + 1 + n // 2)]

            up = Upstream(dut, rng, SOURCE_LATENCY, list(zip(polys, told, strict=True)), groups)
            down = Downstream(dut, rng, BANK_LATENCY, n // 4, lines_of(0))
            await check(dut, up, down, len(polys), chances, lambda: int(dut.up_group_o.value))
            for poly, number, (said, words) in zip(polys, told, down.polys(), strict=True):
                assert whole(words, lines_of(0), n) == [x << ring.shift for x in ring.forward(poly)]
                assert said == number
            if chances == (1.0, 1.0):
                gaps = {y - x for x, y in pairwise(down.starts[2:])}
                if drain:
                    assert gaps == {n // 4 + drain}
                else:
                    assert max(gaps) <= n // 4 + 8


def test_the_oracle():
    """The reference transform gives the values at odd powers of psi, in bit-reversed order."""
    ring = Ring(primes(20, 64)[0], 5, 20)
    poly = ring.random(random.Random(1))
    points = [pow(ring.psi, 2 * int(f"{j:05b}"[::-1], 2) + 1, ring.q) for j in range(ring.n)]
    assert ring.forward(poly) == [sum(c * pow(x, i, ring.q) for i, c in enumerate(poly)) % ring.q for x in points]
    assert ring.inverse(ring.forward(poly)) == poly


@pytest.mark.long
@pytest.mark.parametrize(("log_t", "latency"), [(0, 2), (1, 2), (4, 2), (6, 6), (7, 6)])
def test_psi_stage(log_t, latency):
    parameters = {"W": 27, "LogN": 8, "LogT": log_t, "ReadLatency": latency, "MetaW": 5, "Twin": int(log_t != 1)}
    run("psi_stage", parameters, __file__, optimise="-O1")


@pytest.mark.long
@pytest.mark.parametrize(("width", "log_n", "kind", "word"), [(27, 8, 0, 18), (27, 8, 1, 11), (54, 11, 0, 18)])
def test_psi_ntt(width, log_n, kind, word):
    run("psi_ntt", {"W": width, "LogN": log_n, "Kind": kind, "Word": word, "Twin": 1}, __file__, optimise="-O1")
