# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fuzz targets of AES: files of ciphertexts, keys, streams, ledgers, checkpoints, what a server keeps and tells."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import mutators
import numpy as np
from registry import REASON, room, stored, target, written

from ringforge import _native
from ringforge.aes import depot as aes_depot
from ringforge.aes import files as aes_files
from ringforge.aes import keys as aes_keys
from ringforge.aes import runner, sources, transcipher
from ringforge.aes.client import Info as AesInfo
from ringforge.aes.describe import describe
from ringforge.aes.engine import AesClient, AesServer
from ringforge.aes.ledger import Ledger
from ringforge.aes.texts import read_aes_key, read_blocks, stream_key
from ringforge.aes.transcipher import Stream

_KEY = bytes(range(16))
_PARTS = ("parameters.rgfg", "evaluation.rgfg", "secret")


@functools.cache
def aes_folder() -> Path:
    """Keys of a small set of BGV, and round keys."""
    folder = room() / "aes"
    (folder / "keys").mkdir(parents=True)
    aes_keys.SCHEMES["bgv"].make("bgv-test", REASON, folder / "secret", folder / "keys", 1)
    aes_files.write_round_keys(folder / "round-keys", aes_client(), _KEY, "encrypt")
    return folder


@functools.cache
def aes_client() -> AesClient:
    folder = room() / "aes"
    return aes_keys.SCHEMES["bgv"].client(folder / "secret", folder / "keys", 1)


@functools.cache
def aes_server() -> AesServer:
    return aes_keys.SCHEMES["bgv"].server(aes_folder() / "keys", 1)


def _blocks(path: Path) -> None:
    aes_folder()
    state = aes_client().encrypt_blocks(np.zeros((3, 16), np.uint8))
    head = aes_files.head_of(aes_client(), state, "0" * 64)
    aes_files.write_states(path, aes_client(), head, [state])


@functools.cache
def _files() -> list[bytes]:
    return [written("blocks", _blocks), (aes_folder() / "round-keys" / "round-03.aes").read_bytes()]


@target(
    "aes.files.walk",
    "aes.files._parsed",
    "aes.files.peek",
    "aes.files.File.__init__",
    "aes.files.File.records",
    seeds=_files,
)
def aes_ciphertexts(data: bytes) -> None:
    aes_files.walk(io.BytesIO(data), len(data))
    path = stored("a.aes", data)
    list(describe(path))
    file = aes_files.File(path, aes_server())
    for i in range(file.head.states):
        file.ciphertexts(i)
    runner.Encrypted(file)


@target(
    "aes.sources.read_stream",
    "aes.texts.read_aes_key",
    "aes.texts.read_blocks",
    seeds=lambda: (
        [
            transcipher.encrypt(stream_key(_KEY), b"text" * n, Ledger(room() / f"ledger{n}"), n).to_bytes()
            for n in (1, 40)
        ]
        + [_KEY, _KEY.hex().encode() + b"\n", b""]
    ),
)
def aes_streams(data: bytes) -> None:
    path = stored("stream", data)
    path.chmod(0o600)
    for read in (read_aes_key, read_blocks, sources.read_stream):
        with contextlib.suppress(aes_files.FormatError):
            read(path)


def _keys() -> list[bytes]:
    folder = aes_folder()
    places = (folder / "keys" / _PARTS[0], folder / "keys" / _PARTS[1], folder / "secret")
    first = _native.io.Reader(str(places[1])).index()[0].bytes  # enough: the rest is more of the same
    return [bytes([i]) + p.read_bytes()[:first] for i, p in enumerate(places)] + [b"\3" + bytes(32)]


@target(
    "aes.keys.scheme_of",
    "aes.keys.Bgv._context",
    "aes.keys.Bgv.server",
    "aes.keys._load_secret",
    seeds=_keys,
    mutate=mutators.after(1, mutators.records),
)
def aes_keys_files(data: bytes) -> None:
    sound = aes_folder()
    with tempfile.TemporaryDirectory(dir=room()) as name:
        folder = Path(name)
        for part in _PARTS[:2]:
            (folder / part).write_bytes((sound / "keys" / part).read_bytes())
        (folder / "secret").write_bytes((sound / "secret").read_bytes())
        if data[:1] >= b"\3":
            (folder / aes_files.TAG_FILE).touch(mode=0o600)
            (folder / aes_files.TAG_FILE).write_bytes(data[1:])
            aes_files.read_tag_key(folder)
            return
        (folder / _PARTS[data[0] if data else 0]).write_bytes(data[1:])
        found = aes_keys.scheme_of(folder)
        if data[:1] < b"\2":
            found.server(folder, 1)
        else:
            found.client(folder / "secret", folder, 1)


