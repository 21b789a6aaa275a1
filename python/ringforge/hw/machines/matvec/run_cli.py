# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw run` and `ringforge hw cycles`: what the simulated machine computes, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge import params as parameter_sets
from ringforge import runs
from ringforge.cli.console import console, properties, say, size_text
from ringforge.cli.output import ROWS, AsJson, prints
from ringforge.cli.records import RecordLine, emit_record
from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import provenance
from ringforge.hw.core.memory import KINDS
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matvec import Options
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.layers import LayerRun, run_layer
from ringforge.hw.machines.matvec.machine import MACHINE
from ringforge.hw.machines.matvec.measure import RotationRate, primitive_cycles, rotation_rates
from ringforge.hw.machines.matvec.published import LAYERS, TABLE_VI

Machine = Annotated[str, typer.Option(help="Configuration in hw/matvec/config; `ringforge info` lists them.")]
ParameterSet = Annotated[str, typer.Option(help="Parameter set.")]
Insecure = Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")]
Save = Annotated[Path | None, typer.Option("--save", help="Also write records and environment to this folder.")]

Memory = Annotated[
    str | None,
    typer.Option(
        help="Kind of memory: simple, ddr4-2400 or hbm2; default: the configuration's, simple in all of ours."
    ),
]


def with_memory(config: MatvecConfig, kind: str | None) -> MatvecConfig:
    """A configuration with another kind of memory; None: with its own.

    Raises:
        ParameterError: there is no such kind.
    """
    if kind is None:
        return config
    if kind not in KINDS:
        raise ParameterError(f'no memory is called "{kind}"; there are {", ".join(KINDS)}')
    return config.model_copy(update={"memory": kind})


@contextmanager
def counting() -> Iterator[Callable[[int], None]]:
    """Shows the cycles of a running machine on a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda _: None
        return
    start = time.monotonic()
    with screen.status("starting the machine") as status:
        yield lambda n: status.update(f"{n:,} cycles, {n / (time.monotonic() - start) / 1e3:.0f} thousand a second")


def finish(
    records: list[runs.Record], as_json: bool, save: Path | None, name: str, *, command: str = "", quiet: bool = False
) -> None:
    """Prints records as JSON and writes them to a folder, where that is asked for.

    Args:
        command: of a simulated machine, that makes the records anew; they say it, and what sources they are of.
    """
    if command:
        records = [replace(r, extra={**r.extra, **provenance.of_run(_described(r), command)}) for r in records]
    if as_json:
        for r in records:
            emit_record(r)
    if save is not None:
        path = runs.save(records, save, f"{name}-{datetime.now(UTC).date()}", runs.environment())
        if not quiet:
            say(f"written to {path}")


def _described(r: runs.Record) -> MatvecConfig:
    """The configuration of a record's machine; of a machine made for one case, the default one of the same sources."""
    name = r.device.removeprefix("rtl:")
    return MatvecConfig.named(name if name in MatvecConfig.names() else MACHINE.default)


def _options(**values: object) -> str:
    """Options of a command line; those that are None are left out."""
    return "".join(f" --{key} {value}" for key, value in values.items() if value is not None)


def layer_shape(name: str) -> tuple[int, int]:
    """Rows and columns of a layer of the paper, or of a shape such as 64x100."""
    known = {entry.name: (entry.m, entry.n) for entry in LAYERS}
    if name in known:
        return known[name]
    rows, _, cols = name.partition("x")
    if rows.isdigit() and cols.isdigit() and int(rows) and int(cols):
        return int(rows), int(cols)
    raise ParameterError(f'"{name}" is no layer: write {", ".join(known)}, or a shape such as 64x100')


