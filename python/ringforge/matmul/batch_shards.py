# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How products of batches are cut for pools of workers (:mod:`ringforge.devices.sharding`): a shard is whole products.

Keys are put once, a batch once for each run; workers share both where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ringforge._native import BatchMatmul, MatrixBatch, Tally
from ringforge.devices import Execution, Preparation, Report, register
from ringforge.devices.frozen import Frozen, freeze, stored, thaw
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut
from ringforge.matmul import travel
from ringforge.matmul.batch_expected import BatchRules, Known, known_of
from ringforge.matmul.batch_kernels import BatchKernel, Lines, Ready, check_inputs, check_keys, lines_of, native_lines
from ringforge.matmul.blocks import Counter, Pair
from ringforge.matmul.shards import (
    EACH,
    PAIR,
    UNIT_SECONDS,
    Made,
    Placed,
    ciphertext_bytes,
    did,
    expect_ciphertext,
    expect_made,
    report,
)

assert travel.schedule is not None

#: A multiply-add of the matrix products, and a butterfly across ciphertexts, in the planner's unit; both move what they
#: compute with through memory. Measured beside rotations with AVX2, for d of 32 and 64.
MULTIPLY_ADD, BUTTERFLY = 0.7, 3.0

#: Products of a shard, at the most: their results wait in the worker's memory until all are made.
MOST = 8


@dataclass(frozen=True)
class FrozenBatch:
    """A batch in the store: its lines, by which lines it is, and the bound of its entries."""

    lines: tuple[Frozen, ...]
    by: Lines
    bound: float


# ---- in workers ----------------------------------------------------------------------------------


def products(task: Task, kernel: Stored, keys: Stored, pairs: list[Pair], inputs: dict[int, Stored]) -> Made:
    """Some products; inputs by their numbers. The lines of all results, one after the other."""

    def batch(number: int) -> MatrixBatch:
        found: FrozenBatch = task.get(inputs[number])
        return MatrixBatch([thaw(x, borrow=True) for x in found.lines], native_lines(found.by), found.bound)

    def compute(_: BatchKernel, handle: Any) -> list[Any]:
        ready: Ready = handle.state
        done, out = Counter(task.progress, len(pairs)), []
        for left, right in pairs:
            made = ready.product(batch(left), batch(right), task.threads)
            out += [made.line(j) for j in range(len(made))]
            done()
        return out

    return did(task, kernel, keys, compute)


# ---- what shards take ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """What one shard does."""

    name: str
    pairs: tuple[Pair, ...]
    cost: Cost

    @property
    def inputs(self) -> list[int]:
        """Numbers of the batches that it reads."""
        return list(dict.fromkeys(k for pair in self.pairs for k in pair))


def weight(kernel: BatchKernel, native: BatchMatmul, conversions: int) -> float:
    """Of one product in the planner's unit, with so many operands to convert."""
    gadget, limbs, d = kernel.context.gadget, kernel.level + 1, kernel.dim
    cost, tally = native.cost(kernel.level, conversions), Tally(kernel.context.gadget)
    for _ in range(cost.ops.mod_up):
        tally.mod_up(limbs)
        tally.key_switch(limbs, None)
    tally.mod_down(gadget.special, limbs, d - 1 + 2 * d * conversions)
    tally.mod_down(gadget.special + 1, limbs - 1, 2 * d)
    return tally.work.weight(gadget) + MULTIPLY_ADD * cost.multiply_adds + BUTTERFLY * cost.butterflies


