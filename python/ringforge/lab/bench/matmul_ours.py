# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our side of `bench matmul`: one product, measured in this process."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringforge import _native, ckks
from ringforge.devices import KeySet
from ringforge.errors import ShapeError
from ringforge.lab.papers.matmul import Shape
from ringforge.lab.timing import Timing, median, timed, total
from ringforge.lab.timing import measure as measured
from ringforge.matmul.batch import BatchProduct
from ringforge.matmul.engine import Options, Product, diagonals, shift_matrix
from ringforge.matmul.methods import fame
from ringforge.matmul.plan import ProductPlan, Transform
from ringforge.matmul.planner import choose, free_memory
from ringforge.matmul.slots import SlotMatrix
from ringforge.params import Parameters

#: The naive product is run whole if it takes no longer than this, else put together from this many diagonals.
LIMIT_S = 180.0
SAMPLES = 32

#: Schedules of the published product, besides the planner's methods.
NAIVE = "naive"

#: As many products at once as fit, for the time of one.
BATCH = "batch"


@dataclass(frozen=True)
class Ours:
    """Our side of a case: medians of a product, and what encoding took beforehand; `extra` is kept in the record."""

    time: Timing
    encoding: Timing
    algorithm: str
    level: int
    max_rel_error: float | None
    peak_mib: float
    extra: dict[str, Any]


def measure(
    shape: Shape,
    params: Parameters,
    *,
    algorithm: str,
    threads: int,
    seed: int,
    budget_s: float,
    full: bool = True,
) -> Ours:
    """Time of one product; see `ringforge.lab.bench.matmul.ours`.

    Args:
        full: inputs at the highest level, or at the lowest that a plan takes.
    """
    session = ckks.Session(params, threads)
    if algorithm == NAIVE:
        return _naive(session, shape, seed)
    if algorithm == BATCH:
        return _batch(session, shape, seed, budget_s, None if full else 1)
    choice = choose(
        session.context,
        shape.m,
        shape.l,
        shape.n,
        params.max_level if full else None,
        method=algorithm,
        memory=free_memory(0.92),
        keys="auto",
    )
    product = Product(session.context, choice.plan, choice.level, options=choice.options, threads=threads)
    return _run(session, product, shape, seed, budget_s, {"plan": choice.chosen.name})


def _matrices(shape: Shape, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (shape.m, shape.l)), rng.uniform(-1, 1, (shape.l, shape.n))


def make_keys(session: ckks.Session, product: Product) -> KeySet:
    """The keys of one product."""
    client, secret = session.client, session.secret_key
    for element, level in product.required_keys.items():
        session.galois_keys.insert(client.galois_key(secret, element, level, session.threads))
    return KeySet(session.galois_keys, client.relin_key(secret, product.relin_level, session.threads))


def _prepared(product: Product) -> Timing:
    """What encoding took so far."""
    return Timing(product.prepare_seconds, product.prepare_cpu_seconds)


def _run(
    session: ckks.Session, product: Product, shape: Shape, seed: int, budget_s: float, extra: dict[str, Any]
) -> Ours:
    plan, params = product.plan, session.params
    making, keys = timed(lambda: make_keys(session, product))
    product.prepare(keys)
    prepared = _prepared(product)
    a, b = _matrices(shape, seed)
    left, right = (
        session.encrypt(layout.pack(x, params.slots), level=product.level)
        for layout, x in ((plan.left_layout, a), (plan.right_layout, b))
    )
    phases: list[tuple[Timing, Timing, Timing]] = []
    begun = time.perf_counter()
    with _native.counting() as did:
        while len(phases) < 3 or time.perf_counter() - begun < budget_s:
            before = _prepared(product)
            one, first = timed(lambda: product.left(left))
            two, second = timed(lambda: product.right(right))
            three, (c, _) = timed(lambda first=first, second=second: product.multiply(first, second))  # type: ignore[misc]
            # Plans that are not lazy encode the masks of each pair as they go; that is no part of the product's time.
            encoding = _prepared(product).less(before)
            phases.append((one, two, three.less(encoding)))
            if len(phases) >= 3 and total(phases[-1]).wall > LIMIT_S:
                break
    ops = did.operations
    exact = a @ b
    got = plan.out_layout.unpack(session.decrypt(c)).real
    error = float(np.abs(got - exact).max())
    return Ours(
        median(map(total, phases)),
        total((prepared, encoding)),
        plan.method,
        product.level,
        error / float(np.abs(exact).max()),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        extra
        | {
            "cpu_phases": [median(phase).cpu for phase in zip(*phases, strict=True)],
            "runs": len(phases),
            "key_seconds": making.wall,
            "keys": len(product.required_keys) + 1,
            "key_mib": session.galois_keys.bytes / 2**20,
            "key_switches": ops.key_switch // len(phases),
            "max_error": error,
            "error_bound": c.error_bound,
            "result_level": c.level,
            "rotation_cpu_seconds": _rotation(session, product.level).cpu,
        },
    )


