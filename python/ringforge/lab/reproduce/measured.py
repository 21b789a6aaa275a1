# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables of what `ringforge bench` has saved: times of the library beside peers', each with machine and date."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.lab.papers.aes import figures
from ringforge.lab.tables import Cell, Table, Value
from ringforge.runs import Record, load

_DATED = re.compile(r"(.+)-(\d{4}-\d\d-\d\d)\.jsonl")


@dataclass(frozen=True, slots=True)
class Run:
    """One saved file: its records, its name and what is known of the machine it was made on."""

    name: str
    date: str
    records: tuple[Record, ...]
    environment: dict[str, Any]

    @property
    def kernels(self) -> str:
        """The kernel set that computed, where it is known."""
        stated = [self.environment.get("kernels"), *(r.extra.get("kernels") for r in self.records)]
        return next((str(name) for name in stated if name), "")

    def load(self) -> str:
        """The load of a minute before and after, where it is known."""
        before, after = (self.environment.get(f"load_{when}") for when in ("before", "after"))
        return f"load {before[0]:.2f} before and {after[0]:.2f} after" if before and after else ""

    def machine(self) -> str:
        """The machine in words, with date, commit and load."""
        parts = [
            _processor(str(self.environment.get("cpu", "unknown processor"))),
            f"{self.environment['cores']} cores" if "cores" in self.environment else "",
            f"kernels {self.kernels}" if self.kernels else "",
            self.date,
            f"commit {str(self.environment['commit'])[:7]}" if self.environment.get("commit") else "",
            self.load(),
        ]
        return ", ".join(part for part in parts if part)


def _processor(text: str) -> str:
    return re.sub(r"\((R|TM)\)|\s+Processor\b", "", text).strip()


class Saved:
    """The newest file of each name and kernel set in a folder of results.

    Args:
        folder: what `--save` was given; a folder that is not there holds nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._runs: dict[tuple[str, str], Run] = {}
        self.used: dict[str, Run] = {}
        for path in sorted(folder.glob("*.jsonl"), key=lambda p: p.name[-len("2026-01-01.jsonl") :]):
            if found := _DATED.fullmatch(path.name):
                beside = path.with_name(path.name.removesuffix(".jsonl") + ".environment.json")
                environment = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
                run = Run(path.name, found[2], tuple(load(path)), environment)
                self._runs[found[1], run.kernels] = run

    def runs(self, *names: str) -> list[Run]:
        """The newest files whose names, without the date, match one of the patterns whole; in the patterns' order."""
        ordered = sorted(self._runs.items(), key=lambda item: item[0])
        found = [run for pattern in names for (name, _), run in ordered if re.fullmatch(pattern, name)]
        self.used.update((run.name, run) for run in found)
        return found


def _sources(runs: Iterable[Run]) -> str:
    """One sentence for each machine that a table's runs were made on."""
    by_machine: dict[str, list[str]] = {}
    for run in runs:
        by_machine.setdefault(run.machine(), []).append(f"`{run.name}`")
    return "Measured: " + "; ".join(f"{machine} ({', '.join(files)})" for machine, files in by_machine.items()) + "."


def _x(number: float | None, unit: str, scale: float = 1) -> Value | None:
    return None if number is None else Value(number * scale, unit, "measured")


def _clocks(r: Record, unit: str, scale: float = 1) -> tuple[Cell, Cell]:
    """Wall and processor time."""
    return _x(r.wall_seconds, unit, scale), _x(r.cpu_seconds, unit, scale)


def _peer_clocks(r: Record, unit: str, scale: float = 1) -> tuple[Cell, Cell]:
    """The same of the peer."""
    return _x(r.peer_wall_seconds, unit, scale), _x(r.peer_cpu_seconds, unit, scale)


def _d(number: float | None) -> Value | None:
    return None if number is None else Value(number, "", "derived")


def _count(number: Any) -> str | None:
    return None if number is None else f"{int(number):,}"


_PEERS = {"tenseal": "TenSEAL", "lattigo": "Lattigo"}


def _peer(record: Record) -> str:
    return f"{_PEERS.get(record.peer or '', record.peer or 'no peer')} {record.peer_version or ''}".strip()


