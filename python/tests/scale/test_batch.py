# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of many batches in shards: the same words as `cpu`, as predicted, and refused where they are not."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

from ringforge import _native, devices, errors
from ringforge.devices import KeySet, conformance
from ringforge.devices.frozen import Frozen, freeze
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import Error, LevelError, MismatchError, MissingKeyError, ParameterError, ShapeError
from ringforge.matmul import batch_shards, shards
from ringforge.matmul.batch import BatchKeys, BatchProduct, EncryptedMatrices, Lines
from ringforge.matmul.batch_cases import facts, lines, words
from ringforge.matmul.batch_expected import BatchRules, known_of
from ringforge.matmul.batch_kernels import BatchKernel
from ringforge.matmul.expected import same as as_predicted
from ringforge.matmul.workload import workload
from tests.matmul.test_batch import Setting, matrices
from tests.scale import local
from tests.scale.local import LocalPool, Worker, device

Pairs = list[tuple[EncryptedMatrices, EncryptedMatrices]]

DIM = 16


class World(Setting):
    """Eight products of six batches, by all forms of lines; one batch is in four of them."""

    def __init__(self) -> None:
        super().__init__(10, DIM, 3, log_scale=45, threads=1)
        rng = np.random.default_rng(7)
        self.values = [matrices(rng, 5, DIM, DIM) for _ in range(6)]
        forms: list[Lines] = ["columns", "rows", "columns", "rows", "rows", "columns"]
        self.batches = [self.encrypt(m, by) for m, by in zip(self.values, forms, strict=True)]
        self.numbers = [(0, 3), (0, 4), (0, 5), (0, 1), (1, 3), (2, 4), (2, 3), (1, 5)]
        self.pairs: Pairs = [(self.batches[i], self.batches[j]) for i, j in self.numbers]

    def run(self, where: Any, **options: Any) -> list[EncryptedMatrices]:
        return self.product.multiply_all(self.pairs, self.keys, device=where, **options)[0]


def same(a: list[EncryptedMatrices], b: list[EncryptedMatrices]) -> None:
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert (x.count, x.rows, x.cols, facts(x.batch)) == (y.count, y.rows, y.cols, facts(y.batch))
        assert all(map(np.array_equal, words(x.batch), words(y.batch)))


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def expected(world: World) -> list[EncryptedMatrices]:
    """One by one."""
    return [world.product.multiply(a, b, world.keys)[0] for a, b in world.pairs]


@pytest.mark.parametrize("workers", [1, 3])
def test_conformance(workers: int) -> None:
    count = 0
    for name, check in conformance.checks(device(workers=workers)):
        if name.startswith(BatchKernel.__name__):
            check()
            count += 1
    assert count == 33


@pytest.mark.parametrize("workers", [0, 1, 2, 100])
def test_all_pairs_have_the_words_of_one_by_one(world: World, expected: list[EncryptedMatrices], workers: int) -> None:
    """On no workers: by `cpu`."""
    where = device(workers=workers) if workers else devices.open_device("cpu")
    seen: list[float] = []
    got, report = world.product.multiply_all(world.pairs, world.keys, device=where, progress=seen.append)
    same(got, expected)
    assert (seen, len(seen)) == (sorted(seen), 8)
    assert seen[-1] == 1.0
    for x, (i, j) in zip(got, world.numbers, strict=True):
        world.check(x, world.values[i] @ world.values[j])
    conversions = sum((i in (1, 3, 4)) + (j in (0, 2, 5)) for i, j in world.numbers)
    assert report.operations["key_switch"] == 8 * (3 * DIM - 2) + conversions * (DIM - 1)
    assert report.bytes["input"] == 6 * 16 * 1024 * DIM * 3
    assert report.bytes["output"] == 8 * 16 * 1024 * DIM * 2
    if workers:
        assert len(where.pool.ran) == 8  # type: ignore[attr-defined]


