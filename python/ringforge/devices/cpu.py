# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The CPU: the native library, with the fastest kernel set the processor has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.devices.base import (
    AccumulateKernel,
    Capabilities,
    Device,
    Handle,
    HltKernel,
    Kernel,
    Keys,
    MatvecKernel,
    MatvecOperands,
    MultiplyKernel,
    PairSumKernel,
    Progress,
    Report,
    SmallKernel,
    SquareKernel,
    SubstitutionKernel,
)
from ringforge.errors import MismatchError, MissingKeyError, ShapeError

_COUNTS = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul")


def operation_counts(ops: _native.OpCounts) -> dict[str, int]:
    """The counts of operations, without bytes, by name."""
    return {name: int(getattr(ops, name)) for name in _COUNTS}


Ciphertexts = npt.NDArray[np.unsignedinteger[Any]]


def aligned(shape: tuple[int, ...], modulus: int) -> Ciphertexts:
    """Room for polynomials modulo `modulus`, at the alignment and in the words that the kernels take."""
    dtype = np.dtype(np.uint32 if modulus < 1 << 31 else np.uint64)
    room = np.empty(int(np.prod(shape)) * dtype.itemsize + 63, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : len(room) - 63 + first].view(dtype).reshape(shape)


def _prepare_small(kernel: SmallKernel, keys: Keys) -> Any:
    """The key that a kernel over a small ring needs, and no other.

    Raises:
        MissingKeyError: there is none. MismatchError: it belongs to other parameters.
    """
    if isinstance(kernel, AccumulateKernel):
        chain = keys.gates
        if chain is None or chain.method != _native.fhew.Method.AP:
            raise MissingKeyError("an accumulation chain needs an evaluation key of method ap: make one with it")
        if chain.params.hash != kernel.params.hash:
            raise MismatchError(
                f"the evaluation key belongs to {chain.params.name}, the kernel to {kernel.params.name}"
            )
        return chain
    key = keys.substitution
    if key is None:
        raise MissingKeyError(f"a substitution needs the key of element {kernel.element}, which this key set lacks")
    have = (key.log_n, key.modulus, key.element, key.cut)
    want = (kernel.log_n, kernel.modulus, kernel.element, kernel.cut)
    if have != want:
        raise MismatchError(f"the substitution key is of {have}, the kernel needs {want}")
    return key


def _run_small(kernel: SmallKernel, key: Any, inputs: Sequence[Any], threads: int) -> tuple[list[Any], Report]:
    start, shape = time.perf_counter(), (kernel.batch, 2, kernel.degree)
    out = aligned(shape, kernel.modulus)
    source = np.asarray(inputs[0])
    if source.shape != shape or source.dtype != out.dtype or (source.size and int(source.max()) >= kernel.modulus):
        raise ShapeError(
            f"ciphertexts of shape {source.shape}, {source.dtype}; "
            f"{shape}, {out.dtype}, below {kernel.modulus} are needed"
        )
    out[:] = source
    row = 2 * kernel.degree * out.itemsize
    traffic = {"input": out.nbytes, "output": out.nbytes}
    if isinstance(kernel, AccumulateKernel):
        indices = np.ascontiguousarray(inputs[1], np.uint32)
        if indices.shape != (kernel.batch, kernel.length):
            raise ShapeError(f"indices of shape {indices.shape}; {(kernel.batch, kernel.length)} is needed")
        _native.fhew.accumulate(key, out, indices, threads)
        rows = kernel.params.a.count + kernel.params.b.count
        products = int(np.count_nonzero(indices % kernel.params.ap_base))
        traffic["input"] += indices.nbytes
        operations = {"external_product": products, "ntt": rows * products, "intt": 2 * products}
        traffic["keys"] = products * rows * row
    else:
        key.substitute(out, threads)
        rows = kernel.cut.count
        operations = {"substitution": kernel.batch, "ntt": rows * kernel.batch, "intt": 2 * kernel.batch}
        traffic["keys"] = kernel.batch * rows * row
    return [out], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operations)


