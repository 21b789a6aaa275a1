# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Near and far memory of the matmul accelerator as its ports see it: what a simulated machine or a card is given.

A region is consecutive memory of one element that belongs to one entity, for which a simulated machine counts bytes.

>>> machine = FameConfig.named("fame-small")
>>> memory = PortMemory(machine)
>>> memory.put(1, 0x8000, np.arange(256, dtype=np.uint64)[None])
>>> int(memory.get(1, 0x8000, 8)[7]), len(memory.segments())
(7, 2)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.packing import addresses, join, pack, split, unpack
from ringforge.hw.vector.config import INSTRUCTION_BYTES

Words = npt.NDArray[np.uint64]

#: Programs begin at multiples of this.
PROGRAM_ALIGNMENT: Final = 4096


@dataclass(frozen=True)
class Region:
    """A region of an element's memory.

    Attributes:
        element, far, address, size: where it is; bytes.
        entity: whose bytes they are.
        ports: (ports, words): what lies in the segment of each port, from the region's beginning on.
    """

    element: int
    far: bool
    address: int
    size: int
    entity: int
    ports: Words


class PortMemory:
    """The regions of all elements. Simulations that they are mapped into read and write their very arrays."""

    def __init__(self, config: FameConfig) -> None:
        self.config = config
        self._regions: dict[tuple[int, bool], list[Region]] = {}

    def reserve(self, element: int, address: int, size: int, *, far: bool = False, entity: int = 0) -> Region:
        """A region of zeros; its size is rounded up to lines.

        Raises:
            ParameterError: not of whole lines, outside the element's memory, or over another region.
        """
        size = -(-size // self.config.line_bytes) * self.config.line_bytes
        ports = self.config.far_ports if far else self.config.near_ports
        return self._insert(element, address, np.zeros((ports, size // ports // WORD_BYTES), np.uint64), far, entity)

    def place(self, element: int, address: int, words: npt.ArrayLike, *, far: bool = False, entity: int = 0) -> Region:
        """A region with the contents of `words`, any shape, which are whole lines: packed polynomials as `pack` gives.

        Raises:
            ParameterError: as `reserve`.
        """
        return self._insert(element, address, split(self.config, words, far=far), far, entity)

    def put(
        self, element: int, address: int, polynomials: npt.ArrayLike, *, far: bool = False, entity: int = 0
    ) -> None:
        """Packs polynomials (..., N) one after the other: into regions that hold them, else as a region of their own.

        Raises:
            ParameterError: residues too long, no such degree, or as `reserve`.
        """
        words = pack(self.config, polynomials)
        if self._holding(element, address, far) is None:
            self.place(element, address, words, far=far, entity=entity)
        else:
            self.write(element, address, words, far=far)

    def put_programs(self, address: int, programs: Sequence[npt.ArrayLike], *, entity: int = 0) -> None:
        """Places encoded programs (n, 4), one an element, at the same address of each, with room to read ahead.

        Raises:
            ParameterError: not one an element, or the address is no multiple of 4096; else as `reserve`.
        """
        if len(programs) != self.config.pes:
            raise ParameterError(f"machine {self.config.name} runs {self.config.pes} programs, not {len(programs)}")
        if address % PROGRAM_ALIGNMENT:
            raise ParameterError(f"programs start at multiples of {PROGRAM_ALIGNMENT}, not at {address:#x}")
        for element, program in enumerate(programs):
            words = np.ascontiguousarray(program, np.uint64).reshape(-1)
            self.reserve(element, address, program_bytes(self.config, words.size // 4), entity=entity)
            padding = -words.nbytes % self.config.line_bytes // WORD_BYTES
            self.write(element, address, np.pad(words, (0, padding)))

    def write(self, element: int, address: int, words: npt.ArrayLike, *, far: bool = False) -> None:
        """Whole lines into a region that holds them all.

        Raises:
            ParameterError: no region holds them.
        """
        data = split(self.config, words, far=far)
        part, first = self._part(element, address, data.shape[1], far)
        part[:, first : first + data.shape[1]] = data

    def get(self, element: int, address: int, log_n: int, count: int = 0, *, far: bool = False) -> Words:
        """A polynomial of 2^log_n residues, or `count` of them, (count, 2^log_n).

        Raises:
            ParameterError: no region holds them.
        """
        ports = self.config.far_ports if far else self.config.near_ports
        words = self.config.polynomial_bytes(log_n) * max(count, 1) // WORD_BYTES // ports
        part, first = self._part(element, address, words, far)
        packed = join(self.config, part[:, first : first + words], far=far)
        return unpack(self.config, packed.reshape(count, -1) if count else packed, log_n)

    def regions(self) -> list[Region]:
        """All regions: by element, near before far, by address."""
        return [region for key in sorted(self._regions) for region in self._regions[key]]

    def segments(self) -> list[tuple[int, Words, int]]:
        """What to map: address at the ports, words, entity, for each port of each region."""
        return [
            (address, words, region.entity)
            for region in self.regions()
            for address, words in zip(
                addresses(self.config, region.element, region.address, far=region.far), region.ports, strict=True
            )
        ]

    def map(self, simulation: Simulation[FameConfig]) -> None:
        """Maps everything into a simulated machine, which keeps it until `unmap_all`."""
        for address, words, entity in self.segments():
            simulation.map(address, words, entity)

    # ---- inside ----

    def _insert(self, element: int, address: int, ports: Words, far: bool, entity: int) -> Region:
        addresses(self.config, element, address, far=far)  # refuses what is none
        size = ports.size * WORD_BYTES
        if size % self.config.line_bytes:
            raise ParameterError(f"regions are whole lines of {self.config.line_bytes} bytes, not {size}")
        limit = self.config.element_far_bytes if far else self.config.element_bytes
        if address + size > limit:
            raise ParameterError(f"{size} bytes at {address:#x} end outside the {limit} bytes of an element")
        regions = self._regions.setdefault((element, far), [])
        at = bisect_right(regions, address, key=lambda r: r.address)
        if (at and regions[at - 1].address + regions[at - 1].size > address) or (
            at < len(regions) and regions[at].address < address + size
        ):
            raise ParameterError(f"{size} bytes at {address:#x} of element {element} lie over another region")
        region = Region(element, far, address, size, entity, ports)
        regions.insert(at, region)
        return region

    def _holding(self, element: int, address: int, far: bool) -> Region | None:
        regions = self._regions.get((element, far), [])
        at = bisect_right(regions, address, key=lambda r: r.address) - 1
        return regions[at] if at >= 0 and address < regions[at].address + regions[at].size else None

    def _part(self, element: int, address: int, words: int, far: bool) -> tuple[Words, int]:
        """The region's arrays, and the first of their words, for `words` words of each port from an address on."""
        region = self._holding(element, address, far)
        if region is not None:
            first = (address - region.address) // region.ports.shape[0] // WORD_BYTES
            if address % self.config.line_bytes == 0 and first + words <= region.ports.shape[1]:
                return region.ports, first
        where = "far" if far else "near"
        raise ParameterError(f"no region of element {element} holds what is at {address:#x} of its {where} memory")


def program_bytes(config: FameConfig, instructions: int) -> int:
    """Bytes that a program of so many instructions takes, with what the machine reads ahead of its end."""
    lines = -(-instructions * INSTRUCTION_BYTES // config.line_bytes) + config.fetch_depth
    return lines * config.line_bytes
