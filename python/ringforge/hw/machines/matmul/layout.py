# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where everything is in an element's near and far memory.

Addresses are an element's own. Polynomials are packed (`packing`) and begin with a line; what belongs together lies
together. Entities are the names under which traffic is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ringforge.errors import ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector.layout import Layout

#: What memory holds. Intermediates are limbs of ciphertexts that an element stores and loads again; the window has keys
#: and masks from far memory on their way.
ENTITIES: Final = ("program", "twiddles", "keys", "masks", "input", "intermediates", "output", "window")
#: Those that are ciphertexts.
CIPHERTEXTS: Final = ("input", "intermediates", "output")


class ElementLayout(Layout):
    """A bump allocator over one element's near memory, or its far one.

    Args:
        config: the machine.
        log_n: log2 of the ring degree.
        far: of the far memory.
    """

    entities = ENTITIES

    def __init__(self, config: FameConfig, log_n: int, *, far: bool = False) -> None:
        super().__init__(config, log_n)
        self.stride = config.polynomial_bytes(log_n)
        self._next = self.stride
        self.far = far
        self._size = config.element_far_bytes if far else config.element_bytes

    def place(self, entity: str, address: int, size: int) -> None:
        """Takes `size` bytes at an address behind everything else."""
        self._next = address
        self.add(entity, size)

    def check(self) -> None:
        """Holds the regions against the element's memory.

        Raises:
            ParameterError: they do not fit; the message says what is needed, by entity, and what there is.
        """
        if self.used <= self._size:
            return
        parts = ", ".join(f"{e} {size / 2**30:.2f}" for e, size in self.sizes().items() if size)
        raise ParameterError(
            f"an element of machine {self.config.name} has {self._size / 2**30:.2f} GiB of "
            f"{'far' if self.far else 'near'} memory, the program needs {self.used / 2**30:.2f} GiB ({parts}): take a "
            "plan with fewer rotations, a lower level or a smaller matrix"
        )


@dataclass(frozen=True)
class LimbRegion:
    """A polynomial's limbs, one after another: those of Q, then those modulo special primes.

    Attributes:
        address: of the first.
        limbs: limbs of Q.
        special: modulus-table entry of the first special prime.
        stride: bytes from one limb to the next.
        far: in far memory.
    """

    address: int
    limbs: int
    special: int
    stride: int
    far: bool = field(default=False, kw_only=True)

    def column(self, entry: int) -> int:
        """Place of the limb modulo an entry of the modulus table."""
        return entry if entry < self.special else self.limbs + entry - self.special

    def at(self, entry: int) -> int:
        """Address of that limb."""
        return self.address + self.column(entry) * self.stride


@dataclass(frozen=True)
class KeyRegion(LimbRegion):
    """A Galois key or relinearisation key, in the order in which a linear transform uses it.

    That is by limb, part and digit. It serves every level up to that of its limbs.

    Attributes:
        digits: digits that are stored.
    """

    digits: int

    @classmethod
    def polynomials(cls, limbs: int, specials: int, digits: int) -> int:
        """Polynomials of a key for this many limbs."""
        return 2 * digits * (limbs + specials)

    def of(self, part: int, digit: int, entry: int) -> int:
        """Address of one polynomial of part 0 (added to the first part) or 1, modulo an entry of the modulus table."""
        return self.address + ((self.column(entry) * 2 + part) * self.digits + digit) * self.stride
