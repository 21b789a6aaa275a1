# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The board's service, over gRPC.

Everybody who is let in reads; posting is counted. What posters send is held against the parameter set before it is
kept, and answered when it is on disk. One encoding is made at a time; those who want others wait in `sessions.Turns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.omr import board_wire as wire
from ringforge.omr.board import Board, Encoder
from ringforge.omr.proto import board_pb2 as pb
from ringforge.serving import framing, service
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Call, Log
from ringforge.serving.limits import Limits
from ringforge.serving.service import Handler, header, only, working
from ringforge.serving.sessions import Memory, Turns
from ringforge.serving.status import Asked, Use
from ringforge.serving.work import Work


class Service(service.Service):
    """Handlers for the methods of `board.proto`.

    Args:
        board: what is served; closed by who has opened it.
        limits: what is taken on at a time.
        posts_per_day: entries that one poster may post in a day (UTC).
        encoder: makes encodings; None: there are none here.
        tokens: of the clients that are served; None serves all, and tells them apart by address.
        log: for events.
    """

    def __init__(
        self,
        board: Board,
        limits: Limits,
        posts_per_day: int,
        encoder: Encoder | None = None,
        tokens: Tokens | None = None,
        log: Log | None = None,
    ) -> None:
        super().__init__(wire.SERVICE, wire.METHODS, limits, board, tokens, log)
        self._board, self._posts, self._encoder = board, posts_per_day, encoder
        self._batch = wire.batch(board.set)
        self.memory = Memory(limits.memory)
        self._turns = Turns(limits.waiting)

    def _handlers(self) -> dict[str, Handler]:
        return {
            "Info": self._serve_info,
            "Post": self._serve_post,
            "Bulletins": self._serve_bulletins,
            "Signals": lambda requests, call: self._serve_range("signal", requests, call),
            "Payloads": lambda requests, call: self._serve_range("payload", requests, call),
            "Encoding": self._serve_encoding,
        }

    def check(self, client: bytes) -> None:
        """Count what a client has posted, as every client's first call does."""
        self._board.posted_today(client)

    def _queues(self) -> Mapping[str, Turns]:
        return {"encodings": self._turns}

    def _quotas(self) -> dict[str, Asked]:
        used, posters = self._board.posted_by_all_today()
        return {"posts": Asked(used=used, clients=posters, each=min(self._posts, (1 << 63) - 1))}

    def _uses(self) -> dict[str, Use]:
        return {"memory": Use(used=self.memory.used, most=self.memory.limit)}

    def _serve_info(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        only(requests, "InfoRequest")
        s, encoder = self._board.set, self._encoder
        yield pb.InfoReply(
            set=s.name,
            set_hash=s.hash,
            entries=s.entries,
            signal_bytes=s.signal_bytes,
            payload_bytes=s.payload_bytes,
            batch=self._batch,
            bulletins=self._board.open_bulletin().number + 1,
            posts_left=max(0, self._posts - self._board.posted_today(call.client)),
            encoder=encoder.name if encoder else "",
            steps=encoder.steps if encoder else 0,
        )

    # ---- posting -----------------------------------------------------------------------------------

    def _serve_post(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        head = header(requests, "a post", "the hash of the parameter set")
        if head.set_hash != self._board.set.hash:
            raise MismatchError(
                f"these entries are for another parameter set than this board's, {self._board.set.name}: make them "
                "with an address of that set"
            )
        call.notes["posted"] = 0
        for message in requests:
            receipt = self._post(message, call.client)
            call.notes["posted"] = int(call.notes["posted"]) + receipt.count
            yield pb.PostReply(number=receipt.number, count=receipt.count, chain=receipt.chain)

    def _post(self, message: Any, client: bytes) -> Any:
        if message.WhichOneof("part") != "batch":
            raise FormatError("a post: a message is no batch: send a header first, then batches only")
        signals, payloads, s = message.batch.signals, message.batch.payloads, self._board.set
        count, rest = divmod(len(signals), s.signal_bytes)
        if rest or not 1 <= count <= self._batch:
            raise FormatError(
                f"{len(signals)} bytes of signals: 1 to {self._batch} of {s.signal_bytes} bytes each are needed"
            )
        if len(payloads) != count * s.payload_bytes:
            raise FormatError(
                f"{len(payloads)} bytes of payloads for {count} signals: each has exactly {s.payload_bytes}"
            )
        rows = [np.frombuffer(data, np.uint8).reshape(count, -1) for data in (signals, payloads)]
        return self._board.post(rows[0], rows[1], poster=client, posts_per_day=self._posts)

    # ---- reading -----------------------------------------------------------------------------------

    def _serve_bulletins(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        del call
        request = only(requests, "BulletinsRequest")
        found = self._board.bulletins(request.start, wire.BULLETINS)
        yield pb.BulletinsReply(
            bulletins=[
                pb.Bulletin(number=b.number, entries=b.entries, pads=b.pads, sealed=b.sealed, digest=b.digest)
                for b in found
            ]
        )

    def _serve_range(self, column: str, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "RangeRequest")
        s = self._board.set
        size = s.signal_bytes if column == "signal" else s.payload_bytes
        count, pieces = self._board.pieces(column, request.bulletin, request.start, request.stop)
        call.notes["entries"] = count
        with call.moving():
            yield from _stream(count * size, pieces)

    def _serve_encoding(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "EncodingRequest")
        encoder = self._encoder
        if encoder is None or request.encoder != encoder.name:
            raise ParameterError("this board has no encodings of that kind: encode its signals yourself")
        release = self.memory.reserve(encoder.blob_bytes, "an encoding", call.client, call.give_up)
        call.when_over(release)

        def compute(progress: Callable[[float], bool]) -> bytes:
            del progress
            return next(self._board.encodings(request.bulletin, encoder, [request.step], call.check))[1]

        work = Work(self._threads, call, self._turns, self._turns.enter(call.client), compute)
        blob = yield from working(work, pb.RangeReply())
        with call.moving():
            yield from _stream(len(blob), [blob])


def _stream(total: int, pieces: Iterable[bytes]) -> Iterator[Any]:
    """A header, then the pieces cut anew into chunks."""
    yield pb.RangeReply(header=pb.RangeHeader(total_bytes=total))
    kept = bytearray()
    for piece in pieces:
        kept += piece
        while len(kept) >= framing.CHUNK:
            yield pb.RangeReply(chunk=bytes(kept[: framing.CHUNK]))
            del kept[: framing.CHUNK]
    if kept:
        yield pb.RangeReply(chunk=bytes(kept))
