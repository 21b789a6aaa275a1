# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a machine takes on the FPGA, composed from syntheses of its parts.

The tree of parts and their numbers come from elaboration, not from a list here: each module that the machine's
descriptor calls a part is synthesised once for each set of parameters that the machine gives it, without the parts
inside it, and everything is added up. Cells whose lanes do not touch each other are synthesised with one lane and
counted once a lane; wide parts that are made of equal slices, with one slice and with two. What only a machine can say
of itself, its :class:`Figures` say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, ClassVar

from ringforge import yosys
from ringforge.errors import HardwareError
from ringforge.hw.core import cells as tables
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core import synthesis
from ringforge.hw.core.cells import Cell
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Design, Module, Resources, Run

#: Gives the run of a module: synthesises, or only looks into the cache and gives None.
Runner = Callable[[Module], Run | None]


@cache
def _design(name: str) -> Design:
    of = descriptors.machine(name)
    cells = [p for library in tables.LIBRARIES for p in sorted((sources() / library / "rtl").glob("*.sv"))]
    listed = of.files()
    found = Design.of([*listed, *(p for p in cells if p not in listed)], of.parts, of.slices, of.resized)
    return replace(found, family=of.family)


def design(machine: Machine) -> Design:
    """A machine's sources, cut at its parts; every cell is among them."""
    return _design(machine.name)


# ---- composition --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A part: how many there are, and what one takes without the parts inside it."""

    module: Module
    count: int
    each: Resources

    @property
    def total(self) -> Resources:
        return self.each * self.count


Lines = tuple[Line, ...]


def compose(root: Module, run: Runner, lane_cells: frozenset[str] = descriptors.LANE_CELLS) -> Lines | None:
    """All parts of a design in the order of the hierarchy, or None where `run` knows one of them not."""
    runs: dict[Module, Run] = {}
    counts: dict[Module, int] = {}

    def visit(module: Module, count: int) -> bool:
        if module.name in lane_cells:
            count *= module["Lanes"]
            module = Module.make(module.name, {**dict(module.parameters), "Lanes": 1})
        if module not in runs:
            found = run(module)
            if found is None:
                return False
            runs[module] = found
            counts[module] = 0
        counts[module] += count
        return all(visit(part, count * n) for part, n in runs[module].parts)

    if not visit(root, 1):
        return None
    return tuple(Line(m, counts[m], r.own) for m, r in runs.items())


def total(lines: Lines) -> Resources:
    """The sum of a design's parts."""
    out = Resources()
    for line in lines:
        out = out + line.total
    return out


