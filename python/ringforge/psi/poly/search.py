# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Chooses the plan of a table: ring, residues, powers that the client sends, sub-bins.

All that holds is exact: sizes and noise by the native plan, chances by `ringforge.psi.poly.plan`. Only seconds are
estimates, by weights measured on one thread of an AMD EPYC (Zen 4, AVX-512 IFMA), so that every machine finds the same
plan; `ringforge.psi.poly.pace` says how long such a second is here. The PRF's are those of the kernels in use.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ringforge import _native
from ringforge.errors import ParameterError
from ringforge.psi.hashing import size_class
from ringforge.psi.poly.plan import FAILURE_LOG2, HASHES, PlanFields, fullest, room
from ringforge.psi.poly.table import shapes

#: Bytes of a padded label, at most: one more than the label has.
MAX_LABEL = 4096

Objective = Literal["balanced", "bytes", "seconds"]

#: Sources by the number of products in a row: sums of at most 2^depth of them, with repetitions, reach all powers up to
#: the number named. Bases of postage stamps, extremal ones (M. F. Challis, J. P. Robinson, "Some extremal postage stamp
#: bases", Journal of Integer Sequences 13, 2010) or found by a search; tests count again how far they reach.
BASES: dict[int, dict[int, tuple[int, ...]]] = {
    1: {
        2: (1,),
        4: (1, 2),
        8: (1, 3, 4),
        12: (1, 3, 5, 6),
        16: (1, 3, 5, 7, 8),
        20: (1, 3, 4, 8, 9, 11),
        26: (1, 3, 5, 7, 8, 17, 18),
        32: (1, 3, 5, 7, 9, 10, 21, 22),
        40: (1, 3, 4, 9, 11, 16, 17, 19, 20),
        46: (1, 2, 3, 7, 11, 15, 19, 21, 22, 24),
        54: (1, 2, 3, 7, 11, 15, 19, 23, 25, 26, 28),
        62: (1, 2, 3, 7, 11, 15, 19, 23, 27, 29, 30, 32),
    },
    2: {
        4: (1,),
        10: (1, 4),
        26: (1, 5, 8),
        44: (1, 3, 11, 18),
        70: (1, 3, 11, 15, 32),
        96: (1, 4, 11, 16, 29, 33),
        141: (1, 5, 8, 26, 30, 40, 49),
        197: (1, 5, 9, 10, 41, 44, 65, 71),
    },
    3: {
        8: (1,),
        28: (1, 5),
        89: (1, 9, 14),
        232: (1, 5, 29, 52),
    },
}

#: Bits of residues: t lies just above 2^bits.
_T_BITS = (16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0)
_MOST_FELTS = 5
_MOST_BITS = 50
_MOST_LOG_QP = {13: 214, 14: 430}
_MOST_COLUMNS = 8
_MOST_BUNDLES = 512

#: Bits of budget that a plan keeps.
_LEAST_BUDGET = 0.3

# Measured seconds at N = 8192. For each limb of Q: a product of ciphertexts with what comes with it. For each limb that
# plaintexts have: a plaintext multiplied by a power. A ciphertext of the reply, at the server. At the client: an
# encryption and each limb of it, a ciphertext of the reply, a digit times a limb of keys; an element in all else.
_PRODUCT, _ROW, _REPLY = 4.7e-4, 1.08e-5, 2.7e-4
_ENCRYPT, _ENCRYPT_LIMB, _DECODE, _KEY, _PLACE = 1.7e-4, 1.1e-4, 1.5e-4, 1.25e-4, 1.5e-6
# At N = 8192 too: an element put into a sub-bin, a plaintext made, a multiplication modulo t of an interpolation.
_INSERT, _ENCODE, _INTERPOLATE = 1.6e-7, 4e-5, 1.1e-9
#: One element in the PRF, at the server (its own set) and at the client (blinding and finalising), with the kernels of
#: avx512, and with libsodium, which every other set calls: bench/results/oprf-2026-11-23.txt.
_PRF_AVX512, _PRF_LIBSODIUM = (6.4e-6, 1.3e-5), (6.33e-5, 1.15e-4)
#: Bytes that cost as much as a second, where both count: 100 Mbit/s.
_BYTES_A_SECOND = 12.5e6


