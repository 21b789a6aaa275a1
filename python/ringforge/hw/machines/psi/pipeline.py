# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products, substitutions and chains of ciphertexts on one device: what kernels are made of, job by job.

Ciphertexts are (count, 2, N) uint64 in Eval order. A pipeline adds up what its runs take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge._native import fhew
from ringforge.devices import Report
from ringforge.errors import ParameterError
from ringforge.hw.core.small_ring import Gadget, Ring, Words
from ringforge.hw.machines.psi.executors import Executor
from ringforge.hw.machines.psi.job import (
    Job,
    KeyMemory,
    bootstraps_job,
    chains_job,
    products_job,
    substitutions_job,
)
from ringforge.hw.machines.psi.settings import Settings

Rows = npt.NDArray[np.unsignedinteger[Any]]

#: Bytes of keys that one run may have: chains that need more run in parts.
_KEY_ROOM: Final = 1 << 31
#: Ciphertexts of one run of products or substitutions.
_MOST: Final = 1024


def gadget(cut: fhew.Cut) -> Gadget:
    """The library's gadget as the machine's."""
    return Gadget(cut.log_base, cut.count, cut.drop, cut.balanced)


def gate_settings(params: fhew.GateParameters) -> Settings:
    """Of chains of gates: registers but for those of accumulators made on chip."""
    a = gadget(params.a)
    return Settings(params.log_n, params.modulus, a, gadget(params.b), a, bootstrap=True)


class Pipeline:
    """A device's machine at work.

    Args:
        device: with the attribute `config`. executor: runs its jobs.
        settings: of all runs, but for what they say otherwise.
        polled: the host writes commands one by one, instead of a queue.

    Raises:
        ParameterError: the machine does not take the settings.
    """

    def __init__(self, device: Any, executor: Executor, settings: Settings, *, polled: bool = False) -> None:
        settings.check(device.config)
        self.polled = polled
        self.device, self.executor, self.settings = device, executor, settings
        self.config = device.config
        self.ring = Ring.of(settings.q, settings.log_n)
        #: Instructions run.
        self.instructions = 0
        #: Bytes of keys that its runs had in memory, each run's own.
        self.uploaded = 0
        self._seconds, self._bytes = 0.0, dict[str, int]()
        self._cycles: int | None = None

    def run(self, job: Job) -> Words:
        """Results of a job. Raises HardwareError as `Executor.run`."""
        made = self.executor.run(self.device, job.polled() if self.polled else job)
        self.instructions += len(job.instructions)
        self.uploaded += sum(piece.words.nbytes for piece in job.pieces if piece.entity == "keys")
        self._seconds += made.seconds
        if made.cycles is not None:
            self._cycles = (self._cycles or 0) + made.cycles
        for name, moved in made.bytes.items():
            self._bytes[name] = self._bytes.get(name, 0) + moved
        return made.results

    def report(self, operations: Mapping[str, int]) -> Report:
        """What all runs took: by the machine's clock, where it has cycles."""
        name, counts = self.device.name, {**operations, "instruction": self.instructions}
        if self._cycles is None:
            return Report(name, max(self._seconds, 1e-9), bytes=self._bytes, operations=counts)
        clock = self.config.clock_hz
        return Report(name, self._cycles / clock, self._cycles, clock, self._bytes, counts)

    # ---- operations ----

    def products(self, operands: Words, numbers: Sequence[int], keys: Rows, settings: Settings | None = None) -> Words:
        """Each operand times the RGSW ciphertext `keys[number]`, (count, rows, 2, N); by other settings if given."""
        found, settings = [], settings or self.settings
        for first in range(0, len(operands), _MOST):
            some = slice(first, first + _MOST)
            used = sorted(set(numbers[some]))
            memory = KeyMemory(self.config, self.settings.log_n, keys.shape[1])
            memory.put(range(len(used)), keys[used])
            places = [used.index(number) for number in numbers[some]]
            found.append(self.run(products_job(self.config, settings, operands[some], places, memory)))
        return np.concatenate(found) if found else operands

    def substitutions(self, operands: Words, element: int, rows: Rows, cut: Gadget | None = None) -> Words:
        """X -> X^element of each operand, by its key (digits, 2, N), cut as the settings say or otherwise."""
        found, settings = [], replace(self.settings, s=cut or self.settings.s)
        for first in range(0, len(operands), _MOST):
            some = operands[first : first + _MOST]
            job = substitutions_job(self.config, settings, some, [element] * len(some), {element: rows})
            found.append(self.run(job))
        return np.concatenate(found) if found else operands

    def chains(self, accumulators: Words, indices: npt.NDArray[np.integer[Any]], key: fhew.EvaluationKey) -> Words:
        """Chains of products with an AP key, as many interleaved as the loop FIFO holds.

        Args:
            indices: (count, length), (i d_r + j) B_r + v. Products with v = 0, RGSW(1), are run as the published
                machine does, where digits hold all of a residue; else they would round, and are left out.

        Raises:
            ParameterError: a key is out of the instructions' reach.
        """
        skipped = self.settings.a.drop > 0 or self.settings.b.drop > 0
        out = np.array(accumulators)
        for first in range(0, len(accumulators), self.config.loop_slots):
            group = np.arange(first, min(first + self.config.loop_slots, len(accumulators)))
            length = self._length(len(group))
            for start in range(0, indices.shape[1], length):
                part = indices[group, start : start + length]
                lists = [[int(x) for x in row if not skipped or x % key.params.ap_base] for row in part]
                at = [g for g, numbers in zip(group, lists, strict=True) if numbers]
                if at:
                    chosen = [numbers for numbers in lists if numbers]
                    job = chains_job(self.config, self.settings, out[at], chosen, self.keys(key, chosen))
                    out[at] = self.run(job)
        return out

    def bootstraps(
        self,
        gates: Sequence[int],
        bodies: Sequence[int],
        indices: npt.NDArray[np.integer[Any]],
        key: fhew.EvaluationKey,
    ) -> Words:
        """Chains as `chains`, RGSW(1) included, of accumulators that the machine makes of gates and bodies.

        Raises:
            ParameterError: digits that leave bits out, where RGSW(1) would round; or as `bootstraps_job`.
        """
        if self.settings.a.drop or self.settings.b.drop:
            raise ParameterError(
                "digits that leave bits out round in products with RGSW(1): make accumulators on the host"
            )
        found = []
        for first in range(0, len(gates), self.config.loop_slots):
            some = slice(first, first + self.config.loop_slots)
            numbers = [[int(x) for x in row] for row in indices[some]]
            job = bootstraps_job(
                self.config, self.settings, gates[some], bodies[some], numbers, self.keys(key, numbers)
            )
            found.append(self.run(job))
        return np.concatenate(found)

    def keys(self, key: fhew.EvaluationKey, numbers: Sequence[Sequence[int]]) -> KeyMemory:
        """Memory with the RGSW ciphertexts that chains name, and no others."""
        used = np.unique(np.concatenate([np.asarray(row, np.uint32) for row in numbers]))
        memory = KeyMemory(self.config, self.settings.log_n, self.settings.a.count + self.settings.b.count)
        for first in range(0, len(used), 64):
            some = used[first : first + 64]
            memory.put(some.tolist(), fhew.rgsw_rows(key, np.ascontiguousarray(some)))
        return memory

    def _length(self, chains: int) -> int:
        """Products of each chain in one run, so that keys fit the host's memory."""
        each = self.config.key_bytes(self.settings.log_n, self.settings.a.count + self.settings.b.count)
        return max(2, int(_KEY_ROOM // (each * chains)))
