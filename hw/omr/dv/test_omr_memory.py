# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_memory: streams of several clients a port on memory that stalls at random and sometimes answers with errors.

Each stream's rows come whole and in order; writes are acknowledged once, when memory has them; no burst crosses 4 KiB;
after a halt nothing more is asked for, and all ports come to rest whatever the clients do.
"""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run

OKAY, SLVERR, BAD = 0, 2, 0x8000_0000  # addresses from BAD on answer with an error
READ_CLIENTS = 4


def row_at(port: int, address: int) -> int:
    """What memory holds: any numbers that differ by port and address."""
    return (address * 0x9E3779B97F4A7C15 + port * 0xC2B2AE3D27D4EB4F + 1) % (1 << 127)


class Stream:
    """A client's stream of reads: what it asks for, and the rows that must come."""

    def __init__(self, port: int, most: int):
        self.port, self.most = port, most
        self.ask: tuple[int, int] | None = None
        self.expected: deque[int] = deque()


class Sink:
    """A client's stream of writes."""

    def __init__(self, port: int):
        self.port = port
        self.ask: tuple[int, int] | None = None
        self.rows: deque[int] = deque()
        self.open = False  # a request is under way
        self.last: tuple[int, list[int]] = (0, [])  # where it goes, and its rows
        self.requests = self.acked = 0


