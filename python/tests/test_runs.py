# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Records: ratios, lines, tables, files and the environment."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from ringforge.runs import Record, duration, environment, load, save, saved_results, table

FULL = Record(
    system="ringforge",
    case="matvec",
    params="n14",
    algorithm="bsgs",
    seconds=0.5,
    level=3,
    threads=1,
    encode_seconds=1.5,
    peer="lattigo",
    peer_version="v6.1.1",
    peer_seconds=4.0,
    max_rel_error=1e-7,
    peak_mib=100.5,
    extra={"rows": 128},
)
BARE = Record(system="simulator", case="ntt", params="n14", algorithm="ntt", seconds=0.0, device="array", cycles=1234)


def test_ratios_divide_the_peers_time() -> None:
    assert FULL.ratio == pytest.approx(8.0)
    assert FULL.ratio_with_encoding == pytest.approx(2.0)


def test_ratios_are_null_without_peer_or_encoding() -> None:
    assert BARE.ratio is None
    assert BARE.ratio_with_encoding is None
    assert Record("a", "b", "c", "bsgs", seconds=1.0, peer_seconds=2.0).ratio_with_encoding is None
    assert Record("a", "b", "c", "bsgs", seconds=0.0, peer_seconds=2.0).ratio is None


def test_line_has_every_key() -> None:
    keys = {
        "system", "case", "params", "algorithm", "level", "device", "threads", "seconds", "encode_seconds", "peer",
        "peer_version", "peer_seconds", "ratio", "ratio_with_encoding", "max_rel_error", "peak_mib", "cycles",
        "extra",
    }  # fmt: skip
    for record in (FULL, BARE):
        line = record.to_json()
        assert "\n" not in line
        assert set(json.loads(line)) == keys
    assert json.loads(BARE.to_json())["ratio"] is None


def test_line_reads_back() -> None:
    for record in (FULL, BARE):
        assert Record.from_json(record.to_json()) == record


def test_line_refuses_what_json_lacks() -> None:
    with pytest.raises(ValueError, match="JSON"):
        Record("a", "b", "c", "bsgs", seconds=float("nan")).to_json()


def test_table_shows_values_and_gaps() -> None:
    text = io.StringIO()
    Console(file=text, width=200).print(table([FULL, BARE], title="results"))
    shown = text.getvalue()
    for part in ("results", "lattigo v6.1.1", "500 ms", "8.00", "2.00", "1.0e-07", "1234", "-"):
        assert part in shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (2.5, "2.5 s"),
        (12345.6, "12346 s"),
        (0.0123, "12.3 ms"),
        (1.5e-5, "15 us"),
        (2e-9, "2 ns"),
        (0.0, "0 ns"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_environment_is_json_and_says_what_it_was_told() -> None:
    found = environment(kernels="avx2", compiler_flags="-O2")
    assert json.loads(json.dumps(found)) == found
    assert (found["kernels"], found["compiler_flags"]) == ("avx2", "-O2")
    assert found["cpu"]
    assert found["cores"] >= found["usable_cores"] >= 1


def test_environment_outside_a_repository(tmp_path: Path) -> None:
    assert environment(repository=tmp_path)["commit"] is None


def test_save_and_load(tmp_path: Path) -> None:
    path = save([FULL, BARE], tmp_path / "results", "small", environment(repository=tmp_path))
    assert load(path) == [FULL, BARE]
    assert json.loads((tmp_path / "results" / "small.environment.json").read_text())["python"]
    save([BARE], tmp_path / "results", "small")
    assert load(path) == [BARE]
    assert sorted(item.name for item in path.parent.iterdir()) == ["small.environment.json", "small.jsonl"]


def test_saved_results_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is named, then bench/results here, then that of the source tree that the package came from."""
    monkeypatch.chdir(tmp_path)
    named = tmp_path / "named"
    assert saved_results(named) == named
    elsewhere = saved_results()
    (tmp_path / "bench" / "results").mkdir(parents=True)
    (tmp_path / "bench" / "results" / "x.jsonl").write_text("{}")
    assert saved_results().resolve() == (tmp_path / "bench" / "results").resolve()
    assert elsewhere.is_absolute() or not elsewhere.exists()
