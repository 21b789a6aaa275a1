# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What AES on encrypted blocks takes: bytes and noise, which hold anywhere, and seconds of the machine that estimates.

Counts come from the circuits as they are planned. Seconds are counts times what one unit takes, measured now: under BGV
a transform within a product, under LTV a digit and prime of a relinearisation, in few primes of the set's ring.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.aes.answers import AesEstimate
from ringforge.aes.engine import BLOCK_BYTES, ROUNDS
from ringforge.aes.keys import Scheme, Shape
from ringforge.cli.console import seconds_text, size_text
from ringforge.errors import ParameterError

#: Seconds that a measurement takes at the least.
_SECONDS = 0.3

#: Primes of a product that is measured, and of the small set whose relinearisation is.
_BGV_LIMBS, _LTV_PRIMES = 4, 8


def estimate(scheme: Scheme, shape: Shape, insecure: str, blocks: int, threads: int = 1) -> AesEstimate:
    """For so many blocks.

    Raises:
        ParameterError: the set does not bear AES.
    """
    found = {"bgv": _bgv, "ltv": _ltv}.get(scheme.name)
    if found is None:
        raise ParameterError(f"nothing is known of what AES takes under {scheme.name}")
    return found(shape, insecure, blocks, threads)


def _measured(function: Callable[[], Any]) -> float:
    """Seconds of one call, the least of several."""
    function()
    least, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < _SECONDS:
        start = time.perf_counter()
        function()
        least = min(least, time.perf_counter() - start)
    return least


# ---- BGV -----------------------------------------------------------------------------------------