def parts_of(kernel: BatchKernel, parts: int) -> list[Part]:
    """The shards of a kernel, without keys and data.

    Args:
        parts: about how many; fewer where there are not as many products, more where a shard would have over `MOST`.
    """
    native, gadget, d = kernel.native(), kernel.context.gadget, kernel.dim
    needed = sorted({kernel.conversions(pair) for pair in kernel.pairs})
    weights = {n: weight(kernel, native, n) for n in needed}
    costs = {n: native.cost(kernel.level, n) for n in needed}
    given, made = (d * ciphertext_bytes(gadget, level) for level in (kernel.level, kernel.level - 1))
    found = []
    for r in cut(len(kernel.pairs), max(parts, -(-len(kernel.pairs) // MOST))):
        pairs = kernel.pairs[r.start : r.stop]
        count = [kernel.conversions(pair) for pair in pairs]
        # Of the product at hand: operands, which are copied from the store, and temporaries; and all results.
        working = max(costs[n].input_storage + costs[n].working for n in count) + len(pairs) * made
        read = len({k for pair in pairs for k in pair}) * given
        seconds = UNIT_SECONDS * sum(weights[n] for n in count)
        cost = Cost(seconds, read, 128 + PAIR * len(pairs), len(pairs) * made, working)
        found.append(Part(f"batches {r.start + 1} to {r.stop}", pairs, cost))
    return found


def shard_costs(kernel: BatchKernel, parts: int) -> list[Cost]:
    """What the shards of a kernel take: `stored` are the batches that a shard reads; keys and kernel, which all shards
    read, are not counted (`key_bytes`).

    Args:
        parts: about how many.
    """
    return [p.cost for p in parts_of(kernel, parts)]


def key_bytes(kernel: BatchKernel) -> int:
    """Bytes of the evaluation keys for the kernel's level, d - 1 Galois keys and a relinearisation key."""
    return int(kernel.native().cost(kernel.level).key_storage)


# ---- on the driver -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Operand:
    """A batch as it was put, and what is known of it."""

    stored: Stored
    known: Known


def _operand(pool: Pool, batch: MatrixBatch) -> _Operand:
    lines = [batch.line(j) for j in range(len(batch))]
    value = FrozenBatch(tuple(map(freeze, lines)), lines_of(batch), batch.bound)
    return _Operand(pool.put(value, batch), known_of(lines, batch.bound))


@dataclass(frozen=True)
class _State:
    """A prepared kernel: what lies in the store, and whom the keys belong to."""

    placed: Placed
    key_id: int


class _Batches(Sharded):
    def place(self, p: Preparation[BatchKernel], pool: Pool) -> _State:
        relin = check_keys(p.kernel, p.kernel.native(), p.keys)
        if p.progress is not None:
            p.progress(1.0)
        return _State(Placed(pool.put(p.kernel), stored(pool, p.keys)), relin.key_id)

    def shards(self, r: Execution[BatchKernel, _State], pool: Pool) -> list[Shard]:
        kernel, state = r.kernel, r.state
        check_inputs(kernel, kernel.native(), r.inputs, state.key_id)
        given = [_operand(pool, batch) for batch in r.inputs]
        rules, found = BatchRules(kernel.context, kernel.dim, kernel.level), []
        for part in parts_of(kernel, EACH * pool.workers):
            args = (state.placed.kernel, state.placed.keys, list(part.pairs), {k: given[k].stored for k in part.inputs})
            known = [_product(kernel, rules, given, pair) for pair in part.pairs]
            found.append(Shard(part.name, products, args, _checked(kernel, rules, state.key_id, known), part.cost))
        return found

    def combine(self, r: Execution[BatchKernel, _State], results: list[Any]) -> tuple[list[Any], Report]:
        outputs = [batch for found, _ in results for batch in found]
        return outputs, report(r, [made for _, made in results], outputs, r.kernel.dim)


def _product(kernel: BatchKernel, rules: BatchRules, given: Sequence[_Operand], pair: Pair) -> Known:
    """What a product will be."""
    left, right = (given[k].known for k in pair)
    if kernel.forms[pair[0]] != "columns":
        left = rules.converted(left)
    if kernel.forms[pair[1]] != "rows":
        right = rules.converted(right)
    return rules.product(left, right)


def _checked(
    kernel: BatchKernel, rules: BatchRules, key_id: int, known: Sequence[Known]
) -> Callable[[Any], tuple[list[MatrixBatch], Made]]:
    """Holds a shard's result against what its products will be."""
    d, by = kernel.dim, native_lines(kernel.by)

    def check(result: Any) -> tuple[list[MatrixBatch], Made]:
        made, found = expect_made(result, d * len(known)), []
        for k, batch in enumerate(known):
            line = rules.line(batch)
            lines = [
                expect_ciphertext(c, kernel.context, kernel.level - 1, key_id, line)
                for c in made.ciphertexts[k * d : (k + 1) * d]
            ]
            found.append(MatrixBatch(lines, by, batch.bound))
        return found, made

    return check


register(BatchKernel, "ray", _Batches())

__all__ = ["BatchKernel", "key_bytes", "shard_costs"]
