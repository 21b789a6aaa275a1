# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fixtures of several files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.psi import loopback
from tests.psi.loopback import Loop


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Loop]:
    """A service with a scripted server behind it."""
    with loopback.loop(tmp_path) as found:
        yield found


def openssl(folder: Path, words: str) -> None:
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities, and a certificate of the first for this machine."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command")
    folder = tmp_path_factory.mktemp("tls")
    new = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name in ("ca", "stranger"):
        openssl(folder, f"{new} -x509 -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(folder, f"{new} -subj /CN=x -keyout s.key -out s.csr")
    openssl(folder, "x509 -req -in s.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out s.pem")
    return folder
