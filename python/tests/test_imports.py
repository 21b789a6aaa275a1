# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Who may import whom: the contracts of pyproject.toml hold, and each of them sees what breaks it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LAYERS = "What stands lower imports nothing above it"
HARDWARE = "what serves every machine knows no family"
MACHINES = "Machines know nothing of each other"
LAB = "In the lab, commands use papers and peers"
PAPERS = "Papers know nothing of each other"
CIRCLES = "No folder has a circle"


def _lint(sources: Path) -> tuple[int, str]:
    """Exit code and output of import-linter for the package in a folder; no installed one gets in its way."""
    paths = [str(sources), *(p for p in sys.path if p and Path(p) != ROOT / "python")]
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-S", "-c", command, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
        cwd=sources,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_contracts_hold() -> None:
    code, said = _lint(ROOT / "python")
    assert code == 0, said
    for name in (LAYERS, HARDWARE, MACHINES, LAB, PAPERS, CIRCLES):
        assert name in said


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, to be broken."""
    folder = tmp_path_factory.mktemp("sources")
    for path in (ROOT / "python" / "ringforge").rglob("*.py"):
        target = folder / path.relative_to(ROOT / "python")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return folder


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("devices/base.py", "import ringforge.matvec.model", LAYERS),
        ("devices/base.py", "import ringforge.hw.vector.config", LAYERS),
        ("gates/circuit.py", "import ringforge.hw.core.synthesis", LAYERS),
        ("matmul/plan.py", "import ringforge.matvec.model", LAYERS),
        ("psi/planner.py", "from ringforge.lab import tables", LAYERS),
        ("hw/measure.py", "def late():\n    from ringforge.lab.papers import matvec", LAYERS),
        ("cli/app.py", "import ringforge.matvec.cli", LAYERS),
        ("room.py", "", LAYERS),
        ("lab/peers/child.py", "import ringforge.lab.bench.ring", LAB),
        ("lab/papers/psi/figures.py", "import ringforge.lab.papers.matvec.figures", PAPERS),
        ("matvec/model.py", "def late():\n    import ringforge.matvec.onnx_import", CIRCLES),
        ("gates/figures.py", "import ringforge.gates.cli", CIRCLES),
        ("matvec/demo_result.py", "import ringforge.matvec.report", CIRCLES),
        (
            "matmul/methods/cells.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ringforge.matmul.methods.pipelines",
            CIRCLES,
        ),
        ("hw/core/build.py", "def late():\n    from ringforge.hw.machines.matvec import config", HARDWARE),
        ("hw/core/machine.py", "import ringforge.hw.vector.isa", HARDWARE),
        ("hw/vector/family.py", "import ringforge.hw.machines.matvec.config", HARDWARE),
        ("hw/measure.py", "", HARDWARE),
        ("hw/machines/other.py", "import ringforge.hw.machines.matvec.config", MACHINES),
        ("hw/core/config.py", "import ringforge.hw.core.build", CIRCLES),
    ],
)
def test_what_breaks_a_contract_is_seen(copy: Path, module: str, line: str, contract: str) -> None:
    path = copy / "ringforge" / module
    before = path.read_text() if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        code, said = _lint(copy)
    finally:
        path.unlink() if before is None else path.write_text(before)
    assert code == 1, said
    broken = [s for s in said.splitlines() if "BROKEN" in s]
    assert any(contract in s for s in broken), said
