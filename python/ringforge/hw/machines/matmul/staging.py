# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Multipliers from far memory: copied to near memory in the background, ahead of their use.

Operations name keys and diagonals by far addresses; `staged` gives them places in near memory, a window that is used
again and again. The window's halves take turns: while the polynomials of one half are used, those of the other one are
copied, evenly over three quarters of that time, so that the SYNC before their use finds them there if far memory is
quick enough. If it is not, the element waits for it, and nothing else is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ringforge.hw.vector.ir import Op
from ringforge.hw.vector.isa import Opcode, Scope

#: Polynomials of the window. A quarter of them is more than two rotations take.
WINDOW: Final = 128
_HALF: Final = WINDOW // 2
_QUARTER: Final = WINDOW // 4
#: Part of a half's time in which the other half is copied.
_PACE: Final = 0.75


def staged(ops: Sequence[Op], room: Callable[[], int], stride: int, log_n: int) -> list[Op]:
    """The same operations, with COPYs and SYNCs, and far addresses replaced by near ones.

    Args:
        ops: operations of one element; those that are `far` load or stream a polynomial once.
        room: gives the address of a window of `WINDOW` polynomials in near memory, which nothing else uses.
        stride: bytes from one polynomial to the next there.
        log_n: log2 of the degree: what a transform takes, in multiply-accumulates.
    """
    sources = [op.addr for op in ops if op.far]
    if not sources:
        return list(ops)
    first = room()
    # The time at which each half of the window is used first; what comes before the first use is a half of its own.
    begins, time, count = [0], 0, 0
    for op in ops:
        if op.far:
            if count % _HALF == 0:
                begins.append(time)
            count += 1
        time += _work(op, log_n)
    begins.append(time + 1)

    out: list[Op] = []
    copied = used = half = time = 0

    def copy(until: int) -> None:
        nonlocal copied
        while copied < min(until, len(sources)):
            out.append(Op(Opcode.COPY, addr=first + copied % WINDOW * stride, imm=sources[copied]))
            copied += 1

    for op in ops:
        if op.far:
            if used % _HALF == 0:
                copy(used + _HALF)
                out.append(Op(Opcode.SYNC, peer=int(Scope.ELEMENT)))
                half += 1
            op = replace(op, addr=first + used % WINDOW * stride, far=False)
            used += 1
        out.append(op)
        time += _work(op, log_n)
        part = (time - begins[half]) / (_PACE * (begins[half + 1] - begins[half]))
        # What is written over was used a while ago, and is not waiting in a slot's LOAD any more.
        copy(min(half * _HALF + int(_HALF * min(part, 1.0)), used + WINDOW - _QUARTER))
    return out


def _work(op: Op, log_n: int) -> int:
    """Multiply-accumulates that take as long as an operation."""
    if op.op in (Opcode.NTT, Opcode.INTT):
        return log_n * (1 if op.pair is None else 2)
    return int(op.op == Opcode.MAC)
