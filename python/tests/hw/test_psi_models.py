# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the published pipeline of gates and private set intersection, against RTL and integers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.machines.psi.closed_form import Timing
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.draws import FITTED, LARGE, MACHINES, Draw, cases
from ringforge.hw.machines.psi.program import Code, Command, execute, product, step
from ringforge.hw.machines.psi.replica import Registers, run, run_queue
from ringforge.hw.machines.psi.validation import validate_draw

DRAWN = cases()
REPLICA, CLOSED = 0.02, 0.02


def one_of_each() -> list[Draw]:
    """The fresh case of each kind on each machine that is the shortest."""
    fresh = sorted((d for d in DRAWN if not d.fitted and d.machine in MACHINES), key=lambda d: d.count * d.products)
    found = {(d.machine, d.kind): d for d in reversed(fresh)}
    return sorted(found.values(), key=lambda d: d.number)


@pytest.mark.parametrize("draw", one_of_each(), ids=lambda d: f"{d.number}")
def test_models_against_rtl(draw: Draw) -> None:
    found = validate_draw(draw)[0]
    assert abs(found.replica_error) <= REPLICA, found
    assert abs(found.closed_error) <= CLOSED, found
    assert found.traffic_equal


@pytest.mark.long
def test_every_case_against_rtl() -> None:
    """Where memory never makes ports wait the replica is right to two cycles."""
    found = [validate_draw(draw)[0] for draw in DRAWN]
    assert sum(not v.fitted for v in found) >= len(found) / 2
    for v, draw in zip(found, DRAWN, strict=True):
        assert abs(v.replica_error) <= REPLICA, v
        assert abs(v.closed_error) <= CLOSED, v
        assert v.traffic_equal, v
        if draw.rate >= 4:
            assert abs(v.replica - v.cycles) <= 2, v


def test_what_is_drawn() -> None:
    assert {d.kind for d in DRAWN[FITTED:]} == {"gates", "chains", "products", "substitutions"}
    assert {d.machine for d in DRAWN} == {*MACHINES, *LARGE}
    assert {d.log_n for d in DRAWN} == {7, 8, 10, 11}


@pytest.mark.parametrize(
    ("machine", "log_n", "interval", "milliseconds"),
    [
        ("psi-27", 10, 269, 13.23),
        ("psi-37", 11, 525, 25.9),
        ("psi-27-lean", 10, 256, 13.0),
        ("psi-37-lean", 11, 512, 25.6),
    ],
)
def test_gates_of_the_published_sets(machine: str, log_n: int, interval: int, milliseconds: float) -> None:
    """Twelve gates in turns: each takes n d_r polynomials of 2 dc digits at the stage's interval, and no more."""
    timing = Timing(PsiConfig.named(machine), log_n)
    assert timing.operation(6, 6) == 6 * interval
    assert timing.chains(12, 1024, 6) / 12 / 125e3 <= milliseconds
    for products in (8, 16):
        draw = Draw(0, machine, "gates", log_n, 12, products, (3, 3, 3), 32, 4.0, False)
        assert run(draw.job).cycles == pytest.approx(timing.chains(12, products, 6), rel=0.002)


@pytest.mark.parametrize(
    ("machine", "substitution", "product_us"), [("psi-54", 29.4, 50.4), ("psi-54-lean", 28.7, 49.2)]
)
def test_streams_of_the_lookup(machine: str, substitution: float, product_us: float) -> None:
    """Time between operations of a full stream at N = 2048, 54 bits, six digits, from two lengths."""
    for kind, most in (("substitutions", substitution), ("products", product_us)):
        short, long = (
            run(Draw(0, machine, kind, 11, n, 1, (6, 6, 6), 32, 4.0, False).job).cycles  # type: ignore[arg-type]
            for n in (12, 24)
        )
        assert (long - short) / 12 / 125 <= most


def test_two_inverse_transforms_serve_products_only() -> None:
    """Six digits: 12 polynomials of a product hide half an inverse transform, 7 of a substitution do not."""
    two = Timing(PsiConfig.named("psi-54").model_copy(update={"intts": 2}), 11)
    assert two.operation(12, 12) == 12 * 525
    assert two.operation(7, 6) > 7 * 525


def test_queues_that_cannot_end_are_refused() -> None:
    config, registers = PsiConfig.named("psi-small"), Registers(8, True, 2, 2, 2)
    with pytest.raises(IllegalInstructionError, match="END"):
        run_queue(config, [execute(product(0))], registers)
    with pytest.raises(IllegalInstructionError, match="command 1 waits"):
        run_queue(config, [execute(step(0)), Command(Code.END)], registers)
    with pytest.raises(ParameterError, match="2\\^7 to 2\\^8"):
        run_queue(config, [Command(Code.END)], replace(registers, log_n=9))
    with pytest.raises(ParameterError, match="simple"):
        run_queue(config.model_copy(update={"memory": "hbm2"}), [Command(Code.END)], registers)


def test_settings_change_within_a_queue() -> None:
    """A queue that sets the degree takes as long as runs of both parts, less what one run's start takes."""
    config = PsiConfig.named("psi-small")
    work = [Command(Code.INPUT, 0), execute(product(0, last=True)), Command(Code.OUTPUT, 0)]
    end = [Command(Code.END)]
    both = run_queue(config, [*work, Command(Code.SET, 0x104, 7), *work, *end], Registers(8, True, 2, 2, 2))
    long, short = (run_queue(config, [*work, *end], Registers(n, True, 2, 2, 2)) for n in (8, 7))
    assert short.cycles < long.cycles < both.cycles < long.cycles + short.cycles
    assert both.polynomials == long.polynomials + short.polynomials
    assert both.key_bytes == long.key_bytes + short.key_bytes
