# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge matvec`: encrypted inference as commands, with files between client and server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import numpy.typing as npt
import typer
from rich import box
from rich.console import Group
from rich.table import Table

from ringforge import frames
from ringforge import params as parameter_sets
from ringforge.cli import completion
from ringforge.cli.console import (
    console,
    parse_size,
    print_warning,
    progress,
    say,
    seconds_text,
    size_text,
    thread_count,
)
from ringforge.cli.options import (
    Header,
    Insecure,
    NewSecret,
    Params,
    ProgramFile,
    Reuse,
    ShareBits,
    Threads,
    keep_secret,
    output_file,
    overwrites,
)
from ringforge.cli.output import ROWS, TEXT, WORK, AsJson, emit, prints
from ringforge.devices import Report, open_device
from ringforge.errors import ParameterError
from ringforge.files import check_different, check_vectors_name, load_table, naming, removed_on_failure, save_vectors
from ringforge.matvec.accuracy import measure_accuracy
from ringforge.matvec.answers import Estimators, Evaluated, Explained, OperatorRow, Operators
from ringforge.matvec.calibration import SAFETY
from ringforge.matvec.compiler import bounds_table, compile_model
from ringforge.matvec.labels import RuleFile, planned_model, read_rule, write_labels
from ringforge.matvec.model_files import load_model
from ringforge.matvec.networks import NETWORKS
from ringforge.matvec.planner import ALGORITHMS
from ringforge.matvec.program import Backend, Program
from ringforge.matvec.report import write_accuracy
from ringforge.matvec.roles import Client, EncryptedVectors, EvaluationKeys, Server

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Encrypted inference: plain matrices times encrypted vectors, with squares between.\n\n"
    "The server runs `plan` and `evaluate`; the client runs `keygen`, `encrypt` and `decrypt`. "
    "The secret key stays with the client; the program, the evaluation keys and the ciphertexts travel.\n\n"
    "`ringforge matvec demo` plays both sides on real data.",
)

#: Said of a program whose inputs may leave the interval of an approximation.
_LEAVES = (
    "inputs may leave the interval on which a polynomial of this program is an approximation, and results of such "
    "inputs are wrong by any amount: plan with --samples, with --bounds that hold, or a wider interval"
)

SecretFile = Annotated[Path, typer.Option("--secret", help="The client's secret key.")]
AcceptInsecure = Annotated[
    str, typer.Option(help="Reason to use a program of the clear backend, or with parameters below 128 bits.")
]


