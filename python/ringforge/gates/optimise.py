# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fewer bootstraps for the same function.

A netlist becomes a graph of ANDs, XORs, multiplexers, majorities and XORs of three, with inverters on its edges;
equal nodes are one. Then the graph is covered anew, as in technology mapping by cuts (Cong, Wu, Ding, FPGA 1999; area
flow as in Manohararajah, Brown, Vranesic, IEEE TCAD 2006): every function of up to three wires that the graph holds is
looked up in a table of what the evaluator's gates can do with one or two bootstraps. A full adder in plain gates
becomes a majority and an XOR of three. Inverters cost nothing, so what remains of them does not matter; most end up in
NAND, NOR and XNOR.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ringforge.gates.kinds import GateKind
from ringforge.gates.netlist import Gate, Netlist, Port

#: Cuts kept for each node.
_CUTS = 8

#: Times a graph is covered anew, as long as it helps.
_ROUNDS = 6

#: A literal is twice a node's number, plus one when it is inverted. Node 0 is the constant 0.
Literal = int
FALSE: Literal = 0
TRUE: Literal = 1


def optimise(netlist: Netlist) -> Netlist:
    """An equivalent netlist, with the same ports and as many bootstraps or fewer.

    Constants are propagated, gates that nothing depends on are gone, and there are none with two chained bootstraps
    (AND3 and its like). The result depends on the netlist only.
    """
    graph = _graph(netlist)
    best = to_netlist(graph, netlist)
    for _ in range(_ROUNDS):
        graph = _covered(graph)
        found = to_netlist(graph, netlist)
        if _cost(found) >= _cost(best):
            break
        best = found
    return best if _cost(best) <= _cost(netlist) else netlist


def _cost(netlist: Netlist) -> tuple[int, int, int]:
    report = netlist.report()
    return report.bootstraps, report.depth, len(netlist.gates)


# ---- the graph -----------------------------------------------------------------------------------


class Graph:
    """Nodes in topological order. What is added is simplified first, so an added node may be an old one.

    Operations: "in"; "and" of two literals; "xor", "xor3" of nodes; "mux" (select, if one, if zero), its select and its
    last literal not inverted; "maj" of three literals, at most one inverted.
    """

    def __init__(self) -> None:
        self.ops: list[tuple[str, tuple[Literal, ...]]] = [("zero", ())]
        self.outputs: list[Literal] = []
        self._known: dict[tuple[str, tuple[Literal, ...]], int] = {}

    def node(self, op: str, *literals: Literal) -> Literal:
        key = (op, literals)
        if op == "in" or key not in self._known:
            self._known[key] = len(self.ops)
            self.ops.append(key)
        return 2 * self._known[key]

    def and_(self, a: Literal, b: Literal) -> Literal:
        a, b = min(a, b), max(a, b)
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a in (TRUE, b):
            return b
        return self.node("and", a, b)

    def or_(self, a: Literal, b: Literal) -> Literal:
        return self.and_(a ^ 1, b ^ 1) ^ 1

    def xor(self, *literals: Literal) -> Literal:
        """Of two or three."""
        invert, left = 0, set[Literal]()
        for x in literals:
            invert ^= x & 1
            left ^= {x & ~1}
        left.discard(FALSE)
        if len(left) < 2:
            return (left.pop() if left else FALSE) ^ invert
        return self.node("xor" if len(left) == 2 else "xor3", *sorted(left)) ^ invert

    def mux(self, s: Literal, one: Literal, zero: Literal) -> Literal:
        if s & 1:
            s, one, zero = s ^ 1, zero, one
        if s == FALSE or one == zero:
            return zero
        if one == zero ^ 1:
            return self.xor(s, zero)
        if one in (TRUE, s):
            return self.or_(s, zero)
        if one in (FALSE, s ^ 1):
            return self.and_(s ^ 1, zero)
        if zero in (FALSE, s):
            return self.and_(s, one)
        if zero in (TRUE, s ^ 1):
            return self.or_(s ^ 1, one)
        invert = zero & 1
        return self.node("mux", s, one ^ invert, zero ^ invert) ^ invert

    def maj(self, a: Literal, b: Literal, c: Literal) -> Literal:
        a, b, c = sorted((a, b, c))
        for x, y, z in ((a, b, c), (b, c, a), (a, c, b)):
            if x == y:
                return x
            if x == y ^ 1:
                return z
        if a in (FALSE, TRUE):
            return self.or_(b, c) if a else self.and_(b, c)
        invert = int((a & 1) + (b & 1) + (c & 1) >= 2)
        return self.node("maj", *sorted((a ^ invert, b ^ invert, c ^ invert))) ^ invert

    def apply(self, op: str, literals: Sequence[Literal]) -> Literal:
        """Adds by name of the operation."""
        match op:
            case "and":
                return self.and_(*literals)
            case "mux":
                return self.mux(*literals)
            case "maj":
                return self.maj(*literals)
        return self.xor(*literals)


