# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw`: lint, test, synthesise, simulate and report an accelerator, one command each."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from ringforge import yosys
from ringforge.cli.console import console, progress, say
from ringforge.cli.output import ROWS, TEXT, AsJson, emit, prints
from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import evidence_cli, resources
from ringforge.hw.core import lint as linting
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core import report as tables
from ringforge.hw.core.answers import Synthesised
from ringforge.hw.core.commands import Hardware, Name
from ringforge.hw.core.package_cli import package_command
from ringforge.hw.core.resources import Synthesis
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Module, Run, flags
from ringforge.runs import saved_results

app = typer.Typer(
    cls=Hardware,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The accelerators in SystemVerilog: list, lint, test, synthesise, simulate, report.",
)


# ---- list ---------------------------------------------------------------------------------------------


@app.command("list")
@prints(ROWS)
def list_command() -> None:
    """The machines: their configurations, and the commands that each brings along.

    Example: `ringforge hw list`
    """
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("machine", no_wrap=True)
    table.add_column("configurations")
    table.add_column("commands")
    table.add_column("kernels", no_wrap=True)
    table.add_column("about")
    for machine in descriptors.machines():
        names = [f"{name} (default)" if name == machine.default else name for name in machine.config.names()]
        commands = ", ".join(machine.commands) or "-"
        table.add_row(
            machine.name, escape("\n".join(names)), commands, "yes" if machine.kernels else "no", escape(machine.about)
        )
    console().print(table)


# ---- lint ---------------------------------------------------------------------------------------------


