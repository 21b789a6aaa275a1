# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Netlist files: JSON as Yosys writes it (`write_json`), and BLIF (Berkeley Logic Interchange Format).

Both are read as foreign input. What is not combinational logic of known cells is refused, by name and line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.errors import FormatError, NetlistError
from ringforge.files import naming
from ringforge.gates.kinds import GateKind
from ringforge.gates.netlist import MAX_WIRES, ONE, ZERO, Draft, Net, Netlist
from ringforge.unique import RepeatedKeyError, once_each

#: Bytes of a netlist file.
MAX_FILE = 1 << 26

#: Inputs of a `.names` in BLIF.
MAX_COVER_INPUTS = 6

#: The circuits that come with the library.
DESIGNS = Path(__file__).parent / "designs"


def designs() -> list[str]:
    """Names of the circuits that come with the library."""
    return sorted(p.stem for p in DESIGNS.glob("*.json"))


def read_netlist(source: str | Path, top: str | None = None) -> Netlist:
    """Reads a circuit.

    Args:
        source: a file ending in .json (Yosys) or .blif, or the name of a circuit that comes with the library
            (:func:`designs`).
        top: which module of a Yosys file, if it has several.

    Raises:
        NetlistError: it is no combinational circuit of known gates. FormatError: it is neither kind of file, or too
        large. OSError: it cannot be read.
    """
    path = Path(source)
    if str(source) in designs():
        path = DESIGNS / f"{source}.json"
    if path.suffix not in {".json", ".blif"}:
        raise FormatError(
            f"{path.name}: circuits are read from .json (Yosys) and .blif files, or by name: {', '.join(designs())}"
        )
    with path.open("rb") as f:
        raw = f.read(MAX_FILE + 1)
    with naming(path):
        if len(raw) > MAX_FILE:
            raise FormatError(f"more than {MAX_FILE >> 20} MiB; a netlist of {MAX_WIRES} gates is smaller")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as e:
            raise FormatError(f"no text: byte {e.start} is not UTF-8") from None
        return parse_yosys(text, top) if path.suffix == ".json" else parse_blif(text)


# ---- Yosys ---------------------------------------------------------------------------------------

_A, _B, _C, _S, _Y = "A", "B", "C", "S", "Y"

#: Cells that are one gate: its kind, and which pins are its inputs. All drive pin Y.
_CELLS: dict[str, tuple[GateKind, tuple[str, ...]]] = {
    "$_BUF_": (GateKind.COPY, (_A,)),
    "$_NOT_": (GateKind.NOT, (_A,)),
    "$_AND_": (GateKind.AND, (_A, _B)),
    "$_NAND_": (GateKind.NAND, (_A, _B)),
    "$_OR_": (GateKind.OR, (_A, _B)),
    "$_NOR_": (GateKind.NOR, (_A, _B)),
    "$_XOR_": (GateKind.XOR, (_A, _B)),
    "$_XNOR_": (GateKind.XNOR, (_A, _B)),
    "$_MUX_": (GateKind.MUX, (_S, _B, _A)),
}
#: Cells of several gates: pins that they read, and how they are made.
_COMPOUND: dict[str, tuple[tuple[str, ...], Callable[[Any, Mapping[str, Net], Net], None]]] = {
    "$_ANDNOT_": ((_A, _B), lambda add, p, y: add(GateKind.AND, (p[_A], add(GateKind.NOT, (p[_B],))), y)),
    "$_ORNOT_": ((_A, _B), lambda add, p, y: add(GateKind.OR, (p[_A], add(GateKind.NOT, (p[_B],))), y)),
    "$_NMUX_": ((_A, _B, _S), lambda add, p, y: add(GateKind.NOT, (add(GateKind.MUX, (p[_S], p[_B], p[_A])),), y)),
    "$_AOI3_": ((_A, _B, _C), lambda add, p, y: add(GateKind.NOR, (add(GateKind.AND, (p[_A], p[_B])), p[_C]), y)),
    "$_OAI3_": ((_A, _B, _C), lambda add, p, y: add(GateKind.NAND, (add(GateKind.OR, (p[_A], p[_B])), p[_C]), y)),
}
_FULL_ADDER = "$fa"
#: Cells that mean nothing for the circuit.
_IGNORED = frozenset({"$scopeinfo"})
_REMEDY = 'make it with Yosys: "synth -flatten; abc -g AND,NAND,OR,NOR,XOR,XNOR,MUX,ANDNOT,ORNOT; write_json"'


