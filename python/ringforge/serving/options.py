# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Options that all services' commands have, those of servers and those of clients, and what becomes of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ringforge.cli.options import log_file
from ringforge.errors import ParameterError

if TYPE_CHECKING:
    import grpc

    from ringforge.serving.access import Tokens
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits
    from ringforge.serving.service import Service

# ---- of servers ----
Listen = Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any free one.")]
TlsCert = Annotated[Path | None, typer.Option(help="PEM file: this server's certificate chain.")]
TlsKey = Annotated[Path | None, typer.Option(help="PEM file: its private key, mode 0600.")]
TokensFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="Tokens of the clients that are served, one a line; each has a quota. Mode 0600; - for standard input.",
    ),
]
ServerStall = Annotated[
    float, typer.Option("--stall", help="Seconds for a call's first message, each later one, and to take each of ours.")
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Tell of this service by HTTP: /healthz, /readyz, /metrics for Prometheus, /status. A port alone: on this "
        "machine only. Default: nowhere.",
    ),
]
EventLog = Annotated[
    Path | None, typer.Option(help="File for events, as JSON; default: standard error.", callback=log_file)
]

# ---- of clients ----
TlsCa = Annotated[
    Path | None, typer.Option(help="PEM file of the authority that signed the server's certificate: connect by TLS.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="File with the token the server knows this client by, mode 0600; - for standard input."),
]
Timeout = Annotated[float | None, typer.Option(help="Seconds it may take in all; default: as long as it takes.")]
Stall = Annotated[float, typer.Option(help="Seconds without a sign of the server after which it is given up.")]

# ---- of both ----
Plaintext = Annotated[
    bool, typer.Option("--plaintext", help="Other machines without TLS: the connection is protected otherwise.")
]


@dataclass(frozen=True)
class Listening:
    """Where a server listens, whom it lets in, and where it tells of itself. `tokens` None: everybody."""

    address: str
    host: str
    credentials: grpc.ServerCredentials | None
    tokens: Tokens | None
    metrics: str | None

    @classmethod
    def make(
        cls,
        listen: str,
        tls_cert: Path | None,
        tls_key: Path | None,
        token_file: Path | None,
        plaintext: bool,
        metrics: str | None = None,
    ) -> Listening:
        """From the options.

        Raises:
            ParameterError: no address, half of what TLS needs, or another machine's without TLS and without leave.
            FormatError: a file is not what it should be, or is open to others.
        """
        from ringforge.serving.access import Tokens, read_tokens, require_cover, server_credentials, split_address
        from ringforge.serving.web import metrics_address

        host, _ = split_address(listen)
        where = None if metrics is None else metrics_address(metrics)
        credentials = server_credentials(tls_cert, tls_key)
        require_cover(host, credentials is not None, plaintext, "--tls-cert and --tls-key")
        tokens = None if token_file is None else Tokens(read_tokens(token_file))
        return cls(listen, host, credentials, tokens, where)

    def serve(self, name: str, service: Service, limits: Limits, events: Log, device: str, **about: Any) -> None:
        """Serves until it is stopped; says where, whether there are TLS and tokens, and what else is given, first.

        Args:
            name: what the service is, as its command says. device: that computes.
        """
        from ringforge.serving import listener
        from ringforge.serving.published import Published

        guards = {"tls": self.credentials is not None, "tokens": self.tokens is not None}
        facts = {"device": device, **{k: str(v) for k, v in about.items()}}
        facts.update({k: "yes" if v else "no" for k, v in guards.items()})
        published = Published(service, name, facts, self.metrics, events, beats=True)
        try:
            running = listener.Running(service, self.address, self.credentials)
            published.through(running.door)
            listening = f"{self.host}:{running.port}"
            published.start(listening)
            telling = {"metrics": published.metrics} if published.metrics else {}
            listener.serve(running, limits, events, {"listening": listening, **guards, **telling, **about}, published)
        finally:
            published.close()


@contextlib.contextmanager
def log_stream(path: Path | None) -> Iterator[TextIO]:
    """Where events go: the end of a file, or standard error."""
    if path is None:
        yield sys.stderr
        return
    with path.open("a", encoding="utf-8") as f:
        yield f


def client_token(path: Path | None) -> str | None:
    """The token in a client's file; None without one.

    Raises:
        ParameterError: there are more. FormatError: as `access.read_tokens`.
    """
    if path is None:
        return None
    from ringforge.serving.access import read_tokens

    tokens = read_tokens(path)
    if len(tokens) > 1:
        raise ParameterError(f"{path.name} holds {len(tokens)} tokens: a client has one of its own, alone in its file")
    return tokens[0]
