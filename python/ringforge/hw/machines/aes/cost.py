# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What products and relinearisations cost on the aes machine, in cycles and in primitives of the FPGA, in closed form.

Cycles of an instruction are those of `timing`; a program's are those of the unit that is busiest, prime by prime, with
what comes before the first and after the last one. The replica runs programs instruction by instruction and is what
devices report; this is for the explorer.

>>> config = AesConfig.named("aes-fast")
>>> transform(config, 16), transform(config, 16, padded=True), multiplier_dsp(config)
(4128, 3872, 6)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from ringforge.hw.core.cards import Blocks, Card, block_ram
from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.aes.config import BUFFERS, KEYS, NARROW_WORDS, SETS, SLOTS, WORD_BYTES, AesConfig
from ringforge.hw.machines.aes.program import Instruction, Op
from ringforge.hw.machines.aes.timing import Timing

#: The card of the paper and of the configurations, VC709: what its Virtex-7 690T has.
CARD: Final = Resources(dsp=3600, bram36=1470, uram=0, lut=433_200, flip_flops=866_400)
#: DSP slices of a modular multiplication: Barrett on three slices with a product in 4 cycles; Montgomery in two steps
#: of 16 bits, 4 for the product and one for each step, with one in each cycle.
DSP: Final = {"paper": 3, "fast": 6}
#: Bits of a digit, 16 where the window has 16.
DIGIT_BITS: Final = 16

#: Cycles between one command's end and the next one's begin, and from an instruction's fetch to its begin.
_HANDOVER: Final = 3
_START: Final = 40


# ---- instructions ---------------------------------------------------------------------------------------


def transform(config: AesConfig, log_n: int, *, padded: bool = False) -> int:
    """Cycles of a transform of 2^log_n words from command to done.

    Args:
        padded: half of the words are zeros, whose level the fast engine leaves out.
    """
    return Timing(config, log_n).exec(Instruction(Op.NTT, half=padded))


def elementwise(config: AesConfig, log_n: int, *, terms: int = 1) -> int:
    """Cycles of MUL or SCALE; a MUL that adds to others has a third operand, which takes the published engine's ports
    longer."""
    return Timing(config, log_n).exec(Instruction(Op.MUL, init=terms == 1))


def reversal(config: AesConfig, log_n: int) -> int:
    """Cycles of REVS and REVX: eight words in each."""
    return Timing(config, log_n).exec(Instruction(Op.REVX))


def link(config: AesConfig, beats: int) -> int:
    """Cycles of the host's link for so many beats of 32 bytes in one direction."""
    return beats + beats // config.link_burst * config.link_gap


# ---- programs -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a program takes.

    Attributes:
        cycles: from start to end.
        compute: cycles in which the engine works.
        inward, outward: bytes over the host's link, to the machine and back.
        card: bytes to and from the card's memory.
    """

    cycles: int
    compute: int
    inward: int
    outward: int
    card: int = 0


def _pipelined(
    config: AesConfig, primes: int, compute: int, moves: int, inward: int, outward: int, card: int, first: int
) -> Cost:
    """Primes one after the other, each in so many cycles of the engine and beats of the ports; the busiest unit sets
    the pace; what `first` beats bring stands before, the last store after."""
    busiest = max(compute, moves, link(config, inward), link(config, outward), card)
    cycles = primes * busiest + link(config, first) + link(config, outward) + config.link_latency + _START
    beat = config.port_bytes
    return Cost(cycles, primes * compute, primes * inward * beat, primes * outward * beat, primes * card * beat)


def _tables(log_n: int) -> int:
    """Beats of the twiddle factors of both directions, and of the constants."""
    return 2 * (1 << log_n) // 2 // NARROW_WORDS + 1


def product(config: AesConfig, log_n: int, primes: int, terms: int = 1) -> Cost:
    """A sum of products of two polynomials with 2^log_n / 2 coefficients each, modulo so many primes, not reduced."""
    beats = (1 << log_n) // NARROW_WORDS
    forward, back = transform(config, log_n, padded=True), transform(config, log_n)
    steps = [forward] * (2 * terms) + [elementwise(config, log_n)]
    steps += [elementwise(config, log_n, terms=2)] * (terms - 1)
    steps += [elementwise(config, log_n), back]
    compute = sum(steps) + _HANDOVER * len(steps)
    if not config.fast:
        # The sum's reversal stands between the products and the inverse.
        compute += reversal(config, log_n)
    moves = 0 if config.fast else (2 * terms + 1) * reversal(config, log_n)
    inward, card = terms * beats, 0
    if config.ports == 2:
        card = _tables(log_n)
    else:
        inward += _tables(log_n)
    return _pipelined(config, primes, compute, moves, inward, beats, card, _tables(log_n) + beats // 2)


def relinearisation(config: AesConfig, log_n: int, primes: int, digits: int, batch: int = 1) -> Cost:
    """`batch` ciphertexts of so many digits of 16 bits, with keys over the host's link that they share.

    Digits are the same for every prime: they lie in the card's memory where there is one, else they cross the link
    again for each prime.
    """
    beats = (1 << log_n) // NARROW_WORDS
    digit = batch * digits * beats // 4  # half the words, of half the size
    steps = digits * batch * (transform(config, log_n, padded=True) + elementwise(config, log_n) + 2 * _HANDOVER)
    last = batch * (transform(config, log_n) + elementwise(config, log_n) + 2 * _HANDOVER)
    moves = 0 if config.fast else batch * (digits + 1) * reversal(config, log_n)
    compute = steps + last + (0 if config.fast else batch * reversal(config, log_n))
    inward, card = digits * beats, 0
    if config.ports == 2:
        card = digit + _tables(log_n)
    else:
        inward += digit + _tables(log_n)
    return _pipelined(config, primes, compute, moves, inward, batch * beats, card, _tables(log_n) + beats)


# ---- resources ------------------------------------------------------------------------------------------


def multiplier_dsp(config: AesConfig) -> int:
    """DSP slices of one modular multiplier."""
    return DSP[config.engine]


def multipliers(config: AesConfig) -> int:
    """Modular multipliers of the engine."""
    return config.lanes // 2 if config.fast else 4 * config.starts


def memories(config: AesConfig, card: Card | None = None) -> dict[str, Blocks]:
    """Blocks of memory by what they hold: `bank(rows, bits)` for each lane of a wide row."""

    def bank(rows: int, bits: int) -> Blocks:
        return card.bank(rows, bits) if card else Blocks(block_ram(rows, bits))

    words, bits = 1 << config.max_log_n, 8 * WORD_BYTES
    rows = words // config.lanes
    roots = config.lanes if config.fast else config.starts
    ahead = bank(config.read_rows, 8 * config.port_bytes) + bank(2 * config.burst_rows, 8 * config.port_bytes)
    return {
        "X": bank(rows, bits) * (BUFFERS * config.lanes),
        "S": bank(SLOTS * rows // 2, bits) * config.lanes,
        "K": bank(KEYS * rows, bits) * config.lanes,
        "twiddles": bank(SETS * words // roots, bits) * roots,
        "ports": ahead * config.ports,
    }


def resources(config: AesConfig) -> Resources:
    """DSP slices and block RAMs on the paper's card, by count; LUTs and flip-flops are not counted."""
    blocks = sum(memories(config).values(), Blocks())
    return Resources(dsp=multipliers(config) * multiplier_dsp(config), bram36=ceil(blocks.bram36), uram=blocks.uram)
