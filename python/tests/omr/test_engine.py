# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection from signals to the encrypted vector: what is found, what is counted, files of keys, refusals."""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import TestSeed, io
from ringforge._native.bfv import Client
from ringforge.errors import Error, FormatError, MismatchError, ParameterError, ShapeError
from ringforge.omr import sets
from ringforge.omr.engine import Engine, encode_diagonals
from ringforge.omr.keys import DetectionKey, ReceiverSecret, bfv_context
from ringforge.omr.plan import Plan, Shard
from ringforge.omr.range_check import METHODS, Method
from ringforge.omr.signal import Signals

SET = sets.named("test", "tests")
SEED = TestSeed(bytes([11]) * 32)


@functools.cache
def secret() -> ReceiverSecret:
    return ReceiverSecret.make(SET, fixed_seed_for_tests=SEED)


@functools.cache
def engine(method: Method = "ringforge") -> Engine:
    key = DetectionKey.make(secret(), method, fixed_seed_for_tests=TestSeed(bytes([12]) * 32))
    return Engine(Plan.make(SET, method), key)


def bulletin(count: int) -> tuple[Any, Any, list[int]]:
    """Signals of which `count` are the receiver's; both halves, and whose errors are in range."""
    rng = np.random.default_rng(count)
    a = rng.integers(0, SET.t, (SET.entries, SET.n)).astype(np.uint32)
    b = rng.integers(0, SET.t, (SET.entries, SET.clues)).astype(np.uint32)
    at = rng.choice(SET.entries, count, replace=False)
    made = secret().signal.public().signals(max(count, 1))
    a[at], b[at] = made.a[:count], made.b[:count]
    found = np.flatnonzero(secret().signal.pertinent(Signals(SET, a, b)))
    assert set(at.tolist()) <= set(found.tolist())
    return a, b, found.tolist()


def slots(c: Any) -> list[int]:
    """Where a result is 1; it is 0 elsewhere."""
    context = bfv_context(SET)
    values = np.asarray(context.decode(Client(context).decrypt(c, secret().bfv)))
    assert set(values.tolist()) <= {0, 1}
    return np.flatnonzero(values).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_finds_the_receivers_messages_and_nothing_else(method: Method) -> None:
    e = engine(method)
    a, b, expected = bulletin(50)
    seen: list[float] = []
    u = e.detect(encode_diagonals(e.plan, a), b, seen.append)
    assert slots(u) == expected
    assert u.limbs == 2
    assert u.log_deviation == e.plan.result.log_deviation
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_shards_in_any_order_give_the_same_and_threads_the_same_bits() -> None:
    e = engine()
    a, b, expected = bulletin(3)
    diagonals = encode_diagonals(e.plan, a)
    parts = []
    for shard in e.plan.shards(3):
        of_shard = encode_diagonals(e.plan, a, range(shard.first, shard.first + shard.count))
        parts.append((shard, e.affine(of_shard, shard)))
    random.Random(1).shuffle(parts)
    assert slots(e.range_check(e.subtract_b(e.combine(parts), b))) == expected
    two = Engine(e.plan, e.key, threads=2)
    for x, y in zip(e.affine(diagonals), two.affine(diagonals), strict=True):
        assert all(np.array_equal(x.limb(p, i), y.limb(p, i)) for p in (0, 1) for i in range(x.limbs))
    with pytest.raises(ShapeError, match="do not make up"):
        e.combine(parts[:-1])
    with pytest.raises(ShapeError, match="do not make up"):
        e.combine([*parts, parts[0]])


def test_the_work_is_the_same_for_receivers_with_no_and_with_fifty_messages() -> None:
    e, seen = engine(), []
    e.babies()
    for count in (0, 50):
        a, b, _ = bulletin(count)
        diagonals = encode_diagonals(e.plan, a)
        with _native.counting() as did:
            u = e.detect(diagonals, b)
        ops = did.operations
        names = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul", "key_bytes")
        facts = [int(getattr(ops, name)) for name in names]
        seen.append((facts, u.limbs, u.size, u.log_deviation, len(io.to_bytes(bfv_context(SET), u))))
    assert seen[0] == seen[1]


def test_counts_are_the_plans() -> None:
    e = Engine(engine().plan, engine().key)
    a, b, _ = bulletin(1)
    stages = {stage.name: stage.counts for stage in e.plan.stages}
    diagonals = encode_diagonals(e.plan, a)
    with _native.counting() as babies:
        e.babies()
    with _native.counting() as affine:
        out = e.affine(diagonals)
    with _native.counting() as check:
        e.range_check(e.subtract_b(out, b))
    for name, did in (("babies", babies), ("affine", affine)):
        for kind, count in stages[name].items():
            assert int(getattr(did.operations, kind)) == count
    assert check.operations.key_switch == stages["range check"]["relinearize"]


def test_the_plan() -> None:
    plan = Plan.make(SET)
    assert plan.hash == Plan.make(SET).hash != Plan.make(SET, "paper").hash
    assert [s.first for s in plan.shards(8)] == list(range(8))
    assert sum(s.count for s in plan.shards(3)) == plan.giants == 8
    for count in (0, 9):
        with pytest.raises(ParameterError, match="shards"):
            plan.shards(count)
    with pytest.raises(ParameterError, match="unknown method"):
        Plan.make(SET, "hasty")  # type: ignore[arg-type]
    text = plan.explain()
    assert all(stage.name in text for stage in plan.stages)
    assert plan.stages[-1].budget > 36
    assert plan.diagonal_bytes == SET.n * SET.entries * 20 // 8


