# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models of the paper on oblivious message retrieval against its printed numbers."""

from __future__ import annotations

import pytest

from ringforge.lab.papers.omr import contradictions, cost, figures, sizes
from ringforge.lab.papers.omr.contradictions import shares


def test_algorithm_1_counts() -> None:
    """Line by line: baby steps, a product for every diagonal, sums, giant steps."""
    diagonals, babies = figures.SIGNAL_DEGREE, figures.BABIES
    rotations, products, sums, steps = babies - 1, 0, 0, range(0, diagonals, babies)
    for i, first in enumerate(reversed(steps)):
        inner = len(range(first, min(first + babies, diagonals)))
        products += inner
        sums += inner - 1
        if i > 0:
            rotations += 1
            sums += 1
    assert len(steps) == figures.GIANTS
    assert cost.matmul() == cost.Counts(products, rotations, sums) == cost.Counts(1024, 67, 1023)
    assert cost.affine() == cost.Counts(2048, 89, 2046)
    assert cost.balanced_babies() == figures.BABIES


def test_limbs_and_keys_fit_the_printed_sizes() -> None:
    assert (cost.LIMBS, cost.SPECIAL) == (19, 10)
    assert sizes.PAPER.ciphertext / 2**20 == pytest.approx(17.8, abs=0.05)
    assert sizes.PAPER.key / 1e6 == pytest.approx(57.0, abs=0.05)
    # "55 MB", "110 MB": MiB, to the next one.
    assert -(-sizes.PAPER.key // 2**20) == figures.KEY_MB
    assert 2 * figures.KEY_MB == figures.KEYS_MB
    assert sizes.PER_LIMB.key / 2**20 == pytest.approx(356, abs=0.5)
    assert sizes.diagonal() * 8 == figures.PLAINTEXT_KB * 1024
    assert sizes.diagonals() == 160 * 2**20
    assert 1024 * sizes.PAPER.transformed == 9.5 * 2**30
    assert 1024 * sizes.ours().transformed == 12 * 2**30
    assert sizes.digest() < figures.SOPHOMR.digest_bytes
    assert sizes.detection_key() < 120e6


def test_equations_3_to_6_give_table_4() -> None:
    for design in figures.DESIGNS:
        assert cost.design_matmul_ms(design) == pytest.approx(2150.2)
    assert round(cost.design_matmul_ms(figures.DESIGNS[0])) == figures.MATMUL.milliseconds
    # 45 rotations one after the other; 22 iterations wait for theirs, and the model charges the 23rd as well.
    assert cost.matmul_ms(0.8, 31.35, 0.8, 2) == pytest.approx(45 * 31.35 + 23 * (31.35 + 0.80))
    # With slow products these limit an iteration.
    assert cost.iteration_ms(1, 10, 0.5, 46, 2) == 23.5
    assert cost.affine_ms() == pytest.approx(2890, abs=1)


def test_cpu_accounting() -> None:
    one, both = cost.cpu_seconds(cost.matmul()), cost.cpu_seconds(cost.affine())
    assert sum(one) == pytest.approx(32.5, abs=0.05)
    assert sum(both) == pytest.approx(55.3, abs=0.05)
    assert [round(100 * part, 1) for part in shares(cost.affine())] == [56.6, 34.3, 9.0]
    assert [round(100 * part) for part in shares(cost.matmul())] == [48, 44, 8]
    # Only the shares with shared baby rotations are what the text says.
    assert shares(cost.affine())[0] > figures.PCMUL_SHARE > shares(cost.matmul())[0]
    assert figures.CPU_SECONDS * 1e3 / figures.MATMUL.milliseconds == pytest.approx(
        figures.MATMUL.improvement, abs=0.005
    )


def test_clock_and_rotation() -> None:
    assert cost.elementwise_cycles() == 155_648
    assert cost.least_clock_hz() == pytest.approx(194.6e6, abs=0.1e6)
    transforms, elementwise = cost.rotation_cycles()
    assert transforms == (39 + 77) * 8192
    assert elementwise == (750 + 116) * 4096


def test_sentences_state_the_checked_numbers() -> None:
    sentences = contradictions()
    assert len(sentences) == len(set(sentences)) >= 12
    together = " ".join(sentences)
    for part in ("29.8 s over the 2.15 s", "55.3 s", "27.7 s each", "20.6", "56.6%", "194.6 MHz", "2,150.2"):
        assert part in together
    for part in ("9.5 GiB", "160 MiB", "356 MiB", "54.4 MiB", "0.95 M", "3.55 M", "2^-10.6", "2^-17.6"):
        assert part in together
