# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every table and figure of the paper beside what this package models or is given.

:func:`tables` returns the paper's Tables II to VII; :mod:`.figure_tables` adds the
data of Figures 1, 3, 8, 9 and 10.  Print with :func:`ringforge.lab.tables.render`, store with
:func:`ringforge.lab.tables.to_json`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringforge.hw.machines.matvec.published import LAYERS, TABLE_VI, TABLE_VII, U200
from ringforge.lab.tables import Cell, Table, Value

from .cycles import (
    automorphism_cycles,
    elementwise_cycles,
    key_switch_bounds,
    key_switches_per_second,
    ntt_cycles,
)
from .figure_tables import figure_tables
from .figures import check_measured
from .parameters import (
    CONFIGS,
    GB,
    HEAX_KEY_SWITCHES_PER_SECOND,
    MB,
    MIB,
    PAPER_KEY_SWITCHES_PER_SECOND,
    PAPER_SPEEDUP_OVER_HEAX,
    SETS,
)
from .resources import calibration, choose_config, explore
from .traffic import Workload

_KEY_RATE_UNIT = "key switches/s"


def table_ii() -> Table:
    """Table II: HE parameters, with sizes that follow from them."""
    rows: list[tuple[Cell, ...]] = []
    for entry in SETS.values():
        one = Workload(1, 1, entry.degree, entry.limbs)
        rows.append(
            (
                f"Set-{entry.name}",
                Value(entry.degree, "", "paper"),
                Value(entry.limbs, "", "paper"),
                Value(entry.modulus_bits, "bit", "derived"),
                Value(one.ciphertext_bytes / MIB, "MiB", "derived"),
                Value(one.key_bytes / MIB, "MiB", "derived"),
            )
        )
    return Table(
        "Table II: HE parameters",
        ("set", "N", "l", "log Q with special prime", "ciphertext (Eq 1)", "key (2 x Eq 6)"),
        tuple(rows),
        ("Primes of 54 bits are inferred; coefficients are stored in 8 bytes.",),
    )


def table_iii() -> Table:
    """Table III: accelerator configurations, beside the estimator's choice."""
    rows: list[tuple[Cell, ...]] = []
    for name, source in (("A", "paper"), ("B", "paper")):
        config = CONFIGS[name]
        rows.append(
            (
                "Set-A" if name == "A" else "Set-B & C",
                source,
                Value(config.groups, "", "paper"),
                Value(config.pes_per_group, "", "paper"),
                Value(config.lanes, "", "paper"),
                Value(config.banks, "", "paper"),
                Value(config.scratchpad_bytes / MIB, "MiB", "paper"),
                Value(key_switches_per_second(SETS[name], config), _KEY_RATE_UNIT, "model"),
            )
        )
    for name, parameters in SETS.items():
        clock = CONFIGS[name].clock_hz
        chosen = choose_config(U200.part, parameters, clock_hz=clock)
        fastest = explore(U200.part, parameters, lane_choices=(8, 16, 32), clock_hz=clock)[0]
        for label, pick in (("paper's rules", chosen), ("fastest found", fastest)):
            config = pick.config
            rows.append(
                (
                    f"Set-{name}",
                    label,
                    Value(config.groups, "", "model"),
                    Value(config.pes_per_group, "", "model"),
                    Value(config.lanes, "", "model"),
                    Value(config.banks, "", "model"),
                    Value(config.scratchpad_bytes / MIB, "MiB", "model"),
                    Value(pick.key_switches_per_second, _KEY_RATE_UNIT, "model"),
                )
            )
    return Table(
        "Table III: accelerator configurations",
        ("set", "chosen by", "g", "p", "c", "b", "scratchpad/PE", "modelled rate"),
        tuple(rows),
        (
            "The paper runs Set-C on the Set-B design, whose scratchpad is too small for it.",
            "'Fastest found' has 8 to 32 lanes and keys at hand; routing is not modelled.",
        ),
    )


def table_iv() -> Table:
    """Table IV: benchmark layers, with ciphertext counts."""
    rows: list[tuple[Cell, ...]] = []
    for entry in LAYERS:
        counts = [
            Value(Workload.of(entry, parameters).input_ciphertexts, "", "derived") for parameters in SETS.values()
        ]
        rows.append(
            (
                entry.name,
                entry.model,
                Value(entry.m, "", "paper"),
                Value(entry.n, "", "paper"),
                *counts,
            )
        )
    return Table(
        "Table IV: matrix-vector products",
        ("layer", "model", "m", "n", "cts Set-A", "cts Set-B", "cts Set-C"),
        tuple(rows),
    )


