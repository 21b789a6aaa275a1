# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our machines beside the paper's: cycles in RTL where they are saved, else by the model of their timing.

`ringforge hw cycles aes`, `hw synth aes` and `bench aes --host` save what is read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ringforge.errors import FormatError
from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.aes import cost, jobs
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.layout import Target
from ringforge.hw.machines.aes.program import Instruction, Op, Program
from ringforge.hw.machines.aes.timing import Timing
from ringforge.lab.tables import Cell, Source, Table, Value
from ringforge.runs import Record

from . import cycles, machine_account, times
from .figures import (
    AES_MINUTES,
    BLOCK_MS,
    INNER_CYCLES,
    LEVEL_CYCLES,
    MULTIPLY_MS,
    PRIMES,
    PRODUCT_CYCLES,
    RELINEARISE_MS,
    RELINEARISE_NTT_MS,
    SCALING_CYCLES,
    SLOTS,
    WINDOWS,
)
from .machine_account import LOG_N
from .tables import ALL

#: The published engine on memories that allow its cycles, on those of the text, and ours.
PUBLISHED, TEXT, OURS = MACHINES = ("aes-paper", "aes-paper64", "aes-fast")
#: What ours is made for: milliseconds of a product and of a relinearisation with its keys at 8 GB/s, minutes of AES.
AIM_PRODUCT_MS, AIM_RELINEARISE_MS, AIM_MINUTES = 3.2, 115, 4
_SYSTEM: Final = "hw-aes"


def _value(number: float, unit: str = "", source: Source = "model") -> Value:
    return Value(number, unit, source)


def _paper(number: float, unit: str = "") -> Value:
    return Value(number, unit, "paper")


@dataclass(frozen=True)
class Case:
    """What a record is of: a machine, an instruction or a program, its primes, digits and ciphertexts, the link."""

    machine: str
    name: str
    primes: int = 1
    digits: int = 0
    ciphertexts: int = 1
    gap: int = 1


class Saved:
    """Cycles of our machines at full length, from a folder of results or by the model.

    Args:
        folder: of saved results; of equal ones the newest counts.
    """

    def __init__(self, folder: Path) -> None:
        self._rtl: dict[Case, int] = {}
        self._folder = folder
        # Names end with the date.
        for path in sorted(folder.glob("hw-aes-*.jsonl"), key=lambda p: (p.stem[-10:], p.name)):
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = Record.from_json(line)
                except (TypeError, ValueError):
                    continue
                by, _, name = record.device.partition(":")
                extra = record.extra
                if record.system != _SYSTEM or by != "rtl" or not record.cycles or extra.get("log_n") != LOG_N:
                    continue
                whole = record.case in ("product", "relinearisation")
                usual = None if name != PUBLISHED and name != TEXT else 1
                if extra.get("terms", 1) != 1 or extra.get("batch") not in (None, usual or jobs.BATCH):
                    continue
                case = Case(
                    name,
                    record.case,
                    extra.get("primes", 1),
                    extra.get("digits", 0) if record.case == "relinearisation" else 0,
                    extra.get("ciphertexts", 1),
                    extra.get("link_gap", 1) if whole else 1,
                )
                self._rtl[case] = record.cycles

    def alone(self, machine: str, name: str) -> Value:
        """Cycles of an instruction, from command to done."""
        if (found := self._rtl.get(Case(machine, name))) is not None:
            return _value(found, "", "rtl")
        return _value(Timing(AesConfig.named(machine), LOG_N).exec(_INSTRUCTIONS[name]))

    def whole(self, case: Case) -> Value:
        """Cycles of a product or a relinearisation."""
        if (found := self._rtl.get(case)) is not None:
            return _value(found, "", "rtl")
        config = AesConfig.named(case.machine).model_copy(update={"link_gap": case.gap})

        def program(target: Target) -> Program:
            if case.name == "product":
                return jobs.product(target, 2, [[(0, 1)]]).program
            return jobs.relinearise(target, case.digits, case.ciphertexts, None if config.fast else 1).program

        return _value(machine_account.cycles_of(config, program, case.primes))

    def synthesised(self, machine: str) -> tuple[Resources, Source]:
        """What a machine takes, and whether synthesis or a count says so.

        Raises:
            FormatError: a saved synthesis is damaged.
        """
        for path in sorted(self._folder.glob(f"hw-{machine}-synth-*.json"))[-1:]:
            try:
                kinds = json.loads(path.read_text(encoding="utf-8"))["machines"]
                return Resources(**next(iter(kinds.values()))["total"]), "rtl"
            except (ValueError, KeyError, TypeError, StopIteration) as e:
                raise FormatError(f"{path} holds no synthesis: {e}; delete it or save it anew") from None
        return cost.resources(AesConfig.named(machine)), "model"


