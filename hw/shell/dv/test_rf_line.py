# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_line_read and rf_line_write over two ports with public AXI models: every line at its place, ports apart in time.

Ports stall by themselves, answer with errors, and are halted at random moments; a line is right only if both of its
beats are.
"""

import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from cocotbext.axi import AxiRamRead, AxiRamWrite, AxiReadBus, AxiWriteBus
from modular import parameter
from runner import run

PORTS, DATA, SEGMENT, BEATS = 2, 8, 1 << 14, 8
BASE = 3 << 16
LINE = PORTS * DATA
BROKEN = 0x3000  # offsets of a port's segment that answer with an error


def stalls(seed: int, share: float):
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


class Reads(AxiRamRead):
    """A port's own segment, which answers with errors from BROKEN on; other addresses are no port's."""

    first = 0

    async def _read(self, address, length):
        offset = address - self.first
        assert 0 <= offset < SEGMENT, f"address {address:#x} is outside the port's segment"
        assert offset // (BEATS * DATA) == (offset + length - 1) // (BEATS * DATA), "a burst crosses its block"
        if offset >= BROKEN:
            raise ValueError("no memory")
        return await super()._read(address, length)


class Writes(AxiRamWrite):
    first = 0

    async def _write(self, address, data):
        assert 0 <= address - self.first < SEGMENT
        if address - self.first >= BROKEN:
            raise ValueError("no memory")
        await super()._write(address, data)


class Bench:
    """Requests of both kinds at random; what is read is compared with the contents when it was asked for."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        Clock(dut.clk_i, 2, "ns").start(start_high=False)
        reset = {"reset": dut.rst_ni, "reset_active_level": False, "size": 1 << 20}
        self.reads = [Reads(AxiReadBus.from_prefix(dut, f"p{p}_axi"), dut.clk_i, **reset) for p in range(PORTS)]
        self.writes = [
            Writes(AxiWriteBus.from_prefix(dut, f"p{p}_axi"), dut.clk_i, mem=self.reads[p].mem, **reset)
            for p in range(PORTS)
        ]
        for p in range(PORTS):
            self.reads[p].first = self.writes[p].first = BASE + p * SEGMENT
        self.image = bytearray(self.rng.randbytes(PORTS * SEGMENT))  # lines, as the element sees them
        for place in range(0, len(self.image), DATA):
            port, offset = place // DATA % PORTS, place // LINE * DATA
            self.reads[port].write(BASE + port * SEGMENT + offset, self.image[place : place + DATA])
        dut.base_i.value = BASE
        self.clear()

    def clear(self):
        self.read = self.write = None  # requests that wait
        self.wanted: list[bytes] = []  # lines to come, in order
        self.giving: list[bytes] = []  # lines of granted writes
        self.granted = self.done = self.lines = 0
        self.halted = False

    def stall(self, shares):
        """Chances, port by port and channel by channel, that a handshake is withheld."""
        seeds = iter(range(100))
        for p, share in enumerate(shares):
            for channel in (self.reads[p].ar_channel, self.reads[p].r_channel, self.writes[p].aw_channel,
                            self.writes[p].w_channel, self.writes[p].b_channel):  # fmt: skip
                channel.set_pause_generator(stalls(next(seeds), share))

    def draw(self, first: int, end: int):
        lines = self.rng.choice([1, 2, 7, 8, 9, 40, self.rng.randint(1, 200)])
        place = self.rng.randrange(first // DATA, end // DATA - lines)
        return place * LINE, lines

    async def cycle(self, share=0.0, taking=1.0, giving=1.0, broken=0.0, reset=False, halt=False):
        dut = self.dut
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value, dut.halt_i.value = not reset, halt
        self.halted |= halt
        if self.read is None and self.rng.random() < share:
            self.read = self.draw(BROKEN, SEGMENT) if self.rng.random() < broken else self.draw(0x2000, BROKEN)
        if self.write is None and not self.giving and self.rng.random() < share:
            self.write = self.draw(BROKEN, SEGMENT) if self.rng.random() < broken else self.draw(0, 0x2000)
        for name, request in (("rd", self.read), ("wr", self.write)):
            getattr(dut, f"{name}_valid_i").value = request is not None
            if request:
                getattr(dut, f"{name}_addr_i").value, getattr(dut, f"{name}_lines_i").value = request
        dut.in_ready_i.value = self.rng.random() < taking
        dut.out_valid_i.value = bool(self.giving) and self.rng.random() < giving
        if self.giving:
            dut.out_line_i.value = int.from_bytes(self.giving[0], "little")
        await ReadOnly()
        if reset:
            self.clear()
            return
        self.done += int(dut.done_o.value)
        if self.read and int(dut.rd_ready_o.value):
            assert not halt
            address, lines = self.read
            self.wanted += [bytes(self.image[a : a + LINE]) for a in range(address, address + lines * LINE, LINE)]
            self.read = None
        if self.write and int(dut.wr_ready_o.value):
            assert not halt
            address, lines = self.write
            data = self.rng.randbytes(lines * LINE)
            if address // PORTS < BROKEN:
                self.image[address : address + len(data)] = data
            self.giving = [data[a : a + LINE] for a in range(0, len(data), LINE)]
            self.granted += 1
            self.write = None
        elif int(dut.out_valid_i.value) and int(dut.out_ready_o.value):
            self.giving.pop(0)
        if int(dut.in_valid_o.value) and int(dut.in_ready_i.value):
            expected = self.wanted.pop(0)
            if not int(dut.rd_error_o.value):
                assert int(dut.in_line_o.value).to_bytes(LINE, "little") == expected
            self.lines += 1

    def idle(self) -> bool:
        return all(int(x.value) == (1 << PORTS) - 1 for x in (self.dut.rd_idle_o, self.dut.wr_idle_o))

    async def drain(self):
        self.read = self.write = None
        for _ in range(20_000):
            if not self.wanted and not self.giving and self.done == self.granted and self.idle():
                return
            await self.cycle()
        raise AssertionError("requests left unanswered")

    def check_memory(self):
        for p in range(PORTS):
            got = self.reads[p].read(BASE + p * SEGMENT, 0x2000)
            assert got == b"".join(self.image[a : a + DATA] for a in range(p * DATA, 0x2000 * PORTS, LINE))


@cocotb.test()
async def random_traffic(dut):
    bench = Bench(dut, 1)
    for _ in range(3):
        await bench.cycle(reset=True)
    for shares, taking, giving in [((0, 0), 1, 1), ((0.5, 0.1), 1, 1), ((0.1, 0.7), 0.5, 0.5), ((0.3, 0.3), 0.1, 1)]:
        bench.stall(shares)
        for _ in range(350):
            await bench.cycle(0.5, taking, giving)
    await bench.drain()
    bench.check_memory()
    assert bench.lines > 250
    assert bench.granted > 5
    assert int(dut.rd_error_o.value) == int(dut.wr_error_o.value) == 0


@cocotb.test()
async def full_rate(dut):
    bench = Bench(dut, 2)
    for _ in range(3):
        await bench.cycle(reset=True)
    bench.read = (0, 256)
    bench.write = (0x8000, 256)
    for _ in range(300):
        await bench.cycle()
    assert (bench.lines, bench.giving) == (256, []), "lines come and go one per cycle"


@cocotb.test()
async def errors_halts_and_resets(dut):
    """After a halt everything begun is carried through, and the ports are idle without anyone taking lines."""
    bench = Bench(dut, 3)
    seen = {"rd": 0, "wr": 0}
    for trial in range(6):
        for _ in range(3):
            await bench.cycle(reset=True)
        bench.stall((0.2, 0.1 * (trial % 5)))
        for _ in range(bench.rng.randint(20, 250)):
            await bench.cycle(0.5, taking=0.8, broken=0.6 * (trial % 2))
        seen["rd"] += int(dut.rd_error_o.value) != 0
        seen["wr"] += int(dut.wr_error_o.value) != 0
        bench.read = bench.write = None
        for _ in range(2000):
            await bench.cycle(taking=0, halt=True)
            if bench.idle():
                break
        else:
            raise AssertionError("the ports do not become idle")
        for _ in range(20):  # nothing comes after that
            await bench.cycle(taking=0, halt=True)
            assert bench.idle()
            assert not int(dut.p0_axi_arvalid.value)
            assert not int(dut.p1_axi_awvalid.value)
    assert min(seen.values()) > 0, "no trial met an error"


def test_rf_line():
    assert parameter("DataW", 64) == 8 * DATA
    ports_only = ["--no-public-flat-rw", "--public-depth", "1"]
    run("line_bench", {"Depth": 16}, __file__, [Path(__file__).parent / "line_bench.sv"], build_args=ports_only)
