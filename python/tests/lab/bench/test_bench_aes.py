# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products beside FLINT in a small ring, operations of LTV at a small set, what is reported, refusals."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest

from ringforge import _native, ltv
from ringforge.cli import main
from ringforge.errors import Error, LevelError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.lab.bench import aes
from ringforge.lab.peers import flint
from ringforge.lab.tables import Value
from ringforge.lab.timing import Timing, both_clocks
from ringforge.runs import Record
from tests.answers import result_of

CASE = aes.AesCase(index=255, primes=2, threads=(1, 2), rounds=1, budget_s=1e-3)


def test_products_are_those_of_flint() -> None:
    records = list(aes.compare(CASE))
    assert [(r.case, r.algorithm, r.threads) for r in records] == [
        ("product, unreduced", "unreduced", 1),
        ("product, additions", "additions", 1),
        ("product, additions", "additions", 2),
        ("product, barrett", "barrett", 1),
        ("product, barrett", "barrett", 2),
        ("own, own", "own", 1),
        ("own, additions", "additions", 1),
        ("own, barrett", "barrett", 1),
        ("own, additions", "additions", 1),
        ("slots, encode", "ringforge", 1),
        ("slots, decode", "ringforge", 1),
    ]
    for r in records[:5]:
        assert (r.peer, r.peer_version) == ("flint", flint.version())
        assert r.peer_seconds is not None
        assert r.seconds == (r.cpu_seconds if r.threads == 1 else r.wall_seconds) > 0
        assert r.peer_seconds == (r.peer_cpu_seconds if r.threads == 1 else r.peer_wall_seconds)
        assert "papers_seconds" not in r.extra  # another ring than the paper's
        assert json.loads(r.to_json())["params"] == "Phi_255, 2 primes of 31 bits"
    assert records[0].peer_seconds < records[1].peer_seconds  # type: ignore[operator]
    assert [(r.extra["bits"], r.extra["words"]) for r in records[5:9]] == [(50, 64)] * 3 + [(31, 32)]
    (table,) = aes.beside_the_paper(records)
    assert "Phi_255" in table.title
    assert [row[0] for row in table.rows][1:3] == [
        "zero padding, reduced by binomials",
        "zero padding, reduced by Barrett's method",
    ]


@pytest.mark.parametrize(("which", "name"), [("residues", "result"), ("whole", "product")])
def test_a_wrong_product_is_seen(monkeypatch: pytest.MonkeyPatch, which: str, name: str) -> None:
    real = flint.product

    def wrong(*arguments: object) -> flint.Product:
        found = real(*arguments)  # type: ignore[arg-type]
        getattr(found, which)[1, 127] ^= 1
        return found

    monkeypatch.setattr(flint, "product", wrong)
    with pytest.raises(Error, match=f"FLINT's {name} is another"):
        list(aes.compare(CASE, ["product"]))


