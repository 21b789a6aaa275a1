# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products beside FLINT in a small ring, operations of LTV at a small set, what is reported, refusals."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from ringforge import _native, ltv
from ringforge.cli import main
from ringforge.errors import Error, LevelError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.lab.bench import aes
from ringforge.lab.peers import flint
from ringforge.lab.tables import Value
from ringforge.runs import Record

CASE = aes.AesCase(index=255, primes=2, threads=(1, 2), rounds=1, budget_s=1e-3)


def test_products_are_those_of_flint() -> None:
    records = list(aes.compare(CASE))
    assert [(r.case, r.threads) for r in records] == [
        ("product", 1),
        ("product", 2),
        ("slots, encode", 1),
        ("slots, decode", 1),
    ]
    for r in records[:2]:
        assert (r.peer, r.peer_version) == ("flint", flint.version())
        assert r.peer_seconds is not None
        assert r.seconds > 0
        assert "papers_seconds" not in r.extra  # another ring than the paper's
        assert json.loads(r.to_json())["params"] == "Phi_255, 2 primes of 31 bits"
    assert aes.beside_the_paper(records) == []


def test_a_wrong_product_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = flint.product

    def wrong(*arguments: object) -> flint.Product:
        found = real(*arguments)  # type: ignore[arg-type]
        found.residues[1, 127] ^= 1
        return found

    monkeypatch.setattr(flint, "product", wrong)
    with pytest.raises(Error, match="FLINT's result is another"):
        list(aes.compare(CASE, ["product"]))


def test_the_papers_numbers_are_marked() -> None:
    extra = {"papers_seconds": {"FPGA": 9.51e-3}, "peer_multiply_seconds": 0.4, "peer_reduce_seconds": 0.6}
    records = [
        Record("aes", "product", "p", "padded", 0.01, threads=t, peer="flint", peer_seconds=1.0, extra=extra)
        for t in (1, 2)
    ]
    (table,) = aes.beside_the_paper(records)
    cells = {row[0]: row for row in table.rows}
    assert len(table.rows) == 7
    for name, milliseconds, source in (
        ("the paper's FPGA", 9.51, "paper"),
        ("the paper's CPU", 266.28, "derived"),
        ("the paper's GPU", 161.67, "derived"),
    ):
        value, ratio = cells[name][1], cells[name][3]
        assert isinstance(value, Value)
        assert isinstance(ratio, Value)
        assert (value.number, value.source) == (pytest.approx(milliseconds), source)
        assert ratio.number == pytest.approx(milliseconds / 10)
    measured = [row[1] for row in table.rows if row[1] is not None and isinstance(row[1], Value)]
    assert [v.source for v in measured][:4] == ["measured"] * 4
    assert "no such hardware was run" in table.notes[0]


def test_operations_of_ltv() -> None:
    params = ltv.Parameters.named("ltv-test", "a test")
    records = list(aes.scheme(params, level=1, rounds=1))
    assert [r.case for r in records] == [f"ltv, {name}" for name in aes.SCHEME]
    assert all(r.seconds > 0 and r.level == 1 and r.extra["insecure"] == "a test" for r in records)
    assert records[1].extra["bytes"] == params.key_bytes(2)
    assert all("papers_seconds" not in r.extra for r in records)
    assert aes.scheme_beside_the_paper(records) == []
    with pytest.raises(LevelError):
        list(aes.scheme(params, level=3))
    printed = Record("aes", "ltv, switch", "p", "windows", 0.01, extra={"papers_seconds": {"FPGA": 0.089}})
    (table,) = aes.scheme_beside_the_paper([printed])
    assert table.rows[0][2] == Value(89.0, "ms", "paper")


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match='no case "x": take one of product, slots'):
        list(aes.compare(CASE, ["x"]))
    for bad in (aes.AesCase(rounds=0), aes.AesCase(threads=()), aes.AesCase(threads=(0,)), aes.AesCase(index=21)):
        with pytest.raises(ParameterError):
            bad.check()
    assert main(["bench", "aes", "--set", "ltv-test"]) != 0  # without a reason
    assert main(["bench", "aes", "--set", "ltv-test", "--case", "slots", "--insecure", "a test"]) != 0
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
    with pytest.raises(ParameterError, match="repeat"):
        _native.kernels.ring_product(255, primes, rows * 0, rows * 0, 1, 0)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "aes", "--case", "slots", "--budget", "0.01", "--json"]) == 0
    assert "2,048 slots of GF(2^16)" in capsys.readouterr().out
    arguments = ["--set", "ltv-test", "--insecure", "a test", "--threads", "1", "--rounds", "1", "--json"]
    assert main(["bench", "aes", *arguments]) == 0
    shown = capsys.readouterr()
    assert [json.loads(line)["case"] for line in shown.out.splitlines()][-1] == "ltv, decrypt"
    assert "broken" in shown.err
