# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory side of an element with public AXI models: fetches, loads, streams, stores and copies at the same time.

Polynomials are packed by Python integers. All channels stall at random; ports answer with errors; everything is halted
at random moments.
"""

import random
from collections import deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from cocotbext.axi import AxiRamRead, AxiRamWrite, AxiReadBus, AxiWriteBus
from modular import parameter
from runner import run

# The ports are enough here, and the family's package has more than this part of a machine needs.
BUILD = ["--no-public-flat-rw", "--public-depth", "1", "-Wno-UNUSEDPARAM"]
LANES, LINE, FETCH, LOAD, STREAM = 16, 128, 0, 1, 2
NEAR, FAR = 0x20000, 0x60000  # where element 1's segments begin: two of 64 KiB, one of 128 KiB
SEGMENT = 1 << 16
READ_END, STORE_END, COPY_END = 0x8000, 0x10000, 0x18000  # parts of the element's memory, and what is broken above


def stalls(seed: int, share: float):
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


class Reads(AxiRamRead):
    """One port's segment; what is above the copies answers with errors."""

    first, size_, limit = 0, 0, 0

    async def _read(self, address, length):
        offset = address - self.first
        assert 0 <= offset < self.size_, f"{address:#x} is outside the port's segment"
        if offset >= self.limit:
            raise ValueError("no memory")
        return await super()._read(address, length)


class Writes(AxiRamWrite):
    first, size_, limit = 0, 0, 0

    async def _write(self, address, data):
        offset = address - self.first
        assert 0 <= offset < self.size_, f"{address:#x} is outside the port's segment"
        if offset >= self.limit:
            raise ValueError("no memory")
        await super()._write(address, data)