@pytest.mark.parametrize("method", ["additions", "barrett", "own"])
def test_a_way_that_differs_is_seen(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    real = _native.kernels.ring_product

    def wrong(*arguments: Any) -> Any:
        found = real(*arguments)
        found[0][3] += arguments[-1] == method and len(arguments[1]) == (1 if method == "own" else 2)
        return found

    monkeypatch.setattr(_native.kernels, "ring_product", wrong)
    with pytest.raises(Error, match="another: this build of ringforge is broken"):
        list(aes.compare(CASE, ["product", "own"]))


def test_the_papers_numbers_are_marked() -> None:
    extra = {"papers_seconds": {"FPGA": 9.51e-3}}
    records = [
        Record(
            *("aes", f"product, {method}", "p", method),
            threads=t,
            peer="flint",
            extra=extra,
            **both_clocks(Timing(0.01, 0.02), Timing(2 * peer, peer), threads=t),
        )
        for method, t, peer in (("unreduced", 1, 0.4), ("additions", 1, 1.0), ("additions", 2, 1.0))
    ]
    (table,) = aes.beside_the_paper(records)
    assert [row[:2] for row in table.rows[:3]] == [
        ("ours, not reduced", "1"),
        ("ours, reduced by binomials", "1"),
        ("ours, reduced by binomials", "2"),
    ]
    assert [value.source for value in table.rows[0][2:] if isinstance(value, Value)] == ["measured"] * 2 + [
        "derived"
    ] * 4
    # FLINT's over processor time, the paper's over wall time.
    assert [value.number for value in table.rows[0][4:] if isinstance(value, Value)] == [
        pytest.approx(x) for x in (20, 0.951, 26.628, 16.167)
    ]
    assert table.rows[3][:4] == (
        "FLINT, not reduced",
        "1",
        Value(800.0, "ms", "measured"),
        Value(400.0, "ms", "measured"),
    )
    papers = [row[2] for row in table.rows[5:]]
    assert papers == [
        Value(9.51, "ms", "paper"),
        Value(28 * 9.51, "ms", "derived"),
        Value(17 * 9.51, "ms", "derived"),
    ]
    assert "no such hardware was run" in table.notes[0]


def test_operations_of_ltv() -> None:
    params = ltv.Parameters.named("ltv-test", "a test")
    records = list(aes.scheme(params, level=1, rounds=1))
    assert [r.case for r in records] == [f"ltv, {name}" for name in aes.SCHEME]
    assert all(r.seconds > 0 and r.level == 1 and r.extra["insecure"] == "a test" for r in records)
    assert records[1].extra["bytes"] == params.key_bytes(2)
    assert all("papers_seconds" not in r.extra for r in records)
    (table,) = aes.scheme_beside_the_paper(records)
    assert len(table.rows) == len(aes.SCHEME) + 1
    keys, key = (r.cpu_seconds or 0.0 for r in records[:2])
    every = sum(params.key_bytes(i) for i in range(1, 4))
    whole = table.rows[-1][4]
    assert isinstance(whole, Value)
    assert whole.number / 1e3 == pytest.approx(keys + key * every / params.key_bytes(2))
    assert aes.scheme_beside_the_paper([]) == []
    with pytest.raises(LevelError):
        list(aes.scheme(params, level=3))
    extra, times = {"papers_seconds": {"FPGA": 0.089}}, both_clocks(Timing(0.01, 0.02))
    (table,) = aes.scheme_beside_the_paper([Record("aes", "ltv, switch", "p", "windows", extra=extra, **times)])
    printed, ratio = table.rows[0][5:]
    assert printed == Value(89.0, "ms", "paper")
    assert isinstance(ratio, Value)
    assert ratio.number == pytest.approx(8.9)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match='no case "x": take one of product, own, slots'):
        list(aes.compare(CASE, ["x"]))
    for bad in (aes.AesCase(rounds=0), aes.AesCase(threads=()), aes.AesCase(threads=(0,)), aes.AesCase(index=21)):
        with pytest.raises(ParameterError):
            bad.check()
    assert main(["bench", "aes", "--set", "ltv-test"]) != 0  # without a reason
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(Error, match="pip install python-flint"):
        list(aes.compare(CASE, ["product"]))


def test_ring_product_refuses_what_is_no_residue() -> None:
    primes = CASE.moduli
    rows = np.zeros((2, 128), np.uint32)
    with pytest.raises(ShapeError, match="128 residues for each of 2"):
        _native.kernels.ring_product(255, primes, rows[:, :127].copy(), rows)
    rows[1, 5] = primes[1]
    with pytest.raises(RingforgeValueError, match="not below its prime"):
        _native.kernels.ring_product(255, primes, rows, rows)
    rows *= 0
    with pytest.raises(ParameterError, match="repeat"):
        _native.kernels.ring_product(255, primes, rows, rows, 1, 0)
    with pytest.raises(ParameterError, match='no product by "x": choose additions, barrett, unreduced or own'):
        _native.kernels.ring_product(255, primes, rows, rows, 1, 1, "x")
    with pytest.raises(TypeError):  # words of both sizes
        _native.kernels.ring_product(255, primes, rows, rows.astype(np.uint64))
    with pytest.raises(ParameterError, match="prime"):  # 1 modulo the padded length, not as the own transform wants
        _native.kernels.ring_product(255, primes, rows, rows, 1, 1, "own")


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "aes", "--case", "slots", "--case", "own", "--rounds", "1", "--budget", "0.01"]) == 0
    shown = capsys.readouterr()
    assert "slots, encode" in shown.err
    assert "A product modulo Phi_65535 and one prime" in shown.out
    arguments = ["--set", "ltv-test", "--insecure", "a test", "--threads", "1", "--rounds", "1", "--json"]
    assert main(["bench", "aes", *arguments]) == 0
    shown = capsys.readouterr()
    assert [result_of(line)["case"] for line in shown.out.splitlines()][-1] == "ltv, decrypt"
    assert "broken" in shown.err
