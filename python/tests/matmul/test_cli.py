# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge matmul`: every command works; a refusal is one line, exit code 1, no file left behind."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ringforge import matmul
from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.matmul.cli import expression
from tests.answers import parted, reported, result_of
from tests.matmul.test_matrix import uniform

Run = Callable[..., str]

#: A set of 2^13 and few levels, for speed.
FAST = "--params matmul-a --insecure tests"
REASON = "--accept-insecure tests"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must succeed, and returns what it printed."""

    def go(*words: object) -> str:
        capsys.readouterr()
        code = main(["matmul", *shlex.split(" ".join(map(str, words)))])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out + reported(err)

    return go


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files made once."""
    folder = tmp_path_factory.mktemp("cli")
    np.save(folder / "a.npy", uniform(4, 6))
    np.savetxt(folder / "b.csv", uniform(6, 3), delimiter=",")
    np.save(folder / "v.npy", uniform(6))
    np.save(folder / "large.npy", 3 * np.ones((4, 6)))
    before = Path.cwd()
    os.chdir(folder)
    try:
        for words in (
            f"plan --shape 4x6x3 {FAST} --out p.json",
            f"keygen --program p.json --secret s.key --public p.key --eval-keys e.keys {REASON}",
            f"encrypt --program p.json --secret s.key --name A --in a.npy --out a.ct {REASON}",
            f"encrypt --program p.json --public p.key --name B --in b.csv --out b.ct {REASON}",
            "multiply --program p.json --keys e.keys --in A=a.ct --in B=b.ct --out c.ct",
            f"plan --shape 4x4x4 {FAST} --out q.json",
        ):
            assert main(["matmul", *shlex.split(words)]) == 0, words
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with those files in it."""
    for source in shop.iterdir():
        (tmp_path / source.name).symlink_to(source)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refuse(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Runs a command that must be refused in one line and leave no file; returns the line."""

    def go(words: str) -> str:
        before = sorted(p.name for p in here.iterdir())
        capsys.readouterr()
        code = main(["matmul", *shlex.split(words)])
        out, err = capsys.readouterr()
        assert code == 1, (code, out, err)
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert sorted(p.name for p in here.iterdir()) == before, "a refused command leaves no file"
        return err

    return go


# ---- what works ----


def test_help_teaches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    top = " ".join(run("--help").split())
    for name in ("plan", "run", "keygen", "encrypt", "multiply", "decrypt", "serve", "send", "fetch", "demo"):
        assert name in top
        assert "Example" in run(f"{name} --help"), name
    for word in ("key holder", "contributors", "secret key stays"):
        assert word in top


def test_files_between_the_parties(here: Path, run: Run) -> None:
    out = run(f"decrypt --program p.json --secret s.key --in c.ct --out c.npy {REASON}")
    assert "wrote c.npy: 4 x 3; predicted error at most" in out
    error = np.abs(np.load("c.npy") - uniform(4, 6) @ uniform(6, 3)).max()
    assert error < 1e-5
    run(f"decrypt --program p.json --secret s.key --in c.ct --out c.csv {REASON}")
    np.testing.assert_array_equal(np.loadtxt("c.csv", delimiter=","), np.load("c.npy"))
    assert stat.S_IMODE((here / "s.key").stat().st_mode) == 0o600
    assert (here / "a.ct").stat().st_size < 0.6 * (here / "b.ct").stat().st_size


def test_multiply_reports(here: Path, run: Run) -> None:  # noqa: ARG001
    words = "multiply --program p.json --keys e.keys --in A=a.ct --in B=b.ct"
    report = result_of(run(f"{words} --out again.ct --json"))
    assert report["operations"]["key_switch"] > 0
    assert report["params"] == "matmul-a"
    text = run(f"{words} --out result=again.ct --threads 2 --overwrite")
    assert "key switch" in text
    assert "2 threads" in text


