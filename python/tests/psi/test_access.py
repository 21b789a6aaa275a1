# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Who may talk to a service: tokens, addresses, TLS, files of secrets."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi import wire
from ringforge.psi.remote import Connection
from ringforge.serving import access
from ringforge.serving.listener import Running
from ringforge.serving.quota import QuotaError
from tests.psi import loopback
from tests.psi.conftest import openssl
from tests.psi.loopback import (
    Loop,
    exchange,
    status,
)

TOKEN, OTHER = "token-of-client-one", "token-of-client-two"


# ---- who may talk --------------------------------------------------------------------------------


def test_tokens(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, tokens=access.Tokens([TOKEN, OTHER]), prf=10) as loop:
        for metadata in (
            (),
            (("authorization", "Bearer wrong-wrong-wrong"),),
            (("authorization", TOKEN),),
            (("authorization", f"Bearer {TOKEN[:-1]}"),),
            (("authorization", f"Bearer {TOKEN}"), ("authorization", f"Bearer {TOKEN}")),
            (("token", TOKEN),),
        ):
            for method in wire.METHODS:
                code, text = status(loop, method, [b""], metadata)
                assert code is grpc.StatusCode.UNAUTHENTICATED, (method, metadata)
                assert "--token-file" in text
        with (
            Connection(loop.address, token="another-token-123") as c,
            pytest.raises(Error, match="refused this client"),
        ):
            c.evaluate_prf(loop.table, [b"a" * 32])
        exchange(loop, token=TOKEN)
        for token in (TOKEN, OTHER):  # each has a quota of its own
            with Connection(loop.address, token=token) as c:
                c.evaluate_prf(loop.table, [b"a" * 32] * 10)
                with pytest.raises(QuotaError):
                    c.evaluate_prf(loop.table, [b"a" * 32])
        assert TOKEN not in loop.log.getvalue()


