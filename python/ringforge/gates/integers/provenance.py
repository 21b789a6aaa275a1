# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the noise of encrypted integers is, and where it comes from.

Ciphertexts are known by the first words of their masks: equal or complementary ones have the same number, known bits
have 0. A sum keeps the numbers of all ciphertexts whose noise it holds, element by element, so that operands which
share noise are found however they came about, and are refreshed before they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ringforge.gates import noise as noises
from ringforge.gates import sets, sums
from ringforge.gates.bits import Bits

Numbers = npt.NDArray[np.uint64]

_WORDS = 4
#: Spreads the elements of an array apart, 2^64 divided by the golden ratio.
_SPREAD = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Noise:
    """Of the bits of one array of integers.

    Attributes:
        variance: the largest of a bit, in squared units of M.
        sources: of sums, (*shape, k): numbers of the ciphertexts whose noise each element holds. None for fresh bits
            and those of gates, which depend on nothing but equal ciphertexts.
    """

    variance: float
    sources: Numbers | None = None

    @property
    def is_sum(self) -> bool:
        """Whether bits may depend on each other and on other ciphertexts."""
        return self.sources is not None

    def part(self, index: Any) -> Noise:
        """Of elements; the index takes leading axes."""
        return self if self.sources is None else Noise(self.variance, self.sources[(*index, slice(None))])


class Levels(NamedTuple):
    """Noise that operands are rounded up to.

    Attributes:
        fresh: of fresh bits.
        gate: of gates' outputs, a MUX's at most.
        most: of sums.
    """

    fresh: sums.PortNoise
    gate: sums.PortNoise
    most: sums.PortNoise


@lru_cache(maxsize=32)
def levels(set_name: str, method: str) -> Levels:
    """The levels of a set and a method of bootstrapping."""
    s = sets.named(set_name, "made for keys that there are already")
    fresh, gate = (noises.input_variance(s, kind, method) for kind in ("fresh", "mux"))
    most = sums.noisiest_sum(s, method)
    return Levels(sums.PortNoise(fresh), sums.PortNoise(max(fresh, gate)), sums.PortNoise(most, True))


def numbers(bits: Bits) -> Numbers:
    """A number for each ciphertext: the same for equal and complementary ones, 0 for known bits."""
    mask = np.uint64((1 << bits.params.log_q) - 1)
    words = bits.words[..., :_WORDS].astype(np.uint64)
    return np.minimum(_packed(words & mask), _packed((~words + np.uint64(1)) & mask))


def _packed(words: Numbers) -> Numbers:
    shifts = np.arange(_WORDS, dtype=np.uint64) * np.uint64(16)
    return np.asarray((words << shifts).sum(axis=-1, dtype=np.uint64))


def sources_of(bits: Bits, noise: Noise) -> Numbers:
    """Whose noise the elements hold, (*shape, k): of bits that are no sums, their own."""
    return numbers(bits) if noise.sources is None else noise.sources


def all_different(operands: Sequence[Bits], shape: tuple[int, ...]) -> bool:
    """Whether, in each of the computations of this shape, all bits of the operands are different and unknown."""
    rows = [numbers(b) for b in operands]
    spread = np.concatenate([np.broadcast_to(r, (*shape, r.shape[-1])) for r in rows], axis=-1)
    spread.sort(axis=-1)
    return not ((spread[..., 1:] == spread[..., :-1]).any() or (spread[..., :1] == 0).any())


def apart(a: Numbers, b: Numbers, shape: tuple[int, ...]) -> bool:
    """Whether no element of two operands, broadcast to this shape, shares a source."""
    return not np.intersect1d(_keys(a, shape), _keys(b, shape)).size


def _keys(found: Numbers, shape: tuple[int, ...]) -> Numbers:
    rows = np.broadcast_to(found, (*shape, found.shape[-1])).reshape(-1, found.shape[-1])
    lanes = np.arange(len(rows), dtype=np.uint64) * np.uint64(_SPREAD)
    return np.asarray(np.unique(rows ^ lanes[:, None]))


def joined(operands: Sequence[Numbers], shape: tuple[int, ...]) -> Numbers:
    """All of the operands' sources, element by element."""
    return np.concatenate([np.broadcast_to(n, (*shape, n.shape[-1])) for n in operands], axis=-1)
