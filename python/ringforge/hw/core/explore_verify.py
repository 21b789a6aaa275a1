# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Points of an exploration against synthesis of the cells that dominate them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rich import box
from rich.table import Table

from ringforge import yosys
from ringforge.cli.console import console, say
from ringforge.errors import ParameterError
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core import resources
from ringforge.hw.core.explore import Found, Point
from ringforge.hw.core.synthesis import Resources


@dataclass(frozen=True)
class Verified:
    """A point, and what synthesis of its cells adds up to, each cell as often as the machine has it."""

    point: Point
    cells: tuple[tuple[str, int, Resources], ...]

    @property
    def dsp(self) -> int:
        """Slices of all cells."""
        return sum(count * each.dsp for _, count, each in self.cells)

    @property
    def memory(self) -> tuple[float, int]:
        """Block RAMs and ultra RAMs of all cells."""
        return sum(c * e.bram36 for _, c, e in self.cells), sum(c * e.uram for _, c, e in self.cells)


def verify(found: Found, point: Point) -> Verified:
    """Synthesises a point's cells for the card's family.

    Raises:
        ParameterError: the space names no cells. HardwareError: Yosys is missing, or fails.
    """
    yosys.require()
    machine = descriptors.machine(found.space.machine)
    design = replace(resources.design(machine), family=found.card.family)
    named = found.space.cells(point)
    if not named:
        raise ParameterError(f"the models of {machine.name} are of no cells of ours: there is nothing to synthesise")
    cells = []
    for module, count in named:
        lines = resources.compose(module, design.synthesise, machine.lane_cells)
        assert lines is not None  # what is not kept is made
        cells.append((str(module), count, resources.total(lines)))
    return Verified(point, tuple(cells))


def report(found: Found, count: int) -> None:
    """Synthesises the cells of the first points, and prints what the models are off by."""
    table = Table(title=f"cells by {yosys.version()}, {found.card.family}", title_justify="left", box=box.SIMPLE_HEAD)
    for head in ("point", "DSP", "synthesised", "error", "BRAM36", "synthesised", "URAM", "synthesised"):
        table.add_column(head, justify="right")
    for n, point in enumerate(found.fitting[:count], 1):
        with console(stderr=True).status(f"synthesising the cells of point {n}"):
            v = verify(found, point)
        bram36, uram = v.memory
        error = f"{100 * (point.dsp / v.dsp - 1):+.1f} %" if v.dsp else "-"
        table.add_row(
            str(n), f"{point.dsp:,}", f"{v.dsp:,}", error, f"{point.blocks.bram36:,g}", f"{bram36:,g}",
            f"{point.blocks.uram:,}", f"{uram:,}",
        )  # fmt: skip
    console().print(table)
    say("cells: " + ", ".join(f"{count} x {name}" for name, count, _ in v.cells))
