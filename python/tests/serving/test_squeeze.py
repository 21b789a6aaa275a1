# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A moment without memory, threads or descriptors: services serve again, or end; they never stay mute."""

from __future__ import annotations

import _thread
import functools
import json
import os
import resource
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from ringforge import matmul, threads
from ringforge.errors import Error
from ringforge.psi.remote import Connection
from ringforge.psi.store import Store
from ringforge.serving import frontdoor, health
from tests.psi import loopback
from tests.psi.loopback import wait_for
from tests.psi.processes import PATIENCE, Serving, environment
from tests.serving.telling import ask


def virtual(pid: int) -> int:
    """Bytes of a process's address space."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmSize:"))


def served(address: str, seconds: float) -> bool:
    try:
        with Connection(address, timeout=seconds) as c:
            c.info()
    except Error:
        return False
    return True


def test_a_moment_without_memory(tmp_path: Path) -> None:
    """Clients ask while the process can have no more memory: with memory again it answers, or it has ended by itself;
    /readyz says which, and SIGTERM is obeyed without force."""
    Store.build(tmp_path / "table", [f"e{i}".encode() for i in range(100)], log_bins=4)
    with Serving(tmp_path, "--metrics", "0") as server:
        assert served(server.address, PATIENCE)
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (virtual(pid), before[1]))
        asking = [threading.Thread(target=lambda: [served(server.address, 0.5) for _ in range(4)]) for _ in range(16)]
        for a in asking:
            a.start()
        for a in asking:
            a.join()
        if server.process.poll() is None:
            resource.prlimit(pid, resource.RLIMIT_AS, before)
        # A call that came in the moment may be lost; one of those that follow is answered, or none ever is.
        assert any(server.process.poll() is not None or served(server.address, 20) for _ in range(6))
        if server.process.poll() is None:
            assert ask(str(server.ready["metrics"]), "/readyz").status == 200
            server.process.terminate()
            assert server.process.wait(PATIENCE) == 0
            assert '"killed"' not in "".join(server.lines)
        else:
            assert server.process.returncode != 0, "a supervisor starts another"


def test_what_found_no_thread_is_done_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread can be had, or one dies before its first step: the next one does what it had to, nobody waits."""
    done: list[str] = []
    start = _thread.start_new_thread

    def none(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    def dies(*_: object) -> int:
        return 0

    for number, fault in enumerate((none, dies)):
        monkeypatch.setattr(_thread, "start_new_thread", fault)
        threads.spawn(lambda n=number: done.append(f"late {n}"))  # type: ignore[misc]
        monkeypatch.setattr(_thread, "start_new_thread", start)
        threads.retry()
        wait_for(lambda n=number: f"late {n}" in done)  # type: ignore[misc]
    threads.spawn(lambda: done.append("at once"))
    wait_for(lambda: "at once" in done)


def test_what_found_no_memory_for_its_beginning_is_done_later() -> None:
    """The call of a function fails before its first line: it is kept, and done when there is memory."""
    sizes, done = [1, sys.maxsize], threading.Event()

    class Size:
        def __index__(self) -> int:
            if len(sizes) == 1:
                done.set()
            return sizes.pop()

    threads.spawn(functools.partial(bytearray, Size()))  # type: ignore[arg-type]
    wait_for(lambda: len(sizes) == 1 and len(threads._todo) == 1)
    threads.retry()
    assert done.wait(60)


def test_without_an_abstract_socket_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda count: "0" * count)
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(f"\0ringforge-{os.getpid()}-{secrets.token_hex(16)}")
        with pytest.raises(Error, match=r"abstract Unix socket.*RestrictAddressFamilies"), loopback.loop(tmp_path):
            pass


def test_the_end_of_the_thread_that_takes_calls_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback.loop(tmp_path) as loop:
        assert not loop.running.broken

        def no_memory(*_: object, **__: object) -> None:
            raise MemoryError

        monkeypatch.setattr(threading, "excepthook", lambda _: None)
        monkeypatch.setattr(frontdoor, "LOOK_SECONDS", 0.5)
        monkeypatch.setattr(grpc._server, "_handle_call", no_memory)
        served(loop.address, 0.2)
        wait_for(lambda: loop.running.broken)
        assert not loop.running.door.seen().ready