def _bgv(shape: Shape, insecure: str, blocks: int, threads: int) -> AesEstimate:
    from ringforge._native import GaloisKeys
    from ringforge.aes.bgv_engine import BgvServer, EvaluationKeys
    from ringforge.aes.byte_aes import round_circuit
    from ringforge.bgv import Client, Context, Evaluator
    from ringforge.params import named_bgv

    params = named_bgv(shape.set, insecure)
    context = Context(params)
    client = Client(context)
    key = client.secret_key()
    limbs = min(_BGV_LIMBS, params.max_limbs)
    relin = client.relin_key(key, limbs, threads)
    server = BgvServer(context, EvaluationKeys(relin, GaloisKeys()), threads)
    plan = server.plan("encrypt")
    c = client.encrypt(np.ones(1, np.uint8), key, limbs)
    evaluator = Evaluator(context, threads)
    with _native.counting() as did:
        evaluator.multiply(c, c, relin, 1)
    transforms = max(1, int(did.operations.ntt) + int(did.operations.intt))
    unit = _measured(lambda: evaluator.multiply(c, c, relin, 1)) / transforms
    # A plan is of one byte of sixteen.
    work = BLOCK_BYTES * int(sum(server.shares))
    counts = [round_circuit(i, "encrypt").counts() for i in range(1, ROUNDS + 1)]
    bits = [q.bit_length() for q in params.q]

    def ciphertexts(count: int, parts: int) -> int:
        return BLOCK_BYTES * params.degree * parts * sum(bits[:count]) // 8

    states = -(-blocks // shape.codec.slots)
    return AesEstimate(
        scheme="bgv",
        set=shape.set,
        slots=shape.codec.slots,
        blocks=blocks,
        key_bytes=sum(shape.key_files.values()),
        round_key_bytes=sum(ciphertexts(plan.key_limbs(i), 1) for i in range(ROUNDS + 1)),
        state_bytes=states * ciphertexts(plan.plan.start, 1),
        result_bytes=states * ciphertexts(plan.key_limbs(ROUNDS), 2),
        depth=sum(n.depth for n in counts),
        levels_left=plan.levels_left,
        counts={
            "products": sum(n.products for n in counts),
            "key switches": sum(n.key_switches for n in counts),
            "transforms": work,
        },
        budgets=[plan.budget(i) for i in range(ROUNDS + 1)],
        unit_seconds=unit,
        seconds=states * work * unit,
        seconds_each=work * unit / shape.codec.slots,
    )


# ---- LTV -----------------------------------------------------------------------------------------


def _ltv(shape: Shape, insecure: str, blocks: int, threads: int) -> AesEstimate:
    from ringforge import ltv
    from ringforge.aes.ltv_engine import LEVELS, LtvServer, plan
    from ringforge.aes.ltv_noise import budgets
    from ringforge.aes.sbox import cipher
    from ringforge.ltv.keys import KeyDirectory

    params = ltv.Parameters.named(shape.set, insecure=insecure)
    context = ltv.Context(params)
    with tempfile.TemporaryDirectory() as folder:
        shares = LtvServer(context, KeyDirectory(folder, context), threads).shares
        unit = _ltv_unit(params, Path(folder), threads)
    work = BLOCK_BYTES * sum(shares)
    rounds = cipher("encrypt").rounds
    levels = [level for step in rounds for level in plan(step.box)]
    word = 4 * params.degree
    states = -(-blocks // shape.codec.slots)
    n = shape.codec.ciphertexts
    return AesEstimate(
        scheme="ltv",
        set=shape.set,
        slots=shape.codec.slots,
        blocks=blocks,
        key_bytes=sum(params.key_bytes(i) for i in range(1, LEVELS + 1)),
        round_key_bytes=n * word * sum(params.limbs(LEVELS // ROUNDS * i) for i in range(ROUNDS + 1)),
        state_bytes=states * n * word * params.limbs(0),
        result_bytes=states * n * word * params.limbs(LEVELS),
        depth=LEVELS,
        levels_left=params.levels - LEVELS,
        counts={
            "products": BLOCK_BYTES * sum(len(level.products) for step in rounds for level in step.box.levels),
            "relinearisations": BLOCK_BYTES * sum(len(level.results) for level in levels),
        },
        budgets=budgets(params),
        unit_seconds=unit,
        seconds=states * work * unit,
        seconds_each=work * unit / shape.codec.slots,
    )


def _ltv_unit(params: Any, folder: Path, threads: int) -> float:
    """Seconds of one unit of `LtvServer.shares`: a relinearisation and what goes with it, in few primes."""
    from ringforge import ltv
    from ringforge.ltv.keys import KeyDirectory

    small = ltv.Parameters(
        params.m,
        params.q[:_LTV_PRIMES],
        insecure="measured, not used",
        drop=params.drop,
        gadget=params.gadget,
        window=params.window,
        ring=params.ring,
    )
    context = ltv.Context(small)
    client = ltv.Client(context)
    secret, public = client.keys(threads)
    keys = KeyDirectory(folder, context)
    keys.write(client, secret, public, [1], threads)
    relinearizer = ltv.Relinearizer(context, threads)
    keys.read_into(relinearizer, 1)
    batch = ltv.BatchEvaluator(context, threads, independent=True)
    c = [client.encrypt(np.ones(1, np.uint8), public, 0, threads) for _ in range(8)]

    def once() -> None:
        products = batch.products(c, [[k] for k in range(8)], [[(k, 7 - k), (k, k)] for k in range(8)], [[]] * 8)
        batch.mod_switch(relinearizer.relinearize(products))

    return _measured(once) / (8 * small.digits(1) * (small.limbs(0) + 20))


# ---- what is printed -----------------------------------------------------------------------------


def rows(e: AesEstimate) -> dict[str, str]:
    """For people."""
    return {
        "parameters": f"{e.set} ({e.scheme}), {e.slots:,} blocks at a time",
        "circuit": f"{e.depth} products in a row, {e.levels_left} are left; "
        + ", ".join(f"{count:,} {what}" for what, count in e.counts.items())
        + " for a full state",
        "noise budget": "after rounds 0 to 10, bits: " + ", ".join(f"{b:.0f}" for b in e.budgets),
        "made once": f"evaluation keys {size_text(e.key_bytes)}, encrypted round keys {size_text(e.round_key_bytes)}",
        "blocks": f"{e.blocks:,} encrypted: {size_text(e.state_bytes)}; the result {size_text(e.result_bytes)}",
        "as a stream": f"{size_text(BLOCK_BYTES * e.blocks)} of AES-CTR",
        "time": f"{seconds_text(e.seconds)} for all, {seconds_text(e.seconds_each)} a block when all slots are used",
    }