def _gate(graph: Graph, kind: GateKind, x: list[Literal]) -> Literal:
    match kind:
        case GateKind.AND | GateKind.NAND:
            value = graph.and_(*x)
        case GateKind.AND3 | GateKind.NAND3:
            value = graph.and_(graph.and_(x[0], x[1]), x[2])
        case GateKind.OR | GateKind.NOR:
            value = graph.or_(*x)
        case GateKind.OR3 | GateKind.NOR3:
            value = graph.or_(graph.or_(x[0], x[1]), x[2])
        case GateKind.XOR | GateKind.XNOR | GateKind.XOR3 | GateKind.SUM2 | GateKind.SUM3:
            value = graph.xor(*x)
        case GateKind.MUX:
            value = graph.mux(*x)
        case GateKind.MAJ3:
            value = graph.maj(*x)
        case GateKind.NOT | GateKind.COPY | GateKind.REFRESH:
            value = x[0]
        case GateKind.ZERO | GateKind.ONE:
            value = FALSE
    inverted = {GateKind.NAND, GateKind.NOR, GateKind.NAND3, GateKind.NOR3, GateKind.XNOR, GateKind.NOT, GateKind.ONE}
    return value ^ (kind in inverted)


def _graph(netlist: Netlist) -> Graph:
    graph = Graph()
    literals = [graph.node("in") for _ in range(netlist.input_bits)]
    for gate in netlist.gates:
        literals.append(_gate(graph, gate.kind, [literals[i] for i in gate.inputs]))
    graph.outputs = [literals[w] for port in netlist.outputs for w in port.wires]
    return graph


# ---- the table of functions ----------------------------------------------------------------------

#: Truth tables of three leaves: bit m of leaf i's is bit i of m.
_LEAVES = (0b10101010, 0b11001100, 0b11110000)
_OP_COST = {"and": 1, "xor": 1, "xor3": 1, "maj": 1, "mux": 2}


@dataclass(frozen=True)
class _Match:
    """A function by one or two operations. Literals 0 ... 5 are the leaves (twice the number, plus one inverted), 6 and
    7 the first operation's result; the last operation's result is inverted if `invert`."""

    steps: tuple[tuple[str, tuple[Literal, ...]], ...]
    invert: int
    cost: int


def _value(op: str, v: Sequence[int]) -> int:
    match op:
        case "and":
            return v[0] & v[1]
        case "mux":
            return (v[0] & v[1]) | (~v[0] & v[2])
        case "maj":
            return (v[0] & v[1]) | (v[0] & v[2]) | (v[1] & v[2])
    value = 0
    for x in v:
        value ^= x
    return value


