# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Work on one bulletin for one receiver, as steps that anybody may compute anywhere.

A step is a pure function of the bulletin's encodings, the public detection key and the results of the steps it names.
Its description says all of that, and its name is the digest of the description: two steps of one name have the same
result, so results can be kept, looked up, computed again or by another machine, and never mixed up. A plan's hash is
part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from ringforge.errors import FormatError, ParameterError

#: The stages, in order.
STAGES = ("affine", "combination", "range check", "compression", "digest")

#: What a digest carries: messages, or where they are.
MODES = ("messages", "positions")

_MAX_DESCRIPTION = 1 << 16


@dataclass(frozen=True)
class Request:
    """What a receiver asks of a detector about one bulletin.

    Attributes:
        key: SHA-256 of the detection key, in hexadecimal.
        bulletin: its number on the board. digest: SHA-256 of its contents, in hexadecimal.
        mode: of `MODES`.
        capacity: the most messages the digest can hold.
        first, last: the window of the bulletin's entries, last not included; outside of it nothing is found.

    Raises:
        ParameterError: no such mode, a window without entries, a capacity below 1.
    """

    key: str
    bulletin: int
    digest: str
    mode: str
    capacity: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ParameterError(f'"{self.mode[:32]}" is no mode of a digest: {" or ".join(MODES)}')
        if not 0 <= self.first < self.last:
            raise ParameterError(f"a window from entry {self.first} to {self.last}: it must have one entry at least")
        if self.capacity < 1:
            raise ParameterError(f"a capacity of {self.capacity} messages: 1 is the least")
        if self.bulletin < 0:
            raise ParameterError(f"bulletin {self.bulletin}: they are counted from 0")
        for what, text in (("detection key", self.key), ("bulletin", self.digest)):
            if len(text) != 64 or set(text) - set("0123456789abcdef"):
                raise ParameterError(f"a {what} is named by a SHA-256 of 64 hexadecimal digits")

    @cached_property
    def name(self) -> str:
        """32 hexadecimal digits; equal requests have the same."""
        return hashlib.sha256(_canonical(asdict(self))).hexdigest()[:32]


@dataclass(frozen=True)
class Step:
    """One step's description.

    Attributes:
        stage: of `STAGES`.
        plan: hash of the plan, in hexadecimal. key, bulletin: SHA-256 of the detection key and of the bulletin's
        contents. first, last: the shard: a range of what the stage is cut along, last not included.
        options: names and numbers that the result depends on beside these.
        inputs: names of the steps whose results are needed.
        share: of the request's whole time, roughly; no part of the name.
    """

    stage: str
    plan: str
    key: str
    bulletin: str
    first: int
    last: int
    options: tuple[tuple[str, int], ...] = ()
    inputs: tuple[str, ...] = ()
    share: float = field(default=0.0, compare=False)

    @cached_property
    def name(self) -> str:
        """SHA-256 of the description, in hexadecimal."""
        return hashlib.sha256(self.to_json()).hexdigest()

    @property
    def said(self) -> str:
        """For people: stage and shard."""
        return f"{self.stage} {self.first}..{self.last}"

    def to_json(self) -> bytes:
        """The description, always the same bytes."""
        return _canonical({f.name: getattr(self, f.name) for f in fields(self) if f.name != "share"})

    @classmethod
    def from_json(cls, data: bytes) -> Step:
        """Reads a description.

        Raises:
            FormatError: it is none.
        """
        if len(data) > _MAX_DESCRIPTION:
            raise FormatError(f"a step's description of {len(data)} bytes: {_MAX_DESCRIPTION} are the most")
        try:
            found: dict[str, Any] = json.loads(data)
            step = cls(
                options=tuple((str(k), int(v)) for k, v in found.pop("options")),
                inputs=tuple(map(str, found.pop("inputs"))),
                **found,
            )
            good = step.to_json() == data and step.stage in STAGES
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError):
            good = False
        if not good:
            raise FormatError("these bytes are no description of a step, as `Step.to_json` writes it")
        return step


def _canonical(values: dict[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


class Session(Protocol):
    """A detection key, opened to compute with."""

    def run(
        self, step: Step, inputs: Sequence[Path], progress: Callable[[float], bool | None] | None = None
    ) -> tuple[bytes, dict[str, int]]:
        """A step's result, and operations counted by kind.

        Args:
            step: what is to be computed. inputs: files with the results of `step.inputs`, in that order, checked
            already.
            progress: gets the fraction of the step done, several times a second; False cancels.

        Raises:
            Error "cancelled": `progress` returned False.
        """


class Worker(Protocol):
    """What computes steps. The detector's is `detector.Detector`."""

    def describe(self) -> dict[str, Any]:
        """What receivers are told: the set, the hash of the plan, the most messages by mode, the bytes of keys."""

    def bulletins(self) -> list[tuple[int, str]]:
        """Numbers and digests of sealed bulletins, in order."""

    def check_key(self, path: Path, progress: Callable[[float], bool | None] | None = None) -> dict[str, Any]:
        """What a file of a detection key holds: "capacity" and whatever else is public.

        Raises:
            FormatError: it is none, or damaged. MismatchError: it is for other parameters. Error "cancelled":
            `progress` returned False.
        """

    def key_bytes(self) -> tuple[int, int]:
        """The least and the most bytes of a detection key's file."""

    def steps(self, request: Request) -> list[Step]:
        """All steps of a request, each after those it needs; the last one's result is the digest.

        Raises:
            ParameterError: the board or the set has nothing of the kind.
        """

    def open(self, key: Path, progress: Callable[[float], bool | None] | None = None) -> Session:
        """Reads a detection key.

        Raises:
            Error "cancelled": `progress` returned False.
        """
