# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs of all elements with what their memories must hold, while they are made, and when they are done.

A program is a sequence of pieces: operations that get slots together and leave nothing on chip. Between pieces values
are in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from ringforge._native import Ciphertext
from ringforge.devices import KeySet
from ringforge.errors import LevelError
from ringforge.hw.core.dram import ALIGNMENT
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.layout import ENTITIES, ElementLayout, KeyRegion, LimbRegion
from ringforge.hw.machines.matmul.program import Traffic, traffic
from ringforge.hw.machines.matmul.staging import WINDOW, staged
from ringforge.hw.vector import constants
from ringforge.hw.vector.allocate import Allocator, opening
from ringforge.hw.vector.ir import ElementCode
from ringforge.hw.vector.isa import Instruction, Opcode, Scope, encode
from ringforge.hw.vector.target import Target

Words = npt.NDArray[np.uint64]
#: Words of a polynomial, made when memory is filled.
Contents = Callable[[], Words]
#: Where both parts of a ciphertext are.
Parts = tuple[LimbRegion, LimbRegion]
#: The relinearisation key among Galois elements.
RELIN = 0


@dataclass(frozen=True)
class Place:
    """A ciphertext in an element's near memory.

    Attributes:
        element: which.
        parts: where its parts are.
        limbs: of each.
    """

    element: int
    parts: Parts
    limbs: int


class ElementJob:
    """Program and memory of one element, while they are made.

    Args:
        target: machine and moduli.
        number: of the element.
        keys: evaluation keys, asked for when memory is filled.
        near_keys: keys end at this address of near memory at most, by default at three quarters of it; others are in
            far memory.
    """

    def __init__(self, target: Target, number: int, keys: KeySet, near_keys: int | None = None) -> None:
        config = target.config
        assert isinstance(config, FameConfig)
        self.target, self.number, self.keys = target, number, keys
        self.layout, self.far = (ElementLayout(config, target.log_n, far=far) for far in (False, True))
        self._near_keys = config.element_bytes * 3 // 4 if near_keys is None else near_keys
        self._window: int | None = None
        self.contents: list[tuple[int, Contents]] = []
        self.far_contents: list[tuple[int, Contents]] = []
        self.body: list[Instruction] = []
        #: Rows that its ALUs process, at least.
        self.work = 0
        self._keys: dict[int, KeyRegion] = {}
        self._scratch: list[int] = []
        first = self.layout.polynomials("twiddles", len(target.primes))
        self._tables = [first + i * self.layout.stride for i in range(len(target.primes))]
        for prime, address in zip(target.primes, self._tables, strict=True):
            self.contents.append((address, partial(constants.twiddles, target.config, prime, target.log_n)))

    # ---- memory -----------------------------------------------------------------------------------

    def ciphertext(self, entity: str, limbs: int) -> Place:
        """Room for a ciphertext."""
        stride, special = self.layout.stride, self.target.special
        first = self.layout.polynomials(entity, 2 * limbs)
        parts = [LimbRegion(first + part * limbs * stride, limbs, special, stride) for part in (0, 1)]
        return Place(self.number, (parts[0], parts[1]), limbs)

    def key(self, element: int, limbs: int) -> KeyRegion:
        """A switching key for so many limbs or more: of a Galois element, or RELIN."""
        known = self._keys.get(element)
        if known is not None and known.limbs >= limbs:
            return known
        target, digits = self.target, len(self.target.digits(limbs))
        count = KeyRegion.polynomials(limbs, target.special_count, digits)
        near = self.layout.used + count * self.layout.stride <= self._near_keys
        layout, contents = (self.layout, self.contents) if near else (self.far, self.far_contents)
        first = layout.polynomials("keys", count)
        region = KeyRegion(first, limbs, target.special, layout.stride, digits, far=layout.far)
        for entry in (*range(limbs), *target.specials):
            for part in (0, 1):
                for digit in range(digits):
                    address = region.of(part, digit, entry)
                    contents.append((address, partial(self._key_words, element, limbs, part, digit, entry)))
        self._keys[element] = region
        return region

    def key_ids(self) -> dict[str, int]:
        """The secret keys that the keys it uses belong to, by what they are called.

        Raises:
            MissingKeyError: there is no such key.
        """
        keys = self.keys
        return {
            "relinearisation key" if e == RELIN else f"Galois key of element {e}": (
                keys.required_relin().key_id if e == RELIN else keys.galois.key_id(e)
            )
            for e in self._keys
        }

    def _key_words(self, element: int, limbs: int, part: int, digit: int, entry: int) -> Words:
        """A limb of a key in the machine's form of multipliers.

        Raises:
            MissingKeyError, LevelError: there is no such key, or it covers too few limbs.
        """
        keys, target = self.keys, self.target
        covered = (keys.required_relin().level if element == RELIN else keys.galois.level(element)) + 1
        if covered < limbs:
            what = "relinearisation key" if element == RELIN else f"Galois key of element {element}"
            raise LevelError(f"the {what} covers {covered} limbs, the program uses {limbs}: make keys for this level")
        limb = entry if entry < target.special else covered + entry - target.special
        if element == RELIN:
            words = keys.required_relin().limb(part, digit, limb)
        else:
            words = keys.galois.limb(element, part, digit, limb)
        return constants.multiplier(target.config, words, target.primes[entry])

    def mask(self, entries: Sequence[int], words: Callable[[int], Words]) -> LimbRegion:
        """An encoded diagonal or mask; `words` gives its limb at an entry."""
        target, limbs = self.target, sum(e < self.target.special for e in entries)
        region = LimbRegion(self.layout.polynomials("masks", len(entries)), limbs, target.special, self.layout.stride)
        for entry in entries:
            self.contents.append((region.at(entry), partial(self._multiplier, words, entry)))
        return region

    def _multiplier(self, words: Callable[[int], Words], entry: int) -> Words:
        return constants.multiplier(self.target.config, words(entry), self.target.primes[entry])

    # ---- program ----------------------------------------------------------------------------------

    def piece(self, write: Callable[[ElementCode], None], *, fixed: bool = False, limit: int | None = None) -> int:
        """Adds what `write` writes, and a SYNC, after which others may load what it stored.

        Args:
            fixed, limit: as of `ElementCode` and `Allocator`.

        Returns:
            most polynomials of ciphertexts that are on chip at once.

        Raises:
            ParameterError: it needs more slots than the element has.
        """
        code = ElementCode(fixed=fixed)
        write(code)
        spare = iter(self._scratch[:])

        def scratch() -> int:
            address = next(spare, None)
            if address is None:
                address = self.layout.polynomials("intermediates", 1)
                self._scratch.append(address)
            return address

        allocator = Allocator(self.target, self._tables, scratch, limit=limit)
        made = allocator.body(staged(code.ops, self._room, self.layout.stride, self.target.log_n))
        passes = {Opcode.MAC: 1, Opcode.NTT: self.target.log_n, Opcode.INTT: self.target.log_n}
        self.work += sum(passes.get(i.op, 0) * (1 + i.pair) for i in made) * self.target.config.rows(self.target.log_n)
        self.body += made
        self.body.append(Instruction.sync(Scope.ELEMENT))
        return allocator.peak

    def _room(self) -> int:
        """Address of the window for what comes from far memory, the same for all pieces."""
        if self._window is None:
            self._window = self.layout.polynomials("window", WINDOW)
        return self._window

    def program(self) -> Words:
        """The instructions so far, from CONF to END."""
        return encode([*opening(self.target, bool(self.body)), *self.body, Instruction.end()])


