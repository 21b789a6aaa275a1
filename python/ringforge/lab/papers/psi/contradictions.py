# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the paper is wrong, disagrees with itself or leaves a gap, and what is done here; figures from the models."""

from __future__ import annotations

import math

from ringforge.gates import noise
from ringforge.security import Instance, estimate

from . import sizes
from .cycles import ideal_us, product_bound_us, stage_cycles, substitution_bound_us
from .figures import (
    CLAIMED_REDUCTION,
    GATE_ROWS,
    IN_FLIGHT,
    PRODUCT,
    PSI_DEGREE,
    PSI_DIGITS,
    PSI_LOG_MODULUS,
    PSI_ROWS,
    PSI_SIGMA,
    SAVED_LUTS,
    SOFTWARE_FACTOR,
    SOFTWARE_SHARE,
    SUBSTITUTION,
)
from .protocol import DIGIT_US, LOOKUP_US, breakdown, chain_bound, sixth, table_reduction
from .structures import Size, asymmetric, copies, symmetric

_MIB, _GIB = 2**20, 2**30


def psi_security() -> float:
    """Bits of the PSI parameters: N = 2048, 54-bit modulus, ternary key."""
    return estimate(Instance(PSI_DEGREE, PSI_LOG_MODULUS, PSI_SIGMA, "ternary")).bits


def _algorithms() -> list[str]:
    return [
        (
            "Algorithm 2 starts its loop at m = N, so that it would never run; it has to start at m = 1. Transforms "
            "here are tested against the definition."
        ),
        (
            "Both decomposition sums leave out the factor B^j of digit j. A gadget here is g_j = 2^drop·B^j, with "
            "digits around 0 in every PSI plan and in our gate sets, plain ones (0 to B - 1) in the paper's gate sets."
        ),
        (
            "Equation 14's second line leaves the odd coefficients at odd places: the expansion needs the monomial "
            'X^(-2^s) after each subtraction, and Appendix B\'s "n" is N. Both as in Onion Ring ORAM, here and there.'
        ),
        (
            "The sentence that explains NAND is inverted: the sum of two bits plus 2, modulo 4, is 2 or 3 when NAND is "
            "1, and 0 when it is 0. Truth tables are tested for every gate."
        ),
        (
            "Half circles of XOR and XNOR in the authors' repository end q/8 from the phases 0 and q/2; ours are "
            "centred, q/4 from both, which the doubled noise needs."
        ),
        (
            "Exponents of the blind rotation are modulo q in the paper's sets, where q divides 2N, and nothing is "
            "rounded. Ours round to 2N, centred: half the rounding errors' sum is taken from the body, so that binary "
            "keys cause no bias."
        ),
    ]


def _gates() -> list[str]:
    rows, ours = GATE_ROWS, {row.name: sizes.gate_set(row.ours) for row in GATE_ROWS}
    switch = {name: estimate(s.instances()["key-switching key"]).bits for name, s in ours.items()}
    weakest = ", ".join(f"{name} {bits:.0f}" for name, bits in switch.items())
    failing = max(rows, key=lambda row: noise.log2_failure(ours[row.name], "NAND", "gate", "ap"))
    failure = noise.log2_failure(ours[failing.name], "NAND", "gate", "ap")
    mean = sum(row.improvement for row in rows) / len(rows)
    full = next(row for row in rows if row.name == "STD256Q")
    return [
        (
            "Keys are switched modulo Q at dimension n, so the key-switching key is LWE of dimension n with the large "
            f"modulus, and that limits every set's security (bits: {weakest}), not the ring. Our sets switch modulo q; "
            "the paper's are kept, marked insecure, for its tables."
        ),
        (
            f"No failure probability is given; by our model a NAND of {failing.name} on outputs of gates fails with "
            f"probability 2^{failure:.0f}. Our sets promise 2^-64 and 2^-128."
        ),
        (
            f"Table 2's speed-ups are software over processing and streaming; their mean is {mean:.1f}, not 21. They "
            "compare throughput, 12 inputs in flight, with software whose threads are not stated."
        ),
        (
            "The accelerator multiplies also where a digit is 0 and the key is RGSW(1): skipping would save one "
            "product in B_r. Software here skips them, so its times may depend on ciphertexts, which are public."
        ),
        (
            f"STD256Q's key takes {full.key_bytes / _GIB:.0f} GiB, all of the one memory bank's address space; with "
            f"seeds for the uniform halves it is stored in {sizes.gate_key_stored(ours['STD256Q']) / _GIB:.1f} GiB "
            "here."
        ),
    ]


