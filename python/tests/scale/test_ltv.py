# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of LTV in shards: the same ciphertexts as `cpu`, what workers return held against what is predicted, keys
that are in the store for their level only."""

from __future__ import annotations

import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import ltv
from ringforge.aes.ltv_engine import LtvServer, _bits_of
from ringforge.devices import KeySet, conformance, open_device
from ringforge.devices.conformance import Case
from ringforge.devices.sharding import ShardedDevice, Share
from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError, ShapeError
from ringforge.ltv import KeyDirectory, ProductSumsKernel, RelinearizeKernel, shards
from ringforge.ltv.cases import _facts, cases
from tests.aes.one_round import OneRound
from tests.scale.local import LocalPool, Worker, device

PRODUCTS, RELINEARISED = cases(ProductSumsKernel), cases(RelinearizeKernel)


def run(where: ShardedDevice | str, case: Case, keys: KeySet | None = None) -> list[Any]:
    on = open_device(where) if isinstance(where, str) else where
    handle = on.prepare(case.kernel, case.given.keys if keys is None else keys)
    return on.run(handle, case.given.inputs())[0]


def same(a: list[Any], b: list[Any]) -> None:
    for x, y in zip(a, b, strict=True):
        assert np.array_equal(x.words, y.words)
        assert _facts(x) == _facts(y)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_conformance(workers: int) -> None:
    count = 0
    for name, check in conformance.checks(device(workers=workers)):
        if name.startswith((ProductSumsKernel.__name__, RelinearizeKernel.__name__)):
            check()
            count += 1
    assert count >= 55


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> OneRound:
    return OneRound.make(tmp_path_factory.mktemp("keys"))


def test_a_round_has_the_words_of_cpu(world: OneRound) -> None:
    where = device(workers=3)
    (state, report), (wanted, by_cpu) = world.on(where), world.on()
    same(state.ciphertexts, wanted.ciphertexts)
    assert world.right(state)
    assert report.operations == by_cpu.operations
    # All of a level at a time: two shards of products for each worker, one of relinearisations.
    stages = [name.partition(" ")[2].split()[0] for name in where.pool.ran]
    assert stages.count("products") == 4 * 2 * 3
    assert stages.count("relinearisations") == 4 * 3


class Counting(LocalPool):
    """A pool that knows what is stored."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.stored: list[weakref.ref[Any]] = []
        self.most = 0

    def put(self, value: Any, of: Any = None, version: Any = None) -> Any:
        made = super().put(value, of, version)
        if all(r() is not made for r in self.stored):
            self.stored.append(weakref.ref(made))
        self.most = max(self.most, self.living)
        return made

    @property
    def living(self) -> int:
        return sum(r() is not None for r in self.stored)


def test_the_key_of_a_level_is_stored_once_and_goes_with_its_level(world: OneRound) -> None:
    pool = Counting(workers=2)
    world.on(ShardedDevice("ray:here", pool))
    assert len(pool.stored) == 4
    assert (pool.most, pool.living) == (1, 0)


def test_two_rounds_at_a_time_share_the_keys_of_a_server(world: OneRound) -> None:
    pool = Counting(workers=4)
    server = LtvServer(
        world.keys.context, world.keys, 1, ShardedDevice("ray:here", Share(pool, 2)), rounds=1, at_once=2
    )
    both = threading.Barrier(2, timeout=30)

    def meeting() -> Any:
        """Meets the other round at its first call, which is the round's own: later ones are of any thread."""
        calls: list[int] = []

        def meet(done: int, _: int) -> None:
            calls.append(done)
            if len(calls) == 1:
                both.wait()

        return meet

    with ThreadPoolExecutor(2) as threads:
        made = list(threads.map(lambda _: server.round(world.start, 1, world.key, meeting()), range(2)))
    wanted = world.on()[0].ciphertexts
    for state in made:
        same(state.ciphertexts, wanted)
    assert server.report.operations == {"ring_product": 2 * 1504, "key_switch": 2 * 288}
    assert pool.most <= 2
    assert pool.living == 0


