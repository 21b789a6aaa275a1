# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the aes machine runs the kernels of LTV: as a driver of the card would.

It compiles them into programs, puts operands, keys and digits into memory, starts the machine, waits and reads sums of
products. The library cuts digits before, and reduces modulo Phi behind. Digits and tables lie in the card's memory, if
it has one: that the host writes them there is not in a run. What a run takes depends on shapes alone, not on words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native.ltv import Ciphertext, Context, KeyParts
from ringforge.devices import Execution, Implementation, Preparation, Progress, Report, register
from ringforge.errors import Error, MismatchError, ParameterError
from ringforge.hw.machines.aes.config import WORD_BYTES, AesConfig
from ringforge.hw.machines.aes.jobs import Job, product, relinearise
from ringforge.hw.machines.aes.layout import Memory, Target
from ringforge.hw.machines.aes.program import Op
from ringforge.hw.machines.aes.runner import Executor, Run, Simulated
from ringforge.ltv.kernels import ProductSumsKernel, RelinearizeKernel

Words = npt.NDArray[np.uint32]

#: Bits of a digit in memory.
_DIGIT_BITS = 16


class Turns(Executor):
    """The simulated machine of a device, a job at a time."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def run(self, job: Job, progress: Callable[[float], None] | None = None) -> Run:
        with self.device.turn():
            try:
                return Simulated(self.device.simulation(), self.device.cycles).run(job, progress)
            finally:
                self.device.end_waves()


def target_of(config: AesConfig, context: Context, level: int) -> Target:
    """A level's transforms and primes on a machine.

    Raises:
        ParameterError: the machine does not take them; the message says what it takes.
    """
    p = context.params
    if p.ring != "padded":
        raise ParameterError(
            f"{config.name} multiplies polynomials by zero-padded transforms, {p.name} has a {p.ring} ring: take a "
            "set with a padded one"
        )
    limbs, log_n = p.limbs(level), int(p.transform_length).bit_length() - 1
    return Target(config, log_n, tuple(map(int, p.q[:limbs])), tuple(map(int, context.roots[:limbs])))


def _check_memory(target: Target, **entities: int) -> None:
    """Raises ParameterError where words and tables do not fit into the machine's memory."""
    memory = Memory(target.config, backed=False)
    for size in (target.n * len(target.primes), *entities.values()):
        memory.reserve("input", WORD_BYTES * size)


def _check_digits(config: AesConfig, kernel: RelinearizeKernel) -> None:
    """Raises ParameterError where words do not hold digits: the library refuses the same when it gets the key."""
    p = kernel.context.params
    fits, digits = p.window <= _DIGIT_BITS, p.digits(kernel.level)
    if p.gadget == "windows" and p.window == _DIGIT_BITS:
        # The last window takes what the others leave, and their carry.
        left = p.log_q(p.limbs(kernel.level - 1)) - 1 - _DIGIT_BITS * (digits - 1)
        fits = 2.0**left + 1 < (1 << (_DIGIT_BITS - 1)) - 0.5
    if not fits:
        raise ParameterError(
            f"{config.name} takes digits of {_DIGIT_BITS} bits, {p.name} has windows of {p.window} whose last one at "
            f"level {kernel.level} needs more: take a set with shorter windows"
        )


def worked(executor: Executor, job: Job, progress: Progress | None) -> Run:
    """A run of a job that tells how far it is.

    Raises:
        Error: "cancelled", if it is told so.
    """
    if progress is None:
        return executor.run(job)

    def told(done: float) -> None:
        if progress(done) is False:
            raise Error("cancelled")

    run = executor.run(job, told)
    told(1.0)
    return run


def _report(device: Any, start: float, run: Run, job: Job, operations: Mapping[str, int]) -> Report:
    counts = {
        "ntt": sum(1 for i in job.program.instructions if i.op == Op.NTT and not i.inverse),
        "intt": sum(1 for i in job.program.instructions if i.op == Op.NTT and i.inverse),
        **operations,
    }
    if run.cycles is None:
        return Report(device.name, time.perf_counter() - start, bytes=run.bytes, operations=counts)
    clock = device.config.clock_hz
    return Report(device.name, run.cycles / clock, run.cycles, clock, run.bytes, counts)


class ProductsOn(Implementation):
    """Sums of products.

    Args:
        executor: of a device.
    """

    def __init__(self, executor: Callable[[Any], Executor]) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: ProductSumsKernel) -> None:
        target = target_of(device.config, kernel.context, kernel.level)
        size = target.n * len(target.primes)
        _check_memory(target, operands=len(kernel.sums) * size // 2, results=len(kernel.outputs) * size)

    def run(self, r: Execution[ProductSumsKernel, None]) -> tuple[list[Any], Report]:
        start, kernel = time.perf_counter(), r.kernel
        target = target_of(r.device.config, kernel.context, kernel.level)
        operands = kernel.operands(r.inputs, r.threads)
        if not kernel.outputs:
            return [], Report(r.device.name, time.perf_counter() - start)
        job = product(target, operands, kernel.outputs)
        run = worked(self.executor(r.device), job, r.progress)
        made = kernel.assemble(r.inputs, job.results(), r.threads)
        return list(made), _report(r.device, start, run, job, {"ring_product": kernel.terms})


@dataclass(frozen=True)
class _Key:
    """A prepared relinearisation: transforms, values of the key as the machine takes them, and the library's part."""

    target: Target
    words: list[Words]
    parts: KeyParts


class RelinearizeOn(Implementation):
    """Relinearisation.

    Args:
        executor: of a device.
    """

    def __init__(self, executor: Callable[[Any], Executor]) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: RelinearizeKernel) -> None:
        p = kernel.context.params
        digits = p.digits(kernel.level)
        target = target_of(device.config, kernel.context, kernel.level - 1)
        _check_digits(device.config, kernel)
        size = target.n * len(target.primes)
        _check_memory(target, keys=digits * size, digits=digits * target.n // 4, results=size)

    def prepare(self, p: Preparation[RelinearizeKernel]) -> _Key:
        kernel = p.kernel
        target, key = target_of(p.device.config, kernel.context, kernel.level - 1), kernel.key(p.keys)
        parts = kernel.parts(key, p.threads)
        # Views of the key where the machine takes the library's order.
        words = [target.words(key.digit(d)) for d in range(key.digits)]
        return _Key(target, words, parts)

    def run(self, r: Execution[RelinearizeKernel, _Key]) -> tuple[list[Any], Report]:
        start, state = time.perf_counter(), r.state
        for c in r.inputs:
            if not isinstance(c, Ciphertext):
                raise MismatchError(f"the kernel takes ciphertexts of LTV, not {type(c).__name__}")
        digits = [state.parts.digits(c, r.threads) for c in r.inputs]
        if not digits:
            return [], Report(r.device.name, time.perf_counter() - start)
        job = relinearise(state.target, state.words, digits)
        run = worked(self.executor(r.device), job, r.progress)
        sums = job.results()
        made = [state.parts.assemble(c, sums[b], r.threads) for b, c in enumerate(r.inputs)]
        return made, _report(r.device, start, run, job, {"key_switch": len(made)})

    def storage(self, state: _Key) -> int:
        # Views are the key's own words.
        return 0 if state.target.config.fast else sum(words.nbytes for words in state.words)


def register_kernels(kind: str, executor: Callable[[Any], Executor]) -> None:
    """Says how devices of a kind run the kernels; the devices have the attribute `config`."""
    register(ProductSumsKernel, kind, ProductsOn(executor))
    register(RelinearizeKernel, kind, RelinearizeOn(executor))


register_kernels("rtl:aes", Turns)
