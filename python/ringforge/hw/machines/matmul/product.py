# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A whole product of two encrypted matrices as one program: the FAME paper's Algorithm 2.

Element 0 transforms A, element 1 transforms B: sigma and tau first, then for each k the two shifts of what they gave.
They make a few shifts at a time, and share the products: whoever has had less to do gets the other's factor over the
bus, relinearises the product and adds it to a sum of its own. At the end the sums are added and rescaled. A machine
with one element does both sides in turn.

The CPU multiplies pair by pair, too (`ringforge.matmul.engine`, plans that are not lazy), and sums of residues do
not depend on their order: results agree in every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ringforge._native import Hlt
from ringforge.devices import KeySet
from ringforge.errors import ParameterError, ShapeError
from ringforge.hw.machines.matmul.circuit import FRONT, PASSING, Circuit, Limbs
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.job import ElementJob, Place, Program
from ringforge.hw.machines.matmul.pieces import multiply_piece, transform_piece
from ringforge.hw.machines.matmul.target import target_of
from ringforge.hw.vector.ir import ElementCode, Op, Value
from ringforge.hw.vector.isa import Opcode
from ringforge.matmul.engine import Product
from ringforge.matmul.kernels import HltKernel, MultiplyKernel

#: Pairs whose shifts are made before their products.
TOGETHER: Final = 4


@dataclass(frozen=True)
class ProductProgram:
    """A whole product.

    Attributes:
        program: of all elements; inputs are A and B, of the plan's level.
        natives: the transforms that `encode` encodes, which must be before memory is filled.
        peak: most polynomials of ciphertexts that an element holds on chip at once.
    """

    program: Program
    natives: tuple[tuple[HltKernel, Hlt], ...]
    peak: int

    def encode(self, threads: int = 1) -> None:
        """Encodes all diagonals."""
        for kernel, native in self.natives:
            native.encode(kernel.input_scale, kernel.output_scale, kernel.input_bound, kernel.compact, threads)


def product_program(config: FameConfig, product: Product, keys: KeySet) -> ProductProgram:
    """The program of a product by a plan like that of method `fame`.

    Args:
        product: of a plan that is not lazy, whose groups are not rotated and which ends with a rescale.
        keys: asked for when memory is filled.

    Raises:
        ParameterError: the machine cannot run it; the message says what is needed and what there is.
    """
    return _Writer(config, product, keys).write()


