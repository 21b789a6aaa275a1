# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_queue: every command reaches its unit, once and in order; what is no command ends the run; no more is read."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from runner import run

END, EXEC, INPUT, OUTPUT, TABLES, SET = range(6)
NONE, SETTINGS, COMMAND, STUCK = 0, 1, 3, 4
PROGRAM, QUIET, KNOWN, LOG_N = 0x5000, 200, 0x108, 0x104
UNITS = {EXEC: "instr", INPUT: "input", OUTPUT: "output", TABLES: "tables"}


def word(code: int, value: int = 0) -> int:
    return code << 60 | value


class Bench:
    """Memory that answers late, units that take at random, and what they have taken."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng = dut, random.Random(seed)
        self.taken: list[tuple[int, int]] = []
        self.read: list[int] = []
        self.idle, self.give = 1.0, 0.5
        dut.rst_ni.value = 0
        for name in (
            "start_i",
            "halt_i",
            "host_valid_i",
            "rd_ready_i",
            "rsp_valid_i",
            "moved_i",
            "idle_i",
            "bad_i",
            "empty_i",
        ):
            getattr(dut, name).value = 0
        for name in UNITS.values():
            getattr(dut, f"{name}_ready_i").value = 0
        dut.program_i.value = PROGRAM
        dut.host_i.value = 0

    async def reset(self) -> None:
        for level in (0, 1):
            self.dut.rst_ni.value = level
            await FallingEdge(self.dut.clk_i)

    async def run(self, commands: list[int], limit: int = 3000, host: bool = False) -> int:
        """The error that a run ends with, or -1 after so many cycles."""
        dut, rng = self.dut, self.rng
        self.taken, self.read = [], []
        waiting: list[tuple[int, int]] = []  # beats to give: when, and which
        dut.polled_i.value = host
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        given, still, taking = 0, False, False
        for cycle in range(limit):
            if not int(dut.running_o.value) or int(dut.error_o.value):
                return int(dut.error_o.value)
            for name in UNITS.values():
                getattr(dut, f"{name}_ready_i").value = rng.random() < self.give
            # Once idle it stays so until something is taken, as the machine's units do.
            still = (still and not taking) or rng.random() < self.idle
            dut.idle_i.value = still
            dut.rd_ready_i.value = rng.random() < 0.7
            dut.rsp_valid_i.value = bool(waiting) and waiting[0][0] <= cycle
            if waiting and waiting[0][0] <= cycle:
                beat = waiting.pop(0)[1]
                words = [commands[beat * 8 + i] if beat * 8 + i < len(commands) else word(15) for i in range(8)]
                dut.rsp_data_i.value = sum(w << 64 * i for i, w in enumerate(words))
            if host:
                dut.host_valid_i.value = given < len(commands)
                dut.host_i.value = commands[given] if given < len(commands) else 0
            dut.set_known_i.value = 0
            # Combinational outputs settle within the half cycle.
            await Timer(1, "ns")
            dut.set_known_i.value = int(dut.set_addr_o.value) in (KNOWN, LOG_N)
            await Timer(1, "ns")
            taking = False
            for code, name in UNITS.items():
                if int(getattr(dut, f"{name}_valid_o").value) and int(getattr(dut, f"{name}_ready_i").value):
                    value = dut.instr_o if code == EXEC else dut.address_o
                    self.taken.append((code, int(value.value)))
                    taking = True
            if int(dut.set_valid_o.value):
                assert int(dut.set_addr_o.value) in (KNOWN, LOG_N)
                self.taken.append((SET, int(dut.set_data_o.value)))
                taking = True
            if int(dut.host_ready_o.value):
                given += 1
            if int(dut.rd_valid_o.value) and int(dut.rd_ready_i.value):
                address = int(dut.rd_addr_o.value)
                self.read.append(address)
                waiting.append((cycle + rng.randrange(1, 30), (address - PROGRAM) // 64))
            dut.moved_i.value = bool(waiting)
            await FallingEdge(dut.clk_i)
        return -1

    def expect(self, commands: list[int]) -> None:
        wanted = [(w >> 60, w & (1 << 48) - 1 if w >> 60 != SET else w & 0xFFFFFFFF) for w in commands if w >> 60]
        assert self.taken == wanted


def program(rng: random.Random, count: int) -> list[int]:
    found = []
    for _ in range(count):
        code = rng.choice([EXEC, EXEC, EXEC, INPUT, OUTPUT, TABLES, SET])
        value = rng.getrandbits(32) if code in (EXEC, SET) else rng.getrandbits(36) << 12
        found.append(word(code, value | (KNOWN << 48 if code == SET else 0)))
    return found


async def begin(dut, seed: int) -> Bench:
    Clock(dut.clk_i, 10, "ns").start(start_high=False)
    bench = Bench(dut, seed)
    await bench.reset()
    return bench


@cocotb.test()
async def order(dut):
    bench = await begin(dut, 1)
    for count, bench.idle, bench.give in ((1, 1, 1), (7, 0.1, 0.5), (8, 1, 1), (9, 0.3, 0.3), (40, 0.05, 0.2)):
        for host in (False, True):
            commands = [*program(bench.rng, count), word(END)]
            assert await bench.run(commands, host=host) == NONE
            bench.expect(commands)
            # Whole beats up to the one with End, and none of a polled run.
            beats = 0 if host else len(commands) // 8 + (len(commands) % 8 > 0)
            assert bench.read == [PROGRAM + 64 * k for k in range(beats)]


@cocotb.test()
async def refusals(dut):
    bench = await begin(dut, 2)
    bad = [
        word(6), word(15, 1), word(END, 1), word(EXEC, 1 << 32), word(INPUT, 0x800), word(OUTPUT, 1 << 48 | 0x1000),
        word(TABLES, 64), word(SET, 0x110 << 48), word(SET, KNOWN << 48 | 1 << 40),
    ]  # fmt: skip
    for command in bad:
        before = program(bench.rng, 3)
        assert await bench.run([*before, command, *program(bench.rng, 4), word(END)]) == COMMAND, hex(command)
        bench.expect(before)
        await bench.reset()
    dut.bad_i.value = 1
    for code in UNITS:
        assert await bench.run([word(SET, KNOWN << 48), word(code), word(END)]) == SETTINGS
        bench.expect([word(SET, KNOWN << 48)])
        await bench.reset()
    dut.bad_i.value = 0
    # The degree does not change while an RLWE is left.
    assert await bench.run([word(EXEC, 1), word(SET, LOG_N << 48 | 8), word(END)]) == COMMAND
    bench.expect([word(EXEC, 1)])
    await bench.reset()
    dut.empty_i.value = 1
    assert await bench.run([word(SET, LOG_N << 48 | 8), word(END)]) == NONE
    # What a run has left does not end the next one.
    assert await bench.run([word(EXEC, 5), word(END)]) == NONE


@cocotb.test()
async def stuck(dut):
    bench = await begin(dut, 3)
    bench.give = 0.0
    assert await bench.run([word(EXEC, 5), word(END)], limit=QUIET - 50) == -1
    await bench.reset()
    assert await bench.run([word(EXEC, 5), word(END)]) == STUCK
    await bench.reset()
    bench.give, bench.idle = 1.0, 0.0
    assert await bench.run([word(END)]) == STUCK
    await bench.reset()
    # A host that has no command to give is waited for.
    assert await bench.run([], limit=3 * QUIET, host=True) == -1


def test_psi_queue():
    run("psi_queue", {"Quiet": QUIET}, __file__, build_args=["-Wno-UNUSEDPARAM"])
