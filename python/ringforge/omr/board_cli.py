# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge omr board` and `ringforge omr post`: serving a board, posting to one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ringforge.cli import completion
from ringforge.cli.console import console, parse_size, progress, properties, thread_count
from ringforge.cli.options import Insecure, Threads
from ringforge.cli.output import READY, ROWS, WORK, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.omr.answers import BoardStatus, Bulletins, Posted
from ringforge.serving.options import (
    EventLog,
    Listen,
    Listening,
    Metrics,
    Plaintext,
    ServerStall,
    Stall,
    Timeout,
    TlsCa,
    TlsCert,
    TlsKey,
    TokenFile,
    TokensFile,
    client_token,
    log_stream,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The public board: entries in a database, in the order they came, in bulletins of N.",
)

_DATABASE = typer.Option(
    "--database",
    envvar="RINGFORGE_OMR_BOARD",
    metavar="FILE|URL",
    help="A file of SQLite, or postgresql+pg8000://USER@/DATABASE?unix_sock=SOCKET. The variable keeps a password off "
    "the command line.",
)
_SERVER = typer.Option("--server", metavar="HOST:PORT", help="Where `omr board serve` listens.")
Database = Annotated[str, _DATABASE]
SetName = Annotated[
    str,
    typer.Option(
        "--set",
        help="Parameter set: ringforge, paper, or test (no security).",
        autocompletion=completion.names_of("ringforge.omr.sets:names"),
    ),
]
Server = Annotated[str, _SERVER]


@app.command()
@prints(WORK, plain=READY)
def serve(
    database: Database,
    parameters: SetName = "ringforge",
    insecure: Insecure = "",
    listen: Listen = "127.0.0.1:8771",
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokensFile = None,
    plaintext: Plaintext = False,
    posts_per_day: Annotated[int, typer.Option(min=0, help="Entries each poster may post in a day (UTC).")] = 1 << 20,
    memory: Annotated[str, typer.Option(help="For encodings that are being sent: 512MiB, 4GiB.")] = "512MiB",
    waiting: Annotated[int, typer.Option(help="Encodings that may wait while one is made.")] = 32,
    moving: Annotated[float, typer.Option(help="Seconds for a reader to take what it asked for.")] = 600.0,
    stall: ServerStall = 30.0,
    grace: Annotated[float, typer.Option(help="Seconds that calls get to end when stopped.")] = 30.0,
    metrics: Metrics = None,
    log: EventLog = None,
    threads: Threads = 0,
) -> None:
    """Serves a board until it is stopped (SIGTERM, Ctrl-C); makes it if there is none.

    Prints its port as JSON when it is ready. A post is acknowledged when it is on disk; after a crash, start it again.
    Events are logged as JSON lines: sizes, times, kinds of refusals, a keyed hash of the poster; never contents. Beyond
    this machine it needs TLS, or --plaintext.

    Without --token-file everybody may post, and quotas go by address.

    Examples:

        ringforge omr board serve --database board.sqlite

        ringforge omr board serve --database board.sqlite --listen 0.0.0.0:8771 --tls-cert server.pem \
--tls-key server.key --token-file tokens
    """
    from ringforge.omr.board import Board
    from ringforge.omr.board_service import Service
    from ringforge.omr.detector import encoder
    from ringforge.omr.plan import Plan
    from ringforge.omr.sets import named
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits

    workers = thread_count(threads)
    listening = Listening.make(listen, tls_cert, tls_key, token_file, plaintext, metrics)
    limits = Limits(
        memory=parse_size(memory),
        waiting=waiting,
        moving_seconds=moving,
        stall_seconds=stall,
        grace_seconds=grace,
    )
    s = named(parameters, insecure)
    with Board.open(database, s, threads=workers) as board, log_stream(log) as stream:
        events = Log(stream)
        service = Service(board, limits, posts_per_day, encoder(Plan.make(s), workers), listening.tokens, events)
        listening.serve("omr board", service, limits, events, "cpu", set=s.name)


