# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The detector, over gRPC: takes detection keys and requests, and gives digests.

What a client sends is held against sizes known beforehand and goes to the disk as it comes; it counts only once all of
it is there and has been checked. Clients see their own keys, jobs and digests only; what belongs to others does not
exist for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ringforge.errors import FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.omr import detector_wire as wire
from ringforge.omr.depot import Depot, Job
from ringforge.omr.jobs import Jobs
from ringforge.omr.proto import detector_pb2 as pb
from ringforge.omr.steps import Request, Worker
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


@dataclass(frozen=True)
class Kept:
    """What a detector keeps.

    Attributes:
        keys_each: detection keys of one client. jobs_each: unfinished requests of one client.
        at_once: requests that are computed at a time.
        keep_seconds: how long digests of finished requests, and what was computed for them, stay.
        disk: bytes of everything; keys that would go beyond are refused.

    Raises:
        ParameterError: one is out of its range.
    """

    keys_each: int = 2
    jobs_each: int = 64
    at_once: int = 1
    keep_seconds: float = 86_400.0
    disk: int = 64 << 30

    def __post_init__(self) -> None:
        for name in ("keys_each", "jobs_each", "at_once", "disk"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name.replace('_', ' ')}: {getattr(self, name)}; 1 is the least")
        if not 1 <= self.keep_seconds <= MAX_SECONDS:
            raise ParameterError(f"digests are kept for 1 to {MAX_SECONDS:.0f} seconds, not {self.keep_seconds}")