def _operations(sources: Sequence[int]) -> Iterator[tuple[str, tuple[Literal, ...]]]:
    """Operations on different ones of these sources, with all inverters that matter."""
    for a, b in itertools.combinations(sources, 2):
        yield from (("and", (2 * a + i, 2 * b + j)) for i in (0, 1) for j in (0, 1))
        yield "xor", (2 * a, 2 * b)
    for a, b, c in itertools.combinations(sources, 3):
        at_most_one = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
        yield from (("maj", (2 * a + i, 2 * b + j, 2 * c + k)) for i, j, k in at_most_one)
        yield "xor3", (2 * a, 2 * b, 2 * c)


@cache
def _matches() -> dict[int, _Match]:
    """The cheapest way to each function of three leaves that takes at most two bootstraps; of equals, a shallow one."""
    found: dict[int, _Match] = {}

    def add(value: int, match: _Match) -> None:
        for invert in (0, 1):
            kept = found.setdefault(value ^ 255 * invert, _Match(match.steps, invert, match.cost))
            if kept.cost > match.cost:
                found[value ^ 255 * invert] = _Match(match.steps, invert, match.cost)

    def of(op: str, literals: Sequence[Literal], values: Sequence[int]) -> int:
        return _value(op, [values[x >> 1] ^ 255 * (x & 1) for x in literals]) & 255

    first = [(op, x, of(op, x, _LEAVES)) for op, x in _operations((0, 1, 2))]
    for op, x, value in first:
        add(value, _Match(((op, x),), 0, 1))
    for s, one, zero in itertools.permutations((0, 1, 2)):
        for i in (0, 1):
            x = (2 * s, 2 * one + i, 2 * zero)
            add(of("mux", x, _LEAVES), _Match((("mux", x),), 0, 2))
    for op, x, value in first:
        for then, y in _operations((0, 1, 2, 3)):
            if any(z >> 1 == 3 for z in y):
                add(of(then, y, (*_LEAVES, value)), _Match(((op, x), (then, y)), 0, 2))
    return found


# ---- covering ------------------------------------------------------------------------------------

#: A cut: nodes, and the function of them by a truth table on three leaves (unused leaves do not matter).
_Cut = tuple[tuple[int, ...], int]


@cache
def _moved(table: int, positions: tuple[int, ...]) -> int:
    """A truth table whose leaf i becomes leaf positions[i]."""
    moved = 0
    for m in range(8):
        at = sum((m >> p & 1) << i for i, p in enumerate(positions))
        moved |= (table >> at & 1) << m
    return moved


def _reduced(leaves: tuple[int, ...], table: int) -> _Cut:
    """Without leaves that do not matter."""
    kept = [i for i in range(len(leaves)) if (table ^ (table >> (1 << i))) & ~_LEAVES[i] & 255]
    if len(kept) == len(leaves):
        return leaves, table
    compact = 0
    for m in range(8):
        at = sum((m >> j & 1) << i for j, i in enumerate(kept))
        compact |= (table >> at & 1) << m
    return tuple(leaves[i] for i in kept), compact


@dataclass(frozen=True)
class _Choice:
    """How a node is to be made: a match on leaves, or None for the node's own operation."""

    leaves: tuple[int, ...]
    match: _Match | None
    table: int = 0


def _cuts_of(op: str, literals: tuple[Literal, ...], kept: list[list[_Cut]]) -> set[_Cut]:
    found: set[_Cut] = set()
    for combination in itertools.product(*(kept[x >> 1] for x in literals)):
        leaves = tuple(sorted({n for nodes, _ in combination for n in nodes}))
        if len(leaves) > 3:
            continue
        values = [
            _moved(table, tuple(leaves.index(n) for n in nodes)) ^ 255 * (x & 1)
            for (nodes, table), x in zip(combination, literals, strict=True)
        ]
        found.add(_reduced(leaves, _value(op, values) & 255))
    return found


