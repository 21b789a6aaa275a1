# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Verilog to netlists, by Yosys.

Two ways are tried, with and without Yosys's own restructuring (`abc`), and the better netlist after
:func:`ringforge.gates.optimise` is kept: `abc` is better at untidy logic, but undoes what was written with majorities
and exclusive sums in mind, and turns fast adders into small ones.

Nets must be declared and driven (`default_nettype` is none): a misspelt name would be a constant otherwise. What
Yosys warns of is passed on, and what only a mistake explains is an error.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ringforge import yosys
from ringforge.errors import HardwareError, NetlistError, ParameterError
from ringforge.gates.formats import DESIGNS, parse_yosys, public_names, source_line
from ringforge.gates.optimise import optimise

Goal = Literal["bootstraps", "depth"]

#: The circuits that come with the library: their sources, and what they are to have little of.
SHIPPED: dict[str, tuple[str, Goal]] = {
    "alu8": ("alu8.v", "bootstraps"),
    "adder32": ("adder32.v", "bootstraps"),
    "adder32_prefix": ("adder32.v", "depth"),
    "aes128_round": ("aes128.v", "bootstraps"),
    "aes128_last_round": ("aes128.v", "bootstraps"),
    "aes128_next_key": ("aes128.v", "bootstraps"),
}

_GATES = "AND,NAND,OR,NOR,XOR,XNOR,MUX,ANDNOT,ORNOT"
#: What is read and checked, before anything is simplified away.
_READ = "hierarchy -check -top {top}; proc; flatten; check; write_json read.json"
_WAYS = (
    "synth -flatten -top {top}; extract_fa -fa; abc -g " + _GATES,
    "synth -flatten -noabc -top {top}",
)

_NET = r"(?P<net>[^\s:']+)(?P<bits> \[[\d:]+\])?"
#: Warnings of Yosys that only a mistake explains: what it says, what that means, and what to do about it.
_FATAL = (
    (rf"Wire \w+\.{_NET} is used but has no driver", "nothing drives {}", "assign or connect it, or correct its name"),
    (rf"conflicting drivers for \w+\.{_NET}", "{} has several drivers", "a net has one"),
    (rf"Latch inferred for signal `\w+\.{_NET}", "{} is a latch", "assign it in every case: circuits keep no state"),
    (r"found logic loop", "gates form a loop", "circuits here are combinational, without feedback"),
    (rf"Identifier `{_NET}' is implicitly declared", "{} is not declared", "declare it, or correct its name"),
    (rf"out of bounds on signal `{_NET}'|to undef", "an index of {} is out of range", "keep to the declared range"),
)
#: File and line, wherever Yosys has them in its text.
_WHERE = re.compile(r"[\w.+-]+\.s?v:\d+")


@dataclass(frozen=True)
class _Run:
    """What one run of Yosys made: the module as it was read, the netlist, the warnings."""

    read: dict[str, Any]
    netlist: dict[str, Any]
    warnings: list[str]


def synthesise(sources: Sequence[str | Path], top: str, goal: Goal = "bootstraps") -> str:
    """A netlist in Yosys's JSON, without what only other tools need.

    Args:
        sources: Verilog files.
        top: the module.
        goal: what to have little of: bootstraps, the work, or depth, the levels that wait for each other.

    Raises:
        ParameterError: no proper name of a module, or two sources of one name. HardwareError: Yosys is missing, or
        refuses the sources, for an undeclared net for example. NetlistError: the module is not combinational, or a
        net in it has no driver, or several.

    Warns:
        UserWarning: what else Yosys warns of; outputs that are constant, inputs that nothing depends on.
    """
    yosys.require()
    paths = [Path(s) for s in sources]
    if not re.fullmatch(r"[A-Za-z_]\w*", top, re.ASCII):
        raise ParameterError(f'"{top}" is no name of a module')
    if not paths or len({p.name for p in paths}) < len(paths):
        raise ParameterError("give at least one Verilog file, each with a name of its own")
    found = []
    remarks: list[str] = []
    for way in _WAYS:
        run = _run(paths, f"{_READ.format(top=top)}; {way.format(top=top)}; opt_clean; write_json out.json")
        lines = _lines(run.read, top)
        _refuse(run.warnings, top, lines)
        text = _slim(run.netlist)
        # The whole of it is parsed first: its names are those of the sources.
        best = optimise(parse_yosys(json.dumps(run.netlist), top))
        report = best.report()
        cost = (report.bootstraps, report.depth)
        found.append((cost if goal == "bootstraps" else cost[::-1], text))
        if not remarks:
            remarks = [f"Yosys: {w}" for w in run.warnings]
            remarks += [f"{lines.get(port, top)}: {what}" for port, what in best.remarks()]
    for remark in dict.fromkeys(remarks):
        warnings.warn(remark, stacklevel=2)
    return min(found, key=lambda f: f[0])[1]


