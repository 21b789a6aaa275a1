# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw run psi` and `ringforge hw cycles psi`: gates, look-ups, RLWE operations on the simulated machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich import box
from rich.table import Table

from ringforge import runs
from ringforge.cli.console import console, properties, say, size_text
from ringforge.cli.output import ROWS, AsJson, prints
from ringforge.cli.records import RecordLine, emit_record
from ringforge.devices import Device
from ringforge.errors import HardwareError, ParameterError
from ringforge.gates.kinds import GateKind
from ringforge.hw.core import provenance
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.core.model import ModelDevice
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.executors import Executor, Simulated
from ringforge.hw.machines.psi.measure import GateBench, Query, Timed, cycles, lookup_plan
from ringforge.hw.machines.psi.model_device import Modelled

Machine = Annotated[str, typer.Option(help="Configuration in hw/psi/config; `ringforge hw list` shows them.")]
ParameterSet = Annotated[str, typer.Option(help="Set of gates, its keys by method ap: gates-toy, paper-medium, ...")]
Insecure = Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")]
Model = Annotated[bool, typer.Option("--model", help="Compute by the reference, time by the model, not in RTL.")]
Save = Annotated[Path | None, typer.Option("--save", help="Also write records and environment to this folder.")]

_GATES: Final = ("or", "and", "nor", "nand", "xor", "xnor")


@contextmanager
def _opened(machine: str, model: bool) -> Iterator[tuple[Device, Executor]]:
    """The device and what runs its jobs; shows the cycles of a running machine on a terminal."""
    if model:
        yield ModelDevice(machine), Modelled()
        return
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield RtlDevice(PsiConfig.named(machine)), Simulated()
        return
    start = time.monotonic()
    with screen.status("starting the machine") as status:

        def show(n: int) -> None:
            status.update(f"{n:,} cycles, {n / (time.monotonic() - start) / 1e3:.0f} thousand a second")

        yield RtlDevice(PsiConfig.named(machine), cycles=show), Simulated()


def _gadget(text: str, balanced: bool) -> Gadget:
    """A gadget such as 9x3: digits of 9 bits, 3 of them.

    Raises:
        ParameterError: it is none.
    """
    base, _, count = text.partition("x")
    if not (base.isdigit() and count.isdigit()):
        raise ParameterError(f'"{text}" is no gadget: write BITSxDIGITS, such as 9x3')
    return Gadget(int(base), int(count), 0, balanced)


def _finish(made: Sequence[Timed], params: str, as_json: bool, save: Path | None, name: str, command: str) -> None:
    """Prints records as JSON and writes them to a folder, where that is asked for; raises where bits differ."""
    records = [_record(t, params, command) for t in made]
    if as_json:
        for r in records:
            emit_record(r)
    if save is not None:
        say(f"written to {runs.save(records, save, f'{name}-{datetime.now(UTC).date()}', runs.environment())}")
    for t in made:
        if not t.exact:
            raise HardwareError(f"results of {t.what} on {t.device} differ from the processor's")


def _record(t: Timed, params: str, command: str) -> runs.Record:
    kind, _, config = t.device.partition(":")
    extra: dict[str, Any] = {"operations": t.operations, "exact": t.exact, "bytes": dict(t.bytes), **t.facts}
    if t.each_us is not None:
        extra["us_each"] = round(t.each_us, 3)
    if kind == "rtl":
        extra |= provenance.of_run(PsiConfig.named(config), command)
    seconds = t.seconds if t.cycles is None else t.cycles / t.clock_hz
    return runs.Record("hw-psi", t.what, params, "paper", seconds, device=t.device, cycles=t.cycles, extra=extra)


def _shown(made: Sequence[Timed]) -> Table:
    table = Table("", "cycles", "each", "key traffic", "same bits as the CPU", box=box.SIMPLE)
    for t in made:
        each = "" if t.each_us is None else f"{t.each_us:.2f} µs"
        count = "" if t.cycles is None else f"{t.cycles:,}"
        table.add_row(t.what, count, each, size_text(t.bytes.get("keys", 0)), "yes" if t.exact else "NO")
    return table


