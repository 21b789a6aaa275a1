# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection for one receiver: from a bulletin's diagonals to the encrypted vector of pertinent entries."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native.bfv import Ciphertext, Evaluator
from ringforge._native.omr import CompressionPlan
from ringforge.devices import Device, Handle, KeySet, open_device
from ringforge.errors import MismatchError, ShapeError
from ringforge.omr import check_shards, shards
from ringforge.omr.check_kernels import CompressionKernel, RangeCheckKernel
from ringforge.omr.kernels import AffineKernel, BabiesKernel
from ringforge.omr.keys import DetectionKey
from ringforge.omr.plan import Plan, Shard
from ringforge.omr.progress import Progress, within

__all__ = ["Engine", "encode_diagonals"]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

#: Devices with a pool run the kernels in shards: that is said where they are used.
_SHARDED = (shards, check_shards)

#: Of the time of a key's first affine transform: the rotations of the key.
_BABIES_SHARE = 0.2


def encode_diagonals(plan: Plan, a: Words, giants: range | None = None, threads: int = 1) -> list[Bytes]:
    """The packed diagonals of a bulletin, one array for each giant step: computed once, kept by the board.

    Args:
        a: first halves of its signals, uint32[N, n] below t. giants: which giant steps; None: all.

    Raises:
        ShapeError: another shape. ringforge.ValueError: a word is not below t.
    """
    layout = plan.shape.layout
    if a.shape != (plan.set.entries, plan.set.n):
        raise ShapeError(f"signals of shape {a.shape}; a bulletin has ({plan.set.entries}, {plan.set.n})")
    words = np.ascontiguousarray(a, np.uint32)
    return [np.asarray(layout.encode(words, g, threads)) for g in (giants or range(plan.giants))]


