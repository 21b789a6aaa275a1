# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Shards whose results are known, and some that fail: functions that workers import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from ringforge.errors import FormatError, ShapeError


def total(task: Any, stored: Any, first: int, last: int) -> int:
    """Of a part of a stored array."""
    return int(task.get(stored)[first:last].sum())


def whole(value: Any) -> int:
    """The check of sums."""
    if type(value) is not int:
        raise FormatError(f"a sum is {type(value).__name__}")
    return value


def pid(_: Any) -> int:
    return os.getpid()


def threads(task: Any) -> int:
    return int(task.threads)


def flags(task: Any, stored: Any) -> tuple[bool, bool, int]:
    """Writable, owner of its memory, offset from 64 bytes."""
    array = task.get(stored)
    return array.flags.writeable, array.flags.owndata, array.ctypes.data % 64


def kept(task: Any, stored: Any) -> tuple[int, float]:
    """The worker, and when it made what it keeps of a stored value."""
    return os.getpid(), task.cached(("keys", stored.name), time.monotonic)


def held(_: Any) -> int:
    """How much this worker keeps."""
    from ringforge.scale import task

    return len(task._CACHE._kept)


def refuse(_: Any) -> None:
    raise ShapeError("three rows, where two are needed")


class StrangeError(Exception):
    """Cannot be read from its pickle."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def strange(_: Any) -> None:
    raise StrangeError(1, 2)


def once(place: str, name: str) -> bool:
    """Whether this is the first call with the name: a note of it is in the directory."""
    try:
        (Path(place) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def alone(_: Any, place: str, name: str) -> int:
    """The most shards with the same place at a time that it has seen."""
    note = Path(place) / f"{name}.busy"
    note.touch()
    seen = []
    for _look in range(20):
        seen.append(len(list(Path(place).glob("*.busy"))))
        time.sleep(0.01)
    note.unlink()
    return max(seen)


def dies(_: Any, place: str, name: str) -> int:
    """Its worker dies in the first attempt."""
    if once(place, name):
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


def always_dies(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stops(_: Any, place: str, name: str) -> int:
    """Its worker stands still in the first attempt."""
    if once(place, name):
        os.kill(os.getpid(), signal.SIGSTOP)
    return 7


def lingers(_: Any, seconds: float, place: str, name: str) -> int:
    """Takes long in the first attempt."""
    if once(place, name):
        (Path(place) / f"{name}.pid").write_text(str(os.getpid()))
        time.sleep(seconds)
        return 0
    return 7


def wrong(_: Any, place: str, name: str) -> Any:
    """Something else in the first attempt."""
    return "seven" if once(place, name) else 7


def slow(task: Any, seconds: float, place: str, name: str) -> str:
    """Tells what is done of it, and whether it was cancelled."""
    start = time.monotonic()
    (Path(place) / f"{name}.pid").write_text(str(os.getpid()))
    while (now := time.monotonic() - start) < seconds:
        if task.progress(now / seconds) is False:
            (Path(place) / f"{name}.cancelled").touch()
            return "cancelled"
        time.sleep(0.01)
    return "done"


def deaf(_: Any, seconds: float, place: str, name: str) -> str:
    """Asks nobody whether it is cancelled."""
    (Path(place) / f"{name}.pid").write_text(str(os.getpid()))
    time.sleep(seconds)
    return "done"


def words(_: Any, count: int) -> Any:
    return np.arange(count, dtype=np.uint64)


_PLANTED: list[bytearray] = []


def plants(_: Any, data: bytes, seconds: float) -> int:
    """Keeps bytes in the worker's memory; takes long enough that several workers get one."""
    _PLANTED.append(bytearray(data))
    time.sleep(seconds)
    return os.getpid()


def late(task: Any, seconds: float, place: str, name: str, function: Any, *arguments: Any) -> Any:
    """Another function, so many seconds later."""
    if seconds and slow(task, seconds, place, name) == "cancelled":
        return None
    return function(task, *arguments)


def first(task: Any, stored: Any) -> Any:
    """The first of a stored list, as the worker keeps it."""
    return task.cached(("first", stored.name), lambda: task.get(stored)[0])
