# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Work of each room, small, with the secrets that it was encrypted under; and a pool whose workers are killed in it."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native, devices
from ringforge.devices import KeySet
from ringforge.devices.sharding import Shard
from ringforge.scale.cluster import Cluster
from ringforge.scale.pool import RayPool

Secret = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """What is computed.

    Attributes:
        run: on a device. same: whether two results are right.
        stages: how names of shards begin.
        secrets: coefficients of secret keys, each with the primes that it is used at.
    """

    run: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]
    stages: tuple[str, ...]
    secrets: tuple[tuple[Secret, tuple[int, ...]], ...]


def _ternary(values: Any) -> Secret:
    s = np.asarray(values, np.int64)
    assert set(np.unique(s)) <= {-1, 0, 1}
    return s


def omr() -> Work:
    from ringforge.omr.engine import Engine
    from ringforge.omr.keys import bfv_context
    from ringforge.omr.plan import Plan
    from tests.omr import test_shards as room

    def run(where: Any) -> tuple[bytes, bytes]:
        return room.work(Engine(Plan.make(room.SET), room.key(), device=where))

    p = bfv_context(room.SET).params
    stages = ("omr rotations of a key", "omr sums", "omr output", "omr range check, clue", "omr range check, rest")
    return Work(
        run,
        lambda a, b: bool(a == b),
        (*stages, "omr compression"),
        (
            (_ternary(room.secret().bfv.coefficients()), (*p.q, *p.p)),
            (_ternary(room.secret().signal.coefficients()), ()),
        ),
    )


def matmul() -> Work:
    from ringforge.matmul.program import Input
    from tests.scale.test_matmul import World

    tile = (16, 16)
    world = World(
        lambda A, B: A @ B,
        A=Input(shape=(48, 32), tile=tile),
        B=Input(shape=(32, 32), tile=tile),
    )

    def same(a: Any, b: Any) -> bool:
        world.same(a, b)
        return True

    p = world.program.context.params
    secret = _ternary(world.holder._secret.coefficients())
    return Work(world.run, same, ("operands", "products"), ((secret, (*p.q, *p.p)),))


def batches() -> Work:
    from ringforge.matmul.batch import BatchProduct
    from ringforge.matmul.batch_cases import facts, words
    from tests.matmul.test_batch import Setting, matrices

    s = Setting(10, 16, 3)
    rng = np.random.default_rng(31)
    left = [s.encrypt(matrices(rng, 3, 16, 16)) for _ in range(2)]
    right = [s.encrypt(matrices(rng, 3, 16, 16), by) for by in ("rows", "columns")]
    pairs = [(a, b) for a in left for b in right]
    product = BatchProduct(s.session.context, 16)

    def run(where: Any) -> Any:
        made, _ = product.multiply_all(pairs, s.keys, device=where)
        return made

    def same(a: Any, b: Any) -> bool:
        for x, y in zip(a, b, strict=True):
            assert facts(x.batch) == facts(y.batch)
            assert all(map(np.array_equal, words(x.batch), words(y.batch)))
        return True

    secret = _ternary(s.secret_key.coefficients())
    return Work(run, same, ("batches",), ((secret, (*s.params.q, *s.params.p)),))


def gates() -> Work:
    from ringforge._native import fhew
    from ringforge.gates.kernels import GateLevelKernel
    from tests.gates.test_shards import WHY, level

    params = fhew.parameters("gates-toy", WHY)
    secret = fhew.SecretKey(params, _native.TestSeed(bytes([8]) * 32))
    key = fhew.EvaluationKey.make(secret, fhew.Method.GINX)
    # Ends with a byte for each coefficient, and a checksum.
    body = np.frombuffer(bytes(secret.save())[:-32], np.uint8).astype(np.int64) - 1
    n, ring = params.n, 1 << params.log_n

    def run(where: Any) -> Any:
        device = devices.open_device(where) if isinstance(where, str) else where
        handle = device.prepare(GateLevelKernel(params), KeySet(own=(key,)))
        (out,), _ = device.run(handle, level(secret, 300))
        return out

    secrets = ((_ternary(body[-n - ring : -ring]), ()), (_ternary(body[-ring:]), (params.modulus,)))
    return Work(run, np.array_equal, ("gates",), secrets)


