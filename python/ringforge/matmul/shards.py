# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the kernels of matrices are cut for pools of workers (:mod:`ringforge.devices.sharding`).

The transforms of a grid's operands are cut by operands, its products by products, in their order: a shard adds up those
of its products that begin a sum, and sends back the others one by one, so that whoever adds up the rest does it in the
order of `cpu`. A single kernel is one shard. Keys and kernels are put once, an operand once for each run; workers
encode diagonals and masks once and keep them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ringforge import _native
from ringforge._native import Ciphertext, Context, Evaluator, GadgetShape, Tally
from ringforge.devices import CpuDevice, Execution, KeySet, Preparation, Report, register
from ringforge.devices.cpu import operation_counts
from ringforge.devices.frozen import Frozen, freeze, stored, thaw
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut, expect
from ringforge.errors import FormatError, MissingKeyError
from ringforge.matmul import travel
from ringforge.matmul.blocks import Counter, OperandKernel, Pair, Prepared, ProductsKernel, check_inputs
from ringforge.matmul.expected import Expected, Facts, same
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel
from ringforge.matmul.operations import Symbol
from ringforge.matmul.slots import period

assert travel.schedule is not None

#: Products that are added up.
Sum = tuple[Pair, ...]

#: A function of a module, and its arguments after kernel and keys.
Call = tuple[Callable[..., Any], tuple[Any, ...]]

#: Shards for each worker, so that all end at about the same time.
EACH = 8

#: Bytes that travel around what is counted: headers, metadata; and those of a pair of numbers.
AROUND, PAIR = 1024, 8

#: Seconds of a unit of the planner's weight on one thread.
UNIT_SECONDS = 0.8e-9


@dataclass(frozen=True)
class Placed:
    """A prepared kernel of a pool: its kernel and keys in the store."""

    kernel: Stored
    keys: Stored


# ---- in workers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """What a shard gives: ciphertexts, and what making them took."""

    ciphertexts: list[Frozen]
    operations: dict[str, int]
    key_bytes: int
    matrix_bytes: int


def did(task: Task, kernel: Stored, keys: Stored, compute: Callable[[Any, Any], list[Any]]) -> Made:
    """The ciphertexts that `compute` makes with the kernel and what was prepared for it here: of a kernel of blocks its
    `Prepared`, of any other a handle of `cpu`."""
    found, prepared = task.cached(("matmul", kernel.name, keys.name), lambda: _prepare(task, kernel, keys))
    with _native.counting() as counts:
        made = compute(found, prepared)
    ops = counts.operations
    return Made([freeze(c) for c in made], operation_counts(ops), int(ops.key_bytes), int(ops.plaintext_bytes))


def _prepare(task: Task, kernel: Stored, keys: Stored) -> tuple[Any, Any]:
    found, device = task.get(kernel), CpuDevice()
    given = task.cached(("keys", keys.name), lambda: thaw(task.get(keys)))
    if isinstance(found, OperandKernel | ProductsKernel):
        return found, Prepared.of(device, found, given, task.threads)
    return found, device.prepare(found, given, threads=task.threads)


def _given(task: Task, inputs: Sequence[Stored]) -> list[Any]:
    return [thaw(task.get(x), borrow=True) for x in inputs]


def single(task: Task, kernel: Stored, keys: Stored, inputs: list[Stored]) -> Made:
    """A kernel as `cpu` runs it."""

    def compute(_: Any, handle: Any) -> list[Any]:
        made, _ = CpuDevice().run(handle, _given(task, inputs), threads=task.threads, progress=task.progress)
        return made

    return did(task, kernel, keys, compute)


def operands(task: Task, kernel: Stored, keys: Stored, inputs: list[Stored]) -> Made:
    """The bases of some operands."""

    def compute(found: OperandKernel, prepared: Prepared) -> list[Any]:
        done, out = Counter(task.progress, len(inputs)), []
        for x in _given(task, inputs):
            out += prepared.operand(found, x, task.threads)
            done()
        return out

    return did(task, kernel, keys, compute)


