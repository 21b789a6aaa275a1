# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw cycles omr`: rotations and matrix x vector products, in RTL or by the model, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge import runs
from ringforge.cli.console import console, say
from ringforge.cli.output import ROWS, prints
from ringforge.errors import ParameterError
from ringforge.hw.core import provenance
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.omr import measure
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.cost import PUBLISHED_MS, Sum, published_point
from ringforge.hw.machines.omr.measure import Measured, Size
from ringforge.hw.machines.omr.runner import Simulated

#: A run without a beat for so many cycles has come to a stand.
_SILENCE = 1_000_000
#: A matrix for machines of small rings.
_SMALL = Sum(baby=5, giant=4, terms=16, outputs=2)


@prints(ROWS)
def cycles_command(
    config: Annotated[str, typer.Option(help="Configuration; `ringforge hw list` shows them.")] = "omr-paper",
    rotation: Annotated[bool, typer.Option("--rotation", help="Rotations of a ciphertext.")] = False,
    matmul: Annotated[bool, typer.Option("--matmul", help="A matrix x vector product: baby and giant steps.")] = False,
    model: Annotated[bool, typer.Option("--model", help="By the model of its timing; nothing is computed.")] = False,
    count: Annotated[int, typer.Option(min=1, max=64, help="Rotations, each of the one before.")] = 1,
    outputs: Annotated[int, typer.Option(min=1, max=8, help="Matrices with the same vector.")] = 1,
    method: Annotated[str, typer.Option(help="Of the matrices: ringforge or paper.")] = "ringforge",
    log_n: Annotated[int | None, typer.Option(help="log2 of the degree. Default: the paper's, where it fits.")] = None,
    limbs: Annotated[int | None, typer.Option(help="Primes of Q.")] = None,
    special: Annotated[
        int | None, typer.Option(help="Primes of P; also limbs of a digit, two of which make Q.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Also write a record and the environment to this folder.")] = None,
) -> None:
    """Cycles of rotations or of a matrix x vector product; in RTL every word is held against the CPU's.

    A rotation of full size takes some minutes in RTL, a product of full size days: take --model.

    Examples:

        ringforge hw cycles omr --rotation

        ringforge hw cycles omr --matmul --model --config omr-u55c --outputs 2
    """
    if rotation == matmul:
        raise ParameterError("say what to run: --rotation or --matmul")
    if method not in ("ringforge", "paper"):
        raise ParameterError(f'there is no method "{method}": take ringforge or paper')
    machine, given = OmrConfig.named(config), measure.size_of(OmrConfig.named(config))
    digit = special if special is not None else given.digit
    size = Size(log_n or given.log_n, limbs or given.limbs, special or given.special, digit, given.bits)
    shape = replace(Sum(), outputs=outputs) if machine.max_log_n >= 16 else _SMALL
    if rotation:
        found = [
            measure.planned_rotation(machine, size, count)
            if model
            else _simulated(machine, lambda executor: [measure.rotation(machine, executor, size, count)])[0]
        ]
        names, done = [f"{count} rotation{'s' if count > 1 else ''}"], f"--rotation --count {count}"
    else:
        found = (
            measure.planned(machine, size, shape, method)
            if model
            else _simulated(machine, lambda executor: measure.matmul(machine, executor, size, shape, method))
        )
        names = [f"{shape.baby} baby steps", f"{shape.giant} giant steps"]
        done = f"--matmul --outputs {shape.outputs} --method {method}"
    console().print(_table(machine, size, names, found, "model" if model else "RTL"))
    total = sum(m.cycles for m in found)
    for line in _beside(machine, size, shape, found, total, matmul=matmul):
        say(line)
    if save is not None:
        _save(save, machine, size, shape, done + (" --model" if model else ""), found, total, model=model)


def _simulated(machine: OmrConfig, work: object) -> list[Measured]:
    with Simulation(machine) as simulation:
        return work(Simulated(simulation, silence=_SILENCE))  # type: ignore[operator,no-any-return]


def _table(machine: OmrConfig, size: Size, names: Sequence[str], found: Sequence[Measured], by: str) -> Table:
    title = (
        f"{machine.name}, {machine.clock_hz / 1e6:g} MHz, N = {1 << size.log_n:,}, {size.limbs} + {size.special} limbs"
    )
    table = Table(title=f"{title}, {by}", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("", "cycles", "ms", "a rotation", "XFORM", "CONV", "KMAC", "SUM", "words as the CPU's"):
        table.add_column(label, justify="left" if not label else "right")
    for name, m in zip(names, found, strict=True):
        share = measure.shares(m)
        each = f"{m.cycles / m.rotations:,.0f}" if m.rotations else ""
        table.add_row(
            name, f"{m.cycles:,}", f"{1e3 * m.cycles / machine.clock_hz:.2f}", each,
            *(f"{100 * share.get(unit, 0):.1f} %" for unit in ("XFORM", "CONV", "KMAC", "SUM")),
            f"{m.words:,}" if m.words else "",
        )  # fmt: skip
    return table


def _beside(
    machine: OmrConfig, size: Size, shape: Sum, found: Sequence[Measured], total: int, *, matmul: bool
) -> list[str]:
    """What the paper says of the same."""
    ms = 1e3 * total / machine.clock_hz
    if (size.log_n, size.limbs, size.special) not in ((16, 19, 10), (16, 24, 12)):
        return [f"together {total:,} cycles, {ms:.2f} ms"] if matmul else []
    if not matmul:
        each = ms / found[0].rotations
        published = PUBLISHED_MS["rot"]
        return [f"a rotation: {each:.2f} ms; the paper's Rot: {published} ms, {published / each:.2f} times as much"]
    published = published_point(16, 2, size=shape).ms
    return [
        f"together {total:,} cycles, {ms:.1f} ms for {shape.outputs} output{'s' if shape.outputs > 1 else ''}; "
        f"by the paper's equations and operators {published:,.1f} ms, {published / ms:.2f} times as much"
    ]


def _save(
    folder: Path,
    machine: OmrConfig,
    size: Size,
    shape: Sum,
    done: str,
    found: Sequence[Measured],
    total: int,
    *,
    model: bool,
) -> None:
    ring = f"--log-n {size.log_n} --limbs {size.limbs} --special {size.special}"
    command = f"cycles omr --config {machine.name} {done} {ring}"
    origin = provenance.of_run(machine, command)
    extra = {
        "log_n": size.log_n, "limbs": size.limbs, "special": size.special, "parts": [m.cycles for m in found],
        "rotations": [m.rotations for m in found], "busy": [m.busy for m in found],
        "words": [m.words for m in found], **origin,
    }  # fmt: skip
    record = runs.Record(
        "hw-omr", "matrix x vector" if "--matmul" in done else "rotation", f"N = {1 << size.log_n}", done,
        total / machine.clock_hz, device=f"{'model' if model else 'rtl'}:{machine.name}", cycles=total, extra=extra,
    )  # fmt: skip
    kind = f"matmul-{shape.outputs}" if "--matmul" in done else "rotation"
    stem = f"hw-{machine.name}-{kind}{'-model' if model else ''}-{datetime.now(UTC).date()}"
    say(f"written to {runs.save([record], folder, stem, runs.environment())}")