def test_token_files(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# clients\n\n  {TOKEN}  \n{OTHER}\n")
    path.chmod(0o600)
    assert access.read_tokens(path) == [TOKEN, OTHER]
    for text, words in (("", "holds no token"), ("# x\nshort\n", "line 2"), ("spaces in a long token\n", "line 1")):
        path.write_text(text)
        with pytest.raises(FormatError, match=words):
            access.read_tokens(path)
    path.write_bytes("sechzehn-zeichen-ä".encode())
    with pytest.raises(FormatError, match="ASCII"):
        access.read_tokens(path)


@pytest.mark.parametrize(
    ("peer", "identity"),
    [
        ("ipv4:192.0.2.1:4711", "address:192.0.2.1"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:4711", "address:2001:db8:1:2::/64"),
        ("ipv6:%5B::ffff:192.0.2.1%5D:1", "address:192.0.2.1"),
        ("unix:/run/psi", "unix"),
        ("", ""),
    ],
)
def test_clients_without_token_are_addresses(peer: str, identity: str) -> None:
    assert access.peer_identity(peer) == identity


def test_addresses() -> None:
    assert access.split_address("127.0.0.1:80") == ("127.0.0.1", 80)
    assert access.split_address("[::1]:8760") == ("[::1]", 8760)
    for text in ("", "host", ":80", "host:", "host:99999", "a b:80", "::1:80", "unix:/x", "host:80/x"):
        with pytest.raises(ParameterError, match="HOST:PORT"):
            access.split_address(text)
    with pytest.raises(ParameterError, match="port 0"):
        Connection("127.0.0.1:0")
    with pytest.raises(ParameterError, match="--plaintext"):
        Connection("example.org:80")
    with pytest.raises(ParameterError, match="more than 0"):
        Connection("127.0.0.1:80", timeout=0)
    for host in ("127.0.0.1", "127.9.9.9", "[::1]", "localhost"):
        assert access.is_local(host)
    for host in ("0.0.0.0", "[::]", "192.0.2.1", "localhost.example.org"):
        assert not access.is_local(host)


def test_nobody_there() -> None:
    with Connection("127.0.0.1:1", timeout=20) as c, pytest.raises(Error, match=r"nobody answers at 127\.0\.0\.1:1"):
        c.info()


def test_two_services_at_one_address(running: Loop) -> None:
    with pytest.raises(Error, match="another program does"):
        Running(running.service, running.address)


def test_another_program_at_the_port() -> None:
    """A gRPC server of something else."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Connection(f"127.0.0.1:{port}", timeout=20) as c, pytest.raises(Error, match="no server of private set"):
        c.info()
    server.stop(0).wait()


# ---- TLS -----------------------------------------------------------------------------------------


def test_tls(certificates: Path, tmp_path: Path) -> None:
    credentials = access.server_credentials(certificates / "s.pem", certificates / "s.key")
    with loopback.loop(tmp_path, credentials=credentials) as loop:
        exchange(loop, ca=certificates / "ca.pem")
        with (
            Connection(loop.address, ca=certificates / "stranger.pem", timeout=30) as c,
            pytest.raises(Error, match="no protected connection"),
        ):
            c.info()
        with Connection(loop.address, timeout=30) as c, pytest.raises(Error, match="TLS"):
            c.info()
        exchange(loop, ca=certificates / "ca.pem")
    with (
        loopback.loop(tmp_path) as loop,
        Connection(loop.address, ca=certificates / "ca.pem", timeout=30) as c,
        pytest.raises(Error, match="no protected connection"),
    ):
        c.info()


def test_tls_files(certificates: Path, tmp_path: Path) -> None:
    assert access.server_credentials(None, None) is None
    with pytest.raises(ParameterError, match="both"):
        access.server_credentials(certificates / "s.pem", None)
    with pytest.raises(FormatError, match="no PRIVATE KEY"):
        access.server_credentials(certificates / "s.pem", certificates / "s.pem")
    with pytest.raises(FormatError, match="no CERTIFICATE"):
        access.client_credentials(certificates / "s.key")
    wrong = access.server_credentials(certificates / "ca.pem", certificates / "s.key")
    with pytest.raises(Error, match="do not belong together"), loopback.loop(tmp_path, credentials=wrong):
        pass


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o620, 0o660, 0o601])
def test_secrets_that_others_can_read_are_refused(certificates: Path, tmp_path: Path, mode: int) -> None:
    tokens, key = tmp_path / "my tokens", tmp_path / "s.key"
    tokens.write_text(TOKEN)
    key.write_bytes((certificates / "s.key").read_bytes())
    for path, read in (
        (tokens, lambda: access.read_tokens(tokens)),
        (key, lambda: access.server_credentials(certificates / "s.pem", key)),
    ):
        path.chmod(0o600)
        read()
        path.chmod(mode)
        with pytest.raises(ParameterError, match=f"mode {mode:o}.*: chmod 600 ") as refusal:
            read()
        remedy = str(refusal.value).rpartition(": ")[2]
        subprocess.run(["sh", "-c", remedy], check=True)
        read()


def test_secrets_through_a_pipe() -> None:
    """As a shell has it with <(...)."""
    out, into = os.pipe()
    os.write(into, TOKEN.encode())
    os.close(into)
    assert access.read_tokens(f"/dev/fd/{out}") == [TOKEN]
    os.close(out)


def test_a_wrong_name_under_tls(certificates: Path, tmp_path: Path) -> None:
    """The certificate is good, and not for the name that the client uses."""
    (tmp_path / "names").write_text("subjectAltName=DNS:psi.example,IP:192.0.2.1\n")
    new = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(tmp_path, f"{new} -subj /CN=x -keyout s.key -out s.csr")
    ca = f"-CA {certificates}/ca.pem -CAkey {certificates}/ca.key"
    openssl(tmp_path, f"x509 -req -in s.csr {ca} -CAcreateserial -days 2 -extfile names -out s.pem")
    credentials = access.server_credentials(tmp_path / "s.pem", tmp_path / "s.key")
    with loopback.loop(tmp_path, credentials=credentials) as loop:
        for host in ("localhost", "127.0.0.1"):
            with (
                Connection(f"{host}:{loop.running.port}", ca=certificates / "ca.pem", timeout=30) as c,
                pytest.raises(Error, match=f'certificate is not for "{host}"') as refusal,
            ):
                c.info()
            assert "nobody answers" not in str(refusal.value)
        with Connection(loop.address, timeout=30) as c, pytest.raises(Error, match="expects TLS: give --tls-ca"):
            c.info()
    with Connection(loop.address, ca=certificates / "ca.pem") as c, pytest.raises(Error, match="nobody answers"):
        c.info()