def psi() -> Work:
    from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
    from ringforge.psi.table import Arrays
    from tests.psi.mini_client import Asker
    from tests.psi.test_shards import small

    plan = small("ringforge", 2, 4)
    rng = np.random.default_rng(1)
    cells = np.array([np.sort(rng.choice(plan.cells, 5, replace=False)) for _ in range(plan.bins)], np.uint32)
    words = rng.integers(0, 1 << plan.log_t, (cells.size, plan.cell_words)).astype(np.uint16)
    offsets = np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(5)
    table = LookupTable(plan, Arrays(offsets, cells.reshape(-1), words, np.zeros(0, np.uint16)))

    def cut(c: Any) -> dict[str, Any]:
        return {name: getattr(c, name) for name in ("log_base", "count", "drop", "balanced")}

    names = ("log_n", "modulus", "log_bins", "cell_bits", "log_cell", "log_t", "log_onehot", "log_reply", "algorithm")
    described = {name: getattr(plan, name) for name in names}
    described |= {"gadget": cut(plan.gadget), "expansion": list(map(cut, plan.expansion))}
    client = Asker(
        {
            "tag_bits": 0,
            "label_bytes": 0,
            "plan": described | {"reconstruction": cut(plan.reconstruction)},
            "plan_hash": plan.hash.hex(),
        }
    )
    keys, request = LookupKeys(client.keys()), client.request(cells[:, 2].tolist())

    def run(where: Any) -> Any:
        device = devices.open_device(where) if isinstance(where, str) else where
        handle = device.prepare(LookupKernel(plan), KeySet(own=(keys,)), table)
        (reply,), _ = device.run(handle, [request])
        return client.words(reply)

    assert np.array_equal(run("cpu"), words.reshape(plan.bins, 5, -1)[:, 2])
    return Work(run, np.array_equal, ("look-up",), ((_ternary(client.z), (plan.modulus,)),))


def aes() -> Work:
    from tests.scale.test_aes import _same, _states

    def same(a: Any, b: Any) -> bool:
        for x, y in zip(a, b, strict=True):
            _same(x, y)
        return True

    return Work(lambda where: _states(where, "encrypt", range(1, 3)), same, ("bytes",), ())


def ltv() -> Work:
    from tests.aes.one_round import OneRound
    from tests.scale.test_ltv import same

    place = Path(tempfile.mkdtemp(prefix="rf-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    world = OneRound.make(place)
    context, secret = world.keys.context, world.client._secret
    record = bytes(_native.io.to_bytes(context, secret))
    # A byte for each coefficient of each level's secret, after a head of 16 bytes. All count as one: a level has few.
    body = record[_native.io.HEADER_BYTES + 16 :][: 4 * context.params.degree]
    levels = np.frombuffer(body, np.uint8).astype(np.int64) - 1

    def equal(a: Any, b: Any) -> bool:
        same(a[0].ciphertexts, b[0].ciphertexts)
        return True

    stages = ("ltv products", "ltv relinearisations")
    return Work(world.on, equal, stages, ((_ternary(levels), ()),))


# ---- workers that are killed ---------------------------------------------------------------------


class _Watched:
    """A task whose worker is killed when it first tells what is done."""

    def __init__(self, task: Any, kill: Callable[[], None]) -> None:
        self.threads, self.get, self.cached = task.threads, task.get, task.cached
        self._told, self._kill = task.progress, kill

    @property
    def progress(self) -> Any:
        return self._progress

    def _progress(self, fraction: float) -> Any:
        self._kill()
        return self._told(fraction)


def watched(task: Any, place: str, name: str, dies: bool, function: Any, *arguments: Any) -> Any:
    """A shard that notes that it is finished; one that dies is killed in its first attempt: while it computes if it
    tells of that, else before its result is sent."""

    def note(what: str) -> None:
        with (Path(place) / f"{what} {name.replace('/', ' ')}").open("a") as f:
            f.write(".")

    def kill() -> None:
        if dies and not (Path(place) / f"killed {name}").exists():
            note("killed")
            os.kill(os.getpid(), signal.SIGKILL)

    made = function(_Watched(task, kill), *arguments)
    kill()
    note("finished")
    return made


class Killing(RayPool):
    """A pool that kills the worker of the first shard of each stage.

    Args:
        place: a directory for notes. stages: how names of their shards begin.
    """

    def __init__(self, cluster: Cluster, place: Path, stages: Sequence[str]) -> None:
        super().__init__(cluster)
        self._place, self._left = place, list(stages)
        self._numbers = itertools.count()
        self.sent: list[str] = []
        self.dying: list[str] = []

    def run(self, shards: Sequence[Shard], progress: Any = None) -> list[Any]:
        return super().run([self._watched(s) for s in shards], progress)

    def _watched(self, s: Shard) -> Shard:
        name = f"{next(self._numbers)} {s.name}"
        stage = next((x for x in self._left if s.name.startswith(x)), None)
        if stage is not None:
            self._left.remove(stage)
            self.dying.append(name)
        self.sent.append(name)
        arguments = (str(self._place), name, stage is not None, s.function, *s.arguments)
        return replace(s, function=watched, arguments=arguments)

    def told(self, what: str) -> list[str]:
        """Names of shards that noted this, as often as they did."""
        return [p.name.removeprefix(f"{what} ") for p in self._place.glob(f"{what} *") for _ in range(p.stat().st_size)]
