# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Screening of posts that come together."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from ringforge.omr import board_screen
from ringforge.omr.board_screen import Screen
from ringforge.omr.signal import Signals, degenerate
from tests.omr.boards import secret


def some(count: int, zeros: tuple[int, ...] = ()) -> Signals:
    """Sound signals, but for zeros at some places."""
    signals = secret().public().signals(count)
    for place in zeros:
        signals.a[place] = 0
        signals.b[place] = 0
    return signals


def test_each_post_hears_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that come while one is tried are tried together, up to the limit, and each gets its own answer."""
    monkeypatch.setattr(board_screen, "_GROUP", 12)
    groups: list[int] = []
    first, go_on = threading.Event(), threading.Event()

    def watched(signals: Signals, threads: int) -> npt.NDArray[np.bool_]:
        groups.append(len(signals))
        first.set()
        assert go_on.wait(20)
        return degenerate(signals, threads)

    monkeypatch.setattr(board_screen, "degenerate", watched)
    screen = Screen(1)
    posts = [(), (2,), (), (0, 4), (), (1,)]
    with ThreadPoolExecutor(7) as pool:
        begun = pool.submit(screen.degenerate, some(20))  # more than a group, alone
        assert first.wait(20)
        answers = [pool.submit(screen.degenerate, some(5, zeros)) for zeros in posts]
        while len(screen._waiting) < len(posts):
            pass
        go_on.set()
        assert not begun.result(20).any()
        for zeros, answer in zip(posts, answers, strict=True):
            assert np.flatnonzero(answer.result(20)).tolist() == list(zeros)
    assert groups == [20, 10, 10, 10]
    assert not screen._waiting


def test_a_fault_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> npt.NDArray[np.bool_]:
        raise MemoryError

    monkeypatch.setattr(board_screen, "degenerate", broken)
    screen = Screen(1)
    with ThreadPoolExecutor(4) as pool:
        for answer in [pool.submit(screen.degenerate, some(2)) for _ in range(4)]:
            with pytest.raises(MemoryError):
                answer.result(20)
    monkeypatch.undo()
    assert not screen.degenerate(some(2)).any()
