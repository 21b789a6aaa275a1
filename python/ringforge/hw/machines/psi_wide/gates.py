# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Blind rotations by the method of GINX on the streaming accelerator, several gates at a time.

A rotation is a chain of acc <- acc + (X^r - 1) acc (x) RGSW(s_i), one product for each number of the LWE key, two for a
ternary key. Gates are interleaved: every key is loaded once and used by all of them before the next one, and while one
gate's product is on its way the others fill the pipeline. The host makes the first accumulators, and does extraction
and key switch; the key's rows lie in memory in the order in which they are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import fhew
from ringforge.errors import MissingKeyError, ParameterError
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup, Words, ciphertexts, image
from ringforge.hw.machines.psi_wide.program import Op, Program, Times
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, load_tables


@dataclass(frozen=True)
class Level:
    """What a rotation of a batch took.

    Attributes:
        products: of all gates.
        cycles: from start to end; None where nothing counts them.
        key_bytes: of the keys that the program loads.
        bytes: that the machine moved, by what they are of; empty where nothing counts them.
    """

    products: int
    cycles: int | None
    key_bytes: int = 0
    bytes: Mapping[str, int] = field(default_factory=dict)


def checked(config: WideConfig, params: fhew.GateParameters) -> Setup:
    """What products with a set's keys take of a machine.

    Raises:
        ParameterError: it does not take the ring or the gadgets, or does not hold two keys.
    """
    ring = config.check_ring(params.modulus, params.log_n)
    setup = Setup(ring, [Gadget.of(params.a), Gadget.of(params.b)])
    setup.check(config)
    rows = params.a.count + params.b.count
    if config.key_rows < 2 * rows:
        raise ParameterError(
            f"{config.name} holds {config.key_rows} rows of keys, and two keys of {rows} are needed: take a set with "
            "fewer digits, or device cpu"
        )
    return setup


class GinxMachine:
    """An evaluation key of method ginx in a machine's memory; threads may share it.

    Args:
        config: the machine.
        key: the evaluation key.
        steps: of the chain, from the first on; None: all.

    Raises:
        MissingKeyError: the key is of another method.
        ParameterError: as `checked`.
    """

    def __init__(self, config: WideConfig, key: fhew.EvaluationKey, *, steps: int | None = None) -> None:
        if key.method != fhew.Method.GINX:
            raise MissingKeyError("the machine runs gates with an evaluation key of method ginx: make one with it")
        p = key.params
        self.config, self.params, self.setup = config, p, checked(config, p)
        self.ring = self.setup.ring
        self.rows = p.a.count + p.b.count
        self.each = 2 if p.ternary else 1
        self.steps = p.n if steps is None else steps
        indices = np.arange(self.steps * self.each, dtype=np.uint32)
        self.keys = image(config, _native.fhew.rgsw_rows(key, indices))

    @property
    def batch(self) -> int:
        """Gates that a run interleaves, at most."""
        return self.config.slots

    def rotate(
        self,
        executor: Executor,
        accumulators: npt.NDArray[np.unsignedinteger],
        exponents: npt.NDArray[np.uint32],
    ) -> list[Level]:
        """Turns accumulators (count, 2, N), coefficients, in place, by exponents (count, n + 1) of the LWE ciphertexts.

        Args:
            executor: what runs programs.

        Returns:
            what each batch took.

        Raises:
            HardwareError: the machine stops with an error.
        """
        levels = []
        for first in range(0, len(accumulators), self.batch):
            some = slice(first, first + self.batch)
            turned, level = self._batch(
                executor, self.ring.forward(accumulators[some].astype(np.uint64)), exponents[some]
            )
            accumulators[some] = turned
            levels.append(level)
        return levels

    def _batch(self, executor: Executor, accumulators: Words, exponents: npt.NDArray[np.uint32]) -> tuple[Words, Level]:
        count, log_n = len(accumulators), self.ring.log_n
        memory, program = Memory(self.config), Program()
        load_tables(program, memory, self.setup)
        keys = memory.put(self.keys, "keys")
        source = memory.put(image(self.config, accumulators), "input")
        result = np.zeros(accumulators.size * self.config.word_bytes // 8, np.uint64)
        target = memory.put(result, "output", writable=True)
        program.load(source, first=0, count=count)
        products = self._chain(program, self._turns(exponents), keys)
        program.store(target, first=0, count=count)
        rows = sum(i.s1 for i in program.instructions if i.op is Op.LOAD and i.to_row)
        cycles = executor.run(self.setup, program, memory)
        level = Level(products, cycles, rows * self.config.rlwe_bytes(log_n), memory.moved)
        return self.ring.inverse(ciphertexts(self.config, result, log_n)), level

    def _turns(self, exponents: npt.NDArray[np.uint32]) -> list[list[int]]:
        """r of every product: for each key in turn, for each gate; 0 where nothing turns."""
        order = 2 * self.ring.degree
        turns = exponents[:, : self.steps].astype(np.int64).T * (order // self.params.rotation_modulus)
        both = np.stack([-turns % order, turns % order][: self.each], 1)
        return [[int(r) for r in row] for row in both.reshape(-1, len(exponents))]

    def _chain(self, program: Program, turns: Sequence[Sequence[int]], keys: int) -> int:
        """The products, with the keys ahead of their use; returns how many."""
        sets = self.config.key_rows // self.rows
        size = self.rows * self.config.rlwe_bytes(self.ring.log_n)
        ahead = max(1, sets - 2)
        products = 0

        def fetch(number: int) -> None:
            if number < len(turns) and any(turns[number]):
                program.load(keys + number * size, first=number % sets * self.rows, count=self.rows, to_row=True)

        for number in range(ahead):
            fetch(number)
        for number, row in enumerate(turns):
            used = [gate for gate, r in enumerate(row) if r]
            # With two sets only, a key follows when the products of the one before it have left the pipeline.
            late = 0 if sets > 2 else max(len(used) - 1, 0)
            for done, gate in enumerate(used):
                if done == late:
                    fetch(number + ahead)
                program.product(
                    gate, row=number % sets * self.rows, gadgets=(0, 1), init=gate, target=gate, power=row[gate],
                    times=Times.POWER_LESS,
                )  # fmt: skip
            if not used:
                fetch(number + ahead)
            products += len(used)
        return products
