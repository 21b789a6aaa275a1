# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameters that the datapath cannot have end the elaboration, with a word that says why."""

import os
import subprocess
from pathlib import Path

import pytest
from runner import find, tool_path

CASES = [
    ("psi_buffer", {"Slots": 0}, "Slots at least 1"),
    ("psi_stage", {"LogT": 11}, "LogT less"),
    ("psi_pipe", {"Intts": 0}, "Intts must be at least 1"),
]
SLOWER = [
    ("psi_digits", {"W": 8}, "W must be between 16 and 64"),
    ("psi_intt", {"LogN": 7}, "LogN must be between 8 and 15"),
    ("psi_mac", {"LogN": 7}, "LogN must be between 8 and 15"),
    ("psi_ntt", {"LogN": 7}, "LogN must be 8 to 15"),
    ("psi_source", {"LogN": 12}, "LogN must be between 8 and ElementW - 1"),
    ("psi_subs", {"LogN": 2}, "LogN must be at least 4"),
]


@pytest.mark.parametrize(
    ("top", "parameters", "why"), [*CASES, *(pytest.param(*c, marks=pytest.mark.long) for c in SLOWER)]
)
def test_parameters_that_cannot_be(top, parameters, why):
    files, args = find(top, Path(__file__).parent, [], [])
    sets = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--lint-only", "--top-module", top, *args, *sets, *map(str, files)]
    done = subprocess.run(command, env={**os.environ, "PATH": tool_path()}, capture_output=True, text=True, check=False)
    assert done.returncode
    assert why in done.stderr