def parse_yosys(text: str, top: str | None = None) -> Netlist:
    """A netlist from JSON of Yosys's `write_json`: one flattened module of simple gates and `$fa`.

    Undefined constants ("x") are taken as 0.

    Raises:
        NetlistError, FormatError: as :func:`read_netlist`.
    """
    design = _parse_json(text)
    creator = design.get("creator")
    if not isinstance(creator, str) or not re.match(r"Yosys 0\.\d", creator):
        raise FormatError(f'no Yosys netlist: its creator is {_short(creator)}; "Yosys 0.x" is known')
    name, module = _top(_mapping(design.get("modules"), '"modules"'), top)
    return _Module(name, module).netlist()


def _parse_json(text: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(text, object_pairs_hook=once_each), "the file")
    except json.JSONDecodeError as e:
        raise FormatError(f"no JSON: {e.msg}, line {e.lineno}") from None
    except RepeatedKeyError as e:
        raise FormatError(str(e)) from None
    except (RecursionError, ValueError):
        raise FormatError("no JSON of a netlist: nested too deep, or a number too long") from None


def _top(modules: dict[str, Any], wanted: str | None) -> tuple[str, dict[str, Any]]:
    listed = ", ".join(list(modules)[:8])
    if wanted is None:
        marked = [n for n, m in modules.items() if _is_top(m)]
        if len(modules) != 1 and len(marked) != 1:
            raise NetlistError(f"{len(modules)} modules ({listed}), {len(marked)} marked as top: say which to take")
        wanted = marked[0] if len(marked) == 1 else next(iter(modules))
    if wanted not in modules:
        raise NetlistError(f'there is no module "{wanted}", only {listed}')
    return wanted, _mapping(modules[wanted], f'module "{wanted}"')


def _is_top(module: Any) -> bool:
    attributes = module.get("attributes") if isinstance(module, dict) else None
    value = attributes.get("top") if isinstance(attributes, dict) else None
    return isinstance(value, str | int) and str(value).strip("0") == "1"


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} is {_short(value)} where an object is needed")
    return value


def _short(value: Any) -> str:
    if value is None:
        return "missing"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def source_line(thing: Any) -> str:
    """File and line of a cell or net, by its attribute; empty where it says none."""
    attributes = thing.get("attributes") if isinstance(thing, dict) else None
    text = attributes.get("src") if isinstance(attributes, dict) else None
    match = re.match(r"([^|:]{1,200}:\d{1,9})(?=[.|-]|$)", text) if isinstance(text, str) else None
    return match[1] if match and match[1].isprintable() else ""


def public_names(module: Mapping[str, Any]) -> dict[int, str]:
    """Names that the source has for nets, by their numbers: the shortest of several. For messages only."""
    found: dict[int, str] = {}
    nets = module.get("netnames")
    for name, net in nets.items() if isinstance(nets, dict) else ():
        bits = net.get("bits") if isinstance(net, dict) else None
        if name.startswith("$") or len(name) > 200 or not name.isprintable() or not isinstance(bits, list):
            continue
        offset = net.get("offset", 0)
        first, step = (offset if isinstance(offset, int) else 0), (-1 if net.get("upto") else 1)
        for i, bit in enumerate(bits):
            index = first + (i if step > 0 else len(bits) - 1 - i)
            label = name if len(bits) == 1 else f"{name}[{index}]"
            if isinstance(bit, int) and len(label) < len(found.get(bit, label + " ")):
                found[bit] = label
    return found


