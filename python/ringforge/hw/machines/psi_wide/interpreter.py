# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The streaming accelerator's instructions in numpy: what every program must give, word by word."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import HardwareError
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.small_ring import Gadget, Ring, added, multiplied, negated, reversed_bits, subtracted
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup, ciphertexts, image, plain_rows
from ringforge.hw.machines.psi_wide.program import BEAT_BYTES, Beside, Instruction, Op, Program, Table, Take, Times

Words = npt.NDArray[np.uint64]

_UNDEFINED: Final = "reads what was never written"


class Interpreter:
    """A machine without time: instructions have their effect one after the other.

    Args:
        config: the machine.
        setup: its registers.
        memory: what it loads from and stores to.

    Raises:
        ParameterError: the machine cannot hold the setup.
    """

    def __init__(self, config: WideConfig, setup: Setup, memory: Dram) -> None:
        setup.check(config)
        self.config, self.setup, self.memory = config, setup, memory
        self.ring: Ring = setup.ring
        n = self.ring.degree
        self.slots: list[Words | None] = [None] * config.slots
        self.rows: list[Words | None] = [None] * config.key_rows
        #: Operations so far: transforms of both directions.
        self.counts = {"product": 0, "ntt": 0, "intt": 0}
        self._tables: set[Table] = set()
        # Addresses that were stored and may not have arrived.
        self._stored: list[tuple[int, int]] = []
        # Position j holds the value at psi^exponent[j].
        self._exponent = 2 * reversed_bits(self.ring.log_n) + 1
        self._position = np.empty(2 * n, np.intp)
        self._position[self._exponent] = np.arange(n)
        self._powers = np.empty(2 * n, np.uint64)
        self._powers[reversed_bits(self.ring.log_n)] = self.ring.twiddles
        self._powers[n:] = negated(self._powers[:n], self.ring.q)

    def run(self, program: Program) -> None:
        """Works a program off.

        Raises:
            HardwareError: the machine would refuse an instruction, or it reads what was never written or loaded.
            ParameterError: it loads or stores where there is no memory.
        """
        for number, instruction in enumerate(program.instructions):
            try:
                self._step(instruction)
            except HardwareError as e:
                raise HardwareError(f"instruction {number}, {instruction.op.name}: {e}") from None

    # ---- places ----

    def _slot(self, index: int) -> Words:
        return self._of(self.slots, index, "slot")

    def _row(self, index: int) -> Words:
        return self._of(self.rows, index, "key row")

    def _of(self, places: list[Words | None], index: int, what: str) -> Words:
        if index >= len(places):
            raise HardwareError(f"there is no {what} {index}, but {len(places)}")
        found = places[index]
        if found is None:
            raise HardwareError(f"{_UNDEFINED}: {what} {index}")
        return found

    def _put(self, i: Instruction, value: Words) -> None:
        places = self.rows if i.to_row else self.slots
        if i.target >= len(places):
            raise HardwareError(f"there is no place {i.target}, but {len(places)}")
        places[i.target] = value

    def _bytes(self, beat: int, size: int) -> Words:
        address = beat * BEAT_BYTES
        if any(first < address + size and address < last for first, last in self._stored):
            raise HardwareError(f"reads {address:#x}, which was stored with no fence in between")
        return self.memory.read(address, size // 8)

    # ---- instructions ----

    def _step(self, i: Instruction) -> None:
        if i.fence:
            self._stored.clear()
        if i.op in (Op.LOAD, Op.STORE, Op.PLAIN, Op.CELLS) and i.s1 == 0:
            raise HardwareError("a count of 0")
        {
            Op.TABLE: self._table, Op.LOAD: self._load, Op.STORE: self._store, Op.PRODUCT: self._product,
            Op.LINEAR: self._linear, Op.PLAIN: self._plain, Op.CELLS: self._cells,
        }[i.op](i)  # fmt: skip

    def _table(self, i: Instruction) -> None:
        """Only notes that it was loaded: transforms here have tables of their own."""
        self._bytes(i.beat, self.config.word_bytes << self.ring.log_n)
        self._tables.add(Table(i.s1))

    def _load(self, i: Instruction) -> None:
        size = self.config.rlwe_bytes(self.ring.log_n)
        found = ciphertexts(self.config, self._bytes(i.beat, i.s1 * size), self.ring.log_n)
        places = self.rows if i.to_row else self.slots
        if i.target + i.s1 > len(places):
            raise HardwareError(f"there is no place {i.target + i.s1 - 1}, but {len(places)}")
        places[i.target : i.target + i.s1] = list(found)

    def _store(self, i: Instruction) -> None:
        found = np.stack([self._slot(i.target + k) for k in range(i.s1)])
        words = image(self.config, found)
        self.memory.write(i.beat * BEAT_BYTES, words)
        self._stored.append((i.beat * BEAT_BYTES, i.beat * BEAT_BYTES + words.nbytes))

    def _gather(self, i: Instruction) -> tuple[Words, Words]:
        """What is gathered, after the factor, and before it."""
        q = self.ring.q
        if i.element % 2 == 0:
            raise HardwareError("an even element")
        x = self._slot(i.s1)
        if i.take != Take.ONE:
            other = self._slot(i.s2)
            x = added(x, other, q) if i.take == Take.SUM else subtracted(x, other, q)
            if i.take == Take.REFLECTION:
                x = added(x, self._slot(i.s1), q)
        x = x[:, self._position[self._exponent * i.element % (2 * self.ring.degree)]]
        if i.times == Times.SCALAR:
            return multiplied(x, np.uint64(self.setup.scalar), q), x
        factor = self._powers[self._exponent * i.power % (2 * self.ring.degree)]
        if i.times == Times.POWER_LESS:
            factor = subtracted(factor, np.ones_like(factor), q)
        return multiplied(x, np.broadcast_to(factor, x.shape), q), x

    def _linear(self, i: Instruction) -> None:
        self._needs(Table.POWERS)
        sources = [i.s1] if i.take == Take.ONE else [i.s1, i.s2]
        if i.element != 1 and not i.to_row and i.target in sources:
            raise HardwareError("maps a slot onto itself")
        self._put(i, self._gather(i)[0])

    def _product(self, i: Instruction) -> None:
        self._needs(*Table)
        q = self.ring.q
        if i.both and i.beside != Beside.NONE:
            raise HardwareError("b beside digits of b")
        gathered, before = self._gather(i)
        polynomials = self.ring.inverse(gathered[: 2 if i.both else 1])
        gadgets = [self._gadget(index) for index in (i.gadget_a, i.gadget_b)[: len(polynomials)]]
        digits = np.concatenate([g.cut(p, q) for g, p in zip(gadgets, polynomials, strict=True)])
        if i.negate:
            digits = negated(digits, q)
        start = self._start(i)
        if i.beside != Beside.NONE:
            part = 0 if i.beside == Beside.A else 1
            start[part] = added(start[part], before[1], q)
        self.counts["product"] += 1
        self.counts["intt"] += len(polynomials)
        self._put(i, self._dot(start, digits, i.row))

    def _plain(self, i: Instruction) -> None:
        self._needs(Table.FORWARD)
        rows = plain_rows(self.config, self._bytes(i.beat, i.s1 * 2 * self.ring.degree), self.ring.log_n)
        self._put(i, self._dot(self._start(i), rows, i.row))

    def _cells(self, i: Instruction) -> None:
        self._needs(Table.POWERS)
        if i.s2 == 0:
            raise HardwareError("a count of 0")
        if 2 * i.s1 > self.ring.degree:
            raise HardwareError(f"{i.s1} monomials, but a row of numbers holds {self.ring.degree // 2}")
        if i.row + i.s2 > len(self.rows):
            raise HardwareError(f"there is no key row {i.row + i.s2 - 1}, but {len(self.rows)}")
        pairs = self._bytes(i.beat, 2 * self.ring.degree).view(np.uint16).reshape(-1, 2)[: i.s1].astype(np.intp)
        start, q = self._start(i), self.ring.q
        for power, row in pairs:
            if row >= i.s2:
                raise HardwareError(f"a monomial names key row {row} of {i.s2}")
            factor = self._powers[self._exponent * power % (2 * self.ring.degree)]
            start = added(start, multiplied(np.broadcast_to(factor, start.shape), self._row(i.row + row), q), q)
        self._put(i, start)

    def _start(self, i: Instruction) -> Words:
        return self._slot(i.init).copy() if i.has_init else np.zeros((2, self.ring.degree), np.uint64)

    def _dot(self, start: Words, polynomials: Words, row: int) -> Words:
        for index, polynomial in enumerate(self.ring.forward(polynomials)):
            product = multiplied(np.broadcast_to(polynomial, start.shape), self._row(row + index), self.ring.q)
            start = added(start, product, self.ring.q)
        self.counts["ntt"] += len(polynomials)
        return start

    def _gadget(self, index: int) -> Gadget:
        if index >= len(self.setup.gadgets):
            raise HardwareError(f"a gadget without digits: entry {index} of {len(self.setup.gadgets)}")
        return self.setup.gadgets[index]

    def _needs(self, *found: Table) -> None:
        for which in found:
            if which not in self._tables:
                raise HardwareError(f"the table {which.name} was not loaded")
