# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detector and receiver in one process: the receiver's texts at their places, nothing for others, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge import omr
from ringforge.errors import MismatchError, ParameterError, TooManyMessagesError


def test_detect_and_read(tmp_path: Path) -> None:
    s = omr.named("test", insecure="tests")
    mine, other = omr.ReceiverSecret.make(s), omr.ReceiverSecret.make(s)
    key = omr.DetectionKey.make(mine)
    with omr.Board.open(tmp_path / "board.sqlite", s) as board:
        board.post(*omr.entries(other.address(), [b"not mine"]))
        board.post(*omr.entries(mine.address(), [b"first", b"second"]))
        with pytest.raises(ParameterError, match=r"bulletin 0 is not sealed: call board.seal"):
            omr.detect(board, key)
        board.seal(pad=True)
        digest = omr.detect(board, key, capacity=20, threads=2)
        assert omr.read(mine, digest) == {1: b"first", 2: b"second"}
        with pytest.raises(MismatchError):
            omr.read(other, digest)
        theirs = omr.detect(board, omr.DetectionKey.make(other), capacity=20)
        assert omr.read(other, theirs) == {0: b"not mine"}
        assert len(theirs.data) == len(digest.data), "the size does not tell how many"
        with pytest.raises(TooManyMessagesError, match="2 entries are pertinent, the digest holds 1"):
            omr.read(mine, omr.detect(board, key, capacity=1))
        with pytest.raises(ParameterError, match="bulletin 1 is not sealed"):
            omr.detect(board, key, 1)
