# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Run a module of the tests as a program, beside the installed package.

    .venv/bin/python -P tools/tests_module.py tests.aes.one_round --device rtl:aes-small

The package is imported before `python/` is put on the path, which also holds its sources without the native module.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import ringforge  # noqa: F401

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.path.append(str(Path(__file__).parents[1] / "python"))
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
