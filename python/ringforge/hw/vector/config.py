# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the vector family: machines of elements with lanes, banks, a transform unit and a MAC array."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES, MachineConfig

#: Bytes of one instruction.
INSTRUCTION_BYTES = 32
#: Bits per round of the word-wise Montgomery multiplier.
MONTGOMERY_WORD = 18
#: Primes may be this many bits shorter than the machine's words.
MAX_SHIFT = 7
#: A burst stays inside a block of so many bytes (AXI).
BURST_BYTES = 4096
#: LOADs of an element that may be under way.
LOAD_QUEUE = 4
#: Rows that the instruction fetch holds, if they are within `BURST_BYTES`.
FETCH_DEPTH = 16


_Rows = Annotated[int, Field(ge=1, le=8192)]


class VectorConfig(MachineConfig):
    """One configuration: groups of processing elements with lanes and banks."""

    #: Groups; a group works on one partial sum at a time.
    groups: Annotated[int, Field(ge=1, le=16)]
    #: Processing elements of a group; limb i of every polynomial lives on element i mod pes.
    pes: Annotated[int, Field(ge=1, le=32)]
    #: Residues of a row: what a unit processes per cycle.
    lanes: Annotated[int, Field(ge=4, le=256)]
    #: Data banks of an element, next to the twiddle bank.
    banks: Annotated[int, Field(ge=2, le=7)]
    #: Rows of every data bank, or of each.
    bank_rows: _Rows | tuple[_Rows, ...]
    twiddle_rows: Annotated[int, Field(ge=1, le=8192)]
    word_bits: Annotated[int, Field(ge=32, le=62)]
    multiplier: Literal["barrett", "montgomery"]
    min_log_n: Annotated[int, Field(ge=4, le=17)]
    max_log_n: Annotated[int, Field(ge=4, le=17)]
    #: Rows that an element's stream buffer holds.
    stream_rows: Annotated[int, Field(ge=1, le=65_536)]
    #: Rows of one DRAM burst, a power of two.
    burst_rows: Annotated[int, Field(ge=1, le=256)]
    #: Entries of an element's modulus table.
    moduli: Annotated[int, Field(ge=1, le=64)] = 32
    #: Transform unit and MAC unit share their ALUs: MACs lift, transforms come in pairs.
    shared_alu: ClassVar[bool] = False

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lanes & (self.lanes - 1):
            raise ValueError("lanes must be a power of two")
        if self.ports % self.groups:
            raise ValueError("every group needs the same number of ports")
        if self.max_log_n < self.min_log_n:
            raise ValueError("max_log_n must be at least min_log_n")
        if not isinstance(self.bank_rows, int) and len(self.bank_rows) != self.banks:
            raise ValueError(f"bank_rows must be one number or {self.banks}, one a bank")
        least = min(self.rows_of(bank) for bank in range(self.banks))
        if min(least, self.twiddle_rows) < self.rows(self.max_log_n):
            raise ValueError("a bank is smaller than the largest polynomial")
        return self

    @model_validator(mode="after")
    def _transforms(self) -> Self:
        least = 2 * (self.lanes.bit_length() - 1)
        if self.min_log_n < least:
            raise ValueError(
                f"the transform unit takes N >= lanes^2: min_log_n must be at least {least}, or lanes fewer"
            )
        return self

    @model_validator(mode="after")
    def _bursts(self) -> Self:
        if self.burst_rows & (self.burst_rows - 1):
            raise ValueError("burst_rows must be a power of two")
        if self.burst_rows * self.row_bytes > BURST_BYTES:
            raise ValueError(
                f"a burst must not be longer than {BURST_BYTES} bytes: rows of {self.row_bytes} bytes allow burst_rows "
                f"of at most {BURST_BYTES // self.row_bytes}"
            )
        if self.stream_rows < self.burst_rows:
            raise ValueError(f"stream_rows must hold a burst: at least burst_rows, {self.burst_rows}")
        return self

    def parameters(self, *, twin: bool) -> dict[str, int]:
        return {
            "Groups": self.groups,
            "Pes": self.pes,
            "Lanes": self.lanes,
            "Banks": self.banks,
            "BankRows": self.rows_of(0),
            "TwiddleRows": self.twiddle_rows,
            "WordBits": self.word_bits,
            "MinLogN": self.min_log_n,
            "MaxLogN": self.max_log_n,
            "StreamRows": self.stream_rows,
            "BurstRows": self.burst_rows,
            "Ports": self.ports,
            "Kind": int(self.montgomery),
            "Twin": int(twin),
        }

    @property
    def port_bytes(self) -> int:
        return self.row_bytes

    @property
    def max_degree(self) -> int:
        return 1 << self.max_log_n

    @property
    def max_prime_bits(self) -> int:
        return self.word_bits

    @property
    def shape(self) -> str:
        return (
            f"{self.groups} groups x {self.pes} elements x {self.lanes} lanes, {self.multiplier} multipliers of "
            f"{self.word_bits} bits"
        )

    def facts(self) -> dict[str, str]:
        c, general = self, super().facts()
        return {
            "machine": general.pop("machine"),
            "groups g, elements p, lanes c, banks b": f"{c.groups}, {c.pes}, {c.lanes}, {c.banks}",
            "words": f"{c.word_bits} bits, {c.multiplier} multipliers",
            "degrees N": f"2^{c.min_log_n} ... 2^{c.max_log_n}",
            "scratchpad of an element": f"{c.banks} banks of {c.rows_of_banks} rows and a twiddle bank of "
            f"{c.twiddle_rows}",
            "slots of an element at N = 2^14": f"{c.slots(14)}" if c.max_log_n >= 14 else "-",
            "stream buffer": f"{c.stream_rows} rows, bursts of {c.burst_rows}",
            **general,
        }

    # ---- sizes ----

    @property
    def elements(self) -> int:
        """Processing elements of all groups."""
        return self.groups * self.pes

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in DRAM: what a port moves per cycle."""
        return self.lanes * WORD_BYTES

    @property
    def fetch_depth(self) -> int:
        """Rows that the instruction fetch holds: so far it may read past a program's end."""
        return min(FETCH_DEPTH, BURST_BYTES // self.row_bytes)

    @property
    def fetch_beats(self) -> int:
        """Beats of an instruction fetch."""
        return min(max(self.fetch_depth // 4, 1), self.burst_rows)

    @property
    def row_bits(self) -> int:
        """Bits of one row in a bank."""
        return self.lanes * self.word_bits

    @property
    def scratchpad_bytes(self) -> int:
        """Bytes of one element's data banks, words of 8 bytes."""
        return sum(self.rows_of(bank) for bank in range(self.banks)) * self.row_bytes

    def rows_of(self, bank: int) -> int:
        """Rows of a data bank."""
        return self.bank_rows if isinstance(self.bank_rows, int) else self.bank_rows[bank]

    @property
    def rows_of_banks(self) -> str:
        """Rows of every data bank, or of each, in words."""
        return str(self.bank_rows) if isinstance(self.bank_rows, int) else ", ".join(map(str, self.bank_rows))

    def rows(self, log_n: int) -> int:
        """Rows of a polynomial of degree 2^log_n."""
        return (1 << log_n) // self.lanes

    def polynomial_bytes(self, log_n: int) -> int:
        """Bytes of a polynomial in DRAM."""
        return WORD_BYTES << log_n

    def bank_slots(self, log_n: int, bank: int = 0) -> int:
        """Polynomials that a data bank holds."""
        return self.rows_of(bank) // self.rows(log_n)

    def slots(self, log_n: int) -> int:
        """Polynomials that the data banks of one element hold."""
        return sum(self.bank_slots(log_n, bank) for bank in range(self.banks))

    def twiddle_slots(self, log_n: int) -> int:
        """Twiddle tables that one element holds."""
        return self.twiddle_rows // self.rows(log_n)

    # ---- numbers ----

    @property
    def montgomery(self) -> bool:
        return self.multiplier == "montgomery"

    @property
    def montgomery_bits(self) -> int:
        """Bits r of the Montgomery radix R = 2^r."""
        return -(-self.word_bits // MONTGOMERY_WORD) * MONTGOMERY_WORD

    def shift(self, prime_bits: int) -> int:
        """Bits by which residues are shifted left inside the machine.

        Raises:
            ParameterError: primes of this length do not fit the machine's words.
        """
        if not self.word_bits - MAX_SHIFT <= prime_bits <= self.word_bits:
            raise ParameterError(
                f"machine {self.name} takes primes of {self.word_bits - MAX_SHIFT} to {self.word_bits} bits, "
                f"these have {prime_bits}"
            )
        return 0 if self.montgomery else self.word_bits - prime_bits

    # ---- ports ----

    @property
    def group_ports(self) -> int:
        """DRAM ports of one group."""
        return self.ports // self.groups

    def port_of(self, group: int, pe: int) -> int:
        """DRAM port of element `pe` of a group."""
        return group * self.group_ports + pe % self.group_ports
