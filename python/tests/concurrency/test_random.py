# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What is drawn at random never repeats: over threads that share an object, and over forked children.

A repeated mask shows: ciphertexts of one value, blinded elements of one input, requests for the same cells would be
equal in their random part.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ringforge import _native, ckks, errors
from ringforge._native import fhew, oprf, psi
from tests.concurrency import small

SEED = ckks.TestSeed(bytes(range(32)))

THREADS = 8


def words(c: _native.Ciphertext) -> bytes:
    """The beginning of the half that is drawn at random."""
    return bytes(c.limb(1, 0)[:8].tobytes())


def session_encrypt() -> Callable[[], Iterable[bytes]]:
    session = small.session()
    zeros = np.zeros(session.params.slots)
    return lambda: [words(session.encrypt(zeros)) for _ in range(50)]


def public_key_encrypt() -> Callable[[], Iterable[bytes]]:
    session = small.session()
    key = session.client.public_key(session.secret_key)
    zeros = session.context.encode(np.zeros(session.params.slots, np.complex128), 2.0**40, 2)
    return lambda: [words(session.client.encrypt(zeros, key)) for _ in range(50)]


def keys() -> Callable[[], Iterable[bytes]]:
    session = small.session()
    return lambda: [session.client.secret_key().id.to_bytes(8) for _ in range(50)]


def shared_results() -> Callable[[], Iterable[bytes]]:
    """With the noise that decryptions get before they are shown."""
    session = small.session()
    c = session.encrypt(np.zeros(session.params.slots), level=2)
    client, key = session.client, session.secret_key
    return lambda: [client.decrypt_to_share(c, key, 20).limb(0)[:8].tobytes() for _ in range(50)]


def gates_encrypt() -> Callable[[], Iterable[bytes]]:
    key = small.gate_key()
    bit = np.zeros(1, np.uint8)
    return lambda: [key.encrypt(bit)[0, :16].tobytes() for _ in range(100)]


def psi_query() -> Callable[[], Iterable[bytes]]:
    key = psi.ClientKey(small.psi_plan())
    cells = small.psi_cells()
    return lambda: [key.query(cells)[40:72] for _ in range(100)]  # the seed of the first halves


def psi_evaluation_keys() -> Callable[[], Iterable[bytes]]:
    key = psi.ClientKey(small.psi_plan())
    return lambda: [key.evaluation_keys()[40:72] for _ in range(20)]


def psi_reply() -> Callable[[], Iterable[bytes]]:
    """The server adds noise of its own: one request is answered in many ways."""
    key = psi.ClientKey(small.psi_plan())
    session = psi.SessionKeys(small.psi_plan(), key.evaluation_keys())
    request = key.query(small.psi_cells())
    return lambda: [psi.evaluate(session, request, small.psi_table())[40:104] for _ in range(10)]


def oprf_blind() -> Callable[[], Iterable[bytes]]:
    return lambda: [element for _ in range(20) for element in map(bytes, oprf.blind_batch([b"the same"] * 3)[1])]


SOURCES = [
    session_encrypt,
    public_key_encrypt,
    keys,
    shared_results,
    gates_encrypt,
    psi_query,
    psi_evaluation_keys,
    psi_reply,
    oprf_blind,
]


@pytest.mark.parametrize("source", SOURCES)
def test_threads_that_share_an_object_draw_different_masks(source: Callable[[], Callable[[], list[bytes]]]) -> None:
    draw = source()
    with ThreadPoolExecutor(THREADS) as pool:
        drawn = [mask for batch in pool.map(lambda _: draw(), range(4 * THREADS)) for mask in batch]
    assert len(set(drawn)) == len(drawn)


def test_sessions_in_a_thread_pool_never_repeat_a_mask() -> None:
    """Many more: a repetition in 1,000 ciphertexts would be seen."""
    session = small.session()
    p = session.context.encode(np.zeros(session.params.slots, np.complex128), 2.0**40, 0)
    client, key = session.client, session.secret_key
    with ThreadPoolExecutor(THREADS) as pool:
        drawn = list(pool.map(lambda _: words(client.encrypt(p, key)), range(20_000)))
    assert len(set(drawn)) == len(drawn)


def in_fork(draw: Callable[[], Iterable[bytes]]) -> list[bytes]:
    """What a forked child draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            with os.fdopen(write, "wb") as out:
                for mask in draw():
                    out.write(len(mask).to_bytes(4, "little") + mask)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    masks = []
    with os.fdopen(read, "rb") as source:
        while size := source.read(4):
            masks.append(source.read(int.from_bytes(size, "little")))
    assert os.waitpid(child, 0)[1] == 0
    return masks


@pytest.mark.parametrize("source", SOURCES)
def test_forked_children_draw_other_masks_than_parent_and_siblings(
    source: Callable[[], Callable[[], list[bytes]]],
) -> None:
    draw = source()
    drawn = [bytes(mask) for mask in draw()]  # the object has been used
    for _ in range(2):
        masks = in_fork(draw)
        assert masks
        drawn += masks
    drawn += [bytes(mask) for mask in draw()]
    assert len(set(drawn)) == len(drawn)


def _encrypt(client: _native.Client, key: _native.SecretKey, plain: _native.Plaintext, out: object) -> None:
    out.put([words(client.encrypt(plain, key)) for _ in range(20)])  # type: ignore[attr-defined]


def test_worker_processes_of_multiprocessing_fork_draw_different_masks() -> None:
    """Two workers that inherit one client: a service that forks after it has read its keys."""
    session = small.session()
    plain = session.context.encode(np.zeros(session.params.slots, np.complex128), 2.0**40, 0)
    processes = multiprocessing.get_context("fork")
    out = processes.SimpleQueue()
    workers = [
        processes.Process(target=_encrypt, args=(session.client, session.secret_key, plain, out)) for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    drawn = [mask for _ in workers for mask in out.get()]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    drawn += [words(session.client.encrypt(plain, session.secret_key)) for _ in range(20)]
    assert len(set(drawn)) == len(drawn) == 60


def test_fixed_seeds_are_reproducible_and_say_what_they_are() -> None:
    params = small.parameters()
    one, two = (ckks.Session(params, fixed_seed_for_tests=SEED) for _ in range(2))
    assert one.secret_key.id == two.secret_key.id
    assert words(one.encrypt([1.0])) == words(two.encrypt([1.0]))
    gates = [fhew.SecretKey(fhew.parameters("gates-degraded", small.WHY), SEED).save() for _ in range(2)]
    assert gates[0] == gates[1]
    requests = [psi.ClientKey(small.psi_plan(), SEED).query(small.psi_cells()) for _ in range(2)]
    assert requests[0] == requests[1]
    for make in (
        lambda: ckks.Session(params, fixed_seed_for_tests=bytes(32)),  # type: ignore[arg-type]
        lambda: fhew.SecretKey(fhew.parameters("gates-degraded", small.WHY), bytes(32)),  # type: ignore[arg-type]
        lambda: psi.ClientKey(small.psi_plan(), bytes(32)),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="TestSeed"):
            make()
    with pytest.raises(errors.ParameterError, match="32 bytes, not 5"):
        ckks.TestSeed(b"short")


def test_a_fixed_seed_gives_what_it_always_gave() -> None:
    """The key's name is the second seed that follows from 32 bytes."""
    key = ckks.Client(ckks.Context(small.parameters()), SEED).secret_key()
    assert key.id == 4447215094400650055
