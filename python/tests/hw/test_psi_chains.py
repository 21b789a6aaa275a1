# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Chains of products on the simulated FHEW accelerator at the published sets, against the library's C++ kernels."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge import gates
from ringforge._native import kernels
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.small_ring import Gadget, Words
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.job import Job, KeyMemory, bootstraps_job
from ringforge.hw.machines.psi.layout import ciphertexts
from ringforge.hw.machines.psi.settings import Settings, bounds

#: RGSW ciphertexts that chains draw from.
KEYS = 8
SETS = {
    "paper-medium": "psi-27", "paper-std128-ap": "psi-27", "paper-std256q": "psi-27",
    "paper-std192": "psi-37", "paper-std256": "psi-37", "paper-std192q": "psi-37",
}  # fmt: skip


def settings_of(name: str) -> Settings:
    """Registers for chains of a set of gates."""
    p = gates.parameters(name, "arithmetic alone")
    a, b = (Gadget(c.log_base, c.count, c.drop, c.balanced) for c in (p.a, p.b))
    return Settings(p.log_n, p.modulus, a, b, a, bootstrap=True, log_lwe=p.log_q, bounds=bounds(p.log_q))


def by_kernels(s: Settings, gate: int, body: int, keys: Words, chain: list[int]) -> Words:
    """An accumulator of a gate and its products, by the reference set of kernels: (2, N) in Eval order."""
    n, q, word = 1 << s.log_n, s.q, 32 if s.q < 1 << 31 else 64
    modulus, one = 1 << s.log_lwe, s.q // 8 + 1
    b = np.zeros(n, np.uint64)
    for i in range(modulus // 2):
        b[i * (2 * n // modulus)] = q - one if (body - s.bounds[gate] - i) % modulus < modulus // 2 else one
    halves = [np.zeros(n, np.uint64), b]
    cut = (s.a.log_base, s.a.count, s.a.drop, s.a.balanced)
    for turn, number in enumerate(chain):
        if turn:
            halves = [kernels.small_inverse("ref", x, q, word) for x in halves]
        halves = list(kernels.small_gadget_product("ref", halves, keys[number].reshape(-1), *cut, q, word))
    return np.stack(halves)


def chains(config: PsiConfig, s: Settings, count: int, length: int, seed: int) -> tuple[Job, Words]:
    """A run of so many chains, interleaved, and what must come out."""
    rng = np.random.default_rng(seed)
    rows = s.a.count + s.b.count
    keys = rng.integers(0, s.q, (KEYS, rows, 2, 1 << s.log_n), np.uint64)
    memory = KeyMemory(config, s.log_n, rows)
    memory.put(range(KEYS), keys)
    kinds = [k % 6 for k in range(count)]
    bodies = rng.integers(0, 1 << s.log_lwe, count).tolist()
    numbers = rng.integers(0, KEYS, (count, length)).tolist()
    job = bootstraps_job(config, s, kinds, bodies, numbers, memory)
    wanted = [by_kernels(s, *one) for one in zip(kinds, bodies, [keys] * count, numbers, strict=True)]
    return job, np.stack(wanted)


def run(sim: Simulation[PsiConfig], job: Job) -> tuple[Words, int]:
    """Its results, (count, 2, N) in Eval order, and the cycles."""
    output = np.zeros((job.results, job.stride // 8), np.uint64)
    sim.unmap_all()
    for piece in (job.queue, *job.pieces):
        sim.map(piece.address, np.ascontiguousarray(piece.words))
    sim.map(job.output, output)
    for address, value in job.settings.registers(job.config).items():
        sim.write(address, value)
    cycles = sim.run(job.queue.address)
    return ciphertexts(output[:, : 2 << job.settings.log_n]), cycles


def test_chains_on_the_small_machine(machines) -> None:
    sim = machines("psi-small")
    s = settings_of("gates-toy")
    job, wanted = chains(sim.config, s, 5, 4, seed=1)
    assert np.array_equal(run(sim, job)[0], wanted)


def each_product(sim: Simulation[PsiConfig], s: Settings) -> float:
    """Cycles of a product when the pipeline is full: what 16 more of each of twelve chains take."""
    longer, shorter = (run(sim, chains(sim.config, s, 12, length, seed=3)[0])[1] for length in (24, 8))
    return (longer - shorter) / (12 * 16)


@pytest.mark.long
@pytest.mark.parametrize("lean", ["", "-lean"])
@pytest.mark.parametrize("name", SETS)
def test_published_sets(name: str, lean: str) -> None:
    """Eight accumulators, which fill the pipeline, 64 products each: equal to the CPU's in every word.

    A polynomial takes N/4 + 13 cycles, on the lean machine N/4 + 8 at most.
    """
    config = PsiConfig.named(SETS[name] + lean)
    s = settings_of(name)
    job, wanted = chains(config, s, 8, 64, seed=2)
    with Simulation(config) as sim:
        got, _ = run(sim, job)
        each = each_product(sim, s)
    assert np.array_equal(got, wanted)
    quarter = (1 << s.log_n) // 4
    assert each <= (s.a.count + s.b.count) * (quarter + (8 if lean else 13))
