# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How many primes each stage of a circuit over bytes computes with: chosen before anything is encrypted.

A plan goes through stages with the scheme's rules of noise, tries for each how many primes to drop before it, and keeps
what no other way beats in primes, noise and work: work is number-theoretic transforms, which nearly all time goes to.
So levels follow from predictions, and everybody with the parameters makes the same plan. Ciphertexts later have the
noise that the plan has, by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from ringforge.aes.byte_aes import added_key, round_circuit
from ringforge.aes.byte_circuit import Circuit, LinearMap, Maps, Power, Product, Step, Sum, operands, run
from ringforge.aes.engine import ROUNDS, Direction
from ringforge.errors import NoiseError, ParameterError

#: What is known of a ciphertext's noise: the scheme's type, with `log_bound`.
Noise = Any

#: At most so many primes go between two stages.
_MOST_DROPPED: Final = 3
#: Ways that are kept for each number of primes after a stage.
_KEPT: Final = 24
#: Bits of noise that count as none.
_NEAR: Final = 0.5
#: Bits of budget that a plan leaves everywhere, beyond what its rules are sure of.
MARGIN: Final = 1.0

#: Products one after another that results of AES still bear, in plans for computing on them.
LEVELS_LEFT: Final = 5


class Rules(Protocol):
    """What operations do to noise: those of `ringforge.bgv.NoiseRules`."""

    def encrypted(self, public_key: bool) -> Noise: ...
    def sum(self, a: Noise, b: Noise) -> Noise: ...
    def plain_sum(self, a: Noise, log_peak: float) -> Noise: ...
    def plain_product(self, a: Noise, log_peak: float) -> Noise: ...
    def switched(self, a: Noise, limbs: int) -> Noise: ...
    def multiplied(self, a: Noise, b: Noise, limbs: int, drop: int) -> Noise: ...
    def hoisted_sum(self, a: Noise, log_peaks: Sequence[float], limbs: int, drop: int) -> Noise: ...
    def mod_switched(self, a: Noise, limbs: int, to: int) -> Noise: ...
    def budget(self, noise: Noise, limbs: int) -> float: ...


