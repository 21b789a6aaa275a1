# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge aes serve`, and what clients of a server run: submit, status, fetch, cancel, drop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ringforge.aes.answers import ServerStatus, Submitted
from ringforge.aes.options import (
    Compute,
    DeviceName,
    KeysDirectory,
    RoundKeysDirectory,
    SchemeName,
    SetName,
    StreamFile,
)
from ringforge.cli.console import (
    console,
    parse_size,
    print_warning,
    progress,
    properties,
    say,
    size_text,
    steps,
    thread_count,
)
from ringforge.cli.options import Insecure, Threads, output_file, overwrites
from ringforge.cli.output import READY, ROWS, WORK, AsJson, emit, prints
from ringforge.errors import ParameterError
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

ServerAddress = Annotated[str, typer.Option("--server", metavar="HOST:PORT", help="Where `aes serve` listens.")]
JobName = Annotated[str, typer.Option("--job", help="Job, as `status` names it: its first digits will do.")]


@prints(WORK, plain=READY)
def serve(
    store: Annotated[Path, typer.Option(help="Directory for keys, requests, checkpoints and results.")] = Path("aes"),
    scheme: SchemeName = "bgv",
    parameters: SetName = None,
    insecure: Insecure = "",
    listen: Listen = "127.0.0.1:8780",
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokensFile = None,
    plaintext: Plaintext = False,
    blocks_per_day: Annotated[int, typer.Option(min=0, help="Blocks each client may ask for in a day (UTC).")] = 1
    << 20,
    quota_file: Annotated[
        Path | None, typer.Option(help="SQLite file of the counts; default: STORE.quota.sqlite beside the store.")
    ] = None,
    keys_per_client: Annotated[int, typer.Option(help="Sets of keys of one client, of each kind.")] = 4,
    jobs_per_client: Annotated[int, typer.Option(help="Unfinished requests of one client.")] = 16,
    states: Annotated[int, typer.Option(help="Full states that one request is about, at the most.")] = 16,
    waiting: Annotated[int, typer.Option(help="Requests that may wait while one computes.")] = 256,
    keep: Annotated[float, typer.Option(help="Seconds that results stay, and keys that nobody uses.")] = 86_400.0,
    disk: Annotated[str, typer.Option(help="For everything in the store; what is beyond is refused.")] = "64GiB",
    moving: Annotated[float, typer.Option(help="Seconds for a client to send a file, or to take a result.")] = 3600.0,
    stall: ServerStall = 30.0,
    grace: Annotated[
        float, typer.Option(help="Seconds that calls get to end when stopped; the round under way ends at once.")
    ] = 30.0,
    metrics: Metrics = None,
    log: EventLog = None,
    device: DeviceName = "cpu",
    at_once: Annotated[
        int,
        typer.Option(
            min=1,
            help="Requests computed at a time, each with its keys in memory and its share of a device's workers.",
        ),
    ] = 1,
    threads: Threads = 0,
) -> None:
    """Does AES for clients on data that it cannot read, until it is stopped (SIGTERM, Ctrl-C).

    Prints its port as JSON when it is ready. One request computes at a time, on all threads (more with --at-once);
    clients take turns.
    Requests are written down before they are acknowledged: after a crash, start it again on the same store, and it goes
    on with the round that was not finished. Events are logged as JSON lines: sizes, times, rounds, noise budgets, a
    keyed hash of the client; never contents. Beyond this machine it needs TLS, or --plaintext.

    Examples:

        ringforge aes serve --store aes

        ringforge aes serve --listen 0.0.0.0:8780 --tls-cert server.pem --tls-key server.key --token-file tokens
    """
    from ringforge.aes.depot import Depot
    from ringforge.aes.keys import scheme as named
    from ringforge.aes.service import Kept, Service
    from ringforge.aes.wire import QUOTAS
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits
    from ringforge.serving.quota import Quota

    workers = thread_count(threads)
    listening = Listening.make(listen, tls_cert, tls_key, token_file, plaintext, metrics)
    limits = Limits(waiting=waiting, moving_seconds=moving, stall_seconds=stall, grace_seconds=grace)
    kept = Kept(keys_per_client, jobs_per_client, at_once, states, keep, parse_size(disk))
    chosen = named(scheme).on(device, at_once)
    if chosen.warning:
        print_warning(chosen.warning)
    shape = chosen.shape(parameters or chosen.default, insecure)
    with contextlib.ExitStack() as stack:
        depot = stack.enter_context(contextlib.closing(Depot(store)))
        path = quota_file or store.with_name(f"{store.resolve().name}.quota.sqlite")
        quota = stack.enter_context(contextlib.closing(Quota(path, {"blocks": blocks_per_day}, words=QUOTAS)))
        events = Log(stack.enter_context(log_stream(log)))
        service = Service(chosen, shape, depot, quota, limits, kept, listening.tokens, events, workers)
        listening.serve("aes", service, limits, events, device, scheme=chosen.name, set=shape.set)


