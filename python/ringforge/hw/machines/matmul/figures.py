# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What tables of resources say of the matmul accelerator: its element, the published machine, what must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from ringforge.hw.core import resources
from ringforge.hw.core.resources import Figures, Published, Synthesis, total
from ringforge.hw.core.synthesis import Module, Resources
from ringforge.hw.machines.matmul.config import PORT_BYTES, FameConfig
from ringforge.hw.machines.matmul.machine import MACHINE
from ringforge.hw.machines.matmul.published import MACHINES, RESOURCES, U280
from ringforge.hw.vector import family

#: DSP slices of a lane, at most, by the kind of multiplier.
DSP_PER_LANE: Final[Mapping[str, int]] = {"barrett": 17, "montgomery": 12, "montgomery-luts": 9}
#: Rows above which Yosys makes a bank of ultra RAM.
_BLOCK_ROWS: Final = 2048


class MatmulFigures(Figures):
    """The matmul accelerator's."""

    notes: ClassVar = {
        **family.NOTES,
        "matmul_top": "barriers",
        "matmul_memory": "of an element",
    }
    short: ClassVar = {"barrett": "Barrett", "montgomery": "Montg.", "montgomery-luts": "in LUTs"}
    inside: ClassVar = family.SHARED_PARTS - {
        "vector_bus", "rf_axi_read", "rf_axi_write", "rf_axil_regs", "rf_fifo", "rf_pack", "rf_unpack"
    }  # fmt: skip

    def variants(self, config: FameConfig) -> Mapping[str, FameConfig]:
        found = {}
        for kind in DSP_PER_LANE:
            multiplier, _, luts = kind.partition("-")
            found[kind] = config.model_copy(update={"multiplier": multiplier, "short_in_luts": luts != ""})
        return found

    def element(self, config: FameConfig) -> Module:
        known = resources.design(MACHINE).parameter_names(family.SHARED_ELEMENT)
        given = config.parameters(twin=False)
        values: dict[str, int | tuple[int, ...]] = {k: v for k, v in given.items() if k in known}
        values |= {
            "W": config.word_bits,
            "Banks": config.banks,
            "ModuliEntries": config.moduli,
            "NearBits": (config.near_ports * config.segment_bytes).bit_length() - 1,
            "FarBits": (config.far_ports * config.far_segment_bytes).bit_length() - 1,
            "SpnRegisters": 0,
        }
        return Module.make(family.SHARED_ELEMENT, values | {"BankRows": config.bank_rows})

    def sizes(self, config: FameConfig) -> Mapping[str, int]:
        return {
            "W": config.word_bits,
            "Lanes": config.lanes,
            "Rows": max(config.bank_rows),
            "Banks": config.banks,
            "MaxLogN": config.max_log_n,
            "StreamRows": config.stream_rows,
            "DataW": 512,
            "MaxBeats": config.burst_rows,
            "ReadClients": 1,
            "WriteClients": 1,
        }

    def placed(self, config: FameConfig) -> Mapping[str, int]:
        """With as many lanes as one port has words of a line."""
        lanes = PORT_BYTES // 8
        less = (config.lanes // lanes).bit_length() - 1
        degrees = {"MinLogN": config.min_log_n - less, "MaxLogN": config.max_log_n - less}
        return {**config.parameters(twin=False), "Lanes": lanes, "NearPorts": 1, "FarPorts": 1, **degrees}

    def published(self, config: FameConfig) -> Published | None:
        """The paper's figures for the machine with the same elements and lanes; its memory blocks are of 18 kbit."""
        names = [s for s, name in MACHINES.items() if config.name.removesuffix("-montgomery") == name]
        if not names:
            return None
        row = RESOURCES[names[0]]
        return Published(
            f"FAME-{config.name[5].upper()}",
            "Table V",
            "U280",
            Resources(row.dsp, row.bram / 2, row.uram, 1000 * row.kilo_luts, 1000 * row.kilo_flip_flops),
            Resources(U280.dsp, U280.bram36, U280.uram, 1000 * U280.kilo_luts, 1000 * U280.kilo_flip_flops),
        )

    def checks(self, synthesis: Synthesis) -> Iterator[tuple[bool, str]]:
        config = synthesis.config
        assert isinstance(config, FameConfig)
        for kind, lines in (synthesis.machines or synthesis.elements).items():
            others = sum(line.total.dsp for line in lines if line.module.name != "rf_alu")
            yield others == 0, f"{kind}: control, address generators and networks take {others} DSP slices"
            for line in lines:
                if line.module.name == "rf_bank":
                    rows, bits = line.module["Rows"], line.module["Lanes"] * line.module["W"]
                    if rows > _BLOCK_ROWS:
                        ideal = -(-bits // 72) * -(-rows // 4096)
                        text = f"{kind}: a bank of {rows} rows of {bits} bits takes {line.each.uram} URAMs"
                        yield line.each.uram == ideal, f"{text}, the least that hold it are {ideal}"
        for kind, lines in synthesis.machines.items():
            ours, most = total(lines), DSP_PER_LANE[kind] * config.elements * config.lanes
            yield ours.dsp <= most, f"{kind}: {ours.dsp:,} DSP slices, {most:,} at most"
            paper = self.published(config)
            if paper is None:
                continue
            share = f"{1 - ours.dsp / paper.resources.dsp:.1%} fewer than the paper's {paper.resources.dsp:,}"
            yield ours.dsp < paper.resources.dsp, f"{kind}: {ours.dsp:,} DSP slices, {share}"
            card = paper.available
            blocks = f"{2 * ours.bram36:,.0f} blocks of 18 kbit and {ours.uram} URAMs"
            theirs = f"{2 * paper.resources.bram36:,.0f} and {paper.resources.uram}"
            fits = ours.bram36 <= card.bram36 and ours.uram <= card.uram
            yield fits, f"{kind}: {blocks}, the paper's {theirs}; the card has {2 * card.bram36:,.0f} and {card.uram}"


FIGURES: Final = MatmulFigures()
