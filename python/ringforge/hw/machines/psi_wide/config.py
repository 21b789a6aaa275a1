# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the streaming accelerator.

>>> machine = WideConfig.named("psi-wide")
>>> machine.lines(10), machine.rlwe_bytes(10), machine.multipliers
(64, 8192, 168)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ringforge.errors import ParameterError
from ringforge.hw.core.config import MachineConfig, room
from ringforge.hw.core.small_ring import Gadget, Ring

#: Bytes of a beat of the machine's port.
PORT_BYTES: Final = 64
#: Primes may be this many bits shorter than the machine's words.
MAX_SHIFT: Final = 7
#: Lines of the smallest polynomial: a sum has been written before it is read again.
MIN_LINES: Final = 32
#: Entries of the table of gadgets.
GADGETS: Final = 16
#: Bits of the numbers in plain rows.
PLAIN_BITS: Final = 16


class WideConfig(MachineConfig):
    """One configuration of the streaming accelerator: `lanes` coefficients a cycle, half as many backwards."""

    room: ClassVar = room("psi_wide")

    #: Coefficients that the forward transform takes in a cycle.
    lanes: Literal[8, 16, 32]
    word_bits: Annotated[int, Field(ge=18, le=62)]
    min_log_n: Annotated[int, Field(ge=8, le=11)]
    max_log_n: Annotated[int, Field(ge=8, le=11)]
    #: RLWE ciphertexts, and rows of keys, that rest on chip.
    slots: Annotated[int, Field(ge=2, le=256)]
    key_rows: Annotated[int, Field(ge=2, le=256)]
    #: Polynomials between the transforms, at most.
    polys: Annotated[int, Field(ge=2, le=64)] = 8
    #: Beats of the longest burst of reads, and of writes.
    load_beats: Annotated[int, Field(ge=4, le=64)] = 32
    store_beats: Annotated[int, Field(ge=4, le=32)] = 16

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if not self.max_log_n - 1 <= self.min_log_n <= self.max_log_n:
            raise ValueError("the transforms leave out one stage or none: min_log_n must be max_log_n or one less")
        if 1 << self.min_log_n < MIN_LINES * self.lanes:
            raise ValueError(f"polynomials have {MIN_LINES} lines at least: raise min_log_n, or take fewer lanes")
        for name in ("polys", "slots", "key_rows"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ValueError(f"{name} must be a power of two")
        if 2 * self.lanes * self.word_bytes < PORT_BYTES:
            raise ValueError(f"a line must be a beat of {PORT_BYTES} bytes at least: take more lanes")
        if self.ports != 1:
            raise ValueError("the machine has 1 port")
        return self

    def parameters(self, *, twin: bool) -> dict[str, int]:
        return {
            "WordBits": self.word_bits,
            "Lanes": self.lanes,
            "MinLogN": self.min_log_n,
            "MaxLogN": self.max_log_n,
            "Slots": self.slots,
            "KeyRows": self.key_rows,
            "Polys": self.polys,
            "LoadBeats": self.load_beats,
            "StoreBeats": self.store_beats,
            "Twin": int(twin),
        }

    @property
    def port_bytes(self) -> int:
        return PORT_BYTES

    @property
    def max_degree(self) -> int:
        return 1 << self.max_log_n

    @property
    def max_prime_bits(self) -> int:
        return self.word_bits

    @property
    def word_bytes(self) -> int:
        """Bytes of a word in memory."""
        return 4 if self.word_bits <= 32 else 8

    @property
    def word_type(self) -> type[np.unsignedinteger]:
        """Type of a word in memory."""
        return np.uint32 if self.word_bits <= 32 else np.uint64

    @property
    def multipliers(self) -> int:
        """Modular multipliers: of the transforms, of keys, and of the gather unit's two halves."""
        half = self.lanes // 2
        return self.max_log_n * (half + half // 2) + 2 * self.lanes + 2 * half

    def lines(self, log_n: int) -> int:
        """Cycles of a polynomial in the forward transform."""
        return (1 << log_n) // self.lanes

    def rlwe_bytes(self, log_n: int) -> int:
        """Bytes of a ciphertext, or of a row of a key."""
        return 2 * self.word_bytes << log_n

    @property
    def shape(self) -> str:
        return f"{self.lanes} coefficients of {self.word_bits} bits a cycle"

    def facts(self) -> dict[str, str]:
        degrees = " or ".join(f"{1 << log_n:,}" for log_n in range(self.min_log_n, self.max_log_n + 1))
        return {
            **super().facts(),
            "transforms": f"{self.lanes} coefficients a cycle forward, {self.lanes // 2} backward, N = {degrees}",
            "on chip": f"{self.slots} ciphertexts, {self.key_rows} rows of keys",
            "multipliers": f"{self.multipliers} of {self.word_bits} bits, Barrett",
        }

    def check_ring(self, q: int, log_n: int) -> Ring:
        """The ring, which it has.

        Raises:
            ParameterError: it has not; the message says what it has, and who has the ring.
        """
        if not self._degree(log_n):
            raise ParameterError(
                f"{self.name} takes degrees 2^{self.min_log_n} to 2^{self.max_log_n}, not 2^{log_n}: "
                f"take {self._others(q, log_n)}"
            )
        if not self._prime(q):
            raise ParameterError(
                f"{self.name} takes primes of {self.word_bits - MAX_SHIFT} to {self.word_bits} bits, not of "
                f"{q.bit_length()}: take {self._others(q, log_n)}"
            )
        return Ring.of(q, log_n)

    def _degree(self, log_n: int) -> bool:
        return self.min_log_n <= log_n <= self.max_log_n

    def _prime(self, q: int) -> bool:
        return self.word_bits - MAX_SHIFT <= q.bit_length() <= self.word_bits

    @classmethod
    def _others(cls, q: int, log_n: int) -> str:
        """Who has a ring: configurations, and the library."""
        all_of_them = (cls.named(name) for name in cls.names())
        return " or ".join([f"rtl:{c.name}" for c in all_of_them if c._degree(log_n) and c._prime(q)] + ["device cpu"])

    def check_gadget(self, gadget: Gadget, q: int) -> None:
        """Whether it cuts so.

        Raises:
            ParameterError: it does not; the message says what it does.
        """
        covered = gadget.log_base * gadget.count + gadget.drop
        if (
            not 1 <= gadget.log_base <= min(30, self.word_bits - 2)
            or not 1 <= gadget.count <= 31
            or not gadget.covers(q)
            or covered > self.word_bits + 1
        ):
            raise ParameterError(
                f"{self.name} cuts {q.bit_length()} bits into 1 to 31 digits of 1 to 30 bits that cover them and "
                f"{self.word_bits + 1} bits at most with what they drop, not into {gadget.count} of "
                f"{gadget.log_base} above {gadget.drop}: choose other digits, or device cpu"
            )
