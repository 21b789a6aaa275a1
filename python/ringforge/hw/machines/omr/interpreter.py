# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The omr machine's instructions in numpy: what every program must give, word by word.

Programs run in program order; `check_waits` says whether their waits make any order of units the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge._native import kernels
from ringforge.errors import HardwareError
from ringforge.hw.core.dram import Dram
from ringforge.hw.machines.omr.config import CONSTANTS, MODULI, QUOTIENT_BITS, QUOTIENTS, OmrConfig
from ringforge.hw.machines.omr.layout import modulus_entry, radix, twiddles_of
from ringforge.hw.machines.omr.program import (
    UNDER_WAY,
    Conflicts,
    Instruction,
    Op,
    Program,
    Unit,
    check_counts,
    effects,
    name_of,
)  # fmt: skip

Words = npt.NDArray[np.uint64]

_UNDEFINED: Final = "reads what was never written"


def check_waits(program: Program) -> None:
    """Whether every instruction is known to start after those whose places it shares are complete.

    Known is what it waits for, what its unit has done before, and all that those knew. A dispatcher that waits for
    full queues adds: of every unit, all but the last few that were dispatched are complete.

    Raises:
        HardwareError: it is not; the message names the two instructions and the place.
    """
    conflicts = Conflicts()
    clocks: list[list[int]] = []  # of each instruction, when it is complete: completed ones of each unit, at least
    of_unit: list[list[int]] = [[] for _ in Unit]  # numbers of a unit's instructions
    ordinal: list[int] = []
    for number, i in enumerate(program.instructions):
        known = [max(len(numbers) - UNDER_WAY, 0) for numbers in of_unit]
        before = [of_unit[i.unit][-1]] if of_unit[i.unit] else []
        for unit in Unit:
            if i.need >> unit & 1:
                count = i.wait[unit]
                if not 0 < count <= len(of_unit[unit]):
                    raise HardwareError(f"instruction {number} waits for {count} of {unit.name}: not earlier ones")
                before.append(of_unit[unit][count - 1])
        for earlier in before:
            known = [max(pair) for pair in zip(known, clocks[earlier], strict=True)]
        for earlier, place in conflicts.add(
            number, i.unit, effects(i, program.log_n, program.sums, program.parts)
        ).items():
            unit = program.instructions[earlier].unit
            if ordinal[earlier] >= known[unit]:
                raise HardwareError(
                    f"instruction {number}, {i.op.name}, may start before {earlier}, "
                    f"{program.instructions[earlier].op.name}, has done with {name_of(place)}"
                )
        ordinal.append(len(of_unit[i.unit]))
        of_unit[i.unit].append(number)
        known[i.unit] = len(of_unit[i.unit])
        clocks.append(known)
    check_counts(program)


