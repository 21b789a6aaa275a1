# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service counts of its calls: outcomes, times, bytes. Nothing in it belongs to a client or to what it sent."""

from __future__ import annotations

import bisect
import threading
from dataclasses import dataclass, field

#: Upper ends of the classes of times, in seconds; what took longer than the last is in one class more.
BOUNDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 150.0, 300.0, 900.0,
    3600.0, 14400.0,
)  # fmt: skip


@dataclass
class Counted:
    """What was counted of one method.

    Attributes:
        outcomes: ended calls by a fixed word: "ok", "gone", "stalled", "fault", or the kind of a refusal.
        times: calls in each class of `BOUNDS`, and beyond. Calls refused at the door are in none.
        seconds: of all these calls together. received, sent: bytes of messages.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    times: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0
    received: int = 0
    sent: int = 0


class Meter:
    """Counts; thread-safe.

    Args:
        methods: that there are; others are counted as "other", so that nobody can make the list long.
    """

    def __init__(self, methods: tuple[str, ...]) -> None:
        self._lock = threading.Lock()
        self._counted = {name: Counted() for name in (*methods, "other")}
        self._under_way = 0

    def _of(self, method: str) -> Counted:
        return self._counted.get(method) or self._counted["other"]

    def begin(self) -> None:
        """A call that is let in begins; `end` must follow."""
        with self._lock:
            self._under_way += 1

    def end(self, method: str, outcome: str, seconds: float) -> None:
        """It has ended.

        Args:
            outcome: a fixed word.
        """
        with self._lock:
            self._under_way -= 1
            counted = self._of(method)
            counted.outcomes[outcome] = counted.outcomes.get(outcome, 0) + 1
            counted.times[bisect.bisect_left(BOUNDS, seconds)] += 1
            counted.seconds += seconds

    def refused(self, method: str, outcome: str) -> None:
        """A call was refused at the door."""
        with self._lock:
            counted = self._of(method)
            counted.outcomes[outcome] = counted.outcomes.get(outcome, 0) + 1

    def moved(self, method: str, received: int = 0, sent: int = 0) -> None:
        """Bytes of messages came and went."""
        with self._lock:
            counted = self._of(method)
            counted.received += received
            counted.sent += sent

    @property
    def under_way(self) -> int:
        """Calls that were let in and have not ended."""
        with self._lock:
            return self._under_way

    def counted(self) -> dict[str, Counted]:
        """Copies of all counts by method; "other" only when there is something."""
        with self._lock:
            return {
                name: Counted(dict(c.outcomes), list(c.times), c.seconds, c.received, c.sent)
                for name, c in self._counted.items()
                if name != "other" or c.outcomes
            }
