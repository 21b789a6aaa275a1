# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""docs/trust.md and SECURITY.md name tests as their evidence: each exists, and no promise stands without one."""

import ast
import functools
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "trust.md"

_PYTHON = re.compile(r"`((?:python/tests|hw)/[\w/]+\.py)::(\w+)`")
_CPP = re.compile(r"`([A-Z]\w+\.\w+)`")


@functools.cache
def _python_tests(path: str) -> frozenset[str]:
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@functools.cache
def _cpp_tests() -> frozenset[str]:
    """Names Suite.Test of all C++ tests."""
    pattern = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
    return frozenset(
        ".".join(found)
        for path in (ROOT / "cpp" / "tests").rglob("*.cpp")
        for found in pattern.findall(path.read_text(encoding="utf-8"))
    )


def _rows() -> list[str]:
    """The promises: table rows that begin with the number of one."""
    return [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+\.\d+ \|", line)]


@pytest.mark.parametrize("page", ["docs/trust.md", "SECURITY.md"])
def test_every_test_that_the_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(_PYTHON.findall(text)) > 5
    missing = [f"{path}::{name}" for path, name in _PYTHON.findall(text) if name not in _python_tests(path)]
    missing += [name for name in _CPP.findall(text) if name not in _cpp_tests()]
    assert not missing


def test_every_promise_names_a_test() -> None:
    rows = _rows()
    assert len(rows) > 50
    assert not [row for row in rows if not _PYTHON.search(row) and not _CPP.search(row)]


def test_promises_are_numbered_without_gaps() -> None:
    seen: dict[int, int] = {}
    for row in _rows():
        section, number = map(int, re.findall(r"\d+", row)[:2])
        assert number == seen.get(section, 0) + 1, row[:60]
        seen[section] = number
    assert sorted(seen) == list(range(1, 26))


@pytest.mark.parametrize("name", ["python/tests/test_trust.py::test_nothing", "Nothing.Exists"])
def test_a_name_that_does_not_exist_is_seen(name: str) -> None:
    if "::" in name:
        path, function = name.split("::")
        assert function not in _python_tests(path)
    else:
        assert name not in _cpp_tests()


# ---- what no test can run by itself --------------------------------------------------------------


def test_long_tests_end_with_the_sanitizers() -> None:
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^test-long:.*\n(\t.*\n)*\t\$\(MAKE\) sanitize$", make, re.MULTILINE)
    assert re.search(r"^sanitize:.*\n(\t.*\n)*\t.*tools/sanitize\.sh$", make, re.MULTILINE)
    script = (ROOT / "tools" / "sanitize.sh").read_text(encoding="utf-8")
    for part in ("ringforge_tests", "test_threads.py", "test_random.py", "asan tsan"):
        assert part in script


def test_reports_of_sanitizers_end_the_run() -> None:
    flags = {
        p["name"]: p["cacheVariables"].get("CMAKE_CXX_FLAGS", "")
        for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        if "cacheVariables" in p
    }
    assert "-fsanitize=address,undefined -fno-sanitize-recover=all" in flags["asan"]
    assert "-fsanitize=thread" in flags["tsan"]
    script = (ROOT / "tools" / "sanitize.sh").read_text(encoding="utf-8")
    assert "set -eu" in script
    assert '[ "$reports" -ne 0 ]' in script
    assert "exit $failed" in script


def test_the_page_of_additions_names_what_is_there() -> None:
    text = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    for what in ("scheme", "application", "device", "accelerator"):
        assert re.search(rf"^## .*\b{what}\b", text, re.MULTILINE), what
    named = re.findall(r"`((?:cpp|python|hw|docs|params|examples)/[\w./-]+)`", text)
    assert len(named) > 10
    missing = [n for n in named if "NAME" not in n and not (ROOT / n).exists()]
    assert not missing