@dataclass(frozen=True)
class Sizes:
    """What work depends on.

    Attributes:
        limbs: primes of Q. special: of P. alpha: primes of a digit.
    """

    limbs: int
    special: int
    alpha: int

    def mod_up(self, limbs: int) -> int:
        """Transforms: inverse ones of all primes, forward ones of each digit but at its own."""
        return -(-limbs // self.alpha) * (limbs + self.special)

    def mod_down(self, limbs: int) -> int:
        """Of two polynomials: inverse ones of P's primes, forward ones of the others. Primes that go too change
        sides."""
        return 2 * (self.special + limbs)

    def step(self, step: Step, limbs: int) -> int:
        """Transforms of a step."""
        if isinstance(step, Sum):
            return 0
        results = len(step.maps) if isinstance(step, Maps) else 1
        return self.mod_up(limbs) + results * self.mod_down(limbs)


@dataclass(frozen=True)
class Value:
    """Noise, and the number of primes it is at."""

    noise: Noise
    limbs: int


class Predicted:
    """Runs a circuit on noise.

    Args:
        limbs: of each stage, and of results. peaks: log2 of the largest value at a root of unity of each byte constant,
            as plaintext in all slots. margin: bits of budget that each value has to leave; less than none for whoever
            wants to know the noise alone.

    Raises:
        NoiseError: a value leaves less.
    """

    def __init__(self, rules: Rules, limbs: Sequence[int], peaks: Mapping[int, float], margin: float = MARGIN) -> None:
        self._rules, self._limbs, self._peaks, self._margin = rules, tuple(limbs), peaks, margin

    def _checked(self, noise: Noise, limbs: int) -> Value:
        left = self._rules.budget(noise, limbs)
        if left < self._margin:
            raise NoiseError(
                f"{left:.1f} bits are left of the predicted noise budget at {limbs} primes: take parameters with more "
                "primes, or compute less on a ciphertext"
            )
        return Value(noise, limbs)

    def at(self, a: Value, stage: int) -> Value:
        to = self._limbs[stage]
        return a if a.limbs == to else self._checked(self._rules.mod_switched(a.noise, a.limbs, to), to)

    def power(self, a: Value, k: int, then: int) -> Value:  # noqa: ARG002
        return self._checked(self._rules.switched(a.noise, a.limbs), a.limbs)

    def product(self, a: Value, b: Value, then: int) -> Value:
        to = self._limbs[then]
        return self._checked(self._rules.multiplied(a.noise, b.noise, a.limbs, a.limbs - to), to)

    def maps(self, a: Value, maps: tuple[LinearMap, ...], then: int) -> list[Value]:
        drop = min(a.limbs - self._limbs[then], 1)
        made = []
        for m in maps:
            noise = self._rules.hoisted_sum(a.noise, [self._peaks[c] for c in m if c], a.limbs, drop)
            made.append(self._checked(noise, a.limbs - drop))
        return made

    def sum(self, terms: Sequence[tuple[Value, int]], constant: int, then: int) -> Value:  # noqa: ARG002
        total: Noise = None
        for a, factor in terms:
            noise = a.noise if factor == 1 else self._rules.plain_product(a.noise, self._peaks[factor])
            total = noise if total is None else self._rules.sum(total, noise)
        if constant:
            total = self._rules.plain_sum(total, self._peaks[constant])
        return self._checked(total, terms[0][0].limbs)


# ---- the search ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
    """A way through some stages: noise of the values that are still needed, all at `limbs` primes."""

    limbs: int
    noises: tuple[Noise, ...]
    cost: int
    path: tuple[int, ...]

    def beats(self, other: _Way) -> bool:
        """Not worse in anything."""
        return self.cost <= other.cost and all(
            a.log_bound <= b.log_bound + _NEAR for a, b in zip(self.noises, other.noises, strict=True)
        )


def _best(ways: list[_Way]) -> list[_Way]:
    kept: dict[int, list[_Way]] = {}
    for w in sorted(ways, key=lambda w: (w.cost, sum(n.log_bound for n in w.noises))):
        here = kept.setdefault(w.limbs, [])
        if len(here) < _KEPT and not any(k.beats(w) for k in here):
            here.append(w)
    return [w for here in kept.values() for w in here]


def _through(
    rules: Rules, sizes: Sizes, circuit: Circuit, peaks: Mapping[int, float], starts: list[_Way], fresh: Sequence[int]
) -> list[_Way]:
    """All good ways through a circuit; inputs `fresh` are encrypted at the primes where they are used first, others are
    the noises of a start. Ways that come out have the results' noises."""
    old = [v for v in range(circuit.inputs) if v not in fresh]
    new = rules.encrypted(False)
    # What is alive before each stage, in order of numbers.
    ends = [-1] * circuit.values
    made = [-1] * circuit.values
    number = circuit.inputs
    for s in circuit.steps:
        for v in operands(s):
            ends[v] = s.stage
        for _ in range(len(s.maps) if isinstance(s, Maps) else 1):
            made[number] = s.stage
            number += 1
    for v in circuit.outputs:
        ends[v] = circuit.stages + 1

    def alive(stage: int) -> list[int]:
        return [v for v in range(circuit.values) if made[v] < stage <= ends[v] and v not in fresh]

    ways, names = starts, old
    for stage in range(circuit.stages + 1):
        machine_steps = [(i, s) for i, s in enumerate(circuit.steps) if s.stage == stage]
        result = alive(stage + 1)
        found = []
        for w in ways:
            # A start is where it is; between stages primes may go.
            for drop in range(_MOST_DROPPED + 1 if stage else 1):
                to = w.limbs - drop
                if to < 1:
                    break
                try:
                    values = {
                        v: Value(n if not drop else rules.mod_switched(n, w.limbs, to), to)
                        for v, n in zip(names, w.noises, strict=True)
                    }
                    values.update({v: Value(new, to) for v in fresh})
                    _simulate(Predicted(rules, [to] * (circuit.stages + 1), peaks), circuit, machine_steps, values)
                except NoiseError:
                    continue
                cost = w.cost + sum(sizes.step(s, to) for _, s in machine_steps)
                found.append(_Way(to, tuple(values[v].noise for v in result), cost, (*w.path, to)))
        ways, names = _best(found), result
    order = [names.index(v) for v in circuit.outputs]
    return [_Way(w.limbs, tuple(w.noises[i] for i in order), w.cost, w.path) for w in ways]


def _simulate(machine: Predicted, circuit: Circuit, steps: list[tuple[int, Step]], values: dict[int, Value]) -> None:
    """Some steps, into `values`."""
    firsts = _firsts(circuit)
    for i, s in steps:
        if isinstance(s, Power):
            values[firsts[i]] = machine.power(values[s.source], s.k, 0)
        elif isinstance(s, Product):
            values[firsts[i]] = machine.product(values[s.left], values[s.right], 0)
        elif isinstance(s, Maps):
            values.update(enumerate(machine.maps(values[s.source], s.maps, 0), firsts[i]))
        else:
            values[firsts[i]] = machine.sum([(values[v], f) for v, f in s.terms], s.constant, 0)


def _firsts(circuit: Circuit) -> list[int]:
    """The number of each step's first result."""
    firsts, number = [], circuit.inputs
    for s in circuit.steps:
        firsts.append(number)
        number += len(s.maps) if isinstance(s, Maps) else 1
    return firsts


@dataclass(frozen=True)
class Segment:
    """A circuit within a plan. Inputs in `fresh` are encrypted for it; the others are the results before it."""

    circuit: Circuit
    fresh: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Primes of every stage, and what is predicted.

    Attributes:
        segments: circuits one after another. limbs: of each segment's stages, and of its results, where the next
        begins.
        noises: of each segment's results, the largest. budgets: bits of budget that they leave.
        work: transforms, of all circuits as they are planned.
    """

    segments: tuple[Segment, ...]
    limbs: tuple[tuple[int, ...], ...]
    noises: tuple[Noise, ...]
    budgets: tuple[float, ...]
    work: int

    @cached_property
    def start(self) -> int:
        """Primes that it begins with."""
        return self.limbs[0][0]

    def explain(self) -> str:
        """A line for each circuit: primes of its stages, and what is left after it."""
        width = max(len(s.circuit.name) for s in self.segments)
        lines = [f"{'':{width}}  noise  budget  primes of stages, of the result last"]
        for s, limbs, noise, budget in zip(self.segments, self.limbs, self.noises, self.budgets, strict=True):
            stages = " ".join(map(str, limbs))
            lines.append(f"{s.circuit.name:{width}}  {noise.log_bound:5.1f}  {budget:6.1f}  {stages}")
        return "\n".join(lines)


def make_plan(
    rules: Rules, sizes: Sizes, segments: Sequence[Segment], peaks: Mapping[int, float], starts: Sequence[Value] = ()
) -> Plan:
    """The plan of least work.

    Args:
        starts: what the first segment's inputs may be, all of them; by default freshly encrypted, at any number of
            primes.

    Raises:
        ParameterError: the parameters have too few primes, whatever is done.
    """
    first = segments[0]
    entering = first.circuit.inputs - len(first.fresh)
    begin = starts or [Value(rules.encrypted(False), n) for n in range(1, sizes.limbs + 1)]
    ways = [_Way(v.limbs, (v.noise,) * entering, 0, ()) for v in begin]
    for n, segment in enumerate(segments):
        ways = _through(rules, sizes, segment.circuit, peaks, ways, segment.fresh)
        if not ways:
            raise ParameterError(
                f"{sizes.limbs} primes are too few for {segments[-1].circuit.name}: {segment.circuit.name} finds no "
                "way. Take a set with more primes, or plan for fewer levels afterwards"
            )
        if n + 1 < len(segments):
            following = segments[n + 1].circuit.inputs - len(segments[n + 1].fresh)
            if following != len(segment.circuit.outputs):
                raise ParameterError(f"{segments[n + 1].circuit.name} does not take the results before it")
    best = min(ways, key=lambda w: w.cost)
    path, limbs = list(best.path), []
    for s in segments:
        limbs.append(tuple(path[: s.circuit.stages + 1]))
        del path[: s.circuit.stages + 1]
    return _predicted(rules, segments, limbs, peaks, next(v for v in begin if v.limbs == limbs[0][0]), best.cost)


def _predicted(
    rules: Rules,
    segments: Sequence[Segment],
    limbs: Sequence[tuple[int, ...]],
    peaks: Mapping[int, float],
    start: Value,
    work: int,
) -> Plan:
    """Noise of a plan as ciphertexts will have it: relinearised and switched at once."""
    values = [start] * (segments[0].circuit.inputs - len(segments[0].fresh))
    noises, budgets = [], []
    for s, here in zip(segments, limbs, strict=True):
        old, inputs = iter(values), []
        for v in range(s.circuit.inputs):
            # Whatever is fresh is encrypted at the primes of its first use.
            fresh = Value(rules.encrypted(False), here[s.circuit.first_use[v]])
            inputs.append(fresh if v in s.fresh else next(old))
        values = run(s.circuit, Predicted(rules, here, peaks), inputs)
        worst = max(values, key=lambda v: v.noise.log_bound)
        noises.append(worst.noise)
        budgets.append(rules.budget(worst.noise, worst.limbs))
    return Plan(tuple(segments), tuple(limbs), tuple(noises), tuple(budgets), work)


# ---- AES -----------------------------------------------------------------------------------------


def _level(n: int) -> Circuit:
    return Circuit(f"level {n}", 1, 1, (Product(0, 0, 0),), (1,))


@dataclass(frozen=True)
class AesPlan:
    """A plan of AES, and of some products on its results.

    Attributes:
        direction: of AES. levels_left: products. plan: of a byte: AddRoundKey 0, ten rounds, `levels_left` products.
    """

    direction: Direction
    levels_left: int
    plan: Plan

    def limbs(self, i: int) -> tuple[int, ...]:
        """Primes of the stages of round i, and of its results, where the round key is added. Round 0 has one stage."""
        return self.plan.limbs[i]

    def key_limbs(self, i: int) -> int:
        """Primes of round key i."""
        return self.plan.limbs[i][-1]

    def noise(self, i: int) -> Noise:
        """Of the state after round i."""
        return self.plan.noises[i]

    def budget(self, i: int) -> float:
        """Bits that are left after round i."""
        return self.plan.budgets[i]

    def explain(self) -> str:
        """Primes, noise and budget of every round, and counts of all."""
        circuits = [round_circuit(i, self.direction) for i in range(1, ROUNDS + 1)]
        counts = [c.counts() for c in circuits]
        depth = sum(c.depth for c in counts)
        lines = [
            f"AES-128, direction {self.direction}, {depth} products deep; {self.levels_left} levels are left after it",
            f"  {sum(c.products for c in counts):,} products, {sum(c.key_switches for c in counts):,} key switches in "
            f"{sum(c.mod_ups for c in counts):,} ModUps and {sum(c.mod_downs for c in counts):,} ModDowns, "
            f"{sum(c.plain_products for c in counts):,} products with constants",
        ]
        return "\n".join([*lines, self.plan.explain()])


def aes_plan(
    rules: Rules,
    sizes: Sizes,
    peaks: Callable[[int], float],
    direction: Direction = "encrypt",
    levels_left: int = LEVELS_LEFT,
) -> AesPlan:
    """The plan of AES in one direction.

    Args:
        peaks: of a byte constant in all slots, as a plaintext: log2 of its largest value at a root of unity.

    Raises:
        ParameterError: too few primes.
    """
    rounds = [round_circuit(i, direction, 1) for i in range(1, ROUNDS + 1)]
    constants = {c for r in rounds for c in r.constants}
    segments = [Segment(c, (1,)) for c in (added_key(1), *rounds)]
    segments += [Segment(_level(n)) for n in range(1, levels_left + 1)]
    plan = make_plan(rules, sizes, segments, {c: peaks(c) for c in constants})
    return AesPlan(direction, levels_left, plan)
