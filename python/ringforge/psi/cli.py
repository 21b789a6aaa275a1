# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi`: private set intersection as commands."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ringforge.cli.console import (
    console,
    parse_size,
    progress,
    properties,
    say,
    seconds_text,
    size_text,
    thread_count,
)
from ringforge.cli.options import Threads, output_file
from ringforge.errors import ParameterError
from ringforge.files import writing
from ringforge.psi.build import BuildSpec
from ringforge.psi.info import Limits as Daily
from ringforge.psi.info import Mode, TableInfo
from ringforge.psi.sets import Elements, read_elements, small_domain
from ringforge.psi.store import Store
from ringforge.psi.table import LONGEST_LABEL
from ringforge.psi.texts import (
    build_rows,
    chance,
    printable,
    public,
    query_object,
    query_rows,
    shown,
    steps,
    table_rows,
    warn,
)
from ringforge.serving.options import (
    EventLog,
    Listen,
    Listening,
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

# gRPC's own words go to standard error, where only ours belong. Read when grpc is imported, which commands do late.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Private set intersection: a client learns which of its elements a server's large set has, and their labels. "
    "The server learns how many elements the client has, and nothing about them.\n\n"
    "The **server** runs `build` once and `serve`; the **client** runs `query`, and `estimate` before, to see what it "
    "takes.\n\n"
    "docs/psi.md is the guide: who learns what, and what a quota is for.",
)

#: Of tables that `build` makes.
_TAG_BITS = 40

ServerAddress = Annotated[str, typer.Option("--server", metavar="HOST:PORT", help="Where `psi serve` listens.")]
JsonLines = Annotated[
    bool,
    typer.Option(
        "--json-lines",
        help='The file has {"element": ..., "label": ...} on each line, as files named .jsonl and .ndjson have.',
    ),
]
RequestLimit = Annotated[
    str, typer.Option(help="Refuse a table whose keys or requests are larger: 64MiB, 4GiB.", metavar="SIZE")
]
ExactSizes = Annotated[
    bool,
    typer.Option(
        "--exact-sizes",
        help="Ask as often as the set needs, not as often as its size class: less to compute, but the server learns "
        "the number of elements.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")]


def _guessable(elements: Elements, limits: Daily | None = None) -> None:
    """Warns of elements that can be guessed; a client knows the server's limits."""
    why = small_domain(elements.elements)
    if why:
        speed = (
            "as fast as the server's daily quota lets it (--prf-per-day, --bins-per-day of psi serve)"
            if limits is None
            else f"up to the server's quota of {limits.prf_per_day:,} elements and {limits.bins_per_day:,} bins a day"
        )
        warn(
            f"{why}: so few values are possible that a client can try all of them, {speed}. Nothing else protects such "
            "a set from its clients; docs/psi.md says more"
        )


# ---- build ---------------------------------------------------------------------------------------


