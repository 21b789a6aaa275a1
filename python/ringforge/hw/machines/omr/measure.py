# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rotations and matrix x vector products of any size on the omr machine, beside the library's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys, TestSeed
from ringforge._native.bfv import Client, Context, Evaluator, Parameters
from ringforge._native.kernels import primes_below
from ringforge.errors import HardwareError
from ringforge.hw.machines.omr import replica
from ringforge.hw.machines.omr.affine import Diagonals, Giants, Job, babies, galois_key, giants
from ringforge.hw.machines.omr.config import MONTGOMERY_STEP, OmrConfig
from ringforge.hw.machines.omr.cost import Sum
from ringforge.hw.machines.omr.layout import Target
from ringforge.hw.machines.omr.program import Unit
from ringforge.hw.machines.omr.runner import Executor, Run
from ringforge.hw.machines.omr.running import words_of
from ringforge.omr.kernels import AffineShape

Words = npt.NDArray[np.uint64]

#: What to do where a product of full size does not fit.
_SMALLER: Final = "take fewer --outputs, --method ringforge, or fewer --limbs"
#: Plaintext modulus of the sets for detection.
PLAIN: Final = 786_433
_SEED: Final = bytes([17]) * 32


@dataclass(frozen=True)
class Size:
    """A ring and its primes.

    Attributes:
        log_n: log2 of the degree. limbs, special: primes of Q and P. digit: limbs of a digit. bits: of a prime; the
            machine's words if 0.
    """

    log_n: int
    limbs: int
    special: int
    digit: int
    bits: int = 0

    def context(self, config: OmrConfig) -> Context:
        """BFV parameters of this size with primes that the machine takes.

        Raises:
            ParameterError: there are none.
        """
        step = max(2 << self.log_n, MONTGOMERY_STEP if config.montgomery else 1)
        bits = self.bits or min(config.word_bits, 60)
        primes = [int(q) for q in primes_below(bits, self.limbs + self.special, step)]
        q, p = primes[self.special :], primes[: self.special]
        return Context(Parameters("measured", self.log_n, PLAIN, q, p, self.digit, "a measurement"))


def size_of(config: OmrConfig) -> Size:
    """What is measured where nothing is said: the paper's ring where it fits, else a small one."""
    if config.max_log_n < 16:
        return Size(10, 6, 3, 3)
    return Size(16, 19, 10, 10) if config.word_bits >= 60 else Size(16, 24, 12, 12, 49)


def target_of(config: OmrConfig, context: Context) -> Target:
    """A context's ring, with all limbs.

    Raises:
        ParameterError: the machine cannot hold it.
    """
    p = context.params
    target = Target(config, p.log_n, tuple(p.q), tuple(p.p), p.limbs_per_digit)
    target.check_rotations()
    return target


@dataclass(frozen=True)
class Measured:
    """What was run.

    Attributes:
        cycles: of all programs. busy: cycles of units, as far as they are counted. words: compared with the library's.
        rotations: of ciphertexts.
    """

    cycles: int
    busy: dict[str, int]
    words: int
    rotations: int


def _compared(job: Job, target: Target, want: Sequence[Callable[[int, int], Words]]) -> int:
    """Holds results against the library's.

    Raises:
        HardwareError: a word differs.
    """
    words = 0
    for number, (pair, limb) in enumerate(zip(job.limbs(target), want, strict=True)):
        for part in (0, 1):
            for i in range(target.limbs):
                differing = int((pair[part][i] != limb(part, i)).sum())
                if differing:
                    raise HardwareError(
                        f"result {number}, part {part}, limb {i}: {differing} words differ from the library's"
                    )
                words += 1 << target.log_n
    return words


def rotation(config: OmrConfig, executor: Executor, size: Size, count: int = 1) -> Measured:
    """A chain of rotations by a step each.

    Raises:
        HardwareError: the machine stops with an error, or a word differs from the library's.
    """
    context, rng = size.context(config), np.random.default_rng(1)
    client = Client(context, TestSeed(_SEED))
    secret, keys = client.secret_key(), GaloisKeys()
    keys.insert(client.galois_key(secret, 5))
    given = client.encrypt(context.encode(rng.integers(0, PLAIN, context.params.degree)), secret)
    target = target_of(config, context)
    job = babies(target, galois_key(target, keys, 5), words_of(given.limb, target), count)
    run, want, evaluator = executor.run(job.program, job.memory), [], Evaluator(context)
    for _ in range(count):
        given = evaluator.apply_galois(given, 5, keys)
        want.append(given.limb)
    return Measured(run.cycles or 0, dict(run.busy), _compared(job, target, want), count)


