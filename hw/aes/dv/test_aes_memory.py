# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_memory and aes_link: streams on memory that stalls at random and sometimes answers with errors.

Each stream's rows come whole and in order; writes are acknowledged once, when memory has them; no burst crosses 4 KiB;
valid signals are not withdrawn; the link rests as often as it says, in each direction, and what it lets through is
the rate of a stream; after a halt nothing more is asked for, and all ports come to rest whatever the clients do.
"""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from runner import run

OKAY, SLVERR, BAD = 0, 2, 0x8000_0000  # addresses from BAD on answer with an error
WIDTH, BYTES = 256, 32
#: Names of the read streams' requests and rows, the port, and the place among the signal's bits.
READS = {"fetch": ("fetch", "fetch_row", 0, 0), "load 0": ("rd", "row", 0, 0), "load 1": ("rd", "row", 1, 1)}


def row_at(port: int, address: int) -> int:
    """What memory holds: any numbers that differ by port and address."""
    return (address * 0x9E3779B97F4A7C15 + port * 0xC2B2AE3D27D4EB4F + 1) % (1 << 127)


class Port:
    """Memory behind a port. Reads answer `latency` cycles after their request."""

    def __init__(self) -> None:
        self.reads: deque[tuple[int, int, bool]] = deque()  # cycle, address, last of its burst
        self.bursts: deque[list[int]] = deque()  # of writes: address, rows left
        self.data: deque[tuple[int, int]] = deque()
        self.answers: deque[int] = deque()
        self.memory: dict[int, int] = {}
        self.shown = {"r": False, "b": False}
        self.waiting: dict[str, int] = {}  # what was offered and not taken
        self.beats: dict[str, list[int]] = {"r": [], "w": []}  # cycles of beats


class Bench:
    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        self.ports, self.burst = parameter("Ports", 2), parameter("BurstRows", 4)
        self.count_bits = parameter("MaxLogN", 7) - 2
        self.most = 1 << self.count_bits - 1
        self.latency = 0
        self.names = [name for name, (_, _, port, _) in READS.items() if port < self.ports]
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    async def restart(self) -> None:
        self.asks: dict[str, tuple[int, int]] = {}
        self.expected: dict[str, deque[int]] = {name: deque() for name in self.names}
        self.memories = [Port() for _ in range(self.ports)]
        self.now, self.failed = 0, set[int]()
        self.store: tuple[int, int, int] | None = None  # a request at hand: port, address, rows
        self.rows, self.open, self.last = deque[int](), False, (0, 0, list[int]())
        self.requests = self.acked = 0
        for level in (0, 0, 1):
            self.dut.rst_ni.value = level
            await self.cycle(asks=0, quiet=True)

    def drawn(self, broken: float) -> tuple[int, int]:
        first = BAD if self.rng.random() < broken else 0x4000
        return first + self.rng.randrange(1 << 16), self.rng.randint(1, self.most)

    def set(self, name: str, port: int, value: int, width: int = 1) -> None:
        """Collects the bits of a signal that ports share."""
        self.packed[name] = self.packed.get(name, 0) | value << width * port

    def cut(self, name: str, place: int, width: int = 1) -> int:
        return int(getattr(self.dut, name).value) >> width * place & (1 << width) - 1

    async def cycle(self, *, asks=0.2, takes=0.7, stall=0.3, broken=0.0, halt=False, quiet=False):
        dut, rng = self.dut, self.rng
        self.packed: dict[str, int] = {}
        dut.halt_i.value = halt
        # ---- clients
        ready, giving = {}, False
        for name in self.names:
            if name not in self.asks and rng.random() < asks:
                self.asks[name] = self.drawn(broken)
            request, row, _, place = READS[name]
            address, rows = self.asks.get(name, (0, 0))
            ready[name] = rng.random() < takes
            self.set(f"{request}_valid_i", place, name in self.asks)
            self.set(f"{request}_addr_i", place, address, 48)
            self.set(f"{request}_rows_i", place, rows, 32 if request == "fetch" else self.count_bits)
            self.set(f"{row}_ready_i", place, ready[name])
        if self.store is None and not self.open and rng.random() < asks:
            self.store = (rng.randrange(self.ports), *self.drawn(broken))
        port, address, rows = self.store or (0, 0, 0)
        giving = bool(self.rows) and rng.random() < takes
        dut.wr_valid_i.value, dut.wr_port_i.value = self.store is not None, port
        dut.wr_addr_i.value, dut.wr_rows_i.value = address, rows
        dut.wr_row_valid_i.value = giving
        dut.wr_row_i.value = self.rows[0] if giving else rng.getrandbits(WIDTH)
        # ---- memory
        ready_at = []
        for p, m in enumerate(self.memories):
            at = {name: rng.random() >= stall for name in ("ar", "aw", "w")}
            ready_at.append(at)
            for name, value in at.items():
                self.set(f"m_axi_{name}ready", p, value)
            there = bool(m.reads) and m.reads[0][0] <= self.now
            m.shown["r"] = there and (m.shown["r"] or rng.random() >= stall)
            m.shown["b"] = bool(m.answers) and (m.shown["b"] or rng.random() >= stall)
            _, address, last = m.reads[0] if m.shown["r"] else (0, 0, False)
            self.set("m_axi_rvalid", p, m.shown["r"])
            self.set("m_axi_rdata", p, row_at(p, address) if m.shown["r"] else rng.getrandbits(WIDTH), WIDTH)
            self.set("m_axi_rresp", p, SLVERR if address >= BAD else OKAY, 2)
            self.set("m_axi_rlast", p, last)
            self.set("m_axi_bvalid", p, m.shown["b"])
            self.set("m_axi_bresp", p, m.answers[0] if m.shown["b"] else 0, 2)
        for name, value in self.packed.items():
            getattr(dut, name).value = value
        dut.m_axi_rid.value = dut.m_axi_bid.value = 0
        await ReadOnly()
        if not quiet:
            assert not int(dut.error_o.value) & ~sum(1 << p for p in self.failed)
            self.clients(ready, giving)
            for p, m in enumerate(self.memories):
                self.memory(p, m, ready_at[p])
        self.now += 1
        await FallingEdge(dut.clk_i)

    def clients(self, ready: dict[str, bool], giving: bool) -> None:
        """What went between clients and streams."""
        dut = self.dut
        for name in self.names:
            request, row, port, place = READS[name]
            if ready[name] and self.cut(f"{row}_valid_o", place):
                assert self.cut(f"{row}_o", place, WIDTH) == self.expected[name].popleft(), name
            if name in self.asks and self.cut(f"{request}_ready_o", place):
                address, count = self.asks.pop(name)
                base = address // BYTES * BYTES
                self.expected[name].extend(row_at(port, base + BYTES * k) for k in range(count))
        if int(dut.wr_acked_o.value):
            port, start, written = self.last
            assert self.open
            assert not self.rows
            got = [self.memories[port].memory.get(start + BYTES * k) for k in range(len(written))]
            assert got == written, "acknowledged before it was there"
            self.open, self.acked = False, self.acked + 1
        if giving and int(dut.wr_row_ready_o.value):
            self.rows.popleft()
        if self.store is not None and int(dut.wr_ready_o.value):
            port, address, count = self.store
            written = [self.rng.getrandbits(WIDTH) for _ in range(count)]
            self.last = port, address // BYTES * BYTES, written
            self.rows.extend(written)
            self.open, self.store, self.requests = True, None, self.requests + 1

    def memory(self, p: int, m: Port, ready: dict[str, bool]) -> None:
        """What went between a port and its memory."""
        if m.shown["r"] and self.cut("m_axi_rready", p):
            _, address, _ = m.reads.popleft()
            m.shown["r"] = False
            m.beats["r"].append(self.now)
            if address >= BAD:
                self.failed.add(p)
        if m.shown["b"] and self.cut("m_axi_bready", p):
            m.shown["b"] = False
            if m.answers.popleft():
                self.failed.add(p)
        for name in ("ar", "aw"):
            first, count = self.cut(f"m_axi_{name}addr", p, 48), self.cut(f"m_axi_{name}len", p, 8) + 1
            if not self.offered(m, p, name, first << 8 | count) or not ready[name]:
                continue
            m.waiting.pop(name)
            assert first % BYTES == 0
            assert count <= self.burst
            assert first // 4096 == (first + count * BYTES - 1) // 4096, "a burst crosses 4 KiB"
            if name == "ar":
                m.reads.extend((self.now + self.latency, first + BYTES * k, k == count - 1) for k in range(count))
            else:
                m.bursts.append([first, count])
        data, last = self.cut("m_axi_wdata", p, WIDTH), self.cut("m_axi_wlast", p)
        if self.offered(m, p, "w", data << 1 | last) and ready["w"]:
            m.waiting.pop("w")
            m.data.append((data, last))
            m.beats["w"].append(self.now)
        # The data of a burst may come before its address was taken.
        while m.bursts and m.data:
            burst = m.bursts[0]
            value, last = m.data.popleft()
            m.memory[burst[0]] = value
            bad = burst[0] >= BAD
            burst[0], burst[1] = burst[0] + BYTES, burst[1] - 1
            assert last == (burst[1] == 0)
            if last:
                m.bursts.popleft()
                m.answers.append(SLVERR if bad else OKAY)

    def offered(self, m: Port, p: int, name: str, what: int) -> bool:
        """Whether a channel offers something; what was offered and not taken is still the same."""
        valid = bool(self.cut(f"m_axi_{name}valid", p))
        if name in m.waiting:
            assert valid, f"{name}valid is withdrawn"
            assert m.waiting[name] == what, f"{name} changes while it waits"
        if valid:
            m.waiting[name] = what
        return valid

    async def rest(self, **options) -> None:
        """Waits until all ports are idle."""
        for _ in range(3000):
            if int(self.dut.idle_o.value) == (1 << self.ports) - 1:
                return
            await self.cycle(asks=0, **options)
        raise AssertionError("ports do not come to rest")

    def rests(self) -> None:
        """The link's beats: never more in so many cycles than it lets through."""
        burst, gap = parameter("LinkBurst", 8), parameter("LinkGap", 1)
        for beats in self.memories[0].beats.values():
            for first, last in zip(beats, beats[burst:], strict=False):
                assert last - first >= burst + gap, "the link has not rested"


