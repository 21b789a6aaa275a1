# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A range check in pieces for several workers: one for each clue, up to where clues meet, and the rest.

Pieces are the program's own operations in the program's order, so that words are those of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ringforge.omr.progress import Progress, reach
from ringforge.omr.range_check import Op, Program, Reg, apply, weight

if TYPE_CHECKING:
    from ringforge._native import RelinKey
    from ringforge._native.bfv import Ciphertext, Evaluator

__all__ = ["Packed", "Piece", "pieces"]

#: A piece as numbers: registers are (index, limbs, parts).
Packed: TypeAlias = tuple[
    tuple[tuple[int, int, int], ...],
    tuple[tuple[str, tuple[tuple[int, int, int], ...], tuple[int, int, int], tuple[int, ...]], ...],
    tuple[tuple[int, int, int], ...],
]


@dataclass(frozen=True)
class Piece:
    """Operations in order.

    Attributes:
        inputs, results: registers. ops: in order.
    """

    inputs: tuple[Reg, ...]
    ops: tuple[Op, ...]
    results: tuple[Reg, ...]

    @property
    def weight(self) -> float:
        """Of its time, in the units of `range_check.weight`."""
        return sum(weight(op) for op in self.ops)

    @property
    def live(self) -> int:
        """Limbs of ciphertexts' parts that are held at the most."""
        held = {reg.index: reg.parts * reg.limbs for reg in self.inputs}
        last, most = self._last(), sum(held.values())
        for number, op in enumerate(self.ops):
            held[op.out.index] = op.out.parts * op.out.limbs
            most = max(most, sum(held.values()))
            for a in op.args:
                if last[a.index] == number:
                    held.pop(a.index, None)
        return most

    def _last(self) -> dict[int, int]:
        last = {a.index: number for number, op in enumerate(self.ops) for a in op.args}
        last.update({reg.index: len(self.ops) for reg in self.results})
        return last

    def run(
        self, evaluator: Evaluator, relin: RelinKey, inputs: Sequence[Ciphertext], progress: Progress | None = None
    ) -> list[Ciphertext]:
        """Ciphertexts of the results.

        Raises:
            Error "cancelled": `progress` returned False.
        """
        held = {reg.index: c for reg, c in zip(self.inputs, inputs, strict=True)}
        last, total, done = self._last(), self.weight, 0.0
        for number, op in enumerate(self.ops):
            held[op.out.index] = apply(evaluator, relin, op, [held[a.index] for a in op.args])
            for a in op.args:
                if last[a.index] == number:
                    held.pop(a.index, None)
            done += weight(op)
            reach(progress, done / total)
        return [held[reg.index] for reg in self.results]

    def packed(self) -> Packed:
        """What travels: all but noise."""

        def said(reg: Reg) -> tuple[int, int, int]:
            return reg.index, reg.limbs, reg.parts

        ops = tuple((op.kind, tuple(map(said, op.args)), said(op.out), op.values) for op in self.ops)
        return tuple(map(said, self.inputs)), ops, tuple(map(said, self.results))

    @classmethod
    def unpacked(cls, given: Packed) -> Piece:
        """What `packed` gave."""
        from ringforge._native.bfv import Noise

        nothing = Noise(0.0)
        inputs, ops, results = given

        def reg(said: tuple[int, int, int]) -> Reg:
            index, limbs, parts = said
            return Reg(index, nothing, limbs, parts)

        made = tuple(Op(kind, tuple(map(reg, args)), reg(out), values) for kind, args, out, values in ops)  # type: ignore[arg-type]
        return cls(tuple(map(reg, inputs)), made, tuple(map(reg, results)))


def pieces(program: Program) -> tuple[list[Piece], Piece]:
    """Of each input what depends on it alone, and what remains: its inputs are the results of all the others, in order.

    A program of one input has nothing but the rest.
    """
    if len(program.inputs) == 1:
        return [], Piece(program.inputs, program.ops, (program.result,))
    of = {reg.index: frozenset([i]) for i, reg in enumerate(program.inputs)}
    for op in program.ops:
        of[op.out.index] = frozenset().union(*(of[a.index] for a in op.args))
    rest = tuple(op for op in program.ops if len(of[op.out.index]) > 1)
    needed = {a.index: a for op in rest for a in op.args if len(of[a.index]) == 1}
    parts = []
    for i, reg in enumerate(program.inputs):
        ops = tuple(op for op in program.ops if of[op.out.index] == {i})
        parts.append(Piece((reg,), ops, tuple(a for a in needed.values() if of[a.index] == {i})))
    return parts, Piece(tuple(reg for part in parts for reg in part.results), rest, (program.result,))
