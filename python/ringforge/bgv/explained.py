# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a parameter set costs and how its noise goes, as text."""

from __future__ import annotations

from ringforge import params
from ringforge._native.bgv import NoiseRules, Parameters
from ringforge.binary_slots import BinarySlots


def key_bytes(p: Parameters, limbs: int | None = None) -> int:
    """Bytes of an evaluation key in memory; a file of it has half of them."""
    limbs = p.max_limbs if limbs is None else limbs
    digits = -(-limbs // p.limbs_per_digit)
    return 2 * digits * (limbs + len(p.p)) * p.degree * 8


def explain(p: Parameters | str) -> str:
    """Ring, slots, primes, security, sizes, and a chain of squares at the fewest limbs that noise allows."""
    p = params.resolve_bgv(p)
    slots, rules = BinarySlots(p.m), NoiseRules(p)
    verdict = "128 bits" if p.secure else f"below 128 bits (used because: {p.insecure})"
    lines = [
        f"{p.name or 'BGV'}: Z[X]/Phi_{p.m}, degree {p.degree:,}, {slots.size:,} slots of GF(2^{slots.field_degree})",
        f"Q: {p.max_limbs} primes, {p.log_q:.1f} bits; P: {len(p.p)} primes; {p.limbs_per_digit} limbs a digit",
        f"log2 QP = {p.log_qp:.1f} of {params.max_log_qp(p.log_n):.0f} allowed: {verdict}",
        f"a ciphertext has {2 * p.max_limbs * p.degree * 8 / 1e6:,.1f} MB, "
        f"an evaluation key {key_bytes(p) / 1e6:,.1f} MB",
        f"a modulus switch leaves noise of 2^{rules.rounding():.1f} at roots of unity, a key switch adds "
        f"2^{rules.key_switch(p.max_limbs):.1f}",
        "",
        "square  limbs  noise    budget",
    ]
    limbs, noise = p.max_limbs, rules.encrypted(True)
    lines.append(f"{'fresh':>6}  {limbs:>5}  2^{noise.log_bound:<5.1f}  {rules.budget(noise, limbs):>6.1f} bits")
    for i in range(1, 1000):
        product = rules.multiplied(noise, noise, limbs)
        to = rules.fewest_limbs(product, limbs)
        noise, limbs = rules.mod_switched(product, limbs, to), to
        left = rules.budget(noise, limbs)
        if left <= 0:
            break
        lines.append(f"{i:>6}  {limbs:>5}  2^{noise.log_bound:<5.1f}  {left:>6.1f} bits")
    return "\n".join(lines)
