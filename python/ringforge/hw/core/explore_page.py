# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Explorations as a page: one file, without anything from elsewhere; figures to choose for both axes, the Pareto front,
configurations on hovering, their JSON by a click."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import jinja2

from ringforge import files
from ringforge.hw.core.explore import Found, Point

#: Points beside the front that a page shows, about: every so many'th by rank.
SHOWN: Final = 1500


def _data(found: Found) -> dict[str, Any]:
    front = found.front
    near = {id(p) for p in front}
    others = [p for p in found.fitting if id(p) not in near]
    step = max(1, len(others) // SHOWN)

    def point(p: Point, of: str) -> dict[str, Any]:
        return {**p.to_dict(), "memory": p.memory, "of": of}

    shown = [point(p, "front") for p in front] + [point(p, "other") for p in others[::step]]
    if found.published is not None:
        shown.append(point(found.published, "published"))
    data = {k: v for k, v in found.to_dict().items() if k not in ("front", "published")}
    title = {"title": found.card.title, "has": {"dsp": found.card.dsp, "bram36": found.card.bram36}}
    return {**data, "card": {"name": found.card.name, "uram": found.card.uram, **title}, "points": shown}


def render(explorations: Sequence[Found], made_by: str) -> str:
    """The page's text. `made_by`: the command that makes it again."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Inside a script element only "<" could end it.
    data = json.dumps([_data(f) for f in explorations]).replace("<", "\\u003c")
    return environment.get_template("explore.html.j2").render(data=data, made_by=made_by)


def write(explorations: Sequence[Found], path: Path, made_by: str) -> None:
    """Writes the page.

    Raises:
        FileExistsError: the file holds a secret, or is no ordinary file. OSError: it cannot be written.
    """
    with files.writing(path) as out:
        out.write(render(explorations, made_by).encode())
