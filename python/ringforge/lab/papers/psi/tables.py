# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables 1 to 5 of the paper beside what this package computes and measures.

:func:`tables` makes them; print with :func:`ringforge.lab.papers.matvec.render`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ringforge.errors import ParameterError
from ringforge.gates import noise
from ringforge.lab.tables import Cell, Table, Value
from ringforge.security import estimate

from . import cycles, protocol, sizes
from .figures import (
    GATE_ROWS,
    IDEAL_US,
    IN_FLIGHT,
    KEY_SWITCH_MB,
    PRODUCT,
    PSI_ROWS,
    RGSW_KB,
    STREAMING_US,
    SUBSTITUTION,
    OperationRow,
    PsiRow,
)
from .timings import BATCH, BinTime, Measured, OperationTime

_MIB, _GIB = 2**20, 2**30
ALL = (1, 2, 3, 4, 5)


def _paper(number: float, unit: str = "") -> Value:
    return Value(number, unit, "paper")


def _model(number: float, unit: str = "") -> Value:
    return Value(number, unit, "model")


def _derived(number: float, unit: str = "") -> Value:
    return Value(number, unit, "derived")


def _measured(number: float, unit: str = "") -> Value:
    return Value(number, unit, "measured")


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.2f} % (d)"


def _name(row: PsiRow) -> str:
    return f"{row.bits}, {row.log_bins}"


def table1() -> Table:
    """Parameter sets and what follows from them."""
    rows: list[tuple[Cell, ...]] = []
    for row in GATE_ROWS:
        s = sizes.gate_set(row.ours)
        bits = {name: estimate(instance).bits for name, instance in s.instances().items()}
        rows.append(
            (
                row.name,
                f"{row.n}, {row.q}, {row.degree}, {row.log_modulus} (p)",
                f"{row.switch_base}, 2^{row.log_base}, {row.ap_base} (p)",
                _derived(row.products),
                _derived(row.key_bytes / _GIB, "GiB"),
                _model(sizes.gate_key_stored(s) / _GIB, "GiB"),
                _model(sizes.gate_key_expanded(s) / _GIB, "GiB"),
                _model(round(min(bits.values()))),
                _model(round(bits["bootstrapping key"])),
                f"2^{noise.log2_failure(s, 'NAND', 'gate', 'ap'):.0f} (m)",
            )
        )
    return Table(
        "Table 1: parameter sets",
        (
            *("set", "n, q, N, log Q", "B_ks, B_G, B_r", "products"),
            *("key", "stored", "memory", "bits", "ring", "NAND fails"),
        ),
        tuple(rows),
        (
            "Products: n·d_r for a gate. Key: the accelerator's bootstrapping key, in words of 64 bits. Stored, "
            "memory: ours and its key-switching table, seeds for uniform halves in the file, nothing for digit 0, "
            "words of 32 bits below a modulus of 2^31.",
            "Bits of security by our estimator: of the weakest instance, which is the key-switching key modulo Q; of "
            "the ring alone. NAND fails: on outputs of gates, by AP, with long keys.",
        ),
    )


def table2() -> Table:
    """Times of a gate: the paper and its cycle model."""
    rows: list[tuple[Cell, ...]] = []
    for row in GATE_ROWS:
        model = cycles.gate_us(row)
        rows.append(
            (
                row.name,
                _paper(row.processing_us, "us"),
                _paper(row.stream_us, "us"),
                _model(round(model), "us"),
                _percent(model / row.processing_us),
                _paper(row.software_us, "us"),
                _paper(row.improvement, "x"),
                _derived(row.software_us / (row.processing_us + row.stream_us), "x"),
            )
        )
    return Table(
        "Table 2: homomorphic accumulation",
        ("set", "paper", "streaming", "model", "error", "software", "speed-up", "again"),
        tuple(rows),
        (
            "Model: n·d_r·2dc·II at 125 MHz, II the slower of N/4 + 13 cycles (transform) and 1.0255·(65·N/256 + 1) "
            "(key); 2.55 % is the one fitted constant.",
            "Again: software over processing and streaming.",
        ),
    )


