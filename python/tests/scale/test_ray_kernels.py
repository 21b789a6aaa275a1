# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels on a real cluster: the conformance suite, a worker that is killed, and no secret key in memory."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringforge.devices import conformance
from ringforge.devices.base import kernels
from ringforge.devices.registry import cases_of, import_kernels
from ringforge.scale.device import RayDevice
from tests.scale import works
from tests.scale.clusters import cluster
from tests.scale.memory import check_memory
from tests.scale.works import Killing

#: Of each kernel the cases that take a second or two; by their beginnings.
FAST = {
    "AccumulateKernel": (),
    "AffineKernel": ("ringforge, giant steps 1",),
    "BabiesKernel": ("ringforge",),
    "BatchKernel": ("of one pair",),
    "BytesKernel": ("of round 10",),
    "CompressionKernel": (),
    "GateLevelKernel": ("with every kind, gates-toy, ginx",),
    "HltKernel": ("bsgs",),
    "LookupKernel": ("ringforge, N = 256",),
    "MultiplyKernel": ("of two ciphertexts",),
    "OperandKernel": ("of 1",),
    "PairSumKernel": ("bare",),
    "PolyKernel": ("without labels",),
    "ProductSumsKernel": ("over levels",),
    "ProductsKernel": ("of one cell",),
    "RangeCheckKernel": (),
    "RelinearizeKernel": ("of a product over levels",),
}


@pytest.fixture(scope="module")
def device() -> Iterator[RayDevice]:
    # The largest case has a key of 714 MB.
    with cluster(3, store=1_200_000_000) as (_, opened):
        yield opened


def sharded() -> dict[str, Any]:
    """Cases of the kernels that have shards, by the kernel's name."""
    import_kernels()
    modules = {k: cases_of(k) for k in kernels("ray")}
    return {k.__name__: importlib.import_module(m).cases(k) for k, m in modules.items() if m is not None}


def passes(device: RayDevice, case: Any, only: tuple[Any, ...] = conformance._CHECKS) -> None:
    suite = conformance._Suite(device, case)
    for check in only:
        check(suite)
    assert not device.pool.counts.failures


def test_small_cases_of_each_kernel(device: RayDevice) -> None:
    found = sharded()
    assert found.keys() == FAST.keys()
    for name, starts in FAST.items():
        cases = [c for c in found[name] if starts and c.name.startswith(starts)]
        assert len(cases) == len(starts), [c.name for c in found[name]]
        for case in cases:
            passes(device, case)
    assert device.pool.counts.shards.total() > 100


@pytest.mark.long
def test_all_cases_of_each_kernel(device: RayDevice) -> None:
    count = 0
    for cases in sharded().values():
        for case in cases:
            passes(device, case)
            count += 1
    assert count >= 25


def test_a_killed_worker_of_a_look_up_costs_its_shard_only(device: RayDevice, tmp_path: Path) -> None:
    kills(device, works.psi(), tmp_path)


def kills(device: RayDevice, work: works.Work, place: Path) -> None:
    """Kills the worker of one shard of each stage: the result is right, and each shard is finished once."""
    pool = Killing(device.pool.cluster, place, work.stages)
    assert work.same(work.run(RayDevice(device.name, pool)), work.run("cpu"))
    finished, killed = pool.told("finished"), pool.told("killed")
    assert sorted(finished) == sorted(pool.sent), "each shard is finished, and none twice"
    assert sorted(killed) == sorted(pool.dying)
    assert len(killed) == len(work.stages), f"{killed} of the stages {work.stages}"
    assert {how for _, how in pool.counts.failures} == {"lost"}
    assert pool.counts.failures.total() == len(killed)
    assert pool.counts.shards.total() == len(pool.sent)


@pytest.mark.long
@pytest.mark.parametrize("name", ["omr", "matmul", "batches", "gates", "aes", "ltv"])
def test_a_killed_worker_of_each_stage_costs_its_shard_only(device: RayDevice, tmp_path: Path, name: str) -> None:
    kills(device, getattr(works, name)(), tmp_path)


def test_no_secret_key_of_a_product_is_in_the_cluster(device: RayDevice) -> None:
    check_memory(device, works.matmul())
