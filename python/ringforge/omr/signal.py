# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private signals: encryptions of zero that only their receiver can tell from random words.

A receiver has a :class:`SignalSecret`, senders its :class:`SignalKey`, the board :class:`Signals`. How signals are
made, and what an error is: `ringforge/circuits/omr_signal.hpp`; why errors stay in range:
:mod:`ringforge.omr.failure`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import TestSeed
from ringforge.errors import FormatError, MismatchError, ShapeError
from ringforge.omr.sets import Set
from ringforge.secrecy import Secret

__all__ = ["SCREEN_TRIALS", "SignalKey", "SignalSecret", "Signals", "degenerate", "screen_limit"]

native = _native.omr

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

#: Bytes of the seed of a key, and of a secret.
SEED_BYTES = 32


@cache
def _parameters(log_n: int, t: int, clues: int, weight: int, deviation: float, discrete: bool) -> object:
    return native.SignalParameters.make(log_n, t, clues, weight, deviation, discrete)


def parameters(s: Set) -> _native.omr.SignalParameters:
    """What the native signals are made with."""
    made = _parameters(s.n.bit_length() - 1, s.t, s.clues, s.weight, s.deviation, s.sampler == "discrete")
    assert isinstance(made, native.SignalParameters)
    return made


def require_same(a: Set, b: Set, what: str) -> None:
    """Refuses objects of two parameter sets.

    Raises:
        MismatchError: they differ in more than names and reasons.
    """
    if a.hash != b.hash:
        raise MismatchError(f"{what}: one is of set {a.name}, the other of set {b.name}: take those of one set")


@dataclass(frozen=True, eq=False)
class Signals:
    """Signals of one set.

    Attributes:
        set: theirs.
        a: uint32[count, n], below t.
        b: uint32[count, clues], below t.
    """

    set: Set
    a: Words
    b: Words

    def __len__(self) -> int:
        return len(self.a)

    def pack(self, threads: int = 1) -> Bytes:
        """As they travel: uint8[count, set.signal_bytes]."""
        return np.asarray(native.pack_signals(parameters(self.set), self.a, self.b, threads))

    @classmethod
    def unpack(cls, data: bytes | Bytes, s: Set, threads: int = 1) -> Signals:
        """From packed ones, one after the other, or as rows.

        Raises:
            FormatError: not whole signals, or a word that is not below t; the message says which.
        """
        rows = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        if rows.ndim == 1:
            if rows.size % s.signal_bytes:
                raise FormatError(f"{rows.size} bytes are no signals of {s.signal_bytes} bytes: something is cut off")
            rows = rows.reshape(-1, s.signal_bytes)
        if rows.dtype != np.uint8 or rows.ndim != 2:
            raise ShapeError(f"packed signals are uint8 rows, not {rows.dtype} of shape {rows.shape}")
        a, b = native.unpack_signals(parameters(s), np.ascontiguousarray(rows), threads)
        return cls(s, a, b)


@dataclass(frozen=True, eq=False)
class SignalKey:
    """What signals for a receiver are made with: 32 bytes of seed and n words.

    Attributes:
        set: the parameters.
        seed: from which the first half of the key is expanded.
        b: uint32[n], the second half.
    """

    set: Set
    seed: bytes
    b: Words

    def __post_init__(self) -> None:
        object.__setattr__(self, "_key", native.SignalKey(parameters(self.set), self.seed, self.b))

    def signals(self, count: int = 1, threads: int = 1, *, fixed_seed_for_tests: TestSeed | None = None) -> Signals:
        """New signals; no two have anything in common that others could see.

        Raises:
            ParameterError: more than 2^20 at once.
        """
        key: _native.omr.SignalKey = self._key  # type: ignore[attr-defined]
        return Signals(self.set, *key.signals(count, threads, fixed_seed_for_tests))

    def __reduce__(self) -> Any:
        return SignalKey.unpack, (self.pack(), self.set)

    def pack(self) -> bytes:
        """The seed, then the words at `set.word_bits` bits."""
        words = self.b.astype(np.uint64)
        bits = (words[:, None] >> np.arange(self.set.word_bits, dtype=np.uint64)) & np.uint64(1)
        return self.seed + np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()

    @classmethod
    def packed_bytes(cls, s: Set) -> int:
        """Bytes of a packed key."""
        return SEED_BYTES + (s.n * s.word_bits + 7) // 8

    @classmethod
    def unpack(cls, data: bytes, s: Set) -> SignalKey:
        """The inverse of `pack`.

        Raises:
            FormatError: another length, words that are not below t.
        """
        if len(data) != cls.packed_bytes(s):
            raise FormatError(f"a key of signals has {cls.packed_bytes(s)} bytes, not {len(data)}")
        bits = np.unpackbits(np.frombuffer(data, np.uint8, offset=SEED_BYTES), bitorder="little")
        if bits[s.n * s.word_bits :].any():
            raise FormatError("padding after a key of signals is not zero")
        words = bits[: s.n * s.word_bits].reshape(s.n, s.word_bits) @ (1 << np.arange(s.word_bits, dtype=np.uint64))
        return cls(s, data[:SEED_BYTES], words.astype(np.uint32))


