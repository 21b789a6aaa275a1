# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the matmul accelerator's programs are compiled for: its elements, a ring, primes of Q and special primes.

The modulus table has the primes of Q up to the kernel's level and then all special primes: entry i is q_i for i below
`Target.limbs`, and p_(i - limbs) from there on. Programs that go down in level keep the table.

What lives in which bank while a linear transform's rotations run (`WORK` counts it):

    bank 0   digits of key switching, diagonals
    bank 1   P times the first part; sums of products with keys and with diagonals, first part
    bank 2   the same sums, second part
    bank 3   automorphisms of the sums with keys
"""

from __future__ import annotations

from typing import Final

from ringforge._native import Parameters
from ringforge.errors import ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector import constants
from ringforge.hw.vector.target import Target

#: Banks, by what they hold in the loop over rotations.
DIGITS: Final = 0
FIRST: Final = 1
SECOND: Final = 2
TURNED: Final = 3
#: Transforms of fewer rows than this run in pairs: alone they would wait for their own results between stages.
PAIR_ROWS: Final = 128


def target_of(config: FameConfig, params: Parameters, level: int) -> Target:
    """The target of programs whose inputs are at `level` at most.

    Raises:
        ParameterError: the machine cannot run them; the message says what is needed, what there is, and what to do.
    """

    def refuse(what: str, have: str, remedy: str) -> None:
        raise ParameterError(f"machine {config.name}: the program needs {what}; there is {have}: {remedy}")

    primes = (*params.q[: level + 1], *params.p)
    log_n = params.log_n
    if not config.min_log_n <= log_n <= config.max_log_n:
        refuse(
            f"degree 2^{log_n}",
            f"2^{config.min_log_n} ... 2^{config.max_log_n}",
            "take parameters of such a degree, or another machine",
        )
    if len(primes) > config.moduli:
        refuse(f"{len(primes)} primes", f"a modulus table of {config.moduli} entries", "start at a lower level")
    bits = sorted({q.bit_length() for q in primes})
    if len(bits) != 1:
        refuse(
            f"primes of {' and '.join(map(str, bits))} bits",
            "one shift of residues, so one length of primes",
            "take a parameter set such as fame-a or fame-small",
        )
    target = Target(config, log_n, primes, len(params.p), max(params.limbs_per_digit, 1))
    digits = len(target.digits(level + 1))
    for bank, slots in enumerate(work(digits)):
        room = config.bank_slots(log_n, bank)
        if room < slots:
            refuse(
                f"{slots} polynomials of degree 2^{log_n} in bank {bank} ({digits} digits)",
                f"room for {room}",
                "take longer digits with more special primes, a smaller degree, or a machine with larger banks",
            )
    for q in primes:
        constants.multiplier_constant(config, q)
    return target


def work(digits: int) -> tuple[int, int, int, int]:
    """Polynomials in each bank while rotations run, at least: one diagonal beside the digits."""
    return digits + 1, 3, 2, 2


def limit(limbs: int, digits: int) -> int:
    """Limbs of ciphertexts that a memory-optimised linear transform holds on chip at most: 2(L+1) + beta + 1.

    Where that is less than the loop over rotations works with, it is that: beta + 5, and one more.
    """
    return max(2 * limbs + digits + 1, digits + 6)
