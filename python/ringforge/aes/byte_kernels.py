# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel of bytes under BGV: one circuit on each of many ciphertexts, as SubBytes is one on each of sixteen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ringforge import _native
from ringforge._native.bgv import Ciphertext, Context
from ringforge.aes.byte_circuit import Circuit, run
from ringforge.aes.byte_machine import ByteMachine, Tools
from ringforge.devices import Execution, Implementation, KeySet, Needs, Preparation, Report, register, register_cases
from ringforge.devices.cpu import operation_counts
from ringforge.errors import Error, MismatchError, MissingKeyError, ShapeError


@dataclass(frozen=True, eq=False)
class BytesKernel:
    """A circuit over bytes on several groups of ciphertexts.

    Inputs are those of the first run, then of the next; results likewise. Keys: a relinearisation key, and Galois keys
    of the powers that the circuit takes.

    Attributes:
        context: parameters.
        circuit: what is computed.
        limbs: primes of each stage, and of results.
        count: runs.
    """

    context: Context
    circuit: Circuit
    limbs: tuple[int, ...]
    count: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        p = self.context.params
        return Needs(p.degree, self.limbs[0], max(q.bit_length() for q in (*p.q, *p.p)))

    @property
    def required_keys(self) -> list[int]:
        """Galois elements."""
        return [self.context.frobenius_element(k) for k in sorted(self.circuit.powers)]


def check_inputs(kernel: BytesKernel, inputs: Sequence[Any]) -> None:
    """Refuses inputs that are none, before anything is computed or sent.

    Raises:
        ShapeError: another number. MismatchError: no ciphertexts of BGV, or of fewer primes than the first stage has.
    """
    if len(inputs) != kernel.count * kernel.circuit.inputs:
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes {kernel.count * kernel.circuit.inputs}")
    for c in inputs:
        if not isinstance(c, Ciphertext):
            raise MismatchError(f"the kernel takes ciphertexts of BGV, not {type(c).__name__}")
        if c.limbs < kernel.limbs[0]:
            raise MismatchError(f"the kernel takes ciphertexts of {kernel.limbs[0]} primes, this one has {c.limbs}")


def check_keys(kernel: BytesKernel, keys: KeySet) -> None:
    """Refuses keys that lack some of the kernel's.

    Raises:
        MissingKeyError: a key is missing.
    """
    keys.required_relin()
    for element in kernel.required_keys:
        if element not in keys.galois:
            raise MissingKeyError(
                f"the evaluation keys lack the Galois key of element {element}: the client makes those of AES"
            )


def tools_for(kernel: BytesKernel, keys: KeySet, threads: int) -> Tools:
    """Keys and constants of a kernel, made before it runs."""
    tools = Tools(kernel.context, keys, threads)
    for value in sorted(kernel.circuit.constants):
        tools.multiplier(value)
    return tools


def run_each(kernel: BytesKernel, tools: Tools, inputs: Sequence[Any], done: Callable[[], None]) -> list[Any]:
    """Results of the circuit on each group of inputs; `done` is called after each."""
    machine, out, size = ByteMachine(tools, kernel.limbs), [], kernel.circuit.inputs
    for first in range(0, len(inputs), size):
        out += run(kernel.circuit, machine, inputs[first : first + size])
        done()
    return out


class _Cpu(Implementation):
    def prepare(self, p: Preparation[BytesKernel]) -> Tools:
        check_keys(p.kernel, p.keys)
        return tools_for(p.kernel, p.keys, p.threads)

    def run(self, r: Execution[BytesKernel, Tools]) -> tuple[list[Any], Report]:
        check_inputs(r.kernel, r.inputs)
        start, count = time.perf_counter(), 0

        def done() -> None:
            nonlocal count
            count += 1
            if r.progress is not None and r.progress(count / r.kernel.count) is False:
                raise Error("cancelled")

        with _native.counting() as did:
            made = run_each(r.kernel, r.state, r.inputs, done)
        seconds = time.perf_counter() - start
        traffic = {"keys": int(did.operations.key_bytes), "matrix": int(did.operations.plaintext_bytes)}
        return made, Report(r.device.name, seconds, bytes=traffic, operations=operation_counts(did.operations))


register(BytesKernel, "cpu", _Cpu())
register_cases(BytesKernel, "ringforge.aes.byte_cases")
