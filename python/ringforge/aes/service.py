# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES on encrypted blocks, and transciphering, over gRPC: takes keys and requests, and gives results.

What a client sends is held against sizes known beforehand and goes to the disk as it comes; it counts only once all of
it is there and has been checked. Clients see their own keys, jobs and results only; what belongs to others does not
exist for them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge import _native
from ringforge.aes import files, transcipher, wire
from ringforge.aes.computing import Computation
from ringforge.aes.depot import Depot, FileSet, Job, Request, part_of
from ringforge.aes.engine import BLOCK_BYTES
from ringforge.aes.jobs import Jobs
from ringforge.aes.keys import Scheme, Shape
from ringforge.aes.ledger import CounterReuseError, Ledger
from ringforge.aes.proto import aes_pb2 as pb
from ringforge.aes.runner import Encrypted
from ringforge.aes.sources import read_stream
from ringforge.cli.console import size_text
from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.files import naming, secret_in
from ringforge.serving import framing, service
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Call, Log
from ringforge.serving.job_service import JobService
from ringforge.serving.jobs import FINISHED, Progress
from ringforge.serving.limits import MAX_SECONDS, Limits
from ringforge.serving.quota import Quota
from ringforge.serving.service import Handler, header, only, working
from ringforge.serving.sessions import BusyError
from ringforge.serving.work import Work

_TAG_BYTES = 32


@dataclass(frozen=True)
class Kept:
    """What a server keeps.

    Attributes:
        sets_each: sets of keys of one client, of each kind. jobs_each: unfinished requests of one client.
        at_once: requests that are computed at a time, each with its keys in memory.
        states: full states that a request is about at the most.
        keep_seconds: how long results stay. disk: bytes of everything; what would go beyond is refused.

    Raises:
        ParameterError: one is out of its range.
    """

    sets_each: int = 4
    jobs_each: int = 16
    at_once: int = 1
    states: int = 16
    keep_seconds: float = 86_400.0
    disk: int = 64 << 30

    def __post_init__(self) -> None:
        for name in ("sets_each", "jobs_each", "at_once", "states", "disk"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name.replace('_', ' ')}: {getattr(self, name)}; 1 is the least")
        if not 1 <= self.keep_seconds <= MAX_SECONDS:
            raise ParameterError(f"results are kept for 1 to {MAX_SECONDS:.0f} seconds, not {self.keep_seconds}")


