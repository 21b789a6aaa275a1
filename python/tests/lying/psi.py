# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection: `psi query`, and the client of an event loop, ask a server that lies in its replies."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ringforge.errors import Error
from ringforge.psi import Server, wire
from ringforge.psi.aio import AsyncConnection
from ringforge.psi.client import Client
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.serving import framing
from tests.lying.command import printing
from tests.lying.liar import CLIENTS, Lie
from tests.lying.records import Layout, Limb
from tests.lying.servers import RefusedError, Seen, Tap, speaking_grpc

#: The server's elements: all of the first client's are there, none of the other's.
COUNT = 50

SESSION = b"one session only"


class Tables:
    """A table, the elements of two clients, and where a reply's ciphertexts lie."""

    def __init__(self, kind: str, folder: Path) -> None:
        numbers = kind == "direct"
        mine = [[(i if numbers else b"element %d of %d" % (i, who)) for i in range(who, 100, 2)] for who in range(2)]
        ways: dict[str, dict[str, Any]] = {
            "look-ups": {"log_bins": 6},
            "direct": {"mode": "direct", "bits": 8, "log_bins": 6},
            "polynomials": {"algorithm": "poly", "client_size": 40},
        }
        self.server = Server.build(mine[0] if numbers else dict.fromkeys(mine[0], b"label"), **ways[kind])
        self.elements: list[list[Any]] = mine
        self.paths = [folder / f"{who}.txt" for who in range(CLIENTS)]
        for path, elements in zip(self.paths, mine, strict=True):
            path.write_text("".join(f"{x.decode() if isinstance(x, bytes) else x}\n" for x in elements))
        plan = self.server.plan
        degree = 1 << plan.log_n
        if kind == "polynomials":
            message = Limb(8, plan.reply_bits - plan.reply_drop, degree)
            mask = Limb(8 + message.size, plan.reply_bits, degree)
        else:
            mask = Limb(0, plan.log_reply, degree)
            message = Limb(mask.size, plan.log_reply, degree)
        self.layout = Layout((message,), (mask,))


class Asking:
    """Client after client, with fresh keys each time."""

    def __init__(self, name: str, tables: Tables, in_a_loop: bool) -> None:
        self.name, self.tables, self._loop = name, tables, in_a_loop
        self.degree, self.log_modulus = tables.layout.degree, tables.layout.log_modulus
        self.seen, self._who, self._lie = Seen(), 0, Lie("honest")
        self._session: Any = None
        self._queries = 0
        self._first: dict[int, bytes] = {}
        self.tap: Tap | None = None

    def once(self, client: int, lie: Lie) -> tuple[tuple[Any, ...], Hashable]:
        self.seen, self._who, self._lie, self._queries = Seen(), client, lie, 0
        assert self.tap is not None
        before = self.tap.opened
        if self._loop:
            outcome = asyncio.run(self._in_a_loop(self.tap.address))
            gc.collect()  # a refusal's traceback holds its call, and that holds the connection
        else:
            outcome = printing("psi", "query", "--server", self.tap.address, "--set", str(self.tables.paths[client]))
        assert not self.tap.left()
        return self.seen.transcript(self.tap.opened - before), outcome

    async def _in_a_loop(self, address: str) -> Hashable:
        async with AsyncConnection(address) as connection:
            try:
                outcome = await connection.intersect(self.tables.elements[self._who], hang_up=True)
            except Error as e:
                return str(e)
            return repr(outcome.result)

    # ---- the server ----

    def reply(self, request: bytes) -> bytes:
        server, lie, who = self.tables.server, self._lie, self._who
        if lie.kind in ("replay", "stranger", "garbage", "probe") and len(self._first) == CLIENTS:
            old = self._first[who if lie.kind != "stranger" else 1 - who]
            if lie.kind in ("replay", "stranger"):
                return old
            # What names the client's key is of this session all the same, where replies have such a thing.
            made = self.tables.layout.forge(lie.kind, self._named(old, request), lie.position, lie.amount, lie.rng)
            return bytes(made)
        honest = bytes(server.answer(self._session, request))
        self._first.setdefault(who, honest)
        if lie.kind in ("monomial", "key"):
            return self.tables.layout.forge(lie.kind, honest, lie.position, lie.amount, lie.rng)
        if lie.kind == "checksum":
            return honest[:-1] + bytes([honest[-1] ^ 1])
        return honest

    def _named(self, reply: bytes, request: bytes) -> bytes:
        head = min(limb.offset for limb in (*self.tables.layout.message, *self.tables.layout.mask))
        start = len(reply) - len(reply[52:])
        return reply[:start] + request[start : start + head] + reply[start + head :]

    def answer(self, method: str, messages: list[bytes]) -> Iterable[Any]:
        server = self.tables.server
        if method == "Info":
            text = server.info.to_json()
            yield pb.InfoReply(header=pb.InfoHeader(total_bytes=len(text), prf_left=1 << 30, bins_left=1 << 40))
            for chunk in framing.chunks(text):
                yield pb.InfoReply(chunk=chunk)
        elif method == "EvaluatePrf":
            data = pb.PrfRequest.FromString(messages[0]).blinded
            parts = [data[i : i + wire.ELEMENT_BYTES] for i in range(0, len(data), wire.ELEMENT_BYTES)]
            yield pb.PrfReply(evaluated=b"".join(server.evaluate_prf(parts)))
        elif method == "OpenSession":
            keys = b"".join(pb.OpenRequest.FromString(m).chunk for m in messages[1:])
            self._session = server.open(keys, server.info.digest())
            yield pb.OpenReply(session=SESSION)
        elif method == "Query":
            self._queries += 1
            request = b"".join(pb.QueryRequest.FromString(m).chunk for m in messages[1:])
            if self._lie.kind == "refused":
                raise RefusedError("ParameterError")
            # Lies come with the first reply; whether the next is asked for must not say how it was taken.
            data = self.reply(request) if self._queries == 1 else self._first.get(self._who, b"")
            data = data or bytes(server.answer(self._session, request))
            size = len(data)
            if self._lie.kind == "short":
                data = data[:-5]
            yield pb.QueryReply(header=pb.ReplyHeader(total_bytes=size))
            for chunk in framing.chunks(data):
                yield pb.QueryReply(chunk=chunk)
        else:
            yield pb.CloseReply()


WAYS = {
    "psi": ("look-ups", False),
    "psi, direct": ("direct", False),
    "psi, polynomials": ("polynomials", False),
    "psi, event loop": ("polynomials", True),
}


@contextlib.contextmanager
def asking(name: str, folder: Path, patch: Any) -> Iterator[Asking]:
    """One of `WAYS`, against a server that lies."""
    kind, in_a_loop = WAYS[name]
    made = Asking(name, Tables(kind, folder), in_a_loop)
    decrypt = Client._decrypt

    def decrypting(self: Client, **options: Any) -> Any:
        assert made.tap is not None
        made.seen.decrypting(made.tap)
        return decrypt(self, **options)

    patch.setattr(Client, "_decrypt", decrypting)
    with speaking_grpc(lambda: made.seen, made.answer) as made.tap:
        yield made
