# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of private set intersection print: tables of texts, objects for JSON."""

from __future__ import annotations

import math
import re
from typing import Any

from rich.markup import escape

from ringforge.cli.console import console, seconds_text, size_text
from ringforge.psi.build import BuildSpec
from ringforge.psi.choice import CLIENT_SIZE, Prediction, why
from ringforge.psi.client import Element, Result
from ringforge.psi.data import Request
from ringforge.psi.forms import JOINT, described
from ringforge.psi.info import TableInfo
from ringforge.psi.sets import Elements

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def warn(message: str) -> None:
    """One line on standard error, beside errors."""
    console(stderr=True).print(f"[bold yellow]warning:[/] {escape(' '.join(message.split()))}", soft_wrap=True)


def printable(data: bytes) -> str:
    """Text for a terminal: bytes that are none, and characters that control it, as escapes."""
    text = data.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(data: bytes) -> bytes:
    """Text for a line of a file: as it is, but what separates lines and columns, and other controls, as escapes."""
    text = data.decode(errors="surrogateescape")
    escaped = (c.encode("unicode_escape").decode() if _CONTROL.match(c) else c for c in text)
    return "".join(escaped).encode(errors="surrogateescape")


def shown(element: Element) -> str:
    return printable(element) if isinstance(element, bytes) else str(element)


def shown_parts(element: Element) -> str:
    """An element for a line: several columns with tabs between."""
    if isinstance(element, int):
        return str(element)
    return "\t".join(printable(part) for part in element.split(JOINT.encode()))


def plan_line(predictions: list[Prediction], spec: BuildSpec, asked: Request) -> str:
    """What is about to be built, why, and what it takes, in a line."""
    if not predictions:
        return f"building: {spec.algorithm}, mode {spec.mode}, 2^{spec.log_bins} bins"
    p = predictions[0]
    line = (
        f"building: {p.algorithm}, {p.bins:,} bins; about {seconds_text(p.build_seconds)}, {size_text(p.disk)} on "
        f"disk, {size_text(p.memory)} of memory"
    )
    if asked.log_bins is None:
        size = f"{asked.client_size or CLIENT_SIZE:,}"
        said = "" if asked.client_size else " (--client-size says otherwise)"
        times = f", in {p.queries} queries" if p.queries > 1 else ""
        line += f"; for clients of {size} elements at once{times}{said}"
    if asked.algorithm == "auto" and len(predictions) > 1:
        line += f". Why {p.algorithm}: {why(predictions)}"
    return line


def prediction_rows(p: Prediction) -> dict[str, str]:
    """What a table would take, for a column beside others."""
    return {
        "queries": f"{p.queries}, of {p.bins:,} bins",
        "server's time": seconds_text(p.server_seconds),
        "client sends": size_text(p.sent),
        "client receives": size_text(p.received),
        "waiting, 100 Mbit/s": seconds_text(p.waiting),
        "building": seconds_text(p.build_seconds),
        "on disk": size_text(p.disk),
        "memory to build": size_text(p.memory),
    }


def public(info: TableInfo) -> dict[str, Any]:
    """What everybody may know of a table."""
    plan = info.native()
    return {
        "mode": info.mode,
        "algorithm": info.plan.algorithm,
        "insecure": info.plan.insecure,
        "capacity": info.capacity,
        "normalise": info.normalise,
        "columns": info.columns,
        "bins": plan.bins,
        **({"cells": plan.cells} if info.plan.algorithm != "poly" else {}),
        "hashes": info.hashes,
        "tag_bits": info.tag_bits,
        "label_bytes": max(0, info.label_bytes - 1),
        "key_bytes": plan.key_bytes,
        "request_bytes": plan.request_bytes,
        "reply_bytes": info.reply_bytes(plan),
        "limits": info.limits.model_dump(),
    }


def build_rows(figures: dict[str, Any], info: TableInfo) -> dict[str, str]:
    rows = {"elements": f"{figures['elements']:,}, room for {figures['capacity']:,}"}
    if figures["duplicates"]:
        rows["elements"] += f"; {figures['duplicates']:,} lines said nothing new"
    if "added" in figures:
        rows["changed"] = ", ".join(f"{figures[k]:,} {k}" for k in ("added", "removed", "relabelled"))
        rows["to serve it"] = "start psi serve again, or send SIGHUP to the one that runs"
    rows |= table_rows(info)
    rows["on disk"] = size_text(figures["bytes_on_disk"])
    rows["time"] = seconds_text(figures["seconds"])
    return rows


