# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The notebooks of examples/notebooks: each runs from top to bottom, and the committed outputs are fit to be shown."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "notebooks"
NAMES = ["aes", "gates", "matmul", "matvec", "omr", "psi"]


def _outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def _check(notebook: Any) -> None:
    """Printed and drawn, no error, no word of the machine."""
    outputs = _outputs(notebook)
    assert not [o for o in outputs if o["output_type"] == "error"]
    assert not [o for o in outputs if o.get("name") == "stderr"]
    text = json.dumps([o for o in outputs if o["output_type"] == "stream"])
    assert not re.search(r"/(home|root|tmp|work|usr|var)/|\\u001b", text)
    pictures = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) >= 2
    assert sum(len(base64.b64decode(p)) for p in pictures) <= 300 * 1024


def test_there_is_one_for_each_system() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_committed_outputs_can_be_shown(name: str) -> None:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    _check(notebook)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert notebook["cells"][0]["source"][0].startswith("# ")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_runs_from_top_to_bottom(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results within are asserted by the notebooks themselves, or compared here."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sys.modules.pop("notebooks", None)
    import notebooks

    made = notebooks.run(FOLDER / f"{name}.ipynb")
    _check(made)
    text = "".join(o["text"] for o in _outputs(made) if o["output_type"] == "stream")
    expected = {
        "aes": "69c4e0d86a7b0430d8cdb78070b4c55a",
        "gates": "1000 + 2000 = 3000",
        "matmul": "largest difference from numpy",
        "matvec": "predictions agree on 64 of 64 images",
        "omr": "- found: [",
        "psi": "user1234@example.org → +1 555 1234",
    }
    assert expected[name] in text
