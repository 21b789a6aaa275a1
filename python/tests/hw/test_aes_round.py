# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A round of AES on the 64K transform engine's small machines, end to end: the words of `cpu`, decrypted right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.aes.one_round import OneRound, words


@pytest.mark.long
@pytest.mark.parametrize("device", ["model:aes-small", "rtl:aes-small"])
def test_a_round_on_the_machine_is_that_of_cpu(device: str, tmp_path: Path) -> None:
    world = OneRound.make(tmp_path)
    state, report = world.on(device)
    assert report.device == device
    assert report.cycles is not None
    assert report.cycles > 0
    assert all(map(np.array_equal, words(state), words(world.on()[0])))
    assert world.right(state)
