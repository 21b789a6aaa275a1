# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""aes_top: a register that is written around the start is either seen by the run, or refused and kept."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from runner import run

from ringforge.hw.core.registers import Register, field

LOG_N, INSTRUCTIONS = 0x100, 0x104
OKAY, SLVERR = 0, 2
BAD = 17  # a length that it does not take


class Host:
    """The control port; memory behind the others never answers."""

    def __init__(self, dut):
        self.dut = dut
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    async def reset(self) -> None:
        dut = self.dut
        for name in ("awvalid", "wvalid", "arvalid"):
            getattr(dut, f"s_axil_{name}").value = 0
        dut.s_axil_bready.value = dut.s_axil_rready.value = 1
        for name in (
            "arready",
            "rid",
            "rdata",
            "rresp",
            "rlast",
            "rvalid",
            "awready",
            "wready",
            "bid",
            "bresp",
            "bvalid",
        ):
            getattr(dut, f"m_axi_{name}").value = 0
        for level in (0, 0, 1):
            dut.rst_ni.value = level
            await FallingEdge(dut.clk_i)

    async def write(self, *accesses: tuple[int, int], gap: int = 0) -> list[int]:
        """Writes that follow each other as fast as they are taken, or `gap` cycles later; the answers."""
        dut, answers = self.dut, list[int]()
        todo = {"aw": list(accesses), "w": list(accesses)}
        wait = 0
        while len(answers) < len(accesses):
            for channel in ("aw", "w"):
                there = bool(todo[channel]) and (wait == 0 or len(todo[channel]) == len(accesses))
                getattr(dut, f"s_axil_{channel}valid").value = there
                address, value = todo[channel][0] if todo[channel] else (0, 0)
                if channel == "aw":
                    dut.s_axil_awaddr.value = address
                else:
                    dut.s_axil_wdata.value, dut.s_axil_wstrb.value = value, 15
            await ReadOnly()
            for channel in ("aw", "w"):
                if int(getattr(dut, f"s_axil_{channel}valid").value) and int(
                    getattr(dut, f"s_axil_{channel}ready").value
                ):
                    todo[channel].pop(0)
                    if channel == "w" and len(todo["w"]) == len(accesses) - 1:
                        wait = gap + 1
            if int(dut.s_axil_bvalid.value):
                answers.append(int(dut.s_axil_bresp.value))
            wait = max(wait - 1, 0)
            await FallingEdge(dut.clk_i)
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
        return answers

    async def read(self, address: int) -> int:
        dut = self.dut
        dut.s_axil_araddr.value, dut.s_axil_arvalid.value = address, 1
        value, taken = None, False
        while value is None:
            await ReadOnly()
            taken = bool(int(dut.s_axil_arready.value))
            if int(dut.s_axil_rvalid.value):
                value = int(dut.s_axil_rdata.value)
            await FallingEdge(dut.clk_i)
            if taken:
                dut.s_axil_arvalid.value = 0
        return value


@cocotb.test()
async def writes_around_the_start(dut):
    host = Host(dut)
    start = (int(Register.CTRL), field("CTRL", "START").mask)
    seen = set()
    for before in (False, True):
        for gap in range(6):
            await host.reset()
            assert await host.write((LOG_N, 6), (INSTRUCTIONS, 1)) == [OKAY, OKAY]
            order = [(LOG_N, BAD), start] if before else [start, (LOG_N, BAD)]
            answers = await host.write(*order, gap=gap)
            taken = answers[0 if before else 1] == OKAY
            for _ in range(30):
                await FallingEdge(dut.clk_i)
            assert await host.read(LOG_N) == (BAD if taken else 6)
            code = await host.read(int(Register.ERROR)) & 0xFF
            assert code == (4 if taken else 0), "a run goes on with a length that it has not looked at"
            seen.add(taken)
    assert seen == {True, False}


def test_registers_around_the_start():
    sizes = {"Engine": 1, "Lanes": 8, "Ports": 1, "MinLogN": 6, "MaxLogN": 7, "BurstRows": 4, "ReadRows": 8, "Twin": 1}
    run("aes_top", sizes, __file__)
