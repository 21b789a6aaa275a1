# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Noise of gates: variances of each stage, and the probability that a gate or a circuit fails.

Errors of different ciphertexts add independently (the heuristic of Ducas, Micciancio, EUROCRYPT 2015, and Chillotti
et al., J. Cryptology 2020); what they sum to is Gaussian, being sums of hundreds of thousands of terms. The evaluator
adds different ciphertexts only; what a gate would do with one ciphertext at several inputs is its `wiring`. Lengths
of keys are those of all but about one key in 30,000, mean plus four standard deviations, unless a key's own are given
(:class:`KeyLengths`).

All variances of an LWE phase are given in squared units of the rotation modulus M (2N, or q in the paper's sets):
M units are a full turn, a bit is M/4, decisions are M/8 away from sums of bits and M/4 from doubled ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringforge.errors import ParameterError
from ringforge.gates.sets import SECRET_SQUARE, Gadget, GateSet, for_use

METHODS = ("ginx", "ap", "automorphism")

#: Standard deviations by which keys may be longer than the mean.
KEY_DEVIATIONS = 4.0

#: Keys g^1 ... g^w of substitutions in the automorphism accumulator.
WINDOW = 10


@dataclass(frozen=True)
class Gate:
    """A gate: linear combinations of its inputs, and a decision between two half circles for each.

    Attributes:
        sums: weights of the inputs in the combination of each blind rotation; two rotations, as MUX has, are added
            before one key switch.
        chained: gates of this kind one after another: 2 in AND3, the second with the first one's result.
    """

    sums: tuple[tuple[int, ...], ...]
    chained: int = 1

    @property
    def doubled(self) -> bool:
        """Whether sums are of bits counted twice, which lie M/4 from both ends of the half circle."""
        return max(map(abs, self.sums[0])) == 2


_SUM, _DOUBLED = Gate(((1, 1),)), Gate(((2, -2),))

GATES: dict[str, Gate] = {
    **dict.fromkeys(("AND", "OR", "NAND", "NOR"), _SUM),
    **dict.fromkeys(("XOR", "XNOR"), _DOUBLED),
    "MUX": Gate(((1, 1, 0), (-1, 0, 1))),
    "REFRESH": Gate(((2,),)),
    "MAJ3": Gate(((1, 1, 1),)),
    "XOR3": Gate(((2, 2, 2),)),
    **dict.fromkeys(("AND3", "OR3", "NAND3", "NOR3"), Gate(((1, 1, 0),), chained=2)),
}


def weight_square(weights: Sequence[int], wiring: str = "") -> int:
    """By how much a combination's variance exceeds that of one input: the squared weights of its different ciphertexts.

    Args:
        weights: of the inputs.
        wiring: which inputs are the same ciphertext: a letter for each, a capital for the complement (whose
            noise is the same, negated), 0 and 1 for constants, which have none. All are different by default.

    Raises:
        ParameterError: the wiring has another length, or other characters.
    """
    if not wiring:
        return sum(w * w for w in weights)
    if len(wiring) != len(weights) or not all(x.isascii() and (x.isalpha() or x in "01") for x in wiring):
        raise ParameterError(
            f'wiring "{wiring}": {len(weights)} of a, b, c, capitals for complements, 0 and 1 are needed'
        )
    together: Counter[str] = Counter()
    for weight, x in zip(weights, wiring, strict=True):
        together[x.lower()] += 0 if x in "01" else -weight if x.isupper() else weight
    return sum(w * w for w in together.values())


@dataclass(frozen=True)
class KeyLengths:
    """Squared lengths of one key's secrets, as secret as the key: what a measurement with that key is held against.

    Attributes:
        lwe: of the LWE secret: how many of its coefficients are not 0.
        ring: of the ring's secret, likewise.
    """

    lwe: float
    ring: float


def secret_square(secret: str, dimension: int) -> float:
    """Squared length of a secret that all but one key in 30,000 stay below."""
    p = SECRET_SQUARE[secret]
    return dimension * p + KEY_DEVIATIONS * math.sqrt(dimension * p * (1 - p))


def _lwe_square(s: GateSet, key: KeyLengths | None) -> float:
    return key.lwe if key else secret_square(s.lwe_secret, s.n)


def _ring_square(s: GateSet, key: KeyLengths | None) -> float:
    return key.ring if key else secret_square("ternary", s.ring_degree)


def _centred_square(s: GateSet, key: KeyLengths | None) -> float:
    """The LWE secret's less its mean: what the rounding of LWE coefficients meets (see :func:`rounding`)."""
    return s.n / 4 if s.lwe_secret == "binary" else _lwe_square(s, key)


def digit_square(gadget: Gadget, log_modulus: float, balanced: bool) -> float:
    """Sum over a gadget's digits of E[digit^2], for a uniform number modulo Q.

    All digits are uniform; the top one has what is left of Q's range.
    """
    total = 0.0
    for j in range(gadget.count):
        left = max(0.0, log_modulus - gadget.drop - j * gadget.log_base)
        base = 2.0 ** min(gadget.log_base, left)
        total += (base**2 + 2) / 12 if balanced else (base - 1) * (2 * base - 1) / 6
    return total


def _dropped(drop: int) -> float:
    """Variance of the rounding to multiples of 2^drop."""
    return (4.0**drop - 1) / 12


def product_variance(s: GateSet) -> float:
    """Noise that the digits of one external product add, at Q: sum of d_p N E[digit^2] var_e over both parts."""
    squares = digit_square(s.gadget_a, s.log_modulus, s.balanced) + digit_square(s.gadget_b, s.log_modulus, s.balanced)
    return s.ring_degree * squares * s.error_variance


def product_rounding(s: GateSet, key: KeyLengths | None = None) -> float:
    """What dropped bits add to the phase of a product with a monomial, at Q: b's as they are, a's times the secret."""
    return _dropped(s.gadget_a.drop) * _ring_square(s, key) + _dropped(s.gadget_b.drop)


def substitution_variance(s: GateSet, key: KeyLengths | None = None) -> float:
    """Noise of one RLWE substitution, at Q: digits of the a-part only, and its dropped bits times the secret."""
    digits = digit_square(s.automorphism, s.log_modulus, s.balanced) * s.ring_degree * s.error_variance
    return digits + _dropped(s.automorphism.drop) * _ring_square(s, key)


def substitutions(s: GateSet, window: int = WINDOW) -> float:
    """Expected substitutions of the automorphism accumulator.

    n coefficients fall into the N classes +-g^k, or the N/2 classes g^k when exponents are multiples of 4 before they
    are made odd. One substitution leads from a class to the next non-empty one, more where the gap is wider than the
    window; p of the classes are non-empty and gaps are geometric.
    """
    positive = 2 * s.ring_degree // s.rotation_modulus >= 4
    classes = s.ring_degree // 2 if positive else s.ring_degree
    p = 1 - (1 - 1 / classes) ** s.n
    return classes * p / (1 - (1 - p) ** window) + (0 if positive else 2)


def accumulator_variance(s: GateSet, method: str = "ginx", key: KeyLengths | None = None) -> float:
    """Variance of the phase after a blind rotation, at Q.

    `ginx` (Chillotti et al., 2020). Binary: acc + ((X^a - 1) acc) x RGSW(s_i) takes the digits of (X^a - 1) acc itself,
    so that each of n steps adds a product's noise once, and its rounding where s_i = 1. Ternary: two products of acc,
    each times a binomial of squared length 2; where s_i is not 0 so is the rounding.
    `ap` (Ducas, Micciancio, 2015): n d_r products with monomials; those of digit 0 are skipped.
    `automorphism` (Lee et al., EUROCRYPT 2023): n products with RGSW(X^(s_i)), and the substitutions.

    Raises:
        ParameterError: unknown method.
    """
    product, rounding = product_variance(s), product_rounding(s, key)
    if method == "ginx":
        ones = _lwe_square(s, key)
        if s.lwe_secret == "binary":
            return s.n * product + ones * rounding
        return s.n * 4 * product + ones * 2 * rounding
    if method == "ap":
        return s.n * s.ap_digits * (1 - 1 / s.ap_base) * (product + rounding)
    if method == "automorphism":
        return s.n * (product + rounding) + substitutions(s) * substitution_variance(s, key)
    raise ParameterError(f'unknown accumulator "{method}": take one of {", ".join(METHODS)}')


def rounding(s: GateSet, method: str = "ginx", key: KeyLengths | None = None) -> float:
    """Variance of what rounding an LWE ciphertext from q to the rotation's exponents adds, in units of M.

    The rounding errors r_i of the mask are public, so that sum r_i / 2 is taken from the body before it is rounded when
    the secret is binary: the phase then errs by sum r_i (s_i - 1/2), half the variance and no bias. Rounded
    plainly, ties upwards, it would be off by half a unit of 1/q for each 1 of the secret: 5 of 2N in gates-128.
    The automorphism accumulator needs odd exponents: errors four times as large in variance.
    In the paper's sets q divides 2N: nothing is rounded, but exponents are even, and odd ones are one step of 2N away.
    """
    square = _centred_square(s, key)
    steps = 2.0**s.log_q / s.rotation_modulus
    even = (1 - steps**-2) / 12
    if method != "automorphism":
        return even * (1 + square)
    if steps == 1:
        return (s.rotation_modulus / (2 * s.ring_degree)) ** 2 * square
    return even + 4 * (1 - (2 * steps) ** -2) / 12 * square


def shared_rounding(s: GateSet, method: str = "ginx", key: KeyLengths | None = None) -> float:
    """As :func:`rounding`, for a rotation whose test polynomial holds two functions by turns: exponents are even.

    Where the polynomial has room for both, in the sets with q < 2N, nothing changes. Otherwise the rounding errors are
    uniform on the even steps; a ternary secret takes their square mean, halves rounded upwards included.
    """
    if s.rotation_modulus < 2 * s.ring_degree:
        return rounding(s, method, key)
    steps = 2 * 2.0**s.log_q / s.rotation_modulus
    each = (steps**2 - 1 if s.lwe_secret == "binary" else steps**2 + 2) / (3 * steps**2)
    return each * (1 + _centred_square(s, key))


@dataclass(frozen=True)
class Stages:
    """Variances of a gate's phase, stage by stage, in squared units of the rotation modulus M.

    Attributes:
        accumulator: after one blind rotation.
        modulus: what coming down from Q to q adds.
        key_switch: what the key switch adds.
        rounding: what rounding from q to M adds at the start of the next gate.
    """

    accumulator: float
    modulus: float
    key_switch: float
    rounding: float

    def output(self, rotations: int = 1) -> float:
        """A gate's output."""
        return rotations * self.accumulator + self.modulus + self.key_switch


def stages(s: GateSet, method: str = "ginx", key: KeyLengths | None = None) -> Stages:
    """Variances of a set's pipeline.

    A set that switches keys modulo q rounds N coefficients of the ring's secret first, and reads one table row for each
    coefficient and digit that is not 0. The paper's switch keys modulo Q and round the n coefficients last.
    """
    switch, m = s.key_switch, s.rotation_modulus
    big, small = m / s.modulus, m / 2.0**s.log_q
    rows = s.ring_degree * switch.count * (1 - 1 / switch.base) * s.error_variance
    dropped = _dropped(switch.drop) * _ring_square(s, key)
    if switch.modulus == "q":
        to_q = (1 + _ring_square(s, key)) / 12 * small**2
        switched = (rows + dropped) * small**2
    else:
        to_q = (1 + _lwe_square(s, key)) / 12 * small**2
        switched = (rows + dropped) * big**2
    return Stages(accumulator_variance(s, method, key) * big**2, to_q, switched, rounding(s, method, key))


def log2_tail(z: float) -> float:
    """log2 of the probability that a standard Gaussian exceeds z (at least 0), without underflow."""
    if z < 20:
        return math.log2(math.erfc(z / math.sqrt(2)) / 2)
    # Mills' ratio: 1/z - 1/z^3 + 3/z^5 to a relative 1e-7 here.
    ratio = (1 - z**-2 + 3 * z**-4) / z
    return -z * z / 2 / math.log(2) + math.log2(ratio / math.sqrt(2 * math.pi))


def input_variance(s: GateSet, inputs: str, method: str = "ginx", key: KeyLengths | None = None) -> float:
    """Variance of an input in units of M: `fresh`, `gate` (a gate's output) or `mux` (the noisiest: a MUX's).

    Raises:
        ParameterError: an unknown kind.
    """
    if inputs == "fresh":
        return s.error_variance * (s.rotation_modulus / 2.0**s.log_q) ** 2
    kinds = {"gate": 1, "mux": len(GATES["MUX"].sums)}
    if inputs not in kinds:
        raise ParameterError(f'unknown kind of input "{inputs}": take fresh, gate or mux')
    return stages(s, method, key).output(kinds[inputs])


def _decision(s: GateSet, doubled: bool, variance: float) -> float:
    """log2 of the probability that one blind rotation decides wrongly, from the variance of what it rounds.

    Sums of bits lie M/8 from one end of the half circle and 3M/8 from the other, doubled ones M/4 from both.
    """
    if not variance:
        return -math.inf
    m, deviation = s.rotation_modulus, math.sqrt(variance)
    if doubled:
        return 1 + log2_tail(m / 4 / deviation)
    return log2_add(log2_tail(m / 8 / deviation), log2_tail(3 * m / 8 / deviation))


def log2_add(*terms: float) -> float:
    """log2 of a sum of numbers given by their log2."""
    top = max(terms)
    return top if math.isinf(top) else top + math.log2(sum(2.0 ** (t - top) for t in terms))


def log2_failure(
    s: GateSet,
    gate: str,
    inputs: str = "mux",
    method: str = "ginx",
    key: KeyLengths | None = None,
    wiring: str = "",
) -> float:
    """log2 of a bound on the probability that a gate outputs a wrong bit.

    Args:
        s: the set.
        gate: a name of :data:`GATES`.
        inputs: `fresh`, `gate` or `mux`, all inputs alike.
        method: the accumulator.
        key: lengths of one key; without, those that nearly all keys stay below.
        wiring: inputs that depend on each other, run as they are (:func:`weight_square`). The evaluator replaces such
            gates by others that fail no more than the gate does with different inputs.

    Raises:
        ParameterError: an unknown gate, kind of input or method, or no proper wiring.
    """
    if gate not in GATES:
        raise ParameterError(f'unknown gate "{gate}": take one of {", ".join(GATES)}')
    kind, rounded = GATES[gate], stages(s, method, key).rounding
    each = input_variance(s, inputs, method, key)
    links = [_decision(s, kind.doubled, weight_square(w, wiring) * each + rounded) for w in kind.sums]
    # A chained gate's second link has the first one's output and one input; the noisier counts for both.
    later = max(each, input_variance(s, "gate", method, key))
    links += [_decision(s, kind.doubled, 2 * later + rounded)] * (kind.chained - 1)
    return min(0.0, log2_add(*links))


def worst_gate(s: GateSet, method: str = "ginx") -> tuple[str, float]:
    """The gate that fails most with the noisiest inputs, and log2 of its probability."""
    return max(((gate, log2_failure(s, gate, "mux", method)) for gate in GATES), key=lambda pair: pair[1])


def promise(s: GateSet, method: str = "ginx") -> float:
    """Return log2 of what every decision of a set stays below: gates, sums without a bootstrap, refreshes, decryption.

    Sums spend what a set's gates leave of its promise (:mod:`ringforge.gates.sums`), so that nothing is promised below
    that. 0 where a set promises nothing.
    """
    return max(float(s.failure), worst_gate(s, method)[1])


def set_for(failure: float, method: str = "ginx") -> str:
    """Return the name of the cheapest shipped set of 128 bits of which every decision fails with 2^failure at most.

    Args:
        failure: log2 of the probability, below 0: -128 for results whose failures others may see.
        method: the accumulator.

    Raises:
        ParameterError: no shipped set promises so much by this method, or the failure is not below 0.
    """
    if not failure < 0:
        raise ParameterError(f"a failure of 2^{failure:g} promises nothing: take -64 or -128")
    found = {s.name: promise(s, method) for s in for_use()}
    for name, most in found.items():
        if most <= failure:
            return name
    kept = ", ".join(f"{name} 2^{most:.0f}" for name, most in found.items())
    raise ParameterError(
        f"no shipped set keeps failures below 2^{failure:g} by {method}; they keep {kept}: {_remedy(failure)}"
    )


def _remedy(failure: float) -> str:
    """Return what to ask for where no set promises so much."""
    best = {method: min(promise(s, method) for s in for_use()) for method in METHODS}
    able = [method for method, most in best.items() if most <= failure]
    if able:
        return f"take {able[0]}"
    least = min(best, key=lambda method: best[method])
    return f"no other method reaches it either; the least there is, is 2^{math.ceil(best[least])} by {least}"


def circuit_failure(s: GateSet, counts: Mapping[str, int], inputs: str = "mux", method: str = "ginx") -> float:
    """log2 of the union bound over a circuit's gates, each with inputs of the kind given.

    Raises:
        ParameterError: an unknown gate, or a negative count.
    """
    if any(count < 0 for count in counts.values()):
        raise ParameterError(f"a count of gates is negative: {dict(counts)}")
    terms = [math.log2(c) + log2_failure(s, gate, inputs, method) for gate, c in counts.items() if c]
    return min(0.0, log2_add(*terms)) if terms else -math.inf