@cocotb.test()
async def streams(dut):
    bench = Bench(dut, 1)
    await bench.restart()
    for takes, stall in ((0.7, 0.3), (1.0, 0.0), (0.2, 0.0), (1.0, 0.8)):
        bench.latency = bench.rng.randrange(20)
        for _ in range(500):
            await bench.cycle(takes=takes, stall=stall)
    for _ in range(3000):
        if not bench.asks and not any(bench.expected.values()) and not bench.store and not bench.open:
            break
        await bench.cycle(asks=0, takes=1.0, stall=0.0)
    assert not any(bench.expected.values())
    assert bench.requests == bench.acked > 4
    await bench.rest()
    bench.rests()


async def cycles_of(bench: Bench, name: str, requests: int) -> int:
    """Cycles of so many long requests of a stream, one after the other, and until its last row."""
    start = bench.now
    for _ in range(requests):
        bench.asks[name] = 0x4000, bench.most
        while name in bench.asks:
            await bench.cycle(asks=0, takes=1.0, stall=0.0)
    while bench.expected[name]:
        await bench.cycle(asks=0, takes=1.0, stall=0.0)
    return bench.now - start


@cocotb.test()
async def rates(dut):
    """A stream comes at a row a cycle, from one request to the next, or as the link lets it; a latency comes once."""
    bench = Bench(dut, 2)
    burst, gap = parameter("LinkBurst", 8), parameter("LinkGap", 1)
    for latency in (0, parameter("ReadRows", 16) - parameter("BurstRows", 4) - 8):
        bench.latency = latency
        await bench.restart()
        for name in [n for n in bench.names if n != "fetch"]:
            rows = 12 * bench.most * (1 if name == "load 1" else (burst + gap) / burst)
            took = await cycles_of(bench, name, 12)
            assert rows <= took + gap <= rows + latency + 12, (name, latency)
    # Writes, too.
    await bench.restart()
    start = bench.now
    bench.store = 0, 0x4000, bench.most
    while not bench.acked:
        await bench.cycle(asks=0, takes=1.0, stall=0.0)
    rows = bench.most * (burst + gap) / burst
    assert rows <= bench.now - start <= rows + bench.burst + 16