def matvec_layers(saved: Saved) -> list[Table]:
    """Layers of the matrix-vector paper beside TenSEAL."""
    made = []
    for run in saved.runs("matvec-set-[abc]"):
        rows: list[tuple[Cell, ...]] = [
            (
                f"{r.case} {r.extra['m']} x {r.extra['n']}",
                str(r.level) + (" (the planner's)" if r.extra.get("level_choice") == "auto" else " (all primes)"),
                *_clocks(r, "ms", 1e3),
                _x(r.encode_seconds, "ms", 1e3),
                *_peer_clocks(r, "s"),
                _d(r.ratio),
                _d(r.ratio_with_encoding),
                _x(r.max_rel_error, ""),
            )
            for r in run.records
        ]
        first = run.records[0]
        made.append(
            Table(
                f"Layers of the matrix-vector paper at {first.params}, beside {_peer(first)}, one thread",
                (
                    "layer",
                    "level",
                    "wall",
                    "processor",
                    "encoding",
                    "peer, wall",
                    "processor",
                    "ratio",
                    "ratio with encoding",
                    "largest relative error",
                ),
                tuple(rows),
                (
                    "The peer encodes inside its call and always works at the level of all primes; "
                    "the second ratio counts our encoding too. `ringforge bench matvec`.",
                    _sources([run]),
                ),
            )
        )
    return made


def matvec_networks(saved: Saved) -> list[Table]:
    """Networks of the demo, one image and many."""
    runs = saved.runs("matvec-conv", "matvec-deep")
    rows: list[tuple[Cell, ...]] = [
        (
            r.case,
            *_clocks(r, "s"),
            _x(r.extra["seconds_per_image"], "ms", 1e3),
            _count(2 ** int(r.extra["log_n"])),
            _count(r.extra["limbs"]),
            Value(100 * float(r.extra["accuracy_plain"]), "%", "measured"),
            f"{r.extra['same_class']} of {r.extra['images']}",
            _x(r.extra["max_error"], ""),
            Value(float(r.extra["predicted_error"]), "", "model"),
        )
        for run in runs
        for r in run.records
    ]
    heads = (
        "network",
        "wall",
        "processor",
        "an image",
        "N",
        "primes",
        "accuracy in the clear",
        "same class",
        "error",
        "predicted",
    )
    note = "Handwritten digits that the networks were not trained on. `ringforge bench matvec --network conv`, `deep`."
    return (
        [Table("Networks on encrypted images, one thread", heads, tuple(rows), (note, _sources(runs)))] if rows else []
    )


_RING = {
    "ntt": "NTT of one limb",
    "intt": "inverse NTT of one limb",
    "rotate": "rotation",
    "rotate_hoisted": "hoisted rotation (of 8)",
    "multiply": "multiply, relinearise, rescale",
    "linear_transform": "BSGS linear transform, 128 diagonals",
}


def ring(saved: Saved) -> list[Table]:
    """Primitives beside Lattigo."""
    made = []
    for run in saved.runs("ring"):
        rows: list[tuple[Cell, ...]] = [
            (
                _RING.get(r.case, r.case),
                r.params,
                *_clocks(r, "ms", 1e3),
                *_peer_clocks(r, "ms", 1e3),
                _d(r.ratio),
            )
            for r in run.records
        ]
        first = next((r for r in run.records if r.peer), run.records[0])
        made.append(
            Table(
                f"Primitives of CKKS beside {_peer(first)}, one thread",
                ("operation", "parameters", "wall", "processor", "peer, wall", "processor", "ratio"),
                tuple(rows),
                ("At the highest level, equal primes on both sides. `ringforge bench ring`.", _sources([run])),
            )
        )
    return made


def matmul(saved: Saved) -> list[Table]:
    """Products of the matrix-product paper beside Lattigo and the published algorithm, and our sets of 128 bits."""
    runs = sorted(saved.runs("matmul-matmul-[abc](-(?!128).*)?"), key=lambda run: run.date)
    return [
        *_products(
            runs,
            "Products of encrypted matrices at the paper's shapes and sets, one thread",
            "Entries in [-1, 1], inputs at the level named. Published: Lattigo with the same N, limbs and special "
            "primes, a rotation and a plaintext product for each non-zero diagonal; merged: with diagonals merged that "
            "agree modulo the slots; naive: the published Algorithm 2 in our own code. The three columns say how many "
            "times longer each takes; * is estimated from samples, because a whole run would take more than three "
            "minutes. Sets of the paper are below 128 bits. `ringforge bench matmul`.",
        ),
        *_products(
            sorted(saved.runs("matmul-matmul-[abc]-128(-both|-auto)?"), key=lambda run: run.date),
            "The same at sets of 128 bits of security, one thread",
            "`ringforge bench matmul --params matmul-a-128`.",
        ),
        *_vectors(saved),
    ]


