# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the omr machine.

>>> machine = OmrConfig.named("omr-paper")
>>> machine.port_bytes, machine.limb_bytes(16), machine.transform_cycles(16), machine.pcmul_lanes
(128, 524288, 8192, 32)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES, MachineConfig, room

#: Primes may be this many bits shorter than the machine's words.
MAX_SHIFT: Final = 7
#: Primes are 1 modulo this, where they are Montgomery's.
MONTGOMERY_STEP: Final = 1 << 18
#: Rows of the wide buffers in the smallest polynomial.
MIN_WIDE_ROWS: Final = 8
#: Buffers of twiddle tables, pairs of accumulators and accumulators of quotients.
TWIDDLES: Final = 2
ACCUMULATORS: Final = 2
QUOTIENTS: Final = 4
#: Entries of a way's tables of moduli and of constants.
MODULI: Final = 64
CONSTANTS: Final = 2048
#: Bits of a quotient above its fraction.
QUOTIENT_BITS: Final = 6


class OmrConfig(MachineConfig):
    """One configuration: a rotation core of `ways` in lockstep, and a grid of `groups` x `rows` x `cols` products."""

    room: ClassVar = room("omr")

    #: Coefficients that a unit, and a port, moves in a cycle.
    lanes: Literal[2, 4, 8, 16]
    #: Butterflies of a way's transform unit.
    butterflies: Literal[2, 4, 8, 16, 32, 64]
    #: Rotation cores that work in lockstep on limbs of their own.
    ways: Literal[1, 2, 4]
    #: Sources that base conversion takes in a cycle.
    sources: Annotated[int, Field(ge=1, le=8)]
    #: Diagonals, ciphertext parts and groups of terms of the grid of products.
    rows: Annotated[int, Field(ge=1, le=8)]
    cols: Literal[1, 2]
    groups: Annotated[int, Field(ge=1, le=8)]
    #: Limbs that the wide buffers X, and the source banks D, hold.
    buffers: Annotated[int, Field(ge=4, le=16)]
    banks: Annotated[int, Field(ge=4, le=63)]
    word_bits: Annotated[int, Field(ge=36, le=62)]
    multiplier: Literal["barrett", "montgomery"]
    min_log_n: Annotated[int, Field(ge=4, le=16)]
    max_log_n: Annotated[int, Field(ge=4, le=16)]
    #: Rows of the longest burst, and rows that a stream asks for ahead.
    burst_rows: Annotated[int, Field(ge=2, le=32)] = 16
    read_rows: Annotated[int, Field(ge=4, le=512)] = 64

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min_log_n > self.max_log_n:
            raise ValueError("min_log_n must be at most max_log_n")
        if self.lanes > self.wide:
            raise ValueError(f"a row of {self.wide} words must hold one of {self.lanes}: take more butterflies")
        if self.wide < 4:
            raise ValueError("a wide row has 4 words at least: take more butterflies")
        if 1 << self.min_log_n < MIN_WIDE_ROWS * self.wide:
            raise ValueError(f"polynomials have {MIN_WIDE_ROWS} wide rows at least: raise min_log_n")
        if 2 << self.max_log_n <= CONSTANTS // self.lanes:
            raise ValueError("a request of rows must hold a table of constants: raise max_log_n, or take more lanes")
        if self.sources > self.banks:
            raise ValueError(f"{self.sources} sources of {self.banks} banks: take fewer sources")
        if self.read_rows < 2 * self.burst_rows:
            raise ValueError("read_rows must be two bursts at least")
        if self.burst_rows * self.port_bytes > 4096:
            raise ValueError("a burst is 4,096 bytes at most: lower burst_rows")
        expected = 2 * self.ways + self.groups * (self.rows + self.cols)
        if self.ports != expected:
            raise ValueError(f"ports must be {expected}: two a way, and rows + cols a group")
        return self

    def parameters(self, *, twin: bool) -> dict[str, int]:
        return {
            "W": self.word_bits,
            "Lanes": self.lanes,
            "Butterflies": self.butterflies,
            "Ways": self.ways,
            "Sources": self.sources,
            "Rows": self.rows,
            "Cols": self.cols,
            "Groups": self.groups,
            "Buffers": self.buffers,
            "Banks": self.banks,
            "MinLogN": self.min_log_n,
            "MaxLogN": self.max_log_n,
            "BurstRows": self.burst_rows,
            "ReadRows": self.read_rows,
            "Kind": int(self.montgomery),
            "Twin": int(twin),
        }

    @property
    def port_bytes(self) -> int:
        return WORD_BYTES * self.lanes

    @property
    def max_degree(self) -> int:
        return 1 << self.max_log_n

    @property
    def max_prime_bits(self) -> int:
        return self.word_bits

    @property
    def min_prime_bits(self) -> int:
        """Bits of the shortest prime that it takes."""
        return self.word_bits - MAX_SHIFT

    @property
    def montgomery(self) -> bool:
        return self.multiplier == "montgomery"

    @property
    def wide(self) -> int:
        """Words of a row of X: T of the machine's README."""
        return 2 * self.butterflies

    @property
    def pcmul_lanes(self) -> int:
        """Products of the grid in a cycle."""
        return self.lanes * self.rows * self.cols * self.groups

    @property
    def shape(self) -> str:
        return (
            f"{self.lanes} coefficients a cycle, {self.ways} x {self.butterflies} butterflies, "
            f"{self.sources} sources, {self.groups} x {self.rows} x {self.cols} products, "
            f"{self.multiplier} multipliers of {self.word_bits} bits"
        )

    def facts(self) -> dict[str, str]:
        return {
            **super().facts(),
            "rotation core": f"{self.ways} x {self.butterflies} butterflies, base conversion of {self.sources} sources "
            f"and keys at {self.lanes} coefficients a cycle",
            "products": f"{self.groups} groups of {self.rows} diagonals x {self.cols} parts, {self.lanes} lanes each",
            "on chip": f"{self.buffers} limbs a way, {self.banks} source limbs",
            "degrees": f"{1 << self.min_log_n:,} to {1 << self.max_log_n:,}",
            "primes": f"{self.min_prime_bits} to {self.max_prime_bits} bits, {self.multiplier}",
        }

    # ---- sizes and cycles ----

    def limb_bytes(self, log_n: int) -> int:
        """Bytes of a limb in memory."""
        return WORD_BYTES << log_n

    def limb_rows(self, log_n: int) -> int:
        """Rows of a port, and cycles of a unit that works a row a cycle, of a limb."""
        return (1 << log_n) // self.lanes

    def transform_cycles(self, log_n: int) -> int:
        """Cycles of a transform of a limb but for what fills the unit's pipelines."""
        return log_n * ((1 << log_n) // self.wide)

    # ---- what it takes ----

    def shift(self, q: int) -> int:
        """Bits by which a word is longer than q; Barrett multipliers take residues shifted left by them.

        Raises:
            ParameterError: a modulus that the machine does not take; the message says what it takes.
        """
        bits = q.bit_length()
        if not self.min_prime_bits <= bits <= self.max_prime_bits or q % 2 == 0:
            raise ParameterError(
                f"{self.name} takes odd moduli of {self.min_prime_bits} to {self.max_prime_bits} bits, not {q} of "
                f"{bits}: take another configuration"
            )
        if self.montgomery and q % MONTGOMERY_STEP != 1:
            raise ParameterError(
                f"{self.name} takes moduli that are 1 modulo 2^18, as its Montgomery multipliers ask, not {q}: "
                "take another configuration"
            )
        return self.word_bits - bits

    def check_log_n(self, log_n: int) -> None:
        """Raises ParameterError for a degree 2^log_n that the machine does not take."""
        if not self.min_log_n <= log_n <= self.max_log_n:
            raise ParameterError(
                f"{self.name} takes N = 2^{self.min_log_n} to 2^{self.max_log_n}, not 2^{log_n}: "
                "take another configuration"
            )
