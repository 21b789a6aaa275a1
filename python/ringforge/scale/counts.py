# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a pool has done: counts, bytes, seconds of shards. Planners read the seconds, tests the rest."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ringforge.devices.sharding import Shard
from ringforge.files import writing

FORMAT = "ringforge-shard-costs"


@dataclass
class Kind:
    """All shards of a function.

    Attributes:
        shards: computed. seconds, cpu_seconds: that they took; predicted: by their costs.
        sent, returned: bytes; predicted_sent, predicted_returned: by their costs.
    """

    shards: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    predicted: float = 0.0
    sent: int = 0
    returned: int = 0
    predicted_sent: int = 0
    predicted_returned: int = 0


class Counts:
    """Of a pool; threads may share it.

    Attributes:
        shards: results used, by the shard's name. failures: by name and how: lost, wrong, hung.
        kinds: by "MODULE.FUNCTION" of the shards' functions.
        put_bytes: to the store.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.shards: Counter[str] = Counter()
        self.failures: Counter[tuple[str, str]] = Counter()
        self.kinds: defaultdict[str, Kind] = defaultdict(Kind)
        self.put_bytes = 0

    def put(self, count: int) -> None:
        with self._lock:
            self.put_bytes += count

    def computed(self, shard: Shard, sent: int, returned: int, seconds: float, cpu_seconds: float) -> None:
        with self._lock:
            self.shards[shard.name] += 1
            kind = self.kinds[f"{shard.function.__module__}.{shard.function.__qualname__}"]
            kind.shards += 1
            kind.seconds += seconds
            kind.cpu_seconds += cpu_seconds
            kind.predicted += shard.cost.seconds
            kind.sent += sent
            kind.returned += returned
            kind.predicted_sent += shard.cost.sent
            kind.predicted_returned += shard.cost.result

    def failed(self, shard: Shard, how: str) -> None:
        with self._lock:
            self.failures[shard.name, how] += 1

    def how_often(self, how: str) -> int:
        """Shards that were lost, wrong, or hung."""
        with self._lock:
            return sum(n for (_, kind), n in self.failures.items() if kind == how)

    @property
    def summary(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        with self._lock:
            return {
                "format": FORMAT,
                "version": 1,
                "computed": self.shards.total(),
                **{how: sum(n for (_, h), n in self.failures.items() if h == how) for how in ("lost", "wrong", "hung")},
                "put_bytes": self.put_bytes,
                "kinds": {name: asdict(kind) for name, kind in sorted(self.kinds.items())},
            }

    def write(self, path: str | Path) -> None:
        """Writes the summary to a file, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        with writing(path) as f:
            f.write(json.dumps(self.summary, indent=1).encode() + b"\n")
