# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where FAME's paper is wrong, disagrees with itself or leaves a gap; the figures come from this package's models."""

from __future__ import annotations

from dataclasses import replace

from .counts import equation_counts, equation_degree, least_degree, product_counts
from .cycles import cycle_model
from .machines import from_afar, paper_schedule
from .memory import MemoryModel
from .parameters import BENCHMARKS, CLAIMS, SETS, U280, Shape, benchmark
from .resources import consistency
from .security import security, working_digits

_SMALL = Shape(4, 3, 5)
GIB = 2**30


def _equations() -> list[str]:
    """Index maps, diagonals, degree."""
    narrow, wide = benchmark("I-A").shape, benchmark("II-B")
    small = product_counts(_SMALL, 32)
    exact = product_counts(wide.shape, wide.parameters.slots)
    equation = equation_counts(wide.shape)
    tall = benchmark("II-C").shape
    square = product_counts(benchmark("IV-A").shape, SETS["A"].slots)
    return [
        (
            "Equation 8 reduces the source of epsilon^k modulo m, which would repeat one column in all of them; "
            "it has to be modulo m·l."
        ),
        "In Equation 9 the bracket around i/m is a floor, unlike all other brackets, which are remainders.",
        (
            "Equation 10 defines diagonals above and below the main one but not z = 0, which sigma, tau, epsilon^0 and "
            "omega^0 all have; its second case ends in column x - 1 - z, where x - 1 + z is meant."
        ),
        (
            f"Equation 14 is no upper bound: it gives {equation_counts(narrow).epsilon} diagonal for n < l, but "
            f"epsilon^k of {narrow} has 2 for every k above l - n; and it gives {equation_counts(_SMALL).epsilon} for "
            f"{_SMALL}, where k = 2 has {small.epsilon_range[1]}. Exact: (k + n - 1) div l + 1 for k < l."
        ),
        (
            f"Equation 15 is a loose upper bound unless m = l: {equation.omega:,} diagonals for {wide.shape}, where "
            f"{exact.omega_range[0]} or {exact.omega_range[1]} are not zero, and {equation_counts(_SMALL).omega} for "
            f"{_SMALL}, where at most {small.omega_range[1]} are. Even for m = l, "
            "k = 0 has one diagonal, not two."
        ),
        (
            f"Equation 16 forgets the product: {tall} would get N = {equation_degree(tall)}, whose {tall.m} x {tall.n} "
            f"result needs N = {least_degree(tall)}, the one that the benchmark uses."
        ),
        (
            f"A transform of 64 x 64 matrices is said to have {CLAIMS.rotations_64} rotations; it has as many "
            f"diagonals, of which one is not rotated. In exactly {square.slots} slots those of sigma come in pairs "
            "that are the same rotation, so 63 rotations are left for sigma and 126 for tau."
        ),
        (
            "A product has depth 3 and is said to need L of at least 4: L = 3 suffices for one product, with the "
            "result at the last limb. Q is printed as a product of L primes, but there are L + 1 limbs."
        ),
    ]


def _key_switch() -> list[str]:
    """Algorithm 3 and Table II."""
    a, b, c = (SETS[x] for x in "ABC")
    pairs = " or ".join(f"k = {k} with beta = {d}" for k, d in working_digits(a))
    many = replace(a, digits=working_digits(a)[0][1])
    sentences = [
        (
            "Algorithm 3 raises the modulus of both components by ModUp; the first one has to be multiplied by P "
            "instead, or its scale differs from the key product's. Its line 7 then adds a digit of the second "
            "component to the second sum, where the rotated first component belongs in the first."
        ),
        (
            f"Set-A cannot switch keys with k = {a.special} and beta = {a.digits}: the one digit has {a.log_q} bits, "
            f"a special prime of {a.prime_bits:.0f} bits cannot absorb its noise. Either {pairs} works; with beta = "
            f"{many.digits} the memory of Equation 23 is {MemoryModel.of(many, 'log Q').product / 1e6:.2f} MB, not "
            f"{MemoryModel.of(a, 'log Q').product / 1e6:.2f}."
        ),
        (
            f"Set-C's {c.limbs} limbs do not divide into beta = {c.digits} equal digits; "
            f"{c.limbs_per_digit}, {c.limbs_per_digit} and {c.limbs - 2 * c.limbs_per_digit} do."
        ),
    ]
    for p in (b, c):
        s = security(p)
        sentences.append(
            f"Set-{p.name} does not have {p.security} bits of security: its keys live modulo P·Q of "
            f"{s.log_qp:,.0f} bits, {s.limit:,.0f} are allowed at N = 2^{p.degree.bit_length() - 1} "
            f"(roughly {s.estimate:.0f} bits are left); log Q alone, {p.log_q:,} bits, would be within the limit."
        )
    sentences.append(
        f"Set-A claims only {a.security} bits and has them as printed (roughly {security(a).estimate:.0f}), but not "
        f"with k = {working_digits(a)[1][0]}, where P·Q has {2 * a.log_q} bits."
    )
    return sentences


