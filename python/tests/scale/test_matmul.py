# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of encrypted matrices in shards: the same words as `cpu`, with the bytes that were predicted."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge.devices import ciphertexts, conformance
from ringforge.devices.frozen import Frozen, freeze
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import Error, MissingKeyError, ParameterError
from ringforge.matmul import EvaluationKeys, KeyHolder, Parcel, Server, shards
from ringforge.matmul.block_cases import cases
from ringforge.matmul.blocks import OperandKernel, ProductsKernel
from ringforge.matmul.forecast import forecast
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel
from ringforge.matmul.program import Input, Program, trace
from ringforge.matmul.workload import workload
from ringforge.params import Parameters
from tests.scale.local import LocalPool, Worker, device

KERNELS = (HltKernel, PairSumKernel, MultiplyKernel, OperandKernel, ProductsKernel)

PRIMES = _native.kernels.primes_below(50, 6, 1 << 18)


def _suites(found: ShardedDevice) -> Iterator[tuple[str, Callable[[], None]]]:
    names = tuple(k.__name__ for k in KERNELS)
    return (x for x in conformance.checks(found) if x[0].startswith(names))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_conformance(workers: int) -> None:
    count = 0
    for _, check in _suites(device(workers=workers)):
        check()
        count += 1
    assert count >= 11 * len(KERNELS)


# ---- whole programs ------------------------------------------------------------------------------


class World:
    """A program of a 5 x 4 grid times a 4 x 3 one, its keys and its inputs."""

    def __init__(self, expression: Callable[..., Any], **inputs: Input) -> None:
        params = Parameters("", 10, PRIMES[1:], PRIMES[:1], 1, 40.0, "a test")
        self.program: Program = trace(params, expression, inputs)
        self.holder = KeyHolder(
            self.program, accept_insecure="a test", fixed_seed_for_tests=_native.TestSeed(bytes(range(32)))
        )
        self.keys: EvaluationKeys = self.holder.evaluation_keys(2)
        rng = np.random.default_rng(5)
        self.values = {name: rng.uniform(-1, 1, x.shape) for name, x in inputs.items()}
        self.parcels = [self.holder.encrypt(name, a) for name, a in self.values.items()]

    def run(self, where: Any, **options: Any) -> dict[str, Parcel]:
        return Server(self.program, self.keys, device=where).run(self.parcels, **options)[0]

    def same(self, a: dict[str, Parcel], b: dict[str, Parcel]) -> None:
        assert a.keys() == b.keys()
        for name, parcel in a.items():
            for x, y in zip(parcel.ciphertexts, b[name].ciphertexts, strict=True):
                assert ciphertexts.facts(x) == ciphertexts.facts(y)
                assert all(map(np.array_equal, ciphertexts.words(x), ciphertexts.words(y)))


@pytest.fixture(scope="module")
def grid() -> World:
    tile = (16, 16)
    return World(
        lambda A, B: A @ B,
        A=Input(shape=(80, 64), tile=tile),
        B=Input(shape=(64, 48), tile=tile),
    )


@pytest.fixture(scope="module")
def expected(grid: World) -> dict[str, Parcel]:
    return grid.run("cpu")


@pytest.mark.parametrize("workers", [1, 2, 3, 100])
def test_grids_of_blocks_have_the_words_of_cpu(grid: World, expected: dict[str, Parcel], workers: int) -> None:
    where = device(workers=workers)
    seen: list[float] = []
    got = grid.run(where, progress=seen.append)
    grid.same(got, expected)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    result = grid.holder.decrypt(got["result"])
    assert np.abs(result - grid.values["A"] @ grid.values["B"]).max() < grid.holder.error_bound("result")
    ran = [name for name in where.pool.ran if name.startswith("products")]
    assert len(ran) == len(set(ran)) == min(60, shards.EACH * workers)


@pytest.mark.parametrize("after", [1, 2, 100])
def test_workers_come_and_go(grid: World, expected: dict[str, Parcel], after: int) -> None:
    class Changing(LocalPool):
        def run(self, found: Any, progress: Any = None) -> Any:
            results = super().run(found, progress)
            self.workers = after
            return results

    grid.same(grid.run(ShardedDevice("ray:here", Changing(workers=3))), expected)