@dataclass(frozen=True)
class Estimate:
    """What a client's run costs. Bytes are exact; seconds are estimates for one thread.

    Args:
        queries: requests of the run. online_seconds: of the server, for all of them.
        build_seconds: of the table, without the PRF; prf_seconds: of the PRF of the server's set. client_seconds: of
            the client, keys and PRF too.
        key_bytes, request_bytes, reply_bytes: of one message. total_bytes: of the run, after the PRF's 64 bytes an
            element. table_bytes: of the table's arrays.
    """

    queries: int
    online_seconds: float
    build_seconds: float
    prf_seconds: float
    client_seconds: float
    key_bytes: int
    request_bytes: int
    reply_bytes: int
    total_bytes: int
    table_bytes: int

    def cost(self, objective: Objective) -> float:
        """What a search makes small."""
        seconds, size = self.online_seconds + self.client_seconds, self.total_bytes / _BYTES_A_SECOND
        weights = {"balanced": (1.0, 1.0), "bytes": (0.02, 1.0), "seconds": (1.0, 0.02)}[objective]
        return weights[0] * seconds + weights[1] * size


@dataclass(frozen=True)
class Suggestion:
    """A plan that suits, with its native form and its costs. `why` is one paragraph for people."""

    fields: PlanFields
    native: Any
    estimate: Estimate
    why: str


def estimate(fields: PlanFields, server_size: int, client_size: int, native: Any = None) -> Estimate:
    """Costs of a run with a table of `server_size` elements and a client of `client_size`.

    Args:
        native: the native plan, if it is there already.

    Raises:
        ParameterError: the plan is refused.
    """
    plan = fields.native() if native is None else native
    queries, evaluations = size_class(client_size, room(fields.bins)) if client_size else (0, 0)
    scale = (1 << fields.log_n) / 8192 * (fields.log_n / 13)
    polys = 1 + fields.label_words
    # Rows above the fullest sub-bin are left out: the fullest bin has a little more than the mean.
    mean = HASHES * server_size / fields.bins
    rows = min(fields.degree * fields.bundles, mean + 4 * math.sqrt(mean)) * polys * fields.columns
    products = fields.columns * (fields.degree - len(fields.sources))
    replies = int(plan.replies)
    online = scale * (products * len(fields.q) * _PRODUCT + rows * fields.plain_limbs * _ROW + replies * _REPLY)
    entries = HASHES * server_size
    slots = entries * fields.felts
    made = fields.columns * fields.bundles * fields.degree * polys
    build = (
        entries * _INSERT
        + slots * fields.degree * _INTERPOLATE * (0.5 + (2.5 + fields.label_words if fields.label_words else 0))
        + made * scale * (1 + fields.plain_limbs) * _ENCODE
    )
    prf_server, prf_client = _PRF_AVX512 if _native.kernels.active() == "avx512" else _PRF_LIBSODIUM
    sources = fields.columns * len(fields.sources)
    asking = sources * (_ENCRYPT + len(fields.q) * _ENCRYPT_LIMB) + replies * _DECODE
    limbs = len(fields.q) if len(fields.q) > 2 else fields.plain_limbs
    client = scale * (queries * asking + limbs * (limbs + 1) * _KEY) + evaluations * (prf_client + _PLACE)
    table_bytes = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes(fields).values())
    return Estimate(
        queries=queries,
        online_seconds=queries * online,
        build_seconds=build,
        prf_seconds=server_size * prf_server,
        client_seconds=client,
        key_bytes=int(plan.key_bytes),
        request_bytes=int(plan.request_bytes),
        reply_bytes=int(plan.reply_bytes),
        total_bytes=int(plan.key_bytes) + queries * (int(plan.request_bytes) + int(plan.reply_bytes)),
        table_bytes=table_bytes,
    )


