# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of AES on encrypted data print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ringforge.cli.output import Number, Result


class NewKeys(Result):
    """What `keygen` made."""

    scheme: str
    set: str
    slots: int
    """Blocks at a time."""
    secret_bytes: int
    key_bytes: int
    """Of all evaluation keys."""
    seconds: float


class Encrypted(Result):
    """Round keys, blocks, or both."""

    scheme: str
    direction: str
    """encrypt or decrypt."""
    round_key_bytes: int | None = None
    blocks: int | None = None
    bytes: int | None = None
    """Of the encrypted blocks."""


class Streamed(Result):
    """An AES-CTR stream."""

    bytes: int
    """Of the data."""
    stream_bytes: int
    key: str
    """Name of the AES key, in hexadecimal; it tells nothing of the key."""


class RoundAnswer(Result):
    """A round of AES on one state."""

    state: int
    round: int
    seconds: float
    budget: float
    """Bits of noise budget left, by prediction."""


class Clocked(Result):
    """What a machine took by its own clock."""

    cycles: int
    seconds: float
    clock_hz: float
    bytes: Mapping[str, int]
    """Memory traffic by what moved."""
    operations: Mapping[str, int]


class Evaluated(Result):
    """AES on encrypted blocks."""

    scheme: str
    device: str
    direction: str
    blocks: int
    seconds: float
    """Of this run of the command."""
    budget: float
    """Bits of noise budget left, by prediction."""
    bytes: int
    """Of the result."""
    rounds: list[RoundAnswer]
    machine: Clocked | None
    """Of clocked devices alone."""


class Decrypted(Result):
    """A result."""

    bytes: int
    measured_budget: Number
    """Bits of noise budget that were left, the least of all states."""


class AesEstimate(Result):
    """What AES takes, in bytes, bits and seconds."""

    scheme: str
    set: str
    slots: int
    """Blocks at a time."""
    blocks: int
    key_bytes: int
    round_key_bytes: int
    state_bytes: int
    """Encrypted blocks as they are sent."""
    result_bytes: int
    depth: int
    """Products in a row."""
    levels_left: int
    """Products that results still bear."""
    counts: Mapping[str, int]
    """Operations of a state."""
    budgets: list[float]
    """Bits of noise budget after rounds 0 to 10, by prediction."""
    unit_seconds: float
    """Of what is counted."""
    seconds: float
    """Of all blocks."""
    seconds_each: float
    """Of a block of a full state."""


class Ring(Result):
    """With --search: the chosen ring and its primes, as params/bgv.json has sets."""

    name: str
    m: int
    """Index."""
    q: str
    """Bits and number of the primes: "49*25"."""
    p: str
    """The same of the special primes."""
    digit: int
    """Primes of a digit."""


class Shown(Result):
    """A demo."""

    system: Literal["aes"]
    good: bool
    """All of it is right, and the server's files hold nothing of it."""
    scheme: str
    set: str
    bytes: int
    """Of the text."""
    stream_right: bool
    """The stream is what a library makes of the text."""
    right: Mapping[str, bool]
    """By job."""
    measured_budget: Mapping[str, Number]
    """By job: bits."""
    seconds_per_block: float
    """Of the server, of the last job."""
    seconds: Mapping[str, float]
    """By step."""
    sent: Mapping[str, Mapping[str, int]]
    """Bytes by job and kind."""
    received: Mapping[str, Mapping[str, int]]
    """Bytes by job and kind."""
    leaked: int
    """Pieces of the text or of secrets in the server's files."""


class Submitted(Result):
    """A job at a server."""

    job: str
    """Its name."""
    out_bytes: int | None = None
    """Of the result, if it was waited for."""
    sent: Mapping[str, int]
    """Bytes by kind."""
    received: Mapping[str, int]
    """Bytes by kind."""


class ServerStatus(Result):
    """What a server says of itself and of what it keeps of this client."""

    server: Mapping[str, Any]
    """Scheme, set, hash of its parameters, blocks at a time."""
    sets: Mapping[str, Mapping[str, Any]]
    """Keys of this client, by name."""
    jobs: list[Mapping[str, Any]]
    """Of this client."""
    left: Mapping[str, int]
    """Of today's quota, by kind."""