@prints(WORK, Submitted)
@overwrites
def submit(
    server: ServerAddress,
    keys: KeysDirectory,
    round_keys: RoundKeysDirectory,
    out: Annotated[Path | None, typer.Option(help="File for the result.", callback=output_file)] = None,
    blocks: Annotated[Path | None, typer.Option("--in", help="Encrypted blocks, which `encrypt` made.")] = None,
    stream: StreamFile = None,
    compute: Compute = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the result; or `fetch` it later.")] = True,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = None,
    stall: Stall = 60.0,
    as_json: AsJson = False,
) -> None:
    """Client: has AES done by a server, and gets the result, which `decrypt` opens.

    Deposits the evaluation keys and round keys where the server does not have them. Interrupted, it may be run again:
    asking twice for the same is asking once.

    Examples:

        ringforge aes submit --server 127.0.0.1:8780 --keys evaluation --round-keys round-keys --in blocks.aes \
--out done.aes

        ringforge aes submit --server aes.example:8780 --tls-ca ca.pem --token-file token --keys evaluation \
--round-keys round-keys --stream message.ctr --compute below:65 --out upper.aes
    """
    from ringforge.aes import wire
    from ringforge.aes.client import Connection
    from ringforge.aes.keys import scheme_of

    if (blocks is None) == (stream is None):
        raise ParameterError("say what to submit: --in with encrypted blocks, or --stream with an AES-CTR stream")
    if wait and out is None:
        raise ParameterError("say where the result goes, --out; or --no-wait, and `fetch` it later")
    found = scheme_of(keys)
    if found.warning:
        print_warning(found.warning)
    kind, path = (wire.BLOCKS, blocks) if blocks is not None else (wire.STREAM, stream)
    assert path is not None
    with Connection(
        server, ca=tls_ca, token=client_token(token_file), timeout=timeout, stall=stall, plaintext=plaintext
    ) as connection:
        with progress("sending evaluation keys") as bar:
            evaluation = connection.put(wire.EVALUATION, keys, bar)
        with progress("sending round keys") as bar:
            sent = connection.put(wire.ROUND_KEYS, round_keys, bar)
        job = connection.submit(evaluation, sent, kind, path, compute)
        size = 0
        if wait and out is not None:
            _watch(connection, job)
            size = connection.fetch(job, out)
        traffic = connection.traffic
    if as_json:
        done = {"out_bytes": size} if wait else {}
        emit({"job": job, **done, "sent": traffic.sent, "received": traffic.received})
        return
    rows = {"job": job, "sent": ", ".join(f"{k} {size_text(v)}" for k, v in traffic.sent.items() if k != "info")}
    if wait:
        rows["result"] = f"{out}, {size_text(size)}: `ringforge aes decrypt` opens it"
    console().print(properties(f"job at {server}", rows))


def _watch(connection: Any, job: str) -> None:
    with steps() as bar:

        def report(p: Any) -> None:
            bar(p.stage or p.state, p.fraction, p.waiting, p.seconds_left)

        connection.watch(job, report)


