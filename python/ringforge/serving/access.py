# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Who may talk to a service, and how: addresses, tokens, TLS."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import shlex
import stat
import sys
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import grpc

from ringforge.errors import FormatError, ParameterError
from ringforge.secrecy import RawSecret

#: Key of the metadata that carries the client's token, as "Bearer TOKEN".
AUTHORIZATION = "authorization"

#: Characters of a token: at least what 96 random bits take in base64, and what fits into a header.
MIN_TOKEN, MAX_TOKEN = 16, 1024

_BEARER = "Bearer "


class AccessError(Exception):
    """A client that has not shown a valid token."""


def read_private(path: str | Path) -> bytes:
    """What a file of secrets holds; "-" is standard input.

    Raises:
        ParameterError: others than its owner may read or write it. OSError: it cannot be read.
    """
    if str(path) == "-":
        return sys.stdin.buffer.read()
    with Path(path).open("rb") as f:
        _require_private(f)
        return f.read()


def _require_private(f: IO[bytes]) -> None:
    status = os.fstat(f.fileno())
    if not stat.S_ISREG(status.st_mode) or not status.st_mode & 0o077 or _is_credential(Path(f.name), status.st_mode):
        return
    raise ParameterError(
        f"{Path(f.name).name} is a secret that others on this machine may read or change (mode "
        f"{stat.S_IMODE(status.st_mode):03o}): chmod 600 {shlex.quote(str(f.name))}"
    )


def _is_credential(path: Path, mode: int) -> bool:
    """Whether systemd made the file for this service alone (LoadCredential=).

    Such files are root's, and an access list lets the service read them; as a mode that looks like 0440. Their
    directory keeps all others out.
    """
    folder = os.environ.get("CREDENTIALS_DIRECTORY", "")
    if not folder or mode & 0o037 or path.parent.resolve() != Path(folder).resolve():
        return False
    return not path.parent.stat().st_mode & 0o027


def read_tokens(path: str | Path) -> list[str]:
    """The tokens of a file, or of standard input for "-": one a line; empty lines and lines that begin with # do not
    count.

    Raises:
        FormatError: there is none, or a line is no token; the message has its number, not its text. ParameterError:
        others may read the file.
    """
    path = Path(path)
    try:
        lines = read_private(path).decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} is no ASCII text: tokens have letters, digits, -._~+/=") from None
    tokens = []
    for number, line in enumerate(lines, 1):
        token = line.strip()
        if not token or token.startswith("#"):
            continue
        if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", token):
            raise FormatError(
                f"{path.name}, line {number}, is no token: {MIN_TOKEN} to {MAX_TOKEN} of letters, digits and -._~+/=; "
                "make one with: openssl rand -hex 32"
            )
        tokens.append(token)
    if not tokens:
        raise FormatError(f"{path.name} holds no token: put one on each line, made with: openssl rand -hex 32")
    return tokens


class Tokens(RawSecret):
    """The tokens a server accepts. They are kept as digests, and compared in time that does not depend on them."""

    saved_by = "they are in the file of tokens"

    def __init__(self, tokens: Sequence[str]) -> None:
        self._digests = [hashlib.sha256(t.encode()).digest() for t in tokens]

    def identity(self, metadata: Sequence[tuple[str, str | bytes]] | None) -> str:
        """The client whose token is in the metadata, as "token:" and its digest.

        Raises:
            AccessError: there is none, or it is not accepted.
        """
        shown = [value for key, value in metadata or () if key == AUTHORIZATION]
        text = shown[0] if len(shown) == 1 and isinstance(shown[0], str) else ""
        digest = hashlib.sha256(text.removeprefix(_BEARER).encode()).digest()
        found = False
        for known in self._digests:
            found |= hmac.compare_digest(known, digest)
        if not found or not text.startswith(_BEARER):
            raise AccessError("this server serves clients with a token it knows: give yours with --token-file")
        return f"token:{digest.hex()}"


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """The metadata that shows a token."""
    return ((AUTHORIZATION, f"{_BEARER}{token}"),)


def peer_identity(peer: str) -> str:
    """The client behind gRPC's name of a peer: its address, without the port; for IPv6 its network of 64 bits."""
    kind, _, rest = urllib.parse.unquote(peer).partition(":")
    host = rest.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return kind
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return f"address:{address.ipv4_mapped}"
        return f"address:{ipaddress.ip_network((address, 64), strict=False)}"
    return f"address:{address}"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of "HOST:PORT"; IPv6 addresses in brackets.

    Raises:
        ParameterError: it is not of that form.
    """
    match = re.fullmatch(r"(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+):(\d{1,5})", text)
    if match is None or int(match[2]) > 65535:
        raise ParameterError(
            f'"{text}" is no address: write HOST:PORT, as in 127.0.0.1:8760 or [::1]:8760, with a port up to 65535'
        )
    return match[1], int(match[2])


def is_local(host: str) -> bool:
    """Whether a host is this machine, so that nobody else sees what is sent."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def require_cover(host: str, tls: bool, plaintext: bool, options: str) -> None:
    """Refuses connections to other machines without TLS, unless somebody says that it is wanted.

    Raises:
        ParameterError: it is not.
    """
    if not tls and not plaintext and not is_local(host):
        raise ParameterError(
            f"{host} is not this machine, and without TLS others could read tokens and change what is sent: give "
            f"{options}, or --plaintext if the connection is protected otherwise (SSH, VPN)"
        )


def _pem(path: Path, what: str, marker: bytes, private: bool = False) -> bytes:
    with path.open("rb") as f:
        data = f.read()
        if marker not in data:
            raise FormatError(
                f"{path.name} holds no {what}: a PEM file is needed, with a line -----BEGIN ...{what}-----"
            )
        if private:
            _require_private(f)
    return data


def server_credentials(cert: Path | None, key: Path | None) -> grpc.ServerCredentials | None:
    """TLS for a server, or None when neither file is given.

    Raises:
        ParameterError: only one of them is given, or others may read the key. FormatError: they are no PEM files.
    """
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise ParameterError("TLS needs both --tls-cert (the server's certificate chain) and --tls-key (its key)")
    pair = (
        _pem(key, "PRIVATE KEY", b"PRIVATE KEY-----", private=True),
        _pem(cert, "CERTIFICATE", b"BEGIN CERTIFICATE-----"),
    )
    return grpc.ssl_server_credentials([pair])


def client_credentials(ca: Path) -> grpc.ChannelCredentials:
    """TLS for a client that trusts this authority, and no other.

    Raises:
        FormatError: it is no PEM file.
    """
    return grpc.ssl_channel_credentials(_pem(ca, "CERTIFICATE", b"BEGIN CERTIFICATE-----"))
