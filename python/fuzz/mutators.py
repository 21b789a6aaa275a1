# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Mutations that know a format: random changes of JSON are almost never JSON, and of sealed files never sealed.

A mutator takes bytes, a random generator, and `havoc`, which changes bytes without knowing anything.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

Havoc = Callable[[bytes], bytes]
Mutator = Callable[[bytes, random.Random, Havoc], bytes]

#: What a field may hold or should not.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 255, 65536, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64, 2**200, -(2**63),
    0.0, -0.0, 0.5, 1e-300, 1e300, float("inf"), float("nan"), "", "x", "0", "\x1b[31m", "\u202e", "\ud800", "x" * 1000,
    "A" * 44, [], [0], [[]], {}, {"": None}, [0] * 100,
)  # fmt: skip


def havoc(rng: random.Random) -> Havoc:
    """A plain one, for runs without a fuzzer."""

    def change(data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            at, length = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 4, 8, 32))
            match rng.randrange(5):
                case 0:
                    out[at:] = b""
                case 1:
                    del out[at : at + length]
                case 2:
                    out[at:at] = rng.randbytes(length)
                case 3:
                    out[at : at + length] = bytes([rng.choice((0, 0x7F, 0x80, 0xFF))]) * length
                case _ if out:
                    out[at % len(out)] ^= 1 << rng.randrange(8)
        return bytes(out)

    return change


def bare(data: bytes, rng: random.Random, havoc: Havoc) -> bytes:  # noqa: ARG001
    """For formats without structure worth knowing."""
    return havoc(data)


def in_json(data: bytes, rng: random.Random, havoc: Havoc) -> bytes:
    """Changes one place of a JSON document: its value, its key, how often it comes."""
    if rng.randrange(8) == 0:
        return havoc(data)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return havoc(data)
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            places += [(node, key) for key in keys]
            waiting += [node[key] for key in keys]
    if not places:
        return json.dumps(rng.choice(VALUES)).encode()
    node, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del node[key]
        case 1 if isinstance(node, list):
            node.insert(key, node[key])
        case 1:
            node[str(rng.choice(VALUES))] = node[key]
        case 2:
            node[key] = rng.choice(places)[0]
            if _circular(document):
                node[key] = None
        case 3 if isinstance(node[key], int) and not isinstance(node[key], bool):
            node[key] += rng.choice((-1, 1))
        case 3 if isinstance(node[key], str):
            node[key] = havoc(node[key].encode(errors="replace")).decode(errors="replace")
        case _:
            node[key] = rng.choice(VALUES)
    return json.dumps(document).encode()


def _circular(document: Any) -> bool:
    try:
        json.dumps(document)
    except (ValueError, RecursionError):
        return True
    return False


def sealed(data: bytes, rng: random.Random, havoc: Havoc) -> bytes:
    """For formats that end with the SHA-256 of what is before: mostly put in order again."""
    if len(data) < 32 or rng.randrange(8) == 0:
        return havoc(data)
    body = havoc(data[:-32])
    return body + hashlib.sha256(body).digest()


def records(data: bytes, rng: random.Random, havoc: Havoc) -> bytes:
    """For one record or several: one of them is changed behind its header; length and checksum are put in order."""
    if data[:7] in {b"RGFGSEC", b"RGFGATE", b"RGFBITS"}:  # of gates, from before records
        return sealed(data, rng, havoc)
    starts = [i for i in range(0, max(0, len(data) - 83)) if data[i : i + 4] == b"RGFG"]
    if not starts or rng.randrange(8) == 0:
        return havoc(data)
    pick = rng.randrange(len(starts))
    start, end = starts[pick], starts[pick + 1] if pick + 1 < len(starts) else len(data)
    header, body = bytearray(data[start : start + 52]), data[start + 52 : max(start + 52, end - 32)]
    if rng.randrange(4) == 0:
        header[rng.randrange(4, 44)] = rng.randrange(256)
    elif rng.randrange(2) and len(body) >= 64:
        body = havoc(body[:64])[:64].ljust(64, b"\0") + body[64:]
    else:
        body = havoc(body)
    header[44:52] = len(body).to_bytes(8, "little")
    record = bytes(header) + body
    return data[:start] + record + hashlib.sha256(record).digest() + data[end:]


def labelled(data: bytes, rng: random.Random, havoc: Havoc) -> bytes:
    """For files of ciphertexts: the label before the records is changed as JSON and sealed again, or records are."""
    old = data.startswith(b"RGLABEL1")
    at, width = (8, 4) if old else (44, 8)
    first = at + width
    length = int.from_bytes(data[at:first], "little")
    end = first + length + 32
    if not (old or data[:4] == b"RGFG") or len(data) < end:
        return records(data, rng, havoc)
    if rng.randrange(2):
        return data[:end] + records(data[end:], rng, havoc)
    text = in_json(data[first : first + length], rng, havoc)
    start = data[:at] + len(text).to_bytes(width, "little") + text
    return start + hashlib.sha256(start).digest() + data[end:]


def after(count: int, inner: Mutator) -> Mutator:
    """For inputs whose first bytes choose what is read."""

    def mutate(data: bytes, rng: random.Random, havoc: Havoc) -> bytes:
        head, body = data[:count].ljust(count, b"\0"), data[count:]
        if rng.randrange(16) == 0:
            head = bytes(rng.randrange(8) for _ in range(count))
        return head + inner(body, rng, havoc)

    return mutate
