# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What tests of the board share: entries of a small set, processes, the chain computed by itself."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringforge._native import TestSeed
from ringforge.omr.board import Encoder
from ringforge.omr.sets import Set, named
from ringforge.omr.signal import Signals, SignalSecret
from tests.psi.processes import environment

Bytes = npt.NDArray[np.uint8]

SET = named("test", insecure="tests")

_numbers = itertools.count(1)


def _seed(number: int) -> TestSeed:
    return TestSeed(number.to_bytes(32, "little"))


@cache
def secret(number: int = 0) -> SignalSecret:
    """A receiver's."""
    return SignalSecret.make(SET, fixed_seed_for_tests=_seed(100 + number))


def fresh(count: int, receiver: int = 0, seed: int = 0) -> tuple[Bytes, Bytes]:
    """Entries that this process has not posted yet, unless it gives a seed: packed signals of a receiver, payloads."""
    seed = seed or next(_numbers)
    signals = secret(receiver).public().signals(count, fixed_seed_for_tests=_seed(1000 + seed))
    rng = np.random.default_rng(seed)
    return signals.pack(), rng.integers(0, 256, (count, SET.payload_bytes), dtype=np.uint8)


def packed(words: npt.NDArray[np.integer], s: Set = SET) -> Bytes:
    """Rows of n + clues words, packed by Python's integers."""
    rows = []
    for row in words:
        number = sum(int(w) << (s.word_bits * i) for i, w in enumerate(row))
        rows.append(np.frombuffer(number.to_bytes(s.signal_bytes, "little"), np.uint8))
    return np.stack(rows)


def chain(start: bytes, signals: Iterable[bytes], payloads: Iterable[bytes]) -> bytes:
    """As docs/omr-board.md has it."""
    for signal, payload in zip(signals, payloads, strict=True):
        start = hashlib.sha256(start + hashlib.sha256(signal).digest() + hashlib.sha256(payload).digest()).digest()
    return start


def start_of_first(s: Set = SET) -> bytes:
    return hashlib.sha256(b"ringforge-omr-board-1" + s.hash).digest()


def one_line(error: Exception) -> None:
    """As commands print it."""
    assert "\n" not in str(error)
    assert len(str(error)) < 400


class Counting:
    """An encoder that counts what it is asked for."""

    def __init__(self, steps: int = 3, name: str = "counting 1") -> None:
        self.calls: list[int] = []
        self.encoder = Encoder(name, steps, 1 << 20, self._encode)

    def _encode(self, signals: Signals, step: int) -> bytes:
        self.calls.append(step)
        return self.expected(signals, step)

    @staticmethod
    def expected(signals: Signals, step: int) -> bytes:
        return signals.a[:, step].tobytes() + bytes([step])


#: What scripts in processes begin with.
PREAMBLE = """
import sys, time
import numpy as np
from ringforge.errors import *
from ringforge.omr.board import Board
from tests.omr.boards import SET, fresh
"""


def script(text: str, folder: Path, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Python in a process of its own."""
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", PREAMBLE + textwrap.dedent(text), *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
