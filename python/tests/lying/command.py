# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Commands in this process, without what they print."""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Hashable
from typing import Any

import typer.main

from ringforge.cli import main


def built_once(patch: Any) -> None:
    """Commands are made of their declarations once, not for every run: that takes most of a short one's time."""
    patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))


def printing(*words: str) -> Hashable:
    """A command's exit code, and what its user reads but for times."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    failed = err.getvalue().rpartition("error: ")[2] if code else ""
    return code, out.getvalue(), re.sub(r"\s+", " ", failed)
