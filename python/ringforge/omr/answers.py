# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of message retrieval print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ringforge.cli.output import Result


class NewReceiver(Result):
    """What `keygen` made."""

    set: str
    """Name of the parameters."""
    secret_bytes: int
    detection_key_bytes: int
    address: str
    """As senders take it."""
    fingerprint: str
    """Of the address, for people to compare."""


class MessageAnswer(Result):
    """A message, and where it was."""

    bulletin: int
    entry: int
    text: str | None = None
    base64: str | None = None
    """In place of `text`, where the message is no UTF-8."""


class BulletinSearch(Result):
    """What was found in one bulletin."""

    number: int
    count: int
    """Pertinent entries, as digests say."""
    dropped: int
    """Entries that looked pertinent and were not this receiver's."""
    requests: int
    """Digests asked for."""
    seconds: float
    bytes: int
    """Of its digests."""
    fetched: int
    """Payloads fetched from the board, in mode positions."""


class Retrieved(Result):
    """A receiver's messages, and what they took."""

    messages: list[MessageAnswer]
    bulletins: list[BulletinSearch]
    seconds: Mapping[str, float]
    """By step."""
    sent: Mapping[str, int]
    """Bytes by kind."""
    received: Mapping[str, int]
    """Bytes by kind."""


class DetectorStatus(Result):
    """What a detector says of itself and of what it keeps of this client."""

    detector: Mapping[str, Any]
    """Name and hash of the set, hash of the plan, most messages by mode, times."""
    bulletins: Mapping[int, str]
    """Digests of sealed bulletins by number."""
    keys: Mapping[str, Mapping[str, Any]]
    """Of this client, by SHA-256."""
    jobs: list[Mapping[str, Any]]
    """Of this client."""
    left: Mapping[str, int]
    """Of today's quota, by kind."""


class SearchEstimate(Result):
    """What searching takes, in bytes and seconds."""

    set: str
    bulletins: int
    entries: int
    """Of one bulletin."""
    capacity: int
    """Messages that a digest holds."""
    mode: str
    text_bytes: int
    """Longest text."""
    address_bytes: int
    key_bytes: int
    """Of a detection key."""
    digest_bytes: int
    """Of one bulletin."""
    sent: int
    """By a receiver that deposits its key and asks for all bulletins."""
    received: int
    bulletin_bytes: int
    """On the board."""
    diagonal_bytes: int
    """Encodings of a bulletin, shared by all receivers."""
    seconds_each: Mapping[str, float]
    """Of a bulletin by stage."""
    seconds: float
    """Of all bulletins."""


class Shown(Result):
    """A demo."""

    system: Literal["omr"]
    good: bool
    """Everybody has exactly what was posted to them, and servers keep none of it."""
    set: str
    database: str
    source: str
    """Of the texts."""
    entries: int
    """Of the board."""
    messages: Mapping[str, int]
    """By receiver."""
    bulletins: Mapping[str, list[BulletinSearch]]
    """By receiver."""
    stages: Mapping[str, float]
    """Seconds of the detector, for one receiver."""
    sizes: Mapping[str, int]
    """Bytes by what is kept."""
    seconds: Mapping[str, float]
    """By step."""
    sent: Mapping[str, Mapping[str, int]]
    """Bytes by receiver and kind."""
    received: Mapping[str, Mapping[str, int]]
    """Bytes by receiver and kind."""
    leaked: int
    """Pieces of texts and secrets in the servers' files."""


class Posted(Result):
    """Texts on a board."""

    posted: int
    places: list[tuple[int, int]]
    """Bulletin and position of each text."""
    seconds: float


class BulletinAnswer(Result):
    """A bulletin of a board."""

    number: int
    entries: int
    pads: int
    """Entries that fill it up."""
    sealed: bool
    digest: str
    """SHA-256 in hexadecimal."""


class Bulletins(Result):
    """Bulletins of a board."""

    bulletins: list[BulletinAnswer]


class BoardStatus(Result):
    """What a served board says of itself."""

    set: str
    entries: int
    """Of a bulletin."""
    signal_bytes: int
    payload_bytes: int
    text_bytes: int
    """Longest text."""
    bulletins: int
    """The open one included."""
    posts_left: int
    """That this poster may still post today (UTC)."""
    encoder: str
    """Name of encodings; "": there are none."""
    steps: int
    """Encodings of each bulletin."""