_INSTRUCTIONS: Final = {
    "transform": Instruction(Op.NTT),
    "padded": Instruction(Op.NTT, half=True),
    "inverse": Instruction(Op.NTT, inverse=True),
    "multiply": Instruction(Op.MUL, init=True, key=True),
    "scale": Instruction(Op.SCALE),
    "reverse": Instruction(Op.REVX),
}


def _micro(v: Value) -> Value:
    return Value(cycles.microseconds(v.number), "us", "derived" if v.source == "rtl" else v.source)


def _ms(v: Value, config: AesConfig, times_: float = 1) -> Value:
    return Value(1e3 * times_ * v.number / config.clock_hz, "ms", "derived" if v.source == "rtl" else v.source)


def passes() -> Table:
    """Cycles of each level's multiplications and sums on the published engine."""
    found = [Timing(AesConfig.named(name), LOG_N) for name in (PUBLISHED, TEXT)]
    rows: list[tuple[Cell, ...]] = []
    for level in range(1, LOG_N + 1):
        printed = None if level == 1 else _paper(LEVEL_CYCLES)
        formula = None if level == 1 else Value(cycles.formula_cycles(level), "", "derived")
        ours = [_value(count) for timing in found for count in timing.passes(level)]
        rows.append((str(level), printed, formula, *ours))
    return Table(
        "A transform of 65,536 words by level: the published engine",
        (
            "level", "text", "formula", f"{PUBLISHED}: multiplications", "sums", f"{TEXT}: multiplications", "sums",
        ),
        tuple(rows),
        (
            "From the first row that a pass reads to the first of the next, by the model; the bench of aes_paper "
            "counts the same in RTL (`pytest -m long hw/aes/dv/test_aes_paper.py`). Level 1 only adds.",
            f"The text's {LEVEL_CYCLES} are 4 + 512 + 15, with {cycles.sums_of_level()} for sums (12,720 / 16 - "
            f"{LEVEL_CYCLES}). {PUBLISHED} has 256 memories of a read and a write port, which that takes; {TEXT} the "
            "64 of the text: a row of 64 words read and one written a cycle, of which up to level 6 half are operands.",
        ),
    )  # fmt: skip


def instructions(saved: Saved) -> Table:
    """The engines' instructions at full length."""
    printed: Mapping[str, int] = {
        "transform": PRODUCT_CYCLES, "inverse": PRODUCT_CYCLES, "multiply": INNER_CYCLES, "scale": SCALING_CYCLES,
    }  # fmt: skip
    labels = {
        "transform": "transform",
        "padded": "transform of a padded polynomial",
        "inverse": "inverse transform",
        "multiply": "inner product",
        "scale": "scaling",
        "reverse": "bit reversal",
    }
    rows: list[tuple[Cell, ...]] = []
    for name, label in labels.items():
        line: list[Cell] = [label, _paper(printed[name]) if name in printed else None]
        for machine in MACHINES:
            fast = machine == OURS
            skip = name == "reverse" if fast else name == "padded"
            line.append(None if skip else saved.alone(machine, name))
        rows.append(tuple(line))
    three = [
        sum((2 if n == ("padded" if m == OURS else "transform") else 1) * saved.alone(m, n).number for n in names)
        for m, names in zip(
            MACHINES, (("transform", "inverse"), ("transform", "inverse"), ("padded", "inverse")), strict=True
        )
    ]
    rows.append(
        (
            "the three transforms of a product",
            Value(cycles.TRANSFORMS * PRODUCT_CYCLES, "", "derived"),
            *(Value(count, "", "derived") for count in three),
        )
    )
    return Table(
        "Instructions on 65,536 words, cycles from command to done",
        ("", "paper", *MACHINES),
        tuple(rows),
        (
            "Bit reversal and loading stand apart: a reversal moves 8 words a cycle in a unit of its own, beside the "
            "engine; the paper has no cycles for it. Ours takes natural order and gives reversed order, and back.",
            "A product of polynomials of 32,768 coefficients pads both: ours leaves out the level of zeros.",
        ),
    )


