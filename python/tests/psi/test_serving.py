# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server process and clients on all threads: no deadlock, and it stops when it is told to, whatever it computes."""

from __future__ import annotations

import resource
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringforge.errors import Error
from ringforge.psi.client import Client
from ringforge.psi.remote import Connection
from ringforge.psi.store import Store
from tests.psi.processes import PATIENCE, Serving, run, start

CLIENTS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table, and a set of which it has the half."""
    found = tmp_path_factory.mktemp("psi")
    Store.build(found / "table", [f"element {i}".encode() for i in range(200)], log_bins=7)
    (found / "mine").write_text("".join(f"element {i}\n" for i in range(190, 210)))
    return found


def sessions_during_queries(folder: Path, each: int) -> None:
    """Ten clients, each of which opens `each` sessions and asks once in every one, while the others do."""
    asked = [f"element {i}".encode() for i in range(190, 210)]
    began = threading.Barrier(CLIENTS)

    def client(_: int) -> None:
        with Connection(server.address, timeout=10 * PATIENCE, stall=PATIENCE) as c:
            info, _left = c.info()
            table = bytes.fromhex(info.digest())
            began.wait(PATIENCE)
            for _round in range(each):
                mine = Client(info, asked, threads=1)
                mine.finish_prf(c.evaluate_prf(table, mine.blinded()))
                session = c.open_session(table, mine.keys())
                while (request := mine.next_request()) is not None:
                    mine.accept(c.query(table, session, request, mine.plan.reply_bytes))
                c.close_session(session)
                assert sorted(mine.result().matches) == asked[:10]

    options = ("--quota-file", f"many{each}", "--prf-per-day", 1 << 30, "--bins-per-day", 1 << 30)
    with Serving(folder, *options, threads=0) as server, ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
        # Told to stop while it computes, it lets that query end.
        with Connection(server.address, timeout=PATIENCE) as c:
            info, _ = c.info()
            table = bytes.fromhex(info.digest())
            last = Client(info, asked)
            last.finish_prf(c.evaluate_prf(table, last.blinded()))
            session = c.open_session(table, last.keys())
            request = last.next_request()
            assert request is not None
            told: list[float] = []

            def stop(done: float, _: int) -> None:
                if done and not told:
                    told.append(done)
                    server.process.send_signal(signal.SIGTERM)

            last.accept(c.query(table, session, request, last.plan.reply_bytes, stop))
            assert told
        assert server.process.wait(PATIENCE) == 0
        server.stop()
        queries, opened = server.events("Query"), server.events("OpenSession")
    assert len(queries) == len(opened) == CLIENTS * each + 1
    assert {e["result"] for e in [*queries, *opened]} == {"ok"}


def test_sessions_are_opened_during_queries(folder: Path) -> None:
    sessions_during_queries(folder, 3)


@pytest.mark.long
def test_sessions_are_opened_during_queries_a_hundred_times(folder: Path) -> None:
    sessions_during_queries(folder, 100)


def test_sigterm_without_the_interpreter(folder: Path) -> None:
    """Something holds the interpreter's lock for ever: no handler of Python's can run, and the process ends all the
    same."""
    with Serving(folder, "--grace", 0, "--quota-file", "stuck", "--device", "stuck") as server:
        client = start(["query", "--server", server.address, "--set", "mine", "--stall", 600], folder)
        server.wait_for("computing")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 1
        server.stop()
        assert server.events("killed")
        out, err = client.communicate(timeout=PATIENCE)
    assert (client.returncode, out) == (1, "")
    assert "the server has ended" in err


def test_a_server_that_is_stuck(folder: Path) -> None:
    """A client gives it up, and blames nothing that it cannot know."""
    with Serving(folder, "--quota-file", "frozen") as server:
        server.process.send_signal(signal.SIGSTOP)
        _, err = run(["query", "--server", server.address, "--set", "mine", "--stall", 1], folder, code=1)
        server.process.send_signal(signal.SIGCONT)
        assert "nothing has moved" in err
        assert "--stall" in err
        assert "TLS" not in err
        assert err.count("\n") == 1


def test_a_quota_file_that_cannot_grow(folder: Path) -> None:
    """The file system takes no byte more: nothing is answered uncounted, the service goes on, and says why."""
    with Serving(folder, "--quota-file", "full") as server, Connection(server.address, timeout=PATIENCE) as c:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        info, _ = c.info()
        table, blinded = bytes.fromhex(info.digest()), Client(info, [b"x"]).blinded()
        for _ in range(2):
            with pytest.raises(Error, match=r"cannot count what is asked for in full \(.*\), so it does nothing"):
                c.evaluate_prf(table, blinded)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert len(c.evaluate_prf(table, blinded)) == len(blinded) > 0
        assert server.stop() == 0
        assert [e["result"] for e in server.events("EvaluatePrf")] == ["QuotaFileError", "QuotaFileError", "ok"]
