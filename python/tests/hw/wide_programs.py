# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random programs of the streaming accelerator, over memory that they can be run on twice."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from ringforge.hw.core.small_ring import Gadget, Ring
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup, Words, cells, image, plain
from ringforge.hw.machines.psi_wide.program import Beside, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Memory, load_tables

#: Gadgets that cover 27 bits: balanced and plain ones, with low bits left out, one digit alone.
GADGETS = [
    Gadget(9, 3), Gadget(9, 3, 0, False), Gadget(8, 2, 11), Gadget(11, 1, 16), Gadget(14, 2), Gadget(6, 2, 15),
    Gadget(7, 4, 0, False),
]  # fmt: skip


@dataclass
class Case:
    """A program with its memory, and where its results come to lie."""

    setup: Setup
    program: Program
    memory: Memory
    result: Words


def case(config: WideConfig, q: int, log_n: int, seed: int, length: int) -> Case:
    """So many random instructions between loads of everything and stores of everything."""
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    ring = Ring.of(q, log_n)
    setup = Setup(ring, GADGETS, rng.randrange(q))
    memory, program = Memory(config), Program()
    load_tables(program, memory, setup)
    slots, rows = 6, 20

    def residues(count: int) -> Words:
        values = draw.integers(0, q, (count, 2, ring.degree), np.uint64)
        extreme = draw.random(values.shape) < 0.05
        values[extreme] = draw.choice(np.array([0, 1, q - 1, q // 2, q // 2 + 1], np.uint64), int(extreme.sum()))
        return values

    pool = memory.put(image(config, residues(slots + rows)))
    size = config.rlwe_bytes(log_n)
    scratch = memory.reserve(slots * size)
    program.load(pool, first=0, count=slots)
    program.load(pool + slots * size, first=0, count=rows, to_row=True)

    def gathered() -> dict[str, object]:
        return {
            "s2": rng.randrange(slots), "take": rng.choice(list(Take)), "times": rng.choice(list(Times)),
            "element": rng.choice((1, 1, 2 * rng.randrange(ring.degree) + 1)), "power": rng.randrange(2 * ring.degree),
        }  # fmt: skip

    for _ in range(length):
        kind, slot = rng.random(), rng.randrange(slots)
        init = rng.choice((None, rng.randrange(slots)))
        to_row = rng.random() < 0.2
        target = rng.randrange(rows if to_row else slots)
        if kind < 0.5:
            both = rng.random() < 0.5
            program.product(
                rng.randrange(slots), row=rng.randrange(8),
                gadgets=tuple(rng.randrange(len(GADGETS)) for _ in range(1 + both)), target=target, to_row=to_row,
                init=init, beside=Beside.NONE if both else rng.choice(list(Beside)), negate=rng.random() < 0.5,
                **gathered(),
            )  # fmt: skip
        elif kind < 0.7:
            values = gathered()
            if not to_row and target in (slot, values["s2"]):
                values["element"] = 1
            program.linear(slot, target=target, to_row=to_row, **values)
        elif kind < 0.75:
            count = rng.randrange(1, 8)
            numbers = draw.integers(0, 1 << 16, (count, ring.degree))
            program.plain(
                memory.put(plain(config, numbers)), count=count, row=rng.randrange(rows - count), target=slot, init=init
            )
        elif kind < 0.8:
            count = rng.choice((1, 2, rng.randrange(1, 40)))
            powers = [rng.randrange(2 * ring.degree) for _ in range(count)]
            address = memory.put(cells(log_n, powers, [rng.randrange(5) for _ in range(count)]))
            program.cells(address, count=count, row=rng.randrange(rows - 5), rows=5, target=slot, init=init)
        elif kind < 0.9:
            program.load(
                pool + rng.randrange(slots + rows - 1) * size, first=rng.randrange(slots - 1), count=2,
                to_row=rng.random() < 0.5,
            )  # fmt: skip
        else:
            program.store(scratch + slot * size, first=slot)
            if rng.random() < 0.5:
                program.load(scratch + slot * size, first=rng.randrange(slots), fence=True)
    result = np.zeros(slots * size // 8, np.uint64)
    program.store(memory.put(result, writable=True), first=0, count=slots)
    return Case(setup, program, memory, result)


def with_monomials(config: WideConfig, q: int, log_n: int, rows: list[int]) -> Case:
    """An empty case, and behind it a sum of monomials that name these key rows, of the first two, and its store."""
    given = case(config, q, log_n, 1, 0)
    rng, last = random.Random(len(rows)), given.program.instructions.pop()
    powers = [rng.randrange(1 << 16) for _ in rows]
    address = given.memory.put(cells(log_n, powers, rows))
    given.program.cells(address, count=len(rows), row=0, rows=2, target=0)
    given.program.instructions.append(last)
    return given
