# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The rotation core: its transfers and transforms alone, and whole rotations, against Python integers.

Every run is repeated with stalls on all streams; instructions run side by side as far as their operands allow.
"""

from math import prod

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from instructions import AUTO, CONV, FINAL, INTT, KMAC, LOADC, LOADM, LOADT, LOADX, NTT, SCALE, STORE
from modular import parameter
from rotation_bench import Machine, instruction
from rotation_model import BARRETT, MONTGOMERY, Prime, Ring, primes, rotate
from runner import run

BUILD = ["--no-public-flat-rw", "--public-depth", "1"]
LIMBS, SPECIAL, ALPHA = 3, 2, 2  # limbs of a ciphertext, further ones of a key, limbs of a digit


class Bench(Machine):
    """A machine with the tables of a set of primes: entry m of way v is of prime m + v."""

    def __init__(self, dut, seed: int):
        self.kind, self.width = parameter("Kind", 0), parameter("W", 54)
        super().__init__(dut, parameter("Lanes", 4), parameter("Ways", 1), parameter("MaxLogN", 7), seed)
        lengths = [self.width, self.width - 2, self.width - 7, self.width - 1, self.width]
        self.primes = primes(self.width, self.kind, lengths)
        self.constants: list[list[int]] = [[] for _ in range(self.ways)]

    async def begin(self, log_n: int):
        self.log_n, self.n, self.limb = log_n, 1 << log_n, 8 << log_n
        self.rings = [Ring(p.q, log_n) for p in self.primes]
        await self.reset(log_n)
        for table in self.constants:
            table.clear()
        self.tables = self.place(
            [x for r, p in zip(self.rings, self.primes, strict=True) for x in map(p.operand, r.table())]
        )

    def at(self, m: int) -> Prime:
        return self.primes[m % len(self.primes)]

    def moduli(self) -> list:
        """Instructions that load the table of moduli."""
        out = []
        for v in range(self.ways):
            entries = [self.at(m + v) for m in range(len(self.primes))]
            words = [x for p in entries for x in (p.word, p.k, p.shift, p.q)]
            out.append(instruction(LOADM, src=v, mod=0, count=len(entries), addr0=self.place(words)))
        return out

    def load_constants(self, k: int = 0) -> list:
        return [
            instruction(LOADC, src=v, k=k, count=len(words), addr0=self.place(words))
            for v, words in enumerate(self.constants)
        ]

    def constant(self, *rows: list[int]) -> int:
        """Index of consecutive constants; each row has a value for every way."""
        index = len(self.constants[0])
        for row in rows:
            for table, value in zip(self.constants, row, strict=True):
                table.append(value)
        return index

    def limbs(self, words: list[list[int]]) -> int:
        """Limbs one behind the other."""
        return self.place([x for limb in words for x in limb])

    def groups(self, first: int, count: int) -> list[tuple[int, int]]:
        """Limbs taken together: the first one, and the mask of ways."""
        return [(i, (1 << min(self.ways, first + count - i)) - 1) for i in range(first, first + count, self.ways)]

    def poly(self, q: int) -> list[int]:
        return [self.rng.choice((0, 1, q - 1, self.rng.randrange(q), self.rng.randrange(q))) for _ in range(self.n)]


@cocotb.test()
async def transfers_and_transforms(dut):
    """LOADX, STORE with and without ADD, both transforms and the map, in place and not, at both degrees."""
    m = Bench(dut, 3)
    every = (1 << m.ways) - 1
    for log_n in (parameter("MinLogN", 6), parameter("MaxLogN", 7)):
        await m.begin(log_n)
        await m.run(m.moduli())
        for mod in range(len(m.primes)):
            m.stall = m.rng.choice((0.0, 0.3))
            rings = [m.rings[(mod + v) % len(m.primes)] for v in range(m.ways)]
            x = [m.poly(r.q) for r in rings]
            y = [m.poly(r.q) for r in rings]
            tables = [m.tables + m.limb * ((mod + v) % len(m.primes)) for v in range(m.ways)]
            stride = (tables[-1] - tables[0]) % (1 << 48) if m.ways > 1 else 0
            source, other = m.limbs(x), m.limbs(y)
            results = [m.limbs([[0] * m.n for _ in rings]) for _ in range(6)]
            g = m.rng.randrange(1, 2 * m.n, 2)
            both = {"ways": every, "stride0": m.limb, "stride1": m.limb, "mod": mod}
            ways = {"ways": every, "mod": mod}
            program = [
                instruction(LOADT, dst=1, ways=every, addr0=tables[0], stride0=stride),
                instruction(LOADX, dst=0, addr0=source, **both),
                instruction(STORE, src=0, addr0=results[0], **both),
                instruction(STORE, src=0, addr0=results[1], addr1=other, add=1, **both),
                instruction(NTT, dst=2, src=0, bank=1, **ways),
                instruction(AUTO, dst=3, src=2, element=g, **ways),
                instruction(STORE, src=2, addr0=results[2], **both),
                instruction(INTT, dst=2, src=2, bank=1, **ways),
                instruction(STORE, src=3, addr0=results[3], **both),
                instruction(STORE, src=2, addr0=results[4], **both),
                instruction(INTT, dst=5, src=0, bank=1, **ways),
                instruction(STORE, src=5, addr0=results[5], **both),
            ]
            await m.run(program)
            forward = [r.forward(c) for r, c in zip(rings, x, strict=True)]
            wanted = [
                x,
                [[(a + b) % r.q for a, b in zip(c, d, strict=True)] for r, c, d in zip(rings, x, y, strict=True)],
                forward,
                [r.automorphism(c, g) for r, c in zip(rings, forward, strict=True)],
                x,
                [r.inverse(c) for r, c in zip(rings, x, strict=True)],
            ]
            for name, (address, limbs) in enumerate(zip(results, wanted, strict=True)):
                for v, limb in enumerate(limbs):
                    got = m.read(address + v * m.limb, m.n)
                    assert got == limb, f"result {name} of way {v}, prime {mod}, N = {m.n}"


@cocotb.test()
async def ways_that_are_not_active(dut):
    """Transforms and maps of one way leave what the others hold."""
    m = Bench(dut, 7)
    await m.begin(parameter("MinLogN", 6))
    await m.run(m.moduli())
    every, memory = (1 << m.ways) - 1, {"stride0": m.limb, "mod": 0}
    rings = [m.rings[v] for v in range(m.ways)]
    x = [m.poly(r.q) for r in rings]
    source = m.limbs(x)
    for active in range(m.ways):
        only = {"mod": 0, "ways": 1 << active}
        results = [m.limbs([[0] * m.n for _ in rings]) for _ in range(3)]
        program = [instruction(LOADT, dst=0, ways=every, addr0=m.tables, stride0=m.limb)]
        program += [instruction(LOADX, dst=i, addr0=source, ways=every, **memory) for i in range(3)]
        program += [
            instruction(NTT, dst=0, src=0, bank=0, **only),
            instruction(INTT, dst=1, src=2, bank=0, **only),
            instruction(AUTO, dst=2, src=0, element=3, **only),
        ]
        program += [instruction(STORE, src=i, addr0=to, ways=every, **memory) for i, to in enumerate(results)]
        await m.run(program)
        ring = rings[active]
        forward = ring.forward(x[active])
        made = [forward, ring.inverse(x[active]), ring.automorphism(forward, 3)]
        for address, limb in zip(results, made, strict=True):
            for v in range(m.ways):
                assert m.read(address + v * m.limb, m.n) == (limb if v == active else x[v]), f"way {v} of {active}"


@cocotb.test()
async def moduli_for_sums(dut):
    """The SUM unit's port shows way 0's entries."""
    m = Bench(dut, 5)
    await m.begin(parameter("MinLogN", 6))
    await m.run(m.moduli())
    for i, p in enumerate(m.primes):
        dut.sum_index_i.value = i
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        got = [int(x.value) for x in (dut.sum_q_o, dut.sum_k_o, dut.sum_shift_o)]
        assert got == [p.word, p.k, 0 if p.kind == MONTGOMERY else p.shift]


def rotation(m: Bench, c0: int, c1: int, key: int, inner: int, out: int, g: int) -> list:
    """The instructions of a rotation; arguments are addresses of limbs, key those of [digit][limb] as pairs."""
    digits = [(0, ALPHA), (ALPHA, LIMBS - ALPHA)]
    count = LIMBS + SPECIAL
    sources = {d: list(range(first, first + size)) for d, (first, size) in enumerate(digits)}
    special = list(range(LIMBS, count))
    program: list = []
    entry = lambda mod, ways: {"mod": mod, "ways": ways}  # noqa: E731
    memory = {"stride0": m.limb, "stride1": 2 * m.limb}

    def scale(x: int, i: int, ways: int, among: list[int], base: int, v: int):
        """Sources of a conversion from the primes `among`, of which i is the first that is taken."""
        mine = [m.at(i + w) for w in range(m.ways)]
        others = [prod(m.primes[j].q for j in among if m.primes[j] != p) for p in mine]
        k = m.constant(
            [p.operand(pow(o, -1, p.q)) for p, o in zip(mine, others, strict=True)], [p.fraction for p in mine]
        )
        first = i == among[0]
        program.append(instruction(SCALE, src=x, bank=base + i - among[0], dst=v, k=k, init=first, **entry(i, ways)))

    def convert(dst: int, j: int, ways: int, among: list[int], base: int, v: int):
        to = [m.at(j + w) for w in range(m.ways)]
        whole = prod(m.primes[i].q for i in among)
        rows = [[p.operand(whole // m.primes[i].q) for p in to] for i in among]
        k = m.constant(*rows, [p.operand(-whole % p.q) for p in to])
        program.append(instruction(CONV, dst=dst, bank=base, src=v, k=k, count=len(among), **entry(j, ways)))
        program.append(instruction(NTT, dst=dst, src=dst, bank=0, **entry(j, ways)))

    def table(j: int, ways: int):
        program.append(instruction(LOADT, dst=0, ways=ways, addr0=m.tables + j * m.limb, stride0=m.limb))

    def key_of(d: int, j: int) -> int:
        return key + (d * count + j) * 2 * m.limb

    bases = {0: 0, 1: ALPHA}
    parts = {0: LIMBS, 1: LIMBS + SPECIAL}
    for d, among in sources.items():
        for i, ways in m.groups(among[0], len(among)):
            table(i, ways)
            program.append(instruction(LOADX, dst=0, addr0=c1 + i * m.limb, stride0=m.limb, **entry(i, ways)))
            program.append(instruction(INTT, dst=0, src=0, bank=0, **entry(i, ways)))
            scale(0, i, ways, among, bases[d], d)
    for j, ways in m.groups(LIMBS, SPECIAL):
        table(j, ways)
        for d, among in sources.items():
            last = d == len(digits) - 1
            convert(1 + d, j, ways, among, bases[d], d)
            program.append(
                instruction(KMAC, src=1 + d, bank=0, init=d == 0, to_x=last, dst=3, addr1=key_of(d, j), **memory,
                            **entry(j, ways))
            )  # fmt: skip
        for part in range(2):
            program.append(instruction(INTT, dst=3 + part, src=3 + part, bank=0, **entry(j, ways)))
            scale(3 + part, j, ways, special, parts[part], 2 + part)
    for j, ways in m.groups(0, LIMBS):
        table(j, ways)
        mine = next(d for d, among in sources.items() if j in among)
        program.append(
            instruction(KMAC, from_memory=1, bank=1, init=1, addr0=c1 + j * m.limb, addr1=key_of(mine, j), **memory,
                        **entry(j, ways))
        )  # fmt: skip
        for d, among in sources.items():
            if d != mine:
                convert(1, j, ways, among, bases[d], d)
                program.append(instruction(KMAC, src=1, bank=1, addr1=key_of(d, j), **memory, **entry(j, ways)))
        for part in range(2):
            convert(2, j, ways, special, parts[part], 2 + part)
            p = prod(m.primes[i].q for i in special)
            k = m.constant(
                [m.at(j + w).operand(pow(p, -1, m.at(j + w).q) if j + w < LIMBS else 1) for w in range(m.ways)]
            )
            program.append(
                instruction(FINAL, dst=2, src=2, bank=1, part=part, k=k, add=part == 0, addr0=c0 + j * m.limb,
                            stride0=m.limb, **entry(j, ways))
            )  # fmt: skip
            program.append(instruction(AUTO, dst=4 + part, src=2, element=g, **entry(j, ways)))
            place = (part * LIMBS + j) * m.limb
            program.append(
                instruction(STORE, src=4 + part, add=1, addr0=out + place, addr1=inner + place, stride0=m.limb,
                            stride1=m.limb, **entry(j, ways))
            )  # fmt: skip
    return program


@cocotb.test()
async def whole_rotation(dut):
    """Without stalls; with them; and again with them behind a reset in the midst of the one before."""
    m = Bench(dut, 11)
    log_n = parameter("MaxLogN", 7)
    last = 0
    for stall, aborted in ((0.0, False), (0.4, True), (0.4, False)):
        await m.begin(log_n)
        m.stall = stall
        random_limbs = lambda count: [m.poly(p.q) for p in m.primes[:count]]  # noqa: E731
        c0, c1 = random_limbs(LIMBS), random_limbs(LIMBS)
        keys = [[random_limbs(LIMBS + SPECIAL) for _ in range(2)] for _ in range(2)]
        inner = [random_limbs(LIMBS) for _ in range(2)]
        g = m.rng.randrange(1, 2 * m.n, 2)
        pairs = []
        for digit in keys:
            for j, p in enumerate(m.primes):
                for r in range(0, m.n, m.lanes):
                    for part in range(2):
                        pairs += [p.operand(x) for x in digit[part][j][r : r + m.lanes]]
        out = m.limbs([[0] * m.n] * (2 * LIMBS))
        args = [m.limbs(c0), m.limbs(c1), m.place(pairs), m.limbs(inner[0] + inner[1]), out, g]
        program = rotation(m, *args)
        await m.run(m.moduli() + m.load_constants())
        if aborted:
            await m.run(program, stop=m.rng.randrange(last // 3, last))
            continue
        cycles = last = await m.run(program)
        dut._log.info(f"{len(program)} instructions, {cycles} cycles, busy {m.busy}")
        rings, special = m.rings[:LIMBS], m.rings[LIMBS:]
        digits = [list(range(ALPHA)), list(range(ALPHA, LIMBS))]
        wanted = rotate(rings, special, digits, c0, c1, keys, g)
        for part in range(2):
            for j, ring in enumerate(rings):
                limb = [(a + b) % ring.q for a, b in zip(wanted[part][j], inner[part][j], strict=True)]
                got = m.read(out + (part * LIMBS + j) * m.limb, m.n)
                assert got == limb, f"part {part}, limb {j}, stalls {stall}"


@pytest.mark.parametrize(
    ("ways", "sources", "kind", "lanes", "butterflies", "twin"),
    [
        (1, 1, BARRETT, 2, 2, 1),
        pytest.param(2, 2, BARRETT, 2, 2, 1, marks=pytest.mark.long),
        pytest.param(2, 3, MONTGOMERY, 4, 4, 0, marks=pytest.mark.long),
        pytest.param(1, 1, BARRETT, 4, 4, 0, marks=pytest.mark.long),
        pytest.param(2, 2, BARRETT, 2, 4, 0, marks=pytest.mark.long),
        pytest.param(2, 1, MONTGOMERY, 8, 4, 1, marks=pytest.mark.long),
    ],
)
def test_omr_rot(ways, sources, kind, lanes, butterflies, twin):
    parameters = {
        "W": 54, "Lanes": lanes, "Butterflies": butterflies, "Ways": ways, "Sources": sources, "Buffers": 6, "Banks": 8,
        "MinLogN": 6, "MaxLogN": 7, "Kind": kind, "Twin": twin,
    }  # fmt: skip
    run("rot_bench", parameters, __file__, build_args=BUILD)
