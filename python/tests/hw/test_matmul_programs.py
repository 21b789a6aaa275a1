# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs of linear transforms for the matmul accelerator, run by the reference interpreter.

The oracles are Python's integers for conversions between bases, and the library's transforms for ciphertexts.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest

from ringforge import _native, params
from ringforge._native import Diagonals, Schedule
from ringforge.errors import LevelError, ParameterError
from ringforge.hw.machines.matmul.bounds import alu_rows, bounds
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.convert import Limb, conversion_count, converted, mixed_digits
from ringforge.hw.machines.matmul.layout import ElementLayout
from ringforge.hw.machines.matmul.memory import ElementMemory
from ringforge.hw.machines.matmul.program import CompiledHlt, assemble_element, compile_hlt, traffic
from ringforge.hw.machines.matmul.target import DIGITS, FIRST, SECOND, TURNED, limit, target_of
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.ir import ElementCode
from ringforge.hw.vector.isa import Instruction, Opcode, Scope, decode, encode
from ringforge.hw.vector.target import Target
from ringforge.matmul.kernels import HltKernel

SMALL = FameConfig.named("fame-small")
SCALE = 2.0**40
#: Limbs of Q, special primes, limbs of a digit: one digit, two, and three.
SHAPES = ((5, 5, 5), (6, 3, 3), (6, 2, 2))
#: Digits of one limb.
SINGLE = (4, 1, 1)


# ---- a world of small parameters ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class World:
    """Parameters of one shape with their keys."""

    context: Any
    client: Any
    secret: Any

    @property
    def top(self) -> int:
        return len(self.context.params.q) - 1

    def kernel(self, steps: Sequence[int], schedule: Schedule, level: int | None = None) -> HltKernel:
        """A transform with random diagonals."""
        rng, slots, count = np.random.default_rng(len(steps)), self.context.params.slots, len(steps)
        targets = np.tile(np.arange(slots, dtype=np.uint32), count)
        values: Any = (rng.uniform(-1, 1, targets.size) + 1j * rng.uniform(-1, 1, targets.size)) / 8
        offsets = np.arange(count + 1, dtype=np.uint64) * np.uint64(slots)
        diagonals = Diagonals(slots, np.array(steps, np.uint32), offsets, targets, values)
        at = self.top if level is None else level
        return HltKernel(self.context, diagonals, at, schedule, np.zeros(count, np.uint32), SCALE, SCALE, 1.0)

    def keys(self, steps: Sequence[int], level: int | None = None) -> Any:
        """Galois keys for rotations."""
        keys = _native.GaloisKeys()
        for step in {*steps} - {0}:
            element = self.context.rotation_element(step)
            keys.insert(self.client.galois_key(self.secret, element, self.top if level is None else level))
        return keys

    def ciphertext(self, level: int | None = None) -> Any:
        """An encryption of random slots."""
        slots = np.random.default_rng(1).uniform(-0.5, 0.5, self.context.params.slots) + 0j
        plaintext = self.context.encode(slots, SCALE, self.top if level is None else level)
        return self.client.encrypt(plaintext, self.secret, 1.0)


@functools.cache
def world(shape: tuple[int, int, int], log_n: int = 10) -> World:
    limbs, specials, alpha = shape
    primes = _native.kernels.primes_below(50, limbs + specials, 1 << 18)
    parameters = _native.Parameters("", log_n, primes[:limbs], primes[limbs:], alpha, 40.0, "tests of programs")
    context = _native.Context(parameters)
    client = _native.Client(context, _native.TestSeed(bytes(32)))
    return World(context, client, client.secret_key())


class CountingMemory(ElementMemory):
    """Counts polynomials that are read and written, by entity."""

    def __init__(self, compiled: CompiledHlt) -> None:
        super().__init__(compiled.placed.target.config)  # type: ignore[arg-type]
        self.entity = compiled.layout.entity
        self.read: Counter[str] = Counter()
        self.written: Counter[str] = Counter()

    def read_polynomial(self, element: int, address: int, log_n: int) -> Any:
        self.read[self.entity(address)] += 1
        return super().read_polynomial(element, address, log_n)

    def write_polynomial(self, element: int, address: int, words: Any) -> None:
        self.written[self.entity(address)] += 1
        super().write_polynomial(element, address, words)


