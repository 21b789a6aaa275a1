# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: which of a client's passwords are among the commonest there are, asked of a server that sees none of them.

The *server* has the 30,000 common passwords that the package zxcvbn carries, each with its rank, and entries generated
here that fill its table up; every entry of those is labelled as generated. The *client* has a hundred passwords, a
fifth of them common, and learns which those are and their ranks. Both are processes, `ringforge psi serve` and
`ringforge psi query`, that talk gRPC over TCP; this one plays their operators, compares the answer with the plain
intersection, and searches what the server keeps for the client's passwords.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ringforge
from ringforge.cli.console import console, progress, properties, say, seconds_text, size_text
from ringforge.cli.demo_command import missing
from ringforge.errors import Error
from ringforge.files import clear_demo, finish_demo, writing
from ringforge.local_http import first_line
from ringforge.psi.store import Store
from ringforge.search import Search

#: Entries of the server's table, and log2 of the bins.
SIZES = {"small": (1 << 15, 8), "full": (1 << 20, 14)}

#: Passwords of the client, and how many of them are common ones.
COUNT, WEAK = 100, 20

#: Evaluations that the server grants each client in a day: one run, not two. A run asks for 128 or more, the class of
#: its number of passwords.
QUOTA = 250

#: Label of the entries that are generated. Ranks are in capitals, so none looks like this.
GENERATED = b"gen"

#: Common passwords that the client has are so long: shorter ones may be in any large file by chance.
_LEAST_LENGTH = 8


def common_passwords() -> list[str]:
    """The commonest passwords, the commonest first.

    Raises:
        UnsupportedModelError: zxcvbn is not installed.
    """
    try:
        from zxcvbn.frequency_lists import FREQUENCY_LISTS
    except ImportError:
        raise missing("zxcvbn") from None
    return list(FREQUENCY_LISTS["passwords"])


def rank_label(rank: int) -> bytes:
    """A rank, 1 or more, to base 36: three bytes up to 46,655."""
    return np.base_repr(rank, 36).encode()


def read_label(label: str) -> int | None:
    """The rank that a label stands for; None for entries that are generated."""
    return None if label.encode() == GENERATED else int(label, 36)


def server_set(common: Sequence[str], size: int, seed: int = 1) -> dict[bytes, bytes]:
    """What the server has: common passwords with their ranks, as many as fit, and generated ones up to `size`."""
    entries = {p.encode(): rank_label(i) for i, p in enumerate(common[:size], 1)}
    rng = random.Random(seed)
    for i in range(size - len(entries)):
        entries[f"generated-{i}-{rng.getrandbits(64):016x}".encode()] = GENERATED
    return entries


