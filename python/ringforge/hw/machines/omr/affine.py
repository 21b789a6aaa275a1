# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The affine transform of detection (SophOMR, Algorithm 1) as programs: rotations of a key, then giant steps.

Rotations of the key are a chain, each from the one before. Giant steps go from the last one down: the sum so far is
rotated, and the step's own sum added as the result is stored. Sums of all steps are made in between, as fast as the
grid of products goes: SUM has a unit of its own, and needs nothing of the rotations. As many steps share the reading of
the key's rotations as the grid has rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys, kernels
from ringforge.hw.core.dram import ALIGNMENT
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.layout import Key, Memory, Pair, Target, key_words, multiplier
from ringforge.hw.machines.omr.program import Builder, Op, Program, SumStrides
from ringforge.hw.machines.omr.rotation import Core, Rotation, rotate
from ringforge.hw.machines.omr.schedule import schedule
from ringforge.hw.machines.omr.timing import Timing

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Job:
    """A program with its memory.

    Attributes:
        program: to run. memory: that it runs on. results: ciphertexts in it, when it has run.
        cycles: that it should take, about.
    """

    program: Program
    memory: Memory
    results: Sequence[Pair]
    cycles: int

    def limbs(self, target: Target) -> list[list[list[Words]]]:
        """Residues of the results: [ciphertext][part][limb]."""
        n = 1 << target.log_n
        return [
            [[self.memory.view(part.at(i), n) for i in range(target.limbs)] for part in pair.parts]
            for pair in self.results
        ]


def finished(b: Builder, config: OmrConfig, memory: Memory, results: Sequence[Pair]) -> Job:
    """The job of a builder's instructions, in the order of their estimated starts."""
    s = schedule(b, Timing(config, b.log_n).cycles)
    return Job(b.program(s.order), memory, results, s.cycles)


def galois_key(target: Target, keys: GaloisKeys, element: int) -> Words:
    """Memory of a Galois key.

    Raises:
        MissingKeyError: there is none.
    """
    limbs = int(keys.level(element)) + 1
    return key_words(target, lambda part, digit, limb: keys.limb(element, part, digit, limb), limbs)


def place_key(target: Target, memory: Memory, words: Words | None) -> Key:
    """Puts a key into memory, or only leaves room for it."""
    size = 2 * len(target.digits) * len(target.ext) * target.limb_bytes
    align = _align(target)
    at = memory.put("keys", words, align) if words is not None else memory.reserve("keys", size, align)
    return Key(at, len(target.ext), target.limb_bytes)


def _align(target: Target) -> int:
    return max(target.limb_bytes, ALIGNMENT)


def _pairs(target: Target, address: int, count: int) -> list[Pair]:
    size = 2 * target.limbs * target.limb_bytes
    return [Pair.at(address + i * size, target.limbs, target.limb_bytes) for i in range(count)]


def check_babies(target: Target, count: int) -> None:
    """Whether memory holds `count` rotations.

    Raises:
        ParameterError: it does not.
    """
    _babies_in(Memory(target.config, backed=False), target, None, None, count)


def _babies_in(
    memory: Memory, target: Target, key: Words | None, given: Words | None, count: int
) -> tuple[Core, Key, list[Pair]]:
    """Places everything but the program: the key, and the ciphertexts of the chain."""
    pair, align = 2 * target.limbs * target.limb_bytes, _align(target)
    core = Core.begin(Builder(target.log_n), target, memory)
    placed = place_key(target, memory, key)
    at = memory.put("input", given, align) if given is not None else memory.reserve("input", pair, align)
    source = Pair.at(at, target.limbs, target.limb_bytes)
    results = _pairs(target, memory.reserve("output", max(count, 1) * pair, align), count)
    return core, placed, [source, *results]


