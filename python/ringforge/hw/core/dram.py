# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Simulated DRAM of an accelerator: numpy arrays at byte addresses, aware of what has been written."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError

Words = npt.NDArray[np.uint64]

#: Addresses of polynomials and programs are multiples of this: no burst then crosses a 4 KiB border.
ALIGNMENT = 4096
#: Words per flag of "has been written".
_UNIT = 128


@dataclass(order=True)
class Segment:
    """A mapped piece of memory.

    Attributes:
        address: of its first byte, a multiple of ALIGNMENT.
        words: contents.
        writable: the machine may store here.
        written: a flag per 128 words: holds something.
    """

    address: int
    words: Words = field(compare=False)
    writable: bool = field(compare=False)
    written: npt.NDArray[np.bool_] = field(compare=False)

    @property
    def end(self) -> int:
        """Address after its last byte."""
        return self.address + 8 * self.words.size


class Dram:
    """Memory of `size` bytes, of which only mapped pieces exist."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._segments: list[Segment] = []

    def map(self, address: int, words: npt.ArrayLike, *, writable: bool = False) -> None:
        """Puts an array (flattened, not copied when contiguous) at an address.

        Raises:
            ParameterError: unaligned, outside the memory, or over another segment.
        """
        data = np.ascontiguousarray(words, np.uint64).reshape(-1)
        self._insert(address, data, writable, np.ones(-(-data.size // _UNIT), np.bool_))

    def reserve(self, address: int, size: int) -> None:
        """Makes `size` bytes writable; they count as never written.

        Raises:
            ParameterError: as `map`.
        """
        words = -(-size // 8)
        self._insert(address, np.zeros(words, np.uint64), True, np.zeros(-(-words // _UNIT), np.bool_))

    def _insert(self, address: int, words: Words, writable: bool, written: npt.NDArray[np.bool_]) -> None:
        segment = Segment(address, words, writable, written)
        if address % ALIGNMENT:
            raise ParameterError(f"address {address:#x} is no multiple of {ALIGNMENT}")
        if address < 0 or segment.end > self.size:
            raise ParameterError(f"{8 * words.size} bytes at {address:#x} end outside the {self.size} bytes of DRAM")
        at = bisect_right(self._segments, segment)
        if (at > 0 and self._segments[at - 1].end > address) or (
            at < len(self._segments) and self._segments[at].address < segment.end
        ):
            raise ParameterError(f"{8 * words.size} bytes at {address:#x} overlap what is mapped already")
        insort(self._segments, segment)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def _find(self, address: int, count: int) -> tuple[Segment, int]:
        at = bisect_right(self._segments, address, key=lambda s: s.address) - 1
        if at < 0 or address + 8 * count > self._segments[at].end:
            raise ParameterError(f"{8 * count} bytes at {address:#x} are not mapped")
        return self._segments[at], (address - self._segments[at].address) // 8

    def read(self, address: int, count: int) -> Words:
        """A view of `count` words.

        Raises:
            ParameterError: not mapped, or never written.
        """
        segment, first = self._find(address, count)
        if not segment.written[first // _UNIT : -(-(first + count) // _UNIT)].all():
            raise ParameterError(f"{8 * count} bytes at {address:#x} were never written")
        return segment.words[first : first + count]

    def write(self, address: int, words: Words) -> None:
        """Stores words where the machine may.

        Raises:
            ParameterError: not mapped, or not writable.
        """
        segment, first = self._find(address, words.size)
        if not segment.writable:
            raise ParameterError(f"{8 * words.size} bytes at {address:#x} may only be read")
        segment.words[first : first + words.size] = words
        segment.written[first // _UNIT : -(-(first + words.size) // _UNIT)] = True
