# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a kernel to the programs of a machine's elements, and to what its memory must hold.

>>> compiled = compile_matvec(MatvecConfig.named("matvec-b"), kernel, has_bias=True)  # doctest: +SKIP
>>> for address, words in compiled.prepared(native, keys): ...  # doctest: +SKIP

`Compiled` is independent of matrix, keys and inputs; `prepared` and `loaded` yield the memory's contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ringforge._native import Algorithm, Ciphertext, GaloisKeys, Matvec
from ringforge.errors import LevelError
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.machines.matvec import bsgs, diagonal
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.job import Job, Options
from ringforge.hw.vector import constants
from ringforge.hw.vector.allocate import Allocator
from ringforge.hw.vector.config import INSTRUCTION_BYTES, VectorConfig
from ringforge.hw.vector.ir import GroupCode
from ringforge.hw.vector.isa import Opcode, Words, encode, field_table
from ringforge.hw.vector.layout import ENTITIES, KeyRegion
from ringforge.hw.vector.target import Target

if TYPE_CHECKING:
    from ringforge.matvec.kernels import MatvecKernel

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Traffic:
    """Bytes that programs read from memory and write to it, of one entity."""

    read: int
    written: int


def key_contents(target: Target, keys: GaloisKeys, element: int, region: KeyRegion) -> Iterator[tuple[int, Words]]:
    """Addresses and contents of one Galois key, in the machine's form of multipliers.

    Raises:
        MissingKeyError, LevelError: the key is missing or covers too few limbs.
    """
    config, primes = target.config, target.primes
    covered = keys.level(element) + 1
    if covered < region.limbs:
        raise LevelError(
            f"the Galois key of element {element} covers {covered} limbs, the plan uses {region.limbs}: "
            "make keys for this plan"
        )
    for part in (0, 1):
        for digit in range(region.limbs):
            for limb in range(region.limbs):
                words = keys.limb(element, part, digit, limb)
                yield region.at(part, digit, limb), constants.multiplier(config, words, primes[limb])
            words = keys.limb(element, part, digit, covered)
            yield region.at(part, digit, None), constants.multiplier(config, words, primes[-1])


