# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of all parties: written whole or not at all, secrets readable by their owner only."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from ringforge.errors import Error, FormatError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

Array = npt.NDArray[np.float64]


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Puts the file's name before the message of an error of ours that arises while it is read."""
    try:
        yield
    except Error as e:
        raise type(e)(f"{Path(path).name}: {e}") from None


@contextlib.contextmanager
def new_file(path: str | Path, *, secret: bool = False) -> Iterator[Path]:
    """A temporary file beside `path`; it takes the name `path` only when the block ends without an error.

    With `secret`, the file can be read by its owner only.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "exists and is no ordinary file", str(path))
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        if not secret:
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: str | Path, *, secret: bool = False) -> Iterator[IO[bytes]]:
    """Like `new_file`, as an open binary file."""
    with new_file(path, secret=secret) as temporary, temporary.open("wb") as f:
        yield f


def load_vectors(path: str | Path) -> Array:
    """Vectors as rows, from .npy (of one or two dimensions) or .csv (numbers separated by commas).

    Raises:
        FormatError: neither, or damaged. ShapeError: empty, or of more dimensions. ringforge.ValueError:
        complex numbers or text.
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            raw = np.load(path, mmap_mode="r", allow_pickle=False)
        elif path.suffix == ".csv":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # an empty file is refused below
                raw = np.loadtxt(path, delimiter=",", ndmin=2)
        else:
            raise FormatError(f"{path.name}: numbers are read from .npy and .csv files")
    except (ValueError, EOFError, TypeError) as e:
        raise FormatError(f"{path.name} holds no array of numbers: {e}") from None
    if raw.dtype.kind not in "fiub":
        raise RingforgeValueError(f"{path.name} holds {raw.dtype} entries; real numbers are needed")
    if raw.ndim not in (1, 2) or raw.size == 0:
        raise ShapeError(f"{path.name} holds an array of shape {raw.shape}; (n,) or (vectors, n) is needed")
    return np.atleast_2d(np.array(raw, dtype=np.float64))


def save_vectors(path: str | Path, rows: Array) -> None:
    """Writes rows as .npy, or as .csv with 17 digits, which lose nothing."""
    check_vectors_name(path)
    with writing(path) as f:
        if Path(path).suffix == ".npy":
            np.save(f, rows, allow_pickle=False)
        else:
            np.savetxt(f, rows, fmt="%.17g", delimiter=",")


def check_vectors_name(path: str | Path) -> None:
    """Refuses names that `save_vectors` cannot write, before any work is done.

    Raises:
        FormatError: the name ends neither in .npy nor in .csv.
    """
    if Path(path).suffix not in {".npy", ".csv"}:
        raise FormatError(f"{Path(path).name}: numbers are written to .npy and .csv files")