def _covered(graph: Graph) -> Graph:
    """The graph covered by the cheapest matches, an equivalent one."""
    uses = _uses(graph)
    flow = [0.0] * len(graph.ops)
    level = [0] * len(graph.ops)
    kept: list[list[_Cut]] = []
    choices: list[_Choice | None] = []
    for node, (op, literals) in enumerate(graph.ops):
        own: _Cut = ((node,), _LEAVES[0])
        if op in ("zero", "in"):
            kept.append([((), 0)] if op == "zero" else [own])
            choices.append(None)
            continue
        nodes = tuple(sorted({x >> 1 for x in literals}))
        rank: tuple[float, int] = _OP_COST[op] + sum(flow[n] for n in nodes), 1 + max(level[n] for n in nodes)
        ranked = [(rank, _Choice(nodes, None))]
        cuts = []
        for leaves, table in sorted(_cuts_of(op, literals, kept)):
            match = _matches().get(table) if len(leaves) > 1 else None
            below = sum(flow[n] for n in leaves), max((level[n] for n in leaves), default=0)
            if len(leaves) < 2:
                ranked.append((below, _Choice(leaves, None, table)))
                cuts.append((below, (leaves, table)))
            elif match is not None:
                rank = (below[0] + match.cost, below[1] + len(match.steps))
                ranked.append((rank, _Choice(leaves, match, table)))
                cuts.append((rank, (leaves, table)))
        rank, choice = min(ranked, key=lambda r: r[0])
        flow[node], level[node] = rank[0] / max(1, uses[node]), rank[1]
        choices.append(choice)
        cuts.sort(key=lambda c: c[0])
        kept.append([own, *(cut for _, cut in cuts[:_CUTS])])
    return _rebuilt(graph, choices)


def _uses(graph: Graph) -> list[int]:
    uses = [0] * len(graph.ops)
    for _, literals in graph.ops:
        for x in literals:
            uses[x >> 1] += 1
    for x in graph.outputs:
        uses[x >> 1] += 1
    return uses


def _rebuilt(graph: Graph, choices: list[_Choice | None]) -> Graph:
    """The part of the graph that outputs need, each node made as chosen."""
    needed = [False] * len(graph.ops)
    for x in graph.outputs:
        needed[x >> 1] = True
    for node in range(len(graph.ops) - 1, -1, -1):
        choice = choices[node]
        if needed[node] and choice is not None:
            for n in choice.leaves:
                needed[n] = True
    new = Graph()
    place = [FALSE] * len(graph.ops)
    for node, ((op, literals), choice) in enumerate(zip(graph.ops, choices, strict=True)):
        if op == "in":
            place[node] = new.node("in")
        elif choice is None or not needed[node]:
            continue
        elif choice.match is not None:
            values = [place[n] for n in choice.leaves] + [FALSE] * (3 - len(choice.leaves))
            for step, operands in choice.match.steps:
                values.append(new.apply(step, [values[i >> 1] ^ (i & 1) for i in operands]))
            place[node] = values[-1] ^ choice.match.invert
        elif len(choice.leaves) < 2:
            # A constant, or another node: bit 0 of the table is its value where that is 0.
            place[node] = (place[choice.leaves[0]] if choice.leaves else FALSE) ^ (choice.table & 1)
        else:
            place[node] = new.apply(op, [place[x >> 1] ^ (x & 1) for x in literals])
    new.outputs = [place[x >> 1] ^ (x & 1) for x in graph.outputs]
    return new


# ---- back to gates -------------------------------------------------------------------------------