@prints(ROWS, RecordLine, lines=True)
def run_command(
    params: ParameterSet = "gates-toy",
    gate: Annotated[str, typer.Option(help=f"Kind: {', '.join(_GATES)}.")] = "nand",
    count: Annotated[int, typer.Option(help="Gates side by side, up to the loop FIFO's depth.", min=1, max=64)] = 12,
    products: Annotated[int, typer.Option(help="Products of each chain; 0: all of a gate.", min=0)] = 0,
    cells: Annotated[
        int, typer.Option(help="A look-up in bins of 2^CELLS cells instead, by the published algorithm.", min=0, max=20)
    ] = 0,
    bins: Annotated[int, typer.Option(help="2^BINS bins of the look-up.", min=0, max=11)] = 0,
    polled: Annotated[
        bool, typer.Option("--polled", help="The host polls, as the published one; else a queue.")
    ] = False,
    machine: Machine = "psi-small",
    model: Model = False,
    insecure: Insecure = "",
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Gates of one kind, bootstrapped side by side: accumulators made and turned by the machine, all else on the host.
    Or a look-up: every product and substitution by the machine.

    Accumulators, ciphertexts of whole gates, and replies are held against the processor's, word by word.

    Example: `ringforge hw run psi --insecure "a trial"`

    Example: `ringforge hw run psi --machine psi-54 --cells 18`

    Example: `ringforge hw run psi --params paper-medium --machine psi-27 --products 64 --insecure "a trial"`
    """
    if gate.lower() not in _GATES:
        raise ParameterError(f'there is no gate "{gate}" here; there are {", ".join(_GATES)}')
    kind = GateKind[gate.upper()]
    config = PsiConfig.named(machine)
    if cells:
        params = "paper, 54 bits" if config.max_log_n > 10 else "a small ring"
        query = Query(lookup_plan(config, bins, cells))
    else:
        bench = GateBench(params, insecure)
    with _opened(machine, model) as (device, executor):
        if cells:
            made = query.run(device, executor)
        else:
            made = bench.gates(device, executor, kind, count, products or None, polled=polled)
    if not as_json:
        each = 1e-3 * (made.each_us or 0)
        times = {"time of a bin": f"{each:.3f} ms"}
        if not cells:
            times = {
                "time of a product": f"{1e3 * each:.3f} µs",
                "time of a gate": f"{each * made.facts['products']:.3f} ms",
            }
        facts = {
            "cycles": "" if made.cycles is None else f"{made.cycles:,}",
            **times,
            "instructions": f"{made.facts['instructions']:,}",
            "memory": ", ".join(f"{name} {size_text(moved)}" for name, moved in made.bytes.items() if moved),
            "keys put into memory": f"{size_text(made.facts['bytes of keys'])}",
            "same bits as the CPU": "yes" if made.exact else "NO",
        }
        if "decrypted right" in made.facts:
            facts["decrypted right"] = made.facts["decrypted right"]
        facts["wall clock"] = f"{made.seconds:.1f} s"
        console().print(properties(f"{made.what}, {params}, {made.device}", facts))
    command = f"run psi --machine {machine} "
    if cells:
        command += f"--cells {cells} --bins {bins}"
    else:
        command += f"--params {params} --gate {gate} --count {count} --products {products}" + " --polled" * polled
    name = "lookup" if cells else f"{gate}-{params}"
    _finish([made], params, as_json, save, f"hw-{machine}-{name}", command)


@prints(ROWS, RecordLine, lines=True)
def cycles_command(
    machine: Machine = "psi-small",
    params: Annotated[str, typer.Option(help="Set of gates; none: no gates.")] = "gates-toy",
    products: Annotated[int, typer.Option(help="Products of each chain of gates.", min=2)] = 16,
    gadget: Annotated[str, typer.Option(help="How residues are cut otherwise, BITSxDIGITS.")] = "9x3",
    stages: Annotated[int, typer.Option(help="Of the expansion: 2^stages bins.", min=1, max=11)] = 3,
    model: Model = False,
    insecure: Insecure = "",
    as_json: AsJson = False,
    save: Save = None,
) -> None:
    """Cycles of bootstraps side by side, queued and polled, of products, substitutions and expansions, in RTL.

    Everything is held against the processor, word by word.

    Example: `ringforge hw cycles psi --insecure "a trial"`

    Example: `ringforge hw cycles psi --machine psi-54 --params none --gadget 9x6`
    """
    PsiConfig.named(machine)
    bench = None if params == "none" else GateBench(params, insecure)
    made: list[Timed] = []
    with _opened(machine, model) as (device, executor):
        for one in cycles(device, executor, bench, products, _gadget(gadget, balanced=True), stages):
            made.append(one)
    if not as_json:
        console().print(_shown(made))
    command = f"cycles psi --machine {machine} --params {params} --products {products} --gadget {gadget}"
    _finish(made, params, as_json, save, f"hw-{machine}-cycles", command + f" --stages {stages}")
