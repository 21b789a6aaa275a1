# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Near and far memory of the matmul accelerator as its programs see them: polynomials at addresses of an element.

>>> machine = FameConfig.named("fame-small")
>>> memory = ElementMemory(machine)
>>> memory.far[1].put(0, np.arange(256, dtype=np.uint64))
>>> memory.copy_polynomial(1, 4096, 0, 8)
>>> int(memory.read_polynomial(1, 4096, 8)[5])
5
"""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.machines.matmul.config import FameConfig

Words = npt.NDArray[np.uint64]


class Polynomials:
    """The polynomials in one part of memory, by address. What a new one lies over is lost.

    Args:
        config: the machine.
        size: bytes of this part.
        name: for messages.
    """

    def __init__(self, config: FameConfig, size: int, name: str) -> None:
        self.config = config
        self.size = size
        self.name = name
        self._words: dict[int, Words] = {}
        self._addresses: list[int] = []

    def _end(self, address: int, words: Words) -> int:
        return address + self.config.polynomial_bytes(words.size.bit_length() - 1)

    def put(self, address: int, words: npt.ArrayLike) -> None:
        """Puts a polynomial of canonical residues, or a table, at an address.

        Raises:
            ParameterError: the address is no multiple of a line, or outside this part.
        """
        data = np.array(words, np.uint64)
        end = self._end(address, data)
        if address % self.config.line_bytes or address < 0 or end > self.size:
            raise ParameterError(
                f"{self.name} takes polynomials at multiples of {self.config.line_bytes} bytes below {self.size:#x}; "
                f"this one reaches from {address:#x} to {end:#x}"
            )
        at = bisect_right(self._addresses, address)
        if at and self._end(self._addresses[at - 1], self._words[self._addresses[at - 1]]) > address:
            at -= 1
        while at < len(self._addresses) and self._addresses[at] < end:
            del self._words[self._addresses.pop(at)]
        insort(self._addresses, address)
        self._words[address] = data

    def get(self, address: int, degree: int) -> Words:
        """The polynomial of N = degree words at an address.

        Raises:
            ParameterError: none of this degree begins there.
        """
        words = self._words.get(address)
        if words is None or words.size != degree:
            raise ParameterError(f"{self.name} holds no polynomial of {degree} residues at {address:#x}")
        return words

    def items(self) -> list[tuple[int, Words]]:
        """Addresses, ascending, and their polynomials."""
        return [(address, self._words[address]) for address in self._addresses]


class ElementMemory:
    """What the interpreter works on (`ringforge.hw.vector.polynomials.PolynomialMemory`): two parts for each element.

    Attributes:
        near, far: parts by element.
    """

    local = True

    def __init__(self, config: FameConfig) -> None:
        self.config = config
        self.near = [Polynomials(config, config.element_bytes, f"near memory {e}") for e in range(config.pes)]
        self.far = [Polynomials(config, config.element_far_bytes, f"far memory {e}") for e in range(config.pes)]

    def alignment(self, log_n: int) -> int:
        """A line, whatever the degree."""
        del log_n
        return self.config.line_bytes

    def read_polynomial(self, element: int, address: int, log_n: int) -> Words:
        """As `PolynomialMemory`."""
        return self.near[element].get(address, 1 << log_n)

    def write_polynomial(self, element: int, address: int, words: Words) -> None:
        """As `PolynomialMemory`."""
        self.near[element].put(address, words)

    def copy_polynomial(self, element: int, address: int, far: int, log_n: int) -> None:
        """As `PolynomialMemory`."""
        self.near[element].put(address, self.far[element].get(far, 1 << log_n))
