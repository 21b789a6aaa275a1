# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client of the service: signs of a server that works, and what it says when there are none."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi import wire
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Connection
from ringforge.serving import framing
from tests.psi.loopback import REPLY_BYTES, Loop, exchange, keys, reply_to, request, wait_for


def test_a_query_without_a_sign_is_given_up(running: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "BEAT_SECONDS", 1000.0)
    running.server.gate.clear()
    with Connection(running.address, stall=0.3) as c:
        session = c.open_session(running.table, keys())
        with pytest.raises(Error, match=r"nothing has moved between .* for 0\.3 seconds.*--stall") as failure:
            c.query(running.table, session, request(), REPLY_BYTES)
        assert "TLS" not in str(failure.value)
        wait_for(lambda: running.server.cancelled == 1)
    running.server.gate.set()
    exchange(running, 1)


def test_the_pseudorandom_function_without_a_sign_is_given_up(running: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "BEAT_SECONDS", 1000.0)
    running.server.prf_gate.clear()
    with Connection(running.address, stall=0.3) as c, pytest.raises(Error, match="nothing has moved"):
        c.evaluate_prf(running.table, [b"a" * 32])
    running.server.prf_gate.set()


def test_a_query_that_takes_long_gives_signs(running: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to who waits behind another one."""
    monkeypatch.setattr(framing, "BEAT_SECONDS", 0.0)
    running.server.gate.clear()
    signs = [threading.Semaphore(0), threading.Semaphore(0)]

    def ask(who: int) -> bytes:
        with Connection(running.address) as c:
            session = c.open_session(running.table, keys(who))
            return c.query(running.table, session, request(), REPLY_BYTES, lambda *_: signs[who].release())

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask, who) for who in range(2)]
        for _ in range(6):
            for sign in signs:
                assert sign.acquire(timeout=60)
        running.server.gate.set()
        assert [a.result() for a in asked] == [reply_to(keys(who), request()) for who in range(2)]


def test_other_work_that_takes_long_gives_signs(running: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "BEAT_SECONDS", 0.01)
    running.server.prf_gate.clear()
    asked = pb.PrfRequest(table=running.table, blinded=b"a" * 32).SerializeToString()
    with grpc.insecure_channel(running.address) as channel:
        replies = channel.unary_stream(f"/{wire.SERVICE}/EvaluatePrf", None, None)(asked, timeout=60)
        assert [next(replies) for _ in range(5)] == [b""] * 5
        running.server.prf_gate.set()
        assert pb.PrfReply.FromString(next(r for r in replies if r)).evaluated
    with Connection(running.address) as c:
        running.server.prf_gate.clear()
        threading.Timer(0.1, running.server.prf_gate.set).start()
        assert len(c.evaluate_prf(running.table, [b"a" * 32])) == 1


@pytest.mark.parametrize(("answers", "words"), [([], "without an answer"), ([b"\x0a\x01a"] * 2, "several answers")])
def test_a_server_that_answers_too_little_or_too_much(answers: list[bytes], words: str) -> None:
    handler = grpc.unary_stream_rpc_method_handler(lambda *_: iter(answers))
    server = grpc.server(
        ThreadPoolExecutor(1), [grpc.method_handlers_generic_handler(wire.SERVICE, {"EvaluatePrf": handler})]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Connection(f"127.0.0.1:{port}", timeout=20) as c, pytest.raises(FormatError, match=words):
        c.evaluate_prf(bytes(32), [b"a" * 32])
    server.stop(0).wait()


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan"), 1e308])
def test_times_of_a_client_are_checked(seconds: float) -> None:
    for name in ("timeout", "stall"):
        with pytest.raises(ParameterError, match=f"a {name} of .* more than 0"):
            Connection("127.0.0.1:1", **{name: seconds})  # type: ignore[arg-type]
