# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Pieces of programs: what each kernel of matrix products is on one element, from memory to memory.

Encoded diagonals and masks come from the library's objects, which may still be without them: nothing is asked before
memory is filled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ringforge._native import Hlt, PairSum, Schedule
from ringforge.hw.machines.matmul.circuit import FRONT, PASSING, Circuit, Source
from ringforge.hw.machines.matmul.coarse import Coarse
from ringforge.hw.machines.matmul.hlt import Diagonal, MemoryOptimised
from ringforge.hw.machines.matmul.job import RELIN, ElementJob, Place, Words
from ringforge.hw.machines.matmul.linear import Term, Turn, giant_steps
from ringforge.hw.machines.matmul.multiply import Sink, multiply
from ringforge.hw.machines.matmul.pairs import Keys, pair_sum
from ringforge.hw.machines.matmul.target import limit
from ringforge.hw.vector.ir import ElementCode, Value
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel


def _source(code: ElementCode, place: Place, bank: int) -> Source:
    return lambda part, i: code.load(place.parts[part].at(i), bank=bank)


def _sink(code: ElementCode, place: Place) -> Sink:
    def store(part: int, i: int, value: Value) -> None:
        code.store(value, place.parts[part].at(i))

    return store


def _diagonal_limb(native: Hlt, number: int, limbs: int, special: int, entry: int) -> Words:
    words: Words = native.diagonal_limb(number, entry if entry < limbs else limbs + entry - special)
    return words


def transform_piece(job: ElementJob, kernel: HltKernel, native: Hlt, source: Place, result: Place) -> int:
    """Adds a linear transform.

    Args:
        native: of the kernel, encoded before memory is filled.
        source, result: input and output, of kernel.level + 1 and kernel.level limbs.

    Returns:
        most polynomials of ciphertexts that are on chip at once.

    Raises:
        ParameterError: it needs more slots than the element has.
    """
    target, limbs, rotation = job.target, kernel.level + 1, kernel.context.rotation_element
    steps = [int(s) for s in kernel.map.steps]
    entries = (*range(limbs), *target.specials)[: native.diagonal_limbs]
    masks = [job.mask(entries, partial(_diagonal_limb, native, n, limbs, target.special)) for n in range(len(steps))]
    if kernel.schedule == Schedule.bsgs and any(steps):
        return _giant_steps_piece(job, kernel, [m.at for m in masks], source, result)
    diagonals = [
        Diagonal(int(rotation(s)), mask, job.key(int(rotation(s)), limbs) if s else None)
        for s, mask in zip(steps, masks, strict=True)
    ]
    optimised = kernel.schedule == Schedule.mo and any(steps)

    def write(code: ElementCode) -> None:
        emit = _sink(code, result)
        if optimised:
            MemoryOptimised(code, target, source.parts, limbs, diagonals, emit).write()
            return
        coarse = Coarse(code, target, source.parts, limbs, diagonals, emit, kernel.schedule == Schedule.naive)
        if kernel.schedule == Schedule.hoisted and any(steps):
            coarse.hoisted()
        else:
            coarse.naive()

    most = limit(limbs, len(target.digits(limbs))) if optimised else None
    return job.piece(write, fixed=True, limit=most)


def _giant_steps_piece(
    job: ElementJob, kernel: HltKernel, masks: Sequence[Callable[[int], int]], source: Place, result: Place
) -> int:
    limbs, slots, rotation = kernel.level + 1, kernel.map.slots, kernel.context.rotation_element
    babies = [int(b) for b in kernel.babies]
    giants = [(int(s) - b) % slots for s, b in zip(kernel.map.steps, babies, strict=True)]
    turns: dict[int, Turn] = {0: (1, None)}
    for step in {*babies, *giants} - {0}:
        turns[step] = int(rotation(step)), job.key(int(rotation(step)), limbs)
    terms = [Term(b, g, mask) for b, g, mask in zip(babies, giants, masks, strict=True)]

    def write(code: ElementCode) -> None:
        giant_steps(Circuit(code, job.target), _source(code, source, FRONT), limbs, terms, turns, _sink(code, result))

    return job.piece(write)


def multiply_piece(
    job: ElementJob, kernel: MultiplyKernel, left: Place, right: Place, result: Place, total: Place | None = None
) -> int:
    """Adds a relinearised product, plus what is in `total`.

    Returns, Raises:
        as `transform_piece`.
    """
    limbs = kernel.level + 1
    key = job.key(RELIN, limbs)
    if job.target.config.montgomery:
        right = _as_multipliers(job, right)

    def write(code: ElementCode) -> None:
        multiply(
            Circuit(code, job.target),
            _source(code, left, PASSING),
            lambda part, i: right.parts[part].at(i),
            limbs,
            key,
            _sink(code, result),
            None if total is None else _source(code, total, PASSING),
        )

    return job.piece(write, fixed=True)


def _as_multipliers(job: ElementJob, place: Place) -> Place:
    """A copy of a ciphertext in the machine's form of multipliers."""
    copy = job.ciphertext("intermediates", place.limbs)

    def write(code: ElementCode) -> None:
        c = Circuit(code, job.target)
        for source, to in zip(place.parts, copy.parts, strict=True):
            for i in range(place.limbs):
                code.store(c.multiplier(code.load(source.at(i), FRONT), i, bank=PASSING), to.at(i))

    job.piece(write)
    return copy


def pairs_piece(job: ElementJob, kernel: PairSumKernel, native: PairSum, bases: Sequence[Place], result: Place) -> int:
    """Adds a sum of products.

    Args:
        native: of the kernel, encoded before memory is filled.
        bases: left ones, then right ones.

    Returns, Raises:
        as `transform_piece`.
    """
    context, plan, level, target = kernel.context, kernel.plan, kernel.level, job.target
    slots = context.params.slots
    limbs = native.output_level + 2
    keys = Keys(
        {int(e): job.key(int(e), int(at) + 1) for e, at in native.required_keys},
        job.key(RELIN, limbs),
        lambda step: int(context.rotation_element(step)),
        int(context.conjugation_element),
    )
    masks: dict[tuple[bool, int, int], Callable[[int], int]] = {}
    number = 0
    for _, pairs in plan.groups:
        for sides in pairs:
            for left, terms in zip((True, False), sides, strict=True):
                rotates = (terms[0][1] - terms[0][2]) % slots != 0
                for t, term in enumerate(terms):
                    if term[3] < 0:
                        continue
                    entries = (*range(level + 1), *(target.specials if rotates else ()))
                    masks[left, number, t] = job.mask(entries, partial(native.mask_limb, left, number, t)).at
            number += 1

    def write(code: ElementCode) -> None:
        sources = [_source(code, place, FRONT) for place in bases]
        pair_sum(
            Circuit(code, target),
            plan,
            level,
            slots,
            (sources[: plan.left_bases], sources[plan.left_bases :]),
            lambda left, pair, term, entry: masks[left, pair, term](entry),
            keys,
            _sink(code, result),
        )

    return job.piece(write)