class _Writer:
    def __init__(self, config: FameConfig, product: Product, keys: KeySet) -> None:
        plan = product.plan
        if plan.lazy or plan.real_part or plan.folds or plan.tail is not None or any(g.outer for g in plan.groups):
            raise ParameterError(
                f"machine {config.name} makes whole products by plans that multiply pair by pair and end there, not by "
                f"{plan!r}: take method fame, or run its kernels one by one"
            )
        self.product, self.config = product, config
        self.target = target_of(config, product.context.params, product.level)
        self.jobs = [ElementJob(self.target, number, keys) for number in range(config.pes)]
        #: The elements of A's and of B's side.
        self.sides = (self.jobs[0], self.jobs[-1])
        self.kernel = MultiplyKernel(product.context, product.product_level)
        self.natives: list[tuple[HltKernel, Hlt]] = []
        self.totals: list[Place | None] = [None] * config.pes
        #: Ciphertexts that live for one group of pairs, by element and what they are.
        self.passing: dict[tuple[int, str], Place] = {}
        self.peak = 0
        #: Work of a product, once one has been written.
        self.price = 1

    def write(self) -> ProductProgram:
        product, pairs = self.product, self.product.plan.pairs
        inputs, bases = [], []
        try:
            for job, side in zip(self.sides, ("left", "right"), strict=True):
                kernels = product.operand_kernels(side)
                place = job.ciphertext("input", kernels[0].level + 1)
                inputs.append([place])
                for kernel in kernels:
                    place = self.transform(job, kernel, place)
                bases.append(place)
            for first in range(0, len(pairs), TOGETHER):
                self.pairs(bases, pairs[first : first + TOGETHER])
        except ShapeError as error:
            raise ParameterError(
                f"machine {self.config.name} cannot make this product in one program: {error}"
            ) from None
        output = self.finish()
        program = Program.of(self.target, self.jobs, inputs, output)
        return ProductProgram(program, tuple(self.natives), self.peak)

    def place(self, job: ElementJob, what: str, limbs: int) -> Place:
        """Where a ciphertext is that lives for one group of pairs."""
        key = job.number, what
        if key not in self.passing:
            self.passing[key] = job.ciphertext("intermediates", limbs)
        return self.passing[key]

    def transform(self, job: ElementJob, kernel: HltKernel, source: Place, what: str = "") -> Place:
        """Adds a transform; where its result is, which is kept unless it is called something."""
        limbs, native = kernel.level, kernel.native()
        result = self.place(job, what, limbs) if what else job.ciphertext("intermediates", limbs)
        self.natives.append((kernel, native))
        self.peak = max(self.peak, transform_piece(job, kernel, native, source, result))
        return result

    def pairs(self, bases: Sequence[Place], numbers: Sequence[int]) -> None:
        """Adds some pairs."""
        factors = [
            [
                self.transform(job, kernel, base, f"{side} factor {at}")
                for job, side, kernel, base in zip(
                    self.sides, ("left", "right"), self.product.pair_kernels(k), bases, strict=True
                )
            ]
            for at, k in enumerate(numbers)
        ]
        work = [job.work for job in self.jobs]
        owners = []
        for _ in factors:
            owner = min(self.jobs, key=lambda job: work[job.number])
            owners.append(owner)
            work[owner.number] += self.price
        # All are exchanged before the first is multiplied: whoever sends waits for who receives.
        for at, (owner, pair) in enumerate(zip(owners, factors, strict=True)):
            for side, place in enumerate(pair):
                if place.element != owner.number:
                    pair[side] = self.moved(place, owner, f"received {at}")
        for owner, (left, right) in zip(owners, factors, strict=True):
            before, total = owner.work, self.totals[owner.number]
            result = total or owner.ciphertext("intermediates", self.kernel.level + 1)
            self.peak = max(self.peak, multiply_piece(owner, self.kernel, left, right, result, total))
            self.totals[owner.number], self.price = result, owner.work - before

    def moved(self, source: Place, to: ElementJob, what: str) -> Place:
        """Sends a ciphertext over the bus."""
        place = self.place(to, what, source.limbs)
        self.jobs[source.element].piece(partial(_send, source, to.number))
        to.piece(partial(_receive, source, place))
        return place

    def finish(self) -> Place:
        """Adds up the elements' sums, and rescales."""
        first, *others = [place for place in self.totals if place is not None]
        output = self.jobs[0].ciphertext("output", first.limbs - 1)
        for place in others:
            self.jobs[place.element].piece(partial(_send, place, 0))

        def write(code: ElementCode) -> None:
            c = Circuit(code, self.target)
            for part in (0, 1):
                sums: Limbs = {}
                for i in range(first.limbs):
                    sums[i] = code.load(first.parts[part].at(i), FRONT)
                    for place in others:
                        sums[i] = c.add(sums[i], _received(code, place.element), i, 1)
                for i, value in c.down(sums, first.limbs - 1).items():
                    code.store(value, output.parts[part].at(i))

        self.peak = max(self.peak, self.jobs[0].piece(write))
        return output


def _send(source: Place, to: int, code: ElementCode) -> None:
    for part in source.parts:
        for i in range(source.limbs):
            code.ops.append(Op(Opcode.SEND, a=code.load(part.at(i), FRONT if i % 2 else PASSING), mask=1 << to))


def _receive(source: Place, place: Place, code: ElementCode) -> None:
    for part in place.parts:
        for i in range(place.limbs):
            code.store(_received(code, source.element), part.at(i))


def _received(code: ElementCode, element: int) -> Value:
    value = Value(PASSING)
    code.ops.append(Op(Opcode.RECV, value, peer=element))
    return value