class Interpreter:
    """A machine without time.

    Args:
        config: the machine. memory: what it loads from and stores to.
    """

    def __init__(self, config: OmrConfig, memory: Dram) -> None:
        self.config, self.memory = config, memory
        ways = range(config.ways)
        self._set = kernels.active()
        self._x: list[list[Words | None]] = [[None] * config.buffers for _ in ways]
        self._tw: list[list[Words | None]] = [[None] * 2 for _ in ways]
        self._d: list[Words | None] = [None] * config.banks
        self._v: list[tuple[Words, Words] | None] = [None] * QUOTIENTS  # integer part, fraction
        self._acc: list[list[list[Words | None]]] = [[[None] * 2, [None] * 2] for _ in ways]
        self._moduli: list[dict[int, tuple[int, ...]]] = [{} for _ in ways]
        self._constants: list[dict[int, int]] = [{} for _ in ways]
        self._inverse_radix: dict[int, int] = {}
        self._log_n = 0
        #: Operations so far, by name, of all ways.
        self.counts: dict[str, int] = {}

    def run(self, program: Program, progress: Callable[[int], None] | None = None) -> None:
        """Works a program off.

        Args:
            progress: called with the instructions that are done, after each.

        Raises:
            HardwareError: the machine would refuse an instruction, it reads what was never written, or its waits do not
                cover what it shares with others.
            ParameterError: it loads or stores where there is no memory.
        """
        check_waits(program)
        self._log_n = program.log_n
        for number, i in enumerate(program.instructions):
            try:
                self._step(i, program)
            except HardwareError as e:
                raise HardwareError(f"instruction {number}, {i.op.name}: {e}") from None
            if progress is not None:
                progress(number + 1)

    # ---- places ----

    def _of(self, places: list[Words | None], index: int, what: str) -> Words:
        if index >= len(places):
            raise HardwareError(f"there is no {what} {index}, but {len(places)}")
        found = places[index]
        if found is None:
            raise HardwareError(f"{_UNDEFINED}: {what} {index}")
        return found

    def _put(self, places: list[Words | None], index: int, value: Words, what: str) -> None:
        if index >= len(places):
            raise HardwareError(f"there is no {what} {index}, but {len(places)}")
        places[index] = value

    def _load(self, address: int) -> Words:
        return self.memory.read(address, 1 << self._log_n).copy()

    def _q(self, way: int, i: Instruction) -> int:
        if i.mod not in self._moduli[way]:
            raise HardwareError(f"{_UNDEFINED}: modulus {i.mod} of way {way}")
        return self._moduli[way][i.mod][3]

    def _constant(self, way: int, k: int) -> int:
        if k not in self._constants[way]:
            raise HardwareError(f"{_UNDEFINED}: constant {k} of way {way}")
        return self._constants[way][k]

    # ---- arithmetic ----

    def _plain(self, q: int) -> int:
        """What takes a second operand's factor out of a product."""
        if q not in self._inverse_radix:
            self._inverse_radix[q] = pow(radix(self.config), -1, q)
        return self._inverse_radix[q]

    def _times(self, a: Words, b: Words, q: int) -> Words:
        made: Words = kernels.mul(self._set, a, np.ascontiguousarray(b), q)
        return self._scaled(made, 1, q) if self.config.montgomery else made

    def _scaled(self, a: Words, constant: int, q: int) -> Words:
        made: Words = kernels.mul_scalar(self._set, a, constant * self._plain(q) % q, q)
        return made

    def _plus(self, a: Words, b: Words, q: int) -> Words:
        made: Words = kernels.add(self._set, a, np.ascontiguousarray(b), q)
        return made

    # ---- instructions ----

    def _step(self, i: Instruction, program: Program) -> None:
        self.counts[i.op.name] = self.counts.get(i.op.name, 0) + max(i.ways.bit_count(), 1)
        if i.op in (Op.LOADC, Op.LOADM):
            self._tables(i)
            return
        if i.op == Op.SUM:
            self._sum(i, program)
            return
        if not 0 < i.ways < 1 << self.config.ways:
            raise HardwareError(f"the mask of ways is {i.ways:#x}; there are {self.config.ways}")
        if i.op == Op.SCALE:
            self._scale(i)
            return
        for way in i.active():
            {
                Op.LOADX: self._loadx, Op.LOADT: self._loadt, Op.NTT: self._transform, Op.INTT: self._transform,
                Op.AUTO: self._auto, Op.CONV: self._conv, Op.KMAC: self._kmac, Op.FINAL: self._final,
                Op.STORE: self._store,
            }[i.op](way, i)  # fmt: skip

    def _tables(self, i: Instruction) -> None:
        if i.src >= self.config.ways or i.count == 0:
            raise HardwareError(f"a table of way {i.src}, {i.count} entries")
        if i.op == Op.LOADC:
            if i.k + i.count > CONSTANTS:
                raise HardwareError(f"constants to {i.k + i.count}; there are {CONSTANTS}")
            for at, word in enumerate(self.memory.read(i.addr0, i.count)):
                self._constants[i.src][i.k + at] = int(word)
            return
        if i.mod + i.count > MODULI:
            raise HardwareError(f"moduli to {i.mod + i.count}; there are {MODULI}")
        for at, entry in enumerate(self.memory.read(i.addr0, 4 * i.count).reshape(-1, 4)):
            found = tuple(int(word) for word in entry)
            if found != modulus_entry(self.config, found[3]):
                raise HardwareError(f"entry {i.mod + at} of the moduli does not fit together")
            self._moduli[i.src][i.mod + at] = found

    def _loadx(self, way: int, i: Instruction) -> None:
        self._put(self._x[way], i.dst, self._load(i.addr0 + way * i.stride0), "X")

    def _loadt(self, way: int, i: Instruction) -> None:
        self._put(self._tw[way], i.dst, self._load(i.addr0 + way * i.stride0), "TW")

    def _transform(self, way: int, i: Instruction) -> None:
        q, x = self._q(way, i), self._of(self._x[way], i.src, "X")
        # Entry 0 is not used.
        if not np.array_equal(self._of(self._tw[way], i.bank, "TW")[1:], twiddles_of(self.config, q, self._log_n)[1:]):
            raise HardwareError(f"the table of twiddles is not that of {q}")
        made = kernels.ntt(self._set, x, q) if i.op == Op.NTT else kernels.intt(self._set, x, q)
        self._put(self._x[way], i.dst, made, "X")

    def _auto(self, way: int, i: Instruction) -> None:
        if i.element % 2 == 0 or i.element >> self._log_n + 1 or i.dst == i.src:
            raise HardwareError(f"an automorphism by {i.element}, from X {i.src} to X {i.dst}")
        x = self._of(self._x[way], i.src, "X")
        self._put(self._x[way], i.dst, kernels.automorphism_eval(self._set, x, i.element), "X")

    def _scale(self, i: Instruction) -> None:
        w = np.uint64(self.config.word_bits)
        if i.dst >= QUOTIENTS:
            raise HardwareError(f"there is no V {i.dst}, but {QUOTIENTS}")
        if i.init:
            whole = fraction = np.zeros(1 << self._log_n, np.uint64)
        else:
            held = self._v[i.dst]
            if held is None:
                raise HardwareError(f"{_UNDEFINED}: V {i.dst}")
            whole, fraction = held
        for way in i.active():
            q = self._q(way, i)
            y = self._scaled(self._of(self._x[way], i.src, "X"), self._constant(way, i.k), q)
            self._put(self._d, i.bank + way, y, "D")
            shifted = y << np.uint64(self.config.shift(q))
            fraction = fraction + _high(shifted, self._constant(way, i.k + 1), self.config.word_bits)
            whole = whole + (fraction >> w)
            fraction = fraction & np.uint64((1 << self.config.word_bits) - 1)
        self._v[i.dst] = whole & np.uint64((1 << QUOTIENT_BITS) - 1), fraction

    def _conv(self, way: int, i: Instruction) -> None:
        if i.count == 0:
            raise HardwareError("a conversion of no sources")
        q, held = self._q(way, i), self._v[i.src]
        if held is None:
            raise HardwareError(f"{_UNDEFINED}: V {i.src}")
        # floor(V + 1/2)
        total = held[0] + (held[1] >> np.uint64(self.config.word_bits - 1))
        total = self._scaled(total, self._constant(way, i.k + i.count), q)
        for at in range(i.count):
            y = self._of(self._d, i.bank + at, "D") % np.uint64(q)
            total = self._plus(total, self._scaled(y, self._constant(way, i.k + at), q), q)
        self._put(self._x[way], i.dst, total, "X")

    def _kmac(self, way: int, i: Instruction) -> None:
        q, acc = self._q(way, i), self._acc[way][i.bank]
        if i.to_x and not i.from_memory and i.src == i.dst:
            raise HardwareError(f"sums to X {i.dst}, which is the operand: part 0 would overwrite it before part 1")
        o = self._load(i.addr0 + way * i.stride0) if i.from_memory else self._of(self._x[way], i.src, "X")
        sums: list[Words] = []
        if i.add:
            keys = None
        else:
            rows = self.memory.read(i.addr1 + way * i.stride1, 2 << self._log_n).reshape(-1, 2, self.config.lanes)
            keys = [np.ascontiguousarray(rows[:, part]).reshape(-1) for part in (0, 1)]
        for part in (0, 1):
            term = self._times(o, keys[part], q) if keys is not None else o if part == i.part else np.zeros_like(o)
            sums.append(term if i.init else self._plus(self._of(acc, part, "accumulator"), term, q))
        for part in (0, 1):
            if i.to_x:
                self._put(self._x[way], i.dst + part, sums[part], "X")
            else:
                acc[part] = sums[part]

    def _final(self, way: int, i: Instruction) -> None:
        q = self._q(way, i)
        acc, x = self._of(self._acc[way][i.bank], i.part, "accumulator"), self._of(self._x[way], i.src, "X")
        made: Words = self._scaled(kernels.sub(self._set, acc, x, q), self._constant(way, i.k), q)
        if i.add:
            made = self._plus(made, self._load(i.addr0 + way * i.stride0), q)
        self._put(self._x[way], i.dst, made, "X")

    def _store(self, way: int, i: Instruction) -> None:
        x = self._of(self._x[way], i.src, "X")
        if i.add:
            x = self._plus(x, self._load(i.addr1 + way * i.stride1), self._q(way, i))
        self.memory.write(i.addr0 + way * i.stride0, x)

    def _sum(self, i: Instruction, program: Program) -> None:
        if not 1 <= i.src <= self.config.rows or i.count == 0:
            raise HardwareError(f"{i.src} sums of {i.count} terms; the grid has {self.config.rows} rows")
        q, s = self._q(0, i), program.sums
        for row in range(i.src):
            for part in range(self.config.cols):
                total = np.zeros(1 << self._log_n, np.uint64)
                for term in range(i.count):
                    ct = self._load(i.addr0 + part * s.ct_col + term * s.ct_term)
                    diagonal = self._load(i.addr1 + row * s.diag_row + term * s.diag_term)
                    total = self._plus(total, self._times(ct, diagonal, q), q)
                self.memory.write(i.stride0 + row * s.out_row + part * s.out_col, total)


def _high(y: Words, constant: int, bits: int) -> Words:
    """floor(y * constant / 2^bits) for y below 2^bits and a constant of bits + 1 bits."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    low, high = np.uint64(constant & 0xFFFFFFFF), np.uint64(constant >> 32)
    y0, y1 = y & mask, y >> half
    a, b, c, d = y0 * low, y0 * high, y1 * low, y1 * high
    middle = (a >> half) + (b & mask) + (c & mask)
    top = d + (b >> half) + (c >> half) + (middle >> half)
    bottom = (middle << half) | (a & mask)
    made: Words = (top << np.uint64(64 - bits)) | (bottom >> np.uint64(bits))
    return made
