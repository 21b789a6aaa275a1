# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameter sets of the third-generation scheme: two of ours, one for tests, the paper's six.

`params/fhew.json` is their one source. Sets are data: what they are worth is computed, security by
:mod:`ringforge.security`, failure probabilities by :mod:`ringforge.gates.noise`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from ringforge.errors import ParameterError
from ringforge.security import Instance

#: Secrets by name: mean square of a coefficient.
SECRET_SQUARE = {"binary": 1 / 2, "ternary": 2 / 3}


@dataclass(frozen=True)
class Gadget:
    """Digits of a number modulo Q: `count` digits of `log_base` bits above `drop` bits that are rounded away.

    The least bits of the number are dropped, so that the least digit counts multiples of 2^drop.
    """

    log_base: int
    count: int
    drop: int

    @property
    def covered(self) -> int:
        """Bits that drop and digits account for; at least those of Q."""
        return self.drop + self.count * self.log_base


@dataclass(frozen=True)
class KeySwitch:
    """The key switch from the ring's dimension N to n, by a table with a row for each coefficient, digit and value.

    Attributes:
        modulus: "q" switches after the ciphertext came down to q, "Q" before (the paper).
        base: of the digits, any integer.
        count: digits.
        drop: bits rounded away below the least digit.
        balanced: digits in -base/2 ... base/2, of which positive ones are stored; else 0 ... base - 1.
    """

    modulus: str
    base: int
    count: int
    drop: int
    balanced: bool

    @property
    def rows(self) -> int:
        """Stored values of one digit of one coefficient."""
        return self.base // 2 if self.balanced else self.base - 1


@dataclass(frozen=True)
class GateSet:
    """One set.

    Attributes:
        name: "gates-128", ...
        n: dimension of LWE ciphertexts.
        log_q: their modulus is q = 2^log_q.
        lwe_secret: "binary" or "ternary".
        log_n: ring degree N = 2^log_n; the ring's secret is ternary.
        modulus: the prime Q = 1 mod 2N.
        error_variance: of every error, centred binomial.
        key_switch: from N to n.
        gadget_a, gadget_b: digits of the two parts of an RLWE ciphertext in an external product.
        balanced: those digits lie in -B/2 ... B/2, else in 0 ... B - 1.
        automorphism: digits of the a-part in RLWE substitutions of the automorphism accumulator.
        ap_base: B_r of the AP accumulator.
        insecure: why this set exists below 128 bits or with failing gates; empty for sets to use.
        about: where it comes from.
        failure: every gate with outputs of gates as inputs fails with probability at most 2^failure; 0: no promise.
    """

    name: str
    n: int
    log_q: int
    lwe_secret: str
    log_n: int
    modulus: int
    error_variance: float
    key_switch: KeySwitch
    gadget_a: Gadget
    gadget_b: Gadget
    balanced: bool
    automorphism: Gadget
    ap_base: int
    insecure: str
    about: str
    failure: int

    def __post_init__(self) -> None:
        """Refuses sets that no code here could run.

        Raises:
            ParameterError: names what is wrong.
        """
        q_bits, where = self.modulus.bit_length(), f'gate set "{self.name}"'
        if self.lwe_secret not in SECRET_SQUARE:
            raise ParameterError(f'{where}: unknown secret "{self.lwe_secret}": take binary or ternary')
        if not 8 <= self.log_n <= 12 or self.modulus % (2 * self.ring_degree) != 1:
            raise ParameterError(f"{where}: Q = {self.modulus} is not 1 modulo 2N = {2 * self.ring_degree}")
        if not 8 <= self.log_q < q_bits:
            raise ParameterError(f"{where}: log_q = {self.log_q} is outside 8 ... {q_bits - 1}, below Q's bits")
        for label, gadget in (("a", self.gadget_a), ("b", self.gadget_b), ("automorphism", self.automorphism)):
            if gadget.covered < q_bits or gadget.count < 1 or gadget.drop < 0:
                raise ParameterError(f"{where}: gadget {label} covers {gadget.covered} bits of Q's {q_bits}")
        switch = self.key_switch
        bits = self.log_q if switch.modulus == "q" else math.log2(self.modulus)
        if switch.modulus not in ("q", "Q") or switch.count * math.log2(switch.base) + switch.drop < bits - 1e-9:
            raise ParameterError(f"{where}: the key switch's digits do not cover its modulus {switch.modulus}")
        if self.ap_base < 2:
            raise ParameterError(f"{where}: ap_base {self.ap_base} is below 2")

    @property
    def ring_degree(self) -> int:
        """N."""
        return 1 << self.log_n

    @property
    def rotation_modulus(self) -> int:
        """What LWE coefficients are counted by in the blind rotation: 2N, or q where that is smaller (the paper)."""
        return min(2 * self.ring_degree, 1 << self.log_q)

    @property
    def log_modulus(self) -> float:
        """log2 Q."""
        return math.log2(self.modulus)

    @property
    def rows(self) -> int:
        """RLWE rows of an RGSW ciphertext."""
        return self.gadget_a.count + self.gadget_b.count

    @property
    def ap_digits(self) -> int:
        """Digits d_r of a coefficient in the AP accumulator."""
        return smallest_power(self.ap_base, self.rotation_modulus)

    @property
    def table_bytes(self) -> int:
        """The key-switching table: (n + 1) words for each coefficient, digit and stored value."""
        bits = self.log_q if self.key_switch.modulus == "q" else self.log_modulus
        word = 2 if bits <= 16 else 4 if bits <= 32 else 8
        return self.ring_degree * self.key_switch.count * self.key_switch.rows * (self.n + 1) * word

    def bootstrap_key_bytes(self, method: str = "ginx") -> int:
        """RGSW keys of an accumulator: `ginx`, `ap` (none for digit 0), `automorphism` (substitution keys apart)."""
        products = {
            "ginx": self.n * (1 if self.lwe_secret == "binary" else 2),
            "ap": self.n * self.ap_digits * (self.ap_base - 1),
            "automorphism": self.n,
        }
        return products[method] * self.rows * 2 * self.ring_degree * (4 if self.modulus < 1 << 31 else 8)

    def instances(self) -> dict[str, Instance]:
        """The LWE instances that an attacker of a client's public material sees."""
        sigma = math.sqrt(self.error_variance)
        switch = self.log_q if self.key_switch.modulus == "q" else self.log_modulus
        return {
            "bootstrapping key": Instance(self.ring_degree, self.log_modulus, sigma, "ternary"),
            "key-switching key": Instance(self.n, switch, sigma, self.lwe_secret),
            "ciphertexts": Instance(self.n, self.log_q, sigma, self.lwe_secret),
        }


