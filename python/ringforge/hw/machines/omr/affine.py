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


def babies(target: Target, key: Words | None, given: Words | None, count: int) -> Job:
    """`count` rotations of a ciphertext by one step each from the one before.

    Args:
        key: as `galois_key`, of element 5. given: the ciphertext, (2, limbs, N); None: only a plan, for models.
    """
    memory, b = Memory(target.config, given is not None), Builder(target.log_n)
    pair = 2 * target.limbs * target.limb_bytes
    core = Core.begin(b, target, memory)
    placed = place_key(target, memory, key)
    align = _align(target)
    at = memory.put("input", given, align) if given is not None else memory.reserve("input", pair, align)
    source = Pair.at(at, target.limbs, target.limb_bytes)
    results = _pairs(target, memory.reserve("output", max(count, 1) * pair, align), count)
    chain = [source, *results]
    rotate(core, [Rotation(x, y, placed, 5) for x, y in pairwise(chain)])
    return finished(b, target.config, memory, results)


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


def giants(target: Target, g: Giants, diagonals: Diagonals, rotations: Words | None) -> Job:
    """The outputs of giant steps, by Horner's rule from the last one.

    Output l of one matrix takes the rotations from the l-th on; of as many matrices as outputs, each the first ones.

    Args:
        rotations: of the key, (count, 2, limbs, N); None: memory is laid out, but holds none (for models).

    Raises:
        ParameterError: it does not fit into memory.
    """
    config, limbs, lb = target.config, target.limbs, target.limb_bytes
    memory = Memory(config, rotations is not None)
    pair = 2 * limbs * lb
    block = -(-g.baby * limbs * lb // ALIGNMENT) * ALIGNMENT
    strides = SumStrides(limbs * lb, pair, diagonals.matrices * block, limbs * lb, g.outputs * pair, limbs * lb)
    b = Builder(target.log_n, strides, config.cols)
    core = Core.begin(b, target, memory)
    shared = 1 if diagonals.matrices > 1 else g.outputs
    count = g.baby + shared - 1
    babies_at = (
        memory.put("input", rotations, _align(target))
        if rotations is not None
        else memory.reserve("input", count * pair, _align(target))
    )
    matrix_at = memory.blocks("matrix", diagonals.blocks, len(diagonals.counts), block, _align(target))
    sums_at = memory.reserve("partial sums", diagonals.giants * g.outputs * pair, _align(target))
    sums = _pairs(target, sums_at, diagonals.giants * g.outputs)

    # Limbs in the order in which rotations store theirs.
    order = [limb for digit in reversed(target.digits) for limb in digit]
    turns = _turns(config.rows, [diagonals.terms(giant) for giant in range(diagonals.giants)], g.outputs)
    for run, clue in turns:
        matrix, from_term = (clue, 0) if diagonals.matrices > 1 else (0, clue)
        for j in order:
            for part in range(0, 2, config.cols):
                b.add(
                    Op.SUM, src=len(run), mod=target.sum_entries[j], count=diagonals.terms(run.start), ways=1,
                    addr0=babies_at + from_term * pair + part * strides.ct_col + j * lb,
                    addr1=matrix_at + (run.start * diagonals.matrices + matrix) * block + j * lb,
                    stride0=sums_at + (run.start * g.outputs + clue) * pair + part * strides.out_col + j * lb,
                )  # fmt: skip

    def sum_of(giant: int, output: int) -> Pair:
        return sums[giant * g.outputs + output]

    results = [sum_of(0, clue) for clue in range(g.outputs)]
    if diagonals.giants > 1:
        key = place_key(target, memory, g.key)
        held = _pairs(target, memory.reserve("partial sums", 2 * g.outputs * pair, _align(target)), 2 * g.outputs)
        results = _pairs(target, memory.reserve("output", g.outputs * pair, _align(target)), g.outputs)
        at = [sum_of(diagonals.giants - 1, clue) for clue in range(g.outputs)]
        steps = []
        for run, clue in turns:
            for giant in reversed(range(run.start, min(run.stop, diagonals.giants - 1))):
                to = results[clue] if giant == 0 else held[2 * clue + giant % 2]
                steps.append(Rotation(at[clue], to, key, g.element, sum_of(giant, clue)))
                at[clue] = to
        rotate(core, steps)
    return finished(b, config, memory, results)


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
