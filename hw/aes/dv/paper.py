# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""paper_bench from Python: storage as arrays of words, commands one after the other, and what they should do.

Expected values come from definitions: sums over powers of the root for short polynomials, NumPy's own order of the
same transform for long ones.
"""

import random

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

REVS, REVX, NTT, MUL, SCALE = 6, 7, 8, 9, 10
X, S, K = 0, 1, 2
WORDS = 8
#: Primes of 31 bits that are 1 modulo 2^16: the first, the last, and one between.
PRIMES = (1073872897, 2147352577, 1811939329)


def root(q: int, log_n: int) -> int:
    """A root of unity of order 2^log_n modulo q."""
    return next(w for w in (pow(g, (q - 1) >> log_n, q) for g in range(2, 200)) if pow(w, 1 << log_n - 1, q) == q - 1)


def powers(w: int, count: int, q: int) -> np.ndarray:
    """w^i for i < count, as uint64."""
    out = np.ones(count, np.uint64)
    done = 1
    while done < count:
        out[done : 2 * done] = out[:done] * np.uint64(pow(w, done, q)) % np.uint64(q)
        done *= 2
    return out


def reverse(log_n: int) -> np.ndarray:
    """brv(j) for all j < 2^log_n."""
    out = np.zeros(1, np.int64)
    for _ in range(log_n):
        out = np.concatenate([2 * out, 2 * out + 1])
    return out


def values(polynomial: np.ndarray, w: int, q: int) -> np.ndarray:
    """The polynomial at w^0, w^1, ..., all of them: up to 2^10 words by the definition, else by decimation in
    frequency, whose order of work and of words is another than the engine's."""
    n, a = len(polynomial), polynomial.astype(np.uint64)
    table, modulus = powers(w, n, q), np.uint64(q)
    if n <= 1 << 10:
        i = np.arange(n)
        return np.array([(a * table[i * k % n] % modulus).sum() % modulus for k in range(n)], np.uint64)
    out, size = a.reshape(1, n), n
    while size > 1:
        half = size // 2
        low, high = out[:, :half], out[:, half:]
        twist = table[:: n // size][:half]
        out = np.stack([(low + high) % modulus, (low + modulus - high) % modulus * twist % modulus], 1)
        out, size = out.reshape(-1, half), half
    return out.reshape(-1)[reverse(n.bit_length() - 1)]


class Machine:
    """The bench. `x`, `s`, `k`: what its storage should hold."""

    def __init__(self, dut, log_n: int, seed: int):
        self.dut, self.log_n, self.n = dut, log_n, 1 << log_n
        self.rng = np.random.default_rng(seed)
        self.draw = random.Random(seed)
        self.x = np.zeros((4, self.n), np.uint64)
        self.s = np.zeros((4, self.n // 2), np.uint64)
        self.k = np.zeros((2, self.n), np.uint64)
        self.sets: dict[int, tuple[int, list[int], int]] = {}  # q, roots of both directions, scale

    async def reset(self) -> None:
        dut = self.dut
        for name in ("rst_ni", "cmd_valid_i", "t_we_i", "c_we_i", "we_i", "place_i", "slot_i", "row_i"):
            getattr(dut, name).value = 0
        dut.log_n_i.value = self.log_n
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def begin(self) -> None:
        Clock(self.dut.clk_i, 2, "ns").start(start_high=False)
        await self.reset()

    async def put(self, place: int, slot: int, words: np.ndarray) -> None:
        dut = self.dut
        dut.we_i.value, dut.place_i.value, dut.slot_i.value = 1, place, slot
        for row in range(len(words) // WORDS):
            dut.row_i.value = row
            dut.data_i.value = words[WORDS * row : WORDS * (row + 1)].tolist()
            await FallingEdge(dut.clk_i)
        dut.we_i.value = 0
        {X: self.x, S: self.s, K: self.k}[place][slot] = words

    async def get(self, place: int, slot: int, count: int) -> np.ndarray:
        dut, out = self.dut, []
        dut.place_i.value, dut.slot_i.value = place, slot
        for row in range(count // WORDS):
            dut.row_i.value = row
            await ReadOnly()
            out += [int(w) for w in dut.data_o.value]
            await FallingEdge(dut.clk_i)
        return np.array(out, np.uint64)

    def words(self, q: int, count: int, kind: str = "random") -> np.ndarray:
        """Residues: random ones, the extremes 0, 1, q - 2, q - 1, or q - 1 throughout."""
        if kind == "extreme":
            return self.rng.choice(np.array([0, 1, q - 2, q - 1], np.uint64), count)
        if kind == "top":
            return np.full(count, q - 1, np.uint64)
        return self.rng.integers(0, q, count, np.uint64)

    async def tables(self, which: int, q: int) -> None:
        """Constants and both tables of a set."""
        dut, w = self.dut, root(q, self.log_n)
        roots = [w, pow(w, -1, q)]
        mu, scale = (1 << 62) // q, pow(self.n, -1, q)
        dut.t_set_i.value = which
        dut.data_i.value = [q, mu & 0xFFFFFFFF, mu >> 32, scale, 0, 0, 0, 0]
        dut.c_we_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.c_we_i.value, dut.t_we_i.value = 0, 1
        for inverse in (0, 1):
            table = powers(roots[inverse], self.n // 2, q)
            dut.t_inverse_i.value = inverse
            for row in range(self.n // 16):
                dut.t_index_i.value, dut.data_i.value = row, table[8 * row : 8 * row + 8].tolist()
                await FallingEdge(dut.clk_i)
        dut.t_we_i.value = 0
        self.sets[which] = q, roots, scale

    def expect(self, op: int, dst: int, src: int, src2: int, which: int, init: int, key: int, inverse: int) -> None:
        x, order = self.x, reverse(self.log_n)
        if op == REVS:
            x[dst] = np.concatenate([self.s[src], np.zeros(self.n // 2, np.uint64)])[order]
            return
        if op == REVX:
            x[dst] = x[src][order]
            return
        q, roots, scale = self.sets[which]
        if op == NTT:
            x[dst] = values(x[dst][order], roots[inverse], q)
        elif op == MUL:
            other = self.k[src2] if key else x[src2]
            product = x[src] * other % np.uint64(q)
            x[dst] = (product + (0 if init else x[dst])) % np.uint64(q)
        else:
            x[dst] = x[src] * np.uint64(scale) % np.uint64(q)

    async def run(self, *commands: dict[str, int], stop: int | None = None) -> list[int]:
        """Commands, each given while the one before runs, taken as soon as that is possible; the cycles of each from
        being taken to its end. `stop`: reset after so many cycles."""
        dut, cycles, given = self.dut, [], 0
        clock = 0
        begun: list[int] = []
        while len(cycles) < len(commands):
            fields = {"op": NTT, "dst": 0, "src": 0, "src2": 0, "which": 0, "init": 0, "key": 0, "inverse": 0}
            if given < len(commands):
                fields |= commands[given]
                if fields["op"] == NTT:
                    fields["src"] = fields["dst"]
            dut.cmd_valid_i.value = given < len(commands)
            for name, value in fields.items():
                getattr(dut, {"which": "set_i"}.get(name, f"{name}_i")).value = value
            await ReadOnly()
            if int(dut.done_o.value):
                cycles.append(clock - begun[len(cycles)])
            taken = given < len(commands) and int(dut.ready_o.value) and (given == len(cycles))
            await FallingEdge(dut.clk_i)
            if taken:
                begun.append(clock)
                given += 1
                self.expect(**fields)
            clock += 1
            if stop == clock:
                await self.reset()
                return cycles
            assert clock < 400 * self.n, "the engine stands still"
        dut.cmd_valid_i.value = 0
        return cycles

    async def check(self, *buffers: int) -> None:
        for b in buffers or range(4):
            wrong = np.nonzero(await self.get(X, b, self.n) != self.x[b])[0]
            assert not len(wrong), f"X[{b}]: {len(wrong)} words differ, from word {wrong[0]} on"
