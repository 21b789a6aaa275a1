# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Columns of data frames: their names, their order, and their numbers as doubles.

Data frames are those of pandas and polars, tables and record batches of pyarrow, and whatever else gives an Arrow
stream or the data frame interchange protocol. None of these packages is imported before one of its objects comes in.
Messages name columns and count rows; what stands in a cell may be secret.
"""

from __future__ import annotations

import decimal
import numbers
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import MismatchError, NamesWarning
from ringforge.errors import ValueError as RingforgeValueError

Array = npt.NDArray[np.float64]

#: Names that a message lists before it only counts the others.
_LISTED = 8


@dataclass(frozen=True)
class Named:
    """Rows of numbers whose columns have names, as a file with a header gives them.

    Attributes:
        names: of the columns; None where there are none.
        rows: (rows, columns).
    """

    names: tuple[str, ...] | None
    rows: Array

    def __len__(self) -> int:
        return len(self.rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.rows, dtype=dtype, copy=copy)


# ---- names -----------------------------------------------------------------------------------------


def column_names(values: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns of a data frame, or of the entries of a pandas Series (one row by its index).

    As with scikit-learn, names are texts: where none of them is one, as for the numbers that pandas counts columns
    with, there are no names. None for anything else.
    """
    if isinstance(values, Named):
        return values.names
    opened = _opened(values)
    if opened is not None:
        names: tuple[Any, ...] = opened.names
    elif _is(values, "pandas", "Series"):
        names = tuple(values.index)
    else:
        return None
    return names if any(isinstance(n, str) for n in names) else None


def warn_of_position(data: bool, model: bool) -> None:
    """Warn that columns are taken in the order in which they come, where only the data or only the model has names."""
    if data != model:
        have, lacks = ("the data", "the model") if data else ("the model", "the data")
        warnings.warn(
            f"{have} has names of features and {lacks} has none, so that columns are taken in the order in which they "
            "come: fit the model and predict with data frames to have them put in order",
            NamesWarning,
            stacklevel=4,
        )


def order(given: Sequence[Any], wanted: Sequence[str], what: str = "the data") -> list[int]:
    """Return for each wanted column the index at which it is given.

    Args:
        given: names as they come. wanted: names in the order that is needed.
        what: the given columns in messages.

    Raises:
        MismatchError: a column is missing, unexpected or there twice; the message names it.
    """
    if list(given) == list(wanted):
        return list(range(len(wanted)))
    at = {name: i for i, name in enumerate(given)}
    missing = [n for n in wanted if n not in at]
    unexpected = [n for n in at if n not in set(wanted)]
    twice = [n for n in at if list(given).count(n) > 1] if len(at) < len(given) else []
    wrong = [
        *([f"lacks {_listed(missing)}"] if missing else []),
        *([f"has {_listed(unexpected)}, which the model does not know"] if unexpected else []),
        *([f"has {_listed(twice)} more than once"] if twice else []),
    ]
    if not wrong and len(set(wanted)) < len(wanted):
        wrong = ["has columns in another order, and of the model's some have one name, so that nobody can tell them"]
    if wrong:
        raise MismatchError(
            f"{what} {'; it '.join(wrong)}: give the columns that the model was fitted with, in any order, each once: "
            f"{_listed(wanted)}"
        )
    return [at[n] for n in wanted]


def _listed(names: Sequence[Any]) -> str:
    some = ", ".join(_quoted(n) for n in names[:_LISTED])
    return some if len(names) <= _LISTED else f"{some} and {len(names) - _LISTED} more"


def _quoted(name: Any) -> str:
    return f'"{name[:40]}"' if isinstance(name, str) else repr(name)[:40]


# ---- numbers ---------------------------------------------------------------------------------------


def table_numbers(values: Any, what: str) -> Array | None:
    """Return a data frame as doubles (rows, columns), a column (Series, Arrow array) as (rows,); None for others.

    Booleans become 0 and 1, decimals the double next to them.

    Raises:
        ringforge.ValueError: a column of texts, categories, dates or other entries that are no real numbers, or with
        missing values or infinity; the message names it, and counts rows.
    """
    if isinstance(values, Named):
        return values.rows.astype(np.float64)
    opened = _opened(values)
    if opened is None:
        convert = _converter(values)
        return None if convert is None else _column(convert, values, f"{what}: this column")
    found = [
        _column(opened.convert, column, f"{what}: column {_place(name, i)}")
        for i, (name, column) in enumerate(zip(opened.names, opened.columns, strict=True))
    ]
    return np.column_stack(found) if found else np.empty((opened.rows, 0))


def object_numbers(entries: npt.NDArray[Any], what: str) -> Array:
    """Return an array of Python objects as doubles: booleans, integers, floats, fractions, decimals.

    Raises:
        ringforge.ValueError: others, or missing ones.
    """
    return _column(_objects, entries, f"{what}: this array").reshape(entries.shape)


def _place(name: Any, index: int) -> str:
    return _quoted(name) if isinstance(name, str) else f"{index + 1} (named {_quoted(name)})"


class _ColumnError(Exception):
    """Says what is wrong with a column, and what to do."""