@cocotb.test()
async def halts_come_to_rest(dut):
    bench = Bench(dut, 3)
    for number in range(25):
        bench.latency = number
        await bench.restart()
        for _ in range(bench.rng.randrange(150)):
            await bench.cycle(asks=0.5, broken=0.1 if number % 3 == 0 else 0.0)
        before = None
        for _ in range(3000):
            await bench.cycle(asks=0.3, takes=bench.rng.choice([0.0, 0.5]), halt=True)
            if int(dut.idle_o.value) == (1 << bench.ports) - 1:
                before = [len(m.reads) + len(m.bursts) + len(m.answers) for m in bench.memories]
                break
        assert before == [0] * bench.ports, "ports do not come to rest"
        for _ in range(20):
            await bench.cycle(asks=0.5, halt=True)
            assert int(dut.idle_o.value) == (1 << bench.ports) - 1


def test_aes_memory():
    sizes = {"Ports": 2, "MaxLogN": 7, "BurstRows": 4, "ReadRows": 32, "LinkBurst": 4, "LinkGap": 3}
    run("aes_memory", sizes, __file__)


def test_aes_memory_of_one_port():
    sizes = {"Ports": 1, "MaxLogN": 8, "BurstRows": 8, "ReadRows": 16, "LinkBurst": 1, "LinkGap": 1}
    run("aes_memory", sizes, __file__)


def test_bursts_longer_than_requests():
    """A count of rows that has fewer bits than a burst's."""
    sizes = {"Ports": 1, "MaxLogN": 7, "BurstRows": 32, "ReadRows": 64, "LinkBurst": 8, "LinkGap": 1}
    run("aes_memory", sizes, __file__)
