# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fuzz targets of message retrieval: addresses, signals, payloads, keys, posts, what a detector keeps and is told."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import mutators
from registry import REASON, room, stored, target, written

from ringforge import _native
from ringforge.errors import Error
from ringforge.omr import board_service
from ringforge.omr import depot as omr_depot
from ringforge.omr import keys as omr_keys
from ringforge.omr import sets as omr_sets
from ringforge.omr import steps as omr_steps
from ringforge.omr.address import Address
from ringforge.omr.board import Board
from ringforge.omr.detector_client import Info as DetectorInfo
from ringforge.omr.payload import BoxSecret
from ringforge.omr.poster import read_texts
from ringforge.omr.proto import board_pb2
from ringforge.omr.signal import Signals, SignalSecret
from ringforge.serving import framing
from ringforge.serving.limits import Limits


@functools.cache
def omr_receiver() -> tuple[SignalSecret, BoxSecret, Address]:
    secret, box = SignalSecret.make(omr_sets.named("test", REASON)), BoxSecret.make()
    return secret, box, Address(secret.set, secret.public(), box.public())


@target(
    "omr.address.Address.parse",
    "omr.address.Address.load",
    "omr.signal.SignalKey.unpack",
    seeds=lambda: [str(omr_receiver()[2]).encode(), b" " + str(omr_receiver()[2]).encode() + b"\n"],
)
def omr_address(data: bytes) -> None:
    address = Address.load(stored("address", data), REASON)
    assert Address.parse(str(address), REASON) == address


@target(
    "omr.signal.Signals.unpack",
    seeds=lambda: [omr_receiver()[2].signal.signals(count).pack().tobytes() for count in (1, 3)] + [b""],
)
def omr_signals(data: bytes) -> None:
    signals = Signals.unpack(data, omr_receiver()[0].set)
    assert signals.pack().tobytes() == data
    omr_receiver()[0].pertinent(signals)


@target(
    "omr.payload.BoxSecret.open",
    seeds=lambda: [omr_receiver()[2].box.seal(text, omr_receiver()[0].set) for text in (b"", b"some text")] + [b""],
)
def omr_payload(data: bytes) -> None:
    text = omr_receiver()[1].open(data)
    assert text is None or len(text) <= len(data)


@target(
    "omr.poster.read_texts",
    "omr.poster._json_text",
    seeds=lambda: [b"\0one\n\ntwo\r\n", b'\1{"text": "one"}\n', b'\1{"text": "a\\nb"}\n{"text": ""}\n'],
)
def omr_texts(data: bytes) -> None:
    for text in read_texts(stored("texts", data[1:]), data[:1] == b"\1"):
        text.decode()


@functools.cache
def omr_board() -> tuple[Board, board_service.Service]:
    board = Board.open(room() / "board.sqlite", omr_receiver()[0].set)
    return board, board_service.Service(board, Limits(), 1 << 40)


def _batches() -> list[bytes]:
    address = omr_receiver()[2]
    made = []
    for count in (1, 3):
        signals = address.signal.signals(count).pack().tobytes()
        payloads = b"".join(address.box.seal(b"text", address.set) for _ in range(count))
        batch = board_pb2.Batch(signals=signals, payloads=payloads)
        made.append(bytes(board_pb2.PostRequest(batch=batch).SerializeToString()))
    return [*made, b""]


@target("omr.board_service.Service._post", "omr.board.Board._checked", seeds=_batches)
def omr_batches(data: bytes) -> None:
    message: Any = framing.parser(board_pb2.PostRequest)(data)
    board, service = omr_board()
    before = board.open_bulletin()
    try:
        receipt = service._post(message, bytes(16))
    except Error:
        assert board.open_bulletin() == before, "what is refused leaves nothing"
        raise
    assert receipt.count == len(message.batch.signals) // board.set.signal_bytes


def _omr_step() -> omr_steps.Step:
    return omr_steps.Step("affine", "0" * 64, "1" * 64, "2" * 64, 0, 23, (("babies", 46),), ("3" * 64,))


@target("omr.steps.Step.from_json", seeds=lambda: [_omr_step().to_json()], mutate=mutators.in_json)
def omr_step(data: bytes) -> None:
    step = omr_steps.Step.from_json(data)
    assert step.to_json() == data


_OMR_INFO = {
    "detector": {"set": "test", "capacity": {"messages": 65}},
    "bulletins": [[0, "0" * 64]],
    "keys": {"1" * 64: {"capacity": 50}},
    "jobs": [{"job": "2" * 32, "state": "done"}],
    "left": {"bulletins": 7},
}


@target("omr.detector_client.Info.from_json", seeds=lambda: [json.dumps(_OMR_INFO).encode()], mutate=mutators.in_json)
def omr_detector(data: bytes) -> None:
    DetectorInfo.from_json(data)


def _omr_job() -> omr_depot.Job:
    return omr_depot.Job("3" * 32, omr_steps.Request("0" * 64, 0, "1" * 64, "messages", 50, 0, 4096))


def _unlocked() -> Any:
    """A detector's directory without its lock."""
    depot: Any = omr_depot.Depot.__new__(omr_depot.Depot)
    depot._server = "detector"
    return depot


@functools.cache
def _omr_store() -> list[bytes]:
    """A request, and a step's result."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(omr_depot.Depot(folder)) as depot:
        depot.keep_result("3" * 32, _omr_step(), b"result" * 9)
        depot.keep_job(_omr_job())
        files_of = [depot.path / ("3" * 32) / "jobs" / f"{_omr_job().name}.json"]
        files_of.append(depot.result_path("3" * 32, _omr_step().name))
        return [path.read_bytes() for path in files_of]


@target(
    "omr.depot.label",
    "omr.depot._read_label",
    "omr.depot.read_result",
    "omr.depot.Depot.read_job",
    "serving.depot.Depot._read_job",
    seeds=_omr_store,
)
def omr_store(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in (f"{_omr_job().name}.json", _omr_step().name):
            (Path(folder) / name).write_bytes(data)
        with contextlib.suppress(Error):
            _unlocked()._read_job("3" * 32, Path(folder) / f"{_omr_job().name}.json")
        omr_depot.label(Path(folder) / _omr_step().name)
        omr_depot.read_result(Path(folder) / _omr_step().name)


_OMR_SET = omr_sets.named("test", "fuzzing")


@functools.cache
def _omr_secret() -> omr_keys.ReceiverSecret:
    return omr_keys.ReceiverSecret.make(_OMR_SET, fixed_seed_for_tests=_native.TestSeed(bytes(32)))


@target(
    "omr.keys.ReceiverSecret.load",
    "omr.keys._read_head",
    "omr.keys._record",
    seeds=lambda: [written("receiver", _omr_secret().save)],
    mutate=mutators.records,
)
def omr_receiver_secret(data: bytes) -> None:
    omr_keys.ReceiverSecret.load(stored("receiver", data))


@functools.cache
def _omr_detection_key() -> bytes:
    return written("detection", omr_keys.DetectionKey.make(_omr_secret()).save)


@target(
    "omr.keys.DetectionKey.load",
    # Keys are megabytes: mostly its heads and what comes first.
    seeds=lambda: [_omr_detection_key()[:4096]],
    mutate=mutators.records,
)
def omr_detection_key(data: bytes) -> None:
    omr_keys.DetectionKey.load(stored("detection", data))
