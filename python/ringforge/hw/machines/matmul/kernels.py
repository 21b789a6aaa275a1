# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the matmul accelerator runs the kernels of matrix products: as a driver of the card would.

It compiles a kernel into a program, puts programs, keys, masks and inputs into the elements' memories, starts the
machine, waits, and reads the result. It computes nothing on ciphertexts. What `prepare` computes concerns constants
only: encoding of diagonals and masks, twiddle tables, and, on machines with Montgomery multipliers, the Montgomery form
of keys and masks.

One kernel runs on the first element; `product` spreads a whole product over both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringforge import _native
from ringforge.devices import Execution, Implementation, KeySet, Preparation, Report, register
from ringforge.errors import LevelError, MismatchError, ShapeError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.executors import Executor, Run, Simulated
from ringforge.hw.machines.matmul.job import ElementJob, Program
from ringforge.hw.machines.matmul.pieces import multiply_piece, pairs_piece, transform_piece
from ringforge.hw.machines.matmul.target import target_of
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel


def transform_program(config: FameConfig, kernel: HltKernel, native: _native.Hlt, keys: KeySet) -> Program:
    """A linear transform on element 0.

    Args:
        native: of the kernel, encoded before memory is filled.

    Raises:
        ParameterError: the machine cannot run it; the message says what is needed and what there is.
    """
    jobs = _jobs(config, kernel, keys)
    source, result = jobs[0].ciphertext("input", kernel.level + 1), jobs[0].ciphertext("output", kernel.level)
    transform_piece(jobs[0], kernel, native, source, result)
    return Program.of(jobs[0].target, jobs, [[source]], result)


def pairs_program(config: FameConfig, kernel: PairSumKernel, native: _native.PairSum, keys: KeySet) -> Program:
    """A sum of products on element 0. Args, Raises: as `transform_program`."""
    jobs = _jobs(config, kernel, keys)
    count = kernel.plan.left_bases + kernel.plan.right_bases
    bases = [jobs[0].ciphertext("input", kernel.level + 1) for _ in range(count)]
    result = jobs[0].ciphertext("output", native.output_level + 1)
    pairs_piece(jobs[0], kernel, native, bases, result)
    return Program.of(jobs[0].target, jobs, [[base] for base in bases], result)


def multiply_program(config: FameConfig, kernel: MultiplyKernel, keys: KeySet) -> Program:
    """A relinearised product on element 0. Args, Raises: as `transform_program`."""
    jobs = _jobs(config, kernel, keys)
    factors = [jobs[0].ciphertext("input", kernel.level + 1) for _ in range(2)]
    result = jobs[0].ciphertext("output", kernel.level + 1)
    multiply_piece(jobs[0], kernel, factors[0], factors[1], result)
    return Program.of(jobs[0].target, jobs, [[factor] for factor in factors], result)


def kernel_program(config: FameConfig, kernel: HltKernel | PairSumKernel | MultiplyKernel, keys: KeySet) -> Program:
    """Any kernel's program. Nothing is encoded, so that its memory cannot be filled.

    Raises:
        ParameterError: as `transform_program`.
    """
    if isinstance(kernel, HltKernel):
        return transform_program(config, kernel, kernel.native(), keys)
    if isinstance(kernel, PairSumKernel):
        return pairs_program(config, kernel, kernel.native(), keys)
    return multiply_program(config, kernel, keys)


def _jobs(config: FameConfig, kernel: HltKernel | PairSumKernel | MultiplyKernel, keys: KeySet) -> list[ElementJob]:
    target = target_of(config, kernel.context.params, kernel.level)
    return [ElementJob(target, number, keys) for number in range(config.pes)]


@dataclass
class State:
    """A prepared kernel.

    Attributes:
        native: the library's object, encoded; None where there is nothing to encode.
        program: of all elements.
        memory: what stays for all runs, in the executor's form.
        key_ids: the secret keys that evaluation keys belong to, by what they are called.
    """

    native: Any
    program: Program
    memory: Any
    key_ids: dict[str, int]


