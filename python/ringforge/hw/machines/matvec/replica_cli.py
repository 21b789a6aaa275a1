# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw validate` and `ringforge hw layers`: the replica held against RTL, and applied to whole layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge import params as parameter_sets
from ringforge import runs
from ringforge.cli.console import console, progress, say
from ringforge.cli.output import ROWS, AsJson, prints
from ringforge.cli.records import RecordLine
from ringforge.errors import ParameterError
from ringforge.hw.core.validate_cli import percent
from ringforge.hw.core.validation import Validated, summary
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.draws import cases
from ringforge.hw.machines.matvec.published import LAYERS, MACHINES
from ringforge.hw.machines.matvec.replica_layers import STEADY, LayerLatency, layer_latency
from ringforge.hw.machines.matvec.run_cli import Memory, Save, counting, finish, with_memory
from ringforge.hw.machines.matvec.validation import CASES, validate_draw, validate_layer


@prints(ROWS, RecordLine, lines=True)
def validate_command(
    case: Annotated[
        list[int] | None, typer.Option(help="Numbers of cases, from 0; may be repeated. Default: all.")
    ] = None,
    layers: Annotated[
        bool, typer.Option("--layers", help="The paper's layers and sets in place of the drawn cases; slow.")
    ] = False,
    memory: Memory = None,
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Replica and closed form beside RTL, on cases drawn over degree, limbs, machine, schedule and memory.

    Takes a few minutes, machines of five shapes included, which are built once. With `--layers` it computes products
    of the paper's sets on its machines, results checked: a quarter of an hour, and as long again for case 14, the
    paper's schedule on rnnt-fc0, which only `--case 14` runs.

    Examples: `ringforge hw validate matvec --save bench/results`, `ringforge hw validate matvec --layers --case 5`
    """
    known = len(CASES) if layers else len(cases())
    chosen = case if case else list(range(known - layers))
    if any(not 0 <= n < known for n in chosen):
        raise ParameterError(f"cases are 0 ... {known - 1}")
    name = "hw-validation" + ("-layers" if layers else "") + ("" if memory is None else f"-{memory}")
    command = "validate matvec" + (" --layers" if layers else "") + ("" if memory is None else f" --memory {memory}")
    found: list[Validated] = []
    records: list[runs.Record] = []
    for n in chosen:
        if layers:
            with counting() as count:
                entry, record = validate_layer(CASES[n], n, lambda c: with_memory(c, memory), count)
        else:
            draw = cases()[n]
            kind = draw.memory if memory is None else with_memory(draw.config, memory).memory
            entry, record = validate_draw(replace(draw, memory=kind))
        found.append(entry)
        records.append(record)
        if not as_json:
            say(
                f"{n}: {entry.name}: RTL {entry.cycles:,}, replica {100 * entry.replica_error:+.3f} %, "
                f"closed form {percent(entry.closed_error)}"
            )
        finish(records, False, save, name, command=command, quiet=True)
    if not as_json:
        console().print(_validation_table(found))
        for line in summary(found):
            say(line)
    finish(records, as_json, save, name, command=command)


def _validation_table(found: list[Validated]) -> Table:
    table = Table(title="replica and closed form against RTL", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("case", "machine", "product", "memory"):
        table.add_column(label)
    for label in ("RTL cycles", "replica", "error", "closed form", "error", "traffic", ""):
        table.add_column(label, justify="right")
    for v in found:
        table.add_row(
            str(v.number), v.machine, v.name, v.memory, f"{v.cycles:,}", f"{v.replica:,}",
            f"{100 * v.replica_error:+.3f} %", f"{v.closed_form:,.0f}", percent(v.closed_error),
            "equal" if v.traffic_equal else "DIFFERS", "fitted" if v.fitted else "",
        )  # fmt: skip
    return table


@prints(ROWS, RecordLine, lines=True)
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
