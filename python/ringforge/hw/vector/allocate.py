# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Finds slots for the values of one element, and makes its program.

The operations are taken in order. A value stays in its slot until its last use; when a slot is needed and none is
free, the value whose next use is farthest goes to memory (STORE), unless memory has it already, and is read back
(SYNC, LOAD) before that use. What must hold:

* the slots that one MAC reads are in different banks: a value in the way is copied to another bank;
* the bank that a transform writes to is closed to everything else meanwhile, so the results of other operations
  avoid the bank of the last transform whose result nobody has asked for yet;
* AUTO and REDUCE do not write the slot they read, a MAC may overwrite a and c but not b.

Twiddle slots are a cache: a transform whose table is not there loads it, as soon after the transform before it as
possible. Polynomials for streaming are requested `LOOKAHEAD` MACs before they are used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from ringforge.errors import ParameterError
from ringforge.hw.vector import constants
from ringforge.hw.vector.ir import FETCH, FLUSH, Op, Value
from ringforge.hw.vector.isa import TWIDDLE_BANK, BFrom, Instruction, Opcode, Scope, bank_of, slot
from ringforge.hw.vector.target import Target

#: STREAMs ahead of the MAC that is next: below the machine's queue of 8, so that issuing never waits for it.
LOOKAHEAD: Final = 6
#: On machines with shared ALUs a STREAM comes so many instructions before its MAC at most: it would keep LOADs waiting.
REACH: Final = 32

_NEVER: Final = 1 << 60
_SPN: Final = frozenset({Opcode.NTT, Opcode.INTT, Opcode.AUTO})
#: Operations that may write a slot which they read.
_IN_PLACE: Final = frozenset({Opcode.NTT, Opcode.INTT, Opcode.MAC})


def opening(target: Target, used: bool = True) -> list[Instruction]:
    """What opens a program: degree and, where they are used, moduli."""
    program = [Instruction.conf(target.log_n, target.shift)]
    if used:
        program += [
            Instruction.modulus(k, q << target.shift, constants.multiplier_constant(target.config, q))
            for k, q in enumerate(target.primes)
        ]
    return program


