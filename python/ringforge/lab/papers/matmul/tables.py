# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""FAME's tables and the figures of its text beside what this package computes or finds measured.

:func:`tables` makes them; print with :func:`ringforge.lab.papers.matvec.render`.
"""

from __future__ import annotations

from pathlib import Path

from ringforge.errors import FormatError
from ringforge.lab.tables import Cell, Table, Value
from ringforge.runs import Record, load

from . import machine_tables
from .counts import equation_counts, equation_degree, least_degree, product_counts, table_i, transforms
from .cycles import cycle_model
from .memory import CONVENTIONS, MemoryModel
from .parameters import BENCHMARKS, CLAIMS, CONFIGS, RESOURCES, SETS, U280, benchmark
from .resources import consistency
from .security import named_sets, security, working_digits

_MIB, _GIB = 2**20, 2**30


def _paper(number: float, unit: str = "") -> Value:
    return Value(number, unit, "paper")


def _model(number: float, unit: str = "") -> Value:
    return Value(number, unit, "model")


def _derived(number: float, unit: str = "") -> Value:
    return Value(number, unit, "derived")


def operations() -> Table:
    """Table I for the square benchmarks."""
    rows: list[tuple[Cell, ...]] = []
    for name in ("IV-A", "IV-B", "IV-C"):
        entry = benchmark(name)
        for label, row in zip(("step 1", "step 2", "total"), table_i(entry.shape), strict=True):
            counts = (row.add, row.mult, row.cmult, row.rot, row.depth)
            rows.append((str(entry.shape), label, *map(_derived, counts)))
        exact = product_counts(entry.shape, entry.parameters.slots)
        rows.append(
            (
                str(entry.shape),
                "exact",
                None,
                _model(entry.shape.l),
                _model(exact.masks),
                _model(exact.rotations),
                _model(CLAIMS.depth),
            )
        )
    return Table(
        "Table I: operations of Algorithm 2",
        ("shape", "step", "Add", "Mult", "CMult", "Rot", "depth"),
        tuple(rows),
        (
            "The paper's formulas: phi = d_sigma + d_tau, zeta = l (d_epsilon + d_omega); d by Equations 12 to 15.",
            "Exact: distinct diagonals modulo N/2; those at 0 are multiplied without being rotated.",
        ),
    )


def parameter_sets() -> Table:
    """Table II with what follows from it."""
    rows: list[tuple[Cell, ...]] = []
    for p in SETS.values():
        s = security(p)
        works = " or ".join(dict.fromkeys(f"{k}, {digits}" for k, digits in working_digits(p)))
        rows.append(
            (
                f"Set-{p.name}",
                _paper(p.degree),
                _paper(p.log_q, "bit"),
                _paper(p.levels),
                _paper(p.special),
                _paper(p.digits),
                works,
                _derived(p.log_qp, "bit"),
                _model(s.limit, "bit"),
                _paper(p.security),
                _model(round(s.estimate)),
            )
        )
    return Table(
        "Table II: parameters",
        (
            *("set", "N", "log Q", "L", "k", "beta", "k, beta that work"),
            *("log QP", "limit, 128 bits", "security", "estimate"),
        ),
        tuple(rows),
        (
            "log QP takes special primes of the mean size of Q's; the limit is that of the 2024 guideline.",
            "Estimate: 128 bits times limit over log QP, a rough guide.",
        ),
    )


def our_sets() -> Table:
    """The named sets that stand for Table II here."""
    rows: list[tuple[Cell, ...]] = [
        (
            s.name,
            _model(s.log_n),
            _model(s.limbs),
            _model(s.special),
            _model(s.digits),
            _model(s.log_q, "bit"),
            _model(s.security.log_qp, "bit"),
            _model(s.security.limit, "bit"),
            "yes" if s.security.holds else "no",
        )
        for s in named_sets()
    ]
    return Table(
        "Our parameter sets",
        ("set", "log2 N", "limbs", "special", "digits", "log Q", "log QP", "limit", "128 bits"),
        tuple(rows),
        ("matmul-a, -b, -c stand for the paper's sets; those ending in -128 have their limbs and are secure.",),
    )


def diagonals() -> Table:
    """Equations 12 to 15 beside the exact numbers of diagonals."""
    rows: list[tuple[Cell, ...]] = []
    for entry in BENCHMARKS:
        e = equation_counts(entry.shape)
        x = product_counts(entry.shape, entry.parameters.slots)
        rows.append(
            (
                entry.name,
                str(entry.shape),
                _derived(e.sigma),
                _derived(e.tau),
                _derived(e.epsilon),
                "{} to {} (m)".format(*x.epsilon_range),
                _derived(e.omega),
                "{:,} to {:,} (m)".format(*x.omega_range),
            )
        )
    return Table(
        "Equations 12 to 15: diagonals of each matrix",
        ("type", "m-l-n", "d_sigma", "d_tau", "d_epsilon", "exact", "d_omega", "exact"),
        tuple(rows),
        ("d_sigma and d_tau are exact; exact d_epsilon and d_omega: least and most over k.",),
    )


def rotations() -> Table:
    """Table III: rotations of each benchmark."""
    rows: list[tuple[Cell, ...]] = []
    for entry in BENCHMARKS:
        e = equation_counts(entry.shape)
        x = product_counts(entry.shape, entry.parameters.slots)
        rows.append(
            (
                entry.name,
                str(entry.shape),
                _derived(transforms(entry.shape)),
                _derived(e.phi),
                _derived(e.zeta),
                _derived(e.total),
                _model(x.diagonals),
                _model(x.rotations),
                _model(x.keys),
            )
        )
    return Table(
        "Table III: rotations of the twelve benchmarks",
        ("type", "m-l-n", "HLT", "phi", "zeta", "total", "exact", "cyclic", "keys"),
        tuple(rows),
        (
            "Total: the paper's count. Exact: diagonals that are not zero. Cyclic: distinct rotations modulo N/2 "
            "other than 0, each transform by itself. Keys: the same over all transforms.",
        ),
    )


def degrees() -> Table:
    """Equation 16 beside the least degree."""
    rows: list[tuple[Cell, ...]] = [
        (
            entry.name,
            str(entry.shape),
            _derived(equation_degree(entry.shape)),
            _model(least_degree(entry.shape)),
            _paper(entry.parameters.degree),
        )
        for entry in BENCHMARKS
        if equation_degree(entry.shape) != least_degree(entry.shape)
    ]
    return Table(
        "Equation 16: degrees that forget the product",
        ("type", "m-l-n", "Eq 16", "needed", "in use"),
        tuple(rows),
    )


def memory() -> Table:
    """Equations 17 to 24 under each convention, beside the examples of the text."""
    rows: list[tuple[Cell, ...]] = []
    for name, p in SETS.items():
        rows.append(
            (
                f"Set-{name}",
                "as printed",
                _paper(CLAIMS.ciphertext_mb[name]),
                None,
                None,
                None,
                _paper(CLAIMS.product_mb[name]),
                _paper(CLAIMS.hoisted_mb_c) if name == "C" else None,
            )
        )
        for convention in CONVENTIONS:
            model = MemoryModel.of(p, convention)
            sizes = (
                *(model.ciphertext, model.key, model.key_switch, model.rotation),
                *(model.product, model.hoisted_transform),
            )
            for unit, size in (("MB", 1e6), ("MiB", _MIB)):
                rows.append((f"Set-{name}", f"{convention}, {unit}", *(_model(x / size) for x in sizes)))
    return Table(
        "Equations 17 to 24: memory",
        ("set", "convention", "ciphertext", "key", "key switch", "rotation", "product", "hoisted transform"),
        tuple(rows),
        tuple(f"{name}: {text}." for name, text in CONVENTIONS.items()),
    )


def storage() -> Table:
    """Keys and diagonals, which the paper's memory model leaves out."""
    rows: list[tuple[Cell, ...]] = []
    for entry in BENCHMARKS:
        x = product_counts(entry.shape, entry.parameters.slots)
        words, bytes8 = (MemoryModel.of(entry.parameters, c) for c in ("54-bit", "64-bit"))
        keys = words.all_keys(x)
        rows.append(
            (
                entry.name,
                str(entry.shape),
                _model(x.keys),
                _model(keys / _GIB, "GiB"),
                _model(bytes8.all_keys(x) / _GIB, "GiB"),
                _model(x.masks),
                _model(words.all_masks(x) / _GIB, "GiB"),
                _model(bytes8.all_masks(x) / _GIB, "GiB"),
                "yes" if keys <= U280.hbm_bytes else "no",
            )
        )
    return Table(
        "Storage of keys and diagonals",
        ("type", "m-l-n", "keys", "54-bit", "64-bit", "diagonals", "54-bit", "64-bit", "keys fit HBM"),
        tuple(rows),
        (
            "A key for each distinct rotation, diagonals encoded modulo P·Q, k and beta as printed. HBM: 8 GiB by the "
            "card's data sheet.",
        ),
    )


