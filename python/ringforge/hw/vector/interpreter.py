# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A functional interpreter of the vector family: what programs compute, without time.

It is the reference that the hardware and the compiler are held against. Residues are canonical here (the machine
keeps them shifted inside); transforms and products are those of the `ref` kernel set. The interpreter is stricter
than the machine: it refuses whatever would depend on timing or on leftovers, such as

* reading a slot or memory that nothing was written to, or residues of another modulus than the instruction's;
* loading what was stored without a SYNC of sufficient scope in between;
* loading or streaming what was copied from far memory without a SYNC in between;
* transforms with a table that is not the modulus's, primes or constants that are inconsistent;
* programs that wait for each other in a circle.

Elements take turns: each runs until it comes to a SEND, RECV, REDUCE or SYNC whose partners are not there yet. An
element at a SEND does not go on before the transfer, though the machine may; programs that finish here finish there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from ringforge._native import kernels
from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.dram import Dram
from ringforge.hw.vector import constants
from ringforge.hw.vector.config import LOAD_QUEUE, MAX_SHIFT, VectorConfig
from ringforge.hw.vector.isa import TWIDDLE_BANK, BFrom, Instruction, Opcode, Scope, bank_of, decode, row_of
from ringforge.hw.vector.polynomials import FlatMemory, PolynomialMemory

Words = npt.NDArray[np.uint64]

#: STREAMs that may wait for their MACs.
STREAM_QUEUE: Final = 8

_MEETING: Final = frozenset({Opcode.SEND, Opcode.RECV, Opcode.REDUCE, Opcode.SYNC, Opcode.END})


@dataclass
class _Residues:
    """Contents of a slot: words, and the prime they are residues of (0: not known, as it came from memory)."""

    words: Words
    prime: int = 0


@dataclass
class _Stored:
    """Who stored at an address, and after how many SYNCs of each scope."""

    element: int
    syncs: tuple[int, int, int]


@dataclass
class _Element:
    """State of one processing element."""

    number: int
    group: int
    pe: int
    program: list[Instruction]
    pc: int = 0
    ended: bool = False
    log_n: int = -1
    shift: int = 0
    moduli: dict[int, int] = field(default_factory=dict)
    slots: dict[int, _Residues] = field(default_factory=dict)
    #: Streamed polynomials that wait for their MACs, with their addresses.
    streams: deque[tuple[int, Words]] = field(default_factory=deque)
    #: Near addresses of COPYs since the last SYNC.
    copying: set[int] = field(default_factory=set)
    #: SYNCs passed: of any scope, of the group's or the machine's, of the machine's.
    syncs: tuple[int, int, int] = (0, 0, 0)
    #: Addresses and slots of the last LOADs, as long as nothing proves that they have finished, which they do in order.
    loading: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=LOAD_QUEUE))

    def loaded(self, code: int) -> None:
        """An instruction reads or writes a slot: the LOAD into it has finished, and those before it."""
        while any(slot == code for _, slot in self.loading):
            self.loading.popleft()

    @property
    def at(self) -> Instruction:
        return self.program[self.pc]

    def waits_at(self, op: Opcode) -> bool:
        """It is at an instruction of this operation."""
        return not self.ended and self.pc < len(self.program) and self.at.op is op


