# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge omr`: oblivious message retrieval as commands."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringforge.cli import completion
from ringforge.cli.console import console, properties, say, size_text, steps, thread_count, visible
from ringforge.cli.options import Insecure, Threads, keep_secret, output_file, overwrites
from ringforge.cli.output import ROWS, TEXT, WORK, AsJson, emit, prints, put
from ringforge.errors import Error, ParameterError
from ringforge.files import make_folder, removed_on_failure, writing
from ringforge.omr import board_cli, detect_cli
from ringforge.omr.answers import DetectorStatus, NewReceiver, Retrieved, SearchEstimate, Shown
from ringforge.serving.options import Plaintext, Stall, Timeout, TlsCa, TokenFile, client_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringforge.omr.receiver import Message, Outcome

#: Digests that could not be read of which a message says why.
_SHOWN_FAILURES = 4

# gRPC's own words go to standard error, where only ours belong. Read when grpc is imported, which commands do late.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Oblivious message retrieval: people post messages for each other on a public board; a detector finds those "
    "of a receiver without learning which they are, how many, or for whom.\n\n"
    "A **receiver** runs `keygen`, gives its address to **senders**, who `post`, and runs `retrieve`. Somebody runs "
    "the board (`board serve`), somebody a detector (`detect serve`); neither is trusted with anything but being "
    "there.\n\n"
    "docs/omr.md is the guide: who learns what, and what it takes.",
)

app.add_typer(board_cli.app, name="board")
app.command("post")(board_cli.post)
app.add_typer(detect_cli.app, name="detect")

DetectorAddress = Annotated[
    str, typer.Option("--server", metavar="HOST:PORT", help="Where `omr detect serve` listens.")
]
SecretFile = Annotated[Path, typer.Option("--secret", help="The receiver's secret, which `keygen` made.")]
KeyFile = Annotated[Path, typer.Option("--detection-key", help="The detection key, which `keygen` made.")]
SetName = Annotated[
    str,
    typer.Option(
        "--set",
        help="Parameter set: ringforge, paper, or test (no security).",
        autocompletion=completion.names_of("ringforge.omr.sets:names"),
    ),
]
Capacity = Annotated[
    int, typer.Option(min=0, help="Messages of a bulletin that there is to be room for; 0: 50.", show_default=False)
]


# ---- keys ----------------------------------------------------------------------------------------


