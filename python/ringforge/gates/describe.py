# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files of gates hold, without any key: `ringforge info`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType

from ringforge import _native
from ringforge.cli.console import SECRET_FILE, properties, size_text
from ringforge.errors import FormatError
from ringforge.files import naming
from ringforge.gates.bit_records import (
    BITS,
    EVALUATION,
    HEADER_BYTES,
    KINDS,
    SECRET,
    parameters,
    read_header,
    set_name,
)
from ringforge.gates.storage import load_bits

#: Accumulators by the number in an evaluation key.
_METHODS = ("ap", "ginx", "automorphism")


def describe(path: Path) -> Iterator[RenderableType]:
    """Kind, parameters, key id and size of a file of keys or bits; secrets are recognised, never shown.

    Raises:
        FormatError: it is damaged, or of another kind. OSError: it cannot be read.
    """
    with naming(path), path.open("rb") as f:
        header = read_header(f.read(HEADER_BYTES))
        reader = _native.io.Reader(str(path))
        reader.verify()
        if not reader.at_end():
            raise FormatError(f"bytes follow the {KINDS[header.kind][0]}: the file is damaged, copy it again")
    name = set_name(header.parameter_hash)
    rows = {
        "holds": f"{KINDS[header.kind][0]}, format {header.format}",
        "parameters": f"{header.parameter_hash.hex()[:8]} ({name or 'no shipped set'})",
        "key": f"{header.key_id:016x}" if header.key_id else "without an id: nothing tells what belongs to it",
        "size": size_text(path.stat().st_size),
    }
    if header.kind == EVALUATION:
        rows["method"] = _METHODS[header.method] if header.method < len(_METHODS) else "unknown"
    if header.kind == BITS and name:
        rows["arrays"] = ", ".join(
            f"{n}{list(b.shape)}"
            for n, b in load_bits(path, parameters(name, "shown by ringforge info, not used")).items()
        )
    rows["checksum"] = "matches"
    yield properties(path.name, rows)
    if header.kind == SECRET:
        yield SECRET_FILE
