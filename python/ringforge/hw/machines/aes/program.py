# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Instructions of the aes machine, what they read and write, and programs of them.

An instruction has 256 bits, four words of 64. Its unit starts it when every unit has completed as many instructions as
it waits for; the machine tracks nothing else, so a compiler makes the waits from reads and writes.

>>> found = Instruction.decode(Instruction(Op.MUL, dst=2, src=0, src2=1, key=True, set=1).encode())
>>> found.op.name, found.unit.name, found.dst, found.key
('MUL', 'EXEC', 2, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, ParameterError
from ringforge.hw.machines.aes.config import NARROW_WORDS, WORD_BYTES

Words = npt.NDArray[np.uint64]

#: Bytes of an instruction, a beat of a port.
INSTRUCTION_BYTES: Final = 32
#: Instructions of a unit that may be dispatched and not completed, at most: its queue, those at work, what hands over.
UNDER_WAY: Final = 16
#: Completion counters count modulo 2^16.
_COUNTER: Final = 1 << 16


class Op(IntEnum):
    """Operations."""

    LOADS = 1
    LOADX = 2
    LOADK = 3
    LOADT = 4
    LOADC = 5
    REVS = 6
    REVX = 7
    NTT = 8
    MUL = 9
    SCALE = 10
    STORE = 11


class Unit(IntEnum):
    """Units: each does its instructions in order, beside the others; LOAD has a channel for each port."""

    LOAD = 0
    MOVE = 1
    EXEC = 2
    STORE = 3


UNIT_OF: Final = {
    Op.LOADS: Unit.LOAD, Op.LOADX: Unit.LOAD, Op.LOADK: Unit.LOAD, Op.LOADT: Unit.LOAD, Op.LOADC: Unit.LOAD,
    Op.REVS: Unit.MOVE, Op.REVX: Unit.MOVE, Op.NTT: Unit.EXEC, Op.MUL: Unit.EXEC, Op.SCALE: Unit.EXEC,
    Op.STORE: Unit.STORE,
}  # fmt: skip

#: Fields, their first bits and widths.
_FIELDS: Final = {
    "op": (0, 4), "dst": (4, 4), "src": (8, 4), "src2": (12, 4), "set": (16, 1), "init": (17, 1), "half": (18, 1),
    "key": (19, 1), "inverse": (20, 1), "port": (21, 1), "need": (24, 4), "addr": (64, 48), "rows": (192, 32),
}  # fmt: skip
_FLAGS: Final = ("init", "half", "key", "inverse")
_WAITS: Final = 128


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; what each field means to an operation says the machine's README.

    Attributes:
        op: operation. dst, src, src2: buffers or slots. set: of tables and constants.
        init, half, key, inverse: flags. port: of memory. addr: bytes. rows: narrow rows of a table.
        need: mask of units that it waits for. wait: completed instructions of each unit that it needs.
    """

    op: Op
    dst: int = 0
    src: int = 0
    src2: int = 0
    set: int = 0
    init: bool = False
    half: bool = False
    key: bool = False
    inverse: bool = False
    port: int = 0
    addr: int = 0
    rows: int = 0
    need: int = 0
    wait: tuple[int, ...] = (0,) * len(Unit)

    @property
    def unit(self) -> Unit:
        """That works it off."""
        return UNIT_OF[self.op]

    @property
    def loads(self) -> bool:
        """Whether it reads memory."""
        return self.op <= Op.LOADC

    def encode(self) -> int:
        """Its 256 bits.

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
        """The instruction of 256 bits; waits modulo 2^16.

        Raises:
            FormatError: there is no such operation.
        """
        found = {name: code >> first & (1 << width) - 1 for name, (first, width) in _FIELDS.items()}
        if found["op"] not in list(Op):
            raise FormatError(f"no instruction: there is no operation {found['op']}")
        wait = tuple(code >> _WAITS + 16 * unit & _COUNTER - 1 for unit in Unit)
        flags = {name: bool(found.pop(name)) for name in _FLAGS}
        return cls(op=Op(found.pop("op")), wait=wait, **flags, **found)  # type: ignore[arg-type]

    def bytes(self, log_n: int) -> int:
        """That it moves from or to memory."""
        match self.op:
            case Op.LOADS:
                return WORD_BYTES << log_n >> (2 if self.half else 1)
            case Op.LOADX | Op.LOADK | Op.STORE:
                return WORD_BYTES << log_n
            case Op.LOADT:
                return self.rows * NARROW_WORDS * WORD_BYTES
            case Op.LOADC:
                return NARROW_WORDS * WORD_BYTES
        return 0


@dataclass(frozen=True)
class Program:
    """Instructions in order, with their waits, and the register that they are for.

    Attributes:
        log_n: log2 of the length N of transforms.
        instructions: in order of dispatch.
    """

    log_n: int
    instructions: Sequence[Instruction]

    def words(self) -> Words:
        """Its memory.

        Raises:
            ParameterError: a field of an instruction does not fit.
        """
        codes = b"".join(i.encode().to_bytes(INSTRUCTION_BYTES, "little") for i in self.instructions)
        return np.frombuffer(codes, np.uint64).copy()

    def counts(self) -> dict[str, int]:
        """Instructions by operation."""
        found = dict.fromkeys((op.name for op in Op), 0)
        for i in self.instructions:
            found[i.op.name] += 1
        return {name: count for name, count in found.items() if count}


# ---- what instructions touch ----------------------------------------------------------------------

# Places are numbers: buffers, slots and tables below 2^8, pieces of memory of 64 bytes above.
_X, _S, _K, _T, _C, _MEMORY = 0, 16, 32, 48, 64, 1 << 8
_PIECE: Final = 64


def shared(place: int) -> bool:
    """Whether units may read a place at the same time: all but X, whose ports have one user each at a time."""
    return place >= _S


@dataclass(frozen=True, slots=True)
class Effects:
    """Places that an instruction reads and writes."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


def pieces(address: int, size: int) -> range:
    """Places of bytes of memory."""
    return range(_MEMORY + address // _PIECE, _MEMORY + (address + size - 1) // _PIECE + 1)


def effects(i: Instruction, log_n: int, *, fast: bool, memory: bool = True) -> Effects:
    """What an instruction reads and writes; without the memory that it reads if that is not asked for."""
    x, y, tables = _X + i.src, _X + i.dst, (_T + 2 * i.set + i.inverse, _C + i.set)
    if i.loads:
        to = {Op.LOADS: _S + i.dst, Op.LOADX: y, Op.LOADK: _K + i.dst, Op.LOADT: tables[0], Op.LOADC: tables[1]}[i.op]
        return Effects(tuple(pieces(i.addr, i.bytes(log_n))) if memory else (), (to,))
    match i.op:
        case Op.REVS:
            return Effects((_S + i.src,), (y,))
        case Op.REVX:
            return Effects((x,), (y,))
        case Op.NTT:
            halves = fast and i.half and not i.inverse
            return Effects((_S + i.src if halves else x, *tables), (y,))
        case Op.MUL:
            before = () if i.init else (y,)
            return Effects((x, _K + i.src2 if i.key else _X + i.src2, *before, tables[1]), (y,))
        case Op.SCALE:
            return Effects((x, tables[1]), (y,))
    return Effects((x,), tuple(pieces(i.addr, i.bytes(log_n))))


def name_of(place: int) -> str:
    """A place in words."""
    if place >= _MEMORY:
        return f"memory at {(place - _MEMORY) * _PIECE:#x}"
    for first, what in ((_C, "constants"), (_T, "half table"), (_K, "K"), (_S, "S"), (_X, "X")):
        if place >= first:
            return f"{what} {place - first}"
    return str(place)


class Conflicts:
    """Which earlier instructions one must come after: fed with all of them in order.

    Args:
        log_n: log2 of N. fast: the engine.
        stored: bytes of memory that any instruction writes: reads elsewhere are not followed. None: all are.
    """

    def __init__(self, log_n: int, *, fast: bool, stored: Sequence[range] | None = None) -> None:
        self._log_n, self._fast = log_n, fast
        self._stored = None if stored is None else [pieces(r.start, len(r)) for r in stored if len(r)]
        self._writer: dict[int, int] = {}
        self._readers: dict[int, list[tuple[int, Unit]]] = {}

    def _effects(self, i: Instruction) -> Effects:
        memory = self._stored is None
        if i.loads and self._stored is not None:
            read = pieces(i.addr, i.bytes(self._log_n))
            memory = any(read.start < r.stop and read.stop > r.start for r in self._stored)
        return effects(i, self._log_n, fast=self._fast, memory=memory)

    def add(self, number: int, i: Instruction) -> dict[int, int]:
        """Earlier instructions, and a place for each that says why."""
        e, found = self._effects(i), dict[int, int]()
        for place in (*e.reads, *e.writes):
            if place in self._writer:
                found[self._writer[place]] = place
        for place in e.reads:
            readers = self._readers.setdefault(place, [])
            if not shared(place):
                found.update((earlier, place) for earlier, unit in readers if unit != i.unit)
            readers.append((number, i.unit))
        for place in e.writes:
            found.update((earlier, place) for earlier, _ in self._readers.pop(place, ()))
            self._writer[place] = number
        found.pop(number, None)
        return found


def in_turn(earlier: Instruction, later: Instruction) -> bool:
    """Whether a unit does these two one after the other whatever they wait for: LOAD does so by port."""
    return earlier.unit == later.unit and (earlier.unit != Unit.LOAD or earlier.port == later.port)


# ---- compilers' side ------------------------------------------------------------------------------


@dataclass
class Builder:
    """Collects instructions in an order in which they are right one after the other.

    Attributes:
        log_n: log2 of N. fast: the engine.
        stored: bytes that STOREs write, where they are known ahead: memory elsewhere is not followed. None: all is.
        instructions: so far, without waits.
        after: for each, which earlier ones it must come after.
    """

    log_n: int
    fast: bool
    stored: Sequence[range] | None = None
    instructions: list[Instruction] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)
    _conflicts: Conflicts = field(init=False)

    def __post_init__(self) -> None:
        self._conflicts = Conflicts(self.log_n, fast=self.fast, stored=self.stored)

    def add(self, op: Op, **given: int) -> int:
        """Appends an instruction; its number."""
        made = Instruction(op, **given)  # type: ignore[arg-type]
        number = len(self.instructions)
        found = self._conflicts.add(number, made)
        self.instructions.append(made)
        self.after.append(sorted(found))
        return number

    def program(self, order: Sequence[int] | None = None) -> Program:
        """The program, in another order if given, one in which each comes after what it must come after.

        Raises:
            ParameterError: an order in which one does not.
        """
        order = range(len(self.instructions)) if order is None else order
        ordinal = [-1] * len(self.instructions)
        done = [0] * len(Unit)
        made: list[Instruction] = []
        for number in order:
            i, wait = self.instructions[number], [0] * len(Unit)
            for earlier in self.after[number]:
                other = self.instructions[earlier]
                if ordinal[earlier] < 0:
                    raise ParameterError(f"instruction {number} comes before {earlier}, which it must come after")
                if not in_turn(other, i) and ordinal[earlier] >= done[other.unit] - UNDER_WAY:
                    wait[other.unit] = max(wait[other.unit], ordinal[earlier] + 1)
            need = sum(1 << unit for unit, count in enumerate(wait) if count)
            made.append(replace(i, need=need, wait=tuple(wait)))
            ordinal[number] = done[i.unit]
            done[i.unit] += 1
        return Program(self.log_n, made)
