# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge aes`: AES on encrypted blocks, and transciphering, as commands."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from ringforge.aes import serve_cli
from ringforge.aes.answers import AesEstimate, Decrypted, Encrypted, Evaluated, NewKeys, Ring, Shown, Streamed
from ringforge.aes.options import (
    Compute,
    DeviceName,
    KeysDirectory,
    RoundKeysDirectory,
    SchemeName,
    SecretFile,
    SetName,
    StreamFile,
)
from ringforge.cli.console import console, print_warning, progress, properties, say, size_text, steps, thread_count
from ringforge.cli.options import Insecure, Reuse, Threads, keep_secret, output_file, overwrites
from ringforge.cli.output import ROWS, TEXT, WORK, AsJson, emit, prints, put
from ringforge.errors import ParameterError
from ringforge.files import check_different, naming, writing

# gRPC's own words go to standard error, where only ours belong. Read when grpc is imported, which commands do late.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="AES-128 on encrypted data: a server encrypts or decrypts blocks that it cannot read, under a key that it "
    "does not know; or turns an ordinary AES-CTR stream into homomorphic ciphertexts, and computes on them "
    "(transciphering).\n\n"
    "The **client** runs `keygen` once, `encrypt` for its AES key and its blocks, and `decrypt`. Whoever **evaluates** "
    "has files without secrets, or a service: `serve`, `submit`.\n\n"
    "docs/aes.md is the guide: who learns what, and what it takes.",
)


