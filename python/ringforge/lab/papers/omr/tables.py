# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables II to IV, the CPU's accounting, the latency model and sizes, beside what is computed and measured here."""

from __future__ import annotations

from collections.abc import Iterable

from ringforge.errors import ParameterError
from ringforge.lab.tables import Cell, Table, Value

from . import cost, sizes
from .contradictions import shares
from .figures import (
    AFFINE_OVER_RANGE,
    BABIES,
    CCADD,
    CPU_SECONDS,
    DEGREE,
    DESIGNS,
    DEVIATION,
    GIANTS,
    KEY_MB,
    KEYS_MB,
    LOG_PQ,
    LOG_PRIME,
    LOG_Q,
    MATMUL,
    MOST_MESSAGES,
    OPERATORS,
    PAYLOAD_BYTES,
    PCMUL,
    PLAINTEXT_KB,
    PLAINTEXT_MODULUS,
    RANGE,
    ROT,
    SIGNAL_DEGREE,
    SOPHOMR,
    STAGES,
    WEIGHT,
)
from .timings import SET, Measured

ALL = ("II", "III", "IV", "cpu", "sizes", "sophomr")
_MIB, _GIB = 2**20, 2**30


def _paper(number: float, unit: str = "") -> Value:
    return Value(number, unit, "paper")


def _model(number: float, unit: str = "") -> Value:
    return Value(number, unit, "model")


def _derived(number: float, unit: str = "") -> Value:
    return Value(number, unit, "derived")


def _measured(number: float | None, unit: str) -> Cell:
    return None if number is None else Value(number, unit, "measured")


