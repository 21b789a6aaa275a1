# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random arrays in the containers and dtypes that users have them in."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

Array = npt.NDArray[Any]

#: Kinds of entries; those in REFUSED hold no real numbers.
NUMBERS = ("f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "?", "longdouble", "object", "decimal", "fraction")
REFUSED = ("complex", "text", "bytes", "timedelta", "datetime", "none", "nan", "inf")

ORDERS = ("C", "F", "reversed", "strided", "readonly")

#: Containers of vectors and matrices.
FLAT = ("array", "list", "tuple", "Series", "pl.Series", "masked", "masked-none", "pa.array")
SQUARE = ("array", "list", "tuple", "DataFrame", "pl.DataFrame", "pa.Table", "csr", "coo", "csr_array", "masked",
          "masked-none", "np.matrix")  # fmt: skip


def numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Entries of a kind, of size at most 1 for fractions and 3 for whole numbers."""
    a = rng.uniform(-1, 1, shape)
    if kind in ("f8", "f4", "f2"):
        return a.astype(kind)
    if kind == "longdouble":
        return a.astype(np.longdouble)
    if kind in ("i8", "i4", "i1"):
        return rng.integers(-3, 4, shape).astype(kind)
    if kind in ("u1", "u8"):
        return rng.integers(0, 4, shape).astype(kind)
    if kind == "?":
        return a > 0
    if kind == "complex":
        return a + 1j * a
    made: dict[str, Any] = {
        "object": float, "decimal": lambda x: Decimal(repr(float(x))), "fraction": lambda x: Fraction(int(x * 64), 64),
        "text": lambda x: f"{x:.3f}", "bytes": lambda x: f"{x:.3f}".encode(),
    }  # fmt: skip
    if kind in made:
        flat = [made[kind](x) for x in a.ravel()]
        if kind in ("text", "bytes"):
            return np.array(flat).reshape(shape) if flat else np.empty(shape, "U1")
        out = np.empty(len(flat), object)
        out[:] = flat
        return out.reshape(shape)
    if kind in ("timedelta", "datetime"):
        return (a * 1000).astype("i8").astype("m8[s]" if kind == "timedelta" else "M8[s]")
    if a.size:
        b = a.astype(object) if kind == "none" else a
        b.reshape(-1)[int(rng.integers(a.size))] = {"none": None, "nan": np.nan, "inf": np.inf}[kind]
        return b
    return a


def ordered(a: Array, order: str) -> Array:
    """The same entries in another layout of memory."""
    if order == "F":
        return np.asfortranarray(a)
    if order == "reversed":
        return a[::-1].copy()[::-1]
    if order == "strided" and a.ndim:
        room = np.empty((*a.shape[:-1], a.shape[-1] * 2), a.dtype)
        room[..., ::2] = a
        return room[..., ::2]
    if order == "readonly":
        b = a.copy()
        b.flags.writeable = False
        return b
    return a


def contained(a: Array, container: str, rng: np.random.Generator) -> Any:
    """An array of 1 or 2 axes in a container; raises what the container does with entries that it does not take."""
    names = [f"c{i}" for i in range(a.shape[-1])] if a.ndim == 2 else []
    columns = lambda: {n: a[:, i] for i, n in enumerate(names)}  # noqa: E731
    if container == "list":
        return a.tolist()
    if container == "tuple":
        return tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist())
    if container == "Series":
        return pd.Series(a, index=rng.permutation(len(a)))
    if container == "DataFrame":
        return pd.DataFrame(columns()) if rng.random() < 0.5 else pd.DataFrame(a)
    if container == "pl.Series":
        return pl.Series(a.tolist())
    if container == "pl.DataFrame":
        return pl.DataFrame({n: c.tolist() for n, c in columns().items()})
    if container == "pa.Table":
        return pa.table({n: c.tolist() for n, c in columns().items()})
    if container == "pa.array":
        return pa.array(a.tolist())
    if container in ("csr", "coo", "csr_array"):
        return {"csr": sp.csr_matrix, "coo": sp.coo_matrix, "csr_array": sp.csr_array}[container](a)
    if container == "np.matrix":
        return np.asmatrix(a)
    if container in ("masked", "masked-none"):
        mask = np.zeros(a.shape, bool)
        if container == "masked" and a.size:
            mask.reshape(-1)[int(rng.integers(a.size))] = True
        return np.ma.MaskedArray(a, mask)
    return a
