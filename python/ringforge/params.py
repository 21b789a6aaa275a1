# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""CKKS parameter sets: shipped ones by name, new ones by suggestion, both checked against the 2024 guideline.

>>> p = named("set-b")
>>> p.degree, p.max_level, p.secure
(16384, 6, True)
"""

from __future__ import annotations

from dataclasses import dataclass

from ringforge import _native
from ringforge._native import Parameters

__all__ = [
    "Parameters",
    "Suggestion",
    "describe",
    "max_log_qp",
    "named",
    "names",
    "resolve",
    "security_source",
    "suggest",
]


def names() -> list[str]:
    """Names of the shipped sets."""
    return list(Parameters.names())


def named(name: str, insecure: str = "") -> Parameters:
    """A shipped set by name.

    Sets below 128 bits of security are refused unless `insecure` states why one may be used.

    Raises:
        ParameterError: unknown name (the message lists the names), or an insecure set without a reason.
    """
    return Parameters.named(name, insecure)


def resolve(parameters: Parameters | str, insecure: str = "") -> Parameters:
    """A parameter set, given itself or by the name of a shipped one.

    Raises:
        ParameterError: as `named`.
    """
    return named(parameters, insecure) if isinstance(parameters, str) else parameters


@dataclass(frozen=True)
class Suggestion:
    """A suggested parameter set and the reasoning that led to it."""

    parameters: Parameters
    why: str


def suggest(depth: int, precision_bits: float, slots: int, headroom_bits: int = 9) -> Suggestion:
    """The smallest secure set for a computation.

    Args:
        depth: rescalings on the longest path (one per matrix or multiplication).
        precision_bits: bits after the point that results of size up to 1 should keep, 4 ... 44.
        slots: numbers that must fit in one ciphertext.
        headroom_bits: results may reach 2^headroom_bits in size.

    Raises:
        ParameterError: nothing up to N = 2^17 suffices; the message says what was short.
    """
    parameters, why = _native.suggest(depth, precision_bits, slots, headroom_bits)
    return Suggestion(parameters, why)


def max_log_qp(log_n: int) -> float:
    """Largest log2(QP) that gives 128 bits of classical security with a ternary secret; 0 if not tabulated."""
    return float(_native.max_log_qp(log_n))


def security_source() -> str:
    """The publication that the security limits come from."""
    return str(_native.security_source())


def shipped() -> dict[bytes, str]:
    """Names of the shipped sets by their hashes."""
    return {named(name, "looked up, not used").hash: name for name in names()}


def describe(p: Parameters | str) -> dict[str, str]:
    """A set's properties as label and text, for tables."""
    p = resolve(p)
    limit = max_log_qp(p.log_n)
    verdict = "128 bits" if p.secure else f"below 128 bits (used because: {p.insecure})"
    return {
        "name": p.name,
        "N": f"2^{p.log_n} = {p.degree}",
        "slots": str(p.slots),
        "limbs": f"{len(p.q)} + {len(p.p)} special",
        "levels": f"0 ... {p.max_level}",
        "prime bits": ", ".join(str(q.bit_length()) for q in p.q) + " + " + ", ".join(str(q.bit_length()) for q in p.p),
        "key switching": "per-limb" if p.limbs_per_digit == 1 else f"hybrid, {p.limbs_per_digit} limbs a digit",
        "log2 QP": f"{p.log_qp:.1f} of {limit:.0f} allowed",
        "default scale": f"2^{p.log_scale:g}",
        "security": verdict,
        "hash": p.hash.hex()[:16],
    }


def describe_used(p: Parameters) -> dict[str, str]:
    """The same of a set that a file names, with the name that it is shipped under."""
    return {**describe(p), "shipped as": shipped().get(p.hash, "no shipped set")}
