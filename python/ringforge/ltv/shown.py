# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a parameter set costs and how its noise goes, as text."""

from __future__ import annotations

from math import log2

from ringforge._native.ltv import WARNING, NoiseRules, Parameters, ternary_product_deviation
from ringforge.errors import ParameterError


def explain(p: Parameters) -> str:
    """Levels, keys, noise of a chain of products at each level, as predicted; the ring's growth in both bases."""
    rules = NoiseRules(p)
    n = p.degree
    lines = [
        f"{p.name or 'LTV'}: Z[X]/Phi_{p.m}, degree {n:,}, {len(p.q)} primes of {log2(max(p.q)):.0f} bits, "
        f"{p.levels} levels, digits: {p.gadget} of {p.window} bits",
        WARNING,
        f"used because: {p.insecure}",
        "",
        "a product of two ternary polynomials has coefficients of standard deviation",
    ]
    plain = 2 / 3 * n**0.5
    for basis in ("power", "tensor"):
        try:
            deviation = ternary_product_deviation(p.m, basis)
        except ParameterError:
            continue
        lines.append(f"  {basis + ' basis':<14}{deviation:>9,.0f}   expansion {deviation / plain:.1f}")
    lines += [
        f"  {'X^n + 1':<14}{plain:>9,.0f}",
        "",
        "level  limbs  digits  evaluation key      budget after a product",
    ]
    noise, total = rules.encrypted(), 0
    lines.append(f"{0:>5}  {p.limbs(0):>5}  {'':>6}  {'':>14}  {rules.budget(noise, p.limbs(0)):>10.1f} bits (fresh)")
    for level in range(1, p.levels + 1):
        product = rules.relinearized(rules.product(noise, noise), level)
        noise = rules.switched(product, p.limbs(level - 1), p.drop)
        total += p.key_bytes(level)
        lines.append(
            f"{level:>5}  {p.limbs(level):>5}  {p.digits(level):>6}  {p.key_bytes(level) / 1e6:>11,.1f} MB  "
            f"{rules.budget(noise, p.limbs(level)):>10.1f} bits"
        )
    lines.append(f"all evaluation keys: {total / 1e9:.3g} GB")
    return "\n".join(lines)
