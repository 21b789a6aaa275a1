# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge bench`: side by side with peers, in one run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ringforge import ltv
from ringforge.aes.engine import as_direction
from ringforge.cli.console import console
from ringforge.cli.options import output_file, overwrites
from ringforge.cli.output import TEXT, AsJson, emit, prints
from ringforge.lab.bench import aes as aes_bench
from ringforge.lab.bench import aes_host, aes_runs, gate_integers, omr_boards, omr_posting, omr_profile
from ringforge.lab.bench import gates as gates_bench
from ringforge.lab.bench import hlt as hlt_bench
from ringforge.lab.bench import matmul as matmul_bench
from ringforge.lab.bench import matvec as matvec_bench
from ringforge.lab.bench import networks as network_bench
from ringforge.lab.bench import omr as omr_bench
from ringforge.lab.bench import psi as psi_bench
from ringforge.lab.bench import psi_poly as poly_bench
from ringforge.lab.bench import ring as ring_bench
from ringforge.lab.bench import scale as scale_bench
from ringforge.lab.bench.answers import BenchLine, HltLine, emit_line
from ringforge.lab.papers.matmul.parameters import INSECURE_REASON
from ringforge.lab.tables import TableList, answers, render
from ringforge.lab.timing import Machine
from ringforge.omr.sets import Set
from ringforge.omr.sets import named as named_omr
from ringforge.params import named
from ringforge.runs import Record, duration, save, table

app = typer.Typer(
    help="Measure Ringforge beside a peer, alternating on this machine.", no_args_is_help=True, add_completion=False
)

#: Of tables that go into a file or pipe.
_WIDTH = 170


class MatvecPeer(StrEnum):
    """Peers of `bench matvec`."""

    tenseal = "tenseal"
    none = "none"


class LattigoPeer(StrEnum):
    """Peers of `bench ring` and `bench matmul`."""

    lattigo = "lattigo"
    none = "none"


class TfhePeer(StrEnum):
    """Peers of `bench gates`."""

    tfhe = "tfhe"
    none = "none"


class OmrMethod(StrEnum):
    """Methods of `bench omr --stages`."""

    ringforge = "ringforge"
    paper = "paper"


class FlintPeer(StrEnum):
    """Peers of `bench aes`."""

    flint = "flint"
    none = "none"


class PsiAlgorithm(StrEnum):
    """Algorithms of `bench psi`."""

    ringforge = "ringforge"
    paper = "paper"
    both = "both"


def _finish(records: Iterable[Record], title: str, as_json: bool, folder: Path | None, name: str) -> list[Record]:
    """Prints and saves records as they come, each with the load of the machine around it; returns them."""
    status = console(stderr=True)
    machine = Machine()
    done: list[Record] = []
    for made in records:
        done.append(r := replace(made, machine=machine.around()))
        if folder is not None:
            # After each: a run of an hour that is cut off leaves what it has.
            path = save(done, folder, f"{name}-{machine.environment['date'][:10]}", machine.environment)
        if as_json:
            emit_line(r)
        else:
            level = "" if r.level is None else f" at level {r.level}"
            status.print(f"  {r.case}{level}: {_both(r.wall_seconds, r.cpu_seconds)}{_peer(r)}", style="dim")
    if not as_json:
        screen = console(width=_WIDTH)
        screen.print(table(done, title))
        screen.print(machine.text(), soft_wrap=True)
    if folder is not None and done:
        status.print(f"written to {path}")
    return done


def _both(wall: float | None, cpu: float | None) -> str:
    return f"wall {duration(wall)}, processor {duration(cpu)}"


def _peer(r: Record) -> str:
    return "" if r.peer is None else f"; {r.peer}: {_both(r.peer_wall_seconds, r.peer_cpu_seconds)}"


def _print(shown: Table) -> None:
    console(width=_WIDTH).print(shown)


