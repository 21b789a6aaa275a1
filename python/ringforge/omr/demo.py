# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: real texts for two receivers on a board full of other people's entries, found by a detector that sees none.

Processes: the board (its database is SQLite, or a PostgreSQL server of its own), the detector, and clients that make
keys, post and retrieve, all of them `ringforge omr ...`. This one plays everybody else who posts, and the operators: it
compares what each receiver got with what was posted to it, and searches what the servers keep for texts and secrets.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.cli.console import console, progress, properties, say, seconds_text, size_text, visible
from ringforge.files import clear_demo, finish_demo, writing
from ringforge.omr import quotes
from ringforge.omr.board_client import RemoteBoard
from ringforge.omr.payload import BoxSecret
from ringforge.omr.sets import Set, named
from ringforge.omr.signal import SignalSecret
from ringforge.search import Search
from ringforge.serving.processes import answer, served, start

#: Parameter sets.
SIZES = {"small": "test", "full": "ringforge"}

#: Why the small one's may be used.
REASON = "a demo"

#: Texts for the first receiver, and for the second.
TEXTS = (50, 12)
NAMES = ("first", "second")

#: Entries that are posted at once by everybody else, and other receivers there are.
_BATCH = 1024
_STRANGERS = 8

#: Bytes of fixed fields, the public id of a key among them, that a record's body begins with at the most.
_FIXED = 64


# ---- the board's content -------------------------------------------------------------------------


class Crowd:
    """Everybody else: entries for receivers that nobody plays here."""

    def __init__(self, s: Set, threads: int) -> None:
        self._set, self._threads = s, threads
        self._signals = [SignalSecret.make(s).public() for _ in range(_STRANGERS)]
        self._boxes = [BoxSecret.make().public() for _ in range(_STRANGERS)]
        self._rng = random.Random(1)

    def post(self, board: RemoteBoard, count: int) -> None:
        """Puts so many entries on the board."""
        for at in range(0, count, _BATCH):
            some = min(_BATCH, count - at)
            who = self._rng.randrange(_STRANGERS)
            signals = self._signals[who].signals(some, self._threads).pack(self._threads)
            texts = (self._rng.randbytes(self._rng.randrange(self._set.text_bytes)) for _ in range(some))
            payloads = b"".join(self._boxes[who].seal(text, self._set) for text in texts)
            for _ in board.posting(signals, np.frombuffer(payloads, np.uint8).reshape(some, -1)):
                pass


