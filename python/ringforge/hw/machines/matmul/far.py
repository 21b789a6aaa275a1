# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Multipliers from far memory: copied to near memory in the background, ahead of their use.

Operations name keys and diagonals by far addresses; `staged` gives them places in near memory, a window that is used
again and again. The window's halves take turns: while the polynomials of one half are used, those of the other one are
copied, at twice the pace at first, so that the SYNC before their use finds them there if far memory is quick enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ringforge.hw.vector.ir import Op
from ringforge.hw.vector.isa import Opcode, Scope

#: Polynomials of the window. A quarter of them is more than two rotations take, so that what is written over is not
#: waiting to be used any more.
WINDOW: Final = 128


def staged(ops: Sequence[Op], room: Callable[[], int], stride: int) -> list[Op]:
    """The same operations, with COPYs and SYNCs, and far addresses replaced by near ones.

    Args:
        ops: operations of one element; those that are `far` load or stream a polynomial once.
        room: gives the address of a window of `WINDOW` polynomials in near memory, which nothing else uses.
        stride: bytes from one polynomial to the next there.
    """
    sources = [op.addr for op in ops if op.far]
    if not sources:
        return list(ops)
    first, half = room(), WINDOW // 2
    out: list[Op] = []
    copied = used = 0

    def copy(until: int) -> None:
        nonlocal copied
        while copied < min(until, len(sources)):
            out.append(Op(Opcode.COPY, addr=first + copied % WINDOW * stride, imm=sources[copied]))
            copied += 1

    copy(half)
    for op in ops:
        if not op.far:
            out.append(op)
            continue
        group, place = divmod(used, half)
        if place == 0:
            out.append(Op(Opcode.SYNC, peer=int(Scope.ELEMENT)))
        out.append(replace(op, addr=first + used % WINDOW * stride, far=False))
        copy((group + 1) * half + min(2 * (place + 1), half))
        used += 1
    return out