@dataclass(frozen=True)
class Program:
    """Programs of all elements, and what memory holds.

    Attributes:
        target: machine and moduli.
        jobs: elements.
        words: instructions (n, 4) by element.
        base: where each element's program is in its near memory.
        inputs: where each input goes: the same ciphertext may go to several elements.
        output: where the result is.
    """

    target: Target
    jobs: tuple[ElementJob, ...]
    words: tuple[Words, ...]
    base: int
    inputs: tuple[tuple[Place, ...], ...]
    output: Place

    @classmethod
    def of(
        cls, target: Target, jobs: Sequence[ElementJob], inputs: Sequence[Sequence[Place]], output: Place
    ) -> Program:
        """Ends the making of a program.

        Raises:
            ParameterError: it does not fit an element's memory.
        """
        words = tuple(job.program() for job in jobs)
        base = max(-(-job.layout.used // ALIGNMENT) * ALIGNMENT for job in jobs)
        # The fetch reads ahead of a program's end.
        for job, program in zip(jobs, words, strict=True):
            job.layout.place("program", base, program.nbytes + ALIGNMENT)
            job.layout.check()
            job.far.check()
        return cls(target, tuple(jobs), words, base, tuple(map(tuple, inputs)), output)

    @property
    def config(self) -> FameConfig:
        """The machine."""
        config = self.target.config
        assert isinstance(config, FameConfig)
        return config

    def prepared(self, *, far: bool = False) -> Iterator[tuple[int, int, Words]]:
        """Elements, addresses and words of polynomials that stay for all runs: tables, keys, masks.

        Args:
            far: those in far memory, not those in near memory.

        Raises:
            MissingKeyError, LevelError: a key is missing or covers too few limbs.
        """
        for job in self.jobs:
            for address, contents in job.far_contents if far else job.contents:
                yield job.number, address, contents()

    def loaded(self, inputs: Sequence[Ciphertext]) -> Iterator[tuple[int, int, Words]]:
        """Elements, addresses and words of one run's inputs."""
        for places, ciphertext in zip(self.inputs, inputs, strict=True):
            for place in places:
                for part in (0, 1):
                    for i in range(place.limbs):
                        yield place.element, place.parts[part].at(i), ciphertext.limb(part, i)

    @cached_property
    def instructions(self) -> Mapping[str, int]:
        """Instructions of all elements by operation."""
        count: Counter[str] = Counter()
        for words in self.words:
            ops, numbers = np.unique(words[:, 0] & np.uint64(0xFF), return_counts=True)
            count.update({Opcode(int(op)).name: int(n) for op, n in zip(ops, numbers, strict=True)})
        return dict(count)

    @cached_property
    def traffic(self) -> Mapping[str, Traffic]:
        """Bytes of near memory that programs read and write, by entity, packed."""
        total = {name: Traffic(0, 0) for name in ENTITIES}
        for job, words in zip(self.jobs, self.words, strict=True):
            for name, part in traffic(job.layout, words).items():
                total[name] = Traffic(total[name].read + part.read, total[name].written + part.written)
        return total
