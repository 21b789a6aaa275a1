# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What tables of resources say of the matvec accelerator: its element, the published machine, what must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from ringforge.hw.core import resources
from ringforge.hw.core.machine import LANE_CELLS
from ringforge.hw.core.resources import Figures, Published, Synthesis, total
from ringforge.hw.core.synthesis import Module, Resources
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.machine import MACHINE
from ringforge.hw.machines.matvec.published import MACHINES, TABLE_VII, U200
from ringforge.hw.vector import family

KINDS: Final = ("barrett", "montgomery")
#: DSP slices that a Montgomery machine must save against the published one.
MONTGOMERY_SAVING: Final = 0.25


def _shape(of: MatvecConfig) -> tuple[int, ...]:
    return of.groups, of.pes, of.lanes, of.banks


class MatvecFigures(Figures):
    """The matvec accelerator's."""

    notes: ClassVar = {
        **family.NOTES,
        "matvec_top": "registers, run control",
        "matvec_group": "barrier",
    }
    short: ClassVar = {"barrett": "Barrett", "montgomery": "Montg."}
    inside: ClassVar = family.INSIDE

    def variants(self, config: MatvecConfig) -> Mapping[str, MatvecConfig]:
        return {
            kind: config if config.multiplier == kind else config.model_copy(update={"multiplier": kind})
            for kind in KINDS
        }

    def element(self, config: MatvecConfig) -> Module:
        known = resources.design(MACHINE).parameter_names(family.ELEMENT)
        values = {k: v for k, v in config.parameters(twin=False).items() if k in known}
        return Module.make(family.ELEMENT, {**values, "W": config.word_bits})

    def sizes(self, config: MatvecConfig) -> Mapping[str, int]:
        share = -(-config.pes // config.group_ports)
        return {
            "W": config.word_bits,
            "Lanes": config.lanes,
            "Rows": config.bank_rows,
            "Banks": config.banks,
            "MaxLogN": config.max_log_n,
            "StreamRows": config.stream_rows,
            "DataW": 8 * config.port_bytes,
            "MaxBeats": config.burst_rows,
            "ReadClients": 3 * share,
            "WriteClients": share,
        }

    def published(self, config: MatvecConfig) -> Published | None:
        """The paper's figures for the machine with the same groups, elements, lanes and banks."""
        wanted = _shape(config)
        names = [s[-1].upper() for s, name in MACHINES.items() if _shape(MatvecConfig.named(name)) == wanted]
        if not names:
            return None
        row, part = TABLE_VII[names[0]], U200.part
        return Published(
            "Set-" + "/".join(names),
            "Table VII",
            "U200",
            Resources(row.dsp, row.bram36, row.uram, round(1000 * row.kilo_luts), round(1000 * row.kilo_flip_flops)),
            Resources(part.dsp, part.bram36, part.uram, part.lut, part.flip_flops),
        )

    def checks(self, synthesis: Synthesis) -> Iterator[tuple[bool, str]]:
        paper = synthesis.figures.published(synthesis.config)
        for kind, lines in (synthesis.machines or synthesis.elements).items():
            others = sum(line.total.dsp for line in lines if line.module.name not in LANE_CELLS)
            yield others == 0, f"{kind}: control, address generators and networks take {others} DSP slices"
            for line in lines:
                if line.module.name == "rf_bank":
                    rows, bits = line.module["Rows"], line.module["Lanes"] * line.module["W"]
                    ideal = -(-bits // 72) * -(-rows // 4096)
                    if rows > 2048:
                        text = f"{kind}: a bank of {rows} rows of {bits} bits takes {line.each.uram} URAMs"
                        yield line.each.uram == ideal, f"{text}, the least that hold it are {ideal}"
        for kind, lines in synthesis.machines.items():
            if paper is None:
                continue
            ours, theirs = total(lines).dsp, paper.resources.dsp
            if kind == "barrett":
                yield ours <= theirs, f"barrett: {ours:,} DSP slices, the paper's machine {theirs:,}"
            else:
                saved = 1 - ours / theirs
                text = f"montgomery: {ours:,} DSP slices, {saved:.1%} fewer than the paper's {theirs:,}"
                yield saved >= MONTGOMERY_SAVING, text


FIGURES: Final = MatvecFigures()
