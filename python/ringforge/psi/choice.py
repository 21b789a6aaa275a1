# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which table suits a pair of sizes: what building it and asking it will take, before anything is built.

All seconds are of this machine, as it is now: those of the look-up and of the pseudorandom function are measured on a
few bins and elements, those of the polynomial protocol are counted operations at the pace of a small query. So a slow
or busy machine changes what is predicted, but hardly what is chosen.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from dataclasses import dataclass
from typing import Any

from ringforge.errors import ParameterError
from ringforge.psi import oprf, planner, poly, wire
from ringforge.psi.hashing import room, size_class
from ringforge.psi.info import MAX_LOG_BINS

#: Elements of a client, where nobody says how many: the table takes so many in one query.
CLIENT_SIZE = 1024

#: Elements that a table of the polynomial protocol is planned for, at least.
_LEAST_POLY = 16

#: What a byte on the wire is worth when algorithms are compared: 100 Mbit/s.
BYTES_PER_SECOND = 12.5e6

_TAG_BITS = 40
_HASHES = 3
_SAMPLE = 512

# Of building a table beside the PRF, in seconds for each entry (an element in one of its bins): hashing, sorting,
# salts, packing. Measured once; they only serve an estimate.
_ENTRY_SECONDS = 2.5e-6

# Of a member in the database, beside its label: 64 bytes of the PRF and what SQLite puts around them.
_MEMBER_BYTES = 64 + 14

# Of a member in memory while a table is built: PRF outputs twice, keys of entries, the element itself.
_MEMBER_MEMORY = 2 * 64 + 16 * _HASHES + 120