class _Kernel(Implementation):
    """What all kernels have in common.

    Args:
        executor: runs programs.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: Any) -> None:
        # Compiling is quick and finds what does not fit.
        kernel_program(device.config, kernel, KeySet())

    def prepare(self, p: Preparation[Any]) -> State:
        native = self.encoded(p)
        program = self.program(p, native)
        key_ids = {name: number for job in program.jobs for name, number in job.key_ids().items()}
        return State(native, program, self.executor.load(program), key_ids)

    def run(self, r: Execution[Any, State]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            HardwareError: the machine cannot be built, or stops with an error.
        """
        if len(r.inputs) != len(r.state.program.inputs):
            raise ShapeError(f"{len(r.inputs)} inputs, where the kernel takes {len(r.state.program.inputs)}")
        self.check_inputs(r)
        for name, number in r.state.key_ids.items():
            if number != r.inputs[0].key_id:
                raise MismatchError(f"the {name} belongs to another secret key than the input: use keys made together")
        run = self.executor.run(r.device, r.state.program, r.state.memory, r.inputs)
        return [self.assembled(r, run)], report(r.device, run)

    def storage(self, state: State) -> int:
        return self.executor.size(state.memory)

    @abstractmethod
    def encoded(self, p: Preparation[Any]) -> Any:
        """The library's object, encoded."""

    @abstractmethod
    def program(self, p: Preparation[Any], native: Any) -> Program:
        """The kernel's program."""

    @abstractmethod
    def check_inputs(self, r: Execution[Any, State]) -> None:
        """Refuses inputs as the CPU does."""

    @abstractmethod
    def assembled(self, r: Execution[Any, State], run: Run) -> Any:
        """The result as a ciphertext."""


def report(device: Any, run: Run) -> Report:
    """What a run took, by the machine's clock."""
    if run.cycles is None:
        return Report(device.name, run.seconds, bytes=run.bytes)
    clock = device.config.clock_hz
    return Report(device.name, run.cycles / clock, cycles=run.cycles, clock_hz=clock, bytes=run.bytes)


class _Transform(_Kernel):
    def encoded(self, p: Preparation[HltKernel]) -> _native.Hlt:
        k, native = p.kernel, p.kernel.native()
        native.encode(k.input_scale, k.output_scale, k.input_bound, k.compact, p.threads, p.progress)
        return native

    def program(self, p: Preparation[HltKernel], native: _native.Hlt) -> Program:
        return transform_program(p.device.config, p.kernel, native, p.keys)

    def check_inputs(self, r: Execution[HltKernel, State]) -> None:
        r.state.native.check_input(r.inputs[0])

    def assembled(self, r: Execution[HltKernel, State], run: Run) -> Any:
        return r.state.native.assemble(r.inputs[0], run.parts)


class _PairSum(_Kernel):
    def encoded(self, p: Preparation[PairSumKernel]) -> _native.PairSum:
        p.keys.required_relin()
        k, native = p.kernel, p.kernel.native()
        native.encode(
            *(k.left_scale, k.right_scale, k.output_scale, k.left_bound, k.right_bound, k.output_bound),
            k.compact,
            p.threads,
        )
        return native

    def program(self, p: Preparation[PairSumKernel], native: _native.PairSum) -> Program:
        return pairs_program(p.device.config, p.kernel, native, p.keys)

    def check_inputs(self, r: Execution[PairSumKernel, State]) -> None:
        r.state.native.check_inputs(*_sides(r.kernel, r.inputs))

    def assembled(self, r: Execution[PairSumKernel, State], run: Run) -> Any:
        return r.state.native.assemble(*_sides(r.kernel, r.inputs), run.parts)


def _sides(kernel: PairSumKernel, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    left = kernel.plan.left_bases
    return list(inputs[:left]), list(inputs[left:])


class _Multiply(_Kernel):
    def encoded(self, p: Preparation[MultiplyKernel]) -> None:
        p.keys.required_relin()

    def program(self, p: Preparation[MultiplyKernel], native: Any) -> Program:  # noqa: ARG002
        return multiply_program(p.device.config, p.kernel, p.keys)

    def check_inputs(self, r: Execution[MultiplyKernel, State]) -> None:
        for x in r.inputs:
            if x.size != 2:
                raise ShapeError(f"a factor has {x.size} parts: relinearise it first")
            if x.level != r.kernel.level:
                raise LevelError(f"the product takes factors of level {r.kernel.level}, one has level {x.level}")
        if r.inputs[0].key_id != r.inputs[1].key_id:
            raise MismatchError("the two factors were made under different keys")

    def assembled(self, r: Execution[MultiplyKernel, State], run: Run) -> Any:
        return _native.assemble_product(r.kernel.context, r.inputs[0], r.inputs[1], run.parts)


def register_kernels(kind: str, executor: Executor) -> None:
    """Says how devices of a kind run the kernels of matrix products; the devices have the attribute `config`."""
    register(HltKernel, kind, _Transform(executor))
    register(PairSumKernel, kind, _PairSum(executor))
    register(MultiplyKernel, kind, _Multiply(executor))


register_kernels("rtl:matmul", Simulated())
