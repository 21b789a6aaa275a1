# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw run matmul` and `ringforge hw cycles matmul`: what the simulated machine computes, in what time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

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
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.measure import KernelRun, Loop, ProductRun, kernel_runs, loop, run_product

Machine = Annotated[str, typer.Option(help="Configuration in hw/matmul/config; `ringforge hw list` shows them.")]
ParameterSet = Annotated[
    str, typer.Option(help="Parameter set with primes of one length: fame-a, fame-small, fame-small-3, ...")
]
Insecure = Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")]
Save = Annotated[Path | None, typer.Option("--save", help="Also write records and environment to this folder.")]


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


def product_shape(text: str) -> tuple[int, int, int]:
    """m, l, n of a shape such as 4x4x4.

    Raises:
        ParameterError: it is none.
    """
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(p.isdigit() and int(p) for p in parts):
        raise ParameterError(f'"{text}" is no shape of a product: write MxLxN, such as 4x4x4')
    m, l, n = map(int, parts)  # noqa: E741
    return m, l, n


def _finish(records: list[runs.Record], as_json: bool, save: Path | None, name: str, command: str) -> None:
    """Prints records as JSON and writes them to a folder, where that is asked for, with the command that makes them."""
    made = [
        replace(r, extra={**r.extra, **provenance.of_run(FameConfig.named(r.device.removeprefix("rtl:")), command)})
        for r in records
    ]
    if as_json:
        for r in made:
            emit_record(r)
    if save is not None:
        say(f"written to {runs.save(made, save, f'{name}-{datetime.now(UTC).date()}', runs.environment())}")


def _options(**values: object) -> str:
    """Options of a command line; those that are None are left out."""
    return "".join(f" --{key} {value}" for key, value in values.items() if value is not None)


def _reason(insecure: str) -> str | None:
    return f'"{insecure}"' if insecure else None


