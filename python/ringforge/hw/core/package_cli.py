# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw package`: a machine as an RTL kernel for a card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import say
from ringforge.cli.output import WORK, prints
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.commands import Name
from ringforge.hw.core.package import Card, kernel_name, package


@prints(WORK)
def package_command(
    name: Name,
    out: Annotated[Path, typer.Option(help="Folder to write; it must not be there yet, or be empty.")],
    config: Annotated[str | None, typer.Option(help="Configuration; default: the machine's own.")] = None,
    port_bits: Annotated[int, typer.Option(help="Width of a memory port: 512 (DDR4) or 256 (HBM).")] = 512,
    memory_mhz: Annotated[float, typer.Option(help="Clock of the kernel's AXI interfaces, in MHz.")] = 300.0,
    one_clock: Annotated[bool, typer.Option("--one-clock", help="AXI interfaces at the machine's clock.")] = False,
    memory: Annotated[str, typer.Option(help="Memory of all ports, in the linker's words.")] = "DDR[0]",
    slices: Annotated[int, typer.Option(help="Register slices between the machine and each port.")] = 1,
    longest: Annotated[int, typer.Option(help="Words of a burst, at most.")] = 64,
    far: Annotated[str, typer.Option(help="Memory of ports to far memory, where the machine has such.")] = "DDR[0]",
) -> None:
    """Writes a machine as a kernel for a card: sources, Verilog top, constraints, Tcl for Vivado, a host program.

    The vendor's tools package, link and place it from there; none of them has ever read what this command writes.

    Examples: `ringforge hw package matvec --config matvec-b --out kernel`,
    `ringforge hw package matvec --port-bits 256 --memory-mhz 450 --memory "HBM[0:31]" --out kernel`
    """
    machine = descriptors.machine(name)
    chosen = machine.config.named(config or machine.default)
    card = Card(port_bits, None if one_clock else 1e6 * memory_mhz, memory, slices, longest, far)
    files = package(machine, chosen, out, card)
    say(f"{len(files)} files of kernel {kernel_name(chosen)} written to {out}; never built by the vendor's tools")