def test_the_shipped_plan_keeps_its_promises() -> None:
    """Memory below 4 GiB; at two limbs most keys have the noise of a rounding, one in 2^40 has 2^7 times as much."""
    plan = Plan.make(sets.named("ringforge"))
    assert plan.memory < 4 << 30
    assert plan.stages[-1].budget > 63
    assert plan.stages[-1].noise < 13
    assert plan.noises(1)[plan.program.result.index].log_deviation < 6
    assert plan.stages[-1].limbs == (24, 2)
    counts = plan.stages[-1].counts
    assert (counts["square"] + counts["mul"], counts["relinearize"]) == (54, 47)


# ---- keys ----------------------------------------------------------------------------------------


@functools.cache
def key_file() -> bytes:
    path = Path(tempfile.mkdtemp()) / "key"
    engine().key.save(path)
    return path.read_bytes()


def test_keys_come_back(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(key_file())
    key = DetectionKey.load(path, SET)
    again = tmp_path / "again"
    key.save(again)
    assert again.read_bytes() == key_file()
    mine = tmp_path / "secret"
    secret().save(mine)
    assert mine.stat().st_mode & 0o777 == 0o600
    loaded = ReceiverSecret.load(mine)
    assert str(loaded.address()) == str(secret().address())
    assert loaded.bfv.id == secret().bfv.id
    with pytest.raises(FileExistsError):
        loaded.save(mine)
    a, b, expected = bulletin(2)
    plan = engine().plan
    assert slots(Engine(plan, key).detect(encode_diagonals(plan, a), b)) == expected


def test_a_detection_key_holds_no_secret(tmp_path: Path) -> None:
    mine = tmp_path / "secret"
    secret().save(mine)
    whole = mine.read_bytes()
    assert secret().signal.secret_bytes() not in key_file()
    assert secret().box.secret_bytes() not in key_file()
    assert secret().signal.secret_bytes().hex().encode() not in key_file()
    pieces = [whole[i : i + 24] for i in range(200, len(whole) - 200, 97)]
    assert not any(piece in key_file() for piece in pieces)
    for text in (repr(secret()), repr(engine().key)):
        assert secret().signal.secret_bytes().hex() not in text


def test_the_shipped_key_is_below_120_megabytes() -> None:
    """Packed halves; the others are seeds. 23 + 12 primes of 50 bits, two digits."""
    degree, limbs, special, digits = 65_536, 23, 12, 2
    key = digits * degree * (limbs + special) * 50 // 8
    signal = degree * limbs * 50 // 8
    context = bfv_context(sets.named("ringforge"))
    assert context.params.limbs_per_digit == 12
    assert (key, signal) == (28_672_000, 9_420_800)
    from ringforge.omr.compress import compression_context

    compression = _native.omr.CompressionKeys.saved_bytes(compression_context(sets.named("ringforge")))
    assert 3 * key + signal + compression < 120e6


def _cut(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at]


@pytest.mark.parametrize(
    ("spoil", "errors"),
    [
        (_cut(0), FormatError),
        (_cut(60), FormatError),
        (_cut(500), FormatError),
        (_cut(-1), FormatError),
        (_cut(-40_000), FormatError),
        (lambda data: data + b"x", FormatError),
        (lambda data: data.replace(b'"ringforge"', b'"ringforce"'), FormatError),
        (lambda data: b"\0" * 300 + data, FormatError),
        (lambda data: data[:100_000] + bytes([data[100_000] ^ 1]) + data[100_001:], FormatError),
    ],
)
def test_damaged_keys_are_refused(tmp_path: Path, spoil: Callable[[bytes], bytes], errors: type[Error]) -> None:
    path = tmp_path / "key"
    path.write_bytes(spoil(key_file()))
    with pytest.raises(errors):
        DetectionKey.load(path, SET)


def test_keys_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(key_file())
    with pytest.raises(MismatchError, match="is searched"):
        DetectionKey.load(path, sets.named("ringforge"))
    with pytest.raises(FormatError, match="no file with"):
        ReceiverSecret.load(path)
    other = ReceiverSecret.make(SET)
    theirs = DetectionKey.make(other)
    mixed = DetectionKey(
        SET, "ringforge", theirs.signal, engine().key.rotations, engine().key.relin, engine().key.compression
    )
    mixed.save(tmp_path / "mixed")
    with pytest.raises(MismatchError, match="different receivers"):
        DetectionKey.load(tmp_path / "mixed")
    with pytest.raises(MismatchError, match="lacks the rotation key"):
        DetectionKey(SET, "ringforge", theirs.signal, theirs.rotations[:1], theirs.relin, theirs.compression)
    with pytest.raises(MismatchError, match="the plan for"):
        Engine(Plan.make(SET, "paper"), engine().key)
    with pytest.raises(ShapeError):
        encode_diagonals(engine().plan, np.zeros((4, 4), np.uint32))
    with pytest.raises(ShapeError):
        engine().affine([], Shard(0, 8))
