# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the paper disagrees with itself or leaves a gap, and what is done here; figures from the models."""

from __future__ import annotations

from . import cost, sizes
from .figures import (
    BABIES,
    CPU_SECONDS,
    DESIGNS,
    GIANTS,
    KEY_MB,
    MATMUL,
    PCMUL,
    PCMUL_SHARE,
    PLAINTEXT_KB,
    ROT,
    ROT_SHARE,
    SIGNAL_DEGREE,
)

_MIB, _GIB = 2**20, 2**30


def shares(counts: cost.Counts) -> tuple[float, float, float]:
    """PCmul, Rot and CCadd in the CPU's time, as fractions."""
    times = cost.cpu_seconds(counts)
    return times[0] / sum(times), times[1] / sum(times), times[2] / sum(times)


def _times() -> list[str]:
    one, both = cost.matmul(), cost.affine()
    unshared, shared = shares(one), shares(both)
    whole = sum(cost.cpu_seconds(both))
    projected = 2 * CPU_SECONDS * 1e3 / cost.affine_ms()
    return [
        (
            f'"2 MatMul operations, resulting in MatMul CPU time {CPU_SECONDS} seconds" reads as both, but the '
            "speed-up "
            f"of {MATMUL.improvement} is {CPU_SECONDS} s over the {MATMUL.milliseconds / 1e3} s of one. By the times "
            f"of operations that Table IV implies both take {whole:.1f} s with shared baby rotations, "
            f"{whole / 2:.1f} s each: {CPU_SECONDS} s is one of two. For the whole affine transform the accelerator "
            f"would give {projected:.1f}, if it too shared them. Both are tabled here."
        ),
        (
            f'PCmul takes "more than {PCMUL_SHARE:.0%}" and Rot "more than {ROT_SHARE:.0%}" of the MatMuls: only so '
            f"with shared baby rotations ({shared[0]:.1%} and {shared[1]:.1%}); one MatMul alone is "
            f"{sum(cost.cpu_seconds(one)):.1f} s with {unshared[0]:.0%} and {unshared[1]:.0%}. Algorithm 1 is "
            "of one of them; method `paper` here shares the baby rotations, as SophOMR must."
        ),
        (
            "A speed-up over a Xeon W-2295 whose threads are not stated; the implied times of a product "
            f"({PCMUL.cpu_ms:.1f} ms) and a rotation ({ROT.cpu_ms:.0f} ms) stand beside ours by --measure."
        ),
        (
            f"The clock is not stated. A pass of 16 lanes over a ciphertext is {cost.elementwise_cycles():,} cycles, "
            f"which take {PCMUL.milliseconds} ms at {cost.least_clock_hz() / 1e6:.1f} MHz or more: 200 MHz, with a "
            "hundred cycles to start each limb."
        ),
        (
            f"Table IV's {MATMUL.milliseconds:,.0f} ms is Equation 4 with {BABIES - 1} baby rotations and {GIANTS} "
            "iterations, the first of which rotates nothing and still costs a rotation: "
            f"{cost.matmul_ms(*_best(), 2):,.1f} ms. Bounds of loops are lost in our copy of Algorithm 1; 46 baby "
            "rotations do not fit."
        ),
    ]


def _best() -> tuple[float, float, float]:
    return cost.design_ms(DESIGNS[0])


def _design() -> list[str]:
    transforms, elementwise = cost.rotation_cycles()
    return [
        (
            f"A plaintext of {PLAINTEXT_KB:,} Kb is a polynomial modulo t, but PCmul ({PCMUL.milliseconds} ms, "
            f"element-wise, no memory blocks) needs it as {cost.LIMBS} transformed limbs. Those take "
            f"{SIGNAL_DEGREE * sizes.PAPER.transformed / _GIB:.1f} GiB for {SIGNAL_DEGREE:,} diagonals, which fits the "
            f"card's memory; here {sizes.diagonals() / _MIB:.0f} MiB of words of 20 bits are kept and transformed when "
            "they are used, which on a CPU is less than reading them."
        ),
        (
            f"How many plaintexts the matrix buffers hold is lost, {BABIES} or {SIGNAL_DEGREE:,}: the count of memory "
            f"blocks fits {BABIES}, one giant step."
        ),
        (
            f"Operators were taken from SEAL, whose key switching has one special prime and a digit a limb: such a key "
            f"is {sizes.PER_LIMB.key / _MIB:.0f} MiB. {KEY_MB} MB and log2 PQ are {cost.DIGITS} digits of "
            f"{cost.SPECIAL} limbs and {cost.SPECIAL} special primes ({sizes.PAPER.key / _MIB:.1f} MiB). So is ours, "
            f"in {sizes.ours().limbs} + {sizes.ours().special} smaller primes."
        ),
        (
            "The transform is said to dominate key switching. With these lanes it does not: "
            f"{transforms / 1e6:.2f} M cycles of transforms stand beside {elementwise / 1e6:.2f} M of base conversion "
            f"and products with the key on 16 lanes; all of them one after the other are "
            f"{(transforms + elementwise) / cost.CLOCK_HZ * 1e3:.1f} of the {ROT.milliseconds} ms."
        ),
    ]


def _scope() -> list[str]:
    return [
        (
            "Range check, compression and decoding are outside of the accelerator and of the paper. Here they are part "
            "of the system; they take more than half of SophOMR's time."
        ),
        (
            "Data of Figures 2 to 4 are not in our copy; numbers that follow from the tables and the text are used, "
            "and are marked as derived."
        ),
        (
            "With the paper's signals a board of 65,536 has about 2^-10.6 false positives (two clues within 39), and "
            "50 messages are missed with 2^-28 (discrete Gaussian) or 2^-17.6 (rounded), which the paper does not say. "
            "Our set takes 49 and the discrete one; docs/omr-protocol.md derives both."
        ),
        (
            "A signal of zeros is in everybody's range, so that hostile senders can fill all digests. Our board "
            "refuses degenerate signals, and a row of ones in the digest counts what was found."
        ),
    ]


def contradictions() -> list[str]:
    """One sentence or more for each: what is wrong, what is done here."""
    return [*_times(), *_design(), *_scope()]
