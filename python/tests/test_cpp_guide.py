# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The blocks of code in docs/cpp.md are those of the examples that tests compile and run."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:<!-- from (\S+) \[(\w+)\] -->\n)?```(cpp|cmake)\n(.*?)```", re.DOTALL)


def part(source: str, name: str) -> str:
    """What stands between two lines of comment that are `[name]`."""
    mark = rf"^[ \t]*(?://|#) \[{name}\]\n"
    found = re.split(mark, source, flags=re.MULTILINE)
    assert len(found) == 3, name
    return textwrap.dedent(found[1])


def test_blocks_are_taken_from_examples() -> None:
    blocks = BLOCK.findall((ROOT / "docs/cpp.md").read_text("utf-8"))
    assert len(blocks) >= 5
    for path, name, language, code in blocks:
        assert path, f"a block of {language} in docs/cpp.md names no example: {code}"
        assert code == part((ROOT / path).read_text("utf-8"), name), f"{path} [{name}]"


def test_every_marked_part_is_shown() -> None:
    shown = {(path, name) for path, name, _, _ in BLOCK.findall((ROOT / "docs/cpp.md").read_text("utf-8"))}
    marked = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / "examples/cpp").rglob("*")
        if path.suffix in {".cpp", ".txt"}
        for name in re.findall(r"^\s*(?://|#) \[(\w+)\]$", path.read_text("utf-8"), flags=re.MULTILINE)
    }
    assert shown == marked


def test_every_program_is_built_and_named() -> None:
    programs = {p.stem for p in (ROOT / "examples/cpp").glob("*.cpp")}
    project = (ROOT / "examples/cpp/CMakeLists.txt").read_text("utf-8")
    built = re.search(r"foreach\(name (.*?)\)", project)
    assert built is not None
    assert programs == {*built[1].split(), "encrypted_dot"}
    guide = (ROOT / "docs/cpp.md").read_text("utf-8")
    assert all(f"../examples/cpp/{name}.cpp" in guide for name in programs)
    assert all(len(p.read_text("utf-8").splitlines()) <= 100 for p in (ROOT / "examples/cpp").glob("*.cpp"))
