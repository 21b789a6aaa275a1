# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi`: every command works; a refusal is one line that says what to do, exit code 1, without contents."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.errors import FormatError, ParameterError
from ringforge.psi import remote
from ringforge.psi.info import Limits
from ringforge.psi.sets import read_elements, small_domain
from ringforge.psi.store import Store
from ringforge.psi.texts import printable
from tests.answers import parted, result_of
from tests.psi.processes import Serving

Run = Callable[..., str]

MEMBERS = [f"{i:05d}.{random.Random(i).randrange(1 << 64):016x}@example.org" for i in range(300)]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command that must succeed, and returns what it printed; `error` is what standard error must contain."""
    monkeypatch.chdir(tmp_path)

    def go(*words: object, error: str = "") -> str:
        capsys.readouterr()
        code = main(["psi", *map(str, words)])
        out, err = capsys.readouterr()
        assert code == 0, err
        err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("building: "))
        assert error in err
        said, bad = parted(out, err)
        assert bad == "" or error, bad
        return out if "query" in words or "--json" in words else said  # matches alone are what is asked for

    return go


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command that must be refused, and returns the one line it printed."""
    monkeypatch.chdir(tmp_path)

    def go(*words: object) -> str:
        capsys.readouterr()
        assert main(["psi", *map(str, words)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        lines = [line for line in err.splitlines() if not line.startswith(("warning: ", "building: "))]
        assert len(lines) == 1, err
        assert lines[0].startswith("error: ")
        return lines[0]

    return go


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with labels, and one of integers."""
    folder = tmp_path_factory.mktemp("psi")
    (folder / "set.tsv").write_text("".join(f"{m}\tlabel {i}\n" for i, m in enumerate(MEMBERS)))
    (folder / "numbers").write_text("".join(f"{i * 3}\n" for i in range(300)))
    assert main(f"psi build {folder}/table --set {folder}/set.tsv --labels --bins 8 --threads 1".split()) == 0
    words = f"psi build {folder}/direct --set {folder}/numbers --mode direct --bits 16 --bins 8 --threads 1"
    assert main(words.split()) == 0
    return folder


@pytest.fixture(scope="module")
def served(shop: Path) -> Iterator[tuple[Serving, Serving]]:
    """Both tables, served."""
    with Serving(shop) as one, Serving(shop, table="direct") as two:
        yield one, two


# ---- build ---------------------------------------------------------------------------------------


def test_build(run: Run, tmp_path: Path) -> None:
    (tmp_path / "set.txt").write_text("\n".join([*MEMBERS, "", MEMBERS[0]]) + "\r\n")
    out = run("build", "table", "--set", "set.txt", "--bins", 8)
    assert "300, room for 512; 1 lines said nothing new" in out
    assert "2^-40" in out
    assert Store(tmp_path / "table").count == 300
    found = result_of(run("build", "other", "--set", "set.txt", "--bins", 9, "--capacity", 2000, "--json"))
    assert (found["bins"], found["capacity"], found["elements"], found["duplicates"]) == (512, 2048, 300, 1)


def test_build_from_json_lines(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"element": m, "label": f"é{i}"}) for i, m in enumerate(MEMBERS)]
    for name, option in (("set.jsonl", []), ("set.data", ["--json-lines"])):
        (tmp_path / name).write_text("\n".join(lines))
        found = result_of(run("build", f"table-{name}", "--set", name, "--labels", "--bins", 8, "--json", *option))
        assert found["elements"] == 300
        assert found["label_bytes"] >= 5


def test_update(run: Run, tmp_path: Path) -> None:
    (tmp_path / "set").write_text("\n".join(MEMBERS[:200]))
    (tmp_path / "more").write_text("\n".join(MEMBERS[150:260]))
    (tmp_path / "less").write_text("\n".join([*MEMBERS[:50], MEMBERS[299]]))
    run("build", "table", "--set", "set", "--bins", 8, "--capacity", 512)
    assert "60 added" in run("build", "table", "--set", "more", "--update", "add")
    assert "50 removed" in run("build", "table", "--set", "less", "--update", "remove")
    assert Store(tmp_path / "table").count == 210


def test_a_table_is_not_overwritten_by_accident(run: Run, refused: Run, tmp_path: Path) -> None:
    (tmp_path / "set").write_text("\n".join(MEMBERS[:200]))
    run("build", "table", "--set", "set", "--bins", 8)
    before = Store(tmp_path / "table").info
    assert "--replace" in refused("build", "table", "--set", "set", "--bins", 8)
    assert Store(tmp_path / "table").info.digest() == before.digest()
    run("build", "table", "--set", "set", "--bins", 8, "--replace")
    assert Store(tmp_path / "table").info.seed != before.seed


@pytest.mark.parametrize(
    ("name", "data", "options", "words"),
    [
        ("s", b"", "", "holds no elements"),
        ("s", b"\n\n", "", "holds no elements"),
        ("s", b"good\n\xffbad-secret\n", "", "line 2: no UTF-8"),
        ("s", b"a" * 70_000, "", "line 1: an element of 70000 bytes"),
        ("s", b"a" * ((1 << 20) + 1), "", "longer than 1048576 bytes"),
        ("s", b"secret\n", "--labels", "line 1: no tab"),
        ("s", b"secret\tA\nsecret\tB\n", "--labels", "line 2: this element has another label"),
        ("s", b"17\nsecret\n", "--mode direct --bits 32", "line 2: no integer"),
        ("s", b"-1\n", "--mode direct --bits 32", "not an integer from 0"),
        ("s", b"0x1ffffffff\n", "--mode direct --bits 32", "2^32"),
        ("s.jsonl", b"secret\n", "", "line 1: no JSON"),
        ("s.jsonl", b'["secret"]\n', "", "not an object"),
        ("s.jsonl", b'{"element": "a", "secret": 1}\n', "", "not an object"),
        ("s.jsonl", b'{"element": true}\n', "", "neither a text nor an integer"),
        ("s.jsonl", b'{"element": "a"}\n', "--labels", "line 1: no label"),
        ("s.jsonl", b'{"element": "\\ud800"}\n', "", "no Unicode text"),
        ("s.jsonl", b"[" * 100_000, "", "no JSON"),
        ("s", b"a\tb\n", "--mode direct --labels", "mode direct has no labels"),
        ("s", b"a\n", "--mode other", "--mode is oprf or direct"),
        ("s", b"a\n", "--algorithm other", "--algorithm is"),
        ("s", b"a\n", "--update change", "--update is add or remove"),
        ("s", b"a\n", "--update add --replace", "one of them"),
        ("s", b"a\n", "--update add", "table"),
        ("s", b"a\n", "--threads -1", "--threads"),
        ("s", b"a\n", "--bins 40", "40"),
        ("s", b"a\n", "--hashes 4", "4"),
    ],
)
def test_what_build_refuses(refused: Run, tmp_path: Path, name: str, data: bytes, options: str, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    bins = () if "--bins" in options else ("--bins", 8)
    said = refused("build", "table", "--set", name, *bins, *options.split())
    assert words in said
    assert "secret" not in said
    assert not (tmp_path / "table").exists()


def test_no_file(refused: Run) -> None:
    assert "No such file" in refused("build", "table", "--set", "nothing")


def test_reading_sets(tmp_path: Path) -> None:
    path = tmp_path / "set"
    path.write_bytes(b"\xef\xbb\xbfone\r\n two \n\nthr\tee\none")
    found = read_elements(path)
    assert found.elements == [b"one", b" two ", b"thr\tee"]
    assert found.duplicates == 1
    path.write_text("1\n0x10\n1\n18446744073709551615\n")
    assert read_elements(path, direct=True).elements == [1, 16, (1 << 64) - 1]
    path.write_text('{"element": ""}\n{"element": 5}\n')
    assert read_elements(path, json_lines=True).elements == [b"", b"5"]
    path.write_text("a\tx\tb\nc\t\n")
    assert read_elements(path, labels=True).mapping() == {b"a": b"x\tb", b"c": b""}


def test_labels_in_json_lines_are_kept(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"element": m, "label": f"l{i}"}) for i, m in enumerate(MEMBERS)]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    assert read_elements(tmp_path / "s.jsonl").mapping()[MEMBERS[7].encode()] == b"l7"
    assert result_of(run("build", "table", "--set", "s.jsonl", "--bins", 8, "--json"))["label_bytes"] >= 4
    (tmp_path / "s.jsonl").write_text('{"element": "a", "label": "x"}\n{"element": "b"}\n')
    with pytest.raises(FormatError, match="line 2: no label; every element has one, or none has"):
        read_elements(tmp_path / "s.jsonl")
    (tmp_path / "s.jsonl").write_text('{"element": "a"}\n{"element": "b", "label": "x"}\n')
    with pytest.raises(FormatError, match="line 2: a label, which elements further up have not"):
        read_elements(tmp_path / "s.jsonl")
    with pytest.raises(FormatError, match="line 2: a label, where none is of use"):
        read_elements(tmp_path / "s.jsonl", labels=False)
    (tmp_path / "s.jsonl").write_text('{"element": ' + "9" * 5000 + "}\n")
    with pytest.raises(FormatError, match="line 1: no JSON"):
        read_elements(tmp_path / "s.jsonl", direct=True)


def test_comma_separated_values(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b'\xef\xbb\xbfelement\r\none\r\n"two, or ""2"""\r\n\r\n"three\nlines"\r\none\r\n')
    found = read_elements(path)
    assert found.elements == [b"one", b'two, or "2"', b"three\nlines"]
    assert (found.labels, found.duplicates) == (None, 1)
    path.write_text("Label,Element\nx,1\ny,2\n")
    assert read_elements(path).mapping() == {b"1": b"x", b"2": b"y"}
    assert read_elements(path, labels=False).labels is None
    path.write_text("element\n17\n0x12\n")
    assert read_elements(path, direct=True).elements == [17, 18]
    path.write_text("element,age\na,1\n")
    assert read_elements(path).elements == [b"a"]
    for text, words in (
        ("a@b.org\nc@d.org\n", r"no column is named element, .* --column NAME.* .txt"),
        ("email\na@b.org\n", r"no column is named element"),
        ("element\na,b\n", "line 2, column 2: is one too many"),
        ("element,element\na,b\n", "no column is named element"),
        ('element\n"a"b\n', "line 2: something follows a closing quote"),
        ('element\n"a', "line 2: a quote opens"),
        ("element\n", "holds no elements"),
        ("", "is empty"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=words):
            read_elements(path)
    path.write_bytes(b"element\n\xff\n")
    with pytest.raises(FormatError, match="no UTF-8"):
        read_elements(path)


# ---- warnings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("elements", "small"),
    [
        ([1, 2, 3], True),
        ([1 << 40], False),
        ([(1 << 40) - 1], True),
        ([b"17", b"+49 171 555-0100"], True),
        ([b"1990-01-31"], True),
        ([b"10995116277760000"], False),
        ([b"bob", b"alice"], True),
        ([b"alice.liddell@example.org"], False),
        ([b"\xc3\xa4"], True),
        ([bytes(range(32))], False),
        ([b""], True),
        ([], False),
    ],
)
def test_small_domains(elements: list[bytes | int], small: bool) -> None:
    assert (small_domain(elements) is not None) == small


def test_small_domains_are_warned_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "phones").write_text("\n".join(f"+1555{i:07d}" for i in range(100)))
    run("build", "table", "--set", "phones", "--bins", 8, error="--prf-per-day")


# ---- query ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("run")
def test_query(served: tuple[Serving, Serving], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [*MEMBERS[290:], *(f"{m}.net" for m in MEMBERS[:30])]
    (tmp_path / "mine").write_text("\n".join(asked))
    words = f"psi query --server {served[0].address} --set mine".split()
    capsys.readouterr()
    assert main(words) == 0
    out, err = capsys.readouterr()
    lines = [f"{m}\tlabel {i}" for i, m in enumerate(MEMBERS)][290:]
    assert out.splitlines() == lines, "what goes into a file is the matches, and nothing else"
    assert err.startswith("10 of 40 elements match")
    for word in ("keys", "PRF", "requests", "replies", "queries", "false positives", "placement"):
        assert word in err
    assert main([*words, "--out", "found"]) == 0
    out, err = capsys.readouterr()
    assert (tmp_path / "found").read_text().splitlines() == lines
    assert out == ""
    assert "wrote found" in err
    assert "label 290" not in err


def test_a_token_from_standard_input(
    run: Run, served: tuple[Serving, Serving], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text(MEMBERS[0])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"token-token-token-1\n")))
    out = run("query", "--server", served[0].address, "--set", "mine", "--token-file", "-", "--json")
    assert len(result_of(out)["matches"]) == 1