def products(saved: Saved) -> Table:
    """A product and a relinearisation at the top level, with transfers."""
    rows: list[tuple[Cell, ...]] = []
    printed = {
        "computing": (Value(times.multiply_compute_ms(), "ms", "derived"), _paper(RELINEARISE_NTT_MS, "ms")),
        "whole": (_paper(MULTIPLY_MS, "ms"), _paper(RELINEARISE_MS, "ms")),
    }
    rows.append(("the paper, computing", *printed["computing"], None, None))
    rows.append(("the paper, with transfers", *printed["whole"], None, None))
    reached: list[float] = []
    for name in MACHINES:
        config = AesConfig.named(name)
        for gap, link in ((1, "PCIe with its headers"), (0, "8 GB/s")):
            product = saved.whole(Case(name, "product", PRIMES, gap=gap))
            one = saved.whole(Case(name, "relinearisation", PRIMES, WINDOWS, gap=gap))
            two = saved.whole(Case(name, "relinearisation", PRIMES, WINDOWS, 2, gap)) if config.fast else None
            line = [_ms(product, config), _ms(one, config), None if two is None else _ms(two, config, 0.5)]
            if name == OURS and not gap:
                reached = [cell.number for cell in line[:2] if cell is not None]
            rows.append((f"{name}, {link}", *line, _value(1e3 * _computing(config) / config.clock_hz, "ms")))
    aims = zip(reached, (AIM_PRODUCT_MS, AIM_RELINEARISE_MS), strict=True)
    return Table(
        f"A product and a relinearisation modulo {PRIMES} primes, transfers overlapped",
        ("", "product", "relinearisation", "one of two that share keys", "its computing alone"),
        tuple(rows),
        (
            f"Relinearisation: {WINDOWS} digits of 16 bits, keys over the host's link, sums in the transform domain; "
            "inverse CRT is the host's. The paper transforms every product back, 331 ms; once for each prime takes "
            f"{times.accumulated_ntt_ms():.0f}.",
            "Products are not reduced modulo Phi: the host does that. What it writes to the card's memory before is "
            "not in these times: tables once, and a ciphertext's digits (5.2 MB, 0.7 ms), of aes-fast.",
            f"Aims of {OURS} at 8 GB/s: {AIM_PRODUCT_MS} ms and {AIM_RELINEARISE_MS} ms, "
            f"{'' if all(got <= aim for got, aim in aims) else 'not '}reached.",
        ),
    )


def _computing(config: AesConfig) -> int:
    """Cycles of the engine in a relinearisation at the top level: transforms and products of digits, sums back."""
    digit = cost.transform(config, LOG_N, padded=True) + cost.elementwise(config, LOG_N)
    back = cost.transform(config, LOG_N) + cost.elementwise(config, LOG_N)
    return PRIMES * (WINDOWS * digit + back)


def resources(saved: Saved) -> Table:
    """DSP slices and memories."""
    rows: list[tuple[Cell, ...]] = []
    for name in MACHINES:
        config = AesConfig.named(name)
        found, source = saved.synthesised(name)
        kinds = cost.memories(config)
        rows.append(
            (
                name,
                _value(cost.multipliers(config)),
                _value(cost.multiplier_dsp(config)),
                _value(found.dsp, "", source),
                *(_value(kinds[k].bram36) for k in ("X", "S", "K", "twiddles")),
                _value(found.bram36, "", source),
            )
        )
    rows.append(("VC709", None, None, _paper(cost.CARD.dsp), None, None, None, None, _value(cost.CARD.bram36)))
    return Table(
        "Resources on a Virtex-7",
        ("", "multipliers", "DSP each", "DSP", "BRAM36: polynomials", "operands", "keys", "twiddles", "BRAM36"),
        tuple(rows),
        (
            "The paper's Table 2 is lost; 256 multipliers of three slices are its 768. Four buffers of 65,536 words, "
            "four of half the length, two of keys, two sets of twiddle factors: two primes at a time.",
            "256 memories of 256 words of 32 bits leave half of each half block RAM empty: what a row a cycle costs.",
        ),
    )


@dataclass(frozen=True)
class Host:
    """What the host does of AES, measured.

    Attributes:
        seconds: by thread count: of processor time with one, of wall time with more. text: on what, and when.
    """

    seconds: Mapping[int, float]
    text: str


