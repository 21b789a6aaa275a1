# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Chains of products with keys that each names for itself (method AP), and substitutions, many ciphertexts at a time.

As many ciphertexts as the machine has slots are worked on in turns; rows of keys are loaded ahead as far as there is
room for them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import fhew
from ringforge.devices import Progress
from ringforge.errors import ParameterError
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.gates import Level, checked
from ringforge.hw.machines.psi_wide.layout import Setup, Words, ciphertexts, image
from ringforge.hw.machines.psi_wide.program import Beside, Program
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, load_tables

Indices = npt.NDArray[np.integer[Any]]

#: Bytes of keys that a run may have in memory: chains that need more run in parts.
_KEY_ROOM: Final = 1 << 31


def substitution_setup(config: WideConfig, modulus: int, log_n: int, element: int, cut: fhew.Cut) -> Setup:
    """What substitutions X -> X^element take of a machine.

    Raises:
        ParameterError: it does not take the ring, the element or the gadget, or holds too few rows of keys.
    """
    ring = config.check_ring(modulus, log_n)
    if element % 2 == 0 or not 0 < element < 2 << log_n:
        raise ParameterError(f"an element is an odd number below {2 << log_n}, not {element}: take one that is")
    setup = Setup(ring, [Gadget.of(cut)])
    setup.check(config)
    if config.key_rows < cut.count:
        raise ParameterError(
            f"{config.name} holds {config.key_rows} rows of keys, and the key has {cut.count}: take fewer digits, or "
            "device cpu"
        )
    return setup


class _Batches:
    """Ciphertexts through slots.

    Attributes:
        levels: what each run took.
    """

    def __init__(self, config: WideConfig, setup: Setup, executor: Executor, progress: Progress | None) -> None:
        self.config, self.setup, self.executor, self.progress = config, setup, executor, progress
        self.levels: list[Level] = []

    def begin(self, given: Words) -> tuple[Program, Memory, Words]:
        """A program that loads ciphertexts in Eval order into slots, its memory, and where results will be."""
        memory, program = Memory(self.config), Program()
        load_tables(program, memory, self.setup)
        program.load(memory.put(image(self.config, given), "input"), first=0, count=len(given))
        return program, memory, np.zeros(given.size * self.config.word_bytes // 8, np.uint64)

    def end(self, program: Program, memory: Memory, result: Words, products: int, part: tuple[float, float]) -> Words:
        """Runs it, with the results of all slots stored; `part` is what of the whole it is, for progress."""
        log_n = self.setup.ring.log_n
        count = result.nbytes // self.config.rlwe_bytes(log_n)
        program.store(memory.put(result, "output", writable=True), first=0, count=count)
        tell, (first, last) = self.progress, part

        def progress(fraction: float) -> bool | None:
            return None if tell is None else tell(first + (last - first) * fraction)

        cycles = self.executor.run(self.setup, program, memory, progress)
        self.levels.append(Level(products, cycles, bytes=memory.moved))
        return ciphertexts(self.config, result, log_n)


def chains(
    config: WideConfig,
    key: fhew.EvaluationKey,
    executor: Executor,
    accumulators: Words,
    indices: Indices,
    progress: Progress | None = None,
) -> tuple[Words, list[Level]]:
    """acc <- acc (x) key[index] for each index in turn, but for those that stand for RGSW(1).

    Args:
        key: of method ap.
        accumulators: (count, 2, N), coefficients.
        indices: (count, length), (i d_r + j) B_r + v.

    Raises:
        ParameterError: the machine does not take the key. Error: "cancelled".
        HardwareError: the machine stops with an error.
    """
    p, made = key.params, np.array(accumulators, np.uint64)
    work = _Batches(config, checked(config, p), executor, progress)
    size = (p.a.count + p.b.count) * config.rlwe_bytes(p.log_n)
    ring, out = work.setup.ring, work.setup.ring.forward(made)
    length = max(1, _KEY_ROOM // (size * min(len(out), config.slots) or 1))
    parts = [
        (slice(first, first + config.slots), slice(start, start + length))
        for first in range(0, len(out), config.slots)
        for start in range(0, indices.shape[1], length)
    ]
    for number, (some, steps) in enumerate(parts):
        program, memory, result = work.begin(out[some])
        products = _chain(config, key, program, memory, indices[some, steps])
        out[some] = work.end(program, memory, result, products, (number / len(parts), (number + 1) / len(parts)))
    return ring.inverse(out), work.levels


def _chain(config: WideConfig, key: fhew.EvaluationKey, program: Program, memory: Memory, indices: Indices) -> int:
    """Writes the products of slots, each with its key before it; returns how many."""
    p = key.params
    steps = [(slot, int(index)) for row in indices.T for slot, index in enumerate(row) if index % p.ap_base]
    rows = p.a.count + p.b.count
    size, sets = rows * config.rlwe_bytes(p.log_n), config.key_rows // rows
    used = np.unique(np.array([index for _, index in steps], np.uint32))
    first = memory.put(image(config, _native.fhew.rgsw_rows(key, used)), "keys") if steps else 0
    place = {int(index): first + size * number for number, index in enumerate(used)}

    def fetch(number: int) -> None:
        if number < len(steps):
            program.load(place[steps[number][1]], first=number % sets * rows, count=rows, to_row=True)

    for number in range(sets - 1):
        fetch(number)
    for number, (slot, _) in enumerate(steps):
        fetch(number + sets - 1)
        program.product(slot, row=number % sets * rows, gadgets=(0, 1), target=slot)
    return len(steps)


def substitutions(
    config: WideConfig,
    setup: Setup,
    executor: Executor,
    given: Words,
    element: int,
    rows: Words,
    progress: Progress | None = None,
) -> tuple[Words, list[Level]]:
    """The images of ciphertexts (count, 2, N), coefficients, under X -> X^element, switched back.

    Args:
        setup: `substitution_setup`. rows: of the key, (digits, 2, N), in Eval order.

    Raises:
        Error: "cancelled". HardwareError: the machine stops with an error.
    """
    work = _Batches(config, setup, executor, progress)
    out = setup.ring.forward(np.array(given, np.uint64))
    for first in range(0, len(out), config.slots):
        some = slice(first, first + config.slots)
        program, memory, result = work.begin(out[some])
        program.load(memory.put(image(config, rows), "keys"), first=0, count=len(rows), to_row=True)
        count = len(out[some])
        for slot in range(count):
            program.product(
                slot, element=element, row=0, gadgets=(0,), beside=Beside.B, negate=True, target=slot
            )  # fmt: skip
        out[some] = work.end(program, memory, result, count, (first / len(out), (first + count) / len(out)))
    return setup.ring.inverse(out), work.levels
