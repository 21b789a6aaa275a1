# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files in the runtime directory: whose they are, what ends them, what is made of strange ones; services elsewhere."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ringforge.errors import ParameterError
from ringforge.serving import overview as overview_module
from ringforge.serving import runtime
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.listener import serve
from ringforge.serving.overview import Overview
from ringforge.serving.published import Published
from ringforge.serving.status import Load, Status
from tests.psi.loopback import exchange, wait_for
from tests.psi.processes import PATIENCE, environment
from tests.serving.telling import Told, told

STATUS: dict[str, Any] = {
    "service": "psi", "address": "127.0.0.1:1", "pid": 5, "started": 1.0, "now": 2.0, "state": "ready", "facts": {},
    "load": Load(),
}  # fmt: skip


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    with told(tmp_path, monkeypatch) as found:
        yield found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


#: A process that leaves word, says so, and does what its argument says.
LEAVES = """
import os, subprocess, sys, time
from pathlib import Path
from ringforge.serving.runtime import Note
from ringforge.serving.status import Load, Status
note = Note(Path(sys.argv[1]), "omr detect", "127.0.0.1:7")
note.write(Status(service="omr detect", address="127.0.0.1:7", pid=os.getpid(), started=time.time(), now=time.time(),
                  state="ready", facts={}, load=Load()))
child = subprocess.Popen(["sleep", "60"]) if sys.argv[2] == "child" else None
print(child.pid if child else 0, flush=True)
sys.stdin.read()
note.remove()
"""


def leaves(folder: Path, what: str = "alone") -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVES, str(folder), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(PATIENCE)
    process.stdout.close()


def test_files_are_the_owners_and_go_with_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with told(tmp_path, monkeypatch) as service:
        exchange(service.loop)
        wait_for(lambda: b'"Query":{"outcomes":{"ok":1}' in next(service.directory.glob("*.json")).read_bytes())
        assert mode(service.directory) == 0o700
        files = list(service.directory.iterdir())
        assert sorted(p.suffix for p in files) == [".json", ".lock"]
        assert {mode(p) for p in files} == {0o600}
        (found,) = runtime.found(service.directory)
        assert found.alive
        assert found.status is not None
        assert found.status.address == service.loop.address
        assert found.status.pid == os.getpid()
    assert list(service.directory.iterdir()) == []


def test_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {"RINGFORGE_RUNTIME_DIR": "/a", "RUNTIME_DIRECTORY": "/b:/c", "XDG_RUNTIME_DIR": "/d"}
    assert runtime.directory(every) == Path("/a")
    del every["RINGFORGE_RUNTIME_DIR"]
    assert runtime.directory(every) == Path("/b")
    del every["RUNTIME_DIRECTORY"]
    assert runtime.directory(every) == Path("/d/ringforge")
    monkeypatch.setattr("tempfile.tempdir", "/e")
    assert runtime.directory({}) == Path(f"/e/ringforge-{os.getuid()}")


@pytest.mark.parametrize("child", [False, True])
def test_a_killed_service_is_dead_and_forgotten(tmp_path: Path, child: bool) -> None:
    """Its lock tells, also while a process that it started lives on; the next at its address clears up."""
    process, pid = leaves(tmp_path / "run", "child" if child else "alone")
    try:
        assert [f.alive for f in runtime.found(tmp_path / "run")] == [True]
        process.kill()
        process.wait(PATIENCE)
        assert [f.alive for f in runtime.found(tmp_path / "run")] == [False]
        (known,) = Overview(tmp_path / "run").known()["services"]
        assert (known["state"], known["service"]) == ("dead", "omr detect")
        again, _ = leaves(tmp_path / "run")
        assert [f.alive for f in runtime.found(tmp_path / "run")] == [True]
        again.kill()
        again.wait(PATIENCE)
        assert runtime.forget(tmp_path / "run") == 1
        assert list((tmp_path / "run").iterdir()) == []
        for p in (process, again):
            end(p)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)


