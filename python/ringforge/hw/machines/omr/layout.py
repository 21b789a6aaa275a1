# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What lies in the omr machine's memory: limbs, keys, twiddles, tables of moduli and constants.

A limb is N words of 64 bits in the library's order, canonical. Keys are rows of K_0 and K_1 in turns. What multipliers
take as their second operand (twiddles, keys, diagonals, constants) carries 2^(18*ceil(W/18)) on Montgomery machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge._native import kernels
from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.machines.omr.config import CONSTANTS, MODULI, QUOTIENTS, OmrConfig
from ringforge.hw.vector.constants import canonical_twiddles

Words = npt.NDArray[np.uint64]

#: What memory holds; traffic is counted under these names.
ENTITIES: Final = ("program", "tables", "keys", "matrix", "input", "partial sums", "output")
#: Buffers that rotations work with, at least.
MIN_BUFFERS: Final = 6
#: Bits of a round of the Montgomery multiplier.
_ROUND: Final = 18


def radix(config: OmrConfig) -> int:
    """What second operands of multipliers carry as a factor: 1 for Barrett."""
    return 1 << -(-config.word_bits // _ROUND) * _ROUND if config.montgomery else 1


def multiplier(config: OmrConfig, words: npt.ArrayLike, q: int) -> Words:
    """A limb as a second operand; canonical input."""
    array = np.ascontiguousarray(words, np.uint64)
    if not config.montgomery:
        return array
    made: Words = kernels.mul_scalar(kernels.active(), array, radix(config) % q, q)
    return made


def quotient_constant(config: OmrConfig, q: int) -> int:
    """What SCALE multiplies a residue with to get its quotient by q: floor(2^(2W) / (q 2^s))."""
    return (1 << 2 * config.word_bits) // (q << config.shift(q))


def modulus_entry(config: OmrConfig, q: int) -> tuple[int, int, int, int]:
    """An entry of the tables of moduli.

    Raises:
        ParameterError: a modulus that the machine does not take.
    """
    shift = config.shift(q)
    if config.montgomery:
        return q, 0, shift, q
    return q << shift, quotient_constant(config, q), shift, q


# ---- the ring, its primes, and who works on which ---------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Limbs that the ways work on at once: `first` of the extended basis, and those behind it.

    Attributes:
        first: limb of way 0. size: limbs. entry: of the tables of moduli.
    """

    first: int
    size: int
    entry: int

    @property
    def ways(self) -> int:
        """Mask of the ways at work."""
        return (1 << self.size) - 1


@dataclass(frozen=True)
class Target:
    """A ring and its primes on a machine.

    The extended basis is Q's limbs, then P's. Digits are runs of Q's limbs. Limbs of a digit, or of P, are worked on in
    groups, as many at once as there are ways.

    Attributes:
        config: the machine. log_n: log2 of the degree. q: Q's primes that are used. p: P's.
        alpha: limbs of a digit.

    Raises:
        ParameterError: the machine cannot hold it; the message says what it holds.
    """

    config: OmrConfig
    log_n: int
    q: tuple[int, ...]
    p: tuple[int, ...]
    alpha: int

    def __post_init__(self) -> None:
        c = self.config
        c.check_log_n(self.log_n)
        for q in (*self.q, *self.p):
            c.shift(q)
        if not self.p:
            raise ParameterError(f"{c.name} switches keys with special primes, and the set has none: take another")
        if len(self.q) + 2 * len(self.p) > c.banks:
            raise ParameterError(
                f"{len(self.q)} limbs and twice {len(self.p)} special ones; {c.name} holds {c.banks}: take another "
                "configuration, or fewer limbs"
            )
        if c.buffers < MIN_BUFFERS:
            raise ParameterError(f"{c.name} has {c.buffers} buffers; rotations take {MIN_BUFFERS}")
        if len(self.sum_entries) and max(self.sum_entries) >= MODULI:
            raise ParameterError(f"{len(self.ext)} primes; {c.name} has tables of {MODULI} moduli")

    def check_rotations(self) -> None:
        """Whether the machine rotates whole ciphertexts.

        Raises:
            ParameterError: it does not; the message says why.
        """
        c = self.config
        if len(self.digits) + 2 > QUOTIENTS:
            raise ParameterError(
                f"{len(self.digits)} digits of {self.alpha} limbs; {c.name} has accumulators for the quotients of "
                f"{QUOTIENTS - 2}: take a set with longer digits"
            )

    @property
    def limbs(self) -> int:
        """Of Q."""
        return len(self.q)

    @property
    def ext(self) -> tuple[int, ...]:
        """All primes."""
        return (*self.q, *self.p)

    @property
    def limb_bytes(self) -> int:
        """Bytes of a limb."""
        return self.config.limb_bytes(self.log_n)

    @property
    def digits(self) -> list[range]:
        """Limbs of each digit."""
        return [range(i, min(i + self.alpha, self.limbs)) for i in range(0, self.limbs, self.alpha)]

    @property
    def runs(self) -> list[range]:
        """Limbs of each digit, and of P."""
        return [*self.digits, range(self.limbs, len(self.ext))]

    @property
    def groups(self) -> list[list[Group]]:
        """Groups of each digit, and of P."""
        found, entry = [], 0
        for run in self.runs:
            made = []
            for first in range(run.start, run.stop, self.config.ways):
                made.append(Group(first, min(self.config.ways, run.stop - first), entry))
                entry += 1
            found.append(made)
        return found

    @property
    def sum_entries(self) -> list[int]:
        """Entry of way 0's table of moduli for each limb of the extended basis: SUM knows no other table."""
        groups = [g for run in self.groups for g in run]
        found, spare = [0] * len(self.ext), len(groups)
        for g in groups:
            found[g.first] = g.entry
            for limb in range(g.first + 1, g.first + g.size):
                found[limb] = spare
                spare += 1
        return found


@dataclass(frozen=True)
class Tables:
    """Tables of moduli and constants of every way, and where in them what is.

    Attributes:
        moduli: entries of each way, 4 words each. constants: words of each way.
        scale: by group of a digit or of P: constants of SCALE.
        convert: by run (digits, then P) and group: constants of CONV.
        divide: by group of Q: 1/P.
    """

    moduli: list[list[int]]
    constants: list[list[int]]
    scale: dict[Group, int]
    convert: dict[tuple[int, Group], int]
    divide: dict[Group, int]

    @classmethod
    def of(cls, target: Target) -> Tables:
        """The tables of a ring.

        Raises:
            ParameterError: there are too many constants.
        """
        config, ext, runs, groups = target.config, target.ext, target.runs, target.groups
        factor = radix(config)
        moduli: list[list[int]] = [[] for _ in range(config.ways)]
        constants: list[list[int]] = [[] for _ in range(config.ways)]

        def put(group: Group, of: Callable[[int], Iterable[int]]) -> int:
            """Constants of each way's limb; ways without one have the first way's."""
            at = len(constants[0])
            for way, table in enumerate(constants):
                table += of(group.first + way if way < group.size else group.first)
            return at

        for run in groups:
            for group in run:
                for way, table in enumerate(moduli):
                    table += modulus_entry(config, ext[group.first + way if way < group.size else group.first])
        spare: dict[int, int] = {entry: limb for limb, entry in enumerate(target.sum_entries)}
        for entry in range(len(moduli[0]) // 4, max(spare) + 1):
            moduli[0] += modulus_entry(config, ext[spare[entry]])

        def scaled(run: range) -> Callable[[int], Iterable[int]]:
            def of(limb: int) -> Iterable[int]:
                q = ext[limb]
                others = prod(ext[i] for i in run if i != limb)
                return pow(others, -1, q) * factor % q, quotient_constant(config, q)

            return of

        def converted(run: range) -> Callable[[int], Iterable[int]]:
            whole = prod(ext[i] for i in run)

            def of(limb: int) -> Iterable[int]:
                q = ext[limb]
                return (*(whole // ext[i] * factor % q for i in run), -whole * factor % q)

            return of

        scale = {group: put(group, scaled(run)) for run, made in zip(runs, groups, strict=True) for group in made}
        convert = {
            (source, group): put(group, converted(run))
            for source, run in enumerate(runs)
            for number, made in enumerate(groups)
            for group in made
            if number != source
        }
        special = prod(target.p)
        divide = {
            group: put(group, lambda limb: (pow(special, -1, ext[limb]) * factor % ext[limb],))
            for made in groups[:-1]
            for group in made
        }
        if len(constants[0]) > CONSTANTS:
            raise ParameterError(
                f"{len(constants[0])} constants; {config.name} has room for {CONSTANTS}: take fewer limbs"
            )
        return cls(moduli, constants, scale, convert, divide)


# ---- memory ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limbs:
    """Where a sequence of limbs lies.

    Attributes:
        address: of the first. stride: bytes from one to the next.
    """

    address: int
    stride: int

    def at(self, index: int) -> int:
        """Address of a limb."""
        return self.address + index * self.stride


@dataclass(frozen=True)
class Pair:
    """Where a ciphertext lies: parts b and a, limb after limb."""

    parts: tuple[Limbs, Limbs]

    @classmethod
    def at(cls, address: int, limbs: int, limb_bytes: int) -> Pair:
        """One part behind the other."""
        return cls((Limbs(address, limb_bytes), Limbs(address + limbs * limb_bytes, limb_bytes)))


@dataclass
class Memory:
    """A machine's memory, filled from its beginning on.

    Attributes:
        config: the machine. backed: it holds words; else it is only a plan of what would lie where, for models.
        remedy: what to do if it does not suffice.
        dram: what lies where. end: address behind what was placed last.
        entities: numbers in `ENTITIES`, by the address of a segment.
    """

    config: OmrConfig
    backed: bool = True
    remedy: str = "take fewer limbs, or a configuration with more memory"
    dram: Dram = field(init=False)
    end: int = ALIGNMENT
    entities: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dram = Dram(self.config.dram_bytes)

    def begin(self, align: int) -> int:
        """Address of what is placed next with this alignment."""
        return self._next(align)

    def place(self, entity: str, address: int, size: int) -> None:
        """Places `size` bytes that are written later right behind what was placed last.

        Raises:
            ParameterError: they do not fit.
        """
        if self.backed:
            self.dram.reserve(address, size)
        self._advance(entity, address, size)

    def put(self, entity: str, words: Words, align: int = ALIGNMENT, *, writable: bool = False) -> int:
        """Places an array, without a copy, and gives its address, a multiple of `align`.

        Raises:
            ParameterError: it does not fit.
        """
        address = self._next(align)
        if self.backed:
            self.dram.map(address, words, writable=writable)
        self._advance(entity, address, words.size * WORD_BYTES)
        return address

    def reserve(self, entity: str, size: int, align: int = ALIGNMENT) -> int:
        """Places `size` bytes that are written later.

        Raises:
            ParameterError: they do not fit.
        """
        address = self._next(align)
        if self.backed:
            self.dram.reserve(address, size)
        self._advance(entity, address, size)
        return address

    def blocks(self, entity: str, blocks: Sequence[Words], count: int, stride: int, align: int = ALIGNMENT) -> int:
        """Places arrays at equal distances, room for `count`, without copies; the address of the first.

        Raises:
            ParameterError: they do not fit, or one is longer than the distance.
        """
        first = self._next(align)
        for number, words in enumerate(blocks):
            if words.nbytes > stride:
                raise ParameterError(f"a block of {words.nbytes} bytes every {stride}")
            self.dram.map(first + number * stride, words)
            self.entities[first + number * stride] = ENTITIES.index(entity)
        self._advance(entity, first, count * stride)
        return first

    def view(self, address: int, words: int) -> Words:
        """Words that lie there, whoever wrote them."""
        for segment in self.dram:
            if segment.address <= address and address + 8 * words <= segment.end:
                first = (address - segment.address) // 8
                return segment.words[first : first + words]
        raise ParameterError(f"{8 * words} bytes at {address:#x} are not mapped")

    def _next(self, align: int) -> int:
        return -(-self.end // align) * align

    def _advance(self, entity: str, address: int, size: int) -> None:
        self.entities[address] = ENTITIES.index(entity)
        self.end = -(-(address + size) // ALIGNMENT) * ALIGNMENT
        if self.end > self.config.dram_bytes:
            raise ParameterError(
                f"{self.config.name} has {self.config.dram_bytes >> 20} MiB of memory, at least "
                f"{-(-self.end >> 20)} MiB are needed: {self.remedy}"
            )


def padded(config: OmrConfig, words: Sequence[int]) -> Words:
    """Words filled up to whole rows of a port."""
    made = np.zeros(-(-len(words) // config.lanes) * config.lanes, np.uint64)
    made[: len(words)] = np.array(words, np.uint64)
    return made


def interleaved(config: OmrConfig, b: Words, a: Words) -> Words:
    """A key's limb: rows of K_0 and K_1 in turns."""
    rows = np.stack([b.reshape(-1, config.lanes), a.reshape(-1, config.lanes)], axis=1)
    return np.ascontiguousarray(rows).reshape(-1)


def twiddles_of(config: OmrConfig, q: int, log_n: int) -> Words:
    """A prime's table."""
    return multiplier(config, canonical_twiddles(q, log_n), q)


def twiddles(target: Target) -> Words:
    """Tables of all primes, one behind the other."""
    return np.concatenate([twiddles_of(target.config, q, target.log_n) for q in target.ext])


def key_words(target: Target, limb: Callable[[int, int, int], Words], limbs_of_key: int) -> Words:
    """A switching key: by digit and limb of the extended basis.

    Args:
        limb: residues by part, digit and limb of the key. limbs_of_key: of Q, that the key has.
    """
    config, n = target.config, 1 << target.log_n
    made = np.empty((len(target.digits), len(target.ext), 2 * n), np.uint64)
    for d in range(len(target.digits)):
        for j, q in enumerate(target.ext):
            at = j if j < target.limbs else limbs_of_key + j - target.limbs
            parts = [multiplier(config, limb(part, d, at), q) for part in (0, 1)]
            made[d, j] = interleaved(config, *parts)
    return made.reshape(-1)


@dataclass(frozen=True)
class Key:
    """Where a switching key lies."""

    address: int
    limbs: int
    limb_bytes: int

    def at(self, digit: int, limb: int) -> int:
        """Address of its rows for a digit and a limb of the extended basis."""
        return self.address + (digit * self.limbs + limb) * 2 * self.limb_bytes
