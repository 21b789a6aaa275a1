# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an accelerator leaves to the processor in AES: counts are the circuits', times add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ringforge import ltv
from ringforge.aes.ltv_engine import LEVELS
from ringforge.aes.sbox import cipher
from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.lab.bench.aes_host import PARTS, HostCase, ciphertext, counts, run, tables
from tests.answers import result_of

SET = "ltv-test-aes"


def _params() -> ltv.Parameters:
    return ltv.Parameters.named(SET, insecure="tests")


def test_counts_are_those_of_the_circuits() -> None:
    found, circuits = counts(), [step.box.counts() for step in cipher("encrypt").rounds]
    assert sum(found["digits"].values()) == 2880
    assert sum(found["reduction"].values()) == 2 * 2880
    assert sum(found["switch"].values()) == 16 * sum(c.switches_by_prime for c in circuits)
    assert set(found["digits"]) == set(range(LEVELS))
    assert found["addition"][LEVELS] > 0


def test_ciphertexts_of_any_level() -> None:
    context, rng = ltv.Context(_params()), np.random.default_rng(1)
    c = ciphertext(context, 7, rng)
    assert (c.level, c.limbs) == (7, context.params.limbs(7))
    above = ciphertext(context, 7, rng, above=True)
    assert ltv.Evaluator(context).mod_switch(above).limbs == c.limbs


def test_records_and_tables() -> None:
    records = list(run(HostCase(_params(), (0, 20, 39), (1,), 1, 1e-4)))
    assert len(records) == 3 * len(PARTS) + 1
    whole = records[-1]
    assert whole.case == "host"
    assert whole.seconds == pytest.approx(sum(whole.extra["parts_cpu"].values()))
    assert whole.extra["counts"]["digits"] == 2880
    (made,) = tables(records)
    assert made.columns[1:4] == ("41 primes", "21 primes", "2 primes")
    assert [row[0] for row in made.rows] == [*PARTS, "all"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "aes", "--host", "--set", SET, "--insecure", "tests", "--threads", "1", "--budget", "0.01"]
    assert main([*arguments, "--json", "--save", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "broken" in shown.err
    assert result_of(shown.out.splitlines()[-1])["case"] == "host"
    assert len(list(tmp_path.glob("aes-host-*.jsonl"))) == 1
    assert main([*arguments, "--case", "slots"]) != 0


def test_refusals() -> None:
    for wrong in (
        HostCase(ltv.Parameters.named("ltv-test", insecure="tests")),
        HostCase(_params(), levels=(0, 1)),
        HostCase(_params(), threads=()),
        HostCase(_params(), rounds=0),
    ):
        with pytest.raises(ParameterError):
            next(run(wrong))
