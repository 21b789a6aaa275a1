# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The noise that docs/psi-algorithm.md derives, against measured replies. Balanced digits only; ten keys each.

A mean square over ten keys strays by about 10 %, since a key's own strays by 30 to 40 %: bounds are 0.6 and 1.6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge.psi import planner
from ringforge.psi.info import CutFields

KEYS = 10
FINE = CutFields(log_base=6, count=8, drop=2)


def plan(**fields: Any) -> Any:
    """32 bins of one row each; replies so long that the modulus switch adds nothing."""
    base = {"log_bins": 5, "log_reply": 32, "cell_bits": 11, "log_onehot": 0, "expansion": [FINE] * 11}
    chosen = planner.choose("direct", 1 << 20, 14, 0, 0, 3, 32, "ringforge")
    return chosen.model_copy(update={**base, "reconstruction": FINE, **fields}).native()


def measured_variance(made: Any) -> float:
    """Mean square of the reply's error modulo Q: an entry in every bin, half of them asked for."""
    rng = np.random.default_rng(7)
    cells = rng.integers(0, made.cells, made.bins).astype(np.uint32)
    asked = np.where(rng.integers(0, 2, made.bins) == 1, cells, (cells + 1) % made.cells).astype(np.uint32)
    psi = _native.psi
    table = psi.Table(made, np.arange(made.bins + 1, dtype=np.uint64), cells)
    squares = []
    for _ in range(KEYS):
        client = psi.ClientKey(made)
        keys = psi.SessionKeys(made, client.evaluation_keys())
        reply = psi.evaluate(keys, client.query(asked), table, 2)
        assert np.array_equal(client.decode(reply)[:, 0] == 1, asked == cells)
        squares.append(client.margins(reply)[1])
    return float(np.mean(squares)) / 4.0**made.log_t * float(made.modulus) ** 2


@pytest.mark.parametrize(
    "fields",
    [
        {"gadget": CutFields(log_base=14, count=2, drop=22)},
        {
            "gadget": CutFields(log_base=10, count=4, drop=10),
            "expansion": [CutFields(log_base=12, count=3, drop=14)] * 11,
        },
        {"gadget": CutFields(log_base=10, count=3, drop=20), "reconstruction": CutFields(log_base=22, count=2, drop=6)},
    ],
    ids=["two coarse digits", "bits left out of the expansion", "coarse reconstruction"],
)
def test_variance(fields: dict[str, Any]) -> None:
    made = plan(**fields)
    assert 0.6 < measured_variance(made) / made.variance(1) < 1.6


def test_one_digit_leaves_out_most_bits_and_the_rest_counts_for_ones_only() -> None:
    made = plan(gadget=CutFields(log_base=11, count=1, drop=39))
    assert 0.3 < measured_variance(made) / made.variance(1) < 0.8


@pytest.fixture(scope="module")
def dropped() -> tuple[Any, float]:
    """A plan whose reconstruction leaves out 18 bits, and its measured variance."""
    cut = CutFields(log_base=16, count=2, drop=18)
    made = plan(gadget=CutFields(log_base=10, count=3, drop=20), reconstruction=cut)
    return made, measured_variance(made)


def test_bits_left_out_of_the_reconstruction_meet_the_square_of_the_key(dropped: tuple[Any, float]) -> None:
    made, variance = dropped
    rebuilt = 4.0**made.reconstruction.drop / 12 * 8 / 9 * 2048**2
    rows = made.rgsw_bits * made.gadget.count * 2048 * (4.0**made.gadget.log_base + 2) / 12
    assert 0.6 < variance / (rows * rebuilt) < 1.6


def test_plan_knows_what_bits_left_out_of_the_reconstruction_cost(dropped: tuple[Any, float]) -> None:
    made, variance = dropped
    assert 0.6 < variance / made.variance(1) < 1.6
