# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a matrix x vector product costs, in cycles and in primitives of the FPGA: the paper's model, and this machine's.

The paper (SophOMR's accelerator) counts with three operators: CCadd adds two ciphertexts, PCmul multiplies one with a
plaintext, Rot rotates one. With `groups` PCmul cores, one Rot and baby-step giant-step sums,

    T_iter = max(ceil(baby / groups) T_PC, T_Rot) + T_CC       Eqs 3 and 5  (`iteration`)
    T      = (baby - 1) T_Rot + giant T_iter                   Eqs 4 and 6  (`latency`)
    DSP    = groups D_PC + (groups + 1) D_CC + D_Rot           Eq 7         (`dsps`)

`published_point` fills in the operators of Table IV; the equations, the laws by which operators scale and the memories
outside Rot are reconstructed, as the paper's text does not give them in full. `addition`, `product`, `rotation`,
`matmul` and `resources` are this machine's, by formula from a configuration: cycles from the structure of the units,
DSP slices from the tiles of the multipliers, memories from widths and depths.

>>> round(published_point(16, 2).ms, 1), published_point(16, 2).dsp
(2150.2, 6920)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.omr.config import ACCUMULATORS, CONSTANTS, QUOTIENT_BITS, QUOTIENTS, TWIDDLES, OmrConfig
from ringforge.hw.machines.omr.timing import acknowledged, drain, mapped

#: The card of the paper and of the configurations: Alveo U55C.
CARD: Final = Resources(dsp=9024, bram36=2016, uram=960, lut=1_304_000, flip_flops=2_607_000)
#: The clock that the paper's times imply: 2 * 19 limbs of 65,536 words, 16 a cycle, in 0.80 ms ask for 194.6 MHz.
PUBLISHED_HZ: Final = 200e6


# ---- the equations ------------------------------------------------------------------------------------


def iteration(baby: int, groups: int, product: float, rotation: float, addition: float) -> float:
    """Eq 5 (Eq 3 with one group): time of a giant step, in the unit of the operators' times.

    Args:
        baby: baby steps, the products of a giant step.
        groups: PCmul cores.
        product, rotation, addition: times of PCmul, Rot and CCadd.
    """
    return max(-(-baby // groups) * product, rotation) + addition


def latency(
    baby: int, giant: int, groups: int, product: float, rotation: float, addition: float, outputs: int = 1
) -> float:
    """Eq 6 (Eq 4 with one group): time of `outputs` products with the same vector, which share its baby steps.

    >>> round(latency(46, 23, 2, 0.80, 31.35, 0.80), 1)
    2150.2
    """
    return (baby - 1) * rotation + outputs * giant * iteration(baby, groups, product, rotation, addition)


def dsps(groups: int, product: int, addition: int, rotation: int) -> int:
    """Eq 7: DSP slices of `groups` PCmul cores, their adders (a tree, an accumulator, the last sum) and a Rot core.

    >>> dsps(2, 897, 1, 5123)
    6920
    """
    return groups * product + (groups + 1) * addition + rotation


# ---- what may be asked ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """A ring and its primes.

    Attributes:
        log_n: log2 of the ring degree.
        limbs: primes of Q.
        special: primes of P.
        digit: primes of Q in a digit of the key switch; the last digit may have fewer.
    """

    log_n: int
    limbs: int
    special: int
    digit: int

    def __post_init__(self) -> None:
        if not (3 <= self.log_n <= 20 and self.limbs >= 1 and self.special >= 1 and self.digit >= 1):
            raise ValueError(f"{self} is no chain of primes: log_n 3 ... 20, everything else at least 1")

    @property
    def digits(self) -> list[int]:
        """Primes of each digit.

        >>> PUBLISHED_CHAIN.digits
        [10, 9]
        """
        return [min(self.digit, self.limbs - i) for i in range(0, self.limbs, self.digit)]


#: The paper's: 19 primes of 60 bits and 10 special ones, in two digits.
PUBLISHED_CHAIN: Final = Chain(16, 19, 10, 10)


@dataclass(frozen=True)
class Sum:
    """Baby steps and giant steps of a matrix with `terms` diagonals, for `outputs` matrices with the same vector."""

    baby: int = 46
    giant: int = 23
    terms: int = 1024
    outputs: int = 1

    def __post_init__(self) -> None:
        if self.baby < 1 or self.outputs < 1 or not (self.giant - 1) * self.baby < self.terms <= self.giant * self.baby:
            raise ValueError(f"{self}: the last giant step must have 1 to `baby` diagonals")


@dataclass(frozen=True)
class Operator:
    """Cycles of an operator, from its first word to its last, and what it takes."""

    cycles: float
    resources: Resources


@dataclass(frozen=True)
class Point:
    """A design point: time of a matrix x vector product, and what the accelerator takes.

    Attributes:
        product_ms: what the products of a giant step take; they run beside its rotation.
        rotation_ms: a rotation.
    """

    ms: float
    product_ms: float
    rotation_ms: float
    resources: Resources

    @property
    def dsp(self) -> int:
        return self.resources.dsp

    @property
    def rank(self) -> tuple[float, int, float, int]:
        """What the paper's ranking goes by: time first, then resources."""
        return (self.ms, self.resources.dsp, self.resources.bram36, self.resources.uram)

    def fits(self, card: Resources = CARD) -> bool:
        """Whether the card has the slices and memories."""
        r = self.resources
        return r.dsp <= card.dsp and r.bram36 <= card.bram36 and r.uram <= card.uram


# ---- the paper's operators ------------------------------------------------------------------------------

#: Table IV: milliseconds of CCadd and PCmul at 16 lanes, and of Rot at 16 lanes and 64 butterflies.
PUBLISHED_MS: Final = {"ccadd": 0.80, "pcmul": 0.80, "rot": 31.35}
PUBLISHED_ROT: Final = Resources(dsp=5123, bram36=1536, uram=313)
#: DSP slices of one of its multipliers of 60 bits: 897 = 16 * 56 + 1.
PUBLISHED_MULTIPLIER: Final = 56
#: Bits of a word, of a coefficient of a diagonal on chip, and of a word of UltraRAM, which has 4,096.
_WORD, _PLAIN, _URAM_BITS, _URAM_ROWS = 60, 20, 72, 4096
#: Limbs of the transfer buffers, and UltraRAM of MatMul in Table IV (659) beyond Rot, these and the diagonals.
_TRANSFER_LIMBS, _URAM_REST = 8, 4


def _words(chain: Chain) -> int:
    """Words of a ciphertext."""
    return 2 * chain.limbs << chain.log_n


def _uram(bits: int, rows: int) -> int:
    """UltraRAM of a memory.

    >>> _uram(16 * 60, 4096), _uram(32 * 60, 2048), _uram(16 * 20, 4096)
    (14, 27, 5)
    """
    return -(-bits // _URAM_BITS) * -(-rows // _URAM_ROWS)


def _bram(bits: int, rows: int) -> float:
    """BRAM36 of a memory with one read and one write port: 512 words of 72 bits each, or half of it."""
    return -(-bits // 36) * -(-rows // 512) / 2


def published_stream(lanes: int, chain: Chain = PUBLISHED_CHAIN) -> float:
    """Cycles of CCadd and PCmul: a row a cycle, and what Table IV's 0.80 ms have beyond that, once a limb.

    >>> published_stream(16) / PUBLISHED_HZ, round(12 * published_stream(8) / PUBLISHED_HZ * 1e3, 2)
    (0.0008, 18.94)
    """
    extra = PUBLISHED_MS["pcmul"] * 1e-3 * PUBLISHED_HZ - _words(PUBLISHED_CHAIN) / 16
    limbs = 2 * chain.limbs
    return _words(chain) / lanes + extra * limbs / (2 * PUBLISHED_CHAIN.limbs)


def published_addition(lanes: int = 16, chain: Chain = PUBLISHED_CHAIN) -> Operator:
    """The paper's CCadd."""
    return Operator(published_stream(lanes, chain), Resources(dsp=1))


def published_product(lanes: int = 16, chain: Chain = PUBLISHED_CHAIN) -> Operator:
    """The paper's PCmul."""
    return Operator(published_stream(lanes, chain), Resources(dsp=PUBLISHED_MULTIPLIER * lanes + 1))


def published_rotation(lanes: int = 16, butterflies: int = 64) -> Operator:
    """The paper's Rot, at N = 65,536 with 19 + 10 primes.

    At 16 lanes and 64 butterflies the figures are Table IV's. For others its 116 transforms of N log N / 2 butterflies
    go with the butterflies and everything else with the lanes; so do slices, 56 a butterfly. Memories are taken as
    they are.
    """
    chain = PUBLISHED_CHAIN
    transforms = rotation_counts(chain)["transforms"] * chain.log_n * 2 ** (chain.log_n - 1)
    rest = (PUBLISHED_MS["rot"] * 1e-3 * PUBLISHED_HZ - transforms / 64) * 16
    slices = PUBLISHED_ROT.dsp - 64 * PUBLISHED_MULTIPLIER
    return Operator(
        transforms / butterflies + rest / lanes,
        Resources(
            dsp=butterflies * PUBLISHED_MULTIPLIER + ceil(slices * lanes / 16),
            bram36=PUBLISHED_ROT.bram36,
            uram=PUBLISHED_ROT.uram,
        ),
    )


def published_point(
    lanes: int,
    groups: int,
    rotation_lanes: int = 16,
    butterflies: int = 64,
    addition_lanes: int = 16,
    size: Sum | None = None,
) -> Point:
    """The paper's accelerator with `groups` PCmul cores of `lanes` lanes each.

    UltraRAM: Rot's, the diagonals of a giant step with 20 bits a coefficient, and 8 limbs of transfer buffers; one more
    limb's worth is not explained and counted as it is.

    >>> [published_point(16 // g, 2 * g).dsp for g in (1, 2, 4, 8)]
    [6920, 6924, 6932, 6948]
    >>> published_point(16, 2).resources.uram
    659
    """
    size = size or Sum()
    add, mul, rot = (
        published_addition(addition_lanes),
        published_product(lanes),
        published_rotation(rotation_lanes, butterflies),
    )
    rows = (1 << PUBLISHED_CHAIN.log_n) // lanes
    passes = -(-size.baby // groups)
    buffers = groups * passes * _uram(lanes * _PLAIN, rows) + _TRANSFER_LIMBS * _uram(lanes * _WORD, rows) + _URAM_REST
    to_ms = 1e3 / PUBLISHED_HZ
    return Point(
        to_ms * latency(size.baby, size.giant, groups, mul.cycles, rot.cycles, add.cycles, size.outputs),
        to_ms * passes * mul.cycles,
        to_ms * rot.cycles,
        Resources(
            dsp=dsps(groups, mul.resources.dsp, add.resources.dsp, rot.resources.dsp),
            bram36=rot.resources.bram36,
            uram=rot.resources.uram + buffers,
        ),
    )


# ---- this machine: cycles ---------------------------------------------------------------------------------

#: Edges through a multiplier.
_MUL: Final = 12
#: Cycles of an instruction besides its rows, and of its unit's pipelines what `timing` has, from the units' structure.
_OVERHEAD: Final = {"load": 7, "xform": 3, "auto": 3, "scale": 23, "conv": 23, "kmac": 20, "final": 19, "store": 3}


def rotation_counts(chain: Chain) -> dict[str, int]:
    """What a rotation does, in limbs: transforms, automorphisms, base conversion's and keys' multiply-accumulates.

    >>> rotation_counts(PUBLISHED_CHAIN)
    {'inverse': 39, 'forward': 77, 'transforms': 116, 'conversions': 750, 'keys': 116, 'automorphisms': 38}
    """
    digits = len(chain.digits)
    inverse = chain.limbs + 2 * chain.special
    forward = digits * chain.special + (digits - 1) * chain.limbs + 2 * chain.limbs
    raised = sum(size * (chain.special + chain.limbs - size) for size in chain.digits)
    return {
        "inverse": inverse,
        "forward": forward,
        "transforms": inverse + forward,
        "conversions": raised + 2 * chain.limbs * chain.special,
        "keys": 2 * digits * (chain.special + chain.limbs),
        "automorphisms": 2 * chain.limbs,
    }


def _conversion(config: OmrConfig, rows: int, count: int) -> int:
    """CONV of `count` sources: as many cycles a row as the sources or the shared reduction take."""
    share = 2 if config.sources > 1 else min(config.lanes, 8)
    fill = count + share + (config.sources - 1).bit_length() + config.banks.bit_length() + _OVERHEAD["conv"]
    return max(-(-count // config.sources), share) * rows + fill


def _limb(config: OmrConfig, log_n: int) -> dict[str, int]:
    """Cycles of an instruction on a limb, by unit; `auto` is an automorphism, CONV depends on its sources."""
    rows, wide, wait = config.limb_rows(log_n), (1 << log_n) // config.wide, config.dram_latency
    # A stream's FIFO bridges so much latency and no more.
    streamed = ceil(rows * max(1.0, (wait + config.burst_rows + 3) / config.read_rows))
    return {
        "load": streamed + wait + _OVERHEAD["load"],
        "xform": _transform(config, log_n),
        "auto": wide + _OVERHEAD["auto"] + mapped(config),
        "scale": rows + _OVERHEAD["scale"],
        "kmac": max(2 * rows, streamed) + wait + _OVERHEAD["kmac"],
        "final": rows + _OVERHEAD["final"],
        "store": streamed + wait + _OVERHEAD["store"] + acknowledged(config),
    }


def _transform(config: OmrConfig, log_n: int) -> int:
    """Cycles of a transform: stages of few rows wait for the one before to be written."""
    fill = drain(config)
    waits = log_n if (1 << log_n) // config.wide < 4 * fill else 1
    return config.transform_cycles(log_n) + _OVERHEAD["xform"] + waits * fill


def rotation_units(config: OmrConfig, chain: Chain) -> list[tuple[int, dict[str, int]]]:
    """The stages of a rotation: how often each repeats, and cycles that a repetition takes of each unit.

    Ways take a limb each; a repetition's limbs belong to one digit, as base conversion reads the other digits' banks.
    """
    config.check_log_n(chain.log_n)
    rows, each = config.limb_rows(chain.log_n), _limb(config, chain.log_n)
    load, transform, scale, kmac = each["load"], each["xform"], each["scale"], each["kmac"]
    final, store, auto = each["final"], each["store"], each["auto"]
    digits, ways = chain.digits, config.ways
    stages = [(sum(-(-size // ways) for size in digits), {"load": 2 * load, "xform": transform, "scale": scale})]
    stages.append(
        (
            -(-chain.special // ways),
            {
                "load": load,
                "conv": sum(_conversion(config, rows, size) for size in digits),
                "xform": (len(digits) + 2) * transform,
                "kmac": len(digits) * kmac,
                "scale": 2 * scale,
            },
        )
    )
    for own, size in enumerate(digits):
        others = [other for d, other in enumerate(digits) if d != own]
        stages.append(
            (
                -(-size // ways),
                {
                    "load": load,
                    "conv": sum(_conversion(config, rows, count) for count in [*others, chain.special, chain.special]),
                    "xform": (len(others) + 2) * transform + 2 * auto,
                    "kmac": len(digits) * kmac,
                    "final": 2 * final,
                    "store": 2 * store,
                },
            )
        )
    return stages


def rotation_busy(config: OmrConfig, chain: Chain) -> dict[str, int]:
    """Cycles that each unit works in a rotation."""
    busy: dict[str, int] = {}
    for repeats, units in rotation_units(config, chain):
        for unit, cycles in units.items():
            busy[unit] = busy.get(unit, 0) + repeats * cycles
    return busy


def rotation_bound(config: OmrConfig, chain: Chain) -> int:
    """Cycles of the unit that has most to do in a rotation: rotations that overlap take no less each."""
    return max(rotation_busy(config, chain).values())


def rotation_cycles(config: OmrConfig, chain: Chain) -> int:
    """Cycles of one rotation by itself: its stages one after the other, each as long as its busiest unit works.

    Before the first there is the load of a limb, behind the last one the store of one. What stages overlap and what
    fills them is not counted; they are about the same: against programs timed instruction by instruction, with 1 to 4
    ways, 1 to 8 sources, 32 or 64 butterflies at N = 2^16, this and `rotation_chained` are within 5 %.
    """
    each = _limb(config, chain.log_n)
    return each["load"] + _stages(config, chain) + each["store"]


def rotation_chained(config: OmrConfig, chain: Chain) -> float:
    """Cycles of a rotation in a chain, where each takes what the one before stores.

    Its first stage may run beside the last ones of the rotation before. About half of that comes true in programs that
    are timed instruction by instruction.
    """
    front, middle, *back = rotation_units(config, chain)
    beside: dict[str, int] = {}
    for repeats, units in (front, *back):
        for unit, cycles in units.items():
            beside[unit] = beside.get(unit, 0) + repeats * cycles
    overlapped = middle[0] * max(middle[1].values()) + max(beside.values())
    return (_stages(config, chain) + overlapped) / 2


def _stages(config: OmrConfig, chain: Chain) -> int:
    """Cycles of the busiest units of a rotation's stages."""
    return sum(repeats * max(units.values()) for repeats, units in rotation_units(config, chain))


def sum_cycles(config: OmrConfig, log_n: int, count: int) -> int:
    """Cycles of a SUM instruction of `count` terms: a limb of `rows` x `cols` inner sums.

    Each pass takes a term in each group, or as many cycles more as memory lacks bandwidth; the second part is written
    by itself.
    """
    config.check_log_n(log_n)
    rows = config.limb_rows(log_n)
    streams = config.groups * (config.rows + config.cols) * config.port_bytes
    slower = max(1.0, streams * config.clock_hz / config.dram_bytes_per_second)
    # Through the grid to the last row, which is then acknowledged; to the first rows of memory.
    end = _MUL + (config.groups - 1).bit_length() + 4 + acknowledged(config)
    begin = max(config.rows, config.cols) + config.groups + 1 + config.dram_latency
    return begin + ceil(-(-count // config.groups) * rows * slower) + end + (config.cols - 1) * (rows + end)


def inner_sums(config: OmrConfig, chain: Chain, size: Sum) -> int:
    """Cycles of all inner sums of a matrix x vector product: every giant step, part and limb."""
    counts = sorted(
        [min(size.baby, size.terms - g * size.baby) for g in range(size.giant)] * size.outputs, reverse=True
    )
    parts = -(-2 // config.cols)
    together = counts[:: config.rows]
    return chain.limbs * parts * sum(sum_cycles(config, chain.log_n, count) for count in together)


def rotation_bytes(chain: Chain) -> int:
    """Bytes that a rotation moves: keys, twiddles, limbs of both parts."""
    limbs, digits = chain.limbs, len(chain.digits)
    keys = 2 * digits * (limbs + chain.special)
    return (keys + 2 * limbs + chain.special + 3 * limbs + 2 * limbs) * WORD_BYTES << chain.log_n


def sum_bytes(config: OmrConfig, chain: Chain, size: Sum) -> int:
    """Bytes that all inner sums move: diagonals, ciphertexts, results."""
    diagonals = size.terms * chain.limbs * (2 // config.cols)
    ciphertexts = 2 * chain.limbs * size.terms // min(config.rows, size.giant)
    return size.outputs * (diagonals + ciphertexts + 2 * chain.limbs * size.giant) * WORD_BYTES << chain.log_n


def matmul_cycles(config: OmrConfig, chain: Chain, size: Sum | None = None) -> float:
    """Eq 6 with this machine's units: the sum of a giant step is added while its rotation is written, for nothing.

    Rotations follow each other, so each takes what one in a chain does. Neither a rotation nor a giant step takes less
    than memory does for its bytes.
    """
    size = size or Sum()
    steps = size.outputs * size.giant
    a_byte = config.clock_hz / config.dram_bytes_per_second
    rotation_moves = rotation_bytes(chain) * a_byte
    moves = rotation_moves + sum_bytes(config, chain, size) / steps * a_byte
    sums = max(inner_sums(config, chain, size) / steps, moves)
    each = max(rotation_chained(config, chain), rotation_moves)
    return latency(size.baby, size.giant, 1, sums / size.baby, each, 0, size.outputs)


# ---- this machine: what it takes ----------------------------------------------------------------------------


def tiled_dsp(wa: int, wb: int, lo: int = 0, hi: int | None = None, *, from_top: bool = False) -> int:
    """DSP slices of rf_mul_tiled: tiles of 26 x 17 bits that are used, less those that are made of LUTs.

    These have at most 3 bits on a side, or fewer than 9 bits of result that are kept.

    >>> tiled_dsp(54, 54), tiled_dsp(60, 60), tiled_dsp(62, 60, 56, 122, from_top=True), tiled_dsp(60, 60, 0, 62)
    (6, 12, 8, 7)
    """
    hi = wa + wb if hi is None else hi

    def spans(width: int, tile: int) -> list[tuple[int, int]]:
        if from_top:
            return [(max(top - tile, 0), top) for top in range(width, 0, -tile)]
        return [(low, min(low + tile, width)) for low in range(0, width, tile)]

    return sum(
        min(a1 - a0, b1 - b0) > 3 and a0 + b0 < hi and a1 + b1 > lo and min(a1 + b1, hi) - a0 - b0 >= 9
        for a0, a1 in spans(wa, 26)
        for b0, b1 in spans(wb, 17)
    )


def reduction_dsp(width: int, *, montgomery: bool) -> int:
    """DSP slices of a reduction by one modulus of `width` bits.

    >>> reduction_dsp(54, montgomery=False), reduction_dsp(54, montgomery=True)
    (11, 6)
    """
    if montgomery:
        return -(-width // 18) * (2 if width - 18 > 26 else 1)
    return tiled_dsp(width + 2, width, width - 4, 2 * width + 2, from_top=True) + tiled_dsp(width, width, 0, width + 2)


def multiplier_dsp(width: int, *, montgomery: bool) -> int:
    """DSP slices of a modular multiplier.

    >>> [multiplier_dsp(w, montgomery=m) for m in (False, True) for w in (54, 60)]
    [17, 27, 12, 20]
    """
    return tiled_dsp(width, width) + reduction_dsp(width, montgomery=montgomery)


def _memory(bits: int, rows: int) -> Resources:
    """A bank, as Yosys maps it: UltraRAM above 1,024 rows, else block RAM."""
    return Resources(uram=_uram(bits, rows)) if rows > 1024 else Resources(bram36=_bram(bits, rows))


def resources(config: OmrConfig) -> dict[str, Resources]:
    """DSP slices and memories by part; LUTs and flip-flops are not modelled and 0.

    The parts: `sum` (PCmul cores, accumulators), `xform`, `scale`, `conv`, `kmac`, `final`, and the memories `x`, `tw`,
    `d`, `v`, `acc` and `tables`.
    """
    width, lanes, ways = config.word_bits, config.lanes, config.ways
    rows, wide = config.max_degree // lanes, config.max_degree // config.wide
    mul = multiplier_dsp(width, montgomery=config.montgomery)
    share = 2 if config.sources > 1 else min(lanes, 8)
    turn = lanes // share
    reductions = turn * (reduction_dsp(width, montgomery=config.montgomery) + tiled_dsp(width, QUOTIENT_BITS + 1))
    limb = _memory(lanes * width, rows)
    groups = config.wide // lanes
    return {
        "sum": Resources(dsp=config.pcmul_lanes * mul) + limb * (config.rows * config.cols),
        "xform": Resources(dsp=ways * config.butterflies * mul),
        "scale": Resources(dsp=ways * lanes * (mul + tiled_dsp(width, width))),
        "conv": Resources(dsp=ways * (lanes * config.sources * tiled_dsp(width, width) + reductions)),
        "kmac": Resources(dsp=ways * lanes * mul),
        "final": Resources(dsp=ways * lanes * mul),
        "x": _memory(lanes * width, wide) * (ways * config.buffers * groups),
        "tw": _memory(config.wide * width, wide) * (ways * TWIDDLES),
        "d": limb * config.banks,
        "v": _memory(lanes * (width + QUOTIENT_BITS), rows) * QUOTIENTS,
        "acc": limb * (2 * ACCUMULATORS * ways),
        "tables": Resources(bram36=3 * ways * _bram(width, CONSTANTS)),
    }


def total(config: OmrConfig) -> Resources:
    """The sum of `resources`."""
    return sum(resources(config).values(), start=Resources())


# ---- this machine: operators and design points --------------------------------------------------------------


def addition(config: OmrConfig, chain: Chain) -> Operator:
    """omr_ccadd at the configuration's lanes: a ciphertext's rows and two registers.

    >>> addition(OmrConfig.named("omr-paper"), PUBLISHED_CHAIN).cycles
    155650
    """
    return Operator(_words(chain) // config.lanes + 2, Resources())


def product(config: OmrConfig, chain: Chain) -> Operator:
    """omr_pcmul at the configuration's lanes: one PCmul core.

    >>> product(OmrConfig.named("omr-paper"), PUBLISHED_CHAIN).resources.dsp
    432
    """
    dsp = config.lanes * multiplier_dsp(config.word_bits, montgomery=config.montgomery)
    return Operator(_words(chain) // config.lanes + _MUL, Resources(dsp=dsp))


def rotation(config: OmrConfig, chain: Chain) -> Operator:
    """The rotation core: everything but the grid of products."""
    return Operator(rotation_cycles(config, chain), total(config) - resources(config)["sum"])


def matmul(config: OmrConfig, chain: Chain, size: Sum | None = None) -> Point:
    """The machine as a design point, with the paper's algorithm."""
    size = size or Sum()
    to_ms = 1e3 / config.clock_hz
    return Point(
        to_ms * matmul_cycles(config, chain, size),
        to_ms * inner_sums(config, chain, size) / (size.outputs * size.giant),
        to_ms * rotation_chained(config, chain),
        total(config),
    )
