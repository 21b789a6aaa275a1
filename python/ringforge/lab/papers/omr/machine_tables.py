# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our machines beside the paper's: cycles in RTL and resources by synthesis where they are saved, else by the models.

`ringforge hw cycles omr`, `hw synth omr` and `hw validate omr` save what is read here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ringforge.errors import FormatError
from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.omr import cost as machine
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.lab.tables import Cell, Source, Table, Value
from ringforge.runs import Record

from . import cost
from .figures import BABIES, CCADD, CLUES, CPU_SECONDS, DESIGNS, GIANTS, MATMUL, OPERATORS, PCMUL, ROT
from .tables import ALL
from .timings import Measured

#: The machine of the published lanes, butterflies and cores, and ours.
LIKE, OURS = "omr-paper", "omr-u55c"
#: Ring and primes of our sets in words of 54 bits.
_CHAIN: Final = machine.Chain(16, 24, 12, 12)
#: What ours is made for: milliseconds of one product and of both, in no more slices than the paper's.
AIM_MS: Final = (400, 600)
_SYSTEM: Final = "hw-omr"
#: Cycles of a ciphertext of 2 x 19 limbs through 16 lanes, counted by the benches of omr_ccadd and omr_pcmul.
BENCHED: Final = {CCADD.name: 155_649, PCMUL.name: 155_659}


def _value(number: float, unit: str = "", source: Source = "model") -> Value:
    return Value(number, unit, source)


def chain_of(config: OmrConfig) -> machine.Chain:
    """The primes that a machine's words are made for: the paper's, or those of set `omr-24`."""
    return machine.PUBLISHED_CHAIN if config.word_bits >= 60 else _CHAIN


def _lines(path: Path) -> Iterator[Record]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield Record.from_json(line)
        except (TypeError, ValueError):
            continue


class Saved:
    """Cycles and resources of our machines, from a folder of results or by the models.

    Args:
        folder: of saved results; of equal ones the newest counts.

    Raises:
        FormatError: a saved synthesis is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._rotations: dict[tuple[str, Source], tuple[int, Value]] = {}
        self._matmuls: dict[tuple[str, int], dict[Source, Value]] = {}
        self._totals: dict[str, Resources] = {}
        # Names end with the date.
        for path in sorted(folder.glob("hw-omr-*.jsonl"), key=lambda p: (p.stem[-10:], p.name), reverse=True):
            for record in _lines(path):
                if record.system == _SYSTEM and record.cycles is not None:
                    self._take(record)
        for name in (LIKE, OURS):
            for path in sorted(folder.glob(f"hw-{name}-synth-*.json"))[-1:]:
                try:
                    kinds = json.loads(path.read_text(encoding="utf-8"))["machines"]
                    config = OmrConfig.named(name)
                    found = kinds.get(config.multiplier) or next(iter(kinds.values()), None)
                    if found is not None:
                        self._totals[name] = Resources(**found["total"])
                except (ValueError, KeyError, TypeError, AttributeError) as e:
                    raise FormatError(f"{path} holds no synthesis: {e}; delete it or save it anew") from None

    def _take(self, record: Record) -> None:
        by, _, name = record.device.partition(":")
        source: Source = "rtl" if by == "rtl" else "model"
        if name not in (LIKE, OURS) or not _full(record, name):
            return
        extra, cycles = record.extra, record.cycles or 0
        if record.case == "rotation":
            # A rotation by itself: of the shortest chain.
            turns = sum(extra["rotations"])
            old = self._rotations.get((name, source))
            if old is None or turns < old[0]:
                self._rotations[name, source] = (turns, _value(round(cycles / turns), "", source))
        elif "--method ringforge" in record.algorithm:
            words = record.algorithm.split()
            outputs = int(words[words.index("--outputs") + 1])
            self._matmuls.setdefault((name, outputs), {}).setdefault(source, _value(cycles, "", source))

    def rotation(self, name: str) -> Value:
        """Cycles of a rotation: in RTL, by a saved run of the replica, or in closed form."""
        config = OmrConfig.named(name)
        sources: tuple[Source, ...] = ("rtl", "model")
        for source in sources:
            if (name, source) in self._rotations:
                return self._rotations[name, source][1]
        return _value(machine.rotation_cycles(config, chain_of(config)))

    def matmul(self, name: str, outputs: int) -> tuple[Value, bool]:
        """Cycles of a matrix x vector product for so many outputs; whether they come from a saved run."""
        found = self._matmuls.get((name, outputs), {})
        sources: tuple[Source, ...] = ("rtl", "model")
        for source in sources:
            if source in found:
                return found[source], True
        config = OmrConfig.named(name)
        return _value(round(machine.matmul_cycles(config, chain_of(config), machine.Sum(outputs=outputs)))), False

    def total(self, name: str) -> tuple[Resources, Source]:
        """What a machine takes, and whether synthesis or the model says so."""
        if name in self._totals:
            return self._totals[name], "rtl"
        return machine.total(OmrConfig.named(name)), "model"

    def core(self, name: str) -> tuple[Resources, Source]:
        """The same without the grid of products, which is counted by the model."""
        total, source = self.total(name)
        return total - machine.resources(OmrConfig.named(name))["sum"], "derived" if source == "rtl" else source


def _full(record: Record, name: str) -> bool:
    """Whether a record is of the machine's ring and primes."""
    chain, extra = chain_of(OmrConfig.named(name)), record.extra
    sizes = (extra.get("log_n"), extra.get("limbs"), extra.get("special"))
    return sizes == (chain.log_n, chain.limbs, chain.special)


