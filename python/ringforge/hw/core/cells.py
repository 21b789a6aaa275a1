# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The table of cells: what hw/common/cells.json and hw/shell/cells.json say of each, with a machine's sizes put in.

A cell's entry has `name`, `function`, `latency` (text, or a constant of rf_pkg), `rate`, perhaps `test`, and
`variants`: how it is synthesised, each with words (`as`) and `parameters` (null for what is only simulated). Parameters
are numbers or names of SIZES, which words may hold in braces; a machine says its own sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ringforge.errors import HardwareError
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Module

#: Folders of hw/ with cells.
LIBRARIES: Final = ("common", "shell")
#: Sizes that parameters of cells may name, and what they are for a machine that does not say: those of matvec-b.
SIZES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "W": 54,
        "Lanes": 16,
        "Rows": 4096,
        "Banks": 3,
        "MaxLogN": 15,
        "StreamRows": 512,
        "DataW": 1024,
        "MaxBeats": 32,
        "ReadClients": 12,
        "WriteClients": 4,
    }
)


@dataclass(frozen=True)
class Cell:
    """A common cell as the tables show it.

    Attributes:
        name: of the module.
        function: what it does, in a few words.
        latency: clock edges from operands to result.
        rate: throughput.
        variant: which parameters it was synthesised with, in words.
        module: the same for the synthesis; None for what is only simulated.
        test: file in `dv` of its folder that tests it, without suffix.
    """

    name: str
    function: str
    latency: str
    rate: str
    variant: str
    module: Module | None
    test: str


def latencies() -> dict[str, int]:
    """Constants of rf_pkg whose names end in Latency."""
    text = (sources() / "common" / "rtl" / "rf_pkg.sv").read_text(encoding="utf-8")
    out: dict[str, int] = {}
    for name, value in re.findall(r"(\w+Latency)\s*=\s*([\w +]+);", text):
        out[name] = sum(out[w] if w in out else int(w) for w in re.split(r"\s*\+\s*", value.strip()))
    return out


def modules() -> list[str]:
    """Names of the cells' modules: every rf_*.sv of the libraries that is no package."""
    found = (p.stem for name in LIBRARIES for p in sorted((sources() / name / "rtl").glob("rf_*.sv")))
    return [name for name in found if not name.endswith("_pkg")]


def cells(sizes: Mapping[str, int]) -> list[Cell]:
    """The cells, each in all its variants, with a machine's sizes.

    Raises:
        HardwareError: a table lacks a cell, or is not as this module says.
    """
    known = {**SIZES, **sizes}
    known["RowW"] = known["Lanes"] * known["W"]
    late = {name: str(value) for name, value in latencies().items()}
    out = []
    for library in LIBRARIES:
        path = sources() / library / "cells.json"
        try:
            for entry in json.loads(path.read_text(encoding="utf-8")):
                name, latency = entry["name"], late.get(entry["latency"], entry["latency"])
                for variant in entry["variants"]:
                    given = variant["parameters"]
                    module = None
                    if given is not None:
                        module = Module.make(name, {k: known[v] if isinstance(v, str) else v for k, v in given.items()})
                    words = variant["as"].format_map(known)
                    test = entry.get("test", f"test_{name}")
                    out.append(Cell(name, entry["function"], latency, entry["rate"], words, module, test))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            raise HardwareError(f"{path} is no table of cells: {type(e).__name__} {e}") from None
    if missing := set(modules()) - {c.name for c in out}:
        raise HardwareError(
            f"the tables of cells lack {', '.join(sorted(missing))}: add them to cells.json of their folder"
        )
    return out
