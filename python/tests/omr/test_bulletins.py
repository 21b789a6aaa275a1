# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A board read through its database and through its service: the same bulletins, payloads, encodings."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringforge.errors import MismatchError, ParameterError
from ringforge.omr import board_service
from ringforge.omr.board import Board, Encoder
from ringforge.omr.bulletins import Source, open_board
from ringforge.omr.sets import named
from ringforge.omr.signal import Signals
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running

from .world import SMALL, Person, bulletin, new_board, posts, texts


class Counting:
    """An encoder of hashes that counts."""

    def __init__(self, name: str = "hashes 1") -> None:
        self.made: list[int] = []
        self.encoder = Encoder(name, 4, 32, self.encode)

    def encode(self, signals: Signals, step: int) -> bytes:
        self.made.append(step)
        return hashlib.sha256(signals.a.tobytes() + bytes([step])).digest()


@contextlib.contextmanager
def served(board: Board, encoder: Encoder | None) -> Iterator[str]:
    running = Running(board_service.Service(board, Limits(grace_seconds=0), 1 << 20, encoder), "127.0.0.1:0")
    try:
        yield f"127.0.0.1:{running.port}"
    finally:
        running.stop(0)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with new_board(tmp_path) as made:
        bulletin(made, posts(Person.make(), texts(3)))
        yield made


@pytest.mark.parametrize("where", ["database", "service", "service without encodings"])
def test_a_source(board: Board, tmp_path: Path, where: str) -> None:
    theirs, mine = Counting(), Counting()
    encoder = theirs.encoder if where == "service" else None
    with served(board, encoder) as address, contextlib.ExitStack() as stack:
        name = str(tmp_path / "board.sqlite") if where == "database" else address
        source: Source = stack.enter_context(contextlib.closing(open_board(name, SMALL)))
        assert source.sealed() == [(0, board.bulletin(0).digest.hex())]
        bulletin(board, posts(Person.make(), texts(1)))
        assert [n for n, _ in source.sealed()] == [0, 1]
        assert (source.signals(0).b == board.signals(0).b).all()
        assert (source.payloads(0, 2, 5) == board.payloads(0, 2, 5)).all()
        expected = [mine.encode(board.signals(1), step) for step in (1, 3)]
        mine.made.clear()
        for _ in range(2):
            assert list(source.encodings(1, mine.encoder, [1, 3])) == expected
    # A board keeps what was made once; without one they are made for each run.
    assert theirs.made == ([1, 3] if where == "service" else [])
    assert mine.made == {"database": [1, 3], "service": [], "service without encodings": [1, 3, 1, 3]}[where]


def test_boards_that_are_not_there_or_of_another_set(board: Board, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no board"):
        open_board(str(tmp_path / "other.sqlite"), SMALL)
    other = named("ringforge")
    with pytest.raises(MismatchError):
        open_board(str(tmp_path / "board.sqlite"), other)
    with served(board, None) as address, pytest.raises(MismatchError):
        open_board(address, other)