def test_a_key_is_held_against_the_kernel_before_it_is_stored(world: OneRound, tmp_path: Path) -> None:
    pool = Counting(workers=2)
    where, context = ShardedDevice("ray:here", pool), world.keys.context
    empty = KeyDirectory(tmp_path, context)

    def prepare(kernel: RelinearizeKernel, key: Any) -> Any:
        return where.prepare(kernel, KeySet(own=(key,)))

    with pytest.raises(MissingKeyError, match=r"level 2 is not in .*: the holder of the secret key makes it"):
        prepare(RelinearizeKernel(context, 2), empty.stored(2))
    (tmp_path / "level-02.rgfg").write_bytes(world.keys.path(1).read_bytes())
    with pytest.raises(MismatchError, match=r"level-02\.rgfg: holds an evaluation key of level 1"):
        prepare(RelinearizeKernel(context, 2), empty.stored(2))
    (tmp_path / "level-01.rgfg").write_bytes(world.keys.path(1).read_bytes())
    other = RELINEARISED[0].kernel.context
    with pytest.raises(MismatchError, match="of other parameters"):
        prepare(RelinearizeKernel(other, 1), KeyDirectory(tmp_path, other).stored(1))
    foreign = ltv.Client(context)
    secret, public = foreign.keys()
    handle = prepare(RelinearizeKernel(context, 1), empty.stored(1))
    with pytest.raises(MismatchError, match="another secret key"):
        where.run(handle, [foreign.encrypt(np.ones(1, np.uint8), public)])
    assert foreign.eval_key(secret, public, 1).level == 1
    assert len(pool.stored) == 1, "only the key that fits"


def test_a_damaged_key_is_told_by_the_name_of_its_file(world: OneRound, tmp_path: Path) -> None:
    context = world.keys.context
    data = bytearray(world.keys.path(1).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "level-01.rgfg").write_bytes(data)
    where = device(workers=2)
    handle = where.prepare(RelinearizeKernel(context, 1), KeySet(own=(KeyDirectory(tmp_path, context).stored(1),)))
    with pytest.raises(FormatError, match=r"^level-01\.rgfg: "):
        where.run(handle, list(_bits_of(world.start))[:2])


def test_a_key_that_was_written_anew_is_stored_anew(world: OneRound, tmp_path: Path) -> None:
    pool, context = Counting(workers=1), world.keys.context
    where = ShardedDevice("ray:here", pool)
    path = tmp_path / "level-01.rgfg"
    path.write_bytes(world.keys.path(1).read_bytes())
    keys, kernel = KeySet(own=(KeyDirectory(tmp_path, context).stored(1),)), RelinearizeKernel(context, 1)
    held = [where.prepare(kernel, keys) for _ in range(2)]
    assert len(pool.stored) == 1
    path.unlink()
    path.write_bytes(world.keys.path(1).read_bytes())
    held.append(where.prepare(kernel, keys))
    assert len(pool.stored) == 2


def _known(**what: Any) -> Any:
    return lambda s: replace(s, known=replace(s.known, **what))


#: What a worker may make of a ciphertext that it returns.
WRONG = {
    "another type": lambda s: s.words,
    "no facts": lambda s: replace(s, known=None),
    "words that are none": lambda s: replace(s, words=s.words.tobytes()),
    "words of 64 bits": lambda s: replace(s, words=s.words.astype(np.uint64)),
    "a limb too few": lambda s: replace(s, words=s.words[1:]),
    "fewer coefficients": lambda s: replace(s, words=s.words[:, 1:]),
    "a residue beyond its prime": lambda s: replace(s, words=s.words | np.uint32(1 << 31)),
    "another level": lambda s: replace(s, known=replace(s.known, level=s.known.level - 1)),
    "another degree": lambda s: replace(s, known=replace(s.known, degree=3 - s.known.degree)),
    "another lag": lambda s: replace(s, known=replace(s.known, lag=s.known.lag + 1)),
    "a limb too few, as it says": lambda s: replace(
        s, known=replace(s.known, limbs=s.known.limbs - 1), words=s.words[:-1]
    ),
    "another key": lambda s: replace(s, known=replace(s.known, key_id=s.known.key_id ^ 1)),
    "a number that is too large": _known(key_id=1 << 70),
    "a number that is none": _known(level="1"),
    "less noise": lambda s: replace(s, known=replace(s.known, noise=(s.known.noise[0] - 1e-3, s.known.noise[1]))),
    "noise that is no number": lambda s: replace(s, known=replace(s.known, noise=(float("nan"), s.known.noise[1]))),
    "fewer factors": lambda s: replace(s, known=replace(s.known, noise=(s.known.noise[0], s.known.noise[1] + 1))),
    "noise of one number": _known(noise=(1.0,)),
}


