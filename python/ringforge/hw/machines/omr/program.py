# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Instructions of the omr machine, what they read and write, and programs of them.

An instruction has 512 bits, eight words of 64. Its unit starts it when every unit has completed as many instructions
as it waits for; units know nothing else of each other, so a compiler makes the waits from reads and writes.

>>> code = Instruction(Op.CONV, dst=3, mod=1, k=20, bank=4, count=12, ways=3).encode()
>>> found = Instruction.decode(code)
>>> found.op.name, found.unit.name, found.count, found.ways
('CONV', 'CONV', 12, 3)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, HardwareError, ParameterError

Words = npt.NDArray[np.uint64]

#: 64-bit words of an instruction.
INSTRUCTION_WORDS: Final = 8
#: Instructions of a unit that may be dispatched and not completed: its queue, the one at work, and what hands over.
UNDER_WAY: Final = 8
#: Instructions that a unit's queue holds.
QUEUE: Final = 4
#: Completion counters count modulo 2^16, and how far one may be passed and is still known as reached.
_COUNTER: Final = 1 << 16
_REACH: Final = _COUNTER // 2


class Op(IntEnum):
    """Operations."""

    LOADX = 1
    LOADT = 2
    LOADC = 3
    LOADM = 4
    NTT = 5
    INTT = 6
    AUTO = 7
    SCALE = 8
    CONV = 9
    KMAC = 10
    FINAL = 11
    STORE = 12
    SUM = 13


class Unit(IntEnum):
    """Units: each does its instructions in order, beside the others."""

    LOAD = 0
    XFORM = 1
    SCALE = 2
    CONV = 3
    KMAC = 4
    FINAL = 5
    STORE = 6
    SUM = 7


UNIT_OF: Final = {
    Op.LOADX: Unit.LOAD, Op.LOADT: Unit.LOAD, Op.LOADC: Unit.LOAD, Op.LOADM: Unit.LOAD, Op.NTT: Unit.XFORM,
    Op.INTT: Unit.XFORM, Op.AUTO: Unit.XFORM, Op.SCALE: Unit.SCALE, Op.CONV: Unit.CONV, Op.KMAC: Unit.KMAC,
    Op.FINAL: Unit.FINAL, Op.STORE: Unit.STORE, Op.SUM: Unit.SUM,
}  # fmt: skip

#: Fields, their first bits and widths.
_FIELDS: Final = {
    "op": (0, 4), "dst": (4, 8), "src": (12, 8), "mod": (20, 8), "k": (28, 16), "bank": (44, 8), "part": (52, 4),
    "ways": (56, 4), "addr0": (64, 48), "addr1": (128, 48), "count": (192, 16), "init": (208, 1),
    "from_memory": (209, 1), "to_x": (210, 1), "add": (211, 1), "element": (224, 17), "need": (248, 8),
    "stride0": (384, 48), "stride1": (448, 48),
}  # fmt: skip
_FLAGS: Final = ("init", "from_memory", "to_x", "add")
_WAITS: Final = 256


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; what each field means to an operation says the machine's README.

    Attributes:
        op: operation. dst, src: buffers. mod: entry of the tables of moduli. k: first constant. bank, part: source
            banks, accumulators. ways: mask of those at work. addr0, addr1: bytes; those of way v are v strides on.
        count: of sources, entries or terms. init, from_memory, to_x, add: flags. element: of an automorphism.
        need: mask of units that it waits for. wait: completed instructions of each unit that it needs.
    """

    op: Op
    dst: int = 0
    src: int = 0
    mod: int = 0
    k: int = 0
    bank: int = 0
    part: int = 0
    ways: int = 0
    addr0: int = 0
    addr1: int = 0
    count: int = 0
    init: bool = False
    from_memory: bool = False
    to_x: bool = False
    add: bool = False
    element: int = 0
    stride0: int = 0
    stride1: int = 0
    need: int = 0
    wait: tuple[int, ...] = (0,) * len(Unit)

    @property
    def unit(self) -> Unit:
        """That works it off."""
        return UNIT_OF[self.op]

    def encode(self) -> int:
        """Its 512 bits.

        Raises:
            ParameterError: a field does not fit; the message names it.
        """
        code = 0
        for name, (first, width) in _FIELDS.items():
            value = int(getattr(self, name))
            if not 0 <= value < 1 << width:
                raise ParameterError(f"{name} of an instruction is {value}, which {width} bits do not hold")
            code |= value << first
        for unit, count in enumerate(self.wait):
            code |= count % _COUNTER << _WAITS + 16 * unit
        return code

    @classmethod
    def decode(cls, code: int) -> Instruction:
        """The instruction of 512 bits; waits modulo 2^16.

        Raises:
            FormatError: there is no such operation.
        """
        found = {name: code >> first & (1 << width) - 1 for name, (first, width) in _FIELDS.items()}
        if found["op"] not in list(Op):
            raise FormatError(f"no instruction: there is no operation {found['op']}")
        wait = tuple(code >> _WAITS + 16 * unit & _COUNTER - 1 for unit in Unit)
        flags = {name: bool(found.pop(name)) for name in _FLAGS}
        return cls(op=Op(found.pop("op")), wait=wait, **flags, **found)  # type: ignore[arg-type]

    def active(self) -> Iterator[int]:
        """Ways that are at work."""
        return (way for way in range(4) if self.ways >> way & 1)


@dataclass(frozen=True)
class SumStrides:
    """Where SUM's operands lie: bytes from a ciphertext's part to the next, from a term's ciphertext to the next, from
    a sum's diagonals to the next, from a term's diagonal to the next, from a sum to the next, and between its parts.
    """

    ct_col: int = 0
    ct_term: int = 0
    diag_row: int = 0
    diag_term: int = 0
    out_row: int = 0
    out_col: int = 0


@dataclass(frozen=True)
class Program:
    """Instructions in order, with their waits, and the registers that they are for.

    Attributes:
        log_n: log2 of the ring degree.
        instructions: in order of dispatch.
        sums: strides of all its SUMs.
        parts: of a SUM, columns of the machine's grid.
    """

    log_n: int
    instructions: Sequence[Instruction]
    sums: SumStrides = SumStrides()
    parts: int = 1

    def words(self) -> Words:
        """Its memory.

        Raises:
            ParameterError: a field of an instruction does not fit.
        """
        codes = b"".join(i.encode().to_bytes(8 * INSTRUCTION_WORDS, "little") for i in self.instructions)
        return np.frombuffer(codes, np.uint64).copy()

    def counts(self) -> dict[str, int]:
        """Instructions by operation."""
        found = dict.fromkeys((op.name for op in Op), 0)
        for i in self.instructions:
            found[i.op.name] += 1
        return {name: count for name, count in found.items() if count}


# ---- what instructions touch ----------------------------------------------------------------------

# Places are numbers: buffers and banks below 2^12, limbs of memory above.
_X, _TW, _D, _V, _ACC, _MODULI, _CONSTANTS, _MEMORY = 0, 64, 128, 256, 320, 384, 448, 1 << 12


def shared(place: int) -> bool:
    """Whether units may read a place at the same time: tables and memory, but no bank."""
    return place >= _MODULI or _TW <= place < _D


@dataclass(frozen=True, slots=True)
class Effects:
    """Places that an instruction reads and writes."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