def hardware() -> Table:
    """Tables IV and V against each other."""
    rows: list[tuple[Cell, ...]] = []
    for name, config in CONFIGS.items():
        c, used = consistency(name), RESOURCES[name]
        unit, size = ("KiB", 2**10) if name == "A" else ("MiB", _MIB)
        rows.append(
            (
                config.name,
                f"{config.pes} x {config.lanes}",
                _paper(used.dsp),
                _derived(c.dsp),
                f"{used.bram:,} + {used.uram:,} (p)",
                _paper(round(config.scratchpad_bytes / size, 1), unit),
                _derived(c.blocks_total / config.pes / size, unit),
                _derived(c.limbs_needed),
                f"{c.limbs} / {c.limbs_by_blocks} (d)",
            )
        )
    return Table(
        "Tables IV and V: scratchpads, multipliers, memory blocks",
        (
            *("design", "PE x dp", "DSP", "lanes x 21", "BRAM + URAM", "pad/PE, IV", "pad/PE, V"),
            *("limbs needed", "fit by IV / V"),
        ),
        tuple(rows),
        (
            "By Table V: 18-kbit blocks, less one for each lane's permutation buffer, and UltraRAM, over the PEs.",
            f"36-kbit blocks on the card: {U280.bram36:,}, fewer than FAME-L's {RESOURCES['C'].bram:,}.",
        ),
    )


