# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The command line: every command works; a refusal is one line, exit code 1, no file left behind."""

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

import ringforge
from ringforge import _native, bundles, matvec
from ringforge.cli import main
from ringforge.cli.console import parse_size, size_text
from ringforge.errors import ParameterError
from tests.answers import reported, result_of

Run = Callable[..., str]

IN, HIDDEN, OUT, COUNT = 20, 12, 5, 3


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must succeed, and returns what it printed."""

    def go(*words: object) -> str:
        capsys.readouterr()
        code = main(shlex.split(" ".join(map(str, words))))
        out, err = capsys.readouterr()
        assert code == 0, err
        return out + reported(err)

    return go


def prepare(folder: Path) -> Path:
    """A model, inputs, and every file of the three roles."""
    rng = np.random.default_rng(5)
    layers = [
        matvec.Linear(rng.normal(size=(HIDDEN, IN)) * 0.2, rng.normal(size=HIDDEN) * 0.1),
        matvec.Square(),
        matvec.Linear(rng.normal(size=(OUT, HIDDEN)) * 0.2),
    ]
    matvec.save_model(folder / "m.npz", matvec.Sequential(layers))
    np.save(folder / "x.npy", rng.uniform(-1, 1, (COUNT, IN)))
    steps = [
        "plan --model m.npz --out p.json --batch 4",
        "keygen --program p.json --secret s.key --eval-keys e.keys",
        "encrypt --program p.json --secret s.key --in x.npy --out x.ct",
        "evaluate --program p.json --model m.npz --keys e.keys --in x.ct --out y.ct",
        # Another client, and another set of parameters.
        "keygen --program p.json --secret foreign.key --eval-keys foreign.keys",
        "plan --model m.npz --out q.json --params set-b",
        "keygen --program q.json --secret q.key --eval-keys q.keys",
    ]
    before = Path.cwd()
    os.chdir(folder)
    try:
        for step in steps:
            assert main(["matvec", *step.split()]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files made once; tests that damage them work on copies."""
    return prepare(tmp_path_factory.mktemp("cli"))


