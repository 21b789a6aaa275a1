# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our machines beside the paper's: cycles in RTL where they are saved, else by the replica that RTL was held against.

`ringforge hw streams psi`, `hw validate psi` and `hw symmetric psi` save what is read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.psi import symmetric as synthesised
from ringforge.hw.machines.psi.closed_form import Timing
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.streams import SYSTEM, Stream, streams
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.lab.tables import Cell, Table, Value
from ringforge.runs import Record

from . import lookup_time, protocol, sizes, structures
from .figures import (
    CLOCK_HZ,
    FEWER_MULTIPLIERS,
    GATE_ROWS,
    LESS_TWIDDLES,
    PARTS,
    PRODUCT,
    PSI_DEGREE,
    PSI_DIGITS,
    PSI_LOG_MODULUS,
    PSI_ROWS,
    SAVED_BUFFERS,
    SAVED_LUTS,
    SOFTWARE_SHARE,
    SUBSTITUTION,
    GateRow,
    PsiRow,
)
from .tables import ALL

_LOG_N: Final = PSI_DEGREE.bit_length() - 1
_WIDE: Final = "psi-wide-54"


def _value(number: float, unit: str, source: str) -> Value:
    return Value(number, unit, source)  # type: ignore[arg-type]


def records(folder: Path) -> Iterator[Record]:
    """Saved records of these machines, newest file first."""
    files = folder.glob("hw-psi-*.jsonl")
    for path in sorted(files, key=lambda p: (p.stem[-10:], p.name), reverse=True):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield Record.from_json(line)
            except (TypeError, ValueError):
                continue


class Cycles:
    """Cycles of operations in full streams, from a folder of results or by the replica."""

    def __init__(self, folder: Path) -> None:
        self._found: dict[tuple[str, str], float] = {}
        self.wide: dict[str, dict[str, Any]] = {}
        for record in records(folder):
            machine = record.device.removeprefix("rtl:")
            if record.system == SYSTEM:
                self._found.setdefault((machine, str(record.extra["kind"])), float(record.extra["operation_cycles"]))
            for key in ("gate_cycles", "bin_cycles"):
                if key in record.extra:
                    self.wide.setdefault(machine, {}).setdefault(key, float(record.extra[key]))

    def polynomial(self, stream: Stream) -> Value:
        """Cycles of a polynomial."""
        found = self._found.get((stream.machine, stream.kind))
        each = stream.modelled() if found is None else found
        return _value(each / stream.polynomials, "", "model" if found is None else "rtl")

    def operation(self, stream: Stream) -> Value:
        """Cycles of an operation."""
        each = self.polynomial(stream)
        return _value(each.number * stream.polynomials, "", each.source)


def _machine(row: GateRow, lean: bool) -> str:
    name = "psi-27" if row.degree == 1024 else "psi-37"
    return f"{name}-lean" if lean else name


def table2(cycles: Cycles) -> Table:
    """Times of a gate on our pipelines."""
    intervals = {
        name: cycles.polynomial(streams(name)[0]) for name in ("psi-27", "psi-37", "psi-27-lean", "psi-37-lean")
    }
    rows: list[tuple[Cell, ...]] = []
    for row in GATE_ROWS:
        line: list[Cell] = [row.name, _value(row.processing_us / 1e3, "ms", "paper")]
        for lean in (False, True):
            each = intervals[_machine(row, lean)]
            milliseconds = row.products * 2 * row.digits * each.number / CLOCK_HZ * 1e3
            line += [each, _value(milliseconds, "ms", "derived" if each.source == "rtl" else "model")]
        assert isinstance(line[3], Value)
        rows.append((*line, f"{100 * (line[3].number * 1e3 / row.processing_us - 1):+.2f} % (d)"))
    return Table(
        "Table 2, our machines: homomorphic accumulation, 12 gates in turns",
        (
            "set",
            "paper",
            "psi-27, psi-37: cycles a polynomial",
            "a gate",
            "lean: cycles a polynomial",
            "a gate",
            "against the paper",
        ),
        tuple(rows),
        (
            "Cycles of a polynomial are of a full stream of products with three digits at N = 1024 (psi-27) or 2048 "
            "(psi-37): (r) in RTL, (m) by the replica. A gate has n·d_r·2dc polynomials, none skipped.",
            "The paper-like machine waits as the paper's does, 269 and 525 cycles; memory behind it never makes keys "
            "wait, "
            "where the paper's takes 534 for a row of N = 2048: hence the difference to Table 2 there.",
            *_wide_gates(cycles),
        ),
    )