class _Module:
    """One module on its way to a netlist."""

    def __init__(self, name: str, module: dict[str, Any]) -> None:
        self.module = module
        self.name = name
        self.names = public_names(module)
        self.draft = Draft(name, f'module "{name}"', self.names)

    def netlist(self) -> Netlist:
        for name, port in _mapping(self.module.get("ports"), '"ports"').items():
            what = f'port "{name}"'
            direction, nets = _mapping(port, what).get("direction"), self.bits(port.get("bits"), what)
            if direction == "input":
                self.draft.input(name, nets)
            elif direction == "output":
                self.draft.output(name, nets)
            else:
                raise NetlistError(f"{what} has direction {_short(direction)}; input and output are known")
        for key in ("memories", "processes"):
            if self.module.get(key):
                raise NetlistError(f'module "{self.name}" has {key}; {_REMEDY}')
        for name, cell in _mapping(self.module.get("cells"), '"cells"').items():
            self.cell(self.where(name, cell), _mapping(cell, f'cell "{name}"'))
        return self.draft.build()

    def where(self, name: str, cell: Any) -> str:
        """A cell in messages: by its name, or by the net of the source that it drives, and its line."""
        label = f'cell "{name}"'
        pins = cell.get("connections") if isinstance(cell, dict) else None
        if name.startswith("$") and isinstance(pins, dict):
            outputs = [pins[p] for p in ("Y", "Q", "X") if isinstance(pins.get(p), list)]
            driven = [self.names[b] for bits in outputs for b in bits if isinstance(b, int) and b in self.names]
            label = f'the cell of net "{driven[0]}"' if driven else label
        line = source_line(cell)
        return f"{label} ({line})" if line else label

    def bits(self, value: Any, what: str) -> list[Net]:
        """Nets from a list of numbers and constants."""
        if not isinstance(value, list):
            raise FormatError(f"{what}: bits are {_short(value)} where a list is needed")
        nets: list[Net] = []
        for bit in value:
            if isinstance(bit, int) and not isinstance(bit, bool) and 0 <= bit < 1 << 32:
                nets.append(bit)
            elif isinstance(bit, str) and bit in {"0", "x"}:
                nets.append(ZERO)
            elif bit == "1" and isinstance(bit, str):
                nets.append(ONE)
            else:
                raise NetlistError(f'{what}: bit {_short(bit)} is no net; numbers, "0", "1" and "x" are known')
        return nets

    def cell(self, where: str, cell: dict[str, Any]) -> None:
        kind = cell.get("type")
        if not isinstance(kind, str):
            raise FormatError(f"{where}: its type is {_short(kind)} where a name is needed")
        if kind in _IGNORED:
            return
        self.check(where, kind)
        connections = _mapping(cell.get("connections"), f"{where}: connections")
        pins = {pin: self.bits(nets, f"{where}, pin {pin}") for pin, nets in connections.items()}
        wanted = ("A", "B", "C", "X", "Y") if kind == _FULL_ADDER else (*self.reads(kind), _Y)
        if set(pins) != set(wanted):
            raise NetlistError(f"{where}, {kind}, has pins {', '.join(pins) or 'none'}; {', '.join(wanted)} are needed")
        widths = {len(nets) for nets in pins.values()}
        if len(widths) > 1 or (kind != _FULL_ADDER and widths != {1}):
            raise NetlistError(f"{where}, {kind}, has pins of {', '.join(map(str, sorted(widths)))} bits")
        for i in range(*widths):
            self.add(where, kind, {pin: nets[i] for pin, nets in pins.items()})

    @staticmethod
    def reads(kind: str) -> tuple[str, ...]:
        return _CELLS[kind][1] if kind in _CELLS else _COMPOUND[kind][0]

    @staticmethod
    def check(where: str, kind: str) -> None:
        """Refuses cells that are not known, with a reason."""
        if kind in _CELLS or kind in _COMPOUND or kind == _FULL_ADDER:
            return
        if re.match(r"\$(_?[A-Z]*(DFF|LATCH|SR|FF)|d?ff|s?dff|a?dff|dlatch|mem)", kind):
            raise NetlistError(f"{where} is a {_short(kind)}: it keeps state; circuits here are combinational")
        if not kind.startswith("$"):
            raise NetlistError(f'{where} is an instance of "{kind}": flatten the design; {_REMEDY}')
        raise NetlistError(f"{where} is {_short(kind)}, which is no gate known here; {_REMEDY}")

    def add(self, where: str, kind: str, pins: Mapping[str, Net]) -> None:
        def gate(kind: GateKind, inputs: Sequence[Net], output: Net | None = None) -> Net:
            return self.draft.gate(kind, inputs, output, where)

        if kind == _FULL_ADDER:
            three = (pins[_A], pins[_B], pins[_C])
            gate(GateKind.MAJ3, three, pins["X"])
            gate(GateKind.XOR3, three, pins[_Y])
        elif kind in _CELLS:
            single, names = _CELLS[kind]
            gate(single, [pins[n] for n in names], pins[_Y])
        else:
            _COMPOUND[kind][1](gate, pins, pins[_Y])


