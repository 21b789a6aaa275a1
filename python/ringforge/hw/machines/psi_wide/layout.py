# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What lies in the streaming accelerator's memory, and its registers.

A word has 32 bits, 64 on machines of more than 32 bits. A ciphertext or a row of a key is 2N words in Eval order, by
lines: as many of a as the machine has lanes, then as many of b. Residues are canonical. A table is N words. A plain row
is N numbers of 16 bits in the order in which the forward transform takes them: of the lower half of the coefficients
and of the upper half, half a line of each in turns. Monomials are pairs of numbers of 16 bits, power and key row, in as
much memory as a plain row takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError, ShapeError
from ringforge.hw.core import registers
from ringforge.hw.core.small_ring import Gadget, Ring, reversed_bits
from ringforge.hw.machines.psi_wide.config import GADGETS, PLAIN_BITS, WideConfig
from ringforge.hw.machines.psi_wide.program import Table

Words = npt.NDArray[np.uint64]


def image(config: WideConfig, ciphertexts: npt.NDArray[np.unsignedinteger]) -> Words:
    """Memory of ciphertexts or rows in Eval order, (..., 2, N), one behind the other.

    Raises:
        ShapeError: other shapes.
    """
    if ciphertexts.ndim < 2 or ciphertexts.shape[-2] != 2 or ciphertexts.shape[-1] % config.lanes:
        raise ShapeError(f"ciphertexts are (..., 2, N), not {ciphertexts.shape}")
    *lead, _, n = ciphertexts.shape
    parts = ciphertexts.reshape(*lead, 2, n // config.lanes, config.lanes)
    lines = np.ascontiguousarray(np.moveaxis(parts, -3, -2), config.word_type)
    return lines.reshape(-1).view(np.uint64)


def ciphertexts(config: WideConfig, words: Words, log_n: int) -> Words:
    """Ciphertexts (count, 2, N) in Eval order of their memory."""
    lines = words.view(config.word_type).reshape(-1, config.lines(log_n), 2, config.lanes)
    return np.ascontiguousarray(np.moveaxis(lines, -2, -3), np.uint64).reshape(len(lines), 2, 1 << log_n)


def tables(config: WideConfig, ring: Ring) -> dict[Table, Words]:
    """The machine's tables: twiddles, minus their inverses, powers of psi."""
    powers = np.empty(ring.degree, np.uint64)
    powers[reversed_bits(ring.log_n)] = ring.twiddles
    inverse = ring.twiddles.copy()
    for stage in range(ring.log_n):
        # -psi^-brv(m + i) is psi^brv(m + m - 1 - i): the stage's entries backwards.
        inverse[1 << stage : 2 << stage] = ring.twiddles[1 << stage : 2 << stage][::-1]
    found = {Table.FORWARD: ring.twiddles, Table.INVERSE: inverse, Table.POWERS: powers}
    return {which: np.ascontiguousarray(t, config.word_type).view(np.uint64) for which, t in found.items()}


def plain(config: WideConfig, rows: npt.NDArray[np.integer]) -> Words:
    """Memory of plain rows, (count, N).

    Raises:
        ParameterError: a number has more than 16 bits.
    """
    if rows.size and (rows.min() < 0 or rows.max() >> PLAIN_BITS):
        raise ParameterError(f"numbers of plain rows have {PLAIN_BITS} bits")
    count, n = rows.shape
    halves = rows.reshape(count, 2, n // config.lanes, config.lanes // 2)
    lines = np.ascontiguousarray(np.moveaxis(halves, 1, 2), np.uint16)
    return lines.reshape(-1).view(np.uint64)


def cells(log_n: int, powers: Sequence[int], rows: Sequence[int]) -> Words:
    """Memory of monomials: a plain row's size, a power and a key row for each.

    Raises:
        ShapeError: a plain row does not hold so many.
    """
    if len(powers) != len(rows) or 2 * len(powers) > 1 << log_n:
        raise ShapeError(f"a row holds {1 << log_n >> 1} monomials, not {len(powers)}")
    found = np.zeros(1 << log_n, np.uint16)
    found[0 : 2 * len(powers) : 2] = powers
    found[1 : 2 * len(rows) : 2] = rows
    return found.view(np.uint64)


def plain_rows(config: WideConfig, words: Words, log_n: int) -> Words:
    """Plain rows (count, N) of their memory."""
    lines = words.view(np.uint16).reshape(-1, config.lines(log_n), 2, config.lanes // 2)
    return np.ascontiguousarray(np.moveaxis(lines, 1, 2), np.uint64).reshape(len(lines), 1 << log_n)


@dataclass(frozen=True)
class Setup:
    """What a run needs besides its program and its memory.

    Attributes:
        ring: the ring.
        gadgets: the table of gadgets.
        scalar: what `Times.SCALAR` multiplies with.
    """

    ring: Ring
    gadgets: Sequence[Gadget]
    scalar: int = 0

    def check(self, config: WideConfig) -> None:
        """Whether a machine can hold it.

        Raises:
            ParameterError: it cannot; the message says what it holds.
        """
        config.check_ring(self.ring.q, self.ring.log_n)
        if len(self.gadgets) > GADGETS:
            raise ParameterError(f"the table of gadgets has {GADGETS} entries, not {len(self.gadgets)}")
        for gadget in self.gadgets:
            config.check_gadget(gadget, self.ring.q)
        if not 0 <= self.scalar < self.ring.q:
            raise ParameterError(f"the scalar {self.scalar} is no residue modulo {self.ring.q}")

    def writes(self, config: WideConfig, instructions: int) -> list[tuple[int, int]]:
        """Registers to write, in order: addresses and values.

        Raises:
            ParameterError: as `check`.
        """
        self.check(config)
        entries = _registers(config)
        shift = config.word_bits - self.ring.q.bit_length()
        barrett = (1 << 2 * config.word_bits) // (self.ring.q << shift)
        found: list[tuple[int, int]] = []

        def put(name: str, value: int, *, wide: bool = False) -> None:
            found.append((entries[name].address, value & 0xFFFFFFFF))
            if wide:
                found.append((entries[f"{name}_HIGH"].address, value >> 32 & 0xFFFFFFFF))

        put("Q", self.ring.q, wide=True)
        put("BARRETT", barrett, wide=True)
        put("LOG_N", self.ring.log_n)
        put("SHIFT", shift)
        put("SCALAR", self.scalar, wide=True)
        put("INSTRUCTIONS", instructions)
        parts = {f.name: f for f in entries["GADGET"].fields}
        for index, gadget in enumerate(self.gadgets):
            values = {
                "LOG_BASE": gadget.log_base, "COUNT": gadget.count, "DROP": gadget.drop,
                "BALANCED": int(gadget.balanced), "INDEX": index,
            }  # fmt: skip
            put("OFFSET", gadget.offset, wide=True)
            put("GADGET", sum(value << parts[name].lsb for name, value in values.items()))
        for index in range(len(self.gadgets), GADGETS):
            # Without digits: instructions that name it are refused.
            put("GADGET", index << parts["INDEX"].lsb)
        return found


def _registers(config: WideConfig) -> Mapping[str, registers.Entry]:
    return {entry.name: entry for entry in registers.own(config.room / "registers.json").entries}
