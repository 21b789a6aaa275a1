# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory with banks, rows and refresh: figures, schedules counted by hand, and the simulated machine against them."""

from __future__ import annotations

from typing import Any

import pytest

from ringforge.hw.core.memory import DEVICES, KINDS, STRIPE, UNIT, Timing
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import replica
from ringforge.hw.vector.replica_dram import Dram
from ringforge.hw.vector.replica_memory import Events
from tests.hw.random_programs import RandomPrograms

SMALL = MatvecConfig.named("matvec-small")
PROGRAMS = 0x40000000
#: Round numbers: a beat of 64 bytes takes 2 cycles, 2 channels of 4 banks of 8 KiB rows, requests need 10 cycles.
PLAIN = Timing(
    channels=2, banks=4, row_bytes=8192, front=10 * UNIT, pace=2 * UNIT, cl=4 * UNIT, rcd=5 * UNIT, rp=6 * UNIT,
    ras=20 * UNIT, wr=7 * UNIT, turnaround=3 * UNIT, refi=10_000 * UNIT, rfc=100 * UNIT,
)  # fmt: skip
#: Addresses of consecutive rows of one bank of channel 0.
ROW = 2 * 4 * 8192


def of_kind(kind: str, **changes: Any) -> MatvecConfig:
    return MatvecConfig.model_validate({**SMALL.model_dump(), "memory": kind, **changes})


def dram(**changes: int) -> Dram:
    return Dram(Events(), Timing(**{**PLAIN.__dict__, **changes}), 64)


def schedule(d: Dram, now: int, address: int, beats: int = 8, write: bool = False) -> float:
    return d.schedule(now * UNIT, address, beats, write) / UNIT


def test_rows() -> None:
    d = dram()
    # A closed bank: front, activate, column.
    assert schedule(d, 0, 0) == 10 + 5 + 4
    # The open row, once the bus is free; data of 8 beats have taken 16 cycles.
    assert schedule(d, 1, 4096 * 2) == 19 + 16
    # Later the row is still open.
    assert schedule(d, 100, 0) == 100 + 10 + 4
    # Another row of the bank: precharge first, and not before the last data are through.
    assert schedule(d, 101, ROW) == 130 + 6 + 5 + 4
    # Soon after that, a third one waits for tRAS besides.
    short = dram(ras=50 * UNIT)
    assert schedule(short, 0, 0, 1) == 19
    assert schedule(short, 0, ROW, 1) == 10 + 50 + 6 + 5 + 4


def test_banks_and_channels_work_beside_each_other() -> None:
    d = dram()
    assert schedule(d, 0, 0) == 19
    # The next bank opens its row while the first one's data move.
    assert schedule(d, 0, 2 * 8192) == 19 + 16
    # The next stripe is on the other channel.
    assert schedule(d, 0, STRIPE) == 19


def test_a_burst_over_several_rows_waits_for_the_first() -> None:
    d = dram(row_bytes=1024)
    # 64 beats of 64 bytes over 4 rows in 4 banks, all opened at once.
    assert schedule(d, 0, 0, 64) == 19
    # The same bank again, another row: 128 cycles of data before that.
    assert schedule(d, 0, 2 * 4 * 1024 * 4, 64) == 19 + 128 + 6 + 5 + 4


def test_writes() -> None:
    d = dram()
    assert schedule(d, 0, 0, 1) == 19
    assert schedule(d, 0, 0, 1, write=True) == 19 + 2 + 3  # the bus turns round
    # Written data are kept before the row is closed; the bus turns back meanwhile.
    assert schedule(d, 0, ROW, 1) == 24 + 2 + 7 + 6 + 5 + 4


def test_refresh() -> None:
    d = dram()
    assert schedule(d, 0, 0, 1) == 19
    # At 10,000 all rows are closed for 100 cycles.
    assert schedule(d, 9995, 0, 1) == 10_100 + 5 + 4
    # Refreshes that came while nobody asked cost nothing but the open rows.
    assert schedule(d, 55_000, 0, 1) == 55_010 + 5 + 4


def test_figures() -> None:
    ddr4, hbm2 = Timing.of(of_kind("ddr4-2400", dram_bytes_per_second=77e9)), Timing.of(of_kind("hbm2"))
    assert Timing.of(SMALL) is None
    assert ddr4 is not None
    assert hbm2 is not None
    # Four channels of a U200, 32 pseudo channels.
    assert (ddr4.channels, hbm2.channels) == (4, 32)
    cycle = 1e9 / SMALL.clock_hz
    assert ddr4.rcd / UNIT * cycle == pytest.approx(14.16, rel=0.01)
    assert ddr4.rfc / UNIT * cycle == pytest.approx(350, rel=0.01)
    assert hbm2.refi / UNIT * cycle == pytest.approx(3900, rel=0.01)
    for timing, rate in ((ddr4, 19.2e9), (hbm2, 450e6 * 32)):
        beats = UNIT / timing.pace * SMALL.clock_hz
        assert beats * SMALL.row_bytes == pytest.approx(rate, rel=0.01)
        # An access to an idle bank takes the configuration's latency.
        d = Dram(Events(), timing, SMALL.row_bytes)
        assert d.schedule(0, 0, 1, False) + timing.pace == SMALL.dram_latency * UNIT
    assert set(KINDS) == {"simple", *DEVICES}


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_take_the_replica_s_cycles(kind: str) -> None:
    """With little latency, so that what memory adds is seen."""
    config = of_kind(kind, dram_latency=20, dram_bytes_per_second=8e9)
    with Simulation(config, optimise="-O1") as sim:
        for seed in range(8):
            case = RandomPrograms(config, seed)
            words = case.encoded()
            image, stride = place_programs(words)
            sim.reset()  # the arbiters of the ports remember the last run
            sim.unmap_all()
            sim.map_dram(case.memory())
            sim.map(PROGRAMS, image)
            expected = replica.run(config, words, base=PROGRAMS, stride=stride).cycles
            assert sim.run(PROGRAMS, stride) == expected, f"seed {seed}"


@pytest.mark.parametrize("kind", KINDS)
def test_runs_are_alike_whatever_went_before(kind: str) -> None:
    """Short of bandwidth, on one machine: turns, tokens, rows and refreshes start anew with each run."""
    config = of_kind(kind, dram_bytes_per_second=5e9)
    case = RandomPrograms(config, 3)
    image, stride = place_programs(case.encoded())
    taken = set()
    with Simulation(config, optimise="-O1") as sim:
        for idle in (0, 1, 2, 4321):
            sim.reset()
            sim.advance(idle)
            sim.unmap_all()
            sim.map_dram(case.memory())
            sim.map(PROGRAMS, image)
            taken.add(sim.run(PROGRAMS, stride))
    assert len(taken) == 1
