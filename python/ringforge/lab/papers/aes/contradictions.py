# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the paper disagrees with itself or leaves a gap, and what is done here; figures from the models."""

from __future__ import annotations

from . import cycles, times
from .figures import (
    ADDERS,
    AES_MINUTES,
    BLOCK_MS,
    CRT_MS,
    DEGREE,
    INNER_CYCLES,
    KEY_GB,
    LEVEL_CYCLES,
    MULTIPLY_COMPUTE_MS,
    MULTIPLY_MS,
    PRODUCT_CYCLES,
    PRODUCT_US,
    REDUCTION_MS,
    RELINEARISE_IO_MS,
    RELINEARISE_MS,
    RELINEARISE_NTT_MS,
    SCALING_CYCLES,
    SLOTS,
    WINDOWS,
)


def _cycles() -> list[str]:
    one = cycles.microseconds(PRODUCT_CYCLES)
    whole = cycles.product_cycles()
    paired = cycles.transform_cycles(2 * ADDERS)
    return [
        (
            f"{PRODUCT_CYCLES:,} cycles and {PRODUCT_US} us are said of the same product. At 250 MHz the cycles are "
            f"{one:.2f} us, and three times as many {cycles.TRANSFORMS * one:.2f}: {PRODUCT_CYCLES:,} is one of the "
            "three transforms of a product. Every later number takes it so."
        ),
        (
            f"A product's inner product and scaling, {INNER_CYCLES:,} + {SCALING_CYCLES:,} cycles, are in the sentence "
            f"about {PRODUCT_US} us and not in the number: with them it is {whole:,} cycles, "
            f"{cycles.microseconds(whole):.2f} us."
        ),
        (
            f"{PRODUCT_CYCLES:,} = {cycles.LEVELS} * {cycles.level_share()}: {LEVEL_CYCLES} cycles of multiplications "
            f"and {cycles.sums_of_level()} of sums a level. {cycles.POINTS:,} sums and differences in "
            f"{cycles.sums_of_level()} cycles are {cycles.sum_results()} a cycle, and there are {ADDERS} adders with "
            f"{ADDERS} subtractors: with these a transform is {paired:,} cycles. The printed formula has "
            f"{cycles.sum_cycles():,} for sums alone, as if each unit pair gave one result."
        ),
        (
            f"Two ports of 64 memories are 128 accesses a cycle. A pass that reads and writes {cycles.POINTS:,} words "
            f"takes {cycles.access_cycles():,} cycles, so that {cycles.sums_of_level()} cannot be had of these "
            "memories at all, whatever the adders."
        ),
        (
            f"At level 2 the formula gives {cycles.formula_cycles(2)} cycles, the text {LEVEL_CYCLES}. The text is "
            f"right: only 16 of 64 memories hold operands, {cycles.readable(2)} of them in four cycles, "
            f"{cycles.port_cycles(2)} cycles. From level 3 on formula and ports agree."
        ),
    ]


def _times() -> list[str]:
    shortest = min(times.accounts()[:4], key=lambda a: a.seconds)
    longest = max(times.accounts()[:4], key=lambda a: a.seconds)
    return [
        (
            f'"41.152 us = {MULTIPLY_COMPUTE_MS} ms" is 41 * {PRODUCT_US} us: a multiplication sign was taken for a '
            f"point. From cycles it is {times.multiply_compute_ms():.3f} ms."
        ),
        (
            f"A relinearisation's parts, {CRT_MS} + {RELINEARISE_NTT_MS} + {RELINEARISE_IO_MS} ms, are "
            f"{times.printed_sum_ms()} ms and not {RELINEARISE_MS}. The missing "
            f"{RELINEARISE_MS - times.printed_sum_ms()} ms are explained by the keys, which are kept in the transform "
            f"domain at twice a ciphertext's size ({times.TRANSFORMED_KEY / 1e6:.1f} MB each): then transfers are "
            f"{times.fitting_io_ms():.0f} ms and the sum "
            f"{CRT_MS + RELINEARISE_NTT_MS + times.fitting_io_ms():.0f}. Both are tabled; nothing here is made to fit."
        ),
        (
            f"{RELINEARISE_IO_MS} ms are {WINDOWS} transfers of a ciphertext. The ciphertext itself and the twiddle "
            "factors, which the same sentence names, are left out."
        ),
        (
            f"Two transforms for each of {WINDOWS} windows transform every partial product back. The paper's own "
            "Algorithm 2 sums them in the transform domain and goes back once: "
            f"{times.accumulated_ntt_ms():.0f} ms for {times.relinearise_ntt_ms():.0f}, and "
            f"{times.accumulated_ms():.0f} ms in all with products and the keys' true size."
        ),
        (
            f"{AES_MINUTES} minutes of AES, {BLOCK_MS} ms a block, are less than the paper's own parts: these give "
            f"{shortest.seconds / 60:.1f} to {longest.seconds / 60:.1f} minutes, {shortest.block_ms:.0f} to "
            f"{longest.block_ms:.0f} ms, by which relinearisation and whether products are reduced modulo Phi."
        ),
        (
            f"Round keys are encrypted bits, {times.ROUND_KEYS} * {times.STATE_BITS} ciphertexts: "
            f"{times.round_key_bytes(False) / 1e9:.1f} GB at the top level, which neither the account of memory nor "
            "that of time has. Encrypted at the levels where they are used they are "
            f"{times.round_key_bytes(True) / 1e9:.1f} GB, and none is switched on the way."
        ),
        (
            f"A product of {MULTIPLY_MS} ms is not reduced modulo Phi; that is {REDUCTION_MS} ms more, twice the "
            "product. The comparison with CPU and GPU takes the shorter one."
        ),
    ]


def _scheme() -> list[str]:
    return [
        (
            "The ring is written as X^N + 1, which has no slots modulo 2, and then batches "
            f"{SLOTS:,} of them. Of all odd indices only 65,535 has degree {DEGREE:,}; its 2 has order 16, and it has "
            f"exactly {SLOTS:,} slots. It is taken here."
        ),
        (
            '"Multiplication and addition of ciphertexts correspond to XOR and AND" is the wrong way round; w^N is '
            '"mod p", without the 1; the twiddle factor of Figure 1 is printed as w^16484 and is w^16384; 192 "out of '
            '25" multipliers are of 256.'
        ),
        (
            f"{KEY_GB} GB of keys are said of the software with windows of one bit. With 16 bits the top level has "
            f"{times.key_bytes(41) / 1e9:.2f} GB in the transform domain, all {40} levels together "
            f"{times.all_key_bytes() / 1e9:.1f} GB."
        ),
        (
            "LTV at these parameters is broken: a modulus this large beside ternary secrets is overstretched NTRU, and "
            "falls to subfield and sublattice attacks found after the paper. The scheme is rebuilt to be measured, and "
            "is refused unless a reason is given."
        ),
        (
            "Tables 1 to 4, Algorithms 1 to 4 and Figure 1 are not in our copy: device utilisation and the times of "
            "CPU and GPU are known only by the factors in the text."
        ),
    ]


def contradictions() -> list[str]:
    """One sentence or more for each: what is wrong, what is done here."""
    return [*_cycles(), *_times(), *_scheme()]