def _ms(cycles: Value, config: OmrConfig) -> Value:
    return _value(1e3 * cycles.number / config.clock_hz, "ms", "derived" if cycles.source == "rtl" else cycles.source)


def _memories(found: Resources, source: Source) -> list[Cell]:
    return [_value(found.dsp, "", source), _value(found.bram36, "", source), _value(found.uram, "", source)]


def _operators(config: OmrConfig, lanes: int) -> tuple[machine.Operator, machine.Operator]:
    """Our PCmul of so many lanes, and our CCadd of the paper's 16."""
    at, chain = config.model_copy(update={"lanes": lanes}), chain_of(config)
    return machine.product(at, chain), machine.addition(config.model_copy(update={"lanes": 16}), chain)


def table3(saved: Saved) -> Table:
    """The four designs by our cost model, with the paper's operators and with ours."""
    config = OmrConfig.named(LIKE)
    turn, (core, source) = saved.rotation(LIKE), saved.core(LIKE)
    rows: list[tuple[Cell, ...]] = []
    for d in DESIGNS:
        theirs = machine.published_point(d.multiply, d.cores, d.rotate, d.butterflies, d.add)
        product, addition = _operators(config, d.multiply)
        cycles = machine.latency(BABIES, GIANTS, d.cores, product.cycles, turn.number, addition.cycles)
        dsp = machine.dsps(d.cores, product.resources.dsp, addition.resources.dsp, core.dsp)
        rows.append(
            (
                str(d.order),
                _value(d.multiply, "", "paper"),
                _value(d.cores, "", "paper"),
                _value(theirs.dsp),
                _value(theirs.resources.uram),
                _value(theirs.product_ms, "ms"),
                _value(theirs.ms, "ms"),
                _value(dsp, "", source),
                _value(1e3 * math.ceil(BABIES / d.cores) * product.cycles / config.clock_hz, "ms"),
                _value(1e3 * cycles / config.clock_hz, "ms", "derived" if turn.source == "rtl" else "model"),
            )
        )
    return Table(
        "Table III by our cost model: the paper's operators, and ours",
        (
            "order", "PCmul", "cores", "DSP, paper's", "URAM", "products", "MatMul", "DSP, ours", "products, ours",
            "MatMul, ours",
        ),
        tuple(rows),
        (
            "Paper's: operators of Table IV, 56 DSP slices a multiplier. The order of Table III is that of DSP slices "
            "at equal time.",
            f"Ours: {machine.multiplier_dsp(60, montgomery=False)} slices a multiplier, no slices for CCadd, a "
            f"rotation of {turn.number:,.0f} cycles on {LIKE} ({'RTL' if turn.source == 'rtl' else 'by the model'}). "
            f"Products of a giant step longer than it are what the step waits for; {BABIES} fill the rounds of 2 cores "
            "alone.",
        ),
    )  # fmt: skip