def host(folder: Path) -> Host | None:
    """The newest saved measurement of the host's part; None if there is none."""
    for path in sorted(folder.glob("aes-host-*.jsonl"), key=lambda p: p.stem[-10:], reverse=True):
        found: dict[int, float] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = Record.from_json(line)
            except (TypeError, ValueError):
                continue
            if record.system == "aes" and record.case == "host" and record.params == "ltv-paper":
                found[record.threads] = record.seconds
        if found:
            return Host(found, path.name)
    return None


def account(measured: Host | None) -> Table:
    """AES-128 of 2,048 blocks: machines with their link, and the host's part."""
    rows: list[tuple[Cell, ...]] = [
        ("the paper, printed", None, None, None, None, _paper(AES_MINUTES, "min"), _paper(BLOCK_MS, "ms")),
    ]
    for a in times.accounts():
        minutes = Value(a.seconds / 60, "min", "derived")
        rows.append((f"its parts: {a.name}", None, None, None, None, minutes, Value(a.block_ms, "ms", "derived")))
    reached = False
    for name in MACHINES:
        spent = machine_account.aes(AesConfig.named(name))
        own = None if measured is None else measured.seconds[1]
        seconds = spent.seconds + (own or 0.0)
        reached = name == OURS and own is not None and seconds <= 60 * AIM_MINUTES
        rows.append(
            (
                name,
                _value(spent.products, "s"),
                _value(spent.relinearisations, "s"),
                _value(spent.seconds, "s"),
                None if own is None else Value(own, "s", "derived"),
                _value(seconds / 60, "min"),
                _value(1e3 * seconds / SLOTS, "ms"),
            )
        )
    notes = [
        "Machines: our circuit's sums of products and 2,880 relinearisations at their true levels, by the replica, the "
        "host's link with its headers included; keys cross it for each one or two ciphertexts. Nothing is halved.",
    ]
    if measured is None:
        notes.append(
            'The host\'s part is not saved: `ringforge bench aes --host --insecure "a reproduction" --save '
            "bench/results` measures it."
        )
    else:
        walls = "".join(f"; {s:.1f} s of wall time on {t}" for t, s in sorted(measured.seconds.items()) if t > 1)
        notes.append(
            "Host: digits, reduction modulo Phi, sums, switches, by times of one ciphertext at seven levels: processor "
            f"time of one thread{walls} ({measured.text}); reading 12.2 GB of keys is not in it. Nothing overlaps with "
            f"the machine. Aim: {AIM_MINUTES} min, {'' if reached else 'not '}reached."
        )
    return Table(
        "AES-128 of 2,048 blocks by the model of our machines",
        ("", "products", "relinearisation", "machine and link", "host", "whole", "a block"),
        tuple(rows),
        tuple(notes),
    )


def validation(folder: Path) -> list[Table]:
    """How far the replica is from RTL, where that is saved."""
    paths = sorted(folder.glob("hw-aes-validation-*.jsonl"))
    if not paths:
        return []
    found: list[dict[str, Any]] = [json.loads(text) for text in paths[-1].read_text(encoding="utf-8").splitlines()]
    rows: list[tuple[Cell, ...]] = []
    for work in dict.fromkeys(str(r["algorithm"]) for r in found):
        chosen = [r for r in found if r["algorithm"] == work]
        error = max(100 * abs(r["extra"]["replica"] / r["cycles"] - 1) for r in chosen)
        rows.append((work, _value(len(chosen), "", "rtl"), _value(error, "%", "rtl")))
    return [
        Table(
            "The model of aes against RTL: largest error on drawn cases",
            ("cases", "number", "replica"),
            tuple(rows),
            (f"Small machines; nothing is fitted; {paths[-1].name}.",),
        )
    ]


def tables(folder: Path, wanted: Iterable[str] = ALL) -> list[Table]:
    """Those that belong to the paper's tables asked for, with what is saved in a folder.

    Args:
        folder: of saved results. wanted: of `tables.ALL`.

    Raises:
        FormatError: a saved synthesis is damaged.
    """
    saved, asked = Saved(folder), set(wanted)
    made: list[Table] = []
    if "cycles" in asked:
        made.append(passes())
    if "transform" in asked:
        made += [instructions(saved), resources(saved)]
    if asked & {"times", "relinearisation"}:
        made.append(products(saved))
    if "aes" in asked:
        made.append(account(host(folder)))
    if asked >= set(ALL):
        made += validation(folder)
    return made
