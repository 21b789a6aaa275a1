# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: bytes of a round of AES, both ways, in the smallest set that has them."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native.bgv import Client, Context, Parameters
from ringforge.aes.bgv_engine import BgvClient
from ringforge.aes.byte_aes import halves
from ringforge.aes.byte_kernels import BytesKernel
from ringforge.aes.engine import BLOCK_BYTES, Direction
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import MissingKeyError, ShapeError


@functools.cache
def _world() -> tuple[Context, BgvClient, KeySet]:
    context = Context(Parameters.named("bgv-test", "conformance of devices"))
    client = BgvClient(context, Client(context).secret_key())
    keys = client.evaluation_keys()
    return context, client, KeySet(keys.galois, keys.relin)


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    assert kernel is BytesKernel
    return [_bytes(10, "encrypt", 3), _bytes(9, "decrypt", 2)]


def _bytes(i: int, direction: Direction, count: int) -> Case:
    context, client, keys = _world()
    plan = client.plan(direction)
    byte = halves(i, direction).byte
    kernel = BytesKernel(context, byte, tuple(plan.limbs(i)[: byte.stages + 1]), count)
    blocks = np.random.default_rng(23).integers(0, 256, (client.slots, BLOCK_BYTES), dtype=np.uint8)
    fresh = client.encrypt_blocks(blocks, direction).ciphertexts[:count]

    def reveal(results: list[Any]) -> npt.NDArray[np.float64]:
        return np.array([client.decrypt_bytes(c, client.slots) for c in results], np.float64)

    given = Given(keys, None, lambda: list(fresh), reveal)
    return Case(
        f"of round {i}, {direction}",
        kernel,
        given,
        None,
        lambda c: [c.limb(part, k) for part in range(c.size) for k in range(c.limbs)],
        lambda c: (c.limbs, c.key_id, c.noise.log_bound),
        refusals=[
            Refusal("an input too few", (ShapeError,), replace(given, inputs=lambda: list(fresh[1:]))),
            Refusal("no keys", (MissingKeyError,), replace(given, keys=KeySet())),
            Refusal("no Galois keys", (MissingKeyError,), replace(given, keys=KeySet(relin=keys.relin))),
        ],
    )