def _wide_gates(cycles: Cycles) -> list[str]:
    found = {name: x["gate_cycles"] for name, x in cycles.wide.items() if "gate_cycles" in x}
    return [
        f"gates-128 by GINX on {name}: {each / CLOCK_HZ * 1e3:.2f} ms a NAND in RTL, amortised, with "
        f"{WideConfig.named(name).multipliers * lookup_time.DSP_PER_MULTIPLIER[27]:,} DSP slices."
        for name, each in sorted(found.items())
    ]


def table3(cycles: Cycles) -> Table:
    """The two operations on our pipelines."""
    rows: list[tuple[Cell, ...]] = []
    for published, number in ((SUBSTITUTION, 0), (PRODUCT, 1)):
        line: list[Cell] = [published.name, _value(published.accelerator_us, "us", "paper")]
        for name in ("psi-54", "psi-54-lean"):
            each = cycles.operation(streams(name)[number])
            line += [each, _value(each.number / CLOCK_HZ * 1e6, "us", each.source)]
        rows.append(tuple(line))
    two = Timing(PsiConfig.named("psi-54").model_copy(update={"intts": 2}), _LOG_N)
    return Table(
        "Table 3, our machines: operations of PSI in a full stream",
        ("operation", "paper", "psi-54, cycles", "time", "psi-54-lean, cycles", "time"),
        tuple(rows),
        (
            "Ciphertexts come from and go to the card's memory, 8 GB/s at the port; both machines wait for nothing but "
            "the transform, so these are the chain bounds, in place of the text's 17 us.",
            f"With two inverse transforms a product would take {two.operation(12, 12):,.0f} cycles as with four, a "
            f"substitution {two.operation(7, 6):,.0f}.",
        ),
    )


def table4(cycles: Cycles) -> Table:
    """The sender's time on our machines, with what has to move."""
    chains = {name: lookup_time.Chain(PsiConfig.named(name)) for name in ("psi-54", "psi-54-lean")}
    config = WideConfig.named(_WIDE)
    bin_cycles = cycles.wide.get(_WIDE, {}).get("bin_cycles")
    rows: list[tuple[Cell, ...]] = []
    for row in PSI_ROWS:
        same, better = sizes.plan(row, "paper"), sizes.plan(row, "ringforge")
        line: list[Cell] = [f"{row.bits}, {row.log_bins}", _value(row.seconds, "s", "paper")]
        for name in chains:
            moved = chains[name].moved(same)
            line += [_value(moved.overlapped, "s", "model")]
            if name == "psi-54":
                line += [
                    _value(moved.in_turns, "s", "model"),
                    _value(max(moved.to_card, moved.from_card), "s", "model"),
                ]
        streaming = lookup_time.Streaming.of(config, better, sizes.entries(row, "ringforge"))
        unit, seconds = streaming.seconds(lookup_time.Work.of(better))
        rows.append((*line, _value(seconds, "s", "model"), unit))
    first = PSI_ROWS[0]
    same, better = sizes.plan(first, "paper"), sizes.plan(first, "ringforge")
    chain = chains["psi-54"]
    streaming = lookup_time.Streaming.of(config, better, sizes.entries(first, "ringforge"))
    link, card = lookup_time.LINK_BYTES / 1e9, streaming.table_bytes(lookup_time.Work.of(better)) / 1e9
    host, once = lookup_time.passes(same) / same.bins, sum(streaming.link_bytes(better)) / 2**20
    moving = 2 * sizes.CIPHERTEXT / (chain.operation(same)[0] / CLOCK_HZ) / 1e9
    measured = []
    if bin_cycles is not None:
        seconds = bin_cycles * 2**first.log_bins / CLOCK_HZ
        measured = [f"(32, 14) on {_WIDE} by the cycles of its pieces in RTL: {seconds:.1f} s."]
    return Table(
        "Table 4, our machines: the sender's time with data movement",
        (
            "b, k",
            "paper",
            "`paper` on psi-54",
            "nothing hidden",
            "link alone",
            "`paper` on lean",
            f"`ringforge` on {_WIDE}",
            "waits for",
        ),
        tuple(rows),
        (
            "`paper`: substitutions and products at the machine's cycles, the tree's first level with one digit, its "
            "inverse transforms the bound; 32 KiB to the card and 32 KiB back for each "
            "over "
            f"PCIe ({link:.0f} GB/s each way), 64 KiB more for each digit of an RGSW ciphertext. The queue hides this "
            "behind the pipeline (link alone: the busier way). Sums and turns are the host's, "
            f"{host:,.0f} passes over 2,048 words in a bin of (32, 14).",
            "`ringforge`: cycles of the busiest unit by the counts of the plan, everything in Eval form, "
            f"{config.lanes} coefficients a cycle; leaves are sums over the {streaming.cells} cells that a bin may "
            "have "
            "set, or over rows where they are fewer. The table lies in the card's memory "
            f"({card:.1f} GB at (32, 14)); request and replies cross the link once, {once:.0f} MiB.",
            f"DSP slices of multipliers: {chain.dsp} and {streaming.dsp(_LOG_N):,}. Keys of psi-54 take "
            f"{chain.key_rate(_LOG_N) / 1e9:.1f} GB/s, its ciphertexts {moving:.1f} GB/s in a stream of substitutions; "
            f"{_WIDE}'s one port 8 GB/s each way.",
            *measured,
        ),
    )


