# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A receiver's connection to a detector."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ringforge.errors import FormatError
from ringforge.omr import detector_wire as wire
from ringforge.omr.proto import detector_pb2 as pb
from ringforge.omr.steps import Request
from ringforge.serving import framing, remote
from ringforge.serving.jobs import Progress
from ringforge.serving.remote import Words

#: The largest digest that is taken.
MAX_DIGEST = 1 << 28

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Info:
    """What a detector says of itself, and of what it keeps of this client.

    Attributes:
        detector: the set's name and hash, the plan's hash, the most messages by mode, times.
        bulletins: digests of sealed bulletins by number. keys: of this client, by SHA-256. jobs: of this client.
        left: what is left of today's quota.
    """

    detector: dict[str, Any]
    bulletins: dict[int, str]
    keys: dict[str, dict[str, Any]]
    jobs: list[dict[str, Any]]
    left: dict[str, int]

    @classmethod
    def from_json(cls, text: bytes) -> Info:
        """Reads a description.

        Raises:
            FormatError: it is none.
        """
        try:
            found = json.loads(text)
            info = cls(
                dict(found["detector"]),
                {int(n): str(d) for n, d in found["bulletins"]},
                {str(k): dict(v) for k, v in found["keys"].items()},
                [dict(j) for j in found["jobs"]],
                {str(k): int(v) for k, v in found["left"].items()},
            )
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError):
            raise FormatError("the detector's description of itself is none: it may be another program") from None
        return info


class Connection(remote.Connection):
    """A detector, reached over TCP. Arguments and errors are those of `serving.remote.Connection`."""

    service, methods = wire.SERVICE, wire.METHODS
    kinds: ClassVar = {
        "Info": "info",
        "PutKey": "keys",
        "DropKey": "info",
        "Submit": "requests",
        "Watch": "progress",
        "Fetch": "digests",
        "Cancel": "requests",
    }
    words = Words(
        server="detector",
        program="omr detect serve",
        unfinished="what was asked for is worked off all the same; run again to go on",
        duration="`ringforge omr estimate` says what a bulletin takes",
    )

    def info(self, first_bulletin: int = 0) -> Info:
        """What the detector says of itself; bulletins before the first are left out.

        Raises:
            FormatError: no such description. Error: the detector cannot be reached, or refuses.
        """
        with self._refusals(), self._call("Info", pb.InfoRequest(first_bulletin=first_bulletin)) as replies:
            head = self._header(replies)
            if head.total_bytes > wire.MAX_INFO:
                raise FormatError(
                    f"the detector describes itself in {head.total_bytes} bytes; at most {wire.MAX_INFO} are taken"
                )
            return Info.from_json(framing.assemble(replies, head.total_bytes, "the detector's description"))

    def put_key(self, path: str | Path, progress: Callable[[float], None] | None = None) -> str:
        """Deposits the detection key of a file; returns its name, the file's SHA-256.

        Raises:
            FormatError, MismatchError: it is none for this detector, or there already. BusyError: too many keys.
        """
        path = Path(path)
        size, name = path.stat().st_size, key_name(path)

        def messages() -> Iterator[Any]:
            yield pb.PutKeyRequest(header=pb.KeyHeader(sha256=bytes.fromhex(name), total_bytes=size))
            sent = 0
            with path.open("rb") as f:
                while chunk := f.read(framing.CHUNK):
                    yield pb.PutKeyRequest(chunk=chunk)
                    sent += len(chunk)
                    if progress:
                        progress(min(1.0, sent / size))

        with self._refusals(), self._call("PutKey", messages()) as replies:
            reply = self._answer(replies, pb.PutKeyReply())
        if isinstance(reply, framing.Malformed) or reply.key.hex() != name:
            raise FormatError("the detector took another key than the one that was sent: it may be another program")
        return name

    def drop_key(self, name: str) -> None:
        """Lets the detector forget a key, and what was computed with it.

        Raises:
            MissingKeyError: it has none of that name. BusyError: a job computes with it.
        """
        with self._refusals():
            self._methods["DropKey"](
                pb.DropKeyRequest(key=bytes.fromhex(name)), timeout=self._left(), metadata=self._metadata
            )

    def submit(self, request: Request) -> str:
        """Asks for a digest; returns the job's name. Asking twice for the same is asking once.

        Raises:
            QuotaError, BusyError: not now. ParameterError, MissingKeyError: not so.
        """
        asked = pb.SubmitRequest(
            key=bytes.fromhex(request.key),
            bulletin=request.bulletin,
            digest=bytes.fromhex(request.digest),
            mode=request.mode,
            capacity=request.capacity,
            first=request.first,
            last=request.last,
        )
        with self._refusals(), self._call("Submit", asked) as replies:
            reply = self._answer(replies, None)
        if isinstance(reply, framing.Malformed) or len(reply.job) != wire.JOB_BYTES:
            raise FormatError("the detector's answer names no job: it may be another program")
        return bytes(reply.job).hex()

    def watch(self, job: str, report: Callable[[Progress], None] | None = None) -> None:
        """Waits until a job is done.

        Raises:
            Error: it failed or was cancelled; the message says why.
        """
        with self._refusals(), self._call("Watch", pb.WatchRequest(job=bytes.fromhex(job))) as replies:
            remote.watched(replies, job, "the detector", "ask again", report)

    def fetch(self, job: str) -> bytes:
        """The digest of a job that is done.

        Raises:
            MissingKeyError: there is no such job, or it is another's. MismatchError: it is not done.
        """
        with self._refusals(), self._call("Fetch", pb.FetchRequest(job=bytes.fromhex(job))) as replies:
            head = self._header(replies)
            if head.total_bytes > MAX_DIGEST:
                raise FormatError(
                    f"the detector announces a digest of {head.total_bytes} bytes; {MAX_DIGEST} are the most"
                )
            return framing.assemble(replies, head.total_bytes, "a digest")

    def cancel(self, job: str) -> bool:
        """Ends a job; says whether it was under way."""
        with self._refusals():
            reply = self._methods["Cancel"](
                pb.CancelRequest(job=bytes.fromhex(job)), timeout=self._left(), metadata=self._metadata
            )
        return bool(reply.found)


def key_name(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal: by it a detector knows a key."""
    checksum = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(_BLOCK):
            checksum.update(block)
    return checksum.hexdigest()