def table2() -> Table:
    """Parameters: the paper's, and ours for the same function."""
    s, bfv, primes = sizes.our_set(), sizes.our_bfv(), sizes.ours()
    rows: tuple[tuple[Cell, ...], ...] = (
        ("N, entries of a bulletin", _paper(DEGREE), _model(s.entries)),
        ("t", _paper(PLAINTEXT_MODULUS), _model(int(bfv.t))),
        ("log2 Q", _paper(LOG_Q), _model(round(bfv.log_q))),
        ("log2 PQ", _paper(LOG_PQ), _model(round(bfv.log_qp))),
        ("bits of a prime", _paper(LOG_PRIME), _model(primes.bits)),
        ("limbs", _derived(cost.LIMBS), _model(primes.limbs)),
        ("special primes", _derived(cost.SPECIAL), _model(primes.special)),
        ("digits of a key", _derived(cost.DIGITS), _model(primes.digits)),
        ("messages of a digest", _paper(MOST_MESSAGES), _model(MOST_MESSAGES)),
        ("giant steps", _paper(GIANTS), _model(-(-s.n // s.babies))),
        ("baby steps", _paper(BABIES), _model(s.babies)),
        ("n of signals", _paper(SIGNAL_DEGREE), _model(s.n)),
        ("weight of signal secrets", _paper(WEIGHT), _model(s.weight)),
        ("deviation of signals", _paper(DEVIATION), _model(s.deviation)),
        ("range", _paper(RANGE), _model(s.range)),
        ("bytes of a payload", _paper(PAYLOAD_BYTES), _model(s.payload_bytes)),
    )
    return Table(
        "Table II: parameters",
        ("", "paper", "ours"),
        rows,
        (
            "Headers of Table II are lost in our copy; N, limbs and the signals' parameters are those of SophOMR's "
            "code. Digits: 2 of 10 limbs each give the 55 MB of a key.",
            f"Ours: set `{s.name}`, {s.security} bits, with the BFV parameters `{s.bfv}`, whose primes suit the CPU's "
            "52-bit multipliers.",
        ),
    )


def table3() -> Table:
    """The accelerator's designs by the latency model."""
    rows: list[tuple[Cell, ...]] = []
    for d in DESIGNS:
        multiply, rotate, add = cost.design_ms(d)
        rows.append(
            (
                str(d.order),
                _paper(d.add),
                _paper(d.multiply),
                _paper(d.cores),
                _paper(d.rotate),
                _paper(d.butterflies),
                _model(BABIES * multiply / d.cores, "ms"),
                _model(cost.iteration_ms(multiply, rotate, add, BABIES, d.cores), "ms"),
                _model(cost.design_matmul_ms(d), "ms"),
            )
        )
    return Table(
        "Table III: designs, and Equations 5 and 6",
        ("order", "CCadd", "PCmul", "cores", "Rot", "butterflies", "products", "iteration", "MatMul"),
        tuple(rows),
        (
            "Eq. 3: T_iter = max(b T_PCmul, T_Rot) + T_CCadd; Eq. 4: T = (b - 1) T_Rot + g T_iter; Eq. 5 and 6: "
            "T_PCmul divided by the cores, times of operators by their lanes.",
            "In each design the products of a giant step are shorter than its rotation, so all four take as long.",
        ),
    )


def table4(found: Measured | None = None) -> Table:
    """Operators: the accelerator's times are the paper's, the CPU's derived from it, ours measured here."""
    ours = {} if found is None else {"CCadd": found.add, "PCmul": found.multiply, "Rot": found.rotate}
    if found is not None:
        ours["MatMul"] = found.matmul
    rows: list[tuple[Cell, ...]] = []
    for o in OPERATORS:
        mine = ours.get(o.name)
        times = (None, None) if mine is None else (1e3 * mine.wall, 1e3 * mine.cpu)
        cells = [_measured(t, "ms") if o is not MATMUL or t is None else _derived(t, "ms") for t in times]
        rows.append(
            (
                o.name,
                _paper(o.dsp),
                _paper(o.bram),
                _paper(o.uram),
                _paper(o.milliseconds, "ms"),
                _paper(o.improvement, "x"),
                _derived(o.cpu_ms, "ms"),
                *cells,
                None if mine is None else _derived(o.cpu_ms / (1e3 * mine.wall), "x"),
            )
        )
    notes = [
        "The accelerator's columns are the paper's; no hardware was run. CPU: time times improvement, on its Xeon "
        "W-2295.",
        (
            f"MatMul by Eq. 4 from the three operators, two PCmul cores: "
            f"{cost.matmul_ms(PCMUL.milliseconds, ROT.milliseconds, CCADD.milliseconds, 2):,.1f} ms. DSP of PCmul "
            "count a core; two and three adders with Rot are the total."
        ),
    ]
    if found is not None:
        notes.append(
            f"Ours: one thread, set `{SET}`: N = 65,536 with 23 + 12 primes, log2 Q as the paper's; medians, and "
            "compared by wall time, which is what the paper states. MatMul is SCALED from these, with "
            f"{1e3 * found.encode.wall:.2f} ms for a plaintext's way to Eval form: {cost.matmul().multiply:,} "
            f"products, {cost.matmul().rotate} rotations, {cost.matmul().add:,} sums; `ringforge bench omr` runs whole "
            "transforms."
        )
    return Table(
        "Table IV: operators" + (" (ours: SCALED MatMul)" if found else ""),
        ("operator", "DSP", "BRAM", "URAM", "FPGA", "improvement", "CPU", "ours, wall", "processor", "CPU / ours"),
        tuple(rows),
        tuple(notes),
    )


def table_cpu() -> Table:
    """What Table IV says of the CPU's time, by MatMul and by affine transform."""
    rows: list[tuple[Cell, ...]] = []
    for name, counts, matmuls in (
        ("one MatMul, Algorithm 1", cost.matmul(), 1),
        ("affine transform, baby rotations shared", cost.affine(), 2),
    ):
        times, parts = cost.cpu_seconds(counts), shares(counts)
        rows.append(
            (
                name,
                _derived(counts.multiply),
                _derived(counts.rotate),
                _derived(counts.add),
                _derived(sum(times), "s"),
                *(_derived(100 * part, "%") for part in parts),
                _derived(sum(times) / matmuls, "s"),
            )
        )
    return Table(
        "MatMul on the CPU",
        ("", "PCmul", "Rot", "CCadd", "time", "PCmul share", "Rot share", "CCadd share", "a MatMul"),
        tuple(rows),
        (
            f"The text: {CPU_SECONDS} s, PCmul more than 50 %, Rot more than 30 %, affine transform about "
            f"{AFFINE_OVER_RANGE} times the range check. With shared baby rotations the shares fit, and {CPU_SECONDS} "
            f"s is one of two MatMuls: {MATMUL.improvement} = {CPU_SECONDS} / {MATMUL.milliseconds / 1e3}.",
            f"Both MatMuls on the accelerator, baby rotations shared: {cost.affine_ms():,.0f} ms, "
            f"{2 * CPU_SECONDS * 1e3 / cost.affine_ms():.1f} times faster than 2 * {CPU_SECONDS} s (model).",
        ),
    )


def table_sizes() -> Table:
    """Sizes on the wire and in memory."""
    p, o = sizes.PAPER, sizes.ours()
    rows: tuple[tuple[Cell, ...], ...] = (
        ("ciphertext", None, _model(p.ciphertext / _MIB, "MiB"), _model(o.ciphertext / _MIB, "MiB")),
        ("rotation key", _paper(KEY_MB, "MB"), _model(p.key / _MIB, "MiB"), _model(o.key / _MIB, "MiB")),
        ("the same, seeded", None, _model(p.seeded_key / _MIB, "MiB"), _model(o.seeded_key / _MIB, "MiB")),
        ("two rotation keys", _paper(KEYS_MB, "MB"), _model(2 * p.key / _MIB, "MiB"), _model(2 * o.key / _MIB, "MiB")),
        ("key, a digit a limb (SEAL)", None, _model(sizes.PER_LIMB.key / _MIB, "MiB"), None),
        (
            "diagonal, 20-bit words",
            _paper(PLAINTEXT_KB, "Kb"),
            _model(sizes.diagonal() * 8 // 1024, "Kb"),
            _model(sizes.diagonal() * 8 // 1024, "Kb"),
        ),
        ("all diagonals", None, _model(sizes.diagonals() / _MIB, "MiB"), _model(sizes.diagonals() / _MIB, "MiB")),
        (
            "all of them transformed",
            None,
            _model(SIGNAL_DEGREE * p.transformed / _GIB, "GiB"),
            _model(SIGNAL_DEGREE * o.transformed / _GIB, "GiB"),
        ),
        ("digest, 50 messages", _paper(SOPHOMR.digest_bytes, "B"), None, _model(sizes.digest(), "B")),
        (
            "detection key",
            _paper(SOPHOMR.key_bytes / 1e6, "MB"),
            None,
            _model(sizes.detection_key() / 1e6, "MB"),
        ),
    )
    return Table(
        "Sizes",
        ("", "printed", "paper's parameters", "ours"),
        rows,
        (
            "Printed: 55 MB, 110 MB and 1,280 Kb by the paper; digest and detection key by SophOMR of its own. Keys in "
            "the paper's MB are MiB.",
            f"Ours: set `{sizes.our_set().name}`, residues of {o.bits} bits, half of every fresh key a seed; digest "
            "and detection key are those of the library, headers apart. The key has two rotations, relinearisation, "
            "the signal key and compression.",
        ),
    )


def table_sophomr() -> Table:
    """SophOMR's statements of its software."""
    rows: list[tuple[Cell, ...]] = [
        (name, _paper(one, "s"), _paper(two, "s"))
        for name, one, two in zip(STAGES, SOPHOMR.one_thread, SOPHOMR.two_threads, strict=True)
    ]
    rows.append(("all", _derived(sum(SOPHOMR.one_thread), "s"), _derived(sum(SOPHOMR.two_threads), "s")))
    return Table(
        "SophOMR's own figures, Sapphire Rapids",
        ("stage", "one thread", "two threads"),
        tuple(rows),
        (
            f"Theirs, not measured here: 65,536 entries, 50 messages, {SOPHOMR.memory_gb} GB of memory, digest of "
            f"{SOPHOMR.digest_bytes:,} bytes, detection key of {SOPHOMR.key_bytes / 1e6:.0f} MB. `ringforge bench omr` "
            "has ours.",
        ),
    )


def tables(wanted: Iterable[str] = ALL, found: Measured | None = None) -> list[Table]:
    """The tables by name, of :data:`ALL`.

    Raises:
        ParameterError: there is no such table.
    """
    makers = {
        "II": table2,
        "III": table3,
        "IV": lambda: table4(found),
        "cpu": table_cpu,
        "sizes": table_sizes,
        "sophomr": table_sophomr,
    }
    made = []
    for name in wanted:
        if name not in makers:
            raise ParameterError(f'there is no table "{name}": take one of {", ".join(ALL)}')
        made.append(makers[name]())
    return made
