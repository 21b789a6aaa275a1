# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The rotation core at every number of lanes and butterflies, and the sizes that it refuses."""

import os
import subprocess
from pathlib import Path

import pytest
from runner import find, tool_path

SMALL = {"W": 54, "Lanes": 4, "Butterflies": 4, "MinLogN": 6, "MaxLogN": 7, "Banks": 8}


def lint(top: str, parameters: dict[str, int]) -> subprocess.CompletedProcess:
    files, args = find(top, Path(__file__).parent, [], [])
    sets = [f"-G{name}={value}" for name, value in parameters.items()]
    command = ["verilator", "--lint-only", "--top-module", top, *args, *sets, *map(str, files)]
    return subprocess.run(command, env={**os.environ, "PATH": tool_path()}, capture_output=True, text=True, check=False)


QUICK = [(2, 16), (32, 128)]


@pytest.mark.parametrize(
    ("lanes", "butterflies"),
    [
        pytest.param(lanes, butterflies, marks=[] if (lanes, butterflies) in QUICK else pytest.mark.long)
        for lanes in (2, 4, 8, 16, 32)
        for butterflies in (16, 32, 64, 128)
    ],
)
def test_sizes(lanes, butterflies):
    """Warnings are errors; ways, sources and multipliers go through their values too."""
    ways, sources, kind = (1, 2)[lanes > 4], (1, 3, 6)[butterflies % 3], int(lanes in (4, 16))
    parameters = {"Lanes": lanes, "Butterflies": butterflies, "MinLogN": 11, "MaxLogN": 16, "Ways": ways}
    done = lint("omr_rot", {**parameters, "Sources": sources, "Kind": kind, "W": 54 if kind else 60, "Banks": 39})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("top", "parameters", "why"),
    [
        ("omr_rot", {**SMALL, "Lanes": 64, "Butterflies": 32, "MinLogN": 10, "MaxLogN": 10}, "from 2 to 32"),
        ("omr_rot", {**SMALL, "Lanes": 16}, "at most twice the butterflies"),
        ("omr_rot", {**SMALL, "MinLogN": 5}, "eight wide rows"),
        ("omr_rot", {**SMALL, "Ways": 5}, "Ways 1 to 4"),
        ("omr_buffer", {"Lanes": 16, "Wide": 24}, "powers of two"),
    ],
)
def test_refuses(top, parameters, why):
    done = lint(top, parameters)
    assert done.returncode
    assert why in done.stderr
