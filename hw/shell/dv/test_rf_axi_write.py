# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_axi_write puts every client's beats where they belong and reports each burst, under stalls, errors and resets.

A memory that breaks the protocol is noticed, and no beat is lost by it.
"""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from cocotbext.axi import AxiRamWrite, AxiWriteBus
from modular import parameter
from runner import run

MEMORY = 1 << 16
BROKEN = 0xF000  # the last 4 KiB answer with an error


def stalls(seed: int, share: float):
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


class Memory(AxiRamWrite):
    async def _write(self, address, data):
        if address >= BROKEN:
            raise ValueError(f"no memory at {address:#x}")
        await super()._write(address, data)


class Bench:
    """Drives all clients and compares every cycle with a model of the cell.

    Inputs change at the falling edge; everything is sampled before the next rising edge. A client may offer the data
    of a burst before the burst is granted, and may ask for the next one before the data of the last are sent.
    """

    def __init__(self, dut, seed: int):
        self.dut = dut
        self.clients = parameter("Clients", 2)
        self.bytes = parameter("DataW", 64) // 8
        self.max_beats = parameter("MaxBeats", 32)
        self.outstanding = parameter("Outstanding", 16)
        self.rng = random.Random(seed)
        self.image = bytearray(MEMORY)
        self.reset_model()
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    def reset_model(self):
        self.requests: list[tuple[int, int] | None] = [None] * self.clients
        self.supply: list[deque[int]] = [deque() for _ in range(self.clients)]  # beats not yet taken, in order
        self.offered = [False] * self.clients
        self.aw: deque[tuple[int, int]] = deque()  # granted, not yet taken on AW: address and beats
        self.sending: deque[list[int]] = deque()  # per burst: client, address of the next beat, beats to take
        self.w: deque[tuple[int, bool]] = deque()  # taken from a client, not yet taken on W: beat and last
        self.unanswered: deque[tuple[int, bool]] = deque()  # per burst: client, whether it will fail
        self.complete = 0  # bursts whose last beat was taken on W, not yet answered
        self.events = (False, False)  # beat and wait of the cycle before
        self.done = 0
        self.error = False
        self.grants: list[int] = []
        self.beats = self.answers = 0

    def memory(self):
        bus = AxiWriteBus.from_prefix(self.dut, "m_axi")
        return Memory(bus, self.dut.clk_i, self.dut.rst_ni, reset_active_level=False, size=MEMORY)

    def new_request(self, client: int, broken: bool):
        """A burst in a region of the client's own, so that the order among clients does not matter."""
        beats = self.rng.choice([1, 2, self.max_beats, self.rng.randint(1, self.max_beats)])
        pages = BROKEN // 4096 // self.clients
        page = BROKEN if broken else 4096 * (client * pages + self.rng.randrange(pages))
        self.requests[client] = (page + self.bytes * self.rng.randint(0, 4096 // self.bytes - beats), beats)
        self.supply[client].extend(self.rng.getrandbits(8 * self.bytes) for _ in range(beats))

    async def cycle(self, share: float, supply: float, broken: float = 0.0, reset: bool = False, memory=None):
        """One clock: `share` is the chance that a client asks, `supply` that it offers its next beat.

        `memory` drives the memory's side where no AxiRamWrite does.
        """
        dut = self.dut
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = not reset
        if reset:
            self.reset_model()
        if memory:
            memory()
        for c in range(self.clients):
            if not reset and self.requests[c] is None and self.rng.random() < share:
                self.new_request(c, self.rng.random() < broken)
            if self.requests[c] is not None:
                dut.req_addr_i[c].value, dut.req_beats_i[c].value = self.requests[c]
            # An offer stays until it is taken.
            self.offered[c] = bool(self.supply[c]) and (self.offered[c] or self.rng.random() < supply)
            dut.data_i[c].value = self.supply[c][0] if self.offered[c] else self.rng.getrandbits(8 * self.bytes)
        dut.req_valid_i.value = sum(1 << c for c in range(self.clients) if self.requests[c] is not None)
        dut.data_valid_i.value = sum(1 << c for c in range(self.clients) if self.offered[c])
        await ReadOnly()
        if not reset:
            self.check_outputs()
            self.check_b()
            self.check_aw()
            self.check_w()
            self.check_data()
            self.check_grant()

    def check_outputs(self):
        dut = self.dut
        assert int(dut.done_o.value) == self.done
        assert bool(dut.error_o.value) == self.error
        assert bool(dut.idle_o.value) == (not self.unanswered and not self.done)
        assert bool(dut.m_axi_bready.value) == (self.complete > 0 or not self.unanswered)
        assert (bool(dut.beat_o.value), bool(dut.wait_o.value)) == self.events
        self.events = (False, False)
        self.done = 0

    def check_b(self):
        if int(self.dut.m_axi_bvalid.value):
            client, fails = self.unanswered.popleft()
            self.complete -= 1
            self.done = 1 << client
            self.error |= fails
            self.answers += 1

    def check_aw(self):
        dut = self.dut
        assert bool(dut.m_axi_awvalid.value) == bool(self.aw)
        if not self.aw:
            return
        assert (int(dut.m_axi_awaddr.value), int(dut.m_axi_awlen.value) + 1) == self.aw[0]
        assert (int(dut.m_axi_awid.value), int(dut.m_axi_awburst.value)) == (0, 1)
        assert (int(dut.m_axi_awcache.value), int(dut.m_axi_awprot.value)) == (3, 0)
        assert 1 << int(dut.m_axi_awsize.value) == self.bytes
        if int(dut.m_axi_awready.value):
            self.aw.popleft()

    def check_w(self):
        dut = self.dut
        assert bool(dut.m_axi_wvalid.value) == bool(self.w)
        if not self.w:
            return
        assert (int(dut.m_axi_wdata.value), bool(dut.m_axi_wlast.value)) == self.w[0]
        assert int(dut.m_axi_wstrb.value) == (1 << self.bytes) - 1
        taken = bool(dut.m_axi_wready.value)
        self.events = (taken, not taken)
        if taken:
            self.complete += self.w.popleft()[1]
            self.beats += 1

    def check_data(self):
        # Only the client of the oldest burst that still wants data may be served.
        client = self.sending[0][0] if self.sending else None
        ready = int(self.dut.data_ready_o.value)
        assert ready == (1 << client if self.sending and not self.w else 0)
        if not ready or not self.offered[client]:
            return
        burst = self.sending[0]
        _, address, left = burst
        data = self.supply[client].popleft()
        self.offered[client] = False
        if address < BROKEN:
            self.image[address : address + self.bytes] = data.to_bytes(self.bytes, "little")
        self.w.append((data, left == 1))
        burst[1:] = address + self.bytes, left - 1
        if left == 1:
            self.sending.popleft()

    def check_grant(self):
        granted = int(self.dut.req_ready_o.value)
        if not granted:
            return
        client = granted.bit_length() - 1
        assert granted == 1 << client
        # Round-robin: nobody between the client granted last and this one was waiting.
        last = self.grants[-1] if self.grants else self.clients - 1
        order = [(last + 1 + i) % self.clients for i in range(self.clients)]
        assert client == next(c for c in order if self.requests[c] is not None)
        address, beats = self.requests[client]
        self.requests[client] = None
        self.grants.append(client)
        self.aw.append((address, beats))
        self.sending.append([client, address, beats])
        self.unanswered.append((client, address >= BROKEN))
        assert len(self.aw) == 1
        assert len(self.unanswered) <= self.outstanding

    async def drain(self, limit: int = 5000):
        for _ in range(limit):
            await self.cycle(0.0, 1.0)
            if not self.unanswered and not self.done and not any(self.requests):
                assert not any(self.supply)
                return
        raise AssertionError("requests left unanswered")


def set_stalls(memory: Memory, share: float):
    for seed, channel in enumerate((memory.aw_channel, memory.w_channel, memory.b_channel)):
        channel.set_pause_generator(stalls(seed, share))


@cocotb.test()
async def random_traffic(dut):
    bench = Bench(dut, 1)
    memory = bench.memory()
    for _ in range(3):
        await bench.cycle(0.0, 0.0, reset=True)
    for share, supply, stall in [(1.0, 1.0, 0.0), (0.05, 0.5, 0.0), (1.0, 0.8, 0.5), (0.2, 1.0, 0.3), (0.5, 0.5, 0.9)]:
        set_stalls(memory, stall)
        for _ in range(600):
            await bench.cycle(share, supply)
    await bench.drain()
    assert set(bench.grants) == set(range(bench.clients))
    assert bytes(memory.read(0, BROKEN)) == bytes(bench.image[:BROKEN])
    assert any(bench.image)
    assert not bench.error


@cocotb.test()
async def errors_and_resets(dut):
    bench = Bench(dut, 2)
    memory = bench.memory()
    errors = 0
    for trial in range(8):
        for _ in range(3):
            await bench.cycle(0.0, 0.0, reset=True)
        set_stalls(memory, 0.2)
        for _ in range(bench.rng.randint(20, 200)):
            await bench.cycle(0.5, 0.8, broken=0.1 * (trial % 3))
        if trial % 2:
            await bench.drain()
        errors += bench.error
    assert 0 < errors < 8


@cocotb.test()
async def full_rate(dut):
    """With a memory that never stalls and clients that always have data, a W beat leaves in every cycle."""
    bench = Bench(dut, 3)
    finished = 0

    def prompt():
        # A burst is acknowledged once all its beats are in the memory.
        dut.m_axi_awready.value = 1
        dut.m_axi_wready.value = 1
        dut.m_axi_bvalid.value = finished > bench.answers
        dut.m_axi_bresp.value = 0 if finished > bench.answers else 3  # means nothing without bvalid

    for _ in range(3):
        await bench.cycle(0.0, 0.0, reset=True, memory=prompt)
    for k in range(500):
        last = bool(bench.w) and bench.w[0][1]
        await bench.cycle(1.0, 1.0, memory=prompt)
        finished += last
        # Grant, data and W take a cycle each; from then on there are no gaps.
        assert bench.beats == max(0, k - 1)


@cocotb.test()
@cocotb.parametrize(case=["fine", "early", "nobody", "another id"])
async def against_the_protocol(dut, case):
    """One burst of 3 beats: a wrong answer is told, an early one waits, and the client hears of its burst once."""
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    done = 0

    async def cycle(**values):
        nonlocal done
        await FallingEdge(dut.clk_i)
        for name in ("rst_ni", "m_axi_awready", "m_axi_wready"):
            getattr(dut, name).value = 1
        for name in ("req_valid_i", "data_valid_i", "m_axi_bvalid", "m_axi_bid", "m_axi_bresp"):
            getattr(dut, name).value = 0
        for name, value in values.items():
            getattr(dut, name).value = value
        await ReadOnly()
        done += int(dut.done_o.value) >> 1 & 1

    for _ in range(2):
        await cycle(rst_ni=0)
    done = 0
    if case == "nobody":
        await cycle(m_axi_bvalid=1)
        assert int(dut.m_axi_bready.value)
    await FallingEdge(dut.clk_i)
    dut.req_addr_i[1].value, dut.req_beats_i[1].value = 4096, 3
    await cycle(req_valid_i=2)
    assert int(dut.req_ready_o.value) == 2
    for _ in range(2):
        await cycle(data_valid_i=2)
    for _ in range(2):
        await cycle(m_axi_bvalid=case == "early")
        assert not int(dut.m_axi_bready.value)
        assert not int(dut.idle_o.value)
    await cycle(data_valid_i=2, m_axi_bvalid=case == "early")
    await cycle(m_axi_bvalid=case == "early")  # the last beat on W
    assert (int(dut.m_axi_wlast.value), int(dut.m_axi_bready.value)) == (1, 0)
    await cycle(m_axi_bvalid=1, m_axi_bid=case == "another id")
    assert (done, int(dut.m_axi_bready.value)) == (0, 1)
    await cycle()
    await cycle()
    assert (done, int(dut.idle_o.value)) == (1, 1)
    assert bool(dut.error_o.value) == (case != "fine")
    await cycle(rst_ni=0)
    await cycle()
    assert not int(dut.error_o.value)


def test_rf_axi_write():
    run("rf_axi_write", {"DataW": 64, "AddrW": 20, "Clients": 3, "MaxBeats": 32, "Outstanding": 4}, __file__)