class Bench:
    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        ways, rows, cols, groups = (parameter(n, 0) for n in ("Ways", "Rows", "Cols", "Groups"))
        self.ways, self.rows, self.grid, self.lanes = ways, rows, groups * (rows + cols), parameter("Lanes", 0)
        self.ports, self.width, self.bytes = 2 * ways + self.grid, 64 * self.lanes, 8 * self.lanes
        self.most, self.burst = (1 << parameter("MaxLogN", 0)) // self.lanes, parameter("BurstRows", 0)
        self.clear()

    def clear(self):
        """State of clients and memory after a reset."""
        per_way = READ_CLIENTS + 1
        self.fetch = Stream(1, 4 * self.most)
        self.core = [
            Stream(2 * v + (c != READ_CLIENTS), 2 * self.most) for v in range(self.ways) for c in range(per_way)
        ]
        self.cells = [Stream(2 * self.ways + i, self.most) for i in range(self.grid)]
        self.stores = [Sink(2 * v + 1) for v in range(self.ways)]
        self.sums = [Sink(2 * self.ways + r) for r in range(self.rows)]
        self.reads: list[deque[tuple[int, int]]] = [deque() for _ in range(self.ports)]
        self.bursts: list[deque[list[int]]] = [deque() for _ in range(self.ports)]  # of writes: address, rows left
        self.answers: list[deque[int]] = [deque() for _ in range(self.ports)]
        self.memory: list[dict[int, int]] = [{} for _ in range(self.ports)]
        self.bursts_data: list[deque[tuple[int, int]]] = [deque() for _ in range(self.ports)]
        self.failed: set[int] = set()
        self.offered = [False] * self.ports

    def drawn(self, most: int, broken: float) -> tuple[int, int]:
        first = BAD if self.rng.random() < broken else 0x4000
        address = first + self.bytes * self.rng.randrange(2048)
        return address + self.rng.randrange(self.bytes), self.rng.randint(1, most)

    def packed(self, values, width: int) -> int:
        return sum(v << (width * i) for i, v in enumerate(values))

    def cut(self, signal, width: int, count: int) -> list[int]:
        value = int(signal.value)
        return [value >> (width * i) & ((1 << width) - 1) for i in range(count)]

    async def cycle(self, *, asks=0.2, takes=0.7, stall=0.3, broken=0.0, halt=False, reset=False):
        dut, rng = self.dut, self.rng
        dut.rst_ni.value, dut.halt_i.value = not reset, halt
        # Clients
        for stream in (self.fetch, *self.core, *self.cells):
            if stream.ask is None and rng.random() < asks:
                stream.ask = self.drawn(stream.most, broken)
        for sink in (*self.stores, *self.sums):
            if sink.ask is None and not sink.open and rng.random() < asks:
                sink.ask = self.drawn(self.most, broken)
        groups = {"fetch": [self.fetch], "rd": self.core, "sum_rd": self.cells}
        ready = {}
        for name, streams in groups.items():
            asking = [s.ask or (0, 0) for s in streams]
            getattr(dut, f"{name}_valid_i").value = self.packed([s.ask is not None for s in streams], 1)
            getattr(dut, f"{name}_addr_i").value = self.packed([a for a, _ in asking], 48)
            bits = 34 if name == "fetch" else parameter("MaxLogN", 0) + 1
            getattr(dut, f"{name}_rows_i").value = self.packed([r for _, r in asking], bits)
            ready[name] = [rng.random() < takes for _ in streams]
            row = {"fetch": "fetch_row", "rd": "row", "sum_rd": "sum_row"}[name]
            getattr(dut, f"{row}_ready_i").value = self.packed(ready[name], 1)
        giving = {}
        for name, sinks in {"wr": self.stores, "sum_wr": self.sums}.items():
            asking = [s.ask or (0, 0) for s in sinks]
            getattr(dut, f"{name}_valid_i").value = self.packed([s.ask is not None for s in sinks], 1)
            getattr(dut, f"{name}_addr_i").value = self.packed([a for a, _ in asking], 48)
            getattr(dut, f"{name}_rows_i").value = self.packed([r for _, r in asking], parameter("MaxLogN", 0) + 1)
            giving[name] = [bool(s.rows) and rng.random() < takes for s in sinks]
            getattr(dut, f"{name}_row_valid_i").value = self.packed(giving[name], 1)
            getattr(dut, f"{name}_row_i").value = self.packed([s.rows[0] if s.rows else 0 for s in sinks], self.width)
        # Memory
        every = range(self.ports)
        ar, aw, w = ([rng.random() >= stall for _ in every] for _ in range(3))
        r = [bool(self.reads[p]) and rng.random() >= stall for p in every]
        b = [bool(self.answers[p]) and (self.offered[p] or rng.random() >= stall) for p in every]
        self.offered = list(b)
        beats = [self.reads[p][0] if r[p] else (0, 0) for p in every]
        for name, values in (("arready", ar), ("awready", aw), ("wready", w), ("rvalid", r), ("bvalid", b)):
            getattr(dut, f"m_axi_{name}").value = self.packed(values, 1)
        dut.m_axi_rid.value = dut.m_axi_bid.value = 0
        dut.m_axi_rdata.value = self.packed([row_at(p, beats[p][0]) for p in every], self.width)
        dut.m_axi_rresp.value = self.packed([SLVERR if beats[p][0] >= BAD else OKAY for p in every], 2)
        dut.m_axi_rlast.value = self.packed([beats[p][1] for p in every], 1)
        dut.m_axi_bresp.value = self.packed([self.answers[p][0] if b[p] else 0 for p in every], 2)
        await ReadOnly()
        if reset:
            await FallingEdge(dut.clk_i)
            return
        assert not int(dut.error_o.value) & ~sum(1 << p for p in self.failed)
        # What went between clients and streams
        for name, streams in groups.items():
            row = {"fetch": "fetch_row", "rd": "row", "sum_rd": "sum_row"}[name]
            granted = self.cut(getattr(dut, f"{name}_ready_o"), 1, len(streams))
            valid = self.cut(getattr(dut, f"{row}_valid_o"), 1, len(streams))
            rows = self.cut(getattr(dut, f"{row}_o"), self.width, len(streams))
            for i, stream in enumerate(streams):
                if valid[i] and ready[name][i]:
                    assert rows[i] == stream.expected.popleft(), f"{name} {i}"
                if stream.ask is not None and granted[i]:
                    address, count = stream.ask
                    base = address // self.bytes * self.bytes
                    stream.expected.extend(row_at(stream.port, base + self.bytes * k) for k in range(count))
                    stream.ask = None
        for name, sinks in {"wr": self.stores, "sum_wr": self.sums}.items():
            granted = self.cut(getattr(dut, f"{name}_ready_o"), 1, len(sinks))
            taken = self.cut(getattr(dut, f"{name}_row_ready_o"), 1, len(sinks))
            acked = self.cut(getattr(dut, f"{name}_acked_o"), 1, len(sinks))
            for i, sink in enumerate(sinks):
                if acked[i]:
                    assert sink.open
                    assert not sink.rows
                    start, written = sink.last
                    got = [self.memory[sink.port].get(start + self.bytes * k) for k in range(len(written))]
                    assert got == written, f"{name} {i}: acknowledged before it was there"
                    sink.open, sink.acked = False, sink.acked + 1
                if giving[name][i] and taken[i]:
                    sink.rows.popleft()
                if sink.ask is not None and granted[i]:
                    address, count = sink.ask
                    written = [rng.getrandbits(self.width) for _ in range(count)]
                    sink.last = address // self.bytes * self.bytes, written
                    sink.rows.extend(written)
                    sink.open, sink.ask, sink.requests = True, None, sink.requests + 1
        # What went between ports and memory
        valid = {n: self.cut(getattr(dut, f"m_axi_{n}"), 1, self.ports) for n in ("arvalid", "awvalid", "wvalid")}
        ends = {n: self.cut(getattr(dut, f"m_axi_{n}"), 1, self.ports) for n in ("rready", "bready", "wlast")}
        lengths = {n: self.cut(getattr(dut, f"m_axi_{n}len"), 8, self.ports) for n in ("ar", "aw")}
        places = {n: self.cut(getattr(dut, f"m_axi_{n}addr"), 48, self.ports) for n in ("ar", "aw")}
        data = self.cut(dut.m_axi_wdata, self.width, self.ports)
        for p in every:
            if r[p] and ends["rready"][p]:
                if beats[p][0] >= BAD:
                    self.failed.add(p)
                self.reads[p].popleft()
            if b[p] and ends["bready"][p]:
                if self.answers[p].popleft():
                    self.failed.add(p)
                self.offered[p] = False
            for name, taken in (("ar", ar), ("aw", aw)):
                if valid[f"{name}valid"][p] and taken[p]:
                    first, count = places[name][p], lengths[name][p] + 1
                    assert first % self.bytes == 0
                    assert count <= self.burst
                    assert first // 4096 == (first + count * self.bytes - 1) // 4096, "a burst crosses 4 KiB"
                    if name == "ar":
                        self.reads[p].extend((first + self.bytes * k, k == count - 1) for k in range(count))
                    else:
                        self.bursts[p].append([first, count])
            if valid["wvalid"][p] and w[p]:
                # The data of a burst may come before its address was taken.
                self.bursts_data[p].append((data[p], ends["wlast"][p]))
            while self.bursts[p] and self.bursts_data[p]:
                burst = self.bursts[p][0]
                value, last = self.bursts_data[p].popleft()
                self.memory[p][burst[0]] = value
                bad = burst[0] >= BAD
                burst[0], burst[1] = burst[0] + self.bytes, burst[1] - 1
                assert last == (burst[1] == 0)
                if last:
                    self.bursts[p].popleft()
                    self.answers[p].append(SLVERR if bad else OKAY)
        await FallingEdge(dut.clk_i)

    async def restart(self):
        self.clear()
        await self.cycle(asks=0, reset=True)
        await self.cycle(asks=0, reset=True)

    async def rest(self, **options) -> None:
        """Waits until all ports are idle."""
        for _ in range(2000):
            if int(self.dut.idle_o.value) == (1 << self.ports) - 1:
                return
            await self.cycle(asks=0, **options)
        raise AssertionError("ports do not come to rest")


