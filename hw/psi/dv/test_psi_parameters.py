# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameters that the FHEW accelerator cannot have end the elaboration, with a word that says why."""

import os
import subprocess
from pathlib import Path

import pytest
from runner import find, tool_path

SMALL = {"MinLogN": 7, "MaxLogN": 8, "Twin": 1}
CASES = [
    ("psi_keys", {"MaxLogN": 5}, "MaxLogN 5 is outside 6..12"),
    ("psi_keys", {"MaxLogN": 7, "Rows": 1}, "1 rows do not hold a burst"),
    ("psi_fifo", {"Slots": 0}, "Slots at least 1"),
    ("psi_rob", {"Depth": 1}, "Depth 1 is outside 2..32"),
    ("psi_rob", {"Intts": 9}, "Intts must be 1 to 8"),
    ("psi_move", {"MaxLogN": 6}, "MaxLogN 6 is outside 7..12"),
    pytest.param("psi_top", {**SMALL, "Ports": 3}, "3 ports", marks=pytest.mark.long),
    pytest.param("psi_top", {**SMALL, "MinLogN": 8}, "degrees 2^8 to 2^8", marks=pytest.mark.long),
    pytest.param("psi_top", {**SMALL, "Drain": 5}, "Drain must be 0 or 13 to 31", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("top", "parameters", "why"), CASES)
def test_parameters_that_cannot_be(top, parameters, why):
    files, args = find(top, Path(__file__).parent, [], [])
    sets = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--lint-only", "--top-module", top, *args, *sets, *map(str, files)]
    done = subprocess.run(command, env={**os.environ, "PATH": tool_path()}, capture_output=True, text=True, check=False)
    assert done.returncode
    assert why in done.stderr
