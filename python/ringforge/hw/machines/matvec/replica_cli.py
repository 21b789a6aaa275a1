# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw validate` and `ringforge hw layers`: the replica held against RTL, and applied to whole layers."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge import params as parameter_sets
from ringforge import runs
from ringforge.cli.console import console, progress, say
from ringforge.errors import ParameterError
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.published import LAYERS, MACHINES
from ringforge.hw.machines.matvec.replica_layers import STEADY, LayerLatency, layer_latency
from ringforge.hw.machines.matvec.run_cli import AsJson, Save, counting, finish, layer_record
from ringforge.hw.machines.matvec.validation import CASES, measure, predict


def validate_command(
    case: Annotated[
        list[int] | None, typer.Option(help="Numbers of cases, from 0; may be repeated. Default: all but the last.")
    ] = None,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Cycles and traffic of the replica beside RTL, on shapes of all sets.

    Takes about a quarter of an hour; case 14, the paper's schedule on rnnt-fc0, takes as long again.

    Example: `ringforge hw validate matvec --case 0 --case 5`
    """
    chosen = case if case else list(range(len(CASES) - 1))
    if any(not 0 <= n < len(CASES) for n in chosen):
        raise ParameterError(f"cases are 0 ... {len(CASES) - 1}")
    table = Table(title="replica against RTL", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("case", "machine", "set", "shape", "schedule", "level"):
        table.add_column(label)
    for label in ("RTL cycles", "replica", "error", "traffic"):
        table.add_column(label, justify="right")
    records = []
    for n in chosen:
        c = CASES[n]
        with counting() as count:
            run = measure(c, lambda _: None, count)
        replica = predict(c)
        error = replica.cycles / run.cycles - 1
        replicated = {k: t.read + t.written for k, t in replica.traffic.items()}
        equal = all(replicated.get(k, 0) == v for k, v in run.bytes.items() if k != "program")
        r = layer_record(c.name, run)
        extra = {
            **r.extra,
            "case": n,
            "about": c.about,
            "replica_cycles": replica.cycles,
            "replica_traffic": replicated,
            "traffic_equal": equal,
        }
        records.append(runs.Record(**{**r.__dict__, "system": "hw-validation", "extra": extra}))
        table.add_row(
            str(n), c.machine, c.params, c.name, c.algorithm, str(run.level), f"{run.cycles:,}", f"{replica.cycles:,}",
            f"{100 * error:+.3f} %", "equal" if equal else "DIFFERS",
        )  # fmt: skip
        if not as_json:
            say(
                f"{n}: {c.params} {c.name} {c.algorithm}: RTL {run.cycles:,}, replica {replica.cycles:,}, "
                f"{100 * error:+.3f} %"
            )
        finish(records, False, save, "hw-validation", quiet=True)
    if not as_json:
        console().print(table)
    finish(records, as_json, save, "hw-validation")


def layers_command(
    params: Annotated[
        list[str] | None, typer.Option(help="Parameter set: set-a, set-b, set-c; may be repeated. Default: all.")
    ] = None,
    layer: Annotated[list[str] | None, typer.Option(help="Layer of Table IV; may be repeated. Default: all.")] = None,
    schedule: Annotated[
        list[str] | None, typer.Option(help="diagonal, bsgs or horner; default: the first two.")
    ] = None,
    steady: Annotated[
        int, typer.Option(min=1, help="Steps of a long layer that are simulated per group; the rest is linear.")
    ] = STEADY,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Latency of the paper's layers by the replica, at the paper's clock: data of Figures 9 and 10.

    Plans that need more memory than the card has are marked, and priced again with one key (Horner's form).

    Example: `ringforge hw layers matvec --params set-b --layer rnnt-fc0`
    """
    known = {entry.name: entry for entry in LAYERS}
    names, sets, schedules = layer or list(known), params or list(MACHINES), schedule or ["diagonal", "bsgs"]
    if unknown := set(names) - set(known):
        raise ParameterError(f"no layer {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if unknown := set(sets) - set(MACHINES):
        raise ParameterError(
            f"no machine for {', '.join(sorted(unknown))}; there are machines for {', '.join(MACHINES)}"
        )
    found: list[tuple[str, LayerLatency]] = []
    records: list[runs.Record] = []
    work = [(s, n, k) for s in sets for n in names for k in schedules]
    with progress("timing layers") as update:
        for done, (set_name, name, kind) in enumerate(work):
            machine = MatvecConfig.named(MACHINES[set_name])
            chosen = parameter_sets.named(set_name)
            entry = layer_latency(known[name], chosen, machine, kind, steady=steady)
            found.append((name, entry))
            records += [_latency_record(name, e) for e in (entry, entry.horner) if e is not None]
            finish(records, False, save, "hw-layers", quiet=True)
            update((done + 1) / len(work))
    if not as_json:
        console().print(_layer_table(found))
    finish(records, as_json, save, "hw-layers")


def _latency_record(name: str, entry: LayerLatency) -> runs.Record:
    return runs.Record(
        "hw-layers",
        name,
        entry.params,
        entry.schedule,
        entry.seconds,
        level=entry.level,
        device=f"replica:{entry.machine.name}",
        cycles=round(entry.cycles),
        extra={
            "rows": entry.rows,
            "cols": entry.cols,
            "baby": entry.baby,
            "fits": entry.fits,
            "memory": entry.memory,
            "primitives": dict(entry.primitives),
            "traffic": {k: t.read + t.written for k, t in entry.traffic.items()},
            "simulated": entry.simulated,
            "steps": entry.steps,
        },
    )


def _layer_table(found: list[tuple[str, LayerLatency]]) -> Table:
    table = Table(title="layers by the replica", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("layer", "set", "schedule"):
        table.add_column(label)
    for label in ("cycles", "time", "memory GiB", "fits", "multiply", "rescale", "automorphism", "key switch", "other"):
        table.add_column(label, justify="right")
    for name, entry in found:
        for e in (entry, entry.horner):
            if e is None:
                continue
            shares = e.shares
            four = [shares[p] for p in ("multiply", "rescale", "automorphism", "key switch")]
            table.add_row(
                name, e.params, e.schedule, f"{e.cycles:,.0f}", runs.duration(e.seconds), f"{e.memory / 2**30:.2f}",
                "yes" if e.fits else "NO", *(f"{100 * x:.1f} %" for x in four), f"{100 * (1 - sum(four)):.1f} %",
            )  # fmt: skip
    return table