@app.command()
@prints(WORK)
@overwrites
def plan(
    model: Annotated[Path, typer.Option(help="Model: .onnx, .npz, or .npy with one matrix.")],
    out: Annotated[Path, typer.Option(help="Program file to write (JSON).", callback=output_file)],
    params: Params = "auto",
    batch: Annotated[int, typer.Option(help="Vectors in one ciphertext, rounded up to a power of two.")] = 1,
    level: Annotated[int | None, typer.Option(help="Level of the inputs; default: the lowest that works.")] = None,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(ALGORITHMS)}.")] = "auto",
    memory: Annotated[
        str | None,
        typer.Option(help="What keys, encoded matrix and temporaries may take: 512MiB, 4GiB, bytes."),
    ] = None,
    input_bound: Annotated[
        float | None,
        typer.Option(
            help="Largest |input|; public, enforced when encrypting. Default: 1, or --safety times the largest sample."
        ),
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="Inputs like the client's, as rows (.npy, .csv): bounds are measured on them, in the clear."),
    ] = None,
    bounds: Annotated[
        str,
        typer.Option(help="Promised bounds instead: a number for each linear layer, with commas; - for unknown."),
    ] = "",
    safety: Annotated[float, typer.Option(help="What sizes measured on samples are multiplied by.")] = SAFETY,
    precision: Annotated[
        float | None, typer.Option(help="Bits after the point that every result shall have, 1 ... 40.")
    ] = None,
    share_bits: ShareBits = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Choose parameters that this device runs: rtl:matvec-b; `ringforge info` lists all.",
            autocompletion=completion.devices,
        ),
    ] = None,
    backend: Annotated[str, typer.Option(help="ckks, or clear: NO ENCRYPTION, for tests.")] = "ckks",
    insecure: Insecure = "",
    explain_all: Annotated[bool, typer.Option("--explain-all", help="Print every candidate that was costed.")] = False,
    rule: Annotated[
        Path | None,
        typer.Option(help="Rule to write (JSON), of an estimator: what clients make of results.", callback=output_file),
    ] = None,
    header: Header = None,
) -> None:
    """Server: chooses how the model is computed and writes the program both sides follow.

    Prints what was considered: rotations, key switches (KS), transforms (NTT), products, keys and bytes.

    Examples:

        ringforge matvec plan --model model.onnx --out program.json

        ringforge matvec plan --model w.npy --params set-b --memory 4GiB --explain-all --out program.json

        ringforge matvec plan --model deep.npz --samples train.csv --precision 16 --out program.json

    With samples or bounds, layers are planned for what inputs really reach: deep models fit then. The program says so;
    with inputs that go beyond, results may be garbage.
    """
    if backend not in {"ckks", "clear"}:
        raise ParameterError(f'there is no backend "{backend}"; choose ckks or clear')
    limit = None if memory is None else parse_size(memory)
    check_different({"--out": out, "--rule": rule})
    layers, meaning = planned_model(model, rule)
    rows: npt.ArrayLike | None = None if samples is None else load_table(samples, header=header)
    if meaning is not None:
        rows = None if rows is None else meaning.encode(rows)
        input_bound = 1.0 if input_bound is None and meaning.low is not None else input_bound
    compiled = compile_model(
        layers,
        None if params == "auto" else parameter_sets.named(params, insecure),
        batch=batch,
        level=level,
        algorithm=algorithm,
        memory=limit,
        input_bound=input_bound,
        backend=cast(Backend, backend),
        samples=rows,
        bounds=_promised(bounds),
        safety=safety,
        precision=precision,
        share_bits=share_bits,
        device=device,
        features=None if meaning is None else meaning.features,
    )
    if meaning is not None and rule is not None:
        meaning.bound_to(compiled.program).save(rule)
    compiled.program.save(out)
    screen = console()
    screen.print(compiled.program.summary())
    for choice in compiled.choices:
        screen.print(choice.explain(everything=explain_all))
    if compiled.bounds.measured or compiled.program.promises:
        screen.print(bounds_table(compiled.program, compiled.bounds))
    for note in compiled.notes:
        for line in note.splitlines():
            say(line)
    say(f"backend {backend}: {_verdict(compiled.program)}")
    if compiled.program.error_bound is not None:
        say(f"predicted error of results: at most {compiled.program.error_bound:.3g}")
    say(f"wrote {out} ({size_text(out.stat().st_size)})")
    if rule is not None:
        say(f"wrote {rule}: public; clients give it to `encrypt` and `decrypt`")
    elif meaning is not None:
        say("results are scores; --rule FILE writes what clients make of them: classes or probabilities")


def _promised(text: str) -> list[float | None] | None:
    """Bounds as they are given on the command line."""
    if not text:
        return None
    try:
        return [None if word.strip() == "-" else float(word) for word in text.split(",")]
    except ValueError:
        raise ParameterError(f'--bounds "{text}": numbers with commas between, - where none is known') from None


@app.command()
@prints(ROWS, Explained, version=2)
@overwrites
def explain(
    model: Annotated[Path, typer.Option(help="Model: .onnx, .npz, or .npy with one matrix.")],
    samples: Annotated[Path, typer.Option(help="Inputs as rows (.npy, .csv), not secret: they are decrypted here.")],
    program: Annotated[Path | None, typer.Option(help="Program to look at; without it, one is planned here.")] = None,
    params: Params = "auto",
    precision: Annotated[float | None, typer.Option(help="As of `plan`, where no program is given.")] = None,
    html: Annotated[Path | None, typer.Option(help="Report to write, one HTML file.", callback=output_file)] = None,
    header: Header = None,
    as_json: AsJson = False,
    threads: Threads = 0,
) -> None:
    """Server: where accuracy is lost, layer by layer: predicted errors, and measured ones on samples.

    Encrypts samples with a key of its own, evaluates the model, decrypts after each layer and compares with the model
    in the clear. Without a program it plans one, with bounds measured on all samples; as many as a batch are evaluated.

    Example: `ringforge matvec explain --model deep.npz --samples train.csv`
    """
    workers = thread_count(threads)
    layers, rows = load_model(model), load_table(samples, header=header)
    if program is None:
        compiled = compile_model(layers, None if params == "auto" else params, samples=rows, precision=precision)
        loaded = compiled.program
    else:
        loaded = Program.load(program)
    with progress("evaluating samples") as update:
        found = measure_accuracy(layers, loaded, rows, threads=workers, progress=update)
    if html is not None:
        write_accuracy(found, html)
    if as_json:
        emit(found.as_json())
        return
    console().print(found.table())
    worst = found.worst
    say(f"most is lost in {worst.name}: {worst.lost:.1f} bits, relative to the largest value there")
    if html is not None:
        say(f"wrote {html}")