def _column(convert: Callable[[Any], npt.NDArray[Any]], column: Any, named: str) -> Array:
    try:
        raw = convert(column)
        if raw.dtype.kind == "O":
            raw = _objects(raw)
        if raw.dtype.kind not in "fiub":
            raise _no_numbers(raw.dtype)
        found = raw.astype(np.float64)
        _check_missing(int(np.isnan(found).sum()), found.size)
        if not np.isfinite(found).all():
            raise _ColumnError("holds infinity, or numbers beyond what a double holds: finite numbers are needed")
    except _ColumnError as e:
        raise RingforgeValueError(f"{named} {e}") from None
    return found


def _check_missing(missing: int, rows: int) -> None:
    if missing:
        values = "value" if missing == 1 else "values"
        raise _ColumnError(f"has {missing} missing {values} among {rows}: fill them in, or leave these rows away")


def _no_numbers(kind: Any) -> _ColumnError:
    return _ColumnError(f"holds {kind} entries; real numbers are needed: encode it as numbers, or leave it away")


def _objects(entries: npt.NDArray[Any]) -> Array:
    """Python objects as doubles, flat."""
    flat = entries.reshape(-1).tolist()
    _check_missing(sum(_is_missing(v) for v in flat), len(flat))
    for v in flat:
        if not isinstance(v, numbers.Real | decimal.Decimal | np.bool_) or isinstance(v, np.timedelta64):
            raise _no_numbers(type(v).__name__)
    try:
        return np.array([float(v) for v in flat], dtype=np.float64)
    except (OverflowError, ValueError):  # integers of thousands of digits, signalling NaN
        raise _ColumnError("holds numbers beyond what a double holds: scale them down") from None


def _is_missing(v: Any) -> bool:
    return v is None or type(v).__name__ in ("NAType", "NaTType") or (isinstance(v, float) and v != v)


# ---- packages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    """Names and columns of a table, and what makes an array of numbers of one."""

    names: tuple[Any, ...]
    columns: list[Any]
    rows: int
    convert: Callable[[Any], npt.NDArray[Any]]


def _is(values: Any, package: str, *kinds: str) -> bool:
    """Whether an object is one of a package's, which is then imported already."""
    module = sys.modules.get(package)
    return module is not None and isinstance(values, tuple(getattr(module, k) for k in kinds if hasattr(module, k)))


def _opened(values: Any) -> _Columns | None:
    """A table's columns; None for anything else.

    Raises:
        ringforge.ValueError: a table that cannot be read, or is none yet.
    """
    if isinstance(values, np.ndarray | list | tuple):
        return None
    if _is(values, "pandas", "DataFrame"):
        columns = [values.iloc[:, i] for i in range(values.shape[1])]
        return _Columns(tuple(values.columns), columns, len(values), _from_pandas)
    if _is(values, "polars", "DataFrame"):
        return _Columns(tuple(values.columns), values.get_columns(), values.height, _from_polars)
    if _is(values, "polars", "LazyFrame"):
        raise RingforgeValueError("a LazyFrame holds no rows yet: give what its collect() returns")
    if _is(values, "pyarrow", "Table", "RecordBatch"):
        return _Columns(tuple(values.schema.names), list(values.columns), values.num_rows, _from_arrow)
    if _converter(values) is not None or isinstance(values, type):
        return None
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__dataframe__"):
        return _opened(_as_arrow(values))
    return None


def _converter(values: Any) -> Callable[[Any], npt.NDArray[Any]] | None:
    """What makes an array of a single column; None for what is none."""
    if _is(values, "pandas", "Series"):
        return _from_pandas
    if _is(values, "polars", "Series"):
        return _from_polars
    return _from_arrow if _is(values, "pyarrow", "Array", "ChunkedArray") else None


def _as_arrow(values: Any) -> Any:
    """Another package's table as one of pyarrow."""
    try:
        import pyarrow
        from pyarrow import interchange

        stream = hasattr(values, "__arrow_c_stream__")
        return pyarrow.table(values) if stream else interchange.from_dataframe(values)
    except Exception:  # pyarrow may be missing; the other package raises what it likes
        raise RingforgeValueError(
            f"this table, of type {type(values).__module__}.{type(values).__name__}, cannot be read: give a data frame "
            "of pandas or polars, or a table of pyarrow"
        ) from None


def _from_pandas(column: Any) -> npt.NDArray[Any]:
    kind = column.dtype
    if isinstance(kind, np.dtype):
        return np.asarray(column.to_numpy())
    if getattr(kind, "kind", "") not in tuple("fiubO") or type(kind).__name__ == "CategoricalDtype":
        raise _no_numbers(kind)
    _check_missing(int(column.isna().sum()), len(column))
    return np.asarray(column.to_numpy(dtype=object if kind.kind == "O" else np.float64))


def _from_polars(column: Any) -> npt.NDArray[Any]:
    kind = column.dtype
    _check_missing(column.null_count(), len(column))
    if not kind.is_numeric() and str(kind) != "Boolean":
        raise _no_numbers(kind)
    if kind.is_decimal() or "128" in str(kind):  # numpy has neither
        return np.array(column.to_list(), dtype=object)
    return np.asarray(column.to_numpy())


def _from_arrow(column: Any) -> npt.NDArray[Any]:
    from pyarrow import types

    kind = column.type
    _check_missing(column.null_count, len(column))
    if types.is_decimal(kind):
        return np.array(column.to_pylist(), dtype=object)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise _no_numbers(kind)
    return np.asarray(column)