class Engine:
    """One receiver's detection key, ready for any number of bulletins. Any threads may share one.

    The operations, their order and their sizes are those of the plan, whatever bulletin and key hold.

    Args:
        plan: of the key's set and method.
        key: the receiver's.
        threads: for each call.
        device: that computes the affine transform, and range check and compression if it can; else `cpu` does.

    Raises:
        MismatchError: the key is for another set or method.
    """

    def __init__(self, plan: Plan, key: DetectionKey, threads: int = 1, device: Device | str = "cpu") -> None:
        if plan.set.hash != key.set.hash or plan.method != key.method:
            raise MismatchError(
                f"the detection key is for set {key.set.name} and method {key.method}, the plan for "
                f"{plan.set.name} and {plan.method}: make one for it with `omr keygen`"
            )
        self.plan, self.key, self.threads = plan, key, threads
        self.device = open_device(device) if isinstance(device, str) else device
        self._lock, self._babies = threading.Lock(), None
        runs = self.device.capabilities().kernels
        self._later = {
            k: self.device if k in runs else open_device("cpu") for k in (RangeCheckKernel, CompressionKernel)
        }
        self._keys = KeySet(galois=key.galois, relin=key.relin, own=(key.compression,))
        self._evaluator = Evaluator(plan.shape.context, threads)

    def babies(self, progress: Progress | None = None) -> Any:
        """Rotations of the key of signals, computed by the first call and kept: they serve every bulletin.

        Raises:
            Error "cancelled": `progress` returned False; nothing is kept.
        """
        with self._lock:
            if self._babies is None:
                handle = self.device.prepare(BabiesKernel(self.plan.shape), self._keys, None)
                outputs, _ = self.device.run(handle, [self.key.signal], threads=self.threads, progress=progress)
                self._babies = outputs[0]
            return self._babies

    def forget(self) -> None:
        """Frees the rotations of the key."""
        with self._lock:
            self._babies = None

    def prepare(self, diagonals: Sequence[Bytes], shard: Shard | None = None) -> Handle:
        """The diagonals of a shard (default: of the whole bulletin), where the device wants them.

        Raises:
            ShapeError: they are not those of the shard.
        """
        shard = shard or Shard(0, self.plan.giants)
        kernel = AffineKernel(self.plan.shape, shard.first, shard.count)
        return self.device.prepare(kernel, self._keys, list(diagonals))

    def affine(
        self, diagonals: Sequence[Bytes], shard: Shard | None = None, progress: Progress | None = None
    ) -> list[Ciphertext]:
        """A shard's part of the affine transform: one ciphertext for each clue. The first one makes `babies` too.

        Raises:
            ShapeError: the diagonals are not those of the shard. Error "cancelled": `progress` returned False.
        """
        begin = 0.0 if self._babies is not None else _BABIES_SHARE
        babies = self.babies(within(progress, 0.0, begin))
        told = within(progress, begin, 1.0)
        outputs, _ = self.device.run(self.prepare(diagonals, shard), [babies], threads=self.threads, progress=told)
        return [self.device.download(x) for x in outputs]

    def combine(
        self, parts: Sequence[tuple[Shard, Sequence[Ciphertext]]], progress: Progress | None = None
    ) -> list[Ciphertext]:
        """The results of all shards of a bulletin to those of the whole, from the uppermost down.

        Raises:
            ShapeError: the shards do not make up the bulletin. Error "cancelled": `progress` returned False.
        """
        ordered = sorted(parts, key=lambda part: part[0].first)
        at = 0
        for shard, _ in ordered:
            if shard.first != at:
                break
            at += shard.count
        if at != self.plan.giants or sum(shard.count for shard, _ in ordered) != at:
            raise ShapeError(f"the shards do not make up the bulletin's {self.plan.giants} giant steps, each once")
        result = list(ordered[-1][1])
        for done, (shard, lower) in enumerate(reversed(ordered[:-1])):
            told = within(progress, done / len(ordered), (done + 1) / len(ordered))
            result = self.plan.shape.native.combine(
                list(lower), shard.count, result, self.key.galois, self.threads, told
            )
        return result

    def subtract_b(self, outputs: Sequence[Ciphertext], b: Words) -> list[Ciphertext]:
        """Errors of the signals: outputs minus the second halves of the signals, uint32[N, clues].

        Raises:
            ShapeError: another shape.
        """
        s = self.plan.set
        if b.shape != (s.entries, s.clues) or len(outputs) != s.clues:
            raise ShapeError(f"second halves of shape {b.shape}; a bulletin has ({s.entries}, {s.clues})")
        context = self.plan.shape.context
        columns = [context.encode(np.ascontiguousarray(b[:, clue]).astype(np.int64)) for clue in range(s.clues)]
        return [self._evaluator.sub_plain(c, p) for c, p in zip(outputs, columns, strict=True)]

    def range_check(self, x: Sequence[Ciphertext], progress: Progress | None = None) -> Ciphertext:
        """1 in the slots of entries all of whose errors are in range, 0 in all others; over two limbs.

        Raises:
            NoiseError: the errors have more noise than planned. Error "cancelled": `progress` returned False.
        """
        device, kernel = self._later[RangeCheckKernel], RangeCheckKernel(self.plan.shape.context, self.plan.program)
        outputs, _ = device.run(device.prepare(kernel, self._keys), list(x), threads=self.threads, progress=progress)
        checked: Ciphertext = device.download(outputs[0])
        return checked

    def compress(
        self,
        plan: CompressionPlan,
        u: Ciphertext,
        weights: Words,
        first: int,
        count: int,
        progress: Progress | None = None,
    ) -> bytes:
        """The part of a digest of units [first, first + count), as a record.

        Args:
            u: of `range_check`. weights: words of the entries, uint32[N, plan.words].

        Raises:
            ShapeError: other weights, or units that there are not. Error "cancelled": `progress` returned False.
        """
        device = self._later[CompressionKernel]
        kernel = CompressionKernel(self.plan.shape.context, plan, first, count)
        handle = device.prepare(kernel, self._keys, weights)
        outputs, _ = device.run(handle, [u], threads=self.threads, progress=progress)
        return bytes(device.download(outputs[0]))

    def detect(self, diagonals: Sequence[Bytes], b: Words, progress: Progress | None = None) -> Ciphertext:
        """All stages for one bulletin."""

        outputs = self.affine(diagonals, None, within(progress, 0.0, 0.5))
        return self.range_check(self.subtract_b(outputs, b), within(progress, 0.5, 1.0))