def _streams() -> list[bytes]:
    return [Stream(bytes(range(16)), counter, data, bytes(32)).to_bytes() for counter, data in ((0, b""), (7, b"data"))]


@target("aes.transcipher.Stream.from_bytes", seeds=_streams)
def aes_stream(data: bytes) -> None:
    assert Stream.from_bytes(data).to_bytes() == data


def _ledgers() -> list[bytes]:
    def make(path: Path) -> None:
        made = Ledger(path)
        made.claim(b"key", 5, 3, b"stream")
        made.claim(b"key", (1 << 128) - 2, 4, b"another")

    return [written("ledger.sqlite", make)]


@target("aes.ledger.Ledger._begun", seeds=_ledgers)
def aes_ledger(data: bytes) -> None:
    for old in room().glob("l.sqlite*"):
        old.unlink()
    opened = Ledger(stored("l.sqlite", data))
    opened.claim(b"key", 100, 3, b"third")
    opened.claim(b"key", 6, 1, b"fourth")


@functools.cache
def _run() -> runner.Run:
    path = room() / "fuzzed-blocks"
    _blocks(path)
    source = runner.Encrypted(aes_files.File(path, aes_server()))
    keys = aes_files.RoundKeys(aes_folder() / "round-keys", aes_server())
    return runner.Run(aes_server(), keys, source, room() / "fuzzed-run")


def _checkpoints() -> list[bytes]:
    run = _run()
    with contextlib.suppress(runner.StoppedError):
        run(room() / "fuzzed-out", lambda r: r.round < 2)
    names = ("task.json", "rounds.jsonl", "state-00000-01.aes")
    return [bytes([i]) + (run.directory / name).read_bytes() for i, name in enumerate(names)]


@target("aes.runner.Run._claim", "aes.runner.Run.rounds", seeds=_checkpoints)
def aes_checkpoints(data: bytes) -> None:
    run = _run()
    for i, sound in enumerate(_sound_checkpoints()):
        name = ("task.json", "rounds.jsonl", "state-00000-01.aes")[i]
        (run.directory / name).write_bytes(data[1:] if data[:1] == bytes([i]) else sound[1:])
    assert all(r.round >= 0 for r in run.rounds)
    with contextlib.suppress(runner.StoppedError):
        run(room() / "fuzzed-out", lambda _: False)
        raise AssertionError("it was to stop at once")


@functools.cache
def _sound_checkpoints() -> list[bytes]:
    return _checkpoints()


_INFO = {
    "server": {"scheme": "bgv", "set": "bgv-test", "parameters": "0", "slots": 16, "blocks": 256, "key_bytes": 7},
    "sets": {"1" * 32: {"kind": "evaluation", "bytes": 9, "missing": 0}},
    "jobs": [{"job": "2" * 32, "state": "done", "kind": "blocks", "blocks": 3, "compute": "", "error": ""}],
    "left": {"blocks": 7},
}


@target("aes.client.Info.from_json", seeds=lambda: [json.dumps(_INFO).encode()], mutate=mutators.in_json)
def aes_server_info(data: bytes) -> None:
    info = AesInfo.from_json(data)
    for job in info.jobs:
        f"{job['blocks']:,} {job['state']}"


def _job() -> aes_depot.Job:
    return aes_depot.Job("3" * 32, aes_depot.Request("0" * 32, "1" * 32, "blocks", "", "2" * 64, 9), 3)


@functools.cache
def _store() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(aes_depot.Depot(folder)) as depot:
        depot.keep_job(_job())
        return [(depot.path / ("3" * 32) / "jobs" / f"{_job().name}.json").read_bytes()]


@target("aes.depot.Depot.read_job", seeds=_store, mutate=mutators.in_json)
def aes_store(data: bytes) -> None:
    depot: Any = aes_depot.Depot.__new__(aes_depot.Depot)  # without the lock of a directory
    depot._server = "server"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{_job().name}.json"
        path.write_bytes(data)
        depot._read_job("3" * 32, path)