def layer_record(name: str, r: LayerRun) -> runs.Record:
    """A layer's run as a line of the results."""
    return runs.Record(
        "hw-matvec",
        name,
        r.params,
        r.algorithm,
        r.seconds,
        level=r.level,
        device=f"rtl:{r.machine}",
        max_rel_error=r.error,
        cycles=r.cycles,
        extra={
            "rows": r.rows,
            "cols": r.cols,
            "baby": r.baby,
            "packing": r.packing,
            "keys": r.keys,
            "exact": r.exact,
            "error_bound": r.bound,
            "bytes": dict(r.bytes),
            "simulation_seconds": r.simulation_seconds,
        },
    )


@prints(ROWS, RecordLine, lines=True)
def run_command(
    layer: Annotated[str, typer.Option(help="A layer of the paper's Table IV, or a shape ROWSxCOLS.")] = "64x100",
    params: ParameterSet = "set-a",
    machine: Machine = "matvec-b",
    schedule: Annotated[str, typer.Option(help="diagonal (the paper's), horner, or bsgs.")] = "bsgs",
    level: Annotated[int | None, typer.Option(help="Level of the input; default: all limbs.")] = None,
    baby: Annotated[int | None, typer.Option(help="Baby steps of bsgs; default: what the planner finds best.")] = None,
    fusion: Annotated[bool, typer.Option(help="Keep results of primitives on chip for the next one.")] = True,
    tiling: Annotated[bool, typer.Option(help="Work on several partial sums at once and keep them on chip.")] = True,
    bandwidth: Annotated[
        float | None, typer.Option(help="Memory bandwidth in GB/s; default: the card's. 19.25 is one of its channels.")
    ] = None,
    memory: Memory = None,
    insecure: Insecure = "",
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Computes an encrypted layer in RTL and checks it: against the CPU bit by bit, and decrypted.

    rnnt-fc0 at set-b takes a minute of simulation by `bsgs` and a quarter of an hour by the paper's `diagonal`.

    Examples: `ringforge hw run matvec`,
    `ringforge hw run matvec --layer rnnt-fc0 --params set-b --schedule diagonal --save bench/results`
    """
    rows, cols = layer_shape(layer)
    config = with_memory(MatvecConfig.named(machine), memory)
    if bandwidth is not None:
        if not bandwidth > 0:
            raise ParameterError(f"--bandwidth {bandwidth} must be above 0")
        config = config.model_copy(update={"dram_bytes_per_second": 1e9 * bandwidth})
    with counting() as count:
        result = run_layer(
            config,
            parameter_sets.named(params, insecure),
            rows,
            cols,
            schedule,
            level=level,
            baby=baby,
            options=Options(fusion=fusion, tiling=tiling),
            say=say if not as_json else lambda _: None,
            cycles=count,
        )
    if not as_json:
        console().print(
            properties(
                f"{layer} ({rows} x {cols}) at {params}, level {result.level}, on {machine}",
                {
                    "schedule": f"{schedule}, packing {result.packing}, {result.baby} baby steps, {result.keys} keys",
                    "cycles": f"{result.cycles:,}",
                    "time at the machine's clock": f"{1e3 * result.seconds:.3f} ms",
                    "same bits as the CPU": "yes" if result.exact else "NO",
                    "error": f"{result.error:.2e} of the largest result",
                    "traffic": ", ".join(f"{k} {size_text(v)}" for k, v in result.bytes.items() if v),
                    "simulation": f"{result.simulation_seconds:.0f} s",
                },
            )
        )
    suffix = "" if fusion and tiling else f"-fusion{int(fusion)}-tiling{int(tiling)}"
    suffix += "" if bandwidth is None else f"-{bandwidth:g}GBs"
    suffix += "" if memory is None else f"-{memory}"
    command = "run matvec" + _options(
        layer=layer, params=params, machine=machine, schedule=schedule, level=level, baby=baby, bandwidth=bandwidth,
        memory=memory, insecure=f'"{insecure}"' if insecure else None,
    )  # fmt: skip
    command += ("" if fusion else " --no-fusion") + ("" if tiling else " --no-tiling")
    name = f"hw-{machine}-{layer}-{params}-{schedule}{suffix}"
    finish([layer_record(layer, result)], as_json, save, name, command=command)
    if not result.exact:
        raise HardwareError(f"the machine's result of {layer} differs from the CPU's")


@prints(ROWS, RecordLine, lines=True)
def cycles_command(
    params: ParameterSet = "set-b",
    machine: Machine = "matvec-b",
    rotations: Annotated[list[int] | None, typer.Option(help="Lengths of chains of rotations.")] = None,
    memory: Memory = None,
    insecure: Insecure = "",
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Cycles of primitives and of rotations in RTL, beside the paper's and beside the bound of the butterflies.

    Example: `ringforge hw cycles matvec --save bench/results`
    """
    parameters = parameter_sets.named(params, insecure)
    config = with_memory(MatvecConfig.named(machine), memory)
    if parameters.log_n > config.max_log_n:
        raise ParameterError(
            f"machine {machine} takes degrees up to 2^{config.max_log_n}, {params} has 2^{parameters.log_n}"
        )
    with Simulation(config) as sim:
        primitive = primitive_cycles(sim, parameters.log_n, parameters.q[0].bit_length())
        rates = list(rotation_rates(sim, parameters, parameters.max_level, tuple(rotations or (1, 16))))
    if not as_json:
        console().print(_primitive_table(config, parameters.log_n, primitive), _rotation_table(config, rates))
    records = [
        runs.Record(
            "hw-matvec",
            name,
            params,
            "primitive",
            count / config.clock_hz,
            device=f"rtl:{machine}",
            cycles=count,
            extra={"log_n": parameters.log_n},
        )
        for name, count in primitive.items()
    ]
    records += [
        runs.Record(
            "hw-matvec",
            f"{r.count} rotations",
            params,
            "rotation",
            r.cycles / config.clock_hz,
            level=r.limbs - 1,
            device=f"rtl:{machine}",
            cycles=r.cycles,
            extra={"bound": r.bound, "utilisation": r.utilisation, "exact": r.exact},
        )
        for r in rates
    ]
    command = "cycles matvec" + _options(params=params, machine=machine, memory=memory)
    command += "".join(_options(rotations=count) for count in rotations or ())
    name = f"hw-{machine}-cycles-{params}" + ("" if memory is None else f"-{memory}")
    finish(records, as_json, save, name, command=command)


def _primitive_table(config: MatvecConfig, log_n: int, primitive: dict[str, int]) -> Table:
    table = Table(title=f"one residue polynomial, N = 2^{log_n}, {config.lanes} lanes", box=box.SIMPLE_HEAD)
    for label in ("primitive", "cycles in RTL", "rows x passes", "paper's (Table VI)"):
        table.add_column(label, justify="left" if label == "primitive" else "right")
    same = log_n == 14 and config.lanes == 16
    for name, count in primitive.items():
        least = config.rows(log_n) * (log_n if "NTT" in name else 1)
        table.add_row(name, f"{count:,}", f"{least:,}", f"{TABLE_VI[name]:,}" if same else "-")
    return table


def _rotation_table(config: MatvecConfig, rates: list[RotationRate]) -> Table:
    table = Table(title="rotations on one group, keys from memory, automorphism included", box=box.SIMPLE_HEAD)
    for label in ("rotations", "limbs", "cycles", "each", "bound", "reached", "per second", "bound per second"):
        table.add_column(label, justify="right")
    for r in rates:
        table.add_row(
            str(r.count),
            str(r.limbs),
            f"{r.cycles:,}",
            f"{r.cycles / r.count:,.0f}",
            f"{r.bound:,.0f}",
            f"{100 * r.utilisation:.1f} %",
            f"{config.clock_hz * r.count / r.cycles:,.0f}",
            f"{config.clock_hz / r.bound:,.0f}",
        )
    return table
