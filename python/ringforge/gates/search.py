# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The search that found the shipped gate sets: the cheapest parameters that are secure and fail rarely enough.

>>> best = search(failure=-64)[0]
>>> best.bits >= 128, best.failure <= -64
(True, True)

For every LWE modulus and secret the dimension is the least secure one. Time depends on the gadgets only through their
number of rows, and on the key switch only through its digits, so that for each of these counts the quietest gadgets
are all that need be tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ringforge import security
from ringforge.errors import ParameterError
from ringforge.gates import noise
from ringforge.gates.sets import Gadget, GateSet, KeySwitch

#: Security that the search asks of every key: 128 bits and half a bit of slack for the estimate's own rounding.
WANTED_BITS = 128.5

#: Largest key-switching table by default, in bytes: what stays quick to load and to keep.
TABLE_LIMIT = 130_000_000

#: Most digits of a gadget, or of the key switch, that are tried.
MAX_DIGITS = 6

#: Variance of every error: centred binomial with 21 coin pairs, standard deviation 3.24.
ERROR_VARIANCE = 10.5


@dataclass(frozen=True)
class CostModel:
    """Predicted time of a gate's bootstrap on one core, in microseconds, measured at N = 1024 with 32-bit residues.

    Attributes:
        transform: one transform of a polynomial.
        row: one key row times a digit.
        step: the rest of a blind rotation's step.
        bytes_per_microsecond: at which the key-switching table is read.
    """

    transform: float = 0.55
    row: float = 0.08
    step: float = 0.25
    bytes_per_microsecond: float = 10_000.0

    def microseconds(self, s: GateSet) -> float:
        """One bootstrap by GINX. A ternary secret takes two products of the same digits."""
        products = 1 if s.lwe_secret == "binary" else 2
        scale = s.ring_degree * s.log_n / (1024 * 10)
        step = (s.rows + 2) * self.transform + products * (s.rows * self.row + self.step)
        word = 2 if s.log_q <= 16 else 4
        switch = s.ring_degree * s.key_switch.count * s.n * word / self.bytes_per_microsecond
        return s.n * step * scale + switch


@dataclass(frozen=True)
class Candidate:
    """A set that meets its promises.

    Attributes:
        gate_set: the set.
        microseconds: predicted time of a bootstrap.
        failure: log2 of the worst gate's failure probability, with the noisiest inputs.
        bits: security of its weakest key.
    """

    gate_set: GateSet
    microseconds: float
    failure: float
    bits: float


def largest_prime(bits: int, log_n: int) -> int:
    """The largest prime below 2^bits that is 1 modulo 2N.

    Raises:
        ParameterError: there is none.
    """
    step = 2 << log_n
    for q in range((1 << bits) - step + 1, step, -step):
        if all(q % p for p in range(3, math.isqrt(q) + 1, 2)):
            return q
    raise ParameterError(f"no prime below 2^{bits} is 1 modulo {step}: take more bits")


def weakest_bits(s: GateSet) -> float:
    """Security of a set's weakest instance."""
    return min(security.estimate(instance).bits for instance in s.instances().values())


def _gadgets(modulus_bits: int) -> list[Gadget]:
    return [
        Gadget(log_base, count, modulus_bits - log_base * count)
        for count in range(1, MAX_DIGITS + 1)
        for log_base in range(1, 15)
        if log_base * count <= modulus_bits
    ]


def _quietest_gadgets(s: GateSet, modulus_bits: int, max_rows: int) -> Iterator[GateSet]:
    """For each number of rows the gadgets with the least noise after a blind rotation."""
    every = _gadgets(modulus_bits)
    best: dict[int, tuple[float, GateSet]] = {}
    counts = range(1, min(MAX_DIGITS, max_rows - 1) + 1)
    # The two parts' noises add, so that the quietest gadget of each count is independent of the other part.
    alone_a, alone_b = {}, {}
    for count in counts:
        some = [g for g in every if g.count == count]
        alone_a[count] = min(some, key=lambda g: _noise_of(s, g, s.gadget_b))
        alone_b[count] = min(some, key=lambda g: _noise_of(s, s.gadget_a, g))
    for count_a, a in alone_a.items():
        for count_b, b in alone_b.items():
            rows = count_a + count_b
            variance = _noise_of(s, a, b)
            if rows <= max_rows and (rows not in best or variance < best[rows][0]):
                best[rows] = (variance, replace(s, gadget_a=a, gadget_b=b))
    for rows in sorted(best):
        yield best[rows][1]


