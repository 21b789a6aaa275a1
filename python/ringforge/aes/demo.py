# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: a real text as AES-CTR bytes for a server that has the AES key only encrypted, and computes on the text.

Processes: the server, `ringforge aes serve`, and a client's commands, keygen, encrypt, stream, submit and decrypt.
They talk gRPC over TCP. This one plays their operators: it compares what the client got with the text, and searches
what the server keeps, and what its process was started with, for the text and all secrets.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.aes import clear
from ringforge.aes.computing import Computation
from ringforge.aes.engine import BLOCK_BYTES
from ringforge.aes.transcipher import Stream, library_ctr
from ringforge.cli.console import console, properties, say, seconds_text, size_text
from ringforge.files import clear_demo, finish_demo, writing
from ringforge.search import Search
from ringforge.serving.processes import answer, served, start

#: Parameter sets and bytes of the text, by scheme and size.
SIZES = {
    "bgv": {"small": ("bgv-test", 1366), "full": ("bgv-aes", 2047 * BLOCK_BYTES)},
    "ltv": {"small": ("ltv-test-aes", 1366), "full": ("ltv-paper", 2047 * BLOCK_BYTES)},
}

#: Why the small one's may be used.
REASON = "a demo"

#: What the server computes: which bytes are below "a", and sums.
COMPUTATIONS = ("below:97", "sums")

_PIECE = 24


def text(size: int) -> tuple[bytes, str]:
    """A real text of so many bytes, and where it is from: the topics that Python explains by itself."""
    order = ["integers", *sorted(topics)]
    found = "\n".join(str(topics[name]) for name in order).encode()
    return found[:size], "Python's own manual"


@dataclass
class DemoResult:
    """What the demo prints.

    Attributes:
        scheme, set, source: of the parameters and the text. text: what was encrypted.
        got: what the client has by job: the text, and what was computed.
        stream_right: whether the stream is what a library makes of the text.
        submitted, decrypted: what processes printed, by job. rounds: of the server's log.
        searched: sizes of the server's files, all of them searched; what its process was started with is among them.
        leaked: how many pieces were found there. needles, planted: how many were looked for, and how many the same
        search finds where they are.
    """

    scheme: str
    set: str
    source: str
    text: bytes
    got: dict[str, bytes]
    stream_right: bool
    stream_bytes: int
    submitted: dict[str, dict[str, Any]]
    decrypted: dict[str, dict[str, Any]]
    rounds: list[dict[str, Any]]
    searched: dict[str, int]
    leaked: int
    needles: int
    planted: int
    seconds: dict[str, float]
    pids: dict[str, int]

    @property
    def right(self) -> dict[str, bool]:
        """By job: whether what was computed is right."""
        found = {}
        for job, data in self.got.items():
            # Sums are of blocks; what fills the last one up is no part of the text.
            size = len(self.text) // BLOCK_BYTES * BLOCK_BYTES if job == "sums" else len(self.text)
            found[job] = len(data) >= size and data[:size] == expected(self.text[:size], job)
        return found

    @property
    def good(self) -> bool:
        """All of it is right, and the server's files hold nothing of it."""
        return self.stream_right and all(self.right.values()) and not self.leaked and self.planted == self.needles


def expected(data: bytes, job: str) -> bytes:
    """What a job gives, computed on the text in the clear."""
    if job == "text":
        return data
    x = np.frombuffer(data, np.uint8)
    computation = Computation.parse(job)
    if computation.limit:
        return (x < computation.limit).astype(np.uint8).tobytes()
    return computation.of(x.reshape(-1, BLOCK_BYTES)).tobytes()


