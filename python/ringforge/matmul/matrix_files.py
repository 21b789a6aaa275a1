# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Matrices of a session as bytes: a label that says shapes and places, then the ciphertexts (docs/formats.md).

Matrices of a program are parcels, which name their program (:mod:`ringforge.matmul.roles`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import Ciphertext
from ringforge.bundles import MAX_LABEL, MAX_OUTSIDE, MatrixLabel, parsed_label
from ringforge.bytes_form import File, reading, records, write
from ringforge.errors import FormatError, LevelError, MismatchError, ParameterError, ScaleError
from ringforge.files import naming
from ringforge.matmul.layout import Layout
from ringforge.matmul.machine import MIXED, Grid, Tile
from ringforge.matmul.matrix import EncryptedMatrix
from ringforge.matmul.steps import Step


def save(path: File, session: Any, matrix: EncryptedMatrix) -> int:
    """Write a matrix to a file's name or to an open binary file; return the number of bytes.

    Args:
        session: the machine whose matrix it is (:mod:`ringforge.matmul.session`), as below.
    """
    context = session.context
    tiles = [t for row in matrix.tiles for t in row]
    text = _label_of(matrix, tiles).model_dump_json().encode()
    if len(text) > MAX_LABEL:
        raise ParameterError("the ciphertexts of this matrix lie in too many ways: save the matrices it is made of")
    head = _native.io.seal(_native.io.LABEL, context.params.hash, text)
    ciphertexts = (_native.io.to_bytes(context, session.here(t.value)) for t in tiles)
    return write(path, itertools.chain([head], ciphertexts))


def _label_of(matrix: EncryptedMatrix, tiles: list[Tile]) -> MatrixLabel:
    """Return what the bytes say of a matrix.

    Tiles lie alike, as operations treat all of a matrix alike; where their other slots differ, nothing is said of them.
    """
    outside = {t.outside for t in tiles}
    other = outside.pop() if len(outside) == 1 else MIXED
    places = [(x.rows, x.cols, x.row_stride, x.col_stride) for x in (t.layout for t in tiles)]
    return MatrixLabel(
        shape=matrix.shape,
        sides=(matrix.rows, matrix.cols),
        places=places[:1] if len(set(places)) == 1 else places,
        outside=other if len(other) <= MAX_OUTSIDE else MIXED,
    )


def load(path: File, session: Any) -> EncryptedMatrix:
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
    tiles = [Tile(c, Layout(*p), label.outside) for c, p in zip(found, places, strict=False)]
    grid: Grid = [tiles[i : i + cols] for i in range(0, len(tiles), cols)]
    return EncryptedMatrix(session, grid, *label.sides, len(label.shape), Step("input", detail="read"))


def _label(given: Iterator[tuple[Any, bytes]], session: Any, name: str) -> MatrixLabel:
    info, record = next(given, (None, b""))
    if info is None or info.code != _native.io.LABEL:
        raise FormatError(f"{name} does not begin with the label of a matrix: take what to_bytes or save gave")
    with naming(name):
        label = parsed_label(record)
    if not isinstance(label, MatrixLabel):
        raise FormatError(
            f"{name} is no matrix of a session but {label.title} of a program: Parcel.load and from_bytes read it"
        )
    if info.parameter_hash != session.context.params.hash:
        raise MismatchError(
            f"this matrix is of other parameters than {session.params.name or 'those of the session'}: read it in the "
            "session that encrypted it, or in one with its parameters and key"
        )
    _check(label, session, name)
    return label


def _check(label: MatrixLabel, session: Any, name: str) -> None:
    layouts = [Layout(*p) for p in label.places]
    first = layouts[0]
    fits = label.sides == (*label.shape, 1, 1)[:2] and label.outside.isprintable()
    for x in set(layouts):
        fits = fits and (x.rows, x.cols) == (first.rows, first.cols)
        # The number of entries first: a list of slots takes memory.
        fits = fits and x.rows * x.cols <= session.slots and x.extent <= session.slots
        fits = fits and len(np.unique(x.index())) == x.rows * x.cols
    if not fits:
        raise FormatError(f"{name} says shapes and places that do not fit together: copy it again")


def _ciphertexts(given: Iterator[tuple[Any, bytes]], session: Any) -> Iterator[Ciphertext]:
    return (_native.io.ciphertext_from_bytes(record, session.context) for _, record in given)


def _checked(c: Ciphertext, session: Any) -> Ciphertext:
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