@functools.lru_cache(maxsize=256)
def _prime_above(bits: float, step: int) -> int:
    """The smallest prime above 2^bits that is 1 modulo `step`."""
    x = (int(2.0**bits) // step + 1) * step + 1
    while not _is_prime(x):
        x += step
    return x


def _is_prime(x: int) -> bool:
    return x > 1 and all(x % d for d in range(2, math.isqrt(x) + 1))


@functools.lru_cache(maxsize=64)
def _primes(bits: int, count: int, step: int) -> tuple[int, ...]:
    return tuple(int(x) for x in _native.kernels.primes_below(bits, count, step))


def _source_sets(degree: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Depths, and the fewest sources that reach the degree by them."""
    for depth, bases in BASES.items():
        enough = [reach for reach in bases if reach >= degree]
        if enough:
            yield depth, tuple(s for s in bases[min(enough)] if s <= degree)


def _limbs(depth: int, log_n: int, t: int, degree: int) -> tuple[int, int]:
    """A first guess of how many primes Q needs, and of their bits."""
    total = {1: 95.5, 2: 132.0, 3: 166.0}[depth] - (depth + 2.2) * (20 - math.log2(t)) + math.log2(max(degree, 8) / 64)
    total += 1.6 * (log_n - 13) * (depth + 1)
    count = max(depth + 1, math.ceil(total / _MOST_BITS))
    return count, math.ceil(total / count)


def _fields(log_n: int, t: int, count: int, bits: int, plain: int, reply_bits: int, **shape: Any) -> PlanFields:
    step = 2 << log_n
    special = _primes(_MOST_BITS, 1, step)
    q = [p for p in _primes(bits, count + 1, step) if p not in special and p != t][:count]
    return PlanFields(
        log_n=log_n, t=t, q=q, p=list(special), plain_limbs=plain, reply_bits=reply_bits,
        reply_drop=max(0, log_n // 2 - 1), **shape,
    )  # fmt: skip


def _candidates(server: int, client: int, label_bytes: int) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    """Shapes that keep false positives and full bins rare: log2 N, t, depth, fields."""
    for log_n in (13, 14):
        for felts in range(2, _MOST_FELTS + 1):
            column = (1 << log_n) // felts
            columns = next((c for c in range(1, _MOST_COLUMNS) if room(c * column) >= client), _MOST_COLUMNS)
            load = max(1, fullest(server, columns * column))
            seen = set()
            for bundles in sorted({*range(1, 17), *(round(2 ** (i / 3)) for i in range(12, 28))}):
                degree = -(-load // bundles)
                # With labels another sub-bin takes an element that shares a residue.
                bundles = max(bundles, 2) if label_bytes else bundles
                if degree in seen or bundles > _MOST_BUNDLES:
                    continue
                seen.add(degree)
                for bits in _T_BITS:
                    t = _prime_above(bits, 2 << log_n)
                    each = room(columns * column)
                    chance = math.log2(each * bundles) + felts * math.log2(degree * (1 / t + 2.0**-32))
                    if chance > FAILURE_LOG2:
                        continue
                    words = -(-8 * label_bytes // (felts * (t.bit_length() - 1)))
                    for depth, sources in _source_sets(degree):
                        yield log_n, t, depth, {
                            "sources": list(sources), "degree": degree, "felts": felts, "columns": columns,
                            "bundles": bundles, "label_words": words,
                        }  # fmt: skip
                    break


def suggest(
    server_size: int, client_size: int, *, label_bytes: int = 0, objective: Objective = "balanced"
) -> Suggestion:
    """The cheapest plan of a table of up to `server_size` elements for clients of about `client_size`.

    Args:
        label_bytes: of a padded label, one more than the longest label has; 0: no labels.
        objective: what is made small: bytes, the server's seconds, or both as over 100 Mbit/s.

    Raises:
        ParameterError: a size out of range, or no plan holds such a table.
    """
    if not 1 <= server_size <= 1 << 32 or not 1 <= client_size <= 1 << 32:
        raise ParameterError(f"sets of {server_size} and {client_size} elements; each has 1 to 2^32")
    if label_bytes < 0:
        raise ParameterError(f"labels of {label_bytes} bytes: 0 are the least")
    if label_bytes > MAX_LABEL:
        raise ParameterError(
            f"labels of {label_bytes - 1:,} bytes: {MAX_LABEL - 1:,} are the most by polynomials; take look-ups for "
            "longer ones: algorithm ringforge (--algorithm ringforge)"
        )
    return _suggest(server_size, client_size, label_bytes, objective)


@functools.lru_cache(maxsize=64)
def _suggest(server_size: int, client_size: int, label_bytes: int, objective: Objective) -> Suggestion:
    ranked: list[tuple[float, int, int, PlanFields]] = []
    for log_n, t, depth, shape in _candidates(server_size, client_size, label_bytes):
        count, bits = _limbs(depth, log_n, t, shape["degree"])
        if bits > _MOST_BITS or count * bits + _MOST_BITS > _MOST_LOG_QP[log_n]:
            continue
        fields = _fields(log_n, t, count, bits, 2, t.bit_length() + log_n - 2, **shape)
        ranked.append((_rough(fields, server_size, client_size, objective), len(ranked), bits, fields))
    for _, _, bits, fields in sorted(ranked, key=lambda r: r[:2]):
        found = _fit(bits, fields)
        if found is not None:
            costs = estimate(found[0], server_size, client_size, found[1])
            return Suggestion(*found, costs, _why(*found, costs))
    raise ParameterError(
        f"no plan holds {server_size} elements with labels of {label_bytes} bytes for clients of {client_size}: "
        "shorten the labels, or split the table"
    )


class _Sizes:
    """The sizes of a plan that is not made yet."""

    def __init__(self, f: PlanFields) -> None:
        n, q = 1 << f.log_n, sum(x.bit_length() for x in f.q)
        limbs = len(f.q) if len(f.q) > 2 else f.plain_limbs
        self.replies = f.columns * f.bundles * (1 + f.label_words)
        self.key_bytes = limbs * (limbs + 1) * f.q[0].bit_length() * n // 8
        self.request_bytes = f.columns * len(f.sources) * q * n // 8
        self.reply_bytes = self.replies * (2 * f.reply_bits - f.reply_drop) * n // 8


def _rough(fields: PlanFields, server_size: int, client_size: int, objective: Objective) -> float:
    return estimate(fields, server_size, client_size, _Sizes(fields)).cost(objective)


def _fit(bits: int, fields: PlanFields) -> tuple[PlanFields, Any] | None:
    """The plan at the fewest bits of limbs, then of replies, that leave a budget."""
    shape = {k: getattr(fields, k) for k in ("sources", "degree", "felts", "columns", "bundles", "label_words")}

    def made(limb: int, plain: int, reply: int) -> tuple[PlanFields, Any] | None:
        try:
            f = _fields(fields.log_n, fields.t, len(fields.q), limb, plain, reply, **shape)
            plan = f.native()
        except ParameterError:
            return None
        return (f, plan) if plan.budget >= _LEAST_BUDGET else None

    # The reply's own rounding does not decide yet.
    wide, best = min(fields.reply_bits + 4, _MOST_BITS - fields.log_n - 1), None
    for limb in range(bits - 2, min(bits + 3, _MOST_BITS + 1)):
        for plain in range(2, len(fields.q) + 1):
            best = best or made(limb, plain, wide)
    if best is None:
        return None
    limb, plain = best[0].q[0].bit_length(), best[0].plain_limbs
    return next((x for reply in range(wide - 7, wide) if (x := made(limb, plain, reply)) is not None), best)


def _why(fields: PlanFields, plan: Any, costs: Estimate) -> str:
    return (
        f"N = 2^{fields.log_n}, t = {fields.t}, Q of {len(fields.q)} x {fields.q[0].bit_length()} bits: "
        f"{fields.bins} bins of {fields.bundles} x {fields.degree} elements, {fields.felts} residues each. The client "
        f"sends {len(fields.sources)} of {fields.degree} powers, the others are {plan.depth} products deep; "
        f"{plan.budget:.1f} bits of budget are left. {costs.total_bytes / 1e6:.2f} MB and about "
        f"{costs.online_seconds:.2g} s of the server for {costs.queries} queries"
    )
