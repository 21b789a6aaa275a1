# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random calls against the plain library: equal, or refused with a sentence of ours; none silent, none foreign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

import numpy as np
import pytest

from tests.calls.frames import Frames
from tests.calls.matrices import Matrices
from tests.calls.outcome import Call, outcome
from tests.calls.rows import Rows
from tests.calls.vectors import Vectors


class Drawing(Protocol):
    """Draws calls of one kind."""

    def draw(self) -> Call:
        """Return the next call."""


#: Kinds of calls: calls in the ordinary test, in the long one, and the least part of those which the plain library
#: computes that must be computed here, too.
KINDS: dict[str, tuple[Callable[[np.random.Generator], Drawing], int, int, float]] = {
    "matrices": (Matrices, 250, 1100, 0.6),
    "frames": (Frames, 60, 500, 0.8),
    "vectors": (Vectors, 60, 350, 0.8),
    "rows": (Rows, 6, 50, 0.8),
}


def _held(name: str, count: int, seed: int) -> None:
    make, *_, least = KINDS[name]
    drawing = make(np.random.default_rng(seed))
    ends: Counter[str] = Counter()
    wrong, alone = [], []
    for _ in range(count):
        call = drawing.draw()
        end = outcome(call)
        if end in ("equal", "refused", "refused alone"):
            ends[end] += 1
            alone += [call.text] * (end == "refused alone")
        else:
            wrong.append(end)
    print(name, dict(ends), *alone, sep="\n  ")
    assert not wrong, "\n".join(wrong)
    assert ends["equal"] >= least * (ends["equal"] + ends["refused alone"]), alone
    assert ends["equal"] >= count / 8, "too few calls compute anything"


@pytest.mark.parametrize("name", KINDS)
def test_random_calls(name: str) -> None:
    _held(name, KINDS[name][1], 20261129)


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_two_thousand_random_calls(name: str) -> None:
    _held(name, KINDS[name][2], 1)