class Allocator:
    """Assigns slots for one element.

    Args:
        target: machine and numbers.
        tables: address of the twiddle table of each modulus-table entry.
        scratch: gives the address of a new polynomial of this element's own in memory.
        keep_tables: twiddle tables stay in their slots; else every transform loads its own.
        limit: values that may be on chip at once, if they are counted; others go to memory. None: what banks hold.

    Attributes:
        peak: most counted values that were on chip at once; after `run`.
    """

    def __init__(
        self,
        target: Target,
        tables: Sequence[int],
        scratch: Callable[[], int],
        keep_tables: bool = True,
        limit: int | None = None,
    ) -> None:
        config, log_n = target.config, target.log_n
        self.peak = 0
        self._limit = _NEVER if limit is None else limit
        self._counted = 0
        self.target = target
        self._tables = tables
        self._scratch = scratch
        self._keep_tables = keep_tables
        self._banks = range(config.banks)
        rows = config.rows(log_n)
        self._free = [[slot(b, r * rows) for r in reversed(range(config.bank_slots(log_n, b)))] for b in self._banks]
        self._held: list[list[Value]] = [[] for _ in self._banks]
        self._scratch_free: list[int] = []
        self._scratch_left: list[int] = []  # free after the current operation: a LOAD from there may still run
        self._table_free = [slot(TWIDDLE_BANK, r * rows) for r in reversed(range(config.twiddle_slots(log_n)))]
        self._table_slot: dict[int, int] = {}
        self._table_uses: dict[int, list[int]] = {}
        self._out: list[Instruction] = []
        #: Addresses, each with the number of SYNCs that must be before it, and where its MAC is, or a little before.
        self._streamed: list[tuple[int, int, int]] = []
        self._reach = REACH if config.shared_alu else _NEVER
        self._copied = False  # since the last SYNC
        self._barrier = 0
        self._epoch = 0
        self._now = 0
        self._busy: Value | None = None  # result of a transform that may still run
        self._after_spn = 0
        self._running_tables: tuple[int, ...] = ()

    def run(self, ops: Sequence[Op]) -> list[Instruction]:
        """The element's program, from CONF to END.

        Raises:
            ParameterError: an operation needs more slots than the element has.
        """
        body = self.body(ops)
        return [*opening(self.target, bool(ops)), *body, Instruction.end()]

    def body(self, ops: Sequence[Op]) -> list[Instruction]:
        """The same without what opens and closes a program.

        Raises:
            ParameterError: an operation needs more slots than the element has.
        """
        for at, op in enumerate(ops):
            for one in (op,) if op.pair is None else (op, op.pair):
                for v in (one.a, one.b, one.c):
                    if v is not None and op.op > FLUSH and (not v.uses or v.uses[-1] != at):
                        v.uses.append(at)
                if op.op in (Opcode.NTT, Opcode.INTT):
                    self._table_uses.setdefault(one.mod, []).append(at)
        for uses in self._table_uses.values():
            uses.reverse()
        for self._now, op in enumerate(ops):
            self._step(op)
        program: list[Instruction] = []
        ahead, waiting, syncs = deque(self._streamed), 0, 0
        for at, i in enumerate((None, *self._out)):
            if i is not None:
                program.append(i)
                waiting -= i.op is Opcode.MAC and i.b_from == BFrom.STREAM
                syncs += i.op is Opcode.SYNC
            while ahead and waiting < LOOKAHEAD and ahead[0][1] <= syncs and ahead[0][2] <= at + self._reach:
                program.append(Instruction.stream(ahead.popleft()[0]))
                waiting += 1
        return program

    # ---- one operation ----------------------------------------------------------------------------

    def _step(self, op: Op) -> None:
        if op.op == FLUSH:
            assert op.a is not None
            self._flush(op.a)
            return
        if op.op == FETCH:
            assert op.a is not None
            if op.a.slot < 0:
                self._fetch(op.a, (op.a,))
            return
        if op.op == Opcode.COPY:
            self._out.append(Instruction.copy(op.addr, op.imm))
            self._copied = True
            return
        if op.op == Opcode.SYNC:
            self._out.append(Instruction.sync(op.peer))
            self._epoch += 1
            if self._copied:
                self._copied, self._barrier = False, self._epoch
            return
        if op.pair is not None:
            self._pair(op, op.pair)
            return
        sources = [v for v in dict.fromkeys((op.a, op.c, op.b)) if v is not None]
        for v in sources:
            if v.slot < 0:
                self._fetch(v, sources)
        if len(sources) > 1:
            self._separate(sources, op)
        if self._busy in sources:
            self._busy = None
        table = self._table(op.mod) if op.op in (Opcode.NTT, Opcode.INTT) else 0
        a, c, b = (v.slot if v is not None else 0 for v in (op.a, op.c, op.b))
        for v in sources:
            v.cursor += 1
        dying = [v for v in sources if v.cursor >= len(v.uses)]
        early = [v for v in dying if op.op in _IN_PLACE and v is not op.b]
        for v in early:
            self._release(v)
        dst = 0
        if op.dst is not None:
            keep = [v for v in sources if v not in early]
            # Accumulators stay where they are: the last of `early` is c when there is one.
            here = bank_of({id(op.a): a, id(op.c): c}[id(early[-1])]) if early else None
            bank = self._fixed(op.dst)
            if bank is None:
                bank = self._choose(op.dst.bank, (), keep, op.op in _SPN, here)
            dst = self._take(op.dst, bank, keep, in_place=bank == here)
        for v in dying:
            if v not in early:
                self._release(v)
        self._emit(op, dst, a, b, c, table)
        if op.dst is not None and not op.dst.uses:
            self._release(op.dst)
        self._scratch_free += self._scratch_left
        self._scratch_left.clear()

    def _emit(self, op: Op, dst: int, a: int, b: int, c: int, table: int) -> None:
        out = self._out
        match op.op:
            case Opcode.MAC:
                if op.stream:
                    self._streamed.append((op.addr, self._barrier, len(out)))
                out.append(
                    Instruction.mac(
                        dst,
                        a,
                        op.mod,
                        imm=None if op.stream or op.b is not None else op.imm,
                        b=None if op.b is None else b,
                        stream=op.stream,
                        c=None if op.c is None else c,
                        pre_sub=op.pre_sub,
                        post_add=op.post_add,
                        lift_from=op.lift_from,
                    )
                )
            case Opcode.NTT:
                out.append(Instruction.ntt(dst, a, table, op.mod, op.lift_from))
            case Opcode.INTT:
                out.append(Instruction.intt(dst, a, table, op.mod))
            case Opcode.AUTO:
                out.append(Instruction.auto(dst, a, op.imm))
            case Opcode.LOAD:
                out.append(Instruction.load(dst, op.addr))
            case Opcode.STORE:
                out.append(Instruction.store(a, op.addr))
            case Opcode.SEND:
                out.append(Instruction.send(a, op.mask))
            case Opcode.RECV:
                out.append(Instruction.recv(dst, op.peer))
            case Opcode.REDUCE:
                out.append(Instruction.reduce(dst, a, op.mod))
            case _:
                raise AssertionError(op.op)
        if op.op in (Opcode.NTT, Opcode.INTT):
            self._busy = op.dst
        if op.op in _SPN:
            self._after_spn = len(out)
            self._running_tables = (table,)

    def _pair(self, op: Op, other: Op) -> None:
        """Two transforms in one instruction: what one writes is not what the other reads."""
        pairs = [(o, a, d) for o in (op, other) if (a := o.a) is not None and (d := o.dst) is not None]
        sources = [a for _, a, _ in pairs]
        for v in sources:
            if v.slot < 0:
                self._fetch(v, sources)
        made: list[Instruction] = []
        tables: list[int] = []
        after: list[Value] = []
        for one, a, dst in pairs:
            tables.append(self._table(one.mod, tables))
            code = a.slot
            a.cursor += 1
            dies = a.cursor >= len(a.uses)
            bank = self._fixed(dst)
            if bank is None:
                bank = self._choose(dst.bank, (), sources, True, bank_of(code))
            in_place = dies and bank == bank_of(code)
            if in_place:
                self._release(a)
            elif dies:
                after.append(a)
            slot_code = self._take(dst, bank, [*sources, *(d for _, _, d in pairs)], in_place=in_place)
            transform = Instruction.ntt if one.op == Opcode.NTT else Instruction.intt
            lift = {"lift_from": one.lift_from} if one.op == Opcode.NTT else {}
            made.append(transform(slot_code, code, tables[-1], one.mod, **lift))
        for v in after:
            self._release(v)
        self._out.append(made[0].beside(made[1]))
        for _, _, dst in pairs:
            if not dst.uses:
                self._release(dst)
        self._busy = other.dst
        self._after_spn = len(self._out)
        self._running_tables = tuple(tables)
        self._scratch_free += self._scratch_left
        self._scratch_left.clear()

    # ---- slots ------------------------------------------------------------------------------------

    def _distance(self, v: Value) -> int:
        return (v.uses[v.cursor] if v.cursor < len(v.uses) else _NEVER) - self._now

    def _victim(self, bank: int, keep: Sequence[Value], counted: bool = False) -> Value | None:
        """The value of a bank, of those that count when `counted`, that is cheapest to do without; or None."""
        best, most = None, -1
        for v in self._held[bank]:
            if v not in keep and (v.counted or not counted):
                worth = self._distance(v) * (1 if v.home is None and v.spill is None else 2)
                if worth > most:
                    best, most = v, worth
        return best

    def _choose(
        self, wish: int | None, closed: Sequence[int], keep: Sequence[Value], spn: bool, here: int | None = None
    ) -> int:
        """A bank for a new value, by what it costs to put it there.

        Args:
            wish: the value's preferred bank.
            closed: banks it must not be in.
            keep: values that must not be evicted.
            spn: the value is the result of a transform or automorphism, which itself comes after the last one.
            here: bank in which an operand has just become free.
        """
        busy = -1 if self._busy is None or spn else bank_of(self._busy.slot)
        best, least = -1, 1e9
        for bank in self._banks:
            if bank in closed:
                continue
            cost = 0.1 * len(self._held[bank])
            if wish is not None and bank != wish:
                cost += 1.5
            elif wish is None and here is not None and bank != here:
                cost += 1
            if bank == busy:
                cost += 4
            if not self._free[bank]:
                victim = self._victim(bank, keep)
                if victim is None:
                    continue
                cost += (2 if victim.home is None and victim.spill is None else 1) + max(
                    0.0, 3 - self._distance(victim) / 16
                )
            if cost < least:
                best, least = bank, cost
        if best < 0:
            raise self._too_small()
        return best

    def _too_small(self) -> ParameterError:
        return ParameterError(
            f"an operation needs more polynomials at once than the {self.target.config.slots(self.target.log_n)} "
            f"that an element of machine {self.target.config.name} holds at N = 2^{self.target.log_n}: take a machine "
            "with larger banks, a smaller degree or fewer digits"
        )

    @staticmethod
    def _fixed(v: Value) -> int | None:
        """The bank where a value must be, if there is one."""
        return v.bank if v.fixed else None

    def _take(self, v: Value, bank: int, keep: Sequence[Value], in_place: bool = False) -> int:
        """Puts a value into a slot of a bank, evicting another one when it is full.

        Of several free slots it takes the one that became free last when the operation may overwrite its operand,
        and else the first: its last reader has most likely finished.
        """
        if not self._free[bank]:
            victim = self._victim(bank, keep)
            if victim is None:
                raise self._too_small()
            self._evict(victim)
        if v.counted and self._counted >= self._limit:
            victims = [w for b in self._banks if (w := self._victim(b, keep, counted=True)) is not None]
            if not victims:
                raise self._too_small()
            self._evict(max(victims, key=self._distance))
        v.slot = self._free[bank].pop(-1 if in_place else 0)
        self._held[bank].append(v)
        self._counted += v.counted
        self.peak = max(self.peak, self._counted)
        return v.slot

    def _release(self, v: Value) -> None:
        """Frees the slot of a value, and its place in memory when it is not needed any more."""
        if v.slot >= 0:
            bank = bank_of(v.slot)
            self._held[bank].remove(v)
            self._free[bank].append(v.slot)
            v.slot = -1
            self._counted -= v.counted
        if v.spill is not None and v.cursor >= len(v.uses):
            self._scratch_left.append(v.spill)
            v.spill = None
        if self._busy is v:
            self._busy = None

    def _evict(self, v: Value) -> None:
        if v.home is None and v.spill is None:
            v.spill = self._scratch_free.pop() if self._scratch_free else self._scratch()
            v.epoch = self._epoch
            self._out.append(Instruction.store(v.slot, v.spill))
        self._release(v)

    def _flush(self, v: Value) -> None:
        if v.slot < 0:
            return
        if v.cursor >= len(v.uses):
            self._release(v)
        else:
            self._evict(v)

    def _fetch(self, v: Value, sources: Sequence[Value]) -> None:
        """Brings a value back from memory, into a bank that no other source is in."""
        address = v.home if v.home is not None else v.spill
        if address is None:
            raise AssertionError("a value is used before it is made")
        if v.home is None and v.epoch == self._epoch:
            self._out.append(Instruction.sync(Scope.ELEMENT))
            self._epoch += 1
        others = [bank_of(s.slot) for s in sources if s.slot >= 0]
        bank = self._fixed(v)
        dst = self._take(v, self._choose(v.bank, others, sources, False) if bank is None else bank, sources)
        self._out.append(Instruction.load(dst, address))

    def _separate(self, sources: Sequence[Value], op: Op) -> None:
        """Copies sources that share a bank with another one to banks of their own."""
        lifted = None if op.lift_from is None else op.c if op.pre_sub else op.a
        for k, v in enumerate(sources):
            banks = [bank_of(s.slot) for s in sources[:k]]
            if bank_of(v.slot) not in banks:
                continue
            taken = [bank_of(s.slot) for s in sources if s is not v]
            old = v.slot
            bank = self._choose(None, taken, sources, False)
            self._held[bank_of(old)].remove(v)
            v.slot = -1
            self._counted -= v.counted
            new = self._take(v, bank, sources)
            self._free[bank_of(old)].append(old)
            if self._busy is v:
                self._busy = None
            mod = op.mod if v is not lifted or op.lift_from is None else op.lift_from
            self._out.append(Instruction.mac(new, old, mod, imm=self.target.one(mod)))

    # ---- twiddle tables ---------------------------------------------------------------------------

    def _table(self, mod: int, keep: Sequence[int] = ()) -> int:
        """Slot of a modulus's twiddle table; loads it when it is not there, not in the slots of `keep`."""
        self._table_uses[mod].pop()
        code = self._table_slot.get(mod)
        if code is not None and self._keep_tables:
            return code
        if code is None:
            if self._table_free:
                code = self._table_free.pop()
            else:
                there = [m for m, code in self._table_slot.items() if code not in keep]
                if self.target.config.shared_alu:
                    # Not that of the transform before, if there is another: it could be loaded only when that is over.
                    there = [m for m in there if self._table_slot[m] not in self._running_tables] or there
                farthest = max(there, key=self._next_table_use)
                code = self._table_slot.pop(farthest)
            self._table_slot[mod] = code
        load = Instruction.load(code, self._tables[mod])
        if code in self._running_tables:
            self._out.append(load)
        else:
            self._out.insert(self._after_spn, load)
        return code

    def _next_table_use(self, mod: int) -> int:
        uses = self._table_uses[mod]
        return uses[-1] if uses else _NEVER
