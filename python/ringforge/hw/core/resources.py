# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a machine takes on the FPGA, composed from syntheses of its parts, beside the published machine.

The tree of parts and their numbers come from elaboration, not from a list here: each module of PARTS is synthesised
once for each set of parameters that the machine gives it, without the parts inside it, and everything is added up.
Cells whose lanes do not touch each other (LANE_CELLS) are synthesised with one lane and counted once a lane.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from ringforge import yosys
from ringforge.errors import HardwareError
from ringforge.hw.core import build, synthesis
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Module, Resources, Run
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.published import MACHINES, TABLE_VII, U200

Kind = Literal["barrett", "montgomery"]
KINDS: Final[tuple[Kind, Kind]] = ("barrett", "montgomery")

#: Cells with independent lanes.
LANE_CELLS: Final = frozenset({"rf_mac", "rf_butterfly"})
#: Where designs are cut.
PARTS: Final = frozenset(
    {
        "matvec_group", "matvec_reduce", "rf_axi_read", "rf_axi_write", "rf_axil_regs",
        "vector_bus", "vector_pe",
        "vector_fetch", "vector_sequencer", "vector_stream", "vector_mac", "vector_in", "vector_out",
        "rf_bank", "rf_transform", *LANE_CELLS,
    }
)  # fmt: skip
#: DSP slices that a Montgomery machine must save against the published one.
MONTGOMERY_SAVING: Final = 0.25

#: Gives the run of a module: synthesises, or only looks into the cache and gives None.
Runner = Callable[[Module], Run | None]


def synthesise(module: Module) -> Run:
    """The run of a module, made now if the cache lacks it."""
    return synthesis.synthesise(module, PARTS)


def kept(module: Module) -> Run | None:
    """The run of a module from the cache."""
    return synthesis.kept(module, PARTS)


# ---- modules ------------------------------------------------------------------------------------------


def with_multiplier(config: MatvecConfig, kind: Kind) -> MatvecConfig:
    """The machine with another kind of multiplier."""
    return config if config.multiplier == kind else config.model_copy(update={"multiplier": kind})


def machine(config: MatvecConfig) -> Module:
    """The top of a machine, with real multipliers."""
    return Module.make(build.TOP, config.parameters(twin=False))


def element(config: MatvecConfig) -> Module:
    """One processing element of a machine, as its group instantiates it."""
    values = {k: v for k, v in machine(config).parameters if k in synthesis.parameter_names("vector_pe")}
    return Module.make("vector_pe", {**values, "W": config.word_bits})


def _one_lane(module: Module) -> tuple[Module, int]:
    if module.name not in LANE_CELLS:
        return module, 1
    return Module.make(module.name, {**dict(module.parameters), "Lanes": 1}), module["Lanes"]


@dataclass(frozen=True)
class Line:
    """A part: how many there are, and what one takes without the parts inside it."""

    module: Module
    count: int
    each: Resources

    @property
    def total(self) -> Resources:
        return self.each * self.count


def compose(root: Module, run: Runner) -> tuple[Line, ...] | None:
    """All parts of a design in the order of the hierarchy, or None where `run` knows one of them not."""
    runs: dict[Module, Run] = {}
    counts: dict[Module, int] = {}

    def visit(module: Module, count: int) -> bool:
        module, lanes = _one_lane(module)
        count *= lanes
        if module not in runs:
            found = run(module)
            if found is None:
                return False
            runs[module] = found
            counts[module] = 0
        counts[module] += count
        return all(visit(part, count * n) for part, n in runs[module].parts)

    if not visit(root, 1):
        return None
    return tuple(Line(m, counts[m], r.own) for m, r in runs.items())


def total(lines: tuple[Line, ...]) -> Resources:
    """The sum of a design's parts."""
    out = Resources()
    for line in lines:
        out = out + line.total
    return out


