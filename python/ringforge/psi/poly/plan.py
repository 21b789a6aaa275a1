# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What client and server of the polynomial protocol agree on, and what follows for an element.

The PRF output F of an element has 64 uniform bytes, which are used apart from each other:

    F[0:12]   bins: 32 bits for each of three hash functions
    F[12:32]  residues: 32 bits for each
    F[32:64]  key of the label's seal
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from ringforge import _native
from ringforge.errors import ShapeError
from ringforge.programs import Frozen, Prime
from ringforge.psi.hashing import U32, Bytes, PrfHash

#: Hash functions: bins that an element may be in.
HASHES = 3

_OUTPUT_BYTES = 64
_FIRST_FELT = 4 * HASHES

_Small = Annotated[int, Field(ge=0, le=4096)]


class PlanFields(Frozen):
    """The constructor fields of the native plan (`ringforge/circuits/psi_poly.hpp` says what they mean)."""

    algorithm: Literal["poly"] = "poly"
    log_n: Annotated[int, Field(ge=10, le=15)]
    t: Annotated[int, Field(ge=3, lt=1 << 30)]
    q: Annotated[list[Prime], Field(min_length=1, max_length=8)]
    p: Annotated[list[Prime], Field(min_length=1, max_length=1)]
    sources: Annotated[list[_Small], Field(min_length=1, max_length=4096)]
    degree: _Small
    felts: Annotated[int, Field(ge=1, le=5)]
    columns: _Small
    bundles: _Small
    label_words: _Small = 0
    plain_limbs: Annotated[int, Field(ge=1, le=8)]
    reply_bits: Annotated[int, Field(ge=2, le=63)]
    reply_drop: Annotated[int, Field(ge=0, le=63)]
    insecure: Annotated[str, Field(max_length=256)] = ""

    @property
    def bins(self) -> int:
        """Bins of a query; any number."""
        return self.columns * ((1 << self.log_n) // self.felts)

    def native(self) -> Any:
        """The native plan.

        Raises:
            ParameterError: the fields do not go together, protect less than they must, or leave no room for noise.
        """
        return _native.psi_poly.Plan(**self.model_dump(exclude={"algorithm"}))


def outputs(prf: npt.ArrayLike) -> Bytes:
    """PRF outputs as a contiguous (n, 64) array of bytes.

    Raises:
        ShapeError: another shape or type.
    """
    array = np.asarray(prf)
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != _OUTPUT_BYTES:
        raise ShapeError(f"PRF outputs of shape {array.shape} and type {array.dtype}; (n, 64) of uint8 is needed")
    return np.ascontiguousarray(array)


def places(plan: Any, prf: Bytes) -> U32:
    """Bins (n, 3) of elements, by their outputs (n, 64): three different ones, all triples alike."""
    words = np.ascontiguousarray(prf[:, :_FIRST_FELT]).view("<u4")
    first, second, third = (_scaled(words[:, i], plan.bins - i) for i in range(HASHES))
    second += second >= first
    for known in (np.minimum(first, second), np.maximum(first, second)):
        third += third >= known
    return np.ascontiguousarray(np.stack([first, second, third], axis=1))


def felts(plan: Any, prf: Bytes) -> U32:
    """Residues (n, felts) below t."""
    words = np.ascontiguousarray(prf[:, _FIRST_FELT : _FIRST_FELT + 4 * plan.felts]).view("<u4")
    return _scaled(words, plan.t)


def fill(plan: Any, values: U32, bins: npt.NDArray[np.integer], random: bytes) -> U32:
    """The argument (bins, felts) of a query: residues (n, felts) in their bins (n,), all different; random ones in the
    others.

    Args:
        random: 4 bytes for each residue of the query.
    """
    out = _scaled(np.frombuffer(random, "<u4").reshape(plan.bins, plan.felts), plan.t)
    out[bins] = values
    return out


def _scaled(words: npt.NDArray[Any], t: int) -> U32:
    """Uniform words of 32 bits as residues: none comes with more than ceil(2^32/t)/2^32."""
    out: U32 = ((words.astype(np.uint64) * np.uint64(t)) >> np.uint64(32)).astype(np.uint32)
    return out


def seal(rows: Bytes, prf: Bytes, nonce: bytes) -> Bytes:
    """Label rows (n, L) xor a key stream of each element and the table's nonce: opens what it sealed."""
    zeros = np.zeros(len(rows), dtype=np.uint8)
    return PrfHash(b"", 0, HASHES, 1, 8, nonce).seal(rows, prf, zeros, zeros.astype(np.uint16))


def to_words(plan: Any, rows: Bytes) -> U32:
    """Sealed label rows (n, L) as words (n, label_words * felts) of `plan.word_bits` bits, lowest bits first.

    Raises:
        ShapeError: the labels are longer than the plan has room for.
    """
    count, bits = plan.label_words * plan.felts, plan.word_bits
    if rows.shape[1] > plan.label_bytes:
        raise ShapeError(f"labels of {rows.shape[1]} bytes, the plan has room for {plan.label_bytes}")
    out = np.zeros((len(rows), count), dtype=np.uint32)
    padded = np.zeros((rows.shape[1] + 8, len(rows)), dtype=np.uint64)
    padded[: rows.shape[1]] = rows.T
    for j in range(count):
        byte, shift = divmod(j * bits, 8)
        if byte >= rows.shape[1]:
            break
        word = sum(padded[byte + i] << np.uint64(8 * i) for i in range(5))
        out[:, j] = (word >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
    return out


def from_words(plan: Any, words: U32, length: int) -> Bytes:
    """Label rows (n, length) of words (n, label_words * felts)."""
    bits = np.arange(plan.word_bits, dtype=np.uint32)
    raw = ((words[:, :, None] >> bits) & np.uint32(1)).astype(np.uint8).reshape(len(words), -1)
    return np.ascontiguousarray(np.packbits(raw, axis=1, bitorder="little")[:, :length])


# ---- chances -------------------------------------------------------------------------------------

#: log2 of what each chance is at most: an element without a place in a query, a bin that is full when a table is
#: compiled, a false positive in a query, a wrong decryption.
FAILURE_LOG2 = -40.0

#: Elements per bin that a query is asked to take, at most: beyond, the search for places takes long.
_LOAD = 0.8


def placement_log2(elements: int, bins: int) -> float:
    """log2 of the probability, at most, that one query does not take all of so many elements.

    By Hall's theorem some j + 1 elements have all their choices in some j bins; three different choices lie there with
    C(j, 3)/C(n, 3), and j is at least 3. The sum over all elements and bins; a choice by 32 bits has any bin with at
    most 1/n + 2^-32.
    """
    if elements < HASHES + 1:
        return -math.inf
    if elements > bins:
        return 0.0
    logs = _log_factorials(3 * bins)
    j = np.arange(HASHES, elements)
    chosen = logs[elements] - logs[j + 1] - logs[elements - j - 1] + logs[bins] - logs[j] - logs[bins - j]
    inside = logs[j] - logs[j - 3] - (logs[bins] - logs[bins - 3]) + HASHES * math.log1p(bins / 2**32)
    total = float(np.logaddexp.reduce(chosen + (j + 1) * inside))
    return min(0.0, total / math.log(2))


@functools.lru_cache(maxsize=8)
def _log_factorials(most: int) -> npt.NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1, dtype=np.float64)))])


@functools.lru_cache(maxsize=256)
def room(bins: int) -> int:
    """Elements that one query takes with a failure of at most 2^FAILURE_LOG2."""
    low, high = min(HASHES, bins), max(HASHES, int(_LOAD * bins))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if placement_log2(middle, bins) <= FAILURE_LOG2 else (low, middle - 1)
    return low


@functools.lru_cache(maxsize=256)
def fullest(elements: int, bins: int) -> int:
    """Entries that no bin exceeds but with 2^FAILURE_LOG2: Chernoff's bound for so many independent elements, each in a
    bin with 3/n, and the sum over all bins."""
    if elements == 0:
        return 0
    p = min(1.0, HASHES * (1 / bins + 2.0**-32))
    budget = -FAILURE_LOG2 * math.log(2) + math.log(bins)

    def exceeds(load: int) -> bool:
        """Whether more than `load` come with more than the chance allowed."""
        x = (load + 1) / elements
        if x <= p:
            return True
        rest = (1 - x) * math.log((1 - x) / (1 - p)) if x < 1 else 0.0
        return elements * (x * math.log(x / p) + rest) < budget

    low, high = 0, elements
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if exceeds(middle) else (low, middle)
    return low
