# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The detector's work: requests as steps, and steps on the engine.

A digest of a window is one of the whole bulletin in which everything outside the window weighs nothing: the first word
of every entry is 1 inside of it and 0 outside, so the power sums of that word are those of the window. The detector
does the same for all windows, and for every receiver.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native.bfv import Ciphertext
from ringforge._native.omr import CompressionPlan
from ringforge.devices import Device, open_device
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.omr.board import Encoder
from ringforge.omr.compress import compression_plan
from ringforge.omr.depot import read_result
from ringforge.omr.engine import Engine, encode_diagonals
from ringforge.omr.estimate import key_bytes as detection_key_bytes
from ringforge.omr.kernels import AffineKernel, BabiesKernel
from ringforge.omr.keys import DetectionKey, bfv_context
from ringforge.omr.payload import words
from ringforge.omr.plan import Plan, Shard
from ringforge.omr.progress import Progress, reach, within
from ringforge.omr.range_check import Method
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals
from ringforge.omr.steps import Request, Step

Words = npt.NDArray[np.uint32]

#: Messages that a digest holds at the most, where the set allows as many: larger ones take longer for each bulletin.
_CAPACITY = {"messages": 254, "positions": 1022}

#: Shares of the time by stage, roughly, as measured with one thread.
_SHARES = {"affine": 0.52, "combination": 0.03, "range check": 0.35, "compression": 0.09, "digest": 0.01}

#: Of a step's time, roughly: reading what the board has.
_READING_SHARE = 0.1

#: Room for headers and checksums of a detection key's records, and for its head.
_HEADERS = 8192


def capacities(s: Set) -> dict[str, int]:
    """Messages that a digest of a set holds at the most, by mode."""
    room = s.entries // 16 - 2  # a quarter of the places in the small ring
    return {mode: min(most, room) for mode, most in _CAPACITY.items()}


def encoder(plan: Plan, threads: int = 1) -> Encoder:
    """What makes a bulletin's diagonals for this plan, for boards that keep them."""

    def encode(signals: Signals, giant: int) -> bytes:
        return encode_diagonals(plan, signals.a, range(giant, giant + 1), threads)[0].tobytes()

    layout = plan.shape.layout
    most = max(layout.bytes(g) for g in range(plan.giants))
    name = f"diagonals-1 {plan.method} {plan.set.hash.hex()[:16]}"
    return Encoder(name, plan.giants, most, encode)


class Bulletins(Protocol):
    """Sealed bulletins, as a detector reads them. `bulletins.Source` has those of a board."""

    def sealed(self) -> list[tuple[int, str]]:
        """Numbers and digests (hexadecimal) of all."""

    def signals(self, number: int) -> Signals:
        """All signals of a bulletin."""

    def payloads(self, number: int) -> npt.NDArray[np.uint8]:
        """All payloads: uint8[entries, payload_bytes]."""

    def encodings(self, number: int, encoder: Encoder, steps: Sequence[int]) -> Iterator[bytes]:
        """Encodings of its diagonals for these giant steps, in order."""


