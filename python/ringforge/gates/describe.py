# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files of gates hold, without any key: `ringforge info`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import RenderableType

from ringforge.cli.console import SECRET_FILE, properties, size_text
from ringforge.errors import FormatError
from ringforge.files import naming
from ringforge.gates.storage import (
    BITS,
    EVALUATION,
    HEADER_BYTES,
    KINDS,
    SECRET,
    load_bits,
    parameters,
    read_header,
    set_name,
)

_CHUNK = 1 << 20
_SUM_BYTES = 32

#: Accumulators by the number in an evaluation key.
_METHODS = ("ap", "ginx", "automorphism")


def describe(path: Path) -> Iterator[RenderableType]:
    """Kind, parameters, key id and size of a file of keys or bits; secrets are recognised, never shown.

    Raises:
        FormatError: it is damaged, or of another kind. OSError: it cannot be read.
    """
    with naming(path), path.open("rb") as f:
        start = f.read(HEADER_BYTES + 1)
        header = read_header(start)
        size = path.stat().st_size
        name = set_name(header.parameter_hash)
        rows = {
            "holds": f"{KINDS[header.kind][0]}, format {header.format}",
            "parameters": f"{header.parameter_hash.hex()[:8]} ({name or 'no shipped set'})",
            "key": f"{header.key_id:016x}" if header.key_id else "without an id: nothing tells what belongs to it",
            "size": size_text(size),
        }
        if header.kind == EVALUATION:
            method = start[header.size] if len(start) > header.size else len(_METHODS)
            rows["method"] = _METHODS[method] if method < len(_METHODS) else "unknown"
        f.seek(0)
        _check(f.read, size)
    if header.kind == BITS and name:
        rows["arrays"] = ", ".join(
            f"{n}{list(b.shape)}"
            for n, b in load_bits(path, parameters(name, "shown by ringforge info, not used")).items()
        )
    rows["checksum"] = "matches"
    yield properties(path.name, rows)
    if header.kind == SECRET:
        yield SECRET_FILE


def _check(read: Callable[[int], bytes], size: int) -> None:
    """Compares the checksum at the end; files are of gigabytes."""
    digest, left = hashlib.sha256(), size - _SUM_BYTES
    while left > 0 and (some := read(min(left, _CHUNK))):
        digest.update(some)
        left -= len(some)
    if read(_SUM_BYTES + 1) != digest.digest():
        raise FormatError("damaged, its checksum differs: copy the file again, or make it anew")
