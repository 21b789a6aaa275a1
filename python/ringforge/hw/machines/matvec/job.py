# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One matrix-vector product to compile: the plan in plain numbers, options, and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringforge._native import Algorithm
from ringforge.errors import ParameterError
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.layout import KeyRegion, Layout
from ringforge.hw.vector.target import Target

if TYPE_CHECKING:
    from ringforge.matvec.kernels import MatvecKernel


@dataclass(frozen=True)
class Options:
    """Passes that may be switched off, to see what they are worth.

    Attributes:
        fusion: results of a primitive (product, rescale, key product, division by P, automorphism, sum) stay in the
            scratchpad for the next one while there is room. Off: each is stored to memory and loaded by the next.
        tiling: all groups work, each on partial sums of its own that stay on chip; inputs and twiddle tables are
            kept; bsgs loads rotated inputs once for several giant steps. Off: one group works on one partial sum at
            a time, sums go to memory after each addition, inputs are loaded for each product and twiddle tables for
            each transform.
    """

    fusion: bool = True
    tiling: bool = True


class Job:
    """A kernel with the addresses of all it reads and writes.

    Args:
        config: the machine.
        kernel: the product.
        has_bias: a bias is added.
        options: passes.

    Raises:
        ParameterError: the machine cannot run the kernel; the message says what is needed and what there is.
    """

    def __init__(self, config: MatvecConfig, kernel: MatvecKernel, has_bias: bool, options: Options) -> None:
        self.kernel = kernel
        self.has_bias = has_bias
        self.options = options
        self.target = Target.of(config, kernel.context.params, kernel.level)
        self.groups = config.groups if options.tiling else 1
        plan, packing = kernel.plan, kernel.plan.packing
        self.algorithm = plan.algorithm
        self.row_blocks = packing.row_blocks
        self.column_blocks = len(packing.blocks)
        self.diagonals = packing.diagonals
        self.folds = list(packing.folds)
        self.giants = plan.giants
        #: Baby steps of each input, the trivial one included; 1 each without bsgs.
        self.babies = [min(plan.baby, b.diagonals) if self.algorithm == Algorithm.bsgs else 1 for b in packing.blocks]
        #: (row block, giant step) -> (term, column block, baby step) of its products; diagonals count as giant steps.
        self.terms: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for number, t in enumerate(plan.terms):
            self.terms.setdefault((t.row_block, t.giant), []).append((number, t.block, t.baby))
        self.term_count = len(plan.terms)
        self.layout = Layout(config, self.target.log_n)
        self._place()

    def _place(self) -> None:
        layout, limbs = self.layout, self.limbs
        self._twiddles = layout.polynomials("twiddles", len(self.target.primes))
        # A polynomial of zeros, for groups that have nothing to add.
        self.zero = layout.polynomials("twiddles", 1)
        self._inputs = layout.polynomials("input", 2 * self.column_blocks * limbs)
        self._outputs = layout.polynomials("output", 2 * self.row_blocks * (limbs - 1))
        self._bias = layout.polynomials("bias", self.row_blocks * (limbs - 1))
        self._matrix = layout.polynomials("matrix", self.term_count * limbs)
        self._babies = [
            layout.polynomials("partial sums", 2 * (count - 1) * limbs) if count > 1 else 0 for count in self.babies
        ]
        levels: dict[int, int] = {}
        for step, stage in self.kernel.plan.keys:
            element = self.element(step)
            levels[element] = max(levels.get(element, 0), limbs - stage)
        self._keys = {
            element: KeyRegion(layout.polynomials("keys", KeyRegion.polynomials(n)), n, layout.stride)
            for element, n in levels.items()
        }
        layout.check()

    # ---- numbers ----

    @property
    def limbs(self) -> int:
        """Limbs of the inputs; results have one less."""
        return self.kernel.level + 1

    def element(self, step: int) -> int:
        """Galois element of a rotation by `step` virtual slots."""
        return int(self.kernel.context.rotation_element(step * self.kernel.batch))

    def mine(self, group: int, first: int, count: int) -> range:
        """Numbers first <= i < count that a group works on: those equal to it modulo the number of groups."""
        if group >= self.groups:
            return range(0)
        return range(first + (group - first) % self.groups, count, self.groups)

    # ---- addresses ----

    @property
    def tables(self) -> list[int]:
        """Address of each prime's twiddle table."""
        return [self._twiddles + k * self.layout.stride for k in range(len(self.target.primes))]

    @property
    def keys(self) -> dict[int, KeyRegion]:
        """Where each Galois element's key is."""
        return self._keys

    def key(self, step: int) -> KeyRegion:
        """The key of a rotation.

        Raises:
            ParameterError: the plan names no such key.
        """
        try:
            return self._keys[self.element(step)]
        except KeyError:
            raise ParameterError(f"the plan has no key for a rotation by {step}") from None

    def input(self, block: int, part: int, limb: int) -> int:
        """Address of a limb of an input ciphertext."""
        return self._inputs + ((block * 2 + part) * self.limbs + limb) * self.layout.stride

    def output(self, row_block: int, part: int, limb: int) -> int:
        """Address of a limb of a result."""
        return self._outputs + ((row_block * 2 + part) * (self.limbs - 1) + limb) * self.layout.stride

    def bias(self, row_block: int, limb: int) -> int:
        """Address of a limb of an encoded bias."""
        return self._bias + (row_block * (self.limbs - 1) + limb) * self.layout.stride

    def matrix(self, term: int, limb: int) -> int:
        """Address of a limb of an encoded product."""
        return self._matrix + (term * self.limbs + limb) * self.layout.stride

    def baby(self, block: int, baby: int, part: int, limb: int) -> int:
        """Address of a limb of a rotated input; rotation 0 is the input itself."""
        if baby == 0:
            return self.input(block, part, limb)
        return self._babies[block] + (((baby - 1) * 2 + part) * self.limbs + limb) * self.layout.stride
