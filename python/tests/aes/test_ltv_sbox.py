# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The S-box under LTV in the ring of the real set: 2,048 slots, its last four levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ringforge import ltv
from ringforge.aes import clear
from ringforge.aes.ltv_engine import CircuitRunner, plan
from ringforge.aes.sbox import sbox
from ringforge.binary_slots import BinarySlots


@pytest.mark.long
def test_sbox_in_all_slots(tmp_path: Path) -> None:
    primes = ltv.Parameters.named("ltv-paper", insecure="tests of AES").q[:5]
    context = ltv.Context(ltv.Parameters(65_535, primes, insecure="tests of AES"))
    client, slots, box = ltv.Client(context), BinarySlots(65_535), sbox()
    secret, public = client.keys(2)
    keys = ltv.KeyDirectory(tmp_path, context)
    keys.write(client, secret, public, threads=2, lags={at: level.lag for at, level in enumerate(plan(box), 1)})
    values = np.random.default_rng(4).permutation(np.arange(2048) % 256).astype(np.uint8)
    bits = np.unpackbits(values[:, None], axis=1, bitorder="little").T
    inputs = [client.encrypt(slots.encode_bits(b), public, 0, 2) for b in bits]
    runner = CircuitRunner(keys, 2)
    (found,) = runner.run(box, [inputs], 0, None)
    place = list(found)
    rows = [[place.index(v) for v in s.terms] for s in box.outputs]
    outputs = runner.batch.sums(list(found.values()), rows, [s.constant for s in box.outputs])
    evaluator = ltv.Evaluator(context)
    result = [slots.decode_bits(client.decrypt(c, secret, 2)) for c in outputs]
    assert np.array_equal(np.packbits(np.array(result).T, axis=1, bitorder="little")[:, 0], clear.SBOX[values])
    for c in outputs:
        assert 0 < evaluator.budget(c) <= client.noise_budget(c, secret, 2)
