# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameter sets: shipped ones by name, new ones by suggestion, both checked against the 2024 guideline.

CKKS and BFV have sets of their own; functions for BFV have it in their names.

>>> p = named("set-b")
>>> p.degree, p.max_level, p.secure
(16384, 6, True)
"""

from __future__ import annotations

from dataclasses import dataclass

from ringforge import _native
from ringforge._native import Parameters
from ringforge._native import bfv as _bfv
from ringforge._native.bfv import Parameters as BfvParameters
from ringforge._native.bgv import Parameters as BgvParameters

__all__ = [
    "BfvParameters",
    "BfvSuggestion",
    "BgvParameters",
    "Parameters",
    "Suggestion",
    "describe",
    "describe_bfv",
    "describe_bgv",
    "max_log_qp",
    "named",
    "named_bfv",
    "named_bgv",
    "names",
    "names_bfv",
    "names_bgv",
    "resolve",
    "resolve_bfv",
    "resolve_bgv",
    "security_source",
    "slots_bgv",
    "suggest",
    "suggest_bfv",
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
    """Names of the shipped sets of CKKS, BFV and BGV by their hashes."""
    why = "looked up, not used"
    return (
        {named(n, why).hash: n for n in names()}
        | {named_bfv(n, why).hash: n for n in names_bfv()}
        | {named_bgv(n, why).hash: n for n in names_bgv()}
    )


def describe(p: Parameters | str) -> dict[str, str]:
    """A set's properties as label and text, for tables."""
    p = resolve(p)
    own = {"slots": str(p.slots), "levels": f"0 ... {p.max_level}", "default scale": f"2^{p.log_scale:g}"}
    return _described(p, own)


def _described(p: Parameters | BfvParameters | BgvParameters, own: dict[str, str]) -> dict[str, str]:
    verdict = "128 bits" if p.secure else f"below 128 bits (used because: {p.insecure})"
    return {
        "name": p.name,
        "N": f"2^{p.log_n} = {p.degree}",
        **own,
        "limbs": f"{len(p.q)} + {len(p.p)} special",
        "prime bits": ", ".join(str(q.bit_length()) for q in p.q) + " + " + ", ".join(str(q.bit_length()) for q in p.p),
        "key switching": "per-limb" if p.limbs_per_digit == 1 else f"hybrid, {p.limbs_per_digit} limbs a digit",
        "log2 QP": f"{p.log_qp:.1f} of {max_log_qp(p.log_n):.0f} allowed",
        "security": verdict,
        "hash": p.hash.hex()[:16],
    }


def describe_used(p: Parameters) -> dict[str, str]:
    """The same of a set that a file names, with the name that it is shipped under."""
    return {**describe(p), "shipped as": shipped().get(p.hash, "no shipped set")}


# ---- BFV -----------------------------------------------------------------------------------------


def names_bfv() -> list[str]:
    """Names of the shipped sets of BFV."""
    return list(BfvParameters.names())


def named_bfv(name: str, insecure: str = "") -> BfvParameters:
    """A shipped set of BFV by name; as `named`.

    Raises:
        ParameterError: unknown name (the message lists the names), or an insecure set without a reason.
    """
    return BfvParameters.named(name, insecure)


def resolve_bfv(parameters: BfvParameters | str, insecure: str = "") -> BfvParameters:
    """A parameter set of BFV, given itself or by the name of a shipped one.

    Raises:
        ParameterError: as `named_bfv`.
    """
    return named_bfv(parameters, insecure) if isinstance(parameters, str) else parameters


@dataclass(frozen=True)
class BfvSuggestion:
    """A suggested parameter set of BFV and the reasoning that led to it."""

    parameters: BfvParameters
    why: str


def suggest_bfv(depth: int, t: int, batching: bool = True) -> BfvSuggestion:
    """The smallest secure set of BFV for a computation modulo t.

    Args:
        depth: products on the longest path, each relinearised, rotated and added to another.
        t: plaintext modulus, 2 ... 2^32 - 1: results over the integers are exact while they stay below t/2 in size.
        batching: slots are wanted, for which t must be a prime that is 1 mod 2N; else coefficients do.

    Raises:
        ParameterError: nothing up to N = 2^17 suffices, or t has no slots; the message says what was short.
    """
    parameters, why = _bfv.suggest(depth, t, batching)
    return BfvSuggestion(parameters, why)


def describe_bfv(p: BfvParameters | str) -> dict[str, str]:
    """A set's properties as label and text, for tables."""
    p = resolve_bfv(p)
    slots = f"2 x {p.row}" if p.batching else "none: t is no prime that is 1 mod 2N"
    return _described(p, {"t": str(p.t), "slots": slots, "log2 Q": f"{p.log_q:.1f}"})


# ---- BGV -----------------------------------------------------------------------------------------


def names_bgv() -> list[str]:
    """Names of the shipped sets of BGV."""
    return list(BgvParameters.names())


def named_bgv(name: str, insecure: str = "") -> BgvParameters:
    """A shipped set of BGV by name; as `named`.

    Raises:
        ParameterError: unknown name (the message lists the names), or an insecure set without a reason.
    """
    return BgvParameters.named(name, insecure)


def resolve_bgv(parameters: BgvParameters | str, insecure: str = "") -> BgvParameters:
    """A parameter set of BGV, given itself or by the name of a shipped one.

    Raises:
        ParameterError: as `named_bgv`.
    """
    return named_bgv(parameters, insecure) if isinstance(parameters, str) else parameters


def slots_bgv(p: BgvParameters) -> tuple[int, int]:
    """Slots of a plaintext, and d: a slot holds an element of GF(2^d), d the order of 2 modulo m."""
    d, x = 1, 2 % p.m
    while x != 1:
        d, x = d + 1, 2 * x % p.m
    return p.degree // d, d


def describe_bgv(p: BgvParameters | str) -> dict[str, str]:
    """A set's properties as label and text, for tables."""
    p = resolve_bgv(p)
    slots, d = slots_bgv(p)
    return _described(p, {"m": str(p.m), "slots": f"{slots} of GF(2^{d})", "log2 Q": f"{p.log_q:.1f}"})