@prints(ROWS, RecordLine, lines=True)
def run_command(
    shape: Annotated[str, typer.Option(help="m x l by l x n, as MxLxN.")] = "4x4x4",
    params: ParameterSet = "fame-small",
    machine: Machine = "fame-small",
    seed: Annotated[int, typer.Option(help="Of the matrices; keys are fresh.")] = 1,
    insecure: Insecure = "",
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """A product of two encrypted matrices by the FAME paper's Algorithm 2, as one program for all elements, in RTL.

    The result is held against the CPU's, word by word, and its decryption against float64. A machine is compiled when
    it is first used: minutes for the large ones.

    Example: `ringforge hw run matmul --shape 4x4x4 --insecure "a trial"`

    Example: `ringforge hw run matmul --shape 64x64x64 --params fame-a --machine fame-s --insecure "a trial"`
    """
    size = product_shape(shape)
    parameters, config = parameter_sets.named(params, insecure), FameConfig.named(machine)
    quiet: Callable[[str], None] = lambda _: None  # noqa: E731
    with counting() as count:
        result = run_product(config, parameters, size, seed=seed, say=quiet if as_json else say, cycles=count)
    if not as_json:
        console().print(
            properties(
                f"{shape} at {params}, level {result.level}, on {machine}",
                {
                    "cycles": f"{result.cycles:,}",
                    "time at the machine's clock": f"{1e3 * result.seconds:.3f} ms",
                    "of the ALUs' bound": f"{100 * result.rows / result.cycles:.1f} % of {result.rows:,} rows",
                    "keys": f"{result.keys} Galois keys and one relinearisation key",
                    "polynomials on chip": f"{result.peak} of {config.slots(parameters.log_n)} at most",
                    "same bits as the CPU": "yes" if result.exact else "NO",
                    "error": f"{result.error:.2e}, predicted at most {result.bound:.2e}",
                    "simulation": f"{result.simulation_seconds:.0f} s",
                },
            ),
            traffic_table({"product": result.bytes}),
        )
    command = "run matmul" + _options(
        shape=shape, params=params, machine=machine, seed=seed, insecure=_reason(insecure)
    )
    _finish([_product_record(shape, result)], as_json, save, f"hw-{machine}-{shape}-{params}", command)
    if not result.exact:
        raise HardwareError(f"the machine's result of {shape} differs from the CPU's")


def _product_record(shape: str, r: ProductRun) -> runs.Record:
    return runs.Record(
        "hw-matmul",
        shape,
        r.params,
        "fame",
        r.seconds,
        level=r.level,
        device=f"rtl:{r.machine}",
        cycles=r.cycles,
        extra={
            "rows": r.rows,
            "peak": r.peak,
            "keys": r.keys,
            "exact": r.exact,
            "error": r.error,
            "error_bound": r.bound,
            "bytes": dict(r.bytes),
            "simulation_seconds": r.simulation_seconds,
        },
    )


def traffic_table(moved: Mapping[str, Mapping[str, int]]) -> Table:
    """Memory traffic by entity, packed as the machine keeps it: a row for each thing that was run."""
    table = Table(title="memory traffic, read and written", title_justify="left", box=box.SIMPLE_HEAD)
    entities = [e for e in next(iter(moved.values())) if any(m[e] for m in moved.values())]
    table.add_column("")
    for entity in (*entities, "all"):
        table.add_column(entity, justify="right", no_wrap=True)
    for name, m in moved.items():
        table.add_row(name, *(size_text(m[e]) for e in entities), size_text(sum(m.values())))
    return table


@prints(ROWS, RecordLine, lines=True)
def cycles_command(
    params: ParameterSet = "fame-small",
    machine: Machine = "fame-small",
    rotations: Annotated[tuple[int, int], typer.Option(help="Rotations of a short and of a long linear transform.")] = (
        4,
        8,
    ),
    level: Annotated[int | None, typer.Option(help="Of the inputs; default: the highest.")] = None,
    insecure: Insecure = "",
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Cycles and traffic of linear transforms and of a product of ciphertexts in RTL, on one element, beside bounds.

    The bound of a rotation is (L + k + 1)(2 beta + 2) N / lanes: every product with keys and diagonals a row a cycle.
    That of the rest counts transforms and conversions alike. Results are held against the CPU's.

    Example: `ringforge hw cycles matmul --insecure "a trial"`
    """
    few, many = rotations
    if not 0 < few < many:
        raise ParameterError(f"a short and a long transform have {few} and {many} rotations: give two growing numbers")
    parameters, config = parameter_sets.named(params, insecure), FameConfig.named(machine)
    at = parameters.max_level if level is None else level
    with counting() as count:
        made = list(kernel_runs(RtlDevice(config, cycles=count), parameters, at, rotations))
    split = loop(config, parameters, at, rotations, [r.cycles for r in made[:2]])
    if not as_json:
        title = f"{params}, level {at}, on an element of {machine}"
        console().print(_kernel_table(title, made), _loop_table(split), traffic_table({r.name: r.bytes for r in made}))
    records = [_record(r.name, params, machine, at, r.cycles, r.rows, {"bytes": dict(r.bytes)}) for r in made]
    records += [
        _record("a rotation", params, machine, at, round(split.rotation), split.rotation_bound, {}),
        _record("hoisted part", params, machine, at, round(split.hoisted), split.hoisted_bound, {}),
    ]
    for r in records:
        assert r.cycles is not None
    command = "cycles matmul" + _options(
        params=params, machine=machine, rotations=f"{few} {many}", level=level, insecure=_reason(insecure)
    )
    _finish(records, as_json, save, f"hw-{machine}-cycles-{params}", command)


def _record(
    name: str, params: str, machine: str, level: int, cycles: int, rows: int, extra: dict[str, Any]
) -> runs.Record:
    seconds = cycles / FameConfig.named(machine).clock_hz
    return runs.Record(
        "hw-matmul", name, params, "mo", seconds, level=level, device=f"rtl:{machine}", cycles=cycles,
        extra={"rows": rows, **extra},
    )  # fmt: skip


def _kernel_table(title: str, made: list[KernelRun]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("kernel", "cycles in RTL", "rows of the ALUs", "reached"):
        table.add_column(label, justify="left" if label == "kernel" else "right")
    for r in made:
        table.add_row(r.name, f"{r.cycles:,}", f"{r.rows:,}", f"{100 * r.rows / r.cycles:.1f} %")
    return table


def _loop_table(split: Loop) -> Table:
    table = Table(title="a linear transform, split", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("part", "cycles in RTL", "bound", "reached"):
        table.add_column(label, justify="left" if label == "part" else "right")
    for name, took, bound in (
        ("a rotation", split.rotation, split.rotation_bound),
        ("what does not depend on rotations", split.hoisted, split.hoisted_bound),
    ):
        table.add_row(name, f"{took:,.0f}", f"{bound:,}", f"{100 * bound / took:.1f} %")
    return table
