# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs before slots are assigned: ordered operations of each element on any number of polynomials.

Every operation makes a new `Value`, which nothing changes afterwards. `allocate` later finds slots, brings values
from memory and sends them there. The order of operations is final: it is written so that transforms, products,
transfers and memory accesses overlap, which the machine can do as long as they use different banks. Values
therefore carry a wish for a bank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ringforge.hw.vector.isa import Opcode, Scope
from ringforge.hw.vector.target import Target

#: An operation of the compiler's own: the value goes to memory, and comes back when it is used again.
FLUSH: Final = 0
#: Another one: the value comes back from memory if it is not on chip.
FETCH: Final = -1

#: Bank of accumulators and of what lives long; transforms and their operands use the others.
KEEP: Final = 2


class Value:
    """A polynomial of one element.

    Attributes:
        bank: where it would like to be, or None.
        home: address where memory holds it as well, or None.
        fixed: `bank` is an order: it is there or in memory.
        counted: it counts when an allocator limits how many values are on chip.
        uses: positions of the operations that read it; filled by the allocator.
    """

    __slots__ = ("bank", "counted", "cursor", "epoch", "fixed", "home", "slot", "spill", "uses")

    def __init__(
        self, bank: int | None = None, home: int | None = None, *, fixed: bool = False, counted: bool = True
    ) -> None:
        self.bank = bank
        self.home = home
        self.fixed = fixed
        self.counted = counted
        self.uses: list[int] = []
        # The allocator's notes: next entry of `uses`, slot code, spill address, SYNCs when it was stored.
        self.cursor = 0
        self.slot = -1
        self.spill: int | None = None
        self.epoch = -1


@dataclass(slots=True, eq=False)
class Op:
    """One operation; the fields are those of `Instruction`, with values instead of slots."""

    op: int
    dst: Value | None = None
    a: Value | None = None
    c: Value | None = None
    b: Value | None = None
    mod: int = 0
    lift_from: int | None = None
    pre_sub: bool = False
    post_add: bool = False
    stream: bool = False
    imm: int = 0
    addr: int = 0
    mask: int = 0
    peer: int = 0
    #: `addr` is one of far memory: what is read comes by way of near memory.
    far: bool = False
    #: A transform of the same kind that runs with this one, its rows between this one's.
    pair: Op | None = None


@dataclass(eq=False)
class ElementCode:
    """Operations of one element.

    Attributes:
        fixed: banks given to operations are orders, not wishes.
    """

    ops: list[Op] = field(default_factory=list)
    fixed: bool = False

    def _make(self, op: Op) -> Value:
        self.ops.append(op)
        assert op.dst is not None
        op.dst.fixed = self.fixed and op.dst.bank is not None
        return op.dst

    def load(self, addr: int, bank: int | None = None, *, counted: bool = True, far: bool = False) -> Value:
        """The polynomial at an address, read now; `counted` as in `Value`, `far` as in `Op`."""
        return self._make(Op(Opcode.LOAD, Value(bank, None if far else addr, counted=counted), addr=addr, far=far))

    def copy(self, addr: int, far: int) -> None:
        """Brings a polynomial from far memory to an address, in the background until the next SYNC."""
        self.ops.append(Op(Opcode.COPY, addr=addr, imm=far))

    def store(self, a: Value, addr: int) -> None:
        """Writes a value to an address of the caller's choice."""
        self.ops.append(Op(Opcode.STORE, a=a, addr=addr))

    def ntt(self, a: Value, mod: int, lift_from: int | None = None, bank: int | None = None) -> Value:
        """Transform of a modulo entry `mod`, after a centred lift from entry `lift_from`."""
        return self._make(Op(Opcode.NTT, Value(bank), a, mod=mod, lift_from=lift_from))

    def intt(self, a: Value, mod: int, bank: int | None = None) -> Value:
        """Inverse transform of a."""
        return self._make(Op(Opcode.INTT, Value(bank), a, mod=mod))

    def pair(self) -> None:
        """Makes the last two transforms one instruction; both have the same kind and lift, and different sources."""
        second = self.ops.pop()
        assert self.ops[-1].op == second.op
        self.ops[-1].pair = second

    def auto(self, a: Value, element: int, bank: int | None = None) -> Value:
        """a under X -> X^element."""
        return self._make(Op(Opcode.AUTO, Value(bank), a, imm=element))

    def scale(self, a: Value, mod: int, imm: int, bank: int | None = None, lift_from: int | None = None) -> Value:
        """a, after a centred lift from entry `lift_from`, times an immediate."""
        return self._make(Op(Opcode.MAC, Value(bank), a, mod=mod, imm=imm, lift_from=lift_from))

    def add(self, a: Value, c: Value, mod: int, one: int, bank: int | None = None) -> Value:
        """a + c; `one` is the immediate of 1."""
        return self._make(Op(Opcode.MAC, Value(bank), a, c, mod=mod, post_add=True, imm=one))

    def scale_add(
        self, a: Value, c: Value, mod: int, imm: int, bank: int | None = None, lift_from: int | None = None
    ) -> Value:
        """a, after a centred lift from entry `lift_from`, times an immediate, plus c."""
        return self._make(Op(Opcode.MAC, Value(bank), a, c, mod=mod, post_add=True, imm=imm, lift_from=lift_from))

    def sub_scale(
        self, a: Value, c: Value, mod: int, imm: int, bank: int | None = None, lift_from: int | None = None
    ) -> Value:
        """a minus c, which takes a centred lift from entry `lift_from` first; times an immediate."""
        return self._make(Op(Opcode.MAC, Value(bank), a, c, mod=mod, pre_sub=True, imm=imm, lift_from=lift_from))

    def multiply(self, a: Value, b: Value, mod: int, c: Value | None = None, bank: int | None = None) -> Value:
        """a times b (in the machine's form of multipliers), plus c."""
        return self._make(Op(Opcode.MAC, Value(bank), a, c, b, mod=mod, post_add=c is not None))

    def stream(
        self, a: Value, addr: int, mod: int, c: Value | None = None, bank: int | None = None, *, far: bool = False
    ) -> Value:
        """a times the polynomial of multipliers at an address, plus c; `far` as in `Op`."""
        op = Op(Opcode.MAC, Value(bank), a, c, mod=mod, post_add=c is not None, stream=True, addr=addr, far=far)
        return self._make(op)

    def reduce(self, a: Value, mod: int, bank: int | None = None) -> Value:
        """Sum of a over all groups."""
        return self._make(Op(Opcode.REDUCE, Value(bank), a, mod=mod))

    def sync(self, scope: Scope) -> None:
        """Meets the others of a scope."""
        self.ops.append(Op(Opcode.SYNC, peer=int(scope)))

    def flush(self, a: Value) -> None:
        """Sends a to memory."""
        self.ops.append(Op(FLUSH, a=a))

    def fetch(self, a: Value) -> None:
        """Brings a back from memory before it is used, if it was sent there."""
        self.ops.append(Op(FETCH, a=a))


