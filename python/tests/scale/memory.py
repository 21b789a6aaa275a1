# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Looks for secret keys in a cluster on this machine: in the object stores, and in what its processes have written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ringforge.devices.sharding import Cost, Shard
from ringforge.scale.device import RayDevice
from ringforge.scale.pool import RayPool
from tests.matvec.test_secrecy import Search, pack, small_search, writable_memory
from tests.scale import toys
from tests.scale.works import Secret, Work

_PAGE = 4096


def written(data: bytes) -> bytes:
    """Without pages of zeros, of which a store has many."""
    pages = np.frombuffer(data, np.uint8, len(data) // _PAGE * _PAGE).reshape(-1, _PAGE)
    return pages[pages.any(axis=1)].tobytes() + data[len(data) // _PAGE * _PAGE :]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def below(root: int) -> dict[int, str]:
    """Processes that a process has started, and all that these have: number and name."""
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = parent(int(path.name))
            names[int(path.name)] = (path / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue

    def ours(pid: int) -> bool:
        return pid == root or (pid in parents and ours(parents[pid]))

    return {pid: name for pid, name in names.items() if pid != root and ours(pid)}


def places(whole: bool, only: Collection[int] = ()) -> Iterator[tuple[str, bytes]]:
    """What the processes of the clusters have written, and the files of object stores; if not `whole`, of processes
    the workers alone, or `only` these."""
    for pid, name in below(os.getpid()).items():
        if pid in only or (not only and (whole or ("ray::" in name and "Agent" not in name))):
            try:
                yield f"memory of {name}, {pid}", written(writable_memory(pid))
            except OSError:
                continue  # it has ended
        for fd in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                if name.endswith("raylet") and os.readlink(fd).startswith("/dev/shm"):
                    yield f"object store of {name}, {pid}", written(fd.read_bytes())
            except OSError:
                continue


class Keeping(RayPool):
    """A pool from which nothing is freed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._kept: list[Any] = []

    def put(self, value: Any, of: Any = None, version: Any = None) -> Any:
        self._kept.append(super().put(value, of, version))
        return self._kept[-1]


def finder(secret: Secret, primes: tuple[int, ...], whole: bool) -> Callable[[bytes], bool]:
    """Whether a window of the key is in some bytes: in each encoding, or in those that a library would hold
    at the first prime."""
    if whole:
        search = Search(secret, list(primes))
        return lambda data: bool(search(data))
    windows = small_search(secret, list(primes[:1]))
    return lambda data: any(w in data for w in windows)


def check_memory(device: RayDevice, work: Work, whole: bool = False) -> None:
    """Runs a work, and searches the cluster for its secrets; then plants each one, and searches again."""
    pool = Keeping(device.pool.cluster)
    work.run(RayDevice(device.name, pool))
    assert pool.counts.shards.total() > 0
    finders = [finder(s, primes, whole) for s, primes in work.secrets]
    found, kinds, size = [], set[str](), 0
    for name, data in places(whole):
        kinds.add("worker" if "ray::" in name else name.split()[0])
        size += len(data)
        found += [name for find in finders if find(data)]
    assert found == []
    assert {"worker", "object"} <= kinds
    assert size > 50 << 20

    # As bytes and as words in the store, as bits in the memory of workers: each key is found where it was put.
    for (secret, _), find in zip(work.secrets, finders, strict=True):
        stored = [pool.put(np.resize(secret, 1 << 17).astype(kind)) for kind in (np.int8, np.int64)]
        bits = pack(secret + 1, 2)
        shards = [Shard(f"plant {i}", toys.plants, (bits, 0.5), int, Cost()) for i in range(3 if whole else 1)]
        workers = set(pool.run(shards))
        held = [name for name, data in places(whole, only=() if whole else workers) if find(data)]
        assert any(name.startswith("object store") for name in held), held
        assert all(any(name.endswith(f", {pid}") for name in held) for pid in workers), (held, workers)
        del stored
