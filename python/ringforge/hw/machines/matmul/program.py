# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a linear transform's kernel to the program of an element, and to what its memory must hold.

>>> compiled = compile_hlt(FameConfig.named("fame-s"), kernel)  # doctest: +SKIP
>>> for address, words in compiled.prepared(native, keys): ...  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ringforge._native import Ciphertext, GaloisKeys, Hlt, Schedule
from ringforge.errors import LevelError, ParameterError
from ringforge.hw.machines.matmul.coarse import Coarse
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.hlt import Diagonal, MemoryOptimised
from ringforge.hw.machines.matmul.layout import CIPHERTEXTS, ENTITIES, ElementLayout, KeyRegion, LimbRegion
from ringforge.hw.machines.matmul.staging import WINDOW, staged
from ringforge.hw.machines.matmul.target import limit, target_of
from ringforge.hw.vector import constants
from ringforge.hw.vector.allocate import Allocator
from ringforge.hw.vector.config import INSTRUCTION_BYTES
from ringforge.hw.vector.ir import ElementCode, Value
from ringforge.hw.vector.isa import Instruction, Opcode, Words, encode, field_table
from ringforge.hw.vector.target import Target

if TYPE_CHECKING:
    from ringforge.matmul.kernels import HltKernel


@dataclass(frozen=True)
class Traffic:
    """Bytes that a program reads from near memory and writes to it, of one entity."""

    read: int
    written: int


def key_region(target: Target, layout: ElementLayout, limbs: int) -> KeyRegion:
    """Takes room for a key of switches at `limbs` limbs and below."""
    count = len(target.digits(limbs))
    address = layout.polynomials("keys", KeyRegion.polynomials(limbs, target.special_count, count))
    return KeyRegion(address, limbs, target.limbs, layout.stride, count, far=layout.far)


def limb_region(target: Target, layout: ElementLayout, entity: str, limbs: int, *, special: bool = False) -> LimbRegion:
    """Takes room for a polynomial of `limbs` limbs, and those modulo special primes."""
    address = layout.polynomials(entity, limbs + (target.special_count if special else 0))
    return LimbRegion(address, limbs, target.limbs, layout.stride, far=layout.far)


def key_contents(target: Target, keys: GaloisKeys, element: int, region: KeyRegion) -> Iterator[tuple[int, Words]]:
    """Addresses and contents of one Galois key, in the machine's form of multipliers.

    Raises:
        MissingKeyError, LevelError: the key is missing or covers too few limbs.
    """
    covered = keys.level(element) + 1
    if covered < region.limbs:
        raise LevelError(
            f"the Galois key of element {element} covers {covered} limbs, the plan uses {region.limbs}: "
            "make keys for this plan"
        )
    for entry in (*range(region.limbs), *target.specials):
        limb = entry if entry < target.limbs else covered + entry - target.limbs
        for part in (0, 1):
            for digit in range(region.digits):
                words = keys.limb(element, part, digit, limb)
                yield region.of(part, digit, entry), constants.multiplier(target.config, words, target.primes[entry])


