# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_buffer and aes_memories: wide and narrow accesses against Python lists, memories as synthesis has them and as
simulation does."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from modular import parameter
from runner import run

NARROW = 8


def word(rng: random.Random) -> int:
    return rng.getrandbits(32)


@cocotb.test()
async def reads_give_what_was_written(dut):
    """A read and a write a cycle, each wide or narrow, of different rows; masks of any words."""
    rng = random.Random(1)
    lanes, rows = parameter("Lanes", 16), 1 << parameter("RowW", 2)
    groups = lanes // NARROW
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    held = [[word(rng) for _ in range(lanes)] for _ in range(rows)]
    for name in ("wide_re_i", "wide_we_i", "re_i", "we_i"):
        getattr(dut, name).value = 0
    await FallingEdge(dut.clk_i)
    for row in range(rows):
        dut.wide_we_i.value, dut.wide_waddr_i.value, dut.wide_wmask_i.value = 1, row, (1 << lanes) - 1
        dut.wide_wdata_i.value = held[row]
        await FallingEdge(dut.clk_i)
    asked: list[tuple[bool, list[int]] | None] = [None, None]
    for _ in range(600):
        read, write = rng.choice(["wide", "narrow", ""]), rng.choice(["wide", "narrow", "masked", ""])
        row, at = rng.randrange(rows), rng.randrange(rows)
        if at == row:
            write = ""
        group, part = rng.randrange(groups), rng.randrange(groups)
        dut.wide_re_i.value, dut.re_i.value = read == "wide", read == "narrow"
        dut.wide_raddr_i.value = row
        dut.raddr_i.value = row * groups + group
        asked.append(None)
        if read:
            asked[-1] = (read == "wide", held[row] if read == "wide" else held[row][NARROW * group :][:NARROW])
            asked[-1] = (asked[-1][0], list(asked[-1][1]))
        mask = (1 << lanes) - 1 if write == "wide" else rng.getrandbits(lanes)
        data, narrow = [word(rng) for _ in range(lanes)], [word(rng) for _ in range(NARROW)]
        dut.wide_we_i.value, dut.we_i.value = write in ("wide", "masked"), write == "narrow"
        dut.wide_waddr_i.value, dut.waddr_i.value = at, at * groups + part
        dut.wide_wmask_i.value, dut.wide_wdata_i.value, dut.wdata_i.value = mask, data, narrow
        if write in ("wide", "masked"):
            held[at] = [d if mask >> i & 1 else old for i, (d, old) in enumerate(zip(data, held[at], strict=True))]
        elif write:
            held[at][NARROW * part : NARROW * (part + 1)] = narrow
        await FallingEdge(dut.clk_i)
        then = asked[-2]
        if then is not None:
            got = dut.wide_rdata_o.value if then[0] else dut.rdata_o.value
            assert [int(x) for x in got] == then[1]


