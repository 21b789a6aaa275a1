# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""docs/trust.md names tests as its evidence: each of them exists, and no promise stands without one."""

import ast
import functools
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


def test_every_test_that_the_page_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
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
    assert sorted(seen) == list(range(1, 16))


@pytest.mark.parametrize("name", ["python/tests/test_trust.py::test_nothing", "Nothing.Exists"])
def test_a_name_that_does_not_exist_is_seen(name: str) -> None:
    if "::" in name:
        path, function = name.split("::")
        assert function not in _python_tests(path)
    else:
        assert name not in _cpp_tests()
