# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge reproduce` prints with --json."""

from __future__ import annotations

from ringforge.cli.output import Result
from ringforge.lab.tables import TableAnswer


class Reproduced(Result):
    """Tables of a paper beside ours."""

    tables: list[TableAnswer]
    contradictions: list[str] | None = None
    """Of the paper, and how they are resolved; none where only some tables were asked for."""


class ReproducedMatvec(Reproduced):
    """The same, and where measured times are from."""

    measured_from: str | None
    """A file; null: nothing was measured."""


class ReproducedPsi(Reproduced):
    """The same, and how it was measured."""

    threads: int | None
    """Null: nothing was measured."""


class ReproducedMatmul(Result):
    """Tables of a paper beside ours."""

    tables: list[TableAnswer]
    findings: list[str]
    """Errors, contradictions and gaps of the paper, and how they are resolved."""
