# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The data of Figures 1, 3, 8, 9 and 10 as tables."""

from __future__ import annotations

from collections.abc import Mapping

from ringforge.hw.machines.matvec.published import LAYERS, U200
from ringforge.lab.tables import Cell, Table, Value

from .cycles import Primitive
from .figures import (
    FIGURE_WORKLOAD,
    figure1,
    figure3,
    figure8,
    figure9,
    figure10,
    geometric_mean,
)
from .latency import Fold, LayerLatency
from .parameters import (
    CONFIGS,
    GB,
    GIB,
    MIB,
    PAPER_GEOMEAN_SPEEDUP_64_THREADS,
    PAPER_MAX_SPEEDUP_1_THREAD,
    PAPER_MAX_SPEEDUP_64_THREADS,
    SETS,
    layer,
)
from .sram import allocate, allocate_best, default_fusion
from .traffic import Entity, Workload, dram_costs

_PAPER_INPUT_SHARE = 4
"""Percent of the reads that the paper's introduction gives to the input vector."""
_PAPER_SRAM_MB = 6
"""The paper's words: close to 6 MB of SRAM minimise the reads."""


def _fits(row: LayerLatency) -> str:
    """Whether the layer's keys, matrix and input fit the card."""
    return "yes" if row.fits_card else "NO"


def figure1_table() -> Table:
    """Figure 1: DRAM reads by entity."""
    costs, shares = dram_costs(FIGURE_WORKLOAD), figure1()
    rows: list[tuple[Cell, ...]] = [
        (
            entity.value,
            Value(costs[entity] / GIB, "GiB", "model"),
            Value(100 * shares[entity], "%", "model"),
            Value(_PAPER_INPUT_SHARE, "%", "paper") if entity is Entity.INPUT else None,
        )
        for entity in Entity
    ]
    rows.append(
        (
            "total",
            Value(sum(costs.values()) / GIB, "GiB", "model"),
            Value(100.0, "%", "model"),
            None,
        )
    )
    return Table(
        "Figure 1: DRAM reads of a 1024 x 1024 product, Set-B, nothing on chip",
        ("entity", "reads (Eqs 7-12)", "share", "paper"),
        tuple(rows),
    )


def figure3_table() -> Table:
    """Figure 3: reads and minimal SRAM as entities move on chip."""
    steps = figure3()
    rows: list[tuple[Cell, ...]] = [
        (
            step.label,
            Value(step.traffic_bytes / GIB, "GiB", "model"),
            Value(step.sram_bytes / MIB, "MiB", "model"),
            Value(_PAPER_SRAM_MB, "MB", "paper") if step is steps[-1] else None,
        )
        for step in steps
    ]
    return Table(
        "Figure 3: reuse of data entities, 1024 x 1024, Set-B",
        ("kept on chip", "DRAM reads left", "minimal SRAM", "paper ('close to')"),
        tuple(rows),
        ("The paper's axis says MB for the reads; its equations give this many GiB.",),
    )


def allocation_table() -> Table:
    """What the greedy allocator does with a PE group's scratchpads."""
    rows: list[tuple[Cell, ...]] = []
    for name, parameters in SETS.items():
        config = CONFIGS[name]
        workload = Workload.of(layer("rnnt-lstm"), parameters)
        fusion = default_fusion(workload, config.pes_per_group)
        strict = allocate(workload, config.group_sram_bytes, fusion)
        best = allocate_best(workload, config.group_sram_bytes, fusion)
        for label, result in (("fusion first", strict), ("least traffic", best)):
            kept = ", ".join(entity.value for entity in result.kept) or "nothing"
            rows.append(
                (
                    f"Set-{name}",
                    label,
                    kept,
                    Value(result.used_bytes / MIB, "MiB", "model"),
                    Value(result.capacity_bytes / MIB, "MiB", "derived"),
                    Value(result.traffic_bytes / GIB, "GiB", "model"),
                )
            )
    return Table(
        "SRAM allocator on one PE group, rnnt-lstm",
        ("set", "rule", "entities on chip", "used", "capacity", "reads left"),
        tuple(rows),
        ("Set-C does not fit: two limbs per PE and polynomials twice as long as in Set-B.",),
    )


