# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_transform against the definitions: transforms evaluate at powers of psi, automorphisms permute exponents.

The banks around it are modelled here, with the latency of rf_bank; every odd Galois element is tried.
"""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import BARRETT, MONTGOMERY, Modulus, parameter
from permutation import reverse_bits
from runner import run

NTT, INTT, AUTO = 0, 1, 2


def prime_for(width: int, log_n: int, kind: int) -> int:
    """A prime that fits the word and has a transform; 1 mod 2^18 for Montgomery."""
    step = 1 << max(18 if kind == MONTGOMERY else 0, log_n + 1)
    q = ((1 << width) - 1) // step * step + 1
    while q >= 1 << width or any(pow(a, q - 1, q) != 1 for a in (2, 3, 5, 7, 11, 13)):
        q -= step
    return q


def root_of(q: int, log_n: int) -> int:
    for a in range(2, 1000):
        psi = pow(a, (q - 1) >> (log_n + 1), q)
        if pow(psi, 1 << log_n, q) == q - 1:
            return psi
    raise AssertionError("no root")


class Unit:
    """The device under test with two slots of memory and a twiddle table."""

    def __init__(self, dut, modulus: Modulus, log_n: int) -> None:
        self.dut, self.m, self.log_n = dut, modulus, log_n
        self.lanes = parameter("Lanes", 8)
        self.n = 1 << log_n
        psi = root_of(modulus.q, log_n)
        scale = pow(modulus.radix_inverse, -1, modulus.q)
        powers = [pow(psi, reverse_bits(i, log_n), modulus.q) for i in range(self.n)]
        self.table = self.rows([p * scale % modulus.q for p in powers])
        self.psi = psi

    def rows(self, words: list[int]) -> list[list[int]]:
        return [words[i : i + self.lanes] for i in range(0, len(words), self.lanes)]

    async def run(self, op: int, words: list[int], g: int = 1, source: int | None = None) -> tuple[list[int], int]:
        """Result and cycles from start to done. `source`: prime of the words, for a lift."""
        dut, m = self.dut, self.m
        src = self.rows([w << m.shift for w in words])
        dst = [[0] * self.lanes for _ in src]
        dut.op_i.value, dut.log_n_i.value, dut.g_i.value = op, self.log_n, g
        dut.lift_i.value, dut.shift_i.value = int(source is not None), m.shift
        dut.p_i.value, dut.q_i.value, dut.k_i.value = (source or m.q) << m.shift, m.shifted, m.k
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        reads, tables, cycles = [None, None], [None, None], 0
        while True:
            # What was asked for two edges ago is on the outputs of the banks now.
            read, table = reads.pop(0), tables.pop(0)
            if read is not None:
                dut.rd_data_i.value = read
            if table is not None:
                dut.tw_data_i.value = table
            memory = src if int(dut.rd_src_o.value) else dst
            reads.append(list(memory[int(dut.rd_row_o.value)]) if int(dut.rd_en_o.value) else None)
            tables.append(self.table[int(dut.tw_row_o.value)] if int(dut.tw_en_o.value) else None)
            if int(dut.wr_en_o.value):
                dst[int(dut.wr_row_o.value)] = [int(x) for x in dut.wr_data_o.value]
            if int(dut.done_o.value):
                break
            await FallingEdge(dut.clk_i)
            cycles += 1
            assert cycles < 20_000
        return [w >> m.shift for row in dst for w in row], cycles

    def evaluated(self, words: list[int]) -> list[int]:
        """Slot i is the value at psi^(2 brv(i) + 1)."""
        q = self.m.q
        out = []
        for i in range(self.n):
            x, value = pow(self.psi, 2 * reverse_bits(i, self.log_n) + 1, q), 0
            for w in reversed(words):
                value = (value * x + w) % q
            out.append(value)
        return out

    def mapped(self, words: list[int], g: int) -> list[int]:
        """Slot of exponent e takes the slot of exponent e*g."""
        index = {2 * reverse_bits(i, self.log_n) + 1: i for i in range(self.n)}
        return [words[index[(2 * reverse_bits(i, self.log_n) + 1) * g % (2 * self.n)]] for i in range(self.n)]


@cocotb.test()
async def transforms(dut):
    kind, width, lanes = parameter("Kind", 0), parameter("W", 54), parameter("Lanes", 8)
    rng = random.Random(11)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.rst_ni.value, dut.start_i.value = 0, 0
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for log_n, shift in ((6, 0), (7, 0 if kind == MONTGOMERY else 4)):
        q = prime_for(width - shift, log_n, kind)
        unit = Unit(dut, Modulus(q, width, shift, kind), log_n)
        words = [rng.choice([0, 1, q - 1, q // 2, rng.randrange(q)]) for _ in range(unit.n)]
        values, _ = await unit.run(NTT, words)
        assert values == unit.evaluated(words), f"NTT of 2^{log_n}"
        back, _ = await unit.run(INTT, values)
        assert back == words, f"INTT of 2^{log_n}"
        # A lift from a larger prime of the same length.
        p = q + 2 * (1 << (width - shift - 6)) + 1
        if p.bit_length() > width - shift:
            p = q - 2 * (1 << (width - shift - 6)) + 1
        raw = [rng.choice([0, p - 1, p // 2, p // 2 + 1, rng.randrange(p)]) for _ in range(unit.n)]
        lifted, _ = await unit.run(NTT, raw, source=p)
        assert lifted == unit.evaluated([(x - p if x > p // 2 else x) % q for x in raw]), f"lift, 2^{log_n}"
        for g in range(1, 2 * unit.n, 2 if log_n == 6 else 14):
            turned, cycles = await unit.run(AUTO, values, g=g)
            assert turned == unit.mapped(values, g), f"automorphism by {g}"
            assert cycles <= unit.n // lanes + 12


@pytest.mark.parametrize(("kind", "width"), [(BARRETT, 54), (MONTGOMERY, 54)])
def test_rf_transform(kind, width):
    run("rf_transform", {"W": width, "Lanes": 8, "MaxLogN": 8, "Kind": kind, "Twin": 1}, __file__)
