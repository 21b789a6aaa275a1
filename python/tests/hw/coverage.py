# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which cases of the instruction set the tests' programs come to: operations, values of fields, crosses, units.

    .venv/bin/python python/tests/hw/coverage.py                     # the table
    .venv/bin/python python/tests/hw/coverage.py --save bench/results

A class is a case that the hardware treats on its own, and every class must be met (`test_coverage.py`). Counted are the
programs that the ordinary tests hold against the interpreter: the random ones, and the directed ones, which go where
those do not.

Classes of instructions come from their words: each operation, with the values of its fields by ranges. Classes of units
come from the cycle model, over the directed programs: which unit of an element was at work while which other one was.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import replica
from ringforge.hw.vector.config import MAX_SHIFT
from ringforge.hw.vector.interpreter import STREAM_QUEUE
from ringforge.hw.vector.isa import MODULI, TWIDDLE_BANK, BFrom, Instruction, Opcode, Scope, bank_of, decode, row_of
from ringforge.hw.vector.replica_element import UNITS, Element
from tests.hw.directed_programs import directed
from tests.hw.random_programs import RandomPrograms

SMALL = ("matvec-small", "matvec-small-montgomery")
#: Random programs that are counted, by machine: some of those that the ordinary tests run.
SEEDS = {SMALL[0]: range(60), SMALL[1]: range(700, 740)}

_C = {(0, 0): "no c", (1, 0): "a - c", (0, 1): "+ c", (1, 1): "a - c and + c"}


def _entry(mod: int) -> str:
    """Ranges of the modulus table: its ends, and both halves."""
    if mod in (0, MODULI - 1):
        return f"entry {mod}"
    return "a low entry" if mod < MODULI // 2 else "a high entry"


def _place(dst: int, a: int) -> str:
    """Where a result goes, seen from its operand."""
    if dst == a:
        return "in place"
    return "in the operand's bank" if bank_of(dst) == bank_of(a) else "in another bank"


def _slot_classes(config: MatvecConfig, log_n: int, name: str, field: str, code: int) -> Iterator[str]:
    bank, table = bank_of(code), bank_of(code) == TWIDDLE_BANK
    if field != "tw":
        yield f"{name}: {field} in {'the twiddle bank' if table else f'bank {bank}'}"
    last = (config.twiddle_slots(log_n) if table else config.bank_slots(log_n)) - 1
    index = row_of(code) // config.rows(log_n)
    if index in (0, last):
        yield f"{name}: {field} the {'last' if index else 'first'} slot of a bank"


def classes_of(config: MatvecConfig, element: int, program: Sequence[Instruction]) -> Iterator[str]:
    """The classes that one element's program meets, in its order, as often as it meets them."""
    log_n, shift, waiting, configured = config.min_log_n, 0, 0, False
    primes: dict[int, int] = {}
    stored: set[int] = set()
    for i in program:
        name = i.op.name
        yield name
        match i.op:
            case Opcode.CONF:
                log_n, shift = i.imm & 0xFF, i.imm >> 8
                yield f"CONF: {'again' if configured else 'first'}"
                yield f"CONF: N = 2^{log_n}"
                if not config.montgomery:
                    yield f"CONF: shift {shift}"
                configured = True
            case Opcode.MODULUS:
                yield f"MODULUS: {_entry(i.mod)}, {'set before' if i.mod in primes else 'new'}"
                primes[i.mod] = i.imm
            case Opcode.SYNC:
                yield f"SYNC: scope {Scope(i.scope).name.lower()}"
            case Opcode.STREAM:
                waiting += 1
                yield f"STREAM: {waiting} wait"
            case Opcode.LOAD:
                yield from _slot_classes(config, log_n, name, "dst", i.dst)
                if i.addr in stored:
                    yield "LOAD: what this element stored"
            case Opcode.STORE:
                stored.add(i.addr)
                yield from _slot_classes(config, log_n, name, "a", i.a)
            case Opcode.SEND:
                yield from _slot_classes(config, log_n, name, "a", i.a)
            case Opcode.RECV:
                yield f"RECV: from {'a lower' if i.src_pe < element % config.pes else 'a higher'} element"
                yield from _slot_classes(config, log_n, name, "dst", i.dst)
            case Opcode.REDUCE:
                yield f"REDUCE: {_place(i.dst, i.a)}"
            case Opcode.NTT | Opcode.INTT:
                lift = ""
                if i.op is Opcode.NTT:
                    same = primes.get(i.src_mod) == primes.get(i.mod)
                    lift = f", lift from {'the same' if same else 'another'} modulus" if i.lift else ", no lift"
                yield f"{name}: {_place(i.dst, i.a)}{lift}"
                yield from _slot_classes(config, log_n, name, "tw", i.tw)
                yield f"{name}: N = 2^{log_n}"
            case Opcode.AUTO:
                yield f"AUTO: element {({1: '1', (2 << log_n) - 1: '2N - 1'}).get(i.imm, 'between')}"
                yield f"AUTO: {_place(i.dst, i.a)}"
                yield f"AUTO: N = 2^{log_n}"
            case Opcode.MAC:
                source, c = BFrom(i.b_from).name.lower(), _C[i.pre_sub, i.post_add]
                yield f"MAC: B from {source}, {c}"
                yield f"MAC: B from {source}, {_place(i.dst, i.a)}"
                if i.b_from == BFrom.STREAM:
                    waiting -= 1
                elif i.b_from == BFrom.SLOT:
                    yield f"MAC: b {'is a' if i.b == i.a else 'is dst' if i.b == i.dst else 'a slot of its own'}"
                else:
                    marked = {0: "0", 1: "1", (primes[i.mod] >> shift) - 1: "q - 1"}
                    yield f"MAC: imm {marked.get(i.imm, 'more')}"
                if i.pre_sub or i.post_add:
                    yield f"MAC: c {'is a' if i.c == i.a else 'is dst' if i.c == i.dst else 'a slot of its own'}"
                yield f"MAC: modulus in {_entry(i.mod)}"


