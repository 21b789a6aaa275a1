# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service tells of itself to who runs it: state, load, counts. It names no client and no element.

One record for all: the file in the runtime directory, `/status` and `/metrics` of an endpoint, and the page of
`ringforge serve` are made of it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import pydantic

import ringforge
from ringforge import _native
from ringforge.errors import FormatError
from ringforge.serving.meter import BOUNDS, Counted

#: Bytes of a record.
MAX_BYTES = 1 << 18

Text = Annotated[str, pydantic.Field(max_length=400)]
Word = Annotated[str, pydantic.Field(max_length=100)]
Count = Annotated[int, pydantic.Field(ge=0, lt=1 << 63)]
Seconds = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]


class _Record(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", strict=True)


class Method(_Record):
    """Calls of one method since the start; `times` are their numbers in the classes of `meter.BOUNDS`."""

    outcomes: dict[Word, Count] = pydantic.Field(max_length=64)
    times: list[Count] = pydantic.Field(min_length=len(BOUNDS) + 1, max_length=len(BOUNDS) + 1)
    seconds: Seconds
    received: Count
    sent: Count

    @classmethod
    def of(cls, c: Counted) -> Method:
        """From what a meter has counted."""
        return cls(outcomes=c.outcomes, times=c.times, seconds=c.seconds, received=c.received, sent=c.sent)

    def quantile(self, part: float) -> float | None:
        """About the time within which this part of the calls ended, as if they were spread evenly in their class.

        None without calls. Beyond the last class it is that class's lower end.
        """
        total = sum(self.times)
        if not total:
            return None
        rank, low = part * total, 0.0
        for count, high in zip(self.times, BOUNDS, strict=False):
            if count and rank <= count:
                return low + (high - low) * rank / count
            rank, low = rank - count, high
        return low


class Queue(_Record):
    """Who waits to be computed; `most` may."""

    waiting: Count
    most: Count


class Task(_Record):
    """Something that is computed, or waits for it.

    what: the method, or "request". stage: in words; may be empty. waiting: others to be computed before it.
    fraction: of the work done, 0 to 1. seconds: since it began to be computed. seconds_left: -1 when not known.
    """

    what: Word
    stage: Text = ""
    waiting: Count = 0
    fraction: float = pydantic.Field(ge=0, le=1)
    seconds: Seconds = 0.0
    seconds_left: float = pydantic.Field(ge=-1, allow_inf_nan=False)


class Use(_Record):
    """How much of something is taken, of how much there is; 0: without limit."""

    used: Count
    most: Count


class Asked(_Record):
    """What was asked for of one kind since midnight UTC: by all clients, how many these were, and what one may ask."""

    used: Count
    clients: Count
    each: Count


class Load(_Record):
    """What a service does now, and has done."""

    under_way: Count = 0
    methods: dict[Word, Method] = pydantic.Field(default={}, max_length=64)
    queues: dict[Word, Queue] = pydantic.Field(default={}, max_length=16)
    work: list[Task] = pydantic.Field(default=[], max_length=64)
    quotas: dict[Word, Asked] = pydantic.Field(default={}, max_length=16)
    uses: dict[Word, Use] = pydantic.Field(default={}, max_length=16)


class Status(_Record):
    """A service at one time.

    service: what it is, as its command says. address: where it listens. metrics: address of its endpoint, or "".
    started, now: seconds since 1970. beat: seconds since its main thread has last said that it goes on.
    state: "ready", or "stopping". facts: version, device, kernels and the like. resident: bytes of memory in use.
    """

    format: Literal["ringforge-service"] = "ringforge-service"
    version: Literal[1] = 1
    service: Word
    address: Text
    metrics: Text = ""
    pid: Count
    started: Seconds
    now: Seconds
    beat: Seconds = 0.0
    state: Literal["ready", "stopping"]
    facts: dict[Word, Text] = pydantic.Field(max_length=32)
    resident: Count = 0
    load: Load

    def to_json(self) -> bytes:
        """As it is stored and sent."""
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, data: bytes, what: str) -> Status:
        """Reads it.

        Args:
            what: names its source in messages.

        Raises:
            FormatError: it is no such record.
        """
        if len(data) > MAX_BYTES:
            raise FormatError(f"{what} has more than {MAX_BYTES} bytes: it does not tell of a service of ours")
        try:
            return cls.model_validate_json(data)
        except pydantic.ValidationError as e:
            first = e.errors(include_url=False, include_input=False, include_context=False)[0]
            at = ".".join(map(str, first["loc"]))[:80]
            raise FormatError(
                f"{what} does not tell of a service of ours ({at or 'as a whole'}: {first['msg'][:120]}): does another "
                "program answer there, or another version?"
            ) from None


@cache
def build_facts() -> Mapping[str, str]:
    """Version, kernel set and the like of this process."""
    return {
        "release": ringforge.__version__,
        "kernels": _native.kernels.active(),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def resident() -> int:
    """Bytes of memory that this process has in use; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _page()
    except (OSError, ValueError, IndexError):
        return 0


@cache
def _page() -> int:
    import resource

    return resource.getpagesize()