def table2_ours(found: Measured) -> Table:
    """Times of a gate on this machine."""
    rows: list[tuple[Cell, ...]] = []
    for row in GATE_ROWS:
        taken = found.gates.get(row.ours)
        if taken is None:
            continue
        accelerator = row.processing_us + row.stream_us
        rows.append(
            (
                row.ours,
                _measured(taken.key_bytes / _GIB, "GiB"),
                *(_measured(round(1e6 * t), "us") for t in (taken.alone.wall, taken.alone.cpu)),
                *(_measured(round(1e6 * t), "us") for t in (taken.batch.wall, taken.batch.cpu)),
                _derived(row.software_us / (1e6 * taken.alone.wall), "x"),
                _derived(accelerator / (1e6 * taken.batch.wall), "x"),
            )
        )
    return Table(
        "Table 2, ours: NAND by AP on this machine's CPU",
        (
            *("set", "key", "alone, wall", "processor", "in a batch, wall", "processor"),
            *("faster than its software", "faster than its accelerator"),
        ),
        tuple(rows),
        (
            f"A whole gate of two ciphertexts, with its bootstrap: alone on one thread; each of {BATCH} at once on "
            f"{found.threads} threads (the accelerator has {BATCH} in flight). The software is compared with a gate "
            "alone, the accelerator with a batch; the paper states wall time, so wall time is compared.",
            *(f"Not measured: {reason}." for name, reason in found.skipped.items() if name != "operations"),
        ),
    )


def table3() -> Table:
    """Times of the two operations of PSI."""

    def line(row: OperationRow, bound: float) -> tuple[Cell, ...]:
        return (
            row.name,
            _paper(row.accelerator_us, "us"),
            _paper(row.software_us, "us"),
            _paper(row.improvement, "x"),
            _paper(row.scaled, "x"),
            _paper(row.latency_us, "us"),
            _paper(IDEAL_US, "us"),
            _derived(cycles.ideal_us(row.latency_us, IN_FLIGHT), "us"),
            _model(bound, "us"),
        )

    return Table(
        "Table 3: operations of PSI",
        (
            *("operation", "time", "software", "speed-up", "over 6", "latency", "ideal", "again"),
            "chain bound",
        ),
        (
            line(SUBSTITUTION, cycles.substitution_bound_us()),
            line(PRODUCT, cycles.product_bound_us()),
        ),
        (
            f'17 or 105 us? The "ideal" is the latency less {STREAMING_US} us of streaming, divided by {IN_FLIGHT} '
            "inputs "
            "in flight (again: the same division). Buffers are no pipeline stages: between two inputs lie at least 7 "
            f"polynomials of {cycles.stage_cycles(2048)} cycles (substitution) or 12 (product), the chain bound. 105 "
            "us are what the host's input and output allow.",
            f"A product alone is {cycles.product_latency_us():.0f} us by the cycle model, "
            f"{PRODUCT.latency_us - STREAMING_US:.0f} in the paper without streaming.",
        ),
    )


def table3_ours(taken: OperationTime) -> Table:
    """The two operations on this machine."""
    pairs = ((SUBSTITUTION, taken.substitution), (PRODUCT, taken.product))
    return Table(
        "Table 3, ours: the operations on one thread of this machine's CPU",
        ("operation", "wall", "processor", "faster than its software", "faster than its accelerator"),
        tuple(
            (
                row.name,
                _measured(1e6 * ours.wall, "us"),
                _measured(1e6 * ours.cpu, "us"),
                _derived(row.software_us / (1e6 * ours.wall), "x"),
                _derived(row.accelerator_us / (1e6 * ours.wall), "x"),
            )
            for row, ours in pairs
        ),
        (
            "At N = 2048 with the same 54-bit modulus and six digits, from queries that differ in one "
            "count. A substitution is what remains: sum and difference in the expansion, and memory traffic, included. "
            "The paper states wall time, so wall time is compared.",
        ),
    )