def _products(runs: list[Run], title: str, about: str) -> list[Table]:
    newest: dict[tuple[str, str, str, int | None], Record] = {}
    for run in runs:
        for r in run.records:
            newest[r.params, r.case, r.algorithm, r.level] = r
    rows: list[tuple[Cell, ...]] = []
    for (params, case, algorithm, level), r in sorted(newest.items(), key=lambda item: item[0][:2]):
        if algorithm in ("fame", "batch"):
            continue
        naive = newest.get((params, case, "fame", level))
        merged = r.extra.get("peer_seconds_merged")
        rows.append(
            (
                case,
                params,
                _count(level),
                *_clocks(r, "s"),
                _x(r.encode_seconds, "s"),
                _slower(_times_longer(naive, r), naive is not None and naive.extra["extrapolated"]),
                _slower(r.ratio, r.extra.get("peer_extrapolated")),
                _slower(merged / r.seconds if merged else None, r.extra.get("peer_extrapolated")),
                _count(r.extra["key_switches"]),
                _count(r.extra["keys"]),
                _x(r.extra["key_mib"], "MiB"),
            )
        )
    heads = (
        "m-l-n",
        "set",
        "level",
        "wall",
        "processor",
        "encoding",
        "naive",
        "published",
        "merged",
        "key switches",
        "keys",
        "keys' size",
    )
    return [Table(title, heads, tuple(rows), (about, _sources(runs)))] if rows else []


def _times_longer(other: Record | None, r: Record) -> float | None:
    """How many times as long another record's work takes, by a clock that both have."""
    for theirs, ours in (
        () if other is None else ((other.cpu_seconds, r.cpu_seconds), (other.wall_seconds, r.wall_seconds))
    ):
        if theirs and ours:
            return theirs / ours
    return None


def _slower(times: float | None, estimated: object) -> Cell:
    value = _d(times)
    return f"{value.text()} *" if value is not None and estimated else value


def _vectors(saved: Saved) -> list[Table]:
    runs = sorted(saved.runs("matmul-vectors", "matmul-matmul-b-128-fold-auto"), key=lambda run: run.date)[-1:]
    rows: list[tuple[Cell, ...]] = [
        (
            r.case,
            r.algorithm,
            _count(r.level),
            *_clocks(r, "ms", 1e3),
            _count(r.extra["key_switches"]),
            _count(r.extra["keys"]),
        )
        for run in runs
        for r in run.records
    ]
    heads = ("m-l-n", "method", "level", "wall", "processor", "key switches", "keys")
    about = "A vector times a matrix by folding, and by the method for matrices. matmul-b-128."
    return (
        [Table("Encrypted vectors times encrypted matrices, one thread", heads, tuple(rows), (about, _sources(runs)))]
        if rows
        else []
    )


def gates(saved: Saved) -> list[Table]:
    """Gates and integers beside tfhe-rs, published sets beside their paper."""
    runs = saved.runs("gates-gates-128.*", "gates-paper-.*")
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for r in run.records:
            paper = r.peer == "paper"
            rows.append(
                (
                    r.case,
                    f"{r.params}, {r.algorithm}",
                    run.kernels,
                    _count(r.threads),
                    *_clocks(r, "ms", 1e3),
                    *((None, None) if paper else _peer_clocks(r, "ms", 1e3)),
                    None if paper else _d(r.ratio),
                    Value(r.peer_seconds * 1e3, "ms", "paper") if paper and r.peer_seconds else None,
                )
            )
    made = []
    if rows:
        made.append(
            Table(
                "Gates with their bootstraps, time of one gate",
                (
                    "gate",
                    "set, accumulator",
                    "kernels",
                    "threads",
                    "wall",
                    "processor",
                    "tfhe-rs, wall",
                    "processor",
                    "ratio",
                    "the paper's accelerator",
                ),
                tuple(rows),
                (
                    "`gates-128`: 128 bits, every gate fails below 2^-64, tfhe-rs at the same probability. Of many at "
                    "once: time over their number. The paper's is an FPGA's, amortised over 12. "
                    "`ringforge bench gates`.",
                    _sources(runs),
                ),
            )
        )
    return made + _integers(saved)


