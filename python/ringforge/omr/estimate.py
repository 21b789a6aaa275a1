# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What searching bulletins takes: bytes, which hold anywhere, and seconds of the machine that estimates.

Times come from one rotation of a ciphertext of all limbs, measured now, and from what stages took in rotations where
that was measured for a whole bulletin.
"""

from __future__ import annotations

import time

import numpy as np

from ringforge._native import GaloisKeys
from ringforge._native.bfv import Client, Evaluator
from ringforge._native.omr import CompressionKeys
from ringforge.cli.console import seconds_text, size_text
from ringforge.errors import ParameterError
from ringforge.omr.answers import SearchEstimate
from ringforge.omr.compress import compression_context, compression_plan
from ringforge.omr.keys import bfv_context
from ringforge.omr.plan import Plan
from ringforge.omr.sets import Set
from ringforge.omr.signal import SignalKey
from ringforge.omr.steps import MODES


def key_bytes(s: Set) -> int:
    """Bytes of a detection key's polynomials: the key of signals, two rotation keys, one of products, compression."""
    p = bfv_context(s).params
    signal, switching = (
        sum(-(-(q - 1).bit_length() * p.degree // 8) for q in primes) for primes in (p.q, [*p.q, *p.p])
    )
    digits = -(-p.max_limbs // p.limbs_per_digit)
    return int(signal + 3 * digits * switching + CompressionKeys.saved_bytes(compression_context(s)))


def estimate(s: Set, bulletins: int, capacity: int, mode: str, threads: int = 1) -> SearchEstimate:
    """For so many bulletins, searched once for one receiver.

    Raises:
        ParameterError: no such mode, or more messages than a digest holds.
    """
    if mode not in MODES:
        raise ParameterError(f'"{mode[:32]}" is no mode of a digest: {" or ".join(MODES)}')
    digest = compression_plan(s, capacity, 1 + (s.payload_words if mode == "messages" else 0))
    fetched = s.entries * s.payload_bytes if mode == "positions" else 0
    plan = Plan.make(s)
    rotation = _rotation(s, threads)
    seconds = {stage: rotation * count for stage, count in _ROTATIONS.items()}
    seconds["compression"] *= digest.period / _PERIOD
    return SearchEstimate(
        set=s.name,
        bulletins=bulletins,
        entries=s.entries,
        capacity=capacity,
        mode=mode,
        text_bytes=s.text_bytes,
        address_bytes=SignalKey.packed_bytes(s) + 32,
        key_bytes=key_bytes(s),
        digest_bytes=digest.digest_bytes,
        sent=key_bytes(s),
        received=bulletins * (digest.digest_bytes + fetched),
        bulletin_bytes=s.entries * (s.signal_bytes + s.payload_bytes),
        diagonal_bytes=plan.diagonal_bytes,
        seconds_each=seconds,
        seconds=bulletins * sum(seconds.values()),
    )


#: What stages take in rotations of a ciphertext of all limbs; measured at N = 65,536, for digests of this period.
_PERIOD = 64
_ROTATIONS = {"affine": 120.0, "range check": 80.0, "compression": 23.0}


def _rotation(s: Set, threads: int) -> float:
    """Seconds of one rotation."""
    context = bfv_context(s)
    client = Client(context)
    secret = client.secret_key()
    keys = GaloisKeys()
    keys.insert(client.galois_key(secret, context.rotation_element(1), None, threads))
    c = client.encrypt(context.encode(np.zeros(1, np.int64)), secret)
    evaluator = Evaluator(context, threads)
    c = evaluator.rotate_rows(c, 1, keys)
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < 0.2:
        c = evaluator.rotate_rows(c, 1, keys)
        count += 1
    return (time.perf_counter() - start) / count


def rows(e: SearchEstimate) -> dict[str, str]:
    """For people."""
    stages = ", ".join(f"{stage} {seconds_text(took)}" for stage, took in e.seconds_each.items())
    return {
        "parameters": f"{e.set}: {e.entries:,} entries a bulletin, texts of up to {e.text_bytes} bytes",
        "receiver keeps": f"a secret; its address has {size_text(e.address_bytes)} of keys",
        "detection key": f"{size_text(e.key_bytes)}, sent once to each detector",
        "digest": f"{size_text(e.digest_bytes)} a bulletin, for up to {e.capacity} messages"
        + (" (positions only)" if e.mode == "positions" else ""),
        "received": size_text(e.received) + (" with all payloads of the bulletins" if e.mode == "positions" else ""),
        "on the board": f"{size_text(e.bulletin_bytes)} a bulletin, and {size_text(e.diagonal_bytes)} of encodings for "
        "all receivers together",
        "time": f"{seconds_text(sum(e.seconds_each.values()))} a bulletin: {stages}",
        "altogether": seconds_text(e.seconds),
    }
