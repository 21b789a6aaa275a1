# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the kernel of bytes is cut for pools of workers (:mod:`ringforge.devices.sharding`): by runs of its circuit.

Ciphertexts travel as records, which are checked where they come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringforge import _native
from ringforge._native.bgv import Ciphertext, Context
from ringforge.aes.byte_circuit import operands, run
from ringforge.aes.byte_kernels import BytesKernel, check_inputs, check_keys, run_each, tools_for
from ringforge.aes.byte_machine import Tools, log_peak
from ringforge.aes.byte_plan import Predicted, Sizes, Value
from ringforge.devices import Execution, Preparation, Report, register
from ringforge.devices.cpu import operation_counts
from ringforge.devices.frozen import stored, thaw
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut, expect
from ringforge.errors import Error, FormatError, MismatchError

#: Shards for each worker, where there are as many runs.
EACH = 8

#: Bytes of a record beside its residues, and of what travels beside records.
AROUND, NAME = 256, 1024

#: Other processors may round otherwise.
_ROUNDING = 1e-9

#: Seconds of a butterfly of a transform on one thread.
BUTTERFLY_SECONDS = 1.5e-9


@dataclass(frozen=True)
class Placed:
    """A prepared kernel of a pool: kernel and keys in the store, and what its constants do to noise."""

    kernel: Stored
    keys: Stored
    peaks: Mapping[int, float]


@dataclass(frozen=True)
class Made:
    """What a shard gives: records of ciphertexts, and what making them took."""

    records: list[bytes]
    operations: dict[str, int]
    key_bytes: int
    matrix_bytes: int


def substitute(task: Task, kernel: Stored, keys: Stored, records: list[bytes]) -> Made:
    """Some runs of the circuit, in a worker."""

    def prepared() -> tuple[BytesKernel, Tools]:
        found: BytesKernel = task.get(kernel)
        given = task.cached(("keys", keys.name), lambda: thaw(task.get(keys)))
        return found, tools_for(found, given, task.threads)

    found, tools = task.cached(("aes", kernel.name, keys.name), prepared)
    inputs = [_native.io.ciphertext_from_bytes(bytes(r), found.context) for r in records]
    count, done = len(inputs) // found.circuit.inputs, 0

    def told() -> None:
        nonlocal done
        done += 1
        if task.progress(done / count) is False:
            raise Error("cancelled")

    with _native.counting() as did:
        made = run_each(found, tools, inputs, told)
    ops = did.operations
    out = [bytes(_native.io.to_bytes(found.context, c)) for c in made]
    return Made(out, operation_counts(ops), int(ops.key_bytes), int(ops.plaintext_bytes))


# ---- what shards take ----------------------------------------------------------------------------


def record_bytes(c: Context, limbs: int) -> int:
    """Of a ciphertext of two parts."""
    return 2 * c.params.degree * sum(q.bit_length() for q in c.params.q[:limbs]) // 8 + AROUND


def transform_length(m: int) -> int:
    """Of the padded ring of an odd index: a power of two, at least 2 phi(m) - 1."""
    degree = sum(math.gcd(i, m) == 1 for i in range(1, m))
    return 1 << (2 * degree - 2).bit_length()


def shard_costs(kernel: BytesKernel, parts: int) -> list[Cost]:
    """What the shards of a kernel take, without keys and data; keys, which all read, are not counted.

    Args:
        parts: about how many.
    """
    params, gadget, circuit = kernel.context.params, kernel.context.gadget, kernel.circuit
    sizes = Sizes(params.max_limbs, gadget.special, gadget.alpha)
    transforms = sum(sizes.step(s, kernel.limbs[s.stage]) for s in circuit.steps)
    length = transform_length(params.m)
    seconds = BUTTERFLY_SECONDS * transforms * length / 2 * (length.bit_length() - 1)
    given = circuit.inputs * record_bytes(kernel.context, kernel.limbs[0])
    made = len(circuit.outputs) * record_bytes(kernel.context, kernel.limbs[-1])
    most = 16 * params.degree * kernel.limbs[0]
    working = most * (circuit.inputs + max(len(operands(s)) for s in circuit.steps) + 8)
    return [
        Cost(len(r) * seconds, 0, NAME + len(r) * given, NAME + len(r) * made, working + 2 * len(r) * (given + made))
        for r in cut(kernel.count, parts)
    ]


# ---- on the driver -------------------------------------------------------------------------------


