# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What goes over the wire, into logs and into files says nothing it must not.

Two different sets of one size make the same messages, in the same order. Elements, their pseudorandom values, the
server's key and tokens are searched for in everything that both sides send, write and print, and in the server's
memory: raw, reversed, complemented, in hexadecimal and base64. A search proves something only if it finds what is
there: so it must find planted secrets in each form, and the blinded elements that do go over the wire.
"""

from __future__ import annotations

import base64
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ringforge.psi import oprf
from ringforge.psi.remote import Connection, intersect
from ringforge.psi.store import Store
from tests.answers import result_of
from tests.psi import ristretto
from tests.psi.processes import PATIENCE, Serving, run
from tests.psi.recorder import Recorder

BINS, COUNT = 8, 60
TOKEN = "token-that-nobody-must-see-0001"

#: Bytes at a secret's start and in its middle that are searched for.
WINDOW = 12

#: Secrets of each kind that are searched for: all are treated alike.
SAMPLE = 10


def elements(seed: int, count: int) -> list[str]:
    """Elements that cannot be in anything by chance; their lengths differ."""
    rng = random.Random(seed)
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(24, 120))) for _ in range(count)]


def forms(secret: bytes) -> Iterator[tuple[str, bytes]]:
    """The secret as it might be written."""
    yield "raw", secret
    yield "reversed", secret[::-1]
    yield "complemented", bytes(255 - b for b in secret)
    yield "hexadecimal", secret.hex().encode()
    yield "HEXADECIMAL", secret.hex().upper().encode()
    for shift in range(3):  # base64 depends on where in a text the secret starts
        for name, encode in (("base64", base64.b64encode), ("base64url", base64.urlsafe_b64encode)):
            yield f"{name} at {shift}", encode(bytes(shift) + secret)[4:-4]
    yield "numbers", ", ".join(map(str, secret)).encode()
    yield "escapes", "".join(f"\\x{b:02x}" for b in secret).encode()


def found_in(data: bytes, secrets: dict[str, bytes], few: bool = False) -> set[str]:
    """Names and forms of the secrets of which the first or middle bytes are in the data; `few`: the commonest forms."""
    found = set()
    for name, secret in secrets.items():
        for at in (0, (len(secret) - WINDOW) // 2):
            for form, needle in forms(secret[at : at + WINDOW]):
                if (not few or form in ("raw", "hexadecimal")) and needle in data:
                    found.add(f"{name}, {form}")
    return found


@dataclass
class Exchange:
    """All there is after one client process has asked one server process."""

    sent: bytes
    received: bytes
    messages: list[tuple[str, int, int]]
    logs: list[dict[str, Any]]
    server_said: bytes
    client_said: bytes
    memory: bytes
    client: Path
    server: Path
    matches: int


def memory_of(pid: int) -> bytes:
    """What a process has in memory that it may write to."""
    parts = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(x, 16) for x in span.split("-"))
            try:
                mem.seek(start)
                parts.append(mem.read(end - start))
            except (OSError, OverflowError, ValueError):
                continue
    return b"".join(parts)


def exchange(root: Path, table: Path, asked: list[str], *, server: list[Any], client: list[Any], tls: bool) -> Exchange:
    """Runs both as processes, with the recorder between them."""
    mine, theirs = root / "client", root / "server"
    mine.mkdir(parents=True)
    theirs.mkdir()
    (mine / "set").write_text("\n".join(asked))
    words = [*server, "--quota-file", theirs / "quota"]
    with Serving(theirs, *words, table=str(table)) as serving, Recorder(serving.port, parse=not tls) as wire:
        out, err = run(
            ["query", "--server", wire.address, "--set", "set", "--threads", 1, "--json", "--out", "found", *client],
            mine,
        )
        serving.wait_for("CloseSession")
        memory = memory_of(serving.process.pid)
        assert serving.stop() == 0
        lines = list(serving.lines)
    return Exchange(
        bytes(wire.sent),
        bytes(wire.received),
        wire.messages,
        [json.loads(x) for x in lines],
        "".join(lines).encode(),
        (out + err).encode(),
        memory,
        mine,
        theirs,
        len(result_of(out)["matches"]),
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's table: 300 elements with labels that cannot be elsewhere by chance."""
    folder = tmp_path_factory.mktemp("table") / "table"
    Store.build(
        folder,
        {e.encode(): label.encode()[:24] for e, label in zip(elements(1, 300), elements(2, 300), strict=True)},
        log_bins=BINS,
    )
    return folder