@app.command("matvec")
@prints(TEXT, BenchLine, version=2, lines=True)
def matvec_command(
    layer: Annotated[
        list[str] | None,
        typer.Option(help="Layer of the paper's Table IV, or all; may be repeated."),
    ] = None,
    params: Annotated[str, typer.Option(help="Parameter set.")] = "set-b",
    threads: Annotated[int, typer.Option(min=1, help="Threads, on both sides.")] = 1,
    level: Annotated[
        str, typer.Option(help="full, auto or both: level of our inputs. TenSEAL always uses all primes.")
    ] = "both",
    algorithm: Annotated[str, typer.Option(help="bsgs, diagonal, horner or auto.")] = "bsgs",
    peer: Annotated[MatvecPeer, typer.Option(help="tenseal, or none for our side alone.")] = MatvecPeer.tenseal,
    insecure: Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")] = "",
    network: Annotated[
        str, typer.Option(help="conv or deep: a network on 200 digits instead, ours alone, beside itself in the clear.")
    ] = "",
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Neural-network layers beside TenSEAL.

    TenSEAL takes minutes for a layer. "full" and "auto" compare our evaluation at the level of all primes, and
    at the lowest level that holds the result.

    Examples: ringforge bench matvec --layer rnnt-fc0 --peer none; ringforge bench matvec --network conv
    """
    if network:
        if network not in {"conv", "deep"}:
            raise typer.BadParameter(f"--network {network}: there are conv and deep")
        runs = network_bench.run(network, threads=threads)
        done = _finish(runs, f"{network} network on digits", as_json, save_to, f"matvec-{network}")
        for r in done:
            e = r.extra
            console(stderr=True).print(
                f"{r.case}: {1000 * r.seconds:.1f} ms, {1000 * e['seconds_per_image']:.2f} ms an image; "
                f"{e['same_class']} of {e['images']} classes as in the clear; error {e['max_error']:.2g}, predicted at "
                f"most {e['predicted_error']:.2g}; accuracy of the network {e['accuracy_plain']:.1%}"
            )
        if any(r.extra["same_class"] != r.extra["images"] for r in done):
            raise typer.Exit(1)
        return
    layers = layer or ["rnnt-fc0", "ds2-gru", "rnnt-lstm"]
    if layers == ["all"]:
        layers = matvec_bench.all_layers()
    unknown = set(layers) - set(matvec_bench.all_layers())
    if unknown or level not in {"full", "auto", "both"}:
        raise typer.BadParameter(
            f"layers are {', '.join(matvec_bench.all_layers())} or all; --level is full, auto or both"
        )
    levels = matvec_bench.LEVELS if level == "both" else (level,)
    records = matvec_bench.compare(
        layers,
        params,
        levels,
        threads=threads,
        peer=peer is not MatvecPeer.none,
        algorithm=algorithm,
        insecure=insecure,
    )
    _finish(records, f"matvec at {params}, {threads} thread(s)", as_json, save_to, f"matvec-{params}")


@app.command("matmul")
@prints(TEXT, BenchLine, version=2, lines=True)
def matmul_command(
    shape: Annotated[
        list[str] | None,
        typer.Option(
            help="m x l times l x n, as 64x64x16; or all: the twelve of the paper's Table III. May be repeated."
        ),
    ] = None,
    params: Annotated[
        str | None,
        typer.Option(help="Parameter set; set-a, set-b, set-c: the paper's. Default: the paper's for each shape."),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads on our side; Lattigo uses one.")] = 1,
    peer: Annotated[
        LattigoPeer, typer.Option(help="lattigo (needs Go 1.21), or none for our side alone.")
    ] = LattigoPeer.lattigo,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help="ringforge, fame or another method; naive: the published product with a full key switch for each "
            "diagonal; batch: one product among as many as fit. May be repeated. Default: ringforge."
        ),
    ] = None,
    level: Annotated[
        str, typer.Option(help="full, auto or both: inputs at the highest level, or as low as the plan takes.")
    ] = "full",
    insecure: Annotated[
        str, typer.Option(metavar="REASON", help="Why a set below 128 bits is used.")
    ] = INSECURE_REASON,
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Products of two encrypted matrices beside Lattigo doing the published Algorithm 2.

    The published Algorithm 2 makes 2(l + 1) linear transforms, a rotation and a plaintext product for each non-zero
    diagonal, and one relinearised product for each k < l. "ratio" compares with that; "merged" with Lattigo saving the
    rotations by the same number of slots. Without --shape: the cubes of the paper's Table III. A peer's product of
    more than three minutes is put together from samples and marked extrapolated.

    Example: ringforge bench matmul --shape 64x64x64 --params set-a
    """
    if level not in matmul_bench.LEVELS and level != "both":
        raise typer.BadParameter("--level is full, auto or both")
    todo = matmul_bench.cases(
        shape,
        params,
        algorithms=algorithm or ["ringforge"],
        levels=matmul_bench.LEVELS if level == "both" else (level,),
        threads=threads,
        insecure=insecure,
    )
    # What differs from a plain run has a file of its own.
    sets = "-".join(dict.fromkeys(c.params for c in todo))
    sets += "".join(f"-{a}" for a in dict.fromkeys(algorithm or ()) if a != "ringforge")
    sets += "" if level == "full" else f"-{level}"
    done = _finish(
        matmul_bench.compare(todo, peer=peer is not LattigoPeer.none),
        f"matmul, {threads} thread(s), the peer on 1",
        as_json,
        save_to,
        f"matmul-{sets}",
    )
    if not as_json:
        _print(matmul_bench.details(done))


@app.command("hlt")
@prints(TEXT, HltLine, version=2, lines=True)
def hlt_command(
    params: Annotated[
        str, typer.Option(help="Parameter set; set-a, set-b, set-c: those of the matrix-product paper.")
    ] = "set-a",
    diagonals: Annotated[int, typer.Option(min=2, help="Diagonals; at set-c each needs a key of 138 MB.")] = 24,
    schedule: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(hlt_bench.SCHEDULES)}; may be repeated.")
    ] = None,
    insecure: Annotated[
        str, typer.Option(metavar="REASON", help="Why a set below 128 bits is used.")
    ] = INSECURE_REASON,
    as_json: AsJson = False,
) -> None:
    """One linear transform by each schedule: time, ciphertext traffic and working set, counted where they arise.

    Example: ringforge bench hlt --params set-c --diagonals 24 --schedule naive --schedule mo
    """
    wanted = schedule or list(hlt_bench.SCHEDULES)
    if unknown := set(wanted) - set(hlt_bench.SCHEDULES):
        raise typer.BadParameter(f"no schedule {', '.join(sorted(unknown))}")
    p = named(matmul_bench.SETS.get(params, params), insecure)
    rows = []
    for r in hlt_bench.measure(p, diagonals, wanted):
        rows.append(r)
        if as_json:
            emit(r)
    if not as_json:
        _print(hlt_bench.table(p, diagonals, rows))