def babies(target: Target, key: Words | None, given: Words | None, count: int) -> Job:
    """`count` rotations of a ciphertext by one step each from the one before.

    Args:
        key: as `galois_key`, of element 5. given: the ciphertext, (2, limbs, N); None: only a plan, for models.

    Raises:
        ParameterError: as `check_babies`.
    """
    memory = Memory(target.config, given is not None)
    core, placed, chain = _babies_in(memory, target, key, given, count)
    rotate(core, [Rotation(x, y, placed, 5) for x, y in pairwise(chain)])
    return finished(core.builder, target.config, memory, chain[1:])


@dataclass(frozen=True)
class Diagonals:
    """Diagonals of giant steps in memory's form.

    Attributes:
        counts: of each giant step and matrix. matrices: of a giant step.
        blocks: of each giant step and matrix (terms, limbs, N), as second operands of multipliers; none for models.
    """

    counts: Sequence[int]
    matrices: int
    blocks: Sequence[Words] = ()

    @property
    def giants(self) -> int:
        """Giant steps."""
        return len(self.counts) // self.matrices

    def terms(self, giant: int) -> int:
        """Of a giant step."""
        return self.counts[giant * self.matrices]

    @property
    def nbytes(self) -> int:
        """Of all."""
        return sum(block.nbytes for block in self.blocks)

    @classmethod
    def of(cls, target: Target, packed: Sequence[Bytes], t: int, matrices: int) -> Diagonals:
        """Transforms packed polynomials modulo t, an array for each giant step."""
        n, bits = 1 << target.log_n, t.bit_length()
        each, made = n * bits // 8, []
        for words in packed:
            count = words.size // each // matrices
            for matrix in range(matrices):
                block = np.empty((count, target.limbs, n), np.uint64)
                for term in range(count):
                    at = (matrix * count + term) * each
                    data = words[at : at + each].tobytes()
                    for limb, q in enumerate(target.q):
                        made_limb = kernels.ntt_packed(kernels.active(), data, bits, t, n, q)
                        block[term, limb] = multiplier(target.config, made_limb, q)
                made.append(block)
        return cls([len(block) for block in made], matrices, made)


@dataclass(frozen=True)
class Giants:
    """What the giant steps need besides diagonals.

    Attributes:
        key: as `galois_key`, of the giant step; None where there is only one, and for models.
        element: of the giant step.
        outputs: clues. baby: baby steps of a giant one.
    """

    key: Words | None
    element: int
    outputs: int
    baby: int


#: What to do where diagonals of giant steps do not fit into memory.
MORE_SHARDS: Final = "compute fewer giant steps at a time (more --shards), or take a configuration with more memory"


@dataclass(frozen=True)
class _Places:
    """Where what the giant steps work on lies: rotations, diagonals (a block each), sums; and Horner's.

    Attributes:
        strides: of SUM. block: bytes of a giant step's diagonals of a matrix. key: None for a single giant step.
        held: two for each output, in turns. results: of the outputs.
    """

    core: Core
    strides: SumStrides
    block: int
    babies_at: int
    matrix_at: int
    sums: list[Pair]
    key: Key | None
    held: list[Pair]
    results: list[Pair]


def check_giants(target: Target, g: Giants, diagonals: Diagonals) -> None:
    """Whether memory holds what giant steps need.

    Raises:
        ParameterError: it does not.
    """
    _giants_in(Memory(target.config, backed=False, remedy=MORE_SHARDS), target, g, diagonals, None)