@dataclass(frozen=True)
class Compiled:
    """Programs for every element of a machine.

    Attributes:
        job: kernel, options and addresses.
        programs: instruction words (n, 4) of element 0, 1, ..., group by group.
        base, stride: the program of element k starts at base + k * stride.
    """

    job: Job
    programs: tuple[Words, ...]
    base: int
    stride: int

    @property
    def config(self) -> VectorConfig:
        return self.job.target.config

    @property
    def memory(self) -> int:
        """Bytes of DRAM from address 0 to the end of what is used."""
        return self.job.layout.used

    # ---- what memory holds ------------------------------------------------------------------------

    def image(self) -> Words:
        """The programs as memory holds them from `base` on, with what the fetch reads past the last one's end."""
        words = np.zeros((self.stride * len(self.programs) + ALIGNMENT) // 8, np.uint64)
        for k, program in enumerate(self.programs):
            first = k * self.stride // 8
            words[first : first + program.size] = program.reshape(-1)
        return words

    def prepared(self, matvec: Matvec, keys: GaloisKeys) -> Iterator[tuple[int, Words]]:
        """Addresses and contents that stay for all runs: programs, tables, keys, matrix, bias.

        Multipliers are in the machine's form. Arrays are made one at a time: keys are large.

        Raises:
            MissingKeyError, LevelError: a key is missing or covers too few limbs.
        """
        job, target = self.job, self.job.target
        config, primes = target.config, target.primes
        image = np.zeros((self.stride * config.elements + ALIGNMENT) // 8, np.uint64)
        for k, program in enumerate(self.programs):
            image[k * self.stride // 8 :][: program.size] = program.reshape(-1)
        yield self.base, image
        for prime, address in zip(primes, job.tables, strict=True):
            yield address, constants.twiddles(config, prime, target.log_n)
        yield job.zero, np.zeros(target.degree, np.uint64)
        for element, region in job.keys.items():
            yield from key_contents(target, keys, element, region)
        for term in range(job.term_count):
            for limb in range(job.limbs):
                words = matvec.term_limb(term, limb)
                yield job.matrix(term, limb), constants.multiplier(config, words, primes[limb])
        for row_block, plain in enumerate(matvec.bias if job.has_bias else []):
            for limb in range(job.limbs - 1):
                yield job.bias(row_block, limb), plain.limb(limb)

    def loaded(self, inputs: Sequence[Ciphertext]) -> Iterator[tuple[int, Words]]:
        """Addresses and contents of one run's input ciphertexts."""
        for block, ciphertext in enumerate(inputs):
            for part in (0, 1):
                for limb in range(self.job.limbs):
                    yield self.job.input(block, part, limb), ciphertext.limb(part, limb)

    def reserved(self) -> Iterator[tuple[int, int]]:
        """Address and size of what the machine writes: partial sums and results."""
        for r in self.job.layout.regions:
            if r.entity in ("partial sums", "output") and r.size:
                yield r.address, r.size

    def results(self, read: Callable[[int, int], Words]) -> list[list[list[Words]]]:
        """Residues of the results, [row block][part][limb], as `Matvec.assemble` takes them.

        Args:
            read: gives the words at an address.
        """
        job, n = self.job, self.job.target.degree
        return [
            [[read(job.output(r, part, i), n) for i in range(job.limbs - 1)] for part in (0, 1)]
            for r in range(job.row_blocks)
        ]

    def memory_image(self, matvec: Matvec, keys: GaloisKeys, inputs: Sequence[Ciphertext]) -> Dram:
        """A simulated memory ready for one run; everything is held at once."""
        dram = Dram(self.config.dram_bytes)
        for address, words in self.prepared(matvec, keys):
            dram.map(address, words)
        for address, words in self.loaded(inputs):
            dram.map(address, words)
        for address, size in self.reserved():
            dram.reserve(address, size)
        return dram

    # ---- numbers about it -------------------------------------------------------------------------

    @cached_property
    def instructions(self) -> Mapping[str, int]:
        """Instructions of all elements by operation."""
        field = field_table()["op"]
        count: Counter[str] = Counter()
        for program in self.programs:
            ops, numbers = np.unique(
                program[:, field.word] >> np.uint64(field.lsb) & np.uint64((1 << field.width) - 1), return_counts=True
            )
            count.update({Opcode(int(op)).name: int(n) for op, n in zip(ops, numbers, strict=True)})
        return dict(count)

    @cached_property
    def traffic(self) -> Mapping[str, Traffic]:
        """Bytes read and written by entity."""
        return traffic(self)


def traffic(compiled: Compiled) -> dict[str, Traffic]:
    """Bytes that the programs read and write, by entity; counted from the instructions.

    A polynomial counts with its N words, an instruction with its 32 bytes.
    """
    fields, layout = field_table(), compiled.job.layout
    op_field, addr_field = fields["op"], fields["addr"]
    size = 8 * compiled.job.target.degree
    starts = np.array([r.address for r in layout.regions], np.uint64)
    entities = [ENTITIES.index(r.entity) for r in layout.regions]
    read, written = np.zeros(len(ENTITIES), np.int64), np.zeros(len(ENTITIES), np.int64)
    for program in compiled.programs:
        op = program[:, op_field.word] >> np.uint64(op_field.lsb) & np.uint64((1 << op_field.width) - 1)
        region = np.searchsorted(starts, program[:, addr_field.word], side="right") - 1
        for counts, which in ((read, (Opcode.LOAD, Opcode.STREAM)), (written, (Opcode.STORE,))):
            hit = np.isin(op, [int(o) for o in which])
            np.add.at(counts, np.asarray(entities)[region[hit]], size)
        read[ENTITIES.index("program")] += program.shape[0] * INSTRUCTION_BYTES
    return {e: Traffic(int(read[k]), int(written[k])) for k, e in enumerate(ENTITIES)}


def compile_matvec(
    config: MatvecConfig,
    kernel: MatvecKernel,
    *,
    has_bias: bool,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Compiled:
    """Programs that compute a matrix-vector product bit for bit as the `cpu` device.

    Args:
        config: the machine.
        kernel: the product.
        has_bias: a bias is added to the results.
        options: compiler passes; all on by default.
        progress: receives the fraction done.

    Raises:
        ParameterError: the machine cannot run it; the message says what is needed and what there is.
    """
    job = Job(config, kernel, has_bias, options or Options())
    write: Callable[[Job, GroupCode, int], Any] = bsgs.write if job.algorithm == Algorithm.bsgs else diagonal.write
    programs: list[Words] = []
    for group in range(config.groups):
        code = GroupCode(job.target, job.options.fusion)
        write(job, code, group)
        for element in code.elements:
            allocator = Allocator(
                job.target,
                job.tables,
                lambda: job.layout.polynomials("partial sums", 1),
                keep_tables=job.options.tiling,
            )
            programs.append(encode(allocator.run(element.ops)))
            element.ops.clear()
            if progress is not None:
                progress(len(programs) / config.elements)
    length = max(p.shape[0] for p in programs) * INSTRUCTION_BYTES
    stride = -(-length // ALIGNMENT) * ALIGNMENT
    # The instruction fetch reads a little past the end of a program.
    base = job.layout.add("program", stride * config.elements + ALIGNMENT)
    job.layout.check()
    return Compiled(job, tuple(programs), base, stride)
