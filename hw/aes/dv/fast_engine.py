# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The fast engine in its bench (fast_bench): storage, programs of commands, and what they should do and take."""

import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import parameter
from transform_model import Field, R

NTT, MUL, SCALE = 8, 9, 10
X, S, K = 0, 4, 8  # places of the bench
FIELDS = ("op", "dst", "src", "src2", "set", "init", "half", "key", "inverse")


class Bench:
    """The engine, its storage and what it should hold."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        self.lanes = parameter("Lanes", 16)
        self.fields: list[Field | None] = [None, None]
        self.scales = [0, 0]
        self.np = np.random.default_rng(seed)
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    async def tick(self, count: int = 1) -> None:
        for _ in range(count):
            await FallingEdge(self.dut.clk_i)

    async def reset(self) -> None:
        dut = self.dut
        dut.rst_ni.value = 0
        dut.cmd_valid_i.value = dut.m_we_i.value = dut.t_we_i.value = dut.c_we_i.value = 0
        await self.tick(3)
        dut.rst_ni.value = 1

    def words(self, count: int, q: int) -> np.ndarray:
        """Residues, of which some are extreme, or all."""
        extreme = self.np.choice(np.array([0, 1, q - 1, q // 2, q // 2 + 1, q - 2], dtype=np.uint64), count)
        drawn = self.np.integers(0, q, count, dtype=np.uint64)
        return np.where(self.np.random(count) < self.rng.choice((0.0, 0.3, 1.0)), extreme, drawn)

    async def put(self, place: int, words: np.ndarray) -> None:
        dut = self.dut
        dut.m_we_i.value, dut.m_place_i.value = 1, place
        for row, part in enumerate(words.astype("<u4").reshape(-1, self.lanes)):
            dut.m_row_i.value, dut.m_data_i.value = row, int.from_bytes(part.tobytes(), "little")
            await self.tick()
        dut.m_we_i.value = 0

    async def get(self, place: int) -> np.ndarray:
        dut, rows = self.dut, []
        dut.m_place_i.value = place
        for row in range(self.n // self.lanes):
            dut.m_row_i.value = row
            await self.tick()
            rows.append(int(dut.m_data_o.value).to_bytes(4 * self.lanes, "little"))
        return np.frombuffer(b"".join(rows), dtype="<u4").astype(np.uint64)

    async def load(self, which: int, field: Field, scale: int, directions=(0, 1)) -> None:
        """Constants and tables of a set, a narrow row a cycle, with pauses."""
        dut = self.dut
        self.fields[which], self.scales[which] = field, scale
        row = [self.rng.getrandbits(32) for _ in range(8)]
        row[0], row[3] = field.q, scale
        dut.t_set_i.value, dut.c_we_i.value, dut.t_data_i.value = which, 1, sum(x << 32 * i for i, x in enumerate(row))
        await self.tick()
        dut.c_we_i.value = 0
        for inverse in directions:
            dut.t_inverse_i.value = inverse
            for index, part in enumerate(field.twiddles(bool(inverse)).astype("<u4").reshape(-1, 8)):
                if self.rng.random() < 0.1:
                    dut.t_we_i.value, dut.t_data_i.value = 0, self.rng.getrandbits(256)
                    await self.tick(2)
                dut.t_index_i.value, dut.t_data_i.value = index, int.from_bytes(part.tobytes(), "little")
                dut.t_we_i.value = 1
                await self.tick()
            dut.t_we_i.value = 0

    async def fill(self, q: int) -> None:
        """Draws what X, S and K hold."""
        self.x = [self.words(self.n, q) for _ in range(4)]
        self.s = [self.words(self.n // 2, q) for _ in range(4)]
        self.k = [self.words(self.n, q) for _ in range(2)]
        for first, limbs in ((X, self.x), (S, self.s), (K, self.k)):
            for i, limb in enumerate(limbs):
                await self.put(first + i, limb)

    def expect(self, c: dict[str, int]) -> None:
        """Does a command on what X should hold."""
        field, scale = self.fields[c["set"]], self.scales[c["set"]]
        assert field is not None
        q, less = np.uint64(field.q), np.uint64(pow(R, -1, field.q))
        if c["op"] == NTT and c["inverse"]:
            result = field.coefficients(self.x[c["src"]])
        elif c["op"] == NTT:
            words = self.x[c["src"]]
            if c["half"]:
                words = np.concatenate([self.s[c["src"]], np.zeros(self.n // 2, dtype=np.uint64)])
            result = field.values(words)
        elif c["op"] == MUL:
            other = self.k[c["src2"]] if c["key"] else self.x[c["src2"]]
            product = self.x[c["src"]] * other % q * less % q
            result = product if c["init"] else (self.x[c["dst"]] + product) % q
        else:
            result = self.x[c["src"]] * np.uint64(scale) % q * less % q
        self.x[c["dst"]] = result

    def levels(self, c: dict[str, int]) -> int:
        """How often a command writes all words."""
        return self.log_n - (c["half"] and not c["inverse"]) if c["op"] == NTT else 1

    def cycles(self, c: dict[str, int]) -> int:
        """From command to done, by the header of the engine."""
        rows, levels = self.n // self.lanes, self.levels(c)
        if c["op"] != NTT:
            return 2 * rows + 20
        drain = 32 if self.lanes >= 32 else 28
        # A pair of rows of a level is read rows/2 + 1 cycles at least after the level before read its second row, in a
        # pair of transforms of rows/2 rows as well.
        return levels * rows + (levels - 1) * max(0, drain - (rows // 2 + 1)) + drain

    def command(self, **fields: int) -> dict[str, int]:
        return dict.fromkeys(FIELDS, 0) | fields

    async def watch(self) -> None:
        """Notes the cycles of done_o."""
        while True:
            await self.tick()
            if int(self.dut.done_o.value):
                self.done.append(int(self.dut.cycle_o.value))

    async def start(self, c: dict[str, int]) -> None:
        """Offers a command until it is taken."""
        dut = self.dut
        for name in FIELDS:
            getattr(dut, f"{name}_i").value = c[name]
        dut.cmd_valid_i.value = 1
        for _ in range(100_000):
            # At the clock's falling edge: what the next rising edge samples.
            if int(dut.cmd_ready_o.value):
                break
            await self.tick()
        else:
            raise AssertionError("the engine stands still")
        self.taken.append(int(dut.cycle_o.value))
        await self.tick()
        dut.cmd_valid_i.value = 0
        for name in FIELDS:
            getattr(dut, f"{name}_i").value = self.rng.getrandbits(1)

    async def idle(self) -> None:
        while int(self.dut.busy_o.value):
            await self.tick()
        await self.tick()

    async def program(self, commands: list[dict[str, int]], pauses: bool = False) -> None:
        """Gives the commands, each as soon as it is taken or later, and checks the cycles of all."""
        self.taken, self.done = [], []
        before = int(self.dut.words_o.value)
        for c in commands:
            if pauses and self.rng.random() < 0.5:
                await self.tick(self.rng.randrange(1, 2 * self.cycles(c)))
            await self.start(c)
            self.expect(c)
        await self.idle()
        took = [b - a for a, b in zip(self.taken, self.done, strict=True)]
        assert took == [self.cycles(c) for c in commands], f"cycles of {commands}"
        if not pauses:
            assert self.taken[1:] == self.done[:-1], "a command waits behind the one before"
        assert int(self.dut.words_o.value) - before == self.n * sum(map(self.levels, commands))

    async def compare(self, what: str) -> None:
        for i, wanted in enumerate(self.x):
            got = await self.get(X + i)
            wrong = np.flatnonzero(got != wanted)
            assert len(wrong) == 0, f"{what}: X[{i}] differs in {len(wrong)} words, first {wrong[:4]}"
        assert int(self.dut.faults_o.value) == 0, f"{what}: ports used against the rules"

    def draw(self, sets: tuple[int, ...], count: int) -> list[dict[str, int]]:
        """Commands with any operands; the factors 2^32 and the sources' values do not matter here."""
        rng, out = self.rng, []
        while len(out) < count:
            c = {name: rng.getrandbits(1) for name in FIELDS} | {"op": rng.choice((NTT, NTT, MUL, MUL, SCALE))}
            c |= {name: rng.randrange(4) for name in ("dst", "src", "src2")} | {"set": rng.choice(sets)}
            if c["op"] == MUL and c["key"]:
                c["src2"] &= 1
            out.append(c)
        return out

    def scale(self, q: int) -> int:
        return self.rng.choice((R * R % q, 0, 1, q - 1, self.rng.randrange(q)))


async def begin(dut, seed: int) -> Bench:
    bench = Bench(dut, seed)
    bench.taken, bench.done = [], []
    await bench.reset()
    cocotb.start_soon(bench.watch())
    return bench
