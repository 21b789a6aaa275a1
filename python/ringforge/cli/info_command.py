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
from ringforge import _native, bundles, devices, params
from ringforge.cli.console import properties, size_text
from ringforge.errors import FormatError
from ringforge.files import naming
from ringforge.matvec.model import Linear
from ringforge.matvec.model_files import load_model
from ringforge.matvec.program import Program
from ringforge.matvec.roles import CLEAR_MAGIC
from ringforge.programs import MAX_FILE

_RECORD_MAGIC = b"RGFG"

#: Records printed one a row; longer files are summed up by type.
_ROWS = 24

_SHOWN = "named by ringforge info, not used"


def installation() -> Iterator[RenderableType]:
    """Version, kernel sets, processor, devices."""
    sets = _native.kernels.available()
    active = _native.kernels.active()
    yield properties(
        f"ringforge {ringforge.__version__}",
        {
            "kernel sets": ", ".join(f"{s} (active)" if s == active else s for s in sets),
            "threads": f"{_native.hardware_threads()} processors",
            "parameter sets": ", ".join(params.names()),
            "security limits": params.security_source(),
        },
    )
    table = Table(title="devices", title_justify="left")
    for label in ("name", "what it is", "kernels", "largest N", "limbs", "prime bits"):
        table.add_column(label)
    for name in devices.names():
        c = devices.open_device(name).capabilities()
        limits = ("any" if v is None else str(v) for v in (c.max_degree, c.max_limbs, c.max_prime_bits))
        table.add_row(c.name, c.description, ", ".join(sorted(k.__name__ for k in c.kernels)), *limits)
    yield table


def describe_file(path: Path) -> Iterator[RenderableType]:
    """What a file of ours holds.

    Raises:
        FormatError: it is none of ours, or damaged. OSError: it cannot be read.
    """
    with path.open("rb") as f, naming(path):
        label = bundles.read_label(f)
        behind = f.tell()
        start = f.read(64)
    if label is not None:
        yield _label(path, label)
    described = next((d for magic, d in _BY_MAGIC.items() if start.startswith(magic)), None)
    if described is not None:
        yield from described(path)
    elif start.startswith(_RECORD_MAGIC):
        yield from _records(path, behind)
    elif start.startswith(CLEAR_MAGIC):
        yield f"{escape(path.name)}: file of the clear backend, NOT ENCRYPTED, {size_text(path.stat().st_size)}"
    elif path.suffix in {".onnx", ".npz", ".npy"}:
        yield _model(path)
    elif start.lstrip().startswith(b"{"):
        yield from _program(path)
    else:
        raise FormatError(
            f"{path.name} is no file of ours: neither records (they start with {_RECORD_MAGIC.decode()}), "
            "nor keys or bits of gates, nor a program (JSON), nor a model (.onnx, .npz, .npy)"
        )


def _gates(path: Path) -> Iterator[RenderableType]:
    # Imported here: only these need it.
    from ringforge.gates.info import describe

    yield from describe(path)


def _oprf_key(path: Path) -> Iterator[RenderableType]:
    yield f"{escape(path.name)}: the key of an OPRF server of psi, {size_text(path.stat().st_size)}"
    yield _SECRET


def _psi_message(path: Path) -> Iterator[RenderableType]:
    yield f"{escape(path.name)}: a message of a psi session, {size_text(path.stat().st_size)}; its plan is not in it"


_SECRET = "This file holds a secret key: it belongs to its owner alone."

#: What describes files that are no records, by how they begin.
_BY_MAGIC = {
    **dict.fromkeys((b"RGFGSEC", b"RGFGATE", b"RGFBITS"), _gates),
    b"RGOPRF": _oprf_key,
    b"RGFPSI": _psi_message,
}


def _known_sets() -> dict[bytes, str]:
    return {params.named(name, _SHOWN).hash: name for name in params.names()}