def run(compiled: CompiledHlt, native: Any, keys: Any, ciphertext: Any, element: int = 0) -> tuple[Any, CountingMemory]:
    """The result of a program, and the memory it ran on."""
    memory, log_n = CountingMemory(compiled), compiled.placed.target.log_n
    for address, words in (*compiled.prepared(native, keys), *compiled.loaded(ciphertext)):
        memory.near[element].put(address, words)
    for address, words in compiled.prepared(native, keys, far=True):
        memory.far[element].put(address, words)
    machine = Interpreter(compiled.placed.target.config, memory, _native.kernels.active())
    machine.run(compiled.programs(element))
    parts = compiled.results(lambda address: memory.near[element].get(address, 1 << log_n))
    return native.assemble(ciphertext, parts), memory


def encoded(kernel: HltKernel) -> Any:
    native = kernel.native()
    native.encode(kernel.input_scale, kernel.output_scale, kernel.input_bound)
    return native


def same(a: Any, b: Any) -> bool:
    return a.level == b.level and all(
        np.array_equal(a.limb(part, i), b.limb(part, i)) for part in (0, 1) for i in range(a.level + 1)
    )


# ---- conversion between bases ---------------------------------------------------------------------


def centred_values(modulus: int, count: int, rng: np.random.Generator) -> list[int]:
    """Residues of every kind of size, those about 0 and about modulus/2 first."""
    half = modulus // 2
    edges = [0, 1, 2, modulus - 1, modulus - 2, half - 1, half, half + 1, half + 2]
    random = [int.from_bytes(rng.bytes(modulus.bit_length() // 8 + 9), "little") % modulus for _ in range(count)]
    return (edges + random)[:count]


@pytest.mark.parametrize("machine", ["fame-small", "fame-small-montgomery"])
@pytest.mark.parametrize(("count", "banks"), [(1, (1,)), (2, (1, 1)), (3, (3, 2, 1)), (7, (1, 2, 2, 3, 1, 3, 2))])
def test_mixed_radix_converts_the_centred_value(machine: str, count: int, banks: tuple[int, ...]) -> None:
    config, log_n = FameConfig.named(machine), 8
    primes = tuple(_native.kernels.primes_below(50, count + 2, 1 << 18))
    target = Target(config, log_n, primes, 1, count)
    layout = ElementLayout(config, log_n)
    first = layout.polynomials("input", count)
    results = layout.polynomials("output", 2)
    e = ElementCode(fixed=True)
    limbs: list[Limb] = [
        (i, e.scale(e.load(first + i * layout.stride, bank=b), i, target.one(i), bank=b)) for i, b in enumerate(banks)
    ]
    before = len(e.ops)
    digits = mixed_digits(e, target, limbs)
    for i in (0, 1):
        e.store(converted(e, target, digits, count + i, DIGITS), results + i * layout.stride)
    macs = sum(op.op == Opcode.MAC for op in e.ops[before:])
    copies = sum(any(banks[i] == banks[j] for i in range(j + 1, count)) for j in range(count))
    assert macs == (conversion_count(count, 2) or 2) + copies

    program, _ = assemble_element(target, layout, [], e)
    values = centred_values(prod(primes[:count]), 1 << log_n, np.random.default_rng(count))
    memory = ElementMemory(config)
    for i in range(count):
        memory.near[0].put(first + i * layout.stride, np.array([v % primes[i] for v in values], np.uint64))
    Interpreter(config, memory).run([program, encode([Instruction.end()])])
    modulus = prod(primes[:count])
    for i in (0, 1):
        p = primes[count + i]
        expected = [(v if v <= modulus // 2 else v - modulus) % p for v in values]
        assert memory.near[0].get(results + i * layout.stride, 1 << log_n).tolist() == expected


# ---- transforms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [*SHAPES, SINGLE])
@pytest.mark.parametrize("steps", [(0,), (3,), (0, 1), (0, 2, 5, 7, 500)], ids=str)
def test_memory_optimised_gives_the_same_words_as_the_library(shape: tuple[int, int, int], steps: tuple[int]) -> None:
    w = world(shape)
    kernel = w.kernel(steps, Schedule.mo)
    native, keys, x = encoded(kernel), w.keys(steps), w.ciphertext()
    compiled = compile_hlt(SMALL, kernel)
    result, memory = run(compiled, native, keys, x)
    assert same(result, native.run(x, keys))

    limbs, digits = shape[0], -(-shape[0] // shape[2])
    assert compiled.peak <= limit(limbs, digits) == 2 * limbs + digits + 1
    stride = compiled.layout.stride
    for entity, counted in compiled.traffic.items():
        if entity != "program":
            assert (counted.read, counted.written) == (memory.read[entity] * stride, memory.written[entity] * stride)
    rotations = len({*steps} - {0})
    if rotations:
        target = compiled.placed.target
        least = bounds(target, limbs).total(rotations, 0 in steps)
        assert least <= alu_rows(target, compiled.program) <= 1.04 * least


@pytest.mark.parametrize("machine", ["fame-small-montgomery", "fame-s"])
def test_other_machines_give_the_same_words(machine: str) -> None:
    w, steps = world(SHAPES[1]), (1, 2)
    kernel = w.kernel(steps, Schedule.mo)
    native, keys, x = encoded(kernel), w.keys(steps), w.ciphertext()
    compiled = compile_hlt(FameConfig.named(machine), kernel)
    assert same(run(compiled, native, keys, x, element=1)[0], native.run(x, keys))


@pytest.mark.parametrize(("shape", "paired"), [((5, 5, 5), False), ((5, 2, 2), False)])
def test_large_polynomials_fill_the_banks(shape: tuple[int, int, int], paired: bool) -> None:
    """Banks of 4 polynomials: one diagonal at a time where there are three digits; transforms one by one."""
    w, steps = world(shape, 11), (0, 4, 9)
    kernel = w.kernel(steps, Schedule.mo)
    native, keys, x = encoded(kernel), w.keys(steps), w.ciphertext()
    compiled = compile_hlt(SMALL, kernel)
    assert any(i.pair for i in decode(compiled.program)) == paired
    assert same(run(compiled, native, keys, x)[0], native.run(x, keys))


@pytest.mark.parametrize("schedule", [Schedule.naive, Schedule.hoisted])
@pytest.mark.parametrize("shape", SHAPES)
def test_coarse_schedules_give_the_same_words_through_memory(shape: tuple[int, int, int], schedule: Schedule) -> None:
    w, steps = world(shape), (0, 2, 5)
    kernel = w.kernel(steps, schedule)
    native, keys, x = encoded(kernel), w.keys(steps), w.ciphertext()
    compiled = compile_hlt(SMALL, kernel)
    result, memory = run(compiled, native, keys, x)
    assert same(result, native.run(x, keys))
    optimised = compile_hlt(SMALL, w.kernel(steps, Schedule.mo))
    assert compiled.ciphertext_bytes > 8 * optimised.ciphertext_bytes
    # Every limb of both products with a key goes to memory and comes back, for both rotations.
    assert memory.written["intermediates"] >= 2 * 2 * (shape[0] + shape[1])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_inputs_below_the_top_use_keys_of_the_top(shape: tuple[int, int, int], level: int) -> None:
    """Down to two limbs; the last digit is shorter than the others, or alone."""
    w, steps = world(shape), (0, 1, 6)
    kernel = w.kernel(steps, Schedule.mo, level)
    native, keys, x = encoded(kernel), w.keys(steps), w.ciphertext(level)
    compiled = compile_hlt(SMALL, kernel)
    assert same(run(compiled, native, keys, x)[0], native.run(x, keys))
    assert compiled.peak <= limit(level + 1, len(compiled.placed.target.digits(level + 1)))


def test_a_rotation_costs_what_the_bound_says() -> None:
    w = world(SHAPES[1])
    rows = [
        alu_rows(c.placed.target, c.program)
        for c in (compile_hlt(SMALL, w.kernel(range(1, n + 1), Schedule.mo)) for n in (1, 2, 5))
    ]
    rotation = (6 + 3) * (2 * 2 + 2) * SMALL.rows(10)
    assert (rows[1] - rows[0], rows[2] - rows[0]) == (rotation, 4 * rotation)
    assert bounds(target_of(SMALL, w.context.params, w.top), 6).rotation == rotation


# ---- what goes to memory --------------------------------------------------------------------------


def sparse(name: str, rotations: int, schedule: Schedule) -> HltKernel:
    """A transform with diagonals of one entry: steps 1, 2, ..."""
    context = _native.Context(params.named(name, "counting traffic"))
    steps = np.arange(1, rotations + 1, dtype=np.uint32)
    diagonals = Diagonals(
        context.params.slots,
        steps,
        np.arange(rotations + 1, dtype=np.uint64),
        np.zeros(rotations, np.uint32),
        np.ones(rotations, np.complex128),
    )
    level = len(context.params.q) - 1
    return HltKernel(context, diagonals, level, schedule, np.zeros(rotations, np.uint32), SCALE, SCALE, 1.0)


@pytest.mark.parametrize(
    ("machine", "name", "most"), [("fame-s", "fame-a", 12), ("fame-m", "fame-b", 35), ("fame-l", "fame-c", 68)]
)
def test_limbs_on_chip_are_those_of_the_paper(machine: str, name: str, most: int) -> None:
    compiled = compile_hlt(FameConfig.named(machine), sparse(name, 2, Schedule.mo))
    assert compiled.peak <= most
    target = compiled.placed.target
    least = bounds(target, compiled.placed.limbs).total(2)
    assert alu_rows(target, compiled.program) <= 1.02 * least


def test_ciphertexts_of_set_c_stay_on_chip() -> None:
    compiled = compile_hlt(FameConfig.named("fame-l"), sparse("fame-c", 4, Schedule.mo))
    limb = 54 * 2**16 // 8
    counted = compiled.traffic
    # Both parts once, the second one again as digits modulo its own primes.
    assert (counted["input"].read, counted["output"].written) == (3 * 32 * limb, 2 * 31 * limb)
    assert counted["intermediates"].read == counted["intermediates"].written == 0
    assert counted["keys"].read == 4 * 2 * 3 * 44 * limb
    assert counted["masks"].read == 4 * 44 * limb


@pytest.mark.long
def test_a_whole_transform_of_set_c(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its keys are more than the near memory, which is not the point here.
    monkeypatch.setattr(ElementLayout, "check", lambda _: None)
    machine = FameConfig.named("fame-l")
    optimised = compile_hlt(machine, sparse("fame-c", 319, Schedule.mo), near_bytes=1 << 40)
    assert optimised.ciphertext_bytes <= 135e6
    coarse = compile_hlt(machine, sparse("fame-c", 319, Schedule.naive), near_bytes=1 << 40)
    assert coarse.ciphertext_bytes > 100 * 135e6
    rows = alu_rows(optimised.placed.target, optimised.program)
    assert rows <= 1.001 * bounds(optimised.placed.target, 32).total(319)


def test_what_is_copied_from_far_memory_streams_after_its_sync() -> None:
    """The interpreter refuses a STREAM of what a COPY may still be bringing."""
    primes = tuple(_native.kernels.primes_below(50, 2, 1 << 18))
    target, log_n = Target(SMALL, 8, primes), 8
    layout = ElementLayout(SMALL, log_n)
    ones, near, out = (layout.polynomials(e, 2) for e in ("input", "keys", "output"))
    e = ElementCode(fixed=True)
    x = e.load(ones, bank=FIRST)
    e.copy(near, 0)
    y = e.stream(x, ones + layout.stride, 0, bank=SECOND)
    e.sync(Scope.ELEMENT)
    e.copy(near + layout.stride, layout.stride)
    z = e.stream(y, near, 0, bank=TURNED)
    e.sync(Scope.ELEMENT)
    e.store(e.stream(z, near + layout.stride, 0, bank=FIRST), out)
    program, _ = assemble_element(target, layout, [], e)
    memory, n = ElementMemory(SMALL), 1 << log_n
    memory.near[0].put(ones, np.full(n, 1, np.uint64))
    memory.near[0].put(ones + layout.stride, np.full(n, 3, np.uint64))
    memory.far[0].put(0, np.full(n, 5, np.uint64))
    memory.far[0].put(layout.stride, np.full(n, 7, np.uint64))
    Interpreter(SMALL, memory).run([program, encode([Instruction.end()])])
    assert set(memory.near[0].get(out, n).tolist()) == {105}
    assert traffic(layout, program)["keys"].written == 2 * layout.stride


@pytest.mark.parametrize("schedule", [Schedule.mo, Schedule.hoisted])
@pytest.mark.parametrize("afar", [1, 3, 5])
def test_multipliers_in_far_memory_give_the_same_words(schedule: Schedule, afar: int) -> None:
    """Keys and diagonals of the last rotations come by the window of near memory."""
    w, steps, limbs = world(SHAPES[2]), (0, 1, 2, 4, 5, 7), 6 + 2
    kernel = w.kernel(steps, schedule)
    native, keys, x = encoded(kernel), w.keys(steps), w.ciphertext()
    stride = SMALL.polynomial_bytes(10)
    near = (limbs + (5 - afar) * (2 * 3 + 1) * limbs) * stride
    compiled = compile_hlt(SMALL, kernel, near_bytes=near)
    result, memory = run(compiled, native, keys, x)
    assert same(result, native.run(x, keys))
    assert {e: n for e, n in compiled.far_bytes.items() if n} == {
        "keys": afar * 2 * 3 * limbs * stride,
        "masks": afar * limbs * stride,
    }
    assert compiled.traffic["window"].written == afar * 7 * limbs * stride
    assert memory.read["window"] == afar * 7 * limbs


# ---- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_n": 12}, "degree 2\\^12; there is 2\\^7 ... 2\\^11: take parameters"),
        ({"bits": 52}, "primes of 50 and 52 bits.*take a parameter set such as fame-a"),
        ({"alpha": 1}, "bank 0 \\(5 digits\\); there is room for 4: take longer digits"),
    ],
    ids=["degree", "primes of two lengths", "too many digits"],
)
def test_what_the_machine_does_not_hold_is_refused(change: dict[str, int], message: str) -> None:
    log_n, alpha = change.get("log_n", 11), change.get("alpha", 5)
    q = _native.kernels.primes_below(50, 5, 1 << 18)
    p = _native.kernels.primes_below(change.get("bits", 50), 10, 1 << 18)[5:]
    parameters = _native.Parameters("", log_n, q, p, alpha, 40.0, "tests of programs")
    with pytest.raises(ParameterError, match=message):
        target_of(SMALL, parameters, 4)


def test_keys_beyond_the_memory_are_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"has 32\.00 GiB of far memory, the program needs .* take a plan with fewer"
    ):
        compile_hlt(FameConfig.named("fame-l"), sparse("fame-c", 319, Schedule.mo))


def test_keys_of_too_few_limbs_are_refused() -> None:
    w, steps = world(SHAPES[1]), (1,)
    kernel = w.kernel(steps, Schedule.mo)
    with pytest.raises(LevelError, match="covers 4 limbs, the plan uses 6"):
        run(compile_hlt(SMALL, kernel), encoded(kernel), w.keys(steps, level=3), w.ciphertext())
