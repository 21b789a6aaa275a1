# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client for event loops, against real servers and a scripted one."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ringforge.errors import Error, FormatError, MismatchError, ParameterError
from ringforge.psi import Server, aio, runs
from ringforge.psi.aio import AsyncConnection
from ringforge.psi.remote import Connection
from ringforge.psi.runs import IncompleteError
from ringforge.serving import framing
from ringforge.serving.quota import QuotaError
from tests.psi.loopback import Loop, keys, reply_to, request, wait_for
from tests.psi.serving import Real, real

TABLE = {b"%d" % i: b"L%d" % i for i in range(0, 900, 3)}
MINE = [b"%d" % i for i in range(100)]
WANTED = {x: TABLE[x] for x in MINE if x in TABLE}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with real(Server.build(TABLE, log_bins=7), tmp_path_factory.mktemp("aio")) as found:
        yield found


def test_a_run(shop: Real) -> None:
    told: list[str] = []

    async def main() -> Any:
        async with AsyncConnection(shop.address, timeout=60) as c:
            info, left = await c.info()
            cost = await c.estimate(100)
            assert cost.queries == 2
            assert cost.bins_asked <= left["bins"]
            assert info == shop.server.info
            return await c.intersect(MINE, report=lambda step, *_: told.append(step))

    outcome = asyncio.run(main())
    assert outcome.result.matches == WANTED
    assert dict.fromkeys(told).keys() == {
        "table info", "blind", "evaluate PRF", "place", "make keys", "send keys", "encrypt", "query 1 of 2",
        "query 2 of 2", "decrypt",
    }  # fmt: skip
    assert set(outcome.seconds) == {
        "table info", "blind", "evaluate PRF", "place", "make keys", "send keys", "encrypt", "query", "decrypt",
    }  # fmt: skip
    assert outcome.traffic.sent["keys"] > shop.server.plan.key_bytes
    with Connection(shop.address) as c:
        assert c.info()[0] == shop.server.info
    assert len(shop.events("OpenSession")) == len(shop.events("CloseSession"))


def test_two_at_once_on_one_connection_and_a_loop_that_goes_on(shop: Real) -> None:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            since = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - since)

    async def main() -> list[Any]:
        async with AsyncConnection(shop.address, timeout=60) as c:
            pulse = asyncio.create_task(beat())
            found = await asyncio.gather(c.intersect(MINE), c.intersect(MINE[:5]))
            pulse.cancel()
            return found

    start = time.monotonic()
    one, other = asyncio.run(main())
    assert one.result.matches == WANTED
    assert other.result.matches == {x: TABLE[x] for x in MINE[:5] if x in TABLE}
    # Both sides compute in this process; still the loop has had its turn all the time.
    assert longest < max(0.5, 0.5 * (time.monotonic() - start))