# ---- what only a machine knows ------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """What was published of a machine of the same shape.

    Attributes:
        sets: which of the published machines it is, in a word or two.
        source: where its figures stand.
        card: name of the card.
        resources: of the machine.
        available: of the card.
    """

    sets: str
    source: str
    card: str
    resources: Resources
    available: Resources


class Figures:
    """What tables of resources say of one machine; these are the answers of a machine that has nothing to add."""

    #: What is meant by a part's own resources, by the part.
    notes: ClassVar[Mapping[str, str]] = {}
    #: Short words for kinds, for the heads of columns.
    short: ClassVar[Mapping[str, str]] = {}
    #: Parts that are only inside elements, which the table of a machine shows as one line.
    inside: ClassVar[frozenset[str]] = frozenset()

    def variants(self, config: Any) -> Mapping[str, Any]:
        """The configurations that are synthesised beside each other, by a word for the kind of each."""
        return {"machine": config}

    def element(self, config: Any) -> Module | None:  # noqa: ARG002
        """The module that the machine has many of, as it instantiates it; None if there is none."""
        return None

    def sizes(self, config: Any) -> Mapping[str, int]:  # noqa: ARG002
        """Sizes that the table of cells takes instead of `ringforge.hw.core.cells.SIZES`."""
        return {}

    def placed(self, config: Any) -> Mapping[str, int] | None:  # noqa: ARG002
        """Parameters of the top with few lanes, for `hw timing`; None: as `ringforge.hw.core.timing` takes them."""
        return None

    def published(self, config: Any) -> Published | None:  # noqa: ARG002
        """Figures that were published of this shape."""
        return None

    def checks(self, synthesis: Synthesis) -> Iterator[tuple[bool, str]]:  # noqa: ARG002
        """Statements about a synthesis, and whether they hold."""
        return iter(())


def figures(machine: Machine) -> Figures:
    """What a machine says of itself.

    Raises:
        HardwareError: what its descriptor names cannot be imported.
    """
    found: Figures = machine.load(machine.figures) if machine.figures else Figures()
    return found


def top(machine: Machine, config: MachineConfig) -> Module:
    """The top of a machine, with real multipliers."""
    return Module.make(machine.top, config.parameters(twin=False))


def cells(machine: Machine, config: MachineConfig) -> list[Cell]:
    """The common cells, with the parameters that a machine gives them, one lane where lanes are independent."""
    return tables.cells(figures(machine).sizes(config))


# ---- one configuration --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Synthesis:
    """All that was synthesised of one configuration; what was not asked for is empty.

    Attributes:
        elements, machines: by the kinds of the machine's `Figures.variants`.
    """

    config: MachineConfig
    tool: str
    cells: tuple[tuple[Cell, Resources], ...]
    elements: Mapping[str, Lines]
    machines: Mapping[str, Lines]

    @property
    def machine(self) -> Machine:
        """The descriptor."""
        return descriptors.of(self.config)

    @property
    def figures(self) -> Figures:
        """What the machine says of itself."""
        return figures(self.machine)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""

        def lines(of: Mapping[str, Lines]) -> dict[str, Any]:
            return {
                kind: {
                    "total": asdict(total(parts)),
                    "parts": [
                        {"module": p.module.name, "parameters": dict(p.module.parameters), "count": p.count}
                        | {"each": asdict(p.each)}
                        for p in parts
                    ],
                }
                for kind, parts in of.items()
            }

        paper = self.figures.published(self.config)
        return {
            "config": self.config.model_dump(),
            "tool": self.tool,
            "flags": f"synth_xilinx {synthesis.flags(self.machine.family)}",
            "cells": [
                {"name": c.name, "variant": c.variant, "parameters": dict(c.module.parameters), "takes": asdict(r)}
                for c, r in self.cells
                if c.module is not None
            ],
            "elements": lines(self.elements),
            "machines": lines(self.machines),
            "paper": None if paper is None else {"sets": paper.sets, **asdict(paper.resources)},
            "checks": [{"holds": ok, "what": text} for ok, text in self.figures.checks(self)],
        }

    @classmethod
    def from_dict(cls, machine: Machine, values: Mapping[str, Any]) -> Synthesis:
        """Reads `to_dict` back.

        Raises:
            HardwareError: it was not written by this version.
        """
        try:
            config = machine.config.model_validate(values["config"])
            taken = {(c["name"], c["variant"]): Resources(**c["takes"]) for c in values["cells"]}

            def lines(of: Mapping[str, Any]) -> dict[str, Lines]:
                return {
                    kind: tuple(
                        Line(Module.make(p["module"], p["parameters"]), p["count"], Resources(**p["each"]))
                        for p in of[kind]["parts"]
                    )
                    for kind in figures(machine).variants(config)
                    if kind in of
                }

            known = cells(machine, config)
            found = tuple((c, taken[c.name, c.variant]) for c in known if (c.name, c.variant) in taken)
            return cls(config, values["tool"], found, lines(values["elements"]), lines(values["machines"]))
        except (KeyError, TypeError, ValueError) as e:
            raise HardwareError(f"the file was not written by this version's `hw synth`: {e}") from None


def gather(
    config: MachineConfig,
    run: Runner,
    *,
    want_cells: bool = True,
    want_elements: bool = True,
    want_machines: bool = True,
    kinds: frozenset[str] | None = None,
) -> Synthesis:
    """Runs or looks up all syntheses of a configuration; with a runner that only looks, what is missing stays out.

    Args:
        kinds: of the machine's `Figures.variants`; default: all.
    """
    machine = descriptors.of(config)
    said, lane_cells = figures(machine), machine.lane_cells
    found: list[tuple[Cell, Resources]] = []
    for cell in cells(machine, config) if want_cells else ():
        lines = None if cell.module is None else compose(cell.module, run, lane_cells)
        if lines is not None:
            found.append((cell, total(lines)))
    elements: dict[str, Lines] = {}
    machines: dict[str, Lines] = {}
    for kind, variant in said.variants(config).items():
        if kinds is not None and kind not in kinds:
            continue
        element = said.element(variant) if want_elements else None
        if element is not None and (lines := compose(element, run, lane_cells)) is not None:
            elements[kind] = lines
        if want_machines and (lines := compose(top(machine, variant), run, lane_cells)) is not None:
            machines[kind] = lines
    return Synthesis(config, yosys.version() or "", tuple(found), elements, machines)
