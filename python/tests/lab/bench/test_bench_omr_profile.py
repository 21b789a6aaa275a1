# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where detection's time goes: a small set by both methods, the table, the picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.lab.bench import omr_profile
from ringforge.lab.bench.omr_profile import Part, Profile
from ringforge.omr.sets import named
from tests.answers import result_of

SET = named("test", "a test")
MADE = [
    Profile("paper", (Part("PCmul", 3.0, 10, "derived"), Part("Rot", 1.0, 2, "derived"))),
    Profile("ringforge", (Part("PCmul", 1.0, 10, "derived"), Part("range check", 1.0, None, "measured"))),
]


def test_stages_of_a_small_set() -> None:
    """n = 128, B = 16: 15 baby and 7 giant rotations an output, one baby more where both outputs share diagonals."""
    found = {p.method: {part.name: part for part in p.parts} for p in omr_profile.profiles(SET)}
    assert list(found) == ["paper", "ringforge"]
    assert found["paper"]["Rot"].count == 15 + 2 * 7
    assert found["ringforge"]["Rot"].count == 16 + 2 * 7
    for parts in found.values():
        assert parts["PCmul"].count == 2 * 128
        assert list(parts) == list(omr_profile.PARTS)
        assert all(part.seconds > 0 for name, part in parts.items() if name != "PCmul")


def test_stages_beside_what_sophomr_states(monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(omr_profile.beside_sophomr(SET, (2,)))
    assert [r.case for r in records] == [
        "detect: affine",
        "detect: range check",
        "detect: compression",
        "detect: all",
    ]
    # A small set has nothing beside it.
    assert all(r.threads == 2 and r.peer is None and r.seconds > 0 for r in records)
    assert all(r.algorithm == "paper" and r.seconds > 0 for r in omr_profile.beside_sophomr(SET, (1,), "paper"))
    monkeypatch.setattr(omr_profile, "DEGREE", SET.entries)
    assert [r.peer_seconds for r in omr_profile.beside_sophomr(SET, (1,))] == [67.9, 38.2, 46.1, pytest.approx(152.2)]


def test_published_shares_are_those_of_the_paper() -> None:
    p = omr_profile.published()
    affine = sum(part.seconds for part in p.parts[:3])
    assert [round(100 * part.seconds / affine, 1) for part in p.parts[:3]] == [56.6, 34.3, 9.0]
    assert affine / p.parts[3].seconds == pytest.approx(1.5)


def test_table_adds_up() -> None:
    made = omr_profile.table(SET, MADE)
    assert [row[4].number for row in made.rows] == [75.0, 25.0, 50.0, 50.0]  # type: ignore[union-attr]
    assert made.rows[-1][3].source == "measured"  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")])
def test_picture(name: str, begins: bytes, tmp_path: Path) -> None:
    omr_profile.plot(SET, MADE, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "split.png"
    words = ["bench", "omr", "--profile", "test", "--insecure", "a test"]
    assert main([*words, "--plot", str(picture), "--json"]) == 0
    (document,) = result_of(capsys.readouterr().out)
    assert "Detection's time, set test" in document["title"]
    assert picture.stat().st_size > 1000
    assert main([*words, "--plot", str(tmp_path / "split.txt")]) != 0
    assert "split.txt" in capsys.readouterr().err
    assert main(["bench", "omr", "--plot", str(picture)]) != 0
    with pytest.raises(ParameterError, match=r"take one of \.png, \.svg, \.pdf"):
        omr_profile.check_picture(tmp_path / "split")
