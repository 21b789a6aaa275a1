# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whole runs of AES at small sets: what records say, keys that are kept, results compared, tables, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench import aes_runs
from ringforge.lab.bench.aes_runs import RunCase, run, tables
from ringforge.lab.papers.aes import figures
from ringforge.lab.tables import Value
from ringforge.runs import Record

#: A small set of each scheme, and steps without which there is no AES.
SETS = {
    "bgv-test": {"products, relinearised", "Frobenius maps", "affine maps", "modulus switching", "sums"},
    "ltv-test-aes": {"reading keys", "key switching", "products", "modulus switching", "sums"},
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module", params=SETS)
def found(request: pytest.FixtureRequest, directory: Path) -> list[Record]:
    return list(run(RunCase(request.param, directory, "a test", blocks=3)))


def test_records_of_a_run(found: list[Record], directory: Path) -> None:
    *rounds, whole = found
    assert [r.case for r in rounds] == [f"run, round {i}" for i in range(11)]
    assert whole.case == "run"
    assert whole.extra["blocks"] == 3
    assert whole.extra["slots"] == 16
    assert {*whole.extra["steps"]} == SETS[whole.params] | {"reading round keys", "other"}
    for r in found:
        assert sum(r.extra["steps"].values()) == pytest.approx(r.seconds)
        assert 0 < r.extra["predicted_budget"] <= r.extra["measured_budget"]
        assert r.peak_mib is not None
        assert 10 < r.peak_mib < 1 << 15
        json.loads(r.to_json())
    # Steps are most of a round, so none that matters is missing.
    assert whole.cpu_seconds is not None
    assert whole.extra["steps_cpu"]["other"] < whole.cpu_seconds / 2
    assert whole.seconds == pytest.approx(sum(r.seconds for r in rounds))
    assert whole.extra["block_seconds"] == pytest.approx(whole.seconds / 3)
    assert whole.extra["calls"]["reading round keys"] == 11
    assert whole.extra["key_bytes"] == sum(
        p.stat().st_size for p in (directory / whole.params / "evaluation").iterdir()
    )
    budgets = [r.extra["predicted_budget"] for r in rounds]
    assert budgets[0] > budgets[-1]


def test_tables_of_a_run(found: list[Record]) -> None:
    steps, state, beside = tables(found)
    for table in (steps, state):
        assert [row[0] for row in table.rows] == [*(str(i) for i in range(11)), "all"]
    wall, processor, *parts = (cell.number for cell in steps.rows[3] if isinstance(cell, Value))
    assert sum(parts) == pytest.approx(wall)
    assert processor > 0
    sources = [cell.source for cell in state.rows[3] if isinstance(cell, Value)]
    assert sources == ["measured", "model", "measured", "measured"]
    unit = found[-1].extra["transform_seconds"]
    assert (unit is not None) == (found[-1].algorithm == "bgv") == any("transforms of" in note for note in steps.notes)
    assert beside.rows[0][4] is None  # three blocks are not the paper's 2,048
    assert beside.rows[1][2:4] == (Value(15.0, "min", "paper"), Value(439.0, "ms", "paper"))
    derived = [row[3].number for row in beside.rows[2:] if isinstance(row[3], Value)]
    assert derived == pytest.approx([515.4, 542.0, 477.4, 504.1], abs=0.5)


def test_keys_are_kept_and_the_way_back(found: list[Record], directory: Path) -> None:
    name = found[-1].params
    before = {p: p.stat().st_mtime_ns for p in (directory / name).rglob("*") if p.is_file()}
    *_, whole = run(RunCase(name, directory, "a test", blocks=2, threads=1, direction="decrypt"))
    after = {p: p.stat().st_mtime_ns for p in (directory / name).rglob("*") if p.is_file()}
    assert {p: after[p] for p in before} == before
    assert {p.parent.name for p in after.keys() - before.keys()} == {"round-keys-decrypt"}
    assert whole.extra["direction"] == "decrypt"


def test_a_wrong_block_is_seen(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "bgv-test"
    scheme = aes_runs.scheme_of(name)
    real = type(scheme).client

    def client(*arguments: object) -> object:
        made = real(*arguments)  # type: ignore[arg-type]
        decrypt = made.decrypt_blocks

        def wrong(state: object) -> object:
            blocks = decrypt(state)  # type: ignore[arg-type]
            blocks[-1, 15] ^= 0x80
            return blocks

        monkeypatch.setattr(made, "decrypt_blocks", wrong)
        return made

    monkeypatch.setattr(type(scheme), "client", client)
    with pytest.raises(Error, match="1 of 2 blocks are wrong"):
        list(run(RunCase(name, directory, "a test", blocks=2)))


def test_a_full_run_stands_beside_the_paper() -> None:
    extra = {
        "blocks": figures.SLOTS,
        "slots": figures.SLOTS,
        "block_seconds": 0.0439,
        "direction": "encrypt",
        "steps": {"other": 1.0},
        "transforms": 5,
        "transform_seconds": None,
        "cpu_seconds": 170.0,
        "predicted_budget": 10.0,
        "measured_budget": 12.0,
        "key_bytes": 1,
        "round_key_bytes": 1,
    }
    *_, beside = tables([Record("aes", "run", "ltv-paper", "ltv", 90.0, threads=2, extra=extra)])
    ratio = beside.rows[0][4]
    assert isinstance(ratio, Value)
    assert ratio.number == pytest.approx(10)
    assert ratio.source == "derived"
    assert tables([]) == []


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match='"x" is none: take one of bgv'):
        list(run(RunCase("x", tmp_path)))
    with pytest.raises(ParameterError):  # without a reason
        list(run(RunCase("ltv-test-aes", tmp_path)))
    with pytest.raises(ParameterError, match="no direction"):
        list(run(RunCase("ltv-test-aes", tmp_path, "a test", direction="up")))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="takes 1 to 16 at a time"):
        list(run(RunCase("bgv-test", tmp_path, "a test", blocks=17)))
    assert list(tmp_path.iterdir()) == []
    for wrong in (
        ["--case", "slots", "--set", "bgv-test"],
        [],
        ["--set", "bgv-test", "--threads", "1", "--threads", "2"],
    ):
        assert main(["bench", "aes", "--run", str(tmp_path), *wrong]) != 0


def test_command(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--run", str(directory), "--set", "ltv-test-aes", "--insecure", "a test", "--blocks", "1"]
    assert main(["bench", "aes", *arguments]) == 0
    shown = capsys.readouterr()
    assert "Whole runs of AES-128" in shown.out
    assert "broken" in shown.err