def units(row: PsiRow = PSI_ROWS[0]) -> Table:
    """What each unit of the streaming accelerator does in a bin, and with what would be needed to go on."""
    plan = sizes.plan(row, "ringforge")
    work, config = lookup_time.Work.of(plan), WideConfig.named(_WIDE)
    machines = {
        "cells": lookup_time.Streaming.of(config, plan, sizes.entries(row, "ringforge")),
        "rows": lookup_time.Streaming(config),
        "unit for rows": lookup_time.Streaming(config, row_unit=True),
    }
    counted = {name: m.cycles(work) for name, m in machines.items()}
    names = list(dict.fromkeys(unit for c in counted.values() for unit in c))
    rows: list[tuple[Cell, ...]] = []
    for unit in names:
        cells = (c.get(unit) for c in counted.values())
        rows.append((unit, *(None if c is None else _value(round(c / work.bins), "cycles", "model") for c in cells)))
    rows.append(("query", *(_value(m.seconds(work)[1], "s", "model") for m in machines.values())))
    rows.append(("multipliers", *(_value(m.multipliers(_LOG_N), "", "model") for m in machines.values())))
    rows.append(("DSP slices", *(_value(m.dsp(_LOG_N), "", "model") for m in machines.values())))
    return Table(
        f"Our look-up on {_WIDE}: cycles of a bin by unit, ({row.bits}, {row.log_bins})",
        ("unit", *machines),
        tuple(rows),
        (
            f"A bin: {(work.forward + work.rows) / work.bins:.0f} forward transforms, {work.rows / work.bins:.0f} of "
            f"them of plain rows, and {work.inverse / work.bins:.0f} inverse ones. Cells: leaves are summed over the "
            "cells "
            f"that are set, powers of X times selectors, {machines['cells'].cells} in every bin, filled up. Rows: as "
            "the "
            "machine does where more cells are set than there are rows, or words are not 1. Unit for rows: a second "
            "transform and multipliers for them, which the machine does not have.",
        ),
    )


