# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Local services: refused uploads change nothing, web pages are not answered, nobody is waited for for ever."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import local_http, matmul, matvec, params
from ringforge.errors import Error, FormatError
from ringforge.local_server import BoundedServer
from ringforge.matmul import service as matmul_service
from ringforge.matvec import demo
from ringforge.matvec import service as matvec_service
from ringforge.parties import ciphertext_file_bytes, key_file_bytes

MODEL = matvec.Sequential([matvec.Linear(np.full((2, 3), 0.5))])
Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a service in a thread; returns its port. Attributes of the handler may be given."""
    running: list[tuple[BoundedServer, threading.Thread]] = []

    def go(handler: type[local_http.BodyHandler], service: object, **attributes: object) -> int:
        made: Any = type("Handler", (handler,), {"service": service, **attributes})
        httpd = BoundedServer(("127.0.0.1", 0), made)
        thread = threading.Thread(target=httpd.serve_forever, args=(0.05,))
        thread.start()
        running.append((httpd, thread))
        return int(httpd.server_address[1])

    yield go
    for httpd, thread in running:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@pytest.fixture(scope="module")
def program() -> matmul.Program:
    return matmul.trace("matmul-a-128", lambda A, B: A @ B, {"A": (3, 4), "B": (4, 3)})


@pytest.fixture(scope="module")
def vectors() -> matvec.Program:
    return matvec.compile_model(MODEL, "set-a").program


def test_a_refused_input_leaves_the_earlier_one(start: Start, program: matmul.Program, tmp_path: Path) -> None:
    """matmul: what was accepted is computed with, whatever is sent and refused after it."""
    room = tmp_path / "room"
    room.mkdir()
    connection = matmul_service.Connection(start(matmul_service.Handler, matmul_service.Service(program, room, 1)))
    holder = matmul.KeyHolder(program)
    a, b = np.full((3, 4), 0.25), np.full((4, 3), 0.5)
    holder.save_evaluation_keys(tmp_path / "keys")
    holder.encrypt("A", a).save(tmp_path / "A", program)
    holder.encrypt("B", b).save(tmp_path / "B", program)
    (tmp_path / "bad").write_bytes((tmp_path / "A").read_bytes()[:-1])
    connection.send_keys(tmp_path / "keys")
    connection.send_input("A", tmp_path / "A")
    connection.send_input("B", tmp_path / "B")
    kept = {p.name: p.read_bytes() for p in room.iterdir()}
    for send in (
        lambda: connection.send_input("A", tmp_path / "bad"),
        lambda: connection.send_keys(tmp_path / "A"),
    ):
        with pytest.raises(FormatError, match="the server refused"):
            send()
    assert {p.name: p.read_bytes() for p in room.iterdir()} == kept
    connection.run()
    connection.fetch("result", tmp_path / "result")
    result = holder.decrypt(matmul.Parcel.load(tmp_path / "result", program, "result"))
    np.testing.assert_allclose(result, a @ b, atol=1e-4)


def test_refused_keys_and_vectors_leave_the_earlier_ones(start: Start, vectors: matvec.Program, tmp_path: Path) -> None:
    """matvec: the same."""
    room = tmp_path / "room"
    room.mkdir()
    served = matvec_service.Service(MODEL, {"single": vectors}, room, 1)
    connection = demo.Connection(start(matvec_service.Handler, served))
    client = matvec.Client(vectors)
    client.save_evaluation_keys(tmp_path / "keys")
    client.encrypt([0.1, 0.2, 0.3]).save(tmp_path / "x", vectors)
    connection.send_keys("single", tmp_path / "keys")
    connection.evaluate("single", tmp_path / "x", tmp_path / "y")
    kept = {p.name: p.read_bytes() for p in room.iterdir()}
    (tmp_path / "bad").write_bytes((tmp_path / "x").read_bytes() + b"x")
    with pytest.raises(FormatError, match=r"single\.evaluate"):
        connection.evaluate("single", tmp_path / "bad", tmp_path / "z")
    with pytest.raises(FormatError, match=r"single\.keys"):
        connection.send_keys("single", tmp_path / "bad")
    assert {p.name: p.read_bytes() for p in room.iterdir()} == kept
    connection.evaluate("single", tmp_path / "x", tmp_path / "z")


@pytest.mark.parametrize("name", ["set-a", "set-b", "set-c", "matmul-a-128"])
def test_sizes_of_files_are_known_before(name: str, tmp_path: Path) -> None:
    """The limits of bodies are the sizes of files, byte for byte."""
    chosen = params.named(name)
    made = matvec.compile_model(matvec.Sequential([*MODEL.layers, matvec.Square()]), chosen).program
    client = matvec.Client(made)
    if name != "set-c":  # hundreds of MiB
        assert client.save_evaluation_keys(tmp_path / "k") == key_file_bytes(made)
    native = matvec.EncryptedVectors(client.encrypt([0.1, 0.2, 0.3]).groups)
    # Encrypted with the secret key: half of each ciphertext is a seed of 32 bytes.
    whole = ciphertext_file_bytes(made.context, made.input_level, 1)
    halved = native.save(tmp_path / "x", made)
    assert whole // 2 < halved < whole


def raw(port: int, head: str, body: bytes = b"") -> tuple[int, bytes]:
    """Status and body of the answer to a request as written."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(head.format(port=port).replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        response = http.client.HTTPResponse(s)
        response.begin()
        return response.status, response.read()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /program HTTP/1.1\nHost: 127.0.0.1:{port}", 200),
        ("GET /program HTTP/1.1\nHost: localhost:{port}", 200),
        ("GET /program HTTP/1.1\nHost: localhost:{port}\nOrigin: http://localhost:{port}", 200),
        ("GET /program HTTP/1.1", 403),
        ("GET /program HTTP/1.1\nHost: evil.example:{port}", 403),
        ("GET /program HTTP/1.1\nHost: 127.0.0.1:1", 403),
        ("GET /program HTTP/1.1\nHost: 127.0.0.1:{port}\nHost: 127.0.0.1:{port}", 403),
        ("GET /program HTTP/1.1\nHost: 127.0.0.1:{port}\nOrigin: http://evil.example", 403),
        ("GET /program HTTP/1.1\nHost: 127.0.0.1:{port}\nOrigin: null", 403),
        ("GET /program HTTP/1.1\nHost: 127.0.0.1:{port}\nSec-Fetch-Site: cross-site", 403),
        ("POST /run HTTP/1.1\nHost: 127.0.0.1:{port}\nOrigin: https://evil.example\nContent-Length: 0", 403),
    ],
)
def test_only_programs_of_this_machine_are_answered(
    start: Start, program: matmul.Program, tmp_path: Path, head: str, status: int
) -> None:
    port = start(matmul_service.Handler, matmul_service.Service(program, tmp_path, 1))
    found, body = raw(port, head)
    assert found == status
    if status == 403:
        assert body.startswith(b"Error: requests ")


