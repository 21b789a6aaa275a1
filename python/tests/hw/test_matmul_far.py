# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys in far memory: programs of the matmul accelerator bring them to near memory ahead of their use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ringforge._native import Evaluator, Schedule
from ringforge.devices import KeySet, open_device
from ringforge.hw.machines.matmul.executors import Executor, Interpreted, Simulated
from ringforge.hw.machines.matmul.job import ElementJob, Program
from ringforge.hw.machines.matmul.pieces import multiply_piece, transform_piece
from ringforge.hw.machines.matmul.program import far_bytes
from ringforge.hw.machines.matmul.target import target_of
from ringforge.hw.vector.isa import Opcode, decode
from ringforge.matmul.kernels import MultiplyKernel
from tests.hw.test_matmul_programs import SHAPES, SMALL, World, encoded, same, world

STEPS = (0, 1, 3, 4, 6)


def jobs(w: World, keys: KeySet) -> list[ElementJob]:
    """Elements that have no near memory for keys."""
    target = target_of(SMALL, w.context.params, w.top)
    return [ElementJob(target, number, keys, near_keys=0) for number in range(SMALL.pes)]


def transformed(executor: Executor, device: Any, schedule: Schedule) -> tuple[Program, Any, Any]:
    """A transform's program, its result and the library's; keys come from far memory."""
    w = world(SHAPES[2])
    kernel = w.kernel(STEPS, schedule)
    native, keys, x = encoded(kernel), w.keys(STEPS), w.ciphertext()
    made = jobs(w, KeySet(keys))
    source, result = made[0].ciphertext("input", w.top + 1), made[0].ciphertext("output", w.top)
    transform_piece(made[0], kernel, native, source, result)
    program = Program.of(made[0].target, made, [[source]], result)
    run = executor.run(device, program, executor.load(program), [x])
    return program, native.assemble(x, run.parts), native.run(x, keys)


@pytest.mark.parametrize("schedule", [Schedule.naive, Schedule.hoisted, Schedule.mo, Schedule.bsgs])
def test_transforms_take_keys_from_far_memory(schedule: Schedule) -> None:
    program, result, expected = transformed(Interpreted(), None, schedule)
    assert same(result, expected)
    copied = far_bytes(program.jobs[0].far, program.words[0])
    # Four keys of three digits over eight primes, each taken once.
    assert copied["keys"] == 4 * 2 * 3 * 8 * SMALL.polynomial_bytes(10) == program.traffic["window"].written
    assert program.traffic["keys"].read == 0


def test_pieces_share_the_window() -> None:
    w = world(SHAPES[1])
    relin = w.client.relin_key(w.secret, w.top)
    made, x = jobs(w, KeySet(relin=relin)), w.ciphertext()
    source, result = (made[0].ciphertext(e, w.top + 1) for e in ("input", "output"))
    kernel = MultiplyKernel(w.context, w.top)
    for _ in range(3):
        multiply_piece(made[0], kernel, source, source, result)
    program = Program.of(made[0].target, made, [[source]], result)
    executor = Interpreted()
    parts = executor.run(None, program, executor.load(program), [x]).parts
    evaluator = Evaluator(w.context, 1)
    expected = evaluator.relinearize(evaluator.mul(x, x), relin)
    for part in (0, 1):
        for i, words in enumerate(parts[part]):
            assert np.array_equal(words, expected.limb(part, i))
    assert sum(r.entity == "window" for r in made[0].layout.regions) == 1
    assert sum(i.op is Opcode.COPY for i in decode(program.words[0])) == 3 * 2 * 2 * 9


@pytest.mark.long
def test_transforms_take_keys_from_far_memory_in_rtl() -> None:
    device = open_device("rtl:fame-small")
    program, result, expected = transformed(Simulated(), device, Schedule.mo)
    assert same(result, expected)
    assert sum(i.op is Opcode.COPY for i in decode(program.words[0])) == 4 * 2 * 3 * 8
