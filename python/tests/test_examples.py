# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The programs of `examples/` run, and print what is right. Those in C++ are built and run by `make test-install`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ringforge

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("private_set_intersection.py", ("user7@example.org +1 555 0007\nuser1234@example.org +1 555 1234\n1 query",)),
        ("psi_csv.py", ("Ann Berlin, 2025 gold\nDot Bonn basic\n2 of 3 leads are customers; 1 has no address",)),
        ("exact_integers.py", ("8 rotations, 8 products", "equal to the clear: True, squares too: True\n")),
        (
            "sklearn_pipeline.py",
            ("1 product, ", "the same classes as scikit-learn: True\nrows too close to call: 0\n", "1e-3: True"),
        ),
        ("gates.py", ("11 + 6 = 17\n8 gates, each with a bootstrap\n", "64 bootstraps, 32 levels")),
        ("integers.py", ("cheapest: 12 at shop 2\n", "total of the basket: 154\n")),
        (
            "toy_device/toy_device.py",
            ("a model of 3 layers on toy: 1 download, error below 2^-", "56 of 56 checks passed on device toy"),
        ),
    ],
)
def test_example(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    roots = [str(Path(ringforge.__file__).parents[1]), *sys.path]
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(roots)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for text in words:
        assert text in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_page_shows_the_toy_scheme_as_it_is() -> None:
    page = (EXAMPLES.parent / "docs" / "adding.md").read_text(encoding="utf-8")
    program = (EXAMPLES / "toy_scheme" / "toy_scheme.cpp").read_text(encoding="utf-8")
    shown = re.findall(r"^```cpp\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    for block in shown:
        for part in block.split("// ...\n"):
            assert part in program