class Bench:
    def __init__(self, dut, seed: int, rows: int):
        self.dut, self.rng, self.rows, self.bits = dut, random.Random(seed), rows, parameter("W", 54)
        self.lines = -(-rows * self.bits // 64)
        self.mask = (1 << self.bits * LANES) - 1
        Clock(dut.clk_i, 2, "ns").start(start_high=False)
        reset = {"reset": dut.rst_ni, "reset_active_level": False, "size": 1 << 20}
        self.reads = [Reads(AxiReadBus.from_prefix(dut, f"p{p}_axi"), dut.clk_i, **reset) for p in range(3)]
        self.writes = [
            Writes(AxiWriteBus.from_prefix(dut, f"p{p}_axi"), dut.clk_i, mem=self.reads[p].mem, **reset)
            for p in range(2)
        ]
        for p in range(3):
            first, size, limit = (FAR, 2 * SEGMENT, SEGMENT) if p == 2 else (NEAR + p * SEGMENT, SEGMENT, COPY_END // 2)
            for model in (self.reads[p], *(self.writes[p : p + 1])):
                model.first, model.size_, model.limit = first, size, limit
        self.near = bytearray(self.rng.randbytes(COPY_END))
        self.far = self.rng.randbytes(SEGMENT)
        for place in range(0, COPY_END, 64):
            p = place // 64 % 2
            self.reads[p].write(NEAR + p * SEGMENT + place // LINE * 64, self.near[place : place + 64])
        self.reads[2].write(FAR, self.far)
        dut.rows_i.value = rows
        self.clear()

    def clear(self):
        self.asks: list[tuple[int, int] | None] = [None] * 3
        self.expected: list[deque[int]] = [deque(), deque(), deque()]
        self.store: int | None = None
        self.storing: deque[int] = deque()
        self.copy: tuple[int, int] | None = None
        self.stored = self.acked = self.copied = 0
        self.counts = [0, 0, 0]

    def stall(self, shares):
        seeds = iter(range(100))
        for p, share in enumerate(shares):
            channels = [self.reads[p].ar_channel, self.reads[p].r_channel]
            if p < 2:
                channels += [self.writes[p].aw_channel, self.writes[p].w_channel, self.writes[p].b_channel]
            for channel in channels:
                channel.set_pause_generator(stalls(next(seeds), share))

    def place(self, first: int, end: int, lines: int) -> int:
        return LINE * self.rng.randrange(first // LINE, end // LINE - lines + 1)

    def polynomial(self, data: bytes) -> list[int]:
        text = int.from_bytes(data, "little")
        return [(text >> (r * self.bits * LANES)) & self.mask for r in range(self.rows)]

    async def cycle(self, share=0.0, giving=1.0, broken=0.0, reset=False, halt=False, copies=True):
        dut, rng, rows = self.dut, self.rng, self.rows
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value, dut.halt_i.value = not reset, halt
        first, end = (COPY_END, 2 * SEGMENT) if rng.random() < broken else (0, READ_END)
        for client in range(3):
            if self.asks[client] is None and rng.random() < share:
                beats = rng.choice([1, 4, 16]) if client == FETCH else rows
                self.asks[client] = self.place(first, end, beats if client == FETCH else self.lines), beats
        if self.store is None and not self.storing and rng.random() < share:
            self.store = self.place(READ_END, STORE_END, self.lines)
        if copies and self.copy is None and rng.random() < share:
            self.copy = self.place(STORE_END, COPY_END, self.lines), self.place(0, SEGMENT, self.lines)
        asks = [ask or (0, 0) for ask in self.asks]
        dut.rd_valid_i.value = 0 if halt else sum(1 << c for c in range(3) if self.asks[c])
        dut.rd_addr_i.value = sum(a << 48 * c for c, (a, _) in enumerate(asks))
        dut.rd_beats_i.value = sum(b << 9 * c for c, (_, b) in enumerate(asks))
        dut.wr_valid_i.value = self.store is not None and not halt
        dut.wr_addr_i.value, dut.wr_beats_i.value = self.store or 0, rows
        dut.wr_row_valid_i.value = bool(self.storing) and rng.random() < giving
        dut.wr_row_i.value = self.storing[0] if self.storing else 0
        dut.copy_valid_i.value = self.copy is not None and not halt
        dut.copy_near_i.value, dut.copy_far_i.value = self.copy or (0, 0)
        await ReadOnly()
        if reset:
            self.clear()
            return
        self.answers()
        if self.storing and int(dut.wr_row_valid_i.value) and int(dut.wr_row_ready_o.value):
            self.storing.popleft()
        self.acked += int(dut.wr_ack_o.value)
        if not halt:
            self.grants()

    def grants(self):
        dut, size = self.dut, self.lines * LINE
        ready = int(dut.rd_ready_o.value)
        assert ready & (ready - 1) == 0
        for client in range(3):
            if self.asks[client] and ready >> client & 1:
                address, beats = self.asks[client]
                data = bytes(self.near[address : address + (beats * LINE if client == FETCH else size)])
                if address >= COPY_END:
                    data = bytes(beats * LINE if client == FETCH else size)
                lines = [int.from_bytes(data[a : a + LINE], "little") for a in range(0, len(data), LINE)]
                self.expected[client].extend(lines if client == FETCH else self.polynomial(data))
                self.asks[client] = None
        if self.store is not None and int(dut.wr_ready_o.value):
            text = self.rng.getrandbits(self.rows * LANES * self.bits)
            self.near[self.store : self.store + size] = text.to_bytes(size, "little")  # what is behind it: zeros
            self.storing.extend((text >> (r * self.bits * LANES)) & self.mask for r in range(self.rows))
            self.store = None
            self.stored += 1
        if self.copy and int(dut.copy_ready_o.value):
            near, far = self.copy
            self.near[near : near + size] = self.far[far : far + size]
            self.copy = None
            self.copied += 1

    def answers(self):
        dut = self.dut
        rows = int(dut.row_valid_o.value)
        assert rows != 3
        got = [(FETCH, dut.fetch_line_o)] if int(dut.fetch_valid_o.value) else []
        got += [(c, dut.row_o) for c in (LOAD, STREAM) if rows >> (c - 1) & 1]
        for client, value in got:
            expected = self.expected[client].popleft()
            if not int(dut.error_o.value):
                assert int(value.value) == expected, f"client {client}"
            self.counts[client] += 1

    def idle(self) -> bool:
        return int(self.dut.idle_o.value) == 7

    async def drain(self):
        self.asks, self.store, self.copy = [None] * 3, None, None
        for _ in range(30_000):
            done = not any(self.expected) and self.acked == self.stored and int(self.dut.copy_idle_o.value)
            if done and self.idle():
                return
            await self.cycle()
        raise AssertionError("requests left unanswered")

    def check_memory(self):
        for p in range(2):
            got = self.reads[p].read(NEAR + p * SEGMENT, COPY_END // 2)
            assert got == b"".join(self.near[a : a + 64] for a in range(p * 64, COPY_END, LINE))


async def traffic(dut, rows: int, cycles: int):
    bench = Bench(dut, rows, rows)
    for _ in range(3):
        await bench.cycle(reset=True)
    for shares, giving in [((0, 0, 0), 1), ((0.1, 0.5, 0.3), 0.5)]:
        bench.stall(shares)
        for _ in range(cycles):
            await bench.cycle(0.3, giving)
    await bench.drain()
    bench.check_memory()
    assert int(dut.error_o.value) == 0
    assert min(bench.counts) > 20
    assert min(bench.stored, bench.copied) > 1


@cocotb.test()
async def long_polynomials(dut):
    await traffic(dut, 64, 450)


@cocotb.test()
async def short_polynomials(dut):
    """Of less than whole lines."""
    await traffic(dut, 8, 250)


@cocotb.test()
async def full_rate(dut):
    """Loads one after the other bring a row per cycle, but for what lines have less of."""
    bench = Bench(dut, 3, 128)
    for _ in range(3):
        await bench.cycle(reset=True)
    for _ in range(600):
        bench.asks[LOAD] = bench.asks[LOAD] or (0, 128)
        await bench.cycle()
    assert bench.counts[LOAD] > 550


@cocotb.test()
async def errors_halts_and_resets(dut):
    bench = Bench(dut, 4, 16)
    errors = 0
    for trial in range(6):
        for _ in range(3):
            await bench.cycle(reset=True)
        bench.stall((0.2, 0.05 * trial, 0.3))
        for _ in range(bench.rng.randint(20, 200)):
            await bench.cycle(0.5, broken=0.1 * (trial % 2))
        errors += int(dut.error_o.value) != 0
        for _ in range(3000):
            await bench.cycle(halt=True)
            if bench.idle():
                break
        else:
            raise AssertionError("the ports do not become idle")
        for _ in range(10):
            await bench.cycle(halt=True)
            assert bench.idle()
    assert errors > 0


def test_matmul_memory():
    run("memory_bench", {"W": 54}, __file__, [Path(__file__).parent / "memory_bench.sv"], build_args=BUILD)
