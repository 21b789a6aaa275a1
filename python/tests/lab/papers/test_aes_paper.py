# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models of the paper on the LTV accelerator against its printed numbers, and the command."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from ringforge import _native
from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.lab.papers import aes as paper
from ringforge.lab.papers.aes import cycles, figures, times
from ringforge.lab.tables import Value
from tests.answers import printed, result_of


def test_multiplications_of_a_level_by_walking_it() -> None:
    for level in range(2, 17):
        operands = [i for i in range(cycles.POINTS) if i % (1 << level) > 1 << (level - 1)]
        assert cycles.multiplications(level) == len(operands)
        if level <= 6:
            banks = Counter(i % figures.BANKS for i in operands)
            assert len(set(banks.values())) == 1  # all memories in use are used alike
            assert cycles.readable(level) == len(banks) * 2 * 4
    assert [cycles.readable(m) for m in range(2, 7)] == [128, 192, 224, 240, 248]
    assert [cycles.together(m) for m in range(7, 10)] == [252, 254, 256]


def test_levels_take_the_printed_cycles() -> None:
    assert [cycles.formula_cycles(m) for m in range(2, 17)] == [275] + 14 * [figures.LEVEL_CYCLES]
    assert [cycles.port_cycles(m) for m in range(2, 17)] == 15 * [figures.LEVEL_CYCLES]
    assert [cycles.sum_cycles(1 << t) for t in (6, 7, 8)] == [16_384, 8_192, 4_096]


def test_a_transform_and_a_product() -> None:
    assert figures.PRODUCT_CYCLES == 16 * (531 + 264)
    assert (cycles.level_share(), cycles.sums_of_level(), cycles.sum_results()) == (795, 264, 256)
    assert cycles.transform_cycles(128) == 15 * 531 + 8_192 == 16_157
    assert cycles.product_cycles() == 3 * 12_720 + 2 * 1_039
    assert cycles.microseconds(3 * figures.PRODUCT_CYCLES) == pytest.approx(152.64)
    assert int(cycles.microseconds(3 * figures.PRODUCT_CYCLES)) == figures.PRODUCT_US
    assert cycles.microseconds(cycles.product_cycles()) == pytest.approx(160.95, abs=0.005)
    assert cycles.access_cycles() == 1_024


def test_times_follow_from_parts() -> None:
    assert times.PRIME_BITS == 31
    assert 5.2055 < times.CIPHERTEXT / 1e6 < 5.2065
    assert times.transfer_ms(times.CIPHERTEXT) == pytest.approx(figures.TRANSFER_MS, abs=0.005)
    assert times.multiply_io_ms() == pytest.approx(figures.MULTIPLY_IO_MS, abs=0.005)
    assert times.multiply_io_ms() / 41 * 1e3 == pytest.approx(figures.RESIDUE_IO_US, abs=0.5)
    assert times.multiply_compute_ms() == pytest.approx(figures.MULTIPLY_COMPUTE_MS, abs=0.01)
    assert times.multiply_ms() == pytest.approx(figures.MULTIPLY_MS, abs=0.005)
    assert 2 * times.multiply_ms() == pytest.approx(figures.REDUCTION_MS, abs=0.05)
    assert times.windows(41) == figures.WINDOWS
    assert times.windows(1) == 2


def test_relinearisation_has_three_accounts() -> None:
    assert times.printed_sum_ms() == 472
    assert times.relinearise_ntt_ms() == pytest.approx(333.8, abs=0.05)
    assert times.fitting_io_ms() == pytest.approx(105.4, abs=0.05)
    # The printed parts with these transfers are the printed total, within the rounding of 0.65 ms.
    assert 89 + 331 + times.fitting_io_ms() == pytest.approx(figures.RELINEARISE_MS, abs=1)
    assert times.accumulated_ntt_ms() == pytest.approx(169, abs=0.05)
    assert times.inner_ms() == pytest.approx(13.6, abs=0.05)
    assert times.key_io_ms() == pytest.approx(107.5, abs=0.05)
    assert times.accumulated_ms() == pytest.approx(379, abs=0.5)


def test_keys() -> None:
    assert times.TRANSFORMED_KEY == 10_747_904
    assert times.key_bytes(41) == pytest.approx(0.86e9, rel=0.005)
    assert times.all_key_bytes() == pytest.approx(12.2e9, rel=0.005)


