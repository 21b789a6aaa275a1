# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random private intersections of columns: the same identifiers in two containers, joined as text would be by hand."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from ringforge import psi
from ringforge.psi.cells import Wanted
from ringforge.psi.data import matched, read_for
from tests.calls.outcome import Call

_KINDS = ("whole", "whole", "gaps", "text", "zeros", "dates", "times")
_CONTAINERS = ("pandas", "polars", "pyarrow", "csv", "parquet", "nullable", "arrow dtypes")


def _text(value: Any) -> str | None:
    """An identifier as a person writes it."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return value.isoformat() if value.time() != datetime.time() else value.date().isoformat()
    return str(value)


def _values(kind: str, numbers: list[int]) -> list[Any]:
    day = datetime.datetime(1990, 1, 31)
    made: dict[str, Any] = {
        "whole": int, "gaps": int, "text": lambda n: f"id {n}", "zeros": lambda n: f"{n:05d}",
        "dates": lambda n: day + datetime.timedelta(days=n),
        "times": lambda n: day + datetime.timedelta(seconds=7 * n + 1),
    }  # fmt: skip
    return [made[kind](n) for n in numbers] + [None] * (kind == "gaps")


def _contained(values: list[Any], container: str, folder: Path) -> Any:
    name, more = "e", list(range(len(values)))
    if container == "polars":
        return pl.DataFrame({"k": more, name: values})
    if container == "pyarrow":
        return pa.table({"k": more, name: values})
    frame = pd.DataFrame({"k": more, name: values})
    if container == "nullable":
        return frame.convert_dtypes()
    if container == "arrow dtypes":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    if container == "csv":
        frame.to_csv(folder / f"{len(values)}.csv", index=False)
        return str(folder / f"{len(values)}.csv")
    if container == "parquet":
        frame.to_parquet(folder / f"{len(values)}.parquet")
        return str(folder / f"{len(values)}.parquet")
    return frame


class Rows:
    """Draws intersections of two small tables."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def _pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def draw(self) -> Call:
        kind, theirs, mine = self._pick(_KINDS), self._pick(_CONTAINERS), self._pick(_CONTAINERS)
        first = _values(kind, [int(n) for n in self.rng.permutation(40)[:12]])
        second = _values(kind, [int(n) for n in self.rng.permutation(40)[:13]])

        def ours() -> Any:
            with tempfile.TemporaryDirectory() as d:
                folder = Path(d)
                table = _contained(first, theirs, folder)
                server = psi.Server(psi.build_table(folder / "t", table, column="e", client_size=100))
                rows = read_for(server.info, _contained(second, mine, folder), Wanted(("e",)))
                client = psi.Client(server.info, rows.elements)
                client.finish_prf(server.evaluate_prf(client.blinded()))
                session = server.open(client.keys())
                while (request := client.next_request()) is not None:
                    client.accept(server.answer(session, request))
                found = matched(rows, client.result(), server.info).rows
                column = [r["k"] for r in found] if isinstance(found, list) else [*found["k"]]
                return sorted(int(str(k)) for k in column)

        def plain() -> Any:
            known = {_text(v) for v in first if v is not None}
            return sorted(i for i, v in enumerate(second) if v is not None and _text(v) in known)

        return Call(f"{kind}: {theirs} asked from {mine}", ours, plain)
