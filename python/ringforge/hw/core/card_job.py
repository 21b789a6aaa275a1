# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Job files: what a host program needs to run a machine once on a card, and to check what it did.

A file is a header, a table of segments, and their data; numbers are little-endian.

| bytes | |
|---|---|
| 0 ... 7 | "RFCJOB" and two zero bytes |
| 8 ... 11 | version, 1 |
| 12 ... 15 | CRC-32 of everything from byte 16 on |
| 16 ... 19 | what the machine's register ID must hold |
| 20 ... 23 | what its register SHAPE must hold |
| 24 ... 31 | bytes of card memory that the job needs, a multiple of 4 KiB |
| 32 ... 39 | address of the first program, a multiple of 4 KiB |
| 40 ... 47 | distance between programs, a multiple of 4 KiB |
| 48 ... 55 | cycles for the machine's watchdog, below 2^48; 0: none |
| 56 ... 59 | number of segments n |
| 60 ... 63 | zero |
| 64 ... 64 + 32 n | the table |

A row of the table: address, size, place of its data in the file (8 bytes each), kind (4 bytes), zero (4 bytes).
Addresses count from the start of the job's memory. Kind 0 is loaded before the run; 1 is cleared, and has no data (its
place is 0); 2 must be in memory after the run. Segments of kinds 0 and 1 do not overlap and start at multiples of
4 KiB; those of kind 2 lie inside one of kind 1; addresses and sizes are multiples of 8. Data follow each other without
gaps, in the table's order, to the end of the file.

`hw/shell/host/rf_job.hpp` reads such files and refuses all others.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.files import writing
from ringforge.hw.core.dram import ALIGNMENT

Words = npt.NDArray[np.uint64]

MAGIC: Final = b"RFCJOB\0\0"
VERSION: Final = 1
_HEADER: Final = struct.Struct("<IIQQQQII")
_ROW: Final = struct.Struct("<QQQII")
_BEFORE_SUM: Final = len(MAGIC) + 8


class Kind(IntEnum):
    """What a segment is for."""

    LOAD = 0
    CLEAR = 1
    EXPECT = 2


@dataclass(frozen=True)
class Segment:
    """A piece of the card's memory.

    Attributes:
        address: from the start of the job's memory.
        size: bytes.
        words: its contents; None if it is cleared.
    """

    kind: Kind
    address: int
    size: int
    words: Words | None = None

    @classmethod
    def load(cls, address: int, words: Words) -> Segment:
        """Memory that is written before the run."""
        return cls(Kind.LOAD, address, words.nbytes, words)

    @classmethod
    def clear(cls, address: int, size: int) -> Segment:
        """Memory that the machine may write; it is zero before the run."""
        return cls(Kind.CLEAR, address, size)

    @classmethod
    def expect(cls, address: int, words: Words) -> Segment:
        """What must be in memory after the run."""
        return cls(Kind.EXPECT, address, words.nbytes, words)


@dataclass(frozen=True)
class CardJob:
    """One run of a machine.

    Attributes:
        identity, shape: what the registers ID and SHAPE must hold.
        program, stride: address of the first program and distance to the next, multiples of 4 KiB.
        segments: all memory that the run touches.
        watchdog: cycles after which the machine gives up; 0: never.
    """

    identity: int
    shape: int
    program: int
    stride: int
    segments: Sequence[Segment]
    watchdog: int = 0

    @property
    def size(self) -> int:
        """Bytes of memory, a multiple of 4 KiB."""
        return -(-max((s.address + s.size for s in self.segments), default=0) // ALIGNMENT) * ALIGNMENT

    def check(self) -> None:
        """Raises ParameterError where the job is not as the file's format has it; the message says what is wrong."""
        if self.program % ALIGNMENT or self.stride % ALIGNMENT or self.program >= self.size:
            raise ParameterError("a job's programs start at multiples of 4 KiB inside its memory")
        if not 0 <= self.watchdog < 1 << 48:
            raise ParameterError(f"a watchdog of {self.watchdog} cycles is not below 2^48")
        for s in self.segments:
            if s.address < 0 or s.size <= 0 or s.address % 8 or s.size % 8:
                raise ParameterError(f"{s.size} bytes at {s.address:#x} are no whole words")
            if (s.words is None) != (s.kind is Kind.CLEAR) or (s.words is not None and s.words.nbytes != s.size):
                raise ParameterError(f"{s.size} bytes at {s.address:#x} have other data than that")
        regions = sorted(
            ((s.address, s.address + s.size, s.kind) for s in self.segments if s.kind is not Kind.EXPECT),
        )
        if any(address % ALIGNMENT for address, _, _ in regions):
            raise ParameterError("a job's memory starts at multiples of 4 KiB")
        for (_, end, _), (address, _, _) in itertools.pairwise(regions):
            if address < end:
                raise ParameterError(f"a job's memory overlaps at {address:#x}")
        for s in self.segments:
            inside = (a <= s.address and s.address + s.size <= e for a, e, kind in regions if kind is Kind.CLEAR)
            if s.kind is Kind.EXPECT and not any(inside):
                raise ParameterError(
                    f"{s.size} bytes that are expected at {s.address:#x} are not written by the machine"
                )

    def to_bytes(self) -> bytes:
        """The file's content.

        Raises:
            ParameterError: as `check`.
        """
        self.check()
        header = _HEADER.pack(
            self.identity, self.shape, self.size, self.program, self.stride, self.watchdog, len(self.segments), 0
        )
        place = _BEFORE_SUM + _HEADER.size + _ROW.size * len(self.segments)
        rows, data = [], []
        for s in self.segments:
            rows.append(_ROW.pack(s.address, s.size, place if s.words is not None else 0, int(s.kind), 0))
            if s.words is not None:
                data.append(np.ascontiguousarray(s.words, "<u8").tobytes())
                place += s.size
        body = b"".join((header, *rows, *data))
        return MAGIC + struct.pack("<II", VERSION, zlib.crc32(body)) + body

    def write(self, path: str | Path) -> None:
        """Writes the file, whole or not at all.

        Raises:
            ParameterError: as `check`. OSError: it cannot be written.
        """
        content = self.to_bytes()
        with writing(path) as f:
            f.write(content)
