# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rounds with checkpoints: resumed after every round, refused where they are another's, and files that are none."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from ringforge.aes import files, transcipher
from ringforge.aes.computing import Computation
from ringforge.aes.engine import Direction
from ringforge.aes.ledger import Ledger
from ringforge.aes.runner import Computed, Encrypted, Reached, Run, Source, StoppedError
from ringforge.aes.transcipher import StreamKey, TagKey
from ringforge.errors import DuplicateError, Error, FormatError, MismatchError, MissingKeyError, ParameterError
from tests.aes.clear_engine import ClearClient, ClearServer
from tests.aes.test_clear_engine import library

KEY = bytes(range(16))
CLIENT, SERVER = ClearClient(), ClearServer()


def blocks(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 16), dtype=np.uint8)


def encrypted(path: Path, x: np.ndarray, direction: Direction = "encrypt") -> files.File:
    """A file of encrypted blocks."""
    states = [CLIENT.encrypt_blocks(x[i : i + 32], direction) for i in range(0, len(x), 32)]
    files.write_states(path, CLIENT, files.head_of(CLIENT, states[0], files.new_name(), len(x)), states)
    return files.File(path, CLIENT)


def decrypted(path: Path) -> np.ndarray:
    file = files.File(path, CLIENT)
    return np.concatenate([CLIENT.decrypt_blocks(file.state(i)) for i in range(file.head.states)])


@pytest.fixture
def keys(tmp_path: Path) -> files.RoundKeys:
    files.write_round_keys(tmp_path / "keys", CLIENT, KEY, "encrypt")
    return files.RoundKeys(tmp_path / "keys", SERVER)


def run(tmp_path: Path, keys: files.RoundKeys, source: Source) -> Run:
    return Run(SERVER, keys, source, tmp_path / "run")


