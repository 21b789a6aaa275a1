# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What tables of resources say of the aes machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from ringforge.hw.core.resources import Figures, Synthesis, total

#: DSP slices that the published engine has, and ours is held to.
_DSP: Final = {"aes-paper": 768, "aes-paper64": 768, "aes-fast": 768}
#: Words of a wide row with which blocks are placed, and how many multiplications begin in a cycle then.
_PLACED_LANES: Final = 8
_PLACED_STARTS: Final = 4


class AesFigures(Figures):
    """Cells with the machine's words and ports; the published count of DSP slices."""

    notes: ClassVar[Mapping[str, str]] = {
        "aes_memories": "choice of who reads and writes X, S and K",
        "aes_buffer": "choice of wide and narrow rows; a memory for each lane",
    }

    def sizes(self, config: Any) -> Mapping[str, int]:
        return {
            "W": 32,
            "Lanes": config.lanes,
            "MaxLogN": config.max_log_n,
            "DataW": 8 * config.port_bytes,
            "MaxBeats": config.burst_rows,
            "ReadClients": 2,
            "WriteClients": 1,
        }

    def placed(self, config: Any) -> Mapping[str, int]:
        found = dict(config.parameters(twin=False))
        less = (found["Lanes"] // _PLACED_LANES).bit_length() - 1
        found |= {name: max(found[name] - less, 7) for name in ("MinLogN", "MaxLogN")}
        return found | {"Lanes": _PLACED_LANES, "Starts": min(found["Starts"], _PLACED_STARTS)}

    def checks(self, synthesis: Synthesis) -> Iterator[tuple[bool, str]]:
        name = synthesis.config.name
        for lines in synthesis.machines.values():
            if name in _DSP:
                dsp = total(lines).dsp
                yield dsp == _DSP[name], f"{name} takes {dsp} DSP slices, the published engine {_DSP[name]}"


FIGURES: Final = AesFigures()
