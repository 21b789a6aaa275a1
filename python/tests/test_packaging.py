# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Packages: the source distribution holds all that a build needs; what a wheel carries is pinned."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tools" / "wheel" / "sources"


def test_sources_of_the_wheel_are_pinned_by_digest() -> None:
    lock = (SOURCES / "Cargo.lock").read_text()
    wanted = re.search(r'openssl-src = "=([\d.]+)"', (SOURCES / "Cargo.toml").read_text())
    assert wanted is not None
    assert f'name = "openssl-src"\nversion = "{wanted[1]}+' in lock
    packages = [p for p in lock.split("[[package]]") if "source =" in p]
    assert packages
    assert all(re.search(r'checksum = "[0-9a-f]{64}"', p) for p in packages)
    lines = [line for line in (SOURCES / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[a-z]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)


def test_uninstalling_says_what_it_cannot_remove(tmp_path: Path) -> None:
    """The list stays, so that who may can run it again."""
    stuck = tmp_path / "include" / "ringforge" / "stuck.hpp"
    stuck.mkdir(parents=True)  # a folder, which is not removed: root may remove every file
    manifest = tmp_path / "install_manifest.txt"
    manifest.write_text(f"{tmp_path}/include/ringforge/gone.hpp\n{stuck}")
    cmake = Path(sys.executable).with_name("cmake")  # of the Makefile's environment
    words = [cmake, f"-DMANIFEST={manifest}", "-P", ROOT / "cpp" / "uninstall.cmake"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "stuck.hpp cannot be removed" in " ".join(done.stderr.split())
    assert manifest.exists()
    stuck.rmdir()
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    assert not manifest.exists()
    assert not stuck.parent.exists()


@pytest.mark.long
def test_a_wheel_builds_from_the_source_distribution(tmp_path: Path) -> None:
    words = [sys.executable, ROOT / "tools" / "wheel" / "sdist.py", "--out", tmp_path, "--build"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "built ringforge_he-" in done.stdout
