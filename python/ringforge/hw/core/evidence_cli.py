# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw timing` and `ringforge hw formal`: evidence that needs no simulation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, progress, say
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.errors import HardwareError
from ringforge.hw.core import formal, timing
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.answers import Proofs, Timings
from ringforge.hw.core.commands import Name
from ringforge.runs import saved_results

Save = Annotated[Path | None, typer.Option(help="Also write the results to this folder, such as bench/results.")]


@prints(ROWS, Timings)
def timing_command(
    name: Name,
    config: Annotated[str, typer.Option(help="The machine's configuration; default: the machine's own.")] = "",
    only: Annotated[list[str] | None, typer.Option(help="Only blocks of this module; may be repeated.")] = None,
    saved: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results to compare with; default: bench/results here or in the source tree."
        ),
    ] = None,
    save: Save = None,
    as_json: AsJson = False,
) -> None:
    """Clocks of each cell and block, placed and routed alone by nextpnr for an ECP5, beside the saved ones.

    Each block is synthesised without the parts in it, with registers around it, and placed with fixed seeds; the
    fastest placement counts. Runs are kept: only what changed runs again. The first time takes up to half an hour.
    ECP5 stands in for the FPGA that the machine is for: absolute clocks do not transfer, ranks and regressions do.
    Ends with code 1 if a block is 10 % slower than saved by the same tools. --save with --only keeps the other blocks.

    Examples: `ringforge hw timing matvec`, `ringforge hw timing matvec --only rf_mac --only vector_sequencer`
    """
    machine = descriptors.machine(name)
    chosen = machine.config.named(config or machine.default)
    tool = timing.require()
    found = timing.chosen(timing.blocks(machine, chosen), only or [])
    before = timing.saved(machine, saved_results(saved))
    lines: list[timing.Line] = []
    without: list[timing.Block] = []
    with progress("placing and routing") as update:
        for line in timing.gather(machine, found, before[0] if before else {}, without.append):
            lines.append(line)
            update(len(lines) / len(found))
    if as_json:
        emit([{"block": str(x.block.module), "change": x.change, **asdict(x.timing)} for x in lines])
    else:
        console().print(timing.grid(lines).rich())
        say(f"{tool}; {timing.NOTE}")
        if without:
            say(f"no path between registers: {', '.join(sorted({b.name for b in without}))}")
        say(f"compared with {before[1]}" if before else "nothing saved to compare with: --save bench/results saves")
    if save is not None:
        others = timing.saved(machine, save) if only else None
        say(f"written to {timing.save(machine, chosen, lines, save, others[0] if others else None)}")
    if slower := [line for line in lines if line.slower]:
        words = ", ".join(f"{x.block.name} ({x.block.variant}) {x.timing.mhz:.1f} MHz, {x.change:+.1%}" for x in slower)
        raise HardwareError(
            f"slower than saved by more than {timing.ALLOWED:.0%}: {words}; mend the path that the table names, or "
            "save the new figures with --save where the loss is meant"
        )


@prints(ROWS, Proofs)
def formal_command(
    name: Name,
    only: Annotated[list[str] | None, typer.Option(help="Only proofs of this module; may be repeated.")] = None,
    defects: Annotated[
        bool, typer.Option("--defects", help="Also seed every named defect, and see that it breaks its property.")
    ] = False,
    save: Save = None,
    as_json: AsJson = False,
) -> None:
    """Properties of FIFOs, arbiters, AXI masters and slaves, scoreboard and run control, proved by SymbiYosys.

    Modules have small parameters. A property is proved for ever by k-induction, or, where the table says so, for the
    cycles after reset that it names. Runs are kept: only what changed runs again. Ends with code 1 if a property fails
    or stays open, or a seeded defect breaks nothing.

    Examples: `ringforge hw formal matvec`, `ringforge hw formal matvec --only rf_fifo --defects`
    """
    machine = descriptors.machine(name)
    tool = formal.require()
    wanted = formal.chosen(formal.proofs(machine), only or [])
    steps = [(proof, defect) for proof in wanted for defect in (None, *(proof.defects if defects else ()))]
    found, bad = [], []
    with progress("proving") as update:
        for n, (proof, defect) in enumerate(steps, 1):
            outcome = formal.check(machine, proof, defect)
            if defect is None:
                found.append((proof, outcome))
                if not outcome.good:
                    broken = ", ".join(outcome.failed) or "a property"
                    how = "is open" if outcome.status == "open" else "fails"
                    bad.append(f"{proof.module.name}: {broken} {how}, traces in {outcome.log}")
            elif outcome.status == "open":
                bad.append(
                    f"{proof.module.name}: no trace was found in time with the defect {defect.becomes!r}; repeat it on "
                    "a machine with less to do"
                )
            elif outcome.good or defect.breaks not in outcome.failed:
                bad.append(f"{proof.module.name}: {defect.breaks} holds in spite of the defect {defect.becomes!r}")
            update(n / len(steps))
    if as_json:
        emit(formal.to_dict(found))
    else:
        console().print(formal.grid(found).rich())
        seeded = f"; {len(steps) - len(found)} defects seeded" if defects else ""
        say(f"{sum(len(formal.checked(p, o)) for p, o in found)} properties{seeded}; {tool}")
    if save is not None:
        say(f"written to {formal.save(machine, found, save)}")
    if bad:
        raise HardwareError("; ".join(bad))