def _noise_of(s: GateSet, a: Gadget, b: Gadget) -> float:
    return noise.accumulator_variance(replace(s, gadget_a=a, gadget_b=b))


def _least_base(bits: int, count: int) -> int:
    """The least base whose balanced digits reach all of -2^(bits - 1) ... 2^(bits - 1)."""
    base = 2
    while base**count <= 1 << bits:
        base += 1
    return base


def _key_switches(s: GateSet, table_limit: int) -> Iterator[KeySwitch]:
    """For each number of digits the table with the least noise that fits. Bases need not be powers of two."""
    for count in range(1, MAX_DIGITS + 1):
        fitting = []
        for drop in range(s.log_q - 2):
            switch = KeySwitch("q", _least_base(s.log_q - drop, count), count, drop, balanced=True)
            if replace(s, key_switch=switch).table_bytes <= table_limit:
                fitting.append(switch)
        if fitting:
            yield min(fitting, key=lambda switch: noise.stages(replace(s, key_switch=switch)).key_switch)


def search(
    failure: float,
    bits: float = WANTED_BITS,
    log_n: int = 10,
    modulus_bits: int = 26,
    secrets: Sequence[str] = ("binary", "ternary"),
    log_qs: Iterable[int] = range(13, 19),
    table_limit: int = TABLE_LIMIT,
    max_rows: int = 8,
    cost: CostModel | None = None,
) -> list[Candidate]:
    """Sets that meet a promise, the cheapest first; of equally cheap ones the quietest.

    Args:
        failure: log2 of the failure probability that no gate may exceed, whatever gates its inputs come from.
        bits: security that each key must have at least.
        log_n: ring degree N = 2^log_n.
        modulus_bits: bits of Q, the largest prime of that size.
        secrets: of the LWE dimension: "binary", "ternary".
        log_qs: LWE moduli 2^log_q to try.
        table_limit: bytes of the key-switching table.
        max_rows: most rows of an RGSW ciphertext.
        cost: the cost model.

    Raises:
        ParameterError: the ring itself is not secure, or nothing meets the promise.
    """
    cost = cost or CostModel()
    modulus = largest_prime(modulus_bits, log_n)
    sigma = math.sqrt(ERROR_VARIANCE)
    ring = security.estimate(security.Instance(1 << log_n, math.log2(modulus), sigma, "ternary"))
    if ring.bits < bits:
        raise ParameterError(
            f"a {modulus_bits}-bit Q at N = 2^{log_n} has {ring.bits:.1f} bits of security, below {bits:g}: "
            "take a smaller modulus or a larger ring"
        )
    whole = Gadget(1, modulus_bits, 0)
    found = []
    for secret in secrets:
        for log_q in log_qs:
            n = security.least_dimension(log_q, sigma, secret, bits)
            start = GateSet(
                name="candidate",
                n=n,
                log_q=log_q,
                lwe_secret=secret,
                log_n=log_n,
                modulus=modulus,
                error_variance=ERROR_VARIANCE,
                key_switch=KeySwitch("q", 3, log_q, 0, True),
                gadget_a=whole,
                gadget_b=whole,
                balanced=True,
                automorphism=whole,
                ap_base=32,
                insecure="",
                about="",
                failure=0,
            )
            for switch in _key_switches(start, table_limit):
                for s in _quietest_gadgets(replace(start, key_switch=switch), modulus_bits, max_rows):
                    worst = noise.worst_gate(s)[1]
                    if worst <= failure:
                        found.append(Candidate(s, cost.microseconds(s), worst, weakest_bits(s)))
    if not found:
        raise ParameterError(f"no set with N = 2^{log_n} keeps failures below 2^{failure:g}: take a larger ring")
    return sorted(found, key=lambda c: (c.microseconds, c.failure))
