# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Instructions and queue commands of the FHEW accelerator's published pipeline.

An instruction is 32 bits: [31:30] says what. Keys are addressed in units of 16 KiB from KEY_BASE on.

| | operation | operand | fields |
|---|---|---|---|
| 0 | STEP | loop FIFO | [29] last, [19:0] key |
| 1 | SUBSTITUTE | input FIFO | [29:26] entry of the table of substitutions |
| 2 | INIT | made here of b and the gate's bound | [29:27] gate, [26:17] b, [16:0] key |
| 3 | PRODUCT | input FIFO | [29] last, [19:0] key |

A queue is commands of 64 bits, [63:60] what: END; EXEC with an instruction in [31:0]; INPUT, OUTPUT, TABLES with an
address in [47:0]; SET with a register in [59:48] and its value in [31:0].

>>> hex(step(5, last=True)), hex(init(3, 100, 7)), hex(Command(Code.SET, 0x104, 8).word)
('0x20000005', '0x98c80007', '0x5104000000000008')
>>> Instruction.of(init(3, 100, 7))
Instruction(op=<Op.INIT: 2>, key=7, last=False, entry=0, gate=3, b=100)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

from ringforge.errors import ParameterError
from ringforge.hw.core.small_ring import Words

KEY_BITS: Final = 20
INIT_KEY_BITS: Final = 17
LWE_BITS: Final = 10
GATES: Final = 6
SUBSTITUTIONS: Final = 16
_ADDRESS_BITS: Final = 48


class Op(IntEnum):
    """What an instruction does."""

    STEP = 0
    SUBSTITUTE = 1
    INIT = 2
    PRODUCT = 3


class Code(IntEnum):
    """Commands of the queue."""

    END = 0
    EXEC = 1
    INPUT = 2
    OUTPUT = 3
    TABLES = 4
    SET = 5


def _field(what: str, value: int, limit: int) -> int:
    if not 0 <= value < limit:
        raise ParameterError(f"{what} {value} is outside 0 ... {limit - 1}, what an instruction has room for")
    return value


def step(key: int, *, last: bool = False) -> int:
    """The next product of a chain. Raises ParameterError for a key that is out of range."""
    return Op.STEP << 30 | last << 29 | _field("key address", key, 1 << KEY_BITS)


def product(key: int, *, last: bool = False) -> int:
    """The product of an input. Raises as `step`."""
    return Op.PRODUCT << 30 | last << 29 | _field("key address", key, 1 << KEY_BITS)


def substitution(entry: int) -> int:
    """X -> X^k of an input, k and the key of an entry of the table. Raises ParameterError: there is none."""
    return Op.SUBSTITUTE << 30 | _field("entry", entry, SUBSTITUTIONS) << 26


def init(gate: int, b: int, key: int) -> int:
    """The first product of a gate. Raises ParameterError for a gate, b or key out of range."""
    return (
        Op.INIT << 30
        | _field("gate", gate, GATES) << 27
        | _field("b", b, 1 << LWE_BITS) << 17
        | _field("key address", key, 1 << INIT_KEY_BITS)
    )


@dataclass(frozen=True)
class Instruction:
    """An instruction taken apart; fields that its operation lacks are 0."""

    op: Op
    key: int = 0
    last: bool = False
    entry: int = 0
    gate: int = 0
    b: int = 0

    @classmethod
    def of(cls, word: int) -> Instruction:
        """Takes 32 bits apart; every word is one of the four operations."""
        op = Op(word >> 30 & 3)
        if op is Op.SUBSTITUTE:
            return cls(op, entry=word >> 26 & 15)
        if op is Op.INIT:
            return cls(op, gate=word >> 27 & 7, b=word >> 17 & 0x3FF, key=word & 0x1FFFF)
        return cls(op, key=word & 0xFFFFF, last=bool(word >> 29 & 1))


@dataclass(frozen=True)
class Command:
    """A command of the queue: `operand` is an address, a register, or nothing; `value` an instruction or a value."""

    code: Code
    operand: int = 0
    value: int = 0

    @property
    def word(self) -> int:
        """Its 64 bits."""
        if self.code is Code.SET:
            return self.code << 60 | self.operand << 48 | self.value
        return self.code << 60 | (self.value if self.code is Code.EXEC else self.operand)

    @classmethod
    def of(cls, word: int) -> Command:
        """Takes 64 bits apart.

        Raises:
            ParameterError: there is no such command.
        """
        if word >> 60 not in list(Code):
            raise ParameterError(f"the queue has a command {word >> 60}; there are {', '.join(c.name for c in Code)}")
        code = Code(word >> 60)
        if code is Code.SET:
            return cls(code, word >> 48 & 0xFFF, word & 0xFFFFFFFF)
        if code is Code.EXEC:
            return cls(code, 0, word & 0xFFFFFFFF)
        return cls(code, word & (1 << _ADDRESS_BITS) - 1)


def execute(instruction: int) -> Command:
    """EXEC."""
    return Command(Code.EXEC, 0, instruction)


class Commands:
    """Commands in an order that keeps the pipeline full and cannot lock it up.

    The place of a result is named `lag` instructions after the one that makes it: so many fit into the reorder buffer,
    so that the queue always comes to name it.

    Args:
        lag: instructions.
    """

    def __init__(self, lag: int) -> None:
        self.lag = lag
        self.list: list[Command] = []
        self._count = 0
        self._places: list[tuple[int, int]] = []

    def load(self, address: int) -> None:
        """An RLWE into the input FIFO."""
        self.list.append(Command(Code.INPUT, address))

    def execute(self, instruction: int, place: int | None = None) -> None:
        """An instruction; `place` is where its result goes, if that leaves the machine."""
        self.list.append(execute(instruction))
        self._count += 1
        if place is not None:
            self._places.append((self._count, place))
        while self._places and self._places[0][0] + self.lag <= self._count:
            self._store()

    def _store(self) -> None:
        self.list.append(Command(Code.OUTPUT, self._places.pop(0)[1]))

    def end(self) -> list[Command]:
        """All of them, with what results are still to be stored, and END."""
        while self._places:
            self._store()
        return [*self.list, Command(Code.END)]


def queue(commands: Iterable[Command]) -> Words:
    """Memory of a queue: whole beats of 512 bits, and one more, since machines read ahead."""
    words = [command.word for command in commands]
    return np.array(words + [0] * (-len(words) % 8 + 8), np.uint64)
