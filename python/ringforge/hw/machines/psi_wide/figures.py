# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What tables of resources say of the streaming accelerator, and what must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from ringforge.hw.core.resources import Figures, Synthesis, total
from ringforge.hw.machines.psi_wide.config import WideConfig

#: The fewest lanes that the machine takes.
_FEW: Final = 8

#: DSP slices of a machine, at most: a configuration for gates is to stay below half of what half a card has.
MOST_DSP: Final[Mapping[str, int]] = {"psi-wide": 1500, "psi-wide-32": 3420, "psi-wide-54": 3420}


class WideFigures(Figures):
    """The streaming accelerator's."""

    notes: ClassVar = {
        "psi_wide_top": "registers, control",
        "psi_wide_core": "files' ports, polynomials between the transforms",
        "psi_stream_ntt": "forward, without butterflies",
        "psi_stream_intt": "backward, without butterflies",
        "psi_wide_gather": "lanes, sums, powers",
    }

    def variants(self, config: WideConfig) -> Mapping[str, WideConfig]:
        return {"barrett": config}

    def sizes(self, config: WideConfig) -> Mapping[str, int]:
        return {"W": config.word_bits, "Lanes": config.lanes, "MaxLogN": config.max_log_n, "DataW": 512}

    def placed(self, config: WideConfig) -> Mapping[str, int]:
        less = (config.lanes // _FEW).bit_length() - 1
        degrees = {"MinLogN": config.min_log_n - less, "MaxLogN": config.max_log_n - less}
        return {**config.parameters(twin=False), "Lanes": _FEW, **degrees}

    def checks(self, synthesis: Synthesis) -> Iterator[tuple[bool, str]]:
        most = MOST_DSP.get(synthesis.config.name)
        for lines in synthesis.machines.values():
            if most is not None:
                dsp = total(lines).dsp
                yield dsp <= most, f"{dsp:,} DSP slices, {most:,} at most"


FIGURES: Final = WideFigures()