# ---- common cells -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A common cell as the tables show it.

    Attributes:
        name: of the module.
        function: what it does, in a few words.
        latency: clock edges from operands to result.
        rate: throughput.
        variant: which parameters it was synthesised with, in words.
        module: the same for the synthesis; None for what is only simulated.
        test: file in hw/common/dv that tests it, without suffix.
    """

    name: str
    function: str
    latency: str
    rate: str
    variant: str
    module: Module | None
    test: str


def latencies() -> dict[str, int]:
    """Constants of rf_pkg whose names end in Latency."""
    text = (sources() / "common" / "rtl" / "rf_pkg.sv").read_text()
    out: dict[str, int] = {}
    for name, value in re.findall(r"(\w+Latency)\s*=\s*([\w +]+);", text):
        out[name] = sum(out[w] if w in out else int(w) for w in re.split(r"\s*\+\s*", value.strip()))
    return out


def cells(config: MatvecConfig) -> list[Cell]:
    """The common cells, with the parameters that a machine gives them, one lane where lanes are independent."""
    w, lanes, rows = config.word_bits, config.lanes, config.bank_rows
    late = {name: str(value) for name, value in latencies().items()}
    lane = {"W": w, "Lanes": 1}
    share = -(-config.pes // config.group_ports)
    port = {"DataW": 64 * lanes, "AddrW": 48, "MaxBeats": config.burst_rows}
    word, row, each = f"{w} bits", f"{lanes} lanes of {w} bits", "1 per lane and cycle"
    kinds = {kind: {"Kind": n} for n, kind in enumerate(KINDS)}

    def cell(name: str, function: str, latency: str, rate: str, variant: str,
             parameters: Mapping[str, int] | None, test: str = "") -> Cell:  # fmt: skip
        module = None if parameters is None else Module.make(name, parameters)
        return Cell(name, function, latency, rate, variant, module, test or f"test_{name}")

    out = [
        cell("rf_mod_add", "a + b mod q", "0", each, word, lane),
        cell("rf_mod_sub", "a - b mod q", "0", each, word, lane),
        cell("rf_mod_half", "x / 2 mod q", "0", each, word, lane),
        cell("rf_mod_lift", "centred lift from modulus p to q", "0", each, word, lane),
        cell("rf_delay", "shift register", "Depth", each, f"{word}, 12 deep", {**lane, "Depth": 12}),
        cell("rf_mul_tiled", "integer product, in tiles of DSP slices", "3", each, f"{w} x {w} bits",
             {"WA": w, "WB": w, "Lanes": 1}),
        cell("rf_mul_barrett", "a * b mod q, any q", late["MulLatency"], each, word, lane),
        cell("rf_mul_montgomery", "a * b / R mod q, q = 1 mod 2^18", late["MulLatency"], each, word, lane),
        cell("rf_mul_twin", "both multipliers, fast to simulate", late["MulLatency"], each, "simulation only", None),
        cell("rf_mod_mul", "the multiplier of the chosen kind", late["MulLatency"], each, "one of the above", None),
        *(cell("rf_butterfly", "forward and inverse butterfly", late["ButterflyLatency"], each, f"{word}, {kind}",
               {**lane, **k}) for kind, k in kinds.items()),
        *(cell("rf_butterfly_pair", "two lanes c +- a * b, or a butterfly", late["ButterflyLatency"],
               "1 pair per cycle", f"2 lanes of {word}, {kind}", {"W": w, "Lanes": 2, **k})
          for kind, k in kinds.items()),
        *(cell("rf_mac", "(a or a - c) * b (+ c) mod q", late["MacLatency"], each, f"{word}, {kind}",
               {**lane, **k}) for kind, k in kinds.items()),
        cell("rf_spn", "permutes rows of lanes", late["SpnLatency"],
             "1 row per cycle", row, {"W": w, "Lanes": lanes}),
        cell("rf_spn_stage", "switch settings of a transform stage", "0", "1 row per cycle", f"{lanes} lanes",
             {"Lanes": lanes}),
        cell("rf_spn_map", "switch settings of an automorphism", "0", "1 row per cycle", f"{lanes} lanes",
             {"Lanes": lanes}),
        cell("rf_transform", "NTT, inverse NTT, automorphism", "-", "1 row per cycle",
             f"{row}, its barrett butterflies included", {"W": w, "Lanes": lanes, "MaxLogN": config.max_log_n}),
        cell("rf_bank", "memory, one read port and one write port", late["BankLatency"], "1 read and 1 write per cycle",
             f"{rows} rows of {lanes * w} bits", {"W": w, "Lanes": lanes, "Rows": rows}),
        cell("rf_scratchpad", "independent banks", late["BankLatency"], "1 read and 1 write per bank and cycle",
             f"{config.banks} such banks", {"W": w, "Lanes": lanes, "Rows": rows, "Banks": config.banks}),
        cell("rf_fifo", "show-ahead FIFO", "1 or 3", "1 word in and 1 out per cycle",
             f"{config.stream_rows} words of {lanes * w} bits", {"Width": lanes * w, "Depth": config.stream_rows}),
        cell("rf_async_fifo", "FIFO between two clocks", "4", "1 word in and 1 out per cycle", "32 words of 512 bits",
             {"Width": 512, "Depth": 32}),
        cell("rf_gearbox", "changes the width of a stream", "1", "1 item per cycle of the narrower side",
             "512 to 864 bits", {"InW": 512, "OutW": 864}, "test_rf_pack"),
        cell("rf_pack", "rows from words of a port", "1", "1 word per cycle", "rows of 128 x 54 from words of 512 bits",
             {"WordW": 512, "RowW": 6912}),
        cell("rf_unpack", "words of a port from rows", "1", "1 word per cycle", "rows of 128 x 54 to words of 512 bits",
             {"WordW": 512, "RowW": 6912}),
        cell("rf_skid", "register slice of a valid/ready stream", "1", "1 word per cycle", "64 bits", {"Width": 64}),
        cell("rf_axil_regs", "AXI4-Lite slave for registers", "3", "1 access at a time", "", {}),
        cell("rf_axi_read", "AXI4 read master, clients in turn", "1 + 1", "1 beat per cycle",
             f"{64 * lanes} bits, {3 * share} clients", {**port, "Clients": 3 * share}),
        cell("rf_axi_write", "AXI4 write master, clients in turn", "1", "1 beat per cycle",
             f"{64 * lanes} bits, {share} clients", {**port, "Clients": share}),
    ]  # fmt: skip
    known = {"rf_pkg", *(c.name for c in out)}
    if missing := {p.stem for f in ("common", "shell") for p in (sources() / f / "rtl").glob("rf_*.sv")} - known:
        raise HardwareError(f"the table of cells lacks {', '.join(sorted(missing))}")
    return out


# ---- the published machine ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """Table VII for the machine with the same groups, elements, lanes and banks."""

    sets: str
    resources: Resources
    available: Resources


def published(config: MatvecConfig) -> Published | None:
    """The paper's figures for this machine's shape, if it has one."""

    def shape(of: MatvecConfig) -> tuple[int, ...]:
        return of.groups, of.pes, of.lanes, of.banks

    wanted = shape(config)
    names = [s[-1].upper() for s, name in MACHINES.items() if shape(MatvecConfig.named(name)) == wanted]
    if not names:
        return None
    row, part = TABLE_VII[names[0]], U200.part
    return Published(
        "Set-" + "/".join(names),
        Resources(row.dsp, row.bram36, row.uram, round(1000 * row.kilo_luts), round(1000 * row.kilo_flip_flops)),
        Resources(part.dsp, part.bram36, part.uram, part.lut, part.flip_flops),
    )


# ---- one configuration --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Synthesis:
    """All that was synthesised of one configuration; what was not asked for is empty."""

    config: MatvecConfig
    tool: str
    cells: tuple[tuple[Cell, Resources], ...]
    elements: Mapping[Kind, tuple[Line, ...]]
    machines: Mapping[Kind, tuple[Line, ...]]

    def checks(self) -> Iterator[tuple[bool, str]]:
        """Statements about the figures, and whether they hold."""
        paper = published(self.config)
        for kind, lines in (self.machines or self.elements).items():
            others = sum(line.total.dsp for line in lines if line.module.name not in LANE_CELLS)
            yield others == 0, f"{kind}: control, address generators and networks take {others} DSP slices"
            for line in lines:
                if line.module.name == "rf_bank":
                    rows, bits = line.module["Rows"], line.module["Lanes"] * line.module["W"]
                    ideal = -(-bits // 72) * -(-rows // 4096)
                    if rows > 2048:
                        text = f"{kind}: a bank of {rows} rows of {bits} bits takes {line.each.uram} URAMs"
                        yield line.each.uram == ideal, f"{text}, the least that hold it are {ideal}"
        for kind, lines in self.machines.items():
            if paper is None:
                continue
            ours, theirs = total(lines).dsp, paper.resources.dsp
            if kind == "barrett":
                yield ours <= theirs, f"barrett: {ours:,} DSP slices, the paper's machine {theirs:,}"
            else:
                saved = 1 - ours / theirs
                text = f"montgomery: {ours:,} DSP slices, {saved:.1%} fewer than the paper's {theirs:,}"
                yield saved >= MONTGOMERY_SAVING, text

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""

        def lines(of: Mapping[Kind, tuple[Line, ...]]) -> dict[str, Any]:
            return {
                kind: {
                    "total": asdict(total(parts)),
                    "parts": [
                        {"module": p.module.name, "parameters": dict(p.module.parameters), "count": p.count}
                        | {"each": asdict(p.each)}
                        for p in parts
                    ],
                }
                for kind, parts in of.items()
            }

        paper = published(self.config)
        return {
            "config": self.config.model_dump(),
            "tool": self.tool,
            "flags": f"synth_xilinx {synthesis.FLAGS}",
            "cells": [
                {"name": c.name, "variant": c.variant, "parameters": dict(c.module.parameters), "takes": asdict(r)}
                for c, r in self.cells
                if c.module is not None
            ],
            "elements": lines(self.elements),
            "machines": lines(self.machines),
            "paper": None if paper is None else {"sets": paper.sets, **asdict(paper.resources)},
            "checks": [{"holds": ok, "what": text} for ok, text in self.checks()],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Synthesis:
        """Reads `to_dict` back.

        Raises:
            HardwareError: it was not written by this version.
        """
        try:
            config = MatvecConfig.model_validate(values["config"])
            taken = {(c["name"], c["variant"]): Resources(**c["takes"]) for c in values["cells"]}

            def lines(of: Mapping[str, Any]) -> dict[Kind, tuple[Line, ...]]:
                return {
                    kind: tuple(
                        Line(Module.make(p["module"], p["parameters"]), p["count"], Resources(**p["each"]))
                        for p in of[kind]["parts"]
                    )
                    for kind in KINDS
                    if kind in of
                }

            found = tuple((c, taken[c.name, c.variant]) for c in cells(config) if (c.name, c.variant) in taken)
            return cls(config, values["tool"], found, lines(values["elements"]), lines(values["machines"]))
        except (KeyError, TypeError, ValueError) as e:
            raise HardwareError(f"the file was not written by this version's `hw synth`: {e}") from None


def gather(
    config: MatvecConfig,
    run: Runner,
    *,
    want_cells: bool = True,
    want_elements: bool = True,
    want_machines: bool = True,
    kinds: tuple[Kind, ...] = KINDS,
) -> Synthesis:
    """Runs or looks up all syntheses of a configuration; with a runner that only looks, what is missing stays out."""
    found: list[tuple[Cell, Resources]] = []
    for cell in cells(config) if want_cells else ():
        lines = None if cell.module is None else compose(cell.module, run)
        if lines is not None:
            found.append((cell, total(lines)))
    elements: dict[Kind, tuple[Line, ...]] = {}
    machines: dict[Kind, tuple[Line, ...]] = {}
    for kind in kinds:
        variant = with_multiplier(config, kind)
        if want_elements and (lines := compose(element(variant), run)) is not None:
            elements[kind] = lines
        if want_machines and (lines := compose(machine(variant), run)) is not None:
            machines[kind] = lines
    return Synthesis(config, yosys.version() or "", tuple(found), elements, machines)


def rounded(resources: Resources) -> Resources:
    """With whole block RAMs."""
    return replace(resources, bram36=math.ceil(resources.bram36))
