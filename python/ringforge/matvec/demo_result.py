# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a run of the demo has found: printed by the demo, drawn by its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringforge import ckks
from ringforge.devices import Report
from ringforge.matvec.program import Program

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass
class Exchange:
    """One program's dealings with the server: sizes in bytes, times in seconds."""

    program: Program
    images: int
    ciphertexts: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    layers: list[tuple[str, Report]] = field(default_factory=list)
    #: Decrypted scores, a row an image.
    scores: Array = field(default_factory=lambda: np.zeros((0, 0)))
    error_bound: float = 0.0
    #: Bytes of the last ciphertext, as the server received them.
    sample: bytes = b""
    #: From having the pixels to having the scores, keys and encoded model being in place.
    latency: float = 0.0

    @property
    def operations(self) -> dict[str, int]:
        """Counted operations of all layers."""
        total: dict[str, int] = {}
        for _, report in self.layers:
            for name, count in report.operations.items():
                total[name] = total.get(name, 0) + count
        return total


@dataclass
class DemoResult:
    """Everything the demo prints and reports."""

    backend: str
    parameters: dict[str, str]
    device: str
    kernels: str
    threads: int
    network: str
    weights: int
    train_seconds: float
    total_seconds: float
    images: Array
    labels: Labels
    plain_scores: Array
    single: Exchange
    batch: Exchange
    client_pid: int
    server_pid: int
    folder: Path

    @property
    def plain(self) -> Labels:
        return np.asarray(self.plain_scores.argmax(axis=1), dtype=np.int64)

    @property
    def encrypted(self) -> Labels:
        return np.asarray(self.batch.scores.argmax(axis=1), dtype=np.int64)

    @property
    def disagreements(self) -> int:
        """Images on which the encrypted prediction differs from the plain one, the single image included."""
        single = int(self.single.scores.argmax()) != int(self.plain[0])
        return int((self.plain != self.encrypted).sum()) + int(single)

    @property
    def plain_accuracy(self) -> float:
        return float((self.plain == self.labels).mean())

    @property
    def encrypted_accuracy(self) -> float:
        return float((self.encrypted == self.labels).mean())

    @property
    def precision(self) -> ckks.Precision:
        """Of the batch's scores, against the network in the clear."""
        return ckks.precision(self.plain_scores, self.batch.scores)

    @property
    def amortised(self) -> float:
        """Seconds per image of the batch, from pixels to scores."""
        return self.batch.latency / len(self.images)


def time_rows(e: Exchange) -> dict[str, float]:
    """Where the time of an exchange went, evaluation layer by layer."""
    rows = {k: v for k, v in e.seconds.items() if k != "evaluate"}
    names: dict[str, float] = {}
    for index, (name, report) in enumerate(e.layers):
        names[f"evaluate {index + 1}: {name}"] = report.seconds
    order = ["make keys", "send keys", "read keys", "encode model", "encrypt"]
    out = {k: rows.pop(k) for k in order if k in rows}
    decrypting = rows.pop("decrypt", 0.0)
    return {**out, **rows, **names, "decrypt": decrypting}
