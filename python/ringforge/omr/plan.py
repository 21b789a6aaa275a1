# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a detector does with one bulletin for one receiver, planned before there is a key: the same for every receiver.

>>> from ringforge.omr.sets import named
>>> plan = Plan.make(named("test", "an example"))
>>> [stage.name for stage in plan.stages]
['babies', 'affine', 'subtract', 'range check']
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ringforge._native.bfv import Noise, NoiseRules
from ringforge.errors import ParameterError
from ringforge.omr.failure import noise_failure
from ringforge.omr.kernels import AffineShape
from ringforge.omr.keys import affine_shape, bfv_context
from ringforge.omr.range_check import METHODS, Method, Program, trace
from ringforge.omr.sets import Set

if TYPE_CHECKING:
    from ringforge._native import OpCounts
    from ringforge._native.omr import CompressionPlan

__all__ = ["Plan", "Shard", "Stage"]

#: Bits of noise that the plan adds to the affine transform's, so that every partition into shards is within it.
_SHARDING = 0.05

#: Limbs at which compression takes the result.
END_LIMBS = 2


@dataclass(frozen=True)
class Shard:
    """A block of giant steps of a bulletin's affine transform: [first, first + count)."""

    first: int
    count: int


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        name: of the stage.
        limbs: at its beginning and end.
        counts: operations by kind.
        noise: log2 of the deviation of a coefficient at its end, bounded. budget: bits left there.
        keys: bytes of evaluation keys read. memory: bytes of residues at most, keys and bulletin not counted.
    """

    name: str
    limbs: tuple[int, int]
    counts: dict[str, int]
    noise: float
    budget: float
    keys: int
    memory: int


def _counts(ops: OpCounts) -> dict[str, int]:
    names = ("rotation", "plain_mul", "key_switch", "ntt", "intt", "mod_up", "mod_down")
    return {name: n for name in names if (n := int(getattr(ops, name)))}


@dataclass(frozen=True)
class Plan:
    """The stages from a bulletin's diagonals to the encrypted vector of pertinent entries.

    Attributes:
        set: parameters. method: "ringforge" or "paper".
        shape: of the affine transform.
        program: of the range check.
    """

    set: Set
    method: Method
    shape: AffineShape
    program: Program = field(repr=False)

    @classmethod
    def make(cls, s: Set, method: Method = "ringforge") -> Plan:
        """The plan of a set.

        Raises:
            ParameterError: no such method. NoiseError: the BFV set's modulus does not suffice.
        """
        if method not in METHODS:
            raise ParameterError(f'unknown method "{method}": take one of {", ".join(METHODS)}')
        shape, rules = affine_shape(s, method), bfv_context(s).rules
        inputs = [(noise, shape.limbs) for noise in _affine(shape, s.clues, rules)]
        return cls(s, method, shape, trace(rules, s.t, inputs, s.range, method, end=END_LIMBS))

    @property
    def giants(self) -> int:
        """Giant steps of a bulletin."""
        return int(self.shape.layout.giants)

    def shards(self, count: int) -> list[Shard]:
        """The affine transform in `count` blocks of nearly equal size, lowest first.

        A shard repeats the rotations of the key unless its worker has them, and joining two takes a rotation of each
        output for every giant step of the lower one.

        Raises:
            ParameterError: not 1 to `giants` of them.
        """
        if not 1 <= count <= self.giants:
            raise ParameterError(f"{count} shards of {self.giants} giant steps: take 1 to {self.giants}")
        cuts = [self.giants * i // count for i in range(count + 1)]
        return [Shard(a, b - a) for a, b in itertools.pairwise(cuts)]

    @property
    def diagonal_bytes(self) -> int:
        """Bytes of a bulletin's diagonals."""
        return sum(int(self.shape.layout.bytes(g)) for g in range(self.giants))

    @property
    def result(self) -> Noise:
        """Predicted noise of the result, over `END_LIMBS` limbs."""
        return self.program.result.noise

    def noises(self, security: int) -> list[Noise]:
        """Noise of every register of the range check, by index, bounded at a security instead of the default."""
        rules = NoiseRules(self.shape.context.params, security)
        return self.program.noises(rules, _affine(self.shape, self.set.clues, rules))

    def failures(self, compression: CompressionPlan) -> dict[str, float]:
        """For each stage, log2 of the probability that its noise is too large, at most; what `failure.budget` takes."""
        inputs, program = len(self.program.inputs), self.program
        limbs = [r.limbs for r in program.inputs] + [op.out.limbs for op in program.ops]

        @cache
        def budgets(security: int) -> list[float]:
            rules = NoiseRules(self.shape.context.params, security)
            return [rules.budget(noise, n) for noise, n in zip(self.noises(security), limbs, strict=True)]

        def digest(security: int) -> bool:
            result = self.noises(security)[program.result.index]
            return float(compression.noise(4.0**result.log_deviation).failure_log2) <= -security

        return {
            "affine transform": noise_failure(lambda s: min(budgets(s)[:inputs]) >= 0),
            "range check": noise_failure(lambda s: min(budgets(s)[inputs:]) >= 0),
            "digest": noise_failure(digest),
        }

    @cached_property
    def hash(self) -> bytes:
        """SHA-256 of all that a result depends on beside keys and bulletin."""
        ops = [(op.kind, [a.index for a in op.args], op.values, op.out.index, op.out.limbs) for op in self.program.ops]
        text = f"{self.set.hash.hex()} {bytes(self.shape.context.params.hash).hex()} {self.method} {ops}"
        return hashlib.sha256(b"ringforge-omr-plan-1" + text.encode()).digest()

    @cached_property
    def stages(self) -> list[Stage]:
        """In order. One thread, one shard."""
        shape, rules = self.shape, self.shape.context.rules
        native, limbs = shape.native, shape.limbs
        row = 2 * shape.context.params.degree * 8 * limbs
        babies = native.baby_noise(rules.encrypted(False))
        out = max((native.run_noise(babies, 0, self.giants, clue) for clue in range(self.set.clues)), key=_deviation)
        first, run = native.baby_counts(), native.run_counts(0, self.giants)

        def stage(name: str, end: int, counts: dict[str, int], noise: Noise, keys: int, memory: int, at: int) -> Stage:
            return Stage(name, (at, end), counts, noise.log_deviation, rules.budget(noise, end), keys, memory)

        before = max((reg.noise for reg in self.program.inputs), key=_deviation)
        switches = [op for op in self.program.ops if op.kind == "relinearize"]
        gadget = shape.context.gadget
        live = max(self._live())
        return [
            stage("babies", limbs, _counts(first), babies[-1], int(first.key_bytes), int(native.baby_bytes), limbs),
            stage(
                "affine",
                limbs,
                _counts(run),
                out,
                int(run.key_bytes),
                int(native.baby_bytes + native.run_bytes(0, self.giants, 1)),
                limbs,
            ),
            stage("subtract", limbs, {"plain_sum": self.set.clues}, before, 0, self.set.clues * row, limbs),
            stage(
                "range check",
                END_LIMBS,
                dict(self.program.counts()),
                self.result,
                sum(int(gadget.key_bytes(op.limbs)) for op in switches),
                live,
                limbs,
            ),
        ]

    def _live(self) -> list[int]:
        """Bytes of the registers in use after each operation of the range check."""
        word, degree = 8, self.shape.context.params.degree
        held = {reg.index: reg.parts * reg.limbs for reg in self.program.inputs}
        sizes = []
        for number, op in enumerate(self.program.ops):
            held[op.out.index] = op.out.parts * op.out.limbs
            sizes.append(sum(held.values()) * degree * word)
            for a in op.args:
                if self.program.last_use[a.index] == number:
                    held.pop(a.index, None)
        return sizes

    @property
    def memory(self) -> int:
        """Bytes of residues at most."""
        return max(stage.memory for stage in self.stages)

    def explain(self) -> str:
        """A table for people."""
        s, p = self.set, self.shape.context.params
        lines = [
            f"set {s.name}, method {self.method}: {s.entries} entries, {s.n} diagonals"
            f" = {self.giants} giant x {s.babies} baby steps, {s.clues} outputs, range {s.range}",
            f"BFV set {s.bfv}: t = {s.t}, Q of {p.log_q:.0f} bits in {p.max_limbs} limbs; diagonals"
            f" {self.diagonal_bytes / 2**20:.0f} MiB a bulletin",
            "",
            f"{'stage':<12} {'limbs':>8} {'noise':>7} {'budget':>7} {'keys':>9} {'memory':>9}  operations",
        ]
        for x in self.stages:
            ops = ", ".join(f"{n} {name}" for name, n in x.counts.items())
            lines.append(
                f"{x.name:<12} {f'{x.limbs[0]} > {x.limbs[1]}':>8} {x.noise:>7.1f} {x.budget:>7.1f}"
                f" {x.keys / 2**20:>5.0f} MiB {x.memory / 2**20:>5.0f} MiB  {ops}"
            )
        return "\n".join(lines)


def _affine(shape: AffineShape, clues: int, rules: NoiseRules) -> list[Noise]:
    """Noise of the inputs of the range check, for each clue."""
    native = shape.native
    babies = native.baby_noise(rules.encrypted(False), rules)
    outs = [rules.plain_sum(native.run_noise(babies, 0, shape.layout.giants, i, rules)) for i in range(clues)]
    return [Noise(out.log_deviation + _SHARDING, out.degree, out.reuse) for out in outs]


def _deviation(noise: Noise) -> float:
    return float(noise.log_deviation) if math.isfinite(noise.log_deviation) else math.inf