class CpuDevice(Device):
    """Runs kernels on this machine's processor."""

    def capabilities(self) -> Capabilities:
        return Capabilities(
            "cpu",
            f"this processor, kernel set {_native.kernels.active()}, {_native.hardware_threads()} threads",
            frozenset(
                {
                    MatvecKernel,
                    SquareKernel,
                    HltKernel,
                    PairSumKernel,
                    MultiplyKernel,
                    AccumulateKernel,
                    SubstitutionKernel,
                }
            ),
        )

    def prepare(
        self,
        kernel: Kernel,
        keys: Keys,
        operands: MatvecOperands | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Handle:
        start = time.perf_counter()
        state: Any
        if isinstance(kernel, MatvecKernel):
            if operands is None:
                raise ShapeError("a matrix-vector kernel needs its matrix")
            native = _native.Matvec(kernel.context, kernel.plan, kernel.level, kernel.batch)
            native.encode(
                operands.matrix,
                operands.bias,
                kernel.input_scale,
                kernel.output_scale,
                kernel.input_bound,
                kernel.fresh_inputs,
                threads,
                progress,
            )
            state = (native, keys.galois)
        elif isinstance(kernel, HltKernel):
            hlt = kernel.native()
            hlt.encode(kernel.input_scale, kernel.output_scale, kernel.input_bound, kernel.compact, threads, progress)
            state = (hlt, keys.galois)
        elif isinstance(kernel, SmallKernel):
            state = _prepare_small(kernel, keys)
        elif keys.relin is None:
            raise MissingKeyError("products need a relinearisation key, which this key set lacks")
        elif isinstance(kernel, PairSumKernel):
            pairs = kernel.native()
            pairs.encode(
                kernel.left_scale,
                kernel.right_scale,
                kernel.output_scale,
                kernel.left_bound,
                kernel.right_bound,
                kernel.output_bound,
                kernel.compact,
                threads,
            )
            state = (pairs, keys.galois, keys.relin, kernel.plan.left_bases)
        else:
            state = keys.relin
        return Handle("cpu", kernel, time.perf_counter() - start, state)

    def run(
        self, handle: Handle, inputs: Sequence[Any], *, threads: int = 1, progress: Progress | None = None
    ) -> tuple[list[Any], Report]:
        self.own(handle, "cpu")
        wanted = 2 if isinstance(handle.kernel, MultiplyKernel) else 1
        if len(inputs) < wanted:
            raise ShapeError(f"{len(inputs)} inputs, where the kernel takes at least {wanted}")
        if isinstance(handle.kernel, SmallKernel):
            return _run_small(handle.kernel, handle.state, inputs, threads)
        start = time.perf_counter()
        with _native.counting() as did:
            if isinstance(handle.kernel, MatvecKernel):
                native, galois = handle.state
                outputs = list(native.run(list(inputs), galois, threads))
            elif isinstance(handle.kernel, HltKernel):
                hlt, galois = handle.state
                outputs = [hlt.run(inputs[0], galois, threads)]
            elif isinstance(handle.kernel, PairSumKernel):
                pairs, galois, relin, bases = handle.state
                outputs = [pairs.run(list(inputs[:bases]), list(inputs[bases:]), galois, relin, threads, progress)]
            elif isinstance(handle.kernel, MultiplyKernel):
                ev = _native.Evaluator(handle.kernel.context, threads)
                outputs = [ev.relinearize(ev.mul(inputs[0], inputs[1]), handle.state)]
            else:
                ev = _native.Evaluator(handle.kernel.context, threads)
                outputs = [ev.rescale(ev.relinearize(ev.mul(c, c), handle.state)) for c in inputs]
        seconds, ops = time.perf_counter() - start, did.operations
        degree = handle.kernel.context.params.degree
        traffic = {
            "keys": int(ops.key_bytes),
            "matrix": int(ops.plaintext_bytes),
            "input": sum(16 * degree * (c.level + 1) for c in inputs),
            "output": sum(16 * degree * (c.level + 1) for c in outputs),
        }
        return outputs, Report("cpu", seconds, bytes=traffic, operations=operation_counts(ops))