def table5(cycles: Cycles) -> Table:
    """What one pipeline needs at least, by cycles of our machine, beside the "attainable bound"."""
    pairs = []
    for name in ("psi-54", "psi-54-lean"):
        pairs.append([cycles.operation(s) for s in streams(name)])
    rows: list[tuple[Cell, ...]] = []
    for row in PSI_ROWS:
        counts = protocol.operations(row)
        line: list[Cell] = [f"{row.bits}, {row.log_bins}", _value(row.bound, "s", "paper")]
        least = float("inf")
        for substitution, product in pairs:
            seconds = counts.seconds(*(1e6 * c.number / CLOCK_HZ for c in (substitution, product)))
            least = min(least, seconds)
            line.append(_value(seconds, "s", substitution.source))
        rows.append((*line, "no" if row.bound < least else "yes"))
    return Table(
        "Table 5, our machines: the operations alone, no input, output or software",
        ("b, k", "bound", "psi-54", "psi-54-lean", "attainable"),
        tuple(rows),
        ('Attainable: the "attainable bound" is not below what the faster pipeline needs for the operations alone.',),
    )


def figure10() -> Table:
    """The parts of the sender's time."""
    row = PSI_ROWS[0]
    plan = sizes.plan(row, "paper")
    paper = protocol.breakdown(row)
    moved = lookup_time.Chain(PsiConfig.named("psi-54")).moved(plan)
    rebuilt = int(plan.bins) * int(plan.rgsw_bits) * int(plan.gadget.count)
    transfer = rebuilt * 2 * sizes.CIPHERTEXT / lookup_time.LINK_BYTES
    ours: tuple[Cell, ...] = (
        _value(moved.substitutions, "s", "model"),
        _value(moved.products, "s", "model"),
        _value(transfer, "s", "model"),
        None,
    )
    rows = tuple(
        (name, _value(seconds, "s", "derived"), _value(100 * seconds / row.seconds, "%", "derived"), mine)
        for name, seconds, mine in zip(PARTS, paper, ours, strict=True)
    )
    return Table(
        f"Figure 10: parts of the sender's time, ({row.bits}, {row.log_bins})",
        ("part", "paper", "share", "psi-54"),
        rows,
        (
            f"The figure's numbers are not in the text, but for software, 'about {SOFTWARE_SHARE:.0%}'. Here: "
            "operations at "
            "105 us, RGSW ciphertexts as fast as the 120 us that two RLWEs take to stream, and software what remains.",
            "psi-54: RGSW ciphertexts over PCIe, hidden behind operations; what the host does is passes of sums "
            "(Table 4, "
            "our machines).",
        ),
    )


def structure() -> Table:
    """Both structures by count, at equal throughput."""
    rows: list[tuple[Cell, ...]] = []
    for size in (
        structures.Size(10, 3, 27),
        structures.Size(11, 3, 37),
        structures.Size(_LOG_N, PSI_DIGITS, PSI_LOG_MODULUS),
    ):
        ours, one = structures.asymmetric(size), structures.symmetric(size)
        theirs = one.times(structures.copies(size))
        name = f"N = {1 << size.log_n:,}, dc = {size.digits}, {size.word_bits} bits"
        for label, s in ((f"{name}: asymmetric", ours), (f"symmetric x {structures.copies(size):.2f}", theirs)):
            rows.append(
                (
                    label,
                    *(_value(x, "", "model") for x in (s.inverses, s.butterflies, s.row_modules, s.multipliers)),
                    *(_value(x, "", "model") for x in (s.twiddles, s.buffers, round(s.interval))),
                    _value(s.memory_bits(size.log_n) / 2**20, "Mbit", "model"),
                )
            )
    size = structures.Size(11, 6, 54)
    ours, theirs = structures.asymmetric(size), structures.symmetric(size).times(structures.copies(size))
    two, fewer = structures.asymmetric(size, buffers=2), theirs.row_modules / ours.row_modules
    return Table(
        "Asymmetric and symmetric pipelines by count, at equal throughput",
        (
            "pipeline",
            "inverse transforms",
            "butterflies",
            "row modules",
            "multipliers",
            "twiddles",
            "buffers",
            "cycles a product",
            "memory",
        ),
        tuple(rows),
        (
            "Twiddles (words), buffers (polynomials) and memory are of forward transforms.",
            f"Paper: row modules {FEWER_MULTIPLIERS} times fewer at N = 2048 (here {fewer:.0f}), twiddles over "
            f"{LESS_TWIDDLES} times fewer ({theirs.twiddles / ours.twiddles:.0f}), buffers {SAVED_BUFFERS:.0%} less "
            f"({1 - ours.buffers / theirs.buffers:.0%}). A stage that writes one polynomial while the next reads "
            "another, "
            "as in the authors' repository and in our RTL, has two: then buffers are "
            f"{1 - two.buffers / theirs.buffers:.0%} less. Butterflies are as many.",
        ),
    )