def smallest_power(base: int, value: int) -> int:
    """The least d with base^d >= value."""
    d, power = 0, 1
    while power < value:
        d, power = d + 1, power * base
    return d


def _text() -> str:
    packaged = resources.files("ringforge.gates").joinpath("fhew.json")
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parents[3] / "params" / "fhew.json").read_text(encoding="utf-8")


def from_record(record: dict[str, Any]) -> GateSet:
    """A set from an entry of `params/fhew.json`.

    Raises:
        ParameterError: a field is missing, or the set cannot work.
    """
    try:
        fields = dict(record)
        gadget = fields.pop("gadget")
        return GateSet(
            **{
                **fields,
                "key_switch": KeySwitch(**fields["key_switch"]),
                "gadget_a": Gadget(**gadget["a"]),
                "gadget_b": Gadget(**gadget["b"]),
                "balanced": gadget["balanced"],
                "automorphism": Gadget(**fields["automorphism"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise ParameterError(f"a gate set's record lacks a field, or has one too many: {error}") from None


def to_record(gate_set: GateSet) -> dict[str, Any]:
    """The entry of `params/fhew.json` for a set."""

    def gadget(g: Gadget) -> dict[str, int]:
        return {"log_base": g.log_base, "count": g.count, "drop": g.drop}

    switch = gate_set.key_switch
    return {
        "name": gate_set.name,
        "about": gate_set.about,
        "insecure": gate_set.insecure,
        "failure": gate_set.failure,
        "n": gate_set.n,
        "log_q": gate_set.log_q,
        "lwe_secret": gate_set.lwe_secret,
        "log_n": gate_set.log_n,
        "modulus": gate_set.modulus,
        "error_variance": gate_set.error_variance,
        "gadget": {"a": gadget(gate_set.gadget_a), "b": gadget(gate_set.gadget_b), "balanced": gate_set.balanced},
        "key_switch": {
            "modulus": switch.modulus,
            "base": switch.base,
            "count": switch.count,
            "drop": switch.drop,
            "balanced": switch.balanced,
        },
        "automorphism": gadget(gate_set.automorphism),
        "ap_base": gate_set.ap_base,
    }


@lru_cache(maxsize=1)
def _shipped() -> dict[str, GateSet]:
    return {record["name"]: from_record(record) for record in json.loads(_text())["sets"]}


def names() -> list[str]:
    """Names of the shipped sets."""
    return list(_shipped())


def for_use() -> list[GateSet]:
    """Return the shipped sets that need no reason, the cheapest first."""
    return [s for s in _shipped().values() if not s.insecure]


def named(name: str, insecure: str = "") -> GateSet:
    """A shipped set by name.

    Sets that are not for use are refused unless `insecure` states why one may be used.

    Raises:
        ParameterError: unknown name (the message lists the names), or an insecure set without a reason.
    """
    if name not in _shipped():
        raise ParameterError(f'unknown gate set "{name}": take one of {", ".join(names())}')
    gate_set = _shipped()[name]
    if gate_set.insecure and not insecure:
        raise ParameterError(
            f'gate set "{name}" is insecure ({gate_set.insecure}): take "gates-128", '
            'or state a reason with insecure="..."'
        )
    return gate_set
