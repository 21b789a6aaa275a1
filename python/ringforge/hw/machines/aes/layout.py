# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What lies in the aes machine's memory: twiddles, constants, operands, keys, digits, results.

Words are residues of 32 bits as the library has them, digits words of 16; arrays are mapped without a copy where their
rows are as long as the machine's. The published engine takes values in the order of the roots' powers, ours in
bit-reversed order, as the library has them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.machines.aes.config import NARROW_WORDS, WORD_BYTES, AesConfig

Words32 = npt.NDArray[np.uint32]

#: What memory holds; traffic is counted under these names.
ENTITIES: Final = ("program", "tables", "keys", "input", "digits", "output")
#: log2 of what factors of our engine's transforms carry, and its products lose.
RADIX_BITS: Final = 32


def barrett(q: int) -> tuple[int, int]:
    """floor(2^62 / q) in words of 32 bits, the low one first."""
    mu = (1 << 62) // q
    return mu & 0xFFFFFFFF, mu >> 32


@cache
def reversed_bits(n: int) -> npt.NDArray[np.intp]:
    """Numbers below n, a power of two, with their bits reversed."""
    made = np.zeros(1, np.intp)
    while made.size < n:
        made = np.concatenate([2 * made, 2 * made + 1])
    made.setflags(write=False)
    return made


def powers(w: int, count: int, q: int) -> npt.NDArray[np.uint64]:
    """1, w, w^2 ... modulo q; count is a power of two."""
    made, step = np.ones(1, np.uint64), w
    while made.size < count:
        made = np.concatenate([made, made * np.uint64(step) % np.uint64(q)])
        step = step * step % q
    return made


def root_of(q: int, n: int) -> int:
    """A root of order n, a power of two, modulo a prime q that has one.

    Raises:
        ParameterError: it has none.
    """
    if (q - 1) % n:
        raise ParameterError(f"{q} has no roots of order {n}: take a prime that is 1 modulo {n}")
    return next(w for g in range(2, q) if pow(w := pow(g, (q - 1) // n, q), n // 2, q) == q - 1)


def twiddles(config: AesConfig, q: int, root: int, log_n: int) -> Words32:
    """Both directions' tables of a prime, (2, N/2): `root` is of order N.

    Published engine: powers of the root, and of its inverse. Ours: those in bit-reversed order times 2^32, and
    the inverse's with a sign.
    """
    n, made = 1 << log_n, np.empty((2, 1 << log_n >> 1), np.uint32)
    if pow(root, n // 2, q) != q - 1:
        raise ParameterError(f"{root} is no root of order {n} modulo {q}")
    for direction, w in enumerate((root, pow(root, -1, q))):
        table = powers(w, n // 2, q)
        if config.fast:
            factor = (1 << RADIX_BITS) % q
            table = table[reversed_bits(n // 2)] * np.uint64(q - factor if direction else factor) % np.uint64(q)
        made[direction] = table
    return made


def constants(config: AesConfig, q: int, log_n: int) -> Words32:
    """A prime's row; its factor takes the N out of the published inverse, and gives our products 2^32 back."""
    made = np.zeros(NARROW_WORDS, np.uint32)
    scale = pow(2, 2 * RADIX_BITS, q) if config.fast else pow(1 << log_n, -1, q)
    made[:4] = (q, *barrett(q), scale)
    return made


@dataclass(frozen=True)
class Target:
    """Transforms and primes on a machine.

    Attributes:
        config: the machine. log_n: log2 of the length N. primes: the residues' moduli. roots: of order N, of each.

    Raises:
        ParameterError: the machine does not take them; the message says what it takes.
    """

    config: AesConfig
    log_n: int
    primes: tuple[int, ...]
    roots: tuple[int, ...]

    def __post_init__(self) -> None:
        self.config.check_log_n(self.log_n)
        for q in self.primes:
            self.config.check_prime(q)

    @property
    def n(self) -> int:
        """Words of a transform."""
        return 1 << self.log_n

    @property
    def card(self) -> int:
        """Port of the card's memory, or of the host's where there is no other."""
        return self.config.ports - 1

    def words(self, values: Words32) -> Words32:
        """Values of transforms, (..., N), between the library's order and the machine's: the same both ways."""
        return values if self.config.fast else values[..., reversed_bits(self.n)]


def rows_of(words: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """An array whose rows have this length: as it is, or filled up with zeros.

    Raises:
        ParameterError: they are longer.
    """
    have = words.shape[-1]
    if have > length:
        raise ParameterError(
            f"polynomials of {have} words; this length of transforms takes {length}: take a longer one"
        )
    if have == length and words.flags.c_contiguous:
        return words
    made = np.zeros((*words.shape[:-1], length), words.dtype)
    made[..., :have] = words
    return made


@dataclass
class Memory:
    """What the machine's ports see, filled from its beginning on.

    Attributes:
        config: the machine. backed: it holds words; else it is only a plan of what would lie where, for models.
        dram: what lies where. end: address behind what was placed last.
        entities: numbers in `ENTITIES`, by the address of a segment.
    """

    config: AesConfig
    backed: bool = True
    dram: Dram = field(init=False)
    end: int = ALIGNMENT
    entities: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dram = Dram(self.config.dram_bytes)

    def put(self, entity: str, words: npt.NDArray[Any]) -> int:
        """Places a contiguous array, without a copy, and gives its address.

        Raises:
            ParameterError: it does not fit.
        """
        address = self._advance(entity, words.nbytes)
        if self.backed:
            self.dram.map(address, words.reshape(-1).view(np.uint64))
        return address

    def reserve(self, entity: str, size: int) -> int:
        """Places `size` bytes that are written later, or that only a plan has.

        Raises:
            ParameterError: they do not fit.
        """
        address = self._advance(entity, size)
        if self.backed:
            self.dram.reserve(address, size)
        return address

    def words(self, address: int, count: int) -> Words32:
        """Residues that lie there, whoever wrote them."""
        for segment in self.dram:
            if segment.address <= address and address + WORD_BYTES * count <= segment.end:
                first = (address - segment.address) // WORD_BYTES
                return segment.words.view(np.uint32)[first : first + count]
        raise ParameterError(f"{WORD_BYTES * count} bytes at {address:#x} are not mapped")

    def _advance(self, entity: str, size: int) -> int:
        address = self.end
        self.entities[address] = ENTITIES.index(entity)
        self.end = -(-(address + size) // ALIGNMENT) * ALIGNMENT
        if self.end > self.config.dram_bytes:
            raise ParameterError(
                f"{self.config.name} has {self.config.dram_bytes >> 20} MiB of memory, {self.end >> 20} MiB are "
                "needed: take fewer ciphertexts at once, or a lower level"
            )
        return address