def table4(saved: Saved) -> Table:
    """Table IV's operators on `omr-paper`."""
    config = OmrConfig.named(LIKE)
    product, addition = _operators(config, 16)
    turn, (core, core_source), (total, total_source) = saved.rotation(LIKE), saved.core(LIKE), saved.total(LIKE)
    whole, run = saved.matmul(LIKE, 1)
    ours: dict[str, tuple[Resources, Source, Value]] = {
        CCADD.name: (addition.resources, "model", _value(BENCHED[CCADD.name], "", "rtl")),
        PCMUL.name: (product.resources, "model", _value(BENCHED[PCMUL.name], "", "rtl")),
        ROT.name: (core, core_source, turn),
        MATMUL.name: (total, total_source, whole),
    }
    rows: list[tuple[Cell, ...]] = []
    for o in OPERATORS:
        found, source, cycles = ours[o.name]
        ms = _ms(cycles, config)
        rows.append(
            (
                o.name,
                *(_value(x, "", "paper") for x in (o.dsp, o.bram, o.uram)),
                _value(o.milliseconds, "ms", "paper"),
                *_memories(found, source),
                cycles,
                ms,
                _value(o.milliseconds / ms.number, "x", "derived" if ms.source == "derived" else "model"),
            )
        )
    montgomery = 16 * machine.multiplier_dsp(60, montgomery=True)
    return Table(
        f"Table IV beside {LIKE}: the published lanes, butterflies and cores",
        (
            "operator", "DSP", "BRAM", "URAM", "FPGA", "DSP, ours", "BRAM36, ours", "URAM, ours", "cycles, ours",
            "time, ours", "paper / ours",
        ),
        tuple(rows),
        (
            f"Ours at {config.clock_hz / 1e6:.0f} MHz. The paper states no clock: {PCMUL.milliseconds} ms for "
            f"{cost.elementwise_cycles():,} cycles ask for {cost.least_clock_hz() / 1e6:.1f} MHz.",
            "CCadd and PCmul: counted by their benches, `pytest -m long -k ciphertext hw/omr/dv`. Slices of a "
            "multiplier are those that Yosys finds; adders take none. With Montgomery "
            f"multipliers PCmul would take {montgomery}.",
            "Rot: the machine without the grid of products. MatMul: the whole machine, one output, "
            f"{'a saved run' if run else 'in closed form'}.",
            *(() if turn.source == "rtl" else ("No rotation in RTL is saved: its cycles are the model's.",)),
            *(() if total_source == "rtl" else ("No synthesis is saved: its resources are the model's.",)),
        ),
    )  # fmt: skip