class _Emitter:
    """Makes gates of a graph. A node's wire may carry its inverse, where that saves inverters."""

    def __init__(self, graph: Graph, source: Netlist) -> None:
        self.graph = graph
        self.first = source.input_bits
        self.gates: list[Gate] = []
        self.wires: dict[int, tuple[int, int]] = {}  # of a node: its wire, and whether that is inverted
        self.nots: dict[int, int] = {}
        self.wish = [0] * len(graph.ops)  # users that want the inverse, less those that want the value
        for op, literals in graph.ops:
            if op in ("and", "maj", "mux"):
                for x in literals:
                    self.wish[x >> 1] += 1 if x & 1 else -1
        for x in graph.outputs:
            self.wish[x >> 1] += 1 if x & 1 else -1

    def add(self, kind: GateKind, *inputs: int) -> int:
        self.gates.append(Gate(kind, inputs))
        return self.first + len(self.gates) - 1

    def inverse(self, wire: int) -> int:
        if wire not in self.nots:
            self.nots[wire] = self.add(GateKind.NOT, wire)
            self.nots[self.nots[wire]] = wire
        return self.nots[wire]

    def seen(self, x: Literal) -> tuple[int, int]:
        """The wire of a literal's node, and whether the literal is its inverse."""
        wire, inverted = self.wires[x >> 1]
        return wire, inverted ^ (x & 1)

    def wire(self, x: Literal) -> int:
        """A wire that carries a literal."""
        if x in (FALSE, TRUE) and 0 not in self.wires:
            self.wires[0] = (self.add(GateKind.ONE if x else GateKind.ZERO), x)
        wire, inverted = self.seen(x)
        return self.inverse(wire) if inverted else wire

    def make(self, node: int) -> None:
        op, literals = self.graph.ops[node]
        wires = [self.seen(x) for x in literals]
        want = int(self.wish[node] > 0)
        inverted = sum(i for _, i in wires)
        match op:
            case "and":
                if inverted == 1:
                    # One of the two needs an inverter: an inverter that is there, else on the inverted one.
                    (a, i), (b, _) = wires
                    plain, odd = (b, a) if i else (a, b)
                    both = plain in self.nots and odd not in self.nots
                    pair, inverted = ((self.nots[plain], odd), 2) if both else ((plain, self.inverse(odd)), 0)
                else:
                    pair = (wires[0][0], wires[1][0])
                plain_kind, inverse_kind = (GateKind.NOR, GateKind.OR) if inverted else (GateKind.AND, GateKind.NAND)
                self.wires[node] = self.add(inverse_kind if want else plain_kind, *pair), want
            case "xor":
                kind = GateKind.XNOR if want ^ (inverted & 1) else GateKind.XOR
                self.wires[node] = self.add(kind, *(w for w, _ in wires)), want
            case "xor3":
                self.wires[node] = self.add(GateKind.XOR3, *(w for w, _ in wires)), inverted & 1
            case "maj":
                flip = int(inverted >= 2)
                inputs = [self.inverse(w) if i ^ flip else w for w, i in wires]
                self.wires[node] = self.add(GateKind.MAJ3, *inputs), flip
            case "mux":
                (s, swap), one, zero = wires
                if swap:
                    one, zero = zero, one
                flip = one[1]
                last = self.inverse(zero[0]) if zero[1] ^ flip else zero[0]
                self.wires[node] = self.add(GateKind.MUX, s, one[0], last), flip


def to_netlist(graph: Graph, source: Netlist) -> Netlist:
    """Gates for what the graph's outputs need; ports as in the source."""
    needed = [False] * len(graph.ops)
    for x in graph.outputs:
        needed[x >> 1] = True
    for node in range(len(graph.ops) - 1, -1, -1):
        if needed[node]:
            for x in graph.ops[node][1]:
                needed[x >> 1] = True
    emitter = _Emitter(graph, source)
    inputs = itertools.count()
    for node, (op, _) in enumerate(graph.ops):
        if op == "in":
            emitter.wires[node] = (next(inputs), 0)
        elif node and needed[node]:
            emitter.make(node)
    wires = iter([emitter.wire(x) for x in graph.outputs])
    outputs = tuple(Port(p.name, tuple(itertools.islice(wires, p.width))) for p in source.outputs)
    return Netlist(source.name, source.inputs, outputs, tuple(emitter.gates))