@dataclass(frozen=True, eq=False)
class Placed:
    """A linear transform with the addresses of all it reads and writes.

    Attributes:
        kernel: the transform.
        target: machine and numbers.
        layout, far: of the element's near and far memory.
        tables: address of each prime's twiddle table.
        input, output: the parts.
        diagonals: in the order of the kernel's map.
    """

    kernel: HltKernel
    target: Target
    layout: ElementLayout
    far: ElementLayout
    tables: tuple[int, ...]
    input: tuple[LimbRegion, LimbRegion]
    output: tuple[LimbRegion, LimbRegion]
    diagonals: tuple[Diagonal, ...]

    @classmethod
    def of(cls, config: FameConfig, kernel: HltKernel, near_bytes: int | None = None) -> Placed:
        """Places a kernel in an element's memory.

        Args:
            near_bytes: of near memory for keys and diagonals, those of the first rotations; others are in far memory.
                By default nearly all; programs and intermediates have the rest.

        Raises:
            ParameterError: the machine cannot run it; the message says what is needed and what there is.
        """
        if kernel.schedule == Schedule.bsgs:
            raise ParameterError(
                f"machine {config.name} has no programs for the schedule bsgs of a linear transform: take mo"
            )
        context = kernel.context
        target = target_of(config, context.params, kernel.level)
        layout, limbs = ElementLayout(config, target.log_n), kernel.level + 1
        first = layout.polynomials("twiddles", len(target.primes))
        tables = tuple(first + k * layout.stride for k in range(len(target.primes)))
        source, result = (
            (limb_region(target, layout, name, n), limb_region(target, layout, name, n))
            for name, n in (("input", limbs), ("output", limbs - 1))
        )
        steps = [int(s) for s in kernel.map.steps]
        extended = any(steps) and kernel.schedule != Schedule.naive
        far = ElementLayout(config, target.log_n, far=True)
        last = config.element_bytes * 15 // 16 if near_bytes is None else layout.used + near_bytes
        diagonals = []
        for s in steps:
            place = layout if layout.used + cls._bytes(target, layout, limbs, s, extended) <= last else far
            key = key_region(target, place, limbs) if s else None
            mask = limb_region(target, place, "masks", limbs, special=extended)
            diagonals.append(Diagonal(int(context.rotation_element(s)), mask, key))
        layout.check()
        far.check()
        return cls(kernel, target, layout, far, tables, source, result, tuple(diagonals))

    @staticmethod
    def _bytes(target: Target, layout: ElementLayout, limbs: int, step: int, extended: bool) -> int:
        """Bytes of a diagonal and its key."""
        specials = target.special_count
        key = KeyRegion.polynomials(limbs, specials, len(target.digits(limbs))) if step else 0
        return (key + limbs + (specials if extended else 0)) * layout.stride

    @property
    def limbs(self) -> int:
        """Limbs of the input."""
        return self.kernel.level + 1

    def operations(self) -> ElementCode:
        """The transform's operations, in the kernel's schedule."""
        e = ElementCode(fixed=True)

        def emit(part: int, entry: int, value: Value) -> None:
            e.store(value, self.output[part].at(entry))

        diagonals = spread(self.diagonals)
        if self.kernel.schedule == Schedule.mo and self.rotates:
            MemoryOptimised(e, self.target, self.input, self.limbs, diagonals, emit).write()
            return e
        coarse = Coarse(e, self.target, self.input, self.limbs, diagonals, emit, self.kernel.schedule != Schedule.mo)
        if self.kernel.schedule == Schedule.hoisted and self.rotates:
            coarse.hoisted()
        else:
            coarse.naive()
        return e

    @property
    def rotates(self) -> bool:
        """Whether a diagonal other than 0 exists."""
        return any(d.key is not None for d in self.diagonals)


@dataclass(frozen=True, eq=False)
class CompiledHlt:
    """The program of a linear transform on one element.

    Attributes:
        placed: the transform with its addresses.
        program: instruction words (n, 4).
        base: where the program is in near memory.
        peak: most limbs of ciphertexts on chip at once.
    """

    placed: Placed
    program: Words
    base: int
    peak: int

    @property
    def layout(self) -> ElementLayout:
        return self.placed.layout

    @property
    def memory(self) -> int:
        """Bytes of near memory from address 0 to the end of what is used."""
        return self.layout.used

    def programs(self, element: int = 0) -> list[Words]:
        """Programs of all elements of the machine: this one on `element`, nothing on the others."""
        idle = encode([Instruction.end()])
        return [self.program if k == element else idle for k in range(self.placed.target.config.elements)]

    def prepared(self, native: Hlt, keys: GaloisKeys, *, far: bool = False) -> Iterator[tuple[int, Words]]:
        """Addresses and polynomials that stay for all runs: twiddle tables, keys, diagonals; not the program.

        Multipliers are in the machine's form. Arrays are made one at a time: keys are large.

        Args:
            native: the transform, encoded.
            keys: of its rotations.
            far: those in far memory, not those in near memory.

        Raises:
            MissingKeyError, LevelError: a key is missing or covers too few limbs.
        """
        placed, target = self.placed, self.placed.target
        config, primes = target.config, target.primes
        if not far:
            for prime, address in zip(primes, placed.tables, strict=True):
                yield address, constants.twiddles(config, prime, target.log_n)
        entries = (*range(placed.limbs), *target.specials)[: native.diagonal_limbs]
        for number, d in enumerate(placed.diagonals):
            if d.mask.far != far:
                continue
            if d.key is not None:
                yield from key_contents(target, keys, d.element, d.key)
            for entry in entries:
                words = native.diagonal_limb(number, d.mask.column(entry))
                yield d.mask.at(entry), constants.multiplier(config, words, primes[entry])

    def loaded(self, ciphertext: Ciphertext) -> Iterator[tuple[int, Words]]:
        """Addresses and limbs of one run's input."""
        for part in (0, 1):
            for limb in range(self.placed.limbs):
                yield self.placed.input[part].at(limb), ciphertext.limb(part, limb)

    def reserved(self) -> Iterator[tuple[int, int]]:
        """Address and size of what the element writes: intermediates and the result."""
        for r in self.layout.regions:
            if r.entity in ("intermediates", "output") and r.size:
                yield r.address, r.size

    def results(self, read: Callable[[int], Words]) -> list[list[Words]]:
        """Residues of the result, [part][limb], as `Hlt.assemble` takes them.

        Args:
            read: gives the polynomial at an address.
        """
        return [[read(region.at(i)) for i in range(self.placed.limbs - 1)] for region in self.placed.output]

    # ---- numbers about it -------------------------------------------------------------------------

    @cached_property
    def traffic(self) -> Mapping[str, Traffic]:
        """Bytes of near memory that the program reads and writes, by entity, packed."""
        return traffic(self.layout, self.program)

    @cached_property
    def far_bytes(self) -> Mapping[str, int]:
        """Bytes that the program copies from far memory, by entity."""
        return far_bytes(self.placed.far, self.program)

    @property
    def ciphertext_bytes(self) -> int:
        """Bytes of ciphertexts that go to memory and come from there."""
        return sum(self.traffic[e].read + self.traffic[e].written for e in CIPHERTEXTS)


