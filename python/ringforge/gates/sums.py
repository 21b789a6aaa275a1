# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""XORs without a bootstrap, where the noise allows it.

A full adder is a majority and an XOR of three, two bootstraps. But a + b + c - 2 MAJ3(a, b, c) = a ^ b ^ c holds for
the ciphertexts too, and the rotation that gives the majority gives twice the majority as well: the sum is free, and
has the noise of its inputs and of one rotation more. :func:`with_sums` replaces XORs of a netlist by such sums, as
many as the set's promise bears; :func:`examine` follows the noise through a netlist.

Noise is followed by its sources: each blind rotation is one, and so is each input bit, or all bits of a port whose own
noise is of one piece. A wire is a sum of sources with weights; where wires meet, weights on one source add up before
they are squared, so that what depends on each other is counted in full, whatever its sign. A carry and its double come
of one rotation and count as one source. That different rotations are independent is the assumption of
:mod:`ringforge.gates.noise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ringforge.errors import ParameterError
from ringforge.gates import noise
from ringforge.gates.kinds import CARRIES, SUMS, GateKind
from ringforge.gates.netlist import Gate, Netlist, Port
from ringforge.gates.sets import GateSet

#: log2 of the failures of a decision that a set without a promise is held to.
UNPROMISED = -40.0

#: Times that a netlist is gone through anew until no decision is too noisy.
_ROUNDS = 12


class NoisyError(ParameterError):
    """Operands are too noisy for a circuit: they need a refresh."""


@dataclass(frozen=True)
class PortNoise:
    """Noise of an input port's bits.

    Attributes:
        variance: of each bit, in squared units of M.
        together: whether the bits may depend on each other, as sums do; bits of gates and fresh ones do not.
    """

    variance: float
    together: bool = False


@dataclass(frozen=True)
class Examined:
    """What the noise does in a netlist.

    Attributes:
        failure_log2: of the union bound over all decisions, and those on the outputs at decryption, or in the gates
            that refresh outputs with sums, whichever fail more.
        worst_log2: of the most likely one.
        outputs: the largest variance of a bit, for each output port.
        sums: the output ports with bits that are sums, whose noise may depend on each other's.
        held: the wires of gates whose noise is in those bits; of a carry and its sum, the carry.
    """

    failure_log2: float
    worst_log2: float
    outputs: dict[str, float]
    sums: frozenset[str] = frozenset()
    held: frozenset[int] = frozenset()


def limit_log2(s: GateSet, method: str = "ginx") -> float:
    """log2 of what a decision may fail with: the set's promise; without one, 2^-40, or its worst gate's."""
    if s.failure < 0:
        return float(s.failure)
    return max(UNPROMISED, noise.worst_gate(s, method)[1])


def tolerance(s: GateSet, method: str = "ginx") -> float:
    """The variance that a bit may have at decryption, in squared units of M, for the set's promise."""
    return _largest(s, method, lambda variance: _decision(s, False, variance))


def refreshable(s: GateSet, method: str = "ginx") -> float:
    """The variance that a result may have, in squared units of M: decrypted or refreshed it fails as promised."""
    rounding = noise.stages(s, method).rounding
    return min(tolerance(s, method), _largest(s, method, lambda variance: _refresh(s, variance, rounding)))


def _largest(s: GateSet, method: str, failure: Callable[[float], float]) -> float:
    """The variance with which something fails as often as it may."""
    limit, low, high = limit_log2(s, method), 0.0, float(s.rotation_modulus) ** 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if failure(middle) <= limit else (low, middle)
    return low


def noisiest_sum(s: GateSet, method: str = "ginx") -> float:
    """The variance up to which two sums and a carry can be added once more by a shared rotation, and each can be
    refreshed: what operands of integer operations may have, in squared units of M."""
    room = tolerance(s, method) - noise.shared_rounding(s, method) - noise.input_variance(s, "gate", method)
    return max(min(room / 2, refreshable(s, method)), noise.input_variance(s, "mux", method))


def _refresh(s: GateSet, variance: float, rounding: float) -> float:
    """log2 of the failure of a REFRESH, which doubles its input."""
    gate = noise.GATES["REFRESH"]
    return _decision(s, gate.doubled, noise.weight_square(gate.sums[0]) * variance + rounding)


def _decision(s: GateSet, doubled: bool, variance: float) -> float:
    if not variance:
        return -math.inf
    m, deviation = s.rotation_modulus, math.sqrt(variance)
    if doubled:
        return 1 + noise.log2_tail(m / 4 / deviation)
    return noise.log2_add(noise.log2_tail(m / 8 / deviation), noise.log2_tail(3 * m / 8 / deviation))


_Vector = dict[int, float]


def _combined(weights: tuple[int, ...], vectors: list[_Vector]) -> _Vector:
    found: _Vector = {}
    for weight, vector in zip(weights, vectors, strict=True):
        for source, w in vector.items():
            found[source] = found.get(source, 0.0) + abs(weight) * w
    return found


@dataclass
class _Walk:
    """A netlist gone through in order, with the noise of each wire."""

    netlist: Netlist
    s: GateSet
    method: str
    inputs: Mapping[str, PortNoise]
    variances: list[float] = field(default_factory=list)
    vectors: list[_Vector] = field(default_factory=list)
    failures: list[float] = field(default_factory=list)
    soft: set[int] = field(default_factory=set)
    rotations: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stages = noise.stages(self.s, self.method)
        self.shared = noise.shared_rounding(self.s, self.method)
        self.limit = limit_log2(self.s, self.method)
        for port in self.netlist.inputs:
            if port.name not in self.inputs:
                raise ParameterError(f'no noise is given for input "{port.name}"')
            given, one = self.inputs[port.name], len(self.variances)
            for i in range(port.width):
                if i == 0 or not given.together:
                    self.variances.append(given.variance)
                    self.soft |= {len(self.variances) - 1} if given.together else set()
                self.vectors.append({one if given.together else len(self.variances) - 1: 1.0})

    def source(self, variance: float) -> _Vector:
        self.variances.append(variance)
        return {len(self.variances) - 1: 1.0}

    def variance(self, vector: _Vector) -> float:
        return sum(w * w * self.variances[i] for i, w in vector.items())

    def holds_sums(self, wire: int) -> bool:
        """Whether a wire's noise is of several sources, or of an operand's that is itself a sum."""
        return len(self.vectors[wire]) > 1 or bool(self.soft & self.vectors[wire].keys())

    def decide(self, gate: Gate, shares: bool) -> float:
        """log2 of the failure of a gate's rotations, on the noise that its inputs have now."""
        kind = gate.kind
        if kind in SUMS:
            weights: tuple[tuple[int, ...], ...] = ((1,) * kind.arity,)
            doubled, chained = False, 1
        else:
            known = noise.GATES[kind.name]
            weights, doubled, chained = known.sums, known.doubled, known.chained
        rounding = self.shared if shares else self.stages.rounding
        inputs = [self.vectors[i] for i in gate.inputs]
        links = []
        for w in weights:
            links.append(_decision(self.s, doubled, self.variance(_combined(w, inputs)) + rounding))
        if chained > 1:
            # The second link adds the first one's result and the last input.
            later = self.stages.output(1) + self.variance(inputs[-1])
            links.append(_decision(self.s, False, later + rounding))
        return noise.log2_add(*links)


def _partners(netlist: Netlist) -> dict[int, int]:
    """Sums by their wires: the wire of the carry whose rotation each shares."""
    carries: dict[tuple[int, ...], int] = {}
    found: dict[int, int] = {}
    first = netlist.input_bits
    for wire, gate in enumerate(netlist.gates, first):
        if gate.kind in CARRIES:
            carries.setdefault(gate.inputs, wire)
    taken: set[int] = set()
    for wire, gate in enumerate(netlist.gates, first):
        carry = carries.get(gate.inputs) if gate.kind in SUMS else None
        if carry is not None and carry not in taken:
            found[wire] = carry
            taken.add(carry)
    return found


def _walked(
    netlist: Netlist,
    s: GateSet,
    method: str,
    inputs: Mapping[str, PortNoise],
    repair: Callable[[_Walk, int, Gate], bool] | None = None,
) -> _Walk:
    """Goes through a netlist; `repair` is asked, gate by gate, where a decision fails more often than it may."""
    walk = _Walk(netlist, s, method, inputs)
    first = netlist.input_bits
    shares = method != "automorphism"
    partners = _partners(netlist)
    sharing = {carry: wire for wire, carry in partners.items()} if shares else {}
    rotations: dict[int, _Vector] = {}
    for wire, gate in enumerate(netlist.gates, first):
        kind = gate.kind
        if kind in (GateKind.NOT, GateKind.COPY):
            walk.vectors.append(walk.vectors[gate.inputs[0]])
            continue
        if not kind.arity:
            walk.vectors.append({})
            continue
        carry = partners.get(wire) if shares else None
        twin = carry is not None or wire in sharing
        failure = walk.decide(gate, twin)
        while failure > walk.limit and repair is not None and repair(walk, wire, gate):
            failure = walk.decide(gate, twin)
        walk.failures.append(failure)
        # A carry and its sum may stand in any order: who comes first makes the source.
        own = carry if carry is not None else wire
        made = rotations.get(own)
        if made is None:
            made = walk.source(walk.stages.output(2 if kind is GateKind.MUX else 1))
            rotations[own] = made
            walk.rotations[next(iter(made))] = own
        if kind in SUMS:
            walk.vectors.append(_combined((1,) * (kind.arity + 1), [*(walk.vectors[i] for i in gate.inputs), made]))
        else:
            walk.vectors.append(made)
    return walk


def examine(netlist: Netlist, s: GateSet, method: str, inputs: Mapping[str, PortNoise]) -> Examined:
    """Failures of a netlist's decisions, and the noise of its outputs.

    Args:
        netlist: with or without sums.
        s: the parameter set.
        method: the accumulator.
        inputs: noise of each input port.

    Raises:
        ParameterError: an input port is missing.
    """
    walk = _walked(netlist, s, method, inputs)
    return _result(walk)


def _result(walk: _Walk) -> Examined:
    netlist, failures = walk.netlist, list(walk.failures)
    outputs = {}
    for port in netlist.outputs:
        found = [walk.variance(walk.vectors[w]) for w in port.wires]
        outputs[port.name] = max(found)
        for wire, variance in zip(port.wires, found, strict=True):
            sent = _decision(walk.s, False, variance)
            refreshed = _refresh(walk.s, variance, walk.stages.rounding) if walk.holds_sums(wire) else sent
            failures.append(max(sent, refreshed))
    real = [f for f in failures if not math.isinf(f)]
    sums = frozenset(p.name for p in netlist.outputs if any(walk.holds_sums(w) for w in p.wires))
    wires = [w for p in netlist.outputs for w in p.wires if walk.holds_sums(w)]
    held = frozenset(walk.rotations[i] for w in wires for i in walk.vectors[w] if i in walk.rotations)
    if not real:
        return Examined(-math.inf, -math.inf, outputs, sums, held)
    return Examined(min(0.0, noise.log2_add(*real)), max(real), outputs, sums, held)


# ---- sums in place of XORs -----------------------------------------------------------------------


def with_sums(netlist: Netlist, s: GateSet, method: str, inputs: Mapping[str, PortNoise]) -> tuple[Netlist, Examined]:
    """The netlist with sums where no decision fails more often for them than the set promises.

    XORs beside an AND or OR, or a majority, of the same wires, inverted or not, are candidates. Where a decision would
    be too noisy, the noisiest sum that it reads is made an XOR again, which refreshes it.

    Raises:
        NoisyError: operands are too noisy even without sums. ParameterError: an input port's noise is missing.
    """
    candidates = _candidates(netlist)
    refused: set[int] = set()
    most = refreshable(s, method)
    for _ in range(_ROUNDS + len(candidates)):
        made, origin = _rewritten(netlist, {w: c for w, c in candidates.items() if w not in refused})
        before = len(refused)
        _walked(made, s, method, inputs, lambda walk, wire, gate: _repair(walk, wire, gate, made, origin, refused))  # noqa: B023
        walk = _walked(made, s, method, inputs)
        for port in made.outputs:
            for wire in port.wires:
                if walk.variance(walk.vectors[wire]) > most:
                    noisiest = _sums_below(made, wire, origin, refused)
                    refused |= noisiest
        if len(refused) == before:
            result = _result(walk)
            if result.worst_log2 > limit_log2(s, method):
                raise NoisyError(
                    f'operands are too noisy for "{netlist.name}" in {s.name}: refresh them first (x.refreshed())'
                )
            return made, result
    raise NoisyError(f'"{netlist.name}" finds no place for sums in {s.name}: run it without')


def _repair(walk: _Walk, wire: int, gate: Gate, made: Netlist, origin: dict[int, int], refused: set[int]) -> bool:
    """Takes away the noisiest sum that a gate reads, else the one that it shares its rotation with."""
    first, found = made.input_bits, []
    for i in gate.inputs:
        at = i
        while at >= first and made.gates[at - first].kind in (GateKind.NOT, GateKind.COPY):
            at = made.gates[at - first].inputs[0]
        if at in origin and origin[at] not in refused:
            found.append((walk.variance(walk.vectors[i]), at))
    if not found:
        partner = next((s for s, c in _partners(made).items() if wire in (s, c)), None)
        if partner in origin and origin[partner] not in refused:
            refused.add(origin[partner])
        return False
    _, at = max(found)
    refused.add(origin[at])
    fresh = walk.source(walk.stages.output(1))
    for i in gate.inputs:
        below = i
        while below >= first and made.gates[below - first].kind in (GateKind.NOT, GateKind.COPY):
            walk.vectors[below] = fresh if _root(made, below) == at else walk.vectors[below]
            below = made.gates[below - first].inputs[0]
    walk.vectors[at] = fresh
    return True


def _root(netlist: Netlist, wire: int) -> int:
    """The wire that free gates pass on."""
    first = netlist.input_bits
    while wire >= first and netlist.gates[wire - first].kind in (GateKind.NOT, GateKind.COPY):
        wire = netlist.gates[wire - first].inputs[0]
    return wire


def _sums_below(netlist: Netlist, wire: int, origin: dict[int, int], refused: set[int]) -> set[int]:
    """The first sum on the way back from an output that is too noisy: it becomes an XOR."""
    root = _root(netlist, wire)
    return {origin[root]} if root in origin and origin[root] not in refused else set()


#: Inputs of these, inverted where the number says so, are those of an AND or MAJ3, whose result is inverted likewise.
_AS_AND = {
    GateKind.AND: (0, 0),
    GateKind.NAND: (0, 1),
    GateKind.OR: (1, 1),
    GateKind.NOR: (1, 0),
    GateKind.MAJ3: (0, 0),
}
_XORS = (GateKind.XOR, GateKind.XNOR, GateKind.XOR3)


def _roots(netlist: Netlist) -> list[tuple[int, int]]:
    """For each wire the one that it is, or the inverse of, and which."""
    found: list[tuple[int, int]] = [(w, 0) for w in range(netlist.input_bits)]
    for wire, gate in enumerate(netlist.gates, netlist.input_bits):
        if gate.kind in (GateKind.NOT, GateKind.COPY):
            root, inverted = found[gate.inputs[0]]
            found.append((root, inverted ^ (gate.kind is GateKind.NOT)))
        else:
            found.append((wire, 0))
    return found


def _candidates(netlist: Netlist) -> dict[int, int]:
    """XORs by their wires: the carry of the same wires, each carry once."""
    roots = _roots(netlist)
    carries: dict[tuple[int, ...], int] = {}
    for wire, gate in enumerate(netlist.gates, netlist.input_bits):
        key = tuple(sorted(roots[i][0] for i in gate.inputs))
        if gate.kind in _AS_AND and len(set(key)) == len(key):
            carries.setdefault(key, wire)
    found: dict[int, int] = {}
    for wire, gate in enumerate(netlist.gates, netlist.input_bits):
        if gate.kind in _XORS:
            carry = carries.pop(tuple(sorted(roots[i][0] for i in gate.inputs)), None)
            if carry is not None:
                found[wire] = carry
    return found


def _rewritten(netlist: Netlist, chosen: dict[int, int]) -> tuple[Netlist, dict[int, int]]:
    """The netlist with sums for the chosen XORs, and the XOR that each sum's wire stands for."""
    first, roots = netlist.input_bits, _roots(netlist)
    gates: list[Gate] = []
    place: list[int] = list(range(first))
    nots: dict[int, int] = {}
    origin: dict[int, int] = {}
    carries = set(chosen.values())

    def add(kind: GateKind, *inputs: int) -> int:
        gates.append(Gate(kind, inputs))
        return first + len(gates) - 1

    def inverse(wire: int) -> int:
        if wire not in nots:
            nots[wire] = add(GateKind.NOT, wire)
            nots[nots[wire]] = wire
        return nots[wire]

    def wires_of(carry: int) -> list[int]:
        """What the carry reads, as an AND or majority: roots, inverted where it needs them so."""
        gate = netlist.gates[carry - first]
        flip, _ = _AS_AND[gate.kind]
        pairs = [roots[i] for i in gate.inputs]
        return [inverse(place[r]) if i ^ flip else place[r] for r, i in pairs]

    for wire, gate in enumerate(netlist.gates, first):
        if wire in chosen:
            read = wires_of(chosen[wire])
            other = netlist.gates[chosen[wire] - first]
            flips = sum(i ^ _AS_AND[other.kind][0] for _, i in (roots[i] for i in other.inputs))
            asked = sum(roots[i][1] for i in gate.inputs) + (gate.kind is GateKind.XNOR)
            made = add(GateKind.SUM2 if len(read) == 2 else GateKind.SUM3, *read)
            origin[made] = wire
            place.append(inverse(made) if (flips + asked) % 2 else made)
        elif wire in carries:
            made = add(GateKind.AND if gate.kind is not GateKind.MAJ3 else gate.kind, *wires_of(wire))
            place.append(inverse(made) if _AS_AND[gate.kind][1] else made)
        elif gate.kind is GateKind.NOT:
            place.append(inverse(place[gate.inputs[0]]))
        else:
            place.append(add(gate.kind, *(place[i] for i in gate.inputs)))
    outputs = tuple(Port(p.name, tuple(place[w] for w in p.wires)) for p in netlist.outputs)
    return replace(netlist, gates=tuple(gates), outputs=outputs), origin
