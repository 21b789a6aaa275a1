# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameters that the matmul machine cannot have end the elaboration, with a word that says why."""

import os
import subprocess
from pathlib import Path

import pytest
from runner import find, tool_path

TINY = {"Lanes": 8, "NearPorts": 1, "MinLogN": 6, "MaxLogN": 7}
CASES = [
    ("matmul_memory", {"NearPorts": 4}, "NearPorts must be Lanes / 8"),
    ("matmul_memory", {"Lanes": 32, "NearPorts": 4, "FarPorts": 3}, "FarPorts must be a power of two"),
    ("matmul_memory", {"BurstLines": 128, "ReadLines": 128}, "longer than 4096 bytes"),
    ("matmul_memory", {"ReadLines": 8}, "Depth must hold a burst"),
    ("matmul_copy", {"NearPorts": 6, "FarPorts": 4}, "NearPorts must be FarPorts times a power of two"),
    pytest.param("matmul_top", {**TINY, "FarPorts": 32}, "2 elements with 66 ports", marks=pytest.mark.long),
    pytest.param("matmul_top", {**TINY, "MaxLogN": 12}, "polynomials of 2^9 rows", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("top", "parameters", "why"), CASES)
def test_parameters_that_cannot_be(top, parameters, why):
    files, args = find(top, Path(__file__).parent, [], [])
    sets = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--lint-only", "--top-module", top, *args, *sets, *map(str, files)]
    done = subprocess.run(command, env={**os.environ, "PATH": tool_path()}, capture_output=True, text=True, check=False)
    assert done.returncode
    assert why in done.stderr
