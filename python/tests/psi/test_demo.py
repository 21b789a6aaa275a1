# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: two processes, the plain intersection, and what each side has afterwards."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ringforge import _native
from ringforge import search as searching
from ringforge.cli import main
from ringforge.errors import Error
from ringforge.psi import demo
from tests.answers import printed

pytest.importorskip("zxcvbn")
pytestmark = pytest.mark.skipif(not hasattr(_native, "psi"), reason="its processes are the command's own")

GUIDE = Path(__file__).parents[3] / "docs" / "psi.md"
SMALL = {"elements": 1 << 12, "log_bins": 8}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, demo.DemoResult]:
    """The demo itself, with a smaller table."""
    out = tmp_path_factory.mktemp("demo")
    return out, demo.run_demo(out=out, threads=2, **SMALL)


def test_the_plain_intersection(shown: tuple[Path, demo.DemoResult]) -> None:
    _, r = shown
    common = demo.common_passwords()
    assert r.good
    assert len(r.asked) == len(set(r.asked)) == demo.COUNT
    ranks = {p: common.index(p) + 1 for p in set(r.asked) & set(common[: SMALL["elements"]])}
    assert len(ranks) == demo.WEAK
    assert r.got == ranks


def test_the_parties_are_processes_that_have_ended(shown: tuple[Path, demo.DemoResult]) -> None:
    _, r = shown
    assert len(set(r.pids.values())) == 2
    assert not Path(f"/proc/{r.pids['server']}").exists()


def test_what_the_server_saw(shown: tuple[Path, demo.DemoResult]) -> None:
    out, r = shown
    events = {e["event"]: e for e in r.log}
    assert events["EvaluatePrf"]["elements"] == 128, "the class of 100"
    assert events["Query"]["bins"] == 1 << SMALL["log_bins"]
    assert re.fullmatch("[0-9a-f]{12}", events["Query"]["client"])
    assert "quota leaves this client 122" in r.second_refused
    assert r.found_planted == demo.COUNT
    assert not r.leaked
    assert {"server.log", "quota.sqlite", "stderr", "table/CURRENT"} <= r.searched.keys()
    everything = b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())
    assert not any(p.encode() in everything for p in r.asked), "not in the summary either"


def test_the_summary_for_programs(shown: tuple[Path, demo.DemoResult]) -> None:
    out, _ = shown
    found = json.loads((out / "summary.json").read_text())
    assert (found["system"], found["good"], found["matches"]) == ("psi", True, demo.WEAK)


def test_as_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints what the guide shows, figures aside; and the same folder serves twice."""
    monkeypatch.setitem(demo.SIZES, "small", (SMALL["elements"], SMALL["log_bins"]))
    monkeypatch.setenv("COLUMNS", "400")
    for _ in range(2):
        assert main(["psi", "demo", "--out", str(tmp_path / "out"), "--threads", "2"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
    block = re.search(r"<!-- psi-demo -->\n```text\n(.*?)```\n<!-- /psi-demo -->", GUIDE.read_text(), re.DOTALL)
    assert block is not None

    def labels(text: str) -> set[str]:
        return {line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")}

    assert labels(block[1])
    assert labels(block[1]) <= labels(out)
    assert "the client has exactly the plain intersection of 20 passwords" in out


def test_the_server_is_asked_as_often_whatever_a_client_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two client processes, also if the first one fails after it has decrypted."""
    ask, codes = demo._ask, []

    def failing(*given: Any, **named: Any) -> tuple[int, str, str]:
        codes.append(ask(*given, **named)[0])
        return 1, "", ""

    monkeypatch.setattr(demo, "_ask", failing)
    with pytest.raises(Error, match="exit code 1"):
        demo.run_demo(out=tmp_path, threads=2, **SMALL)
    assert codes == [0, 1], "the second is beyond the quota"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"got": {}}, "differs from the plain intersection"),
        ({"leaked": {"a password"}}, "FOUND 1 of"),
        ({"found_planted": 99}, "finds 99 of 100"),
        ({"second_refused": ""}, "WAS SERVED TWICE"),
    ],
)
def test_what_is_wrong_is_a_failure(
    shown: tuple[Path, demo.DemoResult],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: dict[str, Any],
    words: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    result = dataclasses.replace(shown[1], **wrong)
    assert not result.good
    demo.print_result(result)
    out = printed(capsys)
    assert words in out
    assert "FAILED" in out
    monkeypatch.setattr(demo, "run_demo", lambda **_: result)
    assert main(["psi", "demo"]) == 1


def test_without_the_list(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "zxcvbn.frequency_lists", None)
    assert main(["psi", "demo", "--out", str(tmp_path / "out")]) == 1
    assert "pip install 'ringforge-he[demo]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# ---- its parts ----


def test_sets() -> None:
    common = demo.common_passwords()
    entries = demo.server_set(common, 40_000)
    assert entries == demo.server_set(common, 40_000), "the same every time"
    assert len(entries) == 40_000
    assert [demo.read_label(entries[common[i].encode()].decode()) for i in (0, 9, 29_999)] == [1, 10, 30_000]
    assert sum(label == demo.GENERATED for label in entries.values()) == 10_000
    assert max(map(len, entries.values())) == 3
    mine = demo.client_set(common)
    assert len(set(mine) & set(common)) == demo.WEAK
    assert mine != demo.client_set(common)


def test_ranks_never_look_generated() -> None:
    assert all(demo.read_label(demo.rank_label(i).decode()) == i for i in range(1, 30_001))
    assert demo.read_label("gen") is None


@pytest.mark.parametrize("before", [b"", b"x", b"xy", b"xyz" * 50])
def test_the_search_finds_each_form_anywhere(tmp_path: Path, before: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_CHUNK", 16)
    search = demo.Search(["correct-horse", "battery staple"])
    for form in (bytes, lambda b: b.hex().encode(), base64.b64encode):
        path = tmp_path / "file"
        path.write_bytes(form(before + b"correct-horse" + b"tail" * 9))
        assert search.file(path) == {"correct-horse"}
    path.write_bytes(before + b"correct horse, battery, staple" * 9)
    assert search.file(path) == set()


def test_data_too_short_hold_nothing() -> None:
    search = demo.Search(["password"])
    assert search.data(b"") == search.data(b"pas") == set()
    assert search.data(b"password") == {"password"}