# ---- BLIF ----------------------------------------------------------------------------------------

_INDEXED = re.compile(r"(?P<base>.+)\[(?P<index>\d{1,6})\]")
_STATE = {".latch", ".mlatch"}
_HIERARCHY = {".subckt", ".gate"}


@dataclass
class _Names:
    """A `.names`: its nets, its rows so far, its line."""

    nets: list[str]
    rows: list[tuple[str, str]]
    line: int


def parse_blif(text: str) -> Netlist:
    """A netlist from BLIF: one `.model` of `.names` with up to six inputs each.

    Ports called a[0], a[1], ... become one port a.

    Raises:
        NetlistError, FormatError: as :func:`read_netlist`.
    """
    model: str | None = None
    inputs: list[str] = []
    outputs: list[str] = []
    covers: list[_Names] = []
    ended = opened = False
    for number, words in _lines(text):
        head = words[0]
        if ended:
            raise NetlistError(f'line {number}: "{_short(head)}" after .end; one model in a file is known')
        if model is None and head != ".model":
            raise FormatError(f"line {number}: no BLIF, which begins with .model")
        if not head.startswith("."):
            if not opened:
                raise FormatError(f"line {number}: {_short(head)} belongs to no .names")
            covers[-1].rows.append(_row(words, len(covers[-1].nets) - 1, number))
            continue
        opened = head == ".names"
        if head == ".model":
            if model is not None:
                raise NetlistError(f"line {number}: a second .model; flatten the design, one model is known")
            if len(words) != 2:
                raise FormatError(f"line {number}: .model takes one name")
            model = words[1]
        elif head == ".inputs":
            inputs += words[1:]
        elif head == ".outputs":
            outputs += words[1:]
        elif head == ".names":
            if not 2 <= len(words) <= MAX_COVER_INPUTS + 2:
                raise NetlistError(
                    f"line {number}: .names with {len(words) - 2} inputs; 0 to {MAX_COVER_INPUTS} are known: map the "
                    f"design to tables of at most {MAX_COVER_INPUTS} inputs"
                )
            covers.append(_Names(words[1:], [], number))
        elif head == ".end":
            ended = True
        elif head in _STATE:
            raise NetlistError(f"line {number}: {head} keeps state; circuits here are combinational")
        elif head in _HIERARCHY:
            raise NetlistError(f"line {number}: {head} is not known here: flatten the design into .names")
        else:
            raise NetlistError(f"line {number}: {_short(head)} is not known here")
    if model is None:
        raise FormatError("no BLIF: there is no .model")
    draft = Draft(model, f'model "{model}"')
    for name, nets in _ports(inputs):
        draft.input(name, nets)
    for name, nets in _ports(outputs):
        draft.output(name, nets)
    for cover in covers:
        _Cover(draft, cover).add()
    return draft.build()


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Words of each line, comments gone, continued lines joined."""
    words: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].rstrip()
        first = first or number
        words += line.removesuffix("\\").split()
        if line.endswith("\\"):
            continue
        if words:
            yield first, words
        words, first = [], 0
    if words:
        yield first, words


def _row(words: list[str], inputs: int, line: int) -> tuple[str, str]:
    """Pattern and value of one row of a cover."""
    pattern, value = ("", words[0]) if inputs == 0 else (words[0], words[1] if len(words) == 2 else "")
    if len(words) != 1 + (inputs > 0) or len(pattern) != inputs or set(pattern) - set("01-") or value not in ("0", "1"):
        raise FormatError(f"line {line}: a row of this .names is {inputs} of 0, 1, - and then 0 or 1")
    return pattern, value


def _ports(names: Sequence[str]) -> list[tuple[str, list[Net]]]:
    """Ports from names of bits: a[0] ... a[7] together, others alone, in the order of the file."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        match = _INDEXED.fullmatch(name)
        base, index = (match["base"], int(match["index"])) if match else (name, -1)
        bits = found.setdefault(base, {})
        if index in bits:
            raise NetlistError(f'port "{name}" is declared twice')
        bits[index] = name
    ports: list[tuple[str, list[Net]]] = []
    for base, bits in found.items():
        if set(bits) == {-1}:
            ports.append((base, [base]))
        elif set(bits) == set(range(len(bits))):
            ports.append((base, [bits[i] for i in range(len(bits))]))
        else:
            raise NetlistError(f'port "{base}" has bits {", ".join(sorted(bits.values()))}; 0, 1, 2, ... are needed')
    return ports


