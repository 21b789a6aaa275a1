# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detector and receiver without services, in one process: for trying things out, and for programs of one's own.

What a detector keeps between requests, who may ask, and how often, is the service's (`detector_service`).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ringforge.devices import open_device
from ringforge.errors import ParameterError
from ringforge.omr.board import Board
from ringforge.omr.bulletins import Source
from ringforge.omr.depot import Depot
from ringforge.omr.detector import Detector, DetectorSession
from ringforge.omr.engine import Engine
from ringforge.omr.keys import DetectionKey, ReceiverSecret
from ringforge.omr.reading import SecretReader
from ringforge.omr.steps import Request

#: Stands for the name that a key has with a service.
_NAME = "0" * 64


@dataclass(frozen=True)
class Digest:
    """What a search has found, which only the receiver's secret opens.

    Attributes:
        request: what was searched. data: the digest itself; its size depends on the request alone.
    """

    request: Request
    data: bytes


def detect(
    board: Board, key: DetectionKey, bulletin: int = 0, *, capacity: int = 50, threads: int = 1, device: str = "cpu"
) -> Digest:
    """Searches a sealed bulletin for the entries of whoever made the key, without learning which they are.

    Args:
        board: that has the bulletin. key: the receiver's, for detectors. bulletin: its number, from 0.
        capacity: the most messages that the digest can hold. threads: results do not depend on it.
        device: that computes the affine transform.

    Raises:
        ParameterError: the bulletin is not sealed, or the capacity is more than digests of this set can have.
        MismatchError: key and board are of different sets.
    """
    source = Source(board)
    digests = dict(source.sealed())
    if bulletin not in digests:
        raise ParameterError(f"bulletin {bulletin} is not sealed: call board.seal(pad=True), or wait until it is full")
    detector = Detector(
        board.set, source, method="paper" if key.method == "paper" else "ringforge", threads=threads, device=device
    )
    session = DetectorSession(detector, Engine(detector.plan, key, threads, open_device(device)))
    request = Request(_NAME, bulletin, digests[bulletin], "messages", capacity, 0, board.set.entries)
    with tempfile.TemporaryDirectory() as folder:
        depot = Depot(Path(folder))
        result = b""
        for step in detector.steps(request):
            result, _ = session.run(step, [depot.result_path(_NAME, name) for name in step.inputs])
            depot.keep_result(_NAME, step, result)
    return Digest(request, result)


def read(secret: ReceiverSecret, digest: Digest) -> dict[int, bytes]:
    """The receiver's messages: each text by its place in the bulletin. Boxes that are not the receiver's are left out.

    Raises:
        TooManyMessagesError: there are more than the digest holds: search again with a larger capacity.
        MismatchError: it is another receiver's.
    """
    reader = SecretReader(secret)
    found = reader.decode(digest.data, digest.request)
    texts = {place: reader.open(box) for place, box in zip(found.indices, found.payloads or [], strict=True)}
    return {place: text for place, text in texts.items() if text is not None}
