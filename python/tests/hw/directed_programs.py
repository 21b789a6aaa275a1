# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs that go through the cases of the instruction set in order, where random ones seldom come.

They are held against the interpreter as random ones are. Every result is stored, and `coverage.py` counts the cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import ClassVar

from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.interpreter import STREAM_QUEUE
from ringforge.hw.vector.isa import MODULI, TWIDDLE_BANK, Instruction, Scope, slot
from tests.hw.random_programs import POLYNOMIALS, PRIMES, RandomPrograms, _Element


def directed(config: MatvecConfig) -> Iterator[DirectedPrograms]:
    """One set of programs for each degree."""
    for log_n in range(config.min_log_n, config.max_log_n + 1):
        yield DirectedPrograms(config, log_n, log_n=log_n)


class DirectedPrograms(RandomPrograms):
    """Programs of all elements; the data are drawn from the seed, the instructions are not."""

    STORES: ClassVar[int] = 96

    def _body(self, length: int) -> None:  # noqa: ARG002
        config = self.config
        last = (config.bank_slots(self.log_n) - 1) * self.rows
        self.first, self.last = ([slot(b, r) for b in range(config.banks)] for r in (0, last))
        self.codes = [*self.first, *self.last]
        tables = config.twiddle_slots(self.log_n)
        self.table_codes = [slot(TWIDDLE_BANK, 0), slot(TWIDDLE_BANK, (tables - 1) * self.rows)]
        for part in (self._moduli, self._transforms, self._automorphisms, self._macs, self._queue, self._side_by_side):
            for e in self.elements:
                part(e)
        self._exchanges()
        self._memory()

    # ---- helpers ----------------------------------------------------------------------------------

    def _fill(self, e: _Element, code: int, prime: int, place: int = 0) -> int:
        e.program.append(Instruction.load(code, self._input(prime, 1 + place % POLYNOMIALS)))
        e.slots[code] = prime
        return code

    def _put(self, e: _Element, instruction: Instruction, prime: int, keep: bool = True) -> None:
        """An instruction whose result has residues of a prime, and a STORE of it."""
        e.program.append(instruction)
        e.slots[instruction.dst] = prime
        if keep:
            assert e.stores < self.STORES
            e.program.append(Instruction.store(instruction.dst, self._output(e, e.stores)))
            e.stores += 1

    def _places(self) -> tuple[int, int, int]:
        """Where results of the first slot go: in place, in its bank, in another one."""
        return self.first[0], self.last[0], self.first[1]

    # ---- one element ------------------------------------------------------------------------------

    def _moduli(self, e: _Element) -> None:
        """Every range of the modulus table, set twice, and used."""
        for entry in (0, 9, 22, MODULI - 1) * 2:
            self._modulus(e, entry, 0)
        a = self._fill(e, self.first[0], 0)
        for entry in (0, 9, 22, MODULI - 1):
            self._put(e, Instruction.mac(self.first[1], a, entry, imm=self.primes[0] - 1), 0)

    def _transforms(self, e: _Element) -> None:
        for code in self.table_codes:
            e.program.append(Instruction.load(code, self._input(0, 0)))
        self._modulus(e, 1, 1)
        sources = ((0, None), (0, 0), (1, 1))  # prime, entry to lift from
        for n, (dst, (prime, lift)) in enumerate(product(self._places(), sources)):
            a = self._fill(e, self.first[0], prime, n)
            self._put(e, Instruction.ntt(dst, a, self.table_codes[n % 2], 0, lift), 0)
        for n, dst in enumerate(self._places()):
            a = self._fill(e, self.first[0], 0, n)
            self._put(e, Instruction.intt(dst, a, self.table_codes[n % 2], 0), 0)

    def _automorphisms(self, e: _Element) -> None:
        a = self._fill(e, self.last[2], 1)
        for n, element in enumerate((1, 2 * self.degree - 1, 5)):
            self._put(e, Instruction.auto((self.first[2], self.first[n])[n % 2], a, element), 1)

    def _macs(self, e: _Element) -> None:
        """Sources of B, uses of c, and places of the result, all with all."""
        a, own_b, own_c = self.first
        for code in (self.last[0], a, own_b, own_c):
            self._fill(e, code, 0)
        q = self.primes[0]
        cases = product(("imm", "slot", "stream"), ((False, False), (True, False), (False, True), (True, True)))
        for n, ((source, (sub, add)), dst) in enumerate(product(cases, self._places())):
            b = (own_b, a, dst if dst in (a, own_b) else own_b)[n % 3] if source == "slot" else None
            c = (own_c, a)[n // 3 % 2] if sub or add else None
            if source == "stream":
                e.program.append(Instruction.stream(self._input(0, 1 + POLYNOMIALS + n % 2)))
            instruction = Instruction.mac(
                dst, a, 0, imm=(0, 1, q - 1, q // 3)[n % 4] if source == "imm" else None, b=b,
                stream=source == "stream", c=c, pre_sub=sub, post_add=add,
            )  # fmt: skip
            self._put(e, instruction, 0, keep=n % 2 == 0)
        self._fill(e, own_c, 0)
        self._put(e, Instruction.mac(own_c, a, 0, imm=q // 2, c=own_c, post_add=True), 0)

    def _queue(self, e: _Element) -> None:
        """As many waiting polynomials as the queue takes."""
        for n in range(STREAM_QUEUE):
            e.program.append(Instruction.stream(self._input(0, 1 + POLYNOMIALS + n % 2)))
        a, c = self._fill(e, self.first[0], 0), self._fill(e, self.first[1], 0, 1)
        for n in range(STREAM_QUEUE):
            self._put(e, Instruction.mac(c, a, 0, stream=True, c=c, post_add=True), 0, keep=n % 4 == 3)

    def _side_by_side(self, e: _Element) -> None:
        """What each unit does while each other is at work, in banks that leave it room."""
        zero, one, two = self.first
        for code in (*self.first, *self.last):
            self._fill(e, code, 0)
        table, out = self.table_codes[0], self._output(e, e.stores)
        e.stores += 1
        i = Instruction
        transform, mac = i.ntt(zero, zero, table, 0), i.mac(one, one, 0, imm=self.primes[0] // 5)
        load, store = i.load(self.last[2], self._input(0, 2)), i.store(two, out)
        for first, second in product((transform, mac, load, store), repeat=2):
            if first is not second:
                e.program += [first, second, i.sync(Scope.ELEMENT)]
        e.program += [load, transform, mac, store, i.sync(Scope.ELEMENT)]

    # ---- all elements -----------------------------------------------------------------------------

    def _exchanges(self) -> None:
        """SEND and RECV between all pairs of a group, sums over groups: from and to every bank, beside other units."""
        config = self.config
        for e in self.elements:
            self._modulus(e, 1, 1)
            for n, code in enumerate(self.codes):
                self._fill(e, code, 1, n)
        for n, (group, source) in enumerate(product(range(config.groups), range(config.pes))):
            members = self.elements[group * config.pes : (group + 1) * config.pes]
            for code in (*self.first, self.last[n % config.banks]):
                for e in members:
                    if e.pe == source:
                        mask = (1 << config.pes) - 1 - (1 << source)
                        e.program += [
                            Instruction.send(code, mask),
                            Instruction.mac(self._beside(code), self._beside(code), 1, imm=3),
                        ]
                    else:
                        e.program += [
                            Instruction.recv(code, source),
                            Instruction.auto(self._beside(code, 2), self._beside(code), 3),
                        ]
        for n, (a, dst) in enumerate(((0, 1), (1, 1), (2, 0))):
            for e in self.elements:
                into = self.last[dst]
                self._put(e, Instruction.reduce(into, self.first[a] if n != 1 else self.first[1], 1), 1)

    def _beside(self, code: int, by: int = 1) -> int:
        """A slot in another bank."""
        index = (self.first.index(code) if code in self.first else self.last.index(code)) + by
        return self.first[index % self.config.banks]

    def _memory(self) -> None:
        """Loads what was stored: by the element itself, by one of its group, by one of another group."""
        for scope, shift in ((Scope.ELEMENT, 0), (Scope.GROUP, 1), (Scope.MACHINE, self.config.pes)):
            for e in self.elements:
                self._put(e, Instruction.mac(self.first[0], self.first[0], 1, imm=5), 1)
            for e in self.elements:
                e.program.append(Instruction.sync(scope))
            for e in self.elements:
                other = (e.number + shift) % self.config.elements
                if scope == Scope.GROUP:
                    other = e.group * self.config.pes + (e.pe + 1) % self.config.pes
                e.program.append(Instruction.load(self.first[1], self._output(self.elements[other], e.stores - 1)))
                e.slots[self.first[1]] = 1
        assert PRIMES > 1
