# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Measured figures in README.md and the guides, from the newest results in bench/results.

    python tools/figures.py            prints the figures
    python tools/figures.py --write    puts them where documents have <!-- figure NAME --> ... <!-- end -->

Times are processor time, so they do not depend on what else the machine did, unless the name says wall; shares are
those of our time in the peer's.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<!-- figure ([a-z0-9 -]+) -->(.*?)<!-- end -->", re.S)


def newest(*names: str) -> Path:
    """The newest file NAME-DATE.jsonl of some names."""
    dated = re.compile(rf"({'|'.join(map(re.escape, names))})-\d{{4}}-\d\d-\d\d")
    found = (p for p in (ROOT / "bench/results").glob("*.jsonl") if dated.fullmatch(p.stem))
    return max(found, key=lambda p: p.stem[-10:])


def record(*names: str, **wanted: Any) -> dict[str, Any]:
    """The first record of the newest file whose fields, or those of `extra`, are these."""
    for line in newest(*names).read_text(encoding="utf-8").splitlines():
        found: dict[str, Any] = json.loads(line)
        if all(found["extra"].get(k, found.get(k)) == v for k, v in wanted.items()):
            return found
    raise LookupError(f"no record of {', '.join(names)} has {wanted}")


def time(seconds: float) -> str:
    """Seconds to two digits, or three of milliseconds, with a unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2g} µs"
    return f"{float(f'{seconds * 1e3:.3g}'):g} ms" if seconds < 1 else f"{seconds:.2g} s"


def cpu(r: dict[str, Any], peer: str = "") -> float:
    """Processor seconds of our side, or the peer's."""
    return float(r[f"{peer}cpu_seconds"])


def _layer() -> dict[str, Any]:
    return record("matvec-set-b", case="rnnt-fc0", level_choice="auto")


def _product() -> dict[str, Any]:
    return record("matmul-matmul-a-naive", "matmul-matmul-a", case="64-64-64", algorithm="ringforge", level=4)


def _gate() -> dict[str, Any]:
    return record("gates-gates-128", "gates-gates-128-paper-std128-ap", case="NAND", params="gates-128")


def _share(case: str) -> str:
    r = record("gates-integers-gates-128", case=case)
    return f"{cpu(r) / cpu(r, 'peer_'):.2f}"


def _vectors(what: Callable[[dict[str, Any]], str], algorithm: str) -> str:
    names = ("matmul-vectors", "matmul-matmul-b-128-fold-auto")
    shapes = ("1-64-64", "64-64-1", "1-128-128", "128-128-1")
    found = [what(record(*names, case=case, algorithm=algorithm)) for case in shapes]
    return f"{', '.join(found[:-1])} and {found[-1]}"


def _image(name: str, images: int) -> dict[str, Any]:
    return record(f"matvec-{name}", case=f"{name}, {images} image{'s' if images > 1 else ''}")


FIGURES: dict[str, Callable[[], str]] = {
    "layer": lambda: time(cpu(_layer())),
    "product": lambda: time(cpu(_product())),
    "gate": lambda: time(cpu(_gate())),
    "gate of tfhe-rs": lambda: time(cpu(_gate(), "peer_")),
    "psi": lambda: time(cpu(record("psi-poly-18-10"))),
    "share of add32": lambda: _share("add32"),
    "share of min8": lambda: _share("min8"),
    "share of mul8": lambda: _share("mul8"),
    "file of integers": lambda: f"`bench/results/{newest('gates-integers-gates-128').name}`",
    "file of vectors": lambda: f"`bench/results/{newest('matmul-vectors', 'matmul-matmul-b-128-fold-auto').name}`",
    "vectors by folds": lambda: _vectors(lambda r: f"{1e3 * cpu(r):.0f}", "fold"),
    "vectors by the second step": lambda: _vectors(lambda r: f"{1e3 * cpu(r):.0f}", "ringforge"),
    "conv wall": lambda: time(float(_image("conv", 1)["wall_seconds"])),
    "conv of 200 wall": lambda: time(float(_image("conv", 200)["extra"]["seconds_per_image"])),
    "deep wall": lambda: time(float(_image("deep", 1)["wall_seconds"])),
    "deep of 200 wall": lambda: time(float(_image("deep", 200)["extra"]["seconds_per_image"])),
}


def written(page: str) -> str:
    """A page with its figures as they are now.

    Raises:
        KeyError: it has a name that there is no figure of.
    """
    return MARK.sub(lambda m: f"<!-- figure {m[1]} -->{FIGURES[m[1]]()}<!-- end -->", page)


def pages() -> Iterator[Path]:
    """The documents that have figures."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if MARK.search(path.read_text(encoding="utf-8")):
            yield path


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put them into the documents")
    if parser.parse_args().write:
        for path in pages():
            path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for name, figure in FIGURES.items():
            print(f"{name}: {figure()}")


if __name__ == "__main__":
    main()
