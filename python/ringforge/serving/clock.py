# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Time of services: it goes on by the system's uptime, so nobody who sets the wall clock moves it.

The wall clock is read once, when a service starts; from then on `CLOCK_BOOTTIME` counts, which also goes on while the
machine sleeps. A mark that is written down lets the next process of the same boot go on exactly, whatever the wall
clock says by then. After another boot nobody can tell a wall clock that was set from a machine that was off; each
caller says which of the two is safe to believe.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

#: Seconds that no clock of a service shows.
_LARGEST = 1e12

_BOOT = Path("/proc/sys/kernel/random/boot_id")

#: Where a boot's name would be: the mark whose offset is the day to which a quota was carried over after a boot.
CARRIED = "carried"


def uptime() -> float:
    """Return the seconds since the machine was started, those in which it slept included."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def boot() -> str:
    """Return the name of this boot of the machine; empty where the system gives none."""
    try:
        return _BOOT.read_text().strip()[:64]
    except OSError:
        return ""


@dataclass(frozen=True)
class Mark:
    """A service's time as it is written down.

    Attributes:
        boot: in which it was. offset: to be added to the uptime of that boot. seen: the latest time that was counted.
    """

    boot: str
    offset: float
    seen: float

    @classmethod
    def checked(cls, boot: object, offset: object, seen: object) -> Mark | None:
        """Return a mark of values that were read; None if they are none."""
        if not isinstance(boot, str) or not isinstance(offset, float) or not isinstance(seen, float):
            return None
        return cls(boot, offset, seen) if abs(offset) < _LARGEST and 0 <= seen < _LARGEST else None

    def to_json(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def of_carried(cls, day: int) -> Mark:
        """Return the mark that says to which day what was used has been carried over."""
        return cls(CARRIED, float(day), 0.0)

    @classmethod
    def from_json(cls, data: bytes) -> Mark | None:
        """Return the mark that JSON holds; None if it holds none."""
        try:
            found = json.loads(data)
            return cls.checked(found["boot"], found["offset"], found["seen"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None


def carries(marks: Iterable[Mark], last: int, today: int) -> bool:
    """Return whether what was used on the last counted day counts as used today, after another boot.

    Nobody can tell a machine that was off for days from one whose clock was set. So the first boot on another day gives
    nothing back. The next one does: a machine that is off at every midnight must not refuse its clients for ever.
    """
    return last != today and all(mark.boot != CARRIED or int(mark.offset) != last for mark in marks)


class Clock:
    """Seconds since 1970 as a service counts them; while it runs they neither go back nor jump.

    Args:
        wall: the wall clock, asked once. uptime, boot: of the machine.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        uptime: Callable[[], float] = uptime,
        boot: Callable[[], str] = boot,
    ) -> None:
        self._uptime, self.boot = uptime, boot()
        self._offset = wall() - uptime()

    def __call__(self) -> float:
        """Return the time."""
        return self._offset + self._uptime()

    def mark(self) -> Mark:
        """Return what is to be written down for the next process."""
        return Mark(self.boot, self._offset, self())

    def resume(self, mark: Mark | None, *, believe_wall: bool) -> bool:
        """Go on from a mark; return whether the time since then is known.

        Args:
            mark: what was written down; None leaves the clock as it is.
            believe_wall: what to do after another boot, or on another machine. True takes the wall clock, which may
                be right again after it was wrong; callers carry over what must not be given twice. False goes on from
                the mark as if no time had passed.
        """
        if mark is None:
            return True
        up = self._uptime()
        if self.boot and mark.boot == self.boot and mark.offset + up >= mark.seen:
            self._offset = mark.offset
            return True
        if not believe_wall:
            self._offset = mark.seen - up
        return False