def synthesis(folder: Path) -> list[Table]:
    """Both pipelines in RTL, as Yosys maps them, from a saved run."""
    found = synthesised.saved([folder])
    if found is None:
        return []
    compared, path = found
    copies = compared.size.copies

    def line(name: str, one: Resources, other: Resources) -> tuple[Cell, ...]:
        cells: list[Cell] = [name]
        for what in ("lut", "dsp", "flip_flops", "bram36"):
            ours, theirs = getattr(one, what), getattr(other, what) * copies
            cells += [_value(ours, "", "rtl"), _value(theirs, "", "rtl")]
        return tuple(cells)

    none = Resources()
    rows = [line(role, compared.asymmetric[role], compared.symmetric[role]) for role in synthesised.ROLES]
    rows.append(line("all", sum(compared.asymmetric.values(), none), sum(compared.symmetric.values(), none)))
    claims = "; ".join(f"{what}: paper {paper}, here {here}" for what, paper, here in compared.claims())
    size = compared.size
    labels = [f"{kind}{what}" for what in ("LUT", "DSP", "FF", "BRAM36") for kind in ("asymmetric ", "symmetric ")]
    return [
        Table(
            f"Both pipelines in RTL: N = {1 << size.log_n:,}, {size.word_bits} bits, {size.digits} digits, "
            f"{copies:.2f} symmetric ones",
            ("part", *labels),
            tuple(rows),
            (
                f"Yosys, not placed; a product in {size.asymmetric_cycles:,} and, of one, {size.symmetric_cycles:,} "
                f"cycles; {path.name}.",
                f"{claims}. The paper names no width for its {SAVED_LUTS:.0%}.",
            ),
        )
    ]


def validation(folder: Path) -> list[Table]:
    """How far the models of both machines are from RTL."""
    rows: list[tuple[Cell, ...]] = []
    names: list[str] = []
    for machine in ("psi", "psi_wide"):
        paths = sorted(folder.glob(f"hw-{machine}-validation-*.jsonl"))
        if not paths:
            continue
        names.append(paths[-1].name)
        found = [json.loads(text) for text in paths[-1].read_text(encoding="utf-8").splitlines()]
        for fitted in (True, False):
            chosen = [r for r in found if r["extra"]["fitted"] == fitted]
            if not chosen:
                continue
            # What a model says nothing of is None.
            errors = [
                max((100 * abs(r["extra"][model] / r["cycles"] - 1) for r in chosen if r["extra"][model]), default=0.0)
                for model in ("replica", "closed_form")
            ]
            label = f"{machine}, {'used for the closed form' if fitted else 'not used'}"
            rows.append((label, _value(len(chosen), "", "rtl"), *(_value(e, "%", "rtl") for e in errors)))
    if not rows:
        return []
    return [
        Table(
            "Models against RTL: largest errors on drawn cases",
            ("cases", "number", "replica", "closed form"),
            tuple(rows),
            (f"Chains and streams on small machines, on psi_wide random programs too; {', '.join(names)}.",),
        )
    ]


def tables(folder: Path, wanted: Iterable[int] = ALL) -> list[Table]:
    """Those that belong to the paper's tables asked for, with what is saved in a folder; all have Figure 10, both
    structures and the models' errors too."""
    cycles, asked = Cycles(folder), set(wanted)
    made: list[Table] = []
    if 2 in asked:
        made.append(table2(cycles))
    if 3 in asked:
        made.append(table3(cycles))
    if 4 in asked:
        made += [table4(cycles), units()]
    if 5 in asked:
        made.append(table5(cycles))
    if asked >= set(ALL):
        made += [figure10(), structure(), *synthesis(folder), *validation(folder)]
    return made