def table4_times() -> Table:
    """The sender's time: the paper and a model."""
    rows: list[tuple[Cell, ...]] = []
    for row in PSI_ROWS:
        counts, model = protocol.operations(row), protocol.model_seconds(row)
        rows.append(
            (
                _name(row),
                _derived(row.cell_bits),
                _derived(round(counts.substitutions)),
                _derived(counts.reconstruction),
                _derived(counts.lookup),
                _derived(round(protocol.table3_seconds(row)), "s"),
                _paper(row.seconds, "s"),
                _model(round(model), "s"),
                _percent(model / row.seconds),
            )
        )
    return Table(
        "Table 4: the sender's time",
        ("b, k", "w", "substitutions", "rebuilding", "lookup", "all at 105 us", "paper", "model", "error"),
        tuple(rows),
        (
            f"Model: 2^k·(w·dc·{protocol.DIGIT_US} us + (2^(w-11) + 10)·{protocol.LOOKUP_US} us), two fitted "
            "constants: expansion, rebuilding, upload and software of each digit; products of the lookup with "
            "software.",
            "Rebuilding and lookup are products. For k = 10 the paper charges half a ciphertext, and so does this "
            "table.",
        ),
    )


def table4_ours(found: Measured) -> Table:
    """The server's time on this machine."""
    rows: list[tuple[Cell, ...]] = []

    def ours(time: BinTime) -> tuple[Cell, ...]:
        few = (_measured(1e3 * t, "ms") for t in (time.few.wall, time.few.cpu))
        return (*few, _derived(time.query, "s"))

    for row in PSI_ROWS:
        same = found.bins.get(("paper", row.bits, row.log_bins))
        better = found.bins.get(("ringforge", row.bits, row.log_bins))
        if same is None or better is None:
            continue
        rows.append(
            (
                _name(row),
                _paper(row.seconds, "s"),
                _derived(row.cell_bits),
                *ours(same),
                _model(sizes.plan(row, "ringforge").cell_bits),
                *ours(better),
                _derived(row.seconds / better.query, "x"),
            )
        )
    return Table(
        "Table 4, ours: SCALED from a few bins on this machine's CPU",
        (
            *("b, k", "paper", "w", "`paper`, bin, wall", "processor", "scaled"),
            *("w", "`ringforge`, bin, wall", "processor", "scaled", "faster than the paper"),
        ),
        tuple(rows),
        (
            f"A bin: on {found.threads} threads, measured over 8 or 32 bins of an empty table, whose rows are "
            "transformed as those of a full one. Scaled: wall time, to 2^k bins by the exact counts of both plans; no "
            "query of that size was run.",
            "`paper`: the paper's parameters, and one hash function as printed. `ringforge`: three hash functions, "
            "which take two bits more of w, and place nearly as many elements as there are bins.",
        ),
    )


def _replies(plan: Any) -> Value:
    return _model(plan.reply_bytes / 2**10, "KiB")


def table4_bytes() -> Table:
    """Communication."""
    rows: list[tuple[Cell, ...]] = []
    for row in PSI_ROWS:
        same, better = sizes.plan(row, "paper"), sizes.plan(row, "ringforge")
        rows.append(
            (
                _name(row),
                _paper(row.to_sender_mb, "MiB"),
                _model(sizes.to_sender(row) / _MIB, "MiB"),
                _model(same.request_bytes / _MIB, "MiB"),
                _model(better.request_bytes / _MIB, "MiB"),
                _paper(row.to_receiver_mb, "MiB"),
                _model(sizes.to_receiver(row) / _MIB, "MiB"),
                _replies(same),
                _replies(better),
            )
        )
    return Table(
        "Table 4: bytes from receiver to sender, and back",
        (
            *("b, k", "to sender", "formula", "`paper`", "`ringforge`"),
            *("to receiver", "formula", "`paper`", "`ringforge`"),
        ),
        tuple(rows),
        (
            'The paper\'s "MB" are MiB. Formulas: w·6·2^k/N ciphertexts of 32 KiB, half of them for k = 10; 2^k·(N + '
            "1) "
            "words of 8 bytes.",
            "Ours, exact on the wire: packed residues, seeds for uniform halves; replies of up to 2^11 bins packed "
            "into one ciphertext and switched to 12 or fewer bits.",
        ),
    )