@app.command("lint")
@prints(ROWS)
def lint_command(
    name: Name,
    cells: Annotated[bool, typer.Option("--cells", help="Only the common cells, which takes seconds.")] = False,
) -> None:
    """Lint by Verilator and by slang: a machine in every configuration, and every common cell by itself.

    Each configuration is looked at twice, with its real multipliers and with the models that stand in for them in long
    simulations. A warning ends the command with code 1. Takes about a minute.

    Examples: `ringforge hw lint matvec`, `ringforge hw lint matvec --cells`
    """
    machine = descriptors.machine(name)
    subjects = [*([] if cells else linting.configurations(machine)), *linting.common()]
    found = []
    with progress("linting") as update:
        for n, finding in enumerate(linting.lint(subjects), 1):
            found.append(finding)
            update(n / len(subjects))
    table = Table(title="verilator -Wall, slang -Wextra", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("top")
    table.add_column("as", overflow="fold")
    table.add_column("warnings", justify="right")
    for f in found:
        what = f.subject.name if f.subject.name != f.subject.top else "by itself"
        table.add_row(f.subject.top, escape(what), str(len(f.messages)) if f.messages else "none")
    console().print(table)
    bad = [f for f in found if f.messages]
    for f in bad:
        for message in f.messages:
            say(f"{f.subject.name}: {message}")
    if bad:
        raise HardwareError(f"{sum(len(f.messages) for f in bad)} lint warnings in {len(bad)} of {len(found)} designs")
    say(f"{len(found)} designs, no warning")


# ---- test ---------------------------------------------------------------------------------------------


def _checkout() -> Path | None:
    """The repository that holds the hardware's sources, or else the one around the current folder."""
    for root in (sources().resolve().parent, Path.cwd(), *Path.cwd().parents):
        if (root / "python" / "tests" / "hw").is_dir() and (root / "hw" / "common" / "dv").is_dir():
            return root
    return None


@app.command("test")
@prints(TEXT)
def run_tests(
    name: Name,
    long: Annotated[
        bool, typer.Option("--long", help="The slow tests too: exhaustive small widths, whole layers.")
    ] = False,
    keyword: Annotated[str, typer.Option("-k", help="Only tests whose names match, as pytest's -k.")] = "",
) -> None:
    """Runs a machine's tests: cocotb benches of every cell that it may use, and its own.

    Benches are part of a checkout, not of the installed package. Results are kept for `ringforge hw report`.

    Examples: `ringforge hw test matvec`, `ringforge hw test matvec -k rf_fifo`, `ringforge hw test matvec --long`
    """
    machine = descriptors.machine(name)
    root = _checkout()
    if root is None:
        raise HardwareError(
            "the hardware's tests are in a checkout of Ringforge, not in the installed package; "
            "in a checkout: make test-hw"
        )
    for module, what in (("pytest", "pytest"), ("cocotb", "cocotb"), ("cocotbext.axi", "cocotbext-axi")):
        try:
            missing = importlib.util.find_spec(module) is None
        except ModuleNotFoundError:
            missing = True
        if missing:
            raise HardwareError(f"the hardware's tests need {what}: pip install {what}")
    path = tables.test_results_path(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    benches = [root / "hw" / library / "dv" for library in machine.libraries]
    folders = [f for f in (*benches, machine.room / "dv", *(root / t for t in machine.tests)) if f.is_dir()]
    command = [sys.executable, "-m", "pytest", *map(str, folders), f"--junitxml={path}", "--durations=5"]
    command += ["-m", "long or not long"] if long else ["-m", "not long"]
    command += ["-k", keyword] if keyword else []
    if importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(os.cpu_count() or 1), "--dist", "loadfile"]
    raise typer.Exit(subprocess.run(command, cwd=root, check=False).returncode)


# ---- synth --------------------------------------------------------------------------------------------


def _shown(synthesis: Synthesis, markdown: bool) -> list[tables.Grid]:
    grids = []
    if synthesis.cells:
        grids.append(
            tables.cells_in_full(synthesis)
            if markdown
            else tables.cells(synthesis, tables.test_states(synthesis.machine))
        )
    if synthesis.elements:
        grids.append(tables.elements(synthesis))
    if synthesis.machines:
        grids += [tables.machine_parts(synthesis), *_beside_paper(synthesis)]
    return grids


def _beside_paper(synthesis: Synthesis) -> list[tables.Grid]:
    found = tables.beside_paper(synthesis)
    return [] if found is None else [found]


def _print(grids: list[tables.Grid], markdown: bool) -> None:
    for grid in grids:
        if markdown:
            print(f"{grid.title}\n\n{grid.markdown()}")
        else:
            console().print(grid.rich())


def _check(synthesis: Synthesis) -> bool:
    results = list(synthesis.figures.checks(synthesis))
    for holds, text in results:
        say(f"{'holds' if holds else 'FAILS'}: {text}")
    return all(holds for holds, _ in results)


Markdown = Annotated[bool, typer.Option("--markdown", help="Print tables for a document.")]


@app.command("synth")
@prints(ROWS, Synthesised, lines=True)
def synth_command(
    name: Name,
    config: Annotated[
        list[str] | None, typer.Option(help="Configuration; may be repeated. Default: the machine's first choice.")
    ] = None,
    multiplier: Annotated[
        str, typer.Option(help="One kind of multiplier, or both, for machines that come in kinds.")
    ] = "both",
    cells: Annotated[bool, typer.Option("--cells", help="The common cells.")] = False,
    pe: Annotated[bool, typer.Option("--pe", help="One element, of a machine that has many.")] = False,
    machine: Annotated[bool, typer.Option("--machine", help="The whole machine.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Also write the results to this folder, such as bench/results.")
    ] = None,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """DSP slices, memories, LUTs and flip-flops on the machine's FPGA, by Yosys, beside what was published.

    Without --cells, --pe or --machine it does all three. Every module is synthesised once for each set of parameters,
    without the modules inside it, and the hierarchy is added up; the multiply-accumulate array and the butterflies
    count a lane as many times as there are lanes. Runs are kept: only what changed runs again. The first time takes
    about ten minutes, and a minute more when Yosys has never run on this machine.

    Yosys packs no adders or registers into DSP slices, so LUTs and flip-flops are too high; frequency is not
    estimated. Ends with code 1 if the figures break what the project states of them.

    Examples: `ringforge hw synth matvec --pe`, `ringforge hw synth matvec --config matvec-a --save bench/results`
    """
    described = descriptors.machine(name)
    configs = [described.config.named(c) for c in config or [described.default]]
    known = dict.fromkeys(k for c in configs for k in resources.figures(described).variants(c))
    if multiplier not in {*known, "both"}:
        raise ParameterError(f'"{multiplier}" is no kind of machine {name}: write {", ".join(known)} or both')
    yosys.require()
    everything = not (cells or pe or machine)
    holds = True
    status = console(stderr=True)
    for chosen in configs:
        with status.status("synthesising") as spinner:

            def run(module: Module, spinner: object = spinner) -> Run:
                spinner.update(f"synthesising {escape(str(module))}")  # type: ignore[attr-defined]
                return resources.design(described).synthesise(module)

            found = resources.gather(
                chosen,
                run,
                want_cells=cells or everything,
                want_elements=pe or everything,
                want_machines=machine or everything,
                kinds=None if multiplier == "both" else frozenset({multiplier}),
            )
        if as_json:
            emit(found.to_dict())
        else:
            _print(_shown(found, markdown), markdown)
            holds = _check(found) and holds
            say(f"{found.tool}, synth_xilinx {flags(found.machine.family)}")
        if save is not None:
            say(f"written to {tables.save(found, save)}")
    if not holds:
        raise HardwareError("the figures break a statement above")


# ---- report -------------------------------------------------------------------------------------------


@app.command("report")
@prints(TEXT)
def report_command(
    name: Name,
    config: Annotated[str, typer.Option(help="Configuration. Default: the machine's first choice.")] = "",
    results: Annotated[
        Path | None,
        typer.Option(help="Folder of saved results; default: bench/results here, or in the source tree."),
    ] = None,
    markdown: Markdown = False,
) -> None:
    """One page about a machine: configuration, resources beside the paper, cells and their tests, cycles.

    Computes nothing: resources are those of the last `ringforge hw synth` (of these sources if they were synthesised,
    else the newest saved ones), tests those of the last `ringforge hw test`, cycles those that `ringforge hw run` and
    `ringforge hw cycles` saved.

    Example: `ringforge hw report matvec --config matvec-a`
    """
    machine = descriptors.machine(name)
    chosen = machine.config.named(config or machine.default)
    folder = saved_results(results)
    grids = [tables.configuration(chosen)]
    found = resources.gather(chosen, resources.design(machine).kept)
    origin = "resources: synthesised from these sources"
    if not found.machines and (stored := tables.saved(folder, machine, chosen)) is not None:
        found, path, current = stored
        origin = f"resources: {path}, saved from these sources"
        if not current:
            again = f"ringforge hw synth {name} --config {chosen.name} --save {folder}"
            origin = f"resources: {path}, saved from other sources; make them anew: {again}"
    if found.machines:
        grids += [*_beside_paper(found), tables.machine_parts(found)]
    if found.elements:
        grids.append(tables.elements(found))
    if not found.machines:
        origin = f"resources: not synthesised yet; run ringforge hw synth {name} --config {chosen.name}"
    states = tables.test_states(machine)
    grids.append(tables.cells_in_full(found) if markdown else tables.cells(found, states))
    cycles, again_cycles = tables.cycles(folder, chosen) if folder.is_dir() else (None, [])
    if cycles is not None and cycles.rows:
        grids.append(cycles)
    _print(grids, markdown)
    say(origin)
    if not states:
        say(f"tests: not run yet; run ringforge hw test {name}")
    how = f"ringforge hw cycles {name} --save {folder}" if "cycles" in machine.commands else ""
    if cycles is None or not cycles.rows:
        say(f"cycles: none saved in {folder}" + (f"; run {how}" if how else ""))
    elif any(row[-1] == "NO" for row in cycles.rows):
        commands = [f"{command} --save {folder}" for command in again_cycles] or ([how] if how else [])
        say("\n  ".join(["cycles: some were saved from other sources; make them anew:", *commands]))


# ---- package ------------------------------------------------------------------------------------------

app.command("package")(package_command)


# ---- evidence without simulation ----------------------------------------------------------------------

app.command("timing")(evidence_cli.timing_command)
app.command("formal")(evidence_cli.formal_command)
