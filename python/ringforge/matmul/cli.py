# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge matmul`: products of encrypted matrices as commands, with files between the parties."""

from __future__ import annotations

import math
import string
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
import numpy.typing as npt
import typer

from ringforge import params as parameter_sets
from ringforge.cli import completion
from ringforge.cli.console import console, parse_size, progress, say, seconds_text, size_text, thread_count
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
from ringforge.cli.output import READY, ROWS, TEXT, WORK, AsJson, emit, prints
from ringforge.devices import Report, open_device
from ringforge.errors import ParameterError, ShapeError
from ringforge.files import (
    check_different,
    check_output,
    check_vectors_name,
    load_vectors,
    naming,
    removed_on_failure,
    save_vectors,
)
from ringforge.matmul.answers import Multiplied, Planned, Ran
from ringforge.matmul.expressions import expression
from ringforge.matmul.planner import METHODS
from ringforge.matmul.program import Input, Program, counted, trace
from ringforge.matmul.roles import Contributor, EvaluationKeys, KeyHolder, Parcel, Server
from ringforge.matmul.scratch import Block, Scratch
from ringforge.matmul.service import Connection, parse_assignment
from ringforge.matmul.service import serve as serve_program
from ringforge.serving.options import Metrics
from ringforge.unique import named_once

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Products of matrices that are all encrypted, for parties that do not show their matrices to the server.\n\n"
    "The **key holder** runs `keygen` and `decrypt`; it and **contributors** run `encrypt`; the **server** runs "
    "`multiply`. The program (from `plan`), the public key, the evaluation keys and the ciphertexts travel; the secret "
    "key stays.\n\n"
    "In order: `plan`, `keygen`, `encrypt` for each input, `multiply`, `decrypt`. Over a socket of this machine: "
    "`serve` and `send`, then `fetch`, in place of `multiply`.\n\n"
    "To begin with: `ringforge matmul run` does all of it here with your files; `ringforge matmul demo` shows three "
    "parties at work.",
)

SecretFile = Annotated[Path, typer.Option("--secret", help="The key holder's secret key.")]
AcceptInsecure = Annotated[str, typer.Option(help="Reason to use parameters below 128 bits.")]
Method = Annotated[
    str,
    typer.Option(
        help=f"auto: the planner's choice; for comparison one of {', '.join(m for m in METHODS if m != 'auto')} "
        "(docs/matmul-algorithms.md)."
    ),
]
Memory = Annotated[
    str | None, typer.Option(help="What keys, encoded diagonals and temporaries may take: 512MiB, 4GiB, bytes.")
]
KeysOption = Annotated[
    str, typer.Option("--keys", help="all: a key for each rotation, fastest; few: a fraction of the keys, more work.")
]
Expression = Annotated[
    str | None,
    typer.Option(
        "--expr",
        help="What is computed from the inputs, as in Python: @, entry by entry * + -, / by numbers, .T, [a:b, c:d], "
        "A.sum(axis), A.mean(axis). Default: the inputs' product in order.",
    ),
]
ScratchFolder = Annotated[
    Path | None,
    typer.Option(
        "--scratch", help="A folder for ciphertexts that do not stay in memory; its file goes when the command ends."
    ),
]
BlockMemory = Annotated[
    str, typer.Option("--block-memory", help="With --scratch: what ciphertexts may take in memory: 512MiB, 4GiB.")
]
Precision = Annotated[
    float, typer.Option(help="With --params auto: bits after the point that results of size 1 should keep.")
]


Where = Annotated[
    str,
    typer.Option(
        "--device",
        help="Where linear transforms and products run; `ringforge info` lists devices. Sums are this processor's.",
        autocompletion=completion.devices,
    ),
]


def _chain(names: list[str]) -> str:
    return " @ ".join(names)


def _shape(text: str) -> tuple[int, ...]:
    parts = text.lower().split("x")
    if not all(p.isdecimal() and 0 < len(p) < 8 and int(p) for p in parts):
        raise ParameterError(f'"{text}" is no shape: write 64x64x64, numbers above 0 with x between')
    return tuple(map(int, parts))