def _verdict(program: Program) -> str:
    if program.backend == "clear":
        return "NO ENCRYPTION, for tests only"
    p = program.context.params
    if p.secure:
        limit = parameter_sets.max_log_qp(p.log_n)
        return f"CKKS, at least 128 bits of security (log2 QP {p.log_qp:.0f} of {limit:.0f})"
    return f"CKKS, INSECURE: below 128 bits (used because: {p.insecure})"


def _client(program: Program, secret: Path, accept_insecure: str) -> Client:
    with naming(secret):
        return Client.load(program, secret, accept_insecure=accept_insecure)


@app.command()
@prints(WORK)
@overwrites
def keygen(
    program: ProgramFile,
    secret: NewSecret,
    eval_keys: Annotated[
        Path, typer.Option(help="Evaluation keys to write; they go to the server.", callback=output_file)
    ],
    reuse: Reuse = False,
    accept_insecure: AcceptInsecure = "",
    threads: Threads = 0,
) -> None:
    """Client: makes a secret key, and the evaluation keys that the program needs.

    A secret key is never overwritten. `--reuse` makes keys for another program with the same parameters.

    Example: `ringforge matvec keygen --program program.json --secret secret.key --eval-keys eval.keys`
    """
    workers = thread_count(threads)
    loaded = Program.load(program)
    keep_secret(secret, reuse, {"--eval-keys": eval_keys})
    client = _client(loaded, secret, accept_insecure) if reuse else Client(loaded, accept_insecure=accept_insecure)
    with removed_on_failure() as made:
        if not reuse:
            client.save_secret_key(secret)
            made.append(secret)
        with progress("evaluation keys") as update:
            size = client.save_evaluation_keys(eval_keys, workers, update)
    if not reuse:
        say(f"wrote {secret}: the secret key; keep it")
    count = len(loaded.key_levels) + (loaded.relin_level is not None)
    say(f"wrote {eval_keys}: {count} evaluation keys, {size_text(size)}; give it to the server")


@app.command()
@prints(WORK)
@overwrites
def encrypt(
    program: ProgramFile,
    secret: SecretFile,
    in_: Annotated[Path, typer.Option("--in", help="Vectors as rows: .npy or .csv.")],
    out: Annotated[Path, typer.Option(help="Ciphertexts to write.", callback=output_file)],
    rule: RuleFile = None,
    header: Header = None,
    accept_insecure: AcceptInsecure = "",
    threads: Threads = 0,
) -> None:
    """Client: encrypts vectors; with an estimator's rule, rows of features.

    Where the rule or the program has names of features, columns of a file with a header are put in their order; other
    columns are refused.

    Example: `ringforge matvec encrypt --program program.json --secret secret.key --in x.csv --out x.ct`
    """
    workers = thread_count(threads)
    loaded = Program.load(program)
    client = _client(loaded, secret, accept_insecure)
    table = load_table(in_, header=header)
    if rule is None and loaded.features is not None:
        frames.warn_of_position(table.names is not None, True)
    rows = table if rule is None else read_rule(rule, loaded).encode(table)
    encrypted = client.encrypt(rows, workers)
    size = encrypted.save(out, loaded)
    count = sum(len(group) for group in encrypted.groups)
    say(f"wrote {out}: {len(table)} vectors in {count} ciphertexts, {size_text(size)}")


