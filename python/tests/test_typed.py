# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The installed package is typed for whoever uses it: `py.typed`, and a stub beside each native module."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import ringforge
from ringforge import _native

PROGRAM = """
import numpy as np
from ringforge import bfv, ckks, gates, matvec

program = matvec.compile_model(matvec.Linear(np.eye(3)), "set-a").program
client = matvec.Client(program)
reveal_type(client.decrypt)
reveal_type(ckks.Context)
reveal_type(bfv.Session("bfv-13").encrypt([1]))
reveal_type(gates.keygen)
reveal_type(ckks.Session("set-a").relin_key.to_bytes(program.context))  # a type with a property named bytes
client.encrypt(1, 2, 3, 4, 5)
ckks.Context(7)
bfv.Session("bfv-13").nothing
"""


def test_a_users_program_is_checked(tmp_path: Path) -> None:
    """In strict mode, from another folder: types come from the package that is installed, native classes included."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "program.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith("program.py:")]
    notes = " ".join(line for line in lines if "Revealed type" in line)
    errors = [line.split("error: ")[1] for line in lines if ": error:" in line]
    assert "ringforge._native.bfv.Ciphertext" in notes, run.stdout
    assert "ringforge._native.Context" in notes
    assert "ringforge.gates" in notes or "ringforge._native.fhew" in notes
    assert 'Revealed type is "bytes"' in notes, run.stdout
    assert " Any" not in notes.replace("numpy.", ""), notes
    assert len(errors) == 3, run.stdout
    assert "Too many arguments" in errors[0]
    assert "[call-overload]" in errors[1]
    assert "[attr-defined]" in errors[2]


def test_every_native_module_has_its_stub() -> None:
    folder = Path(ringforge.__file__).parent
    assert (folder / "py.typed").is_file()
    modules = {name for name in dir(_native) if type(getattr(_native, name)) is type(_native)}
    stubs = {path.stem for path in (folder / "_native").glob("*.pyi")} - {"__init__"}
    assert modules == stubs
    names = {name for name in dir(_native) if not name.startswith("_")} - modules
    text = (folder / "_native" / "__init__.pyi").read_text(encoding="utf-8")
    missing = [n for n in sorted(names) if f"class {n}" not in text and f"def {n}" not in text and f"\n{n}" not in text]
    assert missing == []


def test_stubs_travel_in_the_wheel() -> None:
    """What the installed distribution lists is what its wheel had."""
    listed = {str(path) for path in files(ringforge.DISTRIBUTION) or ()}
    assert "ringforge/py.typed" in listed
    assert "ringforge/_native/__init__.pyi" in listed
    assert "ringforge/_native/bfv.pyi" in listed