def _giants_in(memory: Memory, target: Target, g: Giants, diagonals: Diagonals, rotations: Words | None) -> _Places:
    """Places everything but the program."""
    config, limbs, lb = target.config, target.limbs, target.limb_bytes
    pair, align = 2 * limbs * lb, _align(target)
    block = -(-g.baby * limbs * lb // ALIGNMENT) * ALIGNMENT
    strides = SumStrides(limbs * lb, pair, diagonals.matrices * block, limbs * lb, g.outputs * pair, limbs * lb)
    core = Core.begin(Builder(target.log_n, strides, config.cols), target, memory)
    count = g.baby + (1 if diagonals.matrices > 1 else g.outputs) - 1
    babies_at = (
        memory.put("input", rotations, align) if rotations is not None else memory.reserve("input", count * pair, align)
    )
    matrix_at = memory.blocks("matrix", diagonals.blocks, len(diagonals.counts), block, align)
    number = diagonals.giants * g.outputs
    sums = _pairs(target, memory.reserve("partial sums", number * pair, align), number)
    if diagonals.giants == 1:
        return _Places(core, strides, block, babies_at, matrix_at, sums, None, [], sums[: g.outputs])
    key = place_key(target, memory, g.key)
    held = _pairs(target, memory.reserve("partial sums", 2 * g.outputs * pair, align), 2 * g.outputs)
    results = _pairs(target, memory.reserve("output", g.outputs * pair, align), g.outputs)
    return _Places(core, strides, block, babies_at, matrix_at, sums, key, held, results)


def giants(target: Target, g: Giants, diagonals: Diagonals, rotations: Words | None, remedy: str = MORE_SHARDS) -> Job:
    """The outputs of giant steps, by Horner's rule from the last one.

    Output l of one matrix takes the rotations from the l-th on; of as many matrices as outputs, each the first ones.

    Args:
        rotations: of the key, (count, 2, limbs, N); None: memory is laid out, but holds none (for models).
        remedy: what to do if it does not fit.

    Raises:
        ParameterError: it does not fit into memory.
    """
    config, lb, pair = target.config, target.limb_bytes, 2 * target.limbs * target.limb_bytes
    memory = Memory(config, backed=rotations is not None, remedy=remedy)
    at = _giants_in(memory, target, g, diagonals, rotations)
    b, strides, sums = at.core.builder, at.strides, at.sums

    def sum_of(giant: int, output: int) -> Pair:
        return sums[giant * g.outputs + output]

    # Limbs in the order in which rotations store theirs.
    order = [limb for digit in reversed(target.digits) for limb in digit]
    turns = _turns(config.rows, [diagonals.terms(giant) for giant in range(diagonals.giants)], g.outputs)
    for run, clue in turns:
        matrix, from_term = (clue, 0) if diagonals.matrices > 1 else (0, clue)
        for j in order:
            for part in range(0, 2, config.cols):
                b.add(
                    Op.SUM, src=len(run), mod=target.sum_entries[j], count=diagonals.terms(run.start), ways=1,
                    addr0=at.babies_at + from_term * pair + part * strides.ct_col + j * lb,
                    addr1=at.matrix_at + (run.start * diagonals.matrices + matrix) * at.block + j * lb,
                    stride0=sum_of(run.start, clue).parts[part].at(j),
                )  # fmt: skip

    if at.key is not None:
        latest = [sum_of(diagonals.giants - 1, clue) for clue in range(g.outputs)]
        steps = []
        for run, clue in turns:
            for giant in reversed(range(run.start, min(run.stop, diagonals.giants - 1))):
                to = at.results[clue] if giant == 0 else at.held[2 * clue + giant % 2]
                steps.append(Rotation(latest[clue], to, at.key, g.element, sum_of(giant, clue)))
                latest[clue] = to
        rotate(at.core, steps)
    return finished(b, config, memory, at.results)


def _turns(rows: int, terms: Sequence[int], outputs: int) -> list[tuple[range, int]]:
    """Giant steps whose sums are made at once, and of which output, from the last step down.

    Steps of a run have as many terms, and are at most as many as the grid has rows. A last step by itself, which has no
    rotation, and the run below it come one behind the other, so that the first rotations wait for one output only.

    >>> _turns(2, [5, 5, 5, 3], 2)
    [(range(3, 4), 0), (range(1, 3), 0), (range(3, 4), 1), (range(1, 3), 1), (range(0, 1), 0), (range(0, 1), 1)]
    """
    runs: list[range] = []
    last = len(terms)
    while last:
        first = last - 1
        while first and last - first < rows and terms[first - 1] == terms[last - 1]:
            first -= 1
        runs.append(range(first, last))
        last = first
    together = 2 if len(runs[0]) == 1 else 1
    found = [(run, clue) for clue in range(outputs) for run in runs[:together]]
    return found + [(run, clue) for run in runs[together:] for clue in range(outputs)]