@pytest.mark.parametrize("what", [*WRONG, "one too few", "no list"])
@pytest.mark.parametrize("case", [PRODUCTS[1], RELINEARISED[1]], ids=["products", "relinearised"])
def test_what_is_spoilt_is_computed_again(case: Case, what: str) -> None:
    def spoil(made: list[Any]) -> Any:
        if what == "no list":
            return tuple(made)
        return made[1:] if what == "one too few" else [WRONG[what](made[0]), *made[1:]]

    where = device(workers=1, spoil=spoil)
    same(run(where, case), run("cpu", case))
    shards = 2 if case.kernel == PRODUCTS[1].kernel else 1
    assert len(where.pool.ran) == 2 * shards


def test_inputs_that_do_not_fit_together_are_refused_before_they_are_sent() -> None:
    case = PRODUCTS[0]
    pool = LocalPool()
    where, inputs = ShardedDevice("ray:here", pool), case.given.inputs()
    for change, kind in (
        ({"sums": ((0,), (1, 9), (0, 1, 3), (3,))}, ShapeError),
        ({"outputs": (((0, 4),),)}, ShapeError),
        ({"outputs": ((),)}, ShapeError),
        ({"sums": ((), (1,), (2,), (3,))}, ShapeError),
        ({"linear": ((0,),)}, ShapeError),
    ):
        for on in (where, open_device("cpu")):
            kernel = replace(case.kernel, **change)
            with pytest.raises(kind):
                on.run(on.prepare(kernel, KeySet()), inputs)
    assert not pool.ran


def test_a_run_that_is_cancelled_ends_between_readings_of_the_key() -> None:
    case = RELINEARISED[0]
    worker = Worker(1, lambda fraction: fraction < 0.1)
    pool = LocalPool(workers=1)
    placed = ShardedDevice("ray:here", pool).prepare(case.kernel, case.given.keys).state
    sent = [shards.Sent.of(c) for c in case.given.inputs()]
    with pytest.raises(Error, match="cancelled"):
        shards.relinearize(worker, case.kernel, placed.key, placed.name, sent)


def test_bytes_are_as_predicted(monkeypatch: pytest.MonkeyPatch, world: OneRound) -> None:
    seen = list[tuple[Any, int, int]]()
    original = LocalPool.run

    def watched(self: LocalPool, found: Any, progress: Any = None) -> Any:
        for shard in found:
            result = shard.function(Worker(1, lambda _: True), *shard.arguments)
            seen.append((shard.cost, len(pickle.dumps((shard.function, shard.arguments))), len(pickle.dumps(result))))
        return original(self, found, progress)

    monkeypatch.setattr(LocalPool, "run", watched)
    where = device(workers=2)
    world.on(where)
    for cost, sent, result in seen:
        assert abs(cost.sent - sent) <= 0.1 * sent
        assert abs(cost.result - result) <= 0.1 * result
        assert cost.seconds > 0
        assert cost.memory > cost.sent + cost.result
    for level in range(1, 5):
        kernel = RelinearizeKernel(world.keys.context, level)
        assert 0 <= shards.key_record_bytes(kernel) - world.keys.path(level).stat().st_size < 200


def test_a_key_is_made_ready_once_by_each_worker() -> None:
    kernel = RelinearizeKernel(ltv.Context(ltv.Parameters.named("ltv-test-aes", insecure="tests")), 1)

    def seconds(count: int, workers: int) -> float:
        return sum(c.seconds for c in shards.relinearize_costs(kernel, count, workers))

    ready = 2 * seconds(40, 1) - seconds(80, 1)
    assert ready > 0
    assert seconds(80, 4) - seconds(80, 1) == pytest.approx(3 * ready)


def test_a_shard_has_the_inputs_of_its_sums_only() -> None:
    kernel = PRODUCTS[0].kernel
    part, inputs = shards._part(kernel, range(1, 2))
    assert inputs == [1, 2]
    assert part.sums == ((0, 1),)
    assert part.outputs == (((0, 0),),)