@pytest.fixture
def here(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with those files in it."""
    for source in shop.iterdir():
        (tmp_path / source.name).symlink_to(source)
    monkeypatch.chdir(tmp_path)
    return tmp_path


Refuse = Callable[[str], str]


@pytest.fixture
def refuse(here: Path, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Runs a command that must be refused in one line and leave no file; returns the line."""

    def go(words: str) -> str:
        before = sorted(p.name for p in here.iterdir())
        capsys.readouterr()
        code = main(words.split())
        out, err = capsys.readouterr()
        assert code == 1, (code, out, err)
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert sorted(p.name for p in here.iterdir()) == before, "a refused command leaves no file"
        return err

    return go


# ---- what there is ----


def test_version(run: Run) -> None:
    assert run("--version") == f"ringforge {ringforge.__version__}\n"


def test_help_teaches_every_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = run("--help")
    for name in ("info", "params", "matvec", "reproduce", "hw"):
        assert name in text
    for words in (
        "params show",
        "params suggest",
        "matvec plan",
        "matvec keygen",
        "matvec encrypt",
        "matvec evaluate",
        "matvec decrypt",
        "matvec demo",
        "matvec explain",
        "psi info",
        "psi explain",
        "psi demo",
        "reproduce matvec",
        "hw formal",
        "hw lint",
        "hw list",
        "hw package",
        "hw timing",
        "hw test",
        "hw synth",
        "hw report",
        "hw run",
        "hw cycles",
        "serve",
        "info",
    ):
        page = run(words, "--help")
        assert "Example" in page
        assert f"ringforge {words}" in page, words


def test_wrong_usage_is_code_2() -> None:
    assert main(["matvec", "plan"]) == 2
    assert main(["no-such-command"]) == 2


def test_params(run: Run, refuse: Refuse) -> None:
    listed = run("params", "list")
    for name in ("set-a", "set-b", "set-c", "set-b-54"):
        assert name in listed
    assert "INSECURE" in listed
    assert "2024/463" in listed  # where the limits come from
    shown = run("params", "show", "set-b")
    assert "16384" in shown
    assert "400.0 of 430 allowed" in shown
    assert str(ringforge.params.named("set-b").q[0]) in shown
    suggested = run("params", "suggest", "--depth", 3, "--precision", 20, "--slots", 4096, "--headroom", 4)
    assert "2^13" in suggested
    assert "depth 3" in suggested

    assert '--insecure "..."' in refuse("params show set-b-54")
    assert "below 128 bits" in run("params", "show", "set-b-54", "--insecure 'a test of widths'")
    assert "set-a, set-b, set-c" in refuse("params show set-z")
    refuse("params suggest --depth 90 --precision 30")
    refuse("params suggest --depth -1")


def test_info_of_the_installation(run: Run) -> None:
    text = run("info")
    assert f"{_native.kernels.active()} (active)" in text
    assert "cpu" in text
    assert "NO ENCRYPTION" in text
    assert "name\twhat it is\tkernels" in text, "tables are rows in a pipe"


def test_info_names_what_a_cluster_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "Ray is not installed: pip install 'ringforge-he[ray]'\t" in run("info")


@pytest.mark.usefixtures("here")
def test_info_of_files(run: Run) -> None:
    key_count = len(matvec.Program.load("p.json").key_levels)
    text = run("info", "e.keys")
    assert f"{key_count} x CKKS Galois key" in text
    assert "1 x CKKS relinearisation key" in text
    assert "no shipped set" in text
    assert "(set-b)" in run("info", "q.keys")
    secret = run("info", "s.key")
    assert "CKKS secret key" in secret
    assert "belongs to its owner" in secret
    assert "2 polynomials, half as seed" in run("info", "x.ct")
    program = run("info", "p.json")
    assert f"vectors of {IN} numbers" in program
    assert f"give {OUT}" in program
    assert f"{HIDDEN} x {IN}" in run("info", "m.npz")
    assert f"{COUNT} x {IN}" in run("info", "x.npy")


def test_info_refuses_what_is_not_ours(here: Path, refuse: Refuse) -> None:
    (here / "a.txt").write_text("hello")
    (here / "b.json").write_text('{"format": "else"}')
    (here / "c.json").write_text("{" * 5000)
    content = bytearray((here / "x.ct").read_bytes())
    content[5000] ^= 1
    (here / "flipped.ct").write_bytes(content)
    assert "no file of ours" in refuse("info a.txt")
    assert "no program" in refuse("info b.json")
    refuse("info c.json")
    assert "flipped.ct" in refuse("info flipped.ct")
    assert "No such file" in refuse("info nowhere")
    refuse("info .")


def test_reproduce(run: Run, here: Path) -> None:
    (here / "none").mkdir()
    text = run("reproduce", "matvec", "--results", "none")
    for word in (
        "Table II:",
        "Table VII",
        "Figure 8",
        "(p)",
        "(m)",
        "Contradictions",
        "No measured CPU seconds",
    ):
        assert word in text
    (here / "bench").mkdir()
    (here / "bench" / "results").mkdir()
    rows = [
        {
            "system": "matvec",
            "case": "rnnt-fc0",
            "params": "set-b",
            "device": "cpu",
            "threads": 1,
            "level": 6,
            "seconds": s,
        }
        for s in (0.5, 0.25)
    ]
    lines = [json.dumps(r) for r in [*rows, {"system": "matvec", "case": "elsewhere"}]] + ["broken {"]
    (here / "bench" / "results" / "2026-matvec.jsonl").write_text("\n".join(lines))
    document = result_of(run("reproduce", "matvec", "--json"))
    assert document["measured_from"].endswith("2026-matvec.jsonl")
    cells = [c for t in document["tables"] for row in t["rows"] for c in row if isinstance(c, dict)]
    assert {"number": 0.25, "unit": "s", "source": "measured"} in cells
    assert len(document["contradictions"]) > 20


# ---- the three roles ----


@pytest.mark.usefixtures("here")
def test_pipeline_computes_the_model(run: Run) -> None:
    exact = matvec.load_model("m.npz")(np.load("x.npy"))
    text = run(f"matvec decrypt --program p.json --secret s.key --in y.ct --out y.csv --count {COUNT}")
    assert f"{COUNT} vectors of {OUT} numbers" in text
    bound = float(text.split("at most ")[1].split()[0])
    got = np.loadtxt("y.csv", delimiter=",")
    assert got.shape == exact.shape
    assert np.abs(got - exact).max() <= bound < 0.02

    run("matvec decrypt --program p.json --secret s.key --in y.ct --out all.npy")
    assert np.load("all.npy").shape == (COUNT, OUT), "the rest of the last ciphertext is padding"
    np.testing.assert_array_equal(np.load("all.npy")[:COUNT], got)

    run("matvec decrypt --program p.json --secret s.key --in y.ct --out n.npy --share-bits 10")
    noisy = np.load("n.npy")[:COUNT]
    assert not np.array_equal(noisy, got)


@pytest.mark.usefixtures("here")
def test_csv_inputs_equal_npy_inputs(run: Run) -> None:
    np.savetxt("x.csv", np.load("x.npy"), delimiter=",", fmt="%.17g")
    run("matvec encrypt --program p.json --secret s.key --in x.csv --out c.ct")
    run("matvec evaluate --program p.json --model m.npz --keys e.keys --in c.ct --out c.out")
    run("matvec decrypt --program p.json --secret s.key --in c.out --out c.npy --count 3")
    exact = matvec.load_model("m.npz")(np.load("x.npy"))
    assert np.abs(np.load("c.npy") - exact).max() < 0.01


@pytest.mark.usefixtures("here")
def test_report_counts_what_the_plan_said(run: Run) -> None:
    words = "matvec evaluate --program p.json --model m.npz --keys e.keys --in x.ct --out again.ct"
    report = result_of(run(words, "--json", "--threads", 1))
    assert (report["backend"], report["device"], report["threads"], report["batch"]) == ("ckks", "cpu", 1, 4)
    choices = matvec.compile_model(matvec.load_model("m.npz"), batch=4).choices
    linear = [layer for layer in report["layers"] if layer["layer"] != "square"]
    for choice, layer in zip(choices, linear, strict=True):
        for name in ("ntt", "intt", "rotation", "key_switch", "plain_mul"):
            assert layer["operations"][name] == getattr(choice.chosen.cost.ops, name)
    for name, count in report["operations"].items():
        assert count == sum(layer["operations"][name] for layer in report["layers"])
    table = run(words, "--overwrite")
    for word in ("square", "total", "rotation", "device cpu"):
        assert word in table
    # Same inputs, same bits, whatever the number of threads.
    assert Path("again.ct").read_bytes() == Path("y.ct").read_bytes()


@pytest.mark.usefixtures("here")
def test_plan_explains(run: Run) -> None:
    words = "matvec plan --model m.npz --params set-b --out plan.json"
    short = run(words)
    for word in ("bsgs", "diagonal", "horner", "chosen", "key MiB", "at least 128 bits", "level"):
        assert word in short
    assert len(run(words, "--explain-all", "--overwrite")) > len(short)
    text = run(words, "--overwrite", "--algorithm", "horner", "--level", 5, "--memory", "1GiB", "--input-bound", 2)
    assert "as asked" in text
    assert matvec.Program.load("plan.json").input_bound == 2
    assert {s.algorithm for s in matvec.Program.load("plan.json").linear_steps} == {"horner"}
    run("matvec plan --model m.npz --params set-b-54 --insecure 'width test' --out i.json")
    assert matvec.Program.load("i.json").parameters.insecure == "width test"


def test_secret_keys_are_private_and_never_overwritten(run: Run, here: Path, refuse: Refuse) -> None:
    assert stat.S_IMODE((here / "s.key").stat().st_mode) == 0o600
    before = (here / "s.key").read_bytes()
    assert "--reuse" in refuse("matvec keygen --program p.json --secret s.key --eval-keys more.keys")
    # One secret for two programs with the same parameters.
    run("matvec plan --model m.npz --out p1.json --batch 1")
    run("matvec keygen --program p1.json --secret s.key --eval-keys one.keys --reuse")
    assert (here / "s.key").read_bytes() == before
    run("matvec encrypt --program p1.json --secret s.key --in x.npy --out one.ct")
    run("matvec evaluate --program p1.json --model m.npz --keys one.keys --in one.ct --out one.out")
    run("matvec decrypt --program p1.json --secret s.key --in one.out --out one.npy")
    assert np.abs(np.load("one.npy") - matvec.load_model("m.npz")(np.load("x.npy"))).max() < 0.01


def test_failed_keygen_takes_its_secret_back(refuse: Refuse) -> None:
    refuse("matvec keygen --program p.json --secret new.key --eval-keys nowhere/e.keys")


@pytest.mark.usefixtures("here")
def test_clear_backend(run: Run, refuse: Refuse) -> None:
    text = run("matvec plan --model m.npz --backend clear --batch 4 --out c.json")
    assert "NO ENCRYPTION" in text
    assert "--accept-insecure" in refuse("matvec keygen --program c.json --secret c.key --eval-keys c.keys")
    run("matvec keygen --program c.json --secret c.key --eval-keys c.keys --accept-insecure test")
    run("matvec encrypt --program c.json --secret c.key --in x.npy --out c.ct --accept-insecure test")
    text = run("matvec evaluate --program c.json --model m.npz --keys c.keys --in c.ct --out c.out")
    assert "device clear" in text
    run("matvec decrypt --program c.json --secret c.key --in c.out --out c.npy --count 3 --accept-insecure test")
    exact = matvec.load_model("m.npz")(np.load("x.npy"))
    np.testing.assert_allclose(np.load("c.npy"), exact, atol=1e-12)
    assert "NOT ENCRYPTED" in run("info", "c.ct")
    # Files of the two backends do not mix.
    refuse("matvec evaluate --program p.json --model m.npz --keys e.keys --in c.ct --out z")
    refuse("matvec evaluate --program c.json --model m.npz --keys c.keys --in x.ct --out z")
    refuse("matvec evaluate --program p.json --model m.npz --keys e.keys --in x.ct --out z --device clear")


@pytest.mark.usefixtures("here")
def test_commands_as_processes() -> None:
    """As a script sees it: standard output is for results; code 0 and a report, code 1 and one line."""
    base = [sys.executable, "-m", "ringforge.cli", "matvec", "decrypt", "--program", "p.json", "--in", "y.ct"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    good = subprocess.run(
        [*base, "--secret", "s.key", "--out", "y.npy"], capture_output=True, text=True, env=environment
    )
    assert (good.returncode, good.stdout) == (0, "")
    assert good.stderr.startswith("wrote y.npy: 3 vectors")
    bad = subprocess.run(
        [*base, "--secret", "foreign.key", "--out", "z.npy"], capture_output=True, text=True, env=environment
    )
    assert bad.returncode == 1
    assert bad.stderr.startswith("error: ")
    assert bad.stderr.count("\n") == 1
    assert not Path("z.npy").exists()


# ---- refusals ----


@pytest.mark.usefixtures("here")
def test_inputs_that_do_not_fit(refuse: Refuse) -> None:
    x = np.load("x.npy")
    cases: dict[str, tuple[np.ndarray, tuple[str, ...]]] = {
        "short": (x[:, :7], ("length 20", "(3, 7)")),
        "deep": (np.ones((2, 2, IN)), ("(2, 2, 20)",)),
        "complex": (x.astype(complex), ("complex128",)),
        "nan": (np.where(x == x[1, 2], np.nan, x), ("NaN",)),
        "inf": (np.where(x == x[1, 2], -np.inf, x), ("infinity",)),
        "large": (x * 3, ("bound 1", "have the program planned for larger ones")),
    }
    for name, (array, words) in cases.items():
        np.save(f"{name}.npy", array)
        line = refuse(f"matvec encrypt --program p.json --secret s.key --in {name}.npy --out z.ct")
        for word in words:
            assert word in line, (name, line)
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    Path("text.csv").write_text("a,b\nc,d\n")
    Path("ragged.csv").write_text("1,2\n3\n")
    Path("empty.csv").write_text("")
    Path("lies.npy").write_bytes(Path("short.npy").read_bytes().replace(b"(3, 7)", b"(3, 7" + b"0" * 9 + b")")[:300])
    for name in ("objects.npy", "text.csv", "ragged.csv", "empty.csv", "lies.npy", "m.npz", "nowhere.csv"):
        assert name in refuse(f"matvec encrypt --program p.json --secret s.key --in {name} --out z.ct")


@pytest.mark.usefixtures("here")
def test_models_that_do_not_fit(refuse: Refuse) -> None:
    rest = "--keys e.keys --in x.ct --out z"
    assert "1 layers, the program 3 steps" in refuse(f"matvec evaluate --program p.json --model x.npy {rest}")
    other = matvec.Sequential([matvec.Linear(np.ones((4, IN))), matvec.Square(), matvec.Linear(np.ones((OUT, 4)))])
    matvec.save_model("other.npz", other)
    assert "12 x 20 matrix" in refuse(f"matvec evaluate --program p.json --model other.npz {rest}")
    Path("cut.npz").write_bytes(Path("m.npz").read_bytes()[:400])
    assert "cut.npz" in refuse(f"matvec evaluate --program p.json --model cut.npz {rest}")
    np.save("nan.npy", np.full((3, 3), np.nan))
    assert "NaN" in refuse("matvec plan --model nan.npy --out z")
    np.save("line.npy", np.ones(3))
    assert "(3,)" in refuse("matvec plan --model line.npy --out z")
    assert "onnx" in refuse("matvec plan --model x.ct --out z")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--params set-a", ("rescales 3 times", "0 ... 2", "--params auto")),
        ("--params set-b --level 9", ("level 9", "3 ... 6")),
        ("--params set-b --level 2", ("level 2", "3 ... 6")),
        ("--params set-z", ("set-z", "set-a, set-b")),
        ("--params set-b-54", ("432 bits", '--insecure "..."')),
        ("--memory 1MiB", ("1.0 MiB", "raise the limit")),
        ("--memory lots", ("lots", "4GiB")),
        ("--batch 0", ("batch is 0", "1 or more")),
        ("--batch 99999999", ("does not fit", "ask for fewer")),
        ("--algorithm magic", ("magic", "bsgs")),
        ("--backend paper", ("paper", "ckks or clear")),
        ("--input-bound nan", ("nan",)),
        ("--input-bound -1", ("-1",)),
        ("--input-bound 1e200", ("2^", "scale weights or inputs down")),
    ],
)
def test_plans_that_cannot_be(refuse: Refuse, options: str, words: tuple[str, ...]) -> None:
    line = refuse(f"matvec plan --model m.npz --out z.json {options}")
    for word in words:
        assert word in line, line


