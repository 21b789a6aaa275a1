# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Resource model and estimator for the accelerator.

Structural parts, without a fitted constant:

* DSP: 17 slices per modular multiplier (the paper's figure), c multipliers in the MAC
  array and c / 2 in the NTT cores of each PE.  Exact against Table VII.
* BRAM: the permutation network of a PE has c memories, each N_max / c words of
  64 bits.  Exact for the Set-B/C design; 14 % low for Set-A.
* URAM in the scratchpads: a bank is c columns of 72 bits and whole 4,096-word
  blocks.  Three banks of 16 columns give both the 1.5 MiB of Table III and 48 URAMs
  per PE.

Declared fits, one constant each over the two designs of Table VII:

* URAM outside the scratchpads, per PE;
* LUT per lane and flip-flops per lane.

:func:`calibration` lists the error of each against Table VII.  The flip-flop fit is
poor (+29 % and -16 %): the paper's two designs differ by 1.8 times in flip-flops and by
1.17 times in PEs, and it does not say why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ringforge.hw.machines.matvec.published import TABLE_VII, Part

from .cycles import key_switches_per_second
from .errors import NoConfigurationError, PaperModelError
from .parameters import CONFIGS, AcceleratorConfig, ParameterSet, require_positive, require_power_of_two

DSP_PER_MULTIPLIER: Final = 17
"""DSP slices of one pipelined modular multiplier (stated with Table VII)."""
URAM_WORD_BITS: Final = 72
"""Width of an UltraRAM word in bits."""
URAM_WORDS: Final = 4096
"""Depth of an UltraRAM in words."""
COEFFICIENT_BITS: Final = 64
"""Bits that a stored coefficient takes in the on-chip memories."""
BRAM36_SHAPES: Final = ((512, 72), (1024, 36), (2048, 18), (4096, 9))
"""(words, bits) shapes of a 36-kbit block RAM in simple dual-port use."""
POLYNOMIALS_PER_LIMB: Final = 5
"""Scratchpad polynomials per limb: input 2, partial sum 2, NTT twiddles 1."""
PAPER_MAX_PES_PER_GROUP: Final = 7
"""Largest p in Table III; the paper calls the choice of p empirical."""


def _fit(values: Iterable[float], units: Iterable[float]) -> float:
    """Constant per unit that preserves the sum over the designs of Table VII."""
    return sum(values) / sum(units)


def scratchpad_uram(lanes: int, banks: int, scratchpad_bytes: int) -> int:
    """UltraRAMs of one PE's scratchpad: one column per lane, whole blocks per bank."""
    require_power_of_two("lanes", lanes)
    require_positive("banks", banks)
    words = -(-scratchpad_bytes * 8 // (banks * lanes * COEFFICIENT_BITS))
    columns = -(-COEFFICIENT_BITS // URAM_WORD_BITS)
    return banks * lanes * columns * -(-words // URAM_WORDS)


def permutation_bram(degree: int, lanes: int) -> int:
    """Block RAMs of one PE's permutation network for a largest degree ``degree``."""
    require_power_of_two("degree", degree)
    require_power_of_two("lanes", lanes)
    if lanes > degree:
        raise PaperModelError(f"lanes is {lanes}; it must not exceed the degree {degree}")
    words = degree // lanes
    per_lane = min(-(-words // depth) * -(-COEFFICIENT_BITS // width) for depth, width in BRAM36_SHAPES)
    return lanes * per_lane


_DESIGNS: Final = ("A", "B")
_LARGEST_DEGREE: Final[Mapping[str, int]] = MappingProxyType({"A": 8192, "B": 32768})
_PES: Final = tuple(CONFIGS[name].pes for name in _DESIGNS)
_LANES: Final = tuple(CONFIGS[name].pes * CONFIGS[name].lanes for name in _DESIGNS)

URAM_OTHER_PER_PE: Final = _fit(
    (
        TABLE_VII[name].uram
        - CONFIGS[name].pes * scratchpad_uram(CONFIGS[name].lanes, CONFIGS[name].banks, CONFIGS[name].scratchpad_bytes)
        for name in _DESIGNS
    ),
    _PES,
)
"""Fitted: UltraRAMs per PE outside its scratchpad (5.77)."""
LUT_PER_LANE: Final = _fit((1000 * TABLE_VII[name].kilo_luts for name in _DESIGNS), _LANES)
"""Fitted: look-up tables per lane (3,827)."""
FLIP_FLOPS_PER_LANE: Final = _fit((1000 * TABLE_VII[name].kilo_flip_flops for name in _DESIGNS), _LANES)
"""Fitted: flip-flops per lane (4,095)."""


@dataclass(frozen=True, slots=True)
class ResourceEstimate:
    """Resources that a design takes.

    Attributes:
        dsp: DSP slices (structural).
        bram36: 36-kbit block RAMs (structural).
        uram: UltraRAMs (structural scratchpads, fitted rest).
        lut: look-up tables (fitted).
        flip_flops: registers (fitted).
        sram_bytes: scratchpad bytes.
    """

    dsp: int
    bram36: int
    uram: int
    lut: int
    flip_flops: int
    sram_bytes: int

    def shortages(self, part: Part) -> tuple[str, ...]:
        """Names of the resources of which ``part`` has too few."""
        names = ("dsp", "bram36", "uram", "lut", "flip_flops", "sram_bytes")
        return tuple(name for name in names if getattr(self, name) > getattr(part, name))


def estimate(config: AcceleratorConfig, largest_degree: int) -> ResourceEstimate:
    """Resources of ``config`` when it must handle degrees up to ``largest_degree``."""
    pes, lanes = config.pes, config.lanes
    scratch = scratchpad_uram(lanes, config.banks, config.scratchpad_bytes)
    return ResourceEstimate(
        dsp=DSP_PER_MULTIPLIER * pes * (lanes + lanes // 2),
        bram36=pes * permutation_bram(largest_degree, lanes),
        uram=round(pes * (scratch + URAM_OTHER_PER_PE)),
        lut=round(pes * lanes * LUT_PER_LANE),
        flip_flops=round(pes * lanes * FLIP_FLOPS_PER_LANE),
        sram_bytes=config.sram_bytes,
    )


def scratchpad_bytes(parameters: ParameterSet, pes_per_group: int, lanes: int, banks: int) -> int:
    """Scratchpad of one PE by the paper's rule, rounded up to whole UltraRAMs.

    It holds the input vector, the partial sum and the NTT twiddles of the limbs that
    the PE owns: 5 * ceil(l / p) polynomials of 8-byte coefficients.
    """
    require_positive("pes_per_group", pes_per_group)
    per_pe = -(-parameters.limbs // pes_per_group)
    needed = POLYNOMIALS_PER_LIMB * per_pe * parameters.degree * COEFFICIENT_BITS // 8
    block = lanes * URAM_WORDS * COEFFICIENT_BITS // 8
    blocks_per_bank = -(-needed // (banks * block))
    return banks * block * blocks_per_bank


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with its resources and its modelled rate.

    Attributes:
        config: the configuration.
        resources: what it takes.
        key_switches_per_second: rate of the plain schedule.
    """

    config: AcceleratorConfig
    resources: ResourceEstimate
    key_switches_per_second: float


def _candidate(
    parameters: ParameterSet, *, groups: int, pes: int, lanes: int, banks: int, clock_hz: float
) -> Candidate:
    """Build one configuration with the scratchpad that it needs."""
    config = AcceleratorConfig(
        name=f"g{groups} p{pes} c{lanes} b{banks}",
        groups=groups,
        pes_per_group=pes,
        lanes=lanes,
        banks=banks,
        scratchpad_bytes=scratchpad_bytes(parameters, pes, lanes, banks),
        clock_hz=clock_hz,
    )
    return Candidate(
        config,
        estimate(config, parameters.degree),
        key_switches_per_second(parameters, config),
    )


def choose_config(
    part: Part,
    parameters: ParameterSet,
    *,
    lanes: int = 16,
    banks: int = 3,
    max_pes_per_group: int = PAPER_MAX_PES_PER_GROUP,
    clock_hz: float = 180e6,
) -> Candidate:
    """Pick (g, p, c, b) by the paper's rules.

    p is the smallest number of PEs that gives each the same count of limbs, at most
    ``max_pes_per_group``; c is 16 and b is 3 (the MAC array reads three operands per
    lane and cycle) unless given; the scratchpad follows :func:`scratchpad_bytes`; g is the
    largest power of two that fits the part.  The power of two is an assumption of this
    model: it makes the reduction tree even, and without it Set-A would get g = 5.

    Raises:
        NoConfigurationError: if not even one group fits; names what is short.
    """
    require_positive("max_pes_per_group", max_pes_per_group)
    per_pe = -(-parameters.limbs // max_pes_per_group)
    pes = -(-parameters.limbs // per_pe)
    best = _candidate(parameters, groups=1, pes=pes, lanes=lanes, banks=banks, clock_hz=clock_hz)
    missing = best.resources.shortages(part)
    if missing:
        raise NoConfigurationError(
            f"one group of {pes} PEs with {lanes} lanes does not fit {part.name}: too few "
            f"of {', '.join(missing)}; lower lanes or max_pes_per_group"
        )
    while True:
        bigger = _candidate(
            parameters,
            groups=2 * best.config.groups,
            pes=pes,
            lanes=lanes,
            banks=banks,
            clock_hz=clock_hz,
        )
        if bigger.resources.shortages(part):
            return best
        best = bigger


def group_limits(part: Part, config: AcceleratorConfig, largest_degree: int) -> dict[str, int]:
    """Largest g that each resource of ``part`` alone would allow for ``config``'s groups."""
    one = estimate(
        AcceleratorConfig(
            config.name,
            1,
            config.pes_per_group,
            config.lanes,
            config.banks,
            config.scratchpad_bytes,
            config.clock_hz,
        ),
        largest_degree,
    )
    names = ("dsp", "bram36", "uram", "lut", "flip_flops", "sram_bytes")
    return {name: getattr(part, name) // getattr(one, name) for name in names}


def explore(
    part: Part,
    parameters: ParameterSet,
    *,
    lane_choices: tuple[int, ...] = (4, 8, 16, 32, 64),
    banks: int = 3,
    clock_hz: float = 180e6,
) -> tuple[Candidate, ...]:
    """All configurations that fit, fastest key switching first.

    p runs over 1 to l, c over ``lane_choices``, g over powers of two.  Look-up tables
    are modelled per lane, which flatters wide permutation networks.  The rate assumes
    keys at hand; for the DRAM side, give the leaders to
    :func:`ringforge.lab.papers.matvec.latency.layer_latency`.
    """
    found: list[Candidate] = []
    for lanes in lane_choices:
        for pes in range(1, parameters.limbs + 1):
            groups = 1
            while True:
                trial = _candidate(
                    parameters,
                    groups=groups,
                    pes=pes,
                    lanes=lanes,
                    banks=banks,
                    clock_hz=clock_hz,
                )
                if trial.resources.shortages(part):
                    break
                found.append(trial)
                groups *= 2
    return tuple(sorted(found, key=lambda c: (-c.key_switches_per_second, c.resources.dsp, c.config.pes)))


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """Model against Table VII for one resource of one design.

    Attributes:
        set_name: ``"A"`` or ``"B"`` (the design that also runs C).
        resource: name of the resource.
        paper: Table VII.
        model: this model.
        fitted: True if a constant was fitted to Table VII.
    """

    set_name: str
    resource: str
    paper: float
    model: float
    fitted: bool

    @property
    def error(self) -> float:
        """Relative error of the model, (model - paper) / paper."""
        return (self.model - self.paper) / self.paper


def calibration() -> tuple[CalibrationRow, ...]:
    """Compare :func:`estimate` with Table VII for both of the paper's designs."""
    rows: list[CalibrationRow] = []
    for name in _DESIGNS:
        model = estimate(CONFIGS[name], _LARGEST_DEGREE[name])
        used = TABLE_VII[name]
        rows += [
            CalibrationRow(name, "LUT", 1000 * used.kilo_luts, model.lut, True),
            CalibrationRow(name, "FF", 1000 * used.kilo_flip_flops, model.flip_flops, True),
            CalibrationRow(name, "BRAM", used.bram36, model.bram36, False),
            CalibrationRow(name, "URAM", used.uram, model.uram, True),
            CalibrationRow(name, "DSP", used.dsp, model.dsp, False),
        ]
    return tuple(rows)


__all__ = [
    "CalibrationRow",
    "Candidate",
    "ResourceEstimate",
    "calibration",
    "choose_config",
    "estimate",
    "explore",
    "group_limits",
    "permutation_bram",
    "scratchpad_bytes",
    "scratchpad_uram",
]