@pytest.mark.parametrize(("count", "direction"), [(1, "encrypt"), (70, "encrypt"), (32, "decrypt")])
def test_blocks(count: int, direction: Direction, tmp_path: Path) -> None:
    files.write_round_keys(tmp_path / "keys", CLIENT, KEY, direction)
    keys = files.RoundKeys(tmp_path / "keys", SERVER)
    x = blocks(count)
    source = Encrypted(encrypted(tmp_path / "in", x, direction))
    rounds = run(tmp_path, keys, source)(tmp_path / "out")
    assert np.array_equal(decrypted(tmp_path / "out"), library(KEY, x, direction))
    states = -(-count // 32)
    assert [(r.state, r.round) for r in rounds] == [(s, i) for s in range(states) for i in range(11)]
    assert [r.budget for r in rounds[:11]] == [100.0 - 9.0 * i for i in range(11)]
    assert files.File(tmp_path / "out", CLIENT).head.budget == 10.0
    assert [p.name for p in (tmp_path / "run").iterdir()] == [".lock"]


@pytest.mark.parametrize("size", [1, 16, 100, 31 * 16, 31 * 16 + 1])
def test_streams(size: int, tmp_path: Path, keys: files.RoundKeys) -> None:
    """A stream as a source: what a library encrypted, with a check in the slot after each batch."""
    key = StreamKey(KEY, TagKey(bytes(32)))
    text = np.random.default_rng(size).bytes(size)
    stream = transcipher.encrypt(key, text, Ledger(tmp_path / "ledger"), (1 << 128) - 3)
    source = transcipher.Checked(stream, SERVER.slots)
    run(tmp_path, keys, source)(tmp_path / "out")
    file = files.File(tmp_path / "out", CLIENT)
    states = [file.state(i) for i in range(file.head.states)]
    assert transcipher.decrypt(key, stream, CLIENT, states) == text


@pytest.mark.parametrize("what", ["below:1", "below:97", "below:255", "sums"])
def test_computations(what: str, tmp_path: Path, keys: files.RoundKeys) -> None:
    """Circuits over bytes give what numbers do."""
    c = Computation.parse(what)
    assert c.text == what
    x = blocks(40)
    source = Computed(Encrypted(encrypted(tmp_path / "in", x)), c)
    run(tmp_path, keys, source)(tmp_path / "out")
    done = library(KEY, x, "encrypt").astype(int)
    if what == "sums":
        pairs = done[:, ::2] + done[:, 1::2]
        expected = np.hstack([pairs % 256, pairs // 256])
    else:
        expected = (done < int(what[6:])).astype(int)
    assert np.array_equal(decrypted(tmp_path / "out"), expected)
    assert np.array_equal(c.of(done.astype(np.uint8)), expected)
    assert files.File(tmp_path / "out", CLIENT).head.computed == what


def test_computations_that_are_none() -> None:
    for text in ("", "below:", "below:0", "below:256", "below:-1", "sum", "sums "):
        with pytest.raises(ParameterError, match="nothing that servers compute"):
            Computation.parse(text)


@pytest.mark.parametrize("stop", [(0, 0), (0, 1), (0, 6), (1, 0), (1, 10)])
def test_resumed_after_any_round(stop: tuple[int, int], tmp_path: Path, keys: files.RoundKeys) -> None:
    """Stopped within a round, then by another process's eyes: goes on with that round, and nothing differs."""
    x = blocks(40)
    encrypted(tmp_path / "in", x)
    Run(SERVER, keys, Encrypted(files.File(tmp_path / "in", SERVER)), tmp_path / "whole")(tmp_path / "expected")
    shutil.rmtree(tmp_path / "whole")

    def report(r: Reached) -> bool:
        return (r.state, r.round) < stop

    one = run(tmp_path, keys, Encrypted(files.File(tmp_path / "in", SERVER)))
    with pytest.raises(StoppedError):
        one(tmp_path / "out", report)
    assert not (tmp_path / "out").exists()
    seen: list[Reached] = []
    two = run(tmp_path, keys, Encrypted(files.File(tmp_path / "in", SERVER)))
    rounds = two(tmp_path / "out", seen.append)
    assert (seen[0].state, seen[0].round) == stop
    assert len(rounds) == 22
    assert [r.fraction for r in seen] == sorted(r.fraction for r in seen)
    assert seen[-1].fraction == 1.0
    assert seen[-1].seconds_left == 0.0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


def stopped(tmp_path: Path, keys: files.RoundKeys, source: Source) -> Path:
    """A directory with a checkpoint after round 3."""
    with pytest.raises(StoppedError):
        run(tmp_path, keys, source)(tmp_path / "out", lambda r: r.round < 4)
    return tmp_path / "run"


def test_foreign_checkpoints_are_refused(tmp_path: Path, keys: files.RoundKeys) -> None:
    x = blocks(4)
    source = Encrypted(encrypted(tmp_path / "in", x))
    folder = stopped(tmp_path, keys, source)
    other = Encrypted(encrypted(tmp_path / "other", x))  # the same blocks, encrypted again
    with pytest.raises(MismatchError, match="another task"):
        run(tmp_path, keys, other)(tmp_path / "out")
    files.write_round_keys(tmp_path / "keys2", CLIENT, KEY, "encrypt")
    with pytest.raises(MismatchError, match="another task"):
        run(tmp_path, files.RoundKeys(tmp_path / "keys2", SERVER), source)(tmp_path / "out")
    # A checkpoint that was moved here from another task's directory says so itself.
    (tmp_path / "mine").mkdir()
    with pytest.raises(StoppedError):
        Run(SERVER, keys, other, tmp_path / "mine")(tmp_path / "out", lambda r: r.round < 4)
    shutil.copy(tmp_path / "mine" / "state-00000-03.aes", folder)
    with pytest.raises(MismatchError, match="remove it to begin anew"):
        run(tmp_path, keys, source)(tmp_path / "out")
    shutil.copy(tmp_path / "in", tmp_path / "x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(MismatchError, match="something else"):
        Run(SERVER, keys, source, tmp_path / "full")(tmp_path / "out")


def test_another_evaluator_at_work(tmp_path: Path, keys: files.RoundKeys) -> None:
    source = Encrypted(encrypted(tmp_path / "in", blocks(4)))
    refused = []

    def report(_: Reached) -> None:
        with pytest.raises(Error, match="another evaluation works in"):
            run(tmp_path, keys, source)(tmp_path / "out2")
        refused.append(1)

    run(tmp_path, keys, source)(tmp_path / "out", report)
    assert refused
    assert not (tmp_path / "out2").exists()


def test_damaged_checkpoints(tmp_path: Path, keys: files.RoundKeys) -> None:
    source = Encrypted(encrypted(tmp_path / "in", blocks(4)))
    path = stopped(tmp_path, keys, source) / "state-00000-03.aes"
    good = path.read_bytes()
    for bad in (good[:-1], good[:1000], good + b"\0", b"", good[:700] + bytes([good[700] ^ 1]) + good[701:]):
        path.write_bytes(bad)
        with pytest.raises(FormatError, match=r"state-00000-03\.aes"):
            run(tmp_path, keys, source)(tmp_path / "out")
    path.unlink()  # begins anew
    assert len(run(tmp_path, keys, source)(tmp_path / "out")) == 15


def test_a_full_disk(tmp_path: Path, keys: files.RoundKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    """The round that cannot be written is lost, those before stay."""
    source = Encrypted(encrypted(tmp_path / "in", blocks(4)))
    real = os.fsync
    count = 0

    def fsync(f: int) -> None:
        nonlocal count
        count += 1
        if count == 12:  # two for each file: itself, and its directory
            raise OSError(errno.ENOSPC, "No space left on device")
        real(f)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="make room") as e:
        run(tmp_path, keys, source)(tmp_path / "out")
    assert e.value.errno == errno.ENOSPC
    seen: list[Reached] = []
    run(tmp_path, keys, source)(tmp_path / "out", seen.append)
    assert seen[0].round == 4
    assert np.array_equal(decrypted(tmp_path / "out"), library(KEY, blocks(4), "encrypt"))


# ---- files ----


@pytest.mark.usefixtures("keys")
def test_round_keys(tmp_path: Path) -> None:
    with pytest.raises(DuplicateError, match="is not empty"):
        files.write_round_keys(tmp_path / "keys", CLIENT, KEY, "encrypt")
    folder = tmp_path / "keys"
    files.write_round_keys(tmp_path / "other", CLIENT, KEY, "encrypt")
    files.write_round_keys(tmp_path / "back", CLIENT, KEY, "decrypt")
    (folder / "round-03.aes").rename(tmp_path / "third")
    with pytest.raises(MissingKeyError, match="round key 3 is not in"):
        files.RoundKeys(folder, SERVER)
    shutil.copy(folder / "round-04.aes", folder / "round-03.aes")
    with pytest.raises(MismatchError, match="exchanged"):
        files.RoundKeys(folder, SERVER)
    for name in ("other", "back"):
        shutil.copy(tmp_path / name / "round-03.aes", folder / "round-03.aes")
        with pytest.raises(MismatchError, match="several sets"):
            files.RoundKeys(folder, SERVER)
    with pytest.raises(MismatchError, match="--direction"):
        run(tmp_path, files.RoundKeys(tmp_path / "back", SERVER), Encrypted(encrypted(tmp_path / "in", blocks(1))))


def test_files_of_something_else(tmp_path: Path, keys: files.RoundKeys) -> None:
    with pytest.raises(MismatchError, match="round key"):
        Encrypted(files.File(tmp_path / "keys" / "round-00.aes", SERVER))
    file = encrypted(tmp_path / "in", blocks(1))
    run(tmp_path, keys, Encrypted(file))(tmp_path / "out")
    with pytest.raises(MismatchError, match="after round 10"):
        Encrypted(files.File(tmp_path / "out", SERVER))

    class Other(ClearServer):
        parameter_hash = bytes(32)

    with pytest.raises(MismatchError, match="take the keys it was made with"):
        files.File(tmp_path / "in", Other())

    class Small(ClearServer):
        max_record_bytes = 100

    with pytest.raises(FormatError, match="a record of"):
        files.File(tmp_path / "in", Small())


def test_records_in_another_order_are_no_file(tmp_path: Path) -> None:
    file = encrypted(tmp_path / "in", blocks(1))
    records = list(file.records())
    data = (tmp_path / "in").read_bytes()
    body = b"".join(records)
    swapped = data.replace(body, b"".join([records[1], records[0], *records[2:]]))
    assert swapped != data
    (tmp_path / "in").write_bytes(swapped)
    with pytest.raises(FormatError, match="belong together"):
        files.File(tmp_path / "in", CLIENT)
    assert json.loads(file.head.model_dump_json())["kind"] == "blocks"