def matmuls(saved: Saved) -> Table:
    """A matrix x vector product by the paper's design, by the same with our operators, and on our machines."""
    config = OmrConfig.named(LIKE)
    published = machine.published_point(16, 2)
    turn = saved.rotation(LIKE)
    product, addition = _operators(config, 16)
    with_ours = machine.latency(BABIES, GIANTS, 2, product.cycles, turn.number, addition.cycles)
    derived: Source = "derived" if turn.source == "rtl" else "model"
    best = published.ms
    rows: list[tuple[Cell, ...]] = [
        (
            "the paper, printed",
            _value(MATMUL.milliseconds, "ms", "paper"),
            None,
            *(_value(x, "", "paper") for x in (MATMUL.dsp, MATMUL.bram, MATMUL.uram)),
            None,
        ),
        (
            "its operators by Eqs 3 to 6, each output by itself",
            _value(best, "ms"),
            _value(CLUES * best, "ms"),
            *_memories(published.resources, "model"),
            _value(1.0, "x", "derived"),
        ),
        (
            "the same, baby steps shared",
            _value(best, "ms"),
            _value(machine.published_point(16, 2, size=machine.Sum(outputs=CLUES)).ms, "ms"),
            *_memories(published.resources, "model"),
            _value(1.0, "x", "derived"),
        ),
        (
            "its design, operators of our RTL, each output by itself",
            _value(1e3 * with_ours / config.clock_hz, "ms", derived),
            _value(1e3 * CLUES * with_ours / config.clock_hz, "ms", derived),
            *_memories(*saved.total(LIKE)),
            _value(best * config.clock_hz / 1e3 / with_ours, "x", "derived"),
        ),
    ]
    closed = []
    for name in (LIKE, OURS):
        at = OmrConfig.named(name)
        found = [saved.matmul(name, outputs) for outputs in (1, CLUES)]
        closed += [f"{name}, {o}" for o, (_, run) in zip((1, CLUES), found, strict=True) if not run]
        times = [_ms(cycles, at) for cycles, _ in found]
        faster = _value(best / times[0].number, "x", "derived")
        rows.append((name, *times, *_memories(*saved.total(name)), faster))
    ours, (total, _) = rows[-1], saved.total(OURS)
    assert isinstance(ours[1], Value)
    assert isinstance(ours[2], Value)
    reached = all(t.number <= aim for t, aim in zip((ours[1], ours[2]), AIM_MS, strict=True))
    return Table(
        "A matrix x vector product of 65,536 x 1,024",
        ("", "one output", "both outputs", "DSP", "BRAM36", "URAM", "paper / one output"),
        tuple(rows),
        (
            f"Both outputs: two matrices and one encrypted vector. The paper runs Algorithm 1 twice, {CLUES} * "
            f"{MATMUL.milliseconds:,} ms; our machines share the baby steps.",
            f"Aims of {OURS}: {AIM_MS[0]} and {AIM_MS[1]} ms ({'' if reached else 'not '}reached) with the paper's "
            f"{MATMUL.dsp:,} DSP slices ({'' if total.dsp <= MATMUL.dsp else 'not '}reached: {total.dsp:,}).",
            "Machines: saved runs of the program by the replica of the timing or in RTL"
            + (f"; in closed form, as none is saved: {'; '.join(closed)}." if closed else "."),
        ),
    )


