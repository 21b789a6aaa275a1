# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Reference arithmetic, operands and a driver for the tests of the arithmetic cells.

The cells need odd moduli, not primes; the tests use the extreme ones of each width.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

BARRETT, MONTGOMERY = 0, 1
MUL_LATENCY = 12
MAC_LATENCY = MUL_LATENCY + 2
BUTTERFLY_LATENCY = MUL_LATENCY + 3


def parameter(name: str, default: int) -> int:
    """A parameter of the build under test."""
    return int(os.environ.get(f"PARAM_{name}", default))


@dataclass(frozen=True)
class Modulus:
    """A modulus as the hardware sees it: `q` of `width - shift` bits, held as q * 2^shift."""

    q: int
    width: int
    shift: int
    kind: int
    word: int = 18

    @property
    def shifted(self) -> int:
        return self.q << self.shift

    @property
    def k(self) -> int:
        """The constant for the multiplier, as the 64-bit port carries it."""
        return 0 if self.kind == MONTGOMERY else ((1 << 2 * self.width) // self.shifted) % (1 << 64)

    @property
    def radix_inverse(self) -> int:
        """The factor that the multiplier adds: 1, or the inverse of the Montgomery radix."""
        if self.kind == BARRETT:
            return 1
        return pow(2, -self.word * -(-self.width // self.word), self.q)

    def multiply(self, a: int, b: int) -> int:
        """The contract of the multipliers, for a data residue and a constant."""
        return a * b * self.radix_inverse % self.shifted

    def operand(self, rng: random.Random) -> int:
        """An unshifted residue: an extreme one in two cases of five."""
        q = self.q
        if rng.random() < 0.4:
            return rng.choice([0, 1, 2, q - 1, q - 2, q // 2, q // 2 + 1, (1 << (q.bit_length() - 1)) - 1])
        return rng.randrange(q)

    def residue(self, rng: random.Random) -> int:
        """A data residue: shifted."""
        return self.operand(rng) << self.shift


def moduli(width: int, kind: int = BARRETT, word: int = 18, shifts: tuple[int, ...] = (0, 7, 3)) -> Iterator[Modulus]:
    """Extreme and random moduli of `width` bits, and for Barrett also shorter ones, held shifted."""
    rng = random.Random(width)
    if kind == MONTGOMERY:
        step = 1 << word
        low, high = (1 << (width - 1)) // step, (1 << width) // step
        for m in (low, high - 1, rng.randrange(low, high)):
            yield Modulus(m * step + 1, width, 0, kind, word)
        return
    for shift in shifts:
        low, high = 1 << (width - shift - 1), 1 << (width - shift)
        for q in (low + 1, high - 1, rng.randrange(low, high) | 1):
            yield Modulus(q, width, shift, kind)


async def check_combinational(dut, vectors: list[tuple[dict, dict]]) -> None:
    """Applies inputs and compares outputs; lists are lanes."""
    for inputs, expected in vectors:
        for name, value in inputs.items():
            getattr(dut, name).value = value
        await Timer(1, "ns")
        compare(dut, expected, inputs)


def compare(dut, expected: dict, inputs: object) -> None:
    for name, value in expected.items():
        got = [int(x) for x in getattr(dut, name).value]
        assert got == value, f"{name} = {got}, expected {value}, inputs {inputs}"


async def check_pipeline(
    dut, rng: random.Random, constants: dict, count: int, latency: int, sample: Callable[[], tuple[dict, dict]]
) -> None:
    """Streams `count` rows of operands through a pipeline with random pauses and compares what comes out.

    `sample` draws the inputs of one row and the outputs expected for it, which must appear after exactly `latency`
    clock edges with en_i high.
    """
    for name, value in constants.items():
        getattr(dut, name).value = value
    waiting: list[tuple[dict, dict]] = []
    for _ in range(count + latency):
        while rng.random() < 0.1:
            dut.en_i.value = 0
            await FallingEdge(dut.clk_i)
        inputs, expected = sample()
        for name, value in inputs.items():
            getattr(dut, name).value = value
        dut.en_i.value = 1
        await FallingEdge(dut.clk_i)
        waiting.append((inputs, expected))
        if len(waiting) == latency:
            inputs, expected = waiting.pop(0)
            compare(dut, expected, (constants, inputs))


def start_clock(dut) -> None:
    dut.en_i.value = 0
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
