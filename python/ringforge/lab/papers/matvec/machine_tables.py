# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables about our machine beside the matrix-vector paper's: from saved results of RTL and of its replica.

`ringforge hw cycles`, `validate` and `layers` write the results; what was not run is left out, with a note.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ringforge.hw.machines.matvec import compile_matvec
from ringforge.hw.machines.matvec.published import LAYERS, TABLE_VI
from ringforge.hw.machines.matvec.validation import Case
from ringforge.lab.tables import Cell, Table, Value

_ROWS, _COLS = 32, 64
_ENTITIES = ("keys", "matrix", "twiddles", "input", "partial sums")
_RESOURCES = {"dsp": "DSP", "bram36": "BRAM", "uram": "URAM", "lut": "LUT", "flip_flops": "FF"}
_PRIMITIVES = ("multiply", "rescale", "automorphism", "key switch", "reduction", "control")


def tables(results: Path) -> list[Table]:
    """Traffic with the compiler's passes on and off, and all tables that the results in a folder allow."""
    if not results.is_dir():
        return [_passes()]
    cycles = _records(results, "hw-*-cycles-*.jsonl")
    runs = _records(results, "hw-matvec-*-diagonal-*.jsonl") + _records(results, "hw-matvec-*-bsgs-*.jsonl")
    validation = _records(results, "hw-validation-*.jsonl")
    layers = _records(results, "hw-layers-*.jsonl")
    made = [
        _resources(results),
        _passes(),
        _primitives(r for r in cycles if r["algorithm"] == "primitive"),
        _rotations(r for r in cycles if r["algorithm"] == "rotation"),
        _runs(runs),
        _validation(validation),
        _latencies(layers),
        _breakdown(layers),
    ]
    return [t for t in made if t is not None and t.rows]


def _records(folder: Path, pattern: str) -> list[dict[str, Any]]:
    """The newest records of each case in files like `pattern`, as plain dictionaries."""
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for path in sorted(folder.glob(pattern)):  # names end with the date
        for line in path.read_text(encoding="utf-8").splitlines():
            r = json.loads(line)
            newest[r["case"], r["params"], r["algorithm"], r["device"], r["level"]] = {**r, "file": path.name}
    return list(newest.values())


def _number(value: Any, unit: str, source: Any) -> Value:
    return Value(value, unit, source)


def _resources(results: Path) -> Table:
    """Table VII beside the newest synthesis of each machine."""
    newest = {}
    for path in sorted(results.glob("hw-matvec-*-synth-*.json")):  # names end with the date
        found = json.loads(path.read_text(encoding="utf-8"))
        newest[found["config"]["name"]] = found
    rows: list[tuple[Cell, ...]] = []
    for name, found in sorted(newest.items()):
        for kind, machine in found["machines"].items():
            cells: list[Cell] = [f"{name}, {kind}"]
            for what in _RESOURCES:
                cells += [_number(found["paper"][what], "", "paper"), _number(machine["total"][what], "", "derived")]
            rows.append(tuple(cells))
    return Table(
        "Our machine, Table VII: resources by Yosys",
        ("machine", *(h for what in _RESOURCES for h in (_RESOURCES[what], "ours"))),
        tuple(rows),
        ("Parts are synthesised alone and added up; LUTs and flip-flops come out too high (hw/README.md).",),
    )


def _passes() -> Table:
    """Traffic of one product with and without fusion and tiling, counted from the compiled programs."""
    rows: list[tuple[Cell, ...]] = []
    for fusion in (True, False):
        for tiling in (True, False):
            case = Case("matvec-b", "set-b", _ROWS, _COLS, "diagonal", fusion=fusion, tiling=tiling)
            compiled = compile_matvec(case.config, case.kernel(), has_bias=True, options=case.options)
            moved = {e: t.read + t.written for e, t in compiled.traffic.items()}
            rows.append(
                (
                    "on" if fusion else "off",
                    "on" if tiling else "off",
                    *(_number(moved[e] / 1e6, "MB", "model") for e in _ENTITIES),
                    _number(sum(moved.values()) / 1e6, "MB", "model"),
                )
            )
    return Table(
        f"Our machine: traffic of a {_ROWS} x {_COLS} product by the paper's schedule, Set-B",
        ("fusion", "tiling", *_ENTITIES, "all"),
        tuple(rows),
        (
            "Fusion: results of a primitive stay on chip for the next. Tiling: partial sums, inputs and twiddles stay",
            "on chip, and all groups work. Counted from the compiled programs; RTL moves the same bytes.",
        ),
    )