class Service(JobService):
    """Handlers for the methods of `aes.proto`.

    Args:
        scheme, shape: of the keys that are taken. depot: what is kept, on disk. threads: to compute with.
        quota: what clients may ask for. limits: what is taken on at a time. kept: what stays.
        tokens: of the clients that are served; None serves all, and tells them apart by address.
        log: for events.
    """

    _depot: Depot
    _kept: Kept
    jobs: Jobs

    def __init__(
        self,
        scheme: Scheme,
        shape: Shape,
        depot: Depot,
        quota: Quota,
        limits: Limits,
        kept: Kept | None = None,
        tokens: Tokens | None = None,
        log: Log | None = None,
        threads: int = 1,
    ) -> None:
        log, kept = log or Log(None), kept or Kept()
        jobs = Jobs(depot, scheme, threads, limits.waiting, kept.jobs_each, log, kept.at_once)
        super().__init__(wire.SERVICE, wire.METHODS, limits, quota, depot, jobs, kept, tokens, log)
        self._scheme, self._shape = scheme, shape

    def _handlers(self) -> dict[str, Handler]:
        return {
            "Info": self._serve_info,
            "Offer": self._serve_offer,
            "PutFile": self._serve_put_file,
            "Drop": self._serve_drop,
            "Submit": self._serve_submit,
            "Watch": self._serve_watch,
            "Fetch": self._serve_fetch,
            "Cancel": self._serve_cancel,
        }

    # ---- what the server is ----

    def describe(self) -> dict[str, Any]:
        """What clients are told of the server."""
        codec = self._shape.codec
        return {
            "scheme": codec.scheme,
            "set": self._shape.set,
            "parameters": codec.parameter_hash.hex(),
            "slots": codec.slots,
            "blocks": codec.slots * self._kept.states,
            "key_bytes": sum(self._shape.key_files.values()),
        }

    def _serve_info(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        only(requests, "InfoRequest")
        client = call.client.hex()
        sets = self._depot.sets(client)
        about = {
            "server": self.describe(),
            "sets": {
                name: {"kind": s.kind, "bytes": s.bytes, "missing": len(self._depot.missing(client, s))}
                for name, s in sets.items()
            },
            "jobs": [_job(j) for j in self.jobs.every(client)],
            "left": self._quota.left(call.client),
        }
        text = json.dumps(about).encode()
        yield pb.InfoReply(header=pb.Header(total_bytes=len(text)))
        for chunk in framing.chunks(text):
            yield pb.InfoReply(chunk=chunk)

    # ---- keys ----

    def _sizes(self, kind: str) -> dict[str, int]:
        """The files that a set of this kind has, and the most bytes of each."""
        if kind == wire.EVALUATION:
            return dict(self._shape.key_files)
        if kind == wire.ROUND_KEYS:
            return {**dict.fromkeys(files.ROUND_FILES, self._shape.max_state_bytes), files.TAG_FILE: _TAG_BYTES}
        raise ParameterError(f'"{kind[:32]}" is no kind of keys: {wire.EVALUATION} or {wire.ROUND_KEYS}')

    def _serve_offer(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "OfferRequest")
        client = call.client.hex()
        sizes = self._sizes(request.kind)
        if sorted(f.name for f in request.files) != sorted(sizes):
            raise FormatError(
                f"{request.kind} of {len(request.files)} files; for set {self._shape.set} they are {len(sizes)}: give "
                "all that were made for it, and nothing else"
            )
        for f in request.files:
            if not 1 <= f.bytes <= sizes[f.name]:
                raise FormatError(
                    f"{f.name} has {f.bytes} bytes; for set {self._shape.set} it has {sizes[f.name]} at the most: make "
                    "keys for that set"
                )
        parts = sorted((part_of(f.name, f.sha256, f.bytes) for f in request.files), key=lambda p: p.name)
        wanted = FileSet(request.kind, tuple(parts))
        with self._changing:
            known = self._depot.sets(client)
            if wanted.name not in known:
                alike = sum(s.kind == wanted.kind for s in known.values())
                if alike >= self._kept.sets_each:
                    raise BusyError(
                        f"this server holds {alike} sets of {wanted.kind} of this client, of {self._kept.sets_each} "
                        "that it takes: drop one with `ringforge aes drop`, or ask its operator for more"
                    )
                self._make_room(client, wanted.bytes)
                self._depot.announce(client, wanted)
            self._depot.used(client, wanted.name)
            missing = self._depot.missing(client, wanted)
        yield pb.OfferReply(set=bytes.fromhex(wanted.name), missing=missing)

    def _serve_put_file(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        client = call.client.hex()
        with call.moving():
            head = header(requests, "a file of keys", "its set and name")
            name = _name(head.set, "a set of keys")
            wanted = self._depot.set_named(client, name)
            part = next((p for p in wanted.parts if p.name == head.name), None)
            if part is None:
                raise FormatError(f'"{head.name[:32]}" is no file of set {name[:16]}')
            with self._incoming(client, part.bytes) as path:
                service.receive(requests, path, part.bytes, part.sha256, part.name, "the server")
                call.notes["bytes"] = part.bytes
                ticket = self._check_turns.enter(call.client)
                check: Callable[[Any], None] = lambda _: self._check(wanted.kind, part.name, path)  # noqa: E731
                yield from working(Work(self._threads, call, self._check_turns, ticket, check), pb.PutFileReply())
                with self._changing:
                    self._depot.set_named(client, name)  # still there
                    self._depot.keep_file(client, name, part.name, path)
                    if wanted.kind == wire.ROUND_KEYS and not self._depot.missing(client, wanted):
                        self._belong(client, wanted)
        yield pb.PutFileReply(name=part.name)

    def _check(self, kind: str, name: str, path: Path) -> None:
        """Reads a file that has come.

        Raises:
            FormatError: damaged, or it holds a secret. MismatchError: of other parameters.
        """
        what = secret_in(path)
        if what:
            raise FormatError(f"{name} holds {what}: it was thrown away; send keys for servers, and nothing else")
        codec = self._shape.codec
        if name == files.TAG_FILE:
            if path.stat().st_size != _TAG_BYTES:
                raise FormatError(f"{name} has {path.stat().st_size} bytes, not {_TAG_BYTES}")
        elif kind == wire.ROUND_KEYS:
            file = files.File(path, codec)
            if file.head.kind != "round key" or files.round_file(file.head.round) != name:
                raise MismatchError(f"{name} holds a {file.head.kind} of round {file.head.round}")
            for record in file.records():
                codec.from_bytes(record)
        else:
            reader = _native.io.Reader(str(path))
            with naming(Path(name)):
                while not reader.at_end():
                    if reader.verify().parameter_hash != codec.parameter_hash:
                        raise MismatchError(f"it is of other parameters than those of set {self._shape.set}")

    def _belong(self, client: str, wanted: FileSet) -> None:
        """Holds round keys against each other, now that all are there."""
        try:
            files.RoundKeys(self._depot.complete(client, wanted.name, wire.ROUND_KEYS), self._shape.codec)
        except Error:
            self._depot.drop(client, wanted.name)
            raise

    def _serve_drop(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "DropRequest")
        name, client = _name(request.set, "a set of keys"), call.client.hex()
        with self._changing:
            self._depot.set_named(client, name)
            for job in self._depot.jobs(client):
                if name in self._depot.keys_of(job) and job.name in self.jobs.unended(client):
                    raise BusyError(f"job {job.name} computes with these keys: wait for it, or cancel it")
            self._depot.drop(client, name)
        yield pb.DropReply()

    # ---- jobs ----

    def _serve_submit(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        client = call.client.hex()
        with call.moving():
            head = header(requests, "a job", "what it is about")
            if len(head.sha256) != 32:
                raise FormatError(f"what a job is done on is known by a SHA-256 of 32 bytes, not {len(head.sha256)}")
            if head.compute:
                Computation.parse(head.compute)
            request = Request(
                evaluation=_name(head.evaluation, "a set of keys"),
                round_keys=_name(head.round_keys, "a set of keys"),
                kind=head.kind,
                compute=head.compute,
                sha256=head.sha256.hex(),
                bytes=head.total_bytes,
            )
            blocks = self._shape.codec.slots * self._kept.states
            most = self._kept.states * self._shape.max_state_bytes
            if request.kind == wire.STREAM:
                most = blocks * BLOCK_BYTES
            if not 1 <= request.bytes <= most:
                raise FormatError(
                    f"{request.kind} of {size_text(request.bytes)}: this server takes {blocks:,} blocks at a time, "
                    f"{size_text(most)} at the most: send them in parts"
                )
            needed = request.evaluation, request.round_keys
            with self._incoming(client, request.bytes, needed, lambda: self._complete(client, request)) as path:
                keys = self._depot.complete(client, request.round_keys, wire.ROUND_KEYS)
                service.receive(requests, path, request.bytes, request.sha256, request.kind, "the server")
                call.notes["bytes"] = request.bytes
                count = self._accept(client, request, keys, path)
                with self._changing:
                    job = self._take(client, request, count, path, call.client)
        call.notes["job"] = job.name[:12]
        yield pb.SubmitReply(job=bytes.fromhex(job.name))

    def _complete(self, client: str, request: Request) -> None:
        self._depot.complete(client, request.round_keys, wire.ROUND_KEYS)
        self._depot.complete(client, request.evaluation, wire.EVALUATION)

    def _accept(self, client: str, request: Request, keys: Path, path: Path) -> int:
        """Looks at what a job is done on; returns blocks.

        Raises:
            FormatError, MismatchError: damaged, or for other keys. ParameterError: another stream used its counters.
        """
        if request.kind == wire.BLOCKS:
            source = Encrypted(files.File(path, self._shape.codec))
            if source.direction != files.RoundKeys(keys, self._shape.codec).direction:
                raise MismatchError("blocks and round keys are for different directions: make both for the same")
            count = source.blocks
        else:
            stream = read_stream(path)
            try:
                transcipher.accept(stream, files.read_tag_key(keys), Ledger(self._depot.ledger(client)))
            except CounterReuseError as e:
                raise ParameterError(str(e)) from None
            count = stream.blocks
        if count > self._shape.codec.slots * self._kept.states:
            raise FormatError(f"{count:,} blocks; this server takes fewer at a time: send them in parts")
        return count

    def _take(self, client: str, request: Request, count: int, path: Path, who: bytes) -> Job:
        known = self.jobs.known(client, request.name)
        # Nothing removes an input before this ends; a request that fails meanwhile is begun again on the one it has.
        fresh = known is None or known.state in FINISHED
        try:
            self._depot.used(client, request.evaluation, request.round_keys)
            if fresh or not self._depot.input(client, request.name).exists():
                self._depot.keep_input(client, request.name, path)
            return self.jobs.submit(client, request, count, lambda: self._quota.charge(who, "blocks", count))
        except BaseException as e:
            if known is None:
                with contextlib.suppress(OSError):
                    self._depot.input(client, request.name).unlink(missing_ok=True)
            if isinstance(e, OSError):
                raise BusyError(f"the server cannot write ({e.strerror}): tell its operator, try again later") from None
            raise

    def _serve_watch(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "WatchRequest")
        client, name = call.client.hex(), _name(request.job, "a job")
        told: Progress | None = None
        while call.going_on():
            now = self.jobs.wait(told, client, name, framing.BEAT_SECONDS)
            if now is None:
                raise _no_job(name)
            told = now
            yield pb.WatchReply(
                state=now.state,
                waiting=now.waiting,
                stage=now.stage,
                done=now.done,
                steps=now.steps,
                permille=min(1000, int(1000 * now.fraction)),
                seconds_left=-1 if now.seconds_left < 0 else min(1 << 30, round(now.seconds_left)),
                error=now.error[0],
                text=now.error[1],
            )
            if now.state in FINISHED or self.jobs.stopped:
                return

    def _serve_fetch(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "FetchRequest")
        name = _name(request.job, "a job")
        job = self.jobs.known(call.client.hex(), name)
        if job is None:
            raise _no_job(name)
        path = self._depot.result(job)
        if job.state != "done" or not path.exists():
            raise MismatchError(f"job {name} is not done: it has no result; watch it until it has")
        with call.moving(), path.open("rb") as f:
            size = call.notes["bytes"] = path.stat().st_size
            yield pb.FetchReply(header=pb.Header(total_bytes=size))
            while chunk := f.read(framing.CHUNK):
                yield pb.FetchReply(chunk=chunk)

    def _serve_cancel(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "CancelRequest")
        yield pb.CancelReply(found=self.jobs.cancel(call.client.hex(), _name(request.job, "a job")))


def _name(data: bytes, what: str) -> str:
    if len(data) != wire.NAME_BYTES:
        raise FormatError(f"{what} is named by {wire.NAME_BYTES} bytes, not {len(data)}")
    return data.hex()


def _no_job(name: str) -> MissingKeyError:
    return MissingKeyError(
        f"there is no job {name} of this client: its result was kept for its time and is gone, or it is another's; "
        "submit it again"
    )


def _job(job: Job) -> dict[str, Any]:
    request = job.request
    return {
        "job": job.name,
        "state": job.state,
        "kind": request.kind,
        "blocks": job.blocks,
        "compute": request.compute,
        "error": job.error[1],
    }