def _integers(saved: Saved) -> list[Table]:
    names = {"add": "addition", "min": "minimum", "mul": "product"}
    runs = saved.runs("gates-integers-.*")
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for r in run.records:
            found = re.fullmatch(r"([a-z]+)(\d+)", r.case)
            case = f"{names.get(found[1], found[1])}, {found[2]} bits" if found else r.case
            bootstraps = _count(r.extra["bootstraps"])
            rows.append((case, bootstraps, *_clocks(r, "ms", 1e3), *_peer_clocks(r, "ms", 1e3), _d(r.ratio)))
    about = "Both sides fail below 2^-64; fresh operands; ratio of processor time. `ringforge bench gates --integers`."
    heads = ("operation", "bootstraps", "wall", "processor", "tfhe-rs, wall", "processor", "ratio")
    return [Table("Encrypted integers, one thread", heads, tuple(rows), (about, _sources(runs)))] if rows else []


def psi(saved: Saved) -> list[Table]:
    """Private set intersection: look-ups, the published way, polynomials."""
    runs = saved.runs("psi-ringforge-.*", "psi-paper-.*", r"psi-poly-\d+-\d+(-labels-\d+)?")
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for r in run.records:
            sent, received = _moved(r)
            paper = r.peer == "paper"
            labels = re.search(r"labels-(\d+)", run.name)
            rows.append(
                (
                    r.params + (f", labels of {labels[1]} bytes" if labels else ""),
                    {"ringforge": "look-ups", "paper": "the published look-ups", "poly": "polynomials"}[r.algorithm],
                    _count(r.threads),
                    _x(r.seconds, "s"),
                    _x(sent, "MiB", 2**-20),
                    _x(received, "MiB", 2**-20),
                    Value(r.peer_seconds, "s", "paper") if paper and r.peer_seconds else None,
                    Value(float(r.extra["paper_sent_mib"]), "MiB", "paper") if paper else None,
                    Value(float(r.extra["paper_received_mib"]), "MiB", "paper") if paper else None,
                )
            )
    heads = (
        "sets of server and client",
        "protocol",
        "threads",
        "server's time",
        "client sends",
        "client receives",
        "the paper's time",
        "the paper's sent",
        "the paper's received",
    )
    about = (
        "Look-ups: wall time of all queries, server and client as two processes over loopback; elements are integers "
        "of 32 bits. Polynomials: processor time of the server's thread. `ringforge bench psi`."
    )
    return [Table("Private set intersection", heads, tuple(rows), (about, _sources(runs)))] if rows else []


def _moved(r: Record) -> tuple[float | None, float | None]:
    if "sent" in r.extra:
        return sum(r.extra["sent"].values()), sum(r.extra["received"].values())
    if "request_bytes" in r.extra:
        keys, prf = r.extra.get("key_bytes", 0), r.extra["prf_bytes"] / 2
        return keys + r.extra["request_bytes"] + prf, r.extra["reply_bytes"] + prf
    return None, None


def omr(saved: Saved) -> list[Table]:
    """Message retrieval: stages beside what SophOMR states, operations beside Lattigo, posting."""
    made = []
    runs = saved.runs("omr-stages-.*")
    rows: list[tuple[Cell, ...]] = [
        (
            r.case,
            _count(r.threads),
            *_clocks(r, "s"),
            None if r.peer_seconds is None else Value(r.peer_seconds, "s", "paper"),
            _d(r.ratio),
        )
        for run in runs
        for r in run.records
    ]
    if rows:
        about = (
            "65,536 entries, 50 messages, set `ringforge`: 130 bits, a message missed or wrong below 2^-40. SophOMR's "
            "times are its own, on a Sapphire Rapids, at 114 bits. `ringforge bench omr`."
        )
        titles: tuple[str, ...] = ("stage", "threads", "wall", "processor", "SophOMR, as it states", "ratio")
        made.append(Table("Detection in a bulletin", titles, tuple(rows), (about, _sources(runs))))
    runs = saved.runs("omr-omr")
    rows = [
        (r.case, *_clocks(r, "ms", 1e3), *_peer_clocks(r, "ms", 1e3), _d(r.ratio)) for run in runs for r in run.records
    ]
    if rows:
        about = "N = 2^16, the primes of message retrieval; the ratio is of processor time. `ringforge bench omr`."
        titles = ("operation", "wall", "processor", "peer, wall", "processor", "ratio")
        made.append(
            Table(
                f"Operations of BFV beside {_peer(runs[0].records[0])}, one thread",
                titles,
                tuple(rows),
                (about, _sources(runs)),
            )
        )
    runs = saved.runs("omr-posting-.*")
    rows = [(r.case, *_clocks(r, "us", 1e6), _x(r.extra["a_second"], "")) for run in runs for r in run.records]
    if rows:
        about = "Posted by two clients to a board's service, until they are on disk. `ringforge bench omr --posting`."
        made.append(
            Table(
                "Posting",
                ("board", "an entry, wall", "processor, all sides", "entries a second"),
                tuple(rows),
                (about, _sources(runs)),
            )
        )
    return made