class SignalSecret(Secret):
    """A receiver's secret, which finds its signals: 32 bytes, from which the public key follows too."""

    saved_by = "ReceiverSecret.save writes it to a file"

    def __init__(self, s: Set, data: bytes) -> None:
        """From its 32 bytes.

        Raises:
            FormatError: not 32 bytes.
        """
        self.set = s
        self._secret = native.SignalSecret.from_bytes(parameters(s), data)

    @classmethod
    def make(cls, s: Set, *, fixed_seed_for_tests: TestSeed | None = None) -> SignalSecret:
        """A new one, of the system's randomness."""
        return cls(s, native.SignalSecret(parameters(s), fixed_seed_for_tests).secret_bytes())

    def secret_bytes(self) -> bytes:
        """The secret itself."""
        return bytes(self._secret.secret_bytes())

    def coefficients(self) -> npt.NDArray[np.int64]:
        """The secret polynomial: int64[n] of -1, 0, 1, `set.weight` of them not 0."""
        return np.asarray(self._secret.coefficients())

    def public(self) -> SignalKey:
        """The key for senders."""
        key = self._secret.key()
        return SignalKey(self.set, bytes(key.seed), np.asarray(key.b()))

    def errors(self, signals: Signals, threads: int = 1) -> npt.NDArray[np.int32]:
        """int32[count, clues]: a s - b in (-t/2, t/2); small for signals of this receiver, uniform for others.

        The slots that a detector's affine transform gives hold the same numbers modulo t.

        Raises:
            MismatchError: signals of another set.
        """
        require_same(self.set, signals.set, "signals and secret")
        return np.asarray(self._secret.errors(signals.a, signals.b, threads))

    def pertinent(self, signals: Signals, threads: int = 1) -> npt.NDArray[np.bool_]:
        """bool[count]: which signals are in range, as a detector finds them.

        Raises:
            MismatchError: signals of another set.
        """
        return np.asarray((np.abs(self.errors(signals, threads)) <= self.set.range).all(axis=1))

    def __repr__(self) -> str:
        return f"SignalSecret({self.set.name}, ...)"


# ---- degenerate signals --------------------------------------------------------------------------

#: Random secrets that each signal is tried with.
SCREEN_TRIALS = 4096

#: log2 of the probability that a sound signal is refused, at most.
SCREEN_REFUSAL = -60


def screen_limit(s: Set, trials: int = SCREEN_TRIALS) -> int:
    """How many of `trials` random secrets must take a signal for theirs before it is refused.

    A sound signal looks uniform to all but its receiver: any T of the secrets take it with p^T, p = ((2 range + 1) /
    t)^clues, since their rows are linearly independent. At least T of M do with at most C(M, T) p^T; the limit is the
    least T for which that is below 2^-60. For range 49 it is 4 of 4,096, with 2^-60.2.
    """
    log_p = s.clues * math.log2((2 * s.range + 1) / s.t)
    for limit in range(1, trials + 1):
        if math.log2(math.comb(trials, limit)) + limit * log_p < SCREEN_REFUSAL:
            return limit
    return trials + 1


def degenerate(
    signals: Signals, threads: int = 1, *, fixed_seed_for_tests: TestSeed | None = None
) -> npt.NDArray[np.bool_]:
    """Which signals a board must refuse: those that many receivers would take for theirs.

    The signal (0, 0) is in range for everybody, as are others near it, those with few coefficients, and multiples of
    small ones. No list of such forms is complete; instead each signal is tried with 4,096 random secrets, new in every
    call, which no poster knows. One that a share p of all receivers would take stays with Pr(Binomial(4096, p) < limit)
    (:func:`screen_limit`): beyond p = 2^-8 with less than 2^-13, and whatever a poster chooses, a signal that it posts
    is taken by a given receiver, whose address it does not use, with at most 2^-11
    (:func:`ringforge.omr.failure.screened_hit`).

    Returns:
        bool[count].
    """
    s, limit = signals.set, screen_limit(signals.set)
    hits = native.count_hits(
        parameters(s), signals.a, signals.b, s.range, SCREEN_TRIALS, threads, fixed_seed_for_tests, limit
    )
    return np.asarray(hits) >= limit
