# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw cycles aes`: instructions, products and relinearisation, in RTL or by the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich import box
from rich.table import Table

from ringforge import runs
from ringforge.cli.console import console, say
from ringforge.cli.output import ROWS, prints
from ringforge.errors import ParameterError
from ringforge.hw.core import provenance
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.aes import measure
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.measure import Measured, Size
from ringforge.hw.machines.aes.runner import BUSY, Executor, Simulated

#: A run without a beat for so many cycles has come to a stand.
_SILENCE: Final = 1_000_000
#: The published chain's primes, and digits of its first level.
_PRIMES, _DIGITS = 41, 80


@prints(ROWS)
def cycles_command(
    config: Annotated[str, typer.Option(help="Configuration; `ringforge hw list` shows them.")] = "aes-fast",
    transform: Annotated[
        bool, typer.Option("--transform", help="Transforms, products and reversals of N words, each alone.")
    ] = False,
    product: Annotated[bool, typer.Option("--product", help="A sum of products of polynomials.")] = False,
    relinearise: Annotated[bool, typer.Option("--relinearise", help="Digits times keys, summed.")] = False,
    model: Annotated[bool, typer.Option("--model", help="By the model of its timing; nothing is computed.")] = False,
    log_n: Annotated[int | None, typer.Option(help="log2 of the length of transforms. Default: the largest.")] = None,
    primes: Annotated[int | None, typer.Option(min=1, max=64, help="Primes. Default: 41 with --model, else 1.")] = None,
    random: Annotated[int, typer.Option(min=1, max=1000, help="Instructions of each kind, on random words.")] = 1,
    terms: Annotated[int, typer.Option(min=1, max=64, help="Products of the sum.")] = 1,
    digits: Annotated[int | None, typer.Option(min=1, max=2048, help="Default: 80 with --model, else 6.")] = None,
    ciphertexts: Annotated[int, typer.Option(min=1, max=64, help="That are relinearised.")] = 1,
    batch: Annotated[
        int | None, typer.Option(min=1, max=2, help="Ciphertexts that share a reading of the keys. Default: the most.")
    ] = None,
    link_gap: Annotated[
        int | None, typer.Option(min=0, max=15, help="Cycles that the host's link rests; 0: 8 GB/s.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Also write records and the environment to this folder.")] = None,
) -> None:
    """Cycles of the engine's instructions, of products and of relinearisation; in RTL every word is compared.

    Full lengths take minutes a prime in RTL: take --model for all primes.

    Examples:

        ringforge hw cycles aes --config aes-paper --transform

        ringforge hw cycles aes --relinearise --model --link-gap 0
    """
    if transform + product + relinearise != 1:
        raise ParameterError("say what to run: --transform, --product or --relinearise")
    machine = AesConfig.named(config)
    if link_gap is not None:
        machine = machine.model_copy(update={"link_gap": link_gap})
    size = Size(
        machine.max_log_n if log_n is None else log_n,
        primes or (_PRIMES if model else 1),
        random,
        terms,
        digits or (_DIGITS if model else 6),
        ciphertexts,
        batch,
    )
    names = measure.singles(machine) if transform else ("product",) if product else ("relinearisation",)

    def work(executor: Executor | None) -> list[Measured]:
        if transform:
            return [measure.single(machine, executor, size, name) for name in names]
        return [measure.WHOLE[names[0]](machine, executor, size)]

    found = work(None) if model else _simulated(machine, work)
    console().print(_table(machine, size, found, "model" if model else "RTL", alone=transform))
    if save is not None:
        what = "--transform" if transform else "--product" if product else "--relinearise"
        for measured in found:
            _save(save, machine, size, measured, what, alone=transform, model=model)


def _simulated(machine: AesConfig, work: Callable[[Executor | None], list[Measured]]) -> list[Measured]:
    with Simulation(machine) as simulation:
        return work(Simulated(simulation, silence=_SILENCE))


def _table(machine: AesConfig, size: Size, found: Sequence[Measured], by: str, *, alone: bool) -> Table:
    title = f"{machine.name}, {machine.clock_hz / 1e6:g} MHz, N = {1 << size.log_n:,}, {by}; busy units in cycles"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("", "cycles", "µs" if alone else "ms", *BUSY, "words compared"):
        table.add_column(label, justify="left" if not label else "right")
    for m in found:
        cycles, unit = (m.each, 1e6) if alone else (m.cycles, 1e3)
        table.add_row(
            m.case, f"{cycles:,.0f}", f"{unit * cycles / machine.clock_hz:,.3f}",
            *(f"{m.busy.get(name, 0):,}" for name in BUSY), f"{m.words:,}" if m.words else "",
        )  # fmt: skip
    return table


def _save(folder: Path, machine: AesConfig, size: Size, m: Measured, what: str, *, alone: bool, model: bool) -> None:
    cycles = round(m.each) if alone else m.cycles
    given = {"log-n": size.log_n, "link-gap": machine.link_gap}
    if alone:
        given["random"] = size.count
    else:
        given["primes"] = size.primes
        given |= {"terms": size.terms} if m.case == "product" else {
            "digits": size.digits, "ciphertexts": size.ciphertexts
        }  # fmt: skip
        if size.batch is not None:
            given["batch"] = size.batch
    options = " ".join(f"--{name} {value}" for name, value in given.items())
    command = f"cycles aes --config {machine.name} {what} {options}{' --model' if model else ''}"
    extra = {
        "log_n": size.log_n, "primes": 1 if alone else size.primes, "digits": size.digits, "terms": size.terms,
        "batch": size.batch, "ciphertexts": size.ciphertexts, "count": size.count, "link_gap": machine.link_gap,
        "run_cycles": m.cycles, "words": m.words, **{name.lower(): m.busy.get(name, 0) for name in BUSY},
        **provenance.of_run(machine, command),
    }  # fmt: skip
    record = runs.Record(
        "hw-aes", m.case, f"N = {1 << size.log_n}", what.removeprefix("--"), cycles / machine.clock_hz,
        device=f"{'model' if model else 'rtl'}:{machine.name}", cycles=cycles, extra=extra,
    )  # fmt: skip
    # Names of files differ where options do.
    shape = [f"n{size.log_n}"] if size.log_n != machine.max_log_n else []
    if not alone:
        shape.append(f"{size.primes}x{size.terms if m.case == 'product' else size.digits}")
    if m.case == "relinearisation":
        shape += [f"c{size.ciphertexts}", *([] if size.batch is None else [f"b{size.batch}"])]
    elif alone and size.count > 1:
        shape.append(f"r{size.count}")
    shape += [f"gap{machine.link_gap}", *(["model"] if model else [])]
    stem = "-".join(["hw", machine.name, m.case, *shape, str(datetime.now(UTC).date())])
    say(f"written to {runs.save([record], folder, stem, runs.environment())}")