def _lines(design: dict[str, Any], top: str) -> dict[str, str]:
    """File and line of each net of the source."""
    nets = design["modules"][top]["netnames"]
    return {name: line for name, net in nets.items() if (line := source_line(net))}


def _refuse(said: Sequence[str], top: str, lines: dict[str, str]) -> None:
    """Raises: NetlistError, if there is a warning that only a mistake explains."""
    for pattern, meaning, remedy in _FATAL:
        shown: list[str] = []
        for text in said:
            match = re.search(pattern, text)
            if match is None:
                continue
            net, bits = (match.groupdict().get(group) or "" for group in ("net", "bits"))
            where = ", ".join(dict.fromkeys(_WHERE.findall(text))) or lines.get(net) or top
            named = f'net "{net}{bits.strip()}"'
            shown.append(f"{where}: {meaning.format(named)}")
        if shown:
            more = f"; and {len(shown) - 8} more" if len(shown) > 8 else ""
            raise NetlistError("; ".join(dict.fromkeys(shown[:8])) + f"{more}: {remedy}")


def _run(sources: Sequence[Path], commands: str) -> _Run:
    """Runs Yosys in a folder of its own, the only one it sees."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        names = [f"source{i}{'.sv' if p.suffix == '.sv' else '.v'}" for i, p in enumerate(sources)]
        for name, path in zip(names, sources, strict=True):
            (work / name).write_bytes(path.read_bytes())
        (work / "run.ys").write_text(f"read_verilog -sv -noautowire {' '.join(names)}; {commands}\n")
        done = yosys.run(("run.ys",), work)

        def own(text: str) -> str:
            """With the names of the user's files, and without Yosys's marks of public names."""
            for name, path in zip(names, sources, strict=True):
                text = text.replace(name, path.name)
            return text

        lines = [own(line).replace("\\", "") for line in (done.stdout + done.stderr).splitlines()]
        if done.returncode != 0:
            errors = [line for line in lines if "ERROR" in line]
            raise HardwareError(f"Yosys refuses the design: {errors[0] if errors else f'exit code {done.returncode}'}")
        said: list[str] = []
        for line in lines:
            if "Warning:" in line:
                said.append(line.replace("Warning: ", "", 1))
            elif said and line.startswith("    "):  # what it goes on to say
                said[-1] += " " + line.strip()
        read, netlist = (json.loads(own((work / f"{n}.json").read_text())) for n in ("read", "out"))
        return _Run(read, netlist, list(dict.fromkeys(said)))


def _slim(design: dict[str, Any]) -> str:
    """Ports and cells only, a line for each cell, so that equal designs give equal files.

    A cell is called as the net of the source that it drives, if there is one, and has its line.
    """
    creator = " ".join(design["creator"].split()[:2])
    modules = []
    for name, module in design["modules"].items():
        names, taken, cells = public_names(module), set[str](), []
        for i, cell in enumerate(module["cells"].values()):
            driven = [names[b] for pin in ("Y", "X") for b in cell["connections"].get(pin, ()) if b in names]
            label = driven[0] if driven and driven[0] not in taken else f"g{i}"
            taken.add(label)
            line = source_line(cell)
            kept = {"type": cell["type"], **({"attributes": {"src": line}} if line else {})}
            cells.append(f"    {json.dumps(label)}: {json.dumps({**kept, 'connections': cell['connections']})}")
        ports = [f"    {json.dumps(n)}: {json.dumps(p)}" for n, p in module["ports"].items()]
        modules.append(
            f'  {json.dumps(name)}: {{\n   "ports": {{\n'
            + ",\n".join(ports)
            + '\n   },\n   "cells": {\n'
            + ",\n".join(cells)
            + "\n   }\n  }"
        )
    return f'{{\n "creator": {json.dumps(creator)},\n "modules": {{\n' + ",\n".join(modules) + "\n }\n}\n"


def make_shipped(folder: Path = DESIGNS) -> list[Path]:
    """Writes the netlists of the circuits that come with the library; returns their files."""
    made = []
    for name, (source, goal) in SHIPPED.items():
        path = folder / f"{name}.json"
        path.write_text(synthesise([DESIGNS / source], name, goal))
        made.append(path)
    return made


if __name__ == "__main__":
    make_shipped()
