# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_keys: order and contents of rows, cycles of a row, bursts outstanding, halts: keys_bench.sv."""

import pytest
from runner import run_bench


@pytest.mark.parametrize("pauses", [1, 0])
def test_psi_keys(pauses: int):
    # Without pauses a row of 2,048 takes 512 cycles; the published machine's 521.
    run_bench("keys_bench", {"Pauses": pauses}, __file__, build_args=["-Wno-UNUSEDPARAM", "-Wno-WIDTHTRUNC"])