def _primitives(records: Iterable[Mapping[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for r in records:
        printed = TABLE_VI.get(r["case"]) if r["params"] == "set-b" and r["device"] == "rtl:matvec-b" else None
        rows.append(
            (
                r["case"],
                r["device"],
                r["params"],
                None if printed is None else _number(printed, "cycles", "paper"),
                _number(r["cycles"], "cycles", "rtl"),
            )
        )
    return Table(
        "Our machine, Table VI: cycles per residue polynomial",
        ("primitive", "machine", "set", "paper", "RTL"),
        tuple(rows),
        ("What one instruction adds to a program on one element, issue and pipeline included.",),
    )


def _rotations(records: Iterable[Mapping[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for r in records:
        count = int(r["case"].split()[0])
        clock = r["cycles"] / r["seconds"]
        rows.append(
            (
                r["case"],
                r["device"],
                f"{r['params']}, l = {r['level'] + 1}",
                _number(r["cycles"], "cycles", "rtl"),
                _number(clock * count / r["cycles"], "1/s", "rtl"),
                _number(clock / r["extra"]["bound"], "1/s", "model"),
                _number(100 * r["extra"]["utilisation"], "%", "derived"),
            )
        )
    return Table(
        "Our machine, Table V: rotations on one group",
        ("chain", "machine", "set", "cycles", "rate", "bound", "reached"),
        tuple(rows),
        (
            "Keys from modelled DRAM, automorphism, load of the input and store of the result included.",
            "Bound: every butterfly of the group busy in every cycle.",
        ),
    )


def _runs(records: Iterable[Mapping[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            r["case"],
            r["params"],
            r["algorithm"],
            _number(r["cycles"], "cycles", "rtl"),
            _number(1e3 * r["seconds"], "ms", "rtl"),
            _number(sum(r["extra"]["bytes"].values()) / 1e6, "MB", "rtl"),
            "yes" if r["extra"]["exact"] else "NO",
        )
        for r in sorted(records, key=lambda r: (r["case"], r["params"], r["cycles"]))
    ]
    return Table(
        "Our machine: layers computed in RTL and decrypted",
        ("layer", "set", "schedule", "cycles", "time", "traffic", "bits as CPU"),
        tuple(rows),
        ("`diagonal` is the paper's schedule, one key switch per row; `bsgs` baby-step giant-step with hoisting.",),
    )


def _validation(records: Iterable[Mapping[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    worst, errors = 0.0, []
    for r in sorted(records, key=lambda r: r["extra"]["case"]):
        extra = r["extra"]
        error, other = (100 * (extra[k] / r["cycles"] - 1) for k in ("replica", "closed_form"))
        worst = max(worst, abs(error))
        errors.append(abs(other))
        rows.append(
            (
                r["case"],
                r["device"].removeprefix("rtl:"),
                _number(r["cycles"], "cycles", "rtl"),
                _number(extra["replica"], "cycles", "derived"),
                _number(error, "%", "derived"),
                _number(extra["closed_form"], "cycles", "model"),
                _number(other, "%", "derived"),
                "equal" if extra["traffic_equal"] else "differs",
                "fitted" if extra["fitted"] else "",
            )
        )
    middle = statistics.median(errors) if errors else 0.0
    return Table(
        "Our machine: replica and closed form against RTL",
        ("case", "machine", "RTL", "replica", "its error", "closed form", "error", "traffic", ""),
        tuple(rows),
        (
            f"Largest error of the replica {worst:.3f} %; of the closed form {max(errors, default=0.0):.2f} %, "
            f"median {middle:.2f} %.",
        ),
    )


def _of_layers(records: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    return {(r["case"], r["params"], r["algorithm"]): r for r in records}


def _latencies(records: list[dict[str, Any]]) -> Table:
    found = _of_layers(records)
    sets = [s for s in ("set-a", "set-b", "set-c") if any(key[1] == s for key in found)]
    rows: list[tuple[Cell, ...]] = []
    for layer in LAYERS:
        for schedule in ("diagonal", "horner", "bsgs"):
            cells: list[Cell] = []
            for s in sets:
                r = found.get((layer.name, s, schedule))
                cells += [None, None] if r is None else [
                    _number(r["seconds"], "s", "model"),
                    "yes" if r["extra"]["fits"] else f"NO: {r['extra']['memory'] / 1e9:,.0f} GB",
                ]  # fmt: skip
            if any(c is not None for c in cells):
                rows.append((layer.name, schedule, *cells))
    headings = tuple(h for s in sets for h in (s, f"{s[-1].upper()}: fits"))
    return Table(
        "Our machine, Figure 10: latency of layers by the replica",
        ("layer", "schedule", *headings),
        tuple(rows),
        (
            "At the paper's clocks, inputs at full level. `diagonal` is the paper's schedule with a key for each row;",
            "where its keys exceed the card's 64 GiB, `horner` prices the same sum with one key.",
        ),
    )


def _breakdown(records: list[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for (name, params, schedule), r in _of_layers(records).items():
        if params != "set-b" or schedule == "horner":
            continue
        spent = r["extra"]["primitives"]
        total = sum(spent.values())
        rows.append((name, schedule, *(_number(100 * spent[p] / total, "%", "model") for p in _PRIMITIVES)))
    return Table(
        "Our machine, Figure 9: cycles of the elements by primitive, Set-B",
        ("layer", "schedule", *_PRIMITIVES),
        tuple(rows),
        ("The division by P counts as key switch; control is what sets up and waits for all.",),
    )
