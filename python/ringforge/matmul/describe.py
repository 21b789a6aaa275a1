# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a program of matmul holds, for `ringforge info`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType

from ringforge import params
from ringforge.cli.console import properties
from ringforge.matmul.program import Program
from ringforge.matmul.steps import steps_table


def program(path: Path) -> Iterator[RenderableType]:
    """A program: its steps and parameters.

    Raises:
        FormatError: it is damaged. OSError: it cannot be read.
    """
    loaded = Program.load(path)
    yield loaded.summary()
    yield steps_table([r.step for r in loaded.traced.results.values()])
    yield properties("parameters", params.describe_used(loaded.context.params))
    yield f"digest {loaded.digest[:16]}, which files of its ciphertexts name"
