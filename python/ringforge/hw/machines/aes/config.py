# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the aes machine.

>>> machine = AesConfig.named("aes-fast")
>>> machine.port_bytes, machine.words(16), machine.rows(16), machine.link_bytes_per_cycle
(32, 65536, 8192, 28.444444444444443)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from ringforge.errors import ParameterError
from ringforge.hw.core.config import MachineConfig, MemoryPorts, room

#: Bytes of a residue in memory.
WORD_BYTES: Final = 4
#: Words of a narrow row, a beat of a port.
NARROW_WORDS: Final = 8
#: Bits of a prime, which is 1 modulo 2^PRIME_STEP_LOG.
PRIME_BITS: Final = 31
PRIME_STEP_LOG: Final = 16
#: X buffers, slots of half a length, key slots, sets of tables.
BUFFERS: Final = 4
SLOTS: Final = 4
KEYS: Final = 2
SETS: Final = 2
#: Engines, by the number that the top takes.
ENGINES: Final = ("paper", "fast")


class AesConfig(MachineConfig):
    """One configuration: an engine of `lanes` words a row, and one or two ports of 256 bits."""

    room: ClassVar = room("aes")

    #: `paper`: the published transform; `fast`: ours.
    engine: Literal["paper", "fast"]
    #: Words of a wide row.
    lanes: Literal[8, 16, 32, 64, 128, 256]
    #: Multiplications that the published engine begins in a cycle; each takes 4.
    starts: Literal[4, 8, 16, 32, 64]
    #: log2 of the lengths of transforms.
    min_log_n: Annotated[int, Field(ge=6, le=16)]
    max_log_n: Annotated[int, Field(ge=6, le=16)]
    #: Rows of the longest burst, and rows that a stream asks for ahead.
    burst_rows: Annotated[int, Field(ge=2, le=128)]
    read_rows: Annotated[int, Field(ge=4, le=1024)]
    #: Port 0 is the host's link: after so many beats it rests for so many cycles, in each direction.
    link_burst: Annotated[int, Field(ge=1, le=128)]
    link_gap: Annotated[int, Field(ge=0, le=15)]
    #: Cycles from a request over the link to its first data.
    link_latency: Annotated[int, Field(ge=1, le=10_000)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min_log_n > self.max_log_n:
            raise ValueError("min_log_n must be at most max_log_n")
        least = 4 if self.fast else 2
        if 1 << self.min_log_n < least * self.lanes:
            raise ValueError(f"a transform has {least} wide rows at least: raise min_log_n")
        if 1 << self.max_log_n < 4 * self.lanes:
            raise ValueError("a buffer has 4 wide rows at least: raise max_log_n")
        if not self.fast:
            if not self.starts <= self.lanes <= 16 * self.starts:
                raise ValueError("lanes must be at least starts, and at most 16 times as many")
            if 1 << (self.max_log_n - 1) <= max(self.starts, NARROW_WORDS) or self.max_log_n < 7:
                raise ValueError(
                    "the published engine takes 128 words at least, and more powers than starts: raise max_log_n"
                )
        if self.read_rows < 2 * self.burst_rows:
            raise ValueError("read_rows must be two bursts at least")
        if self.ports not in (1, 2):
            raise ValueError("ports must be 1 or 2: the host's link, and the card's memory")
        return self

    def parameters(self, *, twin: bool) -> dict[str, int]:
        return {
            "Engine": ENGINES.index(self.engine),
            "Lanes": self.lanes,
            "Starts": self.starts,
            "Ports": self.ports,
            "MinLogN": self.min_log_n,
            "MaxLogN": self.max_log_n,
            "BurstRows": self.burst_rows,
            "ReadRows": self.read_rows,
            "LinkBurst": self.link_burst,
            "LinkGap": self.link_gap,
            "Twin": int(twin),
        }

    @property
    def port_bytes(self) -> int:
        return WORD_BYTES * NARROW_WORDS

    @property
    def fast(self) -> bool:
        return self.engine == "fast"

    @property
    def max_degree(self) -> int:
        """Polynomials have half as many coefficients as a transform has words."""
        return 1 << (self.max_log_n - 1)

    @property
    def max_prime_bits(self) -> int:
        return PRIME_BITS

    def memories(self) -> list[MemoryPorts]:
        """The host's memory behind the link, whose rate is the link's own; the card's where there is a second port."""
        link = MemoryPorts(1, self.link_latency, 2 * self.port_bytes * self.clock_hz, "simple")
        if self.ports == 1:
            return [link]
        return [link, MemoryPorts(1, self.dram_latency, self.dram_bytes_per_second, self.memory)]

    @property
    def link_bytes_per_cycle(self) -> float:
        """What the host's link moves in a cycle, in each direction."""
        return self.port_bytes * self.link_burst / (self.link_burst + self.link_gap)

    @property
    def shape(self) -> str:
        what = "our engine" if self.fast else f"the published engine, {4 * self.starts} multipliers"
        return f"{what}, rows of {self.lanes} words, {self.ports} port{'s'[: self.ports - 1]}"

    def facts(self) -> dict[str, str]:
        rate = self.link_bytes_per_cycle * self.clock_hz / 1e9
        return {
            **super().facts(),
            "engine": self.shape,
            "host link": f"port 0: {rate:.2f} GB/s in each direction, {self.link_latency} cycles of latency",
            "lengths": f"{1 << self.min_log_n:,} to {1 << self.max_log_n:,} words",
            "primes": f"{PRIME_BITS} bits, 1 modulo 2^{PRIME_STEP_LOG}",
        }

    # ---- sizes ----

    def words(self, log_n: int) -> int:
        """Words of a buffer in use: N."""
        return 1 << log_n

    def rows(self, log_n: int) -> int:
        """Narrow rows of N words, and cycles of a port for them."""
        return (1 << log_n) // NARROW_WORDS

    # ---- what it takes ----

    def check_prime(self, q: int) -> None:
        """Raises ParameterError for a modulus that the machine does not take."""
        if q.bit_length() != PRIME_BITS or q % (1 << PRIME_STEP_LOG) != 1:
            raise ParameterError(
                f"{self.name} takes primes of {PRIME_BITS} bits that are 1 modulo 2^{PRIME_STEP_LOG}, not {q}: "
                "take another modulus"
            )

    def check_log_n(self, log_n: int) -> None:
        """Raises ParameterError for a length 2^log_n that the machine does not take."""
        if not self.min_log_n <= log_n <= self.max_log_n:
            raise ParameterError(
                f"{self.name} takes transforms of 2^{self.min_log_n} to 2^{self.max_log_n} words, not 2^{log_n}: "
                "take another configuration"
            )
