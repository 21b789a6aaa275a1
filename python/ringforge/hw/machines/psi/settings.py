# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the registers of the FHEW accelerator hold during a run, and the limits of what they can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from ringforge.errors import ParameterError
from ringforge.hw.core.registers import own
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi.config import KEY_UNIT, PsiConfig
from ringforge.hw.machines.psi.program import GATES, KEY_BITS, LWE_BITS, SUBSTITUTIONS

_MAX_LOG_BASE: Final = 31
_MAX_DIGITS: Final = 15
#: Bits that balanced digits may cover beyond those of the modulus, and bits that plain ones may cover.
_BEYOND: Final = 2
_WORD: Final = 64
#: Half circles of the gates by their numbers in instructions: eighths of the circle at which phases begin to mean 1.
HALF_CIRCLES: Final[Mapping[str, int]] = {"OR": 1, "AND": 3, "NOR": 5, "NAND": 7, "XOR": 2, "XNOR": 6}


@cache
def addresses() -> Mapping[str, int]:
    """Addresses of the machine's own registers by name."""
    return {e.name: e.address for e in own(PsiConfig.room / "registers.json").entries}


@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    Attributes:
        log_n, q: the ring.
        a, b: how polynomials of products are cut.
        s: how polynomials a of substitutions are cut.
        bootstrap: results of products go on in the loop, unless they are the last.
        queued: a run works off a queue; False: the host writes commands one by one.
        substitutions: (element, key address in 16 KiB), at most 16.
        log_lwe: log2 of the modulus of LWE ciphertexts, and
        bounds: where the half circle of each gate that means 0 begins; for accumulators made on chip.
        key_base: where keys begin, a multiple of 16 KiB.
        small: operands of products are small numbers, so that digits need not hold every residue.
    """

    log_n: int
    q: int
    a: Gadget
    b: Gadget
    s: Gadget
    bootstrap: bool = False
    queued: bool = True
    substitutions: Sequence[tuple[int, int]] = ()
    log_lwe: int = 0
    bounds: Sequence[int] = (0,) * GATES
    key_base: int = 0
    small: bool = False

    def check(self, config: PsiConfig) -> int:
        """Holds them against a machine; returns its shift of residues.

        Raises:
            ParameterError: with what is out of range, the limit, and what to do.
        """
        config.check_log_n(self.log_n)
        shift = config.shift(self.q)
        if self.q % (2 << self.log_n) != 1:
            raise ParameterError(
                f"{self.q} has no transform of degree 2^{self.log_n}: take a prime that is 1 modulo 2N"
            )
        for name, gadget in (("of a", self.a), ("of b", self.b), ("of substitutions", self.s)):
            check_gadget(config, gadget, self.q, name, small=self.small)
        if len(self.substitutions) > SUBSTITUTIONS:
            raise ParameterError(
                f"{len(self.substitutions)} substitutions; the table has {SUBSTITUTIONS} entries: run them apart"
            )
        for element, key in self.substitutions:
            if element % 2 == 0 or not 0 < element < 2 << self.log_n:
                raise ParameterError(f"X -> X^{element} is no substitution: take an odd number below 2N")
            if not 0 <= key < 1 << KEY_BITS:
                raise ParameterError(
                    f"a key at {key} units of {KEY_UNIT} bytes is out of reach: there are 2^{KEY_BITS}"
                )
        if self.log_lwe and not 2 <= self.log_lwe <= min(LWE_BITS, self.log_n + 1):
            raise ParameterError(
                f"the modulus 2^{self.log_lwe} of LWE ciphertexts is outside 2^2 ... "
                f"2^{min(LWE_BITS, self.log_n + 1)}: make accumulators on the host"
            )
        if len(self.bounds) != GATES or any(not 0 <= x < 1 << self.log_lwe for x in self.bounds):
            raise ParameterError(
                f"there are {GATES} bounds of gates, below the LWE modulus 2^{self.log_lwe}: take those of `bounds`"
            )
        if self.key_base % KEY_UNIT:
            raise ParameterError(
                f"keys begin at a multiple of {KEY_UNIT} bytes, not at {self.key_base:#x}: round it up"
            )
        return shift

    def registers(self, config: PsiConfig) -> dict[int, int]:
        """Values by address, words of 32 bits.

        Raises:
            ParameterError: as `check`.
        """
        shift, at, width = self.check(config), addresses(), config.word_bits
        barrett = ((1 << 2 * width) // (self.q << shift)) % (1 << 64)
        found = {
            "MODE": self.bootstrap | self.queued << 1,
            "LOG_N": self.log_n,
            "SHIFT": shift,
            "LWE": self.log_lwe,
            **_wide("Q", self.q),
            **_wide("BARRETT", barrett),
            **_wide("KEY_BASE", self.key_base),
        }
        for name, gadget in (("A", self.a), ("B", self.b), ("S", self.s)):
            found[f"GADGET_{name}"] = (
                gadget.log_base | gadget.count << 8 | gadget.drop << 16 | int(gadget.balanced) << 24
            )
            found |= _wide(f"OFFSET_{name}", gadget.offset)
        for gate, bound in zip(("OR", "AND", "NOR", "NAND", "XOR", "XNOR"), self.bounds, strict=True):
            found[f"BOUND_{gate}"] = bound
        # Entries that no instruction names hold X -> X.
        for entry in range(SUBSTITUTIONS):
            element, key = self.substitutions[entry] if entry < len(self.substitutions) else (1, 0)
            found[f"SUBST_{entry}"] = element | key << 12
        return {at[name]: value for name, value in found.items()}


def check_gadget(config: PsiConfig, gadget: Gadget, q: int, what: str, *, small: bool = False) -> None:
    """Raises ParameterError for a gadget that the machine's registers or digits have no room for, or whose digits do
    not hold every residue unless those are small."""
    if not (1 <= gadget.log_base <= _MAX_LOG_BASE and 1 <= gadget.count <= _MAX_DIGITS):
        raise ParameterError(
            f"gadget {what}: {gadget.count} digits of {gadget.log_base} bits; {config.name} takes 1 to {_MAX_DIGITS} "
            f"digits of 1 to {_MAX_LOG_BASE} bits: choose other digits, or device cpu"
        )
    reach = gadget.drop + gadget.count * gadget.log_base
    if not (small or gadget.covers(q)) or reach > (q.bit_length() + _BEYOND if gadget.balanced else _WORD):
        raise ParameterError(
            f"gadget {what}: {gadget.count} digits of {gadget.log_base} bits above 2^{gadget.drop} do not fit residues "
            f"of {q.bit_length()} bits on {config.name}: choose digits that just cover them, or device cpu"
        )


def form(config: PsiConfig, q: int) -> int:
    """What words of keys and tables are multiplied by in memory, modulo q: 1, or a Montgomery multiplier's radix."""
    if not config.montgomery:
        return 1
    return pow(2, config.montgomery_word * -(-config.word_bits // config.montgomery_word), q)


def bounds(log_lwe: int) -> tuple[int, ...]:
    """Bounds of the six gates: where the half circle begins whose phases mean 0."""
    q = 1 << log_lwe
    return tuple((start * q // 8 + q // 2) % q for start in HALF_CIRCLES.values())


def _wide(name: str, value: int) -> dict[str, int]:
    return {name: value & 0xFFFFFFFF, f"{name}_HIGH": value >> 32}
