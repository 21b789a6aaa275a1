# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rules: what scores mean, checked when they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.errors import FormatError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import Rule

GOOD: dict[str, Any] = {
    "kind": "classes", "inputs": 2, "outputs": 3, "classes": ["a", "b", "c"], "low": [0.0, 1.0], "high": [1.0, 1.0],
}  # fmt: skip


def test_files_say_the_same_again(tmp_path: Path) -> None:
    rule = Rule.of(**GOOD, link="softmax", program="ab" * 32)
    rule.save(tmp_path / "r.json")
    assert Rule.load(tmp_path / "r.json") == rule


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "values"}, "has classes"),
        ({"classes": None}, "lacks classes"),
        ({"outputs": 2}, "3 classes and 2 scores"),
        ({"classes": ["a", "b", "b"]}, "different labels"),
        ({"classes": ["a", "b", 1]}, "of one type"),
        ({"high": None}, "both ends"),
        ({"low": [0.0, 0.0, 0.0]}, "ranges of 3 and 2"),
        ({"low": [2.0, 1.0]}, "ends below"),
        ({"low": [float("nan"), 1.0]}, "low"),
        ({"link": "relu"}, "link"),
        ({"secret": 1}, "secret"),
        ({"version": 2}, "version"),
    ],
)
def test_rules_that_contradict_themselves(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "r.json"
    fields = {"format": "ringforge-matvec-rule", "version": 1, **GOOD, **change}
    path.write_text(json.dumps({k: v for k, v in fields.items() if v is not None}))
    with pytest.raises(FormatError, match=words) as caught:
        Rule.load(path)
    assert "r.json is not a rule" in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b'{"inputs": 1' + b"0" * 5000 + b"}", b"[" * 100_000])
def test_files_that_are_no_rules(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="not a rule"):
        Rule.load(path)
    path.write_bytes(b" " * (1 << 23))
    with pytest.raises(FormatError, match="at most"):
        Rule.load(path)


def test_ranges_are_mapped_and_back() -> None:
    rule = Rule.of(**GOOD)
    x = np.array([[0.0, 1.0], [0.25, 1.0]])
    np.testing.assert_array_equal(rule.encode(x), [[-1, 0], [-0.5, 0]])
    np.testing.assert_array_equal(rule.decode(rule.encode(x)), x)


def test_ranges_as_wide_as_doubles() -> None:
    rule = Rule.of(kind="values", inputs=1, outputs=1, low=[-1e308], high=[1.7e308])
    np.testing.assert_allclose(rule.encode([[-1e308], [1.7e308], [3.5e307]]), [[-1], [1], [0]], atol=1e-12)


def test_results_that_are_no_numbers_have_no_class() -> None:
    with pytest.raises(RingforgeValueError, match="finite"):
        Rule.of(**GOOD).labels([[float("nan"), 1.0, 0.0]])


def test_ties_go_to_the_first_class() -> None:
    rule = Rule.of(**GOOD)
    assert rule.labels([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]]).tolist() == ["a", "b"]
    binary = Rule.of(kind="classes", inputs=1, outputs=1, classes=[4, 9], link="sigmoid")
    assert binary.labels([[0.0], [1e-300], [-1.0]]).tolist() == [4, 9, 4]
    assert binary.uncertain([[0.1], [-0.3]], 0.2).tolist() == [True, False]
    assert rule.uncertain([[1.0, 0.7, 0.0], [1.0, 0.5, 0.0]], 0.2).tolist() == [True, False]


def test_probabilities_of_extreme_scores() -> None:
    binary = Rule.of(kind="classes", inputs=1, outputs=1, classes=[0, 1], link="sigmoid")
    p = binary.probabilities([[-800.0], [800.0], [-40.0]])
    assert p[0].tolist() == [1, 0]
    assert p[1].tolist() == [0, 1]
    assert p[2, 1] == pytest.approx(np.exp(-40), rel=1e-12)
    several = Rule.of(**{**GOOD, "link": "softmax"}).probabilities([[1e6, -1e6, 0.0]])
    assert several.tolist() == [[1, 0, 0]]
    none = Rule.of(**{**GOOD, "link": "one-vs-rest"}).probabilities([[-1e4, -1e4, -1e4]])
    np.testing.assert_allclose(none, 1 / 3)


def test_what_a_rule_does_not_have() -> None:
    with pytest.raises(ParameterError, match="use decision_function"):
        Rule.of(**GOOD).probabilities(np.zeros((1, 3)))
    with pytest.raises(ParameterError, match="has no classes"):
        Rule.of(kind="values", inputs=1, outputs=1).labels([[1.0]])
    with pytest.raises(ShapeError, match="rows of 3 results"):
        Rule.of(**GOOD).labels(np.zeros((1, 2)))
    with pytest.raises(ParameterError, match="no rule can say this"):
        Rule.of(kind="values", inputs=0, outputs=1)
