# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Measured noise and failures of the native gates, beside what `ringforge.gates.noise` predicts for the very keys."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from ringforge import _native, gates
from ringforge.gates import noise, sets
from ringforge.gates.kinds import GateKind

Floats = npt.NDArray[np.float64]

#: Kinds with a bootstrap.
KINDS = tuple(k for k in GateKind if k.bootstraps)
TWO_INPUTS = tuple(k for k in KINDS if k.arity == 2)

#: Gates in a level.
LEVEL = 64

_WHY = "a measurement of the set's failures"


class Bench:
    """A set with keys of one seed: the same bits and errors in every run.

    Attributes:
        gate_set: the set.
        method: its accumulator.
        lengths: of the secrets drawn.
        threads: that gates run on.
    """

    def __init__(self, name: str, method: gates.storage.Method = "ginx", seed: int = 1, threads: int = 1) -> None:
        self.gate_set, self.method, self.threads = sets.named(name, _WHY), method, threads
        self.rng = np.random.default_rng(seed)
        params = _native.fhew.parameters(name, _WHY if self.gate_set.insecure else "")
        self.secret = _native.fhew.SecretKey(params, _native.TestSeed(seed.to_bytes(32, "little")))
        self.key = gates.make_evaluation_key(self.secret, method, threads)
        # The file of a secret key: 48 bytes of header, a byte for each coefficient plus one, 32 bytes of checksum.
        weights = np.frombuffer(self.secret.save(), np.uint8)[60:-32] != 1
        n = self.gate_set.n
        self.lengths = noise.KeyLengths(float(weights[:n].sum()), float(weights[n:].sum()))

    def fresh(self, count: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
        """Encrypted random bits, and the bits."""
        bits = self.rng.integers(0, 2, count).astype(np.uint8)
        return self.secret.encrypt(bits), bits

    def level(
        self, kinds: npt.NDArray[np.uint8], wires: npt.NDArray[np.uint32], inputs: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.uint32]:
        """Outputs of gates on rows of `wires`; inputs are (gates, 3)."""
        count, first = len(kinds), len(wires)
        room = np.concatenate([wires, np.zeros((count, wires.shape[1]), np.uint32)])
        outputs = np.arange(first, first + count, dtype=np.int32)
        _native.fhew.evaluate(self.key, kinds, inputs, room, outputs, self.threads)
        return room[first:]

    def refreshed(self, count: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
        """Outputs of XOR gates of fresh bits, and the bits."""
        wires, bits = self.fresh(2 * count)
        pairs = np.stack([np.arange(0, 2 * count, 2), np.arange(1, 2 * count, 2), np.full(count, -1)], axis=1)
        out = self.level(np.full(count, GateKind.XOR, np.uint8), wires, pairs.astype(np.int32))
        return out, bits[::2] ^ bits[1::2]

    def stage_errors(self, kind: GateKind, pairs: npt.NDArray[np.uint32]) -> Floats:
        """Errors of one gate for each pair (count, 2, n + 1): rounded sum, blind rotation, result, each in its unit."""

        def trace(pair: npt.NDArray[np.uint32]) -> tuple[float, ...]:
            return tuple(_native.fhew.trace(self.key, self.secret, int(kind), pair))

        with ThreadPoolExecutor(self.threads) as pool:
            return np.array(list(pool.map(trace, pairs)))

    def predicted(self, kind: GateKind, inputs: str, wiring: str = "") -> Floats:
        """Variances that :meth:`stage_errors` should show, by the model, with this key's lengths."""
        s = self.gate_set
        stage = noise.stages(s, self.method, self.lengths)
        gate = noise.GATES[kind.name]
        each = noise.input_variance(s, inputs, self.method, self.lengths)
        m = s.rotation_modulus
        return np.array(
            [
                noise.weight_square(gate.sums[0], wiring) * each + stage.rounding,
                stage.accumulator * (s.modulus / m) ** 2,
                stage.output() * (2**s.log_q / m) ** 2,
            ]
        )

    def measure(self, kind: GateKind, inputs: str, count: int) -> tuple[Floats, Floats]:
        """Mean squares of the errors of `count` gates, and their predictions; inputs `fresh` or `gate`."""
        if inputs == "fresh":
            pairs = self.fresh(2 * count)[0].reshape(count, 2, -1)
        else:
            wires, _ = self.refreshed(count)
            pairs = np.stack([wires, np.roll(wires, 1, axis=0)], axis=1)
        errors = self.stage_errors(kind, np.ascontiguousarray(pairs))
        return np.mean(errors**2, axis=0), self.predicted(kind, inputs)

    def wrong(self, kind: GateKind, count: int, pool: int = 128) -> int:
        """How many of `count` gates of one kind, in one level, on refreshed bits at random, give a wrong bit."""
        wires, bits = self.refreshed(pool)
        inputs = self.rng.integers(0, pool, (count, 3)).astype(np.int32)
        got = self.secret.decrypt(self.level(np.full(count, kind, np.uint8), wires, inputs))
        want = np.array([kind.of([int(bits[i]) for i in row[: kind.arity]]) for row in inputs])
        return int(np.sum(got != want))

    def chain(self, kinds: tuple[GateKind, ...], count: int) -> tuple[int, float]:
        """Runs levels of gates of two inputs, each on outputs of the one before.

        Returns how many of the `count` gates gave another bit than the ones at their inputs imply, and how many
        should have, by the model.
        """
        wires, _ = self.refreshed(LEVEL)
        wrong, expected = 0, 0.0
        for _ in range(-(-count // LEVEL)):
            bits = self.secret.decrypt(wires)
            chosen = self.rng.choice(kinds, LEVEL).astype(np.uint8)
            order = self.rng.permutation(LEVEL)
            inputs = np.stack([order, np.roll(order, 1), np.full(LEVEL, -1)], axis=1).astype(np.int32)
            wires = self.level(chosen, wires, inputs)
            want = [GateKind(k).of([int(bits[a]), int(bits[b])]) for k, (a, b, _) in zip(chosen, inputs, strict=True)]
            wrong += int(np.sum(self.secret.decrypt(wires) != np.array(want)))
            for k in chosen:
                log2 = noise.log2_failure(self.gate_set, GateKind(k).name, "gate", self.method, self.lengths)
                expected += 2.0**log2
        return wrong, expected


def plausible(seen: int, expected: float, chance: float = 1e-4) -> bool:
    """Whether a Poisson variable of this mean is as small, and as large, as seen with at least this chance."""

    def at_most(k: int) -> float:
        return sum(math.exp(i * math.log(expected) - expected - math.lgamma(i + 1)) for i in range(k + 1))

    return at_most(seen) >= chance and 1 - at_most(seen - 1) >= chance


#: Gates of dependent inputs run as they are, and by which wiring the model knows them.
AS_THEY_ARE = ((GateKind.NAND, "ab"), (GateKind.NAND, "aa"), (GateKind.XOR, "aA"))


def traced(bench: Bench, kind: GateKind, wiring: str, count: int) -> Floats:
    """Errors of the rounded sums of gates of refreshed bits: of two, of one twice, or of one and its complement."""
    wires, _ = bench.refreshed(count)
    other = np.roll(wires, 1, axis=0) if wiring == "ab" else wires
    if wiring == "aA":
        q = 1 << bench.gate_set.log_q
        negative = -wires.astype(np.int64) % q
        negative[:, -1] = (negative[:, -1] + q // 4) % q
        other = negative.astype(np.uint32)
    return bench.stage_errors(kind, np.ascontiguousarray(np.stack([wires, other], axis=1)))[:, 0]


def check_dependent_inputs_are_charged(bench: Bench, count: int) -> None:
    """Gates run without looking at their inputs have the variance of their wiring, and miss as often.

    Doubled bits are M/4 away from both ends of the half circle, others M/8 from one: that the noise reaches as far on
    the other side counts too, as a second sample.
    """
    for kind, wiring in AS_THEY_ARE:
        errors, doubled = traced(bench, kind, wiring, count), noise.GATES[kind.name].doubled
        # Squares of `count` Gaussians: 5 standard deviations of their mean.
        predicted = bench.predicted(kind, "gate", wiring)[0]
        assert abs(np.mean(errors**2) / predicted - 1) < 5 * (2 / count) ** 0.5, (kind, wiring)
        chances = [
            2.0 ** noise.log2_failure(bench.gate_set, kind.name, "gate", bench.method, bench.lengths, w)
            for w in (wiring, "ab")
        ]
        seen = int(np.sum(np.abs(errors) > bench.gate_set.rotation_modulus / (4 if doubled else 8)))
        expected = count * chances[0] * (1 if doubled else 2)
        assert plausible(seen, expected), (kind, wiring, seen, expected)
        assert wiring == "ab" or chances[0] > 5 * chances[1]


def check_dependent_inputs_are_replaced(bench: Bench, count: int) -> None:
    """Through the evaluator, gates of different inputs fail as the model says; of dependent ones none does."""
    wires, _ = bench.refreshed(count)
    index, none = np.arange(count), np.full(count, -1)

    def inputs(*columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        return np.stack([*columns, *[none] * (3 - len(columns))], axis=1).astype(np.int32)

    room = np.concatenate([wires, bench.level(np.full(count, GateKind.NOT, np.uint8), wires, inputs(index)), wires])
    inverse, copy = index + count, index + 2 * count
    # NAND(a, a), XOR(a, NOT a), XOR3(a, a, a), MAJ3(a, a, NOT a), with copies at another place of the memory.
    which = index % 4
    kinds = np.array([GateKind.NAND, GateKind.XOR, GateKind.XOR3, GateKind.MAJ3], np.uint8)[which]
    third = np.select([which < 2, which == 3], [none, inverse], index)
    got = bench.secret.decrypt(bench.level(kinds, room, inputs(index, np.where(which == 1, inverse, copy), third)))
    held = bench.secret.decrypt(wires)
    assert np.array_equal(got, np.select([which == 0, which == 1], [1 - held, np.ones_like(held)], held))
    other = np.roll(index, 1)
    got = bench.secret.decrypt(bench.level(np.full(count, GateKind.NAND, np.uint8), wires, inputs(index, other)))
    expected = count * 2.0 ** noise.log2_failure(bench.gate_set, "NAND", "gate", bench.method, bench.lengths)
    assert plausible(int(np.sum(got != 1 - (held & held[other]))), expected)
