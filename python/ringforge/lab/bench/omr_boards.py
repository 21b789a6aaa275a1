# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Message retrieval on whole boards: what one receiver gets of boards with none, some and too many of its messages.

Every entry has a real signal made for the board: the receiver's messages lie anywhere among signals for strangers,
whose payloads are random bytes, which is what a box for somebody else is to this receiver. Steps are the detector's,
digests are read as `omr retrieve` reads them, and what is found is compared with what was put there. How many entries
are in range is known beforehand from exact integers: strangers' signals may be, by chance.
"""

from __future__ import annotations

import hashlib
import math
import resource
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from ringforge import _native
from ringforge._native.bfv import Client
from ringforge.errors import Error, ParameterError, TooManyMessagesError
from ringforge.lab.papers.omr.figures import MOST_MESSAGES
from ringforge.lab.timing import Timing, Watch, both_clocks, timed, total
from ringforge.omr.board import Encoder
from ringforge.omr.depot import Depot, read_result
from ringforge.omr.detector import Detector, capacities, encoder
from ringforge.omr.detector_client import key_name
from ringforge.omr.keys import DetectionKey, ReceiverSecret, bfv_context
from ringforge.omr.payload import BoxKey
from ringforge.omr.reading import SecretReader
from ringforge.omr.sets import Set
from ringforge.omr.signal import SignalKey, Signals, SignalSecret
from ringforge.omr.steps import Request
from ringforge.runs import Record

#: The receiver's messages on each board.
PERTINENT = (0, 1, 50, 51, 200, 50, 50, 50)
#: Other receivers that there are signals for.
_STRANGERS = 8
#: How digests are asked for: as they are, and where they were too small larger ones, or ones of windows of the board.
WAYS = ("once", "larger", "windows")
_ME = "receiver"


@dataclass(frozen=True)
class MadeBoard:
    """One sealed bulletin: `texts` are the receiver's, by entry."""

    signals: Signals
    payloads: npt.NDArray[np.uint8]
    texts: dict[int, bytes]
    digest: str

    @classmethod
    def make(
        cls, s: Set, signal: SignalKey, box: BoxKey, count: int, rng: np.random.Generator, threads: int
    ) -> MadeBoard:
        """A new one with so many messages for a receiver, at places and of lengths from `rng`."""
        places = sorted(rng.choice(s.entries, count, replace=False).tolist())
        strangers = [SignalSecret.make(s).public() for _ in range(_STRANGERS)]
        each = -(-s.entries // _STRANGERS)
        made = [key.signals(each, threads) for key in strangers]
        a = np.concatenate([m.a for m in made])[: s.entries]
        b = np.concatenate([m.b for m in made])[: s.entries]
        payloads = rng.integers(0, 256, (s.entries, s.payload_bytes), dtype=np.uint8)
        texts: dict[int, bytes] = {}
        if places:
            mine = signal.signals(count, threads)
            a[places], b[places] = mine.a, mine.b
        for entry in places:
            text = f"entry {entry}: ".encode()
            texts[entry] = text + rng.bytes(int(rng.integers(0, s.text_bytes - len(text) + 1)))
            payloads[entry] = np.frombuffer(box.seal(texts[entry], s), np.uint8)
        digest = hashlib.sha256()
        for part in (a, b, payloads):
            digest.update(np.ascontiguousarray(part).data)
        return cls(Signals(s, a, b), payloads, texts, digest.hexdigest())


class Shelf:
    """One bulletin at a time, as a detector reads a board; it has its encodings."""

    def __init__(self) -> None:
        self._board: MadeBoard | None = None
        self._blobs: list[bytes] = []

    def put(self, board: MadeBoard, encode: Encoder) -> None:
        self._board, self._blobs = board, []
        self._blobs = [encode.encode(board.signals, g) for g in range(encode.steps)]

    @property
    def board(self) -> MadeBoard:
        assert self._board is not None
        return self._board

    def sealed(self) -> list[tuple[int, str]]:
        return [(0, self.board.digest)]

    def signals(self, number: int) -> Signals:
        del number
        return self.board.signals

    def payloads(self, number: int) -> npt.NDArray[np.uint8]:
        del number
        return self.board.payloads

    def encodings(self, number: int, encoder: Encoder, steps: Sequence[int]) -> Iterator[bytes]:
        del number, encoder
        return (self._blobs[g] for g in steps)


@dataclass
class Asked:
    """What one way of asking about a board gave.

    Attributes:
        found: payloads by entry. counts: pertinent entries, as each digest says. digests: how many were asked for.
        size: bytes of all of them. margin: bits left in the one with the most noise.
        stages: times of what was computed for it.
    """

    found: dict[int, bytes] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    digests: int = 0
    size: int = 0
    margin: float = math.inf
    capacity: int = 0
    stages: dict[str, Timing] = field(default_factory=dict)

    def took(self, stage: str, taken: Timing) -> None:
        """Counts a part of a stage."""
        self.stages[stage] = total((self.stages[stage], taken)) if stage in self.stages else taken


class Chain:
    """One receiver with its keys, and a detector that has the detection key."""

    def __init__(self, s: Set, threads: int, folder: Path) -> None:
        self.set, self.threads = s, threads
        self.secret = ReceiverSecret.make(s)
        path = folder / "detection"
        DetectionKey.make(self.secret, threads=threads).save(path)
        self.key, self.key_bytes = key_name(path), path.stat().st_size
        self.shelf = Shelf()
        self.detector = Detector(s, self.shelf, threads=threads)
        self.session = self.detector.open(path)
        babies, _ = timed(self.session.engine.babies)
        self.babies_seconds = babies.wall
        self.depot = Depot(folder / "store")
        self.reader = SecretReader(self.secret)

    def close(self) -> None:
        """Lets go of the files."""
        self.depot.close()

    def request(self, capacity: int) -> Request:
        """About the whole of the board on the shelf."""
        return Request(self.key, 0, self.shelf.board.digest, "messages", capacity, 0, self.set.entries)

    def _digest(self, request: Request, asked: Asked) -> bytes:
        """Runs those steps of a request whose results are not there."""
        steps = self.detector.steps(request)
        for step in steps:
            if self.depot.has_result(_ME, step):
                continue
            watch = Watch()
            result, _ = self.session.run(step, [self.depot.result_path(_ME, name) for name in step.inputs])
            asked.took(step.stage, watch.read())
            self.depot.keep_result(_ME, step, result)
        return read_result(self.depot.result_path(_ME, steps[-1].name))

    def ask(self, request: Request, asked: Asked, most: int = 0) -> None:
        """Asks, and where a digest is too small again, by larger digests up to `most` or by windows.

        No receiver of somebody else's detector may do so: that it asks again tells what it has read.

        Raises:
            TooManyMessagesError: it was too small, and `most` is 0.
        """
        digest = self._digest(request, asked)
        asked.digests += 1
        asked.size += len(digest)
        asked.capacity = max(asked.capacity, request.capacity)
        plan = self.detector.digest_plan(True, request.capacity)
        distance, _ = plan.margin(digest, self.secret.compression)
        asked.margin = min(asked.margin, -math.log2(2 * distance))
        watch = Watch()
        try:
            retrieved = self.reader.decode(digest, request)
        except TooManyMessagesError as e:
            asked.counts.append(e.count)
            asked.took("decode", watch.read())
            if not most:
                raise
            for again in split(request, e.count, most):
                self.ask(again, asked, most)
            return
        asked.took("decode", watch.read())
        asked.counts.append(len(retrieved.indices))
        asked.found.update(zip(retrieved.indices, retrieved.payloads or (), strict=True))

    def budgets(self, request: Request) -> dict[str, float]:
        """Bits of noise budget that the key's holder measures after the affine transform and after the range check."""
        client = Client(bfv_context(self.set))
        found = {}
        for step in self.detector.steps(request):
            if step.stage in ("combination", "range check"):
                parts = self.session.loaded(read_result(self.depot.result_path(_ME, step.name)))
                found[step.stage] = min(float(client.noise_budget(c, self.secret.bfv)) for c in parts)
        return {"affine": found["combination"], "range check": found["range check"]}


def split(request: Request, count: int, most: int) -> list[Request]:
    """What to ask for after a digest that was too small: a larger capacity where that is possible, else windows.

    Args:
        count: pertinent entries in the request's window. most: the largest capacity.
    """
    if count <= most and request.capacity < most:
        capacity = request.capacity
        while capacity < count:
            capacity *= 2
        return [replace(request, capacity=min(most, capacity))]
    size, parts = request.last - request.first, 2
    while parts * most < 2 * count and parts < size:
        parts *= 2
    step = -(-size // parts)
    return [
        replace(request, capacity=most, first=first, last=min(first + step, request.last))
        for first in range(request.first, request.last, step)
    ]


def boards(
    s: Set, pertinent: Sequence[int] = PERTINENT, capacity: int = MOST_MESSAGES, threads: int = 1, seed: int = 0
) -> Iterator[Record]:
    """A record for each board and each way of asking that it needs. Its times are those of detector and decoding.

    Args:
        pertinent: the receiver's messages on each board. capacity: that the first digest holds.
        seed: of places, lengths and strangers' payloads; signals, keys and boxes are new in every run.

    Raises:
        ParameterError: a number of messages or a capacity that a board or a digest cannot have.
    """
    most = capacities(s)["messages"]
    if not 1 <= capacity <= most:
        raise ParameterError(f"a capacity of {capacity} messages: digests of set {s.name} hold 1 to {most}")
    if any(not 0 <= count <= s.entries for count in pertinent):
        raise ParameterError(f"a board of set {s.name} has 0 to {s.entries} messages")
    with tempfile.TemporaryDirectory() as folder, closing(Chain(s, threads, Path(folder))) as chain:
        for number, count in enumerate(pertinent):
            yield from _board(chain, number, count, capacity, most, np.random.default_rng((seed, number)))


def _board(
    chain: Chain, number: int, count: int, capacity: int, most: int, rng: np.random.Generator
) -> Iterator[Record]:
    s, secret, threads = chain.set, chain.secret, chain.threads
    made, board = timed(lambda: MadeBoard.make(s, secret.signal.public(), secret.box.public(), count, rng, threads))
    in_range = np.flatnonzero(secret.signal.pertinent(board.signals, threads)).tolist()
    encoded, _ = timed(lambda: chain.shelf.put(board, encoder(chain.detector.plan, threads)))
    request = chain.request(capacity)
    about: dict[str, Any] = {
        "board": number,
        "pertinent": count,
        "in_range": len(in_range),
        "signals_seconds": made.wall,
        "babies_seconds": chain.babies_seconds,
        "key_bytes": chain.key_bytes,
        "kernels": _native.kernels.active(),
    }

    def record(way: str, asked: Asked, noticed: bool) -> Record:
        texts = {entry: chain.reader.open(payload) for entry, payload in asked.found.items()}
        right = sum(text is not None and board.texts.get(entry) == text for entry, text in texts.items())
        dropped = sum(text is None for text in texts.values())
        wrong = len(texts) - right - dropped
        good = asked.counts[0] == len(in_range) and not wrong
        good &= not texts if noticed else sorted(texts) == in_range and right == count
        times = both_clocks(total(asked.stages.values()), threads=threads)
        return Record(
            system="omr",
            case=f"board {number}: {count}, {way}",
            params=s.name,
            algorithm="ringforge",
            threads=threads,
            encode_seconds=encoded.by(times["clock"]),
            peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            extra=about
            | {
                "way": way,
                "capacity": asked.capacity,
                "digests": asked.digests,
                "digest_bytes": asked.size,
                "count": asked.counts[0],
                "noticed": noticed,
                "right": right,
                "wrong": wrong,
                "dropped": dropped,
                "good": bool(good),
                "stage_seconds": {stage: t.wall for stage, t in asked.stages.items()},
                "stage_cpu_seconds": {stage: t.cpu for stage, t in asked.stages.items()},
                "budget_bits": chain.budgets(request) | {"digest": asked.margin},
            },
            **times,
        )

    first = Asked()
    try:
        chain.ask(request, first)
    except TooManyMessagesError:
        yield record(WAYS[0], first, True)
        for way, limit in ((WAYS[1], most), (WAYS[2], capacity)):
            again = Asked()
            # The first digest is there already; its steps are not computed again.
            chain.ask(request, again, limit)
            yield record(way, again, False)
    else:
        yield record(WAYS[0], first, False)
    for path in chain.depot.result_path(_ME, "").glob("*"):
        path.unlink()


def verdict(records: Sequence[Record]) -> Table:
    """What was found on each board, and what it took."""
    made = Table(
        title="what one receiver gets of boards: wall seconds; bits of noise budget left after affine, check, in digest"
    )
    names = (
        "board",
        "asked",
        "holds",
        "messages",
        "in range",
        "noticed",
        "right",
        "wrong",
        "affine",
        "check",
        "compress",
        "decode",
        "all",
        "bits left",
        "peak MiB",
        "good",
    )
    for name in names:
        made.add_column(name, justify="left" if name == "asked" else "right")
    for r in records:
        x = r.extra
        took = dict(x["stage_seconds"])
        took["affine"] = took.get("affine", 0.0) + took.pop("combination", 0.0)
        took["compression"] = took.get("compression", 0.0) + took.pop("digest", 0.0)
        bits = x["budget_bits"]
        made.add_row(
            str(x["board"]),
            x["way"] + (f" ({x['digests']})" if x["digests"] > 1 else ""),
            str(x["capacity"]),
            str(x["pertinent"]),
            str(x["in_range"]),
            str(x["count"]) + (" > " + str(x["capacity"]) if x["noticed"] else ""),
            "-" if x["noticed"] else str(x["right"]),
            str(x["wrong"]),
            *(f"{took.get(stage, 0.0):.2f}" for stage in ("affine", "range check", "compression", "decode")),
            f"{r.wall_seconds:.2f}",
            " ".join(
                f"{bits[stage]:.{places}f}" for stage, places in (("affine", 0), ("range check", 0), ("digest", 1))
            ),
            f"{r.peak_mib or 0:,.0f}",
            "yes" if x["good"] else "NO",
        )
    return made


def require_good(records: Sequence[Record]) -> None:
    """Raises: Error for records of which one is not as it should be."""
    bad = [r.case for r in records if not r.extra["good"]]
    if bad:
        raise Error(f"{len(bad)} of {len(records)} results are not what was put on the boards: {'; '.join(bad)}")
