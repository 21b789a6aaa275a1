# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A board behind a service: what `board.Board` has for who posts and who reads.

What the service answers is foreign input: sizes are held against the parameter set, words against its modulus. Nothing
is tried twice: what was not acknowledged may be on the board all the same, and posting it again says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.omr import board_wire as wire
from ringforge.omr.bulletin import HASH_BYTES, Bulletin, Receipt
from ringforge.omr.proto import board_pb2 as pb
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals
from ringforge.serving import framing, remote
from ringforge.serving.remote import STALL_SECONDS, Words, clean

Bytes = npt.NDArray[np.uint8]

#: Bytes of an encoding, at most.
_MAX_ENCODING = 1 << 28


@dataclass(frozen=True)
class Info:
    """What a board says of itself.

    Attributes:
        set: name of its parameter set; its hash was compared.
        bulletins: the open one included.
        posts_left: entries this poster may still post today (UTC).
        encoder, steps: name and number of encodings for each bulletin; "" and 0: there are none.
    """

    set: str
    bulletins: int
    posts_left: int
    encoder: str
    steps: int


class RemoteBoard(remote.Connection):
    """A board's service, reached over TCP.

    Args:
        address: HOST:PORT. s: the parameter set that the board must have.
        threads: for unpacking signals.
        ca, token, timeout, stall, plaintext: as for `serving.remote.Connection`.

    Raises:
        ParameterError: as for `serving.remote.Connection`.
    """

    service, methods = wire.SERVICE, wire.METHODS
    kinds: ClassVar = {
        "Info": "info",
        "Post": "posts",
        "Bulletins": "info",
        "Signals": "signals",
        "Payloads": "payloads",
        "Encoding": "encodings",
    }
    words = Words(
        server="board of oblivious message retrieval",
        program="omr board serve",
        unfinished="what was not acknowledged may be on the board or not; run again, it refuses what it has",
        duration="a board takes some thousand posts a second",
    )

    def __init__(
        self,
        address: str,
        s: Set,
        *,
        threads: int = 1,
        ca: str | Path | None = None,
        token: str | None = None,
        timeout: float | None = None,
        stall: float = STALL_SECONDS,
        plaintext: bool = False,
    ) -> None:
        super().__init__(address, ca=ca, token=token, timeout=timeout, stall=stall, plaintext=plaintext)
        self.set, self._threads = s, threads

    def _asked(self, name: str, request: Any) -> Any:
        """The only reply to a request."""
        with self._refusals():
            reply = self._methods[name](request, timeout=self._left(), metadata=self._metadata)
        if isinstance(reply, framing.Malformed):
            raise FormatError(f"the server's answer to {name} cannot be read: it may be another program")
        return reply

    def info(self) -> Info:
        """What the board says of itself.

        Raises:
            MismatchError: it is of another parameter set.
        """
        reply = self._asked("Info", pb.InfoRequest())
        if reply.set_hash != self.set.hash:
            raise MismatchError(
                f'{self.address} is a board of parameter set "{clean(reply.set)[:64]}", this is for "{self.set.name}": '
                "name another board, or its set"
            )
        return Info(reply.set, reply.bulletins, reply.posts_left, clean(reply.encoder)[:200], reply.steps)

    def posting(self, signals: Bytes, payloads: Bytes) -> Iterator[Receipt]:
        """Posts any number of entries; each receipt says that so many more are on disk.

        Args:
            signals: packed, uint8[count, signal_bytes]. payloads: uint8[count, payload_bytes].

        Raises:
            as `board.Board.post`, after the receipts of what stays. Error: the connection broke.
        """
        if len(signals) != len(payloads):
            raise ParameterError(f"{len(signals)} signals with {len(payloads)} payloads: each has one")
        step = wire.batch(self.set)
        sizes = [min(step, len(signals) - at) for at in range(0, len(signals), step)]

        def messages() -> Iterator[Any]:
            yield pb.PostRequest(header=pb.PostHeader(set_hash=self.set.hash))
            for at in range(0, len(signals), step):
                part = slice(at, at + step)
                yield pb.PostRequest(batch=pb.Batch(signals=signals[part].tobytes(), payloads=payloads[part].tobytes()))

        with self._refusals(), self._call("Post", messages()) as replies:
            for size in sizes:
                reply = next(replies, None)
                if reply is None or isinstance(reply, framing.Malformed):
                    raise FormatError("the board ended without acknowledging everything: run again")
                if reply.count != size or len(reply.chain) != HASH_BYTES:
                    raise FormatError(
                        f"the board acknowledges {reply.count} entries of {size}: it may be another program"
                    )
                yield Receipt(reply.number, size, reply.chain)
            if next(replies, None) is not None:
                raise FormatError("the board acknowledges more than was posted: it may be no board")

    def bulletins(self, start: int = 0) -> list[Bulletin]:
        """Bulletins from a number on; the last one is open."""
        found: list[Bulletin] = []
        while True:
            reply = self._asked("Bulletins", pb.BulletinsRequest(start=start))
            new = [Bulletin(b.number, b.entries, b.pads, b.sealed, b.digest) for b in reply.bulletins]
            if [b.number for b in new] != list(range(start, start + len(new))) or not new:
                raise FormatError("the board's list of bulletins has gaps: it may be another program")
            if any(len(b.digest) != HASH_BYTES or not b.pads <= b.entries <= self.set.entries for b in new):
                raise FormatError("the board's list of bulletins is none: it may be another program")
            found += new
            start += len(new)
            if not new[-1].sealed:
                return found

    def signals(self, number: int, start: int = 0, stop: int | None = None) -> Signals:
        """As `board.Board.signals`."""
        rows = self._range("Signals", number, start, stop, self.set.signal_bytes)
        return Signals.unpack(rows, self.set, self._threads)

    def payloads(self, number: int, start: int = 0, stop: int | None = None) -> Bytes:
        """As `board.Board.payloads`."""
        return self._range("Payloads", number, start, stop, self.set.payload_bytes)

    def _range(self, name: str, number: int, start: int, stop: int | None, size: int) -> Bytes:
        if stop is None:
            stop = self.bulletins(number)[0].entries
        if not 0 <= start <= stop <= self.set.entries:
            raise ParameterError(f"entries {start} to {stop}: a bulletin has {self.set.entries}")
        total = (stop - start) * size
        request = pb.RangeRequest(bulletin=number, start=start, stop=stop)
        with self._refusals(), self._call(name, request) as replies:
            head = self._header(replies)
            if head.total_bytes != total:
                raise FormatError(f"the board announces {head.total_bytes} bytes where {total} were asked for")
            data = framing.assemble(replies, total, "entries")
        return np.frombuffer(data, np.uint8).reshape(-1, size)

    def encodings(self, number: int, info: Info, steps: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """Encodings of a sealed bulletin's diagonals, giant step by giant step.

        Args:
            info: what the board has said of them. steps: which; None: all of them.
        """
        for step in range(info.steps) if steps is None else steps:
            request = pb.EncodingRequest(bulletin=number, encoder=info.encoder, step=step)
            with self._refusals(), self._call("Encoding", request) as replies:
                head = self._header(r for r in replies if r != pb.RangeReply())
                if head.total_bytes > _MAX_ENCODING:
                    raise FormatError(
                        f"the board announces an encoding of {head.total_bytes} bytes: it may be no board"
                    )
                yield step, framing.assemble(replies, head.total_bytes, "an encoding")
