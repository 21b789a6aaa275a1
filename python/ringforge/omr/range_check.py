# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The range check as a program: from encrypted errors of signals to 1 where all are in range, else 0.

A program is straight-line code on registers, made once by a tracer that knows the noise rules and no ciphertext: the
same operations at the same limbs for everybody. docs/omr-algorithm.md derives what it computes:

    y = x^2,  P(y) = prod_{i <= r} (y - i^2)   zero exactly where |x| <= r, by Paterson and Stockmeyer (1973)
    paper      u = prod_l (1 - P_l^(t-1))
    ringforge  u = 1 - (P_0^2 + P_0 P_1 - c P_1^2)^(t-1), 1 + 4c no square modulo t: the form is 0 only where both are
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from ringforge.errors import LevelError, NoiseError, ParameterError
from ringforge.omr.progress import reach

if TYPE_CHECKING:
    from ringforge._native import RelinKey
    from ringforge._native.bfv import Ciphertext, Evaluator, Noise, NoiseRules
    from ringforge.omr.progress import Progress

__all__ = ["METHODS", "Op", "Program", "Reg", "in_clear", "polynomial", "trace"]

Method = Literal["ringforge", "paper"]
METHODS: tuple[Method, ...] = ("ringforge", "paper")

Kind = Literal["square", "mul", "relinearize", "combine", "add", "constant", "drop"]


@dataclass(frozen=True)
class Reg:
    """A register: what is known of its ciphertext beforehand.

    Attributes:
        index: its number; inputs come first.
        noise: predicted. limbs, parts: of the ciphertext.
    """

    index: int
    noise: Noise
    limbs: int
    parts: int = 2


@dataclass(frozen=True)
class Op:
    """One operation.

    Attributes:
        kind: "combine" is the sum of values[i] * args[i], "constant" adds values[0] to every slot, "drop" switches
            the modulus to the result's limbs.
        args: registers. values: integers modulo t.
        out: the result.
    """

    kind: Kind
    args: tuple[Reg, ...]
    out: Reg
    values: tuple[int, ...] = ()

    @property
    def limbs(self) -> int:
        """At which it computes."""
        return self.args[0].limbs


@dataclass(frozen=True)
class Program:
    """Operations in order.

    Attributes:
        inputs, result: registers. ops: in order.
    """

    inputs: tuple[Reg, ...]
    ops: tuple[Op, ...]
    result: Reg
    last_use: dict[int, int] = field(repr=False)

    def counts(self) -> Counter[str]:
        """How often each kind of operation is done."""
        return Counter(op.kind for op in self.ops)

    def noises(self, rules: NoiseRules, inputs: Sequence[Noise]) -> list[Noise]:
        """What other rules, of another security, say of every register, by index, for other noise of the inputs."""
        held = list(inputs)
        for op in self.ops:
            assert op.out.index == len(held)
            held.append(_noise(rules, op, [held[a.index] for a in op.args]))
        return held

    def run(
        self,
        evaluator: Evaluator,
        relin: RelinKey,
        inputs: Sequence[Ciphertext],
        progress: Progress | None = None,
        watch: Callable[[Reg, Ciphertext], None] | None = None,
    ) -> Ciphertext:
        """Computes the result; registers are freed after their last use. Whatever the inputs hold, the operations are
        the same.

        Args:
            progress: gets the fraction done after each operation; False cancels.
            watch: is shown every register, for tests.

        Raises:
            NoiseError: an input has more noise than the program was made for, or other limbs. Error "cancelled".
        """
        held = taken(self.inputs, inputs)
        total = sum(weight(op) for op in self.ops)
        done = 0.0
        for number, op in enumerate(self.ops):
            made = apply(evaluator, relin, op, [held[a.index] for a in op.args])
            for a in op.args:
                if self.last_use[a.index] == number:
                    held.pop(a.index, None)
            held[op.out.index] = made
            if watch is not None:
                watch(op.out, made)
            done += weight(op)
            reach(progress, done / total)
        return held[self.result.index]


