# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameter sets of oblivious message retrieval: signals, payloads, and the BFV set that a bulletin is searched with.

>>> s = named("ringforge")
>>> s.entries, s.n, s.range, s.payload_words
(65536, 1024, 49, 252)
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace
from functools import cached_property

from ringforge.errors import ParameterError

__all__ = ["SAMPLERS", "Set", "named", "names"]

#: Samplers of errors. "rounded": a continuous Gaussian, rounded to integers, as the code of SophOMR takes it.
#: "discrete": the integer x with a probability proportional to exp(-x^2 / (2 deviation^2)).
SAMPLERS = ("rounded", "discrete")

#: Bytes that a sealed box adds to a text, and those of the text's length before it.
SEAL_BYTES, LENGTH_BYTES = 48, 2


@dataclass(frozen=True)
class Set:
    """A parameter set: everything that sender, board, detector and receiver must agree upon.

    Attributes:
        name: as in :func:`names`.
        log_n: log2 of N, the entries of a bulletin and the degree of the BFV ring.
        t: the plaintext modulus of BFV and the modulus of signals, a prime that is 1 modulo 2N.
        n: degree of the ring of signals, a power of two.
        clues: coefficients of the second half of a signal; all must be in range.
        weight: non-zero coefficients, each 1 or -1, of the secrets of receivers and of signals.
        deviation: of the Gaussian of errors, before it is made discrete.
        sampler: how it is made discrete, one of :data:`SAMPLERS`.
        range: errors from -range to range are found.
        payload_bytes: of every entry, sealed and padded.
        babies: baby steps of the affine transform.
        bfv: name of the BFV parameter set.
        security: bits of signals and keys of signals, :func:`ringforge.omr.failure.security`, rounded down.
        insecure: why a set below 128 bits is used; empty for others.
    """

    name: str
    log_n: int
    t: int
    n: int
    weight: int
    deviation: float
    sampler: str
    range: int
    payload_bytes: int
    babies: int
    bfv: str
    security: int
    clues: int = 2
    insecure: str = ""

    def __post_init__(self) -> None:
        def need(condition: bool, what: str) -> None:
            if not condition:
                raise ParameterError(f"OMR parameter set {self.name}: {what}")

        need(8 <= self.log_n <= 16, f"log2 N is 8 to 16, not {self.log_n}")
        need(16 <= self.n <= 1 << 12 and self.n & (self.n - 1) == 0, f"n = {self.n} is no power of two in 16 ... 4096")
        need(2 * self.n <= self.entries // 2, f"period 2n = {2 * self.n} does not fit in a row of N/2 slots")
        need(1 << 16 < self.t < 1 << 20, f"the modulus {self.t} is outside 2^16 ... 2^20")
        need(self.t % (2 * self.entries) == 1, f"the modulus {self.t} is not 1 modulo 2N")
        need(1 <= self.clues <= 8, f"1 to 8 clues, not {self.clues}")
        need(1 <= self.weight <= min(self.n, 2047), f"weight {self.weight} is outside 1 ... n")
        need(0.1 <= self.deviation <= 8, f"deviation {self.deviation:g} is outside 0.1 ... 8")
        need(self.sampler in SAMPLERS, f'unknown sampler "{self.sampler}": take one of {", ".join(SAMPLERS)}')
        need(1 <= self.range < self.t // 4, f"range {self.range} is outside 1 ... t/4")
        need(SEAL_BYTES + LENGTH_BYTES < self.payload_bytes <= 1 << 16, f"payloads of {self.payload_bytes} bytes")
        need(1 <= self.babies <= self.n, f"{self.babies} baby steps for {self.n} diagonals")

    @property
    def entries(self) -> int:
        """N: entries of a bulletin."""
        return 1 << self.log_n

    @property
    def pair_bits(self) -> int:
        """Bits of a payload that two of its words hold, 33 ... 39."""
        return (self.t * self.t).bit_length() - 1

    @property
    def payload_words(self) -> int:
        """Words modulo t of a payload."""
        return 2 * -(-8 * self.payload_bytes // self.pair_bits)

    @property
    def text_bytes(self) -> int:
        """The longest text that a payload takes."""
        return self.payload_bytes - SEAL_BYTES - LENGTH_BYTES

    @property
    def word_bits(self) -> int:
        """Bits of a packed residue."""
        return self.t.bit_length()

    @property
    def signal_bytes(self) -> int:
        """Bytes of a packed signal: n + clues residues."""
        return ((self.n + self.clues) * self.word_bits + 7) // 8

    @property
    def secure(self) -> bool:
        """At least 128 bits."""
        return self.security >= 128

    @cached_property
    def hash(self) -> bytes:
        """SHA-256 of what the parties must agree upon: all but names of sets, verdicts and reasons."""
        words = (self.log_n, self.t, self.n, self.clues, self.weight, SAMPLERS.index(self.sampler), self.range)
        data = struct.pack("<7Qd2Q", *words, self.deviation, self.payload_bytes, self.babies)
        return hashlib.sha256(b"ringforge-omr-1" + data + self.bfv.encode()).digest()


_T = 786_433

_SETS = (
    Set("paper", 16, _T, 1024, 80, 0.5, "rounded", 39, 612, 46, "omr-24", 114),
    Set("ringforge", 16, _T, 1024, 134, 0.44, "discrete", 49, 612, 46, "omr-24", 130),
    # Everything at a sixteenth: no security.
    Set("test", 12, _T, 128, 16, 0.5, "discrete", 49, 160, 16, "omr-test", 20),
)


def names() -> list[str]:
    """Names of the shipped sets."""
    return [s.name for s in _SETS]


def named(name: str, insecure: str = "") -> Set:
    """A shipped set by name.

    Sets below 128 bits of security are refused unless `insecure` states why one may be used.

    Raises:
        ParameterError: unknown name (the message lists the names), or an insecure set without a reason.
    """
    for s in _SETS:
        if s.name != name:
            continue
        if s.secure:
            return s
        if not insecure:
            raise ParameterError(
                f'OMR parameter set "{name}" has less than 128 bits of security: take "ringforge", or state with '
                "insecure why it may be used"
            )
        return replace(s, insecure=insecure)
    raise ParameterError(f'unknown OMR parameter set "{name}": take one of {", ".join(names())}')