@app.command()
@prints(WORK, NewReceiver)
@overwrites
def keygen(
    secret: Annotated[Path, typer.Option("--secret", help="Secret to write, mode 0600: for nobody else.")],
    detection_key: Annotated[
        Path, typer.Option("--detection-key", help="Key to write, for the detector.", callback=output_file)
    ],
    address: Annotated[
        Path | None, typer.Option("--address", help="Address to write, for senders.", callback=output_file)
    ] = None,
    parameters: SetName = "ringforge",
    insecure: Insecure = "",
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Receiver: makes a secret, the detection key for detectors, and the address for senders.

    The secret opens messages: keep it, and a copy. The detection key finds messages but opens nothing; give it to
    detectors only. The address is for everybody.

    Examples:

        ringforge omr keygen --secret me.secret --detection-key me.detection --address me.address
    """
    from ringforge.omr.keys import DetectionKey, ReceiverSecret
    from ringforge.omr.sets import named

    workers = thread_count(threads)
    keep_secret(secret, False, {"--detection-key": detection_key, **({"--address": address} if address else {})})
    s = named(parameters, insecure)
    made = ReceiverSecret.make(s)
    mine = made.address()
    with removed_on_failure() as written:
        made.save(secret)
        written.append(secret)
        DetectionKey.make(made, threads=workers).save(detection_key)
        written.append(detection_key)
        if address is not None:
            mine.save(address)
    figures = {
        "set": s.name,
        "secret_bytes": secret.stat().st_size,
        "detection_key_bytes": detection_key.stat().st_size,
        "address": str(mine),
        "fingerprint": mine.fingerprint,
    }
    if as_json:
        emit(figures)
        return
    rows = {
        "parameters": s.name,
        "secret": f"{secret}, {size_text(secret.stat().st_size)}: keep it to yourself, and keep a copy",
        "detection key": f"{detection_key}, {size_text(detection_key.stat().st_size)}: for detectors",
        "address": (f"{address}: " if address else "`omr address` prints it, ") + "for senders",
        "fingerprint": f"{mine.fingerprint}: of the address, for people to compare",
    }
    console().print(properties("a new receiver", rows))


@app.command("address")
@prints(WORK, plain="the address; with `--out` nothing")
@overwrites
def address_command(
    secret: SecretFile,
    out: Annotated[Path | None, typer.Option(help="File to write, in place of printing.", callback=output_file)] = None,
) -> None:
    """Receiver: prints the address that senders post to.

    Examples: `ringforge omr address --secret me.secret`
    """
    from ringforge.omr.keys import ReceiverSecret

    mine = ReceiverSecret.load(secret).address()
    if out is None:
        put(str(mine))
    else:
        mine.save(out)


# ---- retrieve ------------------------------------------------------------------------------------


def _numbers(text: str | None) -> range | None:
    """Bulletins from "3" or "0..7", None for all."""
    if text is None:
        return None
    first, dots, last = text.partition("..")
    if not first.isdigit() or (dots and last and not last.isdigit()):
        raise ParameterError(f'--bulletins is a number, or a range as 0..7, not "{text}"')
    return range(int(first), int(last) + 1 if dots and last else int(first) + 1)


@app.command()
@prints(WORK, Retrieved, plain="messages, a heading before each; with `--out` nothing")
@overwrites
def retrieve(
    server: DetectorAddress,
    secret: SecretFile,
    detection_key: KeyFile,
    bulletins: Annotated[
        str | None, typer.Option(help="3, or 0..7; default: all that are sealed.", metavar="FIRST..LAST")
    ] = None,
    capacity: Capacity = 0,
    auto: Annotated[
        bool,
        typer.Option(
            "--auto",
            help="Ask by the largest digests, and by windows of the board where --capacity is beyond one of them.",
        ),
    ] = False,
    mode: Annotated[
        str, typer.Option(help="messages; or positions: small digests, and all payloads are read from --board.")
    ] = "messages",
    board: Annotated[
        str | None, typer.Option(help="Mode positions: the board, HOST:PORT of its service, or its database.")
    ] = None,
    board_ca: Annotated[Path | None, typer.Option(help="As --tls-ca, for the board's service.")] = None,
    board_token_file: Annotated[Path | None, typer.Option(help="As --token-file, for the board's service.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory for the messages, a file each, in place of printing them.")
    ] = None,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = None,
    stall: Stall = 60.0,
    as_json: AsJson = False,
) -> None:
    """Receiver: gets its messages.

    Deposits the detection key where the detector does not have it, asks for a digest of each bulletin, hangs up, and
    prints what opens: no server sees what was found, or whether anything could be read. Messages go to standard output,
    what it took to standard error; the exit code is 1 if a digest could not be read. Interrupted, it may be run again:
    the detector goes on where it was.

    Examples:

        ringforge omr retrieve --server 127.0.0.1:8770 --secret me.secret --detection-key me.detection

        ringforge omr retrieve --server omr.example:8770 --tls-ca ca.pem --token-file token --secret me.secret \
--detection-key me.detection --bulletins 7..9 --auto --capacity 200 --out messages
    """
    from ringforge.omr.bulletins import open_board
    from ringforge.omr.detector_client import Connection
    from ringforge.omr.reading import SecretReader
    from ringforge.omr.receiver import Run, Wanted
    from ringforge.omr.texts import outcome_object, outcome_rows, text_of

    numbers = _numbers(bulletins)
    wanted = Wanted(mode, capacity, auto)
    if out is not None:
        make_folder(out)
    reader = SecretReader.load(secret)
    with contextlib.ExitStack() as stack:
        source = None
        if board is not None:
            source = open_board(
                board, reader.set, ca=board_ca, token=client_token(board_token_file), plaintext=plaintext
            )
            stack.enter_context(contextlib.closing(source))
        connection = stack.enter_context(
            Connection(
                server, ca=tls_ca, token=client_token(token_file), timeout=timeout, stall=stall, plaintext=plaintext
            )
        )
        report = stack.enter_context(steps())
        run = Run(connection, reader, detection_key, reader.set.entries, wanted, source, report)
        run.fetch(numbers)
    outcome = run.read()
    sent, received = connection.traffic.sent, connection.traffic.received
    if out is not None:
        outcome.failures.extend(_write_messages(out, outcome.messages))
    if as_json:
        emit(outcome_object(outcome, sent, received))
        _refuse_failures(outcome)
        return
    if out is None:
        for m in outcome.messages:
            text = text_of(m)
            put(f"--- bulletin {m.bulletin}, entry {m.entry}")
            put(f"({len(m.text)} bytes that are no text: use --out)" if text is None else visible(text))
    about = console(stderr=True)  # so that messages alone go into a file or a pipe
    about.print(properties(f"{len(outcome.messages):,} messages", outcome_rows(outcome, sent, received)))
    dropped = sum(b.dropped for b in outcome.bulletins)
    if dropped:
        about.print(f"{dropped} entries looked like messages and were none of yours: dropped", soft_wrap=True)
    if out is not None:
        about.print(f"{len(outcome.messages)} messages are in {out}", markup=False, soft_wrap=True)
    _refuse_failures(outcome)


def _write_messages(out: Path, messages: Sequence[Message]) -> list[Error]:
    """Write a file for each message; return why some could not be written.

    Call it when the servers have been asked for everything: the directory holds what earlier runs decrypted, which must
    not decide what a server is asked. A message that is there already stays as it is, so that a run may be repeated.
    """
    failures: list[Error] = []
    for m in messages:
        path = out / f"{m.bulletin:06}-{m.entry:05}.txt"
        try:
            if path.is_file() and not path.is_symlink() and path.read_bytes() == m.text:
                continue
            with writing(path) as f:
                f.write(m.text)
        except OSError as e:
            failures.append(Error(f"{path} was not written: {e.strerror or e}"))
    return failures


def _refuse_failures(outcome: Outcome) -> None:
    """Say which digests could not be read and which messages not written, once the others were given out.

    Raises:
        Error: some could not.
    """
    if outcome.failures:
        raise Error("; ".join(str(e) for e in outcome.failures[:_SHOWN_FAILURES]))


@app.command()
@prints(ROWS, DetectorStatus)
def status(
    server: DetectorAddress,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Receiver: what a detector offers, and what it keeps of you: keys, jobs, quota.

    Examples: `ringforge omr status --server 127.0.0.1:8770`
    """
    from ringforge.omr.detector_client import Connection
    from ringforge.omr.texts import info_rows

    with Connection(
        server, ca=tls_ca, token=client_token(token_file), timeout=timeout, plaintext=plaintext
    ) as connection:
        info = connection.info()
    if as_json:
        emit(vars(info))
        return
    console().print(properties(f"detector {server}", info_rows(info)))


@app.command()
@prints(WORK)
def drop(
    server: DetectorAddress,
    key: Annotated[
        str | None, typer.Option(help="Key to forget, as `status` names it: its first digits will do.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Job to cancel, as `status` names it: its first digits will do.")
    ] = None,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
) -> None:
    """Receiver: lets a detector forget a key with all that was computed with it, or cancels a job.

    Examples: `ringforge omr drop --server 127.0.0.1:8770 --key 3fa94c10`
    """
    from ringforge.omr.detector_client import Connection

    if (key is None) == (job is None):
        raise ParameterError("say what to drop: --key or --job, as `omr status` names them")
    with Connection(
        server, ca=tls_ca, token=client_token(token_file), timeout=timeout, plaintext=plaintext
    ) as connection:
        info = connection.info()
        names = list(info.keys) if key is not None else [str(j["job"]) for j in info.jobs]
        start = key or job or ""
        found = [n for n in names if n.startswith(start)]
        if len(found) != 1:
            raise ParameterError(
                f'"{start}" names {len(found)} of the {len(names)} that the detector has: see `omr status`'
            )
        if key is not None:
            connection.drop_key(found[0])
            say(f"dropped key {found[0][:16]}")
        else:
            ended = connection.cancel(found[0])
            say(f"job {found[0][:16]} " + ("cancelled" if ended else "had ended already"))


# ---- estimate ------------------------------------------------------------------------------------


@app.command()
@prints(ROWS, SearchEstimate)
def estimate(
    bulletins: Annotated[int, typer.Option(min=1, help="Bulletins to search.")] = 1,
    capacity: Annotated[int, typer.Option(min=1, help="Messages that a digest can hold.")] = 50,
    mode: Annotated[str, typer.Option(help="messages or positions.")] = "messages",
    server: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Ask this detector about its set.")] = None,
    parameters: SetName = "ringforge",
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Anybody: sizes and times, before anything is made or sent.

    Times are of this machine, from a short measurement; sizes hold for any.

    Examples:

        ringforge omr estimate --bulletins 10

        ringforge omr estimate --server 127.0.0.1:8770 --capacity 50 --json
    """
    from ringforge.omr.estimate import estimate as of
    from ringforge.omr.estimate import rows
    from ringforge.omr.sets import named

    name, count = parameters, bulletins
    if server is not None:
        from ringforge.omr.detector_client import Connection

        with Connection(
            server, ca=tls_ca, token=client_token(token_file), timeout=timeout, plaintext=plaintext
        ) as connection:
            info = connection.info()
        name, count = str(info.detector.get("set", "")), max(1, len(info.bulletins))
    found = of(named(name, "estimated, not used"), count, capacity, mode, thread_count(threads))
    if as_json:
        emit(found)
        return
    console().print(properties(f"searching {count:,} bulletins", rows(found)))


# ---- demo ----------------------------------------------------------------------------------------


@app.command()
@prints(TEXT, Shown)
def demo(
    small: Annotated[
        bool,
        typer.Option(
            "--small/--full", help="4,096 entries without security, seconds; or 65,536 with 128 bits, minutes."
        ),
    ] = True,
    postgres: Annotated[
        bool, typer.Option("--postgres", help="The board's database is a PostgreSQL server of its own, else SQLite.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the summary and what board and detector keep.")] = Path(
        "demo-out/omr"
    ),
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Real texts for two receivers on a board among noise; each finds its own, and the servers see nothing of it.

    Processes: a board, a detector, and clients that post and retrieve. Prints what each side saw, times and sizes. Ends
    with exit code 1 if a receiver has not exactly the texts that were posted to it, or a server's file holds one.

    Examples: `ringforge omr demo`, `ringforge omr demo --full --postgres --json`
    """
    from ringforge.omr.demo import run_demo, summary

    size = "small" if small else "full"
    result = run_demo(out=out, size=size, postgres=postgres, threads=thread_count(threads), shown=not as_json)
    if as_json:
        emit(summary(result))
    if not result.good:
        raise typer.Exit(1)


#: The demo for `ringforge demo`, and about how many seconds it takes on two cores.
DEMO = (demo, 25)