def test_bodies_are_limited_to_what_the_program_needs(
    start: Start, program: matmul.Program, vectors: matvec.Program, tmp_path: Path
) -> None:
    one = matmul_service.Service(program, tmp_path, 1)
    two = matvec_service.Service(MODEL, {"single": vectors}, tmp_path, 1)
    limits = {
        (start(matmul_service.Handler, one), "/inputs/A"): one.input_limit("A"),
        (start(matmul_service.Handler, one), "/keys"): one.keys_limit(),
        (start(matvec_service.Handler, two), "/programs/single/keys"): two.limit("single", "keys"),
        (start(matvec_service.Handler, two), "/programs/single/evaluate"): two.limit("single", "evaluate"),
    }
    for (port, path), limit in limits.items():
        assert limit < 1 << 30
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {limit + 1}\r\n\r\n".encode())
            s.shutdown(socket.SHUT_WR)
            response = http.client.HTTPResponse(s)
            response.begin()
            assert response.status == 400
            assert f"from 1 to {limit}".encode() in response.read()
    assert list(tmp_path.iterdir()) == []


def test_silent_and_slow_peers_are_let_go(start: Start, program: matmul.Program, tmp_path: Path) -> None:
    """Each is hung up on by the server, within its time-out; the test waits for that, not for a clock."""
    served = matmul_service.Service(program, tmp_path, 1)
    port = start(matmul_service.Handler, served, timeout=0.2, pace=1 << 30)
    head = f"POST /keys HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 100\r\n\r\n".encode()
    for sent in (b"", b"POST /keys HT", head[:-2], head, head + b"some"):
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(sent)
            answer = b""
            while some := s.recv(4096):
                answer += some
        assert answer == b"" or b"too slowly" in answer
    # One byte after the other, each within the time-out: the whole is too slow.
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(head)
        try:
            while True:
                s.sendall(b"x")
                s.settimeout(0.05)
                try:
                    if not s.recv(4096):
                        break
                except TimeoutError:
                    continue
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert raw(port, "GET /program HTTP/1.1\nHost: 127.0.0.1:{port}")[0] == 200
    assert list(tmp_path.iterdir()) == []


def test_a_peer_that_goes_away_costs_no_traceback(
    start: Start, program: matmul.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    port = start(matmul_service.Handler, matmul_service.Service(program, tmp_path, 1))
    for sent in (b"", b"GET /program HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(sent)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closes with a reset
        s.close()
    assert raw(port, "GET /program HTTP/1.1\nHost: 127.0.0.1:{port}")[0] == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("answer", [b"", b"nothing like HTTP", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<ht>"])
def test_a_server_of_something_else_is_one_line(answer: bytes, tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(bytes(1 << 20))
    with socket.create_server(("127.0.0.1", 0)) as other:

        def serve() -> None:
            peer, _ = other.accept()
            with peer:
                peer.recv(100)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(Error) as caught:
            matmul_service.Connection(other.getsockname()[1]).send_keys(tmp_path / "k")
        thread.join()
    assert "\n" not in str(caught.value)
    assert "proper answer" in str(caught.value) or "another program" in str(caught.value)


def test_a_refusal_reaches_a_sender_that_is_still_sending(
    start: Start, program: matmul.Program, tmp_path: Path
) -> None:
    served = matmul_service.Service(program, tmp_path / "room", 1)
    (tmp_path / "room").mkdir()
    connection = matmul_service.Connection(start(matmul_service.Handler, served))
    with (tmp_path / "large").open("wb") as f:
        f.truncate(served.input_limit("A") + 1)
    with pytest.raises(FormatError, match="send Content-Length from 1 to"):
        connection.send_input("A", tmp_path / "large")
