# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files of matvec hold, for `ringforge info`: programs, models, vectors of the clear backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from ringforge import params
from ringforge.cli.console import properties, size_text
from ringforge.matvec.model import Linear
from ringforge.matvec.model_files import load_model
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.program import Program


def program(path: Path) -> Iterator[RenderableType]:
    """A program: plan, parameters, keys, promised error.

    Raises:
        FormatError: it is damaged. OSError: it cannot be read.
    """
    loaded = Program.load(path)
    yield loaded.summary()
    yield properties("parameters", params.describe_used(loaded.context.params))
    relin = "" if loaded.relin_level is None else ", one relinearisation key"
    yield (
        f"backend {loaded.backend}; vectors of {loaded.inputs} numbers, size at most "
        f"{loaded.input_bound:g}, give {loaded.outputs}; needs {len(loaded.key_levels)} Galois keys{relin}"
    )
    if loaded.error_bound is not None:
        yield f"predicted error of results: at most {loaded.error_bound:.3g}"
    if loaded.promises:
        yield "bounds of linear layers are promised: inputs unlike those it was planned for give garbage"
    if loaded.leaves_intervals:
        yield "inputs may leave the interval of an approximation: predicted errors do not count that"
    yield f"digest {loaded.digest[:16]}, which files of its ciphertexts name"


def clear_vectors(path: Path) -> Iterator[RenderableType]:
    """Vectors of the clear backend."""
    yield f"{escape(path.name)}: file of the clear backend, NOT ENCRYPTED, {size_text(path.stat().st_size)}"


def model(path: Path) -> Iterator[RenderableType]:
    """A model's layers.

    Raises:
        FormatError, UnsupportedModelError: as `load_model`. OSError: it cannot be read.
    """
    loaded = load_model(path)
    table = Table(title=f"{escape(path.name)}: model, {loaded.inputs} → {loaded.outputs}", title_justify="left")
    for label in ("layer", "kind", "shape", "bias", "largest entry"):
        table.add_column(label)
    for i, layer in enumerate(loaded.layers):
        if isinstance(layer, Linear):
            largest = f"{abs(layer.weights).max():.4g}"
            table.add_row(str(i), "linear", f"{layer.rows} x {layer.cols}", "yes" if layer.bias.size else "no", largest)
        elif isinstance(layer, Polynomial):
            where = "" if layer.interval is None else f", {layer.interval[0]:g} ... {layer.interval[1]:g}"
            largest = f"{abs(layer.series).max():.4g}"
            table.add_row(str(i), "polynomial", f"degree {layer.degree}{where}", "", largest)
        else:
            table.add_row(str(i), "square", "", "", "")
    yield table
