# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which cases of the instruction set the programs of elements with shared ALUs come to, as `coverage` counts them for
the others, and what those elements have besides: pairs, lifts in a MAC, 64 moduli, copies, banks of different sizes.

Counted are the random programs that the ordinary tests hold against the interpreter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector.isa import BFrom, Instruction, Opcode, bank_of, decode, row_of
from tests.hw.shared_programs import SharedPrograms

#: Random programs that are counted: those that the ordinary tests run.
SEEDS, LENGTH = range(14), 150

_C = {(0, 0): "a * B", (1, 0): "(a - c) * B", (0, 1): "a * B + c"}
_ENTRIES = ("entries 0-31", "entries 32-63")
_PLACES = ("in place", "in the operand's bank", "in another bank")
_LIFTS = ("no lift", "lift from the same modulus", "lift from another modulus")


def _place(dst: int, a: int) -> str:
    if dst == a:
        return _PLACES[0]
    return _PLACES[1 if bank_of(dst) == bank_of(a) else 2]


def _slot(config: FameConfig, log_n: int, what: str, code: int) -> Iterator[str]:
    bank, rows = bank_of(code), config.rows(log_n)
    table = bank >= config.banks
    yield f"{what} in {'the twiddle bank' if table else f'bank {bank}'}"
    last = (config.twiddle_slots(log_n) if table else config.bank_slots(log_n, bank)) - 1
    if row_of(code) // rows in (0, last):
        yield f"{what} the {'last' if row_of(code) else 'first'} slot of a bank"


def classes_of(config: FameConfig, element: int, program: Sequence[Instruction]) -> Iterator[str]:
    """The classes that one element's program meets, in its order, as often as it meets them."""
    log_n, waiting, primes = config.min_log_n, 0, dict[int, int]()
    stored, copied = set[int](), set[int]()
    last: Instruction | None = None
    for i in program:
        name = i.op.name
        yield name
        entry = _ENTRIES[i.entry >= 32]
        lift = _LIFTS[0]
        if i.lift:
            lift = _LIFTS[1 if primes[i.src_entry] == primes[i.entry] else 2]
        match i.op:
            case Opcode.CONF:
                log_n = i.imm & 0xFF
                yield f"CONF: N = 2^{log_n}"
            case Opcode.MODULUS:
                yield f"MODULUS: {entry}, {'set before' if i.entry in primes else 'new'}"
                primes[i.entry] = i.imm
            case Opcode.SYNC:
                yield f"SYNC: scope {i.scope}{', copies before' if copied else ''}"
                copied.clear()
            case Opcode.STREAM:
                waiting += 1
                yield f"STREAM: {waiting} wait"
                yield from _back("STREAM", i.addr, stored)
            case Opcode.LOAD:
                yield from _slot(config, log_n, "LOAD: dst", i.dst)
                yield from _back("LOAD", i.addr, stored)
            case Opcode.STORE:
                stored.add(i.addr)
                yield from _slot(config, log_n, "STORE: a", i.a)
            case Opcode.COPY:
                stored.add(-i.addr)
                copied.add(i.addr)
                yield f"COPY: {min(len(copied), 8)} under way"
            case Opcode.SEND:
                yield from _slot(config, log_n, "SEND: a", i.a)
            case Opcode.RECV:
                yield f"RECV: on element {element}"
                yield from _slot(config, log_n, "RECV: dst", i.dst)
            case Opcode.NTT | Opcode.INTT:
                kind = f"pair of {name}" if i.pair else name
                yield f"{kind}: {_place(i.dst, i.a)}, {lift}"
                yield f"{kind}: {entry}"
                yield f"{kind}: N = 2^{log_n}"
                if i.pair:
                    one = "one" if primes[i.entry] == primes[i.pair_mod] else "two"
                    yield f"{kind}: {one} modul{'us' if one == 'one' else 'i'}"
                    yield f"{kind}: {_ENTRIES[i.pair_mod >= 32]} second"
                    yield f"{kind}: second {_place(i.pair_dst, i.pair_a)}"
                    yield f"{kind}: {'one source' if i.a == i.pair_a else 'two sources'}"
                    together = bank_of(i.dst) == bank_of(i.pair_dst)
                    yield f"{kind}: results in {'one bank' if together else 'two banks'}"
            case Opcode.AUTO:
                yield f"AUTO: {_place(i.dst, i.a)}"
            case Opcode.MAC:
                source, c = BFrom(i.b_from).name.lower(), _C[i.pre_sub, i.post_add]
                waiting -= i.b_from == BFrom.STREAM
                yield f"MAC: {c}, B from {source}, {lift}"
                yield f"MAC: {c}, {_place(i.dst, i.a)}"
                yield f"MAC: {entry}"
                if last is not None and last.op is Opcode.MAC:
                    read = (
                        {i.a}
                        | ({i.b} if i.b_from == BFrom.SLOT else set())
                        | ({i.c} if i.pre_sub + i.post_add else set())
                    )
                    what = "reads" if last.dst in read else "writes" if last.dst == i.dst else "does not touch"
                    short = "short" if config.rows(log_n) <= 16 else "long"
                    yield f"MAC, {short}: {what} what the MAC before writes"
        last = i