def _operations() -> list[str]:
    subs, product = substitution_bound_us(), product_bound_us()
    wrong = [row for row in PSI_ROWS if row.bound < chain_bound(row)]
    shown = ", ".join(f"({row.bits}, {row.log_bins}): {row.bound} s < {chain_bound(row):.0f} s" for row in wrong)
    reduction = SOFTWARE_SHARE * (1 - 1 / SOFTWARE_FACTOR)
    assert all(sixth(row) == row.bound for row in PSI_ROWS)
    return [
        (
            f'"About 17 us" is the latency without streaming divided by {IN_FLIGHT} inputs in flight '
            f"({ideal_us(SUBSTITUTION.latency_us, IN_FLIGHT):.1f} and {ideal_us(PRODUCT.latency_us, IN_FLIGHT):.1f} "
            f"us), as if buffers were pipeline stages; it is {17 * 125 / stage_cycles(PSI_DEGREE):.1f} of the "
            f"transform's initiation intervals, and a substitution needs 7 ({subs:.1f} us), a product 12 "
            f"({product:.1f} us)."
        ),
        (
            f"Table 5 is Table 4 divided by {SOFTWARE_FACTOR} and rounded down, in all nine rows. In {len(wrong)} it "
            f"is less than the compute chain's own bound ({shown}), so one pipeline cannot attain it. We state both."
        ),
        (
            f"Software's share of {SOFTWARE_SHARE:.0%}, made {SOFTWARE_FACTOR} times faster, saves {reduction:.1%}, "
            f"the stated {CLAIMED_REDUCTION:.0%}; the speed-up of Table 5 takes the factor {SOFTWARE_FACTOR} for all "
            "the time instead."
        ),
        (
            f"Two constants, {DIGIT_US} us for each digit of a bit and {LOOKUP_US} us for each product of a lookup, "
            "give all of Table 4; operations at 105 us give less than half of each. The rest is upload and software."
        ),
    ]


def _structure() -> list[str]:
    row, parts = PSI_ROWS[0], breakdown(PSI_ROWS[0])
    size = Size(PSI_DEGREE.bit_length() - 1, PSI_DIGITS, PSI_LOG_MODULUS)
    ours, theirs = asymmetric(size, buffers=2), symmetric(size).times(copies(size))
    inverse = (size.log_n + 1) * PSI_DEGREE // 2
    return [
        (
            "Figure 10 is a drawing, whose numbers the text does not have. Operations at 105 us, RGSW ciphertexts as "
            "fast "
            f"as two RLWEs are streamed, and software as the rest give {', '.join(f'{p:.0f}' for p in parts)} s at "
            f"({row.bits}, {row.log_bins}): software is {parts[3] / row.seconds:.2%}, the stated {SOFTWARE_SHARE:.0%}."
        ),
        (
            f"By log2(N)/dc there are {ours.inverses} inverse transforms for dc = {PSI_DIGITS}, enough for products. A "
            f"substitution, {PSI_DIGITS} digits and b, has {(PSI_DIGITS + 1) * stage_cycles(PSI_DEGREE):,} cycles, in "
            "which "
            f"two do not end ({inverse // 2:,}): four are needed, as built."
        ),
        (
            "Half of the polynomial buffers are saved if a stage has one behind it. In the authors' repository, and "
            "here, "
            f"it has two, so that it can go on while the next one reads: {1 - ours.buffers / theirs.buffers:.0%} saved."
        ),
        (
            f"A saving of {SAVED_LUTS:.0%} of the LUTs is stated without width, degree or digits. Both structures are "
            "in "
            "our RTL; `ringforge hw symmetric psi` synthesises them for any."
        ),
    ]


def _protocol() -> list[str]:
    half = [row for row in PSI_ROWS if row.log_bins == 10]
    halves = ", ".join(f"{sizes.to_sender_whole(row) / _MIB:.1f}" for row in half)
    printed = ", ".join(f"{row.to_sender_mb:.1f}" for row in half)
    keys = sizes.key_switch_keys() + sizes.rgsw_key()
    return [
        "Sizes in MB and KB are MiB and KiB; Table 4's columns of sizes are headed b and k, and mean the two "
        "directions.",
        (
            f"For 2^10 bins Table 4 charges half a ciphertext, in bytes ({printed}) and in time; RLWE ciphertexts have "
            f"no halves: it would be {halves} MiB. Ours expand only as many stages as there are bins, and send seeds."
        ),
        (f"Keys are left out of Table 4: {keys / _MIB:.2f} MiB, once for each receiver. Our tables list them."),
        (
            "The hash function of Equation 11 is not said; here it is keyed and universal, and its key is public with "
            "the table."
        ),
        (
            "At most one element of the receiver in each bin is assumed, but no policy given for collisions, which "
            "permutation-based hashing with one function has long before the bins are full. Here three functions and "
            "cuckoo hashing, further queries for what is left, and dummies in empty bins whose replies are ignored."
        ),
        (
            "The reply is said to leak nothing but a bit. Its noise depends on the table, and so do other "
            "coefficients: here each reply is packed, gets a fresh encryption of zero, and is switched to a small "
            "modulus. That hides the mask but is no flooding; the default mode asks with PRF outputs, so that there "
            "is nothing to learn."
        ),
        (
            "The plaintext modulus of PSI is not said, and the repository tests only the selection; here T = 8 in the "
            "paper's plans. Plain digits do not work with it: their mean carries the same errors into every product, "
            "and 12 and 0 of 2,048 bins were wrong with two keys at w = 18. So digits of these plans are balanced."
        ),
        (
            f"Its modulus of {PSI_LOG_MODULUS} bits at N = {PSI_DEGREE} has {psi_security():.0f} bits by our "
            "estimator, one bit of modulus more than the guideline's limit for 128; our plans take 50 bits."
        ),
        (
            f"A reduction of 2^25 is 2^{math.log2(table_reduction()):.1f}, and 128 - 1 + 11 products for 18 bits count "
            "neither expansion nor reconstruction, which together are more."
        ),
    ]


def contradictions() -> list[str]:
    """One sentence or two for each: what is wrong, what is done here."""
    return [*_algorithms(), *_gates(), *_operations(), *_structure(), *_protocol()]
