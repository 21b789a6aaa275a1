# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameters that a module of the shell cannot have end the elaboration, with a word that says why."""

import os
import subprocess

import pytest
from runner import HERE, find, tool_path

CASES = [
    ("rf_skid", {"Width": 0}, "no bits"),
    ("rf_axil_regs", {"AddrW": 2}, "AddrW 2 is outside"),
    ("rf_axi_read", {"DataW": 96}, "DataW 96 is not a bus width"),
    ("rf_axi_read", {"DataW": 1024, "MaxBeats": 64}, "bursts of 64 beats"),
    ("rf_axi_write", {"DataW": 2048}, "DataW 2048 is not a bus width"),
    ("rf_axi_write", {"Outstanding": 0}, "no burst may be outstanding"),
    ("rf_line_read", {"Ports": 3}, "Ports must be a power of two"),
    ("rf_line_read", {"MaxBeats": 24}, "MaxBeats must be a power of two"),
    ("rf_line_read", {"Depth": 15}, "Depth must hold a burst"),
    ("rf_line_read", {"SegmentLog": 11}, "segments must have 4 KiB"),
    ("rf_line_write", {"Ports": 3}, "Ports must be a power of two"),
    ("rf_line_write", {"MaxBeats": 24}, "MaxBeats must be a power of two"),
    ("rf_line_write", {"SegmentLog": 48}, "segments must have 4 KiB"),
    ("rf_shell_programs", {"Elements": 65}, "Elements 65 is outside"),
    ("rf_shell_programs", {"AddrW": 33}, "AddrW 33 is less than 34"),
    ("rf_shell_counters", {"Counters": 9}, "Counters 9 is above 8"),
    ("rf_shell_control", {"Ports": 65}, "Ports 65 is outside"),
    ("rf_shell_control", {"PortBytes": 48}, "PortBytes 48 is not a bus width"),
]


def lint(top: str, parameters: dict[str, int]) -> str:
    """What Verilator says of a module with such parameters."""
    files, args = find(top, HERE.parents[1] / "shell" / "dv", [], [])
    sets = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--lint-only", "--top-module", top, *args, *sets, *map(str, files)]
    done = subprocess.run(command, env={**os.environ, "PATH": tool_path()}, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize(("top", "parameters", "why"), CASES)
def test_parameters_that_cannot_be(top, parameters, why):
    assert why in lint(top, parameters)