def products(task: Task, kernel: Stored, keys: Stored, parts: list[list[Pair]], inputs: dict[int, Stored]) -> Made:
    """Sums of products; inputs by their numbers."""

    def compute(found: ProductsKernel, prepared: Prepared) -> list[Any]:
        given = dict(zip(inputs, _given(task, list(inputs.values())), strict=True))
        done = Counter(task.progress, sum(map(len, parts)))
        return [prepared.total(found, pairs, given, task.threads, done) for pairs in parts]

    return did(task, kernel, keys, compute)


# ---- what shards take ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """What one run of a kernel takes: the planner's weight, bytes of what is encoded, and of temporaries."""

    weight: float
    storage: int
    working: int

    def __add__(self, other: Taken) -> Taken:
        """One after the other."""
        return Taken(self.weight + other.weight, self.storage + other.storage, max(self.working, other.working))


_known: WeakKeyDictionary[Any, Taken] = WeakKeyDictionary()


def taken(kernel: Any) -> Taken:
    """Counts of a transform, a product or a sum of products, as the library has them."""
    if kernel not in _known:
        _known[kernel] = _count(kernel)
    return _known[kernel]


def _count(kernel: Any) -> Taken:
    gadget = kernel.context.gadget
    tally, limbs = Tally(gadget, getattr(kernel, "compact", False)), kernel.level + 1
    if isinstance(kernel, HltKernel):
        steps, slots = np.ascontiguousarray(kernel.map.steps, np.uint32), kernel.map.slots
        rows = [kernel.map.diagonal(i) for i in range(len(kernel.map))]
        ones = [np.flatnonzero(row) for row in rows]
        periods = np.array([period(slots, s, r[s]) for s, r in zip(ones, rows, strict=True)], np.int64)
        babies = np.ascontiguousarray(kernel.babies, np.uint32)
        tally.storage += tally.transform(steps, babies, periods, slots, limbs, kernel.schedule)
    elif isinstance(kernel, PairSumKernel):
        _count_pairs(tally, kernel, limbs)
    else:
        tally.multiplied(4 * limbs)
        tally.mod_up(limbs)
        tally.key_switch(limbs, None)
        tally.mod_down(gadget.special, limbs, 2)
    return Taken(tally.work.weight(gadget), int(tally.storage), int(tally.working))


def _count_pairs(tally: Tally, kernel: PairSumKernel, limbs: int) -> None:
    plan, slots = kernel.plan, kernel.context.params.slots
    masks = [np.array(m, np.uint32) for m in plan.masks]
    periods = [period(slots, m) for m in masks]

    def flat(shifts: list[list[list[int]]]) -> tuple[Any, Any]:
        rows = [
            (base, step, 1 if m < 0 else periods[m], -1 if m < 0 else len(masks[m]))
            for shift in shifts
            for base, step, _, m in shift
        ]
        first = np.cumsum([0, *map(len, shifts)], dtype=np.int64)
        return np.array(rows, np.int64).reshape(-1, 4), first

    pairs = [pair for _, found in plan.groups for pair in found]
    left, right = flat([a for a, _ in pairs]), flat([b for _, b in pairs])
    groups = [(outer, len(found)) for outer, found in plan.groups]
    vias = {t[2] for a, b in pairs for t in (*a, *b) if t[2]}
    product = kernel.native().output_level + 2
    via = math.gcd(*vias) if vias else 0
    tally.pair_sum(plan.left_bases, *left, plan.right_bases, *right, groups, slots, limbs, product, via)
    for step in (*([-1] if plan.real_part else []), *plan.folds):
        tally.rotate(product - 1, step)


def ciphertext_bytes(gadget: GadgetShape, level: int) -> int:
    """Of one of two parts, in the store and on its way."""
    return 16 * gadget.degree * (level + 1) + AROUND


def _of_stages(kernel: OperandKernel) -> Taken:
    """One operand."""
    gadget, total = kernel.context.gadget, Taken(0.0, 0, 0)
    for stage in kernel.stages:
        if stage.kernel is not None:
            total = total + taken(stage.kernel)
        for _ in stage.steps:
            total = total + Taken(gadget.step_weights(stage.level + 1)[1], 0, 0)
    return total


