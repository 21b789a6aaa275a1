# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Decisions of one-vs-one classifiers: each pair of classes has a score, positive for the second of the two."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: How scores decide, where neither one score for each class nor one for two does. "order": the largest names the class,
#: but the scores are not the estimator's `decision_function`. The others have a score for each pair of classes: "pairs"
#: and "votes" count the pairs that a class wins, the first of equals is predicted; "break-ties" adds a part below 1
#: that grows with the sum of scores. "pairs" shows the scores of pairs as `decision_function`.
Decision = Literal["order", "pairs", "votes", "break-ties"]


def pair_count(classes: int) -> int:
    """Number of pairs of classes."""
    return classes * (classes - 1) // 2


def pairs(classes: int) -> list[tuple[int, int]]:
    """All pairs of classes, in the order of their scores."""
    return [(i, j) for i in range(classes) for j in range(i + 1, classes)]


def votes(scores: Array, classes: int) -> Array:
    """How many pairs each class wins (k, classes)."""
    won = np.zeros((len(scores), classes))
    for score, (i, j) in zip(scores.T, pairs(classes), strict=True):
        won[:, i] += score < 0
        won[:, j] += score >= 0
    return won


def shown(scores: Array, classes: int) -> Array:
    """scikit-learn's `decision_function` for pairs of classes (k, classes): votes, and sums of scores below 1/3."""
    sums = np.zeros((len(scores), classes))
    won = np.zeros((len(scores), classes))
    for score, (i, j) in zip(scores.T, pairs(classes), strict=True):
        sums[:, i] -= score
        sums[:, j] += score
        won[:, i] += score <= 0
        won[:, j] += score > 0
    return np.asarray(won + sums / (3 * (np.abs(sums) + 1)))


def best(scores: Array, classes: int, decision: Decision) -> npt.NDArray[np.intp]:
    """The place of the predicted class of each row."""
    found = shown(scores, classes) if decision == "break-ties" else votes(scores, classes)
    return np.asarray(found.argmax(axis=1))


def uncertain(scores: Array, classes: int, decision: Decision, error: float) -> npt.NDArray[np.bool_]:
    """Rows whose class might be another if each score of a pair were off by up to `error`."""
    rows = np.arange(len(scores))
    winner = best(scores, classes, decision)
    sure, possible = votes(scores, classes), votes(scores, classes)
    close = np.abs(scores) <= error
    for score, doubt, (i, j) in zip(scores.T, close.T, pairs(classes), strict=True):
        loser, taker = (score >= 0), (score < 0)
        sure[:, i] -= doubt & taker
        sure[:, j] -= doubt & loser
        possible[:, i] += doubt & loser
        possible[:, j] += doubt & taker
    others = possible.copy()
    others[rows, winner] = -1
    certain = sure[rows, winner] > others.max(axis=1)
    if decision == "break-ties":
        # No vote may turn, and what is added to votes changes by at most a third of the change of a sum.
        order = np.sort(shown(scores, classes), axis=1)
        certain |= ~close.any(axis=1) & (order[:, -1] - order[:, -2] > 2 * (classes - 1) * error / 3)
    else:
        # Of equal votes the first class wins.
        before = np.arange(classes) < winner[:, None]
        certain |= (sure[rows, winner][:, None] >= others + before).all(axis=1)
    return np.asarray(~certain)
