# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs the notebooks of examples/notebooks and keeps what they print and draw.

    .venv/bin/python tools/notebooks.py               all of them
    .venv/bin/python tools/notebooks.py psi gates     some

A notebook is written back only if every cell ran. What would name the machine it ran on is left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"

#: Seconds for one cell.
CELL = 600


def run(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs of a run now.

    Raises:
        CellExecutionError: a cell failed.
    """
    # A library's word about widgets that are not installed; it names folders of this machine.
    os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    NotebookClient(notebook, timeout=CELL, kernel_name="python3", resources={"metadata": {"path": FOLDER}}).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    for number, cell in enumerate(notebook.cells):
        # Identifiers and times of a run would change with every one.
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("execution", None)
    return notebook


def main(names: list[str]) -> None:
    """Runs the named notebooks, or all."""
    paths = [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        notebook = run(path)
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
