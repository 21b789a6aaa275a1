# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every cell refuses parameters that it is not made for, when it is elaborated, and says which."""

import subprocess

import pytest
from runner import HERE, ROOT, environment, find

REFUSED = [
    ("rf_mod_add", {"W": 1}, "W must be"),
    ("rf_mod_sub", {"W": 1}, "W must be"),
    ("rf_mod_half", {"W": 7}, "more than the largest shift"),
    ("rf_mod_lift", {"W": 1}, "W must be"),
    ("rf_delay", {"Depth": 0}, "Depth must be"),
    ("rf_mul_tiled", {"Hi": 4, "Lo": 4}, "Hi above Lo"),
    ("rf_mul_barrett", {"W": 65}, "between 4 and 64"),
    ("rf_mul_montgomery", {"W": 18}, "at least Word"),
    ("rf_mul_twin", {"W": 63}, "between 4 and 62"),
    ("rf_mod_mul", {"Kind": 2}, "Kind must be"),
    ("rf_mac", {"Kind": 2}, "Kind must be"),
    ("rf_butterfly", {"Kind": 2}, "Kind must be"),
    ("rf_alu", {"Lanes": 3}, "Lanes even"),
    ("rf_spn", {"Lanes": 12}, "power of two"),
    ("rf_spn", {"Lanes": 8, "Registers": 3}, "less than log2"),
    ("rf_spn_stage", {"Lanes": 12}, "power of two"),
    ("rf_spn_map", {"Lanes": 12}, "power of two"),
    ("rf_spn_pick", {"Lanes": 12}, "power of two"),
    ("rf_transform", {"Lanes": 16, "MaxLogN": 4}, "MaxLogN above"),
    ("rf_transform", {"Lanes": 16, "Butterflies": 3}, "must be 1 or divide"),
    ("rf_bank", {"Rows": 0}, "Rows must be"),
    ("rf_scratchpad", {"Banks": 0}, "Banks must be"),
    ("rf_fifo", {"Depth": 0}, "Depth must be"),
    ("rf_async_fifo", {"Depth": 12}, "power of two"),
    ("rf_async_fifo", {"Stages": 1}, "at least 2"),
    ("rf_gearbox", {"InW": 0}, "at least 1"),
]


@pytest.mark.parametrize(("cell", "parameters", "why"), REFUSED)
def test_refuses(cell, parameters, why):
    files, args = find(cell, HERE, (), ())
    sets = [f"-G{key}={value}" for key, value in parameters.items()]
    with environment("-O0"):
        done = subprocess.run(
            ["verilator", "--lint-only", "--top-module", cell, *sets, *args, *map(str, files)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode != 0
    assert why in done.stderr


def test_every_cell_is_tried():
    wrappers = {"rf_pkg", "rf_pack", "rf_unpack"}
    assert {p.stem for p in (HERE.parent / "rtl").glob("*.sv")} - wrappers == {cell for cell, _, _ in REFUSED}
