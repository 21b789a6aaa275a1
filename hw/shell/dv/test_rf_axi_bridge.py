# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_axi_bridge carries every burst to a memory of another width and clock and brings every row and response back.

The memory is a public AXI model, which refuses bursts across 4 KiB and misplaced ends. The machine's side is driven
here, with bursts that AXI itself would not allow: longer than 4 KiB, across its borders.
"""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiRamRead, AxiRamWrite, AxiReadBus, AxiWriteBus
from cocotbext.axi.sparse_memory import SparseMemory
from modular import parameter
from runner import run

BASE = 0x12_3456_7000  # where the card's driver put the buffer
READS, WRITES = 0x10000, 0x40000  # bytes to read below READS, to write below WRITES
BROKEN = 0x3000  # the last bytes of each part answer with an error
CORE = 5556  # 180 MHz, in picoseconds
#: Memory at 300 and 450 MHz, at the core's clock, and slower.
MEMORIES = (3334, 2222, 5556, 9998)
#: Wide rows make fewer bursts.
FAULTY_CYCLES = 400 * max(1, parameter("RowW", 512) // 2048)
LOG = {"COCOTB_LOG_LEVEL": "ERROR"}
# cocotb makes every signal visible, which costs compile time; the ports are enough here.
PORTS_ONLY = ["--no-public-flat-rw", "--public-depth", "1"]


def pauses(seed: int, share: float):
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


def broken(address: int) -> bool:
    return READS - BROKEN <= address < READS or address >= WRITES - BROKEN


class Reads(AxiRamRead):
    async def _read(self, address, length):
        if not BASE <= address < BASE + READS or broken(address - BASE):
            raise ValueError(f"no memory at {address:#x}")
        return await super()._read(address, length)


class Writes(AxiRamWrite):
    async def _write(self, address, data):
        if not BASE + READS <= address < BASE + WRITES or broken(address - BASE):
            raise ValueError(f"no memory at {address:#x}")
        await super()._write(address, data)


class Bench:
    """Drives the machine's side, changing inputs at the falling edge, and compares each row and response."""

    def __init__(self, dut, seed: int):
        self.dut = dut
        self.row, self.word = parameter("RowW", 512) // 8, parameter("PortW", 256) // 8
        self.rng = random.Random(seed)
        self.memory = SparseMemory(1 << 40)
        self.image = bytearray(random.Random(0).randbytes(READS)) + bytearray(WRITES - READS)
        self.clocks: list = []
        self.restart()
        self.memory.write(BASE, bytes(self.image))
        dut.base_i.value = BASE
        self.rows_moved = self.words_moved = 0
        reset = {"reset": dut.m_rst_ni, "reset_active_level": False, "size": 1 << 40, "mem": self.memory}
        self.reads = Reads(AxiReadBus.from_prefix(dut, "m_axi"), dut.m_clk_i, **reset)
        self.writes = Writes(AxiWriteBus.from_prefix(dut, "m_axi"), dut.m_clk_i, **reset)
        cocotb.start_soon(self.watch())

    def restart(self):
        self.asked: tuple[int, int] | None = None  # the read on AR
        self.reading: deque[tuple[int, int, int]] = deque()  # address, rows and index of the next row
        self.told: tuple[int, int] | None = None  # the write on AW
        self.rows: deque[int] = deque()  # still to be sent on W
        self.writing: deque[bool] = deque()  # whether the burst meets an error
        self.read_errors = self.write_errors = self.reads_done = self.writes_done = 0

    async def clock(self, memory: int):
        """New clocks and a reset, whatever is under way."""
        for clock in self.clocks:
            clock.stop()
        await Timer(1, "ps")
        dut = self.dut
        for signal in (dut.s_axi_arvalid, dut.s_axi_awvalid, dut.s_axi_wvalid, dut.rst_ni, dut.m_rst_ni):
            signal.value = 0
        self.clocks = [Clock(dut.clk_i, CORE, "ps"), Clock(dut.m_clk_i, memory, "ps")]
        for clock in self.clocks:
            clock.start(start_high=self.rng.random() < 0.5)
        for _ in range(6):
            await RisingEdge(dut.clk_i)
        self.restart()
        self.image[READS:] = self.memory.read(BASE + READS, WRITES - READS)  # some of the writes were done
        # The sides leave reset one after the other, either first.
        sides = [(dut.clk_i, dut.rst_ni), (dut.m_clk_i, dut.m_rst_ni)]
        self.rng.shuffle(sides)
        for clk, rst_n in sides:
            await FallingEdge(clk)
            rst_n.value = 1
            for _ in range(3):
                await FallingEdge(clk)

    def stall(self, share: float):
        r, w = self.reads, self.writes
        for seed, channel in enumerate((r.ar_channel, r.r_channel, w.aw_channel, w.w_channel, w.b_channel)):
            channel.set_pause_generator(pauses(seed, share))

    async def watch(self):
        """What the card's side offers stays until it is taken, and its bursts are whole, incrementing and cacheable."""
        dut, word_log = self.dut, self.word.bit_length() - 1
        channels = {
            name: [getattr(dut, f"m_axi_{signal}") for signal in (f"{name}valid", f"{name}ready", *payload)]
            for name, payload in (
                ("ar", ("araddr", "arlen", "arsize", "arburst", "arcache", "arprot")),
                ("aw", ("awaddr", "awlen", "awsize", "awburst", "awcache", "awprot")),
                ("w", ("wdata", "wlast", "wstrb")),
            )
        }
        offered: dict[str, list[int] | None] = dict.fromkeys(channels)
        while True:
            await RisingEdge(dut.m_clk_i)
            if not int(dut.m_rst_ni.value):
                offered = dict.fromkeys(channels)
                continue
            for name, (valid, ready, *payload) in channels.items():
                if not int(valid.value):
                    assert offered[name] is None, f"{name} was taken back"
                    continue
                now = [int(p.value) for p in payload]
                assert offered[name] in (None, now), f"{name} changed while it waited"
                offered[name] = None if int(ready.value) else now
                if name != "w":
                    assert now[2:] == [word_log, 1, 3, 0]
                    assert now[1] + 1 <= parameter("MaxWords", 256)
                else:
                    assert now[2] == (1 << self.word) - 1
            self.words_moved += int(dut.m_axi_rvalid.value) and int(dut.m_axi_rready.value)

    def burst(self, first: int, end: int, faulty: bool) -> tuple[int, int]:
        most = min(256, 12288 // self.row)
        rows = self.rng.randint(1, self.rng.choice([1, 2, 4, min(16, most), most]))
        low, high = (end - BROKEN - rows * self.row, end) if faulty else (first, end - BROKEN)
        address = self.rng.randrange(low, high - rows * self.row + 1, self.word)
        return address, rows

    async def cycle(self, reads: float, writes: float, faulty: float, r_ready: float, b_ready: float):
        """One core clock; the shares are the chances that the machine asks, sends and takes."""
        dut, rng = self.dut, self.rng
        await FallingEdge(dut.clk_i)
        if self.asked is None and rng.random() < reads and len(self.reading) < 16:
            self.asked = self.burst(0, READS, rng.random() < faulty)
            dut.s_axi_araddr.value, dut.s_axi_arlen.value = self.asked[0], self.asked[1] - 1
        if self.told is None and rng.random() < writes and len(self.writing) < 16:
            self.told = self.burst(READS, WRITES, rng.random() < faulty)
            dut.s_axi_awaddr.value, dut.s_axi_awlen.value = self.told[0], self.told[1] - 1
        if self.rows:
            dut.s_axi_wdata.value = self.rows[0]
        dut.s_axi_arvalid.value = self.asked is not None
        dut.s_axi_awvalid.value = self.told is not None
        dut.s_axi_wvalid.value = bool(self.rows)
        dut.s_axi_rready.value = rng.random() < r_ready
        dut.s_axi_bready.value = rng.random() < b_ready
        await ReadOnly()
        if self.asked is not None and int(dut.s_axi_arready.value):
            self.reading.append((*self.asked, 0))
            self.asked = None
        if self.rows and int(dut.s_axi_wready.value):
            self.rows.popleft()
        if self.told is not None and int(dut.s_axi_awready.value):
            self.tell(*self.told)
            self.told = None
        if int(dut.s_axi_rvalid.value) and int(dut.s_axi_rready.value):
            self.take_row()
        if int(dut.s_axi_bvalid.value) and int(dut.s_axi_bready.value):
            fault = self.writing.popleft()
            assert int(dut.s_axi_bresp.value) == (2 if fault else 0)
            self.write_errors += fault
            self.writes_done += 1

    def tell(self, address: int, rows: int):
        """The burst was accepted: its rows follow, and memory will hold them."""
        data = self.rng.randbytes(rows * self.row)
        self.rows.extend(int.from_bytes(data[k : k + self.row], "little") for k in range(0, len(data), self.row))
        good = max(0, min(len(data), WRITES - BROKEN - address))
        self.image[address : address + good] = data[:good]
        self.writing.append(good < len(data))

    def take_row(self):
        dut = self.dut
        address, rows, index = self.reading.popleft()
        at = address + index * self.row
        words = [broken(a) for a in range(at, at + self.row, self.word)]
        assert int(dut.s_axi_rresp.value) == (2 if any(words) else 0)
        assert bool(dut.s_axi_rlast.value) == (index == rows - 1)
        if not any(words):
            assert int(dut.s_axi_rdata.value) == int.from_bytes(self.image[at : at + self.row], "little")
        self.read_errors += any(words)
        self.rows_moved += 1
        self.reads_done += index == rows - 1
        if index < rows - 1:
            self.reading.appendleft((address, rows, index + 1))

    async def drain(self, reads: bool = True, writes: bool = True, limit: int = 20000):
        """Waits for what was asked; with `reads` or `writes` False the machine takes no such response."""
        for _ in range(limit):
            await self.cycle(0, 0, 0, float(reads), float(writes))
            left = (reads and (self.asked or self.reading)) or (writes and (self.told or self.rows or self.writing))
            if not left:
                return
        raise AssertionError("bursts left unanswered")

    def check_memory(self):
        """What was written is in memory, and nothing else changed, where memory is."""
        assert self.memory.read(BASE, READS) == self.image[:READS]
        size = WRITES - BROKEN - READS
        assert self.memory.read(BASE + READS, size) == self.image[READS : READS + size]


@cocotb.test()
async def random_traffic(dut):
    """All clocks, with and without stalls and errors, and a reset in the middle of traffic before each."""
    bench, errors = Bench(dut, 1), [0, 0]
    for memory in MEMORIES:
        await bench.clock(memory)
        for share, ready, faulty, cycles in ((0.0, 1.0, 0.0, 150), (0.3, 0.5, 0.5, FAULTY_CYCLES)):
            bench.stall(share)
            for _ in range(cycles):
                await bench.cycle(0.5, 0.5, faulty, ready, ready)
        await bench.drain()
        bench.check_memory()
        assert bench.reads_done > 8
        assert bench.writes_done > 8
        errors = [errors[0] + bench.read_errors, errors[1] + bench.write_errors]
        for _ in range(40):
            await bench.cycle(0.5, 0.5, 0.0, 1.0, 1.0)
    assert min(errors) > 10


@cocotb.test()
async def directions_do_not_wait_for_each_other(dut):
    """A machine that takes no rows still gets its writes done; one that takes no acknowledgements, its reads."""
    bench = Bench(dut, 2)
    for reads in (False, True):
        await bench.clock(MEMORIES[0])
        bench.stall(0.0)
        for _ in range(200):
            await bench.cycle(1.0, 1.0, 0.0, float(reads), float(not reads))
        await bench.drain(reads, not reads)
        assert (bench.reads_done, bench.writes_done)[reads] == 0
        assert (bench.reads_done, bench.writes_done)[not reads] > 4
        await bench.drain()
        bench.check_memory()


@cocotb.test()
async def full_rate(dut):
    """Reads run at the rate of the slower side: a row per core cycle or a word per memory cycle."""
    bench = Bench(dut, 3)
    # The public model pauses between bursts; long ones keep that small.
    bench.burst = lambda *_: (4096 * bench.rng.randrange(12), 4096 // bench.row)
    for memory in MEMORIES:
        await bench.clock(memory)
        bench.stall(0.0)
        for _ in range(100):
            await bench.cycle(1.0, 0.0, 0.0, 1.0, 1.0)
        rows, words, cycles = bench.rows_moved, bench.words_moved, 300
        for _ in range(cycles):
            await bench.cycle(1.0, 0.0, 0.0, 1.0, 1.0)
        rows, words = bench.rows_moved - rows, bench.words_moved - words
        assert rows > 0.9 * cycles or words > 0.9 * cycles * CORE / memory


@pytest.mark.parametrize(
    ("row", "port", "longest", "slices"),
    [
        (512, 256, 256, 1),
        pytest.param(512, 512, 16, 0, marks=pytest.mark.long),
        pytest.param(1024, 256, 256, 2, marks=pytest.mark.long),
        pytest.param(1024, 512, 32, 1, marks=pytest.mark.long),
        # 128 lanes packed to 54 bits.
        pytest.param(6912, 256, 256, 1, marks=pytest.mark.long),
    ],
)
def test_rf_axi_bridge(row, port, longest, slices):
    shape = {"RowW": row, "PortW": port, "AddrW": 40, "MaxWords": longest, "Slices": slices}
    run("rf_axi_bridge", shape, __file__, build_args=PORTS_ONLY, env=LOG)
