# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Message retrieval: `omr retrieve` asks a detector, and in mode positions a board, that both lie."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import omr
from ringforge._native.bfv import Client, Context, Parameters
from ringforge._native.omr import CompressionKeys
from ringforge.omr.compress import compression_plan
from ringforge.omr.detector_client import key_name
from ringforge.omr.payload import words as payload_words
from ringforge.omr.proto import board_pb2, detector_pb2
from ringforge.omr.reading import SecretReader
from ringforge.serving import framing
from tests.lying.command import printing
from tests.lying.liar import CLIENTS, Lie
from tests.lying.records import Layout, Limb
from tests.lying.servers import RefusedError, Seen, Tap, speaking_grpc

SMALL = omr.named("test", insecure="tests")

#: Bulletins that a run asks about, and the key's name in what is compared.
BULLETINS = {n: hashlib.sha256(b"bulletin %d" % n).hexdigest() for n in range(3)}

#: Messages of each client: as many as differ most.
MESSAGES = (3, 0)

HEAD = 32


class Receiver:
    """Keys of one client, and digests that an honest detector would send."""

    def __init__(self, folder: Path, who: int, mode: str, capacity: int) -> None:
        self.secret_file, self.key_file = folder / f"{who}.secret", folder / f"{who}.detection"
        secret = omr.ReceiverSecret.make(SMALL)
        secret.save(self.secret_file)
        self.key_file.write_bytes(b"the server says that it has this key: %d" % who)
        self.name = key_name(self.key_file)
        texts = [b"text %d" % i for i in range(MESSAGES[who])]
        self.payloads = np.zeros((SMALL.entries, SMALL.payload_bytes), np.uint8)
        for entry, text in enumerate(texts):
            self.payloads[entry] = np.frombuffer(secret.address().box.seal(text, SMALL), np.uint8)
        carried = SMALL.payload_words if mode == "messages" else 0
        plan = compression_plan(SMALL, capacity, 1 + carried)
        context = Context(Parameters.named(SMALL.bfv, "tests"))
        pertinent = np.zeros(SMALL.entries, np.int64)
        pertinent[: len(texts)] = 1
        encrypted = Client(context).encrypt(context.encode(pertinent), secret.bfv, 2)
        weights = np.ones((SMALL.entries, 1 + carried), np.uint32)
        if carried:
            weights[:, 1:] = payload_words(self.payloads, SMALL)
        keys = CompressionKeys(secret.bfv, secret.compression)
        part = plan.part(keys, encrypted, weights, 0, plan.units)
        self.digest = bytes(plan.digest(keys, [part], 0))
        size = 1 << (len(self.digest) - HEAD).bit_length()
        while size * (plan.c0_bits + plan.c1_bits) // 8 > len(self.digest) - HEAD:
            size //= 2
        first = Limb(HEAD, plan.c0_bits, size)
        self.layout = Layout((first,), (Limb(HEAD + first.size, plan.c1_bits, size),))


