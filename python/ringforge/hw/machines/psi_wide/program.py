# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Instructions of the streaming accelerator, and programs of them.

An instruction has 128 bits, two words of 64, the lower one first. Fields that an instruction does not use are 0.

>>> program = Program()
>>> program.load(0x1000, first=3)
>>> program.product(3, row=4, gadgets=(0, 1), init=3, target=3, power=5, times=Times.POWER_LESS)
>>> [i.op.name for i in program.instructions], Instruction.decode(program.instructions[1].encode()).power
(['LOAD', 'PRODUCT'], 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, ParameterError

Words = npt.NDArray[np.uint64]

#: Bytes of an instruction, and of a beat, in which addresses count.
INSTRUCTION_BYTES: Final = 16
BEAT_BYTES: Final = 64


class Op(IntEnum):
    """Operations."""

    TABLE = 1
    LOAD = 2
    STORE = 3
    PRODUCT = 4
    LINEAR = 5
    PLAIN = 6
    CELLS = 7


class Take(IntEnum):
    """What the gather unit reads of slots s1 and s2."""

    ONE = 0
    SUM = 1
    DIFFERENCE = 2
    REFLECTION = 3


class Times(IntEnum):
    """What it multiplies with: X^r, X^r - 1, or the register SCALAR."""

    POWER = 0
    POWER_LESS = 1
    SCALAR = 2


class Beside(IntEnum):
    """What becomes of the gathered b when only a is cut: nothing, (0, b) or (b, 0) is added."""

    NONE = 0
    B = 1
    A = 2


class Table(IntEnum):
    """Tables: twiddles of both directions, powers of psi."""

    FORWARD = 0
    INVERSE = 1
    POWERS = 2


#: Fields and their widths, from bit 0 on; "" is a gap.
_LAYOUT: Final = (
    ("op", 4), ("take", 2), ("times", 2), ("s1", 8), ("s2", 8), ("element", 12), ("power", 12), ("gadget_a", 4),
    ("gadget_b", 4), ("both", 1), ("negate", 1), ("has_init", 1), ("beside", 2), ("to_row", 1), ("fence", 1), ("", 1),
    ("init", 8), ("row", 8), ("target", 8), ("beat", 40),
)  # fmt: skip


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        op: what it does.
        take, s1, s2, element, times, power: what the gather unit makes: x of slots, x(X^element), times a factor. s1 is
            the count of LOAD, STORE, PLAIN and CELLS, and the table of TABLE; s2 is how many key rows CELLS may name;
            it has N/2 monomials at most.
        gadget_a, gadget_b, both: entries of the table of gadgets, for a, and for b if both are cut.
        negate: the sum of products is subtracted.
        has_init, init: a slot that the sum begins with. beside: and what of the gathered b.
        to_row, target: where the result goes, or the first slot or row that is loaded or stored.
        row: the first key row.
        fence: it starts when all that was stored before is in memory.
        beat: address in units of 64 bytes.
    """

    op: Op
    take: Take = Take.ONE
    times: Times = Times.POWER
    s1: int = 0
    s2: int = 0
    element: int = 0
    power: int = 0
    gadget_a: int = 0
    gadget_b: int = 0
    both: bool = False
    negate: bool = False
    has_init: bool = False
    beside: Beside = Beside.NONE
    to_row: bool = False
    fence: bool = False
    init: int = 0
    row: int = 0
    target: int = 0
    beat: int = 0

    def encode(self) -> int:
        """Its 128 bits.

        Raises:
            ParameterError: a field does not fit; the message names it.
        """
        code = at = 0
        for name, width in _LAYOUT:
            value = int(getattr(self, name)) if name else 0
            if not 0 <= value < 1 << width:
                raise ParameterError(f"{name} of an instruction is {value}, which {width} bits do not hold")
            code |= value << at
            at += width
        return code

    @classmethod
    def decode(cls, code: int) -> Instruction:
        """The instruction of 128 bits.

        Raises:
            FormatError: there is no such operation, or no such value of a field.
        """
        found: dict[str, int] = {}
        for name, width in _LAYOUT:
            if name:
                found[name] = code & ((1 << width) - 1)
            code >>= width
        kinds = {"op": Op, "take": Take, "times": Times, "beside": Beside}
        flags = {f.name for f in fields(cls) if f.type == "bool"}
        try:
            return cls(**{k: kinds[k](v) if k in kinds else bool(v) if k in flags else v for k, v in found.items()})  # type: ignore[arg-type]
        except ValueError as e:
            raise FormatError(f"no instruction: {e}") from None


@dataclass
class Program:
    """Instructions in order.

    Attributes:
        instructions: so far.
    """

    instructions: list[Instruction] = field(default_factory=list)

    def _add(self, op: Op, **given: object) -> None:
        self.instructions.append(Instruction(op, **given))  # type: ignore[arg-type]

    def table(self, which: Table, address: int) -> None:
        """Loads a table of N words."""
        self._add(Op.TABLE, s1=int(which), beat=_beat(address))

    def load(self, address: int, *, first: int, count: int = 1, to_row: bool = False, fence: bool = False) -> None:
        """Loads ciphertexts into consecutive slots or key rows; after a fence, what was stored before it."""
        self._add(Op.LOAD, beat=_beat(address), target=first, s1=count, to_row=to_row, fence=fence)

    def store(self, address: int, *, first: int, count: int = 1) -> None:
        """Stores consecutive slots."""
        self._add(Op.STORE, beat=_beat(address), target=first, s1=count)

    def product(
        self,
        s1: int,
        *,
        row: int,
        gadgets: tuple[int, ...],
        target: int,
        to_row: bool = False,
        init: int | None = None,
        s2: int = 0,
        take: Take = Take.ONE,
        element: int = 1,
        power: int = 0,
        times: Times = Times.POWER,
        beside: Beside = Beside.NONE,
        negate: bool = False,
    ) -> None:
        """target = init + beside +- digits of what is gathered times key rows from `row` on.

        Args:
            gadgets: of a, or of a and of b: entries of the table.
        """
        self._add(
            Op.PRODUCT, take=take, s1=s1, s2=s2, element=element, power=power, times=times, row=row,
            gadget_a=gadgets[0], gadget_b=gadgets[-1], both=len(gadgets) > 1, target=target, to_row=to_row,
            has_init=init is not None, init=init or 0, beside=beside, negate=negate,
        )  # fmt: skip

    def linear(
        self,
        s1: int,
        *,
        target: int,
        to_row: bool = False,
        s2: int = 0,
        take: Take = Take.ONE,
        element: int = 1,
        power: int = 0,
        times: Times = Times.POWER,
    ) -> None:
        """target = what is gathered: not one of its own slots, if element is not 1."""
        self._add(
            Op.LINEAR, take=take, s1=s1, s2=s2, element=element, power=power, times=times, target=target, to_row=to_row
        )

    def plain(self, address: int, *, count: int, row: int, target: int, init: int | None = None) -> None:
        """target = init + the sum of `count` rows of numbers, transformed, times key rows from `row` on."""
        self._add(
            Op.PLAIN, beat=_beat(address), s1=count, row=row, target=target, has_init=init is not None, init=init or 0
        )

    def cells(self, address: int, *, count: int, row: int, rows: int, target: int, init: int | None = None) -> None:
        """target = init + the sum of `count` monomials, each times one of `rows` key rows from `row` on."""
        self._add(
            Op.CELLS, beat=_beat(address), s1=count, s2=rows, row=row, target=target, has_init=init is not None,
            init=init or 0,
        )  # fmt: skip

    def loads_late(self, first: int, digits: Sequence[int], size: int, polys: int) -> None:
        """Moves loads from instruction `first` on back, as far as what follows does not need them: behind products of
        `polys` polynomials, and one behind each product from there on.

        Args:
            digits: of each gadget. size: bytes of a ciphertext.
        """
        stay: list[Instruction] = []
        moved: list[tuple[int, Instruction]] = []  # and how many that stay follow where it was
        kept = False  # whether a load has kept its place
        for i in reversed(self.instructions[first:]):
            if i.op is not Op.LOAD or (i.fence and kept) or any(_meet(i, other, digits, size) for other in stay):
                kept |= i.op is Op.LOAD
                stay.append(i)
            else:
                moved.append((len(stay), i))
        del self.instructions[first:]
        for number, i in enumerate(reversed(stay), start=1):
            self.instructions.append(i)
            polys -= (1 + i.both) if i.op is Op.PRODUCT else 0
            if polys <= 0 and i.op is Op.PRODUCT and moved and len(stay) - number <= moved[-1][0]:
                self.instructions.append(moved.pop()[1])
        self.instructions += [i for _, i in reversed(moved)]

    def read_bytes(self, log_n: int, word_bytes: int) -> int:
        """Bytes that it reads from memory, itself included."""
        row, sizes = 2 << log_n, {Op.TABLE: word_bytes << log_n, Op.LOAD: 2 * word_bytes << log_n}
        found = INSTRUCTION_BYTES * len(self.instructions)
        for i in self.instructions:
            # Monomials take a plain row's memory, whole.
            found += sizes.get(i.op, 0) * (i.s1 if i.op is Op.LOAD else 1)
            found += row * {Op.PLAIN: i.s1, Op.CELLS: 1}.get(i.op, 0)
        return found

    def words(self) -> Words:
        """Its memory, filled up to whole beats.

        Raises:
            ParameterError: a field of an instruction does not fit.
        """
        codes = b"".join(i.encode().to_bytes(INSTRUCTION_BYTES, "little") for i in self.instructions)
        codes += bytes(-len(codes) % BEAT_BYTES)
        return np.frombuffer(codes, np.uint64).copy()


def _beat(address: int) -> int:
    if address % BEAT_BYTES:
        raise ParameterError(f"address {address:#x} is no multiple of {BEAT_BYTES}")
    return address // BEAT_BYTES


def _places(i: Instruction, digits: Sequence[int]) -> set[tuple[bool, int]]:
    """Slots (False) and key rows (True) that an instruction reads or writes."""
    if i.op in (Op.LOAD, Op.STORE):
        return {(i.to_row, i.target + k) for k in range(i.s1)}
    found = {(i.to_row, i.target)}
    if i.op in (Op.PRODUCT, Op.LINEAR):
        found |= {(False, i.s1)} | ({(False, i.s2)} if i.take != Take.ONE else set())
    if i.op is Op.PRODUCT:
        count = digits[i.gadget_a] + (digits[i.gadget_b] if i.both else 0)
    else:
        count = {Op.PLAIN: i.s1, Op.CELLS: i.s2}.get(i.op, 0)
    found |= {(True, i.row + k) for k in range(count)}
    return found | ({(False, i.init)} if i.has_init else set())


def _meet(load: Instruction, other: Instruction, digits: Sequence[int], size: int) -> bool:
    """Whether a load and an instruction touch the same places, or it stores where the load reads."""
    if other.op is Op.TABLE or _places(load, digits) & _places(other, digits):
        return True
    beats = size // BEAT_BYTES
    apart = load.beat + load.s1 * beats <= other.beat or other.beat + other.s1 * beats <= load.beat
    return other.op is Op.STORE and not apart
