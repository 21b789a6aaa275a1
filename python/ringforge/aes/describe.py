# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files of aes are, for `ringforge info`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType

from ringforge.aes.engine import FRESH, ROUNDS
from ringforge.aes.files import peek
from ringforge.cli.console import properties, size_text


def describe(path: Path) -> Iterator[RenderableType]:
    """Encrypted blocks, or a round key.

    Raises:
        FormatError: it is none, or damaged. OSError: it cannot be read.
    """
    walked = peek(path)
    head = walked.head
    if head.kind == "round key":
        what = f"round key {head.round} of {ROUNDS}, to {head.direction}, encrypted"
    else:
        after = {FRESH: "fresh", ROUNDS: f"{head.direction}ed"}.get(head.round, f"after round {head.round}")
        what = f"{head.blocks:,} encrypted blocks, {after}; in {head.states} states of up to {head.slots:,}"
    rows = {
        "holds": what,
        "scheme": f"{head.scheme}, parameters {walked.parameters.hex()[:8]}",
        "ciphertexts": f"{head.records:,}, {size_text(os.stat(path).st_size)}",
        "made": head.made[:16],
        "digest": f"{walked.digest[:16]}, matches",
    }
    if head.computed:
        rows["computed"] = head.computed
    if head.budget is not None:
        rows["noise budget"] = f"{head.budget:.1f} bits left by prediction"
    yield properties(path.name, rows)