class Detector:
    """Computes steps for the keys of one parameter set, on bulletins of one board.

    Args:
        s: the set of the board. source: the board.
        method: of keys that are taken. shards: of the affine transform. threads: for each step.
        device: that computes the affine transform, and range check and compression if it can; else `cpu` does.
        at_once: requests that are computed at a time; each has its share of a device's workers.

    Raises:
        ParameterError: more shards than giant steps, or a device that does not compute one of them.
    """

    def __init__(
        self,
        s: Set,
        source: Bulletins,
        *,
        method: Method = "ringforge",
        shards: int = 1,
        threads: int = 1,
        device: Device | str = "cpu",
        at_once: int = 1,
    ) -> None:
        self.set, self._source, self._threads = s, source, threads
        opened = open_device(device) if isinstance(device, str) else device
        self._device = opened.shared(at_once) if isinstance(opened, ShardedDevice) else opened
        self.plan = Plan.make(s, method)
        self.shards = self.plan.shards(shards)
        self._device.check(BabiesKernel(self.plan.shape))
        for shard in self.shards:
            self._device.check(AffineKernel(self.plan.shape, shard.first, shard.count))
        self._encoder = encoder(self.plan, threads)
        self._capacities = capacities(s)
        self._lock = threading.Lock()
        self._at_once, self._last = at_once, OrderedDict[str, DetectorSession]()
        #: Those above, and those that requests under way still have.
        self._open = WeakValueDictionary[str, DetectorSession]()

    def describe(self) -> dict[str, Any]:
        """What receivers are told."""
        return {
            "set": self.set.name,
            "hash": self.set.hash.hex(),
            "plan": self.plan.hash.hex(),
            "method": self.plan.method,
            "entries": self.set.entries,
            "capacity": self._capacities,
            "key_bytes": self.key_bytes()[1],
        }

    def bulletins(self) -> list[tuple[int, str]]:
        """Numbers and digests of sealed bulletins."""
        return self._source.sealed()

    def key_bytes(self) -> tuple[int, int]:
        """Bytes of a detection key's file: the head's text may be longer or shorter."""
        size = detection_key_bytes(self.set)
        return size, size + _HEADERS

    def check_key(self, path: Path, progress: Progress | None = None) -> dict[str, Any]:
        """Reads a detection key as a whole.

        Raises:
            FormatError: it is none, or damaged. MismatchError: it is for another set, or another method. Error
            "cancelled": `progress` returned False.
        """
        key = DetectionKey.load(path, self.set, self._threads, progress)
        if key.method != self.plan.method:
            raise MismatchError(
                f'the detection key is for method "{key.method}", this detector computes "{self.plan.method}": make '
                "another, or ask another detector"
            )
        return {"set": self.set.name, "method": key.method}

    def steps(self, request: Request) -> list[Step]:
        """All steps of a request.

        Raises:
            ParameterError: a window beyond the bulletin, a capacity beyond the largest.
        """
        if request.last > self.set.entries:
            raise ParameterError(f"a window up to entry {request.last}: a bulletin has {self.set.entries}")
        most = self._capacities[request.mode]
        if request.capacity > most:
            raise ParameterError(f"a digest of {request.mode} holds {most} at the most, not {request.capacity}")
        plan = self.plan.hash.hex()

        def step(stage: str, first: int, last: int, *needs: Step, count: int = 1, **options: int) -> Step:
            return Step(
                stage,
                plan,
                request.key,
                request.digest,
                first,
                last,
                tuple(sorted(options.items())),
                tuple(n.name for n in needs),
                _SHARES[stage] / count,
            )

        parts = [step("affine", x.first, x.first + x.count, count=len(self.shards)) for x in self.shards]
        joined = step("combination", 0, self.plan.giants, *parts)
        checked = step("range check", 0, self.set.entries, joined)
        about = {
            "begin": request.first,
            "capacity": request.capacity,
            "end": request.last,
            "payload": int(request.mode == "messages"),
        }
        units = self.digest_plan(request.mode == "messages", request.capacity).units
        summed = step("compression", 0, units, checked, **about)
        return [*parts, joined, checked, summed, step("digest", 0, units, summed, **about)]

    def digest_plan(self, payload: bool, capacity: int) -> CompressionPlan:
        """The plan of digests; the first word of an entry says whether it is in the window."""
        return compression_plan(self.set, capacity, 1 + (self.set.payload_words if payload else 0))

    def open(self, key: Path, progress: Progress | None = None) -> DetectorSession:
        """Reads a detection key; those of the last requests, as many as are computed at a time, are at hand, with the
        rotations of their signal keys.

        Raises:
            Error "cancelled": `progress` returned False.
        """
        with self._lock:
            session = self._open.get(str(key))
            if str(key) not in self._last:
                while len(self._last) >= self._at_once:  # first lets go of the memory
                    self._last.popitem(last=False)
                if session is None:
                    loaded = DetectionKey.load(key, self.set, self._threads, progress)
                    session = DetectorSession(self, Engine(self.plan, loaded, self._threads, self._device))
                self._last[str(key)] = self._open[str(key)] = session
            self._last.move_to_end(str(key))
            return self._last[str(key)]

    # ---- bulletins ----

    def number(self, digest: str) -> int:
        """The number of the sealed bulletin with this digest.

        Raises:
            ParameterError: the board has none.
        """
        for number, known in self._source.sealed():
            if known == digest:
                return number
        raise ParameterError(f"the board has no sealed bulletin with the digest {digest[:16]}")

    def diagonals(self, number: int, shard: Shard, progress: Progress | None = None) -> list[npt.NDArray[np.uint8]]:
        """A shard's diagonals, one array for each giant step.

        Raises:
            Error "cancelled": `progress` returned False.
        """
        giants = range(shard.first, shard.first + shard.count)
        found = []
        for blob in self._source.encodings(number, self._encoder, giants):
            found.append(np.frombuffer(blob, np.uint8))
            reach(progress, len(found) / shard.count)
        return found

    def second_halves(self, number: int) -> Words:
        """Second halves of a bulletin's signals."""
        return self._source.signals(number).b

    def weights(self, number: int, step: Step) -> Words:
        """The words that entries are weighted with: 1, and the payload's where the digest carries it; 0 outside."""
        about = dict(step.options)
        window = slice(about["begin"], about["end"])
        inside = np.zeros((self.set.entries, 1), np.uint32)
        inside[window] = 1
        if not about["payload"]:
            return inside
        return np.hstack([inside, inside * words(self._source.payloads(number), self.set)])