def _of_product(kernel: ProductsKernel) -> Taken:
    """One product."""
    gadget, total, level = kernel.context.gadget, taken(kernel.pairs), kernel.pairs.native().output_level
    if kernel.ladder is not None:
        total = total + Taken(len(kernel.ladder.steps) * gadget.step_weights(level + 1)[1], 0, 0)
    return total if kernel.tail is None else total + taken(kernel.tail)


def encoded(kernel: Any) -> int:
    """Bytes of diagonals and masks that a worker makes for a kernel and keeps."""
    if isinstance(kernel, OperandKernel):
        return _of_stages(kernel).storage
    return _of_product(kernel).storage if isinstance(kernel, ProductsKernel) else taken(kernel).storage


def result_level(kernel: Any) -> int:
    """Of the results."""
    if isinstance(kernel, OperandKernel):
        last = kernel.bases[0][-1:] or kernel.prefix[-1:]
        return int(last[0].level - (last[0].kernel is not None)) if last else kernel.level
    if isinstance(kernel, ProductsKernel):
        level = kernel.pairs.native().output_level
        return int(level) - int(kernel.tail is not None)
    if isinstance(kernel, PairSumKernel):
        return int(kernel.native().output_level)
    return int(kernel.level - isinstance(kernel, HltKernel))


@dataclass(frozen=True)
class Part:
    """What one shard does: of an operand kernel which operands, of a products kernel which sums of which products."""

    name: str
    operands: range
    sums: tuple[Sum, ...]
    results: int
    cost: Cost


def parts_of(kernel: Any, parts: int) -> list[Part]:
    """The shards of a kernel, without keys and data.

    Args:
        kernel: an `OperandKernel` or `ProductsKernel`; any other of this room is one shard.
        parts: about how many; fewer where there are not as many operands or products.
    """
    gadget, made = kernel.context.gadget, ciphertext_bytes(kernel.context.gadget, result_level(kernel))
    found: list[Part] = []

    def add(
        name: str, which: range, sums: tuple[Sum, ...], runs: int, results: int, read: int, size: int, of: Taken
    ) -> None:
        # Keys and kernel, which all shards read, are counted where they are put.
        memory = of.storage + of.working + results * made
        cost = Cost(UNIT_SECONDS * runs * of.weight, read * size, 128 + PAIR * runs, results * made, memory)
        found.append(Part(name, which, sums, results, cost))

    if isinstance(kernel, OperandKernel):
        each, size = _of_stages(kernel), ciphertext_bytes(gadget, kernel.level)
        for r in cut(kernel.count, parts):
            name = f"operands {r.start + 1} to {r.stop}"
            add(name, r, (), len(r), len(r) * len(kernel.bases), len(r), size, each)
    elif isinstance(kernel, ProductsKernel):
        each, size = _of_product(kernel), ciphertext_bytes(gadget, kernel.pairs.level)
        whole = [(of, pair) for of, pairs in enumerate(kernel.sums) for pair in pairs]
        first = np.cumsum([0, *map(len, kernel.sums)]).tolist()
        for r in cut(len(whole), parts):
            sums: list[list[Pair]] = []
            for k in r:
                of, pair = whole[k]
                if k > first[of] >= r.start:
                    sums[-1].append(pair)
                else:
                    sums.append([pair])
            inputs = {x for s in sums for pair in s for side in kernel.bases(pair) for x in side}
            name = f"products {r.start + 1} to {r.stop}"
            add(name, r, tuple(map(tuple, sums)), len(r), len(sums), len(inputs), size, each)
    else:
        size = ciphertext_bytes(gadget, kernel.level)
        add(type(kernel).__name__, range(1), (), 1, 1, _inputs(kernel), size, taken(kernel))
    return found


def shard_costs(kernel: Any, parts: int) -> list[Cost]:
    """What the shards of a kernel take: `stored` are its inputs; keys and kernel, which all shards of all kernels read,
    are not counted."""
    return [p.cost for p in parts_of(kernel, parts)]


def input_bytes(kernel: Any) -> int:
    """Bytes of a kernel's inputs, in the store."""
    return _inputs(kernel) * ciphertext_bytes(kernel.context.gadget, _level(kernel))


# ---- on the driver -------------------------------------------------------------------------------


