# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge info` prints: about the installation, or about a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import ringforge
from ringforge import _native, bundles, devices, files, params
from ringforge.cli.console import SECRET_FILE, properties, size_text
from ringforge.devices import base, registry
from ringforge.errors import FormatError
from ringforge.files import naming
from ringforge.programs import MAX_FILE
from ringforge.registered import load, registered

#: Groups of what rooms register for their files.
_GROUP = "ringforge.files"

#: Files that say what a directory is.
_MAIN_FILES = ("CURRENT",)

#: Records printed one a row; longer files are summed up by type.
_ROWS = 24


def installation() -> Iterator[RenderableType]:
    """Version, kernel sets, processor, devices."""
    sets = _native.kernels.available()
    active = _native.kernels.active()
    yield properties(
        f"ringforge {ringforge.__version__}",
        {
            "kernel sets": ", ".join(f"{s} (active)" if s == active else s for s in sets),
            "threads": f"{_native.hardware_threads()} processors",
            "CKKS parameter sets": ", ".join(params.names()),
            "BFV parameter sets": ", ".join(params.names_bfv()),
            "BGV parameter sets": ", ".join(params.names_bgv()),
            "security limits": params.security_source(),
        },
    )
    table = Table(title="devices", title_justify="left")
    for label in ("name", "what it is", "kernels", "largest N", "limbs", "prime bits"):
        table.add_column(label)
    registry.import_kernels()
    for name in devices.names():
        c = devices.open_device(name).capabilities()
        limits = ("any" if v is None else str(v) for v in (c.max_degree, c.max_limbs, c.max_prime_bits))
        table.add_row(c.name, c.description, ", ".join(sorted(k.__name__ for k in c.kernels)), *limits)
    for kind, forms in registry.addresses().items():
        run = ", ".join(sorted(k.__name__ for k in base.kernels(kind)))
        table.add_row(", ".join(forms), escape(registry.about(kind)), run, "any", "any", "any")
    yield table


def describe_file(path: Path) -> Iterator[RenderableType]:
    """What a file of ours holds.

    Raises:
        FormatError: it is none of ours, or damaged. OSError: it cannot be read.
    """
    if path.is_dir():
        path = _main_file(path)
    with path.open("rb") as f, naming(path):
        label = bundles.read_any_label(f)
        behind = f.tell()
        start = f.read(_native.io.HEADER_BYTES + _native.io.HEAD_BYTES)
    if label is not None:
        yield _label(path, label)
    begin = next((e for name, e in registered(f"{_GROUP}.begin").items() if start.startswith(name.encode())), None)
    suffix = registered(f"{_GROUP}.suffix").get(path.suffix)
    if begin is not None:
        yield from load(begin)(path)
    elif start.startswith(_native.io.MAGIC):
        with naming(path):
            first = registered(f"{_GROUP}.record").get(f"{_native.io.peek(start).code:#06x}")
        yield from _records(path, behind) if first is None else load(first)(path)
    elif suffix is not None:
        yield from load(suffix)(path)
    elif start.lstrip().startswith(b"{"):
        yield from _program(path)
    else:
        raise FormatError(
            f"{path.name} is no file of ours: neither records (they start with {_native.io.MAGIC.decode()}), "
            "nor keys or bits of gates, nor a program (JSON), nor a model (.onnx, .npz, .npy)"
        )


def _main_file(directory: Path) -> Path:
    """The file that says what a directory of ours is.

    Raises:
        FormatError: it is none of ours.
    """
    for name in _MAIN_FILES:
        if (directory / name).is_file():
            return directory / name
    raise FormatError(
        f"{directory.name} is a directory, and none of ours: name a file in it; of directories, tables of psi are shown"
    )


def _label(path: Path, label: bundles.Label | bundles.MatrixLabel) -> RenderableType:
    if isinstance(label, bundles.MatrixLabel):
        return properties(
            f"{path.name}: label, checksum matches",
            {
                "holds": "an encrypted matrix of a session of matmul",
                "shape": " x ".join(map(str, label.shape)) or "a number",
                "ciphertexts": str(math.prod(label.grid)),
            },
        )
    return properties(
        f"{path.name}: label, checksum matches",
        {
            "program": f"digest {label.program[:16]}",
            "holds": label.title,
            "shape": " x ".join(map(str, label.shape)) or "a number",
            "number": "not known" if label.count is None else str(label.count),
            "ciphertexts": str(label.ciphertexts),
        },
    )


def _records(path: Path, start: int) -> Iterator[RenderableType]:
    with naming(path):
        reader, check = _native.io.Reader(str(path)), _native.io.Reader(str(path))
        reader.seek(start)
        check.seek(start)
        records = reader.index()
        for _ in records:
            check.verify()
    known = params.shipped()
    table = Table(
        title=f"{escape(path.name)}: {len(records)} record{'s' * (len(records) != 1)}, checksums match",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    noisy = any(field in r.fields for r in records for field in ("log_deviation", "log_bound"))
    measure = "noise" if noisy else "scale"
    for label in ("record", "parameters", "level", "size", "element", "holds", measure, "key"):
        table.add_column(label, no_wrap=True, justify="right" if label in {"level", "size", "element"} else "left")
    for r in records[:_ROWS]:
        table.add_row(
            r.type,
            _belongs(r, known),
            str(r.fields["limbs"] - 1) if "limbs" in r.fields else "",
            size_text(r.bytes),
            str(r.fields.get("element", "")),
            _holds(r),
            _measure(r),
            f"{r.fields['key_id']:016x}"[:6] if "key_id" in r.fields else "",
        )
    yield table
    if len(records) > _ROWS:
        yield f"... and {len(records) - _ROWS} more"
    kinds: dict[str, list[int]] = {}
    for r in records:
        kinds.setdefault(r.type, []).append(r.bytes)
    yield "; ".join(f"{len(sizes)} x {kind}: {size_text(sum(sizes))}" for kind, sizes in kinds.items())
    if files.secret_in(path):
        yield SECRET_FILE


def _belongs(r: _native.io.RecordInfo, known: dict[bytes, str]) -> str:
    if not any(r.parameter_hash):
        return ""
    return f"{r.parameter_hash.hex()[:8]} ({known.get(r.parameter_hash, 'no shipped set')})"


def _holds(r: _native.io.RecordInfo) -> str:
    parts = [
        f"{r.fields[many]} {word}"
        for many, word in (("digits", "digits"), ("parts", "polynomials"))
        if many in r.fields
    ]
    if "seeded" in r.fields:
        parts.append("half as seed")
    return ", ".join(parts)


def _measure(r: _native.io.RecordInfo) -> str:
    """Scale of CKKS, predicted noise of BFV and BGV."""
    if "scale" in r.fields:
        return _log2(r.fields["scale"])
    noise = r.fields.get("log_deviation", r.fields.get("log_bound"))
    return "" if noise is None else f"2^{noise:.4g}"


def _log2(x: float) -> str:
    return f"2^{math.log2(x):.2f}" if x > 0 and math.isfinite(x) else str(x)


def _program(path: Path) -> Iterator[RenderableType]:
    try:
        kind = json.loads(path.read_bytes()).get("format") if path.stat().st_size <= MAX_FILE else None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        kind = None
    formats = registered(f"{_GROUP}.format")
    entry = formats.get(kind) if isinstance(kind, str) else None
    if entry is None:
        raise FormatError(f"{path.name} is JSON, but no program: it does not say format {' or '.join(formats)}")
    yield from load(entry)(path)
