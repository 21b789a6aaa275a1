# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs operations on integers: the circuit for the operands' noise, all elements together across threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ringforge.errors import ParameterError, ShapeError
from ringforge.gates.bits import Bits, Evaluator, check_same
from ringforge.gates.circuit import Circuit
from ringforge.gates.integers import provenance
from ringforge.gates.integers.operations import Compiled, Operation, compiled
from ringforge.gates.integers.progress import reported
from ringforge.gates.integers.provenance import Levels, Noise
from ringforge.gates.integers.types import IntType
from ringforge.gates.integers.values import EncryptedValue
from ringforge.gates.sums import PortNoise

#: Bytes of wires that one pass over a circuit takes; longer arrays go in parts.
PASS_BYTES = 1 << 28

_Value = TypeVar("_Value", bound=EncryptedValue)


def evaluator_of(operands: Sequence[EncryptedValue]) -> Evaluator:
    """The first evaluator among the operands', which all must belong to.

    Raises:
        ParameterError: there is none. MismatchError: other parameters, or another key.
    """
    for x in operands[1:]:
        check_same(operands[0], x)
    for x in operands:
        if x.evaluator is not None:
            return x.evaluator
    raise ParameterError("these integers are bound to no evaluator: x = evaluator.bind(x)")


def run(
    op: Operation, operands: Sequence[_Value], dtype: IntType, make: Callable[[Bits, IntType, Noise], _Value]
) -> _Value:
    """An operation on operands that broadcast.

    Args:
        op: the operation.
        operands: all of one key; those without an evaluator get the others'.
        dtype: of the result.
        make: makes it.

    Raises:
        ParameterError: no evaluator, or no circuit. MismatchError: other parameters or keys. ShapeError: no broadcast.
    """
    evaluator = evaluator_of(operands)
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in operands)
        raise ShapeError(f"integers of shapes {shapes} do not broadcast") from None
    # What is refreshed is to have the noise that the running evaluator's method leaves.
    operands = [
        x if x.evaluator is not None and x.evaluator.method == evaluator.method else x.bound(evaluator)
        for x in operands
    ]
    found, operands = _prepared(op, operands, shape, evaluator)
    circuit = found.circuit
    if len(operands) == 1 and circuit.outputs[0].wires == circuit.inputs[0].wires and dtype == operands[0].dtype:
        return operands[0]
    states = [x._state for x in operands]
    outputs = _evaluated(circuit, evaluator, [b for b, _ in states], shape)
    bits, sources = outputs["y"], None
    if found.is_sum:
        # Gates are deterministic: what is within may come again from another operation.
        rows = [provenance.sources_of(b, n) for b, n in states] + [provenance.numbers(b) for b in outputs.values()]
        sources = provenance.joined(rows, shape)
    return make(bits, dtype, Noise(found.variance, sources))


def _prepared(
    op: Operation, operands: Sequence[_Value], shape: tuple[int, ...], evaluator: Evaluator
) -> tuple[Compiled, list[_Value]]:
    """The circuit, and the operands refreshed where their noise asks for it."""
    name, method = evaluator.params.name, evaluator.method
    levels = provenance.levels(name, method)
    ready = [x.refreshed() if _too_noisy(x._state[1], levels) else x for x in operands]
    if not _independent(ready, shape):
        ready = [x.refreshed() for x in ready]
    # Ciphertexts that are equal, inverse or known are replaced at the gates: no sums then, whose noise is counted for
    # different ones. Accumulators of automorphisms have no two functions in one rotation.
    if method == "automorphism" or not provenance.all_different([x._state[0] for x in ready], shape):
        ready = [x.refreshed() for x in ready]
        found = compiled(op, name, method, ())
    else:
        found = compiled(op, name, method, tuple(_level(x._state[1], levels) for x in ready))
        if found is None:
            ready = [x.refreshed() for x in ready]
            found = compiled(op, name, method, tuple(_level(x._state[1], levels) for x in ready))
        found = found or compiled(op, name, method, ())
    if found is None:
        raise ParameterError(f'"{op.name}" finds no circuit in {name}: take gates-128')
    return found, ready


def _too_noisy(noise: Noise, levels: Levels) -> bool:
    """Whether there is no level for this: a sum of sums, or a gate's output of a noisier method."""
    return noise.variance > (levels.most if noise.is_sum else levels.gate).variance


def _level(noise: Noise, levels: Levels) -> PortNoise:
    if noise.is_sum:
        return levels.most
    return levels.fresh if noise.variance <= levels.fresh.variance else levels.gate


def _independent(operands: Sequence[EncryptedValue], shape: tuple[int, ...]) -> bool:
    """Whether no sum among the operands shares noise with another operand."""
    if len(operands) < 2 or not any(x._state[1].is_sum for x in operands):
        return True
    rows = [(provenance.sources_of(*x._state), x._state[1].is_sum) for x in operands]
    return all(
        not (a_sum or b_sum) or provenance.apart(a, b, shape)
        for i, (a, a_sum) in enumerate(rows)
        for b, b_sum in rows[:i]
    )


def _evaluated(
    circuit: Circuit, evaluator: Evaluator, operands: Sequence[Bits], shape: tuple[int, ...]
) -> dict[str, Bits]:
    """The outputs, in parts of so many elements that the wires take :data:`PASS_BYTES`."""
    count = math.prod(shape)
    inputs = [b.bound(evaluator) for b in operands]
    wire = 4 * (evaluator.params.n + 1)
    lanes = max(8 * evaluator.threads, PASS_BYTES // (wire * max(1, circuit.schedule.slots)))
    names = [p.name for p in circuit.inputs]
    if count <= lanes:
        given = dict(zip(names, inputs, strict=True))
        found = circuit.evaluate(evaluator, given, reported(0, 1))
        return {n: b if b.shape[:-1] == shape else b.reshape(*shape, b.shape[-1]) for n, b in found.items()}
    flat = [
        np.broadcast_to(np.arange(math.prod(b.shape[:-1])).reshape(b.shape[:-1]), shape).reshape(-1) for b in inputs
    ]
    rows = [b.words.reshape(-1, b.shape[-1], b.words.shape[-1]) for b in inputs]
    parts, total = [], -(-count // lanes)
    for k in range(total):
        at = slice(k * lanes, (k + 1) * lanes)
        given = {
            n: Bits(r[f[at]], evaluator.params, evaluator, key_id=evaluator.key_id)
            for n, r, f in zip(names, rows, flat, strict=True)
        }
        parts.append(circuit.evaluate(evaluator, given, reported(k, total)))
    joined = {n: np.concatenate([p[n].words for p in parts]) for n in parts[0]}
    return {
        n: Bits(w.reshape(*shape, *w.shape[1:]), evaluator.params, evaluator, key_id=evaluator.key_id)
        for n, w in joined.items()
    }