def expected(config: MatvecConfig) -> list[str]:
    """The classes that a machine's programs must meet."""
    degrees = range(config.min_log_n, config.max_log_n + 1)
    places = ("in place", "in the operand's bank", "in another bank")
    entries = ("entry 0", "a low entry", "a high entry", f"entry {MODULI - 1}")
    out = [o.name for o in Opcode if o is not Opcode.COPY]  # these machines have one memory
    out += [
        "CONF: first",
        "CONF: again",
        *(f"{o}: N = 2^{n}" for o in ("CONF", "NTT", "INTT", "AUTO") for n in degrees),
    ]
    out += [] if config.montgomery else [f"CONF: shift {n}" for n in range(MAX_SHIFT + 1)]
    out += [f"MODULUS: {e}, {w}" for e in entries for w in ("new", "set before")]
    out += [f"SYNC: scope {s.name.lower()}" for s in Scope]
    out += [f"STREAM: {n} wait" for n in range(1, STREAM_QUEUE + 1)]
    out += ["LOAD: what this element stored"]
    for name, field in (("LOAD", "dst"), ("STORE", "a"), ("SEND", "a"), ("RECV", "dst")):
        out += [f"{name}: {field} in bank {b}" for b in range(config.banks)]
        out += [f"{name}: {field} the {w} slot of a bank" for w in ("first", "last")]
    out += ["LOAD: dst in the twiddle bank"]
    out += [f"{o}: tw the {w} slot of a bank" for o in ("NTT", "INTT") for w in ("first", "last")]
    out += ["RECV: from a lower element", "RECV: from a higher element", *(f"REDUCE: {p}" for p in places[1:])]
    lifts = ("no lift", "lift from the same modulus", "lift from another modulus")
    out += [f"NTT: {p}, {x}" for p in places for x in lifts]
    out += [f"INTT: {p}" for p in places]
    out += [f"AUTO: element {e}" for e in ("1", "2N - 1", "between")] + [f"AUTO: {p}" for p in places[1:]]
    for source in BFrom:
        out += [f"MAC: B from {source.name.lower()}, {x}" for x in (*_C.values(), *places)]
    out += [f"MAC: {x} {w}" for x in "bc" for w in ("is a", "is dst", "a slot of its own")]
    out += [_pair(*pair) for pair in combinations(range(len(UNITS)), 2)]
    out += [f"MAC: imm {x}" for x in ("0", "1", "q - 1", "more")] + [f"MAC: modulus in {e}" for e in entries]
    return out


def programs(name: str) -> Iterator[RandomPrograms]:
    """The programs that are counted of a machine."""
    config = MatvecConfig.named(name)
    yield from (RandomPrograms(config, seed) for seed in SEEDS[name])
    yield from directed(config)


class _Watched(Element):
    """An element of the cycle model that keeps when its units are at work."""

    spans: ClassVar[dict[int, list[tuple[int, int, int]]]] = {}

    def ran(self, unit: int, begin: int, end: int) -> None:
        super().ran(unit, begin, end)
        self.spans.setdefault(self.number, []).append((begin, end, unit))


def together(case: RandomPrograms) -> Iterator[str]:
    """Pairs of units that are at work in the same cycle, as often as an instruction begins beside another."""
    _Watched.spans.clear()
    with patch.object(replica, "Element", _Watched):
        replica.run(case.config, case.encoded())
    for spans in _Watched.spans.values():
        running: list[tuple[int, int]] = []
        for begin, end, unit in sorted(spans):
            running = [(e, u) for e, u in running if e > begin]
            yield from (_pair(unit, u) for _, u in running if u != unit)
            running.append((end, unit))


def _pair(one: int, other: int) -> str:
    return f"units {UNITS[min(one, other)]} and {UNITS[max(one, other)]} together"


def count(name: str) -> Counter[str]:
    """How often programs of a machine meet each class."""
    found: Counter[str] = Counter()
    for case in programs(name):
        for e, words in enumerate(case.encoded()):
            found.update(classes_of(case.config, e, decode(words)))
    for case in directed(MatvecConfig.named(name)):
        found.update(together(case))
    return found


def table() -> str:
    """How often each class is met, a column for each machine."""
    counts = {name: count(name) for name in SMALL}
    classes = list(dict.fromkeys(c for name in SMALL for c in expected(MatvecConfig.named(name))))
    width = max(map(len, classes))
    lines = [f"{'class':{width}}  " + "  ".join(SMALL)]
    for c in classes:
        cells = [f"{counts[name][c]:,}" if c in expected(MatvecConfig.named(name)) else "-" for name in SMALL]
        lines.append(f"{c:{width}}  " + "  ".join(f"{x:>{len(n)}}" for x, n in zip(cells, SMALL, strict=True)))
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Counts which cases of the instruction set the tests' programs meet.")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="also write the table to this folder")
    chosen = parser.parse_args(arguments)
    text = table()
    print(text, end="")
    if chosen.save is not None:
        path = chosen.save / f"hw-coverage-{datetime.now(UTC).date()}.txt"
        path.write_text(text)
        print(f"written to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