def test_plan_explains(run: Run) -> None:
    text = run(f"plan --shape 8x8x8 {FAST}")
    for word in ("matmul-a", "input A", "8 x 8", "ringforge r", "chosen", "Galois keys", "weight"):
        assert word in text, word
    shown = result_of(run(f"plan --shape 3x4x5x2 {FAST} --json"))
    assert [x["name"] for x in shown["inputs"]] == ["A", "B", "C"]
    assert shown["outputs"]["result"]["shape"] == [3, 2]
    assert shown["secure"] is False
    fame = result_of(run(f"plan --shape 8x8x8 {FAST} --method fame --json"))
    assert any("fame" in s.get("plan", "") for s in fame["steps"])


def test_info_of_programs_and_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def info(name: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["info", name])
        return code, *parted(*capsys.readouterr())

    code, text, err = info("p.json")
    assert (code, err) == (0, "")
    for words in (
        "INSECURE",
        "input A",
        "4 x 6, |entry| up to 1, 1 ciphertext of level",
        "output result",
        "Galois keys and one relinearisation key",
        "0, 1",  # what the product is of
        "ringforge r",
        "matmul-a",
        "key switching",
    ):
        assert words in text, words
    assert "weight" not in text, "candidates are for `plan`"
    assert "CKKS public key" in info("p.key")[1]
    assert "belongs to its owner" in info("s.key")[1]
    # A program is planned again: one whose plans are not ours is refused.
    program = json.loads((here / "p.json").read_text())
    program["steps"][-1]["plan"] = "another"
    (here / "changed.json").write_text(json.dumps(program))
    code, _, err = info("changed.json")
    assert code == 1
    assert "made by another version" in err