def speedups(saved: Saved, found: Measured | None) -> Table:
    """Table IV's improvements over a CPU, over the paper's and over this one."""
    config = OmrConfig.named(LIKE)
    fpga = {
        CCADD.name: _ms(_value(BENCHED[CCADD.name], "", "rtl"), config),
        PCMUL.name: _ms(_value(BENCHED[PCMUL.name], "", "rtl"), config),
        ROT.name: _ms(saved.rotation(LIKE), config),
        MATMUL.name: _ms(saved.matmul(LIKE, 1)[0], config),
    }
    fast = {MATMUL.name: _ms(saved.matmul(OURS, 1)[0], OmrConfig.named(OURS))}
    fast[ROT.name] = _ms(saved.rotation(OURS), OmrConfig.named(OURS))
    here: dict[str, float] = {}
    if found is not None:
        times = {CCADD: found.add, PCMUL: found.multiply, ROT: found.rotate, MATMUL: found.matmul}
        here = {o.name: 1e3 * taken.wall for o, taken in times.items()}
    rows: list[tuple[Cell, ...]] = []
    for o in OPERATORS:
        mine, ms, best = here.get(o.name), fpga[o.name].number, fast.get(o.name)
        rows.append(
            (
                o.name,
                _value(o.improvement, "x", "paper"),
                _value(o.cpu_ms / ms, "x", "derived"),
                None if best is None else _value(o.cpu_ms / best.number, "x", "derived"),
                None if mine is None else _value(mine, "ms", "derived" if o is MATMUL else "measured"),
                *(
                    None if mine is None or over is None else _value(mine / over, "x", "derived")
                    for over in (o.milliseconds, ms, None if best is None else best.number)
                ),
            )
        )
    note = (
        "Without --measure the CPU here is not asked."
        if found is None
        else "The CPU here: wall time of one thread, 23 + 12 primes of 49.57 bits; MatMul is SCALED from operators. "
        "A speed-up over one thread says what it would be over more only if they scaled."
    )
    return Table(
        "Improvements over CPUs: the paper's CPU, and this one" + (" (SCALED MatMul)" if found else ""),
        (
            "operator", "printed", f"its CPU / {LIKE}", f"its CPU / {OURS}", "CPU here", "CPU here / paper",
            f"CPU here / {LIKE}", f"CPU here / {OURS}",
        ),
        tuple(rows),
        (
            f"Its CPU: printed time times improvement, a Xeon W-2295, threads not stated. {OURS} has 24 + 12 primes of "
            "50 bits where the paper has 19 + 10 of 60.",
            note,
        ),
    )  # fmt: skip


def equation7(saved: Saved) -> Table:
    """DSP slices by Equation 7."""
    rows: list[tuple[Cell, ...]] = []

    def line(label: str, groups: int, each: tuple[int, int, int], source: Source, printed: int | None = None) -> None:
        cells = [_value(groups, "", source), *(_value(x, "", source) for x in each)]
        last = None if printed is None else _value(printed, "", "paper")
        rows.append((label, *cells, _value(machine.dsps(groups, *each), "", "model"), last))

    for d in DESIGNS:
        each = (machine.published_product(d.multiply).resources.dsp, CCADD.dsp, ROT.dsp)
        line(f"paper, order {d.order}", d.cores, each, "derived", MATMUL.dsp if d.order == 1 else None)
    for name in (LIKE, OURS):
        config = OmrConfig.named(name)
        cores = config.rows * config.cols * config.groups
        core, source = saved.core(name)
        line(name, cores, (machine.product(config, chain_of(config)).resources.dsp, 0, core.dsp), source)
    config = OmrConfig.named(LIKE).model_copy(update={"multiplier": "montgomery"})
    core = machine.rotation(config, chain_of(config)).resources
    product = machine.product(config, chain_of(config)).resources.dsp
    line(f"{LIKE} with Montgomery multipliers", 2, (product, 0, core.dsp), "model")
    return Table(
        "Equation 7: DSP slices = cores * PCmul + (cores + 1) * CCadd + Rot",
        ("", "cores", "PCmul", "CCadd", "Rot", "by Eq. 7", "printed"),
        tuple(rows),
        (
            f"{OURS}'s cores are those of its grid: rows x columns x groups. The paper prints slices of the first "
            "design alone.",
        ),
    )


def busy() -> Table:
    """Cycles of each unit in a rotation, by the model."""
    configs = [OmrConfig.named(name) for name in (LIKE, OURS)]
    found = [machine.rotation_busy(c, chain_of(c)) for c in configs]
    rows: list[tuple[Cell, ...]] = [
        (unit.upper(), *(_value(counts[unit], "cycles") for counts in found)) for unit in found[0]
    ]
    rows.append(("one by itself", *(_value(machine.rotation_cycles(c, chain_of(c)), "cycles") for c in configs)))
    rows.append(("in a chain", *(_value(round(machine.rotation_chained(c, chain_of(c))), "cycles") for c in configs)))
    return Table(
        "A rotation by unit",
        ("unit", LIKE, OURS),
        tuple(rows),
        ("Units work beside each other: a chain of rotations takes little more than the busiest does.",),
    )


