# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the streaming accelerator, against RTL and against counts."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge._native import psi
from ringforge.devices import KeySet, Progress, open_device
from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi_wide.closed_form import Timing
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.draws import FITTED, LARGE, LATENCIES, SMALL, Draw, cases
from ringforge.hw.machines.psi_wide.layout import Setup
from ringforge.hw.machines.psi_wide.model_device import Modelled
from ringforge.hw.machines.psi_wide.program import Program
from ringforge.hw.machines.psi_wide.replica import run
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, Simulated
from ringforge.hw.machines.psi_wide.validation import validate_draw
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
from ringforge.psi.table import Arrays
from tests.hw.test_psi_wide import SMALL_PRIME, lookup_plan, run_gates, run_lookup, seed

DRAWN = cases()
#: Largest error of the closed form, where it claims to hold. The replica is to be right to the cycle.
CLOSED = 0.05


class Kept(Executor):
    """What an executor says of the last run."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.said: tuple[int | None, dict[str, int]] = None, {}

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        cycles = self.executor.run(setup, program, memory, progress)
        self.said = cycles, memory.moved
        return cycles


def replica(draw: Draw) -> int:
    made = draw.made()
    return run(draw.config, draw.log_n, [g.count for g in made.setup.gadgets], made.program).cycles


def hold(draw: Draw) -> None:
    found = validate_draw(draw)[0]
    assert found.replica == found.cycles, found
    assert found.traffic_equal, found
    assert found.closed_error is None or abs(found.closed_error) <= CLOSED, found


def one_of_each() -> list[Draw]:
    """The fresh case of each kind on the small machine that is the shortest."""
    fresh = [d for d in DRAWN if not d.fitted and d.machine == SMALL]
    found = {d.kind: d for d in sorted(fresh, key=lambda d: -d.count * d.products)}
    return sorted(found.values(), key=lambda d: d.number)


@pytest.mark.parametrize("draw", one_of_each(), ids=lambda d: f"{d.number}")
def test_models_against_rtl(draw: Draw) -> None:
    hold(draw)


@pytest.mark.long
def test_every_case_against_rtl() -> None:
    for draw in DRAWN:
        hold(draw)


def test_what_is_drawn() -> None:
    assert sum(not d.fitted for d in DRAWN) >= len(DRAWN) / 2
    assert {d.kind for d in DRAWN[FITTED:]} == {"gates", "stream", "program"}
    assert {d.machine for d in DRAWN} == {SMALL, *LARGE}
    assert {d.latency for d in DRAWN} == set(LATENCIES)
    assert {d.log_n for d in DRAWN} == {8, 9, 10, 11}


@pytest.mark.parametrize(
    ("machine", "log_n", "digits"), [("psi-wide", 10, (2, 2)), ("psi-wide-32", 10, (2, 2)), ("psi-wide-32", 11, (1, 1))]
)
def test_products_in_turns_take_their_transforms(machine: str, log_n: int, digits: tuple[int, int]) -> None:
    """Sixteen chains never wait: between two lengths lie digits, or inverse transforms at half the rate."""
    config = WideConfig.named(machine)
    few, many = (replica(Draw(0, machine, "gates", log_n, 16, n, digits, 32, False)) for n in (4, 12))
    each = max(sum(digits), 4) * (1 << log_n) // config.lanes
    assert Timing(config, log_n).operation(digits) == each
    assert (many - few) / (16 * 8) == pytest.approx(each, rel=1e-3)


def test_a_chain_alone_waits_for_itself() -> None:
    """Its products follow each other by the latency that the closed form counts."""
    few, many = (replica(Draw(0, "psi-wide", "gates", 10, 1, n, (2, 2), 32, False)) for n in (10, 20))
    assert (many - few) / 10 == Timing(WideConfig.named("psi-wide"), 10).latency((2, 2))


@pytest.mark.parametrize("kind", ["gates", "stream"])
def test_closed_form_beyond_the_drawn_cases(kind: str) -> None:
    """Against the replica, over machines, latencies and digits."""
    for machine, log_n in ((SMALL, 8), ("psi-wide", 10), ("psi-wide-54", 11)):
        for latency in (8, 250):
            for count, products in ((1, 12), (5, 8), (14, 4)):
                for digits in ((1, 3), (3, 2)):
                    one = 1 if kind == "stream" else products
                    draw = Draw(0, machine, kind, log_n, max(count, 3), one, digits, latency, False)  # type: ignore[arg-type]
                    assert draw.closed_form() == pytest.approx(replica(draw), rel=CLOSED), draw


def test_what_the_replica_does_not_time() -> None:
    config, program = WideConfig.named(SMALL), Program()
    with pytest.raises(ParameterError, match="2\\^8 to 2\\^9"):
        run(config, 10, (2,), program)
    for change in ({"memory": "hbm2"}, {"dram_bytes_per_second": 7e9}):
        with pytest.raises(ParameterError, match="take device rtl:psi-wide-small"):
            run(config.model_copy(update=change), 8, (2,), program)
    program.product(0, row=0, gadgets=(1,), target=0)
    for digits in ((2,), (2, 0)):
        with pytest.raises(IllegalInstructionError, match="gadget 1 of"):
            run(config, 8, digits, program)
    nothing = Program()
    nothing.load(0, first=0, count=0)
    with pytest.raises(IllegalInstructionError, match="instruction 0, LOAD: a count of 0"):
        run(config, 8, (2,), nothing)


def test_a_modelled_lookup_takes_what_it_takes_in_rtl() -> None:
    """Cycles, and bytes by what they are of, of a program of all instructions; results are the library's on both."""
    config, plan = WideConfig.named(SMALL), lookup_plan(8, SMALL_PRIME, 1, 10, 0, 1)
    with Simulation(config, optimise="-O1") as sim:
        simulated, modelled = Kept(Simulated(sim)), Kept(Modelled())
        for executor in (simulated, modelled):
            run_lookup(plan, config, executor)
    assert modelled.said == simulated.said
    assert modelled.said[1]["keys"] > 0


@pytest.mark.long
def test_modelled_gates_take_what_they_take_in_rtl() -> None:
    config = WideConfig.named("psi-wide")
    with Simulation(config, optimise="-O1") as sim:
        simulated, modelled = Kept(Simulated(sim)), Kept(Modelled())
        for executor in (simulated, modelled):
            run_gates("gates-128", config, executor, 6, 5)
    assert modelled.said == simulated.said


def test_a_model_answers_queries() -> None:
    plan = lookup_plan(8, SMALL_PRIME, 1, 9, 0, 1)
    client = psi.ClientKey(plan, seed(1))
    words = np.array([[5], [3], [6]], np.uint16)
    arrays = Arrays(np.array([0, 2, 3], np.uint64), np.array([7, 300, 511], np.uint32), words, np.zeros(0, np.uint16))
    device = open_device("model:psi-wide-small")
    keys = KeySet(own=(LookupKeys(client.evaluation_keys()),))
    handle = device.prepare(LookupKernel(plan), keys, LookupTable(plan, arrays))
    (reply,), report = device.run(handle, [client.query(np.array([300, 510], np.uint32))])
    assert len(reply) == plan.reply_bytes
    assert report.device == "model:psi-wide-small"
    assert report.cycles
    assert report.seconds == report.cycles / 125e6
    with pytest.raises(ParameterError, match="algorithm ringforge"):
        device.prepare(LookupKernel(lookup_plan(8, SMALL_PRIME, 1, 9, 0, 0, "paper")), keys, None)