EVALUATE = "matvec evaluate --program p.json --model m.npz --keys {keys} --in {input} --out z.ct"


def test_levels_exhausted(here: Path, refuse: Refuse, capsys: pytest.CaptureFixture[str]) -> None:
    assert "output y, where input x is needed" in refuse(EVALUATE.format(keys="e.keys", input="y.ct"))
    with (here / "y.ct").open("rb") as f:  # without its label, as files of the first release were
        assert bundles.read_label(f) is not None
        (here / "bare.ct").write_bytes(f.read())
    assert main(shlex.split(EVALUATE.format(keys="e.keys", input="bare.ct"))) == 1
    warning, line = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: bare.ct does not say what it holds")
    assert "level 3" in line
    assert "at 0" in line


def test_missing_keys(here: Path, refuse: Refuse) -> None:
    records = _native.io.Reader("e.keys").index()
    content = (here / "e.keys").read_bytes()
    for gone in (1, len(records) - 1):  # of the first and of the last matrix
        r = records[gone]
        (here / "some.keys").write_bytes(content[: r.offset] + content[r.offset + r.bytes :])
        line = refuse(EVALUATE.format(keys="some.keys", input="x.ct"))
        assert "key" in line
    assert "relinearisation" in records[0].type
    (here / "some.keys").write_bytes(content[records[1].offset :])
    assert "relinearisation key" in refuse(EVALUATE.format(keys="some.keys", input="x.ct"))
    (here / "some.keys").write_bytes(b"")
    assert "key" in refuse(EVALUATE.format(keys="some.keys", input="x.ct"))


