# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw cycles psi_wide`: gates and look-ups on the simulated machine, and what they would take on a card."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge import runs
from ringforge._native import fhew
from ringforge.cli.console import console, say
from ringforge.cli.output import ROWS, prints
from ringforge.hw.core import provenance
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.measure import lookup_cost, run_gates
from ringforge.hw.machines.psi_wide.model_device import Modelled
from ringforge.hw.machines.psi_wide.runner import Executor, Simulated
from ringforge.psi.planner import choose, shape

#: A run without a beat for so many cycles has come to a stand.
_SILENCE = 1_000_000
#: Elements of the table whose look-ups are measured, and their bits.
_CAPACITY, _BITS = 1 << 20, 32


@prints(ROWS)
def cycles_command(
    machine: Annotated[str, typer.Option(help="Configuration; `ringforge hw list` shows them.")] = "psi-wide",
    params: Annotated[str, typer.Option(help="Parameter set of the gates.")] = "gates-128",
    gates: Annotated[int, typer.Option(min=1, max=256, help="Gates at a time.")] = 16,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each gate's chain, or as many as it has.")] = 64,
    bins: Annotated[
        int | None,
        typer.Option(min=3, max=16, help="A look-up instead: log2 of its bins, for 2^20 elements of 32 bits."),
    ] = None,
    model: Annotated[
        bool, typer.Option("--model", help="By the replica, which is right to the cycle, not in RTL.")
    ] = False,
    insecure: Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")] = "",
    save: Annotated[Path | None, typer.Option(help="Also write a record and the environment to this folder.")] = None,
) -> None:
    """Cycles of NANDs, or of a bin of a query; results, of RTL or of the interpreter, are held against the CPU's.

    Example: `ringforge hw cycles psi_wide --machine psi-wide-54 --bins 14`
    """
    config = WideConfig.named(machine)
    table = Table(title=f"{machine}, {config.clock_hz / 1e6:g} MHz", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column("", justify="right")
    with nullcontext() if model else Simulation(config) as simulation:
        executor = Modelled() if simulation is None else Simulated(simulation, silence=_SILENCE)
        if bins is None:
            record = _gates(table, config, executor, params, gates, steps, insecure)
            command, name = f" --params {params} --gates {gates} --steps {steps}", "gates"
        else:
            record = _bins(table, config, executor, bins)
            command, name = f" --bins {bins}", "lookup"
    if model:
        record, command, name = replace(record, device=f"model:{machine}"), f"{command} --model", f"{name}-model"
    console().print(table)
    if save is not None:
        origin = provenance.of_run(config, f"cycles psi_wide --machine {machine}{command}")
        made = replace(record, extra={**record.extra, **origin})
        stem = f"hw-{machine}-{name}-{datetime.now(UTC).date()}"
        say(f"written to {runs.save([made], save, stem, runs.environment())}")


def _gates(
    table: Table, config: WideConfig, executor: Executor, params: str, gates: int, steps: int, insecure: str
) -> runs.Record:
    secret = fhew.SecretKey(fhew.parameters(params, insecure))
    key = fhew.EvaluationKey.make(secret, fhew.Method.GINX)
    run = run_gates(config, key, secret, executor, gates, min(steps, secret.params.n))
    whole = secret.params.n * (2 if secret.params.ternary else 1)
    each = run.cycles / run.products
    rate = run.key_bytes / run.cycles * config.clock_hz
    table.add_row(f"{params}, {run.gates} gates of {run.steps} steps: products", f"{run.products:,}")
    table.add_row("cycles", f"{run.cycles:,}")
    table.add_row("cycles a product", f"{each:,.1f}")
    table.add_row(f"a gate of {whole} products, amortised", f"{1e3 * whole * each / config.clock_hz:.3f} ms")
    table.add_row("keys", f"{rate / 1e9:.2f} GB/s")
    extra = {"gates": gates, "products": run.products, "gate_cycles": round(whole * each), "key_bytes": run.key_bytes}
    seconds = run.cycles / config.clock_hz
    return runs.Record(
        "hw-psi-wide", f"NAND, {run.steps} steps", params, "ginx", seconds, device=f"rtl:{config.name}",
        cycles=run.cycles, extra=extra,
    )  # fmt: skip


def _bins(table: Table, config: WideConfig, executor: Executor, log_bins: int) -> runs.Record:
    fields = choose("direct", _CAPACITY, log_bins, 0, 0, 3, _BITS, "ringforge")
    entries = shape("direct", _CAPACITY, log_bins, 0, 0, 3, _BITS, fields.log_t).entries
    cost = lookup_cost(config, fields, entries, executor)
    for count, cycles in zip(cost.bins, cost.cycles, strict=True):
        table.add_row(f"query of {count} bins of {entries} cells: cycles", f"{cycles:,}")
    table.add_row("a bin more", f"{cost.each:,.0f}")
    table.add_row("of these multipliers at work", f"{cost.transforms:,.0f}")
    table.add_row(f"2^{log_bins} bins", f"{cost.each * (1 << log_bins) / config.clock_hz:.1f} s")
    extra = {"bins": cost.bins[1], "entries": entries, "bin_cycles": round(cost.each)}
    seconds = cost.cycles[1] / config.clock_hz
    return runs.Record(
        "hw-psi-wide", "look-up", f"32 bits, 2^{log_bins} bins", "ringforge", seconds, device=f"rtl:{config.name}",
        cycles=cost.cycles[1], extra=extra,
    )  # fmt: skip