def table_rows(info: TableInfo) -> dict[str, str]:
    plan, poly = info.native(), info.plan.algorithm == "poly"
    mode = "oprf: elements of any kind" if info.mode == "oprf" else f"direct: integers below 2^{info.element_bits}"
    if poly:
        wrong = f"2^{plan.false_positive_log2(1):.0f} for each element asked for"
    else:
        wrong = "none" if info.mode == "direct" else f"2^-{info.tag_bits} for each element asked for"
    cells = "" if poly else f" of {plan.cells:,} cells"
    return {
        "mode": mode,
        "algorithm": info.plan.algorithm,
        "elements are": written_text(info),
        "bins": f"{plan.bins:,}{cells}; each element in {info.hashes}",
        "false positives": wrong,
        "labels": f"up to {info.label_bytes - 1} bytes" if info.label_bytes else "none",
        "security": f"BELOW 128 bits: {printable(info.plan.insecure.encode())}" if info.plan.insecure else "128 bits",
        "a client sends": f"keys {size_text(plan.key_bytes)} once, {size_text(plan.request_bytes)} for each query",
        "a query returns": size_text(info.reply_bytes(plan)),
    }


def limit_rows(info: TableInfo) -> dict[str, str]:
    """What one client may ask for in a day."""
    per = info.limits
    return {"limits": f"{per.prf_per_day:,} elements and {per.bins_per_day:,} bins a day for each client (UTC)"}


def written_text(info: TableInfo) -> str:
    """How elements of a table are written."""
    if info.mode == "direct":
        return "integers"
    how = f"normalised by {info.normalise}" if info.normalise else "taken as they are"
    if any(info.forms):
        how = "; ".join(map(described, info.forms)) + (f"; {how}" if info.normalise else "")
    return f"{info.columns} columns joined, each {how}" if info.columns > 1 else how


def query_object(outcome: Any, matches: list[tuple[Element, bytes]], labelled: bool, found: Elements) -> dict[str, Any]:
    result: Result = outcome.result
    return {
        "matches": [
            {
                "element": _json_element(e),
                **({"label": label.decode(errors="backslashreplace")} if labelled else {}),
            }
            for e, label in matches
        ],
        "elements": len(found.elements),
        "duplicates": found.duplicates,
        "left_out": found.empty,
        "fell_together": found.together,
        **({"unasked": [_json_element(e) for e in result.unasked]} if result.unasked else {}),
        "table": public(outcome.info),
        "queries": result.queries,
        "anomalies": result.anomalies,
        "sent": outcome.traffic.sent,
        "received": outcome.traffic.received,
        "seconds": outcome.seconds,
        "probabilities": {
            "false_positive": result.probabilities.false_positive,
            "placement": result.probabilities.placement,
            "decryption": result.probabilities.decryption,
        },
    }


def _json_element(element: Element) -> int | str:
    return element if isinstance(element, int) else element.decode(errors="backslashreplace")


def query_rows(outcome: Any) -> dict[str, str]:
    result: Result = outcome.result
    sent, received = outcome.traffic.sent, outcome.traffic.received
    chances = result.probabilities
    total_sent, total_received = outcome.traffic.total()
    names = {"keys": "keys", "prf": "PRF", "requests": "requests", "info": "table info"}
    rows = {
        "queries": f"{result.queries}, of {outcome.info.bins:,} bins",
        "sent": f"{size_text(total_sent)}: " + sizes(names, sent),
        "received": f"{size_text(total_received)}: "
        + sizes({**names, "requests": "replies", "keys": "for keys"}, received),
        "time": ", ".join(f"{name} {seconds_text(took)}" for name, took in outcome.seconds.items()),
        "false positives": f"probability {chance(chances.false_positive)} that some match is none",
        "placement": f"probability {chance(chances.placement)} that some element finds no place",
    }
    if chances.decryption is not None:
        rows["decryption"] = f"probability {chance(chances.decryption)} that some reply is read wrongly"
    if result.anomalies:
        rows["anomalies"] = f"{result.anomalies} replies that an honest server cannot give: do not trust the result"
    return rows


def sizes(names: dict[str, str], counts: dict[str, int]) -> str:
    return ", ".join(f"{names[kind]} {size_text(counts[kind])}" for kind in names if counts.get(kind))


def chance(p: float) -> str:
    return "0" if p <= 0 else f"2^{math.log2(p):.0f}" if p < 2**-10 else f"{p:.2g}"
