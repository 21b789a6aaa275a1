# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: real texts, a board, a detector, two receivers, as processes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.omr import demo, quotes
from ringforge.search import Search
from tests.answers import printed, result_of


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, demo.DemoResult]:
    """The small demo itself."""
    out = tmp_path_factory.mktemp("demo")
    return out, demo.run_demo(out=out, size="small", threads=2)


def test_each_receiver_has_its_texts(shown: tuple[Path, demo.DemoResult]) -> None:
    _, r = shown
    assert r.good
    assert [len(r.posted[name]) for name in demo.NAMES] == [50, 12]
    for name in demo.NAMES:
        assert sorted(r.got(name)) == sorted(r.posted[name])
        assert r.answers[name]["bulletins"][0]["count"] == len(r.posted[name])


def test_the_parties_are_processes_that_have_ended(shown: tuple[Path, demo.DemoResult]) -> None:
    _, r = shown
    assert len(set(r.pids.values())) == 3
    assert not any(Path(f"/proc/{r.pids[name]}").exists() for name in ("board", "detector"))


def test_what_the_servers_keep(shown: tuple[Path, demo.DemoResult]) -> None:
    """The search went over everything, and an independent one finds nothing either."""
    out, r = shown
    assert r.planted == r.needles > 62
    assert {"board/board.sqlite", "board/board.log", "detector/detector.log"} <= r.searched.keys()
    assert sum(name.endswith(".key") for name in r.searched) == 2
    kept = b"".join(p.read_bytes() for name in ("board", "detector") for p in (out / name).rglob("*") if p.is_file())
    for name in demo.NAMES:
        assert not any(text in kept for text in r.posted[name])
        secret = (out / "clients" / f"{name}.secret").read_bytes()
        assert not any(piece in kept for piece in demo.secret_pieces(out / "clients" / f"{name}.secret"))
        assert secret not in kept


def test_the_same_work_for_both(shown: tuple[Path, demo.DemoResult]) -> None:
    """50 messages or 12: steps, their order, counts and sizes are equal."""
    out, r = shown
    journals = [path.read_text() for path in (out / "detector" / "store").rglob("*.journal")]
    assert len(journals) == 2
    assert journals[0] == journals[1]
    assert all(json.loads(line)["counts"] for line in journals[0].splitlines())
    assert r.alike


def test_the_summary_for_programs(shown: tuple[Path, demo.DemoResult]) -> None:
    out, r = shown
    text = (out / "summary.json").read_text()
    found = json.loads(text)
    assert (found["system"], found["good"], found["entries"]) == ("omr", True, 4096)
    assert found["messages"] == {"first": 50, "second": 12}
    assert not Search(r.posted["first"]).data(text.encode())


@pytest.mark.parametrize("wrong", ["got", "leaked", "planted", "log"])
def test_what_is_wrong_is_a_failure(
    shown: tuple[Path, demo.DemoResult],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    r = shown[1]
    answers: dict[str, Any] = json.loads(json.dumps(r.answers))
    answers["first"]["messages"].pop()
    changed = {
        "got": dataclasses.replace(r, answers=answers),
        "leaked": dataclasses.replace(r, leaked={b"a text"}),
        "planted": dataclasses.replace(r, planted=r.planted - 1),
        "log": dataclasses.replace(r, log=r.log[: 1 + next(i for i, e in enumerate(r.log) if e["event"] == "step")]),
    }[wrong]
    assert not changed.good
    demo.print_result(changed)
    assert "FAILED" in printed(capsys)
    monkeypatch.setattr(demo, "run_demo", lambda **_: changed)
    assert main(["omr", "demo"]) == 1
    capsys.readouterr()
    assert main(["omr", "demo", "--json"]) == 1
    assert result_of(capsys.readouterr().out)["good"] is False


# ---- its parts ----


def test_texts_are_real_and_different() -> None:
    texts, source = quotes.texts(62, 114)
    assert len(set(texts)) == 62
    assert all(8 <= len(t) <= 114 for t in texts)
    assert ("fortunes" in source) == (quotes.FORTUNES / "fortunes").exists()


def test_without_fortunes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(quotes, "FORTUNES", tmp_path)
    texts, source = quotes.texts(62, 114)
    assert len(set(texts)) == 62
    assert texts[0].decode() == quotes.QUOTATIONS[0]
    assert texts[len(quotes.QUOTATIONS)].startswith(b"2: ")
    assert "not installed" in source