def test_query_without_a_match(run: Run, served: tuple[Serving, Serving], tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"element": "nobody.that.is.known@example.org"}\n')
    out = run("query", "--server", served[0].address, "--set", "mine.jsonl", "--json")
    found = result_of(out)
    assert found["matches"] == []
    assert found["elements"] == found["queries"] == 1


def test_query_for_integers(run: Run, served: tuple[Serving, Serving], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("\n".join(map(str, range(100, 130))))
    words = ("query", "--server", served[1].address, "--set", "mine", "--json")
    found = result_of(run(*words, error="integers below 2^8"))
    assert [m["element"] for m in found["matches"]] == [i for i in range(100, 130) if i % 3 == 0]
    assert found["probabilities"]["false_positive"] == 0


def test_what_query_refuses(refused: Run, served: tuple[Serving, Serving], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text(MEMBERS[0])
    (tmp_path / "tokens").write_text("token-token-token-1\ntoken-token-token-2\n")
    there = ("query", "--server", served[0].address)
    readable = refused(*there, "--set", "mine", "--token-file", "tokens")
    assert "tokens is a secret that others on this machine may read or change (mode 644): chmod 600 tokens" in readable
    (tmp_path / "tokens").chmod(0o600)
    assert "nobody answers at 127.0.0.1:1" in refused("query", "--server", "127.0.0.1:1", "--set", "mine")
    assert "HOST:PORT" in refused("query", "--server", "nowhere", "--set", "mine")
    assert "--plaintext" in refused("query", "--server", "example.org:80", "--set", "mine")
    assert "No such file" in refused(*there, "--set", "nothing")
    assert "holds 2 tokens" in refused(*there, "--set", "mine", "--token-file", "tokens")
    assert "cannot both be standard input" in refused(*there, "--set", "-", "--token-file", "-")
    assert "no CERTIFICATE" in refused(*there, "--set", "mine", "--tls-ca", "mine")
    assert "more than 0" in refused(*there, "--set", "mine", "--timeout", 0)
    assert "a stall of inf seconds" in refused(*there, "--set", "mine", "--stall", "inf")
    (tmp_path / "mine").write_text("text")
    assert "no integer" in refused("query", "--server", served[1].address, "--set", "mine")


def test_insecure_plans_need_a_reason(served: tuple[Serving, Serving]) -> None:
    with remote.Connection(served[0].address, timeout=60) as c:
        info, left = c.info()
        bad = info.model_copy(update={"plan": info.plan.model_copy(update={"insecure": "paper\x1b[2J"})})
        with pytest.raises(ParameterError, match=r"below 128 bits \(paper \[2J\)"):
            remote.intersect(c, [b"x"], known=(bad, left))
        remote.require_secure(bad, "tests")


def test_terminals_are_not_controlled() -> None:
    assert printable("é\x1b[2J\n".encode() + b"\xff") == "é\\x1b[2J\\n\\xff"


# ---- estimate ------------------------------------------------------------------------------------


def test_estimates_are_what_it_takes(run: Run, served: tuple[Serving, Serving], shop: Path, tmp_path: Path) -> None:
    count = 500  # several queries
    (tmp_path / "mine").write_text("\n".join(f"{i}.{'x' * 30}" for i in range(count)))
    took = result_of(run("query", "--server", served[0].address, "--set", "mine", "--json"))
    assert took["queries"] > 1
    for where in (["--server", served[0].address], ["--table", shop / "table"]):
        said = result_of(run("estimate", *where, "--count", count, "--json"))
        assert said["queries"] == took["queries"]
        for side in ("sent", "received"):
            for kind, size in said[side].items():
                assert 0 <= size - took[side][kind] < 300 * said["queries"], (side, kind)
        assert said["false_positive"] == pytest.approx(took["probabilities"]["false_positive"])
    out = run("estimate", "--server", served[0].address, "--count", count)
    assert "evaluations of" in out
    out = run("estimate", "--server", served[0].address, "--count", 1 << 22, error="in fewer")
    assert "TOO MUCH for one day" in " ".join(out.replace("│", " ").split())


def test_what_estimate_refuses(refused: Run, tmp_path: Path) -> None:
    assert "--server HOST:PORT or --table" in refused("estimate", "--count", 1)
    assert "--server HOST:PORT or --table" in refused(
        "estimate", "--count", 1, "--server", "127.0.0.1:1", "--table", tmp_path
    )
    assert refused("estimate", "--count", 1, "--table", tmp_path)


# ---- serve ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--listen nowhere", "HOST:PORT"),
        ("--listen 0.0.0.0:0", "--tls-cert and --tls-key"),
        ("--tls-cert table", "both"),
        ("--token-file missing", "No such file"),
        ("--memory much", "no size"),
        ("--memory 1KiB", "give --memory"),
        ("--sessions 0", "sessions 0: 1 to 65536"),
        ("--idle 0", "idle 0.0: 0.001 to 604800 seconds"),
        ("--idle inf", "idle inf: 0.001 to 604800 seconds"),
        ("--idle nan", "idle nan"),
        ("--moving 1e308", "moving 1e+308"),
        ("--stall inf", "stall inf"),
        ("--grace 1e308", "grace 1e+308"),
        ("--prf-per-day -1", "outside"),
        ("--quota-file set.tsv", "no quota file"),
        ("--log missing/log", "No such file"),
        ("--listen 192.0.2.1:1 --plaintext", "cannot listen"),
    ],
)
def test_what_serve_refuses(
    refused: Run, shop: Path, monkeypatch: pytest.MonkeyPatch, options: str, words: str
) -> None:
    monkeypatch.chdir(shop)
    assert words in refused("serve", "table", *options.split())


def test_serve_refuses_what_is_no_table(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    assert "table" in refused("serve", "table")
    with pytest.raises((FormatError, OSError)):
        Store(tmp_path / "nothing")


def test_every_command_has_help(run: Run) -> None:
    for name in ("", "build", "serve", "query", "estimate", "info", "explain", "demo"):
        assert "--help" in run(*name.split(), "--help")


def test_limits_are_public(served: tuple[Serving, Serving]) -> None:
    with remote.Connection(served[0].address, timeout=60) as c:
        info: Any = c.info()[0]
    assert info.limits.prf_per_day == Limits().prf_per_day
