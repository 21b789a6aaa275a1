# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge hw symmetric psi` prints with --json."""

from __future__ import annotations

from collections.abc import Mapping

from ringforge.cli.output import Result
from ringforge.hw.core.answers import ResourcesAnswer


class SizeAnswer(Result):
    """What both pipelines are made for."""

    log_n: int
    """log2 of N."""
    word_bits: int
    digits: int
    """Of a residue."""
    inverses: int
    """Inverse transforms of the asymmetric pipeline."""
    drain: int
    """Cycles that its stages wait between polynomials."""


class Claim(Result):
    """What the paper says, its figure, and what it is here."""

    what: str
    paper: str
    here: str


class SymmetricAnswer(Result):
    """The asymmetric pipeline beside symmetric ones."""

    size: SizeAnswer
    tool: str
    copies: float
    """Symmetric pipelines that do as much."""
    cycles: Mapping[str, int]
    """Of a polynomial, by pipeline."""
    asymmetric: Mapping[str, ResourcesAnswer]
    """By role."""
    symmetric: Mapping[str, ResourcesAnswer]
    """By role, of one copy."""
    claims: list[Claim]