class _Kernels(Sharded):
    def place(self, p: Preparation[Any], pool: Pool) -> Placed:
        require(p.kernel, p.keys)
        if p.progress is not None:
            p.progress(1.0)
        return Placed(pool.put(p.kernel), stored(pool, p.keys))

    def shards(self, r: Execution[Any, Placed], pool: Pool) -> list[Shard]:
        kernel, state = r.kernel, r.state
        check_inputs(r.inputs, _inputs(kernel), _level(kernel))
        placed = [stored(pool, c) for c in r.inputs]
        check = _Check(kernel, Expected(kernel, r.inputs), r.inputs[0].key_id)
        found = []
        for part in parts_of(kernel, EACH * pool.workers):
            function, arguments = self.call(kernel, part, placed)
            args = (state.kernel, state.keys, *arguments)
            found.append(Shard(part.name, function, args, check.of(part), part.cost))
        return found

    def call(self, kernel: Any, part: Part, stored: list[Stored]) -> Call:  # noqa: ARG002
        """A shard's function, and its arguments after kernel and keys."""
        return single, (stored,)

    def combine(self, r: Execution[Any, Placed], results: list[Any]) -> tuple[list[Any], Report]:
        outputs = self.join(r, [(part, found) for part, found, _ in results])
        return outputs, report(r, [made for _, _, made in results], outputs)

    def join(self, r: Execution[Any, Placed], results: list[tuple[Part, list[Any]]]) -> list[Any]:  # noqa: ARG002
        """The kernel's results of those of its parts. Workers come and go: parts are what they were when they began."""
        return [c for _, found in results for c in found]


class _Operands(_Kernels):
    def call(self, kernel: OperandKernel, part: Part, stored: list[Stored]) -> Call:  # noqa: ARG002
        return operands, ([stored[k] for k in part.operands],)


class _Products(_Kernels):
    def call(self, kernel: ProductsKernel, part: Part, stored: list[Stored]) -> Call:
        numbers = {x: None for s in part.sums for pair in s for side in kernel.bases(pair) for x in side}
        return products, (list(map(list, part.sums)), {x: stored[x] for x in numbers})

    def join(self, r: Execution[ProductsKernel, Placed], results: list[tuple[Part, list[Any]]]) -> list[Any]:
        evaluator, out = Evaluator(r.kernel.context, r.threads), []
        made = iter([c for _, found in results for c in found])
        counts = iter([len(s) for part, _ in results for s in part.sums])
        for pairs in r.kernel.sums:
            total, left = next(made), len(pairs) - next(counts)
            while left:
                total, left = evaluator.add(total, next(made)), left - next(counts)
            out.append(total)
        return out


def _inputs(kernel: Any) -> int:
    if isinstance(kernel, OperandKernel):
        return kernel.count
    if isinstance(kernel, ProductsKernel):
        return kernel.inputs
    if isinstance(kernel, PairSumKernel):
        return kernel.plan.left_bases + kernel.plan.right_bases
    return 2 if isinstance(kernel, MultiplyKernel) else 1


def _level(kernel: Any) -> int:
    return int(kernel.pairs.level if isinstance(kernel, ProductsKernel) else kernel.level)


def require(kernel: Any, keys: KeySet) -> None:
    """Refuses keys that lack some of a kernel's, before they are put.

    Raises:
        MissingKeyError: a key is missing, or made for a lower level.
    """
    if not isinstance(kernel, HltKernel | OperandKernel):
        keys.required_relin()
    for element, level in required_keys(kernel).items():
        if element not in keys.galois or keys.galois.level(element) < level:
            raise MissingKeyError(
                f"the evaluation keys lack the Galois key of element {element} for level {level}: the key holder makes "
                "those of this program"
            )