@pytest.fixture(scope="module")
def both(table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Exchange, Exchange]:
    """One client has many of the server's elements, another of the same size none."""
    root = tmp_path_factory.mktemp("both")
    members, strangers = elements(1, 300), elements(3, COUNT)
    many = members[: COUNT - 10] + strangers[:10]
    return (
        exchange(root / "many", table, many, server=[], client=[], tls=False),
        exchange(root / "none", table, strangers, server=[], client=[], tls=False),
    )


@pytest.fixture(scope="module")
def protected(table: Path, tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Exchange:
    """The same with TLS and a token."""
    root = tmp_path_factory.mktemp("tls")
    (root / "tokens").write_text(TOKEN)
    (root / "tokens").chmod(0o600)
    tls = ["--tls-cert", certificates / "s.pem", "--tls-key", certificates / "s.key"]
    return exchange(
        root / "run",
        table,
        elements(1, 300)[:5] + elements(3, 20),
        server=["--token-file", root / "tokens", *tls],
        client=["--token-file", root / "tokens", "--tls-ca", certificates / "ca.pem"],
        tls=True,
    )


def of_the_client(key: Any) -> dict[str, bytes]:
    """What only the clients may have: elements; of elements that the table has not, points and values too."""
    strangers = elements(3, COUNT)[:SAMPLE]
    values = key.prf([e.encode() for e in strangers])
    return {
        **{f"member {i}": e.encode() for i, e in enumerate(elements(1, 300)[:SAMPLE])},
        **{f"stranger {i}": e.encode() for i, e in enumerate(strangers)},
        **{f"value {i}": v.tobytes() for i, v in enumerate(values)},
        **{f"point {i}": ristretto.encode(ristretto.hash_to_group(e.encode())) for i, e in enumerate(strangers[:3])},
    }


def of_the_server(key: Any) -> dict[str, bytes]:
    """What only the server may have: its key, and elements and labels that nobody asked for."""
    return {
        "key": key._key.secret_bytes(),
        **{f"member {i}": e.encode() for i, e in enumerate(elements(1, 300)[COUNT : COUNT + SAMPLE])},
        **{f"label {i}": e.encode()[:24] for i, e in enumerate(elements(2, 300)[COUNT : COUNT + SAMPLE])},
    }


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# ---- sizes and order -----------------------------------------------------------------------------


def test_messages_do_not_depend_on_the_set(both: tuple[Exchange, Exchange]) -> None:
    many, none = both
    assert (many.matches, none.matches) == (COUNT - 10, 0)
    assert many.messages == none.messages
    assert len(many.messages) > 40, "the recorder has seen them"
    assert sum(s for d, _, s in many.messages if d == "sent") > COUNT * 32


def test_logs_do_not_depend_on_the_set(both: tuple[Exchange, Exchange]) -> None:
    def public(e: Exchange) -> list[dict[str, Any]]:
        times = {"time", "seconds", "waited", "computed", "port", "client"}
        return [{k: v for k, v in line.items() if k not in times} for line in e.logs]

    assert public(both[0]) == public(both[1])


@pytest.mark.long
def test_messages_do_not_depend_on_integers_either(tmp_path: Path) -> None:
    Store.build(tmp_path / "table", range(0, 3000, 3), mode="direct", bits=24, log_bins=BINS)
    runs = [
        exchange(tmp_path / str(i), tmp_path / "table", list(map(str, asked)), server=[], client=[], tls=False)
        for i, asked in enumerate((range(0, 180, 3), range(1 << 23, (1 << 23) + 60)))
    ]
    assert [r.matches for r in runs] == [60, 0]
    assert runs[0].messages == runs[1].messages


# ---- contents ------------------------------------------------------------------------------------


def test_the_server_gets_nothing_of_the_client(both: tuple[Exchange, Exchange], table: Path) -> None:
    secrets = of_the_client(Store(table).key())
    for e in both:
        for name, data in {
            "sent": e.sent,
            "received": e.received,
            "log": e.server_said,
            **files(e.server),
            **files(table),
        }.items():
            assert found_in(data, secrets) == set(), name


def test_the_servers_memory_has_nothing_of_the_client(both: tuple[Exchange, Exchange], table: Path) -> None:
    secrets = {k: v for k, v in of_the_client(Store(table).key()).items() if k.endswith((" 0", " 1", " 2"))}
    assert len(secrets) == 12
    assert len(both[0].memory) > 10 << 20
    assert found_in(both[0].memory, secrets, few=True) == set()


def test_the_client_gets_nothing_it_did_not_ask_for(both: tuple[Exchange, Exchange], table: Path) -> None:
    secrets = of_the_server(Store(table).key())
    for e in both:
        for name, data in {
            "sent": e.sent,
            "received": e.received,
            "output": e.client_said,
            **files(e.client),
        }.items():
            assert found_in(data, secrets) == set(), name
        assert found_in(e.server_said, secrets) == set()
    assert sorted(files(both[0].client)) == ["found", "set"], "a client leaves no other files"


def test_the_table_holds_its_key_in_one_file_only(table: Path) -> None:
    key = {"key": Store(table).key()._key.secret_bytes()}
    holders = {name for name, data in files(table).items() if found_in(data, key)}
    assert len(holders) == 1, holders
    path = table / holders.pop()
    assert path.stat().st_mode & 0o077 == 0
    members = {f"member {i}": e.encode() for i, e in enumerate(elements(1, 300)[:SAMPLE])}
    for name, data in files(table).items():
        assert found_in(data, members) == set(), name


def test_tokens_and_contents_under_tls(protected: Exchange, table: Path) -> None:
    assert protected.matches == 5
    key = Store(table).key()
    asked = {f"element {i}": e.encode() for i, e in enumerate(elements(1, 300)[:5] + elements(3, 20))}
    token = {"token": TOKEN.encode()}
    for name, data in {"sent": protected.sent, "received": protected.received, "log": protected.server_said}.items():
        assert len(data) > 500
        assert found_in(data, {**asked, **token, **of_the_server(key)}) == set(), name
    for name, data in {"output": protected.client_said, **files(protected.server)}.items():
        assert found_in(data, token) == set(), name


# ---- the search itself ---------------------------------------------------------------------------


def test_the_search_finds_what_is_planted() -> None:
    rng = random.Random(9)
    secret = rng.randbytes(64)
    for form, needle in forms(secret):
        data = rng.randbytes(5000) + needle + rng.randbytes(5000)
        assert found_in(data, {"secret": secret}), form
        assert not found_in(data, {"other": rng.randbytes(64)})


def test_the_search_finds_what_is_on_the_wire(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blinded elements, evaluated ones and evaluation keys do go over it; the server's memory has its public seed."""
    seen: dict[str, bytes] = {}
    evaluate, open_session = Connection.evaluate_prf, Connection.open_session

    def watch(self: Connection, table: bytes, blinded: list[bytes], progress: Any = None) -> list[bytes]:
        evaluated = evaluate(self, table, blinded, progress)
        seen.update(blinded=blinded[3], evaluated=evaluated[4])
        return evaluated

    def watch_keys(self: Connection, table: bytes, keys: bytes, progress: Any = None) -> bytes:
        seen["keys"] = keys[-64:]
        return open_session(self, table, keys, progress)

    monkeypatch.setattr(Connection, "evaluate_prf", watch)
    monkeypatch.setattr(Connection, "open_session", watch_keys)
    options = ("--quota-file", tmp_path / "quota")
    with Serving(tmp_path, *options, table=str(table)) as serving, Recorder(serving.port) as wire:
        with Connection(wire.address, timeout=PATIENCE) as c:
            intersect(c, [e.encode() for e in elements(3, COUNT)])
        memory = memory_of(serving.process.pid)
    assert "blinded, raw" in found_in(bytes(wire.sent), {"blinded": seen["blinded"]})
    assert "keys, raw" in found_in(bytes(wire.sent), {"keys": seen["keys"]})
    assert "evaluated, raw" in found_in(bytes(wire.received), {"evaluated": seen["evaluated"]})
    assert found_in(memory, {"seed": Store(table).info.seed.encode()}, few=True)


def test_points_are_those_that_are_blinded() -> None:
    """The point that is searched for is the right one: times the key it is what the server computes."""
    key = oprf.ServerKey.random()
    element = os.urandom(20)
    scalar = int.from_bytes(key._key.secret_bytes(), "little")
    assert key.prf([element])[0].tobytes() == ristretto.prf(scalar, element)
