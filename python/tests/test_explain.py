# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge explain`: the costs of rooms, added up; counts of pools in place of plans; refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.cli.explain_command import _stage, read_measured, systems
from ringforge.devices.scaling import Cluster, Stage, Workload, predict, predict_work, useful
from ringforge.devices.sharding import Cost
from ringforge.errors import FormatError, ParameterError
from ringforge.gates import forecast, shards
from ringforge.scale.counts import Counts


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["explain", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return found


@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("gates", ["--set", "gates-128", "--size", "500"]),
        ("matmul", ["--size", "128"]),
        ("matmul", ["--set", "batch", "--size", "2000"]),
        ("omr", ["--set", "test", "--size", "3"]),
        ("psi", ["--size", "4096"]),
        ("psi", ["--set", "poly", "--size", "4096"]),
        ("aes", []),
        ("aes", ["--set", "ltv-test-aes", "--size", "40"]),
    ],
)
def test_every_system_says_what_it_takes(system: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, system, *options, "--workers", "6", "--per-node", "2")
    lines = found["workers"]
    assert [w["workers"] for w in lines] == [1, 2, 4, 6]
    assert [w["nodes"] for w in lines] == [1, 1, 2, 3]
    assert lines[0]["traffic"] == 0 < lines[-1]["traffic"]
    assert lines[0]["speed"] == 1.0
    assert all(w["store"] > 0 and w["memory"] > 0 and w["seconds"] > 0 for w in lines)
    # No schedule is below the longest shards one after the other, or the mean of all.
    each = found["stages"]
    work = sum(s["seconds"] for s in each)
    assert work > 0
    assert lines[-1]["seconds"] >= max(s["longest"] for s in each)
    assert lines[-1]["seconds"] * 6 >= work
    assert found["enough"] in (1, 2, 4, 6)
    if found["pieces"] == 1:
        assert sum(s["stored"] + s["sent"] for s in each) == lines[-1]["put"]
    assert set(systems()) == {"omr", "psi", "gates", "matmul", "aes"}


def test_what_several_shards_read_is_shown_as_put_once() -> None:
    stage = Stage("products", (Cost(stored=25),) * 8, shared=5, distinct=40)
    assert _stage(stage).stored == 45 == predict([stage], Cluster(1)).put


def test_stages_are_the_shards_of_kernels() -> None:
    work = forecast.workload("gates-128", 300)
    for workers in (1, 3):
        (stage,) = work.stages(workers)
        rotations = sum(c.seconds for c in stage.costs)
        assert rotations == pytest.approx(300 * stage.costs[0].seconds / _gates_of(stage, 0, workers))
        assert stage.function == f"{shards._gates.__module__}.{shards._gates.__qualname__}"
        assert stage.shared == stage.costs[0].stored


def _gates_of(stage: Stage, which: int, workers: int) -> int:
    edges = [300 * i // len(stage.costs) for i in range(len(stage.costs) + 1)]
    assert len(stage.costs) >= workers
    return edges[which + 1] - edges[which]


def test_pieces_follow_each_other_after_what_is_put_once() -> None:
    once, each = Stage("table", (Cost(stored=10**9),)), Stage("query", (Cost(seconds=1.0, stored=5),) * 4, kept=10**9)
    work = Workload("queries", lambda _: [each], lambda _: 7, lambda _: [once])
    cluster = Cluster(2, overhead=0.0)
    found = predict_work(work, cluster)
    assert found.seconds == pytest.approx(predict([once], cluster).seconds + 7 * predict([each], cluster).seconds)
    assert found.put == 10**9 + 7 * 20
    assert found.store == 10**9 + 2 * 20, "of the piece before, values are still there"
    assert useful([predict_work(work, Cluster(w)) for w in (1, 2, 4, 8)]) == 4


def test_measured_seconds_take_the_place_of_planned_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts as a pool writes them: of shards that took three times as long as predicted."""
    from ringforge.devices.sharding import Shard

    counts = Counts()
    shard = Shard("gates", shards._gates, (), lambda x: x, Cost(seconds=2.0))
    counts.computed(shard, 1, 1, 7.0, 6.0)
    path = tmp_path / "counts.json"
    counts.write(path)
    assert read_measured(path) == {"ringforge.gates.shards._gates": 3.0}
    plain = _json(capsys, "gates", "--size", "6400", "--workers", "1")
    slower = _json(capsys, "gates", "--size", "6400", "--workers", "1", "--measured", str(path))
    assert slower["workers"][0]["seconds"] == pytest.approx(3 * plain["workers"][0]["seconds"], rel=0.05)
    assert slower["measured"] == ["ringforge.gates.shards._gates"]
    threads = _json(capsys, "gates", "--size", "6400", "--workers", "1", "--threads", "4")
    assert threads["workers"][0]["seconds"] == pytest.approx(plain["workers"][0]["seconds"] / 4, rel=0.1)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"format": "ringforge-shard-costs", "version": 2, "kinds": {}}',
        '{"format": "ringforge-shard-costs", "version": 1, "kinds": {"f": {"shards": 1}}}',
        '{"format": "ringforge-shard-costs", "version": 1, "kinds": {"f": {"shards": 1, "predicted": 1e-300, '
        '"cpu_seconds": 1e300}}}',
        '{"format": "ringforge-shard-costs", "version": 1, "kinds": {"f": {"shards": 1, "predicted": 1, '
        '"cpu_seconds": -1}}}',
        '{"format": "ringforge-shard-costs", "version": 1, "kinds": {"f": {"shards": 1, "predicted": "0", '
        '"cpu_seconds": 1}}}',
        '{"format": "ringforge-shard-costs", "version": 1, "kinds": {"f": {"shards": 1, "predicted": 1, '
        '"cpu_seconds": 1' + 400 * "0" + "}}}",
        "[" * 100000, " " * (1 << 20) + "{}",
    ],
)  # fmt: skip
def test_files_that_are_no_counts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    path.write_text(text)
    with pytest.raises(FormatError, match="no counts of shards"):
        read_measured(path)


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["nothing"], "omr, psi, gates, matmul, aes"),
        (["psi", "--set", "other"], "direct, oprf or poly"),
        (["omr", "--set", "other"], "other"),
    ):
        assert main(["explain", *words]) == 1
        assert said in capsys.readouterr().err


def test_levels_of_more_gates_than_are_costed_are_refused() -> None:
    with pytest.raises(ParameterError, match="1,048,576 are the most"):
        forecast.workload("", 10**9)