@app.command()
def build(
    table: Annotated[Path, typer.Argument(help="Directory to make, or with --update to change.")],
    elements: Annotated[Path, typer.Option("--set", help="File with one element on each line; - for standard input.")],
    labels: Annotated[
        bool, typer.Option("--labels", help="On each line of text: element, tab, label. JSON lines and CSV say it.")
    ] = False,
    label_bytes: Annotated[
        int | None,
        typer.Option(min=1, max=LONGEST_LABEL, help="Bytes of the longest label there may be after updates."),
    ] = None,
    json_lines: JsonLines = False,
    mode: Annotated[
        str, typer.Option(help="oprf: any elements, clients need not be trusted; direct: integers, trusted clients.")
    ] = "oprf",
    bits: Annotated[int, typer.Option(help="Mode direct: elements are integers below 2^BITS.")] = 32,
    bins: Annotated[int, typer.Option(help="2^BINS bins: about as many elements as a client asks for at once.")] = 14,
    hashes: Annotated[int, typer.Option(help="Bins each element is put into: 1, 2 or 3.")] = 3,
    capacity: Annotated[int | None, typer.Option(help="Elements there may be after updates.")] = None,
    algorithm: Annotated[str, typer.Option(help="ringforge, or paper: the published one.")] = "ringforge",
    update: Annotated[
        str | None, typer.Option(metavar="add|remove", help="Change the table that is there, in one step.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Build in place of the table that is there.")] = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Server: makes a table of a set, or changes one.

    Text files hold one element on each line, in UTF-8, exactly as it is but for the line's end; JSON lines hold
    {"element": "text", "label": "text"}. Client and server must write elements alike: there is no normalising.

    In mode oprf the directory holds no element in the clear, but it holds the key: keep it to yourself.

    Examples:

        ringforge psi build table --set customers.txt

        ringforge psi build table --set prices.tsv --labels --bins 12

        ringforge psi build table --set new.txt --update add
    """
    workers = thread_count(threads)
    if update not in (None, "add", "remove"):
        raise ParameterError(f'--update is add or remove, not "{update}"')
    _one_of("--mode", mode, ("oprf", "direct"))
    _one_of("--algorithm", algorithm, ("ringforge", "paper"))
    if label_bytes and update:
        raise ParameterError("--label-bytes is for new tables: build the table again")
    if (labels or label_bytes) and mode == "direct":
        raise ParameterError("mode direct has no labels: leave --labels away, or take mode oprf")
    if update and replace:
        raise ParameterError("--update changes a table, --replace builds a new one: give one of them")
    start = time.perf_counter()
    if update:
        store = Store(table, verify=False)
        found = _read(elements, store.info.mode == "direct", (labels or None) if update == "add" else False, json_lines)
        if update == "add" and store.info.label_bytes and found.labels is None:
            raise ParameterError("the table has labels: give --labels, and a tab and a label on each line")
        given: Any = found.mapping() if found.labels is not None else found.elements
        with progress("updating") as bar:
            counts = (
                store.update(add=given, threads=workers, progress=bar)
                if update == "add"
                else store.update(remove=found.elements, threads=workers, progress=bar)
            )
        changed = dict(zip(("added", "removed", "relabelled"), counts, strict=True))
    else:
        if table.exists() and not replace and (not table.is_dir() or any(table.iterdir())):
            raise FileExistsError(
                errno.EEXIST,
                "exists; a new table has another key: --update changes it, --replace builds anew, or name another",
                str(table),
            )
        found = _read(elements, mode == "direct", labels or (False if mode == "direct" else None), json_lines)
        _guessable(found)
        given = found.mapping() if found.labels is not None else found.elements
        with progress("building") as bar:
            store = Store.build(
                table,
                given,
                BuildSpec(
                    mode=mode,
                    log_bins=bins,
                    hashes=hashes,
                    bits=bits,
                    label_bytes=label_bytes,
                    capacity=capacity,
                    algorithm=algorithm,
                ),
                threads=workers,
                progress=bar,
            )
        changed = {}
    figures = {
        "table": str(table),
        "seconds": time.perf_counter() - start,
        "elements": store.count,
        "duplicates": found.duplicates,
        **changed,
        "bytes_on_disk": sum(p.stat().st_size for p in table.rglob("*") if p.is_file()),
        **public(store.info),
    }
    if as_json:
        say(json.dumps(figures))
        return
    console().print(properties(f"table {table}", build_rows(figures, store.info)))


def _read(path: Path, direct: bool, labels: bool | None, json_lines: bool) -> Elements:
    return read_elements(path, direct=direct, labels=labels, json_lines=True if json_lines else None)


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f'{option} is {" or ".join(allowed)}, not "{value}"')


# ---- serve ---------------------------------------------------------------------------------------


@app.command()
def serve(
    table: Annotated[Path, typer.Argument(help="Directory that `psi build` made.")],
    listen: Listen = "127.0.0.1:8760",
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokensFile = None,
    plaintext: Plaintext = False,
    prf_per_day: Annotated[int | None, typer.Option(help="Elements each client may ask for in a day (UTC).")] = None,
    bins_per_day: Annotated[int | None, typer.Option(help="Bins each client may ask for in a day.")] = None,
    quota_file: Annotated[
        Path | None, typer.Option(help="SQLite file of the counts; default: TABLE.quota.sqlite beside the table.")
    ] = None,
    memory: Annotated[str, typer.Option(help="For keys, requests and replies of all clients: 512MiB, 4GiB.")] = "2GiB",
    sessions: Annotated[int, typer.Option(help="Clients' keys held at a time.")] = 64,
    sessions_per_client: Annotated[int, typer.Option(help="Of one client.")] = 16,
    idle: Annotated[float, typer.Option(help="Seconds after which keys that are not used are forgotten.")] = 300.0,
    waiting: Annotated[int, typer.Option(help="Queries that may wait while one computes.")] = 32,
    moving: Annotated[
        float, typer.Option(help="Seconds for a client to send keys or a request, or to take a reply.")
    ] = 600.0,
    stall: ServerStall = 30.0,
    grace: Annotated[float, typer.Option(help="Seconds that queries get to end when the server is stopped.")] = 30.0,
    log: EventLog = None,
    device: Annotated[str, typer.Option(help="Where queries are answered; `ringforge info` lists devices.")] = "cpu",
    threads: Threads = 0,
) -> None:
    """Server: answers clients until it is stopped (SIGTERM, Ctrl-C). SIGHUP takes up a changed table.

    Prints its port as JSON when it is ready. Events are logged as JSON lines: sizes, times, kinds of refusals, a keyed
    hash of the client; never contents. Beyond this machine it needs TLS, or --plaintext.

    Without --token-file everybody is served, and quotas go by address.

    Examples:

        ringforge psi serve table

        ringforge psi serve table --listen 0.0.0.0:8760 --tls-cert server.pem --tls-key server.key --token-file tokens
    """
    from ringforge.psi import wire
    from ringforge.psi.server import Server
    from ringforge.psi.service import Service
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits
    from ringforge.serving.quota import Quota

    workers = thread_count(threads)
    listening = Listening.make(listen, tls_cert, tls_key, token_file, plaintext)
    limits = Limits(
        memory=parse_size(memory),
        sessions=sessions,
        sessions_each=sessions_per_client,
        idle_seconds=idle,
        waiting=waiting,
        moving_seconds=moving,
        stall_seconds=stall,
        grace_seconds=grace,
    )
    store = Store(table)
    given = {"prf_per_day": prf_per_day, "bins_per_day": bins_per_day}
    for name, value in given.items():
        if value is not None and not 0 <= value <= 1 << 40:
            raise ParameterError(f"--{name.replace('_', '-')} {value} is outside 0 ... 2^40")
    daily = Daily.model_validate(
        {**store.info.limits.model_dump(), **{k: v for k, v in given.items() if v is not None}}
    )
    server = Server(store, workers, limits=daily, device=device)
    quota = Quota(
        quota_file or table.with_name(f"{table.resolve().name}.quota.sqlite"),
        {"prf": daily.prf_per_day, "bins": daily.bins_per_day},
        words=wire.QUOTAS,
    )
    with contextlib.closing(quota), log_stream(log) as stream:
        events = Log(stream)
        listening.serve(Service(server, quota, limits, listening.tokens, events), limits, events)


# ---- query ---------------------------------------------------------------------------------------


@app.command()
def query(
    server: ServerAddress,
    elements: Annotated[Path, typer.Option("--set", help="File with one element on each line; - for standard input.")],
    json_lines: JsonLines = False,
    out: Annotated[
        Path | None, typer.Option(help="File for the matches, in place of printing them.", callback=output_file)
    ] = None,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = None,
    stall: Stall = 60.0,
    accept_insecure: Annotated[str, typer.Option(metavar="REASON", help="Why a plan below 128 bits may be used.")] = "",
    mode: Annotated[str | None, typer.Option(help="oprf or direct: refuse a table of the other mode.")] = None,
    request_limit: RequestLimit = "1GiB",
    exact_sizes: ExactSizes = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Client: asks which elements of a file the server has; prints them, with their labels after a tab.

    Exit code 0, with matches or without. Matches go to standard output, what it took to standard error; the server sees
    none of it.

    Examples:

        ringforge psi query --server 127.0.0.1:8760 --set mine.txt

        ringforge psi query --server psi.example:8760 --tls-ca ca.pem --token-file token --set mine.jsonl --json
    """
    from ringforge.psi import remote

    workers = thread_count(threads)
    if mode is not None:
        _one_of("--mode", mode, ("oprf", "direct"))
    most = parse_size(request_limit)
    if str(elements) == str(token_file) == "-":
        raise ParameterError("--set and --token-file cannot both be standard input: give one of them a file")
    token = client_token(token_file)
    with (
        remote.Connection(
            server, ca=tls_ca, token=token, timeout=timeout, stall=stall, plaintext=plaintext
        ) as connection,
        steps() as report,
    ):
        report("table info", 0.0, 0)
        info, left = connection.info()
        found = _read(elements, info.mode == "direct", False, json_lines)
        _guessable(found, info.limits)
        outcome = remote.intersect(
            connection,
            found.elements,
            threads=workers,
            accept_insecure=accept_insecure,
            mode=cast("Mode | None", mode),
            request_bytes=most,
            exact_sizes=exact_sizes,
            report=report,
            known=(info, left),
        )
    result = outcome.result
    matches = [(e, result.matches[e]) for e in found.elements if e in result.matches]
    labelled = outcome.info.label_bytes > 0
    if out is not None:
        with writing(out) as f:
            for element, label in matches:
                plain = element if isinstance(element, bytes) else str(element).encode()
                f.write(plain + (b"\t" + label if labelled else b"") + b"\n")
    if as_json:
        say(json.dumps(query_object(outcome, matches, labelled, found)))
        return
    if out is None:
        for element, label in matches:
            typer.echo(shown(element) + (f"\t{printable(label)}" if labelled else ""))
    about = console(stderr=True)  # so that matches alone go into a file or a pipe
    about.print(properties(f"{len(matches):,} of {len(found.elements):,} elements match", query_rows(outcome)))
    if out is not None:
        about.print(f"wrote {out}", markup=False, soft_wrap=True)


def _info(
    server: str | None,
    table: Path | None,
    tls_ca: Path | None,
    token_file: Path | None,
    plaintext: bool,
    timeout: float | None,
) -> tuple[TableInfo, dict[str, int] | None]:
    """What is public about a table here or at a server; there also what is left of the quota."""
    if table is not None and server is None:
        return Store(table, verify=False).info, None
    if server is None or table is not None:
        raise ParameterError("say which table: --server HOST:PORT or --table DIRECTORY")
    from ringforge.psi import remote

    token = client_token(token_file)
    with remote.Connection(server, ca=tls_ca, token=token, timeout=timeout, plaintext=plaintext) as connection:
        return connection.info()


# ---- estimate ------------------------------------------------------------------------------------


@app.command()
def estimate(
    count: Annotated[int, typer.Option("--count", min=1, help="Elements that will be asked for.")],
    server: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Ask this server about its table.")] = None,
    table: Annotated[Path | None, typer.Option(help="Or read the table here.")] = None,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    request_limit: RequestLimit = "1GiB",
    exact_sizes: ExactSizes = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Either side: what asking for so many elements takes, before anything is sent.

    Times are of this machine; sizes and probabilities hold for any.

    Examples:

        ringforge psi estimate --server 127.0.0.1:8760 --count 5000

        ringforge psi estimate --table table --count 5000 --json
    """
    from ringforge.psi.estimate import estimate as of

    info, left = _info(server, table, tls_ca, token_file, plaintext, timeout)
    most = parse_size(request_limit)
    found = of(info, count, thread_count(threads), request_bytes=most, exact_sizes=exact_sizes)
    if as_json:
        say(json.dumps({**found.as_dict(), "left_today": left, **public(info)}))
        return
    rows = table_rows(info)
    rows["queries"] = f"{found.queries}, each of {info.bins:,} bins"
    rows["sent"] = f"{size_text(sum(found.sent.values()))}: " + ", ".join(
        f"{'PRF' if k == 'prf' else k} {size_text(v)}" for k, v in found.sent.items() if v
    )
    rows["received"] = f"{size_text(sum(found.received.values()))}: " + ", ".join(
        f"{ {'prf': 'PRF', 'requests': 'replies', 'info': 'table info'}[k] } {size_text(v)}"
        for k, v in found.received.items()
        if v
    )
    rows["server's time"] = (
        "unknown: no measurements for this plan"
        if found.seconds is None or found.seconds_per_query is None
        else f"{seconds_text(found.seconds)}, {seconds_text(found.seconds_per_query)} for each query"
    )
    rows["false positives"] = f"probability {chance(found.false_positive)} that some match is none"
    if left is not None:
        rows["quota"] = (
            f"takes {found.evaluations:,} evaluations of {left['prf']:,} and {found.bins_asked:,} bins of "
            f"{left['bins']:,} that are left today"
        )
        if found.evaluations > left["prf"] or found.bins_asked > left["bins"]:
            rows["quota"] += ": TOO MUCH for one day"
    console().print(properties(f"asking for {count:,} elements", rows))


# ---- explain, demo -------------------------------------------------------------------------------


@app.command()
def explain(
    table: Annotated[Path | None, typer.Argument(help="A table here; or --server, or the options of `build`.")] = None,
    server: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Ask this server about its table.")] = None,
    mode: Annotated[str, typer.Option(help="oprf or direct.")] = "oprf",
    bits: Annotated[int, typer.Option(help="Mode direct: elements are integers below 2^BITS.")] = 32,
    bins: Annotated[int, typer.Option(min=0, max=20, help="2^BINS bins.")] = 14,
    hashes: Annotated[int, typer.Option(min=1, max=3, help="Bins each element is put into.")] = 3,
    capacity: Annotated[int | None, typer.Option(min=1, help="Elements: a plan, without any table.")] = None,
    label_bytes: Annotated[int, typer.Option(min=0, help="Mode oprf: length of the longest label.")] = 0,
    algorithm: Annotated[str, typer.Option(help="ringforge, paper, or both.")] = "both",
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
) -> None:
    """Either side: how queries are computed, by our algorithm and the published one: operations, bytes, chances.

    Of a table that is there, or of one that `build` would make for so many elements.

    Examples:

        ringforge psi explain table

        ringforge psi explain --capacity 1048576 --bins 14 --label-bytes 3
    """
    from ringforge.psi import planner

    _one_of("--mode", mode, ("oprf", "direct"))
    _one_of("--algorithm", algorithm, ("ringforge", "paper", "both"))
    tag_bits, chosen = _TAG_BITS, None
    if capacity is None:
        if table is None and server is None:
            raise ParameterError("say what: a table's directory, --server HOST:PORT, or --capacity ELEMENTS")
        info, _ = _info(server, table, tls_ca, token_file, plaintext, timeout)
        mode, capacity, bins, hashes, bits = (
            info.mode,
            info.capacity,
            info.plan.log_bins,
            info.hashes,
            info.element_bits,
        )
        tag_bits, sealed, chosen = info.tag_bits, info.label_bytes, info.plan
        console().print(properties("table", table_rows(info)))
    else:
        if table is not None or server is not None:
            raise ParameterError("--capacity is for a plan without a table: leave the table away, or --capacity")
        if label_bytes and mode == "direct":
            raise ParameterError("mode direct has no labels: leave --label-bytes away, or take mode oprf")
        capacity = 1 << (capacity - 1).bit_length()
        sealed, bits = (label_bytes + 1 if label_bytes else 0), (bits if mode == "direct" else 0)
        tag_bits = tag_bits if mode == "oprf" else 0
    for name in ("ringforge", "paper") if algorithm == "both" else (algorithm,):
        plan = (
            chosen
            if chosen is not None and chosen.algorithm == name
            else planner.choose(mode, capacity, bins, tag_bits, sealed, hashes, bits, name)
        )
        shape = planner.shape(mode, capacity, bins, tag_bits, sealed, hashes, bits, plan.log_t)
        console().print(planner.explain(plan, shape.entries))


@app.command()
def demo(
    small: Annotated[
        bool,
        typer.Option("--small/--full", help="2^15 entries in 2^8 bins, seconds; or 2^20 in 2^14, minutes."),
    ] = True,
    out: Annotated[Path, typer.Option(help="Folder for the summary and what the server keeps.")] = Path("demo-out/psi"),
    threads: Threads = 0,
) -> None:
    """Two processes: a server with 30,000 common passwords, and a client that asks which of its own are among them.

    The client learns which are, and their ranks; the server sees none of the client's passwords. --small, the default,
    has the whole list and takes seconds; --full fills it up to 2^20 entries. Ends with exit code 1 if the result is not
    the plain intersection, or the server's files hold a password of the client.

    Examples: `ringforge psi demo`, `ringforge psi demo --full --out demo-out/psi`
    """
    from ringforge.psi.demo import run_demo

    if not run_demo(out=out, size="small" if small else "full", threads=thread_count(threads)).good:
        raise typer.Exit(1)
