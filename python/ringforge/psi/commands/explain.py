# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi explain`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ringforge.cli.console import console, properties, size_text
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.psi import choice, planner
from ringforge.psi.answers import PlansAnswer
from ringforge.psi.commands.common import one_of, table_info
from ringforge.psi.info import TableInfo
from ringforge.psi.texts import public, table_rows
from ringforge.serving.options import Plaintext, Timeout, TlsCa, TokenFile

#: Of tables that `build` makes.
_TAG_BITS = 40


@dataclass(frozen=True)
class _Sizes:
    """What a table must hold; as of `planner.choose`."""

    mode: str
    capacity: int
    log_bins: int
    tag_bits: int
    label_bytes: int
    hashes: int
    element_bits: int


@prints(ROWS, PlansAnswer)
def explain(
    table: Annotated[Path | None, typer.Argument(help="A table here; or --server, or the options of `build`.")] = None,
    server: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Ask this server about its table.")] = None,
    mode: Annotated[str, typer.Option(help="oprf or direct.")] = "oprf",
    bits: Annotated[int, typer.Option(help="Mode direct: elements are integers below 2^BITS.")] = 32,
    bins: Annotated[
        int | None, typer.Option(min=0, max=20, help="2^BINS bins, in place of --client-size; look-ups alone.")
    ] = None,
    client_size: Annotated[
        int | None, typer.Option(min=1, help="Elements that a client asks for at once; 1024 without it.")
    ] = None,
    hashes: Annotated[int, typer.Option(min=1, max=3, help="Bins each element is put into.")] = 3,
    capacity: Annotated[int | None, typer.Option(min=1, help="Elements: a plan, without any table.")] = None,
    label_bytes: Annotated[int, typer.Option(min=0, help="Mode oprf: length of the longest label.")] = 0,
    algorithm: Annotated[
        str, typer.Option(help="ringforge, poly or paper; auto: the table's own, or ringforge.")
    ] = "auto",
    paper: Annotated[bool, typer.Option("--paper", help="The published algorithm too, for comparison.")] = False,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Either side: how queries are computed: operations, bytes, chances.

    Of a table that is there, or of one that `build` would make for so many elements.

    Examples:

        ringforge psi explain table

        ringforge psi explain --capacity 1048576 --client-size 10000 --label-bytes 3 --paper
    """
    one_of("--mode", mode, ("oprf", "direct"))
    one_of("--algorithm", algorithm, ("auto", "ringforge", "poly", "paper"))
    info: TableInfo | None = None
    if capacity is None:
        if table is None and server is None:
            raise ParameterError("say what: a table's directory, --server HOST:PORT, or --capacity ELEMENTS")
        info, _ = table_info(server, table, tls_ca, token_file, plaintext, timeout)
        names, sizes, poly = _of_table(info, algorithm)
    else:
        if table is not None or server is not None:
            raise ParameterError("--capacity is for a plan without a table: leave the table away, or --capacity")
        if label_bytes and mode == "direct":
            raise ParameterError("mode direct has no labels: leave --label-bytes away, or take mode oprf")
        if bins is not None and client_size is not None:
            raise ParameterError("the number of bins follows from the clients' size: give --bins or --client-size")
        client = client_size or choice.CLIENT_SIZE
        names, poly = ("ringforge" if algorithm == "auto" else algorithm,), None
        if algorithm == "poly":
            if mode == "direct" or bins is not None:
                raise ParameterError("the polynomial protocol is of mode oprf and chooses its bins: give --client-size")
            poly = choice.polynomial(capacity, client, label_bytes=label_bytes).plan
        rounded = 1 << (capacity - 1).bit_length()
        if bins is not None:
            log_bins = bins
        elif mode == "direct":
            log_bins = min(choice.bins_for(client, hashes), bits)
        else:
            log_bins = choice.lookup_bins(rounded, client, label_bytes=label_bytes, hashes=hashes)
        sizes = _Sizes(
            mode,
            rounded,
            log_bins,
            _TAG_BITS if mode == "oprf" else 0,
            label_bytes + 1 if label_bytes else 0,
            hashes,
            bits if mode == "direct" else 0,
        )
    if paper and "paper" not in names:
        names = (*names, "paper")
    given = None if info is None or info.plan.algorithm == "poly" else info.plan
    plans = [poly if name == "poly" else _plan(sizes, name, given) for name in names]
    if as_json:
        said = {} if info is None else {"table": public(info)}
        emit({**said, "plans": [_as_dict(p, sizes) for p in plans]})
        return
    if info is not None:
        console().print(properties("table", table_rows(info)))
    for plan in plans:
        if plan.algorithm == "poly":
            console().print(properties(f"poly: {plan.bins:,} bins", _poly_rows(plan)))
        else:
            answers = planner.parts(plan, sizes.tag_bits, sizes.label_bytes)
            console().print(planner.explain(plan, _entries(plan, sizes), answers))


def _of_table(info: TableInfo, algorithm: str) -> tuple[tuple[str, ...], _Sizes, Any]:
    plan: Any = info.plan
    own = plan.algorithm
    name = own if algorithm == "auto" else algorithm
    if name != own and "poly" in (name, own):
        raise ParameterError(
            f"this table is of algorithm {own}: leave --algorithm away; --capacity with --client-size explains {name}"
        )
    if own == "poly":
        log_bins = choice.bins_for(max(1, int(0.85 * info.bins)))
        sizes = _Sizes("oprf", info.capacity, log_bins, _TAG_BITS, info.label_bytes, info.hashes, 0)
        return (name,), sizes, plan
    sizes = _Sizes(
        info.mode,
        info.capacity,
        plan.log_bins,
        info.tag_bits,
        info.label_bytes,
        info.hashes,
        info.element_bits,
    )
    return (name,), sizes, None


def _plan(s: _Sizes, name: str, given: Any) -> Any:
    if given is not None and given.algorithm == name:
        return given
    return planner.choose(s.mode, s.capacity, s.log_bins, s.tag_bits, s.label_bytes, s.hashes, s.element_bits, name)


def _entries(plan: Any, s: _Sizes) -> int:
    """Cells set in a bin, at most."""
    shape = planner.shape(
        s.mode, s.capacity, s.log_bins, s.tag_bits, s.label_bytes, s.hashes, s.element_bits, plan.log_t
    )
    return shape.entries


def _poly_rows(fields: Any) -> dict[str, str]:
    plan = fields.native()
    return {
        "bundles": f"{plan.bundles:,} of polynomials of degree {plan.degree:,}, one for each bin",
        "an element": f"{plan.felts} residues modulo {fields.t:,} in {plan.columns} columns",
        "powers sent": ", ".join(map(str, fields.sources)),
        "ring": f"N = 2^{fields.log_n}, {len(fields.q)} primes",
        "evaluation keys": size_text(plan.key_bytes),
        "request": size_text(plan.request_bytes),
        "reply": size_text(plan.reply_bytes),
        "server memory of a query": f"{size_text(plan.query_bytes(2))}, 2 threads",
        "false positive": f"2^{plan.false_positive_log2(1):.0f} for each element asked for",
        "noise budget left": f"{plan.budget:.1f} bits",
        "security": fields.insecure or "128 bits",
    }


def _as_dict(fields: Any, s: _Sizes) -> dict[str, Any]:
    plan, poly = fields.native(), fields.algorithm == "poly"
    common = {
        "algorithm": fields.algorithm,
        "bins": plan.bins,
        "key_bytes": plan.key_bytes,
        "request_bytes": plan.request_bytes,
        "reply_bytes": plan.reply_bytes * (1 if poly else planner.parts(fields, s.tag_bits, s.label_bytes)),
        "query_bytes": plan.query_bytes(2),
        "insecure": fields.insecure,
        "plan": fields.model_dump(),
    }
    if poly:
        return {**common, "false_positive_log2": plan.false_positive_log2(1)}
    counts = plan.counts()
    names = ("substitution", "external_product", "reconstruction", "row", "ntt", "intt")
    return {
        **common,
        "operations": {name: getattr(counts, name) for name in names},
        "failure_log2": plan.failure_log2(_entries(fields, s)),
    }