#: A polynomial over several primes: limb -> value, on the element that owns the limb.
Limbs = dict[int, Value]


class GroupCode:
    """Operations of the elements of one group.

    Transfers are added to sender and receivers at once, so all elements agree on their order and never wait for each
    other in a circle.

    Args:
        target: machine and numbers.
        fusion: what one primitive makes stays in the scratchpad for the next; else it goes through memory.
        fixed: banks given to operations are orders, not wishes.
    """

    def __init__(self, target: Target, fusion: bool = True, fixed: bool = False) -> None:
        self.target = target
        self.fusion = fusion
        self.pes = target.config.pes
        self.fixed = fixed
        self.elements = [ElementCode(fixed=fixed) for _ in range(self.pes)]

    def owner(self, limb: int) -> int:
        """Element that holds a limb."""
        return limb % self.pes

    def at(self, limb: int) -> ElementCode:
        """Code of the element that holds a limb."""
        return self.elements[limb % self.pes]

    def limbs_of(self, pe: int, limbs: int) -> range:
        """Those of the first `limbs` limbs that an element holds."""
        return range(pe, limbs, self.pes)

    def send(self, source: int, value: Value, banks: Mapping[int, int | None]) -> dict[int, Value]:
        """Broadcasts a value to other elements; what each receives.

        Args:
            banks: receivers, each with the bank it would like the value in; the source is left out.
        """
        receivers = {pe: bank for pe, bank in banks.items() if pe != source}
        if not receivers:
            return {}
        mask = sum(1 << pe for pe in receivers)
        self.elements[source].ops.append(Op(Opcode.SEND, a=value, mask=mask))
        out = {}
        for pe, bank in receivers.items():
            out[pe] = Value(bank, fixed=self.fixed and bank is not None)
            self.elements[pe].ops.append(Op(Opcode.RECV, out[pe], peer=source))
        return out

    def sync(self, scope: Scope) -> None:
        """A SYNC on every element."""
        for element in self.elements:
            element.sync(scope)

    def accumulate(self, total: Limbs | None, more: Limbs, bank: int = KEEP) -> Limbs:
        """total + more, limb by limb; `more` itself when there is no total."""
        if total is None:
            return more
        return {i: self.at(i).add(v, total[i], i, self.target.one(i), bank=bank) for i, v in more.items()}

    def flush(self, *polys: Limbs) -> None:
        """Sends polynomials to memory."""
        for limbs in polys:
            for i, value in limbs.items():
                self.at(i).flush(value)

    def primitive(self, *results: Limbs) -> None:
        """Ends a primitive: without fusion its results go to memory."""
        if not self.fusion:
            self.flush(*results)