@app.command()
@prints(WORK, NewKeys)
def keygen(
    secret: Annotated[Path, typer.Option("--secret", help="Secret key to write, mode 0600; read with --reuse.")],
    keys: Annotated[Path, typer.Option("--keys", help="Directory for evaluation keys; made, or empty.")],
    scheme: SchemeName = "bgv",
    parameters: SetName = None,
    insecure: Insecure = "",
    reuse: Reuse = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Client: makes a secret key, and the evaluation keys that servers need.

    The secret key decrypts everything: keep it. Evaluation keys hold no secret; they are large, and made once.
    Interrupted, run it again with --reuse: what is there stays.

    Examples:

        ringforge aes keygen --secret me.secret --keys evaluation

        ringforge aes keygen --scheme ltv --insecure "to look at it" --secret me.secret --keys evaluation
    """
    from ringforge.aes.keys import new_keys
    from ringforge.aes.keys import scheme as named

    workers = thread_count(threads)
    keep_secret(secret, reuse, {"--keys": keys})
    chosen = named(scheme)
    if chosen.warning:
        print_warning(chosen.warning)
    name = parameters or chosen.default
    shape = chosen.shape(name, insecure)
    new_keys(secret, keys)
    start = time.perf_counter()
    with progress("evaluation keys") as bar:
        chosen.make(name, insecure, secret, keys, workers, bar, reuse=reuse)
    count = sum(p.stat().st_size for p in keys.iterdir())
    figures = {
        "scheme": chosen.name,
        "set": name,
        "slots": shape.codec.slots,
        "secret_bytes": secret.stat().st_size,
        "key_bytes": count,
        "seconds": round(time.perf_counter() - start, 3),
    }
    if as_json:
        emit(figures)
        return
    rows = {
        "parameters": f"{name} ({chosen.name}), {shape.codec.slots:,} blocks at a time",
        "secret": f"{secret}, {size_text(secret.stat().st_size)}: keep it to yourself, and keep a copy",
        "evaluation keys": f"{keys}, {size_text(count)}: for servers",
    }
    console().print(properties("new keys", rows))


@app.command()
@prints(WORK, Encrypted)
@overwrites
def encrypt(
    secret: SecretFile,
    keys: KeysDirectory,
    aes_key_file: Annotated[
        Path | None,
        typer.Option(help="File of the AES key, 16 bytes or 32 hexadecimal digits, mode 0600; - for standard input."),
    ] = None,
    round_keys: Annotated[
        Path | None, typer.Option("--round-keys", help="Directory for the encrypted round keys; made, or empty.")
    ] = None,
    blocks: Annotated[Path | None, typer.Option("--in", help="File of bytes: blocks of 16.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the encrypted blocks.", callback=output_file)] = None,
    direction: Annotated[str, typer.Option(help="What a server is to do: encrypt or decrypt.")] = "encrypt",
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Client: encrypts its AES key, as round keys, or blocks, or both.

    The AES key never leaves: what is written are its round keys under the homomorphic scheme. They are made once, and
    serve any number of blocks and streams.

    Examples:

        ringforge aes encrypt --secret me.secret --keys evaluation --aes-key-file aes.key --round-keys round-keys

        ringforge aes encrypt --secret me.secret --keys evaluation --in blocks.bin --out blocks.aes
    """
    from ringforge.aes import files
    from ringforge.aes.engine import as_direction
    from ringforge.aes.keys import scheme_of
    from ringforge.aes.texts import read_aes_key, read_blocks

    if (aes_key_file is None) != (round_keys is None):
        raise ParameterError("an AES key needs both --aes-key-file, where it is, and --round-keys, where to write them")
    if (blocks is None) != (out is None):
        raise ParameterError("blocks need both --in, where they are, and --out, where to write them")
    if round_keys is None and out is None:
        raise ParameterError("say what to encrypt: --aes-key-file with --round-keys, or --in with --out")
    check_different({"--secret": secret, "--in": blocks, "--out": out})
    way = as_direction(direction)
    found = scheme_of(keys)
    if found.warning:
        print_warning(found.warning)
    aes_key = read_aes_key(aes_key_file) if aes_key_file is not None else b""
    plain = read_blocks(blocks) if blocks is not None else None
    client = found.client(secret, keys, thread_count(threads))
    figures: dict[str, object] = {"scheme": found.name, "direction": way}
    rows = {"scheme": found.name, "for": f"servers that {way}"}
    if round_keys is not None:
        with progress("round keys") as bar:
            count = files.write_round_keys(round_keys, client, aes_key, way, bar)
        figures["round_key_bytes"] = count
        rows["round keys"] = f"{round_keys}, {size_text(count)}: for servers"
    if plain is not None and out is not None:
        n = client.slots
        first = client.encrypt_blocks(plain[:n], way)
        head = files.head_of(client, first, files.new_name(), len(plain))
        rest = (client.encrypt_blocks(plain[i : i + n], way) for i in range(n, len(plain), n))
        files.write_states(out, client, head, (s for states in ([first], rest) for s in states))
        figures |= {"blocks": len(plain), "bytes": out.stat().st_size}
        rows["blocks"] = f"{out}, {len(plain):,} of 16 bytes, {size_text(out.stat().st_size)}: for servers"
    if as_json:
        emit(figures)
        return
    console().print(properties("encrypted", rows))


@app.command()
@prints(WORK, Streamed)
@overwrites
def stream(
    aes_key_file: Annotated[
        Path,
        typer.Option(help="File of the AES key, 16 bytes or 32 hexadecimal digits, mode 0600; - for standard input."),
    ],
    plain: Annotated[Path, typer.Option("--in", help="File of any bytes.")],
    out: Annotated[Path, typer.Option(help="File for the stream.", callback=output_file)],
    ledger: Annotated[
        Path | None, typer.Option(help="SQLite file of counters used with this key; default: beside the key.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Client: makes an AES-CTR stream, as long as the data and a little, of ordinary AES, for servers to take up.

    No counter is used twice under a key: the ledger sees to that. Keep it with the key.

    Examples: `ringforge aes stream --aes-key-file aes.key --in message.txt --out message.ctr`
    """
    from ringforge.aes import transcipher
    from ringforge.aes.ledger import Ledger
    from ringforge.aes.texts import read_aes_key, stream_key

    check_different({"--aes-key-file": aes_key_file, "--in": plain, "--out": out})
    if ledger is None and str(aes_key_file) == "-":
        raise ParameterError("a key from standard input needs --ledger, the file of counters used with it")
    data = plain.read_bytes()
    if not data:
        raise ParameterError(f"{plain.name} is empty: there is nothing to encrypt")
    key = stream_key(read_aes_key(aes_key_file))
    used = Ledger(ledger or aes_key_file.with_name(f"{aes_key_file.name}.counters"))
    made = transcipher.encrypt(key, data, used).to_bytes()
    with writing(out) as f:
        f.write(made)
    if as_json:
        emit({"bytes": len(data), "stream_bytes": len(made), "key": key.tags.key_id.hex()})
        return
    console().print(properties("stream", {"bytes": f"{out}, {len(made):,} for {len(data):,} of {plain.name}"}))


@app.command()
@prints(WORK, Evaluated)
@overwrites
def evaluate(
    keys: KeysDirectory,
    round_keys: RoundKeysDirectory,
    out: Annotated[Path, typer.Option(help="File for the result.", callback=output_file)],
    blocks: Annotated[Path | None, typer.Option("--in", help="Encrypted blocks, which `encrypt` made.")] = None,
    stream: StreamFile = None,
    compute: Compute = "",
    checkpoint: Annotated[
        Path | None, typer.Option(help="Directory for a checkpoint after each round; default: OUT.run beside it.")
    ] = None,
    device: DeviceName = "cpu",
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Anybody: does AES on encrypted blocks, or turns an AES-CTR stream into encrypted bytes. Needs no secret.

    Prints each round's time, and the noise budget that is left. Interrupted, even by kill -9 or a full disk, run it
    again: it goes on with the round that was not finished.

    Examples:

        ringforge aes evaluate --keys evaluation --round-keys round-keys --in blocks.aes --out done.aes

        ringforge aes evaluate --keys evaluation --round-keys round-keys --stream message.ctr --compute below:65 \
--out upper.aes
    """
    from ringforge.aes import files
    from ringforge.aes.keys import scheme_of
    from ringforge.aes.runner import Run
    from ringforge.aes.sources import source_of
    from ringforge.aes.texts import machine_object, machine_text, reporter, round_objects

    if (blocks is None) == (stream is None):
        raise ParameterError("say what to evaluate on: --in with encrypted blocks, or --stream with an AES-CTR stream")
    check_different({"--in": blocks, "--stream": stream, "--out": out})
    found = scheme_of(keys).on(device)
    if found.warning:
        print_warning(found.warning)
    server = found.server(keys, thread_count(threads))
    source = source_of(server, round_keys, blocks, stream, compute)
    run = Run(server, files.RoundKeys(round_keys, server), source, checkpoint or out.with_name(f"{out.name}.run"))
    start = time.perf_counter()
    with steps() as bar:
        rounds = run(out, reporter(bar, quiet=as_json))
    seconds = time.perf_counter() - start
    least = rounds[-1].budget if rounds else 0.0
    # Of engines that compute on devices: what these took by a clock of their own, of what ran now.
    report = getattr(server, "report", None)
    if as_json:
        figures = {
            "scheme": found.name,
            "device": device,
            "direction": source.direction,
            "blocks": source.blocks,
            "seconds": round(seconds, 3),
            "budget": round(least, 2),
            "bytes": out.stat().st_size,
            "rounds": round_objects(rounds),
            "machine": machine_object(report),
        }
        emit(figures)
        return
    took = sum(r.seconds for r in rounds)
    rows = {
        "blocks": f"{source.blocks:,}, {source.direction}ed under {found.name}",
        "time": f"{took:.1f} s, {1000 * took / source.blocks:.1f} ms a block; {seconds:.1f} s of it now",
        **({"machine": machine} if (machine := machine_text(report)) else {}),
        "noise budget": f"{least:.1f} bits are left by prediction",
        "result": f"{out}, {size_text(out.stat().st_size)}: for the holder of the secret key",
    }
    console().print(properties("evaluated", rows))


@app.command()
@prints(WORK, Decrypted)
@overwrites
def decrypt(
    secret: SecretFile,
    keys: KeysDirectory,
    result: Annotated[Path, typer.Option("--in", help="Result of `evaluate` or of a server.")],
    out: Annotated[Path, typer.Option(help="File for the bytes.", callback=output_file)],
    stream: StreamFile = None,
    aes_key_file: Annotated[
        Path | None, typer.Option(help="With --stream: the AES key's file, to tell whether it was that key.")
    ] = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Client: decrypts a result to bytes: blocks, or what became of a stream, as long as the stream.

    With --stream and --aes-key-file it says when a result is of another stream, key or counter.

    Examples:

        ringforge aes decrypt --secret me.secret --keys evaluation --in done.aes --out done.bin

        ringforge aes decrypt --secret me.secret --keys evaluation --in message.aes --stream message.ctr \
--aes-key-file aes.key --out message.txt
    """
    from ringforge.aes import files
    from ringforge.aes.keys import scheme_of
    from ringforge.aes.sources import decrypted
    from ringforge.aes.texts import read_aes_key, stream_key
    from ringforge.aes.transcipher import Stream

    if (stream is None) != (aes_key_file is None):
        raise ParameterError("a result of a stream needs both --stream and --aes-key-file")
    check_different({"--secret": secret, "--in": result, "--stream": stream, "--out": out})
    found = scheme_of(keys)
    if found.warning:
        print_warning(found.warning)
    made = None
    if stream is not None and aes_key_file is not None:
        with naming(stream):
            made = (stream_key(read_aes_key(aes_key_file)), Stream.from_bytes(stream.read_bytes()))
    client = found.client(secret, keys, thread_count(threads))
    file = files.File(result, client)
    left: list[float] = []
    with progress("decrypting") as bar, writing(out) as f:
        for i, (data, budget) in enumerate(decrypted(client, file, made)):
            f.write(data)
            left.append(budget)
            bar((i + 1) / file.head.states)
    if as_json:
        emit({"bytes": out.stat().st_size, "measured_budget": round(min(left), 2)})
        return
    rows = {
        "bytes": f"{out}, {out.stat().st_size:,} bytes",
        "noise budget": f"{min(left):.1f} bits were left, measured"
        + (f"; {file.head.budget:.1f} by prediction" if file.head.budget is not None else ""),
    }
    console().print(properties("decrypted", rows))


@app.command()
@prints(ROWS, AesEstimate | Ring, plain="rows; with `--search` the set as JSON")
def estimate(
    blocks: Annotated[int, typer.Option(min=1, help="Blocks of 16 bytes.")] = 2048,
    scheme: SchemeName = "bgv",
    parameters: SetName = None,
    insecure: Insecure = "",
    search: Annotated[
        bool, typer.Option("--search", help="Print which rings and primes bear AES under bgv instead: some minutes.")
    ] = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Anybody: sizes, levels, noise and times, before anything is made.

    Times are of this machine, from a short measurement of what is counted; the rest holds for any.

    Examples: `ringforge aes estimate`, `ringforge aes estimate --scheme ltv --insecure "to know" --json`
    """
    if search:
        from ringforge.aes import search as rings

        if scheme != "bgv":
            raise ParameterError(f"rings are searched for bgv: {scheme} has the published one")
        found = []
        say(rings.heading())
        for row in rings.search():
            found.append(row)
            say(rings.line(row))
        ring = rings.shipped(rings.chosen(found))
        if as_json:
            emit(ring)
        else:
            put(json.dumps(ring))
        return
    from ringforge.aes.estimate import estimate as of
    from ringforge.aes.estimate import rows
    from ringforge.aes.keys import scheme as named

    chosen = named(scheme)
    if chosen.warning:
        print_warning(chosen.warning)
    shape = chosen.shape(parameters or chosen.default, insecure)
    made = of(chosen, shape, insecure, blocks, thread_count(threads))
    if as_json:
        emit(made)
        return
    console().print(properties(f"AES on {blocks:,} blocks", rows(made)))


@app.command()
@prints(TEXT, Shown)
def demo(
    small: Annotated[
        bool,
        typer.Option("--small/--full", help="A small set without security, seconds; or a real one, minutes."),
    ] = True,
    scheme: SchemeName = "bgv",
    insecure: Insecure = "",
    out: Annotated[Path, typer.Option(help="Folder for the summary and what client and server keep.")] = Path(
        "demo-out/aes"
    ),
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """A real text as AES-CTR bytes for a server that has the AES key only encrypted, and computes on the text.

    Processes: a server, and a client's commands. Prints what each side saw, times and sizes. Ends with exit code 1 if
    anything is not what it is in the clear, or the server's files hold the text or a secret.

    Examples: `ringforge aes demo`, `ringforge aes demo --full --json`
    """
    from ringforge.aes.demo import run_demo, summary
    from ringforge.aes.keys import scheme as named

    if named(scheme).warning:
        print_warning(named(scheme).warning)
        if not insecure:
            raise ParameterError(f'{scheme} is broken: say why it may be used, --insecure "..."')
    size = "small" if small else "full"
    result = run_demo(
        out=out, scheme=scheme, size=size, reason=insecure, threads=thread_count(threads), shown=not as_json
    )
    if as_json:
        emit(summary(result))
    if not result.good:
        raise typer.Exit(1)


serve_cli.add_to(app)

#: The demo for `ringforge demo`, and about how many seconds it takes on two cores.
DEMO = (demo, 25)