def required_keys(kernel: Any) -> dict[int, int]:
    """Galois elements, with the highest level that each is used at."""
    out: dict[int, int] = {}

    def need(steps: Sequence[int], level: int) -> None:
        for step in steps:
            element = kernel.context.rotation_element(step % kernel.context.params.slots)
            if element != 1:
                out[element] = max(level, out.get(element, 0))

    def merge(other: Mapping[int, int]) -> None:
        for element, level in other.items():
            out[element] = max(level, out.get(element, 0))

    if isinstance(kernel, HltKernel):
        need(kernel.native().steps, kernel.level)
    elif isinstance(kernel, PairSumKernel):
        merge(dict(kernel.native().required_keys))
    elif isinstance(kernel, OperandKernel):
        for stage in kernel.stages:
            need(stage.steps, stage.level)
            merge({} if stage.kernel is None else required_keys(stage.kernel))
    elif isinstance(kernel, ProductsKernel):
        merge(required_keys(kernel.pairs))
        if kernel.ladder is not None:
            need(kernel.ladder.steps, kernel.pairs.native().output_level)
        merge({} if kernel.tail is None else required_keys(kernel.tail))
    return out


@dataclass(frozen=True)
class _Check:
    """Holds a shard's result against what is known of it."""

    kernel: Any
    expected: Expected
    key_id: int

    def of(self, part: Part) -> Callable[[Any], tuple[Part, list[Any], Made]]:
        """For the results of a part: with it, they are what is joined."""
        count = part.results

        def check(result: Any) -> tuple[Part, list[Any], Made]:
            made = expect_made(result, count)
            context, key_id = self.kernel.context, self.key_id
            found = [
                expect_ciphertext(c, context, known.level, key_id, known.known)
                for c, known in zip(made.ciphertexts, self._known(part), strict=True)
            ]
            return part, found, made

        return check

    def _known(self, part: Part) -> list[Symbol]:
        if isinstance(self.kernel, OperandKernel):
            return self.expected.of_operands(part.operands)
        if isinstance(self.kernel, ProductsKernel):
            return [self.expected.of_sum(pairs) for pairs in part.sums]
        return self.expected.single()


_NAMES = set(operation_counts(_native.Work()))


def expect_made(result: Any, count: int) -> Made:
    """A shard's result, if it has so many ciphertexts and its counts are some; the ciphertexts are not looked at.

    Raises:
        FormatError: it has not.
    """
    made = expect(result, Made, "ciphertexts of a product of matrices")
    if not isinstance(made.ciphertexts, list) or len(made.ciphertexts) != count:
        raise FormatError(f"a worker returned another number of ciphertexts than {count}")
    numbers = [made.key_bytes, made.matrix_bytes, *expect(made.operations, dict, "counts").values()]
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or set(made.operations) != _NAMES:
        raise FormatError("a worker returned counts that are none")
    return made


def expect_ciphertext(frozen: Any, context: Context, level: int, key_id: int, known: Facts) -> Ciphertext:
    """A ciphertext that a worker returned, if it is what was to come.

    Raises:
        FormatError: it is none of two parts of this context, or of another level, key, scale, bound or noise.
    """
    c = thaw(expect(frozen, Frozen, "a ciphertext"), context, check=True)
    if not isinstance(c, Ciphertext) or c.size != 2:
        raise FormatError("a worker returned something else than a ciphertext of two parts")
    if (c.level, c.key_id) != (level, key_id):
        raise FormatError(f"a worker returned a ciphertext of level {c.level}, not {level}, or of another key")
    if not same(c, known):
        raise FormatError("a worker returned a ciphertext of another scale, bound or noise than its plan predicts")
    return c


def report(r: Execution[Any, Any], made: list[Made], outputs: list[Any], lines: int = 1) -> Report:
    """What shards took together; seconds are left out.

    Args:
        lines: ciphertexts in each input and output.
    """
    degree = r.kernel.context.params.degree
    operations = {name: sum(m.operations[name] for m in made) for name in made[0].operations}
    traffic = {
        "keys": sum(m.key_bytes for m in made),
        "matrix": sum(m.matrix_bytes for m in made),
        "input": sum(16 * degree * lines * (c.level + 1) for c in r.inputs),
        "output": sum(16 * degree * lines * (c.level + 1) for c in outputs),
    }
    return Report(r.device.name, 0.0, bytes=traffic, operations=operations)


register(HltKernel, "ray", _Kernels())
register(PairSumKernel, "ray", _Kernels())
register(MultiplyKernel, "ray", _Kernels())
register(OperandKernel, "ray", _Operands())
register(ProductsKernel, "ray", _Products())

__all__ = ["OperandKernel", "ProductsKernel", "shard_costs"]
