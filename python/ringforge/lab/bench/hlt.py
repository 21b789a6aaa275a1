# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One linear transform by each schedule: time, ciphertext traffic, working set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.table import Table

from ringforge import _native, ckks
from ringforge.lab.bench.answers import HltLine, Measured
from ringforge.lab.timing import Machine, timed
from ringforge.matmul.cost import split_steps
from ringforge.matmul.engine import diagonals
from ringforge.matmul.slots import SlotMatrix
from ringforge.params import Parameters

SCHEDULES = ("naive", "hoisted", "mo", "bsgs")


def sigma_like(slots: int, count: int) -> SlotMatrix:
    """A map with `count` diagonals, 0 among them, each with entries in every `count`-th slot: one entry in a row."""
    target = np.arange(slots, dtype=np.int64)
    return SlotMatrix(slots, target, (target + target % count * 3) % slots, np.ones(slots))


def measure(
    params: Parameters, count: int, schedules: Sequence[str] = SCHEDULES, threads: int = 1
) -> Iterator[HltLine]:
    """Runs a transform of `count` diagonals at the highest level by each schedule.

    Args:
        params: the parameter set.
        count: diagonals; a key for each is made, which at large sets takes memory.
        schedules: of SCHEDULES.
        threads: of the run; traffic and working set are meant for one.
    """
    machine, session = Machine(), ckks.Session(params, threads)
    level, limb = params.max_level, 8 * params.degree
    matrix = sigma_like(params.slots, count)
    x = np.random.default_rng(1).uniform(-1, 1, params.slots)
    c = session.encrypt(x)
    exact = matrix.apply(x)
    beta = -(-(level + 1) // params.limbs_per_digit)
    for name in schedules:
        babies = split_steps(session.context, matrix.steps, level) if name == "bsgs" else matrix.steps
        hlt = _native.Hlt(
            session.context,
            diagonals(matrix),
            level,
            getattr(_native.Schedule, name),
            np.ascontiguousarray(babies, dtype=np.uint32),
        )
        hlt.encode(c.scale, c.scale, 1.0, False, threads)
        session.add_rotation_keys(hlt.steps)
        hlt.run(c, session.galois_keys, threads)
        before = _native.word_memory().now
        _native.reset_word_memory()
        with _native.counting() as did:
            taken, out = timed(lambda h=hlt: h.run(c, session.galois_keys, threads))  # type: ignore[misc]
        t = did.traffic
        yield HltLine(
            params=params.name,
            diagonals=count,
            schedule=name,
            wall_seconds=taken.wall,
            cpu_seconds=taken.cpu,
            machine=Measured(**machine.around()),
            read=t.read,
            written=t.written,
            spilled=t.spilled,
            working=t.working,
            held_out=t.held_out,
            allocated=_native.word_memory().most - before,
            equation_24=(2 * (level + 1) + beta + 1) * limb,
            max_error=float(np.abs(session.decrypt(out) - exact).max()),
            error_bound=out.error_bound,
        )


def table(params: Parameters, count: int, rows: Sequence[HltLine]) -> Table:
    """The rows for people. Keys and encoded diagonals, which stream by once, are not ciphertext traffic."""
    limb = 8 * params.degree
    made = Table(
        title=f"{count} diagonals at {params.name}: N = 2^{params.log_n}, {len(params.q)} + {len(params.p)} limbs of "
        f"{limb / 2**20:.3g} MiB"
    )
    for name in (
        "schedule",
        "wall",
        "processor",
        "ciphertext read",
        "written",
        "of it spilled",
        "working set",
        "Eq. 24",
        "outputs, spilled",
        "allocated",
        "error",
        "bound",
    ):
        made.add_column(name, justify="left" if name == "schedule" else "right", no_wrap=True)

    def size(n: int) -> str:
        return f"{n / 1e9:.3g} GB" if n >= 1e9 else f"{n / 1e6:.3g} MB"

    for r in rows:
        made.add_row(
            r.schedule,
            f"{r.wall_seconds:.3g} s",
            f"{r.cpu_seconds:.3g} s",
            size(r.read),
            size(r.written),
            size(r.spilled) if r.working else "-",
            f"{r.working / limb:.0f} limbs" if r.working else "-",
            f"{r.equation_24 / limb:.0f} limbs" if r.working else "-",
            f"{r.held_out / limb:.0f} limbs" if r.working else "-",
            size(r.allocated),
            f"{r.max_error:.1e}",
            f"{r.error_bound:.1e}",
        )
    return made
