# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Records of measurements as answers: benchmarks and simulated machines print one a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ringforge.cli.output import Result, emit
from ringforge.runs import Record


class RecordLine(Result):
    """One measurement of one system, next to the same work done by a peer where there is one."""

    system: str
    """What was measured: "matvec", "hw-psi"."""
    case: str
    """Which work."""
    params: str
    """Name of the parameter set."""
    algorithm: str
    """Which way the work was done."""
    seconds: float
    """Of one piece of work; the case says whether wall or processor time."""
    level: int | None
    """Of the ciphertexts."""
    device: str
    """What computed."""
    threads: int
    """Of ours."""
    encode_seconds: float | None
    """Of encoding beforehand, which `seconds` leaves out."""
    peer: str | None
    """The other program."""
    peer_version: str | None
    peer_seconds: float | None
    """The same work by the peer."""
    max_rel_error: float | None
    """Largest error, relative to the largest value."""
    peak_mib: float | None
    """Most memory, in MiB."""
    cycles: int | None
    """Of a clocked device."""
    ratio: float | None
    """How many times longer the peer takes."""
    ratio_with_encoding: float | None
    """The same with encoding counted on this side."""
    extra: Mapping[str, Any]
    """Further figures of the case, by name."""


def emit_record(record: Record) -> None:
    """Prints a record; for commands that declare `RecordLine` and print lines."""
    emit(RecordLine(**json.loads(record.to_json())))