def table_v() -> Table:
    """Table V: key switches per second, beside the schedule and the bounds."""
    b, config = SETS["B"], CONFIGS["B"]
    bounds = key_switch_bounds(b, config, U200.dram_bytes_per_second)
    rate = key_switches_per_second(b, config)
    paper, heax = PAPER_KEY_SWITCHES_PER_SECOND, HEAX_KEY_SWITCHES_PER_SECOND

    def row(label: str, value: Value) -> tuple[Cell, ...]:
        return (label, value, Value(value.number / heax, "x", "derived"))

    return Table(
        "Table V: key switching, Set-B",
        ("design", "rate", "over HEAX"),
        (
            ("HEAX", Value(heax, _KEY_RATE_UNIT, "paper"), None),
            (
                "the paper's design, as printed",
                Value(paper, _KEY_RATE_UNIT, "paper"),
                Value(PAPER_SPEEDUP_OVER_HEAX, "x", "paper"),
            ),
            row("the same, ratio recomputed", Value(paper, _KEY_RATE_UNIT, "paper")),
            row("plain schedule, 12 transform times", Value(rate, _KEY_RATE_UNIT, "model")),
            row("bound: every butterfly busy", Value(bounds.butterfly, _KEY_RATE_UNIT, "model")),
            row(
                "bound: butterflies, no closing rescale",
                Value(bounds.butterfly_without_rescale, _KEY_RATE_UNIT, "model"),
            ),
            row("bound: Table VI transforms", Value(bounds.table_vi, _KEY_RATE_UNIT, "model")),
            row(
                "bound: Table VI, no closing rescale",
                Value(bounds.table_vi_without_rescale, _KEY_RATE_UNIT, "model"),
            ),
            row(
                "bound: one key read per switch",
                Value(bounds.key_stream, _KEY_RATE_UNIT, "model"),
            ),
        ),
        ("The printed rate is above every compute bound of the described design.",),
    )


def table_vi() -> Table:
    """Table VI: cycles per primitive, for all sets."""
    printed = {
        "NTT / INTT": TABLE_VI["NTT"],
        "automorphism": TABLE_VI["automorphism"],
        "element-wise": TABLE_VI["element-wise"],
    }
    functions = {
        "NTT / INTT": ntt_cycles,
        "automorphism": automorphism_cycles,
        "element-wise": elementwise_cycles,
    }
    rows: list[tuple[Cell, ...]] = []
    for name, cycles in functions.items():
        modelled = [Value(cycles(entry.degree, CONFIGS[key].lanes), "cycles", "model") for key, entry in SETS.items()]
        rows.append((name, Value(printed[name], "cycles", "paper"), *modelled))
    return Table(
        "Table VI: cycles per residue polynomial",
        ("primitive", "paper, Set-B", "Set-A", "Set-B", "Set-C"),
        tuple(rows),
        ("NTT: log2 N * (N / c + 23); the others N / c.",),
    )


def table_vii() -> Table:
    """Table VII: resources, beside the estimator."""
    rows: list[tuple[Cell, ...]] = []
    for entry in calibration():
        rows.append(
            (
                "Set-A" if entry.set_name == "A" else "Set-B/C",
                entry.resource,
                Value(entry.paper, "", "paper"),
                Value(entry.model, "", "model"),
                Value(100 * entry.error, "%", "derived"),
                "fitted" if entry.fitted else "structural",
            )
        )
    for name in ("A", "B"):
        rows.append(
            (
                "Set-A" if name == "A" else "Set-B/C",
                "clock (MHz)",
                Value(round(TABLE_VII[name].clock_hz / 1e6), "", "paper"),
                None,
                None,
                "taken as given",
            )
        )
    part = U200.part
    return Table(
        "Table VII: resources",
        ("design", "resource", "paper", "model", "error", "kind"),
        tuple(rows),
        (
            (
                f"Card: {part.dsp:,} DSP, {part.lut:,} LUT, {part.flip_flops:,} FF, "
                f"{part.sram_bytes // MB} MB SRAM, {U200.dram_bytes // GB} GB DRAM."
            ),
            (
                "Fitted rows share one constant over both designs; URAM is structural in the "
                "scratchpads (48 per PE) and fitted in the rest."
            ),
        ),
    )


def tables(measured: Mapping[str, float] | None = None) -> list[Table]:
    """All tables and figure data.

    Args:
        measured: CPU seconds by layer name (``"rnnt-fc0"`` and so on, see
            :data:`.parameters.LAYERS`), put beside the modelled latencies.

    Raises:
        PaperModelError: for an unknown layer name or a time that is not positive.
    """
    checked = check_measured(measured)
    return [
        table_ii(),
        table_iii(),
        table_iv(),
        table_v(),
        table_vi(),
        table_vii(),
        *figure_tables(checked),
    ]
