# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Matrices of a session as bytes: a label that says shapes and places, then the ciphertexts (docs/formats.md).

Matrices of a program are parcels, which name their program (:mod:`ringforge.matmul.roles`).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from ringforge import _native
from ringforge._native import Ciphertext
from ringforge.bytes_form import File, reading, records, write
from ringforge.errors import FormatError, LevelError, MismatchError, ScaleError
from ringforge.files import first_line
from ringforge.matmul.layout import Layout
from ringforge.matmul.machine import MIXED, Grid, Tile
from ringforge.matmul.matrix import EncryptedMatrix
from ringforge.matmul.steps import Step
from ringforge.programs import Frozen, first_problem

if TYPE_CHECKING:
    from ringforge.matmul.session import Computer, Session

Side = Annotated[int, Field(ge=1, le=1 << 18)]
Stride = Annotated[int, Field(ge=0, le=1 << 18)]


class Place(Frozen):
    """Where the entries of a ciphertext are, and what its other slots hold: as of `machine.Tile`."""

    rows: Side
    cols: Side
    row_stride: Stride
    col_stride: Stride
    outside: Annotated[str, Field(max_length=256)] = ""

    def layout(self) -> Layout:
        """As a layout."""
        return Layout(self.rows, self.cols, self.row_stride, self.col_stride)


class MatrixLabel(Frozen):
    """What the bytes of a matrix say of it.

    Args:
        shape: () for a number, (n,) or (m, n).
        sides: rows and columns, as it is kept: a vector is a column.
        places: of each ciphertext, row by row of the grid; one for all where they are the same.
    """

    format: Literal["ringforge-matmul-matrix"] = "ringforge-matmul-matrix"
    version: Literal[1] = 1
    shape: Annotated[tuple[Side, ...], Field(max_length=2)]
    sides: tuple[Side, Side]
    places: Annotated[list[Place], Field(min_length=1, max_length=1 << 16)]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the grid of ciphertexts."""
        first = self.places[0]
        return -(-self.sides[0] // first.rows), -(-self.sides[1] // first.cols)


def save(path: File, session: Computer, matrix: EncryptedMatrix) -> int:
    """Write a matrix to a file's name or to an open binary file; return the number of bytes."""
    context = session.context
    tiles = [t for row in matrix.tiles for t in row]
    places = [_place(t) for t in tiles]
    label = MatrixLabel(
        shape=matrix.shape, sides=(matrix.rows, matrix.cols), places=places[:1] if len(set(places)) == 1 else places
    )
    head = _native.io.seal(_native.io.LABEL, context.params.hash, label.model_dump_json(exclude_defaults=True).encode())
    ciphertexts = (_native.io.to_bytes(context, session.here(t.value)) for t in tiles)
    return write(path, itertools.chain([head], ciphertexts))


def _place(tile: Tile) -> Place:
    x, outside = tile.layout, tile.outside if len(tile.outside) <= 256 else MIXED
    return Place(rows=x.rows, cols=x.cols, row_stride=x.row_stride, col_stride=x.col_stride, outside=outside)


def load(path: File, session: Session) -> EncryptedMatrix:
    """Read what `save` wrote, for a session with the same parameters and key.

    Raises:
        FormatError: damaged, cut off, or something else. MismatchError: of other parameters or another key.
        LevelError, ScaleError: ciphertexts that no matrix of these parameters has.
    """
    with reading(path) as (f, name):
        given = records(f)
        label = _label(given, session, name)
        found = [session.kept(_checked(c, session)) for c in _ciphertexts(given, session)]
    rows, cols = label.grid
    if len(found) != rows * cols or len(label.places) not in (1, len(found)):
        raise FormatError(f"{name} has {len(found)} ciphertexts, where its label says {rows * cols}: it is incomplete")
    places = itertools.cycle(label.places) if len(label.places) == 1 else iter(label.places)
    tiles = [Tile(c, p.layout(), p.outside) for c, p in zip(found, places, strict=False)]
    grid: Grid = [tiles[i : i + cols] for i in range(0, len(tiles), cols)]
    return EncryptedMatrix(session, grid, *label.sides, len(label.shape), Step("input", detail="read"))


def _label(given: Iterator[tuple[Any, bytes]], session: Session, name: str) -> MatrixLabel:
    info, record = next(given, (None, b""))
    if info is None or info.code != _native.io.LABEL:
        raise FormatError(f"{name} does not begin with the label of a matrix: take what to_bytes or save gave")
    _, parameters, text = _native.io.unseal(record, _native.io.LABEL)
    try:
        label = MatrixLabel.model_validate(json.loads(text))
    except ValidationError as e:
        raise FormatError(f"{name} is no matrix of a session: {first_problem(e)}") from None
    except (ValueError, RecursionError) as e:
        raise FormatError(f"{name} is no matrix of a session: {first_line(e)}") from None
    if parameters != session.context.params.hash:
        raise MismatchError(
            f"this matrix is of other parameters than {session.params.name or 'those of the session'}: read it in the "
            "session that encrypted it, or in one with its parameters and key"
        )
    _check(label, session, name)
    return label


def _check(label: MatrixLabel, session: Session, name: str) -> None:
    shape, sides = label.shape, label.sides
    first = label.places[0]
    fits = sides == ((*shape, 1, 1)[:2]) and all((p.rows, p.cols) == (first.rows, first.cols) for p in label.places)
    for place in set(label.places):
        layout = place.layout()
        # The number of entries first: a list of slots takes memory.
        fits = fits and layout.rows * layout.cols <= session.slots and layout.extent <= session.slots
        fits = fits and len(np.unique(layout.index())) == layout.rows * layout.cols
        fits = fits and place.outside.isprintable()
    if not fits or math.prod(label.grid) > 1 << 16:
        raise FormatError(f"{name} says shapes and places that do not fit together: copy it again")


def _ciphertexts(given: Iterator[tuple[Any, bytes]], session: Session) -> Iterator[Ciphertext]:
    return (_native.io.ciphertext_from_bytes(record, session.context) for _, record in given)


def _checked(c: Ciphertext, session: Session) -> Ciphertext:
    """Hold a ciphertext against the session."""
    if c.key_id != session.key_id:
        raise MismatchError(
            "this matrix is encrypted under another key than the session's: read it in the session that encrypted it, "
            "or in one that was made with its key, Session(..., secret_key=path)"
        )
    if c.size != 2:
        raise LevelError(f"a ciphertext of a matrix has 2 parts, this one {c.size}")
    scale = 2.0**session.params.log_scale
    if abs(c.scale / scale - 1) > 2**-30:
        raise ScaleError(
            f"ciphertexts of a matrix have scale 2^{math.log2(scale):.2f}, this one has 2^{math.log2(c.scale):.2f}"
        )
    return c