def taken(regs: Sequence[Reg], inputs: Sequence[Ciphertext]) -> dict[int, Ciphertext]:
    """Ciphertexts by index of their registers.

    Raises:
        NoiseError: one has more noise than was planned, or other limbs.
    """
    held: dict[int, Ciphertext] = {}
    for reg, c in zip(regs, inputs, strict=True):
        if c.limbs != reg.limbs or c.log_deviation > reg.noise.log_deviation + 1e-9:
            raise NoiseError(
                f"an input of {c.limbs} limbs and noise 2^{c.log_deviation:.1f}, the range check was planned for "
                f"{reg.limbs} and 2^{reg.noise.log_deviation:.1f}: plan with the noise that there is"
            )
        held[reg.index] = c
    return held


def weight(op: Op) -> float:
    """Of its time, roughly: products take most."""
    each = {"square": 3.0, "mul": 4.0, "relinearize": 1.5, "combine": 0.2, "add": 0.1, "constant": 0.1, "drop": 0.3}
    return each[op.kind] * op.limbs


def apply(ev: Evaluator, relin: RelinKey, op: Op, args: list[Ciphertext]) -> Ciphertext:
    """An operation's result."""
    match op.kind:
        case "square":
            return ev.square(args[0])
        case "mul":
            return ev.mul(args[0], args[1])
        case "relinearize":
            return ev.relinearize(args[0], relin)
        case "combine":
            return ev.combine(args, list(op.values))
        case "add":
            return ev.add(args[0], args[1])
        case "constant":
            return ev.add_constant(args[0], op.values[0])
        case "drop":
            return ev.mod_switch_to(args[0], op.out.limbs)


def _noise(rules: NoiseRules, op: Op, args: list[Noise]) -> Noise:
    """Of an operation's result."""
    match op.kind:
        case "square":
            return rules.square(args[0], op.limbs)
        case "mul":
            return rules.product(args[0], args[1], op.limbs)
        case "relinearize":
            return rules.switched(args[0], op.limbs)
        case "combine":
            return rules.combination(args, list(op.values))
        case "add":
            return rules.sum(args[0], args[1])
        case "constant":
            return rules.constant_sum(args[0])
        case "drop":
            return rules.mod_switched(args[0], op.limbs, op.out.limbs, op.args[0].parts)


