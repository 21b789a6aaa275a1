# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES under BGV at the set that is meant for it: 2,048 slots, 128 bits of security."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge.aes import clear
from ringforge.aes.bgv_engine import BgvClient, BgvServer, EvaluationKeys
from ringforge.aes.byte_aes import substitution
from ringforge.aes.byte_plan import LEVELS_LEFT
from ringforge.aes.engine import ROUNDS
from ringforge.bgv import Client, Context, Parameters

LIMBS = 6


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(Parameters.named("bgv-aes"))


def test_an_s_box_of_2048_bytes(context: Context) -> None:
    maker = Client(context)
    key = maker.secret_key()
    client = BgvClient(context, key)
    server = BgvServer(context, EvaluationKeys.make(context, maker, key, 1, LIMBS))
    values = np.arange(client.slots).astype(np.uint8)
    c = maker.encrypt(client.column(values[:, None], 0), key, LIMBS)
    plan = server.plan_circuit(substitution(), [c])
    (out,) = server.compute(substitution(), [c])
    assert np.array_equal(client.decrypt_bytes(out, client.slots), clear.SBOX[values])
    assert out.noise.log_bound <= plan.noises[0].log_bound + 1e-6
    measured = maker.measure(out, key)[1]
    assert measured <= out.noise.log_bound


def test_the_set_has_room_for_aes_and_five_products(context: Context) -> None:
    side = BgvClient(context, Client(context).secret_key())
    assert context.params.secure
    for direction in ("encrypt", "decrypt"):
        plan = side.plan(direction)  # type: ignore[arg-type]
        assert len(plan.plan.limbs) == 1 + ROUNDS + LEVELS_LEFT
        assert all(budget >= 1 for budget in plan.plan.budgets)


@pytest.mark.long
@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
def test_2048_blocks(context: Context, direction: str) -> None:
    maker = Client(context)
    client = BgvClient(context, maker.secret_key(), 2)
    server = BgvServer(context, client.evaluation_keys(), 2)
    rng = np.random.default_rng(3)
    key, blocks = rng.bytes(16), rng.integers(0, 256, (client.slots, 16), dtype=np.uint8)
    state = client.encrypt_blocks(blocks, direction)  # type: ignore[arg-type]
    state = server.start(state, client.encrypt_round_key(0, key, direction))  # type: ignore[arg-type]
    for i in range(1, ROUNDS + 1):
        state = server.round(state, i, client.encrypt_round_key(i, key, direction))  # type: ignore[arg-type]
        assert client.measured_budget(state) >= server.predicted_budget(state)
    expected = clear.encrypt(key, blocks) if direction == "encrypt" else clear.decrypt(key, blocks)
    assert np.array_equal(client.decrypt_blocks(state), expected)
