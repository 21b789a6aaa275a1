# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Blocks on disk: the same words, within the memory that was allowed, and no file stays."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ringforge import _native, matmul
from ringforge.errors import MemoryLimitError, StorageError
from ringforge.matmul.scratch import Scratch, loaded
from tests.matmul.test_matrix import SEED, small, uniform

PARAMS = small(4)
ONE = 16 * PARAMS.degree * (PARAMS.max_level + 1)

#: A product of 24 x 24 blocks after a limit on the address space: 75 MB of results where 40 MB are left.
LIMITED = """
import hashlib, resource, sys
import numpy as np
from ringforge import ckks, matmul, params
from ringforge._native import Parameters
scratch, limited = sys.argv[1] or None, sys.argv[2] == "limited"
p = params.named("set-c")
small = Parameters("small", 12, p.q[:5], p.p, 1, 40.0, "tests")
one = 16 * small.degree * 5
seed = ckks.TestSeed(bytes(range(32)))
s = matmul.Session(small, scratch=scratch, blocks=8 * one if scratch else None, fixed_seed_for_tests=seed)
rng = np.random.default_rng(1)
a, b = rng.uniform(-1, 1, (48, 1)), rng.uniform(-1, 1, (1, 48))
A, B = s.encrypt(a, tile=(2, 1)), s.encrypt(b, tile=(1, 2))
_ = A[:2] @ B[:, :2]  # keys, masks and buffers are there before the limit
if limited:
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (40 << 20), resource.RLIM_INFINITY))
C = A @ B
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
values = C.decrypt()
assert np.abs(values - a @ b).max() <= C.error_bound
print(hashlib.sha256(values.tobytes()).hexdigest())
"""


def _limited(scratch: str, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LIMITED, scratch, how], capture_output=True, text=True, check=False)


def test_under_a_hard_limit_of_memory(tmp_path: Path) -> None:
    free, without, within = _limited("", "free"), _limited("", "limited"), _limited(str(tmp_path), "limited")
    assert free.returncode == 0, free.stderr
    assert without.returncode != 0
    assert "MemoryError" in without.stderr or "alloc" in without.stderr, without.stderr
    assert within.returncode == 0, within.stderr
    assert within.stdout == free.stdout
    assert not list(tmp_path.iterdir())


def test_the_same_words(tmp_path: Path) -> None:
    """Parts of ciphertexts, bit by bit; the memory limit holds; places are used again."""
    words = []
    for folder in (None, tmp_path):
        s = matmul.Session(
            PARAMS, scratch=folder, blocks=None if folder is None else 6 * ONE, fixed_seed_for_tests=SEED
        )
        A, B = s.encrypt(uniform(16, 16), tile=(4, 4)), s.encrypt(uniform(16, 16, seed=2), tile=(4, 4))
        C = (A @ B + 1) * B.sum(axis=0) - A
        found = hashlib.sha256()
        for t in C.every_tile():
            c = loaded(t.value)
            for part in range(c.size):
                for limb in range(c.level + 1):
                    found.update(np.asarray(c.limb(part, limb)).tobytes())
        words.append(found.hexdigest())
        if s.scratch is not None:
            assert s.scratch.peak <= 6 * ONE
            assert s.scratch.read > 0
            before = s.scratch.size
            for _ in range(3):
                _ = A + B
            assert s.scratch.size <= before + 16 * ONE
    assert words[0] == words[1]
    assert not list(tmp_path.iterdir())


def test_over_the_roles(tmp_path: Path) -> None:
    program = matmul.trace(
        PARAMS, lambda A, B: A @ B, A=matmul.Input(shape=(8, 8), tile=(2, 8)), B=matmul.Input(shape=(8, 8), tile=(8, 2))
    )
    holder = matmul.KeyHolder(program, accept_insecure="tests")
    a, b = uniform(8, 8), uniform(8, 8, seed=2)
    holder.encrypt("A", a).save(tmp_path / "a.ct", program)
    holder.encrypt("B", b).save(tmp_path / "b.ct", program)
    (tmp_path / "scratch").mkdir()
    place = Scratch(tmp_path / "scratch", program.context, 4 * ONE)
    server = matmul.Server(program, holder.evaluation_keys(), scratch=place)
    parcels = [matmul.Parcel.load(tmp_path / f"{n.lower()}.ct", program, n, scratch=place) for n in "AB"]
    outputs, _ = server.run(parcels)
    outputs["result"].save(tmp_path / "c.ct", program)
    result = holder.decrypt(matmul.Parcel.load(tmp_path / "c.ct", program, "result"))
    assert np.abs(result - a @ b).max() <= holder.error_bound("result")
    assert place.peak <= 4 * ONE
    assert not list((tmp_path / "scratch").iterdir())


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s = matmul.Session(PARAMS, scratch=tmp_path, blocks=4 * ONE, fixed_seed_for_tests=SEED)
    A = s.encrypt(uniform(8, 8), tile=(4, 4))
    want = A.decrypt()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(os, "pwrite", full)
        with pytest.raises(StorageError, match="No space left on device; make room, or name another folder"):
            s.encrypt(uniform(8, 8), tile=(2, 2))
    np.testing.assert_array_equal(A.decrypt(), want)


def test_what_is_on_a_full_disk_can_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s = matmul.Session(PARAMS, scratch=tmp_path, blocks=4 * ONE, fixed_seed_for_tests=SEED)
    a = uniform(8, 8)
    A = s.encrypt(a, tile=(2, 4))  # 8 blocks, of which 4 are on the disk

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(os, "pwrite", full)
        assert np.abs(A.decrypt() - a).max() <= A.error_bound


def test_a_forked_process_is_refused(tmp_path: Path) -> None:
    """It has the same file: what it wrote there would be read here."""
    s = matmul.Session(PARAMS, scratch=tmp_path, blocks=4 * ONE, fixed_seed_for_tests=SEED)
    a = uniform(8, 8)
    A = s.encrypt(a, tile=(2, 4))
    place = s.scratch
    assert place is not None
    ciphertext = loaded(next(A.every_tile()).value)
    child = os.fork()
    if child == 0:
        refused = 0
        try:
            for _ in range(8):
                place.keep(ciphertext)
        except StorageError as e:
            refused = int("session of its own" in str(e))
        os._exit(0 if refused else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.abs(A.decrypt() - a).max() <= A.error_bound


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    s = matmul.Session(PARAMS, scratch=tmp_path, blocks=4 * ONE, fixed_seed_for_tests=SEED)
    A = s.encrypt(uniform(8, 8), tile=(2, 4))
    assert s.scratch is not None
    s.scratch.close()
    for do in (A.decrypt, lambda: s.encrypt(uniform(2))):
        with pytest.raises(StorageError, match="is closed"):
            do()


def test_refusals(tmp_path: Path) -> None:
    context = _native.Context(PARAMS)
    with pytest.raises(MemoryLimitError, match="less than four ciphertexts"):
        Scratch(tmp_path, context, 3 * ONE)
    with pytest.raises(StorageError, match="name another folder"):
        Scratch(tmp_path / "nowhere", context, 8 * ONE)
    place = Scratch(tmp_path, context, 4 * ONE)
    s = matmul.Session(PARAMS, fixed_seed_for_tests=SEED)
    blocks = [place.keep(t.value) for t in s.encrypt(uniform(6, 6), tile=(2, 2)).every_tile()]
    os.ftruncate(place._file.fileno(), 100)
    with pytest.raises(StorageError, match="cannot be read again"):
        blocks[0].load()
