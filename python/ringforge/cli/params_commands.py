# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge params`: shipped parameter sets, new ones, and what their security rests on."""

from __future__ import annotations

import math
from typing import Annotated

import typer
from rich.table import Table

from ringforge import params
from ringforge.cli import completion
from ringforge.cli.console import console, properties, say
from ringforge.cli.output import ROWS, prints
from ringforge.errors import ParameterError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Parameter sets of CKKS and BFV: list the shipped ones, show one, have one suggested; the security of any LWE "
    "instance.",
)

#: Shown sets may be insecure; this reason never leaves this module.
_SHOWN = "shown by ringforge params, not used"

Insecure = Annotated[
    str, typer.Option("--insecure", metavar="REASON", help="Why a set below 128 bits may be shown in full.")
]


def _set(name: str) -> params.Parameters:
    return params.named(name, _SHOWN)


def _verdict(p: params.Parameters | params.BfvParameters | params.BgvParameters) -> str:
    return "128 bits" if p.secure else "INSECURE: below 128 bits"


def _source() -> str:
    return f"Limits on log2 QP: {params.security_source()}"


@app.command("list")
@prints(ROWS)
def list_sets() -> None:
    """The shipped sets, with their security."""
    table = Table(title="CKKS parameter sets", title_justify="left")
    for label in ("name", "N", "slots", "levels", "primes", "log2 QP", "limit", "scale", "security"):
        table.add_column(label, no_wrap=True, justify="left" if label in {"name", "security"} else "right")
    for name in params.names():
        p = _set(name)
        table.add_row(
            name,
            f"2^{p.log_n}",
            str(p.slots),
            f"0...{p.max_level}",
            f"{len(p.q)}+{len(p.p)}",
            f"{p.log_qp:.1f}",
            f"{params.max_log_qp(p.log_n):.0f}",
            f"2^{p.log_scale:g}",
            _verdict(p),
        )
    console().print(table)
    table = Table(title="BFV parameter sets", title_justify="left")
    for label in ("name", "N", "t", "slots", "primes", "log2 Q", "log2 QP", "limit", "security"):
        table.add_column(label, no_wrap=True, justify="left" if label in {"name", "security"} else "right")
    for name in params.names_bfv():
        b = params.named_bfv(name, _SHOWN)
        table.add_row(
            name,
            f"2^{b.log_n}",
            str(b.t),
            f"2 x {b.row}" if b.batching else "none",
            f"{len(b.q)}+{len(b.p)}",
            f"{b.log_q:.1f}",
            f"{b.log_qp:.1f}",
            f"{params.max_log_qp(b.log_n):.0f}",
            _verdict(b),
        )
    console().print(table)
    table = Table(title="BGV parameter sets", title_justify="left")
    for label in ("name", "N", "m", "slots", "primes", "log2 Q", "log2 QP", "limit", "security"):
        table.add_column(label, no_wrap=True, justify="left" if label in {"name", "security"} else "right")
    for name in params.names_bgv():
        g = params.named_bgv(name, _SHOWN)
        table.add_row(
            name,
            f"2^{g.log_n}",
            str(g.m),
            params.describe_bgv(g)["slots"],
            f"{len(g.q)}+{len(g.p)}",
            f"{g.log_q:.1f}",
            f"{g.log_qp:.1f}",
            f"{params.max_log_qp(g.log_n):.0f}",
            _verdict(g),
        )
    console().print(table)
    say(_source())


@app.command()
@prints(ROWS)
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a shipped set, as `ringforge params list` prints it.", autocompletion=completion.all_sets
        ),
    ],
    insecure: Insecure = "",
) -> None:
    """One set in full: primes, levels, key switching, security.

    A set below 128 bits is refused unless `--insecure` says why you want it.

    Examples: `ringforge params show set-b`, `ringforge params show set-b-54 --insecure "54-bit width tests"`
    """
    p: params.Parameters | params.BfvParameters | params.BgvParameters
    if name in params.names_bfv():
        p = params.named_bfv(name, insecure)
        rows = params.describe_bfv(p)
    elif name in params.names_bgv():
        p = params.named_bgv(name, insecure)
        rows = params.describe_bgv(p)
    elif name in params.names():
        p = params.named(name, insecure)
        rows = params.describe(p)
    else:
        known = ", ".join([*params.names(), *params.names_bfv(), *params.names_bgv()])
        raise ParameterError(f'there is no parameter set "{name}"; the sets are {known}')
    rows["primes"] = ", ".join(map(str, p.q))
    rows["special primes"] = ", ".join(map(str, p.p))
    console().print(properties(f"parameter set {name}", rows))
    say(_source())