def traffic(layout: ElementLayout, program: Words) -> dict[str, Traffic]:
    """Bytes of near memory that an element's program reads and writes, by entity; counted from the instructions.

    A polynomial counts with its lines, an instruction with its 32 bytes. What COPY writes is counted as written.
    """
    read = _moved(layout, program, "addr", Opcode.LOAD, Opcode.STREAM)
    written = _moved(layout, program, "addr", Opcode.STORE, Opcode.COPY)
    read["program"] += program.shape[0] * INSTRUCTION_BYTES
    return {e: Traffic(read[e], written[e]) for e in ENTITIES}


def far_bytes(layout: ElementLayout, program: Words) -> dict[str, int]:
    """Bytes that an element's program copies from far memory, by entity."""
    return _moved(layout, program, "imm", Opcode.COPY)


def _moved(layout: ElementLayout, program: Words, name: str, *operations: Opcode) -> dict[str, int]:
    """Bytes of the polynomials at the addresses in one field of some operations, by entity."""
    op_field, field = field_table()["op"], field_table()[name]
    op = program[:, op_field.word] >> np.uint64(op_field.lsb) & np.uint64((1 << op_field.width) - 1)
    addresses = program[np.isin(op, [int(o) for o in operations]), field.word]
    starts = np.array([r.address for r in layout.regions], np.uint64)
    region = np.searchsorted(starts, addresses, side="right") - 1
    counts = np.bincount(region, minlength=len(starts)) if addresses.size else np.zeros(len(starts), np.int64)
    out = dict.fromkeys(ENTITIES, 0)
    for r, count in zip(layout.regions, counts.tolist(), strict=True):
        out[r.entity] += count * layout.stride
    return out


def assemble_element(
    target: Target, layout: ElementLayout, tables: Sequence[int], e: ElementCode, most: int | None = None
) -> tuple[Words, int]:
    """Program of an element's operations, and the most ciphertext limbs that it holds on chip.

    Args:
        target: machine and numbers.
        layout: of the element's near memory; what does not stay on chip gets places there.
        tables: address of each prime's twiddle table.
        e: operations, which are used up.
        most: limit of limbs on chip.

    Raises:
        ParameterError: an operation needs more polynomials than the element or the limit has.
    """
    ops = staged(e.ops, lambda: layout.polynomials("window", WINDOW), layout.stride, target.log_n)
    allocator = Allocator(target, tables, lambda: layout.polynomials("intermediates", 1), limit=most)
    program = encode(allocator.run(ops))
    e.ops.clear()
    return program, allocator.peak


def spread(diagonals: Sequence[Diagonal]) -> list[Diagonal]:
    """The diagonals whose multipliers are in far memory evenly among the others: far memory then has most time."""
    lists = [[d for d in diagonals if d.mask.far == far] for far in (False, True)]
    places = [((i + 0.5) / len(some), d) for some in lists for i, d in enumerate(some)]
    return [d for _, d in sorted(places, key=lambda place: place[0])]


def compile_hlt(config: FameConfig, kernel: HltKernel, near_bytes: int | None = None) -> CompiledHlt:
    """The program that computes a linear transform bit for bit as the `cpu` device, on one element.

    Args:
        config: the machine.
        kernel: the transform.
        near_bytes: of near memory for keys and diagonals, as `Placed.of` has it.

    Raises:
        ParameterError: the machine cannot run it; the message says what is needed and what there is.
    """
    placed = Placed.of(config, kernel, near_bytes)
    target, layout = placed.target, placed.layout
    most = limit(placed.limbs, len(target.digits(placed.limbs))) if kernel.schedule == Schedule.mo else None
    program, peak = assemble_element(target, layout, placed.tables, placed.operations(), most)
    # The instruction fetch reads a little past the end of a program.
    base = layout.add("program", program.nbytes + config.fetch_depth * config.line_bytes)
    layout.check()
    return CompiledHlt(placed, program, base, peak)
