# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES under BGV in shards: the same ciphertexts as `cpu`, round by round."""

from __future__ import annotations

import pickle
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge.aes import byte_aes, shards
from ringforge.aes.bgv_engine import BgvServer
from ringforge.aes.byte_cases import _world, cases
from ringforge.aes.byte_circuit import Clear, run
from ringforge.aes.byte_kernels import BytesKernel
from ringforge.aes.engine import ROUNDS, Direction, State
from ringforge.devices import conformance, open_device
from ringforge.devices.sharding import ShardedDevice
from tests.scale.local import LocalPool, Worker, device

KEY = bytes(range(16))


@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
@pytest.mark.parametrize("i", range(1, ROUNDS + 1))
def test_halves_of_a_round_are_the_round(i: int, direction: Direction) -> None:
    rng = np.random.default_rng(i)
    state, key = (list(rng.integers(0, 256, (16, 40), dtype=np.uint8)) for _ in range(2))
    cut = byte_aes.halves(i, direction)
    bytes_ = [y for j in cut.rows for y in run(cut.byte, Clear(), [state[j]])]
    got = run(cut.sums, Clear(), [*bytes_, *key])
    assert np.array_equal(got, run(byte_aes.round_circuit(i, direction), Clear(), [*state, *key]))


@pytest.mark.parametrize("workers", [1, 3])
def test_conformance(workers: int) -> None:
    count = 0
    for name, check in conformance.checks(device(workers=workers)):
        if name.startswith(BytesKernel.__name__):
            check()
            count += 1
    assert count >= 22


def _states(where: ShardedDevice | str, direction: Direction, rounds: range) -> list[State]:
    """What a server makes of blocks in these rounds, the first from a state of the client's."""
    context, client, keys = _world()
    server = BgvServer(context, _Keys(keys.relin, keys.galois), device=where)  # type: ignore[arg-type]
    blocks = np.random.default_rng(3).integers(0, 256, (client.slots, 16), dtype=np.uint8)
    if direction not in _FRESH:
        _FRESH[direction] = client.encrypt_blocks(blocks, direction)
    made = [server.start(_FRESH[direction], _round_key(0, direction))]
    for i in rounds:
        made.append(server.round(made[-1], i, _round_key(i, direction)))
    return made


_FRESH: dict[Direction, State] = {}
_ROUND_KEYS: dict[tuple[int, Direction], list[Any]] = {}


def _round_key(i: int, direction: Direction) -> list[Any]:
    if (i, direction) not in _ROUND_KEYS:
        _ROUND_KEYS[i, direction] = _world()[1].encrypt_round_key(i, KEY, direction)
    return _ROUND_KEYS[i, direction]


class _Keys:
    def __init__(self, relin: Any, galois: Any) -> None:
        self.relin, self.galois = relin, galois


def _same(a: State, b: State) -> None:
    assert (a.blocks, a.round, a.direction) == (b.blocks, b.round, b.direction)
    for x, y in zip(a.ciphertexts, b.ciphertexts, strict=True):
        assert (x.limbs, x.key_id, x.noise.log_bound) == (y.limbs, y.key_id, y.noise.log_bound)
        assert all(np.array_equal(x.limb(p, k), y.limb(p, k)) for p in range(2) for k in range(x.limbs))


@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
def test_rounds_have_the_words_of_cpu(direction: Direction) -> None:
    rounds = range(1, ROUNDS + 1)
    where = device(workers=3)
    for a, b in zip(_states(where, direction, rounds), _states("cpu", direction, rounds), strict=True):
        _same(a, b)
    assert where.pool.ran.count("bytes 1 to 1") == ROUNDS
    assert len(where.pool.ran) == 16 * ROUNDS


