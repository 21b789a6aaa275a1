# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Drives rot_bench: memory that stalls at random, and an issue model that starts an instruction as soon as it may.

An instruction may start when every earlier one that it conflicts with is complete: conflicts are found from what both
read and write, and units other than the same one do not read one bank at the same time either.
"""

import random
from collections import deque
from dataclasses import dataclass, field

import instructions as isa
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from instructions import UNIT, encoded

LOAD, KMAC_OPERAND, FINAL_ADD, STORE_ADD, KEYS = range(5)
STREAMS = 5
CORE = 7


@dataclass
class Instruction:
    """`reads` and `writes`: names of places; those of single-port memories are read by one unit at a time."""

    fields: dict[str, int]
    reads: set = field(default_factory=set)
    writes: set = field(default_factory=set)

    @property
    def unit(self) -> int:
        return UNIT[self.fields["op"]]

    def after(self, other: "Instruction") -> bool:
        """Whether it waits for that earlier one."""
        if self.unit == other.unit:
            return False  # a unit keeps the order
        shared = {place for place in self.reads & other.reads if place[0] in ("X", "ACC", "D", "V")}
        return bool(shared or self.writes & (other.reads | other.writes) or self.reads & other.writes)


def instruction(op: int, **fields) -> Instruction:
    """An instruction with what it reads and writes; memory is a place for each address of way 0."""
    f = {"op": op, **fields}
    get = lambda name: f.get(name, 0)  # noqa: E731
    reads, writes = set(), set()
    x = lambda i: ("X", i)  # noqa: E731
    if op == isa.LOADX:
        reads, writes = {("M", get("addr0"))}, {x(get("dst"))}
    if op == isa.LOADT:
        writes = {("TW", get("dst"))}
    if op in (isa.LOADC, isa.LOADM):
        writes = {("tables",)}
    if op in (isa.NTT, isa.INTT):
        reads, writes = {x(get("src")), ("TW", get("bank")), ("tables",)}, {x(get("dst"))}
    if op == isa.AUTO:
        reads, writes = {x(get("src"))}, {x(get("dst"))}
    if op == isa.SCALE:
        ways = [v for v in range(4) if get("ways") >> v & 1]
        writes = {("D", get("bank") + v) for v in ways} | {("V", get("dst"))}
        reads = {x(get("src")), ("tables",)} | (set() if get("init") else {("V", get("dst"))})
    if op == isa.CONV:
        reads = {("D", get("bank") + i) for i in range(get("count"))} | {("V", get("src")), ("tables",)}
        writes = {x(get("dst"))}
    if op == isa.KMAC:
        reads = {("ACC", get("bank"))} if not get("init") else set()
        reads |= {("tables",), ("M", get("addr0")) if get("from_memory") else x(get("src"))}
        writes = {x(get("dst")), x(get("dst") + 1)} if get("to_x") else {("ACC", get("bank"))}
    if op == isa.FINAL:
        reads, writes = {x(get("src")), ("ACC", get("bank")), ("tables",)}, {x(get("dst"))}
    if op == isa.STORE:
        reads, writes = {x(get("src")), ("tables",)}, {("M", get("addr0"))}
    if get("add") and op != isa.KMAC:
        reads.add(("M", get("addr1") if op == isa.STORE else get("addr0")))
    return Instruction(f, reads, writes)


class Machine:
    """rot_bench with a memory of 64-bit words, addressed in bytes."""

    def __init__(self, dut, lanes: int, ways: int, max_log_n: int, seed: int):
        self.dut, self.lanes, self.ways, self.rows_bits = dut, lanes, ways, max_log_n + 1
        self.rng = random.Random(seed)
        self.memory: dict[int, int] = {}  # word address to word
        self.top = 0
        self.stall = 0.0
        self.cycles = 0
        self.busy = [0] * CORE
        count = ways * STREAMS
        self.queues = [deque() for _ in range(count)]  # addresses of rows
        self.offered = [False] * count
        self.writes = [None] * ways  # rows to come of a request
        self.acks = [None] * ways
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    async def reset(self, log_n: int):
        dut = self.dut
        for name in ("cmd_valid_i", "instruction_i", "rd_ready_i", "row_valid_i", "row_i", "wr_ready_i"):
            getattr(dut, name).value = 0
        dut.wr_row_ready_i.value = dut.wr_acked_i.value = dut.sum_index_i.value = 0
        dut.log_n_i.value, dut.rst_ni.value = log_n, 0
        for _ in range(3):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        for queue in self.queues:
            queue.clear()
        self.offered = [False] * len(self.offered)
        self.writes, self.acks = [None] * self.ways, [None] * self.ways

    def place(self, words: list[int]) -> int:
        """Puts words into memory, and says where."""
        address = self.top
        rows = -(-len(words) // self.lanes)
        for i, word in enumerate(words + [0] * (rows * self.lanes - len(words))):
            self.memory[address // 8 + i] = word
        self.top += rows * self.lanes * 8
        return address

    def read(self, address: int, count: int) -> list[int]:
        return [self.memory[address // 8 + i] for i in range(count)]

    async def run(self, program: list[Instruction], limit: int = 200_000, stop: int | None = None) -> int:
        """Runs instructions, side by side where they may; the cycles that it took.

        Args:
            stop: after so many cycles it leaves them as they are: a reset must follow.
        """
        waits = [{j for j in range(i) if program[i].after(program[j])} for i in range(len(program))]
        heads = [deque(i for i, ins in enumerate(program) if ins.unit == u) for u in range(CORE)]
        running: list[deque[int]] = [deque() for _ in range(CORE)]
        done: set[int] = set()
        start = self.cycles
        dut = self.dut
        while len(done) < len(program):
            await FallingEdge(dut.clk_i)
            if stop is not None and self.cycles - start >= stop:
                return stop
            assert self.cycles - start < limit, f"the units hang; {len(done)} of {len(program)} are done"
            at = None
            for u in self.rng.sample(range(CORE), CORE):
                if heads[u] and not running[u] and waits[heads[u][0]] <= done:
                    at = heads[u][0]
                    break
            dut.cmd_valid_i.value = 0 if at is None else 1 << program[at].unit
            if at is not None:
                dut.instruction_i.value = encoded(program[at].fields, {})
            self.drive()
            await ReadOnly()
            self.sample()
            for u in range(CORE):
                self.busy[u] += int(dut.busy_o.value) >> u & 1
                if int(dut.done_o.value) >> u & 1:
                    assert running[u], f"unit {u} ends what it was not given"
                    done.add(running[u].popleft())
            if at is not None and int(dut.cmd_ready_o.value) >> program[at].unit & 1:
                u = program[at].unit
                running[u].append(heads[u].popleft())
            self.cycles += 1
        await FallingEdge(dut.clk_i)
        assert not any(self.queues), "rows that nobody took"
        assert self.writes == [None] * self.ways, "rows that nobody gave"
        return self.cycles - start

    def chance(self) -> bool:
        return self.rng.random() >= self.stall

    def drive(self):
        dut, lanes = self.dut, self.lanes
        rows = 0
        for c, queue in enumerate(self.queues):
            # A row stays until it is taken.
            self.offered[c] = bool(queue) and (self.offered[c] or self.chance())
            if self.offered[c]:
                for i in range(lanes):
                    rows |= self.memory[queue[0] // 8 + i] << 64 * (c * lanes + i)
        dut.row_valid_i.value = sum(1 << c for c, valid in enumerate(self.offered) if valid)
        dut.row_i.value = rows
        dut.rd_ready_i.value = sum(self.chance() << c for c in range(len(self.queues)))
        free = [w is None and a is None for w, a in zip(self.writes, self.acks, strict=True)]
        dut.wr_ready_i.value = sum((f and self.chance()) << v for v, f in enumerate(free))
        dut.wr_row_ready_i.value = sum((w is not None and self.chance()) << v for v, w in enumerate(self.writes))
        acked = 0
        for v, left in enumerate(self.acks):
            if left is not None:
                self.acks[v] = left - 1 if left else None
                acked |= (left == 0) << v
        dut.wr_acked_i.value = acked

    def sample(self):
        dut, lanes = self.dut, self.lanes
        asked = int(dut.rd_valid_o.value) & int(dut.rd_ready_i.value)
        taken = int(dut.row_valid_i.value) & int(dut.row_ready_o.value)
        for c, queue in enumerate(self.queues):
            if taken >> c & 1:
                queue.popleft()
                self.offered[c] = False
            if asked >> c & 1:
                address = int(dut.rd_addr_o.value) >> 48 * c & (1 << 48) - 1
                rows = int(dut.rd_rows_o.value) >> self.rows_bits * c & (1 << self.rows_bits) - 1
                queue.extend(address + 8 * lanes * r for r in range(rows))
        asked = int(dut.wr_valid_o.value) & int(dut.wr_ready_i.value)
        given = int(dut.wr_row_valid_o.value) & int(dut.wr_row_ready_i.value)
        for v in range(self.ways):
            if given >> v & 1:
                row = int(dut.wr_row_o.value) >> 64 * lanes * v
                address = self.writes[v].popleft()
                for i in range(lanes):
                    self.memory[address // 8 + i] = row >> 64 * i & (1 << 64) - 1
                if not self.writes[v]:
                    self.writes[v], self.acks[v] = None, self.rng.randrange(8)
            if asked >> v & 1:
                address = int(dut.wr_addr_o.value) >> 48 * v & (1 << 48) - 1
                rows = int(dut.wr_rows_o.value) >> self.rows_bits * v & (1 << self.rows_bits) - 1
                self.writes[v] = deque(address + 8 * lanes * r for r in range(rows))
