# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What AES takes on workers, without keys and blocks (`ringforge explain aes`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ringforge._native import GaloisKeys
from ringforge._native.ltv import Context as LtvContext
from ringforge._native.ltv import Parameters as LtvParameters
from ringforge.aes import shards
from ringforge.aes.bgv_engine import BgvServer, EvaluationKeys
from ringforge.aes.byte_aes import halves
from ringforge.aes.byte_kernels import BytesKernel
from ringforge.aes.engine import BLOCK_BYTES, ROUNDS
from ringforge.aes.ltv_engine import LtvCodec, plan
from ringforge.aes.sbox import cipher
from ringforge.bgv import Client, Context
from ringforge.devices.scaling import Stage, Workload
from ringforge.devices.sharding import Cost
from ringforge.ltv import shards as ltv_shards
from ringforge.ltv.kernels import RelinearizeKernel
from ringforge.params import named_bgv

_DEFAULT = "bgv-aes"
_WHY = "what it takes is shown, nothing is encrypted"


def _kernels(context: Context) -> list[BytesKernel]:
    """Of each round: bytes are substituted by workers, rows and columns mixed by the driver."""
    client = Client(context)
    # Plans need a server, a server keys: these are of one prime, and serve nothing else.
    relin = client.relin_key(client.secret_key(), 1, 1)
    of, found = BgvServer(context, EvaluationKeys(relin, GaloisKeys())).plan("encrypt"), []
    for i in range(1, ROUNDS + 1):
        byte = halves(i, "encrypt").byte
        found.append(BytesKernel(context, byte, tuple(of.limbs(i)[: byte.stages + 1]), BLOCK_BYTES))
    return found


def _key_bytes(kernels: list[BytesKernel]) -> int:
    """Of a relinearisation key and the Galois keys of all circuits."""
    powers = {element for k in kernels for element in k.required_keys}
    gadget = kernels[0].context.gadget
    return (1 + len(powers)) * int(gadget.key_bytes(max(k.limbs[0] for k in kernels)))


def _first(kernels: list[BytesKernel], workers: int) -> list[Stage]:
    keys = _key_bytes(kernels)
    return [Stage("keys into the store", (Cost(stored=keys),) * workers, keys)]


def _stages(kernels: list[BytesKernel], workers: int) -> list[Stage]:
    kept = _key_bytes(kernels)
    return [
        Stage(
            f"bytes of round {i}",
            tuple(shards.shard_costs(k, shards.EACH * workers)),
            0,
            0.0,
            kept,
            _name(shards.substitute),
        )
        for i, k in enumerate(kernels, 1)
    ]


# ---- LTV -----------------------------------------------------------------------------------------


def _ltv_stages(context: LtvContext, workers: int) -> list[Stage]:
    """Products of a level, then its relinearisations; sums, carries and switches of the modulus, which are the
    driver's, are left out."""
    found, at = [], 0
    for step in cipher("encrypt").rounds:
        for level in plan(step.box):
            products = level.products(context, at, BLOCK_BYTES)
            costs = ltv_shards.product_costs(products, ltv_shards.EACH * workers)
            found.append(Stage(f"products of level {at}", tuple(costs), function=_name(ltv_shards.multiply)))
            at += 1
            relinearize = RelinearizeKernel(context, at, level.lag)
            costs = ltv_shards.relinearize_costs(relinearize, len(products.outputs), workers)
            key, function = ltv_shards.key_record_bytes(relinearize), _name(ltv_shards.relinearize)
            found.append(Stage(f"relinearisations to level {at}", tuple(costs), key, function=function))
    return found


def _ltv(name: str, size: int) -> Workload:
    codec = LtvCodec(LtvContext(LtvParameters.named(name, insecure=_WHY)))
    blocks = size or codec.slots
    what = f"AES-128 of {blocks:,} blocks, {codec.slots:,} in a state; set {name}, which is broken"
    states = -(-blocks // codec.slots)
    return Workload(what, partial(_ltv_stages, codec.context), lambda _: states)


def _name(function: Callable[..., object]) -> str:
    """As counts of pools have it."""
    return f"{function.__module__}.{function.__qualname__}"


def workload(name: str, size: int) -> Workload:
    """AES-128 of encrypted blocks; sums after the substitution of bytes, which are the driver's, are left out.

    Args:
        name: of a set of BGV or LTV; "" takes the default. size: blocks; 0 takes as many as one state has.

    Raises:
        ParameterError: there is no such set, or it does not bear AES.
    """
    from ringforge.binary_slots import BinarySlots

    if name in LtvParameters.names():
        return _ltv(name, size)
    params = named_bgv(name or _DEFAULT, _WHY)
    slots = BinarySlots(params.m).size
    kernels, blocks = _kernels(Context(params)), size or slots
    what = f"AES-128 of {blocks:,} blocks, {slots:,} in a state; set {name or _DEFAULT}"
    states = -(-blocks // slots)
    return Workload(what, partial(_stages, kernels), lambda _: states, partial(_first, kernels))