def test_aes_account() -> None:
    assert figures.RELINEARISATIONS == figures.SBOXES * figures.RELINEARISATIONS_SBOX
    assert (figures.PRODUCTS / figures.SBOXES, figures.SWITCHES / figures.SBOXES) == (36, 38)
    minutes = [a.seconds / 60 for a in times.accounts()]
    assert minutes[:4] == pytest.approx([17.59, 18.50, 16.29, 17.21], abs=0.02)
    assert times.accounts()[0].block_ms == pytest.approx(515, abs=0.5)
    assert 14.975 < figures.BLOCK_MS * figures.SLOTS / 60e3 < 14.985


def test_our_circuit_has_the_papers_counts() -> None:
    (table,) = paper.tables(("circuit",))
    compared = 0
    for row in table.rows:
        numbers = [cell.number for cell in row[1:] if isinstance(cell, Value)]
        if row[1] is not None:
            assert len(set(numbers)) == 1, row[0]
            compared += 1
    assert compared == 8
    sources = [row[2].source for row in table.rows if isinstance(row[2], Value)]
    assert sources == ["derived", *["model"] * 9]


def test_round_keys() -> None:
    assert times.word_bytes(41) == 32_768 * 41 * 4
    assert times.round_key_bytes(leveled=False) == pytest.approx(7.6e9, rel=0.005)
    assert times.round_key_bytes(leveled=True) == pytest.approx(3.9e9, rel=0.007)
    (table,) = paper.tables(("round-keys",))
    *rounds, whole = table.rows
    for column, total in zip((3, 4), whole[3:], strict=True):
        cells = [row[column] for row in rounds]
        assert isinstance(total, Value)
        assert sum(c.number for c in cells if isinstance(c, Value)) == pytest.approx(1e3 * total.number)
    assert [row[2].number for row in rounds if isinstance(row[2], Value)] == list(range(41, 0, -4))


def test_primes_of_the_paper() -> None:
    """1,530 primes of 31 bits are 1 modulo 65,536, of which 41 make 1,270.5 bits."""
    assert len(_native.kernels.primes_below(31, 1_530, 65_536)) == 1_530
    with pytest.raises(ParameterError):
        _native.kernels.primes_below(31, 1_531, 65_536)
    (table,) = paper.tables(("parameters",))
    (bits,) = (row[2] for row in table.rows if row[0] == "log2 q")
    assert isinstance(bits, Value)
    assert bits.number == pytest.approx(1_270.5, abs=0.05)


def test_every_number_has_a_source() -> None:
    for table in paper.tables():
        for row in table.rows:
            numbers = row[1:-1] if table.title == "Times of primitives" else row[1:]
            assert all(cell is None or isinstance(cell, Value) for cell in numbers)
            assert all(c.source in ("paper", "model", "derived") for c in row if isinstance(c, Value))
    (printed,) = paper.tables(("times",))
    assert [c.source for row in printed.rows for c in (row[1],) if isinstance(c, Value)].count("paper") == 9


def test_sentences_state_the_checked_numbers() -> None:
    sentences = paper.contradictions()
    assert len(sentences) == len(set(sentences)) >= 14
    together = " ".join(sentences)
    for part in ("50.88", "152.64", "160.95", "531 cycles", "256 a cycle", "16,157", "1,024 cycles", "275"):
        assert part in together
    for part in ("472 ms and not 526", "54 ms", "10.7 MB", "105 ms", "sum 525", "169 ms for 334", "12.2 GB"):
        assert part in together
    assert "16.3 to 18.5 minutes" in together
    assert "7.6 GB at the top level" in together


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "aes"]) == 0
    text = printed(capsys)
    for title in (
        "Parameters",
        "Cycles of",
        "A transform",
        "Times of",
        "Relinearisation",
        "Evaluation keys",
        "Counts of AES-128",
        "Encrypted round keys",
        "AES-128 of 2,048 blocks",
    ):
        assert title in text
    assert re.search(r"^ +1\. ", text, re.MULTILINE)
    assert main(["reproduce", "aes", "--table", "keys", "--json"]) == 0
    document = result_of(capsys.readouterr().out)
    assert [t["title"] for t in document["tables"]] == ["Evaluation keys"]
    assert document["contradictions"] == []
    assert main(["reproduce", "aes", "--table", "7"]) != 0


def test_unknown_table_is_refused() -> None:
    with pytest.raises(ParameterError, match='no table "V": take one of parameters'):
        paper.tables(("V",))
