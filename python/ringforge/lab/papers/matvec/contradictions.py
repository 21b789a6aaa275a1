# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the HE matrix-vector FPGA paper disagrees with itself or leaves a gap.

Every figure in the sentences is computed by this package's models, so a change of a
model cannot leave a stale sentence behind.
"""

from __future__ import annotations

from ringforge.hw.machines.matvec.published import TABLE_VI, TABLE_VII, U200

from .cycles import (
    key_switch_bounds,
    key_switch_cycles,
    key_switch_schedule,
    key_switch_transforms,
    key_switches_per_second,
    ntt_cycles,
)
from .figures import FIGURE_WORKLOAD, figure1, figure3
from .parameters import (
    CONFIGS,
    GB,
    GIB,
    HEAX_KEY_SWITCHES_PER_SECOND,
    MB,
    MIB,
    PAPER_KEY_SWITCHES_PER_SECOND,
    PAPER_MAX_SPEEDUP_1_THREAD,
    PAPER_MAX_SPEEDUP_64_THREADS,
    PAPER_SPEEDUP_OVER_HEAX,
    SETS,
    layer,
)
from .resources import POLYNOMIALS_PER_LIMB, group_limits
from .traffic import Entity, Workload


def _key_rate() -> list[str]:
    """Table V against Algorithm 2 and Table VI."""
    b, config = SETS["B"], CONFIGS["B"]
    rate = PAPER_KEY_SWITCHES_PER_SECOND
    transforms = key_switch_transforms(b.limbs)
    bounds = key_switch_bounds(b, config, U200.dram_bytes_per_second)
    ntt = ntt_cycles(b.degree, config.lanes)
    per_group = config.groups * config.clock_hz / rate
    waves = key_switch_schedule(b.limbs, config.pes_per_group).waves
    coincidence = 2 * ntt + 40 * TABLE_VI["element-wise"]
    ratio = rate / HEAX_KEY_SWITCHES_PER_SECOND
    key = Workload(1, 1, b.degree, b.limbs).key_bytes
    return [
        (
            f"Table V claims {rate:,} key switches per second, but Algorithm 2 takes "
            f"{transforms.total} transforms per switch and the butterflies of the described "
            f"design, never idle, allow {bounds.butterfly:,.0f} "
            f"({bounds.butterfly_without_rescale:,.0f} without the closing rescale): the claim "
            f"is {rate / bounds.butterfly_without_rescale:.2f} to {rate / bounds.butterfly:.2f} "
            "times more than the described resources can do."
        ),
        (
            "With the transform length of Table VI the same bounds drop to "
            f"{bounds.table_vi:,.0f} and {bounds.table_vi_without_rescale:,.0f} per second."
        ),
        (
            f"The claimed rate leaves {per_group:,.0f} cycles per switch and PE group, "
            f"{per_group / ntt:.2f} transform times, while a plain schedule on seven PEs needs "
            f"{waves} ({key_switch_cycles(b, config):,} cycles, "
            f"{key_switches_per_second(b, config):,.0f} per second)."
        ),
        (
            f"Two transforms and forty element-wise passes ({coincidence:,} cycles) would give "
            f"{config.groups * config.clock_hz / coincidence:,.0f} per second, very near the "
            f"claim, but no key switch over {b.limbs} limbs has only two transforms; the match "
            "looks accidental."
        ),
        (
            "At the claimed rate, reading a new key for every switch takes "
            f"{rate * key / GB:.1f} of the card's {U200.dram_bytes_per_second / GB:.0f} GB/s "
            f"(the bus alone caps it at {bounds.key_stream:,.0f} per second), which sits badly "
            "with the statement that the product is bound by compute."
        ),
        f"The ratio to HEAX is {ratio:.3f}, printed as {PAPER_SPEEDUP_OVER_HEAX}.",
        (
            f"HEAX's {HEAX_KEY_SWITCHES_PER_SECOND:,} per second is said to be for the same "
            "parameters as Set-B; only that paper can confirm it, and it is not checked here."
        ),
    ]


def _memory() -> list[str]:
    """Cost model, key volume and scratchpads."""
    steps, shares = figure3(), figure1()
    b, c = SETS["B"], SETS["C"]
    alex7, alex6, vgg6 = (Workload.of(layer(name), b) for name in ("alex-7", "alex-6", "vgg-6"))
    alex7_c = Workload.of(layer("alex-7"), c)
    card = U200.dram_bytes

    def stored(workload: Workload) -> float:
        return (workload.alignment_key_volume_bytes + workload.matrix_bytes) / GB

    both = shares[Entity.NTT_TWIDDLES] + shares[Entity.PARTIAL_SUM]
    config = CONFIGS["C"]
    per_pe = -(-c.limbs // config.pes_per_group)
    poly = Workload(1, 1, c.degree, c.limbs).polynomial_bytes
    return [
        (
            "The cost axis of Figure 3 is labelled MB, yet the paper's equations give "
            f"{steps[0].traffic_bytes / GIB:.1f} GiB ({steps[0].traffic_bytes / GB:.1f} GB) for "
            "the first bar, so it must read GB."
        ),
        (
            f"The text names NTT twiddles and partial sums as the costliest entities ({both:.0%} "
            "together), but by Equation 12 the key-switch keys are the largest single one "
            f"({shares[Entity.KEYS]:.1%}) and no reuse removes them."
        ),
        (
            f"The on-chip memory said to be close to 6 MB is {steps[-1].sram_bytes / MIB:.2f} "
            f"MiB or {steps[-1].sram_bytes / MB:.1f} MB by the paper's sizes."
        ),
        (
            f"With one key per rotation, Set-B needs {alex7.alignment_key_volume_bytes / GB:.1f} "
            f"GB of keys for m = 4096; with the encoded matrix Alex-7 takes {stored(alex7):.1f} "
            f"GB, and Alex-6 ({stored(alex6):.1f} GB) and VGG-6 ({stored(vgg6):.1f} GB) exceed "
            f"the card's {card / GB:.0f} GB although the latency is said to start from the "
            f"card's DRAM (read as 64 GiB, {64 * GIB / GB:.1f} GB, the card would still hold "
            "Alex-6 but not VGG-6)."
        ),
        (
            f"Set-C with m = 4096 needs {alex7_c.alignment_key_volume_bytes / GB:.0f} GB of "
            f"keys, {alex7_c.alignment_key_volume_bytes / card:.1f} times the card, yet Figure "
            "10 shows such layers."
        ),
        (
            f"Set-C puts {per_pe} limbs on each PE, which needs at least "
            f"{POLYNOMIALS_PER_LIMB * per_pe} polynomials of {poly // 1024} KiB in the "
            f"scratchpad where {config.scratchpad_bytes // poly} fit, so the run must spill; the "
            "paper says that the scratchpad holds input, twiddles and partial sum."
        ),
    ]


def _algorithm() -> list[str]:
    """Algorithms, data layout and loop order."""
    work = FIGURE_WORKLOAD
    gru = Workload.of(layer("ds2-gru"), SETS["B"])
    return [
        (
            "Section II multiplies plaintexts with m rotations of the input, while the cost "
            "model uses the input unrotated and rotates every partial sum into place; both are "
            "correct methods, but only the second matches the reuse figures."
        ),
        (
            f"Equation 12 counts m + ceil(log k) key reads ({work.m + work.fold_rotations:,} in "
            "Figure 3), but rotating every partial sum 1 + ceil(log k) times is "
            f"{work.m * (1 + work.fold_rotations):,} rotations; adding up the chunks once, after "
            "accumulation, gives the same result with the smaller count."
        ),
        (
            "The number of chunks floor(N / 2m) is right only if m divides the padded n and the "
            f"input is replicated; DS2-GRU gives k = {gru.chunks}, so both dimensions have to be "
            "padded to powers of two."
        ),
        (
            "The paper does not say at which level the key switch runs relative to the rescale "
            "after the plaintext product; its cost model charges two rescales at level l. A "
            "rescale once per output, after accumulation, would do."
        ),
        (
            "Algorithm 1 leaves out the rounding offsets of half the dropped prime before and "
            "after the inverse transform, without which the division truncates instead of "
            "rounding."
        ),
        (
            "The last line of Algorithm 2 adds the whole input ciphertext, but its second "
            "component has been consumed by the switch: only the first may be added."
        ),
        (
            "The automorphism is given as i -> i * 5^k mod N; it has to be taken mod 2N, with a "
            "sign change where the result reaches N."
        ),
    ]


def _design_and_results() -> list[str]:
    """Hardware statements and headline results."""
    limits = {name: group_limits(U200.part, CONFIGS[name], SETS[name].degree) for name in ("A", "B")}
    pe_ratio = CONFIGS["B"].pes / CONFIGS["A"].pes
    ff_ratio = TABLE_VII["B"].kilo_flip_flops / TABLE_VII["A"].kilo_flip_flops
    threads = PAPER_MAX_SPEEDUP_1_THREAD / PAPER_MAX_SPEEDUP_64_THREADS
    return [
        (
            f"A speed-up of up to {PAPER_MAX_SPEEDUP_1_THREAD:.0f} over one thread next to up to "
            f"{PAPER_MAX_SPEEDUP_64_THREADS} over 64 threads would mean that 64 threads gain "
            f"only {threads:.1f} times; one of the two is probably misprinted."
        ),
        (
            "The group count is said to be limited by on-chip memory, but the scratchpads would "
            f"allow {limits['A']['sram_bytes']} groups (Set-A) and {limits['B']['sram_bytes']} "
            f"(Set-B) while the DSP slices allow {limits['A']['dsp']} and {limits['B']['dsp']}; "
            f"the paper has {CONFIGS['A'].groups} and {CONFIGS['B'].groups}."
        ),
        (
            f"Flip-flops grow {ff_ratio:.2f} times from the Set-A to the Set-B/C design and PEs "
            f"only {pe_ratio:.2f} times; the paper does not explain it."
        ),
        (
            "The prime size is not stated; 54 bits fit both the 128-bit limits of the three "
            "parameter sets and 17 DSP slices per multiplier."
        ),
        (
            "The sentence that the MAC array processes two coefficients per cycle fits one "
            "butterfly of an NTT core, not an array of c lanes."
        ),
        ("Absolute times of Figures 8 and 10 are not given in the text; only the ratios can be compared."),
        (
            "One key per rotation is not necessary: the Horner form acc = P_d + rotate(acc) "
            "needs one key (two with interleaved chains), which the paper does not consider."
        ),
    ]


def contradictions() -> list[str]:
    """One sentence or two for every contradiction or gap, grouped by subject."""
    return _key_rate() + _memory() + _algorithm() + _design_and_results()
