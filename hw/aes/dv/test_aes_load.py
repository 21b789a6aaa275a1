# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_load and aes_store: random commands between streams of rows and words on chip.

Every word goes where its command says; commands of different ports go side by side, done comes in their order, and not
before everything is written; a port that keeps up has a row taken in every cycle, also from one command to the next.
"""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run

NARROW = 8
LOADS, LOADX, LOADK, LOADT, LOADC, STORE = 1, 2, 3, 4, 5, 11
WIDTHS = {"op": 4, "dst": 4, "src": 4, "src2": 4, "set": 1, "init": 1, "half": 1, "key": 1, "inverse": 1, "port": 1}
WIDTHS |= {"addr": 48, "rows": 32}
Fields = dict[str, int]
Place = tuple[object, ...]


def command(fields: Fields) -> int:
    told = 0
    for name, width in WIDTHS.items():
        told = told << width | fields.get(name, 0)
    return told


def words_of(row: int, bits: int) -> list[int]:
    return [row >> bits * i & (1 << bits) - 1 for i in range(256 // bits)]


class Load:
    """The unit, its streams, and what it writes to."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng, self.ports = dut, random.Random(seed), parameter("Ports", 2)
        self.max_log_n = parameter("MaxLogN", 8)
        self.count_bits = self.max_log_n - 2
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    async def reset(self) -> None:
        self.written: dict[Place, list[int]] = {}
        self.wanted: deque[dict[Place, list[int]]] = deque()  # of commands that are not done
        self.asked = [deque[tuple[int, int]]() for _ in range(self.ports)]  # what must be asked for: address, rows
        self.memory: dict[int, deque[int]] = {}  # rows by address, not asked for yet
        self.streams = [deque[int]() for _ in range(self.ports)]
        self.shown = [False] * self.ports
        self.taken = [list[int]() for _ in range(self.ports)]  # cycles
        self.at: Fields | None = None
        self.now = self.done = 0
        for name in ("cmd_valid_i", "rd_ready_i", "row_valid_i"):
            getattr(self.dut, name).value = 0
        for level in (0, 0, 1):
            self.dut.rst_ni.value = level
            await FallingEdge(self.dut.clk_i)

    def place(self, f: Fields) -> Place:
        """Where a command's rows go."""
        kind = {LOADS: ("s", f["dst"]), LOADX: ("x", f["dst"]), LOADK: ("k", f["dst"]), LOADC: ("c", f["set"])}
        return kind.get(f["op"], ("t", f["set"], f["inverse"]))

    def drawn(self, log_n: int) -> Fields | None:
        """A command that writes where none under way does, at an address of its own."""
        rng, op = self.rng, self.rng.randint(1, 5)
        fields = {name: rng.getrandbits(width) for name, width in WIDTHS.items()}
        fields |= {"op": op, "port": rng.randrange(self.ports), "dst": rng.randrange(2 if op == LOADK else 4)}
        fields |= {"rows": rng.randint(1, (1 << log_n) // 16), "addr": self.now << 24 | rng.getrandbits(20)}
        return None if any(self.place(fields) == next(iter(want))[:-1] for want in self.wanted) else fields

    def expect(self, f: Fields, log_n: int) -> None:
        """Memory for a command, and what must come of it."""
        rows = {LOADS: 1 << log_n - 4, LOADT: f["rows"], LOADC: 1}.get(f["op"], 1 << log_n - 3)
        digits = f["op"] == LOADS and f["half"]
        beats = [self.rng.getrandbits(256) for _ in range(rows // 2 if digits else rows)]
        words = [w for row in beats for w in words_of(row, 16 if digits else 32)]
        self.wanted.append({(*self.place(f), r): words[NARROW * r : NARROW * (r + 1)] for r in range(rows)})
        self.asked[f["port"]].append((f["addr"], len(beats)))
        self.memory[f["addr"]] = deque(beats)

    async def cycle(self, log_n: int, *, gives: float, grants: float, commands: float) -> None:
        dut, rng = self.dut, self.rng
        if self.at is None and rng.random() < commands:
            self.at = self.drawn(log_n)
        dut.log_n_i.value = log_n
        dut.cmd_valid_i.value = self.at is not None
        dut.cmd_i.value = command(self.at) if self.at else rng.getrandbits(98)
        granted = [rng.random() < grants for _ in range(self.ports)]
        for p in range(self.ports):
            self.shown[p] = bool(self.streams[p]) and (self.shown[p] or rng.random() < gives)
        heads = [self.streams[p][0] if self.shown[p] else rng.getrandbits(256) for p in range(self.ports)]
        dut.rd_ready_i.value = sum(g << p for p, g in enumerate(granted))
        dut.row_valid_i.value = sum(s << p for p, s in enumerate(self.shown))
        dut.row_i.value = sum(row << 256 * p for p, row in enumerate(heads))
        await ReadOnly()
        self.writes()
        if int(dut.done_o.value):
            want = self.wanted.popleft()
            assert {place: self.written.get(place) for place in want} == want
            self.done += 1
        assert int(dut.busy_o.value) or not self.wanted
        if self.at is not None and int(dut.cmd_ready_o.value):
            self.expect(self.at, log_n)
            self.at = None
        asks, ready = int(dut.rd_valid_o.value), int(dut.row_ready_o.value)
        for p in range(self.ports):
            if asks >> p & 1 and granted[p]:
                addr = int(dut.rd_addr_o.value) >> 48 * p & (1 << 48) - 1
                rows = int(dut.rd_rows_o.value) >> self.count_bits * p & (1 << self.count_bits) - 1
                assert (addr, rows) == self.asked[p].popleft()
                self.streams[p].extend(self.memory.pop(addr))
            if self.shown[p] and ready >> p & 1:
                self.streams[p].popleft()
                self.shown[p] = False
                self.taken[p].append(self.now)
        self.now += 1
        await FallingEdge(dut.clk_i)

    def writes(self) -> None:
        dut = self.dut

        def put(name: str, *where: str) -> None:
            place = (name, *(int(getattr(dut, w).value) for w in where))
            self.written[place] = [int(w) for w in getattr(dut, f"{'t' if name == 'c' else name}_wdata_o").value]

        for name, which in (("s", "s_slot_o"), ("x", "x_buf_o"), ("k", "k_slot_o")):
            if int(getattr(dut, f"{name}_we_o").value):
                put(name, which, f"{name}_row_o")
        if int(dut.t_we_o.value):
            put("t", "t_set_o", "t_inverse_o", "t_index_o")
        if int(dut.c_we_o.value):
            put("c", "t_set_o", "t_index_o")


@cocotb.test()
async def loads(dut):
    bench = Load(dut, 1)
    for log_n in (6, bench.max_log_n):
        await bench.reset()
        for gives, grants, commands in ((0.6, 0.6, 0.5), (1.0, 1.0, 1.0), (0.9, 0.05, 1.0), (0.3, 1.0, 0.1)):
            for _ in range(900):
                await bench.cycle(log_n, gives=gives, grants=grants, commands=commands)
                assert len(bench.wanted) <= 8
        while bench.wanted or bench.at:
            await bench.cycle(log_n, gives=1.0, grants=1.0, commands=0.0)
        assert bench.done > 50


@cocotb.test()
async def a_port_is_kept_at_work(dut):
    bench = Load(dut, 2)
    await bench.reset()
    rows = 1 << bench.max_log_n - 3
    for number in range(8):
        bench.at = dict.fromkeys(WIDTHS, 0) | {"op": LOADX, "dst": number % 4, "addr": number << 20}
        while bench.at:
            await bench.cycle(bench.max_log_n, gives=1.0, grants=1.0, commands=0.0)
    while bench.wanted:
        await bench.cycle(bench.max_log_n, gives=1.0, grants=1.0, commands=0.0)
    taken = bench.taken[0]
    assert len(taken) == 8 * rows == taken[-1] - taken[0] + 1


@cocotb.test()
async def stores(dut):
    """STORE: rows of X in order, whatever memory's pauses; done with the acknowledgement."""
    rng, log_n = random.Random(3), parameter("MaxLogN", 8)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.cmd_valid_i.value = dut.wr_ready_i.value = dut.wr_row_ready_i.value = dut.wr_acked_i.value = 0
    for level in (0, 0, 1):
        dut.rst_ni.value = level
        await FallingEdge(dut.clk_i)
    for number, ready in enumerate((1.0, 0.5, 0.1, 1.0)):
        n = 1 << (log_n if number else 6)
        x = [[rng.getrandbits(32) for _ in range(n)] for _ in range(4)]
        f = {"op": STORE, "src": rng.randrange(4), "port": rng.randrange(2), "addr": rng.getrandbits(48)}
        dut.log_n_i.value, dut.cmd_i.value, dut.cmd_valid_i.value = n.bit_length() - 1, command(f), 1
        await FallingEdge(dut.clk_i)
        dut.cmd_valid_i.value, dut.cmd_i.value = rng.randrange(2), rng.getrandbits(98)
        got, cycles, granted = list[int](), 0, False
        pending: list[list[int] | None] = [None, None]
        while len(got) < n:
            there = pending.pop(0)
            dut.x_rdata_i.value = there or [rng.getrandbits(32) for _ in range(NARROW)]
            takes = rng.random() < ready
            dut.wr_ready_i.value, dut.wr_row_ready_i.value = not granted and cycles > 2, takes
            await ReadOnly()
            assert (int(dut.cmd_ready_o.value), int(dut.busy_o.value), int(dut.done_o.value)) == (0, 1, 0)
            pending.append(None)
            if int(dut.x_re_o.value):
                row = int(dut.x_row_o.value)
                pending[-1] = x[int(dut.x_buf_o.value)][NARROW * row :][:NARROW]
            if int(dut.wr_valid_o.value) and not granted and cycles > 2:
                granted = True
                asked = int(dut.wr_port_o.value), int(dut.wr_addr_o.value), int(dut.wr_rows_o.value)
                assert asked == (f["port"], f["addr"], n // NARROW)
            if takes and int(dut.wr_row_valid_o.value):
                got += words_of(int(dut.wr_row_o.value), 32)
            cycles += 1
            await FallingEdge(dut.clk_i)
        assert granted
        assert got == x[f["src"]]
        assert ready < 1 or cycles <= n // NARROW + 5
        dut.wr_row_ready_i.value = dut.cmd_valid_i.value = 0
        for _ in range(rng.randrange(1, 9)):
            await FallingEdge(dut.clk_i)
            assert (int(dut.wr_row_valid_o.value), int(dut.done_o.value)) == (0, 0)
        dut.wr_acked_i.value = 1
        await ReadOnly()
        assert int(dut.done_o.value)
        await FallingEdge(dut.clk_i)
        dut.wr_acked_i.value = 0
        await FallingEdge(dut.clk_i)
        assert (int(dut.cmd_ready_o.value), int(dut.busy_o.value)) == (1, 0)


@pytest.mark.parametrize("ports", [1, 2])
def test_aes_load(ports):
    run("aes_load", {"Ports": ports, "MaxLogN": 8}, __file__, testcase=["loads", "a_port_is_kept_at_work"])


def test_aes_store():
    run("aes_store", {"MaxLogN": 8}, __file__, testcase="stores")