def _back(name: str, address: int, stored: set[int]) -> Iterator[str]:
    if address in stored:
        yield f"{name}: what this element stored"
    if -address in stored:
        yield f"{name}: what was copied"


def expected(config: FameConfig) -> list[str]:
    """The classes that the programs must meet."""
    degrees = range(config.min_log_n, min(config.max_log_n, 10) + 1)
    out = [o.name for o in Opcode if o is not Opcode.REDUCE]
    out += [f"CONF: N = 2^{n}" for n in degrees]
    out += [f"MODULUS: {e}, {w}" for e in _ENTRIES for w in ("new", "set before")]
    out += [f"SYNC: scope {s}{c}" for s in range(3) for c in ("", ", copies before")]
    out += [f"STREAM: {n} wait" for n in range(1, 5)] + [f"COPY: {n} under way" for n in range(1, 4)]
    out += [f"{o}: what {w}" for o in ("LOAD", "STREAM") for w in ("this element stored", "was copied")]
    for what in ("LOAD: dst", "STORE: a", "SEND: a", "RECV: dst"):
        out += [f"{what} in bank {b}" for b in range(config.banks)]
        out += [f"{what} the {w} slot of a bank" for w in ("first", "last")]
    out += ["LOAD: dst in the twiddle bank", "RECV: on element 0", "RECV: on element 1"]
    out += [f"AUTO: {p}" for p in _PLACES[1:]]
    for kind in ("NTT", "INTT", "pair of NTT", "pair of INTT"):
        out += [
            f"{kind}: {p}, {x}"
            for p in _PLACES
            for x in (_LIFTS if kind.endswith(" NTT") or kind == "NTT" else _LIFTS[:1])
        ]
        out += [f"{kind}: {e}" for e in _ENTRIES] + [f"{kind}: N = 2^{n}" for n in degrees]
        if "pair" in kind:
            out += [f"{kind}: {w}" for w in ("one modulus", "two moduli", "one source", "two sources")]
            out += [f"{kind}: {e} second" for e in _ENTRIES] + [f"{kind}: second {p}" for p in _PLACES]
            out += [f"{kind}: results in {w}" for w in ("one bank", "two banks")]
    out += [f"MAC: {c}, B from {s.name.lower()}, {x}" for c in _C.values() for s in BFrom for x in _LIFTS]
    out += [f"MAC: {c}, {p}" for c in _C.values() for p in _PLACES] + [f"MAC: {e}" for e in _ENTRIES]
    touch = ("reads", "writes", "does not touch")
    return out + [f"MAC, {n}: {t} what the MAC before writes" for n in ("short", "long") for t in touch]


def count(config: FameConfig) -> Counter[str]:
    """How often the programs meet each class."""
    found: Counter[str] = Counter()
    for seed in SEEDS:
        case = SharedPrograms(config, seed, LENGTH)
        for e, words in enumerate(case.encoded()):
            found.update(classes_of(config, e, decode(words)))
    return found