def test_plan_of_an_expression(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "p.json"
    run(f'plan --input X=7x4 --input y=7 --input w=4 --expr "(X @ w - y) @ X[:, 1:]" --out {out}')
    program = matmul.Program.load(out)
    assert program.traced.results["result"].shape == (3,)
    assert program.context.params.secure


def test_run(here: Path, run: Run) -> None:  # noqa: ARG001
    text = run(f"run --in A=a.npy --in B=b.csv {FAST} --out c.npy")
    assert "largest difference from numpy" in text
    assert np.abs(np.load("c.npy") - uniform(4, 6) @ uniform(6, 3)).max() < 1e-5
    shown = result_of(run(f'run --in A=a.npy --in v=v.npy --expr "2 * (A @ v)" {FAST} --json'))
    assert shown["max_error"] < shown["predicted_error"]
    assert shown["outputs"]["result"]["shape"] == [4]


def test_an_input_is_named_once(refuse: Callable[[str], str]) -> None:
    """The fault that was: the last file of a name was taken, without a word."""
    refused = {
        f"run --in A=a.npy --in A=b.csv {FAST} --out new.npy": '--in: "A" is given twice',
        f"plan --input A=2x3 --input A=3x3 {FAST} --out new.json": '--input: "A" is given twice',
        "multiply --program p.json --keys e.keys --in A=a.ct --in A=b.ct --out new.ct": '--in: "A" is given twice',
        "multiply --program p.json --keys e.keys --in A=a.ct --in B=b.ct --out result=n.ct --out result=m.ct": "twice",
        "send --port 9 --in A=a.ct --in A=b.ct": '--in: "A" is given twice',
        "serve --program p.json --folder new --plain A=a.npy --plain A=a.npy": '--plain: "A" is given twice',
        "run --in A=a.npy --in B=b.csv --out new.npy --out other.npy": "--out is given 2 times",
    }
    for words, message in refused.items():
        assert message in refuse(words)


def test_a_server_takes_an_input_once(here: Path) -> None:  # noqa: ARG001
    program = matmul.Program.load("p.json")
    server = matmul.Server(program, matmul.EvaluationKeys.load("e.keys", program))
    parcel = matmul.Parcel.load("a.ct", program, "A")
    with pytest.raises(ParameterError, match="input A is given twice"):
        server.run([parcel, parcel])


def test_headers_of_files(
    here: Path, run: Run, refuse: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    b = uniform(6, 3)
    np.savetxt(here / "counted.csv", b, delimiter=",", header="0,1,2", comments="")
    exact = uniform(4, 6) @ b
    assert main(["matmul", *shlex.split(f"run --in A=a.npy --in B=counted.csv {FAST} --out c.npy")]) == 0
    text = capsys.readouterr().err
    assert np.abs(np.load("c.npy") - exact).max() < 1e-5
    assert "counted.csv, line 1: is read as a header" in " ".join(text.split())
    run(f"run --in A=a.npy --in B=counted.csv --header {FAST} --out d.npy")
    assert np.abs(np.load("d.npy") - exact).max() < 1e-5
    assert "(7, 3) do not chain" in refuse(f"run --in A=a.npy --in B=counted.csv --no-header {FAST} --out e.npy")


def test_run_with_blocks_on_disk(here: Path, run: Run) -> None:
    (here / "blocks").mkdir()
    figures = result_of(
        run(f"run --in A=a.npy --in B=b.csv {FAST} --scratch blocks --block-memory 64MiB --out c.npy --json")
    )
    assert 0 < figures["scratch"]["peak"] <= 64 << 20
    assert figures["max_error"] <= figures["predicted_error"]
    assert np.abs(np.load("c.npy") - uniform(4, 6) @ uniform(6, 3)).max() < 1e-5
    assert not list((here / "blocks").iterdir())


def test_keys_for_another_program_with_the_same_secret(here: Path, run: Run) -> None:
    (here / "mine.key").write_bytes((here / "s.key").read_bytes())
    run(f"keygen --program q.json --secret mine.key --public q.key --eval-keys q.keys --reuse {REASON}")
    np.save("x.npy", uniform(4, 4))
    run(f"encrypt --program q.json --secret s.key --name A --in x.npy --out x.ct {REASON}")
    run(f"encrypt --program q.json --public q.key --name B --in x.npy --out y.ct {REASON}")
    run("multiply --program q.json --keys q.keys --in A=x.ct --in B=y.ct --out z.ct")
    run(f"decrypt --program q.json --secret s.key --in z.ct --out z.npy {REASON}")
    assert np.abs(np.load("z.npy") - np.load("x.npy") @ np.load("x.npy")).max() < 1e-5


def test_a_server_over_a_socket(here: Path, run: Run) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    words = [sys.executable, "-m", "ringforge.matmul.service", "--program", "p.json", "--folder", "room"]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=here
    )
    assert process.stdout is not None
    try:
        port = json.loads(process.stdout.readline())["port"]
        assert main(["matmul", "fetch", "--port", str(port), "--out", "none.ct"]) == 1
        assert not Path("none.ct").exists()
        run(f"send --port {port} --keys e.keys")
        assert main(["matmul", "fetch", "--port", str(port), "--out", "none.ct"]) == 1
        run(f"send --port {port} --in A=a.ct --in B=b.ct")
        for wrong in ("--in C=a.ct", "--in A=e.keys", "--keys a.ct"):
            assert main(["matmul", "send", "--port", str(port), *wrong.split()]) == 1
        run(f"send --port {port} --keys e.keys --in A=a.ct --in B=b.ct")
        assert "computed in" in run(f"fetch --port {port} --out sent.ct")
    finally:
        _, errors = process.communicate()
    assert errors == b""
    assert process.returncode == 0
    run(f"decrypt --program p.json --secret s.key --in sent.ct --out c.npy {REASON}")
    assert np.abs(np.load("c.npy") - uniform(4, 6) @ uniform(6, 3)).max() < 1e-5
    assert {p.name for p in (here / "room").iterdir()} == {"evaluation.keys", "A.input", "B.input", "result.output"}


# ---- what is refused ----


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan --shape 4x6", "has three or more"),
        ("plan --shape 4x0x6", "is no shape"),
        ("plan --shape axb", "is no shape"),
        ("plan", "say what is multiplied"),
        ("plan --input X=3x4x5 --expr X", "two sizes"),
        ("plan --input X --expr X", "is not NAME=ROWSxCOLS"),
        ('plan --input X=3x4 --expr "X @ X" --params matmul-a-128', "do not chain"),
        ('plan --input X=3x4 --expr "X @ Z"', 'uses "Z"; the inputs are X'),
        ("plan --shape 4x4x4 --params matmul-a", "insecure"),
        ("plan --shape 4x4x4 --params nothing", "nothing"),
        ("plan --shape 4x4x4 --method magic", 'no method "magic"'),
        ("plan --shape 4x4x4 --keys some", "all or few"),
        ("plan --shape 4x4x4 --memory 1KiB --params matmul-a-128 --out new.json", "MiB"),
        ("plan --shape 4x4x4 --memory 1KiB --params matmul-a-128", "take --keys few"),
        ("plan --shape 4x4x4 --bound 1e30 --params matmul-a-128", "plan in Python, where A.matmul(B, bound=...)"),
        ('run --in A=a.npy --in B=a.npy --expr "A / B"', "divided by an encrypted matrix"),
        ("plan --shape 9x9x9x9x9 --params matmul-a-128 --out new.json", "levels"),
        ("run --in a.npy", "NAME=FILE"),
        ("run --in A=none.npy", "none.npy"),
        (f"run --in A=a.npy --in B=a.npy {FAST} --out c.npy", "do not chain"),
        (f"run --in A=a.npy --in B=b.csv {FAST} --out c.txt", ".npy and .csv"),
        ("keygen --program p.json --secret new.key --public a.key --eval-keys b.key", "less than 128 bits"),
        (f"keygen --program p.json --secret s.key --public a.key --eval-keys b.key {REASON}", "would lose it"),
        (f"keygen --program p.json --secret new.key --public a.key --eval-keys no/b.key {REASON}", "no such directory"),
        (f"encrypt --program p.json --name A --in a.npy --out x.ct {REASON}", "give one key"),
        (f"encrypt --program p.json --public p.key --name C --in a.npy --out x.ct {REASON}", 'no input "C"'),
        (f"encrypt --program p.json --public p.key --name A --in b.csv --out x.ct {REASON}", "has shape"),
        (f"encrypt --program p.json --public p.key --name A --in large.npy --out x.ct {REASON}", "bound 1"),
        (f"encrypt --program p.json --public s.key --name A --in a.npy --out x.ct {REASON}", "s.key"),
        ("multiply --program p.json --keys e.keys --in A=a.ct --out x.ct", "input B is missing"),
        (
            "multiply --program p.json --keys e.keys --in A=a.ct --in B=c.ct --out x.ct",
            "are output result, where input B is needed",
        ),
        ("multiply --program q.json --keys e.keys --in A=a.ct --in B=b.ct --out x.ct", "lack"),
        ("multiply --program p.json --keys p.key --in A=a.ct --in B=b.ct --out x.ct", "p.key"),
        (f"decrypt --program p.json --secret s.key --in c.ct --out x.txt {REASON}", ".npy and .csv"),
        (f"decrypt --program p.json --secret s.key --in c.ct --out x.npy --name y {REASON}", "the outputs are result"),
        (f"decrypt --program p.json --secret s.key --in c.ct --out x.npy --share-bits 64 {REASON}", "nothing would"),
        (f"decrypt --program a.npy --secret s.key --in c.ct --out x.npy {REASON}", "is not a program"),
        ("send --port 1 --in A=a.ct", "nobody listens on port 1"),
        ("send --port 1", "say what is sent"),
        ("demo --params nothing", "nothing"),
    ],
)
def test_refused(refuse: Callable[[str], str], words: str, message: str) -> None:
    assert message in refuse(words)


def test_expressions() -> None:
    a, b = uniform(3, 4), uniform(4, 3)
    for text in ("A @ B", "2 * A.T - B / 3", "-(A[:2, ::2] @ B[::2])", "A[1] @ B + 1", "A[-1, 2:]"):
        np.testing.assert_allclose(expression(text)(A=a, B=b), eval(text, {"A": a, "B": b}))
    for text in (
        "A @",
        "A ** 2",
        "A.std()",
        "__import__('os')",
        "A if B else A",
        "A.real",
        "'x'",
        "True",
        "[A]",
        "A = B",
    ):
        with pytest.raises(ParameterError):
            expression(text)(A=a, B=b)


def test_an_array_without_entries_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("a,b\n")
    assert main(["matmul", "run", "--in", "A=e.csv", "--out", "c.npy"]) == 1
    assert "has no entries to encrypt" in " ".join(capsys.readouterr().err.split())
