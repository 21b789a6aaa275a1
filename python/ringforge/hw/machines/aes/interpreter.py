# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The aes machine's instructions in numpy: what every program must give, word by word.

Programs run in program order; `check_waits` says whether their waits make any order of units the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import HardwareError
from ringforge.hw.core.dram import Dram
from ringforge.hw.machines.aes.config import BUFFERS, KEYS, NARROW_WORDS, SETS, SLOTS, AesConfig
from ringforge.hw.machines.aes.layout import barrett, reversed_bits
from ringforge.hw.machines.aes.program import (
    UNDER_WAY,
    Conflicts,
    Instruction,
    Op,
    Program,
    Unit,
    in_turn,
    name_of,
)  # fmt: skip

#: Residues inside, so that products of two fit.
Words = npt.NDArray[np.uint64]

#: How far a count may be passed and is still known as reached.
_REACH: Final = 1 << 15
_RADIX: Final = 1 << 32


def stored_by(program: Program) -> list[range]:
    """Bytes that a program's STOREs write, in order, neighbours together."""
    found: list[range] = []
    for i in sorted((i for i in program.instructions if i.op == Op.STORE), key=lambda i: i.addr):
        made = range(i.addr, i.addr + i.bytes(program.log_n))
        if found and made.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, made.stop))
        else:
            found.append(made)
    return found


def check_waits(program: Program, *, fast: bool) -> None:
    """Whether every instruction is known to start after those whose places it shares are complete.

    Known is what it waits for, what its unit has done before (LOAD: over the same port), and all that those knew. A
    dispatcher that waits for full queues adds: of every unit, all but the last few that were dispatched are complete.

    Raises:
        HardwareError: it is not; the message names the two instructions and the place.
    """
    conflicts = Conflicts(program.log_n, fast=fast, stored=stored_by(program))
    clocks: list[list[int]] = []  # of each instruction, when it is complete: completed ones of each unit, at least
    of_unit: list[list[int]] = [[] for _ in Unit]  # numbers of a unit's instructions
    ordinal: list[int] = []
    for number, i in enumerate(program.instructions):
        known = [max(len(numbers) - UNDER_WAY, 0) for numbers in of_unit]
        before: list[int] = []
        if of_unit[i.unit] and i.unit != Unit.LOAD:
            before.append(of_unit[i.unit][-1])
        for unit in Unit:
            if i.need >> unit & 1:
                count = i.wait[unit]
                if not 0 < count <= len(of_unit[unit]):
                    raise HardwareError(f"instruction {number} waits for {count} of {unit.name}: not earlier ones")
                before.append(of_unit[unit][count - 1])
        for earlier in before:
            known = [max(pair) for pair in zip(known, clocks[earlier], strict=True)]
        for earlier, place in conflicts.add(number, i).items():
            other = program.instructions[earlier]
            if not in_turn(other, i) and ordinal[earlier] >= known[other.unit]:
                raise HardwareError(
                    f"instruction {number}, {i.op.name}, may start before {earlier}, {other.op.name}, has done with "
                    f"{name_of(place)}"
                )
        ordinal.append(len(of_unit[i.unit]))
        of_unit[i.unit].append(number)
        # Completions are counted in program order, so that all of a unit's before are complete, too.
        if len(of_unit[i.unit]) > 1:
            earlier_known = clocks[of_unit[i.unit][-2]]
            known = [max(pair) for pair in zip(known, earlier_known, strict=True)]
        known[i.unit] = len(of_unit[i.unit])
        clocks.append(known)
    _check_counts(program, of_unit)


def _check_counts(program: Program, of_unit: list[list[int]]) -> None:
    """Whether the machine knows every count as reached that is: it compares when it gets the instruction.

    Raises:
        HardwareError: a unit may be too far beyond one by then; the message names the instruction.
    """
    for number, i in enumerate(program.instructions):
        for unit in Unit:
            if i.need >> unit & 1 and (most := bisect_left(of_unit[unit], number)) - i.wait[unit] >= _REACH:
                raise HardwareError(
                    f"instruction {number}, {i.op.name}, waits for {i.wait[unit]} of {unit.name}, which may have done "
                    f"{most}: counts are known as reached for less than {_REACH} more"
                )


# ---- transforms ------------------------------------------------------------------------------------