class _Cover:
    """Gates for one `.names`: its truth table, split at one input after another."""

    def __init__(self, draft: Draft, cover: _Names) -> None:
        self.draft = draft
        self.inputs: list[Net] = list(cover.nets[:-1])
        self.output = cover.nets[-1]
        self.where = f".names {self.output} (line {cover.line})"
        self.made: dict[tuple[int, int], Net] = {}
        values = {value for _, value in cover.rows}
        if len(values) > 1:
            raise FormatError(f"line {cover.line}: rows for 0 and rows for 1 in one .names")
        if len(cover.rows) > 3**MAX_COVER_INPUTS:
            raise FormatError(f"line {cover.line}: more rows than there are patterns")
        self.table = 0
        for m in range(1 << len(self.inputs)):
            if any(all(p in ("-", str(m >> i & 1)) for i, p in enumerate(pattern)) for pattern, _ in cover.rows):
                self.table |= 1 << m
        if values == {"0"}:
            self.table ^= (1 << (1 << len(self.inputs))) - 1

    def add(self) -> None:
        net = self.split(self.table, len(self.inputs))
        self.draft.gate(GateKind.COPY, (net,), self.output, self.where)

    def gate(self, kind: GateKind, *inputs: Net) -> Net:
        return self.draft.gate(kind, inputs, None, self.where)

    def split(self, table: int, count: int) -> Net:
        """The net of a function of the first `count` inputs: bit m of the table is its value where input i is bit i
        of m."""
        full = (1 << (1 << count)) - 1
        if table in (0, full):
            return ONE if table else ZERO
        if (table, count) not in self.made:
            self.made[table, count] = self._split(table, count)
        return self.made[table, count]

    def _split(self, table: int, count: int) -> Net:
        half = 1 << (count - 1)
        full, last = (1 << half) - 1, self.inputs[count - 1]
        low, high = table & full, table >> half
        if low == high:
            return self.split(low, count - 1)
        if low == full ^ high:
            if low in (0, full):
                return self.gate(GateKind.NOT, last) if low else last
            return self.gate(GateKind.XOR, last, self.split(low, count - 1))
        if low == 0:
            return self.gate(GateKind.AND, last, self.split(high, count - 1))
        if high == 0:
            return self.gate(GateKind.AND, self.gate(GateKind.NOT, last), self.split(low, count - 1))
        if high == full:
            return self.gate(GateKind.OR, last, self.split(low, count - 1))
        if low == full:
            return self.gate(GateKind.OR, self.gate(GateKind.NOT, last), self.split(high, count - 1))
        return self.gate(GateKind.MUX, last, self.split(high, count - 1), self.split(low, count - 1))