class Interpreter:
    """Runs one program per element on a simulated memory.

    Args:
        config: the machine.
        dram: memory; stores change it. A `Dram` is one that all elements share, a residue in each word.
        kernel_set: of the library; `ref` is the reference, `kernels.active()` is faster.
    """

    def __init__(self, config: VectorConfig, dram: Dram | PolynomialMemory, kernel_set: str = "ref") -> None:
        self.config = config
        self.memory: PolynomialMemory = FlatMemory(dram) if isinstance(dram, Dram) else dram
        self.set = kernel_set
        self.executed: Counter[str] = Counter()
        self._elements: list[_Element] = []
        self._stored: dict[tuple[int, int], _Stored] = {}

    def run(self, programs: Sequence[npt.ArrayLike]) -> None:
        """Executes programs (n, 4) of element 0, 1, ... (group by group) until all have ended.

        Raises:
            IllegalInstructionError: an instruction is not allowed, or the elements wait for each other for ever; the
                message names element and position. The state is then undefined.
            ParameterError: not one program per element.
        """
        config = self.config
        if len(programs) != config.elements:
            raise ParameterError(f"machine {config.name} runs {config.elements} programs, not {len(programs)}")
        self._elements = [
            _Element(k, k // config.pes, k % config.pes, decode(words)) for k, words in enumerate(programs)
        ]
        self._stored.clear()
        ready = deque(self._elements)
        while ready:
            element = ready.popleft()
            if element.ended:
                continue
            self._advance(element)
            if not element.ended:
                ready.extend(self._meet(element))
        waiting = [e for e in self._elements if not e.ended]
        if waiting:
            where = "; ".join(f"element {e.number} at {e.pc}: {e.at}" for e in waiting[:8])
            raise IllegalInstructionError(f"elements wait for each other for ever: {where}")

    # ---- one element ------------------------------------------------------------------------------

    def _refuse(self, e: _Element, why: str) -> NoReturn:
        text = str(e.at) if e.pc < len(e.program) else "after its last instruction"
        raise IllegalInstructionError(
            f"element {e.number} (group {e.group}, pe {e.pe}), instruction {e.pc} [{text}]: {why}"
        )

    def _advance(self, e: _Element) -> None:
        """Executes up to the next instruction that needs partners."""
        while True:
            if e.pc >= len(e.program):
                self._refuse(e, "the program has no END")
            i = e.at
            if e.log_n < 0 and i.op not in (Opcode.CONF, Opcode.END):
                self._refuse(e, "the first instruction must be CONF")
            if i.op is Opcode.END:
                if e.streams:
                    self._refuse(e, f"{len(e.streams)} streamed polynomials were never used")
                self.executed[i.op.name] += 1
                e.ended = True
                return
            if i.op in _MEETING:
                return
            self._execute(e, i)
            self._next(e, i)

    def _next(self, e: _Element, i: Instruction) -> None:
        self.executed[i.op.name] += 1
        e.pc += 1

    def _execute(self, e: _Element, i: Instruction) -> None:
        match i.op:
            case Opcode.CONF:
                self._conf(e, i)
            case Opcode.MODULUS:
                self._modulus(e, i)
            case Opcode.STREAM:
                if len(e.streams) >= STREAM_QUEUE:
                    self._refuse(e, f"{STREAM_QUEUE} streamed polynomials wait to be used already")
                e.streams.append((i.addr, self._fetch(e, i)))
            case Opcode.LOAD:
                words = self._fetch(e, i).copy()
                self._write(e, i.dst, _Residues(words), table=bank_of(i.dst) == TWIDDLE_BANK)
                e.loading.append((i.addr, i.dst))
            case Opcode.STORE:
                self._store(e, i)
            case Opcode.COPY:
                self._copy(e, i)
            case Opcode.NTT | Opcode.INTT:
                self._transform(e, i)
            case Opcode.AUTO:
                if not i.imm & 1 or i.imm >= 2 << e.log_n:
                    self._refuse(e, f"{i.imm} is no odd number below 2N")
                if i.dst == i.a:
                    self._refuse(e, "an automorphism needs dst different from a")
                a = self._read(e, i.a)
                self._write(e, i.dst, _Residues(kernels.automorphism_eval(self.set, a.words, i.imm), a.prime))
            case Opcode.MAC:
                self._mac(e, i)

    def _conf(self, e: _Element, i: Instruction) -> None:
        log_n, shift = i.imm & 0xFF, i.imm >> 8
        config = self.config
        if not config.min_log_n <= log_n <= config.max_log_n:
            self._refuse(e, f"log2 N is outside {config.min_log_n} ... {config.max_log_n}")
        if shift > MAX_SHIFT:
            self._refuse(e, f"residues are shifted by {MAX_SHIFT} bits at most")
        if config.montgomery and shift:
            self._refuse(e, "a Montgomery machine shifts nothing")
        if e.streams:
            self._refuse(e, "streamed polynomials wait to be used")
        e.log_n, e.shift = log_n, shift
        e.loading.clear()
        e.slots.clear()
        e.moduli.clear()

    def _modulus(self, e: _Element, i: Instruction) -> None:
        prime, config = i.imm >> e.shift, self.config
        if prime << e.shift != i.imm or (not config.montgomery and i.imm.bit_length() != config.word_bits):
            self._refuse(e, f"{i.imm} is no prime shifted by {e.shift} to {config.word_bits} bits")
        try:
            config.shift(prime.bit_length())
        except ParameterError as error:
            self._refuse(e, str(error))
        if i.addr != constants.multiplier_constant(config, prime):
            self._refuse(e, f"{i.addr} is not the multiplier's constant of {prime}")
        if i.entry >= config.moduli:
            self._refuse(e, f"the modulus table has {config.moduli} entries")
        e.moduli[i.entry] = prime

    def _prime(self, e: _Element, entry: int) -> int:
        prime = e.moduli.get(entry)
        if prime is None:
            self._refuse(e, f"entry {entry} of the modulus table was not set")
        return prime

    # ---- slots ------------------------------------------------------------------------------------

    def _check_slot(self, e: _Element, code: int, table: bool = False) -> None:
        bank, row, rows = bank_of(code), row_of(code), self.config.rows(e.log_n)
        if (bank == TWIDDLE_BANK) != table or (bank != TWIDDLE_BANK and bank >= self.config.banks):
            self._refuse(e, f"there is no {'twiddle' if table else 'data'} bank {bank}")
        if row % rows or row + rows > (self.config.twiddle_rows if table else self.config.rows_of(bank)):
            self._refuse(e, f"row {row} of bank {bank} does not start a slot of {rows} rows")

    def _read(self, e: _Element, code: int, prime: int = 0, table: bool = False) -> _Residues:
        """Contents of a slot, held against the prime they must be residues of."""
        self._check_slot(e, code, table)
        content = e.slots.get(code)
        if content is None:
            self._refuse(e, f"slot {bank_of(code)}:{row_of(code)} was never written")
        e.loaded(code)
        if prime and not table:
            if content.prime not in (0, prime):
                self._refuse(e, f"slot {bank_of(code)}:{row_of(code)} holds residues of {content.prime}, not {prime}")
            if not content.prime:
                if int(content.words.max()) >= prime:
                    self._refuse(e, f"slot {bank_of(code)}:{row_of(code)} holds words of {prime} or more")
                content.prime = prime
        return content

    def _write(self, e: _Element, code: int, content: _Residues, table: bool = False) -> None:
        self._check_slot(e, code, table)
        e.loaded(code)
        e.slots[code] = content

    # ---- memory -----------------------------------------------------------------------------------

    def _check_address(self, e: _Element, address: int) -> None:
        alignment = self.memory.alignment(e.log_n)
        if address % alignment:
            self._refuse(e, f"the address is no multiple of {alignment}")

    def _place(self, e: _Element, address: int) -> tuple[int, int]:
        return (e.number if self.memory.local else 0, address)

    def _fetch(self, e: _Element, i: Instruction) -> Words:
        self._check_address(e, i.addr)
        stored = self._stored.get(self._place(e, i.addr))
        if stored is not None:
            scope = 0 if stored.element == e.number else 1 if stored.element // self.config.pes == e.group else 2
            if e.syncs[scope] <= stored.syncs[scope]:
                self._refuse(e, f"element {stored.element} stored this without a SYNC of scope {scope} since")
        if i.addr in e.copying:
            self._refuse(e, "this was copied from far memory without a SYNC since")
        try:
            return self.memory.read_polynomial(e.number, i.addr, e.log_n)
        except ParameterError as error:
            self._refuse(e, str(error))

    def _overwrite(self, e: _Element, address: int) -> None:
        """A polynomial in memory is about to change."""
        self._check_address(e, address)
        if any(address == a for a, _ in e.loading):
            self._refuse(e, "a LOAD from this address may not have finished")
        if any(address == a for a, _ in e.streams):
            self._refuse(e, "a STREAM from this address may not have finished")
        if address in e.copying:
            self._refuse(e, "a COPY to this address may not have finished")

    def _store(self, e: _Element, i: Instruction) -> None:
        a = self._read(e, i.a)
        self._overwrite(e, i.addr)
        try:
            self.memory.write_polynomial(e.number, i.addr, a.words)
        except ParameterError as error:
            self._refuse(e, str(error))
        self._stored[self._place(e, i.addr)] = _Stored(e.number, e.syncs)

    def _copy(self, e: _Element, i: Instruction) -> None:
        self._overwrite(e, i.addr)
        stored = self._stored.pop(self._place(e, i.addr), None)
        if stored is not None and e.syncs[0] <= stored.syncs[0]:
            self._refuse(e, "a STORE to this address may not have finished")
        try:
            self.memory.copy_polynomial(e.number, i.addr, i.imm, e.log_n)
        except ParameterError as error:
            self._refuse(e, str(error))
        e.copying.add(i.addr)

    # ---- arithmetic -------------------------------------------------------------------------------

    def _transform(self, e: _Element, i: Instruction) -> None:
        single = replace(i, pair=0, pair_dst=0, pair_a=0, pair_tw=0, pair_mod=0)
        if not i.pair:
            self._single(e, single)
            return
        if not self.config.shared_alu:
            self._refuse(e, f"machine {self.config.name} transforms one polynomial at a time")
        if i.dst in (i.pair_dst, i.pair_a) or i.pair_dst == i.a:
            self._refuse(e, "the slots that a pair writes must differ, and neither be the other's source")
        self._single(e, single)
        entry = i.pair_mod
        self._single(e, replace(single, dst=i.pair_dst, a=i.pair_a, tw=i.pair_tw, mod=entry & 31, mod_high=entry >> 5))

    def _single(self, e: _Element, i: Instruction) -> None:
        prime = self._prime(e, i.entry)
        table = self._read(e, i.tw, table=True)
        if table.prime != prime:
            try:
                expected = constants.twiddles(self.config, prime, e.log_n)
            except ParameterError as error:
                self._refuse(e, str(error))
            if not np.array_equal(table.words, expected):
                self._refuse(e, f"the twiddle slot holds another table than that of {prime}")
            table.prime = prime
        if i.op is Opcode.INTT:
            out = kernels.intt(self.set, self._read(e, i.a, prime).words, prime)
        elif i.lift:
            source = self._prime(e, i.src_entry)
            out = kernels.ntt_lift(self.set, self._read(e, i.a, source).words, source, prime)
        else:
            out = kernels.ntt(self.set, self._read(e, i.a, prime).words, prime)
        self._write(e, i.dst, _Residues(out, prime))

    def _lifted(self, e: _Element, i: Instruction, code: int, prime: int) -> Words:
        """A slot's residues, after the MAC's centred lift."""
        source = self._prime(e, i.src_entry)
        if source.bit_length() != prime.bit_length():
            self._refuse(e, f"a lift takes primes of the same length, not {source} and {prime}")
        words = self._read(e, code, source).words
        # The signed number is x or x - source; modulo a prime of the same length one addition makes it canonical.
        offset = np.uint64((prime - source) % (1 << 64))
        out: Words = words + np.where(words > np.uint64(source >> 1), offset, np.uint64(0))
        return out

    def _mac(self, e: _Element, i: Instruction) -> None:
        prime, name = self._prime(e, i.entry), self.set
        read = {i.a}
        if i.pre_sub or i.post_add:
            read.add(i.c)
        if i.b_from == BFrom.SLOT:
            read.add(i.b)
        if len({bank_of(s) for s in read}) != len(read):
            self._refuse(e, "different slots of one bank are read")
        if self.config.shared_alu:
            if i.pre_sub and i.post_add:
                self._refuse(e, "elements with shared ALUs either subtract c or add it")
        elif i.lift:
            self._refuse(e, f"a MAC of machine {self.config.name} does not lift")
        lift_a = i.lift and not i.pre_sub
        a = self._lifted(e, i, i.a, prime) if lift_a else self._read(e, i.a, prime).words
        c = None
        if i.pre_sub or i.post_add:
            c = self._lifted(e, i, i.c, prime) if i.lift and i.pre_sub else self._read(e, i.c, prime).words
        if i.pre_sub and c is not None:
            a = kernels.sub(name, a, c, prime)
        # A Montgomery multiplier divides by R.
        factor = pow(2, -self.config.montgomery_bits, prime) if self.config.montgomery else 1
        if i.b_from == BFrom.IMM:
            if i.imm >= prime:
                self._refuse(e, f"the multiplier {i.imm} is not below {prime}")
            product = kernels.mul_scalar(name, a, i.imm * factor % prime, prime)
        else:
            if i.b_from == BFrom.STREAM:
                if not e.streams:
                    self._refuse(e, "no streamed polynomial is left")
                _, b = e.streams.popleft()
                if int(b.max()) >= prime:
                    self._refuse(e, f"the streamed polynomial has words of {prime} or more")
            elif i.b_from == BFrom.SLOT:
                b = self._read(e, i.b, prime).words
            else:
                self._refuse(e, f"there is no multiplier source {i.b_from}")
            product = kernels.mul(name, a, b, prime)
            if factor != 1:
                product = kernels.mul_scalar(name, product, factor, prime)
        if i.post_add and c is not None:
            product = kernels.add(name, product, c, prime)
        self._write(e, i.dst, _Residues(product, prime))

    # ---- meetings ---------------------------------------------------------------------------------

    def _meet(self, e: _Element) -> list[_Element]:
        """Carries out the exchange that element `e` completes, if it does; the elements that may go on."""
        i = e.at
        base = e.group * self.config.pes
        match i.op:
            case Opcode.SYNC:
                return self._sync(e, i)
            case Opcode.REDUCE:
                return self._reduce(e)
            case Opcode.SEND:
                return self._transfer(e)
            case _:
                if i.src_pe >= self.config.pes or i.src_pe == e.pe:
                    self._refuse(e, f"the group has no other element {i.src_pe}")
                sender = self._elements[base + i.src_pe]
                return self._transfer(sender) if sender.waits_at(Opcode.SEND) else []

    def _transfer(self, sender: _Element) -> list[_Element]:
        i, config = sender.at, self.config
        if not i.mask or i.mask >> config.pes or i.mask >> sender.pe & 1:
            self._refuse(sender, "the mask must name other elements of the group")
        base = sender.group * config.pes
        receivers = [self._elements[base + j] for j in range(config.pes) if i.mask >> j & 1]
        if not all(r.waits_at(Opcode.RECV) and r.at.src_pe == sender.pe for r in receivers):
            return []
        a = self._read(sender, i.a)
        for r in receivers:
            if r.log_n != sender.log_n:
                self._refuse(r, "the sender is configured for another degree")
            self._write(r, r.at.dst, _Residues(a.words, a.prime))
            self._next(r, r.at)
        self._next(sender, i)
        return [sender, *receivers]

    def _reduce(self, e: _Element) -> list[_Element]:
        if self.config.shared_alu:
            self._refuse(e, f"machine {self.config.name} has no reduction over groups")
        peers = [self._elements[g * self.config.pes + e.pe] for g in range(self.config.groups)]
        if not all(p.waits_at(Opcode.REDUCE) for p in peers):
            return []
        primes = {self._prime(p, p.at.mod) for p in peers}
        if len(primes) != 1 or len({p.at.mod for p in peers}) != 1 or len({p.log_n for p in peers}) != 1:
            self._refuse(e, "the groups reduce with different moduli or degrees")
        prime = primes.pop()
        if any(p.at.dst == p.at.a for p in peers):
            self._refuse(e, "a reduction needs dst different from a")
        total = self._read(peers[0], peers[0].at.a, prime).words
        for p in peers[1:]:
            total = kernels.add(self.set, total, self._read(p, p.at.a, prime).words, prime)
        for p in peers:
            self._write(p, p.at.dst, _Residues(total, prime))
            self._next(p, p.at)
        return peers

    def _sync(self, e: _Element, i: Instruction) -> list[_Element]:
        if i.scope > Scope.MACHINE:
            self._refuse(e, f"there is no scope {i.scope}")
        peers = [
            p
            for p in self._elements
            if p is e or i.scope == Scope.MACHINE or (i.scope == Scope.GROUP and p.group == e.group)
        ]
        if not all(p.waits_at(Opcode.SYNC) and p.at.scope == i.scope for p in peers):
            return []
        for p in peers:
            own, group, machine = p.syncs
            p.copying.clear()
            p.syncs = (own + 1, group + (i.scope >= Scope.GROUP), machine + (i.scope == Scope.MACHINE))
            self._next(p, p.at)
        return peers
