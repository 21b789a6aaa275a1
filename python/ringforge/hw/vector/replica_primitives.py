# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which primitive of the matrix-vector product an instruction belongs to.

Programs carry no names, so they are recovered from what instructions do: products with a slot are the plaintexts',
products with the stream of keys are the key switch's, an automorphism is one. Transforms, transfers, loads and copies
belong to what uses their result; a division (a - c) * b to the prime that c was lifted from; a spilled value to what
made it. Sums of ciphertexts, the reduction over groups and the bias are the reduction's.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Final

import numpy.typing as npt

from ringforge.errors import IllegalInstructionError
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.isa import BFrom, Instruction, Opcode, decode

#: The primitives; "control" is everything that sets up, waits for all, or ends.
PRIMITIVES: Final = ("multiply", "rescale", "automorphism", "key switch", "reduction", "control")
MULTIPLY, RESCALE, AUTOMORPHISM, KEY_SWITCH, REDUCTION, CONTROL = range(len(PRIMITIVES))

_CONTROL: Final = frozenset({Opcode.CONF, Opcode.MODULUS, Opcode.SYNC, Opcode.END})
#: An instruction: element and position.
_Place = tuple[int, int]


class _Flow:
    """Who makes and who uses what, over all elements."""

    def __init__(self, config: VectorConfig, programs: Sequence[Sequence[Instruction]]) -> None:
        self.programs = programs
        #: First instruction that uses the result of one; for SEND, the first RECV of it.
        self.user: dict[_Place, _Place] = {}
        #: What made the operands a and c.
        self.maker_a: dict[_Place, _Place] = {}
        self.maker_c: dict[_Place, _Place] = {}
        #: Of a MAC with b from the stream: its STREAM.
        self.stream: dict[_Place, _Place] = {}
        stored: dict[tuple[int, int], _Place] = {}
        sent: dict[tuple[int, int], deque[_Place]] = defaultdict(deque)
        for element, program in enumerate(programs):
            self._element(element, program, stored)
            first = element - element % config.pes
            for at, i in enumerate(program):
                if i.op is Opcode.SEND:
                    for pe in range(config.pes):
                        if i.mask >> pe & 1:
                            sent[element, first + pe].append((element, at))
        for element, program in enumerate(programs):
            first = element - element % config.pes
            for at, i in enumerate(program):
                queue = sent[first + i.src_pe, element]
                if i.op is Opcode.RECV and queue:
                    source = queue.popleft()
                    self.user.setdefault(source, (element, at))
                    self.maker_a[element, at] = source

    def _element(self, element: int, program: Sequence[Instruction], stored: dict[tuple[int, int], _Place]) -> None:
        made: dict[int, int] = {}
        streams: deque[int] = deque()
        for at, i in enumerate(program):
            here = element, at

            def read(slot: int, at: int = at) -> _Place | None:
                maker = made.get(slot)
                if maker is None:
                    return None
                self.user.setdefault((element, maker), (element, at))
                return element, maker

            op = i.op
            if op in (Opcode.NTT, Opcode.INTT):
                read(i.tw)
            if op in (Opcode.NTT, Opcode.INTT, Opcode.AUTO, Opcode.MAC, Opcode.SEND, Opcode.REDUCE):
                maker = read(i.a)
                if maker is not None:
                    self.maker_a[here] = maker
            if op is Opcode.MAC:
                if i.b_from == BFrom.SLOT:
                    read(i.b)
                elif i.b_from == BFrom.STREAM and streams:
                    self.stream[here] = element, streams.popleft()
                if i.pre_sub or i.post_add:
                    maker = read(i.c)
                    if maker is not None:
                        self.maker_c[here] = maker
            elif op is Opcode.STREAM:
                streams.append(at)
            elif op is Opcode.STORE and i.a in made:
                # A spilled value is used by whoever uses it after it is back.
                self.maker_a[here] = stored[element, i.addr] = element, made[i.a]
            elif op is Opcode.LOAD and (element, i.addr) in stored:
                self.maker_a[here] = stored[element, i.addr]
                self.user.setdefault(stored[element, i.addr], here)
            if op in (
                Opcode.LOAD,
                Opcode.RECV,
                Opcode.REDUCE,
                Opcode.NTT,
                Opcode.INTT,
                Opcode.AUTO,
                Opcode.MAC,
            ):
                made[i.dst] = at


class _Attribution:
    """Primitives of instructions, found on demand."""

    def __init__(self, flow: _Flow, special: int, entity_of: Callable[[int], str]) -> None:
        self.flow = flow
        self.special = special
        self.entity_of = entity_of
        self.known: dict[_Place, int] = {}

    def of(self, place: _Place) -> int:
        """The primitive of an instruction."""
        chain = []
        tag: int | None = None
        while tag is None:
            tag = self.known.get(place)
            if tag is None:
                chain.append(place)
                tag, following = self._step(place)
                if tag is None:
                    if following is None or len(chain) > 1000:
                        tag = CONTROL
                    else:
                        place = following
        for p in chain:
            self.known[p] = tag
        return tag

    def _step(self, place: _Place) -> tuple[int | None, _Place | None]:
        """The primitive of an instruction, or the instruction whose primitive it shares."""
        flow = self.flow
        i = flow.programs[place[0]][place[1]]
        op = i.op
        if op in _CONTROL:
            return CONTROL, None
        if op is Opcode.AUTO:
            return AUTOMORPHISM, None
        if op is Opcode.REDUCE:
            return REDUCTION, None
        if op is Opcode.STREAM:
            return (MULTIPLY if self.entity_of(i.addr) == "matrix" else KEY_SWITCH), None
        if op is Opcode.STORE:
            if self.entity_of(i.addr) == "output":
                return REDUCTION, None
            return None, flow.maker_a.get(place)
        if op is Opcode.LOAD and self.entity_of(i.addr) == "matrix":
            return MULTIPLY, None
        if op is Opcode.MAC:
            return self._product(place, i)
        return None, flow.user.get(place)

    def _product(self, place: _Place, i: Instruction) -> tuple[int | None, _Place | None]:
        flow = self.flow
        if i.b_from == BFrom.SLOT:
            return MULTIPLY, None
        if i.b_from == BFrom.STREAM:
            return None, flow.stream.get(place)
        if i.pre_sub:
            return (KEY_SWITCH if self._lifted_from(flow.maker_c.get(place)) == self.special else RESCALE), None
        if i.post_add:
            return REDUCTION, None
        return None, flow.user.get(place)

    def _lifted_from(self, place: _Place | None) -> int:
        """The modulus that a value was lifted from, through loads and transfers."""
        for _ in range(8):
            if place is None:
                break
            i = self.flow.programs[place[0]][place[1]]
            if i.op is Opcode.NTT:
                return i.src_mod if i.lift else -1
            place = self.flow.maker_a.get(place)
        return -1


def attribute(
    config: VectorConfig, programs: Sequence[npt.ArrayLike], special: int, entity_of: Callable[[int], str]
) -> list[bytes]:
    """For every element, an index into `PRIMITIVES` per instruction.

    Args:
        config: the machine.
        programs: as the replica takes them.
        special: modulus-table entry of the special prime.
        entity_of: the entity of an address.

    Raises:
        IllegalInstructionError: not one program per element.
    """
    if len(programs) != config.elements:
        raise IllegalInstructionError(f"machine {config.name} runs {config.elements} programs, not {len(programs)}")
    decoded = [decode(p) for p in programs]
    attribution = _Attribution(_Flow(config, decoded), special, entity_of)
    return [bytes(attribution.of((e, at)) for at in range(len(p))) for e, p in enumerate(decoded)]