@dataclass(frozen=True)
class Prediction:
    """A table that could be built, and what it takes.

    Attributes:
        algorithm: "ringforge" or "poly".
        queries: of a client with so many elements, one after the other.
        server_seconds: the server's work for all of them, the PRF among it, with the threads given.
        build_seconds: of building the table, with the threads given.
        sent, received: bytes of the client's, keys among them.
        disk, memory: bytes of the table, and of the process while it is built.
        bins: of a query.
        plan: fields of the plan.
    """

    algorithm: str
    queries: int
    server_seconds: float
    build_seconds: float
    sent: int
    received: int
    disk: int
    memory: int
    bins: int
    plan: Any = dataclasses.field(repr=False)

    @property
    def waiting(self) -> float:
        """Seconds until a client has its result, with a line of 100 Mbit/s: what algorithms are compared by."""
        return self.server_seconds + (self.sent + self.received) / BYTES_PER_SECOND

    def as_dict(self) -> dict[str, Any]:
        """For JSON, without the plan."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "plan"}
        return {**fields, "waiting": self.waiting}


def bins_for(client_size: int, hashes: int = _HASHES) -> int:
    """log2 of the bins that take so many elements in one query; of as many as there can be, if none do.

    Raises:
        ParameterError: no elements.
    """
    if client_size < 1:
        raise ParameterError(f"a client of {client_size} elements: 1 is the least")
    log_bins = 1
    while log_bins < MAX_LOG_BINS and room(1 << log_bins, hashes) < client_size:
        log_bins += 1
    return log_bins


def lookup_bins(
    capacity: int,
    client_size: int,
    *,
    label_bytes: int = 0,
    hashes: int = _HASHES,
    algorithm: str = "ringforge",
) -> int:
    """log2 of the bins of the look-up table, mode oprf, that costs least: with more bins than the client needs each of
    them has fewer cells.

    Raises:
        ParameterError: no table holds this.
    """
    first = bins_for(client_size, hashes)
    best: tuple[float, int] | None = None
    refused: ParameterError | None = None
    sealed = label_bytes + 1 if label_bytes else 0
    for log_bins in range(first, MAX_LOG_BINS + 1):
        try:
            fields = planner.choose("oprf", capacity, log_bins, _TAG_BITS, sealed, hashes, 0, algorithm)
        except ParameterError as e:
            refused = e
            continue
        cost = planner.weight(fields.native()) * planner.parts(fields, _TAG_BITS, sealed)
        if best is not None and cost > best[0]:
            break
        best = cost, log_bins
    if best is None:
        assert refused is not None
        raise refused
    return best[1]


def prf_seconds() -> float:
    """Seconds that the PRF takes for an element, one thread of this machine."""
    key, elements = oprf.ServerKey.random(), [b"%d" % i for i in range(_SAMPLE)]
    start = time.perf_counter()
    key.prf(elements, 1)
    return (time.perf_counter() - start) / _SAMPLE


def lookup(
    server_size: int,
    client_size: int,
    *,
    label_bytes: int = 0,
    log_bins: int | None = None,
    hashes: int = _HASHES,
    mode: str = "oprf",
    bits: int = 0,
    algorithm: str = "ringforge",
    threads: int = 1,
    each: float | None = None,
) -> Prediction:
    """A table of the look-up protocol for so many elements.

    Args:
        server_size: elements of the server, or the table's capacity.
        client_size: elements of a client.
        label_bytes: of the longest label; 0: none.
        log_bins: bins, by default those that cost least and take the client's elements in one query.
        mode, bits, algorithm, hashes: as of `BuildSpec`.
        each: seconds of the PRF, if they are known.

    Raises:
        ParameterError: no table holds this.
    """
    capacity = 1 << (max(1, server_size) - 1).bit_length()
    if log_bins is not None:
        bins = log_bins
    elif mode == "oprf":
        bins = lookup_bins(capacity, client_size, label_bytes=label_bytes, hashes=hashes, algorithm=algorithm)
    else:
        bins = bins_for(client_size, hashes)
    sealed, tag_bits = (label_bytes + 1 if label_bytes else 0), (_TAG_BITS if mode == "oprf" else 0)
    fields = planner.choose(mode, capacity, bins, tag_bits, sealed, hashes, bits if mode == "direct" else 0, algorithm)
    plan = fields.native()
    queries, evaluations = size_class(client_size, room(1 << bins, hashes))
    prf = 0.0 if mode == "direct" else (prf_seconds() if each is None else each)
    times = planner.parts(fields, tag_bits, sealed)
    entries, words = hashes * server_size, times << fields.log_cell
    arrays = 8 * (plan.bins + 1) + entries * (4 + 2 * words)
    info_bytes = 2 * plan.bins * 4 // 3 if mode == "oprf" else 0
    on_wire = evaluations * wire.ELEMENT_BYTES if mode == "oprf" else 0
    workers = threads or os.cpu_count() or 1
    return Prediction(
        algorithm=algorithm,
        queries=queries,
        server_seconds=queries * planner.measure(fields, workers) * plan.bins * times
        + (evaluations * prf / workers if mode == "oprf" else 0.0),
        build_seconds=server_size * prf / workers + entries * _ENTRY_SECONDS,
        sent=on_wire + plan.key_bytes + queries * plan.request_bytes,
        received=on_wire + info_bytes + queries * plan.reply_bytes * times,
        disk=arrays + server_size * ((_MEMBER_BYTES if mode == "oprf" else 16) + label_bytes) + info_bytes,
        memory=server_size * (_MEMBER_MEMORY + label_bytes) + arrays,
        bins=int(plan.bins),
        plan=fields,
    )


def polynomial(
    server_size: int,
    client_size: int,
    *,
    label_bytes: int = 0,
    threads: int = 1,
    each: float | None = None,
    hashes: int = _HASHES,
) -> Prediction:
    """A table of the polynomial protocol for so many elements; arguments and errors as of `lookup`."""
    if hashes != _HASHES:
        raise ParameterError("the polynomial protocol has three hash functions")
    capacity = max(_LEAST_POLY, 1 << (max(1, server_size) - 1).bit_length())
    found = poly.suggest(capacity, client_size, label_bytes=label_bytes + 1 if label_bytes else 0)
    e, plan, prf = found.estimate, found.native, prf_seconds() if each is None else each
    slower = poly.pace()
    workers = threads or os.cpu_count() or 1
    queries, evaluations = size_class(client_size, poly.room(plan.bins))
    on_wire = evaluations * wire.ELEMENT_BYTES
    return Prediction(
        algorithm="poly",
        queries=queries,
        server_seconds=(e.online_seconds * slower + evaluations * prf) / workers,
        build_seconds=(server_size * prf + e.build_seconds * slower) / workers,
        sent=on_wire + plan.key_bytes + queries * plan.request_bytes,
        received=on_wire + queries * plan.reply_bytes,
        disk=e.table_bytes + server_size * (_MEMBER_BYTES + label_bytes),
        memory=server_size * (_MEMBER_MEMORY + label_bytes) + e.table_bytes,
        bins=int(plan.bins),
        plan=found.fields,
    )


def compare(
    server_size: int, client_size: int, *, label_bytes: int = 0, threads: int = 1, hashes: int = _HASHES
) -> list[Prediction]:
    """What each algorithm takes for so many elements, mode oprf; the one to take first.

    Raises:
        ParameterError: no table of any algorithm holds this.
    """
    each = prf_seconds()
    found: list[Prediction] = []
    refused: ParameterError | None = None
    for predict in (lookup, polynomial):
        try:
            found.append(
                predict(server_size, client_size, label_bytes=label_bytes, threads=threads, each=each, hashes=hashes)
            )
        except ParameterError as e:
            refused = e
    if not found:
        assert refused is not None
        raise refused
    return sorted(found, key=lambda p: p.waiting)


def why(found: list[Prediction]) -> str:
    """Why the first of `compare` is taken, in a sentence."""
    first = found[0]
    if len(found) == 1:
        return "no other algorithm holds a table of these sizes"
    other = found[1]
    times = other.waiting / first.waiting if first.waiting else math.inf
    return (
        f"a client waits {_seconds(first.waiting)} (server {_seconds(first.server_seconds)}, "
        f"{_megabytes(first.sent + first.received)} at 100 Mbit/s), with {other.algorithm} {_seconds(other.waiting)} "
        f"(server {_seconds(other.server_seconds)}, {_megabytes(other.sent + other.received)}): {times:.1f} times as "
        "long"
    )


def _seconds(s: float) -> str:
    return f"{s:.2g} s" if s < 10 else f"{s:,.0f} s"


def _megabytes(count: float) -> str:
    return f"{count / 2**20:.1f} MiB"