def _planned(
    inputs: Mapping[str, tuple[int, ...] | Input],
    expr: str | None,
    params: str,
    insecure: str,
    method: str,
    memory: str | None,
    keys: str,
    level: int | None,
    precision: float,
) -> Program:
    if keys not in {"all", "few"}:
        raise ParameterError(f'--keys are all or few, not "{keys}"')
    with progress("planning") as update:
        return trace(
            None if params == "auto" else parameter_sets.named(params, insecure),
            expression(expr or _chain(list(inputs))),
            inputs,
            level=level,
            method=method,
            memory=None if memory is None else parse_size(memory),
            keys=cast(Literal["all", "few"], keys),
            precision=precision,
            progress=update,
        )


# ---- commands ------------------------------------------------------------------------------------


@app.command()
@prints(ROWS, Planned)
@overwrites
def plan(
    shape: Annotated[
        str | None,
        typer.Option(help="64x16x32: a 64 x 16 matrix A times a 16 x 32 matrix B; more numbers, more factors."),
    ] = None,
    inputs: Annotated[list[str], typer.Option("--input", help="NAME=ROWSxCOLS or NAME=LENGTH, for --expr.")] = [],  # noqa: B006
    expr: Expression = None,
    params: Params = "auto",
    method: Method = "auto",
    keys: KeysOption = "all",
    memory: Memory = None,
    precision: Precision = 20,
    level: Annotated[int | None, typer.Option(help="Level of the inputs; default: the one of least work.")] = None,
    bound: Annotated[float, typer.Option(help="Largest |entry| of inputs; public, enforced when encrypting.")] = 1.0,
    insecure: Insecure = "",
    out: Annotated[Path | None, typer.Option(help="Program file to write (JSON).", callback=output_file)] = None,
    as_json: AsJson = False,
) -> None:
    """Chooses how products are computed, shows why, and writes the program that all parties follow.

    The tables: each step with its level; then, for each product, the candidates with rotations (rot), key
    switches (KS), transforms (NTT), plain products, keys and bytes.

    Examples:

        ringforge matmul plan --shape 64x64x64 --params matmul-a-128

        ringforge matmul plan --input X=100x10 --input w=10 --input y=100 --expr "(X @ w - y) @ X" --out program.json

        ringforge matmul plan --input X=100x10 --expr "(X - X.mean(0)) * (X - X.mean(0))"
    """
    sizes: dict[str, tuple[int, ...]] = {}
    if shape is not None:
        dims = _shape(shape)
        if not 3 <= len(dims) <= 27:
            raise ParameterError(
                f"--shape {shape} names {len(dims)} sizes: a product has three or more, as in 64x64x64"
            )
        sizes = {string.ascii_uppercase[i]: (dims[i], dims[i + 1]) for i in range(len(dims) - 1)}
    for text in inputs:
        name, equals, size = text.partition("=")
        if not equals:
            raise ParameterError(f'--input "{text}" is not NAME=ROWSxCOLS')
        if name in sizes:
            raise ParameterError(f'--input: "{name[:40]}" is given twice: give each name once')
        sizes[name] = _shape(size)
        if len(sizes[name]) > 2:
            raise ParameterError(f"--input {text}: a matrix has two sizes, a vector one")
    if not sizes:
        raise ParameterError("say what is multiplied: --shape 64x64x64, or --input for each matrix with --expr")
    given = {name: Input(shape=s, bound=bound) for name, s in sizes.items()}
    program = _planned(given, expr, params, insecure, method, memory, keys, level, precision)
    if out is not None:
        program.save(out)
    if as_json:
        emit(_object(program))
        return
    console().print(program.explain())
    if out is not None:
        say(f"wrote {out} ({size_text(out.stat().st_size)})")


def _object(program: Program) -> dict[str, Any]:
    """What `plan --json` prints."""
    results = program.traced.results
    return {
        "system": "matmul",
        "params": program.parameters.name,
        "secure": program.context.params.secure,
        "inputs": [x.model_dump() for x in program.inputs],
        "outputs": {
            name: {"shape": r.shape, "level": r.level, "bound": r.bound, "error": r.error_bound}
            for name, r in results.items()
        },
        "steps": [s.model_dump(exclude_none=True, exclude={"values"}) for s in program.steps],
        "galois_keys": len(program.galois_keys),
        "relin_level": program.relin_level,
        "bytes": program.memory,
    }


def _load(path: Path, header: bool | None) -> npt.NDArray[np.float64]:
    """A matrix, or a vector from .npy of one dimension."""
    values = load_vectors(path, header=header)
    flat = path.suffix == ".npy" and np.load(path, mmap_mode="r", allow_pickle=False).ndim == 1
    return values[0] if flat else values