def _pieces(folder: Path, aes: bytes, data: bytes) -> list[bytes]:
    """What must not be with the server: the AES key and its round keys, the secret key, the text."""
    path = folder / "secret"
    found = [aes, aes.hex().encode(), *(k.tobytes() for k in clear.expand_key(aes))]
    raw = path.read_bytes()
    for record in _native.io.Reader(str(path)).index():
        body = raw[record.offset + _native.io.HEADER_BYTES :][: record.body_bytes]
        found += [body[at : at + 16] for at in range(16, len(body) - 15, max(16, len(body) // 32))]
    found += [data[at : at + _PIECE] for at in range(0, len(data) - _PIECE, len(data) // 64 or 1)]
    return list({p for p in found if len(set(p)) > 7})


def run_demo(
    *,
    out: Path = Path("demo-out/aes"),
    scheme: str = "bgv",
    size: str = "small",
    reason: str = "",
    threads: int = 1,
    shown: bool = True,
) -> DemoResult:
    """Runs both parties, prints what each saw, writes `out/summary.json`.

    Args:
        out: folder; `out/server` is the server's, `out/client` the client's.
        scheme, size: of `SIZES`. reason: why a set without security may be used; small ones have one.
        threads: of each party. shown: whether to print.

    Raises:
        Error: a process failed.
    """
    tell = say if shown else lambda _: None
    clock, begin = time.perf_counter, time.perf_counter()
    seconds: dict[str, float] = {}
    name, count = SIZES[scheme][size]
    why = ["--insecure", reason or REASON] if size == "small" or scheme == "ltv" else []
    data, source = text(count)
    folders = {who: out / who for who in ("server", "client")}
    clear_demo(out, (*folders, "summary.json"))
    for folder in folders.values():
        folder.mkdir()
    client, server = folders["client"], folders["server"]
    aes, token = secrets.token_bytes(16), secrets.token_hex(32)
    (client / "text").write_bytes(data)
    for path, secret in ((client / "aes.key", aes), (client / "token", token.encode())):
        path.touch(mode=0o600)
        path.write_bytes(secret)
    (server / "tokens").touch(mode=0o600)
    (server / "tokens").write_text(token)
    tell(f"{len(data):,} bytes of {source} (set {name})")

    def run(*words: object) -> dict[str, Any]:
        return answer(start(client, "aes", *words, "--json"))

    mine, public = (
        ("--secret", "secret", "--keys", "evaluation"),
        ("--keys", "evaluation", "--round-keys", "round-keys"),
    )
    many = ("--threads", threads)
    begun = clock()
    run("keygen", *mine, "--scheme", scheme, "--set", name, *why, *many)
    run("encrypt", *mine, "--aes-key-file", "aes.key", "--round-keys", "round-keys", *many)
    seconds["client makes its keys, once"] = clock() - begun
    begun = clock()
    run("stream", "--aes-key-file", "aes.key", "--in", "text", "--out", "stream")
    seconds["client encrypts the text, by ordinary AES"] = clock() - begun
    jobs = {"text": (), **{c: ("--compute", c) for c in (COMPUTATIONS if scheme == "bgv" else ())}}
    results = {job: f"result-{number}" for number, job in enumerate(jobs)}
    submitted, decrypted, got = {}, {}, {}
    settings = ("--scheme", scheme, "--set", name, *why, *many)
    serve = ("aes", "serve", "--store", "store", "--listen", "127.0.0.1:0", "--token-file", "tokens", "--log", "log")
    with served(server, "server", *serve, *settings) as ready:
        tell(f"server process {ready['pid']} listens on {ready['listening']}")
        there = ("--server", ready["listening"], "--token-file", "token", *public, "--stream", "stream")
        for job, words in jobs.items():
            tell(f"client process submits: {job} ...")
            begun = clock()
            submitted[job] = run("submit", *there, *words, "--out", results[job])
            seconds[f"server, {job}"] = clock() - begun
        process = Path(f"/proc/{ready['pid']}")
        started = {part: (process / part).read_bytes() for part in ("cmdline", "environ") if process.exists()}
    # After the server has ended: nothing that it is asked depends on what a result holds.
    for job, result_file in results.items():
        opened = ("--in", result_file, "--stream", "stream", "--aes-key-file", "aes.key", "--out", f"opened-{job}")
        begun = clock()
        decrypted[job] = run("decrypt", *mine, *opened, *many)
        seconds["client decrypts, each time"] = clock() - begun
        got[job] = (client / f"opened-{job}").read_bytes()
    begun = clock()
    pieces = _pieces(client, aes, data)
    search = Search(pieces)
    paths = sorted(p for p in server.rglob("*") if p.is_file())
    leaked = set().union(*(search.file(p) for p in paths), *(search.data(d) for d in started.values()))
    seconds["search of the server's files"] = clock() - begun
    seconds["altogether"] = clock() - begin
    made = Stream.from_bytes((client / "stream").read_bytes())
    log = [json.loads(line) for line in (server / "log").read_text().splitlines()]
    result = DemoResult(
        scheme=scheme,
        set=name,
        source=source,
        text=data,
        got=got,
        stream_right=library_ctr(aes, made.counter, made.data) == data,
        stream_bytes=len(made.data),
        submitted=submitted,
        decrypted=decrypted,
        rounds=[e for e in log if e["event"] == "round"],
        searched={str(p.relative_to(out)): p.stat().st_size for p in paths}
        | {f"process: {part}": len(d) for part, d in started.items()},
        leaked=len(leaked),
        needles=len(pieces),
        planted=len(search.data(b"\n".join(pieces))),
        seconds=seconds,
        pids={"operators": os.getpid(), "server": ready["pid"]},
    )
    if shown:
        print_result(result)
    with writing(out / "summary.json") as f:
        f.write(json.dumps(summary(result), indent=2).encode())
    finish_demo(out)
    return result


# ---- what is printed -----------------------------------------------------------------------------


def _per_block(r: DemoResult) -> float:
    """The server's seconds a block, of the last job."""
    last = [e for e in r.rounds if e["job"] == r.rounds[-1]["job"]]
    return float(sum(e["seconds"] for e in last) / (len(r.text) / BLOCK_BYTES))


def print_result(r: DemoResult) -> None:
    """What each side saw, and what it took."""
    screen = console()
    sent = r.submitted["text"]["sent"]
    rows = {
        "sent once": f"evaluation keys and the encrypted AES key, {size_text(sent['keys'])}",
        "sent": f"{r.stream_bytes:,} bytes of AES-CTR for {len(r.text):,} of text: "
        + ("what a library's AES makes" if r.stream_right else "NOT what a library's AES makes"),
    }
    words = {"text": "the text", "below:97": 'which bytes are below "a"', "sums": "sums of bytes, with carries"}
    for job, right in r.right.items():
        left = r.decrypted[job]["measured_budget"]
        rows[words[job]] = f"{'right' if right else 'WRONG'}, {len(r.got[job]):,} bytes; {left:.0f} bits of noise left"
    screen.print(properties("what the client has", rows))
    budgets = [e for e in r.rounds if e["job"] == r.rounds[0]["job"] and e["state"] == 0]
    screen.print(
        properties(
            "what the server saw",
            {
                "data": "AES-CTR bytes, public counters, keys under its client's key",
                "noise budget": "round by round, bits: " + ", ".join(f"{e['budget']:.0f}" for e in budgets),
                "time": f"{seconds_text(_per_block(r))} a block",
                "kept": size_text(sum(r.searched.values())),
                "searched": f"{len(r.searched)} files, its command line and environment among them: "
                + (f"FOUND {r.leaked}" if r.leaked else "none")
                + f" of {r.needles} pieces of the text, the AES key, its round keys, the secret key; the same search "
                f"finds {r.planted} of {r.needles} where they are",
            },
        )
    )
    screen.print(properties("time", {step: seconds_text(took) for step, took in r.seconds.items()}))
    say(
        "the text came through, all that was computed is right, and the server has nothing of it"
        if r.good
        else "FAILED"
    )


def summary(r: DemoResult) -> dict[str, Any]:
    """For programs; without the text."""
    return {
        "system": "aes",
        "good": r.good,
        "scheme": r.scheme,
        "set": r.set,
        "bytes": len(r.text),
        "stream_right": r.stream_right,
        "right": r.right,
        "measured_budget": {job: d["measured_budget"] for job, d in r.decrypted.items()},
        "seconds_per_block": _per_block(r),
        "seconds": r.seconds,
        "sent": {job: s["sent"] for job, s in r.submitted.items()},
        "received": {job: s["received"] for job, s in r.submitted.items()},
        "leaked": r.leaked,
    }
