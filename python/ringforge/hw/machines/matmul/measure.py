# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a simulated machine takes: whole products, and single kernels; results are held against the CPU's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ringforge import ckks
from ringforge._native import Context, Diagonals, Parameters, Schedule
from ringforge.devices import Device, KeySet, open_device
from ringforge.errors import HardwareError
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.machines.matmul.bounds import alu_rows, bounds
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.executors import Simulated
from ringforge.hw.machines.matmul.product import product_program
from ringforge.hw.machines.matmul.target import target_of
from ringforge.matmul.engine import Product
from ringforge.matmul.kernels import HltKernel, MultiplyKernel
from ringforge.matmul.planner import choose


@dataclass(frozen=True)
class ProductRun:
    """A product of two encrypted matrices in RTL, as one program.

    Attributes:
        machine, params, shape, level: what was computed where; level of the inputs.
        cycles, seconds: from start to end, by the machine's clock.
        rows: that the busiest element's ALUs process, which is the least number of cycles.
        bytes: of memory traffic by entity, reads and writes, packed.
        peak: most polynomials of ciphertexts that an element had on chip.
        keys: Galois keys.
        exact: every residue equals the CPU's.
        error, bound: largest error of the decrypted result, and what was predicted.
        simulation_seconds: that the simulation took.
    """

    machine: str
    params: str
    shape: tuple[int, int, int]
    level: int
    cycles: int
    seconds: float
    rows: int
    bytes: Mapping[str, int]
    peak: int
    keys: int
    exact: bool
    error: float
    bound: float
    simulation_seconds: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "bytes": dict(self.bytes)}


def run_product(
    config: FameConfig,
    params: Parameters,
    shape: tuple[int, int, int],
    *,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
    cycles: Callable[[int], None] | None = None,
) -> ProductRun:
    """Multiplies two encrypted random matrices by Algorithm 2 in RTL, and checks the result against CPU and float64.

    Args:
        config: of the machine.
        shape: m, l, n.
        seed: of the matrices, entries uniform in [-1, 1]. Keys are fresh.
        say: told what happens.
        cycles: as `RtlDevice`.

    Raises:
        ParameterError: the machine cannot run it.
    """
    session = ckks.Session(params, 2)
    choice = choose(session.context, *shape, params.max_level, method="fame", schedule="mo")
    product = Product(session.context, choice.plan, choice.level, options=choice.options, threads=2)
    needed = product.required_keys
    say(f"making {len(needed)} Galois keys")
    for element, level in needed.items():
        session.galois_keys.insert(session.client.galois_key(session.secret_key, element, level, 2))
    keys = KeySet(session.galois_keys, session.client.relin_key(session.secret_key, product.relin_level, 2))
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, shape[:2]), rng.uniform(-1, 1, shape[1:])
    plan = choice.plan
    left, right = (
        session.encrypt(layout.pack(x, params.slots), level=choice.level)
        for layout, x in ((plan.left_layout, a), (plan.right_layout, b))
    )
    say("computing the same on the CPU")
    product.prepare(keys)
    expected, _ = product(left, right)
    say(f"compiling the program and filling the memory of {config.name}")
    made = product_program(config, product, keys)
    made.encode(2)
    executor, device = Simulated(), RtlDevice(config, cycles=cycles)
    memory = executor.load(made.program)
    say("running the machine")
    start = time.process_time()
    run = executor.run(device, made.program, memory, [left, right])
    spent = time.process_time() - start
    assert run.cycles is not None
    exact = all(
        np.array_equal(run.parts[part][i], expected.limb(part, i)) for part in (0, 1) for i in range(expected.level + 1)
    )
    result = plan.out_layout.unpack(session.decrypt(expected)).real
    return ProductRun(
        config.name,
        params.name,
        shape,
        choice.level,
        run.cycles,
        run.cycles / config.clock_hz,
        max(alu_rows(made.program.target, words) for words in made.program.words),
        run.bytes,
        made.peak,
        len(needed),
        exact,
        float(np.abs(result - a @ b).max()),
        float(expected.error_bound),
        spent,
    )


@dataclass(frozen=True)
class KernelRun:
    """A kernel in RTL, on one element.

    Attributes:
        name: what it is.
        cycles: from start to end, with reading the program, loading inputs and storing results.
        rows: that its ALUs process, which is the least number of cycles.
        bytes: of memory traffic by entity, packed.
    """

    name: str
    cycles: int
    rows: int
    bytes: Mapping[str, int]


@dataclass(frozen=True)
class Loop:
    """Linear transforms with two numbers of rotations, split into what a rotation takes and the rest.

    Attributes:
        rotation, hoisted: cycles of a rotation, and of what does not depend on their number.
        rotation_bound, hoisted_bound: rows of the ALUs that both take at least.
    """

    rotation: float
    hoisted: float
    rotation_bound: int
    hoisted_bound: int


def rotations(context: Context, level: int, count: int) -> HltKernel:
    """A transform with so many rotations and no diagonal 0, memory-optimised."""
    slots, scale = context.params.slots, 2.0**context.params.log_scale
    steps = np.arange(1, count + 1, dtype=np.uint32)
    targets = np.tile(np.arange(slots, dtype=np.uint32), count)
    values = np.random.default_rng(3).uniform(-1, 1, len(targets)).astype(np.complex128) / count
    offsets = (np.arange(count + 1) * slots).astype(np.uint64)
    diagonals = Diagonals(slots, steps, offsets, targets, values)
    return HltKernel(context, diagonals, level, Schedule.mo, steps, scale, scale, 1.0)


def kernel_runs(device: Device, params: Parameters, level: int, counts: Sequence[int]) -> Iterator[KernelRun]:
    """Linear transforms with so many rotations, and a product of ciphertexts, in RTL.

    Raises:
        HardwareError: a result differs from the CPU's.
    """
    session, cpu = ckks.Session(params, 2), open_device("cpu")
    context = session.context
    for step in range(1, max(counts) + 1):
        element = context.rotation_element(step)
        session.galois_keys.insert(session.client.galois_key(session.secret_key, element, level, 2))
    keys = KeySet(session.galois_keys, session.client.relin_key(session.secret_key, level, 2))
    rng = np.random.default_rng(5)
    inputs = [session.encrypt(rng.uniform(-1, 1, params.slots), level=level) for _ in range(2)]
    kernels: dict[str, HltKernel | MultiplyKernel] = {
        f"linear transform, {n} rotations": rotations(context, level, n) for n in counts
    }
    for name, kernel in {**kernels, "product of ciphertexts": MultiplyKernel(context, level)}.items():
        given = inputs[: 2 if isinstance(kernel, MultiplyKernel) else 1]
        handle = device.prepare(kernel, keys, threads=2)
        (got,), report = device.run(handle, given)
        (want,), _ = cpu.run(cpu.prepare(kernel, keys, threads=2), given)
        if any(
            not np.array_equal(got.limb(part, i), want.limb(part, i)) for part in (0, 1) for i in range(want.level + 1)
        ):
            raise HardwareError(f"the result of a {name} on device {device.name} differs from the CPU's")
        assert report.cycles is not None
        program = handle.state.program
        yield KernelRun(name, report.cycles, alu_rows(program.target, program.words[0]), report.bytes)


def loop(config: FameConfig, params: Parameters, level: int, counts: Sequence[int], cycles: Sequence[int]) -> Loop:
    """What a rotation takes, from transforms with two numbers of rotations, and what is left."""
    (few, many), (short, long) = counts, cycles
    each = (long - short) / (many - few)
    least = bounds(target_of(config, params, level), level + 1)
    return Loop(each, short - few * each, least.rotation, least.hoisted)
