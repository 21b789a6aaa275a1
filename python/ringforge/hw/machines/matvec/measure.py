# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles measured on the simulated machine: primitives on one residue polynomial, and rotations.

A primitive's cycles are the most frequent difference between programs that execute the instruction n and n + 1 times,
each after the one before is done: what it takes, issue and pipeline included (the paper's Table VI).
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ringforge import _native
from ringforge._native import kernels
from ringforge.errors import HardwareError
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.rotations import butterfly_bound, compile_rotations
from ringforge.hw.vector import constants
from ringforge.hw.vector.isa import Instruction, encode, slot

_DATA, _PROGRAM = 0x10000000, 0x40000000
_REPEATS = 6


def primitives(config: MatvecConfig, log_n: int) -> dict[str, Instruction]:
    """One instruction of each kind, by name, on slots that `primitive_cycles` fills."""
    s = _slots(config, log_n)
    table = slot(7, 0)
    i = Instruction
    return {
        "NTT": i.ntt(s(0, 0), s(0, 0), table, 0),
        "INTT": i.intt(s(0, 0), s(0, 0), table, 0),
        "automorphism": i.auto(s(1, 0), s(0, 0), 5),
        "element-wise": i.mac(s(2, 0), s(1, 0), 0, imm=3, c=s(2, 0), post_add=True),
    }


def _slots(config: MatvecConfig, log_n: int) -> Callable[[int, int], int]:
    rows = config.rows(log_n)
    return lambda bank, index: slot(bank, index * rows)


def primitive_cycles(sim: Simulation[MatvecConfig], log_n: int, bits: int = 50) -> dict[str, int]:
    """Cycles that each primitive adds to a program on one element."""
    config = sim.config
    prime = kernels.primes_below(bits, 1, 1 << 18)[0]
    shift, s = config.shift(bits), _slots(config, log_n)
    i = Instruction
    setup = [
        i.conf(log_n, shift),
        i.modulus(0, prime << shift, constants.multiplier_constant(config, prime)),
        i.load(slot(7, 0), _DATA),
        *(i.load(s(bank, 0), _DATA) for bank in range(3)),
    ]
    wait = i.conf(log_n, shift)  # until every unit is idle
    table = constants.twiddles(config, prime, log_n).copy()

    def run(program: list[Instruction]) -> int:
        end = encode([i.end()])
        image, stride = place_programs([encode([*program, i.end()]), *[end] * (config.elements - 1)])
        sim.unmap_all()
        sim.map(_DATA, table)
        sim.map(_PROGRAM, image)
        return sim.run(_PROGRAM, stride, limit=10_000_000)

    out = {}
    for name, one in primitives(config, log_n).items():
        totals = [run([*setup, *[wait, one] * repeats]) for repeats in range(1, _REPEATS + 1)]
        # Now and then an instruction waits for the fetch: the most frequent difference is its own.
        out[name] = statistics.mode(later - earlier for earlier, later in itertools.pairwise(totals))
    return out


@dataclass(frozen=True)
class RotationRate:
    """A chain of rotations on one group.

    Attributes:
        limbs: limbs of Q in each key switch.
        count: rotations.
        cycles: from the start write to done; loading the input, storing the result and reading programs included.
        bound: cycles per rotation that the group's butterflies need at least.
        exact: every residue equals the library's rotations.
    """

    limbs: int
    count: int
    cycles: int
    bound: float
    exact: bool

    @property
    def utilisation(self) -> float:
        """Share of the bound that is reached."""
        return self.count * self.bound / self.cycles


def rotation_rates(
    sim: Simulation[MatvecConfig], params: _native.Parameters, level: int, counts: tuple[int, ...]
) -> Iterator[RotationRate]:
    """Measures chains of rotations by 1, 2, 3, ... slots, each with a key of its own from memory.

    Raises:
        HardwareError: the machine's result differs from the library's.
    """
    context = _native.Context(params)
    client = _native.Client(context)
    secret = client.secret_key()
    keys = _native.GaloisKeys()
    elements = [context.rotation_element(k + 1) for k in range(max(counts))]
    for e in elements:
        keys.insert(client.galois_key(secret, e, level))
    values = np.random.default_rng(7).uniform(-1, 1, params.slots).astype(complex)
    ciphertext = client.encrypt(context.encode(values, 2.0**params.log_scale, level), secret)
    evaluator = _native.Evaluator(context)
    for count in counts:
        compiled = compile_rotations(sim.config, params, level, elements[:count])
        sim.unmap_all()
        for address, words in compiled.memory(ciphertext, keys):
            sim.map(address, np.ascontiguousarray(words))
        results = {a: np.zeros(params.degree, np.uint64) for row in compiled.output for a in row}
        for address, words in results.items():
            sim.map(address, words)
        cycles = sim.run(compiled.base, compiled.stride)
        expected = ciphertext
        for k in range(count):
            expected = evaluator.rotate(expected, k + 1, keys)
        exact = all(
            np.array_equal(results[a], expected.limb(part, limb))
            for part, row in enumerate(compiled.output)
            for limb, a in enumerate(row)
        )
        if not exact:
            raise HardwareError(f"{count} rotations on machine {sim.config.name} differ from the library's")
        yield RotationRate(level + 1, count, cycles, butterfly_bound(sim.config, params.log_n, level + 1), exact)