def unexplained() -> Table:
    """Numbers of the paper beside what its own counts give."""
    transforms, elementwise = cost.rotation_cycles()
    serial = 1e3 * (transforms + elementwise) / cost.CLOCK_HZ
    known = 64 * machine.PUBLISHED_MULTIPLIER
    buffers = ROT.uram + BABIES * 5 + 8 * 14
    whole = sum(cost.cpu_seconds(cost.affine())) / CLUES
    rate = 1e3 * cost.elementwise_cycles() / cost.CLOCK_HZ
    slices = machine.published_product(16).resources.dsp
    found: tuple[tuple[str, float, float | None, str, str], ...] = (
        ("CCadd, PCmul: time", PCMUL.milliseconds, rate, "ms", "rows at 200 MHz, which is not stated"),
        ("PCmul: DSP", PCMUL.dsp, slices, "", "16 * 56 + 1; 56 and 1 are fitted"),
        ("Rot: time", ROT.milliseconds, serial, "ms", "no model: transforms and products in turns take less"),
        ("Rot: DSP", ROT.dsp, known, "", "64 butterflies; the rest follows from no count"),
        ("Rot: BRAM", ROT.bram, 12 * 128, "", "12 sets of 128 banks: a factorisation, not a derivation"),
        ("Rot: URAM", ROT.uram, None, "", "no model"),
        ("MatMul: URAM", MATMUL.uram, buffers, "", "Rot's, 46 diagonals of 5, 8 limbs of 14; 4 are left over"),
        ("MatMul: time", MATMUL.milliseconds, machine.published_point(16, 2).ms, "ms", "Eqs 3 to 6"),
        ("MatMul on its CPU", 1e3 * CPU_SECONDS, 1e3 * whole, "ms", "its operators' times, baby rotations shared"),
    )
    rows = tuple(
        (name, _value(printed, unit, "paper"), None if count is None else _value(count, unit), by)
        for name, printed, count, unit, by in found
    )
    return Table(
        "What follows from the paper's own counts",
        ("number", "printed", "by count", "by what"),
        rows,
        ("Where a count gives another number than the printed one, the printed one follows from no model here.",),
    )


def validation(folder: Path) -> list[Table]:
    """How far the models are from RTL, where that is saved."""
    paths = sorted(folder.glob("hw-omr-validation-*.jsonl"))
    if not paths:
        return []
    found: list[dict[str, Any]] = [json.loads(text) for text in paths[-1].read_text(encoding="utf-8").splitlines()]
    rows: list[tuple[Cell, ...]] = []
    for work in dict.fromkeys(str(r["algorithm"]) for r in found):
        chosen = [r for r in found if r["algorithm"] == work]
        errors = [
            max(100 * abs(r["extra"][model] / r["cycles"] - 1) for r in chosen) for model in ("replica", "closed_form")
        ]
        rows.append((work, _value(len(chosen), "", "rtl"), *(_value(e, "%", "rtl") for e in errors)))
    return [
        Table(
            "Models of omr against RTL: largest errors on drawn cases",
            ("cases", "number", "replica", "closed form"),
            tuple(rows),
            (f"Small machines, rings of 2^8 to 2^11; neither model is fitted; {paths[-1].name}.",),
        )
    ]


def tables(folder: Path, wanted: Iterable[str] = ALL, found: Measured | None = None) -> list[Table]:
    """Those that belong to the paper's tables asked for, with what is saved in a folder.

    Args:
        folder: of saved results. wanted: of `tables.ALL`. found: times of the CPU here, if they were measured.

    Raises:
        FormatError: a saved synthesis is damaged.
    """
    saved, asked = Saved(folder), set(wanted)
    made: list[Table] = []
    if "III" in asked:
        made.append(table3(saved))
    if "IV" in asked:
        made += [table4(saved), matmuls(saved), speedups(saved, found), equation7(saved)]
    if asked >= set(ALL):
        made += [busy(), unexplained(), *validation(folder)]
    return made