def paper_transform(x: Words, table: Words, q: int) -> Words:
    """Values at powers of w in natural order, of words in bit-reversed order; the table has powers of w.

    Level by level: pairs whose indices differ in a bit, the odd one multiplied before they are added and subtracted.
    """
    modulus, half = np.uint64(q), 1
    while half < x.size:
        pairs = x.reshape(-1, 2, half)
        even, odd = pairs[:, 0], pairs[:, 1]
        if half > 1:
            odd = odd * table[:: x.size // (2 * half)] % modulus
        x = np.stack([_below(even + odd, q), _below(even + (modulus - odd), q)], axis=1).reshape(-1)
        half *= 2
    return x


def fast_transform(x: Words, table: Words, q: int) -> Words:
    """Values at w^brv(j) in slot j; block i of every level takes the table's factor i, which carries 2^32."""
    modulus, factors, blocks = np.uint64(q), _plain(table, q), 1
    while blocks < x.size:
        pairs = x.reshape(blocks, 2, -1)
        odd = pairs[:, 1] * factors[:blocks, None] % modulus
        even = pairs[:, 0]
        x = np.stack([_below(even + odd, q), _below(even + (modulus - odd), q)], axis=1).reshape(-1)
        blocks *= 2
    return x


def fast_inverse(x: Words, table: Words, q: int) -> Words:
    """Back, 1/N included: each level halves, and its factors carry a sign."""
    modulus, factors, blocks = np.uint64(q), _plain(table, q), x.size // 2
    while blocks:
        pairs = x.reshape(blocks, 2, -1)
        even = _half(_below(pairs[:, 0] + pairs[:, 1], q), q)
        odd = _half((pairs[:, 1] + (modulus - pairs[:, 0])) * factors[:blocks, None] % modulus, q)
        x = np.stack([even, odd], axis=1).reshape(-1)
        blocks //= 2
    return x


def _below(x: Words, q: int) -> Words:
    """A sum of two residues, and modulo q: less q it is huge if it was below."""
    made: Words = np.minimum(x, x - np.uint64(q))
    return made


def _half(x: Words, q: int) -> Words:
    made: Words = (x + (x & np.uint64(1)) * np.uint64(q)) >> np.uint64(1)
    return made


def _plain(x: Words, q: int) -> Words:
    """Without the factor 2^32."""
    return x * np.uint64(pow(_RADIX, -1, q)) % np.uint64(q)


# ---- the machine -----------------------------------------------------------------------------------


class Interpreter:
    """A machine without time.

    Args:
        config: the machine. memory: what it loads from and stores to.
    """

    def __init__(self, config: AesConfig, memory: Dram) -> None:
        self.config, self.memory = config, memory
        self._x: list[Words | None] = [None] * BUFFERS
        self._s: list[Words | None] = [None] * SLOTS
        self._k: list[Words | None] = [None] * KEYS
        self._t: list[Words | None] = [None] * (2 * SETS)
        self._c: list[Words | None] = [None] * SETS
        self._n = 0

    def run(self, program: Program, progress: Callable[[int], None] | None = None) -> None:
        """Works a program off.

        Args:
            progress: called with the instructions that are done, after each; what it raises ends the run.

        Raises:
            HardwareError: the machine would refuse an instruction, it reads what was never written, or its waits do not
                cover what it shares with others.
            ParameterError: it loads or stores where there is no memory.
        """
        check_waits(program, fast=self.config.fast)
        self._n = 1 << program.log_n
        for number, i in enumerate(program.instructions):
            try:
                self._step(i, program.log_n)
            except HardwareError as e:
                raise HardwareError(f"instruction {number}, {i.op.name}: {e}") from None
            if progress is not None:
                progress(number + 1)

    # ---- places ----

    @staticmethod
    def _of(places: list[Words | None], index: int, what: str) -> Words:
        if index >= len(places):
            raise HardwareError(f"there is no {what} {index}, but {len(places)}")
        found = places[index]
        if found is None:
            raise HardwareError(f"reads what was never written: {what} {index}")
        return found

    @staticmethod
    def _put(places: list[Words | None], index: int, value: Words, what: str) -> None:
        if index >= len(places):
            raise HardwareError(f"there is no {what} {index}, but {len(places)}")
        places[index] = value

    def _load(self, i: Instruction, log_n: int) -> Words:
        self._check_address(i)
        words = self.memory.read(i.addr, i.bytes(log_n) // 8)
        return words.view(np.uint16 if i.half and i.op == Op.LOADS else np.uint32).astype(np.uint64)

    def _check_address(self, i: Instruction) -> None:
        if i.port >= self.config.ports:
            raise HardwareError(f"there is no port {i.port}, but {self.config.ports}")
        if i.addr % self.config.port_bytes:
            # The machine would take the row that it is in.
            raise HardwareError(f"address {i.addr:#x} is no multiple of {self.config.port_bytes}")

    def _constants(self, i: Instruction) -> tuple[int, int]:
        """The prime of an instruction, and its set's factor."""
        row = self._of(self._c, i.set, "constants")
        q = int(row[0])
        if (int(row[1]), int(row[2])) != barrett(q):
            raise HardwareError(f"the constants of set {i.set} do not fit together")
        return q, int(row[3])

    def _times(self, a: Words, b: Words | int, q: int) -> Words:
        made: Words = a * np.asarray(b, np.uint64) % np.uint64(q)
        return _plain(made, q) if self.config.fast else made

    # ---- instructions ----

    def _step(self, i: Instruction, log_n: int) -> None:
        match i.op:
            case Op.LOADS:
                self._put(self._s, i.dst, self._load(i, log_n), "S")
            case Op.LOADX:
                self._put(self._x, i.dst, self._load(i, log_n), "X")
            case Op.LOADK:
                self._put(self._k, i.dst, self._load(i, log_n), "K")
            case Op.LOADC:
                self._put(self._c, i.set, self._load(i, log_n), "constants")
            case Op.LOADT:
                self._table(i, log_n)
            case Op.REVS | Op.REVX:
                self._reverse(i)
            case Op.NTT:
                self._transform(i)
            case Op.MUL:
                self._multiply(i)
            case Op.SCALE:
                q, factor = self._constants(i)
                self._put(self._x, i.dst, self._times(self._of(self._x, i.src, "X"), factor, q), "X")
            case Op.STORE:
                self._check_address(i)
                self.memory.write(i.addr, self._of(self._x, i.src, "X").astype(np.uint32).view(np.uint64))

    def _table(self, i: Instruction, log_n: int) -> None:
        most = self._n // 2 // NARROW_WORDS
        if not 0 < i.rows <= most:
            raise HardwareError(f"a table of {i.rows} rows, of {most}")
        # Rows beyond those that are loaded keep what they have.
        table, loaded = self._t[2 * i.set + i.inverse], self._load(i, log_n)
        if table is None or table.size != self._n // 2 or i.rows == most:
            table = np.zeros(self._n // 2, np.uint64)
        self._put(self._t, 2 * i.set + i.inverse, np.concatenate([loaded, table[loaded.size :]]), "tables")

    def _reverse(self, i: Instruction) -> None:
        if self.config.fast:
            raise HardwareError("this engine does not reverse")
        if i.op == Op.REVX and i.src == i.dst:
            raise HardwareError(f"X {i.src} is reversed into itself")
        if i.op == Op.REVS:
            x = np.concatenate([self._of(self._s, i.src, "S"), np.zeros(self._n // 2, np.uint64)])
        else:
            x = self._of(self._x, i.src, "X")
        self._put(self._x, i.dst, x[reversed_bits(self._n)], "X")

    def _transform(self, i: Instruction) -> None:
        q, _ = self._constants(i)
        table = self._of(self._t, 2 * i.set + i.inverse, "table")
        if not self.config.fast:
            if i.half or i.src != i.dst:
                raise HardwareError("this engine transforms in place, and buffers only")
            made = paper_transform(self._of(self._x, i.src, "X"), table, q)
        elif i.inverse:
            made = fast_inverse(self._of(self._x, i.src, "X"), table, q)
        elif i.half:
            words = self._of(self._s, i.src, "S")
            made = fast_transform(np.concatenate([words, np.zeros_like(words)]), table, q)
        else:
            made = fast_transform(self._of(self._x, i.src, "X"), table, q)
        self._put(self._x, i.dst, made, "X")

    def _multiply(self, i: Instruction) -> None:
        if not i.init and (i.dst == i.src or (not i.key and i.dst == i.src2)):
            raise HardwareError(f"adds to X {i.dst}, which is a factor")
        q, _ = self._constants(i)
        other = self._of(self._k, i.src2, "K") if i.key else self._of(self._x, i.src2, "X")
        made = self._times(self._of(self._x, i.src, "X"), other, q)
        if not i.init:
            made = (made + self._of(self._x, i.dst, "X")) % np.uint64(q)
        self._put(self._x, i.dst, made, "X")
