# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whole intersections at full size: 2^14 bins, 2^20 elements of the server, 2^13 of the client."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ringforge import _native
from ringforge.psi import Client, Server, planner

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


def test_time_depends_neither_on_the_tables_size_nor_on_the_question() -> None:
    """Bins as full as with 2^12 to 2^22 elements in 2^14 bins, two questions; 8 bins, in random order, 100 rounds.

    Times are taken over their round's mean: the clock drifts by more than what is looked for.
    """
    psi, sizes, log_bins = _native.psi, (12, 14, 16, 18, 20, 22), 14
    fields = planner.choose("direct", 1 << 22, log_bins, 0, 0, 3, 32, "ringforge")
    plan = fields.model_copy(update={"log_bins": 3}).native()
    rng = np.random.default_rng(7)
    tables = []
    for size in sizes:
        fill = rng.poisson(3 * 2.0 ** (size - log_bins), plan.bins)
        cells = [np.unique(rng.integers(0, plan.cells, n)).astype(np.uint32) for n in fill]
        offsets = np.concatenate([[0], np.cumsum([len(c) for c in cells])]).astype(np.uint64)
        tables.append(psi.Table(plan, offsets, np.concatenate(cells)))
    client = psi.ClientKey(plan)
    keys = psi.SessionKeys(plan, client.evaluation_keys())
    random = rng.integers(0, plan.cells, plan.bins).astype(np.uint32)
    questions = [client.query(random), client.query(np.zeros(plan.bins, np.uint32))]
    seconds = np.zeros((100, len(sizes), len(questions)))
    for row in seconds:
        for at in rng.permutation(row.size):
            size, question = divmod(int(at), len(questions))
            start = time.process_time()
            psi.evaluate(keys, questions[question], tables[size], 1)
            row[size, question] = time.process_time() - start
    relative = seconds / seconds.mean(axis=(1, 2), keepdims=True)
    by_size = np.median(relative.transpose(1, 0, 2).reshape(len(sizes), -1), axis=1)
    by_question = np.median(relative.transpose(2, 0, 1).reshape(len(questions), -1), axis=1)
    print(f"by size {np.round(by_size, 4)}, by question {np.round(by_question, 4)}")
    assert by_size.max() / by_size.min() < 1.03
    assert by_question.max() / by_question.min() < 1.03
