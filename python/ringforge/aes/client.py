# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A client's connection to a server of AES. It sends nothing but what has no secret, or is encrypted."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ringforge.aes import files, wire
from ringforge.aes.proto import aes_pb2 as pb
from ringforge.errors import FormatError, MissingKeyError
from ringforge.files import secret_in, writing
from ringforge.serving import framing, remote
from ringforge.serving.jobs import Progress
from ringforge.serving.remote import Words, clean

#: The largest result that is taken.
MAX_RESULT = 1 << 40

_BLOCK = 1 << 20

#: Where digests of files are noted, so that gigabytes are not read for each request.
_NOTES = ".digests.json"


@dataclass(frozen=True)
class Info:
    """What a server says of itself, and of what it keeps of this client.

    Attributes:
        server: scheme, set, hash of its parameters, blocks at a time. sets, jobs: of this client.
        left: what is left of today's quota.
    """

    server: dict[str, Any]
    sets: dict[str, dict[str, Any]]
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
                _fields(found["server"], ("scheme", "set", "parameters"), ("slots", "blocks", "key_bytes")),
                {str(k): _fields(v, ("kind",), ("bytes", "missing")) for k, v in found["sets"].items()},
                [_fields(j, ("job", "state", "kind", "compute", "error"), ("blocks",)) for j in found["jobs"]],
                {str(k): int(v) for k, v in found["left"].items()},
            )
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError):
            raise FormatError("the server's description of itself is none: it may be another program") from None
        return info


def _fields(values: Any, texts: tuple[str, ...], numbers: tuple[str, ...]) -> dict[str, Any]:
    """What is wanted of an object that came, as what it should be."""
    return {name: clean(str(values[name])) for name in texts} | {name: int(values[name]) for name in numbers}


