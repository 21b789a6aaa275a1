# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo's report: one HTML file that needs nothing else, and a JSON summary of the same figures."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import numpy.typing as npt

import ringforge
from ringforge import params as parameter_sets
from ringforge.cli.console import seconds_text, size_text
from ringforge.files import writing
from ringforge.matvec.accuracy import Accuracy
from ringforge.matvec.demo_result import DemoResult, Exchange, time_rows
from ringforge.matvec.digits import SIDE

#: Bytes of ciphertext that the report shows.
SHOWN_BYTES = 336
_ROW = 24


def png(image: npt.NDArray[np.float64]) -> str:
    """A grey image with values in [0, 1], dark on light, as a data URI."""
    height, width = image.shape
    pixels = np.rint(255 * (1 - np.clip(image, 0, 1))).astype(np.uint8)
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def entropy(data: bytes) -> float:
    """Shannon entropy of the byte frequencies, in bits per byte."""
    counts = np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256)
    shares = counts[counts > 0] / max(len(data), 1)
    return float(-(shares * np.log2(shares)).sum())


def _bars(e: Exchange) -> list[dict[str, Any]]:
    rows = time_rows(e)
    largest = max(rows.values())
    groups = {"evaluate": "server", "encode model": "server", "read keys": "server"}
    out = []
    for name, seconds in rows.items():
        side = next((g for k, g in groups.items() if name.startswith(k)), "client")
        if name in {"transfer", "send keys", "write and read ciphertexts"}:
            side = "between"
        once = name in {"make keys", "send keys", "read keys", "encode model"}
        share = 100 * seconds / largest
        out.append({"name": name, "text": seconds_text(seconds), "share": share, "side": side, "once": once})
    return out


def _tiles(r: DemoResult) -> list[dict[str, Any]]:
    return [
        {
            "src": png(image.reshape(SIDE, SIDE)),
            "guess": int(guess),
            "plain": int(plain),
            "label": int(label),
            "wrong": int(guess) != int(label),
            "differs": int(guess) != int(plain),
        }
        for image, guess, plain, label in zip(r.images, r.encrypted, r.plain, r.labels, strict=True)
    ]


def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write_report(r: DemoResult, path: Path) -> None:
    """Writes the HTML report."""
    shown = r.single.sample[:SHOWN_BYTES]
    scores = r.single.scores[0]
    low, high = float(min(scores.min(), 0)), float(max(scores.max(), 0))
    percent = 100 / (high - low or 1.0)
    text = (
        _templates()
        .get_template("report.html.j2")
        .render(
            r=r,
            version=ringforge.__version__,
            source=parameter_sets.security_source(),
            tiles=_tiles(r),
            agreed=len(r.labels) - int((r.plain != r.encrypted).sum()),
            mistakes=int((r.encrypted != r.labels).sum()),
            latency=seconds_text(r.single.latency),
            amortised=seconds_text(r.amortised),
            precision=r.precision,
            single_bars=_bars(r.single),
            batch_bars=_bars(r.batch),
            sizes=[
                (name, size_text(size), size_text(r.batch.sizes.get(name, 0))) for name, size in r.single.sizes.items()
            ],
            operations=[
                (name.replace("_", " "), f"{count:,}", f"{r.batch.operations.get(name, 0):,}")
                for name, count in r.single.operations.items()
            ],
            dump=[" ".join(f"{b:02x}" for b in shown[i : i + _ROW]) for i in range(0, len(shown), _ROW)],
            shown=len(shown),
            entropy=entropy(r.single.sample),
            sample=len(r.single.sample),
            scores=[
                {
                    "digit": k,
                    "text": f"{v:.2f}",
                    "left": percent * (min(float(v), 0.0) - low),
                    "width": percent * abs(float(v)),
                    "best": k == int(scores.argmax()),
                }
                for k, v in enumerate(scores)
            ],
            first=png(r.images[0].reshape(SIDE, SIDE)),
        )
    )
    with writing(path) as f:
        f.write(text.encode())


def write_accuracy(found: Accuracy, path: Path) -> None:
    """Writes errors layer by layer as an HTML file."""
    text = _templates().get_template("accuracy.html.j2").render(found=found, version=ringforge.__version__)
    with writing(path) as f:
        f.write(text.encode())


def summary_json(r: DemoResult) -> str:
    """The figures of the summary, for programs."""

    def exchange(e: Exchange) -> dict[str, Any]:
        return {
            "images": e.images,
            "batch": e.program.batch,
            "ciphertexts": e.ciphertexts,
            "latency_seconds": e.latency,
            "seconds": e.seconds,
            "layers": [[name, report.seconds] for name, report in e.layers],
            "operations": e.operations,
            "bytes": e.sizes,
            "predicted_error": e.error_bound,
        }

    p = r.precision
    return json.dumps(
        {
            "system": "matvec",
            "backend": r.backend,
            "device": r.device,
            "kernels": r.kernels,
            "threads": r.threads,
            "parameters": r.parameters,
            "network": r.network,
            "accuracy_plain": r.plain_accuracy,
            "accuracy_encrypted": r.encrypted_accuracy,
            "disagreements": r.disagreements,
            "amortised_seconds": r.amortised,
            "precision_bits": p.min_bits,
            "max_error": p.max_error,
            "single": exchange(r.single),
            "batch": exchange(r.batch),
        },
        indent=2,
    )