def _parts(total: int, count: int, rng: random.Random) -> list[int]:
    """A total in so many parts of random sizes."""
    cuts = sorted(rng.randrange(total + 1) for _ in range(count - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def fill(
    board: RemoteBoard,
    folder: Path,
    address: str,
    texts: dict[str, list[bytes]],
    crowd: Crowd,
    said: Any,
) -> None:
    """Fills one bulletin: real texts by processes of their senders, one for each receiver, among the crowd's."""
    s = board.set
    posts = list(texts.items())
    rest = s.entries - sum(len(part) for _, part in posts)
    done = 0
    for number, size in enumerate(_parts(rest, len(posts) + 1, random.Random(2))):
        crowd.post(board, size)
        done += size
        if number < len(posts):
            name, part = posts[number]
            (folder / "texts.jsonl").write_text("".join(json.dumps({"text": t.decode()}) + "\n" for t in part))
            answer(start(folder, "omr", *post_words(address, f"{name}.address", "texts.jsonl")))
            done += len(part)
        said(done / s.entries)
    (folder / "texts.jsonl").unlink()


def post_words(server: str, address: str, texts: str) -> list[str]:
    """The command that posts a file of texts."""
    return ["post", texts, "--address", address, "--server", server, "--json-lines", "--insecure", REASON, "--json"]


# ---- the demo ------------------------------------------------------------------------------------


@dataclass
class DemoResult:
    """What the demo prints.

    Attributes:
        parameters: the set. database: of the board. source: of the texts.
        posted, answers: by receiver, the texts posted, and what its process printed.
        steps: the detector's log of steps. log: of its other events.
        searched: sizes of the servers' files, all of them searched. leaked: texts and secrets found there.
        needles, planted: how many were looked for, and how many the same search finds where they are.
    """

    parameters: Set
    database: str
    source: str
    posted: dict[str, list[bytes]]
    answers: dict[str, dict[str, Any]]
    log: list[dict[str, Any]]
    sizes: dict[str, int]
    searched: dict[str, int]
    leaked: set[bytes]
    needles: int
    planted: int
    seconds: dict[str, float]
    pids: dict[str, int]

    def got(self, name: str) -> list[bytes]:
        """The texts that a receiver got."""
        return [m["text"].encode() for m in self.answers[name]["messages"] if "text" in m]

    def right(self, name: str) -> bool:
        """Whether it got exactly what was posted to it."""
        whole = len(self.answers[name]["messages"]) == len(self.got(name))
        return whole and sorted(self.got(name)) == sorted(self.posted[name])

    def steps(self) -> dict[str, list[dict[str, Any]]]:
        """The detector's steps, by job, in order."""
        found: dict[str, list[dict[str, Any]]] = {}
        for event in self.log:
            if event["event"] == "step":
                found.setdefault(event["job"], []).append(event)
        return found

    @property
    def alike(self) -> bool:
        """Whether the detector did the same, in the same order, for both receivers."""
        kinds = [[(e["stage"], e["first"], e["last"]) for e in steps] for steps in self.steps().values()]
        return len(kinds) == len(NAMES) and all(k == kinds[0] for k in kinds)

    @property
    def good(self) -> bool:
        """Each receiver has its texts and nothing else, and the servers' files hold nothing of it."""
        return all(map(self.right, NAMES)) and self.alike and not self.leaked and self.planted == self.needles


def secret_pieces(path: Path) -> list[bytes]:
    """Pieces of what is secret in a receiver's secret: of the records behind the first, whose headers are public."""
    data = path.read_bytes()
    pieces = []
    for record in _native.io.Reader(str(path)).index()[1:]:
        body = data[record.offset + _native.io.HEADER_BYTES :][: record.body_bytes]
        pieces += [body[at : at + 16] for at in range(_FIXED, len(body) - 15, max(16, len(body) // 32))]
    return [p for p in pieces if len(set(p)) > 10]


def _files_of(folder: Path, tokens: dict[str, str]) -> list[tuple[Path, str]]:
    return [(folder / f"{name}.token", token) for name, token in tokens.items()]


def run_demo(
    *,
    out: Path = Path("demo-out/omr"),
    size: str = "small",
    postgres: bool = False,
    threads: int = 1,
    shown: bool = True,
) -> DemoResult:
    """Runs everybody, prints what each saw, writes `out/summary.json`.

    Args:
        out: folder; `out/board`, `out/detector` are the servers', `out/clients` everybody else's.
        size: of `SIZES`. postgres: whether the board's database is PostgreSQL. threads: of each party.
        shown: whether to print.

    Raises:
        Error: a process failed.
    """
    tell = say if shown else lambda _: None
    clock, begin = time.perf_counter, time.perf_counter()
    seconds: dict[str, float] = {}
    s = named(SIZES[size], REASON)
    quotes.install()
    texts, source = quotes.texts(sum(TEXTS), s.text_bytes)
    posted = dict(zip(NAMES, (texts[: TEXTS[0]], texts[TEXTS[0] :]), strict=True))
    folders = {name: out / name for name in ("board", "detector", "clients")}
    clear_demo(out, (*folders, "summary.json"))
    for folder in folders.values():
        folder.mkdir()
    clients = folders["clients"]
    tell(f"{TEXTS[0]} and {TEXTS[1]} texts of {source} for two receivers, among {s.entries:,} entries (set {s.name})")
    begun = clock()
    for name in NAMES:
        words = [f"--secret={name}.secret", f"--detection-key={name}.detection", f"--address={name}.address"]
        answer(
            start(
                clients, "omr", "keygen", *words, "--set", s.name, "--insecure", REASON, "--threads", threads, "--json"
            )
        )
    seconds["two receivers make their keys"] = clock() - begun
    tokens = {name: secrets.token_hex(32) for name in NAMES}
    for path, text in [(folders["detector"] / "tokens", "\n".join(tokens.values())), *_files_of(clients, tokens)]:
        path.touch(mode=0o600)
        path.write_text(text)
    parameters = ["--set", s.name, "--insecure", REASON, "--threads", threads, "--listen", "127.0.0.1:0"]
    with contextlib.ExitStack() as stack:
        database, said = "board.sqlite", "SQLite"
        if postgres:
            from ringforge.omr.demo_postgres import postgres_server

            database, said = stack.enter_context(postgres_server())
        board = stack.enter_context(served(folders["board"], "board", "omr", *board_words(database), *parameters))
        tell(f"board process {board['pid']} listens on {board['listening']}; its database is {said}")
        begun = clock()
        crowd = Crowd(s, threads)
        with progress("posting") as bar, RemoteBoard(board["listening"], s, threads=threads) as connection:
            fill(connection, clients, board["listening"], posted, crowd, bar)
        seconds["posting, sealed to receivers"] = clock() - begun
        detector = stack.enter_context(
            served(
                folders["detector"],
                "detector",
                "omr",
                *("detect", "serve", "--board", board["listening"], "--store", "store", "--log", "detector.log"),
                *("--token-file", "tokens"),
                *parameters,
            )
        )
        tell(f"detector process {detector['pid']} listens on {detector['listening']}; both receivers ask it now ...")
        begun = clock()
        asking = {
            name: start(
                clients,
                "omr",
                *("retrieve", "--server", detector["listening"], "--secret", f"{name}.secret", "--json"),
                *("--detection-key", f"{name}.detection", "--token-file", f"{name}.token"),
            )
            for name in NAMES
        }
        answers = {name: answer(process) for name, process in asking.items()}
        seconds["both receivers, start to end"] = clock() - begun
    begun = clock()
    pieces = [piece for name in NAMES for piece in secret_pieces(clients / f"{name}.secret")]
    search = Search([*texts, *pieces])
    files = sorted(p for name in ("board", "detector") for p in folders[name].rglob("*") if p.is_file())
    leaked: set[bytes] = set().union(*(search.file(p) for p in files))
    seconds["search of the servers' files"] = clock() - begun
    seconds["altogether"] = clock() - begin
    log = [json.loads(line) for line in (folders["detector"] / "detector.log").read_text().splitlines()]
    first = clients / NAMES[0]
    result = DemoResult(
        parameters=s,
        database=said,
        source=source,
        posted=posted,
        answers=answers,
        log=log,
        sizes={kind: first.with_suffix(f".{kind}").stat().st_size for kind in ("secret", "detection", "address")},
        searched={str(p.relative_to(out)): p.stat().st_size for p in files},
        leaked=leaked,
        needles=len({*texts, *pieces}),
        planted=len(search.data(b"\n".join([*texts, *pieces]))),
        seconds=seconds,
        pids={"operators": os.getpid(), "board": board["pid"], "detector": detector["pid"]},
    )
    if shown:
        print_result(result)
    with writing(out / "summary.json") as f:
        f.write(json.dumps(summary(result), indent=2).encode())
    finish_demo(out)
    return result


def board_words(database: str) -> Sequence[object]:
    """The command that serves a board."""
    return ("board", "serve", "--database", database, "--log", "board.log")


# ---- what is printed -----------------------------------------------------------------------------


def _learned(r: DemoResult, name: str) -> dict[str, str]:
    """What a receiver has."""
    answer = r.answers[name]
    found = answer["bulletins"][0]
    shown = " ".join(visible(r.got(name)[0].decode(), lines=False).split()) if r.got(name) else "nothing"
    return {
        "texts": f"{len(answer['messages'])}, {'exactly' if r.right(name) else 'NOT'} those that were posted to it",
        "one of them": shown[:100] + ("..." if len(shown) > 100 else ""),
        "digest": f"{size_text(found['bytes'])} for {found['count']} pertinent entries, {found['dropped']} dropped",
        "sent": f"{size_text(sum(answer['sent'].values()))}: detection key {size_text(answer['sent'].get('keys', 0))}",
        "time": ", ".join(f"{step} {seconds_text(took)}" for step, took in answer["seconds"].items()),
    }


def stages(r: DemoResult) -> dict[str, float]:
    """Seconds of the detector by stage, for one receiver: the last one, who finds encodings made."""
    found: dict[str, float] = {}
    for event in list(r.steps().values())[-1]:
        found[event["stage"]] = found.get(event["stage"], 0.0) + event["seconds"]
    return found


def print_result(r: DemoResult) -> None:
    """What each side saw, and what it took."""
    screen = console()
    for name in NAMES:
        screen.print(properties(f"what the {name} receiver learned", _learned(r, name)))
    board = {k: v for k, v in r.searched.items() if k.startswith("board")}
    store = {k: v for k, v in r.searched.items() if k.startswith("detector")}
    times = stages(r)
    screen.print(
        properties(
            "what the board saw",
            {
                "entries": f"{r.parameters.entries:,}, each a signal of {r.parameters.signal_bytes:,} bytes and a "
                f"sealed box of {r.parameters.payload_bytes}, all alike",
                "posters": "keyed hashes of their addresses",
                "database": f"{r.database}, {size_text(sum(board.values()))}",
            },
        )
    )
    screen.print(
        properties(
            "what the detector saw",
            {
                "keys": f"2 detection keys of {size_text(r.sizes['detection'])}",
                "work": f"{'the same' if r.alike else 'NOT THE SAME'} {len(next(iter(r.steps().values())))} steps for "
                "both receivers",
                "stages": ", ".join(f"{stage} {seconds_text(took)}" for stage, took in times.items())
                + f": {seconds_text(sum(times.values()))}",
                "kept": size_text(sum(store.values())),
                "searched": f"{len(r.searched)} files of both servers, {size_text(sum(r.searched.values()))}: "
                + (f"FOUND {len(r.leaked)}" if r.leaked else "none")
                + f" of {r.needles} texts and pieces of secrets; the same search finds {r.planted} of {r.needles} "
                "where they are",
            },
        )
    )
    screen.print(properties("time", {step: seconds_text(took) for step, took in r.seconds.items()}))
    if r.good:
        say("each receiver has exactly its texts; the servers' files hold none of them, and no secret")
    else:
        say("FAILED: see above")


def summary(r: DemoResult) -> dict[str, Any]:
    """For programs; without texts."""
    return {
        "system": "omr",
        "good": r.good,
        "set": r.parameters.name,
        "database": r.database,
        "source": r.source,
        "entries": r.parameters.entries,
        "messages": {name: len(r.answers[name]["messages"]) for name in NAMES},
        "bulletins": {name: r.answers[name]["bulletins"] for name in NAMES},
        "stages": stages(r),
        "sizes": r.sizes,
        "seconds": r.seconds,
        "sent": {name: r.answers[name]["sent"] for name in NAMES},
        "received": {name: r.answers[name]["received"] for name in NAMES},
        "leaked": len(r.leaked),
    }