def test_moved_operands_and_single_kernels_have_the_words_of_cpu() -> None:
    """A chain of products, whose middle result is moved; a transpose; a plain product; a product entry by entry."""
    world = World(
        lambda A, B: (A @ B).T * 0.5 + B.T,
        A=Input(shape=(24, 24), tile=(12, 12)),
        B=Input(shape=(24, 24), tile=(12, 12)),
    )
    world.same(world.run(device(workers=2)), world.run("cpu"))


def _other(ciphertext: Frozen, number: int) -> Frozen:
    """The same words, with less said of scale, variance, spread, bound or error of double precision."""
    of_all, own = ciphertext.facts
    return replace(ciphertext, facts=(of_all, tuple(x * 0.5 if i == number else x for i, x in enumerate(own))))


def test_what_is_spoilt_is_computed_again(grid: World, expected: dict[str, Parcel]) -> None:
    wrong = iter(range(1 << 30))

    def spoil(made: Any) -> Any:
        match next(wrong) % 10:
            case 0:
                return None
            case 1:
                return replace(made, ciphertexts=made.ciphertexts[:-1])
            case 2:
                return replace(made, ciphertexts=[pickle.dumps(c) for c in made.ciphertexts])
            case 3:
                return replace(made, operations={**made.operations, "ntt": -1})
            case 4:
                return replace(made, ciphertexts=[freeze(grid.parcels[0].ciphertexts[0])] * len(made.ciphertexts))
            case fact:
                return replace(made, ciphertexts=[_other(c, fact - 5) for c in made.ciphertexts])

    once, twice = device(workers=2), device(workers=2, spoil=spoil)
    grid.run(once)
    grid.same(grid.run(twice), expected)
    assert len(twice.pool.ran) == 2 * len(once.pool.ran)


def test_cancelled_where_progress_says_so(grid: World) -> None:
    with pytest.raises(Error, match="cancelled"):
        grid.run(device(workers=2), progress=lambda done: done < 0.3)


def test_keys_that_lack_one_are_refused_before_anything_is_put(grid: World) -> None:
    kernel = cases(OperandKernel)[0].kernel
    pool = LocalPool()
    where = ShardedDevice("ray:here", pool)
    with pytest.raises(MissingKeyError):
        where.prepare(kernel, grid.keys)
    assert not pool._put


# ---- costs ---------------------------------------------------------------------------------------


def test_bytes_are_as_predicted(monkeypatch: pytest.MonkeyPatch, grid: World) -> None:
    seen = list[tuple[Any, int, int, int]]()
    run = LocalPool.run

    def watched(self: LocalPool, found: Any, progress: Any = None) -> Any:
        made = run(self, found, progress)
        for shard in found:
            function, arguments = shard.function, shard.arguments
            result = function(Worker(1, lambda _: True), *arguments)
            *_, inputs = arguments
            stored = sum(x.bytes for x in (inputs.values() if isinstance(inputs, dict) else inputs))
            seen.append((shard.cost, stored, len(pickle.dumps((function, arguments))), len(pickle.dumps(result, 5))))
        return made

    monkeypatch.setattr(LocalPool, "run", watched)
    grid.run(device(workers=3))
    assert seen
    for cost, stored, sent, result in seen:
        assert abs(cost.stored - stored) <= 0.1 * stored
        assert abs(cost.sent + cost.result - sent - result) <= 0.1 * (sent + result)
    assert all(cost.seconds > 0 and cost.memory > cost.result for cost, *_ in seen)


def test_a_forecast_has_the_shards_of_the_run(monkeypatch: pytest.MonkeyPatch, grid: World) -> None:
    seen = list[list[Any]]()
    run = LocalPool.run

    def watched(self: LocalPool, found: Any, progress: Any = None) -> Any:
        seen.append([shard.cost for shard in found])
        return run(self, found, progress)

    monkeypatch.setattr(LocalPool, "run", watched)
    grid.run(device(workers=2))
    said = forecast(grid.program, 2)
    assert [list(r.costs) for r in said.runs] == seen
    assert abs(said.keys / grid.keys.bytes - 1) < 0.01
    assert [r.what for r in said.runs] == ["left operand", "right operand", "products"]


def test_work_of_more_rows_than_programs_have_is_refused() -> None:
    with pytest.raises(ParameterError, match="262,144"):
        workload("", (1 << 18) + 1)