@cocotb.test()
async def streams(dut):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 1)
    await bench.restart()
    for takes, stall in ((0.7, 0.3), (1.0, 0.0), (0.2, 0.0), (1.0, 0.8)):
        for _ in range(500):
            await bench.cycle(takes=takes, stall=stall)
    everyone = (bench.fetch, *bench.core, *bench.cells)
    sinks = (*bench.stores, *bench.sums)
    for _ in range(3000):
        if not any(s.ask or s.expected for s in everyone) and not any(s.ask or s.open for s in sinks):
            break
        await bench.cycle(asks=0, takes=1.0, stall=0.0)
    assert not any(s.ask or s.expected for s in everyone)
    assert not any(s.ask or s.open for s in sinks)
    assert all(s.requests == s.acked > 2 for s in sinks)
    await bench.rest()


@cocotb.test()
async def rate(dut):
    """A stream that is asked for ahead comes at a row a cycle, from one request to the next."""
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 2)
    await bench.restart()
    cell, cycles = bench.cells[0], 0
    for _ in range(8):
        cell.ask = 0x4000, bench.most
        while cell.ask:
            await bench.cycle(asks=0, takes=1.0, stall=0.0)
            cycles += 1
    while cell.expected:
        await bench.cycle(asks=0, takes=1.0, stall=0.0)
        cycles += 1
    assert cycles < 8 * bench.most + 16


@cocotb.test()
async def halts(dut):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 3)
    await bench.restart()
    for turn in range(12):
        for _ in range(bench.rng.randrange(20, 150)):
            await bench.cycle(stall=bench.rng.choice([0.1, 0.6]))
        # Clients may take and give, or neither.
        takes = 0.0 if turn % 2 else 0.5
        for _ in range(3):
            await bench.cycle(halt=True, takes=takes)
        await bench.rest(halt=True, takes=takes)
        assert not any(bench.reads)
        assert not any(bench.bursts)
        assert not any(bench.answers)
        await bench.restart()


@cocotb.test()
async def errors(dut):
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    bench = Bench(dut, 4)
    seen = set()
    for _ in range(8):
        await bench.restart()
        for _ in range(150):
            await bench.cycle(broken=0.05)
        await bench.rest(halt=True)
        for _ in range(2):
            await bench.cycle(asks=0, halt=True)
        assert int(dut.error_o.value) == sum(1 << p for p in bench.failed)
        seen |= bench.failed
    assert len(seen) > 2


def test_omr_memory() -> None:
    parameters = {
        "Lanes": 2,
        "Ways": 2,
        "Rows": 2,
        "Cols": 1,
        "Groups": 1,
        "MaxLogN": 6,
        "BurstRows": 8,
        "ReadRows": 16,
    }
    run("omr_memory", parameters, __file__)
