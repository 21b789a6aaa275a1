# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What is around an arithmetic unit: tables, banks, streams, as Python lists that answer in the promised cycles.

Words that nobody has asked for are random, so a unit that looks at the wrong cycle gets the wrong result.
"""

import random
from collections import deque

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from instructions import FIELDS, command
from modular import MONTGOMERY, Modulus, moduli, parameter

PAIRS, PARTS, QUOTIENTS = 2, 2, 4


class Memory:
    """Limbs by address: drawn when they are asked for, unless a test has put them there."""

    def __init__(self, draw):
        self.draw, self.limbs = draw, {}

    def rows(self, addr: int, count: int, lanes: int) -> list[list[int]]:
        if addr not in self.limbs:
            self.limbs[addr] = self.draw(count * lanes)
        limb = self.limbs[addr]
        assert len(limb) == count * lanes, f"{count} rows are asked for at {addr:#x}, not {len(limb) // lanes}"
        return [limb[i : i + lanes] for i in range(0, len(limb), lanes)]


class Streams:
    """Read streams of all ways: requests in any cycle, rows after random pauses."""

    def __init__(self, bench: "Bench", request: str, row: str):
        self.bench, self.request, self.row = bench, request, row
        self.memory = [Memory(lambda words, v=v: bench.limb(v, words)) for v in range(bench.ways)]
        self.stall = 0.0
        self.reset()

    def reset(self) -> None:
        self.queues = [deque() for _ in range(self.bench.ways)]
        self.shown = [False] * self.bench.ways
        self.asked = [0] * self.bench.ways

    def drive(self) -> None:
        dut, rng, ways = self.bench.dut, self.bench.rng, self.bench.ways
        width = 64 * self.bench.lanes
        valid = row = ready = 0
        for v in range(ways):
            ready |= (rng.random() >= self.stall) << v
            self.shown[v] = bool(self.queues[v]) and (self.shown[v] or rng.random() >= self.stall)
            valid |= self.shown[v] << v
            words = self.queues[v][0] if self.shown[v] else [rng.getrandbits(64) for _ in range(self.bench.lanes)]
            row |= sum(w << 64 * i for i, w in enumerate(words)) << width * v
        self.valid, self.ready = valid, ready
        getattr(dut, f"{self.request}_ready_i").value = ready
        getattr(dut, f"{self.row}_valid_i").value = valid
        getattr(dut, f"{self.row}_i").value = row

    def sample(self) -> None:
        dut, bench = self.bench.dut, self.bench
        taken = self.valid & int(getattr(dut, f"{self.row}_ready_o").value)
        asked = self.ready & int(getattr(dut, f"{self.request}_valid_o").value)
        for v in range(bench.ways):
            if taken >> v & 1:
                self.queues[v].popleft()
                self.shown[v] = False
            if asked >> v & 1:
                addr = int(getattr(dut, f"{self.request}_addr_o").value) >> 48 * v & (1 << 48) - 1
                rows = int(getattr(dut, f"{self.request}_rows_o").value) >> (bench.max_log_n + 1) * v
                rows &= (1 << bench.max_log_n + 1) - 1
                self.queues[v].extend(self.memory[v].rows(addr, rows, bench.lanes))
                self.asked[v] += 1


class Bench:
    """One unit with all storage that any unit has."""

    def __init__(self, dut, seed: int, scale: bool = False):
        self.dut, self.rng = dut, random.Random(seed)
        names = {"W": 54, "Lanes": 4, "Ways": 1, "Sources": 1, "Buffers": 6, "Banks": 48, "MaxLogN": 6, "Kind": 0}
        values = {name: parameter(name, default) for name, default in names.items()}
        self.width, self.lanes, self.ways, self.sources = (values[n] for n in ("W", "Lanes", "Ways", "Sources"))
        self.buffers, self.banks, self.max_log_n, self.kind = (
            values[n] for n in ("Buffers", "Banks", "MaxLogN", "Kind")
        )
        self.v_width = self.width + 6
        self.extreme = False
        self.n = 1 << self.max_log_n
        # Montgomery's residues are not shifted, however long its primes are; only SCALE is told how long.
        kind = values["Kind"]
        choice = list(moduli(self.width, kind))
        if kind == MONTGOMERY:
            lengths = range(max(self.width - 7, 20), self.width)
            choice += [Modulus((self.rng.getrandbits(n) | 1 << n - 1) >> 18 << 18 | 1, n, 0, kind) for n in lengths]
            choice = [Modulus(m.q, self.width, 0, kind) for m in choice]
        self.told = [self.width - m.q.bit_length() if scale else m.shift for m in choice]
        self.moduli = [[choice[(i + v) % len(choice)] for i in range(64)] for v in range(self.ways)]
        self.constants = [[0] * 2048 for _ in range(self.ways)]
        self.streams = {
            name: Streams(self, name, row)
            for name, row in (("rd", "row"), ("key", "key_row"))
            if hasattr(dut, f"{name}_valid_o")
        }
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    def residue(self, way: int) -> int:
        """A residue of the modulus at work, not shifted."""
        q = self.modulus(way).q
        return q - 1 if self.extreme else self.modulus(way).operand(self.rng)

    def modulus(self, way: int) -> Modulus:
        return self.moduli[way][self.mod]

    def word(self, width: int) -> int:
        top = (1 << width) - 1
        return top if self.extreme else self.rng.choice([0, top, 1, top >> 1, *[self.rng.getrandbits(width)] * 4])

    def limb(self, way: int, words: int) -> list[int]:
        return [self.residue(way) for _ in range(words)]

    def fill(self, mod: int, log_n: int) -> None:
        """Draws the contents of all storage, as residues of the moduli `mod`."""
        self.mod, self.n = mod, 1 << log_n
        ways = range(self.ways)
        shifts = [self.modulus(v).shift for v in ways]

        def shifted() -> list[list[int]]:
            return [[x << shifts[v] for x in self.limb(v, self.n)] for v in ways]

        self.x = [shifted() for _ in range(self.buffers)]
        self.acc = [[shifted() for _ in range(PARTS)] for _ in range(PAIRS)]
        self.d = [[self.word(self.width) for _ in range(self.n)] for _ in range(self.banks)]
        self.v = [[self.word(self.v_width) for _ in range(self.n)] for _ in range(QUOTIENTS)]
        for v in ways:
            self.constants[v] = [self.residue(v) for _ in range(2048)]
        for streams in self.streams.values():
            for memory in streams.memory:
                memory.limbs.clear()

    async def reset(self) -> None:
        self.dut.rst_ni.value = 0
        self.dut.cmd_valid_i.value = 0
        self.pending = {}
        self.held = (0, 0)
        for streams in self.streams.values():
            streams.reset()
            streams.drive()
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1

    def rubbish(self, width: int) -> list[int]:
        return [self.rng.getrandbits(width) for _ in range(self.lanes)]

    def row(self, limb: list[int], row: int) -> list[int]:
        assert row < self.n // self.lanes, f"row {row}"
        return limb[self.lanes * row : self.lanes * (row + 1)]

    def get(self, name: str) -> int:
        return int(getattr(self.dut, name).value)

    def drive(self, now: dict[str, list]) -> None:
        """Inputs of this cycle: what was asked for, or rubbish."""
        dut, lanes = self.dut, self.lanes
        index, constant = self.held
        dut.modulus_q_i.value = [self.moduli[v][index].shifted for v in range(self.ways)]
        dut.modulus_k_i.value = [self.moduli[v][index].k for v in range(self.ways)]
        dut.modulus_shift_i.value = [self.told[(index + v) % len(self.told)] for v in range(self.ways)]
        if hasattr(dut, "constant_i"):
            dut.constant_i.value = [self.constants[v][constant] & (1 << self.width) - 1 for v in range(self.ways)]
        for name, outer, width in (
            ("x_i", self.ways, self.width),
            ("acc_i", self.ways, self.width),
            ("d_i", self.sources, self.width),
        ):
            if hasattr(dut, name):
                rows = now.get(name) or [None] * outer
                getattr(dut, name).value = [row if row is not None else self.rubbish(width) for row in rows]
        if hasattr(dut, "v_i"):
            dut.v_i.value = now.get("v_i") or [self.rng.getrandbits(self.v_width) for _ in range(lanes)]
        for streams in self.streams.values():
            streams.drive()

    def sample(self) -> dict[str, list]:
        """What the unit asks for in this cycle, and what it writes."""
        dut, ways = self.dut, range(self.ways)
        self.held = (self.get("modulus_index_o"), self.get("constant_index_o") if hasattr(dut, "constant_i") else 0)
        then = {}
        if hasattr(dut, "x_re_o") and self.get("x_re_o"):
            buffer = self.x[self.get("x_buffer_o")]
            then["x_i"] = [self.row(buffer[v], self.get("x_row_o")) for v in ways]
        if hasattr(dut, "acc_re_o") and self.get("acc_re_o"):
            pair = self.acc[self.get("acc_pair_o")][self.get("acc_part_o")]
            then["acc_i"] = [self.row(pair[v], self.get("acc_row_o")) for v in ways]
        if hasattr(dut, "d_re_o") and self.get("d_re_o"):
            enable, bank, row = self.get("d_re_o"), self.get("d_bank_o"), self.get("d_row_o")
            then["d_i"] = [self.row(self.d[bank + s], row) if enable >> s & 1 else None for s in range(self.sources)]
        if hasattr(dut, "v_re_o") and self.get("v_re_o"):
            then["v_i"] = self.row(self.v[self.get("v_index_o")], self.get("v_row_o"))
        self.write()
        for streams in self.streams.values():
            streams.sample()
        return then

    def put(self, limb: list[int], row: int, words) -> None:
        assert row < self.n // self.lanes, f"row {row}"
        limb[self.lanes * row : self.lanes * (row + 1)] = [int(w) for w in words]
        self.written += 1

    def write(self) -> None:
        dut = self.dut
        for name in ("x", "acc", "d", "v"):
            enable = self.get(f"{name}_we_o") if hasattr(dut, f"{name}_we_o") else 0
            if not enable:
                continue
            row, data = self.get(f"{name}_wrow_o"), getattr(dut, f"{name}_data_o").value
            if name == "v":
                self.put(self.v[self.get("v_windex_o")], row, data)
                continue
            for v in range(self.ways):
                if not enable >> v & 1:
                    continue
                if name == "x":
                    target = self.x[self.get("x_wbuffer_o")][v]
                elif name == "acc":
                    target = self.acc[self.get("acc_wpair_o")][self.get("acc_wpart_o")][v]
                else:
                    target = self.d[self.get("d_wbank_o") + v]
                self.put(target, row, data[v])

    async def cycle(self) -> None:
        """One clock: inputs, then what the unit does with them."""
        self.drive(self.pending.get(0, {}))
        await ReadOnly()
        then = self.sample()
        self.pending = {0: self.pending.get(1, {}), 1: then}
        self.ready, self.done, self.busy = self.get("cmd_ready_o"), self.get("done_o"), self.get("busy_o")
        await FallingEdge(self.dut.clk_i)

    async def run(self, fields: dict[str, int], log_n: int, stop: int | None = None) -> int:
        """Gives an instruction and waits until it is done; the cycles in between. `stop`: reset after so many."""
        dut = self.dut
        self.written = 0
        for streams in self.streams.values():
            streams.asked = [0] * self.ways
        dut.log_n_i.value, dut.cmd_i.value, dut.cmd_valid_i.value = log_n, command(fields), 1
        await self.cycle()
        assert (self.ready, self.busy) == (1, 0), "a unit that is idle takes an instruction"
        dut.cmd_valid_i.value = self.rng.randrange(2)
        dut.cmd_i.value = self.rng.getrandbits(sum(FIELDS[name][1] for name in fields))
        cycles = 0
        while True:
            await self.cycle()
            cycles += 1
            assert (self.ready, self.busy) == (0, 1)
            if self.done:
                break
            if cycles == stop:
                await self.reset()
                return cycles
            assert cycles < 5000, "the unit stands still"
        assert all(not queue for streams in self.streams.values() for queue in streams.queues), "rows are left over"
        return cycles
