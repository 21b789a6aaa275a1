# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A board as detectors and receivers read it: its database, or its service."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.omr.board import Board, Encoder
from ringforge.omr.board_client import Info, RemoteBoard
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals
from ringforge.serving.access import split_address


class Source:
    """Sealed bulletins. Threads may share one.

    Args:
        board: where they are.
    """

    def __init__(self, board: Board | RemoteBoard) -> None:
        self.set = board.set
        self._board = board
        self._lock = threading.Lock()
        self._sealed: list[tuple[int, str]] = []
        self._info: Info | None = None

    def close(self) -> None:
        """Lets go of the board."""
        self._board.close()

    def sealed(self) -> list[tuple[int, str]]:
        """Numbers and digests (hexadecimal) of all sealed bulletins; those that are known are not asked for again."""
        with self._lock:
            for b in self._board.bulletins(len(self._sealed)):
                if b.sealed and b.number == len(self._sealed):
                    self._sealed.append((b.number, b.digest.hex()))
            return list(self._sealed)

    def signals(self, number: int) -> Signals:
        """All signals of a bulletin."""
        return self._board.signals(number)

    def payloads(self, number: int, first: int = 0, last: int | None = None) -> npt.NDArray[np.uint8]:
        """Payloads of entries first to last of a bulletin, last not included: uint8[count, payload_bytes]."""
        return self._board.payloads(number, first, last)

    def encodings(self, number: int, encoder: Encoder, steps: Sequence[int]) -> Iterator[bytes]:
        """Encodings of a bulletin's diagonals for these giant steps, in order; made where the board has none."""
        if isinstance(self._board, Board):
            return (blob for _, blob in self._board.encodings(number, encoder, steps))
        info = self._info = self._info or self._board.info()
        if info.encoder == encoder.name and info.steps == encoder.steps:
            return (blob for _, blob in self._board.encodings(number, info, steps))
        return self._made(number, encoder, steps)

    def _made(self, number: int, encoder: Encoder, steps: Sequence[int]) -> Iterator[bytes]:
        signals = self.signals(number)
        for step in steps:
            yield encoder.encode(signals, step)


def open_board(
    where: str,
    s: Set,
    *,
    threads: int = 1,
    ca: Path | None = None,
    token: str | None = None,
    plaintext: bool = False,
) -> Source:
    """A board by HOST:PORT of its service, or by its database: a file of SQLite, or a connection string.

    Raises:
        ParameterError: there is none. MismatchError: it is of another set. Error: it cannot be reached.
    """
    if not _is_address(where):
        return Source(Board.open(where, s, create=False, threads=threads))
    remote = RemoteBoard(where, s, threads=threads, ca=ca, token=token, plaintext=plaintext)
    try:
        remote.info()
    except BaseException:
        remote.close()
        raise
    return Source(remote)


def _is_address(where: str) -> bool:
    if Path(where).exists():
        return False
    try:
        split_address(where)
    except ParameterError:
        return False
    return True