def performance() -> Table:
    """The reconstructed cycle model, for every benchmark."""
    rows: list[tuple[Cell, ...]] = []
    for entry in BENCHMARKS:
        model = cycle_model(entry.set_name)
        x = product_counts(entry.shape, entry.parameters.slots)
        seconds = model.latency(entry.shape)
        rows.append(
            (
                entry.name,
                str(entry.shape),
                _paper(CLAIMS.seconds_160, "s") if entry.name == "IV-C" else None,
                _model(seconds.total, "s"),
                _model(seconds.rotations, "s"),
                _model(seconds.hoisted, "s"),
                _model(seconds.products, "s"),
                _model(model.latency(entry.shape, x.rotations).total, "s"),
                _model(cycle_model(entry.set_name, 2).latency(entry.shape).total, "s"),
            )
        )
    return Table(
        "Latency: reconstructed cycle model (the paper's latencies are only in a figure)",
        (
            *("type", "m-l-n", "paper", "total", "rotations", "hoisted", "Mult"),
            *("exact rotations", "2 N/dp a stage"),
        ),
        tuple(rows),
        ("Rotations by Equations 12 to 15, all at level L, N/dp cycles for a stage of a transform, unless stated.",),
    )


def streams() -> Table:
    """Cycles of the model's parts and the memory traffic that goes with them."""
    rows: list[tuple[Cell, ...]] = []
    for name, config in CONFIGS.items():
        model = cycle_model(name)
        rows.append(
            (
                f"{config.name}, Set-{name}",
                _model(model.ntt, "cycles"),
                _model(model.rotation, "cycles"),
                _model(model.hoisted, "cycles"),
                _model(model.product, "cycles"),
                _model(model.key_bytes_per_second / 1e9, "GB/s"),
                _model(model.stream_bytes_per_second / 1e9, "GB/s"),
                _derived(U280.hbm_bytes_per_second / 1e9, "GB/s"),
            )
        )
    return Table(
        "Cycle model: parts, and memory traffic while rotating",
        ("design", "NTT", "rotation", "hoisted part", "Mult", "keys", "keys, diagonals", "HBM peak"),
        tuple(rows),
    )


