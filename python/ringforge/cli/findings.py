# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge doctor` finds, and the tools that rooms tell it of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ringforge.cli.output import Result


class State(StrEnum):
    """How a finding stands."""

    OK = "ok"
    MISSING = "missing"  #: not there, and not needed: what it would give is said
    LIMITED = "limited"  #: works, but something can be had that is better
    BROKEN = "broken"  #: needed, and does not work


class Finding(Result):
    """One thing that was looked at."""

    group: str
    """What it belongs to: machine, versions, kernels, checks, extras, tools."""
    name: str
    """What was looked at."""
    state: State
    """ok; missing: not there and not needed; limited: works, could be better; broken: needed, and does not work."""
    found: str = ""
    """What was found."""
    gives: str = ""
    """What it is for."""
    remedy: str = ""
    """The command, or other words, that would mend or install it."""


class Doctor(Result):
    """What `ringforge doctor` found."""

    healthy: bool
    """Whether everything that is needed works."""
    findings: list[Finding]
    """All that was looked at, in order."""


@dataclass(frozen=True)
class Tool:
    """A program or package of others that a room uses.

    Attributes:
        name: as people know it.
        found: its version or place; "" where it is missing.
        gives: what it is for.
        package: of the system (`apt-get install ...`), or with `pip` of PyPI or an extra of ours.
        pip: whether pip installs it.
    """

    name: str
    found: str
    gives: str
    package: str
    pip: bool = False