def _with_noise(record: bytes, by: float) -> bytes:
    """The record of a ciphertext that says so much more of its noise, and is whole otherwise."""
    context = _world()[0]
    version, parameters, body = _native.io.unseal(record, _native.io.peek(record).code)
    assert version == _native.io.peek(record).version
    bound = _native.io.ciphertext_from_bytes(record, context).noise.log_bound
    assert body.count(struct.pack("<d", bound)) == 1
    changed = body.replace(struct.pack("<d", bound), struct.pack("<d", bound + by))
    made = bytes(_native.io.seal(_native.io.peek(record).code, parameters, changed))
    assert _native.io.ciphertext_from_bytes(made, context).noise.log_bound == bound + by
    return made


def test_what_is_spoilt_is_computed_again() -> None:
    wrong = iter(range(1 << 30))

    def spoil(made: Any) -> Any:
        match next(wrong) % 6:
            case 0:
                return made.records
            case 1:
                return replace(made, records=made.records[1:])
            case 2:
                return replace(made, records=[r[:-1] + bytes([r[-1] ^ 1]) for r in made.records])
            case 3:
                return replace(made, records=[_with_noise(r, -1e-3) for r in made.records])
            case 4:
                return replace(made, records=[_with_noise(r, 1.0) for r in made.records])
            case _:
                return replace(made, key_bytes=-1)

    where = device(workers=2, spoil=spoil)
    for a, b in zip(_states(where, "encrypt", range(1, 2)), _states("cpu", "encrypt", range(1, 2)), strict=True):
        _same(a, b)
    assert len(where.pool.ran) == 32


def test_noise_that_leaves_no_budget_is_no_error_of_a_worker() -> None:
    """`cpu` computes on it, too: whether something is left is for those to say who decrypt."""
    context, _, keys = _world()
    kernel = replace(cases(BytesKernel)[0].kernel, count=1)
    (given,) = cases(BytesKernel)[0].given.inputs()[:1]
    noisy = _native.io.ciphertext_from_bytes(_with_noise(bytes(_native.io.to_bytes(context, given)), 5000.0), context)
    made = []
    for on in (device(workers=1), open_device("cpu")):
        made.append(on.run(on.prepare(kernel, keys), [noisy])[0])
    for x, y in zip(*made, strict=True):
        assert x.noise.log_bound == y.noise.log_bound
        assert np.array_equal(x.limb(0, 0), y.limb(0, 0))


def test_what_progress_raises_ends_the_round() -> None:
    context, _, keys = _world()
    server = BgvServer(context, _Keys(keys.relin, keys.galois), device=device(workers=1))  # type: ignore[arg-type]
    state = _states("cpu", "encrypt", range(0))[0]
    seen = list[tuple[int, int]]()

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.round(state, 1, _round_key(1, "encrypt"), stop)
    assert max(seen) < (16, 16)
    seen.clear()
    server.round(state, 1, _round_key(1, "encrypt"), lambda *at: seen.append(at))
    assert seen == sorted(seen)
    assert seen[-1] == (16, 16)


def test_bytes_are_as_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[tuple[Any, int, int]]()
    original = LocalPool.run

    def watched(self: LocalPool, found: Any, progress: Any = None) -> Any:
        for shard in found:
            result = shard.function(Worker(1, lambda _: True), *shard.arguments)
            seen.append((shard.cost, len(pickle.dumps((shard.function, shard.arguments))), len(pickle.dumps(result))))
        return original(self, found, progress)

    monkeypatch.setattr(LocalPool, "run", watched)
    _states(device(workers=2), "encrypt", range(1, 3))
    assert len(seen) == 32
    for cost, sent, result in seen:
        assert abs(cost.sent - sent) <= 0.1 * sent
        assert abs(cost.result - result) <= 0.1 * result
        assert cost.seconds > 0
        assert cost.memory > cost.sent + cost.result
    kernel = cases(BytesKernel)[0].kernel
    assert sum(c.seconds for c in shards.shard_costs(kernel, 3)) == shards.shard_costs(kernel, 1)[0].seconds
