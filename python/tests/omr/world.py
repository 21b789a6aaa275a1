# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Boards with messages for people, for tests of everything that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ringforge.omr.board import Board
from ringforge.omr.payload import BoxKey, BoxSecret
from ringforge.omr.sets import Set, named
from ringforge.omr.signal import SignalKey, SignalSecret

SMALL: Set = named("test", "tests")


@dataclass(frozen=True)
class Person:
    """Somebody who gets messages."""

    signal: SignalSecret
    box: BoxSecret

    @classmethod
    def make(cls, s: Set = SMALL) -> Person:
        return cls(SignalSecret.make(s), BoxSecret.make())


@dataclass(frozen=True)
class Post:
    """Entries for one person: signals of its key, boxes of `box`, another's where somebody cheats."""

    signal: SignalKey
    box: BoxKey
    texts: Sequence[bytes]


def posts(person: Person, texts: Sequence[bytes]) -> Post:
    return Post(person.signal.public(), person.box.public(), texts)


def post(board: Board, *entries: Post) -> None:
    """Puts entries on a board, one post after the other."""
    for p in entries:
        signals = p.signal.signals(len(p.texts)).pack()
        payloads = b"".join(p.box.seal(text, board.set) for text in p.texts)
        board.post(signals, np.frombuffer(payloads, np.uint8).reshape(len(p.texts), -1))


def bulletin(board: Board, *entries: Post) -> int:
    """A sealed bulletin that begins with these entries; the rest are pads. Its number."""
    post(board, *entries)
    return board.seal(pad=True).number


def texts(count: int, who: str = "text") -> list[bytes]:
    """Different ones, of different lengths."""
    return [f"{who} {i}: {'.' * (i * 7 % 60)}".encode() for i in range(count)]


def new_board(folder: Path, s: Set = SMALL) -> Board:
    return Board.open(folder / "board.sqlite", s)