class _Tracer:
    """Makes a program. `loss` is how many bits of budget a switch to fewer limbs may cost."""

    def __init__(self, rules: NoiseRules, t: int, loss: float, end: int) -> None:
        self.rules, self.t, self.loss, self.end = rules, t, loss, end
        self.ops: list[Op] = []
        self.inputs: list[Reg] = []
        self.count = 0
        self._dropped: dict[tuple[int, int], Reg] = {}

    def _reg(self, noise: Noise, limbs: int, parts: int = 2) -> Reg:
        self.count += 1
        return Reg(self.count - 1, noise, limbs, parts)

    def _op(self, kind: Kind, args: Sequence[Reg], limbs: int, parts: int, values: Sequence[int] = ()) -> Reg:
        out = Reg(self.count, args[0].noise, limbs, parts)
        known = _noise(self.rules, Op(kind, tuple(args), out, tuple(values)), [a.noise for a in args])
        out = self._reg(known, limbs, parts)
        self.ops.append(Op(kind, tuple(args), out, tuple(values)))
        return out

    def input(self, noise: Noise, limbs: int) -> Reg:
        reg = self._reg(noise, limbs)
        self.inputs.append(reg)
        return reg

    def drop(self, a: Reg, limbs: int) -> Reg:
        """To fewer limbs; once for each number of them."""
        if limbs >= a.limbs:
            return a
        if (a.index, limbs) not in self._dropped:
            self._dropped[a.index, limbs] = self._op("drop", [a], limbs, a.parts)
        return self._dropped[a.index, limbs]

    def settle(self, a: Reg) -> Reg:
        """To the fewest limbs that noise allows."""
        return self.drop(a, max(self.end, self.rules.fewest_limbs(a.noise, a.limbs, self.loss)))

    def level(self, regs: Sequence[Reg]) -> list[Reg]:
        """All at the fewest limbs of any."""
        limbs = min(r.limbs for r in regs)
        return [self.drop(r, limbs) for r in regs]

    def relin(self, a: Reg) -> Reg:
        """Two parts, at the fewest limbs."""
        if a.parts == 3:
            a = self._op("relinearize", [a], a.limbs, 2)
        return self.settle(a)

    def square(self, a: Reg) -> Reg:
        """Three parts."""
        return self._op("square", [a], a.limbs, 3)

    def mul(self, a: Reg, b: Reg) -> Reg:
        """Three parts."""
        a, b = self.level([a, b])
        return self._op("mul", [a, b], a.limbs, 3)

    def combine(self, regs: Sequence[Reg], values: Sequence[int], constant: int = 0) -> Reg:
        """Sum of values[i] * regs[i], and a constant."""
        regs = self.level(regs)
        out = self._op("combine", regs, regs[0].limbs, max(r.parts for r in regs), values)
        if constant:
            out = self._op("constant", [out], out.limbs, out.parts, [constant])
        return out

    def add(self, a: Reg, b: Reg) -> Reg:
        a, b = self.level([a, b])
        return self._op("add", [a, b], a.limbs, max(a.parts, b.parts))

    def program(self, result: Reg) -> Program:
        last = {a.index: number for number, op in enumerate(self.ops) for a in op.args}
        last[result.index] = len(self.ops)
        return Program(tuple(self.inputs), tuple(self.ops), result, last)


@cache
def polynomial(r: int, t: int) -> tuple[int, ...]:
    """Coefficients of prod_{i <= r} (y - i^2) modulo t, lowest first."""
    p = [1]
    for i in range(r + 1):
        shifted, times = [0, *p], [*(c * i * i for c in p), 0]
        p = [(a - b) % t for a, b in zip(shifted, times, strict=True)]
    return tuple(p)