@prints(WORK)
@overwrites
def fetch(
    server: ServerAddress,
    job: JobName,
    out: Annotated[Path, typer.Option(help="File for the result.", callback=output_file)],
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = None,
    stall: Stall = 60.0,
) -> None:
    """Client: waits for a job that was submitted, and gets its result.

    Examples: `ringforge aes fetch --server 127.0.0.1:8780 --job 3fa94c10 --out done.aes`
    """
    with _connected(server, tls_ca, token_file, plaintext, timeout, stall) as connection:
        name = _one(job, [str(j["job"]) for j in connection.info().jobs])
        _watch(connection, name)
        size = connection.fetch(name, out)
    say(f"wrote {out}, {size_text(size)}: `ringforge aes decrypt` opens it")


@prints(ROWS, ServerStatus)
def status(
    server: ServerAddress,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Client: what a server offers, and what it keeps of you: keys, jobs, quota.

    Examples: `ringforge aes status --server 127.0.0.1:8780`
    """
    with _connected(server, tls_ca, token_file, plaintext, timeout) as connection:
        info = connection.info()
    if as_json:
        emit(vars(info))
        return
    about = info.server
    rows = {
        "parameters": f"{about.get('set')} ({about.get('scheme')}), up to {about.get('blocks', 0):,} blocks a job",
        "left today": ", ".join(f"{count:,} {kind}" for kind, count in info.left.items()),
    }
    for name, s in info.sets.items():
        missing = f", {s['missing']} files missing" if s.get("missing") else ""
        rows[f"keys {name[:12]}"] = f"{s.get('kind')}, {size_text(s.get('bytes', 0))}{missing}"
    for j in info.jobs:
        what = f"{j.get('blocks', 0):,} blocks of {j.get('kind')}" + (f", {j['compute']}" if j.get("compute") else "")
        rows[f"job {str(j['job'])[:12]}"] = f"{j.get('state')}: {what}" + (f"; {j['error']}" if j.get("error") else "")
    console().print(properties(f"server {server}", rows))


@prints(WORK)
def cancel(
    server: ServerAddress,
    job: JobName,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
) -> None:
    """Client: ends a job that is not finished.

    Examples: `ringforge aes cancel --server 127.0.0.1:8780 --job 3fa94c10`
    """
    with _connected(server, tls_ca, token_file, plaintext, timeout) as connection:
        name = _one(job, [str(j["job"]) for j in connection.info().jobs])
        ended = connection.cancel(name)
    say(f"job {name[:16]} " + ("cancelled" if ended else "had ended already"))


@prints(WORK)
def drop(
    server: ServerAddress,
    keys: Annotated[str, typer.Option("--keys", help="Keys, as `status` names them: their first digits will do.")],
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
) -> None:
    """Client: lets a server forget keys, with all that was computed with them.

    Examples: `ringforge aes drop --server 127.0.0.1:8780 --keys 3fa94c10`
    """
    with _connected(server, tls_ca, token_file, plaintext, timeout) as connection:
        name = _one(keys, list(connection.info().sets))
        connection.drop(name)
    say(f"dropped keys {name[:16]}")


def _connected(
    server: str, ca: Path | None, token: Path | None, plaintext: bool, timeout: float | None, stall: float = 60.0
) -> Any:
    from ringforge.aes.client import Connection

    return Connection(server, ca=ca, token=client_token(token), timeout=timeout, stall=stall, plaintext=plaintext)


def _one(start: str, names: list[str]) -> str:
    """The name that begins so.

    Raises:
        ParameterError: none does, or several do.
    """
    found = [n for n in names if n.startswith(start)]
    if len(found) != 1:
        raise ParameterError(
            f'"{start[:64]}" names {len(found)} of the {len(names)} that the server has: see `ringforge aes status`'
        )
    return found[0]


def add_to(app: typer.Typer) -> None:
    """Makes commands of these functions."""
    commands: list[Callable[..., None]] = [serve, submit, status, fetch, cancel, drop]
    for command in commands:
        app.command()(command)