def aes(saved: Saved) -> list[Table]:
    """AES on encrypted blocks."""
    runs = saved.runs("aes-run-.*")
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for r in run.records:
            if r.case != "run":
                continue
            e = r.extra
            rows.append(
                (
                    r.params + (", broken" if r.algorithm == "ltv" else ""),
                    _count(e["blocks"]),
                    _x(r.seconds, "s"),
                    _x(e["block_seconds"], "ms", 1e3),
                    _x(r.cpu_seconds, "s"),
                    _x(r.peak_mib, "GiB", 2**-10),
                    _x(e["key_bytes"], "MB", 1e-6),
                    _x(e["round_key_bytes"], "MB", 1e-6),
                    Value(float(e["predicted_budget"]), "bits", "model"),
                    _x(e["measured_budget"], "bits"),
                )
            )
    if not rows:
        return []
    minutes, block = Value(60 * figures.AES_MINUTES, "s", "paper"), Value(figures.BLOCK_MS, "ms", "paper")
    rows.append(("the paper's accelerator and PC", None, minutes, block, *[None] * 6))
    heads = (
        "set",
        "blocks",
        "time",
        "a block",
        "processor time",
        "memory",
        "keys",
        "round keys",
        "noise left, predicted",
        "measured",
    )
    about = (
        "AES-128 of encrypted blocks, two threads, every block compared with AES in the clear after every round. "
        "Memory includes the client. `ringforge bench aes --run`."
    )
    return [Table("AES on encrypted blocks", heads, tuple(rows), (about, _sources(runs)))]


def scale(saved: Saved) -> list[Table]:
    """Work in the shards of clusters, beside `cpu`."""
    rows: list[tuple[Cell, ...]] = []
    runs = saved.runs("scale-.+")
    for run in runs:
        for system in dict.fromkeys(r.system for r in run.records):
            base = None
            for party in dict.fromkeys(r.algorithm for r in run.records if r.system == system):
                mine = [r for r in run.records if (r.system, r.algorithm) == (system, party)]
                first, again = (_median_of(mine, when, "seconds") for when in ("first", "again"))
                base, last = base or (first, again), mine[-1].extra
                planned = last.get("planned", {})
                rows.append(
                    (
                        f"{system}: {mine[0].case}",
                        party,
                        *(x for t, b in zip((first, again), base, strict=True) for x in (_x(t, "s"), _d(b / t))),
                        _x(_median_of(mine, "again", "cpu_seconds"), "s"),
                        _x(last["first"]["received"], "MB", 1e-6),
                        _planned(planned.get("traffic")),
                        _x(last.get("store"), "MB", 1e-6),
                        _planned(planned.get("store")),
                    )
                )
    if not rows:
        return []
    columns = ("work", "party", "first", "speed-up", "again", "speed-up", "processors, again")
    sizes = ("between nodes, first", "predicted", "fullest store", "predicted")
    notes = (
        "`cpu N`: one process of N threads. `ray N`: N node managers with one worker of one thread each, the driver on "
        "the first one. First: a session is opened, which puts its keys and tables, and asked; again: it is asked once "
        "more. Speed-ups are to `cpu 1`; medians of rounds. `ringforge bench scale`.",
        _sources(runs),
    )
    return [Table("Work in shards of a Ray cluster on one machine", (*columns, *sizes), tuple(rows), notes)]


def _median_of(records: Sequence[Record], when: str, what: str) -> float:
    return float(statistics.median(r.extra[when][what] for r in records))


def _planned(count: float | None) -> Value | None:
    return None if count is None else Value(count * 1e-6, "MB", "model")


SECTIONS: dict[str, tuple[Callable[[Saved], list[Table]], ...]] = {
    "matvec": (matvec_layers, matvec_networks, ring),
    "matmul": (matmul,),
    "psi": (psi,),
    "gates": (gates,),
    "omr": (omr,),
    "aes": (aes,),
}
"""The tables of each system."""
