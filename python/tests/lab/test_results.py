# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The page of results is what the command makes of the saved files, and its numbers are theirs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.lab.reproduce.measured import Saved, gates, ring
from ringforge.lab.tables import Table, Value, to_markdown

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "results.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    written = tmp_path_factory.mktemp("results") / "page.md"
    assert main(["reproduce", "results", "--results", str(RESULTS), "--write", str(written)]) == 0
    return written.read_text("utf-8")


def test_the_page_is_what_the_command_makes(made: str) -> None:
    """Made anew by: ringforge reproduce results --write docs/results.md"""
    assert PAGE.read_text("utf-8") == made


def test_every_table_of_measurements_names_machine_and_date(made: str) -> None:
    measured = [part for part in re.split(r"^\*\*", made, flags=re.M)[1:] if " (x) |" in part]
    assert len(measured) > 12
    for part in measured:
        if "Measured:" in part:
            assert re.search(r"Measured: .*\d cores, .*\d{4}-\d\d-\d\d.*\(`[\w.-]+\.jsonl`", part), part
        else:
            assert "-2026-" in part or "Host:" in part, part


def test_numbers_are_those_of_the_files(made: str) -> None:
    """Read here by themselves, rounded by Python, and looked for in the row of their name."""

    def rows(name: str) -> list[dict[str, Any]]:
        newest = max(RESULTS.glob(f"{name}-2???-??-??.jsonl"), key=lambda path: path.name[-16:])
        return [json.loads(line) for line in newest.read_text().splitlines()]

    layer = rows("matvec-set-b")[0]
    assert f"| rnnt-fc0 512 x 1344 | 6 (all primes) | {layer['wall_seconds'] * 1e3:#.4g} (x) |" in made
    clock = {"wall": "wall", "processor": "cpu"}[layer["clock"]]
    ratio = layer[f"peer_{clock}_seconds"] / layer[f"{clock}_seconds"]
    assert f"| {layer['peer_cpu_seconds']:#.4g} (x) | {ratio:,.0f} (d) |" in made
    run = rows("aes-run-bgv-aes")[-1]
    assert f"| bgv-aes | 2,048 | {run['seconds']:#.4g} (x) | {run['seconds'] / 2048 * 1e3:#.4g} (x) |" in made
    lookup = rows("psi-ringforge-32-14")[0]["extra"]
    sent, received = (sum(lookup[way].values()) / 2**20 for way in ("sent", "received"))
    assert f"| {sent:#.4g} (x) | {received:#.4g} (x) | 1,642 (p) | 27.00 (p) | 256.0 (p) |" in made


def test_the_newest_of_each_kernel_set_counts(tmp_path: Path) -> None:
    def save(date: str, kernels: str, milliseconds: float) -> None:
        record = {
            "system": "ring", "case": "ntt", "params": "N=2^10", "algorithm": "ntt", "seconds": milliseconds / 1e3,
            "level": 0, "device": "cpu", "threads": 1, "encode_seconds": None, "peer": None, "peer_version": None,
            "peer_seconds": None, "max_rel_error": None, "peak_mib": None, "cycles": None, "ratio": None,
            "ratio_with_encoding": None, "extra": {"kernels": kernels}, "clock": "wall",
            "wall_seconds": milliseconds / 1e3, "cpu_seconds": None, "peer_wall_seconds": None,
            "peer_cpu_seconds": None, "machine": None,
        }  # fmt: skip
        (tmp_path / f"ring-{date}.jsonl").write_text(json.dumps(record) + "\n")
        environment = {"cpu": "Some(R) Processor", "cores": 4, "commit": "0123456789"}
        environment |= {"load_before": [0.1, 0, 0], "load_after": [0.9, 0, 0]}
        (tmp_path / f"ring-{date}.environment.json").write_text(json.dumps(environment))

    save("2026-01-01", "avx512", 1)
    save("2026-01-02", "avx2", 2)
    save("2026-01-03", "avx2", 3)
    saved = Saved(tmp_path)
    texts = [to_markdown(table) for table in ring(saved)]
    assert ["2.000 (x)" in "".join(texts), len(texts)] == [False, 2]
    assert "| NTT of one limb | N=2^10 | 3.000 (x) | - | - | - | - |" in texts[0]
    told = "commit 0123456, load 0.10 before and 0.90 after (`ring-2026-01-03.jsonl`)."
    assert f"Measured: Some, 4 cores, kernels avx2, 2026-01-03, {told}" in texts[0]
    assert "1.000 (x)" in texts[1]
    assert gates(saved) == []
    assert set(saved.used) == {"ring-2026-01-01.jsonl", "ring-2026-01-03.jsonl"}


def test_markdown_of_a_table() -> None:
    cells = (("a | b", "1,024", Value(2.5, "ms", "measured")), ("c", "7", None))
    table = Table("T", ("what", "count", "time"), cells, ("First\nline.", "Second."))
    assert to_markdown(table) == (
        "**T**\n\n| what | count | time [ms] |\n|---|---:|---:|\n| a \\| b | 1,024 | 2.500 (x) |\n| c | 7 | - |\n\n"
        "First line. Second.\n"
    )


def test_a_folder_without_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["reproduce", "results", "--results", str(tmp_path)]) == 1
    assert "holds no saved results: give --results" in capsys.readouterr().err