def table4_keys() -> Table:
    """Evaluation keys, which Table 4 leaves out."""
    row = PSI_ROWS[0]
    small = [sizes.plan(r, "ringforge").key_bytes for r in PSI_ROWS]
    return Table(
        "Table 4: evaluation keys, once for each receiver",
        ("keys", "paper", "formula", "`paper`", "`ringforge`, least", "`ringforge`, most"),
        (
            (
                "substitutions",
                f"{KEY_SWITCH_MB} MB (p)",
                _model(sizes.key_switch_keys() / _MIB, "MiB"),
                *(None, None, None),
            ),
            ("RGSW(-z)", f"{RGSW_KB} KB (p)", _model(sizes.rgsw_key() / _MIB, "MiB"), None, None, None),
            (
                "all",
                None,
                _model((sizes.key_switch_keys() + sizes.rgsw_key()) / _MIB, "MiB"),
                _model(sizes.plan(row, "paper").key_bytes / _MIB, "MiB"),
                _model(min(small) / _MIB, "MiB"),
                _model(max(small) / _MIB, "MiB"),
            ),
        ),
        ("Ours, exact on the wire, with the encryption of zero that masks replies.",),
    )


def table5() -> Table:
    """The attainable bound, and the two honest ones."""
    rows: list[tuple[Cell, ...]] = []
    for row in PSI_ROWS:
        bound = protocol.chain_bound(row)
        rows.append(
            (
                _name(row),
                _paper(row.seconds, "s"),
                _paper(row.bound, "s"),
                _derived(protocol.sixth(row), "s"),
                _derived(row.seconds / 6, "s"),
                _model(bound, "s"),
                "yes" if row.bound < bound else "no",
            )
        )
    return Table(
        'Table 5: "attainable bound" of the sender\'s time',
        ("b, k", "T, of Table 4", "bound", "floor(T/6)", "T/6", "chain bound", "below the chain bound"),
        tuple(rows),
        (
            "Chain bound: counts of substitutions and products at "
            f"{cycles.substitution_bound_us():.1f} and {cycles.product_bound_us():.1f} us, with no input, output, "
            "upload or software at all.",
            "T/6 holds if all parts, upload and operations too, get six times faster.",
        ),
    )


def tables(wanted: Iterable[int] = ALL, found: Measured | None = None) -> list[Table]:
    """The tables asked for, in order.

    Raises:
        ParameterError: a number that no table has.
    """
    made: list[Table] = []
    for number in sorted(set(wanted)):
        if number == 1:
            made.append(table1())
        elif number == 2:
            made.append(table2())
            if found and (found.gates or found.skipped):
                made.append(table2_ours(found))
        elif number == 3:
            made.append(table3())
            if found and found.operations:
                made.append(table3_ours(found.operations))
            elif found and "operations" in found.skipped:
                made.append(Table("Table 3, ours: not measured", ("why",), ((found.skipped["operations"],),)))
        elif number == 4:
            made.append(table4_times())
            if found and found.bins:
                made.append(table4_ours(found))
            made += [table4_bytes(), table4_keys()]
        elif number == 5:
            made.append(table5())
        else:
            raise ParameterError(f"the paper has no Table {number}: take 1 to 5")
    return made