@app.command("ring")
@prints(TEXT, BenchLine, version=2, lines=True)
def ring_command(
    case: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(ring_bench.CASES)}; may be repeated.")
    ] = None,
    log_n: Annotated[int, typer.Option(min=12, max=16, help="log2 of the ring degree.")] = 14,
    bits: Annotated[list[int] | None, typer.Option(help="Prime sizes; may be repeated. Default: 50 and 54.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Alternating rounds; the median is reported.")] = 3,
    peer: Annotated[LattigoPeer, typer.Option(help="lattigo (needs Go 1.21), or none.")] = LattigoPeer.lattigo,
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Transforms, rotations, products and linear transforms beside Lattigo v6.1.1, one thread.

    Example: ringforge bench ring --case ntt --case rotate --bits 50
    """
    wanted = case or list(ring_bench.CASES)
    if unknown := set(wanted) - set(ring_bench.CASES):
        raise typer.BadParameter(f"no case {', '.join(sorted(unknown))}; cases are {', '.join(ring_bench.CASES)}")
    cases = [replace(ring_bench.RingCase(name, log_n=log_n), prime_bits=b) for b in bits or [50, 54] for name in wanted]
    records = (ring_bench.compare(c, rounds, peer=peer is not LattigoPeer.none) for c in cases)
    _finish(records, f"ring primitives, N = 2^{log_n}, 1 thread", as_json, save_to, "ring")


@app.command("gates")
@prints(TEXT, BenchLine, version=2, lines=True)
def gates_command(
    params: Annotated[
        list[str] | None,
        typer.Option("--set", help="Parameter set of `ringforge gates params`; may be repeated. Default: gates-128."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="ginx, ap or automorphism. Default: ap for the paper's sets, ginx for others.")
    ] = "",
    gates: Annotated[str, typer.Option(help="Gates to time one by one, with commas between them.")] = "NAND,XOR,MUX",
    batch: Annotated[int, typer.Option(min=0, help="Independent gates of a level; 0 measures no levels.")] = 64,
    threads: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Threads for levels, on both sides; may be repeated. Default: 1 and 2."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Alternating rounds; medians are reported.")] = 5,
    budget: Annotated[float, typer.Option(min=0.0, help="Seconds for each gate and level in a round.")] = 1.0,
    peer: Annotated[
        TfhePeer, typer.Option(help="tfhe (needs Rust 1.91; built once, in minutes), or none.")
    ] = TfhePeer.tfhe,
    insecure: Annotated[
        str, typer.Option(metavar="REASON", help="Why a set below 128 bits is used.")
    ] = INSECURE_REASON,
    integers: Annotated[
        bool, typer.Option("--integers", help="Encrypted integers beside tfhe-rs's, on one thread, instead of gates.")
    ] = False,
    operations: Annotated[str, typer.Option(help="With --integers: what to time, with commas between.")] = ",".join(
        gate_integers.DEFAULT
    ),
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Gates on encrypted bits beside tfhe-rs, which is given the faster of its two sets with the same promise.

    A single gate runs on one thread, and its time is processor time; levels of independent NAND gates have the wall
    time of a gate. The paper's sets have no peer: by AP they stand beside the paper's accelerator and software.

    Examples:

        ringforge bench gates --set gates-128 --threads 1

        ringforge bench gates --set paper-std128-ap --gates NAND

        ringforge bench gates --integers --operations add32,min8,mul8
    """
    if integers:
        _integers(
            list(dict.fromkeys(params or ["gates-128"])), operations, rounds, budget, insecure, peer, as_json, save_to
        )
        return
    names = [g.strip().upper() for g in gates.split(",") if g.strip()]
    workers = tuple(dict.fromkeys(threads or (1, 2)))
    chosen = list(dict.fromkeys(params or ["gates-128"]))
    cases = [
        gates_bench.GatesCase(name, method, tuple(names), workers, batch, rounds, budget, insecure) for name in chosen
    ]
    for case in cases:
        case.check()
    records = chain.from_iterable(gates_bench.compare(case, peer=peer is not TfhePeer.none) for case in cases)
    done = _finish(records, f"gates, {rounds} rounds", as_json, save_to, f"gates-{'-'.join(chosen)}")
    if not as_json:
        _print(gates_bench.details(done))


