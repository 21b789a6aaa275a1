# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kinds of gates: their numbers, inputs, bootstraps, and truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum


class GateKind(IntEnum):
    """Gates of the evaluator, by the numbers that the native engine knows them by.

    SUM2 and SUM3 are XORs that are not refreshed: inputs less twice the carry, a + b - 2 AND(a, b) and
    a + b + c - 2 MAJ3(a, b, c). Beside the AND or MAJ3 of the same wires in the same level they cost no bootstrap.
    Their results have their inputs' noise, and depend on them: :mod:`ringforge.gates.sums` says where they may go.
    REFRESH is its input, bootstrapped.
    """

    AND = 0
    OR = 1
    NAND = 2
    NOR = 3
    XOR = 4
    XNOR = 5
    NOT = 6
    MUX = 7
    MAJ3 = 8
    XOR3 = 9
    AND3 = 10
    OR3 = 11
    NAND3 = 12
    NOR3 = 13
    COPY = 14
    ZERO = 15
    ONE = 16
    SUM2 = 17
    SUM3 = 18
    REFRESH = 19

    @property
    def arity(self) -> int:
        """Inputs, 0 to 3. MUX takes (select, if one, if zero)."""
        return _ARITY[self]

    @property
    def bootstraps(self) -> int:
        """Blind rotations, 0 to 2: what the gate costs by itself."""
        return _BOOTSTRAPS[self]

    def of(self, bits: Sequence[int], mask: int = 1) -> int:
        """The gate's output in the clear.

        Args:
            bits: as many inputs as `arity`; each bit position below `mask` is a computation of its own.
            mask: all positions set, 2^count - 1.
        """
        match self:
            case GateKind.AND | GateKind.AND3:
                value = _all(bits, mask)
            case GateKind.OR | GateKind.OR3:
                value = _any(bits)
            case GateKind.NAND | GateKind.NAND3:
                value = ~_all(bits, mask)
            case GateKind.NOR | GateKind.NOR3:
                value = ~_any(bits)
            case GateKind.XOR | GateKind.SUM2:
                value = bits[0] ^ bits[1]
            case GateKind.XNOR:
                value = ~(bits[0] ^ bits[1])
            case GateKind.NOT:
                value = ~bits[0]
            case GateKind.MUX:
                value = (bits[0] & bits[1]) | (~bits[0] & bits[2])
            case GateKind.MAJ3:
                value = (bits[0] & bits[1]) | (bits[0] & bits[2]) | (bits[1] & bits[2])
            case GateKind.XOR3 | GateKind.SUM3:
                value = bits[0] ^ bits[1] ^ bits[2]
            case GateKind.COPY | GateKind.REFRESH:
                value = bits[0]
            case GateKind.ZERO:
                value = 0
            case GateKind.ONE:
                value = mask
        return value & mask


def _all(bits: Sequence[int], mask: int) -> int:
    value = mask
    for b in bits:
        value &= b
    return value


def _any(bits: Sequence[int]) -> int:
    value = 0
    for b in bits:
        value |= b
    return value


def shared_rotations(gates: Iterable[tuple[GateKind, Sequence[int]]]) -> int:
    """How many sums take the rotation of their carry: those that stand beside an AND or MAJ3 of the same wires, in the
    same order, one sum for each.

    Args:
        gates: of one level, or of a circuit: kind and wires read.
    """
    carries, sums = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for kind, wires in gates:
        if kind in CARRIES:
            carries[tuple(wires)] = 1
        elif kind in SUMS:
            sums[tuple(wires)] = 1
    return (carries & sums).total()


#: Kinds of sums, and of the carries whose rotations they share.
SUMS = (GateKind.SUM2, GateKind.SUM3)
CARRIES = (GateKind.AND, GateKind.MAJ3)

_TWO_INPUTS = ("AND", "OR", "NAND", "NOR", "XOR", "XNOR", "SUM2")
_TWO_ROTATIONS = ("MUX", "AND3", "OR3", "NAND3", "NOR3")
_FREE = ("NOT", "COPY", "ZERO", "ONE")
_FEW_INPUTS = {"NOT": 1, "COPY": 1, "REFRESH": 1, "ZERO": 0, "ONE": 0}
_ARITY = {k: 2 if k.name in _TWO_INPUTS else _FEW_INPUTS.get(k.name, 3) for k in GateKind}
_BOOTSTRAPS = {k: 0 if k.name in _FREE else 2 if k.name in _TWO_ROTATIONS else 1 for k in GateKind}
