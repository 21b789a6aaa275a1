# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Numbers from users, real ones and nothing that becomes real by losing a part; and residues modulo one prime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import frames
from ringforge.errors import Error, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

#: Coefficients modulo one prime: words of 32 bits below 2^31, else of 64.
Residues = npt.NDArray[np.unsignedinteger[Any]]


#: Kinds of numpy's arrays in words.
_KINDS = {"U": "text", "S": "bytes", "M": "dates", "m": "durations"}


def real_numbers(values: Any, what: str) -> npt.NDArray[np.float64]:
    """Return an array of doubles from arrays, nested lists, data frames, columns, sparse matrices.

    Args:
        values: also data frames of pandas, polars and pyarrow (`ringforge.frames`), whose columns stay in their order.
        what: a plural that errors begin with: "features".

    Raises:
        ringforge.ValueError: complex numbers, text, dates, durations, masked or missing entries, objects that are no
        real numbers, rows of unequal length. Of data frames the message names the column.
    """
    a = _array(values, what)
    if a.dtype.kind not in "fiub":
        kind = _KINDS.get(a.dtype.kind, f"{a.dtype} entries")
        remedy = ": take real and imaginary parts apart" if a.dtype.kind == "c" else ""
        raise RingforgeValueError(f"{what} are {kind}; real numbers are needed{remedy}")
    return a.astype(np.float64)


def rows_in_order(values: Any, wanted: Sequence[str] | None, what: str) -> npt.NDArray[np.float64]:
    """Return rows of doubles (k, n), one row for a vector, with named columns put in the wanted order.

    Where no names are wanted, or the values have none (`frames.column_names`), columns are taken as they come.

    Raises:
        MismatchError: columns are missing, unexpected or there twice. ringforge.ValueError: as `real_numbers`.
    """
    names = frames.column_names(values)
    place = None if names is None or wanted is None else frames.order(names, wanted)
    rows = np.atleast_2d(real_numbers(values, what))
    return rows if place is None else rows[..., place]


def complex_numbers(values: Any, what: str) -> npt.NDArray[np.complex128]:
    """Return an array of complex doubles; arguments and errors as of `real_numbers`, which takes no complex ones."""
    a = _array(values, what)
    if a.dtype.kind not in "fiubc":
        kind = _KINDS.get(a.dtype.kind, f"{a.dtype} entries")
        raise RingforgeValueError(f"{what} are {kind}; real or complex numbers are needed")
    return a.astype(np.complex128)


def whole_numbers(values: Any, what: str, needed: str = "integers") -> npt.NDArray[Any]:
    """Return an array of integers or truth values of any width, from arrays, nested lists, columns.

    Messages begin with `what`, a plural, and say what is `needed`. Integers beyond 64 bits come as an array of objects;
    without entries the type is uint8.

    Raises:
        ringforge.ValueError: numbers with a fraction's type, text, bytes, dates, masked or missing entries, rows of
        unequal length.
    """
    refuse_masked(values, what)
    try:
        a = np.asarray(values)
    except Error:
        raise
    except (ValueError, TypeError):
        raise RingforgeValueError(
            f"{what} are no array of integers: give rows of one length, of integers only"
        ) from None
    if not a.size:
        return a.astype(np.uint8)
    if a.dtype.kind == "O" and all(isinstance(v, int | np.integer) for v in a.flat):
        narrow = min(a.flat) >= -(1 << 63) and max(a.flat) < 1 << 63
        return a.astype(np.int64) if narrow else a
    if a.dtype.kind not in "iub":
        kind = _KINDS.get(a.dtype.kind, f"{a.dtype} entries")
        missing = int(np.isnan(a).sum()) if a.dtype.kind == "f" else 0
        if missing:
            raise RingforgeValueError(f"{what} have {missing} missing among {a.size}: fill them in, or leave them away")
        remedy = ": round or scale them to integers first (numpy.rint(x).astype(int))" if a.dtype.kind == "f" else ""
        raise RingforgeValueError(f"{what} are {kind}; {needed} are needed{remedy}")
    return a


def octets(values: Any) -> Any:
    """Return bytes, bytearrays and memoryviews of bytes as an array of them; anything else as it is."""
    return np.frombuffer(values, np.uint8) if isinstance(values, bytes | bytearray | memoryview) else values


def _array(values: Any, what: str) -> npt.NDArray[Any]:
    """Values as an array of any type but objects."""
    found = frames.table_numbers(values, what)
    if found is not None:
        return found
    refuse_masked(values, what)
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        values = values.toarray()
    try:
        a = np.asarray(values)
    except Error:
        raise
    except (ValueError, TypeError):
        raise RingforgeValueError(f"{what} are no array of numbers: give rows of one length, of numbers only") from None
    return frames.object_numbers(a, what) if a.dtype.kind == "O" else a


def refuse_masked(values: Any, what: str) -> None:
    """Refuse masked arrays, alone or in lists, with masked entries: under the mask stands what nobody meant to give.

    Raises:
        ringforge.ValueError: there are masked entries; the message counts them.
    """
    masked = _masked(values)
    if masked:
        entries = "entry" if masked == 1 else "entries"
        raise RingforgeValueError(
            f"{what} have {masked} masked {entries}: give them values with .filled(...), or leave them away with "
            ".compressed()"
        )


def _masked(values: Any) -> int:
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    if isinstance(values, list | tuple):
        return sum(_masked(v) for v in values if isinstance(v, np.ma.MaskedArray | list | tuple))
    return 0


def aligned(shape: tuple[int, ...], modulus: int) -> Residues:
    """Room for polynomials modulo a prime, at the alignment and in the words that kernels over one prime take: 32 bits
    below 2^31, else 64."""
    dtype = np.dtype(np.uint32 if modulus < 1 << 31 else np.uint64)
    room = np.empty(int(np.prod(shape)) * dtype.itemsize + 63, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : len(room) - 63 + first].view(dtype).reshape(shape)


def aligned_copy(values: npt.ArrayLike, shape: tuple[int, ...], modulus: int) -> Residues:
    """Polynomials modulo a prime, copied to `aligned` room.

    Raises:
        ShapeError: another shape or type of words, or a coefficient that is not below the modulus.
    """
    out, source = aligned(shape, modulus), np.asarray(values)
    if source.shape != shape or source.dtype != out.dtype or (source.size and int(source.max()) >= modulus):
        raise ShapeError(
            f"ciphertexts of shape {source.shape}, {source.dtype}; {shape}, {out.dtype}, below {modulus} are needed"
        )
    out[:] = source
    return out
