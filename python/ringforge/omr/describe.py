# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files of omr are, for `ringforge info`. Secrets are recognised, never shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType

from ringforge.cli.console import properties, size_text
from ringforge.omr.depot import label, read_result
from ringforge.omr.steps import Step


def result(path: Path) -> Iterator[RenderableType]:
    """A step's result, in a detector's store.

    Raises:
        FormatError: it is none, or damaged. OSError: it cannot be read.
    """
    about = label(path)
    body = read_result(path)
    rows = {"holds": "the result of a step of a detector", "size": size_text(len(body)), "checksum": "matches"}
    rows |= {name: str(value) for name, value in about["step"].items() if name in Step.__dataclass_fields__}
    yield properties(path.name, rows)
