# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge explain`: what work takes on a cluster, before there is one. Systems register theirs as entry points."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ringforge.cli.console import console, seconds_text, size_text
from ringforge.cli.output import ROWS, AsJson, Result, emit, prints
from ringforge.devices.scaling import Cluster, Prediction, Stage, Workload, predict_work, useful
from ringforge.errors import FormatError, ParameterError
from ringforge.registered import load, registered
from ringforge.shown import ShownTable
from ringforge.unique import once_each

_GROUP = "ringforge.workloads"

#: Of a file of counts that are read, at most.
_MOST_BYTES = 1 << 20
_MOST_WORKERS = 4096


class StageLine(Result):
    """One stage, at the most workers asked for."""

    name: str
    """Of the stage."""
    shards: int
    """That may be computed at once."""
    seconds: float
    """Of all shards together, one thread."""
    longest: float
    """Seconds of the longest shard."""
    shared: int
    """Bytes that all shards read."""
    stored: int
    """Bytes of all values that are put for it, each once."""
    sent: int
    """Bytes that travel with shards."""
    returned: int
    """Bytes of results."""
    memory: int
    """Bytes that a worker needs of its own, at the most."""


class WorkersLine(Result):
    """The whole work on so many workers."""

    workers: int
    """Shards at a time."""
    nodes: int
    """The fewest that have as many."""
    seconds: float
    """From the first value put to the last result."""
    speed: float
    """Times as fast as one worker."""
    traffic: int
    """Bytes between nodes."""
    put: int
    """Bytes put into the store."""
    store: int
    """Bytes in the store of the fullest node."""
    memory: int
    """Bytes that the workers of one node need of their own."""


class Explained(Result):
    """What work takes on a cluster, as planned."""

    system: str
    """Whose work."""
    work: str
    """In words."""
    pieces: int
    """Of the work, one after the other, with all workers; stages are of one."""
    stages: list[StageLine]
    """Of one piece, and before the first one."""
    workers: list[WorkersLine]
    """By the number of workers."""
    enough: int
    """Workers beyond which more of them save less than 2 % of the time, of those predicted."""
    measured: list[str]
    """Functions whose seconds are as measured."""


def systems() -> list[str]:
    """Systems whose work can be explained."""
    return list(registered(_GROUP))


