# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Netlists: combinational circuits of gates, checked when they are made; levels and figures of them.

A netlist comes from a file (:func:`ringforge.gates.formats.read_netlist`) or from a :class:`Draft`, which takes gates
in any order by the names of the nets they touch, and finds what is wrong with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ringforge.errors import NetlistError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates.kinds import CARRIES, SUMS, GateKind, shared_rotations

#: Gates and port bits that a netlist may have.
MAX_WIRES = 1 << 22


@dataclass(frozen=True)
class Port:
    """Named bits, the least first.

    Args:
        name: unique among the ports of its direction.
        wires: numbers of wires.
    """

    name: str
    wires: tuple[int, ...]

    @property
    def width(self) -> int:
        """Bits."""
        return len(self.wires)


@dataclass(frozen=True)
class Gate:
    """One gate; it drives the wire that its place in the netlist says."""

    kind: GateKind
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a circuit takes.

    Attributes:
        gates: how many of each kind, by name.
        bootstraps: blind rotations; sums share those of their carries.
        depth: gates with bootstraps in the longest path: levels that wait for each other.
        widest: bootstraps in the widest level.
    """

    gates: dict[str, int]
    bootstraps: int
    depth: int
    widest: int

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind, n in self.gates.items()) or "no gates"
        return f"{counts}; {self.bootstraps} bootstraps, {self.depth} levels, up to {self.widest} bootstraps in one"


@dataclass(frozen=True)
class Netlist:
    """Gates in an order in which each reads only what is there already.

    Wires are numbers: the bits of the input ports come first, port after port; gate i drives wire `input_bits` + i.

    Args:
        name: of the circuit.
        inputs: ports; their wires are 0, 1, 2, ...
        outputs: ports; their wires may be any, and occur more than once.
        gates: kind and inputs of each.

    Raises:
        NetlistError: that is not kept.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    gates: tuple[Gate, ...]

    def __post_init__(self) -> None:
        expected = 0
        for port in self.inputs:
            if port.wires != tuple(range(expected, expected + port.width)):
                raise NetlistError(
                    f'netlist "{self.name}": input "{port.name}" does not have the next {port.width} wires'
                )
            expected += port.width
        for ports in (self.inputs, self.outputs):
            for name, count in Counter(p.name for p in ports).items():
                if count > 1:
                    raise NetlistError(f'netlist "{self.name}" has {count} ports called "{name}": rename all but one')
            for port in ports:
                if not port.wires:
                    raise NetlistError(f'netlist "{self.name}": port "{port.name}" has no bits: leave it out')
        if expected + len(self.gates) > MAX_WIRES:
            raise NetlistError(
                f'netlist "{self.name}" has {expected + len(self.gates)} wires; {MAX_WIRES} is the limit'
            )
        for wire, gate in enumerate(self.gates, expected):
            if len(gate.inputs) != gate.kind.arity or any(not 0 <= i < wire for i in gate.inputs):
                raise NetlistError(
                    f'netlist "{self.name}": gate {wire - expected}, {gate.kind.name}, has inputs {gate.inputs}; '
                    f"{gate.kind.arity} wires below {wire} are needed"
                )
        for port in self.outputs:
            if any(not 0 <= w < expected + len(self.gates) for w in port.wires):
                raise NetlistError(f'netlist "{self.name}": output "{port.name}" names a wire that there is not')

    @cached_property
    def input_bits(self) -> int:
        """Bits of all input ports, and the number of the first gate's wire."""
        return sum(p.width for p in self.inputs)

    @property
    def wires(self) -> int:
        """Input bits and gates."""
        return self.input_bits + len(self.gates)

    @cached_property
    def wire_levels(self) -> tuple[int, ...]:
        """Level of each wire, as soon as possible: 0 for inputs, one more after each gate that bootstraps."""
        levels = [0] * self.wires
        for wire, gate in enumerate(self.gates, self.input_bits):
            levels[wire] = max((levels[i] for i in gate.inputs), default=0) + (gate.kind.bootstraps > 0)
        return tuple(levels)

    def report(self) -> Report:
        """Gates, bootstraps, depth."""
        counts = Counter(g.kind for g in self.gates)
        widths: Counter[int] = Counter()
        for wire, gate in enumerate(self.gates, self.input_bits):
            widths[self.wire_levels[wire]] += gate.kind.bootstraps
        for level, count in self._shared_levels().items():
            widths[level] -= count
        return Report(
            gates={k.name: counts[k] for k in GateKind if counts[k]},
            bootstraps=sum(k.bootstraps * n for k, n in counts.items()) - sum(self._shared_levels().values()),
            depth=max(self.wire_levels, default=0),
            widest=max(widths.values(), default=0),
        )

    def _shared_levels(self) -> dict[int, int]:
        """Rotations by level that sums share with their carries."""
        levels: dict[int, list[Gate]] = {}
        for wire, gate in enumerate(self.gates, self.input_bits):
            if gate.kind in SUMS or gate.kind in CARRIES:
                levels.setdefault(self.wire_levels[wire], []).append(gate)
        return {level: shared_rotations((g.kind, g.inputs) for g in gates) for level, gates in levels.items()}

    def remarks(self) -> list[tuple[str, str]]:
        """What a designer may not have meant, as the gates show it: for a port, that bits are constant or unused."""
        constant: dict[int, int] = {}
        for wire, gate in enumerate(self.gates, self.input_bits):
            if gate.kind in (GateKind.ZERO, GateKind.ONE):
                constant[wire] = int(gate.kind == GateKind.ONE)
            elif gate.kind in (GateKind.COPY, GateKind.NOT) and gate.inputs[0] in constant:
                constant[wire] = constant[gate.inputs[0]] ^ (gate.kind == GateKind.NOT)
        read = {i for g in self.gates for i in g.inputs} | {w for p in self.outputs for w in p.wires}
        found = []
        for port in self.inputs:
            unused = [i for i, w in enumerate(port.wires) if w not in read]
            if unused:
                found.append((port.name, f"nothing depends on input {_bits_text(port, unused)}"))
        for port in self.outputs:
            for value in (0, 1):
                bits = [i for i, w in enumerate(port.wires) if constant.get(w) == value]
                if bits:
                    found.append((port.name, f"output {_bits_text(port, bits)} is always {value}"))
        return found

    def clear(self, inputs: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
        """What the circuit computes, on numbers in the clear.

        Args:
            inputs: for each port a list of numbers in [0, 2^width); all lists of one length.

        Returns:
            The same for the output ports.

        Raises:
            ParameterError: a port is missing, or there is none of a name. ShapeError: lists of different lengths.
            ringforge.ValueError: a number out of range.
        """
        check_ports(self.inputs, inputs)
        counts = {len(v) for v in inputs.values()} or {1}
        if len(counts) > 1:
            raise ShapeError(f"inputs have {', '.join(map(str, sorted(counts)))} numbers; all need as many")
        (count,) = counts
        mask, values = (1 << count) - 1, [0] * self.wires
        for port in self.inputs:
            for number in inputs[port.name]:
                if not 0 <= number < 1 << port.width:
                    raise RingforgeValueError(
                        f'input "{port.name}" is {number}; it has {port.width} bits: 0 ... 2^{port.width} - 1'
                    )
            for wire, lane in zip(port.wires, _transposed(inputs[port.name], port.width), strict=True):
                values[wire] = lane
        for wire, gate in enumerate(self.gates, self.input_bits):
            values[wire] = gate.kind.of([values[i] for i in gate.inputs], mask)
        return {p.name: _transposed([values[w] for w in p.wires], count) for p in self.outputs}


def _transposed(rows: Sequence[int], width: int) -> list[int]:
    """A bit matrix, its rows as numbers, turned: bit r of result c is bit c of row r."""
    text = [format(r, f"0{width}b")[::-1] for r in rows]
    return [int("".join(t[c] for t in reversed(text)) or "0", 2) for c in range(width)]


def _bits_text(port: Port, bits: Sequence[int]) -> str:
    """Bits of a port in messages: "a", "a[3]", "a[7:4], a[0]"."""
    if len(bits) == port.width:
        return port.name
    runs: list[list[int]] = []
    for i in bits:
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return ", ".join(f"{port.name}[{b}]" if a == b else f"{port.name}[{b}:{a}]" for a, b in reversed(runs))


def check_ports(ports: Sequence[Port], given: Iterable[str]) -> None:
    """Holds names against ports.

    Raises:
        ParameterError: one is missing, or unknown.
    """
    wanted, found = {p.name for p in ports}, set(given)
    listed = ", ".join(f"{p.name} ({p.width} bit{'s' * (p.width > 1)})" for p in ports) or "none"
    for name in sorted(wanted - found):
        raise ParameterError(f'input "{name}" is missing; the circuit\'s inputs are {listed}')
    for name in sorted(found - wanted):
        raise ParameterError(f'the circuit has no input "{name}"; its inputs are {listed}')


# ---- drafts --------------------------------------------------------------------------------------

Net = Hashable

#: Nets that are constant.
ZERO: Net = ("constant", 0)
ONE: Net = ("constant", 1)


@dataclass
class _Cell:
    kind: GateKind
    inputs: tuple[Net, ...]
    output: Net
    where: str


@dataclass
class Draft:
    """A netlist being put together, by nets of any names.

    Args:
        name: of the circuit.
        source: what messages begin with, a file's name for example.
        names: of nets, in messages; others are shown as they are.
    """

    name: str
    source: str = "netlist"
    names: Mapping[Any, str] = field(default_factory=dict)
    _inputs: list[tuple[str, tuple[Net, ...]]] = field(default_factory=list)
    _outputs: list[tuple[str, tuple[Net, ...]]] = field(default_factory=list)
    _cells: list[_Cell] = field(default_factory=list)
    _drivers: dict[Net, str] = field(default_factory=dict)
    _fresh: int = 0

    def input(self, name: str, nets: Sequence[Net], where: str = "") -> None:
        """Declares an input port, least bit first."""
        self._inputs.append((name, tuple(nets)))
        for net in nets:
            self._drive(net, where or f'input "{name}"')

    def output(self, name: str, nets: Sequence[Net]) -> None:
        """Declares an output port, least bit first."""
        self._outputs.append((name, tuple(nets)))

    def gate(self, kind: GateKind, inputs: Sequence[Net], output: Net | None = None, where: str = "") -> Net:
        """Adds a gate; without `output`, on a net of its own. Returns the output's net."""
        if output is None:
            self._fresh += 1
            output = ("own", self._fresh)
        self._drive(output, where)
        self._cells.append(_Cell(kind, tuple(inputs), output, where))
        return output

    def _drive(self, net: Net, where: str) -> None:
        if net in (ZERO, ONE):
            raise NetlistError(f"{self.source}: {where} drives a constant: drive a net")
        if net in self._drivers:
            raise NetlistError(
                f"{self.source}: net {self._shown(net)} is driven twice, by {self._drivers[net]} and by {where}: "
                "a net has one driver"
            )
        self._drivers[net] = where

    def _shown(self, net: Net) -> str:
        return shown(self.names.get(net, net))

    def build(self) -> Netlist:
        """The netlist.

        Raises:
            NetlistError: a net is read and not driven, or gates go in a circle; the message names them.
        """
        place: dict[Net, int] = {}
        ports = []
        for name, nets in self._inputs:
            ports.append(Port(name, tuple(range(len(place), len(place) + len(nets)))))
            place.update({net: len(place) + i for i, net in enumerate(nets)})
        readers: list[tuple[str, Iterable[Net]]] = [(c.where, c.inputs) for c in self._cells]
        readers += [(f'output "{name}"', nets) for name, nets in self._outputs]
        used: set[Net] = set()
        for where, read in readers:
            for net in read:
                if net not in self._drivers and net not in (ZERO, ONE):
                    raise NetlistError(f"{self.source}: {where} reads net {self._shown(net)}, which nothing drives")
                used.add(net)
        cells = [_Cell(k, (), n, "") for k, n in ((GateKind.ZERO, ZERO), (GateKind.ONE, ONE)) if n in used]
        ordered = self._ordered([*cells, *self._cells], place)
        gates = []
        for cell in ordered:
            gates.append(Gate(cell.kind, tuple(place[n] for n in cell.inputs)))
            place[cell.output] = len(place)
        outputs = tuple(Port(name, tuple(place[n] for n in nets)) for name, nets in self._outputs)
        return Netlist(self.name, tuple(ports), outputs, tuple(gates))

    def _ordered(self, cells: list[_Cell], known: Mapping[Net, int]) -> list[_Cell]:
        """Cells after all that they read."""
        waiting: dict[Net, list[int]] = {}
        missing = []
        ready = []
        for i, cell in enumerate(cells):
            needs = {n for n in cell.inputs if n not in known}
            missing.append(len(needs))
            for net in needs:
                waiting.setdefault(net, []).append(i)
            if not needs:
                ready.append(i)
        ordered = []
        for i in ready:  # grows while it is walked through
            ordered.append(cells[i])
            for j in waiting.get(cells[i].output, ()):
                missing[j] -= 1
                if not missing[j]:
                    ready.append(j)
        if len(ordered) < len(cells):
            raise NetlistError(f"{self.source}: {self._circle(cells, missing)}")
        return ordered

    @staticmethod
    def _circle(cells: list[_Cell], missing: list[int]) -> str:
        """Names some gates that wait for each other."""
        driver = {c.output: i for i, c in enumerate(cells) if missing[i]}
        seen: dict[int, int] = {}
        path: list[int] = []
        at = next(iter(driver.values()))
        while at not in seen:
            seen[at] = len(path)
            path.append(at)
            at = next(driver[n] for n in cells[at].inputs if n in driver)
        names = [cells[i].where for i in reversed(path[seen[at] :])]
        some = " -> ".join(names[:8]) + (" -> ..." if len(names) > 8 else "")
        return f"{len(names)} gates form a cycle: {some}; circuits here are combinational, without feedback"


def shown(net: Net) -> str:
    """A net's name in messages."""
    return f'"{net}"' if isinstance(net, str) else str(net)
