# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_axi_read brings every beat to the client that asked, in order, under stalls, errors and resets, at full rate.

A memory that breaks the protocol is noticed, and what it breaks stays within its burst.
"""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from cocotbext.axi import AxiRamRead, AxiReadBus
from modular import parameter
from runner import run

MEMORY = 1 << 16
BROKEN = 0xF000  # the last 4 KiB answer with an error


def stalls(seed: int, share: float):
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


class Memory(AxiRamRead):
    async def _read(self, address, length):
        if address >= BROKEN:
            raise ValueError(f"no memory at {address:#x}")
        return await super()._read(address, length)


class Bench:
    """Drives all clients and compares every cycle with a model of the cell.

    Inputs change at the falling edge; everything is sampled before the next rising edge.
    """

    def __init__(self, dut, seed: int):
        self.dut = dut
        self.clients = parameter("Clients", 2)
        self.bytes = parameter("DataW", 64) // 8
        self.max_beats = parameter("MaxBeats", 32)
        self.outstanding = parameter("Outstanding", 16)
        self.rng = random.Random(seed)
        self.image = random.Random(0).randbytes(MEMORY)
        self.requests: list[tuple[int, int] | None] = [None] * self.clients
        self.reset_model()
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    def reset_model(self):
        self.flight: deque[list[int]] = deque()  # per burst: client, address of the next beat, beats left
        self.accepted: deque[tuple[int, int]] = deque()  # granted, not yet taken on AR: address and beats
        self.response: tuple[int, int | None] | None = None  # what the response register holds
        self.error = False
        self.grants: list[int] = []
        self.beats = 0
        self.events = (False, False)  # beat and wait of the cycle before

    def memory(self):
        bus = AxiReadBus.from_prefix(self.dut, "m_axi")
        memory = Memory(bus, self.dut.clk_i, self.dut.rst_ni, reset_active_level=False, size=MEMORY)
        memory.write(0, self.image)
        return memory

    def random_request(self, broken: bool) -> tuple[int, int]:
        beats = self.rng.choice([1, 2, self.max_beats, self.rng.randint(1, self.max_beats)])
        page = BROKEN if broken else 4096 * self.rng.randrange(BROKEN // 4096)
        return page + self.bytes * self.rng.randint(0, 4096 // self.bytes - beats), beats

    async def cycle(self, share: float, broken: float = 0.0, reset: bool = False, memory=None):
        """One clock: `share` is the chance that an idle client asks, `broken` that it asks for what is not there.

        `memory` drives the memory's side where no AxiRamRead does.
        """
        dut = self.dut
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = not reset
        if memory:
            memory()
        for c in range(self.clients):
            if reset:
                self.requests[c] = None
            elif self.requests[c] is None and self.rng.random() < share:
                self.requests[c] = self.random_request(self.rng.random() < broken)
            if self.requests[c] is not None:
                dut.req_addr_i[c].value, dut.req_beats_i[c].value = self.requests[c]
        dut.req_valid_i.value = sum(1 << c for c in range(self.clients) if self.requests[c] is not None)
        await ReadOnly()
        if reset:
            self.reset_model()
            return
        self.check_outputs()
        self.check_ar()
        self.check_r()
        self.check_grant()

    def check_outputs(self):
        dut = self.dut
        valid = int(dut.rsp_valid_o.value)
        assert valid == (1 << self.response[0] if self.response else 0)
        if self.response and self.response[1] is not None:
            assert int(dut.rsp_data_o.value) == self.response[1]
        assert bool(dut.error_o.value) == self.error
        assert bool(dut.idle_o.value) == (not self.flight and not self.response)
        assert int(dut.m_axi_rready.value) == 1
        assert (bool(dut.beat_o.value), bool(dut.wait_o.value)) == self.events
        beat = bool(dut.m_axi_rvalid.value)
        self.events = (beat and bool(self.flight), not beat and bool(self.flight))
        self.response = None

    def check_ar(self):
        dut = self.dut
        if not int(dut.m_axi_arvalid.value):
            assert not self.accepted
            return
        beats = int(dut.m_axi_arlen.value) + 1
        assert (int(dut.m_axi_araddr.value), beats) == self.accepted[0]
        assert (int(dut.m_axi_arid.value), int(dut.m_axi_arburst.value)) == (0, 1)
        assert (int(dut.m_axi_arcache.value), int(dut.m_axi_arprot.value)) == (3, 0)
        assert 1 << int(dut.m_axi_arsize.value) == self.bytes
        if int(dut.m_axi_arready.value):
            self.accepted.popleft()

    def check_r(self):
        dut = self.dut
        if not (int(dut.m_axi_rvalid.value) and self.flight):
            return
        burst = self.flight[0]
        client, address, left = burst
        good = address < BROKEN
        data = int.from_bytes(self.image[address : address + self.bytes], "little")
        self.response = (client, data if good else None)
        self.error |= not good
        self.beats += 1
        assert bool(dut.m_axi_rlast.value) == (left == 1)
        burst[1:] = address + self.bytes, left - 1
        if left == 1:
            self.flight.popleft()

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
        self.flight.append([client, address, beats])
        assert len(self.flight) <= self.outstanding
        self.accepted.append((address, beats))
        assert len(self.accepted) == 1

    async def drain(self, limit: int = 5000):
        for _ in range(limit):
            await self.cycle(0.0)
            if not self.flight and not self.response and not any(self.requests):
                return
        raise AssertionError("requests left unanswered")


@cocotb.test()
async def random_traffic(dut):
    bench = Bench(dut, 1)
    memory = bench.memory()
    for _ in range(3):
        await bench.cycle(0.0, reset=True)
    for share, stall in [(1.0, 0.0), (0.05, 0.0), (1.0, 0.5), (0.2, 0.3), (0.5, 0.9)]:
        for seed, channel in enumerate((memory.ar_channel, memory.r_channel)):
            channel.set_pause_generator(stalls(seed, stall))
        for _ in range(600):
            await bench.cycle(share)
    await bench.drain()
    assert set(bench.grants) == set(range(bench.clients))
    assert not bench.error


@cocotb.test()
async def errors_and_resets(dut):
    bench = Bench(dut, 2)
    memory = bench.memory()
    errors = 0
    for trial in range(8):
        for _ in range(3):
            await bench.cycle(0.0, reset=True)
        for seed, channel in enumerate((memory.ar_channel, memory.r_channel)):
            channel.set_pause_generator(stalls(seed, 0.2))
        for _ in range(bench.rng.randint(20, 200)):
            await bench.cycle(0.5, broken=0.1 * (trial % 3))
        if trial % 2:
            await bench.drain()
        errors += bench.error
    assert 0 < errors < 8


@cocotb.test()
async def full_rate(dut):
    """With a memory that never stalls, one AR and one R beat are taken in every cycle."""
    bench = Bench(dut, 3)

    def silent():
        dut.m_axi_arready.value = 1
        dut.m_axi_rvalid.value = 0
        dut.m_axi_rresp.value = 3  # means nothing without rvalid

    def prompt():
        known = len(bench.flight) > len(bench.accepted)
        dut.m_axi_rvalid.value = known
        if known:
            _, address, left = bench.flight[0]
            dut.m_axi_rdata.value = int.from_bytes(bench.image[address : address + bench.bytes], "little")
            dut.m_axi_rresp.value = 0
            dut.m_axi_rlast.value = left == 1

    for _ in range(3):
        await bench.cycle(0.0, reset=True, memory=silent)
    # Nothing comes back yet: grants follow each other without a gap until the limit is reached.
    for k in range(bench.outstanding + 3):
        await bench.cycle(1.0, memory=silent)
        assert len(bench.grants) == min(k + 1, bench.outstanding)
    # Then a beat in every cycle, across all bursts.
    for k in range(400):
        await bench.cycle(1.0, memory=prompt)
        assert bench.beats == k + 1


@cocotb.test()
@cocotb.parametrize(case=["fine", "early", "late", "nobody", "another id"])
async def against_the_protocol(dut, case):
    """Two clients ask, for 4 and 3 beats; what is wrong with the first burst is told, and the second one is whole."""
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    served: dict[int, int] = {1: 0, 2: 0}

    async def cycle(**values):
        await FallingEdge(dut.clk_i)
        for name in ("rst_ni", "m_axi_arready"):
            getattr(dut, name).value = 1
        for name in ("req_valid_i", "m_axi_rvalid", "m_axi_rlast", "m_axi_rid", "m_axi_rresp"):
            getattr(dut, name).value = 0
        for name, value in values.items():
            getattr(dut, name).value = value
        await ReadOnly()
        for client in served:
            served[client] += int(dut.rsp_valid_o.value) >> client & 1

    for _ in range(2):
        await cycle(rst_ni=0)
    served.update({1: 0, 2: 0})
    if case == "nobody":
        await cycle(m_axi_rvalid=1, m_axi_rlast=1)
        assert int(dut.m_axi_rready.value)
    await FallingEdge(dut.clk_i)
    for client, beats in ((1, 4), (2, 3)):
        dut.req_addr_i[client].value, dut.req_beats_i[client].value = 4096 * client, beats
    for client in (1, 2):
        await cycle(req_valid_i=1 << client)
        assert int(dut.req_ready_o.value) == 1 << client
    first = {"early": 2, "late": 6}.get(case, 4)
    for beats in (first, 3):
        for k in range(beats):
            wrong = case == "another id" and beats == first and k == 2
            await cycle(m_axi_rvalid=1, m_axi_rlast=k == beats - 1, m_axi_rid=wrong)
            assert not int(dut.idle_o.value)
    await cycle()
    await cycle()
    assert served == {1: min(first, 4), 2: 3}
    assert int(dut.idle_o.value)
    assert bool(dut.error_o.value) == (case != "fine")
    await cycle(rst_ni=0)
    await cycle()
    assert not int(dut.error_o.value)


def test_rf_axi_read():
    run("rf_axi_read", {"DataW": 64, "AddrW": 20, "Clients": 3, "MaxBeats": 32, "Outstanding": 4}, __file__)