@app.command()
@prints(WORK, Posted)
def post(
    texts: Annotated[Path, typer.Argument(help="File with one text on each line, in UTF-8; - for standard input.")],
    address: Annotated[Path, typer.Option("--address", help="The receiver's, as it gave it away.")],
    server: Server,
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help='The file has {"text": ...} on each line; texts may have lines.')
    ] = False,
    insecure: Insecure = "",
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = None,
    stall: Stall = 60.0,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Sender: posts texts to a receiver's address, each as an entry of its own.

    The board sees that entries came together and from where, not for whom they are. If it breaks off, what was
    acknowledged is on the board.

    Examples:

        ringforge omr post texts.txt --address her.address --server 127.0.0.1:8771

        echo "see you at noon" | ringforge omr post - --address her.address --server board.example:8771 --tls-ca ca.pem
    """
    from ringforge.omr.address import Address
    from ringforge.omr.poster import entries, read_texts

    workers = thread_count(threads)
    to = Address.load(address, insecure)
    found = read_texts(texts, json_lines)
    signals, payloads = entries(to, found, workers)
    start, places = time.perf_counter(), []
    with _connection(server, to.set, workers, tls_ca, token_file, plaintext, timeout, stall) as board:
        board.info()
        with progress("posting") as bar:
            for receipt in board.posting(signals, payloads):
                places += receipt.places(to.set)
                bar(len(places) / len(found))
    figures = {"posted": len(places), "places": places, "seconds": time.perf_counter() - start}
    if as_json:
        emit(figures)
        return
    first, last = places[0], places[-1]
    rows = {
        "texts": f"{len(places):,}, all on the board",
        "first": f"position {first[1]:,} of bulletin {first[0]:,}",
        "last": f"position {last[1]:,} of bulletin {last[0]:,}",
        "to": f"the address with the fingerprint {to.fingerprint}",
    }
    console().print(properties("posted", rows))


@contextlib.contextmanager
def _connection(
    server: str,
    s: Any,
    threads: int,
    tls_ca: Path | None,
    token_file: Path | None,
    plaintext: bool,
    timeout: float | None,
    stall: float,
) -> Iterator[Any]:
    from ringforge.omr.board_client import RemoteBoard

    token = client_token(token_file)
    with RemoteBoard(
        server, s, threads=threads, ca=tls_ca, token=token, timeout=timeout, stall=stall, plaintext=plaintext
    ) as board:
        yield board


@app.command()
@prints(WORK, Bulletins)
def seal(
    database: Database,
    parameters: SetName = "ringforge",
    insecure: Insecure = "",
    pad: Annotated[bool, typer.Option("--pad", help="Fill the bulletin up with random entries.")] = False,
    as_json: AsJson = False,
) -> None:
    """Operator: seals the open bulletin before it is full, so that it can be searched.

    Pads follow from the entries before them: everybody can make them again, nobody can choose them.

    Examples: `ringforge omr board seal --database board.sqlite --pad`
    """
    from ringforge.omr.board import Board
    from ringforge.omr.sets import named

    with Board.open(database, named(parameters, insecure), create=False) as board:
        sealed = board.seal(pad)
    _show(f"bulletin {sealed.number}", [sealed], as_json)


@app.command("list")
@prints(ROWS, Bulletins)
def list_command(
    database: Annotated[str | None, _DATABASE] = None,
    server: Annotated[str | None, _SERVER] = None,
    parameters: SetName = "ringforge",
    insecure: Insecure = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Make every digest anew of all entries; needs --database.")
    ] = False,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    as_json: AsJson = False,
) -> None:
    """Lists bulletins with their digests.

    Examples:

        ringforge omr board list --database board.sqlite --verify

        ringforge omr board list --server 127.0.0.1:8771
    """
    from ringforge.omr.board import Board
    from ringforge.omr.sets import named

    s = named(parameters, insecure)
    if server is not None:
        if verify:
            raise ParameterError("--verify reads everything: it needs --database")
        with _connection(server, s, 1, tls_ca, token_file, plaintext, None, 60.0) as remote:
            remote.info()
            found = remote.bulletins()
    elif database is None:
        raise ParameterError("give --database for a board of one's own, or --server for one that is served")
    else:
        with Board.open(database, s, create=False) as board:
            found = board.bulletins()
            if verify:
                for b in found:
                    board.verify(b.number)
    _show("bulletins", found, as_json)


@app.command()
@prints(ROWS, BoardStatus)
def info(
    server: Server,
    parameters: SetName = "ringforge",
    insecure: Insecure = "",
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    as_json: AsJson = False,
) -> None:
    """Says what a served board is, and how much this poster may still post today.

    Examples: `ringforge omr board info --server 127.0.0.1:8771`
    """
    from ringforge.omr.sets import named

    s = named(parameters, insecure)
    with _connection(server, s, 1, tls_ca, token_file, plaintext, None, 60.0) as board:
        found = board.info()
    figures = {
        "set": s.name,
        "entries": s.entries,
        "signal_bytes": s.signal_bytes,
        "payload_bytes": s.payload_bytes,
        "text_bytes": s.text_bytes,
        "bulletins": found.bulletins,
        "posts_left": found.posts_left,
        "encoder": found.encoder,
        "steps": found.steps,
    }
    if as_json:
        emit(figures)
        return
    rows = {
        "parameters": s.name,
        "a bulletin": f"{s.entries:,} entries of {s.signal_bytes:,} and {s.payload_bytes:,} bytes",
        "a text": f"up to {s.text_bytes:,} bytes",
        "bulletins": f"{found.bulletins:,}, the last one open",
        "left today": f"{found.posts_left:,} posts",
        "encodings": f"{found.steps} for each bulletin" if found.encoder else "none: detectors make them",
    }
    console().print(properties(f"board {server}", rows))


def _show(title: str, found: list[Any], as_json: bool) -> None:
    if as_json:
        rows = [
            {"number": b.number, "entries": b.entries, "pads": b.pads, "sealed": b.sealed, "digest": b.digest.hex()}
            for b in found
        ]
        emit({"bulletins": rows})
        return
    lines = {}
    for b in found:
        pads = f", of them {b.pads:,} pads" if b.pads else ""
        state = "sealed" if b.sealed else "open"
        lines[str(b.number)] = f"{state}, {b.entries:,} entries{pads}; digest {b.digest.hex()[:16]}"
    console().print(properties(title, lines))