def _label(path: Path, label: bundles.Label) -> RenderableType:
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
    known = _known_sets()
    table = Table(
        title=f"{escape(path.name)}: {len(records)} record{'s' * (len(records) != 1)}, checksums match",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for label in ("record", "parameters", "level", "size", "element", "holds", "scale", "key"):
        table.add_column(label, no_wrap=True, justify="right" if label in {"level", "size", "element"} else "left")
    for r in records[:_ROWS]:
        table.add_row(
            r.type,
            f"{r.parameter_hash.hex()[:8]} ({known.get(r.parameter_hash, 'no shipped set')})",
            str(r.limbs - 1) if r.limbs else "",
            size_text(r.bytes),
            str(r.element or ""),
            _holds(r),
            _log2(r.scale) if r.scale else "",
            f"{r.key_id:016x}"[:6] if r.key_id else "",
        )
    yield table
    if len(records) > _ROWS:
        yield f"... and {len(records) - _ROWS} more"
    kinds: dict[str, list[int]] = {}
    for r in records:
        kinds.setdefault(r.type, []).append(r.bytes)
    yield "; ".join(f"{len(sizes)} x {kind}: {size_text(sum(sizes))}" for kind, sizes in kinds.items())
    if any("secret" in kind for kind in kinds):
        yield _SECRET


def _holds(r: _native.io.RecordInfo) -> str:
    parts = [f"{r.digits} digits"] if r.digits else [f"{r.parts} polynomials"] if r.parts else []
    if r.seeded:
        parts.append("half as seed")
    return ", ".join(parts)


def _log2(x: float) -> str:
    return f"2^{math.log2(x):.2f}" if x > 0 and math.isfinite(x) else str(x)


def _program(path: Path) -> Iterator[RenderableType]:
    try:
        kind = json.loads(path.read_bytes()).get("format") if path.stat().st_size <= MAX_FILE else None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        kind = None
    describe = _PROGRAMS.get(kind) if isinstance(kind, str) else None
    if describe is None:
        raise FormatError(f"{path.name} is JSON, but no program: it does not say format {' or '.join(_PROGRAMS)}")
    yield from describe(path)


def _matvec_program(path: Path) -> Iterator[RenderableType]:
    program = Program.load(path)
    yield program.summary()
    yield _parameters(program.context)
    relin = "" if program.relin_level is None else ", one relinearisation key"
    yield (
        f"backend {program.backend}; vectors of {program.inputs} numbers, size at most "
        f"{program.input_bound:g}, give {program.outputs}; needs {len(program.key_levels)} Galois keys{relin}"
    )
    if program.error_bound is not None:
        yield f"predicted error of results: at most {program.error_bound:.3g}"
    yield f"digest {program.digest[:16]}, which files of its ciphertexts name"


def _matmul_program(path: Path) -> Iterator[RenderableType]:
    # Imported here: the planner takes a while, and only this needs it.
    from ringforge.matmul.program import Program
    from ringforge.matmul.steps import steps_table

    program = Program.load(path)
    yield program.summary()
    yield steps_table([r.step for r in program.traced.results.values()])
    yield _parameters(program.context)
    yield f"digest {program.digest[:16]}, which files of its ciphertexts name"


#: What describes programs, by the format they state.
_PROGRAMS = {"ringforge-matvec-program": _matvec_program, "ringforge-matmul-program": _matmul_program}


def _parameters(context: _native.Context) -> RenderableType:
    rows = params.describe(context.params)
    rows["shipped as"] = _known_sets().get(context.params.hash, "no shipped set")
    return properties("parameters", rows)


def _model(path: Path) -> RenderableType:
    model = load_model(path)
    table = Table(title=f"{escape(path.name)}: model, {model.inputs} → {model.outputs}", title_justify="left")
    for label in ("layer", "kind", "shape", "bias", "largest entry"):
        table.add_column(label)
    for i, layer in enumerate(model.layers):
        if isinstance(layer, Linear):
            largest = f"{abs(layer.weights).max():.4g}"
            table.add_row(str(i), "linear", f"{layer.rows} x {layer.cols}", "yes" if layer.bias.size else "no", largest)
        else:
            table.add_row(str(i), "square", "", "", "")
    return table
