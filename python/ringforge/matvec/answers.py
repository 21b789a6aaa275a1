# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of encrypted inference print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ringforge.cli.output import Number, Result


class LayerAccuracy(Result):
    """Accuracy after one layer; the first entry is the encryption itself."""

    name: str
    """What it is."""
    level: int
    """Of its results."""
    log_scale: float
    """log2 of their scale."""
    bound: float
    """Largest size that the program counts on."""
    largest: float
    """Largest |value| of the samples, in the clear."""
    predicted: float
    """Largest error after this layer, by the program (probability of more: 2^-40)."""
    measured: float
    """Largest |decrypted - plain| of the samples, all layers so far counted."""
    lost: Number
    """Bits by which the measured error grew in this layer, relative to the largest value; null if it is none."""


class Explained(Result):
    """Where accuracy is lost."""

    system: Literal["matvec"]
    samples: int
    """How many were evaluated."""
    parameters: str
    """Name of the set."""
    layers: list[LayerAccuracy]
    warnings: list[str] | None = None
    """What is to be known of these errors; missing if it is nothing."""


class LayerRun(Result):
    """What one layer took."""

    layer: str
    seconds: float
    """By the clock of the device that computed it."""
    cycles: int | None = None
    """Of clocked devices alone."""
    clock_hz: float | None = None
    """Of clocked devices alone."""
    operations: Mapping[str, int]
    """Counts by name."""
    bytes: Mapping[str, int]
    """Memory traffic by what moved."""


class Evaluated(Result):
    """What an evaluation took: all of it, and layer by layer."""

    system: Literal["matvec"]
    backend: str
    params: str
    """Name of the set."""
    device: str
    threads: int
    groups: int
    """Batches of vectors."""
    batch: int
    """Vectors of a full group."""
    encode_seconds: float
    """Of encoding the model, beforehand."""
    seconds: float
    """By the clock of the device."""
    cycles: int | None = None
    """Of clocked devices alone."""
    clock_hz: float | None = None
    """Of clocked devices alone."""
    operations: Mapping[str, int]
    """Counts by name."""
    bytes: Mapping[str, int]
    """Memory traffic by what moved."""
    layers: list[LayerRun]
    warnings: list[str] | None = None
    """What the program says against its results; missing if it is nothing."""


class OperatorRow(Result):
    """Operators of ONNX that are treated alike."""

    taken: bool
    """Whether they are read."""
    names: list[str]
    """The operators."""
    what: str
    """What becomes of them, or why they are refused."""


class Operators(Result):
    """All operators of ONNX that are known, taken or not. Some are taken in several ways."""

    system: Literal["matvec"]
    rows: list[OperatorRow]


class EstimatorTaken(Result):
    """One estimator of scikit-learn."""

    name: str
    """Its class."""
    made: str
    """How it was made, with the options that matter."""
    taken: bool
    """Whether from_sklearn takes it; if so, its results were those of scikit-learn."""
    becomes: str
    """The kind and the layers of what it becomes; empty where it is refused."""
    reason: str
    """Why it is refused; empty where it is taken."""


class Estimators(Result):
    """All estimators that scikit-learn lists."""

    system: Literal["matvec"]
    release: str
    """Of scikit-learn."""
    rows: list[EstimatorTaken]
    """A row for each way in which an estimator was made."""
