# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_transform against the definitions: transforms evaluate at powers of psi, automorphisms permute exponents.

The banks around it are modelled here, with the latency of rf_bank.
"""

import os
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import BARRETT, MONTGOMERY, Modulus, parameter
from permutation import reverse_bits
from runner import run

NTT, INTT, AUTO = 0, 1, 2
CYCLIC = parameter("Cyclic", 0)


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
        q = modulus.q
        scale = pow(modulus.radix_inverse, -1, q)
        #: Slot i is the value at psi^points[i]; psi has as many powers as `order`.
        self.psi = root_of(q, log_n)
        if CYCLIC:
            self.psi, self.order = self.psi**2 % q, self.n
            self.points = [reverse_bits(i, log_n) for i in range(self.n)]
        else:
            self.order = 2 * self.n
            self.points = [2 * reverse_bits(i, log_n) + 1 for i in range(self.n)]
        # Twiddle m + i splits block i of m blocks: the modulus X^2t - c^2 into X^t - c and X^t + c.
        table = [0] * self.n
        for level in range(log_n):
            m = 1 << level
            for i in range(m):
                at = reverse_bits(i, level)
                table[m + i] = pow(
                    self.psi, at * (self.n // (2 * m)) if CYCLIC else (2 * at + 1) * self.n // (2 * m), q
                )
        self.tables = [self.rows([c * scale % q for c in table])] * 2
        if CYCLIC:
            self.tables[INTT] = self.rows([-pow(c, -1, q) * scale % q if c else 0 for c in table])

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
            tables.append(self.tables[op & 1][int(dut.tw_row_o.value)] if int(dut.tw_en_o.value) else None)
            if int(dut.wr_en_o.value):
                dst[int(dut.wr_row_o.value)] = [int(x) for x in dut.wr_data_o.value]
            if int(dut.done_o.value):
                break
            await FallingEdge(dut.clk_i)
            cycles += 1
            assert cycles < 100_000
        return [w >> m.shift for row in dst for w in row], cycles

    def evaluated(self, words: list[int]) -> list[int]:
        """The values at the points, by Horner's rule."""
        q = self.m.q
        out = []
        for e in self.points:
            x, value = pow(self.psi, e, q), 0
            for w in reversed(words):
                value = (value * x + w) % q
            out.append(value)
        return out

    def mapped(self, words: list[int], g: int) -> list[int]:
        """Slot of exponent e takes the slot of exponent e*g."""
        index = {e: i for i, e in enumerate(self.points)}
        return [words[index[e * g % self.order]] for e in self.points]


@cocotb.test()
async def transforms(dut):
    kind, width, lanes = parameter("Kind", 0), parameter("W", 54), parameter("Lanes", 8)
    rng = random.Random(11)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.rst_ni.value, dut.start_i.value = 0, 0
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    turns = lanes // 2 // parameter("Butterflies", lanes // 2)
    drain = 27 if turns == 1 else 27 - 1 - 15 + 1 + 15 // turns
    drain += 4 * parameter("SpnRegisters", 0)
    sizes = [int(n) for n in os.environ["SIZES"].split()]
    for n, log_n in enumerate(sizes):
        shift = 0 if kind == MONTGOMERY or n % 2 == 0 else 4
        q = prime_for(width - shift, log_n, kind)
        unit = Unit(dut, Modulus(q, width, shift, kind), log_n)
        rows = unit.n // lanes
        words = [rng.choice([0, 1, q - 1, q // 2, rng.randrange(q)]) for _ in range(unit.n)]
        values, cycles = await unit.run(NTT, words)
        assert values == unit.evaluated(words), f"NTT of 2^{log_n}"
        waits = 1 if rows >= 4 * drain else log_n
        assert cycles <= turns * (log_n * rows + waits * drain) + 1
        back, again = await unit.run(INTT, values)
        assert back == words, f"INTT of 2^{log_n}"
        assert again == cycles
        # A lift from a larger prime of the same length.
        p = q + 2 * (1 << (width - shift - 6)) + 1
        if p.bit_length() > width - shift:
            p = q - 2 * (1 << (width - shift - 6)) + 1
        raw = [rng.choice([0, p - 1, p // 2, p // 2 + 1, rng.randrange(p)]) for _ in range(unit.n)]
        lifted, _ = await unit.run(NTT, raw, source=p)
        assert lifted == unit.evaluated([(x - p if x > p // 2 else x) % q for x in raw]), f"lift, 2^{log_n}"
        # All maps of short polynomials, some of longer ones.
        count = unit.order // 2 if log_n <= int(os.environ["ALL_MAPS"]) else 12
        for g in range(1, unit.order, unit.order // count // 2 * 2 if count < unit.order // 2 else 2):
            turned, cycles = await unit.run(AUTO, values, g=g)
            assert turned == unit.mapped(values, g), f"automorphism by {g}"
            assert cycles <= rows + 12 + 2 * parameter("SpnRegisters", 0)


def check(sizes: list[int], *, all_maps: int = 6, **parameters: int) -> None:
    """Polynomials of 2^size words on one build."""
    env = {"SIZES": " ".join(map(str, sizes)), "ALL_MAPS": str(all_maps)}
    values = {"W": 54, "Lanes": 8, "MaxLogN": 8, "Kind": BARRETT, "Twin": 1, **parameters}
    run("rf_transform", values, __file__, env=env)


@pytest.mark.parametrize(("kind", "width"), [(BARRETT, 54), (MONTGOMERY, 54)])
def test_rf_transform(kind, width):
    check([6, 7], W=width, Kind=kind, TwiddlePick=kind)


def test_rf_transform_turns():
    """Half the butterflies, cyclic, registers in the networks; as few rows as one."""
    check([3, 4, 5, 8], Butterflies=2, Cyclic=1, SpnRegisters=1, MapRegister=1, TwiddlePick=1, all_maps=5)


@pytest.mark.long
@pytest.mark.parametrize(("cyclic", "butterflies"), [(0, 8), (0, 4), (0, 2), (0, 1), (1, 8), (1, 1)])
def test_rf_transform_butterflies(cyclic, butterflies):
    """All numbers of butterflies; one row, few, and more than the pipeline holds."""
    check([4, 5, 6, 7, 9, 11], Lanes=16, MaxLogN=11, Cyclic=cyclic, Butterflies=butterflies, MapRegister=1, all_maps=5)


@pytest.mark.long
@pytest.mark.parametrize("kind", [BARRETT, MONTGOMERY])
def test_rf_transform_real(kind):
    """Real multipliers, with 128 rows: stages follow each other without a wait."""
    check([9, 3], Lanes=4, MaxLogN=9, Kind=kind, Twin=0, all_maps=3)


@pytest.mark.long
@pytest.mark.parametrize("width", [27, 32, 37, 50, 60])
def test_rf_transform_widths(width):
    check([6, 7], W=width, Twin=0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("lanes", "butterflies"),
    [(128, 64), (256, 128), (256, 64)],
)
def test_rf_transform_wide(lanes, butterflies):
    """The lanes of larger machines, few rows."""
    log = lanes.bit_length() - 1
    check(
        [log, log + 2],
        Lanes=lanes,
        MaxLogN=log + 2,
        Butterflies=butterflies,
        SpnRegisters=3,
        MapRegister=1,
        TwiddlePick=1,
        all_maps=0,
    )
