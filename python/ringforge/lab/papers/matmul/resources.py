# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whether FAME's Tables IV and V agree with each other and with the card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .memory import MemoryModel
from .parameters import CONFIGS, DSP_PER_LANE, RESOURCES, SETS, WORD_BITS, Config, Resources

BRAM18_BYTES: Final = 18 * 1024 // 8
"""An 18-kbit block."""
URAM_BYTES: Final = 288 * 1024 // 8
"""An UltraRAM block."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """Tables IV and V for one configuration.

    Each lane of each PE has a permutation buffer of N / lanes words of 54 bits. With 18-kbit blocks, one of them
    for each such buffer, the rest of Table V is exactly the scratchpads of FAME-S and FAME-L by capacity. The
    widths are another matter: such a block is at most 36 bits wide.
    """

    config: Config
    resources: Resources

    @property
    def lanes(self) -> int:
        """Lanes of all PEs."""
        return self.config.pes * self.config.lanes

    @property
    def dsp(self) -> int:
        """DSP slices of all lanes' multipliers."""
        return self.lanes * DSP_PER_LANE

    @property
    def scratchpad_total(self) -> int:
        """Table IV: bytes of all PEs' scratchpads."""
        return self.config.pes * self.config.scratchpad_bytes

    @property
    def blocks_total(self) -> int:
        """Table V: bytes of the memory blocks left when one 18-kbit block a lane is for permutations."""
        return (self.resources.bram - self.lanes) * BRAM18_BYTES + self.resources.uram * URAM_BYTES

    @property
    def ratio(self) -> float:
        """Table IV over Table V: 1 where they agree."""
        return self.scratchpad_total / self.blocks_total

    @property
    def limb_bytes(self) -> float:
        """One limb of the set in words of 54 bits."""
        return MemoryModel(SETS[self.config.set_name], WORD_BITS).limb

    @property
    def limbs(self) -> int:
        """Whole limbs that a scratchpad of Table IV holds."""
        return int(self.config.scratchpad_bytes / self.limb_bytes)

    @property
    def limbs_by_blocks(self) -> int:
        """Whole limbs that each PE has by Table V."""
        return int(self.blocks_total / self.config.pes / self.limb_bytes)

    @property
    def limbs_needed(self) -> int:
        """Limbs that the hoisted transform needs, Eq 24."""
        return MemoryModel(SETS[self.config.set_name], WORD_BITS).hoisted_limbs


def consistency(set_name: str) -> Consistency:
    """The configuration that serves a set, "A", "B" or "C"."""
    return Consistency(CONFIGS[set_name], RESOURCES[set_name])
