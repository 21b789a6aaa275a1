# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What descriptors of the vector family's machines have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS
from ringforge.hw.core.slices import Slices

#: Folders of hw/ that they use.
LIBRARIES: Final = ("common", "shell", "vector")
#: The processing element.
ELEMENT: Final = "vector_pe"
#: Modules of an element, and its access to the ports, at which synthesis cuts.
PARTS: Final = COMMON_PARTS | {
    "vector_bus", ELEMENT, "vector_fetch", "vector_sequencer", "vector_stream", "vector_mac", "vector_load",
    "vector_in", "vector_out",
}  # fmt: skip
#: Parts that are only inside elements.
INSIDE: Final = PARTS - {"vector_bus", "rf_axi_read", "rf_axi_write", "rf_axil_regs"}
#: The element whose transform unit and MAC unit share an array, and its parts.
SHARED_ELEMENT: Final = "vector_shared_pe"
SHARED_PARTS: Final = PARTS | {
    SHARED_ELEMENT, "vector_shared_sequencer", "vector_shared_mac", "rf_alu", "rf_spn", "rf_spn_pick", "rf_mod_lift",
    "rf_fifo", "rf_pack", "rf_unpack",
}  # fmt: skip
#: Those of its parts that grow by lanes, or by bits of a word.
SHARED_SLICES: Final = MappingProxyType(
    {
        SHARED_ELEMENT: Slices(("Lanes",), 4, ("MinLogN", "MaxLogN")),
        "rf_alu": Slices(("Lanes",), 2),
        "rf_mod_lift": Slices(("Lanes",), 1),
        "vector_shared_mac": Slices(("Lanes",), 2),
        "vector_load": Slices(("Lanes",), 2),
        "vector_in": Slices(("Lanes",), 2),
        "vector_out": Slices(("Lanes",), 2),
        "vector_bus": Slices(("Lanes",), 2),
        "rf_transform": Slices(("W",), 2),
        "rf_spn": Slices(("W",), 2),
        "rf_spn_pick": Slices(("W",), 2),
        "rf_pack": Slices(("WordW", "RowW"), 2),
        "rf_unpack": Slices(("RowW", "WordW"), 2),
    }
)
#: Those that a module has in several sizes.
SHARED_RESIZED: Final = frozenset({"rf_fifo", "rf_bank"})
#: What is meant by a part's own resources.
NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ELEMENT: "settings, bank ports",
        "vector_mac": "control",
        "rf_mac": "a lane",
        "rf_transform": "control, networks",
        "rf_butterfly": "one",
        "vector_shared_pe": "settings, bank ports",
        "vector_shared_mac": "control, operands",
        "rf_alu": "all lanes",
        "rf_spn": "one network",
        "rf_spn_pick": "twiddles",
        "rf_mod_lift": "all lanes",
    }
)
#: Codes of vector_pkg's error_e.
ERRORS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "unknown operation",
        2: "a slot outside the scratchpad, not aligned, or two sources in one bank",
        3: "no valid CONF: a degree, shift or modulus that this machine does not have",
        4: "a DRAM address that is not aligned to the polynomial",
        5: "a Galois element, element number or mask out of range",
    }
)