def test_results_by_rows_and_smaller_matrices(world: World) -> None:
    rng = np.random.default_rng(8)
    a, b = matrices(rng, 3, 5, 7), matrices(rng, 3, 7, 2)
    pairs = [(world.encrypt(a, level=1), world.encrypt(b, "rows", level=1))]
    (one,), _ = world.product.multiply_all(pairs, world.keys, by="rows", device=device())
    assert (one.by, one.count, one.rows, one.cols, one.level) == ("rows", 3, 5, 2, 0)
    world.check(one, a @ b)


def test_a_batch_is_put_once_for_a_run_and_keys_as_long_as_they_live(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_HELD", WeakValueDictionary())
    pool = LocalPool()
    pool._put = WeakValueDictionary()  # type: ignore[assignment]
    where, put = ShardedDevice("ray:here", pool), list[int]()
    original = pool.put

    def watched(value: Any, of: Any = None, version: Any = None) -> Any:
        before = set(pool._put)
        held = original(value, of, version)
        if set(pool._put) - before:
            put.append(held.bytes)
        return held

    monkeypatch.setattr(pool, "put", watched)
    product = BatchProduct(world.session.context, DIM)
    product.multiply_all(world.pairs, world.keys, device=where)
    keys = [b for b in put if abs(b / world.keys.bytes - 1) < 0.01]
    assert len(put) == 2 + len(world.batches)
    assert len(keys) == 1
    put.clear()
    product.multiply_all(world.pairs, world.keys, device=where)
    assert len(put) == 1 + len(world.batches)
    assert not [b for b in put if b > world.keys.bytes / 2]
    del product
    assert [held for held in pool._put.values() if held.bytes > world.keys.bytes / 2] == []


def test_threads_on_one_object(world: World, expected: list[EncryptedMatrices]) -> None:
    found, where, start = list[list[EncryptedMatrices]](), device(workers=2), threading.Barrier(3)

    def work(on: Any) -> None:
        start.wait()
        found.append(world.run(on))

    all_of_them = [threading.Thread(target=work, args=(on,)) for on in (where, where, "cpu")]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    assert len(found) == 3
    for x in found:
        same(x, expected)


def test_cancelled_where_progress_says_so(world: World) -> None:
    for where in ("cpu", device(workers=2)):
        with pytest.raises(Error, match="cancelled"):
            world.run(where, progress=lambda done: done < 0.3)


# ---- what is wrong -------------------------------------------------------------------------------


def _other(ciphertext: Frozen, number: int) -> Frozen:
    """The same words, with less said of scale, variance, spread, bound or error of double precision."""
    of_all, own = ciphertext.facts
    return replace(ciphertext, facts=(of_all, tuple(x * 0.5 if i == number else x for i, x in enumerate(own))))


def _larger(ciphertext: Frozen) -> Frozen:
    """A word that is no residue."""
    arrays = [a.copy() for a in ciphertext.arrays]
    arrays[0][3] = (1 << 63) - 1
    return replace(ciphertext, arrays=tuple(arrays))


def _spoils(world: World) -> dict[str, Callable[[Any], Any]]:
    """What a worker may return that is none, by what is wrong with it."""
    stranger, low = Setting(10, DIM, 3, log_scale=45), Setting(10, DIM, 2, log_scale=45)
    key = stranger.client.secret_key()

    def all_of(c: Any) -> Callable[[Any], Any]:
        return lambda made: replace(made, ciphertexts=[freeze(c)] * len(made.ciphertexts))

    def each(change: Callable[[Frozen], Any]) -> Callable[[Any], Any]:
        return lambda made: replace(made, ciphertexts=list(map(change, made.ciphertexts)))

    def of(s: Setting, secret: Any, level: int) -> Any:
        x = s.product.encrypt(s.client, secret, world.values[0], scale=2.0**40, level=level, bound=float(DIM))
        return x.batch.line(0)

    return {
        "no result": lambda _: None,
        "a line too few": lambda made: replace(made, ciphertexts=made.ciphertexts[:-1]),
        "a product too many": lambda made: replace(made, ciphertexts=made.ciphertexts * 2),
        "other types": each(pickle.dumps),
        "negative counts": lambda made: replace(made, operations={**made.operations, "ntt": -1}),
        "other counts": lambda made: replace(made, operations={}),
        "another level": all_of(of(world, world.secret_key, 2)),
        "another key": all_of(of(stranger, key, 1)),
        "another context": all_of(of(low, low.secret_key, 1)),
        "no residues": each(_larger),
        **{f"other facts {n}": each(lambda c, n=n: _other(c, n)) for n in range(5)},
    }


def test_what_is_spoilt_is_computed_again(world: World, expected: list[EncryptedMatrices]) -> None:
    wrong = _spoils(world)
    for start in range(0, len(wrong), 8):
        left = list(wrong.values())[start : start + 8]
        where = device(workers=1, spoil=lambda made, left=left: left.pop()(made) if left else made)
        count = len(left)
        same(world.run(where), expected)
        assert len(where.pool.ran) == 8 + count


@pytest.mark.parametrize("number", range(15))
def test_each_wrong_result_is_refused(world: World, number: int) -> None:
    """Three times: the run ends."""
    spoils = _spoils(world)
    assert len(spoils) == 15
    seen = list[str]()

    class Wrong(LocalPool):
        def run(self, found: Any, _: Any = None) -> Any:
            shard = found[0]
            right = shard.function(Worker(1, lambda _: True), *shard.arguments)
            shard.check(right)
            with pytest.raises(errors.FormatError) as e:
                shard.check(list(spoils.values())[number](right))
            seen.append(str(e.value))
            raise Error("seen")

    with pytest.raises(Error, match="seen"):
        world.product.multiply_all(world.pairs[:1], world.keys, device=ShardedDevice("ray:here", Wrong()))
    assert len(seen) == 1


def test_wrong_operands_are_refused_at_the_door(world: World) -> None:
    p, keys, pool = world.product, world.keys, LocalPool()
    x, y = world.pairs[0]
    other = Setting(10, DIM, 3, bits=45)
    foreign = [other.encrypt(world.values[0], by) for by in ("columns", "rows")]
    stranger = Setting(10, DIM, 3, log_scale=45)
    key = stranger.client.secret_key()
    theirs = p.encrypt(stranger.client, key, world.values[0], by="rows")
    for where in ("cpu", ShardedDevice("ray:here", pool)):

        def refused(
            kind: type[Exception], match: str, pairs: Any, given: BatchKeys = keys, where: Any = where, **more: Any
        ) -> None:
            with pytest.raises(kind, match=match):
                p.multiply_all(pairs, given, device=where, **more)

        refused(ShapeError, "give one at least", [])
        refused(ShapeError, "cannot multiply", [(x, y), (x, world.encrypt(world.values[0][:, :3], "rows"))])
        refused(ShapeError, "in pairs", [(x, world.encrypt(world.values[0][:1], "rows"))])
        refused(LevelError, "drop_to_level", [(x, y), (p.drop_to_level(x, 1), y)])
        low = p.drop_to_level(x, 0)
        refused(LevelError, "level 1 at least", [(low, low)])
        refused(MismatchError, "parameters", [(foreign[0], foreign[1])])
        refused(MismatchError, "made together", [(x, y), (x, theirs)])
        refused(MismatchError, "keys", [(x, y)], p.make_keys(stranger.client, key))
        refused(MismatchError, "parameters", [(x, y)], other.keys)
        refused(
            MismatchError, "made together", [(x, y)], BatchKeys(keys.galois, p.make_keys(stranger.client, key).relin)
        )
        refused(LevelError, "higher level", [(x, y)], p.make_keys(world.client, world.secret_key, 1))
        refused(errors.ValueError, '"columns" or by "rows"', [(x, y)], by="diagonals")
        refused(errors.ValueError, "do not fit level", [(world.encrypt(world.values[0], bound=1e19), y)])
    with pytest.raises(ParameterError, match="no device"):
        p.multiply_all([(x, y)], keys, device="nowhere")
    assert p.multiply_all([(x, y)], keys)[0][0].level == 1


def test_keys_that_lack_one_are_refused_before_anything_is_put(world: World) -> None:
    pool = LocalPool()
    where = ShardedDevice("ray:here", pool)
    for galois in (_native.GaloisKeys(), _few(world)):
        with pytest.raises(MissingKeyError, match="required_keys"):
            world.product.multiply_all(world.pairs, BatchKeys(galois, world.keys.relin), device=where)
    kernel = BatchKernel(world.session.context, DIM, 2, ("columns", "rows"), ((0, 1),))
    with pytest.raises(MissingKeyError, match="relinearisation"):
        where.prepare(kernel, KeySet(world.keys.galois))
    assert not pool._put


def _few(world: World) -> _native.GaloisKeys:
    few = _native.GaloisKeys()
    for element in world.product.required_keys[:-1]:
        few.insert(world.client.galois_key(world.secret_key, element))
    return few


def test_kernels_of_no_products_are_none(world: World) -> None:
    for pairs in ((), ((0, 2),), ((-1, 0),)):
        with pytest.raises(ShapeError, match="one pair at least"):
            BatchKernel(world.session.context, DIM, 2, ("columns", "rows"), pairs)
    with pytest.raises(LevelError, match="level 1 at least"):
        BatchKernel(world.session.context, DIM, 0, ("columns", "rows"), ((0, 1),))
    with pytest.raises(ShapeError, match="power of two"):
        devices.open_device("cpu").prepare(
            BatchKernel(world.session.context, 12, 2, ("columns", "rows"), ((0, 1),)), world.keys.key_set
        )


# ---- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("limbs", "special", "digit", "dim"), [(3, 1, 1, 16), (4, 2, 2, 2), (5, 3, 3, 64)])
def test_what_is_known_beforehand_is_what_products_have(limbs: int, special: int, digit: int, dim: int) -> None:
    """Of fresh operands and of products, converted and not, of secret and public keys, per-limb and hybrid keys."""
    from ringforge import ckks
    from ringforge.params import Parameters

    primes = _native.kernels.primes_below(50, limbs + special, 1 << 18)
    p = Parameters("test", 10, primes[special:], primes[:special], digit, 45.0, "test")
    s = ckks.Session(p, 1, ckks.TestSeed(bytes(range(32))))
    product = BatchProduct(s.context, dim)
    keys = product.make_keys(s.client, s.secret_key)
    rng = np.random.default_rng(dim)
    a, b = matrices(rng, 2, 2, dim, dim) / dim
    left = product.encrypt(s.client, s.secret_key, a, bound=1 / dim)
    right = product.encrypt(s.client, s.public_key, b, by="rows", scale=2.0**44, bound=2 / dim)
    once, _ = product.multiply(left, right, keys)
    low = [product.drop_to_level(x, once.level) for x in (left, right)]
    tried = [(left, right), (right, left), (left, left), (once, low[1]), (low[0], once), (once, once)]
    switched = 0
    for x, y in tried:
        rules = BatchRules(s.context, dim, x.level)
        known = [known_of(lines(z.batch), z.bound) for z in (x, y)]
        for k, form in enumerate(("columns", "rows")):
            if (x, y)[k].by != form:
                known[k] = rules.converted(known[k])
                converted, _ = product.convert((x, y)[k], form, keys)  # type: ignore[arg-type]
                assert all(as_predicted(c, rules.line(known[k])) for c in lines(converted.batch))
                switched += 1
        made, _ = product.multiply(x, y, keys)
        said = rules.product(*known)
        assert made.bound == said.bound
        for c in lines(made.batch):
            assert as_predicted(c, rules.line(said))
            assert not as_predicted(c, said)
    assert switched == 5


def test_costs_are_as_counted(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    seen = list[tuple[Any, int, int, int]]()
    run = LocalPool.run

    def watched(self: LocalPool, found: Any, progress: Any = None) -> Any:
        made = run(self, found, progress)
        for shard in found:
            result = shard.function(Worker(1, lambda _: True), *shard.arguments)
            inputs = shard.arguments[-1].values()
            sent = len(pickle.dumps((shard.function, shard.arguments)))
            seen.append((shard.cost, sum(x.bytes for x in inputs), sent, len(pickle.dumps(result, 5))))
        return made

    monkeypatch.setattr(LocalPool, "run", watched)
    monkeypatch.setattr(batch_shards, "EACH", 2)
    where = device(workers=2)
    world.run(where)
    assert len(seen) == 4
    for cost, stored, sent, result in seen:
        assert abs(cost.stored - stored) <= 0.1 * stored
        assert abs(cost.result - result) <= 0.1 * result
        assert abs(cost.sent + cost.result - sent - result) <= 0.1 * (sent + result)
    kernel = BatchKernel(world.session.context, DIM, 2, tuple(x.by for x in world.batches), tuple(world.numbers))
    costs = batch_shards.shard_costs(kernel, 4)
    assert costs == [cost for cost, *_ in seen]
    assert sum(c.seconds for c in costs) == pytest.approx(batch_shards.shard_costs(kernel, 1)[0].seconds)
    assert abs(batch_shards.key_bytes(replace(kernel)) / world.keys.bytes - 1) < 0.01


@pytest.mark.parametrize(("pair", "conversions"), [((0, 3), 0), ((1, 3), 1), ((1, 5), 2)])
def test_memory_and_weights_are_those_of_the_work(world: World, pair: tuple[int, int], conversions: int) -> None:
    """Words that a shard's product takes, and transforms that it does."""
    kernel = BatchKernel(world.session.context, DIM, 2, tuple(x.by for x in world.batches), (pair,))
    (cost,) = batch_shards.shard_costs(kernel, 1)
    measured = list[int]()

    class Measuring(LocalPool):
        def run(self, found: Any, progress: Any = None) -> Any:
            worker, (shard,) = Worker(1, lambda _: True), found
            shard.function(worker, *shard.arguments)  # keys stay with the worker
            before = _native.word_memory().now
            _native.reset_word_memory()
            made = shard.function(worker, *shard.arguments)
            measured.append(_native.word_memory().most - before)
            del made
            return super().run(found, progress)

    where = ShardedDevice("ray:here", Measuring(workers=1))
    handle = where.prepare(kernel, world.keys.key_set)
    _, report = where.run(handle, [x.batch for x in world.batches])
    assert cost.memory / 2 < measured[0] < cost.memory
    predicted = world.product.cost(2, conversions).ops
    assert report.operations == {name: getattr(predicted, name) for name in report.operations}


def test_explained_work_is_that_of_the_kernel() -> None:
    work = workload("batch", 1000)
    (keys,) = work.first(3)
    (stage,) = work.stages(3)
    assert keys.shared == stage.kept
    assert stage.function == f"{batch_shards.products.__module__}.{batch_shards.products.__qualname__}"
    assert len(stage.costs) == 8
    assert len(workload("batch", 4096).stages(1)[0].costs) == shards.EACH
    (many,) = workload("batch", 1 << 16).stages(1)
    assert len(many.costs) == 512 // batch_shards.MOST
    assert max(c.result for c in many.costs) < 9 * 64 * 16 * 2**14
    assert "set-b" in workload("batch:set-b", 1000).what
    with pytest.raises(ParameterError, match="16,777,216"):
        workload("batch", (1 << 24) + 1)
    with pytest.raises(ParameterError):
        workload("batch:nothing", 1)