def speedup_claims() -> Table:
    """The paper's headline ratios."""
    rest = (CLAIMS.mean_speedup * len(BENCHMARKS) - CLAIMS.best_speedup) / (len(BENCHMARKS) - 1)
    return Table(
        "Speed-ups over processors",
        ("what", "value"),
        (
            ("mean over twelve benchmarks", _paper(CLAIMS.mean_speedup, "x")),
            ("160-160-160", _paper(CLAIMS.best_speedup, "x")),
            ("mean of the other eleven", _derived(rest, "x")),
            ("processor, 160-160-160", _derived(CLAIMS.best_speedup * CLAIMS.seconds_160, "s")),
        ),
    )


def load_measured(folder: Path) -> list[Record]:
    """Records of `ringforge bench matmul` in a folder; of equal ones that of the last file in order of names."""
    found: dict[tuple[object, ...], Record] = {}
    for path in sorted(folder.glob("matmul*.jsonl")) if folder.is_dir() else ():
        try:
            records = load(path)
        except (ValueError, TypeError) as e:
            raise FormatError(f"{path} holds no records: {e}; delete it or save results anew") from None
        for r in records:
            if r.system == "matmul":
                found[(r.case, r.params, r.algorithm, r.level, r.device, r.threads)] = r
    return list(found.values())


def measured(records: list[Record]) -> Table:
    """Saved measurements."""
    rows: list[tuple[Cell, ...]] = []
    for r in records:
        known = r.peer_seconds is not None
        bsgs = r.extra.get("peer_seconds_bsgs")
        # Where seconds are put together from samples there is no whole result to compare.
        error = None if r.extra.get("extrapolated") else r.max_rel_error
        rows.append(
            (
                r.case,
                r.params,
                "naive" if r.extra.get("plan") == "naive" else r.algorithm,
                str(r.threads),
                Value(r.seconds, "s", "measured"),
                None if r.peer_seconds is None else Value(r.peer_seconds, "s", "measured"),
                None if bsgs is None else Value(float(bsgs), "s", "measured"),
                None if not known else "extrapolated" if r.extra.get("peer_extrapolated") else "whole",
                None if r.ratio is None else _derived(r.ratio, "x"),
                None if error is None else Value(error, "", "measured"),
            )
        )
    return Table(
        "Measured: our products beside Lattigo's Algorithm 2",
        ("m-l-n", "params", "algorithm", "threads", "ours", "peer", "peer, BSGS", "peer's run", "ratio", "error"),
        tuple(rows),
        (
            "naive: our own Algorithm 2 with a full key switch for each diagonal. The peer does Algorithm 2 on one "
            "thread, one rotation for each non-zero diagonal; BSGS: with sigma and tau by its own evaluator. "
            "Extrapolated: put together from samples. Ratio: peer over ours.",
        ),
    )


def tables(results: Path | None = None, *, plans: bool = True) -> list[Table]:
    """All tables. `results`: a folder of saved measurements, shown last if it has any.

    Args:
        plans: also those of our plans, which take the planner half a minute.

    Raises:
        FormatError: a results file is damaged.
    """
    records = load_measured(results) if results is not None else []
    made = [
        operations(),
        parameter_sets(),
        our_sets(),
        diagonals(),
        rotations(),
        degrees(),
        memory(),
        storage(),
        hardware(),
        performance(),
        streams(),
        speedup_claims(),
        *machine_tables.quick_tables(),
    ]
    if plans:
        made += machine_tables.planned_tables(records)
    if results is not None:
        made += machine_tables.synthesised(results)
    return [*made, measured(records)] if records else made
