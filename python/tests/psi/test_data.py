# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a table of columns to matched rows, on the command line and in Python; and what users are told before."""

from __future__ import annotations

import csv
import io
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringforge import psi
from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.psi import choice, remote
from ringforge.psi.commands.common import guessable
from ringforge.psi.data import Request, choose
from ringforge.psi.info import TableInfo
from ringforge.psi.sets import Elements
from tests.answers import lines_of, printed, result_of
from tests.psi.processes import Serving
from tests.psi.serving import real
from tests.psi.test_psi_cli import Run, refused, run

__all__ = ["refused", "run"]

SERVER = "".join(f"{i};User{i}@Example.org;plan {i % 3}\n" for i in range(100))
CLIENT = (
    "name;mail;note\n"
    'Ann; USER7@example.org ;"a;b"\n'
    "Bob;nobody@example.org;\n"
    "Cid;;empty\n"
    "Dot;user7@example.org;again\n"
    "Eve;user99@example.org;=1+1\n"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "customers.csv").write_text("\ufeffid;E-mail;plan\n" + SERVER)
    words = (
        f"psi build {folder}/table --set {folder}/customers.csv --column e-mail --label-column plan --client-size 20"
    )
    assert main([*words.split(), "--normalise", "strip,lower,nfc", "--algorithm", "ringforge", "--threads", "1"]) == 0
    words = f"psi build {folder}/pairs --set {folder}/customers.csv --column id --column plan --client-size 1"
    assert main([*words.split(), "--algorithm", "ringforge", "--threads", "1"]) == 0
    return folder


@pytest.fixture(scope="module")
def served(shop: Path) -> Iterator[str]:
    with Serving(shop) as serving:
        yield serving.address


def query(address: str, *words: object) -> list[str]:
    return ["query", "--server", address, *map(str, words)]


# ---- query ---------------------------------------------------------------------------------------


def test_rows_come_back_with_their_labels(run: Run, served: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(CLIENT)
    out = run(
        *query(served, "--set", "mine.csv", "--column", "mail", "--out", "out.csv"), error="wrote out.csv: 3 rows"
    )
    assert out == ""
    assert (tmp_path / "out.csv").read_text() == (
        'name;mail;note;label\nAnn; USER7@example.org ;"a;b";plan 1\n'
        "Dot;user7@example.org;again;plan 1\nEve;user99@example.org;=1+1;plan 0\n"
    )
    said = run(*query(served, "--set", "mine.csv", "--column", "2"), error="no element (an empty cell")
    assert said == run(*query(served, "--set", "mine.csv", "--column", "2"), error="the first line, of 3 columns")
    assert said == "user7@example.org\tplan 1\nuser99@example.org\tplan 0\n"
    told = result_of(run(*query(served, "--set", "mine.csv", "--column", "mail", "--json"), error="count with them: 1"))
    assert (told["elements"], told["left_out"], told["fell_together"]) == (3, 1, 1)
    assert told["table"]["normalise"] == "nfc,lower,strip"
    assert "unasked" not in told


def test_parquet_there_and_back(run: Run, served: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"mail": ["User3@example.org", None, "x"], "n": [1, 2, None]}), tmp_path / "m.parquet")
    run(*query(served, "--set", "m.parquet", "--column", "mail", "--out", "o.parquet"), error="wrote")
    assert parquet.read_table(tmp_path / "o.parquet").to_pylist() == [
        {"mail": "User3@example.org", "n": 1, "label": "plan 0"}
    ]