def predicted(kernel: BytesKernel, peaks: Mapping[int, float], inputs: Sequence[Any]) -> list[float]:
    """log2 of the bound on noise of each result, by the rules that the plan has.

    Args:
        peaks: of the circuit's constants, as `byte_plan.Predicted` takes them.
    """
    machine = Predicted(kernel.context.rules, kernel.limbs, peaks, margin=-math.inf)
    # Ciphertexts of a state have the same noise, or a few: most runs are predicted once.
    known: dict[tuple[tuple[int, float], ...], list[float]] = {}
    size, found = kernel.circuit.inputs, list[float]()
    for first in range(0, len(inputs), size):
        group = inputs[first : first + size]
        of = tuple((c.limbs, c.noise.log_bound) for c in group)
        if of not in known:
            made = run(kernel.circuit, machine, [Value(c.noise, c.limbs) for c in group])
            known[of] = [v.noise.log_bound for v in made]
        found += known[of]
    return found


class _Bytes(Sharded):
    def place(self, p: Preparation[BytesKernel], pool: Pool) -> Placed:
        check_keys(p.kernel, p.keys)
        if p.progress is not None:
            p.progress(1.0)
        peaks = {value: log_peak(p.kernel.context, value) for value in p.kernel.circuit.constants}
        return Placed(pool.put(p.kernel), stored(pool, p.keys), peaks)

    def shards(self, r: Execution[BytesKernel, Placed], pool: Pool) -> list[Shard]:
        kernel, state, parts = r.kernel, r.state, EACH * pool.workers
        check_inputs(kernel, r.inputs)
        key_id, size, found = r.inputs[0].key_id, kernel.circuit.inputs, []
        noise = predicted(kernel, state.peaks, r.inputs)
        made = len(kernel.circuit.outputs)
        for runs, cost in zip(cut(kernel.count, parts), shard_costs(kernel, parts), strict=True):
            mine = r.inputs[runs.start * size : runs.stop * size]
            records = [bytes(_native.io.to_bytes(kernel.context, c)) for c in mine]
            check = _checked(kernel, key_id, noise[runs.start * made : runs.stop * made])
            name = f"bytes {runs.start + 1} to {runs.stop}"
            found.append(Shard(name, substitute, (state.kernel, state.keys, records), check, cost))
        return found

    def combine(self, r: Execution[BytesKernel, Placed], results: list[Any]) -> tuple[list[Any], Report]:
        took: list[Made] = [made for _, made in results]
        operations = {name: sum(m.operations[name] for m in took) for name in took[0].operations}
        traffic = {"keys": sum(m.key_bytes for m in took), "matrix": sum(m.matrix_bytes for m in took)}
        outputs = [c for found, _ in results for c in found]
        return outputs, Report(r.device.name, 0.0, bytes=traffic, operations=operations)


_NAMES = set(operation_counts(_native.Work()))


def _checked(kernel: BytesKernel, key_id: int, noise: Sequence[float]) -> Callable[[Any], tuple[list[Any], Made]]:
    """Holds a shard's result against what is known of it: `noise` is predicted, of each ciphertext."""

    def check(result: Any) -> tuple[list[Any], Made]:
        made = expect(result, Made, "bytes of AES")
        if not isinstance(made.records, list) or len(made.records) != len(noise):
            raise FormatError(f"a worker returned another number of ciphertexts than {len(noise)}")
        try:
            found = [
                _native.io.ciphertext_from_bytes(expect(r, bytes, "the record of a ciphertext"), kernel.context)
                for r in made.records
            ]
        except MismatchError as e:
            raise FormatError(f"a worker returned a ciphertext of other parameters: {e}") from None
        for c in found:
            if not isinstance(c, Ciphertext) or c.size != 2 or (c.limbs, c.key_id) != (kernel.limbs[-1], key_id):
                raise FormatError("a worker returned a ciphertext of other primes, or of another key")
        for c, bound in zip(found, noise, strict=True):
            if not math.isclose(c.noise.log_bound, bound, rel_tol=_ROUNDING):
                raise FormatError(
                    f"a worker returned a ciphertext with noise of {c.noise.log_bound:.6f} bits, where {bound:.6f} are "
                    "predicted"
                )
        numbers = [made.key_bytes, made.matrix_bytes, *expect(made.operations, dict, "counts").values()]
        if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or set(made.operations) != _NAMES:
            raise FormatError("a worker returned counts that are none")
        return found, made

    return check


register(BytesKernel, "ray", _Bytes())

__all__ = ["BytesKernel", "shard_costs"]
