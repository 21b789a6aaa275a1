# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameter sets, accelerator designs and claims.

Everything here is a literal of the HE matrix-vector FPGA paper: Table II
(:data:`SETS`), Table III (:data:`CONFIGS`), rates and speed-ups; the layers of Table IV,
Tables VI and VII and the card are in :mod:`ringforge.hw.machines.matvec.published`.  The prime size
of 54 bits is not printed there but inferred: ``(l + 1) * 54`` bits stay within the 128-bit
limits that SEAL allows for each degree, and 54-bit modular multipliers agree with 17 DSP
slices.

Units are in the field names: bytes, bits, hertz, bytes per second.  ``MB`` and
``GB`` are powers of ten, ``MiB`` and ``GiB`` powers of two, everywhere in this
package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from ringforge.hw.machines.matvec.published import LAYERS, Layer

from .errors import PaperModelError

KIB: Final = 2**10
"""Bytes in one KiB."""
MIB: Final = 2**20
"""Bytes in one MiB."""
GIB: Final = 2**30
"""Bytes in one GiB."""
MB: Final = 10**6
"""Bytes in one MB (power of ten)."""
GB: Final = 10**9
"""Bytes in one GB (power of ten)."""

_T = TypeVar("_T")


def require_positive(name: str, value: int) -> None:
    """Raise :class:`PaperModelError` unless ``value`` is at least one."""
    if value < 1:
        raise PaperModelError(f"{name} is {value}; it must be at least 1")


def require_power_of_two(name: str, value: int) -> None:
    """Raise :class:`PaperModelError` unless ``value`` is a power of two >= 2."""
    if value < 2 or value & (value - 1):
        raise PaperModelError(f"{name} is {value}; it must be a power of two, 2 or more")


def lookup(table: Mapping[str, _T], kind: str, name: str) -> _T:
    """Return ``table[name]``, or raise an error that lists the known names."""
    try:
        return table[name]
    except KeyError:
        known = ", ".join(table)
        raise PaperModelError(f"unknown {kind} {name!r}; known: {known}") from None


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """One row of Table II.

    Attributes:
        name: ``"A"``, ``"B"`` or ``"C"``.
        degree: ring degree N (coefficients per polynomial).
        limbs: l, number of residue polynomials per ciphertext component, without
            the special prime used by the key switch.
        prime_bits: bits per prime (inferred, see the module's description).
    """

    name: str
    degree: int
    limbs: int
    prime_bits: int = 54

    def __post_init__(self) -> None:
        require_power_of_two("degree", self.degree)
        require_positive("limbs", self.limbs)
        require_positive("prime_bits", self.prime_bits)

    @property
    def modulus_bits(self) -> int:
        """Bits of the whole modulus, special prime included: (l + 1) * prime bits."""
        return (self.limbs + 1) * self.prime_bits

    @property
    def slots(self) -> int:
        """Complex slots of one plaintext, N / 2."""
        return self.degree // 2


@dataclass(frozen=True, slots=True)
class AcceleratorConfig:
    """One column of Table III, with the clock of Table VII.

    Attributes:
        name: a label for reports.
        groups: g, PE groups, each working on its own partial sum.
        pes_per_group: p, processing elements per group.
        lanes: c, coefficients per cycle of a PE (c MACs and c / 2 NTT cores).
        banks: b, banks of a PE's scratchpad.
        scratchpad_bytes: scratchpad of one PE, in bytes.
        clock_hz: clock frequency in hertz.
    """

    name: str
    groups: int
    pes_per_group: int
    lanes: int
    banks: int
    scratchpad_bytes: int
    clock_hz: float

    def __post_init__(self) -> None:
        require_positive("groups", self.groups)
        require_positive("pes_per_group", self.pes_per_group)
        require_power_of_two("lanes", self.lanes)
        require_positive("banks", self.banks)
        require_positive("scratchpad_bytes", self.scratchpad_bytes)
        if not self.clock_hz > 0:
            raise PaperModelError(f"clock_hz is {self.clock_hz}; it must be positive")

    @property
    def pes(self) -> int:
        """Processing elements in the whole design, g * p."""
        return self.groups * self.pes_per_group

    @property
    def group_sram_bytes(self) -> int:
        """Scratchpad bytes of one PE group."""
        return self.pes_per_group * self.scratchpad_bytes

    @property
    def sram_bytes(self) -> int:
        """Scratchpad bytes of the whole design."""
        return self.pes * self.scratchpad_bytes


SETS: Final[Mapping[str, ParameterSet]] = MappingProxyType(
    {
        "A": ParameterSet("A", degree=8192, limbs=3),
        "B": ParameterSet("B", degree=16384, limbs=7),
        "C": ParameterSet("C", degree=32768, limbs=14),
    }
)
"""Table II: the three parameter sets by name."""

_DESIGN_A = AcceleratorConfig("Set-A design", 4, 3, 16, 3, 3 * MIB // 2, 200e6)
_DESIGN_BC = AcceleratorConfig("Set-B/C design", 2, 7, 16, 3, 3 * MIB // 2, 180e6)

CONFIGS: Final[Mapping[str, AcceleratorConfig]] = MappingProxyType({"A": _DESIGN_A, "B": _DESIGN_BC, "C": _DESIGN_BC})
"""Table III: the design that runs each parameter set (B and C share one)."""

PAPER_KEY_SWITCHES_PER_SECOND: Final = 5_122
"""Table V: key switches per second claimed for Set-B."""
HEAX_KEY_SWITCHES_PER_SECOND: Final = 2_616
"""Table V: key switches per second quoted for HEAX."""
PAPER_SPEEDUP_OVER_HEAX: Final = 1.95
"""Table V: ratio as printed."""
PAPER_MAX_SPEEDUP_64_THREADS: Final = 3.8
"""Largest speed-up over 64 CPU threads, Set-B (text of the evaluation)."""
PAPER_GEOMEAN_SPEEDUP_64_THREADS: Final = 2.8
"""Geometric mean of the speed-ups over 64 CPU threads, Set-B."""
PAPER_MAX_SPEEDUP_1_THREAD: Final = 9.0
"""Largest speed-up over one CPU thread, Set-B."""


def parameter_set(name: str) -> ParameterSet:
    """Return the parameter set ``name`` (``"A"``, ``"B"`` or ``"C"``)."""
    return lookup(SETS, "parameter set", name)


def accelerator_config(name: str) -> AcceleratorConfig:
    """Return the design that Table III gives for the parameter set ``name``."""
    return lookup(CONFIGS, "parameter set", name)


def layer(name: str) -> Layer:
    """Return the benchmark layer ``name`` of Table IV, such as ``"alex-6"``."""
    return lookup({entry.name: entry for entry in LAYERS}, "layer", name)