def test_text_in_rows_out(run: Run, served: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("USER1@example.org\nuser1@example.org\nnobody@example.org\n")
    run(*query(served, "--set", "mine.txt", "--out", "out.csv"), error="wrote")
    assert (tmp_path / "out.csv").read_text() == "element,label\nUSER1@example.org,plan 1\nuser1@example.org,plan 1\n"
    run(*query(served, "--set", "mine.txt", "--out", "out"), error="wrote")
    assert (tmp_path / "out").read_text() == "user1@example.org\tplan 1\n"


def test_text_out_has_a_line_for_each_match(run: Run, refused: Run, tmp_path: Path) -> None:
    """Labels are the server's, and JSON lines hold elements with line breaks."""
    psi.Store.build(tmp_path / "table", {b"a": b"x\nb\tfake", b"b\rc": b"y\xff"}, log_bins=4)
    (tmp_path / "mine.jsonl").write_text('{"element": "a"}\n{"element": "b\\rc"}\n{"element": "d"}\n')
    with Serving(tmp_path) as serving:
        mine = query(serving.address, "--set", "mine.jsonl")
        run(*mine, "--out", "out.txt", error="wrote")
        assert (tmp_path / "out.txt").read_bytes() == b"a\tx\\nb\\tfake\nb\\rc\ty\\xff\n"
        assert "holds a line break" in refused(*mine, "--rest", "rest.txt")
        run(*mine, "--rest", "rest.jsonl", error="match")


def test_the_table_says_how_elements_are_written(refused: Run, run: Run, served: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("USER1@EXAMPLE.ORG")
    there = query(served, "--set", "mine.txt")
    assert run(*there, "--normalise", "lower,nfc,strip", error="match") == "user1@example.org\tplan 1\n"
    said = refused(*there, "--normalise", "nfc")
    assert "normalised by nfc,lower,strip, --normalise says nfc: leave it away" in said
    assert "upper" in refused(*there, "--normalise", "upper")
    (tmp_path / "mine.csv").write_text(CLIENT)
    said = refused(*query(served, "--set", "mine.csv", "--column", "name", "--column", "mail"))
    assert "an element of this table has 1 columns, yours 2" in said
    assert "no column is named element" in refused(*query(served, "--set", "mine.csv"))


def test_what_query_refuses_early(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(CLIENT)
    (tmp_path / "mine.txt").write_text("x")
    nobody = "127.0.0.1:1"
    csv = query(nobody, "--set", "mine.csv", "--column", "mail")
    assert "exists already" in refused(*csv, "--out", "mine.csv")
    assert "both name the file mine.csv" in refused(*csv, "--out", "mine.csv", "--overwrite")
    assert "both name the file a.csv" in refused(*csv, "--out", "a.csv", "--rest", "a.csv")
    assert "ends in .csv" in refused(*csv, "--rest", "rest.txt")
    assert "ends in .txt or .jsonl" in refused(*query(nobody, "--set", "mine.txt", "--rest", "rest.csv"))
    assert "a file without a header" in refused(*query(nobody, "--set", "mine.csv", "--no-header"))


def test_pairs_of_columns(run: Run, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n5,plan 2\n5,plan 1\n")
    with Serving(shop, table="pairs") as serving:
        out = run(*query(serving.address, "--set", "mine.csv", "--column", "a", "--column", "b"), error="1 of 2")
    assert out == "5\tplan 2\n"


@pytest.mark.parametrize("kind", ["txt", "tsv"])
def test_a_match_has_one_line(run: Run, refused: Run, tmp_path: Path, kind: str) -> None:
    """Whatever a server writes into its labels, and whatever an element holds."""
    elements = {b"bob": "gold\nmallory\tgold\rx\u2028\u202ey", b"two\nlines\tof\r": "b"}
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps({"element": e.decode()}) + "\n" for e in elements))
    server = psi.Server.build({e: v.encode() for e, v in elements.items()}, log_bins=4)
    with real(server, tmp_path) as shop:
        there = query(shop.address, "--set", "mine.jsonl", "--out", f"out.{kind}")
        run(*there, error="2 of 2")
        assert "holds a line break" in refused(*there, "--overwrite", "--rest", "rest.txt")
    out = (tmp_path / f"out.{kind}").read_bytes().decode()
    if kind == "txt":
        assert out == "bob\tgold\\nmallory\\tgold\\rx\\u2028\\u202ey\ntwo\\nlines\\tof\\r\tb\n"
        return
    rows = list(csv.reader(io.StringIO(out, newline=""), delimiter="\t"))
    assert rows == [["element", "label"], *([e.decode(), v] for e, v in elements.items())]


def break_after(monkeypatch: pytest.MonkeyPatch, answered: int) -> None:
    """Lets so many queries through; the next one finds the connection broken."""
    real, count = remote.Connection.query, [0]

    def ask(self: Any, *words: Any) -> Any:
        count[0] += 1
        if count[0] > answered:
            raise Error("the connection broke")
        return real(self, *words)

    monkeypatch.setattr(remote.Connection, "query", ask)


@pytest.mark.parametrize("form", ["csv", "txt", "jsonl"])
def test_a_run_that_ends_in_the_middle(
    served: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    mails = [f"user{i}@example.org" for i in range(90)]
    columns = ["--column", "m"] if form == "csv" else []
    lines = {"csv": ["n,m", *(f"{i},{m}" for i, m in enumerate(mails))], "txt": mails}.get(
        form, [json.dumps({"element": m}) for m in mails]
    )
    (tmp_path / f"mine.{form}").write_text("\n".join(lines))
    words = query(served, "--set", f"mine.{form}", *columns, "--rest", f"rest.{form}", "--threads", 1)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        break_after(patch, 1)
        assert main(["psi", *words]) == 1
    out, err = capsys.readouterr()
    first = [line.split("\t")[0] for line in out.splitlines()]
    rest = tmp_path / f"rest.{form}"
    assert 0 < len(first) < 90
    assert f"{90 - len(first)} of 90 elements have no answer" in " ".join(err.split())
    assert f"--set rest.{form}" in " ".join(err.split())
    assert stat.S_IMODE(rest.stat().st_mode) == 0o600
    assert main(["psi", *query(served, "--set", rest, *columns)]) == 0
    later = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert sorted(first + later) == sorted(mails)
    with monkeypatch.context() as patch:
        break_after(patch, 1)
        assert main(["psi", *query(served, "--set", f"mine.{form}", *columns, "--json", "--out", "known.csv")]) == 1
    out, err = capsys.readouterr()
    (told,) = lines_of(out)
    assert len(told["result"]["unasked"]) == 90 - len(first)
    assert "--rest FILE keeps" in told["error"]["message"]
    assert "--rest FILE keeps" in " ".join(err.split())
    assert len((tmp_path / "known.csv").read_text().splitlines()) == len(first) + 1


def test_many_queries_are_warned_of(run: Run, shop: Path) -> None:
    said = run(
        "estimate", "--table", shop / "table", "--client-size", 300, error="a table built with --client-size 300"
    )
    assert "of 64 bins" in said


# ---- build, info, estimate --------------------------------------------------------------------------


def test_what_build_says(run: Run, shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "t", "--set", shop / "customers.csv", "--column", "E-mail", "--algorithm", "ringforge"]
    capsys.readouterr()
    assert main(["psi", *map(str, words), "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("building: ringforge, 2,048 bins; about ")
    assert "for clients of 1,024 elements at once (--client-size says otherwise)" in err
    assert out == ""
    assert "taken as they are" in err
    told = result_of(run(*words, "--replace", "--client-size", 20, "--json"))
    assert told["bins"] == 64
    assert set(told["estimate"]) >= {"build_seconds", "disk", "memory", "server_seconds", "queries", "sent", "received"}
    assert told["columns"] == 1
    (tmp_path / "more.csv").write_text("E-mail,x\nnew@example.org,1\n")
    assert "1 added" in run("build", "t", "--set", "more.csv", "--column", "E-mail", "--update", "add")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--bins 4 --client-size 3", "give bins or client_size, not both"),
        ("--algorithm poly --bins 4", "client_size (--client-size) in their place"),
        ("--algorithm poly --hashes 2", "three hash functions"),
        ("--algorithm poly --mode direct", "of mode oprf"),
        ("--mode poly --algorithm paper", "--mode poly means --algorithm poly"),
        ("--mode direct --normalise lower", "leave --normalise away"),
        ("--mode direct --column element --label-column plan", "no labels"),
        ("--normalise soundex", "there are nfc"),
        ("--label-column mail", "name it too (--column)"),
        ("--update add --normalise lower", "the table says how"),
    ],
)
def test_what_build_refuses(refused: Run, tmp_path: Path, options: str, words: str) -> None:
    (tmp_path / "s.csv").write_text("element\n17\n")
    assert words in refused("build", "table", "--set", "s.csv", *options.split())
    assert not (tmp_path / "table").exists()


def test_info(run: Run, refused: Run, shop: Path, served: str) -> None:
    here = result_of(run("info", shop / "table", "--json"))
    there = result_of(run("info", "--server", served, "--json"))
    assert here["digest"] == there["digest"]
    assert {"elements": 100, "capacity": 128, "normalise": "nfc,lower,strip", "bins": 64}.items() <= {
        k: v for k, v in here.items() if k != "limits"
    }.items()
    assert "elements" not in there, "the number is the server's"
    assert there["left_today"]["prf"] <= there["limits"]["prf_per_day"]
    for said in (run("info", shop / "table"), run("info", "--server", served)):
        assert "normalised by nfc,lower,strip" in said
        assert "up to 128" in said
    assert "less than a minute ago" in run("info", shop / "table") or "minute" in run("info", shop / "table")
    assert "say which table" in refused("info")
    assert "say which table" in refused("info", shop / "table", "--server", served)
    assert "no table" in refused("info", shop)
    secret = (shop / "table" / "state-1" / "oprf.key").read_bytes()
    for text in (json.dumps(here), run("info", shop / "table")):
        assert secret[-32:].hex() not in text
        assert "User1" not in text


def test_what_is_said_of_a_polynomial_table(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A client that deviates reads it whole: it counts the elements, and its guesses take no more bins."""
    elements = [b"%d" % i for i in range(20)]
    psi.Store.build(tmp_path / "table", elements, algorithm="poly", client_size=20)
    assert "up to 32; those that deviate can count them" in " ".join(run("info", "table").split())
    info = psi.Store(tmp_path / "table").info
    for table, words in (
        (info, " 1,048,576 elements a day."),
        (info_of_lookups(), " elements and 16,777,216 bins a day."),
    ):
        guessable(Elements(list(elements), None, 0), table)
        assert words in " ".join(capsys.readouterr().err.split())


def info_of_lookups() -> TableInfo:
    return psi.Server.build([b"1"], log_bins=4).info


def test_info_of_files_knows_tables(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(shop / "table")]) == 0
    out = printed(capsys)
    assert "a table of private set intersection" in out
    assert "belongs to its owner alone" in out
    assert main(["info", str(tmp_path)]) == 1
    assert "is a directory, and none of ours" in capsys.readouterr().err


def test_comparing_before_there_is_a_table(run: Run, refused: Run) -> None:
    told = result_of(run("estimate", "--server-size", 5000, "--client-size", 100, "--threads", 1, "--json"))
    assert told["choice"] == told["algorithms"][0]["algorithm"]
    assert [a["waiting"] for a in told["algorithms"]] == sorted(a["waiting"] for a in told["algorithms"])
    lookup = next(a for a in told["algorithms"] if a["algorithm"] == "ringforge")
    assert lookup["queries"] == 1
    assert "build takes" in run("estimate", "--server-size", 5000, "--client-size", 100, "--threads", 1)
    both = ("estimate", "--server-size", 10, "--client-size", 1)
    assert "leave --server and --table away" in refused(*both, "--table", "t")
    assert "says itself" in refused("estimate", "--client-size", 1, "--table", "t", "--label-bytes", 3)


def test_predicted_bytes_are_those_of_the_table(tmp_path: Path) -> None:
    elements: list[bytes | int] = [f"element {i}".encode() for i in range(3000)]
    found = Elements(elements, [b"12345"] * len(elements), 0)
    spec, (expected, *_) = choose(Request(algorithm="ringforge", client_size=40), found)
    store = psi.Store.build(tmp_path / "t", found.mapping(), spec)
    plan = store.info.native()
    assert expected.bins == store.info.bins >= 1 << choice.bins_for(40)
    assert abs(expected.sent - (plan.key_bytes + plan.request_bytes)) <= 64 * 32
    disk = sum(p.stat().st_size for p in (tmp_path / "t").rglob("*") if p.is_file())
    assert 0.7 * disk <= expected.disk <= 1.3 * disk


@pytest.mark.parametrize("algorithm", ["auto", "poly", "ringforge"])
@pytest.mark.parametrize("size", [0, -1])
def test_clients_of_no_elements_are_refused(tmp_path: Path, algorithm: str, size: int) -> None:
    (tmp_path / "set.txt").write_text("a\n")
    with pytest.raises(ParameterError, match="1 is the least"):
        psi.build_table(tmp_path / "table", tmp_path / "set.txt", client_size=size, algorithm=algorithm)


def test_bins_for_clients() -> None:
    for size in (1, 40, 500, 13_000):
        log_bins = choice.bins_for(size)
        assert choice.room(1 << log_bins, 3) >= size
        assert log_bins == 1 or choice.room(1 << (log_bins - 1), 3) < size
    with pytest.raises(ParameterError, match="1 is the least"):
        choice.bins_for(0)
    assert choice.lookup_bins(1 << 10, 40) == choice.bins_for(40)
    assert choice.lookup_bins(1 << 20, 1) == 13, "more bins than the client needs, and less to compute"


def test_the_planner_chooses(run: Run, refused: Run, shop: Path, served: str, tmp_path: Path) -> None:
    """By default the algorithm that lets clients wait less: with it, too, rows come back with their labels."""
    words = ("build", "p", "--set", shop / "customers.csv", "--column", "E-mail", "--label-column", "plan")
    told = result_of(run(*words, "--normalise", "email", "--client-size", 20, "--json"))
    assert (told["algorithm"], told["estimate"]["algorithm"]) == ("poly", "poly")
    assert "with ringforge" in told["why"]
    assert told["estimate"]["sent"] >= told["key_bytes"] + told["request_bytes"]
    (tmp_path / "mine.csv").write_text(CLIENT)
    with Serving(tmp_path, table="p") as serving:
        there = query(serving.address, "--set", "mine.csv", "--column", "mail", "--mode", "poly")
        run(*there, "--out", "out.csv", error="wrote out.csv: 3 rows")
        assert result_of(run("info", "--server", serving.address, "--json"))["algorithm"] == "poly"
        assert "poly: " in run("explain", "--server", serving.address)
    assert [line.rpartition(";")[2] for line in (tmp_path / "out.csv").read_text().splitlines()] == [
        "label", "plan 1", "plan 1", "plan 0",
    ]  # fmt: skip
    assert "of algorithm ringforge, not poly" in refused(
        *query(served, "--set", "mine.csv", "--column", "mail", "--mode", "poly")
    )
    both = result_of(run("explain", "p", "--paper", "--json"))["plans"]
    assert [p["algorithm"] for p in both] == ["poly", "paper"]
    assert both[0]["request_bytes"] == told["request_bytes"]
    assert "leave --algorithm away" in refused("explain", "p", "--algorithm", "ringforge")
    assert "poly: " in run("explain", "--capacity", 1000, "--algorithm", "poly")
    again = result_of(run(*words, "--mode", "poly", "--normalise", "email", "--replace", "--json"))
    assert (again["algorithm"], again["why"]) == ("poly", "")


# ---- Python --------------------------------------------------------------------------------------


def test_frames_in_and_out(shop: Path, served: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": [1, 2, 3], "E-mail": ["user1@example.org", None, "USER2@EXAMPLE.ORG"]})
    with remote.Connection(served, timeout=60) as connection:
        found = psi.match_rows(connection, table, column="E-mail")
        assert found.rows.to_pylist() == [
            {"id": 1, "E-mail": "user1@example.org", "label": "plan 1"},
            {"id": 3, "E-mail": "USER2@EXAMPLE.ORG", "label": "plan 2"},
        ]
        assert (found.row_numbers, found.left_out) == ([0, 2], 1)
        (tmp_path / "mine.csv").write_text(CLIENT)
        rows = psi.match_rows(connection, tmp_path / "mine.csv", column="mail").rows
        assert rows[0] == {"name": "Ann", "mail": " USER7@example.org ", "note": "a;b", "label": "plan 1"}
        with pytest.raises(ParameterError, match="1 columns, yours 2"):
            psi.match_rows(connection, table, column=["id", "E-mail"])
    options: dict[str, Any] = {"column": "E-mail", "normalise": ["lower"], "client_size": 3, "algorithm": "ringforge"}
    store = psi.build_table(tmp_path / "made", table, **options)
    assert (store.count, store.info.normalise, store.info.label_bytes) == (2, "lower", 0)
    labelled = psi.build_table(tmp_path / "made", table, label_column="id", **options)
    assert labelled.info.label_bytes > 1
    file = psi.build_table(tmp_path / "file", shop / "customers.csv", label_column="plan", **options)
    assert file.count == 100
