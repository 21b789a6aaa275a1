# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whole layers through the simulated machine: encrypted, multiplied in RTL, compared with the CPU, decrypted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.devices import CpuDevice, KeySet
from ringforge.errors import ParameterError
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.machines.matvec import Options, closed_form
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.matvec.kernels import MatvecKernel, MatvecOperands
from ringforge.matvec.planner import choose


@dataclass(frozen=True)
class LayerRun:
    """One layer computed in RTL.

    Attributes:
        machine, params, rows, cols, level, algorithm, baby, packing: what was computed, and how.
        cycles: from the start write to done.
        seconds: those cycles at the machine's clock.
        bytes: moved over the data ports, by entity.
        keys: Galois keys.
        exact: every residue of the results equals the CPU device's.
        error: largest |difference| from the float64 product, relative to its largest entry.
        bound: what the result's metadata promise for |difference|.
        simulation_seconds: CPU seconds that the simulation took.
    """

    machine: str
    params: str
    rows: int
    cols: int
    level: int
    algorithm: str
    baby: int
    packing: str
    cycles: int
    seconds: float
    bytes: Mapping[str, int]
    keys: int
    exact: bool
    error: float
    bound: float
    simulation_seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return {**self.__dict__, "bytes": dict(self.bytes)}


def layer_kernel(
    context: _native.Context,
    rows: int,
    cols: int,
    level: int,
    algorithm: str,
    baby: int | None = None,
    machine: MatvecConfig | None = None,
) -> tuple[MatvecKernel, str]:
    """The kernel of a layer at a level by an algorithm, and its packing.

    `diagonal` and `horner` take the paper's packing; `bsgs` the split that takes `machine` the fewest cycles by the
    closed form (without a machine, the CPU the least work), or `baby` steps.

    Raises:
        ParameterError: the planner knows no plan with so many baby steps.
    """
    scale = 2.0**context.params.log_scale

    def kernel(plan: _native.Plan) -> MatvecKernel:
        return MatvecKernel(context, plan, level, 1, scale, scale, 1.0, True)

    def price(plan: _native.Plan) -> float:
        assert machine is not None
        return closed_form.cycles(machine, kernel(plan))

    by_cycles = machine is not None and algorithm == "bsgs"
    found = choose(context, rows, cols, level, algorithm=algorithm, price=price if by_cycles else None)
    choice = found.chosen
    if baby is not None:
        fitting = [c for c in found.candidates if c.plan.baby == baby and c.span == choice.span]
        if not fitting:
            known = sorted({c.plan.baby for c in found.candidates if c.span == choice.span})
            raise ParameterError(f"no plan has {baby} baby steps; there are plans with {known}")
        choice = fitting[0]
    return kernel(choice.plan), choice.span


@dataclass(frozen=True)
class EncryptedLayer:
    """A random layer ready to be computed.

    Attributes:
        client, secret: to decrypt the results.
        keys: the Galois keys that the plan needs.
        operands: matrix and bias, entries uniform in [-1, 1].
        vector: what the inputs encrypt.
        inputs: a ciphertext for each block of columns.
    """

    client: _native.Client
    secret: _native.SecretKey
    keys: KeySet
    operands: MatvecOperands
    vector: npt.NDArray[np.float64]
    inputs: list[_native.Ciphertext]


def encrypted_layer(
    context: _native.Context,
    kernel: MatvecKernel,
    rows: int,
    cols: int,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> EncryptedLayer:
    """A layer with random entries, by a seed, under fresh keys."""
    client = _native.Client(context)
    secret = client.secret_key()
    rng = np.random.default_rng(seed)
    matrix, vector, bias = rng.uniform(-1, 1, (rows, cols)), rng.uniform(-1, 1, cols), rng.uniform(-1, 1, rows)
    galois = _native.GaloisKeys()
    needed = _native.Matvec(context, kernel.plan, kernel.level).required_keys
    say(f"making {len(needed)} Galois keys")
    for element, key_level in needed:
        galois.insert(client.galois_key(secret, element, key_level, threads=2))
    inputs = []
    for block in range(len(kernel.plan.packing.blocks)):
        columns = kernel.plan.packing.columns(block)
        slots = np.where(columns < cols, vector[np.minimum(columns, cols - 1)], 0.0)
        inputs.append(client.encrypt(context.encode(slots.astype(complex), kernel.input_scale, kernel.level), secret))
    return EncryptedLayer(client, secret, KeySet(galois), MatvecOperands(matrix, bias), vector, inputs)


def run_layer(
    machine: MatvecConfig,
    params: _native.Parameters,
    rows: int,
    cols: int,
    algorithm: str,
    *,
    level: int | None = None,
    baby: int | None = None,
    seed: int = 1,
    options: Options | None = None,
    say: Callable[[str], None] = lambda _: None,
    cycles: Callable[[int], None] | None = None,
) -> LayerRun:
    """Encrypts a random vector, multiplies it in RTL, and checks the result against CPU and float64.

    Args:
        machine: configuration.
        params: parameter set.
        rows, cols: the matrix, entries uniform in [-1, 1].
        algorithm: bsgs, diagonal or horner.
        level: of the input; default: all limbs.
        baby: steps of bsgs; default: what takes the machine the fewest cycles, by the closed form.
        seed: of matrix, vector and bias. Keys are fresh.
        options: compiler passes.
        say: told what happens.
        cycles: as `RtlDevice`.

    Raises:
        ParameterError: the machine cannot run it.
    """
    if algorithm not in {"bsgs", "diagonal", "horner"}:
        raise ParameterError(f'the schedule is bsgs, diagonal or horner, not "{algorithm}"')
    level = params.max_level if level is None else level
    context = _native.Context(params)
    kernel, packing = layer_kernel(context, rows, cols, level, algorithm, baby, machine)
    device = RtlDevice(machine, options=options, cycles=cycles)
    device.check(kernel)

    case = encrypted_layer(context, kernel, rows, cols, seed, say)
    keys, operands, inputs = case.keys, case.operands, case.inputs

    say("computing the same on the CPU")
    cpu = CpuDevice()
    expected, _ = cpu.run(cpu.prepare(kernel, keys, operands, threads=2), inputs, threads=2)
    say(f"compiling the program and filling the memory of {machine.name}")
    handle = device.prepare(kernel, keys, operands)
    say("running the machine")
    start = time.process_time()
    outputs, report = device.run(handle, inputs)
    spent = time.process_time() - start
    say("comparing")
    exact = all(
        np.array_equal(a.limb(part, limb), b.limb(part, limb))
        for a, b in zip(outputs, expected, strict=True)
        for part in (0, 1)
        for limb in range(a.level + 1)
    )
    period = kernel.plan.packing.row_period
    result = np.concatenate(
        [
            np.real(context.decode(case.client.decrypt(c, case.secret)))[: min(period, rows - r * period)]
            for r, c in enumerate(outputs)
        ]
    )
    truth = operands.matrix @ case.vector + operands.bias
    assert report.cycles is not None
    return LayerRun(
        machine.name,
        params.name,
        rows,
        cols,
        level,
        algorithm,
        kernel.plan.baby,
        packing,
        report.cycles,
        report.seconds,
        report.bytes,
        len(_native.Matvec(context, kernel.plan, level).required_keys),
        exact,
        float(np.abs(result - truth).max() / np.abs(truth).max()),
        float(max(c.error_bound for c in outputs)),
        spent,
    )
