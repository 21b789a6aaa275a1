# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_symmetric multiplies RLWEs by keys as integers do, with stalls and resets, and takes the cycles that it states."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import parameter
from rings import Ring, prime
from runner import run


def cycles_of(log_n):
    return log_n * (2 ** (log_n - 1) + 17) + 1


class Bench:
    """Operand and key memories around the pipeline: rows are there two cycles after they were asked for."""

    def __init__(self, dut, ring, digits, log_base):
        self.dut, self.ring, self.digits, self.log_base = dut, ring, digits, log_base
        self.rng = random.Random(1)
        self.taken_at = []

    async def reset(self):
        dut = self.dut
        for name in ("tw_valid_i", "in_valid_i", "key_valid_i", "out_ready_i", "rst_ni"):
            getattr(dut, name).value = 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def tables(self):
        for i, word in enumerate(self.ring.twiddles()):
            self.dut.tw_valid_i.value, self.dut.tw_addr_i.value, self.dut.tw_data_i.value = 1, i, word
            await FallingEdge(self.dut.clk_i)
        self.dut.tw_valid_i.value = 0

    async def stream(self, operands, keys, p_in, p_key, p_out, limit=None):
        """Sends operands, each with its key; gives the results that came in `limit` cycles, or all."""
        dut, rng = self.dut, self.rng
        results, row = [], []
        sent = used = cycle = 0
        asked = [(0, 0, 0, 0)] * 2
        shown = None
        self.taken_at = []
        valid_in = valid_key = False
        while len(results) < len(operands) if limit is None else cycle < limit:
            valid_in = sent < len(operands) and (valid_in or rng.random() < p_in)
            valid_key = used < len(keys) and (valid_key or rng.random() < p_key)
            dut.in_valid_i.value, dut.key_valid_i.value = int(valid_in), int(valid_key)
            dut.out_ready_i.value = int(rng.random() < p_out)
            poly, at, key_poly, key_at = now = asked.pop(0)
            if now != shown:
                shown = now
                words = operands[min(sent, len(operands) - 1)][poly][4 * at : 4 * at + 4]
                dut.in_i.value = [int(w) for w in words]
                rows = keys[min(used, len(keys) - 1)][key_poly]
                dut.key_i.value = [int(w) for pair in rows for p in pair for w in p[4 * key_at : 4 * key_at + 4]]
            await FallingEdge(dut.clk_i)
            # what was asked for in this cycle, and what its clock edge has moved
            asked.append(tuple(int(p.value) for p in (dut.in_poly_o, dut.in_row_o, dut.key_poly_o, dut.key_row_o)))
            cycle += 1
            if int(dut.out_valid_o.value):
                row.append([int(w) for w in dut.out_o.value])
                if len(row) == self.ring.n // 4:
                    results.append([np.array([w for r in row for w in r[4 * p : 4 * p + 4]]) for p in range(2)])
                    row = []
            if int(dut.in_taken_o.value):
                self.taken_at.append(cycle)
                sent, valid_in = sent + 1, False
            if int(dut.key_taken_o.value):
                used, valid_key = used + 1, False
            assert limit is not None or cycle < (len(operands) + 2) * 40 * cycles_of(self.ring.log_n), "it stands still"
        return results

    def expected(self, operand, key):
        ring, mask = self.ring, (1 << self.log_base) - 1
        total = [np.zeros(ring.n, dtype=object) for _ in range(2)]
        for p in range(2):
            coefficients = ring.inverse(operand[p])
            for j in range(self.digits):
                spectrum = ring.forward(coefficients >> (j * self.log_base) & mask)
                for c in range(2):
                    total[c] = (total[c] + spectrum * key[p][j][c]) % ring.q
        return total


@cocotb.test()
async def products(dut):
    width, log_n, digits = parameter("W", 27), parameter("LogN", 10), parameter("Digits", 3)
    big = log_n > 6
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    draw = np.random.default_rng(1)
    for bits in (width,) if big else (width, width - 7):
        ring = Ring(prime(bits, log_n), log_n)
        bench = Bench(dut, ring, digits, -(-bits // digits))
        dut.shift_i.value, dut.q_i.value = width - bits, ring.q << (width - bits)
        dut.k_i.value = ((1 << 2 * width) // (ring.q << (width - bits))) % (1 << 64)
        dut.log_base_i.value = bench.log_base
        await bench.reset()
        await bench.tables()
        for p_in, p_key, p_out in ((1, 1, 1),) if big else ((1, 1, 1), (0.01, 1, 1), (1, 0.004, 0.3), (0.1, 0.1, 0.1)):
            count = 2 if big else 4
            operands = [[ring.draw(draw) for _ in range(2)] for _ in range(count)]
            keys = [
                [[[ring.draw(draw) for _ in range(2)] for _ in range(digits)] for _ in range(2)] for _ in range(count)
            ]
            if not big:  # a reset at some moment leaves nothing behind
                await bench.stream(operands, keys, p_in, p_key, p_out, bench.rng.randrange(4 * cycles_of(log_n)))
                await bench.reset()
            got = await bench.stream(operands, keys, p_in, p_key, p_out)
            for result, operand, key in zip(got, operands, keys, strict=True):
                for have, want in zip(result, bench.expected(operand, key), strict=True):
                    assert have.tolist() == want.tolist()
            if p_in == p_key == p_out == 1:
                assert np.diff(bench.taken_at).tolist() == [cycles_of(log_n)] * (count - 1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"W": 27, "LogN": 5, "Digits": 3, "Twin": 1},
        pytest.param({"W": 27, "LogN": 4, "Digits": 4, "Twin": 0}, marks=pytest.mark.long),
        pytest.param({"W": 27, "LogN": 10, "Digits": 3, "Twin": 1}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_psi_symmetric(parameters):
    run("psi_symmetric", parameters, __file__)