def test_foreign_files(refuse: Refuse) -> None:
    assert "another secret key" in refuse(EVALUATE.format(keys="foreign.keys", input="x.ct"))
    assert "q.keys" in refuse(EVALUATE.format(keys="q.keys", input="x.ct"))  # other parameters
    decrypt = "matvec decrypt --program {} --secret {} --in y.ct --out z.npy"
    assert "another key" in refuse(decrypt.format("p.json", "foreign.key"))
    assert "q.key" in refuse(decrypt.format("p.json", "q.key"))
    assert "p.json" not in refuse(decrypt.format("q.json", "q.key"))
    # Files in each other's place.
    for wrong in ("s.key", "x.ct", "m.npz", "p.json"):
        assert wrong in refuse(EVALUATE.format(keys=wrong, input="x.ct"))
        if wrong != "x.ct":
            assert wrong in refuse(EVALUATE.format(keys="e.keys", input=wrong))
    for wrong in ("e.keys", "x.ct", "m.npz"):
        assert wrong in refuse(f"matvec decrypt --program p.json --secret {wrong} --in y.ct --out z.npy")
        assert wrong in refuse(f"matvec keygen --program {wrong} --secret new.key --eval-keys new.keys")


@pytest.mark.parametrize("name", ["e.keys", "x.ct", "y.ct", "s.key", "p.json"])
def test_damaged_files(here: Path, refuse: Refuse, name: str) -> None:
    content = (here / name).read_bytes()
    rng = np.random.default_rng(len(name))
    damaged = [content[:n] for n in (1, 30, 60, len(content) // 2, len(content) - 1)] + [content + b"x"]
    for _ in range(6):
        flipped = bytearray(content)
        flipped[rng.integers(len(flipped))] ^= 1 << rng.integers(8)
        damaged.append(bytes(flipped))
    words = {
        "e.keys": EVALUATE.format(keys="bad", input="x.ct"),
        "x.ct": EVALUATE.format(keys="e.keys", input="bad"),
        "y.ct": "matvec decrypt --program p.json --secret s.key --in bad --out z.npy",
        "s.key": "matvec decrypt --program p.json --secret bad --in y.ct --out z.npy",
        "p.json": EVALUATE.replace("p.json", "bad").format(keys="e.keys", input="x.ct"),
    }[name]
    if name == "p.json":  # one flipped bit of text may still be a program: cut ones are refused
        damaged = damaged[:6]
    for i, content in enumerate(damaged):
        (here / "bad").write_bytes(content)
        assert "bad" in refuse(words), i


@pytest.mark.usefixtures("here")
def test_outputs_that_cannot_be_written(refuse: Refuse) -> None:
    assert "no such directory" in refuse(EVALUATE.format(keys="e.keys", input="x.ct").replace("z.ct", "no/z.ct"))
    assert "no ordinary file" in refuse(EVALUATE.format(keys="e.keys", input="x.ct").replace("z.ct", "/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    decrypt = "matvec decrypt --program p.json --secret s.key --in y.ct --out"
    assert ".npy and .csv" in refuse(f"{decrypt} z.txt")
    assert "1 to 3 vectors" in refuse(f"{decrypt} z.npy --count 5")
    assert "at least 1" in refuse(f"{decrypt} z.npy --count 0")
    assert "share_bits" in refuse(f"{decrypt} z.npy --share-bits -1")
    assert "--threads -1" in refuse(f"{decrypt} z.npy --threads -1")


def test_an_older_result_survives_a_refusal(here: Path, refuse: Refuse) -> None:
    (here / "z.ct").write_bytes(b"precious")
    refuse(EVALUATE.format(keys="foreign.keys", input="x.ct"))
    assert (here / "z.ct").read_bytes() == b"precious"


def test_unknown_device(refuse: Refuse) -> None:
    assert "cpu, clear" in refuse(EVALUATE.format(keys="e.keys", input="x.ct") + " --device gpu")


# ---- sizes ----


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512MiB", 512 << 20),
        ("4GiB", 4 << 30),
        ("4 gib", 4 << 30),
        ("1.5G", 3 << 29),
        ("2GB", 2 * 10**9),
        ("10k", 10240),
        ("7B", 7),
        ("123456789", 123456789),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "4XB", "GiB", "1e9", "nan", "4 4", "4iB5"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ParameterError, match="no size"):
        parse_size(text)


def test_sizes_for_people() -> None:
    assert [size_text(n) for n in (3, 2048, 5 << 20, 3 << 30)] == [
        "3 bytes",
        "2.0 KiB",
        "5.0 MiB",
        "3.00 GiB",
    ]