def effects(i: Instruction, log_n: int, sums: SumStrides, parts: int) -> Effects:
    """What an instruction reads and writes: of memory whole limbs."""
    limb = 8 << log_n

    def limbs(address: int, size: int = limb) -> range:
        return range(_MEMORY + address // limb, _MEMORY + (address + size - 1) // limb + 1)

    def at(address: int, stride: int, count: int = 1) -> list[int]:
        return [p for way in i.active() for p in limbs(address + way * stride, count * limb)]

    x, y = _X + i.src, _X + i.dst
    match i.op:
        case Op.LOADX:
            return Effects((*at(i.addr0, i.stride0),), (y,))
        case Op.LOADT:
            return Effects((*at(i.addr0, i.stride0),), (_TW + i.dst,))
        case Op.LOADC:
            return Effects((*limbs(i.addr0, 8 * i.count),), (_CONSTANTS + i.src,))
        case Op.LOADM:
            return Effects((*limbs(i.addr0, 32 * i.count),), (_MODULI + i.src,))
    tables = [p for way in i.active() for p in (_MODULI + way, _CONSTANTS + way)]
    match i.op:
        case Op.NTT | Op.INTT:
            return Effects((x, _TW + i.bank, *tables), (y,))
        case Op.AUTO:
            return Effects((x,), (y,))
        case Op.SCALE:
            sums_before = () if i.init else (_V + i.dst,)
            return Effects((x, *sums_before, *tables), (*(_D + i.bank + way for way in i.active()), _V + i.dst))
        case Op.CONV:
            return Effects((*range(_D + i.bank, _D + i.bank + i.count), _V + i.src, *tables), (y,))
        case Op.KMAC:
            acc = (_ACC + 2 * i.bank, _ACC + 2 * i.bank + 1)
            operand = at(i.addr0, i.stride0) if i.from_memory else [x]
            keys = [] if i.add else at(i.addr1, i.stride1, 2)
            return Effects((*operand, *keys, *(() if i.init else acc), *tables), (y, y + 1) if i.to_x else acc)
        case Op.FINAL:
            more = at(i.addr0, i.stride0) if i.add else []
            return Effects((_ACC + 2 * i.bank + i.part, x, *more, *tables), (y,))
        case Op.STORE:
            more = at(i.addr1, i.stride1) if i.add else []
            return Effects((x, *more, *tables), (*at(i.addr0, i.stride0),))
    reads: list[int] = [_MODULI]
    writes: list[int] = []
    for part in range(parts):
        for term in range(i.count):
            reads += limbs(i.addr0 + part * sums.ct_col + term * sums.ct_term)
        for row in range(i.src):
            writes += limbs(i.stride0 + row * sums.out_row + part * sums.out_col)
    for row in range(i.src):
        for term in range(i.count):
            reads += limbs(i.addr1 + row * sums.diag_row + term * sums.diag_term)
    return Effects((*reads,), (*writes,))


def name_of(place: int) -> str:
    """A place in words."""
    if place >= _MEMORY:
        return f"limb {place - _MEMORY:#x} of memory"
    for first, what in ((_CONSTANTS, "constants of way"), (_MODULI, "moduli of way"), (_ACC, "half accumulator"),
                        (_V, "V"), (_D, "D"), (_TW, "TW"), (_X, "X")):  # fmt: skip
        if place >= first:
            return f"{what} {place - first}"
    return str(place)


class Conflicts:
    """Which earlier instructions one must come after: fed with all of them in order."""

    def __init__(self) -> None:
        self._writer: dict[int, int] = {}
        # All of them: a compiler may change their order.
        self._readers: dict[int, list[tuple[int, Unit]]] = {}

    def add(self, number: int, unit: Unit, e: Effects) -> dict[int, int]:
        """Earlier instructions, and a place for each that says why."""
        found: dict[int, int] = {}
        for place in (*e.reads, *e.writes):
            if place in self._writer:
                found[self._writer[place]] = place
        for place in e.reads:
            readers = self._readers.setdefault(place, [])
            if not shared(place):
                found.update((earlier, place) for earlier, other in readers if other != unit)
            readers.append((number, unit))
        for place in e.writes:
            found.update((earlier, place) for earlier, _ in self._readers.pop(place, ()))
            self._writer[place] = number
        found.pop(number, None)
        return found


def check_counts(program: Program) -> None:
    """Whether no unit can run so far beyond a count that the machine no longer knows it as reached.

    While an instruction waits in its queue, others are handed out up to the one that no longer fits behind it.

    Raises:
        HardwareError: one can; the message names the instruction.
    """
    of_unit: list[list[int]] = [[] for _ in Unit]  # numbers of a unit's instructions
    ordinal: list[int] = []
    for number, i in enumerate(program.instructions):
        ordinal.append(len(of_unit[i.unit]))
        of_unit[i.unit].append(number)
    if max(map(len, of_unit)) < _REACH:
        return
    for number, i in enumerate(program.instructions):
        behind = of_unit[i.unit][ordinal[number] + QUEUE : ordinal[number] + QUEUE + 1]
        for unit in Unit:
            if i.need >> unit & 1:
                most = bisect_left(of_unit[unit], behind[0] if behind else len(program.instructions))
                if most - i.wait[unit] >= _REACH:
                    raise HardwareError(
                        f"instruction {number}, {i.op.name}, waits for {i.wait[unit]} of {unit.name}, which may do "
                        f"{most} meanwhile: counts are known as reached for less than {_REACH} more, so split the "
                        "program"
                    )


# ---- compilers' side ------------------------------------------------------------------------------


@dataclass
class Builder:
    """Collects instructions in an order in which they are right one after the other.

    Attributes:
        log_n: log2 of the ring degree.
        sums, parts: as in `Program`.
        instructions: so far, without waits.
        after: for each, which earlier ones it must come after.
    """

    log_n: int
    sums: SumStrides = SumStrides()
    parts: int = 1
    instructions: list[Instruction] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)
    _conflicts: Conflicts = field(default_factory=Conflicts)

    def add(self, op: Op, **given: int) -> int:
        """Appends an instruction; its number."""
        made = Instruction(op, **given)  # type: ignore[arg-type]
        number = len(self.instructions)
        found = self._conflicts.add(number, made.unit, effects(made, self.log_n, self.sums, self.parts))
        self.instructions.append(made)
        self.after.append(sorted(found))
        return number

    def program(self, order: Sequence[int] | None = None) -> Program:
        """The program, in another order if given, one in which each comes after what it must come after.

        Raises:
            ParameterError: an order in which one does not.
            HardwareError: as `check_counts`.
        """
        order = range(len(self.instructions)) if order is None else order
        ordinal = [-1] * len(self.instructions)
        done = [0] * len(Unit)
        made: list[Instruction] = []
        for number in order:
            i, wait = self.instructions[number], [0] * len(Unit)
            for earlier in self.after[number]:
                unit = self.instructions[earlier].unit
                if ordinal[earlier] < 0:
                    raise ParameterError(f"instruction {number} comes before {earlier}, which it must come after")
                if unit != i.unit and ordinal[earlier] >= done[unit] - UNDER_WAY:
                    wait[unit] = max(wait[unit], ordinal[earlier] + 1)
            need = sum(1 << unit for unit, count in enumerate(wait) if count)
            made.append(_with_waits(i, need, tuple(wait)))
            ordinal[number] = done[i.unit]
            done[i.unit] += 1
        found = Program(self.log_n, made, self.sums, self.parts)
        check_counts(found)
        return found


def _with_waits(i: Instruction, need: int, wait: tuple[int, ...]) -> Instruction:
    names = ("op", "dst", "src", "mod", "k", "bank", "part", "ways", "addr0", "addr1", "count", *_FLAGS, "element",
             "stride0", "stride1")  # fmt: skip
    return Instruction(**{name: getattr(i, name) for name in names}, need=need, wait=wait)
