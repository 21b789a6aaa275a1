# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An estimator by commands alone, with files between the roles."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from ringforge import matvec
from ringforge.cli import main
from ringforge.files import overwriting
from tests.answers import printed

from .sklearn_cases import CLASSIFIERS, fitted, ranges, split


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved classifier of wine, and rows."""
    monkeypatch.chdir(tmp_path)
    there = fitted(CLASSIFIERS["LinearSVC"], "wine")
    matvec.save_model(tmp_path / "m.npz", matvec.from_sklearn(there, input_range=ranges("wine")))
    np.save(tmp_path / "x.npy", split("wine")[2])
    return tmp_path


def test_classes_by_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = fitted(CLASSIFIERS["LinearSVC"], "wine")
    for line in (
        "plan --model m.npz --out p.json --rule r.json --batch 64",
        "keygen --program p.json --secret s.key --eval-keys e.keys",
        "encrypt --program p.json --secret s.key --in x.npy --out x.ct --rule r.json",
        "evaluate --program p.json --model m.npz --keys e.keys --in x.ct --out y.ct",
        "decrypt --program p.json --secret s.key --in y.ct --out y.npy --rule r.json --labels c.txt",
    ):
        assert main(["matvec", *shlex.split(line)]) == 0, line
    classes = [int(c) for c in (folder / "c.txt").read_text().splitlines()]
    assert classes == there.predict(split("wine")[2]).tolist()
    exact = there.decision_function(split("wine")[2])
    assert np.abs(np.load(folder / "y.npy") - exact).max() < 1e-2
    assert f"classes of {len(classes)} rows; none is closer" in " ".join(printed(capsys).split())


def test_columns_of_a_file_go_by_their_header(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The fault that was: a file with its columns in another order was encrypted as it stood."""
    pd = pytest.importorskip("pandas")
    names = [f"f{i}" for i in range(13)]
    there = CLASSIFIERS["LinearSVC"](0).fit(pd.DataFrame(split("wine")[0], columns=names), split("wine")[1])
    held = pd.DataFrame(split("wine")[2], columns=names)
    with overwriting():
        matvec.save_model("m.npz", matvec.from_sklearn(there, input_range=ranges("wine")))
    held[names[::-1]].to_csv("x.csv", index=False)
    held[names[1:]].to_csv("fewer.csv", index=False)
    for line in (
        "plan --model m.npz --out p.json --rule r.json --batch 64 --samples x.csv",
        "keygen --program p.json --secret s.key --eval-keys e.keys",
        "encrypt --program p.json --secret s.key --in x.csv --out x.ct --rule r.json",
        "evaluate --program p.json --model m.npz --keys e.keys --in x.ct --out y.ct",
        "decrypt --program p.json --secret s.key --in y.ct --out y.npy --rule r.json --labels c.txt",
    ):
        assert main(["matvec", *shlex.split(line)]) == 0, line
    assert "warning" not in capsys.readouterr().err
    assert [int(c) for c in (folder / "c.txt").read_text().splitlines()] == there.predict(held).tolist()
    fewer = "encrypt --program p.json --secret s.key --in fewer.csv --out z.ct --rule r.json"
    assert main(["matvec", *shlex.split(fewer)]) == 1
    assert 'lacks "f0"' in " ".join(capsys.readouterr().err.split())
    assert main(["matvec", *shlex.split(fewer.replace("fewer.csv", "x.npy"))]) == 0
    assert "the model has names of features and the data has none" in " ".join(capsys.readouterr().err.split())


def test_a_plain_model_has_the_names_of_its_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.array([[0.5, 0.25]]))
    Path("train.csv").write_text("a,b\n0.5,0.25\n-0.5,1.0\n")
    Path("x.csv").write_text("b;a\n0,5;0,125\n")
    Path("other.csv").write_text("b,c\n0.5,0.125\n")
    for line in (
        "plan --model w.npy --out p.json --samples train.csv --params set-a",
        "keygen --program p.json --secret s.key --eval-keys e.keys",
        "encrypt --program p.json --secret s.key --in x.csv --out x.ct",
        "evaluate --program p.json --model w.npy --keys e.keys --in x.ct --out y.ct",
        "decrypt --program p.json --secret s.key --in y.ct --out y.npy",
        "explain --model w.npy --program p.json --samples x.csv",
    ):
        assert main(["matvec", *shlex.split(line)]) == 0, line
    assert abs(np.load("y.npy")[0, 0] - (0.5 * 0.125 + 0.25 * 0.5)) < 1e-3
    capsys.readouterr()
    assert main(shlex.split("matvec encrypt --program p.json --secret s.key --in other.csv --out z.ct")) == 1
    assert 'lacks "a"; it has "c"' in " ".join(capsys.readouterr().err.split())


@pytest.mark.filterwarnings("ignore::ringforge.errors.NamesWarning")
@pytest.mark.parametrize("rows", ["npy", "csv"])
def test_no_rows_give_no_results(folder: Path, rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "none.npy", np.zeros((0, 13)))
    (folder / "none.csv").write_text(",".join("abcdefghijklm") + "\n")
    for line in (
        "plan --model m --out p.json --rule r.json --batch 5 --params set-a",
        "keygen --program p.json --secret s.key --eval-keys e.keys",
        f"encrypt --program p.json --secret s.key --in none.{rows} --out x.ct --rule r.json",
        "evaluate --program p.json --model m --keys e.keys --in x.ct --out y.ct --json",
        "evaluate --program p.json --model m --keys e.keys --in x.ct --out z.ct",
        "decrypt --program p.json --secret s.key --in y.ct --out y.npy --rule r.json --labels c.txt",
    ):
        assert main(["matvec", *shlex.split(line)]) == 0, (line, capsys.readouterr())
    assert np.load(folder / "y.npy").shape == (0, 3)
    assert (folder / "c.txt").read_text() == ""
    assert matvec.Program.load(folder / "p.json").batch == 8


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan --model m.npz --out p.json", "--rule FILE writes what clients need"),
        ("plan --model m.npz --out p.json --rule p.json", "both name"),
        ("plan --model w.npy --out p.json --rule new.json", "layers alone"),
        ("plan --model m.joblib --out p.json", "matvec.save_model"),
        ("encrypt --program q.json --secret s.key --in x.npy --out x.ct --rule r.json", "another program"),
        ("decrypt --program q.json --secret s.key --in x.ct --out y.npy --rule r.json", "go together"),
    ],
)
def test_refusals(folder: Path, line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "w.npy", np.eye(3))
    (folder / "m.joblib").write_bytes(b"\x80\x04.")
    assert main(shlex.split("matvec plan --model m.npz --out first.json --rule r.json")) == 0
    assert main(shlex.split("matvec plan --model m.npz --out q.json --rule other.json --batch 2")) == 0
    assert main(shlex.split("matvec keygen --program q.json --secret s.key --eval-keys e.keys")) == 0
    capsys.readouterr()
    assert main(["matvec", *shlex.split(line)]) == 1
    assert words in " ".join(capsys.readouterr().err.split())
