# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where accuracy is lost: predicted and measured errors after each layer, on samples.

Whoever has the model does this before anyone's data is there: with a key of its own that is thrown away.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.arrays import rows_in_order
from ringforge.devices import Device
from ringforge.errors import IntervalWarning, ShapeError
from ringforge.matvec.compiler import step_names
from ringforge.matvec.intervals import rows_outside
from ringforge.matvec.model import Linear, Model, as_sequential
from ringforge.matvec.program import Program
from ringforge.matvec.roles import Client, EvaluationKeys, Server
from ringforge.parties import Progress
from ringforge.shown import ShownTable

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LayerAccuracy:
    """One layer.

    Attributes:
        name: what it is.
        level: of its results.
        log_scale: log2 of their scale.
        bound: largest size that the program counts on.
        largest: largest |value| of the samples, in the clear.
        predicted: largest error after this layer, by the program (probability of more: 2^-40).
        measured: largest |decrypted - plain| of the samples, all layers so far counted.
        lost: bits by which the measured error grew in this layer, relative to the largest value.
    """

    name: str
    level: int
    log_scale: float
    bound: float
    largest: float
    predicted: float
    measured: float
    lost: float


@dataclass(frozen=True)
class Accuracy:
    """All layers; the first entry is the encryption itself."""

    layers: tuple[LayerAccuracy, ...]
    samples: int
    parameters: str
    warnings: tuple[str, ...] = ()

    @property
    def worst(self) -> LayerAccuracy:
        """The layer that lost most."""
        return max(self.layers[1:], key=lambda layer: layer.lost)

    def table(self) -> ShownTable:
        """A row each layer."""
        table = ShownTable(title=f"accuracy layer by layer, {self.samples} samples, parameters {self.parameters}")
        for name in ("after", "level", "scale", "counted on", "largest", "predicted error", "measured", "bits lost"):
            table.add_column(name, justify="left" if name == "after" else "right")
        for layer in self.layers:
            table.add_row(
                layer.name,
                str(layer.level),
                f"2^{layer.log_scale:.1f}",
                f"{layer.bound:.4g}",
                f"{layer.largest:.4g}",
                f"{layer.predicted:.3g}",
                f"{layer.measured:.3g}",
                "" if layer is self.layers[0] else f"{layer.lost:.1f}",
            )
        return table

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "system": "matvec",
            "samples": self.samples,
            "parameters": self.parameters,
            "layers": [asdict(layer) for layer in self.layers],
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }


def measure_accuracy(
    model: Model,
    program: Program,
    samples: npt.ArrayLike,
    *,
    device: str | Device = "cpu",
    threads: int = 1,
    progress: Progress | None = None,
) -> Accuracy:
    """Encrypts samples, evaluates them, and decrypts after each layer, with a key made for it.

    Args:
        samples: inputs as rows; as many as one group takes are used (the program's batch). Rows that leave the
            interval of an approximation are warned of (`IntervalWarning`).

    Raises:
        as Client, Server and their methods; ShapeError: a program of version 1, which predicts nothing.
    """
    layers = as_sequential(model).layers
    if program.version == 1:
        raise ShapeError("a program of version 1 does not say what errors follow from: plan the model again")
    client = Client(program, accept_insecure="a key that is thrown away, for samples")
    keys: EvaluationKeys = client.evaluation_keys(threads)
    server = Server(model, program, keys, device=device, threads=threads)
    rows = rows_in_order(samples, program.features, "samples")[: program.batch]
    count, where = rows_outside(as_sequential(model), rows)
    told: tuple[str, ...] = ()
    if count:
        told = (
            f"{count} of {len(rows)} samples leave {where}, which is no approximation there: errors below are those of "
            "the polynomial. Take one for a wider interval",
        )
        warnings.warn(told[0], IntervalWarning, stacklevel=2)
    described = program.descriptions()
    group: Sequence[Any] = client.encrypt(rows, threads).groups[0]
    found: list[LayerAccuracy] = []
    plain, linear = rows, 0
    names = ["encryption", *step_names(program)]
    for i, (name, (known, level, error)) in enumerate(zip(names, described, strict=True)):
        if i:
            group = server.step(i - 1, group)
            plain = layers[i - 1](plain)
            linear += isinstance(layers[i - 1], Linear)
        got = client.reveal([server.device.download(v) for v in group], linear, threads)[: len(rows), : plain.shape[1]]
        largest, measured = float(np.abs(plain).max()), float(np.abs(got - plain).max())
        before = found[-1] if found else None
        found.append(
            LayerAccuracy(
                name,
                level,
                math.log2(known.scale),
                float(known.bound),
                largest,
                error,
                measured,
                0.0 if before is None else _bits(measured, largest) - _bits(before.measured, before.largest),
            )
        )
        if progress:
            progress(i / (len(names) - 1))
    return Accuracy(tuple(found), len(rows), program.parameters.name, told)


def _bits(error: float, largest: float) -> float:
    """log2 of an error relative to the largest value."""
    return math.log2(max(error, 2.0**-1000) / max(largest, 2.0**-1000))
