# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the kernels of LTV are cut for pools of workers (:mod:`ringforge.devices.sharding`): products by outputs,
relinearisation by ciphertexts.

The evaluation key of a level lies in the store as its record, once, as long as the kernel is prepared. A worker makes
of it what `Relinearizer` multiplies with, twice its size, and keeps that for its further shards of the level.

Ciphertexts travel as their words: records have no form for those between levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native.ltv import Ciphertext, Context, Noise, Relinearizer
from ringforge._native.ltv import ciphertext as from_words
from ringforge.devices import Execution, Preparation, Report, register
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut, expect
from ringforge.errors import (
    Error,
    FormatError,
    LevelError,
    MismatchError,
    ParameterError,
    ShapeError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.files import naming
from ringforge.ltv.kernels import ProductSumsKernel, RelinearizeKernel, Words, ciphertext_bytes, ciphertexts
from ringforge.ltv.keys import StoredKey

__all__ = ["ProductSumsKernel", "RelinearizeKernel", "product_costs", "relinearize_costs"]

#: Shards of products for each worker, where there are as many outputs.
EACH = 2

#: Digits of all ciphertexts that a reading of the key serves (`Relinearizer`), and words between its rows.
_BATCH_DIGITS, _TILE = 1280, 128

#: log2 of what two primes of `Relinearizer` hold, and of an integer that two primes of a key make.
_WIDE_BITS, _PAIR_BITS = 98.4, 61

#: Seconds on one thread: of a transform, a point and stage of it; of a digit and prime of a key that is made ready, and
#: of one that a ciphertext meets, likewise. A ciphertext has as much to do beside as twenty primes take.
_TRANSFORM, _READY, _MET, _BESIDE = 1.5e-10, 4.8e-10, 2.9e-11, 20

#: Bytes of a ciphertext beside its words as it travels, and of what travels beside ciphertexts.
AROUND, NAME = 110, 400


# ---- contexts and ciphertexts in other processes -------------------------------------------------


@dataclass(frozen=True)
class Known:
    """What is said of a ciphertext: `noise` is its deviation's logarithm, and its factors."""

    level: int
    degree: int
    lag: int
    limbs: int
    key_id: int
    noise: tuple[float, int]

    @classmethod
    def of(cls, c: Ciphertext) -> Known:
        """Of a ciphertext."""
        return cls(c.level, c.degree, c.lag, c.limbs, c.key_id, (c.noise.log_deviation, c.noise.factors))

    def like(self, other: Known) -> bool:
        """Whether all is the same, but for roundings of another processor in the noise."""
        mine, others = ((k.level, k.degree, k.lag, k.limbs, k.key_id, k.noise[1]) for k in (self, other))
        return mine == others and math.isclose(self.noise[0], other.noise[0], rel_tol=1e-9)


@dataclass(frozen=True, eq=False)
class Sent:
    """A ciphertext as it travels: its words, (limbs, N), and what is said of it."""

    known: Known
    words: Words

    @classmethod
    def of(cls, c: Ciphertext) -> Sent:
        """A ciphertext, its words not copied where they lie together."""
        return cls(Known.of(c), np.ascontiguousarray(c.words))

    def opened(self, context: Context) -> Ciphertext:
        """The ciphertext.

        Raises:
            FormatError: none of this context.
        """
        known = expect(self.known, Known, "what is said of a ciphertext")
        words = expect(self.words, np.ndarray, "the words of a ciphertext")
        if words.dtype != np.uint32 or words.ndim != 2 or len(words) != known.limbs:
            raise FormatError(f"the words of a ciphertext are {words.dtype} of shape {words.shape}")
        try:
            return from_words(context, words, known.key_id, known.level, known.degree, known.lag, Noise(*known.noise))
        except (TypeError, ParameterError, ShapeError, LevelError, MismatchError, RingforgeValueError) as e:
            raise FormatError(f"a ciphertext that is none of these parameters: {e}") from None


def _opened(context: Context, sent: Sequence[Sent]) -> list[Ciphertext]:
    return [s.opened(context) for s in sent]


# ---- in workers ----------------------------------------------------------------------------------


def multiply(task: Task, kernel: ProductSumsKernel, inputs: list[Sent]) -> list[Sent]:
    """Some outputs of a kernel, as a kernel of their own."""
    return [Sent.of(c) for c in kernel.run(_opened(kernel.context, inputs), task.threads)]


def relinearize(task: Task, kernel: RelinearizeKernel, key: Stored, name: str, inputs: list[Sent]) -> list[Sent]:
    """Some ciphertexts.

    Args:
        key: a record. name: of it, for messages.
    """

    def loaded() -> Relinearizer:
        made = Relinearizer(kernel.context, task.threads)
        with naming(Path(name)):
            _native.io.eval_key_into(task.get(key), made)
        return made

    relinearizer = task.cached(("ltv key", key.name), loaded)
    size, made = _batch(kernel), list[Sent]()
    for first in range(0, len(inputs), size):
        now = _opened(kernel.context, inputs[first : first + size])
        made += [Sent.of(c) for c in relinearizer.relinearize(now, task.threads)]
        if task.progress(len(made) / len(inputs)) is False:
            raise Error("cancelled")
    return made


# ---- what shards take ----------------------------------------------------------------------------


def _batch(kernel: RelinearizeKernel) -> int:
    """Ciphertexts that a reading of the key serves."""
    return max(1, _BATCH_DIGITS // kernel.context.params.digits(kernel.level))


def _sent(context: Context, level: int) -> int:
    p = context.params
    return 4 * p.limbs(level) * p.degree + AROUND


def _transform(context: Context) -> int:
    """Points of a transform times its stages."""
    length = context.params.transform_length
    return length * (length.bit_length() - 1)


def product_costs(kernel: ProductSumsKernel, parts: int) -> list[Cost]:
    """What the shards of a kernel take, without data.

    Args:
        parts: about how many.
    """
    limbs, each = kernel.context.params.limbs(kernel.level), _sent(kernel.context, kernel.level)
    length = kernel.context.params.transform_length
    found = []
    for run in cut(len(kernel.outputs), parts):
        part, inputs = _part(kernel, run)
        transforms = limbs * (len(part.sums) + len(part.outputs))
        given, made = len(inputs) * each, len(run) * each
        working = 8 * limbs * length * (len(part.sums) + 2 * len(run))
        numbers = 6 * sum(map(len, (*part.sums, *part.outputs, *part.linear)))
        seconds = _TRANSFORM * _transform(kernel.context) * transforms
        found.append(Cost(seconds, 0, NAME + numbers + given, NAME + made, working + 2 * (given + made)))
    return found


def key_record_bytes(kernel: RelinearizeKernel) -> int:
    """Of the level's evaluation key, in the store."""
    return int(kernel.context.params.key_bytes(kernel.level)) + 200


def relinearize_costs(kernel: RelinearizeKernel, count: int, workers: int) -> list[Cost]:
    """What the shards of a run take, without key and data; the first of each worker makes the key ready.

    Args:
        count: ciphertexts. workers: of the pool.
    """
    p = kernel.context.params
    digits, limbs, each = p.digits(kernel.level), p.limbs(kernel.level - 1), _sent(kernel.context, kernel.level - 1)
    points, row = _transform(kernel.context), p.transform_length + _TILE
    bits = math.log2(digits * p.degree) + p.window + _PAIR_BITS + (0 if p.ring == "padded" else 4)
    groups = limbs if bits >= _WIDE_BITS else -(-limbs // 2)
    ready = 16 * p.transform_length * groups * digits
    found = []
    for at, run in enumerate(_runs(kernel, count, workers)):
        batch = min(_batch(kernel), len(run))
        working = batch * (8 * row * (digits + 2 * groups) + 4 * digits * p.degree)
        moved = NAME + len(run) * each
        seconds = points * digits * (len(run) * _MET * (limbs + _BESIDE) + (_READY * limbs if at < workers else 0))
        found.append(Cost(seconds, key_record_bytes(kernel), moved, moved, ready + working + 4 * moved))
    return found


def _runs(kernel: RelinearizeKernel, count: int, workers: int) -> list[range]:
    """The same number for each worker, and none larger than a reading of the key serves."""
    if not count:
        return []
    return cut(count, workers * -(-count // (_batch(kernel) * workers)))


def _part(kernel: ProductSumsKernel, run: range) -> tuple[ProductSumsKernel, list[int]]:
    """Some outputs as a kernel of their own, and the numbers of the inputs that it takes."""
    outputs, linear = kernel.outputs[run.start : run.stop], kernel.linear[run.start : run.stop]
    sums = dict.fromkeys([s for terms in outputs for pair in terms for s in pair] + [s for row in linear for s in row])
    inputs = dict.fromkeys(k for s in sums for k in kernel.sums[s])
    place, number = {k: i for i, k in enumerate(inputs)}, {s: i for i, s in enumerate(sums)}
    part = ProductSumsKernel(
        kernel.context,
        kernel.level,
        tuple(tuple(place[k] for k in kernel.sums[s]) for s in sums),
        tuple(tuple((number[a], number[b]) for a, b in terms) for terms in outputs),
        tuple(tuple(number[s] for s in row) for row in linear),
        kernel.independent,
    )
    return part, list(inputs)


# ---- on the driver -------------------------------------------------------------------------------


def _check_inputs(kernel: ProductSumsKernel, inputs: Sequence[Any]) -> list[Ciphertext]:
    """Refuses what the library would, before anything is sent."""
    found = kernel.checked(inputs)
    if not found:
        raise ShapeError("products of no ciphertexts: give those that the sums take")
    evaluator = _native.ltv.Evaluator(kernel.context)
    for c in found:
        evaluator.budget(c)  # refuses those of other parameters
        if c.key_id != found[0].key_id:
            raise MismatchError("ciphertexts are under different keys: encrypt all under one")
        if c.degree != 1:
            raise LevelError("factors are sums of ciphertexts of degree 1: relinearize them first")
    numbers = [s for terms in kernel.outputs for pair in terms for s in pair] + [
        s for row in kernel.linear for s in row
    ]
    for what, given, most in (
        ("ciphertexts", [k for row in kernel.sums for k in row], len(found)),
        ("sums", numbers, len(kernel.sums)),
    ):
        if not all(0 <= k < most for k in given):
            raise ShapeError(f"a sum takes {what} {max(given)}, there are {most}")
    if not all(kernel.sums) or not all(kernel.outputs) or len(kernel.linear) not in (0, len(kernel.outputs)):
        raise ShapeError("a sum of no ciphertexts, an output of no products, or lists of what is added for other ones")
    return found


def predicted_products(kernel: ProductSumsKernel, inputs: Sequence[Ciphertext]) -> list[Known]:
    """What is said of each output: noise as `BatchEvaluator.products` tells it."""
    rules, first = kernel.context.rules, inputs[0]
    add = rules.independent_sum if kernel.independent else rules.sum
    noise = [reduce(add, [inputs[k].noise for k in row]) for row in kernel.sums]
    level = [inputs[row[0]].level for row in kernel.sums]
    found = []
    for terms, added in zip(kernel.outputs, kernel.linear or ((),) * len(kernel.outputs), strict=True):
        a, b = terms[0]
        high, low = max(level[a], level[b]), min(level[a], level[b])
        parts = [rules.product(noise[a], noise[b]) for a, b in terms] + [rules.lifted(noise[s]) for s in added]
        total = reduce(add, parts)
        found.append(Known(high, 2, high - low, first.limbs, first.key_id, (total.log_deviation, total.factors)))
    return found


def predicted_relinearized(kernel: RelinearizeKernel, c: Ciphertext) -> Known:
    """What is said of a ciphertext that was relinearised."""
    noise = kernel.context.rules.relinearized(c.noise, kernel.level, c.degree)
    return Known(kernel.level, 1, 0, c.limbs, c.key_id, (noise.log_deviation, noise.factors))


def _checked(context: Context, known: Sequence[Known]) -> Callable[[Any], list[Ciphertext]]:
    """Holds a shard's result against what is known of it."""

    def check(result: Any) -> list[Ciphertext]:
        given = expect(result, list, "ciphertexts of LTV")
        if len(given) != len(known):
            raise FormatError(f"a worker returned {len(given)} ciphertexts, not {len(known)}")
        found = _opened(context, [expect(s, Sent, "a ciphertext of LTV") for s in given])
        for c, expected in zip(found, known, strict=True):
            if not expected.like(Known.of(c)):
                raise FormatError(f"a worker returned a ciphertext with {Known.of(c)}, where {expected} is predicted")
        return found

    return check


class _Products(Sharded):
    def place(self, p: Preparation[ProductSumsKernel], pool: Pool) -> None:
        del p, pool

    def shards(self, r: Execution[ProductSumsKernel, None], pool: Pool) -> list[Shard]:
        inputs, parts = _check_inputs(r.kernel, r.inputs), EACH * pool.workers
        known, found = predicted_products(r.kernel, inputs), []
        costs = product_costs(r.kernel, parts)
        for run, cost in zip(cut(len(r.kernel.outputs), parts), costs, strict=True):
            part, numbers = _part(r.kernel, run)
            check = _checked(r.kernel.context, known[run.start : run.stop])
            sent = [Sent.of(inputs[k]) for k in numbers]
            found.append(Shard(f"ltv products {run.start + 1} to {run.stop}", multiply, (part, sent), check, cost))
        return found

    def combine(self, r: Execution[ProductSumsKernel, None], results: list[Any]) -> tuple[list[Any], Report]:
        made = [c for found in results for c in found]
        return made, _report(r, made, {"ring_product": r.kernel.terms})


@dataclass(frozen=True)
class Placed:
    """A key in the store, and what is known of it. `name`: of its file, or what stands for it."""

    key: Stored
    key_id: int
    name: str


class _Relinearize(Sharded):
    def place(self, p: Preparation[RelinearizeKernel], pool: Pool) -> Placed:
        key = p.kernel.found(p.keys)
        if isinstance(key, StoredKey):
            record = key.record(p.kernel.context)
            return Placed(pool.put(record.words, key, record.version), record.key_id, record.name)
        words = np.frombuffer(_native.io.to_bytes(p.kernel.context, key), np.uint8)
        return Placed(pool.put(words, key), key.key_id, f"the evaluation key of level {key.level}")

    def shards(self, r: Execution[RelinearizeKernel, Placed], pool: Pool) -> list[Shard]:
        kernel, state, inputs = r.kernel, r.state, ciphertexts(r.inputs)
        self._check(kernel, state, inputs)
        found = []
        costs = relinearize_costs(kernel, len(inputs), pool.workers)
        for run, cost in zip(_runs(kernel, len(inputs), pool.workers), costs, strict=True):
            mine = inputs[run.start : run.stop]
            check = _checked(kernel.context, [predicted_relinearized(kernel, c) for c in mine])
            arguments = (kernel, state.key, state.name, [Sent.of(c) for c in mine])
            found.append(
                Shard(f"ltv relinearisations {run.start + 1} to {run.stop}", relinearize, arguments, check, cost)
            )
        return found

    @staticmethod
    def _check(kernel: RelinearizeKernel, state: Placed, inputs: Sequence[Ciphertext]) -> None:
        evaluator = _native.ltv.Evaluator(kernel.context)
        for c in inputs:
            evaluator.budget(c)  # refuses those of other parameters
            if c.key_id != state.key_id:
                raise MismatchError("the evaluation key is of another secret key than the ciphertext's")
            wanted = (kernel.level - 1, kernel.lag, kernel.context.params.limbs(kernel.level - 1))
            if (c.level, c.lag, c.limbs) != wanted:
                raise LevelError(
                    f"a ciphertext of level {c.level} over {c.lag} levels with {c.limbs} limbs; the key takes those of "
                    f"level {wanted[0]} over {wanted[1]} levels with {wanted[2]} limbs"
                )

    def combine(self, r: Execution[RelinearizeKernel, Placed], results: list[Any]) -> tuple[list[Any], Report]:
        made = [c for found in results for c in found]
        return made, _report(r, made, {"key_switch": len(made)})


def _report(r: Execution[Any, Any], made: Sequence[Ciphertext], operations: dict[str, int]) -> Report:
    traffic = {"input": ciphertext_bytes(r.inputs), "output": ciphertext_bytes(made)}
    return Report(r.device.name, 0.0, bytes=traffic, operations=operations)


register(ProductSumsKernel, "ray", _Products())
register(RelinearizeKernel, "ray", _Relinearize())
