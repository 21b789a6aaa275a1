# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where everything is in the accelerator's DRAM.

Polynomials are aligned to their size, at least to 4 KiB; what belongs together lies together. Entities are the names
under which traffic is counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ringforge.errors import ParameterError
from ringforge.hw.core.dram import ALIGNMENT
from ringforge.hw.vector.config import VectorConfig

#: What memory holds. Partial sums are everything the machine stores and loads again: spilled values, rotated inputs
#: that groups exchange, and all intermediate results when fusion is off.
ENTITIES: Final = ("program", "twiddles", "keys", "matrix", "bias", "input", "partial sums", "output")


@dataclass(frozen=True)
class Region:
    """A named piece of memory."""

    address: int
    size: int
    entity: str

    @property
    def end(self) -> int:
        return self.address + self.size


class Layout:
    """A bump allocator over the machine's memory that remembers what is where.

    Args:
        config: the machine, for the size of its memory.
        log_n: log2 of the ring degree.
    """

    #: What regions may be named.
    entities: tuple[str, ...] = ENTITIES

    def __init__(self, config: VectorConfig, log_n: int) -> None:
        self.config = config
        #: Bytes from one polynomial to the next.
        self.stride = max(config.polynomial_bytes(log_n), ALIGNMENT)
        self.regions: list[Region] = []
        self._starts: list[int] = []
        self._next = self.stride  # nothing is at address 0: a forgotten address is then an error

    def add(self, entity: str, size: int) -> int:
        """Takes `size` bytes for an entity; their address."""
        address = self._next
        self.regions.append(Region(address, size, entity))
        self._starts.append(address)
        self._next = address + -(-max(size, 1) // self.stride) * self.stride
        return address

    def polynomials(self, entity: str, count: int) -> int:
        """Takes room for `count` polynomials; the address of the first."""
        return self.add(entity, count * self.stride)

    @property
    def used(self) -> int:
        """Bytes up to the end of the last region."""
        return self._next

    def check(self) -> None:
        """Holds the regions against the machine's memory.

        Raises:
            ParameterError: they do not fit; the message says what is needed, by entity, and what there is.
        """
        if self.used <= self.config.dram_bytes:
            return
        parts = ", ".join(f"{e} {size / 2**30:.2f}" for e, size in self.sizes().items() if size)
        raise ParameterError(
            f"machine {self.config.name} has {self.config.dram_bytes / 2**30:.2f} GiB of DRAM, the program needs "
            f"{self.used / 2**30:.2f} GiB ({parts}): take a plan with fewer keys, a lower level or a smaller matrix"
        )

    def sizes(self) -> Mapping[str, int]:
        """Bytes of each entity."""
        out = dict.fromkeys(self.entities, 0)
        for r in self.regions:
            out[r.entity] += r.size
        return out

    def entity(self, address: int) -> str:
        """What an address belongs to.

        Raises:
            ParameterError: nothing is there.
        """
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self.regions[at].end:
            raise ParameterError(f"address {address:#x} belongs to nothing")
        return self.regions[at].entity


@dataclass(frozen=True)
class KeyRegion:
    """Address of one Galois key: parts, digits, limbs, in this order; the special prime's limb comes last.

    Attributes:
        address: of its first polynomial.
        limbs: limbs of Q and digits that are stored.
        stride: bytes from one polynomial to the next.
    """

    address: int
    limbs: int
    stride: int

    @classmethod
    def polynomials(cls, limbs: int) -> int:
        """Polynomials of a key for this many limbs."""
        return 2 * limbs * (limbs + 1)

    def at(self, part: int, digit: int, limb: int | None) -> int:
        """Address of one polynomial; limb None is the special prime's."""
        column = self.limbs if limb is None else limb
        return self.address + ((part * self.limbs + digit) * (self.limbs + 1) + column) * self.stride