class Connection(remote.Connection):
    """A server, reached over TCP. Arguments and errors are those of `serving.remote.Connection`."""

    service, methods = wire.SERVICE, wire.METHODS
    kinds: ClassVar = {
        "Info": "info",
        "Offer": "keys",
        "PutFile": "keys",
        "Drop": "info",
        "Submit": "requests",
        "Watch": "progress",
        "Fetch": "results",
        "Cancel": "requests",
    }
    words = Words(
        server="server of AES",
        program="ringforge aes serve",
        unfinished="what was asked for is worked off all the same; run again to go on",
        duration="`ringforge aes estimate` says what AES takes",
    )

    def info(self) -> Info:
        """What the server says of itself.

        Raises:
            FormatError: no such description. Error: the server cannot be reached, or refuses.
        """
        with self._refusals(), self._call("Info", pb.InfoRequest()) as replies:
            head = self._header(replies)
            if head.total_bytes > wire.MAX_INFO:
                raise FormatError(
                    f"the server describes itself in {head.total_bytes} bytes; at most {wire.MAX_INFO} are taken"
                )
            return Info.from_json(framing.assemble(replies, head.total_bytes, "the server's description"))

    # ---- keys ----

    def put(self, kind: str, directory: Path, progress: Callable[[float], None] | None = None) -> str:
        """Deposits a directory of keys, as far as the server does not have them; returns the set's name.

        Args:
            kind: of `wire`.

        Raises:
            MissingKeyError: files are missing here. FormatError: they are not for this server, or damaged.
            BusyError: too many keys. ParameterError: as `serving.access.read_private`.
        """
        paths = parts_of(kind, directory)
        digests = _digests(directory, paths)
        offer = pb.OfferRequest(
            kind=kind,
            files=[pb.File(name=p.name, sha256=bytes.fromhex(digests[p.name]), bytes=p.stat().st_size) for p in paths],
        )
        with self._refusals():
            reply = self._methods["Offer"](offer, timeout=self._left(), metadata=self._metadata)
        if isinstance(reply, framing.Malformed) or len(reply.set) != wire.NAME_BYTES:
            raise FormatError("the server's answer names no set of keys: it may be another program")
        wanted = {p.name: p for p in paths}
        missing = [wanted[name] for name in reply.missing if name in wanted]
        whole, done = sum(p.stat().st_size for p in missing) or 1, 0

        def sent(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress(min(1.0, done / whole))

        for path in missing:
            self._put_file(reply.set, path, sent)
        return bytes(reply.set).hex()

    def _put_file(self, name: bytes, path: Path, sent: Callable[[int], None]) -> None:
        def messages() -> Iterator[Any]:
            yield pb.PutFileRequest(header=pb.FileHeader(set=name, name=path.name))
            with path.open("rb") as f:
                while chunk := f.read(framing.CHUNK):
                    yield pb.PutFileRequest(chunk=chunk)
                    sent(len(chunk))

        with self._refusals(), self._call("PutFile", messages()) as replies:
            reply = self._answer(replies, pb.PutFileReply())
        if isinstance(reply, framing.Malformed) or reply.name != path.name:
            raise FormatError("the server took another file than the one that was sent: it may be another program")

    def drop(self, name: str) -> None:
        """Lets the server forget a set of keys, and what was computed with it.

        Raises:
            MissingKeyError: it has none of that name. BusyError: a job computes with it.
        """
        with self._refusals():
            self._methods["Drop"](
                pb.DropRequest(set=bytes.fromhex(name)), timeout=self._left(), metadata=self._metadata
            )

    # ---- jobs ----

    def submit(self, evaluation: str, round_keys: str, kind: str, path: Path, compute: str = "") -> str:
        """Asks for AES on a file of encrypted blocks, or on a stream; returns the job's name. Asking twice for the same
        is asking once.

        Args:
            evaluation, round_keys: names of sets. kind: of `wire`. compute: what to compute afterwards.

        Raises:
            QuotaError, BusyError: not now. ParameterError, FormatError, MismatchError, MissingKeyError: not so.
        """
        head = pb.JobHeader(
            evaluation=bytes.fromhex(evaluation),
            round_keys=bytes.fromhex(round_keys),
            kind=kind,
            compute=compute,
            sha256=bytes.fromhex(file_digest(path)),
            total_bytes=path.stat().st_size,
        )

        def messages() -> Iterator[Any]:
            yield pb.SubmitRequest(header=head)
            with path.open("rb") as f:
                while chunk := f.read(framing.CHUNK):
                    yield pb.SubmitRequest(chunk=chunk)

        with self._refusals(), self._call("Submit", messages()) as replies:
            reply = self._answer(replies, None)
        if isinstance(reply, framing.Malformed) or len(reply.job) != wire.NAME_BYTES:
            raise FormatError("the server's answer names no job: it may be another program")
        return bytes(reply.job).hex()

    def watch(self, job: str, report: Callable[[Progress], None] | None = None) -> None:
        """Waits until a job is done.

        Raises:
            Error: it failed or was cancelled; the message says why.
        """
        with self._refusals(), self._call("Watch", pb.WatchRequest(job=bytes.fromhex(job))) as replies:
            remote.watched(replies, job, "the server", "submit it again", report)

    def fetch(self, job: str, out: Path) -> int:
        """Writes the result of a job that is done, whole or not at all; returns bytes.

        Raises:
            MissingKeyError: there is no such job, or it is another's. MismatchError: it is not done. FormatError: what
            comes is no result. OSError: no room.
        """
        with self._refusals(), self._call("Fetch", pb.FetchRequest(job=bytes.fromhex(job))) as replies:
            size = self._header(replies).total_bytes
            if not 1 <= size <= MAX_RESULT:
                raise FormatError(f"the server announces a result of {size} bytes; {MAX_RESULT} are the most")
            with writing(out) as f:
                for chunk in framing.pieces(replies, size, "a result"):
                    f.write(chunk)
                f.flush()
                files.peek(Path(f.name))
        return int(size)

    def cancel(self, job: str) -> bool:
        """Ends a job; says whether it was under way."""
        with self._refusals():
            reply = self._methods["Cancel"](
                pb.CancelRequest(job=bytes.fromhex(job)), timeout=self._left(), metadata=self._metadata
            )
        return bool(reply.found)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    checksum = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(_BLOCK):
            checksum.update(block)
    return checksum.hexdigest()


def parts_of(kind: str, directory: Path) -> list[Path]:
    """The files of a directory that are for servers.

    Raises:
        MissingKeyError: there are none. FormatError: one holds a secret.
    """
    if kind == wire.ROUND_KEYS:
        paths = [directory / name for name in (*files.ROUND_FILES, files.TAG_FILE)]
        missing = [p.name for p in paths if not p.exists()]
    else:
        paths = sorted(directory.glob("*.rgfg"))
        missing = [] if paths else ["evaluation keys"]
    if missing:
        raise MissingKeyError(f"{missing[0]} not in {directory}: `ringforge aes` keygen and encrypt make all of them")
    for path in paths:
        if path.name == files.TAG_FILE:
            continue  # known to the service by its length, and for its owner and the server only
        what = secret_in(path)
        if what:
            raise FormatError(f"{path} holds {what}: it is not for servers; move it away from there")
    return paths


def _digests(directory: Path, paths: list[Path]) -> dict[str, str]:
    """SHA-256 of files by name. They are noted there with sizes and times, and computed again when these differ."""
    notes = directory / _NOTES
    known: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        known = dict(json.loads(notes.read_bytes()))
    found: dict[str, Any] = {}
    for path in paths:
        status = path.stat()
        stamp = [status.st_size, status.st_mtime_ns]
        entry = known.get(path.name)
        good = isinstance(entry, list) and len(entry) == 2 and entry[0] == stamp and isinstance(entry[1], str)
        found[path.name] = entry if good else [stamp, file_digest(path)]
    if found != known:
        with contextlib.suppress(OSError), writing(notes, replace=True) as f:
            f.write(json.dumps(found).encode())
    return {name: entry[1] for name, entry in found.items()}
