# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of private set intersection print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ringforge.cli.output import Number, Result


class TableLimits(Result):
    """What one client may ask for."""

    request_bytes: int
    """Largest request."""
    prf_per_day: int
    """Evaluations of the PRF in a day."""
    bins_per_day: int
    """Bins in a day."""


class PublicTable(Result):
    """What everybody may know of a table."""

    mode: Literal["oprf", "direct"]
    algorithm: str
    """ringforge, poly or paper."""
    insecure: str
    """Why the plan is below 128 bits; "" if it is not."""
    capacity: int
    """Elements there may be."""
    normalise: str
    """Steps, with commas between."""
    columns: int
    """Columns that are an element together."""
    bins: int
    cells: int | None = None
    """Of look-up tables alone."""
    hashes: int
    """Bins each element is put into."""
    tag_bits: int
    label_bytes: int
    """Of the longest label; 0: there are none."""
    key_bytes: int
    """Of a client's evaluation keys."""
    request_bytes: int
    reply_bytes: int
    limits: TableLimits


class TableInfoAnswer(PublicTable):
    """What a table says; of a directory also what its owner sees, of a server also today's quota."""

    digest: str
    """SHA-256 of what is public, in hexadecimal."""
    left_today: Mapping[str, int] | None = None
    """Of a server: what is left of today's quota, by kind; null: nothing is limited."""
    elements: int | None = None
    """Of a directory alone, as those that follow."""
    state: str | None = None
    changed: str | None = None
    """Time of the last change, UTC."""
    age_seconds: float | None = None
    bytes_on_disk: int | None = None


class PredictionAnswer(Result):
    """A table that could be built, and what it takes."""

    algorithm: str
    queries: int
    """Of a client with so many elements."""
    server_seconds: float
    """For all of them."""
    build_seconds: float
    sent: int
    """Bytes of the client's, keys among them."""
    received: int
    disk: int
    """Bytes."""
    memory: int
    """Bytes, of the process that builds."""
    bins: int
    waiting: float
    """Seconds until a client has its result, with a line of 100 Mbit/s."""


class Built(PublicTable):
    """A table that was made or changed."""

    table: str
    """Its directory."""
    seconds: float
    elements: int
    duplicates: int
    """Elements that were given before."""
    left_out: int
    """Rows without an element."""
    fell_together: int
    """Elements that are others' once they are normalised."""
    estimate: PredictionAnswer | None = None
    """What was foretold, of a table that was made."""
    why: str | None = None
    """Why this algorithm was taken, where --algorithm was auto."""
    added: int | None = None
    """Of --update alone, as the two that follow."""
    removed: int | None = None
    relabelled: int | None = None
    bytes_on_disk: int


class Match(Result):
    """An element that the server has too."""

    element: int | str
    """Bytes that are no text as \\x escapes."""
    label: str | None = None
    """Of tables with labels."""


class Chances(Result):
    """Probabilities that something of a run is wrong."""

    false_positive: float
    """Some match is none."""
    placement: float
    """Some element finds no place."""
    decryption: float | None
    """Some reply is read wrongly; null: not known."""


class Queried(Result):
    """What a client learned, and what it took."""

    matches: list[Match]
    elements: int
    """That were asked for."""
    duplicates: int
    left_out: int
    """Rows without an element."""
    fell_together: int
    """Elements that are others' once they are normalised."""
    unasked: list[int | str] | None = None
    """Elements without an answer, where the server failed after some queries."""
    table: PublicTable
    queries: int
    anomalies: int
    """Replies that an honest server cannot give."""
    sent: Mapping[str, int]
    """Bytes by kind."""
    received: Mapping[str, int]
    """Bytes by kind."""
    seconds: Mapping[str, float]
    """By step."""
    probabilities: Chances
    out: str | None = None
    """With --out: the file."""
    rows: int | None = None
    """With --out: rows or elements in it."""


class RunEstimate(PublicTable):
    """What asking takes, of a table that there is."""

    elements: int
    queries: int
    sent: Mapping[str, int]
    """Bytes by kind."""
    received: Mapping[str, int]
    """Bytes by kind."""
    seconds_per_query: float | None
    """Of the server; null: no measurements for this plan."""
    seconds: float | None
    """Of the server, all queries."""
    false_positive: float
    """Probability that some match is none."""
    evaluations: int
    """Of the PRF, against the quota."""
    bins_asked: int
    """Against the quota."""
    left_today: Mapping[str, int] | None
    """What is left of today's quota; null: a table here."""


class Comparison(Result):
    """Tables that there might be."""

    server_size: int
    client_size: int
    label_bytes: int
    threads: int
    choice: str
    """The algorithm that `build` takes."""
    why: str
    algorithms: list[PredictionAnswer]
    """The chosen one first."""


class PlanAnswer(Result):
    """How queries are computed."""

    algorithm: str
    bins: int
    key_bytes: int
    request_bytes: int
    reply_bytes: int
    query_bytes: int
    """Memory of the server for a query."""
    insecure: str
    plan: Mapping[str, Any]
    """The plan's fields (docs/psi-wire.md)."""
    false_positive_log2: Number | None = None
    """Of the polynomial protocol: log2 of the probability for each element asked for."""
    operations: Mapping[str, int] | None = None
    """Of look-ups: counts by name."""
    failure_log2: Number | None = None
    """Of look-ups: log2 of the probability that a reply is read wrongly."""


class PlansAnswer(Result):
    """Plans of a table, or of one that there might be."""

    table: PublicTable | None = None
    """Of a table that there is."""
    plans: list[PlanAnswer]
