# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Servers and clients as processes over TCP: exact results, and what happens when one of them dies, lies or is late."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from ringforge.errors import Error, FormatError, MismatchError
from ringforge.psi import wire
from ringforge.psi.client import Client
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Connection, intersect
from ringforge.psi.store import Store
from ringforge.serving import framing
from tests.answers import lines_of, result_of
from tests.psi.processes import PATIENCE, Serving, query, run, start

BINS = 8


def members(seed: int, count: int) -> list[str]:
    """Elements of many lengths."""
    rng = random.Random(seed)
    return [f"{rng.randrange(1 << 64):x}.{'long' * rng.randrange(30)}.é{i}" for i in range(count)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, and with sets to ask for: "mine" has 40 elements of the table, and 60 others."""
    folder = tmp_path_factory.mktemp("psi")
    server = members(1, 700)
    lines = "".join(json.dumps({"element": e, "label": f"label of {i}"}) + "\n" for i, e in enumerate(server))
    (folder / "set.jsonl").write_text(lines)
    Store.build(folder / "table", {e.encode(): f"label of {i}".encode() for i, e in enumerate(server)}, log_bins=BINS)
    (folder / "mine").write_text("\n".join(server[100:140] + members(2, 60)))
    return folder


@pytest.fixture(scope="module")
def expected(shop: Path) -> list[dict[str, str]]:
    """What `query --json` must find for "mine"."""
    table = {o["element"]: o["label"] for o in map(json.loads, (shop / "set.jsonl").read_text().splitlines())}
    return [{"element": e, "label": table[e]} for e in (shop / "mine").read_text().split("\n") if e in table]


@pytest.fixture(scope="module")
def serving(shop: Path) -> Iterator[Serving]:
    """A server for tests that leave it as they find it."""
    with Serving(shop, "--quota-file", "shared.quota") as found:
        yield found


# ---- exact results -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "hashes"),
    [
        pytest.param("oprf", 2, marks=pytest.mark.long),
        ("oprf", 3),
        ("direct", 2),
        pytest.param("direct", 3, marks=pytest.mark.long),
    ],
)
def test_exact_intersections(tmp_path: Path, mode: str, hashes: int) -> None:
    rng = random.Random(hashes)
    if mode == "oprf":
        everything = members(hashes, 1200)
        words: list[object] = ["--labels"]
        line: Callable[[int, str], str] = lambda i, e: f"{e}\t{i}"  # noqa: E731
    else:
        everything = [str(v) for v in rng.sample(range(1 << 16), 1200)]
        words = ["--mode", "direct", "--bits", 16]
        line = lambda i, e: e  # noqa: E731, ARG005
    table, mine = everything[:900], rng.sample(everything, 150 if hashes == 3 else 9)
    (tmp_path / "set").write_text("\n".join(line(i, e) for i, e in enumerate(table)))
    (tmp_path / "mine").write_text("\n".join(mine))
    run(["build", "table", "--set", "set", "--bins", BINS, "--hashes", hashes, *words], tmp_path)
    with Serving(tmp_path) as server:
        found = query(server, tmp_path, "mine")
        assert server.stop() == 0
    assert [str(m["element"]) for m in found["matches"]] == [e for e in mine if e in set(table)]
    if mode == "oprf":
        assert [m["label"] for m in found["matches"]] == [str(table.index(e)) for e in mine if e in set(table)]


def test_two_client_processes_at_once(shop: Path, expected: list[dict[str, str]]) -> None:
    with Serving(shop, slow=1) as server, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: query(server, shop, "mine"), range(2)))
    assert [f["matches"] for f in found] == [expected] * 2


def test_ten_clients_at_once_in_bounded_memory(shop: Path, expected: list[dict[str, str]]) -> None:
    elements: list[Any] = [e.encode() for e in (shop / "mine").read_text().split("\n")]
    wanted = {m["element"].encode(): m["label"].encode() for m in expected}

    def ask(server: Serving) -> dict[Any, bytes]:
        with Connection(server.address, timeout=PATIENCE) as c:
            return intersect(c, elements).result.matches

    info = Store(shop / "table").info
    plan = info.native()
    limit = 12 * (4 * plan.key_bytes + plan.request_bytes + plan.reply_bytes)
    with Serving(shop, "--memory", limit, slow=0.3) as server, ThreadPoolExecutor(10) as pool:
        assert ask(server) == wanted
        one = server.memory()
        found = list(pool.map(ask, [server] * 10))
        ten = server.memory()
    assert found == [wanted] * 10
    # Ten clients take no more than the budget, beyond what one takes, and threads with their stacks and arenas.
    assert ten - one < limit + (64 << 20), f"{one >> 20} MiB for one client, {ten >> 20} MiB for ten"


def test_a_table_is_updated_under_the_server(tmp_path: Path) -> None:
    server_set = members(5, 100)
    (tmp_path / "set").write_text("\n".join(server_set[:80]))
    (tmp_path / "more").write_text("\n".join(server_set[80:]))
    (tmp_path / "mine").write_text("\n".join(server_set[70:90]))
    run(["build", "table", "--set", "set", "--bins", BINS, "--capacity", 128], tmp_path)
    with Serving(tmp_path) as server:
        assert len(query(server, tmp_path, "mine")["matches"]) == 10
        run(["build", "table", "--set", "more", "--update", "add"], tmp_path)
        assert len(query(server, tmp_path, "mine")["matches"]) == 10
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("reloaded")
        assert len(query(server, tmp_path, "mine")["matches"]) == 20


# ---- processes that die --------------------------------------------------------------------------


def test_a_client_is_killed_in_the_middle(shop: Path, expected: list[dict[str, str]]) -> None:
    with Serving(shop, slow=600) as server:
        words = ["query", "--server", server.address, "--set", "mine"]
        client = start(words, shop)
        server.wait_for("computing")
        client.kill()
        client.communicate(timeout=PATIENCE)
        server.wait_for("Query")  # its end
        assert [e["result"] for e in server.events("Query")] == ["gone"]
        # The next one gets its turn at once.
        client = start(words, shop)
        server.wait_for("computing", 2)
        client.kill()
        client.communicate(timeout=PATIENCE)
        server.wait_for("Query", 2)
        assert server.stop() == 0
    with Serving(shop) as server:
        assert query(server, shop, "mine")["matches"] == expected


def test_the_server_is_killed_in_the_middle(shop: Path, expected: list[dict[str, str]]) -> None:
    with Serving(shop, slow=600) as server:
        client = start(["query", "--server", server.address, "--set", "mine", "--json"], shop)
        server.wait_for("computing")
        server.kill()
        out, err = client.communicate(timeout=PATIENCE)
        port = server.port
    assert client.returncode == 1
    (told,) = lines_of(out)
    assert "what was asked has no answer" in told["error"]["message"]
    assert err.startswith("error: the connection to 127.0.0.1:")
    assert "what was asked has no answer; run again" in err
    assert err.count("\n") == 1
    with Serving(shop, port=port) as server:
        assert server.port == port
        assert query(server, shop, "mine")["matches"] == expected


def test_sigterm_during_a_query(shop: Path, expected: list[dict[str, str]]) -> None:
    with Serving(shop, slow=2) as server:  # it may end
        client = start(["query", "--server", server.address, "--set", "mine", "--json"], shop)
        server.wait_for("computing")
        assert server.stop() == 0
        out, _ = client.communicate(timeout=PATIENCE)
        assert result_of(out)["matches"] == expected
    with Serving(shop, "--grace", 0.2, slow=600) as server:  # it takes too long
        client = start(["query", "--server", server.address, "--set", "mine", "--json"], shop)
        server.wait_for("computing")
        assert server.stop() == 0
        out, err = client.communicate(timeout=PATIENCE)
        (told,) = lines_of(out)
        assert (client.returncode, told["error"]["exit"]) == (1, 1)
        assert err.startswith("error: ")
    with Serving(shop) as server:  # nothing to do
        assert server.stop() == 0
        assert [e["event"] for e in map(json.loads, server.lines)] == ["listening", "stopping", "stopped"]


def test_two_signals_are_for_those_in_a_hurry(shop: Path) -> None:
    with Serving(shop, "--grace", 600, slow=600) as server:
        client = start(["query", "--server", server.address, "--set", "mine"], shop)
        server.wait_for("computing")
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("stopping")
        assert server.stop() == 0
        client.communicate(timeout=PATIENCE)
        assert client.returncode == 1


# ---- clients that lie, or know no better -----------------------------------------------------------


def raw(address: str, method: str, messages: list[bytes]) -> grpc.StatusCode:
    """What the server says to these bytes."""
    _, _, client_streams, server_streams = wire.METHODS[method]
    kind = ("stream" if client_streams else "unary") + "_" + ("stream" if server_streams else "unary")
    with grpc.insecure_channel(address) as channel:
        call = getattr(channel, kind)(f"/{wire.SERVICE}/{method}", None, None)
        try:
            answer = call(iter(messages) if client_streams else messages[0], timeout=PATIENCE)
            for _ in answer if server_streams else ():
                pass
        except grpc.RpcError as e:
            code: grpc.StatusCode = e.code()
            return code
    return grpc.StatusCode.OK


def test_random_bytes_to_every_method(serving: Serving, shop: Path, expected: list[dict[str, str]]) -> None:
    rng = random.Random(3)
    for method, (request, *_) in wire.METHODS.items():
        empty = request().SerializeToString()
        for size in (1, 40, 5000, framing.CHUNK):
            code = raw(serving.address, method, [rng.randbytes(size)])
            assert code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OK)
            assert (code is grpc.StatusCode.OK) <= (method == "Info")
        assert raw(serving.address, method, [empty]) in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OK)
        assert raw(serving.address, method, [bytes(3 << 20)]) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert query(serving, shop, "mine")["matches"] == expected


def test_random_bytes_to_the_port(serving: Serving, shop: Path, expected: list[dict[str, str]]) -> None:
    rng = random.Random(4)
    for start_with in (b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"):
        with socket.create_connection(("127.0.0.1", serving.port), PATIENCE) as s, contextlib.suppress(OSError):
            s.sendall(start_with + rng.randbytes(20_000))
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
    assert query(serving, shop, "mine")["matches"] == expected


@pytest.fixture
def asked(serving: Serving) -> Iterator[tuple[Connection, Any, bytes, Client]]:
    """A connection, the table's info and name, and a client that is ready to send its keys."""
    with Connection(serving.address, timeout=PATIENCE) as c:
        info, _ = c.info()
        table = bytes.fromhex(info.digest())
        client = Client(info, [b"one", b"two"])
        client.finish_prf(c.evaluate_prf(table, client.blinded()))
        yield c, info, table, client


def test_keys_that_are_not_whole(asked: tuple[Connection, Any, bytes, Client], shop: Path, serving: Serving) -> None:
    c, info, table, client = asked
    keys = client.keys()
    size = info.native().key_bytes
    assert len(keys) == size
    rng = random.Random(6)
    with pytest.raises(FormatError, match="plan makes it"):
        c.open_session(table, keys[:-1])
    with pytest.raises(FormatError, match="plan makes it"):
        c.open_session(table, keys + b"x")
    for bad in (rng.randbytes(size), bytes(size), bytes([keys[0] ^ 1]) + keys[1:]):
        with pytest.raises((FormatError, MismatchError)):
            c.open_session(table, bad)
    # Numbers that are in range are not told from keys: they spoil nobody's answers but their sender's.
    with contextlib.suppress(FormatError, MismatchError):
        c.close_session(c.open_session(table, keys[: size // 2] + bytes(size - size // 2)))
    assert raw(
        serving.address,
        "OpenSession",
        [pb.OpenRequest(header=pb.OpenHeader(table=table, total_bytes=size)).SerializeToString()],
    ) is (grpc.StatusCode.INVALID_ARGUMENT)
    assert query(serving, shop, "mine")["queries"] == 1


def test_keys_and_requests_of_another_plan(
    asked: tuple[Connection, Any, bytes, Client], tmp_path: Path, shop: Path, serving: Serving
) -> None:
    c, info, table, client = asked
    other = Store.build(tmp_path / "other", [b"a"], log_bins=BINS + 1, label_bytes=20).info
    stranger = Client(other, [b"one"])
    keys = stranger.keys()
    with pytest.raises((FormatError, MismatchError)):
        c.open_session(table, keys)
    with pytest.raises((FormatError, MismatchError)):  # as if it had the right size
        c.open_session(table, (keys + bytes(info.native().key_bytes))[: info.native().key_bytes])
    with pytest.raises(MismatchError, match="has changed"):
        c.open_session(bytes.fromhex(other.digest()), client.keys())
    session = c.open_session(table, client.keys())
    size, reply = info.native().request_bytes, info.native().reply_bytes
    for bad in (bytes(size), random.Random(7).randbytes(size)):
        with pytest.raises((FormatError, MismatchError)):
            c.query(table, session, bad, reply)
    for bad in (bytes(size - 1), bytes(size + 1)):
        with pytest.raises(FormatError, match="plan makes it"):
            c.query(table, session, bad, reply)
    request = client.next_request()
    assert request is not None
    client.accept(c.query(table, session, request, reply))
    assert client.result().matches == {}
    c.close_session(session)
    assert query(serving, shop, "mine")["queries"] == 1


# ---- quotas, deadlines, tokens, TLS ----------------------------------------------------------------


def test_over_quota_also_after_a_restart(tmp_path: Path, shop: Path) -> None:
    options = ("--quota-file", tmp_path / "quota", "--prf-per-day", 200)
    with Serving(shop, *options) as server:
        query(server, shop, "mine")
        assert server.stop() == 0
    with Serving(shop, *options) as server:
        _, err = run(["query", "--server", server.address, "--set", "mine"], shop, code=1)
        assert "128 evaluations of the pseudorandom function are needed" in err
        assert "leaves this client 72" in err
        with Connection(server.address, timeout=PATIENCE) as c:  # a client that does not look before
            info, left = c.info()
            assert left["prf"] == 72
            blinded = Client(info, [str(i).encode() for i in range(73)], exact_sizes=True).blinded()
            with pytest.raises(Error, match="72 of 200 a day are left"):
                c.evaluate_prf(bytes.fromhex(info.digest()), blinded)
    with Serving(shop, "--quota-file", tmp_path / "bins", "--bins-per-day", (1 << BINS) - 1) as server:
        _, err = run(["query", "--server", server.address, "--set", "mine"], shop, code=1)
        assert "256 bins (1 queries) are needed" in err


def test_a_deadline_passes(shop: Path) -> None:
    """Where the machine is so busy that the time passes before the look-up, a longer one is given."""
    with Serving(shop, slow=600) as server:
        for seconds in (4, 16, 64):
            words = ["query", "--server", server.address, "--set", "mine", "--timeout", seconds]
            _, err = run(words, shop, code=1)
            assert f"within {seconds} seconds: give more with --timeout" in err
            if server.events("computing"):
                break
        server.wait_for("Query")
        assert server.events("Query")[0]["result"] == "gone"
        assert server.stop() == 0


def test_tokens_and_tls(shop: Path, expected: list[dict[str, str]], certificates: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("# two clients\ntoken-of-alice-0001\ntoken-of-bob-000002\n")
    (tmp_path / "alice").write_text("token-of-alice-0001\n")
    (tmp_path / "eve").write_text("token-of-eve-0000001\n")
    for name in ("tokens", "alice", "eve"):
        (tmp_path / name).chmod(0o600)
    tls = ("--tls-cert", certificates / "s.pem", "--tls-key", certificates / "s.key")
    with Serving(shop, "--token-file", tmp_path / "tokens", *tls) as server:
        words = ["query", "--server", server.address, "--set", "mine"]
        ca, alice = ("--tls-ca", certificates / "ca.pem"), ("--token-file", tmp_path / "alice")
        assert query(server, shop, "mine", *ca, *alice)["matches"] == expected
        for more, said in (
            ((*ca, "--token-file", tmp_path / "eve"), "refused this client"),
            (ca, "give yours with --token-file"),
            (("--tls-ca", certificates / "stranger.pem", *alice), "not trusted by --tls-ca"),
            (alice, "TLS"),
        ):
            out, err = run([*words, *more], shop, code=1)
            assert out == ""
            assert said in err
            assert err.count("\n") == 1, err
            assert "token-of" not in err
        assert query(server, shop, "mine", *ca, *alice)["matches"] == expected
        assert server.stop() == 0
        assert "token-of" not in "".join(server.lines)


def test_a_second_server_at_the_same_port(serving: Serving, shop: Path) -> None:
    words = ["serve", "table", "--listen", serving.address, "--quota-file", "second.quota"]
    _, err = run(words, shop, code=1)
    assert "another program does" in err


def test_nothing_is_left_running(shop: Path) -> None:
    """A client whose output nobody reads ends all the same."""
    with Serving(shop) as server:
        client = start(["query", "--server", server.address, "--set", "mine"], shop)
        assert client.stdout is not None
        client.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(PATIENCE)
        assert client.returncode is not None
        assert server.stop() == 0