class Retrieving:
    """`omr retrieve`, run after run, with the same keys."""

    def __init__(self, name: str, folder: Path, *words: str, mode: str = "messages", capacity: int = 50) -> None:
        self.name, self._words, self._mode = name, words, mode
        self.receivers = [Receiver(folder, who, mode, capacity) for who in range(CLIENTS)]
        layout = self.receivers[0].layout
        self.degree, self.log_modulus = layout.degree, layout.log_modulus
        self.seen, self._who, self._lie = Seen(), 0, Lie("honest")
        self._jobs = 0
        self.run: Callable[[Receiver], Hashable] = self.command
        self.tap: Tap | None = None
        self.board: Tap | None = None

    def taps(self) -> list[Tap]:
        return [tap for tap in (self.tap, self.board) if tap is not None]

    def once(self, client: int, lie: Lie) -> tuple[tuple[Any, ...], Hashable]:
        me, self.seen, self._who, self._lie, self._jobs = self.receivers[client], Seen(), client, lie, 0
        self.seen.blanks = [bytes.fromhex(me.name), me.name.encode()]
        before = [tap.opened for tap in self.taps()]
        outcome = self.run(me)
        assert not any(tap.left() for tap in self.taps())
        made = [tap.opened - opened for tap, opened in zip(self.taps(), before, strict=True)]
        return self.seen.transcript(*made), outcome

    def command(self, me: Receiver) -> Hashable:
        """Run the receiver's command."""
        assert self.tap is not None
        asked = ["retrieve", "--server", self.tap.address, "--secret", str(me.secret_file), "--detection-key"]
        board = [] if self.board is None else ["--mode", "positions", "--board", self.board.address]
        return printing("omr", *asked, str(me.key_file), *board, *self._words)

    # ---- the detector ----

    def digest(self) -> bytes:
        """Return the client's digest as the lie has it."""
        me, other, lie = self.receivers[self._who], self.receivers[1 - self._who], self._lie
        if lie.kind in ("monomial", "key", "probe", "garbage"):
            return me.layout.forge(lie.kind, me.digest, lie.position, lie.amount, lie.rng)
        if lie.kind == "stranger":
            return other.digest
        if lie.kind == "checksum":
            return me.digest[:-1] + bytes([me.digest[-1] ^ 1])
        return me.digest[:-5] if lie.kind == "short" else me.digest

    def answer(self, method: str, messages: list[bytes]) -> Iterable[Any]:
        me = self.receivers[self._who]
        if method == "Info":
            about = {
                "detector": {"capacity": {"messages": 254, "positions": 254}},
                "bulletins": list(BULLETINS.items()),
                "keys": {me.name: {}},
                "jobs": [],
                "left": {},
            }
            text = json.dumps(about).encode()
            yield detector_pb2.InfoReply(header=detector_pb2.Header(total_bytes=len(text)))
            yield detector_pb2.InfoReply(chunk=text)
        elif method == "Submit":
            self._jobs += 1
            if self._lie.kind == "refused" and self._jobs == 2:
                raise RefusedError("ParameterError")
            yield detector_pb2.SubmitReply(job=self._jobs.to_bytes(16, "big"))
        elif method == "Watch":
            yield detector_pb2.WatchReply(state="done")
        elif method == "Fetch":
            # Lies come with the first digest only: whether the next is asked for must not say how it was taken.
            number = int.from_bytes(detector_pb2.FetchRequest.FromString(messages[0]).job, "big")
            data = self.digest() if number == 1 else me.digest
            yield detector_pb2.FetchReply(header=detector_pb2.Header(total_bytes=len(data)))
            for chunk in framing.chunks(data):
                yield detector_pb2.FetchReply(chunk=chunk)

    def answer_of_board(self, method: str, messages: list[bytes]) -> Iterable[Any]:
        if method == "Info":
            yield board_pb2.InfoReply(set=SMALL.name, set_hash=SMALL.hash, bulletins=len(BULLETINS))
        else:
            request = board_pb2.RangeRequest.FromString(messages[0])
            data = self.receivers[self._who].payloads[request.start : request.stop].tobytes()
            yield board_pb2.RangeReply(header=board_pb2.RangeHeader(total_bytes=len(data)))
            for chunk in framing.chunks(data):
                yield board_pb2.RangeReply(chunk=chunk)


WAYS: dict[str, tuple[Sequence[str], str, int]] = {
    "omr": ((), "messages", 50),
    "omr, --auto": (("--auto", "--capacity", "400"), "messages", 254),
    "omr, positions": ((), "positions", 50),
    "omr, --out": (("--out", "{folder}/messages"), "messages", 50),
}


@contextlib.contextmanager
def retrieving(name: str, folder: Path, patch: Any) -> Iterator[Retrieving]:
    """One of `WAYS`, against servers that lie."""
    words, mode, capacity = WAYS[name]
    words = [word.format(folder=folder) for word in words]
    made = Retrieving(name, folder, *words, mode=mode, capacity=capacity)
    decode = SecretReader.decode

    def decoding(self: SecretReader, digest: bytes, request: Any) -> Any:
        made.seen.decrypting(*made.taps())
        return decode(self, digest, request)

    patch.setattr(SecretReader, "decode", decoding)
    with contextlib.ExitStack() as stack:
        made.tap = stack.enter_context(speaking_grpc(lambda: made.seen, made.answer))
        if mode == "positions":
            made.board = stack.enter_context(speaking_grpc(lambda: made.seen, made.answer_of_board))
        yield made
