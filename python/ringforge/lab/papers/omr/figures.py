# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Numbers as printed: the paper's Tables II to IV and text, and what SophOMR states of its own software.

Nothing here is computed, but for the units.
"""

from __future__ import annotations

from dataclasses import dataclass

# Table II, its headers lost; N and the limbs behind log2 Q are those of SophOMR's code.
DEGREE = 65_536
PLAINTEXT_MODULUS = 786_433
LOG_Q, LOG_PQ, LOG_PRIME = 1_140, 1_740, 60
MOST_MESSAGES = 50
GIANTS, BABIES = 23, 46

# Signals, of SophOMR's code.
SIGNAL_DEGREE, CLUES, WEIGHT, DEVIATION, RANGE = 1_024, 2, 80, 0.5, 39

#: A rotation key, two of them, in MB; a plaintext of the matrix in Kb.
KEY_MB, KEYS_MB, PLAINTEXT_KB = 55, 110, 1_280
#: Bytes of a payload and words modulo t that hold it.
PAYLOAD_BYTES, PAYLOAD_WORDS = 612, 250


@dataclass(frozen=True, slots=True)
class Operator:
    """A row of Table IV.

    Attributes:
        name: as printed.
        dsp, bram, uram: of an Alveo U55C.
        milliseconds: of the accelerator.
        improvement: over SophOMR on one Xeon W-2295, threads not stated.
    """

    name: str
    dsp: int
    bram: int
    uram: int
    milliseconds: float
    improvement: float

    @property
    def cpu_ms(self) -> float:
        """What the improvement implies for the CPU; the table does not print it."""
        return self.milliseconds * self.improvement


CCADD = Operator("CCadd", 1, 0, 0, 0.80, 3.05)
PCMUL = Operator("PCmul", 897, 0, 0, 0.80, 19.13)
ROT = Operator("Rot", 5_123, 1_536, 313, 31.35, 6.81)
MATMUL = Operator("MatMul", 6_920, 1_536, 659, 2_150, 13.86)
OPERATORS = (CCADD, PCMUL, ROT, MATMUL)

#: The text: seconds of "2 MatMul operations, resulting in MatMul CPU time"; affine transform over range check.
CPU_SECONDS, AFFINE_OVER_RANGE = 29.8, 1.5
#: Shares of PCmul and Rot in the MatMuls: "more than 50 %", "more than 30 %".
PCMUL_SHARE, ROT_SHARE = 0.5, 0.3


@dataclass(frozen=True, slots=True)
class Design:
    """A row of Table III: P_coef of CCadd, PCmul and Rot, PCmul cores, butterflies of Rot."""

    order: int
    add: int
    multiply: int
    cores: int
    rotate: int
    butterflies: int


DESIGNS = (
    Design(1, 16, 16, 2, 16, 64),
    Design(2, 16, 8, 4, 16, 64),
    Design(3, 16, 4, 8, 16, 64),
    Design(4, 16, 2, 16, 16, 64),
)


@dataclass(frozen=True, slots=True)
class Sophomr:
    """What SophOMR states of its software for N = 65,536 entries and 50 messages, on a core of Sapphire Rapids.

    Attributes:
        one_thread, two_threads: wall seconds of affine transform, range check and compression.
        memory_gb: at most.
        digest_bytes, key_bytes: on the wire.
    """

    one_thread: tuple[float, float, float]
    two_threads: tuple[float, float, float]
    memory_gb: float
    digest_bytes: int
    key_bytes: int


SOPHOMR = Sophomr((67.9, 38.2, 46.1), (49.0, 23.0, 37.7), 2.23, 263_193, 227_000_000)
STAGES = ("affine", "range check", "compression")