class Service(JobService):
    """Handlers for the methods of `detector.proto`.

    Args:
        worker: computes. depot: what is kept, on disk.
        quota: what clients may ask for. limits: what is taken on at a time. kept: what stays.
        tokens: of the clients that are served; None serves all, and tells them apart by address.
        log: for events.
    """

    _depot: Depot
    _kept: Kept
    jobs: Jobs
    called = "the detector"

    def __init__(
        self,
        worker: Worker,
        depot: Depot,
        quota: Quota,
        limits: Limits,
        kept: Kept | None = None,
        tokens: Tokens | None = None,
        log: Log | None = None,
    ) -> None:
        log, kept = log or Log(None), kept or Kept()
        jobs = Jobs(depot, worker, limits.waiting, kept.jobs_each, log, kept.at_once)
        super().__init__(wire.SERVICE, wire.METHODS, limits, quota, depot, jobs, kept, tokens, log)
        self._worker = worker

    def _handlers(self) -> dict[str, Handler]:
        return {
            "Info": self._serve_info,
            "PutKey": self._serve_put_key,
            "DropKey": self._serve_drop_key,
            "Submit": self._serve_submit,
            "Watch": self._serve_watch,
            "Fetch": self._serve_fetch,
            "Cancel": self._serve_cancel,
        }

    # ---- methods -----------------------------------------------------------------------------------

    def _serve_info(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "InfoRequest")
        client = call.client.hex()
        about = {
            "detector": self._worker.describe(),
            "bulletins": [b for b in self._worker.bulletins() if b[0] >= request.first_bulletin],
            "keys": self._depot.keys(client),
            "jobs": [_job(j) for j in self.jobs.every(client)],
            "left": self._quota.left(call.client),
        }
        text = json.dumps(about).encode()
        yield pb.InfoReply(header=pb.Header(total_bytes=len(text)))
        for chunk in framing.chunks(text):
            yield pb.InfoReply(chunk=chunk)

    def _serve_put_key(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        what = "a detection key"
        client = call.client.hex()
        with call.moving():
            head = header(requests, what, "its SHA-256 and size")
            name = _name(head.sha256, wire.KEY_BYTES, what)
            least, most = self._worker.key_bytes()
            if not least <= head.total_bytes <= most:
                raise FormatError(
                    f"{what} of {head.total_bytes} bytes: those for this detector have {least} to {most}; make one "
                    "with `ringforge omr keygen` for its parameter set, and send all of it"
                )
            if name in self._depot.keys(client):
                raise MismatchError(f"this detector holds the key {name[:16]} of yours already: it is not taken twice")
            with self._incoming(client, head.total_bytes, check=lambda: self._check_count(client)) as path:
                service.receive(requests, path, head.total_bytes, name, what, "the detector")
                call.notes["bytes"] = head.total_bytes
                ticket = self._check_turns.enter(call.client)
                work = Work(
                    self._threads, call, self._check_turns, ticket, lambda told: self._worker.check_key(path, told)
                )
                about = yield from working(work, pb.PutKeyReply())
                with self._changing:
                    self._depot.keep_key(client, name, path, about)
        yield pb.PutKeyReply(key=bytes.fromhex(name))

    def _check_count(self, client: str) -> None:
        have = len(self._depot.keys(client)) + sum(a.client == client for a in self._arriving)
        if have >= self._kept.keys_each:
            raise BusyError(
                f"this detector holds {have} keys of this client, of {self._kept.keys_each} that it takes: "
                "drop one with `ringforge omr drop`, or ask its operator for more"
            )

    def _serve_drop_key(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "DropKeyRequest")
        name = _name(request.key, wire.KEY_BYTES, "a detection key")
        client = call.client.hex()
        with self._changing:
            self._depot.key(client, name)
            for job in self._depot.jobs(client):
                if job.request.key == name and job.name in self.jobs.unended(client):
                    raise BusyError(f"job {job.name} computes with this key: wait for it, or cancel it")
            self._depot.drop(client, name)
        yield pb.DropKeyReply()

    def _serve_submit(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        asked = only(requests, "SubmitRequest")
        request = Request(
            key=_name(asked.key, wire.KEY_BYTES, "a detection key"),
            bulletin=asked.bulletin,
            digest=_name(asked.digest, wire.KEY_BYTES, "a bulletin"),
            mode=asked.mode,
            capacity=asked.capacity,
            first=asked.first,
            last=asked.last,
        )
        if (request.bulletin, request.digest) not in self._worker.bulletins():
            raise ParameterError(
                f"this detector knows no sealed bulletin {request.bulletin} with the digest {request.digest[:16]}: it "
                "may see another board, or the bulletin is not sealed yet"
            )
        client = call.client.hex()
        try:
            with self._changing:  # the key stays meanwhile
                self._depot.used(client, request.key)
                job = self.jobs.submit(client, request, lambda: self._quota.charge(call.client, "bulletins", 1))
        except OSError as e:
            raise BusyError(f"the detector cannot write ({e.strerror}): tell its operator, try again later") from None
        call.notes["job"] = job.name[:12]
        yield pb.SubmitReply(job=bytes.fromhex(job.name))

    def _serve_watch(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "WatchRequest")
        client, name = call.client.hex(), _name(request.job, wire.JOB_BYTES, "a job")
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
        name = _name(request.job, wire.JOB_BYTES, "a job")
        job = self.jobs.known(call.client.hex(), name)
        if job is None:
            raise _no_job(name)
        if job.state != "done":
            raise MismatchError(f"job {name} is not done: it has no digest; watch it until it has")
        digest = self._depot.digest(job)
        call.notes["bytes"] = len(digest)
        with call.moving():
            yield pb.FetchReply(header=pb.Header(total_bytes=len(digest)))
            for chunk in framing.chunks(digest):
                yield pb.FetchReply(chunk=chunk)

    def _serve_cancel(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "CancelRequest")
        yield pb.CancelReply(found=self.jobs.cancel(call.client.hex(), _name(request.job, wire.JOB_BYTES, "a job")))


def _name(data: bytes, size: int, what: str) -> str:
    if len(data) != size:
        raise FormatError(f"{what} is named by {size} bytes, not {len(data)}")
    return data.hex()


def _no_job(name: str) -> MissingKeyError:
    return MissingKeyError(
        f"there is no job {name} of this client: its digest was kept for its time and is "
        "gone, or it is another's; ask again"
    )


def _job(job: Job) -> dict[str, Any]:
    request = job.request
    return {
        "job": job.name,
        "state": job.state,
        "bulletin": request.bulletin,
        "mode": request.mode,
        "capacity": request.capacity,
        "window": [request.first, request.last],
        "error": job.error[1],
    }