def _memory() -> list[str]:
    """Memory model, keys, tables of the hardware."""
    sets = {name: MemoryModel.of(p, "log Q") for name, p in SETS.items()}
    words = {name: MemoryModel.of(p, "54-bit") for name, p in SETS.items()}
    bytes8 = MemoryModel.of(SETS["C"], "64-bit")
    cube = product_counts(benchmark("IV-C").shape, SETS["C"].slots)
    sigma = len(cube.steps(cube.step1[0]))
    fits = [
        b.name
        for b in BENCHMARKS
        if words[b.set_name].all_keys(product_counts(b.shape, b.parameters.slots)) <= U280.hbm_bytes
    ]
    small, medium, large = (consistency(x) for x in "ABC")
    b_model = cycle_model("B")
    return [
        (
            "The memory examples mix units: 3.6 MB is log Q in MB, 61 MB is MiB by either measure, 27 MB for a "
            f"ciphertext of Set-C is 54-bit words in MiB and 255 MB lies between log Q in MiB "
            f"({sets['C'].product / 2**20:.0f}) and 54-bit words ({words['C'].product / 2**20:.0f}). All are within "
            "2 % of some reading."
        ),
        (
            "Equation 19 writes the extended ciphertext as one of level L + k + 1, by Equation 17 a limb more than "
            "the L + k + 1 limbs that the text states."
        ),
        (
            "An encoded diagonal is said to take one limb; it is needed modulo every prime, P included when "
            f"transforms are hoisted. At 160-160-160 the {cube.masks:,} diagonals take "
            f"{words['C'].all_masks(cube) / GIB:.0f} GiB ({bytes8.all_masks(cube) / GIB:.0f} GiB in words of 8 bytes), "
            "unless they are encoded as they are needed."
        ),
        (
            f"Rotation keys are left out: 160-160-160 has {cube.keys} distinct rotations, {words['C'].key / 2**20:.0f} "
            f"MiB of key each, {words['C'].all_keys(cube) / GIB:.0f} GiB in all, where the card has "
            f"{U280.hbm_bytes / GIB:.0f} GiB. Of the twelve benchmarks only {', '.join(fits)} fit."
        ),
        (
            f"About {CLAIMS.traffic_mb_per_transform:.0f} MB of traffic for a transform counts ciphertexts only: sigma "
            f"of 160-160-160 reads {words['C'].keys_read(sigma) / 1e9:.0f} GB of keys."
        ),
        (
            f"In the cycle model FAME-M reads {b_model.key_bytes_per_second / 1e9:.0f} GB/s of keys, and "
            f"{b_model.stream_bytes_per_second / 1e9:.0f} with the diagonals, while its memory gives "
            f"{U280.hbm_bytes_per_second / 1e9:.0f}: the diagonals have to be made on the chip, or it waits."
        ),
        (
            f"Table V counts 18-kbit memory blocks: {large.resources.bram:,} blocks of 36 kbit would be more than the "
            f"card's {U280.bram36:,}. With one block for each lane's permutation buffer the rest is exactly the "
            f"scratchpads of FAME-S ({small.blocks_total / 2 / 2**10:.0f} KiB a PE) and FAME-L "
            f"({large.blocks_total / 2**20:.1f} MiB); such a block is 36 bits wide, though, and a buffer of 54-bit "
            "words needs two."
        ),
        (
            f"FAME-M's blocks hold {medium.blocks_total / 2**20:.1f} MiB in both PEs together, Table IV gives that to "
            f"each. Its transform needs {medium.limbs_needed} limbs a PE: {medium.limbs} fit by Table IV, "
            f"{medium.limbs_by_blocks} by Table V."
        ),
    ]


def _results() -> list[str]:
    """Latencies and speed-ups."""
    cube = cycle_model("C").latency(benchmark("IV-C").shape)
    double = cycle_model("C", stage_passes=2).latency(benchmark("IV-C").shape)
    price, afar = paper_schedule(benchmark("IV-C")), from_afar(benchmark("IV-C"))
    rest = (CLAIMS.mean_speedup * len(BENCHMARKS) - CLAIMS.best_speedup) / (len(BENCHMARKS) - 1)
    return [
        (
            "Whether a stage of a transform takes N / dp cycles or twice that is not said (one multiplier a lane, "
            f"half as many butterflies as lanes): the reconstructed model gives {cube.total:.2f} s and "
            f"{double.total:.2f} s for 160-160-160, said to take about {CLAIMS.seconds_160:.0f} s."
        ),
        (
            f"The mean speed-up of {CLAIMS.mean_speedup:.0f} is half due to one benchmark: without the best one "
            f"({CLAIMS.best_speedup:,.0f}) the other eleven average {rest:.0f}. That one's processor took about "
            f"{CLAIMS.best_speedup * CLAIMS.seconds_160:,.0f} s."
        ),
        (
            "Latencies take keys and diagonals as given in the card's memory. On our machine the schedule of "
            f"160-160-160 takes {price.seconds:.2f} s like that; but they are {afar.stored / GIB:.0f} GiB, and over "
            f"the host's link at its peak what the card lacks takes {afar.host_seconds:.0f} s in each product."
        ),
        (
            "All transforms of step 2 start from the same two ciphertexts, so one ModUp of each serves all of them; "
            "the paper repeats it for each k. One relinearisation after the sum over k would do, too."
        ),
    ]


def findings() -> list[str]:
    """One or two sentences for every error, contradiction or gap."""
    return _equations() + _key_switch() + _memory() + _results()