@prints(ROWS, Explained)
def explain(
    system: Annotated[str, typer.Argument(help="omr, psi, gates, matmul or aes.", autocompletion=systems)],
    workers: Annotated[
        int, typer.Option(min=1, max=_MOST_WORKERS, help="At the most; 1, 2, 4 ... up to them are predicted.")
    ] = 16,
    threads: Annotated[
        int, typer.Option(min=1, max=1024, help="Of each worker; shards are taken to use them all.")
    ] = 1,
    per_node: Annotated[int, typer.Option("--per-node", min=1, help="Workers of a node, at the most.")] = 16,
    network: Annotated[float, typer.Option(min=0.001, help="Between two nodes, in Gbit/s.")] = 10.0,
    name: Annotated[
        str, typer.Option("--set", help="Parameter set; of psi direct, oprf or poly. Default: the system's.")
    ] = "",
    size: Annotated[
        int,
        typer.Option(
            min=0,
            help="Of the work: bulletins of omr, elements of psi's server, gates of a level, rows of matmul's square "
            "matrices, blocks of aes. 0: the system's default.",
        ),
    ] = 0,
    measured: Annotated[
        Path | None,
        typer.Option(
            help="Counts of a pool that ran such shards: their seconds count; made by `device.pool.counts.write`."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What work takes on the workers of a cluster, before there is one: time, traffic, memory.

    Seconds are those of the systems' plans, for the processor that the plans were measured on. Shards wait for the
    worker that is free first; values go to each node that reads them once.

    Examples: `ringforge explain omr --workers 64 --size 16`, `ringforge explain matmul --per-node 4 --network 25`
    """
    entry = registered(_GROUP).get(system)
    if entry is None:
        raise ParameterError(f'"{system[:32]}" has no work in shards: there are {", ".join(systems())}')
    make: Callable[[str, int], Workload] = load(entry)
    work = make(name, size)
    factors = {} if measured is None else read_measured(measured)
    clusters = [Cluster(w, per_node, network * 1e9 / 8) for w in _powers(workers)]
    found = [predict_work(work, c, _threaded(factors, threads, work, c.workers)) for c in clusters]
    answer = Explained(
        system=system,
        work=work.what,
        pieces=work.pieces(workers),
        stages=[_stage(s) for s in (*work.first(workers), *work.stages(workers))],
        workers=[_line(p, c, found[0]) for p, c in zip(found, clusters, strict=True)],
        enough=useful(found),
        measured=sorted(factors),
    )
    if as_json:
        emit(answer)
    else:
        _show(answer)


def read_measured(path: Path) -> dict[str, float]:
    """How many times as long shards took as their costs said, by function.

    Raises:
        FormatError: the file has no counts of shards. OSError: it cannot be read.
    """
    refused = FormatError(f"{path.name} has no counts of shards: write it with `device.pool.counts.write(FILE)`")
    with path.open("rb") as f:
        data = f.read(_MOST_BYTES + 1)
    try:
        given: Any = json.loads(data, object_pairs_hook=once_each) if len(data) <= _MOST_BYTES else None
        if given["format"] != "ringforge-shard-costs" or given["version"] != 1:
            raise refused
        factors = {
            str(function): float(kind["cpu_seconds"]) / float(kind["predicted"])
            for function, kind in given["kinds"].items()
            if kind["shards"] and kind["predicted"]
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ArithmeticError) as e:
        raise refused from e
    if not all(math.isfinite(x) and x > 0 for x in factors.values()):
        raise refused
    return factors


def _threaded(factors: dict[str, float], threads: int, work: Workload, workers: int) -> dict[str, float]:
    return {s.function: factors.get(s.function, 1.0) / threads for s in (*work.first(workers), *work.stages(workers))}


def _powers(most: int) -> list[int]:
    found = [1 << i for i in range(most.bit_length()) if 1 << i <= most]
    return found if found[-1] == most else [*found, most]


def _stage(s: Stage) -> StageLine:
    return StageLine(
        name=s.name,
        shards=len(s.costs),
        seconds=sum(c.seconds for c in s.costs),
        longest=max((c.seconds for c in s.costs), default=0.0),
        shared=s.shared,
        stored=(s.shared if s.costs else 0) + s.own,
        sent=sum(c.sent for c in s.costs),
        returned=sum(c.result for c in s.costs),
        memory=max((c.memory for c in s.costs), default=0),
    )


def _line(p: Prediction, c: Cluster, one: Prediction) -> WorkersLine:
    return WorkersLine(
        workers=p.workers,
        nodes=c.nodes,
        seconds=p.seconds,
        speed=one.seconds / p.seconds if p.seconds else 1.0,
        traffic=p.traffic,
        put=p.put,
        store=p.store,
        memory=p.memory,
    )


def _show(answer: Explained) -> None:
    out = console()
    stages = ShownTable(title=answer.work, title_justify="left")
    for label in ("stage", "shards", "seconds of all", "longest", "put", "sent", "returned", "memory of each"):
        stages.add_column(label, justify="left" if label == "stage" else "right")
    for s in answer.stages:
        sizes = (size_text(n) for n in (s.stored, s.sent, s.returned, s.memory))
        stages.add_row(s.name, f"{s.shards:,}", seconds_text(s.seconds), seconds_text(s.longest), *sizes)
    out.print(stages)
    each = ShownTable(title=f"workers, for all (with {answer.workers[-1].workers:,}: {answer.pieces:,} of the above)")
    each.title_justify = "left"
    for label in ("workers", "nodes", "time", "times as fast", "traffic", "store", "memory of a node's workers"):
        each.add_column(label, justify="right")
    for w in answer.workers:
        sizes = (size_text(n) for n in (w.traffic, w.store, w.memory))
        each.add_row(f"{w.workers:,}", f"{w.nodes:,}", seconds_text(w.seconds), f"{w.speed:.2f}", *sizes)
    out.print(each)
    out.print(f"more than {answer.enough} workers save less than 2 % of the time")