@app.command()
@prints(WORK, Evaluated, version=2)
@overwrites
def evaluate(
    program: ProgramFile,
    model: Annotated[Path, typer.Option(help="The model that the program was planned for.")],
    keys: Annotated[Path, typer.Option(help="The client's evaluation keys.")],
    in_: Annotated[Path, typer.Option("--in", help="Ciphertexts from `encrypt`.")],
    out: Annotated[Path, typer.Option(help="Ciphertexts of the results to write.", callback=output_file)],
    device: Annotated[
        str, typer.Option(help="Where kernels run; `ringforge info` lists devices.", autocompletion=completion.devices)
    ] = "cpu",
    waves: Annotated[
        Path | None,
        typer.Option(help="Waveforms (VCD) of a simulated accelerator; large, for short runs.", callback=output_file),
    ] = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Server: computes the model on ciphertexts, and reports what it took.

    Example:

        ringforge matvec evaluate --program program.json --model model.onnx --keys eval.keys \
            --in x.ct --out y.ct

    With `--device rtl:matvec-b` the matrices are multiplied by the simulated accelerator: cycles come with the
    report, and its time is theirs at the machine's clock.
    """
    workers = thread_count(threads)
    loaded = Program.load(program)
    layers = load_model(model)
    with naming(keys), progress("reading keys") as update:
        bundle = EvaluationKeys.load(keys, loaded, workers, update)
    with progress("encoding the model") as update:
        where = open_device(device, **({} if waves is None else {"waves": waves}))
        server = Server(layers, loaded, bundle, device=where, threads=workers, progress=update)
    with naming(in_):
        inputs = EncryptedVectors.load(in_, loaded, "input", workers)
    with progress("evaluating") as update:
        outputs, reports = server.evaluate_layers(inputs, update)
    size = outputs.save(out, loaded)
    if loaded.leaves_intervals:
        print_warning(_LEAVES)
    if as_json:
        emit(_report_object(loaded, server, len(inputs.groups), reports))
        return
    console().print(report_table(reports))
    say(
        f"encoding the model took {seconds_text(server.prepare_seconds)}; "
        f"{workers} threads, device {server.device_name}"
    )
    held = "" if outputs.count is None else f"{outputs.count} vectors in "
    say(f"wrote {out}: {held}{sum(len(g) for g in outputs.groups)} ciphertexts, {size_text(size)}")


def report_table(reports: list[tuple[str, Report]], title: str = "evaluation") -> Group:
    """What each layer took, a row each, and their sum: time, cycles and operations; then bytes moved."""
    total = sum((report for _, report in reports), start=Report("", 0.0))
    rows = [*reports, ("total", total)]

    def table(heading: str, labels: list[str], cells: Callable[[Report], list[str]]) -> Table:
        made = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
        made.add_column("layer", no_wrap=True)
        for label in labels:
            made.add_column(label, justify="right", min_width=max(map(len, label.split())))
        for name, report in rows:
            made.add_row(
                name,
                *cells(report),
                end_section=bool(reports) and name == reports[-1][0] and report is reports[-1][1],
                style="bold" if report is total else None,
            )
        return made

    operations, traffic = list(total.operations), list(total.bytes)
    clocked = total.cycles is not None
    return Group(
        table(
            title,
            ["time", *(["cycles"] if clocked else []), *(name.replace("_", " ") for name in operations)],
            lambda r: [
                seconds_text(r.seconds),
                *([f"{r.cycles:,}"] if clocked else []),
                *(str(r.operations.get(k, 0)) for k in operations),
            ],
        ),
        table(
            "memory traffic, MiB",
            traffic,
            lambda r: [f"{r.bytes.get(k, 0) / 2**20:.1f}" for k in traffic],
        ),
    )


def _report_object(program: Program, server: Server, groups: int, reports: list[tuple[str, Report]]) -> dict[str, Any]:
    def one(report: Report) -> dict[str, Any]:
        clock = {} if report.cycles is None else {"cycles": report.cycles, "clock_hz": report.clock_hz}
        return {
            "seconds": report.seconds,
            **clock,
            "operations": dict(report.operations),
            "bytes": dict(report.bytes),
        }

    total = sum((report for _, report in reports), start=Report(server.device_name, 0.0))
    return {
        "system": "matvec",
        "backend": program.backend,
        "params": program.parameters.name,
        "device": server.device_name,
        "threads": server.threads,
        "groups": groups,
        "batch": program.batch,
        "encode_seconds": server.prepare_seconds,
        **one(total),
        "layers": [{"layer": name, **one(report)} for name, report in reports],
        **({"warnings": [_LEAVES]} if program.leaves_intervals else {}),
    }


@app.command()
@prints(WORK)
@overwrites
def decrypt(
    program: ProgramFile,
    secret: SecretFile,
    in_: Annotated[Path, typer.Option("--in", help="Ciphertexts from `evaluate`.")],
    out: Annotated[Path, typer.Option(help="Results as rows: .npy or .csv.", callback=output_file)],
    count: Annotated[
        int | None, typer.Option(help="Vectors that were encrypted, if the file does not say it; fewer: the first.")
    ] = None,
    share_bits: ShareBits = None,
    rule: RuleFile = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Classes to write, one a line, as --rule says.", callback=output_file),
    ] = None,
    accept_insecure: AcceptInsecure = "",
    threads: Threads = 0,
) -> None:
    """Client: decrypts results; with a classifier's rule, also classes.

    Examples:

        ringforge matvec decrypt --program program.json --secret secret.key --in y.ct --out y.csv

        ringforge matvec decrypt --program program.json --secret secret.key --in y.ct --out y.csv \
            --rule rule.json --labels classes.txt
    """
    workers = thread_count(threads)
    check_vectors_name(out)
    check_different({"--out": out, "--labels": labels})
    if (rule is None) != (labels is None):
        raise ParameterError("--rule and --labels go together: the rule says which classes results mean")
    if count is not None and count < 1:
        raise ParameterError(f"--count {count} must be at least 1")
    loaded = Program.load(program)
    client = _client(loaded, secret, accept_insecure)
    with naming(in_):
        result = EncryptedVectors.load(in_, loaded, "output", workers)
    meaning = None if rule is None else read_rule(rule, loaded)
    rows = client.decrypt(result, count, share_bits=share_bits, threads=workers)
    if meaning is not None and labels is not None:
        say(write_labels(labels, meaning, rows, client.error_bound(result, share_bits)))
    save_vectors(out, rows)
    say(f"wrote {out}: {rows.shape[0]} vectors of {rows.shape[1]} numbers")
    if loaded.backend == "ckks":
        say(f"predicted error: at most {client.error_bound(result, share_bits):.3g} each")


@app.command()
@prints(ROWS, Operators)
def operators(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print tables as docs/matvec.md has them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Lists the operators of ONNX: those that are read, what becomes of them, and the others with the reason.

    Example: `ringforge matvec operators`
    """
    from ringforge.matvec import onnx_table

    rows = onnx_table.rows()
    if as_json:
        found = [OperatorRow(taken=taken, names=list(names), what=what) for taken, names, what in rows]
        emit(Operators(system="matvec", rows=found))
    elif markdown:
        typer.echo(onnx_table.markdown(), nl=False)
    else:
        made = Table(title="operators of ONNX", title_justify="left", box=box.SIMPLE_HEAD)
        for heading in ("taken", "operators", "become, or are refused because"):
            made.add_column(heading, overflow="fold")
        for taken, names, what in rows:
            made.add_row("yes" if taken else "no", ", ".join(names), what)
        console().print(made)


@app.command()
@prints(ROWS, Estimators)
def estimators(
    names: Annotated[list[str] | None, typer.Argument(help="Classes of scikit-learn; by default all.")] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print tables as docs/matvec-estimators.md has them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Lists the estimators of scikit-learn: those that are taken, and the others with the reason.

    Each is fitted to a few rows, imported, and compared with scikit-learn in the clear; all of them take a minute.

    Examples: `ringforge matvec estimators`, `ringforge matvec estimators SVC KMeans`
    """
    from ringforge.matvec import sklearn_table

    wanted = None if not names else set(names)
    unknown = set() if wanted is None else wanted - set(sklearn_table.estimators())
    if unknown:
        raise ParameterError(f"scikit-learn lists no class {', '.join(sorted(unknown))}")
    with progress("fitting estimators") as update:
        found = sklearn_table.table(wanted, update)
    if as_json:
        emit(found)
    elif markdown:
        typer.echo(sklearn_table.markdown(found), nl=False)
    else:
        made = Table(title=f"scikit-learn {found.release}", title_justify="left", box=box.SIMPLE_HEAD)
        for heading in ("estimator", "taken", "becomes, or why not"):
            made.add_column(heading, overflow="fold")
        for row in found.rows:
            made.add_row(row.made, "yes" if row.taken else "no", row.becomes or row.reason)
        console().print(made)


@app.command()
@prints(TEXT)
def demo(
    images: Annotated[int, typer.Option(help="Held-out images to classify in batches.")] = 300,
    out: Annotated[Path, typer.Option(help="Folder for the report, the model and what the server stored.")] = Path(
        "demo-out"
    ),
    params: Params = "auto",
    threads: Threads = 0,
    backend: Annotated[str, typer.Option(help="ckks; clear is refused, for it would hide nothing.")] = "ckks",
    network: Annotated[str, typer.Option(help=f"One of {', '.join(NETWORKS)}.")] = "dense",
) -> None:
    """Both sides on real data: handwritten digits, classified by a server that cannot see them.

    Trains a small network, starts a server process, sends it encrypted images, decrypts its answers, compares
    them with the same network in the clear, and writes report.html. Ends with exit code 1 if a single
    prediction differs.

    Networks: dense has one hidden layer of squares; conv a convolution, squares and an average pool; deep six linear
    layers with polynomials between, planned with bounds measured on the training images.

    Examples: `ringforge matvec demo`, `ringforge matvec demo --network conv --images 200`,
    `ringforge matvec demo --images 500 --params set-b --out /tmp/digits`
    """
    from ringforge.matvec.demo import run_demo

    result = run_demo(
        images=images, out=out, parameters=params, threads=thread_count(threads), backend=backend, network=network
    )
    if result.disagreements:
        raise typer.Exit(1)


#: The demo for `ringforge demo`, and about how many seconds it takes on two cores.
DEMO = (demo, 20)

__all__ = ["app", "report_table"]
