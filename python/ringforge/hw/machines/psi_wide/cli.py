# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw cycles psi_wide`: gates and look-ups on the simulated machine, and what they would take on a card."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge._native import fhew
from ringforge.cli.console import console
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.measure import lookup_cost, run_gates
from ringforge.hw.machines.psi_wide.runner import Simulated
from ringforge.psi.planner import choose, shape

#: A run without a beat for so many cycles has come to a stand.
_SILENCE = 1_000_000


def cycles_command(
    machine: Annotated[str, typer.Option(help="Configuration; `ringforge hw list` shows them.")] = "psi-wide",
    params: Annotated[str, typer.Option(help="Parameter set of the gates.")] = "gates-128",
    gates: Annotated[int, typer.Option(min=1, max=256, help="Gates at a time.")] = 16,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each gate's chain, or as many as it has.")] = 64,
    bins: Annotated[
        int | None,
        typer.Option(min=0, max=16, help="A look-up instead: log2 of its bins, for 2^20 elements of 32 bits."),
    ] = None,
    insecure: Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")] = "",
) -> None:
    """Cycles of NANDs, whose results are held against the CPU's; or of a bin of a query.

    Example: `ringforge hw cycles psi_wide --machine psi-wide-54 --bins 14`
    """
    config = WideConfig.named(machine)
    with Simulation(config) as simulation:
        executor = Simulated(simulation, silence=_SILENCE)
        table = Table(title=f"{machine}, {config.clock_hz / 1e6:g} MHz", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("")
        table.add_column("", justify="right")
        if bins is None:
            secret = fhew.SecretKey(fhew.parameters(params, insecure))
            key = fhew.EvaluationKey.make(secret, fhew.Method.GINX)
            n = secret.params.n
            run = run_gates(config, key, secret, executor, gates, min(steps, n))
            each = run.cycles / run.products
            table.add_row(f"{params}: {run.gates} gates of {run.steps} steps, products", f"{run.products:,}")
            table.add_row("cycles", f"{run.cycles:,}")
            table.add_row("cycles a product", f"{each:,.1f}")
            whole = n * (2 if secret.params.ternary else 1) * each / config.clock_hz
            table.add_row(f"a gate of {n} steps, amortised", f"{1e3 * whole:.3f} ms")
            rate = run.key_bytes / run.cycles * config.clock_hz
            table.add_row("keys", f"{rate / 1e9:.2f} GB/s")
        else:
            fields = choose("direct", 1 << 20, bins, 0, 0, 3, 32, "ringforge")
            entries = shape("direct", 1 << 20, bins, 0, 0, 3, 32, fields.log_t).entries
            cost = lookup_cost(config, fields, entries, executor)
            for count, cycles in zip(cost.bins, cost.cycles, strict=True):
                table.add_row(f"query of {count} bins, cycles", f"{cycles:,}")
            table.add_row("a bin more", f"{cost.each:,.0f}")
            table.add_row("of these multipliers at work", f"{cost.transforms:,.0f}")
            table.add_row(f"2^{bins} bins", f"{cost.each * (1 << bins) / config.clock_hz:.1f} s")
        console().print(table)
