# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whole intersections at full size: 2^14 bins, 2^20 elements of the server, 2^13 of the client."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge.psi import Client, Server

pytestmark = pytest.mark.long


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_integers_of_32_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    server_set = rng.choice(1 << 32, 1 << 20, replace=False)
    asked = np.unique(
        np.concatenate([rng.choice(server_set, 1 << 12, replace=False), rng.integers(0, 1 << 32, 1 << 12)])
    )
    server = Server.build(server_set.tolist(), mode="direct", bits=32, log_bins=14, threads=2)
    client = Client(server.info, asked.tolist(), threads=2)
    session = server.open(client.keys())
    while (request := client.next_request()) is not None:
        client.accept(server.answer(session, request))
    result = client.result()
    assert set(result.matches) == set(server_set.tolist()) & set(asked.tolist())
    assert result.anomalies == 0
