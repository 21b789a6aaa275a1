# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of aes read and print: keys and bytes from files, rounds as lines and objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ringforge.aes.engine import BLOCK_BYTES, KEY_BYTES, Blocks
from ringforge.aes.files import tag_key
from ringforge.aes.runner import Reached, Round
from ringforge.aes.transcipher import StreamKey
from ringforge.cli.console import say, seconds_text
from ringforge.devices import Report
from ringforge.errors import FormatError
from ringforge.serving.access import read_private

#: Takes what is done, the fraction, how many are before it, seconds left: `cli.console.steps`.
Bar = Callable[[str, float, int, float], None]


def read_aes_key(path: Path) -> bytes:
    """An AES-128 key from a file of its 16 bytes, or of 32 hexadecimal digits; "-" is standard input.

    Raises:
        FormatError: neither; what the file holds is not told. ParameterError: others than its owner may read it.
        OSError: it cannot be read.
    """
    data = read_private(path)
    if len(data) == KEY_BYTES:
        return data
    text = data.strip()
    if len(text) == 2 * KEY_BYTES and not set(text.lower()) - set(b"0123456789abcdef"):
        return bytes.fromhex(text.decode("ascii"))
    raise FormatError(
        f"{path.name} holds no AES-128 key: {KEY_BYTES} bytes are needed, or {2 * KEY_BYTES} hexadecimal digits; make "
        f"one with: openssl rand -hex {KEY_BYTES}"
    )


def stream_key(aes: bytes) -> StreamKey:
    """All that a client of streams has, from its AES key."""
    return StreamKey(aes, tag_key(aes))


def read_blocks(path: Path) -> Blocks:
    """A file's bytes as blocks.

    Raises:
        FormatError: it is empty, or no whole number of blocks. OSError: it cannot be read.
    """
    data = path.read_bytes()
    if not data or len(data) % BLOCK_BYTES:
        raise FormatError(
            f"{path.name} has {len(data)} bytes, which are no whole blocks of {BLOCK_BYTES}: fill it up, or send it as "
            "an AES-CTR stream, which may have any length"
        )
    return np.frombuffer(data, np.uint8).reshape(-1, BLOCK_BYTES)


def round_text(r: Round, states: int) -> str:
    """A finished round, as a line."""
    of = f"state {r.state + 1} of {states}, " if states > 1 else ""
    return f"{of}round {r.round:>2}: {seconds_text(r.seconds)}, {r.budget:.1f} bits of noise budget left"


def reporter(bar: Bar, quiet: bool) -> Callable[[Reached], None]:
    """Tells of a run: a bar on a terminal, and a line for each round."""

    def report(r: Reached) -> None:
        of = f"state {r.state + 1} of {r.states}, " if r.states > 1 else ""
        bar(f"{of}round {r.round} of 10", r.fraction, 0, r.seconds_left)
        if r.finished is not None and not quiet:
            say(round_text(r.finished, r.states))

    return report


def round_objects(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """For JSON."""
    return [
        {"state": r.state, "round": r.round, "seconds": round(r.seconds, 3), "budget": round(r.budget, 2)}
        for r in rounds
    ]


def machine_object(report: Report | None) -> dict[str, Any] | None:
    """What a machine took by its own clock, for JSON; None where nothing has one."""
    if report is None or report.cycles is None or report.clock_hz is None:
        return None
    return {
        "cycles": report.cycles,
        "seconds": round(report.seconds, 6),
        "clock_hz": report.clock_hz,
        "bytes": dict(report.bytes),
        "operations": dict(report.operations),
    }


def machine_text(report: Report | None) -> str:
    """The same as a line; "" where nothing has a clock."""
    if report is None or report.cycles is None or report.clock_hz is None:
        return ""
    moved = sum(report.bytes.values()) / 1e6
    return (
        f"{report.cycles:,} cycles, {report.seconds:.3f} s at {report.clock_hz / 1e6:g} MHz, {moved:,.1f} MB moved: "
        f"what {report.device} took of this"
    )
