# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Data frames, columns, masked and sparse arrays as doubles: as numpy and the packages say, or refused by name."""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pytest

from ringforge import frames
from ringforge.arrays import complex_numbers, real_numbers, rows_in_order
from ringforge.errors import MismatchError
from ringforge.errors import ValueError as RingforgeValueError

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")
sparse: Any = pytest.importorskip("scipy.sparse")

D = decimal.Decimal
WANTED = np.array([[1.5, 1.0], [2.0, 0.0]])


class Stream:
    """A table of a package that nobody knows, with Arrow's stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table({"a": [1.5, 2.0], "b": [1, 0]}).__arrow_c_stream__(requested_schema)


class Interchange:
    """A table of a package that nobody knows, with the interchange protocol."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return pa.table({"a": [1.5, 2.0], "b": [1, 0]}).__dataframe__(nan_as_null, allow_copy)


def _pandas(**columns: Any) -> Any:
    return pd.DataFrame(columns)


TAKEN: dict[str, Any] = {
    "boolean beside floats": lambda: _pandas(a=[1.5, 2], b=[True, False]),
    "nullable": lambda: _pandas(a=[1.5, 2], b=[True, False]).convert_dtypes(),
    "nullable integers": lambda: _pandas(a=[1.5, 2], b=pd.array([1, 0], dtype="Int64")),
    "arrow in pandas": lambda: _pandas(a=[1.5, 2], b=[True, False]).convert_dtypes(dtype_backend="pyarrow"),
    "decimals in pandas": lambda: _pandas(a=[D("1.5"), D(2)], b=[1, 0]),
    "arrow decimals in pandas": lambda: _pandas(
        a=pd.array([D("1.5"), D("2.0")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), b=[1, 0]
    ),
    "objects that are numbers": lambda: _pandas(a=[1.5, fractions.Fraction(2)], b=[True, np.int8(0)]).astype(object),
    "small floats": lambda: _pandas(a=np.array([1.5, 2], np.float16), b=np.array([1, 0], np.uint8)),
    "columns of one name": lambda: pd.DataFrame([[1.5, 1], [2, 0]], columns=["a", "a"]),
    "integer names": lambda: pd.DataFrame([[1.5, 1], [2, 0]]),
    "names of two parts": lambda: pd.DataFrame(
        [[1.5, 1], [2, 0]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    ),
    "sparse columns": lambda: _pandas(a=pd.arrays.SparseArray([1.5, 2.0]), b=pd.arrays.SparseArray([1, 0])),
    "every second row": lambda: _pandas(a=[1.5, 9, 2, 9], b=[1, 9, 0, 9]).iloc[::2],
    "polars": lambda: pl.DataFrame({"a": [1.5, 2], "b": [True, False]}),
    "polars decimals": lambda: pl.DataFrame({"a": [D("1.5"), D(2)], "b": [1, 0]}),
    "polars 128 bits": lambda: pl.DataFrame({"a": [1.5, 2], "b": pl.Series([1, 0], dtype=pl.Int128)}),
    "pyarrow": lambda: pa.table({"a": [1.5, 2], "b": [True, False]}),
    "pyarrow in chunks": lambda: pa.concat_tables([pa.table({"a": [1.5], "b": [1]}), pa.table({"a": [2.0], "b": [0]})]),
    "pyarrow decimals": lambda: pa.table({"a": pa.array([D("1.5"), D("2.0")]), "b": pa.array([1, 0], pa.uint16())}),
    "pyarrow batch": lambda: pa.RecordBatch.from_pydict({"a": [1.5, 2], "b": [True, False]}),
    "Arrow's stream": Stream,
    "the interchange protocol": Interchange,
    "scipy sparse": lambda: sparse.csr_array([[1.5, 1], [2, 0]]),
    "lists": lambda: [[1.5, True], [D(2), fractions.Fraction(0)]],
    "lists of columns": lambda: [pd.Series([1.5, 1]), pl.Series([2.0, 0.0])],
    "no entry masked": lambda: np.ma.masked_array(WANTED, mask=False),
    "objects": lambda: WANTED.astype(object),
    "by columns": lambda: np.asfortranarray(WANTED),
    "long doubles": lambda: WANTED.astype(np.longdouble),
    "rows with names": lambda: frames.Named(("a", "b"), WANTED),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_numbers_of_every_container(name: str) -> None:
    got = real_numbers(TAKEN[name](), "features")
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, WANTED)
    np.testing.assert_array_equal(complex_numbers(TAKEN[name](), "entries"), WANTED)


@pytest.mark.parametrize(
    "column",
    [
        lambda: pd.Series([1, 2], dtype="Int64"),
        lambda: pd.Series([1, 2], dtype="int8[pyarrow]"),
        lambda: pl.Series([1, 2]),
        lambda: pa.array([1, 2]),
        lambda: pa.chunked_array([[1], [2]]),
        lambda: pd.array([1, 2], dtype="Int64"),
        lambda: pd.Index([1, 2]),
    ],
)
def test_single_columns_are_vectors(column: Any) -> None:
    np.testing.assert_array_equal(real_numbers(column(), "entries"), [1.0, 2.0])


#: What is refused, and words of the message. Nothing of a cell may be in it.
REFUSED: dict[str, tuple[Any, list[str]]] = {
    "boolean NA": (lambda: _pandas(a=[1.5, 2], b=pd.array([True, None], dtype="boolean")), ['"b"', "1 missing", "2"]),
    "integer NA": (lambda: _pandas(b=pd.array([7, None, None], dtype="Int64")), ['"b"', "2 missing values among 3"]),
    "arrow NA": (lambda: _pandas(b=pd.array([7, None], dtype="int64[pyarrow]")), ['"b"', "1 missing"]),
    "NaN": (lambda: _pandas(b=[7, float("nan")]), ['"b"', "1 missing"]),
    "infinity": (lambda: _pandas(b=[7, float("inf")]), ['"b"', "infinity"]),
    "text": (lambda: _pandas(a=[1.5], b=["77"]), ['"b"', "entries"]),
    "text among numbers": (lambda: _pandas(b=[7, "77"]).astype(object), ['"b"', "str"]),
    "arrow text": (lambda: _pandas(b=pd.array(["77"], dtype="string[pyarrow]")), ['"b"']),
    "categories": (lambda: _pandas(b=pd.Categorical([77, 78])), ['"b"', "category"]),
    "dates": (lambda: _pandas(b=pd.to_datetime(["1977-01-01"])), ['"b"', "datetime64"]),
    "zoned dates": (lambda: _pandas(b=pd.to_datetime(["1977-01-01"]).tz_localize("UTC")), ['"b"', "datetime64"]),
    "durations": (lambda: _pandas(b=pd.to_timedelta([77], unit="s")), ['"b"', "timedelta64"]),
    "periods": (lambda: _pandas(b=pd.period_range("1977", periods=1)), ['"b"', "Period"]),
    "complex": (lambda: _pandas(b=[77j]), ['"b"', "complex"]),
    "integer name": (lambda: pd.DataFrame({0: [1.5], 1: ["77"]}), ["column 2 (named 1)"]),
    "polars null": (lambda: pl.DataFrame({"b": [77, None]}), ['"b"', "1 missing value among 2"]),
    "polars text": (lambda: pl.DataFrame({"b": ["77"]}), ['"b"', "String"]),
    "polars dates": (lambda: pl.DataFrame({"b": [datetime.date(1977, 1, 1)]}), ['"b"', "Date"]),
    "polars durations": (lambda: pl.DataFrame({"b": [datetime.timedelta(77)]}), ['"b"', "Duration"]),
    "polars lists": (lambda: pl.DataFrame({"b": [[77]]}), ['"b"', "List"]),
    "polars categories": (lambda: pl.DataFrame({"b": ["77"]}, schema={"b": pl.Categorical}), ['"b"', "Categorical"]),
    "polars, not collected": (lambda: pl.LazyFrame({"b": [77]}), ["collect()"]),
    "pyarrow text": (lambda: pa.table({"b": ["77"]}), ['"b"', "string"]),
    "pyarrow null": (lambda: pa.table({"b": [77, None]}), ['"b"', "1 missing"]),
    "pyarrow nothing": (lambda: pa.table({"b": pa.nulls(3)}), ['"b"', "3 missing"]),
    "pyarrow dictionary": (lambda: pa.table({"b": pa.array(["77"]).dictionary_encode()}), ['"b"', "dictionary"]),
    "pyarrow durations": (lambda: pa.table({"b": pa.array([77], pa.duration("s"))}), ['"b"', "duration"]),
    "masked": (lambda: np.ma.masked_array([1, 77], mask=[0, 1]), ["1 masked entry", "filled"]),
    "masked in a list": (lambda: [np.ma.masked_array([1, 77], mask=[1, 1]), [1, 2]], ["2 masked entries"]),
    "a masked constant": (lambda: [1.0, np.ma.masked], ["1 masked"]),
    "durations of numpy": (lambda: np.array([77], "m8[s]"), ["durations"]),
    "dates of numpy": (lambda: np.array([77], "M8[s]"), ["dates"]),
    "texts of numpy": (lambda: np.array(["77"]), ["text"]),
    "bytes of numpy": (lambda: np.array([b"77"]), ["bytes"]),
    "durations as objects": (lambda: np.array([np.timedelta64(77, "s")], object), ["timedelta64"]),
    "durations of Python": (lambda: [datetime.timedelta(77)], ["timedelta"]),
    "None": (lambda: [77, None], ["1 missing value among 2"]),
    "pandas.NA": (lambda: [77, pd.NA], ["1 missing"]),
    "a dictionary": (lambda: {"b": [77]}, ["dict"]),
    "a set": (lambda: {77}, ["set"]),
    "a generator": (lambda: (i for i in [77]), ["generator"]),
    "rows of other lengths": (lambda: [[77], [77, 1]], ["rows of one length"]),
    "records": (lambda: np.zeros(2, [("b", "f8")]), ["real"]),
    "a number too large": (lambda: [10**400], ["beyond what a double holds"]),
    "decimal that signals": (lambda: [D("sNaN")], ["beyond what a double holds"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("convert", [real_numbers, complex_numbers])
def test_refusals_name_the_column_and_no_value(name: str, convert: Any) -> None:
    make, words = REFUSED[name]
    with pytest.raises(RingforgeValueError) as caught:
        convert(make(), "features")
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))
    assert "77" not in str(caught.value)


def test_complex_numbers_are_taken_where_they_may_be() -> None:
    with pytest.raises(RingforgeValueError, match="real and imaginary parts"):
        real_numbers([1j], "features")
    np.testing.assert_array_equal(complex_numbers([1j], "entries"), [1j])


def test_an_empty_frame_keeps_its_shape() -> None:
    assert real_numbers(pd.DataFrame({"a": []}), "features").shape == (0, 1)
    assert real_numbers(pd.DataFrame(index=range(3)), "features").shape == (3, 0)


# ---- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (lambda: pd.DataFrame([[1, 2]], columns=["x", "y"]), ("x", "y")),
        (lambda: pd.DataFrame([[1, 2]]), None),
        (lambda: pd.Series([1, 2], index=["x", "y"]), ("x", "y")),
        (lambda: pd.Series([1, 2]), None),
        (lambda: pl.DataFrame({"x": [1], "y": [2]}), ("x", "y")),
        (lambda: pa.table({"x": [1], "y": [2]}), ("x", "y")),
        (Stream, ("a", "b")),
        (Interchange, ("a", "b")),
        (lambda: np.zeros((1, 2)), None),
        (lambda: [[1, 2]], None),
    ],
)
def test_names_are_texts(values: Any, names: tuple[str, ...] | None) -> None:
    assert frames.column_names(values()) == names


def test_any_order_is_put_right() -> None:
    rng = np.random.default_rng(5)
    for width in range(1, 12):
        names = [f"x{i}" for i in range(width)]
        table = pd.DataFrame(rng.normal(size=(4, width)), columns=names)
        other = [names[i] for i in rng.permutation(width)]
        for made in (table[other], pl.from_pandas(table[other]), pa.Table.from_pandas(table[other])):
            np.testing.assert_array_equal(rows_in_order(made, names, "features"), table.to_numpy())
        np.testing.assert_array_equal(rows_in_order(table.iloc[2][other], names, "features"), table.to_numpy()[2:3])


@pytest.mark.parametrize(
    ("given", "wanted", "words"),
    [
        (["a"], ["a", "b"], ['lacks "b"', '"a", "b"']),
        (["a", "b", "c"], ["a", "b"], ['has "c", which the model does not know']),
        (["A", "b"], ["a", "b"], ['lacks "a"', 'has "A"']),
        (["a", "b", "b"], ["a", "b"], ['has "b" more than once']),
        (["a", 1], ["a", "b"], ['lacks "b"', "has 1"]),
        (["b", "a", "a"], ["a", "a", "b"], ['"a" more than once']),
        ([f"n{i}" for i in range(30)], [f"m{i}" for i in range(30)], ["and 22 more"]),
    ],
)
def test_other_columns_are_refused_by_name(given: list[Any], wanted: list[str], words: list[str]) -> None:
    with pytest.raises(MismatchError) as caught:
        frames.order(given, wanted)
    for word in words:
        assert word in str(caught.value)


def test_names_of_which_two_are_one_keep_their_order() -> None:
    assert frames.order(["a", "a", "b"], ["a", "a", "b"]) == [0, 1, 2]
