# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matmul accelerator.

>>> machine = FameConfig.named("fame-l")
>>> machine.rows(16), machine.slots(16), machine.lines(16), machine.line_bytes
(256, 72, 216, 2048)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ringforge.hw.core.config import MemoryPorts, room
from ringforge.hw.vector.config import FETCH_DEPTH, VectorConfig

#: Bytes of a beat of each of the machine's ports.
PORT_BYTES = 64
#: Beats of a burst at most: 4 KiB of a port.
BURST_BEATS = 64
#: Rows of the smallest polynomial, at least.
LEAST_ROWS = 8
#: Rows of the largest polynomial, at most.
MOST_ROWS = 256


class FameConfig(VectorConfig):
    """One configuration of the matmul accelerator: elements that have ports of their own.

    A *line* is a beat of all of an element's near ports. In memory polynomials are residues of `word_bits` bits laid
    end to end, from the beginning of a line on.
    """

    room: ClassVar = room("matmul")
    shared_alu: ClassVar = True

    groups: Literal[1] = 1
    #: Montgomery multipliers of 9 DSP slices instead of 12, and LUTs for what the others did; the same cycles.
    short_in_luts: bool = False
    bank_rows: tuple[Annotated[int, Field(ge=1, le=8192)], ...]
    #: Lines of a burst of near memory, a power of two: bursts end at multiples of it.
    burst_rows: Annotated[int, Field(ge=1, le=BURST_BEATS)]
    #: Lines that an element asks of near memory ahead: what covers its latency.
    read_lines: Annotated[int, Field(ge=1, le=1024)]
    #: Beats of a burst of far memory, a power of two, and those asked for ahead.
    far_burst: Annotated[int, Field(ge=1, le=BURST_BEATS)]
    far_lines_ahead: Annotated[int, Field(ge=1, le=1024)]
    #: Entries of an element's table of moduli.
    moduli: Annotated[int, Field(ge=1, le=64)] = 64
    #: Ports of an element to the near memory.
    near_ports: Annotated[int, Field(ge=1, le=32)]
    #: Bytes of the near memory behind a port, a power of two.
    segment_bytes: Annotated[int, Field(ge=4096, le=1 << 40)]
    #: Ports of an element to the far memory.
    far_ports: Annotated[int, Field(ge=1, le=32)]
    #: Bytes of the far memory behind a port, a power of two.
    far_segment_bytes: Annotated[int, Field(ge=4096, le=1 << 40)]
    #: Cycles from a request to the far memory to its first data.
    far_latency: Annotated[int, Field(ge=1, le=10_000)]
    #: Of all ports to the far memory together.
    far_bytes_per_second: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _transforms(self) -> Self:
        if not LEAST_ROWS <= self.rows(self.min_log_n) <= self.rows(self.max_log_n) <= MOST_ROWS:
            raise ValueError(
                f"a polynomial has {LEAST_ROWS} to {MOST_ROWS} rows: with {self.lanes} lanes degrees are "
                f"2^{(self.lanes * LEAST_ROWS).bit_length() - 1} to 2^{(self.lanes * MOST_ROWS).bit_length() - 1}"
            )
        return self

    @model_validator(mode="after")
    def _bursts(self) -> Self:
        if self.stream_rows < self.rows(self.max_log_n):
            raise ValueError(f"stream_rows must hold a polynomial: at least {self.rows(self.max_log_n)}")
        for name, burst, ahead in (
            ("burst_rows", self.burst_rows, self.read_lines),
            ("far_burst", self.far_burst, self.far_lines_ahead),
        ):
            if burst & (burst - 1) or ahead < burst:
                raise ValueError(f"{name} must be a power of two, and as much be asked for ahead at least")
        return self

    @model_validator(mode="after")
    def _multipliers(self) -> Self:
        if self.short_in_luts and not self.montgomery:
            raise ValueError(
                "short_in_luts is for montgomery multipliers: set multiplier to montgomery, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _memories(self) -> Self:
        if self.banks != 4:
            raise ValueError("an element has 4 banks")
        if self.ports != self.pes * (self.near_ports + self.far_ports):
            raise ValueError(f"ports must be those of all elements: {self.pes * (self.near_ports + self.far_ports)}")
        if self.near_ports * PORT_BYTES != 8 * self.lanes:
            raise ValueError(f"a line has 8 bytes a lane: near_ports must be {8 * self.lanes / PORT_BYTES:g}")
        for name, size in (("segment_bytes", self.segment_bytes), ("far_segment_bytes", self.far_segment_bytes)):
            if size & (size - 1):
                raise ValueError(f"{name} must be a power of two")
        if self.dram_bytes != self.pes * self.near_ports * self.segment_bytes:
            raise ValueError(
                f"dram_bytes must be what lies behind all near ports: {self.pes * self.near_ports * self.segment_bytes}"
            )
        return self

    def parameters(self, *, twin: bool) -> dict[str, int]:
        return {
            "Pes": self.pes,
            "Lanes": self.lanes,
            **{f"BankRows{bank}": self.rows_of(bank) for bank in range(self.banks)},
            "TwiddleRows": self.twiddle_rows,
            "WordBits": self.word_bits,
            "MinLogN": self.min_log_n,
            "MaxLogN": self.max_log_n,
            "Moduli": self.moduli,
            "StreamRows": self.stream_rows,
            "NearPorts": self.near_ports,
            "FarPorts": self.far_ports,
            "SegmentLog": self.segment_bytes.bit_length() - 1,
            "FarSegmentLog": self.far_segment_bytes.bit_length() - 1,
            "BurstLines": self.burst_rows,
            "ReadLines": self.read_lines,
            "FarBurst": self.far_burst,
            "FarLines": self.far_lines_ahead,
            "Kind": int(self.montgomery),
            "Twin": int(twin),
            "ShortInLuts": int(self.short_in_luts),
        }

    @property
    def port_bytes(self) -> int:
        return PORT_BYTES

    @property
    def ports_to_far(self) -> int:
        return self.pes * self.far_ports

    def memories(self) -> list[MemoryPorts]:
        """A memory of its own behind each near port, and one behind all far ports."""
        near = self.pes * self.near_ports
        own = MemoryPorts(1, self.dram_latency, self.dram_bytes_per_second / near, self.memory, channels=1)
        far = MemoryPorts(self.ports_to_far, self.far_latency, self.far_bytes_per_second, "simple")
        return [own] * near + [far]

    @property
    def shape(self) -> str:
        return f"{self.pes} elements x {self.lanes} lanes, {self.multiplier} multipliers of {self.word_bits} bits"

    def facts(self) -> dict[str, str]:
        near, far = self.pes * self.near_ports, self.ports_to_far
        facts = {
            **super().facts(),
            "elements p, lanes c, banks b": f"{self.pes}, {self.lanes}, {self.banks}",
            "stream buffer": f"{self.stream_rows} rows, packed words in lines of {self.line_bytes} bytes",
            "DRAM": f"near: {near} ports of {PORT_BYTES} bytes a cycle, {self.dram_bytes_per_second / 1e9:g} GB/s, "
            f"{self.dram_bytes / 2**30:g} GiB, {self.dram_latency} cycles of latency; far: {far} ports, "
            f"{self.far_bytes_per_second / 1e9:g} GB/s, {self.far_bytes / 2**30:g} GiB, {self.far_latency} cycles",
            "clock": f"{self.clock_hz / 1e6:g} MHz (the paper's; only a vendor's tool can confirm it)",
        }
        del facts["groups g, elements p, lanes c, banks b"]
        return facts

    # ---- sizes ----

    @property
    def row_bytes(self) -> int:
        """Bytes of one row, packed."""
        return self.lanes * self.word_bits // 8

    @property
    def line_bytes(self) -> int:
        """Bytes of a line: a beat of all near ports of an element."""
        return self.near_ports * PORT_BYTES

    @property
    def far_line_bytes(self) -> int:
        """Bytes of a beat of all far ports of an element."""
        return self.far_ports * PORT_BYTES

    @property
    def fetch_depth(self) -> int:
        """Lines that the instruction fetch holds: so far it may read past a program's end."""
        return min(FETCH_DEPTH, 4096 // self.line_bytes)

    @property
    def fetch_beats(self) -> int:
        """Lines of an instruction fetch."""
        return max(self.fetch_depth // 4, 1)

    def lines(self, log_n: int) -> int:
        """Lines of a polynomial of degree 2^log_n, the last one filled up."""
        return -(-(self.word_bits << log_n) // (8 * self.line_bytes))

    def far_lines(self, log_n: int) -> int:
        """Beats of all far ports that bring a polynomial."""
        return self.lines(log_n) * self.line_bytes // self.far_line_bytes

    def polynomial_bytes(self, log_n: int) -> int:
        """Bytes of an element's memory that a polynomial takes."""
        return self.lines(log_n) * self.line_bytes

    @property
    def element_bytes(self) -> int:
        """Bytes of near memory that an element has: its addresses go from 0 to here."""
        return self.near_ports * self.segment_bytes

    @property
    def element_far_bytes(self) -> int:
        """Bytes of far memory that an element has."""
        return self.far_ports * self.far_segment_bytes

    @property
    def far_bytes(self) -> int:
        """Bytes of the far memory."""
        return self.pes * self.element_far_bytes

    @property
    def far_base(self) -> int:
        """Address at the ports where the far memory begins: behind the near one."""
        return self.dram_bytes

    # ---- speed ----

    @property
    def rows_per_cycle(self) -> float:
        """Packed rows that an element's near ports bring per cycle, at most: a row, or what memory moves."""
        return min(1.0, self.dram_bytes_per_cycle / self.pes / self.row_bytes)

    @property
    def multiplications_per_second(self) -> float:
        """Modular products per second when every lane of every element works."""
        return self.pes * self.lanes * self.clock_hz

    # ---- ports ----

    def port_of(self, group: int, pe: int) -> int:
        """The first near port of element `pe`."""
        return (group * self.pes + pe) * self.near_ports

    def far_port_of(self, pe: int) -> int:
        """The first far port of element `pe`."""
        return self.pes * self.near_ports + pe * self.far_ports