def test_work_of_this_side_does_not_hold_the_loop(shop: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step with work of its own runs outside the loop's thread."""
    threads: set[int] = set()
    timed = runs.Run._timed

    def watched(self: Any, step: Any, kind: str = "") -> Any:
        if step.work is not None:
            work = step.work
            step = runs.Step(step.name, lambda: threads.add(threading.get_ident()) or work())
        return timed(self, step, kind)

    monkeypatch.setattr(runs.Run, "_timed", watched)

    async def main() -> None:
        async with AsyncConnection(shop.address, timeout=60) as c:
            await c.intersect(MINE[:3])

    asyncio.run(main())
    assert threads
    assert threading.get_ident() not in threads


async def scripted(c: AsyncConnection, loop: Loop, who: int = 0) -> bytes:
    session = await c._open_session(loop.table, keys(who), lambda _: None)
    reply = await c._query(loop.table, session, request(who), len(reply_to(b"", b"")), lambda *_: None)
    await c._close_session(session)
    return reply


def test_cancelling_a_task_ends_the_servers_work(running: Loop) -> None:
    running.server.gate.clear()

    async def main() -> None:
        async with AsyncConnection(running.address, timeout=60) as c:
            task = asyncio.create_task(scripted(c, running))
            await asyncio.to_thread(running.server.computing.acquire)
            task.cancel()
            since = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - since < 3
            await asyncio.to_thread(wait_for, lambda: running.server.cancelled == 1)
            running.server.gate.set()
            assert await scripted(c, running, 1) == reply_to(keys(1), request(1))

    asyncio.run(main())


def test_cancelling_a_run_closes_its_session(shop: Real) -> None:
    before = len(shop.events("CloseSession"))

    async def main() -> None:
        async with AsyncConnection(shop.address, timeout=60) as c:
            reached = asyncio.Event()

            def report(step: str, *_: Any) -> None:
                if step.startswith("query"):
                    reached.set()

            task = asyncio.create_task(c.intersect(MINE, report=report))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    wait_for(lambda: len(shop.events("CloseSession")) == before + 1)


def test_timeouts(running: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "BEAT_SECONDS", 1000.0)
    running.server.gate.clear()

    async def main() -> None:
        async with AsyncConnection(running.address, timeout=0.6) as c:
            with pytest.raises(Error, match=r"not done it within 0\.6 seconds.*--timeout"):
                await scripted(c, running)
            with pytest.raises(Error, match="not done it within"):
                await scripted(c, running)
        async with AsyncConnection(running.address, stall=0.3) as c:
            with pytest.raises(Error, match=r"nothing has moved between .* for 0\.3 seconds"):
                await scripted(c, running)
        async with AsyncConnection(running.address) as c:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await scripted(c, running)
        await asyncio.to_thread(wait_for, lambda: running.server.cancelled == 3)
        running.server.gate.set()
        async with AsyncConnection(running.address, timeout=60) as c:
            assert await scripted(c, running) == reply_to(keys(), request())

    asyncio.run(main())


def test_refusals_are_those_of_the_other_client(running: Loop) -> None:
    async def main() -> None:
        async with AsyncConnection(running.address, timeout=60) as c:
            with pytest.raises(MismatchError, match="table has changed"):
                await c._open_session(bytes(32), keys(), lambda _: None)
            with pytest.raises(FormatError, match="no evaluation keys"):
                await c._open_session(running.table, b"none" + keys()[4:], lambda _: None)
            session = await c._open_session(running.table, keys(), lambda _: None)
            with pytest.raises(FormatError, match=r"plan makes it 1500000"):
                await c._query(running.table, session, b"abc", 4, lambda *_: None)
            with pytest.raises(FormatError, match=r"no reply of 4 bytes"):
                await c._query(running.table, session, request(), 4, lambda *_: None)
        async with AsyncConnection("127.0.0.1:1", timeout=5) as c:
            with pytest.raises(Error, match=r"127\.0\.0\.1:1"):
                await c.info()

    asyncio.run(main())
    for wrong in ("nowhere", "127.0.0.1:0"):
        with pytest.raises(ParameterError):
            AsyncConnection(wrong)
    with pytest.raises(ParameterError, match="plaintext"):
        AsyncConnection("psi.example:8760")


def test_an_exception_of_who_is_told_ends_the_run(shop: Real) -> None:
    class StopError(Exception):
        pass

    async def main(at: str) -> None:
        def report(step: str, done: float, _: int) -> None:
            if step.startswith(at) and done:
                raise StopError

        async with AsyncConnection(shop.address, timeout=60) as c:
            with pytest.raises(StopError):
                await c.intersect(MINE, report=report)

    for at in ("send keys", "query"):
        asyncio.run(main(at))


def test_a_quota_that_is_too_small_and_a_run_that_goes_on(tmp_path: Any, shop: Real) -> None:
    async def too_small(address: str) -> None:
        async with AsyncConnection(address, timeout=60) as c:
            with pytest.raises(QuotaError, match="2 queries"):
                await c.intersect(MINE)

    with real(shop.server, tmp_path, bins=200) as small:
        asyncio.run(too_small(small.address))

    async def cut() -> Any:
        async with AsyncConnection(shop.address, timeout=60) as c:

            def report(step: str, done: float, _: int) -> None:
                if step.startswith("query 2") and done == 0:
                    raise Error("cut")

            with pytest.raises(IncompleteError) as failure:
                await c.intersect(MINE, report=report)
            first = failure.value.outcome.result
            assert len(first.unasked) == 50
            return await c.intersect(resume=failure.value.run)

    assert asyncio.run(cut()).result.matches == WANTED


def test_another_loop_and_a_fork_are_refused(shop: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = AsyncConnection(shop.address, timeout=60)
    asyncio.run(connection.info())
    with pytest.raises(Error, match="another event loop"):
        asyncio.run(connection.info())
    with Connection(shop.address) as c:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(Error, match="before the process was forked: make a new one"):
            c.info()


def test_loops_of_two_threads(shop: Real) -> None:
    async def main(count: int) -> Any:
        async with AsyncConnection(shop.address, timeout=60) as c:
            return (await c.intersect(MINE[:count])).result.matches

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda n: asyncio.run(main(n)), (3, 7)))
    assert found == [{x: TABLE[x] for x in MINE[:n] if x in TABLE} for n in (3, 7)]


def test_a_cancellation_while_a_call_ends_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Call:
        def cancel(self) -> None: ...

        def add_done_callback(self, _: Any) -> None: ...

    async def slow(*_: Any) -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            await asyncio.sleep(0.2)
            raise

    monkeypatch.setattr(aio._Stream, "send", slow)

    async def use(connection: AsyncConnection) -> None:
        async with connection._call("X", iter(())):
            await asyncio.sleep(0)

    async def main() -> None:
        connection = AsyncConnection("127.0.0.1:1")
        monkeypatch.setattr(connection, "_connected", lambda: {"X": lambda *_, **__: Call()})
        task = asyncio.create_task(use(connection))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