def _integers(
    params: list[str], operations: str, rounds: int, budget: float, insecure: str, peer: TfhePeer, as_json: bool,
    save_to: Path | None,
) -> None:  # fmt: skip
    names = tuple(n.strip() for n in operations.split(",") if n.strip())
    cases = [gate_integers.IntegersCase(name, names, rounds, budget, insecure) for name in params]
    for case in cases:
        case.check()
    records = chain.from_iterable(gate_integers.compare(case, peer=peer is not TfhePeer.none) for case in cases)
    label = f"gates-integers-{'-'.join(params)}"
    done = _finish(records, f"encrypted integers, {rounds} rounds", as_json, save_to, label)
    if not as_json:
        _print(gate_integers.details(done))


@app.command("psi")
@prints(TEXT, BenchLine, version=2, lines=True)
def psi_command(
    mode: Annotated[str, typer.Option(help="direct or oprf.")] = "direct",
    bits: Annotated[int, typer.Option(help="Mode direct: bits of an element.")] = 32,
    bins: Annotated[int, typer.Option(help="log2 of the bins.")] = 14,
    elements: Annotated[int, typer.Option(min=0, max=26, help="log2 of the server's elements.")] = 20,
    client: Annotated[int, typer.Option(min=0, max=20, help="log2 of the client's elements.")] = 13,
    hashes: Annotated[int, typer.Option(min=1, max=3, help="Bins each element is put into.")] = 3,
    algorithm: Annotated[
        PsiAlgorithm, typer.Option(help="ringforge, paper (the published one), or both in turn.")
    ] = PsiAlgorithm.ringforge,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the server, and of the client.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each algorithm or size; the median is reported.")] = 1,
    sizes: Annotated[
        str, typer.Option(help="Instead: log2 of several servers' elements, as 12,16,20, planned for the largest.")
    ] = "",
    instances: Annotated[int, typer.Option(min=1, help="With --sizes: random sets, each with two clients.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the random sets.")] = 1,
    poly: Annotated[
        bool, typer.Option("--poly", help="Instead: the protocol by polynomials in memory, by processor time.")
    ] = False,
    label_bytes: Annotated[int, typer.Option(min=0, help="With --poly: bytes of the longest label; 0 for none.")] = 0,
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """A server and a client as two processes over loopback, beside the paper's Table 4.

    Builds a table of random elements in a temporary folder, asks, and compares the result with the intersection in the
    clear. The time is the server's wall time of the queries; with --sizes it is its processor time of a whole run, and
    shows that it does not depend on how many elements the server has.

    Examples:

        ringforge bench psi --bins 14 --bits 32

        ringforge bench psi --bits 26 --bins 10 --client 9 --sizes 12,14,16,18,20,22

        ringforge bench psi --poly --elements 18 --client 10 --threads 1 --rounds 5 --label-bytes 16
    """
    if poly:
        wanted_case = poly_bench.PolyCase(elements, client, label_bytes, threads, seed=seed)
        name = f"psi-poly-{elements}-{client}" + (f"-labels-{label_bytes}" if label_bytes else "")
        done = _finish(poly_bench.compare([wanted_case], rounds), f"psi, {rounds} round(s)", as_json, save_to, name)
        if not as_json:
            _print(poly_bench.details(done))
        return
    kinds = psi_bench.ALGORITHMS if algorithm is PsiAlgorithm.both else (algorithm.value,)
    first = psi_bench.PsiCase(mode, bits, bins, elements, client, kinds[0], hashes, threads, seed=seed)
    name = f"psi-{mode}-{bins}"
    if not sizes:
        cases = [replace(first, algorithm=kind) for kind in kinds]
        done = _finish(psi_bench.compare(cases, rounds), f"psi, {rounds} round(s)", as_json, save_to, name)
    else:
        try:
            wanted = [int(size) for size in sizes.split(",")]
        except ValueError:
            raise typer.BadParameter("--sizes are integers with commas between them, as 12,16,20") from None
        if len(kinds) > 1:
            raise typer.BadParameter("--sizes measures one algorithm at a time")
        records = psi_bench.independence(first, wanted, instances, rounds)
        done = _finish(
            records, f"psi, server's processor time, {instances} instance(s)", as_json, save_to, name + "-sizes"
        )
    if not as_json:
        _print(psi_bench.details(done))
        if sizes:
            console(width=_WIDTH).print(psi_bench.verdict(done))


def _profile(chosen: Set, plot: Path | None, as_json: bool) -> None:
    if plot is not None:
        omr_profile.check_picture(plot)
    found = list(omr_profile.profiles(chosen))
    made = [omr_profile.table(chosen, found)]
    if plot is not None:
        omr_profile.plot(chosen, found, plot)
    if as_json:
        emit(answers(made))
    else:
        print(render(made, width=_WIDTH))


@app.command("omr")
@prints(TEXT, BenchLine | TableList, version=2, lines=True)
@overwrites
def omr_command(
    case: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(omr_bench.CASES)}; may be repeated; all by default.")
    ] = None,
    params: Annotated[str, typer.Option("--set", help="BFV parameter set.")] = "omr",
    diagonals: Annotated[int, typer.Option(min=1, max=1024, help="Of the slice of the affine transform.")] = 128,
    babies: Annotated[int, typer.Option(min=1, max=1024, help="Baby steps of ours there; two keys in any case.")] = 16,
    log_bsgs: Annotated[int, typer.Option(min=0, max=6, help="log2 of Lattigo's baby over giant steps.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, in which the sides take turns; medians.")] = 3,
    budget: Annotated[float, typer.Option(min=0.01, help="Seconds of each measurement.")] = 1.0,
    peer: Annotated[LattigoPeer, typer.Option(help="lattigo, or none for our side alone.")] = LattigoPeer.lattigo,
    profile: Annotated[
        str, typer.Option(help="Instead: where detection's time goes at this OMR set, such as ringforge, by method.")
    ] = "",
    stages: Annotated[
        str, typer.Option(help="Instead: the stages of detection at this OMR set, beside what SophOMR states.")
    ] = "",
    posting: Annotated[
        str, typer.Option(help="Instead: entries a second that a board of this OMR set takes, such as ringforge.")
    ] = "",
    database: Annotated[
        list[str] | None, typer.Option(help="Of --posting: sqlite or postgresql; may be repeated; both by default.")
    ] = None,
    entries: Annotated[int, typer.Option(min=1, max=1 << 18, help="Of --posting, in each round.")] = 16_384,
    clients: Annotated[int, typer.Option(min=1, max=8, help="Of --posting, at a time.")] = 2,
    method: Annotated[OmrMethod, typer.Option(help="Of --stages: this library's, or SophOMR's.")] = OmrMethod.ringforge,
    boards: Annotated[
        str, typer.Option(help="Instead: what one receiver gets of whole boards of this OMR set, real signals and all.")
    ] = "",
    pertinent: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            help="With --boards: messages on a board; may be repeated; "
            f"{', '.join(map(str, omr_boards.PERTINENT))} by default.",
        ),
    ] = None,
    capacity: Annotated[int, typer.Option(min=1, help="With --boards: messages that the first digest holds.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="With --boards: of places and lengths of messages.")] = 0,
    threads: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Of --stages; may be repeated; 1 and 2 by default. Of --boards: one number, 2."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="With --profile: also a picture, .png, .svg or .pdf.", callback=output_file)
    ] = None,
    insecure: Annotated[str, typer.Option(help="Reason to use a set below 128 bits.")] = "",
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """BFV and the affine transform of message retrieval beside Lattigo: same primes, digits, outputs, one thread.

    Takes some minutes and 5 GiB: Lattigo's 128 encoded diagonals and their keys. Times are processor time.

    Examples:

        ringforge bench omr

        ringforge bench omr --case rotation --case product --rounds 7

        ringforge bench omr --stages ringforge

        ringforge bench omr --stages ringforge --method paper --threads 2

        ringforge bench omr --profile ringforge --plot profile.png

        ringforge bench omr --posting ringforge --database sqlite

        ringforge bench omr --boards ringforge --save bench/results
    """
    if plot is not None and not profile:
        raise typer.BadParameter("--plot draws what --profile SET measures: give both")
    if sum(map(bool, (profile, stages, posting, boards))) > 1:
        raise typer.BadParameter("--profile, --stages, --posting and --boards are measurements of their own: name one")
    if posting:
        wanted_posts = omr_posting.PostingCase(
            named_omr(posting, insecure), entries=entries, clients=clients, rounds=rounds
        )
        of = tuple(dict.fromkeys(database or omr_posting.DATABASES))
        made = omr_posting.compare(wanted_posts, of)
        done = _finish(made, f"posting, {rounds} rounds, wall time of one", as_json, save_to, f"omr-posting-{posting}")
        if not as_json:
            _print(omr_posting.verdict(done))
        return
    if stages:
        counts = tuple(dict.fromkeys(threads or (1, 2)))
        found = omr_profile.beside_sophomr(named_omr(stages, insecure), counts, method.value)
        name = f"omr-stages-{stages}" + ("" if method is OmrMethod.ringforge else f"-{method.value}")
        _finish(found, "detection, wall time; SophOMR's times are its own", as_json, save_to, name)
        return
    if boards:
        if len(threads or ()) > 1:
            raise typer.BadParameter("--boards takes one number of --threads")
        chosen_boards = tuple(pertinent) if pertinent else omr_boards.PERTINENT
        run = omr_boards.boards(named_omr(boards, insecure), chosen_boards, capacity, (threads or [2])[0], seed)
        done = _finish(run, "omr, whole boards", as_json, save_to, f"omr-boards-{boards}")
        if not as_json:
            _print(omr_boards.verdict(done))
        omr_boards.require_good(done)
        return
    if profile:
        _profile(named_omr(profile, insecure), plot, as_json)
        return
    chosen = tuple(dict.fromkeys(case or omr_bench.CASES))
    wanted = omr_bench.OmrCase(
        params,
        diagonals=diagonals,
        babies=babies,
        log_bsgs=log_bsgs,
        rounds=rounds,
        budget_s=budget,
        insecure=insecure,
    )
    wanted.check()
    records = omr_bench.compare(wanted, chosen, peer is not LattigoPeer.none)
    done = _finish(records, f"omr, {rounds} rounds, processor time", as_json, save_to, f"omr-{params}")
    if not as_json:
        _print(omr_bench.verdict(done))


@app.command("aes")
@prints(TEXT, BenchLine, version=2, lines=True)
def aes_command(
    case: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(aes_bench.CASES)}; may be repeated; all by default.")
    ] = None,
    primes: Annotated[int, typer.Option(min=1, max=64, help="Primes of 31 bits; the paper has 41.")] = 41,
    threads: Annotated[
        list[int] | None, typer.Option(min=1, help="Of ours; may be repeated; 1 and 2 by default.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, in which the sides take turns; medians.")] = 3,
    budget: Annotated[float, typer.Option(min=0.01, help="Seconds of each measurement.")] = 0.5,
    peer: Annotated[FlintPeer, typer.Option(help="flint (needs python-flint), or none.")] = FlintPeer.flint,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Also operations of LTV, which is broken, at this set, such as ltv-paper; without --case these alone. "
            "With --run: sets of any scheme. May be repeated.",
        ),
    ] = None,
    level: Annotated[int, typer.Option(min=0, help="Of the ciphertexts, with --set.")] = 0,
    run: Annotated[
        Path | None,
        typer.Option(
            help="Instead: whole runs of AES at each --set, with keys of this directory, which are made if there are "
            "none: minutes and up to 20 GB."
        ),
    ] = None,
    host: Annotated[
        bool,
        typer.Option(
            "--host",
            help="Instead: what an accelerator leaves to this processor in AES at one --set, ltv-paper by default.",
        ),
    ] = False,
    blocks: Annotated[int, typer.Option(min=0, help="Of --run: how many; 0 for one in each slot.")] = 0,
    direction: Annotated[str, typer.Option(help="Of --run: encrypt or decrypt.")] = "encrypt",
    insecure: Annotated[str, typer.Option(metavar="REASON", help="Why a broken scheme may be used.")] = "",
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Products modulo Phi_65535 beside FLINT and the LTV accelerator paper's times; slots; operations of LTV.

    The paper's times are its own in every case. With --set, keys are made first: at ltv-paper a minute, and 1 GB for
    the evaluation key of one level.

    Examples:

        ringforge bench aes

        ringforge bench aes --set ltv-paper --insecure "a reproduction" --case product --case own

        ringforge bench aes --run keys --set bgv-aes --set ltv-paper --insecure "a reproduction"

        ringforge bench aes --host --insecure "a reproduction" --save bench/results
    """
    if host:
        if case or run is not None or len(scheme or ()) > 1:
            raise typer.BadParameter("--host takes one --set at most, and neither --case nor --run")
        params = ltv.Parameters.named((scheme or ["ltv-paper"])[0], insecure)
        measured = aes_host.HostCase(
            params, threads=tuple(dict.fromkeys(threads or (1, 2))), rounds=max(rounds, 7), budget_s=budget
        )
        console(stderr=True).print(f"  {ltv.WARNING}", style="bold")
        name = f"aes-host-{params.name}"
        shares = _finish(aes_host.run(measured), "the host's part of AES", as_json, save_to, name)
        if not as_json:
            print(render(aes_host.tables(shares), width=_WIDTH))
        return
    if run is not None:
        if case or not scheme or len(threads or ()) > 1:
            raise typer.BadParameter("--run takes one --set at least, one number of --threads, and no --case")
        made = [
            aes_runs.RunCase(name, run, insecure, blocks, (threads or [2])[0], as_direction(direction))
            for name in dict.fromkeys(scheme)
        ]
        for warning in dict.fromkeys(aes_runs.scheme_of(c.set).warning for c in made):
            if warning:
                console(stderr=True).print(f"  {warning}", style="bold")
        whole = chain.from_iterable(aes_runs.run(c) for c in made)
        done = _finish(whole, "AES-128, whole runs", as_json, save_to, f"aes-run-{'-'.join(c.set for c in made)}")
        if not as_json:
            print(render(aes_runs.tables(done), width=_WIDTH))
        return
    workers = tuple(dict.fromkeys(threads or (1, 2)))
    wanted = aes_bench.AesCase(primes=primes, threads=workers, rounds=rounds, budget_s=budget)
    chosen = tuple(dict.fromkeys(case or (() if scheme else aes_bench.CASES)))
    parts = [aes_bench.compare(wanted, chosen, peer is not FlintPeer.none)]
    sets = [ltv.Parameters.named(name, insecure) for name in dict.fromkeys(scheme or ())]
    if sets:
        console(stderr=True).print(f"  {ltv.WARNING}", style="bold")
        parts += [aes_bench.scheme(params, level, t, rounds) for params in sets for t in workers]
    name = "-".join(["aes", *(["ring"] if chosen else []), *(params.name for params in sets)])
    done = _finish(chain.from_iterable(parts), f"aes, {rounds} rounds", as_json, save_to, name)
    shown = [*aes_bench.beside_the_paper(done), *aes_bench.scheme_beside_the_paper(done)]
    if shown and not as_json:
        print(render(shown, width=_WIDTH))


@app.command("scale")
@prints(TEXT, BenchLine, version=2, lines=True)
def scale_command(
    system: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(scale_bench.SYSTEMS)}; may be repeated; all by default.")
    ] = None,
    size: Annotated[
        str, typer.Option(help="Rows of matmul, log2 of psi's bins, omr's set. Default: 512, 11 (of 14), ringforge.")
    ] = "",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, in which the parties take turns.")] = 1,
    as_json: AsJson = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Work in the shards of a Ray cluster on this machine, beside the same work in one process.

    Parties: cpu with one thread and with two, clusters of one worker and of two, each on a node manager of its own.
    Results must be the same. Needs Ray; omr takes 12 GB of memory. Minutes for each party.

    Example: `ringforge bench scale --system psi --rounds 3`
    """
    chosen = tuple(dict.fromkeys(system or scale_bench.SYSTEMS))
    parts = chain.from_iterable(scale_bench.compare(name, size, rounds) for name in chosen)
    done = _finish(parts, f"work in shards, {rounds} round(s)", as_json, save_to, f"scale-{'-'.join(chosen)}")
    if not as_json:
        for shown in scale_bench.tables(done):
            _print(shown)