def client_set(common: Sequence[str], count: int = COUNT, weak: int = WEAK) -> list[str]:
    """The client's passwords: common ones over all ranks, the commoner the denser, and others made by `secrets`."""
    fit = [p for p in common if len(p) >= _LEAST_LENGTH and not p.isdigit()]
    last = max(1, weak - 1)
    chosen = list(dict.fromkeys(fit[(len(fit) - 1) * i * i // last**2] for i in range(weak)))
    mine = [*chosen, *(secrets.token_urlsafe(12) for _ in range(count - len(chosen)))]
    random.Random(secrets.randbits(64)).shuffle(mine)
    return mine


# ---- the two processes ---------------------------------------------------------------------------


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "ringforge.cli", "psi", *map(str, words)]


def _environment() -> dict[str, str]:
    roots = [str(Path(ringforge.__file__).parents[1]), *(os.path.abspath(p) for p in sys.path if p)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(roots)}


@contextlib.contextmanager
def _served(folder: Path, threads: int) -> Iterator[dict[str, Any]]:
    """The server's process, in its folder; what it said when it was ready."""
    words = ["serve", "table", "--listen", "127.0.0.1:0", "--threads", threads, "--prf-per-day", QUOTA]
    with (folder / "stderr").open("wb") as complaints:
        started = subprocess.Popen(
            _command(*words, "--log", "server.log", "--quota-file", "quota.sqlite"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=_environment(),
            cwd=folder,
        )
    assert started.stdout is not None
    try:
        yield first_line(started, "server")
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        started.stdout.close()


def _ask(address: str, passwords: Sequence[str], threads: int, *, quiet: bool = False) -> tuple[int, str, str]:
    """The client's process, which gets its passwords by a pipe: exit code and what it printed.

    Its standard error, where it shows its progress, is this process's unless `quiet`.
    """
    done = subprocess.run(
        _command("query", "--server", address, "--set", "-", "--json", "--threads", threads),
        input="".join(f"{p}\n" for p in passwords).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        env=_environment(),
        check=False,
    )
    return done.returncode, done.stdout.decode(), (done.stderr or b"").decode(errors="replace")


# ---- the demo ------------------------------------------------------------------------------------


@dataclass
class DemoResult:
    """What the demo prints.

    Attributes:
        elements, listed: entries of the server's table; how many of them are common passwords.
        got, exact: ranks of the client's passwords that are in the table, as the protocol and plain sets have them.
        answer: what the client's process printed.
        log: the server's, line by line.
        searched: sizes of the server's files, all of them searched.
        leaked: the client's passwords that were found there.
        found_planted: how many of them the same search finds in what the client was given.
        second_refused: what a second client process from the same address was told, or empty if it was served.
    """

    elements: int
    listed: int
    bins: int
    cells: int
    asked: list[str]
    got: Mapping[str, int | None]
    exact: Mapping[str, int | None]
    answer: dict[str, Any]
    log: list[dict[str, Any]]
    searched: dict[str, int]
    leaked: set[str]
    found_planted: int
    second_refused: str
    seconds: dict[str, float]
    pids: dict[str, int]

    @property
    def good(self) -> bool:
        """The intersection is right, the server keeps nothing of it, the quota holds."""
        searched = not self.leaked and self.found_planted == len(self.asked)
        return self.got == self.exact and searched and bool(self.second_refused)


def _read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run_demo(
    *, out: Path = Path("demo-out/psi"), size: str = "small", threads: int = 1, elements: int = 0, log_bins: int = 0
) -> DemoResult:
    """Runs both parties, prints what each saw, writes `out/summary.json`.

    Args:
        out: folder for the summary; `out/server` is the server's.
        size: of `SIZES`.
        threads: threads for each party.
        elements, log_bins: in place of the size's, if not 0.

    Raises:
        UnsupportedModelError: zxcvbn is not installed. Error: a process failed.
    """
    common = common_passwords()
    elements, log_bins = elements or SIZES[size][0], log_bins or SIZES[size][1]
    clock, seconds = time.perf_counter, {}
    begin = start = clock()
    entries = server_set(common, elements)
    asked = client_set(common[:elements])
    listed = min(len(common), elements)
    say(f"the server's list: {listed:,} common passwords and their ranks, {elements - listed:,} generated entries")
    folder = out / "server"
    clear_demo(out, ("server", "summary.json"))
    folder.mkdir()
    with progress("building the table") as bar:
        store = Store.build(folder / "table", entries, log_bins=log_bins, threads=threads, progress=bar)
    seconds["server builds its table, once"] = clock() - start
    plan = store.info.native()
    with _served(folder, threads) as ready:
        say(f"server process {ready['pid']} listens on {ready['listening']}")
        say(f"client process asks about {len(asked)} passwords, {WEAK} of them common ...")
        start = clock()
        failed, printed, _ = _ask(ready["listening"], asked, threads)
        seconds["client, start to end"] = clock() - start
        # Whatever became of the first: what the server is asked never depends on what a client has decrypted.
        code, _, refusal = _ask(ready["listening"], asked, threads, quiet=True)
        second = " ".join(refusal.split()).removeprefix("error: ") if code == 1 else ""
    if failed:
        raise Error(f"the client process ended with exit code {failed}; what it said is above")
    answer = json.loads(printed)["result"]
    got = {m["element"]: read_label(m["label"]) for m in answer["matches"]}
    exact = {p: read_label(entries[p.encode()].decode()) for p in asked if p.encode() in entries}
    start = clock()
    search = Search(asked)
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    leaked: set[str] = set().union(*(search.file(p) for p in files))
    seconds["search of the server's files"] = clock() - start
    seconds["altogether"] = clock() - begin
    result = DemoResult(
        elements=elements,
        listed=listed,
        bins=plan.bins,
        cells=plan.cells,
        asked=asked,
        got=got,
        exact=exact,
        answer=answer,
        log=_read_log(folder / "server.log"),
        searched={str(p.relative_to(folder)): p.stat().st_size for p in files},
        leaked=leaked,
        found_planted=len(search.data("\n".join(asked).encode())),
        second_refused=second,
        seconds=seconds,
        pids={"operators": os.getpid(), "server": ready["pid"]},
    )
    print_result(result)
    with writing(out / "summary.json") as f:
        f.write(json.dumps(summary(result), indent=2).encode())
    finish_demo(out)
    return result


def _event(r: DemoResult, name: str) -> dict[str, Any]:
    """The log's first line of one event."""
    return next((e for e in r.log if e["event"] == name), {})


def print_result(r: DemoResult) -> None:
    """What each side saw, and what it took."""
    screen = console()
    known = sorted(((rank, p) for p, rank in r.got.items() if rank is not None), key=lambda x: x[0])
    shown = known[:4] + known[-2:] if len(known) > 6 else known
    texts = [f"{p} (rank {rank:,})" for rank, p in shown]
    if len(known) > len(shown):
        texts.insert(4, "...")
    prf, query = _event(r, "EvaluatePrf"), _event(r, "Query")
    sent, received = r.answer["sent"], r.answer["received"]
    in_logs = sum(size for name, size in r.searched.items() if not name.startswith("table"))
    screen.print(
        properties(
            "what the client learned",
            {
                "known passwords": f"{len(known)} of {len(r.asked)}: {', '.join(texts)}",
                "the others": f"{len(r.asked) - len(known)} are not in the list; nothing else about the list",
                "probability": f"{r.answer['probabilities']['false_positive']:.1e} that any of these matches is false",
            },
        )
    )
    screen.print(
        properties(
            "what the server saw",
            {
                "client": f"{prf.get('client', '?')}, a keyed hash of its address",
                "PRF": f"{prf.get('elements', 0)} evaluations, of blinded elements",
                "query": f"{r.answer['queries']}, of {query.get('bins', 0):,} bins, all computed: "
                f"{seconds_text(query.get('computed', 0.0))}",
                "received": f"{size_text(sum(sent.values()))}: keys {size_text(sent['keys'])}, requests "
                f"{size_text(sent['requests'])}, PRF {size_text(sent['prf'])}",
                "sent": f"{size_text(sum(received.values()))}: table info {size_text(received['info'])}, replies "
                f"{size_text(received['requests'])}, PRF {size_text(received['prf'])}",
                "searched": f"{len(r.searched)} files, {size_text(sum(r.searched.values()))}, of it "
                f"{size_text(in_logs)} of logs and quotas: "
                + (f"FOUND {len(r.leaked)}" if r.leaked else "none")
                + f" of the client's {len(r.asked)} passwords, raw, hexadecimal or base64; the search finds "
                f"{r.found_planted} of {len(r.asked)} in what the client was given",
            },
        )
    )
    screen.print(
        properties(
            "what to mind",
            {
                "the list": "its operator has it anyway: a common password is no secret to anybody. The table on disk "
                "holds no password, but the key, with which guesses can be tested",
                "enumeration": "whoever may ask can try one password after another; a quota slows that down: "
                f"with {QUOTA} evaluations a day the same run "
                + ("was refused the second time" if r.second_refused else "WAS SERVED TWICE"),
            },
        )
    )
    rows = {
        "table": f"{r.elements:,} entries in {r.bins:,} bins of {r.cells:,} cells: {r.listed:,} common passwords, "
        f"{r.elements - r.listed:,} generated",
        "security": "128 bits",
    }
    rows.update({k: seconds_text(v) for k, v in r.seconds.items()})
    screen.print(properties("result", rows))
    if not r.good:
        why = "the result differs from the plain intersection" if r.got != r.exact else "see above"
        say(f"FAILED: {why}")
        return
    took = seconds_text(r.seconds["altogether"])
    say(f"the client has exactly the plain intersection of {len(r.exact)} passwords, with their ranks; it took {took}")


def summary(r: DemoResult) -> dict[str, Any]:
    """The figures, for programs: no password among them."""
    return {
        "system": "psi",
        "good": r.good,
        "elements": r.elements,
        "listed": r.listed,
        "bins": r.bins,
        "cells": r.cells,
        "asked": len(r.asked),
        "matches": len(r.got),
        "leaked": len(r.leaked),
        "sent": r.answer["sent"],
        "received": r.answer["received"],
        "client_seconds": r.answer["seconds"],
        "seconds": r.seconds,
        "server_log": r.log,
    }