class Users:
    """aes_memories with all its users, each on a buffer that no other has in the same cycle."""

    def __init__(self, dut):
        self.dut, self.rng = dut, random.Random(2)
        self.lanes, log_n = parameter("Lanes", 16), parameter("MaxLogN", 6)
        self.rows, self.narrow = (1 << log_n) // self.lanes, (1 << log_n) // NARROW
        n = 1 << log_n
        self.x = [[word(self.rng) for _ in range(n)] for _ in range(4)]
        self.s = [[word(self.rng) for _ in range(n // 2)] for _ in range(4)]
        self.k = [[word(self.rng) for _ in range(n)] for _ in range(2)]

    def idle(self) -> None:
        names = ("x_re_i", "x_we_i", "s_re_i", "k_re_i", "move_s_re_i", "move_x_re_i", "move_x_we_i")
        for name in (*names, "load_s_we_i", "load_x_we_i", "load_k_we_i", "store_re_i"):
            getattr(self.dut, name).value = 0

    async def fill(self) -> None:
        dut = self.dut
        for row in range(self.narrow):
            for b in range(4):
                self.idle()
                dut.load_x_we_i.value, dut.load_x_buf_i.value, dut.load_x_row_i.value = 1, b, row
                dut.load_x_wdata_i.value = self.x[b][NARROW * row :][:NARROW]
                dut.load_k_we_i.value, dut.load_k_slot_i.value, dut.load_k_row_i.value = b < 2, b % 2, row
                dut.load_k_wdata_i.value = self.k[b % 2][NARROW * row :][:NARROW]
                dut.load_s_we_i.value = row < self.narrow // 2
                dut.load_s_slot_i.value, dut.load_s_row_i.value = b, row % (self.narrow // 2)
                dut.load_s_wdata_i.value = self.s[b][NARROW * (row % (self.narrow // 2)) :][:NARROW]
                await FallingEdge(dut.clk_i)

    def cycle(self) -> dict[str, list[int]]:
        """Random accesses of a cycle; what must come of them."""
        dut, rng, wide, narrow = self.dut, self.rng, self.lanes, NARROW
        self.idle()
        want = {}
        reads, writes = rng.sample(range(4), 4), rng.sample(range(4), 4)
        rows = [rng.randrange(self.rows // 2) for _ in range(2)]
        dut.x_re_i.value, dut.x_rbuf_i.value = 3, reads[0] | reads[1] << 2
        dut.x_rrow_i.value = rows[0] | rows[1] << (self.rows - 1).bit_length()
        for p in range(2):
            want[f"x{p}"] = self.x[reads[p]][wide * rows[p] :][:wide]
        row, other = rng.randrange(self.narrow // 2), rng.randrange(self.narrow // 2)
        dut.move_x_re_i.value, dut.move_x_rbuf_i.value, dut.move_x_rrow_i.value = 1, reads[2], row
        dut.store_re_i.value, dut.store_buf_i.value, dut.store_row_i.value = 1, reads[3], other
        want["move_x"], want["store"] = (
            self.x[b][narrow * r :][:narrow] for b, r in ((reads[2], row), (reads[3], other))
        )
        slot, key, at = rng.randrange(4), rng.randrange(2), rng.randrange(self.rows // 2)
        if rng.random() < 0.5:
            dut.s_re_i.value, dut.s_slot_i.value, dut.s_row_i.value = 1, slot, at
            want["s"] = self.s[slot][wide * at :][:wide]
        else:
            dut.move_s_re_i.value, dut.move_s_slot_i.value, dut.move_s_row_i.value = 1, slot, row
            want["move_s"] = self.s[slot][narrow * row :][:narrow]
        dut.k_re_i.value, dut.k_slot_i.value, dut.k_row_i.value = 1, key, at
        want["k"] = self.k[key][wide * at :][:wide]
        want = {name: list(words) for name, words in want.items()}
        # Writes, to rows that are not read in this cycle: the upper halves, and other slots.
        data, mask = [word(rng) for _ in range(wide)], rng.getrandbits(wide)
        at = self.rows // 2 + rng.randrange(self.rows // 2)
        dut.x_we_i.value, dut.x_wbuf_i.value, dut.x_wrow_i.value, dut.x_wmask_i.value = 1, writes[0], at, mask
        dut.x_wdata_i.value = data
        for i in range(wide):
            if mask >> i & 1:
                self.x[writes[0]][wide * at + i] = data[i]
        for name, b in (("move_x", writes[1]), ("load_x", writes[2])):
            self.write(name, "wbuf" if name == "move_x" else "buf", b, self.x[b], self.narrow // 2)
        self.write("load_s", "slot", (slot + 1) % 4, self.s[(slot + 1) % 4], 0)
        self.write("load_k", "slot", 1 - key, self.k[1 - key], 0)
        return want

    def write(self, name: str, which: str, number: int, into: list[int], first: int) -> None:
        dut, rng = self.dut, self.rng
        at = first + rng.randrange(len(into) // NARROW - first)
        words = [word(rng) for _ in range(NARROW)]
        row = "wrow" if name == "move_x" else "row"
        getattr(dut, f"{name}_we_i").value, getattr(dut, f"{name}_{which}_i").value = 1, number
        getattr(dut, f"{name}_{row}_i").value, getattr(dut, f"{name}_wdata_i").value = at, words
        into[NARROW * at : NARROW * (at + 1)] = words

    def check(self, want: dict[str, list[int]]) -> None:
        dut = self.dut
        got = {"move_x": dut.move_x_rdata_o, "store": dut.store_rdata_o, "s": dut.s_rdata_o, "k": dut.k_rdata_o}
        got |= {"move_s": dut.move_s_rdata_o}
        for name, words in want.items():
            value = dut.x_rdata_o.value[int(name[1])] if name in ("x0", "x1") else got[name].value
            assert [int(w) for w in value] == words, name


@cocotb.test()
async def every_user_at_once(dut):
    users = Users(dut)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    dut.rst_ni.value = 1
    await users.fill()
    wanted: list[dict[str, list[int]]] = [{}]
    for _ in range(300):
        wanted.append(users.cycle())
        await FallingEdge(dut.clk_i)
        users.check(wanted[-2])


@pytest.mark.parametrize("packed", [0, 1])
@pytest.mark.parametrize("lanes", [8, 32])
def test_aes_buffer(lanes, packed):
    parameters = {"Lanes": lanes, "RowW": 2, "Packed": packed}
    run("aes_buffer", parameters, __file__, testcase="reads_give_what_was_written")


def test_aes_memories():
    run("aes_memories", {"Lanes": 16, "MaxLogN": 7, "Packed": 1}, __file__, testcase="every_user_at_once")
