# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Draw Figures 1, 3, 8, 9 and 10 with matplotlib (optional dependency)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ringforge.files import writing
from ringforge.hw.machines.matvec.published import LAYERS

from .cycles import Primitive
from .errors import MissingDependencyError, PaperModelError
from .figures import figure1, figure3, figure8, figure9, figure10
from .parameters import GIB, MIB
from .traffic import Entity

Format = Literal["svg", "png"]


def _pyplot_figure(width: float, height: float) -> tuple[Any, Any]:
    """A new figure and its axes, made without any global matplotlib state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("drawing figures needs the package matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _stack(axes: Any, labels: Sequence[str], parts: Mapping[str, Sequence[float]]) -> None:
    """Stacked bars: one bar per label, one segment per part."""
    base = [0.0] * len(labels)
    for name, heights in parts.items():
        axes.bar(labels, heights, bottom=base, label=name)
        base = [low + high for low, high in zip(base, heights, strict=True)]


def draw_figure1() -> Any:
    """Figure 1: shares of the DRAM reads for a 1024 x 1024 product."""
    figure, axes = _pyplot_figure(6.5, 4)
    shares = figure1()
    axes.barh([e.value for e in shares], [100 * share for share in shares.values()])
    axes.invert_yaxis()
    axes.set_xlabel("share of DRAM reads (%)")
    axes.set_title("Figure 1: DRAM reads without on-chip storage (equations)")
    return figure


def draw_figure3() -> Any:
    """Figure 3: remaining DRAM reads and minimal SRAM."""
    figure, axes = _pyplot_figure(9, 4.5)
    steps = figure3()
    labels = [step.label.replace(" factors", "").replace(" ciphertext", "") for step in steps]
    parts = {e.value: [step.costs[e] / GIB for step in steps] for e in Entity}
    _stack(axes, labels, parts)
    axes.set_ylabel("DRAM reads (GiB)")
    axes.tick_params(axis="x", labelrotation=15)
    right = axes.twinx()
    right.plot(labels, [step.sram_bytes / MIB for step in steps], "k-o", label="minimal SRAM")
    right.set_ylabel("minimal SRAM (MiB)")
    right.set_ylim(bottom=0)
    figure.legend(loc="outside right upper", fontsize="small")
    axes.set_title("Figure 3: reuse of data entities (equations)")
    return figure


def draw_figure8(measured: Mapping[str, float] | None = None) -> Any:
    """Figure 8: modelled latency per layer under Set-B, with measured CPU times."""
    figure, axes = _pyplot_figure(9, 4.5)
    rows = figure8(measured)
    series: dict[str, list[float]] = {
        "model, fold once": [row.once.seconds for row in rows],
        "model, fold per partial sum": [row.per_partial_sum.seconds for row in rows],
        "model, Horner": [row.horner.seconds for row in rows],
        "key stream minimum": [row.once.key_stream_seconds for row in rows],
    }
    if any(row.cpu_seconds is not None for row in rows):
        series["measured CPU"] = [row.cpu_seconds or float("nan") for row in rows]
    width = 0.8 / len(series)
    for i, (label, heights) in enumerate(series.items()):
        offset = (i - (len(series) - 1) / 2) * width
        axes.bar([j + offset for j in range(len(rows))], heights, width=width, label=label)
    axes.set_xticks(range(len(rows)), [row.layer.name for row in rows])
    axes.set_yscale("log")
    axes.set_ylabel("latency (s)")
    axes.legend(fontsize="small")
    axes.set_title("Figure 8: latency per layer, Set-B")
    return figure


def draw_figure9() -> Any:
    """Figure 9: compute cycles by primitive under Set-B."""
    figure, axes = _pyplot_figure(9, 4.5)
    shares = figure9()
    parts = {p.value: [100 * row[p] for row in shares.values()] for p in Primitive}
    _stack(axes, list(shares), parts)
    axes.set_ylabel("share of cycles (%)")
    figure.legend(loc="outside right upper", fontsize="small")
    axes.set_title("Figure 9: execution time by primitive, Set-B (model)")
    return figure


def draw_figure10() -> Any:
    """Figure 10: modelled latency per layer for the three parameter sets."""
    figure, axes = _pyplot_figure(9, 4.5)
    sets = figure10()
    width = 0.8 / len(sets)
    for i, (name, rows) in enumerate(sets.items()):
        offset = (i - (len(sets) - 1) / 2) * width
        places = [j + offset for j in range(len(rows))]
        bars = axes.bar(places, [r.seconds for r in rows], width=width, color=f"C{i}")
        axes.bar([0], [0], color=f"C{i}", label=f"Set-{name}")
        for bar, row in zip(bars, rows, strict=True):
            if not row.fits_card:
                bar.set_hatch("//")
    axes.set_xticks(range(len(LAYERS)), [entry.name for entry in LAYERS])
    axes.set_yscale("log")
    axes.set_ylabel("latency (s); hatched: data exceed the card")
    axes.legend(fontsize="small")
    axes.set_title("Figure 10: latency over parameter sets (model)")
    return figure


def write_plots(
    directory: str | Path,
    *,
    measured: Mapping[str, float] | None = None,
    formats: Sequence[Format] = ("svg", "png"),
) -> list[Path]:
    """Write all five figures into ``directory`` and return the files written.

    Args:
        directory: created if missing.
        measured: CPU seconds per layer name, drawn into Figure 8.
        formats: ``"svg"``, ``"png"`` or both.

    Raises:
        MissingDependencyError: if matplotlib is not installed.
    """
    unknown = sorted(set(formats) - {"svg", "png"})
    if unknown or not formats:
        raise PaperModelError(f"formats {unknown or 'empty'} not supported; use 'svg' or 'png'")
    figures = {
        "figure1": draw_figure1(),
        "figure3": draw_figure3(),
        "figure8": draw_figure8(measured),
        "figure9": draw_figure9(),
        "figure10": draw_figure10(),
    }
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, figure in figures.items():
        for suffix in formats:
            path = folder / f"{name}.{suffix}"
            with writing(path) as f:
                figure.savefig(f, format=suffix, dpi=150)
            written.append(path)
    return written
