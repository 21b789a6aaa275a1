# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Notebooks as pages: their text, their code, and what their last run printed and drew."""

from __future__ import annotations

from pathlib import Path

from nbconvert import MarkdownExporter
from repository import ROOT

FOLDER = ROOT / "examples" / "notebooks"


def notebook_pages() -> dict[str, tuple[Path, str, dict[str, bytes]]]:
    """Each notebook's file, page in Markdown, and pictures by their places; keys are places of pages."""
    found = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        place = path.relative_to(ROOT).with_suffix(".md").as_posix()
        pictures = f"{path.stem}_files"
        text, resources = MarkdownExporter().from_filename(str(path), {"output_files_dir": pictures})
        outputs = resources.get("outputs", {})
        folder = path.parent.relative_to(ROOT).as_posix()
        found[place] = (path, text, {f"{folder}/{name}": data for name, data in outputs.items()})
    return found