def _batch(session: ckks.Session, shape: Shape, seed: int, budget_s: float, level: int | None) -> Ours:
    """A whole batch of square products; the time is that of the batch divided by its size."""
    if not shape.m == shape.l == shape.n:
        raise ShapeError(f"batches are measured on squares, not on {shape}: pad the matrices")
    params, client, secret = session.params, session.client, session.secret_key
    product = BatchProduct(session.context, shape.m, threads=session.threads)
    level = params.max_level if level is None else level
    making, keys = timed(lambda: product.make_keys(client, secret, level=level))
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, product.capacity, shape.m, shape.m))
    left = product.encrypt(client, secret, a, by="columns", level=level)
    right = product.encrypt(client, secret, b, by="rows", level=level)
    runs: list[Timing] = []
    begun = time.perf_counter()
    with _native.counting() as did:
        while len(runs) < 3 or time.perf_counter() - begun < budget_s:
            taken, (result, _) = timed(lambda: product.multiply(left, right, keys))
            runs.append(taken.times(1 / product.capacity))
    ops = did.operations
    error = float(np.abs(product.decrypt(client, secret, result) - a @ b).max())
    return Ours(
        median(runs),
        Timing(0.0, 0.0, 0),
        BATCH,
        level,
        error / float(np.abs(a @ b).max()),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        {
            "plan": f"batch of {product.capacity}",
            "runs": len(runs),
            "key_seconds": making.wall,
            "keys": len(product.required_keys) + 1,
            "key_mib": keys.bytes / 2**20,
            "key_switches": ops.key_switch // len(runs),
            "max_error": error,
            "error_bound": product.error_bound(result),
            "result_level": result.level,
        },
    )


def _rotation(session: ckks.Session, level: int) -> Timing:
    """One full rotation at a level."""
    keys = _native.GaloisKeys()
    element = session.context.rotation_element(1)
    keys.insert(session.client.galois_key(session.secret_key, element, level, session.threads))
    x = session.encrypt([1.0], level=level)
    return measured(lambda: session.evaluator.rotate(x, 1, keys), 0.0, at_least=5)


# ---- the published product with a full key switch for each diagonal ------------------------------


def _naive(session: ckks.Session, shape: Shape, seed: int) -> Ours:
    """Algorithm 2 by Algorithm 1: whole where that is quick and keys fit, else from samples."""
    params = session.params
    plan = fame.plan(shape.m, shape.l, shape.n, params.slots)
    product = Product(session.context, plan, options=Options("naive"), threads=session.threads)
    sampled = _sample(session, plan, seed)
    memory = len(product.required_keys) * _key_bytes(params)
    if sampled.time.wall < LIMIT_S and memory < free_memory():
        return _run(session, product, shape, seed, 0.0, {"plan": NAIVE, "extrapolated": False})
    return sampled


def _key_bytes(p: Parameters) -> int:
    limbs, digits = len(p.q) + len(p.p), -(-len(p.q) // p.limbs_per_digit)
    return 16 * digits * limbs * p.degree


def _sample(session: ckks.Session, plan: ProductPlan, seed: int) -> Ours:
    """Time of the naive product, from at least 32 diagonals of either step and five products."""
    level = session.params.max_level
    first = [s.matrix for side in (plan.left, plan.right) for s in side.prefix if isinstance(s, Transform)]
    count_1 = sum(int((m.steps != 0).sum()) for m in first)
    shifts = [s for k in plan.pairs for s in plan.pair(k)]
    count_2 = sum(1 for shift in shifts for t in shift if t.step)
    sample_1 = _first_diagonals(first[0], SAMPLES)
    terms = tuple(t for shift in shifts[: 4 * SAMPLES] for t in shift if t.step)
    unique = tuple({t.step: t for t in terms}.values())[:SAMPLES]
    sample_2 = shift_matrix(plan.slots, unique)
    rng = np.random.default_rng(seed)
    diagonal: list[Timing] = []
    rescales: list[Timing] = []
    for matrix, at in ((sample_1, level), (sample_2, level - 1)):
        for step in matrix.steps:
            element = session.context.rotation_element(int(step))
            if step:
                session.galois_keys.insert(session.client.galois_key(session.secret_key, element, at, session.threads))
        x = session.encrypt(rng.uniform(-1, 1, plan.slots), level=at)
        hlt = _native.Hlt(session.context, diagonals(matrix), at, _native.Schedule.naive, matrix.steps)
        hlt.encode(x.scale, x.scale, 1.0, False, session.threads)
        # As large as a product is: a fresh ciphertext would have no scale left.
        product = session.evaluator.mul_scalar(x, 1.0, x.scale)
        rescale = measured(lambda y=product: session.evaluator.rescale(y), 0.0, at_least=5)  # type: ignore[misc]
        taken, _ = timed(lambda x=x, hlt=hlt: hlt.run(x, session.galois_keys, session.threads))  # type: ignore[misc]
        diagonal.append(taken.less(rescale).times(1 / int((matrix.steps != 0).sum())))
        rescales.append(rescale)
        for step in matrix.steps:
            session.galois_keys.erase(session.context.rotation_element(int(step)))
    relin = session.client.relin_key(session.secret_key, level - 2, session.threads)
    y = session.encrypt(rng.uniform(-1, 1, plan.slots), level=level - 2)
    ev = session.evaluator
    multiply = measured(lambda: ev.relinearize(ev.mul(y, y), relin), 0.0, at_least=5)
    pairs = len(plan.pairs)
    whole = total(
        (
            diagonal[0].times(count_1),
            diagonal[1].times(count_2),
            multiply.times(pairs),
            rescales[0].times(len(first)),
            rescales[1].times(2 * pairs),
        )
    )
    return Ours(
        whole,
        Timing(0.0, 0.0, 0),
        "fame",
        level,
        None,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        {
            "plan": NAIVE,
            "extrapolated": True,
            "rotations": [count_1, count_2],
            "diagonal_cpu_seconds": [d.cpu for d in diagonal],
            "multiply_cpu_seconds": multiply.cpu,
            "samples": [int((m.steps != 0).sum()) for m in (sample_1, sample_2)],
        },
    )


def _first_diagonals(matrix: SlotMatrix, count: int) -> SlotMatrix:
    """A map with the first diagonals of another that are not the zeroth."""
    low = int(matrix.steps[0] == 0)
    part = slice(int(matrix.offsets[low]), int(matrix.offsets[min(low + count, matrix.diagonals)]))
    return SlotMatrix(matrix.slots, matrix.target[part], matrix.source[part], matrix.value[part])