def test_a_directory_of_others_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, the service runs, and the log says why."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with told(tmp_path, monkeypatch) as service:
        exchange(service.loop)
        assert service.ask("/healthz").status == 200
        (event,) = service.loop.events("runtime directory")
        assert "RINGFORGE_RUNTIME_DIR" in event["result"]
    assert list((tmp_path / "run").iterdir()) == []
    with pytest.raises(ParameterError, match="not this user's alone"):
        runtime.found(tmp_path / "run")
    assert "not this user's alone" in Overview(tmp_path / "run").known()["trouble"]
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ParameterError, match="not this user's alone"):
        runtime.found(tmp_path / "link")


def test_a_directory_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").write_text("a file")
    with told(tmp_path, monkeypatch) as service:
        exchange(service.loop)
        assert len(service.loop.events("runtime directory")) == 1


def test_a_directory_that_goes_away_is_said_once(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringforge.serving.published.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("ringforge.serving.published.WRITE_SECONDS", 0.05)
    for p in service.directory.iterdir():
        p.unlink()
    service.directory.rmdir()
    wait_for(lambda: bool(service.loop.events("runtime directory")))
    exchange(service.loop)
    time.sleep(0.3)
    assert len(service.loop.events("runtime directory")) == 1
    service.directory.mkdir(mode=0o700)
    wait_for(lambda: any(service.directory.glob("*.json")))


def test_one_look_that_fails_is_not_the_last(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringforge.serving.published.WRITE_SECONDS", 0.0)
    real, failed = service.loop.service.load, threading.Event()

    def fails() -> Load:
        failed.set()
        raise RuntimeError("a fault")

    monkeypatch.setattr(service.loop.service, "load", fails)
    assert failed.wait(60)
    wait_for(lambda: "RuntimeError" in service.loop.log.getvalue())
    monkeypatch.setattr(service.loop.service, "load", real)
    (file,) = service.directory.glob("*.json")
    before = file.stat().st_mtime_ns
    wait_for(lambda: file.stat().st_mtime_ns > before)
    assert service.loop.log.getvalue().count("RuntimeError") == 1


def test_the_longest_name_of_a_machine(service: Told) -> None:
    name = ".".join(["x" * 62] * 4) + ":8760"
    published = Published(service.loop.service, "psi", {})
    published.start(name)
    try:
        assert name in {f.status.address for f in runtime.found(service.directory) if f.status}
    finally:
        published.close()


def test_who_waits_for_computations_to_end_is_not_stuck(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grace may be long: the page says stopping meanwhile, and /healthz that it is well."""
    beats, heard = threading.Semaphore(0), []
    monkeypatch.setattr(service.published, "beat", beats.release)

    class Running:
        port, broken = 1, False
        service = SimpleNamespace(housekeeping=lambda: None, close=lambda: None, busy=True)
        door = SimpleNamespace(watch=lambda *_: None)

        def stop(self, _grace: float) -> bool:
            while beats.acquire(blocking=False):  # those of before
                pass
            heard.extend(beats.acquire(timeout=10) for _ in range(2))
            return True

    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    serve(Running(), Limits(), Log(service.loop.log), {}, service.published)  # type: ignore[arg-type]
    assert heard == [True, True]


def test_strange_files_harm_nobody(tmp_path: Path) -> None:
    """Links, pipes, folders, other names, halves, giants: told of as unreadable or not at all."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    names = [f"psi-{i}-{i:08x}" for i in range(6)]
    (tmp_path / "elsewhere").write_bytes(Status(**STATUS).to_json())
    (folder / f"{names[0]}.json").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / f"{names[1]}.json")
    (folder / f"{names[2]}.json").mkdir()
    (folder / f"{names[3]}.json").write_bytes(Status(**STATUS).to_json()[:-9])
    (folder / f"{names[4]}.json").write_bytes(b" " * (1 << 20))
    (folder / f"{names[5]}.json").write_bytes(Status(**STATUS).to_json())
    (folder / "<img src=x onerror=alert(1)>.json").write_bytes(Status(**STATUS).to_json())
    found = {f.name: f for f in runtime.found(folder)}
    assert list(found) == names
    assert [f.status is None for f in found.values()] == [True] * 5 + [False]
    assert all(f.trouble for f in list(found.values())[:5])
    services = Overview(folder).known()["services"]
    assert {s["state"] for s in services} == {"dead"}
    assert sum(s["known"] for s in services) == 1


def test_no_directory_is_no_trouble(tmp_path: Path) -> None:
    known = Overview(tmp_path / "none").known()
    assert (known["services"], known["trouble"]) == ([], "")


# ---- services elsewhere --------------------------------------------------------------------------


def state_of(overview: Overview, wanted: str) -> dict[str, Any]:
    wait_for(lambda: overview.known()["services"][0]["state"] == wanted)
    found: dict[str, Any] = overview.known()["services"][0]
    return found


def test_a_service_by_its_url(service: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview_module, "_EVERY", 0.1)
    overview = Overview(tmp_path / "none", [f"http://{service.published.metrics}"])
    found = state_of(overview, "ready")
    assert (found["service"], found["address"]) == ("psi", service.loop.address)
    service.published.stopping()
    state_of(overview, "stopping")
    service.published.close()
    gone = state_of(overview, "unreachable")
    assert gone["known"]
    assert "no answer" in gone["trouble"]
    overview.close()


def test_a_service_known_by_its_file_is_shown_once(service: Told) -> None:
    overview = Overview(service.directory, [service.published.metrics])
    assert len(overview.known()["services"]) == 1
    overview.close()


def test_a_service_where_another_ended_is_shown(service: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed service has left does not hide who listens at its address now, say in a container."""
    monkeypatch.setattr(overview_module, "_EVERY", 0.1)
    note = runtime.Note(tmp_path / "left", "psi", "127.0.0.1:1")
    note.write(Status(**{**STATUS, "metrics": service.published.metrics}))
    note._lock.close()
    overview = Overview(tmp_path / "left", [service.published.metrics])
    wait_for(lambda: [s["state"] for s in overview.known()["services"]] == ["ready", "dead"])
    overview.close()


def test_a_service_elsewhere_that_is_stuck_is_silent(
    service: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview_module, "_EVERY", 0.1)
    monkeypatch.setattr(overview_module, "_SILENT", 1.0)
    overview = Overview(tmp_path / "none", [service.published.metrics])
    service.published.beat()
    state_of(overview, "ready")
    state_of(overview, "silent")
    service.published.beat()
    state_of(overview, "ready")
    overview.close()


def test_urls() -> None:
    for wrong in (
        "",
        "x",
        "http://a",
        "https://a:1",
        "http://a:1/x",
        "http://u@a:1",
        "file:///etc/passwd",
        "http://a b:1",
    ):
        with pytest.raises(ParameterError, match="write http://HOST:PORT"):
            Overview(Path("/none"), [wrong])


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (1 << 20),
        b"SSH-2.0-other\r\n",
        b"",
        None,
    ],
)
def test_endpoints_that_are_none(answer: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs, giants, redirections, silence (None), drops: each is said in a line, soon, and asked again."""
    monkeypatch.setattr(overview_module, "_PATIENCE", 0.5)
    monkeypatch.setattr(overview_module, "_EVERY", 0.1)
    asked = threading.Semaphore(0)
    listening = socket.create_server(("127.0.0.1", 0))
    held = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            asked.release()
            held.append(peer)
            try:
                peer.recv(1000)
                if answer is not None:
                    peer.sendall(answer)
                    peer.close()
                else:
                    for _i in range(100):  # a drop now and then: no single silence is too long
                        peer.sendall(b"H")
                        time.sleep(0.1)
            except OSError:
                pass

    threading.Thread(target=serve, daemon=True).start()
    overview = Overview(tmp_path / "none", [f"127.0.0.1:{listening.getsockname()[1]}"])
    for _ in range(2):
        assert asked.acquire(timeout=30)
    wait_for(lambda: overview.known()["services"][0]["trouble"] != "it has not answered yet")
    (found,) = overview.known()["services"]
    assert found["state"] == "unreachable"
    assert len(found["trouble"]) < 300
    assert json.dumps(found)
    overview.close()
    listening.close()
    for peer in held:
        peer.close()