class DetectorSession:
    """One receiver's key, ready to compute with: `engine` has it."""

    def __init__(self, detector: Detector, engine: Engine) -> None:
        self._detector, self.engine = detector, engine
        self._context = bfv_context(detector.set)

    def run(self, step: Step, inputs: Sequence[Path], progress: Progress | None = None) -> tuple[bytes, dict[str, int]]:
        """A step's result, and operations counted by kind.

        Raises:
            Error "cancelled": `progress` returned False.
        """
        with _native.counting() as did:
            result = self._run(step, [read_result(path) for path in inputs], progress)
        counts = did.operations
        names = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul")
        return result, {name: int(getattr(counts, name)) for name in names}

    def _run(self, step: Step, inputs: list[bytes], progress: Progress | None) -> bytes:
        detector, engine = self._detector, self.engine
        number = detector.number(step.bulletin)
        if step.stage == "affine":
            shard = Shard(step.first, step.last - step.first)
            diagonals = detector.diagonals(number, shard, within(progress, 0.0, _READING_SHARE))
            return self._saved(engine.affine(diagonals, shard, within(progress, _READING_SHARE, 1.0)))
        if step.stage == "combination":
            parts = [(shard, self.loaded(data)) for shard, data in zip(detector.shards, inputs, strict=True)]
            return self._saved(engine.subtract_b(engine.combine(parts, progress), detector.second_halves(number)))
        if step.stage == "range check":
            return self._saved([engine.range_check(self.loaded(inputs[0]), progress)])
        if step.stage == "compression":
            return self._summed(step, number, inputs[0], progress)
        return self._digest(step, number, inputs)

    def _summed(self, step: Step, number: int, checked: bytes, progress: Progress | None) -> bytes:
        about = dict(step.options)
        plan = self._detector.digest_plan(bool(about["payload"]), about["capacity"])
        (u,) = self.loaded(checked)
        weights = self._detector.weights(number, step)
        reach(progress, _READING_SHARE)
        engine, count = self.engine, step.last - step.first
        told = within(progress, _READING_SHARE, 1.0)
        return engine.compress(plan, u, weights, step.first, count, told)

    def _digest(self, step: Step, number: int, parts: list[bytes]) -> bytes:
        about = dict(step.options)
        plan = self._detector.digest_plan(bool(about["payload"]), about["capacity"])
        return bytes(plan.digest(self.engine.key.compression, parts, number))

    def _saved(self, ciphertexts: Sequence[Ciphertext]) -> bytes:
        """Records, each after its length."""
        out = bytearray()
        for c in ciphertexts:
            record = _native.io.to_bytes(self._context, c)
            out += len(record).to_bytes(8, "little") + record
        return bytes(out)

    def loaded(self, data: bytes) -> list[Ciphertext]:
        """The ciphertexts of a step's result, of any but the last two stages.

        Raises:
            FormatError: it holds none.
        """
        found, at = [], 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 8], "little")
            if not 0 < size <= len(data) - at - 8:
                raise FormatError("a step's result is no list of ciphertexts")
            found.append(_native.io.ciphertext_from_bytes(data[at + 8 : at + 8 + size], self._context))
            at += 8 + size
        return found