@app.command()
@prints(ROWS)
def suggest(
    depth: Annotated[int, typer.Option(help="Rescalings on the longest path: one per matrix or product.")],
    precision: Annotated[float, typer.Option(help="Bits after the point that results up to 1 keep, 4 ... 44.")] = 18,
    slots: Annotated[int, typer.Option(help="Numbers that must fit in one ciphertext.")] = 1024,
    headroom: Annotated[int, typer.Option(help="Results may reach 2^HEADROOM.")] = 9,
    modulus: Annotated[
        int | None,
        typer.Option("-t", "--modulus", help="BFV modulo this instead of CKKS; --depth alone counts beside it."),
    ] = None,
) -> None:
    """The smallest secure set for a computation, and why.

    Examples: `ringforge params suggest --depth 3 --precision 20 --slots 4096`,
    `ringforge params suggest --depth 4 -t 65537`
    """
    if depth < 0 or slots < 1 or headroom < 0:
        raise ParameterError(f"depth {depth}, slots {slots} and headroom {headroom} must not be negative, slots not 0")
    if modulus is None:
        found = params.suggest(depth, precision, slots, headroom)
        rows, why = params.describe(found.parameters), found.why
    else:
        if modulus < 2:
            raise ParameterError(f"--modulus {modulus}: integers modulo 2 at least are needed")
        exact = params.suggest_bfv(depth, modulus)
        rows, why = params.describe_bfv(exact.parameters), exact.why
    console().print(properties("suggested parameter set", rows))
    for line in why.splitlines():
        say(line)
    say(_source())


@app.command()
@prints(ROWS)
def estimate(
    n: Annotated[int, typer.Option("--n", help="Dimension; of RLWE the ring degree N.")],
    log_q: Annotated[float, typer.Option("--log-q", help="log2 of the largest modulus of any public key.")],
    sigma: Annotated[float, typer.Option(help="Standard deviation of the error.")] = 3.19,
    secret: Annotated[str, typer.Option(help="Distribution of the secret: binary, ternary or gaussian.")] = "ternary",
    samples: Annotated[int, typer.Option(help="Samples that the attacker has; 0: as many as wanted.")] = 0,
    model: Annotated[str, typer.Option(help="Cost of lattice reduction: matzov, bdgl16 or core-svp.")] = "matzov",
) -> None:
    """Bits of security of an LWE instance: what each known attack costs, and which is the cheapest.

    Example: `ringforge params estimate --n 1024 --log-q 26 --sigma 3.19 --secret ternary`
    """
    from ringforge import security

    if samples < 0:
        raise ParameterError(f"--samples {samples} is negative: take 0 for as many as the attacker wants")
    instance = security.Instance(n, log_q, sigma, secret, samples or None)
    result = security.estimate(instance, model)
    title = f"LWE: n = {n}, log2 q = {log_q:g}, error {sigma:g}, {secret} secret; cost model {model}"
    table = Table(title=title, title_justify="left")
    for label in ("attack", "bits", "beta", "dimension", "choices"):
        table.add_column(label, justify="left" if label in {"attack", "choices"} else "right")
    for attack in result.attacks:
        bits = "no way found" if math.isinf(attack.bits) else f"{attack.bits:.1f}"
        sizes = (str(attack.beta), str(attack.dimension)) if attack.beta else ("", "")
        table.add_row(attack.name, bits, *sizes, attack.detail)
    console().print(table)
    verdict = "at least" if result.secure else "INSECURE: below"
    say(f"{result.bits:.1f} bits by {result.best.name}: {verdict} {security.TARGET_BITS} bits")
    limit = params.max_log_qp(n.bit_length() - 1) if n == 1 << (n.bit_length() - 1) else 0
    if limit and secret == "ternary":
        say(f"The guideline allows log2 q up to {limit:g} at this dimension. {_source()}")