def matmul(config: OmrConfig, executor: Executor, size: Size, shape: Sum, method: str) -> list[Measured]:
    """Rotations of a key, then a bulletin's giant steps, on random signals; by the two kernels' programs.

    Raises:
        HardwareError: the machine stops with an error, or a word differs from the library's.
    """
    context, rng = size.context(config), np.random.default_rng(1)
    degree = context.params.degree
    affine = AffineShape(context, shape.terms, shape.outputs, shape.baby, method, size.limbs)
    layout, native = affine.layout, affine.native
    client = Client(context, TestSeed(_SEED))
    secret, keys = client.secret_key(), GaloisKeys()
    for element in {native.baby_element, native.giant_element}:
        keys.insert(client.galois_key(secret, element))
    slots = np.asarray(layout.key_slots(rng.integers(0, PLAIN, shape.terms).astype(np.uint32)))
    given = client.encrypt(context.encode(slots.astype(np.int64)), secret)
    signals = rng.integers(0, PLAIN, (degree, shape.terms)).astype(np.uint32)
    packed = [np.asarray(layout.encode(signals, g)) for g in range(layout.giants)]
    target, found = target_of(config, context), []

    made = native.babies(given, keys)
    turns = len(made) - 1
    job = babies(target, galois_key(target, keys, native.baby_element), words_of(given.limb, target), turns)
    run = executor.run(job.program, job.memory)
    want = [partial(made.limb, at) for at in range(1, len(made))]
    found.append(Measured(run.cycles or 0, dict(run.busy), _compared(job, target, want), turns))

    rotations = np.stack([words_of(partial(made.limb, at), target) for at in range(len(made))])
    diagonals = Diagonals.of(target, packed, PLAIN, layout.matrices)
    needs = Giants(galois_key(target, keys, native.giant_element), native.giant_element, shape.outputs, shape.baby)
    job = giants(target, needs, diagonals, rotations, _SMALLER)
    run = executor.run(job.program, job.memory)
    outputs = native.run(made, 0, packed, keys)
    words = _compared(job, target, [c.limb for c in outputs])
    found.append(Measured(run.cycles or 0, dict(run.busy), words, shape.outputs * (layout.giants - 1)))
    return found


def planned(config: OmrConfig, size: Size, shape: Sum, method: str) -> list[Measured]:
    """The programs of `matmul` by the model, without words."""
    target = target_of(config, size.context(config))
    shared = shape.outputs if method == "ringforge" else 1
    matrices = 1 if method == "ringforge" else shape.outputs
    turns = shape.baby + shared - 2
    counts = [min(shape.baby, shape.terms - g * shape.baby) for g in range(shape.giant) for _ in range(matrices)]
    element = pow(5, shape.baby, 2 << size.log_n)
    needs = Giants(None, element, shape.outputs, shape.baby)
    jobs = (
        (babies(target, None, None, turns), turns),
        (giants(target, needs, Diagonals(counts, matrices), None, _SMALLER), shape.outputs * (shape.giant - 1)),
    )
    return [_timed(config, job, rotations) for job, rotations in jobs]


def planned_rotation(config: OmrConfig, size: Size, count: int = 1) -> Measured:
    """The program of `rotation` by the model, without words."""
    target = target_of(config, size.context(config))
    return _timed(config, babies(target, None, None, count), count)


def _timed(config: OmrConfig, job: Job, rotations: int) -> Measured:
    timed = replica.run(config, job.program)
    busy = {unit.name: timed.busy[unit] for unit in (Unit.XFORM, Unit.CONV, Unit.KMAC, Unit.SUM)}
    return Measured(timed.cycles, busy, 0, rotations)


def shares(run: Run | Measured) -> dict[str, float]:
    """Of a run's cycles, by unit."""
    return {name: cycles / (run.cycles or 1) for name, cycles in run.busy.items()}