def figure8_tables(measured: Mapping[str, float]) -> list[Table]:
    """Figure 8: latency per layer under Set-B, its bounds, and the paper's ratios."""
    rows = figure8(measured)
    times: list[tuple[Cell, ...]] = []
    forms: list[tuple[Cell, ...]] = []
    for row in rows:
        cpu = None if row.cpu_seconds is None else Value(row.cpu_seconds, "s", "measured")
        ratio = None if row.speedup is None else Value(row.speedup, "x", "derived")
        times.append(
            (
                row.layer.name,
                Value(row.once.compute_seconds, "s", "model"),
                Value(row.once.dram_seconds, "s", "model"),
                Value(row.once.key_stream_seconds, "s", "model"),
                Value(row.once.seconds, "s", "model"),
                row.once.bound,
                Value(row.per_partial_sum.seconds, "s", "model"),
                cpu,
                ratio,
            )
        )
        forms.append(
            (
                row.layer.name,
                Value(row.once.key_volume_bytes / GB, "GB", "model"),
                Value(row.once.card_bytes / GB, "GB", "model"),
                _fits(row.once),
                Value(row.horner.key_volume_bytes / GB, "GB", "model"),
                Value(row.horner.card_bytes / GB, "GB", "model"),
                Value(row.horner.seconds, "s", "model"),
                Value(row.horner.key_stream_seconds, "s", "model"),
                Value(row.horner_one_key.seconds, "s", "model"),
            )
        )
    known = [row.speedup for row in rows if row.speedup is not None]
    claims: list[tuple[Cell, ...]] = [
        (
            "largest over 64 threads",
            Value(PAPER_MAX_SPEEDUP_64_THREADS, "x", "paper"),
            None,
        ),
        (
            "geometric mean over 64 threads",
            Value(PAPER_GEOMEAN_SPEEDUP_64_THREADS, "x", "paper"),
            None,
        ),
        (
            "largest over 1 thread",
            Value(PAPER_MAX_SPEEDUP_1_THREAD, "x", "paper"),
            Value(max(known), "x", "derived") if known else None,
        ),
        (
            "geometric mean over 1 thread",
            None,
            Value(geometric_mean(known), "x", "derived") if known else None,
        ),
    ]
    return [
        Table(
            "Figure 8: latency per layer, Set-B",
            (
                "layer",
                "compute",
                "all reads",
                "keys alone",
                "latency",
                "bound by",
                "fold per sum",
                "CPU",
                "CPU / latency",
            ),
            tuple(times),
            (
                "Rotate-and-sum runs once per output; 'fold per sum' runs it in every partial sum.",
                "The paper's absolute times are not available, only the ratios below.",
                "Time ignores that a layer may not fit the card (next table).",
            ),
        ),
        Table(
            "Key volume under Set-B, and the Horner form",
            (
                "layer",
                "keys",
                "keys + matrix + input",
                f"fits {U200.dram_bytes // GB} GB",
                "Horner keys",
                "Horner on card",
                "Horner latency",
                "Horner keys alone",
                "one-key latency",
            ),
            tuple(forms),
            (
                "Horner: one chain per PE group, keys for the steps g and 1, and fold keys.",
                "One key: a single chain (plus fold keys), so all but one PE group idle.",
            ),
        ),
        Table(
            "Speed-ups over the CPU, Set-B",
            ("claim", "paper (TenSEAL)", "measured CPU over model"),
            tuple(claims),
            ("The last column compares runs on one thread, at the set's highest level, with the modelled design.",),
        ),
    ]


def figure9_table() -> Table:
    """Figure 9: compute cycles by primitive, Set-B."""
    rows: list[tuple[Cell, ...]] = []
    for fold, label in ((Fold.ONCE, "once"), (Fold.PER_PARTIAL_SUM, "per sum")):
        for name, shares in figure9(fold).items():
            values = [Value(100 * shares[p], "%", "model") for p in Primitive]
            rows.append((name, label, *values))
    return Table(
        "Figure 9: execution time by primitive, Set-B",
        ("layer", "fold", *(p.value for p in Primitive)),
        tuple(rows),
        ("The rescale inside the key switch counts as key switch.",),
    )


def figure10_table() -> Table:
    """Figure 10: latency per layer over the parameter sets."""
    sets = figure10()
    rows: list[tuple[Cell, ...]] = []
    for i, entry in enumerate(LAYERS):
        cells: list[Cell] = [entry.name]
        for name in SETS:
            row = sets[name][i]
            cells += [
                Value(row.seconds, "s", "model"),
                Value(row.card_bytes / GB, "GB", "model"),
                _fits(row),
            ]
        rows.append(tuple(cells))
    headings = tuple(heading for name in SETS for heading in (f"Set-{name}", f"{name}: on card", f"{name}: fits"))
    return Table(
        "Figure 10: latency over parameter sets",
        ("layer", *headings),
        tuple(rows),
        ("Set-A at 200 MHz on its own design; Set-B and Set-C at 180 MHz on the other.",),
    )


def figure_tables(measured: Mapping[str, float]) -> list[Table]:
    """All figure data in the paper's order."""
    return [
        figure1_table(),
        figure3_table(),
        allocation_table(),
        *figure8_tables(measured),
        figure9_table(),
        figure10_table(),
    ]