def _save(path: Path, values: Any) -> None:
    a = np.asarray(values, dtype=np.float64)
    save_vectors(path, a if path.suffix == ".npy" else np.atleast_2d(a))


@app.command()
@prints(TEXT, Ran)
@overwrites
def run(
    inputs: Annotated[
        list[str], typer.Option("--in", help="NAME=FILE, .npy, .csv or .tsv (rows); in the order of the product.")
    ],
    expr: Expression = None,
    params: Params = "auto",
    method: Method = "auto",
    keys: KeysOption = "all",
    memory: Memory = None,
    precision: Precision = 20,
    device: Where = "cpu",
    scratch: ScratchFolder = None,
    block_memory: BlockMemory = "1GiB",
    insecure: Insecure = "",
    out: Annotated[
        Path | None, typer.Option(help="Where the decrypted result goes: .npy or .csv.", callback=output_file)
    ] = None,
    header: Header = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Encrypts, multiplies and decrypts here, and compares with numpy: to see what a product takes.

    The bound of each input is declared as the next power of two above its largest entry.

    Examples:

        ringforge matmul run --in A=a.npy --in B=b.csv --out c.npy

        ringforge matmul run --in X=x.npy --in y=y.npy --in w=w.npy --expr "(X @ w - y) @ X"

        ringforge matmul run --in A=a.npy --in B=b.npy --method fame --device rtl:fame-small --params fame-small \
            --insecure "a trial"
    """
    workers = thread_count(threads)
    where = open_device(device)
    if out is not None:
        check_vectors_name(out)
    files = named_once(map(parse_assignment, inputs), "--in")
    values = {name: _load(path, header) for name, path in files.items()}
    for name, a in values.items():
        if not a.size:
            raise ShapeError(f"--in {name}: an array of shape {a.shape} has no entries to encrypt")
    given = {
        name: Input(shape=a.shape, bound=2.0 ** math.ceil(math.log2(max(float(np.abs(a).max()), 2.0**-20))))
        for name, a in values.items()
    }
    program = _planned(given, expr, params, insecure, method, memory, keys, None, precision)
    clock, seconds = time.perf_counter, {}
    start = clock()
    place = None if scratch is None else Scratch(scratch, program.context, parse_size(block_memory))
    holder = KeyHolder(program, accept_insecure=insecure)
    with progress("evaluation keys") as update:
        made = holder.evaluation_keys(workers, update)
    seconds["make keys"] = clock() - start
    start = clock()
    parcels = [_kept(holder.encrypt(name, a, workers), place) for name, a in values.items()]
    seconds["encrypt"] = clock() - start
    server = Server(program, made, device=where, threads=workers, scratch=place)
    start = clock()
    with progress("multiplying") as update:
        outputs, report = server.run(parcels, progress=update)
    seconds["encode diagonals and masks"] = server.machine.prepare_seconds
    seconds["compute"] = clock() - start - seconds["encode diagonals and masks"]
    start = clock()
    result = holder.decrypt(outputs["result"], workers)
    seconds["decrypt"] = clock() - start
    exact = expression(expr or _chain(list(values)))(**values)
    error = float(np.abs(result - exact).max())
    if out is not None:
        _save(out, result)
    if as_json:
        figures = {"seconds": seconds, "max_error": error, **_figures(report), **_scratched(place)}
        bound = holder.error_bound("result")
        emit({**_object(program), **figures, "predicted_error": bound, "threads": workers})
        return
    console().print(program.summary())
    for label, took in seconds.items():
        say(f"{label:27} {seconds_text(took)}")
    _say_counts(report)
    _say_scratch(place)
    say(f"largest difference from numpy {error:.2g}, predicted at most {holder.error_bound('result'):.2g}")
    if out is not None:
        say(f"wrote {out}")


@app.command()
@prints(WORK)
@overwrites
def keygen(
    program: ProgramFile,
    secret: NewSecret,
    public: Annotated[Path, typer.Option(help="Public key to write; it goes to contributors.", callback=output_file)],
    eval_keys: Annotated[
        Path, typer.Option(help="Evaluation keys to write; they go to the server.", callback=output_file)
    ],
    reuse: Reuse = False,
    accept_insecure: AcceptInsecure = "",
    threads: Threads = 0,
) -> None:
    """Key holder: makes a secret key, a public key, and the evaluation keys that the program needs.

    A secret key is never overwritten. `--reuse` makes keys for another program with the same parameters.

    Example:

        ringforge matmul keygen --program program.json --secret secret.key --public public.key --eval-keys eval.keys
    """
    workers = thread_count(threads)
    loaded = Program.load(program)
    keep_secret(secret, reuse, {"--public": public, "--eval-keys": eval_keys})
    holder = _holder(loaded, secret, accept_insecure) if reuse else KeyHolder(loaded, accept_insecure=accept_insecure)
    with removed_on_failure() as made:
        if not reuse:
            holder.save_secret_key(secret)
            made.append(secret)
        before = public.exists()
        holder.save_public_key(public)
        if not before:
            made.append(public)
        with progress("evaluation keys") as update:
            size = holder.save_evaluation_keys(eval_keys, workers, update)
    if not reuse:
        say(f"wrote {secret}: the secret key; keep it")
    say(f"wrote {public}: the public key, {size_text(public.stat().st_size)}; give it to contributors")
    count = len(loaded.galois_keys) + (loaded.relin_level is not None)
    say(f"wrote {eval_keys}: {count} evaluation keys, {size_text(size)}; give it to the server")


def _holder(program: Program, secret: Path, accept_insecure: str) -> KeyHolder:
    with naming(secret):
        return KeyHolder.load(program, secret, accept_insecure=accept_insecure)


@app.command()
@prints(WORK)
@overwrites
def encrypt(
    program: ProgramFile,
    name: Annotated[str, typer.Option(help="Which input of the program.")],
    in_: Annotated[Path, typer.Option("--in", help="The matrix: .npy, .csv or .tsv (rows).")],
    out: Annotated[Path, typer.Option(help="Ciphertexts to write.", callback=output_file)],
    public: Annotated[Path | None, typer.Option(help="Contributor: the key holder's public key.")] = None,
    secret: Annotated[Path | None, typer.Option(help="Key holder: the secret key.")] = None,
    header: Header = None,
    accept_insecure: AcceptInsecure = "",
    threads: Threads = 0,
) -> None:
    """Key holder or contributor: encrypts one input.

    With `--secret`, files are half the size and results a little more precise.

    Example: `ringforge matmul encrypt --program program.json --public public.key --name B --in b.npy --out b.ct`
    """
    workers = thread_count(threads)
    if (public is None) == (secret is None):
        raise ParameterError("give one key: --public as a contributor, or --secret as the key holder")
    loaded = Program.load(program)
    who: Contributor | KeyHolder
    if public is not None:
        with naming(public):
            who = Contributor.load(loaded, public, accept_insecure=accept_insecure)
    else:
        who = _holder(loaded, cast(Path, secret), accept_insecure)
    values = _load(in_, header)
    spec = loaded.input(name)
    if len(spec.shape) == 1 and values.size == spec.shape[0] and 1 in values.shape:
        values = values.reshape(-1)
    parcel = who.encrypt(name, values, workers)
    size = parcel.save(out, loaded)
    say(f"wrote {out}: input {name} in {counted(len(parcel.ciphertexts))}, {size_text(size)}")


@app.command()
@prints(WORK, Multiplied)
@overwrites
def multiply(
    program: ProgramFile,
    keys: Annotated[Path, typer.Option(help="The key holder's evaluation keys.")],
    inputs: Annotated[list[str], typer.Option("--in", help="NAME=FILE: ciphertexts of each input, or a plain one.")],
    out: Annotated[list[str], typer.Option(help="Ciphertexts to write; NAME=FILE if there are several outputs.")],
    device: Where = "cpu",
    scratch: ScratchFolder = None,
    block_memory: BlockMemory = "1GiB",
    header: Header = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Server: computes the program on ciphertexts, and reports what it took.

    Example:

        ringforge matmul multiply --program program.json --keys eval.keys --in A=a.ct --in B=b.ct --out c.ct

        ringforge matmul multiply --program program.json --keys eval.keys --in A=a.ct --in B=b.ct --out c.ct \\
            --scratch /var/tmp --block-memory 2GiB

    With `--device rtl:fame-small` a simulated accelerator does it: the same ciphertexts, and its cycles.
    """
    workers = thread_count(threads)
    where = open_device(device)
    loaded = Program.load(program)
    targets = _targets(loaded, out)
    given = named_once(map(parse_assignment, inputs), "--in")
    with naming(keys), progress("reading keys") as update:
        bundle = EvaluationKeys.load(keys, loaded, workers, update)
    place = None if scratch is None else Scratch(scratch, loaded.context, parse_size(block_memory))
    server = Server(loaded, bundle, device=where, threads=workers, scratch=place)
    parcels, plain = [], {}
    for name, path in given.items():
        if loaded.input(name).plain:
            plain[name] = _load(path, header).reshape(loaded.input(name).shape)
            continue
        with naming(path):
            parcels.append(Parcel.load(path, loaded, name, workers, place))
    start = time.perf_counter()
    with progress("multiplying") as update:
        results, report = server.run(parcels, plain, update)
    took = time.perf_counter() - start
    for name, path in targets.items():
        results[name].save(path, loaded)
    prepare = server.machine.prepare_seconds
    if as_json:
        figures = {"seconds": took - prepare, "encode_seconds": prepare, **_figures(report), **_scratched(place)}
        emit({"system": "matmul", "params": loaded.parameters.name, "threads": workers, **figures})
        return
    say(f"computed in {seconds_text(took - prepare)}, encoding before {seconds_text(prepare)}; {workers} threads")
    _say_counts(report)
    _say_scratch(place)
    for name, path in targets.items():
        say(f"wrote {path}: {name} in {counted(len(results[name].ciphertexts))}, {size_text(path.stat().st_size)}")


def _figures(report: Report) -> dict[str, Any]:
    """What a report says of work, as an object."""
    clock = {} if report.cycles is None else {"cycles": report.cycles, "clock_hz": report.clock_hz}
    moved = {} if report.cycles is None else {"bytes": dict(report.bytes)}
    return {"operations": dict(report.operations), **clock, **moved}


def _scratched(place: Scratch | None) -> dict[str, Any]:
    """What a scratch file took, as an object."""
    if place is None:
        return {}
    return {"scratch": {"size": place.size, "written": place.written, "read": place.read, "peak": place.peak}}


def _say_scratch(place: Scratch | None) -> None:
    if place is not None:
        say(
            f"scratch file: {size_text(place.size)}, written {size_text(place.written)}, read {size_text(place.read)}; "
            f"ciphertexts in memory at most {size_text(place.peak)}"
        )


def _kept(parcel: Parcel, place: Scratch | None) -> Parcel:
    """A parcel whose ciphertexts are in a scratch file, if there is one."""
    return (
        parcel
        if place is None
        else replace(parcel, ciphertexts=[c if isinstance(c, Block) else place.keep(c) for c in parcel.ciphertexts])
    )


def _say_counts(report: Report) -> None:
    """Says what was counted: operations, or cycles and traffic of a clocked device."""
    counts = ", ".join(f"{v} {k.replace('_', ' ')}" for k, v in report.operations.items() if v)
    if counts:
        say(f"counted: {counts}")
    if report.cycles is not None:
        say(f"on {report.device}: {report.cycles:,} cycles, {seconds_text(report.seconds)} at its clock")
        say("memory traffic: " + ", ".join(f"{name} {size_text(n)}" for name, n in report.bytes.items() if n))


def _targets(program: Program, out: list[str]) -> dict[str, Path]:
    """Files of the outputs."""
    if len(program.outputs) == 1 and len(out) == 1 and "=" not in out[0]:
        targets = {next(iter(program.outputs)): Path(out[0])}
    else:
        targets = named_once(map(parse_assignment, out), "--out")
        if set(targets) != set(program.outputs):
            raise ParameterError(f"the outputs are {', '.join(program.outputs)}: give --out NAME=FILE for each")
    check_different({f"output {name}": path for name, path in targets.items()})
    for path in targets.values():
        check_output(path)
    return targets


@app.command()
@prints(WORK)
@overwrites
def decrypt(
    program: ProgramFile,
    secret: SecretFile,
    in_: Annotated[Path, typer.Option("--in", help="Ciphertexts from `multiply`.")],
    out: Annotated[Path, typer.Option(help="The result: .npy or .csv.", callback=output_file)],
    name: Annotated[str | None, typer.Option(help="Which output, if there are several.")] = None,
    share_bits: ShareBits = None,
    accept_insecure: AcceptInsecure = "",
    threads: Threads = 0,
) -> None:
    """Key holder: decrypts a result.

    Example: `ringforge matmul decrypt --program program.json --secret secret.key --in c.ct --out c.npy`
    """
    workers = thread_count(threads)
    check_vectors_name(out)
    loaded = Program.load(program)
    holder = _holder(loaded, secret, accept_insecure)
    wanted = next(iter(loaded.outputs)) if name is None and len(loaded.outputs) == 1 else name
    if wanted is None or wanted not in loaded.outputs:
        raise ParameterError(f"the outputs are {', '.join(loaded.outputs)}: say which with --name")
    with naming(in_):
        parcel = Parcel.load(in_, loaded, wanted, workers)
    if share_bits is None:
        values, note = holder.decrypt(parcel, workers), f"predicted error at most {holder.error_bound(wanted):.3g}"
    else:
        shared = holder.decrypt_to_share(parcel, share_bits, threads=workers)
        values, note = shared.values, str(shared)
    _save(out, values)
    say(f"wrote {out}: {' x '.join(map(str, np.shape(values))) or 'one number'}; {note}")


@app.command()
@prints(WORK, plain=READY)
def serve(
    program: ProgramFile,
    folder: Annotated[Path, typer.Option(help="Where received files go.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    plain: Annotated[list[str], typer.Option(help="NAME=FILE of a plain input, the server's own.")] = [],  # noqa: B006
    header: Header = None,
    metrics: Metrics = None,
    threads: Threads = 0,
) -> None:
    """Server: waits on 127.0.0.1 for keys and inputs, and computes when asked. Ctrl-C ends it.

    It authenticates nobody, so whoever reaches its port can send and fetch: for people on other machines put a tunnel
    before it that lets the right ones in (docs/operators.md). Prints its port as JSON. All ciphertexts stay in memory:
    where they are too many, `multiply --scratch` computes from files.

    Example: `ringforge matmul serve --program program.json --folder server --port 8750`
    """
    serve_program(
        program, folder, port, thread_count(threads), plain, until_closed=False, metrics=metrics, header=header
    )


@app.command()
@prints(WORK)
def send(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of `serve`.")],
    keys: Annotated[Path | None, typer.Option(help="Key holder: evaluation keys.")] = None,
    inputs: Annotated[list[str], typer.Option("--in", help="NAME=FILE: ciphertexts of an input.")] = [],  # noqa: B006
) -> None:
    """Key holder or contributor: sends evaluation keys or encrypted inputs to a server.

    Example: `ringforge matmul send --port 8750 --in B=b.ct`
    """
    if keys is None and not inputs:
        raise ParameterError("say what is sent: --keys eval.keys, or --in NAME=FILE")
    given = named_once(map(parse_assignment, inputs), "--in")
    connection = Connection(port)
    if keys is not None:
        answer = connection.send_keys(keys)
        say(f"sent {keys}: {size_text(answer['bytes'])}, read in {seconds_text(answer['load_seconds'])}")
    for name, path in given.items():
        answer = connection.send_input(name, path)
        say(f"sent {path} as input {name}: {size_text(answer['bytes'])}")
    connection.close()


@app.command()
@prints(WORK)
@overwrites
def fetch(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of `serve`.")],
    out: Annotated[Path, typer.Option(help="Ciphertexts to write.", callback=output_file)],
    name: Annotated[str, typer.Option(help="Which output.")] = "result",
) -> None:
    """Key holder: has the server compute, and fetches an output.

    Example: `ringforge matmul fetch --port 8750 --out c.ct`
    """
    connection = Connection(port)
    report = connection.run()
    size = connection.fetch(name, out)
    connection.close()
    say(f"computed in {seconds_text(report['compute_seconds'])}; wrote {out}: {size_text(size)}")


@app.command()
@prints(TEXT)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the summary and what the server stored.")] = Path(
        "demo-out/matmul"
    ),
    params: Params = "auto",
    threads: Threads = 0,
) -> None:
    """Three parties on real data: a step of ridge regression, patients' data and weights both encrypted.

    A hospital encrypts 442 patients' data, a model owner its weights; a server computes the improved weights and sees
    neither. Ends with exit code 1 if they differ from numpy's by more than predicted, or the loss does not fall.

    Examples: `ringforge matmul demo`, `ringforge matmul demo --params matmul-b-128`
    """
    from ringforge.matmul.demo import run_demo

    if not run_demo(out=out, parameters=params, threads=thread_count(threads)).good:
        raise typer.Exit(1)


#: The demo for `ringforge demo`, and about how many seconds it takes on two cores.
DEMO = (demo, 30)

__all__ = ["app", "expression"]
