# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_symmetric multiplies RLWEs by keys as Python integers do, with stalls and resets, in the cycles it states."""

import itertools
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import parameter
from psi_reference import Gadget, Ring, primes
from runner import run

READ = 2  # cycles from a row group's address to its words


def interval(log_n):
    """Cycles from an RLWE to the next."""
    return (2 * log_n + 1) * (1 << log_n) // 4 + 2


class Bench:
    """The pipeline with a stream of RLWEs before it, the memory of keys beside it and room for results behind it."""

    def __init__(self, dut, ring, gadget):
        self.dut, self.ring, self.gadget = dut, ring, gadget
        self.rng = random.Random(1)
        dut.q_i.value, dut.k_i.value, dut.shift_i.value = ring.shifted, ring.k, ring.shift
        dut.log_base_i.value, dut.drop_i.value = gadget.log_base, gadget.drop
        dut.balanced_i.value, dut.offset_i.value = int(gadget.balanced), gadget.offset if gadget.balanced else 0

    async def reset(self):
        for name in ("tw_we_i", "in_valid_i", "key_valid_i", "out_ready_i", "rst_ni"):
            getattr(self.dut, name).value = 0
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1

    async def tables(self):
        for i, word in enumerate(self.ring.table):
            self.dut.tw_we_i.value, self.dut.tw_addr_i.value, self.dut.tw_data_i.value = 1, i, word * self.ring.factor
            await FallingEdge(self.dut.clk_i)
        self.dut.tw_we_i.value = 0

    async def stream(self, operands, keys, p_in=1.0, p_key=1.0, p_out=1.0, limit=None):
        """Sends RLWEs, each with its key; gives the results of `limit` cycles, or all, and when each began."""
        dut, rng, quarter = self.dut, self.rng, self.ring.n // 4
        results, begun, groups = [], [], []
        sent = used = cycle = 0
        asked = [(-1, 0, 0)] * (READ + 1)
        offering = key = False
        while len(results) < len(operands) if limit is None else cycle < limit:
            # what the machine says in this cycle, and what it is told
            asked.append((min(used, len(keys) - 1), int(dut.key_poly_o.value), 4 * int(dut.key_group_o.value)))
            offering = sent < len(operands) * quarter and (offering or rng.random() < p_in)
            dut.in_valid_i.value = int(offering)
            if offering:
                (a, b), g = operands[sent // quarter], 4 * (sent % quarter)
                dut.in_i.value = [*a[g : g + 4], *b[g : g + 4]]
                if int(dut.in_ready_o.value):
                    if g == 0:
                        begun.append(cycle)
                    sent, offering = sent + 1, False
            key = used < len(keys) and (key or rng.random() < p_key)
            dut.key_valid_i.value, dut.out_ready_i.value = int(key), int(rng.random() < p_out)
            (n, poly, g), was = asked[-READ - 1], asked[-READ - 2 :][0]
            if (n, poly, g) != was:
                rows = [half[g : g + 4] for row in keys[n][poly] for half in row]
                dut.key_i.value = [w * self.ring.factor % self.ring.q for row in rows for w in row]
            if int(dut.key_taken_o.value):
                used, key = used + 1, False
            if int(dut.out_valid_o.value):
                groups.append([int(w) for w in dut.out_o.value])
                if len(groups) == quarter:
                    results.append(tuple([w for g in groups for w in g[at : at + 4]] for at in (0, 4)))
                    groups = []
            await FallingEdge(dut.clk_i)
            cycle += 1
            assert limit is not None or cycle < (len(operands) + 2) * 10 * interval(self.ring.log_n), "it stands still"
        return results, begun


@cocotb.test()
async def products(dut):
    width, log_n, digits = parameter("W", 27), parameter("LogN", 10), parameter("Digits", 3)
    rng = random.Random(2)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    large, long = log_n > 9, not parameter("Twin", 1)
    for bits, balanced in [(width, False), (width - 6, True)][int(not long and not large) : 1 if large else 2]:
        ring = Ring(primes(bits, 2 << log_n)[0], log_n, width)
        drop = 3 if balanced else 0
        gadget = Gadget(-(-(bits - drop) // digits), digits, drop, balanced)
        bench = Bench(dut, ring, gadget)
        await bench.reset()
        await bench.tables()
        count = 3 if long else 2
        operands = [(ring.random(rng), ring.random(rng)) for _ in range(count)]
        keys = [[[(ring.random(rng), ring.random(rng)) for _ in range(digits)] for _ in "ab"] for _ in range(count)]
        expected = [
            ring.product((ring.inverse(a), ring.inverse(b)), [*key[0], *key[1]], gadget, gadget)
            for (a, b), key in zip(operands, keys, strict=True)
        ]
        if not large:  # a reset at some moment leaves nothing behind
            await bench.stream(operands, keys, limit=rng.randrange(interval(log_n) * (2 if long else 1)))
            await bench.reset()
        results, begun = await bench.stream(operands, keys)
        assert results == expected
        assert {y - x for x, y in itertools.pairwise(begun)} == {interval(log_n)}
        for stalls in [(0.5, 0.003, 0.01), (0.05, 1, 1), (1, 0.0005, 1)][: 3 if long else 0]:
            assert (await bench.stream(operands, keys, *stalls))[0] == expected


@pytest.mark.parametrize(
    "parameters",
    [
        {"W": 27, "LogN": 8, "Digits": 2, "Twin": 1},
        pytest.param({"W": 27, "LogN": 8, "Digits": 4, "Twin": 0}, marks=pytest.mark.long),
        pytest.param({"W": 27, "LogN": 10, "Digits": 3, "Twin": 1}, marks=pytest.mark.long),
    ],
    ids=lambda p: "-".join(f"{k}{v}" for k, v in p.items()),
)
def test_psi_symmetric(parameters):
    run("psi_symmetric", parameters, __file__, build_args=["-Wno-UNUSEDPARAM"])