def test_silent_strangers_do_not_hold_up_the_end(tmp_path: Path) -> None:
    """Streams that wait for ever, and a grace that is longer than anybody waits."""
    Store.build(tmp_path / "table", [b"e"], log_bins=4)
    silence = threading.Event()

    def nothing() -> Iterator[bytes]:
        silence.wait()
        yield from ()

    with (
        Serving(tmp_path, "--grace", 3600, "--stall", 3600) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        calls = [channel.stream_stream(f"/{health.SERVICE}/{m}")(nothing()) for m in ("Check", "Watch") * 4]
        assert served(server.address, PATIENCE)
        try:
            server.process.terminate()
            assert server.process.wait(60) == 0
            assert '"stopped"' in "".join(server.lines)
        finally:
            silence.set()
        assert all(c.code() is not grpc.StatusCode.OK for c in calls)


def test_a_demo_service_obeys_sigterm(tmp_path: Path) -> None:
    """One that ends with its standard input, told to end while that is open: it is taken apart in order."""
    program = matmul.trace("matmul-a-128", lambda A, B: A @ B, {"A": (3, 4), "B": (4, 3)})
    program.save(tmp_path / "program.json")
    words = ["-m", "ringforge.matmul.service", "--program", "program.json", "--folder", "room"]
    child = subprocess.Popen(
        [sys.executable, *words],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(RINGFORGE_RUNTIME_DIR=str(tmp_path / "run")),
    )
    assert child.stdout is not None
    port = json.loads(child.stdout.readline())["port"]
    assert ask(f"127.0.0.1:{port}", "/program").status == 200
    child.terminate()
    child.wait(PATIENCE)  # before its standard input is closed
    _, err = child.communicate()
    assert (child.returncode, err) == (0, b"")


_CHILD = """
import resource, socket, sys, threading
from ringforge import local_http
from ringforge.local_http import BodyHandler

try:
    from ringforge.local_server import BoundedServer as Server
except ImportError:
    from http.server import ThreadingHTTPServer as Server

class Handler(BodyHandler):
    def do_POST(self):
        self.discard()
        self.answer(200, b"%d" % Counted.attempts)

    do_GET = do_POST

class Counted(Server):
    attempts = 0

    def get_request(self):
        Counted.attempts += 1
        return super().get_request()

httpd = Counted(("127.0.0.1", 0), Handler)
used = len(__import__("os").listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(httpd.server_address[1], flush=True)
httpd.serve_forever()
"""


def test_no_descriptors_is_waited_out() -> None:
    """More connections than descriptors, each with half a body: few attempts to take another, those are served, and
    when they end others are."""
    child = subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, env=environment(), text=True)
    try:
        assert child.stdout is not None
        port = int(child.stdout.readline())
        head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 4\r\n\r\nxx".encode()
        held = []
        for _ in range(16):
            held.append(socket.create_connection(("127.0.0.1", port)))
            held[-1].sendall(head)
        time.sleep(2)
        answers = []
        for s in held:  # those that were taken are served, then those that were not
            s.sendall(b"xx")
            answers.append(s.recv(4096).rpartition(b"\r\n\r\n")[2] or s.recv(4096))
            s.close()
        assert len(answers) == 16
        assert all(a.isdigit() for a in answers), answers
        assert int(answers[0]) < 100, "attempts to take a connection in about two seconds"
    finally:
        child.kill()
        child.wait(PATIENCE)
        assert child.stdout is not None
        child.stdout.close()


def test_at_its_limit_a_server_drops_the_silent_and_tells_others() -> None:
    """Connections that say nothing go first; with all places in use, one more hears why it is not served."""
    from ringforge.local_http import BodyHandler
    from ringforge.local_server import BoundedServer

    class Handler(BodyHandler):
        def do_POST(self) -> None:  # noqa: N802
            self.discard()
            self.answer(200, b"done")

    class Few(BoundedServer):
        most = 4

    httpd = Few(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,))
    thread.start()
    port = int(httpd.server_address[1])
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 4\r\n\r\n".encode()

    def busy() -> socket.socket:
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(head)
        return s

    opened: list[socket.socket] = []
    heard: Callable[[int], bool] = lambda n: len(httpd._heard) == n  # noqa: E731
    try:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        opened += silent
        for n in range(4):
            opened.append(busy())
            wait_for(lambda n=n: heard(n + 1))  # type: ignore[misc]
            assert silent[n].recv(1) == b"", "the oldest silent one was closed"
        opened.append(busy())
        assert b"503" in opened[-1].recv(4096)
        for s in opened[4:8]:
            s.sendall(b"body")
            assert b"200" in s.recv(4096)
        wait_for(lambda: heard(0))
        opened.append(busy())
        opened[-1].sendall(b"body")
        assert b"200" in opened[-1].recv(4096)
    finally:
        for s in opened:
            s.close()
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def test_readiness_of_local_services_is_a_request(tmp_path: Path) -> None:
    """`matmul serve` at SIGSTOP answers nobody; what it says of itself is asked by a request like a client's."""
    program = matmul.trace("matmul-a-128", lambda A, B: A @ B, {"A": (3, 4), "B": (4, 3)})
    program.save(tmp_path / "program.json")
    words = ("--program", "program.json", "--folder", "room")
    child = subprocess.Popen(
        [sys.executable, "-m", "ringforge.cli", "matmul", "serve", *words, "--metrics", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env=environment(RINGFORGE_RUNTIME_DIR=str(tmp_path / "run")),
        text=True,
    )
    try:
        assert child.stdout is not None
        ready = json.loads(child.stdout.readline())
        assert ask(ready["metrics"], "/readyz").status == 200
        assert b"other" not in ask(ready["metrics"], "/metrics").body, "its own look counts as no call"
        assert ask(f"127.0.0.1:{ready['port']}", "/program").status == 200
    finally:
        child.terminate()
        child.wait(PATIENCE)
        assert child.stdout is not None
        child.stdout.close()
    assert os.listdir(tmp_path / "room") == []
