# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the FHEW accelerator.

>>> machine = PsiConfig.named("psi-27")
>>> machine.rlwe_bytes(10), machine.key_beats(10), machine.interval(10)
(16384, 256, 269)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES, MachineConfig, room

#: Bytes of a beat of each of the machine's ports.
PORT_BYTES = 64
#: Ports: for keys, and for all else.
PORTS = 2
#: Primes may be this many bits shorter than the machine's words.
MAX_SHIFT = 15
#: Idle cycles of a stage, where it has any: what its pipeline needs to run empty.
LEAST_DRAIN = 13
#: Beats of a burst of keys at most, and bursts that may be outstanding.
KEY_BURST = 64
KEY_BURSTS = 31
#: Keys begin at multiples of this many bytes.
KEY_UNIT = 16384
#: Addresses of ciphertexts, results, queue and tables are multiples of this many bytes.
PAGE = 4096


class PsiConfig(MachineConfig):
    """One configuration of the FHEW accelerator: a pipeline as published, or the same without its idle cycles."""

    room: ClassVar = room("psi")

    #: Coefficients of a polynomial that the forward transform takes in a cycle.
    lanes: Literal[4] = 4
    word_bits: Annotated[int, Field(ge=24, le=54)]
    multiplier: Literal["barrett", "montgomery"]
    #: Bits of a round of the word-wise Montgomery multiplier: primes are 1 modulo 2^montgomery_word.
    montgomery_word: Annotated[int, Field(ge=8, le=18)] = 11
    min_log_n: Annotated[int, Field(ge=7, le=10)]
    max_log_n: Annotated[int, Field(ge=8, le=11)]
    #: Inverse transform modules.
    intts: Annotated[int, Field(ge=1, le=8)] = 4
    #: Cycles that a stage waits between polynomials.
    drain: Annotated[int, Field(ge=0, le=31)] = 0
    #: Key bursts are followed by a cycle without data, and rows by another.
    key_pauses: bool = False
    #: Rows of keys that the key FIFO holds.
    key_rows: Annotated[int, Field(ge=2, le=64)] = 8
    #: RLWEs that the FIFOs of inputs, of the loop and of outputs hold.
    input_slots: Annotated[int, Field(ge=1, le=64)] = 4
    loop_slots: Annotated[int, Field(ge=1, le=64)] = 16
    output_slots: Annotated[int, Field(ge=1, le=64)] = 2
    #: Instructions that the reorder buffer holds.
    reorder: Annotated[int, Field(ge=2, le=32)] = 8

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min_log_n != self.max_log_n - 1:
            raise ValueError("the pipeline leaves out one stage or none: min_log_n must be max_log_n - 1")
        if self.multiplier == "montgomery" and self.montgomery_word > self.word_bits:
            raise ValueError(f"montgomery_word must be at most word_bits, {self.word_bits}")
        if 0 < self.drain < LEAST_DRAIN:
            raise ValueError(f"drain must be 0, where stages hand over to each other, or at least {LEAST_DRAIN}")
        if self.ports != PORTS:
            raise ValueError(f"ports must be {PORTS}: one for keys, one for all else")
        return self

    def parameters(self, *, twin: bool) -> dict[str, int]:
        return {
            "W": self.word_bits,
            "Lanes": self.lanes,
            "MinLogN": self.min_log_n,
            "MaxLogN": self.max_log_n,
            "Intts": self.intts,
            "Drain": self.drain,
            "KeyPauses": int(self.key_pauses),
            "KeyRows": self.key_rows,
            "InputSlots": self.input_slots,
            "LoopSlots": self.loop_slots,
            "OutputSlots": self.output_slots,
            "Reorder": self.reorder,
            "Ports": self.ports,
            "Kind": int(self.montgomery),
            "MontgomeryWord": self.montgomery_word,
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
    def min_prime_bits(self) -> int:
        """Bits of the shortest prime that it takes."""
        return self.word_bits if self.montgomery else self.word_bits - MAX_SHIFT

    @property
    def montgomery(self) -> bool:
        return self.multiplier == "montgomery"

    @property
    def shape(self) -> str:
        return f"{self.lanes} coefficients a cycle, {self.multiplier} multipliers of {self.word_bits} bits"

    def facts(self) -> dict[str, str]:
        pauses = "a cycle after each burst and each row" if self.key_pauses else "none"
        return {
            **super().facts(),
            "pipeline": self.shape,
            "degrees": f"{1 << self.min_log_n:,} and {1 << self.max_log_n:,}",
            "primes": f"{self.min_prime_bits} to {self.max_prime_bits} bits",
            "inverse transforms": f"{self.intts} modules",
            "idle cycles": f"{self.drain} a stage and polynomial; of keys: {pauses}",
            "FIFOs, in RLWEs": f"input {self.input_slots}, loop {self.loop_slots}, output {self.output_slots}, "
            f"keys {self.key_rows}",
        }

    # ---- sizes and cycles ----

    def check_log_n(self, log_n: int) -> None:
        """Raises ParameterError for a degree 2^log_n that the machine does not take."""
        if not self.min_log_n <= log_n <= self.max_log_n:
            raise ParameterError(
                f"{self.name} takes N = 2^{self.min_log_n} to 2^{self.max_log_n}, not 2^{log_n}: choose another "
                "configuration, `ringforge hw list` shows them"
            )

    def shift(self, q: int) -> int:
        """By how many bits residues modulo q are held shifted left.

        Raises:
            ParameterError: q is even, too short or too long, or, on a Montgomery machine, not 1 modulo its radix.
        """
        bits = q.bit_length()
        if q % 2 == 0 or not self.min_prime_bits <= bits <= self.max_prime_bits:
            raise ParameterError(
                f"{self.name} takes odd moduli of {self.min_prime_bits} to {self.max_prime_bits} bits, not {q}: choose "
                "another configuration, `ringforge hw list` shows them"
            )
        if self.montgomery and q % (1 << self.montgomery_word) != 1:
            raise ParameterError(f"{self.name} takes moduli that are 1 modulo 2^{self.montgomery_word}, {q} is not")
        return self.word_bits - bits

    def rlwe_bytes(self, log_n: int) -> int:
        """Bytes of an RLWE, or of a row of a key, in memory."""
        return 2 * WORD_BYTES << log_n

    def key_beats(self, log_n: int) -> int:
        """Beats of a row of a key."""
        return self.rlwe_bytes(log_n) // PORT_BYTES

    def key_bytes(self, log_n: int, rows: int) -> int:
        """Bytes from one key of so many rows to the next: whole units of addresses."""
        return -(-rows * self.rlwe_bytes(log_n) // KEY_UNIT) * KEY_UNIT

    def interval(self, log_n: int) -> int:
        """Cycles from a polynomial to the next in a stage, at least."""
        return (1 << log_n) // self.lanes + self.drain

    def key_cycles(self, log_n: int) -> int:
        """Cycles of a row of a key from a memory that always answers."""
        beats = self.key_beats(log_n)
        return beats + (-(-beats // KEY_BURST) + 1 if self.key_pauses else 0)
