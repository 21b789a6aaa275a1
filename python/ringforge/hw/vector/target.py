# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a program is compiled for: a machine, a ring and its primes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ringforge._native import Parameters
from ringforge.errors import ParameterError
from ringforge.hw.vector import constants
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.isa import MODULI


@dataclass(frozen=True)
class Target:
    """A machine with the numbers of one kernel.

    Attributes:
        config: the machine.
        log_n: log2 of the ring degree.
        primes: the kernel's primes of Q, then the special ones; an index into them is a modulus-table entry.
        special_count: special primes.
        limbs_per_digit: limbs of a digit of key switching, alpha.
    """

    config: VectorConfig
    log_n: int
    primes: tuple[int, ...]
    special_count: int = 1
    limbs_per_digit: int = 1

    @classmethod
    def of(cls, config: VectorConfig, params: Parameters, level: int) -> Target:
        """The target of a kernel whose inputs are at `level`.

        Raises:
            ParameterError: the machine cannot run it; the message says what is needed and what there is.
        """

        def refuse(what: str, have: str) -> None:
            raise ParameterError(f"machine {config.name}: the program needs {what}; there is {have}")

        primes = (*params.q[: level + 1], *params.p)
        if not config.min_log_n <= params.log_n <= config.max_log_n:
            refuse(f"degree 2^{params.log_n}", f"2^{config.min_log_n} ... 2^{config.max_log_n}")
        if len(params.p) != 1:
            refuse(f"{len(params.p)} special primes", "exactly one")
        if params.limbs_per_digit != 1:
            refuse(f"digits of {params.limbs_per_digit} limbs", "key switching with digits of one limb")
        if len(primes) > MODULI:
            refuse(f"{len(primes)} primes", f"a modulus table of {MODULI} entries")
        bits = sorted({q.bit_length() for q in primes})
        if len(bits) != 1:
            refuse(
                f"primes of {' and '.join(map(str, bits))} bits",
                "one shift of residues, so one length of primes: take a named parameter set such as set-a",
            )
        if config.banks < 3:
            refuse("3 banks", f"{config.banks} of them")
        if config.slots(params.log_n) < 4:
            refuse("4 polynomials in the scratchpad of an element", f"room for {config.slots(params.log_n)}")
        for q in primes:
            constants.multiplier_constant(config, q)
        return cls(config, params.log_n, primes)

    @property
    def limbs(self) -> int:
        """Primes of Q."""
        return len(self.primes) - self.special_count

    @property
    def special(self) -> int:
        """Modulus-table entry of the first special prime."""
        return self.limbs

    @property
    def specials(self) -> range:
        """Modulus-table entries of the special primes."""
        return range(self.limbs, len(self.primes))

    def digits(self, limbs: int) -> list[range]:
        """The limbs of each digit of a polynomial over the first `limbs` primes; the last digit may be shorter."""
        alpha = self.limbs_per_digit
        return [range(first, min(first + alpha, limbs)) for first in range(0, limbs, alpha)]

    @property
    def degree(self) -> int:
        return 1 << self.log_n

    @property
    def shift(self) -> int:
        """Bits by which residues are shifted inside the machine."""
        return self.config.shift(self.primes[0].bit_length())

    def immediate(self, value: int, mod: int) -> int:
        """A number modulo entry `mod` as an immediate multiplier."""
        return constants.scalar(self.config, value % self.primes[mod], self.primes[mod])

    @lru_cache(maxsize=4096)  # noqa: B019  targets are few and live as long as their programs
    def prime_factor(self, prime: int, mod: int) -> int:
        """Prime number `prime` modulo entry `mod`, as an immediate."""
        return self.immediate(self.primes[prime], mod)

    @lru_cache(maxsize=4096)  # noqa: B019
    def prime_inverse(self, prime: int, mod: int) -> int:
        """1 / prime number `prime` modulo entry `mod`, as an immediate."""
        return self.immediate(pow(self.primes[prime], -1, self.primes[mod]), mod)

    @lru_cache(maxsize=65_536)  # noqa: B019
    def product(self, entries: tuple[int, ...], mod: int) -> int:
        """The product of the primes of some entries modulo entry `mod`, as an immediate."""
        return self.immediate(prod(self.primes[i] for i in entries), mod)

    @lru_cache(maxsize=4096)  # noqa: B019
    def inverse(self, entries: tuple[int, ...], mod: int) -> int:
        """1 / that product modulo entry `mod`, as an immediate."""
        return self.immediate(pow(prod(self.primes[i] for i in entries), -1, self.primes[mod]), mod)

    @lru_cache(maxsize=64)  # noqa: B019
    def one(self, mod: int) -> int:
        """The immediate by which nothing changes."""
        return self.immediate(1, mod)
