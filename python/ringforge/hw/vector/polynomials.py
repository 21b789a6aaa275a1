# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory as programs of the vector family see it: a polynomial at an address.

`FlatMemory` is one memory that all elements share, a residue in each 64-bit word. Machines with other memory (packed
residues, a part for each element, a far memory behind) bring their own object with the same methods.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.dram import ALIGNMENT, Dram

Words = npt.NDArray[np.uint64]


class PolynomialMemory(Protocol):
    """What the interpreter asks of a machine's memory. Words are canonical residues or tables, N of them."""

    @property
    def local(self) -> bool:
        """An address means another place for each element."""
        ...

    def alignment(self, log_n: int) -> int:
        """Addresses of polynomials are multiples of this number of bytes."""
        ...

    def read_polynomial(self, element: int, address: int, log_n: int) -> Words:
        """The polynomial of degree 2^log_n at an element's address.

        Raises:
            ParameterError: nothing is there, or nothing was written there.
        """
        ...

    def write_polynomial(self, element: int, address: int, words: Words) -> None:
        """Puts a polynomial at an element's address.

        Raises:
            ParameterError: the place does not exist or is not writable.
        """
        ...

    def copy_polynomial(self, element: int, address: int, far: int, log_n: int) -> None:
        """Brings a polynomial from an element's far address to its near one.

        Raises:
            ParameterError: one of the places does not exist or the far one is not aligned, or there is no far memory.
        """
        ...


class FlatMemory:
    """A memory that all elements share, a residue in each 64-bit word."""

    local = False

    def __init__(self, dram: Dram) -> None:
        self.dram = dram

    def alignment(self, log_n: int) -> int:
        """The polynomial's bytes, or a burst's block."""
        return min(ALIGNMENT, WORD_BYTES << log_n)

    def read_polynomial(self, element: int, address: int, log_n: int) -> Words:
        """As `PolynomialMemory`."""
        del element
        return self.dram.read(address, 1 << log_n)

    def write_polynomial(self, element: int, address: int, words: Words) -> None:
        """As `PolynomialMemory`."""
        del element
        self.dram.write(address, words)

    def copy_polynomial(self, element: int, address: int, far: int, log_n: int) -> None:
        """There is no far memory.

        Raises:
            ParameterError: always.
        """
        raise ParameterError(
            f"element {element} copies 2^{log_n} residues from {far:#x} to {address:#x} on a machine without far "
            "memory: load them from where they are"
        )