@cache
def form(t: int) -> int:
    """The least c > 0 for which a^2 + ab - cb^2 is 0 modulo the prime t only for a = b = 0: 1 + 4c is no square.

    Small, because it multiplies noise.
    """
    return next(c for c in range(1, t) if pow(1 + 4 * c, (t - 1) // 2, t) == t - 1)


def _products(degree: int, k: int) -> int:
    """Products of `_evaluate` with k baby powers."""
    blocks = degree // k + 1
    last_is_constant = degree % k == 0
    return (k - 1) + max(0, (blocks - 1).bit_length() - 1) + blocks - 1 - last_is_constant


def split(degree: int) -> int:
    """Baby powers: the power of two with the fewest products."""
    return min((1 << i for i in range(1, degree.bit_length())), key=lambda k: _products(degree, k))


def _evaluate(tr: _Tracer, y: Reg, coefficients: Sequence[int], t: int) -> Reg:
    """A polynomial at y by Paterson and Stockmeyer: blocks of k coefficients, joined by y^k, y^2k, y^4k ... in a tree.

    Sums keep three parts; a block's upper half is relinearised before it is multiplied, the result by the caller.
    """
    degree = len(coefficients) - 1
    k = split(degree)
    powers = {1: y}
    for j in range(2, k + 1):
        made = tr.square(powers[j // 2]) if j % 2 == 0 else tr.mul(powers[j // 2], powers[j - j // 2])
        powers[j] = tr.relin(made)
    giants = {1: powers[k]}
    while 2 * max(giants) * k <= degree:
        top = max(giants)
        giants[2 * top] = tr.relin(tr.square(giants[top]))

    def centred(c: int) -> int:
        return c - t if c > t // 2 else c

    def block(j: int) -> Reg | int:
        part = [centred(c) for c in coefficients[j * k : (j + 1) * k]]
        terms = [(powers[i], c) for i, c in enumerate(part) if i > 0 and c != 0]
        if not terms:
            return part[0]
        return tr.combine([p for p, _ in terms], [c for _, c in terms], part[0])

    def join(first: int, count: int) -> Reg | int:
        if count == 1:
            return block(first)
        half = 1 << ((count - 1).bit_length() - 1)
        low, high = join(first, half), join(first + half, count - half)
        if isinstance(high, int):
            product = tr.combine([giants[half]], [high], low if isinstance(low, int) else 0)
        else:
            product = tr.mul(tr.relin(high), giants[half])
        if isinstance(low, int):
            return product
        return tr.add(product, low)

    result = join(0, degree // k + 1)
    assert isinstance(result, Reg)
    return result


def _power(tr: _Tracer, z: Reg, exponent: int) -> Reg:
    """z^exponent: the squarings of its factor 2^s first, so that its odd part is done where limbs are fewest."""
    odd = exponent
    while odd % 2 == 0:
        z = tr.relin(tr.square(z))
        odd //= 2
    result = z
    for bit in bin(odd)[3:]:
        result = tr.relin(tr.square(result))
        if bit == "1":
            result = tr.relin(tr.mul(result, z))
    return result


def trace(
    rules: NoiseRules,
    t: int,
    inputs: Sequence[tuple[Noise, int]],
    r: int,
    method: Method,
    *,
    end: int = 2,
    loss: float = 0.5,
) -> Program:
    """The program for inputs of given noise and limbs.

    Args:
        rules, t: of the parameters.
        r: values from -r to r are in range.
        end: limbs of the result.
        loss: bits of budget that each switch to fewer limbs may cost.

    Raises:
        NoiseError: the modulus does not suffice; ParameterError: r or the number of inputs is out of range.
    """
    if not 1 <= r < math.isqrt(t):
        raise ParameterError(f"range {r} is outside 1 ... {math.isqrt(t) - 1}")
    if not inputs:
        raise ParameterError("a range check has at least one input")
    tr = _Tracer(rules, t, loss, end)
    xs = [tr.input(noise, limbs) for noise, limbs in inputs]
    try:
        ps = [tr.relin(_evaluate(tr, tr.relin(tr.square(tr.settle(x))), polynomial(r, t), t)) for x in xs]
        if method == "ringforge":
            z = ps[0]
            for p in ps[1:]:
                a, b = tr.level([z, p])
                z = tr.relin(tr.combine([tr.mul(a, tr.add(a, b)), tr.square(b)], [1, -form(t)]))
            u = tr.combine([_power(tr, z, t - 1)], [-1], 1)
        else:
            us = [tr.combine([_power(tr, p, t - 1)], [-1], 1) for p in ps]
            u = us[0]
            for other in us[1:]:
                u = tr.relin(tr.mul(u, other))
        result = tr.drop(u, end)
    except LevelError as e:  # a rule was asked for limbs that are not there
        raise NoiseError(f"the modulus does not suffice for the range check: {e}") from e
    left = rules.budget(result.noise, result.limbs)
    if result.limbs != end or left <= 0:
        raise NoiseError(
            f"the range check would end at {result.limbs} limbs with {left:.1f} bits of budget: take a BFV set with "
            "more primes, or a smaller range"
        )
    return tr.program(result)


def in_clear(program: Program, inputs: Sequence[int], t: int) -> int:
    """What a program makes of one slot's numbers modulo t: for tests and planners."""
    held = {reg.index: x % t for reg, x in zip(program.inputs, inputs, strict=True)}
    for op in program.ops:
        a = [held[x.index] for x in op.args]
        match op.kind:
            case "square":
                out = a[0] * a[0]
            case "mul":
                out = a[0] * a[1]
            case "add":
                out = a[0] + a[1]
            case "constant":
                out = a[0] + op.values[0]
            case "combine":
                out = sum(v * x for v, x in zip(op.values, a, strict=True))
            case _:
                out = a[0]
        held[op.out.index] = out % t
    return held[program.result.index]
